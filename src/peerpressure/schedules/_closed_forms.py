"""Schedules in closed form, whose growth is known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import ScheduleError, message
from peerpressure.schedules._base import Array, Schedule, real_parameter
from peerpressure.schedules._growth import Growth


class HasDegrees(Protocol):
    """What tuning a schedule needs to know of a network."""

    @property
    def n(self) -> int:
        """The number of agents."""

    @property
    def degrees(self) -> NDArray[Any]:
        """The weighted degree of each agent."""


@final
@dataclass(frozen=True)
class Constant(Schedule):
    """Pressure that never changes, ρ_t = value: the agents keep a spread for ever.

    >>> print(Constant(3))
    ρ_t = 3
    """

    value: float
    kind: ClassVar[str] = "constant"

    def __post_init__(self) -> None:
        real_parameter(self, "value", at_least=0.0)

    def pressure(self, t: Array) -> Array:
        """Return the value at each t."""
        return np.full(t.shape, self.value)

    def log_pressure(self, t: Array) -> Array:
        """Return its logarithm."""
        return np.log(self.pressure(t))

    @property
    def growth(self) -> Growth:
        """Bounded, with every sum divergent."""
        basis = f"ρ_t = {self.value:g} for every t, so no term 1/ρ_t ever shrinks"
        return Growth(True, True, True, basis=basis, exponent=0.0)

    @property
    def formula_text(self) -> str:
        """The value."""
        return f"{self.value:.6g}"


@final
@dataclass(frozen=True)
class Linear(Schedule):
    """Pressure that grows by the same amount each step, ρ_t = slope·t + offset.

    >>> print(Linear(0.19))
    ρ_t = 0.19 t
    >>> Linear(2, 1)([1, 2, 3])
    array([3., 5., 7.])
    """

    slope: float = 1.0
    offset: float = 0.0
    kind: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        slope = real_parameter(self, "slope", above=0.0)
        # ρ_1 is the first pressure that anyone feels.
        real_parameter(self, "offset", at_least=-slope)

    @classmethod
    def tuned(cls, network: HasDegrees, stubbornness: ArrayLike) -> Self:
        """Return ρ_t = κ t with κ = Σs/Σd, the schedule that averages noise away at the ideal rate.

        The mode on which all agents agree then takes steps of 1/t, like a running mean; a steeper
        schedule forgets its start more slowly, as t^(−κ/slope).
        """
        s = np.asarray(stubbornness, dtype=np.float64)
        if s.shape not in {(), (network.n,)}:
            rule = f"stubbornness must be one number or one per agent ({network.n})"
            raise ScheduleError(message(rule, got=f"shape {s.shape}", remedy="match it to the network"))
        if not np.all((s > 0) & (s < np.inf)):
            worst = s.flat[np.flatnonzero(~((s > 0) & (s < np.inf)))[0]]
            rule = "stubbornness must be positive and finite"
            raise ScheduleError(message(rule, got=worst, remedy="give every agent s > 0"))
        total_degree = float(np.sum(network.degrees))
        if not total_degree > 0:
            rule = "tuning needs a network with edges"
            raise ScheduleError(message(rule, got=f"total degree {total_degree:g}", remedy="add edges"))
        return cls(slope=float(np.broadcast_to(s, (network.n,)).sum()) / total_degree)

    def pressure(self, t: Array) -> Array:
        """Return slope·t + offset."""
        return self.slope * t + self.offset

    def log_pressure(self, t: Array) -> Array:
        """Return log(slope·t + offset)."""
        return np.log(self.pressure(t))

    @property
    def growth(self) -> Growth:
        """Unbounded, slow enough to reach the consensus value and fast enough to average noise away."""
        basis = f"ρ_t grows like {factor(self.slope)}t, and Σ 1/t diverges while Σ 1/t² does not"
        return Growth(False, True, False, basis=basis, exponent=1.0, slope=self.slope)

    @property
    def formula_text(self) -> str:
        """The line, such as 0.19 t + 2."""
        sign = "+" if self.offset > 0 else "−"
        return f"{factor(self.slope)}t" + f" {sign} {abs(self.offset):.6g}" * (self.offset != 0)


@final
@dataclass(frozen=True)
class Power(Schedule):
    """Pressure that grows, or fades, as a power of time, ρ_t = scale·t^exponent.

    >>> print(Power(1.5), Power(-1, scale=2).growth.bounded)
    ρ_t = t^1.5 True
    """

    exponent: float
    scale: float = 1.0
    kind: ClassVar[str] = "power"

    def __post_init__(self) -> None:
        real_parameter(self, "exponent")
        real_parameter(self, "scale", above=0.0)

    def pressure(self, t: Array) -> Array:
        """Return scale·t^exponent."""
        rho = self.scale * t**self.exponent
        # t^exponent may leave the range of doubles where its product with the scale does not.
        lost = np.isinf(rho) | (rho == 0)
        return np.where(lost, np.exp(self.log_pressure(t)), rho) if lost.any() else rho

    def log_pressure(self, t: Array) -> Array:
        """Return log scale + exponent·log t."""
        # 0 times log 0 is 0 here, because t^0 = 1.
        return math.log(self.scale) + (self.exponent * np.log(t) if self.exponent else np.zeros_like(t))

    @property
    def growth(self) -> Growth:
        """The p-series test: Σ t^(−p) diverges exactly when p ≤ 1."""
        p = self.exponent
        return Growth(
            bounded=p <= 0,
            reciprocal_sum_diverges=p <= 1,
            square_sum_diverges=p <= 0.5,
            basis=f"ρ_t grows like t^{p:.6g}, and Σ t^(−p) diverges exactly when p ≤ 1",
            exponent=p,
            slope=self.scale if p == 1 else None,
        )

    @property
    def formula_text(self) -> str:
        """The power, such as 2 t^1.5."""
        return f"{factor(self.scale)}t^{self.exponent:.6g}"


@final
@dataclass(frozen=True)
class Logarithmic(Schedule):
    """Pressure that grows more slowly than any power, ρ_t = scale·log(1 + t).

    >>> print(Logarithmic(2))
    ρ_t = 2 log(1 + t)
    """

    scale: float = 1.0
    kind: ClassVar[str] = "logarithmic"

    def __post_init__(self) -> None:
        real_parameter(self, "scale", above=0.0)

    def pressure(self, t: Array) -> Array:
        """Return scale·log(1 + t)."""
        return self.scale * np.log1p(t)

    def log_pressure(self, t: Array) -> Array:
        """Return log(scale·log(1 + t))."""
        return np.log(self.pressure(t))

    @property
    def growth(self) -> Growth:
        """Unbounded, but so slow that both sums diverge."""
        basis = f"ρ_t grows like {factor(self.scale)}log t, more slowly than every power of t"
        return Growth(False, True, True, basis=basis)

    @property
    def formula_text(self) -> str:
        """The logarithm with its scale."""
        return f"{factor(self.scale)}log(1 + t)"


@final
@dataclass(frozen=True)
class StretchedExponential(Schedule):
    """Pressure that outgrows every power of time, ρ_t = base^(t^exponent), with base > 1 and exponent > 0.

    A base of at most 1 would not press ever harder, which is all that this schedule is for: use Constant,
    or a formula.

    >>> StretchedExponential()([1, 4, 9])
    array([2., 4., 8.])
    >>> print(StretchedExponential())
    ρ_t = 2^√t
    """

    base: float = 2.0
    exponent: float = 0.5
    kind: ClassVar[str] = "stretched_exponential"

    def __post_init__(self) -> None:
        real_parameter(self, "base", above=1.0)
        real_parameter(self, "exponent", above=0.0)

    def pressure(self, t: Array) -> Array:
        """Return base^(t^exponent)."""
        return np.power(self.base, t**self.exponent)

    def log_pressure(self, t: Array) -> Array:
        """Return t^exponent · log base."""
        return t**self.exponent * math.log(self.base)

    @property
    def growth(self) -> Growth:
        """Unbounded, and so fast that both sums converge."""
        basis = f"log ρ_t = {math.log(self.base):.6g} t^{self.exponent:.6g} outgrows every multiple of log t"
        return Growth(False, False, False, basis=basis)

    @property
    def formula_text(self) -> str:
        """The power tower, such as 2^√t."""
        top = {0.5: "√t", 1.0: "t"}.get(self.exponent, f"(t^{self.exponent:.6g})")
        return f"{self.base:.6g}^{top}"


def factor(scale: float) -> str:
    """Return a leading factor as people write it, nothing for 1.

    >>> factor(1.0) + "t", factor(0.25) + "t"
    ('t', '0.25 t')
    """
    return "" if scale == 1 else f"{scale:.6g} "
