"""Simulation against a dense oracle, closed forms, laws of the model, and bit-identity however the work is cut."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import psutil
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.simulation.engine import plan, runner
from peerpressure.simulation.engine.arguments import new_meeting
from peerpressure.simulation.trajectory import State
from tests.builders import NOISES, SCHEDULES, random_model
from tests.oracles import dense_states


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_model_is_its_dense_recursion(noise: str, schedule: str) -> None:
    for weighted in (False, True):
        model = random_model(weighted=weighted, pressure=SCHEDULES[schedule], noise=NOISES[noise])
        run = pp.simulate(model, 30, replicates=[0, *range(4, 20)], seed=11)
        assert run.states is not None
        for row, replicate in ((0, 0), (1, 4), (16, 19)):
            np.testing.assert_allclose(run.states[row], dense_states(model, 30, replicate, 11), rtol=1e-11, atol=1e-12)


def test_deviations_and_start_of_each_agent() -> None:
    std = np.random.default_rng(3).uniform(0, 1, 23)
    std[5] = 0.0
    model = random_model(noise=pp.Gaussian(std), start=np.linspace(-4, 4, 23))
    run = pp.simulate(model, 25, replicates=6, seed=2)
    assert run.states is not None
    np.testing.assert_allclose(run.states[5], dense_states(model, 25, 5, 2), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 7, 20, 101])
def test_two_agents_have_the_closed_form_mean_and_variance(steps: int) -> None:
    """K₂ with s = w = 1 and ρ_t = t: mean by the paper's coefficients, variance σ²T/(T+1)² for both parities."""
    model = pp.Model(pp.networks.k2(), hidden=[1.0, 2.0], noise=pp.Gaussian(0.5))
    final = pp.simulate(model, steps, replicates=40_000, seed=steps, record="final").final.public
    own = (steps / 2 + 1) / (steps + 1) if steps % 2 == 0 else 0.5
    mean = np.array([own * 1 + (1 - own) * 2, own * 2 + (1 - own) * 1])
    variance = 0.25 * steps / (steps + 1) ** 2
    np.testing.assert_allclose(final.mean(axis=0), mean, atol=4.5 * np.sqrt(variance / 40_000))
    np.testing.assert_allclose(final.var(axis=0), variance, rtol=4.5 * np.sqrt(2 / 40_000))


def test_huge_pressure_is_the_neighbours_mean() -> None:
    model = random_model(pressure=pp.StretchedExponential(), noise=pp.Gaussian(1.0))
    start = State(10**7, np.asarray(model.x0)[None, :], None)
    run = pp.simulate(model, 3, seed=1, start=start)
    assert run.states is not None
    means = model.network.adjacency @ run.states[0, 0] / model.network.degrees
    np.testing.assert_allclose(run.states[0, 1], means, rtol=1e-14)


# --- bit-identity ---------------------------------------------------------------------------------------------------


def assert_same_bits(a: pp.Trajectory, b: pp.Trajectory, rows: slice = slice(None)) -> None:
    for name in ("states", "minimum", "maximum", "mean"):
        np.testing.assert_array_equal(getattr(a, name)[rows], getattr(b, name))
    np.testing.assert_array_equal(a.final.public[rows], b.final.public)


@pytest.mark.parametrize("noise", NOISES)
def test_splitting_replicates_changes_no_bit(noise: str) -> None:
    model = random_model(noise=NOISES[noise])
    whole = pp.simulate(model, 12, replicates=140, seed=3, threads=1)
    for part in (range(20, 40), range(7, 8), range(3, 36), range(1, 140), [39]):
        for threads in (1, 3):
            run = pp.simulate(model, 12, replicates=part, seed=3, threads=threads)
            assert_same_bits(whole, run, slice(part[0], part[-1] + 1))


@pytest.mark.parametrize("noise", ["gaussian", "ar1", "ar1 custom", "frozen"])
@pytest.mark.parametrize("replicates", [1, 3, 20])
def test_threads_and_sharing_of_agents_change_no_bit(
    noise: str, replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(5000, weighted=False, noise=NOISES[noise])
    record = pp.Record(agents=[0, 1023, 1024, 4999], every=2)
    alone = pp.simulate(model, 7, replicates=replicates, seed=3, record=record, threads=1)
    monkeypatch.setattr(plan, "_NUMBERS", 1)
    for name in ("_MEET_FROM", "_SPLIT_FROM", "_THREADS_FROM"):
        monkeypatch.setattr(runner, name, 1)
    for segment in (2e9, 1):
        monkeypatch.setattr(plan, "_SEGMENT", segment)
        for threads in (2, 9):
            run = pp.simulate(model, 7, replicates=replicates, seed=3, record=record, threads=threads)
            assert_same_bits(alone, run)


def test_threads_that_share_the_agents_meet_in_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many more threads than cores, so most of them wait while they have none."""
    model = random_model(20_000, weighted=False)
    alone = pp.simulate(model, 60, seed=3, record="summaries", threads=1)
    meetings: list[int] = []

    def noted(threads: int) -> Any:
        meetings.append(threads)
        return new_meeting(threads)

    monkeypatch.setattr(runner, "new_meeting", noted)
    shared = pp.simulate(model, 60, seed=3, record="summaries", threads=16)
    np.testing.assert_array_equal(alone.final.public, shared.final.public)
    np.testing.assert_array_equal(alone.mean, shared.mean)
    assert meetings[-1] == 16


@pytest.mark.parametrize("replicates", [1, 16])
@pytest.mark.parametrize(("alone", "chosen"), [(0.5, 1), (1.5, 2)])
def test_whether_threads_share_the_agents_is_tried_and_changes_no_bit(
    alone: float, chosen: int, replicates: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = random_model(5_000, weighted=False)
    expected = pp.simulate(model, 40, replicates, seed=3, record="summaries", threads=1)
    for name, value in {"_MEET_FROM": 1, "_THREADS_FROM": 1, "_TRIAL": 4}.items():
        monkeypatch.setattr(runner, name, value)
    # By this clock the trial takes one second with all threads, and one more at first, when these are started.
    ticks = iter([0.0, 2.0, 0.0, alone, *2 * [0.0, 1.0, 0.0, alone]])
    monkeypatch.setattr("peerpressure.simulation.engine.runner.time.perf_counter", lambda: next(ticks))
    counts: list[int] = []
    share = runner.ProcessorRun._share

    def noted(run: Any, *given: Any) -> None:
        counts.append(given[-1])
        share(run, *given)

    monkeypatch.setattr(runner.ProcessorRun, "_share", noted)
    found = pp.simulate(model, 40, replicates, seed=3, record="summaries", threads=2)
    assert counts == [2, 1, 2, 1, 2, 1, chosen]
    np.testing.assert_array_equal(expected.mean, found.mean)
    np.testing.assert_array_equal(expected.final.public, found.final.public)


def test_a_thread_that_fails_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    call = runner.ProcessorRun._call

    def failing(run: Any, block: Any, network: Any, clock: Any, records: Any, *places: int, **more: Any) -> None:
        if places[0] and clock.own_weight.size:
            raise MemoryError("no room for buffers")
        call(run, block, network, clock, records, *places, **more)

    monkeypatch.setattr(runner.ProcessorRun, "_call", failing)
    with pytest.raises(MemoryError, match="no room"):
        pp.simulate(random_model(20_000, weighted=False), 60, seed=3, threads=3)


@pytest.mark.parametrize("through", ["run", "final state", "file"])
def test_resuming_keeps_seed_and_replicates(through: str, tmp_path: Path) -> None:
    model = random_model(noise=pp.Gaussian(1.0, temporal=pp.AR1(0.5)))
    whole = pp.simulate(model, 30, replicates=range(3, 6), seed=5, record="final")
    first = pp.simulate(model, 10, replicates=range(3, 6), seed=5)
    first.save(tmp_path / "first.npz")
    starts: dict[str, Any] = {
        "run": first,
        "final state": first.final,
        "file": pp.Trajectory.load(tmp_path / "first.npz"),
    }
    for asked in ({}, {"seed": 5}, {"replicates": range(3, 6)}, {"replicates": 3}):
        resumed = pp.simulate(model, 20, start=starts[through], record="final", **asked)
        assert resumed.seed == 5
        assert resumed.replicates.tolist() == [3, 4, 5]
        np.testing.assert_array_equal(resumed.final.public, whole.final.public)


def test_resuming_keeps_the_precision(tmp_path: Path) -> None:
    model = random_model(noise=pp.Gaussian(1.0, temporal=pp.AR1(0.5)), adaptation=0.1)
    whole = pp.simulate(model, 30, 2, seed=5, dtype=np.float32)
    first = pp.simulate(model, 10, 2, seed=5, dtype=np.float32)
    first.save(tmp_path / "first.npz")
    for start in (first, first.final, pp.Trajectory.load(tmp_path / "first.npz")):
        resumed = pp.simulate(model, 20, start=start)
        assert resumed.final.public.dtype == np.float32
        np.testing.assert_array_equal(resumed.final.public, whole.final.public)
    assert pp.simulate(model, 20, start=first, dtype=np.float64).final.public.dtype == np.float64


def test_resuming_keeps_the_length_of_a_step(tmp_path: Path) -> None:
    model = random_model(noise=pp.Gaussian(1.0), pressure=pp.Linear())
    run = pp.simulate(pp.SDE(model, step=0.1), 10, seed=5)
    run.save(tmp_path / "run.npz")
    whole = pp.simulate(pp.SDE(model, step=0.1), 15, seed=5, record="final")
    for start in (run, run.final, pp.Trajectory.load(tmp_path / "run.npz")):
        # Step 10 is time 1 for the run, and would be time 2 or 10 for these.
        for other in (pp.SDE(model, step=0.2), model):
            with pytest.raises(pp.errors.InvalidInputError, match=r"steps of its own length, 0\.1, got"):
                pp.simulate(other, 5, start=start)
        resumed = pp.simulate(pp.SDE(model, step=0.1), 5, start=start)
        np.testing.assert_array_equal(resumed.final.public, whole.final.public)
        np.testing.assert_allclose(resumed.times, np.arange(10, 16) / 10)


def test_outputs_from_elsewhere_bring_no_noise(tmp_path: Path) -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    rows = [(2, agent, 0.5) for agent in model.network.labels]
    outputs = pp.Trajectory.from_dataframe(pandas.DataFrame(rows, columns=["time", "agent", "public"]), model)
    outputs.save(tmp_path / "outputs.npz")
    for start in (outputs, pp.Trajectory.load(tmp_path / "outputs.npz")):
        run = pp.simulate(model, 3, start=start, replicates=[7], seed=4)
        assert (run.seed, run.replicates.tolist(), run.times.tolist()) == (4, [7], [2, 3, 4, 5])


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"seed": 6}, "resumed with its own seed, 5, got 6; leave seed out"),
        ({"replicates": [0, 1, 2]}, "own replicates, 3, 4, 5, got 0, 1, 2; leave replicates out"),
        ({"replicates": [5, 4, 3]}, "own replicates, 3, 4, 5, got 5, 4, 3"),
        ({"replicates": 1}, "holds 3 replicates.*got 1"),
        ({"replicates": 4}, "holds 3 replicates.*got 4"),
        ({"replicates": 0}, "replicates must be a whole number from 1"),
    ],
)
def test_contradicting_a_run_that_is_resumed_is_an_error(asked: dict[str, Any], says: str) -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 10, replicates=range(3, 6), seed=5)
    for start in (run, run.final):
        with pytest.raises(pp.errors.InvalidInputError, match=says):
            pp.simulate(model, 10, start=start, **asked)


def test_a_state_without_origin_branches_off_with_other_noise() -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 10, seed=5)
    branch = pp.simulate(model, 5, start=State(run.final.step, run.final.public), seed=6)
    assert branch.seed == 6
    assert not np.array_equal(branch.final.public, pp.simulate(model, 5, start=run).final.public)


def test_outputs_with_gaps_are_no_start() -> None:
    model = random_model()
    frame = pandas.DataFrame({"time": [1], "agent": [model.network.labels[0]], "public": [0.5]})
    with pytest.raises(pp.errors.InvalidInputError, match="opinions of all agents"):
        pp.simulate(model, 5, start=pp.Trajectory.from_dataframe(frame, model))


def test_different_seeds_differ() -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    finals = [pp.simulate(model, 3, seed=seed).final.public for seed in (0, 1, 2**32, 2**64 - 1)]
    assert len({final.tobytes() for final in finals}) == 4


def test_single_precision_follows_double() -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    double = pp.simulate(model, 40, replicates=17, seed=1)
    single = pp.simulate(model, 40, replicates=17, seed=1, dtype=np.float32)
    assert single.states is not None
    assert double.states is not None
    assert single.states.dtype == np.float32
    np.testing.assert_allclose(single.states, double.states, atol=2e-5)


# --- what is recorded -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("replicates", [1, 16])
def test_summaries_describe_the_states(replicates: int) -> None:
    model = random_model(1500, weighted=False, noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 6, replicates=replicates, seed=1)
    assert run.states is not None
    assert run.spread is not None
    assert run.max_distance is not None
    assert run.mean is not None
    np.testing.assert_array_equal(run.minimum, run.states.min(axis=2))
    np.testing.assert_array_equal(run.maximum, run.states.max(axis=2))
    np.testing.assert_allclose(run.mean, run.states.mean(axis=2), rtol=1e-12)
    np.testing.assert_array_equal(run.spread, np.ptp(run.states, axis=2))
    np.testing.assert_allclose(run.max_distance, np.abs(run.states - model.consensus_value).max(axis=2), rtol=1e-12)


def test_records_keep_what_they_say() -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    full = pp.simulate(model, 23, replicates=3, seed=4)
    some = pp.simulate(model, 23, replicates=3, seed=4, record=pp.Record(every=5, agents=[7, 2]))
    assert some.times.tolist() == [0, 5, 10, 15, 20, 23]
    assert full.states is not None
    np.testing.assert_array_equal(some.states, full.states[:, some.times][:, :, [7, 2]])
    np.testing.assert_array_equal(some.path(2), full.path(2)[:, some.times])
    summaries = pp.simulate(model, 23, replicates=3, seed=4, record="summaries")
    assert summaries.states is None
    np.testing.assert_array_equal(summaries.minimum, full.minimum)
    final = pp.simulate(model, 23, replicates=3, seed=4, record="final")
    assert final.minimum is None
    assert final.spread is None
    np.testing.assert_array_equal(final.final.public, full.states[:, -1])


def test_no_steps_give_the_start() -> None:
    run = pp.simulate(random_model(), 0)
    np.testing.assert_array_equal(run.final.public[0], run.model.x0)
    assert run.times.tolist() == [0]


def test_progress_is_printed_by_tenths_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    pp.simulate(random_model(), 10, progress=True)
    assert capfd.readouterr().err.splitlines()[-1] == "steps: 10 of 10"
    pp.simulate(random_model(), 10)
    assert capfd.readouterr().err == ""


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    pp.simulate(random_model(), 10, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (10, 10)


# --- laws of the model ----------------------------------------------------------------------------------------------

seeds = st.integers(0, 10_000)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, n=st.integers(4, 40), data=st.data())
def test_relabelling_agents_commutes_with_simulating(seed: int, n: int, data: st.DataObject) -> None:
    model = random_model(n, seed)
    order = np.array(data.draw(st.permutations(range(n))))
    moved = pp.Model(model.network.permuted(order), hidden=model.x0[order], stubbornness=model.s[order])
    expected = pp.simulate(model, 15).final.public[:, order]
    np.testing.assert_allclose(pp.simulate(moved, 15).final.public, expected, rtol=1e-12, atol=1e-13)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, shift=st.floats(-1e3, 1e3), factor=st.floats(-10, 10))
def test_opinions_may_be_measured_in_any_unit(seed: int, shift: float, factor: float) -> None:
    model = random_model(seed=seed)
    moved = pp.Model(model.network, hidden=factor * model.x0 + shift, stubbornness=model.s)
    expected = factor * pp.simulate(model, 15).final.public + shift
    np.testing.assert_allclose(pp.simulate(moved, 15).final.public, expected, rtol=1e-10, atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, slope=st.floats(0.01, 100.0))
def test_without_noise_nobody_leaves_the_range_of_hidden_opinions(seed: int, slope: float) -> None:
    model = random_model(seed=seed, pressure=pp.Linear(slope))
    run = pp.simulate(model, 30, record="summaries")
    assert run.minimum is not None
    assert run.maximum is not None
    slack = 1e-13 * np.abs(model.x0).max()
    assert run.minimum.min() >= model.x0.min() - slack
    assert run.maximum.max() <= model.x0.max() + slack


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"steps": -1}, "steps"),
        ({"steps": 2.5}, "steps"),
        ({"steps": True}, "steps"),
        ({"steps": 2**33}, "steps"),
        ({"replicates": 0}, "replicates"),
        ({"replicates": 2**31}, "replicates"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"record": "everything"}, "'all', 'summaries', 'final'"),
        ({"record": pp.Record(agents=["nobody"])}, "nobody"),
        ({"dtype": "int32"}, "float64 or float32"),
        ({"dtype": "foo"}, "float64 or float32, got 'foo'"),
        ({"dtype": 64}, "float64 or float32, got 64"),
        ({"should_stop": "now"}, "should_stop must be a function, got 'now'"),
        ({"replicates": [[1], [2, 3]]}, "replicates"),
        ({"threads": 0}, "threads"),
        ({"start_step": -3}, "start_step"),
        ({"start": [1.0, 2.0]}, "Trajectory or a State"),
        ({"start": State(3, np.zeros((1, 4)))}, "4 agents"),
        ({"start": State(3, np.zeros((1, 23))), "start_step": 5}, "step 3"),
        ({"start": State(3, np.zeros((2, 23))), "replicates": 3}, "2 replicates"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(pp.PeerPressureError, match=says):
        pp.simulate(random_model(), **({"steps": 5} | arguments))


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"step": -1}, "step of a state"),
        ({"step": "late"}, "step of a state"),
        ({"memory": np.zeros((3, 2))}, r"memory opinions.*shape \(2, 2\).*got float64 of shape \(3, 2\)"),
        ({"hidden": np.zeros(2)}, r"hidden opinions.*shape \(2, 2\)"),
        ({"seed": "a"}, "seed"),
        ({"replicates": [3]}, "2 rows .* one replicate number each, got 1"),
    ],
)
def test_a_state_has_consistent_parts(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(pp.errors.InvalidInputError, match=says):
        State(**dict[str, Any](step=3, public=np.zeros((2, 2))) | parts)


def test_a_state_without_axis_of_replicates_starts_all_of_them() -> None:
    model = random_model(noise=pp.Gaussian(1.0, temporal=pp.AR1(0.5)))
    one = pp.simulate(model, 4, seed=1).final
    assert one.memory is not None
    shared = State(4, one.public[0], one.memory[0])
    stacked = State(4, np.repeat(one.public, 3, axis=0), np.repeat(one.memory, 3, axis=0))
    one_for_all, each = (pp.simulate(model, 5, 3, start=start, seed=2).final.public for start in (shared, stacked))
    np.testing.assert_array_equal(one_for_all, each)


@pytest.mark.parametrize("agents", [[0, 0], [3, 1, 3.0], ["a", "b", "a"]])
def test_a_record_has_each_agent_once(agents: list[Any]) -> None:
    with pytest.raises(pp.errors.InvalidInputError, match=f"recorded agents must differ, got {agents[0]!r} twice"):
        pp.Record(agents=agents)


@pytest.mark.parametrize("every", [0, -1, 1.5, True])
def test_a_record_needs_a_whole_interval(every: Any) -> None:
    with pytest.raises(pp.errors.InvalidInputError, match="every must be a whole number of at least 1"):
        pp.Record(every=every)


def test_a_run_that_does_not_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(noise=pp.Gaussian(1.0))
    with pytest.raises(pp.errors.TooLargeError, match=r"GB is free.*record less, .*record='final'"):
        pp.simulate(model, 2**31, replicates=1000)
    with pytest.raises(pp.errors.TooLargeError, match="fewer replicates"):
        pp.simulate(pp.Model(pp.networks.cycle(200_000), np.zeros(200_000)), 1, replicates=2**20, record="final")
    free = psutil.virtual_memory()._replace(available=10_000)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    with pytest.raises(pp.errors.TooLargeError):
        pp.simulate(model, 100)


def test_a_state_beyond_the_range_is_an_error() -> None:
    model = random_model(noise=pp.Gaussian(1e300), start=np.full(23, 1.7e308))
    with pytest.raises(pp.PeerPressureError, match="left the range"):
        pp.simulate(model, 50, seed=1)


@pytest.mark.parametrize("steps", [0, 7])
def test_a_run_that_keeps_its_final_state_alone_has_no_times_between(steps: int) -> None:
    """A list of all steps would take as long as many steps of a small network."""
    model = random_model()
    start = pp.simulate(model, 3, seed=3)
    run = pp.simulate(model, steps, start=start, record="final")
    assert run.times.tolist() == sorted({3, 3 + steps})
    np.testing.assert_array_equal(run.final.public, pp.simulate(model, steps, start=start).final.public)


def test_a_seed_may_be_a_generator_of_numpy() -> None:
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=1.0)
    rng = np.random.default_rng(7)
    first, second = pp.simulate(model, 5, seed=rng), pp.simulate(model, 5, seed=rng)
    drawn = int(np.random.default_rng(7).integers(2**63))
    assert (first.seed, second.seed == drawn) == (drawn, False)
    np.testing.assert_array_equal(first.states, pp.simulate(model, 5, seed=drawn).states)
    assert pp.simulate(model, 5).seed == pp.simulate(model, 5, seed=None).seed == 0
    assert pp.simulate(model, 5, start=first).seed == drawn
    for wrong in (-1, 1.5, True, "1", np.random.RandomState(1)):
        with pytest.raises(pp.errors.InvalidInputError, match="the seed must be a whole number"):
            pp.simulate(model, 5, seed=wrong)  # type: ignore[arg-type]


def test_a_release_takes_no_generator_either() -> None:
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=1.0, start=0.0)
    with pytest.raises(pp.errors.InvalidInputError, match="draws its noise from the operating system"):
        pp.privacy.release(model, 5, seed=np.random.default_rng(1))
