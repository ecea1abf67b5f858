"""What agents hold in the end, and on the way, against the joint law of everything and against runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, Observation, answers_of, recover
from peerpressure.recovery._kalman import kalman_smoother
from tests.builders import random_model
from tests.recovery.cases import AGENTS, FACTORS, STEPS, assert_same, extended, small_model


def test_what_is_held_becomes_known_while_what_was_held_is_lost() -> None:
    model = random_model(6, noise=pp.Gaussian(1.0), start=np.zeros(6), adaptation=0.1)
    run = pp.simulate(model, 200, seed=1)
    now, then = (recover(run, model, target=target).variance for target in ("current", "initial"))
    np.testing.assert_allclose(then, 1 - 0.9**2, rtol=1e-9)
    np.testing.assert_allclose(now, then * 0.9**400, rtol=1e-9)
    assert run.final.hidden is not None
    np.testing.assert_allclose(recover(run, model, target="current").value, run.final.hidden, atol=1e-6)


def test_agents_who_believe_what_they_say_are_known_without_an_opinion_of_their_own() -> None:
    rates = pp.Adaptation("1/t", FACTORS)
    model = extended("adapting", "white", "hidden", adaptation=rates)
    run = pp.simulate(model, 3, seed=1)
    at_once = int(np.argmax(FACTORS))
    for method in ("innovations", "kalman"):
        estimate = recover(run, model, method, target="current")
        assert estimate.identified.all()
        assert estimate.variance[at_once] == pytest.approx(0.0, abs=1e-20)
        assert run.final.hidden is not None
        np.testing.assert_allclose(estimate.value[0, at_once], run.final.hidden[0, at_once])
    # With a start of its own and full faith in the first word, only that word ever told of x₀.
    public = replace(model, start=np.zeros(AGENTS))
    assert recover(pp.simulate(public, 50), public).variance[at_once] == pytest.approx(0.49)


def test_who_saw_the_start_knows_what_follows_from_it() -> None:
    model = extended("both", "white")
    run = pp.simulate(model, STEPS, 2, seed=1)
    assert run.final.hidden is not None
    whole = recover(run, model, observation=Observation(sees_start=True), target="current")
    np.testing.assert_allclose(whole.value, run.final.hidden, atol=1e-9)
    # Nothing is left open but the last digits.
    assert (whole.std < 1e-14).all()
    gaps = recover(run, model, "kalman", Observation(sees_start=True, times=[0, 4, 9]), target="current")
    assert gaps.identified.all()
    assert (gaps.variance[FACTORS > 0] > 1e-6).all()


@pytest.mark.parametrize("method", METHODS)
def test_constant_opinions_are_what_they_were(method: str) -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 2, seed=1)
    now, then = recover(run, model, method, target="current"), recover(run, model, method)
    assert (now.target, then.target) == ("current", "initial")
    assert_same(now, then, 0.0)
    np.testing.assert_array_equal(now.residuals(), then.residuals())
    path = kalman_smoother(answers_of(run, model), model)
    np.testing.assert_array_equal(path.current.mean, path.hidden.mean)


def test_the_page_says_which_opinions_are_meant() -> None:
    model = extended("both", "white")
    run = pp.simulate(model, STEPS)
    assert str(recover(run, model)).startswith("Hidden opinions of 7 agents by innovations")
    assert str(recover(run, model, target="current")).startswith("Hidden opinions of 7 agents in the end, by innov")


def test_refusals() -> None:
    model = extended("both", "white")
    run = pp.simulate(model, STEPS)
    with pytest.raises(pp.errors.InvalidInputError, match="estimated by innovations or kalman, got 'ols'"):
        recover(run, model, "ols", target="current")
    with pytest.raises(pp.errors.InvalidInputError, match="must be one of 'initial', 'current', got 'late'"):
        recover(run, model, target="late")  # type: ignore[arg-type]
    with pytest.raises(pp.errors.InvalidInputError, match=r"truth must be given.*run\.final\.hidden"):
        recover(run, model, target="current").residuals()
