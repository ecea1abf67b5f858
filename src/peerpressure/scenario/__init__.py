"""Scenario files: one experiment in TOML, with all of its errors reported at once."""

from peerpressure.scenario.loading import Problem, ScenarioError, load_scenario, parse_scenario, scenario_from
from peerpressure.scenario.scenario import Scenario, schema_text, shipped_schema, starter_text

__all__ = [
    "Problem",
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "parse_scenario",
    "scenario_from",
    "schema_text",
    "shipped_schema",
    "starter_text",
]
