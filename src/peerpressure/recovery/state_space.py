"""The hidden state that carries the noise: what agents show, and for correlated noise the noise itself.

Given x₀, the state z_t = y_t (white noise) or (y_t, u_t) is Gaussian and Markov:

    y_t = C_t y_{t−1} + g_t ∘ x₀ + g_t σ_t ∘ u_t,   u_t = φ u_{t−1} + √(1−φ²) e_t,   e_t ~ N(0, I),

with φ = 0 for white noise, the coefficient for AR(1), and 1 for a persistent mask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model, Update, Vector
from peerpressure.noises import White
from peerpressure.theory.adjoint import persistence


@final
@dataclass(frozen=True, eq=False)
class Step:
    """The linear map z_t = F z_{t−1} + D x₀ + G e_t of one step; ``deviation`` is g_t σ_t, ``carry`` is φ."""

    update: Update
    deviation: Vector
    carry: float

    @classmethod
    def of(cls, model: Model, t: int) -> Step:
        """Return the step that leads to time t."""
        update = model.update(t)
        sigma = model.noise.deviations(model.n) * model.noise.scale(t)
        return cls(update, update.gain * sigma, persistence(model.noise))

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (states, m)."""
        n = self.deviation.size
        coupled = self.update.couple(columns[:n])
        if columns.shape[0] == n:
            return coupled
        memory = self.carry * columns[n:]
        return np.concatenate([coupled + self.deviation[:, None] * memory, memory])

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (states, m)."""
        n = self.deviation.size
        coupled = self.update.couple_adjoint(columns[:n])
        if columns.shape[0] == n:
            return coupled
        return np.concatenate([coupled, self.carry * (self.deviation[:, None] * columns[:n] + columns[n:])])

    def fresh_noise(self, states: int) -> Vector:
        """Return G, (states, agents)."""
        fresh = np.eye(self.deviation.size) * np.sqrt(1 - self.carry**2)
        own = self.deviation[:, None] * fresh
        return own if states == self.deviation.size else np.concatenate([own, fresh])


@final
@dataclass(frozen=True, eq=False)
class Affine:
    """The state given x₀: z ~ N(a + B x₀, R Rᵀ), with a (states, replicates), B (states, agents), R square.

    ``size`` (agents,) bounds the deviation that y would have if nothing were seen; what is smaller than rounding
    errors of that is 0.
    """

    mean: Vector
    slope: Vector
    root: Vector
    size: Vector

    @classmethod
    def start(cls, model: Model, replicates: int) -> Affine:
        """Return the state at time 0: y₀ without error, and noise in its stationary law."""
        n = model.n
        from_hidden = isinstance(model.start, str)
        level = np.zeros(n) if from_hidden else model.start_state
        mean, slope, root = np.tile(level[:, None], replicates), np.eye(n) * from_hidden, np.zeros((n, n))
        if not isinstance(model.noise.temporal, White):
            memory = np.zeros_like(root)
            mean, slope = np.concatenate([mean, np.zeros_like(mean)]), np.concatenate([slope, memory])
            root = np.block([[root, memory], [memory, np.eye(n)]])
        return cls(mean, slope, root, np.zeros(n))

    def predict(self, step: Step) -> Affine:
        """Return the state after one more step, of which nothing was seen yet."""
        states, n = self.slope.shape
        slope = step.forward(self.slope)
        slope[:n] += np.diag(step.update.gain)
        wide = np.concatenate([step.forward(self.root), step.fresh_noise(states)], axis=1)
        root = np.asarray(np.linalg.qr(wide.T, mode="r")).T
        size = step.deviation + step.update.couple(self.size)
        return Affine(step.forward(self.mean), slope, root, size)
