"""Hypothesis strategies for networks."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st

from peerpressure.networks import Network

WEIGHTS = st.just(1.0) | st.floats(1e-300, 1e300, allow_subnormal=False)
WORDS = st.text("abcxyzÄß_-", min_size=1, max_size=6)


@st.composite
def networks(
    draw: st.DrawFn, labels: st.SearchStrategy[Hashable] | None = None, weights: st.SearchStrategy[float] = WEIGHTS
) -> Network:
    """A connected network of 2 to 9 agents: a random tree and a few more edges."""
    n = draw(st.integers(2, 9))
    parents = [draw(st.integers(0, child - 1)) for child in range(1, n)]
    extra = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8))
    pairs = {(min(i, j), max(i, j)) for i, j in [*zip(parents, range(1, n), strict=True), *extra] if i != j}
    ends = np.array(sorted(pairs))
    names = None if labels is None else draw(st.lists(labels, min_size=n, max_size=n, unique=True))
    return Network.from_edges(ends, [draw(weights) for _ in pairs], labels=names)


def edge_table(network: Network) -> dict[frozenset[Hashable], float]:
    """Every edge by its labels: what must survive where the order of agents does not."""
    i, j, weights = network.edges()
    label = network.labels
    return {frozenset((label[a], label[b])): float(w) for a, b, w in zip(i, j, weights, strict=True)}


def same(one: Network, other: Network) -> bool:
    """Whether two networks agree in every entry, label and position."""
    pairs = ((getattr(one.adjacency, p), getattr(other.adjacency, p)) for p in ("indptr", "indices", "data"))
    return list(one.labels) == list(other.labels) and all(np.array_equal(a, b) for a, b in pairs)


def sparse_random_graph(n: int, edges: int, seed: int) -> Any:
    return nx.gnm_random_graph(n, edges, seed=seed)
