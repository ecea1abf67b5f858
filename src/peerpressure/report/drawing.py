"""All figures at once, in as many processes as are wanted."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from peerpressure.figures import ANIMATIONS, FIGURES, render
from peerpressure.report.images import Image, image

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Drawn:
    """One figure in all the forms in which it is wanted; ``gif`` is there for those that move."""

    name: str
    pdf: bytes
    png: bytes
    picture: Image
    gif: bytes | None = None

    @property
    def files(self) -> dict[str, bytes]:
        """The figure as files, by their names."""
        forms = {"pdf": self.pdf, "png": self.png} | ({} if self.gif is None else {"gif": self.gif})
        return {f"{self.name}.{kind}": data for kind, data in forms.items()}


def draw_all(tables: Mapping[str, pd.DataFrame], workers: int, tell: Callable[[str], None]) -> list[Drawn]:
    """Return every figure, in the order of ``FIGURES``; the number of workers changes nothing but the time."""
    orders = [(name, [tables[table] for table in needed]) for name, (_, needed) in FIGURES.items()]
    done = []
    for drawn in _drawn(orders, min(workers, len(orders))):
        done.append(drawn)
        tell(f"drawing figures ({len(done)} of {len(orders)})")
    return done


def _drawn(orders: Sequence[tuple[str, Sequence[pd.DataFrame]]], workers: int) -> Iterator[Drawn]:
    if workers == 1:
        yield from map(_draw, orders)
        return
    # New processes and not forked ones: threads of a compiled run do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(_draw, orders)


def _draw(order: tuple[str, Sequence[pd.DataFrame]]) -> Drawn:
    name, tables = order
    figure = FIGURES[name][0](*tables)
    # The layout is worked out once and not again for each form.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    gif = ANIMATIONS[name](*tables) if name in ANIMATIONS else None
    return Drawn(name, render(figure, "pdf"), render(figure, "png"), image(figure), gif)
