"""Panels show what belongs to the scenario, or nothing: after a refusal, a time-out or a cancellation of any answer."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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
# What is computed from a run, each without the others; each has its own number below.
APART = ("exact", *OBSERVER, "inference")
EVERY = ("run", *APART)
# Answers that no panel shows: whether an address can be opened, the network in a file, and files to save.
UNSHOWN = {"check", "upload", *(name for name in API if name.startswith("export/"))}
# The part of the page that each of the server's routes answers for; a network and its run are shown together.
PATHS = {name: "run" if name == "network" else name for name in API if name not in UNSHOWN}
# Curves of one point.
HASTY = Limits(recovered=0, inference_seconds=0)
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


def states(driver: Driver, *parts: str) -> set[str]:
    """The states of all panels that show one of several answers."""
    have = "panels => panels.map(panel => document.querySelector(panel).dataset.state)"
    return set(driver.page.evaluate(have, [panel for part in parts for panel in PANELS[part]]))


def wait_for(driver: Driver, part: str, state: str) -> None:
    wait_for_all(driver, [part], state)


def wait_for_all(driver: Driver, parts: Iterable[str], state: str) -> None:
    """Wait until all panels that show one of several answers are in a state."""
    have = "([panels, state]) => panels.every(panel => document.querySelector(panel).dataset.state === state)"
    panels = [panel for part in parts for panel in PANELS[part]]
    driver.page.wait_for_function(have, arg=[panels, state], polling=POLLING, timeout=PATIENCE)


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


def ask(driver: Driver) -> None:
    """Let all panels have answers."""
    driver.wait_for_exact()
    with driver.answering():
        driver.type("run.steps", FEW)
    observe(driver)
    with driver.answering("inferences"):
        driver.page.get_by_label("Unknown").check(force=True)
    wait_for_all(driver, EVERY, "current")
    assert states(driver, *EVERY) == {"current"}


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


def check_pale(driver: Driver, part: str) -> None:
    """What is shown of the last answer is pale, and can be read."""
    words, pale, ground = driver.page.evaluate(PALE, PANELS[part][0])
    assert words == pale
    light, dark = sorted((luminance(parsed(pale)), luminance(parsed(ground))), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@contextlib.contextmanager
def held(driver: Driver, *paths: str) -> Iterator[dict[str, list[Route]]]:
    """Hold questions back within the block, as soon as each has been asked; they are answered once let go."""
    questions: dict[str, list[Route]] = {path: [] for path in paths}

    def hold(route: Route) -> None:
        questions[route.request.url.rpartition("/")[2]].append(route)

    for path in paths:
        driver.page.route(f"**/api/{path}", hold)
    driver.type("network.n", AGENTS + 1)
    while not all(questions.values()):
        driver.page.wait_for_timeout(20)
    yield questions
    for path in paths:
        for route in questions[path]:
            route.continue_()
        questions[path].clear()
        driver.page.unroute(f"**/api/{path}")
    wait_for_all(driver, EVERY, "current")


def pale_until_answered(driver: Driver) -> None:
    """Each of the panels is pale until its own answer comes, whatever else has come by then."""
    for path in ("network", "run"):
        with held(driver, path):
            assert states(driver, *EVERY) == {"pending"}
            check_pale(driver, "run")
        with driver.answering():
            driver.type("network.n", AGENTS)
    with held(driver, *APART) as questions:
        assert states(driver, "run") == {"current"}
        for part in APART:
            check_pale(driver, part)
        for count, part in enumerate(APART):
            assert states(driver, *APART[count:]) == {"pending"}
            for route in questions[part]:
                route.continue_()
            questions[part].clear()
            wait_for(driver, part, "current")


def refused(driver: Driver, failure: str, paths: Iterable[str], agents: int) -> None:
    """Let questions fail, each with a text of its own: its panels say it, and all others have their answers."""
    status, text = FAILURES[failure]
    texts = {path: f"{path}: {text}" if status else text for path in paths}
    for path, told in texts.items():
        fail(driver, path, status, told)
    driver.type("network.n", agents)
    parts = {PATHS[path] for path in texts}
    wait_for_all(driver, parts, "refused")
    wait_for_all(driver, () if "run" in parts else set(EVERY) - parts, "current")
    for path, told in texts.items():
        check_refused(driver, PATHS[path], told, agents)
    check_curves(driver, {PATHS[path]: told for path, told in texts.items()})
    for path in texts:
        driver.page.unroute(f"**/api/{path}")
    driver.page.unroute("**/api/catalogue")


def check_all(driver: Driver, agents: int) -> None:
    """Whatever was refused before, all is shown as soon as there is an answer again."""
    wait_for_all(driver, EVERY, "current")
    assert f"{agents} agents" in text_of(driver, "#network-facts")
    assert driver.page.locator(".reason").count() == 0
    assert driver.page.locator("#estimates .facet canvas").count() == 1
    driver.settle()


def test_panels_are_pale_until_their_answers_come_and_say_why_if_there_are_none(driver: Driver) -> None:
    ask(driver)
    pale_until_answered(driver)
    # A refusal and a time-out have the same status, and texts of their own. One failure may follow another.
    for path in ("network", "run"):
        # A network that is known is not asked for again.
        for agents, failure in zip((AGENTS + 2, AGENTS + 3, AGENTS + 2, AGENTS + 1), FAILURES, strict=True):
            refused(driver, failure, [path], agents)
            if failure == "too late":
                driver.type("network.n", AGENTS)
                check_all(driver, AGENTS)
        # A server that is back is found without a question.
        check_all(driver, AGENTS + 1)
    # Each of the others fails in each of the ways once, and whichever two are taken, once while the other one is
    # answered: their numbers, from 1 on, differ in a binary digit.
    for digit, failure in enumerate(list(FAILURES)[1:]):
        for value in (1, 0):
            failing = [path for number, path in enumerate(APART, 1) if number >> digit & 1 == value]
            refused(driver, failure, failing, AGENTS + 1 - value)
            if failure == "gone":
                check_all(driver, AGENTS + 1 - value)


# Where the reason is told that there is no answer.
TOLD = {
    "recovered": ["#recovered", "#strip-error"],
    "observe": ["#estimates"],
    "exposure": ["#exposure-text"],
    "budget": ["#budget"],
    "bench": ["#bench"],
    "inference": ["#inference"],
}


def check_refused(driver: Driver, part: str, text: str, agents: int) -> None:
    """What was refused is replaced by the reason."""
    page = driver.page
    every = [panel for panels in TOLD.values() for panel in panels]
    for panel in ["#picture-b", "#verdict", *every] if part == "run" else TOLD.get(part, []):
        assert text in text_of(driver, panel), panel
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
        assert states(driver, *EVERY) == {"refused"}
    else:
        assert f"{agents} agents" in text_of(driver, "#network-facts")
    if part in ("run", "recovered"):
        assert page.is_hidden("#plot-bench-time")
        assert page.is_hidden("#strip-recovered")


def check_curves(driver: Driver, texts: Mapping[str, str]) -> None:
    """Nothing is left of what was refused beside the curves, either."""
    page = driver.page
    if not {"run", "exact", "recovered"} & set(texts):
        return
    page.click("#tab-curves")
    if "exact" in texts:
        assert texts["exact"] in text_of(driver, "#exact-refused")
        assert page.is_hidden("#exact-note")
        assert page.is_hidden("#verdict-outlook")
    if {"run", "recovered"} & set(texts):
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


@contextlib.contextmanager
def server_away(driver: Driver, port: int) -> Iterator[None]:
    """Let a page lose its server within the block, after which there is another one at the same address."""
    driver.expected.update({"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "Failed to load"})
    yield
    with served(HASTY, port):
        wait_for_all(driver, PANELS, "current")
        driver.settle()


def test_a_page_goes_on_by_itself_with_a_server_that_was_started_again(open_page: Callable[..., Driver]) -> None:
    """All answers are lost with the server, and come back with the next one, without a click."""
    network = {"generator": "cycle", "n": 5}
    scenario = SMALL | {"network": network, "run": {"steps": FEW, "seed": 1}, "observe": {"unknown_network": {}}}
    state = {"scenario": scenario, "other": scenario, "view": {"tab": "observer"}}
    with served(HASTY) as address:
        driver = open_page(fragment_of(state), address=address)
        wait_for_all(driver, PANELS, "current")
    with server_away(driver, int(address.rstrip("/").rpartition(":")[2])):
        driver.type("network.n", 6)
        wait_for_all(driver, set(PANELS) - {"other"}, "refused")
        # What was compared with has not been asked for again, and is still what it was.
        assert states(driver, "other") == {"current"}
        assert "The explorer does not answer." in text_of(driver, "#verdict")
    assert "6 agents" in text_of(driver, "#network-facts")
    assert driver.page.locator(".reason").count() == 0


def test_answers_that_are_known_are_not_asked_for_again_when_the_observer_is_looked_at_again(driver: Driver) -> None:
    page = driver.page
    observe(driver)
    driver.asked.clear()
    for tab in ("curves", "observer"):
        page.click(f"#tab-{tab}")
        driver.frame()
    assert states(driver, *OBSERVER) == {"current"}
    assert driver.asked == []
    # One that was refused is.
    fail(driver, "budget", 422, "no")
    with driver.answering("observations"):
        driver.type("run.seed", 2)
    wait_for(driver, "budget", "refused")
    page.unroute("**/api/budget")
    page.click("#tab-curves")
    with driver.answering("budgets"):
        page.click("#tab-observer")
    assert states(driver, "budget") == {"current"}


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


# Ask for the exact law of the scenario before, while it is still open whether the next one is valid.
LATE = """() => { const plain = window.plainFetch;
    window.plainFetch = async (path, options) => {
        if (path === '/api/check') {
            window.plainFetch = plain;
            window.fetch('/api/exact', { signal: new AbortController().signal });
            await new Promise(done => setTimeout(done, 100)) }
        return plain(path, options) } }"""


def test_a_test_begins_with_the_small_scenario_while_questions_about_another_are_on_their_way(driver: Driver) -> None:
    with driver.answering():
        driver.type("network.n", AGENTS + 1)
    driver.page.evaluate(LATE)
    driver.start_again()
    assert f"{AGENTS} agents" in text_of(driver, "#network-facts")
