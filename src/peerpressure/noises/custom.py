"""A user's own law: any frozen SciPy distribution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NoiseError, complain
from peerpressure.schedules import Constant, Schedule

from .base import Deviation, Noise
from .temporal import Temporal


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
            raise NoiseError(complain(rule, got=f"mean {mean:.6g}", remedy=remedy))
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
