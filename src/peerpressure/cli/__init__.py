"""The command line: it parses arguments, calls the library and prints the result.

Each command has a module of its name, but for those that estimate, which are in ``data``. Heavy imports stand inside
the commands, so ``--help`` is fast.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, TextIO, cast

import typer
from typer.main import get_command

from peerpressure.cli import (
    check,
    convert,
    data,
    diagnose,
    explore,
    info,
    new,
    paper,
    partition,
    release,
    report,
    rerun,
    run,
    simulate,
    story,
    sweep,
    warmup,
)
from peerpressure.cli.terminal import (
    FAILURE,
    INTERRUPTED,
    SETTINGS,
    USAGE,
    AsJson,
    Command,
    Commands,
    GuardedOutput,
    InvalidFileError,
    explain_usage,
    in_words_of,
    open_closed_streams,
    options_of,
    print_error,
    print_json,
    transliterate_output,
)
from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.support.provenance import invoked, machine, versions
from peerpressure.support.resources import launched
from peerpressure.version import __version__

__all__ = ["app", "invoke", "main"]


class Grouped(Commands):
    """All commands, in groups."""

    def groups(self) -> Mapping[str, Sequence[str]]:
        """Return the names of commands, by the titles of their groups."""
        return {title: list(commands) for title, commands in GROUPS.items()}


# Without Rich's markup, help is plain text, and Rich need not be imported for it.
app = typer.Typer(
    name="peerpressure",
    cls=Grouped,
    context_settings=SETTINGS,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Predict whether a network reaches consensus, on which value and how fast, and what an observer learns.

    Each agent of a network holds a hidden opinion, expresses a noisy public one, and is drawn to its neighbours by
    growing peer pressure.

    For a first answer: peerpressure diagnose --network ba:100:2 --pressure t --noise gaussian:1 --steps 1000

    For your own experiment: peerpressure new, then peerpressure run scenario.toml. For the published ones:
    peerpressure paper.

    The exit status is 0, or 1 if something failed, 2 if an argument or a file is wrong, and 130 after Ctrl-C.
    """
    if version:
        print(f"peerpressure {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def version(as_json: AsJson = False) -> None:
    """Print the version; with --json also those of Python and of all libraries, and the machine.

    Example: peerpressure version --json
    """
    if as_json:
        print_json({"version": __version__, "versions": versions(), "machine": machine()})
    else:
        print(f"peerpressure {__version__}")


# In the order of the help.
GROUPS: Mapping[str, Mapping[str, Callable[..., None] | typer.Typer]] = {
    "Studies": {
        "new": new.new,
        "check": check.check,
        "run": run.run,
        "simulate": simulate.simulate,
        "diagnose": diagnose.diagnose,
        "sweep": sweep.app,
        "paper": paper.paper,
    },
    "Data": {
        "compare": data.compare,
        "response": data.response,
        "recover": data.recover,
        "fit": data.fit,
        "infer": data.infer,
        "release": release.release,
    },
    "Folders and files": {
        "info": info.info,
        "rerun": rerun.rerun,
        "report": report.report,
        "convert": convert.convert,
        "partition": partition.partition,
    },
    "Pages": {"explore": explore.explore, "story": story.story},
    "Installation": {"version": version, "warmup": warmup.warmup},
}
COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}
for name, command in COMMANDS.items():
    if isinstance(command, typer.Typer):
        app.add_typer(command)
    else:
        app.command(name, cls=Command)(command)


@cache
def _parser() -> Callable[..., Any]:
    """Return the parser of all commands: options are read from signatures, which takes longer than many commands."""
    return get_command(app)


# Commands whose simulation several processes share, if mpiexec has started several.
_SHARED = ("run", "simulate")


def invoke(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; errors become single lines on the error stream."""
    if launched()[0] == 0 or not set(arguments[:1]) & set(_SHARED):
        return _invoke(arguments)
    # Only the first of several processes speaks; the errors of others reach it.
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        return _invoke(arguments)


def _invoke(arguments: Sequence[str]) -> int:
    transliterate_output()
    output = GuardedOutput(sys.stdout)
    with contextlib.redirect_stdout(cast("TextIO", output)):
        status = _carry_out(arguments)
        # Flushed here, where the output is guarded.
        output.flush()
    # A reader that has seen enough, as head has, is no error.
    if output.error is None or isinstance(output.error, BrokenPipeError):
        return status
    rule = "standard output must accept what is printed"
    remedy = "files that the command writes are not affected" if status == 0 else "free some room"
    return print_error(message(rule, got=output.error.strerror, remedy=remedy), status or FAILURE)


def _carry_out(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status."""
    try:
        with invoked(arguments):
            # standalone_mode=False: Typer would otherwise print errors in its own format and end the process.
            status = _parser()(args=list(arguments), prog_name="peerpressure", standalone_mode=False)
    except InvalidFileError as error:
        # All lines have the same status; max consumes the generator, which prints them.
        return max(print_error(line, USAGE) for line in error.lines)
    except (typer.TyperException, PeerPressureError, OSError, MemoryError) as error:
        return print_error(*_explain(error, arguments))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    # Typer itself turns Ctrl-C into this status, without a message.
    return print_error("interrupted", INTERRUPTED) if status == INTERRUPTED else int(status or 0)


def _explain(error: Exception, arguments: Sequence[str]) -> tuple[str, int]:
    """Return the message and the exit status for an error; errors of other types are bugs and keep their traceback."""
    match error:
        case typer.TyperException():
            return explain_usage(error), error.exit_code
        case PeerPressureError():
            words = in_words_of(error, _options(arguments))
            return words, USAGE if isinstance(error, InvalidInputError) else FAILURE
        case OSError():
            # A message without the name of the file would not help.
            return f"{error.strerror or error}: {error.filename or 'a file could not be written'}", FAILURE
        case _:
            return "there is not enough memory; use fewer agents, steps or replicates, or record less", FAILURE


def _options(arguments: Sequence[str]) -> list[str]:
    """Return the options of the command that a command line begins with."""
    command = COMMANDS.get(arguments[0]) if arguments else None
    return [] if command is None or isinstance(command, typer.Typer) else options_of(command)


def main() -> None:
    """Run the command line of this process."""
    open_closed_streams()
    # One line for the user, as errors are, without a place in the code.
    warnings.formatwarning = lambda message, *_place, **_line: f"peerpressure: {message}\n"
    sys.exit(invoke(sys.argv[1:]))
