"""The figures of the report, drawn by one or several processes, which load no experiments."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, final

from peerpressure.plotting import FIGURES, render
from peerpressure.report.html import Image
from peerpressure.report.pictures import image, settled
from peerpressure.support.progress import deaf_children, end_with_parent

if TYPE_CHECKING:
    import pandas as pd

KINDS: Final = ("pdf", "png", "svg")
# A figure to be drawn: its name, its tables, and the formats of its files, SVG among them.
Order: TypeAlias = "tuple[str, Sequence[pd.DataFrame], Sequence[str]]"


@final
@dataclass(frozen=True)
class Drawn:
    """One figure in all its formats."""

    name: str
    forms: Mapping[str, bytes]  # by suffix
    picture: Image

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the figure, by name."""
        return {f"{self.name}.{kind}": data for kind, data in self.forms.items()}


def draw_all(
    tables: Mapping[str, pd.DataFrame],
    workers: int,
    progress: Callable[[str], None],
    kinds: Sequence[str] = KINDS,
) -> list[Drawn]:
    """Return every figure, in the order of ``FIGURES``, drawn by this number of processes."""
    # Each process receives only the tables of its figure, because they are pickled on the way.
    orders = [(name, [tables[table] for table in needed], kinds) for name, (_, needed) in FIGURES.items()]
    done: dict[str, Drawn] = {}
    for drawn in _drawn(orders, min(workers, len(orders))):
        done[drawn.name] = drawn
        progress(f"drawing figures ({len(done)} of {len(orders)})")
    return [done[name] for name in FIGURES]


def _drawn(orders: Sequence[Order], workers: int) -> Iterator[Drawn]:
    if workers == 1:
        # No pool for one process: spawning it would import everything again.
        yield from map(draw_one, orders)
        return
    # Spawned rather than forked: threads of a compiled run do not survive a fork.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=end_with_parent) as pool:
        with deaf_children():
            drawings = pool.map(draw_one, orders)
        yield from drawings


def draw_one(order: Order) -> Drawn:
    """Return one figure."""
    # One argument, as ``map`` passes it, and a function of the module, because it is pickled.
    name, tables, kinds = order
    figure = settled(FIGURES[name][0](*tables))
    forms = {kind: render(figure, kind) for kind in kinds}
    return Drawn(name, forms, image(figure, forms["svg"]))
