"""Undoing the update: ξ_t = (y_t − C_t y_{t−1})/g_t is what the agent would have liked to show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.recovery.consistency import Bounds, p_values
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.time_weights import TimeWeights, time_weights

Array: TypeAlias = NDArray[np.float64]
# Below this gain an agent's own opinion is lost in the last digits of what it shows.
LEAST_GAIN = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Inverted:
    """The ξ_t of complete outputs, averaged as they came.

    ``mean`` (n, replicates) is the best average of the ξ_t of the steps in ``times``, with ``weights`` to tell how
    good it is; ``first`` is y_1/g_1 and ``following`` the first ξ_t, needed only where the start is not known.
    """

    times: NDArray[np.int64]
    weights: TimeWeights
    mean: Array
    first: Array | None
    following: Array | None
    consistency: Array | None


def legible_steps(model: Model, last: int) -> NDArray[np.int64]:
    """Return the steps at which every agent's own opinion can be read in double precision."""
    return np.array([t for t in range(1, last + 1) if model.update(t).gain.min() >= LEAST_GAIN], dtype=np.int64)


def invert(model: Model, data: Outputs) -> Inverted:
    """Return the averaged ξ_t of complete outputs, refusing outputs that the noise cannot have made."""
    start_known = not isinstance(model.start, str)
    legible = legible_steps(model, data.seen.last)
    times = legible if start_known else legible[legible > 1]
    weights = time_weights(model.noise, times)
    bounds = Bounds(model)
    total = np.zeros((model.n, data.values.shape[0]))
    squares = np.zeros_like(total)
    shift: Array | None = None
    before = np.zeros_like(total)
    rows = {int(t): row for row, t in enumerate(times)}
    for t, wish, error in _wishes(model, data, rows):
        row = rows[t]
        if shift is None:
            shift = wish
        # Squares are taken about the first ξ, for x₀ may be large and the noise small.
        change = wish - shift
        total += weights.weights[row] * change
        bounds.meet(t, wish, error)
        if np.isfinite(weights.information):
            link = weights.link[row]
            now = change / weights.scale[row]
            squares += (now - link * before) ** 2 / (1 - link**2) if abs(link) < 1 else 0.0
            before = now
    legible_first = not start_known and 1 in legible
    first = data.at(0).T / model.update(1).gain[:, None] if legible_first else None
    if shift is None:
        return Inverted(times, weights, total, first, None, None)
    squares -= weights.information * total**2 if np.isfinite(weights.information) else 0.0
    consistency = p_values(model, squares, times.size)
    return Inverted(times, weights, shift + total, first, shift, consistency)


def _wishes(model: Model, data: Outputs, rows: dict[int, int]) -> Iterator[tuple[int, Array, float]]:
    """Yield step, ξ_t (n, replicates) and the size of its rounding error."""
    precision = float(np.finfo(data.values.dtype).eps)
    public = np.broadcast_to(model.start_state[:, None], (model.n, data.values.shape[0]))
    for t in range(1, data.seen.last + 1):
        before, public = public, np.ascontiguousarray(data.at(t - 1).T)
        if t in rows:
            update = model.update(t)
            one = before[:, 0] if before.shape[1] == 1 else before
            pulled = update.couple(np.ascontiguousarray(one)).reshape(before.shape)
            error = 64 * precision * (1 + float(np.abs(public).max())) / float(update.gain.min())
            yield t, (public - pulled) / update.gain[:, None], error


def refuse_incomplete(data: Outputs) -> None:
    """Refuse outputs with which the update cannot be undone, saying what is missing."""
    if data.complete:
        return
    seen = data.seen
    if not seen.everyone:
        got = f"{seen.agents.size} of {seen.n}"
        rule = "undoing the update needs the outputs of all agents"
    elif seen.rounding:
        rule, got = "undoing the update needs outputs as they are", f"outputs rounded to {seen.rounding:g}"
    elif not seen.uninterrupted:
        rule = "undoing the update needs every step from 1 on"
        got = f"{seen.times.size} steps from {seen.times[0]} to {seen.last}" if seen.times.size else "no step"
    else:
        rule, got = "undoing the update needs every output", f"{int((~data.present).sum())} missing ones"
    remedy = "use method='kalman', 'gls' or 'ols', which can do without"
    raise InvalidInputError(complain(rule, got=got, remedy=remedy))
