"""Trajectories: containers, files without pickle, provenance, and damage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.simulation.trajectory import State, replicate_numbers
from peerpressure.support.files import replacing
from tests import general_networks
from tests.builders import NOISES, SCHEDULES, random_model
from tests.waiting import line_of, processor_time, started, wait_until

ARRAYS = ("replicates", "times", "agents", "states", "minimum", "maximum", "mean", "spread", "max_distance")


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("record", ["all", "summaries", "final"])
def test_runs_round_trip_through_a_file(noise: str, record: str, tmp_path: Path) -> None:
    schedule = list(SCHEDULES.values())[len(noise) % len(SCHEDULES)]
    model = random_model(pressure=schedule, noise=NOISES[noise], start=np.arange(23.0))
    run = pp.simulate(model, 9, replicates=range(3, 8), seed=2**63, record=record)
    run.save(tmp_path / "run.npz")
    again = pp.Trajectory.load(tmp_path / "run.npz")
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    assert (again.seed, again.version, again.final.step) == (run.seed, pp.__version__, 9)
    # What was loaded can be gone on with, to the same bits: model, seed and state are all there.
    arguments: dict[str, Any] = {"steps": 5, "replicates": run.replicates, "seed": run.seed}
    went_on = pp.simulate(again.model, start=again, **arguments)
    np.testing.assert_array_equal(went_on.final.public, pp.simulate(model, start=run, **arguments).final.public)


def test_labels_survive(tmp_path: Path) -> None:
    network = pp.networks.named("florentine")
    run = pp.simulate(pp.Model(network, hidden=np.arange(float(network.n))), 4, record=pp.Record(agents=["Medici"]))
    run.save(tmp_path / "run.npz")
    again = pp.Trajectory.load(tmp_path / "run.npz")
    assert again.labels == ["Medici"]
    np.testing.assert_array_equal(again.path("Medici"), run.path("Medici"))
    assert run.to_xarray()["public"].sel(agent="Medici").shape == (1, 5)


def test_xarray_and_pandas_hold_the_same_numbers() -> None:
    run = pp.simulate(random_model(noise=pp.Gaussian(1.0)), 6, replicates=3, seed=1)
    data = run.to_xarray()
    assert data["public"].dims == ("replicate", "time", "agent")
    np.testing.assert_array_equal(data["public"], run.states)
    np.testing.assert_array_equal(data["max_distance"], run.max_distance)
    assert data.attrs["seed"] == 1
    assert "peerpressure" in data.attrs["software"]
    rows = run.to_dataframe()
    assert list(rows.columns) == ["replicate", "time", "agent", "public"]
    assert len(rows) == 3 * 7 * 23
    row = rows[(rows.replicate == 2) & (rows.time == 6) & (rows.agent == 4)]
    assert run.states is not None
    assert row.public.item() == run.states[2, 6, 4]
    summaries = pp.simulate(random_model(), 6, record="summaries").to_dataframe()
    assert {"minimum", "maximum", "mean", "spread", "max_distance"} <= set(summaries.columns)


def test_netcdf_of_a_run_holds_what_xarray_does(tmp_path: Path) -> None:
    import xarray

    named = pp.Model(pp.networks.named("florentine"), hidden=np.arange(15.0), adaptation=0.1, noise=pp.Gaussian(1.0))
    runs = {
        "names": pp.simulate(named, 4, replicates=2),
        "times": pp.simulate(pp.SDE(random_model(noise=pp.Gaussian(0.1))), 4, dtype="float32"),
        "large seed": pp.simulate(random_model(), 4, seed=2**64 - 1, record="summaries"),
        "seed of 32 bits": pp.simulate(random_model(noise=pp.Gaussian(1.0)), 4, seed=2**31),
        "one agent": pp.simulate(named, 4, record=pp.Record(agents=["Medici"])),
    }
    for name, run in runs.items():
        path = tmp_path / f"{name}.nc"
        with open(path, "w+b") as file:
            run.write_netcdf(file)
        with xarray.open_dataset(path) as data:
            xarray.testing.assert_identical(data.load(), run.to_xarray())
            assert int(data.attrs["seed"]) == run.seed
        # Those who write it by themselves get the same.
        run.to_xarray().to_netcdf(path, engine="scipy")
        with xarray.open_dataset(path, engine="scipy") as data:
            xarray.testing.assert_identical(data.load(), run.to_xarray())


def test_paths_must_have_been_recorded() -> None:
    model = random_model()
    with pytest.raises(pp.errors.InvalidInputError, match="recorded states"):
        pp.simulate(model, 3, record="final").path(0)
    with pytest.raises(pp.errors.InvalidInputError, match="agent 1 must be among"):
        pp.simulate(model, 3, record=pp.Record(agents=[0])).path(1)


@pytest.mark.parametrize("keep", [0, 1, 100, 2000])
def test_damaged_files_are_one_clear_error(keep: int, tmp_path: Path) -> None:
    file = tmp_path / "run.npz"
    pp.simulate(random_model(), 5).save(file)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(pp.errors.FileFormatError, match=r"run\.npz"):
        pp.Trajectory.load(file)


def test_foreign_and_missing_files_are_one_clear_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    np.savez(tmp_path / "pickled.npz", facts=np.array([{"format": 1}], dtype=object))
    (tmp_path / "text.npz").write_text("not an archive")
    for name in ("other", "pickled", "text", "missing"):
        with pytest.raises(pp.errors.FileFormatError, match=name):
            pp.Trajectory.load(tmp_path / f"{name}.npz")


def test_saving_to_nowhere_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(pp.errors.FileFormatError, match="folder"):
        pp.simulate(random_model(), 1).save(tmp_path / "no" / "run.npz")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "kept.txt"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(target) as file:  # noqa: PT012
        file.write(b"half of the n")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


# One process, which has loaded everything, and a copy of it for each folder.
ENDLESS = """
import os, sys
import numpy as np, peerpressure as pp
model = pp.Model(pp.networks.cycle(500), hidden=np.arange(500.0), noise=pp.Gaussian(1.0))
pp.simulate(model, 2, replicates=5, threads=1)
for folder in sys.argv[1:]:
    if copy := os.fork():
        print(copy, flush=True)
        continue
    os.chdir(folder)
    while True:
        pp.simulate(model, 200, replicates=5, seed=1).save("run.npz")
sys.stdin.read()
"""


def stop(process: psutil.Process, number: signal.Signals) -> None:
    """Send a signal until the process has ended."""
    process.send_signal(number)
    used = processor_time(process.pid)

    def ended() -> bool:
        nonlocal used
        # Nobody has asked for its status yet.
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        # Python drops an interrupt that falls into a finaliser; a person would press the keys again.
        if processor_time(process.pid) > used + 2:
            process.send_signal(number)
            used = processor_time(process.pid)
        return False

    wait_until(ended, f"the end by {number.name}")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_an_interrupted_process_leaves_no_half_written_run(tmp_path: Path) -> None:
    signals = {tmp_path / name: signal.Signals[name] for name in ("SIGINT", "SIGKILL")}
    for folder in signals:
        folder.mkdir()
    command = [sys.executable, "-W", "ignore", "-c", ENDLESS, *map(str, signals)]
    with started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        copies = [psutil.Process(int(line_of(process))) for _ in signals]
        wait_until(lambda: all((folder / "run.npz").exists() for folder in signals), "a first run of each")
        time.sleep(0.25)  # so they are at any place
        for copy, number in zip(copies, signals.values(), strict=True):
            stop(copy, number)
    for folder, number in signals.items():
        assert pp.Trajectory.load(folder / "run.npz").final.step == 200
        if number == signal.SIGINT:
            assert [path.name for path in folder.iterdir()] == ["run.npz"]


@pytest.mark.parametrize("kind", ["two classes", "silent", "balanced", "unbalanced", "disconnected", "strong"])
def test_distances_are_to_the_limits_of_the_agents(kind: str) -> None:
    model = general_networks.model(kind, noise=pp.Gaussian(0.1))
    # The limits by a long recursion without noise, and not by what is tested.
    limits = general_networks.far_state(general_networks.model(kind, pressure=pp.Linear(0.1)), kind, 20_000)
    run = pp.simulate(model, 6, replicates=2, seed=3)
    assert run.states is not None
    distances = np.abs(run.states - limits).max(axis=2)
    np.testing.assert_allclose(np.asarray(run.max_distance), distances, atol=0.02)
    alike = kind in ("unbalanced", "strong", "silent")
    assert isinstance(model.target, float) == alike
    assert (pp.simulate(model, 6, record="summaries").max_distance is not None) == alike
    assert pp.simulate(model, 6, record=pp.Record(agents=[0])).max_distance is None or alike
    members = np.concatenate(model.network.closed_classes)
    near = np.abs(limits[members][:, None] - model.class_values)
    assert near.min(axis=1).max() < 0.02
    assert near.min(axis=0).max() < 0.02


@pytest.mark.parametrize("values", [[], [[0]], [-1], [2**32], [0, 0], [2, 1, 2], [0.5], ["a"], [[1], [2, 3]]], ids=str)
def test_numbers_of_replicates_are_distinct_and_from_0_on(values: Any) -> None:
    with pytest.raises(InvalidInputError, match="replicates must be a count, or distinct numbers from 0 on"):
        replicate_numbers(values)
    assert replicate_numbers([3, 1, 2**32 - 1]).tolist() == [3, 1, 2**32 - 1]


@pytest.mark.parametrize("public", [[], ["a"], 1.0, [[[1.0]]], [1j], [[1.0], [2.0, 3.0]]], ids=str)
def test_opinions_of_a_state_are_numbers_of_its_shape(public: Any) -> None:
    with pytest.raises(InvalidInputError, match="public opinions of a state must be real numbers of shape"):
        State(1, public)
    with pytest.raises(InvalidInputError, match=r"hidden opinions .* of shape \(2,\), that of the public ones"):
        State(1, np.zeros(2), hidden=public)
    assert State(1, np.array([0, 1])).public.dtype == np.float64


@pytest.mark.parametrize("record", ["all", "summaries", "final", pp.Record(agents=[1, 3])])
@pytest.mark.parametrize("adaptation", [None, 0.1])
def test_a_run_reads_back_from_netcdf(tmp_path: Path, record: Any, adaptation: float | None) -> None:
    model = pp.Model(pp.networks.path(4), [0.0, 1.0, 2.0, 3.0], noise=pp.Gaussian(1.0), adaptation=adaptation)
    run = pp.simulate(model, 5, 3, seed=2, record=record)
    with (tmp_path / "run.nc").open("w+b") as file:
        run.write_netcdf(file, {"scenario": "text"})
    read = pp.Trajectory.from_netcdf(tmp_path / "run.nc", model)
    assert (read.seed, read.version, repr(read)) == (2, run.version, repr(run))
    for name in ("replicates", "times", "agents", "states", "minimum", "maximum", "mean", "hidden", "max_distance"):
        one, other = getattr(run, name), getattr(read, name)
        assert (one is None) == (other is None)
        assert one is None or np.array_equal(one, other)
    assert np.array_equal(run.final.public, read.final.public)
    assert (run.final.hidden is None) == (read.final.hidden is None)
    if run.final.hidden is not None:
        assert np.array_equal(run.final.hidden, np.asarray(read.final.hidden))
    with pytest.raises(pp.errors.FileFormatError, match="run of the model"):
        pp.Trajectory.from_netcdf(tmp_path / "run.nc", pp.Model(pp.networks.path(5), [0.0] * 5))


def test_topics_read_back_from_netcdf(tmp_path: Path) -> None:
    model = pp.Model(pp.networks.path(3).with_topics(["tax", "rent"]), np.arange(6.0), noise=pp.Gaussian(1.0))
    run = pp.simulate(model, 4, 2)
    with (tmp_path / "run.nc").open("w+b") as file:
        run.write_netcdf(file)
    read = pp.Trajectory.from_netcdf(tmp_path / "run.nc", model)
    assert np.array_equal(np.asarray(run.states), np.asarray(read.states))
    assert np.array_equal(np.asarray(run.hidden), np.asarray(read.hidden))
