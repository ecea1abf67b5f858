"""What a file of edges or a graph holds is read as it is meant, said in words, or refused with a remedy."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import given, settings, strategies as st

from peerpressure import Model, simulate
from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError, PeerPressureError, TooLargeError
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    describe_events_file,
    describe_network_file,
    named,
    path,
    read_attribute,
    read_contacts,
    read_events,
    read_network,
)
from peerpressure.scenario import read_answers
from tests.networks.strategies import edge_table, networks, same

Edges = dict[tuple[Any, Any], float]
FILES = Path(__file__).parent / "files"
ZOE, OTHER_ZOE = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))


class Case(NamedTuple):
    """A file, the edges that it holds, words of its description, and options of the reader."""

    suffix: str
    content: str | bytes
    edges: Edges
    said: str = ""
    options: Mapping[str, Any] = {}


def write(folder: Path, suffix: str, content: str | bytes) -> Path:
    """Write a file named friends, compressed if its suffix says so."""
    file = folder / f"friends{suffix}"
    data = content if isinstance(content, bytes) else content.encode()
    file.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)
    return file


ANNA: Edges = {("Anna", "Bernd"): 1.5, ("Bernd", "Zoë"): 2.0}
ANN: Edges = {("ann", "bob"): 2.0, ("bob", "cat"): 1.0}
ABC: Edges = {("a", "b"): 1.0, ("b", "c"): 1.0}
ZEROS: Edges = {("01", "Bernd"): 1.5, ("Bernd", "2"): 2.0}
NUMBERED: Edges = {(3, 1): 1.0, (1, 2): 1.0}
GEPHI = "Source,Target,Type,Id,Label,Weight\nAnna,Bernd,{0},0,,1.5\nBernd,Zoë,{0},1,,2.0\n"

GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="label"/>
<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>
<key attr.name="weight" attr.type="double" for="edge" id="weight"/>
<key attr.name="opinion" attr.type="double" for="node" id="opinion"><default>0.1</default></key>
<graph edgedefault="undirected">
<node id="n0"><data key="label">Anna</data></node>
<node id="n1"><data key="label">Bernd</data><data key="opinion">0.5</data></node>
<node id="n2"><data key="label">Zoë</data><data key="opinion">0.7</data></node>
<edge id="0" source="n0" target="n1"><data key="weight">1.5</data></edge>
<edge id="1" source="n1" target="n2"><data key="weight">2.0</data></edge>
</graph></graphml>"""
DEFAULT_WEIGHT = GRAPHML.replace('id="weight"/>', 'id="weight"><default>2.0</default></key>').replace(
    '<data key="weight">2.0</data>', ""
)
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
OLD_GEXF = GEXF.format(space="http://www.gexf.net/1.2draft", version="1.2")
GML = """graph [
  node [ id 1 label "Anna" opinion 0.1 ]
  node [ id 2 label "Bernd" opinion 0.5 ]
  node [ id 3 label "Zoë" opinion 0.7 ]
  edge [ source 1 target 2 value 1.5 ]
  edge [ source 2 target 3 value 2 ]
]
"""
PAJEK = '*Vertices 3\r\n1 "Anna" 0.1 0.2 0.5\r\n2 "Bernd"\r\n3 Zoë\r\n'
IGRAPH_GML = GML.replace("label", "name").replace("value", "weight")
D3 = {"nodes": [{"name": name} for name in ("Anna", "Bernd", "Zoë")]}
D3_LINKS = [{"source": 1, "target": 0, "value": 1.5}, {"source": 2, "target": 1, "value": 2}]
BY_LABEL = "agents by label, weight from '"
ONCE = "1 edge given more than once, counted once"
NO_HEADING = "no heading, columns source, target, weight"
FORMS = f"one name in two Unicode forms: '{ZOE}'"

CASES: dict[str, Case] = {
    # Separators, decimal signs, headings and the order of columns.
    "spaces": Case(".txt", "a b\nb c\n", ABC),
    "comments, tabs and carriage returns": Case(".txt", "# friends\n\na\tb\r\nb\tc", ABC),
    "commas and spaces": Case(".edges", "% note\na, b\nb, c\n", ABC),
    "names that begin like comments": Case(
        ".csv",
        "source,target\n#climate,tax\n#vote,tax\ntax,war\nwar,#vote\n",
        {("#climate", "tax"): 1.0, ("#vote", "tax"): 1.0, ("tax", "war"): 1.0, ("#vote", "war"): 1.0},
    ),
    "spaces under another suffix": Case(".csv", "a b\nb c\n", ABC),
    "a weight on some lines": Case(".tsv", "a\tb\t1\nc\tb\nb\ta\n", ABC),
    "both directions, one without a weight": Case(".edgelist", "a b 1.0\nb a 1\nb c\n", ABC),
    "semicolons and decimal commas": Case(".csv", "Anna;Bernd;1,5\nBernd;Zoë;2,0\n", ANNA, "decimal commas"),
    "only one of them a fraction": Case(".csv", "Anna;Bernd;1,5\nBernd;Zoë;2\n", ANNA),
    "a byte order mark": Case(".csv", "\ufeffSource;Target;Weight\r\nAnna;Bernd;1,5\r\nBernd;Zoë;2\r\n", ANNA),
    "a column of nothing": Case(".csv", "Source;Target;Weight;\nAnna;Bernd;1,5;\nBernd;Zoë;2;\n;;;\n", ANNA),
    "tabs and decimal commas": Case(".csv", "Anna\tBernd\t1,5\nBernd\tZoë\t2,0\n", ANNA),
    "spaces and decimal commas": Case(".txt", "Anna Bernd 1,5\nBernd Zoë 2,0\n", ANNA),
    "quoted decimal commas": Case(".csv", '"Anna","Bernd","1,5"\n"Bernd","Zoë","2,0"\n', ANNA),
    "weight first": Case(".csv", "weight,source,target\n1.5,Anna,Bernd\n2,Bernd,Zoë\n", ANNA),
    "the ends reversed": Case(".csv", "to,from,strength\nBernd,Anna,1.5\nZoë,Bernd,2\n", ANNA),
    "names of nodes": Case(".tsv", "Node 1\tNode 2\tnote\tWeight\nAnna\tBernd\t\t1.5\nBernd\tZoë\tx\t2\n", ANNA),
    "words above numbers": Case(".csv", "person,friend,weight\nAnna,Bernd,1.5\nBernd,Zoë,2\n", ANNA),
    "a heading in a comment": Case(".txt", "# weight source target\n1.5 Anna Bernd\n2 Bernd Zoë\n", ANNA),
    "Gephi": Case(".csv", GEPHI.format("Undirected"), ANNA, "not used: 'Type'"),
    "Gephi, both ways": Case(
        ".csv", GEPHI.format("Directed") + "Bernd,Anna,Directed,2,,1.5\nZoë,Bernd,Directed,3,,2.0\n", ANNA
    ),
    "a note in two lines": Case(
        ".csv", 'source,target,note,weight\nAnna,Bernd,"two\n# lines",1.5\nBernd,Zoë,,2\n', ANNA
    ),
    "letters, weight first": Case(".csv", "w,i,j\n1.5,Anna,Bernd\n2,Bernd,Zoë\n", ANNA),
    "letters without a weight's name": Case(".csv", "u,v,weight\nAnna,Bernd,1.5\nBernd,Zoë,2\n", ANNA),
    "words and a letter": Case(".csv", "w,from,to\n1.5,Anna,Bernd\n2,Bernd,Zoë\n", ANNA),
    "quotes between spaces": Case(".txt", '"Anna" "Bernd" 1.5\n"Bernd"   "Zoë" 2\n', ANNA),
    "UTF-16": Case(".csv", "Anna;Bernd;1,5\nBernd;Zoë;2\n".encode("utf-16"), ANNA),
    "compressed": Case(".csv.gz", "Anna;Bernd;1,5\nBernd;Zoë;2\n", ANNA),
    "letters that are agents": Case(".csv", "i,j\nj,k\nk,i\n", {("i", "j"): 1.0, ("j", "k"): 1.0, ("k", "i"): 1.0}),
    "words of a direction": Case(".csv", "source,target,type\na,b,kin\nb,c,Two-Way\n", ABC, "; not used: 'type'"),
    "a quoted word before the direction": Case(
        ".gml", 'Creator "directed 1"\n# directed 1\n' + GML.replace("graph [", "graph [ directed 0"), ANNA
    ),
    "a command above an adjacency list": Case(".adjlist", "#make.py it\n# GMT Mon\n# x\na b\nb c\n", ABC),
    "tight comments above a heading": Case(".csv", "#made,today\nsource,target\na,b\nb,c\n", ABC),
    "whole numbers": Case(".txt", "3 1\n1 2\n", NUMBERED),
    "whole numbers below a heading": Case(".txt", "id1 id2\n3 1\n1 2\n", NUMBERED),
    "leading zeros": Case(".txt", "03 01\n01 2\n", {("03", "01"): 1.0, ("01", "2"): 1.0}),
    "pieces": Case(".txt", "1 2\n3 4\n", {(1, 2): 1.0, (3, 4): 1.0}),
    "floats of pandas": Case(".csv", "source,target\n3.0,1\n1.0,2\n", NUMBERED, "such as '3.0' are whole numbers"),
    "floats of NumPy": Case(".csv", "3.000e+00, 1.000e+00\n1.000e+00, 2.000e+00\n", NUMBERED, "are whole numbers"),
    "fractions for labels": Case(".csv", "source,target\n1.0,2.5\n", {("1.0", "2.5"): 1.0}),
    "agents with numbers": Case(".csv", "ann,agent1\nagent1,bob\n", {("ann", "agent1"): 1.0, ("agent1", "bob"): 1.0}),
    # Weights, by the name of the column or by choice.
    "no heading": Case(".edgelist", "ann bob 2.0\nbob cat\n", ANN, f"{NO_HEADING}; weight 1 on the 1 line without one"),
    "a weight by choice": Case(
        ".csv", "source,target,age\nann,bob,2\nbob,cat,1\n", ANN, "weight from 'age'", {"weight": "age"}
    ),
    "unknown ends, a weight by choice": Case(
        ".csv", "person,friend,closeness\nann,bob,2\nbob,cat,1.0\n", ANN, "from 'closeness'", {"weight": "closeness"}
    ),
    "no weight by choice": Case(".csv", "u,v,age\na,b,31.5\nb,c,44\n", ABC, "; not used: 'age'", {"weight": None}),
    "no weight without a heading": Case(".txt", "a b 7\nb c 8\n", ABC, "", {"weight": None}),
    "an attribute by choice": Case(
        ".gml", GML.replace("value", "closeness"), ANNA, "weight from 'closeness'", {"weight": "closeness"}
    ),
    "signs by choice": Case(
        ".csv", "source,target,weight\na,b,1\nb,c,-1\n", ABC | {("b", "c"): -1.0}, "from 'weight'", {"signed": True}
    ),
    # Two Unicode forms of a name are one agent.
    "two forms": Case(".csv", f"source,target\n{ZOE},b\n{OTHER_ZOE},c\n", {(ZOE, "b"): 1.0, (ZOE, "c"): 1.0}, FORMS),
    # Graphs of other programs.
    "GraphML of Gephi": Case(".graphml", GRAPHML, ANNA, BY_LABEL),
    "zeros in a label": Case(".graphml", GRAPHML.replace("Anna", "01").replace("Zoë", "2"), ZEROS),
    "zeros in a label of GML": Case(".gml", GML.replace("Anna", "01").replace("Zoë", "2"), ZEROS),
    "default weights": Case(".graphml", DEFAULT_WEIGHT, ANNA, BY_LABEL),
    "GEXF": Case(".gexf.gz", OLD_GEXF, ANNA, BY_LABEL),
    "GEXF of Gephi 0.10": Case(".gexf", GEXF.format(space="http://gexf.net/1.3", version="1.3"), ANNA, BY_LABEL),
    "GML of Newman": Case(".gml.gz", GML, ANNA, BY_LABEL),
    "GML of igraph": Case(".gml", IGRAPH_GML, ANNA, "agents by name, weight from 'weight'; attributes: 'opinion'"),
    "Pajek": Case(".net", PAJEK + "*Edges\r\n1 2 1.5\r\n2 3 2 c Blue\r\n", ANNA, BY_LABEL),
    "Pajek, arcs both ways": Case(".net.gz", PAJEK + "*Arcs\n1 2 1.5\n2 1 1.5\n*Edges\n3 2 2\n", ANNA, BY_LABEL),
    "Pajek, a matrix": Case(".net", PAJEK + "*Matrix\n0 1.5 0\n1.5 0 2\n0 2 0\n", ANNA, BY_LABEL),
    "Pajek, lists and no labels": Case(
        ".net", "% a comment\n*Network x\n*Vertices 3\n*Edgeslist\n1 2 3\n", {(1, 2): 1.0, (1, 3): 1.0}
    ),
    "Pajek, a label twice": Case(".net", "*Vertices 3\n1 A\n2 A\n3 B\n*Edges\n1 3\n1 2\n", NUMBERED),
    "D3, by position": Case(".json", json.dumps(D3 | {"links": D3_LINKS}), ANNA, "by name, weight from 'value'"),
    "a list of igraph": Case(".ncol", "ann bob 2\nbob cat 1\n", ANN, NO_HEADING),
    # NetworkX writes attributes as a dictionary.
    "attributes that are missing or texts": Case(
        ".txt", "ann bob {'weight': 2, 'kind': 'a, b'}\nbob cat {'kind': None}\n", ANN, "not used: 'kind'"
    ),
    "texts of NetworkX": Case(".edgelist", "ann,bob,{'weight': 2}\nbob,cat,{'weight': 1}\n", ANN, "list of NetworkX"),
}


@pytest.mark.parametrize("name", CASES)
def test_files_are_read_and_described_as_they_are_meant(name: str, tmp_path: Path) -> None:
    suffix, content, edges, said, options = CASES[name]
    file = write(tmp_path, suffix, content)
    assert edge_table(read_network(file, **options)) == {frozenset(ends): weight for ends, weight in edges.items()}
    assert said in str(describe_network_file(file, **{key: options[key] for key in ("weight",) if key in options}))


REPEATED: dict[str, Any] = {
    ".csv": "source,target,weight\nann,bob,2\nbob,cat,1\nann,bob,2\n",
    ".net": "*Vertices 3\n1 ann\n2 bob\n3 cat\n*Edges\n1 2 2\n2 1 2\n2 3 1\n",
    ".mtx": "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 2\n2 1 2\n3 2 1\n",
    ".graphml": nx.write_graphml,
    ".gexf": nx.write_gexf,
    ".gml": nx.write_gml,
}
PARALLEL = [("ann", "bob", {"weight": 2.0}), ("ann", "bob", {"weight": 2.0}), ("bob", "cat", {"weight": 1.0})]


@pytest.mark.parametrize("suffix", REPEATED)
def test_repeated_edges_are_said_to_count_once(suffix: str, tmp_path: Path) -> None:
    content = REPEATED[suffix]
    file = tmp_path / f"friends{suffix}"
    content(nx.MultiGraph(PARALLEL), file) if callable(content) else file.write_text(content)
    with pytest.warns(UserWarning, match=f"{ONCE}: .* and .*; add up"):
        assert sorted(edge_table(read_network(file)).values()) == [1, 2]
    assert ONCE in str(describe_network_file(file))


def test_both_directions_of_an_undirected_edge_are_no_warning(tmp_path: Path) -> None:
    file = write(tmp_path, ".txt", "ann bob\nbob ann\nbob cat\n")
    assert read_network(file).edge_count == 2
    assert "; 1 edge given in both directions, counted once" in str(describe_network_file(file))
    # In a directed network the two directions are two edges.
    assert "both directions" not in str(describe_network_file(file, directed=True))


def test_repeats_in_memory_are_said_to_count_once() -> None:
    edges = [("ann", "bob"), ("bob", "cat"), ("ann", "bob")]
    matrix = sp.coo_array(([1.0, 1, 1, 1], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    builds: list[Callable[[], Network]] = [
        lambda: Network.from_edges(edges),
        lambda: Network.from_edges(pd.DataFrame(edges, columns=["source", "target"])),
        lambda: Network.from_edges(np.array([[0, 1], [1, 2], [0, 1]])),
        lambda: Network.from_scipy(matrix),
        lambda: Network.from_networkx(nx.MultiGraph(PARALLEL)),
        lambda: Network.from_networkx(nx.MultiDiGraph(PARALLEL)),
    ]
    for build in builds:
        with pytest.warns(UserWarning, match=ONCE):
            build()
    # Without weights there is nothing to lose.
    Network.from_networkx(nx.MultiGraph(PARALLEL), weight=None)


# Bad files beyond those of tests/cli/bad_inputs.py: what the message must name besides the file.
BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><graphml>&b;</graphml>'
HUGE = b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (99999999, 99999999), }"
MARKET = "%%MatrixMarket matrix coordinate real general\n"
DEEP = "(" * 3000 + ")" * 3000
REFUSED: dict[str, tuple[str, str | bytes, str]] = {
    "one field": (".txt", "a b\nc\n", r"line 2 .*1 field \['c'\].*second agent; people without ties"),
    "one field under names": (".csv", "source,target\na,b\nc\n", "line 3.*1 field .*people without ties"),
    "a person without ties": (".csv", "source,target,weight\na,b,1\nc,,\n", "line 3.*people without ties"),
    "names alone": (".txt", "Ann\nBo\n", "line 1 .*1 field .*source, target"),
    "four fields": (".txt", "# x\na b 1 2\n", "line 2 .*4 fields"),
    "an empty field": (".csv", "a,b\n\n,b\n", "line 3"),
    "an open quote": (".csv", 'a,b\n"b,c\n', "quote"),
    "bytes in the middle": (".txt", b"a b\n\xff\xc3\xa4 c\n", "0xff on line 2"),
    "UTF-8 that ends early": (".csv", "Jürgen;Zoë\n".encode() + b"\xe9", "must be UTF-8 text"),
    "no character of Windows": (".csv", "Jürgen;Zoë\n".encode("cp1252") + b"\x81", "must be UTF-8 text"),
    "two separators": (".csv", "Lee, Ann;Bo;1\nLee, Ann;Cy;2\n", "both ',' and ';' on line 1.*quote"),
    "two decimal signs": (".csv", "Ann;Bo;1,5\nBo;Cy;2.5\n", "'1,5' on line 1.*'2.5' on line 2"),
    "thousands or decimals": (".csv", "Ann\tBo\t1,500\nBo\tCy\t2,000\n", "thousands.*'1,500'"),
    "thousands beside none": (".csv", "Ann;Bo;1.500\nBo;Cy;950\n", "thousands.*'1.500' on line 1"),
    "a heading in another language": (".csv", "Quelle,Ziel\nAnn,Bo\nBo,Cy\n", "'Quelle' and 'Ziel'"),
    "two sources": (".csv", "from,source_id,target\nAnn,Bo,Cy\n", "'from', 'source_id'"),
    "fewer fields than names": (".csv", "source,target,weight\nAnn,Bo\n", "line 2.*2 fields"),
    "a missing end": (".csv", "weight,source,target\n1,Ann,\n", "line 2.*3 fields"),
    "numbers under unknown names": (".csv", "edge,a,b\n0,1,2\n1,2,3\n", "'edge', 'a', 'b'"),
    "a weight in the source's place": (".csv", "weight,a,b\n2,1,3\n1,2,3\n", "'weight', 'a', 'b'"),
    "one-way edges": (".csv", GEPHI.format("Directed"), "line 2.*'Anna' to 'Bernd'.*Undirected"),
    "a fraction of unknown name": (
        ".csv",
        "person,friend,kg\nann,bob,1.5\n",
        "called weight.*'kg'.*name 'kg' as the weight",
    ),
    "ages of numbered agents": (".csv", "person_a,person_b,age\n1,2,31.5\n", "called weight.*'age'"),
    "a weight that is missing somewhere": (".csv", "source,target,kg\na,b,2\nb,c,\n", "called weight.*'kg'"),
    "a weight that is not available": (".csv", "source,target,kg\na,b,NA\nb,c,2\n", "called weight.*'kg'"),
    "shares in per cent": (".csv", "source,target,share\na,b,30%\nb,c,5 %\n", "called weight.*'share'"),
    "thousands": (".csv", 'source,target,money\na,b,"1,234.5"\nb,c,?\n', "called weight.*'money'"),
    "plus and minus": (".csv", "source,target,relation\na,b,+\nb,c,-\n", "called weight.*'relation'"),
    "signs": (".csv", "source,target,sign\na,b,positive\nb,c,negative\n", "signs of edges themselves, got a column"),
    "signs beside weights": (
        ".csv",
        "source,target,weight,Sign\na,b,1,+\nb,c,1,-\n",
        "signs of edges.*weights such as",
    ),
    "money": (".csv", "source,target,lent\na,b,$20\nb,c,€ 30\n", "called weight.*'lent'"),
    "bounds": (".csv", "source,target,hours\na,b,<1\nb,c,> 5\n", "called weight.*'hours'"),
    "signs in words": (".csv", "source,target,attitude\na,b,positive\nb,c,negative\n", "called weight.*'attitude'"),
    "a letter for directed": (".csv", "source,target,directed\na,b,N\nb,c,Y\n", "line 3: edges must go both ways"),
    "arrows": (".csv", "source,target,direction\na,b,<->\nb,c,->\n", "line 3: edges must go both ways"),
    "false for mutual": (".csv", "source,target,mutual\na,b,true\nb,c,false\n", "line 3: edges must go both ways"),
    "true for directed": (".csv", "source,target,directed\na,b,false\nb,c,True\n", "line 3: edges must go both ways"),
    "1 for directed": (".csv", "source,target,directed\na,b,1\nb,c,0\n", "line 2: edges must go both ways"),
    "a heading again, in other letters": (".csv", "source,target\na,b\nSource,Target\n", "line 3 .*a heading"),
    "a heading again, with a weight": (
        ".csv",
        "source,target,note,weight\na,b,x,1\nsource,target,note,weight\n",
        "line 3 .*a heading",
    ),
    "a heading among numbers": (".csv", "source,target\n1,2\n2,3\nsource,target\n", "line 4 .*a heading"),
    "a heading below": (".csv", "ann,bob\nbob,cat\nsource,target\n", "line 3 .*a heading"),
    "a name above that occurs once": (
        ".csv",
        "#climate,tax\n#vote,rent\nwar,peace\npeace,oil\n",
        "line 1 is a comment",
    ),
    "one name above": (".csv", "#climate,#vote\ntax,war\nwar,oil\n", "line 1 is a comment, got '#climate,#vote'"),
    "names above a list of NetworkX": (".edgelist", "#a b {}\nc d {}\n", "line 1 is a comment, got '#a b {}'"),
    "names above an adjacency list": (".adjlist", "#a b\nc d\n", "line 1 is a comment, got '#a b'"),
    "a multiple": (".csv", "source,target,talks\na,b,5x\nb,c,?\n", "called weight.*'talks'"),
    "hours": (".csv", "source,target,talks\na,b,2 h\nb,c,30 min\n", "called weight.*'talks'"),
    "fractions of one": (".csv", "source,target,share\na,b,1/2\nb,c,?\n", "called weight.*'share'"),
    "open intervals": (".csv", "source,target,talks\na,b,5+\nb,c,?\n", "called weight.*'talks'"),
    "ranges": (".csv", "source,target,talks\na,b,1-2\nb,c,?\n", "called weight.*'talks'"),
    "a currency": (".csv", "source,target,lent\na,b,20 EUR\nb,c,?\n", "called weight.*'lent'"),
    "friends and enemies": (".csv", "source,target,relation\na,b,friend\nb,c,Enemy\n", "called weight.*'relation'"),
    "one way, with a hyphen": (
        ".csv",
        "source,target,direction\na,b,both\nb,c,One-way\n",
        "line 3: edges must go both ways",
    ),
    "one way, in Latin": (".csv", "source,target,direction\na,b,unidirectional\n", "line 2: edges must go both ways"),
    "one way, in Greek": (".csv", "source,target,type\na,b,asymmetric\n", "line 2: edges must go both ways"),
    "an arrow back": (".csv", "source,target,direction\na,b,->\nb,a,<-\n", "line 3: a direction must be.*'<-'.*swap"),
    "a way in": (".csv", "source,target,type\na,b,In\n", "line 2: a direction must be.*'In'"),
    "an unknown direction": (".csv", "source,target,direction\na,b,north\n", "line 2: a direction must be.*'north'"),
    "a direction beside a type": (
        ".csv",
        "source,target,type,directed\na,b,kin,yes\n",
        "line 2: edges must go both ways",
    ),
    "an unknown heading again": (".csv", "person_a,person_b\nann,bob\nperson_a,person_b\n", "clear whether line 1 is"),
    # The first edge would be lost.
    "agents or a heading": (".txt", "agent1 agent2\nagent2 agent3\n", "line 1 is a heading.*an agent below"),
    "nodes or a heading": (".txt", "Node_A,Node_B\nNode_C,Node_A\n", "line 1 is a heading.*an agent below"),
    # A dictionary is parsed and never evaluated.
    "a call": (".edgelist", "0 1 {'weight': 1}\n1 2 {'weight': __import__('os').getpid()}\n", "line 2 .*dictionary"),
    "half a dictionary": (".edgelist", "0 1 {'weight': 1}\n1 2 {'weight': 1\n", "line 2 .*dictionary"),
    "a number for a name": (".edgelist", "0 1 {'weight': 1}\n1 2 {3: 4}\n", "line 2 .*dictionary"),
    "a set": (".edgelist", "0 1 {'weight': 1}\n1 2 {'a', 'b'}\n", "line 2 .*dictionary"),
    "a deep dictionary": (".edgelist", f"0 1 {{'weight': 1}}\n1 2 {{'weight': {DEEP}}}\n", "line 2 .*dictionary"),
    "a long weight": (".edgelist", f"0 1 {{'weight': 1}}\n1 2 {{'weight': '{'9' * 20_000}'}}\n", "line 2 .*dictionary"),
    "no dictionary": (".edgelist", "0 1 {'weight': 1}\n1 2\n", "line 2 .*dictionary"),
    "a comment in a list of NetworkX": (
        ".edgelist",
        "0 1 {'weight': 1}\n#1 2 {'weight': 1}\n",
        "line 2 must not begin",
    ),
    "a name or a comment without a heading": (".csv", "ann,bob\n#bob,cat\n", "line 2 must not begin with '#'"),
    "a comment under a heading": (
        ".csv",
        'source,target\n"a",b\n# not an edge, really\nb,c\n',
        "line 3 must not begin with '#'",
    ),
    "names or comments above": (
        ".csv",
        "#climate,tax\n#vote,tax\ntax,war\nwar,#vote\n",
        "line 1 is a comment.*'#climate",
    ),
    "names or comments above, by per cent": (".txt", "% x\n%a b\nb c\n", "line 2 is a comment, got '%a b'"),
    "names below a heading in a comment": (".csv", "# source,target\n#a,b\nb,c\n", "line 2 is a comment"),
    "names above in a list of NetworkX": (".edgelist", "#a b {}\nb c {}\n", "line 1 is a comment, got '#a b {}'"),
    "names above in an adjacency list": (".adjlist", "#a b\nb c\n", "line 1 is a comment, got '#a b'"),
    "a comment in an adjacency list": (".adjlist", "a b\n#b c\n", "line 2 must not begin with '#'"),
    # Graphs and matrices.
    "a bomb": (".graphml", BOMB, "DOCTYPE.*remove"),
    "a bomb in UTF-16": (".graphml", BOMB.encode("utf-16"), "DOCTYPE"),
    "a bomb in GEXF": (".gexf", '<!DOCTYPE g [<!ENTITY a "b">]><gexf/>', "GEXF must not define a document"),
    "changes in GEXF": (".gexf", OLD_GEXF.replace('mode="static">\n<att', 'mode="dynamic">\n<att'), "for all times"),
    "parallel edges that are not announced": (
        ".gml",
        "graph [\nnode [ id 0 ]\nnode [ id 1 ]\n" + "edge [ source 0 target 1 ]\n" * 2 + "]\n",
        "duplicated",
    ),
    "a self-loop of Pajek": (".net", PAJEK + "*Edges\n1 1\n", "own neighbour"),
    "two weights in Pajek": (".net", PAJEK + "*Edges\n1 2 1\n2 1 2\n2 3\n", "one weight"),
    "a billion vertices": (".net", "*Vertices 999999999\n*Edges\n1 2\n", "line 1"),
    "a text for a weight": (".net", PAJEK + "*Edges\n1 2 x\n", "line 6 must have a weight that is a number"),
    "times in Pajek": (".net", PAJEK + "*Edges\n1 2 1 [1-3]\n", "without times"),
    "another section": (".net", PAJEK + "*Partition\n1\n", r"one of \*vertices"),
    "a short matrix": (".net", PAJEK + "*Matrix\n0 1\n", "3 rows of 3 weights"),
    "two relations": (
        ".net",
        PAJEK + "*Arcs :1\n1 2\n*Arcs :2\n2 3\n",
        r"one graph, got '\*Arcs :2' on line 7.*its own",
    ),
    "two relations of two kinds": (".net", PAJEK + "*Arcs :1\n1 2\n*Edges :2\n2 3\n", r"one graph, got '\*Edges :2'"),
    "edges twice": (".net", PAJEK + "*Edges\n1 2\n*Edges\n2 3\n", r"one graph, got '\*Edges' on line 7"),
    "a vertex twice": (".net", '*Vertices 2\n1 "a"\n1 "b"\n*Edges\n1 2\n', "line 3 must have a vertex.*1 again"),
    "two graphs": (
        ".graphml",
        GRAPHML.replace("</graphml>", '<graph edgedefault="directed"/></graphml>'),
        "one graph, got 2",
    ),
    "a graph in a node": (
        ".graphml",
        GRAPHML.replace("</node>", '<graph edgedefault="directed"><node id="x"/></graph></node>', 1),
        "GraphML must hold one graph, got 2.*its own",
    ),
    "no such node in GraphML": (".graphml", GRAPHML.replace('target="n2"', 'target="n7"'), "'n7', which is none"),
    "a node twice": (
        ".graphml",
        GRAPHML.replace('node id="n2"', 'node id="n0"'),
        "different identifiers, got 'n0' twice",
    ),
    "no such node in GEXF": (".gexf", OLD_GEXF.replace('target="z"', 'target="y"'), "edge 2 must link two.*'y'"),
    "edges in a node": (
        ".gexf",
        OLD_GEXF.replace("</node>", '<edges><edge id="7" source="a" target="z"/></edges></node>', 1),
        "one graph, got edges inside a node",
    ),
    "a graph in a node of GML": (
        ".gml",
        GML.replace("id 1 ", "id 1 graph [ node [ id 9 ] ] "),
        "GML must hold one graph",
    ),
    "edges and links": (
        ".json",
        '{"nodes": [{"id": 1}], "edges": [], "links": []}',
        "one graph, got both 'edges' and 'links'",
    ),
    "edges twice in JSON": (
        ".json",
        '{"nodes": [{"id": 1}], "edges": [], "edges": []}',
        "each name once, got 'edges' twice",
    ),
    "a text for directed": (
        ".json",
        '{"directed": "false", "nodes": [], "links": []}',
        'true or false.*"directed": "false"',
    ),
    # NetworkX takes the first for directed, and the others for undirected.
    "a text for directed in GML": (
        ".gml",
        'graph [\n directed "false" node [ id 1 ] ]',
        '0 or 1.*got directed "false"',
    ),
    "a text for directed below another": (
        ".gml",
        'Creator "igraph"\ngraph [ comment "directed 1" directed "false" node [ id 1 ] ]',
        '0 or 1.*got directed "false"',
    ),
    "a capital letter in GML": (".gml", GML.replace("graph [", "graph [ Directed 1"), "0 or 1.*got Directed 1"),
    "a capital letter in JSON": (
        ".json",
        '{"Directed": true, "nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2}]}',
        'for the graph as a whole, got "Directed": true',
    ),
    "a direction of a link": (
        ".json",
        '{"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 2, "directed": true}]}',
        'for the graph as a whole, got "directed": true',
    ),
    "several graphs in JSON": (
        ".json",
        '{"nodes": [{"id": 1}], "links": [], "graphs": [{"nodes": [], "links": []}]}',
        "one graph, got both 'links' and 'graphs'",
    ),
    "nodes and Nodes": (".json", '{"nodes": [], "Nodes": [], "links": []}', "one graph, got both 'links' and 'Nodes'"),
    "no direction in GraphML": (".graphml", GRAPHML.replace(' edgedefault="undirected"', ""), "edgedefault .*got None"),
    "capital letters in GraphML": (
        ".graphml",
        GRAPHML.replace('"undirected"', '"Directed"'),
        "edgedefault .*'Directed'",
    ),
    "capital letters in GEXF": (
        ".gexf",
        OLD_GEXF.replace('defaultedgetype="undirected"', 'defaultedgetype="Directed"'),
        "defaultedgetype .*'Directed'",
    ),
    "edges and Links": (".json", '{"nodes": [], "edges": [], "Links": []}', "one graph, got both 'edges' and 'Links'"),
    "two headings": (".txt", "# source target\nfrom to\na b\n", "clear whether line 2 is a heading"),
    "two headings, one unknown": (
        ".txt",
        "# source target\nperson friend\na b\nb c\n",
        "line 2 is a heading.*'person'",
    ),
    "another JSON": (".json", "[1, 2]", "must have nodes, and edges or links"),
    "adjacency in JSON": (".json", json.dumps(nx.adjacency_data(nx.path_graph(3))), "must have nodes, and edges"),
    "Cytoscape": (".json", json.dumps(nx.cytoscape_data(nx.path_graph(3))), "must have nodes, and edges or links"),
    "equal nodes": (".json", '{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "nodes must have different"),
    "no such node": (".json", '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "edge 1 must link two"),
    "two forms of a node": (
        ".json",
        json.dumps({"nodes": [{"id": ZOE}, {"id": OTHER_ZOE}], "links": []}),
        f"different identifiers, got '{ZOE}' twice",
    ),
    "promised entries": (".mtx", f"{MARKET}3 3 99999999999\n1 2 1\n", "99999999999 entries promised"),
    "promised rows": (".mtx", f"{MARKET}99999999999 99999999999 1\n1 2 1\n", "99999999999 agents.*without gaps"),
    "a promised array": (".mtx", "%%MatrixMarket matrix array real general\n999999 999999\n1\n", "promised"),
    "a huge array": (".npy", HUGE + b" " * (128 - len(HUGE) - 1) + b"\n", "suffix"),
    "Excel": (".xlsx", "x", r"; use one of \.txt"),
    "a pickle": (".gpickle", "x", r"write \.graphml"),
    "no suffix": ("", "a b\n", r"use one of .*\.npz"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_meant_is_refused(name: str, tmp_path: Path) -> None:
    suffix, content, says = REFUSED[name]
    file = write(tmp_path, suffix, content)
    with pytest.raises((FileFormatError, NetworkError), match=rf"friends{suffix}(.|\n)*{says}"):
        read_network(file)
    # Whether edges may go one way is a question of the reader alone.
    if (
        suffix in (".csv", ".txt", ".edgelist")
        and not re.search("must go both|a direction must", says)
        and name != "one-way edges"
    ):
        with pytest.raises((FileFormatError, NetworkError), match=says):
            describe_network_file(file)


def test_windows_text_is_read_with_a_warning(tmp_path: Path) -> None:
    file = write(tmp_path, ".csv", "source;target\nJürgen;Zoë\nZoë;Bo\n".encode("cp1252"))
    with pytest.warns(UserWarning, match=r"friends\.csv is not UTF-8 and was read as Windows-1252.*'Jürgen'"):
        assert read_network(file).labels == ("Jürgen", "Zoë", "Bo")
    with pytest.warns(UserWarning, match="Windows-1252"):
        assert "encoded in Windows-1252" in str(describe_network_file(file))


def test_a_weight_by_another_name_than_asked_for_is_not_taken(tmp_path: Path) -> None:
    graph = nx.Graph([("ann", "bob", {"weight": 2.0}), ("bob", "cat", {"weight": 3.0})])
    with pytest.raises(NetworkError, match="an edge must have the attribute 'closeness', got 'weight'"):
        Network.from_networkx(graph, "closeness")
    texts = {".csv": "source,target,weight\nann,bob,31\n", ".txt": "ann bob 2\nbob cat 3\n", ".gml": IGRAPH_GML}
    for suffix, text in texts.items():
        with pytest.raises(PeerPressureError, match="'closeness'"):
            read_network(write(tmp_path, suffix, text), weight="closeness")


def test_edges_that_go_both_ways_are_no_directed_ones(tmp_path: Path) -> None:
    text = "source,target,directed\na,b,no\nb,c,yes\nc,b,yes\n"
    assert read_network(write(tmp_path, ".csv", text)).edge_count == 2
    with pytest.raises(PeerPressureError, match="line 2: edges must go both ways where they are undirected"):
        read_network(write(tmp_path, ".csv", text), directed=True)
    frame = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"], "directed": [True, False]})
    for directed, row in ((False, 1), (True, 2)):
        with pytest.raises(NetworkError, match=f"row {row}: edges must go both ways"):
            Network.from_edges(frame, directed=directed)
    with pytest.raises(NetworkError, match=r"must be called weight.*'kg'"):
        Network.from_edges(frame.assign(directed=False, kg=[1.0, None]))
    # A word is no weight, and - alone a gap.
    for column in ("school,-", "2024-01-31,31.01.2024"):
        values = column.split(",")
        table = write(tmp_path, ".csv", f"source,target,note\na,b,{values[0]}\nb,c,{values[1]}\n")
        assert "not used: 'note'" in str(describe_network_file(table))


def test_unused_attributes_of_edges_are_named(tmp_path: Path) -> None:
    for suffix, text in {".gml": GML.replace("value", "kg"), ".graphml": GRAPHML.replace('"weight"', '"kg"')}.items():
        file = write(tmp_path, suffix, text)
        assert not read_network(file).is_weighted
        assert "attributes of edges not used: 'kg'" in str(describe_network_file(file))


def test_labels_that_repeat_or_lack_name_nobody(tmp_path: Path) -> None:
    for label in ("Bernd", "", " "):
        file = write(tmp_path, ".graphml", GRAPHML.replace("Anna", label))
        assert read_network(file).labels == ("n0", "n1", "n2")
        assert "agents by id" in str(describe_network_file(file))


def test_attributes_of_nodes_are_read(tmp_path: Path) -> None:
    for name in ("GraphML of Gephi", "GEXF", "GEXF of Gephi 0.10", "GML of Newman"):
        file = write(tmp_path, *CASES[name][:2])
        assert read_attribute(file, "opinion") == {"Anna": 0.1, "Bernd": 0.5, "Zoë": 0.7}
        assert "'opinion'" in str(describe_network_file(file))
    with pytest.raises(InvalidInputError, match=r"attribute 'opinon', got attributes 'opinion'.*did you mean"):
        read_attribute(file, "opinon")
    with pytest.raises(FileFormatError, match="node 2 must be an agent, got colour ''"):
        read_attribute(write(tmp_path, ".gml", GML.replace("opinion 0.1", "colour 5")), "colour")
    with pytest.raises(InvalidInputError, match="got no attributes"):
        read_attribute(write(tmp_path, *CASES["Pajek"][:2]), "opinion")


# Files that other programs make, made by these programs.


def weighted(directed: bool = False, names: str = "0123456") -> Any:
    """Return a graph whose agents have these letters for names, or are numbers."""
    graph = nx.gnp_random_graph(7, 0.5, seed=2, directed=directed)
    for k, (*_, facts) in enumerate(graph.edges(data=True)):
        facts["weight"] = 0.5 + k / 8
    return graph if names.isdigit() else nx.relabel_nodes(graph, dict(enumerate(names)))


def agree(network: Network, graph: Any) -> bool:
    """Whether both have the same agents and weights; the order of agents may differ."""
    matrix = nx.to_numpy_array(graph, nodelist=list(network.labels))
    return set(network.labels) == set(graph.nodes) and np.array_equal(network.adjacency.toarray(), matrix)


def adjacency(graph: Any, file: Path, **options: Any) -> None:
    nx.to_pandas_adjacency(graph).to_csv(file, **options)


def frame(graph: Any, file: Path) -> None:
    """Write edges with an index, read them and write them again."""
    nx.to_pandas_edgelist(graph).to_csv(file)
    pd.read_csv(file).to_csv(file, index=False)


GRAPHS = {"numbers": weighted(), "names": weighted(names="abcdefg")}
LABELLED = "labels in the first row and the first column"
MADE: dict[str, tuple[str, Callable[[Any, Path], object], str]] = {
    "edge list": (".edgelist", nx.write_edgelist, "list of NetworkX, source from 'source'"),
    "edge list, commas": (".edgelist", lambda graph, file: nx.write_edgelist(graph, file, delimiter=","), "NetworkX"),
    "edge list, tabs": (".edgelist", lambda graph, file: nx.write_edgelist(graph, file, delimiter="\t"), "NetworkX"),
    "frame": (".csv", lambda graph, file: nx.to_pandas_edgelist(graph).to_csv(file), "; not used: the index"),
    "frame, twice": (".csv", frame, "not used"),
    "frame in Parquet": (".parquet", lambda graph, file: nx.to_pandas_edgelist(graph)[::-1].to_parquet(file), "Parq"),
    "matrix": (".csv", adjacency, LABELLED),
    "matrix, tabs": (".csv", lambda graph, file: adjacency(graph, file, sep="\t"), LABELLED),
    "matrix, semicolons": (".csv", lambda graph, file: adjacency(graph, file, sep=";", decimal=","), "matrix of 7"),
    "matrix, rows turned": (".csv", lambda graph, file: nx.to_pandas_adjacency(graph)[::-1].to_csv(file), "matrix"),
    "GraphML": (".graphml", nx.write_graphml, "agents by id, weight from 'weight'"),
    "node-link": (".json", lambda graph, file: file.write_text(json.dumps(nx.node_link_data(graph))), "agents by id"),
    "links": (
        ".json",
        lambda graph, file: file.write_text(json.dumps(nx.node_link_data(graph, edges="links"))),
        "agents by id, weight from 'weight'",
    ),
}


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("name", MADE)
def test_files_of_networkx_and_pandas(name: str, kind: str, tmp_path: Path) -> None:
    suffix, make, said = MADE[name]
    file, graph = tmp_path / f"graph{suffix}", GRAPHS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        make(graph, file)
    assert agree(read_network(file), graph)
    assert said in str(describe_network_file(file))


def test_matrices_of_other_forms(tmp_path: Path) -> None:
    file, graph = tmp_path / "matrix.csv", GRAPHS["names"]
    adjacency(graph, file)
    assert not read_network(file, weight=None).is_weighted
    adjacency(graph, file, index=False)
    with pytest.raises(FileFormatError, match="line 1 must be an edge, got 7 fields"):
        read_network(file)
    # R leaves out the corner.
    file.write_text(nx.to_pandas_adjacency(graph).to_csv(sep=" ").lstrip())
    assert agree(read_network(file), graph)


@pytest.mark.parametrize("directed", [False, True])
def test_matrices_without_labels_and_directed_graphs(directed: bool, tmp_path: Path) -> None:
    graph, file = weighted(directed), tmp_path / "matrix.csv"
    np.savetxt(file, nx.to_numpy_array(graph), delimiter=",")
    assert agree(read_network(file, directed=directed), graph)
    assert "without labels" in str(describe_network_file(file))
    if directed:
        with pytest.raises(NetworkError, match="symmetric"):
            read_network(file)
    nx.write_edgelist(graph, tmp_path / "graph.edgelist")
    assert agree(read_network(tmp_path / "graph.edgelist", directed=directed), graph)
    (tmp_path / "graph.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    assert agree(read_network(tmp_path / "graph.json"), graph)


def test_adjacency_lists_keep_agents_without_neighbours(tmp_path: Path) -> None:
    graph = nx.Graph(GRAPHS["names"].edges)
    graph.add_node("zoe")
    nx.write_adjlist(graph, tmp_path / "graph.adjlist")
    assert agree(read_network(tmp_path / "graph.adjlist"), graph)
    assert "the first agent of a line is linked to the others" in str(describe_network_file(tmp_path / "graph.adjlist"))


# Files that other programs have made; the README beside them says which and how.
FOUND = {
    "igraph.ncol": "separated by spaces, no heading, columns source, target, weight",
    "r_edges.csv": "source from 'from', target from 'to', weight from 'weight'; not used: the index",
    "r_matrix.csv": LABELLED,
    "r_matrix.txt": LABELLED,
}


@pytest.mark.parametrize("name", FOUND)
def test_the_same_network_from_igraph_and_r(name: str) -> None:
    expected = nx.Graph()
    weights = [("Ann", "Bob", 0.5), ("Ann", "Cat", 2), ("Bob", "Cat", 1.25), ("Cat", "Dan", 0.001)]
    expected.add_weighted_edges_from(weights)
    assert agree(read_network(FILES / name), expected)
    assert str(describe_network_file(FILES / name)).endswith(FOUND[name])


def test_found_graphs_without_weights_and_with_attributes() -> None:
    assert agree(read_network(FILES / "igraph_ring.ncol"), nx.cycle_graph(5))
    network, expected = read_network(FILES / "les_mis.json"), nx.les_miserables_graph()
    assert (network.n, network.edge_count) == (len(expected), expected.size()) == (77, 254)
    assert describe_network_file(FILES / "les_mis.json") == "agents by name, weight from 'value'; attributes: 'group'"
    # The names differ between the two sources, and the numbers of meetings do not.
    weights = sorted(network.edges()[2].tolist())
    assert weights == sorted(weight for *_, weight in expected.edges(data="weight"))


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize(
    ("field", "dense"), [("real", True), ("integer", True), ("real", False), ("integer", False), ("pattern", False)]
)
def test_every_real_matrix_market_file_of_scipy(field: str, dense: bool, symmetry: str, tmp_path: Path) -> None:
    network = named("les_miserables").relabelled(None) if field != "pattern" else path(4)
    matrix = network.adjacency.toarray() if dense else network.adjacency
    scipy.io.mmwrite(tmp_path / "a.mtx", matrix, field=field, symmetry=symmetry, comment="one\ntwo")
    assert same(read_network(tmp_path / "a.mtx"), network)


def test_arrays_of_edges(tmp_path: Path) -> None:
    file = tmp_path / "edges.npy"
    np.save(file, np.array([[0, 1, 0.5], [1, 2, 2], [2, 3, 1], [0, 3, 1]]))
    assert read_network(file).edge_count == 4
    assert read_network(file).is_weighted
    assert not read_network(file, weight=None).is_weighted
    assert describe_network_file(file) == "edges in columns source, target, weight"
    np.save(file, np.array([[0, 1], [1, 2], [2, 3]]))
    assert same(read_network(file), path(4))
    np.save(file, path(4).adjacency.toarray())
    assert describe_network_file(file) is None


def test_parquet_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "friends.parquet"

    def write_columns(**columns: Any) -> None:
        pd.DataFrame(columns).to_parquet(file)

    write_columns(Weight=[1.5, 2.0], To=["Bernd", "Zoë"], From=["Anna", "Bernd"])
    assert edge_table(read_network(file)) == {frozenset(ends): weight for ends, weight in ANNA.items()}
    assert describe_network_file(file) == "Parquet, weight from 'Weight', target from 'To', source from 'From'"
    write_columns(source=[ZOE, OTHER_ZOE], target=["bob", "cat"])
    assert read_network(file).n == 3
    assert FORMS in str(describe_network_file(file))
    for columns, says in (
        ({"source": ["a", None], "target": ["b", "c"]}, "row 2"),
        ({"source": ["ann", "source"], "target": ["bob", "target"]}, "row 2 must be an edge, got a heading"),
        ({"person_a": ["ann"], "person_b": ["bob"], "age": [31]}, "must be called weight.*'age'"),
    ):
        with pytest.raises(NetworkError, match=says):
            Network.from_edges(pd.DataFrame(columns))
        write_columns(**columns)
        with pytest.raises(FileFormatError, match=says):
            read_network(file)
    # A billion equal rows are a few kilobytes.
    monkeypatch.setattr("peerpressure.support.table_files.BYTES_PER_CELL", 10**15)
    with pytest.raises(TooLargeError, match="a table must fit in memory"):
        read_network(file)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match=r"need pyarrow.*pip install pyarrow"):
        read_network(file)


def test_unicode_forms_of_a_name_are_one_in_memory() -> None:
    with pytest.warns(UserWarning, match=FORMS):
        network = Network.from_edges([(ZOE, "bob"), (OTHER_ZOE, "cat")])
    assert network.labels == (ZOE, "bob", "cat")
    assert path(2).relabelled([OTHER_ZOE, "bob"]).labels == (ZOE, "bob")
    assert network.index(OTHER_ZOE) == network.index(ZOE) == 0
    assert Model(network, {OTHER_ZOE: 1.0, "bob": 2.0, "cat": 3.0}).x0.tolist() == [1.0, 2.0, 3.0]
    assert network.with_topics([OTHER_ZOE, "tax"]).index((OTHER_ZOE, OTHER_ZOE)) == 0
    # Nodes of a graph cannot be merged without losing one of them.
    for graph in (nx.Graph([(ZOE, "bob"), (OTHER_ZOE, "bob")]), nx.DiGraph([(ZOE, OTHER_ZOE)])):
        with pytest.raises(NetworkError, match=f"labels must differ, got repeated '{ZOE}'"):
            Network.from_networkx(graph)
    matrix = pd.DataFrame(path(2).adjacency.toarray(), index=[ZOE, "bob"], columns=[OTHER_ZOE, "bob"])
    assert Network(matrix).labels == (ZOE, "bob")
    snapshots = [nx.Graph([(ZOE, "bob")]), nx.Graph([(OTHER_ZOE, "bob")])]
    assert TemporalNetwork.from_snapshots(snapshots).labels == (ZOE, "bob")


def test_unicode_forms_of_a_name_are_one_in_events_and_outputs(tmp_path: Path) -> None:
    file = write(tmp_path, ".csv", f"time,source,target\n1,{ZOE},bob\n2,{OTHER_ZOE},cat\n")
    assert read_contacts(file).labels == (ZOE, "bob", "cat")
    assert read_events(file, labels=[OTHER_ZOE, "bob", "cat"]).labels == (ZOE, "bob", "cat")
    assert FORMS in str(describe_events_file(file))
    model = Model(path(2).relabelled([ZOE, "bob"]), [1.0, 2.0])
    for rows in (f"time,agent,public\n1,{OTHER_ZOE},0.5\n1,bob,0.7\n", f"time,{OTHER_ZOE},bob\n1,.5,.7\n"):
        seen = read_answers(write(tmp_path, ".csv", rows), model).runs[""]
        assert np.asarray(seen.states).tolist() == [[[0.5, 0.7]]]
    table = [(1, ZOE, 0.5, ZOE), (1, "bob", 0.7, OTHER_ZOE)]
    topical = pd.DataFrame(table, columns=["time", "agent", "public", "topic"])
    assert np.asarray(simulate(model, 1).from_dataframe(topical, model).states).tolist() == [[[0.5, 0.7]]]
    outputs = write(tmp_path, ".csv", f"time,agent,public\n1,{ZOE},0.5\ntime,agent,public\n1,bob,0.7\n")
    with pytest.raises(FileFormatError, match="line 3 must be a row, got a heading"):
        read_answers(outputs, model)


NAMES = st.text("ab ,;\"'Ä#%é&<>.0123", min_size=1, max_size=5).filter(
    lambda text: text == text.strip() and not text.startswith(("#", "%", '"'))
)


@settings(max_examples=60, deadline=None)
@given(
    network=networks(labels=NAMES, weights=st.integers(1, 10**6).map(lambda k: k / 1000)),
    separator=st.sampled_from(",;\t"),
    comma=st.booleans(),
    order=st.permutations(["From", "TO", "Weight", "Note"]),
)
def test_table_dialects_give_the_same_network(network: Network, separator: str, comma: bool, order: list[str]) -> None:
    i, j, weights = network.edges()
    text = io.StringIO()
    table = csv.DictWriter(text, order, delimiter=separator)
    table.writeheader()
    for a, b, w in zip(i.tolist(), j.tolist(), weights.tolist(), strict=True):
        # Six decimals, because three could be thousands.
        number = f"{w:.6f}".replace(".", "," if comma else ".")
        table.writerow({"From": network.labels[a], "TO": network.labels[b], "Weight": number, "Note": "x, y; z"})
    with TemporaryDirectory() as folder:
        again = read_network(write(Path(folder), ".csv", text.getvalue()))
    by_text = [{frozenset(map(str, ends)): w for ends, w in edge_table(one).items()} for one in (again, network)]
    assert by_text[0] == by_text[1]
