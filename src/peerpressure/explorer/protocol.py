"""The protocol of page and server: requests checked within limits, errors, and the binary format of answers."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from starlette.requests import ClientDisconnect, Request

from peerpressure.errors import CancelledError, PeerPressureError, message
from peerpressure.scenario import Scenario, ScenarioError
from peerpressure.support.text import plain

# The binary format of answers: a JSON header followed by arrays, which a browser reads as typed arrays in place.
#
# The length of the header (uint32), the header in UTF-8, and each array start at a multiple of 8 bytes, padded with
# zeros; everything is little-endian. The header's ``arrays`` holds dtype, shape and offset of each array.

MEDIA_TYPE = "application/x-peerpressure"
# The types that browsers have typed arrays for and that answers need; 64-bit integers become BigInt there.
DTYPES = ("float32", "float64", "uint32")
# Typed arrays must start at a multiple of their element size, 8 bytes at most.
_ALIGNMENT = 8


def pack(facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    r"""Return facts and arrays in the binary format.

    >>> pack({"n": 2}, {"x": np.array([1.0])})
    b'A\x00\x00\x00{"n":2,"arrays":{"x":{"dtype":"float64","shape":[1],"offset":0}}}\x00...\x00\xf0?'
    """
    places, parts, offset = {}, [], 0
    for name, array in arrays.items():
        assert array.dtype.name in DTYPES, f"{name} is {array.dtype}"
        # On little-endian machines, which are nearly all, astype changes nothing and makes no copy.
        body = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).tobytes()
        # Offsets count from the end of the header, whose length depends on them when they are written.
        places[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "offset": offset}
        parts.append(_padded(body))
        offset += len(parts[-1])
    header = json_bytes({**facts, "arrays": places})
    return b"".join([_padded(len(header).to_bytes(4, "little") + header), *parts])


def unpack(body: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the facts and arrays of an answer in the binary format.

    >>> unpack(pack({"n": 2}, {"x": np.array([1.0])}))
    ({'n': 2}, {'x': array([1.])})
    """
    length = int.from_bytes(body[:4], "little")
    facts: dict[str, Any] = json.loads(body[4 : 4 + length])
    start, arrays = -(-(4 + length) // _ALIGNMENT) * _ALIGNMENT, {}
    for name, place in facts.pop("arrays").items():
        dtype = np.dtype(place["dtype"]).newbyteorder("<")
        flat = np.frombuffer(body, dtype, math.prod(place["shape"]), start + place["offset"])
        arrays[name] = flat.astype(place["dtype"], copy=False).reshape(place["shape"])
    return facts, arrays


def json_bytes(value: Any) -> bytes:
    """Return a value as JSON that every browser reads: numbers that are not finite become null.

    >>> json_bytes({"gain": float("inf")})
    b'{"gain":null}'
    """
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def plain_labels(labels: Sequence[Hashable]) -> list[Any] | None:
    """Return the labels of agents as JSON can hold them; None if agents are only numbered."""
    if isinstance(labels, range):
        return None
    # int and str are JSON; other labels, such as tuples, only have to be readable.
    return [label if isinstance(label, int | str) else str(label) for label in labels]


def _padded(body: bytes) -> bytes:
    return body + bytes(-len(body) % _ALIGNMENT)


# Requests and their errors: bodies are read and checked within limits, before anything large is built.

MAX_PROBLEMS = 20  # in one answer; a person corrects the first ones first
MAX_TEXT = 800  # characters of a message, which may quote keys and labels of any length
MAX_DEPTH = 12  # no scenario nests further


@final
class RequestError(PeerPressureError):
    """A request that cannot be answered: an HTTP status, a message, and the key of the scenario that it concerns."""

    def __init__(self, status: int, text: str, where: str | None = None) -> None:
        self.status = status
        self.where = where
        super().__init__(text)


@final
class SupersededError(PeerPressureError):
    """A job whose result nobody waits for any more."""

    def __init__(self) -> None:
        super().__init__("the question was replaced by a newer one, or the explorer is about to end; ask again")


@final
class TimeLimitError(PeerPressureError):
    """A job that takes longer than the time limit."""

    def __init__(self, seconds: float) -> None:
        remedy = "take fewer agents, steps or methods, or use the command line, which has no such limit"
        super().__init__(f"this took longer than {seconds:g} s; {remedy}")


# Errors that end the whole job, even where the failure of one part, such as one method, is only reported.
FATAL = (RequestError, CancelledError)


def error_answer(error: BaseException) -> tuple[int, dict[str, Any]] | None:
    """Return status and answer for an error that the request causes; None for a fault of the explorer's own."""
    match error:
        case RequestError():
            return error.status, error_body(str(error), error.where)
        case ScenarioError():
            first = error.problems[:MAX_PROBLEMS]
            problems = [error_body(problem.message, problem.path or None)["error"] for problem in first]
            return 422, {"error": problems[0], "problems": problems}
        case SupersededError():
            return 409, error_body(str(error))
    # Overflow and singular matrices come from the numbers in the request; the explorer itself is not at fault.
    caused = isinstance(error, PeerPressureError | MemoryError | ArithmeticError | np.linalg.LinAlgError)
    return (422, error_body(error_text(error))) if caused else None


def error_text(error: BaseException) -> str:
    """Return the message for an error in a computation."""
    match error:
        case PeerPressureError():
            return str(error)
        case MemoryError():
            return "there is not enough memory for this; ask for fewer agents, steps or replicates"
        case _:
            return f"these numbers leave the range of doubles ({error}); rescale opinions, noise or weights"


def error_body(text: str, where: str | None = None) -> dict[str, Any]:
    """Return the JSON of an error; ``where`` is the key of the scenario that it concerns."""
    return {"error": {"text": _shortened(text), "where": where if where is None else _shortened(where)}}


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


# Reading the body of a request


async def read_bytes(request: Request, max_bytes: int) -> bytes:
    """Return the body; reading stops as soon as it is longer than ``max_bytes`` bytes."""
    _check_encoding(request)
    declared = request.headers.get("content-length", "0")
    # The declared length may be wrong or missing, so it only serves to reject early.
    if not declared.isdecimal() or len(declared) > 18 or int(declared) > max_bytes:
        raise _too_large(declared, max_bytes)
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            # Counted while reading: a body of any size takes bounded memory.
            if len(body) > max_bytes:
                raise _too_large(f"more than {max_bytes:,}", max_bytes)
    except ClientDisconnect:
        raise SupersededError from None
    return bytes(body)


def _check_encoding(request: Request) -> None:
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        # A small compressed body could expand to gigabytes.
        rule, remedy = "a request must not be compressed", "send it as it is"
        raise RequestError(415, message(rule, got=ascii(encoding[:40]), remedy=remedy))


def _too_large(got: str, max_bytes: int) -> RequestError:
    remedy = "send less; the command line reads files of any size"
    return RequestError(413, message(f"a request may have at most {max_bytes:,} bytes", got=got[:40], remedy=remedy))


async def read_json(request: Request, max_bytes: int) -> dict[str, Any]:
    """Return the JSON object in the body of a request."""
    # A form of another site cannot send this type without a preflight request, which is never granted.
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        rule, remedy = "a request must be application/json", "set its Content-Type"
        raise RequestError(415, message(rule, got=ascii(kind[:40]), remedy=remedy))
    return parse_json(await read_bytes(request, max_bytes))


def parse_json(body: bytes) -> dict[str, Any]:
    """Return a JSON object without deep nesting; what its numbers and keys may be is for its reader to check.

    >>> parse_json(b'{"scenario": {}}')
    {'scenario': {}}
    """
    try:
        value = json.loads(body)
    # Python's parser recurses; very deep nesting exhausts its stack before the depth can be checked.
    except RecursionError:
        raise _malformed("nested less deeply", f"more than {MAX_DEPTH} levels") from None
    # Also for text that is not in UTF-8, and numbers of more than 4,300 digits.
    except ValueError as error:
        raise _malformed("JSON", str(error)[:80]) from None
    if not isinstance(value, dict):
        raise _malformed("a JSON object", f"a {type(value).__name__}")
    _check_depth(value)
    return value


def _malformed(rule: str, got: str) -> RequestError:
    return RequestError(400, message(f"a request must be {rule}", got=got, remedy="correct it"))


def _check_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise _malformed("nested less deeply", f"more than {MAX_DEPTH} levels")
        inner = (item.values() if isinstance(item, dict) else item for item in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]


# Limits on requests, checked before anything large is built, and the thinning of long runs for display.


@final
@dataclass(frozen=True)
class Thinning:
    """The steps of a run that are shown: 0 to ``dense`` one by one, then every ``every``-th, and the last."""

    steps: int
    dense: int
    every: int

    @property
    def times(self) -> NDArray[np.int64]:
        """The steps that are shown."""
        early = np.arange(self.dense + 1)
        # Multiples of the stride, which is what a run with ``every`` records.
        late = np.arange(self.dense - self.dense % self.every + self.every, self.steps, self.every)
        # The last step is always shown, because the verdict is about it.
        return np.unique(np.concatenate([early, late, [self.steps]]))


def thinned(steps: int, max_steps: int) -> Thinning:
    """Return a thinning to at most ``max_steps`` steps.

    The first steps are all kept, because they fill most of a logarithmic axis. The stride of the others is odd, because
    a bipartite network that oscillates would look constant at every second step.

    >>> thinned(1_000_000, 400).every % 2, thinned(1_000_000, 400).times.size <= 400
    (1, True)
    """
    # Below 8 the formulas leave no room for the late times.
    max_steps = max(max_steps, 8)
    if steps + 1 <= max_steps:
        return Thinning(steps, steps, 1)
    # Half of the times for the early steps; 2 and the 3 below leave room for the ends of both ranges.
    dense = max_steps // 2 - 2
    every = -(-(steps - dense) // (max_steps - dense - 3))
    every += (every + 1) % 2
    # An odd stride leaves room, nearly half of it where it was 2, and this is given to the early steps.
    dense = max(dense, (every * (max_steps - 3) - steps) // (every - 1))
    return Thinning(steps, dense, every)


@final
@dataclass(frozen=True)
class Limits:
    """Largest sizes of a request and of its answer; the page shows them, and the server enforces them.

    ``changes`` counts those of a temporal network, ``rounds`` agents and neighbours in the steps of it that a diagnosis
    follows, ``work`` agents × steps × replicates, ``exact`` multiplications for exact moments, ``optimum`` those of one
    pass in the search for an optimal schedule, ``observed`` agents² × steps of an observer and ``observed_agents`` the
    agents of its network, ``inferred`` agents × steps × times of an inferred network, ``verdict`` and ``recovered``
    about the multiplications of a diagnosis and of estimates over time or noise, ``states`` the numbers of one picture,
    ``rows`` and ``numbers`` those of a file, and ``values`` the numbers in a scenario beside its edges.
    """

    # Sizes that a page can draw, and that are computed within ``seconds``.
    agents: int = 50_000
    edges: int = 500_000
    changes: int = 2_000_000
    rounds: int = 1_000_000
    steps: int = 1_000_000
    work: int = 500_000_000
    exact: int = 1_000_000_000
    optimum: int = 10_000_000
    observed: int = 200_000_000
    observed_agents: int = 4_000
    inferred: int = 6_000_000
    states: int = 8_000_000
    times: int = 2_000
    rows: int = 2_000_000
    numbers: int = 20_000_000
    values: int = 200_000
    request_bytes: int = 4 * 2**20
    upload_bytes: int = 4 * 2**20
    verdict: int = 1_000_000_000
    recovered: int = 4_000_000_000
    seconds: float = 20.0
    workers: int = 4
    # Each tab waits for a handful of answers; more than this is a page that asks in a loop.
    waiting: int = 32

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return asdict(self)

    def check(self, name: str, got: float, *, what: str, remedy: str, where: str | None = None) -> None:
        """Raise a ``RequestError`` if a value is above the limit of this name."""
        limit = getattr(self, name)
        if got > limit:
            # "here", because the command line has no such limits.
            rule = f"{what} must be at most {limit:,} here"
            # Rounded up, because a part of one is above the limit as well.
            raise RequestError(422, message(rule, got=f"{math.ceil(got):,}", remedy=remedy), where)

    def check_network(self, section: Any, steps: int) -> None:
        """Check the size of a network before it is built."""
        # From the declared sizes of generators: building the network to measure it is what the limit prevents.
        size = section.size(steps)
        self.check("agents", size.agents, what="the number of agents", remedy="ask for fewer", where="network")
        self.check("edges", size.edges, what="the number of edges", remedy="ask for a sparser network", where="network")
        what, remedy = "the changes of a temporal network", "let it change less often, or for fewer steps"
        self.check("changes", size.changes, what=what, remedy=remedy, where="network")

    def check_run(self, scenario: Scenario, agents: int) -> None:
        """Check the length and the work of a run."""
        steps, replicates = scenario.run.steps, scenario.run.replicates
        remedy = "peerpressure run has no such limit"
        self.check("steps", steps, what="the number of steps", remedy=remedy, where="run.steps")
        what, remedy = "agents × steps × replicates", f"take fewer of them; {remedy}"
        self.check("work", agents * steps * replicates, what=what, remedy=remedy, where="run")

    def check_observer(self, agents: int, steps: int) -> None:
        """Check the work of an observer; factorising the dense matrices of many agents cannot be cancelled."""
        remedy = "observe a smaller network; peerpressure recover has no such limit"
        what = "the agents of an observed network"
        self.check("observed_agents", agents, what=what, remedy=remedy, where="observe")
        what, remedy = "agents² × steps of an observer", f"observe for a shorter time, or {remedy}"
        self.check("observed", agents**2 * steps, what=what, remedy=remedy, where="observe")
