"""All figures at once, in as many processes as are wanted."""

from __future__ import annotations

import multiprocessing
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

from peerpressure.plotting import ANIMATIONS, FIGURES, render
from peerpressure.report.html import Image, image
from peerpressure.report.store import MANIFEST, from_csv, manifest, publish, request_key, stored, to_csv
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from peerpressure.reproduction.page import Making


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


# The whole reproduction: experiments, figures, tables and report from one seed, into one folder.

REPORT: Final = "report.html"
MANY: Final = 200  # replications from which the sweeps are worth processes of their own
_LIBRARIES: Final = ("numpy", "scipy", "numba", "pandas", "networkx", "statsmodels", "matplotlib")


@final
@dataclass(frozen=True)
class Request:
    """What the results depend on."""

    seed: int
    replications: int
    steps: int

    @property
    def command(self) -> str:
        """The command line that asks for the same."""
        return f"peerpressure paper --seed {self.seed} --replications {self.replications} --steps {self.steps}"


@final
@dataclass(frozen=True, eq=False)
class Reproduction:
    """What lies in the folder now; ``reused`` if it all lay there before."""

    tables: Mapping[str, pd.DataFrame]
    files: tuple[Path, ...]
    report: Path
    reused: bool


def reproduce(
    out: Path,
    request: Request,
    *,
    workers: int = 1,
    fresh: bool = False,
    tell: Callable[[str], None] = lambda stage: None,
) -> Reproduction:
    """Make figures, tables and report in ``out``, and reuse what the same request left there unless ``fresh``.

    Everything is made before anything is written, and then written file by file, the report last; who stops it on
    the way finds the former report as it was.
    """
    key = request_key(asdict(request))
    kept, missing = ({}, frozenset()) if fresh else stored(out, key)
    if kept and not missing:
        files = tuple(out / name for name in (*kept, MANIFEST))
        return Reproduction(_tables(kept), files, out / REPORT, reused=True)
    csv = {} if any(_is_table(name) for name in missing) else {k: v for k, v in kept.items() if _is_table(k)}
    made = _make(csv or _computed(request, workers, tell), request, workers, tell)
    tell("writing")
    # The manifest precedes the report: should the report be missing or old, its hash will tell.
    page = made.pop(REPORT)
    written = publish(out, made | {MANIFEST: manifest(key, made | {REPORT: page}), REPORT: page})
    return Reproduction(_tables(made), tuple(written), out / REPORT, reused=False)


def _computed(request: Request, workers: int, tell: Callable[[str], None]) -> dict[str, bytes]:
    """Return all tables as files, from the experiments."""
    from peerpressure.reproduction import paper_tables

    with tempfile.TemporaryDirectory(prefix="peerpressure-") as place:
        # Few replications are computed here sooner than processes start.
        folder = Path(place) if workers > 1 and request.replications >= MANY else None
        tables = paper_tables(
            request.seed, request.steps, request.replications, folder=folder, workers=workers, tell=tell
        )
    return {f"tables/{name}.csv": to_csv(table) for name, table in tables.items()}


def _is_table(name: str) -> bool:
    return name.startswith("tables/")


def _make(csv: dict[str, bytes], request: Request, workers: int, tell: Callable[[str], None]) -> dict[str, bytes]:
    """Return every file but the manifest, by name."""
    pass
    from peerpressure.report.html import moving_image
    from peerpressure.reproduction.page import page

    # Read back from what will be written, so that it makes no difference whether they were there before.
    tables = _tables(csv)
    tell("drawing figures")
    drawings = draw_all(tables, workers, tell)
    figures = {f"figures/{name}": data for drawn in drawings for name, data in drawn.files.items()}
    moving = {drawn.name: moving_image(drawn.gif) for drawn in drawings if drawn.gif is not None}
    tell("writing the report")
    text = page(tables, {drawn.name: drawn.picture for drawn in drawings}, moving, _making(request))
    return csv | figures | {REPORT: text.encode()}


def _tables(files: Mapping[str, bytes]) -> dict[str, pd.DataFrame]:
    return {Path(name).stem: from_csv(data) for name, data in files.items() if _is_table(name)}


def _making(request: Request) -> Making:
    from peerpressure.reproduction.page import Making

    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    facts = (
        ("seed", str(request.seed)),
        ("replications", f"{request.replications:,} in each cell of the sweeps"),
        ("longest run", f"{request.steps:,} steps"),
        ("peerpressure", __version__),
        ("Python", platform.python_version()),
        ("libraries", libraries),
    )
    return Making(__version__, request.seed, request.command, facts)
