"""The hidden state that carries the noise: what agents show, what they hold, and for correlated noise the noise itself.

Given x₀, the state z_t = (y_t, x_{t+1}, u_t) is Gaussian and Markov:

    y_t = C_t y_{t−1} + g_t ∘ x_t + g_t σ_t ∘ u_t,   x_{t+1} = x_t + η_t ∘ (y_t − x_t),
    u_t = φ u_{t−1} + √(1−φ²) e_t,   e_t ~ N(0, I),

with φ = 0 for white noise, the coefficient for AR(1), and 1 for frozen noise. Where opinions are constant x_t = x₀
is no part of the state, and where noise is white u_t is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

import numpy as np

from peerpressure.affine import adapted
from peerpressure.model import Model, Update, Vector
from peerpressure.noises import White
from peerpressure.theory.adjoint import persistence


class Step(Protocol):
    """The linear map z_t = F z_{t−1} + D x₀ + G e_t of one step, the first agents entries of z being what they show."""

    @property
    def deviation(self) -> Vector:
        """How much fresh noise there is in what each agent shows, (agents,)."""
        ...

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (states, m)."""
        ...

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (states, m)."""
        ...

    def drive(self, states: int) -> Vector:
        """Return D, (states, agents)."""
        ...

    def fresh_noise(self, states: int) -> Vector:
        """Return G, (states, draws)."""
        ...

    def grown(self, size: Vector) -> Vector:
        """Return a bound on the deviation of states after the step from one before it, nothing being seen."""
        ...


@final
@dataclass(frozen=True, eq=False)
class ModelStep:
    """One step of the model; ``deviation`` is g_t σ_t, ``carry`` is φ."""

    update: Update
    deviation: Vector
    carry: float

    @classmethod
    def of(cls, model: Model, t: int) -> ModelStep:
        """Return the step that leads to time t."""
        update = model.update(t)
        sigma = model.noise.deviations(model.n) * model.noise.scale(t)
        return cls(update, update.gain * sigma, persistence(model.noise))

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (states, m)."""
        n = self.deviation.size
        shown = self.update.couple(columns[:n])
        held, memory = self._parts(columns)
        memory = self.carry * memory
        if memory.size:
            shown += self.deviation[:, None] * memory
        if held.size:
            shown += self.update.gain[:, None] * held
            held = self.update.adapt(held, shown)
        return np.concatenate([shown, held, memory])

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (states, m)."""
        shown = columns[: self.deviation.size]
        held, memory = self._parts(columns)
        if held.size and self.update.adaptation_rate is not None:
            follows = self.update.adaptation_rate[:, None] * held
            shown = shown + follows
            held = held - follows + self.update.gain[:, None] * shown
        if memory.size:
            memory = self.carry * (self.deviation[:, None] * shown + memory)
        return np.concatenate([self.update.couple_adjoint(shown), held, memory])

    def drive(self, states: int) -> Vector:
        """Return D, (states, agents): x₀ enters here, or where it adapts once and for all at the start."""
        n = self.deviation.size
        return np.eye(states, n) * (self.update.gain if self.update.adaptation_rate is None else 0.0)

    def fresh_noise(self, states: int) -> Vector:
        """Return G, (states, agents)."""
        fresh = np.eye(self.deviation.size) * np.sqrt(1 - self.carry**2)
        shown = self.deviation[:, None] * fresh
        parts = [shown]
        if self.update.adaptation_rate is not None:
            parts.append(self.update.adaptation_rate[:, None] * shown)
        if states > len(parts) * self.deviation.size:
            parts.append(fresh)
        return np.concatenate(parts)

    def grown(self, size: Vector) -> Vector:
        """Return a bound on the deviation of what agents show, and hold, after the step."""
        n = self.deviation.size
        shown = self.deviation + self.update.couple(size[:n])
        if self.update.adaptation_rate is None:
            return shown
        shown = shown + self.update.gain * size[n:]
        return np.concatenate([shown, adapted(size[n:], shown, self.update.adaptation_rate)])

    def _parts(self, columns: Vector) -> tuple[Vector, Vector]:
        """Return the rows of what agents hold, and those of the noise that is carried over."""
        n = self.deviation.size
        middle = n if self.update.adaptation_rate is None else 2 * n
        return columns[n:middle], columns[middle:]


@final
@dataclass(frozen=True, eq=False)
class Affine:
    """The state given x₀: z ~ N(a + B x₀, R Rᵀ), with a (states, replicates), B (states, agents), R square.

    ``size`` bounds the deviation that what agents show, and hold, would have if nothing were seen; what is smaller
    than rounding errors of that is 0.
    """

    mean: Vector
    slope: Vector
    root: Vector
    size: Vector

    @classmethod
    def start(cls, model: Model, replicates: int) -> Affine:
        """Return the state at time 0: y₀ without error, x₀, and noise in its stationary law."""
        n = model.n
        from_hidden = isinstance(model.start, str)
        level = np.zeros(n) if from_hidden else model.start_state
        parts = [(level, np.eye(n) * from_hidden, np.zeros(n))]
        if model.adaptation is not None:
            parts.append((np.zeros(n), np.eye(n), np.zeros(n)))
        size = np.zeros(n * len(parts))
        if not isinstance(model.noise.temporal, White):
            parts.append((np.zeros(n), np.zeros((n, n)), np.ones(n)))
        a, B, spread = (np.concatenate(part) for part in zip(*parts, strict=True))
        return cls(np.tile(a[:, None], replicates), B, np.diag(spread), size)

    def predict(self, step: Step) -> Affine:
        """Return the state after one more step, of which nothing was seen yet."""
        states = self.slope.shape[0]
        slope = step.forward(self.slope) + step.drive(states)
        wide = np.concatenate([step.forward(self.root), step.fresh_noise(states)], axis=1)
        root = np.asarray(np.linalg.qr(wide.T, mode="r")).T
        return Affine(step.forward(self.mean), slope, root, step.grown(self.size))
