"""Networks from files, by their suffix; nothing in a file can run code or raise an unfamiliar error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from xml.parsers import expat
from zipfile import ZipFile

import numpy as np

from peerpressure.errors import FileFormatError, complain
from peerpressure.networks.edge_lists import edges_of, labels_of
from peerpressure.networks.matrix_market import read_matrix
from peerpressure.networks.network import Network
from peerpressure.networks.refusal import nearest
from peerpressure.networks.rules import square
from peerpressure.networks.storage import decode
from peerpressure.tables import naming, read_table

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
    return FileFormatError(complain(rule, got=got, remedy=remedy))


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
