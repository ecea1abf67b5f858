"""Extended models, and their joint law written out from the definitions with dense matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

import peerpressure as pp
from peerpressure.recovery import Outputs
from tests.builders import random_model, temporal_network
from tests.recovery.cases import AGENTS, NOISES, STARTS, Array

FACTORS = np.array([0.0, 1.0, 0.3, 0.8, 0.5, 0.2, 0.9])
KINDS: dict[str, dict[str, Any]] = {
    "adapting": {"adaptation": pp.Adaptation("0.9/(1 + t)", adaptation_weight=FACTORS)},
    "adapting alike": {"adaptation": 0.2},
    "temporal": {"network": temporal_network(n=AGENTS, seed=2)},
    "both": {"network": temporal_network(n=AGENTS, seed=4, period=12), "adaptation": pp.Adaptation(0.3, FACTORS)},
}


def extended(kind: str, noise: str | pp.noise.Noise = "white", start: str = "hidden", **parts: Any) -> pp.Model:
    """Return a small model of one of the kinds."""
    base = random_model(AGENTS, 3)
    values: dict[str, Any] = {
        "network": base.network,
        "hidden": base.x0,
        "stubbornness": base.s,
        "noise": NOISES[noise] if isinstance(noise, str) else noise,
        "start": STARTS[start],
        "pressure": pp.Linear(0.4),
    }
    return pp.Model(**(values | KINDS.get(kind, {}) | parts))


@final
@dataclass(frozen=True)
class Joint:
    """y_t and x_{t+1} for t = 0…T as c + B x₀ + L e, with Cov(e) = I; (T + 1, n), (T + 1, n, n) and (T + 1, n, e)."""

    public: tuple[Array, Array, Array]
    current: tuple[Array, Array, Array]

    @classmethod
    def of(cls, model: pp.Model, steps: int) -> Joint:
        """Write out the 2n-dimensional map step by step, from network, pressure and rates alone."""
        n, times = model.n, np.arange(1, steps + 1)
        values, vectors = np.linalg.eigh(model.noise.time_covariance(times))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        hidden_start = isinstance(model.start, str)
        zeros = np.zeros((n, n * steps))
        y = (np.zeros(n) if hidden_start else model.start_state, np.eye(n) * hidden_start, zeros)
        x = (np.zeros(n), np.eye(n), zeros)
        shown, kept = [y], [x]
        for t in times:
            A = (
                model.network.adjacency if model.temporal_network is None else model.temporal_network.at(int(t))
            ).toarray()
            d, rho = A.sum(axis=1), float(model.pressure(int(t)))
            G, C = np.diag(model.s / (model.s + rho * d)), rho * A / (model.s + rho * d)[:, None]
            eta = np.zeros(n)
            if model.adaptation is not None:
                eta = model.adaptation.adaptation_weights(n) * float(model.adaptation.rate(int(t)))
            draws = G @ np.kron(root[t - 1], np.diag(model.noise.deviations(n)))
            y = (C @ y[0] + G @ x[0], C @ y[1] + G @ x[1], C @ y[2] + G @ x[2] + draws)
            D = np.diag(eta)
            x = (x[0] + D @ (y[0] - x[0]), x[1] + D @ (y[1] - x[1]), x[2] + D @ (y[2] - x[2]))
            shown.append(y)
            kept.append(x)
        stacks = [tuple(np.array([row[k] for row in rows]) for k in range(3)) for rows in (shown, kept)]
        return cls(stacks[0], stacks[1])  # type: ignore[arg-type]

    def seen(self, data: Outputs) -> tuple[Array, Array, Array, Array]:
        """Return Q (N, n), L (N, e), the covariance of rounding errors and Y − c (N, replicates) of what is seen."""
        c, B, L = (
            np.concatenate([part[t][data.seen.agents[data.present[row]]] for row, t in enumerate(data.seen.times)])
            for part in self.public
        )
        y = np.asarray(data.values[:, data.present], dtype=np.float64).T - c[:, None]
        return B, L, np.eye(len(B)) * data.seen.noise_variance, y

    def given(self, data: Outputs, mean: float, variance: float) -> Conditional:
        """Return the law of everything given what is seen, for x₀ ~ N(mean, variance I)."""
        Q, L, blur, y = self.seen(data)
        V = variance * Q @ Q.T + L @ L.T + blur
        rest = y - mean * Q.sum(axis=1, keepdims=True)
        return Conditional(self, Q, L, np.asarray(np.linalg.pinv(V, rcond=1e-13)), rest, mean, variance)


@final
@dataclass(frozen=True)
class Conditional:
    """The joint law conditioned on what was seen."""

    joint: Joint
    Q: Array
    L: Array
    precision: Array
    rest: Array
    mean: float
    variance: float

    def of(self, c: Array, B: Array, L: Array) -> tuple[Array, Array]:
        """Return mean (replicates, m) and covariance of c + B x₀ + L e."""
        cross = self.variance * B @ self.Q.T + L @ self.L.T
        gain = cross @ self.precision
        centre = c + self.mean * B.sum(axis=1) + (gain @ self.rest).T
        return centre, self.variance * B @ B.T + L @ L.T - gain @ cross.T

    def hidden(self) -> tuple[Array, Array]:
        """Return the law of x₀."""
        n = self.Q.shape[1]
        return self.of(np.zeros(n), np.eye(n), np.zeros((n, self.L.shape[1])))
