"""``peerpressure sweep``: run a scenario over a grid of its fields, and collect and plot the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from peerpressure.cli.terminal import (
    FAILURE,
    SETTINGS,
    AsJson,
    Command,
    Commands,
    check_folder,
    columns,
    facts,
    listing_problems,
    print_error,
    print_json,
    progress_line,
    show,
)
from peerpressure.errors import did_you_mean
from peerpressure.support.files import declare_output, table_format
from peerpressure.support.progress import on_terminal

if TYPE_CHECKING:
    from peerpressure.sweep import Plan, SweepStatus


Place: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE|FOLDER", help="The sweep file, or the folder that holds its results.")
]
FIXED = ("scenario", "measures", "threshold")  # parameters of a unit that are no axes
COUNTS = ("total", "done", "failed", "running", "planned", "damaged", "recomputed", "active")
FAILURES = 10  # failed units that are named


class FileFirst(Commands):
    """A group of commands in which a file in place of a command is run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put ``run`` before an argument that is no command."""
        # ``peerpressure sweep sweep.toml`` is the short form; sweep files have a suffix, so none is taken for a
        # command.
        if args and args[0] not in (*self.commands, *SETTINGS["help_option_names"]):
            # A misspelt command is no file: it has no suffix, and there is none of that name.
            near = "" if Path(args[0]).suffix or Path(args[0]).exists() else did_you_mean(args[0], self.commands)
            if near:
                raise typer.BadParameter(f"there is no command {args[0]!r}{near}", ctx=ctx, param_hint="'COMMAND'")
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(name="sweep", cls=FileFirst, no_args_is_help=True, rich_markup_mode=None, context_settings=SETTINGS)


@app.callback()
def about() -> None:
    """Run a scenario over a grid of its fields: peerpressure sweep sweep.toml.

    A sweep file names a scenario, the fields that vary (by their dotted paths, over a list, a range or random values),
    the replications and the measures. You may interrupt a sweep at any time and run it again: finished units are kept.
    """


@app.command("run", cls=Command)
def run_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep file.")],
    out: Annotated[Path | None, typer.Option(help="Folder for results; the one in the file, or one beside it.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; one per core if left out.")] = None,
    dask: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, such as tcp://host:8786.")] = None,
    shard: Annotated[
        str | None, typer.Option(metavar="I/N", help="Compute part I of N only, for array jobs on a cluster.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Compute failed units again.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Delete earlier results in the folder first.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute the remaining units of a sweep.

    The result depends neither on the number of workers nor on interruptions. The exit status is 1 if units failed;
    --retry-failed computes them again. Units with missing or damaged files are computed again.

    Parts of a sweep (--shard 1/4 to --shard 4/4) may run at the same time, on machines that share the folder. Then the
    command without --shard merges them and computes the rest.

    Example: peerpressure sweep sweep.toml --workers 4
    """
    with listing_problems():
        from peerpressure.scenario import load_sweep

        loaded = load_sweep(file)
    plan = loaded.plan if shard is None else loaded.plan.part(*_shard(shard))
    folder = out or loaded.folder or _beside(file)
    # Checked here for a message that names the option; the sweep itself would report a failed mkdir.
    check_folder(folder, f"output.folder of {file}" if out is None and loaded.folder else "'--out'")
    from peerpressure.sweep import run_sweep

    state = run_sweep(
        plan, folder, workers=workers, dask=dask, retry_failed=retry_failed, fresh=fresh, progress=on_terminal()
    )
    # Parts that run at the same time must not write to one file; the run that merges them describes the folder.
    if shard is None:
        _seal(plan, file, folder)
    _print_status(state, folder, as_json=as_json)
    if state.failed:
        # The table of failures comes first; the error line and the exit status are for scripts.
        raise typer.Exit(print_error(f"{state.failed} of {state.total} units failed; see sweep status", FAILURE))


def _shard(text: str) -> tuple[int, int]:
    number, slash, of = text.partition("/")
    if not (slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of)):
        raise typer.BadParameter(f"must be a part such as 1/4, got {text!r}; count from 1", param_hint="'--shard'")
    return int(number), int(of)


@app.command(cls=Command)
def status(place: Place, as_json: AsJson = False) -> None:
    """Show the progress of a sweep, its failures, and an estimate of the time left.

    Example: peerpressure sweep status sweep.toml
    """
    from peerpressure.sweep import status as sweep_status

    folder, plan = _sweep_at(place)
    _print_status(sweep_status(folder, plan=plan), folder, as_json=as_json)


@app.command(cls=Command)
def collect(
    place: Place,
    out: Annotated[
        Path | None, typer.Option(help="A .csv or .parquet file; table.csv in the folder if left out.")
    ] = None,
    partial: Annotated[bool, typer.Option("--partial", help="Use the finished units.")] = False,
    as_json: AsJson = False,
) -> None:
    """Collect the results of a sweep in one tidy table.

    One row per unit, measure, detail and replicate, and one column per axis. Parquet needs pyarrow.

    Example: peerpressure sweep collect sweep.toml --out table.parquet
    """
    from peerpressure.sweep import collect as collect_results, write_table

    folder, plan = _sweep_at(place)
    target = out or folder / "table.csv"
    # A wrong suffix is a wrong argument.
    with listing_problems():
        table_format(target)
    declare_output(target)
    # Read before the target is opened: an unfinished sweep leaves an existing table unchanged.
    table = collect_results(folder, plan=plan, partial=partial)
    write_table(table, target)
    if as_json:
        print_json({"file": target, "rows": len(table), "columns": list(table.columns)})
    else:
        show(f"{len(table):,} rows with columns {', '.join(table.columns)}", f"written to {target}")


@app.command(cls=Command)
def plot(
    place: Place,
    kind: Annotated[str, typer.Option(help="lines, boxes or heat.")] = "lines",
    measure: Annotated[str | None, typer.Option(help="Which measure; the first if left out.")] = None,
    x: Annotated[str | None, typer.Option(help="Axis for x; the first if left out.")] = None,
    by: Annotated[str | None, typer.Option(help="Axis with one line or box per value, or y of a heat map.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the figure; that of the sweep if left out.")] = None,
    as_json: AsJson = False,
) -> None:
    """Plot a measure over the axes of a sweep, as PDF and PNG.

    Lines show the mean over replications with its standard error (over replicates if there is one replication), boxes
    the quartiles, and a heat map the mean over two axes.

    Example: peerpressure sweep plot sweep.toml --kind heat --measure spread
    """
    folder, plan = _sweep_at(place)
    check_folder(out or folder)
    from peerpressure.sweep import collect as collect_results

    # A plot of what is done so far is useful while the sweep runs.
    table = collect_results(folder, plan=plan, partial=True)
    # Matplotlib is imported while the line is visible, since that takes a while.
    with progress_line() as show_stage:
        from peerpressure.plotting import save
        from peerpressure.plotting.sweep import sweep_plot

        show_stage("drawing")
        drawn = sweep_plot(table, kind, measure=measure, x=x, by=by)
        written = save(drawn.figure, out or folder, f"{drawn.measure}_{kind}")
    if as_json:
        print_json({"files": written, "measure": drawn.measure, "x": drawn.x, "by": drawn.by})
    else:
        show(*(str(path) for path in written))


@app.command(cls=Command)
def measures(as_json: AsJson = False) -> None:
    """List the measures of a sweep.

    Example: peerpressure sweep measures
    """
    from peerpressure.scenario import MEASURES

    if as_json:
        print_json({name: one.help for name, one in MEASURES.items()})
    else:
        show(facts([(name, one.help) for name, one in MEASURES.items()]))


def _seal(plan: Plan, file: Path, folder: Path) -> None:
    """Add inputs, provenance and the network to the results of a sweep, if all units have the same one."""
    from peerpressure.report.folder import FOLDER, MEANINGS, Study, keep_as, seal
    from peerpressure.report.run import edge_file
    from peerpressure.report.store import publish, to_csv
    from peerpressure.scenario import network_table, scenario_from
    from peerpressure.simulation.trajectory import contents
    from peerpressure.support.files import declared_inputs

    # Relative paths between the files are preserved: they are parameters of the units, on which seeds depend.
    kept, source = keep_as(declared_inputs()), Path(file).absolute()
    scenario = scenario_from(plan.base["scenario"], folder=plan.local["folder"])
    files = {}
    if (agents := network_table(scenario, plan.axes)) is not None:
        files = {**edge_file(scenario.agent_network), "agents.csv": to_csv(agents)}
        publish(folder, files)
    study = Study(
        command="sweep",
        name=file.stem,
        repeat=("sweep", "run", f"{FOLDER}/{kept[source]}"),
        seed=plan.seed,
        source=file,
        original=source,
        inputs={name: path for path, name in kept.items()},
        meanings={"ledger.sqlite": MEANINGS["ledger.sqlite"], "agents.csv": "the agents of all units"}
        if files
        else {"ledger.sqlite": MEANINGS["ledger.sqlite"]},
        contents=contents(hidden=True),
    )
    seal(folder, study, [*files, "units/"])


def _axes(parameters: str) -> dict[str, Any]:
    """Return the values of the axes at a point of a sweep, by field."""
    # Constant parameters, such as the scenario, would fill pages.
    return {name: value for name, value in json.loads(parameters).items() if name not in FIXED}


def _point(axes: dict[str, Any]) -> str:
    return ", ".join(f"{name} = {json.dumps(value)}" for name, value in axes.items()) or "no axis"


def _beside(file: Path) -> Path:
    return file.with_name(f"{file.stem}-results")


def _sweep_at(place: Path) -> tuple[Path, Plan | None]:
    """Return the folder of a sweep, and its plan if the file that describes it is given."""
    # A folder suffices: the sweep file may have changed or moved since.
    if place.is_dir():
        return place, None
    with listing_problems():
        from peerpressure.scenario import load_sweep

        loaded = load_sweep(place)
        return loaded.folder or _beside(place), loaded.plan


def _print_status(state: SweepStatus, folder: Path, *, as_json: bool) -> None:
    failures = [failure._asdict() | {"parameters": _axes(failure.parameters)} for failure in state.failures[:FAILURES]]
    if as_json:
        counts = {name: getattr(state, name) for name in COUNTS}
        print_json({**counts, "seconds_left": state.seconds_left, "failures": failures, "folder": folder})
        return
    show(f"{state}; results in {folder}")
    if failures:
        rows = [(_point(one["parameters"]), str(one["replication"]), one["error"]) for one in failures]
        show(columns("failed", ("point", "replication", "error"), rows, text=3))
