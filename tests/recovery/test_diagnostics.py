"""Diagnostics of fit: residuals that are exactly independent, tests that are exact and find faults, log-likelihoods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.recovery import FitDiagnostics, Observation, answers_of, diagnose_fit, limits, recover
from peerpressure.recovery._diagnostics import TESTS, _anderson_darling, _geary_moments, holm
from peerpressure.recovery._residuals import ScaledLaw, _Density, diagnostics_of, residuals
from tests.builders import random_model
from tests.oracles import outputs_law
from tests.recovery.cases import AGENTS, STEPS, VIEWS, Array, extended, seen_rows
from tests.recovery.test_continuous import EQUATIONS, VIEWS as SDE_VIEWS, law_of

KINDS = {"adapting": "hidden", "temporal": "given", "both": "hidden"}
CASES = [("static", "by agent", start, view) for start in ("hidden", "given") for view in VIEWS]
CASES += [(kind, "white", start, view) for kind, start in KINDS.items() for view in VIEWS]
CASES += [("static", "negative ar1", "hidden", view) for view in VIEWS]
CASES += [("both", "ar1", "given", view) for view in VIEWS]


def dense(model: pp.Model, data: pp.recovery.Answers) -> tuple[Array, Array, Array]:
    """Return Q (N, f) of the unknown opinions, Cov(e) and what they must explain, (N, replicates)."""
    rows, y = seen_rows(model, data)
    return rows.B[:, data.seen.free], rows.covariance, y - rows.c[:, None] - rows.B @ np.nan_to_num(data.known).T


def highest(Q: Array, V: Array, y: Array) -> tuple[Array, int]:
    """Return the normal log-density at its maximum in x₀, (replicates,), and the rank of Q."""
    L = np.linalg.cholesky(V)
    A, b = np.linalg.solve(L, Q), np.linalg.solve(L, y)
    x, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-9)
    squares = np.square(b - A @ x).sum(axis=0)
    return -0.5 * (len(y) * np.log(2 * np.pi) + squares) - np.log(L.diagonal()).sum(), int(rank)


def affine(model: Any, data: pp.recovery.Answers) -> Array:
    """Return the matrix that takes outputs to residuals, (residuals, N), from unit vectors."""
    units = np.zeros((int(data.present.sum()) + 1, *data.present.shape))
    units[1:, data.present] = np.eye(len(units) - 1)
    units[:, ~data.present] = np.nan
    known = np.repeat(data.known[:1], len(units), axis=0)
    found = residuals(model, replace(data, values=units, known=known, replicates=np.arange(len(units))))
    assert found is not None
    w = found.values[:, np.isfinite(found.values[0])]
    return np.asarray((w[1:] - w[0]).T)


def assert_independent(W: Array, Q: Array, V: Array, *, all_of_them: bool = True) -> None:
    """Check that W y has covariance I and does not depend on x₀, and that no such combination is left out."""
    np.testing.assert_allclose(W @ V @ W.T, np.eye(len(W)), atol=1e-7)
    np.testing.assert_allclose(W @ Q, 0.0, atol=1e-6)
    if all_of_them:
        assert len(W) == len(V) - np.linalg.matrix_rank(Q, tol=1e-9)


@pytest.fixture
def _all_rounded_outputs_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """Test rounded outputs however coarse they are, and however few."""
    for name in ("_NARROW", "_FEW_ROUNDED"):
        monkeypatch.setattr(f"peerpressure.recovery._residuals.{name}", 0)


@pytest.mark.parametrize(("kind", "noise", "start", "view"), CASES)
@pytest.mark.usefixtures("_all_rounded_outputs_tested")
def test_residuals_are_independent_and_the_likelihood_is_that_of_the_joint_law(
    kind: str, noise: str, start: str, view: str
) -> None:
    model = extended(kind, noise, start)
    run = pp.simulate(model, STEPS, 3, seed=1, record="all")
    data = answers_of(run, model, VIEWS[view])
    Q, V, y = dense(model, data)
    assert_independent(affine(model, data), Q, V)
    height, rank = highest(Q, V, y)
    diagnostics = diagnostics_of(model, data)
    assert diagnostics.log_likelihood is not None
    np.testing.assert_allclose(diagnostics.log_likelihood, height, rtol=1e-8)
    assert diagnostics.parameters == rank
    assert diagnostics.bic is not None
    assert diagnostics.aic is not None
    np.testing.assert_allclose(diagnostics.bic - diagnostics.aic, rank * (np.log(len(y)) - 2), atol=1e-8)


@pytest.mark.parametrize(("name", "view"), [("plain", "all"), ("plain", "rounded"), ("all", "some agents")])
@pytest.mark.usefixtures("_all_rounded_outputs_tested")
def test_continuous_time(name: str, view: str) -> None:
    sde, (rows, _) = EQUATIONS[name].sde, law_of(EQUATIONS[name], SDE_VIEWS[view])
    data = answers_of(pp.simulate(sde, 9, 2, seed=1), sde, SDE_VIEWS[view])
    assert_independent(affine(sde, data), rows.B, rows.covariance)
    height, _ = highest(rows.B, rows.covariance, data.values.reshape(2, -1).T - rows.c[:, None])
    diagnostics = diagnostics_of(sde, data)
    assert diagnostics.log_likelihood is not None
    np.testing.assert_allclose(diagnostics.log_likelihood, height, rtol=1e-6)
    assert diagnostics.times[-1] == pytest.approx(9 * sde.step)


@pytest.mark.parametrize("noise", ["white", "ar1"])
@pytest.mark.parametrize("view", ["all", "gaps", "some agents"])
def test_large_networks_are_tested_where_agents_and_their_neighbours_are_seen(
    view: str, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = extended("adapting", noise)
    model = replace(model, network=pp.networks.path(AGENTS))
    look = Observation(agents=[0, 1, 2, 5, 6]) if view == "some agents" else VIEWS[view]
    data = answers_of(pp.simulate(model, STEPS, 2, seed=1), model, look)
    Q, V, y = dense(model, data)
    monkeypatch.setattr(limits, "FILTER_LIMIT", 1)
    monkeypatch.setattr(limits, "DENSE_LIMIT", 1)
    W = affine(model, data)
    assert len(W) > 0
    assert_independent(W, Q, V, all_of_them=False)
    found = diagnostics_of(model, data).log_likelihood
    # Unobserved states that adapt and noise with a memory together are out of reach of the elimination.
    assert (found is not None) == (view == "all" or noise == "white")
    if found is not None:
        np.testing.assert_allclose(found, highest(Q, V, y)[0], rtol=1e-8)
    # Of very many outputs, the first steps are tested.
    monkeypatch.setattr(limits, "RESIDUAL_NUMBERS", (len(y) + 1) * AGENTS * 5)
    if view == "all":
        assert 0 < len(affine(model, data)) < len(W)


@pytest.mark.parametrize(("kind", "noise"), [("static", "white"), ("static", "ar1"), ("adapting", "white")])
@pytest.mark.parametrize("view", ["gaps", "rounded", "some with their start"])
@pytest.mark.usefixtures("_all_rounded_outputs_tested")
def test_partial_outputs_of_large_networks_have_a_likelihood(
    kind: str, noise: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = extended(kind, noise)
    data = answers_of(pp.simulate(model, STEPS, 2, seed=1, record="all"), model, VIEWS[view])
    expected = diagnostics_of(model, data)
    assert expected.log_likelihood is not None
    monkeypatch.setattr(limits, "FILTER_LIMIT", 1)
    diagnostics = diagnostics_of(model, data)
    assert diagnostics.log_likelihood is not None
    np.testing.assert_allclose(diagnostics.log_likelihood, expected.log_likelihood, rtol=1e-8)
    assert (diagnostics.parameters, len(data.values)) == (expected.parameters, 2)


def uniform_p(model: Any, steps: int, view: Observation | None = None, replicates: int = 1000) -> dict[str, float]:
    """Return the p-value of a Kolmogorov–Smirnov test of the p-values of each test under the model."""
    diagnostics = diagnose_fit(pp.simulate(model, steps, replicates, seed=5, record="all"), model, view)
    assert diagnostics.p_value is not None
    tests = {name: p for name, p in diagnostics.tests.items() if p is not None}
    # Šidák's correction is exact for independent tests, and cautious for these and for deviations from a mean.
    for p in (diagnostics.p_value, tests.pop("outlier", diagnostics.p_value)):
        assert np.mean(p < 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / replicates)
    return {name: float(stats.kstest(p, "uniform").pvalue) for name, p in tests.items()}


@pytest.mark.parametrize(
    ("kind", "noise", "start", "steps", "view"),
    [
        ("static", "white", "hidden", 40, None),
        ("static", "ar1", "given", 12, None),
        ("static", "white", "hidden", 9, VIEWS["some agents"]),
        ("static", "ar1", "hidden", 9, VIEWS["gaps"]),
        ("adapting", "white", "given", 15, None),
    ],
)
def test_p_values_are_uniform_under_the_model(
    kind: str, noise: str, start: str, steps: int, view: Observation | None
) -> None:
    p_values = uniform_p(extended(kind, noise, start), steps, view)
    assert "size" in p_values
    assert min(p_values.values()) > 1e-4


@pytest.mark.parametrize(
    "law", [pp.Laplace(0.7), pp.noise.Uniform(0.7), pp.StudentT(0.7, df=3.0, temporal=pp.AR1(0.5))]
)
def test_p_values_of_other_laws_are_uniform_however_few_steps_there_are(law: pp.noise.Noise) -> None:
    p_values = uniform_p(random_model(4, noise=law), 6, replicates=300)
    assert min(p_values.values()) > 1e-4


@pytest.mark.parametrize("noise", [pp.Laplace(0.7), pp.StudentT(2.0, df=3.0), pp.StudentT(df=2.5)], ids=str)
def test_formulas_of_laws_are_those_of_scipy(noise: pp.noise.Noise) -> None:
    scaled, law = ScaledLaw.of(noise), noise.unit()
    z = np.concatenate([np.linspace(-30, 30, 601), [-500.0, 500.0, 1e-300]])
    np.testing.assert_allclose(scaled.cdf(z), law.cdf(z), rtol=1e-12)
    np.testing.assert_allclose(scaled.sf(z), law.sf(z), rtol=1e-12)
    np.testing.assert_allclose(scaled.log_density(z), law.logpdf(z), rtol=1e-12)


@pytest.mark.parametrize("law", [stats.logistic(), stats.gumbel_r()], ids=["symmetric", "skewed"])
def test_probabilities_of_outputs_are_those_of_integration(law: Any) -> None:
    """Given earlier outputs b = a x₀ + ε of an unknown x₀, which is as likely anywhere before the first."""
    scaled = ScaledLaw.of(pp.noise.Custom(law, centre=True))
    rng = np.random.default_rng(1)
    a, b = rng.uniform(0.5, 2.0, (6, 3)), rng.normal(0.0, 1.5, (6, 3))
    density, usable, x = _Density(scaled), np.ones((6, 3), np.bool_), np.linspace(-60, 60, 200_001)
    for row in range(5):
        density.follow(b[: row + 1], a[: row + 1], usable[: row + 1])
        below, above = density.probabilities(b[row + 1], a[row + 1], np.ones(3, np.bool_))
        for series in range(3):
            logs = np.sum([scaled.log_density(b[t, series] - a[t, series] * x) for t in range(row + 1)], axis=0)
            weights = np.exp(logs - logs.max())
            off = b[row + 1, series] - a[row + 1, series] * x
            assert below[series] == pytest.approx(weights @ scaled.cdf(off) / weights.sum(), abs=5e-4)
            assert above[series] == pytest.approx(weights @ scaled.sf(off) / weights.sum(), abs=5e-4)


def test_rounded_outputs_are_tested_where_rounding_is_finer_than_the_noise() -> None:
    model = pp.Model(pp.networks.cycle(8), np.arange(8.0), noise=pp.Gaussian(1.0), start=np.zeros(8))
    run = pp.simulate(model, 30, 1000, seed=4)
    assert run.states is not None
    tested = []
    for rounding in (0.02, 0.05, 3.0):
        rounded = replace(run, states=rounding * np.rint(run.states / rounding))
        diagnostics = diagnose_fit(rounded, model, Observation(rounding=rounding))
        tested.append(0 if diagnostics.residuals is None else int(np.isfinite(diagnostics.residuals[0]).sum()))
        assert (diagnostics.p_value is None) == (rounding == 3.0)
        if diagnostics.p_value is not None:
            assert np.mean(diagnostics.p_value < 0.05) < 0.08
    # Under growing pressure, the noise in outputs falls below the spacing after some steps.
    assert 29 * 8 >= tested[0] > tested[1] > tested[2] == 0


def power(made: pp.Model, read: pp.Model, replicates: int = 60) -> tuple[float, float, FitDiagnostics]:
    diagnostics = diagnose_fit(pp.simulate(made, 50, replicates, seed=3), read)
    assert diagnostics.p_value is not None
    assert diagnostics.tests["size"] is not None
    return float(np.mean(diagnostics.tests["size"] < 0.05)), float(np.mean(diagnostics.p_value < 0.05)), diagnostics


def test_faults_that_leave_the_sum_of_squares_alone_are_found_and_named() -> None:
    read = random_model(20, 1, weighted=False, noise=pp.Gaussian(1.0))
    unequal = np.where(np.arange(20) % 2, 1.2, np.sqrt(2 - 1.44))
    for name, noise in {
        "lags": pp.Gaussian(1.0, temporal=pp.AR1(0.6)),
        "agents": pp.Gaussian(unequal),
        "tails": pp.Laplace(1.0),
        "law": pp.noise.Uniform(1.0),
    }.items():
        before, after, found = power(replace(read, noise=noise), read)
        assert before < 0.6
        assert after > 0.95
        assert name in found.failing
        assert found.findings[name] == TESTS[name].finding
    alone = np.where(np.arange(20) == 4, 1.8, 1.0)
    assert "outlier" in power(replace(read, noise=pp.Gaussian(alone)), read)[2].failing
    _, right, found = power(read, read)
    assert right < 0.2
    assert found.failing == ()


def test_agents_lags_and_residuals_are_tables() -> None:
    read = random_model(6, noise=pp.Gaussian(1.0))
    std = np.ones(6)
    std[2] = 2.0
    diagnostics = diagnose_fit(pp.simulate(replace(read, noise=pp.Gaussian(std)), 100, 2, seed=1), read)
    agents = diagnostics.agents
    assert agents[agents.p_value < 0.01].agent.unique().tolist() == [2]
    assert agents[agents.agent == 2]["size"].mean() == pytest.approx(2.0, rel=0.2)
    assert diagnostics.lags.groupby("replicate").lag.max().tolist() == [5, 5]
    table = diagnostics.to_dataframe()
    assert diagnostics.residuals is not None
    assert len(table) == np.isfinite(diagnostics.residuals).sum()
    np.testing.assert_allclose((table.residual**2).sum(), np.nansum(diagnostics.residuals**2))


def test_what_cannot_be_tested_has_no_p_value() -> None:
    white = random_model(5, noise=pp.Gaussian(1.0))
    for model, steps in (
        (white, 1),
        (replace(white, noise=pp.Gaussian(1.0, temporal="frozen"), start=np.zeros(5)), 10),
        (replace(white, noise=pp.NoNoise()), 10),
        (replace(white, noise=pp.noise.Rademacher(1.0)), 10),
    ):
        run = pp.simulate(model, steps, seed=1)
        for method in ("innovations", "kalman", "ols"):
            estimate = recover(run, model, method)
            assert estimate.goodness_of_fit is None
            assert "nothing can be tested" in str(estimate)
        assert estimate.diagnostics is not None
        assert set(estimate.diagnostics.tests.values()) == {None}
        assert estimate.diagnostics.to_dataframe().empty
        assert estimate.diagnostics.agents.empty
        assert estimate.diagnostics.lags.empty
        # One step of white noise has a density; noise that is frozen or no noise at all has none.
        assert (estimate.log_likelihood is None) == (steps > 1)
        assert (estimate.aic is None) == (estimate.bic is None) == (steps > 1)


def test_the_start_alone_tests_nothing_and_missing_steps_do_no_harm() -> None:
    model = random_model(5, noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 9, 2, seed=1)
    alone = recover(run, model, "kalman", Observation(times=[0], sees_start=True))
    assert alone.goodness_of_fit is None
    assert alone.log_likelihood is None
    states = np.array(run.states)
    states[:, 4], states[:, 6, 2] = np.nan, np.nan
    some = recover(replace(run, states=states), model, "kalman")
    assert some.goodness_of_fit is not None
    assert np.isfinite(some.goodness_of_fit).all()
    uniform = replace(model, noise=pp.noise.Uniform(1.0))
    diagnostics = diagnose_fit(pp.simulate(uniform, 9, seed=1), uniform, Observation(agents=[0, 1, 2, 3]))
    assert diagnostics.p_value is None or np.isfinite(diagnostics.p_value).all()


def test_outputs_that_contradict_exact_facts_have_a_p_value_of_0() -> None:
    frozen = random_model(5, noise=pp.Gaussian(1.0, temporal="frozen"))
    run = pp.simulate(replace(frozen, noise=pp.Gaussian(1.0)), 12, 2, seed=1)
    estimate = recover(run, frozen, "ols", Observation(agents=[0, 1, 2]))
    assert estimate.diagnostics is not None
    assert estimate.diagnostics.impossible
    assert estimate.goodness_of_fit is not None
    assert (estimate.goodness_of_fit == 0).all()
    assert "no room for noise" in str(estimate)


def test_an_error_of_another_kind_is_no_contradiction() -> None:
    model = random_model(5, noise=pp.Gaussian(1.0))
    diagnostics = diagnostics_of(model, answers_of(pp.simulate(model, 12, seed=1), model))

    def refuse(*_: object) -> None:
        raise pp.errors.InvalidInputError("the table has a hole")

    with pytest.raises(pp.errors.InvalidInputError, match="hole"):
        _ = replace(diagnostics, residuals_of=refuse).p_value


@pytest.mark.parametrize("start", ["hidden", "given"])
@pytest.mark.parametrize("law", [pp.Laplace(0.7), pp.noise.Custom(stats.logistic(scale=0.3))])
def test_other_laws_have_the_likelihood_of_their_own_density(law: pp.noise.Noise, start: str) -> None:
    model = extended("adapting", law, start)
    run = pp.simulate(model, 8, 2, seed=1)
    estimate = recover(run, model, "likelihood")
    # y = c + B x₀ + L u with a square L: its noise and its determinant give the density.
    rows, square = outputs_law(model, 8), outputs_law(model, 8).L
    y = run.states[:, 1:].reshape(2, -1) if run.states is not None else np.empty(0)
    u = np.linalg.solve(square, (y - rows.c - estimate.value @ rows.B.T).T)
    unit = (
        stats.laplace(scale=np.sqrt(0.5)) if isinstance(law, pp.Laplace) else stats.logistic(scale=np.sqrt(3) / np.pi)
    )
    expected = unit.logpdf(u).sum(axis=0) - np.linalg.slogdet(square)[1]
    assert estimate.log_likelihood is not None
    np.testing.assert_allclose(estimate.log_likelihood, expected, rtol=1e-9)


def test_rival_models_are_compared_by_their_likelihood() -> None:
    right = random_model(8, noise=pp.Laplace(1.0), pressure=0.5)
    run = pp.simulate(right, 100, 3, seed=2)

    def aic(model: pp.Model, view: Observation | None = None) -> Array:
        found = diagnose_fit(run, model, view).aic
        assert found is not None
        return found

    gaussian = replace(right, noise=pp.Gaussian(1.0))
    assert (aic(right) < aic(gaussian)).all()
    look = Observation(agents=[0, 1, 2, 3, 4, 5])
    for rival in (
        replace(gaussian, network=pp.networks.complete(8)),
        replace(gaussian, pressure=pp.Linear()),
        replace(gaussian, noise=pp.Gaussian(2.0)),
    ):
        assert (aic(gaussian, look) < aic(rival, look)).all()


def test_the_likelihood_belongs_to_the_model_and_not_to_the_method() -> None:
    model = random_model(6, noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 12, 2, seed=1)
    heights = [recover(run, model, method).log_likelihood for method in ("ols", "wls", "gls", "kalman", "snapshot")]
    for height in heights:
        assert height is not None
        np.testing.assert_array_equal(height, heights[0])


def test_laws_of_the_statistics() -> None:
    # Quantiles of A² from Marsaglia & Marsaglia (2004).
    np.testing.assert_allclose(_anderson_darling(np.array([1.933, 2.492, 3.878]), 10**6), [0.1, 0.05, 0.01], rtol=0.01)
    near, far = _anderson_darling(np.array([5.999, 6.001]), 10**6)
    assert near == pytest.approx(far, rel=0.1)
    for one, other in zip(_geary_moments(1_000), _geary_moments(1_001), strict=True):
        assert one == pytest.approx(other, rel=0.01)
    np.testing.assert_allclose(holm(np.array([[0.04, 0.01, 0.03]])), [[0.06, 0.03, 0.06]])


def test_who_updates_at_random_is_read_off_the_run() -> None:
    model = pp.Model(pp.networks.cycle(6), range(6), noise=pp.Gaussian(0.3), activation="single")
    run = pp.simulate(model, 60, seed=1)
    diagnostics = diagnose_fit(run, model)
    assert diagnostics.findings == {}
    assert diagnostics.p_value == pytest.approx(pp.recover(run, model).goodness_of_fit)
