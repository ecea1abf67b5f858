"""axe-core finds nothing to complain about, in light and in the dark, at a desk and on a phone."""

from __future__ import annotations

from collections.abc import Iterator

from tests.explorer.driving import AGENTS, PHONE, SMALL, STILL, Driver, violations


def refused(driver: Driver) -> Iterator[str]:
    """A panel is refused, and current in all other states."""
    page = driver.page
    driver.expected.add("422")
    error = {"text": "agents must be few, got many; take fewer", "where": None}
    page.route("**/api/run", lambda route: route.fulfill(status=422, json={"error": error}))
    driver.type("network.n", AGENTS + 2)
    driver.exist("#verdict[data-state=refused]")
    yield "refused"
    page.unroute("**/api/run")
    with driver.answering():
        driver.type("network.n", AGENTS)


def menus(driver: Driver) -> Iterator[str]:
    """What opens above the rest of the page."""
    page = driver.page
    opened = {"#share": "#share-menu", "#help": "#keys", "#examples-open": "#examples", "#add": "#add-menu"}
    for opener, menu in opened.items():
        page.click(opener)
        assert violations(page, menu) == []
        if opener != "#add":
            page.keyboard.press("Escape")
    page.click("[data-add='network.signed']")
    driver.see("#draw-distrust[aria-pressed=true]")
    page.click("[data-feature='network.signed'] .remove")
    with driver.answering():
        page.click("#draw")
    yield "opinions are drawn"
    page.click("#draw")


def observer(driver: Driver) -> Iterator[str]:
    """All that is told of the observer, in the dark, once with whatever else is seen there."""
    with driver.answering("benches"), driver.answering("budgets"), driver.answering("observations"):
        driver.page.click("#tab-observer")
    yield "observer"
    driver.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    driver.frame()
    yield "dark"
    driver.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    driver.page.click("#tab-curves")


def presentation(driver: Driver) -> Iterator[str]:
    driver.page.click("#present")
    yield "presentation"
    driver.page.keyboard.press("Escape")


def first_screen(driver: Driver) -> Iterator[str]:
    """All that somebody sees who opens the explorer, with the drawings of why."""
    driver.go({"scenario": SMALL, "view": {"simple": True}}, "recoveries")
    driver.page.click("#verdict-why > summary")
    for scheme in ("light", "dark"):
        driver.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        driver.frame()
        yield f"first screen, {scheme}"
    driver.page.emulate_media(color_scheme="light", reduced_motion="reduce")
    driver.page.click("#verdict-why > summary")
    driver.page.click("#laboratory")


def comparison(driver: Driver) -> Iterator[str]:
    driver.resize(PHONE["width"], PHONE["height"])
    driver.go({"scenario": SMALL, "other": SMALL | {"noise": {"law": "none"}}}, "comparisons")
    driver.exist("#name-a:not(:empty)")
    yield "comparison on a phone"
    driver.page.click("#comparison-end")
    driver.resize(**STILL["viewport"])


def test_axe_finds_no_fault_in_any_state(driver: Driver) -> None:
    driver.wait_for_exact()
    faults = {
        state: found
        for walk in (refused, menus, observer, presentation, first_screen, comparison)
        for state in walk(driver)
        if (found := violations(driver.page))
    }
    assert faults == {}
    driver.page.evaluate("() => document.querySelector('main').append(new Image())")
    assert violations(driver.page, "main > img") == ["image-alt: img"]
    driver.page.evaluate("() => document.querySelector('main > img').remove()")
