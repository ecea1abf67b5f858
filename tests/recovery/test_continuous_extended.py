"""The observer of equations with adaptation, temporal networks and correlated noise, against their joint law."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import Observation, Prior, information, kalman_smoother, outputs_of, recover
from tests.sde.extended import CASES, X0, N, facts

STEPS = 9
VIEWS = {
    "all": Observation(),
    "some agents": Observation(agents=[0, 3, 4]),
    "gaps": Observation(times=[2, 3, 7, 9]),
    "one look": Observation(agents=[0, 3, 4], times=[5]),
}
CHECKED = [("adaptation", "all"), ("coloured", "some agents"), ("temporal", "gaps"), ("frozen", "one look")]
CHECKED += [("all", "all"), ("all", "some agents"), ("all", "gaps")]
CHECKED += [
    ("directed", "all"),
    ("signed", "some agents"),
    ("zealot", "all"),
    ("keep", "gaps"),
]


@pytest.mark.parametrize(("name", "view"), CHECKED)
def test_estimates_and_information_are_those_of_the_joint_law(name: str, view: str) -> None:
    case, look = CASES[name], VIEWS[view]
    sde = case.sde
    run = pp.simulate(sde, STEPS, 2, seed=1)
    seen = look.resolve(sde.model, range(STEPS + 1))
    Q, q, L, last = facts(case, STEPS, seen.agents.tolist(), seen.times.tolist())
    V = L @ L.T
    y = outputs_of(run, sde, look).values.reshape(2, -1).T - q[:, None]
    J, right = Q.T @ np.linalg.solve(V, Q), Q.T @ np.linalg.solve(V, y)
    told = information(sde, STEPS, look)
    np.testing.assert_allclose(told.matrix @ np.eye(N), J, rtol=1e-6, atol=1e-7 * np.abs(J).max())
    np.testing.assert_allclose(budget(sde, STEPS, observed=look).table["information"], np.diag(J), rtol=1e-6)
    prior, posterior = Prior(0.2, 0.5), np.linalg.inv(J + np.eye(N) / 0.5)
    shares = exposure(sde, STEPS, look, prior=prior).table["ratio"]
    np.testing.assert_allclose(shares, np.diag(posterior) / 0.5, rtol=1e-6)
    # Hidden opinions after the last step, from the joint law of x₀, all noise and the outputs.
    both = np.concatenate([0.5 * Q.T, L.T])
    gain = np.linalg.solve(0.5 * Q @ Q.T + V, both.T).T
    now = last @ (
        np.concatenate([np.full(N, 0.2), np.zeros(L.shape[1])])[:, None] + gain @ (y - 0.2 * Q.sum(axis=1)[:, None])
    )
    for method in ("kalman", *(["innovations"] if view == "all" else [])):
        estimate = recover(run, sde, method, look, prior)
        np.testing.assert_allclose(estimate.covariance @ np.eye(N), posterior, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(estimate.value.T, posterior @ (right + 0.2 / 0.5), atol=1e-6)
        assert estimate.diagnostics is not None
        present = recover(run, sde, method, look, prior, "current")
        np.testing.assert_allclose(present.value.T, now, atol=1e-6)


@pytest.mark.parametrize("parts", [{"adaptation": 0.4}, {"temporal": pp.AR1(0.3)}, {"temporal": "frozen"}], ids=str)
def test_short_steps_tell_what_a_continuous_record_would(parts: dict[str, Any]) -> None:
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
    smooth = kalman_smoother(outputs_of(run, sde, VIEWS["some agents"]), sde)
    assert run.hidden is not None
    standard = (run.hidden[:, 6] - smooth.current.mean[:, 6]) / smooth.current.std[6]
    assert (np.abs((standard**2).mean(axis=0) - 1) < 5 * np.sqrt(2 / 1500)).all()
    np.testing.assert_allclose(X0, sde.x0)
