"""The examples that ship: each passes the check, and runs when it is cut short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import peerpressure
from tests.cli.calling import run

EXAMPLES = sorted((Path(peerpressure.__file__).parent / "examples").glob("*.toml"))
# Examples with data are folders.
STUDIES = sorted((Path(peerpressure.__file__).parent / "examples").glob("*/study.toml"))
SCENARIOS = [path for path in EXAMPLES if "[run]" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", [*EXAMPLES, *STUDIES], ids=lambda path: f"{path.parent.name} {path.name}")
def test_every_example_passes_the_check(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "check", path).status == 0


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_every_scenario_runs_when_it_is_cut_short(
    path: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    short = tmp_path / path.name
    text = re.sub(r"(?m)^steps = \d+", "steps = 40", path.read_text(encoding="utf-8"))
    text = re.sub(r"(?m)^replicates = \d+", "replicates = 2", text)
    # The page holds every figure; files of them would only take time.
    short.write_text(f"{text}\n[output]\nfigures = false\n", encoding="utf-8")
    answer = run(capfd, "run", short, "--out", tmp_path / "out", "--json")
    assert (answer.status, answer.err) == (0, "")
    assert (tmp_path / "out" / "report.html").stat().st_size > 10_000
