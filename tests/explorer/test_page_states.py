"""Panels show what belongs to the scenario, or nothing, and say why; every order of answers is tried by Node."""

from __future__ import annotations

from collections.abc import Iterable

from playwright.sync_api import Browser

from peerpressure.explorer.protocol import Limits
from tests.explorer.asking import served
from tests.explorer.driving import SMALL, STILL, Driver, fragment_of

# What each answer is shown in.
PANELS: dict[str, list[str]] = {
    "run": ["#picture-b", "#key", "#network-facts", "#verdict", "figure.pressure", ".curve:has(#plot-opinions)"],
    "exact": ["#exact-note", "#verdict-outlook", "#verdict-advice"],
    "recovered": ["#recovered", "#strip-error", ".curve:has(#plot-bench-time)"],
    "observe": ["#estimates"],
    "exposure": ["#exposure-text"],
    "budget": ["#budget"],
    "bench": ["#bench"],
    "inference": ["#inference"],
    "other": ["#picture-a .picture-canvas", "#verdict-a"],
}
# Where a reason can be told that there is no answer.
TELLING = ["#picture-b", "#verdict", "#recovered", "#strip-error", "#estimates", "#exposure-text", "#budget", "#bench"]
# Curves of one point.
HASTY = Limits(recovered=0)
GONE = "The explorer does not respond."


def states(driver: Driver, *parts: str) -> set[str]:
    """The states of all panels that show one of several answers."""
    have = "panels => panels.map(panel => document.querySelector(panel).dataset.state)"
    return set(driver.page.evaluate(have, [panel for part in parts for panel in PANELS[part]]))


def wait_for(driver: Driver, parts: Iterable[str], state: str) -> None:
    """Wait until all panels that show one of several answers are in a state."""
    have = "([panels, state]) => panels.every(panel => document.querySelector(panel).dataset.state === state)"
    panels = [panel for part in parts for panel in PANELS[part]]
    driver.wait_for(have, f"{panels} to be {state}", [panels, state])


# The colours of the words of a panel, and of those that are pale.
PALE = """panel => { const probe = document.createElement('i');
    probe.style.setProperty('color', 'var(--pale)');
    document.body.append(probe);
    const colours = [document.querySelector(panel), probe].map(one => getComputedStyle(one).color);
    probe.remove();
    return colours }"""


def check_refused(driver: Driver) -> None:
    """What was refused is replaced by the reason, and nothing is left of it."""
    page = driver.page
    # One error is told once.
    assert [panel for panel in TELLING if GONE in page.inner_text(panel)] == ["#picture-b"]
    for left in ("#network", "#plot-budget canvas", "#plot-bench-time", "#strip-recovered"):
        assert page.is_hidden(left), left
    assert page.locator("#estimates .facet").count() == 0
    assert page.inner_text("#network-facts").strip() == page.inner_text("#key").strip() == ""
    assert "ε" not in page.inner_text("#budget")
    # What was compared with has not been asked for again, and is still what it was.
    assert states(driver, "other") == {"current"}
    page.click("#tab-curves")
    for left in ("#exact-note", "#verdict-outlook", "#plot-recovered"):
        assert page.is_hidden(left), left
    page.click("#tab-observer")


def test_panels_are_pale_say_why_there_is_no_answer_and_go_on_with_a_server_that_was_started_again(
    browser: Browser,
) -> None:
    """All answers are lost with the server, and come back with the next one, without a click."""
    network = {"generator": "cycle", "n": 5}
    scenario = SMALL | {"network": network, "run": {"steps": 8, "seed": 1}, "observe": {"unknown_network": {}}}
    state = {"scenario": scenario, "other": scenario, "view": {"tab": "observer"}}
    with browser.new_context(**STILL) as context:
        with served(HASTY) as address:
            driver = Driver(context.new_page(), address)
            driver.open(fragment_of(state))
            wait_for(driver, PANELS, "current")
            driver.page.route("**/api/run", lambda route: None)
            driver.type("network.n", 7)
            wait_for(driver, set(PANELS) - {"other"}, "pending")
            words, pale = driver.page.evaluate(PALE, "#verdict")
            assert words == pale
            driver.page.unroute("**/api/run")
        driver.expected.update(
            {"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "Failed to load"}
        )
        driver.type("network.n", 6)
        wait_for(driver, set(PANELS) - {"other"}, "refused")
        check_refused(driver)
        with served(HASTY, int(address.rstrip("/").rpartition(":")[2])):
            wait_for(driver, PANELS, "current")
            driver.settle()
        assert "6 agents" in driver.page.inner_text("#network-facts")
        assert driver.page.locator(".reason").count() == 0
        driver.check()
