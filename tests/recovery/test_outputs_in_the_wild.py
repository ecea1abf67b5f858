"""Observed outputs as other programs write them go to the agents who showed them."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.recovery import observations_of, read_observations
from peerpressure.scenario import read_answers

NETWORK = pp.Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["002", "001", "003"])
MODEL = pp.Model(NETWORK, hidden=[0.0, 1.0, 2.0], noise=pp.Gaussian(0.5))
RIGHT = [[[0.2, 0.1, 0.3], [0.5, np.nan, 0.6]]]  # in the network's order
TIDY = [("1", "001", "0.1"), ("1", "002", "0.2"), ("1", "003", "0.3"), ("2", "002", "0.5"), ("2", "003", "0.6")]


def tidy(names: str, separator: str = ",", comma: str = ".") -> str:
    rows = [separator.join((time, agent, public.replace(".", comma))) for time, agent, public in TIDY]
    return "\n".join([names, *rows]) + "\n"


TABLES = {
    "our names": tidy("time,agent,public"),
    "other names": tidy("Step,Name,Opinion"),
    "names unheard of": tidy("t,who,reading"),
    "semicolons": tidy("time;agent;public", ";", ","),
    "tabs": tidy("time\tnode\tvalue", "\t", ","),
    "wide": "time,001,002,003\n1,0.1,0.2,0.3\n2,,0.5,0.6\n",
    "wide with NA": "time;003;002;001\n1;0,3;0,2;0,1\n2;0,6;0,5;NA\n",
    "a remark": 'time,agent,remark,public\n1,001,"a, b",0.1\n1,002,,0.2\n1,003,,0.3\n2,002,,0.5\n2,003,,0.6\n',
}


@pytest.mark.parametrize("name", TABLES)
def test_outputs_are_of_those_who_showed_them(name: str, tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text(TABLES[name], encoding="utf-8")
    np.testing.assert_array_equal(np.asarray(pp.Trajectory.from_csv(file, MODEL).states), RIGHT)
    equation = pp.SDE(MODEL, step=0.5)
    file.write_text(TABLES[name].replace("\n2", "\n1.5" if ";" not in TABLES[name] else "\n1,5"), encoding="utf-8")
    flowing = read_answers(file, equation).runs[""]
    assert flowing.times.tolist() == [1.0, 1.5]
    np.testing.assert_array_equal(np.asarray(flowing.states), RIGHT)


@pytest.mark.parametrize("name", ["our names", "other names", "semicolons", "tabs", "wide", "a remark"])
def test_data_frames_have_the_same_names(name: str) -> None:
    text = TABLES[name]
    separator = next(sign for sign in "\t;," if sign in text)
    agents = dict.fromkeys(["agent", "node", "Name"], str)
    decimal = "," if separator != "," else "."
    frame = pd.read_csv(io.StringIO(text), sep=separator, decimal=decimal, dtype=agents)
    np.testing.assert_array_equal(np.asarray(pp.Trajectory.from_dataframe(frame, MODEL).states), RIGHT)


def test_two_names_for_one_role_are_refused() -> None:
    frame = pd.DataFrame({"time": [1], "id": ["001"], "name": ["001"], "public": [0.1]})
    with pytest.raises(pp.errors.InvalidInputError, match="one column must hold the agent, got 'id', 'name'"):
        pp.Trajectory.from_dataframe(frame, MODEL)


WAVES = {
    "waves": ("name,wave1,wave2\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "'wave1', 'wave2' as steps 1 to 2"),
    "the second wave first": (
        "id;W2;age;W1\n003;0,6;9;0,3\n002;0,5;8;0,2\n001;NA;7;0,1\n",
        "'W1', 'W2' as.*; not used: 'age'",
    ),
    "years": ("Who?,2019,2021\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "agent from 'Who\\?'.*'2019', '2021' as steps 1"),
    "months": (
        ",2024-01,2024-02\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n",
        "agent from column 1, .* '2024-01', '2024-02' as",
    ),
    "days": ("person,2024-01-31,2024-02-29\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "'2024-02-29' as steps 1 to 2"),
    "a question": ("pupil,trust_t0,trust_t6\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "'trust_t0', 'trust_t6' as"),
    "a question behind": ("node,w1_trust,w2_trust\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "'w1_trust', 'w2_trust'"),
    "questions of years": (
        "node,trust_2019,trust_2021\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n",
        "'trust_2021' as steps 1 to",
    ),
    "reshape() of R": (
        "node,trust.1,trust.2\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n",
        "'trust.1', 'trust.2' as steps 1 to 2",
    ),
    "years of R": ("node,X2019,X2021\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n", "'X2019', 'X2021' as steps 1 to 2"),
    "days of R": (
        "node,X2024.01.31,X2024.02.29\n001,0.1,\n002,0.2,0.5\n003,0.3,0.6\n",
        "'X2024.02.29' as steps 1 to 2",
    ),
    "a wave without answers": ("node,w1,w2,w4\n001,0.1,,\n002,0.2,0.5,\n003,0.3,0.6,1\n", "'w4' as steps 1, 2, 4"),
}


@pytest.mark.parametrize("name", WAVES)
def test_a_row_for_each_person_and_a_column_for_each_wave(name: str, tmp_path: Path) -> None:
    text, says = WAVES[name]
    file = tmp_path / "observed.csv"
    file.write_text(text, encoding="utf-8")
    seen = read_answers(file, MODEL)
    assert re.search(says, seen.description), seen.description
    frame = pd.read_csv(file, sep=";" if ";" in text else ",", decimal="," if ";" in text else ".", dtype={0: str})
    for run in (
        seen.runs[""],
        observations_of(frame, MODEL),
        observations_of(frame.set_index(frame.columns[0]), MODEL),
    ):
        np.testing.assert_array_equal(np.asarray(run.states)[:, :2], RIGHT)
        assert run.times.tolist() == ([1, 2, 4] if "w4" in text else [1, 2])


@pytest.mark.parametrize("headings", [("Q1 2021", "Q2 2021"), ("May 2021", "June 2021")])
def test_the_first_remedy_for_unknown_headings_is_to_call_them_waves(headings: tuple[str, str], tmp_path: Path) -> None:
    path = tmp_path / "survey.csv"
    path.write_text(f"name,{','.join(headings)}\nann,1,2\nbob,2,3\n")
    with pytest.raises(
        pp.errors.InvalidInputError, match=r"'time' or columns of waves, got .*; call waves wave1, wave2"
    ):
        observations_of(path)


def test_waves_are_numbered_unless_steps_have_a_length(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text("name,2024-01-31,2024-02-29,2024-03-31\n001,1,2,3\n", encoding="utf-8")
    assert read_answers(file, MODEL, "1 day").runs[""].times.tolist() == [1, 30, 61]
    with pytest.raises(
        pp.errors.InvalidInputError, match=r"steps of 30 days.*a step of 1 day fits.*'wave' numbers them"
    ):
        read_answers(file, MODEL, "30 days")
    assert read_answers(file, MODEL, "wave").runs[""].times.tolist() == [1, 2, 3]
    # The same dates in rows.
    file.write_text("date,001\n2024-01-31,1\n2024-02-29,2\n2024-03-31,3\n", encoding="utf-8")
    seen = read_answers(file, MODEL, "wave")
    assert seen.runs[""].times.tolist() == [1, 2, 3]
    assert seen.description.endswith("3 times, numbered in their order, 2024-01-31 is step 1")
    file.write_text("name,w1,w2\n001,1,2\n", encoding="utf-8")
    with pytest.raises(pp.errors.InvalidInputError, match="all times must be dates if one is"):
        read_answers(file, MODEL, "1 day")


def test_an_index_of_rows_is_nobody(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    wide = ",time,001,002,003\n0,1,0.1,0.2,0.3\n1,2,,0.5,0.6\n"
    for text in (
        wide,
        *(name + wide for name in ("X", "rownames", "row", "index", "level_0")),
        "Unnamed: 0" + re.sub(r"\n(?=\d)", "\n7,", tidy(",time,agent,public")),
    ):
        file.write_text(text, encoding="utf-8")
        np.testing.assert_array_equal(np.asarray(pp.Trajectory.from_csv(file, MODEL).states), RIGHT)
        frame = pd.read_csv(file, dtype={"agent": str})
        np.testing.assert_array_equal(np.asarray(pp.Trajectory.from_dataframe(frame, MODEL).states), RIGHT)


def test_waves_have_topics(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text("name,topic,w1,w2\n001,tax,0.1,0.2\n001,rent,0.3,0.4\n", encoding="utf-8")
    runs = read_answers(file, MODEL).runs
    assert {topic: np.asarray(run.states).ravel().tolist() for topic, run in runs.items()} == {
        "tax": [0.1, 0.2],
        "rent": [0.3, 0.4],
    }


def test_without_a_network_all_but_keys_and_an_index_are_agents(tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    index = ",time,ann,bob\n0,1,1,3\n1,2,2,4\n"
    for text in (
        index,
        index.replace("\n0,", "\n0.0,").replace("\n1,", "\n1.0,"),
        "name,w1,w2\nann,1,2\nbob,3,4\n",
        ",w1,w2\nann,1,2\nbob,3,4\n",
    ):
        file.write_text(text, encoding="utf-8")
        run, words = read_observations(file)
        assert run.model.network.labels == ("ann", "bob")
        assert np.asarray(run.states).tolist() == [[[1, 3], [2, 4]]]
        assert ("a column for each of 2 agents, 'ann', 'bob'" in words) == ("time" in text)
        assert observations_of(pd.read_csv(file)).model.network.labels == ("ann", "bob")


@pytest.mark.parametrize("name", ["X", "rownames", "row", "index", "level_0", "Row"])
def test_a_column_that_numbers_rows_is_no_agent(name: str, tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text(f"{name},time,ann,bob\n1,1,1,3\n2,2,2,4\n", encoding="utf-8")
    for data in (file, pd.read_csv(file)):
        assert observations_of(data).model.network.labels == ("ann", "bob")
    # But in a network that knows somebody of this name.
    model = pp.Model(pp.networks.path(3).relabelled([name, "ann", "bob"]), hidden=[0.0, 1.0, 2.0])
    assert np.asarray(observations_of(file, model).states).tolist() == [[[1, 1, 3], [2, 2, 4]]]
    assert np.asarray(observations_of(pd.read_csv(file), model).states).tolist() == [[[1, 1, 3], [2, 2, 4]]]


@pytest.mark.parametrize("name", ["n", "mean", "case"])
def test_counts_and_means_are_no_agents(name: str, tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text(f"time,{name},ann,bob\n1,1,1,3\n2,2,2,4\n3,3,2,5\n", encoding="utf-8")
    for data in (file, pd.read_csv(file)):
        with pytest.raises(pp.errors.InvalidInputError, match=f"whose answers a column has, got a column '{name}'"):
            observations_of(data)


@pytest.mark.parametrize("name", ["id", "person", ""])
def test_a_column_that_may_name_agents_is_no_agent(name: str, tmp_path: Path) -> None:
    file = tmp_path / "observed.csv"
    file.write_text(f"{name},time,ann,bob\n0.5,1,1,3\n0.7,2,2,4\n", encoding="utf-8")
    for data in (file, pd.read_csv(file).rename(columns={"Unnamed: 0": ""})):
        with pytest.raises(pp.errors.InvalidInputError, match=f"whose answers a column has, got a column '{name}'"):
            observations_of(data)


REFUSED = {
    "two questions": (
        "name,trust1,time1,answer1,time2,answer2\n001,1,2,3,4,5\n",
        ["'time1' and 'answer1'", "one question"],
    ),
    "numbers with gaps": ("name,0,30,92\n001,1,2,3\n", ["without gaps", "'0', '30', '92'", "wave1"]),
    "a wave twice": ("name,w1,W1\n001,1,2\n", ["waves must differ", "'W1' again"]),
    "a person twice": ("name,w1,w2\n001,1,2\n001,1,2\n", ["one answer at a time", "row 2, 3"]),
    "a stranger": ("name,w1,w2\n001,1,2\n009,1,2\n", ["'009' in row 3"]),
    "questions": ("name,q1,q2\n001,1,2\n", ["column 'time'", "wave1"]),
    "agents or waves": (",001,002\n001,1,2\n", ["columns are agents or waves", "'001', '002'", "a column 'time'"]),
    "times of day without signs": ("time,001\n0959,1\n1000,2\n", ["dates without signs", "0959"]),
    "short dates without signs": ("time,001\n240131,1\n240201,2\n", ["dates without signs", "240131"]),
    "equal headings of R": ("name,trust,trust.1,trust.2\n001,1,2,3\n", ["column 'time'", "wave1"]),
    "months without signs": ("time,001\n202312,1\n202401,2\n", ["dates without signs", "202312"]),
    "whose": ("time,reading\n1,0.1\n", ["'reading'"]),
    "which": ("time,agent,before,after\n1,001,0.1,0.2\n", ["'before', 'after'", "public"]),
    "two names": ("time,one,other,public\n1,001,002,0.1\n", ["'one', 'other'", "agent"]),
    "two decimal signs": ("time;agent;public\n1;001;0,1\n1;002;0.2\n", ["'0,1' on line 2", "one decimal sign"]),
    "too many fields": ("time,agent,public\n1,001,0,1\n", ["line 2", "4 fields"]),
    "an agent twice": ("time,001,002,001\n1,0.1,0.2,0.3\n", ["'001' twice"]),
    "nobody": ("time,agent,public\n1,1,0.1\n", ["'1' in row 2", "network"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_outputs_that_leave_a_doubt_are_refused(name: str, tmp_path: Path) -> None:
    text, fragments = REFUSED[name]
    file = tmp_path / "observed.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(pp.PeerPressureError) as caught:
        pp.Trajectory.from_csv(file, MODEL)
    assert all(fragment in str(caught.value) for fragment in ["observed.csv", *fragments]), caught.value
