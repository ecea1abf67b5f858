"""``peerpressure rerun``: make the results in a folder again, and compare them bit by bit."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from peerpressure.cli.terminal import FAILURE, AsJson, check_folder, facts, listing_problems, print_json, show
from peerpressure.errors import FileFormatError, InvalidInputError, PeerPressureError, message
from peerpressure.support.provenance import invoked

if TYPE_CHECKING:
    from peerpressure.report.folder import FolderProvenance

# Commands whose results can be made again. A folder may come from somebody else: it cannot ask for any other command,
# nor for options that write elsewhere or reach another machine.
COMMANDS: Final = ("run", "sweep", "paper", "recover", "fit", "compare", "response", "infer")
REFUSED: Final = ("--out", "--figure", "--report", "--dask")


def rerun(
    context: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A results folder of any command that writes one, such as run.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="New folder for the results.", show_default="FOLDER-rerun, beside it")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Repeat the results of a folder in a new one, and compare them file by file, bit by bit.

    The folder may come from another machine. Inputs are checked by their SHA-256, and differing versions are listed.
    The exit status is 1 if a file differs or was changed.

    Example: peerpressure rerun study-results
    """
    from peerpressure.report.folder import UNREPEATED, changes, read_provenance
    from peerpressure.support.provenance import version_changes, versions

    with listing_problems():
        earlier = read_provenance(folder)
    line = _command_line(earlier)
    new = out or folder.resolve().with_name(f"{folder.resolve().name}-rerun")
    _check_new(new, folder)
    if wrong := changes(earlier, earlier.inputs):
        rule, remedy = "inputs must be those of the results", "restore them, or run the scenario as a new study"
        raise InvalidInputError(message(rule, got=", ".join(f"{one.name} {one.what}" for one in wrong), remedy=remedy))
    damaged = changes(earlier, earlier.outputs)
    _invoke(context, [*line, "--out", str(new)])
    later = read_provenance(new)
    names = [name for name in dict.fromkeys([*earlier.outputs, *later.outputs]) if name not in UNREPEATED]
    compared = {name: _compare(name, earlier, later) for name in names}
    differing = [name for name, what in compared.items() if what != UNCHANGED]
    updates = version_changes(earlier.versions, versions())
    if as_json:
        lists = {"files": compared, "damaged": {one.name: one.what for one in damaged}}
        listed = {name: {"then": then, "now": now} for name, (then, now) in updates.items()}
        print_json({"folder": folder, "again": new, "same": not differing, **lists, "versions": listed})
    else:
        show(facts(list(compared.items())))
        show(*(f"{one.name} in {folder} is {one.what}" for one in damaged))
        show(*(f"{name} was {then or 'not there'}, is {now or 'not there'}" for name, (then, now) in updates.items()))
        count = len(names) - len(differing)
        show(f"{count} of {len(names)} files are the same, bit by bit; the new ones are in {new}")
    if differing or damaged:
        raise typer.Exit(FAILURE)


UNCHANGED: Final = "same"


def _compare(name: str, earlier: FolderProvenance, later: FolderProvenance) -> str:
    """Return whether a file has the same bits in both, from the hashes when they were written."""
    one, other = earlier.outputs.get(name), later.outputs.get(name)
    if one is None or other is None:
        return "new" if one is None else "not made again"
    return UNCHANGED if one.get("sha256") == other.get("sha256") else "different"


def _command_line(provenance: FolderProvenance) -> list[str]:
    """Return the command line that repeats the results of a folder."""
    from peerpressure.report.folder import FOLDER, PROVENANCE

    line = [str(word).replace(FOLDER, str(provenance.folder)) for word in provenance.facts["repeat"]]
    refused = [word for word in line if word.partition("=")[0] in REFUSED]
    if not line or line[0] not in COMMANDS or refused:
        rule = (
            f"{provenance.folder / PROVENANCE} must repeat one of {', '.join(COMMANDS)}, without {', '.join(REFUSED)}"
        )
        raise FileFormatError(
            message(rule, got=" ".join(line) or "nothing", remedy="take the folder as it was written")
        )
    return line


def _check_new(new: Path, folder: Path) -> None:
    check_folder(new)
    if new.exists() and any(new.iterdir()):
        raise typer.BadParameter(f"{new} is there already; name a new folder", param_hint="'--out'")
    if new.resolve().is_relative_to(folder.resolve()):
        raise typer.BadParameter(f"{new} is inside {folder}; name a folder beside it", param_hint="'--out'")


class RepeatError(PeerPressureError):
    """The results of a folder could not be made again."""


def _invoke(context: typer.Context, line: Sequence[str]) -> None:
    """Run a command line, and keep what it prints to itself; its progress and its errors are shown."""
    command: Any = context.find_root().command
    with contextlib.redirect_stdout(io.StringIO()), invoked(line):
        status = command([*line, "--json"], prog_name="peerpressure", standalone_mode=False)
    if status:
        rule, remedy = "the results must be made again without errors", "see the line above"
        raise RepeatError(message(rule, got=f"exit status {status} of peerpressure {' '.join(line)}", remedy=remedy))
