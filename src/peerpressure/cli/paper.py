"""``peerpressure paper``: the published experiments, with figures, tables and an audit of the claims."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, check_folder, columns, print_json, progress_line, show

if TYPE_CHECKING:
    from peerpressure.reproduction.paper import Reproduction

# Bounds against typing errors, well above what the experiments need.
MOST_STEPS = 10_000_000
MOST_REPLICATIONS = 100_000


def paper(
    out: Annotated[
        Path, typer.Option(help="Folder for the report, figures (PDF, PNG) and tables (CSV); created if missing.")
    ] = Path("build/paper"),
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of graphs, opinions and noise; the same seed gives the same result.")
    ] = 14,
    replications: Annotated[
        int, typer.Option(min=2, max=MOST_REPLICATIONS, help="Runs in each cell of the sweeps; the paper has 20.")
    ] = 20,
    steps: Annotated[int, typer.Option(min=100, max=MOST_STEPS, help="Length of the longest runs.")] = 100_000,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Processes for figures and large sweeps; one per core if left out."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Compute everything again instead of reusing results.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure and table, and an audit of its claims.

    For three runs, the final spread of the agents and their largest distance to the consensus value v are printed, and
    how many of the claims hold.

    The report is one self-contained HTML page, report.html. Figures are written beside it as PDF and PNG, tables as
    CSV. The same seed, replications and steps give the same tables, byte for byte; existing ones are reused.

    An interrupted run leaves the former report unchanged.

    Example: peerpressure paper --out build/paper --seed 14
    """
    check_folder(out)
    # The line appears before the imports, which take a while.
    with progress_line() as show_stage:
        show_stage("loading")
        from peerpressure.reproduction.paper import Request, may_be_written, reproduce
        from peerpressure.resources import available_cores

        if not may_be_written(out):
            text = f"{out} has a report.html of something else; name another folder"
            raise typer.BadParameter(text, param_hint="'--out'")

        made = reproduce(
            out,
            Request(seed, replications, steps),
            workers=workers or available_cores(),
            fresh=fresh,
            progress=show_stage,
        )
    if as_json:
        _print_json(made, seed)
    else:
        _print_summary(made)


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
            "tree" if run.bipartite else "odd cycles",
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
