"""The reproduction on disk: what is there, what is reused, what a stopped run leaves, and the command around it."""

from __future__ import annotations

import functools
import inspect
import json
import pickle
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from peerpressure import cli
from peerpressure.cli.paper import QUICK_STEPS, REPLICATIONS, STEPS as LONG, paper as command
from peerpressure.plotting import FIGURES
from peerpressure.report import drawing, store
from peerpressure.report.html import Image
from peerpressure.reproduction import paper, paper_tables, printed
from peerpressure.reproduction._convergence import STEPS
from peerpressure.reproduction._page import TABLES, page
from peerpressure.reproduction.design import SEED

REQUEST = paper.Request(seed=3, replications=5, steps=100)


@pytest.fixture
def counted(tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Experiments and drawing replaced by what counts how often they are called."""
    calls: list[dict[str, Any]] = []

    def instead(*arguments: Any, progress: Callable[[str], None], **options: Any) -> dict[str, pd.DataFrame]:
        calls.append({"arguments": arguments, **options})
        progress("an experiment")
        return tables

    monkeypatch.setattr(paper, "paper_tables", instead)
    monkeypatch.setattr(paper, "from_csv", _read_once)
    monkeypatch.setattr(paper, "page", _written_once)
    monkeypatch.setattr("peerpressure.report.drawing.draw", _quick)
    return calls


_read_once = functools.cache(store.from_csv)
_WRITTEN: dict[bytes, str] = {}


def _written_once(tables: Mapping[str, pd.DataFrame], *rest: Any) -> str:
    """Return the page; that of the same tables, pictures and provenance is written once for all tests."""
    key = pickle.dumps((dict(tables), *rest))
    if key not in _WRITTEN:
        _WRITTEN[key] = page(tables, *rest)
    return _WRITTEN[key]


def _quick(order: drawing.Order) -> drawing.Drawing:
    return drawing.Drawing({"pdf": b"pdf", "png": b"png", "svg": b"svg"}, Image("data:,", 10, 10))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_every_figure_and_table_is_there_and_nothing_else(
    tmp_path: Path, counted: list[Any], tables: dict[str, pd.DataFrame]
) -> None:
    made = paper.reproduce(tmp_path, REQUEST)
    expected = {f"figures/{name}.{kind}" for name in FIGURES for kind in ("pdf", "png", "svg")}
    expected |= {f"tables/{name}.csv" for name in tables} | {"report.html", "manifest.json", paper.DICTIONARY}
    # Those of the page are LaTeX too.
    expected |= {f"tables/{name}.tex" for name in ("audit", "choices", "regression", "regression_tests", "summary")}
    expected |= {f"tables/{name}.tex" for name in (*TABLES,) if name in tables} | {"references.bib"}
    assert set(contents(tmp_path)) == expected == {str(path.relative_to(tmp_path)) for path in made.files}
    said = json.loads((tmp_path / "manifest.json").read_text())
    assert set(said["files"]) == expected - {"manifest.json"}
    assert (said["made_with"]["seed"], made.reused) == (REQUEST.seed, False)


def test_workers_change_nothing(tables: dict[str, pd.DataFrame], monkeypatch: pytest.MonkeyPatch) -> None:
    some = {name: FIGURES[name] for name in ("size_effect", "tuning")}
    monkeypatch.setattr(paper, "FIGURES", some)
    told: list[str] = []
    single, parallel = (paper._drawings(tables, workers, told.append, ("svg",)) for workers in (1, 2))
    assert single == parallel
    assert list(single) == list(some)
    assert b"<svg" in single["tuning"].files["svg"]
    assert told[-1] == "drawing figures (2 of 2)"


def test_a_second_run_reuses_what_is_there_and_fresh_does_not(tmp_path: Path, counted: list[Any]) -> None:
    first = paper.reproduce(tmp_path, REQUEST)
    before = {path: path.stat().st_mtime_ns for path in first.files}
    second = paper.reproduce(tmp_path, REQUEST)
    assert (len(counted), second.reused) == (1, True)
    assert {path: path.stat().st_mtime_ns for path in second.files} == before
    for name, table in first.tables.items():
        pd.testing.assert_frame_equal(table, second.tables[name])
    assert not paper.reproduce(tmp_path, REQUEST, fresh=True).reused
    assert len(counted) == 2


@pytest.mark.parametrize(("replications", "apart"), [(5, False), (paper.LARGE_SWEEP, True)])
def test_large_sweeps_have_a_place_for_their_workers(
    replications: int, apart: bool, tmp_path: Path, counted: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paper, "draw_all", lambda orders, _: map(_quick, orders))
    paper.reproduce(tmp_path, paper.Request(seed=3, replications=replications, steps=100), workers=2)
    assert (counted[0]["folder"] is not None, counted[0]["workers"]) == (apart, 2)
    assert not apart or not counted[0]["folder"].exists()


def test_another_request_or_version_is_computed_anew(
    tmp_path: Path, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    request = REQUEST
    changes: list[dict[str, Any]] = [{}, {"seed": 4}, {"replications": 6}, {"steps": 101}]
    for number, change in enumerate(changes, start=1):
        request = replace(request, **change)
        paper.reproduce(tmp_path, request)
        assert len(counted) == number
    monkeypatch.setattr(store, "__version__", "9.9")
    paper.reproduce(tmp_path, request)
    assert len(counted) == len(changes) + 1


def test_a_lost_figure_is_drawn_from_the_tables_that_are_there(tmp_path: Path, counted: list[Any]) -> None:
    paper.reproduce(tmp_path, REQUEST)
    before = contents(tmp_path)
    (tmp_path / "figures/graph.pdf").unlink()
    assert not paper.reproduce(tmp_path, REQUEST).reused
    assert (len(counted), contents(tmp_path)) == (1, before)


def test_a_touched_table_or_a_damaged_manifest_is_not_trusted(tmp_path: Path, counted: list[Any]) -> None:
    paper.reproduce(tmp_path, REQUEST)
    before = contents(tmp_path)
    (tmp_path / "tables/summary.csv").write_bytes(b"steps\n1\n")
    paper.reproduce(tmp_path, REQUEST)
    assert (len(counted), contents(tmp_path)) == (2, before)
    for number, damage in enumerate([b"", b"{", b"[]", b'{"made_with": 1, "files": {}}'], start=3):
        (tmp_path / store.MANIFEST).write_bytes(damage)
        paper.reproduce(tmp_path, REQUEST)
        assert (len(counted), contents(tmp_path)) == (number, before)


def test_a_run_that_fails_while_drawing_or_writing_leaves_the_former_report(
    tmp_path: Path, counted: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    paper.reproduce(tmp_path, REQUEST)
    before = contents(tmp_path)

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("peerpressure.report.drawing.draw", fails)
        with pytest.raises(KeyboardInterrupt):
            paper.reproduce(tmp_path, REQUEST, fresh=True)
    assert contents(tmp_path) == before
    with monkeypatch.context() as patch:
        patch.setattr("peerpressure.reproduction.paper.page", lambda *_: "another report")
        patch.setattr(store, "replacing", fails)
        with pytest.raises(KeyboardInterrupt):
            paper.reproduce(tmp_path, REQUEST, fresh=True)
    assert contents(tmp_path) == before


def test_the_report_is_written_last(tmp_path: Path, counted: list[Any]) -> None:
    files = paper.reproduce(tmp_path, REQUEST).files
    assert [path.name for path in files[-2:]] == ["manifest.json", "report.html"]


def test_tables_read_back_as_they_were(tables: dict[str, pd.DataFrame]) -> None:
    awkward = pd.DataFrame({"x": [0.1 + 0.2, 1e-300, float("nan")], "word": ["NA", "null", "a,b"], "yes": [True] * 3})
    for table in (*tables.values(), awkward):
        assert store.to_csv(store.from_csv(store.to_csv(table))) == store.to_csv(table)
        pd.testing.assert_frame_equal(store.from_csv(store.to_csv(table)), table)


def test_the_command_passes_its_options_on_and_answers_for_programs(
    tmp_path: Path, counted: list[dict[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "out"
    options = ["--seed", "3", "--replications", "5", "--steps", "100", "--workers", "1"]
    assert cli.invoke(["paper", "--out", str(out), *options, "--json"]) == 0
    assert counted[0]["arguments"] == (3, 100, 5)
    assert (counted[0]["workers"], counted[0]["folder"]) == (1, None)
    shown = capfd.readouterr()
    answer = json.loads(shown.out)
    assert (answer["seed"], answer["reused"], len(answer["audit"]), shown.err) == (3, False, 5, "")
    assert {Path(name) for name in answer["files"]} == {out / name for name in contents(out)}
    assert cli.invoke(["paper", "--out", str(out), *options]) == 0
    words = capfd.readouterr().out
    for word in ("spread", "distance", "oscillation", "1 refuted", "reused", "report.html"):
        assert word in words
    assert cli.invoke(["paper", "--out", str(out), *options, "--fresh"]) == 0
    assert len(counted) == 2
    shutil.rmtree(out)


def test_the_options_defaults_are_the_experiments_own() -> None:
    defaults = {name: option.default for name, option in inspect.signature(command).parameters.items()}
    # Those of steps and replications depend on --quick.
    assert (defaults["seed"], defaults["steps"], LONG) == (SEED, None, STEPS)
    assert printed.SWEEP_REPLICATIONS == REPLICATIONS
    assert QUICK_STEPS < STEPS
    assert list(inspect.signature(paper_tables).parameters)[:3] == ["seed", "steps", "replications"]
