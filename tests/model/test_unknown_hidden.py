"""A model without hidden opinions: estimation works, and whatever needs them says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure import privacy, recovery, theory
from peerpressure.errors import ModelError
from peerpressure.networks import cycle

KNOWN = pp.Model(cycle(5), [0.0, 0.2, 0.4, 0.6, 0.8], pressure=0.5, noise=pp.Gaussian(0.2))
UNKNOWN = pp.Model(cycle(5), pressure=0.5, noise=pp.Gaussian(0.2))
RUN = pp.simulate(KNOWN, 30, seed=1)
CHANGES: dict[str, dict[str, Any]] = {
    "plain": {},
    "adapting": {"adaptation": 0.05},
    "public start": {"start": 0.5},
    "correlated": {"noise": pp.Gaussian(0.2, temporal=pp.AR1(0.5))},
}


def test_what_a_model_without_hidden_opinions_says_of_itself() -> None:
    assert UNKNOWN.hidden is None
    assert "hidden unknown" in repr(UNKNOWN)
    assert "consensus_value" not in UNKNOWN.description()
    assert replace(UNKNOWN, pressure=pp.Constant(1.0)).hidden is None


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("method", recovery.METHODS)
def test_estimates_are_those_of_a_model_that_has_them(change: str, method: str) -> None:
    known, unknown = (replace(model, **CHANGES[change]) for model in (KNOWN, UNKNOWN))
    run = pp.simulate(known, 30, seed=1)
    expected = pp.recover(run, known, method)
    estimate = pp.recover(run, unknown, method)
    np.testing.assert_array_equal(estimate.value, expected.value)
    np.testing.assert_array_equal(estimate.std, expected.std)
    assert estimate.diagnostics is not None
    assert expected.diagnostics is not None
    assert estimate.diagnostics.p_value == expected.diagnostics.p_value
    assert str(estimate)


def test_other_readings_of_data_need_no_hidden_opinions() -> None:
    half = pp.Observation(agents=[0, 2])
    np.testing.assert_array_equal(
        pp.recover(RUN, UNKNOWN, "kalman", half).value, pp.recover(RUN, KNOWN, "kalman", half).value
    )
    np.testing.assert_array_equal(
        pp.fit(RUN, UNKNOWN, ("std",)).log_likelihood, pp.fit(RUN, KNOWN, ("std",)).log_likelihood
    )
    assert recovery.diagnose_fit(RUN, UNKNOWN).p_value == recovery.diagnose_fit(RUN, KNOWN).p_value
    for follow in (recovery.kalman_filter, recovery.kalman_smoother):
        np.testing.assert_array_equal(follow(RUN, UNKNOWN).hidden.mean, follow(RUN, KNOWN).hidden.mean)
    np.testing.assert_array_equal(recovery.information(UNKNOWN, 9).bound, recovery.information(KNOWN, 9).bound)


def test_estimates_in_continuous_time_need_no_hidden_opinions() -> None:
    known, unknown = pp.SDE(KNOWN, step=0.2), pp.SDE(UNKNOWN, step=0.2)
    run = pp.simulate(known, 20, seed=1)
    for method in [name for name, row in recovery.METHODS.items() if row.continuous]:
        np.testing.assert_allclose(pp.recover(run, unknown, method).value, pp.recover(run, known, method).value)


NEEDS: dict[str, Callable[[], object]] = {
    "simulate": lambda: pp.simulate(UNKNOWN, 3),
    "simulate in continuous time": lambda: pp.simulate(pp.SDE(UNKNOWN), 3),
    "diagnose": lambda: pp.diagnose(UNKNOWN),
    "moments": lambda: pp.moments(UNKNOWN, 3),
    "forecast": lambda: theory.forecast(UNKNOWN, 3),
    "exposure": lambda: privacy.exposure(UNKNOWN, 3),
    "consensus value": lambda: UNKNOWN.consensus_value,
    "x0": lambda: UNKNOWN.x0,
    "a step": lambda: UNKNOWN.update(1)(np.zeros(5)),
    "errors": lambda: pp.recover(RUN, UNKNOWN).residuals(),
}


@pytest.mark.parametrize("name", NEEDS)
def test_what_needs_them_says_so(name: str) -> None:
    with pytest.raises(ModelError, match=r"hidden opinions must be known.*hidden="):
        NEEDS[name]()


def test_errors_of_an_estimate_take_the_truth_from_elsewhere() -> None:
    np.testing.assert_array_equal(pp.recover(RUN, UNKNOWN).residuals(KNOWN.x0), pp.recover(RUN, KNOWN).residuals())


def test_data_of_such_a_model_are_saved_and_read_again(tmp_path: Path) -> None:
    data = pp.Trajectory.from_dataframe(RUN.to_dataframe(), UNKNOWN)
    data.save(tmp_path / "data.npz")
    again = pp.Trajectory.load(tmp_path / "data.npz")
    assert again.model.hidden is None
    assert again.hidden is None
    assert "hidden" not in again.to_xarray()
    np.testing.assert_array_equal(again.states, RUN.states)
