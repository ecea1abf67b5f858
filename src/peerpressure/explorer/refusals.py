"""How the explorer says no: a status, the complaint, and the place in the scenario that it is about."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from peerpressure.errors import PeerPressureError, complain
from peerpressure.scenario import ScenarioError

TOLD = 20  # problems in one answer; a person mends the first ones first
LONGEST = 800  # characters of a message, for keys and labels of any length are quoted in them


@final
class RequestError(PeerPressureError):
    """A request that is refused, with the HTTP status that says so."""

    def __init__(self, status: int, text: str, where: str | None = None) -> None:
        self.status = status
        self.where = where
        super().__init__(text)


@final
class WithdrawnError(PeerPressureError):
    """Work that nobody waits for any more."""


@final
class OverdueError(PeerPressureError):
    """Work that takes too long."""

    def __init__(self, seconds: float) -> None:
        rule = f"an answer must be found within {seconds:g} seconds here"
        remedy = "ask for fewer agents, steps or methods; the command line has no such bound"
        super().__init__(complain(rule, got="no end by then", remedy=remedy))


# What ends a piece of work from outside, whatever part of it was being done.
ENDS = (RequestError, WithdrawnError, OverdueError)


def refusal_of(error: BaseException) -> tuple[int, dict[str, Any]] | None:
    """Return the status and the answer for an error that the request is to blame for, None for any other."""
    match error:
        case RequestError():
            return error.status, _told(str(error), error.where)
        case ScenarioError():
            shown = error.problems[:TOLD]
            problems = [_told(problem.message, problem.path or None)["error"] for problem in shown]
            return 422, {"error": problems[0], "problems": problems}
        case WithdrawnError():
            return 409, _told("superseded")
    blamed = isinstance(error, PeerPressureError | MemoryError | ArithmeticError | np.linalg.LinAlgError)
    return (422, _told(complaint(error))) if blamed else None


def complaint(error: BaseException) -> str:
    """Return what to say of an error that numbers have led to."""
    match error:
        case PeerPressureError():
            return str(error)
        case MemoryError():
            return "there is not enough memory for this; ask for fewer agents, steps or replicates"
        case _:
            return f"these numbers leave the range of doubles ({error}); rescale opinions, noise or weights"


def _told(text: str, where: str | None = None) -> dict[str, Any]:
    return {"error": {"text": _shortened(text), "where": where if where is None else _shortened(where)}}


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
