"""The state of the page that a scenario file stands for: what it read from files is written out."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerpressure.explorer.answers.upload import section_of
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.preparing import ModelCache
from peerpressure.scenario import Scenario
from peerpressure.scenario.draws import FromColumn
from peerpressure.scenario.network import FromFile

_AGENTS = ("hidden", "stubbornness", "start")


def state_of(scenario: Scenario, limits: Limits) -> dict[str, Any]:
    """Return the state in which the page opens on this scenario, refusing what the explorer has no room for."""
    limits.check_network(scenario.network, scenario.run.steps)
    data = scenario.model_dump(exclude_none=True, exclude={"output": True, "run": {"record"}})
    if isinstance(scenario.network, FromFile):
        data["network"] = section_of(scenario.graph)
    model = scenario.model()
    for name in _AGENTS:
        if isinstance(getattr(scenario.agents, name), FromColumn):
            data["agents"][name] = np.asarray(getattr(model, name)).tolist()
    ModelCache(limits).read({"scenario": data})
    return {"scenario": data, "view": {}}
