"""How large a network will be, read off its section before anything is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, final

Rule: TypeAlias = Callable[[Any], float]


@final
@dataclass(frozen=True)
class Size:
    """How many agents and edges a section asks for, and how many changes of edges over its steps."""

    agents: int
    edges: float
    changes: float = 0.0


# How many edges a generator makes of its parameters; the others make about as many as agents.
_EDGES: Mapping[str, Rule] = {
    "complete": lambda s: s.n * (s.n - 1) / 2,
    "grid": lambda s: 2.0 * s.rows * s.columns,
    "erdos_renyi": lambda s: s.p * s.n * (s.n - 1) / 2,
    "watts_strogatz": lambda s: s.n * s.k / 2,
    "barabasi_albert": lambda s: float(s.m * s.n),
    "random_regular": lambda s: s.n * s.degree / 2,
}
# How often in a step an edge of a temporal network changes.
_PACE: Mapping[str, Rule] = {
    "failing_edges": lambda e: 2 * e.probability,
    "edge_markovian": lambda e: _turnover(e.birth, e.death),
    "rewiring": lambda e: 2 * e.rate,
}
# How many changes a step brings where agents meet and part, all of them together.
_MEETINGS: Mapping[str, Rule] = {
    "activity_driven": lambda s: 2.0 * s.n * s.contacts,
    "edge_markovian": lambda s: s.n**2 / 2 * _turnover(s.birth, s.death),
    "growing": lambda s: float(s.m),
}


def _turnover(birth: float, death: float) -> float:
    return 2 * birth * death / (birth + death)


def size_of(section: Any, steps: int) -> Size:
    """Return the size that the section of a scenario asks for, in a run of so many steps.

    >>> from peerpressure.scenario.network import BarabasiAlbert
    >>> size_of(BarabasiAlbert(n=100, m=2), 50)
    Size(agents=100, edges=200.0, changes=0.0)
    """
    if hasattr(section, "temporal"):
        lasting = section.steps or steps
        pairs = section.n**2 / 2 if section.temporal == "edge_markovian" else 0.0
        return Size(section.n, pairs, lasting * _MEETINGS[section.temporal](section))
    if hasattr(section, "edges"):
        size = Size(1 + max(max(pair) for pair in section.edges), float(len(section.edges)))
    else:
        agents = section.rows * section.columns if hasattr(section, "rows") else getattr(section, "n", 2)
        rule = _EDGES.get(getattr(section, "generator", ""))
        size = Size(agents, float(agents) if rule is None else rule(section))
    dynamics = getattr(section, "dynamics", None)
    if dynamics is None:
        return size
    changes = size.edges * (dynamics.steps or steps) * _PACE[dynamics.kind](dynamics)
    return Size(size.agents, size.edges, changes)
