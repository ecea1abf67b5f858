"""The random choices behind networks that change, drawn for all agents or edges at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Switches(NamedTuple):
    """What happened to whom at which step; ``odd`` tells every second time from the others."""

    who: NDArray[np.int64]
    times: NDArray[np.int64]
    odd: NDArray[np.bool_]


def switches(
    times: NDArray[np.int64],
    even: NDArray[np.float64],
    odd: NDArray[np.float64],
    steps: int,
    rng: np.random.Generator,
) -> Switches:
    """Return all that happens up to the last step to things that each wait geometric times, in turn of two kinds.

    Thing k first waits from ``times[k]`` with the chance ``odd[k]`` at each step, then with ``even[k]``, and so on
    in turn.  The work is that of what happens, not that of the steps.
    """
    who = np.flatnonzero(odd > 0)
    now = times[who]
    chances = (even, odd)
    found = [Switches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, bool))]
    turn = 1
    while who.size:
        chance = chances[turn % 2][who]
        going = chance > 0
        who, now, chance = who[going], now[going], chance[going]
        # No wait beyond the last step matters, and cutting it there keeps the sum within 64 bits.
        now = now + np.minimum(rng.geometric(chance), steps)
        inside = now <= steps
        who, now = who[inside], now[inside]
        found.append(Switches(who, now, np.full(who.size, turn % 2 == 1)))
        turn += 1
    return Switches(*(np.concatenate([part[k] for part in found]) for k in range(3)))


def first_birth(chance: float, steps: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return geometric waiting times that are known to end within so many steps."""
    if chance == 1:
        return np.ones(count, np.int64)
    # The inverse of P(wait ≤ k | wait ≤ steps) = (1 − (1−p)^k) / (1 − (1−p)^steps), exact for small p too.
    rate = np.log1p(-chance)
    waits = np.ceil(np.log1p(rng.random(count) * np.expm1(steps * rate)) / rate).astype(np.int64)
    return np.asarray(np.clip(waits, 1, steps))


def others(who: NDArray[np.int64], n: int, m: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return m distinct agents other than itself for each of these, uniformly, shape (agents, m).

    Floyd's way to sample without repeats (Bentley and Floyd, Comm. ACM 30, 754, 1987), for all rows at once.
    """
    chosen = np.empty((who.size, m), np.int64)
    for k, top in enumerate(range(n - 1 - m, n - 1)):
        drawn = rng.integers(top + 1, size=who.size)
        repeat = (chosen[:, :k] == drawn[:, None]).any(axis=1)
        chosen[:, k] = np.where(repeat, top, drawn)
    # The numbers 0…n−2 become the agents other than the chooser.
    return chosen + (chosen >= who[:, None])


def activities(exponent: float, floor: float, count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return draws from the density ∝ a^(−exponent) on [floor, 1]."""
    u = rng.random(count)
    if exponent == 1:
        return np.asarray(floor ** (1 - u))
    ratios = (1 + u * np.expm1((exponent - 1) * np.log(floor))) ** (1 / (1 - exponent))
    return np.asarray(np.minimum(floor * ratios, 1))


def mean_activity(exponent: float, floor: float) -> float:
    """Return the mean of that law.

    >>> round(mean_activity(0, 0.5), 9)
    0.75
    """
    return floor * _integral(1 - exponent, 1 / floor) / _integral(-exponent, 1 / floor)


def _integral(power: float, top: float) -> float:
    """Return the integral of x^power from 1 to the top."""
    return float(np.log(top)) if power == -1 else float(np.expm1((power + 1) * np.log(top))) / (power + 1)
