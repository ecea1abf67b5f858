"""``peerpressure infer``: who listens to whom, from a table of observed public opinions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from peerpressure.cli.estimates import (
    HELP,
    Answers,
    Origin,
    Step,
    check_out,
    study_of_tables,
    write_estimates,
)
from peerpressure.cli.recover import estimates_of, inferred
from peerpressure.cli.terminal import AsJson, listing_problems, print_json, progress_line, show

Deviations: TypeAlias = Literal["common", "agent"]


def infer(
    context: typer.Context,
    answers: Answers,
    pressure: Annotated[str, typer.Option(help="Peer pressure, a number or a formula in t: 1.5, 0.5*t.")],
    std: Annotated[
        Deviations, typer.Option(help="Whether all agents have the same noise, or each its own.")
    ] = "common",
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="Agents listen to each other with equal weights.")
    ] = False,
    signed: Annotated[bool, typer.Option("--signed", help="Weights may be negative, for distrust.")] = False,
    step: Step = None,
    origin: Origin = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write the edges to this .csv or .parquet file; {HELP}")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Infer who listens to whom from public opinions alone.

    Peer pressure must be known; network, stubbornness, hidden opinions and noise need not be. Leave missing answers
    empty. The first line of the output tells how the table was read. Weights have standard errors and confidences, and
    notes list caveats.

    Example: peerpressure infer answers.csv --pressure 1.5 --out edges.csv
    """
    with progress_line() as show_stage, listing_problems():
        from peerpressure.recovery import infer_network, read_observations

        check_out(out, "infer")
        show_stage("inferring")
        seen, words = read_observations(answers, step=step, origin=origin)
        answer = inferred("", infer_network(seen, pressure, std=std, symmetric=symmetric, signed=signed))
        estimates = estimates_of([answer])
        # Written before anything is printed: a closed pipe does not lose the file.
        if out is not None:
            write_estimates(estimates, out, study_of_tables(context, None), {})
    if as_json:
        print_json({"outputs": f"{answers}, {words}", **estimates.answer})
        return
    show(f"{answers}: {words}")
    show(*answer.parts)
    if out is not None:
        show(f"written to {out}")
