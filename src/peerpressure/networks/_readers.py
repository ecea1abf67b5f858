"""Edge lists as text: one edge per line, two labels and perhaps a weight."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from xml.parsers import expat
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.networks._network import Network, decode
from peerpressure.networks._validation import Label, nearest, square
from peerpressure.tables import Row, Table, is_number, naming, places_in, read_table

ROLES = ("source", "target", "weight")
# Whole numbers as Python would write them: "007" stays text, so that no label is changed by reading it.
WHOLE = re.compile(r"-?[1-9][0-9]{0,17}|0")
REMEDY = "write source, target and, if any, weight, or a heading that names them"


@dataclass(frozen=True, eq=False)
class EdgeList:
    """Edges by the labels of their ends; ``found`` says how the table was read."""

    sources: list[Label]
    targets: list[Label]
    weights: NDArray[np.float64]
    found: str


def labels_of(texts: Iterable[str]) -> dict[str, Label]:
    """Return the label that each text stands for: whole numbers where all texts are, else the texts.

    >>> labels_of(["1", "2"]), labels_of(["1", "b"])
    ({'1': 1, '2': 2}, {'1': '1', 'b': 'b'})
    """
    distinct = dict.fromkeys(texts)
    numbers = all(WHOLE.fullmatch(text) for text in distinct)
    return {text: int(text) if numbers else text for text in distinct}


def edges_of(table: Table) -> EdgeList:
    """Return the edges in a table, its columns taken by their names, or in the order of ``ROLES`` if it has none."""
    table = _with_heading(table)
    if not table.rows:
        remedy = "write one edge per line: source, target and, if any, weight"
        raise FileFormatError(message("an edge list must hold edges", got="none", remedy=remedy))
    places = _places(table)
    _refuse_fields(table, places)
    ends = [table.column(places[role]) for role in ("source", "target")]
    weights = _weights(table, places.get("weight"))
    _refuse_edges(table, ends, weights)
    label = labels_of(text for side in ends for text in side)
    sources, targets = ([label[text] for text in side] for side in ends)
    return EdgeList(sources, targets, weights, table.description(places))


def _with_heading(table: Table) -> Table:
    """Return the table with its heading, if the comment above it or its first line is one."""
    if not table.rows:
        return table
    if len(table.note) == table.width and _names_ends(table.note):
        return replace(table, heading=table.note)
    return table.headed() if _is_heading(table) else table


def _names_ends(names: Sequence[str]) -> bool:
    return {"source", "target"} <= places_in(names, ROLES).keys()


def _is_heading(table: Table) -> bool:
    names, below = table.rows[0].fields, table.taken(range(1, len(table.rows)))
    if _names_ends(names):
        return True
    ends = {text for row in below.rows for text in row.fields[:2]}
    if not ends or not ends.isdisjoint(names[:2]):
        return False
    if places_in(names, ("source", "target")):
        rule, remedy = "a heading must name the source and the target", "name both, or neither"
        raise FileFormatError(message(rule, got=", ".join(map(repr, names[:6])), remedy=remedy))
    # Words above columns of numbers are a heading too.
    if all(WHOLE.fullmatch(text) for text in ends):
        return not any(WHOLE.fullmatch(name) for name in names)
    return len(names) == 3 and below.is_numeric(2) and not is_number(names[2])


def _places(table: Table) -> dict[str, int]:
    if table.heading is None or not _names_ends(table.heading):
        return {role: k for k, role in enumerate(ROLES[: table.width])}
    places = table.places(ROLES)
    unknown = [k for k in range(table.width) if k not in places.values() and table.heading[k].casefold() != "id"]
    doubtful = [table.heading[k] for k in unknown if table.is_numeric(k)]
    if "weight" not in places and doubtful:
        rule = "a column of numbers in an edge list must be called weight if it is one"
        remedy = "rename it weight, or remove it; lists of contacts with times have a reader of their own"
        raise FileFormatError(message(rule, got=", ".join(map(repr, doubtful)), remedy=remedy))
    return places


def _refuse_fields(table: Table, places: Mapping[str, int]) -> None:
    if table.heading is not None:
        table.refuse_widths()
    for row in table.rows:
        whole = table.heading is not None or len(row.fields) in (2, 3)
        if not whole or not all(row.fields[places[role]] for role in ("source", "target")):
            raise table.malformed(row, f"{len(row.fields)} fields {row.fields[:4]}", REMEDY)


def _weights(table: Table, column: int | None) -> NDArray[np.float64]:
    """Return the weights; a line that has none has the weight 1."""
    weights = np.ones(len(table.rows))
    if column is not None:
        given = [k for k, row in enumerate(table.rows) if column < len(row.fields)]
        weights[given] = table.taken(given).numbers(column, "weight")
    return weights


def _refuse_edges(table: Table, ends: Sequence[Sequence[str]], weights: NDArray[np.float64]) -> None:
    bad = ~((weights >= 0) & (weights < np.inf))
    if bad.any():
        k = int(np.argmax(bad))
        rule, remedy = "a weight must be finite and not negative", "use a weight above 0"
        raise _illegal(table.rows[k], rule, float(weights[k]), remedy)
    seen: dict[tuple[str, str], int] = {}
    for k, (a, b) in enumerate(zip(*ends, strict=True)):
        if a == b:
            raise _illegal(table.rows[k], "an agent must not be its own neighbour", a, "remove the self-loop")
        before = seen.setdefault((a, b) if a < b else (b, a), k)
        if weights[before] != weights[k]:
            got = f"{weights[k]} for {a!r} and {b!r} after {weights[before]} on line {table.rows[before].line}"
            rule = "an edge given more than once must keep one weight"
            raise _illegal(table.rows[k], rule, got, "keep one of them")
    _refuse_one_way(table, ends)


def _refuse_one_way(table: Table, ends: Sequence[Sequence[str]]) -> None:
    """Raise where a column ``Type``, as Gephi has it, says that an edge goes one way only."""
    names = [name.casefold() for name in table.heading or ()]
    if "type" not in names:
        return
    kinds = [kind.casefold() for kind in table.column(names.index("type"))]
    pairs = set(zip(*ends, strict=True))
    for row, kind, a, b in zip(table.rows, kinds, *ends, strict=True):
        if kind == "directed" and (b, a) not in pairs:
            remedy = "add the other direction, or set the type to Undirected if both listen to each other"
            raise _illegal(row, "edges must go both ways", f"one from {a!r} to {b!r} only", remedy)


def _illegal(row: Row, rule: str, got: object, remedy: str) -> NetworkError:
    return NetworkError(message(f"line {row.line}: {rule}", got=got, remedy=remedy))


# Matrix Market files, read in Python: SciPy's compiled reader can crash the process on a damaged file.

BANNER = "%%matrixmarket"


class Header(NamedTuple):
    """What the first lines of a file promise."""

    dense: bool
    pattern: bool
    symmetric: bool
    sizes: tuple[int, ...]


def read_matrix(file: Path) -> coo_array | NDArray[np.float64]:
    """Return the real matrix in a file: sparse with repeats kept, or dense."""
    lines = _text(file).splitlines()
    start = next((k for k, line in enumerate(lines) if line.strip() and not line.startswith("%")), len(lines))
    header = _header(lines[0] if lines else "", lines[start] if start < len(lines) else "")
    body = [line for line in lines[start + 1 :] if line.strip()]
    return _dense(header, body) if header.dense else _sparse(header, body)


def _text(file: Path) -> str:
    import psutil

    if file.suffix.lower() != ".gz":
        return file.read_bytes().decode("ascii", errors="replace")
    # A few kilobytes of gzip may hold gigabytes of text.
    most = psutil.virtual_memory().available // 8
    with gzip.open(file) as stream:
        content = stream.read(most + 1)
    if len(content) > most:
        raise _unfit_matrix("a network must fit into memory", f"more than {most} bytes", "use a larger machine")
    return content.decode("ascii", errors="replace")


def _header(banner: str, sizes: str) -> Header:
    words = banner.casefold().split()
    kinds = ({"coordinate", "array"}, {"real", "double", "integer", "pattern"}, {"general", "symmetric"})
    known = len(words) == 5 and all(word in kind for word, kind in zip(words[2:], kinds, strict=True))
    if words[:2] != [BANNER, "matrix"] or not known:
        remedy = "begin with %%MatrixMarket matrix, coordinate or array, real, general or symmetric"
        raise _unfit_matrix("a Matrix Market file must describe a real matrix", repr(banner[:80]), remedy)
    dense = words[2] == "array"
    numbers = sizes.split()
    if len(numbers) != (2 if dense else 3) or not all(n.isdecimal() and len(n) < 19 for n in numbers):
        remedy = "give rows, columns and, unless dense, entries"
        raise _unfit_matrix("the line after the comments must hold the sizes", repr(sizes[:80]), remedy)
    return Header(dense, words[3] == "pattern", words[4] == "symmetric", tuple(map(int, numbers)))


def _sparse(header: Header, body: list[str]) -> coo_array:
    rows, columns, entries = header.sizes
    table = _numbers(body, entries, width=2 if header.pattern else 3)
    weights = np.ones(entries) if header.pattern else table[:, 2]
    places = table[:, :2]
    legal = (places == np.floor(places)) & (places >= 1) & (places <= (rows, columns))
    if not legal.all():
        line = body[int(np.flatnonzero(~legal.all(axis=1))[0])]
        raise _unfit_matrix("rows and columns must lie within the sizes", repr(line[:80]), "count from 1")
    i, j = places.astype(np.int64).T - 1
    if header.symmetric:
        off = i != j
        i, j, weights = np.append(i, j[off]), np.append(j, i[off]), np.append(weights, weights[off])
    return coo_array((weights, (i, j)), shape=(rows, columns))


def _dense(header: Header, body: list[str]) -> NDArray[np.float64]:
    rows, columns = header.sizes
    if not header.symmetric:
        return _numbers(body, rows * columns, width=1).reshape((rows, columns), order="F")
    values = _numbers(body, rows * (rows + 1) // 2, width=1).ravel()
    matrix = np.zeros((rows, rows))
    # The lower triangle column by column is the upper triangle row by row.
    matrix[np.triu_indices(rows)] = values
    return matrix + np.triu(matrix, 1).T


def _numbers(body: list[str], count: int, width: int) -> NDArray[np.float64]:
    if len(body) != count:
        got = f"{count} entries promised and {len(body)} found"
        raise _unfit_matrix("a matrix file must hold what its header says", got, "write it again")
    if not body:
        return np.empty((0, width))
    table = np.loadtxt(body, dtype=np.float64, comments="%", ndmin=2)
    if table.shape != (count, width):
        raise _unfit_matrix(f"every entry must have {width} numbers", f"shape {table.shape}", "write it again")
    return table


def _unfit_matrix(rule: str, got: str, remedy: str) -> FileFormatError:
    return FileFormatError(message(rule, got=got, remedy=remedy))


# Networks from files, by their suffix; nothing in a file can run code or raise an unfamiliar error.

Reader = Callable[[Path, str | None, bool], Network]
TABLES = (".txt", ".edges", ".edgelist", ".csv", ".tsv", ".dat")  # which may be compressed with gzip


def read_network(path: str | PathLike[str], *, connected: bool = True, weight: str | None = "weight") -> Network:
    """Read a network from an edge list, GraphML, Matrix Market or NumPy file, told apart by the suffix.

    In an edge list, the separator, the decimal sign and, by the names in its heading, the columns are found out; it may
    be compressed (``.csv.gz``). ``weight`` names the edge attribute in GraphML; None ignores all weights.
    Labels that all are whole numbers become numbers.
    """
    file = Path(path)
    reader = READERS[suffix_of(file, READERS, packed=True)]
    # What a damaged file makes of the parsers of other packages has no common type.
    with naming(file, "a network file", damage=Exception):
        if file.stat().st_size == 0:
            raise _unfit("a network file must not be empty", got="0 bytes", remedy="write the network again")
        return reader(file, weight, connected)


def described_network(path: str | PathLike[str]) -> str | None:
    """Say how a network file is read; None where the format leaves nothing to find out."""
    file = Path(path)
    return edges_of(read_table(file, "an edge")).found if _is_edge_list(file) else None


def _is_edge_list(file: Path) -> bool:
    return READERS[suffix_of(file, READERS, packed=True)] is _edge_list


def suffix_of(file: Path, known: Mapping[str, object], *, packed: bool = False) -> str:
    """Return the suffix that tells the format, or raise with those that are known; tables may be ``packed``, too."""
    name = file.name.lower()
    if packed and name.removesuffix(".gz").endswith(TABLES):
        name = name.removesuffix(".gz")
    found = next((suffix for suffix in known if name.endswith(suffix)), None)
    if found is None:
        suffix = file.suffix.lower()
        remedy = f"use one of {', '.join(known)}{nearest(suffix, known) if suffix else ''}"
        raise _unfit("a network file must have a known suffix", got=repr(file.name), remedy=remedy)
    return found


def _unfit(rule: str, *, got: object, remedy: str) -> FileFormatError:
    return FileFormatError(message(rule, got=got, remedy=remedy))


def _edge_list(file: Path, weight: str | None, connected: bool) -> Network:
    edges = edges_of(read_table(file, "an edge"))
    weights = None if weight is None else edges.weights
    return Network.from_edges((edges.sources, edges.targets), weights, connected=connected)


def _graphml(file: Path, weight: str | None, connected: bool) -> Network:
    import networkx as nx

    data = file.read_bytes()
    _refuse_doctype(data)
    graph = nx.read_graphml(BytesIO(data))
    graph = nx.relabel_nodes(graph, labels_of(graph.nodes))
    return Network.from_networkx(graph, weight, connected=connected)


def _refuse_doctype(data: bytes) -> None:
    """Raise at a document type, the only place where XML can define entities that swell when read."""

    def refuse(*_: object) -> None:
        got, remedy = "a DOCTYPE", "remove it; a graph needs none"
        raise _unfit("GraphML must not define a document type", got=got, remedy=remedy)

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)


def _matrix_market(file: Path, weight: str | None, connected: bool) -> Network:
    return _weighed(Network(read_matrix(file), connected=connected), weight)


def _numpy_array(file: Path, weight: str | None, connected: bool) -> Network:
    # Mapped, not loaded: a header that promises more than the file holds is refused at no cost.
    array = np.load(file, mmap_mode="r", allow_pickle=False)
    if array.ndim == 2 and array.shape[0] != array.shape[1] and array.shape[1] in (2, 3):
        ends = np.asarray(array[:, :2])
        whole = ends.astype(np.int64)
        if not np.array_equal(ends, whole):
            remedy = "count agents from 0"
            raise _unfit("the first two columns must be whole numbers", got="fractions", remedy=remedy)
        weights = array[:, 2] if array.shape[1] == 3 and weight is not None else None
        return Network.from_edges(whole, weights, connected=connected)
    return _weighed(Network(np.asarray(array), connected=connected), weight)


def _sparse_archive(file: Path, weight: str | None, connected: bool) -> Network:
    import psutil
    from scipy.sparse import load_npz

    with ZipFile(file) as archive:
        swollen = sum(member.file_size for member in archive.infolist())
    if swollen > psutil.virtual_memory().available:
        raise _unfit("a network must fit into memory", got=f"{swollen} bytes", remedy="use a larger machine")
    matrix = square(load_npz(file))
    matrix.tocsr().check_format(full_check=True)
    with np.load(file, allow_pickle=False) as arrays:
        labels = decode(arrays["labels"]) if "labels" in arrays else None
    return _weighed(Network(matrix, labels, connected=connected), weight)


def _weighed(network: Network, weight: str | None) -> Network:
    if weight is not None or not network.is_weighted:
        return network
    i, j, _ = network.edges()
    return Network.from_edges((i, j), labels=network.labels, connected=network.is_connected)


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        ".txt": _edge_list,
        ".edges": _edge_list,
        ".edgelist": _edge_list,
        ".csv": _edge_list,
        ".tsv": _edge_list,
        ".graphml": _graphml,
        ".mtx": _matrix_market,
        ".mtx.gz": _matrix_market,
        ".npy": _numpy_array,
        ".npz": _sparse_archive,
    }
)
