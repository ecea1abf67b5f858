"""A network of which each process holds its own part."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.errors import NetworkError, message
from peerpressure.networks import Network
from peerpressure.networks.by_part import circulant_edges, grid_edges, random_graph_edges, small_world_edges
from peerpressure.networks.validation import check_integer, checked_seed
from peerpressure.simulation.engine.parts import Neighbourhood, cut_agents
from peerpressure.simulation.partition._files import even_cuts, merged_rows, read_rows
from peerpressure.simulation.processes import Together, joined
from peerpressure.support.seeds import Seed

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm

_NUMBERS = "agents are numbered from 0 on"


@final
@dataclass(frozen=True, eq=False, repr=False)
class PartitionedNetwork:
    """A network over several processes, each of which holds only the edges of its own agents.

    Parts are ranges of agents, cut at multiples of 1,024. Instances come from the class methods, which all processes
    of the communicator call together.

    Attributes
    ----------
    comm : mpi4py.MPI.Intracomm
        The processes.
    cuts : tuple of int
        The first agent of each process, and the number of all agents at the end.
    places : Neighbourhood
        Which agents have a place in the arrays of this process: its own, and their neighbours.
    local : Network
        The network of these places, in which only own agents listen to others.

    See Also
    --------
    PartitionedModel : A model on such a network.
    write_partition : Write a network as a folder of parts.

    Examples
    --------
    >>> from mpi4py import MPI  # doctest: +SKIP
    >>> from peerpressure.simulation.partition import PartitionedNetwork
    >>> network = PartitionedNetwork.grid(100, 100, comm=MPI.COMM_WORLD)  # doctest: +SKIP
    """

    comm: Intracomm
    cuts: tuple[int, ...]
    places: Neighbourhood
    local: Network

    @classmethod
    def _of_rows(cls, together: Together, cuts: tuple[int, ...], rows: csr_array) -> PartitionedNetwork:
        with together.checking():
            first, last = cuts[together.comm.rank : together.comm.rank + 2]
            places = Neighbourhood.of(rows.indices, first, last)
            local = Network(places.rows(rows), directed=True, signed=True)
        return cls(together.comm, cuts, places, local)

    @classmethod
    def _made(
        cls,
        comm: Intracomm,
        asked: tuple[Any, ...],
        agents: Callable[[], int],
        edges: Callable[[int, int], tuple[Any, Any]],
        *,
        both: bool,
    ) -> PartitionedNetwork:
        """Return the network of edges that each process makes of its own agents; ``both`` if from one end only.

        ``asked`` are parameters and seed, and ``agents`` checks them and returns the number of agents.
        """
        together = Together(comm)
        together.require_equal({"parameters": asked})
        with together.checking():
            cuts = even_cuts(agents(), together.comm.size)
            sources, targets = edges(*cuts[together.comm.rank : together.comm.rank + 2])
        # What an agent at the other end must know of travels there.
        return cls._of_rows(together, cuts, merged_rows(together, cuts, (sources, targets, None), directed=not both))

    @classmethod
    def of(cls, network: Network, comm: Intracomm) -> PartitionedNetwork:
        """Return the part of a network that all processes have, cut into parts of about the same work.

        Parameters
        ----------
        network : Network
            The whole network.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartitionedNetwork
            The part of this process.
        """
        together = Together(comm)
        with together.checking():
            A = network.adjacency
            cuts = cut_agents(A.indptr, together.comm.size)
            rows = A[slice(*cuts[together.comm.rank : together.comm.rank + 2])]
        together.require_equal({"network": (A.indptr, A.shape)})
        return cls._of_rows(together, cuts, rows)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        comm: Intracomm,
        n: int | None = None,
        *,
        directed: bool = False,
        signed: bool = False,
    ) -> PartitionedNetwork:
        """Read the part of this process from a file or folder, without ever holding the rest.

        Parameters
        ----------
        path : str or PathLike
            A folder that ``write_partition`` or ``peerpressure partition`` wrote, a network of the package in .npz, or
            edges in .parquet or .csv with columns source, target and, if any, weight, in which agents are numbers.
        comm : mpi4py.MPI.Intracomm
            The processes. A folder must have at least as many parts.
        n : int, optional
            The number of agents of a list of edges; by default one more than the largest number in it.
        directed : bool, default False
            Whether an edge of a list goes from its source to its target only: the source listens to the target.
        signed : bool, default False
            Whether weights of a list of edges may be negative.

        Returns
        -------
        PartitionedNetwork
            The part of this process.

        Raises
        ------
        FileFormatError
            If the file is missing, damaged or of another format.
        NetworkError
            If an edge is invalid, or agents are not numbers.
        """
        together = Together(comm)
        cuts, rows = read_rows(together, path, n, directed=directed, signed=signed)
        return cls._of_rows(together, cuts, rows)

    @classmethod
    def grid(cls, rows: int, columns: int, *, comm: Intracomm) -> PartitionedNetwork:
        """Return the lattice ``networks.grid(rows, columns)``.

        Parameters
        ----------
        rows, columns : int
            Size of the lattice, each at least 1.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartitionedNetwork
            The part of this process.

        Raises
        ------
        NetworkError
            If a parameter is out of range.
        """

        def agents() -> int:
            sizes = (("rows", rows), ("columns", columns))
            return int(np.prod([check_integer(name, value, least=1, remedy="ask for more") for name, value in sizes]))

        return cls._made(comm, (rows, columns), agents, lambda *own: grid_edges(rows, columns, *own), both=False)

    @classmethod
    def circulant(cls, n: int, offsets: Sequence[int], *, comm: Intracomm) -> PartitionedNetwork:
        """Return the ring of n agents in which agent i is linked with i ± o for each offset o.

        It is regular, of twice as many neighbours as there are offsets. Random offsets mix opinions quickly.

        Parameters
        ----------
        n : int
            The number of agents.
        offsets : sequence of int
            Distinct distances in the ring, from 1 to (n − 1)/2.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartitionedNetwork
            The part of this process.

        Raises
        ------
        NetworkError
            If a parameter is out of range.
        """

        def agents() -> int:
            steps = np.asarray(offsets)
            legal = steps.ndim == 1 and steps.size and steps.dtype.kind in "iu" and np.unique(steps).size == steps.size
            if not legal or steps.min() < 1 or 2 * steps.max() >= n:
                rule = "offsets must be distinct whole numbers from 1 to (n − 1)/2"
                raise NetworkError(message(rule, got=offsets, remedy=f"choose them below {n / 2:g}"))
            return check_integer("n", n, least=3, remedy=_NUMBERS)

        steps = np.asarray(offsets)
        return cls._made(comm, (n, steps), agents, lambda *own: circulant_edges(n, steps, *own), both=False)

    @classmethod
    def watts_strogatz(cls, n: int, k: int, p: float, *, seed: Seed = 0, comm: Intracomm) -> PartitionedNetwork:
        """Return a small world in which edges are rewired independently of each other.

        On a ring, each agent is linked with its k nearest neighbours; then the edge to each of the k/2 after it is
        rewired with probability p to an agent drawn uniformly from those that are no neighbours in the ring. Edges that
        come to link the same two agents count once: of ``networks.watts_strogatz``, which draws again for them and
        cannot be made in parts, it differs by some (pk)²/4 edges, however many agents there are. It is not checked to
        be connected.

        Parameters
        ----------
        n : int
            The number of agents.
        k : int
            Number of neighbours in the ring, an even number, at least 2 and below n − 1.
        p : float
            Probability that an edge is rewired, from 0 to 1.
        seed : int, numpy.random.Generator or None, default 0
            Seed of the random numbers.
        comm : mpi4py.MPI.Intracomm
            The processes, whose number changes nothing.

        Returns
        -------
        PartitionedNetwork
            The part of this process.

        Raises
        ------
        NetworkError
            If a parameter is out of range.
        """

        def agents() -> int:
            check_integer("k", k, least=2, remedy="use an even number")
            if k % 2 or k >= n - 1:
                rule, remedy = (
                    f"k must be even and below n − 1 = {n - 1}",
                    "half of the neighbours stand on either side",
                )
                raise NetworkError(message(rule, got=k, remedy=remedy))
            _check_share("p", p)
            return check_integer("n", n, least=3, remedy=_NUMBERS)

        number = checked_seed(seed)
        return cls._made(
            comm, (n, k, p, number), agents, lambda *own: small_world_edges(n, k, p, number, *own), both=True
        )

    @classmethod
    def erdos_renyi(cls, n: int, p: float, *, seed: Seed = 0, comm: Intracomm) -> PartitionedNetwork:
        """Return the random graph ``networks.erdos_renyi(n, p, seed=seed, connected=False)``.

        Each process draws the numbers of all edges, one after the other, and keeps those of its own agents.

        Parameters
        ----------
        n : int
            The number of agents.
        p : float
            Probability of each edge, from 0 to 1.
        seed : int, numpy.random.Generator or None, default 0
            Seed of the random numbers.
        comm : mpi4py.MPI.Intracomm
            The processes.

        Returns
        -------
        PartitionedNetwork
            The part of this process.

        Raises
        ------
        NetworkError
            If a parameter is out of range.
        """

        def agents() -> int:
            _check_share("p", p)
            return check_integer("n", n, least=2, remedy=_NUMBERS)

        asked = (n, p, checked_seed(seed))
        return cls._made(comm, asked, agents, lambda *own: random_graph_edges(*asked, *own), both=False)

    @property
    def n(self) -> int:
        """Number of agents in all processes."""
        return self.cuts[-1]

    @property
    def first(self) -> int:
        """The first agent of this process."""
        return self.places.first

    @property
    def last(self) -> int:
        """One more than the last agent of this process."""
        return self.places.last

    @property
    def agents(self) -> NDArray[np.int64]:
        """The numbers of this process's own agents."""
        return np.arange(self.first, self.last)

    @property
    def halo(self) -> int:
        """Number of agents of other processes whose opinions travel here at each step."""
        return int(self.places.outside.size)

    @property
    def rows(self) -> csr_array:
        """The rows of the own agents in the adjacency matrix of all."""
        own = self.local.adjacency[self.places.own]
        return csr_array((own.data, self.places.numbers[own.indices], own.indptr), shape=(own.shape[0], self.n))

    def assembled(self) -> Network:
        """Return the whole network to all processes, if it fits.

        Returns
        -------
        Network
            The network that is divided.
        """
        rows = self.rows
        counts = joined(self.comm, np.diff(rows.indptr))
        starts = np.concatenate([[0], np.cumsum(counts)])
        parts = joined(self.comm, rows.data), joined(self.comm, rows.indices), starts
        return Network(csr_array(parts, shape=(self.n, self.n)), directed=True, signed=True)

    def __repr__(self) -> str:
        return (
            f"PartitionedNetwork({self.n:,} agents in {self.comm.size} parts; here {self.first:,} to "
            f"{self.last - 1:,}, with {self.halo:,} neighbours elsewhere)"
        )


def _check_share(name: str, value: Any) -> None:
    if not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise NetworkError(message(f"{name} must be a number from 0 to 1", got=value, remedy="it is a probability"))
