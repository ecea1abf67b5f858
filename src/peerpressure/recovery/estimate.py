"""What an observer makes of it all: an estimate of hidden opinions that knows how good it is."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.recovery.outputs import Outputs

if TYPE_CHECKING:
    import pandas

Array: TypeAlias = NDArray[np.float64]
Target: TypeAlias = Literal["initial", "current"]


class Covariance(Protocol):
    """A symmetric matrix, or what acts like one: dense and sparse arrays do, and so do operators."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(n, n)."""
        ...

    def __matmul__(self, other: Any, /) -> Any:
        """Return the product with a vector or with columns."""
        ...

    def diagonal(self) -> Any:
        """Return the variances, (n,)."""
        ...


@final
@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of the hidden opinions, with its exact covariance under the model.

    ``target`` says which: "initial" for x₀, "current" for what agents hold after the last step that was seen; these
    differ only where opinions adapt. ``value`` is (replicates, agents), one row for each replicate; ``covariance``
    is common to all of them: a dense matrix for small networks, and for large ones a diagonal or an operator.
    ``identified`` (agents,) says whose opinion the data pin down (a prior pins down all); the others have infinite
    variance, and ``value`` and ``covariance`` hold for them only what the data do say. ``rank`` counts the
    directions that are pinned down and ``condition`` compares the best with the worst of them. ``goodness_of_fit``
    (replicates,) is the p-value of the outputs under the model, and tiny where another model made them; None if the
    method has no such test. ``homoskedastic_covariance`` is what ordinary regression software would print.
    """

    model: Model
    method: str
    value: Array
    covariance: Covariance
    identified: NDArray[np.bool_]
    rank: int
    condition: float
    goodness_of_fit: Array | None = None
    homoskedastic_covariance: Array | None = None
    note: str = ""
    target: Target = "initial"

    @cached_property
    def variance(self) -> Array:
        """The error variance of each agent, (agents,); infinite for those who are not identified."""
        return np.where(self.identified, np.maximum(self.covariance.diagonal(), 0.0), np.inf)

    @property
    def std(self) -> Array:
        """The standard error of each agent, (agents,)."""
        return np.sqrt(self.variance)

    def residuals(self, truth: ArrayLike | None = None) -> Array:
        """Return estimate − truth, (replicates, agents); the truth is the model's own x₀ unless given."""
        if truth is None and self.target == "current" and self.model.adaptation is not None:
            rule = "opinions that adapted differ from run to run, so that the truth must be given"
            raise InvalidInputError(complain(rule, got="none", remedy="pass the run's hidden state, run.final.hidden"))
        return self.value - (self.model.x0 if truth is None else np.asarray(truth, dtype=np.float64))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of each agent's Gaussian confidence (or credible) interval, (replicates, agents) each."""
        from scipy import special

        if not 0 < level < 1:
            remedy = "for instance 0.95"
            raise InvalidInputError(complain("a level must lie strictly between 0 and 1", got=level, remedy=remedy))
        half = float(special.ndtri((1 + level) / 2)) * self.std
        return self.value - half, self.value + half

    def variance_of(self, agents: Iterable[Hashable]) -> Array:
        """Return the exact error variances of the named agents, also where ``covariance`` is an operator."""
        positions = self.model.network.indices(agents)
        units = np.zeros((self.model.n, positions.size))
        units[positions, np.arange(positions.size)] = 1.0
        exact = np.asarray(self.covariance @ units)[positions, np.arange(positions.size)]
        return np.where(self.identified[positions], np.maximum(exact, 0.0), np.inf)

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: replicate, agent, value, std, identified."""
        import pandas

        rows, n = self.value.shape
        return pandas.DataFrame(
            {
                "replicate": np.repeat(np.arange(rows), n),
                "agent": list(self.model.network.labels) * rows,
                "value": self.value.ravel(),
                "std": np.tile(self.std, rows),
                "identified": np.tile(self.identified, rows),
            }
        )

    def __str__(self) -> str:
        from peerpressure.recovery.render import as_text

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from peerpressure.recovery.render import as_html

        return as_html(self)


def estimate_from(
    model: Model,
    data: Outputs,
    method: str,
    value: Array,
    covariance: Covariance,
    *,
    identified: NDArray[np.bool_] | None = None,
    rank: int | None = None,
    condition: float = 1.0,
    goodness_of_fit: Array | None = None,
    homoskedastic_covariance: Array | None = None,
    note: str = "",
) -> Estimate:
    """Return the estimate of all agents from that of the free ones, whom a method was left to find.

    ``value`` is (replicates, f), ``covariance`` acts on (f,) and ``identified`` is (f,), in the order of
    ``data.seen.free``. Agents whose x₀ is known enter with it, and with variance 0.
    """
    free, n = data.seen.free, model.n
    found = np.ones(free.size, dtype=bool) if identified is None else identified
    rank = free.size if rank is None else rank
    facts: dict[str, Any] = {"condition": float(condition), "goodness_of_fit": goodness_of_fit, "note": note}
    if free.size == n:
        return Estimate(
            model, method, value, covariance, found, rank, homoskedastic_covariance=homoskedastic_covariance, **facts
        )
    full = data.known.copy()
    full[:, free] = value
    everyone = np.ones(n, dtype=bool)
    everyone[free] = found
    printed = None if homoskedastic_covariance is None else _embedded(homoskedastic_covariance, free, n)
    spread = _embedded(covariance, free, n)
    rank += n - free.size
    return Estimate(model, method, full, spread, everyone, rank, homoskedastic_covariance=printed, **facts)


def known_estimate(model: Model, data: Outputs, method: str) -> Estimate:
    """Return the estimate of an observer who read every x₀ off y₀."""
    nothing = np.zeros((data.known.shape[0], 0))
    note = "the start was seen, and it is the hidden state"
    return estimate_from(model, data, method, nothing, np.zeros((0, 0)), note=note)


def _embedded(covariance: Covariance, free: NDArray[np.int64], n: int) -> Any:
    """Return a covariance of the free agents as one of all, zero elsewhere and sparse if few are free."""
    from scipy import sparse

    if not free.size:
        return sparse.csr_array((n, n))
    whole = np.zeros((n, n))
    whole[np.ix_(free, free)] = covariance @ np.eye(free.size)
    return whole
