"""Runs of one network over several processes, started for real; ``program`` is what they do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from peerpressure import Model, simulate
from peerpressure.errors import InvalidInputError
from peerpressure.networks import k2
from peerpressure.simulation.processes import launched_world
from peerpressure.support.resources import launched
from tests.test_documentation import blocks
from tests.waiting import run

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "howto" / "mpi.md"
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
STUDY = """[network]
generator = "watts_strogatz"
n = 2200
k = 4
p = 0.1
[noise]
law = "gaussian"
std = 0.3
[run]
steps = 3
seed = 3
[output]
figures = false
report = false
"""
# These name the folder and the time of the run.
OWN_FILES = {"README.txt", "provenance.json"}
# Results of two processes and of one, and some of three, that have the same bits as those of ``simulate``.
FEATURES = (
    "white noise",
    "hubs, Laplace noise, blocks of replicates",
    "single precision, own noise",
    "directed and weighted, chosen replicates",
    "signed",
    "zealots",
    "adaptation",
    "adaptation of many replicates",
    "correlated noise",
    "frozen noise",
    "random updates",
    "one update at a time",
    "a table of updates",
    "temporal network",
    "temporal network of those who keep silent",
    "infinite pressure",
    "noise of SciPy",
    "continuous time",
    "some agents, every third step",
    "no steps",
)
CHECKS = (
    "refused",
    "differing arguments",
    "cancelled",
    "interrupted",
    "failing step",
    "progress in one",
    "overflow",
    "generators",
    "illegal networks",
    "parts of a model",
    "illegal models",
    "files",
    "full disk",
    "command line",
    "page",
    "resumed",
)


def run_in(count: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in so many processes."""
    assert MPIEXEC is not None
    command = [MPIEXEC, "-n", str(count), sys.executable, "-m", "tests.simulation.partition.program", *arguments]
    # More processes than cores: those that wait leave theirs to those that work.
    environment = os.environ | {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "10"}
    return run(command, cwd=ROOT, env=environment)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if MPIEXEC is None:
        pytest.skip("there is no mpiexec; the wheel mpich has one")
    trial = run([MPIEXEC, "-n", "2", "true"])
    if trial.returncode:
        pytest.skip(f"mpiexec cannot start processes here: {trial.stderr[:200]}")
    return tmp_path_factory.mktemp("processes")


@pytest.fixture(scope="module")
def kill(folder: Path) -> subprocess.CompletedProcess[str]:
    """A run of two processes, one of which is killed after its third checkpoint."""
    return run_in(2, "killed", str(folder))


@pytest.fixture(scope="module")
def found(folder: Path, kill: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """What three processes say of each check, after what is left of the run that was killed."""
    (folder / "study.toml").write_text(STUDY)
    page = [block.text for block in blocks(PAGE) if "from mpi4py import MPI" in block.text]
    (folder / "page.json").write_text(json.dumps(page), encoding="utf-8")
    done = run_in(3, "all", str(folder))
    assert done.returncode == 0, done.stderr
    results: dict[str, str] = json.loads((folder / "found.json").read_text())
    assert set(results) == {*FEATURES, *CHECKS}
    return results


def test_a_killed_process_ends_all_with_a_message(kill: subprocess.CompletedProcess[str], folder: Path) -> None:
    assert kill.returncode != 0
    assert "Killed (signal 9)" in kill.stdout + kill.stderr
    assert sorted(path.name for path in (folder / "kept").glob("state-0000000015*"))


# One function, which is recorded as a slow one: the first of its tests takes the time of all.
@pytest.mark.parametrize("check", [*FEATURES, *CHECKS])
def test_several_processes(found: dict[str, str], check: str) -> None:
    assert found[check] == ""


def test_files_of_several_processes_are_those_of_one(found: dict[str, str], folder: Path) -> None:
    # In a process of its own: the last digits of a verdict depend on what one has computed before.
    places = str(folder / "study.toml"), "--out", str(folder / "alone")
    command = [sys.executable, "-m", "peerpressure", "run", *places]
    assert run(command).returncode == 0
    alone, shared = (
        {path.relative_to(folder / name) for path in (folder / name).rglob("*") if path.is_file()}
        for name in ("alone", "shared")
    )
    assert alone == shared >= {Path("run.nc")}
    for name in {name for name in alone if name.name not in OWN_FILES}:
        assert (folder / "shared" / name).read_bytes() == (folder / "alone" / name).read_bytes(), name


@pytest.mark.parametrize(("rank", "size"), [("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")])
def test_a_launcher_is_recognised_without_loading_mpi(monkeypatch: pytest.MonkeyPatch, rank: str, size: str) -> None:
    monkeypatch.setenv(rank, "2")
    monkeypatch.setenv(size, "5")
    assert launched() == (2, 5)
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(InvalidInputError, match="5 processes on one run need mpi4py"):
        launched_world()


def test_one_process_never_loads_mpi() -> None:
    code = "import sys, peerpressure.simulation.processes as c; c.launched_world(); print('mpi4py' in sys.modules)"
    done = run([sys.executable, "-c", code])
    assert done.stdout.split() == ["False"]


def test_without_mpi4py_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(InvalidInputError, match=r"need mpi4py.*pip install mpi4py"):
        simulate(Model(k2(), [0.0, 1.0]), 5, comm=object())  # type: ignore[arg-type]
