"""Output in encodings that lack Greek letters and mathematical signs: these are spelled out."""

from __future__ import annotations

import codecs
import contextlib
import io
import json
import math
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from peerpressure.errors import PeerPressureError

if TYPE_CHECKING:
    from rich.table import Table

    from peerpressure.scenario import Scenario


SPELL = "peerpressure.spell"  # the name of this way to treat what an encoding lacks
SIGNS = {
    **dict.fromkeys("−–—‑", "-"),
    **dict.fromkeys("‘’′", "'"),
    **dict.fromkeys("“”″", '"'),
    **{"≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∝": "~", "±": "+-", "×": "x", "·": "*", "∘": "*", "⁄": "/"},
    **{"→": "->", "←": "<-", "↦": "->", "∞": "inf", "√": "sqrt", "∫": "int", "∂": "d", "‖": "||", "°": " deg"},
    **{"⟨": "<", "⟩": ">", "⌊": "[", "⌋": "]", "⌈": "[", "⌉": "]", "✓": "yes", "✗": "no", "△": "triangle", "Σ": "sum "},
}
RAISED = {"<super>": "^", "<sub>": "_"}


def spelled(text: str) -> str:
    """Return a text with all its signs spelled out; letters of other alphabets become escapes that keep them apart.

    >>> spelled("ρ_t ≤ σ², x₀")
    'rho_t <= sigma^2, x_0'
    """
    parts, height = [], ""
    for sign in text:
        kind, _, rest = unicodedata.decomposition(sign).partition(" ")
        # One mark is enough for the exponent −1.
        mark = RAISED.get(kind, "")
        parts.append(mark if mark != height else "")
        plain = "".join(chr(int(code, 16)) for code in rest.split()) if kind.startswith("<") else sign
        parts.append("".join(map(_spelled_sign, plain)))
        height = mark
    return "".join(parts)


def _spelled_sign(sign: str) -> str:
    name = unicodedata.name(sign, "")
    if sign.isascii() or sign in SIGNS:
        return SIGNS.get(sign, sign)
    if name.startswith("GREEK ") and " LETTER " in name and " WITH " not in name:
        letter = name.rpartition(" LETTER ")[2].removeprefix("FINAL ").lower()
        return letter.capitalize() if "CAPITAL" in name else letter
    if unicodedata.combining(sign):
        return ""  # a bar or a hat over a letter
    return sign.encode("ascii", "backslashreplace").decode()


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    missing = error.object[error.start : error.end]
    if all("\udc80" <= sign <= "\udcff" for sign in missing):
        # The bytes of a file name that was in another encoding: they go out as they came in.
        return missing.encode("ascii", "surrogateescape"), error.end
    return spelled(missing), error.end


def spell_what_is_missing() -> None:
    """Let both output streams spell what their encoding lacks; nothing changes for UTF-8."""
    codecs.register_error(SPELL, _spell)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELL)


def speaks_unicode() -> bool:
    """Say whether the output can hold every character."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name.startswith("utf")


def as_shown(text: str) -> str:
    """Return a text as the output shows it, so that a table can make room for it."""
    encoding = sys.stdout.encoding or "ascii"
    return text.encode(encoding, SPELL).decode(encoding, "surrogateescape")


# What commands share: where they speak, how they show progress, and how they refuse.

FAILURE, USAGE, INTERRUPTED = 1, 2, 130

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for another program.")]


class RefusedFileError(PeerPressureError):
    """A file with problems, each of them a line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("; ".join(lines))


def report_error(message: str, status: int) -> int:
    """Say in one line on the error stream what went wrong, and return the exit status."""
    print(f"peerpressure: {' '.join(message.split())}", file=sys.stderr)
    return status


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being done, on the error stream and only if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting", spinner="dots" if speaks_unicode() else "line") as status:
        yield status.update


def refuse_file(out: Path) -> None:
    """Refuse a place where no folder can be, before any work is done."""
    there = next((place for place in (out, *out.parents) if place.exists()), Path())
    if not there.is_dir():
        raise typer.BadParameter(f"{there} is a file; name a folder", param_hint="'--out'")


@contextlib.contextmanager
def refusing_all_at_once() -> Iterator[None]:
    """Turn the problems of a file into lines for a person."""
    from peerpressure.scenario import ScenarioError

    try:
        yield
    except ScenarioError as error:
        raise RefusedFileError(str(error).splitlines()) from None


def open_scenario(path: Path) -> Scenario:
    """Read a scenario file, or refuse it with every problem that it has."""
    with refusing_all_at_once():
        from peerpressure.scenario import load_scenario

        return load_scenario(path)


def print_json(answer: Mapping[str, Any]) -> None:
    """Print plain values as JSON; what JSON has no number for becomes null."""
    # JSON has escapes of its own, which keep every name as it is.
    print(json.dumps(plain(answer), indent=2, ensure_ascii=not speaks_unicode(), allow_nan=False))


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it.

    >>> plain({"error": float("inf"), "place": Path("a")})
    {'error': None, 'place': 'a'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


def show(*parts: Table | str) -> None:
    """Print tables and lines for a person; colour only on a terminal that wants it."""
    from rich.console import Console

    console = Console()
    for part in parts:
        if isinstance(part, str):
            # Lines are not wrapped, so that a path in them can be copied.
            console.print(part, highlight=False, soft_wrap=True, markup=False)
        else:
            console.print(part)


def facts(rows: Sequence[tuple[str, str]]) -> Table:
    """Return names and values as a table without lines."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(as_shown(name), as_shown(value))
    return table


def columns(title: str | None, names: Sequence[str], rows: Sequence[Sequence[str]], *, text: int = 1) -> Table:
    """Return a table whose first ``text`` columns are words and whose others are numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left")
    for i, name in enumerate(names):
        table.add_column(as_shown(name), justify="left" if i < text else "right")
    for row in rows:
        table.add_row(*map(as_shown, row))
    return table
