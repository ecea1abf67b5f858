"""Recovery given who updated, which an observer reads off the public opinions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.recovery import information, who_updated
from tests.builders import random_model
from tests.oracles import joint_law, who_updates


def model_of(activation: Any, n: int = 8, **parts: Any) -> pp.Model:
    given: dict[str, Any] = {"noise": pp.Gaussian(0.5), "start": 0.0}
    return random_model(n, activation=activation, **(given | parts))


@pytest.mark.parametrize("activation", [0.5, "single"])
def test_who_updated_is_read_off_a_run(activation: Any) -> None:
    model = model_of(activation)
    run = pp.simulate(model, 30, replicates=3, seed=4)
    expected = np.array([who_updates(model, 30, k, 4) for k in range(3)])
    np.testing.assert_array_equal(who_updated(run, model), expected)
    # The model gives the start, so step 0 need not be recorded.
    assert run.states is not None
    later = replace(run, states=run.states[:, 1:], times=run.times[1:])
    np.testing.assert_array_equal(who_updated(later, model), expected)


@pytest.mark.parametrize("temporal", ["white", pp.AR1(0.5)])
@pytest.mark.parametrize("start", ["hidden", 0.0])
def test_estimates_are_the_exact_ones_given_who_updated(temporal: Any, start: Any) -> None:
    model = model_of(0.5, start=start, noise=pp.Gaussian(0.5, temporal=temporal))
    steps, run = 25, pp.simulate(model, 25, replicates=[3], seed=1)
    masks = who_updates(model, steps, 3, 1)
    found = [pp.recover(run, model, method) for method in ("innovations", "kalman", "gls")]
    for other in found[1:]:
        np.testing.assert_allclose(other.value, found[0].value, atol=1e-7)
        np.testing.assert_allclose(other.std, found[0].std, rtol=1e-6, atol=1e-7)
    given = model_of(masks, start=start, noise=model.noise)
    table = pp.recover(run, given)
    np.testing.assert_array_equal(table.value, found[0].value)
    if start == 0.0 and temporal == "white":
        # Each update shows one preferred opinion.
        np.testing.assert_allclose(found[0].variance, 0.25 / masks.sum(axis=0), rtol=1e-9)
        assert run.states is not None
        update, total = model.synchronous.update, np.zeros(model.n)
        for t in range(1, steps + 1):
            step = update(t)
            preferred = (run.states[0, t] - step.couple(run.states[0, t - 1])) / step.gain
            total += np.where(masks[t - 1], preferred, 0.0)
        np.testing.assert_allclose(found[0].value[0], total / masks.sum(axis=0), atol=1e-9)


def test_intervals_cover() -> None:
    model, inside, count = model_of(0.4), 0, 0
    for replicate in range(40):
        estimate = pp.recover(pp.simulate(model, 20, replicates=[replicate], seed=9), model)
        low, high = estimate.interval(0.9)
        seen = estimate.identified
        inside += int(np.count_nonzero((low[0] < model.x0)[seen] & (model.x0 < high[0])[seen]))
        count += int(np.count_nonzero(seen))
    assert abs(inside / count - 0.9) < 4 * np.sqrt(0.09 / count)


def test_a_table_has_exact_information_and_budget() -> None:
    masks = np.random.default_rng(0).random((12, 8)) < 0.5
    model = model_of(masks)
    by_hand = masks.sum(axis=0) / 0.25
    np.testing.assert_allclose(information(model, 12).matrix.diagonal(), by_hand)
    budget = pp.privacy.budget(model, 12)
    assert budget.information == pytest.approx(by_hand.max())
    # The dense law of all outputs, from which the information of agent 0 alone follows, too.
    from_hidden, _, P = joint_law(model, 12)
    slope = from_hidden[1:].reshape(-1, 8)[:, 0]
    cov = P[8:, 8:]
    np.testing.assert_allclose(slope @ np.linalg.pinv(cov, rcond=1e-12) @ slope, by_hand[0], rtol=1e-6)


def test_who_updated_needs_all_outputs_and_noise_with_a_density() -> None:
    model = model_of(0.5)
    run = pp.simulate(model, 10, replicates=3)
    one = pp.simulate(model, 10)
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: pp.recover(run, model), "one at a time"),
        (lambda: pp.recover(one, model, observation=pp.Observation(agents=[0, 1])), "exact answers of all agents"),
        (lambda: pp.recover(one, model, observation=pp.Observation(rounding=0.1)), "exact answers of all agents"),
        (lambda: who_updated(pp.simulate(model, 10, record=pp.Record(every=2)), model), "at every step"),
        (lambda: who_updated(pp.simulate(model, 10, record=pp.Record(agents=[0, 3])), model), "all agents"),
        (lambda: who_updated(one, replace(model, noise=pp.NoNoise())), "noise that has a density"),
        (lambda: who_updated(one, replace(model, noise=pp.noise.Rademacher(1.0))), "noise that has a density"),
    ]
    for call, words in cases:
        with pytest.raises(InvalidInputError, match=words):
            call()
