"""The plain answer: what becomes of the public opinions, in sentences with a few rounded numbers and no mathematics.

Python, the command line, the explorer and reports all take their sentences from here. Numbers are those of the limit
law of each agent, and a value that differs between runs is said to.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.support.text import fixed, significant
from peerpressure.theory._classification import Outcome
from peerpressure.theory._forecast import Forecast
from peerpressure.theory._limit_law import LimitKind, LimitLaw

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
