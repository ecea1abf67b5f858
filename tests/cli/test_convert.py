"""`convert` writes every format that is read, and what comes back is the same network."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from peerpressure import cli
from peerpressure.networks import Network, read_network, write_network
from peerpressure.networks.formats import FORMATS

MATRICES = (".mtx", ".mtx.gz", ".npy")
SUFFIXES = [*FORMATS, ".csv.gz", ".graphml.gz", ".json.gz", ".mtx.gz"]


def drawn(labels: str, *, directed: bool, weights: bool) -> Network:
    rng = np.random.default_rng(5)
    matrix = np.triu(rng.random((6, 6)) < 0.6, 1) * (rng.integers(1, 9, (6, 6)) / 8 if weights else 1.0)
    matrix[0, 1:] = 1.0 if not weights else 0.1
    names = {"positions": None, "numbers": [3, 5, 8, 10, 21, 34], "names": ["ann", "bob", "Zoë", "dan", "eve", "fay"]}
    return Network(matrix if directed else matrix + matrix.T, names[labels], directed=directed)


def same(found: Network, expected: Network) -> None:
    assert set(found.labels) == set(expected.labels)
    order = found.indices(list(expected.labels))
    assert np.array_equal(found.adjacency.toarray()[np.ix_(order, order)], expected.adjacency.toarray())
    assert found.directed == expected.directed


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("labels", ["positions", "numbers", "names"])
def test_formats_convert_into_each_other(suffix: str, directed: bool, labels: str, tmp_path: Path) -> None:
    if labels != "positions" and suffix in MATRICES:
        pytest.skip("a plain matrix has no labels, which is an error of its own")
    network = drawn(labels, directed=directed, weights=suffix != ".adjlist")
    flags = ["--directed"] if directed else []
    # From an archive, which keeps everything, into the format and back.
    write_network(network, tmp_path / "first.npz")
    there, back = tmp_path / f"there{suffix}", tmp_path / "back.npz"
    assert cli.invoke(["convert", str(tmp_path / "first.npz"), str(there), *flags]) == 0
    assert cli.invoke(["convert", str(there), str(back), *flags]) == 0
    same(read_network(back, directed=directed or None), network)


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".gml", ".net", ".json", ".adjlist", ".ncol"])
def test_networkx_reads_what_is_written(suffix: str, tmp_path: Path) -> None:
    network = drawn("names", directed=False, weights=suffix != ".adjlist")
    file = tmp_path / f"graph{suffix}"
    write_network(network, file)
    readers = {
        ".graphml": nx.read_graphml,
        ".gexf": nx.read_gexf,
        ".gml": nx.read_gml,
        ".net": lambda path: nx.Graph(nx.read_pajek(path)),
        ".json": lambda path: nx.node_link_graph(__import__("json").loads(path.read_bytes()), edges="edges"),
        ".adjlist": nx.read_adjlist,
        ".ncol": nx.read_weighted_edgelist,
    }
    graph = readers[suffix](file)
    assert np.array_equal(nx.to_numpy_array(graph, nodelist=list(network.labels)), network.adjacency.toarray())


def test_what_is_not_kept_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    graph = nx.DiGraph([("ann", "bob"), ("bob", "cat")])
    nx.set_node_attributes(graph, 0.5, "opinion")
    nx.write_graphml(graph, tmp_path / "graph.graphml")
    assert cli.invoke(["convert", str(tmp_path / "graph.graphml"), str(tmp_path / "edges.csv")]) == 0
    said = capfd.readouterr().out
    assert "read as: agents by id; attributes: 'opinion'" in said
    assert "attributes of agents are not written: opinion" in said
    assert "to read the new file, pass --directed" in said
    assert (tmp_path / "edges.csv").read_text(encoding="utf-8") == "source,target\nann,bob\nbob,cat\n"
