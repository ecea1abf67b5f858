"""A damaged ledger or result is one clear error or a clean recovery, never a wrong table."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from peerpressure.sweep import DamagedSweepError, Plan, SweepError, SweepStatus, collect, run_sweep, status
from peerpressure.sweep._ledger import Ledger, UnitOutcome, open_ledger
from peerpressure.sweep._results import damaged_keys, first_line, write_result
from peerpressure.sweep._work import Work

from .running import csv, noisy_plan

PLAN = noisy_plan(20)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    folder = tmp_path_factory.mktemp("finished")
    run_sweep(PLAN, folder, workers=1)
    return folder, csv(folder)


def _truncate(data: bytearray, choice: random.Random) -> bytearray:
    return data[: choice.randrange(len(data))]


def _flip(data: bytearray, choice: random.Random) -> bytearray:
    for _ in range(choice.choice([1, 1, 1, 8])):
        data[choice.randrange(len(data))] ^= 1 << choice.randrange(8)
    return data


def _blank(data: bytearray, choice: random.Random) -> bytearray:
    page = choice.randrange(len(data) // 4096 + 1) * 4096
    data[page : page + 4096] = bytes(len(data[page : page + 4096]))
    return data


def test_an_index_that_contradicts_its_table_is_damage(finished: tuple[Path, bytes], tmp_path: Path) -> None:
    """Every page can be read, so only a check of the whole file notices."""
    _copy(finished[0], tmp_path / "sweep", live=False)
    path = tmp_path / "sweep" / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as base:
        (table,) = base.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid DESC").fetchone()
        column = base.execute(f"PRAGMA table_info({table})").fetchone()[1]
        base.execute(f"CREATE INDEX extra ON {table} ({column})")
        base.execute("PRAGMA writable_schema = ON")
        base.execute("UPDATE sqlite_master SET sql = replace(sql, ')', ' DESC)') WHERE name = 'extra'")
        base.commit()
    with closing(sqlite3.connect(path)) as base, pytest.raises(DamagedSweepError):
        Ledger(base).check()


@pytest.mark.parametrize("harm", [_truncate, _blank])
@pytest.mark.parametrize("live", [False, True], ids=["closed", "with a log"])
def test_a_harmed_ledger_never_gives_a_wrong_table(
    finished: tuple[Path, bytes], tmp_path: Path, harm: Callable[[bytearray, random.Random], bytearray], live: bool
) -> None:
    whole, table = finished
    choice = random.Random(f"{harm.__name__} {live}")
    for number in range(10):
        folder = tmp_path / str(number)
        _copy(whole, folder, live=live)
        target = folder / ("ledger.sqlite-wal" if live else "ledger.sqlite")
        target.write_bytes(harm(bytearray(target.read_bytes()), choice))
        _looks_right_or_refuses(folder, table)
        # The harm was to the ledger alone: the results bring everything back without computing.
        assert run_sweep(PLAN, folder, workers=1).complete
        assert csv(folder) == table


def _copy(whole: Path, folder: Path, *, live: bool) -> None:
    shutil.copytree(whole, folder)
    if live:
        # While a connection is open, its last changes are in the log.
        with open_ledger(whole) as ledger:
            ledger.mark("planned", ledger.states())
            ledger.mark("done", ledger.states())
            shutil.copytree(whole, folder, dirs_exist_ok=True)


def _looks_right_or_refuses(folder: Path, table: bytes) -> None:
    try:
        assert isinstance(status(folder), SweepStatus)
        found = csv(folder)
    except SweepError:
        return
    assert found == table


@pytest.mark.parametrize("harm", [_truncate, _flip])
def test_a_harmed_result_is_refused(
    finished: tuple[Path, bytes], tmp_path: Path, harm: Callable[[bytearray, random.Random], bytearray]
) -> None:
    folder, choice = tmp_path / "sweep", random.Random(harm.__name__)
    shutil.copytree(finished[0], folder)
    for path in sorted(folder.glob("units/*/*.json"))[:25]:
        before = path.read_bytes()
        path.write_bytes(harm(bytearray(before), choice))
        with pytest.raises(DamagedSweepError, match="run the sweep again to recompute this unit"):
            collect(folder)
        path.write_bytes(before)
    assert csv(folder) == finished[1]


def test_harmed_results_that_no_ledger_vouches_for_are_computed_again(
    finished: tuple[Path, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "sweep"
    shutil.copytree(finished[0], folder)
    (folder / "ledger.sqlite").unlink()
    for path in sorted(folder.glob("units/*/*.json"))[:3]:
        path.write_bytes(path.read_bytes()[:-5])
    assert run_sweep(PLAN, folder, workers=1).complete
    assert csv(folder) == finished[1]


def _empty(files: Sequence[Path]) -> int:
    files[0].write_bytes(b"")
    return 1


def _halve(files: Sequence[Path]) -> int:
    files[0].write_bytes(files[0].read_bytes()[: files[0].stat().st_size // 2])
    return 1


def _swap(files: Sequence[Path]) -> int:
    one, other = files[0].read_bytes(), files[1].read_bytes()
    files[0].write_bytes(other)
    files[1].write_bytes(one)
    return 2


def _edit(files: Sequence[Path]) -> int:
    # Valid JSON, of the same length.
    text = files[0].read_text()
    files[0].write_text(text.replace('"step":1', '"step":7'))
    return 1


def _delete(files: Sequence[Path]) -> int:
    files[0].unlink()
    return 1


def _replace_by_another_sweep(files: Sequence[Path]) -> int:
    # The same unit with another root seed: an intact file of the same name.
    folder = files[0].parents[2] / "other"
    run_sweep(noisy_plan(20, seed=1), folder, workers=1)
    files[0].write_bytes((folder / "units" / files[0].parent.name / files[0].name).read_bytes())
    return 1


@pytest.mark.parametrize("harm", [_empty, _halve, _swap, _edit, _delete, _replace_by_another_sweep])
def test_harmed_results_that_the_ledger_calls_done_are_computed_again(
    finished: tuple[Path, bytes], tmp_path: Path, harm: Callable[[Sequence[Path]], int]
) -> None:
    folder = tmp_path / "sweep"
    shutil.copytree(finished[0], folder)
    count = harm(sorted(folder.glob("units/*/*.json")))
    before = {path: path.stat().st_mtime_ns for path in folder.glob("units/*/*.json")}
    told = status(folder)
    assert (told.done, told.planned, told.damaged) == (len(PLAN) - count, count, count)
    assert not told.complete
    assert f"{count} of them damaged" in str(told)
    with pytest.raises(SweepError, match="run the sweep again to recompute this unit"):
        collect(folder)
    again = run_sweep(PLAN, folder, workers=1)
    assert again.complete
    assert (again.damaged, again.recomputed) == (0, count)
    assert f"{count} computed again" in str(again)
    assert csv(folder) == finished[1]
    # Intact results are not touched, and the next run has nothing to do.
    after = {path: path.stat().st_mtime_ns for path in folder.glob("units/*/*.json")}
    assert sum(after[path] != before.get(path) for path in after) == count
    assert run_sweep(PLAN, folder, workers=1).recomputed == 0


def test_a_harmed_result_of_a_unit_that_fails_now_is_no_result(tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    plan = Plan("tests.sweep.units:picky", base={"switch": str(switch)}, axes={"a": [1, 2]})
    switch.touch()
    assert run_sweep(plan, tmp_path / "sweep", workers=1).complete
    switch.unlink()
    for path in tmp_path.glob("sweep/units/*/*.json"):
        path.write_bytes(b"")
    state = run_sweep(plan, tmp_path / "sweep", workers=1)
    assert (state.done, state.failed, state.recomputed) == (1, 1, 1)
    told = status(tmp_path / "sweep")
    assert (told.done, told.failed, told.damaged) == (1, 1, 0)


def test_verifying_a_result_reads_its_file_once_and_parses_nothing(
    finished: tuple[Path, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    read_bytes = Path.read_bytes

    def reading(path: Path) -> bytes:
        read.append(path)
        return read_bytes(path)

    monkeypatch.setattr(Path, "read_bytes", reading)
    monkeypatch.setattr(json, "loads", None)
    assert damaged_keys(finished[0], [unit.key for unit in PLAN.units], PLAN.fingerprint) == set()
    assert sorted(read) == sorted(finished[0].glob("units/*/*.json"))


def test_several_connections_see_the_same(tmp_path: Path) -> None:
    plan = Plan("tests.sweep.units:noisy", axes={"a": list(range(50))})
    with open_ledger(tmp_path, create=True) as one, open_ledger(tmp_path) as other:
        one.register(plan)
        keys = [unit.key for unit in plan.units]
        for i, key in enumerate(keys):
            writer = other if i % 2 else one
            writer.begin([key])
            writer.finish([UnitOutcome(key, 2.0, "Traceback:\n  here\nOSError: no" if i == 7 else None)])
        assert one.counts() == other.counts() == {"planned": 0, "running": 0, "done": 49, "failed": 1}
        assert list(one.states()) == keys
        assert one.mean_seconds() == 2.0
        with pytest.raises(DamagedSweepError, match="missing"):
            one.begin(["nobody"])
    assert status(tmp_path).failures[0].error == "OSError: no"


def test_the_time_left_is_shared_among_workers(tmp_path: Path) -> None:
    plan = Plan("tests.sweep.units:noisy", axes={"a": list(range(10))})
    with open_ledger(tmp_path, create=True) as ledger:
        ledger.register(plan)
        assert status(tmp_path).seconds_left is None
        ledger.set_workers(4)
        for unit in plan.units[:2]:
            write_result(tmp_path, plan.fingerprint.digest, unit, "[]")
        ledger.finish([UnitOutcome(unit.key, 3.0, None) for unit in plan.units[:2]])
    state = status(tmp_path)
    assert state.seconds_left == 6.0
    assert str(state) == "2 of 10 done, 0 failed, 0 running, about 6 s left"
    # Where nothing waits, there is no time left to tell, whether or not all succeeded.
    assert str(replace(state, planned=0, failed=8, seconds_left=0.0)) == "2 of 10 done, 8 failed, 0 running"


def test_a_unit_that_kills_its_worker_tells_nothing_of_the_time_of_others(tmp_path: Path) -> None:
    plan = Plan("tests.sweep.units:noisy", axes={"a": list(range(100))})
    with open_ledger(tmp_path, create=True) as ledger:
        ledger.register(plan)
        work = Work(ledger, plan.units, 0, lambda done: None)
        [first] = work.take()
        work.record([UnitOutcome(first.key, 0.2, None)])
        size = work._batch_size()
        # The first death may have been that of another unit of the batch; then it is alone.
        work.lost([plan.units[50]], "died")
        for _ in range(3):
            work.lost(work.take(), "died")
        assert work._batch_size() == size
        ((seconds,),) = ledger._connection.execute("SELECT seconds FROM unit WHERE state = 'failed'")
        assert seconds is None


@pytest.mark.parametrize(
    ("report", "line"),
    [
        ("Traceback:\n  File\n    call\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("Traceback:\n  A\nX: 1\n\nDuring the handling:\n\nTraceback:\n  B\nY: 2\nmore", "Y: 2"),
        ("the worker died", "the worker died"),
        ("", "unknown"),
    ],
)
def test_the_line_that_says_what_was_wrong(report: str, line: str) -> None:
    assert first_line(report) == line
