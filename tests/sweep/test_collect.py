"""The table on disk: exact numbers, plain columns, clear refusals."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from peerpressure.errors import FileFormatError
from peerpressure.sweep import Plan, collect, run_sweep, write_table
from peerpressure.sweep._results import _frame

from .running import noisy_plan


def test_numbers_read_back_to_the_last_bit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 5e-324, -0.0, 1 / 3, math.inf, 1.7976931348623157e308, 2.5]
    table = _frame([], [{"x": value} for value in values])
    write_table(table, tmp_path / "table.csv")
    back = [line.split(",")[1] for line in (tmp_path / "table.csv").read_text().splitlines()[1:]]
    assert [float(text).hex() for text in back] == [value.hex() for value in values]


def test_whole_numbers_with_gaps_stay_whole(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = [{"x": 2**60 + 1, "y": 2**63 + 1, "z": None}, {"flag": True}]
    write_table(_frame(["x"], records), tmp_path / "table.csv")
    lines = (tmp_path / "table.csv").read_text().splitlines()
    assert lines == ["x,replication,y,z,flag", f"{2**60 + 1},,{2**63 + 1},,", ",,,,True"]


def test_columns_are_axes_replication_and_what_the_task_gave(tmp_path: Path) -> None:
    plan = noisy_plan(axes={"b": [[1, 2], {"c": 3}], "a": [2]}, replications=1)
    run_sweep(plan, tmp_path, workers=1)
    table = collect(tmp_path)
    assert list(table) == ["b", "a", "replication", "step", "value", "seed", "note", "extra"]
    assert list(table["b"].unique()) == ["[1, 2]", '{"c": 3}']
    assert list(table["seed"].dropna().unique()) == [unit.seed for unit in plan.units]


def test_other_kinds_of_file_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame({"x": [1]})
    with pytest.raises(FileFormatError, match=r"\.csv or \.parquet"):
        write_table(table, tmp_path / "table.xlsx")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileFormatError, match="pip install pyarrow"):
        write_table(table, tmp_path / "table.parquet")


def test_parquet_reads_back(tmp_path: Path) -> None:
    table = _frame(["a"], [{"a": 1, "x": 0.1}, {"a": 2, "x": 1 / 3}])
    write_table(table, tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), table)


def test_a_plan_without_axes_is_one_unit(tmp_path: Path) -> None:
    run_sweep(Plan("tests.sweep.units:bulky", base={"a": 3}), tmp_path, workers=1)
    assert collect(tmp_path).to_dict("list") == {"replication": [0], "text": ["xxx"]}
