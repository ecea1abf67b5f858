from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks import Network, TemporalNetwork, k2, named, path, read_network, write_events, write_network
from peerpressure.networks._readers import READERS
from peerpressure.networks._writers import WRITERS
from tests.networks.strategies import WORDS, edge_table, networks, same

ORDERED = [".graphml", ".npz"]  # formats that keep labels and their order
UNLABELLED = [".mtx", ".mtx.gz", ".npy"]
EDGE_LISTS = [".txt", ".edges", ".edgelist", ".csv", ".tsv"]
NUMBERS = st.integers(-(10**17), 10**17)
PRINTABLE = st.text("ab ,\"';Ä#%é&<>", min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and not text.startswith(("#", "%"))
)


def round_trip(network: Network, suffix: str) -> Network:
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"network{suffix}"
        write_network(network, file)
        assert os.listdir(folder) == [file.name]
        return read_network(file)


def read_text(folder: Path, text: str | bytes, suffix: str = ".txt", **kwargs: Any) -> Network:
    file = folder / f"friends{suffix}"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_network(file, **kwargs)


def test_what_is_written_can_be_read() -> None:
    # The command that converts files is tested with the other formats.
    assert {*ORDERED, *UNLABELLED, *EDGE_LISTS} <= WRITERS.keys()
    assert WRITERS.keys() <= READERS.keys()


@pytest.mark.parametrize("suffix", [*ORDERED, *UNLABELLED])
@settings(max_examples=30, deadline=None)
@given(network=networks())
def test_matrices_round_trip(suffix: str, network: Network) -> None:
    assert same(round_trip(network, suffix), network)


@pytest.mark.parametrize("suffix", ORDERED)
@settings(max_examples=30, deadline=None)
@given(network=networks(labels=PRINTABLE) | networks(labels=NUMBERS))
def test_labels_round_trip(suffix: str, network: Network) -> None:
    assert same(round_trip(network, suffix), network)


@pytest.mark.parametrize("suffix", EDGE_LISTS)
@settings(max_examples=30, deadline=None)
@given(network=networks() | networks(labels=WORDS) | networks(labels=NUMBERS))
def test_edge_lists_round_trip(suffix: str, network: Network) -> None:
    assert edge_table(round_trip(network, suffix)) == edge_table(network)


@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
@settings(max_examples=50, deadline=None)
@given(network=networks(labels=PRINTABLE))
def test_tables_quote_what_must_be_quoted(suffix: str, network: Network) -> None:
    assert edge_table(round_trip(network, suffix)) == edge_table(network)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", *ORDERED])
def test_real_labels_round_trip(suffix: str) -> None:
    for name in ("davis", "les_miserables"):
        assert edge_table(round_trip(named(name), suffix)) == edge_table(named(name))


@pytest.mark.parametrize("suffix", EDGE_LISTS)
def test_labels_may_equal_column_names(suffix: str) -> None:
    network = path(3).relabelled(["From", "To", "weight"])
    assert edge_table(round_trip(network, suffix)) == edge_table(network)


def test_npz_keeps_any_label_and_scipy_reads_it(tmp_path: Path) -> None:
    network = path(3).relabelled([(0, 1), 2.5, "x"])
    write_network(network, tmp_path / "a.npz")
    assert same(read_network(tmp_path / "a.npz"), network)
    assert (sp.load_npz(tmp_path / "a.npz") != network.adjacency).nnz == 0
    sp.save_npz(tmp_path / "b.npz", network.adjacency.tocsc())
    assert same(read_network(tmp_path / "b.npz"), path(3))


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".txt", "a b\nb c\n"),
        (".txt", "# friends\n\na\tb\r\nb\tc"),
        (".edges", "% note\na, b\nb, c\n"),
        (".csv", "\ufeffsource,target,weight\na,b,1\nb,c,1\n"),
        (".csv", "From;To\n".replace(";", ",") + '"a","b"\n"b","c"\n'),
        (".csv", "a b\nb c\n"),
        (".tsv", "a\tb\t1\nc\tb\nb\ta\n"),
        (".edgelist", "a b 1.0\nb a 1\nb c\n"),
    ],
)
def test_edge_list_dialects(tmp_path: Path, suffix: str, text: str) -> None:
    assert edge_table(read_text(tmp_path, text, suffix)) == {frozenset("ab"): 1.0, frozenset("bc"): 1.0}


def test_integer_labels_become_numbers(tmp_path: Path) -> None:
    assert read_text(tmp_path, "3 1\n1 2\n").labels == (1, 2, 3)
    assert read_text(tmp_path, "id1 id2\n3 1\n1 2\n").labels == (1, 2, 3)
    assert read_text(tmp_path, "03 01\n01 2\n").labels == ("03", "01", "2")
    assert not read_text(tmp_path, "1 2 7\n", weight=None).is_weighted
    assert read_text(tmp_path, "1 2\n3 4\n").n == 4


def test_numpy_edges(tmp_path: Path) -> None:
    file = tmp_path / "edges.npy"
    np.save(file, np.array([[0, 1, 0.5], [1, 2, 2], [2, 3, 1], [0, 3, 1]]))
    assert read_network(file).edge_count == 4
    assert read_network(file).is_weighted
    assert not read_network(file, weight=None).is_weighted
    np.save(file, np.array([[0, 1], [1, 2], [2, 3]]))
    assert same(read_network(file), path(4))


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize(
    ("field", "dense"), [("real", True), ("integer", True), ("real", False), ("integer", False), ("pattern", False)]
)
def test_every_real_matrix_market_file_of_scipy(field: str, dense: bool, symmetry: str, tmp_path: Path) -> None:
    network = named("les_miserables").relabelled(None) if field != "pattern" else path(4)
    matrix = network.adjacency.toarray() if dense else network.adjacency
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix, field=field, symmetry=symmetry, comment="one\ntwo")
    assert same(read_network(tmp_path / "a.mtx"), network)


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
NPY = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999), }"
MALFORMED: dict[str, tuple[str, str | bytes, list[str]]] = {
    "empty": (".txt", "", ["empty", "0 bytes"]),
    "comments only": (".txt", "# nothing\n", ["must hold edges", "one edge per line"]),
    "heading only": (".csv", "source,target\n", ["must hold edges"]),
    "one field": (".txt", "a b\nc\n", ["line 2", "['c']", "source, target"]),
    "four fields": (".txt", "# x\na b 1 2\n", ["line 2", "4 fields"]),
    "empty field": (".csv", "a,b\n\n,b\n", ["line 3"]),
    "bad weight": (".txt", "a b heavy\n", ["line 1", "'heavy'", "number"]),
    "nan weight": (".txt", "a b 1\nb c nan\n", ["line 2", "nan", "above 0"]),
    "negative weight": (".txt", "a b -2\n", ["line 1", "-2.0"]),
    "self-loop": (".txt", "a b\nb b\n", ["line 2", "got b", "remove"]),
    "conflict": (".txt", "a b 1\nb c\nb a 2\n", ["line 3", "'b' and 'a'", "1.0 on line 1", "keep one"]),
    "open quote": (".csv", 'a,b\n"b,c\n', ["quote"]),
    "not UTF-8": (".txt", b"a b\n\xff\xc3\xa4 c\n", ["0xff on line 2", "UTF-8"]),
    "entity bomb": (".graphml", BOMB, ["DOCTYPE", "remove"]),
    "entity bomb in UTF-16": (".graphml", BOMB.encode("utf-16"), ["DOCTYPE"]),
    "not XML": (".graphml", "a b\n", [".graphml", "suffix"]),
    "no graph": (".graphml", "<graphml/>", [".graphml", "suffix"]),
    "not a matrix": (".mtx", "1 2 3", [".mtx"]),
    "promises entries": (
        ".mtx",
        "%%MatrixMarket matrix coordinate real general\n3 3 99999999999\n1 2 1\n",
        ["99999999999 entries promised", "write it again"],
    ),
    "promises rows": (
        ".mtx",
        "%%MatrixMarket matrix coordinate real general\n99999999999 99999999999 1\n1 2 1\n",
        ["99999999999 agents", "without gaps"],
    ),
    "promises a dense array": (
        ".mtx",
        "%%MatrixMarket matrix array real general\n999999 999999\n1\n",
        ["promised"],
    ),
    "not gzip": (".mtx.gz", "1 2 3", ["suffix"]),
    "not NumPy": (".npy", "abc", ["suffix"]),
    "huge NumPy": (".npy", NPY + b" " * (128 - len(NPY) - 1) + b"\n", ["suffix"]),
    "not an archive": (".npz", "abc", ["suffix"]),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_raise(name: str, tmp_path: Path) -> None:
    suffix, content, fragments = MALFORMED[name]
    with pytest.raises((FileFormatError, NetworkError)) as caught:
        read_text(tmp_path, content, suffix)
    for fragment in [f"friends{suffix}", *fragments]:
        assert fragment in str(caught.value)


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    hostile = np.array([[{}, {}], [{}, {}]], dtype=object)
    np.save(tmp_path / "a.npy", hostile, allow_pickle=True)
    np.savez(tmp_path / "a.npz", data=hostile, format=hostile)
    for suffix in (".npy", ".npz"):
        with pytest.raises(FileFormatError, match=r"allow_pickle|Object arrays|Python objects"):
            read_network(tmp_path / f"a{suffix}")


def test_damaged_indices_do_not_reach_the_kernels(tmp_path: Path) -> None:
    parts = {"data": np.ones(2), "indices": np.array([9, 0]), "indptr": np.array([0, 1, 2])}
    np.savez(tmp_path / "a.npz", format=np.array(b"csr"), shape=np.array([2, 2]), **parts)  # type: ignore[arg-type]
    with pytest.raises((FileFormatError, NetworkError)):
        read_network(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("name", "fragments"),
    [
        ("missing.csv", ["must exist", "missing.csv"]),
        ("a.docx", ["'a.docx'", ".graphml"]),
        ("a", ["suffix", ".npz"]),
    ],
)
def test_missing_and_unknown_files(name: str, fragments: list[str], tmp_path: Path) -> None:
    with pytest.raises(FileFormatError) as caught:
        read_network(tmp_path / name)
    assert all(fragment in str(caught.value) for fragment in fragments)


def test_unknown_suffix_suggests_a_close_one(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"did you mean '\.graphml'"):
        write_network(k2(), tmp_path / "a.graphm")


UNWRITABLE: list[tuple[str, Network, str]] = [
    (".txt", k2().relabelled(["Ann Lee", "Bob"]), "'Ann Lee'.*npz"),
    (".csv", k2().relabelled(["#1", "Bob"]), "'#1'"),
    (".txt", k2().relabelled(["a;b", "Bob"]), "'a;b'"),
    (".graphml", k2().relabelled([(0, 1), "x"]), r"\(0, 1\).*npz"),
    (".graphml", k2().relabelled(["1", "2"]), "'1', '2'"),
    (".graphml", k2().relabelled(["a\x00", "b"]), "relabelled"),
    (".mtx", k2().relabelled("ab"), "holds no labels.*relabelled"),
    (".npy", k2().relabelled("ab"), "holds no labels"),
    (".txt", Network.from_edges([(0, 1)], n=3), "neighbours, got 2; write .npz"),
]


@pytest.mark.parametrize(("suffix", "network", "message"), UNWRITABLE)
def test_writing_what_a_format_cannot_hold_raises(suffix: str, network: Network, message: str, tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match=message):
        write_network(network, tmp_path / f"a{suffix}")
    assert os.listdir(tmp_path) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.csv"
    write_network(k2(), file)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileFormatError, match="No space left"):
        write_network(path(9), file)
    with pytest.raises(FileFormatError, match="No space left"):
        write_events(TemporalNetwork.constant(path(9)), file)
    assert same(read_network(file), k2())
    assert os.listdir(tmp_path) == ["a.csv"]
    with pytest.raises(FileFormatError, match=r"place to go.*folder that exists"):
        write_network(k2(), tmp_path / "nowhere" / "a.csv")


SEEDS = {".graphml": b"<graphml><graph edgedefault='undirected'>", ".npy": NPY[:20], ".npz": b"PK\x03\x04"}
# Formats that are read and not written.
OTHERS: dict[str, Callable[[Path], object]] = {
    ".parquet": pd.DataFrame({"source": [0, 1, 2], "target": [1, 2, 3]}).to_parquet,
    ".gexf": lambda file: nx.write_gexf(nx.path_graph(4), file),
    ".gml": lambda file: nx.write_gml(nx.path_graph(4), file),
    ".net": lambda file: file.write_text('*Vertices 3\n1 "a"\n2 "b" 0.5 0.5\n*Edges\n1 2 1.5\n*Arcslist\n3 2\n2 3\n'),
}
LINES = st.lists(st.lists(st.sampled_from(["a", "1", "2", "-1", "1e999", '"', ",", "\t", "#", "\x00", "é"])))


@cache
def intact(suffix: str) -> bytes:
    """Return the contents of a file of four agents."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"a{suffix}"
        OTHERS[suffix](file) if suffix in OTHERS else write_network(path(4), file)
        return file.read_bytes()


@pytest.mark.filterwarnings("ignore:.*was read as Windows-1252")
@pytest.mark.parametrize("suffix", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | LINES.map(lambda x: "\n".join(" ".join(row) for row in x).encode()))
@example(content=b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1 0\n")
@example(content=b"%%MatrixMarket matrix coordinate real symmetric\n-1 -1 -1\n")
def test_random_bytes_raise_only_our_errors(suffix: str, content: bytes, tmp_path: Path) -> None:
    for prefix in {b"", SEEDS.get(suffix, b"")}:
        with suppress(FileFormatError, NetworkError):
            read_text(tmp_path, prefix + content, suffix)


@pytest.mark.filterwarnings("ignore:.*was read as Windows-1252")
@pytest.mark.parametrize("suffix", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 0.999), byte=st.integers(0, 255), cut=st.booleans())
def test_damaged_files_raise_only_our_errors(suffix: str, place: float, byte: int, cut: bool, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    content = bytearray(intact(suffix))
    at = int(place * len(content))
    content[at:] = content[at:at] if cut else bytes([byte]) + content[at + 1 :]
    file.write_bytes(content)
    with suppress(FileFormatError, NetworkError):
        read_network(file)
