"""Panels show what belongs to the scenario, or nothing: after a refusal, a time-out or a cancellation of any answer."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pytest

from peerpressure.explorer.protocol import SupersededError, TimeLimitError
from tests.explorer.driving import AGENTS, PATIENCE, SMALL, STEPS, Driver, fragment_of
from tests.explorer.test_page_looks import luminance, parsed

if TYPE_CHECKING:
    from playwright.sync_api import Route

# What each answer is shown in.
PANELS: dict[str, list[str]] = {
    "run": ["#picture-b", "#key", "#network-facts", "#verdict", "figure.pressure", ".curve:has(#plot-opinions)"],
    "exact": ["#exact-note", "#verdict-outlook", "#verdict-advice"],
    "observe": ["#estimates"],
    "exposure": ["#exposure-text"],
    "budget": ["#budget"],
    "bench": ["#bench"],
    "inference": ["#inference"],
    "other": ["#picture-a .picture-canvas", "#verdict-a"],
}
OBSERVER = ("observe", "exposure", "budget", "bench")
PATHS = {"network": "run", **{name: name for name in ("run", "exact", *OBSERVER, "inference")}}
INFERRING = ("network", "inference")
FEW = 8  # steps, from which a network is inferred fast
# What takes the place of an answer: a status and a text, or nothing where the server is gone.
FAILURES: dict[str, tuple[int, str]] = {
    "refused": (422, "agents must be few, got many; take fewer"),
    "too late": (422, str(TimeLimitError(20))),
    "cancelled": (409, str(SupersededError())),
    "gone": (0, "The explorer does not answer."),
}


def states(driver: Driver, part: str) -> set[str]:
    """The states of all panels that show an answer."""
    return {str(driver.page.get_attribute(panel, "data-state")) for panel in PANELS[part]}


def wait_for(driver: Driver, part: str, state: str) -> None:
    for panel in PANELS[part]:
        driver.page.wait_for_selector(f"{panel}[data-state={state}]", state="attached", timeout=PATIENCE)


def fail(driver: Driver, path: str, status: int, text: str) -> None:
    """Answer a question with an error from now on; with status 0 not at all."""
    driver.expected.update({str(status)} if status else {"ERR_FAILED", "Failed to load"})
    body = json.dumps({"error": {"text": text, "where": None}})

    def answer(route: Route) -> None:
        if status:
            route.fulfill(status=status, content_type="application/json", body=body)
        else:
            route.abort()

    driver.page.route(f"**/api/{path}", answer)
    if not status:
        driver.page.route("**/api/catalogue", answer)


def observe(driver: Driver) -> None:
    with contextlib.ExitStack() as answers:
        for one in ("observations", "exposures", "budgets", "benches"):
            answers.enter_context(driver.answering(one))
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
        return "run", "exact", *OBSERVER, "inference"
    observe(driver)
    return "run", "exact", *OBSERVER


def text_of(driver: Driver, selector: str) -> str:
    """The text that can be seen."""
    return driver.page.inner_text(selector).strip()


# The colours of the words of a panel, of those that are pale, and of the ground.
PALE = """panel => { const probe = document.createElement('i');
    probe.style.setProperty('color', 'var(--pale)');
    document.body.append(probe);
    const colours = [document.querySelector(panel), probe].map(one => getComputedStyle(one).color);
    probe.remove();
    return [...colours, getComputedStyle(document.body).backgroundColor] }"""


def check_pale(driver: Driver, path: str, answers: tuple[str, ...]) -> None:
    """Until an answer comes, the last one is pale, and can be read."""
    page, part = driver.page, PATHS[path]
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(f"**/api/{path}", hold)
    driver.type("network.n", AGENTS + 1)
    wait_for(driver, part, "pending")
    words, pale, ground = page.evaluate(PALE, PANELS[part][0])
    assert words == pale
    light, dark = sorted((luminance(parsed(pale)), luminance(parsed(ground))), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5
    while not held:
        page.wait_for_timeout(20)
    for route in held:
        route.continue_()
    page.unroute(f"**/api/{path}")
    for one in answers:
        wait_for(driver, one, "current")


@pytest.mark.parametrize("path", PATHS)
def test_a_panel_is_pale_until_its_answer_comes_and_says_why_if_there_is_none(driver: Driver, path: str) -> None:
    answers = ask(driver, path)
    wait_for(driver, "observe", "current")
    assert states(driver, "run") == states(driver, "exact") == {"current"}
    check_pale(driver, path, answers)
    # A refusal and a time-out have the same status, and texts of their own.
    for status, text in list(FAILURES.values())[0 if path == "run" else 1 :]:
        fail(driver, path, status, text)
        driver.type("network.n", AGENTS + 6)
        wait_for(driver, PATHS[path], "refused")
        check_refused(driver, path, text, answers)
        # As soon as there is an answer again, it is shown; a server that is back is found without a question.
        driver.page.unroute(f"**/api/{path}")
        driver.page.unroute("**/api/catalogue")
        if status:
            driver.type("network.n", AGENTS)
        for one in answers:
            wait_for(driver, one, "current")
        assert f"{AGENTS if status else AGENTS + 6} agents" in text_of(driver, "#network-facts")
        assert driver.page.locator(".reason").count() == 0
        assert driver.page.locator("#estimates .facet canvas").count() == 1
        driver.settle()


def check_refused(driver: Driver, path: str, text: str, answers: tuple[str, ...]) -> None:
    """What was refused is replaced by the reason, and all else is shown."""
    page, part = driver.page, PATHS[path]
    panels = {"observe": "#estimates", "budget": "#budget", "bench": "#bench", "inference": "#inference"}
    shown = {"run": ["#picture-b", "#verdict", *(panels[one] for one in answers if one in panels)]}
    for panel in shown.get(part, [panels[part]] if part in panels else []):
        assert text in text_of(driver, panel), panel
    if part == "exact":
        page.click("#tab-curves")
        assert text in text_of(driver, "#exact-refused")
        assert page.is_hidden("#exact-note")
        assert page.is_hidden("#verdict-outlook")
        page.click("#tab-observer")
    if part in ("run", "observe"):
        assert page.locator("#estimates .facet").count() == 0
    if part in ("run", "budget"):
        assert "ε" not in text_of(driver, "#budget")
        assert page.is_hidden("#plot-budget canvas")
    if part in ("run", "exposure"):
        assert text_of(driver, "#exposure-text") in ("", text)
    if part == "run":
        assert page.is_hidden("#network")
        assert text_of(driver, "#network-facts") == text_of(driver, "#key") == ""
        assert text_of(driver, "#verdict").startswith(text)
        assert all(states(driver, one) == {"refused"} for one in answers)
    else:
        # The others have their answers.
        for other in set(answers) - {part, "inference"}:
            wait_for(driver, other, "current")
        assert f"{AGENTS + 6} agents" in text_of(driver, "#network-facts")


def test_fifty_thousand_agents_are_shown_and_their_observer_says_why_it_is_not(driver: Driver) -> None:
    driver.expected.add("422")
    observe(driver)
    assert "ε =" in text_of(driver, "#budget-summary")
    with driver.answering():
        driver.type("network.n", 50_000)
    for part in OBSERVER:
        wait_for(driver, part, "refused")
    assert driver.page.locator("#estimates canvas").count() == 0
    assert text_of(driver, "#budget-summary") == ""
    for panel in ("#estimates", "#budget"):
        assert "agents of an observed network must be at most 4,000" in text_of(driver, panel)
    assert states(driver, "run") == {"current"}
    assert "50,000 agents" in text_of(driver, "#network-facts")


def test_an_answer_that_ends_too_early_is_a_refusal(driver: Driver) -> None:
    packed = {"content_type": "application/x-peerpressure", "body": b"\x10\x00\x00\x00{"}
    driver.page.route("**/api/run", lambda route: route.fulfill(**packed))
    driver.type("run.seed", 9)
    wait_for(driver, "run", "refused")
    assert "ended too early" in text_of(driver, "#verdict")
    driver.page.unroute("**/api/run")
    # The page asks again by itself.
    wait_for(driver, "run", "current")


@pytest.mark.parametrize("failure", FAILURES)
def test_a_comparison_without_an_answer_says_why(driver: Driver, failure: str) -> None:
    status, text = FAILURES[failure]
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
    page.unroute("**/api/catalogue")
    if not status:
        wait_for(driver, "other", "current")
        wait_for(driver, "run", "current")
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
