"""Undoing the update: ξ_t = (y_t − C_t y_{t−1})/g_t = x_t + ε_t is what the agent would have liked to show.

Where hidden opinions adapt, what the agent has adopted by then is known from its outputs and taken off, and what is
left is its own share: r_t = ξ_t − k_{t−1} = π_{t−1} x₀ + ε_t.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.recovery.goodness_of_fit import Bounds, p_values
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.own_share import own_share
from peerpressure.recovery.time_weights import LEAST_SHARE, TimeWeights, time_weights

Array: TypeAlias = NDArray[np.float64]
# Below this gain an agent's own opinion is lost in the last digits of what it shows.
LEAST_GAIN = 1e-10


@final
@dataclass(frozen=True, eq=False)
class Inverted:
    """The r_t of complete outputs, averaged as they came.

    ``mean`` (n, replicates) is the best average of the r_t, with ``weights`` to tell how good it is; ``first`` is
    y_1/g_1 and ``following`` the first r_t, needed only where the start is not known.
    """

    weights: TimeWeights
    mean: Array
    first: Array | None
    following: Array | None
    goodness_of_fit: Array | None


def legible_steps(model: Model, last: int) -> NDArray[np.int64]:
    """Return the steps at which every agent's own opinion can be read in double precision."""
    return np.array([t for t in range(1, last + 1) if model.update(t).gain.min() >= LEAST_GAIN], dtype=np.int64)


def invert(model: Model, data: Outputs) -> Inverted:
    """Return the averaged r_t of complete outputs, refusing outputs that the noise cannot have made."""
    legible = legible_steps(model, data.seen.last)
    weights = weights_of(model, legible)
    bounds = Bounds(model)
    total = np.zeros((model.n, data.values.shape[0]))
    squares = np.zeros_like(total)
    before = np.zeros_like(total)
    shift, following = np.zeros_like(total), None
    rows = {int(t): row for row, t in enumerate(weights.times)}
    everywhere_noisy = bool(np.isfinite(weights.information).all())
    for t, told, error in _told(model, data, rows):
        row = rows[t]
        share = weights.share[row][:, None]
        if following is None:
            following = told
            shift = np.divide(told, share, out=shift, where=share > LEAST_SHARE)
        # Squares are taken about the first r, for x₀ may be large and the noise small.
        change = told - share * shift
        total += weights.weights[row][:, None] * change
        bounds.meet(t, told, error, share)
        if everywhere_noisy:
            link = weights.link[row]
            now = change / weights.scale[row]
            squares += (now - link * before) ** 2 / (1 - link**2) if abs(link) < 1 else 0.0
            before = now
    legible_first = isinstance(model.start, str) and 1 in legible
    first = data.at(0).T / model.update(1).gain[:, None] if legible_first else None
    if following is None:
        return Inverted(weights, total, first, None, None)
    goodness_of_fit = None
    if everywhere_noisy:
        squares -= weights.information[:, None] * total**2
        goodness_of_fit = p_values(model, squares, weights.times.size, weights.information > 0)
    return Inverted(weights, shift + total, first, following, goodness_of_fit)


def weights_of(model: Model, legible: NDArray[np.int64]) -> TimeWeights:
    """Return how to average the r_t of the legible steps; of the first only if the start is known."""
    times = legible[legible > 1] if isinstance(model.start, str) else legible
    share = own_share(model, int(times.max(initial=1)) - 1)
    return time_weights(model.noise, times, share[times - 1])


def _told(model: Model, data: Outputs, rows: dict[int, int]) -> Iterator[tuple[int, Array, float]]:
    """Yield step, r_t (n, replicates) and the size of its rounding error."""
    precision = float(np.finfo(data.values.dtype).eps)
    public = np.broadcast_to(model.start_state[:, None], (model.n, data.values.shape[0]))
    adopted = np.zeros_like(public)
    for t in range(1, data.seen.last + 1):
        before, public = public, np.ascontiguousarray(data.at(t - 1).T)
        update = model.update(t)
        if t in rows:
            one = before[:, 0] if before.shape[1] == 1 else before
            pulled = update.couple(np.ascontiguousarray(one)).reshape(before.shape)
            error = 64 * precision * (1 + float(np.abs(public).max())) / float(update.gain.min())
            wish = (public - pulled) / update.gain[:, None]
            yield t, wish if model.adaptation is None else wish - adopted, error
        if model.adaptation is not None:
            adopted = update.adapt(adopted, public)


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
