"""Writing networks and temporal networks to files; a file appears complete or not at all."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from peerpressure.errors import NetworkError, first_few
from peerpressure.networks._adjacency import labels_to_json
from peerpressure.networks._edge_lists import EVENT_ROLES, INTEGER, parse_labels
from peerpressure.networks._network import Network
from peerpressure.networks._readers import ARCHIVE, FORMATS, SEPARATORS, file_suffix
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks.validation import Label, network_error
from peerpressure.support.files import expanded, replacing, require_pyarrow
from peerpressure.support.tables import COMMENTS

Writer = Callable[[Network], bytes]

RENAME = "write .npz, which keeps every label, or rename with network.relabelled(...)"


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
    suffix = file_suffix(file, WRITERS, compressed=True)
    writer = WRITERS[suffix]
    packed = file.suffix.lower() == ".gz" and not suffix.endswith(".gz")
    # Without the time of writing the same network gives the same bytes.
    _write(file, lambda: gzip.compress(writer(network), mtime=0) if packed else writer(network))


def write_events(temporal: TemporalNetwork, path: str | PathLike[str]) -> None:
    """Write a temporal network to a file that `read_events` reads back.

    Parameters
    ----------
    temporal : TemporalNetwork
        The network.
    path : str or path-like
        The suffix selects the format: ``.csv``, ``.tsv``, ``.txt``, ``.dat`` or ``.npz``.  Text does not keep the order
        of the agents; only ``.npz`` keeps labels of every kind, agents without any edge, and a period.

    Raises
    ------
    NetworkError
        If the format cannot hold the labels, isolated agents or period of this network.
    FileFormatError
        If the suffix is unknown or the file cannot be written.

    See Also
    --------
    read_events : Read a temporal network from a list of events.
    write_network : Write a static network.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from peerpressure import TemporalNetwork
    >>> from peerpressure.networks import read_events, write_events
    >>> with TemporaryDirectory() as folder:
    ...     write_events(TemporalNetwork([1, 3], [0, 0], [1, 1], [1, 0]), Path(folder, "events.csv"))
    ...     read_events(Path(folder, "events.csv"))
    TemporalNetwork(2 agents, 1 pair, 1 change over 1…3, on average 0.6667 edges)
    """
    file = expanded(path)
    suffix = file_suffix(file, FORMATS)
    _write(file, lambda: _event_archive(temporal) if suffix == ARCHIVE else _event_list(temporal, SEPARATORS[suffix]))


def _write(file: Path, build: Callable[[], bytes]) -> None:
    # The content is built before the file is opened, so an error leaves no file behind.
    try:
        content = build()
    except NetworkError as error:
        raise NetworkError(f"{file}: {error}") from None
    with replacing(file) as stream:
        stream.write(content)


# Formats of static networks


def _edge_list(separator: str, *, headed: bool = True) -> Writer:
    """Return the writer of edge lists with this separator."""

    def write(network: Network) -> bytes:
        # The label is the first field, so one that starts like a comment would be skipped on reading.
        _check_labels(network.labels, lambda text: not text.startswith(COMMENTS) and _fits(text, separator), RENAME)
        columns, rows = _edge_rows(network)
        content = _table(columns, rows, separator)
        return content if headed else content.partition(b"\n")[2]

    return write


def _edge_rows(network: Network) -> tuple[list[str], list[tuple[object, ...]]]:
    """Return the names of the columns and the rows of a list of edges."""
    alone = (network.degrees == 0) & (np.diff(network.transposed.indptr) == 0)
    _check_isolated(np.flatnonzero(alone).tolist(), network.labels, "an edge list holds only agents with neighbours")
    columns = ["source", "target", "weight"] if network.is_weighted else ["source", "target"]
    i, j, weights = network.edges()
    ends = ([network.labels[k] for k in side.tolist()] for side in (i, j))
    rows = list(zip(*ends, *([weights.tolist()] if network.is_weighted else []), strict=True))
    _check_no_heading(columns, rows)
    return columns, rows


def _parquet(network: Network) -> bytes:
    import pandas as pd

    require_pyarrow("a network in .parquet")
    _check_labels(network.labels, lambda _: True, RENAME)
    columns, rows = _edge_rows(network)
    content = BytesIO()
    pd.DataFrame(rows, columns=columns).to_parquet(content, index=False)
    return content.getvalue()


def _adjacency_list(network: Network) -> bytes:
    if network.is_weighted:
        got, remedy = "weights other than 1", "write .csv, which does"
        raise network_error("an adjacency list holds no weights", got=got, remedy=remedy)
    _check_labels(network.labels, lambda text: not text.startswith(COMMENTS) and _fits(text, " "), RENAME)
    names = [str(label) for label in network.labels]
    others: list[list[str]] = [[name] for name in names]
    for i, j in zip(*(side.tolist() for side in network.edges()[:2]), strict=True):
        others[i].append(names[j])
    return "".join(" ".join(line) + "\n" for line in others).encode()


def _graphml(network: Network) -> bytes:
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    content = BytesIO()
    nx.write_graphml_xml(network.to_networkx(), content)
    return content.getvalue()


def _gexf(network: Network) -> bytes:
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    content = BytesIO()
    nx.write_gexf(network.to_networkx(), content)
    return content.getvalue()


def _gml(network: Network) -> bytes:
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    return "".join(f"{line}\n" for line in nx.generate_gml(network.to_networkx())).encode()


def _pajek(network: Network) -> bytes:
    _check_labels(network.labels, lambda text: '"' not in text, RENAME)
    vertices = [f'{k} "{label}"' for k, label in enumerate(network.labels, start=1)]
    ends = zip(*(part.tolist() for part in network.edges()), strict=True)
    links = [f"{i + 1} {j + 1} {weight!r}" for i, j, weight in ends]
    parts = [f"*Vertices {network.n}", *vertices, "*Arcs" if network.directed else "*Edges", *links]
    return "".join(f"{line}\n" for line in parts).encode()


def _node_link(network: Network) -> bytes:
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    return json.dumps(nx.node_link_data(network.to_networkx(), edges="edges"), ensure_ascii=False).encode()


def _matrix_market(network: Network) -> bytes:
    from scipy.io import mmwrite

    _check_unlabelled(network)
    content = BytesIO()
    # 17 digits restore every float exactly.
    mmwrite(content, network.adjacency, symmetry="general" if network.directed else "symmetric", precision=17)
    return content.getvalue()


def _matrix_market_gz(network: Network) -> bytes:
    return gzip.compress(_matrix_market(network))


def _array(network: Network) -> bytes:
    _check_unlabelled(network)
    content = BytesIO()
    np.save(content, network.adjacency.toarray(), allow_pickle=False)
    return content.getvalue()


def _sparse_archive(network: Network) -> bytes:
    # The layout of scipy.sparse.save_npz, which SciPy reads too, with the labels added.
    A = network.adjacency
    content = BytesIO()
    np.savez_compressed(
        content,
        format=np.array(b"csr"),
        shape=np.array(A.shape),
        data=A.data,
        indices=A.indices,
        indptr=A.indptr,
        _is_array=np.array(True),
        labels=labels_to_json(network.labels),
    )
    return content.getvalue()


# Formats of temporal networks


def _event_archive(temporal: TemporalNetwork) -> bytes:
    content = BytesIO()
    # Labels are stored as JSON texts because arrays of objects would need pickle.
    np.savez_compressed(content, allow_pickle=False, **temporal.arrays())
    return content.getvalue()


def _event_list(temporal: TemporalNetwork, separator: str) -> bytes:
    if temporal.period is not None:
        got, remedy = f"period {temporal.period}", "write .npz instead"
        raise network_error("a list of events holds no period", got=got, remedy=remedy)
    isolated = np.flatnonzero(temporal.aggregate.degrees == 0).tolist()
    _check_isolated(isolated, temporal.labels, "a list of events holds only agents with neighbours")
    _check_labels(temporal.labels, lambda text: _fits(text, separator), "write .npz, which keeps every label")
    ends = ([temporal.labels[k] for k in side.tolist()] for side in (temporal.sources, temporal.targets))
    rows = zip(temporal.event_times.tolist(), *ends, temporal.weights.tolist(), strict=True)
    return _table(EVENT_ROLES, rows, separator)


def _table(columns: Sequence[str], rows: Iterable[Sequence[object]], separator: str) -> bytes:
    text = StringIO()
    table = csv.writer(text, delimiter=separator, lineterminator="\n")
    # In space-separated lists the heading is a comment, because most other programs expect numbers or labels on every
    # line.
    table.writerow(columns if separator != " " else ["#", *columns])
    table.writerows(rows)
    return text.getvalue().encode()


# What a format can hold


def _check_isolated(isolated: Sequence[int], labels: Sequence[Label], rule: str) -> None:
    if isolated:
        got = first_few((repr(labels[k]) for k in isolated), len(isolated))
        raise network_error(rule, got=got, remedy="write .npz instead")


def _check_no_heading(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Raise if a row would be read as a heading."""
    same = next((row for row in rows if [str(field).casefold() for field in row] == [*columns]), None)
    if same is not None:
        got, remedy = " and ".join(map(repr, same)), "write .npz instead, or rename one of the two agents"
        raise network_error("an edge in a list must not look like a heading", got=got, remedy=remedy)


def _check_unlabelled(network: Network) -> None:
    if not isinstance(network.labels, range):
        got = first_few(map(repr, network.labels), network.n)
        remedy = "write .npz instead, or give the labels up with network.relabelled(None)"
        raise network_error("a plain matrix holds no labels", got=got, remedy=remedy)


def _check_labels(labels: Sequence[Label], fits: Callable[[str], bool], remedy: str) -> None:
    """Raise unless reading gives the same labels back: all integers, or all plain text."""
    if isinstance(labels, range):
        return
    # bool is a subclass of int, and True would be read back as text.
    if all(type(label) is int and INTEGER.fullmatch(str(label)) for label in labels):
        return
    misfits = [label for label in labels if not _is_plain(label, fits)]
    if not misfits:
        read = parse_labels([str(label) for label in labels])
        misfits = [label for label in labels if read[str(label)] != label]  # text that would be read as numbers
    if misfits:
        got = first_few(map(repr, misfits), len(misfits))
        raise network_error("this format holds labels that all are whole numbers or plain text", got=got, remedy=remedy)


def _is_plain(label: Label, fits: Callable[[str], bool]) -> bool:
    return isinstance(label, str) and bool(label) and label.isprintable() and label == label.strip() and fits(label)


def _fits(text: str, separator: str) -> bool:
    # Fields separated by commas or tabs can be quoted; spaces split a line wherever they are.
    return separator != " " or not any(c in ',;"' or c.isspace() for c in text)


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        ".txt": _edge_list(" "),
        ".edges": _edge_list(" "),
        ".edgelist": _edge_list(" "),
        ".csv": _edge_list(","),
        ".tsv": _edge_list("\t"),
        ".parquet": _parquet,
        ".ncol": _edge_list(" ", headed=False),
        ".adjlist": _adjacency_list,
        ".graphml": _graphml,
        ".gexf": _gexf,
        ".gml": _gml,
        ".net": _pajek,
        ".json": _node_link,
        ".mtx": _matrix_market,
        ".mtx.gz": _matrix_market_gz,
        ".npy": _array,
        ".npz": _sparse_archive,
    }
)
