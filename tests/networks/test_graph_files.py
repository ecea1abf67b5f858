"""Graphs of other programs: labels, weights and attributes of nodes come as they are meant."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError
from peerpressure.networks import describe_network_file, read_attribute, read_network
from tests.networks.strategies import edge_table

EDGES = {frozenset(("Anna", "Bernd")): 1.5, frozenset(("Bernd", "Zoë")): 2.0}
OPINIONS = {"Anna": 0.1, "Bernd": 0.5, "Zoë": 0.7}

GEPHI_GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="label"/>
<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>
<key attr.name="weight" attr.type="double" for="edge" id="weight"/>
<key attr.name="opinion" attr.type="double" for="node" id="opinion"><default>0.1</default></key>
<key attr.name="size" attr.type="float" for="node" id="size"/>
<graph edgedefault="undirected">
<node id="n0"><data key="label">Anna</data><data key="size">10.0</data></node>
<node id="n1"><data key="label">Bernd</data><data key="opinion">0.5</data><data key="size">10.0</data></node>
<node id="n2"><data key="label">Zoë</data><data key="opinion">0.7</data><data key="size">10.0</data></node>
<edge id="0" source="n0" target="n1"><data key="weight">1.5</data></edge>
<edge id="1" source="n1" target="n2"><data key="weight">2.0</data></edge>
</graph></graphml>"""

GEXF = """<?xml version="1.0" encoding="UTF-8"?>
<gexf xmlns="{space}" version="{version}">
<graph defaultedgetype="undirected" mode="static">
<attributes class="node" mode="static"><attribute id="0" title="opinion" type="double"/></attributes>
<nodes>
<node id="a" label="Anna"><attvalues><attvalue for="0" value="0.1"/></attvalues></node>
<node id="b" label="Bernd"><attvalues><attvalue for="0" value="0.5"/></attvalues></node>
<node id="z" label="Zoë"><attvalues><attvalue for="0" value="0.7"/></attvalues></node>
</nodes>
<edges><edge id="0" source="a" target="b" weight="1.5"/><edge id="1" source="b" target="z" weight="2.0"/></edges>
</graph></gexf>"""

GML = """graph [
  node [ id 1 label "Anna" opinion 0.1 ]
  node [ id 2 label "Bernd" opinion 0.5 ]
  node [ id 3 label "Zoë" opinion 0.7 ]
  edge [ source 1 target 2 value 1.5 ]
  edge [ source 2 target 3 value 2 ]
]
"""

PAJEK = '*Vertices 3\r\n1 "Anna" 0.1 0.2 0.5\r\n2 "Bernd"\r\n3 Zoë\r\n'
FILES: dict[str, tuple[str, str]] = {
    "GraphML of Gephi": (".graphml", GEPHI_GRAPHML),
    "GEXF": (".gexf", GEXF.format(space="http://www.gexf.net/1.2draft", version="1.2")),
    "GEXF of Gephi 0.10": (".gexf", GEXF.format(space="http://gexf.net/1.3", version="1.3")),
    "GML of Newman": (".gml", GML),
    "Pajek": (".net", PAJEK + "*Edges\r\n1 2 1.5\r\n2 3 2 c Blue\r\n"),
    "Pajek, arcs both ways": (".net", PAJEK + "*Arcs\n1 2 1.5\n2 1 1.5\n*Edges\n3 2 2\n"),
    "Pajek, a matrix": (".net", PAJEK + "*Matrix\n0 1.5 0\n1.5 0 2\n0 2 0\n"),
}


def write(folder: Path, suffix: str, text: str) -> Path:
    file = folder / f"friends{suffix}"
    file.write_bytes(gzip.compress(text.encode()) if suffix.endswith(".gz") else text.encode())
    return file


@pytest.mark.parametrize("compressed", ["", ".gz"])
@pytest.mark.parametrize("name", FILES)
def test_agents_have_the_labels_of_nodes(name: str, compressed: str, tmp_path: Path) -> None:
    suffix, text = FILES[name]
    file = write(tmp_path, suffix + compressed, text)
    assert edge_table(read_network(file)) == EDGES
    assert "agents by label, weight from '" in str(describe_network_file(file))
    if "Pajek" not in name:
        assert read_attribute(file, "opinion") == OPINIONS
        assert "'opinion'" in str(describe_network_file(file))


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".gml"])
def test_graphs_of_networkx(suffix: str, tmp_path: Path) -> None:
    graph = nx.Graph()
    graph.add_edge("001", "002", weight=0.5)
    graph.add_edge("002", "003", weight=2.0)
    nx.set_node_attributes(graph, {"001": 3, "002": 1, "003": 2}, "s")
    file = tmp_path / f"graph{suffix}"
    {".graphml": nx.write_graphml, ".gexf": nx.write_gexf, ".gml": nx.write_gml}[suffix](graph, file)
    assert read_network(file).labels == ("001", "002", "003")
    assert read_attribute(file, "s") == {"001": 3.0, "002": 1.0, "003": 2.0}


def test_labels_that_repeat_or_lack_name_nobody(tmp_path: Path) -> None:
    for label in ("Bernd", "", " "):
        file = write(tmp_path, ".graphml", GEPHI_GRAPHML.replace("Anna", label))
        assert read_network(file).labels == ("n0", "n1", "n2")
        assert "agents by id" in str(describe_network_file(file))
    two = write(tmp_path, ".net", "*Vertices 3\n1 Anna\n2 Anna\n3 Bernd\n*Edges\n1 2\n2 3\n")
    assert read_network(two).labels == (1, 2, 3)


def test_names_of_igraph(tmp_path: Path) -> None:
    file = write(tmp_path, ".gml", GML.replace("label", "name").replace("value", "weight"))
    assert edge_table(read_network(file)) == EDGES
    assert describe_network_file(file) == "agents by name, weight from 'weight'; attributes: 'opinion'"


def test_default_weights_of_a_file_count(tmp_path: Path) -> None:
    key = '<key attr.name="weight" attr.type="double" for="edge" id="weight"'
    text = GEPHI_GRAPHML.replace(f"{key}/>", f"{key}><default>2.0</default></key>")
    file = write(tmp_path, ".graphml", text.replace('<data key="weight">2.0</data>', ""))
    assert edge_table(read_network(file)) == EDGES


def test_pajek_without_labels_and_with_lists(tmp_path: Path) -> None:
    network = read_network(write(tmp_path, ".net", "% a comment\n*Network x\n*Vertices 4\n*Edgeslist\n1 2 3\n3 4\n"))
    assert network.labels == (1, 2, 3, 4)
    assert network.edge_count == 3


BAD: dict[str, tuple[str, str, type[Exception], str]] = {
    "a self-loop": (".net", "*Vertices 2\n1 a\n2 b\n*Edges\n1 1\n", NetworkError, "own neighbour"),
    "two weights": (".net", PAJEK + "*Edges\n1 2 1\n2 1 2\n2 3\n", NetworkError, "one weight"),
    "an unknown vertex": (".net", PAJEK + "*Edges\n1 4\n", FileFormatError, "line 6 must have a vertex from 1 to 3"),
    "a billion vertices": (".net", "*Vertices 999999999\n*Edges\n1 2\n", FileFormatError, "line 1"),
    "no weight": (".net", PAJEK + "*Edges\n1 2 x\n", FileFormatError, "line 6 must have a weight that is a number"),
    "times": (".net", PAJEK + "*Edges\n1 2 1 [1-3]\n", FileFormatError, "without times"),
    "another section": (".net", PAJEK + "*Partition\n1\n", FileFormatError, r"one of \*vertices"),
    "a short matrix": (".net", PAJEK + "*Matrix\n0 1\n", FileFormatError, "3 rows of 3 weights"),
    "a bomb": (".gexf", '<!DOCTYPE g [<!ENTITY a "b">]><gexf/>', FileFormatError, "GEXF must not define a document"),
    "changes": (
        ".gexf",
        FILES["GEXF"][1].replace('mode="static">\n<att', 'mode="dynamic">\n<att'),
        FileFormatError,
        "one graph for all times",
    ),
    "no graph": (".gml", "hello", FileFormatError, r"must be readable as \.gml"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs_raise(name: str, tmp_path: Path) -> None:
    suffix, text, error, says = BAD[name]
    with pytest.raises(error, match=rf"friends\{suffix}.*{says}"):
        read_network(write(tmp_path, suffix, text))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("opinon", r"attribute 'opinon', got attributes 'size', 'opinion'; name one of these \(did you mean 'opinion'"),
        ("colour", "node 2 must be an agent, got colour ''; the colour must be a number"),
    ],
)
def test_attributes_that_are_not_there(name: str, says: str, tmp_path: Path) -> None:
    text = GEPHI_GRAPHML if name != "colour" else GML.replace("opinion 0.1", "colour 5")
    file = write(tmp_path, ".graphml" if name != "colour" else ".gml", text)
    expected: Any = (InvalidInputError, FileFormatError)
    with pytest.raises(expected, match=says):
        read_attribute(file, name)


def test_pajek_has_no_attributes(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"got no attributes; export them with the graph"):
        read_attribute(write(tmp_path, *FILES["Pajek"]), "opinion")
