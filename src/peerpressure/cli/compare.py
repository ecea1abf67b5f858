"""``peerpressure compare``: which model explains a table of answers, and what follows from it, in sentences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from peerpressure.cli.estimates import (
    HELP,
    NETWORK,
    Agents,
    Answers,
    Directed,
    MeasurementNoise,
    Origin,
    Rounding,
    Scale,
    Step,
    check_out,
    check_report,
    is_folder,
    network_of,
    observation_of,
    study_of_tables,
    write_estimates,
)
from peerpressure.cli.terminal import AsJson, columns, listing_problems, print_json, progress_line, show
from peerpressure.errors import InvalidInputError, message

if TYPE_CHECKING:
    from peerpressure.fitting import Comparison
    from peerpressure.report.estimates import Estimates


Start: TypeAlias = Literal["hidden", "public"]


def compare(
    context: typer.Context,
    answers: Answers,
    network: Annotated[Path | None, typer.Option(help=f"{NETWORK} Without it, only models without neighbours.")] = None,
    rival: Annotated[
        list[str] | None, typer.Option(help="none, constant, linear and others, also several; all if left out.")
    ] = None,
    start: Annotated[
        Start, typer.Option(help="Whether the first row follows a hidden start, or is the public start itself.")
    ] = "hidden",
    agents: Agents = None,
    directed: Directed = False,
    rounding: Rounding = 0.0,
    scale: Scale = None,
    measurement_noise: MeasurementNoise = False,
    step: Step = None,
    origin: Origin = None,
    report: Annotated[Path | None, typer.Option(help="Also write a page with figures to this .html file.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help=f"Also write hidden opinions of all agents to this .csv or .parquet file; {HELP}"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare models of observed answers, and tell whether people respond to each other.

    Prints the answer in sentences, then the models with their weights. People are said to respond to their neighbours
    only if the best model says so and shuffling people over the network explains less. The answer may be that the data
    cannot tell. A badly fitting model is reported even if it is the best.

    The first line tells how the table was read. Leave missing answers empty. Times count steps; dates become steps
    with --step. For five rows or fewer, use peerpressure response.

    Declare scales, rounding and measurement errors with --scale, --rounding or --measurement-noise; otherwise pressure
    looks too weak. This takes about 20 seconds for 60 people in five waves, and minutes for 200.

    Example: peerpressure compare answers.csv --network friends.csv --report report.html
    """
    check_out(out, "compare")
    check_report(report)
    with progress_line() as show_stage, listing_problems():
        from peerpressure.fitting import compare as compare_models
        from peerpressure.recovery import read_observations

        look = observation_of(rounding, scale)
        if agents is not None and network is None:
            rule, remedy = "a table of agents completes a network", "add --network, or leave --agents out"
            raise InvalidInputError(message(rule, got=f"--agents {agents} alone", remedy=remedy))
        show_stage("reading")
        graph = None if network is None else network_of(network, agents, directed=directed)
        seen, words = read_observations(answers, graph, step, origin)
        show_stage("comparing models")
        comparison = compare_models(
            seen,
            graph,
            rival,
            start=start,
            observation=look,
            measurement_noise=measurement_noise,
        )
        # Everything is computed and written before anything is printed: a closed pipe loses no file.
        estimates = comparison.estimates(drawn=out is not None and is_folder(out))
        if out is not None:
            from peerpressure.report.run import network_files

            study = study_of_tables(context, graph)
            write_estimates(estimates, out, study, {} if graph is None else network_files(graph))
        if report is not None:
            show_stage("drawing")
            comparison.report(report)
    if as_json:
        print_json({"outputs": f"{answers}, {words}", **estimates.answer})
        return
    show(f"{answers}: {words}")
    _print(comparison, estimates)
    for written in filter(None, (out, report)):
        show(f"written to {written}")


def _print(comparison: Comparison, estimates: Estimates) -> None:
    rows = [
        (str(row.model), f"{row.log_likelihood:.1f}", str(row.k), f"{row.bic_difference:.1f}", f"{row.weight:.3f}")
        for row in comparison.table.itertuples()
    ]
    numbers = [
        (str(row.parameter), f"{row.value:.4g}", f"{row.low:.4g} to {row.high:.4g}")
        for row in comparison.parameters.itertuples()
    ]
    *sentences, record = estimates.sentences
    show(*sentences, "", record)
    show(columns(None, ("model", "log likelihood", "k", "BIC − min", "weight"), rows))
    if numbers:
        show(columns(None, ("average over models", "value", "95 % interval"), numbers))
    show(*estimates.notes)
