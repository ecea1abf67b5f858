"""Driving the explorer's page: act, wait for the answer, read what is shown."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.waiting import PATIENCE, processor_time, wait_until

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Download, Error, Locator, Page, Request, Route

# Milliseconds for one click or one look, of which a busy machine needs a few; what is computed is waited for by name,
# for as long as there is progress.
CLICK = 1e3 * PATIENCE
PHONE = {"width": 400, "height": 800}
STILL: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce", "has_touch": True}


# Fonts of Matplotlib, which no machine lacks, in the place of the page's own; DejaVu is a fifth wider.
WIDE_FONTS = {"inter/*.woff2": "DejaVuSans.ttf", "stix*/*.woff2": "DejaVuSerif.ttf"}

# What most tests begin with: like the page's own start, and small.
AGENTS, STEPS = 24, 40
SMALL: dict[str, Any] = {
    "network": {"generator": "barabasi_albert", "n": AGENTS, "m": 2},
    "agents": {
        "hidden": {"law": "uniform", "low": 0, "high": 1},
        "stubbornness": {"law": "uniform", "low": 0.5, "high": 1},
    },
    "pressure": {"kind": "linear", "slope": 1},
    "noise": {"law": "gaussian", "std": 0.5},
    "run": {"steps": STEPS, "replicates": 3, "seed": 1},
}


# What is not for people who do not program: names of a program, its numbers, and the words of a proof.
JARGON = re.compile(r"\b[a-z]+_[a-z_]+\b|\b[a-z_]+\(\)|\b\d(?:\.\d+)?e[+-]\d+|local exponent")


# Hold back questions for the exact law, and note when the run of a scenario is asked for. What belongs to the scenario
# before may still be asked for in between, so only a run counts that is asked for once the server has found this
# scenario to be valid.
HOLD = """scenario => {
    const question = JSON.stringify({ scenario });
    let valid = false;
    window.plainFetch ??= window.fetch;
    window.heldBack = true;
    window.askExact = null;
    window.runAsked = false;
    window.fetch = (path, options) => {
        if (path === '/api/exact' && window.heldBack) return new Promise((resolve, reject) => {
            const askExact = () => window.plainFetch(path, options).then(resolve, reject);
            window.askExact = askExact;
            options.signal.addEventListener('abort', () => {
                if (window.askExact === askExact) window.askExact = null;
                reject(options.signal.reason) }) });
        const answer = window.plainFetch(path, options);
        if (options?.body === question) {
            if (path === '/api/check') answer.then(() => { valid = true }, () => {});
            window.runAsked ||= valid && path === '/api/run' }
        return answer } }"""
# Do so from the beginning on a page that is about to be loaded, if it was asked to.
HOLD_WHEN_LOADED = f"""() => {{ const asked = self.origin === 'null' ? null : sessionStorage.getItem('hold');
    if (asked) ({HOLD})(JSON.parse(asked));
    if (asked) sessionStorage.removeItem('hold') }}"""
# Go to the fragment of a scenario, by loading the page anew or without, and wait for its run.
LOAD = """([fragment, scenario]) => { sessionStorage.setItem('hold', JSON.stringify(scenario));
    history.replaceState(null, '', '/' + fragment);
    location.reload() }"""
GO = f"""([fragment, scenario]) => {{ ({HOLD})(scenario);
    document.activeElement.blur();
    location.hash = fragment }}"""
STARTED = "() => window.runAsked && !document.documentElement.hasAttribute('data-busy')"
# Whether an answer has come since, and nothing is being computed.
ANSWERED = """([name, before]) => { const { dataset } = document.documentElement;
    return (dataset[name] ?? '0') !== before && !('busy' in dataset) }"""
POLLING = 20  # milliseconds; a browser that is asked at every frame has to draw each of them
GLANCE = 1_000  # milliseconds after which waiting looks for progress elsewhere than on the page
# What a page shows of its work. Whatever of it changes is progress, and a test that fails tells all of it.
SHOWN = """() => { const text = id => document.getElementById(id)?.textContent ?? '';
    return JSON.stringify({ ...document.documentElement.dataset,
        panels: [...document.querySelectorAll('[data-answers]')].map(({ dataset }) => [dataset.answers, dataset.state]),
        message: text('message-text'), verdict: text('verdict'), time: text('time-shown') }) }"""
# Whether something holds, or at least something else is shown than before.
# A page that is only just being loaded has no document yet.
WATCH = """([given, before]) => { if (!document.documentElement) return false;
    const shown = (%s)(), holds = Boolean((%s)(given));
    return (holds || shown !== before) && [holds, shown] }"""


ROOT = Path(__file__).parents[2]
AXE = ROOT / "tools" / "js" / "node_modules" / "axe-core" / "axe.min.js"
# Whatever axe-core finds wrong, with the places.
AUDIT = """async within => {
    const { violations } = await axe.run(within, { resultTypes: ['violations'] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`) }"""


def missing(package: str, why: str) -> NoReturn:
    """Skip a test that needs a package of Node which is not there, or fail where all must be there."""
    if os.environ.get("CI"):
        pytest.fail(f"{package} was not found: {why}")
    pytest.skip(f"{package} was not found; `make test` installs it")


def violations(page: Page, within: str = "html") -> list[str]:
    """Return what axe-core finds wrong with a part of a page as it is: rules, and the elements that break them."""
    if not AXE.exists():
        missing("axe-core", "pages must be accessible")
    if page.evaluate("() => typeof axe") == "undefined":
        page.evaluate(AXE.read_text("utf-8"))
    return list(page.evaluate(AUDIT, within))


def fragment_of(state: object) -> str:
    """A state as an address holds it, packed by other means than the page's own."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(json.dumps(state).encode()) + packer.flush()
    return "#" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _answer(file: Path) -> Callable[[Route], None]:
    return lambda route: route.fulfill(path=file)


class Driver:
    """One page of the explorer, with everything that it asked for and complained about."""

    def __init__(self, page: Page, address: str, expected: Collection[str] = ()) -> None:
        self.page = page
        self.address = address
        self.asked: list[Request] = []
        self.open_questions: list[Request] = []
        self.said: list[str] = []
        self.events = 0
        self.starts = 0
        self.shown = ""
        self.left = False
        self.expected = set(expected)
        self.server: int | None = None
        self.pictures: Path | None = None
        page.set_default_timeout(CLICK)
        page.add_init_script(f"({HOLD_WHEN_LOADED})()")
        page.on("request", self._note)
        page.on("requestfinished", self._note_end)
        page.on("requestfailed", self._note_end)
        page.on("console", self._hear)
        page.on("pageerror", self._complain)

    def _note(self, request: Request) -> None:
        self.events += 1
        self.asked.append(request)
        self.open_questions.append(request)

    def _note_end(self, request: Request) -> None:
        self.events += 1
        self.open_questions = [one for one in self.open_questions if one != request]

    def _complain(self, error: Error) -> None:
        if not self.left:
            self.said.append(str(error))

    def _hear(self, message: ConsoleMessage) -> None:
        # A browser reports every refused request; those that a test provokes are no fault of the page.
        if not self.left and not any(words in message.text for words in self.expected):
            self.said.append(f"{message.text} {message.location['url']}")

    def forget(self) -> None:
        """Forget all that was asked and said so far."""
        self.asked.clear()
        self.said.clear()
        self.expected.clear()

    def dress(self) -> None:
        """Put wide fonts in the place of the page's own, from its next opening on."""
        from matplotlib import get_data_path

        for pattern, name in WIDE_FONTS.items():
            self.page.route(f"**/vendor/{pattern}", _answer(Path(get_data_path(), "fonts", "ttf", name)))

    def leave(self) -> None:
        """Have the page loaded anew the next time; nobody listens to it until then."""
        self.left = True
        self.forget()

    def reset(self) -> None:
        """Take back what a test may have changed that outlasts a scenario."""
        self.page.unroute_all(behavior="ignoreErrors")
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce", media="screen")
        if self.page.url.startswith(self.address):
            self.page.evaluate("() => { localStorage.clear(); delete HTMLAnchorElement.prototype.click }")
            self.page.evaluate(
                "() => document.querySelectorAll('.verdict details').forEach(one => { one.open = false })"
            )

    # Waiting

    def wait_for(self, condition: str, what: str, given: Any = None, polling: int = POLLING) -> None:
        """Wait until a condition holds in the page, a function of what is given, for as long as there is progress."""
        from playwright.sync_api import TimeoutError as NothingNew

        watch = WATCH % (SHOWN, condition)

        def holds() -> bool:
            try:
                seen = self.page.wait_for_function(watch, arg=[given, self.shown], polling=polling, timeout=GLANCE)
            except NothingNew:
                return False
            held, self.shown = seen.json_value()
            return bool(held)

        wait_until(holds, what, progress=self._progress, show=self.show, pause=lambda _: None)

    def wait_here(self, holds: Callable[[], Any], what: str) -> None:
        """Wait until a condition holds in this process, for as long as there is progress."""
        wait_until(holds, what, progress=self._progress, show=self.show, pause=self._pause)

    def _pause(self, seconds: float) -> None:
        self.page.wait_for_timeout(1e3 * seconds)

    def _progress(self) -> object:
        # A server that waits for questions uses the processor, too, for some milliseconds in a minute.
        work = round(2 * processor_time(self.server)) if self.server else 0
        return self.shown, self.events, work

    def show(self) -> str:
        """What is to be seen, for a test that fails."""
        waiting = [request.url for request in self.open_questions]
        shot = "none"
        if self.pictures:
            shot = str(self.pictures / "page.png")
            self.page.screenshot(path=shot)
        return f"The page shows {self.shown}; without an answer: {waiting}; it said {self.said}; picture: {shot}"

    def see(self, selector: str) -> None:
        """Wait until something is in sight."""
        seen = "selector => document.querySelector(selector)?.checkVisibility({ visibilityProperty: true })"
        self.wait_for(seen, f"{selector} to be seen", selector)

    def gone(self, selector: str) -> None:
        """Wait until something is out of sight."""
        gone = "selector => !document.querySelector(selector)?.checkVisibility({ visibilityProperty: true })"
        self.wait_for(gone, f"{selector} to be gone", selector)

    def exist(self, selector: str) -> None:
        """Wait until something is on the page, whether it is seen or not."""
        self.wait_for("selector => document.querySelector(selector)", f"{selector} on the page", selector)

    def settle(self) -> None:
        """Wait until nothing is being computed."""
        self.wait_for("() => !document.documentElement.hasAttribute('data-busy')", "all that is being computed")

    @contextlib.contextmanager
    def answering(self, what: str = "runs") -> Iterator[None]:
        """Wait after an action for its answer to be shown."""
        before = self.page.locator("html").get_attribute(f"data-{what}") or "0"
        if what == "exacts":
            self.page.evaluate("() => { window.heldBack = false; window.askExact?.(); window.askExact = null }")
        yield
        self.wait_for(ANSWERED, f"an answer of the {what}", [what, before])

    def wait_for_exact(self) -> None:
        """Put the question for the exact law, and wait for the answer."""
        with self.answering("exacts"):
            pass

    def wait_for_depth(self, depth: int) -> None:
        """Wait until so many changes can be undone; one is settled when nothing has followed it for a moment."""
        self.wait_for("depth => history.state?.depth === depth", f"{depth} changes in the history", depth)

    def wait_for_other_ink(self, selector: str, before: str) -> None:
        """Wait until something else is drawn on a canvas; a busy machine may take several frames."""
        drawn = "([selector, before]) => document.querySelector(selector).toDataURL() !== before"
        self.wait_for(drawn, f"another picture on {selector}", [selector, before], polling=100)

    def frame(self) -> None:
        """Wait until the browser has drawn once more."""
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def rest(self) -> None:
        """Let the page's own clock go on for longer than any of its delays, for what must not happen meanwhile."""
        self.page.evaluate("() => new Promise(done => setTimeout(done, 400))")

    # Opening

    def start_again(self) -> None:
        """Show the small scenario: on a page that is open by its address alone, which takes a third of loading it.

        The exact law takes longest to compute, so the question for it is held back until it is asked for.
        """
        if not self.page.url.startswith(self.address):
            self.be_open()
        self.forget()
        self.starts += 1
        fragment = fragment_of({"scenario": SMALL, "start": self.starts})
        if self.left:
            with self.page.expect_navigation(wait_until="commit"):
                self.page.evaluate(LOAD, [fragment, SMALL])
            self.left = False
        else:
            self.page.evaluate(GO, [fragment, SMALL])
        self.wait_for(STARTED, "the run of the small scenario")
        # Requests are told of beside answers to what is evaluated, and sometimes after them.
        self.wait_here(lambda: any(one.url.endswith("/api/run") for one in self.asked), "word of the question for it")

    def be_open(self) -> None:
        """Open the page unless it is, whatever it shows then."""
        if self.left or not self.page.url.startswith(self.address):
            self.open(fragment_of({"scenario": {"network": {"generator": "k2"}, "run": {"steps": 1}}}))

    def open(self, fragment: str = "") -> None:
        """Go to the page and wait for its first picture."""
        self.left = False
        if self.page.url.startswith(self.address):
            # Another fragment alone would not load the page anew.
            with self.page.expect_navigation(wait_until="commit"):
                self.page.evaluate(
                    "given => { history.replaceState(null, '', '/' + given); location.reload() }", fragment
                )
        else:
            self.page.goto(self.address + fragment, wait_until="commit")
        self.exist("html[data-runs]:not([data-busy])")

    def go(self, state: Mapping[str, Any], *answers: str) -> None:
        """Show another state by its address alone, with its run and further answers."""
        with contextlib.ExitStack() as answering:
            for one in ("runs", *answers):
                answering.enter_context(self.answering(one))
            self.page.evaluate("given => { location.hash = given }", fragment_of(state))

    def open_preset(self, name: str) -> None:
        """Open an example."""
        self.page.click("#examples-open")
        card = self.page.locator(f'[data-preset="{name}"]')
        with self.answering():
            card.click()
        assert card.get_attribute("aria-pressed") == "true"
        assert self.page.is_hidden("#examples")

    def observe(self) -> None:
        """Turn to the observer, and wait for its estimates."""
        with self.answering("observations"):
            self.page.click("#tab-observer")

    # Acting

    def row(self, path: str) -> Locator:
        """The control for a key of the scenario."""
        return self.page.locator(f'[data-path="{path}"]').first

    def type(self, path: str, value: float) -> None:
        """Type a number into the field of a parameter."""
        self.row(path).locator("> input[type=number]").fill(str(value))

    def choose(self, path: str, kind: str) -> None:
        """Choose the kind of something, and wait for the run."""
        with self.answering():
            self.row(path).locator("select").first.select_option(kind)

    def go_to(self, step: int) -> None:
        """Show a step, by the time slider."""
        end = float(self.page.inner_text("#time-end").replace(",", ""))
        logarithmic = self.page.get_attribute("#log-time", "aria-pressed") == "true"
        part = np.log1p(step) / np.log1p(end) if logarithmic else step / end
        self.page.locator("#time").evaluate(
            "(slider, part) => { slider.value = part; slider.dispatchEvent(new Event('input')) }", float(part)
        )

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def resize(self, width: int, height: int) -> None:
        """Give the window another size; it leaves the full screen later than the page says so."""
        from playwright.sync_api import Error

        def resized() -> bool:
            try:
                self.page.set_viewport_size({"width": width, "height": height})
            except Error as error:
                if "restore it to normal state" not in str(error):
                    raise
                return False
            return True

        self.wait_here(resized, "a window of another size")
        self.frame()

    def take(self, what: str, folder: Path) -> Path:
        """Save one of the files that the menu offers."""
        downloads: list[Download] = []

        def note(one: Download) -> None:
            downloads.append(one)

        self.page.once("download", note)
        self.page.click("#share")
        item = self.page.locator(f'[data-take="{what}"]')
        if not item.is_visible():
            group = str(item.locator("..").get_attribute("id")).removeprefix("share-")
            self.page.click(f"[data-more={group}]")
        item.click()
        self.wait_here(lambda: downloads, f"the file of {what}")
        place = folder / downloads[0].suggested_filename
        downloads[0].save_as(place)
        return place

    # Reading

    def check(self) -> None:
        """The page must have said nothing and asked nobody but its own server."""
        assert self.said == [], self.said
        strangers = [request.url for request in self.asked if not request.url.startswith((self.address, "blob:"))]
        assert strangers == [], strangers

    def number(self, selector: str) -> float:
        """The number behind what is shown somewhere."""
        return float(self.page.locator(selector).get_attribute("data-value") or "nan")

    def legend(self, key: str) -> float:
        """The number of a curve at the time that is shown."""
        return self.number(f'.legend [data-key="{key}"] output')

    def focused(self) -> str:
        """The id of what has the focus."""
        return str(self.page.evaluate("() => document.activeElement.id"))

    def sent(self, endpoint: str) -> dict[str, Any]:
        """The last question that was put to an endpoint."""
        body = [request.post_data for request in self.asked if request.url.endswith(f"/api/{endpoint}")][-1]
        return dict(json.loads(body or "{}"))

    def scenario(self, endpoint: str = "run") -> dict[str, Any]:
        """The scenario that was last sent."""
        return dict(self.sent(endpoint)["scenario"])

    def link(self) -> str:
        """The fragment that holds all that is shown, as the menu gives it."""
        # What an earlier link has left would pass for this one's.
        self.page.evaluate("() => { document.getElementById('message-text').textContent = '' }")
        self.page.click("#share")
        self.page.click("[data-take=link]")
        held = "() => document.getElementById('message').textContent.includes('contains all settings')"
        self.wait_for(held, "word of the link")
        return str(self.page.evaluate("() => location.hash"))

    def linked(self) -> dict[str, Any]:
        """The state that the link holds."""
        return dict(self.module("address", "await module.decodeState(given)", self.link()))

    def pixels(self) -> NDArray[np.uint8]:
        """The picture of the network, (height, width, 4)."""
        from PIL import Image

        address = self.ink("#network")
        picture = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
        return np.asarray(picture.convert("RGBA"))

    def ink(self, selector: str) -> str:
        """What is drawn on a canvas, after the changes that wait for the next frame."""
        self.frame()
        return str(self.page.locator(selector).evaluate("canvas => canvas.toDataURL()"))

    def module(self, name: str, expression: str, given: Any = None) -> Any:
        """Call what one of the page's modules exports, within the page."""
        return self.page.evaluate(
            f"async given => {{ const module = await import('/static/js/{name}.js'); return ({expression}) }}", given
        )
