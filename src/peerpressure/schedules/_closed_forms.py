"""Schedules in closed form, whose growth is known exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import ScheduleError, contrast, message
from peerpressure.schedules._base import Array, Growth, Schedule
from peerpressure.schedules.envelopes import Envelope, decided
from peerpressure.support.parameters import Parameter, Slider

_SCALE = Parameter("scale", "real", "scale", "factor in front", above=0, slider=Slider(0.001, 100.0, 0.001, log=True))


class HasDegrees(Protocol):
    """Part of a network that `Linear.tuned` reads."""

    @property
    def n(self) -> int:
        """Number of agents."""

    @property
    def degrees(self) -> NDArray[Any]:
        """Weighted degree of each agent."""

    @property
    def left_null_vector(self) -> NDArray[Any]:
        """Weights ℓ with ℓᵀL = 0; 1 on an undirected network."""


@final
@dataclass(frozen=True)
class Constant(Schedule):
    """Pressure that never changes, ρ_t = value: the agents never agree fully.

    Parameters
    ----------
    value : float
        Pressure at every step, at least 0.

    Raises
    ------
    ScheduleError
        If the value is not a finite number of at least 0.

    See Also
    --------
    Logarithmic : The slowest growth, under which agents agree.

    Examples
    --------
    >>> from peerpressure import Constant
    >>> print(Constant(3))
    ρ_t = 3
    """

    value: float
    kind: ClassVar[str] = "constant"
    title: ClassVar[str] = "Constant"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("value", "real", "pressure", at_least=0, slider=Slider(0.0, 1_000.0, 0.1, start=2.0)),
    )

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
        # Also for the value 0, with 1/ρ = ∞: a sum with infinite terms diverges.
        envelope = Envelope.constant(self.value)
        return Growth(True, True, True, basis=basis, exponent=0.0, limit=self.value, envelope=envelope)

    @property
    def formula_text(self) -> str:
        """Value of the pressure."""
        return f"{self.value:.6g}"


@final
@dataclass(frozen=True)
class Linear(Schedule):
    """Pressure that grows by the same amount at each step, ρ_t = slope·t + offset.

    Parameters
    ----------
    slope : float, default 1.0
        Growth per step, above 0.
    offset : float, default 0.0
        Pressure at t = 0, at least −slope because ρ_1 ≥ 0.

    Raises
    ------
    ScheduleError
        If the slope is not above 0, or the offset is below −slope.

    See Also
    --------
    Power : Other powers of time.
    theory.optimal_schedule : The slope under which the consensus mode has the least variance.

    Examples
    --------
    >>> from peerpressure import Linear
    >>> print(Linear(0.19))
    ρ_t = 0.19 t
    >>> Linear(2, 1)([1, 2, 3])
    array([3., 5., 7.])
    """

    slope: float = 1.0
    offset: float = 0.0
    kind: ClassVar[str] = "linear"
    title: ClassVar[str] = "Linear"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("slope", "real", "slope", above=0, unit="per step", slider=Slider(0.001, 100.0, 0.001, log=True)),
        Parameter("offset", "real", "offset", "pressure at t = 0", slider=Slider(0.0, 100.0, 0.1)),
    )

    def __post_init__(self) -> None:
        """Check the parameters, and that ρ_1, the first pressure in use, is not negative."""
        Schedule.__post_init__(self)
        # ρ_1 = 0 is legal: agents then ignore their neighbours at the first step.
        if self.offset < -self.slope:
            least, got = contrast(-self.slope, self.offset, digits=6)
            rule = f"offset of Linear must be at least −slope = {least}"
            raise ScheduleError(message(rule, got=got, remedy="ρ_1 = slope + offset must not be negative"))

    @classmethod
    def tuned(cls, network: HasDegrees, stubbornness: ArrayLike = 1.0, noise_exponent: float = 0.0) -> Self:
        """Return ρ_t = κt/(1 − 2γ) with κ = Σs/Σd, the line that averages noise of scale t^γ away at the optimal rate.

        For γ = 0 the consensus mode then moves by 1/t at step t, as a running mean does; under a steeper schedule it
        forgets its start more slowly, as t^(−κ/slope).

        Parameters
        ----------
        network : Network
            Network with at least one edge.
        stubbornness : float or array_like of shape (n,), default 1.0
            Stubbornness s of the agents, above 0.
        noise_exponent : float, default 0.0
            Exponent γ < ½ of the noise's scale over time; from ½ on, no line averages noise away.

        Returns
        -------
        Linear
            Schedule with slope κ/(1 − 2γ).

        Raises
        ------
        ScheduleError
            If stubbornness is not positive and finite, the network has no edges, or γ is not below ½.
        """
        s = np.asarray(stubbornness, dtype=np.float64)
        if s.shape not in {(), (network.n,)}:
            rule = f"stubbornness must be one number or one per agent ({network.n})"
            raise ScheduleError(message(rule, got=f"shape {s.shape}", remedy="match it to the network"))
        if not np.all((s > 0) & (s < np.inf)):
            worst = s.flat[np.flatnonzero(~((s > 0) & (s < np.inf)))[0]]
            rule = "stubbornness must be positive and finite"
            raise ScheduleError(message(rule, got=worst, remedy="give every agent s > 0"))
        ell = network.left_null_vector
        total_degree = float(np.sum(ell * network.degrees))
        if not total_degree > 0:
            rule = "tuning needs a network with edges"
            raise ScheduleError(message(rule, got=f"total degree {total_degree:g}", remedy="add edges"))
        # Written to be false for NaN.
        if not noise_exponent < 0.5:
            rule = "noise that a line averages away must grow more slowly than √t"
            raise ScheduleError(message(rule, got=f"t^{noise_exponent:g}", remedy="use optimal_schedule for a horizon"))
        # A scalar s counts once for each agent in the sum.
        kappa = float((ell * np.broadcast_to(s, (network.n,))).sum()) / total_degree
        return cls(slope=kappa / (1 - 2 * noise_exponent))

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
        line = Envelope.constant(self.slope) * Envelope.t() + Envelope.constant(self.offset)
        return Growth(False, True, False, basis=basis, exponent=1.0, slope=self.slope, limit=math.inf, envelope=line)

    @property
    def formula_text(self) -> str:
        """Line in t, such as 0.19 t + 2."""
        sign = "+" if self.offset > 0 else "−"
        return f"{factor(self.slope)}t" + f" {sign} {abs(self.offset):.6g}" * (self.offset != 0)


@final
@dataclass(frozen=True)
class Power(Schedule):
    """Pressure that grows or decays as a power of time, ρ_t = scale·t^exponent.

    Parameters
    ----------
    exponent : float
        Power of t, any finite number; the consensus value is reached for exponents above 0 and up to 1.
    scale : float, default 1.0
        Factor in front, above 0.

    Raises
    ------
    ScheduleError
        If a parameter is not finite, or the scale is not above 0.

    See Also
    --------
    Linear : The power 1, with an offset.
    StretchedExponential : Faster growth.

    Examples
    --------
    >>> from peerpressure import Power
    >>> print(Power(1.5), Power(-1, scale=2).growth.bounded)
    ρ_t = t^1.5 True
    """

    exponent: float
    scale: float = 1.0
    kind: ClassVar[str] = "power"
    title: ClassVar[str] = "Power"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("exponent", "real", "exponent", "power of t", slider=Slider(-1.0, 3.0, 0.05, start=1.5)),
        _SCALE,
    )

    def pressure(self, t: Array) -> Array:
        """Return scale·t^exponent."""
        # The direct form is exact to an ulp, while exp(log) multiplies rounding errors by the size of the logarithm; it
        # is used only where the direct form fails.
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
        """Growth by the p-series test: Σ t^(−p) diverges exactly when p ≤ 1."""
        p = self.exponent
        return Growth(
            bounded=p <= 0,
            reciprocal_sum_diverges=p <= 1,
            square_sum_diverges=p <= 0.5,
            basis=f"ρ_t grows like t^{p:.6g}, and Σ t^(−p) diverges exactly when p ≤ 1",
            exponent=p,
            slope=self.scale if p == 1 else None,
            limit=math.inf if p > 0 else self.scale if p == 0 else 0.0,
            envelope=decided(lambda: Envelope.constant(self.scale) * Envelope.t() ** p),
        )

    @property
    def formula_text(self) -> str:
        """Power of t, such as 2 t^1.5."""
        return f"{factor(self.scale)}t" + f"^{self.exponent:.6g}" * (self.exponent != 1)


@final
@dataclass(frozen=True)
class Logarithmic(Schedule):
    """Pressure that grows more slowly than any power of time, ρ_t = scale·log(1 + t).

    Parameters
    ----------
    scale : float, default 1.0
        Factor in front, above 0.

    Raises
    ------
    ScheduleError
        If the scale is not a finite number above 0.

    See Also
    --------
    Power : Faster growth.

    Examples
    --------
    >>> from peerpressure import Logarithmic
    >>> print(Logarithmic(2))
    ρ_t = 2 log(1 + t)
    """

    scale: float = 1.0
    kind: ClassVar[str] = "logarithmic"
    title: ClassVar[str] = "Logarithmic"
    parameters: ClassVar[tuple[Parameter, ...]] = (_SCALE,)

    def pressure(self, t: Array) -> Array:
        """Return scale·log(1 + t)."""
        # log1p keeps its digits for the small t of continuous time.
        return self.scale * np.log1p(t)

    def log_pressure(self, t: Array) -> Array:
        """Return log(scale·log(1 + t))."""
        return np.log(self.pressure(t))

    @property
    def growth(self) -> Growth:
        """Unbounded, but so slow that both sums diverge."""
        basis = f"ρ_t grows like {factor(self.scale)}log t, more slowly than every power of t"
        envelope = Envelope.constant(self.scale) * (Envelope.t() + Envelope.constant(1.0)).log()
        return Growth(False, True, True, basis=basis, limit=math.inf, envelope=envelope)

    @property
    def formula_text(self) -> str:
        """Logarithm with its scale."""
        return f"{factor(self.scale)}log(1 + t)"


@final
@dataclass(frozen=True)
class StretchedExponential(Schedule):
    """Pressure that grows faster than any power of time, ρ_t = base^(t^exponent).

    Under 2^√t, the paper's counterexample, the agents agree on a wrong value.

    Parameters
    ----------
    base : float, default 2.0
        Above 1; with a base of at most 1 the pressure would not grow.
    exponent : float, default 0.5
        Power of t, above 0.

    Raises
    ------
    ScheduleError
        If the base is not above 1, or the exponent not above 0.

    See Also
    --------
    Power : Slower growth.

    Examples
    --------
    >>> from peerpressure import StretchedExponential
    >>> StretchedExponential()([1, 4, 9])
    array([2., 4., 8.])
    >>> print(StretchedExponential())
    ρ_t = 2^√t
    """

    base: float = 2.0
    exponent: float = 0.5
    kind: ClassVar[str] = "stretched_exponential"
    title: ClassVar[str] = "Stretched exponential"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("base", "real", "base", above=1, slider=Slider(1.01, 10.0, 0.01, log=True)),
        Parameter("exponent", "real", "exponent", "power of t", above=0, slider=Slider(0.1, 1.0, 0.05)),
    )

    def pressure(self, t: Array) -> Array:
        """Return base^(t^exponent)."""
        return np.power(self.base, t**self.exponent)

    def log_pressure(self, t: Array) -> Array:
        """Return t^exponent · log base."""
        # Finite long after ρ itself has overflowed, which for 2^√t happens at t ≈ 10⁶.
        return t**self.exponent * math.log(self.base)

    @property
    def growth(self) -> Growth:
        """Unbounded, and so fast that both sums converge."""
        basis = f"log ρ_t = {math.log(self.base):.6g} t^{self.exponent:.6g} outgrows every multiple of log t"
        envelope = decided(lambda: self._log_envelope().exp())
        return Growth(False, False, False, basis=basis, limit=math.inf, envelope=envelope)

    def _log_envelope(self) -> Envelope:
        return Envelope.constant(math.log(self.base)) * Envelope.t() ** self.exponent

    @property
    def formula_text(self) -> str:
        """Power tower, such as 2^√t."""
        top = {0.5: "√t", 1.0: "t"}.get(self.exponent, f"(t^{self.exponent:.6g})")
        return f"{self.base:.6g}^{top}"


def factor(scale: float) -> str:
    """Return a leading factor as it is written in a formula, nothing for 1.

    >>> factor(1.0) + "t", factor(0.25) + "t"
    ('t', '0.25 t')
    """
    return "" if scale == 1 else f"{scale:.6g} "
