"""Readers of single formats of networks: lists of edges, graphs of other programs, matrices and arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks._adjacency import labels_from_json, reverses
from peerpressure.networks._edge_lists import EdgeList, parse_edges
from peerpressure.networks._network import Network
from peerpressure.networks._other_tables import (
    AdjacencyList,
    AdjacencyTable,
    adjacency_table,
    edge_table,
    read_adjacency_list,
)
from peerpressure.networks.graph_files import GraphFile
from peerpressure.networks.validation import Direction, Label, validate_square
from peerpressure.support.files import read_bytes
from peerpressure.support.resources import require_memory
from peerpressure.support.table_files import read_table

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

    def positions(self, edges: EdgeList) -> Network:
        """Return the network of edges by position, which is directed only if that is asked for."""
        return Network.from_edges(
            (edges.sources, edges.targets),
            edges.weights,
            labels=None if isinstance(edges.labels, range) else edges.labels,
            directed=bool(self.directed),
            signed=self.signed,
            direction=self.direction,
        )


# Lists of edges, in which a file may turn out to hold a matrix


def read_list(file: Path, how: Reading) -> Network:
    """Return the network of a list of edges or of an adjacency matrix, in text or Parquet."""
    return _network(_parsed_list(file, how), how)


def describe_list(file: Path, how: Reading) -> str:
    """Describe how ``read_list`` reads a file; whether its weights and directions are allowed is not checked."""
    return _parsed_list(file, how).description(directed=bool(how.directed))


def read_headless(file: Path, how: Reading) -> Network:
    """Return the network of a list of igraph, in which the first line is an edge."""
    return _network(_headless(file, how), how)


def describe_headless(file: Path, how: Reading) -> str:
    """Describe how ``read_headless`` reads a file."""
    return _headless(file, how).description(directed=bool(how.directed))


def read_neighbours(file: Path, how: Reading) -> Network:
    """Return the network of an adjacency list."""
    return how.agents(read_adjacency_list(file))


def describe_neighbours(file: Path, how: Reading) -> str:
    """Describe how ``read_neighbours`` reads a file."""
    return read_adjacency_list(file).description(directed=bool(how.directed))


def _network(edges: EdgeList | AdjacencyTable, how: Reading) -> Network:
    if isinstance(edges, AdjacencyTable):
        return how.network(edges.matrix, edges.labels)
    try:
        network = how.positions(edges)
    except NetworkError:
        # The same rules again, with the line that breaks one.
        edges.check(directed=bool(how.directed), signed=how.signed)
        raise
    # A network may leave out a loop of weight 0, which is a mistake in a list.
    if (edges.sources == edges.targets).any():
        edges.check(directed=bool(how.directed), signed=how.signed)
    edges.check_directions(directed=bool(how.directed))
    return network


def _parsed_list(file: Path, how: Reading) -> EdgeList | AdjacencyTable:
    table = edge_table(file)
    return adjacency_table(table) or parse_edges(table, how.weight)


def _headless(file: Path, how: Reading) -> EdgeList:
    return parse_edges(read_table(file, "an edge"), how.weight, headed=False)


# Graphs of other programs


def read_graph(parse: Callable[[bytes], Any], file: Path, how: Reading) -> Network:
    """Return the network of a graph, which this function parses."""
    graph_file = GraphFile.of(parse(read_bytes(file)), how.weight)
    network = Network.from_networkx(graph_file.graph, graph_file.weight, signed=how.signed, direction=how.direction)
    # The check of symmetry, with its message, where the caller wants an undirected network.
    return network if how.directed is not False else how.network(network.adjacency, network.labels)


def describe_graph(parse: Callable[[bytes], Any], file: Path, how: Reading) -> str:
    """Describe how ``read_graph`` reads a file."""
    return GraphFile.of(parse(read_bytes(file)), how.weight).description


# Matrix Market, parsed in Python because SciPy's compiled reader can crash the process on a damaged file


class MatrixHeader(NamedTuple):
    """Format and sizes from the first lines of a Matrix Market file."""

    dense: bool
    pattern: bool
    symmetric: bool
    sizes: tuple[int, ...]


def read_matrix_market(file: Path, how: Reading) -> Network:
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
        raise FileFormatError("a Matrix Market file must describe a real matrix", got=repr(banner[:80]), remedy=remedy)
    dense = words[2] == "array"
    numbers = sizes.split()
    # Fewer than 19 digits fit into 64 bits.
    if len(numbers) != (2 if dense else 3) or not all(n.isdecimal() and len(n) < 19 for n in numbers):
        remedy = "give rows, columns and, unless dense, entries"
        raise FileFormatError("the line after the comments must hold the sizes", got=repr(sizes[:80]), remedy=remedy)
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
        raise FileFormatError("rows and columns must lie within the sizes", got=repr(line[:80]), remedy="count from 1")
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
        raise FileFormatError("a matrix file must hold what its header says", got=got, remedy="write it again")
    if not body:
        return np.empty((0, width))
    # loadtxt raises on text, and the shape is checked below, since it accepts any constant number of columns.
    table = np.loadtxt(body, dtype=np.float64, comments="%", ndmin=2)
    if table.shape != (count, width):
        raise FileFormatError(
            f"every entry must have {width} numbers", got=f"shape {table.shape}", remedy="write it again"
        )
    return table


# NumPy and SciPy


def read_array(file: Path, how: Reading) -> Network:
    # A memory map costs nothing if the header promises more than the file holds.
    array = np.load(file, mmap_mode="r", allow_pickle=False)
    if is_list(array):
        ends = np.asarray(array[:, :2])
        positions = ends.astype(np.int64)
        if not np.array_equal(ends, positions):
            raise FileFormatError(
                "the first two columns must be whole numbers", got="fractions", remedy="count agents from 0"
            )
        return how.edges(positions, array[:, 2] if array.shape[1] == 3 else None)
    return how.network(np.asarray(array))


def is_list(array: NDArray[Any]) -> bool:
    """Return whether an array has edges in two or three columns, and is no adjacency matrix."""
    return array.ndim == 2 and array.shape[0] != array.shape[1] and array.shape[1] in (2, 3)


def read_sparse_archive(file: Path, how: Reading) -> Network:
    from scipy.sparse import load_npz

    check_archive(file)
    matrix = validate_square(load_npz(file))
    # Compiled kernels do not check bounds, so damaged indices must not reach them.
    matrix.tocsr().check_format(full_check=True)
    with np.load(file, allow_pickle=False) as arrays:
        labels = labels_from_json(arrays["labels"]) if "labels" in arrays else None
    return how.network(matrix, labels)


def describe_array(file: Path, how: Reading) -> str | None:
    """Return whether an array has edges and not a matrix, and the warnings of reading it, if there are any."""
    array = np.load(file, mmap_mode="r", allow_pickle=False)
    columns = f"edges in columns source, target{', weight' if how.weight and array.shape[-1] == 3 else ''}"
    return "; ".join([*([columns] if is_list(array) else []), *warnings_of(read_array, file, how)]) or None


def warnings_of(reader: Callable[[Path, Reading], Network], file: Path, how: Reading) -> list[str]:
    """Return the warnings of reading a matrix, which may be directed and have negative weights."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader(file, how._replace(directed=True, signed=True))
    return [str(each.message) for each in caught]


def check_archive(file: Path) -> None:
    """Raise if the members of a zip archive do not fit into the free memory; a small archive may hold very much."""
    with ZipFile(file) as archive:
        size = sum(member.file_size for member in archive.infolist())
    require_memory(size, what="a network", remedy="use a larger machine")
