"""The guided tour: each step can be done by hand, by button and by keyboard, and nothing is left of it at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.explorer.asking import Asker
from tests.explorer.driving import SMALL, Driver, fragment_of
from tests.explorer.test_page_stage import Canvas, agents_on

# The steps, with what each is about: that must be in sight, and not under the panel.
STEPS = {
    "paint": "#network",
    "pressure": "#group-pressure",
    "guess": "#network",
    "see": "#network",
    "observer": ".tabs",
    "defence": "#group-noise",
    "end": "#tour",
}
PLAIN_SIGHT = """selectors => { const box = element => element.getBoundingClientRect();
    const panel = box(document.getElementById('tour'));
    return panel.left >= 0 && panel.top >= 0 && panel.right <= innerWidth && panel.bottom <= innerHeight
        && selectors.every(selector => { const one = box(document.querySelector(selector));
            const [width, height] = [Math.min(one.right, panel.right) - Math.max(one.left, panel.left),
                Math.min(one.bottom, panel.bottom) - Math.max(one.top, panel.top)];
            return one.top < innerHeight && one.bottom > 0
                && (selector === '#tour' || width <= 1 || height <= 1) }) }"""


def step(driver: Driver) -> str | None:
    return driver.page.locator("html").get_attribute("data-tour")


def at(driver: Driver, name: str, *, done: bool = False) -> None:
    """Wait until a step is shown and the page is at rest."""
    driver.page.wait_for_selector(f"html[data-tour={name}]:not([data-busy])", state="attached")
    if done:
        driver.page.wait_for_selector("#tour-next[data-done=true]")


def status(driver: Driver) -> str:
    return driver.page.inner_text("#tour-status")


def state(driver: Driver) -> Any:
    """What is shown and where the user is in the history of the page."""
    driver.page.wait_for_timeout(350)  # until the address is written
    return driver.page.evaluate("() => [location.hash, history.state?.depth ?? 0]")


def verdict(driver: Driver) -> str:
    """The outcome that the server computes for what is shown."""
    with Asker(driver.address) as asker:
        return str(asker.packed("run", driver.scenario())[0]["verdict"]["outcome"])


def paint(driver: Driver) -> None:
    """Give the ten members that are linked most another opinion, one by one."""
    hubs = [0, 1, 2, 3, 8, 13, 23, 31, 32, 33]
    driver.type("view.brush.reach", 10)
    canvas, places = Canvas(driver), agents_on(driver)
    for hub in hubs:
        canvas.stroke(places[hub])
    at(driver, "paint", done=True)
    assert status(driver) == "Two camps: 10 members think more than 0.50, and 24 less."
    assert np.flatnonzero(driver.scenario()["agents"]["hidden"]).tolist() == hubs


def guess_wrong(driver: Driver) -> None:
    """Neither the page nor its keys give the outcome away before it is guessed."""
    page = driver.page
    assert page.is_hidden("#verdict-heading")
    assert page.is_hidden("#pressure-words")
    page.keyboard.press("Space")
    assert page.get_attribute("#play", "data-playing") == "false"
    page.get_by_label("They agree, on the average").check()
    page.click("#tour-next")
    at(driver, "see", done=True)
    assert verdict(driver) == "biased_consensus"
    assert status(driver).startswith("Not quite. " + page.inner_text("#verdict-summary"))


def defend(driver: Driver, error: float) -> None:
    """Keep the noise, which makes the observer's error several times as large."""
    driver.row("noise.temporal").locator("select").select_option("frozen")
    at(driver, "defence", done=True)
    defended = driver.number('[data-method="innovations"] [data-key="rmse"]')
    assert f"off by {defended:.2g}" in status(driver)
    assert f"Before, it was off by {error:.2g}, with 34." in status(driver)
    assert defended > 3 * error


def test_the_tour_is_done_by_hand_and_leaves_nothing_behind(driver: Driver) -> None:
    page = driver.page
    before, scenario = state(driver), driver.scenario()
    page.click("#tour-open")
    at(driver, "paint")
    assert page.evaluate("() => [location.hash, document.activeElement.id]") == ["#tour=1", "tour-heading"]
    assert page.evaluate(PLAIN_SIGHT, ["#network", "#brush"])
    assert page.is_hidden("#verdict-heading")
    paint(driver)
    page.click("#tour-next")
    at(driver, "pressure")
    assert page.evaluate(PLAIN_SIGHT, ["#group-pressure"])
    driver.type("pressure.exponent", 1.8)
    at(driver, "pressure", done=True)
    page.click("#tour-next")
    at(driver, "guess")
    guess_wrong(driver)
    assert page.evaluate(PLAIN_SIGHT, ["#network", "#verdict"])
    page.click("#tour-next")
    at(driver, "observer")
    page.click("#tab-observer")
    at(driver, "observer", done=True)
    error = driver.number('[data-method="innovations"] [data-key="rmse"]')
    assert f"off by {error:.2g}, with 34 of 34 members" in status(driver)
    assert page.evaluate(PLAIN_SIGHT, [".tabs", "#estimates"])
    page.click("#tour-next")
    at(driver, "defence")
    assert page.evaluate(PLAIN_SIGHT, ["#group-noise", "#estimates"])
    defend(driver, error)
    page.click("#tour-next")
    at(driver, "end")
    with driver.answering():
        page.click("#tour-next")
    assert step(driver) is None
    assert page.is_hidden("#tour")
    assert page.evaluate("() => document.activeElement.id") == "tour-open"
    assert driver.scenario() == scenario
    assert state(driver) == before


def test_the_page_judges_a_guess_by_the_verdict(driver: Driver) -> None:
    page = driver.page
    page.evaluate("() => { location.hash = '#tour=3' }")
    at(driver, "guess")
    page.check("#tour input[value=biased]")
    page.keyboard.press("Control+Enter")
    at(driver, "see", done=True)
    assert status(driver).startswith("You guessed right.")
    # Under pressure that grows more slowly the same guess is wrong.
    page.click("#tour-back")
    at(driver, "guess")
    driver.type("pressure.exponent", 1)
    driver.settle()
    page.click("#tour-next")
    at(driver, "see", done=True)
    assert verdict(driver) == "consensus"
    assert status(driver).startswith("Not quite.")
    page.keyboard.press("Escape")
    assert step(driver) is None
    driver.settle()


def test_each_step_has_a_link_and_all_of_them_need_only_the_keyboard(one_page: Driver) -> None:
    page = one_page.page
    one_page.be_open()
    for width, height in ((1280, 720), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        for number, (name, about) in enumerate(STEPS.items(), 1):
            page.evaluate("number => { location.hash = `#tour=${number}` }", number)
            at(one_page, name)
            page.wait_for_selector("#tour-heading:focus")
            assert page.evaluate(PLAIN_SIGHT, [about]), (width, name)
            one_page.frame()
            # The page may be scrolled while the network is fitted to its canvas.
            assert one_page.pixels()[..., 3].any(), (width, name)
    at(one_page, "end")
    page.keyboard.press("Escape")
    assert step(one_page) is None
    one_page.settle()
    page.focus("#tour-open")
    page.keyboard.press("Enter")
    seen = []
    while step(one_page) is not None:
        name = str(step(one_page))
        at(one_page, name)
        seen.append(name)
        # One press does the step, and the next one goes on; what happens is seen without doing anything.
        if name in ("paint", "pressure", "observer", "defence"):
            page.keyboard.press("Control+Enter")
        if name != "guess":
            at(one_page, name, done=True)
        page.keyboard.press("Tab")
        page.keyboard.press("Control+Enter")
    assert seen == [*STEPS]
    one_page.settle()
    one_page.check()


def test_a_link_opens_a_step_with_its_state_and_ends_on_the_first_view(one_page: Driver) -> None:
    driver, page = one_page, one_page.page
    driver.be_open()
    page.set_viewport_size({"width": 390, "height": 844})
    driver.open("#tour=6")
    at(driver, "defence")
    assert page.get_attribute("#tab-observer", "aria-selected") == "true"
    assert driver.scenario()["pressure"]["exponent"] == 2
    page.tap("#tour-next")
    at(driver, "defence", done=True)
    assert page.evaluate(PLAIN_SIGHT, ["#tour"])
    with driver.answering():
        page.tap("[aria-label='End the tour']")
    assert driver.scenario()["network"]["n"] == 100
    assert page.evaluate("() => document.documentElement.scrollWidth") == 390
    driver.check()
    driver.leave()


def test_another_scenario_ends_the_tour_and_is_kept(driver: Driver) -> None:
    page = driver.page
    _, depth = state(driver)
    page.click("#tour-open")
    at(driver, "paint")
    driver.open_preset("two-agents")
    assert step(driver) is None
    assert driver.scenario()["network"] == {"generator": "k2"}
    # Back leads to what was shown before the tour.
    page.wait_for_function("depth => history.state?.depth === depth", arg=depth + 1)
    with driver.answering():
        page.go_back()
    assert driver.scenario() == SMALL
    page.click("#tour-open")
    at(driver, "paint")
    with driver.answering():
        page.evaluate("hash => { location.hash = hash }", fragment_of({"scenario": SMALL, "start": "other"}))
    assert step(driver) is None
    assert driver.scenario() == SMALL
