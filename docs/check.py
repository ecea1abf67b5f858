"""Open every page of the built documentation in a browser: ``python -m docs.check build/docs [pattern]``.

A page must not write to the console, request another host, have lines of code that are too long for 1,300 px, be wider
than a phone of 390 px, show a traceback, or tables and formulas that were not understood, show a light figure in dark
mode, or link to a page or section that does not exist. Questions to the search must find their pages first.

Everything is checked under each of the usual families of fonts that is installed, or those named by ``--fonts``: the
browser then finds no other. Whether code fits is judged by the number of characters and the widest of the usual fonts,
and so is the same on every machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urldefrag, urlsplit

from playwright.sync_api import Error, Page, Playwright, ViewportSize, sync_playwright
from tests.browser import chromium

WIDE: ViewportSize = {"width": 1300, "height": 900}
NARROW: ViewportSize = {"width": 390, "height": 800}
TIMEOUT_MS = 120_000
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
  tables: [...document.querySelectorAll('article td, article th, article p')].flatMap(cell => {
    const copy = cell.cloneNode(true)
    copy.querySelectorAll('code, pre, .math, .katex').forEach(part => part.remove())
    const text = copy.textContent.trim()
    const isTable = text.startsWith('|') && text.endsWith('|') && text.split('|').length > 3
    return isTable || text.includes('$') ? [text.slice(0, 80)] : []
  }).concat([...document.querySelectorAll('.katex-error')].map(one => one.textContent.slice(0, 80))),
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


# Figures that a page shows, and those that a dark page shows as they are on a light one.
SHOWN = "() => [...document.querySelectorAll('article img')].filter(one => one.checkVisibility()).length"
AT_DARK = """() => [...document.querySelectorAll('article img')]
  .filter(one => one.checkVisibility() && !one.closest('.only-dark, .any-theme'))
  .map(one => one.src.split('/').pop())"""
EVERYTHING = "**/*.html"
# Families of fonts by the name that all of their members begin with.
FAMILIES = ("DejaVu", "Liberation")
# What people type, and the page that comes first.
QUESTIONS = {
    "own noise distribution": "howto/own-parts",
    "missing data": "howto/estimate",
    "unknown noise": "howto/estimate",
    "Figure 6": "howto/paper",
    "which model": "howto/estimate",
    "compare schedules": "howto/compare-schedules",
    "cluster": "howto/cluster",
    "own data": "howto/data",
    "two workers": "howto/scenarios",
    "noise for epsilon": "howto/release",
    "provenance": "howto/results",
    "installation": "install",
    "notation": "reference/notation",
    "several topics": "howto/topics",
    "what combines with what": "reference/combines",
}


class Site:
    """The pages of a folder, opened one after the other in the same tab of a browser."""

    def __init__(self, folder: Path, pattern: str) -> None:
        self.folder = folder.resolve()
        self.files = sorted(self.folder.glob(pattern))
        self.is_complete = pattern == EVERYTHING
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
        yield from (f"not understood as a table or formula: {text}" for text in found["tables"])
        yield from (f"code is too long for {WIDE['width']} px: {line}" for line in found["problems"])
        page.set_viewport_size(NARROW)
        yield from (f"too wide for {NARROW['width']} px: {line}" for line in page.evaluate(AT_NARROW))
        shown = page.evaluate(SHOWN)
        page.emulate_media(color_scheme="dark")
        if page.evaluate(SHOWN) != shown:
            yield f"{shown} figures on a light page, and {page.evaluate(SHOWN)} on a dark one"
        yield from (f"light figure on a dark page: {name}" for name in page.evaluate(AT_DARK))
        page.emulate_media(color_scheme="light")

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


def search(folder: Path, page: Page) -> Iterator[str]:
    """Yield the questions that do not find their page first."""
    for question, wanted in QUESTIONS.items():
        page.goto(f"{(folder / 'search.html').resolve().as_uri()}?q={quote(question)}")
        first = page.locator("#search-results li a").first
        first.wait_for(timeout=TIMEOUT_MS)
        address = urldefrag(first.get_attribute("href") or "")[0]
        if address != f"{wanted}.html":
            yield f"search for {question!r} finds {address} before {wanted}.html"


def fonts_of(family: str) -> set[str]:
    """Return the folders that have fonts of a family, none where fontconfig is not used."""
    if shutil.which("fc-list") is None:
        return set()
    listed = subprocess.run(["fc-list", "--format", "%{family}|%{file}\n"], capture_output=True, text=True, check=True)
    fonts = [line.split("|") for line in listed.stdout.splitlines()]
    return {str(Path(file).parent) for name, file in fonts if name.startswith(family)}


def font_settings(family: str, folder: Path) -> dict[str, str]:
    """Return an environment in which programs find the fonts of one family alone."""
    folders = "".join(f"<dir>{one}</dir>" for one in sorted(fonts_of(family)))
    file = folder / f"{family}.conf"
    file.write_text(f"<fontconfig>{folders}<cachedir>{folder}</cachedir></fontconfig>", encoding="utf-8")
    return dict(os.environ) | {"FONTCONFIG_FILE": str(file)}


def problems(play: Playwright, program: str, site: Site, environment: dict[str, str] | None) -> Iterator[str]:
    """Yield the problems of a site under the fonts of an environment."""
    browser = play.chromium.launch(executable_path=program, args=["--no-sandbox"], env=environment)
    yield from site.check(browser.new_page())
    if site.is_complete:
        yield from search(site.folder, browser.new_page())
    browser.close()


def arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pattern", nargs="?", default=EVERYTHING)
    parser.add_argument("--fonts", nargs="+", metavar="FAMILY", help="families of fonts, such as DejaVu and Liberation")
    return parser.parse_args()


def main() -> None:
    """Check all pages under each family of fonts, and fail if there is a problem."""
    given = arguments()
    program = chromium()
    if program is None:
        print("no browser was found; pages are not checked")
        return
    missing = [family for family in given.fonts or FAMILIES if not fonts_of(family)]
    if given.fonts and missing:
        sys.exit(f"fonts are not installed: {', '.join(missing)}")
    count = 0
    with sync_playwright() as play, tempfile.TemporaryDirectory() as scratch:
        # Without any of the families, the fonts of this machine are used.
        for family in [one for one in given.fonts or FAMILIES if one not in missing] or [None]:
            site = Site(given.folder, given.pattern)
            for problem in problems(play, program, site, font_settings(family, Path(scratch)) if family else None):
                print(problem, flush=True)
                count += 1
            print(f"{len(site.files)} pages with {family or 'the fonts of this machine'}", flush=True)
    print(f"{count} problems" + (f"; not checked with {', '.join(missing)}, which is not installed" if missing else ""))
    sys.exit(count > 0 or not site.files)


if __name__ == "__main__":
    main()
