"""Everything that is shown, written out as one joint Gaussian law."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from peerpressure.model import Model, Vector


@dataclass(frozen=True)
class Joint:
    """Mean slopes Q and covariance of y_1, …, y_T, stacked: shapes (T·n, n) and (T·n, T·n)."""

    slope: Vector
    covariance: Vector

    @classmethod
    def of(cls, model: Model, steps: int) -> Joint:
        n, times = model.n, np.arange(1, steps + 1)
        slope = np.eye(n) if isinstance(model.start, str) else np.zeros((n, n))
        effect = np.zeros((n, steps * n))
        slopes, effects = [], []
        for t in times:
            update = model.update(int(t))
            C = update.coupling.toarray()
            slope = np.diag(update.gain) + C @ slope
            effect = C @ effect
            effect[:, (t - 1) * n : t * n] += np.diag(update.gain)
            slopes.append(slope)
            effects.append(effect)
        H = np.concatenate(effects)
        noise = np.kron(model.noise.time_covariance(times), np.diag(model.noise.deviations(n) ** 2))
        return cls(np.concatenate(slopes), H @ noise @ H.T)

    def seen(self, agents: list[int], n: int) -> Joint:
        rows = np.flatnonzero(np.isin(np.arange(len(self.slope)) % n, agents))
        return Joint(self.slope[rows], self.covariance[np.ix_(rows, rows)])

    def information(self) -> Vector:
        return np.asarray(self.slope.T @ np.linalg.solve(self.covariance, self.slope))

    def posterior(self, prior: Vector) -> Vector:
        Q = self.slope
        gain = np.linalg.lstsq(Q @ prior @ Q.T + self.covariance, Q @ prior, rcond=1e-13)[0]
        return np.asarray(prior - (Q @ prior).T @ gain)
