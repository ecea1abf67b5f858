"""Panels show what belongs to the scenario, or nothing: after a refusal, a time-out or a cancellation of any answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.explorer.driving import AGENTS, PATIENCE, SMALL, STEPS, Driver, fragment_of

if TYPE_CHECKING:
    from playwright.sync_api import Route

# What each answer is shown in.
PANELS: dict[str, list[str]] = {
    "run": ["#picture-b", "#key", "#network-facts", "#verdict", "figure.pressure", ".curve:has(#plot-opinions)"],
    "exact": ["#exact-note", "#verdict-outlook", "#verdict-advice"],
    "observe": ["#estimates", "#exposure-text", "#budget"],
    "inference": ["#inference"],
    "other": ["#picture-a .picture-canvas", "#verdict-a"],
}
PATHS = {"network": "run", "run": "run", "exact": "exact", "observe": "observe", "inference": "inference"}
INFERRING = ("network", "inference")
FEW = 8  # steps, from which a network is inferred fast
LATE = "an answer must be found within 20 seconds here, got no end by then; ask for fewer agents, steps or methods"
FAILURES: dict[str, tuple[int, str]] = {
    "refused": (422, "agents must be few, got many; take fewer"),
    "too late": (422, LATE),
    "cancelled": (409, "the server answers the newest request of a kind, until it ends, got an older one; ask again"),
}


def states(driver: Driver, part: str) -> set[str]:
    """The states of all panels that show an answer."""
    return {str(driver.page.get_attribute(panel, "data-state")) for panel in PANELS[part]}


def wait_for(driver: Driver, part: str, state: str) -> None:
    for panel in PANELS[part]:
        driver.page.wait_for_selector(f"{panel}[data-state={state}]", state="attached", timeout=PATIENCE)


def fail(driver: Driver, path: str, status: int, text: str) -> None:
    """Answer a question with an error from now on."""
    driver.expected.add(str(status))
    body = json.dumps({"error": {"text": text, "where": None}})

    def answer(route: Route) -> None:
        route.fulfill(status=status, content_type="application/json", body=body)

    driver.page.route(f"**/api/{path}", answer)


def observe(driver: Driver) -> None:
    with driver.answering("observations"):
        driver.page.click("#tab-observer")


def infer(driver: Driver) -> None:
    with driver.answering():
        driver.type("run.steps", FEW)
    observe(driver)
    with driver.answering("inferences"):
        driver.page.get_by_label("Unknown").check(force=True)


def ask(driver: Driver, path: str) -> tuple[str, ...]:
    """Let all panels have answers, and return which: inferring a network takes longest, and is not always asked for."""
    driver.wait_for_exact()
    if path in INFERRING:
        infer(driver)
        return "run", "exact", "observe", "inference"
    observe(driver)
    return "run", "exact", "observe"


def text_of(driver: Driver, selector: str) -> str:
    """The text that can be seen."""
    return driver.page.inner_text(selector).strip()


@pytest.mark.parametrize("path", PATHS)
def test_what_failed_is_not_shown_but_why(driver: Driver, path: str) -> None:
    answers = ask(driver, path)
    wait_for(driver, "observe", "current")
    assert states(driver, "run") == states(driver, "exact") == {"current"}
    for status, text in FAILURES.values():
        fail(driver, path, status, text)
        driver.type("network.n", AGENTS + 6)
        wait_for(driver, PATHS[path], "refused")
        check_refused(driver, path, text, answers)
        # As soon as there is an answer again, it is shown.
        driver.page.unroute(f"**/api/{path}")
        driver.type("network.n", AGENTS)
        for one in answers:
            wait_for(driver, one, "current")
        assert f"{AGENTS} agents" in text_of(driver, "#network-facts")
        assert driver.page.locator(".reason").count() == 0
        assert driver.page.locator("#estimates .facet canvas").count() == 2
        driver.settle()


def check_refused(driver: Driver, path: str, text: str, answers: tuple[str, ...]) -> None:
    """What was refused is replaced by the reason, and all else is shown."""
    page, part = driver.page, PATHS[path]
    shown = {
        "run": ["#picture-b", "#verdict", "#estimates", "#budget", *(["#inference"] if path in INFERRING else [])],
        "exact": [],
        "observe": ["#estimates", "#budget"],
        "inference": ["#inference"],
    }
    for panel in shown[part]:
        assert text in text_of(driver, panel), panel
    if part == "exact":
        page.click("#tab-curves")
        assert text in text_of(driver, "#exact-refused")
        assert page.is_hidden("#exact-note")
        assert page.is_hidden("#verdict-outlook")
        page.click("#tab-observer")
    if part in ("run", "observe"):
        assert page.locator("#estimates .facet").count() == 0
        assert "ε" not in text_of(driver, "#budget")
        assert page.is_hidden("#plot-budget")
        assert text_of(driver, "#exposure-text") == ""
    if part == "run":
        assert page.is_hidden("#network")
        assert text_of(driver, "#network-facts") == text_of(driver, "#key") == ""
        assert text_of(driver, "#verdict") == text
        assert all(states(driver, one) == {"refused"} for one in answers)
    else:
        # The others have their answers.
        wait_for(driver, "run", "current")
        assert f"{AGENTS + 6} agents" in text_of(driver, "#network-facts")


@pytest.mark.parametrize("path", PATHS)
def test_until_an_answer_comes_the_last_one_is_pale(driver: Driver, path: str) -> None:
    page, part, answers = driver.page, PATHS[path], ask(driver, path)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/{path}", hold)
    driver.type("network.n", AGENTS + 1)
    wait_for(driver, part, "pending")
    opacity = "([part]) => getComputedStyle(document.querySelector(part)).opacity < 0.5"
    page.wait_for_function(opacity, arg=[PANELS[part][-1 if part != "exact" else 0]])
    while not held:
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    page.unroute(f"**/api/{path}")
    for one in answers:
        wait_for(driver, one, "current")
    driver.settle()


def test_an_observer_of_too_many_agents_leaves_nothing_of_the_last_one(driver: Driver) -> None:
    driver.expected.add("422")
    with driver.answering():
        driver.type("network.n", 30)
    observe(driver)
    assert "ε =" in text_of(driver, "#budget-summary")
    with driver.answering():
        driver.type("network.n", 5000)
    wait_for(driver, "observe", "refused")
    assert driver.page.locator("#estimates canvas").count() == 0
    assert text_of(driver, "#budget-summary") == text_of(driver, "#exposure-text") == ""
    assert "agents" in text_of(driver, "#estimates")
    assert states(driver, "run") == {"current"}


def test_a_server_that_is_gone_leaves_nothing(driver: Driver) -> None:
    driver.expected.update({"ERR_FAILED", "Failed to load"})
    driver.page.route("**/api/run", lambda route: route.abort())
    driver.type("run.seed", 9)
    wait_for(driver, "run", "refused")
    assert "does not answer" in text_of(driver, "#verdict")
    driver.page.unroute("**/api/run")
    with driver.answering():
        driver.type("run.seed", 10)
    assert states(driver, "run") == {"current"}


def test_an_answer_that_ends_too_early_is_a_refusal(driver: Driver) -> None:
    packed = {"content_type": "application/x-peerpressure", "body": b"\x10\x00\x00\x00{"}
    driver.page.route("**/api/run", lambda route: route.fulfill(**packed))
    driver.type("run.seed", 9)
    wait_for(driver, "run", "refused")
    assert "ended too early" in text_of(driver, "#verdict")
    driver.page.unroute("**/api/run")


@pytest.mark.parametrize(("status", "text"), FAILURES.values(), ids=FAILURES)
def test_a_comparison_without_an_answer_says_why(driver: Driver, status: int, text: str) -> None:
    page, other = driver.page, SMALL | {"run": {"steps": STEPS, "seed": 5}}
    with driver.answering("comparisons"):
        page.click("#compare")
    assert states(driver, "other") == {"current"}
    fail(driver, "run", status, text)
    page.evaluate("given => { location.hash = given }", fragment_of({"scenario": SMALL, "other": other}))
    wait_for(driver, "other", "refused")
    assert text in text_of(driver, "#verdict-a")
    assert page.is_hidden("#network-a")
    wait_for(driver, "run", "refused")
    page.unroute("**/api/run")
    driver.leave()


def test_exposure_of_another_scenario_does_not_colour_the_network(driver: Driver) -> None:
    page = driver.page
    observe(driver)
    page.get_by_label("Exposure").check(force=True)
    page.wait_for_function("() => document.querySelector('#key-low').textContent === 'nothing learned'")
    page.click("#tab-curves")
    with driver.answering():
        driver.type("run.seed", 4)
    page.wait_for_function("() => document.querySelector('#key-low').textContent !== 'nothing learned'")
    with driver.answering("observations"):
        page.click("#tab-observer")
    page.wait_for_function("() => document.querySelector('#key-low').textContent === 'nothing learned'")
