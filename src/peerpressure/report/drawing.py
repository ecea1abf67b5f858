"""Figures as files and pictures, drawn by several processes where the system can copy a process."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, NamedTuple

import matplotlib as mpl

from peerpressure.plotting.style import render, styled
from peerpressure.progress import deaf_children
from peerpressure.report.html import Image, image

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Drawing(NamedTuple):
    """A figure as files by suffix, and as a picture for a page; empty where they are not asked for."""

    files: dict[str, bytes]
    picture: Image | None


# Figures of a process that draws: inherited as they are, because figures take long to pickle.
_FIGURES: dict[str, Figure] = {}


def draw(figures: Mapping[str, Figure], *, files: bool, pictures: bool, processes: int = 1) -> dict[str, Drawing]:
    """Return the drawings of figures by name; their bytes do not depend on the number of processes.

    Parameters
    ----------
    figures : mapping of str to Figure
        The figures.
    files, pictures : bool
        Whether PDF and PNG, and pictures for a page are asked for.
    processes : int, default 1
        Processes that draw at the same time; on systems other than Linux there is one. Callers with threads of their
        own, such as servers, should leave it.
    """
    count = min(processes, len(figures)) if sys.platform == "linux" else 1
    jobs = [(name, files, pictures) for name in figures]
    # Set before the processes are copied, which then have the figures without any transfer.
    _FIGURES.update(figures)
    try:
        if count < 2:
            return dict(map(_draw, jobs))
        return dict(_in_copies(jobs, count))
    finally:
        _FIGURES.clear()


def _in_copies(jobs: list[tuple[str, bool, bool]], count: int) -> Iterator[tuple[str, Drawing]]:
    with ProcessPoolExecutor(count, mp_context=get_context("fork")) as pool:
        # Copies are made when the first job is submitted; Ctrl-C ends them through this process.
        with deaf_children():
            futures = [pool.submit(_draw, job) for job in jobs]
        for future in futures:
            yield future.result()


def _draw(job: tuple[str, bool, bool]) -> tuple[str, Drawing]:
    name, files, pictures = job
    figure = settled(_FIGURES[name])
    made = {kind: render(figure, kind) for kind in ("pdf", "png")} if files else {}
    return name, Drawing(made, image(figure) if pictures else None)


@styled
def settled(figure: Figure) -> Figure:
    """Return the figure with its layout computed once instead of once per format."""
    engine = figure.get_layout_engine()
    if engine is not None:
        engine.execute(figure)
    # Not "none", which leaves a placeholder: Matplotlib would draw the figure twice per format to compute its layout.
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        figure.set_layout_engine(None)
    return figure
