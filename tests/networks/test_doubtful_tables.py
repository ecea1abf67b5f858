"""What a table or graph leaves open is refused, or said in one line: weights, repeats, Unicode forms and headings."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from peerpressure import Model, cli, simulate
from peerpressure.errors import FileFormatError, InvalidInputError, NetworkError
from peerpressure.measures import read_outputs
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    describe_events_file,
    describe_network_file,
    path,
    read_contacts,
    read_events,
    read_network,
    write_network,
)
from tests.networks.strategies import edge_table

ZOE, OTHER_ZOE = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))
REPEATED = "edges? given more than once"


def write(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_bytes(text.encode())
    return file


def checked(file: Path, capfd: pytest.CaptureFixture[str], more: str = "", key: str = "file") -> str:
    """Return what `check` prints about a scenario with this file as the network."""
    scenario = file.parent / "study.toml"
    # json.dumps is not needed: names of files are plain.
    scenario.write_text(f'[network]\n{key} = "{file.name}"\n[run]\nsteps = 5\n{more}', encoding="utf-8")
    assert cli.invoke(["check", str(scenario)]) == 0
    return capfd.readouterr().out


# Weights


UNNAMED = {
    "unknown ends": "person_a,person_b,age\nann,bob,31\nbob,cat,44\n",
    "unknown ends, a fraction": "person,friend,closeness\nann,bob,1.5\nbob,cat,2\n",
    "numbered agents": "person_a,person_b,age\n1,2,31.5\n2,3,44\n",
    "known ends": "source,target,age\nann,bob,31\nbob,cat,44\n",
}


@pytest.mark.parametrize("name", UNNAMED)
def test_a_number_that_is_not_called_weight_is_none(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, "friends.csv", UNNAMED[name])
    column = UNNAMED[name].split("\n", maxsplit=1)[0].rsplit(",", maxsplit=1)[-1]
    for reads in (read_network, describe_network_file):
        with pytest.raises(FileFormatError, match=rf"must be called weight.*'{column}'.*rename it.*weight='{column}'"):
            reads(file)
    # An option decides: the column by its name, or none.
    assert read_network(file, weight=column).is_weighted
    assert f"weight from '{column}'" in str(describe_network_file(file, weight=column))
    assert not read_network(file, weight=None).is_weighted
    assert str(describe_network_file(file, weight=None)).endswith(f"; not used: '{column}'")


@pytest.mark.parametrize("suffix", [".parquet", "frame"])
def test_frames_do_not_guess_a_weight_either(suffix: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"person_a": ["ann", "bob"], "person_b": ["bob", "cat"], "age": [31, 44]})
    frame.to_parquet(tmp_path / "friends.parquet")
    with pytest.raises((FileFormatError, NetworkError), match=r"must be called weight.*'age'"):
        Network.from_edges(frame) if suffix == "frame" else read_network(tmp_path / "friends.parquet")


def test_a_weight_by_another_name_than_asked_for_is_not_taken(tmp_path: Path) -> None:
    file = write(tmp_path, "friends.csv", "source,target,weight\nann,bob,31\nbob,cat,44\n")
    with pytest.raises(InvalidInputError, match="one column 'closeness', got 'source', 'target', 'weight'"):
        read_network(file, weight="closeness")
    bare = write(tmp_path, "bare.txt", "ann bob 2\nbob cat 3\n")
    with pytest.raises(FileFormatError, match=r"'closeness'.*no heading"):
        read_network(bare, weight="closeness")
    graph = nx.Graph([("ann", "bob", {"weight": 2.0}), ("bob", "cat", {"weight": 3.0})])
    with pytest.raises(NetworkError, match=r"an edge must have the attribute 'closeness', got 'weight'"):
        Network.from_networkx(graph, "closeness")
    nx.write_graphml(graph, tmp_path / "friends.graphml")
    with pytest.raises(NetworkError, match=r"friends\.graphml.*'closeness'"):
        read_network(tmp_path / "friends.graphml", weight="closeness")


def test_a_scenario_without_weights_ignores_columns_of_numbers(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "friends.csv", UNNAMED["known ends"])
    scenario = write(tmp_path, "a.toml", f'[network]\nfile = "{file.name}"\nweighted = false\n[run]\nsteps = 5\n')
    assert cli.invoke(["check", str(scenario)]) == 0
    assert "; not used: 'age'" in capfd.readouterr().out


def test_columns_without_a_heading_keep_their_documented_order(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path, "friends.edgelist", "ann bob 3.0\nbob cat\ncat dan 2\n")
    assert edge_table(read_network(file))[frozenset(("ann", "bob"))] == 3.0
    said = "no heading, columns source, target, weight; weight 1 on the 1 line without one"
    assert said in str(describe_network_file(file))
    assert said in checked(file, capfd)


def test_unused_attributes_of_edges_are_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    graph = nx.Graph([("ann", "bob", {"closeness": 2.0}), ("bob", "cat", {"closeness": 3.0})])
    for suffix, writes in {".graphml": nx.write_graphml, ".gexf": nx.write_gexf, ".gml": nx.write_gml}.items():
        file = tmp_path / f"friends{suffix}"
        writes(graph, file)
        assert not read_network(file).is_weighted
        assert "attributes of edges not used: 'closeness'" in str(describe_network_file(file))
        assert "attributes of edges not used: 'closeness'" in checked(file, capfd)
        assert "weight from 'closeness'" in str(describe_network_file(file, weight="closeness"))


def test_edges_in_an_array_are_described(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[0, 1, 2.0], [1, 2, 3.0], [2, 3, 1.0], [3, 4, 1.0]]))
    assert describe_network_file(tmp_path / "a.npy") == "edges in columns source, target, weight"
    np.save(tmp_path / "a.npy", path(4).adjacency.toarray())
    assert describe_network_file(tmp_path / "a.npy") is None


@pytest.mark.parametrize("kind", ["file", "frame"])
def test_events_do_not_guess_a_weight(kind: str, tmp_path: Path) -> None:
    rows = {"when": [1, 2], "who": ["ann", "bob"], "whom": ["bob", "cat"], "age": [31, 44]}
    file = write(tmp_path, "contacts.csv", pd.DataFrame(rows).to_csv(index=False))
    calls: list[Callable[[], Any]] = [lambda: TemporalNetwork.from_contacts(pd.DataFrame(rows))]
    if kind == "file":
        calls = [lambda: read_contacts(file), lambda: read_events(file), lambda: describe_events_file(file)]
    for call in calls:
        with pytest.raises((FileFormatError, NetworkError), match=r"must be called weight.*'age'"):
            call()
    columns = ["time", "source", "target", ""]
    assert read_events(file, columns=columns).weights.tolist() == [1.0, 1.0]
    assert read_events(file, columns=[*columns[:3], "weight"]).weights.tolist() == [31.0, 44.0]
    named = write(tmp_path, "named.csv", "time,source,target,age\n1,ann,bob,31\n2,bob,cat,44\n")
    assert str(describe_events_file(named)).endswith("; not used: 'age'")


# Repeats


def test_repeated_rows_are_said_to_count_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "friends.csv", "source,target,weight\nann,bob,2\nbob,cat,1\nann,bob,2\ncat,bob,1\n")
    with pytest.warns(UserWarning, match=f"1 {REPEATED}, counted once: 'ann' and 'bob'; add up"):
        assert edge_table(read_network(file))[frozenset(("ann", "bob"))] == 2
    said = "1 edge given more than once, counted once: 'ann' and 'bob'; 1 edge given in both directions, counted once"
    assert said in str(describe_network_file(file))
    with pytest.warns(UserWarning, match=REPEATED):
        assert said in checked(file, capfd)
    # In a directed network the two directions are two edges.
    with pytest.warns(UserWarning, match=REPEATED):
        read_network(file, directed=True)
    assert "both directions" not in str(describe_network_file(file, directed=True))


def test_both_directions_of_an_undirected_edge_are_no_warning(tmp_path: Path) -> None:
    file = write(tmp_path, "friends.txt", "ann bob\nbob ann\nbob cat\n")
    assert read_network(file).edge_count == 2
    assert "; 1 edge given in both directions, counted once" in str(describe_network_file(file))


MULTI = [("ann", "bob", {"weight": 2.0}), ("ann", "bob", {"weight": 2.0}), ("bob", "cat", {"weight": 1.0})]


@pytest.mark.parametrize("kind", [nx.MultiGraph, nx.MultiDiGraph])
def test_parallel_edges_of_graphs_are_said_to_count_once(kind: Any) -> None:
    with pytest.warns(UserWarning, match=f"1 {REPEATED}, counted once: 'ann' and 'bob'; add up"):
        network = Network.from_networkx(kind(MULTI))
    assert network.adjacency[0, 1] == 2
    # Without weights there is nothing to lose.
    Network.from_networkx(kind(MULTI), weight=None)


@pytest.mark.parametrize("suffix", [".graphml", ".gexf", ".gml", ".net"])
def test_parallel_edges_in_files_are_said_to_count_once(
    suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"friends{suffix}"
    if suffix == ".net":
        write(tmp_path, file.name, "*Vertices 3\n1 ann\n2 bob\n3 cat\n*Edges\n1 2 2\n2 1 2\n2 3 1\n")
    else:
        writes = {".graphml": nx.write_graphml, ".gexf": nx.write_gexf, ".gml": nx.write_gml}[suffix]
        writes(nx.MultiGraph(MULTI), file)
    with pytest.warns(UserWarning, match=f"1 {REPEATED}"):
        assert edge_table(read_network(file))[frozenset(("ann", "bob"))] == 2
    assert "1 edge given more than once, counted once: 'ann' and 'bob'" in str(describe_network_file(file))
    with pytest.warns(UserWarning, match=REPEATED):
        assert "1 edge given more than once, counted once" in checked(file, capfd)


def test_parallel_edges_that_gml_does_not_announce_are_refused(tmp_path: Path) -> None:
    nodes = "".join(f'node [ id {k} label "{name}" ]\n' for k, name in enumerate("ab"))
    edges = "edge [ source 0 target 1 ]\n" * 2
    with pytest.raises(FileFormatError, match="duplicated"):
        read_network(write(tmp_path, "friends.gml", f"graph [\n{nodes}{edges}]\n"))


def test_repeats_in_memory_are_said_to_count_once() -> None:
    edges = [("ann", "bob"), ("bob", "cat"), ("ann", "bob")]
    for given in (edges, pd.DataFrame(edges, columns=["source", "target"]), np.array([[0, 1], [1, 2], [0, 1]])):
        with pytest.warns(UserWarning, match=f"1 {REPEATED}, counted once"):
            assert Network.from_edges(given).edge_count == 2
    matrix = sp.coo_array(([1.0, 1, 1, 1], ([0, 0, 1, 1], [1, 1, 0, 0])), shape=(2, 2))
    with pytest.warns(UserWarning, match=f"1 {REPEATED}, counted once: 0 and 1"):
        Network.from_scipy(matrix)


def test_repeated_entries_of_matrices_are_described(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n"
    file = write(tmp_path, "friends.mtx", f"{head}2 1 2\n2 1 2\n3 2 1\n")
    assert str(describe_network_file(file)).startswith("1 edge given more than once, counted once: 0 and 1")
    with pytest.warns(UserWarning, match=REPEATED):
        assert "1 edge given more than once, counted once" in checked(file, capfd)


def test_repeated_events_are_described(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "contacts.csv", "time,source,target\n1,ann,bob\n1,bob,ann\n2,bob,cat\n")
    said = "; 1 line repeats the time and the agents of another: contacts add up, events count once"
    assert str(describe_events_file(file)).endswith(said)
    assert said in checked(file, capfd, key="contacts")
    assert read_contacts(file).weights.max() == 2
    assert read_events(file).weights.max() == 1


# Unicode forms


def test_two_forms_of_a_name_are_one_agent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "friends.csv", f"source,target\n{ZOE},bob\n{OTHER_ZOE},cat\nbob,cat\n")
    assert read_network(file).labels == (ZOE, "bob", "cat")
    assert f"one name in two Unicode forms: '{ZOE}'" in str(describe_network_file(file))
    people = write(tmp_path, "people.csv", f"name,opinion\n{OTHER_ZOE},0.5\nbob,1\ncat,2\n")
    more = f'[agents]\nhidden = {{ file = "{people.name}", column = "opinion" }}\nzealots = ["{OTHER_ZOE}"]\n'
    printed = checked(file, capfd, more)
    assert f"one name in two Unicode forms: '{ZOE}'" in printed
    assert f"'{ZOE}' 0.5" in printed


def test_forms_in_parquet_and_events(tmp_path: Path) -> None:
    frame = pd.DataFrame({"source": [ZOE, OTHER_ZOE], "target": ["bob", "cat"]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert read_network(tmp_path / "a.parquet").n == 3
    assert f"one name in two Unicode forms: '{ZOE}'" in str(describe_network_file(tmp_path / "a.parquet"))
    file = write(tmp_path, "a.csv", f"time,source,target\n1,{ZOE},bob\n2,{OTHER_ZOE},cat\n")
    assert read_contacts(file).labels == (ZOE, "bob", "cat")
    assert read_events(file, labels=[OTHER_ZOE, "bob", "cat"]).labels == (ZOE, "bob", "cat")
    assert f"one name in two Unicode forms: '{ZOE}'" in str(describe_events_file(file))


def test_forms_in_memory() -> None:
    with pytest.warns(UserWarning, match=f"one name in two Unicode forms: '{ZOE}'"):
        network = Network.from_edges([(ZOE, "bob"), (OTHER_ZOE, "cat")])
    assert network.labels == (ZOE, "bob", "cat")
    assert path(2).relabelled([OTHER_ZOE, "bob"]).labels == (ZOE, "bob")
    assert network.index(OTHER_ZOE) == network.index(ZOE) == 0
    assert Model(network, {OTHER_ZOE: 1.0, "bob": 2.0, "cat": 3.0}).x0.tolist() == [1.0, 2.0, 3.0]
    topical = network.with_topics([OTHER_ZOE, "tax"])
    assert topical.index((OTHER_ZOE, OTHER_ZOE)) == 0
    # Nodes of a graph cannot be merged without losing one of them.
    for graph in (nx.Graph([(ZOE, "bob"), (OTHER_ZOE, "bob")]), nx.DiGraph([(ZOE, OTHER_ZOE)])):
        with pytest.raises(NetworkError, match=f"labels must differ, got repeated '{ZOE}'"):
            Network.from_networkx(graph)
    adjacency = pd.DataFrame(path(2).adjacency.toarray(), index=[ZOE, "bob"], columns=[OTHER_ZOE, "bob"])
    assert Network(adjacency).labels == (ZOE, "bob")


def test_forms_in_snapshots() -> None:
    network = TemporalNetwork.from_snapshots([nx.Graph([(ZOE, "bob")]), nx.Graph([(OTHER_ZOE, "bob")])])
    assert network.labels == (ZOE, "bob")


def test_forms_in_graph_files(tmp_path: Path) -> None:
    file = tmp_path / "a.graphml"
    nx.write_graphml(nx.Graph([(OTHER_ZOE, "bob")]), file)
    assert read_network(file).labels == (ZOE, "bob")
    nx.write_graphml(nx.Graph([(ZOE, "bob"), (OTHER_ZOE, "bob")]), file)
    for reads in (read_network, describe_network_file):
        with pytest.raises(NetworkError, match=f"different identifiers, got '{ZOE}' twice"):
            reads(file)


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_forms_in_outputs(layout: str, tmp_path: Path) -> None:
    model = Model(path(2).relabelled([ZOE, "bob"]), [1.0, 2.0])
    rows = (
        f"time,agent,public\n1,{OTHER_ZOE},0.5\n1,bob,0.7\n" if layout == "long" else f"time,{OTHER_ZOE},bob\n1,.5,.7\n"
    )
    seen = read_outputs(write(tmp_path, "seen.csv", rows), model).runs[""]
    assert np.asarray(seen.states).tolist() == [[[0.5, 0.7]]]


def test_forms_of_a_topic_are_one() -> None:
    model = Model(path(2).relabelled(["ann", "bob"]), [1.0, 2.0])
    rows = [(1, "ann", 0.5, ZOE), (1, "bob", 0.7, OTHER_ZOE)]
    frame = pd.DataFrame(rows, columns=["time", "agent", "public", "topic"])
    assert np.asarray(simulate(model, 1).from_dataframe(frame, model).states).tolist() == [[[0.5, 0.7]]]


# Headings


AGAIN = {
    "the same": "source,target\nann,bob\nsource,target\nbob,cat\n",
    "in other letters": "source,target\nann,bob\nSource,Target\nbob,cat\n",
    "with a weight": "source,target,note,weight\nann,bob,x,1\nsource,target,note,weight\nbob,cat,y,2\n",
    "numbers": "source,target\n1,2\n2,3\nsource,target\n3,4\n",
    "no heading above": "ann,bob\nbob,cat\nsource,target\ncat,dan\n",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_repeated_heading_is_no_edge(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, "friends.csv", AGAIN[name])
    line = next(k for k, row in enumerate(AGAIN[name].splitlines(), 1) if k > 1 and row.casefold().startswith("source"))
    for reads in (read_network, describe_network_file):
        with pytest.raises(FileFormatError, match=rf"line {line} must be an edge, got a heading.*; remove the line"):
            reads(file)


def test_an_unknown_heading_that_repeats_is_no_edge(tmp_path: Path) -> None:
    file = write(tmp_path, "friends.csv", "person_a,person_b\nann,bob\nperson_a,person_b\nbob,cat\n")
    for reads in (read_network, describe_network_file):
        with pytest.raises(FileFormatError, match=r"clear whether line 1 is a heading.*'person_a' and 'person_b'"):
            reads(file)


def test_agents_with_numbers_are_no_heading(tmp_path: Path) -> None:
    # The first edge would be lost.
    for line in ("agent1 agent2\nagent2 agent3\nagent3 agent1\n", "Node_A,Node_B\nNode_C,Node_A\n"):
        file = write(tmp_path, "friends.txt", line)
        for reads in (read_network, describe_network_file):
            with pytest.raises(FileFormatError, match=r"clear whether line 1 is a heading.*an agent below"):
                reads(file)
    # Below a heading, and in the middle of a list without one, such names are those of agents.
    assert read_network(write(tmp_path, "a.csv", "source,target\nagent1,agent2\n")).labels == ("agent1", "agent2")
    assert read_network(write(tmp_path, "a.csv", "ann,agent1\nagent1,agent2\nann,bob\n")).n == 4


def test_repeated_headings_of_other_tables(tmp_path: Path) -> None:
    contacts = write(tmp_path, "contacts.csv", "time,source,target\n1,ann,bob\ntime,source,target\n2,bob,cat\n")
    with pytest.raises(FileFormatError, match="line 3 must be an event, got a heading"):
        describe_events_file(contacts)
    model = Model(path(2).relabelled(["ann", "bob"]), [1.0, 2.0])
    outputs = write(tmp_path, "seen.csv", "time,agent,public\n1,ann,0.5\ntime,agent,public\n1,bob,0.7\n")
    with pytest.raises(FileFormatError, match="line 3 must be a row, got a heading"):
        read_outputs(outputs, model)
    frame = pd.DataFrame({"source": ["ann", "source", "bob"], "target": ["bob", "target", "cat"]})
    with pytest.raises(NetworkError, match="row 2 must be an edge, got a heading"):
        Network.from_edges(frame)
    frame.to_parquet(tmp_path / "friends.parquet")
    with pytest.raises(FileFormatError, match="row 2 must be an edge, got a heading"):
        read_network(tmp_path / "friends.parquet")


def test_a_repeated_heading_of_people_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, "friends.csv", "source,target\nann,bob\n")
    write(tmp_path, "people.csv", "name,opinion\nann,1\nname,opinion\nbob,2\n")
    scenario = '[network]\nfile = "friends.csv"\n[agents]\nhidden = { file = "people.csv", column = "opinion" }\n'
    file = write(tmp_path, "a.toml", scenario + "[run]\nsteps = 5\n")
    assert cli.invoke(["check", str(file)]) == 2
    assert "line 3 must be a row, got a heading" in capfd.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt"])
def test_agents_that_are_called_as_the_columns_are_not_written_as_a_heading(suffix: str, tmp_path: Path) -> None:
    network = path(3).relabelled(["source", "target", "cat"])
    with pytest.raises(NetworkError, match=r"'source' and 'target'.*npz"):
        write_network(network, tmp_path / f"a{suffix}")
