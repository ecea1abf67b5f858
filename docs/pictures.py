"""Take the pictures of the explorer and of reports that the documentation shows: ``python -m docs.pictures``."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright
from tests.browser import chromium

import peerpressure as pp
from peerpressure.cli import invoke

IMAGES = Path(__file__).parent / "images"
WINDOW: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"}
STEPS_SHOWN = 4
# Agents are close to each other by then.
COMPARED_STEPS = 40
# After as many steps nearly all edges are found. This time is among the first for which they are inferred, and is there
# also on a machine that does much else.
EDGES_SHOWN = 112
# The slider's way is that of the axis of time, which is logarithmic here.
GO_TO = """(slider, [step, end]) => {
    slider.value = Math.log1p(step) / Math.log1p(end);
    slider.dispatchEvent(new Event('input')) }"""


def opened(page: Page, address: str) -> Page:
    """Open the explorer and wait for its first picture."""
    page.goto(address)
    page.wait_for_selector("html[data-runs]:not([data-busy])", state="attached")
    page.evaluate("document.fonts.ready")
    return page


# Exact curves take longest, and the page is not busy with them.
COMPLETE = """() => !document.documentElement.hasAttribute('data-busy')
    && document.getElementById('exact-note').dataset.state !== 'pending'"""


def settled(page: Page) -> None:
    """Wait until everything is there."""
    page.wait_for_timeout(600)
    page.wait_for_function(COMPLETE)


def at_step(page: Page, step: int) -> None:
    """Go some steps on from the start, where agents still differ."""
    page.keyboard.press("Home")
    for _ in range(step):
        page.keyboard.press("ArrowRight")
    settled(page)


def compare(page: Page) -> None:
    """Show two scenarios side by side: the first one, and the same with a pressure that grows faster."""
    page.click("#laboratory")
    page.click("#compare")
    page.locator('[data-path="pressure"] select').first.select_option("stretched_exponential")
    page.locator("#time").evaluate(GO_TO, [COMPARED_STEPS, 200])
    page.evaluate("() => document.activeElement.blur()")
    settled(page)


def observe(page: Page) -> None:
    """Show an observer of half of the agents."""
    page.click("#laboratory")
    page.click("#examples-open")
    page.get_by_text("A partial observer").click()
    page.wait_for_selector("html[data-benches]:not([data-busy])", state="attached")
    page.click("#to-end")
    page.evaluate("() => document.activeElement.blur()")
    settled(page)


def infer(page: Page) -> None:
    """Show what an observer finds who does not know the network."""
    page.click("#laboratory")
    page.click("#examples-open")
    page.click("[data-preset=unknown_network]")
    page.wait_for_selector("html[data-inferences]:not([data-busy])", state="attached")
    page.locator("#time").evaluate(GO_TO, [EDGES_SHOWN, 500])
    settled(page)


def begin(page: Page) -> None:
    """Show the first steps."""
    at_step(page, STEPS_SHOWN)


# Name, window, and what is done before the picture is taken.
PICTURES: tuple[tuple[str, dict[str, Any], Callable[[Page], None]], ...] = (
    ("explorer", WINDOW, begin),
    ("explorer-observer", WINDOW, observe),
    ("explorer-network", WINDOW, infer),
    ("explorer-comparison", WINDOW, compare),
)


# The first screen of a report.
REPORT: dict[str, Any] = {"viewport": {"width": 1000, "height": 1150}, "reduced_motion": "reduce"}


def take_reports(program: str) -> None:
    """Take the first screens of the report of a run and of that of a comparison."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        invoke(["new", name, "--example", "karate"])
        invoke(["run", str(folder / "karate.toml"), "--out", str(folder / "run")])
        network = pp.networks.named("florentine")
        model = pp.Model(network, range(network.n), pressure=0.5, noise=pp.Gaussian(2.0))
        pp.simulate(model, 60, seed=2).to_dataframe().drop(columns="replicate").to_csv(folder / "answers.csv")
        edges = "\n".join(f"{a},{b}" for a, b in network.to_networkx().edges)
        (folder / "friends.csv").write_text(f"source,target\n{edges}\n", encoding="utf-8")
        invoke(["compare", f"{name}/answers.csv", "--network", f"{name}/friends.csv", "--out", f"{name}/compare"])
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for report, picture in (("run", "report"), ("compare", "comparison-report")):
            for scheme, ending in (("light", ""), ("dark", "-dark")):
                page = browser.new_context(**REPORT, color_scheme=scheme).new_page()
                page.goto((folder / report / "report.html").as_uri())
                page.wait_for_load_state("networkidle")
                page.screenshot(path=IMAGES / f"{picture}{ending}.png")
                page.context.close()
        browser.close()


def take(address: str, program: str) -> None:
    """Take every picture in both colour schemes; docs/dark.py puts them together."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, window, prepare in PICTURES:
            for scheme, ending in (("light", ""), ("dark", "-dark")):
                page = opened(browser.new_context(**window, color_scheme=scheme).new_page(), address)
                prepare(page)
                page.screenshot(path=IMAGES / f"{name}{ending}.png")
                page.context.close()
        browser.close()


def main() -> None:
    """Start the explorer, take the pictures, and end it."""
    program = chromium()
    if program is None:
        sys.exit("chromium is needed to take pictures; install it and run this again")
    take_reports(program)
    command = [sys.executable, "-u", "-m", "peerpressure", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as explorer:
        assert explorer.stdout is not None
        address = re.search(r"http://\S+/", explorer.stdout.readline())
        assert address is not None
        try:
            take(address[0], program)
        finally:
            explorer.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
