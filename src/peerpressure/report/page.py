"""The report as one HTML page, from tables and pictures that are there already."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, final

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from peerpressure.experiments import printed
from peerpressure.figures import FIGURES
from peerpressure.report.columns import SHOWN
from peerpressure.report.formula import with_formulas
from peerpressure.report.tables import Table, matching, number, pick, table
from peerpressure.report.typeset import typeset

if TYPE_CHECKING:
    import pandas as pd

    from peerpressure.report.images import Image


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
