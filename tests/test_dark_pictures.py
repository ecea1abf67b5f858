"""What docs/dark.py makes of figures can be seen on a dark page."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image

ROOT = Path(__file__).parents[1]
DARK: dict[str, Any] = runpy.run_path(str(ROOT / "docs" / "dark.py"))


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
    mapped = DARK["on_dark"](np.array([to_rgb(name) for name in [*names[:-1], "black"]]))
    assert min(contrast(colour, DARK["PAPER"]) for colour in mapped) >= 4.5
    # The grey is of lines and bars only, for which 3 : 1 suffices, as on white paper.
    grey = np.array(to_rgb(names[-1]))
    assert min(contrast(grey, np.ones(3)), contrast(DARK["on_dark"](grey), DARK["PAPER"])) >= 3
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
