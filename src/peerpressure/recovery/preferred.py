"""What agents would have liked to show, wherever it can be read off: ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t.

x_t is x₀ where hidden opinions are constant. Where they adapt, x_t = p_t x₀ + k_{t−1} with k from the agent's own
outputs, so that ξ_t tells of x₀ as long as all of these are seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.recovery.inversion import LEAST_GAIN
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.own_share import own_share


@final
@dataclass(frozen=True, eq=False)
class Transitions:
    """Pairs of outputs in which an agent and all its neighbours of the step before are seen.

    ``times`` (T,); ``public`` (replicates, T, n) is y_t, ``around`` A_t y_{t−1} and ``adopted`` k_{t−1}, all 0 where
    ``present`` (T, n) is False; ``degrees`` and ``share`` (T, n) are the sums of A_t, and p_t.
    """

    times: NDArray[np.int64]
    public: Vector
    around: Vector
    adopted: Vector
    degrees: Vector
    share: Vector
    present: NDArray[np.bool_]


def transitions(model: Model, data: Outputs) -> Transitions:
    """Return all pairs of outputs in which the step of an agent is seen from beginning to end."""
    if data.seen.rounding:
        rule = "a likelihood needs outputs as they are"
        remedy = "use method='kalman', which knows of rounding"
        raise InvalidInputError(complain(rule, got=f"outputs rounded to {data.seen.rounding:g}", remedy=remedy))
    rows = {int(t): row for row, t in enumerate(data.seen.times)}
    known = {0: _start(model, data)} | {t: _everyone(model, data, row) for t, row in rows.items()}
    times = np.array([t for t in sorted(known) if t and t - 1 in known], dtype=np.int64)
    shape = (times.size, model.n)
    updates = {int(t): model.update(int(t)) for t in times}
    public = np.array([known[t] for t in updates]).reshape(*shape, -1)
    around = np.array([update.adjacency @ known[t - 1] for t, update in updates.items()]).reshape(public.shape)
    adopted = _adopted(model, known, times, public.shape)
    gains = np.array([update.gain for update in updates.values()]).reshape(shape)
    share = np.broadcast_to(own_share(model, data.seen.last)[times - 1], shape)
    # A product with a sparse matrix is NaN exactly where a neighbour is.
    present = np.isfinite((public + around + adopted)[:, :, 0]) & (gains * share >= LEAST_GAIN)
    hidden = ~present[:, :, None]
    y, a, k = (np.moveaxis(np.where(hidden, 0.0, values), 2, 0) for values in (public, around, adopted))
    degrees = np.array([model.degrees_at(t) for t in updates]).reshape(shape)
    return Transitions(times, y, a, k, degrees, share, present)


def preferred_opinions(model: Model, seen: Transitions) -> Vector:
    """Return r_t = ξ_t − k_{t−1} = p_t x₀ + ε_t, (replicates, T, n), 0 where it cannot be known."""
    out = np.zeros_like(seen.public)
    for row, t in enumerate(seen.times):
        update = model.update(int(t))
        wish = (seen.public[:, row] - update.coupling_scale * seen.around[:, row]) / update.gain - seen.adopted[:, row]
        out[:, row] = np.where(seen.present[row], wish, 0.0)
    return out


def _adopted(model: Model, known: Mapping[int, Vector], times: NDArray[np.int64], shape: tuple[int, ...]) -> Vector:
    """Return k_{t−1} of the steps, (T, n, replicates), NaN once an output that was adopted is not seen."""
    if model.adaptation is None:
        return np.broadcast_to(0.0, shape)
    out, rows = np.empty(shape), {int(t): row for row, t in enumerate(times)}
    held, unseen = np.zeros(shape[1:]), np.full(shape[1:], np.nan)
    for t in range(1, int(times.max(initial=0)) + 1):
        if t in rows:
            out[rows[t]] = held
        update = model.update(t)
        moves = update.adaptation_rate is not None and update.adaptation_rate[:, None] > 0
        held = np.where(moves, update.adapt(held, known.get(t, unseen)), held)
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
