"""The page as text: what it says of the tables, and what it does with hostile ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import peerpressure.report
from peerpressure.plotting import FIGURES
from peerpressure.report.html import Image, typeset
from peerpressure.report.pictures import MOST_VECTOR_BYTES, image
from peerpressure.reproduction import printed
from peerpressure.reproduction._page import REFERENCES, SECTIONS, TABLES, VERDICTS, Provenance, page

SETTINGS = {"failure": "agents = 100, steps = 1,000"}
MADE = Provenance("1.2.3", 7, "peerpressure paper --seed 7", [("seed", "7")], SETTINGS)
DOT = Image("data:image/png;base64,AAAA", 10, 10)
SOURCES = Path(peerpressure.report.__file__).parent / "templates"


@pytest.fixture(scope="module")
def text(tables: dict[str, pd.DataFrame]) -> str:
    return page(tables, dict.fromkeys(FIGURES, DOT), MADE)


def test_the_page_opens_with_its_answer_and_the_counts_of_verdicts(text: str) -> None:
    opening = text[: text.index("<nav")]
    assert "hidden opinions are not protected" in opening
    for verdict, look in VERDICTS.items():
        assert (
            f'<b>1</b> <span class="badge {look.css}"><span aria-hidden="true">{look.sign}</span> {verdict}' in opening
        )
    assert "5 claims" in opening


def test_the_summary_tells_what_is_wrong(text: str) -> None:
    summary = text[text.index('<section id="summary"') : text.index('<section id="agreement"')]
    assert "It is 2." in summary
    assert 'href="#claim-claim-refuted"' in summary


def test_every_section_stands_in_the_contents_and_every_figure_has_its_number(text: str) -> None:
    for place, section in enumerate(SECTIONS, start=1):
        title = str(Markup.escape(section.title))
        assert f'<a href="#{section.name}">{title}</a>' in text
        assert f"{place}. {title}</h2>" in text
    numbers = [int(number) for number in re.findall(r"<figcaption><b>Figure (\d+)\.", text)]
    assert numbers == list(range(1, len(FIGURES) + 1))
    numbers = [int(number) for number in re.findall(r'class="caption" id="table-\w+"><b>Table (\d+)\.', text)]
    assert numbers == list(range(1, len(TABLES) + 1))


def test_the_main_finding_and_the_contents_come_first_and_the_audit_before_what_is_added(text: str) -> None:
    names = [section.name for section in SECTIONS]
    assert text.index("<nav") < text.index('<section id="recovery"')
    assert names[0] == "recovery"
    assert next(iter(FIGURES)) == "observers"
    assert names.index("audit") < names.index("beyond")


def test_every_figure_is_described_to_who_cannot_see_it(text: str) -> None:
    texts = re.findall(r'<figure .*?alt="([^"]*)"', text, re.DOTALL)
    assert len(texts) == len(set(texts)) == len(FIGURES)
    assert min(map(len, texts)) > 90
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", text, re.DOTALL)
    assert all(alt not in caption for alt, caption in zip(texts, captions, strict=True))


def test_captions_state_noise_and_start(text: str) -> None:
    captions = dict(re.findall(r'<figure id="figure-(\w+)">.*?<figcaption>(.*?)</figcaption>', text, re.DOTALL))
    # Figures that show no run of the model, or refer to one that does.
    others = {"graph", "contraction", "exact_vs_sampled"}
    others |= {"boxes_two", "boxes_one", "shapes_two", "shapes_one", "size_effect", "noise_levels"}
    others |= {"replication_boxes"}
    for name in set(captions) - others:
        assert 'aria-label="\\sigma_0' in captions[name], name
        assert "_0 = " in captions[name] or "start" in captions[name], name


def test_the_printed_tables_are_shown_digit_by_digit(text: str) -> None:
    for edges, name in ((2, "parameters_two"), (1, "parameters_one")):
        start = text.index(f'id="table-{name}"')
        block = text[start : text.index("This run", start)]
        for digits in printed.PARAMETER_TABLES[edges].values():
            cells = "".join(f'<td class="n">{typeset(part)}</td>' for part in digits)
            assert cells in block
    block = text[text.index('id="table-intervals"') :]
    assert '<td class="n">−0.91</td><td class="n">(−1.30, −0.53)</td>' in block


def test_the_two_copies_of_the_print_agree() -> None:
    for edges, terms in printed.REGRESSIONS.items():
        for name, term in terms.items():
            values = [float(part) for part in printed.PARAMETER_TABLES[edges][name]]
            assert values == [term.estimate, term.standard_error, term.t, term.p]
            estimate, *ends = map(float, printed.INTERVAL_TABLE[edges][name])
            assert ends == [term.low, term.high]
            # The tables disagree by one unit of the last digit in one place.
            assert (estimate == term.estimate) == ((edges, name) != (1, "intercept"))


def test_verdicts_tell_for_how_many_seeds_they_are_the_same(text: str) -> None:
    assert "2 of 3 seeds" in text
    assert "Rule: Confirmed if &lt; 3." in text


def test_every_table_is_listed_with_its_columns(text: str, tables: dict[str, pd.DataFrame]) -> None:
    for name, data in tables.items():
        start = text.index(f"<summary><code>{name}</code>")
        entry = text[start : text.index("</details>", start)]
        assert all(f"<td><code>{column}</code></td>" in entry for column in data.columns)


def test_every_reference_is_cited_and_has_a_doi(text: str) -> None:
    for reference in REFERENCES:
        assert f'href="#reference-{reference.name}"' in text
        # The manual of a program has none.
        assert (f'href="https://doi.org/{reference.doi}"' in text) == (reference.name != "wolfram")
    assert [r.authors for r in REFERENCES] == sorted(r.authors for r in REFERENCES)


def test_text_from_tables_is_escaped_and_set(text: str) -> None:
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "A &lt; B &amp; C" in text
    assert "x<sub>t</sub><sup>2</sup> is 1×10<sup>−7</sup>" in text


def test_the_policy_forbids_everything_but_what_the_page_holds(text: str) -> None:
    assert "content=\"default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'\"" in text
    assert not re.search(r"(?:src|href)=\"(?!data:|#|https://doi\.org/)", text)
    # Fonts are in the page itself.
    assert text.count("url(") == text.count('url("data:font/woff2;base64,') == 3
    assert "@import" not in text


def test_the_settings_of_a_figure_stand_below_it(text: str) -> None:
    figure = text[text.index('<figure id="figure-failure">') :]
    assert "Settings: agents = 100, steps = 1,000." in figure[: figure.index("</figure>")]


def test_how_it_was_made_is_told(text: str) -> None:
    for fact in ("1.2.3", "peerpressure paper --seed 7", "<dt>seed</dt><dd>7</dd>", "two_agents_covariances"):
        assert fact in text


def test_a_missing_table_or_picture_is_an_error_and_not_a_gap(tables: dict[str, pd.DataFrame]) -> None:
    some = {name: table for name, table in tables.items() if name != "summary"}
    with pytest.raises(KeyError):
        page(some, dict.fromkeys(FIGURES, DOT), MADE)
    with pytest.raises((KeyError, UndefinedError)):
        page(tables, {}, MADE)


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
