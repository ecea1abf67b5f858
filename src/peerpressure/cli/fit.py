"""``peerpressure fit``: unknown parameters of a model from a table of observed public opinions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    network_of,
    observation_of,
    study_of_tables,
    write_estimates,
)
from peerpressure.cli.terminal import AsJson, columns, listing_problems, print_json, progress_line, show
from peerpressure.errors import InvalidInputError, message

if TYPE_CHECKING:
    import pandas as pd

    from peerpressure.fitting import LikelihoodFit
    from peerpressure.model import Model
    from peerpressure.networks import Network, TemporalNetwork
    from peerpressure.report.estimates import Estimates

SHOWN = 30  # rows in the terminal; --out and --json have all of them


def fit(
    context: typer.Context,
    answers: Answers,
    network: Annotated[Path, typer.Option(help=NETWORK)],
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            help="What is unknown: constant, slope, exponent or pressure, and adaptation, autocorrelation, "
            "measurement_noise, std, agent_std, stubbornness; std and constant if none."
        ),
    ] = None,
    pressure: Annotated[
        str | None, typer.Option(help="Peer pressure where it is known, a number or a formula in t: 1.5, 0.5*t.")
    ] = None,
    agents: Agents = None,
    directed: Directed = False,
    rounding: Rounding = 0.0,
    scale: Scale = None,
    measurement_noise: MeasurementNoise = False,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.95,
    step: Step = None,
    origin: Origin = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Also write all estimates to this .csv or .parquet file; {HELP}")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate unknown parameters together with hidden opinions.

    Every estimate has an interval, infinite if the answers do not bound it. Leave missing answers empty. Times count
    steps; dates become steps with --step.

    Declare scales, rounding and measurement errors with --scale, --rounding or --measurement-noise; otherwise pressure
    looks too weak.

    Example: peerpressure fit answers.csv --network friends.csv --unknown std --unknown slope
    """
    with progress_line() as show_stage, listing_problems():
        from peerpressure.fitting import fit as fit_model
        from peerpressure.scenario import read_outputs

        check_out(out, "fit")
        names = (unknown or ["std", "constant"]) + ["measurement_noise"] * measurement_noise
        look = observation_of(rounding, scale)
        show_stage("reading")
        graph = network_of(network, agents, directed=directed)
        model = _model(graph, pressure, names)
        seen = read_outputs(answers, model, step, origin)
        runs = seen.runs
        if len(runs) > 1:
            rule, got = "parameters are fitted to one topic", ", ".join(map(repr, runs))
            raise InvalidInputError(message(rule, got=got, remedy="pass a table of one topic"))
        show_stage("fitting")
        fitted = fit_model(next(iter(runs.values())), model, names, observation=look, level=level)
        table = fitted.to_dataframe()
        estimates = _estimates(fitted, table)
        # Written before anything is printed: a closed pipe does not lose the file.
        if out is not None:
            from peerpressure.report.run import network_files

            write_estimates(estimates, out, study_of_tables(context, graph), network_files(graph))
    if as_json:
        print_json({"outputs": f"{answers}, {seen.description}", **estimates.answer})
        return
    show(f"{answers}: {seen.description}")
    _print(fitted, estimates, table)
    if out is not None:
        show(f"written to {out}")


def _model(network: Network | TemporalNetwork, pressure: str | None, unknown: list[str]) -> Model:
    """Return the model whose unknown parameters are fitted; its own values of these are not used."""
    from peerpressure.model import Model
    from peerpressure.noise import Gaussian
    from peerpressure.schedules import Linear, Power

    course = Power(1.0, 1.0) if "exponent" in unknown else Linear()
    return Model(network, pressure=course if pressure is None else pressure, noise=Gaussian(1.0))


def _estimates(fitted: LikelihoodFit, table: pd.DataFrame) -> Estimates:
    from peerpressure.report.estimates import Estimates

    tests = fitted.diagnostics
    facts = {
        "estimates": table.to_dict(orient="records"),
        "level": fitted.level,
        "log_likelihood": fitted.log_likelihood.tolist(),
        "aic": fitted.aic.tolist(),
        "bic": fitted.bic.tolist(),
        "number_of_parameters": fitted.number_of_parameters,
        "number_of_outputs": fitted.number_of_outputs,
        "p_value": None if tests is None or tests.p_value is None else tests.p_value.tolist(),
        "findings": {} if tests is None else dict(tests.findings),
        "failures": list(fitted.failures),
    }
    words = [line.strip() for line in fitted.summary().splitlines()]
    words += [] if tests is None else [f"{name}: {text}" for name, text in tests.summary() if name != "log-likelihood"]
    return Estimates("Parameters and hidden opinions", words, facts, {"estimates": table}, notes=fitted.notes)


def _print(fitted: LikelihoodFit, estimates: Estimates, table: pd.DataFrame) -> None:
    first = table[table["replicate"] == table["replicate"].min()]
    rows = [
        (
            str(row.parameter),
            "" if row.agent is None else str(row.agent),
            f"{row.value:.4g}",
            f"{row.std:.4g}",
            f"{row.low:.4g} to {row.high:.4g}",
        )
        for row in first.head(SHOWN).itertuples()
    ]
    lead, *others = estimates.sentences
    show(lead, *(f"  {line}" for line in others))
    names = ("parameter", "agent", "estimate", "standard error", f"{fitted.level:.0%} interval")
    show(columns(None, names, rows, text=2))
    if len(first) > SHOWN:
        show(f"and {len(first) - SHOWN:,} more rows; --out FILE or --json has all of them")
