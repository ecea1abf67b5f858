"""Files of networks: one table of formats, and the functions that read and write a file by its suffix.

Files may come from untrusted sources: no file can run code, exhaust the memory or raise an error of another package.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any, final

import numpy as np
from scipy.sparse import coo_array

from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError, did_you_mean
from peerpressure.networks import _readers as read, _writers as write, graph_files as parse
from peerpressure.networks._edge_lists import parse_labels
from peerpressure.networks._network import Network
from peerpressure.networks._readers import Reading
from peerpressure.networks.graph_files import GraphFile
from peerpressure.networks.validation import Direction, Label, unknown_labels
from peerpressure.support.files import expanded, naming, read_bytes, replacing
from peerpressure.support.parameters import composed, find_labels
from peerpressure.support.table_files import read_table
from peerpressure.support.tables import Row, TextTable, cell_text, places_in


@final
@dataclass(frozen=True)
class Format:
    """A format of networks: how a file is read, written and described.

    ``parse`` returns the graph of a format of graphs, and ``separator`` is that of lists, which may hold events as
    well: "" for Parquet. Files of text may also be compressed.
    """

    read: Callable[[Path, Reading], Network]
    write: Callable[[Network], bytes]
    describe: Callable[[Path, Reading], str | None] | None = None
    parse: Callable[[bytes], Any] | None = None
    separator: str | None = None
    is_text: bool = True


def _list(separator: str) -> Format:
    return Format(read.read_list, write.edge_list(separator), read.describe_list, separator=separator)


def _graph(parser: Callable[[bytes], Any], writer: Callable[[Network], bytes]) -> Format:
    return Format(partial(read.read_graph, parser), writer, partial(read.describe_graph, parser), parser)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".txt": _list(" "),
        ".dat": _list(" "),
        ".edges": _list(" "),
        ".edgelist": _list(" "),
        ".csv": _list(","),
        ".tsv": _list("\t"),
        ".parquet": Format(read.read_list, write.parquet, read.describe_list, separator="", is_text=False),
        ".ncol": Format(read.read_headless, write.edge_list(" ", headed=False), read.describe_headless),
        ".adjlist": Format(read.read_neighbours, write.adjacency_list, read.describe_neighbours),
        ".graphml": _graph(parse.graphml, write.graphml),
        ".gexf": _graph(parse.gexf, write.gexf),
        ".gml": _graph(parse.gml, write.gml),
        ".net": _graph(parse.pajek, write.pajek),
        ".json": _graph(parse.node_link, write.node_link),
        ".mtx": Format(read.read_matrix_market, write.matrix_market),
        ".npy": Format(read.read_array, write.array, read.describe_array, is_text=False),
        ".npz": Format(read.read_sparse_archive, write.sparse_archive, is_text=False),
    }
)
LISTS = tuple(suffix for suffix, each in FORMATS.items() if each.separator is not None)
GRAPHS = tuple(suffix for suffix, each in FORMATS.items() if each.parse is not None)
PICKLES = (".pkl", ".pickle", ".gpickle")


def suffix_of(file: Path, known: Iterable[str] = FORMATS) -> str:
    """Return the suffix that selects the format, to which text may add .gz."""
    name = file.name.lower()
    plain = name.removesuffix(".gz")
    for suffix in known:
        if name.endswith(suffix) or (plain.endswith(suffix) and FORMATS[suffix].is_text):
            return suffix
    suffix = file.suffix.lower()
    if suffix in PICKLES:
        remedy = "write .graphml from Python: a pickle can run code when it is loaded, and is never opened"
        raise FileFormatError("a network file must not be a pickle", got=repr(file.name), remedy=remedy)
    remedy = f"use one of {', '.join(known)}{did_you_mean(suffix, [*known]) if suffix else ''}"
    raise FileFormatError("a network file must have a known suffix", got=repr(file.name), remedy=remedy)


def format_of(file: Path) -> Format:
    """Return the format of a file by its suffix."""
    return FORMATS[suffix_of(file)]


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
        An edge list or an adjacency matrix (``.txt``, ``.dat``, ``.edges``, ``.edgelist``, ``.csv``, ``.tsv``,
        ``.parquet``), an edge list of igraph (``.ncol``), an adjacency list (``.adjlist``), GraphML (``.graphml``),
        GEXF (``.gexf``), GML (``.gml``), Pajek (``.net``), node-link JSON (``.json``), Matrix Market (``.mtx``), each
        also with ``.gz`` unless Parquet, a NumPy array (``.npy``: an adjacency matrix, or edges in two or three
        columns) or a SciPy sparse matrix (``.npz``). Edge lists may have the attributes that NetworkX writes, or the
        index of a data frame.
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
    each = format_of(file)
    # The parsers of other packages raise all kinds of exceptions on damaged files.
    with naming(file, "a network file", damage=Exception):
        # Each parser has its own, mostly unhelpful, error for an empty file.
        if file.stat().st_size == 0:
            raise FileFormatError("a network file must not be empty", got="0 bytes", remedy="write the network again")
        network = each.read(file, Reading(weight, directed, signed, direction))
        # Agents without any edge are a model, too, but hardly what somebody stored as a network.
        if not network.adjacency.nnz:
            got = f"{network.n} agents and none"
            raise FileFormatError("a network file must have edges", got=got, remedy="check what was saved")
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
        first = [] if not len(table) else list(table.heading or (table.first.fields if table.first else ()))
        places = places_in(first, ("agent",))
        if len(first) != 1 and "agent" not in places:
            got = ", ".join(map(repr, first[:6])) or "an empty file"
            raise FileFormatError(
                "a table of agents must name them", got=f"columns {got}", remedy="call the column agent"
            )
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
    each = format_of(file)
    with naming(file, "a network file", damage=Exception):
        how = Reading(weight, directed, True, "listens")
        return each.describe(file, how) if each.describe else "; ".join(read.warnings_of(each.read, file, how)) or None


def write_network(network: Network, path: str | PathLike[str]) -> None:
    """Write a network to a file that `read_network` reads back.

    Parameters
    ----------
    network : Network
        The network.
    path : str or path-like
        The suffix selects the format, which is any that `read_network` reads; text may end in ``.gz``, too. Lists of
        edges are written as such, and matrices to ``.mtx``, ``.npy`` and ``.npz``. Edge lists do not keep the order of
        the agents; only ``.npz`` keeps labels of every kind. In lists and matrices the source, or row, of a directed
        edge is the agent who listens; reading them back takes ``directed=True``, and negative weights ``signed=True``.

    Raises
    ------
    NetworkError
        If the format cannot hold the labels or isolated agents of this network.
    FileFormatError
        If the suffix is unknown or the file cannot be written.

    See Also
    --------
    read_network : Read a network from a file.
    write_events : Write a temporal network.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure import read_network
    >>> from peerpressure.networks import path, write_network
    >>> with TemporaryDirectory() as folder:
    ...     write_network(path(4), Path(folder, "path.csv"))
    ...     read_network(Path(folder, "path.csv"))
    Network(4 agents, 3 edges, bipartite, degrees 1–2)
    """
    file = expanded(path)
    write, packed = format_of(file).write, file.suffix.lower() == ".gz"
    # Without the time of writing the same network gives the same bytes.
    write_whole(file, lambda: gzip.compress(write(network), mtime=0) if packed else write(network))


def write_whole(file: Path, build: Callable[[], bytes]) -> None:
    """Write a file, of which nothing appears if there is an error."""
    # The content is built before the file is opened, so an error leaves no file behind.
    try:
        content = build()
    except NetworkError as error:
        raise NetworkError(f"{file}: {error}") from None
    with replacing(file) as stream:
        stream.write(content)


# Graphs with attributes of their nodes


def is_graph_file(path: str | PathLike[str]) -> bool:
    """Return whether a file is a graph by its suffix."""
    return Path(path).name.lower().removesuffix(".gz").endswith(GRAPHS)


def graph_of(file: Path) -> GraphFile:
    """Return the graph in a file, with the weights of its edges."""
    parser = FORMATS[suffix_of(file, GRAPHS)].parse
    assert parser is not None
    return GraphFile.of(parser(read_bytes(file)))


def read_attribute(path: str | PathLike[str], name: str) -> dict[Label, float]:
    """Return an attribute of the agents in a GraphML, GEXF or GML file, by their labels.

    Parameters
    ----------
    path : str or path-like
        The file, as `read_network` reads it.
    name : str
        Name of the attribute.

    Returns
    -------
    dict
        Value by label, which a `Model` takes as hidden opinions or stubbornness.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    InvalidInputError
        If there is no such attribute, or a value is no number.

    See Also
    --------
    read_network : Read the network itself.

    Examples
    --------
    >>> import networkx as nx
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure.networks import read_attribute
    >>> graph = nx.Graph([("ann", "bob")])
    >>> nx.set_node_attributes(graph, {"ann": 0.2, "bob": 0.7}, "opinion")
    >>> with TemporaryDirectory() as folder:
    ...     nx.write_gexf(graph, Path(folder, "friends.gexf"))
    ...     read_attribute(Path(folder, "friends.gexf"), "opinion")
    {'ann': 0.2, 'bob': 0.7}
    """
    file = expanded(path)
    with naming(file, "a network file", damage=Exception):
        table, labels = attribute_table(file, name)
        return dict(zip(labels, table.numbers(table.find(name), name).tolist(), strict=True))


def attribute_table(file: Path, name: str) -> tuple[TextTable, list[Label]]:
    """Return a table with the agents of a graph file and one of their attributes, and the labels in its order."""
    graph_file = graph_of(file)
    if name not in graph_file.attributes:
        names = graph_file.attributes
        got = f"attributes {', '.join(map(repr, names))}" if names else "no attributes"
        remedy = f"name one of these{did_you_mean(name, names)}" if names else "export them with the graph"
        raise InvalidInputError(f"agents must have the attribute {name!r}", got=got, remedy=remedy)
    rows = [
        Row(number, [str(label), cell_text(data.get(name, graph_file.defaults.get(name)))])
        for number, (label, data) in enumerate(graph_file.graph.nodes(data=True), start=1)
    ]
    # The column of labels must not have the name of the attribute.
    heading = ("agent" if name != "agent" else "label", name)
    return TextTable.of_rows(rows, "", "an agent", heading=heading, unit="node"), list(graph_file.graph.nodes)
