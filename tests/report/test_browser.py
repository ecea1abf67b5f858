"""The report in a real browser: nothing is fetched, all is seen, on a desk, on a phone, in the dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

from peerpressure.plotting import FIGURES
from tests.explorer.driving import CLICK
from tests.waiting import wait_until

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, ViewportSize

DESK: ViewportSize = {"width": 1300, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 800}


class Heard(NamedTuple):
    """What a page asked for, and what it complained about."""

    asked: list[str]
    said: list[str]


@pytest.fixture(scope="module")
def heard() -> Heard:
    return Heard([], [])


@pytest.fixture(scope="module")
def loaded(browser: Browser, address: str, heard: Heard) -> Iterator[Page]:
    """The page, loaded once for all tests."""
    page = browser.new_page()
    page.on("request", lambda request: heard.asked.append(request.url))
    page.on("console", lambda message: heard.said.append(message.text))
    page.on("pageerror", lambda error: heard.said.append(str(error)))
    page.set_default_timeout(CLICK)
    page.goto(address, wait_until="commit")
    wait_until(lambda: page.evaluate("document.readyState") == "complete", "the report to be loaded")
    yield page
    page.close()


@pytest.fixture
def page(loaded: Page) -> Page:
    """The page on a desk, on a screen and in light."""
    loaded.set_viewport_size(DESK)
    loaded.emulate_media(media="screen", color_scheme="light")
    return loaded


def test_nothing_is_asked_of_any_network_and_no_error_is_reported(page: Page, address: str, heard: Heard) -> None:
    assert [url for url in heard.asked if url != address and not url.startswith("data:")] == []
    assert heard.said == []


def test_the_policy_is_in_force(page: Page) -> None:
    # The page's own policy stops what is injected into it.
    added = """() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';
        document.head.append(s); return window.ran ?? 0 }"""
    assert page.evaluate(added) == 0
    assert page.title() == "Consensus under noise and peer pressure: a reproduction"


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_every_figure_and_formula_is_seen_and_the_page_does_not_scroll_sideways(
    viewport: ViewportSize, page: Page
) -> None:
    page.set_viewport_size(viewport)
    drawn = "[...document.images].every(image => image.complete && image.clientWidth)"
    wait_until(lambda: page.evaluate(drawn), "all pictures to be drawn")
    sizes = page.evaluate("[...document.images].map(i => [i.naturalWidth, i.clientWidth, i.alt.length])")
    assert len(sizes) == len(FIGURES)
    assert min(min(size) for size in sizes) > 20
    formulas = page.evaluate("[...document.querySelectorAll('svg.formula')].map(s => s.getBoundingClientRect().width)")
    assert len(formulas) > 20
    assert min(formulas) > 2
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]


def test_wide_things_scroll_in_their_own_box_on_a_phone(page: Page) -> None:
    page.set_viewport_size(PHONE)
    boxes = page.evaluate(
        "[...document.querySelectorAll('.scroll, .drawing')].map(b => [b.scrollWidth, b.clientWidth, b.tabIndex])"
    )
    wide = [tab for inner, outer, tab in boxes if inner > outer + 1]
    assert wide
    # Whoever has no finger to drag with can reach them by keyboard.
    assert set(wide) == {0}


def test_every_table_and_figure_fits_on_a_desk(page: Page) -> None:
    page.evaluate("document.querySelectorAll('.dictionary details').forEach(d => { d.open = true })")
    boxes = page.evaluate(
        """[...document.querySelectorAll('.scroll, .drawing, .dictionary details')]
           .filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.getAttribute('aria-label') ?? b.innerText)"""
    )
    assert boxes == []


def test_decimal_points_stand_under_each_other(page: Page) -> None:
    points = page.evaluate(
        """() => { const of = cell => { const text = cell.firstChild, at = text.data.indexOf('.');
               const range = document.createRange(); range.setStart(text, at); range.setEnd(text, at + 1);
               return range.getBoundingClientRect().x };
           const cells = [...document.querySelectorAll('#table-regression_comparison ~ .scroll td.n:nth-child(6)')];
           return cells.filter(c => c.firstChild.data.includes('.')).map(of) }"""
    )
    assert len(points) > 3
    assert max(points) - min(points) < 0.5


def test_links_inside_the_page_lead_somewhere(page: Page) -> None:
    targets = page.evaluate("[...document.querySelectorAll('a')].map(a => a.getAttribute('href'))")
    inside = [target for target in targets if not target.startswith("https://doi.org/10.")]
    assert all(target.startswith("#") for target in inside)
    assert page.evaluate("targets => targets.filter(t => !document.querySelector(t))", inside) == []


def luminance(colour: str) -> float:
    r, g, b = ((int(part) / 255) ** 2.2 for part in colour.removeprefix("rgb(").rstrip(")").split(","))
    return float(0.2126 * r + 0.7152 * g + 0.0722 * b)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_the_dark(scheme: Literal["light", "dark"], page: Page) -> None:
    page.emulate_media(color_scheme=scheme)
    back = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert (back < 0.05) == (scheme == "dark")
    colours = page.evaluate(
        "[...document.querySelectorAll('p, td, a, figcaption, .badge')].map(e => getComputedStyle(e).color)"
    )
    for colour in set(colours):
        light, dark = sorted((back, luminance(colour)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) > 4.5, colour


def test_printing_shows_all_and_leaves_out_what_is_for_screens(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"
    assert page.pdf(format="A4").startswith(b"%PDF")
