"""Growth of a schedule, proved by its envelope.

Consensus depends on three facts: whether ρ_t is bounded, whether Σ 1/ρ_t diverges (which reaching the consensus value
requires) and whether Σ 1/ρ_t² diverges (noise averages out if it converges).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from peerpressure.schedules.envelopes import Envelope, Sum, decided, envelope_of
from peerpressure.support.formula import Expression
from peerpressure.support.immutable import one_line

# Steps from the first on at which a formula must have a value.
PROBED = 10_000


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
    envelope : Envelope, optional
        Bounds of ρ_t from some t on, if they are known.

    See Also
    --------
    growth_of_ratio : Growth of a quotient of two schedules.
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
    envelope: Envelope | None = field(default=None, repr=False, compare=False)

    @property
    def is_regular(self) -> bool:
        """Whether ρ_t follows one smooth curve, rather than oscillating between the bounds of its envelope."""
        return self.envelope is None or self.envelope.lower.lead == self.envelope.upper.lead


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


def growth_of(expression: Expression) -> Growth:
    """Return the growth of a formula as far as its envelope proves it."""
    times = np.arange(1.0, PROBED + 1)
    illegal = times[~(expression(times) >= 0)]
    if illegal.size:
        return _unknown(f"ρ_t is not a number ≥ 0 at t = {illegal[0]:.0f}")
    envelope = envelope_of(expression)
    if envelope is not None and envelope.upper.sign < 0:
        return _unknown("ρ_t is negative at late times")
    proved = None if envelope is None else decided(lambda: growth_within(envelope))
    return proved or _unknown("no bounds of ρ_t at late times are found")


def _unknown(why: str) -> Growth:
    return Growth(None, None, None, basis=f"unknown, because {why}")
