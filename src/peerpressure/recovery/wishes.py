"""What agents would have liked to show, wherever it can be read off: ξ_t = (y_t − C_t y_{t−1})/g_t = x₀ + ε_t."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.recovery.inversion import LEAST_GAIN
from peerpressure.recovery.outputs import Outputs


@final
@dataclass(frozen=True, eq=False)
class Transitions:
    """Pairs of outputs in which an agent and all its neighbours of the step before are seen.

    ``times`` (T,); ``public`` (replicates, T, n) is y_t and ``around`` A y_{t−1}, both 0 where ``present`` (T, n) is
    False.
    """

    times: NDArray[np.int64]
    public: Vector
    around: Vector
    present: NDArray[np.bool_]


def transitions(model: Model, data: Outputs) -> Transitions:
    """Return all pairs of outputs in which the step of an agent is seen from beginning to end."""
    if data.seen.rounding:
        rule = "a likelihood needs outputs as they are"
        remedy = "use method='kalman', which knows of rounding"
        raise InvalidInputError(complain(rule, got=f"outputs rounded to {data.seen.rounding:g}", remedy=remedy))
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    known = {0: _start(model, data)} | {t: _everyone(model, data, row) for t, row in rows.items()}
    times = [t for t in sorted(known) if t and t - 1 in known]
    A = model.network.adjacency
    public = np.array([known[t] for t in times]).reshape(len(times), model.n, -1)
    around = np.array([A @ known[t - 1] for t in times]).reshape(public.shape)
    gains = np.array([model.update(t).gain for t in times]).reshape(len(times), model.n)
    # A product with a sparse matrix is NaN exactly where a neighbour is.
    present = np.isfinite(public[:, :, 0] + around[:, :, 0]) & (gains >= LEAST_GAIN)
    hidden = ~present[:, :, None]
    y, a = (np.moveaxis(np.where(hidden, 0.0, values), 2, 0) for values in (public, around))
    return Transitions(np.array(times, dtype=np.int64), y, a, present)


def wishes(model: Model, seen: Transitions) -> Vector:
    """Return ξ_t, (replicates, T, n), 0 where it cannot be known."""
    out = np.zeros_like(seen.public)
    for row, t in enumerate(seen.times):
        update = model.update(int(t))
        wish = (seen.public[:, row] - update.pull * seen.around[:, row]) / update.gain
        out[:, row] = np.where(seen.present[row], wish, 0.0)
    return out


def _start(model: Model, data: Outputs) -> Vector:
    """Return y₀, (n, replicates), NaN where it is not known."""
    if isinstance(model.start, str):
        return np.asarray(data.known.T)
    return np.repeat(model.start_state[:, None], data.known.shape[0], axis=1)


def _everyone(model: Model, data: Outputs, row: int) -> Vector:
    state = np.full((model.n, data.known.shape[0]), np.nan)
    state[data.seen.agents] = data.at(row).T
    return state
