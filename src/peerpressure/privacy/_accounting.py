"""Accounting: what each law of noise can and cannot promise, and how the losses of many draws add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft
from scipy.special import erfcx, ndtr

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.noise import Custom, Gaussian, Laplace, Noise, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.privacy._shifts import Shifts

# Gaussian differential privacy: how well two normal laws with shifted means can be distinguished.
#
# A release whose two inputs are no easier to distinguish than N(0, 1) and N(μ, 1) is μ-Gaussian private (Dong, Roth and
# Su, 2022). It is then (ε, δ)-private exactly where
#
#     δ ≥ Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
#
# (Balle and Wang, ICML 2018), and ρ-zero-concentrated private with ρ = μ²/2 (Bun and Steinke, 2016).

# More halvings than any bracket of doubles of moderate size needs; the loop ends earlier, at neighbouring doubles.
_HALVINGS = 200
# log of about the smallest positive double: where a tail probability underflows, its exact size no longer matters.
_LEAST_LOG = -745.0


def log_delta(mu: ArrayLike, epsilon: ArrayLike) -> Array:
    """Return log δ at this ε, accurate in both tails, −∞ for μ = 0.

    With a = μ/2 − ε/μ and b = a − μ both terms share the factor e^(−a²/2):
    δ = ½ e^(−a²/2) [erfcx(−a/√2) − erfcx(−b/√2)], where nothing overflows for a < 0.
    """
    m, e = np.broadcast_arrays(_not_negative(mu, "μ"), _not_negative(epsilon, "ε"))
    out = np.full(m.shape, -np.inf)
    # μ = 0 is perfect privacy and μ = ∞ none; both are limits in which the formula is 0/0 or ∞ − ∞.
    some = (m > 0) & (e < np.inf)
    out[some & np.isinf(m)] = 0.0
    some &= np.isfinite(m)
    out[some] = _inner_log_delta(m[some], e[some])
    return out


def _inner_log_delta(m: Array, e: Array) -> Array:
    """Return log δ for finite ε and μ, μ > 0."""
    a = m / 2 - e / m
    # erfcx is e^(x²)·erfc(x): scaled, it neither underflows nor needs the factor e^ε, which overflows from 710 on.
    second = 0.5 * erfcx((m - a) / np.sqrt(2))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # For a < 0 both terms are tiny, and the common factor moves out as a logarithm. For a ≥ 0 erfcx(−a) would
        # overflow, and Φ(a) is of order 1 and needs no scaling.
        tail = -(a**2) / 2 + np.log(0.5 * erfcx(-a / np.sqrt(2)) - second)
        body = np.log(ndtr(a) - np.exp(-(a**2) / 2) * second)
    return np.asarray(np.where(a < 0, tail, body))


def delta_of(mu: ArrayLike, epsilon: ArrayLike) -> Array:
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

    Raises
    ------
    InvalidInputError
        If μ or ε is negative, NaN or no number.

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


def epsilon_of(mu: ArrayLike, delta: float) -> Array:
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
        If μ is negative, NaN or no number, or δ is not strictly between 0 and 1.

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
    m = np.atleast_1d(_not_negative(mu, "μ"))
    target = np.log(checked_delta(delta))
    # The conversion from zCDP is an upper bound of ε, which brackets the root.
    high = epsilon_of_zcdp(m**2 / 2, delta)
    finite = np.isfinite(high)
    epsilon = np.where(finite, 0.0, np.inf)
    some = finite & (m > 0)
    inner = m[some]
    if inner.size:
        epsilon[some] = _falling_root(lambda e: _inner_log_delta(inner, e) - target, high[some])
    return epsilon.reshape(np.shape(mu))


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


def epsilon_of_zcdp(rho: ArrayLike, delta: float) -> Array:
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
        If ρ is negative, NaN or no number, or δ is not strictly between 0 and 1.

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
    r = _not_negative(rho, "ρ")
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


def _not_negative(values: ArrayLike, name: str) -> Array:
    """Return the values as an array if all are numbers of at least 0; ∞ is one."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    # A comparison with NaN is False, so NaN is refused, too.
    if not np.all(array >= 0):
        rule = f"{name} must be a number of at least 0"
        remedy = "pass 0 for perfect privacy, and inf for none"
        raise InvalidInputError(message(rule, got=repr(values)[:80], remedy=remedy))
    return array


def _falling_root(function: Callable[[Array], Array], high: Array) -> Array:
    """Return where falling functions on [0, high] first are ≤ 0, by bisection of all of them at once."""
    low, high = np.zeros_like(high), high.copy()
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # The bracket is down to neighbouring doubles.
        if not ((low < middle) & (middle < high)).any():
            break
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    # The upper end is returned, at which the bound is met; 0 is returned exactly where it is met there already.
    return np.where(function(np.zeros_like(high)) <= 0, 0.0, high)


# Many Laplace releases together: the law of their privacy loss, convolved numerically with an error bound.
#
# One release, moved by a in units of its scale, has the privacy loss L = log(p/q) with mass ½ at a, mass ½e^(−a) at −a
# and density ¼e^((ℓ−a)/2) between. For independent releases losses add, and
#
#     δ(ε) = E (1 − e^(ε−ΣL))₊.
#
# Each law is put on a grid by splitting mass between the two nearest points, which keeps its mean. The errors made are
# then independent, of mean zero and within one cell of width w each. By Hoeffding's inequality all T of
# them move the sum by more than r = w √(½T log(2/η)) with probability η at most (after Gopi, Lee and Wutschitz, NeurIPS
# 2021).

# The grid is so fine that ε is known to within this part of √(Σ a²), unless it would grow too large.
_TOLERANCE = 0.01
_SMALLEST, _LARGEST = 2**12, 2**20
# Rounding errors in the transforms are about 1e-12. They are additive in δ and must be small compared with it.
LEAST_DELTA = 1e-8


def basic(a: Array, counts: Array) -> float:
    """Return Σ a, the pure ε: losses can all be at their largest together."""
    return float(a @ counts)


def advanced(a: Array, counts: Array, delta: float) -> float:
    """Return ε = Σ a tanh(a/2) + √(2 log(1/δ) Σ a²), for any pure private releases (Kairouz, Oh and Viswanath 2015)."""
    if not np.isfinite(a).all():
        return math.inf
    return float(counts @ (a * np.tanh(a / 2)) + math.sqrt(2 * math.log(1 / delta) * (counts @ a**2)))


def epsilon_between(a: Array, counts: Array, delta: float) -> tuple[float, float]:
    """Return two bounds of the smallest ε at this δ for releases moved by ``a``, each ``counts`` times.

    They hold up to rounding in the transforms; for δ below 1e-8 they are 0 and what composition gives.

    >>> low, high = epsilon_between(np.array([0.1]), np.array([100.0]), 1e-5)
    >>> round(low, 2), round(high, 2)
    (4.21, 4.23)
    """
    if not a.size:
        return 0.0, 0.0
    # Composition bounds hold rigorously for any δ; the numerical result must not exceed them.
    ceiling = min(basic(a, counts), advanced(a, counts, delta))
    if delta < LEAST_DELTA or not math.isfinite(ceiling):
        return (0.0 if math.isfinite(ceiling) else math.inf), ceiling
    if counts.sum() == 1:
        exact = _one_release(float(a[0]), delta)
        return exact, exact
    # The probability that grid errors exceed `error`, and that the sum leaves the grid. Both are charged to δ, at 0.2
    # %.
    doubt = delta * 1e-3
    losses, masses, error = _summed(a, counts, doubt)
    low = _epsilon_at(losses, masses, delta + 2 * doubt) - error
    high = _epsilon_at(losses, masses, delta - 2 * doubt) + error
    # At a δ above the total variation even ε < 0 would hold; privacy asks for no less than 0.
    return max(low, 0.0), max(min(high, ceiling), 0.0)


def _one_release(a: float, delta: float) -> float:
    """Return ε of a single release: δ(ε) = 1 − e^((ε−a)/2) for 0 ≤ ε ≤ a."""
    return max(a + 2 * math.log1p(-delta), 0.0)


def _summed(a: Array, counts: Array, doubt: float) -> tuple[Array, Array, float]:
    """Return the summed loss on a grid, its masses, and how far it may be off with probability 1 − doubt."""
    total, spread = float(counts.sum()), math.sqrt(float(counts @ a**2))
    # Losses lie in [−a, a], which bounds how far their sum is from its mean with probability 1 − doubt.
    tail = math.sqrt(2 * math.log(2 / doubt)) * spread
    mean = float(counts @ (a + np.expm1(-a)))
    largest = float(counts @ a)
    half = min(tail, largest + abs(mean))
    # Hoeffding's bound in units of a cell, as in the comment above.
    cells = math.sqrt(total / 2 * math.log(2 / doubt))
    # From the wanted error width·cells ≤ tolerance·spread; clipped, because many releases must take a bounded time.
    size = fft.next_fast_len(int(np.clip(2 * half * cells / (_TOLERANCE * spread), _SMALLEST, _LARGEST)), real=True)
    # 1 % and a few cells of margin keep mass split to neighbouring points from wrapping around to the other end.
    width = 2.02 * half / (size - 4)
    transform = np.ones(size // 2 + 1, dtype=np.complex128)
    for step, count in zip(a, counts, strict=True):
        one = fft.rfft(_on_grid(float(step), width, size))
        # Independent losses add, so transforms multiply. A complex power costs more than the transform itself.
        transform *= one if count == 1 else one**count
    # The circular grid is unrolled around the mean, where the mass is.
    first = math.floor(mean / width) - size // 2
    masses = np.roll(fft.irfft(transform, size), -(first % size))
    return (first + np.arange(size)) * width, np.maximum(masses, 0.0), cells * width


def _on_grid(a: float, width: float, size: int) -> Array:
    """Return the masses of one release's loss on the grid 0, w, 2w, …, wrapped around, with its mean kept."""
    masses = np.zeros(size)
    inner = np.arange(math.ceil(-a / width), math.floor(a / width) + 1) * width
    # Cut at the grid points: every piece lies in one cell, and its mass goes to the two ends of that cell.
    edges = np.concatenate([[-a], inner[(inner > -a) & (inner < a)], [a]])
    pieces = np.diff(edges)
    # expm1, since pieces are short and the difference of two exponentials would cancel.
    weights = 0.5 * np.exp((edges[:-1] - a) / 2) * np.expm1(pieces / 2)
    places = edges[:-1] + pieces * _centre(pieces)
    for place, mass in ((places, weights), (np.array([-a, a]), np.array([0.5 * math.exp(-a), 0.5]))):
        cell = np.floor(place / width)
        upper = place / width - cell
        below = cell.astype(np.int64)
        # add.at and not +=, which would drop repeated indices.
        np.add.at(masses, below % size, mass * (1 - upper))
        np.add.at(masses, (below + 1) % size, mass * upper)
    return masses


def _centre(pieces: Array) -> Array:
    """Return where in an interval of this length the mass of the density ∝ e^(ℓ/2) has its mean, between 0 and 1."""
    # Series for short pieces, where −1/expm1 and 2/x are large and cancel; its error is of order x³.
    small = pieces < 1e-2
    safe = np.where(small, 1.0, pieces)
    return np.where(small, 0.5 + pieces / 24, -1 / np.expm1(-safe / 2) - 2 / safe)


def _epsilon_at(losses: Array, masses: Array, delta: float) -> float:
    """Return the smallest ε at which E(1 − e^(ε−L))₊ is at most δ, for a loss on a grid.

    Between two grid points δ(ε) = M − e^ε·N, with M = Σ p and N = Σ p e^(−ℓ) over the losses above ε.
    """
    above = np.cumsum(masses[::-1])[::-1]
    with np.errstate(divide="ignore"):
        weighted = np.log(masses) - losses
    # In logarithms, since the exponential of a large loss overflows.
    discounted = np.exp(np.logaddexp.accumulate(weighted[::-1])[::-1] + losses)
    short = above - discounted <= delta
    if not short.any():
        return math.inf
    # δ(ε) decreases in ε, so the first grid point that meets it brackets the root with its predecessor.
    k = int(np.argmax(short))
    if k == 0:
        return float(losses[0])
    # ε lies between points k − 1 and k, where the losses from k on count.
    ratio = (above[k] - delta) / discounted[k] if discounted[k] > 0 else 1.0
    return float(losses[k] + math.log(ratio)) if ratio > 0 else float(losses[k - 1])


# What each law of noise can and cannot promise; one row of ``PROMISES`` for each.
#
# A promise is valid for every pair of opinions at most Δ apart. Fisher information is not one: it describes how well an
# observer can estimate on average, without a bound on the worst case.

Columns: TypeAlias = dict[str, Array]


@final
@dataclass(frozen=True)
class Promise:
    """How one law turns shifts into privacy.

    ``account(moved, sensitivity, delta, noise)`` returns named columns with one number for each agent, ``epsilon``
    always among them: the smallest ε known to hold, inf if none does, nan if nothing is known.
    """

    account: Callable[[Shifts, float, float, Noise], Columns]
    text: str


def _gaussian(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    mu = sensitivity * np.sqrt(moved.squares)
    # Agents of equal degree and noise have equal μ; the bisection runs once for each distinct value.
    distinct, where = np.unique(mu, return_inverse=True)
    return {"mu": mu, "zcdp": mu**2 / 2, "epsilon": epsilon_of(distinct, delta)[where]}


def _laplace(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    """Account for Laplace noise draw by draw; ``epsilon_low`` is a bound from below where the shifts are exact."""

    def account(values: Array, counts: Array) -> tuple[float, ...]:
        # Laplace noise of unit std has scale 1/√2.
        a = math.sqrt(2) * sensitivity * values
        bounds = epsilon_between(a, counts, delta)
        return basic(a, counts), advanced(a, counts, delta), *bounds

    names = ("epsilon_basic", "epsilon_advanced", "epsilon_low", "epsilon")
    return dict(zip(names, _each_agent(moved, account), strict=True))


def _student(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    """Account for Student's t, whose loss at a shift h is at most (ν + 1) arsinh(h/(2√(ν − 2)))."""
    df = noise.shape

    def account(values: Array, counts: Array) -> tuple[float, ...]:
        a = (df + 1) * np.arcsinh(sensitivity * values / (2 * math.sqrt(df - 2)))
        simple, strong = basic(a, counts), advanced(a, counts, delta)
        return simple, strong, min(simple, strong)

    names = ("epsilon_basic", "epsilon_advanced", "epsilon")
    return dict(zip(names, _each_agent(moved, account), strict=True))


def _uniform(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    """Account for bounded noise: with probability Π(1 − hΔ/2√3) nothing is revealed, else everything ε counts."""

    def account(values: Array, counts: Array) -> tuple[float]:
        # Uniform noise of unit std has width 2√3; outside of the overlap one of the two opinions is impossible.
        overlap = np.maximum(1 - sensitivity * values / (2 * math.sqrt(3)), 0.0)
        with np.errstate(divide="ignore"):
            # 1 − Π overlap by logarithms, precise for small shifts.
            return (-math.expm1(float(counts @ np.log(overlap))),)

    (reached,) = _each_agent(moved, account)
    return {"epsilon": np.where(reached <= delta, 0.0, np.inf), "delta_needed": reached}


def _nothing(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    # Nothing is revealed about an agent that no observation depends on.
    some = moved.squares > 0
    return {"epsilon": np.where(some, np.inf, 0.0), "delta_needed": some.astype(np.float64)}


def _unknown(moved: Shifts, sensitivity: float, delta: float, noise: Noise) -> Columns:
    return {"epsilon": np.where(moved.squares > 0, np.nan, 0.0)}


def _each_agent(moved: Shifts, account: Callable[[Array, Array], tuple[float, ...]]) -> Array:
    """Return the accounts of all agents, (numbers, agents), each distinct list of moves being computed once."""
    accounts: dict[bytes, tuple[float, ...]] = {}
    rows = []
    for agent in range(moved.count):
        values, counts = moved.shifts(agent)
        # Rounding to 12 digits makes equal agents equal whatever the order of their sums.
        key = np.array([f"{value:.12g}" for value in values]).tobytes() + counts.tobytes()
        if key not in accounts:
            accounts[key] = account(values, counts)
        rows.append(accounts[key])
    return np.array(rows).T


PROMISES: Mapping[type[Noise], Promise] = MappingProxyType(
    {
        Gaussian: Promise(
            _gaussian, "In real arithmetic, μ-Gaussian privacy, and from it zCDP and the smallest ε at this δ."
        ),
        Laplace: Promise(
            _laplace,
            "Pure ε by basic composition; at this δ, epsilon is safe, and no ε below epsilon_low, if given, holds.",
        ),
        StudentT: Promise(
            _student,
            "Pure ε by basic composition, and an ε at this δ by advanced composition; both hold, neither is smallest.",
        ),
        Uniform: Promise(
            _uniform,
            "Bounded noise has ε = 0 from δ = delta_needed on. Below, no finite ε is known: opinions may be ruled out.",
        ),
        Rademacher: Promise(
            _nothing, "A coin hides nothing: of two opinions, most often only one can have led to what is seen."
        ),
        NoNoise: Promise(_nothing, "Without noise everything is told."),
        Custom: Promise(
            _unknown,
            "Nothing is promised: the Fisher information of this law bounds estimation, not the worst case, so no ε.",
        ),
    }
)


def promise_of(noise: Noise) -> Promise:
    """Return what the law of this noise promises."""
    # By exact type: a subclass may change the law, and a guarantee must not be inherited unchecked.
    if type(noise) not in PROMISES:
        rule = f"privacy is known for {', '.join(law.__name__ for law in PROMISES)} noise"
        raise InvalidInputError(message(rule, got=type(noise).__name__, remedy="wrap the law as Custom(distribution)"))
    return PROMISES[type(noise)]
