"""Command lines as tests run them: in this process, or as one of their own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peerpressure import cli
from peerpressure.support.provenance import SCHEMA_VERSION
from tests import waiting

SMALL = """[network]
generator = "cycle"
n = 7
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 40
replicates = 2
seed = 3
[observe]
methods = ["innovations", "ols"]
prior = { low = 0.0, high = 1.0 }
[privacy]
"""


class Answer(NamedTuple):
    """What a command line gave."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The standard output, read as JSON without its extensions; each has the version of its schema."""
        found = json.loads(self.out, parse_constant=pytest.fail)
        assert found["schema_version"] == SCHEMA_VERSION
        return found


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> Answer:
    capfd.readouterr()
    status = cli.invoke([str(argument) for argument in arguments])
    return Answer(status, *capfd.readouterr())


def process(*arguments: object, **environment: str) -> Answer:
    command = [sys.executable, "-m", "peerpressure", *map(str, arguments)]
    done = waiting.run(command, env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment})
    return Answer(done.returncode, done.stdout, done.stderr)


def files_in(folder: Path, *, leave_out: Container[str] = ("provenance.json",)) -> dict[str, bytes]:
    """Return the content of all files below a folder by name; that with dates and times differs between two runs."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in paths.items() if name not in leave_out}
