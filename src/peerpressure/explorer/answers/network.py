"""Who listens to whom, where each agent stands on the page, and what is to be known of the network."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from peerpressure.explorer.layout import Drawing
from peerpressure.explorer.packing import pack
from peerpressure.model import Model
from peerpressure.networks import Network

MOST_EDGES = 60_000  # lines beyond which a picture shows none of them


def network_answer(model: Model, places: Drawing) -> bytes:
    """Return positions, edges and degrees, with facts in words."""
    network = model.network
    sources, targets, _ = network.edges()
    edges = np.stack([sources, targets], axis=1).astype(np.uint32)
    stride = -(-len(edges) // MOST_EDGES)
    facts: dict[str, Any] = {
        "n": network.n,
        "edge_count": network.edge_count,
        "edges_shown": len(edges[::stride]),
        "facts": facts_of(network),
        "labels": labels_of(network.labels),
        "connected": network.is_connected,
        "bipartite": network.is_bipartite,
        "weighted": network.is_weighted,
        "kappa": model.kappa,
    }
    arrays = {"positions": places, "edges": edges[::stride], "degrees": network.degrees.astype(np.float32)}
    return pack(facts, arrays)


def facts_of(network: Network) -> list[str]:
    """Return what a person would want to know of a network, in words."""
    return repr(network).removeprefix("Network(").removesuffix(")").split(", ")


def labels_of(labels: Sequence[Hashable]) -> list[Any] | None:
    """Return the names of agents as JSON can hold them; None where they are just counted."""
    if isinstance(labels, range):
        return None
    return [label if isinstance(label, int | str) else str(label) for label in labels]
