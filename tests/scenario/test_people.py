"""Numbers of agents from a table go to the agents whose names stand beside them, or the table is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from peerpressure.scenario import ScenarioError, parse_scenario
from peerpressure.scenario.loading import findings

EDGES = "bob,cat\nann,bob\ncat,ann\n"  # the network's order is bob, cat, ann
RIGHT = {"ann": 1.0, "bob": 2.0, "cat": 3.0}


def hidden(folder: Path, people: str, *, edges: str = EDGES, network: str = "", how: str = "") -> dict[object, float]:
    """What each agent holds, by label, when the opinions come from this table."""
    (folder / "edges.csv").write_text(edges, encoding="utf-8")
    (folder / "people.csv").write_text(people, encoding="utf-8")
    source = network or "file='edges.csv'"
    text = f"[network]\n{source}\n[run]\nsteps=1\n[agents]\nhidden={{file='people.csv', column='opinion'{how}}}\n"
    model = parse_scenario(text, folder=folder).model()
    return dict(zip(model.network.labels, model.x0.tolist(), strict=True))


@pytest.mark.parametrize("column", ["agent", "name", "id", "label", "node", "Who?", ""])
def test_opinions_go_to_those_who_hold_them(column: str, tmp_path: Path) -> None:
    assert hidden(tmp_path, f"{column},opinion\nann,1\nbob,2\ncat,3\n") == RIGHT
    assert hidden(tmp_path, f"opinion,{column}\n3,cat\n1,ann\n2,bob\n") == RIGHT


@pytest.mark.parametrize(
    "people",
    [
        "name;opinion\nann;1,0\nbob;2,0\ncat;3,0\n",
        "\ufeffname\topinion\nann\t1\nbob\t2\ncat\t3\n",
        'name,remark,opinion\n"ann","says: ""no"",\ntwice",1\nbob,,2\ncat,,3\n',
        "name,Opinion \nann,1\nbob,2\ncat,3\n",
        "name,opinion\nann,1\nbob,2\ncat,3\ndan,\neve,5\n",  # dan and eve have no friends
        "name,copy,opinion\nann,ann,1\nbob,bob,2\ncat,cat,3\n",
    ],
    ids=["semicolons", "tabs", "quotes", "spelling", "others", "twice the same"],
)
def test_tables_of_many_hands(people: str, tmp_path: Path) -> None:
    assert hidden(tmp_path, people) == RIGHT


def test_labels_keep_their_zeros(tmp_path: Path) -> None:
    edges, people = "002,003\n001,002\n", "code,opinion\n001,1\n002,2\n003,3\n"
    assert hidden(tmp_path, people, edges=edges) == {"001": 1.0, "002": 2.0, "003": 3.0}
    edges, people = "2,3\n1,2\n", "code,opinion\n3,3\n2,2\n1,1\n"
    assert hidden(tmp_path, people, edges=edges) == {1: 1.0, 2: 2.0, 3: 3.0}


def test_row_numbers_are_no_labels(tmp_path: Path) -> None:
    people = '"","x","opinion"\n"1","p",3\n"2","q",1\n"3","r",2\n'  # as R writes them
    with pytest.raises(ScenarioError, match="must name the agents"):
        hidden(tmp_path, people, edges="2,3\n1,2\n")
    assert hidden(tmp_path, people.replace('""', '"id"'), edges="2,3\n1,2\n") == {1: 3.0, 2: 1.0, 3: 2.0}


def test_the_column_can_be_told(tmp_path: Path) -> None:
    people = "name,best friend,opinion\nann,bob,1\nbob,cat,2\ncat,ann,3\n"
    assert hidden(tmp_path, people) == RIGHT  # a name is a name
    assert hidden(tmp_path, people, how=", by='name'") == RIGHT
    assert hidden(tmp_path, people, how=", by='best friend'") == {"bob": 1.0, "cat": 2.0, "ann": 3.0}


def test_agents_without_labels_may_come_in_order(tmp_path: Path) -> None:
    ring = "generator='cycle'\nn=3"
    assert hidden(tmp_path, "opinion\n1\n2\n3\n", network=ring) == {0: 1.0, 1: 2.0, 2: 3.0}
    assert hidden(tmp_path, "age,opinion\n40,1\n30,2\n20,3\n", network=ring) == {0: 1.0, 1: 2.0, 2: 3.0}
    assert hidden(tmp_path, "opinion\n0,1\n0,2\n0,3\n", network=ring) == {0: 0.1, 1: 0.2, 2: 0.3}
    assert hidden(tmp_path, "node,opinion\n2,3\n0,1\n1,2\n", network=ring) == {0: 1.0, 1: 2.0, 2: 3.0}


RING = "generator='cycle'\nn=3"
REFUSED: dict[str, tuple[str, str, str, list[str]]] = {
    "no names": ("age,opinion\n40,1\n30,2\n20,3\n", "", "", ["name the agents", "'age'", "by ="]),
    "another spelling": (
        "name,opinion\nAnn,1\nbob,2\ncat,3\n",
        "",
        "",
        ["no row for 'ann'", "rows for others: 'Ann'"],
    ),
    "two columns of names": (
        "one,other,opinion\nann,bob,1\nbob,cat,2\ncat,ann,3\n",
        "",
        "",
        ["'one', 'other'", "by ="],
    ),
    "opinions twice": ("name,opinion,opinion\nann,1,2\nbob,2,3\ncat,3,4\n", "", "", ["one column 'opinion'"]),
    "names twice": ("nom,nom,opinion\nann,bob,1\nbob,cat,2\ncat,ann,3\n", "", ", by='nom'", ["one column 'nom'"]),
    "too few": ("opinion\n1\n2\n", RING, "", ["3", "2 rows"]),
    "too many": ("opinion\n1\n2\n3\n4\n", RING, "", ["3", "4 rows"]),
    "counted from 1": ("id,opinion\n1,1\n2,2\n3,3\n", RING, "", ["no row for 0", "rows for others: '3'", "from 0"]),
    "others among numbers": ("id,opinion\n0,1\n1,2\n2,3\n3,3\n", RING, "", ["rows for others: '3'"]),
    "numbered in another order": (
        "no,opinion\n2,1\n3,2\n1,3\n",
        RING,
        "",
        ["order of agents", "'no'", "sort the rows"],
    ),
    "an index in another order": (",opinion\n1,1\n0,2\n2,3\n", RING, "", ["order of agents", "sort the rows"]),
    "by chance": ("rank,opinion\n2,1\n0,2\n1,3\n", RING, "", ["'rank'", "by ="]),
    "more fields than names": ("name,opinion\nann,0,1\nbob,0,2\ncat,0,3\n", "", "", ["line 2", "3 fields"]),
    "ids of another form": (
        "id,opinion\n01,1\n02,2\n03,3\n",
        "",
        "",
        ["under 'id' '01', '02', '03'", "labels are 'bob'"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_whatever_leaves_a_doubt_is_refused(name: str, tmp_path: Path) -> None:
    people, network, how, fragments = REFUSED[name]
    with pytest.raises(ScenarioError) as caught:
        hidden(tmp_path, people, network=network, how=how)
    message = str(caught.value)
    assert all(fragment in message for fragment in ["agents.hidden", "people.csv", *fragments]), message
    assert message.count("\n") == 0


def test_every_part_of_the_agents_is_matched(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES, encoding="utf-8")
    (tmp_path / "people.csv").write_text("name;x\nann;0,1\nbob;0,2\ncat;0,3\n", encoding="utf-8")
    column = "{file='people.csv', column='x'}"
    text = f"[network]\nfile='edges.csv'\n[run]\nsteps=1\n[agents]\nhidden={column}\nstubbornness={column}\n"
    text += f"start={column}\nadaptation={{rate=0.5, adaptation_weight={column}}}\n"
    model = parse_scenario(text, folder=tmp_path).model()
    assert model.adaptation is not None
    expected = [{"ann": 0.1, "bob": 0.2, "cat": 0.3}[str(label)] for label in model.network.labels]
    for values in (model.x0, model.s, model.start_state, model.adaptation.adaptation_weight):
        np.testing.assert_array_equal(values, expected)


GRAPH = """graph [
  node [ id 1 label "bob" opinion 2 s 0.5 ]
  node [ id 2 label "cat" opinion 3 s 1 ]
  node [ id 3 label "ann" opinion 1 s 2.5 ]
  node [ id 4 label "dan" opinion 9 s 9 ]
  edge [ source 1 target 2 ]
  edge [ source 3 target 1 ]
]
"""


def test_attributes_of_a_graph_are_values_of_its_agents(tmp_path: Path) -> None:
    (tmp_path / "friends.gml").write_text(GRAPH)
    (tmp_path / "edges.csv").write_text(EDGES)
    network = "[network]\nfile='friends.gml'\nlargest_component=true\n[run]\nsteps=1\n[agents]\n"
    for hidden_of in ("{attribute='opinion'}", "{file='friends.gml', column='opinion'}"):
        text = f"{network}hidden={hidden_of}\nstubbornness={{attribute='s'}}\nstart={{attribute='opinion'}}\n"
        scenario = parse_scenario(text, folder=tmp_path)
        model = scenario.model()
        assert dict(zip(model.network.labels, model.x0.tolist(), strict=True)) == RIGHT
        assert model.s.tolist() == [0.5, 1.0, 2.5]
        assert (
            "matched by 'agent': 'bob' 2, 'cat' 3, 'ann' 1; left out, not in the network: 'dan'"
            in (findings(scenario)["agents.hidden"])
        )
        assert "agents by label" in findings(scenario)["network"]
        # The scenario that a run writes beside its results says the same.
        assert parse_scenario(scenario.to_toml()).model().x0.tolist() == model.x0.tolist()
    text = f"{network}adaptation={{rate=0.1, adaptation_weight={{attribute='w'}}}}\n"
    (tmp_path / "friends.gml").write_text(
        GRAPH.replace("s 2.5", "w 0.3").replace("s 0.5", "w 0.1").replace("s 1", "w 0")
    )
    adapting = parse_scenario(text, folder=tmp_path).model().adaptation
    assert adapting is not None
    np.testing.assert_array_equal(adapting.adaptation_weight, [0.1, 0.0, 0.3])


@pytest.mark.parametrize(
    ("network", "attribute", "says"),
    [
        ("file='friends.gml'\nlargest_component=true", "opinon", "got attributes 'opinion', 's'"),
        ("file='edges.csv'", "opinion", r"one of a network file \(\.graphml.*file and column"),
    ],
)
def test_attributes_that_no_graph_has(network: str, attribute: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "friends.gml").write_text(GRAPH)
    (tmp_path / "edges.csv").write_text(EDGES)
    text = f"[network]\n{network}\n[run]\nsteps=1\n[agents]\nhidden={{attribute='{attribute}'}}\n"
    with pytest.raises(ScenarioError, match=f"agents.hidden.*{says}"):
        parse_scenario(text, folder=tmp_path)
