"""What is found in plain sentences with a few rounded numbers: the verdict, the end of the run, and the observer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from peerpressure.model import Model
from peerpressure.privacy import Budget, Exposure
from peerpressure.theory import Outcome, ReasonCode, Verdict

MEAN = "the weighted mean of their hidden opinions"
MOST_DECIMALS = 6
STRONG = 5  # ε beyond which a promise of privacy is weak
LEAST_DISTANCE = 0.0001  # smaller ones are not told apart in words
_PLAIN = {
    Outcome.OSCILLATION: "The two sides of the network keep swapping opinions, and never agree.",
    Outcome.DISAGREEMENT: "Agents never agree completely: differences between their public opinions remain.",
    Outcome.CLUSTERS: "Agents agree within groups, and the groups differ from each other.",
    Outcome.BIPARTITE: "Agents agree within two camps, which hold opposite opinions.",
    Outcome.NEUTRAL: "Distrust cancels all opinions: every agent comes to 0.",
    Outcome.PERIODIC: "Public opinions repeat a cycle for ever, and do not agree.",
    Outcome.RANDOM_WALK: "Agents agree with each other, and their common opinion keeps moving at random.",
    Outcome.UNKNOWN: "What becomes of the opinions in the long run is not known.",
}


def summary(verdict: Verdict, model: Model, *, drawn: bool = False) -> str:
    """Return what becomes of the public opinions, in words that need no mathematics.

    Where hidden opinions are ``drawn`` at random, the sentence about their mean says so.
    """
    decimals = _decimals(model)
    in_numbers = _IN_NUMBERS.get(verdict.outcome)
    text = None if in_numbers is None else in_numbers(verdict, decimals)
    text = text or _PLAIN.get(verdict.outcome, "All agents come to agree.")
    return text.replace(MEAN, f"{MEAN}, which are drawn at random") if drawn else text


def outlook(verdict: Verdict) -> str | None:
    """Return how far agents are from v, or from each other, at the end of the run; None without a forecast."""
    ahead = verdict.forecast
    if ahead is None:
        return None
    end = f"{ahead.steps:,} steps" if verdict.step is None else f"a time of {ahead.steps * verdict.step:,.4g}"
    distance, what = ahead.disagreement, "typically differ from their mean by {}"
    if ahead.own_limits:
        distance, what = ahead.rms_distance, "are typically {} away from where they end"
    elif verdict.outcome is Outcome.CONSENSUS:
        distance, what = ahead.rms_distance, "are typically {} away from it"
    if not math.isfinite(distance):
        return None
    return f"After {end} agents {what.format(_significant(distance))}."


def exposed(found: Exposure) -> str:
    """Return how much an observer of a run learns about hidden opinions."""
    table = found.table
    before = math.sqrt(table["prior_variance"].mean())
    seen = table["seen"].to_numpy()
    after = [
        f"{_significant(math.sqrt(table['posterior_variance'][chosen].mean()))} for agents that it {sees}"
        for chosen, sees in ((seen, "sees"), (~seen, "does not see"))
        if chosen.any()
    ]
    who = f"{np.count_nonzero(seen):,} of {seen.size:,} agents"
    learned = f"its typical error about a hidden opinion falls from {_significant(before)} to {' and '.join(after)}"
    return f"An observer of {who} over {found.steps:,} steps: {learned}."


def spent(budget: Budget, steps: int) -> str:
    """Return the privacy that a run costs under the budget's observer."""
    if not math.isfinite(budget.epsilon):
        return "The run gives hidden opinions away: no finite ε bounds what this observer learns."
    much = "little" if budget.epsilon <= 1 else "much" if budget.epsilon > STRONG else "something"
    epsilon = f"{budget.epsilon:,.0f}" if budget.epsilon >= 10 else f"{budget.epsilon:.2g}"
    one = "opinion of one agent"
    if budget.model.network.topics:
        person = budget.definition.unit == "person"
        one = "opinions of one agent on all topics" if person else "opinion of one agent on one topic"
    secret = "as long as the seed is secret"
    return f"After {steps:,} steps ε = {epsilon}: this observer may learn {much} about the {one}, {secret}."


def _decimals(model: Model) -> int:
    """Return as many decimals as tell a hundredth of the range of hidden opinions."""
    half = float(np.ptp(model.x0)) / 2 or abs(float(model.consensus_value)) or 1.0
    return min(MOST_DECIMALS, max(0, 1 - math.floor(math.log10(half)))) if math.isfinite(half) else 0


def _fixed(value: float, decimals: int) -> str:
    # Adding 0 turns −0 into 0.
    return f"{round(value, decimals) + 0.0:,.{decimals}f}".replace("-", "−")


def _significant(value: float) -> str:
    """Return a distance to one significant digit, or two if that is a 1, whose rounding would be too coarse."""
    if value < LEAST_DISTANCE:
        return f"less than {LEAST_DISTANCE:g}"
    digits = 2 if f"{value:.1e}".startswith("1") else 1
    return f"{value:,.{max(0, digits - 1 - math.floor(math.log10(value)))}f}"


def _apart(values: Sequence[float], decimals: int, between: str) -> str | None:
    """Return two numbers with the decimals that tell them apart; None if too many were needed."""
    for more in range(decimals, MOST_DECIMALS + 1):
        first, second = (_fixed(value, more) for value in values)
        if first != second:
            return f"{first}{between}{second}"
    return None


def _consensus(verdict: Verdict, decimals: int) -> str:
    return f"All agents come to agree on {_fixed(verdict.value, decimals)}, {MEAN}."


def _biased(verdict: Verdict, decimals: int) -> str:
    limit, v = verdict.consensus_limit, verdict.value
    if limit is None or not math.isfinite(limit.mean):
        return f"All agents come to agree, but not on {_fixed(v, decimals)}, {MEAN}."
    bias = abs(limit.mean - v)
    # Written so that an unknown deviation counts as a large one.
    if not limit.std <= bias:
        scatter = f" by about {_significant(limit.std)}" if math.isfinite(limit.std) else ""
        near = _fixed(limit.mean, decimals)
        return f"All agents come to agree, near {near}; where exactly, differs from run to run{scatter}."
    if bias < 10.0**-decimals:
        return f"All agents come to agree, very nearly on {_fixed(v, decimals)}, {MEAN}."
    return f"All agents come to agree on {_fixed(limit.mean, decimals)}, not on {_fixed(v, decimals)}, {MEAN}."


def _oscillation(verdict: Verdict, decimals: int) -> str | None:
    limit = verdict.consensus_limit
    if limit is None or limit.phases is None:
        return None
    values = _apart(limit.phases.mean.tolist(), decimals, " and ")
    return values and f"The two sides of the network keep swapping opinions: {values} take turns for ever."


def _disagreement(verdict: Verdict, decimals: int) -> str | None:
    span = _span(verdict, ReasonCode.STATIONARY_MEAN, decimals) or _span(verdict, ReasonCode.RANDOM_MEAN, decimals)
    return span and f"Agents never agree completely: on average they stay spread out from {span}."


def _periodic(verdict: Verdict, decimals: int) -> str | None:
    span = _span(verdict, ReasonCode.CYCLE_RANGE, decimals)
    return span and f"Public opinions repeat a cycle for ever, on average from {span}, and do not agree."


def _clusters(verdict: Verdict, decimals: int) -> str | None:
    values = [each.value for each in verdict.classes if each.value is not None]
    if len(values) < 2:
        return None
    ends = _apart([min(values), max(values)], decimals, " to ")
    return ends and f"Agents agree within {len(values):,} groups, which end at different opinions, from {ends}."


def _bipartite(verdict: Verdict, decimals: int) -> str | None:
    limit = verdict.consensus_limit
    if limit is None or not math.isfinite(limit.mean):
        return None
    ends = _apart(sorted((limit.mean, -limit.mean)), decimals, " and ")
    return ends and f"Agents agree within two camps, which hold opposite opinions: {ends}."


def _span(verdict: Verdict, code: ReasonCode, decimals: int) -> str | None:
    for reason in verdict.reasons:
        if reason.code is code:
            ends = [float(reason.values[name]) for name in ("low", "high")]
            return _apart(ends, decimals, " to ") if all(map(math.isfinite, ends)) else None
    return None


_IN_NUMBERS: Mapping[Outcome, Callable[[Verdict, int], str | None]] = {
    Outcome.CONSENSUS: _consensus,
    Outcome.BIASED_CONSENSUS: _biased,
    Outcome.OSCILLATION: _oscillation,
    Outcome.DISAGREEMENT: _disagreement,
    Outcome.PERIODIC: _periodic,
    Outcome.CLUSTERS: _clusters,
    Outcome.BIPARTITE: _bipartite,
}
