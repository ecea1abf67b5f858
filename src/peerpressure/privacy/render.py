"""Results of this folder on a page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerpressure.privacy.budget import Budget
    from peerpressure.privacy.exposure import Exposure

WIDTH = 88
_SHOWN = 8  # agents listed by name
_NAMES = {
    "information": "Fisher information",
    "own_information": "  by its own words",
    "mu": "Gaussian privacy μ",
    "zcdp": "zCDP ρ",
    "epsilon_basic": "pure ε",
    "epsilon_advanced": "ε by composition",
    "epsilon_low": "ε at least",
    "epsilon": "ε",
    "delta_needed": "δ needed",
}


def budget_text(told: Budget) -> str:
    """Return the most exposed agent's numbers, what they promise and what they assume."""
    steps = f"{told.steps:,} step{'s' * (told.steps != 1)}"
    seen = f"{steps} seen in full" if told.runs == 1 else f"{steps} of {told.runs:,} runs seen in full"
    head = f"Privacy after {seen}, opinions up to {told.sensitivity:g} apart, δ = {told.delta:g}"
    worst = told.table.sort_values(["epsilon", "information"], ascending=False, kind="stable").iloc[0]
    lines = [f"  {_NAMES[name]:<20}{worst[name]:.6g}" for name in told.table.columns]
    lead = f"for agent {worst.name}, the most exposed of {len(told.table):,}:"
    assumed = textwrap.wrap(" ".join(["Assumed:", *told.assumptions]), WIDTH)
    return "\n".join([head, lead, *lines, *textwrap.wrap(told.promise, WIDTH), *assumed])


def exposure_text(found: Exposure) -> str:
    """Return who is at most risk, and how the seen and the unseen fare."""
    table, steps = found.table, f"{found.steps:,} step{'s' * (found.steps != 1)}"
    seen = int(table["seen"].sum())
    head = f"Exposure after {steps} to an observer of {seen:,} of {len(table):,} agents"
    groups = [("seen", table[table["seen"]]), ("unseen", table[~table["seen"]])]
    means = [f"{name}: {group['ratio'].mean():.3g}" for name, group in groups if len(group)]
    worst = table.sort_values("rank", kind="stable").head(_SHOWN)
    rows = [("agent", "seen", "posterior/prior", "Cramér–Rao", "bits")]
    rows += [
        (str(row.Index), "yes" if row.seen else "no", f"{row.ratio:.3g}", f"{row.cramer_rao:.3g}", f"{row.bits:.3g}")
        for row in worst.itertuples()
    ]
    widths = [max(len(row[k]) for row in rows) + 2 for k in range(5)]
    lines = ["  " + "".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    more = [f"  and {len(table) - _SHOWN:,} more"] * (len(table) > _SHOWN)
    mean = f"mean posterior/prior variance, {', '.join(means)}"
    return "\n".join([head, mean, *(line.rstrip() for line in lines), *more])
