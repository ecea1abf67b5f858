"""Real processes and signals, at moments from a fixed seed: nothing is lost, nothing is wrong."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from peerpressure.sweep import Plan, SweepBusyError, collect, run_sweep, status
from tests.waiting import wait_for_end, wait_until

from .running import csv, noisy_plan, parent, results, workers_of
from .units import PATH

if os.name != "posix":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

PLAN = noisy_plan(20, seconds=0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    run_sweep(PLAN, folder, workers=2)
    return csv(folder)


def wait_for_results(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until there are so many results, and workers that go on."""
    wait_until(lambda: results(folder) >= count and workers_of(process), f"{count} results")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_parent_stopped_again_and_again(number: signal.Signals, undisturbed: bytes, tmp_path: Path) -> None:
    moments = random.Random(int(number))
    for target in (0, moments.randrange(3, 30)):
        with parent(PLAN, tmp_path, workers=2) as process:
            wait_for_results(tmp_path, target, process)
            time.sleep(moments.uniform(0, 0.03))
            workers = workers_of(process)
            process.send_signal(number)
            assert wait_for_end(process) in (-number, 0)
            wait_until(lambda workers=workers: not any(map(_alive, workers)), "the workers' end")  # type: ignore[misc]
        kept = results(tmp_path)
        if number == signal.SIGINT and (tmp_path / "ledger.sqlite").exists():
            assert status(tmp_path).running == 0
    finished = run_sweep(PLAN, tmp_path, workers=2)
    assert finished.complete
    assert results(tmp_path) == len(PLAN) >= kept
    assert csv(tmp_path) == undisturbed
    assert not list(tmp_path.rglob("*.part"))


def test_workers_killed_again_and_again(undisturbed: bytes, tmp_path: Path) -> None:
    moments = random.Random(9)
    with parent(PLAN, tmp_path, workers=2) as process:
        for target in sorted(moments.sample(range(30), 2)):
            wait_for_results(tmp_path, target, process)
            moments.choice(workers_of(process)).kill()
        assert wait_for_end(process) == 0
    assert status(tmp_path).complete
    assert csv(tmp_path) == undisturbed


def test_a_second_process_is_refused_and_the_first_undisturbed(tmp_path: Path) -> None:
    plan = Plan(f"{PATH}:gated", base={"gate": str(tmp_path / "gate")}, axes={"a": [1, 2, 3]})
    with parent(plan, tmp_path, workers=2) as process:
        wait_for_results(tmp_path, 0, process)
        assert status(tmp_path).active
        with pytest.raises(SweepBusyError, match=f"process {process.pid} on .* at work"):
            run_sweep(plan, tmp_path)
        (tmp_path / "gate").touch()
        assert wait_for_end(process) == 0
    state = status(tmp_path)
    assert state.complete
    assert not state.active
    assert len(collect(tmp_path)) == 3


def test_the_lock_of_a_dead_process_is_no_lock(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text(f"process {2**22 + 1} on elsewhere")
    assert run_sweep(noisy_plan(1), tmp_path, workers=1).complete


def _alive(process: psutil.Process) -> bool:
    return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
