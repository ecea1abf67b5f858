"""Scenarios with several topics: opinions by agent and topic, from lists, laws and tables, and their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from peerpressure.scenario import Experiment, ScenarioError, parse_scenario, results
from peerpressure.scenario._files import read_answers
from peerpressure.scenario.loading import findings

TRIANGLE = "[network]\nedges=[[0,1],[1,2],[2,0]]\nlabels=['ann','bob','cat']\n[run]\nsteps=20\nreplicates=2\n"
TOPICS = "[topics]\nnames=['tax','rent']\nmatrix=[[0.8,0.2],[0.5,0.5]]\n"
ROWS = [[0.1, 0.9], [0.5, 0.2], [0.7, 0.4]]


def test_opinions_from_lists_laws_and_tables(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("rent,name,tax,s\n0.2,bob,0.5,2\n0.9,ann,0.1,1\n0.4,cat,0.7,3\n")
    table = "hidden={file='people.csv',column=['tax','rent']}\nstubbornness={file='people.csv',column='s'}\n"
    for agents in (f"hidden={ROWS}\nstubbornness=[1,2,3]\n", table):
        scenario = parse_scenario(f"{TRIANGLE}{TOPICS}[agents]\n{agents}", folder=tmp_path)
        model = scenario.model()
        np.testing.assert_array_equal(model.network.by_topic(model.x0), ROWS)
        np.testing.assert_array_equal(model.s, [1, 1, 2, 2, 3, 3])
        assert "directed" not in findings(scenario).get("network", "")
        assert "0.1" in findings(scenario)["agents.hidden"]
        # What is written is read again as the same model.
        again = parse_scenario(scenario.to_toml(), folder=tmp_path).model()
        np.testing.assert_array_equal(again.x0, model.x0)
        assert again.network.labels == model.network.labels
    for zealots, expected in ("['bob']", [1, 1, 0, 0, 1, 1]), ("[['bob','rent']]", [1, 1, 1, 0, 1, 1]):
        part = f"[agents]\nstubbornness=[1,2,3]\nzealots={zealots}\n"
        degrees = parse_scenario(f"{TRIANGLE}{TOPICS}{part}").model().network.degrees
        np.testing.assert_array_equal(degrees > 0, expected)
    drawn = parse_scenario(
        f"{TRIANGLE}[topics]\nnames=['a','b','c']\n[agents]\nstubbornness={{law='uniform',low=1,high=2}}"
    )
    assert np.unique(drawn.model().x0).size == 9
    assert np.unique(drawn.model().s).size == 3


def test_results_name_the_topic(tmp_path: Path) -> None:
    asked = "[noise]\nlaw='gaussian'\nstd=0.1\n[observe]\nagents=[['ann','tax'],['bob','rent']]\nmethods=['kalman']\n"
    scenario = parse_scenario(f"{TRIANGLE}{TOPICS}[agents]\nhidden={ROWS}\n{asked}[privacy]\ninsiders=['cat']\n")
    experiment = Experiment(scenario)
    tables = results(experiment)
    assert list(tables["agents"].columns[:2]) == ["agent", "topic"]
    assert list(tables["estimates"].columns[2:4]) == ["agent", "topic"]
    assert tables["agents"]["seen"].tolist() == [True, False, False, True, False, False]
    np.testing.assert_array_equal(tables["agents"]["epsilon"].isna(), [False] * 4 + [True, True])
    file = tmp_path / "outputs.csv"
    experiment.run.to_dataframe().rename(columns={"topic": "question"}).to_csv(file, index=False)
    seen = read_answers(file, scenario.model())
    assert list(seen.runs) == [""]
    np.testing.assert_array_equal(seen.runs[""].states, experiment.run.states)
    wide = experiment.run.to_dataframe().pivot(index=["replicate", "time", "topic"], columns="agent", values="public")
    wide.reset_index().to_csv(file, index=False)
    np.testing.assert_array_equal(read_answers(file, scenario.model()).runs[""].states, experiment.run.states)
    # Designs that average are for the paper's networks; on others there is no such table, and no error.
    assert "frontier" not in tables


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("[topics]\n", "topics", "names or a matrix"),
        ("[topics]\nmatrix=[[1,0],[0.5,0.6]]\n", "topics", "1.1 for topic 1"),
        ("[topics]\nmatrix=[[1,0],[0.5]]\n", "topics", "2 rows of 2"),
        (f"{TOPICS}[agents]\nhidden=[0.1,0.2,0.3]\n", "agents.hidden", "3 agents and 2 topics"),
        (f"{TOPICS}[agents]\nhidden=[[0.1,0.2],[0.3]]\n", "agents.hidden", "one number for each"),
        (f"[agents]\nhidden={ROWS}\n", "agents.hidden", "shape"),
        (f"{TOPICS}[observe]\nagents=['eve']\n", "observe", "unknown 'eve'"),
        (f"{TOPICS}[observe]\nagents=[['ann','tax','rent']]\n", "observe.agents[0]", "2"),
    ],
)
def test_topics_that_do_not_fit(text: str, path: str, words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(TRIANGLE + text)
    [problem] = caught.value.problems
    assert problem.path == path
    assert words in problem.message


def test_topics_need_a_network_that_does_not_change() -> None:
    changing = "[network]\ngenerator='cycle'\nn=5\ndynamics={kind='failing_edges',probability=0.2}\n[run]\nsteps=9\n"
    with pytest.raises(ScenarioError, match="does not change"):
        parse_scenario(changing + TOPICS)
