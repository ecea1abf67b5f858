"""Results of any size are written, or refused before the work begins; a disk that fills up loses nothing silently."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pytest
import xarray

from peerpressure import cli
from peerpressure.networks import cycle, write_network
from peerpressure.report import store
from peerpressure.scenario import Experiment, load_scenario
from peerpressure.support import files
from tests import waiting
from tests.cli.calling import files_in, run
from tests.fitting.records import groups

Captured = pytest.CaptureFixture[str]
SCENARIO = """[network]
edges = [[0, 1], [1, 2], [0, 2]]
labels = [10000000000, 2, 3]
[agents]
adaptation = 0.1
[noise]
law = "gaussian"
[run]
steps = 40
replicates = 2
seed = 9000000000000000000
[output]
figures = false
report = false
states = true
"""


class Usage(NamedTuple):
    """What ``shutil.disk_usage`` returns."""

    total: int
    used: int
    free: int


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(SCENARIO, encoding="utf-8")
    return path


def test_what_classic_netcdf_cannot_hold_is_written(file: Path, capfd: Captured) -> None:
    answer = run(capfd, "run", file)
    assert (answer.status, answer.err) == (0, "")
    made = file.with_name("study-results") / "run.nc"
    # netCDF-4: variables beyond 2 GiB, and the whole numbers that agents are often known by.
    assert made.read_bytes().startswith(b"\x89HDF")
    with xarray.open_dataset(made) as data:
        found = Experiment(load_scenario(file)).run
        assert data["agent"].to_numpy().tolist() == [10000000000, 2, 3]
        np.testing.assert_array_equal(data["public"], np.asarray(found.states))
        np.testing.assert_array_equal(data["hidden"], np.asarray(found.hidden))


def test_long_tables_are_written_in_parts(file: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.report.run.PART", 50, raising=False)
    assert run(capfd, "run", file).status == 0
    written = (file.with_name("study-results") / "states.csv").read_bytes()
    assert written == store.to_csv(Experiment(load_scenario(file)).run.to_dataframe())


def test_a_disk_without_room_is_refused_before_the_run(
    file: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(10**6, 10**6 - 10**3, 10**3))
    monkeypatch.setattr("peerpressure.scenario.experiment.simulate", None)
    answer = run(capfd, "run", file)
    assert (answer.status, answer.out, answer.err.count("\n")) == (1, "", 1)
    assert "fit on the disk" in answer.err
    assert "--out" in answer.err
    assert [path.name for path in file.parent.iterdir()] == ["study.toml"]


def test_check_tells_the_room_that_results_need(file: Path, capfd: Captured) -> None:
    file.write_text(SCENARIO.replace("steps = 40", "steps = 10000").replace("states = true", ""), encoding="utf-8")
    told = run(capfd, "check", file).out
    run(capfd, "run", file)
    size = sum(map(len, files_in(file.with_name("study-results")).values()))
    amount = float(told.split(" MB on disk")[0].rpartition(" ")[2]) * 1e6
    assert size < amount < 2 * size


@contextmanager
def small_files(most: int) -> Iterator[None]:
    """Let this process write no file of more bytes; Python ignores the signal that says so."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="files are not limited there")
def test_a_disk_that_fills_up_ends_in_one_line_and_leaves_old_results(
    file: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capfd, "run", file).status == 0
    out = file.with_name("study-results")
    before = files_in(out, leave_out=())
    file.write_text(SCENARIO.replace("steps = 40", "steps = 1000").replace("states = true", ""), encoding="utf-8")
    monkeypatch.setattr(tempfile, "tempdir", str(file.parent))
    with small_files(50_000):
        done = run(capfd, "run", file)
    assert (done.status, done.err.count("\n")) == (1, 1), done.err
    assert "files in" not in done.out
    assert "File too large" in done.err
    assert "nothing could be kept" in done.err
    assert "the same numbers" in done.err
    assert files_in(out, leave_out=()) == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["study-results", "study.toml"]


FILLING = """
import gc, resource, signal, tempfile
import numpy as np
from peerpressure.support.files import replacing
from peerpressure.simulation.files import write_netcdf
variables = {f"v{i}": (("time",), np.arange(500.0), {"long_name": "x" * 200}) for i in range(6)}
coordinates = {"time": (("time",), np.arange(500), {}), "agent": (("agent",), np.array(["ann", "bob"]), {})}
failed = 0
with tempfile.TemporaryDirectory() as folder:
    for most in range(0, 40_000, 1_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        try:
            with replacing(f"{folder}/run.nc") as file:
                write_netcdf(file, variables, coordinates, {"facts": "y" * 500})
        except OSError:
            failed += 1
        gc.collect()
print(failed)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not limited there")
def test_a_run_that_does_not_fit_never_ends_the_process() -> None:
    # In a process of its own: HDF5 ended it, when its destructor read metadata that were never written.
    done = waiting.run([sys.executable, "-c", FILLING])
    assert (done.returncode, done.stdout, done.stderr) == (0, "39\n", "")


def test_results_without_a_place_go_to_another(
    file: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rescue = tmp_path_factory.mktemp("rescue")
    monkeypatch.setattr(tempfile, "tempdir", str(rescue))

    @contextmanager
    def full_here(path: Path) -> Iterator[IO[bytes]]:
        if path.name == "run.nc" and path.is_relative_to(file.parent):
            raise OSError(28, "No space left on device")
        with files.replacing(path) as stream:
            yield stream

    monkeypatch.setattr(store, "replacing", full_here)
    answer = run(capfd, "run", file)
    assert (answer.status, answer.err.count("\n")) == (1, 1)
    assert answer.out == ""
    assert "No space left on device" in answer.err
    kept = next(rescue.glob("*/study-results"))
    assert f"kept in {kept}" in answer.err
    with xarray.open_dataset(kept / "run.nc") as data:
        assert data.sizes == {"replicate": 2, "time": 41, "agent": 3}
    assert [path.name for path in file.parent.iterdir()] == ["study.toml"]


def closed_pipe() -> int:
    """Return a pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def full_device() -> int:
    return os.open("/dev/full", os.O_WRONLY)


EDGES = "source,target\na,b\nb,c\nc,d\nd,a\n"
ROWS = [",".join(f"{(3 * t * t + 5 * i * t + i) % 11 / 11:.3f}" for i in range(4)) for t in range(1, 13)]
ANSWERS = "time,a,b,c,d\n" + "".join(f"{t},{row}\n" for t, row in enumerate(ROWS, 1))
SECRET = """[network]
file = "edges.csv"
[agents]
hidden = [0.1, 0.4, 0.6, 0.9]
start = 0.5
[noise]
law = "gaussian"
std = 2.0
[run]
steps = 3
"""
SWEEP = """scenario = "study.toml"
[[axis]]
field = "noise.std"
values = [0.1, 0.2]
[measure]
names = ["spread"]
"""
RESULTS = "README.txt agents.csv edges.csv inputs/study.toml provenance.json run.nc scenario.toml states.csv \
summaries.csv verdict.json"
# Each command that writes, what it writes, and the command whose results it needs.
WRITING: list[tuple[str, str, str]] = [
    ("new out", "scenario.toml", ""),
    ("run study.toml --out out", RESULTS, ""),
    ("run study.toml --out out --json", RESULTS, ""),
    ("simulate --network cycle:4 --steps 3 --out out", "run.nc opinions.png report.html", ""),
    ("simulate --network cycle:4 --steps 3 --out out.zarr", "public/0.0.0", ""),
    (
        "recover outputs.csv --scenario study.toml --out out --figure out.svg",
        "out.svg estimates.csv estimates.json report.html",
        "",
    ),
    (
        "compare answers.csv --rival none --rival walk --out out --report out.html",
        "out.html estimates.json models.csv opinions.csv parameters.csv report.html",
        "",
    ),
    ("fit answers.csv --network edges.csv --unknown std --out out", "estimates.csv estimates.json report.html", ""),
    ("infer answers.csv --pressure 1 --out out", "inferred_network.csv report.html", ""),
    (
        "response rounds.csv --first before --permutations 19 --out out --report out.html",
        "out.html rounds.csv report.html",
        "",
    ),
    ("release secret.toml --out out", "opinions.csv release.json statement.txt", ""),
    ("convert edges.csv out.graphml", "out.graphml", ""),
    ("partition edges.csv --parts 1 --out out", "order.npy part-0.npz partition.json", ""),
    ("sweep run sweep.toml --out out", "ledger.sqlite provenance.json", ""),
    ("sweep collect done --out out.csv", "out.csv", "sweep run sweep.toml --out done"),
    ("sweep plot done --out out", "spread_lines.pdf spread_lines.png", "sweep run sweep.toml --out done"),
    ("report done --out out.html", "out.html", "run study.toml --out done"),
    ("rerun done --out out", RESULTS, "run study.toml --out done"),
    ("paper --only failure --steps 100 --out out", "provenance.json figures/failure.pdf tables/paths.csv", ""),
    ("explore study.toml --export out.html", "out.html", ""),
    ("story --out out.html", "out.html", ""),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(("command", "names", "needed"), WRITING, ids=[command for command, *_ in WRITING])
@pytest.mark.usefixtures("worker_here")
def test_files_do_not_depend_on_who_reads_the_output(
    command: str, names: str, needed: str, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {"study.toml": SCENARIO.replace("[10000000000, 2, 3]", '["a", "b", "c"]'), "edges.csv": EDGES}
    texts |= {
        "answers.csv": ANSWERS,
        "secret.toml": SECRET,
        "sweep.toml": SWEEP,
        "rounds.csv": groups(0.4, count=2).to_csv(index=False),
    }
    texts |= {"outputs.csv": "time,a,b,c\n1,0.1,0.2,0.4\n2,0.2,0.2,0.3\n3,0.2,0.3,0.3\n4,0.1,0.3,0.2\n"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    if needed:
        assert cli.invoke(needed.split()) == 0
        capfd.readouterr()
    status, error = told_to(full_device(), command, capfd)
    assert (status, error.count("\n")) == (1, 1), error
    assert "No space left" in error
    found = files_in(tmp_path, leave_out=())
    for name in names.split():
        assert any(data for path, data in found.items() if path.startswith("out") and path.endswith(name)), name


def test_a_reader_that_has_gone_is_no_error(file: Path, capfd: Captured) -> None:
    assert told_to(closed_pipe(), f"run {file}", capfd) == (0, "")
    assert {path.name for path in file.with_name("study-results").iterdir()} >= {"run.nc", "verdict.json"}


def told_to(descriptor: int, command: str, capfd: Captured) -> tuple[int, str]:
    """Run a command whose output goes there, and return its status and what it says of errors."""
    raw = os.fdopen(descriptor, "wb", 0)
    with io.TextIOWrapper(io.BufferedWriter(raw), encoding="ascii") as stdout, redirect_stdout(stdout):
        status = cli.invoke(command.split())
    return status, capfd.readouterr().err


def test_what_killed_writers_left_is_removed_by_the_next_one(file: Path, tmp_path: Path, capfd: Captured) -> None:
    # A file and a folder of results that were never finished, as their names tell, and files that only look alike.
    left = [tmp_path / name / "run.nc" for name in (".out.abcd_123.part", ".net.csv.abcd_123.part")]
    others = [tmp_path / name / "run.nc" for name in (".other.abcd_123.part", ".out.1.part", "out.abcd_123.part")]
    for each in (left[0], *others):
        each.parent.mkdir()
        each.write_bytes(b"half")
    left[1].parent.write_bytes(b"half")
    with files.new_folder(tmp_path / "out") as writing:
        assert run(capfd, "run", file, "--out", tmp_path / "out").status == 0
        assert writing.exists(), "another process is still writing"
        write_network(cycle(4), tmp_path / "net.csv")
    assert [each.parent.exists() for each in (*left, *others)] == [False, False, True, True, True]
    assert run(capfd, "run", file, "--out", tmp_path / "out").status == 0
    assert not writing.exists()
