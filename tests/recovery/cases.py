"""Models, views and a dense oracle that the tests of recovery share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.recovery import Observation, outputs_of
from peerpressure.recovery._regression import design_of
from tests.builders import random_model

Array = NDArray[np.float64]
AGENTS, STEPS = 7, 9

NOISES: dict[str, pp.noise.Noise] = {
    "white": pp.Gaussian(0.7),
    "scaled over time": pp.Gaussian(0.7, time_scale=pp.Power(-0.5)),
    "by agent": pp.Gaussian(np.linspace(0.3, 1.5, AGENTS)),
    "ar1": pp.Gaussian(0.7, temporal=pp.AR1(0.6)),
    "negative ar1": pp.Gaussian(0.7, time_scale=pp.Power(0.3), temporal=pp.AR1(-0.4)),
    "frozen": pp.Gaussian(0.7, temporal="frozen"),
    "some without": pp.Gaussian(np.array([0.0, 0.7, 0.4, 0.0, 0.9, 1.0, 0.5])),
}
STARTS: dict[str, Any] = {"hidden": "hidden", "given": np.linspace(-1.0, 1.0, AGENTS)}
VIEWS: dict[str, Observation] = {
    "all": Observation(),
    "some agents": Observation(agents=[0, 2, 3, 6]),
    "gaps": Observation(times=[1, 2, 5, 8, 9]),
    "late": Observation(first_step=4),
    "rounded": Observation(rounding=0.5, sees_start=True),
    "some with their start": Observation(agents=[1, 2, 5], sees_start=True),
}
NEEDS_ALL = ("innovations",)


def small_model(noise: str = "white", start: str = "hidden", seed: int = 3) -> pp.Model:
    """Return a random weighted model of a few agents."""
    return random_model(AGENTS, seed, noise=NOISES[noise], start=STARTS[start])


def dense_regression(model: pp.Model, run: pp.Trajectory, view: Observation) -> tuple[Array, Array, Array]:
    """Return all of Q (N, f), Cov(e) (N, N) and the outputs to explain (N, replicates), by their definitions.

    Written from y_t = g ∘ (x₀ + ε_t) + C y_{t−1} with dense matrices, apart from any code under test.
    """
    seen = outputs_of(run, model, view).seen
    n, last = model.n, seen.last
    hidden_start = isinstance(model.start, str)
    Q = np.eye(n) if hidden_start else np.zeros((n, n))
    mean = np.zeros(n) if hidden_start else model.start_state.copy()
    L = np.zeros((n, last * n))
    rows = {int(t): row for row, t in enumerate(seen.times)}
    parts: list[tuple[Array, Array, Array]] = []
    for t in range(last + 1):
        if t > 0:
            update = model.update(t)
            C = update.coupling.toarray()
            Q, mean, L = np.diag(update.gain) + C @ Q, C @ mean, C @ L
            L[:, (t - 1) * n : t * n] += np.diag(update.gain)
        if t in rows:
            parts.append((Q[seen.agents], mean[seen.agents], L[seen.agents]))
    stacked, offset, mixing = (np.concatenate([part[k] for part in parts]) for k in range(3))
    times = np.arange(1, last + 1)
    K = np.kron(model.noise.time_covariance(times), np.diag(model.noise.deviations(n) ** 2))
    cov = mixing @ K @ mixing.T + seen.noise_variance * np.eye(stacked.shape[0])
    data = outputs_of(run, model, view)
    known = np.nan_to_num(data.known)
    y = data.values.reshape(data.values.shape[0], -1).T - offset[:, None] - stacked @ known.T
    return stacked[:, seen.free], cov, y


def dense_design(model: pp.Model, run: pp.Trajectory, view: Observation) -> Any:
    """Return the sweeps of the same regression."""
    return design_of(model, outputs_of(run, model, view))
