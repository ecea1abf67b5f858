"""Draw the thumbnails of the gallery from its examples: python docs/gallery/thumbnails.py [NAME …].

Each page is run as it stands; its last figure becomes ``thumbnails/NAME.webp``. Run it again when a figure changes.
"""

import io
import os
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
os.environ["MATPLOTLIBRC"] = str(HERE.parent / "matplotlibrc")

import matplotlib  # noqa: E402  # reads its settings when it is imported

matplotlib.use("Agg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from PIL import Image, ImageOps  # noqa: E402

SIZE = (480, 288)


def code_of(page: Path) -> str:
    """Return the code of all cells of a page, without their options."""
    cells = re.findall(
        r"^```\{code-cell\} python\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return re.sub(r"^:\w+:.*\n", "", "\n".join(cells), flags=re.MULTILINE)


def last_figure(page: Path) -> Figure:
    """Run a page and return the figure that it draws last."""
    names: dict[str, Any] = {}
    exec(compile(code_of(page), page.name, "exec"), names)
    # A figure of the package itself is not one of pyplot's.
    return plt.gcf() if plt.get_fignums() else next(value for value in names.values() if isinstance(value, Figure))


def draw(page: Path) -> None:
    """Write the thumbnail of a page: its figure on white, in the size of a card."""
    file = io.BytesIO()
    last_figure(page).savefig(file, dpi=100, facecolor="white")
    plt.close("all")
    image = ImageOps.pad(Image.open(file).convert("RGB"), SIZE, Image.Resampling.LANCZOS, color="white")
    image.save(HERE / "thumbnails" / f"{page.stem}.webp", quality=82, method=6)


if __name__ == "__main__":
    (HERE / "thumbnails").mkdir(exist_ok=True)
    for page in sorted(HERE.glob("*.md")):
        if page.stem != "index" and (len(sys.argv) == 1 or page.stem in sys.argv[1:]):
            draw(page)
