"""The dense drift of few agents is the sparse one of many, at each time that a solver reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import DOP853

from peerpressure import SDE, Adaptation, Gaussian, Model, moments
from peerpressure.networks import barabasi_albert, followers
from peerpressure.noise import AR1, Frozen
from peerpressure.sde import moments as solver_module
from peerpressure.sde.moments import DenseDrifts
from tests.theory.changing import CHANGING

HIDDEN = np.array([0.3, 1.0, -2.0, 0.7, 1.5, 4.0])
STUBBORN = np.linspace(0.4, 2.0, 6)
MODELS: dict[str, dict[str, Any]] = {
    "white": {"network": barabasi_albert(6, 2, seed=1), "noise": Gaussian(STUBBORN, time_scale="1 + 1/(1 + t)")},
    "adapting, correlated": {
        "network": followers(6, 2, seed=3),
        "noise": Gaussian(0.4, temporal=AR1(0.6)),
        "adaptation": Adaptation("0.5/(1 + t)", [0.0, 1.0, 0.4, 0.0, 0.9, 0.2]),
    },
    "frozen": {"network": barabasi_albert(6, 1, seed=2), "noise": Gaussian(0.4, temporal=Frozen())},
    "networks that repeat": {"network": CHANGING["isolated"], "noise": Gaussian(0.4), "isolated": "keep"},
    "isolated agents": {"network": CHANGING["ends"], "pressure": "t^300", "adaptation": 0.3},
}


def build(name: str) -> SDE:
    parts = {"pressure": "0.5*t", **MODELS[name]}
    return SDE(Model(hidden=HIDDEN, stubbornness=STUBBORN, start=HIDDEN[::-1], **parts), step=0.5)


@pytest.mark.parametrize("name", MODELS)
def test_a_dense_drift_is_the_sparse_one(name: str) -> None:
    sde = build(name).on_network(2)
    states, n = sde.layout.states, sde.layout.memory.start
    rows = np.random.default_rng(1).normal(size=(4, states))
    dense = DenseDrifts(sde)
    for t in (1e-9, 0.3, 2.0):
        one, other = dense.at(t), sde.linear_drift(t)
        np.testing.assert_allclose(one.forward(rows.T), other.forward(rows.T), atol=1e-14)
        np.testing.assert_allclose(one.forward(rows[:, :n].T), other.forward(rows[:, :n].T), atol=1e-14)
        np.testing.assert_allclose(one.adjoint_rows(rows), other.adjoint_rows(rows), atol=1e-14)
        np.testing.assert_allclose(one.diffusion, other.diffusion, rtol=1e-14)
        np.testing.assert_array_equal(one.hidden_weight, other.hidden_weight)
        assert one.driven == other.driven


@pytest.mark.parametrize("backwards", [False, True])
def test_stages_of_steps_that_are_tried_again_have_their_own_drifts(backwards: bool) -> None:
    sde = build("white")
    dense, read = DenseDrifts(sde), []

    def rate(t: float, y: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        read.append(t)
        np.testing.assert_allclose(dense.at(t).forward(HIDDEN), sde.linear_drift(t).forward(HIDDEN), rtol=1e-9)
        # Jumps make the solver reject steps.
        return np.array([np.floor(7 * t), 1.0])

    solver = DOP853(rate, *((1.5, np.zeros(2), 0.2) if backwards else (0.2, np.zeros(2), 1.5)), rtol=1e-4, atol=1e-4)
    steps = 0
    while solver.status == "running":
        dense.make_for(solver)
        solver.step()
        solver.dense_output()
        steps += 1
    assert len(read) > 15 * steps + 22, "no step was tried again"


@pytest.mark.parametrize("name", MODELS)
def test_moments_are_those_of_sparse_drifts(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sde, found = build(name), []
    for largest in (solver_module.LARGEST_DENSE, 0):
        monkeypatch.setattr(solver_module, "LARGEST_DENSE", largest)
        found.append((moments(sde, 8), moments(sde, 8, of=np.eye(6)[:2])))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one.mean, other.mean, rtol=1e-9)
        np.testing.assert_allclose(one.covariance, other.covariance, rtol=1e-8, atol=1e-12)
