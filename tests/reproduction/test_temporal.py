"""Temporal networks: theory against runs, and tables against the networks that they describe."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from peerpressure import NoNoise, simulate
from peerpressure.networks import cycle
from peerpressure.reproduction._temporal import (
    CASES,
    GROUPS,
    WINDOW,
    alternating,
    bridged_network,
    broadcaster,
    broadcaster_model,
    edge_turnover,
    splitting,
    splitting_model,
    turnover_models,
    turnover_networks,
)


@pytest.fixture(scope="module")
def turnover() -> dict[str, pd.DataFrame]:
    return edge_turnover(7, 300, agents=24, period=20)


@pytest.fixture(scope="module")
def broadcast() -> dict[str, pd.DataFrame]:
    return broadcaster(7, 300, agents=24)


@pytest.fixture(scope="module")
def split() -> dict[str, pd.DataFrame]:
    return splitting(7, 1_500, members=8)


def test_networks_differ_in_turnover_and_in_nothing_else() -> None:
    every = turnover_networks(7, agents=24, period=20)
    whole = every["constant"].snapshot(1)
    assert every["constant"].is_constant
    for name in ("slow", "fast", "isolated"):
        assert (every[name].aggregate.adjacency - whole.adjacency).max() <= 0, name
        assert every[name].period == 20
    ring = cycle(24)
    for name in ("slow", "fast", "rewired"):
        for t in (1, 7, 20):
            assert (every[name].at(t) - ring.adjacency).min() >= 0, name
    changes = {name: int(np.count_nonzero(network.event_times > 1)) for name, network in every.items()}
    assert changes["slow"] < changes["fast"] / 10
    assert every["rewired"].mean_edges == pytest.approx(whole.edge_count, rel=0.03)


def test_runs_converge_to_the_predicted_limit(turnover: dict[str, pd.DataFrame]) -> None:
    targets = turnover["edge_turnover_targets"].set_index("network")
    assert set(targets.index) == {"constant", "slow", "fast", "rewired"}
    assert targets.loc["constant", "bias"] == 0
    assert targets["bias"].abs().idxmax() == "fast"
    for name, model in turnover_models(7, agents=24, period=20).items():
        if name == "isolated":
            continue
        final = simulate(replace(model, noise=NoNoise()), 20_000, record="final").final.public[0]
        assert np.ptp(final) < 1e-3, name
        # Errors fall like 1/t.
        assert final.mean() == pytest.approx(targets.loc[name, "target"], abs=5e-4), name


def test_agents_agree_unless_some_are_isolated(turnover: dict[str, pd.DataFrame]) -> None:
    facts = turnover["edge_turnover_networks"].set_index("network")
    assert (facts["isolated"] > 0).to_dict() == {name: name == "isolated" for name in facts.index}
    end = turnover["edge_turnover_law"].groupby("network").last()
    assert (end["weighted_disagreement"] < 0.02).to_dict() == {name: name != "isolated" for name in end.index}
    squares = end["weighted_disagreement"] ** 2 + end["bias"] ** 2 + end["std"] ** 2
    np.testing.assert_allclose(end["weighted_distance"] ** 2, squares)
    assert facts.loc["constant", "outcome"] == "consensus"


def test_the_share_of_a_broadcaster_depends_on_the_dwell_time(
    broadcast: dict[str, pd.DataFrame],
) -> None:
    base = cycle(9)
    short, long = (alternating(base, 2.0, dwell).aggregate.adjacency.toarray() for dwell in (1, 10))
    np.testing.assert_allclose(short, long)
    shares = broadcast["broadcaster_shares"].query("weight == 1").set_index("dwell_time")
    assert shares["share"].is_monotonic_decreasing
    assert shares.loc[1, "share"] > 3 * shares.loc[1, "consensus_value"]
    assert shares.loc[100, "share"] == pytest.approx(shares.loc[100, "consensus_value"], rel=0.5)
    constant = broadcast["broadcaster_paths"].query("dwell_time == 0")
    assert constant["target"].iloc[0] == pytest.approx(shares["consensus_value"].iloc[0])


def test_runs_converge_to_the_share_of_the_broadcaster() -> None:
    model = broadcaster_model(7, 1, agents=24)
    final = simulate(replace(model, noise=NoNoise()), 20_000, record="final").final.public[0]
    assert np.ptp(final) < 1e-3
    shares = broadcaster(7, 100, agents=24)["broadcaster_shares"]
    assert final.mean() == pytest.approx(shares["share"].iloc[0], abs=1e-3)


def test_disconnected_windows_are_those_without_bridges(split: dict[str, pd.DataFrame]) -> None:
    windows = split["splitting_windows"]
    intervals = [tuple(row) for row in windows[["bridges", "first", "last"]].itertuples(index=False)]
    assert intervals == [("returning", 31, 100), ("returning", 301, 1_000), ("removed", 101, 1_500)]
    assert (windows["components"] == GROUPS).all()
    summary = split["splitting_summary"].set_index("bridges")
    assert (summary["steps_connected"] < 0.35).all()
    assert summary.loc["returning", "windows_connected"] == pytest.approx(1 - 770 / 1_500)
    assert (summary["window"] == WINDOW).all()


def test_groups_converge_to_their_own_values_once_bridges_are_removed(split: dict[str, pd.DataFrame]) -> None:
    paths = split["splitting_paths"]
    ends = paths[paths["time"] == 1_500].set_index(["bridges", "group"])
    np.testing.assert_allclose(ends.loc["removed", "mean"], ends.loc["removed", "group_value"], atol=0.03)
    np.testing.assert_allclose(ends.loc["returning", "mean"], ends.loc["returning", "consensus_value"], atol=0.03)
    summary = split["splitting_summary"].set_index("bridges")
    assert summary.loc["removed", "group_spread"] == pytest.approx(np.ptp(ends.loc["removed", "mean"]))


def test_means_of_groups_are_those_without_noise(split: dict[str, pd.DataFrame]) -> None:
    model = splitting_model(7, bridged_network(7, CASES["returning"].intervals, members=8))
    run = simulate(replace(model, noise=NoNoise()), 1_500)
    assert run.states is not None
    own = split["splitting_paths"].query("bridges == 'returning' and group == 2")
    # One phase of the cycle of bridges, so no curve zigzags.
    assert (own["time"] % 3 == 0).all()
    degrees = model.network.degrees[8:16]
    expected = run.states[0, own["time"], 8:16] @ degrees / degrees.sum()
    np.testing.assert_allclose(own["mean"], expected, rtol=1e-10)
