"""Files that other programs write, made by these programs: read as what they mean, and said how."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from peerpressure.errors import FileFormatError, NetworkError
from peerpressure.networks import Network, describe_network_file, read_attribute, read_network


def weighted(directed: bool = False) -> Any:
    graph = nx.gnp_random_graph(7, 0.5, seed=2, directed=directed)
    for k, (*_, facts) in enumerate(graph.edges(data=True)):
        facts["weight"] = 0.5 + k / 8
    return graph


def named(graph: Any) -> Any:
    return nx.relabel_nodes(
        graph, dict(zip(graph.nodes, ["ann", "bob", "cat", "dan", "eve", "fay", "gus"], strict=True))
    )


def same(found: Network, graph: Any) -> None:
    """Raise unless both have the same agents and weights; the order of agents may differ."""
    assert set(found.labels) == set(graph.nodes)
    assert np.array_equal(found.adjacency.toarray(), nx.to_numpy_array(graph, nodelist=list(found.labels)))


FILES = Path(__file__).parent / "files"
GRAPHS = {"numbers": weighted(), "names": named(weighted())}


# Edge lists


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("delimiter", [" ", ",", "\t"])
def test_the_default_edge_list_of_networkx(name: str, delimiter: str, tmp_path: Path) -> None:
    file = tmp_path / "graph.edgelist"
    nx.write_edgelist(GRAPHS[name], file, delimiter=delimiter)
    same(read_network(file), GRAPHS[name])
    said = "list of NetworkX, source from 'source', target from 'target', weight from 'weight'"
    assert describe_network_file(file) == said


def test_attributes_of_networkx_may_be_missing_or_texts(tmp_path: Path) -> None:
    graph = nx.Graph([(0, 1, {"weight": 4, "kind": "a, b"}), (1, 2), (2, 3, {"kind": None})])
    nx.write_edgelist(graph, tmp_path / "graph.txt")
    same(read_network(tmp_path / "graph.txt"), graph)
    assert "not used: 'kind'" in str(describe_network_file(tmp_path / "graph.txt"))


def test_a_directed_graph_of_networkx(tmp_path: Path) -> None:
    graph = weighted(directed=True)
    nx.write_edgelist(graph, tmp_path / "graph.edgelist")
    same(read_network(tmp_path / "graph.edgelist", directed=True), graph)


@pytest.mark.parametrize(
    "line",
    [
        "1 2 {'weight': __import__('os').getpid()}",
        "1 2 {'weight': 1",
        "1 2 {3: 4}",
        "1 2 {'a', 'b'}",
        f"1 2 {{'weight': {'(' * 3000}{')' * 3000}}}",
        f"1 2 {{'weight': '{'9' * 20_000}'}}",
        "1 2",
    ],
)
def test_attributes_are_parsed_and_never_evaluated(line: str, tmp_path: Path) -> None:
    file = tmp_path / "graph.edgelist"
    file.write_text(f"0 1 {{'weight': 1}}\n{line}\n", encoding="utf-8")
    with pytest.raises(FileFormatError, match="line 2 must be two agents and a dictionary of attributes"):
        read_network(file)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("columns", [["source", "target"], ["source", "target", "weight"]])
def test_the_index_of_a_data_frame_is_no_weight(name: str, columns: list[str], tmp_path: Path) -> None:
    frame = nx.to_pandas_edgelist(GRAPHS[name])[columns]
    frame.to_csv(tmp_path / "frame.csv")
    expected = nx.from_pandas_edgelist(frame, edge_attr=columns[2:] or None)
    same(read_network(tmp_path / "frame.csv"), expected)
    assert str(describe_network_file(tmp_path / "frame.csv")).endswith("; not used: the index")
    # Read and written once more, it has a name.
    pd.read_csv(tmp_path / "frame.csv").to_csv(tmp_path / "again.csv", index=False)
    same(read_network(tmp_path / "again.csv"), expected)
    frame.iloc[::-1].to_parquet(tmp_path / "frame.parquet")
    same(read_network(tmp_path / "frame.parquet"), expected)


def test_whole_numbers_that_pandas_made_floats(tmp_path: Path) -> None:
    frame = pd.DataFrame({"source": [1, 2, None], "target": [2, 3, 3]}).dropna()
    frame.to_csv(tmp_path / "frame.csv", index=False)
    assert "1.0,2" in (tmp_path / "frame.csv").read_text(encoding="utf-8")
    same(read_network(tmp_path / "frame.csv"), nx.path_graph([1, 2, 3]))
    assert str(describe_network_file(tmp_path / "frame.csv")).endswith("labels such as '1.0' are whole numbers")
    # A fraction is no whole number, and all labels stay texts.
    (tmp_path / "texts.csv").write_text("source,target\n1.0,2.5\n2.5,3.0\n", encoding="utf-8")
    assert read_network(tmp_path / "texts.csv").labels == ("1.0", "2.5", "3.0")


# Matrices


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_matrix_with_labels(name: str, separator: str, tmp_path: Path) -> None:
    frame = nx.to_pandas_adjacency(GRAPHS[name])
    frame.to_csv(tmp_path / "matrix.csv", sep=separator, decimal="," if separator == ";" else ".")
    same(read_network(tmp_path / "matrix.csv"), GRAPHS[name])
    said = str(describe_network_file(tmp_path / "matrix.csv"))
    assert said.startswith("adjacency matrix of 7 agents, separated by ")
    assert said.endswith("labels in the first row and the first column")
    # Rows in another order than the columns.
    frame.iloc[::-1].to_csv(tmp_path / "turned.csv")
    same(read_network(tmp_path / "turned.csv"), GRAPHS[name])


def test_a_matrix_with_labels_above_its_columns_only(tmp_path: Path) -> None:
    nx.to_pandas_adjacency(GRAPHS["names"]).to_csv(tmp_path / "matrix.csv", index=False)
    same(read_network(tmp_path / "matrix.csv"), GRAPHS["names"])


def test_a_matrix_of_r_has_no_corner(tmp_path: Path) -> None:
    text = nx.to_pandas_adjacency(GRAPHS["names"]).to_csv(sep=" ")
    (tmp_path / "matrix.txt").write_text(text.lstrip(), encoding="utf-8")
    same(read_network(tmp_path / "matrix.txt"), GRAPHS["names"])


@pytest.mark.parametrize("directed", [False, True])
def test_a_matrix_without_labels(directed: bool, tmp_path: Path) -> None:
    graph = weighted(directed)
    np.savetxt(tmp_path / "matrix.csv", nx.to_numpy_array(graph), delimiter=",")
    same(read_network(tmp_path / "matrix.csv", directed=directed), graph)
    assert "without labels" in str(describe_network_file(tmp_path / "matrix.csv"))
    if directed:
        with pytest.raises(NetworkError, match="symmetric"):
            read_network(tmp_path / "matrix.csv")


def test_weights_of_a_matrix_can_be_left_out(tmp_path: Path) -> None:
    nx.to_pandas_adjacency(GRAPHS["names"]).to_csv(tmp_path / "matrix.csv")
    assert not read_network(tmp_path / "matrix.csv", weight=None).is_weighted


# Graphs


@pytest.mark.parametrize("edges", ["edges", "links"])
@pytest.mark.parametrize("directed", [False, True])
def test_node_link_json_of_networkx(edges: str, directed: bool, tmp_path: Path) -> None:
    graph = named(weighted(directed))
    nx.set_node_attributes(graph, dict(zip(graph.nodes, range(7), strict=True)), "opinion")
    file = tmp_path / "graph.json"
    file.write_text(json.dumps(nx.node_link_data(graph, edges=edges)), encoding="utf-8")
    same(read_network(file), graph)
    assert describe_network_file(file) == "agents by id, weight from 'weight'; attributes: 'opinion'"
    assert read_attribute(file, "opinion")["bob"] == 1


def test_node_link_json_of_d3(tmp_path: Path) -> None:
    nodes = [{"id": "Myriel", "group": 1}, {"id": "Napoleon", "group": 1}, {"id": "Cravatte", "group": 2}]
    links = [{"source": "Napoleon", "target": "Myriel", "value": 2}, {"source": "Cravatte", "target": "Myriel"}]
    for name, ends in {
        "by name": links,
        "by index": [{"source": 1, "target": 0, "value": 2}, {"source": 2, "target": 0}],
    }.items():
        # Version 3 of D3 and before counted nodes.
        parts = nodes if name == "by name" else [{"name": node["id"]} for node in nodes]
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"nodes": parts, "links": ends}), encoding="utf-8")
        same(read_network(file), nx.Graph([("Napoleon", "Myriel", {"weight": 2}), ("Cravatte", "Myriel")]))


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        (nx.adjacency_data(nx.path_graph(3)), "must have nodes, and edges or links"),
        (nx.cytoscape_data(nx.path_graph(3)), "must have nodes, and edges or links"),
        ([1, 2], "must have nodes, and edges or links"),
        ({"nodes": [{"id": 1}, {"id": 1}], "links": []}, "nodes must have different identifiers"),
        ({"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}, "edge 1 must link two nodes of the file"),
    ],
)
def test_other_json_is_refused(plain: Any, said: str, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text(json.dumps(plain), encoding="utf-8")
    with pytest.raises((FileFormatError, NetworkError), match=said):
        read_network(tmp_path / "graph.json")


@pytest.mark.parametrize("name", GRAPHS)
def test_adjacency_lists_of_networkx(name: str, tmp_path: Path) -> None:
    graph = nx.Graph(GRAPHS[name].edges)
    graph.add_node(99 if name == "numbers" else "zoe")
    nx.write_adjlist(graph, tmp_path / "graph.adjlist")
    same(read_network(tmp_path / "graph.adjlist"), graph)
    said = "adjacency list, the first agent of a line is linked to the others"
    assert describe_network_file(tmp_path / "graph.adjlist") == said


def test_lists_of_igraph_have_no_heading(tmp_path: Path) -> None:
    # Two names that occur nowhere else are an edge here.
    (tmp_path / "graph.ncol").write_text("ann bob 0.5\ncat dan 2\ndan eve 1\n", encoding="utf-8")
    expected = nx.Graph()
    expected.add_weighted_edges_from([("ann", "bob", 0.5), ("cat", "dan", 2), ("dan", "eve", 1)])
    same(read_network(tmp_path / "graph.ncol"), expected)


# Files that other programs have made; the README beside them says which and how.


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("igraph.ncol", "separated by spaces, no heading, columns source, target, weight"),
        ("r_edges.csv", "source from 'from', target from 'to', weight from 'weight'; not used: the index"),
        ("r_matrix.csv", "labels in the first row and the first column"),
        ("r_matrix.txt", "labels in the first row and the first column"),
        ("r_matrix_without_names.csv", "separated by commas, numbered by R"),
    ],
)
def test_the_same_network_from_igraph_and_r(name: str, said: str) -> None:
    expected = nx.Graph()
    weights = [("Ann", "Bob", 0.5), ("Ann", "Cat", 2), ("Bob", "Cat", 1.25), ("Cat", "Dan", 0.001)]
    expected.add_weighted_edges_from(weights)
    if "without" in name:
        expected = nx.relabel_nodes(expected, {"Ann": 1, "Bob": 2, "Cat": 3, "Dan": 4})
    same(read_network(FILES / name), expected)
    assert str(describe_network_file(FILES / name)).endswith(said)


def test_a_list_of_igraph_without_weights() -> None:
    same(read_network(FILES / "igraph_ring.ncol"), nx.cycle_graph(5))


def test_the_characters_of_les_miserables_in_the_form_of_d3() -> None:
    network = read_network(FILES / "les_mis.json")
    expected = nx.les_miserables_graph()
    assert (network.n, network.edge_count) == (len(expected), expected.size()) == (77, 254)
    assert describe_network_file(FILES / "les_mis.json") == "agents by name, weight from 'value'; attributes: 'group'"
    # The names differ between the two sources, and the numbers of meetings do not.
    found = sorted(network.edges()[2].tolist())
    assert found == sorted(weight for *_, weight in expected.edges(data="weight"))


@pytest.mark.parametrize(
    ("name", "format_name", "line"),
    [
        (
            "net.xlsx",
            "an Excel workbook",
            "table = pandas.read_excel('net.xlsx');\n    table.to_csv('net.csv', index=False)",
        ),
        ("net.gpickle", "a Python pickle", "networkx.write_graphml(graph, 'net.graphml')"),
        ("net.dot", "a Graphviz file", "networkx.nx_pydot.read_dot('net.dot')"),
        ("net.dl", "a UCINET file", "igraph.Graph.Read_DL('net.dl')"),
    ],
)
def test_formats_that_are_not_read_are_named_with_a_remedy(
    name: str, format_name: str, line: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(FileFormatError) as caught:
        read_network(tmp_path / name)
    assert format_name in str(caught.value)
    assert line in str(caught.value)
