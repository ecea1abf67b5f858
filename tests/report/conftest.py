"""A report built once from the small reproduction, with claims whose words would break a careless page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from peerpressure.plotting import FIGURES
from peerpressure.report.pictures import image
from peerpressure.reproduction._page import Provenance, page
from tests.reproduction.small_paper import paper_figure, tables_read

CLAIMS = {
    "confirmed": "A < B & C",
    "corrected": "x_t^2 is 1e-07",
    "refuted": "<script>alert(1)</script>",
    "ambiguous": "Two readings.",
    "cannot be tested": "Too few runs.",
}


def _audit() -> pd.DataFrame:
    """Return one claim of each verdict."""
    rows = [
        {"id": f"claim-{verdict}", "claim": claim, "where": "Model", "printed": "about 1", "rule": "Confirmed if < 3."}
        | {"found": "1.00 ± 0.01", "verdict": verdict, "why": f"Because of {claim}."}
        | {"correction": "It is 2." if verdict == "corrected" else "–"}
        for verdict, claim in CLAIMS.items()
    ]
    return pd.DataFrame(rows)


@pytest.fixture(scope="session")
def tables() -> dict[str, pd.DataFrame]:
    """As the report reads them: from CSV."""
    # The verdicts of three seeds on one claim, one of them another.
    seeds = {"seed": [7, 8, 9], "id": "claim-refuted", "verdict": ["refuted", "refuted", "confirmed"]}
    return tables_read() | {"audit": _audit(), "audit_seeds": pd.DataFrame(seeds)}


@pytest.fixture(scope="session")
def report(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with all its figures."""
    pictures = {name: image(paper_figure(name)) for name in FIGURES}
    place = tmp_path_factory.mktemp("report") / "report.html"
    made = Provenance("1.2.3", 7, "peerpressure paper", [("seed", "7")])
    place.write_text(page(tables, pictures, made), "utf-8")
    return place


@pytest.fixture(scope="session")
def address(report: Path) -> str:
    """Where a browser finds the report."""
    return report.as_uri()
