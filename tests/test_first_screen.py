"""What a reader tries first works as it is printed: clone, make, install."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import peerpressure as pp
from peerpressure.cli import invoke

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
# The only place that says how to install; pages of the documentation include it.
BEGIN, END = "<!-- installation -->", "<!-- end of installation -->"
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "node_modules", "build", ".*_cache", "__pycache__", ".hypothesis", "jupyter_execute"
)


def section() -> str:
    return README.split(BEGIN)[1].split(END)[0]


def commands() -> list[str]:
    found = re.findall(r"```sh\n(.*?)```", section(), flags=re.DOTALL)
    return [line.split("  #")[0].strip() for block in found for line in block.splitlines()]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clone") / "peerpressure"
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    return folder


def test_the_first_block_has_the_two_commands_that_matter() -> None:
    first = re.search(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    assert first is not None
    assert [line.split("  #")[0].strip() for line in first[1].splitlines()] == ["make paper", "make test"]
    # Each says what it does and how long it takes, and the report where it is.
    assert all("minute" in line.split("#")[1] for line in first[1].splitlines())
    assert "build/paper/report.html" in first[1]


# Stand in for the programs of the environment that `make` creates, each after a record of what it was asked. Of the
# tests one file is run. Collection, lint, types and compilation are only recorded: `make test` itself runs them.
PROGRAMS = {
    "peerpressure": "exit 0",
    "pytest": '[ "$1" = --collect-only ] || exec {python} -m pytest -p no:cacheprovider tests/test_durations.py',
    "ruff": "exit 0",
    "mypy": "exit 0",
}


@pytest.fixture(scope="module")
def ready(clone: Path) -> Path:
    """A copy of the repository whose environment exists, so `make` does not ask a package index."""
    bin_folder = clone / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    for name, body in PROGRAMS.items():
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> asked.txt\n{body.format(python=sys.executable)}\n')
        program.chmod(0o755)
    for made in (".python", ".ready-base", ".ready-test", ".ready-js"):
        (clone / ".venv" / made).touch()
    return clone


def make(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    # JavaScript is checked by npm, which needs the folder of the environment; it does nothing here.
    command = ["make", "NPM=:", "JOBS=1", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)


def test_make_paper_leaves_the_files_that_it_promises(ready: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = make(ready, "paper")
    assert done.returncode == 0, done.stderr
    (asked,) = [line for line in (ready / "asked.txt").read_text(encoding="utf-8").splitlines() if "paper" in line]
    name, *arguments = asked.split()
    assert (name, arguments) == ("peerpressure", ["paper", "--out", "build/paper"])
    # One figure of a small network, in this process, which has loaded what draws it.
    monkeypatch.chdir(ready)
    assert invoke([*arguments, "--only", "failure", "--set", "steps=100,agents=20"]) == 0
    assert list((ready / "build" / "paper").rglob("failure.pdf")) != []


def test_make_test_runs_lint_types_and_tests(ready: Path) -> None:
    done = make(ready, "test")
    assert done.returncode == 0, done.stdout + done.stderr
    asked = (ready / "asked.txt").read_text(encoding="utf-8")
    assert [
        name for name in ("ruff check .", "ruff format --check .", "mypy", "pytest --num") if name not in asked
    ] == []
    assert re.search(r"^\d+ passed", done.stdout, flags=re.MULTILINE)


def test_make_explore_starts_the_explorer(ready: Path) -> None:
    # It serves until it is interrupted, which tests/explorer do.
    done = make(ready, "-n", "explore")
    assert (done.returncode, done.stdout.strip()) == (0, ".venv/bin/peerpressure explore")


def test_pip_installs_the_copy_as_a_library(clone: Path, tmp_path: Path) -> None:
    (install,) = [shlex.split(command) for command in commands() if not command.startswith("make ")]
    assert install == ["pip", "install", "."]
    # The dependencies are those of this environment, and no index is asked.
    pip = [sys.executable, "-m", *install, "--quiet", "--disable-pip-version-check", "--no-index"]
    alone = ["--no-deps", "--no-build-isolation", "--no-compile", "--target", str(tmp_path)]
    done = subprocess.run([*pip, *alone], cwd=clone, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "peerpressure" / "py.typed").is_file()


def test_all_commands_of_the_first_screen_are_tested() -> None:
    assert sorted(commands()) == ["make explore", "make paper", "make test", "pip install ."]


def test_the_ten_lines_print_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, flags=re.DOTALL)
    exec(compile(shown[0], "README.md", "exec"), {})
    assert capsys.readouterr().out == shown[1]
    lines = [line for line in shown[0].splitlines() if line and not line.startswith("import")]
    assert len(lines) <= 10


def cited(text: str) -> dict[str, list[str]]:
    """The fields of all entries of BibTeX or CITATION.cff, in the words of the latter."""
    keys = "title|version|year|family-names|given-names|name"
    return {
        key: [value for name, value in re.findall(rf'^[ -]*({keys}): "?([^"\n]*)', text, re.MULTILINE) if name == key]
        for key in keys.split("|")
    }


def test_the_bibtex_of_the_readme_is_that_of_the_citation_file() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    fields = cited(citation)
    (shown,) = re.findall(r"```bibtex\n(.*?)```", README, flags=re.DOTALL)
    entries = dict(re.findall(r"@(\w+)\{(.*?)\n\}", shown, flags=re.DOTALL))
    bib = {kind: dict(re.findall(r"(\w+) *= \{+(.*?)\}+,?$", text, re.MULTILINE)) for kind, text in entries.items()}
    people = zip(fields["family-names"], fields["given-names"], strict=True)
    assert bib["software"] == {
        "author": fields["name"][0],
        "title": fields["title"][0],
        "version": fields["version"][0],
    }
    assert bib["misc"] == {
        "author": " and ".join(f"{family}, {given}" for family, given in people),
        "title": fields["title"][1],
        "year": fields["year"][0],
        "archiveprefix": "arXiv",
        "eprint": re.findall(r"arXiv:([\d.]+)", citation)[0],
    }
    assert fields["version"][0] == pp.__version__


@pytest.mark.parametrize("page", ["index", "install"])
def test_pages_include_the_section_of_the_readme(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert f"```{{include}} ../README.md\n:start-after: {BEGIN!r}\n:end-before: {END!r}\n```" in text.replace('"', "'")
    assert "pip install" not in text


def test_the_landing_page_includes_the_ten_lines() -> None:
    text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    begin, end = "<!-- ten lines -->", "<!-- end of ten lines -->"
    assert f':start-after: "{begin}"\n:end-before: "{end}"' in text
    assert "```python" in README.split(begin)[1].split(end)[0]


def sources() -> list[Path]:
    """All text of the repository that may say how to install something."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.*")]
    made = {"changelog.md", "contributing.md"}
    return [
        path
        for path in found
        if path.suffix in (".md", ".py", ".toml", ".html") and path.name not in made and path.name != "CHANGELOG.md"
    ]


def test_nothing_else_is_installed_than_what_an_index_has() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    known = {re.split(r"[<>=]", one)[0] for group in extras.values() for one in group}
    for path in sources():
        text = path.read_text(encoding="utf-8").replace(section(), "")
        named = re.findall(r"pip install ([a-z\d-]+(?: [a-z\d-]+)*|\S+)", text)
        unknown = [name for line in named for name in line.split() if name not in known]
        assert unknown == [], path
        assert "peerpressure[" not in text, path


EXTRAS = ("contacts", "cluster", "parquet", "gpu", "gpu13", "mpi", "zarr")


def test_the_extras_of_the_page_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == [*EXTRAS]
    assert {*EXTRAS} <= extras.keys()
