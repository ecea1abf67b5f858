"""Writers of single formats of networks and of lists of events, with checks of what a format can hold."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Sequence
from io import BytesIO, StringIO

import numpy as np

from peerpressure.errors import NetworkError, first_few
from peerpressure.networks._adjacency import labels_to_json
from peerpressure.networks._edge_lists import EVENT_ROLES, parse_labels
from peerpressure.networks._network import Network
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks.validation import Label
from peerpressure.support.files import require_pyarrow
from peerpressure.support.tables import COMMENTS, INTEGER

Writer = Callable[[Network], bytes]

RENAME = "write .npz, which keeps every label, or rename with network.relabelled(...)"


def edge_list(separator: str, *, headed: bool = True) -> Writer:
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


def parquet(network: Network) -> bytes:
    """Return a list of edges in Parquet."""
    import pandas as pd

    require_pyarrow("a network in .parquet")
    _check_labels(network.labels, lambda _: True, RENAME)
    columns, rows = _edge_rows(network)
    content = BytesIO()
    pd.DataFrame(rows, columns=columns).to_parquet(content, index=False)
    return content.getvalue()


def adjacency_list(network: Network) -> bytes:
    """Return each agent with its neighbours in a line."""
    if network.is_weighted:
        got, remedy = "weights other than 1", "write .csv, which does"
        raise NetworkError("an adjacency list holds no weights", got=got, remedy=remedy)
    _check_labels(network.labels, lambda text: not text.startswith(COMMENTS) and _fits(text, " "), RENAME)
    names = [str(label) for label in network.labels]
    others: list[list[str]] = [[name] for name in names]
    for i, j in zip(*(side.tolist() for side in network.edges()[:2]), strict=True):
        others[i].append(names[j])
    return "".join(" ".join(line) + "\n" for line in others).encode()


def graphml(network: Network) -> bytes:
    """Return a graph in GraphML."""
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    content = BytesIO()
    nx.write_graphml_xml(network.to_networkx(), content)
    return content.getvalue()


def gexf(network: Network) -> bytes:
    """Return a graph in GEXF."""
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    content = BytesIO()
    nx.write_gexf(network.to_networkx(), content)
    return content.getvalue()


def gml(network: Network) -> bytes:
    """Return a graph in GML."""
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    return "".join(f"{line}\n" for line in nx.generate_gml(network.to_networkx())).encode()


def pajek(network: Network) -> bytes:
    """Return a graph for Pajek."""
    _check_labels(network.labels, lambda text: '"' not in text, RENAME)
    vertices = [f'{k} "{label}"' for k, label in enumerate(network.labels, start=1)]
    ends = zip(*(part.tolist() for part in network.edges()), strict=True)
    links = [f"{i + 1} {j + 1} {weight!r}" for i, j, weight in ends]
    parts = [f"*Vertices {network.n}", *vertices, "*Arcs" if network.directed else "*Edges", *links]
    return "".join(f"{line}\n" for line in parts).encode()


def node_link(network: Network) -> bytes:
    """Return a graph in node-link JSON."""
    import networkx as nx

    _check_labels(network.labels, lambda _: True, RENAME)
    return json.dumps(nx.node_link_data(network.to_networkx(), edges="edges"), ensure_ascii=False).encode()


def matrix_market(network: Network) -> bytes:
    """Return the adjacency matrix for Matrix Market."""
    from scipy.io import mmwrite

    _check_unlabelled(network)
    content = BytesIO()
    # 17 digits restore every float exactly.
    mmwrite(content, network.adjacency, symmetry="general" if network.directed else "symmetric", precision=17)
    return content.getvalue()


def array(network: Network) -> bytes:
    """Return the adjacency matrix as an array of NumPy."""
    _check_unlabelled(network)
    content = BytesIO()
    np.save(content, network.adjacency.toarray(), allow_pickle=False)
    return content.getvalue()


def sparse_archive(network: Network) -> bytes:
    """Return the adjacency matrix and the labels as an archive of SciPy."""
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


# Temporal networks


def event_archive(temporal: TemporalNetwork) -> bytes:
    """Return the arrays of a temporal network as an archive of NumPy."""
    content = BytesIO()
    # Labels are stored as JSON texts because arrays of objects would need pickle.
    np.savez_compressed(content, allow_pickle=False, **temporal.arrays())
    return content.getvalue()


def event_list(temporal: TemporalNetwork, separator: str) -> bytes:
    """Return the events of a temporal network as a list."""
    if temporal.period is not None:
        got, remedy = f"period {temporal.period}", "write .npz instead"
        raise NetworkError("a list of events holds no period", got=got, remedy=remedy)
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
        raise NetworkError(rule, got=got, remedy="write .npz instead")


def _check_no_heading(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Raise if a row would be read as a heading."""
    same = next((row for row in rows if [str(field).casefold() for field in row] == [*columns]), None)
    if same is not None:
        got, remedy = " and ".join(map(repr, same)), "write .npz instead, or rename one of the two agents"
        raise NetworkError("an edge in a list must not look like a heading", got=got, remedy=remedy)


def _check_unlabelled(network: Network) -> None:
    if not isinstance(network.labels, range):
        got = first_few(map(repr, network.labels), network.n)
        remedy = "write .npz instead, or give the labels up with network.relabelled(None)"
        raise NetworkError("a plain matrix holds no labels", got=got, remedy=remedy)


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
        raise NetworkError("labels in this format must all be whole numbers, or all plain text", got=got, remedy=remedy)


def _is_plain(label: Label, fits: Callable[[str], bool]) -> bool:
    return isinstance(label, str) and bool(label) and label.isprintable() and label == label.strip() and fits(label)


def _fits(text: str, separator: str) -> bool:
    # Fields separated by commas or tabs can be quoted; spaces split a line wherever they are.
    return separator != " " or not any(c in ',;"' or c.isspace() for c in text)
