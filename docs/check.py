"""Open every page of the built documentation in a browser: ``python docs/check.py build/docs [pattern]``.

A page must not write to the console, ask another host, cut off code at 1,300 px, or be wider than a phone of 390 px.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

WIDE, NARROW = 1300, 390
# Where a block of code is wider than its box, which then scrolls; the text of its longest line.
CUT_OFF = """() => [...document.querySelectorAll('div.highlight pre')]
  .filter(block => block.scrollWidth > block.clientWidth + 1)
  .map(block => block.innerText.split('\\n').reduce((a, b) => a.length > b.length ? a : b))"""
# What sticks out of a page on its right; what stands in a box that scrolls does not.
TOO_WIDE = """() => {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll('article *')]
    .filter(one => one.getBoundingClientRect().right > width + 1 && !one.closest('pre, .table-wrapper, .katex-display'))
    .map(one => `${one.tagName} ${one.className}: ${one.textContent.trim().slice(0, 60)}`).slice(0, 3)
    .concat(['the page scrolls sideways'])
}"""


def problems(page: Page, address: str) -> Iterator[str]:
    """Yield what is wrong with one page."""
    page.set_viewport_size({"width": WIDE, "height": 900})
    page.goto(address, wait_until="load")
    page.wait_for_function("!document.querySelector('.math') || document.querySelector('.katex')")
    yield from (f"code is cut off at {WIDE} px: {line}" for line in page.evaluate(CUT_OFF))
    page.set_viewport_size({"width": NARROW, "height": 800})
    yield from (f"too wide for {NARROW} px: {line}" for line in page.evaluate(TOO_WIDE))


def check(page: Page, folder: Path, pattern: str) -> Iterator[str]:
    """Yield the problems of all pages, each with the name of its page."""
    said: list[str] = []
    page.on("console", lambda message: said.append(f"console {message.type}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"error: {error}"))
    page.on("request", lambda request: said.append(f"asks {request.url}") if request.url[:4] == "http" else None)
    for file in sorted(folder.glob(pattern)):
        for problem in [*problems(page, file.resolve().as_uri()), *said]:
            yield f"{file.relative_to(folder)}: {problem}"
        said.clear()


def main() -> None:
    """Check all pages, and fail if there is a problem."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("no browser was found; pages are not checked")
        return
    options: dict[str, Any] = {"executable_path": program, "args": ["--no-sandbox"]}
    with sync_playwright() as play:
        browser = play.chromium.launch(**options)
        found = 0
        for problem in check(browser.new_page(), Path(sys.argv[1]), (*sys.argv, "**/*.html")[2]):
            print(problem, flush=True)
            found += 1
        browser.close()
    print(f"{found} problems")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
