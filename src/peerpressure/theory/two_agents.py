"""Closed forms for two agents on K₂ with s = w = 1 and ρ_t = t.

The public state is y_T = Q_T x₀ + e_T with Q_0 = I, Q_T = (I + T J Q_{T−1})/(T + 1) and J the exchange of the agents.
Functions that begin with ``printed`` give the published expressions where these differ from the true ones.

References
----------
.. [1] C. Griffin, A. Squicciarini, F. Jia, "Consensus in Complex Networks with Noisy Agents and Peer Pressure".
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.support.parameters import whole

Matrix: TypeAlias = NDArray[np.float64]

# The series is ½ Σ_{k≥1} 1/(2k + 1)², and the sum from k = 0 on is π²/8.
SERIES_LIMIT = (np.pi**2 - 8) / 16


def coefficients(T: int) -> Matrix:
    """Return Q_T, the weights of both hidden opinions in both public ones.

    T even: own (T/2 + 1)/(T + 1), other (T/2)/(T + 1).  T odd: both 1/2.

    Parameters
    ----------
    T : int
        The number of steps, at least 0.

    Returns
    -------
    array of shape (2, 2)
        Row i has the weights in the public opinion of agent i.

    See Also
    --------
    gram : Sum of their products over time.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import coefficients
    >>> coefficients(2)
    array([[0.66666667, 0.33333333],
           [0.33333333, 0.66666667]])
    """
    whole(T, "T", least=0)
    own = 0.5 if T % 2 else (T / 2 + 1) / (T + 1)
    return np.array([[own, 1 - own], [1 - own, own]])


def series(T: int) -> float:
    """Return Σ_{k=1}^{⌊T/2⌋} 2/(2 + 4k)², to which only even times contribute.

    Parameters
    ----------
    T : int
        The number of steps, at least 1.

    Returns
    -------
    float
        The sum.

    See Also
    --------
    series_limit : Its limit for T → ∞.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import series
    >>> series(3) == 2 / 36
    True
    """
    whole(T, "T", least=1)
    return _series(T // 2)


def series_limit() -> float:
    """Return the limit (π² − 8)/16 of ``series``.

    Returns
    -------
    float
        About 0.117.

    See Also
    --------
    series : The sum up to T.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import series_limit
    >>> round(series_limit(), 6)
    0.11685
    """
    return SERIES_LIMIT


def gram(T: int) -> Matrix:
    """Return Σ_{t=1}^T Q_tᵀQ_t = T/2·[[1, 1], [1, 1]] + series(T)·[[1, −1], [−1, 1]].

    Parameters
    ----------
    T : int
        The number of steps, at least 1.

    Returns
    -------
    array of shape (2, 2)
        The Gram matrix of the regression on hidden opinions.

    See Also
    --------
    gram_inverse_limit : The limit of its inverse.
    printed_gram : The published one.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import gram
    >>> gram(1)
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    return _gram(T, series(T))


def gram_inverse_limit() -> Matrix:
    """Return the limit 4/(π² − 8)·[[1, −1], [−1, 1]] of the inverse of ``gram``.

    Returns
    -------
    array of shape (2, 2)
        The limit.

    See Also
    --------
    gram : The matrix after T steps.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import gram_inverse_limit
    >>> gram_inverse_limit().round(4)
    array([[ 2.1395, -2.1395],
           [-2.1395,  2.1395]])
    """
    return 4 / (np.pi**2 - 8) * _contrast()


def printed_gram(T: int) -> Matrix:
    """Return the published Σ Q_tᵀQ_t, whose series runs to T instead of ⌊T/2⌋; its limit is the same.

    Parameters
    ----------
    T : int
        The number of steps, at least 1.

    Returns
    -------
    array of shape (2, 2)
        The published matrix.

    See Also
    --------
    gram : The true one.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import gram, printed_gram
    >>> (printed_gram(2) - gram(2)).round(4)
    array([[ 0.02, -0.02],
           [-0.02,  0.02]])
    """
    whole(T, "T", least=1)
    return _gram(T, _series(T))


def error_variance(T: int, std: float = 1.0) -> float:
    """Return Var e_T = σ²·T/(T + 1)², the same for both agents and for T even or odd.

    Parameters
    ----------
    T : int
        The number of steps, at least 1.
    std : float, default 1.0
        The standard deviation σ of the noise.

    Returns
    -------
    float
        The variance of either public opinion.

    Raises
    ------
    InvalidInputError
        If T is not a whole number of at least 1, or ``std`` is negative or not finite.

    See Also
    --------
    printed_error_variance : The published variances.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import error_variance
    >>> error_variance(1), error_variance(3, std=2)
    (0.25, 0.75)
    """
    whole(T, "T", least=1)
    if not 0 <= std < np.inf:
        rule = "a standard deviation must be finite and not negative"
        raise InvalidInputError(message(rule, got=std, remedy="use 0 for no noise"))
    return float(std**2 * T / (T + 1) ** 2)


def printed_error_variance(T: int) -> tuple[float, float]:
    """Return the published variances of both agents' errors for σ = 1; they are too small.

    T even: T/(2(T + 1)²) for both.  T odd: ⌈T/2⌉/(T + 1)² and ⌊T/2⌋/(T + 1)², whose sum is the true one of each.

    Parameters
    ----------
    T : int
        The number of steps, at least 1.

    Returns
    -------
    first : float
        Published variance of the first agent.
    second : float
        Published variance of the second agent.

    See Also
    --------
    error_variance : The true variance of either agent.

    Examples
    --------
    >>> from peerpressure.theory.two_agents import error_variance, printed_error_variance
    >>> printed_error_variance(3), error_variance(3)
    ((0.125, 0.0625), 0.1875)
    """
    whole(T, "T", least=1)
    return (T + 1) // 2 / (T + 1) ** 2, T // 2 / (T + 1) ** 2


def _series(terms: int) -> float:
    k = np.arange(1, terms + 1, dtype=np.float64)
    return float(np.sum(2 / (2 + 4 * k) ** 2))


def _gram(T: int, c: float) -> Matrix:
    return T / 2 * np.ones((2, 2)) + c * _contrast()


def _contrast() -> Matrix:
    return np.array([[1.0, -1.0], [-1.0, 1.0]])
