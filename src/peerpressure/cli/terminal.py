"""What commands share: where they speak, how they show progress, and how they refuse."""

from __future__ import annotations

import contextlib
import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from peerpressure.cli.encoding import as_shown, speaks_unicode
from peerpressure.errors import PeerPressureError

if TYPE_CHECKING:
    from rich.table import Table

    from peerpressure.scenario import Scenario

FAILURE, USAGE, INTERRUPTED = 1, 2, 130

AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the answer as JSON, for another program.")]


class RefusedFileError(PeerPressureError):
    """A file with problems, each of them a line."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("; ".join(lines))


def complain(message: str, status: int) -> int:
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
