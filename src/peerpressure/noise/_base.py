"""What all noise has in common: ε_t = std_i · scale_t · u_t, with u_t mean zero and of unit variance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import NoiseError, message
from peerpressure.noise._correlation import AR1, Frozen, Temporal, as_temporal
from peerpressure.parameters import Parameter
from peerpressure.schedules import Constant, Schedule, as_schedule

Deviation: TypeAlias = float | Sequence[float] | NDArray[np.float64]


def _as_deviation(value: Deviation) -> float | NDArray[np.float64]:
    """Return a checked standard deviation: one number, or a read-only vector with one for each agent."""
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        rule = "a standard deviation must be a number, or one number for each agent"
        raise NoiseError(message(rule, got=repr(value), remedy="for instance Gaussian(0.5)")) from None
    if array.ndim > 1 or array.size == 0:
        rule = "standard deviations must be one number or a vector with one for each agent"
        raise NoiseError(message(rule, got=f"shape {array.shape}", remedy="flatten them"))
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
    """Mean-zero noise with a standard deviation, a scale over time and a temporal kind.

    ``law`` names the unit-variance law that the engine draws from; ``shape`` is its one parameter, if it has one.
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
        object.__setattr__(self, "std", _as_deviation(std))
        object.__setattr__(self, "time_scale", as_schedule(time_scale))
        object.__setattr__(self, "temporal", as_temporal(temporal))

    @property
    def shape(self) -> float:
        """The law's shape parameter, 0 if it has none."""
        return 0.0

    @abstractmethod
    def unit(self) -> Any:
        """Return the law of u, mean zero and unit variance, as a frozen SciPy distribution."""

    def unit_quantiles(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles of u, from which the engine draws where it has no transform of its own for the law."""
        return np.asarray(self.unit().ppf(shares))

    def deviations(self, agents: int) -> NDArray[np.float64]:
        """Return the standard deviation of each agent, before any scale over time; shape (agents,)."""
        return np.broadcast_to(np.asarray(self.std, dtype=np.float64), (agents,))

    def scale(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the common factor at the given times."""
        return np.asarray(self.time_scale(times), dtype=np.float64)

    def time_covariance(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return K with K[a, b] = E u_a u_b · scale_a · scale_b; an agent's covariance is std_i² K."""
        scale = self.scale(times)
        return self.temporal.correlation(times) * scale[:, None] * scale[None, :]

    @property
    def is_zero(self) -> bool:
        """Whether there is no noise at all."""
        return not np.any(self.std)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that ``noise_from_dict`` turns back into this noise."""
        std = self.std.tolist() if isinstance(self.std, np.ndarray) else self.std
        out: dict[str, Any] = {"law": self.law, "std": std, "time_scale": self.time_scale.to_dict()}
        out["temporal"] = (
            {"kind": "ar1", "coefficient": self.temporal.coefficient}
            if isinstance(self.temporal, AR1)
            else {"kind": type(self.temporal).__name__.lower()}
        )
        return out | self._parameters()

    def _parameters(self) -> dict[str, Any]:
        """Return the plain values of the parameters that this law adds."""
        own = {f.name for f in fields(self)} - {"std", "time_scale", "temporal"}
        return {name: getattr(self, name) for name in sorted(own)}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, Noise) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.law, self.temporal, self.shape))

    def __str__(self) -> str:
        std = np.asarray(self.std)
        size = f"{std:.4g}" if std.ndim == 0 else f"{std.min():.4g}–{std.max():.4g} by agent"
        parts = [f"{type(self).__name__}, standard deviation {size}"]
        if self.time_scale != Constant(1.0):
            parts.append(f"times {str(self.time_scale).split('= ', 1)[-1]}")
        if isinstance(self.temporal, AR1):
            parts.append(f"AR(1) with φ = {self.temporal.coefficient:g}")
        elif isinstance(self.temporal, Frozen):
            parts.append("one draw held for ever")
        return ", ".join(parts)
