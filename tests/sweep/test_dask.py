"""The same table from a cluster, whatever dies on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peerpressure.sweep import SweepError, collect, run_sweep, status
from peerpressure.sweep._runners import Cluster as ClusterRunner, compute_batch
from tests.waiting import wait_for_end, wait_until

from .running import Cluster, csv, noisy_plan, parent, results
from .units import hold, release


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One cluster, of which the first test kills a worker and the second the scheduler."""
    started = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started
    started.close()


def test_a_parent_and_a_worker_killed_in_the_middle_leave_no_trace(cluster: Cluster, tmp_path: Path) -> None:
    folder = tmp_path / "dask"
    plan = noisy_plan(seconds=0.05, local={"folder": str(folder)})
    hold(folder, 3)
    with parent(plan, folder, dask=cluster.address) as process:
        wait_until(lambda: results(folder) >= 3, "three results")
        process.kill()
    release(folder)
    kept = results(folder)

    def kill_one(done: int, _: int) -> None:
        if done >= kept + 4:
            cluster.workers[0].kill()

    assert run_sweep(plan, folder, dask=cluster.address, progress=kill_one).complete
    run_sweep(plan, tmp_path / "local", workers=1)
    assert csv(folder) == csv(tmp_path / "local")


def test_a_dead_scheduler_is_one_clear_error_and_the_sweep_goes_on_without_it(cluster: Cluster, tmp_path: Path) -> None:
    plan, folder, another = noisy_plan(seconds=0.05), tmp_path / "sweep", tmp_path / "another"
    # Hundreds of times as long as the other one is at work before it loses the scheduler.
    with parent(noisy_plan(1000, seconds=0.05), another, dask=cluster.address) as process:
        wait_until(lambda: results(another) >= 3, "three results")

        def kill_scheduler(done: int, _: int) -> None:
            if done >= 5:
                cluster.scheduler.kill()

        with pytest.raises(SweepError, match="run the sweep again"):
            run_sweep(plan, folder, dask=cluster.address, progress=kill_scheduler)
        wait_for_end(process)
        assert process.stderr is not None
        err = process.stderr.read()
    # The program prints no more than the traceback of its own error, and Dask nothing at all before it.
    assert err.startswith("Traceback (most recent call last):\n")
    assert "distributed.client - ERROR" not in err
    assert err.splitlines()[-1].startswith("peerpressure.sweep._ledger.SweepError: the scheduler of the cluster must")
    state = status(folder)
    assert 5 <= state.done < state.total
    assert state.running == 0
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("units/*/*.json")}
    assert run_sweep(plan, folder, workers=1).complete
    assert all(path.stat().st_mtime_ns == written for path, written in kept.items())
    assert len(collect(folder)) == 3 * len(plan)


def test_a_scheduler_that_goes_away_while_it_is_asked_is_the_same_error() -> None:
    class Client:
        status = "running"

        def nthreads(self) -> dict[str, int]:
            raise ConnectionResetError(104, "Connection reset by peer")

    asked: Any = Client()
    with pytest.raises(SweepError, match="run the sweep again"):
        ClusterRunner(asked, noisy_plan()).lanes()


def test_no_scheduler_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.sweep._runners._CONNECT_SECONDS", 0.5)
    with pytest.raises(SweepError, match="no scheduler at"):
        run_sweep(noisy_plan(), tmp_path, dask="tcp://127.0.0.1:9")


def test_workers_of_another_version_refuse() -> None:
    with pytest.raises(SweepError, match=r"must have version 99\.0"):
        compute_batch(noisy_plan().task, "99.0", {}, [])
