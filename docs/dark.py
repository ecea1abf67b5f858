"""Dark versions of the figures of the documentation, made from the light ones when it is built.

A pixel of a figure is a mixture of white paper and of a paint, black or coloured. On a dark page the paper is dark,
black paint is light, and coloured paint keeps its hue and is light enough to be seen. Lightness is that of Oklab, in
which colours of the same number look equally light.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from docutils import nodes
from numpy.typing import NDArray
from PIL import Image
from sphinx.application import Sphinx

Floats = NDArray[np.float64]
PAPER = np.array([0.075, 0.078, 0.086])  # the background of the theme's dark pages
# Lightness of black paint, and of the darkest and the lightest coloured paint; paint of this chroma is fully coloured.
INK, DIM, BRIGHT, COLOURED = 0.93, 0.71, 0.92, 0.08
# Pictures that have a dark version of their own, or none, say so by their class.
THEMED = {"only-light", "only-dark", "any-theme"}
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OKLAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def _to_oklab(pixels: Floats) -> Floats:
    linear = np.where(pixels <= 0.04045, pixels / 12.92, ((pixels + 0.055) / 1.055) ** 2.4)  # of sRGB
    return np.asarray(np.cbrt(linear @ _CONES.T) @ _OKLAB.T)


def _from_oklab(colours: Floats) -> Floats:
    linear = ((colours @ np.linalg.inv(_OKLAB).T) ** 3 @ np.linalg.inv(_CONES).T).clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)  # of sRGB


def on_dark(pixels: Floats) -> Floats:
    """Return colours (red, green and blue from 0 to 1 in the last axis) as they are drawn on a dark page.

    Examples
    --------
    >>> on_dark(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])).round(2)
    array([[0.08, 0.08, 0.09],
           [0.91, 0.91, 0.91]])
    """
    share = 1 - pixels.min(axis=-1, keepdims=True)
    paint = _to_oklab(np.where(share > 0, 1 - (1 - pixels) / np.where(share > 0, share, 1), 0).clip(0, 1))
    colour = np.minimum(np.hypot(paint[..., 1], paint[..., 2]) / COLOURED, 1)
    paint[..., 0] = colour * (DIM + (BRIGHT - DIM) * paint[..., 0]) + (1 - colour) * INK
    return (1 - share) * PAPER + share * _from_oklab(paint)


def darken(light: Path, dark: Path) -> None:
    """Write the dark version of a picture, unless there is one that is newer than the picture."""
    if dark.exists() and dark.stat().st_mtime >= light.stat().st_mtime:
        return
    with Image.open(light) as picture:
        flat = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture.convert("RGBA")).convert("RGB")
    # Figures have few colours, each of which is computed once.
    found, places = np.unique(np.asarray(flat).reshape(-1, 3), axis=0, return_inverse=True)
    mapped = (on_dark(found / 255) * 255).round().astype(np.uint8)
    dark.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(mapped[places.ravel()].reshape(*np.asarray(flat).shape)).save(dark, quality=82)


def dark_version(light: Path, target: Path) -> Path:
    """Return the dark version of a picture: the file that lies beside it, such as a screenshot, or one that is made."""
    own = light.with_name(f"{light.stem}-dark{light.suffix}")
    if own.exists():
        return own
    darken(light, target)
    return target


def add_dark_versions(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the dark version beside every picture of a page that says nothing about themes."""
    for light in list(doctree.findall(nodes.image)):
        uri = light["uri"]
        if THEMED & set(light["classes"]) or uri not in app.env.images or Path(uri).suffix not in {".png", ".webp"}:
            continue
        target = dark_version(Path(app.srcdir) / uri, Path(app.outdir).parent / "dark" / app.env.images[uri][1])
        dark = light.deepcopy()
        dark["uri"] = os.path.relpath(target, app.srcdir)
        dark["candidates"] = {"*": dark["uri"]}
        dark["classes"] = [*light["classes"], "only-dark"]
        dark["ids"], dark["names"] = [], []
        light["classes"] = [*light["classes"], "only-light"]
        app.env.images.add_file(docname, dark["uri"])
        light.parent.insert(light.parent.index(light) + 1, dark)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension."""
    app.connect("doctree-resolved", add_dark_versions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
