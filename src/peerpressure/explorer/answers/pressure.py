"""How pressure grows, and what that means for these agents; asked while a formula is being typed."""

from __future__ import annotations

from typing import Any

from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.times import shown
from peerpressure.theory import diagnose

MOST_POINTS = 240


def pressure_answer(asked: Prepared) -> dict[str, Any]:
    """Return ρ_t as text and at some times (null where it leaves the range of doubles), and the outcome in words."""
    model = asked.model
    times = shown(asked.steps, MOST_POINTS).times[1:]
    verdict = diagnose(asked.scenario.system())
    return {
        "text": str(model.pressure),
        "times": times,
        "values": model.pressure(times),
        "outcome": verdict.outcome.name.lower(),
        "words": verdict.outcome.value,
        "estimated": verdict.estimated,
        "reason": verdict.reason,
        "kappa": verdict.kappa,
    }
