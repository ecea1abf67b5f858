"""Networks are written to files and read again; damaged files raise errors of this package and no others."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings, strategies as st

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks import Network, TemporalNetwork, k2, named, path, read_network, write_events, write_network
from peerpressure.networks.formats import FORMATS
from tests.networks.strategies import WORDS, edge_table, networks, same

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


# Which labels a format keeps, and whether it keeps their order.
KEPT: dict[str, tuple[st.SearchStrategy[Network], bool]] = {
    ".graphml": (networks() | networks(labels=PRINTABLE) | networks(labels=NUMBERS), True),
    ".npz": (networks() | networks(labels=PRINTABLE) | networks(labels=NUMBERS), True),
    ".mtx": (networks(), True),
    ".mtx.gz": (networks(), True),
    ".npy": (networks(), True),
    ".txt": (networks() | networks(labels=WORDS) | networks(labels=NUMBERS), False),
    ".edges": (networks() | networks(labels=WORDS) | networks(labels=NUMBERS), False),
    ".edgelist": (networks() | networks(labels=WORDS) | networks(labels=NUMBERS), False),
    ".csv": (networks() | networks(labels=PRINTABLE) | networks(labels=NUMBERS), False),
    ".tsv": (networks() | networks(labels=PRINTABLE) | networks(labels=NUMBERS), False),
}


@pytest.mark.parametrize("suffix", KEPT)
@settings(max_examples=15)
@given(data=st.data())
def test_networks_round_trip(suffix: str, data: st.DataObject) -> None:
    strategy, in_order = KEPT[suffix]
    network = data.draw(strategy)
    again = round_trip(network, suffix)
    assert same(again, network) if in_order else edge_table(again) == edge_table(network)


@pytest.mark.parametrize("suffix", [".graphml", ".npz", ".csv", ".tsv", ".txt", ".edges", ".edgelist"])
def test_real_labels_and_names_of_columns_round_trip(suffix: str) -> None:
    columns = path(3).relabelled(["From", "To", "weight"])
    spaced = suffix in (".txt", ".edges", ".edgelist")
    for network in (columns,) if spaced else (columns, named("davis"), named("les_miserables")):
        assert edge_table(round_trip(network, suffix)) == edge_table(network)


def test_npz_keeps_any_label_and_scipy_reads_it(tmp_path: Path) -> None:
    network = path(3).relabelled([(0, 1), 2.5, "x"])
    write_network(network, tmp_path / "a.npz")
    assert same(read_network(tmp_path / "a.npz"), network)
    assert (sp.load_npz(tmp_path / "a.npz") != network.adjacency).nnz == 0
    sp.save_npz(tmp_path / "b.npz", network.adjacency.tocsc())
    assert same(read_network(tmp_path / "b.npz"), path(3))


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


UNWRITABLE: list[tuple[str, Network, str]] = [
    (".txt", k2().relabelled(["Ann Lee", "Bob"]), "'Ann Lee'.*npz"),
    (".csv", k2().relabelled(["#1", "Bob"]), "'#1'"),
    (".txt", k2().relabelled(["a;b", "Bob"]), "'a;b'"),
    (".graphml", k2().relabelled([(0, 1), "x"]), r"\(0, 1\).*npz"),
    (".graphml", k2().relabelled(["1", "2"]), "'1', '2'"),
    *((suffix, k2().relabelled(["1.0", "2"]), r"'1\.0'") for suffix in (".csv", ".ncol", ".adjlist", ".graphml")),
    (".graphml", k2().relabelled(["a\x00", "b"]), "relabelled"),
    (".mtx", k2().relabelled("ab"), "holds no labels.*relabelled"),
    (".npy", k2().relabelled("ab"), "holds no labels"),
    (".txt", Network.from_edges([(0, 1)], n=3), "neighbours, got 2; write .npz"),
    *(
        (suffix, path(3).relabelled(["source", "target", "c"]), "look like a heading, got 'source' and 'target'")
        for suffix in (".csv", ".txt", ".ncol")
    ),
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
    with pytest.raises(FileFormatError, match=r"did you mean '\.graphml'"):
        write_network(k2(), tmp_path / "a.graphm")


SEEDS = {
    ".graphml": b"<graphml><graph edgedefault='undirected'>",
    ".npy": b"\x93NUMPY\x01\x00v\x00{'descr': '",
    ".npz": b"PK\x03\x04",
}
PAJEK = '*Vertices 3\n1 "a"\n2 "b" 0.5 0.5\n*Edges\n1 2 1.5\n*Arcslist\n3 2\n2 3\n'
LINES = st.lists(st.lists(st.sampled_from(["a", "1", "2", "-1", "1e999", '"', ",", "\t", "#", "\x00", "é"])))


@cache
def intact(suffix: str) -> bytes:
    """Return the contents of a file of four agents."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / f"a{suffix}"
        write_network(path(4), file)
        return PAJEK.encode() if suffix == ".net" else file.read_bytes()


@pytest.mark.filterwarnings("ignore:.*was read as Windows-1252")
@pytest.mark.parametrize("suffix", FORMATS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | LINES.map(lambda x: "\n".join(" ".join(row) for row in x).encode()))
@example(content=b"%%MatrixMarket matrix coordinate complex hermitian\n2 2 1\n2 1 1 0\n")
@example(content=b"%%MatrixMarket matrix coordinate real symmetric\n-1 -1 -1\n")
def test_random_bytes_raise_only_our_errors(suffix: str, content: bytes, tmp_path: Path) -> None:
    file = tmp_path / f"a{suffix}"
    for prefix in {b"", SEEDS.get(suffix, b"")}:
        file.write_bytes(prefix + content)
        with suppress(FileFormatError, NetworkError):
            read_network(file)


@pytest.mark.filterwarnings("ignore:.*was read as Windows-1252")
@pytest.mark.parametrize("suffix", FORMATS)
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
