"""Open every page of the built documentation in a browser: ``python docs/check.py build/docs [pattern]``.

A page must not write to the console, request another host, have lines of code that are too long for 1,300 px, be wider
than a phone of 390 px, or link to a page or section that does not exist. Whether code fits is judged by the number of
characters and the widest of the usual fonts, and so is the same on every machine.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

from playwright.sync_api import Error, Page, ViewportSize, sync_playwright

WIDE: ViewportSize = {"width": 1300, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 800}
TIMEOUT_MS = 30_000
# Mathematics is typeset after the page has been loaded.
TYPESET = "() => !document.querySelector('.math') || document.querySelector('.katex')"
# Width of a letter, in sizes of the font. Liberation Mono has 0.6, Consolas 0.55, and DejaVu Sans Mono and Menlo 0.602.
LETTER = 0.605
# The longest line of each block of code that does not fit into its box, the targets of all links, and all anchors.
AT_WIDE = """(letter) => ({
  problems: [...document.querySelectorAll('div.highlight pre')].flatMap(block => {
    const style = getComputedStyle(block)
    if (style.whiteSpace !== 'pre') return []
    const room = block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight)
    const most = Math.floor(room / (letter * parseFloat(style.fontSize)))
    const longest = block.textContent.split('\\n').reduce((a, b) => a.length > b.length ? a : b)
    return longest.length > most ? [`${longest.length} characters in place of ${most}: ${longest}`] : []
  }),
  links: [...new Set([...document.links].map(link => link.href))],
  anchors: [...document.querySelectorAll('[id], a[name]')].map(one => one.id || one.name),
})"""
# What extends beyond the right edge of a page; the content of boxes that scroll does not count.
AT_NARROW = """() => {
  const width = document.documentElement.clientWidth
  if (document.documentElement.scrollWidth <= width) return []
  return [...document.querySelectorAll('article *')]
    .filter(one => one.getBoundingClientRect().right > width + 1 && !one.closest('pre, .table-wrapper, .katex-display'))
    .map(one => `${one.tagName} ${one.className}: ${one.textContent.trim().slice(0, 60)}`).slice(0, 3)
    .concat(['the page scrolls sideways'])
}"""


class Site:
    """The pages of a folder, opened one after the other in the same tab of a browser."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self.folder = folder.resolve()
        self.files = sorted(self.folder.glob(pattern))
        self.links: dict[str, list[str]] = {}
        self.anchors: dict[str, set[str]] = {}

    def check(self, page: Page) -> Iterator[str]:
        """Yield the problems of all pages, each with the name of its page."""
        said: list[str] = []
        page.set_default_timeout(TIMEOUT_MS)
        page.on("console", lambda message: said.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.on(
            "request", lambda request: said.append(f"requests {request.url}") if request.url[:4] == "http" else None
        )
        for file in self.files:
            try:
                said += self._layout(page, file.as_uri())
            except Error as error:  # a page that does not load in time is a problem of this page alone
                said.append(f"not checked: {error}")
            yield from (f"{file.relative_to(self.folder)}: {problem}" for problem in said)
            said.clear()
        yield from self._broken_links()

    def _layout(self, page: Page, address: str) -> Iterator[str]:
        """Yield what is wrong with the layout of one page, and note its links and anchors."""
        page.set_viewport_size(WIDE)
        page.goto(address, wait_until="load")
        page.wait_for_function(TYPESET)
        found = page.evaluate(AT_WIDE, LETTER)
        self.links[address], self.anchors[address] = found["links"], set(found["anchors"])
        yield from (f"code is too long for {WIDE['width']} px: {line}" for line in found["problems"])
        page.set_viewport_size(NARROW)
        yield from (f"too wide for {NARROW['width']} px: {line}" for line in page.evaluate(AT_NARROW))

    def _broken_links(self) -> Iterator[str]:
        """Yield links within the site whose page or section is missing."""
        for address, links in self.links.items():
            for link in links:
                target, fragment = urldefrag(link)
                if not target.startswith("file:"):
                    continue
                file = Path(unquote(urlsplit(target).path))
                # Sections are known only of the pages that were opened.
                known = self.anchors.get(target, {unquote(fragment)}) | {""}
                if not file.is_file() or unquote(fragment) not in known:
                    yield f"{address.removeprefix(self.folder.as_uri())[1:]}: broken link {link}"


def main() -> None:
    """Check all pages, and fail if there is a problem."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        print("no browser was found; pages are not checked")
        return
    site = Site(Path(sys.argv[1]), (*sys.argv, "**/*.html")[2])
    found = 0
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for problem in site.check(browser.new_page()):
            print(problem, flush=True)
            found += 1
        browser.close()
    print(f"{len(site.files)} pages, {found} problems")
    sys.exit(found > 0 or not site.files)


if __name__ == "__main__":
    main()
