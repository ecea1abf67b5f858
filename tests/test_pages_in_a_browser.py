"""What docs/check.py and docs/dark.py see and do, on small pages with known faults."""

from __future__ import annotations

import re
import runpy
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

from tests.browser import chromium

ROOT = Path(__file__).parents[1]
CHECK: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "check.py"))
DARK: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "dark.py"))
BROWSER = chromium()
STYLE = "<style>@media (prefers-color-scheme: dark) { .only-light { display: none } } pre { white-space: pre }</style>"
FAULTS = {
    "good": ("<table><tr><td>a <code>$x</code></td></tr></table>|x| is a size", []),
    "formula": (r"<p>degrees $d_i = \sum_j</p>", ["not understood as a table or formula"]),
    "table": ("<p>| a | b |\n|---|---|\n| 1 | 2 |</p>", ["not understood as a table or formula"]),
    "long": (f"<div class='highlight'><pre>{'x' * 400}</pre></div>", ["code is too long"]),
    "wide": ("<p style='width: 900px'>x</p>", ["too wide for 390 px"]),
    "light": ("<img src='a.png'>", ["light figure on a dark page"]),
    "lost": ("<img class='only-light' src='a.png'>", ["1 figures on a light page, and 0 on a dark one"]),
    "error": ("<p class='cell_output'>Traceback (most recent call last)</p>", ["cells end in a traceback"]),
    "link": ("<a href='nowhere.html'>x</a>", ["broken link"]),
}


def _problems(folder: Path) -> str:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        return "\n".join(CHECK["problems"](play, BROWSER, CHECK["Site"](folder, "*.html"), None))


def test_each_fault_is_found_and_nothing_else(tmp_path: Path) -> None:
    if BROWSER is None:
        pytest.skip("there is no Chromium")
    Image.new("RGB", (20, 20), "white").save(tmp_path / "a.png")
    for name, (body, _) in FAULTS.items():
        page = f"<!doctype html><meta charset=utf-8><title>{name}</title>{STYLE}<article>{body}</article>"
        (tmp_path / f"{name}.html").write_text(page, encoding="utf-8")
    # In a thread of its own: Playwright may be in use already, by the tests of the explorer, and then refuses a second.
    with ThreadPoolExecutor(1) as thread:
        reported = thread.submit(_problems, tmp_path).result()
    for name, (_, wanted) in FAULTS.items():
        lines = [line for line in reported.splitlines() if line.startswith(f"{name}.html: ")]
        assert [text for text in wanted if text not in "\n".join(lines)] == [], (name, lines)
        assert bool(lines) == bool(wanted), (name, lines)


@pytest.mark.parametrize("family", CHECK["FAMILIES"])
def test_only_the_fonts_of_one_family_are_found(family: str, tmp_path: Path) -> None:
    if not CHECK["fonts_of"](family):
        pytest.skip(f"{family} is not installed")
    environment = CHECK["font_settings"](family, tmp_path)
    found = subprocess.run(["fc-list", ":", "family"], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout
    assert [line for line in found.stdout.splitlines() if not line.startswith(family)] == []


def contrast(one: Any, other: Any) -> float:
    """The ratio of the relative luminances of two colours, as WCAG defines it."""
    linear = [
        np.where(np.asarray(c) <= 0.04045, np.asarray(c) / 12.92, ((np.asarray(c) + 0.055) / 1.055) ** 2.4)
        for c in (one, other)
    ]
    dark, light = sorted(float(c @ [0.2126, 0.7152, 0.0722]) for c in linear)
    return (light + 0.05) / (dark + 0.05)


def test_every_colour_of_the_figures_can_be_seen_in_the_dark() -> None:
    style = (ROOT / "docs" / "matplotlibrc").read_text(encoding="utf-8")
    names = [f"#{name}" for name in re.findall(r'"([0-9a-f]{6})"', style)]
    assert len(names) == 6
    mapped = DARK["on_dark"](np.array([to_rgb(name) for name in [*names, "black"]]))
    assert min(contrast(colour, DARK["PAPER"]) for colour in mapped) >= 4.5
    assert np.allclose(DARK["on_dark"](np.ones((1, 3))), DARK["PAPER"])


def test_a_picture_is_darkened_again_only_if_it_is_newer(tmp_path: Path) -> None:
    light, dark = tmp_path / "a.png", tmp_path / "made" / "a.png"
    Image.new("RGBA", (4, 4), (0, 0, 0, 0)).save(light)
    DARK["darken"](light, dark)
    with Image.open(dark) as picture:
        assert picture.getpixel((0, 0)) == tuple((DARK["PAPER"] * 255).round().astype(int))
    before = dark.stat().st_mtime_ns
    DARK["darken"](light, dark)
    assert dark.stat().st_mtime_ns == before
