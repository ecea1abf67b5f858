"""``peerpressure diagnose``: what becomes of a network, without simulating it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from peerpressure.cli.terminal import AsJson, open_scenario, print_json, refusing_all_at_once, telling

if TYPE_CHECKING:
    from peerpressure.scenario import Scenario


def diagnose(
    file: Annotated[Path | None, typer.Argument(help="A scenario; or leave it out and use the options.")] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            help="ba:N:M, er:N:P, ws:N:K:P, regular:N:D, path:N, cycle:N, star:N, complete:N, karate, hospital, a file."
        ),
    ] = None,
    pressure: Annotated[
        str | None, typer.Option(help="A formula in t, such as 't' or '2^sqrt(t)'; or the word tuned.  [default: t]")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="A law and its standard deviation, such as gaussian:1.  [default: none]")
    ] = None,
    adaptation: Annotated[
        str | None,
        typer.Option(
            help="By how much hidden opinions adapt in a step: a share such as 0.01, or a formula, '0.1/t'.  "
            "[default: not at all]"
        ),
    ] = None,
    dynamics: Annotated[
        str | None,
        typer.Option(
            help="How the graph changes over --steps: failing:P, markov:BIRTH:DEATH or rewiring:RATE.  "
            "[default: not at all]"
        ),
    ] = None,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Let time flow: the stochastic differential equation of the model.")
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Also say, exactly, where agents stand after so many steps; of 0.1 if time flows."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="What graph and hidden opinions are drawn from.  [default: 0]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether agents will agree, on what, how fast, and what would be better.

    Nothing is simulated unless a network has more than 200 agents and steps are given. Options take the place of
    what the file says. Without a file, hidden opinions are drawn evenly between 0 and 1.

    Agents who adapt (--adaptation) come to hold what they say. On a graph that changes (--dynamics) it matters
    who meets whom over time, and who is left alone. With --continuous the steps become infinitely short.

    Example: peerpressure diagnose --graph ba:100:2 --pressure t --noise gaussian:1 --steps 1000

    Example: peerpressure diagnose --graph karate --dynamics failing:0.2 --adaptation 0.01 --steps 500
    """
    if file is None and graph is None:
        raise typer.BadParameter("name a scenario file, or give --graph", param_hint="'FILE'")
    if file is None and dynamics is not None and steps is None:
        raise typer.BadParameter("say with --steps how long the graph changes", param_hint="'--dynamics'")
    given = {"graph": graph, "pressure": pressure, "noise": noise, "seed": seed, "steps": steps}
    given |= {"adaptation": adaptation, "dynamics": dynamics, "continuous": continuous or None}
    with refusing_all_at_once():
        scenario = _scenario(file, {name: value for name, value in given.items() if value is not None})
    with telling() as tell:
        from peerpressure.theory import diagnose as decide

        tell("diagnosing")
        verdict = decide(scenario.system(), steps if file is None else scenario.run.steps)
    if as_json:
        print_json(verdict.to_dict())
    else:
        print(str(verdict))


def _scenario(file: Path | None, given: Mapping[str, str | int]) -> Scenario:
    """Return the scenario of the file, if any, with what the options put in its place."""
    from peerpressure.measures import with_fields
    from peerpressure.scenario import _shorthand, scenario_from

    meant: dict[str, tuple[str, Callable[[str], Any]]] = {
        "graph": ("network", _shorthand.network_section),
        "dynamics": ("network.dynamics", _shorthand.dynamics_section),
        "adaptation": ("agents.adaptation", _shorthand.adaptation_section),
        "pressure": ("pressure", _shorthand.pressure_section),
        "noise": ("noise", _shorthand.noise_section),
    }
    fields = {field: read(str(given[name])) for name, (field, read) in meant.items() if name in given}
    fields |= {f"run.{name}": given[name] for name in ("steps", "seed") if name in given}
    fields |= {"time.continuous": True} if "continuous" in given else {}
    data: dict[str, Any] = {"run": {"steps": 1}} if file is None else open_scenario(file).model_dump(exclude_none=True)
    return scenario_from(with_fields(data, fields))
