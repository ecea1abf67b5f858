"""Results of this folder on a page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerpressure.privacy.budget import Budget

WIDTH = 88
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
    head = f"Privacy after {steps} in full view, opinions up to {told.sensitivity:g} apart, δ = {told.delta:g}"
    worst = told.table.sort_values(["epsilon", "information"]).iloc[-1]
    lines = [f"  {_NAMES[name]:<20}{worst[name]:.6g}" for name in told.table.columns]
    lead = f"for agent {worst.name}, the most exposed of {len(told.table):,}:"
    return "\n".join([head, lead, *lines, *textwrap.wrap(told.promise, WIDTH), *textwrap.wrap(told.opening, WIDTH)])
