"""Temporal kinds of noise: how the unit noise u_t of an agent depends on u_{t−1}."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NoiseError, message

# All kinds are one recursion, u_t = φ u_{t−1} + √(1−φ²) z_t with independent z_t and u_1 of unit variance. Each has
# φ as ``coefficient``; ``has_memory`` is whether u_{t−1} must be stored to draw u_t.


@final
@dataclass(frozen=True)
class White:
    """Independent noise, φ = 0: a new draw at each step."""

    coefficient: ClassVar[float] = 0.0
    has_memory: ClassVar[bool] = False

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) for all pairs of the given times."""
        t = np.asarray(times)
        # By times and not positions, so that a time that occurs twice correlates with itself.
        return np.asarray(t[:, None] == t[None, :], dtype=np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``."""
        return {"kind": "white"}

    @property
    def description(self) -> str:
        """Nothing to add to the law."""
        return ""


@final
@dataclass(frozen=True)
class Frozen:
    """Frozen (quenched) noise, φ = 1: one draw for each agent, kept for all steps."""

    coefficient: ClassVar[float] = 1.0
    has_memory: ClassVar[bool] = True

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = 1 for all pairs of the given times."""
        t = np.asarray(times)
        return np.ones((t.size, t.size))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``."""
        return {"kind": "frozen"}

    @property
    def description(self) -> str:
        """How noise of this kind is described after its law."""
        return "one draw for all steps"


@final
@dataclass(frozen=True)
class AR1:
    """First-order autoregressive noise, u_t = φ u_{t−1} + √(1−φ²) z_t, started from its stationary law.

    Parameters
    ----------
    coefficient : float
        The autocorrelation φ at lag one, −1 < φ < 1.

    Raises
    ------
    NoiseError
        If φ is not strictly between −1 and 1.

    Examples
    --------
    >>> AR1(0.5).correlation([1, 2, 4])
    array([[1.   , 0.5  , 0.125],
           [0.5  , 1.   , 0.25 ],
           [0.125, 0.25 , 1.   ]])
    """

    coefficient: float
    has_memory: ClassVar[bool] = True

    def __post_init__(self) -> None:
        # At ±1 the innovation √(1−φ²) vanishes: 1 is frozen noise, and −1 a sign that alternates. The comparison is
        # false for NaN as well.
        if not -1 < self.coefficient < 1:
            rule = "the AR(1) coefficient must lie strictly between -1 and 1"
            raise NoiseError(message(rule, got=self.coefficient, remedy="for noise that never changes use 'frozen'"))

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = φ^|t−t′| for all pairs of the given times."""
        # Floats, because unsigned times would wrap around in the difference.
        t = np.asarray(times, dtype=np.float64)
        return np.asarray(self.coefficient ** np.abs(t[:, None] - t[None, :]))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for ``Noise.to_dict``."""
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
