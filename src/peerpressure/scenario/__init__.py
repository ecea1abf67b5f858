"""Scenario files: one experiment in TOML, every mistake in it told at once."""

from peerpressure.scenario.problems import Problem, ScenarioError
from peerpressure.scenario.reading import load_scenario, parse_scenario, scenario_from
from peerpressure.scenario.scenario import Scenario
from peerpressure.scenario.schema import schema_text, shipped_schema

__all__ = [
    "Problem",
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "parse_scenario",
    "scenario_from",
    "schema_text",
    "shipped_schema",
]
