"""Runs on disk: the bits of a run in memory, after a kill as well, read in slices and never half valid."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from typer.testing import CliRunner

import peerpressure as pp
from peerpressure.cli import app
from peerpressure.errors import CancelledError, FileFormatError, InvalidInputError, TooLargeError
from peerpressure.networks import barabasi_albert, cycle, failing_edges, path
from peerpressure.noise import AR1
from peerpressure.simulation import files, zarr_stores
from tests import waiting

NETWORK = barabasi_albert(30, 2, seed=1)
X = np.linspace(0, 1, 30)
MODELS: dict[str, pp.Model | pp.SDE] = {
    "plain": pp.Model(NETWORK, X, noise=pp.Gaussian(0.1)),
    "carried noise": pp.Model(NETWORK, X, noise=pp.Gaussian(0.1, temporal=AR1(0.5)), adaptation=0.1),
    "temporal": pp.Model(failing_edges(NETWORK, 0.3, steps=9, seed=1), X, noise=pp.Gaussian(0.1)),
    "names": pp.Model(pp.Network([[0, 1], [1, 0]], labels=["ann", "bob"]), [0.0, 1.0], noise=0.2),
    "continuous": pp.SDE(pp.Model(path(3), [0.0, 1.0, 2.0], noise=0.2), step=0.5),
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let blocks have a few steps only."""
    monkeypatch.setattr(zarr_stores, "BLOCK_BYTES", 3000)


def assert_same(one: pp.Trajectory, other: pp.Trajectory) -> None:
    for name in ("times", "replicates", "agents", "states", "hidden", "minimum", "maximum", "mean"):
        a, b = getattr(one, name), getattr(other, name)
        assert (a is None) == (b is None), name
        assert a is None or (np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype), name
    for name in ("public", "memory", "hidden"):
        a, b = getattr(one.final, name), getattr(other.final, name)
        assert (a is None and b is None) or np.array_equal(a, b), name
    assert (one.final.step, one.seed, one.equation) == (other.final.step, other.seed, other.equation)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_on_disk_has_the_bits_of_one_in_memory(name: str, tmp_path: Path) -> None:
    model, file = MODELS[name], tmp_path / "run.zarr"
    expected = pp.simulate(model, 25, 3, seed=5)
    assert_same(pp.simulate(model, 25, 3, seed=5, out=file), expected)
    opened = pp.Trajectory.load(file)
    assert_same(opened, expected)
    assert opened.labels == expected.labels
    # It goes on from there as from any other run.
    assert_same(pp.simulate(model, 5, start=opened), pp.simulate(model, 5, start=expected))
    assert sorted(os.listdir(tmp_path)) == ["run.zarr"]
    assert not (file / zarr_stores.RESUME).exists()


@pytest.mark.parametrize(
    ("keep", "dtype"),
    [
        (pp.Record(every=4), "float32"),
        (pp.Record(agents=[3, 1]), "float64"),
        (pp.Record(states=False), "float64"),
        (pp.Record(summaries=False, every=7), "float64"),
    ],
    ids=repr,
)
def test_all_kinds_of_records_can_be_written(keep: pp.Record, dtype: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"seed": 5, "record": keep, "dtype": dtype, "replicates": [4, 2]}
    expected = pp.simulate(MODELS["plain"], 26, **asked)
    assert_same(pp.simulate(MODELS["plain"], 26, **asked, out=tmp_path / "run.zarr"), expected)


def test_a_branch_is_written_from_its_start(tmp_path: Path) -> None:
    model = MODELS["plain"]
    first = pp.simulate(model, 10, 2, seed=3)
    expected = pp.simulate(model, 20, start=first)
    assert_same(pp.simulate(model, 20, start=first, out=tmp_path / "later.zarr"), expected)


def test_xarray_opens_a_store_lazily_with_chunks_of_whole_steps(tmp_path: Path) -> None:
    import xarray

    run = pp.simulate(MODELS["plain"], 25, 3, seed=5, out=tmp_path / "run.zarr")
    with xarray.open_zarr(tmp_path / "run.zarr", chunks=None) as data:
        assert data["public"].dims == ("replicate", "time", "agent")
        assert data["public"].encoding["chunks"] == (3, 4, 30)
        np.testing.assert_array_equal(data["public"], np.asarray(run.states))
        assert data["time"].values.tolist() == list(range(26))
        assert data.attrs["seed"] == 5
        assert data["public"].attrs["long_name"] == "public opinion"


KEYS: list[Any] = [
    (slice(None), 3), 1, (0, slice(2, 9, 3)), (..., 4), (slice(None), slice(None, None, -2)), (0, slice(None), [5, 1]),
    (slice(None), [True, False] * 13, 2), (-1, -1, -1), (slice(None), slice(9, 2)), (0, [3, 3, 1], [2, 0, 2]),
]  # fmt: skip


def test_stored_states_are_indexed_like_arrays(tmp_path: Path) -> None:
    states = pp.simulate(MODELS["plain"], 25, 3, seed=5, out=tmp_path / "run.zarr").states
    expected = pp.simulate(MODELS["plain"], 25, 3, seed=5).states
    assert states is not None
    assert expected is not None
    assert zarr_stores.is_stored(states)
    later = states.times(5, 20)
    for key in KEYS:
        np.testing.assert_array_equal(states[key], expected[key], repr(key))
        some = key if key != KEYS[6] else 0
        np.testing.assert_array_equal(later[some], expected[:, 5:20][some], repr(key))


def test_a_run_that_was_cancelled_goes_on_where_it_stopped(tmp_path: Path) -> None:
    model, file = MODELS["carried noise"], tmp_path / "run.zarr"
    reached: list[int] = []
    with pytest.raises(CancelledError):
        pp.simulate(
            model, 40, 2, seed=1, out=file, progress=lambda done, _: reached.append(done),
            should_stop=lambda: len(reached) > 4,
        )  # fmt: skip
    with pytest.raises(FileFormatError, match="interrupted"):
        pp.Trajectory.load(file)
    with pytest.raises(InvalidInputError, match="of another run"):
        pp.simulate(model, 40, 2, seed=2, out=file)
    again: list[int] = []
    run = pp.simulate(model, 40, 2, seed=1, out=file, progress=lambda done, _: again.append(done))
    assert again[0] > reached[0]
    assert_same(run, pp.simulate(model, 40, 2, seed=1))
    with pytest.raises(InvalidInputError, match="complete"):
        pp.simulate(model, 40, 2, seed=1, out=file)


KILLED = """
import os, signal, sys
import numpy as np, peerpressure as pp
from peerpressure.simulation import zarr_stores
from peerpressure.networks import cycle
zarr_stores.BLOCK_BYTES = 3000
written = zarr_stores.write_archive
def dying(path, facts, arrays):
    if facts["records"] > 20:
        os.kill(os.getpid(), signal.SIGKILL)  # after the chunks of the block, before they count
    written(path, facts, arrays)
zarr_stores.write_archive = dying
pp.simulate(pp.Model(cycle(30), np.linspace(0, 1, 30), noise=pp.Gaussian(0.1)), 40, 2, seed=7, out=sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no such signal")
def test_a_killed_run_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    file = tmp_path / "run.zarr"
    ended = waiting.run([sys.executable, "-c", KILLED, str(file)])
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    model = pp.Model(cycle(30), X, noise=pp.Gaussian(0.1))
    assert_same(pp.simulate(model, 40, 2, seed=7, out=file), pp.simulate(model, 40, 2, seed=7))


def test_a_full_disk_gives_one_message_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file, written = MODELS["plain"], tmp_path / "run.zarr", files.write_archive

    def full(place: Path, facts: Any, arrays: Any) -> None:
        if facts["records"] > 10:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written(place, facts, arrays)

    with monkeypatch.context() as patch:
        patch.setattr(zarr_stores, "write_archive", full)
        with pytest.raises(FileFormatError, match=r"No space left.*records are kept") as raised:
            pp.simulate(model, 40, 2, seed=7, out=file)
        assert str(raised.value).count("\n") == 0
        # Not even a beginning: nothing is there under the name of the store.
        patch.setattr(zarr_stores, "write_archive", lambda *_: full(tmp_path, {"records": 11}, {}))
        with pytest.raises(FileFormatError, match="No space left"):
            pp.simulate(model, 40, 2, seed=7, out=tmp_path / "other.zarr")
    assert os.listdir(tmp_path) == ["run.zarr"]
    with pytest.raises(FileFormatError, match="interrupted"):
        pp.Trajectory.load(file)
    assert_same(pp.simulate(model, 40, 2, seed=7, out=file), pp.simulate(model, 40, 2, seed=7))


MEASURED = """
import sys, tracemalloc
import numpy as np, peerpressure as pp
from pathlib import Path
from peerpressure.simulation import zarr_stores
from peerpressure.networks import cycle
zarr_stores.BLOCK_BYTES = 2**18
model, folder = pp.Model(cycle(4000), np.linspace(0, 1, 4000), noise=pp.Gaussian(0.1)), Path(sys.argv[1])
# What is imported and compiled at first is no part of the record.
for steps in (2, 200):
    if steps > 2:
        tracemalloc.start()
    run = pp.simulate(model, steps, out=folder / f"{steps}.zarr", record=pp.Record(summaries=False))
    assert pp.recover(folder / f"{steps}.zarr", model, "innovations").value.shape == (1, 4000)
print(run.states.nbytes, tracemalloc.get_traced_memory()[1])
"""


def test_memory_does_not_grow_with_the_record(tmp_path: Path) -> None:
    """In a process of its own, whose memory nothing else has used."""
    command = [sys.executable, "-c", MEASURED, str(tmp_path)]
    done = waiting.run(command)
    size, peak = map(int, done.stdout.split())
    assert size == 201 * 4000 * 8
    assert peak < size / 2


def test_estimates_and_distances_read_a_store_in_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Zealots with two opinions have limits of their own, for which distances need all states.
    model = pp.Model(cycle(60), np.linspace(0, 1, 60), np.where(np.arange(60) % 30, 1.0, np.inf), noise=0.1)
    memory = pp.simulate(model, 50, 2, seed=1)
    run = pp.simulate(model, 50, 2, seed=1, out=tmp_path / "run.zarr")
    monkeypatch.setattr(zarr_stores.StoredArray, "__array__", None)
    assert memory.max_distance is not None
    np.testing.assert_array_equal(run.max_distance, memory.max_distance)
    plain = MODELS["plain"]
    pp.simulate(plain, 60, 2, seed=1, out=tmp_path / "plain.zarr")
    expected = pp.recover(pp.simulate(plain, 60, 2, seed=1), plain, "innovations")
    np.testing.assert_array_equal(pp.recover(tmp_path / "plain.zarr", plain, "innovations").value, expected.value)


def test_states_that_do_not_fit_are_not_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = pp.simulate(MODELS["plain"], 25, out=tmp_path / "run.zarr")

    def too_small(*_: object, **__: object) -> None:
        raise TooLargeError("no room")

    monkeypatch.setattr(zarr_stores, "require_memory", too_small)
    with pytest.raises(TooLargeError):
        np.asarray(run.states)


def test_a_record_that_does_not_fit_is_offered_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    small = psutil.virtual_memory()._replace(available=8 * 10**9)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: small)
    with pytest.raises(TooLargeError, match=r"write the run to disk, out='run\.zarr'"):
        pp.simulate(MODELS["plain"], 10**8)


@pytest.mark.parametrize("kind", ["folder", "file", "no run"])
def test_what_is_no_store_is_left_alone(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "run.zarr"
    if kind == "file":
        place.write_text("mine", encoding="utf-8")
    else:
        place.mkdir()
        (place / (".zgroup" if kind == "no run" else "mine.txt")).write_text("{}", encoding="utf-8")
    before = sorted(os.listdir(tmp_path))
    with pytest.raises((InvalidInputError, FileFormatError), match="store"):
        pp.simulate(MODELS["plain"], 5, out=place)
    assert sorted(os.listdir(tmp_path)) == before


def test_a_store_needs_a_record_and_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="record states or summaries"):
        pp.simulate(MODELS["plain"], 5, record="final", out=tmp_path / "run.zarr")
    monkeypatch.setitem(sys.modules, "zarr", None)
    with pytest.raises(InvalidInputError, match="pip install zarr"):
        pp.simulate(MODELS["plain"], 5, out=tmp_path / "run.zarr")


def test_the_command_line_writes_and_describes_a_store(tmp_path: Path) -> None:
    file = str(tmp_path / "run.zarr")
    given = ["simulate", "--network", "ba:20:2", "--noise", "gaussian:0.1", "--steps", "30", "--seed", "3"]
    given += ["--out", file]
    made = CliRunner().invoke(app, given)
    assert made.exit_code == 0, made.output
    assert "all steps in" in made.output
    assert pp.Trajectory.load(file).times[-1] == 30
    told = CliRunner().invoke(app, ["info", file])
    assert told.exit_code == 0, told.output
    assert "20 agents" in " ".join(told.output.split())
    again = CliRunner().invoke(app, given)
    assert again.exit_code != 0
