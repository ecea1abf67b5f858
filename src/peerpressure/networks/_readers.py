"""Reading networks and temporal networks from files: lists of edges, events and contacts, graphs, and arrays.

Files may come from untrusted sources: no file can run code, exhaust the memory or raise an error of another package.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from peerpressure.errors import FileFormatError, NetworkError, PeerPressureError, did_you_mean, message
from peerpressure.networks._adjacency import labels_from_json, reverses
from peerpressure.networks._edge_lists import EVENT_ROLES, EdgeList, Lines, parse_edges, parse_labels, parse_lines
from peerpressure.networks._network import Network
from peerpressure.networks._other_tables import (
    AdjacencyList,
    AdjacencyTable,
    adjacency_table,
    edge_table,
    read_adjacency_list,
)
from peerpressure.networks._plain_lists import PLAIN_BYTES, PlainEdges, read_plain
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._unread_formats import check_other_format
from peerpressure.networks.graph_files import GRAPHS, read_graph
from peerpressure.networks.validation import Direction, Label, network_error, unknown_labels, validate_square
from peerpressure.support.files import decode_text, expanded, naming, read_bytes
from peerpressure.support.parameters import composed, find_labels
from peerpressure.support.resources import require_memory
from peerpressure.support.tables import PARQUET, parse_table, places_in, read_table

TABLES = (
    ".txt",
    ".edges",
    ".edgelist",
    ".csv",
    ".tsv",
    ".dat",
    ".ncol",
    ".adjlist",
)  # suffixes to which .gz may be added
NCOL, ADJACENCY = ".ncol", ".adjlist"
MATRIX_BANNER = "%%matrixmarket"


class Reading(NamedTuple):
    """How a file is to be read: the arguments of ``read_network``, ``directed`` being None if the file decides."""

    weight: str | None
    directed: bool | None
    signed: bool
    direction: Direction

    def network(self, matrix: Any, labels: Iterable[Label] | None = None) -> Network:
        """Return the network of a matrix, which is directed only if that is asked for."""
        directed = bool(self.directed)
        matrix = matrix.T if reverses(self.direction, directed=directed) else matrix
        network = Network(matrix, labels, directed=directed, signed=self.signed)
        if self.weight is not None or not network.is_weighted:
            return network
        return Network(network.adjacency != 0, network.labels, directed=directed)

    def edges(self, ends: Any, weights: Any) -> Network:
        """Return the network of a list of edges, which is directed only if that is asked for."""
        return Network.from_edges(
            ends,
            None if self.weight is None else weights,
            directed=bool(self.directed),
            signed=self.signed,
            direction=self.direction,
        )

    def agents(self, edges: AdjacencyList) -> Network:
        """Return the network of an adjacency list, which has agents without edges, too."""
        return Network.from_edges(
            (edges.sources, edges.targets),
            labels=edges.labels,
            directed=bool(self.directed),
            direction=self.direction,
        )

    def positions(self, edges: PlainEdges) -> Network:
        """Return the network of edges by position, which is directed only if that is asked for."""
        return Network.from_edges(
            (edges.sources, edges.targets),
            edges.weights,
            labels=None if isinstance(edges.labels, range) else edges.labels,
            directed=bool(self.directed),
            signed=self.signed,
            direction=self.direction,
        )


Reader = Callable[[Path, Reading], Network]


def read_network(
    path: str | PathLike[str],
    *,
    weight: str | None = "weight",
    directed: bool | None = None,
    signed: bool = False,
    direction: Direction = "listens",
    labels: Iterable[Label] | None = None,
) -> Network:
    r"""Read a network from a file whose suffix selects the format.

    Parameters
    ----------
    path : str or path-like
        An edge list or an adjacency matrix (``.txt``, ``.edges``, ``.edgelist``, ``.csv``, ``.tsv``, or ``.parquet``),
        an edge list of igraph (``.ncol``), an adjacency list (``.adjlist``), GraphML (``.graphml``), GEXF (``.gexf``),
        GML (``.gml``), Pajek (``.net``), node-link JSON (``.json``), Matrix Market (``.mtx``), each also with ``.gz``
        unless Parquet, a NumPy array (``.npy``: an adjacency matrix, or edges in two or three columns) or a SciPy
        sparse matrix (``.npz``). Edge lists may have the attributes that NetworkX writes, or the index of a data frame.
    weight : str or None, default "weight"
        Name of the column or edge attribute that holds the weights. By default other usual names are accepted as well,
        and a column of numbers that has none of them is refused. None sets all weights to 1, in every format.
    directed : bool, optional
        Whether an edge goes from its source to its target only. By default graphs that say so are directed, and edge
        lists and matrices are not; with False every graph must be symmetric.
    signed : bool, default False
        Whether weights may be negative.
    direction : {"listens", "influences"}, default "listens"
        Meaning of a directed edge: its source listens to its target, or influences it. Row i of a matrix is the source
        of its edges.
    labels : iterable of hashable, optional
        All agents in their order, if some have no edge: a list of edges does not name them. Matrices and graphs do.

    Returns
    -------
    Network
        Labels that are all integers become numbers.  Separator, decimal sign and columns of an edge list are
        detected, and nodes of a graph are named by their labels if these differ; `describe_network_file` returns what
        was found. An edge given more than once with one weight counts once, with a warning.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the file holds no valid network, or an edge is given more than once with different weights.

    See Also
    --------
    write_network : Write a network to a file.
    read_attribute : Read an attribute of the agents from a graph.
    read_events, read_contacts : Read a temporal network.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure import read_network
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.csv")
    ...     _ = file.write_text("from;to;weight\nann;bob;0,5\nbob;cat;2\n", encoding="utf-8")
    ...     read_network(file)
    Network(3 agents, 2 weighted edges, bipartite, degrees 0.5–2.5)
    """
    file = expanded(path)
    check_other_format(file)
    reader = READERS[file_suffix(file, READERS, compressed=True)]
    # The parsers of other packages raise all kinds of exceptions on damaged files.
    with naming(file, "a network file", damage=Exception):
        # Each parser has its own, mostly unhelpful, error for an empty file.
        if file.stat().st_size == 0:
            raise _format_error("a network file must not be empty", "0 bytes", "write the network again")
        network = reader(file, Reading(weight, directed, signed, direction))
        # Agents without any edge are a model, too, but hardly what somebody stored as a network.
        if not network.adjacency.nnz:
            got = f"{network.n} agents and none"
            raise _format_error("a network file must have edges", got, "check what was saved")
        return network if labels is None else with_agents(network, labels)


def with_agents(network: Network, labels: Iterable[Label]) -> Network:
    """Return the network of all these agents, of whom some may have no edge; labels may also be given as texts."""
    names = [composed(label) for label in labels]
    places = find_labels(list(network.labels), names)
    missing = [label for label, place in zip(network.labels, places, strict=True) if place is None]
    if missing:
        raise unknown_labels(missing, names)
    edges, position = network.adjacency.tocoo(), np.array(places, dtype=np.int64)
    ends = tuple(position[side] for side in edges.coords)
    matrix = coo_array((edges.data, ends), shape=(len(names), len(names)))
    return Network(matrix, names, directed=network.directed, signed=network.signed)


def read_labels(path: str | PathLike[str]) -> list[Label]:
    r"""Read the agents that a table names.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_labels
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "people.csv")
    ...     _ = file.write_text("name,age\nann,31\nbob,42\n", encoding="utf-8")
    ...     read_labels(file)
    ['ann', 'bob']
    """
    file = expanded(path)
    with naming(file, "a table of agents"):
        table = read_table(file, "an agent")
        first = [] if not table.rows else list(table.heading or table.rows[0].fields)
        places = places_in(first, ("agent",))
        if len(first) != 1 and "agent" not in places:
            got = ", ".join(map(repr, first[:6])) or "an empty file"
            raise _format_error("a table of agents must name them", f"columns {got}", "call the column agent")
        table = table.headed() if places else table.unheaded()
        texts = table.column(places.get("agent", 0))
        label = parse_labels(texts)
        return [label[text] for text in texts]


def describe_network_file(
    path: str | PathLike[str], *, weight: str | None = "weight", directed: bool | None = None
) -> str | None:
    r"""Describe how `read_network` reads a file: separator, decimal sign and columns, or labels and attributes.

    What is left out or merged is named as well: columns and attributes that are not used, edges given more than once,
    and names in several forms of Unicode.

    Parameters
    ----------
    path : str or path-like
        The file.
    weight, directed : optional
        As in `read_network`.

    Returns
    -------
    str or None
        None for formats in which nothing has to be detected.

    See Also
    --------
    read_network : Read such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import describe_network_file
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.csv")
    ...     _ = file.write_text("from;to;weight\nann;bob;0,5\n", encoding="utf-8")
    ...     describe_network_file(file)
    "separated by semicolons, decimal commas, source from 'from', target from 'to', weight from 'weight'"
    """
    file = expanded(path)
    check_other_format(file)
    suffix = file_suffix(file, READERS, compressed=True)
    with naming(file, "a network file", damage=Exception):
        if suffix in GRAPHS:
            return read_graph(file, weight).description
        # Columns alone are described: whether these weights and directions are allowed is for those who read the file.
        if READERS[suffix] is _read_edge_list:
            edges = _plain_edges(file, weight) or _parsed_list(file, weight)
            return edges.description(directed=bool(directed))
        return _matrix_description(file, suffix, Reading(weight, True, True, "listens"))


def _matrix_description(file: Path, suffix: str, how: Reading) -> str | None:
    """Return whether an array has edges and not a matrix, and the warnings of reading it, if there is any."""
    is_list = suffix == ".npy" and _is_list(np.load(file, mmap_mode="r", allow_pickle=False))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        network = READERS[suffix](file, how)
    columns = f"edges in columns source, target{', weight' if network.is_weighted else ''}"
    return "; ".join([*([columns] if is_list else []), *(str(each.message) for each in caught)]) or None


def file_suffix(file: Path, known: Mapping[str, object], *, compressed: bool = False) -> str:
    """Return the suffix that selects the format; ``compressed`` allows tables with an additional .gz."""
    name = file.name.lower()
    if compressed and name.removesuffix(".gz").endswith((*TABLES, *GRAPHS)):
        name = name.removesuffix(".gz")
    matched = next((suffix for suffix in known if name.endswith(suffix)), None)
    if matched is None:
        suffix = file.suffix.lower()
        remedy = f"use one of {', '.join(known)}{did_you_mean(suffix, known) if suffix else ''}"
        raise _format_error("a network file must have a known suffix", repr(file.name), remedy)
    return matched


def check_archive(file: Path) -> None:
    """Raise if the members of a zip archive do not fit into the free memory; a small archive may hold very much."""
    with ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
    require_memory(size, what="a network", remedy="use a larger machine")


def _format_error(rule: str, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(message(rule, got=got, remedy=remedy))


# Edge lists


def _read_edge_list(file: Path, how: Reading) -> Network:
    plain = _plain_edges(file, how.weight)
    if plain is not None:
        try:
            return how.positions(plain)
        except NetworkError:
            # The reader of tables names the line.
            pass
    edges = _parsed_list(file, how.weight)
    if isinstance(edges, AdjacencyTable):
        return how.network(edges.matrix, edges.labels)
    if isinstance(edges, AdjacencyList):
        return how.agents(edges)
    edges.check(directed=bool(how.directed), signed=how.signed)
    return how.edges((edges.sources, edges.targets), edges.weights)


def _plain_edges(file: Path, weight: str | None) -> PlainEdges | None:
    # The other lists have rules of their own.
    plain = file_suffix(file, READERS, compressed=True) not in (NCOL, ADJACENCY)
    return read_plain(file, weight) if plain and file.stat().st_size >= PLAIN_BYTES else None


def _parsed_list(file: Path, weight: str | None) -> EdgeList | AdjacencyTable | AdjacencyList:
    suffix = file_suffix(file, READERS, compressed=True)
    if suffix == ADJACENCY:
        return read_adjacency_list(file)
    if suffix == NCOL:
        # This format of igraph has no heading: its first line is an edge.
        return parse_edges(read_table(file, "an edge"), weight, headed=False)
    table = edge_table(file)
    return adjacency_table(table) or parse_edges(table, weight)


# Graphs of other programs


def _read_graph(file: Path, how: Reading) -> Network:
    graph_file = read_graph(file, how.weight)
    network = Network.from_networkx(graph_file.graph, graph_file.weight, signed=how.signed, direction=how.direction)
    # The check of symmetry, with its message, where the caller wants an undirected network.
    return network if how.directed is not False else how.network(network.adjacency, network.labels)


# Matrix Market, parsed in Python because SciPy's compiled reader can crash the process on a damaged file


class MatrixHeader(NamedTuple):
    """Format and sizes from the first lines of a Matrix Market file."""

    dense: bool
    pattern: bool
    symmetric: bool
    sizes: tuple[int, ...]


def _read_matrix_market(file: Path, how: Reading) -> Network:
    lines = read_bytes(file).decode("ascii", errors="replace").splitlines()
    # The sizes are on the first line that is no comment.
    start = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    header = _matrix_header(lines[0] if lines else "", lines[start] if start < len(lines) else "")
    body = [line for line in lines[start + 1 :] if line.strip()]
    matrix = _dense_matrix(header, body) if header.dense else _sparse_matrix(header, body)
    return how.network(matrix)


def _matrix_header(banner: str, sizes: str) -> MatrixHeader:
    words = banner.casefold().split()
    kinds = ({"coordinate", "array"}, {"real", "double", "integer", "pattern"}, {"general", "symmetric"})
    known = len(words) == 5 and all(word in kind for word, kind in zip(words[2:], kinds, strict=True))
    if words[:2] != [MATRIX_BANNER, "matrix"] or not known:
        remedy = "begin with %%MatrixMarket matrix, coordinate or array, real, general or symmetric"
        raise _format_error("a Matrix Market file must describe a real matrix", repr(banner[:80]), remedy)
    dense = words[2] == "array"
    numbers = sizes.split()
    # Fewer than 19 digits fit into 64 bits.
    if len(numbers) != (2 if dense else 3) or not all(n.isdecimal() and len(n) < 19 for n in numbers):
        remedy = "give rows, columns and, unless dense, entries"
        raise _format_error("the line after the comments must hold the sizes", repr(sizes[:80]), remedy)
    return MatrixHeader(dense, words[3] == "pattern", words[4] == "symmetric", tuple(map(int, numbers)))


def _sparse_matrix(header: MatrixHeader, body: list[str]) -> coo_array:
    rows, columns, entries = header.sizes
    table = _matrix_entries(body, entries, width=2 if header.pattern else 3)
    weights = np.ones(entries) if header.pattern else table[:, 2]
    places = table[:, :2]
    # Compared before the conversion to integers, which would turn nan and huge values into legal-looking positions.
    legal = (places == np.floor(places)) & (places >= 1) & (places <= (rows, columns))
    if not legal.all():
        line = body[int(np.flatnonzero(~legal.all(axis=1))[0])]
        raise _format_error("rows and columns must lie within the sizes", repr(line[:80]), "count from 1")
    i, j = places.astype(np.int64).T - 1
    # Symmetric files store one triangle only.
    if header.symmetric:
        off = i != j
        i, j, weights = np.append(i, j[off]), np.append(j, i[off]), np.append(weights, weights[off])
    return coo_array((weights, (i, j)), shape=(rows, columns))


def _dense_matrix(header: MatrixHeader, body: list[str]) -> NDArray[np.float64]:
    rows, columns = header.sizes
    if not header.symmetric:
        return _matrix_entries(body, rows * columns, width=1).reshape((rows, columns), order="F")
    # Symmetric dense files store the lower triangle with the diagonal.
    values = _matrix_entries(body, rows * (rows + 1) // 2, width=1).ravel()
    matrix = np.zeros((rows, rows))
    # The lower triangle column by column is the upper triangle row by row.
    matrix[np.triu_indices(rows)] = values
    return matrix + np.triu(matrix, 1).T


def _matrix_entries(body: list[str], count: int, width: int) -> NDArray[np.float64]:
    # Checked before anything of the promised size is allocated.
    if len(body) != count:
        got = f"{count} entries promised and {len(body)} found"
        raise _format_error("a matrix file must hold what its header says", got, "write it again")
    if not body:
        return np.empty((0, width))
    # loadtxt raises on text, and the shape is checked below, since it accepts any constant number of columns.
    table = np.loadtxt(body, dtype=np.float64, comments="%", ndmin=2)
    if table.shape != (count, width):
        raise _format_error(f"every entry must have {width} numbers", f"shape {table.shape}", "write it again")
    return table


# NumPy and SciPy


def _read_array(file: Path, how: Reading) -> Network:
    # A memory map costs nothing if the header promises more than the file holds.
    array = np.load(file, mmap_mode="r", allow_pickle=False)
    if _is_list(array):
        ends = np.asarray(array[:, :2])
        positions = ends.astype(np.int64)
        if not np.array_equal(ends, positions):
            raise _format_error("the first two columns must be whole numbers", "fractions", "count agents from 0")
        return how.edges(positions, array[:, 2] if array.shape[1] == 3 else None)
    return how.network(np.asarray(array))


def _is_list(array: NDArray[Any]) -> bool:
    """Return whether an array has edges in two or three columns, and is no adjacency matrix."""
    return array.ndim == 2 and array.shape[0] != array.shape[1] and array.shape[1] in (2, 3)


def _read_sparse_archive(file: Path, how: Reading) -> Network:
    from scipy.sparse import load_npz

    check_archive(file)
    matrix = validate_square(load_npz(file))
    # Compiled kernels do not check bounds, so damaged indices must not reach them.
    matrix.tocsr().check_format(full_check=True)
    with np.load(file, allow_pickle=False) as arrays:
        labels = labels_from_json(arrays["labels"]) if "labels" in arrays else None
    return how.network(matrix, labels)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        ".txt": _read_edge_list,
        ".edges": _read_edge_list,
        ".edgelist": _read_edge_list,
        ".csv": _read_edge_list,
        ".tsv": _read_edge_list,
        ".parquet": _read_edge_list,
        NCOL: _read_edge_list,
        ADJACENCY: _read_edge_list,
        **dict.fromkeys(GRAPHS, _read_graph),
        ".mtx": _read_matrix_market,
        ".mtx.gz": _read_matrix_market,
        ".npy": _read_array,
        ".npz": _read_sparse_archive,
    }
)


# Temporal networks, from events or contacts

# Separators with which text is written; reading detects them.
SEPARATORS: Mapping[str, str] = MappingProxyType({".csv": ",", ".tsv": "\t", ".txt": " ", ".dat": " "})
ARCHIVE = ".npz"
HEAD = 100_000  # characters of a file in which its heading is looked for
FORMATS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, ARCHIVE]))  # that can be written
LISTS: Mapping[str, None] = MappingProxyType(dict.fromkeys([*SEPARATORS, PARQUET]))  # that hold events or contacts


def read_events(
    path: str | PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    period: int | None = None,
    directed: bool = False,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of events: step, source, target and optionally weight.

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) or ``.parquet`` with lines in the order of
        their steps, where the weight 0 removes an edge; or an ``.npz`` file from `write_events`.
    columns : sequence of str, optional
        What the columns hold, such as ("source", "target", "", "time"), where "" is a column to ignore.  By default
        columns are identified by the names in the heading.  Without one, the order above is taken if names, dates and
        fractions leave no other one open, such as source, target, time of SNAP; else the list is refused.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    period : int, optional
        Number of steps after which the sequence repeats.
    directed : bool, default False
        Whether an edge goes from its source, who listens, to its target only. An ``.npz`` file says so itself.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the events are not valid; the message names the line.

    See Also
    --------
    read_contacts : Read contacts with real time stamps.
    write_events : Write a temporal network.
    TemporalNetwork.from_events : The same from data in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_events
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target,weight\n1,ann,bob,1\n3,ann,bob,0\n", encoding="utf-8")
    ...     read_events(file)
    TemporalNetwork(2 agents, 1 pair, 1 change over 1…3, on average 0.6667 edges)
    """
    file = expanded(path)
    suffix = file_suffix(file, {**LISTS, ARCHIVE: None}, compressed=True)
    with naming(file, "a network file"):
        # An archive stores labels and period itself.
        if suffix == ARCHIVE:
            _check_options(columns=columns, labels=labels, period=period)
            return TemporalNetwork.from_arrays(_arrays(file))
        lines = read_lines(file, columns)
        _check_steps(lines)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "use weights above 0, and 0 to end an edge"
        lines.check(~(weights >= 0) | np.isinf(weights), "a weight must be finite and not negative", weights, remedy)
        rows = (lines.times.astype(np.int64), lines.sources, lines.targets, weights)
        names = _listed_labels(lines, labels)
        return TemporalNetwork.from_events(rows, labels=names, period=period, directed=directed)


def read_snapshots(
    path: str | PathLike[str], *, labels: Iterable[Label] | None = None, directed: bool = False
) -> TemporalNetwork:
    """Read a temporal network from a list of the edges of each wave, which hold until those of the next wave."""
    file = expanded(path)
    file_suffix(file, LISTS, compressed=True)
    with naming(file, "a network file"):
        lines = read_lines(file, None)
        _check_steps(lines, ordered=False)
        weights = np.ones(len(lines.numbers)) if lines.weights is None else lines.weights
        remedy = "leave such lines out; a list of events, in which 0 ends an edge, is read by read_events"
        lines.check(~(weights > 0) | np.isinf(weights), "a weight must be finite and above 0", weights, remedy)
        names = _listed_labels(lines, labels)
        if names is None:
            # Each pair once: that an edge lasts for several waves is no repeat.
            pairs = list(dict.fromkeys(zip(lines.sources, lines.targets, strict=True)))
            names = list(Network.from_edges(pairs, directed=True).labels)
        graphs, steps = [], np.unique(lines.times)
        for step in steps:
            rows = np.flatnonzero(lines.times == step).tolist()
            ends = tuple([side[k] for k in rows] for side in (lines.sources, lines.targets))
            graphs.append(Network.from_edges(ends, weights[rows], names, directed=directed))
        return TemporalNetwork.from_snapshots(graphs, steps.astype(np.int64), directed=directed)


def read_waves(
    path: str | PathLike[str], *, labels: Iterable[Label] | None = None, directed: bool | None = None
) -> Network | TemporalNetwork:
    r"""Read a network, or that of each wave if the file is a list of edges with a column of times.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_waves
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "friends.csv")
    ...     _ = file.write_text("wave,source,target\n1,ann,bob\n2,bob,cat\n", encoding="utf-8")
    ...     read_waves(file, directed=True)
    TemporalNetwork(3 agents, 2 directed pairs, 2 changes over 1…2, on average 1 edges)
    """
    file = expanded(path)
    if _has_times(file):
        return read_snapshots(file, labels=labels, directed=bool(directed))
    return read_network(file, directed=directed, labels=labels)


def _has_times(file: Path) -> bool:
    """Return whether a table has columns of times, sources and targets by their names."""
    name = file.name.lower().removesuffix(".gz")
    if not name.endswith((*SEPARATORS, PARQUET)) or not file.is_file():
        return False
    try:
        if name.endswith(PARQUET):
            table = read_table(file)
        else:
            # The first lines have the heading.
            head = decode_text(read_bytes(file))[0][:HEAD]
            table = parse_table(head if len(head) < HEAD else head.rpartition("\n")[0])
        first = table.heading or (table.rows[0].fields if table.rows else ())
        known = [
            {*EVENT_ROLES[:3]} <= places_in(names, EVENT_ROLES, letters=True).keys() for names in (first, table.note)
        ]
        return any(known)
    # Whoever reads the file says what is wrong with it.
    except (PeerPressureError, ValueError, OSError, EOFError, zlib.error):
        return False


def read_contacts(
    path: str | PathLike[str],
    resolution: float = 1.0,
    *,
    columns: Sequence[str] | None = None,
    labels: Iterable[Label] | None = None,
    origin: float | None = None,
    duration: float | None = None,
    weighted: bool = True,
    skip_quiet: int | None = None,
    period: int | None = None,
    repeat: bool = False,
    directed: bool = False,
) -> TemporalNetwork:
    r"""Read a temporal network from a list of contacts: time stamp, source, target and optionally weight.

    An agent without a contact in a step keeps its public opinion, unless a model says otherwise: ``isolated`` is
    "keep".

    Parameters
    ----------
    path : str or path-like
        Text (``.csv``, ``.tsv``, ``.txt``, ``.dat``, each also with ``.gz``) or ``.parquet`` with lines in any order.
        Time stamps are numbers, or ISO dates such as 2024-01-31T12:00:00, which become seconds since 1970; without a
        zone they are UTC.
    resolution : float, default 1.0
        Length of a step in the units of the time stamps, above 0.
    columns : sequence of str, optional
        What the columns hold, as in `read_events`; by default it is detected.
    labels : iterable of hashable, optional
        All agents, if some may have no line.
    origin : float, optional
        Time at which step 1 begins; by default the first time stamp.
    duration : float, optional
        Duration of every contact; by default contacts are instantaneous.
    weighted : bool, default True
        Whether contacts of a pair within one step add up to its weight; otherwise the weight is 1.
    skip_quiet : int, optional
        Remove gaps of more than this many steps without contacts, such as nights.
    period : int, optional
        Number of steps after which the sequence repeats.
    repeat : bool, default False
        Whether to repeat after the last contact if no period is given; otherwise all agents are isolated then.
    directed : bool, default False
        Whether an edge goes from its source, who listens, to its target only.

    Returns
    -------
    TemporalNetwork
        Labels that are all integers become numbers.

    Raises
    ------
    FileFormatError
        If the file is missing, damaged, ambiguous or of an unknown format.
    NetworkError
        If the contacts are not valid; the message names the line.

    See Also
    --------
    read_events : Read changes at integer steps.
    recorded_contacts : Recorded contacts of real people.
    TemporalNetwork.from_contacts : The same from data in memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_contacts
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "contacts.csv")
    ...     _ = file.write_text("time,source,target\n0,ann,bob\n20,ann,bob\n70,bob,cat\n", encoding="utf-8")
    ...     read_contacts(file, resolution=60)
    TemporalNetwork(3 agents, 2 pairs, 3 changes over 1…3, on average 0.6667 edges)
    """
    file = expanded(path)
    file_suffix(file, LISTS, compressed=True)
    with naming(file, "a network file"):
        lines = read_lines(file, columns)
        lines.check(~np.isfinite(lines.times), "a time stamp must be finite", lines.times, "remove the line")
        if lines.weights is not None:
            bad = ~(lines.weights > 0) | np.isinf(lines.weights)
            lines.check(bad, "a contact's weight must be finite and positive", lines.weights, "remove the line")
        return TemporalNetwork.from_contacts(
            (lines.times, lines.sources, lines.targets, *([] if lines.weights is None else [lines.weights])),
            resolution,
            origin=origin,
            duration=duration,
            weighted=weighted,
            skip_quiet=skip_quiet,
            labels=_listed_labels(lines, labels),
            period=period,
            repeat=repeat,
            directed=directed,
        )


def read_lines(file: Path, columns: Sequence[str] | None) -> Lines:
    """Return the lines of a text file; a line must not link an agent with itself."""
    lines = parse_lines(read_table(file, "an event"), columns)
    loops = np.array([source == target for source, target in zip(lines.sources, lines.targets, strict=True)])
    lines.check(loops, "an agent must not be its own neighbour", lines.sources, "remove the line")
    return lines


def describe_events_file(path: str | PathLike[str], columns: Sequence[str] | None = None) -> str | None:
    r"""Describe how `read_events` and `read_contacts` read a file: separator, decimal sign and columns.

    Parameters
    ----------
    path : str or path-like
        The file.
    columns : sequence of str, optional
        As in `read_events`.

    Returns
    -------
    str or None
        None for formats in which nothing has to be detected.

    See Also
    --------
    read_events, read_contacts : Read such a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import describe_events_file
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "events.csv")
    ...     _ = file.write_text("time,source,target\n1,ann,bob\n", encoding="utf-8")
    ...     describe_events_file(file)
    "separated by commas, time from 'time', source from 'source', target from 'target'"
    """
    file = expanded(path)
    suffix = file_suffix(file, {**LISTS, ARCHIVE: None}, compressed=True)
    with naming(file, "a network file"):
        return None if suffix == ARCHIVE else read_lines(file, columns).description


def _check_steps(lines: Lines, *, ordered: bool = True) -> None:
    times = lines.times
    remedy = "count steps from 1; a list with real time stamps is one of contacts"
    lines.check(np.full(times.size, lines.dated), "a step must be a whole number", ["a date"] * lines.dated, remedy)
    # Beyond 2⁵³ floats no longer represent every integer.
    whole = (np.abs(times) < 2**53) & (times == np.floor(times))
    lines.check(~whole, "a step must be a whole number", times, remedy)
    lines.check(times < 1, "a step must be 1 or more", times, remedy)
    back = np.flatnonzero(times[1:] < times[:-1]) + 1
    if ordered and back.size:
        k = int(back[0])
        rule = f"line {lines.numbers[k]}: events must come in the order of their steps"
        got = f"step {times[k]:g} after {times[k - 1]:g}"
        raise NetworkError(message(rule, got=got, remedy="sort the lines by time"))


def _listed_labels(lines: Lines, labels: Iterable[Label] | None) -> list[Label] | None:
    """Return the labels that the caller listed; every line must be of agents among them."""
    if labels is None:
        return None
    names = [composed(label) for label in labels]
    # Membership is asked twice per line.
    here = set(names)
    for number, *ends in zip(lines.numbers, lines.sources, lines.targets, strict=True):
        unknown = [end for end in ends if end not in here]
        if unknown:
            raise NetworkError(f"line {number}: {unknown_labels(unknown, names)}")
    return names


def _check_options(**options: object) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        rule = f"an {ARCHIVE} file tells its own columns, labels and period"
        raise network_error(rule, got=", ".join(given), remedy="leave them out")


def _arrays(file: Path) -> dict[str, NDArray[Any]]:
    check_archive(file)
    with np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
