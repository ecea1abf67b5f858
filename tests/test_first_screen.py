"""What a reader tries first works as it is printed: make, the ten lines, the citation."""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from tools import __main__ as tools
from tools.__main__ import PARALLEL, STEPS, TOGETHER, Step

import peerpressure as pp
from tests.waiting import in_thread, run

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("paper", "peerpressure paper --out build/paper"),
        ("explore", "peerpressure explore"),
        ("test", "python -m tools test"),
    ],
)
def test_make_does_what_the_pages_say(target: str, command: str) -> None:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    assert f"\nmake {target} " in README + CONTRIBUTING
    # What would be done, which takes minutes.
    done = run(["make", "--dry-run", target], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert f".venv/bin/{command}" in done.stdout.splitlines()


def test_make_test_checks_style_and_types_and_runs_all_tests() -> None:
    assert {"fast", "tests"} & {*TOGETHER["check"], *TOGETHER["test"]} == {"fast", "tests"}
    for steps in TOGETHER.values():
        commands = {command for name in steps for command in STEPS[name].commands}
        assert {"ruff check .", "ruff format --check .", "mypy"} < commands
    assert STEPS["tests"].commands == (f"pytest {PARALLEL}",)


@pytest.mark.skipif(shutil.which("sleep") is None, reason="there is no command that waits")
def test_what_is_wrong_ends_the_other_steps_and_is_all_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("PATH", "PYTHONDONTWRITEBYTECODE"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    commands = {"kernels": "echo made", "types": "echo right", "lint": "ls no-file", "tests": "sleep 600"}
    monkeypatch.setattr(tools, "STEPS", {name: Step("", (command,)) for name, command in commands.items()})
    needed = {"kernels": (), "types": ("kernels",), "lint": ("types",), "tests": ("kernels",)}
    monkeypatch.setattr(tools, "TOGETHER", {"test": needed})
    # A browser's loop may be at work in this thread.
    assert in_thread(lambda: tools.main(["test"]), "the end of the steps") == 1
    out, err = capfd.readouterr()
    assert out.startswith("made\n")
    assert "no-file" in out
    assert "right" not in out
    assert err == "lint failed: ls no-file\n"


def test_the_ten_lines_print_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(shown[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == shown[1]
    lines = [line for line in shown[0].splitlines() if line and not line.startswith("import")]
    assert len(lines) <= 10
    # The sentence at the top says the same.
    spread, error = re.findall(r"^(?:spread|largest error) .*: ([\d.]+)$", shown[1], flags=re.MULTILINE)
    assert f"agree to within {spread}, and yet an observer knows what each of them hides to within {error}" in README


def test_the_bibtex_of_the_readme_is_that_of_the_citation_file() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    cited = [
        value for key in ("title", "version", "year") for value in re.findall(rf'(?m)^ *{key}: "?([^"\n]*)', citation)
    ]
    (shown,) = re.findall(r"```bibtex\n(.*?)```", README, flags=re.DOTALL)
    assert [value for value in cited if value not in shown] == []
    assert re.findall(r"^version: (.*)$", citation, flags=re.MULTILINE) == [pp.__version__]


def test_the_extras_of_the_page_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert extras.keys() - re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == {"test", "docs", "bench"}
