"""A network as a folder of parts: in the given order, sorted, or by METIS."""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from peerpressure.errors import InvalidInputError, message
from peerpressure.networks import Network
from peerpressure.simulation.engine.parts import cut_agents
from peerpressure.simulation.engine.plan import CHUNK
from peerpressure.simulation.partition._reader import MANIFEST, part_name
from peerpressure.simulation.partition._rows import even_cuts
from peerpressure.support.files import expanded, replacing, require_new_folder
from peerpressure.support.provenance import SCHEMA_VERSION

Order = Literal["given", "sorted", "metis"]


@final
@dataclass(frozen=True)
class Division:
    """How a network was divided: the first agents of the parts, and what a step costs them."""

    folder: Path
    cuts: tuple[int, ...]
    halo: tuple[int, ...]
    entries: tuple[int, ...]

    @property
    def halo_per_agent(self) -> float:
        """Opinions that travel in a step, for each agent."""
        return sum(self.halo) / self.cuts[-1]

    @property
    def balance(self) -> float:
        """The largest part's work as a multiple of the mean."""
        agents = np.diff(self.cuts)
        work = np.asarray(self.entries) + 3 * agents
        return float(work.max() / work.mean())


def write_partition(network: Network, parts: int, folder: str | os.PathLike[str], order: Order = "given") -> Division:
    """Write a network to a folder, from which each process reads only its own part.

    Parameters
    ----------
    network : Network
        The network, whose agents become numbers from 0 on.
    parts : int
        The number of parts, at most one for each 1,024 agents.
    folder : str or PathLike
        A new folder.
    order : {"given", "sorted", "metis"}, default "given"
        In which order agents are numbered: as they are, by ``scipy.sparse.csgraph.reverse_cuthill_mckee``, or by the
        parts that METIS finds, which needs ``pymetis``. Another order is another sample of the noise, whose law is the
        same. The file ``order.npy`` has the position in the network of each number.

    Returns
    -------
    Division
        The folder, the cuts, and what travels between the parts.

    Raises
    ------
    InvalidInputError
        If the folder is not empty, there are too many parts, or METIS is not installed.

    See Also
    --------
    PartitionedNetwork.read : Reads it.

    Examples
    --------
    >>> import tempfile
    >>> from peerpressure.networks import grid
    >>> from peerpressure.simulation.partition import write_partition
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_partition(grid(64, 64), 4, folder).halo_per_agent
    0.09375
    """
    place = expanded(folder)
    require_new_folder(place, "a network in parts")
    positions, cuts = _ordered(network, parts, order)
    A = network.adjacency
    A = A if order == "given" else csr_array(A[positions][:, positions])
    A.sort_indices()
    place.mkdir(parents=True, exist_ok=True)
    halo, entries = [], []
    for part, (first, last) in enumerate(itertools.pairwise(cuts)):
        rows = A[first:last]
        outside = rows.indices[(rows.indices < first) | (rows.indices >= last)]
        halo.append(int(np.unique(outside).size))
        entries.append(int(rows.nnz))
        with replacing(place / part_name(part)) as file:
            np.savez(file, indptr=rows.indptr, indices=rows.indices, weights=rows.data)
    with replacing(place / "order.npy") as file:
        np.save(file, positions)
    facts = {"schema_version": SCHEMA_VERSION, "cuts": cuts, "order": order, "halo": halo, "entries": entries}
    # Last: a folder without it is not read.
    with replacing(place / MANIFEST) as file:
        file.write(json.dumps(facts).encode())
    return Division(place, cuts, tuple(halo), tuple(entries))


def _ordered(network: Network, parts: int, order: str) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """Return the positions of agents in their new order, and the cuts."""
    if order not in get_args(Order):
        rule = "the order must be given, sorted or metis"
        raise InvalidInputError(message(rule, got=repr(order), remedy="'given' keeps the agents as they are"))
    even_cuts(network.n, parts)
    A = network.adjacency
    if order == "given":
        return np.arange(network.n), cut_agents(A.indptr, parts)
    if order == "sorted":
        positions = reverse_cuthill_mckee(A, symmetric_mode=not network.directed).astype(np.int64)
        return positions, cut_agents(np.concatenate([[0], np.cumsum(np.diff(A.indptr)[positions])]), parts)
    membership = _by_metis(network, parts)
    positions = np.argsort(membership, kind="stable")
    ends = np.cumsum(np.bincount(membership, minlength=parts))[:-1]
    # Parts end at whole chunks: a few agents at an end go to the next part.
    return positions, _whole_chunks(ends, network.n, parts)


def _whole_chunks(ends: NDArray[np.int64], n: int, parts: int) -> tuple[int, ...]:
    chunks = np.maximum.accumulate(np.maximum(np.rint(ends / CHUNK).astype(np.int64), np.arange(1, parts)))
    most = -(-n // CHUNK)
    chunks = np.minimum(chunks, most - np.arange(parts - 1, 0, -1))
    return 0, *(int(chunk) * CHUNK for chunk in chunks), n


def _by_metis(network: Network, parts: int) -> NDArray[np.int64]:
    try:
        import pymetis
    except ImportError:
        rule, remedy = "METIS needs pymetis", "pip install pymetis, or use the order 'sorted'"
        raise InvalidInputError(message(rule, got="no such package", remedy=remedy)) from None
    # METIS divides undirected graphs: who listens to whom does not matter for what travels.
    A = network.adjacency
    both = csr_array(abs(A) + abs(A).T) if network.directed else A
    graph = pymetis.CSRAdjacency(both.indptr, both.indices)
    _, membership = pymetis.part_graph(parts, graph)
    return np.asarray(membership, dtype=np.int64)
