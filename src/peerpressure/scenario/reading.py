"""From a file to a scenario, or to the list of everything that is wrong with it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from peerpressure.scenario.fitting import misfits
from peerpressure.scenario.places import line_of, lines_of
from peerpressure.scenario.problems import Problem, ScenarioError, dotted, explain
from peerpressure.scenario.scenario import Scenario
from peerpressure.scenario.section import Section, read_text

Lines = dict[tuple[str | int, ...], int]
Kind = TypeVar("Kind", bound=Section)
_STAND_INS: Mapping[str, Any] = {"network": {"generator": "k2"}, "run": {"steps": 1}}


def load_scenario(path: str | Path) -> Scenario:
    """Read a scenario file; paths in it start from its folder, and all of its problems are told at once."""
    file = Path(path)
    return parse_scenario(read_text(file, "a scenario"), folder=file.parent, source=str(path))


def parse_scenario(text: str, *, folder: str | Path = ".", source: str = "") -> Scenario:
    r"""Return the scenario in a text.

    >>> parse_scenario("[network]\ngenerator = 'cycle'\nn = 5\n[run]\nsteps = 9").graph
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    data = parse_toml(text, source)
    return scenario_from(data, folder=folder, source=source, lines=lines_of(text))


def scenario_from(
    data: Mapping[str, Any], *, folder: str | Path = ".", source: str = "", lines: Lines | None = None
) -> Scenario:
    """Return the scenario that plain values describe, all of its parts tried."""
    places = lines or {}
    problems: list[Problem] = []
    refused: set[str] = set()
    context = {"folder": folder}
    try:
        scenario = Scenario.model_validate(dict(data), context=context)
    except ValidationError as error:
        problems = explain(error, Scenario, places)
        refused = {str(detail["loc"][0]) for detail in error.errors()}
        # The sections that can be read are tried among stand-ins, so that their misfits show at once too.
        sound = {name: data[name] for name in Scenario.model_fields if name in data and name not in refused}
        scenario = Scenario.model_validate({**_STAND_INS, **sound}, context=context)
    problems += [
        Problem(path=dotted(path), message=message, line=line_of(path, places))
        for path, message in misfits(scenario, refused)
    ]
    if problems:
        raise ScenarioError(sorted(problems, key=lambda problem: problem.line or 0), source)
    return scenario


def read_as(kind: type[Kind], text: str, *, folder: str | Path, source: str) -> Kind:
    """Return a text as a file of another kind, its problems told in the same way."""
    try:
        return kind.model_validate(parse_toml(text, source), context={"folder": folder})
    except ValidationError as error:
        raise ScenarioError(explain(error, kind, lines_of(text)), source) from None


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the values of a TOML text."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r" \(at line (\d+), column \d+\)", str(error))
        message = str(error)[: where.start()] if where else str(error)
        message = f"this is not TOML: {message[:1].lower()}{message[1:]}; correct it, and other problems will show"
        raise ScenarioError([Problem("", message, int(where[1]) if where else None)], source) from None
