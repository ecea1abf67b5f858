"""Exact mean and variance of what agents show, without sampling."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.theory.adjoint import moments_of_sums
from peerpressure.theory.forward import run_forwards
from peerpressure.theory.functionals import Functionals, stacked
from peerpressure.theory.times import Times, step_count, whole_times

if TYPE_CHECKING:
    import pandas as pd

# A full covariance of this many agents takes 32 MB, and a step of it some 50 ms.
LARGEST_COVARIANCE = 2_000


@final
@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Mean and variance of agents, or of functionals, at some times.

    ``mean`` and ``variance`` have shape (times, names); ``covariance`` has shape (names, names) and holds at the
    last time. They are exact for every noise law, as only its standard deviation enters.
    """

    times: Times
    names: tuple[Hashable, ...]
    mean: Vector
    variance: Vector
    covariance: Vector

    def __post_init__(self) -> None:
        for array in (self.times, self.mean, self.variance, self.covariance):
            array.flags.writeable = False

    @property
    def std(self) -> Vector:
        """The standard deviations, shape (times, names)."""
        return np.sqrt(self.variance)

    def band(self, z: float = 1.96) -> tuple[Vector, Vector]:
        """Return mean − z·std and mean + z·std; 1.96 holds 95 % of a normal law."""
        half_width = z * self.std
        return self.mean - half_width, self.mean + half_width

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row for each time and name, with columns time, name, mean and std."""
        import pandas as pd

        count = len(self.names)
        return pd.DataFrame(
            {
                "time": np.repeat(self.times, count),
                "name": [*self.names] * self.times.size,
                "mean": self.mean.ravel(),
                "std": self.std.ravel(),
            }
        )

    def __repr__(self) -> str:
        when = f"t = {self.times[0]}" + f"…{self.times[-1]} ({self.times.size} times)" * (self.times.size > 1)
        if len(self.names) > 4:
            what = f"{len(self.names):,} agents or functionals"
        else:
            final_values = zip(self.names, self.mean[-1], self.std[-1], strict=True)
            what = "; ".join(f"{name} {mean:.6g} ± {std:.3g}" for name, mean, std in final_values)
        return f"Moments({when}, at the end {what})"


def moments(model: Model, steps: int, of: Functionals | None = None, *, times: ArrayLike | None = None) -> Moments:
    """Return the exact mean and variance of y_t, or of functionals cᵀy_t, up to t = ``steps``.

    Without ``of``, every agent at ``times`` (all of 0…steps unless given) by the covariance recursion, for up to
    2,000 agents. With ``of``, one or several functionals (or weights of shape (functionals, agents)) at ``times``
    (the final one unless given) by the adjoint, for any number of agents; the work grows with the number of
    times. Times come back in order, each once.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> from peerpressure.theory.functionals import agent
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    >>> moments(model, 9, of=agent(model, 0))
    Moments(t = 9, at the end agent 0 0.5 ± 0.3)
    """
    steps = step_count(steps)
    if of is None:
        _refuse_large(model.n)
        chosen = _chosen(times, steps, default=np.arange(steps + 1))
        found = run_forwards(model, chosen)
        names: tuple[Hashable, ...] = tuple(model.network.labels)
    else:
        names, weights = stacked(model, of)
        chosen = _chosen(times, steps, default=np.array([steps]))
        found = moments_of_sums(model, weights, chosen)
    return Moments(chosen, names, found.mean, found.variance, found.covariance)


def _chosen(times: ArrayLike | None, steps: int, *, default: Times) -> Times:
    if times is None:
        return default
    chosen = np.unique(whole_times(times, least=0, most=steps))
    if chosen.size == 0:
        rule = "there must be at least one time"
        raise InvalidInputError(complain(rule, got="none", remedy="leave times out for the default"))
    return chosen


def _refuse_large(n: int) -> None:
    if n > LARGEST_COVARIANCE:
        rule = f"moments of every agent are computed for up to {LARGEST_COVARIANCE:,} agents"
        remedy = "ask for functionals, for instance of=consensus_mode(model), which work for any number"
        raise InvalidInputError(complain(rule, got=f"{n:,}", remedy=remedy))
