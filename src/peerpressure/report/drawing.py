"""Figures as files and pictures: of a run, drawn by processes while it is simulated, and of the paper's report."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from peerpressure.errors import PeerPressureError, message
from peerpressure.report.html import Image
from peerpressure.support.progress import deaf_children, end_with_parent

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# More have too little to draw for what each of them loads.
MOST_PROCESSES = 3


class Order(NamedTuple):
    """A figure to be drawn: its name, the arguments of its function, and what is asked for."""

    name: str
    arguments: tuple[Any, ...]
    formats: tuple[str, ...] = ()
    pictured: bool = False


class Drawing(NamedTuple):
    """A figure as files by suffix, and as a picture for a page; empty where they are not asked for."""

    files: dict[str, bytes]
    picture: Image | None


# Takes an order, and returns the function that waits for its drawing.
Submit: TypeAlias = Callable[[Order], Callable[[], Drawing]]


def draw(order: Order) -> Drawing:
    """Return the drawing of a figure."""
    # Imported here because only a process that draws should load Matplotlib.
    from peerpressure.plotting import network, run
    from peerpressure.plotting.style import render
    from peerpressure.report.pictures import image, settled

    functions: dict[str, Callable[..., Figure]] = {
        "opinions": run.opinions,
        "hidden": run.hidden,
        "opinion_map": network.opinions,
        "network": run.temporal_network,
        "estimates": run.estimates,
        "exposure": run.exposed,
        "exposure_map": network.exposure,
        "budget": run.spent,
        "frontier": network.frontier,
    }
    if order.name not in functions:
        # Those of the paper, which a run need not load.
        from peerpressure.plotting import FIGURES

        functions = {name: function for name, (function, _) in FIGURES.items()}
    try:
        figure = settled(functions[order.name](*order.arguments))
        made = {kind: render(figure, kind) for kind in order.formats}
        return Drawing(made, image(figure, made.get("svg")) if order.pictured else None)
    except (OverflowError, np.linalg.LinAlgError) as error:
        # Differences of numbers near the end of the range are infinite, and no axis holds them.
        rule, got = "a figure needs numbers well within the range of float64", f"{error} in the figure {order.name}"
        remedy = "rescale hidden opinions and noise, or set figures and report in [output] to false"
        raise PeerPressureError(message(rule, got=got, remedy=remedy)) from None


def here(order: Order) -> Callable[[], Drawing]:
    """Take an order that this process draws when it is waited for."""
    return partial(draw, order)


def draw_all(orders: Sequence[Order], workers: int) -> Iterator[Drawing]:
    """Yield the drawings of figures in their order, made by this number of processes."""
    # No pool for one process: spawning it would import everything again. Spawned rather than forked: threads of a
    # compiled run do not survive a fork.
    with _pool(workers if workers > 1 else 0, "spawn") as submit:
        for drawing in [submit(order) for order in orders]:
            yield drawing()


@contextlib.contextmanager
def elsewhere(cores: int) -> Iterator[Submit]:
    """Give a function that takes orders for other processes, as many as there are cores left; they end with the block.

    Their drawings have the same bytes as those of this process. On systems other than Linux, and with a single core,
    this process draws. Callers with threads of their own, such as servers, should not use it.
    """
    with _pool(min(cores - 1, MOST_PROCESSES) if sys.platform == "linux" else 0, "fork") as submit:
        yield submit


@contextlib.contextmanager
def _pool(count: int, method: str) -> Iterator[Submit]:
    """Give a function that takes orders for this number of processes; without any, this process draws."""
    if count < 1:
        yield here
        return
    # Ctrl-C ends them through this process, which copies itself now, before a run starts its threads.
    with deaf_children():
        pool = ProcessPoolExecutor(count, get_context(method), initializer=_prepare)
        for _ in range(count):
            pool.submit(os.getpid)  # anything, since processes start with the first orders
    try:
        yield lambda order: pool.submit(draw, order).result
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare() -> None:
    """Load what is needed to draw, and end with the parent even if that is killed."""
    end_with_parent()
    import peerpressure.report.pictures  # noqa: F401

    # The other cores are busy with the run; threads of linear algebra would only wait for them.
    threadpool_limits(limits=1, user_api="blas")
