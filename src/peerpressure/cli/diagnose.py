"""``peerpressure diagnose``: the long-run behaviour of a network, without simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from peerpressure.cli.options import (
    Activation,
    Adaptation,
    Continuous,
    Dynamics,
    EdgeDirection,
    Graph,
    Hidden,
    Isolated,
    NoiseLaw,
    Pressure,
    Signed,
    Zealots,
    scenario_of,
)
from peerpressure.cli.terminal import AsJson, listing_problems, print_json, progress_line, text_width


def diagnose(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A scenario; or leave it out and use the options.")
    ] = None,
    network: Graph = None,
    direction: EdgeDirection = None,
    signed: Signed = False,
    hidden: Hidden = None,
    zealots: Zealots = None,
    pressure: Pressure = None,
    noise: NoiseLaw = None,
    adaptation: Adaptation = None,
    dynamics: Dynamics = None,
    activation: Activation = None,
    isolated: Isolated = None,
    continuous: Continuous = False,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Also forecast the opinions after so many steps; of 0.1 each in continuous time."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the network and of the hidden opinions.  [default: 0]")
    ] = None,
    within: Annotated[
        float | None,
        typer.Option(help="Distance at which agents count as close; 5 % of the range of opinions if left out."),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add reasons, rates and symbols: the mathematics of the answer.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Predict whether agents agree, on what and how fast, and which schedules bring them closer to v by --steps.

    With --steps, or steps in the file, also computes when agents are close to each other and to v, the weighted mean
    of hidden opinions. Numbers are exact, or have a standard error on large networks. Options override the file.
    Without a table, hidden opinions are drawn at random.

    --adaptation lets hidden opinions follow public ones, --dynamics changes the network over time, --activation makes
    updates asynchronous, and --continuous makes time continuous.

    Example: peerpressure diagnose --network ba:100:2 --pressure t --noise gaussian:1 --steps 1000

    Example: peerpressure diagnose --network karate --dynamics failing:0.2 --adaptation 0.01 --steps 500

    Example: peerpressure diagnose --network follows.csv --direction listens --hidden people.csv:opinion --steps 500
    """
    # Typer cannot express that one of two parameters is required.
    if file is None and network is None:
        raise typer.BadParameter("name a scenario file, or give --network", param_hint="'FILE'")
    # A file has the length of its run; without one the changes need a number of steps.
    if file is None and dynamics is not None and steps is None:
        raise typer.BadParameter("give --steps, the time over which the network changes", param_hint="'--dynamics'")
    if file is None and pressure == "optimal" and steps is None:
        raise typer.BadParameter("give --steps, the horizon of the schedule", param_hint="'--pressure'")
    if within is not None and not 0 < within < math.inf:
        rule = f"must be a finite number above 0, got {within:g}; for instance 0.05"
        raise typer.BadParameter(rule, param_hint="'--within'")
    with listing_problems():
        scenario, horizon = scenario_of(file, context.params)
    with progress_line() as show_stage:
        from peerpressure.theory import diagnose as diagnose_model

        show_stage("diagnosing")
        verdict = diagnose_model(scenario.system(), horizon, tolerance=within)
    drawn = scenario.drawn_hidden
    if as_json:
        print_json({**verdict.to_dict(), "hidden_drawn": drawn})
        return
    if drawn is not None:
        drawn += "; set yours with --hidden FILE" if file is None else "; set yours with --hidden FILE or in [agents]"
    verdict = replace(verdict, drawn=drawn)
    if explain:
        print(verdict.explain(text_width()))
        return
    more = "" if horizon is not None else "--steps N adds how fast; "
    print(f"{verdict.answer(text_width())}\n\n{more}--explain adds the reasons and the mathematics")
