"""The states that a network which changes for ever goes round in, on average over the noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from peerpressure.model import Model, Vector
from peerpressure.theory.extensions.modes import mode_of
from peerpressure.theory.extensions.rounds import Rounds, closed_classes

# Sweeps through the period, and products in all, after which a cycle that has not closed is given up.
MOST_SWEEPS = 20_000
MOST_WORK = 3e8
CLOSED = 1e-10
# A pressure that is bounded but still changes is looked at here.
LATE = 1_000_000


def cycle_of_circles(model: Model, rounds: Rounds) -> Vector | None:
    """Return the mean of what each agent shows in each recurring round as ρ_t → ∞ with Σ 1/ρ_t = ∞, or None.

    Hidden opinions are constant. Every closed class settles on the value that it is drawn to, isolated agents show
    their opinion, and all others a mixture of these: the mean of what their neighbours showed in the step before. The
    shape is (steps, agents).
    """
    count, n = rounds.degrees.shape
    nobody = np.zeros(n, dtype=np.bool_)
    closed = closed_classes(rounds, nobody, ~nobody, weak=False)
    known: Vector = np.where(rounds.alone, model.x0, np.nan).ravel()
    for number in np.flatnonzero(~closed.ends):
        places = closed.places(int(number))
        mode = mode_of(model, rounds, places)
        if mode is None:
            return None
        known[places] = mode.value(model.x0)
    known = known.reshape(count, n)
    start = np.full(n, model.consensus_value)
    degrees = np.where(rounds.alone, 1.0, rounds.degrees)

    def step(k: int, state: Vector) -> Vector:
        return np.asarray(np.where(np.isnan(known[k]), rounds.adjacency[k] @ state / degrees[k], known[k]))

    return _closed_cycle(model, rounds, start, step)


def cycle_of_spread(model: Model, rounds: Rounds) -> Vector | None:
    """Return the mean of what each agent shows in each recurring round under a bounded pressure, or None.

    It is the step trip that the noiseless steps close to, shape (steps, agents); hidden opinions are constant.
    """
    late = LATE - rounds.index(LATE)
    updates = [model.update(late + k) for k in range(rounds.count)]
    return _closed_cycle(model, rounds, model.x0, lambda k, state: updates[k](state))


def _closed_cycle(model: Model, rounds: Rounds, start: Vector, step: Callable[[int, Vector], Vector]) -> Vector | None:
    work = float(sum(A.nnz for A in rounds.adjacency) + 10 * rounds.degrees.size)
    scale = float(np.ptp(model.x0)) or 1.0
    states, state = np.empty_like(rounds.degrees), start
    for _ in range(int(min(MOST_SWEEPS, MOST_WORK / work + 1))):
        before = state
        for k in range(rounds.count):
            state = step(k, state)
            states[k] = state
        if np.abs(state - before).max() <= CLOSED * scale:
            return states
    return None
