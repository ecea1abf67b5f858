"""What can be added to a scenario: every part of a model, within its legal range, and it is exported."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from peerpressure.explorer.app import API
from peerpressure.explorer.catalogue import control, features, temporal_networks
from peerpressure.explorer.exports import python_file
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits, RequestError
from peerpressure.networks import DYNAMICS, TEMPORAL
from peerpressure.scenario import Scenario, parse_scenario
from peerpressure.scenario.agents import Agents
from peerpressure.scenario.section import Choice
from tests.explorer.driving import SMALL

CACHE = ModelCache(Limits())
FEATURES = features()


def value(choice: Choice, ends: str) -> Any:
    """The value of a kind, as the page writes it."""
    numbers = {one.name: control(one)[ends] for one in choice.sliders}
    if [*numbers] == ["value"]:
        return numbers["value"]
    if not numbers and not choice.fixed:
        return choice.id
    table: dict[str, Any] = copy.deepcopy(dict(choice.fixed or {}))
    for name, number in numbers.items():
        *outer, last = name.split(".")
        inner = table
        for key in outer:
            inner = inner[key]
        inner[last] = number
    return table


def with_value(path: str, found: Any) -> dict[str, Any]:
    scenario = copy.deepcopy(SMALL)
    *outer, last = path.split(".")
    inner = scenario
    for key in outer:
        inner = inner.setdefault(key, {})
    inner[last] = found
    return scenario


KINDS = [(path, choice) for path, feature in FEATURES.items() for choice in feature.options]


def test_every_part_of_a_model_has_a_control() -> None:
    # The first two have fields of their own in the group of opinions.
    agents = {"hidden", "stubbornness", *(path.split(".")[1] for path in FEATURES if path.startswith("agents."))}
    assert agents == set(Agents.model_fields)
    sections = {"network", "agents", "pressure", "noise", "run", "observe", "privacy", "output"}
    assert {*sections, *(path for path in FEATURES if "." not in path)} == set(Scenario.model_fields)
    assert {choice.id for choice in FEATURES["network.dynamics"].options} == set(DYNAMICS)
    assert {choice.id for choice in temporal_networks()} == set(TEMPORAL)


@pytest.mark.parametrize(("path", "choice"), KINDS, ids=lambda one: getattr(one, "id", one))
def test_every_kind_is_legal_and_exported(path: str, choice: Choice) -> None:
    # Edges that nearly all fail leave agents who never meet, in a short run.
    changing = path == "network.dynamics"
    for ends in ("default",) if changing else ("min", "default", "max"):
        wanted = with_value(path, value(choice, ends)) | {"run": {"steps": 400 if changing else 9}}
        scenario = CACHE.load({"scenario": wanted})
        assert parse_scenario(scenario.to_toml()) == scenario


@pytest.mark.parametrize("choice", temporal_networks(), ids=lambda choice: choice.id)
def test_networks_that_change_by_themselves_are_legal(choice: Choice) -> None:
    sizes = {one.name: control(one)["default"] for one in choice.sliders}
    assert CACHE.load({"scenario": SMALL | {"network": {"temporal": choice.id, **sizes}}}).graph.n > 2


def test_the_program_of_several_topics_runs_the_same_run() -> None:
    wanted = with_value("topics", value(FEATURES["topics"].options[0], "default")) | {"agents": {"zealots": [3]}}
    built = CACHE.build({"scenario": wanted})
    held: dict[str, Any] = {}
    exec(python_file(built.scenario), held)
    np.testing.assert_array_equal(held["run"].states, built.run.states)


REFUSED = {
    "exact": "the exact law",
    "recovered": "what an observer recovers",
    "observe": "what an observer estimates",
    "exposure": "what an observer learns",
    "bench": "privacy under other noise",
    "inference": "an inferred network",
    "export/page": "a page without a server",
    "export/figure": "a picture",
}


@pytest.mark.parametrize("name", API)
def test_an_answer_about_several_topics_is_given_or_refused_with_its_reason(name: str) -> None:
    wanted = with_value("topics", value(FEATURES["topics"].options[2], "default")) | {"run": {"steps": 9}}
    body = {"scenario": wanted, "what": "network", "format": "svg", "name": "a.csv", "data": b"a,b\n", "edges": ""}
    if name not in REFUSED:
        assert API[name].answer(CACHE, body).content
        return
    with pytest.raises(RequestError, match=f"{REFUSED[name]} must be about one topic here, got 2; take topics out"):
        API[name].answer(CACHE, body)


@pytest.mark.parametrize("topic", [-1, True, 0.5, "first", None])
def test_a_topic_is_a_number(topic: Any) -> None:
    with pytest.raises(RequestError, match="a topic must be a number from 0 on"):
        API["run"].answer(CACHE, {"scenario": SMALL, "topic": topic})
