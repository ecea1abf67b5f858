"""The command line: parse, call, render; it computes nothing of its own.

Heavy imports stand inside the commands, so that help answers at once.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.errors import InvalidInputError, PeerPressureError
from peerpressure.version import __version__

if TYPE_CHECKING:
    import pandas as pd

FAILURE, USAGE, INTERRUPTED = 1, 2, 130
MOST_STEPS = 10_000_000

app = typer.Typer(name="peerpressure", add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """Find out whether a network agrees, on what and how fast, and what an onlooker can learn.

    Agents on a graph hold a hidden opinion each, show a noisy public one, and are pulled to their neighbours by
    growing peer pressure. Start with `peerpressure paper`, which runs the experiments and draws the figures.
    """
    if version:
        typer.echo(f"peerpressure {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(f"peerpressure {__version__}")


@app.command()
def paper(
    out: Annotated[
        Path, typer.Option(help="Folder for figures (PDF and PNG) and tables (CSV); made if it is not there.")
    ] = Path("build/paper"),
    seed: Annotated[
        int, typer.Option(min=0, help="What graph, opinions and noise are drawn from; one seed, one result.")
    ] = 14,
    steps: Annotated[
        int, typer.Option(min=100, max=MOST_STEPS, help="How long the runs are; small ones take less time to draw.")
    ] = 100_000,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, for another program.")] = False,
) -> None:
    """Run the experiments on convergence and write their figures and tables.

    A hundred agents on a scale-free graph agree on the consensus value v when peer pressure grows like t. When it
    grows like 2^√t they swing for ever between two values on a tree, and agree on a wrong value where the graph has
    odd cycles. The summary tells how far agents end from each other (spread) and from v (distance), which are two
    different things, and how far agent 1 moved in the last step (swing).

    The same seed and steps give the same tables, byte for byte.

    Example: peerpressure paper --out build/paper --steps 10000
    """
    _refuse_file(out)
    with _telling() as tell:
        from peerpressure.experiments import paper_tables
        from peerpressure.figures import FIGURES, draw, save

        tables = paper_tables(seed, steps, tell=tell)
        tell("drawing")
        # All is drawn before anything is written, so that a failure leaves the folder as it was.
        figures = {name: draw(name, tables) for name in FIGURES}
        tell("writing")
        written = [_write_table(table, out, name) for name, table in tables.items()]
        written += [path for name, figure in figures.items() for path in save(figure, out, name)]
    if as_json:
        _print_json(tables["summary"], seed, written)
    else:
        _print_summary(tables["summary"], out, len(written))


def _refuse_file(out: Path) -> None:
    """Refuse a place where no folder can be, before any work is done."""
    there = next((place for place in (out, *out.parents) if place.exists()), Path())
    if not there.is_dir():
        raise typer.BadParameter(f"{there} is a file; name a folder", param_hint="'--out'")


@contextlib.contextmanager
def _telling() -> Iterator[Callable[[str], None]]:
    """Give a function that shows what is being done, on the error stream and only if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda stage: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting") as status:
        yield status.update


def _write_table(table: pd.DataFrame, folder: Path, name: str) -> Path:
    from peerpressure.files import replacing

    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.csv"
    with replacing(target) as file:
        file.write(table.to_csv(index=False, lineterminator="\n").encode())
    return target


def _print_json(summary: pd.DataFrame, seed: int, written: Sequence[Path]) -> None:
    answer = {"seed": seed, "runs": summary.to_dict(orient="records"), "files": [str(path) for path in written]}
    typer.echo(json.dumps(answer, indent=2, ensure_ascii=False))


def _print_summary(summary: pd.DataFrame, out: Path, count: int) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    first = summary.iloc[0]
    table = Table(
        box=box.SIMPLE_HEAD, title=f"After {first['steps']:,} steps; consensus value v = {first['consensus_value']:.4f}"
    )
    for name in ("graph", "ρ_t", "mean", "spread", "distance to v", "swing", "in the end"):
        table.add_column(name, justify="right" if name in ("mean", "spread", "distance to v", "swing") else "left")
    for run in summary.itertuples():
        numbers = (f"{value:.4f}" for value in (run.mean, run.spread, run.distance, run.swing))
        table.add_row(
            "tree" if run.bipartite else "odd cycles", run.pressure, *numbers, run.predicted.replace("_", " ")
        )
    console = Console()
    console.print(table)
    console.print(f"{count} files in {out}", highlight=False, soft_wrap=True)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status; errors become one line on the error stream."""
    try:
        status = app(args=list(arguments), prog_name="peerpressure", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone; a second flush when Python ends must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except (typer.TyperException, PeerPressureError, OSError, MemoryError) as error:
        return _complain(*_explain(error))
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    # Typer itself turns Ctrl-C into this status and says nothing.
    return _complain("interrupted", INTERRUPTED) if status == INTERRUPTED else int(status or 0)


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


def _complain(message: str, status: int) -> int:
    print(f"peerpressure: {' '.join(message.split())}", file=sys.stderr)
    return status


def main() -> None:
    """Run the command line that the shell gave."""
    sys.exit(run(sys.argv[1:]))
