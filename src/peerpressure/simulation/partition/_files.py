"""Parts of networks and files: folders of parts, archives and lists of edges, read and written."""

from __future__ import annotations

import io
import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, final, get_args
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import reverse_cuthill_mckee

from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError, message
from peerpressure.networks import Network
from peerpressure.simulation.engine.parts import cut_agents, require_chunks
from peerpressure.simulation.engine.plan import CHUNK
from peerpressure.simulation.processes import Together, delivered
from peerpressure.support.files import expanded, naming, replacing, require_new_folder, require_pyarrow
from peerpressure.support.provenance import SCHEMA_VERSION

if TYPE_CHECKING:
    import pandas
    from mpi4py.MPI import Intracomm


MANIFEST = "partition.json"
_ENDS = ("source", "target")
_READ = 2**24  # bytes of a file, or rows of a table, that are read at a time

Found = tuple[tuple[int, ...], csr_array]


def read_rows(
    together: Together, path: str | os.PathLike[str], n: int | None, *, directed: bool, signed: bool
) -> Found:
    """Return the cuts of all parts, and the rows of the own agents."""
    file = expanded(path)
    with together.checking(), naming(file, "a network file"):
        kind = "folder" if file.is_dir() else file.suffix.lower()
        if kind not in ("folder", ".npz", ".csv", ".parquet"):
            rule = "a network is read in parts from a folder of parts, .npz, .parquet or .csv"
            remedy = "convert it with peerpressure convert, or divide it with peerpressure partition"
            raise FileFormatError(message(rule, got=file.name, remedy=remedy))
        if kind in ("folder", ".npz"):
            return (_from_folder if kind == "folder" else _from_archive)(file, together.comm.rank, together.comm.size)
        reader = _parquet_edges if kind == ".parquet" else _csv_edges
        edges = reader(file, together.comm.rank, together.comm.size)
    largest = max(together.comm.allgather(max((int(end.max()) for end in edges[:2] if end.size), default=-1)))
    with together.checking():
        cuts = even_cuts(largest + 1 if n is None else n, together.comm.size)
    return cuts, merged_rows(together, cuts, edges, directed=directed, signed=signed)


# Folders of parts


def part_name(part: int) -> str:
    """Return the name of the file of a part."""
    return f"part-{part}.npz"


def _from_folder(folder: Path, rank: int, size: int) -> Found:
    """Read the parts of this process, which are consecutive where there are more parts than processes."""
    facts = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    if facts.get("schema_version") != SCHEMA_VERSION:
        rule = f"a folder of parts must have schema_version {SCHEMA_VERSION}"
        remedy = "write it again with peerpressure partition"
        raise FileFormatError(message(rule, got=facts.get("schema_version"), remedy=remedy))
    cuts = facts["cuts"]
    if len(cuts) - 1 < size:
        rule, got = "there must be at least one part for each process", f"{len(cuts) - 1} parts, {size} processes"
        raise FileFormatError(message(rule, got=got, remedy="divide the network into more parts"))
    bounds = [len(part) for part in np.array_split(np.arange(len(cuts) - 1), size)]
    ends = list(itertools.accumulate(bounds, initial=0))
    parts = [_part(folder / part_name(k), cuts[k], cuts[k + 1], cuts[-1]) for k in range(*ends[rank : rank + 2])]
    return tuple(cuts[end] for end in ends), csr_array(vstack(parts, format="csr"))


def _part(file: Path, first: int, last: int, n: int) -> csr_array:
    with np.load(file, allow_pickle=False) as archive:
        rows = csr_array(
            (archive["weights"], archive["indices"].astype(np.int64), archive["indptr"]), shape=(last - first, n)
        )
    rows.check_format()
    return rows


# The package's own archives


def _from_archive(file: Path, rank: int, size: int) -> Found:
    """Read the rows of this process from a network in the layout of ``scipy.sparse.save_npz``."""
    with ZipFile(file) as archive:
        n = int(_stretch(archive, "shape", 0, 2)[0])
        cuts = even_cuts(n, size)
        first, last = cuts[rank : rank + 2]
        starts = _stretch(archive, "indptr", first, last + 1).astype(np.int64)
        columns, weights = (_stretch(archive, name, int(starts[0]), int(starts[-1])) for name in ("indices", "data"))
    rows = csr_array(
        (weights.astype(np.float64), columns.astype(np.int64), starts - starts[0]), shape=(last - first, n)
    )
    rows.check_format()
    return cuts, rows


def _stretch(archive: ZipFile, name: str, begin: int, end: int) -> NDArray[Any]:
    """Read numbers ``begin``…``end``−1 of an array, whatever comes before them being passed over a piece at a time."""
    with archive.open(f"{name}.npy") as stream:
        version = npy.read_magic(stream)
        shape, _, dtype = (npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0)(stream)
        if dtype.hasobject or len(shape) != 1 or end > shape[0]:
            rule, got = "a network must be stored as arrays of numbers", f"{name} of shape {shape} and {dtype}"
            raise FileFormatError(message(rule, got=got, remedy="write it with write_network"))
        _pass_over(stream, begin * dtype.itemsize)
        return np.frombuffer(stream.read((end - begin) * dtype.itemsize), dtype)


def _pass_over(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, _READ))) or size


# Lists of edges, of which each process reads a share


def _parquet_edges(file: Path, rank: int, size: int) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    require_pyarrow(file)
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as table:
        _check_columns(table.schema_arrow.names)
        names = [name for name in (*_ENDS, "weight") if name in table.schema_arrow.names]
        if table.num_row_groups >= size:
            groups = list(range(rank, table.num_row_groups, size))
            taken = [batch.to_pandas() for batch in table.iter_batches(_READ, row_groups=groups, columns=names)]
        else:
            # All read everything, a piece at a time, and each keeps a share of the rows.
            pieces = (batch.to_pandas() for batch in table.iter_batches(_READ, columns=names))
            taken = [piece.iloc[rank::size].copy() for piece in pieces]
    return _numbers(taken, "weight" in names)


def _csv_edges(file: Path, rank: int, size: int) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    import pandas

    with open(file, "rb") as stream:
        heading = stream.readline()
        names = [name.strip().strip('"').casefold() for name in heading.decode("utf-8-sig").strip().split(",")]
        _check_columns(names)
        begin, length = stream.tell(), os.path.getsize(file)
        bounds = [begin + (length - begin) * k // size for k in range(size + 1)]
        # A line belongs to the process in whose share it begins.
        start, stop = (_next_line(stream, at, begin) for at in bounds[rank : rank + 2])
        stream.seek(start)
        data = stream.read(stop - start)
    frame = (
        pandas.read_csv(io.BytesIO(data), header=None, names=names)
        if data.strip()
        else pandas.DataFrame([], None, names)
    )
    return _numbers([frame], "weight" in names)


def _next_line(stream: IO[bytes], at: int, begin: int) -> int:
    """Return where the first line begins that begins at or after a place."""
    if at <= begin:
        return begin
    stream.seek(at - 1)
    stream.readline()
    return stream.tell()


def _check_columns(names: list[str]) -> None:
    if not set(_ENDS) <= set(names):
        rule = "a list of edges that is read in parts must have a heading with source and target, and weight if any"
        raise NetworkError(message(rule, got=", ".join(names)[:120], remedy="name the columns so"))


def _numbers(frames: list[pandas.DataFrame], weighted: bool) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    columns: list[NDArray[Any]] = []
    for name in _ENDS:
        found = [frame[name].to_numpy() for frame in frames if len(frame)]
        bad = next((one for one in found if one.dtype.kind not in "iu"), None)
        if bad is not None:
            rule, remedy = (
                f"agents of a network that is read in parts must be whole numbers: {name}",
                "number them from 0 on",
            )
            raise NetworkError(message(rule, got=repr(bad[0]), remedy=remedy))
        columns.append(np.concatenate([np.empty(0, np.int64), *(one.astype(np.int64) for one in found)]))
    if not weighted:
        return columns[0], columns[1], None
    weights = [frame["weight"].to_numpy(np.float64) for frame in frames if len(frame)]
    return columns[0], columns[1], np.concatenate([np.empty(0), *weights])


Numbers = NDArray[np.int64]


def even_cuts(agents: int, count: int) -> tuple[int, ...]:
    """Return the first agents of so many parts of whole chunks, and the number of agents at the end.

    >>> even_cuts(5000, 2)
    (0, 3072, 5000)
    """
    require_chunks(agents, count)
    chunks = -(-agents // CHUNK)
    return *(-(-chunks * k // count) * CHUNK for k in range(count)), agents


def merged_rows(
    together: Together,
    cuts: tuple[int, ...],
    edges: tuple[Numbers, Numbers, NDArray[np.float64] | None],
    *,
    directed: bool = False,
    signed: bool = False,
) -> csr_array:
    """Return the rows of the own agents from the edges of all processes, (sources, targets, weights or None for 1).

    An edge that is given several times counts once. Undirected edges may be given in either direction or in both.
    """
    sources, targets, weights = edges
    with together.checking():
        _check_edges(sources, targets, weights, cuts[-1], signed=signed)
    if not directed:
        sources, targets = np.concatenate([sources, targets]), np.concatenate([targets, sources])
        weights = None if weights is None else np.tile(weights, 2)
    rows, columns, values = _sent(together.comm, cuts, sources, targets, weights)
    with together.checking():
        return _merged(rows, columns, values, cuts[together.comm.rank], cuts[together.comm.rank + 1], cuts[-1])


def _check_edges(
    sources: Numbers, targets: Numbers, weights: NDArray[np.float64] | None, n: int, *, signed: bool
) -> None:
    for end in (sources, targets):
        if end.size and not (end.min() >= 0 and end.max() < n):
            rule, remedy = f"agents must have the numbers 0 to {n - 1:,}", "number them so, or give n=..."
            raise NetworkError(message(rule, got=end[(end < 0) | (end >= n)][0], remedy=remedy))
    loops = sources[sources == targets]
    if loops.size:
        rule, got = "an agent must not be its own neighbour", f"a self-loop at {loops[0]} ({loops.size} in all)"
        remedy = "remove them; the weight of an agent's own opinion is its stubbornness"
        raise NetworkError(message(rule, got=got, remedy=remedy))
    if weights is None:
        return
    bad = np.flatnonzero(~np.isfinite(weights) | ((weights < 0) & (not signed)))
    if bad.size:
        k = bad[0]
        rule = "weights must be finite numbers" if signed else "weights must be finite numbers that are not negative"
        got = f"{weights[k]:g} between {sources[k]} and {targets[k]} ({bad.size} such)"
        raise NetworkError(
            message(rule, got=got, remedy="correct them, or declare the network as signed, for distrust")
        )


def _sent(
    comm: Intracomm, cuts: tuple[int, ...], rows: Numbers, columns: Numbers, weights: NDArray[np.float64] | None
) -> tuple[Numbers, Numbers, NDArray[np.float64] | None]:
    """Send each entry to the process of its row."""
    if comm.size == 1:
        return rows, columns, weights
    owners = np.searchsorted(cuts[1:], rows, side="right")
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    got = [delivered(comm, values[order], owners) for values in (rows, columns)]
    return got[0], got[1], None if weights is None else delivered(comm, weights[order], owners)


def _merged(
    rows: Numbers, columns: Numbers, weights: NDArray[np.float64] | None, first: int, last: int, n: int
) -> csr_array:
    """Return the entries as rows in ascending order of their columns, repeated ones merged, those of weight 0 left out.

    Repeated entries must have one weight.
    """
    # n rows fit into 64 bits for all networks that can be numbered in 32.
    codes = (rows - first) * n + columns
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    new = np.ones(codes.size, np.bool_)
    new[1:] = codes[1:] != codes[:-1]
    values = np.ones(int(new.sum()))
    if weights is not None:
        weights = weights[order]
        clash = np.flatnonzero(~new[1:] & (weights[1:] != weights[:-1]))
        if clash.size:
            who, whom = divmod(int(codes[clash[0]]), n)
            got = f"{weights[clash[0]]:g} and {weights[clash[0] + 1]:g} between {who + first} and {whom}"
            rule, remedy = "an edge given more than once must keep one weight", "keep one of them"
            raise NetworkError(message(rule, got=got, remedy=remedy))
        values = weights[new]
    row, column = np.divmod(codes[new], n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=last - first))])
    matrix = csr_array((values, column, starts), shape=(last - first, n))
    matrix.eliminate_zeros()
    return matrix


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
