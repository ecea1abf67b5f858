"""The comparison of rival models of one record: the table, the averages over models, and the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._compared import Verdict
from peerpressure.fitting._integrated import Criterion, conditional_run
from peerpressure.fitting._measured_rivals import MeasuredFit
from peerpressure.fitting._own_rivals import OwnFit
from peerpressure.fitting._place_placebo import Placebo, placebo
from peerpressure.fitting._record import Panel
from peerpressure.fitting._record_reading import errors_of, network_of, panel_of, refuse_swapped
from peerpressure.fitting._response import Weight
from peerpressure.fitting._rivals import (
    WITH_HIDDEN,
    AverageFit,
    Fitted,
    fit_given,
    fit_rival,
    rival_names,
    weights_of,
)
from peerpressure.fitting._sentences import COMMON_CAUSES, sentences_on, verdict_on
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.recovery import FitDiagnostics, Observation, diagnose_fit
from peerpressure.support.files import replacing
from peerpressure.support.progress import ShouldStop, announce, cancellable, check_cancelled
from peerpressure.support.resources import few_threads

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from peerpressure.recovery import ScoreTests

Start: TypeAlias = Literal["hidden", "public"]
Rivals: TypeAlias = Sequence[str | Model] | Mapping[str, Model]
# Rows up to which no default set of rivals is compared.
FEW_ROWS = 5
# Models with less weight than this do not change an average in the digits that are shown.
_NEGLIGIBLE = 1e-3


def compare(
    data: Any,
    network: Network | TemporalNetwork | str | Path | None = None,
    rivals: Rivals | None = None,
    *,
    start: Start = "hidden",
    stubbornness: float | ArrayLike = 1.0,
    observation: Observation | None = None,
    measurement_noise: bool = False,
    step: str | None = None,
    origin: object = None,
    should_stop: ShouldStop | None = None,
) -> Comparison:
    """Compare rival models of observed answers: whether people respond, which model fits, and what they think.

    Every rival is fitted to exactly the same answers: all but the first of each agent, given the first ones. Hidden
    opinions are integrated out, and so they do not count as parameters. Rivals are ranked by Schwarz's criterion (BIC).

    Parameters
    ----------
    data : Trajectory, pandas.DataFrame, xarray.Dataset, array or path
        Public opinions over time, in any form that `recovery.observations_of` takes: for instance the path of a table
        with columns ``time``, ``agent`` and ``public``, or with ``time`` and one column for each agent. Answers may be
        missing.
    network : Network, TemporalNetwork or path, optional
        Who listens to whom, or a file that `read_network` reads. Without one, only rivals that need none are compared.
    rivals : sequence of str and Model, or mapping of str to Model, optional
        Names among "none", "constant", "linear" and "power", each also with "+adaptation", "degroot", "walk",
        "own-return" and "common-return", and those of them without neighbours with "+trend" or "+period"; and models of
        your own. Their network, stubbornness, pressure and adaptation are used as they are; hidden opinions and the
        size of the noise are fitted. By default all names that the record can tell apart; models that are passed as a
        mapping are compared with these as well.
    start : {"hidden", "public"}, default "hidden"
        Whether the first row answers to a start that was not observed, or is itself the public start y₀ of the model.
        Under a hidden start step 0 is not used, since it would show the hidden opinions themselves.
    stubbornness : float or sequence of float, default 1.0
        Weight of an agent's own opinion, one for all or one for each agent. Only its ratio to the pressure counts.
    observation : Observation, optional
        ``Observation(rounding=0.1)`` for rounded answers, and ``Observation(scale=(1, 5))`` for points of a scale,
        which are taken as ordered categories. An observation of some agents or steps is refused.
    measurement_noise : bool, default False
        Whether answers have errors of unknown size, to which nobody responds. With few rows, these and the noise of
        opinions are hard to tell apart.
    step, origin : optional
        Length of a step and time of step 0, if the times of a table are dates, as for `Trajectory.from_dataframe`.
    should_stop : callable, optional
        Called often; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Comparison
        The answer in sentences, the table of rivals, the best model, and averages over models.

    Raises
    ------
    InvalidInputError
        If there are fewer than three rows, or up to five and no rivals were named; several replicates or topics,
        agents that the network lacks, or answers that never change; or if a rival is unknown or cannot be scored.
    FileFormatError
        If a file cannot be read.

    See Also
    --------
    fitting.response : Whether people respond to what they see, from records of a few rows, in one group or in many.
    recover : Estimate hidden opinions with a model that is known.
    infer_network : Estimate the network itself.

    References
    ----------
    .. [1] G. Schwarz (1978), Estimating the dimension of a model. Annals of Statistics 6.
    .. [2] J. M. Wooldridge (2005), Simple solutions to the initial conditions problem in dynamic, nonlinear panel data
       models with unobserved heterogeneity. Journal of Applied Econometrics 20.
    .. [3] T. Lancaster (2002), Orthogonal parameters and panel data. Review of Economic Studies 69.

    Examples
    --------
    >>> import numpy as np
    >>> import peerpressure as pp
    >>> graph = pp.networks.barabasi_albert(20, 2, seed=1)
    >>> people = pp.Model(graph, np.linspace(0, 1, 20), pressure=pp.Linear(0.2), noise=pp.Gaussian(0.3))
    >>> answer = pp.compare(pp.simulate(people, 40, seed=1), graph, ["none", "constant", "linear", "walk"])
    >>> answer.best
    'linear'
    >>> answer.sentences[0]
    'People respond to their neighbours.'
    """
    _check_start(start)
    refuse_swapped(data)
    graph = network_of(network)
    with cancellable(should_stop):
        panel, notes = panel_of(
            data,
            graph,
            stubbornness,
            public_start=start == "public",
            errors=errors_of(observation, measurement_noise),
            step=step,
            origin=origin,
        )
        if rivals is None and graph is not None and panel.errors is None:
            _check_rows(panel)
        with few_threads(panel.n):
            fits, left_out = _fitted(panel, rivals)
    return Comparison(panel, fits, graph is not None, (*panel.remarks, *notes, *left_out))


def _check_start(start: object) -> None:
    if start not in ("hidden", "public"):
        remedy = "use 'public' where the first row is the start itself"
        raise InvalidInputError(message("start must be 'hidden' or 'public'", got=repr(start), remedy=remedy))


def _check_rows(panel: Panel) -> None:
    """Raise if there are too few rows to tell courses of pressure apart, and another question can be answered."""
    if panel.length < FEW_ROWS:
        rule = f"records of {FEW_ROWS} rows or fewer tell whether people respond, not how pressure changes"
        remedy = (
            "had people seen each other's answers before the first row? set first = 'before' if they had not, or "
            "'after' (peerpressure response --first, fitting.response in Python), or name the rivals to compare"
        )
        raise InvalidInputError(message(rule, got=f"{panel.length + 1}", remedy=remedy))


def _fitted(panel: Panel, rivals: Rivals | None) -> tuple[dict[str, Fitted], tuple[str, ...]]:
    """Return the fitted rivals, and why some were left out."""
    known = rival_names(panel)
    names, given = _named(rivals, known)
    criterion, fits, notes = Criterion(panel), dict[str, Fitted](), list[str]()
    count = len(names) + len(given)
    for place, name in enumerate([*names, *given], 1):
        announce(f"fitting {name}, model {place} of {count}")
        check_cancelled()
        parts = tuple(fits.values())
        fits[name] = fit_given(panel, name, given[name]) if name in given else fit_rival(criterion, name, parts)
    announce("")
    for name, fit in fits.items():
        if fit.unidentified:
            notes.append(f"{name} has no weight: its {fit.unidentified} is at the end of what a record can tell.")
    return fits, tuple(notes)


def _named(rivals: Rivals | None, known: Sequence[str]) -> tuple[list[str], dict[str, Model]]:
    """Return the names of built-in rivals, and models of the user by name."""
    if rivals is None:
        return list(known), {}
    if isinstance(rivals, Mapping):
        _refuse_taken(rivals, known)
        return list(known), dict(rivals)
    if isinstance(rivals, (str, Model)):
        rivals = [rivals]
    names = [each for each in rivals if isinstance(each, str)]
    models = [each for each in rivals if not isinstance(each, str)]
    wrong = [name for name in names if name not in known]
    if wrong or not rivals:
        rule = f"rivals of this record are {', '.join(known)}, and models"
        got = repr(wrong[0]) if wrong else "none"
        raise InvalidInputError(message(rule, got=got, remedy="leave rivals out to compare all of them"))
    return list(dict.fromkeys(names)), {f"model {place}": model for place, model in enumerate(models, 1)}


def _refuse_taken(rivals: Mapping[str, Model], known: Sequence[str]) -> None:
    taken = [name for name in rivals if name in known]
    if taken:
        remedy = "give your model another name"
        raise InvalidInputError(
            message("names of models must differ from those of rivals", got=taken[0], remedy=remedy)
        )


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Rival models of the same data, ranked by how well they explain it; further results are computed on demand.

    Attributes
    ----------
    panel : Panel
        The record.
    fits : mapping of str to fitted rivals
        Each rival by name.
    has_network : bool
        Whether a network was given.
    notes : tuple of str
        What a reader must know of how the record was read, and of rivals that were left out.

    See Also
    --------
    compare : Returns it.

    Examples
    --------
    >>> import numpy as np
    >>> import peerpressure as pp
    >>> graph = pp.networks.barabasi_albert(20, 2, seed=1)
    >>> people = pp.Model(graph, np.linspace(0, 1, 20), pressure=0.5, noise=pp.Gaussian(0.3))
    >>> answer = pp.compare(pp.simulate(people, 40, seed=1), graph, ["none", "constant", "linear"])
    >>> answer.best, round(answer.model.pressure.value, 1)
    ('constant', 0.4)
    """

    panel: Panel
    fits: Mapping[str, Fitted]
    has_network: bool = True
    notes: tuple[str, ...] = ()

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each rival, the largest first: exp(−Δ/2), where Δ is the difference in BIC, in shares of 1.

        Rivals with a parameter that only the end of its range bounds have none.
        """
        weights = weights_of(self.fits)
        return {name: weights[name] for name in sorted(weights, key=lambda name: (-weights[name], self.fits[name].bic))}

    @cached_property
    def best(self) -> str:
        """The name of the rival with the largest weight."""
        return next(iter(self.weights))

    @property
    def fit(self) -> Fitted:
        """The best rival as it was fitted."""
        return self.fits[self.best]

    @property
    def model(self) -> Model | None:
        """The best model, fitted, for ``simulate``, ``recover`` and ``privacy``; None if people return to levels."""
        return None if isinstance(self.fit, OwnFit) else self.fit.model

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rivals, the best first: model, log_likelihood, k (parameters), bic_difference and weight.

        The difference is infinite for a rival with a parameter that only the end of its range bounds.
        """
        import pandas as pd

        least = self.fit.bic
        rows = [
            (name, fit.log_likelihood, fit.k, fit.bic - least if weight or not fit.unidentified else np.inf, weight)
            for name, weight in self.weights.items()
            for fit in [self.fits[name]]
        ]
        return pd.DataFrame(rows, columns=["model", "log_likelihood", "k", "bic_difference", "weight"])

    @property
    def scored(self) -> int:
        """The number of answers that all rivals explain."""
        return self.panel.count

    @cached_property
    def diagnostics(self) -> FitDiagnostics | None:
        """Tests of the best model on the same answers; None if it has none, or answers have errors."""
        if isinstance(self.fit, OwnFit | MeasuredFit) or self._has_errors:
            return None
        if not self.panel.model.is_constant:
            return None
        model = self.fit.conditional
        return replace(diagnose_fit(conditional_run(self.fit.panel, model), model), estimated=("std",))

    @cached_property
    def p_value(self) -> float | None:
        """The p-value of the best model's fit, tiny if another one made the record; None if it cannot be tested."""
        p_values = None if self.diagnostics is None else self.diagnostics.p_value
        return None if p_values is None else float(p_values[0])

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """Averages over models by weight, with 95 % intervals: parameter, value, low and high.

        They are the pressure at the first and the last row that is explained and its mean, the rate of adaptation, the
        standard deviation of the noise, and that of errors of measurement where these are unknown and can be told from
        it. Models without neighbours have a pressure of 0, and walks and DeGroot's model a rate of 1. Parameters of one
        model, such as an exponent, are in ``fits[name].parameters``.
        """
        import pandas as pd

        draws, weights = self._draws()
        is_measured = self.panel.errors is not None and self.panel.errors.is_measured
        names = _DERIVED + ("measurement noise",) * is_measured
        if isinstance(self.fit, MeasuredFit) and is_measured and not self.fit.tells_errors:
            # Where nobody responds, noise of opinions and of measurement is one noise, of which only the sum is known.
            names = _DERIVED[:-1]
        rows = [
            (name, *_summary(values, weights)) for name, values in zip(names, draws.T, strict=False) if weights.size
        ]
        return pd.DataFrame(rows, columns=["parameter", "value", "low", "high"])

    @property
    def _has_errors(self) -> bool:
        return self.panel.errors is not None

    def _counted(self) -> dict[str, Fitted]:
        """Return the rivals that averages are made of."""
        return {name: fit for name, fit in self.fits.items() if self.weights[name] > _NEGLIGIBLE}

    def _draws(self) -> tuple[Array, Array]:
        """Return draws of the derived parameters (m, k) from all models, and their weights."""
        parts, weights = [np.empty((0, len(_DERIVED) + self._has_errors))], [np.empty(0)]
        for name, fit in self._counted().items():
            announce(f"how sure {name} is")
            with few_threads(self.panel.n):
                draws, shares = fit.draws()
            parts.append(draws)
            weights.append(self.weights[name] * shares)
        announce("")
        return np.concatenate(parts), np.concatenate(weights)

    @cached_property
    def opinions(self) -> pd.DataFrame:
        """What each agent thinks after the last row, averaged over models: agent, value, std, low, high, last_answer.

        Intervals are of 95 %. In a random walk and in DeGroot's model, opinions are the last answers, as they are where
        all return to one value; where each agent returns to a level, they are these levels.
        """
        import pandas as pd

        value, variance = np.zeros(self.panel.n), np.zeros(self.panel.n)
        parts = [(self.weights[name], *self._opinions_of(fit)) for name, fit in self._counted().items()]
        total = sum(weight for weight, _, _ in parts)
        for weight, mean, _ in parts:
            value = value + weight / total * mean
        for weight, mean, std in parts:
            variance = variance + weight / total * (std**2 + (mean - value) ** 2)
        std = np.sqrt(variance)
        half = float(special.ndtri(0.975)) * std
        columns = {"value": value, "std": std, "low": value - half, "high": value + half}
        named = self.network.name_columns()
        return pd.DataFrame({**named, **columns, "last_answer": self.panel.last})

    def _opinions_of(self, fit: Fitted) -> tuple[Array, Array]:
        if isinstance(fit, AverageFit):
            return self.panel.last, np.full(self.panel.n, fit.error)
        with few_threads(self.panel.n):
            return fit.opinions

    @property
    def network(self) -> Network:
        """The network, or the aggregate of a temporal one."""
        return self.panel.network

    @property
    def edges(self) -> pd.DataFrame:
        """The ties as positions of agents: source and target."""
        import pandas as pd

        pairs = self.network.adjacency.tocoo()
        kept = (pairs.row < pairs.col) | self.network.directed
        return pd.DataFrame({"source": pairs.row[kept], "target": pairs.col[kept]})

    @cached_property
    def misses(self) -> ScoreTests | None:
        """What the best model misses: agents, signs and ties, ranked, and in words; None if it is not tested."""
        return self.diagnostics.misses if self.diagnostics is not None and self.fit.uses_network else None

    @property
    def missed(self) -> pd.DataFrame:
        """What is missed as rows: kind, first and second, positions of agents, −1 for none."""
        import pandas as pd

        misses = () if self.misses is None else self.misses.missed
        rows = [(one.kind, int(one.agents[0]), int([*one.agents, -1][1])) for one in misses]
        return pd.DataFrame(rows, columns=["kind", "first", "second"])

    @cached_property
    def placebo(self) -> Placebo | None:
        """The effect of neighbours' last answers beside that of people dealt to their places; None without ties."""
        return placebo(self.panel) if self.has_network and self.panel.slope.any() else None

    @property
    def p_value_placebo(self) -> float | None:
        """How rarely people who were dealt to the places of neighbours tell as much as these; None without ties."""
        return None if self.placebo is None else self.placebo.p_value

    @property
    def weight(self) -> Weight:
        """The weight of the mean of the neighbours' last answers in the next one, by least squares; NaN without ties.

        Own levels, effects of periods and own last answers are taken out, and the interval assumes no law of errors. It
        is one weight for all steps: where pressure changes over time, it is no average of the weights.
        """
        if self.placebo is None or not self.placebo.can_tell:
            return Weight(np.nan, -np.inf, np.inf, np.inf)
        return Weight(self.placebo.effect, *self.placebo.interval, self.placebo.std)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether people respond to their neighbours: "responds", "no response" or "cannot tell".

        "responds" needs two witnesses: the best rival uses the network, and ``p_value_placebo`` is 0.05 at most. "no
        response" needs that neither says so, and that a response of some size would have been found.
        """
        return verdict_on(self)

    @cached_property
    def pressure(self) -> pd.DataFrame:
        """Pressure over time by the best model: step, best, low and high (95 %); NaN where it has none."""
        import pandas as pd

        steps = self.panel.steps[1:]
        nothing = np.full(steps.size, np.nan)
        columns = {"best": nothing, "low": nothing, "high": nothing}
        if isinstance(self.fit, WITH_HIDDEN):
            with few_threads(self.panel.n):
                draws, weights = self.fit.courses()
            best = self.fit.dynamics.rho
            ends = np.array([_summary(values, weights)[1:] for values in draws.T]).T
            columns = {"best": best, "low": np.minimum(ends[0], best), "high": np.maximum(ends[1], best)}
        return pd.DataFrame({"step": steps, **columns})

    @cached_property
    def errors(self) -> pd.DataFrame:
        """Typical errors of predictions one step ahead, by step: step, model and error (root mean square)."""
        import pandas as pd

        rows = []
        for name in dict.fromkeys((self.best, "none", "walk")):
            if name in self.fits:
                off = np.where(self.panel.scored, self.panel.rows[1:] - self.fits[name].predictions(self.panel), np.nan)
                there = np.maximum(self.panel.scored.sum(axis=1), 1)
                size = np.sqrt(np.nansum(off**2, axis=1) / there)
                rows += [
                    (int(step), name, float(error)) for step, error in zip(self.panel.steps[1:], size, strict=True)
                ]
        return pd.DataFrame(rows, columns=["step", "model", "error"])

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The answer in words, the most important first."""
        return sentences_on(self)

    @property
    def caveat(self) -> str:
        """What no such record can tell apart; empty where nothing is said of influence."""
        return COMMON_CAUSES if self.verdict == "responds" else ""

    def __str__(self) -> str:
        first = f"{self.panel.n} agents, steps {self.panel.steps[0]}–{self.panel.steps[-1]}; "
        first += f"all models explain the same {self.scored:,} answers"
        lines = [*self.sentences, "", first, *self._table_lines()]
        return "\n".join([*lines, *([""] if self.notes else []), *self.notes])

    __repr__ = __str__

    def _table_lines(self) -> list[str]:
        width = max(len(name) for name in self.fits) + 2
        lines = [f"{'model':<{width}}{'log lik':>10}{'k':>6}{'BIC − min':>11}{'weight':>8}"]
        for row in self.table.itertuples():
            numbers = f"{row.log_likelihood:>10.1f}{row.k:>6}{row.bic_difference:>11.1f}{row.weight:>8.3f}"
            lines.append(f"{row.model:<{width}}{numbers}")
        return lines

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(str(row.model))}</td><td>{row.log_likelihood:.1f}</td><td>{row.k}</td>"
            f"<td>{row.bic_difference:.1f}</td><td>{row.weight:.3f}</td></tr>"
            for row in self.table.itertuples()
        )
        head = "<tr><th>model</th><th>log likelihood</th><th>k</th><th>BIC − min</th><th>weight</th></tr>"
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return f"<div>{said}<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"

    def plot(self) -> Figure:
        """Return a figure: weights by model, pressure over time, hidden opinions and last answers, prediction errors.

        Returns
        -------
        matplotlib.figure.Figure
            The figure, not attached to any window.
        """
        from peerpressure.plotting.comparison import overview

        return overview(self.table, self.pressure, self.opinions, self.errors)

    def report(self, path: str | Path) -> Path:
        """Write the comparison as an HTML page that needs nothing but a browser, the answer first.

        Parameters
        ----------
        path : str or Path
            The file, which is replaced if it exists.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        FileFormatError
            If the file cannot be written.
        """
        from peerpressure.fitting.page import page

        text = page(self)
        with replacing(path) as file:
            file.write(text)
        return Path(path)


_DERIVED = ("pressure, first step", "pressure, mean", "pressure, last step", "adaptation", "noise std")


def _summary(values: Array, weights: Array) -> tuple[float, float, float]:
    """Return the mean and the central 95 % of weighted draws, or as much more as holds the mean."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    mean = float(weights @ values / weights.sum())
    low, high = (float(values[order][min(int(np.searchsorted(share, p)), values.size - 1)]) for p in (0.025, 0.975))
    return mean, min(low, mean), max(high, mean)
