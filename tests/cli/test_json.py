"""Every JSON that a command prints or writes has the version of its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from peerpressure import cli
from peerpressure.support.provenance import SCHEMA_VERSION
from tests.cli.calling import run
from tests.cli.test_folders import ESTIMATED, STUDY, write_answers

SWEEP = "scenario = 'study.toml'\n[[axis]]\nfield = 'noise.std'\nvalues = [0.1, 1.0]\n[measure]\nnames = ['spread']\n"
# A network is in the format of NetworkX, and a schema in that of JSON Schema.
OTHERS = ("network.json", "scenario.schema.json")
LINES: list[tuple[str, ...]] = [
    ("check", "study.toml"),
    ("run", "study.toml", "--out", "ran"),
    ("simulate", "--network", "friends.csv", "--noise", "gaussian:1", "--steps", "5", "--out", "simulated"),
    ("diagnose", "study.toml"),
    *((*line, "--out", name) for name, line in ESTIMATED.items() if " " not in name),
    ("release", "secret.toml", "--epsilon", "1", "--out", "released"),
    ("convert", "friends.csv", "network.json"),
    ("partition", "friends.csv", "--parts", "1", "--out", "parts"),
    ("info", "ran"),
    ("rerun", "ran"),
    ("report", "ran"),
    ("paper", "--only", "failure", "--set", "steps=100", "--out", "paper"),
    ("version",),
    ("sweep", "run", "sweep.toml", "--workers", "1"),
    ("sweep", "status", "sweep.toml"),
    ("sweep", "collect", "sweep.toml"),
    ("sweep", "plot", "sweep.toml"),
    ("sweep", "measures"),
]


def commands(command: Any, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield the commands that answer in JSON, by their names."""
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, *names, name)
    if any("--json" in one.opts for one in command.params):
        yield names


def test_every_command_that_answers_in_json_is_among_the_lines() -> None:
    found = list(commands(typer.main.get_command(cli.app)))
    assert len(found) > 15
    for names in found:
        assert any(line[: len(names)] == names for line in LINES), names


@pytest.mark.usefixtures("worker_here")
def test_every_json_has_the_version_of_its_schema(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_answers(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    Path("sweep.toml").write_text(SWEEP)
    Path("secret.toml").write_text(STUDY.replace("seed = 3\n", "").replace("[agents]", "[agents]\nstart = 0.5"))
    for line in LINES:
        answer = run(capfd, *line, "--json")
        assert answer.status == 0, (line, answer.err)
        assert answer.json, line
    assert run(capfd, "new", "mine").status == 0
    written = {path.relative_to(Path.cwd()).as_posix(): path for path in Path.cwd().rglob("*.json")}
    kinds = {path.name for path in written.values() if path.parent.parent.name != "units"}
    assert {"verdict.json", "provenance.json", "estimates.json", "release.json"} <= kinds
    assert any("units/" in name for name in written)
    for name, path in written.items():
        content = json.loads(path.read_bytes(), parse_constant=pytest.fail)
        assert path.name in OTHERS or content["schema_version"] == SCHEMA_VERSION, name
