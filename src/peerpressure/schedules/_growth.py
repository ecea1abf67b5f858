"""Growth of a schedule: proved by its envelope, or estimated from values at very large t.

Consensus depends on three facts: whether ρ_t is bounded, whether Σ 1/ρ_t diverges (which reaching the consensus value
requires) and whether Σ 1/ρ_t² diverges (noise averages out if it converges).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from peerpressure.formula import Expression
from peerpressure.immutable import one_line
from peerpressure.schedules._envelopes import Envelope, Sum, decided, envelope_of

Array = NDArray[np.float64]

# log t at the horizon of an estimate: t = 1e300 first, nearer where the formula leaves the range of doubles.
FARTHEST = math.log(1e300)
NEAREST = math.log(1e5)
# Only formulas that leave the range of doubles sooner, such as exp(t), are judged by values this near.
NEAREST_OF_FAST = math.log(3.0)
# An overflow after this t may be that of an intermediate result, such as t^2 in t^2/t.
WITHIN_REACH = math.log(1e30)
# Where doubles come close to overflow, or to underflow with its loss of digits.
LARGEST_LOG = 700.0
# Rounding error of a local exponent; smaller changes are not significant.
NOISE = 1e-8
STEPS_PER_HALVING = 16


@one_line
@dataclass(frozen=True)
class Growth:
    """Growth of ρ_t as t → ∞; None if it is not known.

    Parameters
    ----------
    bounded : bool or None
        Whether ρ_t is bounded.
    reciprocal_sum_diverges, square_sum_diverges : bool or None
        Whether Σ 1/ρ_t and Σ 1/ρ_t² diverge.
    basis : str
        Reason, in one sentence.
    exponent : float, optional
        Power p where ρ_t ~ t^p.
    slope : float, optional
        Factor c where ρ_t ~ c·t.
    limit : float, optional
        Limit of ρ_t, which may be 0 or ∞; None if it has none, or none is known.
    estimated : bool, default False
        Whether the facts are estimated from values of ρ_t rather than proved.
    envelope : Envelope, optional
        Bounds of ρ_t from some t on, if they are known.

    See Also
    --------
    estimate_growth : Growth of a schedule that is known by its values only.
    theory.regime_of : What the growth means for consensus.

    Examples
    --------
    >>> from peerpressure.schedules import Power
    >>> growth = Power(1.5).growth
    >>> growth.reciprocal_sum_diverges, growth.exponent
    (False, 1.5)
    """

    bounded: bool | None
    reciprocal_sum_diverges: bool | None
    square_sum_diverges: bool | None
    basis: str
    exponent: float | None = None
    slope: float | None = None
    limit: float | None = None
    estimated: bool = False
    envelope: Envelope | None = field(default=None, repr=False, compare=False)

    @property
    def is_regular(self) -> bool:
        """Whether ρ_t follows one smooth curve, rather than oscillating between the bounds of its envelope."""
        # Estimates are made of smooth formulas only.
        return self.envelope is None or self.estimated or self.envelope.lower.lead == self.envelope.upper.lead


def growth_within(envelope: Envelope) -> Growth | None:
    """Return the growth of a function ≥ 0 that lies in an envelope; None if it is negative from some t on."""
    # A value that may be negative by the envelope is not, or the schedule would be illegal.
    lower, upper = _not_negative(envelope.lower), envelope.upper
    if upper.sign < 0:
        return None
    bounded = True if upper.growth <= 0 else False if lower.growth > 0 else None
    (m, c), is_asymptotic = upper.lead, lower.lead == upper.lead
    powers = m.powers if is_asymptotic and upper.terms and not m.exponent and not any(m.powers[1:]) else None
    return Growth(
        bounded=bounded,
        reciprocal_sum_diverges=_sum_over(lower, upper, 1),
        square_sum_diverges=_sum_over(lower, upper, 2),
        basis=_range_text(lower, upper, is_asymptotic=is_asymptotic),
        exponent=None if powers is None else powers[0],
        slope=c if powers is not None and powers[0] == 1 else None,
        limit=lower.limit if lower.limit == upper.limit else None,
        envelope=envelope,
    )


def growth_of_ratio(over: Growth, under: Growth, power: float = 1.0) -> Growth | None:
    """Return the proved growth of f/g^power from those of f and g, None if their envelopes do not decide it.

    Parameters
    ----------
    over, under : Growth
        Growth of f and of g.
    power : float, default 1.0
        Power of g.

    Returns
    -------
    Growth or None
        Growth of f/g^power, proved.

    See Also
    --------
    Schedule.growth : Growth of a schedule.

    Examples
    --------
    >>> from peerpressure import Linear, Power
    >>> from peerpressure.schedules import growth_of_ratio
    >>> growth_of_ratio(Power(2).growth, Linear(3).growth).slope
    0.333...
    """
    first, second = over.envelope, under.envelope
    if first is None or second is None:
        return None
    return decided(lambda: growth_within(first * second**-power))


def _not_negative(bound: Sum) -> Sum:
    return bound if bound.sign > 0 else Sum()


def _sum_over(lower: Sum, upper: Sum, power: int) -> bool | None:
    """Return whether Σ 1/ρ^power diverges for every ρ between two bounds, None if that depends on ρ."""
    if upper.reciprocal_sum_diverges(power):
        return True
    return None if lower.reciprocal_sum_diverges(power) else False


def _range_text(lower: Sum, upper: Sum, *, is_asymptotic: bool) -> str:
    if is_asymptotic and upper.growth == 0:
        return f"ρ_t tends to {upper}"
    if is_asymptotic:
        return (
            f"ρ_t grows like {upper}" if upper.growth > 0 else f"ρ_t falls like {upper}" if upper.terms else "ρ_t is 0"
        )
    return f"ρ_t stays between {lower} and {upper} from some t on"


@dataclass(frozen=True)
class _Tail:
    """Local exponents p = d log ρ / d log t on the way to a horizon; u = log t falls from U to U/4."""

    u: Array
    log_rho: Array
    exponents: Array

    def at(self, halvings: int) -> tuple[float, float]:
        """Return u and p at U, U/2 or U/4."""
        index = halvings * STEPS_PER_HALVING
        return float(self.u[index]), float(self.exponents[index])


# Steps from the first on whose values are checked.
PROBED = 10_000


def growth_of(expression: Expression) -> Growth:
    """Return the growth of a formula, proved by its envelope as far as possible, and else estimated.

    Parameters
    ----------
    expression : Expression
        A formula in t.

    Returns
    -------
    Growth
        Facts of the growth, unknown if the formula is illegal at one of the first steps.
    """
    times = np.arange(1.0, PROBED + 1)
    rho = expression(times)
    if not np.all(rho >= 0):
        return _unknown(f"ρ_t is not a number ≥ 0 at t = {times[~(rho >= 0)][0]:.0f}")
    envelope = envelope_of(expression)
    proved = None if envelope is None else decided(lambda: growth_within(envelope))
    if proved is not None and None not in (proved.bounded, proved.reciprocal_sum_diverges, proved.square_sum_diverges):
        return proved
    estimate = estimate_growth(expression)
    if proved is None:
        return estimate
    if estimate.bounded is None:
        # Oscillation between bounds of different growth, about which values say no more.
        return proved
    facts = ("bounded", "reciprocal_sum_diverges", "square_sum_diverges")
    known = {name: getattr(proved, name) for name in facts if getattr(proved, name) is not None}
    return replace(estimate, **known, envelope=envelope)


def estimate_growth(pressure: Callable[[Array], Array]) -> Growth:
    """Estimate the growth of ρ_t from its local exponent p(t) = d log ρ / d log t at very large t.

    Σ 1/ρ_t diverges if p tends to a limit below 1 and converges if above. At the border p → 1 Bertrand's test applies:
    for ρ ~ t (log t)^q the sum diverges exactly if q = (p − 1) log t tends to at most 1, and likewise one logarithm
    further. Local exponents of arithmetic with exp and log are eventually monotone; where they are not (oscillation,
    rounding), the growth is unknown.

    Parameters
    ----------
    pressure : callable
        Function of an array of times that returns ρ_t ≥ 0 in its shape.

    Returns
    -------
    Growth
        Estimated facts; None for those that are not known.

    See Also
    --------
    Growth : Facts on the growth of ρ_t.

    References
    ----------
    .. [1] Hardy (1910), Orders of Infinity, Cambridge University Press.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.schedules import estimate_growth
    >>> growth = estimate_growth(lambda t: t * np.log(1 + t))
    >>> growth.reciprocal_sum_diverges, growth.square_sum_diverges
    (True, False)
    """
    # Runs of neighbouring t, which reveal a dependence on parity and the like; powers of ten do not.
    runs = np.add.outer(10.0 ** np.arange(3, 16), np.arange(64.0))
    rho = pressure(runs)
    if not np.all(rho >= 0):
        return _unknown(f"ρ_t is not a number ≥ 0 at t = {runs[~(rho >= 0)][0]:.0f}")
    if np.all(rho == 0):
        basis = "estimated: ρ_t is 0 at every t probed from 1e3 on"
        return Growth(True, True, True, basis=basis, limit=0.0, estimated=True)
    # Local exponents sample ρ at distant points, and assume that it is smooth in between.
    if _is_rough(pressure):
        return _unknown("neighbouring values of ρ_t differ by more than a smooth growth allows")
    tail = _find_tail(pressure)
    if tail is None:
        return _unknown("the local exponent of ρ_t does not settle within the range of doubles")
    (_, p), (_, p_middle) = tail.at(0), tail.at(1)
    # A power law has a constant local exponent; a logarithmic factor changes it by 1/log t, far above rounding.
    is_power = abs(p - p_middle) <= 1e-9 * abs(p) + 1e-12
    horizon = np.exp(tail.u[:1])
    # Rounding gives 0.9999999999 for an exponent of 1.
    exponent = round(p, 6) + 0.0 if is_power else None
    return Growth(
        bounded=_is_bounded(tail),
        reciprocal_sum_diverges=_sum_diverges(tail, 1),
        square_sum_diverges=_sum_diverges(tail, 2),
        basis=f"estimated from values at large t: {_growth_text(exponent, sorted((p, p_middle)), _limit(tail))}",
        exponent=exponent,
        slope=float(pressure(horizon)[0] / horizon[0]) if exponent == 1 else None,
        limit=_limit(tail),
        estimated=True,
    )


def _growth_text(exponent: float | None, bounds: Sequence[float], limit: float | None) -> str:
    if limit is not None:
        return f"ρ_t tends to {limit:.4g}"
    if exponent is not None:
        return f"ρ_t is proportional to t^{exponent:.4g}" if exponent else "ρ_t stays bounded"
    # One decimal place of a small exponent would hide that it is not 0.
    return "there ρ_t grows between t^{:.3g} and t^{:.3g}".format(*bounds)


def _unknown(why: str) -> Growth:
    return Growth(None, None, None, basis=f"estimated: unknown, because {why}", estimated=True)


def _is_rough(pressure: Callable[[Array], Array]) -> bool:
    """Return whether ρ jumps between neighbouring integers t at the largest t where it is finite."""
    # From the largest: second differences of a smooth log ρ fall with t, and jumps stand out there.
    for start in (1e8, 1e6, 1e4, 1e2):
        with np.errstate(all="ignore"):
            run = np.log(pressure(start + np.arange(64.0)))
        if np.all(np.isfinite(run)):
            # Second differences: they remove any local power or exponential growth and leave jumps.
            return bool(np.any(np.abs(np.diff(run, 2)) > 1e-3))
        # Smooth growth switches between 0, finite and overflow at most once.
        if np.count_nonzero(np.diff(np.isfinite(run))) > 1:
            return True
    return False


def _find_tail(pressure: Callable[[Array], Array]) -> _Tail | None:
    """Return the local exponents up to the farthest horizon at which they can be computed."""
    nearest = NEAREST
    horizon = FARTHEST
    while horizon > nearest:
        # Geometric in u = log t, the variable in which Bertrand's test compares; two halvings of u.
        u = horizon * 2.0 ** (-np.arange(2 * STEPS_PER_HALVING + 1) / STEPS_PER_HALVING)
        # Wide enough that rounding of log ρ, divided by it, stays below NOISE; narrow enough for a local exponent.
        half_width = u / 200
        with np.errstate(all="ignore"):
            below, log_rho, above = (np.log(pressure(np.exp(u + k * half_width))) for k in (-1, 0, 1))
            exponents = (above - below) / (2 * half_width)
            changes = np.diff(exponents)
        # Values near overflow or underflow have lost digits or are infinite.
        in_range = np.all((np.abs(below) < LARGEST_LOG) & (np.abs(above) < LARGEST_LOG))
        if in_range and (np.all(changes >= -NOISE) or np.all(changes <= NOISE)):
            tail = _Tail(u, log_rho, exponents)
            return None if _breaks_off(pressure, tail) else tail
        if np.any(np.isinf(above)):
            nearest = NEAREST_OF_FAST
        # In log t a nearer horizon still spans the same two halvings.
        horizon /= math.sqrt(2.0)
    return None


def _breaks_off(pressure: Callable[[Array], Array], tail: _Tail) -> bool:
    """Return whether a power law fails soon after its horizon, as in a sawtooth or behind a threshold."""
    (u, p), (_, p_middle) = tail.at(0), tail.at(1)
    # Up to where the next horizon tried was, and not farther than where intermediate overflow is a likely cause.
    beyond = np.linspace(u, max(u, min(math.sqrt(2.0) * u, WITHIN_REACH)), 64)
    expected = tail.log_rho[0] + p * (beyond - u)
    with np.errstate(all="ignore"):
        as_expected = np.abs(np.log(pressure(np.exp(beyond))) - expected) < 0.1
    steady = abs(p - p_middle) <= 0.01 * abs(p)
    return steady and not np.all(as_expected | (np.abs(expected) > LARGEST_LOG))


def _is_bounded(tail: _Tail) -> bool | None:
    """Return whether log ρ = ∫ p du is bounded: it is not for p ~ 1/u, and is for p ~ 1/u^1.5."""
    (u, p), (u_middle, p_middle) = tail.at(0), tail.at(1)
    if p * u <= NOISE:
        return True
    if p_middle * u_middle <= NOISE:
        return None
    # The exponent of decay of p·u from U/2 to U: log ρ converges if p·u falls like a negative power of u.
    order = math.log2(p * u / (p_middle * u_middle))
    # log log t, the slowest growth in use, has −0.16 here.
    return False if order > -0.25 else True if order < -0.4 else None


def _limit(tail: _Tail) -> float | None:
    bounded = _is_bounded(tail)
    if not bounded:
        # Local exponents are monotone: what is unbounded diverges.
        return None if bounded is None else math.inf
    # A function tends to 0 if its reciprocal is unbounded.
    falls = _is_bounded(_Tail(tail.u, -tail.log_rho, -tail.exponents))
    return None if falls is None else math.exp(float(tail.log_rho[0])) if falls else 0.0


def _sum_diverges(tail: _Tail, power: int) -> bool | None:
    """Return whether Σ 1/ρ_t^power diverges, by the tests of Cauchy and Bertrand."""
    u, p = np.transpose([tail.at(halvings) for halvings in range(3)])
    # Σ ρ^(−k) with ρ ~ t^p is the p-series with exponent kp.
    gap = power * p - 1.0
    q = gap * u
    if q[0] <= NOISE:
        return True
    # The local exponent is monotone: one that rises and is clear of the border stays clear of it.
    if gap[0] > 0.1 and p[0] >= p[1] - NOISE:
        return False
    return None if np.any(q <= NOISE) else _sum_diverges_near_border(q, u)


def _sum_diverges_near_border(q: Array, u: Array) -> bool | None:
    """Decide by where q settles: ρ ~ t (log t)^q diverges exactly when q ≤ 1."""
    if q[0] < q[1]:
        return _sum_diverges_at_border(q, u) if q[0] > 1 else True
    # 1/q is nearly linear in 1/u, so this is 1/q in the limit; 0 where p itself settles above the border.
    limit, earlier = 2.0 / q[:2] - 1.0 / q[1:]
    # q > 1 in the limit, even if the extrapolation has not settled.
    if max(limit, earlier) < 0.8:
        return False
    settled = abs(limit - earlier) < 0.02 * limit
    if settled and limit >= 1 - 1e-4:
        return True
    return False if settled and limit < 1 - 1e-3 else None


def _sum_diverges_at_border(q: Array, u: Array) -> bool | None:
    """Decide where q falls towards 1: ρ ~ t log t (log log t)^r diverges exactly when r ≤ 1."""
    # Next member of the logarithmic scale; constant r identifies the factor (log log t)^r.
    r = (q - 1.0) * np.log(u)
    if np.ptp(r) < 0.03 * r[0]:
        return bool(r[0] < 1.01)
    # q falls in another way: either its limit is well above 1, or the growth is unknown.
    return False if np.ptp(q) < 0.1 * (q[0] - 1.0) else None
