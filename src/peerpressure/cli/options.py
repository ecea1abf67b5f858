"""Options that describe a model, for the commands that take one without a file, and the scenario that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from peerpressure.errors import InvalidInputError
from peerpressure.support.files import expanded

if TYPE_CHECKING:
    from peerpressure.scenario import Problem, Scenario

Direction: TypeAlias = Literal["listens", "influences"]
Graph: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="ba:N:M, er:N:P, ws:N:K:P, regular:N:D, path:N, cycle:N, star:N, complete:N, followers:N:M:P, "
        "rival_camps:N:D:P, karate, hospital, a file."
    ),
]
EdgeDirection: TypeAlias = Annotated[
    Direction | None,
    typer.Option(
        help="In a directed file, whether the source of an edge listens to its target or influences it.  "
        "[default: as the file says]"
    ),
]
Signed: TypeAlias = Annotated[bool, typer.Option("--signed", help="Weights of a file may be negative, for distrust.")]
Hidden: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Table of hidden opinions by agent: FILE with a column hidden, or FILE:COLUMN.  "
        "[default: drawn uniformly between 0 and 1]"
    ),
]
Zealots: TypeAlias = Annotated[
    str | None, typer.Option(help="Agents who listen to nobody, such as 0,33 or ann,bob.  [default: none]")
]
Pressure: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="A formula in t, such as '2^sqrt(t)'; a kind, such as power:1.5; tuned; or optimal for --steps.  "
        "[default: t]"
    ),
]
NoiseLaw: TypeAlias = Annotated[
    str | None,
    typer.Option(help="A distribution and its parameters, such as gaussian:1 or student:1:3.  [default: none]"),
]
Adaptation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Adaptation rate of hidden opinions: a share such as 0.01, or a formula, '0.1/t'.  "
        "[default: no adaptation]"
    ),
]
Dynamics: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="How edges change over --steps: failing:P, markov:BIRTH:DEATH, rewiring:RATE or gossip.  "
        "[default: a constant network]"
    ),
]
Activation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Who updates at a step: each agent with a probability such as 0.5; or single, one agent. The others "
        "keep their public opinions.  [default: everybody]"
    ),
]
Isolated: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="What agents without neighbours at a step show: own, their own opinions; or keep, their last public "
        "ones.  [default: keep for recorded contacts and gossip, otherwise own]"
    ),
]
Continuous: TypeAlias = Annotated[
    bool, typer.Option("--continuous", help="Continuous time: the stochastic differential equation of the model.")
]


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
        text = "is for networks from files; name one with --network, or take followers:N:M or rival_camps:N:D"
        raise typer.BadParameter(text, param_hint=f"'--{asked[0]}'")


def _read(name: str, read: Callable[[str], Any], words: str) -> Any:
    """Return the section that the words of an option describe; an error names the option."""
    try:
        return read(words)
    except InvalidInputError as error:
        raise typer.BadParameter(str(error), param_hint=f"'--{name}'") from None


def _of_option(problem: Problem, options: Mapping[str, str]) -> Problem:
    """Return a problem with the option that set its field, if one did, in place of the path."""
    from peerpressure.scenario import Problem

    # The narrowest field: --dynamics sets a part of the network.
    fields = [field for field in options if f"{problem.path}.".startswith(f"{field}.")]
    if not fields:
        return problem
    field = max(fields, key=len)
    rest = problem.path.removeprefix(field).lstrip(".")
    return Problem(f"--{options[field]}", f"{rest} {problem.message}" if rest else problem.message)


def scenario_of(file: Path | None, parameters: Mapping[str, Any]) -> tuple[Scenario, int | None]:
    """Return the scenario of the file, if any, with the fields that options override, and its steps if known.

    ``parameters`` are those of the command; others than the options of a model are ignored.
    """
    from peerpressure.noise import noise_in_words
    from peerpressure.scenario import ScenarioError, scenario_from, shorthand, with_fields
    from peerpressure.scenario.loading import lines_of, parse_toml
    from peerpressure.scenario.section import read_text

    readers: dict[str, tuple[str, Callable[[str], Any]]] = {
        "network": ("network", shorthand.network_section),
        "dynamics": ("network.dynamics", shorthand.dynamics_section),
        "adaptation": ("agents.adaptation", shorthand.adaptation_section),
        "hidden": ("agents.hidden", _column),
        "zealots": ("agents.zealots", shorthand.labels),
        "activation": ("agents.activation", shorthand.activation_section),
        "isolated": ("agents.isolated", str),
        "pressure": ("pressure", shorthand.pressure_section),
        "noise": ("noise", noise_in_words),
    }
    # A flag that is not given must not override the file.
    given = {name: value for name, value in parameters.items() if value is not None and value is not False}
    # A whole section is replaced, so keys of the former kind do not remain.
    fields = {field: _read(name, read, str(given[name])) for name, (field, read) in readers.items() if name in given}
    named = fields.get("network", {}).get("file")
    if named is not None:
        named = expanded(named)
        if not named.exists():
            raise typer.BadParameter(
                f"the file of a network must exist, got {named}; check the path", param_hint="'--network'"
            )
        # From the current folder, and not from that of the scenario.
        fields["network"]["file"] = str(named.absolute())
    fields |= {f"run.{name}": given[name] for name in ("steps", "replicates", "seed") if name in given}
    fields |= {"time.continuous": True} if "continuous" in given else {}
    fields |= {"network.directed": True, "network.direction": given["direction"]} if "direction" in given else {}
    fields |= {"network.signed": True} if "signed" in given else {}
    text = "" if file is None else read_text(file, "a scenario")
    data = with_fields(parse_toml(text, str(file)), fields)
    _check_edges(data.get("network"), fields)
    place, source = ("", "") if file is None else (file.parent, str(file))
    options = {field: name for name, (field, _) in readers.items()}
    options |= {f"run.{name}": name for name in ("steps", "replicates", "seed")}
    try:
        scenario = scenario_from(data, folder=place, source=source, lines=lines_of(text), needs_run=False)
    except ScenarioError as error:
        named = [
            _of_option(problem, {field: options[field] for field in fields if field in options})
            for problem in error.problems
        ]
        raise ScenarioError(named, source) from None
    # The verdict is about t → ∞; without steps there is no forecast.
    return scenario, scenario.run.steps if "steps" in data.get("run", {}) else None
