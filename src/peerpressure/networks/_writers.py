"""Networks to files, by their suffix; a file appears whole or not at all."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Mapping
from io import BytesIO, StringIO
from os import PathLike
from pathlib import Path
from types import MappingProxyType

import numpy as np

from peerpressure.errors import FileFormatError, NetworkError, message
from peerpressure.files import replacing
from peerpressure.networks._network import Network, encode
from peerpressure.networks._readers import WHOLE, suffix_of
from peerpressure.networks._validation import Label, few, refusal
from peerpressure.tables import COMMENTS

Writer = Callable[[Network], bytes]


def write_network(network: Network, path: str | PathLike[str]) -> None:
    """Write a network to a file that ``read_network`` reads back, told by the suffix.

    Edge lists keep the labels but not the order of the agents; only ``.npz`` keeps labels of every kind.
    What a format cannot hold is refused, not dropped.
    """
    file = Path(path)
    writer = WRITERS[suffix_of(file, WRITERS)]
    try:
        content = writer(network)
        with replacing(file) as stream:
            stream.write(content)
    except NetworkError as error:
        raise NetworkError(f"{file}: {error}") from None
    except OSError as error:
        rule, remedy = f"{file} must be writable", "check that its folder exists and has room"
        raise FileFormatError(message(rule, got=error.strerror or error, remedy=remedy)) from error


def _separated(separator: str) -> Writer:
    """Return the writer of edge lists with this separator."""

    def write(network: Network) -> bytes:
        _refuse_isolated(network)
        _refuse_labels(network, lambda text: _fits_line(text, separator))
        columns = ["source", "target", "weight"] if network.is_weighted else ["source", "target"]
        i, j, weights = network.edges()
        text = StringIO()
        table = csv.writer(text, delimiter=separator, lineterminator="\n")
        table.writerow(columns if separator != " " else ["#", *columns])
        ends = ([network.labels[k] for k in side.tolist()] for side in (i, j))
        table.writerows(zip(*ends, *([weights.tolist()] if network.is_weighted else []), strict=True))
        return text.getvalue().encode()

    return write


def _fits_line(text: str, separator: str) -> bool:
    if text.startswith(COMMENTS):
        return False  # it would be read as a comment
    return separator != " " or not any(c in ',;"' or c.isspace() for c in text)


def _graphml(network: Network) -> bytes:
    import networkx as nx

    _refuse_labels(network, lambda _: True)
    content = BytesIO()
    nx.write_graphml_xml(network.to_networkx(), content)
    return content.getvalue()


def _matrix_market(network: Network) -> bytes:
    from scipy.io import mmwrite

    _refuse_any_labels(network)
    content = BytesIO()
    mmwrite(content, network.adjacency, symmetry="symmetric", precision=17)
    return content.getvalue()


def _matrix_market_gz(network: Network) -> bytes:
    return gzip.compress(_matrix_market(network))


def _numpy_array(network: Network) -> bytes:
    _refuse_any_labels(network)
    content = BytesIO()
    np.save(content, network.adjacency.toarray(), allow_pickle=False)
    return content.getvalue()


def _sparse_archive(network: Network) -> bytes:
    # The layout of scipy.sparse.save_npz, which reads it back too, with the labels beside it.
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
        labels=encode(network.labels),
    )
    return content.getvalue()


def _refuse_isolated(network: Network) -> None:
    alone = np.flatnonzero(network.degrees == 0).tolist()
    if alone:
        got = few((repr(network.labels[k]) for k in alone), len(alone))
        raise refusal("an edge list holds only agents with neighbours", got=got, remedy="write .npz instead")


def _refuse_any_labels(network: Network) -> None:
    if not isinstance(network.labels, range):
        got = few(map(repr, network.labels), network.n)
        remedy = "write .npz instead, or give the labels up with network.relabelled(None)"
        raise refusal("a plain matrix holds no labels", got=got, remedy=remedy)


def _refuse_labels(network: Network, fits: Callable[[str], bool]) -> None:
    """Raise unless reading gives the same labels back: all whole numbers, or all clean text."""
    if isinstance(network.labels, range):
        return
    numbers = all(type(label) is int and WHOLE.fullmatch(str(label)) for label in network.labels)
    misfits = [] if numbers else [label for label in network.labels if not _is_clean(label, fits)]
    if not numbers and not misfits and all(WHOLE.fullmatch(str(label)) for label in network.labels):
        misfits = list(network.labels)  # text that would come back as numbers
    if misfits:
        got = few(map(repr, misfits), len(misfits))
        remedy = "write .npz, which keeps every label, or rename with network.relabelled(...)"
        raise refusal("this format holds labels that all are whole numbers or plain text", got=got, remedy=remedy)


def _is_clean(label: Label, fits: Callable[[str], bool]) -> bool:
    return isinstance(label, str) and bool(label) and label.isprintable() and label == label.strip() and fits(label)


WRITERS: Mapping[str, Writer] = MappingProxyType(
    {
        ".txt": _separated(" "),
        ".edges": _separated(" "),
        ".edgelist": _separated(" "),
        ".csv": _separated(","),
        ".tsv": _separated("\t"),
        ".graphml": _graphml,
        ".mtx": _matrix_market,
        ".mtx.gz": _matrix_market_gz,
        ".npy": _numpy_array,
        ".npz": _sparse_archive,
    }
)
