"""Verdicts, and their rendering: the plain answer, the mathematics, HTML for a notebook and plain values for JSON."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, final

import numpy as np

from peerpressure.errors import first_few
from peerpressure.model.step import Array
from peerpressure.support.results import one_line, read_only
from peerpressure.support.text import html_table, plain
from peerpressure.theory._advice import Advice, Suggestion
from peerpressure.theory._classification import Outcome
from peerpressure.theory._forecast import Forecast
from peerpressure.theory._limit_law import LimitLaw
from peerpressure.theory._limits import ConsensusLimit
from peerpressure.theory._rates import Rate
from peerpressure.theory._reasons import Reason, paragraph
from peerpressure.theory._structure import Component
from peerpressure.theory._text import (
    WIDTH,
    Findings,
    Rows,
    advice_rows,
    forecast_rows,
    legend,
    limit_text,
    not_tried,
    outlook,
    progress_rows,
    schedule_text,
    sentence,
    table,
)
from peerpressure.theory.propagation import LARGEST_COVARIANCE

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Intervals without joint connectivity that are named.
NAMED = 2
# Characters of a line that no row is longer than.
UNWRAPPED = 1_000


@final
@one_line
@dataclass(frozen=True)
class Connectivity:
    """Joint connectivity of a temporal network.

    Attributes
    ----------
    period : int or None
        Number of steps after which the network repeats; None if it does not.
    last_change : int
        Step of the last change.
    until : int or None
        Last step up to which ``window`` holds; None if it holds forever.
    window : int or None
        Least number of steps over any of which the union of the networks is connected; None if there is no such number.
    usual : int or None
        A number of steps over which the union mostly is connected.
    broken : tuple of (int, int)
        First and last steps of the intervals of ``usual`` steps over which it is not.
    components : tuple of int
        Sizes of the components of the networks that recur.
    values : tuple of float or None
        Limit of each component; None where it depends on more than constant opinions.
    isolated : float
        Share of agents and recurring steps without a neighbour, from 0 to 1.
    isolated_agents : int
        Number of agents that this happens to.

    See Also
    --------
    networks.joint_connectivity : Connectivity of a network without a model.

    References
    ----------
    .. [1] A. Jadbabaie, J. Lin and A. S. Morse (2003), "Coordination of groups of mobile autonomous agents using
       nearest neighbor rules", IEEE Transactions on Automatic Control 48, 988–1001.

    Examples
    --------
    >>> from peerpressure import Model, TemporalNetwork, diagnose
    >>> network = TemporalNetwork.from_events([(1, 0, 1), (2, 0, 1, 0), (2, 1, 2)], period=2)
    >>> connectivity = diagnose(Model(network, hidden=[0.0, 1.0, 2.0])).connectivity
    >>> connectivity.window, round(connectivity.isolated, 3)
    (2, 0.333)
    """

    period: int | None
    last_change: int
    until: int | None
    window: int | None
    usual: int | None
    broken: tuple[tuple[int, int], ...]
    components: tuple[int, ...]
    values: tuple[float | None, ...]
    isolated: float
    isolated_agents: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON.

        Returns
        -------
        dict
            The attributes by name, with lists in place of tuples.
        """
        return {name: plain(value) for name, value in vars(self).items()}


@final
@dataclass(frozen=True)
class HiddenOutcome:
    """Long-run behaviour of hidden opinions that adapt.

    Attributes
    ----------
    agrees : bool or None
        Whether their differences vanish; None if that is unknown. Where all agents adapt forever, public opinions
        that agree imply it, but not the other way round.
    half_life : tuple of (float, float)
        Least and greatest number of steps after which the weight of an agent's initial opinion in its hidden opinion is
        below one half; ∞ where that does not happen.
    information : float
        Largest information of all steps together about an initial opinion, in units of one step's noise.

    See Also
    --------
    retention : The same of each agent.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> hidden = diagnose(Model(k2(), hidden=[0.0, 1.0], adaptation=0.1)).hidden
    >>> hidden.agrees, hidden.half_life, round(hidden.information, 4)
    (True, (7.0, 7.0), 5.2632)
    """

    agrees: bool | None
    half_life: tuple[float, float]
    information: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: None for what is infinite or not known.

        Returns
        -------
        dict
            Keys ``agrees``, ``half_life`` (a list of two) and ``information``.
        """
        return {name: plain(value) for name, value in vars(self).items()}


@final
@read_only
@dataclass(frozen=True, eq=False)
class Verdict:
    """Long-run behaviour of a model, with reasons and rates.

    ``print`` gives the plain answer, ``explain`` the mathematics behind it.

    Attributes
    ----------
    outcome : Outcome
        What becomes of the public opinions.
    reasons : tuple of Reason
        Why, as codes with numbers; ``reason`` is their text.
    value : float
        The consensus value v: Σ s x₀/Σ s on an undirected network.
    kappa : float
        The ratio κ = Σs/Σd on an undirected network, or the rate of the common value on a directed or temporal one.
    pressure : str
        The pressure schedule.
    rate : Rate
        The laws by which bias, variance and disagreement decay.
    law : LimitLaw
        The limit law of each agent: what its public opinion does in the long run, its mean and its deviation.
    forecast : Forecast, optional
        Where agents are after a number of steps, if that was given.
    advice : Advice, optional
        Which schedules would bring them closer to v by then.
    consensus_limit : ConsensusLimit, optional
        The limit where all agents agree, or exchange two values.
    hidden : HiddenOutcome, optional
        The long-run behaviour of hidden opinions that adapt.
    connectivity : Connectivity, optional
        The joint connectivity of a temporal network.
    step : float, optional
        The length of a step in continuous time.
    classes : tuple of Component
        The closed classes of a directed or signed network, where there are several or one has no common value.
    directed : bool, default False
        Whether the network is directed, so v is an influence-weighted mean, and stubbornness alone does not decide it.
    span : float, default 0.0
        Range of the hidden opinions, to which sentences round numbers.
    chance : tuple of str
        What random limits depend on: "noise", "updates" and "network", as far as each counts.
    drawn : str, optional
        How hidden opinions were drawn at random, if they were.
    weighted : bool, default False
        Whether agents differ in stubbornness, so v is a weighted mean also on an undirected network.

    See Also
    --------
    diagnose : Computes it.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> verdict = diagnose(Model(k2(), hidden=[0.0, 1.0]))
    >>> verdict.outcome.value, verdict.value, verdict.kappa
    ('consensus on v', 0.5, 1.0)
    """

    outcome: Outcome
    reasons: tuple[Reason, ...]
    value: float
    kappa: float
    pressure: str
    rate: Rate
    law: LimitLaw
    forecast: Forecast | None = None
    advice: Advice | None = None
    consensus_limit: ConsensusLimit | None = None
    hidden: HiddenOutcome | None = None
    connectivity: Connectivity | None = None
    step: float | None = None
    classes: tuple[Component, ...] = ()
    directed: bool = False
    span: float = 0.0
    chance: tuple[str, ...] = ()
    drawn: str | None = None
    weighted: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether all public opinions converge to one value, v or another one; None if that is not known."""
        return self.outcome.agrees

    @property
    def limits(self) -> Array | None:
        """The mean limit of each agent, shape (agents,); None where it is periodic, or not computed."""
        known = len(self.law.mean) == 1 and bool(np.all(np.isfinite(self.law.mean)))
        return self.law.mean[0] if known else None

    @property
    def convergence(self) -> str | None:
        """How noisy agents converge to v, "almost surely" or at least "in mean square"; None where they do not."""
        return next((str(reason.values["mode"]) for reason in self.reasons if reason.code == "convergence"), None)

    @property
    def heading(self) -> str:
        """The outcome as a title."""
        words = self.outcome.value
        return words[0].upper() + words[1:]

    @property
    def summary(self) -> str:
        """What becomes of the public opinions, in a sentence with a few rounded numbers."""
        return sentence(Findings(self.outcome, self.law, self.value, _meaning(self), self.span, self.chance))

    @property
    def outlook(self) -> str | None:
        """How far agents are from where they end after the steps of the forecast, in a sentence; None without one."""
        if self.forecast is None:
            return None
        steps = self.forecast.steps
        end = f"After {steps:,} step{'s' * (steps != 1)}"
        if self.step is not None:
            end = f"After a time of {steps * self.step:,.4g}"
        return outlook(self.outcome, self.forecast, end)

    @property
    def reason(self) -> str:
        """The reasons as text."""
        return paragraph(self.reasons)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON.

        Returns
        -------
        dict
            The attributes by name; None for what is infinite or not known.
        """
        return as_dict(self)

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The numbers behind the verdict, as names and texts."""
        return _facts(self)

    def answer(self, width: int = WIDTH) -> str:
        """Return the plain answer: the outcome, its value, how fast it is reached, and what would be better.

        Parameters
        ----------
        width : int, default 88
            Number of characters at which lines are wrapped.

        Returns
        -------
        str
            The text of ``print``, and of ``peerpressure diagnose``.

        See Also
        --------
        Verdict.explain : The mathematics behind it.

        Examples
        --------
        >>> from peerpressure import Model, diagnose
        >>> from peerpressure.networks import k2
        >>> print(diagnose(Model(k2(), hidden=[0.0, 1.0]), steps=100, advise=False).answer())
        Consensus on v
        All agents come to agree on 0.50, the mean of hidden opinions.
        After 100 steps agents are typically 0.005 away from it.
        <BLANKLINE>
          within 0.05 of each other  from step 19 on
          within 0.05 of v           from step 9 on
                                     RMS over agents and noise, exact, up to step 100; two
                                     agents are typically farther from each other than from v
          v                          0.5, the mean of hidden opinions
          peer pressure              ρ_t = t at step t
        """
        paragraphs = [self.summary, *([] if self.outlook is None else [self.outlook])]
        wrapped = [line for text in paragraphs for line in textwrap.wrap(text, width)]
        return "\n".join([self.heading, *wrapped, "", *table(answer_rows(self), width)])

    def explain(self, width: int | None = None) -> str:
        """Return the mathematics: the reasons for the outcome, its numbers and rates, and what the symbols mean.

        Parameters
        ----------
        width : int, optional
            Number of characters at which lines are wrapped; the rows of the table are not wrapped without it.

        Returns
        -------
        str
            A page of text, which ``peerpressure diagnose --explain`` prints, too.

        See Also
        --------
        diagnose : Returns the verdict, and ``str`` of it is the plain answer.

        Examples
        --------
        >>> from peerpressure import Model, diagnose
        >>> from peerpressure.networks import k2
        >>> text = diagnose(Model(k2(), hidden=[0.0, 1.0])).explain()
        >>> print(text[: text.index(":")])
        Consensus on v
        ρ_t grows like t, and Σ 1/t diverges while Σ 1/t² does not. Pressure grows without bound
        and Σ 1/ρ_t diverges
        """
        lines = [self.heading, *textwrap.wrap(self.reason, width or WIDTH), "", *table(self.facts, width or UNWRAPPED)]
        text = "\n".join(lines)
        return f"{text}\n\n{legend(text, width or WIDTH)}".rstrip()

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw where each agent ends, ± 1.96 standard deviations, and where it is after the steps of the forecast.

        The axis is at least as long as the range of hidden opinions: agents who agree lie on a level line.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; new axes of pyplot by default.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> from peerpressure import Model, diagnose
        >>> from peerpressure.networks import k2
        >>> diagnose(Model(k2(), hidden=[0.0, 1.0])).plot().get_title(loc="left")
        'Consensus on v'
        """
        from peerpressure.plotting.results import by_agent

        series = {}
        if self.forecast is not None:
            series[f"after {self.forecast.steps:,} steps"] = _with_ends(self.forecast.mean, self.forecast.std)
        for phase, mean in enumerate(self.law.mean):
            name = "in the long run" + f", phase {phase + 1}" * (len(self.law.mean) > 1)
            series[name] = _with_ends(mean, self.law.std)
        agents = [str(agent) for agent in range(self.law.kind.size)]
        level = self.value if len(self.classes) < 2 and np.isfinite(self.value) else None
        axes = by_agent(ax, agents, series, "public opinion", level, least=self.span)
        axes.set_title(self.heading, loc="left")
        return axes

    def __str__(self) -> str:
        return self.answer()

    def __repr__(self) -> str:
        return f"<Verdict: {self.heading}, v = {self.value:.4g}, {self.law.kind.size:,} agents>"

    def _repr_html_(self) -> str:
        return as_html(self)


def _with_ends(mean: Array, std: Array | None) -> tuple[Array, Array | None, Array | None]:
    """Return means with the ends of intervals that cover 95 % of a normal distribution."""
    if std is None:
        return mean, None, None
    half = np.where(np.isfinite(std), 1.96 * std, np.nan)
    return mean, mean - half, mean + half


def answer_rows(verdict: Verdict) -> Rows:
    """Return when agents are close to each other and to v, which pressure would be better, and what is given."""
    unknown = verdict.outcome is Outcome.UNKNOWN and verdict.reasons
    rows = [("why", str(verdict.reasons[0]))] if unknown else []
    rows += progress_rows(verdict.forecast)
    best = None if verdict.advice is None else verdict.advice.recommended
    if verdict.advice is not None and best is not None and verdict.forecast is not None:
        steps = verdict.forecast.steps
        gain = f"{best.rms_distance:.2g} instead of {verdict.advice.rms_distance:.2g}"
        rows.append(("better pressure", f"{schedule_text(best)}; typical distance to v after {steps:,} steps {gain}"))
    elif verdict.advice is not None and not_tried(verdict.advice):
        rows.append(("better pressure", str(verdict.advice.omitted)))
    rows.append(_value_row(verdict))
    rows += [] if verdict.drawn is None else [("hidden opinions", verdict.drawn)]
    return [*rows, ("peer pressure", f"{verdict.pressure} at step t")]


def _value_row(verdict: Verdict) -> tuple[str, str]:
    """Return v, or the values of classes and camps where there is no common one."""
    values = [f"{each.value:.4g}" for each in verdict.classes if each.value is not None]
    if len(verdict.classes) > 1:
        return "closed classes", f"{len(verdict.classes):,}, with the values {first_few(values, len(values))}"
    if verdict.outcome is Outcome.BIPARTITE:
        return "values of the camps", f"{verdict.value:.4g} and {-verdict.value:.4g}"
    if verdict.outcome is Outcome.NEUTRAL:
        return "v", "0, the neutral opinion"
    return "v", f"{verdict.value:.4g}, {_meaning(verdict)}"


def _meaning(verdict: Verdict) -> str:
    """Return what v is, in words."""
    if len(verdict.classes) == 1 and verdict.classes[0].agents.size == 1:
        return "the opinion of the only agent who listens to nobody"
    drawn = "" if verdict.drawn is None else " drawn at random"
    weights = "influence-weighted " if verdict.directed else "stubbornness-weighted " if verdict.weighted else ""
    return f"the {weights}mean of hidden opinions{drawn}"


def as_html(verdict: Verdict) -> str:
    """Return the plain answer as HTML, with the mathematics folded below it, and every text escaped."""
    text = " ".join([verdict.summary, verdict.outlook or ""])
    reasons = f"<p style='max-width:44em'>{escape(verdict.reason)}</p>{html_table(verdict.facts)}"
    return (
        f"<div><strong>{escape(verdict.heading)}</strong><p style='max-width:44em'>{escape(text)}</p>"
        f"{html_table(answer_rows(verdict))}<details><summary>Reasons and rates</summary>{reasons}</details></div>"
    )


def as_dict(verdict: Verdict) -> dict[str, Any]:
    """Return plain values, fit for JSON."""
    rate, forecast, advice = verdict.rate, verdict.forecast, verdict.advice
    # Numbers of more agents than that are for arrays, not for a text format.
    left_out = {"mean": None, "std": None} if forecast and forecast.mean.size > LARGEST_COVARIANCE else {}
    values = {
        "outcome": verdict.outcome.name.lower(),
        "words": verdict.outcome.value,
        "heading": verdict.heading,
        "summary": verdict.summary,
        "outlook": verdict.outlook,
        "agrees": verdict.agrees,
        "convergence": verdict.convergence,
        "reason": verdict.reason,
        "reasons": verdict.reasons,
        "value": verdict.value,
        "kappa": verdict.kappa,
        "pressure": verdict.pressure,
        "regime": rate.regime.name.lower(),
        "ratio": rate.ratio,
        "step": verdict.step,
        "rates": {name: getattr(rate, name) for name in ("bias", "variance", "disagreement")},
        "forecast": forecast and vars(forecast) | left_out,
        "advice": advice and vars(advice) | {"suggestions": [_suggested(one) for one in advice.suggestions]},
        "consensus_limit": verdict.consensus_limit,
        "hidden": verdict.hidden,
        "connectivity": verdict.connectivity,
        "law": verdict.law,
        "classes": verdict.classes,
    }
    return {name: plain(value) for name, value in values.items()}


def _suggested(one: Suggestion) -> dict[str, Any]:
    outcome = None if one.outcome is None else one.outcome.name.lower()
    numbers = {name: getattr(one, name) for name in ("name", "schedule", "rms_distance", "gain", "worthwhile")}
    words = None if one.outcome is None else one.outcome.value
    return numbers | {"text": str(one.schedule), "outcome": outcome, "words": words}


def _facts(verdict: Verdict) -> Rows:
    """Return the numbers behind a verdict by name."""
    drawn = verdict.drawn
    kappa = f"{verdict.kappa:.4g}"
    if verdict.rate.ratio is not None:
        kappa += f", and κ/c = {verdict.rate.ratio:.4g} for ρ_t ~ c t"
    table = [("peer pressure", verdict.pressure)]
    # Several classes have a value and a rate each, which the reasons name.
    if not verdict.classes:
        of = "" if drawn is None else ", of hidden opinions drawn at random"
        table += [("consensus value v", f"{verdict.value:.6g}{of}"), ("κ", kappa)]
    table += [] if drawn is None else [("hidden opinions", drawn)]
    limit = verdict.consensus_limit
    if limit is not None and (limit.horizon or limit.std or limit.mean != verdict.value):
        table.append(("consensus limit", limit_text(limit)))
    if verdict.hidden is not None:
        table += _hidden_rows(verdict.hidden)
    if verdict.connectivity is not None:
        table.append(("joint connectivity", _connectivity_text(verdict.connectivity)))
    rate = verdict.rate
    laws = [("bias", rate.bias), ("variance", rate.variance), ("disagreement", rate.disagreement)]
    known = [f"{name} {'0' if law.constant == 0 else law}" for name, law in laws if law is not None]
    table += [("decays like", f"{', '.join(known)} as t → ∞")] if known else []
    if verdict.forecast is not None:
        table += forecast_rows(verdict.forecast, verdict.step)
    if verdict.advice is not None:
        table += advice_rows(verdict.advice)
    return table


def _hidden_rows(hidden: HiddenOutcome) -> Rows:
    known = {True: "agree in the long run", False: "do not agree in the long run", None: "not known whether they agree"}
    low, high = ("∞" if math.isinf(life) else f"{life:,.0f}" for life in hidden.half_life)
    total = hidden.information
    information = f"; information about x₀ equal to {total:.3g} first steps" if math.isfinite(total) else ""
    life = f"half-life of {low if low == high else f'{low}–{high}'} steps{information}"
    return [("hidden opinions", known[hidden.agrees]), ("retention", life)]


def _connectivity_text(connectivity: Connectivity) -> str:
    when = "" if connectivity.until is None else f" up to t = {connectivity.until:,}"
    if len(connectivity.components) > 1 and connectivity.until is None:
        text = f"in the long run only within {len(connectivity.components):,} components"
    elif connectivity.window is not None:
        text = f"within any {connectivity.window:,} steps{when}" if connectivity.window > 1 else f"in every step{when}"
    else:
        text = f"never of all agents{when}" if connectivity.until else "not of all agents forever"
    if connectivity.usual is not None and connectivity.usual != connectivity.window:
        text += f", mostly within {connectivity.usual:,}"
    named = ", ".join(f"{a:,}–{b:,}" if a < b else f"{a:,}" for a, b in connectivity.broken[:NAMED])
    more = f" and {len(connectivity.broken) - NAMED:,} more" if len(connectivity.broken) > NAMED else ""
    return text + (f" but not in {named}{more}" if named else "")
