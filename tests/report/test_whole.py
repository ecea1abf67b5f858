"""The real experiments, made small, all the way to the page."""

from __future__ import annotations

from peerpressure.plotting import ANIMATIONS, FIGURES, draw
from peerpressure.report.html import Image
from peerpressure.report.store import from_csv, to_csv
from peerpressure.reproduction import paper_tables
from peerpressure.reproduction.paper import Provenance, page


def test_real_tables_make_every_figure_and_the_page() -> None:
    made = paper_tables(seed=5, steps=200, replications=2, sizes=[20, 30])
    tables = {name: from_csv(to_csv(table)) for name, table in made.items()}
    for name in FIGURES:
        assert draw(name, tables).axes
    dot = Image("data:,", 10, 10)
    text = page(tables, dict.fromkeys(FIGURES, dot), dict.fromkeys(ANIMATIONS, dot), Provenance("1", 5, "", []))
    assert len(tables["audit"]) > 20
    for claim in tables["audit"]["id"]:
        assert f'id="claim-{claim}"' in text
