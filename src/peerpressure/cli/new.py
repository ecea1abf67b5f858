"""``peerpressure new``: a scenario file to start from."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.terminal import check_folder

STARTER, SCHEMA = "scenario.toml", "scenario.schema.json"


def new(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder for the file; created if missing.")] = Path(),
    example: Annotated[
        str | None, typer.Option(help="Write this example instead, with the files that it names; ? lists all.")
    ] = None,
) -> None:
    """Write a commented scenario to start from, or an example.

    The JSON schema beside it lets editors complete and check it. Existing files are never overwritten.

    Example: peerpressure new study && peerpressure run study/scenario.toml

    Example: peerpressure new study --example karate
    """
    if example == "?":
        from peerpressure.scenario.shipped import examples

        print("\n".join(f"{one.name}: {one.comment[0]}" for one in examples().values()))
        return
    check_folder(folder, "'FOLDER'")
    contents = _starter() if example is None else _example(example)
    # The first file is the one to run. Asked before the folder is created, so an error leaves nothing behind.
    first = folder / next(iter(contents))
    for name in contents:
        if name != SCHEMA and (folder / name).exists():
            raise typer.BadParameter(f"{folder / name} is there already; name another folder", param_hint="'FOLDER'")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in contents.items():
        _write_new(folder / name, text)
    command = "sweep" if "scenario" in tomllib.loads(contents[first.name]) else "run"
    print(f"{first}: edit it, then peerpressure {command} {first}")


def _starter() -> dict[str, str]:
    from peerpressure.scenario import shipped_schema, starter_text

    return {STARTER: starter_text(), SCHEMA: shipped_schema()}


def _example(name: str) -> dict[str, str]:
    """Return the files of an example by name, the one to run first."""
    from peerpressure.scenario.shipped import examples

    known = examples()
    if name not in known:
        from peerpressure.errors import did_you_mean

        text = f"there is no example {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
        raise typer.BadParameter(text, param_hint="'--example'")
    return known[name].files


def _write_new(path: Path, text: str) -> None:
    try:
        # Mode x fails if the file was created since it was looked for.
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        # The schema is the same for all scenarios, so an existing one is kept.
        if path.name != SCHEMA:
            raise
