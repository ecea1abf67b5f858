"""The wheel and the source archive contain what they must, and the wheel works where nothing of the repository is."""

from __future__ import annotations

import os
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.waiting import run

ROOT = Path(__file__).parents[1]
NEEDED = [
    "peerpressure/py.typed",
    "peerpressure/__init__.pyi",
    "peerpressure/scenario/scenario.schema.json",
    "peerpressure/scenario/starter.toml",
    "peerpressure/simulation/engine/gpu_kernels.cu",
    "peerpressure/scenario/examples/karate.toml",
    "peerpressure/scenario/examples/own_data/friends.csv",
    "peerpressure/explorer/static/index.html",
    "peerpressure/explorer/static/story.html",
    "peerpressure/explorer/static/bundles/story.js",
    "peerpressure/explorer/static/bundles/recorded.js",
    "peerpressure/report/templates/report.html",
]
# What a clone has that an archive of the sources needs to be tested and documented.
SOURCES = [
    "Makefile",
    "CITATION.cff",
    "CONTRIBUTING.md",
    "docs/conf.py",
    "tests/test_distribution.py",
    "constraints.txt",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_wheel_has_all_of_the_package_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "peerpressure"
    missing = [name for name in NEEDED if name not in names]
    kept = {name for name in names if ".dist-info/" not in name}
    sources = {f"peerpressure/{file.relative_to(package).as_posix()}" for file in package.rglob("*.py")}
    assert missing == []
    assert sources <= kept
    assert [name for name in kept if not name.startswith("peerpressure/") or name.endswith((".pyc", ".nbi"))] == []


def test_the_archive_of_the_sources_can_be_tested(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert [name for name in [*SOURCES, *(f"src/{one}" for one in NEEDED)] if name not in names] == []
    assert not [name for name in names if name.startswith(("build/", ".venv/", "docs/reference/api/"))]


def test_the_wheel_works_outside_of_the_repository(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    site = tmp_path / "site"
    # What an installer does with the files of a package in Python.
    zipfile.ZipFile(wheel).extractall(site)
    environment = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    program = (
        "import peerpressure, sys; from peerpressure import cli; "
        "assert 'site' in peerpressure.__file__, peerpressure.__file__; "
        "sys.exit(cli.invoke(['new', 'study', '--example', 'own_data']) or cli.invoke(['check', 'study/study.toml']))"
    )
    command = [sys.executable, "-c", program]
    done = run(command, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert "4 agents" in done.stdout
