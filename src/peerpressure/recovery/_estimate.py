"""What an observer believes of x₀ before looking: a Gaussian law."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._solve import Implicit

if TYPE_CHECKING:
    import pandas


Array: TypeAlias = NDArray[np.float64]
Moment: TypeAlias = float | Sequence[float] | NDArray[Any]


@final
@dataclass(frozen=True, eq=False, init=False)
class Prior:
    """A Gaussian prior on the hidden opinions.

    ``mean`` is one number for all agents or one for each; ``variance`` likewise, or a covariance matrix.

    >>> Prior.uniform(0, 1)
    Prior(mean 0.5, variance 0.0833333)
    """

    mean: Array
    variance: Array

    def __init__(self, mean: Moment, variance: Moment) -> None:
        centre, spread = _numbers("mean", mean, most=1), _numbers("variance", variance, most=2)
        _refuse_degenerate(spread)
        sizes = {moment.shape[0] for moment in (centre, spread) if moment.ndim}
        if len(sizes) > 1:
            rule = "mean and variance of a prior must be of the same agents"
            got = f"{centre.shape[0]} means and {spread.shape[0]} variances"
            raise InvalidInputError(message(rule, got=got, remedy="give one of each per agent"))
        object.__setattr__(self, "mean", centre)
        object.__setattr__(self, "variance", spread)

    @classmethod
    def uniform(cls, low: float, high: float) -> Prior:
        """Return the Gaussian with mean and variance of the uniform law between two values."""
        if not low < high:
            rule = "a uniform prior must reach from a lower to a higher value"
            raise InvalidInputError(message(rule, got=f"{low} to {high}", remedy="for instance Prior.uniform(0, 1)"))
        return cls((low + high) / 2, (high - low) ** 2 / 12)

    @property
    def is_diagonal(self) -> bool:
        """Whether opinions are independent under this prior."""
        return self.variance.ndim < 2

    def means(self, n: int) -> Array:
        """Return the mean of each of n agents, (n,)."""
        self._refuse_other_size(n)
        return np.broadcast_to(self.mean, (n,))

    def variances(self, n: int) -> Array:
        """Return the variance of each of n agents, (n,)."""
        self._refuse_other_size(n)
        return np.broadcast_to(self.variance, (n,)) if self.is_diagonal else self.variance.diagonal()

    def covariance(self, n: int) -> Array:
        """Return the covariance matrix of n agents, (n, n)."""
        return np.diag(self.variances(n)) if self.is_diagonal else self.variance

    def given(self, known: Array) -> tuple[Array, Prior]:
        """Return what is believed of the agents that are not known: means (replicates, f) and, for variance, a prior.

        ``known`` (replicates, n) holds the opinions that are known, and NaN for the others, alike in all rows.
        """
        n = known.shape[1]
        free = np.isnan(known[0])
        mean, rows = self.means(n), known.shape[0]
        start = np.broadcast_to(mean[free], (rows, int(free.sum())))
        if self.is_diagonal or free.all():
            spread = self.variance if self.variance.ndim != 1 else self.variance[free]
            return start, Prior(mean[free], spread)
        P = self.variance
        weight = np.linalg.solve(P[np.ix_(~free, ~free)], P[np.ix_(~free, free)])
        spread = P[np.ix_(free, free)] - P[np.ix_(free, ~free)] @ weight
        return start + (known[:, ~free] - mean[~free]) @ weight, Prior(mean[free], (spread + spread.T) / 2)

    def _refuse_other_size(self, n: int) -> None:
        for name, moment in (("mean", self.mean), ("variance", self.variance)):
            if moment.ndim and moment.shape[0] != n:
                rule = f"the {name} of a prior must be one number, or one for each of the {n} agents"
                raise InvalidInputError(message(rule, got=f"{moment.shape[0]} of them", remedy="check their number"))

    def __repr__(self) -> str:
        mean = f"{self.mean:.6g}" if self.mean.ndim == 0 else f"{self.mean.min():.4g}–{self.mean.max():.4g}"
        if self.variance.ndim == 0:
            return f"Prior(mean {mean}, variance {self.variance:.6g})"
        each = self.variances(self.variance.shape[0])
        kind = "variance" if self.is_diagonal else "correlated, variance"
        return f"Prior(mean {mean}, {kind} {each.min():.4g}–{each.max():.4g})"


def update(value: Array, covariance: Array, reach: Array, mean: Array, prior: Array) -> tuple[Array, Array]:
    """Return mean and covariance of x given an estimate of what data reach of it, by the conjugate rule.

    v = Πx + error, error ~ N(0, V), x ~ N(m, P):  G = PΠᵀ(ΠPΠᵀ + V)⁺,  E x = m + G(v − Πm),  Cov x = P − GΠP.

    ``value`` and ``mean`` are (replicates, f), the matrices (f, f); V may be singular, 0 even.
    """
    middle = reach @ prior @ reach.T + covariance
    gain = np.linalg.lstsq(middle, reach @ prior, rcond=None)[0].T
    spread = prior - gain @ reach @ prior
    return mean + (value - mean @ reach.T) @ gain.T, (spread + spread.T) / 2


def _numbers(name: str, value: Moment, *, most: int) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.ndim > most or array.size == 0 or not np.isfinite(array).all():
        rule = f"the {name} of a prior must be finite: one number, or one for each agent"
        remedy = "for instance Prior(0.5, 1/12)" + ("; a square matrix for correlated opinions" if most == 2 else "")
        raise InvalidInputError(message(rule, got=repr(value)[:60], remedy=remedy))
    array.flags.writeable = False
    return array


def _refuse_degenerate(spread: Array) -> None:
    if spread.ndim < 2:
        if not (spread > 0).all():
            remedy = "for an opinion that is known use a tiny variance"
            raise InvalidInputError(
                message("the variance of a prior must be positive", got=f"{spread.min():g}", remedy=remedy)
            )
        return
    if spread.shape[0] != spread.shape[1] or not np.allclose(spread, spread.T):
        rule = "the covariance of a prior must be square and symmetric"
        raise InvalidInputError(message(rule, got=f"shape {spread.shape}", remedy="use (P + P.T) / 2"))
    least = float(np.linalg.eigvalsh(spread)[0])
    if least <= 0:
        rule = "the covariance of a prior must be positive definite"
        raise InvalidInputError(message(rule, got=f"smallest eigenvalue {least:g}", remedy="add to its diagonal"))


# An estimate on a page: text for a terminal, HTML for a notebook.

SHOWN = 6
Rows = list[tuple[str, str]]


def as_text(estimate: Estimate) -> str:
    """Return a heading, the facts, and the first few agents."""
    table = rows(estimate)
    column = max(len(name) for name, _ in table) + 2
    return "\n".join([heading(estimate), *(f"  {name:<{column}}{value}" for name, value in table)])


def as_html(estimate: Estimate) -> str:
    """Return the same as HTML, with every text escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows(estimate)
    )
    return f"<div><strong>{escape(heading(estimate))}</strong><table>{body}</table></div>"


def heading(estimate: Estimate) -> str:
    """Return who was estimated, and how."""
    count, n = estimate.value.shape
    times = f", {count:,} replicates" if count > 1 else ""
    when = "" if estimate.target == "initial" else " in the end,"
    return f"Hidden opinions of {n:,} agents{when} by {estimate.method}{times}"


def rows(estimate: Estimate) -> Rows:
    """Return the table of names and values."""
    n, found = estimate.value.shape[1], int(estimate.identified.sum())
    table = [("identified", f"{found:,} of {n:,} agents, rank {estimate.rank:,}")]
    if not isinstance(estimate.covariance, Implicit) and found:
        std = estimate.std[estimate.identified]
        table.append(("standard error", f"{std.min():.4g}–{std.max():.4g}, median {np.median(std):.4g}"))
    table.append(("condition", f"{estimate.condition:.3g}"))
    if estimate.goodness_of_fit is not None:
        table.append(("fit to the model", _fit(estimate.goodness_of_fit)))
    if estimate.note:
        table.append(("note", estimate.note))
    return table + [(f"  {label}", text) for label, text in _agents(estimate)]


def _fit(p: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    # The smallest of many p-values is small by chance alone.
    least = min(1.0, float(p.min()) * p.size)
    verdict = "outputs are as the model expects" if least > 1e-4 else "another model made these outputs"
    return f"{verdict} (p = {least:.2g})"


def _agents(estimate: Estimate) -> Rows:
    """Return the first agents, with errors only where these are cheap."""
    cheap = not isinstance(estimate.covariance, Implicit)
    picked = []
    for i in range(min(SHOWN, estimate.value.shape[1])):
        error = "" if not cheap else f" ± {estimate.std[i]:.3g}"
        text = f"{estimate.value[0, i]:.4g}{error}" if estimate.identified[i] else "not identified"
        picked.append((f"agent {estimate.model.network.labels[i]!r}", text))
    if estimate.value.shape[1] > SHOWN:
        picked.append(("…", f"and {estimate.value.shape[1] - SHOWN:,} more"))
    return picked


# What an observer makes of it all: an estimate of hidden opinions that knows how good it is.

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
            raise InvalidInputError(message(rule, got="none", remedy="pass the run's hidden state, run.final.hidden"))
        return self.value - (self.model.x0 if truth is None else np.asarray(truth, dtype=np.float64))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of each agent's Gaussian confidence (or credible) interval, (replicates, agents) each."""
        from scipy import special

        if not 0 < level < 1:
            remedy = "for instance 0.95"
            raise InvalidInputError(message("a level must lie strictly between 0 and 1", got=level, remedy=remedy))
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
        pass

        return as_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        pass

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
