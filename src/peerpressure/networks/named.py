"""Real networks that ship with NetworkX, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from peerpressure.networks.network import Network
from peerpressure.networks.refusal import nearest, refusal


@dataclass(frozen=True)
class RealNetwork:
    """Where a real network comes from, and which edge attribute, if any, holds its weights."""

    source: str
    weight: str | None
    about: str


NAMED: Mapping[str, RealNetwork] = MappingProxyType(
    {
        # NetworkX adds counts of shared activities to the karate club; the club of the literature has none.
        "karate": RealNetwork("karate_club_graph", None, "friends in a karate club (Zachary 1977)"),
        "les_miserables": RealNetwork("les_miserables_graph", "weight", "characters by shared chapters (Knuth 1993)"),
        "florentine": RealNetwork("florentine_families_graph", None, "marriages of Florentine families (Padgett 1994)"),
        "davis": RealNetwork(
            "davis_southern_women_graph", None, "women and the events they attended (Davis et al. 1941)"
        ),
    }
)


def named(name: str) -> Network:
    """Return a real network by its name.

    >>> named("karate")
    Network(34 agents, 78 edges, non-bipartite, degrees 1–17)
    """
    if name not in NAMED:
        remedy = f"the names are {', '.join(NAMED)}{nearest(name, NAMED)}"
        raise refusal("a named network must be one of those known", got=repr(name), remedy=remedy)
    import networkx as nx

    real = NAMED[name]
    return Network.from_networkx(getattr(nx, real.source)(), weight=real.weight)
