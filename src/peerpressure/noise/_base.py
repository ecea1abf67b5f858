"""The base class of all noise, ε_t = std_i · scale_t · u_t, and its temporal kinds: how u_t depends on u_{t−1}."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NoiseError, message
from peerpressure.schedules import Constant, Schedule, as_schedule
from peerpressure.support.parameters import Parameter, refuse_labels

# All temporal kinds are one recursion, u_t = φ u_{t−1} + √(1−φ²) z_t with independent z_t and u_1 of unit variance.
# Each has φ as ``coefficient``; ``has_memory`` is whether u_{t−1} must be stored to draw u_t.


@final
@dataclass(frozen=True)
class White:
    """Independent noise, φ = 0: a new draw at each step.

    See Also
    --------
    AR1 : Noise with a correlation in time.
    Frozen : One draw for all steps.

    Examples
    --------
    >>> from peerpressure.noise import White
    >>> White().correlation([1, 2])
    array([[1., 0.],
           [0., 1.]])
    """

    coefficient: ClassVar[float] = 0.0
    has_memory: ClassVar[bool] = False

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) for all pairs of the given times.

        Parameters
        ----------
        times : array_like of shape (T,)
            Steps.

        Returns
        -------
        array of shape (T, T)
            Correlations between −1 and 1.
        """
        t = np.asarray(times)
        # Compares times and not positions: a time that occurs twice correlates with itself.
        return np.asarray(t[:, None] == t[None, :], dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``.

        Returns
        -------
        dict
            The ``kind``, with the ``coefficient`` of an AR(1).
        """
        return {"kind": "white"}

    @property
    def description(self) -> str:
        """Nothing to add to the law."""
        return ""


@final
@dataclass(frozen=True)
class Frozen:
    """Frozen (quenched) noise, φ = 1: one draw for each agent, kept for all steps.

    See Also
    --------
    AR1 : Noise that changes slowly.
    noise.White : A new draw at each step.

    Examples
    --------
    >>> from peerpressure import Frozen, Gaussian
    >>> Gaussian(1.0, temporal=Frozen()) == Gaussian(1.0, temporal="frozen")
    True
    """

    coefficient: ClassVar[float] = 1.0
    has_memory: ClassVar[bool] = True

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = 1 for all pairs of the given times.

        Parameters
        ----------
        times : array_like of shape (T,)
            Steps.

        Returns
        -------
        array of shape (T, T)
            Correlations between −1 and 1.
        """
        t = np.asarray(times)
        return np.ones((t.size, t.size))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``.

        Returns
        -------
        dict
            The ``kind``, with the ``coefficient`` of an AR(1).
        """
        return {"kind": "frozen"}

    @property
    def description(self) -> str:
        """How noise of this kind is described after its law."""
        return "one draw for all steps"


# At ±1 the innovation √(1−φ²) vanishes: 1 is frozen noise, and −1 a sign that alternates.
_COEFFICIENT = Parameter(
    "coefficient", "real", "autocorrelation", above=-1, below=1, remedy="for noise that never changes use 'frozen'"
)


@final
@dataclass(frozen=True)
class AR1:
    """First-order autoregressive noise, u_t = φ u_{t−1} + √(1−φ²) z_t, started from its stationary distribution.

    Parameters
    ----------
    coefficient : float
        The autocorrelation φ at lag one, −1 < φ < 1.

    Raises
    ------
    NoiseError
        If φ is not strictly between −1 and 1.

    See Also
    --------
    noise.White : Independent noise, φ = 0.
    Frozen : One draw for all steps, φ = 1.

    Examples
    --------
    >>> from peerpressure import AR1
    >>> AR1(0.5).correlation([1, 2, 4])
    array([[1.   , 0.5  , 0.125],
           [0.5  , 1.   , 0.25 ],
           [0.125, 0.25 , 1.   ]])
    """

    coefficient: float
    has_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "coefficient", _COEFFICIENT.check(self.coefficient, NoiseError, "AR1"))

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = φ^|t−t′| for all pairs of the given times.

        Parameters
        ----------
        times : array_like of shape (T,)
            Steps.

        Returns
        -------
        array of shape (T, T)
            Correlations between −1 and 1.
        """
        # Floats, because unsigned times would wrap around in the difference.
        t = np.asarray(times, dtype=np.float64)
        return np.asarray(self.coefficient ** np.abs(t[:, None] - t[None, :]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``.

        Returns
        -------
        dict
            The ``kind``, with the ``coefficient`` of an AR(1).
        """
        return {"kind": "ar1", "coefficient": self.coefficient}

    @property
    def description(self) -> str:
        """How noise of this kind is described after its law."""
        return f"AR(1) with φ = {self.coefficient:g}"


Temporal: TypeAlias = White | Frozen | AR1
# Instances can be shared, since they have no state.
_TEMPORAL_WORDS: Mapping[str, Temporal] = {"white": White(), "frozen": Frozen()}


def as_temporal(value: object) -> Temporal:
    """Return a temporal kind as it is, or the one that a word names."""
    if isinstance(value, (White, Frozen, AR1)):
        return value
    if isinstance(value, str) and value in _TEMPORAL_WORDS:
        return _TEMPORAL_WORDS[value]
    rule = "the temporal kind must be 'white', 'frozen' or AR1(coefficient)"
    raise NoiseError(message(rule, got=repr(value), remedy="leave it out for white noise, the paper's"))


Deviation: TypeAlias = float | Sequence[float] | NDArray[np.float64]


def _as_deviation(value: Deviation) -> float | NDArray[np.float64]:
    """Return a valid standard deviation: one number, or a read-only vector with one for each agent."""
    refuse_labels(value, "a standard deviation", NoiseError)
    try:
        # A copy, which the caller cannot change afterwards; it is made read-only below.
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        rule = "a standard deviation must be a number, or one number for each agent"
        raise NoiseError(message(rule, got=repr(value), remedy="for instance Gaussian(0.5)")) from None
    if array.ndim > 1 or array.size == 0:
        rule = "standard deviations must be one number or a vector with one for each agent"
        raise NoiseError(message(rule, got=f"shape {array.shape}", remedy="flatten them"))
    # The condition is stated for legal values and negated, because every comparison with NaN is false.
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if bad.size:
        where = f" at agent {bad[0]}" if array.ndim else ""
        rule = "a standard deviation must be finite and not negative"
        raise NoiseError(message(rule, got=f"{array.flat[bad[0]]}{where}", remedy="use 0 for an agent without noise"))
    if array.ndim == 0:
        return float(array)
    array.flags.writeable = False
    return array


@dataclass(frozen=True, eq=False, init=False)
class Noise(ABC):
    """Mean-zero noise ε_t = std_i · scale_t · u_t on the hidden opinion of agent i at step t.

    A subclass is a law of u; the class attribute ``law`` is the name by which the engine draws from it.

    Parameters
    ----------
    std : float or sequence of float, default 1.0
        Standard deviation in units of opinion, at least 0, one for all agents or one for each.
    time_scale : Schedule, float or str, default 1.0
        Factor scale_t ≥ 0 that is common to all agents.
    temporal : Temporal or str, default "white"
        Dependence between steps: "white" (independent), "frozen" (one draw for all steps) or ``AR1(coefficient)``.

    Attributes
    ----------
    law : str
        Name of the law in scenario files and stored runs.
    title : str
        Name of the law for a label.
    parameters : tuple of Parameter
        Declaration of the constructor's arguments.

    Raises
    ------
    NoiseError
        If a standard deviation is negative or not finite.

    See Also
    --------
    peerpressure.noise.LAWS : Table of all laws.

    Examples
    --------
    >>> from peerpressure.noise import LAWS, Gaussian, Noise
    >>> isinstance(Gaussian(), Noise), list(LAWS)[:3]
    (True, ['gaussian', 'laplace', 'uniform'])
    """

    law: ClassVar[str]
    title: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]]

    std: float | NDArray[np.float64]
    time_scale: Schedule
    temporal: Temporal

    def __init__(
        self,
        std: Deviation = 1.0,
        *,
        time_scale: Schedule | float | str = Constant(1.0),  # noqa: B008 — frozen, so sharing it is safe
        temporal: Temporal | str = "white",
    ) -> None:
        # The dataclass is frozen; this sets a field past its guard.
        object.__setattr__(self, "std", _as_deviation(std))
        object.__setattr__(self, "time_scale", as_schedule(time_scale))
        object.__setattr__(self, "temporal", as_temporal(temporal))

    @property
    def shape(self) -> float:
        """The law's shape parameter, 0 if it has none."""
        return 0.0

    @property
    def autocorrelation(self) -> float:
        """The autocorrelation φ of u_t at lag one: 0 for white noise, 1 for frozen noise."""
        return self.temporal.coefficient

    @property
    def has_memory(self) -> bool:
        """Whether u_t depends on earlier steps, in which case a run must store it."""
        return self.temporal.has_memory

    @property
    def is_frozen(self) -> bool:
        """Whether each agent has one draw for all steps, φ = 1."""
        return self.autocorrelation == 1.0

    @abstractmethod
    def unit(self) -> Any:
        """Return the law of u, mean zero and unit variance, as a frozen SciPy distribution."""

    def unit_quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of u, from which the engine draws where it has no transform of its own for the law.

        Parameters
        ----------
        shares : array of float
            Probabilities from 0 to 1.

        Returns
        -------
        array of float
            Quantiles of u, in the shape of ``shares``.
        """
        return np.asarray(self.unit().ppf(shares))

    def fisher_information(self) -> float:
        """Return the Fisher information about a location x in one draw x + u: 1 for a normal law, more for others.

        It is ∞ for a law whose density has jumps, or that has no density.

        Returns
        -------
        float
            Information about x, in units of 1/variance of u; at least 1.
        """
        # Correct for laws with jumps in the density or without one; smooth laws override it.
        return math.inf

    def deviations(self, agents: int) -> NDArray[np.float64]:
        """Return the standard deviation std_i of each agent, without the time scale; shape (agents,).

        Parameters
        ----------
        agents : int
            Number of agents of the model.

        Returns
        -------
        array of shape (agents,)
            Standard deviations, in units of opinion.
        """
        return np.broadcast_to(np.asarray(self.std, dtype=np.float64), (agents,))

    def scale(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return scale_t at the given times.

        Parameters
        ----------
        times : int or array_like of int
            Steps t ≥ 1.

        Returns
        -------
        array of float
            Factors of the standard deviation, in the shape of ``times``.
        """
        return np.asarray(self.time_scale(times), dtype=np.float64)

    def time_covariance(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return K with K[a, b] = E u_a u_b · scale_a · scale_b; an agent's covariance is std_i² K.

        Parameters
        ----------
        times : array_like of int, shape (T,)
            Steps t ≥ 1.

        Returns
        -------
        array of shape (T, T)
            Covariance over time of noise of standard deviation 1.
        """
        scale = self.scale(times)
        # Agents are independent and share the time course, so one matrix over times serves all of them.
        return self.temporal.correlation(times) * scale[:, None] * scale[None, :]

    @property
    def is_zero(self) -> bool:
        """Whether the standard deviation of every agent is 0."""
        # Read at every step, and np.any takes microseconds for a single number.
        return not (self.std if isinstance(self.std, float) else self.std.any())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which ``noise_from_dict`` builds an equal noise.

        Returns
        -------
        dict
            The ``law``, its parameters, and ``time_scale`` and ``temporal`` as plain values.
        """
        std = self.std.tolist() if isinstance(self.std, np.ndarray) else self.std
        out: dict[str, Any] = {"law": self.law, "std": std, "time_scale": self.time_scale.to_dict()}
        return out | {"temporal": self.temporal.to_dict()} | self._parameters()

    def _parameters(self) -> dict[str, Any]:
        """Return plain values of the parameters that this law adds."""
        # Derived from the fields: a new law needs no code of its own for files.
        own = {f.name for f in fields(self)} - {"std", "time_scale", "temporal"}
        return {name: getattr(self, name) for name in sorted(own)}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Noise) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        # Deviations may be arrays, which have no hash; equal noises still have equal hashes.
        return hash((self.law, self.temporal, self.shape))

    def __str__(self) -> str:
        std = np.asarray(self.std)
        size = f"{std:.4g}" if std.ndim == 0 else f"{std.min():.4g}–{std.max():.4g} by agent"
        parts = [f"{type(self).__name__}, standard deviation {size}"]
        if self.time_scale != Constant(1.0):
            parts.append(f"times {str(self.time_scale).split('= ', 1)[-1]}")
        if self.temporal.description:
            parts.append(self.temporal.description)
        return ", ".join(parts)
