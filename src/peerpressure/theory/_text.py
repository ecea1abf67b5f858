"""A verdict as text: the plain answer in sentences, and the mathematics as tables of names and values.

Python, the command line, the explorer and reports all take their sentences from here. Numbers are those of the limit
law of each agent, and a value that differs between runs is said to.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.schedules import Linear, Table
from peerpressure.support.text import fixed, significant, with_deviation
from peerpressure.theory._advice import NOT_TRIED, Advice, Suggestion
from peerpressure.theory._classification import Outcome
from peerpressure.theory._forecast import Forecast, Settling
from peerpressure.theory._limit_law import LimitKind, LimitLaw
from peerpressure.theory._limits import ConsensusLimit

MOST_DECIMALS = 6
# What random values depend on, in words.
CHANCES = {"noise": "the noise", "updates": "who updates when", "network": "which edges are present"}


# Only such noise makes opinions drift; random updates and networks average out beside it.
_DRAWN = "in a direction set by the noise, which is drawn once"


def chance_words(chance: tuple[str, ...]) -> str:
    """Return what random values depend on, in words.

    >>> chance_words(("noise", "updates"))
    'the noise and on who updates when'
    """
    return " and on ".join(CHANCES[name] for name in chance) or "chance"


@final
@dataclass(frozen=True, eq=False)
class Findings:
    """What the sentences are about: the outcome, the law of the agents, v in numbers and in words, and chance.

    ``span`` is the range of hidden opinions, which numbers are rounded to. ``chance`` has the keys of ``CHANCES`` that
    random values depend on.
    """

    outcome: Outcome
    law: LimitLaw
    value: float
    meaning: str
    span: float
    chance: tuple[str, ...]

    @property
    def decimals(self) -> int:
        """As many decimals as tell a hundredth of the range of hidden opinions."""
        half = self.span / 2 or abs(self.value) or 1.0
        return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(half)))) if math.isfinite(half) else 0

    @property
    def random(self) -> str:
        """What random values depend on, in words."""
        return chance_words(self.chance)

    @property
    def std(self) -> float:
        """The largest deviation of an agent, nan where one is not computed."""
        return float(self.law.std.max())

    def number(self, value: float, std: float = 0.0) -> str:
        """Return a number rounded to the range of opinions, or to two digits of its deviation if that is smaller."""
        if not 0 < std < math.inf:
            return fixed(value, self.decimals)
        places = min(MOST_DECIMALS, max(self.decimals, 1 - math.floor(math.log10(std))))
        return f"{fixed(value, places)} ± {fixed(std, places)}"

    def ends(self, values: Sequence[float], between: str) -> str | None:
        """Return two numbers with the decimals that tell them apart; None if too many were needed, or one is nan."""
        for decimals in range(self.decimals, MOST_DECIMALS + 1) if np.all(np.isfinite(values)) else ():
            first, second = (fixed(value, decimals) for value in values)
            if first != second:
                return f"{first}{between}{second}"
        return None

    def span_of_means(self, which: NDArray[np.bool_] | slice = slice(None)) -> str | None:
        """Return the range of the means of agents, or the one value where they are the same."""
        means = self.law.mean[:, which]
        low, high = float(means.min()), float(means.max())
        if not math.isfinite(low):
            return None
        ends = self.ends([low, high], " to ")
        return f"at {self.number(low)}" if ends is None else f"from {ends}"


def sentence(findings: Findings) -> str:
    """Return what becomes of the public opinions."""
    return _SENTENCES[findings.outcome](findings)


def outlook(outcome: Outcome, forecast: Forecast, end: str) -> str | None:
    """Return how far agents are from v, from their limits or from each other in the end."""
    distance, what = forecast.disagreement, "typically differ from their mean by {}"
    if forecast.own_limits:
        distance, what = forecast.rms_distance, "are typically {} away from where they end"
    elif outcome is Outcome.CONSENSUS:
        distance, what = forecast.rms_distance, "are typically {} away from it"
    return f"{end} agents {what.format(significant(distance))}." if math.isfinite(distance) else None


def _consensus(findings: Findings) -> str:
    return f"All agents come to agree on {findings.number(findings.value)}, {findings.meaning}."


def _biased(findings: Findings) -> str:
    law, v = findings.law, findings.value
    kind, mean, std = law.kind[0], float(law.mean[0, 0]), float(law.std[0])
    known = math.isfinite(mean)
    if kind in (LimitKind.FLUCTUATES, LimitKind.WALKS):
        return f"All agents come to agree on a value that keeps moving at random{_about(findings, mean)}."
    if kind is LimitKind.DRIFTS:
        start = f", from {findings.number(mean)} on" if known else ""
        return f"All agents come to agree on a value that moves ever further{start}, {_DRAWN}."
    if kind is LimitKind.RANDOM_LIMIT:
        numbers = _random_value(findings, mean, std)
        return f"All agents come to agree on a value that depends on {findings.random}{numbers}."
    if not known:
        return f"All agents come to agree, but not on {findings.number(v)}, {findings.meaning}."
    both = findings.ends([mean, v], ", not on ")
    if both is None:
        near = f"{findings.number(mean)}, which differs by {abs(mean - v):.1g} from {findings.meaning}"
        return f"All agents come to agree on {near}."
    return f"All agents come to agree on {both}, {findings.meaning}."


def _random_value(findings: Findings, mean: float, std: float) -> str:
    """Return the mean of a random value with its deviation, as far as they are known."""
    if not math.isfinite(mean):
        return ""
    return f": {findings.number(mean, std)}" if 0 < std < math.inf else f": {findings.number(mean)} on average"


def _about(findings: Findings, mean: float) -> str:
    return f" about {findings.number(mean)}" if math.isfinite(mean) else ""


def _oscillation(findings: Findings) -> str:
    law, sides = findings.law, "The two sides of the network keep swapping opinions"
    if law.kinds != {LimitKind.PERIODIC}:
        return _periodic(findings)
    # Agents of one side and of one camp have the two values in turn; several components have values of their own.
    values = None if law.turns is None else findings.ends(law.mean[:, 0].tolist(), " and ")
    if values is None:
        return f"{sides}, and never agree{_within(findings)}."
    opposite = ", and their opposites in the second camp" * bool(np.any(law.camp != law.camp[0]))
    if law.std[0] > 0:
        both = " and ".join(findings.number(value, float(law.std[0])) for value in law.mean[:, 0].tolist())
        return f"{sides}: two values that depend on {findings.random}, {both}{opposite}, take turns."
    return f"{sides}: {values}{opposite} take turns forever."


def _within(findings: Findings) -> str:
    span = findings.span_of_means()
    return "" if span is None else f", {span}"


def _disagreement(findings: Findings) -> str:
    kinds, prefix, span = findings.law.kinds, "Agents never agree completely: ", findings.span_of_means()
    if kinds & {LimitKind.WALKS, LimitKind.DRIFTS}:
        manner = "at random, " if LimitKind.WALKS in kinds else ""
        who = "they" if kinds <= {LimitKind.WALKS, LimitKind.DRIFTS} else "some of them"
        return f"{prefix}{who} move {manner}ever further."
    if LimitKind.FLUCTUATES in kinds:
        return f"{prefix}they keep moving at random{_on_average(span)}{_scatter(findings)}."
    if LimitKind.RANDOM_LIMIT in kinds:
        return f"{prefix}they end at values that depend on {findings.random}{_on_average(span)}{_scatter(findings)}."
    if span is None or span.startswith("at"):
        rest = ", and whether they come to rest is not known" * (LimitKind.UNKNOWN in kinds)
        return f"{prefix}differences between their public opinions remain{rest}."
    return f"{prefix}they end at different opinions, {span}."


def _on_average(span: str | None) -> str:
    return "" if span is None else f", on average {span}"


def _scatter(findings: Findings) -> str:
    """Return the largest deviation, where it is known."""
    return f", with standard deviations up to {significant(findings.std)}" if 0 < findings.std < math.inf else ""


def _periodic(findings: Findings) -> str:
    length, repeats, n = len(findings.law.mean), findings.law.kind == LimitKind.PERIODIC, findings.law.kind.size
    steps = f"a cycle of {length:,} steps" if length > 1 else "a cycle"
    span, average = findings.span_of_means(repeats), "on average " * bool(findings.chance)
    within = "" if span is None else f", {average}{span}"
    if np.all(repeats):
        return f"Public opinions repeat {steps} forever{within}, and do not agree."
    some = int(np.count_nonzero(repeats))
    return f"The public opinions of {some:,} of {n:,} agents repeat {steps} forever{within}, and agents do not agree."


def _clusters(findings: Findings) -> str:
    law = findings.law
    groups, span = np.unique(law.group).size, findings.span_of_means()
    agree = f"Agents agree within {groups:,} groups"
    if law.kinds & {LimitKind.WALKS, LimitKind.DRIFTS}:
        return f"{agree}, whose values move ever further apart."
    within = ", which differ from each other" if span is None or span.startswith("at") else ""
    if LimitKind.RANDOM_LIMIT in law.kinds:
        return f"{agree}, which end at values that depend on {findings.random}{_on_average(span)}{_scatter(findings)}."
    return f"{agree}{within or f', which end at different opinions, {span}'}."


def _bipartite(findings: Findings) -> str:
    law, camps = findings.law, "Agents agree within two camps, which hold opposite opinions"
    size, std = float(np.abs(law.mean[0]).max()), float(law.std[0])
    if law.kinds & {LimitKind.WALKS, LimitKind.FLUCTUATES, LimitKind.DRIFTS}:
        return f"{camps} that keep moving{' at random' * (LimitKind.DRIFTS not in law.kinds)}."
    if LimitKind.RANDOM_LIMIT in law.kinds:
        ends = f": {findings.number(-size, std)} and {findings.number(size, std)}" if math.isfinite(size) else ""
        return f"{camps} that depend on {findings.random}{ends}."
    both = findings.ends([-size, size], " and ")
    return f"{camps}." if both is None else f"{camps}: {both}."


def _neutral(findings: Findings) -> str:
    return "Distrust cancels all opinions: every agent converges to 0."


def _random_walk(findings: Findings) -> str:
    agree = "Agents agree with each other, and their common opinion"
    if LimitKind.DRIFTS in findings.law.kinds:
        return f"{agree} drifts ever further, {_DRAWN}."
    return f"{agree} keeps moving at random, without bound."


def _unknown(findings: Findings) -> str:
    return "What becomes of the opinions in the long run is not known."


_SENTENCES: Mapping[Outcome, Callable[[Findings], str]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased,
    Outcome.OSCILLATION: _oscillation,
    Outcome.DISAGREEMENT: _disagreement,
    Outcome.CLUSTERS: _clusters,
    Outcome.BIPARTITE: _bipartite,
    Outcome.NEUTRAL: _neutral,
    Outcome.PERIODIC: _periodic,
    Outcome.RANDOM_WALK: _random_walk,
    Outcome.UNKNOWN: _unknown,
}


WIDTH = 88
# Share of the steps up to which agents who are close in the last ones are not said to be so from then on.
SHORT = 0.1
Rows: TypeAlias = list[tuple[str, str]]


def table(rows: Rows, width: int = WIDTH) -> list[str]:
    """Return the lines of a table of names and values, wrapped at a width."""
    column = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, value in rows:
        # On a narrow terminal values may be wider than what the names leave, but not narrower than a word or two.
        first, *more = textwrap.wrap(value, max(width - column, 24), break_long_words=False) or [""]
        lines += [f"  {name}".ljust(column) + first, *(" " * column + part for part in more)]
    return lines


def limit_text(limit: ConsensusLimit) -> str:
    """Return the value, or values, of a limit with their deviations and the error of the computation."""
    if not math.isfinite(limit.std):
        variance = "unbounded variance" if math.isinf(limit.std) else "a variance that does not vanish"
        return f"{limit.mean:.6g} on average, with {variance}"
    if math.isinf(limit.residual):
        return f"{limit.mean:.6g}, of unknown error"
    text = with_deviation(limit.mean, limit.std, limit.residual)
    return text + (f", error about {limit.residual:.1g}" if limit.residual else "")


def forecast_rows(forecast: Forecast, step: float | None) -> Rows:
    """Return where agents are after the steps of a forecast."""
    after = f"after {forecast.steps:,} step{'s' * (forecast.steps != 1)}"
    if step is not None:
        after = f"at time {forecast.steps * step:,.6g}"
    table = [
        (after, f"the start keeps a weight of {forecast.start_weight:.3g}"),
        (
            "  consensus mode",
            f"{with_deviation(forecast.mode_mean, forecast.mode_std)}, error {forecast.mode_error:.3g}",
        ),
        (f"  RMS distance to {target_name(forecast)}", _estimate(forecast.rms_distance, forecast.rms_distance_stderr)),
        ("  RMS disagreement", _estimate(forecast.disagreement, forecast.disagreement_stderr)),
    ]
    if forecast.settling is not None:
        table.append((f"  RMS within {forecast.settling.tolerance:g}", _settling_text(forecast.settling)))
        table += [("", why) for why in [_comparison(forecast.settling)] if why]
    elif forecast.settling_omitted is not None:
        table.append(("  settling times", str(forecast.settling_omitted)))
    if forecast.hidden_disagreement is not None:
        disagreement = _estimate(forecast.hidden_disagreement, forecast.hidden_disagreement_stderr)
        table.append(("  hidden opinions", f"mean {forecast.hidden_mean:.6g}, RMS disagreement {disagreement}"))
    return table


def target_name(of: Forecast | Settling) -> str:
    """Return what distances are measured to, in words."""
    return "own limits" if of.own_limits else "v"


def progress_rows(forecast: Forecast | None) -> Rows:
    """Return from which steps on agents are close to each other and to v, or why that is not known."""
    if forecast is None:
        return [("how fast", "ask for a number of steps to see from which step on agents are close to each other")]
    omitted = [] if forecast.settling_omitted is None else [("how fast", str(forecast.settling_omitted))]
    return omitted if forecast.settling is None else settling_rows(forecast.settling)


def settling_rows(settling: Settling) -> Rows:
    """Return from which steps on agents are close to each other and to v, and what that means."""
    last = _moment(settling.steps, settling)
    never = f"not within {settling.steps:,} steps" if settling.step_length is None else f"not by {last}"
    names = {"each other": settling.each_other, target_name(settling): settling.value}
    table = [
        (f"within {settling.tolerance:g} of {name}", _since(step, settling) if step is not None else never)
        for name, step in names.items()
    ]
    known = "RMS over agents and noise, "
    known += "bounds that leave out the noise of earlier steps" if settling.is_bound else "exact"
    if settling.step_length is not None:
        known += f", at multiples of {settling.step_length:g}"
    # A claim about later steps would go beyond what is computed.
    reached = any(step is not None for step in names.values())
    known += f", up to {last}" * reached
    return [*table, ("", "; ".join(filter(None, [known, _comparison(settling)])))]


def _settling_text(settling: Settling) -> str:
    times = {"each other": settling.each_other, target_name(settling): settling.value}
    parts = [f"of {name} {'not' if step is None else _since(step, settling)}" for name, step in times.items()]
    return f"{', '.join(parts)}; up to {_moment(settling.steps, settling)}"


def _comparison(settling: Settling) -> str:
    """Return why agents are close to v before they are close to each other, where they are."""
    each, value = settling.each_other, settling.value
    before = value is not None and (each is None or each > value) and not settling.own_limits
    return "two agents are typically farther from each other than from v" * before


def _moment(step: int, settling: Settling) -> str:
    """Return a step, or the time of it in continuous time."""
    return f"step {step:,}" if settling.step_length is None else f"time {step * settling.step_length:,.6g}"


def _since(step: int, settling: Settling) -> str:
    if settling.is_bound:
        return f"not before {_moment(step, settling)}" if step else "not known from when on"
    lasted = settling.steps - step + 1
    if step and (lasted == 1 or lasted <= SHORT * settling.steps):
        # Where distances rise and fall they may well rise again.
        return f"only in the last {lasted:,} steps" if lasted > 1 else "only at the last step"
    return f"from {_moment(step, settling)} on" if step else "from the start"


def _estimate(value: float, stderr: float) -> str:
    return f"{value:.3g} " + (f"(standard error {stderr:.1g})" if stderr else "(exact)")


def advice_rows(advice: Advice) -> Rows:
    """Return two rows for each better schedule, or why the best one was not computed."""
    if not advice.suggestions and advice.omitted is not None:
        return [("better schedules" if not_tried(advice) else "optimal schedule", str(advice.omitted))]
    return [row for one in advice.suggestions for row in _suggestion_rows(one, advice.rms_distance)]


def not_tried(advice: Advice) -> bool:
    """Return whether no schedule was looked for, because the network is too large."""
    return advice.omitted is not None and advice.omitted.code == NOT_TRIED.code


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
    if one.averaging_steps:
        last = f"the last {one.averaging_steps:,} steps" if one.averaging_steps > 1 else "the last step"
        return f"{Linear(float(one.schedule(1)))}, then agree at once in {last}"
    return _course(one.schedule) if isinstance(one.schedule, Table) else str(one.schedule)


def _course(schedule: Table) -> str:
    """Describe a table by its first, its middle and its last pressure."""
    last = schedule.values.size
    shown = sorted({1, -(-last // 2), last})
    return ", ".join(f"ρ_{t} = {schedule.values[t - 1]:.3g}" for t in shown)


# In the order in which they are listed; each is explained where it occurs.
SYMBOLS = {
    "v": "consensus value, the influence-weighted mean of hidden opinions: Σ s x₀/Σ s on an undirected network",
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


def legend(text: str, width: int = WIDTH) -> str:
    """Return the meaning of the symbols and terms that occur in a text, one line for each.

    >>> print(legend("ρ_t = t"))
      t    step, or time
      ρ_t  peer pressure at step t
    """
    spaced = "".join(sign if sign.isalnum() or sign in "_₀\u0304" else " " for sign in text).split()
    words = {part for word in spaced for part in (word, word.removeprefix("Σ"))}
    entries = [(name, meaning) for name, meaning in SYMBOLS.items() if name in words or (" " in name and name in text)]
    return "\n".join(table(entries, width)) if entries else ""
