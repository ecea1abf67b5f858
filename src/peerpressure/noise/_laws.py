"""Noise laws, one class each with its declared parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, cast, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NoiseError, message
from peerpressure.noise._base import Deviation, Noise, Temporal
from peerpressure.schedules import Constant, Schedule
from peerpressure.support.parameters import Parameter, Slider
from peerpressure.support.results import one_line

STD = Parameter(
    "std",
    "per agent",
    "standard deviation σ₀",
    "one number, or one for each agent",
    slider=Slider(0.001, 100.0, 0.001, start=0.5, log=True),
)
DF = Parameter(
    "df",
    "real",
    "degrees of freedom",
    "the variance is finite above 2 only",
    above=2,
    remedy="use df > 2, or Gaussian for df = ∞",
    slider=Slider(2.1, 50.0, 0.1, log=True),
)


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Gaussian(Noise):
    """Normal noise, as in the paper.

    Parameters
    ----------
    std : float or array_like of shape (n,), default 1.0
        Standard deviation in units of opinion, at least 0; the same for all agents or one for each.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    See Also
    --------
    Laplace : Heavier tails, with privacy in its strict sense.
    noise.Uniform : Bounded noise.

    Examples
    --------
    >>> from peerpressure import AR1, Gaussian
    >>> print(Gaussian(0.5, temporal=AR1(0.8)))
    Gaussian, standard deviation 0.5, AR(1) with φ = 0.8
    """

    law: ClassVar[str] = "gaussian"
    title: ClassVar[str] = "Normal"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD,)

    def unit(self) -> Any:
        """Return the standard normal law."""
        from scipy import stats

        return stats.norm()

    def fisher_information(self) -> float:
        """Return 1, the least of all laws of unit variance."""
        return 1.0


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Laplace(Noise):
    """Double-exponential noise, the standard mechanism of differential privacy.

    Parameters
    ----------
    std : float or array_like of shape (n,), default 1.0
        Standard deviation in units of opinion, at least 0; the same for all agents or one for each.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    See Also
    --------
    Gaussian : The noise of the paper.
    StudentT : Still heavier tails.
    privacy.budget : Privacy that the noise gives.

    References
    ----------
    .. [1] C. Dwork, F. McSherry, K. Nissim and A. Smith (2006), "Calibrating Noise to Sensitivity in Private Data
       Analysis", Theory of Cryptography Conference, 265–284.

    Examples
    --------
    >>> from peerpressure import Laplace
    >>> Laplace(1.0).fisher_information()
    2.0
    """

    law: ClassVar[str] = "laplace"
    title: ClassVar[str] = "Laplace"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD,)

    def unit(self) -> Any:
        """Return the Laplace law of unit variance, scale 1/√2."""
        from scipy import stats

        # The variance of a Laplace law is twice the square of its scale.
        return stats.laplace(scale=np.sqrt(0.5))

    def fisher_information(self) -> float:
        """Return 2."""
        # 1/b² with b² = ½; the kink at 0 has probability 0 and does no harm.
        return 2.0


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Uniform(Noise):
    """Bounded noise, uniform within √3 standard deviations: it rules out opinions with certainty.

    Parameters
    ----------
    std : float or array_like of shape (n,), default 1.0
        Standard deviation in units of opinion, at least 0; the same for all agents or one for each.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    See Also
    --------
    noise.Rademacher : The other bounded law, of two values.
    Gaussian : Noise without bounds.

    Examples
    --------
    >>> from peerpressure.noise import Uniform
    >>> Uniform(2.0).unit_quantiles([0.0, 0.5, 1.0]).round(3) + 0.0
    array([-1.732,  0.   ,  1.732])
    """

    law: ClassVar[str] = "uniform"
    title: ClassVar[str] = "Uniform"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD,)

    def unit(self) -> Any:
        """Return the uniform law of unit variance."""
        from scipy import stats

        # A uniform law on an interval of length L has variance L²/12.
        return stats.uniform(loc=-np.sqrt(3), scale=2 * np.sqrt(3))


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class StudentT(Noise):
    """Heavy-tailed noise: Student's t, scaled to the standard deviation.

    Parameters
    ----------
    std : float or array_like of shape (n,), default 1.0
        Standard deviation in units of opinion, at least 0; the same for all agents or one for each.
    df : float, default 5.0
        Degrees of freedom, above 2.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    Raises
    ------
    NoiseError
        If a standard deviation is negative, or ``df`` is not above 2.

    See Also
    --------
    Laplace : Tails that decay exponentially.

    Examples
    --------
    >>> from peerpressure import StudentT
    >>> round(StudentT(1.0, df=4.0).fisher_information(), 4)
    1.4286
    """

    law: ClassVar[str] = "student"
    title: ClassVar[str] = "Student's t"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD, DF)
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
        object.__setattr__(self, "df", DF.check(df, NoiseError))

    @property
    def shape(self) -> float:
        """Degrees of freedom."""
        return self.df

    def unit(self) -> Any:
        """Return Student's t scaled to unit variance."""
        from scipy import stats

        # The variance of Student's t is ν/(ν − 2).
        return stats.t(self.df, scale=np.sqrt((self.df - 2) / self.df))

    def fisher_information(self) -> float:
        """Return (ν+1)/(ν+3) · ν/(ν−2) for ν degrees of freedom."""
        # The first factor is the information of the standard t, the others its variance, to which the location is
        # scaled.
        return (self.df + 1) / (self.df + 3) * self.df / (self.df - 2)


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Rademacher(Noise):
    """Random sign: one standard deviation up or down with equal probability.

    Parameters
    ----------
    std : float or array_like of shape (n,), default 1.0
        Standard deviation in units of opinion, at least 0; the same for all agents or one for each.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    See Also
    --------
    noise.Uniform : Bounded noise with a density.

    Examples
    --------
    >>> from peerpressure.noise import Rademacher
    >>> Rademacher(2.0).unit_quantiles([0.25, 0.75])
    array([-1.,  1.])
    """

    law: ClassVar[str] = "rademacher"
    title: ClassVar[str] = "Random sign (Rademacher)"
    parameters: ClassVar[tuple[Parameter, ...]] = (STD,)

    def unit(self) -> Any:
        """Return the law of a fair sign."""
        from scipy import stats

        return stats.rv_discrete(name="rademacher", values=([-1, 1], [0.5, 0.5]))()


@final
@dataclass(frozen=True, eq=False, init=False)
class NoNoise(Noise):
    """No noise: public opinions follow from hidden opinions without error.

    See Also
    --------
    Gaussian : The noise of the paper.

    Examples
    --------
    >>> from peerpressure import NoNoise
    >>> NoNoise().is_zero
    True
    """

    law: ClassVar[str] = "none"
    title: ClassVar[str] = "None"
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def __init__(self) -> None:
        Noise.__init__(self, 0.0)

    def unit(self) -> Any:
        """Return the law of the constant 0."""
        from scipy import stats

        return stats.rv_discrete(name="nothing", values=([0], [1.0]))()

    def __str__(self) -> str:
        return "no noise"


@final
@one_line
@dataclass(frozen=True, eq=False, init=False)
class Custom(Noise):
    """Noise of any SciPy distribution with a finite standard deviation.

    A distribution without quantiles of its own, such as a subclass of ``rv_continuous`` with a ``_pdf`` alone, is drawn
    from a table of them, which is accurate to 10⁻⁷ of the standard deviation, or of the distance from the mean where
    that is larger. Its density must take arrays; one that is too rough for this accuracy is an error.

    Parameters
    ----------
    distribution : frozen scipy.stats distribution
        Noise distribution, with mean zero unless it is centred.
    std : float or array_like of shape (n,), optional
        Standard deviation to which the law is scaled; its own by default.
    centre : bool, default False
        Whether to subtract the mean.
    time_scale : Schedule, float or str, default 1
        Factor of the standard deviation at step t, at least 0.
    temporal : Temporal or str, default "white"
        Correlation in time: "white", "frozen" or ``AR1(coefficient)``.

    Raises
    ------
    NoiseError
        If the distribution has no finite standard deviation above 0, or its mean is not 0 and it is not centred. When
        noise is first drawn, if a density does not have the integral 1 or is too rough for a table.

    See Also
    --------
    Gaussian : The noise of the paper.

    Examples
    --------
    >>> from scipy import stats
    >>> from peerpressure.noise import Custom
    >>> Custom(stats.logistic(scale=0.2)).std
    0.3627...
    """

    law: ClassVar[str] = "custom"
    title: ClassVar[str] = "A distribution of SciPy"
    parameters: ClassVar[tuple[Parameter, ...]] = (
        replace(STD, help="without it the distribution keeps its own"),
        Parameter("distribution", "text", "distribution", "name in scipy.stats"),
        Parameter("centre", "flag", "centred", "subtract the mean"),
    )
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
        # Relative to the deviation, because means of SciPy laws come from series or quadrature with rounding errors.
        if abs(mean) > 1e-9 * max(deviation, 1e-300) and not centre:
            rule = "noise must have mean zero"
            remedy = "pass centre=True to subtract the mean, or add it to the hidden opinions"
            raise NoiseError(message(rule, got=f"mean {mean:.6g}", remedy=remedy))
        Noise.__init__(self, deviation if std is None else std, time_scale=time_scale, temporal=temporal)
        object.__setattr__(self, "distribution", distribution)
        object.__setattr__(self, "centre", centre)

    def unit(self) -> Any:
        """Return the user's distribution itself; `standardise` maps its values to unit variance."""
        return self.distribution

    def unit_quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of the distribution scaled to mean zero and unit variance."""
        return self.standardise(self._quantiles(shares))

    @cached_property
    def _quantiles(self) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
        """The distribution's own quantiles, or those of a table where it has none."""
        from peerpressure.noise._quantiles import needs_table, quantile_table

        if not needs_table(self.distribution):
            return cast(Callable[[NDArray[np.float64]], NDArray[np.float64]], self.distribution.ppf)
        return quantile_table(self.distribution, *self._moments)

    @cached_property
    def _moments(self) -> tuple[float, float]:
        """Mean and standard deviation of the distribution, which SciPy may have to integrate."""
        return _moments_of(self.distribution)

    def standardise(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map draws from the distribution to mean zero and unit variance.

        Parameters
        ----------
        values : array of float
            Draws from ``distribution``.

        Returns
        -------
        array of float
            The draws, centred and scaled, in the same shape.
        """
        mean, deviation = self._moments
        return (values - mean) / deviation

    def fisher_information(self) -> float:
        """Return Var(X)·E (d/dx log f)² by quadrature; ∞ where the density has jumps or the integral diverges."""
        law = self.distribution
        # Discrete laws have no density. A density that is positive at a finite end of its support jumps to 0 there: a
        # shift of the location then excludes values for certain, and the information is infinite.
        if not hasattr(law.dist, "logpdf") or any(law.pdf(end) > 0 for end in law.support() if math.isfinite(end)):
            return math.inf
        # If the integral diverges, it still grows as the tails that are left out shrink.
        # A convergent integral changes by far less than 1 % between these tails.
        rough, fine = (_score_square(law, tail, self._quantiles) for tail in (1e-7, 1e-10))
        return fine * self._moments[1] ** 2 if fine < 1.01 * rough else math.inf

    def _parameters(self) -> dict[str, Any]:
        frozen = self.distribution
        arguments = {
            # Plain floats, because JSON does not take NumPy scalars.
            "args": [float(a) for a in frozen.args],
            "kwds": {name: float(value) for name, value in sorted(frozen.kwds.items())},
        }
        return {"distribution": frozen.dist.name, "centre": self.centre} | arguments


def _moments_of(distribution: Any) -> tuple[float, float]:
    """Return mean and standard deviation of a frozen distribution; raise if it has none."""
    # By its attributes and not its class: SciPy has no public class of frozen distributions.
    for part in ("ppf", "mean", "std", "dist", "args", "kwds"):
        if not hasattr(distribution, part):
            rule = "a custom noise must be a frozen SciPy distribution"
            raise NoiseError(
                message(rule, got=repr(distribution), remedy="for instance Custom(stats.logistic(scale=0.2))")
            )
    from peerpressure.noise._quantiles import density_moments

    try:
        mean, deviation = density_moments(distribution) or (float(distribution.mean()), float(distribution.std()))
    except TypeError:
        rule = "a custom noise must be a frozen SciPy distribution with its parameters given"
        raise NoiseError(message(rule, got=repr(distribution), remedy="freeze it: stats.t(5)")) from None
    # Cauchy's law, for instance, has neither; noise of infinite variance has no second moments to predict.
    if not (np.isfinite(mean) and np.isfinite(deviation) and deviation > 0):
        rule = "noise must have a finite mean and a finite, positive standard deviation"
        got = f"mean {mean:.6g} and standard deviation {deviation:.6g}"
        raise NoiseError(message(rule, got=got, remedy="choose a law with lighter tails"))
    return mean, deviation


def _score_square(
    law: Any, tail: float, quantiles: Callable[[NDArray[np.float64]], NDArray[np.float64]], panels: int = 400
) -> float:
    """Return ∫ (f′/f)² f over all but the two tails, by Gauss–Legendre panels between quantiles."""
    # Quantiles that crowd into the tails like the logistic law's follow steep ends and broad middles alike.
    levels = 1 / (1 + np.exp(-np.linspace(-math.log(1 / tail), math.log(1 / tail), panels + 1)))
    edges = quantiles(levels)
    # Degree 11 is exact on each panel, which leaves the differences below as the main error.
    nodes, weights = np.polynomial.legendre.leggauss(6)
    half = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half) + half * nodes
    # Relative to the panel, which follows the scale of the density; the floor keeps the differences of
    # logarithms above rounding.
    h = np.maximum(1e-2 * half, 1e-6 * np.abs(x))
    # Central differences of order 4 of the logarithm, since SciPy has no derivatives of densities.
    score = (law.logpdf(x - 2 * h) - 8 * law.logpdf(x - h) + 8 * law.logpdf(x + h) - law.logpdf(x + 2 * h)) / (12 * h)
    return float(np.sum(half * weights * score**2 * law.pdf(x)))
