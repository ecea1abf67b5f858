"""The documentation's Python runs, and its links and module paths exist."""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import peerpressure as pp
from tests.cli.calling import run

ROOT = Path(__file__).parents[1]
PACKAGE = Path(pp.__file__).parent
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in blocks("README.md"):
        # Fewer steps show as well that the code runs.
        exec(code.replace("steps=1000", "steps=50").replace("steps=100,", "steps=10,"), names)
    assert "Consensus" in capsys.readouterr().out


def test_the_python_of_the_observer_page_runs() -> None:
    model = pp.Model(pp.networks.cycle(12), hidden=range(12), noise=pp.Gaussian(1.0))
    names: dict[str, Any] = {"pp": pp, "model": model, "run": pp.simulate(model, steps=100, seed=1)}
    for code in blocks("docs/explanation/observer.md"):
        exec(code, names)
    assert names["bound"].shape == (12,)


def test_the_python_of_the_page_on_networks_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for code in blocks("docs/explanation/network-inference.md"):
        exec(code, names)
    assert names["found"].average_precision(names["network"]) == 1.0
    assert "30 agents" in capsys.readouterr().out


def test_the_walk_through_own_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "src" / "peerpressure" / "examples" / "own_data", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "howto" / "data.md").read_text(encoding="utf-8")
    shown = "".join(re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)).splitlines()
    checked, recovered = (
        run(capfd, "check", "study.toml"),
        run(capfd, "recover", "study.toml", "--outputs", "observed.csv"),
    )
    assert [answer.status for answer in (checked, recovered)] == [0, 0]
    assert [line for line in checked.out.splitlines()[1:] if line not in shown] == []
    words = " ".join((checked.out + recovered.out).split())
    # Abridged lines end in an ellipsis, and the files stand side by side.
    files = shown.index(next(line for line in shown if line.startswith("…")))
    told = [line.rstrip("…").strip() for line in shown[files + 1 :]]
    assert [line for line in told if " ".join(line.split()) not in words] == []
    assert run(capfd, "check", "sweep.toml").status == 0
    names: dict[str, Any] = {}
    for code in blocks("docs/howto/data.md"):
        exec(code, names)
    assert "tax [[0.99" in capfd.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_paths_and_names_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = {link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link}
    assert [link for link in links if not (page.parent / link).exists()] == []
    # `engine/wide.py` and the like are paths within the package, and `benchmarks/` beside it.
    modules = set(re.findall(r"`([a-z_/]+\.(?:py|cu))`", text)) | set(re.findall(r"`([a-z_]+/)`", text))
    assert [name for name in modules if not (PACKAGE / name).exists() and not (ROOT / name).exists()] == []
    names = re.findall(r"`(theory|recovery|privacy|networks|statespace|plotting|parameters)\.(\w+)", text)
    homes = {home: importlib.import_module(f"peerpressure.{home}") for home, _ in names}
    assert [(home, name) for home, name in names if not hasattr(homes[home], name)] == []
