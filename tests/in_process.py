"""What commands leave to other processes or do again, done once and here, for tests of everything else about them.

Processes that draw and the layout of figures are tested in tests/report, and workers in tests/sweep.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from peerpressure.report import drawing
from peerpressure.report.html import Image
from peerpressure.sweep import _runners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN: dict[bytes, drawing.Drawing] = {}
painted = drawing.draw


def _here(_: int) -> AbstractContextManager[drawing.Submit]:
    """Let this process draw, which remembers what it has drawn, as a copy of it would not."""
    return nullcontext(drawing.here)


def _draw_once(order: drawing.Order) -> drawing.Drawing:
    """Make a figure unless there is one of the same numbers; what it was ordered with stands for its dots and lines."""
    key = pickle.dumps(order)
    if key not in _DRAWN:
        name = sha256(key).hexdigest()

        def render(figure: Figure, kind: str) -> bytes:
            return f"{kind} {name}".encode()

        def image(figure: Figure, svg: bytes | None = None) -> Image:
            return Image(f"data:,{name}", 10, 10)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("peerpressure.report.pictures.settled", lambda figure: figure)
            patch.setattr("peerpressure.report.pictures.image", image)
            patch.setattr("peerpressure.plotting.style.render", render)
            _DRAWN[key] = painted(order)
    return _DRAWN[key]


class Pool:
    """A pool of processes in this one: it takes and gives copies, but nothing need be started."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def submit(self, function: Callable[..., Any], *arguments: object) -> Future[Any]:
        answer: Future[Any] = Future()
        try:
            answer.set_result(pickle.loads(pickle.dumps(function(*pickle.loads(pickle.dumps(arguments))))))
        except BaseException as error:
            answer.set_exception(error)
        return answer

    def shutdown(self, **_: object) -> None:
        """Nothing was started."""


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "draw", _draw_once)
    monkeypatch.setattr(drawing, "elsewhere", _here)


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runners, "ProcessPoolExecutor", Pool)
