"""One palette, whose colours are told apart in grey and by colour-blind readers, and one map of opinions."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from peerpressure.plotting.style import GREY, PALETTE, in_order, of_opinions
from tests.plotting.looking import contrast_on_white, linear

Array = NDArray[np.float64]

# What people see whose cones lack a pigment, of linear RGB (Machado, Oliveira & Fernandes, 2009), and a print in grey.
SEEN: dict[str, Array] = {
    "everybody": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
    "grey": np.tile([0.2126, 0.7152, 0.0722], (3, 1)),
}
# Differences of CIELAB; 2 is the smallest that is seen side by side. In grey six colours share the lightness from
# black to the contrast of 3 : 1.
LEAST = {"everybody": 20.0, "protanopia": 14.0, "deuteranopia": 14.0, "tritanopia": 14.0, "grey": 7.0}


def lab(seen: Array) -> Array:
    """Return linear RGB as CIELAB, in which distances are differences as they are seen."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    )
    xyz = to_xyz @ np.clip(seen, 0, 1) / to_xyz.sum(axis=1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), (903.3 * xyz + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def difference(one: object, other: object, seen: Array) -> float:
    return float(np.linalg.norm(lab(seen @ linear(one)) - lab(seen @ linear(other))))


@pytest.mark.parametrize("reader", SEEN)
def test_any_two_colours_are_told_apart(reader: str) -> None:
    pairs = itertools.combinations((*PALETTE, GREY), 2)
    assert min(difference(one, other, SEEN[reader]) for one, other in pairs) >= LEAST[reader]


def test_every_colour_is_seen_on_white() -> None:
    maps = [colours(np.linspace(0, 1, 9)) for colours in (of_opinions(), in_order())]
    assert min(contrast_on_white(colour) for colour in (*PALETTE, GREY, *np.vstack(maps))) >= 3


@pytest.mark.parametrize("reader", SEEN)
def test_maps_are_read_by_everybody_and_in_grey(reader: str) -> None:
    """Opinions of both sides and of the middle differ, and what has an order keeps it."""
    low, middle, high = of_opinions()([0.0, 0.5, 1.0])
    least = min(difference(one, other, SEEN[reader]) for one, other in itertools.combinations((low, middle, high), 2))
    assert least >= (10 if reader == "grey" else 20)
    for colours in (of_opinions(), in_order()):
        lightness = [lab(SEEN["grey"] @ linear(colour))[0] for colour in colours(np.linspace(0, 1, 17))]
        assert np.all(np.diff(lightness) > 0)


def test_figures_of_the_documentation_have_the_same_colours() -> None:
    style = (Path(__file__).parents[2] / "docs" / "matplotlibrc").read_text(encoding="utf-8")
    assert {f"#{name}" for name in re.findall(r'"([0-9a-f]{6})"', style)} == {to_hex(one) for one in (*PALETTE, GREY)}
