"""Mistakes that are made on purpose: where code is, and nowhere else, and the same ones for the same seed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests import mutations
from tests.mutations import ROOT, Sites, drawn, near_tests

SOURCE = b'''"""Words 1."""
if TYPE_CHECKING:
    import a
def f(x: int = 1) -> int:
    """Words < 2."""
    if x < 2 and not x:
        raise ValueError(f"{x - 3}")
    x += len(str(x))
    return -x * 4
'''
EXPECTED = {
    ("constant", "1", "2"),
    ("condition", "x < 2 and not x", "not (x < 2 and not x)"),
    ("and/or", "x < 2 and not x", "(x < 2) or (not x)"),
    ("comparison", "x < 2", "x <= 2"),
    ("constant", "2", "3"),
    ("sign", "not x", "(x)"),
    ("deletion", 'raise ValueError(f"{x - 3}")', "pass"),
    ("deletion", "x += len(str(x))", "pass"),
    ("return", "return -x * 4", "return None"),
    ("arithmetic", "-x * 4", "(-x) / (4)"),
    ("sign", "-x", "(x)"),
    ("constant", "4", "5"),
}


def test_mistakes_are_made_where_code_is() -> None:
    found = Sites("a.py", SOURCE).found
    assert {(one.kind, one.before, one.after) for one in found} == EXPECTED
    assert len(found) == len(EXPECTED)
    for one in found:
        changed = one.applied(SOURCE)
        ast.parse(changed)
        assert changed == SOURCE[: one.start] + one.after.encode() + SOURCE[one.end :] != SOURCE


def test_a_mistake_is_made_only_in_the_source_that_it_was_drawn_from() -> None:
    first = Sites("a.py", SOURCE).found[0]
    with pytest.raises(SystemExit, match="line 4"):
        first.applied(SOURCE.replace(b"x", b"xy"))


def test_the_same_seed_draws_the_same_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [file for file in mutations.modules() if Path(file).name in ("activation.py", "dates.py")]
    monkeypatch.setattr(mutations, "modules", lambda: files)
    some = drawn(5, 1)
    assert len({*some}) == 5
    assert drawn(5, 1) == some != drawn(5, 2)
    assert {one.file for one in some} <= {*files}


def test_the_tests_of_a_module_are_near_it() -> None:
    near = near_tests("src/peerpressure/activation.py", ROOT)
    assert near[0] == "src/peerpressure/activation.py"
    assert "tests/test_activation.py" in near
