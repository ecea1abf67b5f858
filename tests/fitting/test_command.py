"""``peerpressure response``: the answer first, from tables as people have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.calling import run
from tests.fitting.records import groups, ring

Captured = pytest.CaptureFixture[str]


def test_the_answer_comes_first_and_then_the_rounds(tmp_path: Path, capfd: Captured) -> None:
    groups(0.4, seed=5).to_csv(tmp_path / "answers.csv", index=False)
    told = run(capfd, "response", str(tmp_path / "answers.csv"), "--first", "before", "--permutations", "199")
    assert told.status == 0
    assert told.out.startswith("People respond to what they see: on average they move 0.4")
    assert "weight" in told.out
    # The columns are explained below their headings.
    table = told.out.partition("share low")[2]
    assert "the share is the part of an answer that others make up" in table
    assert "Intervals are at 95 %." in table
    assert "group from 'group', question from 'question'" in told.out


def test_a_survey_with_a_column_for_each_wave_and_friends_for_each_wave(tmp_path: Path, capfd: Captured) -> None:
    rng = np.random.default_rng(1)
    said = pd.DataFrame(rng.integers(1, 6, (30, 3)), columns=["wave1", "wave2", "wave3"])
    said.assign(person=[f"p{k}" for k in range(30)]).to_csv(tmp_path / "survey.csv", index=False)
    edges = [(t, f"p{i}", f"p{j}") for t in (1, 2, 3) for i, j in zip(*np.nonzero(ring(28)), strict=True)]
    pd.DataFrame(edges, columns=["wave", "source", "target"]).to_csv(tmp_path / "friends.csv", index=False)
    line = ["response", str(tmp_path / "survey.csv"), "--network", str(tmp_path / "friends.csv"), "--directed"]
    told = run(capfd, *line, "--first", "after", "--permutations", "199")
    assert (told.status, told.err) == (0, "")
    assert told.out.startswith("These data cannot tell whether people respond to what they see")
    assert "2 of 30 people saw nobody." in told.out
    # Among people who knew each other, three waves have no weight of one round.
    assert "nan" not in told.out
    assert "round " not in told.out.replace("each round", "")
    assert run(capfd, *line).err.startswith("peerpressure: Missing option '--first'")


def test_few_rows_are_asked_about_before_people_without_ties_are(tmp_path: Path, capfd: Captured) -> None:
    rng = np.random.default_rng(1)
    said = pd.DataFrame(rng.integers(1, 6, (12, 3)), columns=["wave1", "wave2", "wave3"])
    said.assign(person=[f"p{k}" for k in range(12)]).to_csv(tmp_path / "survey.csv", index=False)
    edges = [(f"p{i}", f"p{j}") for i, j in zip(*np.nonzero(ring(10)), strict=True)]
    pd.DataFrame(edges, columns=["source", "target"]).to_csv(tmp_path / "friends.csv", index=False)
    line = ["compare", str(tmp_path / "survey.csv"), "--network", str(tmp_path / "friends.csv"), "--directed"]
    assert run(capfd, *line).err.startswith("peerpressure: 5 waves of answers or fewer tell whether people respond")
