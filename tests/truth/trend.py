"""What a sequence of exact values at growing times tends to: zero, a finite number, infinity, or not to be told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from tests.truth.case import Array

Trend: TypeAlias = Literal["zero", "finite", "infinite", "open"]
SHARE = 0.9  # of a steady exponent that the last one has at least
STEADY = 0.15  # least exponent in log t that counts as a decay


def exponents(t: Sequence[float], values: Sequence[float]) -> Array:
    """Return the local exponents −d log q/d log log t: constant for powers of log t, and growing for powers of t."""
    logs = np.log(np.log(np.asarray(t)))
    return np.asarray(-np.diff(np.log(np.asarray(values))) / np.diff(logs))


def trend(t: Sequence[float], values: Sequence[float], floors: Sequence[float]) -> Trend:
    """Return what non-negative values tend to, as far as their last few show.

    Values that fall like a power of log t, or faster, have local exponents in log t that do not fade; those of values
    with a positive limit fade, and are small before the limit is nearly reached. What is neither is left open: an
    exact value that has moved by less than a few per cent over four decades, without its movement fading, may have a
    limit or not, and no finite horizon can tell. Values below their floors are rounding errors.
    """
    q, floor = np.asarray(values), np.asarray(floors)
    if q[-1] <= floor[-1]:
        return _trend_of_the_lost(t, q, floor)
    if np.all(np.abs(q[-4:] / q[-1] - 1) < 1e-6):
        return "finite"
    e = exponents(t, np.maximum(q, floor / 10).tolist())
    # Two each, because alternating times may have phases of their own.
    last, before = float(e[-2:].mean()), float(e[-6:-4].mean() if len(e) > 5 else e[:-2].mean())
    falls = bool(np.all(q[2:][-3:] < q[:-2][-3:]))
    if last >= STEADY and last >= SHARE * before and falls:
        return _zero_or_a_small_limit(q, last, np.log(t[-2]) / np.log(t[-1]))
    if last <= -STEADY and last <= SHARE * before:
        return "infinite"
    fades = abs(last) <= 0.8 * abs(before) or abs(last) < 1e-3
    return "finite" if abs(last) < 0.05 and fades else "open"


def _trend_of_the_lost(t: Sequence[float], q: Array, floor: Array) -> Trend:
    """Return the trend of values that drown in rounding errors; these may have grown, and values not fallen at all."""
    # A value far above the smallest rounding errors that hardly changes is no rounding error.
    if q[-1] > 1e-3 * floor[-1] and np.all(np.abs(q[-3:] / q[-1] - 1) < 0.25):
        return "open"
    seen = int(np.argmax(q < 30 * floor))
    if seen > 5:
        return trend(t[:seen], q[:seen].tolist(), floor[:seen].tolist())
    return "zero" if floor[-1] < 3 * floor[seen] else "open"


def _zero_or_a_small_limit(q: Array, exponent: float, ratio: float) -> Trend:
    """Tell a decay to zero from one to a limit that is small beside what is still to go.

    Aitken's formula finds the limit of c + b t^(−β) and that of a power of t, 0. Of (log t)^(−a) it finds 1/(1 + a) of
    the last value, which falls as the value does; ``ratio`` is that of the last two log t.
    """
    limits = []
    for values in (q[-4:-1], q[-3:]):
        before, now = np.diff(values)
        factor = now / before if before else 1.0
        limits.append(values[-1] + now * factor / (1 - factor) if 0 < factor < 1 else 0.0)
    falls = 1 - limits[1] / limits[0] if limits[0] > 0 else 1.0
    if limits[1] > 0.05 * q[-1] and abs(falls) < 0.3 * (1 - ratio**exponent):
        return "finite" if limits[1] > 0.3 * q[-1] else "open"
    return "open" if limits[1] > 1.25 * q[-1] / (1 + exponent) else "zero"


def what_is_left(pressure: Callable[[Array], Array], t: float) -> float | None:
    """Return ∫ ρ_T/(T ρ) dt from T on, by which a decay t^(−a) at T has still to go as exp(−a …); None if it diverges.

    The integral is taken over log t, up to the largest doubles; it diverges as far as its last half counts.
    """
    u = np.geomspace(np.log(t), 690.0, 4_000)
    with np.errstate(all="ignore"):
        integrand = np.exp(u) / pressure(np.exp(u))
    if not np.all(np.isfinite(integrand)):
        return None
    whole, end = np.trapezoid(integrand, u), np.trapezoid(integrand[u > 345], u[u > 345])
    return None if end > 1e-6 * whole else float(whole / integrand[0]) if integrand[0] > 0 else 0.0


def limit(values: Sequence[float]) -> tuple[float, float]:
    """Return the limit of values at times that grow fourfold, and how far off it may be."""
    first, second, last = (float(value) for value in values[-3:])
    before, now = second - first, last - second
    if abs(now) < 1e-12 * max(1.0, abs(last)):
        return last, 2 * abs(now)
    factor = now / before if before else 1.0
    if not 0 < factor < 0.97:
        return last, 10 * abs(now)
    # A power law makes what is left geometric; of a power of log t the same formula gives a part only.
    left = now * factor / (1 - factor)
    return last + left, (10.0 if factor > 0.85 else 1.5 if factor > 0.6 else 0.2) * abs(left)
