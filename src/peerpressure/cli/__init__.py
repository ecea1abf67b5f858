"""The command line: parse, call, render; it computes nothing of its own.

Each command has a module; heavy imports stand inside the commands, so that help answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

import typer

from peerpressure.cli.check import check
from peerpressure.cli.diagnose import diagnose
from peerpressure.cli.explore import explore
from peerpressure.cli.new import new
from peerpressure.cli.paper import paper
from peerpressure.cli.recover import recover
from peerpressure.cli.run import run_scenario
from peerpressure.cli.sweep import sweep
from peerpressure.cli.terminal import FAILURE, INTERRUPTED, USAGE, RefusedFileError, report_error, spell_what_is_missing
from peerpressure.errors import InvalidInputError, PeerPressureError
from peerpressure.version import __version__

__all__ = ["app", "main", "paper", "run"]

app = typer.Typer(name="peerpressure", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Find out whether a network agrees, on what and how fast, and what an observer can learn.

    Agents on a graph hold a hidden opinion each, show a noisy public one, and are pulled to their neighbours by
    growing peer pressure.

    For a first answer: peerpressure diagnose --graph ba:100:2 --pressure t --noise gaussian:1 --steps 1000

    For an experiment of your own: peerpressure new, then peerpressure run scenario.toml. For the published
    experiments: peerpressure paper.
    """
    if version:
        print(f"peerpressure {__version__}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


def version() -> None:
    """Print the version."""
    print(f"peerpressure {__version__}")


COMMANDS: Mapping[str, Callable[..., None]] = {
    "new": new,
    "check": check,
    "run": run_scenario,
    "diagnose": diagnose,
    "recover": recover,
    "explore": explore,
    "paper": paper,
    "version": version,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(sweep)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; errors become lines on the error stream."""
    spell_what_is_missing()
    try:
        status = app(args=list(arguments), prog_name="peerpressure", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; a second flush when Python ends must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except RefusedFileError as error:
        return max(report_error(line, USAGE) for line in error.lines)
    except (typer.TyperException, PeerPressureError, OSError, MemoryError) as error:
        return report_error(*_explain(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    # Typer itself turns Ctrl-C into this status and says nothing.
    return report_error("interrupted", INTERRUPTED) if status == INTERRUPTED else int(status or 0)


def _explain(error: Exception) -> tuple[str, int]:
    """Return what to say of an error, and the exit status; anything not known here is a bug, and shows itself."""
    match error:
        case typer.TyperException():
            return f"{error.format_message().rstrip('.')}; see peerpressure --help", error.exit_code
        case InvalidInputError():
            return str(error), USAGE
        case PeerPressureError():
            return str(error), FAILURE
        case OSError():
            return f"{error.strerror or error}: {error.filename or 'a file could not be written'}", FAILURE
        case _:
            return "there is not enough memory; ask for fewer --steps", FAILURE


def main() -> None:
    """Run the command line that the shell gave."""
    sys.exit(run(sys.argv[1:]))
