"""Examples run, and the scenario in a folder of results repeats the run, from wherever it is run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from peerpressure.scenario import load_scenario
from peerpressure.sweep import collect
from tests.cli.calling import files_in, run

FEW = {"steps": 20, "replicates": 3}
# Figures and pages would only take time; tests/report looks at them.
QUICK = "\n[output]\nfigures = false\nreport = false\nstates = true\n"
# Each has files, sections or a clock that the others lack; what the explorer shows of others is tested there.
NAMES = ["adaptation", "continuous_time", "hospital_contacts", "own_data", "painters", "rivals", "unknown_network"]


def written(capfd: pytest.CaptureFixture[str], folder: Path, name: str) -> Path:
    """Write an example and return the file to run, with fewer steps and replicates and without files of figures."""
    assert run(capfd, "new", folder, "--example", name).status == 0
    file = next(path for path in (folder / "study.toml", folder / f"{name}.toml") if path.exists())
    assert "[output]" not in file.read_text()
    shorter = re.sub(
        r"(?m)^(steps|replicates) = (\d+)", lambda m: f"{m[1]} = {min(int(m[2]), FEW[m[1]])}", file.read_text()
    )
    file.write_text(shorter + QUICK)
    return file


def numbers(folder: Path) -> dict[str, bytes]:
    """Return the content of the files of a run that hold its numbers."""
    return {name: data for name, data in files_in(folder).items() if name.endswith((".nc", ".csv", ".json"))}


def settings_of(file: Path) -> str:
    """Return a scenario without the comment that names the file it is a copy of."""
    comment, _, text = file.read_text(encoding="utf-8").partition("\n")
    assert comment.startswith("# peerpressure run ")
    return text


@pytest.mark.parametrize("name", NAMES)
def test_the_scenario_among_the_results_repeats_the_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(capfd, Path("q"), name)
    answer = run(capfd, "run", file, "--json")
    assert (answer.status, answer.err) == (0, "")
    results = file.with_name(f"{file.stem}-results")
    # From the same folder, and from another one after the study was moved.
    assert run(capfd, "check", results / "scenario.toml").status == 0
    first = numbers(results)
    assert {"run.nc", "verdict.json", "agents.csv", "summaries.csv"} <= first.keys()
    Path("q").rename("moved")
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    copy = Path("..", "moved", results.name, "scenario.toml")
    assert run(capfd, "check", copy).status == 0
    assert run(capfd, "run", copy, "--out", "again").status == 0
    assert numbers(Path("again")) == first
    # And so does the copy of the copy, which is the same text where it names no files.
    if "file =" not in settings_of(copy):
        assert settings_of(Path("again/scenario.toml")) == settings_of(copy)
        return
    assert run(capfd, "run", "again/scenario.toml", "--out", "third").status == 0
    assert numbers(Path("third")) == first


def test_the_copy_names_no_folder_and_copies_of_inputs(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(capfd, tmp_path / "q", "own_data")
    file.write_text(file.read_text() + "folder = 'out/results'\n")
    assert run(capfd, "run", file).status == 0
    results = tmp_path / "q" / "out" / "results"
    text = (results / "scenario.toml").read_text()
    assert text.startswith("# peerpressure run scenario.toml repeats this run.\n")
    assert 'file = "inputs/friends.csv"' in text
    assert 'file = "inputs/people.csv"' in text
    assert "folder =" not in text
    # A run of the copy does not replace it.
    assert run(capfd, "run", results / "scenario.toml").status == 0
    assert (results / "scenario-results" / "run.nc").is_file()
    assert (results / "scenario.toml").read_text() == text


@pytest.mark.parametrize("place", ["linked", "far"])
def test_links_to_folders_do_not_mislead_the_copy(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    file = written(capfd, Path("q"), "own_data")
    Path("deep/er/results").mkdir(parents=True)
    Path("linked").symlink_to("deep/er/results", target_is_directory=True)
    Path("far").mkdir()
    assert run(capfd, "run", file, "--out", place).status == 0
    model = load_scenario(Path(place, "scenario.toml")).model()
    assert model.x0.tolist() == load_scenario(file).model().x0.tolist()


@pytest.mark.usefixtures("worker_here")
def test_a_sweep_does_not_depend_on_where_it_is_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capfd, "new", "q", "--example", "own_data").status == 0
    sweep = Path("q", "sweep.toml")
    sweep.write_text(sweep.read_text().replace("replications = 5", "replications = 1"))
    assert run(capfd, "sweep", sweep, "--workers", 1).status == 0
    first = collect("q/sweep-results")
    # Finished is finished, whatever the paths are called.
    for folder, spelled in (("q", "sweep.toml"), (".", (tmp_path / sweep).as_posix())):
        monkeypatch.chdir(tmp_path / folder)
        answer = run(capfd, "sweep", spelled, "--workers", 1, "--json")
        assert (answer.json["done"], answer.json["total"]) == (4, 4)
        assert len([*(tmp_path / "q" / "sweep-results" / "units").rglob("*.json")]) == 4
    (tmp_path / "q").rename(tmp_path / "moved")
    monkeypatch.chdir(tmp_path / "moved")
    assert run(capfd, "sweep", "sweep.toml", "--workers", 1, "--out", "again").status == 0
    assert collect("again").equals(first)


@pytest.mark.usefixtures("worker_here")
def test_files_on_an_axis_are_beside_the_sweep(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "q"
    folder.mkdir()
    for name, text in {"one.csv": "a,b\nb,c\n", "two.csv": "a,b\nb,c\na,c\n"}.items():
        (folder / name).write_text(f"source,target\n{text}")
    (folder / "s.toml").write_text("[network]\nfile = 'one.csv'\n[run]\nsteps = 3\n")
    (folder / "sweep.toml").write_text(
        "scenario = 's.toml'\n[[axis]]\nfield = 'network.file'\nvalues = ['one.csv', 'two.csv']\n"
        "[measure]\nnames = ['spread']\n"
    )
    answer = run(capfd, "sweep", "q/sweep.toml", "--workers", 1, "--json")
    assert answer.status == 0, answer.err
    assert collect("q/sweep-results")["network.file"].tolist() == ["one.csv", "two.csv"]
