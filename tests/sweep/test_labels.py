"""Values of an axis may have labels, which the table shows in their place; results do not depend on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.scenario import ScenarioError, load_sweep
from peerpressure.sweep import Plan, collect, run_sweep
from tests.in_process import worker_here

from .units import PATH

__all__ = ["worker_here"]

SCENARIO = '[network]\ngenerator = "cycle"\nn = 6\n[run]\nsteps = 4\n'
SWEEP = """scenario = "scenario.toml"
[[axis]]
field = "network"
values = [{ generator = "cycle", n = 6 }, { generator = "complete", n = 6 }]
labels = ["ring", "all with all"]
[measure]
names = ["mean"]
"""


def written(folder: Path, sweep: str) -> Path:
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    (folder / "sweep.toml").write_text(sweep, encoding="utf-8")
    return folder / "sweep.toml"


@pytest.mark.usefixtures("worker_here")
def test_the_table_has_labels_in_place_of_sections(tmp_path: Path) -> None:
    plan = load_sweep(written(tmp_path, SWEEP)).plan
    run_sweep(plan, tmp_path / "out", workers=1)
    assert collect(tmp_path / "out")["network"].tolist() == ["ring", "all with all"]
    # Without labels it is JSON, of the same results: nothing is computed again.
    bare = load_sweep(written(tmp_path, SWEEP.replace("labels", "# labels"))).plan
    assert [unit.key for unit in bare.units] == [unit.key for unit in plan.units]
    before = {file: file.stat().st_mtime_ns for file in tmp_path.glob("out/units/*/*.json")}
    run_sweep(bare, tmp_path / "out", workers=1)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert collect(tmp_path / "out")["network"][0] == '{"generator": "cycle", "n": 6}'


@pytest.mark.usefixtures("worker_here")
def test_parts_of_a_sweep_merge_with_labels(tmp_path: Path) -> None:
    plan = Plan(f"{PATH}:noisy", axes={"a": [1, 2]}, labels={"a": ["one", "two"]})
    for number in (1, 2):
        run_sweep(plan.part(number, 2), tmp_path, workers=1)
    run_sweep(plan, tmp_path, workers=1)
    assert collect(tmp_path)["a"].unique().tolist() == ["one", "two"]


@pytest.mark.parametrize("labels", [{"b": ["x"]}, {"a": ["x"]}, {"a": ["x", "x"]}, {"a": "xy"}, {"a": ["x", ""]}])
def test_each_value_has_one_label(labels: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="label"):
        Plan(f"{PATH}:noisy", axes={"a": [1, 2]}, labels=labels)


@pytest.mark.parametrize(
    "wrong",
    [
        SWEEP.replace('"ring", ', ""),
        SWEEP.replace('"ring"', '"all with all"'),
        SWEEP.replace("values = [{", "# ").replace("labels", "range = { start = 1, stop = 2, count = 2 }\nlabels"),
    ],
)
def test_labels_in_a_file_belong_to_a_list_of_values(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="label"):
        load_sweep(written(tmp_path, wrong))
