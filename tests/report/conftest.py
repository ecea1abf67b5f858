"""A report built once from small fixed tables."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from peerpressure.plotting import ANIMATIONS, FIGURES, draw
from peerpressure.report.html import Image
from peerpressure.report.pictures import image, moving_image
from peerpressure.report.store import from_csv, to_csv
from peerpressure.reproduction._page import Provenance, page
from tests.plotting.samples import sample_tables


@pytest.fixture(scope="session")
def tables() -> dict[str, pd.DataFrame]:
    """As the report reads them: from CSV."""
    return {name: from_csv(to_csv(table)) for name, table in sample_tables().items()}


def picture(name: str, tables: dict[str, pd.DataFrame]) -> Image:
    """A figure without its layout, which takes most of the time and is tested with the figures."""
    figure = draw(name, tables)
    figure.set_layout_engine("none")
    return image(figure)


@pytest.fixture(scope="session")
def report(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with all its figures."""
    pictures = {name: picture(name, tables) for name in FIGURES}
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
