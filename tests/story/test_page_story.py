"""The story in a browser: a guess opens each toy, keys and touch move it, and it can be presented and printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from peerpressure.explorer.links import state_of
from peerpressure.explorer.protocol import Limits
from peerpressure.explorer.story import page as story_page
from tests.explorer.driving import STILL, Driver, violations
from tests.story.test_toys import RIGHT, toys

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Keys that bring a control from what it is after the first guess to a setting that was computed elsewhere.
KEYS: dict[str, tuple[list[str], float]] = {
    "friends": (["Home"], 0),
    "steady": (["End"], 50),
    "agreement": (["Home", *["ArrowRight"] * 17], 17),
    "lifted": (["Space"], 0),
    "rooms": (["Home", "ArrowRight", "ArrowRight"], 1),
    "counting": (["ArrowUp"], 1),
    "unmasking": ([*["ArrowRight"] * 9], 10),
    "hiding": (["End"], 20),
}


@pytest.fixture(scope="module")
def driver(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """One page for all tests, opened from its file."""
    file = tmp_path_factory.mktemp("story") / "story.html"
    file.write_text(str(story_page()), "utf-8")
    driver = Driver(browser.new_context(**STILL).new_page(), file.as_uri())
    driver.page.goto(driver.address)
    driver.exist("html[data-ready]")
    yield driver
    driver.check()
    driver.page.context.close()


def shown_at(name: str, value: float) -> dict[str, Any]:
    """What Node computes for a toy at a setting."""
    (shown,) = [one for one in toys()[name] if one["value"] == value]
    return shown


def printed(driver: Driver, name: str, value: float) -> None:
    """Wait until a toy shows the numbers of a setting."""
    same = "([name, printed]) => document.getElementById(name).dataset.printed === printed"
    driver.wait_for(same, f"{name} at {value}", [name, shown_at(name, value)["printed"]])


def test_nothing_is_given_away_before_the_guess(driver: Driver) -> None:
    page = driver.page
    for name in RIGHT:
        for part in (".control", ".answer", ".same", ".after"):
            assert not page.locator(f"#{name} {part}").first.is_visible(), (name, part)
        assert page.locator(f"#{name} svg").is_visible()
    # A stranger sees words alone, and who is asked what will be said sees wishes alone.
    assert page.is_visible("#friends .key")
    assert page.locator("#unmasking svg .wish").count() == 0
    assert page.locator("#agreement svg .said").count() == 0
    assert violations(page) == []


def test_a_guess_opens_each_toy_and_keys_move_it(driver: Driver) -> None:
    page = driver.page
    for name, right in RIGHT.items():
        wrong = page.locator(f"#{name} [data-guess]:not([data-guess={right}])").first
        wrong.tap()
        driver.see(f"#{name} .answer")
        assert page.get_attribute(f"#{name} [data-guess={right}]", "data-state") == "right"
        assert wrong.get_attribute("aria-pressed") == "true"
        assert wrong.inner_text() in page.inner_text(f"#{name} .answer p >> nth=0")
        keys, value = KEYS[name]
        page.locator(f"#{name} input:checked, #{name} input:not([type=radio])").first.focus()
        driver.press(*keys)
        printed(driver, name, value)
        kinds = {"wish", "said"} | {
            "agreement": {"path"},
            "rooms": {"next", "path"},
            "unmasking": {"told"},
            "hiding": {"told"},
        }.get(name, set())
        assert set(page.locator(f"#{name} .key span").evaluate_all("all => all.map(one => one.className)")) == kinds
        for sentence in shown_at(name, value)["answer"]:
            assert sentence in page.inner_text(f"#{name} .answer")
            assert sentence in (page.get_attribute(f"#{name} svg", "aria-label") or "")
            assert sentence in (page.text_content("#live") or "")


def test_the_link_and_the_python_are_those_of_what_is_shown(driver: Driver) -> None:
    page = driver.page
    for name, (_, value) in KEYS.items():
        page.click(f"#{name} summary")
        driver.exist(f"#{name} .same a[href]")
        shown = shown_at(name, value)
        assert page.text_content(f"#{name} pre") == shown["python"]
        state = state_of(page.get_attribute(f"#{name} .same a", "href") or "", Limits())
        assert state["scenario"] == shown["scenario"]


def test_it_is_read_in_any_window_in_the_dark_and_on_paper(driver: Driver) -> None:
    page = driver.page
    for width, height in ((1440, 900), (1024, 768), (390, 844)):
        driver.resize(width, height)
        assert page.evaluate("() => document.documentElement.scrollWidth") == width
        cut = page.evaluate(
            """() => [...document.querySelectorAll('.stage svg text')].filter(text => {
                const { left, right } = text.getBoundingClientRect();
                return left < 0 || right > innerWidth }).map(text => text.textContent)"""
        )
        assert cut == []
    assert violations(page) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    driver.resize(1024, 768)
    assert violations(page) == []
    page.emulate_media(media="print", color_scheme="light", reduced_motion="reduce")
    driver.frame()
    assert page.is_hidden("#friends-control")
    assert page.is_visible("#friends .answer")
    page.emulate_media(media="screen", color_scheme="light", reduced_motion="reduce")


def test_a_key_presents_it_part_by_part(driver: Driver) -> None:
    page = driver.page
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0) }")
    seen, numbers = [], []
    driver.press("p")
    for _ in range(10):
        seen.append(page.locator("[data-slide]:visible").evaluate_all("all => all.map(({ id }) => id)"))
        numbers += page.locator("h2[data-number]:visible").evaluate_all("all => all.map(one => one.dataset.number)")
        driver.press("ArrowRight")
    assert seen == [[one] for one in ("opening", *RIGHT, "ending")]
    assert numbers == [*"12345678"]
    driver.press("PageUp", "Escape")
    assert page.locator("[data-slide]:visible").count() == 10


def test_what_moves_ends_where_it_would_stand_without_moving(driver: Driver) -> None:
    page = driver.page
    page.emulate_media(reduced_motion="no-preference", color_scheme="light")
    page.reload()
    driver.exist("html[data-ready]")
    page.click("#agreement [data-guess=never]")
    printed(driver, "agreement", 3000)
    page.emulate_media(reduced_motion="reduce", color_scheme="light")
