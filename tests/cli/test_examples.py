"""The examples that ship: each passes the check. Tests in test_repeat.py run them."""

from __future__ import annotations

import pytest

from peerpressure.scenario.shipped import Example, examples
from tests.cli.calling import run


@pytest.mark.parametrize("example", examples().values(), ids=lambda example: example.name)
def test_every_example_passes_the_check_and_says_what_it_shows(
    example: Example, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(capfd, "check", example.path).status == 0
    assert all(example.comment)
