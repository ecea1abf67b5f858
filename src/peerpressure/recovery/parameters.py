"""What a fit of unknown parameters returns: their values and standard errors beside the estimate of x₀."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Vector
from peerpressure.recovery.estimate import Estimate

if TYPE_CHECKING:
    import pandas

UNKNOWNS = ("std", "stubbornness", "slope", "exponent")


@final
@dataclass(frozen=True, eq=False)
class Parameter:
    """One unknown: ``value`` and ``std`` are (replicates,), or (replicates, n) where each agent has its own.

    ``identified`` says where the outputs settle it at all; elsewhere the standard error is infinite.
    """

    value: Vector
    std: Vector

    @property
    def identified(self) -> NDArray[np.bool_]:
        """Where the outputs settle the parameter."""
        return np.isfinite(self.std)


@final
@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Parameters and x₀ at the maximum of their joint likelihood.

    Standard errors are those of the observed information, the exact second derivative at the maximum. They differ a
    little from one replicate to the next; the covariance of ``estimate`` is their mean over replicates, and
    ``hidden_std`` (replicates, n) has them one by one. ``log_likelihood`` is (replicates,).
    """

    estimate: Estimate
    parameters: Mapping[str, Parameter]
    hidden_std: Vector
    log_likelihood: Vector

    @property
    def identifiable(self) -> NDArray[np.bool_]:
        """In which replicates the outputs settle every unknown, (replicates,)."""
        settled = np.ones(self.log_likelihood.shape, dtype=bool)
        for parameter in self.parameters.values():
            settled &= parameter.identified.reshape(settled.size, -1).all(axis=1)
        return settled

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: parameter, agent (None for one that all share), replicate, value, std."""
        import pandas

        labels = self.estimate.model.network.labels
        rows = [
            (name, labels[column] if parameter.value.ndim == 2 else None, replicate, value, std)
            for name, parameter in self.parameters.items()
            for replicate, (values, deviations) in enumerate(zip(parameter.value, parameter.std, strict=True))
            for column, (value, std) in enumerate(zip(np.atleast_1d(values), np.atleast_1d(deviations), strict=True))
        ]
        return pandas.DataFrame(rows, columns=["parameter", "agent", "replicate", "value", "std"])

    def __repr__(self) -> str:
        parts = [
            f"{name} {np.median(p.value):.4g} ± {np.median(p.std):.2g}" + " (median agent)" * (p.value.ndim == 2)
            for name, p in self.parameters.items()
        ]
        size = f"{self.log_likelihood.size} replicate" + "s" * (self.log_likelihood.size != 1)
        return f"LikelihoodFit({size}, {', '.join(parts) or 'no parameters'})"
