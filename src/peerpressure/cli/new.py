"""``peerpressure new``: a scenario to start from."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import refuse_file

STARTER, SCHEMA = "scenario.toml", "scenario.schema.json"


def new(
    folder: Annotated[Path, typer.Argument(help="Where to put it; made if it is not there.")] = Path(),
) -> None:
    """Write a commented scenario to start from.

    It comes with the schema that editors complete and check it by. Files that are there already are never
    overwritten.

    Example: peerpressure new study && peerpressure run study/scenario.toml
    """
    refuse_file(folder)
    contents = {
        STARTER: (files("peerpressure.scenario") / "starter.toml").read_text(encoding="utf-8"),
        SCHEMA: (files("peerpressure") / SCHEMA).read_text(encoding="utf-8"),
    }
    if (folder / STARTER).exists():
        raise typer.BadParameter(f"{folder / STARTER} is there already; name another folder", param_hint="'FOLDER'")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        _write_new(folder / name, text)
    print(f"{folder / STARTER}: edit it, then peerpressure run {folder / STARTER}")


def _write_new(path: Path, text: str) -> None:
    try:
        # Mode x refuses a file that came into being since it was looked for.
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        if path.name == STARTER:
            raise
