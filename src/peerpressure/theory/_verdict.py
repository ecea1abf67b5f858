"""Verdicts, and their rendering: text for a terminal, HTML for a notebook, plain values for JSON, and plain words."""

from __future__ import annotations

import math
import textwrap
from dataclasses import asdict, dataclass, fields
from html import escape
from typing import Any, TypeAlias, final

import numpy as np

from peerpressure.errors import first_few
from peerpressure.immutable import read_only
from peerpressure.propagation import LARGEST_COVARIANCE
from peerpressure.schedules import Table
from peerpressure.step import Array
from peerpressure.theory._advice import Advice, Suggestion
from peerpressure.theory._classification import Outcome
from peerpressure.theory._departure import Departure
from peerpressure.theory._forecast import Forecast, Settling
from peerpressure.theory._limit_law import LimitLaw, RecurrentClass
from peerpressure.theory._limits import ConsensusLimit
from peerpressure.theory._rates import Law, Rate
from peerpressure.theory._reasons import (
    Reason,
    ReasonCode,
    json_number,
    paragraph,
    rounded,
    shown_digit,
    with_deviation,
)

WIDTH = 88
# Intervals without joint connectivity that are named.
NAMED = 2
# Laws that hold this soon are shown without their onset.
_SOON = 100
_ONE_LINE = 64
Rows: TypeAlias = list[tuple[str, str]]


@final
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
        Last step up to which ``window`` holds; None if it holds for ever.
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
    >>> found = diagnose(Model(network, hidden=[0.0, 1.0, 2.0])).connectivity
    >>> found.window, round(found.isolated, 3)
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
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return plain | {
            "broken": [list(interval) for interval in self.broken],
            "components": list(self.components),
            "values": list(self.values),
        }


@final
@dataclass(frozen=True)
class HiddenOutcome:
    """Long-run behaviour of hidden opinions that adapt.

    Attributes
    ----------
    agrees : bool or None
        Whether their differences vanish; None where that is not known. Where all agents adapt for ever, public opinions
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
        life, information = ([x if math.isfinite(x) else None for x in v] for v in (self.half_life, [self.information]))
        return {"agrees": self.agrees, "half_life": life, "information": information[0]}


@final
@read_only
@dataclass(frozen=True, eq=False)
class Verdict:
    """Long-run behaviour of a model, with reasons and rates.

    ``print`` gives a page of text.

    Attributes
    ----------
    outcome : Outcome
        What becomes of the public opinions.
    reasons : tuple of Reason
        Why, as codes with numbers; ``reason`` is their text.
    estimated : bool
        Whether the outcome rests on the values of a formula at large t instead of on a known growth.
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
    departure : Departure, optional
        How far that limit is from consensus on v: bias, standard deviation and swing, which decide the outcome.
    hidden : HiddenOutcome, optional
        The long-run behaviour of hidden opinions that adapt.
    connectivity : Connectivity, optional
        The joint connectivity of a temporal network.
    step : float, optional
        The length of a step in continuous time.
    classes : tuple of RecurrentClass
        The closed classes of a directed or signed network, where there are several or one has no common value.
    directed : bool, default False
        Whether the network is directed, so that v is a mean weighted by influence and not by stubbornness alone.

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
    estimated: bool
    value: float
    kappa: float
    pressure: str
    rate: Rate
    law: LimitLaw
    forecast: Forecast | None = None
    advice: Advice | None = None
    consensus_limit: ConsensusLimit | None = None
    departure: Departure | None = None
    hidden: HiddenOutcome | None = None
    connectivity: Connectivity | None = None
    step: float | None = None
    classes: tuple[RecurrentClass, ...] = ()
    directed: bool = False

    @property
    def agrees(self) -> bool | None:
        """Whether all public opinions converge to one value, be it v or not; None if that is not known."""
        if self.outcome is Outcome.UNKNOWN:
            return None
        return self.outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.NEUTRAL)

    @property
    def limits(self) -> Array | None:
        """The mean limit of each agent, shape (agents,); None where it is periodic, or not computed."""
        known = len(self.law.mean) == 1 and bool(np.all(np.isfinite(self.law.mean)))
        return self.law.mean[0] if known else None

    @property
    def convergence(self) -> str | None:
        """How noisy agents converge to v, "almost surely" or at least "in mean square"; None where they do not."""
        found = {reason.code for reason in self.reasons}
        if ReasonCode.ALMOST_SURELY in found:
            return "almost surely"
        return "in mean square" if found & {ReasonCode.MEAN_SQUARE_ONLY, ReasonCode.MEAN_SQUARE} else None

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

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def as_text(verdict: Verdict, width: int | None = None, drawn: str | None = None) -> str:
    """Return a heading, a paragraph and a table, whose lines are wrapped only if a width is given.

    ``drawn`` says how hidden opinions were drawn at random, if they were.
    """
    lines = table(rows(verdict, drawn), width or 1_000)
    return "\n".join([heading(verdict), *textwrap.wrap(verdict.reason, width or WIDTH), "", *lines])


def table(rows: Rows, width: int = WIDTH) -> list[str]:
    """Return the lines of a table of names and values, wrapped at a width."""
    column = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, value in rows:
        # On a narrow terminal values may be wider than what the names leave, but not narrower than a word or two.
        first, *more = textwrap.wrap(value, max(width - column, 24), break_long_words=False) or [""]
        lines += [f"  {name}".ljust(column) + first, *(" " * column + part for part in more)]
    return lines


def as_html(verdict: Verdict) -> str:
    """Return the same as HTML, with every text escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows(verdict)
    )
    head = f"<strong>{escape(heading(verdict))}</strong>"
    return f"<div>{head}<p style='max-width:44em'>{escape(verdict.reason)}</p><table>{body}</table></div>"


def as_dict(verdict: Verdict) -> dict[str, Any]:
    """Return plain values, fit for JSON."""
    rate, limit, ahead, better = verdict.rate, verdict.consensus_limit, verdict.forecast, verdict.advice
    laws = {name: getattr(rate, name) for name in ("bias", "variance", "disagreement")}
    return {
        "outcome": verdict.outcome.name.lower(),
        "words": verdict.outcome.value,
        "agrees": verdict.agrees,
        "convergence": verdict.convergence,
        "reason": verdict.reason,
        "reasons": [reason.to_dict() for reason in verdict.reasons],
        "estimated": verdict.estimated,
        "value": verdict.value,
        "kappa": verdict.kappa,
        "pressure": verdict.pressure,
        "regime": rate.regime.name.lower(),
        "ratio": rate.ratio,
        "step": verdict.step,
        "rates": {name: None if law is None else _plain_law(law) for name, law in laws.items()},
        "forecast": None if ahead is None else _plain_forecast(ahead),
        "advice": None if better is None else _plain_advice(better),
        "consensus_limit": None if limit is None else _plain_limit(limit),
        "departure": None if verdict.departure is None else _plain_departure(verdict.departure),
        "hidden": None if verdict.hidden is None else verdict.hidden.to_dict(),
        "connectivity": None if verdict.connectivity is None else verdict.connectivity.to_dict(),
        "law": verdict.law.to_dict(),
        "classes": [found.to_dict() for found in verdict.classes],
    }


def _plain_law(law: Law) -> dict[str, Any]:
    # JSON has no infinity, and None means that it is not computed.
    onset = None if law.onset is None else min(law.onset, 1e300)
    return {"exponent": json_number(law.exponent), "constant": law.constant, "log": law.log, "onset": onset}


def _plain_forecast(ahead: Forecast) -> dict[str, Any]:
    plain = {field.name: getattr(ahead, field.name) for field in fields(ahead)}
    for name in ("mean", "std"):
        # Numbers of more agents than that are for arrays, not for a text format.
        listed = plain[name] is not None and plain[name].size <= LARGEST_COVARIANCE
        plain[name] = plain[name].tolist() if listed else None
    plain["settling"] = None if ahead.settling is None else asdict(ahead.settling)
    plain["settling_omitted"] = None if ahead.settling_omitted is None else ahead.settling_omitted.to_dict()
    return plain


def _plain_limit(limit: ConsensusLimit) -> dict[str, Any]:
    plain = {"mean": limit.mean, "std": json_number(limit.std), "horizon": limit.horizon, "residual": limit.residual}
    phases = limit.phases
    return plain | {
        "phases": None if phases is None else {"mean": phases.mean.tolist(), "std": phases.std.tolist()},
    }


def _plain_departure(departure: Departure) -> dict[str, Any]:
    return {name: json_number(value) for name, value in asdict(departure).items()}


def _plain_advice(better: Advice) -> dict[str, Any]:
    return {
        "rms_distance": better.rms_distance,
        "suggestions": [
            {
                "name": one.name,
                "schedule": one.schedule.to_dict(),
                "text": str(one.schedule),
                "rms_distance": one.rms_distance,
                "gain": json_number(one.gain),
                "outcome": None if one.outcome is None else one.outcome.name.lower(),
            }
            for one in better.suggestions
        ],
        "omitted": None if better.omitted is None else better.omitted.to_dict(),
    }


def heading(verdict: Verdict) -> str:
    """Return the outcome as a title."""
    words = verdict.outcome.value
    # An unknown outcome claims nothing that could be estimated.
    return words[0].upper() + words[1:] + " (estimated)" * (verdict.estimated and words != "unknown")


def rows(verdict: Verdict, drawn: str | None = None) -> Rows:
    """Return the table of names and values; ``drawn`` says how hidden opinions were drawn at random."""
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
        if verdict.departure is not None and math.isfinite(limit.std):
            table.append(("distance to v", _departure_text(verdict.departure)))
    if verdict.hidden is not None:
        table += _hidden_rows(verdict.hidden)
    if verdict.connectivity is not None:
        table.append(("joint connectivity", _connectivity_text(verdict.connectivity)))
    rate = verdict.rate
    laws = [("bias", rate.bias), ("variance", rate.variance), ("disagreement", rate.disagreement)]
    known = [f"{name} {_law(law)}" for name, law in laws if law is not None]
    # On one line if they are short, and one below the other if they have their onsets.
    parts = [", ".join(known)] if len(", ".join(known)) <= _ONE_LINE else known
    table += [("decays like" if number == 0 else "", part) for number, part in enumerate(filter(None, parts))]
    if verdict.forecast is not None:
        table += _forecast_rows(verdict.forecast, verdict.step)
    if verdict.advice is not None:
        table += _advice_rows(verdict.advice)
    return table


def _law(law: Law) -> str:
    if law.constant == 0:
        return "0"
    if law.onset is None or law.onset == math.inf:
        return f"{law} as t → ∞"
    return str(law) + ("" if law.onset <= _SOON else f" from t ≈ {law.onset:.0e} on")


def limit_text(limit: ConsensusLimit) -> str:
    """Return the value, or values, of a limit with their deviations and the error of the computation."""
    if not math.isfinite(limit.std):
        variance = "unbounded variance" if math.isinf(limit.std) else "a variance that does not vanish"
        return f"{limit.mean:.6g} on average, with {variance}"
    values = [(limit.mean, limit.std)]
    if limit.phases is not None:
        values = list(zip(limit.phases.mean.tolist(), limit.phases.std.tolist(), strict=True))
    digit = shown_digit([mean for mean, _ in values], limit.residual)
    if len(values) > 1:
        text = " and ".join(rounded(mean, digit) + (f" ± {std:.3g}" if std else "") for mean, std in values)
    else:
        text = with_deviation(*values[0], limit.residual)
    turns = ""
    if limit.phases is not None:
        turns = ", alternating" + (", and the opposite in the second camp" if limit.phases.camp is not None else "")
    return text + turns + (f", error about {limit.residual:.1g}" if limit.residual else "")


def _departure_text(departure: Departure) -> str:
    named = [("bias", departure.bias), ("standard deviation", departure.std), ("swing", departure.swing)]
    sizes = [f"{name} {size:.2g}" if size > departure.resolution else f"{name} 0" for name, size in named]
    return ", ".join(sizes) + f", resolved to {departure.resolution:.1g}"


def _hidden_rows(hidden: HiddenOutcome) -> Rows:
    known = {True: "agree in the long run", False: "do not agree in the long run", None: "not known whether they agree"}
    low, high = ("∞" if math.isinf(life) else f"{life:,.0f}" for life in hidden.half_life)
    total = hidden.information
    information = f"; information about x₀ equal to {total:.3g} first steps" if math.isfinite(total) else ""
    life = f"half-life of {low if low == high else f'{low}–{high}'} steps{information}"
    return [("hidden opinions", known[hidden.agrees]), ("retention", life)]


def _connectivity_text(found: Connectivity) -> str:
    when = "" if found.until is None else f" up to t = {found.until:,}"
    if len(found.components) > 1 and found.until is None:
        text = f"in the long run only within {len(found.components):,} components"
    elif found.window is not None:
        text = f"within any {found.window:,} steps{when}" if found.window > 1 else f"in every step{when}"
    else:
        text = f"never of all agents{when}" if found.until else "not of all agents for ever"
    if found.usual is not None and found.usual != found.window:
        text += f", mostly within {found.usual:,}"
    named = ", ".join(f"{a:,}–{b:,}" if a < b else f"{a:,}" for a, b in found.broken[:NAMED])
    more = f" and {len(found.broken) - NAMED:,} more" if len(found.broken) > NAMED else ""
    return text + (f" but not in {named}{more}" if named else "")


def _forecast_rows(ahead: Forecast, step: float | None) -> Rows:
    after = f"after {ahead.steps:,} step{'s' * (ahead.steps != 1)}"
    if step is not None:
        after = f"at time {ahead.steps * step:,.6g}"
    table = [
        (after, f"the start keeps a weight of {ahead.start_weight:.3g}"),
        ("  consensus mode", f"{with_deviation(ahead.mode_mean, ahead.mode_std)}, error {ahead.mode_error:.3g}"),
        (f"  RMS distance to {target_name(ahead)}", _estimate(ahead.rms_distance, ahead.rms_distance_stderr)),
        ("  RMS disagreement", _estimate(ahead.disagreement, ahead.disagreement_stderr)),
    ]
    if ahead.settling is not None:
        table.append((f"  RMS within {ahead.settling.tolerance:g}", _settling_text(ahead.settling)))
    elif ahead.settling_omitted is not None:
        table.append(("  settling times", str(ahead.settling_omitted)))
    if ahead.hidden_disagreement is not None:
        apart = _estimate(ahead.hidden_disagreement, ahead.hidden_disagreement_stderr)
        table.append(("  hidden opinions", f"mean {ahead.hidden_mean:.6g}, RMS disagreement {apart}"))
    return table


def target_name(of: Forecast | Settling) -> str:
    """Return what distances are measured to, in words."""
    return "own limits" if of.own_limits else "v"


def settling_rows(settling: Settling) -> Rows:
    """Return from which steps on agents are close to each other and to v, and what that means."""
    last = _moment(settling.steps, settling)
    never = f"not within {settling.steps:,} steps" if settling.step_length is None else f"not by {last}"
    names = {"each other": settling.each_other, target_name(settling): settling.value}
    table = [
        (f"within {settling.tolerance:g} of {name}", _since(step, settling) if step is not None else never)
        for name, step in names.items()
    ]
    known = "as root mean squares over agents and noise, "
    known += "bounds that leave out the noise of earlier steps" if settling.is_bound else "exact"
    if settling.step_length is not None:
        known += f", at multiples of {settling.step_length:g}"
    # A claim about later steps would go beyond what is computed.
    reached = any(step is not None for step in names.values())
    return [*table, ("", f"{known}, up to {last}" if reached else known)]


def _settling_text(settling: Settling) -> str:
    times = {"each other": settling.each_other, target_name(settling): settling.value}
    parts = [f"of {name} {'not' if step is None else _since(step, settling)}" for name, step in times.items()]
    return f"{', '.join(parts)}; up to {_moment(settling.steps, settling)}"


def _moment(step: int, settling: Settling) -> str:
    """Return a step, or the time of it in continuous time."""
    return f"step {step:,}" if settling.step_length is None else f"time {step * settling.step_length:,.6g}"


def _since(step: int, settling: Settling) -> str:
    if settling.is_bound:
        return f"not before {_moment(step, settling)}" if step else "not known from when on"
    return f"from {_moment(step, settling)} on" if step else "from the start"


def _estimate(value: float, stderr: float) -> str:
    return f"{value:.3g} " + (f"(standard error {stderr:.1g})" if stderr else "(exact)")


def _advice_rows(advice: Advice) -> Rows:
    """Return two rows for each better schedule, or why the best one was not computed."""
    if not advice.suggestions and advice.omitted is not None:
        return [("optimal schedule", str(advice.omitted))]
    return [row for one in advice.suggestions for row in _suggestion_rows(one, advice.rms_distance)]


_ADVISED = {
    "optimal": "optimal schedule",
    "averaging": "line, then averaging",
    "line": "best line",
    "tuned": "tuned schedule",
}


def _suggestion_rows(one: Suggestion, now: float) -> Rows:
    compared = f"{one.gain:.3g} times smaller" if math.isfinite(one.gain) else "none is left"
    after = "for this horizon only" if one.outcome is None else f"in the long run {one.outcome.value}"
    distance = f"RMS distance {one.rms_distance:.3g} instead of {now:.3g}, {compared}"
    return [(_ADVISED[one.name], distance), ("", f"{schedule_text(one)}; {after}")]


def schedule_text(one: Suggestion) -> str:
    """Return a better schedule in a few words."""
    return _course(one.schedule) if isinstance(one.schedule, Table) else str(one.schedule)


def _course(schedule: Table) -> str:
    """Describe a table by its first, its middle and its last pressure."""
    last = schedule.values.size
    shown = sorted({1, -(-last // 2), last})
    return ", ".join(f"ρ_{t} = {schedule.values[t - 1]:.3g}" for t in shown)


# Plain words, and the symbols of a verdict explained.

SENTENCES = {
    Outcome.CONSENSUS: "In the long run all agents agree on v.",
    Outcome.BIASED_CONSENSUS: "In the long run all agents agree, but not on v.",
    Outcome.OSCILLATION: "Public opinions alternate between two values for ever, one on each side of the network.",
    Outcome.DISAGREEMENT: "Agents never agree completely: differences between their public opinions remain.",
    Outcome.CLUSTERS: "Agents agree within clusters, and clusters differ from each other.",
    Outcome.BIPARTITE: "Agents agree within two camps, which hold opposite opinions.",
    Outcome.NEUTRAL: "Distrust cancels all opinions: every agent comes to 0.",
    Outcome.PERIODIC: "Public opinions repeat a cycle for ever and do not agree.",
    Outcome.RANDOM_WALK: "Agents agree with each other, and their common opinion keeps moving at random.",
    Outcome.UNKNOWN: "What becomes of the opinions in the long run is not known.",
}
# In the order in which they are listed; each is explained where it occurs.
SYMBOLS = {
    "v": "consensus value, the mean of hidden opinions weighted by influence: Σ s x₀/Σ s on an undirected network",
    "t": "step, or time",
    "ρ_t": "peer pressure at step t",
    "κ": "rate of the consensus mode: total stubbornness over total degree on a constant undirected network",
    "c": "slope of the pressure at large t",
    "s": "stubbornness of an agent, the weight of its own opinion",
    "d": "degree of an agent, the sum of the weights of its edges",
    "x₀": "hidden opinion of an agent",
    "σ̄": "standard deviation that the noise of one step has in the consensus mode",
    "consensus mode": "mean of public opinions weighted by degree, which all agents approach",
    "bias": "distance of the mean of the consensus mode from v",
    "variance": "variance of the consensus mode over runs",
    "disagreement": "distance of agents from the consensus mode",
    "RMS": "root mean square over agents and noise",
}


def plain_words(verdict: Verdict, width: int = WIDTH, drawn: str | None = None) -> str:
    """Return the outcome, its value and how fast it is reached, in words that need no mathematics.

    ``drawn`` says how hidden opinions were drawn at random, if they were.

    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import k2
    >>> print(plain_words(diagnose(Model(k2(), hidden=[0, 1]), steps=100, advise=False)))
    Consensus on v
    In the long run all agents agree on v.
    <BLANKLINE>
      v                          0.5, the mean of hidden opinions weighted by stubbornness
      peer pressure              ρ_t = t at step t
      within 0.05 of each other  from step 19 on
      within 0.05 of v           from step 9 on
                                 as root mean squares over agents and noise, exact, up to
                                 step 100
    """
    rows: Rows = [_value_row(verdict, drawn)]
    rows += [] if drawn is None else [("hidden opinions", drawn)]
    rows.append(("peer pressure", f"{verdict.pressure} at step t"))
    limit, ahead = verdict.consensus_limit, verdict.forecast
    if verdict.outcome in (Outcome.BIASED_CONSENSUS, Outcome.OSCILLATION) and limit is not None:
        rows.append(("agents end at", limit_text(limit)))
    rows += _progress(verdict)
    if verdict.advice is not None and verdict.advice.suggestions:
        best, steps = verdict.advice.suggestions[0], "" if ahead is None else f" after {ahead.steps:,} steps"
        gain = f"{best.rms_distance:.2g} instead of {verdict.advice.rms_distance:.2g}"
        rows.append(("better pressure", f"{schedule_text(best)}; typical distance to v{steps} {gain}"))
    sentence = SENTENCES[verdict.outcome]
    if verdict.estimated and verdict.outcome is not Outcome.UNKNOWN:
        sentence += " This is estimated from values at large t, not proved."
    return "\n".join([heading(verdict), *textwrap.wrap(sentence, width), "", *table(rows, width)])


def _value_row(verdict: Verdict, drawn: str | None) -> tuple[str, str]:
    """Return v, or the values of classes and camps where there is no common one."""
    chance = "" if drawn is None else " drawn at random,"
    values = [f"{each.value:.4g}" for each in verdict.classes if each.value is not None]
    if len(verdict.classes) > 1:
        return "closed classes", f"{len(verdict.classes):,}, with the values {first_few(values, len(values))}"
    if verdict.outcome is Outcome.BIPARTITE:
        return "values of the camps", f"{verdict.value:.4g} and {-verdict.value:.4g}"
    if verdict.classes and verdict.classes[0].agents.size == 1:
        return "v", f"{values[0]}, the opinion of the only agent who listens to nobody"
    if verdict.outcome is Outcome.NEUTRAL:
        return "v", "0, the neutral opinion"
    weights = "influence" if verdict.directed else "stubbornness"
    return "v", f"{verdict.value:.4g}, the mean of hidden opinions{chance} weighted by {weights}"


def _progress(verdict: Verdict) -> Rows:
    """Return how fast agents approach each other and v."""
    ahead = verdict.forecast
    if ahead is None:
        return [("how fast", "give --steps to see from which step on agents are close to each other and to v")]
    when = f"after {ahead.steps:,} steps" if verdict.step is None else f"at time {ahead.steps * verdict.step:,.6g}"
    about = f"typical distance of agents to {target_name(ahead)} {ahead.rms_distance:.2g}"
    # Without a settling time the distance at the end is all that is known; where v is reached it adds nothing.
    if ahead.settling is None:
        unknown = [] if ahead.settling_omitted is None else [("how fast", str(ahead.settling_omitted))]
        return [*unknown, (when, f"{about}, a root mean square over agents and noise")]
    known = ahead.settling.value is not None and not ahead.settling.is_bound
    return settling_rows(ahead.settling) if known else [*settling_rows(ahead.settling), (when, about)]


def legend(text: str, width: int = WIDTH) -> str:
    """Return the meaning of the symbols and terms that occur in a text, one line for each.

    >>> print(legend("ρ_t = t"))
      t    step, or time
      ρ_t  peer pressure at step t
    """
    spaced = "".join(sign if sign.isalnum() or sign in "_₀\u0304" else " " for sign in text).split()
    words = {part for word in spaced for part in (word, word.removeprefix("Σ"))}
    found = [(name, meaning) for name, meaning in SYMBOLS.items() if name in words or (" " in name and name in text)]
    return "\n".join(table(found, width)) if found else ""
