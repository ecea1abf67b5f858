"""How the explorer says no: a status, the complaint, and the place in the scenario that it is about."""

from __future__ import annotations

import json
import math
from typing import Any, final

import numpy as np
from starlette.requests import ClientDisconnect, Request

from peerpressure.errors import PeerPressureError, message
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
        super().__init__(message(rule, got="no end by then", remedy=remedy))


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


# What a request brings, read within bounds: so many bytes, plain JSON, nothing that is no number.

DEEPEST = 12  # no scenario nests further
LARGEST = 2**63 - 1  # the largest whole number that a scenario may hold


async def read_bytes(request: Request, most: int) -> bytes:
    """Return the body, refused as soon as it turns out to be too large."""
    _refuse_encoding(request)
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > most:
        raise _too_large(declared, most)
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise _too_large(f"more than {most:,}", most)
    except ClientDisconnect:
        raise WithdrawnError("superseded") from None
    return bytes(body)


def _refuse_encoding(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        rule, remedy = "a request must not be compressed", "send it as it is"
        raise RequestError(415, message(rule, got=ascii(encoding[:40]), remedy=remedy))


def _too_large(got: str, most: int) -> RequestError:
    remedy = "send less; the command line reads files of any size"
    return RequestError(413, message(f"a request may have at most {most:,} bytes", got=got[:40], remedy=remedy))


async def read_json(request: Request, most: int) -> dict[str, Any]:
    """Return the JSON object that a request brings."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        rule, remedy = "a request must be application/json", "set its Content-Type"
        raise RequestError(415, message(rule, got=ascii(kind[:40]), remedy=remedy))
    return parse_json(await read_bytes(request, most))


def parse_json(body: bytes) -> dict[str, Any]:
    """Return the object in a text, strictly: no NaN, no repeated key, no number out of range, no deep nesting.

    >>> parse_json(b'{"scenario": {}}')
    {'scenario': {}}
    """
    try:
        value = json.loads(
            body.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_int=_whole,
            parse_float=_number,
            object_pairs_hook=_table,
        )
    except UnicodeDecodeError as error:
        raise _malformed("UTF-8", f"byte {error.start} out of place") from None
    except json.JSONDecodeError as error:
        raise _malformed("JSON", f"{error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _malformed("nested less deeply", f"more than {DEEPEST} levels") from None
    if not isinstance(value, dict):
        raise _malformed("a JSON object", f"a {type(value).__name__}")
    _refuse_depth(value)
    return value


def _malformed(rule: str, got: str) -> RequestError:
    return RequestError(400, message(f"a request must be {rule}", got=got, remedy="correct it"))


def _refuse_constant(word: str) -> None:
    raise _malformed("made of numbers", word)


def _whole(text: str) -> int:
    # Python itself refuses to read thousands of digits; twenty are too many already.
    if len(text) > 20 or not -LARGEST <= int(text) <= LARGEST:
        raise _malformed(f"made of whole numbers up to {LARGEST}", f"{len(text)} digits")
    return int(text)


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _malformed("made of numbers below 1.8e308", text[:40])
    return value


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise _malformed("without repeated keys", f"{len(pairs)} keys, of which {len(table)} differ")
    return table


def _refuse_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise _malformed("nested less deeply", f"more than {DEEPEST} levels")
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
