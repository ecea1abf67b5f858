"""How noise goes on in time: drawn anew, held for ever, or carried over in part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NoiseError, message


@final
@dataclass(frozen=True)
class White:
    """Drawn anew at each step, independent of all other steps."""

    @property
    def phi(self) -> float:
        """φ in u_t = φ u_{t−1} + √(1−φ²) w_t: 0."""
        return 0.0

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) for all pairs of the given times."""
        t = np.asarray(times)
        return np.asarray(t[:, None] == t[None, :], dtype=np.float64)


@final
@dataclass(frozen=True)
class Frozen:
    """Drawn once for each agent and held for ever: a mask."""

    @property
    def phi(self) -> float:
        """φ in u_t = φ u_{t−1} + √(1−φ²) w_t: 1."""
        return 1.0

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
            raise NoiseError(message(rule, got=self.coefficient, remedy="for noise that never changes use 'frozen'"))

    @property
    def phi(self) -> float:
        """φ in u_t = φ u_{t−1} + √(1−φ²) w_t."""
        return self.coefficient

    def correlation(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return corr(u_t, u_t′) = φ^|t−t′| for all pairs of the given times."""
        t = np.asarray(times, dtype=np.float64)
        return np.asarray(self.coefficient ** np.abs(t[:, None] - t[None, :]))


Temporal: TypeAlias = White | Frozen | AR1
_TEMPORAL_WORDS: Mapping[str, Temporal] = {"white": White(), "frozen": Frozen()}


def as_temporal(value: object) -> Temporal:
    """Return a temporal kind, or the one that a word stands for."""
    if isinstance(value, (White, Frozen, AR1)):
        return value
    if isinstance(value, str) and value in _TEMPORAL_WORDS:
        return _TEMPORAL_WORDS[value]
    rule = "the temporal kind must be 'white', 'frozen' or AR1(coefficient)"
    raise NoiseError(message(rule, got=repr(value), remedy="leave it out for white noise, the paper's"))
