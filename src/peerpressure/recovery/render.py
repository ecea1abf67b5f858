"""An estimate on a page: text for a terminal, HTML for a notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from peerpressure.recovery.implicit import Implicit

if TYPE_CHECKING:
    from peerpressure.recovery.estimate import Estimate

SHOWN = 6
Rows = list[tuple[str, str]]


def as_text(estimate: Estimate) -> str:
    """Return a heading, the facts, and the first few agents."""
    table = rows(estimate)
    column = max(len(name) for name, _ in table) + 2
    return "\n".join([heading(estimate), *(f"  {name:<{column}}{value}" for name, value in table)])


def as_html(estimate: Estimate) -> str:
    """Return the same as HTML, with every text escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows(estimate)
    )
    return f"<div><strong>{escape(heading(estimate))}</strong><table>{body}</table></div>"


def heading(estimate: Estimate) -> str:
    """Return who was estimated, and how."""
    count, n = estimate.value.shape
    times = f", {count:,} replicates" if count > 1 else ""
    when = "" if estimate.target == "initial" else " in the end,"
    return f"Hidden opinions of {n:,} agents{when} by {estimate.method}{times}"


def rows(estimate: Estimate) -> Rows:
    """Return the table of names and values."""
    n, found = estimate.value.shape[1], int(estimate.identified.sum())
    table = [("identified", f"{found:,} of {n:,} agents, rank {estimate.rank:,}")]
    if not isinstance(estimate.covariance, Implicit) and found:
        std = estimate.std[estimate.identified]
        table.append(("standard error", f"{std.min():.4g}–{std.max():.4g}, median {np.median(std):.4g}"))
    table.append(("condition", f"{estimate.condition:.3g}"))
    if estimate.goodness_of_fit is not None:
        table.append(("fit to the model", _fit(estimate.goodness_of_fit)))
    if estimate.note:
        table.append(("note", estimate.note))
    return table + [(f"  {label}", text) for label, text in _agents(estimate)]


def _fit(p: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    # The smallest of many p-values is small by chance alone.
    least = min(1.0, float(p.min()) * p.size)
    verdict = "outputs are as the model expects" if least > 1e-4 else "another model made these outputs"
    return f"{verdict} (p = {least:.2g})"


def _agents(estimate: Estimate) -> Rows:
    """Return the first agents, with errors only where these are cheap."""
    cheap = not isinstance(estimate.covariance, Implicit)
    picked = []
    for i in range(min(SHOWN, estimate.value.shape[1])):
        error = "" if not cheap else f" ± {estimate.std[i]:.3g}"
        text = f"{estimate.value[0, i]:.4g}{error}" if estimate.identified[i] else "not identified"
        picked.append((f"agent {estimate.model.network.labels[i]!r}", text))
    if estimate.value.shape[1] > SHOWN:
        picked.append(("…", f"and {estimate.value.shape[1] - SHOWN:,} more"))
    return picked
