"""Pictures of the explorer to look at: ``python -m tests.explorer.recording build/pictures``.

The page as it opens, the first view and eight examples in five windows, light and dark.
"""

from __future__ import annotations

import argparse
import itertools
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser import chromium
from tests.explorer.driving import Driver

WINDOWS = {
    "1920x1080": (1920, 1080),
    "1440x900": (1440, 900),
    "1280x720": (1280, 720),
    "tablet": (768, 1024),
    "phone": (390, 844),
}
EXAMPLES = ("graph", "too_fast_tree", "residuals", "karate", "many", "partial_observer", "followers", "rival_camps")


def pages(browser: Browser, address: str, windows: list[str], schemes: list[str]) -> Iterator[tuple[str, Driver]]:
    """Open a page in each window and scheme."""
    for window, scheme in itertools.product(windows, schemes):
        width, height = WINDOWS[window]
        options: dict[str, Any] = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
        context = browser.new_context(**options, device_scale_factor=2 if window == "phone" else 1)
        yield f"{window}-{scheme}", Driver(context.new_page(), address)
        context.close()


def shoot(page: Page, folder: Path, name: str) -> None:
    """Take a picture of the window."""
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"{name}.png")


def record_start(driver: Driver, folder: Path) -> None:
    """Take the page as a newcomer finds it, when the run has played: the window, and all that scrolling shows."""
    page = driver.page
    page.emulate_media(reduced_motion="reduce")
    driver.open()
    page.wait_for_timeout(1_500)
    driver.settle()
    shoot(page, folder, "window")
    page.screenshot(path=folder / "whole.png", full_page=True)


def record_views(driver: Driver, folder: Path) -> None:
    """Take the first view and the examples, where agents still differ."""
    driver.page.emulate_media(reduced_motion="reduce")
    driver.open()
    for number, example in enumerate(("", *EXAMPLES)):
        if example:
            driver.open_preset(example)
        driver.page.wait_for_timeout(400)
        driver.go_to(3)
        driver.settle()
        driver.frame()
        shoot(driver.page, folder, f"{number}-{example or 'first'}")


def main() -> None:
    """Start the explorer, take the pictures, and end it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--window", choices=WINDOWS, action="append")
    parser.add_argument("--scheme", choices=["light", "dark"], action="append")
    parser.add_argument("--only", choices=["start", "views"])
    chosen = parser.parse_args()
    command = [sys.executable, "-u", "-m", "peerpressure", "explore", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as explorer, sync_playwright() as play:
        assert explorer.stdout is not None
        address = re.search(r"http://\S+/", explorer.stdout.readline())
        assert address is not None
        browser = play.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        windows, schemes = chosen.window or [*WINDOWS], chosen.scheme or ["light", "dark"]
        try:
            for name, driver in pages(browser, address[0], windows, schemes):
                for what, record in (("start", record_start), ("views", record_views)):
                    if chosen.only in (None, what):
                        record(driver, chosen.folder / f"{what}-{name}")
                driver.check()
        finally:
            explorer.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
