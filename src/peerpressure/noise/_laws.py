"""The package's own laws, one small class each; the engine draws from them by name."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NoiseError, message
from peerpressure.noise._base import Deviation, Noise
from peerpressure.noise._correlation import Temporal
from peerpressure.schedules import Constant, Schedule


@final
@dataclass(frozen=True, eq=False, init=False)
class Gaussian(Noise):
    """Normal noise, the paper's.

    >>> from peerpressure.noise import AR1
    >>> print(Gaussian(0.5, temporal=AR1(0.8)))
    Gaussian, standard deviation 0.5, AR(1) with φ = 0.8
    """

    law: ClassVar[str] = "gaussian"

    def unit(self) -> Any:
        """Return the standard normal law."""
        from scipy import stats

        return stats.norm()

    def fisher_information(self) -> float:
        """Return 1, the least of all laws of unit variance."""
        return 1.0


@final
@dataclass(frozen=True, eq=False, init=False)
class Laplace(Noise):
    """Double-exponential noise, as differential privacy uses it."""

    law: ClassVar[str] = "laplace"

    def unit(self) -> Any:
        """Return the Laplace law of unit variance, scale 1/√2."""
        from scipy import stats

        return stats.laplace(scale=np.sqrt(0.5))

    def fisher_information(self) -> float:
        """Return 2."""
        return 2.0


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
        time_scale: Schedule | float | str = Constant(1.0),  # noqa: B008
        temporal: Temporal | str = "white",
    ) -> None:
        Noise.__init__(self, std, time_scale=time_scale, temporal=temporal)
        if not 2 < df < np.inf:
            rule = "Student's t has a finite standard deviation only for more than 2 degrees of freedom"
            raise NoiseError(message(rule, got=f"df={df}", remedy="use df > 2, or Gaussian for df = ∞"))
        object.__setattr__(self, "df", float(df))

    @property
    def shape(self) -> float:
        """The degrees of freedom."""
        return self.df

    def unit(self) -> Any:
        """Return Student's t scaled to unit variance."""
        from scipy import stats

        return stats.t(self.df, scale=np.sqrt((self.df - 2) / self.df))

    def fisher_information(self) -> float:
        """Return (ν+1)/(ν+3) · ν/(ν−2) for ν degrees of freedom."""
        return (self.df + 1) / (self.df + 3) * self.df / (self.df - 2)


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


# A user's own law: any frozen SciPy distribution.


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
        time_scale: Schedule | float | str = Constant(1.0),  # noqa: B008
        temporal: Temporal | str = "white",
    ) -> None:
        mean, deviation = _moments_of(distribution)
        if abs(mean) > 1e-9 * max(deviation, 1e-300) and not centre:
            rule = "noise must have mean zero"
            remedy = "pass centre=True to subtract the mean, or add it to the hidden opinions"
            raise NoiseError(message(rule, got=f"mean {mean:.6g}", remedy=remedy))
        Noise.__init__(self, deviation if std is None else std, time_scale=time_scale, temporal=temporal)
        object.__setattr__(self, "distribution", distribution)
        object.__setattr__(self, "centre", centre)

    def unit(self) -> Any:
        """Return the user's distribution itself; ``standardise`` maps its values to unit variance."""
        return self.distribution

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map draws from the distribution to mean zero and unit variance."""
        mean, deviation = _moments_of(self.distribution)
        return (values - mean) / deviation

    def fisher_information(self) -> float:
        """Return Var(X)·E (d/dx log f)² by quadrature; ∞ where the density has jumps or the integral diverges."""
        law = self.distribution
        if not hasattr(law.dist, "logpdf") or any(law.pdf(end) > 0 for end in law.support() if math.isfinite(end)):
            return math.inf
        # Where the integral diverges, it still grows as the tails that are left out shrink.
        rough, fine = (_score_square(law, tail) for tail in (1e-7, 1e-10))
        return fine * float(law.var()) if fine < 1.01 * rough else math.inf

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
                message(rule, got=repr(distribution), remedy="for instance Custom(stats.logistic(scale=0.2))")
            )
    try:
        mean, deviation = float(distribution.mean()), float(distribution.std())
    except TypeError:
        rule = "a custom noise must be a frozen SciPy distribution with its parameters given"
        raise NoiseError(message(rule, got=repr(distribution), remedy="freeze it: stats.t(5)")) from None
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
        rule = "noise must have a finite mean and a finite, positive standard deviation"
        got = f"mean {mean:.6g} and standard deviation {deviation:.6g}"
        raise NoiseError(message(rule, got=got, remedy="choose a law with lighter tails"))
    return mean, deviation


def _score_square(law: Any, tail: float, panels: int = 400) -> float:
    """Return ∫ (f′/f)² f over all but the two tails, by Gauss–Legendre panels between quantiles."""
    # Quantiles that crowd into the tails like the logistic law's follow steep ends and broad middles alike.
    levels = 1 / (1 + np.exp(-np.linspace(-math.log(1 / tail), math.log(1 / tail), panels + 1)))
    edges = law.ppf(levels)
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half) + half * nodes
    h = np.maximum(1e-2 * half, 1e-6 * np.abs(x))
    score = (law.logpdf(x - 2 * h) - 8 * law.logpdf(x - h) + 8 * law.logpdf(x + h) - law.logpdf(x + 2 * h)) / (12 * h)
    return float(np.sum(half * weights * score**2 * law.pdf(x)))
