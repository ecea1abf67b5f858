"""Asking the explorer's server over HTTP, and reading what it packs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import httpx
import numpy as np
from numpy.typing import NDArray

from peerpressure.explorer.protocol import Limits
from tests.waiting import in_thread

Found = TypeVar("Found")
SMALL: dict[str, Any] = {
    "network": {"generator": "barabasi_albert", "n": 30, "m": 2},
    "agents": {"stubbornness": {"law": "uniform", "low": 0.5, "high": 1.0}},
    "pressure": {"kind": "linear", "slope": 0.7},
    "noise": {"law": "gaussian", "std": 0.5},
    "run": {"steps": 40, "replicates": 3, "seed": 5},
    "observe": {"methods": ["ols", "innovations"]},
}


class Packed(NamedTuple):
    """What a packed answer holds."""

    facts: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def unpack(body: bytes) -> Packed:
    length = int.from_bytes(body[:4], "little")
    facts = json.loads(body[4 : 4 + length], parse_constant=_fail)
    start = -(-(4 + length) // 8) * 8
    arrays = {}
    for name, place in facts.pop("arrays").items():
        assert place["offset"] % 8 == 0
        count = int(np.prod(place["shape"]))
        flat = np.frombuffer(body, np.dtype(place["dtype"]).newbyteorder("<"), count, start + place["offset"])
        arrays[name] = flat.reshape(place["shape"])
    return Packed(facts, arrays)


def _fail(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


class Asker:
    """One tab of one browser."""

    def __init__(self, address: str, tab: str = "a") -> None:
        self.http = httpx.Client(base_url=address, headers={"x-tab": tab}, timeout=None)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *problem: object) -> None:
        self.http.close()

    def post(self, question: str, scenario: Any = None, **more: Any) -> httpx.Response:
        body = {"scenario": SMALL if scenario is None else scenario, **more}
        return in_thread(lambda: self.http.post(f"api/{question}", json=body), f"the answer to {question}")

    def packed(self, question: str, scenario: Any = None, **more: Any) -> Packed:
        answer = self.post(question, scenario, **more)
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/x-peerpressure"
        return unpack(answer.content)

    def refused(self, question: str, scenario: Any = None, **more: Any) -> dict[str, Any]:
        answer = self.post(question, scenario, **more)
        assert answer.status_code == 422, (answer.status_code, answer.content[:200])
        error: dict[str, Any] = answer.json()["error"]
        return error


def in_a_loop(scene: Coroutine[Any, Any, Found]) -> Found:
    """Run a coroutine in a thread of its own, for a browser's loop may be at work in this one."""
    return in_thread(lambda: asyncio.run(scene), "the end of a scene")


@contextlib.contextmanager
def served(limits: Limits, port: int = 0) -> Iterator[str]:
    """Give the address of a server with bounds of its own, on this port or any free one.

    No answer ends by the clock there, unless a test says when.
    """
    import uvicorn

    from peerpressure.explorer.app import create_app
    from peerpressure.explorer.server import configuration, open_socket

    if limits.seconds == Limits().seconds:
        limits = replace(limits, seconds=3_600.0)
    with open_socket("127.0.0.1", port) as socket:
        server = uvicorn.Server(configuration(create_app(limits=limits), log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{socket.getsockname()[1]}/"
        finally:
            server.should_exit = True
            in_thread(thread.join, "the end of a server")
