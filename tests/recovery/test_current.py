"""What agents hold in the end, and on the way, against the joint law of everything and against runs."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, Observation, Prior, outputs_of, recover
from peerpressure.recovery._kalman import kalman_filter, kalman_smoother
from tests.builders import random_model
from tests.recovery.cases import AGENTS, STARTS, STEPS, VIEWS, small_model
from tests.recovery.extended import FACTORS, Joint, extended
from tests.recovery.test_kalman import assert_same, with_holes

PRIOR = Prior(0.3, 0.8)
MOVING = ("adapting", "adapting alike", "both")


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", ["white", "by agent", "negative ar1", "frozen", "some without"])
@pytest.mark.parametrize("kind", MOVING)
def test_it_is_the_conditional_law_of_what_is_held(kind: str, noise: str, start: str) -> None:
    model = extended(kind, noise, start)
    run = pp.simulate(model, STEPS, 2, seed=2)
    joint = Joint.of(model, STEPS)
    for view in ("all", "some agents", "gaps", "rounded"):
        law = joint.given(outputs_of(run, model, VIEWS[view]), 0.3, 0.8)
        mean, covariance = law.of(*(part[-1] for part in joint.current))
        for method in ("kalman", *(["innovations"] if view == "all" else [])):
            estimate = recover(run, model, method, VIEWS[view], PRIOR, target="current")
            assert estimate.target == "current"
            np.testing.assert_allclose(estimate.value, mean, atol=1e-7)
            np.testing.assert_allclose(estimate.covariance @ np.eye(AGENTS), covariance, atol=1e-7)


@pytest.mark.parametrize("noise", ["white", "ar1"])
@pytest.mark.parametrize("kind", MOVING)
def test_beliefs_on_the_way_are_conditional_laws_too(kind: str, noise: str) -> None:
    model = extended(kind, noise, "given")
    run = with_holes(pp.simulate(model, STEPS, 2, seed=4), 0.1)
    view = Observation(agents=[0, 2, 3, 6], times=[1, 2, 5, 6, 8], rounding=0.3)
    data, joint = outputs_of(run, model, view), Joint.of(model, STEPS)
    smooth, filtered = kalman_smoother(data, model, PRIOR), kalman_filter(data, model, PRIOR)
    for t in smooth.times:
        until = replace(view, times=[s for s in (1, 2, 5, 6, 8) if s <= t])
        sights = [(smooth, data)]
        if until.times:
            sights.append((filtered, outputs_of(run, model, until)))
        for path, seen in sights:
            law = joint.given(seen, 0.3, 0.8)
            for beliefs, part in ((path.current, joint.current), (path.public, joint.public)):
                mean, covariance = law.of(*(values[t] for values in part))
                np.testing.assert_allclose(beliefs.mean[:, t], mean, atol=1e-8)
                np.testing.assert_allclose(beliefs.covariance[t], covariance, atol=1e-8)
    np.testing.assert_array_equal(smooth.current.mean[:, 0], smooth.hidden.mean[:, 0])


@pytest.mark.parametrize("noise", ["white", "ar1"])
def test_errors_have_the_stated_size(noise: str) -> None:
    model = extended("both", noise)
    run = pp.simulate(model, STEPS, 3000, seed=7)
    assert run.final.hidden is not None
    for method, view in (("innovations", "all"), ("kalman", "all"), ("kalman", "some agents"), ("kalman", "gaps")):
        estimate = recover(run, model, method, VIEWS[view], target="current")
        who = estimate.identified & (estimate.variance > 1e-12)
        errors = estimate.residuals(run.final.hidden)[:, who]
        assert (np.abs(errors.mean(axis=0)) < 5 * estimate.std[who] / np.sqrt(3000)).all()
        assert (np.abs((errors**2).mean(axis=0) / estimate.variance[who] - 1) < 5 * np.sqrt(2 / 3000)).all()


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
    path = kalman_smoother(outputs_of(run, model), model)
    np.testing.assert_array_equal(path.current.mean, path.hidden.mean)


def test_the_page_says_which_opinions_are_meant() -> None:
    model = extended("both", "white")
    run = pp.simulate(model, STEPS)
    assert str(recover(run, model)).startswith("Hidden opinions of 7 agents by innovations")
    assert str(recover(run, model, target="current")).startswith("Hidden opinions of 7 agents in the end, by innov")


def test_refusals(monkeypatch: pytest.MonkeyPatch) -> None:
    model = extended("both", "white")
    run = pp.simulate(model, STEPS)
    with pytest.raises(pp.errors.InvalidInputError, match="estimated by innovations or kalman, got 'ols'"):
        recover(run, model, "ols", target="current")
    with pytest.raises(pp.errors.InvalidInputError, match="must be one of 'initial', 'current', got 'late'"):
        recover(run, model, target="late")  # type: ignore[arg-type]
    with pytest.raises(pp.errors.InvalidInputError, match=r"truth must be given.*run\.final\.hidden"):
        recover(run, model, target="current").residuals()
    monkeypatch.setattr(import_module("peerpressure.recovery._estimators"), "PARTIAL_LIMIT", 5)
    with pytest.raises(pp.errors.TooLargeError, match="at most 5 agents, got 7"):
        recover(run, model, "kalman", target="current")


@pytest.mark.parametrize("start", ["hidden", "given"])
def test_large_networks_carry_their_covariance_as_it_came(start: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rates = pp.Adaptation(0.1, np.linspace(0, 1, 40))
    begin = "hidden" if start == "hidden" else np.zeros(40)
    model = random_model(40, noise=pp.Gaussian(0.8), start=begin, adaptation=rates)
    run = pp.simulate(model, 12, 2, seed=1)
    dense = recover(run, model, "kalman", target="current")
    monkeypatch.setattr(import_module("peerpressure.recovery._innovations"), "DENSE_LIMIT", 10)
    large = recover(run, model, target="current")
    np.testing.assert_allclose(large.value, dense.value, atol=1e-8)
    np.testing.assert_allclose(large.variance_of(range(40)), dense.variance, rtol=1e-7)
