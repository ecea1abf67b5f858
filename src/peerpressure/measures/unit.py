"""One unit of a sweep: a scenario with some fields set, its measures as tidy rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from peerpressure.measures.experiment import Experiment
from peerpressure.measures.table import MEASURES
from peerpressure.scenario import Scenario, scenario_from
from peerpressure.simulation import Record

FIXED = ("scenario", "measures", "threshold")


def with_fields(data: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of nested tables with fields set by their dotted paths.

    >>> with_fields({"run": {"steps": 10}}, {"run.steps": 20, "noise.std": 0.5})
    {'run': {'steps': 20}, 'noise': {'std': 0.5}}
    """
    new = copy.deepcopy(dict(data))
    for path, value in fields.items():
        *tables, last = path.split(".")
        here = new
        for name in tables:
            # What is no table makes room for one, and the scenario says that it should not.
            if not isinstance(here.get(name), dict):
                here[name] = {}
            here = here[name]
        here[last] = value
    return new


def measure(experiment: Experiment, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return tidy rows, one for each measure, detail and replicate."""
    return [
        {"measure": name, "detail": detail, "replicate": replicate, "value": value}
        for name in names
        for detail, replicate, value in MEASURES[name].function(experiment)
    ]


def _record(scenario: Scenario, *, states: bool) -> Record:
    """Return what to keep: summaries, and states if some measure needs them, as often as the scenario does."""
    asked = scenario.run.what_to_keep()
    partial = not asked.states or asked.agents is not None
    return Record(states=states, every=1 if states and partial else asked.every)


def measure_scenario(parameters: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the measures of one point of a sweep.

    ``parameters`` hold the ``scenario`` as nested tables, the names of ``measures``, the ``threshold`` of
    consensus, and fields to set by their dotted paths. Whatever the scenario gives no seed of its own is drawn from
    ``seed``, so that replications differ in all of it.
    """
    fields = {name: value for name, value in parameters.items() if name not in FIXED}
    # A file holds signed numbers of 64 bits, and a unit's seed is an unsigned one.
    point = with_fields(parameters["scenario"], {"run.seed": seed >> 1} | fields)
    scenario, names = scenario_from(point), parameters["measures"]
    keep = _record(scenario, states=any(MEASURES[name].needs_states for name in names))
    # Workers of a sweep share the machine already, so that each computes in one thread.
    return measure(Experiment(scenario, keep, parameters["threshold"], threads=1), names)
