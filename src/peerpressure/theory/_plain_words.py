"""Verdicts in plain words, and the symbols of a verdict explained."""

from __future__ import annotations

import textwrap

from peerpressure.errors import first_few
from peerpressure.theory._classification import Outcome
from peerpressure.theory._verdict import (
    WIDTH,
    Rows,
    Verdict,
    heading,
    limit_text,
    schedule_text,
    settling_rows,
    table,
    target_name,
)

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


def plain_words(verdict: Verdict, width: int = WIDTH) -> str:
    """Return the outcome, its value and how fast it is reached, in words that need no mathematics.

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
    rows: Rows = [_value_row(verdict)]
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


def _value_row(verdict: Verdict) -> tuple[str, str]:
    """Return v, or the values of classes and camps where there is no common one."""
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
    return "v", f"{verdict.value:.4g}, the mean of hidden opinions weighted by {weights}"


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
