"""Panels show what belongs to the scenario, or nothing, and say why; in which order answers come is tried by Node."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from peerpressure.explorer.protocol import Limits
from tests.explorer.asking import served
from tests.explorer.driving import AGENTS, SMALL, STEPS, Driver, fragment_of
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
# What is computed from a run, each without the others.
APART = ("exact", *OBSERVER, "inference")
EVERY = ("run", *APART)
# Curves of one point.
HASTY = Limits(recovered=0, inference_seconds=0)
FEW = 8  # steps, from which a network is inferred fast
REFUSED = "agents must be few, got many; take fewer"
GONE = "The explorer does not answer."
# Where the reason is told that there is no answer.
TOLD = {
    "recovered": ["#recovered", "#strip-error"],
    "observe": ["#estimates"],
    "exposure": ["#exposure-text"],
    "budget": ["#budget"],
    "bench": ["#bench"],
    "inference": ["#inference"],
}


def states(driver: Driver, *parts: str) -> set[str]:
    """The states of all panels that show one of several answers."""
    have = "panels => panels.map(panel => document.querySelector(panel).dataset.state)"
    return set(driver.page.evaluate(have, [panel for part in parts for panel in PANELS[part]]))


def wait_for(driver: Driver, parts: Iterable[str], state: str) -> None:
    """Wait until all panels that show one of several answers are in a state."""
    have = "([panels, state]) => panels.every(panel => document.querySelector(panel).dataset.state === state)"
    panels = [panel for part in parts for panel in PANELS[part]]
    driver.wait_for(have, f"{panels} to be {state}", [panels, state])


def text_of(driver: Driver, selector: str) -> str:
    """The text that can be seen."""
    return driver.page.inner_text(selector).strip()


def ask(driver: Driver) -> None:
    """Let all panels have answers."""
    driver.wait_for_exact()
    with driver.answering():
        driver.type("run.steps", FEW)
    with contextlib.ExitStack() as answers:
        for one in ("observations", "exposures", "budgets", "benches"):
            answers.enter_context(driver.answering(one))
        driver.page.click("#tab-observer")
    with driver.answering("inferences"):
        driver.page.get_by_label("Unknown").check(force=True)
    wait_for(driver, EVERY, "current")


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


class Held:
    """Questions that wait until they are let go. A page may give one up and ask again, for as long as it likes."""

    def __init__(self, driver: Driver, paths: Iterable[str]) -> None:
        self.paths = set(paths)
        self.kept: list[Route] = []
        for path in paths:
            driver.page.route(f"**/api/{path}", self.keep)

    def path_of(self, route: Route) -> str:
        return route.request.url.rpartition("/")[2]

    def keep(self, route: Route) -> None:
        if self.path_of(route) in self.paths:
            self.kept.append(route)
        else:
            route.continue_()

    def asked(self) -> bool:
        """Whether each of them has been asked."""
        return {self.path_of(route) for route in self.kept} >= self.paths

    def let_go(self, *paths: str) -> None:
        """Answer questions, and all of their kind from now on."""
        self.paths -= {*paths}
        for route in self.kept:
            if self.path_of(route) in paths:
                route.continue_()
        self.kept = [route for route in self.kept if self.path_of(route) in self.paths]


@contextlib.contextmanager
def held(driver: Driver, paths: Iterable[str], agents: int) -> Iterator[Held]:
    """Change the network and hold questions back until they are let go, at the latest at the end of the block."""
    questions = Held(driver, paths)
    driver.type("network.n", agents)
    driver.wait_here(questions.asked, f"questions of {paths}")
    yield questions
    questions.let_go(*paths)
    wait_for(driver, EVERY, "current")
    for path in paths:
        driver.page.unroute(f"**/api/{path}")


@contextlib.contextmanager
def failing(driver: Driver, *paths: str, gone: bool = False) -> Iterator[dict[str, str]]:
    """Let questions fail, each with a text of its own; or the whole server be gone for them."""
    texts = {path: GONE if gone else f"{path}: {REFUSED}" for path in paths}
    driver.expected.update({"ERR_FAILED", "Failed to load"} if gone else {"422"})

    def answer(route: Route) -> None:
        if gone:
            route.abort()
        else:
            error = {"text": texts[route.request.url.rpartition("/")[2]], "where": None}
            route.fulfill(status=422, content_type="application/json", body=json.dumps({"error": error}))

    asked = [*paths, "catalogue"] if gone else paths
    for path in asked:
        driver.page.route(f"**/api/{path}", answer)
    yield texts
    for path in asked:
        driver.page.unroute(f"**/api/{path}")


def check_refused(driver: Driver, part: str, text: str) -> None:
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
    if part in ("run", "recovered"):
        assert page.is_hidden("#plot-bench-time")
        assert page.is_hidden("#strip-recovered")


def check_curves(driver: Driver, texts: Mapping[str, str]) -> None:
    """Nothing is left of what was refused beside the curves, either."""
    page = driver.page
    page.click("#tab-curves")
    if "exact" in texts:
        assert texts["exact"] in text_of(driver, "#exact-refused")
        assert page.is_hidden("#exact-note")
        assert page.is_hidden("#verdict-outlook")
    if {"run", "recovered"} & set(texts):
        assert page.is_hidden("#plot-recovered")
    page.click("#tab-observer")


def check_all(driver: Driver, agents: int) -> None:
    """Whatever was refused before, all is shown as soon as there is an answer again."""
    wait_for(driver, EVERY, "current")
    assert f"{agents} agents" in text_of(driver, "#network-facts")
    assert driver.page.locator(".reason").count() == 0
    assert driver.page.locator("#estimates .facet canvas").count() == 1
    driver.settle()


def check_comparison(driver: Driver) -> None:
    """What is compared with may have no answer, either."""
    page, other = driver.page, SMALL | {"run": {"steps": STEPS, "seed": 5}}
    with driver.answering("comparisons"):
        page.click("#compare")
    assert states(driver, "other") == {"current"}
    with failing(driver, "run") as texts:
        page.evaluate("given => { location.hash = given }", fragment_of({"scenario": SMALL, "other": other}))
        wait_for(driver, ["other", "run"], "refused")
        assert texts["run"] in text_of(driver, "#verdict-a")
        assert page.is_hidden("#network-a")


# Ask for the exact law of the scenario before, while it is still open whether the next one is valid.
LATE = """() => { const plain = window.plainFetch;
    window.plainFetch = async (path, options) => {
        if (path === '/api/check') {
            window.plainFetch = plain;
            window.fetch('/api/exact', { signal: new AbortController().signal });
            await new Promise(done => setTimeout(done, 100)) }
        return plain(path, options) } }"""


def test_panels_are_pale_until_their_answers_come_and_say_why_if_there_are_none(driver: Driver) -> None:
    ask(driver)
    with held(driver, ["run"], AGENTS + 1):
        assert states(driver, *EVERY) == {"pending"}
        check_pale(driver, "run")
    with held(driver, APART, AGENTS) as questions:
        assert states(driver, "run") == {"current"}
        for part in APART:
            check_pale(driver, part)
        for count, part in enumerate(APART):
            assert states(driver, *APART[count:]) == {"pending"}
            questions.let_go(part)
            wait_for(driver, [part], "current")
    with failing(driver, "run") as texts:
        driver.type("network.n", AGENTS + 1)
        wait_for(driver, EVERY, "refused")
        check_refused(driver, "run", texts["run"])
        check_curves(driver, texts)
    # Every second of the others, whose places are next to each other, and then the rest.
    for agents, lost, gone in ((AGENTS + 2, APART[::2], False), (AGENTS + 3, APART[1::2], True)):
        with failing(driver, *lost, gone=gone) as texts:
            driver.type("network.n", agents)
            wait_for(driver, lost, "refused")
            wait_for(driver, set(EVERY) - set(lost), "current")
            assert f"{agents} agents" in text_of(driver, "#network-facts")
            for part, text in texts.items():
                check_refused(driver, part, text)
            check_curves(driver, texts)
    # A server that is back is found without a question.
    check_all(driver, AGENTS + 3)
    check_comparison(driver)
    # The next test begins with its own scenario, though questions about this one are on their way.
    with driver.answering():
        driver.type("network.n", AGENTS + 1)
    driver.page.evaluate(LATE)
    driver.start_again()
    assert f"{AGENTS} agents" in text_of(driver, "#network-facts")


def test_what_an_observer_learned_goes_with_its_scenario_and_too_large_a_network_has_none(driver: Driver) -> None:
    page = driver.page
    coloured = "yes => (document.querySelector('#key-low').textContent === 'nothing learned') === yes"
    driver.observe()
    page.get_by_label("Exposure").check(force=True)
    driver.wait_for(coloured, "colours of exposure", True)
    # Exposure of another scenario does not colour the network, and nobody has asked for that of this one.
    page.click("#tab-curves")
    with driver.answering():
        driver.type("run.seed", 4)
    driver.wait_for(coloured, "other colours", False)
    with driver.answering("observations"):
        page.click("#tab-observer")
    driver.wait_for(coloured, "colours of exposure", True)
    wait_for(driver, OBSERVER, "current")
    assert "ε =" in text_of(driver, "#budget-summary")
    # Answers that are known are not asked for again.
    driver.asked.clear()
    for tab in ("curves", "observer"):
        page.click(f"#tab-{tab}")
        driver.frame()
    assert states(driver, *OBSERVER) == {"current"}
    assert driver.asked == []
    driver.expected.add("422")
    with driver.answering():
        driver.type("network.n", 50_000)
    wait_for(driver, set(OBSERVER) - {"recovered"}, "refused")
    # Nobody has asked for this one, so its reason is an answer.
    wait_for(driver, ["recovered"], "current")
    assert page.is_hidden("#plot-recovered")
    assert page.locator("#estimates canvas").count() == 0
    assert text_of(driver, "#budget-summary") == ""
    for panel in ("#estimates", "#budget", "#recovered-failed"):
        assert "agents of an observed network must be at most 4,000" in text_of(driver, panel)
    assert states(driver, "run") == {"current"}
    assert "50,000 agents" in text_of(driver, "#network-facts")


def test_a_page_goes_on_by_itself_with_a_server_that_was_started_again(open_page: Callable[..., Driver]) -> None:
    """All answers are lost with the server, and come back with the next one, without a click."""
    network = {"generator": "cycle", "n": 5}
    scenario = SMALL | {"network": network, "run": {"steps": FEW, "seed": 1}, "observe": {"unknown_network": {}}}
    state = {"scenario": scenario, "other": scenario, "view": {"tab": "observer"}}
    with served(HASTY) as address:
        driver = open_page(fragment_of(state), address=address)
        wait_for(driver, PANELS, "current")
    driver.expected.update({"ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE", "Failed to load"})
    driver.type("network.n", 6)
    wait_for(driver, set(PANELS) - {"other"}, "refused")
    # What was compared with has not been asked for again, and is still what it was.
    assert states(driver, "other") == {"current"}
    assert GONE in text_of(driver, "#verdict")
    with served(HASTY, int(address.rstrip("/").rpartition(":")[2])):
        wait_for(driver, PANELS, "current")
        driver.settle()
    assert "6 agents" in text_of(driver, "#network-facts")
    assert driver.page.locator(".reason").count() == 0
