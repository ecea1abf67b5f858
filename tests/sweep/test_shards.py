"""Parts of a sweep run at the same time in one folder, are killed, and merge into the table of a whole run."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerpressure import cli
from peerpressure.errors import InvalidInputError
from peerpressure.sweep import MissingSweepError, Plan, SweepBusyError, collect, run_sweep
from peerpressure.sweep._ledger import holding
from tests.waiting import wait_for_end, wait_until

from .running import csv, noisy_plan, parent, results
from .units import PATH


def test_parts_have_all_units_once() -> None:
    plan = noisy_plan()
    parts = [plan.part(k, 5) for k in range(1, 6)]
    assert sorted(unit for part in parts for unit in part.units) == sorted(plan.units)
    assert [len(part) for part in parts] == [len(part.units) for part in parts] == [5, 5, 5, 5, 4]


@pytest.mark.parametrize("shard", [(0, 2), (3, 2), (1, 0), (True, 2), (1.0, 2)])
def test_a_part_must_be_one_of_all(shard: tuple[int, int]) -> None:
    with pytest.raises(InvalidInputError, match="part"):
        noisy_plan().part(*shard)


def test_parts_merge_into_the_table_of_a_whole_run(tmp_path: Path) -> None:
    plan = noisy_plan()
    run_sweep(plan, tmp_path / "whole", workers=1)
    for number in (2, 3, 1):
        state = run_sweep(plan.part(number, 3), tmp_path / "parts", workers=1)
        assert state.total == state.done == 8
    with pytest.raises(MissingSweepError, match="the parts of a sweep must be merged"):
        collect(tmp_path / "parts")
    before = {file: file.stat().st_mtime_ns for file in tmp_path.glob("parts/units/*/*.json")}
    assert run_sweep(plan, tmp_path / "parts", workers=1).done == 24
    assert csv(tmp_path / "parts") == csv(tmp_path / "whole")
    # Nothing is computed twice, and nothing of the parts is left.
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert sorted(entry.name for entry in (tmp_path / "parts").iterdir()) == sorted(
        entry.name for entry in (tmp_path / "whole").iterdir()
    )


def test_parts_run_at_the_same_time_and_survive_kills(tmp_path: Path) -> None:
    plan = Plan(f"{PATH}:gated", base={"gate": str(tmp_path / "gate")}, axes={"a": list(range(9))})
    folder = tmp_path / "parts"
    with parent(plan, folder, shard=(1, 2), workers=1) as one, parent(plan, folder, shard=(2, 2), workers=1) as other:
        wait_until(lambda: results(folder) >= 3, "three results")
        # Neither part may be disturbed by a run of the whole sweep, nor by a second process for the same part.
        with pytest.raises(SweepBusyError):
            run_sweep(plan, folder, workers=1)
        with pytest.raises(SweepBusyError, match="1-of-2"):
            run_sweep(plan.part(1, 2), folder, workers=1)
        one.kill()
        (tmp_path / "gate").touch()
        assert wait_for_end(other) == 0
    run_sweep(plan.part(1, 2), folder, workers=1)
    run_sweep(plan, folder, workers=1)
    run_sweep(plan, tmp_path / "whole", workers=1)
    assert csv(folder) == csv(tmp_path / "whole")
    assert not list(tmp_path.rglob("*.part"))


def test_the_whole_sweep_locks_its_parts_out(tmp_path: Path) -> None:
    with holding(tmp_path), pytest.raises(SweepBusyError):
        run_sweep(noisy_plan().part(1, 2), tmp_path, workers=1)


def test_failures_of_parts_are_taken_over(tmp_path: Path) -> None:
    plan = Plan(f"{PATH}:picky", base={"switch": str(tmp_path / "on")}, axes={"a": [1, 2, 3]})
    assert [run_sweep(plan.part(k, 2), tmp_path / "out", workers=1).failed for k in (1, 2)] == [0, 1]
    (tmp_path / "on").touch()
    # Not computed again unless that is asked for, as after a whole run.
    state = run_sweep(plan, tmp_path / "out", workers=1)
    assert (state.done, state.failed) == (2, 1)
    assert "two is one too many" in str(state.failures[0])
    assert run_sweep(plan, tmp_path / "out", workers=1, retry_failed=True).done == 3


def test_a_damaged_ledger_of_a_part_costs_no_result(tmp_path: Path) -> None:
    plan = noisy_plan()
    run_sweep(plan.part(1, 2), tmp_path, workers=1)
    (tmp_path / "shards/1-of-2/ledger.sqlite").write_bytes(b"damaged" * 1000)
    assert run_sweep(plan.part(1, 2), tmp_path, workers=1).done == 12
    (tmp_path / "shards/1-of-2/ledger.sqlite").write_bytes(b"damaged" * 1000)
    assert run_sweep(plan, tmp_path, workers=1).done == 24
    assert not (tmp_path / "shards").exists()


def test_a_part_deletes_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="leave the results of others"):
        run_sweep(noisy_plan().part(1, 2), tmp_path, fresh=True)


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/", "-1/2"])
def test_the_command_refuses_other_parts(shard: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "scenario.toml").write_text('[network]\ngenerator = "cycle"\nn = 5\n[run]\nsteps = 5\n', "utf-8")
    (tmp_path / "sweep.toml").write_text('scenario = "scenario.toml"\n[measure]\nnames = ["mean"]\n', "utf-8")
    assert cli.invoke(["sweep", str(tmp_path / "sweep.toml"), f"--shard={shard}"]) == 2
    assert "--shard" in capfd.readouterr().err
