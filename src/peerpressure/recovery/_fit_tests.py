"""Tests of residuals that are independent and standard normal if the model is right: by size, agent, lag, step and law.

Every test takes residuals w (replicates, T, k), NaN at the same places in all replicates, and returns p-values
(replicates,), or None where there is nothing to test. They look for different faults and are nearly independent of one
another: the size of all residuals is divided out of those by lag, step and tail. A new test is one function and one
line in ``TESTS``.

References
----------
.. [1] Ljung, G. M. & Box, G. E. P. (1978), On a measure of lack of fit in time series models. Biometrika 65.
.. [2] Harvey, A. C. & Collier, P. (1977), Testing for functional misspecification in regression analysis. Journal of
   Econometrics 6.
.. [3] Geary, R. C. (1935), The ratio of the mean deviation to the standard deviation as a test of normality.
   Biometrika 27.
.. [4] Marsaglia, G. & Marsaglia, J. (2004), Evaluating the Anderson–Darling distribution. Journal of Statistical
   Software 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array: TypeAlias = NDArray[np.float64]
# Lags that are tested together.
LAGS = 5
# Residuals, or pairs of them, below which the approximate tests are not used.
_FEW = 8


def size(w: Array) -> Array | None:
    """Test the sum of all squares, χ²: the noise is larger or smaller than declared."""
    count = int(np.isfinite(w[0]).sum())
    if not count:
        return None
    return _two_sided(*_chi_squared(count, np.nansum(w**2, axis=(1, 2))))


def agents(w: Array) -> Array | None:
    """Test whether the sizes of residuals differ between agents beyond chance, whatever their common size is.

    The sum of squares of agent i, χ² with n_i degrees of freedom, becomes z_i = Φ⁻¹(χ²(·)), and Σ(z_i − z̄)² is χ².
    """
    z = _agent_scores(w)
    return None if z.shape[1] < 2 else np.asarray(special.chdtrc(z.shape[1] - 1, np.square(z).sum(axis=1)))


def outlier(w: Array) -> Array | None:
    """Test whether one agent's residuals differ in size from those of the others: the largest |z_i − z̄|."""
    z = _agent_scores(w)
    k = z.shape[1]
    if k < 3:
        return None
    # Deviations from the mean are correlated by −1/(k − 1), for which independence is a cautious assumption.
    return at_least_one(2 * special.ndtr(-np.abs(z) / np.sqrt(1 - 1 / k)))


def _agent_scores(w: Array) -> Array:
    """Return z_i − z̄ of the agents that have residuals, (replicates, k)."""
    below, above = agent_probabilities(w)
    if not below.shape[1]:
        return below
    z = np.where(below < above, special.ndtri(below), -special.ndtri(above)).clip(-38, 38)
    return np.asarray(z - z.mean(axis=1, keepdims=True))


def agent_probabilities(w: Array) -> tuple[Array, Array]:
    """Return the probabilities of a smaller and of a larger sum of squares of each agent that has residuals."""
    count = np.isfinite(w[0]).sum(axis=0)
    seen = count > 0
    return _chi_squared(count[seen], np.nansum(w[:, :, seen] ** 2, axis=1))


def lags(w: Array) -> Array | None:
    """Test the autocorrelations of the first lags, pooled over agents, by the smallest of their p-values."""
    _, p = autocorrelations(w)
    return None if not p.size else at_least_one(p)


def autocorrelations(w: Array) -> tuple[Array, Array]:
    """Return r_k = Σ w_t w_{t−k} / Σ w² over all agents for lags k = 1, 2, … and their p-values, (replicates, lags).

    Lags are counted in observed steps; those with too few pairs are left out.
    """
    filled, there = np.nan_to_num(w), np.isfinite(w[0])
    N, total = int(there.sum()), np.square(filled).sum(axis=(1, 2))
    r, p = [np.zeros((len(w), 0))], [np.zeros((len(w), 0))]
    for k in range(1, min(LAGS, w.shape[1] - 1) + 1):
        pairs, triples = (
            int((there[k:] & there[:-k]).sum()),
            int((there[2 * k :] & there[k:-k] & there[: -2 * k]).sum()),
        )
        if pairs < _FEW:
            break
        r.append((np.einsum("rti,rti->r", filled[:, k:], filled[:, :-k]) / total)[:, None])
        p.append(_autocorrelation_p(r[-1], N, pairs, triples))
    return np.concatenate(r, axis=1), np.concatenate(p, axis=1)


def _autocorrelation_p(r: Array, N: int, pairs: int, triples: int) -> Array:
    """Return two-sided p-values of r = wᵀMw/wᵀw, from its exact variance and kurtosis.

    Residuals divided by their root mean square are uniform on a sphere, so that moments of wᵀMw are divided by those of
    wᵀw: E(wᵀMw)² = 2 tr M² and E(wᵀMw)⁴ = 12 (tr M²)² + 48 tr M⁴, of which the first is N_k.
    """
    variance = pairs / (N * (N + 2))
    kurtosis = (3 * pairs**2 + 6 * pairs + 12 * triples) / (N * (N + 2) * (N + 4) * (N + 6)) / variance**2
    if kurtosis >= 3:
        return np.asarray(2 * special.ndtr(-np.abs(r) / np.sqrt(variance)))
    # The symmetric beta law of this kurtosis, which has bounds as r has.
    shape = 1.5 * (kurtosis - 1) / (3 - kurtosis)
    return np.asarray(special.betaincc(0.5, shape, np.minimum(r**2 / variance / (2 * shape + 1), 1.0)))


def at_least_one(p: Array) -> Array:
    """Return the probability of a smallest p-value as small as in each row of p, (…, m), if these are independent."""
    # 1 − (1 − p)^m, without a loss of digits where p is small.
    return np.asarray(-np.expm1(p.shape[-1] * np.log1p(-np.minimum(p.min(axis=-1), 1 - 1e-16))))


def drift(w: Array) -> Array | None:
    """Test level and trend of each agent's residuals, χ² with two degrees of freedom for each: Σw/√n and the slope."""
    there = np.isfinite(w[0])
    count = there.sum(axis=0)
    # Of one or two residuals, level and trend are the residuals themselves.
    long = count > 2
    if not long.any():
        return None
    here, values = there[:, long], np.nan_to_num(w[:, :, long])
    step = np.arange(w.shape[1])[:, None] * here
    centred = (step - step.sum(axis=0) / count[long]) * here
    level = values.sum(axis=1) / np.sqrt(count[long])
    slope = np.einsum("rti,ti->ri", values, centred / np.sqrt(np.square(centred).sum(axis=0)))
    return np.asarray(special.chdtrc(2 * int(long.sum()), np.square(level).sum(axis=1) + np.square(slope).sum(axis=1)))


def steps(w: Array) -> Array | None:
    """Test whether residuals are of the same size early and late: the ratio of two sums of squares is F."""
    count = np.isfinite(w[0]).sum(axis=1)
    total = np.cumsum(count)
    middle = int(np.searchsorted(total, total[-1] / 2)) + 1
    early, late = int(total[middle - 1]), int(total[-1] - total[middle - 1])
    if not (early and late):
        return None
    squares = np.nansum(w**2, axis=2)
    before, after = squares[:, :middle].sum(axis=1), squares[:, middle:].sum(axis=1)
    ratio = (after / late) / (before / early)
    return _two_sided(special.fdtr(late, early, ratio), special.fdtrc(late, early, ratio))


def tails(w: Array) -> Array | None:
    """Test whether tails are heavier or lighter than declared, whatever the size: Geary's Σ|w|/√(N Σw²)."""
    there = np.isfinite(w[0])
    N = int(there.sum())
    if N < _FEW:
        return None
    values = w[:, there]
    ratio = np.abs(values).sum(axis=1) / np.sqrt(N * np.square(values).sum(axis=1))
    mean, variance, skewness = _geary_moments(N)
    # A gamma law with these moments; it has its longer tail on the side of small ratios, those of heavy tails.
    shape, z = 4 / skewness**2, (mean - ratio) / np.sqrt(variance)
    place = np.maximum(shape + np.sqrt(shape) * z, 0.0)
    return _two_sided(special.gammainc(shape, place), special.gammaincc(shape, place))


def _geary_moments(N: int) -> tuple[float, float, float]:
    """Return mean, variance and skewness of Geary's ratio of N standard normal numbers."""
    if N > 1_000:
        # The differences below would cancel.
        return np.sqrt(2 / np.pi), (1 - 3 / np.pi) / N, -1.76 / np.sqrt(N)
    # The ratio is independent of Σw², so that moments of Σ|w| are divided by those of √(N Σw²).
    first = np.sqrt(2 / np.pi)
    sums = (
        N * first,
        N + N * (N - 1) * first**2,
        N * 2 * first + 3 * N * (N - 1) * first + N * (N - 1) * (N - 2) * first**3,
    )
    root = [np.exp(0.5 * k * np.log(2 * N) + special.gammaln((N + k) / 2) - special.gammaln(N / 2)) for k in (1, 2, 3)]
    m1, m2, m3 = (float(total / size) for total, size in zip(sums, root, strict=True))
    variance = m2 - m1**2
    return m1, variance, (m3 - 3 * m1 * variance - m1**3) / variance**1.5


def law(w: Array) -> Array | None:
    """Test the distribution of all residuals by Anderson and Darling's A²."""
    there = np.isfinite(w[0])
    N = int(there.sum())
    if N < _FEW:
        return None
    values = np.sort(w[:, there], axis=1)
    odd = 2 * np.arange(1, N + 1) - 1
    logs = special.log_ndtr(values) + special.log_ndtr(-values[:, ::-1])
    return _anderson_darling(-N - (logs @ odd) / N, N)


def _anderson_darling(A: Array, N: int) -> Array:
    """Return the probability of a larger A² of N uniform numbers."""
    z = np.clip(A, 1e-3, 8.0)
    low = np.polyval([0.00168691, -0.011672, 0.0347962, -0.0649821, 0.247105, 2.00012], np.minimum(z, 2.0))
    high = np.polyval([0.0003146, -0.008056, 0.082433, -0.43424, 2.30695, -1.0776], z)
    below = np.where(z < 2, np.exp(-1.2337141 / z) / np.sqrt(z) * low, np.exp(-np.exp(-high)))
    # Beyond, by the largest eigenvalue: A² is the sum of χ²_j/(j (j + 1)), and Π (1 − λ_j/λ_1) = 1/3.
    far = np.sqrt(3) * special.erfc(np.sqrt(np.maximum(A, 0.0)))
    return np.asarray(np.where(A < 6, np.clip(1 - below - _finite_correction(below, N), 0.0, 1.0), far))


def _finite_correction(x: Array, N: int) -> Array:
    c = 0.01265 + 0.1757 / N
    t = np.clip(x / c, 0.0, 1.0)
    lower = np.sqrt(t) * (1 - t) * (49 * t - 102) * (0.0037 / N**3 + 0.00078 / N**2 + 0.00006 / N)
    t = (x - c) / (0.8 - c)
    middle = np.polyval([1.91864, -8.259, 14.458, -14.6538, 6.54034, -0.00022633], t) * (0.04213 + 0.01365 / N) / N
    upper = np.polyval([255.7844, -1116.360, 1950.646, -1705.091, 745.2337, -130.2137], x) / N
    return np.where(x > 0.8, upper, np.where(x < c, lower, middle))


def _chi_squared(count: NDArray[np.int64] | int, squares: Array) -> tuple[Array, Array]:
    return special.chdtr(count, squares), special.chdtrc(count, squares)


def _two_sided(below: Array, above: Array) -> Array:
    return np.asarray(np.minimum(2 * np.minimum(below, above), 1.0))


class FitTest(NamedTuple):
    """A test: its function, and what a small p-value says."""

    test: Callable[[Array], Array | None]
    finding: str


TESTS: Mapping[str, FitTest] = {
    "size": FitTest(size, "the noise is larger or smaller than declared"),
    "agents": FitTest(agents, "the noise differs in size between agents beyond what is declared"),
    "outlier": FitTest(outlier, "the noise of one agent is larger or smaller than that of the others"),
    "lags": FitTest(lags, "noise is correlated in time in another way than declared"),
    "drift": FitTest(drift, "residuals of single agents drift, as with another network, stubbornness or pressure"),
    "steps": FitTest(steps, "residuals become larger or smaller over time, as with another pressure or time scale"),
    "tails": FitTest(tails, "tails of the noise are heavier or lighter than those of the declared law"),
    "law": FitTest(law, "the distribution of the noise is not the declared one"),
}


def holm(p: Array) -> Array:
    """Return p-values (…, m) adjusted for the m tests in a row: the smallest times m, the next times m − 1 and so on.

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3)
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, axis=-1)
    factors = np.arange(p.shape[-1], 0, -1)
    climbing = np.maximum.accumulate(np.take_along_axis(p, order, axis=-1) * factors, axis=-1)
    out = np.empty_like(p)
    np.put_along_axis(out, order, np.minimum(climbing, 1.0), axis=-1)
    return out
