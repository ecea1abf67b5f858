"""``peerpressure new``: a scenario file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import check_folder

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

STARTER, SCHEMA = "scenario.toml", "scenario.schema.json"
STUDY = "study.toml"  # the file to run of an example with data


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
        print("\n".join(f"{name}: {_first_line(text)}" for name, text in _examples().items()))
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
    command = "sweep" if _scenario_of(contents[first.name]) else "run"
    print(f"{first}: edit it, then peerpressure {command} {first}")


def _starter() -> dict[str, str]:
    from peerpressure.scenario import shipped_schema, starter_text

    return {STARTER: starter_text(), SCHEMA: shipped_schema()}


def _examples() -> dict[str, str]:
    """Return the text of each example by name, of the file to run where there are several."""
    return {
        place.name.removesuffix(".toml"): (place / STUDY if place.is_dir() else place).read_text(encoding="utf-8")
        for place in sorted(_shelf().iterdir(), key=lambda place: place.name)
    }


def _shelf() -> Traversable:
    from importlib.resources import files

    return files("peerpressure") / "examples"


def _example(name: str) -> dict[str, str]:
    """Return the files of an example by name: itself, the scenario of a sweep, and its data."""
    known = _examples()
    if name not in known:
        from peerpressure.errors import did_you_mean

        text = f"there is no example {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
        raise typer.BadParameter(text, param_hint="'--example'")
    folder = _shelf() / name
    if folder.is_dir():
        others = {place.name: place.read_text(encoding="utf-8") for place in folder.iterdir() if place.name != STUDY}
        return {STUDY: known[name]} | others
    files = {f"{name}.toml": known[name]}
    named = _scenario_of(known[name])
    return files | ({named: known[named.removesuffix(".toml")]} if named else {})


def _scenario_of(text: str) -> str | None:
    """Return the scenario that a sweep file names; None for a scenario."""
    import tomllib

    named = tomllib.loads(text).get("scenario")
    return named if isinstance(named, str) else None


def _first_line(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")


def _write_new(path: Path, text: str) -> None:
    try:
        # Mode x fails if the file was created since it was looked for.
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        # The schema is the same for all scenarios, so an existing one is kept.
        if path.name != SCHEMA:
            raise
