"""Which tests are fast: what was recorded is about tests that are there, and a file is recorded by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import durations
from tests.conftest import NUMPY_CAME_FIRST, group_of

SOME: durations.Durations = {"tests/test_durations.py": {"test_gone": (2.0, 3)}, "tests/gone.py": {"test_a": (1.0, 1)}}
PART = "tests/test_noise.py::test_a"


def test_what_is_recorded_is_there() -> None:
    known = durations.recorded()
    texts = {file: (durations.ROOT / file).read_text("utf-8") for file in known if (durations.ROOT / file).is_file()}
    names = [(file, name) for file, names in known.items() for name in names]
    gone = [(file, name) for file, name in names if name.rpartition(".")[2] not in texts.get(file, "")]
    # Few may have got other names since; more than these, and `make check` is no longer fast.
    assert len(names) > 500
    assert len(gone) < 0.05 * len(names), f"make durations records tests anew; these are gone: {gone}"


def test_a_file_is_recorded_by_itself() -> None:
    taken = {f"{PART}[1]": 0.02, f"{PART}[2]": 0.06, "tests/test_noise.py::test_b": 0.029}
    found = durations.updated(SOME, taken)
    assert found == {"tests/test_durations.py": {"test_gone": (2.0, 3)}, "tests/test_noise.py": {"test_a": (0.04, 2)}}
    assert durations.seconds_of("tests/test_noise.py", found) == pytest.approx(0.08)
    assert durations.seconds_of("tests/test_new.py", found) == 0
    assert [durations.is_slow(name, found) for name in (*taken, "tests/test_new.py::test_c")] == [
        True,
        True,
        False,
        False,
    ]
    assert durations.updated(found, {"tests/test_durations.py::test_now": 1.0})["tests/test_durations.py"] == {
        "test_now": (1.0, 1)
    }


def test_what_is_recorded_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = durations.recorded()
    monkeypatch.setattr(durations, "RECORDED", tmp_path / "durations.json")
    durations.record(known)
    assert durations.recorded() == known


def test_files_that_share_a_browser_figures_or_sources_are_one_group() -> None:
    pages = {group_of(f"tests/explorer/test_page_{name}.py::test_a") for name in ("looks", "states")}
    figures = {group_of(file) for file in ("tests/report/test_page.py::a", "tests/plotting/test_figures.py::b[c]")}
    sources = {group_of(f"tests/test_{name}.py::a") for name in ("architecture", "portability")}
    assert len(pages) == len(figures) == len(sources) == 1
    assert group_of("tests/plotting/test_run.py::a[b::c]") == "tests/plotting/test_run.py"


def test_workers_set_the_threads_of_blas_in_time() -> None:
    # BLAS reads their number when NumPy is loaded, which plugins of pytest may do before any file of the tests is read.
    assert not NUMPY_CAME_FIRST
