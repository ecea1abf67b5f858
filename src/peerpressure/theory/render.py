"""A verdict on a page: text for a terminal, HTML for a notebook."""

from __future__ import annotations

import math
import textwrap
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerpressure.theory.forecast import Advice, Forecast
    from peerpressure.theory.rates import Law
    from peerpressure.theory.verdict import Verdict

WIDTH = 88
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
    table = [("peer pressure", verdict.pressure), ("consensus value v", f"{verdict.value:.6g}"), ("κ = Σs/Σd", kappa)]
    rate = verdict.rate
    laws = [("bias", rate.bias), ("variance", rate.variance), ("disagreement", rate.disagreement)]
    known = [f"{name} {_law(law)}" for name, law in laws if law is not None]
    if known:
        table.append(("goes like", ", ".join(known)))
    if verdict.forecast is not None:
        table += _forecast_rows(verdict.forecast)
    if verdict.advice is not None:
        table.append(("tuned schedule", _advised(verdict.advice)))
    return table


def _law(law: Law) -> str:
    return "0" if law.constant == 0 else str(law)


def _forecast_rows(ahead: Forecast) -> Rows:
    over = "exact" if ahead.replicates is None else f"from {ahead.replicates} simulated runs"
    return [
        (f"after {ahead.steps:,} step{'s' * (ahead.steps != 1)}", f"the start still weighs {ahead.start_weight:.3g}"),
        (
            "  consensus mode",
            f"{ahead.mode_mean:.6g} ± {ahead.mode_std:.3g}, error {ahead.mode_error:.3g}",
        ),
        ("  distance to v", f"{ahead.distance:.3g} (root mean square, {over})"),
        ("  disagreement", f"{ahead.disagreement:.3g} (root mean square, {over})"),
    ]


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
