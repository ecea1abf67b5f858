"""The comparison of rival models of one record: the table, the averages over models, and the figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from scipy import special

from peerpressure.fitting._courses import ADAPTING, COURSES
from peerpressure.fitting._integrated import Criterion, conditional_run
from peerpressure.fitting._neighbour_weight import UNKNOWN, neighbour_weight
from peerpressure.fitting._place_placebo import Placebo, placebo, together
from peerpressure.fitting._record import Panel
from peerpressure.fitting._response import Verdict, Weight, drawn_picture
from peerpressure.fitting._rivals import Rival, rivals_of, weights_of
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.recovery import FitDiagnostics, diagnose_fit
from peerpressure.support.progress import announce
from peerpressure.support.resources import few_threads
from peerpressure.support.text import html_columns

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from peerpressure.recovery import ScoreTests
    from peerpressure.report.estimates import Estimates, Picture

# Models with less weight than this do not change an average in the digits that are shown.
_NEGLIGIBLE = 1e-3


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Rival models of the same data, ranked by how well they explain it; further results are computed on demand.

    Attributes
    ----------
    panel : Panel
        The data.
    fits : mapping of str to fitted rivals
        Each rival by name.
    has_network : bool
        Whether a network was given.
    notes : tuple of str
        What a reader must know of how the data were read, and of rivals that were left out.

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
    fits: Mapping[str, Rival]
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
    def fit(self) -> Rival:
        """The best rival as it was fitted."""
        return self.fits[self.best]

    @property
    def model(self) -> Model | None:
        """The best model, fitted, for ``simulate``, ``recover`` and ``privacy``; None if people return to levels."""
        return self.fit.model

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
        # Conditional models are those of a network that does not change.
        model = self.fit.conditional if self.panel.model.is_constant else None
        if model is None:
            return None
        return diagnose_fit(conditional_run(self.fit.panel, model), model, estimated=["std"])

    @cached_property
    def p_value(self) -> float | None:
        """The p-value of the best model's fit, tiny if it does not fit the data; None if it cannot be tested."""
        p_values = None if self.diagnostics is None else self.diagnostics.p_value
        return None if p_values is None else float(p_values[0])

    @cached_property
    def parameters(self) -> pd.DataFrame:
        """Averages over models by weight, with 95 % intervals: parameter, value, low and high.

        They are the pressure at the first and the last row that is explained and its mean, the rate of adaptation, the
        standard deviation of the noise, and that of measurement errors if these are unknown and can be distinguished
        from noise. Models without neighbours have a pressure of 0, and walks and DeGroot's model a rate of 1.
        Parameters of one model, such as an exponent, are in ``fits[name].parameters``.
        """
        import pandas as pd

        draws, weights = self._draws()
        is_measured = self.panel.errors is not None and self.panel.errors.is_measured
        names = _DERIVED + ("measurement noise",) * is_measured
        if is_measured and not self.fit.tells_errors:
            # Where nobody responds, noise of opinions and of measurement is one noise, of which only the sum is known.
            names = _DERIVED[:-1]
        rows = [
            (name, *_summary(values, weights)) for name, values in zip(names, draws.T, strict=False) if weights.size
        ]
        return pd.DataFrame(rows, columns=["parameter", "value", "low", "high"])

    @property
    def _has_errors(self) -> bool:
        return self.panel.errors is not None

    def _counted(self) -> dict[str, Rival]:
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
        with few_threads(self.panel.n):
            parts = [(self.weights[name], *fit.opinions) for name, fit in self._counted().items()]
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
        """The effect of neighbours' last answers, and that of people shuffled over their places; None without ties."""
        return placebo(self.panel) if self.has_network and self.panel.slope.any() else None

    @property
    def p_value_placebo(self) -> float | None:
        """Share of shuffles in which other people explain as much as the neighbours; None without ties."""
        return None if self.placebo is None else self.placebo.p_value

    @cached_property
    def p_value_together(self) -> float | None:
        """Share of shuffles in which others move as much like each other in the same step; None without ties.

        It is of what the best model does not predict. A response to earlier answers leaves nothing alike in it.
        """
        return None if self.placebo is None else together(self.panel, self.fit.predictions(self.panel))

    @cached_property
    def taken_as_exact(self) -> Comparison:
        """All rivals of the same answers without their errors, among them those of levels and periods.

        These have no likelihood of answers with errors, and without them a shared shock or a return to own levels
        would be taken for a response.
        """
        panel = replace(self.panel, errors=None)
        fits = dict[str, Rival]()
        for name, fitted in rivals_of(Criterion(panel)).items():
            fits[name] = fitted(tuple(fits.values()))
        return Comparison(panel, fits, self.has_network)

    @cached_property
    def weight(self) -> Weight:
        """The weight of the mean of the neighbours' last answers in the next one, by least squares; NaN without ties.

        Own levels, effects of periods and own last answers are taken out, and so is the bias of few rows; the interval
        assumes no law of errors. It is one weight for all steps: where pressure changes over time, it is no average of
        the weights.
        """
        return UNKNOWN if self.placebo is None else neighbour_weight(self.panel)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether people respond to their neighbours: "responds", "no response" or "cannot tell".

        "responds" needs two witnesses: the best rival uses the network, and ``p_value_placebo`` is 0.05 at most; a
        ``weight`` that is clearly above 0; and neighbours who do not move together in the same step
        (``p_value_together`` above 0.01). Where answers have errors, the best rival must use the network also if they
        are taken as exact. "no response" needs that neither witness says so, that the weight is not
        below 0, and that a response of some size would have been found.
        """
        return verdict_on(self)

    @cached_property
    def pressure(self) -> pd.DataFrame:
        """Pressure over time by the best model: step, best, low and high (95 %); NaN where it has none."""
        import pandas as pd

        steps = self.panel.steps[1:]
        nothing = np.full(steps.size, np.nan)
        columns = {"best": nothing, "low": nothing, "high": nothing}
        with few_threads(self.panel.n):
            sampled = self.fit.courses()
        if sampled is not None:
            best, draws, weights = sampled
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
        """What such data cannot distinguish; empty where nothing is said of influence."""
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
        rows = [
            (str(row.model), f"{row.log_likelihood:.1f}", str(row.k), f"{row.bic_difference:.1f}", f"{row.weight:.3f}")
            for row in self.table.itertuples()
        ]
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences)
        return f"<div>{said}{html_columns(('model', 'log likelihood', 'k', 'BIC − min', 'weight'), rows)}</div>"

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
        return self.estimates(drawn=True).write_page(path)

    def estimates(self, *, drawn: bool) -> Estimates:
        """Return what is told of a comparison, for its page and its results folder.

        Parameters
        ----------
        drawn : bool
            Whether figures are drawn, too.

        Returns
        -------
        Estimates
            Sentences, numbers, tables and figures.
        """
        from peerpressure.report.estimates import Estimates

        return Estimates(
            title="Comparison of models",
            sentences=[*self.sentences, self._record],
            facts={
                "best": self.best,
                "verdict": self.verdict,
                "weight": self.weight._asdict(),
                "p_value": self.p_value,
                "p_value_placebo": self.p_value_placebo,
                "answers": self.scored,
                "models": self.table.to_dict(orient="records"),
                "parameters": self.parameters.to_dict(orient="records"),
                "opinions": self.opinions.to_dict(orient="records"),
            },
            tables={"opinions": self.opinions, "models": self.table, "parameters": self.parameters},
            pictures=_pictures(self) if drawn else (),
            notes=self.notes,
            printed=("models", "parameters"),
        )

    @property
    def _record(self) -> str:
        panel = self.panel
        first, last = int(panel.steps[0]), int(panel.steps[-1])
        return f"{panel.n:,} agents, steps {first} to {last}; all models explain the same {self.scored:,} answers."


_DERIVED = ("pressure, first step", "pressure, mean", "pressure, last step", "adaptation", "noise std")


def _summary(values: Array, weights: Array) -> tuple[float, float, float]:
    """Return the mean and the central 95 % of weighted draws, or as much more as holds the mean."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    mean = float(weights @ values / weights.sum())
    low, high = (float(values[order][min(int(np.searchsorted(share, p)), values.size - 1)]) for p in (0.025, 0.975))
    return mean, min(low, mean), max(high, mean)


# The answer in words.

COMMON_CAUSES = (
    "Such data cannot distinguish influence from all shocks, trends, seasons and traits that neighbours share, or from "
    "friendships that form because people agree."
)
# Weight above which the choice of a model is not doubted, and p-values below which its fit is.
_CLEAR, _DOUBTFUL = 0.9, 0.01
# P-values of the placebo at which a response is found, and of movements in the same step at which it is doubted; and
# the response that must be found where none is said to be.
_FOUND, _TOGETHER, _MATTERS = 0.05, 0.01, 0.2
_ABOVE = 1.645  # standard errors by which the weight of neighbours must be above 0, which chance is in 1 of 20
# Courses of pressure, and how many times more likely some must be than others to be told from them.
_STEADY = frozenset(name for name, (names, exponent) in COURSES.items() if names and exponent == 0)
_CHANGING = frozenset(name for name, (names, exponent) in COURSES.items() if names and exponent != 0)
_FAR_MORE = 20.0


def sentences_on(c: Comparison) -> tuple[str, ...]:
    """Return the answer: response to neighbours, course of pressure, adaptation, fit, what is missed, and limits.

    A record that was read in the wrong way, or that no model fits, spoils all of it, which is said first.
    """
    answer = (*_response(c), *_course(c), *_adaptation(c), *_errors(c), *_doubt(c), *_fit(c), *_missed(c), *_limits(c))
    return (*_spoilt(c), *answer)


def _fits_badly(c: Comparison) -> bool:
    return c.p_value is not None and c.p_value < _DOUBTFUL


def _misfit(c: Comparison) -> str:
    return f"Even the best of these models fits badly (p = {c.p_value:.2g}), so something else is at work."


def _spoilt(c: Comparison) -> Iterator[str]:
    if c.panel.remarks:
        yield "These answers lie on a grid and were taken as exact, so pressure looks weaker than it is: see the notes."
    if c.verdict == "responds" and _fits_badly(c):
        yield _misfit(c)


def verdict_on(c: Comparison) -> Verdict:
    """Return the answer of both witnesses: the best rival, and the placebo."""
    if c.placebo is None:
        return "cannot tell"
    likely, found = c.fit.uses_network, c.placebo.p_value <= _FOUND
    if likely and found:
        doubted = not _is_clear(c.weight) or _move_together(c) or _needs_errors(c)
        return "cannot tell" if doubted else "responds"
    nothing = not likely and not found and c.weight.high > 0
    return "no response" if nothing and c.placebo.smallest <= _MATTERS else "cannot tell"


def _move_together(c: Comparison) -> bool:
    """Return whether neighbours share something that moves them, which looks like a response as well."""
    return c.p_value_together is not None and c.p_value_together <= _TOGETHER


def _needs_errors(c: Comparison) -> bool:
    """Return whether only rivals of answers with errors, which lack levels and periods, make a response likely."""
    return c.panel.errors is not None and not c.taken_as_exact.fit.uses_network


def _is_clear(weight: Weight) -> bool:
    """Return whether a weight is above 0 without the bias of few rows, which both witnesses take for a response."""
    return weight.value > _ABOVE * weight.std


def _response(c: Comparison) -> Iterator[str]:
    fit = c.fit
    if c.placebo is None:
        yield fit.words
        return
    if c.verdict == "responds":
        yield "People respond to their neighbours."
        # Where pressure changes there is no one weight, and what else is at work may be a part of it.
        if not _fits_badly(c) and not (_describes(c) and c.best.removesuffix(ADAPTING) in _CHANGING):
            value, low, high, _ = c.weight
            moved = f"{value:.2g} ({low:.2g} to {high:.2g})"
            yield f"On average they move {moved} of the way to the mean of their neighbours at each step."
            if low <= 0:
                yield "Both tests agree that they do, but how much is uncertain."
        yield from filter(None, [fit.words.replace("People", "They also", 1)])
        return
    if c.verdict == "no response":
        yield "There is no sign that people respond to their neighbours in this network."
        yield f"A response of {_share(c)} of the way to the mean of neighbours at each step would have been found."
    else:
        yield "These data cannot tell whether people respond to their neighbours."
        yield _why_not(c, c.placebo)
    if not fit.uses_network:
        yield fit.words


def _share(c: Comparison) -> str:
    return "" if c.placebo is None else f"{c.placebo.smallest:.2g}"


def _why_not(c: Comparison, placebo: Placebo) -> str:
    """Return why the two witnesses do not answer."""
    likely, found = c.fit.uses_network, placebo.p_value <= _FOUND
    if not placebo.can_tell:
        return "All hear the same, so a response cannot be distinguished from what moves everybody."
    if likely and found:
        return _why_doubted(c)
    if likely:
        return f"The best model has a response, but shuffled people explain as much (p = {placebo.p_value:.2g})."
    if found:
        return (
            f"Neighbours explain more than shuffled people do (p = {placebo.p_value:.2g}), "
            "but a model without a response explains the answers best."
        )
    return _why_unfound(c, placebo)


def _why_doubted(c: Comparison) -> str:
    """Return why what both witnesses see is not taken for a response."""
    if _move_together(c):
        return (
            f"Both tests see a response, but neighbours also move together in the same step "
            f"(p = {c.p_value_together:.2g}), which no response to earlier answers explains: they may share shocks, "
            "trends, seasons or traits."
        )
    if not _is_clear(c.weight):
        return (
            "Both tests see a response, but its size is not clearly above 0: in so few rows, friends who approach "
            "shared opinions look the same."
        )
    return (
        f"Both tests see a response, but a model without one ({c.taken_as_exact.best}), which can be compared only if "
        "errors of answers are left out, explains them better."
    )


def _why_unfound(c: Comparison, placebo: Placebo) -> str:
    """Return what neither witness rules out."""
    value, low, high, _ = c.weight
    if high <= 0:
        return f"Rather, people move away from their neighbours: the weight is {value:.2g} ({low:.2g} to {high:.2g})."
    if not placebo.smallest < 1:
        return "So few answers would hardly show any response."
    return f"A response of less than {_share(c)} of the way to the mean of neighbours would not have been found."


def _describes(c: Comparison) -> bool:
    """Return whether the best model's own parameters are told: one that fits badly has neither right sizes nor ends."""
    return c.verdict == "responds" and c.best.removesuffix(ADAPTING) in COURSES and not _fits_badly(c)


def _course(c: Comparison) -> Iterator[str]:
    if not _describes(c):
        return
    name = c.best.removesuffix(ADAPTING)
    if name == "constant":
        size = _interval_of(c, "pressure")
        known = _outweighs(c, _STEADY, _CHANGING)
        yield f"Pressure is constant, {size}." if known else f"Pressure is {size} if constant; growth is not ruled out."
    elif name == "linear":
        size = _interval_of(c, "slope")
        if _outweighs(c, _CHANGING, _STEADY):
            yield f"Pressure grows with time, by {size} a step."
        else:
            yield f"Pressure seems to grow with time, by {size} a step, but constant pressure is not ruled out."
    elif name == "power":
        exponent = c.fit.parameters["exponent"]
        verb = "grows" if exponent.low > 0 else "falls" if exponent.high < 0 else "hardly changes"
        yield f"Pressure {verb} with time, with exponent {_interval_of(c, 'exponent')}."


def _outweighs(c: Comparison, these: frozenset[str], others: frozenset[str]) -> bool:
    """Return whether courses of pressure were compared with others, and are far more likely than these."""
    sums = [
        sum(weight for name, weight in c.weights.items() if name.removesuffix(ADAPTING) in names)
        for names in (these, others)
    ]
    return any(name.removesuffix(ADAPTING) in others for name in c.weights) and sums[0] >= _FAR_MORE * sums[1]


def _interval_of(c: Comparison, name: str) -> str:
    p = c.fit.parameters[name]
    return _interval(p.value[0], p.low[0], p.high[0])


def _interval(value: float, low: float, high: float) -> str:
    ends = f"{low:.3g} or more" if np.isinf(high) else f"{low:.3g} to {high:.3g}"
    return f"{value:.3g} ({ends})"


def _adaptation(c: Comparison) -> Iterator[str]:
    if not _describes(c):
        return
    if c.best.endswith(ADAPTING):
        yield f"Opinions adapt to answers, by {_interval_of(c, 'adaptation')} of the difference at each step."
    elif c.best + ADAPTING in c.fits:
        yield "No adaptation was found: hidden opinions seem constant."


def _errors(c: Comparison) -> Iterator[str]:
    if c.fit.tells_errors:
        noise = c.fit.measurement_noise
        if noise is not None:
            yield f"Answers have measurement errors of {_interval(*noise)}, to which nobody responds."
    else:
        yield "Where nobody responds to anybody, measurement errors cannot be distinguished from noise."


def _doubt(c: Comparison) -> Iterator[str]:
    names = list(c.weights)
    if c.weights[c.best] < _CLEAR and len(names) > 1:
        share, other = c.weights[names[1]], names[1]
        yield f"The choice of model is not clear: {c.best} has weight {c.weights[c.best]:.2f}, {other} {share:.2f}."


def _fit(c: Comparison) -> Iterator[str]:
    p = c.p_value
    if c.panel.errors is not None:
        yield "The fit was not tested: tests need exact answers."
    elif c.fit.model is None:
        yield "The fit was not tested: tests need a model with hidden opinions."
    if p is None:
        return
    if not _fits_badly(c):
        yield f"The model fits the data (p = {p:.2g})."
        return
    if c.verdict != "responds":
        yield _misfit(c)
    if c.diagnostics is not None:
        yield from (f"{finding[0].upper()}{finding[1:]}." for finding in c.diagnostics.findings.values())


def _missed(c: Comparison) -> Iterator[str]:
    if c.misses is not None and c.misses.sentences:
        yield from c.misses.sentences
        yield "Even if the model is right, each search (agents, signs, ties) finds something in 1 of 20 data sets."


def _limits(c: Comparison) -> Iterator[str]:
    if c.caveat:
        yield c.caveat
    if not c.has_network:
        yield "Without a network, only models without neighbours were compared; infer_network estimates the network."


# The page.

_MOST_PLACED = 120  # agents whose layout takes a second or two


def _pictures(comparison: Comparison) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    pictures = [
        drawn_picture(
            "Which model explains the answers",
            "The difference in BIC of every model from the best one. A difference of 10 is strong evidence.",
            draw.weights(comparison.table),
        )
    ]
    if np.isfinite(comparison.pressure["best"]).any():
        pictures.append(
            drawn_picture(
                "Peer pressure over time",
                "By the best model, with 95 % intervals: only as right as the form of its curve. An arrow marks "
                "intervals that reach further than the axis.",
                draw.pressure(comparison.pressure, comparison.best),
            )
        )
    if np.isfinite(comparison.opinions["value"]).any():
        pictures.append(
            drawn_picture(
                "What people think and what they said last",
                "Hidden opinions with 95 % intervals, averaged over models. On the dotted line, people say what they "
                "think; red intervals do not contain the last answer.",
                draw.opinions(comparison.opinions),
            )
        )
    pictures += _pictures_of_missed(comparison)
    return [
        *pictures,
        drawn_picture(
            "Error of the next answer",
            "Root mean square over agents of the difference between answers and their predictions from earlier ones.",
            draw.errors(comparison.errors),
        ),
    ]


def _pictures_of_missed(comparison: Comparison) -> list[Picture]:
    from peerpressure.plotting import comparison as draw

    graph, misses = comparison.network, comparison.misses
    if misses is None or not misses.missed or graph.n > _MOST_PLACED:
        return []
    caption = " ".join(misses.sentences)
    names = [str(label) for label in graph.labels]
    return [
        drawn_picture("What the best model misses", caption, draw.missed(names, comparison.edges, comparison.missed))
    ]
