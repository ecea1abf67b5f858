"""The regression y_t = Q_t x₀ + e_t as sweeps over time, without ever holding the stack of the Q_t.

Q_t = diag(g_t) H_{t−1} + C_t Q_{t−1}, with Q_0 = I if the start is hidden and 0 if it is given. H_t is how what agents
hold depends on x₀: I where hidden opinions are constant, and H_t = (1 − η_t) H_{t−1} + η_t Q_t from H_0 = I on where
they adapt. A forward sweep applies all Q_t to columns, an adjoint sweep applies Σ Q_tᵀ, and the two together give
every matrix of the regression in O(steps · edges) for each column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model, Update
from peerpressure.recovery.observation import ResolvedObservation
from peerpressure.recovery.outputs import Outputs
from peerpressure.theory.adjoint import persistence

Array: TypeAlias = NDArray[np.float64]
BLOCK_BYTES = 2**25
KEPT_NUMBERS = 2**23


@final
@dataclass(frozen=True, eq=False)
class Design:
    """The regression of what is seen on the f free hidden opinions.

    Columns z are (f, b), rows r are (T, k, b) for the T seen steps and k seen agents; entries that are missing,
    where ``present`` (T, k) is False, are 0.
    """

    model: Model
    seen: ResolvedObservation
    present: NDArray[np.bool_]

    @property
    def from_hidden(self) -> bool:
        """Whether agents start from their hidden opinions."""
        return isinstance(self.model.start, str)

    @cached_property
    def row_of(self) -> dict[int, int]:
        """The row of each seen step."""
        return {int(t): row for row, t in enumerate(self.seen.times)}

    def forward(self, z: Array) -> Array:
        """Return the rows Q_t z."""
        own = np.zeros((self.model.n, z.shape[1]))
        own[self.seen.free] = z
        return self._run(own, own if self.from_hidden else np.zeros_like(own))

    def adjoint(self, r: Array) -> Array:
        """Return the columns Σ_t Q_tᵀ r_t."""
        return self._pull(r)

    def covary(self, r: Array) -> Array:
        """Return the rows Cov(e) r, where e stacks the errors of all that is seen.

        e_t is linear in the noise of steps up to t, so that Cov(e) is an adjoint sweep, the noise's covariance in time
        for each agent, and a forward sweep; rounding adds its variance to each entry.
        """
        reached = self._no_noise_yet(r)
        self._pull(r, reached)
        return self._spread(r, reached)

    def matrices(self, weights: Array | None = None) -> tuple[Array, Array]:
        """Return H = Σ Q_tᵀ W_t Q_t and the covariance of Σ Q_tᵀ W_t e_t, (f, f) each, for weights (T, k).

        These are the two parts of the sandwich H⁻¹ V H⁻¹ that is the covariance of a regression.
        """
        f = self.seen.free.size
        H, V = np.empty((f, f)), np.empty((f, f))
        for where, z in self._unit_blocks():
            r = _weighted(self.forward(z), weights)
            reached = self._no_noise_yet(r)
            H[:, where] = self._pull(r, reached)
            V[:, where] = self.adjoint(_weighted(self._spread(r, reached), weights))
        return (H + H.T) / 2, (V + V.T) / 2

    def offset(self, data: Outputs) -> Array:
        """Return what is already known of the mean outputs, (T, k, replicates), or (T, k, 1) if common to all."""
        known = np.nan_to_num(data.known.T if self.seen.free.size < self.model.n else data.known[:1].T)
        start = known if self.from_hidden else np.repeat(self.model.start_state[:, None], known.shape[1], axis=1)
        return self._run(known, start)

    def observed(self, data: Outputs) -> Array:
        """Return the rows that the free opinions must explain, (T, k, replicates)."""
        rows = np.nan_to_num(np.moveaxis(np.asarray(data.values, dtype=np.float64), 0, 2))
        return np.asarray((rows - self.offset(data)) * self.present[:, :, None])

    def columns(self) -> Array:
        """Return the stack of all Q_t as rows, (T, k, f); for small problems."""
        return np.concatenate(list(self.column_blocks()), axis=2)

    def column_blocks(self) -> Iterator[Array]:
        """Yield that stack a few columns at a time."""
        for _, z in self._unit_blocks():
            yield self.forward(z)

    def _unit_blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield the unit vectors in blocks whose paths fit in the cache of a block."""
        f = self.seen.free.size
        width = max(1, BLOCK_BYTES // (8 * self.model.n * (self.seen.last + 1)))
        for begin in range(0, f, width):
            where = slice(begin, min(f, begin + width))
            z = np.zeros((f, where.stop - begin))
            z[np.arange(begin, where.stop), np.arange(where.stop - begin)] = 1.0
            yield where, z

    @cached_property
    def _updates(self) -> dict[int, Update]:
        """The maps of all steps, where they are small enough to keep from sweep to sweep."""
        changing = 0 if self.model.temporal_network is None else self.model.network.adjacency.nnz
        few = (self.model.n + changing) * self.seen.last <= KEPT_NUMBERS
        return {t: self.model.update(t) for t in range(1, self.seen.last + 1)} if few else {}

    def _update(self, t: int) -> Update:
        return self._updates.get(t) or self.model.update(t)

    @cached_property
    def _noise_size(self) -> Array:
        """The deviation of ε_t for each step from 1 on and each agent, (steps, n)."""
        noise = self.model.noise
        return noise.scale(np.arange(1, self.seen.last + 1))[:, None] * noise.deviations(self.model.n)

    def _no_noise_yet(self, r: Array) -> Array:
        return np.empty((self.seen.last, self.model.n, r.shape[2]))

    def _run(self, own: Array, state: Array, kick: Array | None = None) -> Array:
        """Return the seen entries of state_t = g_t ∘ (own_t + kick_t) + C_t state_{t−1}, and 0 where they are missing.

        ``own`` is what agents hold at first; it adapts to the state as hidden opinions do.
        """
        rows = np.empty((self.seen.times.size, self.seen.agents.size, own.shape[1]))
        for t in range(self.seen.last + 1):
            if t > 0:
                update = self._update(t)
                push = own if kick is None else own + kick[t - 1]
                state = update.couple(state)
                state += update.gain[:, None] * push
                own = update.adapt(own, state)
            if t in self.row_of:
                rows[self.row_of[t]] = state if self.seen.everyone else state[self.seen.agents]
        return rows if self._gapless else rows * self.present[:, :, None]

    def _pull(self, r: Array, reached: Array | None = None) -> Array:
        """Return Σ_t Q_tᵀ r_t, and fill ``reached`` with how r depends on each ε_t.

        λ_t = r_t + C_{t+1}ᵀ w_{t+1} is how r depends on y_t, μ_t on what agents hold after it, and w_t = λ_t + η_t μ_t
        on y_t in both ways: μ_{t−1} = (1 − η_t) μ_t + g_t w_t.
        """
        held = np.zeros((self.model.n, r.shape[2]))
        pushed = np.zeros_like(held)
        for t in range(self.seen.last, -1, -1):
            if t in self.row_of:
                row = self.row_of[t]
                seen = r[row] if self._gapless else r[row] * self.present[row][:, None]
                if self.seen.everyone:
                    pushed += seen
                else:
                    pushed[self.seen.agents] += seen
            if t == 0:
                return (held + pushed if self.from_hidden else held)[self.seen.free]
            update = self._update(t)
            if update.adaptation_rate is not None:
                follows = update.adaptation_rate[:, None] * held
                held -= follows
                pushed = pushed + follows
            own = update.gain[:, None] * pushed
            held += own
            if reached is not None:
                np.multiply(own, self._noise_size[t - 1][:, None], out=reached[t - 1])
            pushed = update.couple_adjoint(pushed)
        raise AssertionError("the sweep ends at step 0")

    def _spread(self, r: Array, reached: Array) -> Array:
        """Return Cov(e) r from how r depends on the noise, which is overwritten."""
        kick = _correlated(reached, persistence(self.model.noise))
        kick *= self._noise_size[:, :, None]
        still = np.zeros((self.model.n, r.shape[2]))
        rows = self._run(still, still, kick)
        return rows + self.seen.blur * r if self.seen.blur else rows

    @cached_property
    def _gapless(self) -> bool:
        return bool(self.present.all())


def design_of(model: Model, data: Outputs) -> Design:
    """Return the regression of these outputs."""
    return Design(model, data.seen, data.present)


def _weighted(r: Array, weights: Array | None) -> Array:
    return r if weights is None else r * weights[:, :, None]


def _correlated(path: Array, phi: float) -> Array:
    """Return Σ_v φ^|t−v| path_v for each t, by one run in either direction of time."""
    if phi == 0:
        return path
    before, after = path.copy(), path.copy()
    for t in range(1, path.shape[0]):
        before[t] += phi * before[t - 1]
        after[-t - 1] += phi * after[-t]
    return before + after - path
