"""Mistakes that are made on purpose: where code is, and nowhere else, and the same ones for the same seed."""

from __future__ import annotations

import ast
import signal
from pathlib import Path
from threading import Barrier

import pytest

from tests import mutations
from tests.mutations import COMPILING, ROOT, Judged, Sites, drawn, judge, judged, near_tests, outcome, table, time_limit

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


def test_the_end_of_a_run_of_tests_is_read() -> None:
    assert outcome(0, "1 passed", 9) == ("survived", "all passed")
    assert outcome(1, ".F\nFAILED tests/test_a.py::test_b - assert 1\n", 9) == ("killed", "tests/test_a.py::test_b")
    assert outcome(2, "ERROR tests/test_a.py - ImportError\n", 9)[0] == "killed"
    assert outcome(4, "no conftest", 9) == ("killed", "no test could be run: no conftest")
    assert [outcome(-end, "", 9)[0] for end in (signal.SIGXCPU, signal.SIGKILL)] == ["undecided"] * 2


def test_more_time_is_given_where_tests_take_longer() -> None:
    slow, fast = time_limit(["tests/truth/test_truth.py"], compiles=False), time_limit([], compiles=False)
    assert slow > fast + 10
    assert time_limit([], compiles=True) == fast + COMPILING


def test_results_are_a_table_and_differences() -> None:
    file = "src/peerpressure/activation.py"
    one, other = [one for one in Sites(file, (ROOT / file).read_bytes()).found if one.kind == "comparison"][:2]
    results = [Judged(one, "killed", "tests/a.py", 1.0), Judged(other, "survived", "all passed", 2.0)]
    assert [line.split() for line in table(results).splitlines()] == [
        ["killed", "survived", "undecided"],
        ["comparison", "1", "1", "0"],
        ["all", "1", "1", "0"],
    ]
    changed = results[1].difference().splitlines()[2:]
    assert [line for line in changed if line.startswith("-") and other.before in line]
    assert [line for line in changed if line.startswith("+") and other.after in line]


def test_a_mistake_is_judged_in_a_copy_and_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = b"def f(x):\n    return x < 1\n"
    (tmp_path / "code.py").write_bytes(source)
    (tmp_path / "test_code.py").write_text("from code import f\n", "utf-8")
    (one,) = [one for one in Sites("code.py", source).found if one.kind == "comparison"]
    monkeypatch.setattr(mutations, "near_tests", lambda file, root: ["test_code.py", "test_none.py"])

    def run_tests(tree: Path, tests: list[str], limit: int) -> tuple[str, str]:
        return " ".join(tests), (tree / "code.py").read_text("utf-8")

    monkeypatch.setattr(mutations, "run_tests", run_tests)
    assert judge(one, tmp_path) == ("test_code.py", "def f(x):\n    return x <= 1\n")
    assert (tmp_path / "code.py").read_bytes() == source


def test_several_are_judged_at_a_time_in_copies_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    together, trees = Barrier(2, timeout=60), list[Path]()

    def judge(one: mutations.Mutation, tree: Path) -> tuple[str, str]:
        trees.append(tree)
        together.wait()  # comes to an end only if two are at work
        return "killed", one.before

    monkeypatch.setattr(mutations, "copy_tree", lambda place: None)
    monkeypatch.setattr(mutations, "judge", judge)
    chosen = Sites("a.py", SOURCE).found[:6]
    assert {one.mutation for one in judged(chosen, tmp_path, jobs=2)} == {*chosen}
    assert [len({*trees[i : i + 2]}) for i in (0, 2, 4)] == [2, 2, 2]
