"""What the catalogue offers is legal, complete, and within the bounds that it states."""

from __future__ import annotations

from typing import Any

import pytest

import peerpressure as pp
from peerpressure import noise, recovery, schedules
from peerpressure.explorer import catalogue as tables
from peerpressure.explorer.catalogue import Preset, catalogue, control, first_state, presets
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import Limits
from peerpressure.networks import GENERATORS, NAMED
from peerpressure.reproduction.design import AGENTS, SEED, agents_drawn
from peerpressure.scenario import scenario_from
from peerpressure.scenario.agents import HIDDEN_LAWS, STUBBORNNESS
from peerpressure.scenario.scenario import Privacy, Run
from peerpressure.scenario.section import Choice, controls
from peerpressure.scenario.system import TEMPORALS
from peerpressure.support.parameters import Parameter
from tests.explorer.driving import JARGON

CACHE = ModelCache(Limits())


def section(choice: Choice, key: str, ends: str) -> dict[str, Any]:
    values = {parameter.name: value(parameter, ends) for parameter in choice.sliders}
    return {key: choice.id, **values, **(choice.fixed or {})}


def value(parameter: Parameter, ends: str) -> float:
    number: float = control(parameter)[ends]
    return int(number) if parameter.kind == "whole" else number


def read(**sections: Any) -> Any:
    return CACHE.load({"scenario": {"network": {"generator": "k2"}, "run": {"steps": 3}} | sections})


def test_every_family_is_offered_in_full() -> None:
    assert {choice.id for choice in tables.generators()} == set(GENERATORS)
    assert {choice.id for choice in tables.methods()} == {"auto", *recovery.METHODS}
    # A table of pressures is no slider, and a law of SciPy's could not be called off.
    assert {choice.id for choice in tables.schedules()} == {*schedules.SCHEDULES, "tuned", "optimal"} - {"table"}
    assert {choice.id for choice in tables.noises()} == set(noise.LAWS) - {"custom"}
    assert {row["id"] for row in catalogue(Limits())["named"]} == set(NAMED)


@pytest.mark.parametrize("choice", tables.generators(), ids=lambda choice: choice.id)
def test_every_generator_works_as_it_is_offered(choice: Choice) -> None:
    assert read(network=section(choice, "generator", "default")).graph.n >= 2
    if choice.id != "erdos_renyi":
        # At the least chance of an edge, few agents are left with none.
        assert read(network=section(choice, "generator", "min")).graph.n >= 2


@pytest.mark.parametrize("choice", tables.generators(), ids=lambda choice: choice.id)
def test_sliders_stop_where_the_bounds_are(choice: Choice) -> None:
    limits = Limits(agents=500)
    offered = next(row for row in catalogue(limits)["generators"] if row["id"] == choice.id)
    assert all(row["max"] <= 500 for row in offered["parameters"] if row["name"] == "n")
    assert all(row["min"] <= row["default"] <= row["max"] for row in offered["parameters"])


@pytest.mark.parametrize("ends", ["min", "default", "max"])
def test_every_schedule_law_and_noise_is_legal_over_its_range(ends: str) -> None:
    for choice in tables.schedules():
        more = {"formula": choice.parameters[0].examples[0]} if choice.id == "formula" else {}
        assert read(pressure=section(choice, "kind", ends) | more).model().pressure(1.0) >= 0
    for choice in tables.noises():
        assert read(noise=section(choice, "law", ends)).model().noise.law == choice.id
    for choice in HIDDEN_LAWS:
        assert read(agents={"hidden": section(choice, "law", ends)}).model().x0.size == 2
    for choice in STUBBORNNESS:
        made = section(choice, "law", ends)
        assert (read(agents={"stubbornness": made["value"] if choice.id == "number" else made}).model().s > 0).all()
    for choice in TEMPORALS:
        made = section(choice, "kind", ends)
        kind = {"ar1": made["ar1"]} if choice.id == "ar1" else choice.id
        noise = read(noise={"law": "gaussian", "std": 1.0, "temporal": kind}).model().noise
        assert choice.id in repr(noise.temporal).lower()
    assert read(privacy={parameter.name: value(parameter, ends) for parameter in controls(Privacy)}).privacy is not None
    wanted = {parameter.name: value(parameter, ends) for parameter in controls(Run)}
    run = scenario_from({"network": {"generator": "k2"}, "run": wanted}).run
    assert wanted.items() <= run.model_dump().items()


@pytest.mark.parametrize(
    "formula", next(one for one in tables.schedules() if one.id == "formula").parameters[0].examples
)
def test_every_example_formula_is_one(formula: str) -> None:
    assert read(pressure={"formula": formula}).model().pressure(3.0) > 0


@pytest.mark.parametrize("preset", presets(), ids=lambda preset: preset.example.name)
def test_every_preset_is_a_scenario_within_the_bounds(preset: Preset) -> None:
    scenario = CACHE.load({"scenario": preset.state["scenario"]})
    assert scenario.model().n >= 2
    views = {"simple", "tab", "agents", "logTime", "logSize", "colour", "zoomColours", "time", "speed", "pace"}
    assert set(preset.view) <= views
    if preset.view.get("tab") == "observer":
        assert scenario.observe is not None
    verdict = pp.diagnose(scenario.system())
    # In words for people who do not program.
    assert JARGON.findall(f"{verdict.heading} {verdict.summary} {verdict.outlook} {verdict.reason}") == []


def test_the_page_opens_on_thirty_four_people_unless_told_otherwise() -> None:
    assert CACHE.load({"scenario": first_state()["scenario"]}).graph.n == 34
    own = {"scenario": {"network": {"generator": "k2"}, "run": {"steps": 9}}, "view": {}}
    assert catalogue(Limits(), own)["default"] == own


def test_examples_of_the_paper_have_the_agents_of_its_figures() -> None:
    hidden, stubbornness = agents_drawn(AGENTS, SEED)
    graph = next(one.state["scenario"] for one in presets() if one.example.name == "graph")
    assert graph["agents"]["hidden"] == hidden.tolist()
    assert graph["agents"]["stubbornness"] == stubbornness.tolist()
