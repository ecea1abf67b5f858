"""Estimates of hidden opinions: their exact covariance, the rounding error in it, and how they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery.least_squares import SymmetricOperator
from peerpressure.recovery.limits import COPIED_AGENTS, COPIED_NUMBERS, NEGLIGIBLE_ERROR, WRONG_DIGITS
from peerpressure.simulation import zarr_stores
from peerpressure.support.parameters import checked_level, whole as whole_number
from peerpressure.support.results import read_only
from peerpressure.support.text import html_sketch, html_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from peerpressure.recovery._diagnostics import FitDiagnostics
    from peerpressure.recovery.observation import Answers

Rows: TypeAlias = list[tuple[str, str]]
Target: TypeAlias = Literal["initial", "current"]
# Agents listed when an estimate is printed.
SHOWN = 6
# Agents up to whom a notebook shows all intervals.
_SKETCHED = 200
# Perturbed copies of the first replicate: a standard deviation from eight samples is accurate to 1/√16, a quarter, and
# since replicates share the factorisation, copies cost little.
_COPIES = 8
# Standard errors are enlarged by this many measured ones.
_SAFETY = 3.0
# In a large network, only estimates that claim more digits than this are measured.
_SUSPICIOUS = 1e-6


class Covariance(Protocol):
    """A symmetric matrix, or what acts like one: dense and sparse arrays do, and so do operators.

    See Also
    --------
    Estimate : Has the covariance of its errors.
    Information : Has the Fisher information as a matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.recovery import Covariance
    >>> matrix: Covariance = np.eye(2)
    >>> matrix.shape
    (2, 2)
    """

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
@read_only
@dataclass(frozen=True, eq=False)
class Estimate:
    """An estimate of the hidden opinions, with its exact covariance under the model.

    Attributes
    ----------
    model : Model
        The model that the observer assumed.
    method : str
        The name of the estimator.
    value : array, (replicates, agents)
        The estimates, one row for each replicate.
    covariance : matrix, (agents, agents)
        Covariance of the errors, common to all replicates: dense for small networks, and for large ones a diagonal or
        an operator.
    identified : array of bool, (agents,)
        Which agents' opinions the data determine (a prior determines all). The others have infinite variance, and their
        value and covariance are those of the component that the data determine.
    rank : int
        How many directions the data determine.
    condition : float
        Ratio of the variances of the worst and the best of them.
    diagnostics : FitDiagnostics or None
        Tests of the answers under the model, and their log-likelihood; they do not depend on the method.
    homoskedastic_covariance : array or None
        The covariance that ordinary regression software prints.
    note : str
        A remark on how the estimate was found.
    target : {"initial", "current"}
        Whether x₀ is estimated, or the hidden opinions after the last observed step; these differ only where opinions
        adapt.
    replicates : array of int, (replicates,), or None
        The numbers of the replicates, as the run has them; None if they are counted from 0.
    exact_interval : callable or None
        Function of a level that returns the ends of exact intervals, where the errors are not Gaussian.

    See Also
    --------
    recover : Returns estimates.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, recover, simulate
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0), start=[0.0, 0.0])
    >>> estimate = recover(simulate(model, steps=100, seed=1), model)
    >>> estimate.std.round(12), estimate.rank
    (array([0.1, 0.1]), 2)
    """

    model: Model
    method: str
    value: Array
    covariance: Covariance
    identified: NDArray[np.bool_]
    rank: int
    condition: float
    diagnostics: FitDiagnostics | None = None
    homoskedastic_covariance: Array | None = None
    note: str = ""
    target: Target = "initial"
    replicates: NDArray[np.int64] | None = None
    exact_interval: Callable[[float], tuple[Array, Array]] | None = None

    @cached_property
    def variance(self) -> Array:
        """The error variance of each agent, (agents,); infinite for those that are not identified."""
        return np.where(self.identified, np.maximum(self.covariance.diagonal(), 0.0), np.inf)

    @property
    def std(self) -> Array:
        """The standard error of each agent, (agents,)."""
        return np.sqrt(self.variance)

    @property
    def goodness_of_fit(self) -> Array | None:
        """The p-value of the answers under the model, (replicates,), tiny if another made them; None if untestable."""
        return None if self.diagnostics is None else self.diagnostics.p_value

    @property
    def log_likelihood(self) -> Array | None:
        """Log-likelihood of the answers at its maximum in x₀, (replicates,), whatever the method; None without one."""
        return None if self.diagnostics is None else self.diagnostics.log_likelihood

    @property
    def aic(self) -> Array | None:
        """Akaike's criterion, (replicates,), for the comparison of rival models on the same answers."""
        return None if self.diagnostics is None else self.diagnostics.aic

    @property
    def bic(self) -> Array | None:
        """Schwarz's criterion, (replicates,), which prefers fewer parameters than Akaike's."""
        return None if self.diagnostics is None else self.diagnostics.bic

    def residuals(self, truth: ArrayLike | None = None) -> Array:
        """Return estimate − truth.

        Parameters
        ----------
        truth : array_like of shape (agents,) or (replicates, agents), optional
            True hidden opinions; by default the model's own x₀.

        Returns
        -------
        array of shape (replicates, agents)
            Differences, in units of opinion.

        Raises
        ------
        InvalidInputError
            If the estimate is of current opinions that adapted, and no truth is given.
        """
        if truth is None and self.target == "current" and self.model.layout.has_hidden:
            rule = "opinions that adapted differ from run to run, so the truth must be given"
            raise InvalidInputError(message(rule, got="none", remedy="pass the run's hidden state, run.final.hidden"))
        return self.value - (self.model.x0 if truth is None else np.asarray(truth, dtype=np.float64))

    def interval(self, level: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of each agent's confidence (or credible) interval.

        It is Gaussian, except for the likelihood of other laws, where it is that of the law and exact.

        Parameters
        ----------
        level : float, default 0.95
            Probability of the interval, strictly between 0 and 1.

        Returns
        -------
        low : array of shape (replicates, agents)
            Lower ends.
        high : array of shape (replicates, agents)
            Upper ends.

        Raises
        ------
        InvalidInputError
            If the level is not strictly between 0 and 1.
        """
        from scipy import special

        level = checked_level(level)
        if self.exact_interval is not None:
            return self.exact_interval(level)
        half = float(special.ndtri((1 + level) / 2)) * self.std
        return self.value - half, self.value + half

    def plot(self, ax: Axes | None = None, level: float = 0.95, replicate: int = 0) -> Axes:
        """Draw the estimate of each identified agent with its interval, against hidden opinions that the model knows.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.
        level : float, default 0.95
            Probability of the intervals, strictly between 0 and 1.
        replicate : int, default 0
            Position of the replicate, from 0.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        InvalidInputError
            If the level is not strictly between 0 and 1, or there is no such replicate.
        """
        from peerpressure.plotting.results import against, in_place

        row = whole_number(replicate, "the position of a replicate", least=0, most=len(self.value) - 1)
        value, low, high = (np.where(self.identified, one[row], np.nan) for one in (self.value, *self.interval(level)))
        names = [str(label) for label in self.model.network.labels]
        # Opinions that adapted are no longer those of the model.
        if self.model.hidden is None or (self.target == "current" and self.model.layout.has_hidden):
            return in_place(ax, names, value, low, high)
        return against(ax, names, self.model.hidden, value, low, high)

    def variance_of(self, agents: Iterable[Hashable]) -> Array:
        """Return the exact error variances of the named agents, also where ``covariance`` is an operator.

        Parameters
        ----------
        agents : iterable of labels
            The agents.

        Returns
        -------
        array of float
            Variances in the order of ``agents``; ∞ for those that are not identified.

        Raises
        ------
        NetworkError
            If no agent has one of the labels.
        """
        positions = self.model.network.indices(agents)
        known = positions[self.identified[positions]]
        variance = np.full(positions.size, np.inf)
        # The diagonal of an operator is estimated, and its single entries are exact.
        exact = (
            self.covariance.diagonal_at(known)
            if isinstance(self.covariance, SymmetricOperator)
            else self.covariance.diagonal()[known]
        )
        variance[self.identified[positions]] = np.maximum(exact, 0.0)
        return variance

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows: replicate, agent, topic where there are several, value, std, identified.

        Returns
        -------
        pandas.DataFrame
            Columns ``replicate`` (its number in the run), ``agent``, ``value``, ``std`` and ``identified``; ``topic``
            after ``agent`` on a network with topics.
        """
        import pandas

        rows, n = self.value.shape
        numbers = np.arange(rows) if self.replicates is None else self.replicates
        return pandas.DataFrame(
            {
                "replicate": np.repeat(numbers, n),
                **{name: labels * rows for name, labels in self.model.network.name_columns().items()},
                "value": self.value.ravel(),
                "std": np.tile(self.std, rows),
                "identified": np.tile(self.identified, rows),
            }
        )

    def summary(self) -> str:
        """Return the method, what is identified, the fit of the model, and the first agents, line by line.

        Returns
        -------
        str
            The text that ``print`` shows.
        """
        return as_text(self)

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return f"Estimate({heading(self)[0].lower()}{heading(self)[1:]})"

    def _repr_html_(self) -> str:
        return as_html(self)


def estimate_from(
    model: Model,
    data: Answers,
    method: str,
    value: Array,
    covariance: Covariance,
    *,
    identified: NDArray[np.bool_] | None = None,
    rank: int | None = None,
    condition: float = 1.0,
    homoskedastic_covariance: Array | None = None,
    note: str = "",
) -> Estimate:
    """Return the estimate of all agents from that of the free ones, whose x₀ is not known.

    ``value`` is (replicates, f), ``covariance`` acts on (f,) and ``identified`` is (f,), in the order of
    ``data.seen.free``. Agents whose x₀ is known enter with it, and with variance 0.
    """
    free, n = data.seen.free, model.n
    known = np.ones(free.size, dtype=bool) if identified is None else identified
    rank = free.size if rank is None else rank
    facts: dict[str, Any] = {"condition": float(condition), "note": note}
    # The covariance is passed through as it is: an operator or a sparse matrix of a large network must not be embedded.
    if free.size == n:
        return Estimate(
            model, method, value, covariance, known, rank, homoskedastic_covariance=homoskedastic_covariance, **facts
        )
    full = data.known.copy()
    full[:, free] = value
    everyone = np.ones(n, dtype=bool)
    everyone[free] = known
    printed = None if homoskedastic_covariance is None else _embedded(homoskedastic_covariance, free, n)
    spread = _embedded(covariance, free, n)
    rank += n - free.size
    return Estimate(model, method, full, spread, everyone, rank, homoskedastic_covariance=printed, **facts)


def known_estimate(model: Model, data: Answers, method: str) -> Estimate:
    """Return the estimate of an observer who reads every x₀ off y₀."""
    nothing = np.zeros((data.known.shape[0], 0))
    note = "the start was observed, and it is the hidden state"
    return estimate_from(model, data, method, nothing, np.zeros((0, 0)), note=note)


def _embedded(covariance: Any, free: NDArray[np.int64], n: int) -> Any:
    """Return a covariance of the free agents as one of all, of the same kind if it is sparse or an operator."""
    if isinstance(covariance, SymmetricOperator):
        return covariance.embedded(free, n)
    if not sparse.issparse(covariance) and n <= limits.DENSE_LIMIT and free.size:
        whole = np.zeros((n, n))
        whole[np.ix_(free, free)] = covariance
        return whole
    # A dense matrix of a few agents among many is sparse among all.
    part = sparse.coo_array(covariance)
    return sparse.csr_array((part.data, (free[part.row], free[part.col])), shape=(n, n))


# The error that rounding makes in an estimate.
#
# If noise cancels, as frozen noise does, an estimate may be exact on paper and still depend on the last digits of
# the answers; a standard error must not be smaller than that. Perturbing the data and solving again measures it for
# any estimator (stochastic arithmetic: Vignes, 1993).


def with_error_of_copies(estimate: Estimate) -> Estimate:
    """Return an estimate from answers with copies without these, and with the error of rounding in its covariance."""
    value, moved = without_copies(estimate.value, estimate.variance)
    estimate = replace(estimate, value=value)
    return replace(estimate, covariance=_enlarged(estimate.covariance, moved)) if moved.any() else estimate


def _enlarged(covariance: Any, moved: Array) -> Any:
    """Return C + DᵀD; of a large C, which may be sparse, only the diagonal is enlarged."""
    n = moved.shape[1]
    # Rounding errors are correlated between agents; of a large network only their variances are kept.
    if n <= COPIED_AGENTS:
        return covariance @ np.eye(n) + moved.T @ moved
    return covariance + sparse.diags_array(np.square(moved).sum(axis=0), format="csr")


def has_room_for_copies(data: Answers) -> bool:
    """Return whether copies of answers fit into memory: of what is read block by block none are made."""
    if zarr_stores.is_stored(data.values) and data.values.nbytes > zarr_stores.BLOCK_BYTES:
        return False
    return data.seen.n <= COPIED_AGENTS or _COPIES * math.prod(data.values.shape[1:]) <= COPIED_NUMBERS


def is_suspicious(estimate: Estimate, data: Answers) -> bool:
    """Return whether some standard error may be smaller than the rounding error."""
    # The standard errors of an operator are estimates from random probes, each a linear solve: too expensive for a
    # check.
    if not hasattr(estimate.covariance, "toarray") and not isinstance(estimate.covariance, np.ndarray):
        return False
    claimed = estimate.std[data.seen.free]
    return bool((claimed < _SUSPICIOUS * np.abs(data.values[0]).max(initial=0.0)).any())


def with_copies(data: Answers) -> Answers:
    """Return the answers with perturbed copies of the first replicate appended."""
    # A fixed seed makes the result reproducible; random signs, because errors of one sign could cancel in differences.
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(_COPIES, *data.values.shape[1:]))
    digits = WRONG_DIGITS * np.finfo(data.values.dtype).eps
    # Relative perturbations: rounding errors are proportional to the value, and an exact 0 stays 0.
    copies = (data.values[:1] * (1 + digits * signs)).astype(data.values.dtype)
    return replace(
        data,
        values=np.concatenate([data.values, copies]),
        known=np.concatenate([data.known, np.repeat(data.known[:1], _COPIES, axis=0)]),
        replicates=np.concatenate([data.replicates, np.full(_COPIES, data.replicates[0])]),
        copies=_COPIES,
    )


def without_copies(values: Array, variance: Array) -> tuple[Array, Array]:
    """Return the estimates of the data themselves, and D with DᵀD the covariance that rounding adds to theirs.

    ``values`` are (replicates and copies, …, n) and ``variance`` (…, n); D is (copies, …, n), 0 where it is negligible.
    """
    own, copies = values[:-_COPIES], values[-_COPIES:]
    # Divided by √copies, which makes DᵀD the mean over copies.
    moved = _SAFETY / np.sqrt(_COPIES) * (copies - own[0])
    # Entries that rounding hardly moves keep their exact covariance.
    return own, np.where(np.square(moved).sum(axis=0) > NEGLIGIBLE_ERROR * variance, moved, 0.0)


# Rendering: text for a terminal, HTML for a notebook.


def as_text(estimate: Estimate) -> str:
    """Return a heading, the facts, and the first few agents."""
    table = summary_rows(estimate)
    column = max(len(name) for name, _ in table) + 2
    return "\n".join([heading(estimate), *(f"  {name:<{column}}{value}" for name, value in table)])


def as_html(estimate: Estimate) -> str:
    """Return the same as HTML, with every text escaped."""
    return f"<div>{html_table(summary_rows(estimate), heading(estimate))}{_sketch(estimate)}</div>"


def _sketch(estimate: Estimate) -> str:
    """Return the intervals of the identified agents in the first replicate, in the order of the estimates."""
    if isinstance(estimate.covariance, SymmetricOperator) or np.count_nonzero(estimate.identified) > _SKETCHED:
        return ""
    agents = np.flatnonzero(estimate.identified)
    agents = agents[np.argsort(estimate.value[0, agents])]
    low, high = (ends[0, agents].tolist() for ends in estimate.interval())
    bars = [[(k, a), (k, b)] for k, (a, b) in enumerate(zip(low, high, strict=True))]
    middle = list(enumerate(estimate.value[0, agents].tolist()))
    return html_sketch([*bars, middle], "estimates in ascending order, with intervals of 95 %")


def heading(estimate: Estimate) -> str:
    """Return who was estimated, and how."""
    count, n = estimate.value.shape
    times = f", {count:,} replicates" if count > 1 else ""
    when = "" if estimate.target == "initial" else " in the end,"
    return f"Hidden opinions of {n:,} agents{when} by {estimate.method}{times}"


def summary_rows(estimate: Estimate) -> Rows:
    """Return the table of names and values."""
    n, identified = estimate.value.shape[1], int(estimate.identified.sum())
    table = [("identified", f"{identified:,} of {n:,} agents, rank {estimate.rank:,}")]
    if not isinstance(estimate.covariance, SymmetricOperator) and identified:
        std = estimate.std[estimate.identified]
        table.append(("standard error", f"{std.min():.4g}–{std.max():.4g}, median {np.median(std):.4g}"))
    table.append(("condition", f"{estimate.condition:.3g}"))
    if estimate.diagnostics is not None:
        table += estimate.diagnostics.summary()
    if estimate.note:
        table.append(("note", estimate.note))
    return table + [(f"  {label}", text) for label, text in _agents(estimate)]


def _agents(estimate: Estimate) -> Rows:
    """Return the first agents, with errors only where these are cheap."""
    # Printing must not start a linear solve for a diagonal.
    cheap = not isinstance(estimate.covariance, SymmetricOperator)
    picked = []
    for i in range(min(SHOWN, estimate.value.shape[1])):
        error = "" if not cheap else f" ± {estimate.std[i]:.3g}"
        text = f"{estimate.value[0, i]:.4g}{error}" if estimate.identified[i] else "not identified"
        picked.append((f"agent {estimate.model.network.labels[i]!r}", text))
    if estimate.value.shape[1] > SHOWN:
        picked.append(("…", f"and {estimate.value.shape[1] - SHOWN:,} more"))
    return picked
