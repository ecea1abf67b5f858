"""The whole reproduction from one seed into one folder: tables, figures, and the report as an HTML page."""

from __future__ import annotations

import inspect
import multiprocessing
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from markupsafe import Markup

from peerpressure.plotting import ANIMATIONS, FIGURES, render
from peerpressure.progress import deaf_children
from peerpressure.report.html import (
    Column,
    Form,
    HtmlTable,
    Image,
    formula,
    image,
    matching,
    moving_image,
    pick,
    table,
    templates,
)
from peerpressure.report.store import MANIFEST, from_csv, manifest, publish, request_key, stored, to_csv
from peerpressure.reproduction import printed
from peerpressure.reproduction._experiments import paper_tables
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

REPORT: Final = "report.html"
LARGE_SWEEP: Final = 200  # replications from which the sweeps are worth starting processes
# Those that can change a number or a pixel; a difference between two reports is traced to them first.
_LIBRARIES: Final = ("numpy", "scipy", "numba", "pandas", "networkx", "statsmodels", "matplotlib")


@final
@dataclass(frozen=True)
class Request:
    """The parameters that determine the results."""

    seed: int
    replications: int
    steps: int

    @property
    def command(self) -> str:
        """The command line of this request."""
        return f"peerpressure paper --seed {self.seed} --replications {self.replications} --steps {self.steps}"


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

    Everything is computed before anything is written. Files are then written one by one, the report last, so that an
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


def _computed(request: Request, workers: int, progress: Callable[[str], None]) -> dict[str, bytes]:
    """Run the experiments, and return all tables as files."""
    with tempfile.TemporaryDirectory(prefix="peerpressure-") as place:
        # A small sweep takes less time than starting processes.
        folder = Path(place) if workers > 1 and request.replications >= LARGE_SWEEP else None
        tables = paper_tables(
            request.seed, request.steps, request.replications, folder=folder, workers=workers, progress=progress
        )
    return {f"tables/{name}.csv": to_csv(table) for name, table in tables.items()}


def _is_table(name: str) -> bool:
    return name.startswith("tables/")


def _make(csv: dict[str, bytes], request: Request, workers: int, progress: Callable[[str], None]) -> dict[str, bytes]:
    """Return every file but the manifest, by name."""
    # Read back from the files, so that stored tables and new ones give the same report.
    tables = _tables(csv)
    progress("drawing figures")
    drawings = draw_all(tables, workers, progress)
    figures = {f"figures/{name}": data for drawn in drawings for name, data in drawn.files.items()}
    moving = {drawn.name: moving_image(drawn.gif) for drawn in drawings if drawn.gif is not None}
    progress("writing the report")
    text = page(tables, {drawn.name: drawn.picture for drawn in drawings}, moving, _provenance(request))
    return csv | figures | {REPORT: text.encode()}


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
    return Provenance(__version__, request.seed, request.command, facts)


@final
@dataclass(frozen=True)
class Drawn:
    """One figure in all its formats; ``gif`` is None unless it is animated."""

    name: str
    pdf: bytes
    png: bytes
    picture: Image
    gif: bytes | None = None

    @property
    def files(self) -> dict[str, bytes]:
        """The files of the figure, by name."""
        forms = {"pdf": self.pdf, "png": self.png} | ({} if self.gif is None else {"gif": self.gif})
        return {f"{self.name}.{kind}": data for kind, data in forms.items()}


def draw_all(tables: Mapping[str, pd.DataFrame], workers: int, progress: Callable[[str], None]) -> list[Drawn]:
    """Return every figure, in the order of ``FIGURES``, drawn by this number of processes."""
    # Each process receives only the tables of its figure, because they are pickled on the way.
    orders = [(name, [tables[table] for table in needed]) for name, (_, needed) in FIGURES.items()]
    # Animations take longest, and would be waited for if they came last.
    orders.sort(key=lambda order: order[0] not in ANIMATIONS)
    done: dict[str, Drawn] = {}
    for drawn in _drawn(orders, min(workers, len(orders))):
        done[drawn.name] = drawn
        progress(f"drawing figures ({len(done)} of {len(orders)})")
    return [done[name] for name in FIGURES]


def _drawn(orders: Sequence[tuple[str, Sequence[pd.DataFrame]]], workers: int) -> Iterator[Drawn]:
    if workers == 1:
        # No pool for one process: spawning it would import everything again.
        yield from map(_draw, orders)
        return
    # Spawned rather than forked: threads of a compiled run do not survive a fork.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        with deaf_children():
            drawings = pool.map(_draw, orders)
        yield from drawings


def _draw(order: tuple[str, Sequence[pd.DataFrame]]) -> Drawn:
    # One argument, as ``map`` passes it, and a function of the module, so that it can be pickled.
    name, tables = order
    figure = FIGURES[name][0](*tables)
    # The layout is computed once instead of once per format.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    gif = ANIMATIONS[name](*tables) if name in ANIMATIONS else None
    return Drawn(name, render(figure, "pdf"), render(figure, "png"), image(figure), gif)


def _math(latex: str) -> Markup:
    return Markup(formula(latex))


_NOISE: Final = {"noise": _math(r"\sigma_0"), "noise_variance": _math(r"\sigma_0^2")}
_TERMS: Final = {"agents": _math("|V|"), "noise": "noise"}
_METHODS: Final = {"ols": "regression"}
_KINDS: Final = {
    "printed_limit": "printed limit",
    "homoskedastic": "claimed, homoskedastic",
    "textbook": "regression software",
    "exact": "true",
    "empirical": "sampled",
}

_TURNOVER: Final = {
    "slow": "slow turnover",
    "fast": "resampled",
    "isolated": "resampled, ring included",
}

# The CSV files have all columns; the page has those that the text refers to.
SHOWN: Final[Mapping[str, Sequence[Column]]] = MappingProxyType(
    {
        "summary": (
            Column("run", "run"),
            Column("pressure", _math(r"\rho_t")),
            Column("consensus_value", _math("v"), 4, Form.FIXED),
            Column("mean", "mean", 4, Form.FIXED),
            Column("spread", "spread", 2),
            Column("max_distance", "largest distance", 2),
            Column("oscillation", "oscillation", 2),
            Column("predicted", "predicted"),
        ),
        "two_agents_covariances": (
            Column("method", "method", names=_METHODS),
            Column("kind", "covariance", names=_KINDS),
            Column("variance_1", "variance", 4, Form.FIXED),
            Column("covariance", "covariance of both", 4, Form.FIXED),
            Column("smallest_eigenvalue", "smallest eigenvalue", 4, Form.FIXED),
            Column("uncertainty", "uncertainty", 4, Form.FIXED, zero_is_none=True),
        ),
        "residual_normality": (
            Column("sample", "sample"),
            Column("size", "size"),
            Column("mean", "mean", 4, Form.FIXED),
            Column("std", "std", 4, Form.FIXED),
            Column("exact_std", "exact std", 4, Form.FIXED),
            Column("skewness", "skewness", 2, Form.FIXED),
            Column("excess_kurtosis", "excess kurtosis", 2, Form.FIXED),
            Column("shapiro_p", Markup("Shapiro–Wilk {}").format(_math("p")), 3, Form.FIXED),
            Column("anderson_p", Markup("Anderson–Darling {}").format(_math("p")), 3, Form.FIXED),
        ),
        "regression_comparison": (
            Column("edges", "edges per step"),
            Column("regressor", "regressor", names=_NOISE),
            Column("term", "term", names=_TERMS),
            Column("printed", "printed", 4, Form.FIXED),
            Column("printed_error", "error", 4, Form.FIXED),
            Column("measured", "measured", 4, Form.FIXED),
            Column("measured_error", "error", 4, Form.FIXED),
            Column("exact", "exact", 4, Form.FIXED),
            Column("z", _math("z"), 2, Form.FIXED),
            Column("p", _math("p"), 2),
        ),
        "edge_turnover_networks": (
            Column("network", "edges", names=_TURNOVER),
            Column("pairs", "pairs"),
            Column("edges", "edges per step", 1, Form.FIXED),
            Column("changes", "changes per step", 1, Form.FIXED),
            Column("isolated", "isolated agents", 3, Form.FIXED, zero_is_none=True),
            Column("outcome", "predicted"),
        ),
        "noise_exponents": (
            Column("noise", _math(r"\sigma_0"), form=Form.PLAIN),
            Column("quantity", "quantity"),
            Column("exponent", "exponent", 3, Form.FIXED),
            Column("constant", "constant"),
        ),
    }
)


@final
@dataclass(frozen=True)
class ReportSection:
    """A section of the report; its text is the template of the same name."""

    name: str
    title: str


# In the order of the page; the numbers of the headings follow from it.
SECTIONS: Final = (
    ReportSection("agreement", "Consensus, and two ways to fail"),
    ReportSection("two_agents", "Two agents: claimed and true covariances"),
    ReportSection("residuals", "A hundred agents: residuals of the regression"),
    ReportSection("sweep", "Graph size and noise"),
    ReportSection("noise", "Does larger noise slow convergence?"),
    ReportSection("beyond", "Beyond the paper: better observers, and privacy"),
    ReportSection("timescales", "Two time-scales"),
    ReportSection("temporal", "Temporal networks"),
    ReportSection("continuous", "Continuous time: the SDE and its Fokker–Planck equation"),
    ReportSection("audit", "The audit"),
    ReportSection("made", "How this was made"),
)


@final
@dataclass(frozen=True)
class Badge:
    """The mark of a verdict: a sign and a CSS class, so that colour is not the only cue."""

    css: str
    sign: str


# In the order in which the summary counts them.
VERDICTS: Final[Mapping[str, Badge]] = {
    "confirmed": Badge("good", "✓"),
    "corrected": Badge("warn", "△"),
    "refuted": Badge("bad", "✗"),
    "cannot be tested": Badge("note", "?"),
}


@final
@dataclass(frozen=True)
class Provenance:
    """How a report was made: version, seed, command line and further facts."""

    version: str
    seed: int
    command: str
    facts: Sequence[tuple[str, str]]


def page(
    tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, Image], moving: Mapping[str, Image], made: Provenance
) -> str:
    """Return the report as HTML; a missing table or picture is an error. ``moving`` has the animated pictures."""
    # An empty cell reads back from CSV as None, which a template would print as a word.
    audit = tables["audit"].fillna("").to_dict(orient="records")
    return (
        templates()
        .get_template("report.html")
        .render(
            **_reading(tables),
            **_placing(pictures, moving),
            sections=SECTIONS,
            audit=audit,
            counts=_counts(audit),
            refuted=[row for row in audit if row["verdict"] == "refuted"],
            corrected=[row for row in audit if row["verdict"] == "corrected"],
            made=made,
            observed_steps=printed.STEPS,
            drawn_from=[(name, needed) for name, (_, needed) in FIGURES.items()],
        )
    )


def _reading(tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the functions with which templates read tables."""
    return {
        "table_of": partial(_table_of, tables),
        "value": lambda name, column, **where: pick(tables[name], column, where),
        "rows": lambda name: len(tables[name]),
        "smallest": lambda name, column: tables[name][column].min(),
        # The absolute value, because z-scores have signs; times and sizes are positive anyway.
        "largest": lambda name, column, **where: matching(tables[name], where)[column].abs().max(),
    }


def _placing(pictures: Mapping[str, Image], moving: Mapping[str, Image]) -> dict[str, Any]:
    """Return the functions with which templates look up figures, sections and verdicts."""
    # Numbered over all figures of the report, so that captions can refer forward and backward.
    numbers = {name: place for place, name in enumerate(FIGURES, start=1)}
    places = {section.name: place for place, section in enumerate(SECTIONS, start=1)}
    return {
        "picture_of": pictures.__getitem__,
        "moving_of": moving.__getitem__,
        "number_of": numbers.__getitem__,
        "place_of": places.__getitem__,
        "alt_of": _alternative,
        "badge_of": VERDICTS.__getitem__,
    }


def _table_of(tables: Mapping[str, pd.DataFrame], name: str, **where: Any) -> HtmlTable:
    return table(matching(tables[name], where), SHOWN[name])


def _alternative(name: str) -> str:
    """Return the alternative text of a figure: the summary line of its function."""
    function = FIGURES[name][0]
    # Figures of one graph family are partial functions, whose own docstring is that of ``functools.partial``.
    text = inspect.getdoc(getattr(function, "func", function)) or ""
    return text.partition("\n\n")[0].replace("\n", " ")


def _counts(audit: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    found = [row["verdict"] for row in audit]
    # Verdicts that do not occur are left out of the summary.
    return [(verdict, found.count(verdict)) for verdict in VERDICTS if verdict in found]
