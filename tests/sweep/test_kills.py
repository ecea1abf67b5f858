"""Real processes and signals, at moments from a fixed seed: nothing is lost, nothing is wrong."""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from peerpressure.sweep import Plan, SweepBusyError, collect, run_sweep, status
from tests.waiting import wait_for_end, wait_until

from .running import csv, noisy_plan, parent, results, workers_of
from .units import PATH, hold, release

if os.name != "posix":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

PLAN = noisy_plan(20, seconds=0.02)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("undisturbed")
    run_sweep(PLAN, folder, workers=2)
    return csv(folder)


def held_workers(folder: Path, count: int, process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Wait until there are so many results, and return workers that would go on if they were not held."""
    return wait_until(
        lambda: workers_of(process) if results(folder) >= count else [], f"{count} results and workers of more"
    )


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_parent_stopped_again_and_again(number: signal.Signals, undisturbed: bytes, tmp_path: Path) -> None:
    moments, folder = random.Random(int(number)), tmp_path / "sweep"
    plan = replace(PLAN, local={"folder": str(folder)})
    for target in (0, moments.randrange(3, 30)):
        hold(folder, target)
        with parent(plan, folder, workers=2) as process:
            workers = held_workers(folder, target, process)
            release(folder)
            time.sleep(moments.uniform(0, 0.03))
            process.send_signal(number)
            assert wait_for_end(process) in (-number, 0)
            wait_until(lambda workers=workers: not any(map(_alive, workers)), "the workers' end")  # type: ignore[misc]
            assert process.stderr is not None
            said = process.stderr.read()
            # Workers say nothing, unless they just read or write what belongs to Python's pool.
            assert "initializer" not in said
            assert "leaked" not in said
            assert set(re.findall(r"^(\w*(?:Error|Exit|Interrupt))\b", said, flags=re.MULTILINE)) <= {
                *("EOFError", "BrokenPipeError"),
                *(["KeyboardInterrupt"] if number == signal.SIGINT else []),
            }
        kept = results(folder)
        if number == signal.SIGINT and (folder / "ledger.sqlite").exists():
            assert status(folder).running == 0
    finished = run_sweep(plan, folder, workers=2)
    assert finished.complete
    assert results(folder) == len(PLAN) >= kept
    assert csv(folder) == undisturbed
    assert not list(tmp_path.rglob("*.part"))


def test_workers_killed_again_and_again(undisturbed: bytes, tmp_path: Path) -> None:
    moments, folder = random.Random(9), tmp_path / "sweep"
    first, second = sorted(moments.sample(range(30), 2))
    hold(folder, first)
    with parent(replace(PLAN, local={"folder": str(folder)}), folder, workers=2) as process:
        for target, following in ((first, second), (second, len(PLAN))):
            workers = held_workers(folder, target, process)
            hold(folder, following)
            time.sleep(moments.uniform(0, 0.03))
            with contextlib.suppress(psutil.NoSuchProcess):
                moments.choice(workers).kill()
        assert wait_for_end(process) == 0
    assert status(folder).complete
    assert csv(folder) == undisturbed


def test_a_second_process_is_refused_and_the_first_undisturbed(tmp_path: Path) -> None:
    plan = Plan(f"{PATH}:gated", base={"gate": str(tmp_path / "gate")}, axes={"a": [1, 2, 3]})
    with parent(plan, tmp_path, workers=2) as process:
        held_workers(tmp_path, 0, process)
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
