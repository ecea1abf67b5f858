"""Opinions that adapt, networks that change, agents who do not all update and continuous time: oracles, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.sde import euler_step
from peerpressure.simulation.engine import plan, runner
from peerpressure.simulation.trajectory import State
from tests.builders import KINDS, NOISES, N, extended_model, random_model
from tests.oracles import dense_run, fresh_draw, unit_noise

RNG = np.random.default_rng(7)
ACTIVATIONS: dict[str, Any] = {
    "half": 0.5,
    "each": RNG.uniform(0.05, 1.0, N),
    "single": "single",
    "table": RNG.random((45, N)) < 0.4,
}
EXTENSIONS: dict[str, Callable[..., pp.Model]] = {
    "none": random_model,
    **{kind: partial(extended_model, kind) for kind in KINDS},
    **{f"updating: {name}": partial(random_model, activation=value) for name, value in ACTIVATIONS.items()},
    "keeping": partial(extended_model, "both", isolated="keep"),
    "keeping and updating": partial(extended_model, "both", isolated="keep", activation=0.5),
}


@pytest.mark.parametrize("kind", EXTENSIONS)
@pytest.mark.parametrize("noise", NOISES)
def test_every_extension_matches_the_dense_oracle(kind: str, noise: str) -> None:
    model = EXTENSIONS[kind](noise=NOISES[noise], pressure=pp.Linear(0.7))
    run = pp.simulate(model, 20, replicates=[0, *range(4, 20)], seed=2**40 + 3)
    assert run.states is not None
    for row, replicate in ((0, 0), (16, 19)):
        public, hidden = dense_run(model, 20, replicate, 2**40 + 3)
        np.testing.assert_allclose(run.states[row], public, rtol=1e-11, atol=1e-12)
        if run.hidden_path is not None:
            np.testing.assert_allclose(run.hidden_path[row], hidden, rtol=1e-11, atol=1e-12)
    assert (run.hidden_path is None) == (model.adaptation is None)


@pytest.mark.parametrize("noise", ["gaussian", "ar1", "frozen", "custom"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_opinions_that_give_way_by_nothing_are_constant_to_the_bit(noise: str, dtype: str) -> None:
    plain = random_model(noise=NOISES[noise])
    # A table of zeros, which is not known to be zero at later times, goes through the engine's adapting kernels.
    still = random_model(noise=NOISES[noise], adaptation=pp.Adaptation([0.0] * 30))
    for replicates in (1, 20):
        a, b = (pp.simulate(model, 30, replicates, seed=2, dtype=dtype) for model in (plain, still))
        assert b.hidden_path is not None
        np.testing.assert_array_equal(a.states, b.states)
        np.testing.assert_array_equal(b.hidden_path, np.broadcast_to(plain.x0.astype(dtype), b.hidden_path.shape))


@pytest.mark.parametrize("replicates", [1, 20])
def test_a_network_that_never_changes_is_a_constant_one_to_the_bit(replicates: int) -> None:
    plain = random_model(weighted=False, noise=pp.Gaussian(0.5))
    rest: dict[str, Any] = {"hidden": plain.x0, "stubbornness": plain.s, "noise": plain.noise}
    i, j, _ = plain.network.edges()
    once = pp.TemporalNetwork.constant(plain.network)
    repeated = pp.TemporalNetwork.from_events(
        [(1, a, b) for a, b in zip(i.tolist(), j.tolist(), strict=True)], period=3
    )
    first = [(1, a, b, 1.0) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    later = pp.TemporalNetwork.from_events([*first, (100, int(i[0]), int(j[0]), 0.0)])
    expected = pp.simulate(plain, 20, replicates, seed=2).states
    for network in (once, repeated, later):
        np.testing.assert_array_equal(pp.simulate(pp.Model(network, **rest), 20, replicates, seed=2).states, expected)


def test_a_switch_of_networks_is_two_runs_one_after_the_other() -> None:
    first, second = pp.networks.cycle(9), pp.networks.complete(9)
    rest: dict[str, Any] = {"hidden": np.arange(9.0), "noise": pp.Gaussian(0.5), "pressure": pp.Linear(0.2)}
    both = pp.TemporalNetwork.from_snapshots([first, second], times=[1, 6])
    whole = pp.simulate(pp.Model(both, **rest), 12, 18, seed=3)
    begin = pp.simulate(pp.Model(first, **rest), 5, 18, seed=3)
    end = pp.simulate(pp.Model(second, **rest), 7, 18, seed=3, start=begin)
    np.testing.assert_array_equal(whole.final.public, end.final.public)


def test_agents_without_a_neighbour_show_their_own_noisy_opinion_under_any_pressure() -> None:
    network = pp.TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (5, 1, 2, 0.0)])
    for pressure in (pp.Linear(), pp.StretchedExponential(), pp.Constant(0.0)):
        model = pp.Model(network, hidden=[0.0, 1.0, 5.0], noise=pp.Gaussian(0.3), pressure=pressure)
        start = State(10**6, np.array([[3.0, 4.0, 9.0]]), None)
        for dtype in ("float64", "float32"):
            run = pp.simulate(model, 4, seed=8, start=start, dtype=dtype)
            assert run.states is not None
            own = [5.0 + 0.3 * fresh_draw(model, 10**6 + k, 0, 8)[2] for k in range(1, 5)]
            assert np.isfinite(run.states).all()
            np.testing.assert_allclose(run.states[0, 1:, 2], own, rtol=1e-5 if dtype == "float32" else 1e-12)


# --- bit-identity ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EXTENSIONS)
def test_splitting_replicates_and_threads_changes_no_bit(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = EXTENSIONS[kind](noise=NOISES["ar1"])
    whole = pp.simulate(model, 30, replicates=40, seed=3, threads=1)
    for small in (False, True):
        if small:
            for name in ("_NUMBERS", "_SEGMENT"):
                monkeypatch.setattr(plan, name, 1)
            for name in ("_MEET_FROM", "_SPLIT_FROM", "_THREADS_FROM"):
                monkeypatch.setattr(runner, name, 1)
        for part, threads in ((range(20, 40), 2), (range(7, 8), 3), (range(3, 36), 1)):
            run = pp.simulate(model, 30, replicates=part, seed=3, threads=threads)
            rows = slice(part[0], part[-1] + 1)
            for name in ("states", "hidden_path", "mean"):
                values = getattr(whole, name)
                if values is not None:
                    np.testing.assert_array_equal(values[rows], getattr(run, name))


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from([*EXTENSIONS]),
    noise=st.sampled_from([*NOISES]),
    cut=st.integers(0, 45),
    replicates=st.sampled_from([1, 18]),
)
def test_going_on_equals_running_in_one_go(kind: str, noise: str, cut: int, replicates: int) -> None:
    model = EXTENSIONS[kind](noise=NOISES[noise])
    whole = pp.simulate(model, 45, replicates, seed=9, record="final")
    first = pp.simulate(model, cut, replicates, seed=9, record="final")
    rest = pp.simulate(model, 45 - cut, replicates, seed=9, record="final", start=first)
    np.testing.assert_array_equal(whole.final.public, rest.final.public)
    if model.adaptation is not None:
        np.testing.assert_array_equal(whole.final.hidden, rest.final.hidden)


@pytest.mark.parametrize("replicates", [1, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_agents_of_a_step_can_be_shared_among_threads(
    kind: str, replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 3000
    rng = np.random.default_rng(1)
    network: Any = pp.networks.barabasi_albert(n, 2, seed=1)
    if kind != "adapting":
        i, j, _ = network.edges()
        down = [(3, a, b, 0.0) for a, b in zip(i[::5].tolist(), j[::5].tolist(), strict=True)]
        up = [(5, *event[1:3], 2.0) for event in down]
        start = [(1, a, b, 1.0) for a, b in zip(i.tolist(), j.tolist(), strict=True)]
        network = pp.TemporalNetwork.from_events(start + down + up, period=6 if kind == "periodic" else None)
    adaptation = 0.1 if kind in ("adapting", "both") else None
    model = pp.Model(network, hidden=rng.normal(size=n), noise=pp.Gaussian(0.5), adaptation=adaptation)
    alone = pp.simulate(model, 9, replicates, seed=3, threads=1)
    for name in ("_MEET_FROM", "_SPLIT_FROM", "_THREADS_FROM"):
        monkeypatch.setattr(runner, name, 1)
    shared = pp.simulate(model, 9, replicates, seed=3, threads=3)
    np.testing.assert_array_equal(alone.states, shared.states)
    np.testing.assert_array_equal(alone.final.public, shared.final.public)


# --- continuous time ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicates", [1, 20])
def test_a_euler_step_of_length_one_is_the_discrete_model_to_the_bit(replicates: int) -> None:
    model = random_model(noise=pp.Gaussian(0.6))
    flow = pp.SDE(model, step=1.0, scaling="model", method="euler")
    a, b = (pp.simulate(system, 25, replicates, seed=4) for system in (model, flow))
    np.testing.assert_array_equal(a.states, b.states)
    np.testing.assert_array_equal(b.times, np.arange(26.0))


@pytest.mark.parametrize("scaling", ["printed", "model"])
@pytest.mark.parametrize(
    "pressure", [pp.Linear(), pp.schedules.Table(np.linspace(0, 3, 12)), pp.schedules.Formula("1 + sqrt(t)")]
)
@pytest.mark.parametrize("replicates", [3, 20])
def test_euler_steps_match_their_definition(scaling: Any, pressure: pp.schedules.Schedule, replicates: int) -> None:
    noise = pp.Gaussian(np.random.default_rng(0).uniform(0.1, 1.0, N), time_scale=pp.Power(-0.3))
    flow = pp.SDE(random_model(noise=noise, pressure=pressure), step=0.07, scaling=scaling, method="euler")
    run = pp.simulate(flow, 60, replicates, seed=4)
    assert run.states is not None
    np.testing.assert_allclose(run.times, 0.07 * np.arange(61), rtol=1e-15)
    u, y = unit_noise(flow.model, 60, 2, 4), flow.start_state
    for k in range(1, 61):
        y = euler_step(flow, k, y, u[k - 1])
        np.testing.assert_allclose(run.states[2, k], y, rtol=1e-11, atol=1e-12)


def test_continuous_runs_go_on_and_are_recorded_like_others() -> None:
    flow = pp.SDE(random_model(noise=pp.Gaussian(0.5)), step=0.25)
    whole = pp.simulate(flow, 20, replicates=5, seed=1)
    first = pp.simulate(flow, 8, replicates=5, seed=1, record="final")
    rest = pp.simulate(flow, 12, replicates=5, seed=1, start=first)
    assert whole.states is not None
    assert rest.states is not None
    np.testing.assert_allclose(whole.states[:, 8:], rest.states, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(whole.times[8:], rest.times)
    few = pp.simulate(flow, 20, replicates=[3], seed=1, record=pp.Record(every=6, agents=[2], summaries=False))
    np.testing.assert_array_equal(few.states, whole.states[3:4, [0, 6, 12, 18, 20], 2:3])
    assert few.mean is None
    assert "continuous time, exact steps of 0.25, noise as printed" in str(whole.provenance())


# --- what is kept ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_extended_runs_are_saved_and_loaded(kind: str, tmp_path: Path) -> None:
    run = pp.simulate(extended_model(kind), 15, replicates=3, seed=2)
    run.save(tmp_path / "run.npz")
    again = pp.Trajectory.load(tmp_path / "run.npz")
    assert repr(again.model) == repr(run.model)
    for t in (1, 7, 14, 30):
        np.testing.assert_array_equal(again.model.update(t).gain, run.model.update(t).gain)
    assert again.provenance() == run.provenance()
    going_on = [pp.simulate(each.model, 10, replicates=3, seed=2, start=each).final for each in (run, again)]
    np.testing.assert_array_equal(going_on[0].public, going_on[1].public)
    np.testing.assert_array_equal(np.asarray(run.hidden), np.asarray(again.hidden))
    np.testing.assert_array_equal(run.to_xarray()["hidden"], np.asarray(run.hidden))
    np.testing.assert_array_equal(run.to_xarray()["initial_hidden"], run.model.x0)
    if run.hidden_path is None:
        np.testing.assert_array_equal(np.asarray(run.hidden), run.model.x0)
        assert list(run.to_dataframe().columns) == ["replicate", "time", "agent", "public"]
    else:
        assert list(run.to_dataframe().columns) == ["replicate", "time", "agent", "public", "hidden"]


def test_a_run_of_moving_opinions_goes_on_from_what_agents_hold_only() -> None:
    model = extended_model("adapting")
    with pytest.raises(pp.errors.InvalidInputError, match="must start with hidden opinions, got a state without them"):
        pp.simulate(model, 3, start=State(5, np.asarray(model.x0)[None, :], None))


@pytest.mark.parametrize("period", [None, 6])
def test_directed_networks_that_change_are_followed_step_by_step(period: int | None) -> None:
    rng = np.random.default_rng(0)
    matrices = [np.where(rng.random((6, 6)) < 0.4, rng.random((6, 6)), 0) * (1 - np.eye(6)) for _ in range(4)]
    network = pp.TemporalNetwork.from_snapshots(matrices, [1, 2, 4, 5], period, directed=True)
    public = hidden = rng.random(6)
    model = pp.Model(network, hidden, pressure=pp.Linear(0.5))
    states, exact = np.asarray(pp.simulate(model, 12).states), pp.moments(model, 12)
    for t in range(1, 13):
        step = t if period is None else (t - 1) % period + 1
        A = matrices[sum(first <= step for first in (1, 2, 4, 5)) - 1]
        public = (hidden + 0.5 * t * A @ public) / (1 + 0.5 * t * A.sum(axis=1))
        np.testing.assert_allclose(states[0, t], public, rtol=1e-12)
        np.testing.assert_array_equal(network.transposed_at(t).toarray(), A.T)
    np.testing.assert_allclose(exact.mean[-1], public, rtol=1e-12)
    with pytest.raises(pp.errors.InvalidInputError, match="long run of a temporal network is known where it is undir"):
        pp.diagnose(model)


def test_a_directed_network_before_its_first_change_is_a_constant_one() -> None:
    rng = np.random.default_rng(1)
    first, later = (np.where(rng.random((5, 5)) < 0.6, rng.random((5, 5)), 0) * (1 - np.eye(5)) for _ in range(2))
    networks = (
        pp.Network(first, directed=True),
        pp.TemporalNetwork.from_snapshots([first, later], [1, 99], directed=True),
    )
    models = [pp.Model(one, np.arange(5), pressure=0.5, noise=pp.Gaussian(0.1)) for one in networks]
    states = [np.asarray(pp.simulate(model, 12, seed=1).states) for model in models]
    np.testing.assert_allclose(states[0], states[1], rtol=1e-13)
    for method in ("kalman", "innovations", "gls"):
        found = [pp.recover(states[0][0], model, method) for model in models]
        np.testing.assert_allclose(found[0].value, found[1].value, rtol=1e-12)
        np.testing.assert_allclose(found[0].std, found[1].std, rtol=1e-12)
    flows = [pp.moments(pp.SDE(model, step=0.5), 6) for model in models]
    np.testing.assert_allclose(flows[0].std, flows[1].std, rtol=1e-12)


def test_all_agents_must_meet_over_time() -> None:
    apart = pp.TemporalNetwork.from_events([(1, 0, 1), (1, 2, 3), (9, 0, 1, 0.0)])
    with pytest.raises(pp.errors.ModelError, match=r"all agents must meet, if only over time.*largest component"):
        pp.Model(apart, hidden=[0, 1, 2, 3], isolated="keep")
    # People without ties show their own opinions; what such a network does in the long run is not computed.
    alone = pp.Model(apart, hidden=[0, 1, 2, 3], pressure=1.0)
    assert np.asarray(pp.simulate(alone, 10).states)[0, -1].tolist() == pytest.approx(
        [0, 1, 2 + 1 / 3, 2 + 2 / 3], abs=1e-3
    )
    with pytest.raises(pp.errors.InvalidInputError, match=r"long run .* all agents meet.*simulate it"):
        pp.diagnose(alone)
    late = pp.TemporalNetwork.from_events([(1, 0, 1), (1, 2, 3), (9, 1, 2)])
    assert pp.Model(late, hidden=[0, 1, 2, 3]).temporal_network is late
