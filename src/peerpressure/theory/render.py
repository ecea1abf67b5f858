"""A verdict on a page: text for a terminal, HTML for a notebook."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerpressure.theory.extensions.consensus_limit import ConsensusLimit
    from peerpressure.theory.extensions.hidden_fate import HiddenFate
    from peerpressure.theory.extensions.meeting import Meeting
    from peerpressure.theory.forecast import Advice, Forecast
    from peerpressure.theory.rates import Law
    from peerpressure.theory.verdict import Verdict

WIDTH = 88
# Stretches without joint connectivity that are named.
NAMED = 2
Rows = list[tuple[str, str]]


def as_text(verdict: Verdict) -> str:
    """Return a heading, a paragraph and a table, 20 lines at most."""
    table = rows(verdict)
    column = max(len(name) for name, _ in table) + 2
    lines = [f"  {name:<{column}}{value}" for name, value in table]
    return "\n".join([heading(verdict), *textwrap.wrap(verdict.reason, WIDTH), "", *lines])


def as_html(verdict: Verdict) -> str:
    """Return the same as HTML, with every text escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows(verdict)
    )
    head = f"<strong>{escape(heading(verdict))}</strong>"
    return f"<div>{head}<p style='max-width:44em'>{escape(verdict.reason)}</p><table>{body}</table></div>"


def heading(verdict: Verdict) -> str:
    """Return the outcome as a title."""
    words = verdict.outcome.value
    return words[0].upper() + words[1:] + " (estimated)" * verdict.estimated


def rows(verdict: Verdict) -> Rows:
    """Return the table of names and values."""
    kappa = f"{verdict.kappa:.4g}"
    if verdict.rate.ratio is not None:
        kappa += f", and κ/c = {verdict.rate.ratio:.4g} for ρ_t ~ c t"
    name = "κ = Σs/Σd" if verdict.meeting is None else "κ"
    table = [("peer pressure", verdict.pressure), ("consensus value v", f"{verdict.value:.6g}"), (name, kappa)]
    table += _extension_rows(verdict)
    rate = verdict.rate
    laws = [("bias", rate.bias), ("variance", rate.variance), ("disagreement", rate.disagreement)]
    known = [f"{name} {_law(law)}" for name, law in laws if law is not None]
    if known:
        table.append(("goes like", ", ".join(known)))
    if verdict.forecast is not None:
        table += _forecast_rows(verdict.forecast, verdict.step)
    if verdict.advice is not None:
        table.append(("tuned schedule", _advised(verdict.advice)))
    return table


def _law(law: Law) -> str:
    return "0" if law.constant == 0 else str(law)


def _extension_rows(verdict: Verdict) -> Rows:
    table: Rows = []
    if verdict.consensus_limit is not None:
        table.append(("all land on", _landed(verdict.consensus_limit)))
    if verdict.hidden is not None:
        table += _hidden_rows(verdict.hidden)
    if verdict.meeting is not None:
        table.append(("agents meet", _met(verdict.meeting)))
    return table


def _landed(consensus_limit: ConsensusLimit) -> str:
    if math.isinf(consensus_limit.std):
        return f"{consensus_limit.mean:.6g} on average, with no bound to its scatter"
    scatter = f" ± {consensus_limit.std:.3g}" if consensus_limit.std else ""
    return f"{consensus_limit.mean:.6g}{scatter}" + (
        f", error about {consensus_limit.residual:.1g}" if consensus_limit.residual else ""
    )


def _hidden_rows(hidden: HiddenFate) -> Rows:
    known = {True: "come to agree", False: "do not come to agree", None: "it is not known whether they come to agree"}
    low, high = ("∞" if math.isinf(life) else f"{life:,.0f}" for life in hidden.half_life)
    told = hidden.information
    learnt = f"; all together tell of x₀ what {told:.3g} first ones would" if math.isfinite(told) else ""
    life = f"half-life of {low if low == high else f'{low}–{high}'} steps{learnt}"
    return [("hidden opinions", known[hidden.agrees]), ("retention", life)]


def _met(meeting: Meeting) -> str:
    when = "" if meeting.until is None else f" up to t = {meeting.until:,}"
    if len(meeting.groups) > 1 and meeting.until is None:
        text = f"for ever only within {len(meeting.groups):,} groups"
    elif meeting.window is not None:
        text = f"all within any {meeting.window:,} steps{when}" if meeting.window > 1 else f"all in every step{when}"
    else:
        text = f"never all of them{when}" if meeting.until else "not all of them for ever"
    if meeting.usual is not None and meeting.usual != meeting.window:
        text += f", mostly within {meeting.usual:,}"
    named = ", ".join(f"{a:,}–{b:,}" if a < b else f"{a:,}" for a, b in meeting.broken[:NAMED])
    more = f" and {len(meeting.broken) - NAMED:,} more" if len(meeting.broken) > NAMED else ""
    return text + (f" but not in {named}{more}" if named else "")


def _forecast_rows(ahead: Forecast, step: float | None) -> Rows:
    over = "exact" if ahead.replicates is None else f"from {ahead.replicates} simulated runs"
    after = f"after {ahead.steps:,} step{'s' * (ahead.steps != 1)}"
    if step is not None:
        after = f"at time {ahead.steps * step:,.6g}"
    table = [
        (after, f"the start still weighs {ahead.start_weight:.3g}"),
        (
            "  consensus mode",
            f"{ahead.mode_mean:.6g} ± {ahead.mode_std:.3g}, error {ahead.mode_error:.3g}",
        ),
        ("  distance to v", f"{ahead.distance:.3g} (root mean square, {over})"),
        ("  disagreement", f"{ahead.disagreement:.3g} (root mean square, {over})"),
    ]
    if ahead.hidden_spread is not None:
        table.append(("  hidden opinions", f"mean {ahead.hidden_mean:.6g}, spread {ahead.hidden_spread:.3g} ({over})"))
    return table


def _advised(advice: Advice) -> str:
    gain = advice.gain
    if math.isinf(gain):
        compared = "all of it"
    elif gain >= 1.005:
        compared = f"{gain:.3g} times smaller"
    elif gain <= 0.995:
        compared = f"{1 / gain if gain else math.inf:.3g} times larger"
    else:
        compared = "the same"
    return f"{advice.schedule}: error {advice.error_tuned:.3g} instead of {advice.error_now:.3g}, {compared}"
