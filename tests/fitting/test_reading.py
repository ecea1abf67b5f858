"""Tables of answers in groups, and networks of groups and waves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.fitting import response
from peerpressure.fitting.group_reading import group_panel
from tests.fitting.records import groups, matrix, ring


def test_a_table_and_a_data_frame_are_read_alike(tmp_path: Path) -> None:
    table = groups(0.3, count=3)
    table.to_csv(tmp_path / "answers.csv", index=False)
    here, notes = group_panel(table, None, "before")
    there, _ = group_panel(str(tmp_path / "answers.csv"), None, "before")
    assert notes == ()
    assert np.array_equal(here.answers, there.answers)
    assert np.array_equal(here.seen, there.seen, equal_nan=True)
    assert here.group.tolist() == here.cluster.tolist() == [k for k in range(3) for _ in range(15)]
    assert set(here.stratum) == {0}
    said = matrix(table)
    assert np.allclose(np.corrcoef(here.answers.ravel(), said.ravel())[0, 1], 1)


def test_columns_have_usual_names_or_are_named() -> None:
    table = groups(0.3, count=3)
    usual = table.rename(columns={"group": "Trial", "question": "task", "agent": "person", "time": "round",
                                  "public": "answer", "seen": "exposure"})  # fmt: skip
    own = table.rename(columns={"group": "table_number", "question": "which", "seen": "told"})
    expected = group_panel(table, None, "before")[0]
    for panel in (
        group_panel(usual, None, "before")[0],
        group_panel(own, None, "before", group="table_number", question="which", seen="told")[0],
    ):
        assert np.array_equal(panel.answers, expected.answers)
        assert np.array_equal(panel.group, expected.group)
    with pytest.raises(InvalidInputError, match="one column 'room'"):
        group_panel(table, None, "before", group="room")


def test_questions_have_units_of_their_own() -> None:
    one, other = groups(0.3, count=3), groups(0.3, count=3, seed=2).assign(question="r")
    scaled = other.assign(public=1000 * other["public"] - 7, seen=1000 * other["seen"] - 7)
    plain, large = (group_panel(pd.concat([one, each]), None, "before")[0] for each in (other, scaled))
    assert np.allclose(plain.answers, large.answers)
    assert np.allclose(plain.seen, large.seen, equal_nan=True)
    # People of the same group and name who answer another question are others, and errors go by group.
    assert plain.n == 90
    assert len(set(plain.group)) == 6
    assert len(set(plain.cluster)) == 3


def test_people_see_those_of_the_network_who_answered() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        [(t, name, rng.normal()) for t in (1, 2, 3) for name in "abcdefghij" if not (t == 1 and name == "b")],
        columns=["time", "agent", "public"],
    )
    network = pp.Network.from_edges([("a", "b"), ("a", "c"), ("c", "zed"), ("d", "e")])
    panel, notes = group_panel(table, network, "before")
    names = {name: k for k, name in enumerate(panel.labels)}
    # b did not answer in round 1, so a saw c alone, and b is not used.
    assert panel.seen[1, names["a"]] == panel.answers[0, names["c"]]
    assert panel.seen[2, names["a"]] == pytest.approx(panel.answers[1, [names["b"], names["c"]]].mean())
    assert np.isnan(panel.seen[1:, names["j"]]).all()
    assert names["b"] not in panel.people
    assert notes == (
        "5 of 10 people saw nobody.",
        "1 agents of the network gave no answers.",
        "2 answers after a person's first missing one were not used.",
    )


def test_who_answered_another_question_of_the_group_is_no_stranger() -> None:
    rng = np.random.default_rng(1)
    rows = [("g", q, name, t, rng.normal()) for q, names in (("p", "abcdefgh"), ("q", "abcdijkl"))
            for name in names for t in (1, 2)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["group", "question", "agent", "time", "public"])
    network = pp.Network(ring(12), list("abcdefghijkl"), directed=True)
    assert not any("gave no answers" in note for note in group_panel(table, {"g": network}, "before")[1])


def test_networks_may_differ_by_group_and_by_wave(tmp_path: Path) -> None:
    table = groups(0.3, count=2, people=9).drop(columns="seen")
    forwards, backwards = ring(9, (1,)), ring(9, (1,)).T
    first, second = (pp.Network(each, [str(k) for k in range(9)], directed=True) for each in (forwards, backwards))
    by_group = group_panel(table, {"g0": first, "g1": [first, second]}, "before")[0]
    said = by_group.answers
    for t, sees in ((1, forwards), (2, forwards)):
        assert np.allclose(by_group.seen[t, :9], sees @ said[t - 1, :9])
    for t, sees in ((1, forwards), (2, backwards)):
        assert np.allclose(by_group.seen[t, 9:], sees @ said[t - 1, 9:])
    # With a network for each wave, that of the wave before counts.
    waves = group_panel(table, [first, second, first], "before")[0]
    assert np.allclose(waves.seen[2, 9:], backwards @ said[1, 9:])
    edges = [
        (group, t, i, int(np.flatnonzero(sees[i])[0]))
        for group, each in (("g0", (forwards, forwards)), ("g1", (forwards, backwards)))
        for t, sees in enumerate(each, 1)
        for i in range(9)
    ]
    pd.DataFrame(edges, columns=["group", "wave", "source", "target"]).to_csv(tmp_path / "edges.csv", index=False)
    from peerpressure.fitting.group_reading import graphs_of

    read = group_panel(table, graphs_of(tmp_path / "edges.csv", directed=True), "before")[0]
    assert np.allclose(read.seen, by_group.seen, equal_nan=True)
    # A group that is left out of a mapping saw nobody.
    assert np.isnan(group_panel(table, {"g0": first}, "before")[0].seen[:, 9:]).all()


def test_arrays_runs_and_a_network_are_one_group() -> None:
    network = pp.networks.barabasi_albert(20, 2, seed=1)
    run = pp.simulate(pp.Model(network, np.linspace(0, 1, 20), noise=pp.Gaussian(0.2)), 4, seed=1, record="all")
    assert run.states is not None
    panel = group_panel(run.states[0], network, "before")[0]
    assert panel.rows == 5
    assert np.array_equal(group_panel(run, network, "before")[0].answers, panel.answers)
    wide = pd.DataFrame(run.states[0], columns=[str(k) for k in range(20)]).assign(time=np.arange(1, 6))
    assert np.array_equal(group_panel(wide, network, "before")[0].answers, panel.answers)


GROUPS = groups(0.3, count=2, people=5)
ANSWERS = np.random.default_rng(0).normal(size=(3, 12))
NETWORK = pp.networks.cycle(12)


@pytest.mark.parametrize(
    ("data", "network", "options", "problem"),
    [
        (ANSWERS, None, {}, "a network, or a column 'seen', got neither"),
        (ANSWERS, "ring", {}, "ring"),
        (ANSWERS, 3, {}, "got int"),
        (GROUPS, NETWORK, {}, "from a column or from a network, got both"),
        (ANSWERS[:1], NETWORK, {}, "two rounds or more"),
        (np.tile(ANSWERS, (4, 1)), NETWORK, {}, "up to 10 rows, got 12"),
        (ANSWERS[:, :5], pp.networks.cycle(5), {}, "8 people or more"),
        (np.ones((3, 12)), NETWORK, {}, "answers must change"),
        (ANSWERS, pp.Network.from_edges([("a", "b")]), {}, "must be ones who answered, got none of a, b"),
        (ANSWERS, [NETWORK] * 5, {}, "each of the 3 waves"),
        (ANSWERS, NETWORK, {"first": "later"}, "first must be 'before'"),
        (ANSWERS, NETWORK, {"matter": 0}, "matter must be a weight between 0 and 1"),
        (ANSWERS, NETWORK, {"permutations": 5}, "permutations must be a whole number"),
        (ANSWERS, NETWORK, {"seed": -1}, "seed must be"),
        (ANSWERS, NETWORK, {"seen": "told"}, "a column 'told' of other data"),
        (GROUPS.drop(columns=["group", "question"]), None, {}, "another answer of '0' in the same round"),
        (GROUPS.assign(public="high"), None, {}, "the answer must be a number, or empty"),
        (GROUPS.assign(public=np.inf), None, {}, "the answer must be finite, or empty"),
    ],
)
def test_what_cannot_be_used_is_refused(data: Any, network: Any, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(pp.PeerPressureError, match=problem):
        response(data, network, **{"first": "before"} | options)


def test_signed_networks_are_refused() -> None:
    signed = pp.networks.rival_camps(12, 4)
    with pytest.raises(InvalidInputError, match="weights must be positive"):
        response(ANSWERS, signed, first="before")
