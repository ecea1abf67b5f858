"""Networks that change: what theory says of them against runs, and what the tables say of them against the networks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from peerpressure import NoNoise, simulate
from peerpressure.networks import cycle
from peerpressure.reproduction.temporal import (
    GROUPS,
    MEETING,
    WINDOW,
    alternating,
    models,
    networks,
    parting,
    parting_model,
    speaker,
    speaker_model,
    turnover,
)


@pytest.fixture(scope="module")
def turned() -> dict[str, pd.DataFrame]:
    return turnover(7, 300, agents=24, period=20)


@pytest.fixture(scope="module")
def spoken() -> dict[str, pd.DataFrame]:
    return speaker(7, 300, agents=24)


@pytest.fixture(scope="module")
def parted() -> dict[str, pd.DataFrame]:
    return parting(7, 1_500, members=8)


def test_networks_differ_in_turnover_and_in_nothing_else() -> None:
    every = networks(7, agents=24, period=20)
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


def test_runs_end_on_the_value_to_which_they_are_drawn(turned: dict[str, pd.DataFrame]) -> None:
    targets = turned["turnover_targets"].set_index("network")
    assert set(targets.index) == {"constant", "slow", "fast", "rewired"}
    assert targets.loc["constant", "off"] == 0
    assert targets["off"].abs().idxmax() == "fast"
    for name, model in models(7, agents=24, period=20).items():
        if name == "isolated":
            continue
        final = simulate(replace(model, noise=NoNoise()), 20_000, record="final").final.public[0]
        assert np.ptp(final) < 1e-3, name
        # Errors fall like 1/t.
        assert final.mean() == pytest.approx(targets.loc[name, "target"], abs=5e-4), name


def test_only_who_is_never_alone_comes_to_agree(turned: dict[str, pd.DataFrame]) -> None:
    facts = turned["turnover_networks"].set_index("network")
    assert (facts["alone"] > 0).to_dict() == {name: name == "isolated" for name in facts.index}
    end = turned["turnover_law"].groupby("network").last()
    assert (end["spread"] < 0.02).to_dict() == {name: name != "isolated" for name in end.index}
    np.testing.assert_allclose(end["distance"] ** 2, end["spread"] ** 2 + end["bias"] ** 2 + end["std"] ** 2)
    assert facts.loc["constant", "outcome"] == "consensus"


def test_a_speaker_counts_by_stretches_and_not_by_mean_weights(spoken: dict[str, pd.DataFrame]) -> None:
    base = cycle(9)
    short, long = (alternating(base, 2.0, stretch).aggregate.adjacency.toarray() for stretch in (1, 10))
    np.testing.assert_allclose(short, long)
    shares = spoken["speaker_shares"].query("weight == 1").set_index("stretch")
    assert shares["share"].is_monotonic_decreasing
    assert shares.loc[1, "share"] > 3 * shares.loc[1, "consensus_value"]
    assert shares.loc[100, "share"] == pytest.approx(shares.loc[100, "consensus_value"], rel=0.5)
    constant = spoken["speaker_paths"].query("stretch == 0")
    assert constant["target"].iloc[0] == pytest.approx(shares["consensus_value"].iloc[0])


def test_the_speakers_share_is_where_runs_end() -> None:
    model = speaker_model(7, 1, agents=24)
    final = simulate(replace(model, noise=NoNoise()), 20_000, record="final").final.public[0]
    assert np.ptp(final) < 1e-3
    shares = speaker(7, 100, agents=24)["speaker_shares"]
    assert final.mean() == pytest.approx(shares["share"].iloc[0], abs=1e-3)


def test_broken_windows_are_those_without_bridges(parted: dict[str, pd.DataFrame]) -> None:
    windows = parted["parting_windows"]
    stretches = [tuple(row) for row in windows[["course", "first", "last"]].itertuples(index=False)]
    assert stretches == [("returning", 31, 100), ("returning", 301, 1_000), ("parted", 101, 1_500)]
    assert (windows["pieces"] == GROUPS).all()
    summary = parted["parting_summary"].set_index("course")
    assert (summary["rounds_connected"] < 0.35).all()
    assert summary.loc["returning", "windows_connected"] == pytest.approx(1 - 770 / 1_500)
    assert (summary["window"] == WINDOW).all()


def test_groups_that_part_end_on_their_own_values_and_others_on_one(parted: dict[str, pd.DataFrame]) -> None:
    courses = parted["parting_courses"]
    ends = courses[courses["time"] == 1_500].set_index(["course", "group"])
    np.testing.assert_allclose(ends.loc["parted", "mean"], ends.loc["parted", "own_value"], atol=0.03)
    np.testing.assert_allclose(ends.loc["returning", "mean"], ends.loc["returning", "consensus_value"], atol=0.03)
    summary = parted["parting_summary"].set_index("course")
    assert summary.loc["parted", "spread"] == pytest.approx(np.ptp(ends.loc["parted", "mean"]))


def test_means_of_groups_are_those_without_noise(parted: dict[str, pd.DataFrame]) -> None:
    model = parting_model(7, MEETING["returning"], members=8)
    run = simulate(replace(model, noise=NoNoise()), 1_500)
    assert run.states is not None
    own = parted["parting_courses"].query("course == 'returning' and group == 2")
    degrees = model.network.degrees[8:16]
    expected = run.states[0, own["time"], 8:16] @ degrees / degrees.sum()
    np.testing.assert_allclose(own["mean"], expected, rtol=1e-10)
