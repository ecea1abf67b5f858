"""The examples that ship: each passes the check. Tests in test_repeat.py run them."""

from __future__ import annotations

from pathlib import Path

import pytest

import peerpressure
from tests.cli.calling import run

EXAMPLES = sorted((Path(peerpressure.__file__).parent / "examples").glob("*.toml"))
# Examples with data are folders.
STUDIES = sorted((Path(peerpressure.__file__).parent / "examples").glob("*/study.toml"))


@pytest.mark.parametrize("path", [*EXAMPLES, *STUDIES], ids=lambda path: f"{path.parent.name} {path.name}")
def test_every_example_passes_the_check(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(capfd, "check", path).status == 0
