"""Who sees what: resolving labels and steps, and every refusal by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, answers_of, recover
from tests.recovery.cases import STEPS, small_model

NAMED = pp.Model(pp.Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["ann", "bob", "cat"]), hidden=[0.0, 1.0, 2.0])
RUN = pp.simulate(NAMED, 6, 2)


def test_all_from_step_one_unless_said_otherwise() -> None:
    seen = Observation().resolve(NAMED, RUN.times)
    assert seen.everyone
    assert seen.uninterrupted
    assert not seen.sees_start
    np.testing.assert_array_equal(seen.times, np.arange(1, 7))
    np.testing.assert_array_equal(seen.free, np.arange(3))


def test_labels_become_sorted_positions() -> None:
    seen = Observation(agents=["cat", "ann"], times=[5, 2], rounding=0.6).resolve(NAMED, RUN.times)
    np.testing.assert_array_equal(seen.agents, [0, 2])
    np.testing.assert_array_equal(seen.times, [2, 5])
    assert seen.noise_variance == pytest.approx(0.03)
    assert not seen.everyone
    assert not seen.uninterrupted
    assert seen.last == 5


def test_a_sharp_hidden_start_is_knowledge_and_a_rounded_one_is_data() -> None:
    sharp = Observation(agents=["bob"], sees_start=True).resolve(NAMED, RUN.times)
    np.testing.assert_array_equal(sharp.free, [0, 2])
    assert sharp.times[0] == 1
    rounded = Observation(agents=["bob"], sees_start=True, rounding=0.1).resolve(NAMED, RUN.times)
    np.testing.assert_array_equal(rounded.free, [0, 1, 2])
    assert rounded.times[0] == 0
    only = Observation(times=[0], sees_start=True).resolve(NAMED, RUN.times)
    assert not only.free.size
    assert only.last == 0


def test_a_given_start_says_nothing() -> None:
    model = pp.Model(NAMED.network, NAMED.hidden, start=[0.0, 0.0, 0.0])
    seen = Observation(sees_start=True).resolve(model, RUN.times)
    np.testing.assert_array_equal(seen.free, np.arange(3))
    assert seen.times[0] == 1
    with pytest.raises(pp.errors.InvalidInputError, match="must see something of x₀, got only step 0"):
        Observation(times=[0], sees_start=True).resolve(model, RUN.times)


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "one label": ({"agents": "ann"}, r"sequence of labels, got 'ann'; for one agent use \['ann'\]"),
    "no sequence": ({"agents": 3}, "sequence of labels"),
    "unknown": ({"agents": ["ann", "bo"]}, "unknown 'bo'"),
    "nobody": ({"agents": []}, "must see an agent"),
    "twice": ({"agents": ["ann", "ann"]}, "agents must differ, got 'ann' twice"),
    "time twice": ({"times": [1, 1]}, "times must differ, got 1 twice"),
    "negative": ({"times": [-1]}, "whole number, 0 or more, got -1"),
    "half": ({"times": [1.5]}, "whole number"),
    "beyond": ({"times": [5, 7, 9]}, "among the 7 recorded ones, 0–6, got 7, 9"),
    "start unseen": ({"times": [0, 1]}, "let the observer see the start"),
    "late": ({"first_step": 7}, "must see something of x₀, got no step of the recorded 0–6"),
    "first step": ({"first_step": -2}, "first_step must be a whole number"),
    "rounding": ({"rounding": -0.1}, "finite spacing"),
    "rounding to nothing": ({"rounding": float("nan")}, "finite spacing"),
    "rounding by text": ({"rounding": "0.1"}, "finite spacing"),
}


@pytest.mark.parametrize("case", BAD)
def test_refuses(case: str) -> None:
    arguments, words = BAD[case]
    with pytest.raises(pp.errors.InvalidInputError, match=words):
        Observation(**arguments).resolve(NAMED, RUN.times)


def test_outputs_are_a_view_where_they_can_be() -> None:
    data = answers_of(RUN, NAMED)
    assert RUN.states is not None
    assert np.shares_memory(data.values, RUN.states)
    assert data.complete
    np.testing.assert_array_equal(data.at(2), RUN.states[:, 3])


def test_outputs_follow_recorded_agents_in_any_order() -> None:
    model = small_model()
    full = pp.simulate(model, STEPS, 2, seed=1)
    part = pp.simulate(model, STEPS, 2, seed=1, record=pp.Record(agents=[5, 0, 3]))
    assert full.states is not None
    np.testing.assert_array_equal(answers_of(part, model).values, full.states[:, 1:, [0, 3, 5]])
    view = Observation(agents=[0, 5])
    np.testing.assert_array_equal(answers_of(part, model, view).values, answers_of(full, model, view).values)
    with pytest.raises(pp.errors.InvalidInputError, match=r"among the 3 recorded ones, got 1, 6 \(2 in all\)"):
        answers_of(part, model, Observation(agents=[0, 1, 6]))


def test_a_run_that_goes_on_is_seen_late() -> None:
    model = small_model()
    first = pp.simulate(model, 4, seed=1)
    second = pp.simulate(model, 5, seed=1, start=first)
    whole = pp.simulate(model, 9, seed=1)
    late = recover(whole, model, "ols", Observation(first_step=4))
    np.testing.assert_allclose(recover(second, model, "ols").value, late.value)


def _changed(**parts: Any) -> pp.Trajectory:
    return pp.Trajectory(**(vars(RUN) | parts))


def test_outputs_refuse_what_does_not_fit() -> None:
    states = np.array(RUN.states)
    other = pp.Model(NAMED.network.relabelled(["x", "y", "z"]), NAMED.hidden)
    holes, infinite, empty = states.copy(), states.copy(), states.copy()
    holes[0, 3, 1], infinite[0, 3, 1], empty[:, 1:] = np.nan, np.inf, np.nan
    uneven = states.copy()
    uneven[0, 0, 1] = np.nan
    given = pp.Model(NAMED.network, NAMED.hidden, start=[5.0, 5.0, 5.0])
    start = Observation(sees_start=True)
    cases: list[tuple[pp.Model, pp.Trajectory, Observation | None, str]] = [
        (small_model(), RUN, None, "the model's 7 agents, under the same labels, got a run of 3"),
        (other, RUN, None, "got other labels"),
        (NAMED, pp.simulate(NAMED, 3, record="summaries"), None, "needs recorded states"),
        (NAMED, _changed(states=holes), None, "same places in all replicates, got different ones at step 3"),
        (NAMED, _changed(states=infinite), None, "an infinite one at step 3"),
        (NAMED, _changed(states=empty), None, "must see an answer, got only missing ones"),
        (NAMED, _changed(states=uneven), start, "different ones at step 0"),
        (given, RUN, start, "must show it at step 0, 5 for agent 'ann', got 0"),
    ]
    for model, run, view, words in cases:
        with pytest.raises(pp.errors.InvalidInputError, match=words):
            answers_of(run, model, view)


def test_the_start_of_some_may_be_missing() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 2, seed=1)
    states = np.array(run.states)
    states[:, 0, [2, 4]] = np.nan
    part = pp.Trajectory(**(vars(run) | {"states": states}))
    for method in ("innovations", "ols", "gls"):
        estimate = recover(part, model, method, Observation(sees_start=True))
        known = np.setdiff1d(np.arange(7), [2, 4])
        np.testing.assert_array_equal(estimate.value[:, known], states[:, 0, known])
        assert (estimate.variance[known] == 0).all()
        assert (estimate.variance[[2, 4]] > 0).all()


GRIDS: dict[str, tuple[list[float], float, list[float]]] = {
    "off the grid": ([0.14, 0.16, 0.31], 0.1, [0.1, 0.2, 0.3]),
    "half-way, to even": ([0.5, 1.5, 2.5, 0.25], 1.0, [0.0, 2.0, 2.0, 0.0]),
    "negative": ([-0.26, -0.24, 0.0], 0.1, [-0.3, -0.2, 0.0]),
    "coarser than all": ([0.1, 0.3, 0.4], 1.0, [0.0, 0.0, 0.0]),
    "all equal": ([0.16, 0.16, 0.16], 0.1, [0.2, 0.2, 0.2]),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", GRIDS)
def test_a_run_is_rounded_to_the_grid_of_the_observer(case: str, dtype: Any) -> None:
    values, spacing, expected = GRIDS[case]
    model = pp.Model(pp.networks.complete(len(values)), np.zeros(len(values)), noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 1)
    states = np.array([[np.zeros(len(values)), values]], dtype=dtype)
    part = pp.Trajectory(**(vars(run) | {"states": states}))
    look = Observation(rounding=spacing)
    seen = answers_of(part, model, look).values
    assert seen.dtype == dtype
    np.testing.assert_allclose(seen[0, 0], np.array(expected, dtype=dtype), rtol=1e-6, atol=1e-7)
    # Once rounded, they stay as they are.
    again = pp.Trajectory(**(vars(run) | {"states": np.concatenate([states[:, :1], seen], axis=1)}))
    np.testing.assert_array_equal(answers_of(again, model, look).values, seen)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("least", "spacing"), [(0.0, 0.1), (0.5, 1.0), (1000.03, 0.1), (-7.25, 0.5), (1e6, 0.25)])
def test_outputs_that_came_rounded_stay_as_they_are(least: float, spacing: float, dtype: Any) -> None:
    if least == 1000.03 and dtype == np.float32:
        least = 100.03  # of 0.1, single precision resolves little at 1,000
    model = pp.Model(pp.networks.complete(50), np.zeros(50), noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 4)
    digits = np.random.default_rng(0).integers(-30, 30, size=(1, 5, 50))
    # As read from a file: decimal digits, each rounded to the nearest number.
    states = np.array([[[float(f"{least + spacing * k:.4f}") for k in row] for row in digits[0]]], dtype=dtype)
    states[0, 2, 7] = np.nan
    part = pp.Trajectory(**(vars(run) | {"states": states}))
    np.testing.assert_array_equal(answers_of(part, model, Observation(rounding=spacing)).values, states[:, 1:])
    # A single value between makes it a run to be rounded.
    states[0, 3, 3] += dtype(0.3 * spacing)
    rounded = answers_of(part, model, Observation(rounding=spacing)).values
    on_grid = spacing * np.rint(states[:, 1:].astype(np.float64) / spacing)
    np.testing.assert_allclose(rounded, on_grid.astype(dtype), rtol=1e-6)


def test_who_rounds_does_not_matter() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 3, seed=1)
    assert run.states is not None
    by_hand = pp.Trajectory(**(vars(run) | {"states": 0.25 * np.rint(run.states / 0.25)}))
    for look in (Observation(rounding=0.25), Observation(agents=[1, 4], rounding=0.25, sees_start=True)):
        for method in ("kalman", "ols", "gls"):
            ours, theirs = (recover(one, model, method, look) for one in (run, by_hand))
            np.testing.assert_allclose(ours.value, theirs.value, atol=1e-12)
            assert not np.allclose(ours.value, recover(run, model, method, replace(look, rounding=0.0)).value)


def test_a_rounded_start_is_compared_with_the_one_that_is_given() -> None:
    model = pp.Model(NAMED.network, NAMED.hidden, start=[0.13, 0.31, 0.9])
    run = pp.simulate(model, 5)
    look = Observation(sees_start=True, rounding=0.5)
    np.testing.assert_array_equal(answers_of(run, model, look).seen.times, np.arange(1, 6))
    other = pp.Model(NAMED.network, NAMED.hidden, start=[0.13, 0.31, 1.9])
    with pytest.raises(pp.errors.InvalidInputError, match="must show it at step 0"):
        answers_of(run, other, look)


def test_a_start_that_is_left_out_is_said() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, seed=1)
    given = pp.simulate(small_model(start="given"), STEPS, seed=1)
    late = pp.simulate(model, STEPS, seed=1, start=pp.simulate(model, 3, seed=1))
    unseen = np.array(run.states)
    unseen[:, 0] = np.nan
    gone = pp.Trajectory(**(vars(run) | {"states": unseen}))
    said = {
        "default": recover(run, model),
        "some": recover(run, model, "kalman", Observation(agents=[1, 2])),
        "rounded": recover(run, model, "ols", Observation(rounding=0.1)),
        "last step": recover(run, model, "snapshot"),
    }
    for name, estimate in said.items():
        assert "sees_start" in estimate.note, name
        assert "sees_start" in str(estimate), name
    silent = {
        "seen": recover(run, model, "ols", Observation(agents=[1], sees_start=True)),
        "chosen": recover(run, model, "ols", Observation(times=range(1, 5))),
        "later": recover(run, model, "ols", Observation(first_step=1)),
        "given": recover(given, small_model(start="given")),
        "missing": recover(gone, model),
        "resumed": recover(late, model, "ols"),
    }
    for name, estimate in silent.items():
        assert "sees_start" not in estimate.note, name


def test_rounding_coarser_than_the_noise_is_said() -> None:
    for pressure, spacing, coarse in ((pp.Constant(0.1), 0.1, False), (pp.Constant(0.1), 1.5, True), ("t", 0.3, True)):
        model = pp.Model(pp.networks.cycle(5), np.arange(5.0), pressure=pressure, noise=pp.Gaussian(0.5))
        estimate = recover(pp.simulate(model, 9, seed=1), model, "kalman", Observation(rounding=spacing))
        assert ("approximate" in estimate.note) == coarse
