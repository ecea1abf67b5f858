"""What commands that estimate share: options, and what becomes of their results, one way for all of them.

Results are printed in the terminal, as JSON, and as a page; and written to a table, or to a folder with all that they
were made from.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias

import typer
from typer.core import TyperArgument

from peerpressure.cli.terminal import OUTPUTS, check_folder, columns, listing_problems, print_json, progress_line, show
from peerpressure.errors import InvalidInputError, message
from peerpressure.support.files import declare_output, declared_inputs, expanded, table_format

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from peerpressure.networks import Network, TemporalNetwork
    from peerpressure.recovery import Observation
    from peerpressure.report.estimates import Estimates
    from peerpressure.report.folder import Study
    from peerpressure.report.store import Content

TABLE = (
    "Table with columns time, agent, public; or time and one column for each agent; or agent and one column for each "
    "wave; missing answers are empty. Or the run.nc of a run."
)
AGENTS = "the agents of the network and their degrees"
HELP = "or, if the name has no suffix, a results folder."  # the end of the help of --out


def stored_run(given: Path) -> Path:
    """Return the file that a path stands for: the run in a results folder, or the file itself."""
    from peerpressure.simulation.files import run_in

    return run_in(expanded(given))


# Options of commands that read a table of answers.
Answers: TypeAlias = Annotated[Path, typer.Argument(metavar="ANSWERS", help=TABLE, callback=stored_run)]
Directed: TypeAlias = Annotated[
    bool, typer.Option("--directed", help="Edges go from an agent to those that it listens to.")
]
Agents: TypeAlias = Annotated[
    Path | None,
    typer.Option(help="Table of all agents, if some of them have no ties and the network is a list of edges."),
]
NETWORK = (
    "File of edges, a matrix or a graph; a list of edges with a column time has the edges of each wave, until the next."
)
Rounding: TypeAlias = Annotated[float, typer.Option(help="Spacing of rounded answers; 0 for exact ones.")]
Scale: TypeAlias = Annotated[
    str | None, typer.Option(help="First and last point of the scale of answers, such as 1:5 for five points.")
]
MeasurementNoise: TypeAlias = Annotated[
    bool, typer.Option("--measurement-noise", help="Answers have errors of unknown size, to which nobody responds.")
]
Step: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Length of a step, such as '1 day', if times are dates; or 'wave', which numbers them."),
]
Origin: TypeAlias = Annotated[str | None, typer.Option(help="Date of step 0; by default the first date is step 1.")]
Page: TypeAlias = Annotated[Path | None, typer.Option(help="Also write a page with figures to this .html file.")]
SHOWN = 30  # rows of a table in the terminal; --out and --json have all of them
# Columns that are left out in the terminal where they say the same in every row.
REPEATED = ("method", "replicate", "identified")


class Found(NamedTuple):
    """What a command has found, how it has read the answers if it tells, and what a results folder has besides."""

    estimates: Estimates
    read_as: str
    keep: Callable[[], tuple[Study, Mapping[str, Content]]]


def carry_out(context: typer.Context, find: Callable[[Callable[[str], None]], Found], *, as_json: bool) -> None:
    """Find what a command is asked for, write it to --out and --report, and print it.

    ``find`` takes a function that shows the current stage.
    """
    out, report = (context.params.get(name) for name in ("out", "report"))
    check_out(out, str(context.info_name))
    check_report(report)
    with progress_line() as show_stage, listing_problems():
        found = find(show_stage)
        # Written before anything is printed: a closed pipe loses no file.
        if out is not None:
            _write(found, out)
        if report is not None:
            found.estimates.write_page(report)
    if as_json:
        print_json(({"outputs": found.read_as} if found.read_as else {}) | found.estimates.answer)
        return
    if found.read_as:
        show(found.read_as)
    show(*printed(found.estimates), *(f"written to {path}" for path in (out, report) if path))


def printed(estimates: Estimates) -> Iterator[Table | str]:
    """Return what the terminal shows of estimates: sentences, the tables that matter, and notes."""
    yield from estimates.sentences
    for name in estimates.shown:
        rows = estimates.tables[name]
        # Thousands of replicates have thousands of rows.
        rows = rows[rows["replicate"] == rows["replicate"].min()] if "replicate" in rows else rows
        chosen = [one for one in rows if one not in REPEATED or rows[one].nunique() > 1]
        if len(rows):
            yield _table(rows.head(SHOWN)[chosen])
        if len(rows) > SHOWN:
            yield f"and {len(rows) - SHOWN:,} more rows; --out FILE or --json has all of them"
    yield from estimates.notes


def _table(rows: pd.DataFrame) -> Table:
    from peerpressure.report.estimates import TEXTS, column_of
    from peerpressure.report.html import is_numeric, word

    words = [name for name in rows if name in TEXTS or not is_numeric(rows[name].tolist())]
    ordered = [*words, *(name for name in rows if name not in words)]
    cells = [[word(x) if name in words else column_of(name).text(x) for x in rows[name]] for name in ordered]
    headings = [str(column_of(name).heading) for name in ordered]
    return columns(None, headings, list(zip(*cells, strict=True)), text=len(words))


def observation_of(rounding: float, scale: str | None) -> Observation:
    """Return how answers are observed, as the options say."""
    from peerpressure.recovery import Observation

    return Observation(rounding=rounding, scale=None if scale is None else _ends_of(scale))


def network_of(file: Path, agents: Path | None, *, directed: bool) -> Network | TemporalNetwork:
    """Return the network in a file, with the agents of a table if there is one."""
    from peerpressure.networks import read_labels, read_waves

    return read_waves(file, labels=None if agents is None else read_labels(agents), directed=directed or None)


def check_out(out: Path | None, command: str) -> None:
    """Raise if results cannot be written to what --out names, before any work is done."""
    if out is None:
        return
    if is_folder(out):
        check_folder(out)
        from peerpressure.report.folder import has_results_of

        if not has_results_of(command, out):
            text = f"{out} holds other files than those of {command}; name a new folder"
            raise typer.BadParameter(text, param_hint="'--out'")
    else:
        # A wrong suffix is a wrong argument.
        with listing_problems():
            table_format(out)
    declare_output(out)


def is_folder(out: Path) -> bool:
    """Return whether --out names a folder: it is one, or its name has no suffix."""
    return not out.suffix or out.is_dir()


def check_report(report: Path | None) -> None:
    """Raise if the page cannot be written under its name."""
    if report is not None:
        if report.suffix.lower() not in (".html", ".htm"):
            remedy = "use a name that ends in .html"
            raise InvalidInputError(message("a report must be an HTML file", got=report.name, remedy=remedy))
        declare_output(report)


def _write(found: Found, out: Path) -> None:
    """Write the first table to a file; or all of it, and further files, to a folder."""
    from peerpressure.report.folder import made_by, write_folder
    from peerpressure.sweep import write_table

    if is_folder(out):
        study, files = found.keep()
        write_folder({**files, **found.estimates.files(made_by(study.repeat))}, out, study)
    else:
        write_table(next(iter(found.estimates.tables.values())), out)


def kept(context: typer.Context, network: Network | TemporalNetwork | None) -> tuple[Study, Mapping[str, Content]]:
    """Return what a folder has of a command that takes a table of answers, and a network or none."""
    from peerpressure.report.run import network_files

    return study_of_tables(context, network), {} if network is None else network_files(network)


def study_of_tables(context: typer.Context, network: Network | TemporalNetwork | None) -> Study:
    """Return the study of a command that takes a table of answers, and a network or none, but no scenario."""
    from peerpressure.report.folder import FOLDER, Study, keep_as

    contents = "contains answers and estimates of hidden opinions: for study, not for release"
    kept, command = keep_as(declared_inputs()), str(context.info_name)
    return Study(
        command=command,
        name=context.params["answers"].stem,
        repeat=(command, *words(context, {path: f"{FOLDER}/{name}" for path, name in kept.items()})),
        inputs={name: path for path, name in kept.items()},
        meanings={"agents.csv": AGENTS if network is not None else "the agents, with what is inferred of each"},
        contents=contents if network is not None else f"{contents}. No network was given, so there is no edges.csv",
    )


def words(context: typer.Context, names: Mapping[Path, str]) -> list[str]:
    """Return the arguments and options that repeat a command, with every default, and files by other names."""
    arguments, options = [], []
    for one in context.command.params:
        value = context.params.get(str(one.name))
        if one.name in (*OUTPUTS, "as_json") or value is None or value is False:
            continue
        texts = [_word(each, names) for each in (value if isinstance(value, list | tuple) else [value])]
        if isinstance(one, TyperArgument):
            arguments += texts
        else:
            options += [one.opts[0]] if value is True else [f"{one.opts[0]}={text}" for text in texts]
    return [*arguments, *options]


def _word(value: Any, names: Mapping[Path, str]) -> str:
    return names[Path(os.path.abspath(value))] if isinstance(value, Path) else str(value)


def _ends_of(scale: str) -> tuple[float, float]:
    """Return the ends of a scale that is written as 1:5."""
    try:
        low, high = map(float, scale.split(":"))
    except ValueError:
        rule, remedy = "a scale must be two numbers with a colon between them", "use 1:5 for five points"
        raise InvalidInputError(message(rule, got=repr(scale), remedy=remedy)) from None
    return low, high
