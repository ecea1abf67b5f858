"""The page as text: what it says of the tables, and what it does with hostile ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError

import peerpressure.report
from peerpressure.plotting import ANIMATIONS, FIGURES
from peerpressure.report.html import MOST_VECTOR_BYTES, Image, image, moving_image
from peerpressure.reproduction.paper import SECTIONS, VERDICTS, Provenance, page

MADE = Provenance("1.2.3", 7, "peerpressure paper --seed 7", [("seed", "7")])
DOT = Image("data:image/png;base64,AAAA", 10, 10)
MOVING = dict.fromkeys(ANIMATIONS, Image("data:image/gif;base64,BBBB", 20, 10))
SOURCES = Path(peerpressure.report.__file__).parent / "templates"


@pytest.fixture(scope="module")
def text(tables: dict[str, pd.DataFrame]) -> str:
    return page(tables, dict.fromkeys(FIGURES, DOT), MOVING, MADE)


def test_the_summary_counts_the_verdicts_and_tells_what_is_wrong(text: str) -> None:
    summary = text[: text.index("<nav")]
    for verdict, look in VERDICTS.items():
        assert (
            f'<b>1</b> <span class="badge {look.css}"><span aria-hidden="true">{look.sign}</span> {verdict}' in summary
        )
    assert "4 claims" in summary
    assert 'href="#claim-claim-refuted"' in summary


def test_every_section_stands_in_the_contents_and_every_figure_has_its_number(text: str) -> None:
    for place, section in enumerate(SECTIONS, start=1):
        assert f'<a href="#{section.name}">{section.title}</a>' in text
        assert f"{place}. {section.title}</h2>" in text
    numbers = [int(number) for number in re.findall(r"<figcaption><b>Figure (\d+)\.", text)]
    assert numbers == list(range(1, len(FIGURES) + 1))


def test_text_from_tables_is_escaped_and_set(text: str) -> None:
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "A &lt; B &amp; C" in text
    assert "x<sub>t</sub><sup>2</sup> is 1×10<sup>−7</sup>" in text


def test_the_policy_forbids_everything_but_what_the_page_holds(text: str) -> None:
    assert "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\"" in text
    assert not re.search(r"(?:src|href)=\"(?!data:|#)", text)
    assert "url(" not in text
    assert "@import" not in text


def test_how_it_was_made_is_told(text: str) -> None:
    for fact in ("1.2.3", "peerpressure paper --seed 7", "<dt>seed</dt><dd>7</dd>", "two_agents_covariances"):
        assert fact in text


def test_a_missing_table_or_picture_is_an_error_and_not_a_gap(tables: dict[str, pd.DataFrame]) -> None:
    some = {name: table for name, table in tables.items() if name != "summary"}
    with pytest.raises(KeyError):
        page(some, dict.fromkeys(FIGURES, DOT), MOVING, MADE)
    for pictures, moving in (({}, MOVING), (dict.fromkeys(FIGURES, DOT), {})):
        with pytest.raises((KeyError, UndefinedError)):
            page(tables, pictures, moving, MADE)


def test_what_moves_waits_for_the_reader(text: str) -> None:
    for name in ANIMATIONS:
        start = text.index(f'<details class="moving" id="animation-{name}">')
        assert "BBBB" in text[start : text.index("</details>", start)]
    assert text.count("BBBB") == len(ANIMATIONS)


def test_an_animation_is_as_wide_as_a_column_and_keeps_its_shape() -> None:
    header = b"GIF89a" + (200).to_bytes(2, "little") + (100).to_bytes(2, "little")
    moving = moving_image(header + b"...")
    assert (moving.width, moving.height) == (392, 196)
    assert moving.address.startswith("data:image/gif;base64,")


def test_the_whole_page_is_small_enough_to_send(report: Path) -> None:
    assert report.stat().st_size < 6_000_000


def test_templates_hold_no_mathematics_that_was_forgotten(text: str) -> None:
    assert "\\(" not in text
    assert "\\[" not in text
    assert all(path.suffix in (".html", ".css") for path in SOURCES.rglob("*") if path.is_file())


def test_small_figures_become_vectors_and_large_ones_dots() -> None:
    from matplotlib.figure import Figure

    small, large = Figure((2, 1)), Figure((2, 1))
    small.add_subplot().plot([0, 1])
    axes = large.add_subplot()
    x = np.linspace(0, 1, MOST_VECTOR_BYTES // 10)
    axes.scatter(x, np.sin(9 * x), s=1)
    assert image(small).address.startswith("data:image/svg+xml;base64,")
    assert image(large).address.startswith("data:image/png;base64,")
    assert (image(small).width, image(small).height) == (230, 115)
