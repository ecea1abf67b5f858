"""Everything that is shown, written out as one joint Gaussian law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from peerpressure.model import Model
from peerpressure.step import Array


@dataclass(frozen=True)
class Joint:
    """Mean slopes Q and covariance of y_first, …, y_T, stacked: shapes (T·n, n) and (T·n, T·n)."""

    slope: Array
    covariance: Array

    @classmethod
    def of(cls, model: Model, steps: int, *, first: int = 1, known: Sequence[int] = ()) -> Joint:
        """Return the law of the outputs from step ``first`` on, given the noise of the ``known`` agents."""
        n, times = model.n, np.arange(1, steps + 1)
        public = np.eye(n) if isinstance(model.start, str) else np.zeros((n, n))
        # Each path is linear in x₀ and in the noise of all steps, side by side.
        public = np.concatenate([public, np.zeros((n, steps * n))], axis=1)
        hidden = np.eye(n, (steps + 1) * n)
        paths = [public]
        for t in times:
            update = model.update(int(t))
            noise = np.eye(n, (steps + 1) * n, int(t) * n)
            public = update.gain[:, None] * (hidden + noise) + update.coupling.toarray() @ public
            if update.adaptation_rate is not None:
                hidden = hidden + update.adaptation_rate[:, None] * (public - hidden)
            paths.append(public)
        every = np.concatenate(paths[first:])
        std = np.array(model.noise.deviations(n))
        std[list(known)] = 0.0
        H = every[:, n:]
        return cls(every[:, :n], H @ np.kron(model.noise.time_covariance(times), np.diag(std**2)) @ H.T)

    def seen(self, agents: Sequence[int], n: int) -> Joint:
        rows = np.flatnonzero(np.isin(np.arange(len(self.slope)) % n, agents))
        return Joint(self.slope[rows], self.covariance[np.ix_(rows, rows)])

    def information(self) -> Array:
        return np.asarray(self.slope.T @ np.linalg.solve(self.covariance, self.slope))

    def worst_case(self) -> Array:
        """Return the information about each agent if all others are known, ∞ where some output has no noise; (n,)."""
        values, vectors = np.linalg.eigh(self.covariance)
        noisy = values > 1e-11 * max(values.max(), 1e-300)
        turned = vectors.T @ self.slope
        exact = np.abs(turned[~noisy]).max(axis=0, initial=0.0) > 1e-6
        return np.where(exact, np.inf, np.sum(turned[noisy] ** 2 / values[noisy, None], axis=0))

    def posterior(self, prior: Array) -> Array:
        Q = self.slope
        gain = np.linalg.lstsq(Q @ prior @ Q.T + self.covariance, Q @ prior, rcond=1e-13)[0]
        return np.asarray(prior - (Q @ prior).T @ gain)
