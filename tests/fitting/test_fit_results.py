"""What a fit returns: criteria, a fitted model, tests on the same rows, and replicates with gaps of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from benchmarks import refits

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.fitting import fit
from peerpressure.networks import barabasi_albert, cycle
from peerpressure.recovery import diagnose_fit

NETWORK = barabasi_albert(12, 2, seed=1)
HIDDEN = np.random.default_rng(1).uniform(size=12)
LINEAR = pp.Model(NETWORK, HIDDEN, pressure=pp.Linear(0.5), noise=pp.Gaussian(0.3))
UNKNOWN = replace(LINEAR, hidden=None)


def record_of_another_start(steps: int = 40, slope: float = 0.5, std: float = 0.02) -> Any:
    """Return outputs of a plain loop whose first row is not a step from the hidden opinions."""
    rng = np.random.default_rng(2)
    A = NETWORK.adjacency.toarray()
    public = rng.uniform(size=12)
    rows = [public]
    for t in range(2, steps + 1):
        rho = slope * t
        public = (HIDDEN + std * rng.normal(size=12) + rho * A @ public) / (1 + rho * A.sum(axis=1))
        rows.append(public)
    return np.array(rows)


def test_a_fit_and_tests_of_the_fitted_model_score_the_same_rows() -> None:
    data = record_of_another_start()
    found = fit(data, UNKNOWN, ("std", "slope"))
    again = diagnose_fit(data, found.model, given_first=True)
    assert found.diagnostics is not None
    assert again.log_likelihood is not None
    assert found.diagnostics.log_likelihood is not None
    np.testing.assert_allclose(again.log_likelihood, found.log_likelihood, atol=1.0)
    np.testing.assert_array_equal(found.diagnostics.log_likelihood, again.log_likelihood)
    assert again.p_value is not None
    assert again.p_value[0] > 0.01
    # With the first row, which a hidden start does not explain, the same model falls far below.
    whole = diagnose_fit(data, found.model).log_likelihood
    assert whole is not None
    assert whole[0] < found.log_likelihood[0] - 1000


@pytest.mark.parametrize(
    "change",
    [{}, {"start": 0.5}, {"noise": pp.Gaussian(0.3, temporal=pp.AR1(0.5))}, {"adaptation": 0.05}],
    ids=["hidden start", "public start", "correlated", "adapting"],
)
def test_the_likelihood_of_rows_is_that_of_the_fit(change: dict[str, Any]) -> None:
    model = replace(LINEAR, **change)
    run = pp.simulate(model, 30, seed=1)
    assert run.states is not None
    gaps = np.array(run.states)
    gaps[0, 7, 3] = gaps[0, 20, 5] = np.nan
    for data in (run, replace(run, states=gaps)):
        found = fit(data, model)
        assert found.diagnostics is not None
        assert found.diagnostics.log_likelihood is not None
        np.testing.assert_allclose(found.diagnostics.log_likelihood, found.log_likelihood, rtol=1e-9)


def test_criteria_count_parameters_and_opinions() -> None:
    found = fit(pp.simulate(LINEAR, 30, seed=1), UNKNOWN, ("std", "slope"))
    assert found.number_of_parameters == 2 + 12
    assert found.number_of_outputs == 29 * 12
    np.testing.assert_allclose(found.aic, 2 * 14 - 2 * found.log_likelihood)
    np.testing.assert_allclose(found.bic, 14 * np.log(29 * 12) - 2 * found.log_likelihood)
    made, assumed = (replace(model, start=np.full(model.n, 0.5)) for model in (LINEAR, UNKNOWN))
    public = fit(pp.simulate(made, 30, seed=1), assumed, ("agent_std",))
    assert (public.number_of_parameters, public.number_of_outputs) == (24, 360)


def test_a_fit_has_the_verbs_of_an_estimate() -> None:
    found = fit(pp.simulate(LINEAR, 30, seed=1), UNKNOWN, ("std", "slope"), level=0.9)
    assert set(found.value) == set(found.std) == {"std", "slope", "hidden"}
    np.testing.assert_array_equal(found.value["slope"], found.parameters["slope"].value)
    low, high = found.interval(0.9)["slope"]
    assert low[0] < found.value["slope"][0] < high[0]
    assert found.interval() == found.interval(0.9)
    with pytest.raises(InvalidInputError, match=r"level 0\.9.*fit again with level=0\.5"):
        found.interval(0.5)
    assert found.summary() == str(found)
    assert "AIC" in found.summary()


FITTED: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "constant": ({"pressure": pp.Constant(0.7)}, ("std", "constant")),
    "slope": ({}, ("std", "slope")),
    "exponent": ({"pressure": pp.Power(0.8, 0.5)}, ("std", "exponent")),
    "pressure": ({"pressure": pp.Constant(0.7)}, ("std", "pressure")),
    "adaptation": ({"adaptation": 0.05, "noise": pp.Gaussian(0.1)}, ("std", "adaptation")),
    "autocorrelation": ({"noise": pp.Gaussian(0.3, temporal=pp.AR1(0.5))}, ("std", "autocorrelation")),
    "stubbornness": ({"stubbornness": np.linspace(0.5, 2, 12)}, ("stubbornness",)),
    "agent_std": ({}, ("agent_std",)),
}


@pytest.mark.parametrize("name", FITTED)
def test_the_fitted_model_can_be_run_and_read(name: str) -> None:
    change, unknown = FITTED[name]
    model = replace(LINEAR, **change)
    run = pp.simulate(model, 60, seed=3)
    found = fit(run, replace(model, hidden=None), unknown)
    fitted = found.model
    assert found.diagnostics is not None
    assert found.diagnostics.log_likelihood is not None
    # The estimates are those of a modified likelihood, which are near its own maximum.
    np.testing.assert_allclose(found.diagnostics.log_likelihood, found.log_likelihood, atol=8.0)
    np.testing.assert_array_equal(fitted.x0, found.hidden.value[0])
    assert pp.simulate(fitted, 60, seed=1).states is not None
    estimate = pp.recover(run, fitted)
    assert np.abs(estimate.value - found.hidden.value).max() < 0.2


def test_constant_pressure_is_fitted_by_name_whatever_the_model_says() -> None:
    truth = pp.Model(cycle(20), np.random.default_rng(0).uniform(size=20), pressure=0.7, noise=pp.Gaussian(0.3))
    run = pp.simulate(truth, 100, seed=1)
    found = fit(run, replace(truth, hidden=None, pressure=pp.Linear()), ("std", "constant"))
    low, high = found.interval()["constant"]
    assert low[0] < 0.7 < high[0]
    assert isinstance(found.model.pressure, pp.Constant)
    one_piece = fit(run, truth, ("std", "pressure"), pieces=(1,))
    np.testing.assert_allclose(found.log_likelihood, one_piece.log_likelihood, rtol=1e-8)
    for others in (("constant", "slope"), ("constant", "stubbornness")):
        with pytest.raises(InvalidInputError):
            fit(run, replace(truth, pressure=pp.Linear()), others)


def test_replicates_may_have_gaps_of_their_own() -> None:
    # Few steps, so few pieces of an unknown pressure: 1, 2 and 4, although the second replicate has no step 4.
    run = pp.simulate(LINEAR, 7, replicates=3, seed=1)
    assert run.states is not None
    states = np.array(run.states)
    states[0, 5, 2] = states[1, 6, 7] = states[1, 4, :] = np.nan
    states[2, 2:] = np.nan
    data = replace(run, states=states)
    for unknown in (("std", "slope"), ("std", "pressure")):
        together = fit(data, UNKNOWN, unknown)
        assert together.failures[2] is not None
        assert together.estimate.value.shape == (3, 12)
        # An unknown course takes long to fit, and the second replicate has gaps of both kinds.
        for row in (0, 1) if "slope" in unknown else (1,):
            alone = fit(
                states[row, 1:], UNKNOWN, unknown, pieces=list(together.pieces) if "pressure" in unknown else None
            )
            np.testing.assert_allclose(together.log_likelihood[row], alone.log_likelihood[0])
            np.testing.assert_allclose(together.hidden.value[row], alone.hidden.value[0])
            np.testing.assert_allclose(together.parameters["std"].low[row], alone.parameters["std"].low[0])


def test_rounded_answers_have_criteria_and_a_model() -> None:
    truth = pp.Model(cycle(6), np.linspace(0, 1, 6), pressure=0.5, noise=pp.Gaussian(0.3))
    run = pp.simulate(truth, 30, seed=1)
    found = fit(run, replace(truth, hidden=None), ("std", "constant"), observation=pp.Observation(rounding=0.1))
    assert (found.number_of_parameters, found.number_of_outputs) == (4, 180)
    assert found.diagnostics is None
    assert np.isfinite(found.bic).all()
    assert found.model.x0.shape == (6,)
    assert "BIC" in found.summary()


@pytest.mark.parametrize("fault", ["missing tie", "unequal stubbornness"])
def test_what_a_model_lacks_is_noticed_after_its_fit(fault: str) -> None:
    for seed in range(2):
        together, named, *_ = refits.tested(fault, "std", 200, seed)
        assert named or together < 0.05, seed
