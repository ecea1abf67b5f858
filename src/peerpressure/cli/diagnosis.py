"""``peerpressure diagnose``: what becomes of a network, without simulating it."""

from __future__ import annotations

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
            help="ba:N:M, er:N:P, ws:N:K:P, regular:N:D, path:N, cycle:N, star:N, complete:N, karate, a file."
        ),
    ] = None,
    pressure: Annotated[
        str | None, typer.Option(help="A formula in t, such as 't' or '2^sqrt(t)'; or the word tuned.  [default: t]")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="A law and its standard deviation, such as gaussian:1.  [default: none]")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Also say, exactly, where agents stand after so many steps.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="What graph and hidden opinions are drawn from.  [default: 0]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say whether agents will agree, on what, how fast, and what would be better.

    Nothing is simulated unless a network has more than 200 agents and steps are given. Options take the place of
    what the file says. Without a file, hidden opinions are drawn evenly between 0 and 1.

    Example: peerpressure diagnose --graph ba:100:2 --pressure t --noise gaussian:1 --steps 1000
    """
    if file is None and graph is None:
        raise typer.BadParameter("name a scenario file, or give --graph", param_hint="'FILE'")
    given = {"graph": graph, "pressure": pressure, "noise": noise, "seed": seed, "steps": steps}
    with refusing_all_at_once():
        scenario = _scenario(file, {name: value for name, value in given.items() if value is not None})
    with telling() as tell:
        from peerpressure.theory import diagnose as decide

        tell("diagnosing")
        verdict = decide(scenario.model(), steps if file is None else scenario.run.steps)
    if as_json:
        print_json(verdict.to_dict())
    else:
        typer.echo(str(verdict))


def _scenario(file: Path | None, given: dict[str, str | int]) -> Scenario:
    """Return the scenario of the file, if any, with what the options put in its place."""
    from peerpressure.scenario import scenario_from
    from peerpressure.scenario.shorthand import network_section, noise_section, pressure_section

    data: dict[str, Any] = {"run": {"steps": 1}} if file is None else open_scenario(file).model_dump(exclude_none=True)
    if "graph" in given:
        data["network"] = network_section(str(given["graph"]))
    if "pressure" in given:
        data["pressure"] = pressure_section(str(given["pressure"]))
    if "noise" in given:
        data["noise"] = noise_section(str(given["noise"]))
    data["run"] |= {name: given[name] for name in ("steps", "seed") if name in given}
    return scenario_from(data)
