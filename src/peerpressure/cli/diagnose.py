"""``peerpressure diagnose``: the long-run behaviour of a network, without simulation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from peerpressure.cli.terminal import AsJson, listing_problems, print_json, progress_line, text_width
from peerpressure.files import expanded

if TYPE_CHECKING:
    from peerpressure.scenario import Scenario


Direction: TypeAlias = Literal["listens", "influences"]


def diagnose(
    file: Annotated[Path | None, typer.Argument(help="A scenario; or leave it out and use the options.")] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            help="ba:N:M, er:N:P, ws:N:K:P, regular:N:D, path:N, cycle:N, star:N, complete:N, followers:N:M:P, "
            "rival_camps:N:D:P, karate, hospital, a file."
        ),
    ] = None,
    direction: Annotated[
        Direction | None,
        typer.Option(
            help="Edges of a file go one way: their source listens to, or influences, their target.  "
            "[default: as the file says]"
        ),
    ] = None,
    signed: Annotated[bool, typer.Option("--signed", help="Weights of a file may be negative, for distrust.")] = False,
    hidden: Annotated[
        str | None,
        typer.Option(
            help="Table of hidden opinions by agent: FILE with a column hidden, or FILE:COLUMN.  "
            "[default: drawn uniformly between 0 and 1]"
        ),
    ] = None,
    zealots: Annotated[
        str | None, typer.Option(help="Agents who listen to nobody, such as 0,33 or ann,bob.  [default: none]")
    ] = None,
    pressure: Annotated[
        str | None,
        typer.Option(
            help="A formula in t, such as '2^sqrt(t)'; a kind, such as power:1.5; tuned; or optimal for --steps.  "
            "[default: t]"
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(help="A law and its parameters, such as gaussian:1 or student:1:3.  [default: none]"),
    ] = None,
    adaptation: Annotated[
        str | None,
        typer.Option(
            help="Adaptation rate of hidden opinions: a share such as 0.01, or a formula, '0.1/t'.  "
            "[default: no adaptation]"
        ),
    ] = None,
    dynamics: Annotated[
        str | None,
        typer.Option(
            help="How edges change over --steps: failing:P, markov:BIRTH:DEATH, rewiring:RATE or gossip.  "
            "[default: a constant network]"
        ),
    ] = None,
    activation: Annotated[
        str | None,
        typer.Option(
            help="Who updates at a step: each agent with a probability such as 0.5; or single, one agent. The others "
            "keep their public opinions.  [default: everybody]"
        ),
    ] = None,
    isolated: Annotated[
        str | None,
        typer.Option(
            help="What agents without neighbours at a step show: own, their own opinions; or keep, their last public "
            "ones.  [default: keep for recorded contacts and gossip, otherwise own]"
        ),
    ] = None,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Continuous time: the stochastic differential equation of the model.")
    ] = False,
    steps: Annotated[
        int | None,
        typer.Option(min=1, help="Also forecast the opinions after so many steps; of 0.1 each in continuous time."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Seed of the graph and of the hidden opinions.  [default: 0]")
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

    With --steps, or steps in the file, it is computed from which step on agents are close to each other and to v, the
    weighted mean of hidden opinions. Numbers are exact, or have a standard error on large networks,
    and bounds are called so. Options override the file. Hidden opinions that neither the file nor --hidden gives are
    drawn at random, and the answer says so.

    With --adaptation hidden opinions adapt to public ones. With --dynamics the outcome depends on the joint
    connectivity of the network over time, and on isolated agents. With --activation updates are asynchronous. With
    --continuous time is continuous.

    Example: peerpressure diagnose --graph ba:100:2 --pressure t --noise gaussian:1 --steps 1000

    Example: peerpressure diagnose --graph karate --dynamics failing:0.2 --adaptation 0.01 --steps 500

    Example: peerpressure diagnose --graph follows.csv --direction listens --hidden people.csv:opinion --steps 500
    """
    # Typer cannot express that one of two parameters is required.
    if file is None and graph is None:
        raise typer.BadParameter("name a scenario file, or give --graph", param_hint="'FILE'")
    # A file has the length of its run; without one the changes need a number of steps.
    if file is None and dynamics is not None and steps is None:
        raise typer.BadParameter("give --steps, the time over which the graph changes", param_hint="'--dynamics'")
    if file is None and pressure == "optimal" and steps is None:
        raise typer.BadParameter("give --steps, the horizon of the schedule", param_hint="'--pressure'")
    if within is not None and not 0 < within < math.inf:
        rule = f"must be a finite number above 0, got {within:g}; for instance 0.05"
        raise typer.BadParameter(rule, param_hint="'--within'")
    given = {"graph": graph, "pressure": pressure, "noise": noise, "seed": seed, "steps": steps}
    # A flag that is not given must not override the file, so that False becomes None.
    given |= {"adaptation": adaptation, "dynamics": dynamics, "isolated": isolated, "continuous": continuous or None}
    given |= {"direction": direction, "signed": signed or None, "zealots": zealots, "activation": activation}
    given |= {"hidden": hidden}
    with listing_problems():
        scenario, horizon = _scenario(file, {name: value for name, value in given.items() if value is not None})
    with progress_line() as show_stage:
        from peerpressure.theory import diagnose as diagnose_model

        show_stage("diagnosing")
        verdict = diagnose_model(scenario.system(), horizon, tolerance=within)
    drawn = scenario.drawn_hidden
    if as_json:
        print_json({**verdict.to_dict(), "hidden_drawn": drawn})
        return
    if drawn is not None:
        drawn += "; --hidden FILE takes yours" if file is None else "; --hidden FILE or [agents] takes yours"
    verdict = replace(verdict, drawn=drawn)
    if explain:
        print(verdict.explain(text_width()))
        return
    more = "" if horizon is not None else "--steps N adds how fast; "
    print(f"{verdict.answer(text_width())}\n\n{more}--explain adds the reasons and the mathematics")


def _column(words: str) -> dict[str, str]:
    """Return the agents.hidden of a file, with the name of its column if another than hidden is given."""
    file, column = expanded(words), "hidden"
    # A path may contain a colon itself.
    if not file.exists() and ":" in words:
        path, _, column = words.rpartition(":")
        file = expanded(path)
    if not file.is_file():
        text = f"the table of hidden opinions must exist, got {file}; check the path"
        raise typer.BadParameter(text, param_hint="'--hidden'")
    # From the current folder, and not from that of the scenario.
    return {"file": str(file.absolute()), "column": column}


def _check_edges(network: Any, fields: Mapping[str, Any]) -> None:
    """Raise if directions or signs are asked for that the network does not read from anywhere."""
    asked = [name for name in ("direction", "signed") if f"network.{name}" in fields]
    if asked and not (isinstance(network, dict) and {"file", "edges"} & network.keys()):
        text = "is for networks from files; name one with --graph, or take followers:N:M or rival_camps:N:D"
        raise typer.BadParameter(text, param_hint=f"'--{asked[0]}'")


def _scenario(file: Path | None, given: Mapping[str, str | int]) -> tuple[Scenario, int | None]:
    """Return the scenario of the file, if any, with the fields that the options override, and its steps if known."""
    from peerpressure.measures import with_fields
    from peerpressure.scenario import scenario_from, shorthand
    from peerpressure.scenario.loading import lines_of, parse_toml
    from peerpressure.scenario.section import read_text

    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "graph": ("network", shorthand.network_section),
        "dynamics": ("network.dynamics", shorthand.dynamics_section),
        "adaptation": ("agents.adaptation", shorthand.adaptation_section),
        "hidden": ("agents.hidden", _column),
        "zealots": ("agents.zealots", shorthand.labels),
        "activation": ("agents.activation", shorthand.activation_section),
        "isolated": ("agents.isolated", str),
        "pressure": ("pressure", shorthand.pressure_section),
        "noise": ("noise", shorthand.noise_section),
    }
    # A whole section is replaced, so that keys of the former kind do not remain.
    fields = {field: read(str(given[name])) for name, (field, read) in readers.items() if name in given}
    named = fields.get("network", {}).get("file")
    if named is not None:
        named = expanded(named)
        if not named.exists():
            raise typer.BadParameter(
                f"the file of a graph must exist, got {named}; check the path", param_hint="'--graph'"
            )
        # From the current folder, and not from that of the scenario.
        fields["network"]["file"] = str(named.absolute())
    fields |= {f"run.{name}": given[name] for name in ("steps", "seed") if name in given}
    fields |= {"time.continuous": True} if "continuous" in given else {}
    fields |= {"network.directed": True, "network.direction": given["direction"]} if "direction" in given else {}
    fields |= {"network.signed": True} if "signed" in given else {}
    text = "" if file is None else read_text(file, "a scenario")
    data = with_fields(parse_toml(text, str(file)), fields)
    _check_edges(data.get("network"), fields)
    place, source = ("", "") if file is None else (file.parent, str(file))
    scenario = scenario_from(data, folder=place, source=source, lines=lines_of(text), needs_run=False)
    # The verdict is about t → ∞; without steps there is no forecast.
    return scenario, scenario.run.steps if "steps" in data.get("run", {}) else None
