"""The guided tour: each step can be done by hand, by button and by keyboard, and nothing is left of it at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.explorer.asking import Asker
from tests.explorer.driving import SMALL, Driver
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
    driver.exist(f"html[data-tour={name}]:not([data-busy])")
    if done:
        driver.exist("#tour-next[data-done=true]")


def status(driver: Driver) -> str:
    return driver.page.inner_text("#tour-status")


def state(driver: Driver) -> Any:
    """What is shown and where the user is in the history of the page, once the address is written."""
    driver.wait_for("() => typeof history.state?.depth === 'number'", "the address to be written")
    return driver.page.evaluate("() => [location.hash, history.state.depth]")


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
    driver.press("Space")
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


def check_others(driver: Driver) -> None:
    """Another scenario ends the tour and is kept, whether it is an example or that of an address."""
    page, (_, depth) = driver.page, state(driver)
    page.click("#tour-open")
    at(driver, "paint")
    driver.open_preset("two_agents")
    assert step(driver) is None
    assert driver.scenario()["network"] == {"generator": "k2"}
    # Back leads to what was shown before the tour.
    driver.wait_for_depth(depth + 1)
    with driver.answering():
        page.go_back()
    assert driver.scenario() == SMALL
    page.click("#tour-open")
    at(driver, "paint")
    driver.go({"scenario": SMALL, "start": "other"})
    assert step(driver) is None
    assert driver.scenario() == SMALL


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
    assert driver.focused() == "tour-open"
    assert driver.scenario() == scenario
    back = "([hash, depth]) => location.hash === hash && history.state?.depth === depth"
    driver.wait_for(back, "the address before", before)
    driver.rest()
    assert state(driver) == before
    check_others(driver)
