"""axe-core finds nothing to complain about, whatever state the page is in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tests.explorer.driving import AGENTS, PHONE, SMALL, STILL, Driver, violations

if TYPE_CHECKING:
    from playwright.sync_api import Route


@contextlib.contextmanager
def answered(driver: Driver, path: str, answer: Callable[[Route], None]) -> Iterator[None]:
    """Let questions of one kind be answered by other means, and by the server again afterwards."""
    driver.page.route(f"**/api/{path}", answer)
    yield
    driver.page.unroute(f"**/api/{path}")


def hold(route: Route) -> None:
    """Leave a question without an answer."""


def refuse(route: Route) -> None:
    error = {"text": "agents must be few, got many; take fewer", "where": None}
    route.fulfill(status=422, json={"error": error})


def start(driver: Driver) -> Iterator[str]:
    driver.wait_for_exact()
    yield "start"


def validity(driver: Driver) -> Iterator[str]:
    """A panel is pending or refused, and current in all other states."""
    driver.expected.add("422")
    with answered(driver, "run", hold):
        driver.type("network.n", AGENTS + 1)
        driver.exist("#verdict[data-state=pending]")
        yield "pending"
    with answered(driver, "run", refuse):
        driver.type("network.n", AGENTS + 2)
        driver.exist("#verdict[data-state=refused]")
        yield "refused"
    with driver.answering():
        driver.type("network.n", AGENTS)


def menus(driver: Driver) -> Iterator[str]:
    """What opens above the rest of the page."""
    page = driver.page
    opened = {"#share": "#share-menu", "#help": "#keys", "#examples-open": "#examples", "#add": "#add-menu"}
    for opener, menu in opened.items():
        page.click(opener)
        assert violations(page, menu) == []
        if opener == "#add":
            yield "Add… open"
        else:
            page.keyboard.press("Escape")
    page.click("[data-add='network.signed']")
    driver.see("#draw-distrust[aria-pressed=true]")
    yield "distrust is drawn"
    page.click("[data-feature='network.signed'] .remove")
    with driver.answering():
        page.click("#draw")
    yield "opinions are drawn"
    page.click("#draw")


def observer(driver: Driver) -> Iterator[str]:
    with driver.answering("benches"), driver.answering("budgets"), driver.answering("observations"):
        driver.page.click("#tab-observer")
    yield "bench"
    driver.page.click("#tab-curves")


def presentation(driver: Driver) -> Iterator[str]:
    driver.page.click("#present")
    yield "presentation"
    driver.page.keyboard.press("Escape")


def comparison(driver: Driver) -> Iterator[str]:
    driver.go({"scenario": SMALL, "other": SMALL | {"noise": {"law": "none"}}}, "comparisons")
    driver.exist("#name-a:not(:empty)")
    yield "comparison"
    driver.resize(PHONE["width"], PHONE["height"])
    yield "comparison on a phone"
    driver.page.click("#comparison-end")
    yield "phone"
    driver.resize(**STILL["viewport"])


def tour(driver: Driver) -> Iterator[str]:
    driver.page.click("#tour-open")
    driver.exist("html[data-tour=paint]:not([data-busy])")
    yield "tour"
    driver.page.keyboard.press("Escape")
    driver.settle()


def dark(driver: Driver) -> Iterator[str]:
    driver.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    driver.frame()
    yield "dark"
    driver.page.emulate_media(color_scheme="light", reduced_motion="reduce")


def test_axe_finds_no_fault_in_any_state(driver: Driver) -> None:
    faults = {
        state: found
        for walk in (start, validity, menus, observer, presentation, comparison, tour, dark)
        for state in walk(driver)
        if (found := violations(driver.page))
    }
    assert faults == {}
    driver.page.evaluate("() => document.querySelector('main').append(new Image())")
    assert violations(driver.page) == ["image-alt: img"]
    driver.page.evaluate("() => document.querySelector('main > img').remove()")
