"""Settling times against the law of every step by dense recursion, and what is claimed about them."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from scipy import integrate

import peerpressure as pp
from peerpressure import Model, diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import complete, cycle, k2, named, star
from peerpressure.noise import Gaussian, Laplace
from peerpressure.theory import Verdict, _forecast, forecast
from peerpressure.theory._text import legend, settling_rows
from tests.theory.laws import Array, law_after
from tests.theory.reasons import known

HIDDEN = [0.0, 0.9, 0.3, 1.0, 0.1, 0.7]
S = [0.5, 1.0, 2.0, 1.0, 0.7, 1.5]
STEPS = 60
MODELS = {
    "white": Model(cycle(6), HIDDEN, S, noise=Gaussian(0.4)),
    "quiet": Model(cycle(6), HIDDEN, S),
    "star": Model(star(6), HIDDEN, S, pressure="2^sqrt(t)", noise=Laplace(0.1)),
    "ar1": Model(cycle(6), HIDDEN, S, noise=Gaussian(0.2, temporal=pp.AR1(0.7))),
    "adapting": Model(cycle(6), HIDDEN, S, noise=Gaussian(0.2), adaptation=0.05),
    "bounded": Model(cycle(6), HIDDEN, S, pressure=3.0, noise=Gaussian(0.1)),
    "far start": Model(cycle(6), HIDDEN, S, start=5.0, noise=Gaussian(0.05)),
}


def distances(model: Model, t: int) -> tuple[float, float]:
    """Return the root mean squares of y_i − y_j over pairs, one by one, and of y_i − v over agents."""
    mean, P = law_after(model, t)
    n, v = model.n, float(np.dot(model.s, model.x0) / np.sum(model.s))
    square: Array = (mean[:n, None] - mean[:n]) ** 2 + np.diag(P)[:n, None] + np.diag(P)[:n] - 2 * P[:n, :n]
    pairs = [square[i, j] for i in range(n) for j in range(i)]
    return float(np.sqrt(np.mean(pairs))), float(np.sqrt(np.mean((mean[:n] - v) ** 2 + np.diag(P)[:n])))


@pytest.mark.parametrize("name", MODELS)
def test_settling_is_the_step_after_the_last_that_is_too_far(name: str) -> None:
    model = MODELS[name]
    path = [distances(model, t) for t in range(STEPS + 1)]
    for tolerance in (0.01, 0.05, 0.2, 0.5, 6.0):
        found = known(forecast(model, STEPS, tolerance=tolerance).settling)
        for k, step in enumerate((found.each_other, found.value)):
            above = [t for t in range(STEPS + 1) if path[t][k] > tolerance]
            expected = above[-1] + 1 if above else 0
            assert step == (None if expected > STEPS else expected), (tolerance, k)


def test_the_usual_tolerance_is_a_share_of_the_range() -> None:
    settling = known(known(diagnose(MODELS["white"], STEPS).forecast).settling)
    assert settling.tolerance == 0.05
    wide = known(diagnose(Model(k2(), [0.0, 97.0]), STEPS).forecast)
    assert known(wide.settling).tolerance == 5.0
    equal = Model(k2(), [1.0, 1.0], noise=Gaussian(1.0))
    assert forecast(equal, 9).settling is None
    assert forecast(equal, 9, tolerance=0.1).settling is not None
    assert "all opinions are equal" in str(forecast(equal, 9).settling_omitted)
    for wrong in (0.0, -1.0, float("nan"), "a"):
        with pytest.raises(InvalidInputError, match="tolerance"):
            forecast(equal, 9, tolerance=wrong)  # type: ignore[arg-type]  # text, too


def test_no_more_is_claimed_than_the_steps_that_were_computed() -> None:
    found = known(forecast(MODELS["white"], STEPS, tolerance=0.01).settling)
    assert (found.each_other, found.value) == (None, None)
    rows = dict(settling_rows(found)[:2])
    assert rows == {"within 0.01 of each other": "not within 60 steps", "within 0.01 of v": "not within 60 steps"}
    verdict = diagnose(MODELS["white"], STEPS)
    assert verdict.to_dict()["forecast"]["settling"]["steps"] == STEPS
    assert f"up to step {STEPS}" in verdict.answer(200)
    assert f"up to step {STEPS}" in verdict.explain()


def test_agents_who_are_close_at_the_end_only_are_not_said_to_be_so_from_then_on() -> None:
    """Under pressure that rises and falls they are close again and again."""
    model = Model(complete(3), [0.0, 0.5, 1.0], pressure="1 + 5*(t - 3*floor(t/3))")
    texts = ["not within 39 steps", "only at the last step", "only in the last 2 steps"]
    for steps, text in zip((39, 40, 41), texts, strict=True):
        found = forecast(model, steps, tolerance=0.1)
        assert (np.ptp(found.mean) > 0.1) == text.startswith("not")
        assert settling_rows(known(found.settling))[0][1] == text
    # In a long run it is so from some step on.
    monotone = known(forecast(MODELS["quiet"], STEPS, tolerance=0.2).settling)
    assert settling_rows(monotone)[0][1] == f"from step {monotone.each_other} on"


def test_why_agents_are_close_to_v_before_they_are_close_to_each_other() -> None:
    why = "two agents are typically farther from each other than from v"
    for model in MODELS.values():
        verdict = diagnose(model, STEPS, advise=False)
        found = known(known(verdict.forecast).settling)
        later = found.value is not None and (found.each_other is None or found.each_other > found.value)
        assert (why in verdict.answer(400)) == (why in verdict.explain()) == later


def continuous_distances(model: Model, times: Array) -> list[tuple[float, float]]:
    """Return both distances at times of the equation as printed, from its mean and covariance as one dense system."""
    A, d, s, n = model.network.adjacency.toarray(), model.network.degrees, model.s, model.n
    sigma, v = model.noise.deviations(n), float(s @ model.x0 / s.sum())

    def rate(t: float, state: Array) -> Array:
        # (S + ρD) dy = [S(x₀ − y) − ρ(D − A)y] dt + dξ under ρ_t = t.
        m, P = state[:n], state[n:].reshape(n, n)
        inverse = np.diag(1 / (s + t * d))
        B, G = inverse @ (np.diag(s) + t * (np.diag(d) - A)), inverse @ np.diag(sigma)
        return np.concatenate([inverse @ (s * model.x0) - B @ m, (-B @ P - P @ B.T + G @ G.T).ravel()])

    start = np.concatenate([model.x0, np.zeros(n * n)])
    found = integrate.solve_ivp(rate, (0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-12).y.T
    answer = []
    for state in found:
        m, P = state[:n], state[n:].reshape(n, n)
        pairs = [(m[i] - m[j]) ** 2 + P[i, i] + P[j, j] - 2 * P[i, j] for i in range(n) for j in range(i)]
        answer.append((math.sqrt(np.mean(pairs)), math.sqrt(np.mean((m - v) ** 2 + np.diag(P)))))
    return answer


@pytest.mark.parametrize("name", ["white", "quiet"])
def test_settling_in_continuous_time_is_that_of_the_steps(name: str) -> None:
    model = MODELS[name]
    sde = pp.SDE(model)
    path = continuous_distances(model, np.arange(STEPS + 1, dtype=np.float64) * sde.step)
    for tolerance in (0.1, 0.2, 0.3, 0.4):
        found = known(forecast(sde, STEPS, tolerance=tolerance).settling)
        assert (found.step_length, found.is_bound) == (sde.step, False)
        for k, step in enumerate((found.each_other, found.value)):
            assert step == settled([one[k] for one in path], tolerance)
    assert settling_rows(forecast(sde, STEPS, tolerance=0.3).settling)[1][1].startswith("from time")  # type: ignore[arg-type]


def settled(distances: list[float], tolerance: float) -> int | None:
    above = [t for t, distance in enumerate(distances) if distance > tolerance]
    return None if above and above[-1] == len(distances) - 1 else above[-1] + 1 if above else 0


@pytest.mark.parametrize("name", ["white", "star", "ar1", "adapting", "bounded", "continuous"])
def test_bounds_of_large_networks_are_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    system = pp.SDE(MODELS["white"]) if name == "continuous" else MODELS[name]
    for tolerance in (0.05, 0.1, 0.2, 0.4):
        exact = forecast(system, STEPS, tolerance=tolerance).settling
        with monkeypatch.context() as patched:
            # As for a network whose covariance would take too long.
            patched.setattr(_forecast, "is_exact", lambda *_: False)
            patched.setattr(
                _forecast, "_probed", lambda m, t, means, centres: _forecast._covariances(m, t, means, centres, None)
            )
            bound = forecast(system, STEPS, tolerance=tolerance).settling
        assert exact is not None
        assert bound is not None
        assert (exact.is_bound, bound.is_bound) == (False, True)
        for least, step in ((bound.each_other, exact.each_other), (bound.value, exact.value)):
            # None is "not within these steps", which a bound may not know, but never claims wrongly.
            assert (least is None and step is None) or (least is not None and (step is None or least <= step))


def test_large_networks_with_noise_have_bounds_and_say_so() -> None:
    large = pp.networks.cycle(3001)
    hidden = np.linspace(0.0, 1.0, 3001)
    quiet = forecast(Model(large, hidden), 5).settling
    noisy = forecast(Model(large, hidden, noise=Gaussian(1.0)), 5).settling
    assert quiet is not None
    assert noisy is not None
    assert (quiet.is_bound, noisy.is_bound) == (False, True)
    assert "bounds" in settling_rows(noisy)[-1][1]


def test_what_would_take_too_long_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_forecast, "MOST_WORK", 100)
    prediction = forecast(pp.SDE(MODELS["quiet"]), 9)
    assert prediction.settling is None
    assert "of 6 agents over 9 steps only the last" in str(prediction.settling_omitted)
    verdict = diagnose(pp.SDE(MODELS["quiet"]), 9, advise=False)
    assert "not known" in str(verdict).lower()
    assert verdict.to_dict()["forecast"]["settling_omitted"]["code"] == "settling_omitted"


@cache
def of_the_club() -> Verdict:
    network = named("karate")
    return diagnose(Model(network, np.linspace(0, 1, network.n), noise=Gaussian(1.0)), 200)


@pytest.mark.parametrize("width", [40, 60, 88])
def test_plain_words_fit_the_terminal_and_have_no_mathematics(width: int) -> None:
    verdict = of_the_club()
    text = verdict.answer(width)
    # A formula may be longer than a line.
    assert all(len(line) <= width or "ρ_t" in line for line in text.splitlines() if width >= 60)
    assert verdict.summary in text.replace("\n", " ")
    assert not any(sign in text for sign in ("κ", "Σ", "σ", "diverges", "∞"))


def test_the_legend_explains_each_symbol_that_occurs_and_no_other() -> None:
    text = diagnose(MODELS["white"], STEPS).explain()
    names = {line.split("  ")[1] for line in legend(text, 200).splitlines()}
    assert {"v", "t", "ρ_t", "κ", "c", "RMS", "consensus mode", "bias"} <= names
    assert legend("nothing here", 80) == ""
