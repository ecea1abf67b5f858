"""Laws of random temporal networks: what a generator knows of the process that one temporal network is a record of."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import NetworkError
from peerpressure.networks._network import Network
from peerpressure.support.results import read_only

_FACTS = ("generator", "presence", "memory", "isolation")
_EDGES = ("law_sources", "law_targets", "law_weights")
_CHANCES = "law_chances"


def _log_binomial(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _isolation(pairs: Network | None, n: int, presence: float) -> float:
    """Return the probability that an agent has no edge, as a mean over agents, for independent edges."""
    neighbours = np.full(n, n - 1.0) if pairs is None else np.diff(pairs.adjacency.indptr).astype(np.float64)
    return float(np.mean((1 - presence) ** neighbours))


@final
@read_only
@dataclass(frozen=True, eq=False)
class NetworkProcess:
    """Law of a stationary random process of networks, of which a temporal network without a period is a record.

    Attributes
    ----------
    generator : str
        Name of the generator, such as "failing_edges".
    pairs : Network, optional
        Edges that may be present, with their weights; by default any two agents may be linked.
    presence : float, optional
        Probability that such an edge is present, where edges are independent of each other and alike.
    memory : float, default 0
        Autocorrelation of the presence of an edge from one step to the next; 0 where steps are independent.
    isolation : float, default 0
        Probability that an agent is without neighbours in a step, as a mean over agents. It is 0 where that never
        happens, and otherwise it happens to every agent. A lower bound for some of the agents of a process in which
        edges depend on each other.
    chances : array of shape (edges,), optional
        Where at most one edge is present in a step, and steps are independent: the probability of each edge of
        ``pairs``, in the order of its ``edges()``.

    See Also
    --------
    failing_edges, edge_markovian, activity_driven, rewiring, gossip : Generators of random temporal networks.

    Examples
    --------
    >>> from peerpressure.networks import cycle, failing_edges
    >>> law = failing_edges(cycle(5), 0.4, 100, seed=1).law
    >>> law.presence, law.memory, round(law.isolation, 3)
    (0.6, 0.0, 0.16)
    """

    generator: str
    pairs: Network | None = None
    presence: float | None = None
    memory: float = 0.0
    isolation: float = 0.0
    chances: NDArray[np.float64] | None = None

    @classmethod
    def of_single_edges(cls, generator: str, pairs: Network, chances: NDArray[np.float64]) -> Self:
        """Return the law of steps in each of which one edge is drawn, independently of other steps."""
        # Each edge has two ends.
        return cls(generator, pairs, isolation=1 - 2 * float(chances.sum()) / pairs.n, chances=chances)

    @classmethod
    def of_edges(cls, generator: str, pairs: Network | None, n: int, birth: float, death: float) -> Self | None:
        """Return the law of independent two-state Markov chains, or None if edges never change."""
        if death == 0:
            return None
        presence = birth / (birth + death)
        isolation = _isolation(pairs, n, presence)
        # Rounding would leave a memory where birth and death are given as complements.
        memory = 0.0 if generator == "failing_edges" else 1 - birth - death
        return cls(generator, pairs, presence, memory, isolation)

    @classmethod
    def of_moving_edges(cls, generator: str, n: int, edges: int, rate: float) -> Self | None:
        """Return the law of edges of which one end moves with a probability, or None if edges never move.

        A move and its reverse have the same probability. In the long run all graphs with as many edges are therefore
        equally probable.
        """
        possible, others = n * (n - 1) // 2, (n - 1) * (n - 2) // 2
        if rate == 0 or edges == possible:
            return None
        # The share of graphs whose edges all lie between the other agents.
        log_share = _log_binomial(others, edges) - _log_binomial(possible, edges) if edges <= others else -math.inf
        return cls(generator, memory=1 - rate, isolation=math.exp(log_share))

    def within(self, agents: NDArray[np.int64]) -> NetworkProcess:
        """Return the law of the network of some agents, without their edges to the others."""
        if self.chances is not None and self.pairs is not None:
            i, _, _ = self.pairs.edges()
            inside = Network(self.pairs.adjacency[agents][:, agents])
            # Agents are in order, and so are the edges between them.
            return self.of_single_edges(self.generator, inside, self.chances[np.isin(i, agents)])
        if self.presence is None:
            return self
        pairs = None if self.pairs is None else Network(self.pairs.adjacency[agents][:, agents])
        return replace(self, pairs=pairs, isolation=_isolation(pairs, agents.size, self.presence))

    @property
    def is_ergodic(self) -> bool:
        """Whether the process forgets its start; edges that alternate with certainty do not."""
        return self.memory > -1

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the law as plain arrays, from which `from_arrays` restores it."""
        facts = {"law": np.array(json.dumps({name: getattr(self, name) for name in _FACTS}))}
        facts |= {} if self.chances is None else {_CHANCES: self.chances}
        return facts | ({} if self.pairs is None else dict(zip(_EDGES, self.pairs.edges(), strict=True)))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any], n: int) -> Self | None:
        """Return the law stored in the arrays of a temporal network of n agents; None if there is none."""
        if "law" not in arrays:
            return None
        try:
            facts = json.loads(str(np.asarray(arrays["law"])))
            pairs = None
            if _EDGES[0] in arrays:
                i, j, weights = (np.asarray(arrays[name]) for name in _EDGES)
                pairs = Network.from_edges((i, j), weights, n=n)
            chances = np.asarray(arrays[_CHANCES]) if _CHANCES in arrays else None
            return cls(pairs=pairs, chances=chances, **{name: facts[name] for name in _FACTS})
        except (KeyError, TypeError, ValueError) as error:
            rule = f"a stored law must hold {', '.join(_FACTS)}"
            raise NetworkError(rule, got=repr(error), remedy="store what temporal.arrays() returns") from None
