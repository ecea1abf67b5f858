"""What the report shows of each table: which columns, under which headings, to how many digits."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from peerpressure.plotting import FIGURES
from peerpressure.report.html import formula, typeset, with_formulas
from peerpressure.report.tables import Column, Form, Table, matching, number, pick, table
from peerpressure.reproduction import printed

if TYPE_CHECKING:
    import pandas as pd

    from peerpressure.report.html import Image


def _math(latex: str) -> Markup:
    return Markup(formula(latex))


_NOISE: Final = {"noise": _math(r"\sigma_0"), "noise_variance": _math(r"\sigma_0^2")}
_TERMS: Final = {"agents": _math("|V|"), "noise": "noise"}
_METHODS: Final = {"ols": "regression"}
_KINDS: Final = {
    "printed_limit": "printed limit",
    "homoskedastic": "claimed, all errors alike",
    "textbook": "printed by software",
    "exact": "true",
    "empirical": "sampled",
}

_TIES: Final = {
    "slow": "slow turnover",
    "fast": "drawn anew",
    "isolated": "drawn anew, ring included",
}

SHOWN: Final[Mapping[str, Sequence[Column]]] = MappingProxyType(
    {
        "summary": (
            Column("run", "run"),
            Column("pressure", _math(r"\rho_t")),
            Column("consensus_value", _math("v"), 4, Form.FIXED),
            Column("mean", "mean", 4, Form.FIXED),
            Column("spread", "spread", 2),
            Column("distance", "distance", 2),
            Column("swing", "swing", 2),
            Column("predicted", "predicted"),
        ),
        "two_agents_covariances": (
            Column("method", "method", names=_METHODS),
            Column("kind", "covariance", names=_KINDS),
            Column("variance_1", "variance", 4, Form.FIXED),
            Column("covariance", "with the other", 4, Form.FIXED),
            Column("smallest_eigenvalue", "smallest eigenvalue", 4, Form.FIXED),
            Column("uncertainty", "uncertainty", 4, Form.FIXED, zero_is_none=True),
        ),
        "residual_normality": (
            Column("sample", "sample"),
            Column("size", "size"),
            Column("mean", "mean", 4, Form.FIXED),
            Column("std", "deviation", 4, Form.FIXED),
            Column("exact_std", "exact", 4, Form.FIXED),
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
        "turnover_networks": (
            Column("network", "ties", names=_TIES),
            Column("pairs", "pairs"),
            Column("edges", "edges", 1, Form.FIXED),
            Column("changes", "changes", 1, Form.FIXED),
            Column("alone", "alone", 3, Form.FIXED, zero_is_none=True),
            Column("outcome", "predicted"),
        ),
        "noise_exponents": (
            Column("noise", _math(r"\sigma_0"), form=Form.PLAIN),
            Column("quantity", "quantity"),
            Column("exponent", "power", 3, Form.FIXED),
            Column("constant", "constant"),
        ),
    }
)


# The report as one HTML page, from tables and pictures that are there already.


@final
@dataclass(frozen=True)
class Section:
    """A section of the page; its text is the template of the same name."""

    name: str
    title: str


SECTIONS: Final = (
    Section("agreement", "Agreement, and two ways to miss it"),
    Section("two_agents", "Two agents: what is claimed and what is true"),
    Section("residuals", "A hundred agents: residuals of the regression"),
    Section("sweep", "Graph size and noise"),
    Section("noise", "Does louder noise slow convergence?"),
    Section("beyond", "Beyond the paper: a better observer, and what protects"),
    Section("timescales", "Two time-scales"),
    Section("temporal", "Temporal networks"),
    Section("continuous", "Continuous time: the SDE and its Fokker–Planck equation"),
    Section("audit", "The audit"),
    Section("made", "How this was made"),
)


@final
@dataclass(frozen=True)
class Look:
    """How a verdict is marked: a sign and a frame, so that colour is never all that tells."""

    css: str
    sign: str


# In the order in which the summary counts them.
VERDICTS: Final[Mapping[str, Look]] = {
    "confirmed": Look("good", "✓"),
    "corrected": Look("warn", "△"),
    "refuted": Look("bad", "✗"),
    "cannot be tested": Look("note", "?"),
}


@final
@dataclass(frozen=True)
class Making:
    """How a report came about, as its last section tells."""

    version: str
    seed: int
    command: str
    facts: Sequence[tuple[str, str]]


class Mathematics(Extension):
    r"""Lets templates hold mathematics as \\(…\\) in a line and \\[…\\] on a line of its own."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the template with its mathematics drawn."""
        return with_formulas(source)


def page(
    tables: Mapping[str, pd.DataFrame], pictures: Mapping[str, Image], moving: Mapping[str, Image], made: Making
) -> str:
    """Return the whole page; a table or picture that a section needs and does not find is an error.

    ``moving`` holds those of the pictures that also move.
    """
    environment = Environment(
        loader=PackageLoader("peerpressure.report"),
        extensions=[Mathematics],
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"n": _number, "set": typeset}
    environment.globals.update(_reading(tables) | _placing(pictures, moving))
    audit = tables["audit"].fillna("").to_dict(orient="records")
    return environment.get_template("report.html").render(
        sections=SECTIONS,
        audit=audit,
        counts=_counts(audit),
        refuted=[row for row in audit if row["verdict"] == "refuted"],
        corrected=[row for row in audit if row["verdict"] == "corrected"],
        made=made,
        observed_steps=printed.STEPS,
        drawn_from=[(name, needed) for name, (_, needed) in FIGURES.items()],
    )


def _reading(tables: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    """Return what templates may ask of the tables."""
    return {
        "table_of": partial(_table_of, tables),
        "value": lambda name, column, **where: pick(tables[name], column, where),
        "rows": lambda name: len(tables[name]),
        "smallest": lambda name, column: tables[name][column].min(),
        "largest": lambda name, column, **where: matching(tables[name], where)[column].abs().max(),
    }


def _placing(pictures: Mapping[str, Image], moving: Mapping[str, Image]) -> dict[str, Any]:
    """Return what templates may ask about figures, sections and verdicts."""
    numbers = {name: place for place, name in enumerate(FIGURES, start=1)}
    places = {section.name: place for place, section in enumerate(SECTIONS, start=1)}
    return {
        "picture_of": pictures.__getitem__,
        "moving_of": moving.__getitem__,
        "number_of": numbers.__getitem__,
        "place_of": places.__getitem__,
        "alt_of": _alternative,
        "look_of": VERDICTS.__getitem__,
    }


def _table_of(tables: Mapping[str, pd.DataFrame], name: str, **where: Any) -> Table:
    return table(matching(tables[name], where), SHOWN[name])


def _alternative(name: str) -> str:
    """Return in words what a figure shows, for those who cannot see it: its function's own sentence."""
    function = FIGURES[name][0]
    text = inspect.getdoc(getattr(function, "func", function)) or ""
    return text.partition("\n\n")[0].replace("\n", " ")


def _counts(audit: Sequence[Mapping[str, Any]]) -> list[tuple[str, int]]:
    found = [row["verdict"] for row in audit]
    return [(verdict, found.count(verdict)) for verdict in VERDICTS if verdict in found]


def _number(value: Any, digits: int = 3) -> Markup:
    return typeset(number(value, digits))
