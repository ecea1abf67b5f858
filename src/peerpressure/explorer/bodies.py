"""What a request brings, read within bounds: so many bytes, plain JSON, nothing that is no number."""

from __future__ import annotations

import json
import math
from typing import Any

from starlette.requests import ClientDisconnect, Request

from peerpressure.errors import complain
from peerpressure.explorer.refusals import RequestError, WithdrawnError

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
        raise RequestError(415, complain(rule, got=ascii(encoding[:40]), remedy=remedy))


def _too_large(got: str, most: int) -> RequestError:
    remedy = "send less; the command line reads files of any size"
    return RequestError(413, complain(f"a request may have at most {most:,} bytes", got=got[:40], remedy=remedy))


async def read_json(request: Request, most: int) -> dict[str, Any]:
    """Return the JSON object that a request brings."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        rule, remedy = "a request must be application/json", "set its Content-Type"
        raise RequestError(415, complain(rule, got=ascii(kind[:40]), remedy=remedy))
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
    return RequestError(400, complain(f"a request must be {rule}", got=got, remedy="correct it"))


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
