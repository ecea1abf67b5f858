"""The whole reproduction from one seed into one folder: tables, figures, and the report as an HTML page."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from peerpressure.plotting import FIGURES
from peerpressure.report.drawing import Drawing, Order, draw, draw_all
from peerpressure.report.latex import escaped, to_latex
from peerpressure.report.store import MANIFEST, from_csv, manifest, publish, request_key, stored, to_csv
from peerpressure.reproduction import printed
from peerpressure.reproduction._experiments import SEEDS, paper_tables
from peerpressure.reproduction._page import REFERENCES, TABLES, Provenance, about, columns_of, page
from peerpressure.reproduction._single import EXPERIMENTS, parse_settings, reported, single
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

REPORT: Final = "report.html"
KINDS: Final = ("pdf", "png", "svg")  # of figures
DICTIONARY: Final = "tables/dictionary.csv"
BIBLIOGRAPHY: Final = "references.bib"
MOST_ROWS: Final = 60  # of a table that is also written as LaTeX
LARGE_SWEEP: Final = 200  # replications from which the sweeps are worth starting processes
# Those that can change a number or a pixel; a difference between two reports is traced to them first.
_LIBRARIES: Final = ("numpy", "scipy", "numba", "pandas", "networkx", "matplotlib")


@final
@dataclass(frozen=True)
class Request:
    """The parameters that determine the results."""

    seed: int
    replications: int
    steps: int
    quick: bool = False  # small sweeps, and verdicts for one seed

    @property
    def command(self) -> str:
        """The command line of this request."""
        quick = " --quick" if self.quick else ""
        return f"peerpressure paper --seed {self.seed} --replications {self.replications} --steps {self.steps}{quick}"


@final
@dataclass(frozen=True, eq=False)
class Reproduction:
    """The content of the folder; ``reused`` if all of it was there before."""

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
    progress: Callable[[str], None] = lambda stage: None,
) -> Reproduction:
    """Make figures, tables and report in ``out``, reusing what the same request left there unless ``fresh``.

    Everything is computed before anything is written. Files are then written one by one, the report last: an
    interruption leaves the former report as it was.
    """
    key = request_key(asdict(request))
    kept, missing = ({}, frozenset()) if fresh else stored(out, key)
    if kept and not missing:
        # The manifest is not listed in itself.
        files = tuple(out / name for name in (*kept, MANIFEST))
        return Reproduction(_tables(kept), files, out / REPORT, reused=True)
    # The experiments take most of the time: if every table is intact, only figures and report are made again.
    csv = {} if any(_is_table(name) for name in missing) else {k: v for k, v in kept.items() if _is_table(k)}
    made = _make(csv or _computed(request, workers, progress), request, workers, progress)
    progress("writing")
    # The manifest precedes the report: if the report is missing or old, its hash does not match.
    report = made.pop(REPORT)
    written = publish(out, made | {MANIFEST: manifest(key, made | {REPORT: report}), REPORT: report})
    return Reproduction(_tables(made), tuple(written), out / REPORT, reused=False)


def may_be_written(out: Path) -> bool:
    """Return whether a folder has no report, or one that was made here; any other must not be overwritten."""
    # The manifest is written before the report.
    return not (out / REPORT).exists() or (out / MANIFEST).exists()


def may_have_one(out: Path) -> bool:
    """Return whether a folder has no report, whose figures and tables those of one experiment would replace."""
    return not (out / REPORT).exists() and not (out / MANIFEST).exists()


def _computed(request: Request, workers: int, progress: Callable[[str], None]) -> dict[str, bytes]:
    """Run the experiments, and return all tables as files."""
    with tempfile.TemporaryDirectory(prefix="peerpressure-") as place:
        # A small sweep takes less time than starting processes.
        folder = Path(place) if workers > 1 and request.replications >= LARGE_SWEEP else None
        tables = paper_tables(
            request.seed,
            request.steps,
            request.replications,
            sizes=printed.DENSITY_AGENTS if request.quick else printed.SWEEP_AGENTS,
            seeds=1 if request.quick else SEEDS,
            folder=folder,
            workers=workers,
            progress=progress,
        )
    return {f"tables/{name}.csv": to_csv(table) for name, table in tables.items()}


def _is_table(name: str) -> bool:
    return name.startswith("tables/") and name.endswith(".csv") and name != DICTIONARY


def _make(csv: dict[str, bytes], request: Request, workers: int, progress: Callable[[str], None]) -> dict[str, bytes]:
    """Return every file but the manifest, by name."""
    # Read back from the files: stored tables and new ones give the same report.
    tables = _tables(csv)
    progress("drawing figures")
    drawings = _drawings(tables, workers, progress, ("svg",) if request.quick else KINDS)
    figures = _files(drawings)
    progress("writing the report")
    text = page(
        tables, {name: drawn.picture for name, drawn in drawings.items() if drawn.picture}, _provenance(request)
    )
    more = _latex({name: tables[name] for name in (*TABLES, "regression") if name in tables})
    more |= {DICTIONARY: _dictionary(tables), BIBLIOGRAPHY: _bibliography(), REPORT: text.encode()}
    return csv | figures | more


def _drawings(
    tables: Mapping[str, pd.DataFrame], workers: int, progress: Callable[[str], None], kinds: tuple[str, ...]
) -> dict[str, Drawing]:
    # Each process receives only the tables of its figure, because they are pickled on the way.
    orders = [
        Order(name, tuple(tables[table] for table in needed), kinds, pictured=True)
        for name, (_, needed) in FIGURES.items()
    ]
    done: dict[str, Drawing] = {}
    for order, drawn in zip(orders, draw_all(orders, min(workers, len(orders))), strict=True):
        done[order.name] = drawn
        progress(f"drawing figures ({len(done)} of {len(orders)})")
    return done


def _files(drawings: Mapping[str, Drawing]) -> dict[str, bytes]:
    return {f"figures/{name}.{kind}": data for name, drawn in drawings.items() for kind, data in drawn.files.items()}


def _latex(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return tables as LaTeX, by name; those of the page, as others have too many rows."""
    return {f"tables/{name}.tex": to_latex(table, about(name)).encode() for name, table in tables.items()}


def _bibliography() -> bytes:
    """Return the references as BibTeX, with the paper and this package's report among them."""
    entries = []
    for one in REFERENCES:
        # Names with a comma are those of people; BibTeX joins them by "and".
        people = escaped(one.authors.replace(".,", ".;")).replace("; and ", " and ").replace(";", " and")
        fields = {"author": people, "title": f"{{{escaped(one.title)}}}", "year": str(one.year)}
        fields |= {"howpublished": escaped(one.source)} | ({"doi": one.doi} if one.doi else {})
        inner = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
        entries.append(f"@misc{{{one.name},\n{inner}\n}}\n")
    return "\n".join(entries).encode()


def reproduce_one(
    out: Path, figure: str, settings: str, *, seed: int, progress: Callable[[str], None] = lambda stage: None
) -> tuple[Path, ...]:
    """Run the experiment of one figure, with other parameters, and write its figure and tables to ``out``.

    ``settings`` is a text such as ``noise=0.5,agents=60``.
    """
    chosen = parse_settings(figure, settings)
    progress(figure)
    tables = single(figure, seed, chosen)
    needed = FIGURES[figure][1]
    shown = {name: from_csv(to_csv(tables[name])) for name in needed}
    drawn = draw(Order(figure, tuple(shown.values()), KINDS))
    files = {f"tables/{name}.csv": to_csv(table) for name, table in tables.items()}
    files |= _latex({name: table for name, table in shown.items() if len(table) <= MOST_ROWS})
    files |= _files({figure: drawn})
    progress("writing")
    return tuple(publish(out, files))


def _dictionary(tables: Mapping[str, pd.DataFrame]) -> bytes:
    """Return the meaning and unit of every column of every table, as CSV."""
    import pandas as pd

    rows = [
        {"table": name, "column": entry.name, "meaning": entry.meaning, "unit": entry.unit}
        for name, data in sorted(tables.items())
        for entry in columns_of(name, data.columns)
    ]
    return to_csv(pd.DataFrame(rows))


def _tables(files: Mapping[str, bytes]) -> dict[str, pd.DataFrame]:
    return {Path(name).stem: from_csv(data) for name, data in files.items() if _is_table(name)}


def _provenance(request: Request) -> Provenance:
    libraries = ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)
    facts = (
        ("seed", str(request.seed)),
        ("replications", f"{request.replications:,} per cell of the sweeps"),
        ("longest run", f"{request.steps:,} steps"),
        ("peerpressure", __version__),
        ("Python", platform.python_version()),
        ("libraries", libraries),
    )
    settings = {name: _words(reported(name, request.steps, request.replications)) for name in EXPERIMENTS}
    return Provenance(__version__, request.seed, request.command, facts, settings)


def _words(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value:,}" for name, value in settings.items())
