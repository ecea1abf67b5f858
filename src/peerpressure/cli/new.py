"""``peerpressure new``: a scenario file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import check_folder

STARTER, SCHEMA = "scenario.toml", "scenario.schema.json"


def new(
    folder: Annotated[Path, typer.Argument(help="Folder for the file; created if missing.")] = Path(),
) -> None:
    """Write a commented scenario to start from.

    The JSON schema beside it lets editors complete and check it. Existing files are never overwritten.

    Example: peerpressure new study && peerpressure run study/scenario.toml
    """
    check_folder(folder)
    from peerpressure.scenario import shipped_schema, starter_text

    contents = {STARTER: starter_text(), SCHEMA: shipped_schema()}
    # Asked before the folder is created, so that an error leaves nothing behind.
    if (folder / STARTER).exists():
        raise typer.BadParameter(f"{folder / STARTER} is there already; name another folder", param_hint="'FOLDER'")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        _write_new(folder / name, text)
    print(f"{folder / STARTER}: edit it, then peerpressure run {folder / STARTER}")


def _write_new(path: Path, text: str) -> None:
    try:
        # Mode x fails if the file was created since it was looked for.
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        # The schema is the same for all scenarios, so that an existing one is kept.
        if path.name == STARTER:
            raise
