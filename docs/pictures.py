"""Take the pictures of the explorer that the documentation shows: ``python docs/pictures.py``."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
WINDOW: dict[str, Any] = {"viewport": {"width": 1400, "height": 900}, "reduced_motion": "reduce"}
PHONE: dict[str, Any] = {
    "viewport": {"width": 400, "height": 860},
    "device_scale_factor": 1.5,
    "reduced_motion": "reduce",
}
STEPS_SHOWN = 4
# After as many steps all edges are found, and some other pairs are taken for edges.
EDGES_SHOWN = 90
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


def settled(page: Page) -> None:
    """Wait until nothing is being computed."""
    page.wait_for_timeout(600)
    page.wait_for_selector("html:not([data-busy])", state="attached")


def at_step(page: Page, step: int) -> None:
    """Go some steps on from the start, where agents still differ."""
    page.keyboard.press("Home")
    for _ in range(step):
        page.keyboard.press("ArrowRight")
    settled(page)


def take(address: str, program: str) -> None:
    """Take every picture."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for name, scheme in (("explorer-light", "light"), ("explorer-dark", "dark")):
            page = opened(browser.new_context(**WINDOW, color_scheme=scheme).new_page(), address)
            at_step(page, STEPS_SHOWN)
            page.screenshot(path=IMAGES / f"{name}.png")
        page = opened(browser.new_context(**WINDOW).new_page(), f"{address}#tour=3")
        page.get_by_label("They agree, on the average").check()
        page.click("#tour-next")
        page.wait_for_selector("html[data-tour=see] #tour-next[data-done=true]")
        settled(page)
        page.screenshot(path=IMAGES / "explorer-tour.png")
        page = opened(browser.new_context(**WINDOW).new_page(), address)
        page.click("#examples-open")
        page.get_by_text("A partial observer").click()
        settled(page)
        page.screenshot(path=IMAGES / "explorer-observer.png")
        page.click("#examples-open")
        page.click("[data-preset=unknown-network]")
        page.wait_for_selector("html[data-inferences]:not([data-busy])", state="attached")
        page.locator("#time").evaluate(GO_TO, [EDGES_SHOWN, 500])
        settled(page)
        page.screenshot(path=IMAGES / "explorer-network.png")
        page = opened(browser.new_context(**PHONE).new_page(), address)
        at_step(page, STEPS_SHOWN)
        page.screenshot(path=IMAGES / "explorer-phone.png")
        browser.close()


def main() -> None:
    """Start the explorer, take the pictures, and end it."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        sys.exit("chromium is needed to take pictures; install it and run this again")
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
