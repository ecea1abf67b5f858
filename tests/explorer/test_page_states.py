"""Panels show what belongs to the scenario, or nothing: after a refusal, a time-out or a cancellation of any answer."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from peerpressure.explorer.app import API
from peerpressure.explorer.bundle import STATIC
from peerpressure.explorer.protocol import Limits, SupersededError, TimeLimitError
from tests.explorer.asking import served
from tests.explorer.driving import AGENTS, PATIENCE, POLLING, SMALL, STEPS, Driver, fragment_of
from tests.explorer.test_page_looks import luminance, parsed

if TYPE_CHECKING:
    from playwright.sync_api import Route

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
OBSERVER = ("recovered", "observe", "exposure", "budget", "bench")
# Answers that no panel shows: whether an address can be opened, the network in a file, and files to save.
UNSHOWN = {"check", "upload", *(name for name in API if name.startswith("export/"))}
# The part of the page that each of the server's routes answers for; a network and its run are shown together.
PATHS = {name: "run" if name == "network" else name for name in API if name not in UNSHOWN}
INFERRING = ("network", "inference")
# Curves of one point.
HASTY = Limits(recovery_seconds=0, inference_seconds=0)
FEW = 8  # steps, from which a network is inferred fast
# What takes the place of an answer: a status and a text, or nothing where the server is gone.
FAILURES: dict[str, tuple[int, str]] = {
    "refused": (422, "agents must be few, got many; take fewer"),
    "too late": (422, str(TimeLimitError(20))),
    "cancelled": (409, str(SupersededError())),
    "gone": (0, "The explorer does not answer."),
}


def test_every_answer_that_the_page_asks_for_is_tried_below() -> None:
    """A new route, a new question of the page and a new panel each have to be named above."""
    page, types = ((STATIC / name).read_text("utf-8") for name in ("index.html", "js/types.d.ts"))
    questions = re.findall(r'"/api/(\w+)": \w+', types)
    assert set(questions) == {*PATHS, "check"}
    answers = {answer for names in re.findall(r'data-answers="([^"]+)"', page) for answer in names.split()}
    assert answers == {*PATHS.values(), "other"} == set(PANELS)


def states(driver: Driver, part: str) -> set[str]:
    """The states of all panels that show an answer."""
    return {str(driver.page.get_attribute(panel, "data-state")) for panel in PANELS[part]}


def wait_for(driver: Driver, part: str, state: str) -> None:
    have = "([panels, state]) => panels.every(panel => document.querySelector(panel).dataset.state === state)"
    driver.page.wait_for_function(have, arg=[PANELS[part], state], polling=POLLING, timeout=PATIENCE)


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
    wait_for(driver, "recovered", "current")


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
    failures = list(FAILURES)[0 if path == "run" else 1 :]
    for count, failure in enumerate(failures):
        status, text = FAILURES[failure]
        fail(driver, path, status, text)
        agents = AGENTS + 6 + count
        driver.type("network.n", agents)
        wait_for(driver, PATHS[path], "refused")
        check_refused(driver, path, text, answers, agents)
        driver.page.unroute(f"**/api/{path}")
        driver.page.unroute("**/api/catalogue")
        # One failure may follow another; as soon as there is an answer again, it is shown.
        if failure == "cancelled":
            continue
        # A server that is back is found without a question.
        if status:
            agents = AGENTS
            driver.type("network.n", agents)
        for one in answers:
            wait_for(driver, one, "current")
        assert f"{agents} agents" in text_of(driver, "#network-facts")
        assert driver.page.locator(".reason").count() == 0
        assert driver.page.locator("#estimates .facet canvas").count() == 1
        driver.settle()


def check_refused(driver: Driver, path: str, text: str, answers: tuple[str, ...], agents: int) -> None:
    """What was refused is replaced by the reason, and all else is shown."""
    page, part = driver.page, PATHS[path]
    panels = {
        "recovered": ["#recovered", "#strip-error"],
        "observe": ["#estimates"],
        "exposure": ["#exposure-text"],
        "budget": ["#budget"],
        "bench": ["#bench"],
        "inference": ["#inference"],
    }
    every = [panel for one in answers for panel in panels.get(one, [])]
    for panel in ["#picture-b", "#verdict", *every] if part == "run" else panels.get(part, []):
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
        assert text_of(driver, "#exposure-text").startswith(text)
    if part == "run":
        assert page.is_hidden("#network")
        assert text_of(driver, "#network-facts") == text_of(driver, "#key") == ""
        assert text_of(driver, "#verdict").startswith(text)
        assert all(states(driver, one) == {"refused"} for one in answers)
    else:
        # The others have their answers.
        for other in set(answers) - {part, "inference"}:
            wait_for(driver, other, "current")
        assert f"{agents} agents" in text_of(driver, "#network-facts")
    if part in ("run", "recovered"):
        assert page.is_hidden("#plot-bench-time")
        assert page.is_hidden("#strip-recovered")
        page.click("#tab-curves")
        assert page.is_hidden("#plot-recovered")
        page.click("#tab-observer")


def test_fifty_thousand_agents_are_shown_and_their_observer_says_why_it_is_not(driver: Driver) -> None:
    driver.expected.add("422")
    observe(driver)
    assert "ε =" in text_of(driver, "#budget-summary")
    with driver.answering():
        driver.type("network.n", 50_000)
    for part in set(OBSERVER) - {"recovered"}:
        wait_for(driver, part, "refused")
    # Nobody has asked for this one, so its reason is an answer.
    wait_for(driver, "recovered", "current")
    assert driver.page.is_hidden("#plot-recovered")
    assert driver.page.locator("#estimates canvas").count() == 0
    assert text_of(driver, "#budget-summary") == ""
    for panel in ("#estimates", "#budget", "#recovered-failed"):
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


@contextlib.contextmanager
def server_away(driver: Driver, port: int) -> Iterator[None]:
    """Let a page lose its server within the block, after which there is another one at the same address."""
    driver.expected.update({"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "Failed to load"})
    yield
    with served(HASTY, port):
        for part in PANELS:
            wait_for(driver, part, "current")
        driver.settle()


def test_a_page_goes_on_by_itself_with_a_server_that_was_started_again(open_page: Callable[..., Driver]) -> None:
    """All answers are lost with the server, and come back with the next one, without a click."""
    network = {"generator": "cycle", "n": 5}
    scenario = SMALL | {"network": network, "run": {"steps": FEW, "seed": 1}, "observe": {"unknown_network": {}}}
    state = {"scenario": scenario, "other": scenario, "view": {"tab": "observer"}}
    with served(HASTY) as address:
        driver = open_page(fragment_of(state), address=address)
        for part in PANELS:
            wait_for(driver, part, "current")
    with server_away(driver, int(address.rstrip("/").rpartition(":")[2])):
        driver.type("network.n", 6)
        for part in set(PANELS) - {"other"}:
            wait_for(driver, part, "refused")
        # What was compared with has not been asked for again, and is still what it was.
        assert states(driver, "other") == {"current"}
        assert "The explorer does not answer." in text_of(driver, "#verdict")
    assert "6 agents" in text_of(driver, "#network-facts")
    assert driver.page.locator(".reason").count() == 0


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
