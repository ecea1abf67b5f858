"""The drift of the state z = (y, x, u) at one time, as an operator.

    dy = (C y − y + g ∘ x + G u) dt     with correlated noise, or G dw in place of G u dt with white noise
    dx = η ∘ (y − x) dt                 where hidden opinions adapt; x = x₀ otherwise
    du = −θ u dt + √(2θ) dw             where noise is an Ornstein–Uhlenbeck process

Everything that follows the law of an equation reads it from here: moments, exact steps, densities.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.layout import StateLayout
from peerpressure.model import Update, Vector


@final
@dataclass(frozen=True, eq=False)
class LinearDrift:
    """The drift dz = (H z + K x₀) dt + N dw at one time.

    ``noise_weight`` is the diagonal of G, and ``reversion`` the rate θ at which correlated noise reverts to 0. Columns
    may leave out the memory of the noise, which counts as 0 then.
    """

    layout: StateLayout
    update: Update
    noise_weight: Vector
    reversion: float

    def forward(self, columns: Vector) -> Vector:
        """Return H Z for columns of shape (states,) or (states, m)."""
        at, update = self.layout, self.update
        public = columns[at.public]
        moved = update.couple(public) - public
        if columns.shape[0] == at.agents:
            return moved
        out = np.empty_like(columns)
        if at.has_hidden:
            hidden = columns[at.hidden]
            moved += _like(update.gain, columns) * hidden
            out[at.hidden] = _like(self.adaptation_rate, columns) * (public - hidden)
        if columns.shape[0] > at.memory.start:
            moved += _like(self.noise_weight, columns) * columns[at.memory]
            out[at.memory] = -self.reversion * columns[at.memory]
        out[at.public] = moved
        return out

    def adjoint(self, columns: Vector) -> Vector:
        """Return Hᵀ Z for columns of shape (states,) or (states, m)."""
        at, update = self.layout, self.update
        public = columns[at.public]
        moved = update.couple_adjoint(public) - public
        if columns.shape[0] == at.agents:
            return moved
        out = np.empty_like(columns)
        if at.has_hidden:
            adapted = _like(self.adaptation_rate, columns) * columns[at.hidden]
            moved += adapted
            out[at.hidden] = _like(update.gain, columns) * public - adapted
        if columns.shape[0] > at.memory.start:
            out[at.memory] = _like(self.noise_weight, columns) * public - self.reversion * columns[at.memory]
        out[at.public] = moved
        return out

    @property
    def adaptation_rate(self) -> Vector:
        """The rate η of each agent, (agents,)."""
        rate = self.update.adaptation_rate
        return np.zeros(self.layout.agents) if rate is None else rate

    @property
    def driven(self) -> slice:
        """The entries of the state that dw acts on."""
        return self.layout.memory if self.layout.has_memory else self.layout.public

    @property
    def diffusion(self) -> Vector:
        """The diagonal of N for these entries, (agents,)."""
        if not self.layout.has_memory:
            return self.noise_weight
        return np.full(self.layout.agents, np.sqrt(2 * self.reversion))

    @property
    def hidden_weight(self) -> Vector | float:
        """The diagonal of K for public opinions, (agents,): the gain, and 0 where x is part of the state."""
        return 0.0 if self.layout.has_hidden else self.update.gain


def _like(values: Vector, columns: Vector) -> Vector:
    return values[:, None] if columns.ndim == 2 else values
