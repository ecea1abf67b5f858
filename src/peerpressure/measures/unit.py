"""One unit of a sweep: a scenario with some fields set, its measures as tidy rows."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from peerpressure.measures.table import MEASURES, Experiment
from peerpressure.scenario import Scenario, scenario_from

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


def measure(scenario: Scenario, names: Sequence[str], *, threshold: float = 0.01) -> list[dict[str, Any]]:
    """Return tidy rows, one for each measure, detail and replicate."""
    experiment = Experiment(scenario, any(MEASURES[name].needs_states for name in names), threshold)
    return [
        {"measure": name, "detail": detail, "replicate": replicate, "value": value}
        for name in names
        for detail, replicate, value in MEASURES[name].function(experiment)
    ]


def measure_scenario(parameters: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the measures of one point of a sweep.

    ``parameters`` hold the ``scenario`` as nested tables, the names of ``measures``, the ``threshold`` of
    consensus, and fields to set by their dotted paths. Whatever the scenario gives no seed of its own is drawn from
    ``seed``, so that replications differ in all of it.
    """
    fields = {name: value for name, value in parameters.items() if name not in FIXED}
    # A file holds signed numbers of 64 bits, and a unit's seed is an unsigned one.
    point = with_fields(parameters["scenario"], {"run.seed": seed >> 1} | fields)
    return measure(scenario_from(point), parameters["measures"], threshold=parameters["threshold"])
