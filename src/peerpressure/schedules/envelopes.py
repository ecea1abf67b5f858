"""Asymptotic envelopes: bounds L(t) ≤ f(t) ≤ U(t) that hold from some t on, by interval reasoning on a formula's tree.

Bounds are finite sums Σ c·m of Hardy's logarithmico-exponential monomials [1]_,

    m = t^p₀ (log t)^p₁ (log log t)^p₂ … · exp(E),

where E is a sum of the same kind whose terms diverge. Monomials are totally ordered by growth, so the sign of a
sum is eventually that of its leading coefficient. Functions that are not monotone enter with their range, as sin in
[−1, 1] and floor(x) in [x − 1, x]; expansions end after the first term, whose coefficient becomes an interval.

References
----------
.. [1] Hardy (1910), Orders of Infinity, Cambridge University Press.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cmp_to_key, reduce
from typing import TypeAlias, TypeVar, final

from peerpressure.support.formula import CONSTANTS, Call, Expression, Name, Negative, Node, Number, Operation

# Iterated logarithms t, log t, …: one more than the slowest growth that is compared.
LEVELS = 5
# Longer sums are not worth the time; the growth is then unknown.
MOST_TERMS = 24
# Sums and products of exponents such as 0.1 + 0.2 are exact up to this share.
ROUNDING = 4e-15
# Whole powers up to this are multiplied out, which keeps all of their terms.
MOST_FACTORS = 8

Terms: TypeAlias = tuple[tuple["Monomial", float], ...]


class UndecidedError(Exception):
    """Raised inside this module where an envelope cannot be found; never seen by callers."""


@final
@dataclass(frozen=True)
class Monomial:
    """t^p₀ (log t)^p₁ … · exp(E) with the ``powers`` p and the sum E as ``exponent``."""

    powers: tuple[float, ...] = (0.0,) * LEVELS
    exponent: Terms = ()

    def times(self, other: Monomial, power: float = 1.0) -> Monomial:
        """Return the product with a power of another monomial."""
        powers = tuple(_added(a, power * b) for a, b in zip(self.powers, other.powers, strict=True))
        return Monomial(powers, (Sum(self.exponent) + Sum(other.exponent).scaled(power)).terms)

    def log(self) -> Sum:
        """Return the logarithm, a sum of iterated logarithms and E."""
        if self.powers[-1]:
            raise UndecidedError
        logs = [(_level(k + 1), p) for k, p in enumerate(self.powers[:-1]) if p]
        return _sum([*logs, *self.exponent])

    def __str__(self) -> str:
        names = ["t", *("log " * k + "t" for k in range(1, LEVELS))]
        factors = [_factor(name, p) for name, p in zip(names, self.powers, strict=True) if p]
        if self.exponent:
            factors.append(f"exp({Sum(self.exponent)})")
        return " ".join(factors) or "1"

    def growth(self) -> int:
        """Return 1 if the monomial diverges, −1 if it tends to 0, and 0 if it is 1."""
        if not self.exponent:
            # Powers compare lexicographically, since log t grows more slowly than any power of t.
            return next((1 if p > 0 else -1 for p in self.powers if p), 0)
        # The logarithm of the last level grows more slowly than any sum here, and never decides.
        return Monomial((*self.powers[:-1], 0.0), self.exponent).log().sign


def _factor(name: str, power: float) -> str:
    if power == 1:
        return name
    return f"{name if name == 't' else f'({name})'}^{power:.6g}".replace("^-", "^−")


def _level(k: int) -> Monomial:
    return Monomial(tuple(float(k == j) for j in range(LEVELS)))


ONE = Monomial()


def _compare(a: Monomial, b: Monomial) -> int:
    return a.times(b, -1.0).growth() if a != b else 0


def _added(a: float, b: float) -> float:
    # A single exponent is as exact as the formula says, and must not be rounded.
    return _tidy(a + b) if a and b else a + b


def _tidy(x: float) -> float:
    """Return an exponent without the rounding error of the arithmetic that led to it, as in 0.1 + 0.2."""
    near = round(x, 12)
    return near if abs(x - near) <= ROUNDING * max(1.0, abs(x)) else x


def _sum(terms: Iterable[tuple[Monomial, float]]) -> Sum:
    collected: dict[Monomial, float] = {}
    for monomial, c in terms:
        before = collected.get(monomial, 0.0)
        total = before + c
        # Cancellation leaves a rounding error, which must not become a leading term.
        collected[monomial] = 0.0 if abs(total) <= ROUNDING * (abs(before) + abs(c)) else total
    if not all(map(math.isfinite, collected.values())):
        raise UndecidedError
    order = sorted((m for m, c in collected.items() if c), key=cmp_to_key(_compare), reverse=True)
    if len(order) > MOST_TERMS:
        raise UndecidedError
    return Sum(tuple((m, collected[m]) for m in order))


@final
@dataclass(frozen=True)
class Sum:
    """A sum of monomials with coefficients, the leading term first; empty for 0."""

    terms: Terms = ()

    def __add__(self, other: Sum) -> Sum:
        return _sum([*self.terms, *other.terms])

    def __sub__(self, other: Sum) -> Sum:
        return self + other.scaled(-1.0)

    def __mul__(self, other: Sum) -> Sum:
        return _sum((a.times(b), c * d) for a, c in self.terms for b, d in other.terms)

    def __str__(self) -> str:
        monomial, c = self.lead
        if monomial == ONE:
            return f"{c:.6g}"
        return str(monomial) if c == 1 else f"−{monomial}" if c == -1 else f"{c:.6g} {monomial}"

    def scaled(self, factor: float) -> Sum:
        """Return the multiple by a number."""
        return Sum(tuple((m, c * factor) for m, c in self.terms)) if factor else Sum()

    @property
    def lead(self) -> tuple[Monomial, float]:
        """Monomial and coefficient of the leading term, 1 and 0 for an empty sum."""
        return self.terms[0] if self.terms else (ONE, 0.0)

    @property
    def sign(self) -> int:
        """The sign from some t on."""
        return (self.lead[1] > 0) - (self.lead[1] < 0)

    @property
    def growth(self) -> int:
        """1 if the sum diverges, −1 if it tends to 0, and 0 if it tends to another number."""
        return self.lead[0].growth() if self.terms else -1

    @property
    def limit(self) -> float:
        """The limit, which may be ±∞."""
        return (0.0, self.lead[1], self.sign * math.inf)[self.growth + 1]

    def reciprocal_sum_diverges(self, power: float) -> bool:
        """Return whether Σ_t of 1/sum^power diverges for a sum ≥ 0, by the tests of Cauchy and Bertrand."""
        if not self.terms:
            return power > 0
        # It does up to the border t log t log log t …, whose sum still diverges.
        border = Monomial((1.0,) * (LEVELS - 1) + (0.0,))
        return ONE.times(self.lead[0], power).times(border, -1.0).growth() <= 0

    def remainder(self) -> Sum:
        """Return u of lead·(1 + u), which tends to 0."""
        monomial, c = self.lead
        return _sum((m.times(monomial, -1.0), d / c) for m, d in self.terms[1:])


Bounds: TypeAlias = tuple[Sum, Sum]
Result = TypeVar("Result")


def _constant(value: float) -> Sum:
    return Sum(((ONE, value),)) if value else Sum()


def _least(*sums: Sum) -> Sum:
    return reduce(lambda a, b: a if (b - a).sign >= 0 else b, sums)


def _greatest(*sums: Sum) -> Sum:
    return reduce(lambda a, b: b if (b - a).sign >= 0 else a, sums)


def _near(u: Sum, slope: float) -> Bounds:
    """Return bounds of slope·u + O(u²) for u → 0: half of the first term and one and a half times it."""
    parts = u.scaled(slope / 2), u.scaled(slope * 1.5)
    # Without a first term there is nothing to bound: then u = 0.
    return _least(*parts), _greatest(*parts)


def _power_of(base: Sum, exponent: float) -> Bounds:
    monomial, c = base.lead
    if base.sign < 0 or (base.sign == 0 and exponent <= 0):
        raise UndecidedError
    if base.sign == 0:
        return Sum(), Sum()
    if exponent == round(exponent) and 1 <= exponent <= MOST_FACTORS:
        product = reduce(Sum.__mul__, [base] * int(exponent))
        return product, product
    try:
        lead = Sum(((ONE.times(monomial, exponent), c**exponent),))
    except OverflowError:
        raise UndecidedError from None
    if not lead.lead[1]:
        raise UndecidedError
    low, high = _near(base.remainder(), exponent)
    return lead + lead * low, lead + lead * high


def _log_of(argument: Sum) -> Bounds:
    if argument.sign <= 0:
        raise UndecidedError
    monomial, c = argument.lead
    lead = monomial.log() + _constant(math.log(c))
    low, high = _near(argument.remainder(), 1.0)
    return lead + low, lead + high


def _exp_of(argument: Sum) -> Bounds:
    result, factor = ONE, 0.0
    diverging: list[tuple[Monomial, float]] = []
    vanishing: list[tuple[Monomial, float]] = []
    for monomial, c in argument.terms:
        level = next((k for k in range(1, LEVELS) if monomial == _level(k)), None)
        if level is not None:
            # exp(c log t) = t^c, and so on down the iterated logarithms; c may be log 2 · (1/log 2).
            result = result.times(_level(level - 1), _tidy(c) or c)
        elif monomial == ONE:
            factor = c
        else:
            (diverging if monomial.growth() > 0 else vanishing).append((monomial, c))
    if abs(factor) > 600:
        raise UndecidedError
    lead = Sum(((result.times(Monomial(exponent=tuple(diverging))), math.exp(factor)),))
    low, high = _near(Sum(tuple(vanishing)), 1.0)
    return lead + lead * low, lead + lead * high


def _floor_of(argument: Sum, *, upper: bool) -> Sum:
    if argument.growth > 0:
        return argument if upper else argument - _constant(1.0)
    limit, rest = argument.limit, argument - _constant(argument.limit)
    # An integer limit that is approached from below is never reached.
    return _constant(math.floor(limit) - (limit == math.floor(limit) and rest.sign < 0))


@final
@dataclass(frozen=True)
class Envelope:
    """Bounds of a function of t that hold from some t on."""

    lower: Sum
    upper: Sum

    @classmethod
    def constant(cls, value: float) -> Envelope:
        """Return the envelope of a number."""
        return cls(_constant(value), _constant(value))

    @classmethod
    def t(cls) -> Envelope:
        """Return the envelope of t itself."""
        line = Sum(((_level(0), 1.0),))
        return cls(line, line)

    def __add__(self, other: Envelope) -> Envelope:
        return Envelope(self.lower + other.lower, self.upper + other.upper)

    def __neg__(self) -> Envelope:
        return Envelope(self.upper.scaled(-1.0), self.lower.scaled(-1.0))

    def __mul__(self, other: Envelope) -> Envelope:
        products = [a * b for a in {self.lower, self.upper} for b in {other.lower, other.upper}]
        return Envelope(_least(*products), _greatest(*products))

    def __pow__(self, exponent: float) -> Envelope:
        if self.lower.sign < 0:
            # Powers of what may be negative are defined for whole exponents only.
            if not (exponent == round(exponent) and 1 <= exponent <= MOST_FACTORS):
                raise UndecidedError
            return reduce(Envelope.__mul__, [self] * int(exponent))
        ends = [_power_of(end, exponent) for end in (self.lower, self.upper)]
        low, high = ends if exponent >= 0 else ends[::-1]
        return Envelope(low[0], high[1])

    @property
    def order(self) -> Envelope:
        """The leading terms alone, between multiples of which the function lies from some t on."""
        return Envelope(Sum(self.lower.terms[:1]), Sum(self.upper.terms[:1]))

    @property
    def vanishes(self) -> bool | None:
        """Whether a function ≥ 0 tends to 0; None if that is not known."""
        return True if self.upper.growth < 0 else False if self.lower.growth >= 0 and self.lower.sign > 0 else None

    @property
    def sum_diverges(self) -> bool | None:
        """Whether the sum over all t of a function ≥ 0 diverges; None if that is not known."""
        if not self.upper.reciprocal_sum_diverges(-1):
            return False
        return True if self.lower.sign > 0 and self.lower.reciprocal_sum_diverges(-1) else None

    def log(self) -> Envelope:
        """Return the envelope of the logarithm."""
        return Envelope(_log_of(self.lower)[0], _log_of(self.upper)[1])

    def exp(self) -> Envelope:
        """Return the envelope of the exponential."""
        return Envelope(_exp_of(self.lower)[0], _exp_of(self.upper)[1])

    def floor(self) -> Envelope:
        """Return the envelope of the largest whole number below."""
        return Envelope(_floor_of(self.lower, upper=False), _floor_of(self.upper, upper=True))

    def __abs__(self) -> Envelope:
        if self.lower.sign >= 0:
            return self
        if self.upper.sign <= 0:
            return -self
        return Envelope(Sum(), _greatest(self.lower.scaled(-1.0), self.upper))

    def sine(self) -> Envelope:
        """Return [−1, 1], or the sine itself of what tends to 0 or is a number."""
        if self.lower == self.upper and self.lower.growth <= 0 and len(self.lower.terms) <= 1:
            if self.lower.growth == 0:
                return Envelope.constant(math.sin(self.lower.limit))
            return Envelope(*_near(self.lower, 1.0))
        return Envelope(_constant(-1.0), _constant(1.0))


def envelope_of(expression: Expression) -> Envelope | None:
    """Return the envelope of a formula in t, None if none is found."""
    return decided(lambda: _bounds(expression.tree))


def decided(build: Callable[[], Result]) -> Result | None:
    """Return what arithmetic on envelopes gives, None if it is undecided."""
    try:
        return build()
    except (UndecidedError, OverflowError):
        return None


_FUNCTIONS: dict[str, Callable[[Envelope], Envelope]] = {
    "sqrt": lambda x: x**0.5,
    "log": Envelope.log,
    "log2": lambda x: x.log() * Envelope.constant(1 / math.log(2)),
    "log10": lambda x: x.log() * Envelope.constant(1 / math.log(10)),
    "log1p": lambda x: (x + Envelope.constant(1.0)).log(),
    "exp": Envelope.exp,
    "expm1": lambda x: x.exp() + Envelope.constant(-1.0),
    "abs": Envelope.__abs__,
    "floor": Envelope.floor,
    "ceil": lambda x: -((-x).floor()),
    "sin": Envelope.sine,
    "cos": lambda x: (x + Envelope.constant(math.pi / 2)).sine(),
}


def _bounds(node: Node) -> Envelope:
    match node:
        case Number(value):
            return Envelope.constant(value)
        case Name(name):
            return Envelope.t() if name == "t" else Envelope.constant(CONSTANTS[name])
        case Negative(operand):
            return -_bounds(operand)
        case Operation(symbol, left, right):
            return _operation(symbol, _bounds(left), _bounds(right))
        case Call(function, arguments):
            envelopes = [_bounds(argument) for argument in arguments]
            if len(envelopes) == 1:
                return _FUNCTIONS[function](envelopes[0])
            choose = _least if function == "min" else _greatest
            return Envelope(choose(*(one.lower for one in envelopes)), choose(*(one.upper for one in envelopes)))
    raise UndecidedError


def _operation(symbol: str, left: Envelope, right: Envelope) -> Envelope:
    match symbol:
        case "+":
            return left + right
        case "-":
            return left + -right
        case "*":
            return left * right
        case "/":
            # A divisor that is negative from some t on changes the sign of the quotient.
            return left * right**-1.0 if right.lower.sign > 0 else -left * (-right) ** -1.0
        case _:
            return _raised(left, right)


def _raised(base: Envelope, exponent: Envelope) -> Envelope:
    if exponent.lower == exponent.upper and all(monomial == ONE for monomial, _ in exponent.lower.terms):
        return base**exponent.lower.limit
    if base.upper.sign < 0 and base.lower == base.upper:
        # Such as (−1)^t, which alternates in sign at whole t.
        size = (exponent * (-base).log()).exp()
        return Envelope(size.upper.scaled(-1.0), size.upper)
    return (exponent * base.log()).exp()
