"""What commands leave to other processes or do again, done once and here, for tests of everything else about them.

Processes that draw and the layout of figures are tested in tests/report, and workers in tests/sweep.
"""

from __future__ import annotations

import pickle
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from peerpressure.report import drawing
from peerpressure.report.html import Image
from peerpressure.sweep import _runners

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN: dict[bytes, drawing.Drawing] = {}
_draw = drawing.draw


def _here(_: int) -> AbstractContextManager[drawing.Submit]:
    """Let this process draw, which remembers what it has drawn, as a copy of it would not."""
    return nullcontext(drawing.here)


def _shown(figure: Figure) -> str:
    """Return a word for what a figure shows, in the place of dots and lines, which take longer than all the rest."""
    parts = [
        (
            [axes.get_title("left"), axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in axes.texts)],
            [np.asarray(line.get_xydata()).tobytes() for line in axes.lines],
            [np.asarray(one.get_offsets()).tobytes() for one in axes.collections],
        )
        for axes in figure.axes
    ]
    return sha256(repr(parts).encode()).hexdigest()


def _image(figure: Figure, svg: bytes | None = None) -> Image:
    return Image(f"data:image/svg+xml;base64,{b64encode(f'<svg>{_shown(figure)}</svg>'.encode()).decode()}", 10, 10)


def _draw_once(order: drawing.Order) -> drawing.Drawing:
    """Make a figure unless there is one of the same numbers."""
    key = pickle.dumps(order)
    if key not in _DRAWN:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "peerpressure.plotting.style.render", lambda figure, kind: f"{kind} {_shown(figure)}".encode()
            )
            _DRAWN[key] = _draw(order)
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
    monkeypatch.setattr("peerpressure.report.pictures.settled", lambda figure: figure)
    monkeypatch.setattr("peerpressure.report.pictures.image", _image)
    monkeypatch.setattr(drawing, "draw", _draw_once)
    monkeypatch.setattr(drawing, "elsewhere", _here)


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runners, "ProcessPoolExecutor", Pool)
