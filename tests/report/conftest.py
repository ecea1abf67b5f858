"""A report built once from small fixed tables, and a browser to open it in."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest

from peerpressure.figures import FIGURES, draw
from peerpressure.report.images import image
from peerpressure.report.page import Making, page
from peerpressure.report.store import from_csv, to_csv
from tests.figures.samples import sample_tables

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def tables() -> dict[str, pd.DataFrame]:
    """As the report reads them: from CSV."""
    return {name: from_csv(to_csv(table)) for name, table in sample_tables().items()}


@pytest.fixture(scope="session")
def report(tables: dict[str, pd.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page with all its figures."""
    pictures = {name: image(draw(name, tables)) for name in FIGURES}
    place = tmp_path_factory.mktemp("report") / "report.html"
    place.write_text(page(tables, pictures, Making("1.2.3", 7, "peerpressure paper", [("seed", "7")])), "utf-8")
    return place


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium; elsewhere than in continuous integration one may do without."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("no chromium on the path: the report must be opened in a browser here")
        pytest.skip("no chromium on the path, so the report was not opened in a browser")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        # No sandbox, as root has none; no network is used either way.
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(report: Path) -> str:
    """Where a browser finds the report."""
    return report.as_uri()
