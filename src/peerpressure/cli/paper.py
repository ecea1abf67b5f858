"""``peerpressure paper``: the published experiments, their figures and tables, and an audit of the claims."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from peerpressure.cli.terminal import AsJson, columns, print_json, refuse_file, show, telling

if TYPE_CHECKING:
    from peerpressure.reproduction.paper import Reproduction

MOST_STEPS = 10_000_000
MOST_REPLICATIONS = 100_000


def paper(
    out: Annotated[
        Path, typer.Option(help="Folder for the report, figures (PDF, PNG) and tables (CSV); made if it is not there.")
    ] = Path("build/paper"),
    seed: Annotated[
        int, typer.Option(min=0, help="What graphs, opinions and noise are drawn from; one seed, one result.")
    ] = 14,
    replications: Annotated[
        int, typer.Option(min=2, max=MOST_REPLICATIONS, help="Runs in each cell of the sweeps; the paper has 20.")
    ] = 20,
    steps: Annotated[
        int, typer.Option(min=100, max=MOST_STEPS, help="How long the longest runs are; small ones take less time.")
    ] = 100_000,
    workers: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Processes to draw, and for large sweeps; as many as cores."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Compute everything anew, whatever is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce the paper: every figure and table, and an audit of its claims.

    It is printed how far the agents of three runs end from each other (spread) and from the consensus value v
    (distance), which are two different things, and how many of the claims hold.

    The report is one HTML page, report.html, that needs nothing but a browser. Figures lie beside it as PDF and PNG
    and tables as CSV. The same seed, replications and steps give the same tables, byte for byte; if they are there
    already, they are reused.

    A run that is stopped leaves the former report as it was.

    Example: peerpressure paper --out build/paper --seed 14
    """
    refuse_file(out)
    with telling() as tell:
        tell("loading")
        from peerpressure.reproduction.paper import Request, reproduce

        made = reproduce(
            out, Request(seed, replications, steps), workers=workers or os.cpu_count() or 1, fresh=fresh, progress=tell
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
    names = ("graph", "ρ_t", "in the end", "mean", "spread", "distance", "oscillation")
    rows = [
        [
            "tree" if run.bipartite else "odd cycles",
            run.pressure,
            run.predicted.replace("_", " "),
            *(f"{value:.4f}" for value in (run.mean, run.spread, run.distance, run.oscillation)),
        ]
        for run in summary.itertuples()
    ]
    counted = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.value_counts(sort=False).items())
    state = "reused" if made.reused else "written"
    show(columns(title, names, rows, text=3), f"Claims of the paper: {counted}")
    show(f"{len(made.files)} files {state} in {made.report.parent}; open {made.report}")
