"""What masks an opinion: ε_t = std_i · scale_t · u_t, with u_t mean zero and of unit variance.

A noise is a law for u (its class), a standard deviation for all agents or one for each, a scale over time, and a
temporal kind: drawn anew at each step (white, the paper's), drawn once and held (persistent), or carried over in part
(AR(1)). A new law is one small class here and one line in ``LAWS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import NoiseError, complain
from .schedules import Constant, Schedule, as_schedule, schedule_from_dict

Deviation: TypeAlias = float | Sequence[float] | NDArray[np.float64]


@final
@dataclass(frozen=True)
class White:
    """Drawn anew at each step, independent of all other steps."""

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) for all pairs of the given times."""
        t = np.asarray(times)
        return np.asarray(t[:, None] == t[None, :], dtype=np.float64)


@final
@dataclass(frozen=True)
class Persistent:
    """Drawn once for each agent and held for ever: a mask."""

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) for all pairs of the given times."""
        t = np.asarray(times)
        return np.ones((t.size, t.size))


@final
@dataclass(frozen=True)
class AR1:
    """Carried over in part: u_t = φ u_{t−1} + √(1−φ²) z_t, started in its stationary variance."""

    coefficient: float

    def __post_init__(self) -> None:
        if not -1 < self.coefficient < 1:
            rule = "the AR(1) coefficient must lie strictly between -1 and 1"
            raise NoiseError(
                complain(rule, got=self.coefficient, remedy="for noise that never changes use 'persistent'")
            )

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = φ^|t−t′| for all pairs of the given times."""
        t = np.asarray(times, dtype=np.float64)
        return np.asarray(self.coefficient ** np.abs(t[:, None] - t[None, :]))


Temporal: TypeAlias = White | Persistent | AR1
_TEMPORAL_WORDS: Mapping[str, Temporal] = {"white": White(), "persistent": Persistent()}


def _as_temporal(value: object) -> Temporal:
    if isinstance(value, (White, Persistent, AR1)):
        return value
    if isinstance(value, str) and value in _TEMPORAL_WORDS:
        return _TEMPORAL_WORDS[value]
    rule = "the temporal kind must be 'white', 'persistent' or AR1(coefficient)"
    raise NoiseError(complain(rule, got=repr(value), remedy="leave it out for white noise, the paper's"))


def _as_deviation(value: Deviation) -> float | NDArray[np.float64]:
    """Return a checked standard deviation: one number, or a read-only vector with one for each agent."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        rule = "a standard deviation must be a number, or one number for each agent"
        raise NoiseError(complain(rule, got=repr(value), remedy="for instance Gaussian(0.5)")) from None
    if array.ndim > 1 or array.size == 0:
        rule = "standard deviations must be one number or a vector with one for each agent"
        raise NoiseError(complain(rule, got=f"shape {array.shape}", remedy="flatten them"))
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        where = f" at agent {bad[0]}" if array.ndim else ""
        rule = "a standard deviation must be finite and not negative"
        raise NoiseError(complain(rule, got=f"{array.flat[bad[0]]}{where}", remedy="use 0 for an agent without noise"))
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False, init=False)
class Noise(ABC):
    """Mean-zero noise with a standard deviation, a scale over time and a temporal kind.

    ``law`` names the unit-variance law that the engine draws from; ``shape`` is its one parameter, if it has one.
    """

    law: ClassVar[str]

    std: float | NDArray[np.float64]
    over_time: Schedule
    temporal: Temporal

    def __init__(
        self,
        std: Deviation = 1.0,
        *,
        over_time: Schedule | float | str = Constant(1.0),  # noqa: B008 — frozen, so sharing it is safe
        temporal: Temporal | str = "white",
    ) -> None:
        object.__setattr__(self, "std", _as_deviation(std))
        object.__setattr__(self, "over_time", as_schedule(over_time))
        object.__setattr__(self, "temporal", _as_temporal(temporal))

    @property
    def shape(self) -> float:
        """The law's shape parameter, 0 if it has none."""
        return 0.0

    @abstractmethod
    def unit(self) -> Any:
        """Return the law of u, mean zero and unit variance, as a frozen SciPy distribution."""

    def deviations(self, agents: int) -> NDArray[np.float64]:
        """Return the standard deviation of each agent, before any scale over time; shape (agents,)."""
        return np.broadcast_to(np.asarray(self.std, dtype=np.float64), (agents,))

    def scale(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the common factor at the given times."""
        return np.asarray(self.over_time(times), dtype=np.float64)

    def time_covariance(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return K with K[a, b] = E u_a u_b · scale_a · scale_b; an agent's covariance is std_i² K."""
        scale = self.scale(times)
        return self.temporal.correlation(times) * scale[:, None] * scale[None, :]

    @property
    def is_silent(self) -> bool:
        """Whether there is no noise at all."""
        return not np.any(self.std)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that ``noise_from_dict`` turns back into this noise."""
        std = self.std.tolist() if isinstance(self.std, np.ndarray) else self.std
        out: dict[str, Any] = {"law": self.law, "std": std, "over_time": self.over_time.to_dict()}
        out["temporal"] = (
            {"kind": "ar1", "coefficient": self.temporal.coefficient}
            if isinstance(self.temporal, AR1)
            else {"kind": type(self.temporal).__name__.lower()}
        )
        return out | self._parameters()

    def _parameters(self) -> dict[str, Any]:
        """Return the plain values of the parameters that this law adds."""
        own = {f.name for f in fields(self)} - {"std", "over_time", "temporal"}
        return {name: getattr(self, name) for name in sorted(own)}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Noise) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.law, self.temporal, self.shape))

    def __str__(self) -> str:
        std = np.asarray(self.std)
        size = f"{std:.4g}" if std.ndim == 0 else f"{std.min():.4g}–{std.max():.4g} by agent"
        parts = [f"{type(self).__name__}, standard deviation {size}"]
        if self.over_time != Constant(1.0):
            parts.append(f"times {str(self.over_time).split('= ', 1)[-1]}")
        if isinstance(self.temporal, AR1):
            parts.append(f"AR(1) with φ = {self.temporal.coefficient:g}")
        elif isinstance(self.temporal, Persistent):
            parts.append("one draw held for ever")
        return ", ".join(parts)


@final
@dataclass(frozen=True, eq=False, init=False)
class Gaussian(Noise):
    """Normal noise, the paper's.

    >>> print(Gaussian(0.5, temporal=AR1(0.8)))
    Gaussian, standard deviation 0.5, AR(1) with φ = 0.8
    """

    law: ClassVar[str] = "gaussian"

    def unit(self) -> Any:
        """Return the standard normal law."""
        from scipy import stats

        return stats.norm()


@final
@dataclass(frozen=True, eq=False, init=False)
class Laplace(Noise):
    """Double-exponential noise, as differential privacy uses it."""

    law: ClassVar[str] = "laplace"

    def unit(self) -> Any:
        """Return the Laplace law of unit variance, scale 1/√2."""
        from scipy import stats

        return stats.laplace(scale=np.sqrt(0.5))


@final
@dataclass(frozen=True, eq=False, init=False)
class Uniform(Noise):
    """Noise uniform on (−√3, √3) standard deviations."""

    law: ClassVar[str] = "uniform"

    def unit(self) -> Any:
        """Return the uniform law of unit variance."""
        from scipy import stats

        return stats.uniform(loc=-np.sqrt(3), scale=2 * np.sqrt(3))


@final
@dataclass(frozen=True, eq=False, init=False)
class StudentT(Noise):
    """Heavy-tailed noise: Student's t with ``df`` > 2 degrees of freedom, scaled to the standard deviation."""

    law: ClassVar[str] = "student"
    df: float

    def __init__(
        self,
        std: Deviation = 1.0,
        *,
        df: float = 5.0,
        over_time: Schedule | float | str = Constant(1.0),  # noqa: B008
        temporal: Temporal | str = "white",
    ) -> None:
        Noise.__init__(self, std, over_time=over_time, temporal=temporal)
        if not 2 < df < np.inf:
            rule = "Student's t has a finite standard deviation only for more than 2 degrees of freedom"
            raise NoiseError(complain(rule, got=f"df={df}", remedy="use df > 2, or Gaussian for df = ∞"))
        object.__setattr__(self, "df", float(df))

    @property
    def shape(self) -> float:
        """The degrees of freedom."""
        return self.df

    def unit(self) -> Any:
        """Return Student's t scaled to unit variance."""
        from scipy import stats

        return stats.t(self.df, scale=np.sqrt((self.df - 2) / self.df))


@final
@dataclass(frozen=True, eq=False, init=False)
class Rademacher(Noise):
    """A fair coin: −1 or +1 standard deviations."""

    law: ClassVar[str] = "rademacher"

    def unit(self) -> Any:
        """Return the law of a fair sign."""
        from scipy import stats

        return stats.rv_discrete(name="rademacher", values=([-1, 1], [0.5, 0.5]))()


@final
@dataclass(frozen=True, eq=False, init=False)
class NoNoise(Noise):
    """No noise: every agent says what it means."""

    law: ClassVar[str] = "none"

    def __init__(self) -> None:
        Noise.__init__(self, 0.0)

    def unit(self) -> Any:
        """Return the law of the constant 0."""
        from scipy import stats

        return stats.rv_discrete(name="nothing", values=([0], [1.0]))()

    def __str__(self) -> str:
        return "no noise"


@final
@dataclass(frozen=True, eq=False, init=False)
class Custom(Noise):
    """A user's own law: any frozen SciPy distribution with a finite standard deviation.

    Its mean must be 0; ``centre=True`` subtracts it. ``std`` rescales it; left out, the law keeps its own.

    >>> from scipy import stats
    >>> Custom(stats.logistic(scale=0.2)).std
    0.3627...
    """

    law: ClassVar[str] = "custom"
    distribution: Any
    centre: bool

    def __init__(
        self,
        distribution: Any,
        std: Deviation | None = None,
        *,
        centre: bool = False,
        over_time: Schedule | float | str = Constant(1.0),  # noqa: B008
        temporal: Temporal | str = "white",
    ) -> None:
        mean, deviation = _moments_of(distribution)
        if abs(mean) > 1e-9 * max(deviation, 1e-300) and not centre:
            rule = "noise must have mean zero"
            remedy = "pass centre=True to subtract the mean, or add it to the hidden opinions"
            raise NoiseError(complain(rule, got=f"mean {mean:.6g}", remedy=remedy))
        Noise.__init__(self, deviation if std is None else std, over_time=over_time, temporal=temporal)
        object.__setattr__(self, "distribution", distribution)
        object.__setattr__(self, "centre", centre)

    def unit(self) -> Any:
        """Return the user's distribution itself; ``standardise`` maps its values to unit variance."""
        return self.distribution

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map draws from the distribution to mean zero and unit variance."""
        mean, deviation = _moments_of(self.distribution)
        return (values - mean) / deviation

    def _parameters(self) -> dict[str, Any]:
        frozen = self.distribution
        arguments = {
            "args": [float(a) for a in frozen.args],
            "kwds": {name: float(value) for name, value in sorted(frozen.kwds.items())},
        }
        return {"distribution": frozen.dist.name, "centre": self.centre} | arguments


def _moments_of(distribution: Any) -> tuple[float, float]:
    """Return mean and standard deviation of a frozen distribution, refusing what has none."""
    for part in ("ppf", "mean", "std", "dist", "args", "kwds"):
        if not hasattr(distribution, part):
            rule = "a custom noise must be a frozen SciPy distribution"
            raise NoiseError(
                complain(rule, got=repr(distribution), remedy="for instance Custom(stats.logistic(scale=0.2))")
            )
    try:
        mean, deviation = float(distribution.mean()), float(distribution.std())
    except TypeError:
        rule = "a custom noise must be a frozen SciPy distribution with its parameters given"
        raise NoiseError(complain(rule, got=repr(distribution), remedy="freeze it: stats.t(5)")) from None
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
        rule = "noise must have a finite mean and a finite, positive standard deviation"
        got = f"mean {mean:.6g} and standard deviation {deviation:.6g}"
        raise NoiseError(complain(rule, got=got, remedy="choose a law with lighter tails"))
    return mean, deviation


LAWS: Mapping[str, type[Noise]] = {
    law.law: law for law in (Gaussian, Laplace, Uniform, StudentT, Rademacher, NoNoise, Custom)
}


def noise_from_dict(values: Mapping[str, Any]) -> Noise:
    """Return the noise that ``to_dict`` described.

    >>> noise_from_dict(Laplace(2.0, temporal="persistent").to_dict()) == Laplace(2.0, temporal="persistent")
    True
    """
    rest = dict(values)
    name = rest.pop("law", None)
    if name not in LAWS:
        raise NoiseError(
            complain(f"the law must be one of {', '.join(LAWS)}", got=repr(name), remedy="check the spelling")
        )
    if name == NoNoise.law:
        return NoNoise()
    kind = dict(rest.pop("temporal"))
    word = kind.pop("kind")
    rest["temporal"] = AR1(**kind) if word == "ar1" else word
    rest["over_time"] = schedule_from_dict(rest["over_time"])
    if name == "custom":
        rest["distribution"] = _scipy_distribution(rest.pop("distribution"), rest.pop("args"), rest.pop("kwds"))
    return LAWS[name](**rest)


def _scipy_distribution(name: str, args: Sequence[float], kwds: Mapping[str, float]) -> Any:
    from scipy import stats

    family = getattr(stats, name, None)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        rule = "a saved custom noise must name a distribution of scipy.stats"
        raise NoiseError(complain(rule, got=repr(name), remedy="distributions defined elsewhere cannot be loaded"))
    return family(*args, **kwds)
