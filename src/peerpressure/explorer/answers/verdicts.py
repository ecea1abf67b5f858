"""The verdict as the page gets it: in plain values and in words, and in so many words where it would take too long."""

from __future__ import annotations

from typing import Any

from peerpressure.explorer.limits import Limits
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.refusals import OverdueError
from peerpressure.model import Model
from peerpressure.theory import Outcome, Rate, Verdict, diagnose, regime_of
from peerpressure.theory.forecast import MOST_AGENTS

UNSAID = "To say what becomes of these agents takes longer than a page should wait; peerpressure diagnose does."


def verdict(asked: Prepared, limits: Limits) -> dict[str, Any]:
    """Return what becomes of the agents; where that takes too long, only that it is not known here."""
    return _told(_found(asked, limits) or _unsaid(asked.model))


def outlook(asked: Prepared, limits: Limits) -> dict[str, Any] | None:
    """Return the verdict with where agents stand at the end of the run, None where that takes too long."""
    model = asked.model
    exact = 2 * model.network.adjacency.nnz * model.n * asked.steps
    affordable = exact <= limits.exact if model.n <= MOST_AGENTS else 64 * model.n * asked.steps <= limits.work
    found = _found(asked, limits, asked.steps) if affordable else None
    return None if found is None else _told(found)


def _found(asked: Prepared, limits: Limits, steps: int | None = None) -> Verdict | None:
    if _rounds(asked) > limits.rounds:
        return None
    try:
        return diagnose(asked.hurried(limits.verdict_seconds), steps)
    except OverdueError:
        return None


def _rounds(asked: Prepared) -> float:
    """Return how many agents and neighbours there are in all steps that a verdict has to follow."""
    temporal_network = asked.model.temporal_network
    if temporal_network is None:
        return 0.0
    recurring = temporal_network.period or temporal_network.last_change
    return float(recurring * (asked.model.n + asked.model.network.degrees.sum()))


def _unsaid(model: Model) -> Verdict:
    rate = Rate(regime_of(model.pressure))
    pressure = str(model.pressure)
    return Verdict(Outcome.UNKNOWN, UNSAID, False, model.consensus_value, model.kappa, pressure, rate)


def _told(found: Verdict) -> dict[str, Any]:
    return found.to_dict() | {"text": str(found)}
