"""The common value of agents who listen to each other, and what moves it.

With P_t = D_t⁻¹A_t one step is y_t = P_t y_{t−1} + D_t⁻¹S(ξ_t − y_t)/ρ_t. Weights ω_t ≥ 0 with Σ ω_t = 1 that go back
by ω_{t−1} = P_tᵀω_t make m_t = ω_t·y_t obey

    m_t = m_{t−1} + (1/ρ_t) Σ w_t (ξ_t − y_t),        w_t = ω_t s/d_t.

So near agreement m is drawn to the mean of the opinions with weights w, at the rate κ/ρ_t with κ = Σ w. On a constant
network ω = d/Σd and w = s/Σd, which gives v = Σ s x₀/Σ s. Where degrees change from step to step ω is not d/Σd, and
the value that agents are drawn to is not v, though every network is symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigs

from peerpressure.model import Model, Vector
from peerpressure.theory.adjoint import persistence
from peerpressure.theory.extensions.rounds import Places, Rounds

# Up to this size all columns of a period's map are worked out; above, a few of its vectors do.
DENSE = 200


@final
@dataclass(frozen=True, eq=False)
class Mode:
    """A common value m_t = ω_t·y_t of some agents, over the steps that recur.

    ``weights`` holds ω and ``pull`` holds w, shape (steps, agents).
    """

    weights: Vector
    pull: Vector

    @property
    def influence(self) -> Vector:
        """The mean of w over the steps, shape (agents,): how much each opinion counts."""
        return np.asarray(self.pull.mean(axis=0))

    @property
    def kappa(self) -> float:
        """The rate κ: the start loses a share κ/ρ_t in a step."""
        return float(self.influence.sum())

    def value(self, opinions: Vector) -> float:
        """Return the mean of opinions that m is drawn to."""
        return float(self.influence @ opinions / self.influence.sum())

    def noise(self, model: Model) -> float:
        """Return the deviation that noise gives the drawn value in one step, as it counts in the long run.

        White noise counts by the mean square of w over the steps, one draw held for ever by the mean of w; AR(1) noise
        of coefficient φ by Σ_k φ^|k| w_t w_{t+k}.
        """
        phi, deviations = persistence(model.noise), model.noise.deviations(model.n)
        if phi == 1:
            return float(np.linalg.norm(self.influence * deviations) / self.kappa)
        shares = np.fft.fft(self.pull * deviations, axis=0)
        # The spectrum of AR(1) noise at the frequencies of the period.
        angle = 2 * np.pi * np.arange(self.pull.shape[0]) / self.pull.shape[0]
        density = (1 - phi**2) / (1 - 2 * phi * np.cos(angle) + phi**2)
        power = (np.abs(shares) ** 2).sum(axis=1) @ density / self.pull.shape[0] ** 2
        return float(np.sqrt(power) / self.kappa)


def mode_of(model: Model, rounds: Rounds, places: Places | None = None) -> Mode | None:
    """Return the common value of a closed class, by default of all agents; None if it cannot be worked out."""
    count, n = rounds.degrees.shape
    inside = np.ones((count, n), dtype=np.bool_)
    if places is not None:
        inside = np.isin(np.arange(count * n), places).reshape(count, n)
    weights = np.zeros((count, n))
    if count == 1:
        degrees = np.where(inside, rounds.degrees, 0.0)
        weights = degrees / degrees.sum()
    else:
        last = _invariant(rounds, np.flatnonzero(inside[-1]))
        if last is None:
            return None
        weights[-1] = last
        for k in range(count - 1, 0, -1):
            weights[k - 1] = _back(rounds, k, weights[k])
    degrees = np.where(inside, rounds.degrees, 1.0)
    return Mode(weights, weights * model.s / degrees)


def _back(rounds: Rounds, k: int, weights: Vector) -> Vector:
    """Return Pᵀω of one step."""
    degrees = np.where(rounds.degrees[k] > 0, rounds.degrees[k], 1.0)
    shares = weights / (degrees if weights.ndim == 1 else degrees[:, None])
    return np.asarray(rounds.adjacency[k] @ shares)


def _invariant(rounds: Rounds, agents: Places) -> Vector | None:
    """Return the weights of the last step that a whole period leaves as they are, on the agents of a closed class."""

    def period(weights: Vector) -> Vector:
        for k in range(rounds.count - 1, -1, -1):
            weights = _back(rounds, k, weights)
        return weights

    n, size = rounds.degrees.shape[1], agents.size
    found = np.zeros(n)
    if size <= DENSE:
        columns = sparse.csc_array((np.ones(size), (agents, np.arange(size))), shape=(n, size)).toarray()
        through = period(columns)[agents]
        # One vector is left as it is; adding its sum makes the system regular.
        found[agents] = np.linalg.solve(np.eye(size) - through + 1.0, np.ones(size))
        return found
    start = np.zeros(n)
    start[agents] = 1.0 / size

    def within(part: Vector) -> Vector:
        whole = np.zeros(n)
        whole[agents] = part
        return period(whole)[agents]

    operator = LinearOperator((size, size), matvec=within, dtype=np.float64)
    try:
        # Where a closed class is periodic, other values lie on the unit circle, but none as far to the right.
        _, vectors = eigs(operator, k=1, which="LR", v0=start[agents], tol=1e-13, maxiter=2_000)
    except ArpackNoConvergence:
        return None
    part = np.abs(np.real(vectors[:, 0]))
    found[agents] = part / part.sum()
    return found
