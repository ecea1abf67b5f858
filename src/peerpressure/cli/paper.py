"""``peerpressure paper``: the published experiments, with figures, tables and an audit of the claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, check_folder, columns, print_json, progress_line, show

if TYPE_CHECKING:
    from peerpressure.reproduction.paper import Reproduction

# Bounds against typing errors, well above what the experiments need.
MOST_STEPS = 10_000_000
MOST_REPLICATIONS = 100_000
REPLICATIONS, QUICK_REPLICATIONS = 20, 5
STEPS, QUICK_STEPS = 100_000, 1_000


def paper(
    out: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the report, figures (PDF, PNG, SVG) and tables (CSV, LaTeX); created if missing.",
            show_default="build/paper, or build/FIGURE with --only",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of graphs, opinions and noise; the same seed gives the same result.")
    ] = 14,
    replications: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=MOST_REPLICATIONS,
            help="Runs in each cell of the sweeps; the paper has 20.",
            show_default=f"{REPLICATIONS}, or {QUICK_REPLICATIONS} with --quick",
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=100,
            max=MOST_STEPS,
            help="Length of the longest runs.",
            show_default=f"{STEPS}, or {QUICK_STEPS} with --quick",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller version: short runs, verdicts for one seed, figures as SVG only."),
    ] = False,
    only: Annotated[
        str | None, typer.Option(metavar="FIGURE", help="Run the experiment of one figure, such as failure.")
    ] = None,
    settings: Annotated[
        str,
        typer.Option("--set", metavar="NAME=VALUE,...", help="With --only: other parameters, as noise=1,graph=karate."),
    ] = "",
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Processes for figures and large sweeps; one per core if left out."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Recompute everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure and table, and an audit of its claims.

    Prints the final spread and the largest distance to the consensus value v of four runs, and how many claims hold.

    The report is one HTML page, report.html. Figures are written as PDF, PNG and SVG, tables as CSV and LaTeX,
    references as BibTeX. The same seed, replications and steps give the same tables, byte for byte; existing ones are
    reused.

    An interrupted run leaves the former report unchanged.

    --only runs the experiment of one figure, in seconds, and --set changes its parameters.

    Example: peerpressure paper --out build/paper --seed 14
    """
    folder = out or Path("build") / (only or "paper")
    check_folder(folder)
    if only is not None:
        _one(folder, only, settings, seed, {"replications": replications, "steps": steps}, as_json=as_json)
        return
    if settings:
        raise typer.BadParameter("it needs --only FIGURE, whose experiment it changes", param_hint="'--set'")
    # The line appears before the imports, which take a while.
    with progress_line() as show_stage:
        show_stage("loading")
        from peerpressure.reproduction.paper import Request, may_be_written, reproduce
        from peerpressure.support.resources import available_cores

        if not may_be_written(folder):
            text = f"{folder} has a report.html of something else; name another folder"
            raise typer.BadParameter(text, param_hint="'--out'")

        request = Request(
            seed,
            replications or (QUICK_REPLICATIONS if quick else REPLICATIONS),
            steps or (QUICK_STEPS if quick else STEPS),
            quick,
        )
        made = reproduce(
            folder,
            request,
            workers=workers or available_cores(),
            fresh=fresh,
            progress=show_stage,
        )
        # Without the name of the program.
        made = replace(made, files=_seal(folder, made.files, request.command.split()[1:], seed))
    if as_json:
        _print_json(made, seed)
    else:
        _print_summary(made)


def _seal(folder: Path, files: Sequence[Path], again: Sequence[str], seed: int) -> tuple[Path, ...]:
    """Add provenance and a README to the files, and return all of them."""
    from peerpressure.report.folder import Study, seal

    contents = (
        "contains no data of persons. Each experiment draws networks and opinions of its own from the seed, so there "
        "is no edges.csv or agents.csv"
    )
    study = Study(command="paper", name="paper", repeat=again, seed=seed, contents=contents)
    added = seal(folder, study, [path.relative_to(folder).as_posix() for path in files])
    return (*files, *(folder / name for name in added))


def _one(folder: Path, figure: str, settings: str, seed: int, also: dict[str, int | None], *, as_json: bool) -> None:
    """Run the experiment of one figure; ``also`` are options that are settings too."""
    with progress_line() as show_stage:
        show_stage("loading")
        from peerpressure.reproduction.paper import may_have_one, reproduce_one

        if not may_have_one(folder):
            text = f"{folder} has the whole report, whose files these would replace; name another folder"
            raise typer.BadParameter(text, param_hint="'--out'")
        given = [settings, *(f"{name}={value}" for name, value in also.items() if value is not None)]
        chosen = ",".join(filter(None, given))
        written = reproduce_one(folder, figure, chosen, seed=seed, progress=show_stage)
        again = ["paper", "--only", figure, "--seed", str(seed), *(["--set", chosen] if chosen else [])]
        written = _seal(folder, written, again, seed)
    if as_json:
        print_json({"figure": figure, "seed": seed, "files": list(written)})
    else:
        show(f"{len(written)} files written in {folder}; open {folder / 'figures' / figure}.png")


def _print_json(made: Reproduction, seed: int) -> None:
    records = {name: made.tables[name].to_dict(orient="records") for name in ("summary", "audit")}
    answer = {"seed": seed, "reused": made.reused, "runs": records["summary"], "audit": records["audit"]}
    print_json(answer | {"report": made.report, "files": list(made.files)})


def _print_summary(made: Reproduction) -> None:
    summary, verdicts = made.tables["summary"], made.tables["audit"]["verdict"]
    first = summary.iloc[0]
    title = f"After {first['steps']:,} steps; consensus value v = {first['consensus_value']:.4f}"
    names = ("graph", "ρ_t", "in the end", "mean", "spread", "max distance", "oscillation")
    rows = [
        [
            {"fast_triangle": "triangle"}.get(run.run, "tree" if run.bipartite else "odd cycles"),
            run.pressure,
            run.predicted.replace("_", " "),
            *(f"{value:.4f}" for value in (run.mean, run.spread, run.max_distance, run.oscillation)),
        ]
        for run in summary.itertuples()
    ]
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.value_counts(sort=False).items())
    state = "reused" if made.reused else "written"
    show(columns(title, names, rows, text=3), f"Claims of the paper: {counted}")
    show(f"{len(made.files)} files {state} in {made.report.parent}; open {made.report}")
