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


@pytest.mark.parametrize("command", commands())
def test_commands_of_the_first_screen_work_in_a_clone(command: str, clone: Path, tmp_path: Path) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":
        if shutil.which("make") is None:
            pytest.skip("there is no make")
        # What is done is printed and not done, which takes minutes.
        done = subprocess.run(["make", "-n", *arguments], cwd=clone, capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        # make test calls make, which prints its commands as well.
        assert f"/{'pytest' if arguments == ['test'] else f'peerpressure {arguments[0]}'}" in done.stdout
        return
    assert [program, *arguments[:1]] == ["pip", "install"]
    # The dependencies are those of this environment, and no index is asked.
    pip = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check", "--no-index"]
    alone = ["--no-deps", "--no-build-isolation", "--no-compile", "--target", str(tmp_path)]
    done = subprocess.run([*pip, *alone], cwd=clone, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "peerpressure" / "py.typed").is_file()


@pytest.mark.parametrize("page", ["index", "install"])
def test_pages_include_the_section_of_the_readme(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    assert f"```{{include}} ../README.md\n:start-after: {BEGIN!r}\n:end-before: {END!r}\n```" in text.replace('"', "'")
    assert "pip install" not in text


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


def test_the_extras_of_the_page_are_those_of_the_package() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", page, flags=re.MULTILINE) == ["contacts", "cluster", "parquet", "gpu"]
    assert {"contacts", "cluster", "parquet", "gpu"} <= extras.keys()
