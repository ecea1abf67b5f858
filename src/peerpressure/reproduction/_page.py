"""The page of the report: its sections, tables and references, what its templates may read, and the data dictionary."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.resources import files
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from markupsafe import Markup

from peerpressure.errors import InvalidInputError, message
from peerpressure.plotting import FIGURES
from peerpressure.plotting.sweep import outliers
from peerpressure.report.formulas import formula
from peerpressure.report.html import (
    Column,
    Form,
    HtmlTable,
    Image,
    matching,
    number,
    pick,
    table,
    templates,
    typeset,
)
from peerpressure.reproduction import (
    _beyond,
    _convergence,
    _experiments,
    design,
    printed,
)
from peerpressure.reproduction.claims import CUTOFF

if TYPE_CHECKING:
    import pandas as pd


# The data dictionary: meaning and unit of every column of every table, kept as a CSV file beside this module.

SHARED = "*"  # stands for every table that does not define the column itself


class ColumnEntry(NamedTuple):
    """A column with its meaning and unit."""

    name: str
    meaning: str
    unit: str


@lru_cache(maxsize=1)
def _entries() -> Mapping[tuple[str, str], ColumnEntry]:
    text = files("peerpressure.reproduction").joinpath("dictionary.csv").read_text("utf-8")
    rows = csv.DictReader(text.splitlines())
    return {(row["table"], row["column"]): ColumnEntry(row["column"], row["meaning"], row["unit"]) for row in rows}


def about(table: str) -> str:
    """Return the subject of a table.

    >>> about("size_effect")
    'Exact residual variance over random graphs by size'
    """
    return _entry(table, "").meaning


def columns_of(table: str, names: Iterable[str]) -> list[ColumnEntry]:
    """Return the entries of a table's columns.

    >>> columns_of("summary", ["spread"])[0].meaning
    'max − min over agents'
    """
    return [_entry(table, name) for name in names]


def _entry(table: str, column: str) -> ColumnEntry:
    entry = _entries().get((table, column)) or _entries().get((SHARED, column))
    if entry is None:
        rule, got = "every table and column must be in the data dictionary", f"{table}.{column}"
        raise InvalidInputError(message(rule, got=got, remedy="add a row to reproduction/dictionary.csv"))
    return entry


# The works that the report refers to, in a CSV file beside this module.


class Publication(NamedTuple):
    """A published work; ``doi`` is empty if there is none."""

    name: str
    authors: str
    year: int
    title: str
    source: str
    doi: str


def _references() -> tuple[Publication, ...]:
    text = files("peerpressure.reproduction").joinpath("references.csv").read_text("utf-8")
    _, *rows = csv.reader(text.splitlines())
    return tuple(Publication(name, people, int(year), *rest) for name, people, year, *rest in rows)


# By the first author's name, as the list on the page.
REFERENCES: Final = _references()


# The page.


def _math(latex: str) -> Markup:
    return Markup(formula(latex))


_NOISE: Final = {"noise": _math(r"\sigma_0"), "noise_variance": _math(r"\sigma_0^2")}
_TERMS: Final = {"intercept": "1", "agents": _math("|V|"), "noise": "noise"}
_METHODS: Final = {"ols": "regression"}
_FAMILIES: Final = {2: "BA2", 1: "BA1"}
_KINDS: Final = {
    "printed_limit": "printed limit",
    "homoskedastic": "claimed, homoskedastic",
    "textbook": "regression software",
    "exact": "true",
    "empirical": "sampled",
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
            Column("family", "graphs"),
            Column("regressor", "regressor", names=_NOISE),
            Column("term", "term", names=_TERMS),
            Column("printed", "derived from print", 4, Form.FIXED),
            Column("printed_error", "error", 4, Form.FIXED),
            Column("measured", "measured", 4, Form.FIXED),
            Column("z", _math("z"), 2, Form.FIXED),
            Column("p", _math("p"), 2),
        ),
        "choices": (
            Column("question", "not stated"),
            Column("where", "where"),
            Column("choice", "chosen here, and why"),
            Column("alternative", "otherwise"),
            Column("measure", "measure"),
            Column("value", "as chosen", 3),
            Column("alternative_value", "otherwise", 3),
        ),
        "regression_tests": (
            Column("family", "graphs"),
            Column("r_squared", _math("R^2"), 2, Form.FIXED),
            Column("breusch_pagan_p", Markup("equal variances {}").format(_math("p")), 2),
            Column("noise_error", "error of slope", 4, Form.FIXED),
            Column("noise_robust_error", "robust", 4, Form.FIXED),
            Column("joint", Markup("print, {}").format(_math(r"\chi^2(3)")), 1, Form.FIXED),
            Column("joint_p", _math("p"), 2, Form.FIXED),
            Column("rival_z", "rival reading", 1, Form.FIXED),
        ),
        "noise_hitting_times": (
            Column("noise", _math(r"\sigma_0"), form=Form.PLAIN),
            Column("exponent", Markup("exponent {}").format(_math("a")), 3, Form.FIXED),
            Column("constant", "constant", 3),
            Column("time", "time to distance 0.01", 2),
        ),
    }
)
# Every table of the page in its order, which numbers them.
TABLES: Final = (
    "choices",
    "summary",
    "two_agents_covariances",
    "residual_normality",
    "parameters_two",
    "parameters_one",
    "intervals",
    "regression_comparison",
    "regression_tests",
    "noise_hitting_times",
    "audit",
    "files",
)


@final
@dataclass(frozen=True)
class ReportSection:
    """A section of the report; its text is the template of the same name."""

    name: str
    title: str


# In the order of the page; the numbers of the headings follow from it.
SECTIONS: Final = (
    ReportSection("recovery", "Main finding: hidden opinions can be recovered"),
    ReportSection("summary", "The paper's claims at a glance"),
    ReportSection("choices", "What the paper does not state"),
    ReportSection("agreement", "Consensus, and two ways to fail"),
    ReportSection("two_agents", "Two agents: claimed and true covariances"),
    ReportSection("residuals", "A hundred agents: residuals of the regression"),
    ReportSection("sweep", "Graph size and noise"),
    ReportSection("noise", "Does larger noise slow convergence?"),
    ReportSection("audit", "The audit"),
    ReportSection("beyond", "Beyond the paper: partial observation and privacy"),
    ReportSection("tables", "Tables and data dictionary"),
    ReportSection("made", "How this was made"),
    ReportSection("references", "References"),
)

# The parameters of the experiments that captions state.
SETUP: Final[Mapping[str, Any]] = {
    "agents": design.AGENTS,
    "noise": design.NOISE,
    "paths": _convergence.PATHS,
    "replications": printed.REPLICATIONS,
    "observed_agents": _beyond.OBSERVED_AGENTS,
    "observer_replications": _beyond.REPLICATIONS,
    "partial_steps": _beyond.PARTIAL_STEPS,
    "privacy_noise": f"{_beyond.PRIVACY_NOISE:g}",
    "seed_steps": _experiments.SEED_STEPS,
    "seed_sizes": _experiments.SEED_SIZES,
}


@final
@dataclass(frozen=True)
class Badge:
    """The mark of a verdict: a sign besides a CSS class, because colour must not be the only cue."""

    css: str
    sign: str


# In the order in which the summary counts them.
VERDICTS: Final[Mapping[str, Badge]] = {
    "confirmed": Badge("good", "✓"),
    "corrected": Badge("warn", "△"),
    "ambiguous": Badge("note", "≈"),
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
    settings: Mapping[str, str] = field(default_factory=dict)  # of figures, by their names


class TableEntry(NamedTuple):
    """A table in the list of all tables."""

    name: str
    about: str
    rows: int
    figures: Sequence[str]
    columns: Sequence[ColumnEntry]


def page(tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, Image], made: Provenance) -> str:
    """Return the report as HTML; a missing table or picture is an error."""
    audit = _audit(tables)
    return (
        templates()
        .get_template("report.html")
        .render(
            **_reading(tables),
            **_placing(pictures),
            title="Consensus under noise and peer pressure: a reproduction",
            sections=SECTIONS,
            audit=audit,
            counts=_counts(audit),
            seed_count=tables["audit_seeds"]["seed"].nunique(),
            refuted=[row for row in audit if row["verdict"] == "refuted"],
            ambiguous=[row for row in audit if row["verdict"] == "ambiguous"],
            corrected=[row for row in audit if row["verdict"] == "corrected"],
            made=made,
            settings_of=lambda name: made.settings.get(name, ""),
            setup={**SETUP, "sweep_replications": int(tables["sweep_cells"]["replications"].iloc[0])},
            apart=CUTOFF,
            printed_replications=printed.SWEEP_REPLICATIONS,
            observed_steps=printed.STEPS,
            dictionary=_dictionary(tables),
            references=REFERENCES,
        )
    )


def _reading(tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return the functions with which templates read tables."""
    return {
        "table_of": partial(_table_of, tables),
        "parameter_table": partial(parameter_table, tables["regression"]),
        "interval_table": partial(interval_table, tables["regression"]),
        "outlier_count": partial(_outlier_count, tables),
        "value": lambda name, column, **where: pick(tables[name], column, where),
        "rows": lambda name: len(tables[name]),
        "smallest": lambda name, column: tables[name][column].min(),
        "least": lambda name, column, **where: matching(tables[name], where)[column].min(),
        "most": lambda name, column, **where: matching(tables[name], where)[column].max(),
        "middle": lambda name, column: tables[name][column].median(),
        "changed": partial(_changed, tables["choices"]),
        "share_above": partial(_share_above, tables),
        "agent_share": partial(_agent_share, tables["transients"]),
        # The absolute value, because z-scores have signs; times and sizes are positive anyway.
        "largest": lambda name, column, **where: matching(tables[name], where)[column].abs().max(),
    }


def _placing(pictures: Mapping[str, Image]) -> dict[str, Any]:
    """Return the functions with which templates look up figures, tables, sections, references and verdicts."""
    numbered = {
        # Numbered over the whole report: captions can refer forward and backward.
        "number_of": list(FIGURES),
        "table_number_of": TABLES,
        "place_of": [section.name for section in SECTIONS],
        "reference_number_of": [reference.name for reference in REFERENCES],
    }
    places = {key: {name: place for place, name in enumerate(names, start=1)} for key, names in numbered.items()}
    return {key: numbers.__getitem__ for key, numbers in places.items()} | {
        "picture_of": pictures.__getitem__,
        "badge_of": VERDICTS.__getitem__,
    }


def _table_of(tables: Mapping[str, pd.DataFrame], name: str, **where: Any) -> HtmlTable:
    data = matching(tables[name], where)
    if name == "choices":
        data = data.assign(choice=data["chosen"] + ": " + data["why"])
    if name in ("regression_comparison", "regression_tests"):
        data = data.assign(family=data["edges"].map(_FAMILIES))
    if name == "noise_hitting_times":
        # Extrapolated by orders of magnitude: two digits are all that the fit supports.
        data = data.assign(time=[float(f"{time:.1e}") for time in data["time"]])
    return table(data, SHOWN[name])


# The blocks of the paper's tables below the printed one: title, source and regressor.
_BLOCKS: Final = (
    (Markup("This run, regressor {}").format(_NOISE["noise"]), "measured", "noise"),
    (Markup("This run, regressor {}").format(_NOISE["noise_variance"]), "measured", "noise_variance"),
    (Markup("Exact expectation, regressor {}").format(_NOISE["noise"]), "exact", "noise"),
)
_LABELS: Final = {"intercept": "1", "agents": _math("|V|")}


def parameter_table(fits: pd.DataFrame, edges: int) -> HtmlTable:
    """Return a parameter table in the paper's format: the printed digits, and the fits of this run."""
    headings = [
        "",
        "Estimate",
        "Standard Error",
        Markup("{}-Statistic").format(_math("t")),
        Markup("{}-Value").format(_math("p")),
    ]
    rows: list[list[str | Markup]] = [["As printed"]]
    for term, digits in printed.PARAMETER_TABLES[edges].items():
        rows.append([_LABELS.get(term, _NOISE["noise_variance"]), *map(typeset, digits)])
    for title, source, regressor in _BLOCKS:
        rows.append([title])
        for term in printed.TERMS:
            row = _fit(fits, edges, source, regressor, term)
            numbers = [number(row[name], 3) for name in ("estimate", "standard_error", "t", "p")]
            rows.append([_LABELS.get(term, _NOISE[regressor]), *map(typeset, numbers)])
    return HtmlTable(headings, rows, [False, True, True, True, True])


def interval_table(fits: pd.DataFrame) -> HtmlTable:
    """Return Table I in the paper's format: estimates and confidence intervals of both graph families."""
    headings = ["", *(f"{family}, {name}" for family in _FAMILIES.values() for name in ("Est.", "CI"))]
    rows: list[list[str | Markup]] = [["As printed"]]
    for term in printed.TERMS:
        cells = [printed.INTERVAL_TABLE[edges][term] for edges in _FAMILIES]
        texts = [part for value, low, high in cells for part in (value, f"({low}, {high})")]
        rows.append([_LABELS.get(term, _NOISE["noise_variance"]), *map(typeset, texts)])
    for title, source, regressor in _BLOCKS:
        rows.append([title])
        for term in printed.TERMS:
            both = [_fit(fits, edges, source, regressor, term) for edges in _FAMILIES]
            texts = [
                part
                for row in both
                for part in (number(row["estimate"], 2), f"({number(row['low'], 2)}, {number(row['high'], 2)})")
            ]
            rows.append([_LABELS.get(term, _NOISE[regressor]), *map(typeset, texts)])
    return HtmlTable(headings, rows, [False, True, True, True, True])


def _fit(fits: pd.DataFrame, edges: int, source: str, regressor: str, term: str) -> Any:
    return matching(fits, {"edges": edges, "source": source, "regressor": regressor, "term": term}).iloc[0]


def _changed(choices: pd.DataFrame, question: str) -> list[float]:
    """Return the relative changes of the measures of a question that the alternative makes."""
    own = matching(choices, {"question": question})
    return list(own["alternative_value"] / own["value"] - 1)


def _share_above(tables: Mapping[str, pd.DataFrame], column: str) -> float:
    """Return the share of seeds whose failure exceeds that of the chosen one."""
    table = tables["typical_failures"]
    return float((table[column] > pick(table, column, {"chosen": True})).mean())


def _agent_share(transients: pd.DataFrame, network: str, time: int) -> float:
    """Return the share of the spread that agent 1 crosses in a step: the least on trees, else the largest."""
    own = matching(transients, {"network": network, "time": time})
    shares = own["agent_1"] / own["spread"]
    return float(shares.min() if network == "tree" else shares.max())


def _outlier_count(tables: Mapping[str, pd.DataFrame], edges: int) -> int:
    """Return the number of circles in the box plots of one graph family."""
    boxes, cells = matching(tables["sweep_boxes"], {"edges": edges}), matching(tables["sweep_cells"], {"edges": edges})
    return sum(len(outliers(own, cells)) for _, own in boxes.groupby("by"))


def _audit(tables: Mapping[str, pd.DataFrame]) -> list[dict[str, Any]]:
    """Return the rows of the audit, with the number of seeds that have the same verdict."""
    by_seed = tables["audit_seeds"]
    # An empty cell reads back from CSV as None, which a template would print as a word.
    rows: list[dict[str, Any]] = tables["audit"].fillna("").to_dict(orient="records")
    for row in rows:
        own = by_seed.loc[by_seed["id"] == row["id"], "verdict"]
        same = int((own == row["verdict"]).sum())
        row["seeds"] = f"{same} of {len(own)} seeds" if len(own) else "exact"
    return rows


def _dictionary(tables: Mapping[str, pd.DataFrame]) -> list[TableEntry]:
    used = {name: [figure for figure, (_, needed) in FIGURES.items() if name in needed] for name in tables}
    return [
        TableEntry(name, about(name), len(data), used[name], columns_of(name, data.columns))
        # By name, because tables read back from a folder come in another order than those just computed.
        for name, data in sorted(tables.items())
    ]


def _counts(audit: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    verdicts = [row["verdict"] for row in audit]
    # Verdicts that do not occur are left out of the summary.
    return [(verdict, verdicts.count(verdict)) for verdict in VERDICTS if verdict in verdicts]
