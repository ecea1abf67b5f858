"""A network that somebody drops onto the page, read by the same readers as a file and handed back as a section."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.explorer.answers import facts_of, labels_of
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.requests import RequestError
from peerpressure.networks import Network, read_network
from peerpressure.scenario import Scenario
from peerpressure.scenario._agents import FromColumn
from peerpressure.scenario._network import NetworkFileSection

# Texts only: archives and arrays can hold far more than their size tells.
SUFFIXES = (".csv", ".tsv", ".txt", ".edges", ".edgelist", ".graphml")


def upload_answer(name: str, data: bytes, limits: Limits) -> dict[str, Any]:
    """Return the section of a scenario that holds the network in a file, and facts about it in words."""
    network = _read(name, data)
    whole = network.largest_component()
    limits.check("agents", whole.n, what="the number of agents", remedy="take a part of it", where="network")
    limits.check("edges", whole.edge_count, what="the number of edges", remedy="take a part of it", where="network")
    facts = facts_of(whole)
    if whole.n < network.n:
        facts.append(f"the largest of several pieces; {network.n - whole.n:,} agents are left out")
    return {"network": section_of(whole), "facts": facts}


def section_of(network: Network) -> dict[str, Any]:
    """Return a network as the section of a scenario that writes it out."""
    sources, targets, weights = network.edges()
    section: dict[str, Any] = {"edges": [list(pair) for pair in zip(sources.tolist(), targets.tolist(), strict=True)]}
    if network.is_weighted:
        section["weights"] = weights.tolist()
    labels = labels_of(network.labels)
    return section if labels is None else section | {"labels": labels}


def _read(name: str, data: bytes) -> Network:
    """Read the bytes from a place of our own; of the name that came with them only a known suffix is used."""
    suffix = next((known for known in SUFFIXES if name.lower().endswith(known)), None)
    shown = ascii(re.split(r"[/\\]", name)[-1][-60:])
    if suffix is None:
        rule, remedy = (
            f"a network to drop here must be one of {', '.join(SUFFIXES)}",
            "peerpressure run reads more kinds",
        )
        raise RequestError(415, message(rule, got=shown, remedy=remedy))
    with tempfile.TemporaryDirectory(prefix="peerpressure-") as folder:
        file = Path(folder) / f"network{suffix}"
        file.write_bytes(data)
        try:
            return read_network(file, connected=False)
        except (NetworkError, FileFormatError) as error:
            # Where the bytes lay for a moment is nobody's business.
            raise RequestError(422, str(error).replace(str(file), shown)) from None


# The state of the page that a scenario file stands for: what it read from files is written out.

_AGENTS = ("hidden", "stubbornness", "start")


def state_of(scenario: Scenario, limits: Limits) -> dict[str, Any]:
    """Return the state in which the page opens on this scenario, refusing what the explorer has no room for."""
    limits.check_network(scenario.network, scenario.run.steps)
    data = scenario.model_dump(exclude_none=True, exclude={"output": True, "run": {"record"}})
    if isinstance(scenario.network, NetworkFileSection):
        data["network"] = section_of(scenario.graph)
    model = scenario.model()
    for name in _AGENTS:
        if isinstance(getattr(scenario.agents, name), FromColumn):
            data["agents"][name] = np.asarray(getattr(model, name)).tolist()
    ModelCache(limits).read({"scenario": data})
    return {"scenario": data, "view": {}}
