"""Observed outputs as other programs write them go to the agents who showed them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.measures import read_outputs

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
    flowing = read_outputs(file, equation).runs[""]
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


REFUSED = {
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
