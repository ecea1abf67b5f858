"""Write what the code of pages prints and draws into them: ``python docs/outputs.py [PAGE …]``.

A block ``text`` right after a block ``python`` has what that prints, and a picture of ``images/outputs`` after them is
the figure that it draws. Pages that show either are run from top to bottom as they stand; tests run them too, and
compare. To show more, put an empty block or the line of a picture there first. Those of the gallery become thumbnails.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from PIL import Image, ImageOps

DOCS = Path(__file__).parent
THUMBNAIL = (480, 288)
# Pictures are compared in this size and in shades of grey, so that fonts and smoothing do not count.
COMPARED = (96, 54)
LARGEST_DIFFERENCE = 1.0  # of 255 shades, in the mean; other random numbers make 2 and more
# Of numbers, which may differ in the last digits between machines.
TOLERANCE = 0.02
_NUMBER = re.compile(r"(?<![\w.])[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?")
_BLOCK = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?P<text>\n```text\n(?P<printed>.*?)^```\n)?"
    r"(?P<line>\n!\[[^\]]*\]\((?P<picture>[^)]*images/outputs/[^)]*)\)\n)?",
    re.DOTALL | re.MULTILINE,
)


class Output(NamedTuple):
    """What a block prints, and the figure that it draws last."""

    printed: str
    figure: Figure | None


class Shown(NamedTuple):
    """What a page shows of a block's output: what it prints, and the name of the picture."""

    printed: str | None
    picture: str | None


def shown(page: str) -> dict[str, Shown]:
    """Return what the text of a page shows of each block of code that it shows something of."""
    blocks = {block["code"]: Shown(block["printed"], block["picture"]) for block in _BLOCK.finditer(page)}
    return {code: output for code, output in blocks.items() if output != (None, None)}


@contextlib.contextmanager
def style() -> Iterator[None]:
    """Draw as the pages do, without a window."""
    with mpl.rc_context(fname=DOCS / "matplotlibrc"):
        mpl.use("agg")
        yield


def execute(code: str, names: dict[str, Any]) -> Output:
    """Run a block of code with the names of those before it."""
    before = {id(value) for value in names.values()}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, "<block>", "exec"), names)
    pyplot = sys.modules.get("matplotlib.pyplot")
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()] if pyplot else []
    # A figure of the package itself is not one of pyplot's.
    figures += [value for value in names.values() if isinstance(value, Figure) and id(value) not in before]
    if pyplot:
        pyplot.close("all")
    lines = [line.rstrip() for line in printed.getvalue().rstrip().splitlines()]
    return Output("".join(f"{line}\n" for line in lines), figures[-1] if figures else None)


def drawn(figure: Figure) -> Image.Image:
    """Return a figure as a picture on white."""
    file = io.BytesIO()
    figure.savefig(file, dpi=144, facecolor="white")
    return Image.open(file).convert("RGB")


def is_drawn(picture: Path, figure: Figure) -> bool:
    """Whether a picture shows a figure."""
    with Image.open(picture) as kept:
        both = [np.asarray(one.convert("L").resize(COMPARED), dtype=float) for one in (kept, drawn(figure))]
    return bool(abs(both[0] - both[1]).mean() < LARGEST_DIFFERENCE)


def is_printed(expected: str, printed: str) -> bool:
    """Whether two texts have the same words, in lines of any length, and nearly the same numbers."""
    before, now = " ".join(expected.split()), " ".join(printed.split())
    if _NUMBER.sub("0", before) != _NUMBER.sub("0", now):
        return False
    return bool(np.allclose(_numbers(before), _numbers(now), rtol=TOLERANCE))


def _numbers(text: str) -> list[float]:
    return [float(one.replace(",", "").replace("−", "-")) for one in _NUMBER.findall(text)]


def stale(page: Path, show: Shown, output: Output) -> list[str]:
    """Return what a page shows of a block's output that is not so any more."""
    problems = []
    if show.printed is not None and not is_printed(show.printed, output.printed):
        problems.append(f"{page.name} does not show what is printed:\n{output.printed}")
    if show.picture and not (output.figure and is_drawn(page.parent / show.picture, output.figure)):
        problems.append(f"{show.picture} is not what is drawn")
    return problems


def written(page: str, save: Callable[[str, Figure], None]) -> str:
    """Return the text of a page with what its code prints now, and save its figures."""
    names: dict[str, Any] = {"__name__": "__page__"}

    def block(match: re.Match[str]) -> str:
        output = execute(match["code"], names)
        if match["picture"]:
            if output.figure is None:
                raise ValueError(f"nothing is drawn by\n{match['code']}")
            save(match["picture"], output.figure)
        text = f"\n```text\n{output.printed}```\n" if match["text"] else ""
        return f"```python\n{match['code']}```\n{text}{match['line'] or ''}"

    return _BLOCK.sub(block, page)


def write(page: Path) -> None:
    """Run a page, and write its outputs."""

    def save(name: str, figure: Figure) -> None:
        target = page.parent / name
        picture = drawn(figure)
        # Few colours make a small file.
        picture.quantize(128, dither=Image.Dither.NONE).convert("RGB").save(target, lossless=True, method=6)
        if page.parent.name == "gallery":
            small = ImageOps.pad(picture, THUMBNAIL, Image.Resampling.LANCZOS, color="white")
            small.save(page.parent / "thumbnails" / target.name, quality=82, method=6)

    here = Path.cwd()
    with tempfile.TemporaryDirectory() as folder, style():
        os.chdir(folder)
        try:
            text = written(page.read_text(encoding="utf-8"), save)
        finally:
            os.chdir(here)
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Write the outputs of the pages named, or of all that show any."""
    named = [Path(name).resolve() for name in sys.argv[1:]]
    for page in named or [page for page in sorted(DOCS.rglob("*.md")) if shown(page.read_text(encoding="utf-8"))]:
        print(page.relative_to(DOCS), flush=True)
        write(page)


if __name__ == "__main__":
    main()
