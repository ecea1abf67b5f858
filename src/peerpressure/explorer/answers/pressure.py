"""How pressure grows, and what that means for these agents; asked while a formula is being typed."""

from __future__ import annotations

from typing import Any

from peerpressure.explorer.answers.verdicts import verdict
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.times import shown
from peerpressure.sde import SDE

MOST_POINTS = 240


def pressure_answer(asked: Prepared, limits: Limits) -> dict[str, Any]:
    """Return ρ_t as text and at some times (null where it leaves the range of doubles), and the outcome in words."""
    pressure = asked.model.pressure
    times = shown(asked.steps, MOST_POINTS).times[1:] * (asked.system.step if isinstance(asked.system, SDE) else 1)
    told = verdict(asked, limits)
    kept = ("outcome", "words", "estimated", "reason", "kappa")
    return {"text": str(pressure), "times": times, "values": pressure(times)} | {name: told[name] for name in kept}
