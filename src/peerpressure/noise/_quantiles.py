"""Quantiles of a law that is given by its density alone, from a table.

SciPy inverts such a law by a search for each draw, with an integral at each step of it. Here the density is integrated
once, between nodes that are dense around the mean and reach far into the tails. Quantiles are then interpolated over
the normal score z = Φ⁻¹(p), as a function of which they are smooth for heavy tails, light tails and bounded laws alike:
by monotone cubic polynomials with the exact slopes φ(z)/f(x).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from peerpressure.errors import NoiseError, message

Array = NDArray[np.float64]

# Largest estimated error of a quantile, as a share of the standard deviation plus its distance from the mean. Kinks of
# a density inside a panel add a few times as much.
ACCURACY = 1e-8
FEWEST, MOST = 1_024, 65_536  # panels
FARTHEST = 1e16  # standard deviations from the mean
TAIL = 1e-28  # probability beyond the last node; draws have 53 bits
HALVINGS = 150  # of the distance to a finite end that nodes reach
ROUNDS = 8  # in which nodes are moved to the mean and scaled to the deviation
LEAST_TOTAL_ERROR = 1e-6  # of the integral of a density


def needs_table(distribution: Any) -> bool:
    """Return whether a frozen SciPy distribution is continuous and has no quantiles of its own."""
    from scipy import stats

    family = getattr(distribution, "dist", None)
    return isinstance(family, stats.rv_continuous) and type(family)._ppf is stats.rv_continuous._ppf


def density_moments(distribution: Any) -> tuple[float, float] | None:
    """Return mean and standard deviation by integrating a density, or None where SciPy is to do that.

    SciPy integrates the quantiles of such a law, each of which it searches for.
    """
    from scipy import stats

    base = stats.rv_continuous
    if not needs_table(distribution) or any(
        getattr(type(distribution.dist), name) is not getattr(base, name) for name in ("_stats", "_munp")
    ):
        return None
    _, loc, scale = distribution.dist._parse_args(*distribution.args, **distribution.kwds)
    mean, std = float(loc), float(scale)
    low, high = (float(end) for end in distribution.support())
    for _ in range(ROUNDS):
        far = FARTHEST * std
        ends = max(low, mean - far), min(high, mean + far)
        x = _nodes(distribution, ends, mean, std, 16 * FEWEST)
        total, first, second = _integrals(distribution, x, mean)
        if abs(total - 1) > LEAST_TOTAL_ERROR or not second - first**2 > 0:
            return None
        moved, before = first, std
        mean, std = mean + first, math.sqrt(second - first**2)
        # Nodes are dense around the last mean, on the scale of the last deviation.
        if abs(moved) <= 1e-12 * std and abs(std - before) <= 1e-12 * std:
            return mean, std
    return mean, std


def _integrals(law: Any, x: Array, centre: float) -> tuple[float, float, float]:
    """Return the integrals of f, (x − centre) f and (x − centre)² f."""
    t, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(x)[:, None] / 2
    at = x[:-1, None] + half * (1 + t)
    mass = half * weights * np.nan_to_num(law.pdf(at), posinf=0.0)
    away = at - centre
    return float(mass.sum()), float((mass * away).sum()), float((mass * away**2).sum())


@final
@dataclass(frozen=True, eq=False)
class QuantileTable:
    """Quantiles x at normal scores z, with slopes dx/dz, and an estimate of the error in standard deviations."""

    scores: Array
    values: Array
    slopes: Array
    error: float

    def __call__(self, shares: Array) -> Array:
        """Return the quantiles of these probabilities."""
        return _hermite(special.ndtri(shares), self.scores, self.values, self.slopes)


def quantile_table(law: Any, mean: float, std: float) -> QuantileTable:
    """Return a table of the accuracy above; raise if the density is none, or too rough for it."""
    panels, ends = FEWEST, _reach(law, mean, std)
    while panels <= MOST:
        x = _nodes(law, ends, mean, std, panels)
        below, above = _cumulated(law, x)
        if abs(below[-1] - 1) > LEAST_TOTAL_ERROR:
            remedy = "divide it by its integral, or choose a law with lighter tails"
            raise NoiseError(message("a density must have the integral 1", got=f"{below[-1]:.6g}", remedy=remedy))
        table = _table(law, x, below, above)
        # A table of every other node has 16 times the error, and the values that it leaves out are known.
        half = _table(law, x[::2], below[::2], above[::2])
        there = (table.scores > half.scores[0]) & (table.scores < half.scores[-1])
        moved = np.abs(_hermite(table.scores, half.scores, half.values, half.slopes) - table.values)[there]
        size = std + np.abs(table.values[there] - mean)
        error = float((moved / size).max(initial=0.0)) / 16
        if error <= ACCURACY:
            return QuantileTable(table.scores, table.values, table.slopes, error)
        panels *= 2
    rule = f"the density of noise must be smooth enough for quantiles accurate to {ACCURACY:g}"
    raise NoiseError(message(rule, got=f"an error of {error:.1g}", remedy="give the distribution a _ppf of its own"))


def _reach(law: Any, mean: float, std: float) -> tuple[float, float]:
    """Return the ends beyond which nothing is drawn: those of the support, or where the tails are below any draw."""
    low, high = (float(end) for end in law.support())
    far = FARTHEST * std
    x = _spaced(max(low, mean - far), min(high, mean + far), mean, std, FEWEST)
    below, above = _cumulated(law, x)
    # One node further out on each side, where the tail is lighter than that.
    first, last = max(int(np.searchsorted(below, TAIL)) - 2, 0), int(np.searchsorted(-above, -TAIL))
    return (low if math.isfinite(low) else float(x[first])), (high if math.isfinite(high) else float(x[last]))


def _spaced(low: float, high: float, mean: float, std: float, panels: int) -> Array:
    """Return the ends of panels of equal length in arsinh((x − mean)/std), dense around the mean."""
    first, last = math.asinh((low - mean) / std), math.asinh((high - mean) / std)
    return np.concatenate([[low], mean + std * np.sinh(np.linspace(first, last, panels + 1))[1:-1], [high]])


def _nodes(law: Any, ends: tuple[float, float], mean: float, std: float, panels: int) -> Array:
    """Return nodes between the ends, and further ones towards finite ends of the support, at equal ratios."""
    low, high = ends
    x = _spaced(low, high, mean, std, panels)
    support = [float(end) for end in law.support()]
    ratios = 0.5 ** np.linspace(0, HALVINGS, panels)[1:]
    parts = [x]
    parts += [low + (x[panels // 4] - low) * ratios] * math.isfinite(support[0])
    parts += [high - (high - x[-panels // 4]) * ratios] * math.isfinite(support[1])
    return np.unique(np.concatenate(parts))


def _cumulated(law: Any, x: Array) -> tuple[Array, Array]:
    """Return the probabilities below and above each node, both accurate in their own tail."""
    t, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(x)[:, None] / 2
    # Far out densities may overflow, where their true value is 0, and an end of the support may be a pole.
    density = np.nan_to_num(law.pdf(x[:-1, None] + half * (1 + t)), posinf=0.0)
    mass = (half * weights * density).sum(axis=1)
    below = np.concatenate([[0.0], np.cumsum(mass)])
    above = np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]])
    return below, above


def _table(law: Any, x: Array, below: Array, above: Array) -> QuantileTable:
    # Each tail by its own probability: 1 − 10⁻²⁰ is 1 in doubles.
    z = np.where(below < above, special.ndtri(below), -special.ndtri(above))
    inside = (below > TAIL) & (above > TAIL)
    # Where the density is 0 several nodes have one score; the quantile jumps there, and the last is kept.
    z, x = z[inside], x[inside]
    rises = np.append(np.diff(z) > 0, True)
    z, x = z[rises], x[rises]
    with np.errstate(divide="ignore", over="ignore"):
        slopes = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi) / np.nan_to_num(law.pdf(x))
    secants = np.diff(x) / np.diff(z)
    # At most three times both neighbouring secants, which keeps a cubic monotone (Fritsch and Carlson, 1980).
    most = 3 * np.minimum(np.append(secants, secants[-1]), np.insert(secants, 0, secants[0]))
    return QuantileTable(z, x, np.minimum(slopes, most), 0.0)


def _hermite(at: Array, z: Array, x: Array, slopes: Array) -> Array:
    """Return the cubic Hermite interpolant; beyond the ends it is constant."""
    at = np.clip(at, z[0], z[-1])
    k = np.clip(np.searchsorted(z, at, side="right") - 1, 0, z.size - 2)
    step = z[k + 1] - z[k]
    s = (at - z[k]) / step
    rise = x[k + 1] - x[k]
    # The form with the differences keeps digits where x is large and varies little.
    left, right = slopes[k] * step, slopes[k + 1] * step
    return np.asarray(x[k] + s * (left + s * (3 * rise - 2 * left - right + s * (left + right - 2 * rise))))
