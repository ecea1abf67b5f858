"""Who sees what: resolving labels and steps, and every refusal by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, outputs_of, recover
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
    "start unseen": ({"times": [0, 1]}, "set sees_start=True"),
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
    data = outputs_of(NAMED, RUN)
    assert RUN.states is not None
    assert np.shares_memory(data.values, RUN.states)
    assert data.complete
    np.testing.assert_array_equal(data.at(2), RUN.states[:, 3])


def test_outputs_follow_recorded_agents_in_any_order() -> None:
    model = small_model()
    full = pp.simulate(model, STEPS, 2, seed=1)
    part = pp.simulate(model, STEPS, 2, seed=1, record=pp.Record(agents=[5, 0, 3]))
    assert full.states is not None
    np.testing.assert_array_equal(outputs_of(model, part).values, full.states[:, 1:, [0, 3, 5]])
    view = Observation(agents=[0, 5])
    np.testing.assert_array_equal(outputs_of(model, part, view).values, outputs_of(model, full, view).values)
    with pytest.raises(pp.errors.InvalidInputError, match=r"among the 3 recorded ones, got 1, 6 \(2 in all\)"):
        outputs_of(model, part, Observation(agents=[0, 1, 6]))


def test_a_run_that_goes_on_is_seen_late() -> None:
    model = small_model()
    first = pp.simulate(model, 4, seed=1)
    second = pp.simulate(model, 5, seed=1, start=first)
    whole = pp.simulate(model, 9, seed=1)
    late = recover(model, whole, "ols", Observation(first_step=4))
    np.testing.assert_allclose(recover(model, second, "ols").value, late.value)


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
        (NAMED, _changed(states=empty), None, "must see an output, got only missing ones"),
        (NAMED, _changed(states=uneven), start, "different ones at step 0"),
        (given, RUN, start, "must show it at step 0, 5 for agent 'ann', got 0"),
    ]
    for model, run, view, words in cases:
        with pytest.raises(pp.errors.InvalidInputError, match=words):
            outputs_of(model, run, view)


def test_the_start_of_some_may_be_missing() -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 2, seed=1)
    states = np.array(run.states)
    states[:, 0, [2, 4]] = np.nan
    part = pp.Trajectory(**(vars(run) | {"states": states}))
    for method in ("innovations", "ols", "gls"):
        estimate = recover(model, part, method, Observation(sees_start=True))
        known = np.setdiff1d(np.arange(7), [2, 4])
        np.testing.assert_array_equal(estimate.value[:, known], states[:, 0, known])
        assert (estimate.variance[known] == 0).all()
        assert (estimate.variance[[2, 4]] > 0).all()
