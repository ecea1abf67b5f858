"""The observer of continuous time, against joint laws, the limit of short steps, and ensembles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.fitting import fit
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import (
    METHODS,
    Observation,
    Prior,
    answers_of,
    information,
    kalman_filter,
    kalman_smoother,
    recover,
)
from peerpressure.recovery._estimators import COARSE_ROUNDING
from peerpressure.sde import SDE
from tests.builders import random_model
from tests.oracles import Affine, unknown_opinions
from tests.recovery.cases import Array, assert_same
from tests.recovery.test_conformance import assert_unbiased_with_its_covariance
from tests.sde.extended import CASES, X0, Case, N, facts

STEPS, H = 9, 0.3
STARTS: dict[str, Any] = {"hidden": "hidden", "given": np.linspace(-1.0, 1.0, N)}
VIEWS = {
    "all": Observation(),
    "some agents": Observation(agents=[0, 3, 4]),
    "gaps": Observation(times=[2, 3, 7, 9]),
    "one look": Observation(agents=[0, 3, 4], times=[5]),
    "rounded": Observation(rounding=0.2, sees_start=True),
}
EQUATIONS = CASES | {"plain": Case(), "public start": Case(start=True)}
CHECKED = [
    ("plain", "all"),
    ("plain", "rounded"),
    ("public start", "gaps"),
    ("adaptation", "all"),
    ("coloured", "some agents"),
    ("temporal", "gaps"),
    ("frozen", "one look"),
    ("all", "all"),
    ("all", "some agents"),
    ("directed", "all"),
    ("signed", "some agents"),
    ("zealot", "all"),
    ("keep", "gaps"),
]


def equation(start: str = "hidden", pressure: Any = 0.8, **parts: Any) -> SDE:
    """Return a small sde."""
    noise = pp.Gaussian(np.linspace(0.3, 0.9, N))
    model = random_model(N, 2, noise=noise, start=STARTS[start], pressure=pressure)
    return SDE(model, **({"step": H} | parts))


def law_of(case: Case, view: Observation) -> tuple[Affine, Array]:
    """Return the law of what is seen, and the rows of the hidden opinions after the last step."""
    seen = view.resolve(case.sde.model, range(STEPS + 1))
    Q, q, L, last = facts(case, STEPS, seen.agents.tolist(), seen.times.tolist())
    return Affine(q, Q, L).with_error(np.sqrt(seen.noise_variance)), last


@pytest.mark.parametrize(("name", "view"), CHECKED)
def test_estimates_and_information_are_those_of_the_joint_law(name: str, view: str) -> None:
    case, look = EQUATIONS[name], VIEWS[view]
    sde, (rows, last) = case.sde, law_of(case, look)
    run, prior = pp.simulate(sde, STEPS, 2, seed=1), Prior(0.2, 0.5)
    y = answers_of(run, sde, look).values.reshape(2, -1).T
    J = rows.information()
    told = information(sde, STEPS, look)
    np.testing.assert_allclose(told.matrix @ np.eye(N), J, rtol=1e-6, atol=1e-7 * np.abs(J).max())
    mean, posterior = unknown_opinions(rows).given(rows, y, np.full(N, 0.2), 0.5 * np.eye(N))
    if view != "rounded":
        np.testing.assert_allclose(budget(sde, STEPS, observed=look).table["information"], np.diag(J), rtol=1e-6)
        shares = exposure(sde, STEPS, look, prior=prior).table["ratio"]
        np.testing.assert_allclose(shares, np.diag(posterior) / 0.5, rtol=1e-6)
    current = Affine(np.zeros(N), last[:, :N], last[:, N:])
    now, _ = current.given(rows, y, np.full(N, 0.2), 0.5 * np.eye(N))
    for method in ("kalman", *(["innovations"] if view == "all" else [])):
        estimate = recover(run, sde, method, look, prior)
        np.testing.assert_allclose(estimate.covariance @ np.eye(N), posterior, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(estimate.value.T, mean, atol=1e-6)
        # Coarse rounding may be no independent noise, and its outputs cannot be tested then.
        assert estimate.goodness_of_fit is not None or COARSE_ROUNDING in estimate.note or view == "one look"
        present = recover(run, sde, method, look, prior, "current")
        np.testing.assert_allclose(present.value.T, now, atol=1e-6)


@pytest.mark.parametrize("parts", [{"adaptation": 0.4}, {"temporal": pp.AR1(0.3)}, {"temporal": "frozen"}], ids=str)
def test_short_steps_tell_what_the_limit_says(parts: dict[str, Any]) -> None:
    noise = pp.Gaussian(0.6, temporal=parts.pop("temporal", "white"))
    model = pp.Model(pp.networks.k2(), [0.2, 0.9], stubbornness=[1.0, 2.0], start=0.0, noise=noise, **parts)
    off = []
    for step in (0.2, 0.1):
        table = budget(pp.SDE(model, step=step), round(2 / step)).table
        off.append((table["information_limit"] / table["information"] - 1).to_numpy())
    assert (off[0] > -1e-9).all()
    assert (off[1] <= np.maximum(0.55 * off[0], 1e-9)).all()
    assert (off[1] < 0.1).all()


def test_smoothed_opinions_that_adapt_cover_the_truth() -> None:
    sde = CASES["all"].sde
    run = pp.simulate(sde, STEPS, 1500, seed=6)
    smooth = kalman_smoother(answers_of(run, sde, VIEWS["some agents"]), sde)
    assert run.hidden is not None
    standard = (run.hidden[:, 6] - smooth.current.mean[:, 6]) / smooth.current.std[6]
    assert (np.abs((standard**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / 1500)).all()
    np.testing.assert_allclose(X0, sde.x0)


@pytest.mark.parametrize(
    ("method", "pressure"), [("exact", pp.schedules.Table([0.5, 2.0, 0.1, 3.0])), ("euler", pp.Linear(0.5))]
)
def test_errors_have_the_stated_size_however_paths_are_drawn(method: str, pressure: pp.schedules.Schedule) -> None:
    sde = equation(pressure=pressure, method=method)
    run = pp.simulate(sde, STEPS, 2000, seed=2)
    for way, view in (("innovations", "all"), ("kalman", "all"), ("kalman", "some agents"), ("kalman", "gaps")):
        estimate = recover(run, sde, way, VIEWS[view])
        assert_unbiased_with_its_covariance(estimate, sde.model)
    assert_same(recover(run, sde, "innovations"), recover(run, sde, "kalman"))


def test_short_steps_tell_what_a_continuous_record_would() -> None:
    """Girsanov's formula: a path seen at all times tells ∫ g²/G² dt = T s²/σ² of x₀ as the equation is printed."""
    expected, off = None, []
    for step in (0.5, 0.25, 0.125):
        sde = equation("given", pp.Linear(0.5), step=step)
        expected = 3.0 * sde.s**2 / sde.noise.deviations(N) ** 2
        J = information(sde, round(3 / step)).matrix @ np.eye(N)
        off.append(np.abs(J - np.diag(expected)).max())
    assert expected is not None
    assert off[-1] < 0.01 * expected.max()
    # What is missed between two looks falls with the square of their distance.
    assert off[0] / off[1] == pytest.approx(4, rel=0.1)
    assert off[1] / off[2] == pytest.approx(4, rel=0.1)


def test_a_hidden_start_is_all_but_shown_by_a_short_step() -> None:
    bounds = [information(equation("hidden", step=step), 1).bound.max() for step in (0.4, 0.1, 0.025)]
    assert bounds[0] > 3 * bounds[1] > 9 * bounds[2]


def test_euler_steps_of_one_are_the_discrete_model() -> None:
    sde = equation(pressure=pp.Linear(), step=1.0, method="euler", scaling="model")
    run = pp.simulate(sde.model, STEPS, 3, seed=1)
    assert_same(recover(run, sde, "innovations"), recover(run, sde.model, "innovations"))
    view = Observation(agents=[0, 3])
    assert_same(recover(run, sde, "kalman", view), recover(run, sde.model, "kalman", view))
    told = [information(model, STEPS).bound for model in (sde, sde.model)]
    np.testing.assert_allclose(told[0], told[1], rtol=1e-9)


def test_beliefs_on_the_way_come_at_real_times() -> None:
    sde = equation()
    run = pp.simulate(sde, STEPS, 2000, seed=6)
    data = answers_of(run, sde, VIEWS["some agents"])
    smooth, filtered = kalman_smoother(data, sde), kalman_filter(data, sde)
    np.testing.assert_allclose(smooth.times, H * np.arange(STEPS + 1))
    assert run.states is not None
    unseen = (run.states[:, 6] - smooth.public.mean[:, 6])[:, [1, 2]] / smooth.public.std[6, [1, 2]]
    assert (np.abs((unseen**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / 2000)).all()
    np.testing.assert_allclose(filtered.public.variance[-1], smooth.public.variance[-1], atol=1e-9)


def test_without_noise_x0_is_found_exactly() -> None:
    sde = SDE(replace(equation().model, noise=pp.NoNoise()), step=H)
    run = pp.simulate(sde, STEPS)
    for method in ("innovations", "kalman"):
        estimate = recover(run, sde, method)
        np.testing.assert_allclose(estimate.value[0], sde.x0, atol=1e-6)
        np.testing.assert_allclose(estimate.variance, 0.0, atol=1e-12)


def test_who_sees_the_start_knows_it_and_constant_opinions_stay() -> None:
    sde = equation()
    run = pp.simulate(sde, STEPS)
    known = recover(run, sde, observation=Observation(sees_start=True))
    np.testing.assert_array_equal(known.value[0], sde.x0)
    assert recover(run, sde, target="current").target == "current"


def test_refusals() -> None:
    sde = equation()
    run = pp.simulate(sde, STEPS)
    for method in set(METHODS) - {"innovations", "kalman"}:
        with pytest.raises(
            pp.errors.InvalidInputError, match="in continuous time the method must be one of innovations, kal"
        ):
            recover(run, sde, method)
    with pytest.raises(pp.errors.InvalidInputError, match="the method must be one of"):
        recover(run, sde, "magic")
    with pytest.raises(pp.errors.InvalidInputError, match=r"whole steps, got t = 0\.3; pass the SDE"):
        recover(run, sde.model)
    with pytest.raises(pp.errors.InvalidInputError, match=r"multiples of the step 0\.2, got t = 0\.3"):
        recover(run, replace(sde, step=0.2))
    with pytest.raises(pp.errors.InvalidInputError, match="needs every step from 1 on"):
        recover(run, sde, "innovations", VIEWS["gaps"])
    with pytest.raises(pp.errors.InvalidInputError, match="a fit of unknown parameters is defined for a Model"):
        fit(answers_of(run, sde), sde, ("std",))  # type: ignore[arg-type]
    large = SDE(pp.Model(pp.networks.cycle(1500), np.zeros(1500), noise=pp.Gaussian(1.0)), method="euler")
    with pytest.raises(pp.errors.TooLargeError, match=r"at most 1,000 agents, got 1,500"):
        recover(pp.simulate(large, 2), large, "kalman")
