"""What commands leave to other processes or do again, done once and here, for tests of everything else about them.

Processes that draw and the layout of figures are tested in tests/report, and workers in tests/sweep.
"""

from __future__ import annotations

import json
import os
import pickle
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import pytest

from peerpressure.report import drawing
from peerpressure.sweep import _runners, _worker
from peerpressure.sweep.plan import Unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DRAWN: dict[bytes, drawing.Drawing] = {}
_draw = drawing.draw


def _unsettled(figure: Figure) -> Figure:
    """Return a figure without its layout, which takes as long to compute as everything else about it."""
    import matplotlib as mpl

    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    return figure


def _here(_: int) -> AbstractContextManager[drawing.Submit]:
    """Let this process draw, which remembers what it has drawn, as a copy of it would not."""
    return nullcontext(drawing.here)


def _draw_once(order: drawing.Order) -> drawing.Drawing:
    """Draw a figure unless there is one of the same numbers: drawing is most of what a run of few agents takes."""
    key = pickle.dumps(order)
    if key not in _DRAWN:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("peerpressure.report.pictures.settled", _unsettled)
            _DRAWN[key] = _draw(order)
    return _DRAWN[key]


class Worker:
    """A worker of a sweep in this process: it reads and answers the same messages, but need not be started."""

    announcement = ""

    def __init__(self, *_: object) -> None:
        self.process = self
        self.setting: dict[str, Any] | None = None

    def poll(self) -> None:
        """Say that it has not ended."""

    def ask(self, question: object) -> Any:
        asked = json.loads(json.dumps(question))
        if self.setting is None:
            self.setting = asked
            return {"ready": os.getpid()}
        computed = [_worker._serve(self.setting, Unit(*unit)) for unit in asked]
        return json.loads(json.dumps({"computed": computed}))

    def end(self) -> str:
        return "the worker has ended"


@pytest.fixture
def drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "draw", _draw_once)
    monkeypatch.setattr(drawing, "elsewhere", _here)


@pytest.fixture
def worker_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_runners, "Worker", Worker)
