"""Exact mean and variance of what agents show, and of what they hold, without sampling."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.sde import SDE
from peerpressure.sde.moments import moments_at, moments_of
from peerpressure.theory.adjoint import Sums, moments_of_sums
from peerpressure.theory.forward import run_forwards
from peerpressure.theory.functionals import Functionals, stacked
from peerpressure.theory.times import Times, real_times, step_count, whole_times

if TYPE_CHECKING:
    import pandas as pd

What: TypeAlias = Literal["public", "hidden", "joint"]

# A full covariance of this size takes 32 MB, and a step of it some 50 ms.
LARGEST_COVARIANCE = 2_000


@final
@dataclass(frozen=True, eq=False, repr=False)
class Moments:
    """Mean and variance of agents, or of functionals, at some times.

    ``mean`` and ``variance`` have shape (times, names); ``covariance`` has shape (names, names) and holds at the
    last time. They are exact for every noise law, as only its standard deviation enters. Times are whole numbers, and
    real ones in continuous time.
    """

    times: Times | NDArray[np.float64]
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
        first, last = (f"{time:.6g}" if isinstance(time, float) else f"{time}" for time in self.times[[0, -1]].tolist())
        when = f"t = {first}" + f"…{last} ({self.times.size} times)" * (self.times.size > 1)
        if len(self.names) > 4:
            what = f"{len(self.names):,} agents or functionals"
        else:
            final_values = zip(self.names, self.mean[-1], self.std[-1], strict=True)
            what = "; ".join(f"{name} {mean:.6g} ± {std:.3g}" for name, mean, std in final_values)
        return f"Moments({when}, at the end {what})"


def moments(
    model: Model | SDE,
    steps: int,
    of: Functionals | None = None,
    *,
    times: ArrayLike | None = None,
    what: What = "public",
) -> Moments:
    """Return the exact mean and variance of y_t, or of functionals cᵀy_t, up to t = ``steps``.

    Without ``of``, every agent at ``times`` (all of 0…steps unless given) by the covariance recursion, for up to
    2,000 agents. With ``of``, one or several functionals (or weights of shape (functionals, agents)) at ``times``
    (the final one unless given) by the adjoint, for any number of agents; the work grows with the number of
    times. Times come back in order, each once.

    ``what`` may also be "hidden", for what agents hold once they have shown y_t, or "joint", for both: public opinions
    first, hidden ones behind, so that functionals then have 2·agents weights. In continuous time ``steps`` counts
    steps of the equation's own length, and times are real ones from 0 to the last.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> from peerpressure.theory.functionals import agent
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    >>> moments(model, 9, of=agent(model, 0))
    Moments(t = 9, at the end agent 0 0.5 ± 0.3)
    """
    steps = step_count(steps)
    if what not in get_args(What):
        rule = "moments are those of what is 'public', 'hidden' or 'joint'"
        raise InvalidInputError(complain(rule, got=repr(what), remedy="leave it out for public opinions"))
    if isinstance(model, SDE):
        return _continuous(model, steps, of, times, what)
    if of is None:
        parts = 2 if model.adaptation is not None or what != "public" else 1
        _refuse_large(model.n, LARGEST_COVARIANCE // parts)
        chosen = _chosen(times, steps, default=np.arange(steps + 1))
        found = run_forwards(model, chosen, hidden=what != "public")
        return _of_agents(model, chosen, found, what)
    names, weights = stacked(model, of, agents=2 * model.n if what == "joint" else model.n)
    chosen = _chosen(times, steps, default=np.array([steps]))
    if what == "hidden":
        weights = np.concatenate([np.zeros_like(weights), weights], axis=1)
    found = moments_of_sums(model, weights, chosen)
    return Moments(chosen, names, found.mean, found.variance, found.covariance)


def _of_agents(model: Model, times: Times, found: Sums, what: What) -> Moments:
    labels: tuple[Hashable, ...] = tuple(model.network.labels)
    if what == "joint":
        labels = (*(("public", label) for label in labels), *(("hidden", label) for label in labels))
    kept = slice(model.n, None) if what == "hidden" else slice(None)
    return Moments(times, labels, found.mean[:, kept], found.variance[:, kept], found.covariance[kept, kept])


def _continuous(sde: SDE, steps: int, of: Functionals | None, times: ArrayLike | None, what: What) -> Moments:
    if what != "public":
        rule = "in continuous time hidden opinions are constant, and moments are those of what is public"
        raise InvalidInputError(complain(rule, got=repr(what), remedy="leave it out; x₀ is the model's hidden"))
    end = sde.time(steps)
    if times is not None:
        chosen = real_times(times, most=end)
    else:
        chosen = np.array([sde.time(k) for k in range(steps + 1)]) if of is None else np.array([end])
    if of is None:
        names: tuple[Hashable, ...] = tuple(sde.network.labels)
        found = moments_at(sde, chosen)
    else:
        names, weights = stacked(sde, of)
        found = moments_of(sde, weights, chosen)
    return Moments(chosen, names, found.mean, found.variance, found.covariance)


def _chosen(times: ArrayLike | None, steps: int, *, default: Times) -> Times:
    if times is None:
        return default
    chosen = np.unique(whole_times(times, least=0, most=steps))
    if chosen.size == 0:
        rule = "there must be at least one time"
        raise InvalidInputError(complain(rule, got="none", remedy="leave times out for the default"))
    return chosen


def _refuse_large(n: int, most: int) -> None:
    if n > most:
        rule = f"moments of every agent are computed for up to {most:,} agents here"
        remedy = "ask for functionals, for instance of=consensus_mode(model), which work for any number"
        raise InvalidInputError(complain(rule, got=f"{n:,}", remedy=remedy))
