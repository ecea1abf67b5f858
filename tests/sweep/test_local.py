"""Units in local processes: the same table whatever happens, and every failure told."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.support import progress
from peerpressure.sweep import OtherSweepError, Plan, SweepError, UnfinishedSweepError, collect, run_sweep, status
from peerpressure.sweep._results import result_path

from .running import csv, noisy_plan, results
from .units import PATH


def _plan(name: str, values: list[object], **base: object) -> Plan:
    return Plan(f"{PATH}:{name}", base=base, axes={"a": values})


def _written(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.glob("units/*/*.json")}


@contextlib.contextmanager
def _file_limit(size: int) -> Iterator[None]:
    """Let no process started here write a larger file, which fails as a full disk does."""
    resource = pytest.importorskip("resource")  # Unix has it
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_one_worker_and_three_give_the_same_table(tmp_path: Path) -> None:
    plan = noisy_plan(40)
    seen: list[int] = []
    for workers in (1, 3):
        state = run_sweep(plan, tmp_path / str(workers), workers=workers, progress=lambda done, _: seen.append(done))
        assert state.complete
        assert state.total == len(plan)
    assert csv(tmp_path / "1") == csv(tmp_path / "3")
    assert seen[-1] == len(plan)


def test_compilation_in_a_worker_is_announced(tmp_path: Path) -> None:
    shown: list[str] = []
    with progress.announcing(shown.append):
        assert run_sweep(_plan("compiling", [1]), tmp_path, workers=1).complete
    assert shown == [progress.COMPILING, ""]


def test_an_added_value_computes_only_its_own_units(tmp_path: Path) -> None:
    run_sweep(noisy_plan(4), tmp_path, workers=1)
    before = _written(tmp_path)
    assert run_sweep(noisy_plan(5), tmp_path, workers=1).total == 10
    assert before.items() <= _written(tmp_path).items()
    assert len(_written(tmp_path)) == 10
    # The smaller plan again: its table has its own units only, and nothing is computed.
    assert run_sweep(noisy_plan(4), tmp_path, workers=1).total == 8
    assert len(collect(tmp_path)) == 24


def test_a_unit_that_raises_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    plan = _plan("picky", [1, 2, 3], switch=str(tmp_path / "switch"))
    state = run_sweep(plan, tmp_path, workers=2)
    assert (state.done, state.failed, state.planned) == (2, 1, 0)
    assert state.failures[0].error == "ValueError: two is one too many"
    assert '"a":2' in state.failures[0].parameters
    with pytest.raises(UnfinishedSweepError, match="2 of 3 done, 1 failed"):
        collect(tmp_path)
    assert list(collect(tmp_path, partial=True)["a"]) == [1, 3]

    (tmp_path / "switch").touch()
    assert run_sweep(plan, tmp_path, workers=1).failed == 1
    assert run_sweep(plan, tmp_path, workers=1, retry_failed=True).complete
    assert list(collect(tmp_path)["a"]) == [1, 2, 3]


@pytest.mark.parametrize(("lives", "failed"), [(1, 0), (99, 1)])
def test_a_unit_that_kills_its_worker_is_tried_again_but_not_for_ever(tmp_path: Path, lives: int, failed: int) -> None:
    scars = tmp_path / "scars"
    scars.mkdir()
    state = run_sweep(_plan("deadly", [1, 2, 3, 4], scars=str(scars), lives=lives), tmp_path, workers=2)
    assert (state.done, state.failed) == (4 - failed, failed)
    assert len(os.listdir(scars)) >= min(lives, 3)
    if failed:
        assert "died of signal 9" in state.failures[0].error


@pytest.mark.parametrize("limit", [20_000, 300_000])
def test_a_full_disk_is_one_clear_error_and_the_sweep_goes_on_later(tmp_path: Path, limit: int) -> None:
    plan = _plan("bulky", [10, 400_000, 11])
    with _file_limit(limit), pytest.raises(SweepError, match=r"free some space, .* run the sweep again"):
        run_sweep(plan, tmp_path, workers=1)
    assert not list(tmp_path.rglob("*.part"))
    assert run_sweep(plan, tmp_path, workers=1).complete
    assert [len(text) for text in collect(tmp_path)["text"]] == [10, 400_000, 11]


def test_what_is_no_row_is_told(tmp_path: Path) -> None:
    state = run_sweep(_plan("untidy", ["list", "array", "name", "taken"]), tmp_path, workers=1)
    assert state.failed == 4
    assert all("InvalidInputError" in failure.error for failure in state.failures)


def test_workers_have_one_thread_each(tmp_path: Path) -> None:
    run_sweep(_plan("threads", [1]), tmp_path, workers=1)
    assert collect(tmp_path).iloc[0, 2:].tolist() == ["1", "1"]


def test_results_of_another_seed_task_or_version_are_never_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_sweep(noisy_plan(2), tmp_path, workers=1)
    before = csv(tmp_path)
    with pytest.raises(OtherSweepError, match="seed 0, not 1"):
        run_sweep(noisy_plan(2, seed=1), tmp_path)
    with pytest.raises(OtherSweepError, match=r"independent, not common; .* set random_numbers to 'independent'"):
        run_sweep(replace(noisy_plan(2), random_numbers="common"), tmp_path)
    with pytest.raises(OtherSweepError, match="start fresh"):
        run_sweep(_plan("bulky", [1]), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("peerpressure.sweep.plan.__version__", "99.0")
        with pytest.raises(OtherSweepError, match=r"not 99\.0"):
            run_sweep(noisy_plan(2), tmp_path)
        (tmp_path / "ledger.sqlite").unlink()
        with pytest.raises(OtherSweepError, match="another version or seed"):
            run_sweep(noisy_plan(2), tmp_path)
    run_sweep(noisy_plan(2), tmp_path, fresh=False)
    assert csv(tmp_path) == before
    other = tmp_path / "units" / "ab" / "a note of somebody's"
    other.parent.mkdir(exist_ok=True)
    other.touch()
    assert run_sweep(noisy_plan(2, seed=1), tmp_path, workers=1, fresh=True).complete
    assert csv(tmp_path) != before
    assert results(tmp_path) == 4
    assert other.exists()


def test_a_result_that_vanished_is_computed_again(tmp_path: Path) -> None:
    run_sweep(noisy_plan(2), tmp_path, workers=1)
    before = csv(tmp_path)
    next(tmp_path.glob("units/*/*.json")).unlink()
    with pytest.raises(SweepError, match="run the sweep again"):
        collect(tmp_path)
    assert run_sweep(noisy_plan(2), tmp_path, workers=1).complete
    assert csv(tmp_path) == before


def test_workers_that_cannot_start_are_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.spawn._python_exe", b"/bin/false")
    with pytest.raises(SweepError, match="must be able to start"):
        run_sweep(noisy_plan(2), tmp_path, workers=2)
    assert status(tmp_path).planned == 4


@pytest.mark.parametrize("options", [{"workers": 0}, {"workers": 1.5}, {"workers": 1, "dask": "tcp://localhost:1"}])
def test_illegal_options_are_refused(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        run_sweep(noisy_plan(2), tmp_path, **options)  # type: ignore[arg-type]


def test_a_task_that_is_not_there_is_refused_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="importable"):
        run_sweep(_plan("missing", [1]), tmp_path / "sweep")
    assert not (tmp_path / "sweep").exists()


def test_a_folder_without_a_sweep_is_refused(tmp_path: Path) -> None:
    for look in (status, collect):
        with pytest.raises(SweepError, match="must hold results of a sweep"):
            look(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(SweepError, match="choose another folder"):
        run_sweep(noisy_plan(2), tmp_path / "file")


def test_a_folder_in_the_place_of_a_result_is_named_as_the_obstacle(tmp_path: Path) -> None:
    plan = noisy_plan(1)
    result_path(tmp_path, plan.units[0].key).mkdir(parents=True)
    with pytest.raises(SweepError, match="move the folder of this name away"):
        run_sweep(plan, tmp_path, workers=1)
