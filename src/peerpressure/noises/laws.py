"""The package's own laws, one small class each; the engine draws from them by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from peerpressure.errors import NoiseError, complain
from peerpressure.schedules import Constant, Schedule

from .base import Deviation, Noise
from .temporal import Temporal


@final
@dataclass(frozen=True, eq=False, init=False)
class Gaussian(Noise):
    """Normal noise, the paper's.

    >>> from peerpressure.noises import AR1
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
        time_scale: Schedule | float | str = Constant(1.0),  # noqa: B008
        temporal: Temporal | str = "white",
    ) -> None:
        Noise.__init__(self, std, time_scale=time_scale, temporal=temporal)
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
