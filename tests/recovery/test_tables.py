"""Answers from elsewhere: data frames and CSV files, whole, with holes, and wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, recover

NETWORK = pp.Network([[0, 1, 0], [1, 0, 2], [0, 2, 0]], labels=["ann", "bob", "cat"])
MODEL = pp.Model(NETWORK, hidden=[0.0, 1.0, 2.0], noise=pp.Gaussian(0.5))


def test_a_run_comes_back_from_its_own_table() -> None:
    run = pp.simulate(MODEL, 8, 3, seed=1)
    back = pp.Trajectory.from_dataframe(run.to_dataframe(), MODEL)
    for name in ("replicates", "times", "agents", "states"):
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name))
    np.testing.assert_array_equal(back.final.public, run.final.public)
    np.testing.assert_array_equal(recover(back, MODEL).value, recover(run, MODEL).value)


def test_wide_tables_and_files(tmp_path: Path) -> None:
    run = pp.simulate(MODEL, 8, seed=1)
    assert run.states is not None
    wide = pd.DataFrame(run.states[0], columns=run.labels).assign(time=run.times)
    np.testing.assert_array_equal(pp.Trajectory.from_dataframe(wide, MODEL).states, run.states)
    wide.to_csv(tmp_path / "wide.csv", index=False)
    back = pp.Trajectory.from_csv(tmp_path / "wide.csv", MODEL).states
    np.testing.assert_array_equal(np.asarray(back), run.states)  # bit for bit


def test_whole_numbers_are_labels_in_files_too(tmp_path: Path) -> None:
    model = pp.Model(pp.networks.path(3), hidden=[0.0, 1.0, 2.0])
    run = pp.simulate(model, 3)
    assert run.states is not None
    pd.DataFrame(run.states[0]).assign(time=run.times).to_csv(tmp_path / "wide.csv", index=False)
    back = pp.Trajectory.from_csv(tmp_path / "wide.csv", model).states
    np.testing.assert_allclose(np.asarray(back), run.states)


def test_what_is_missing_becomes_a_gap() -> None:
    run = pp.simulate(MODEL, 8, seed=1)
    rows = run.to_dataframe()
    rows.loc[5, "public"] = None
    rows = rows.drop(index=[10, 11])
    part = pp.Trajectory.from_dataframe(rows, MODEL)
    assert part.states is not None
    assert np.isnan(part.states).sum() == 3
    estimate = recover(part, MODEL, "ols")
    assert estimate.identified.all()
    with pytest.raises(pp.errors.InvalidInputError, match="3 missing ones"):
        recover(part, MODEL, "innovations")
    assert recover(part, MODEL).method == "kalman"


def test_agents_and_the_start_may_be_absent() -> None:
    run = pp.simulate(MODEL, 8, 2, seed=1)
    rows = run.to_dataframe().query("time >= 3 and agent != 'bob'")
    part = pp.Trajectory.from_dataframe(rows, MODEL)
    assert part.labels == ["ann", "cat"]
    assert np.isnan(part.final.public[:, 1]).all()
    view = Observation(agents=["ann", "cat"], first_step=3)
    np.testing.assert_allclose(recover(part, MODEL, "ols").value, recover(run, MODEL, "ols", view).value)


GOOD: dict[str, list[Any]] = {"time": [1, 1, 2], "agent": ["ann", "bob", "ann"], "public": [0.1, 0.2, 0.3]}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no time": ({"when": [1], "ann": [0.5]}, "a column 'time'.* got 1 rows with columns 'when', 'ann'"),
    "no rows": ({"time": [], "ann": []}, "at least one row"),
    "duplicate": (GOOD | {"time": [1, 1, 1]}, "one answer at a time, got row 0, 2;"),
    "unknown column": ({"time": [1], "dan": [0.5]}, "model's network, got column 'dan';"),
    "text": (GOOD | {"public": [0.1, "high", "low"]}, "public must be a number, got 'high' in row 1, 2;"),
    "infinite": (GOOD | {"public": [0.1, np.inf, 0.2]}, "public must be a number, got inf in row 1;"),
    "no step": (GOOD | {"time": [1, None, 2]}, "time must be a whole number"),
    "replicate": (GOOD | {"replicate": [0, "x", 0]}, "replicate must be a whole number, 0 or more, got 'x' in row 1;"),
}


@pytest.mark.parametrize("case", BAD)
def test_refuses(case: str) -> None:
    table, words = BAD[case]
    with pytest.raises(pp.errors.InvalidInputError, match=words):
        pp.Trajectory.from_dataframe(pd.DataFrame(table), MODEL)


def test_many_bad_rows_are_counted() -> None:
    table = pd.DataFrame({"time": range(1, 10), "ann": ["?"] * 9})
    with pytest.raises(pp.errors.InvalidInputError, match=r"row 0, 1, 2, 3, 4 and 4 more"):
        pp.Trajectory.from_dataframe(table, MODEL)


def test_files_name_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "outputs.csv"
    path.write_text("time,ann,bob\n1,0.1,0.2\n2,0.1,high\n")
    with pytest.raises(pp.errors.InvalidInputError, match="'high' of agent bob in row 3"):
        pp.Trajectory.from_csv(path, MODEL)


def test_tables_have_the_replicates_numbers_of_the_run() -> None:
    run = pp.simulate(MODEL, 12, replicates=[3, 7], seed=1)
    estimate = recover(run, MODEL)
    assert estimate.diagnostics is not None
    tables = [run.to_dataframe(), estimate.to_dataframe(), estimate.diagnostics.to_dataframe()]
    tables += [estimate.diagnostics.agents, estimate.diagnostics.lags]
    assert [table["replicate"].unique().tolist() for table in tables] == [[3, 7]] * 5
    # The same rows as of a run of all replicates.
    every = recover(pp.simulate(MODEL, 12, 8, seed=1), MODEL).to_dataframe()
    same = every[every["replicate"].isin([3, 7])].reset_index(drop=True)
    pd.testing.assert_frame_equal(estimate.to_dataframe(), same, check_dtype=False)


def test_problems_of_a_table_with_a_column_for_each_agent_name_agents_and_rows_in_order() -> None:
    table = pd.DataFrame({"time": [1, 2, 3], "ann": [0.1, 0.2, "x"], "bob": ["y", 0.1, 0.2], "cat": [0.3, 0.4, 0.5]})
    with pytest.raises(pp.errors.InvalidInputError, match="must be a number, got 'y' of agent bob in row 0, 2; "):
        pp.Trajectory.from_dataframe(table, MODEL)
    named = table.rename(columns={"cat": "zoe"}).assign(ann=0.1, bob=0.2)
    with pytest.raises(pp.errors.InvalidInputError, match="ones of the model's network, got column 'zoe'; "):
        pp.Trajectory.from_dataframe(named, MODEL)
    # Rows of a tidy table may have numbers that repeat, and still are rows.
    tidy = pd.DataFrame({"time": [1, 2], "agent": ["ann", "zoe"], "public": [0.1, 0.2]}, index=[5, 5])
    with pytest.raises(pp.errors.InvalidInputError, match="got 'zoe' in row 5; "):
        pp.Trajectory.from_dataframe(tidy, MODEL)
