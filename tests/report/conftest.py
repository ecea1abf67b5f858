"""A report built once from small fixed tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from peerpressure.plotting import ANIMATIONS, FIGURES
from peerpressure.report.pictures import image, moving_image
from peerpressure.reproduction._page import Provenance, page
from tests.plotting.samples import sample_figure, tables_read


@pytest.fixture(scope="session")
def tables() -> dict[str, pd.DataFrame]:
    """As the report reads them: from CSV."""
    return tables_read()


@pytest.fixture(scope="session")
def report(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with all its figures."""
    pictures = {name: image(sample_figure(name)) for name in FIGURES}
    moving = {
        name: moving_image(animate(*(tables[table] for table in FIGURES[name][1])))
        for name, animate in ANIMATIONS.items()
    }
    place = tmp_path_factory.mktemp("report") / "report.html"
    place.write_text(
        page(tables, pictures, moving, Provenance("1.2.3", 7, "peerpressure paper", [("seed", "7")])), "utf-8"
    )
    return place


@pytest.fixture(scope="session")
def address(report: Path) -> str:
    """Where a browser finds the report."""
    return report.as_uri()
