"""Gaussian differential privacy: how well two normal laws with shifted means can be distinguished.

A release whose two inputs are no easier to distinguish than N(0, 1) and N(μ, 1) is μ-Gaussian private (Dong, Roth and
Su, 2022). It is then (ε, δ)-private exactly where

    δ ≥ Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)

(Balle and Wang, ICML 2018), and ρ-zero-concentrated private with ρ = μ²/2 (Bun and Steinke, 2016).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Vector

# More halvings than any bracket of doubles of moderate size needs; the loop ends earlier, at neighbouring doubles.
_HALVINGS = 200
# log of about the smallest positive double: where a tail probability underflows, its exact size no longer matters.
_LEAST_LOG = -745.0


def log_delta(mu: ArrayLike, epsilon: ArrayLike) -> Vector:
    """Return log δ at this ε, accurate in both tails, −∞ for μ = 0.

    With a = μ/2 − ε/μ and b = a − μ both terms share the factor e^(−a²/2):
    δ = ½ e^(−a²/2) [erfcx(−a/√2) − erfcx(−b/√2)], where nothing overflows for a < 0.
    """
    m, e = np.broadcast_arrays(np.asarray(mu, dtype=np.float64), np.asarray(epsilon, dtype=np.float64))
    out = np.full(m.shape, -np.inf)
    # μ = 0 is perfect privacy and μ = ∞ none; both are limits in which the formula is 0/0 or ∞ − ∞.
    some = (m > 0) & (e < np.inf)
    out[some & np.isinf(m)] = 0.0
    some &= np.isfinite(m)
    m, e = m[some], e[some]
    a = m / 2 - e / m
    # erfcx is e^(x²)·erfc(x): scaled, so that it neither underflows nor needs the factor e^ε, which overflows from 710
    # on.
    second = 0.5 * erfcx((m - a) / np.sqrt(2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # For a < 0 both terms are tiny, and the common factor moves out as a logarithm. For a ≥ 0 erfcx(−a) would
        # overflow, and Φ(a) is of order 1 and needs no scaling.
        tail = -(a**2) / 2 + np.log(0.5 * erfcx(-a / np.sqrt(2)) - second)
        body = np.log(ndtr(a) - np.exp(-(a**2) / 2) * second)
    out[some] = np.where(a < 0, tail, body)
    return out


def delta_of(mu: ArrayLike, epsilon: ArrayLike) -> Vector:
    """Return the smallest δ for which μ-Gaussian privacy is (ε, δ)-private.

    Parameters
    ----------
    mu : array_like
        The μ ≥ 0 of Gaussian differential privacy; ∞ is no privacy.
    epsilon : array_like
        The ε ≥ 0, of a shape that broadcasts with ``mu``.

    Returns
    -------
    numpy.ndarray
        The probability Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), accurate also where it is tiny.

    See Also
    --------
    epsilon_of : The ε at a given δ.

    References
    ----------
    .. [1] B. Balle and Y.-X. Wang (2018), "Improving the Gaussian mechanism for differential privacy: analytical
       calibration and optimal denoising", International Conference on Machine Learning.

    Examples
    --------
    >>> from peerpressure.privacy import delta_of
    >>> round(float(delta_of(1.0, 0.0)), 12)  # 2Φ(½) − 1, the total variation
    0.382924922548
    """
    return np.exp(np.maximum(log_delta(mu, epsilon), _LEAST_LOG))


def epsilon_of(mu: ArrayLike, delta: float) -> Vector:
    """Return the smallest ε for which μ-Gaussian privacy is (ε, δ)-private; inf for μ = inf.

    Parameters
    ----------
    mu : array_like
        The μ ≥ 0 of Gaussian differential privacy.
    delta : float
        The failure probability δ, strictly between 0 and 1.

    Returns
    -------
    numpy.ndarray
        The ε ≥ 0 of each μ, rounded up to the next double: 0 where δ is at least the total variation 2Φ(μ/2) − 1.

    Raises
    ------
    InvalidInputError
        If δ is not strictly between 0 and 1.

    See Also
    --------
    delta_of : The δ at a given ε.
    mu_of : The μ of an (ε, δ).

    Examples
    --------
    >>> from peerpressure.privacy import epsilon_of
    >>> round(float(epsilon_of(1.0, 1e-5)), 4)
    4.3772
    """
    m = np.atleast_1d(np.asarray(mu, dtype=np.float64))
    target = np.log(checked_delta(delta))
    # The conversion from zCDP is an upper bound of ε, which brackets the root.
    high = epsilon_of_zcdp(m**2 / 2, delta)
    finite = np.isfinite(high)
    found = np.full(m.shape, np.inf)
    found[finite] = _falling_root(lambda e: log_delta(m[finite], e) - target, high[finite])
    return found.reshape(np.shape(mu))


def mu_of(epsilon: float, delta: float) -> float:
    """Return the largest μ for which μ-Gaussian privacy is (ε, δ)-private.

    Parameters
    ----------
    epsilon : float
        The ε, above 0.
    delta : float
        The failure probability δ, strictly between 0 and 1.

    Returns
    -------
    float
        The μ, rounded down.

    Raises
    ------
    InvalidInputError
        If ε is not above 0, or δ is not strictly between 0 and 1.

    See Also
    --------
    epsilon_of : The ε of a μ at δ.

    Examples
    --------
    >>> from peerpressure.privacy import mu_of
    >>> round(mu_of(4.3772, 1e-5), 4)
    1.0
    """
    checked_epsilon(epsilon)
    target = np.log(checked_delta(delta))
    high = 1.0
    # δ increases to 1 with μ, so the doubling ends for every δ < 1.
    while log_delta(high, epsilon) < target:
        high *= 2
    # The smaller μ, the smaller δ: counted down from the top of the bracket it falls.
    # The root is approached from the side where δ ≤ target, so μ is rounded down and the guarantee stays valid.
    down = _falling_root(lambda x: log_delta(high - x, epsilon) - target, np.array(high))
    return float(high - down)


def epsilon_of_zcdp(rho: ArrayLike, delta: float) -> Vector:
    """Return the ε of the simple conversion from ρ-zCDP, ρ + 2√(ρ log(1/δ)), which is never too small.

    Parameters
    ----------
    rho : array_like
        The ρ ≥ 0 of zero-concentrated differential privacy.
    delta : float
        The failure probability δ, strictly between 0 and 1.

    Returns
    -------
    numpy.ndarray
        An ε that holds at δ; for Gaussian noise `epsilon_of` gives the smallest one.

    Raises
    ------
    InvalidInputError
        If δ is not strictly between 0 and 1.

    See Also
    --------
    epsilon_of : The smallest ε of Gaussian privacy.

    References
    ----------
    .. [1] Bun & Steinke (2016), Concentrated differential privacy. TCC 2016-B.

    Examples
    --------
    >>> from peerpressure.privacy import epsilon_of_zcdp
    >>> round(float(epsilon_of_zcdp(0.5, 1e-5)), 4)
    5.2985
    """
    r = np.asarray(rho, dtype=np.float64)
    return np.asarray(r + 2 * np.sqrt(r * np.log(1 / checked_delta(delta))))


def checked_delta(delta: float) -> float:
    """Return δ if it is a probability strictly between 0 and 1."""
    if not (isinstance(delta, (int, float, np.number)) and 0 < delta < 1):
        remedy = "pass a small one, such as 1e-5"
        raise InvalidInputError(message("δ must lie strictly between 0 and 1", got=repr(delta), remedy=remedy))
    return float(delta)


def checked_epsilon(epsilon: float) -> float:
    """Return ε if it is a positive number."""
    return positive(epsilon, "ε")


def positive(value: float, name: str) -> float:
    """Return the value if it is a finite number above 0."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
        rule = f"{name} must be a finite number above 0"
        raise InvalidInputError(message(rule, got=repr(value), remedy="pass such a number"))
    return float(value)


def _falling_root(function: Callable[[Vector], Vector], high: Vector) -> Vector:
    """Return where falling functions on [0, high] first are ≤ 0, by bisection of all of them at once."""
    low, high = np.zeros_like(high), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The bracket is down to neighbouring doubles.
        if not np.any((low < middle) & (middle < high)):
            break
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    # The upper end is returned, at which the bound is met; 0 is returned exactly where it is met there already.
    return np.where(function(np.zeros_like(high)) <= 0, 0.0, high)
