"""The result of a fit of unknown parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._parameters import PARAMETERS, UnknownParameter, with_values
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.series import conditional_tests
from peerpressure.support.results import read_only
from peerpressure.support.text import html_table

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from peerpressure.recovery._diagnostics import FitDiagnostics
    from peerpressure.recovery.observation import Answers


@final
@read_only
@dataclass(frozen=True, eq=False)
class LikelihoodFit:
    """Parameters and hidden opinions, with the intervals of their profile likelihoods.

    Attributes
    ----------
    estimate : Estimate
        The hidden opinions. An estimate has one covariance for all replicates, here the mean of theirs.
    parameters : mapping of str to UnknownParameter
        The unknown parameters by name.
    hidden : UnknownParameter
        The hidden opinions again, with the standard errors and intervals of each replicate, (replicates, agents).
    log_likelihood : array, (replicates,)
        Maximum of the likelihood over all unknowns, for comparisons between models.
    level : float
        Confidence level of the intervals.
    failures : tuple of str or None
        For each replicate, why it could not be fitted; its numbers are NaN.
    pieces : array of int
        First steps of the pieces on which an unknown "pressure" is constant.
    notes : tuple of str
        What a reader must know of the result: parameters that are not identified, and doubts about the answers.
    data : Answers or None
        The answers.
    rows : array of bool, (steps, agents), or None
        The answers that the likelihood scores: those of an agent who is observed together with all of its neighbours of
        the step before. All others are given. None if all answers are scored, seen through rounding or measurement
        noise.

    See Also
    --------
    fit : Returns fits.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import cycle
    >>> from peerpressure.fitting import fit
    >>> truth = Model(cycle(6), hidden=range(6), pressure=0.5, noise=Gaussian(0.5))
    >>> unknown = Model(cycle(6), noise=Gaussian(1.0))
    >>> estimate = fit(simulate(truth, 100, seed=1), unknown, ("std", "constant"))
    >>> low, high = estimate.interval()["constant"]
    >>> bool(low[0] < 0.5 < high[0])
    True
    >>> estimate.number_of_parameters
    8
    """

    estimate: Estimate
    parameters: Mapping[str, UnknownParameter]
    hidden: UnknownParameter
    log_likelihood: Array
    level: float = 0.95
    failures: tuple[str | None, ...] = ()
    pieces: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    notes: tuple[str, ...] = ()
    data: Answers | None = None
    rows: NDArray[np.bool_] | None = None

    @property
    def number_of_parameters(self) -> int:
        """How many numbers are fitted in a replicate: the unknown parameters, and each hidden opinion that is free.

        Hidden opinions behind rounded or measured answers are random, and count as two, their mean and spread.
        """
        own = sum(1 if p.value.ndim == 1 else p.value.shape[1] for p in self.parameters.values())
        return own + (2 if self.rows is None else self.estimate.rank - self._known)

    @property
    def number_of_outputs(self) -> int:
        """How many answers of a replicate the likelihood scores, given all others."""
        if self.rows is not None:
            return int(self.rows.sum())
        return 0 if self.data is None else int(self.data.present.sum())

    @property
    def _known(self) -> int:
        """How many hidden opinions are read off the start."""
        return 0 if self.data is None else self.estimate.model.n - self.data.seen.free.size

    @property
    def aic(self) -> Array:
        """Akaike's criterion 2k − 2 log L with k the number of parameters, (replicates,)."""
        return 2 * self.number_of_parameters - 2 * self.log_likelihood

    @property
    def bic(self) -> Array:
        """Schwarz's criterion k log N − 2 log L with N the number of answers, (replicates,)."""
        return self.number_of_parameters * float(np.log(max(self.number_of_outputs, 1))) - 2 * self.log_likelihood

    @property
    def value(self) -> dict[str, Array]:
        """The estimates by name, hidden opinions included."""
        return {name: p.value for name, p in self._all.items()}

    @property
    def std(self) -> dict[str, Array]:
        """The standard errors by name, those of hidden opinions included."""
        return {name: p.std for name, p in self._all.items()}

    @property
    def _all(self) -> dict[str, UnknownParameter]:
        return {**self.parameters, "hidden": self.hidden}

    def interval(self, level: float | None = None) -> dict[str, tuple[Array, Array]]:
        """Return the ends of the intervals by name, those of hidden opinions included.

        Parameters
        ----------
        level : float, optional
            The level of the fit, which is the default.

        Returns
        -------
        dict of str to tuple of arrays
            Lower and upper ends.

        Raises
        ------
        InvalidInputError
            If the fit has another level: each end is a search of its own.
        """
        if level is not None and level != self.level:
            rule = f"intervals of this fit have the level {self.level:g}"
            raise InvalidInputError(message(rule, got=level, remedy=f"fit again with level={level}"))
        return {name: (p.low, p.high) for name, p in self._all.items()}

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the hidden opinion of each agent in the first replicate with its interval.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        from peerpressure.plotting.results import by_agent

        own = self.hidden
        names = [str(label) for label in self.estimate.model.network.labels]
        return by_agent(ax, names, {"estimate": (own.value[0], own.low[0], own.high[0])}, "hidden opinion")

    @property
    def model(self) -> Model:
        """The model with the estimates of the first replicate, as ``model_of`` returns it."""
        return self.model_of(0)

    def model_of(self, replicate: int = 0) -> Model:
        """Return the model with the estimates of one replicate, ready for runs, estimates and budgets.

        Hidden opinions are left out where some agent has too few steps for one. A pressure in pieces becomes a table
        that ends with the record.

        Parameters
        ----------
        replicate : int, default 0
            Position of the replicate.

        Returns
        -------
        Model
            The fitted model.

        Raises
        ------
        InvalidInputError
            If the replicate could not be fitted.
        """
        if not 0 <= replicate < len(self.failures) or self.failures[replicate] is not None:
            rule = f"a fitted model is that of one of the {len(self.failures)} replicates, and one that could be fitted"
            why = self.failures[replicate] if 0 <= replicate < len(self.failures) else "no such replicate"
            raise InvalidInputError(message(rule, got=f"{replicate} ({why})", remedy="choose another"))
        at = {name: p.value[replicate] for name, p in self.parameters.items()}
        last = 0 if self.data is None else self.data.seen.last
        hidden = self.hidden.value[replicate]
        known = hidden if np.isfinite(hidden).all() else None
        return replace(with_values(self.estimate.model, at, self.pieces, last), hidden=known)

    @property
    def diagnostics(self) -> FitDiagnostics | None:
        """Tests of the fitted model of the first replicate on the rows that the fit scored, given all others.

        Its log-likelihood is comparable with that of the fit: the same answers at the estimates, which differ a little
        from the maximum of the likelihood. None for answers with rounding or measurement noise.
        """
        if self.data is None or self.rows is None:
            return None
        first = replace(
            self.data, values=self.data.values[:1], known=self.data.known[:1], replicates=self.data.replicates[:1]
        )
        return replace(conditional_tests(self.model, first, self.rows), estimated=tuple(self.parameters))

    def summary(self) -> str:
        """Return the parameters with their intervals, the likelihood, and what a reader must know, line by line.

        Returns
        -------
        str
            The text that ``print`` shows.
        """
        return str(self)

    @property
    def identifiable(self) -> NDArray[np.bool_]:
        """In which replicates the answers determine every unknown parameter, (replicates,)."""
        settled = np.array([reason is None for reason in self.failures], dtype=bool)
        for parameter in self.parameters.values():
            settled &= parameter.identified.reshape(settled.size, -1).all(axis=1)
        return settled

    def to_dataframe(self) -> pandas.DataFrame:
        """Return tidy rows of the parameters, and of the hidden opinions after them.

        Returns
        -------
        pandas.DataFrame
            Columns ``parameter``, ``agent`` (the first step of a piece of pressure; None for a parameter that all
            share), ``replicate``, ``value``, ``std``, ``low``, ``high`` and ``identified``.
        """
        import pandas

        agents = self.estimate.model.network.labels
        rows = []
        for name, p in self._all.items():
            labels = list(self.pieces) if name == "pressure" else agents
            columns = [np.atleast_2d(a.T).T for a in (p.value, p.std, p.low, p.high, p.identified)]
            for replicate, of in enumerate(zip(*columns, strict=True)):
                own = labels if p.value.ndim == 2 else [None]
                rows += [(name, label, replicate, *cells) for label, *cells in zip(own, *of, strict=True)]
        names = ["parameter", "agent", "replicate", "value", "std", "low", "high", "identified"]
        table = pandas.DataFrame(rows, columns=names)
        # As numbers, labels beside None would become floats, and None NaN.
        labels = pandas.Series([row[1] for row in rows], dtype=object, index=table.index)
        return table.assign(agent=labels)

    def __repr__(self) -> str:
        failed = sum(reason is not None for reason in self.failures)
        parts = [f"{self.log_likelihood.size} replicate" + "s" * (self.log_likelihood.size != 1)]
        parts += [f"{failed} failed"] * bool(failed)
        parts += [_described(name, p) for name, p in self.parameters.items()] or ["no parameters"]
        return f"LikelihoodFit({', '.join(parts)})"

    def __str__(self) -> str:
        lines = [f"Fit of {', '.join(self.parameters) or 'hidden opinions'} to {self._size()}"]
        lines += [f"  {_described(name, p)}" for name, p in self.parameters.items()]
        several = " (means over replicates)" if self.log_likelihood.size > 1 else ""
        numbers = (float(np.nanmean(part)) for part in (self.log_likelihood, self.aic, self.bic))
        lines.append("  log-likelihood {:.6g}, AIC {:.6g}, BIC {:.6g}".format(*numbers) + several)
        lines += [f"  note  {note}" for note in self.notes]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *lines = str(self).splitlines()
        parts = (line.strip().partition(" ") for line in lines)
        return f"<div>{html_table(((name, text.strip()) for name, _, text in parts), head)}</div>"

    def _size(self) -> str:
        failed = sum(reason is not None for reason in self.failures)
        count = f" in each of {len(self.failures)} replicates" * (len(self.failures) > 1)
        lost = f", {failed} of which failed" * bool(failed)
        return f"{self.number_of_outputs:,} answers, {self.number_of_parameters:,} numbers{count}{lost}"


def notes_on(parameters: Mapping[str, UnknownParameter], failures: Sequence[str | None]) -> tuple[str, ...]:
    """Return a sentence for each parameter that some replicate does not identify, or not distinguish from a limit."""
    fitted = np.array([reason is None for reason in failures], dtype=bool)
    notes = []
    for name, p in parameters.items():
        row, lost = PARAMETERS[name], _in_some(~p.identified, fitted)
        if lost.any():
            notes.append(f"{name} is not identified{_where(lost, fitted)}{row.why}")
        low, high = row.scale.limits if row.scale else (-np.inf, np.inf)
        ends = _in_some(p.low <= low, fitted), _in_some(p.high >= high, fitted)
        for reached, other, limit in zip(ends, ends[::-1], row.limits, strict=False):
            # An interval that reaches from limit to limit says nothing at all, which is said above.
            only = reached & ~other
            if only.any():
                notes.append(f"{name} is not distinguishable from {limit}{_where(only, fitted)}")
    return tuple(notes)


def _in_some(where: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return in which of the fitted replicates something holds of an agent or a piece."""
    return np.asarray(where.reshape(fitted.size, -1).any(axis=1) & fitted)


def _where(replicates: NDArray[np.bool_], fitted: NDArray[np.bool_]) -> str:
    return "" if fitted.sum() == 1 else f" in {int(replicates.sum())} of {int(fitted.sum())} replicates"


def _described(name: str, p: UnknownParameter) -> str:
    low, value, high = (np.nan if np.isnan(a).all() else np.nanmedian(a) for a in (p.low, p.value, p.high))
    # Medians hide a single infinite end; the share that is not identified is stated instead.
    lost = np.mean(~p.identified)
    note = f", not identified in {lost:.0%}" if lost else ""
    return f"{name} {value:.4g} ({low:.4g} to {high:.4g}{note})" + " (median)" * (p.value.ndim == 2)
