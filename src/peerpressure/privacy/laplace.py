"""Many Laplace releases together: the law of their privacy loss, convolved numerically with an error bound.

One release, moved by a in units of its scale, has the privacy loss L = log(p/q) with mass ½ at a, mass ½e^(−a) at −a
and density ¼e^((ℓ−a)/2) between. For independent releases losses add, and

    δ(ε) = E (1 − e^(ε−ΣL))₊.

Each law is put on a grid by splitting mass between the two nearest points so that its mean is kept. The errors made are
then independent, of mean zero and within one cell of width w each, so that by Hoeffding's inequality all T of them move
the sum by more than r = w √(½T log(2/η)) with probability η at most (after Gopi, Lee and Wutschitz, NeurIPS 2021).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import fft

from peerpressure.model import Vector

# The grid is so fine that ε is known to within this part of √(Σ a²), unless it would grow too large.
_TOLERANCE = 0.01
_SMALLEST, _LARGEST = 2**12, 2**20
# Rounding in the transforms comes to 1e-12 or so, and must be small beside δ.
LEAST_DELTA = 1e-8


def basic(a: Vector, counts: Vector) -> float:
    """Return Σ a, the pure ε: losses can all be at their largest together."""
    return float(a @ counts)


def advanced(a: Vector, counts: Vector, delta: float) -> float:
    """Return ε = Σ a tanh(a/2) + √(2 log(1/δ) Σ a²), for any pure private releases (Kairouz, Oh and Viswanath 2015)."""
    if not np.isfinite(a).all():
        return math.inf
    return float(counts @ (a * np.tanh(a / 2)) + math.sqrt(2 * math.log(1 / delta) * (counts @ a**2)))


def epsilon_between(a: Vector, counts: Vector, delta: float) -> tuple[float, float]:
    """Return two bounds of the smallest ε at this δ for releases moved by ``a``, each ``counts`` times.

    They hold up to rounding in the transforms; for δ below 1e-8 they are 0 and what composition gives.

    >>> low, high = epsilon_between(np.array([0.1]), np.array([100.0]), 1e-5)
    >>> round(low, 2), round(high, 2)
    (4.21, 4.23)
    """
    if not a.size:
        return 0.0, 0.0
    ceiling = min(basic(a, counts), advanced(a, counts, delta))
    if delta < LEAST_DELTA or not math.isfinite(ceiling):
        return (0.0 if math.isfinite(ceiling) else math.inf), ceiling
    if counts.sum() == 1:
        exact = _one_release(float(a[0]), delta)
        return exact, exact
    doubt = delta * 1e-3
    losses, masses, reach = _summed(a, counts, doubt)
    low = _epsilon_at(losses, masses, delta + 2 * doubt) - reach
    high = _epsilon_at(losses, masses, delta - 2 * doubt) + reach
    # At a δ above the total variation even ε < 0 would hold; privacy asks for no less than 0.
    return max(low, 0.0), max(min(high, ceiling), 0.0)


def _one_release(a: float, delta: float) -> float:
    """Return ε of a single release: δ(ε) = 1 − e^((ε−a)/2) for 0 ≤ ε ≤ a."""
    return max(a + 2 * math.log1p(-delta), 0.0)


def _summed(a: Vector, counts: Vector, doubt: float) -> tuple[Vector, Vector, float]:
    """Return the summed loss on a grid, its masses, and how far it may be off with probability 1 − doubt."""
    total, spread = float(counts.sum()), math.sqrt(float(counts @ a**2))
    # Losses lie in [−a, a], which bounds how far their sum is from its mean with probability 1 − doubt.
    tail = math.sqrt(2 * math.log(2 / doubt)) * spread
    mean = float(counts @ (a + np.expm1(-a)))
    largest = float(counts @ a)
    half = min(tail, largest + abs(mean))
    cells = math.sqrt(total / 2 * math.log(2 / doubt))
    size = fft.next_fast_len(int(np.clip(2 * half * cells / (_TOLERANCE * spread), _SMALLEST, _LARGEST)), real=True)
    width = 2.02 * half / (size - 4)
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for step, count in zip(a, counts, strict=True):
        one = fft.rfft(_on_grid(float(step), width, size))
        # A complex power costs more than the transform itself.
        transform *= one if count == 1 else one**count
    first = math.floor(mean / width) - size // 2
    masses = np.roll(fft.irfft(transform, size), -(first % size))
    return (first + np.arange(size)) * width, np.maximum(masses, 0.0), cells * width


def _on_grid(a: float, width: float, size: int) -> Vector:
    """Return the masses of one release's loss on the grid 0, w, 2w, …, wrapped around, with its mean kept."""
    masses = np.zeros(size)
    inner = np.arange(math.ceil(-a / width), math.floor(a / width) + 1) * width
    edges = np.concatenate([[-a], inner[(inner > -a) & (inner < a)], [a]])
    pieces = np.diff(edges)
    weights = 0.5 * np.exp((edges[:-1] - a) / 2) * np.expm1(pieces / 2)
    places = edges[:-1] + pieces * _centre(pieces)
    for place, mass in ((places, weights), (np.array([-a, a]), np.array([0.5 * math.exp(-a), 0.5]))):
        cell = np.floor(place / width)
        upper = place / width - cell
        below = cell.astype(np.int64)
        np.add.at(masses, below % size, mass * (1 - upper))
        np.add.at(masses, (below + 1) % size, mass * upper)
    return masses


def _centre(pieces: Vector) -> Vector:
    """Return where in an interval of this length the mass of the density ∝ e^(ℓ/2) has its mean, between 0 and 1."""
    small = pieces < 1e-2
    safe = np.where(small, 1.0, pieces)
    return np.where(small, 0.5 + pieces / 24, -1 / np.expm1(-safe / 2) - 2 / safe)


def _epsilon_at(losses: Vector, masses: Vector, delta: float) -> float:
    """Return the smallest ε at which E(1 − e^(ε−L))₊ is at most δ, for a loss on a grid.

    Between two grid points δ(ε) = M − e^ε·N, with M = Σ p and N = Σ p e^(−ℓ) over the losses above ε.
    """
    above = np.cumsum(masses[::-1])[::-1]
    with np.errstate(divide="ignore"):
        weighted = np.log(masses) - losses
    # In logarithms, for losses may reach far beyond what an exponential can hold.
    discounted = np.exp(np.logaddexp.accumulate(weighted[::-1])[::-1] + losses)
    short = above - discounted <= delta
    if not short.any():
        return math.inf
    k = int(np.argmax(short))
    if k == 0:
        return float(losses[0])
    # ε lies between points k − 1 and k, where the losses from k on count.
    ratio = (above[k] - delta) / discounted[k] if discounted[k] > 0 else 1.0
    return float(losses[k] + math.log(ratio)) if ratio > 0 else float(losses[k - 1])
