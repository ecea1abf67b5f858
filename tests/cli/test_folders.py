"""A results folder proves itself: it can be packed, moved, checked and run again with the same bits."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray

import peerpressure as pp
from peerpressure.report import folder as folders
from peerpressure.support.provenance import DEPENDENCIES, sha256_of
from tests.cli.calling import Answer, files_in, run
from tests.fitting.records import groups

Captured = pytest.CaptureFixture[str]
STUDY = """# My study.
[network]
file = "friends.csv"
[agents]
hidden = { file = "data/people.csv", column = "opinion" }
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 5
replicates = 2
seed = 3
[output]
figures = false
report = false
"""


def write_study(place: Path, text: str = STUDY) -> Path:
    (place / "data").mkdir(parents=True)
    (place / "friends.csv").write_text("source,target\nann,bob\nbob,cat\nann,cat\n")
    (place / "data" / "people.csv").write_text("name,opinion\nann,0.1\nbob,0.9\ncat,0.5\n")
    file = place / "study.toml"
    file.write_text(text)
    return file


def moved(folder: Path, place: Path) -> Path:
    """Pack a folder, unpack it elsewhere, and delete what it was made from."""
    archive = shutil.make_archive(str(place / "packed"), "tar", folder.parent, folder.name)
    shutil.rmtree(folder.parent)
    shutil.unpack_archive(archive, place / "elsewhere")
    return place / "elsewhere" / folder.name


@pytest.fixture
def results(tmp_path: Path, capfd: Captured) -> Path:
    """The folder of a run, moved to where its inputs are not."""
    assert run(capfd, "run", write_study(tmp_path / "here")).status == 0
    return moved(tmp_path / "here" / "study-results", tmp_path)


def provenance(folder: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((folder / "provenance.json").read_text())
    return found


def check_same(answer: Answer) -> None:
    assert (answer.status, answer.err) == (0, "")
    assert answer.json["same"]
    assert set(answer.json["files"].values()) == {"same"}
    assert answer.json["versions"] == answer.json["damaged"] == {}


def test_a_run_that_was_packed_and_moved_is_repeated_bit_by_bit(results: Path, capfd: Captured) -> None:
    answer = run(capfd, "rerun", results, "--json")
    check_same(answer)
    assert {"run.nc", "scenario.toml", "agents.csv", "edges.csv", "verdict.json"} <= answer.json["files"].keys()
    again = results.with_name("study-results-rerun")
    assert files_in(again) == files_in(results)
    # The copy is as good as the original, and so is its copy.
    assert run(capfd, "rerun", again, "--out", results.with_name("third")).status == 0
    assert files_in(results.with_name("third")) == files_in(results)


def test_the_folder_says_what_made_it(results: Path) -> None:
    recorded = provenance(results)
    assert recorded["command_line"] == ["peerpressure", "run", str(results.parents[1] / "here" / "study.toml")]
    assert (recorded["schema_version"], recorded["seed"], recorded["name"]) == (1, 3, "study")
    versions = recorded["versions"]
    assert isinstance(versions, dict)
    assert {"peerpressure", "python", *DEPENDENCIES} <= versions.keys()
    inputs, outputs = recorded["inputs"], recorded["outputs"]
    assert isinstance(inputs, dict)
    assert isinstance(outputs, dict)
    assert set(inputs) == {"inputs/study.toml", "inputs/friends.csv", "inputs/data/people.csv"}
    assert inputs["inputs/friends.csv"]["from"].endswith("/here/friends.csv")
    for name, facts in (inputs | outputs).items():
        assert facts["sha256"] == sha256_of(results / name)
    assert files_in(results, leave_out=()).keys() == {*inputs, *outputs, "provenance.json"}
    text = (results / "scenario.toml").read_text()
    assert 'file = "inputs/friends.csv"' in text
    assert 'file = "inputs/data/people.csv"' in text
    assert (results / "edges.csv").read_text() == "source,target,weight\nann,bob,1.0\nann,cat,1.0\nbob,cat,1.0\n"
    # The README names every file, and its lines of Python run.
    readme = (results / "README.txt").read_text()
    # `simulate` writes the same folder, which `run` repeats.
    assert readme.startswith(f"study: results of peerpressure {pp.__version__}.\n")
    for name in outputs:
        assert f"\n  {name} " in readme
    code = readme.split("To read them in Python\n")[1].split("\n\n")[0].replace("  ", "")
    assert code.count("read_csv") == 3
    for line in code.splitlines():
        assert line.startswith(("import ", "run = xarray.open_dataset(", "summaries = ", "agents = ", "edges = "))


def test_the_run_describes_itself(results: Path) -> None:
    with xarray.open_dataset(results / "run.nc") as data:
        for variable in data.variables.values():
            assert variable.attrs["units"] == "1"
            assert variable.attrs["long_name"]
            assert variable.attrs["description"]
        assert data.attrs["Conventions"].startswith("CF-")
        assert (results / "scenario.toml").read_text().endswith(data.attrs["scenario"])
        hashes = json.loads(data.attrs["provenance"])["inputs"]
    assert hashes["inputs/friends.csv"] == sha256_of(results / "inputs" / "friends.csv")
    assert json.loads((results / "verdict.json").read_text())["schema_version"] == 1


def test_changed_inputs_are_refused(results: Path, capfd: Captured) -> None:
    (results / "inputs" / "friends.csv").write_text("source,target\nann,bob\nbob,cat\n")
    (results / "inputs" / "data" / "people.csv").unlink()
    refused = run(capfd, "rerun", results)
    assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "inputs/friends.csv changed since it was written" in refused.err
    assert "inputs/data/people.csv missing; it was " in refused.err
    assert not results.with_name("study-results-rerun").exists()


def test_damage_and_other_numbers_are_told_file_by_file(results: Path, capfd: Captured) -> None:
    (results / "agents.csv").write_text("agent\n")
    (results / "summaries.csv").unlink()
    recorded = provenance(results)
    outputs, versions = recorded["outputs"], recorded["versions"]
    assert isinstance(outputs, dict)
    assert isinstance(versions, dict)
    outputs["edges.csv"]["sha256"] = "0" * 64
    versions["numpy"] = "1.0"
    (results / "provenance.json").write_text(json.dumps(recorded))
    answer = run(capfd, "rerun", results, "--json")
    assert answer.status == 1
    assert [name for name, what in answer.json["files"].items() if what != "same"] == ["edges.csv"]
    assert answer.json["damaged"].keys() == {"agents.csv", "summaries.csv", "edges.csv"}
    assert answer.json["versions"]["numpy"]["then"] == "1.0"
    shutil.rmtree(results.with_name("study-results-rerun"))
    words = run(capfd, "rerun", results)
    assert words.status == 1
    assert "agents.csv in " in words.out
    assert "numpy was 1.0, is " in words.out
    # An existing folder, or one inside of the results, is never written to.
    for place in ("study-results-rerun", "study-results/again"):
        assert run(capfd, "rerun", results, "--out", results.parent / place).status == 2


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"repeat": ["release", "x"]}, "must repeat one of run, sweep"),
        ({"repeat": ["run", "x", "--out=y"]}, "without --out"),
        ({"repeat": []}, "got nothing"),
        ({"schema_version": 99}, "schema_version 1, got 99"),
        ({"outputs": {"../secret": {}}}, "must name files of its folder"),
        ({"inputs": None}, "must have inputs"),
    ],
)
def test_a_folder_of_somebody_else_is_not_trusted(
    tmp_path: Path, capfd: Captured, change: dict[str, object], says: str
) -> None:
    facts = {"schema_version": 1, "command": "run", "name": "a", "repeat": ["run"], "inputs": {}, "outputs": {}}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "provenance.json").write_text(json.dumps({**facts, "versions": {}, **change}))
    refused = run(capfd, "rerun", tmp_path / "a")
    assert refused.status in (1, 2)
    assert (refused.out, refused.err.count("\n")) == ("", 1)
    assert says in refused.err


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_folder_without_provenance_is_told(tmp_path: Path, capfd: Captured, text: str | None) -> None:
    if text is not None:
        (tmp_path / "provenance.json").write_text(text)
    refused = run(capfd, "rerun", tmp_path)
    assert (refused.status, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert "provenance.json" in refused.err


def test_large_inputs_are_linked_and_known_by_their_hashes(
    tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "MAX_COPY", 30)
    file = write_study(tmp_path / "here")
    assert run(capfd, "run", file).status == 0
    results = file.with_name("study-results")
    link = results / "inputs" / "data" / "people.csv"
    assert link.is_symlink()
    assert link.read_text() == (file.parent / "data" / "people.csv").read_text()
    # The study can be moved as a whole.
    file.parent.rename(tmp_path / "moved")
    results = tmp_path / "moved" / "study-results"
    check_same(run(capfd, "rerun", results, "--out", tmp_path / "deep" / "again", "--json"))
    (tmp_path / "moved" / "data" / "people.csv").unlink()
    assert "people.csv missing; it was " in run(capfd, "rerun", results).err


def test_a_second_run_removes_inputs_of_the_first(tmp_path: Path, capfd: Captured) -> None:
    file = write_study(tmp_path / "here")
    assert run(capfd, "run", file).status == 0
    file.write_text(STUDY.replace('{ file = "data/people.csv", column = "opinion" }', "[0.1, 0.9, 0.5]"))
    assert run(capfd, "run", file).status == 0
    results = file.with_name("study-results")
    assert {name for name in files_in(results) if "/" in name} == {"inputs/study.toml", "inputs/friends.csv"}
    assert not (results / "inputs" / "data").exists()


def test_the_report_is_made_anew_from_the_stored_results(tmp_path: Path, capfd: Captured) -> None:
    file = write_study(tmp_path / "here", STUDY.split("[output]", maxsplit=1)[0] + "[observe]\n")
    assert run(capfd, "run", file).status == 0
    page = file.with_name("study-results") / "report.html"
    first = page.read_bytes()
    page.unlink()
    assert run(capfd, "report", page.parent).status == 0
    assert page.read_bytes() == first
    (page.parent / "run.nc").write_bytes(b"damaged")
    refused = run(capfd, "report", page.parent)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "run.nc" in refused.err
    assert page.read_bytes() == first


@pytest.mark.usefixtures("worker_here")
def test_a_sweep_that_was_packed_and_moved_is_repeated_bit_by_bit(tmp_path: Path, capfd: Captured) -> None:
    file = write_study(tmp_path / "here")
    # Paths of inputs are parameters of units, on which their seeds depend.
    sweep = file.parent / "plans" / "sweep.toml"
    sweep.parent.mkdir()
    sweep.write_text(
        "scenario = '../study.toml'\n[[axis]]\nfield = 'noise.std'\nvalues = [0.1, 1.0]\n"
        "[measure]\nnames = ['spread']\n"
    )
    assert run(capfd, "sweep", sweep, "--workers", 1, "--out", file.with_name("swept")).status == 0
    # A sweep that is done already keeps the provenance of what was computed.
    before = files_in(file.with_name("swept"), leave_out=("lock", "ledger.sqlite"))
    assert run(capfd, "sweep", sweep, "--workers", 1, "--out", file.with_name("swept")).status == 0
    assert files_in(file.with_name("swept"), leave_out=("lock", "ledger.sqlite")) == before
    results = moved(file.with_name("swept"), tmp_path)
    answer = run(capfd, "rerun", results, "--json")
    check_same(answer)
    assert answer.json["files"].keys() == {"units/", "edges.csv", "agents.csv", "README.txt"}
    recorded = provenance(results)
    assert isinstance(recorded["outputs"], dict)
    assert recorded["outputs"]["units/"]["files"] == 2
    told = run(capfd, "info", results)
    assert told.status == 0
    assert "results of peerpressure sweep" in told.out


@pytest.mark.usefixtures("worker_here")
def test_a_sweep_with_networks_of_its_own_lists_none(tmp_path: Path, capfd: Captured) -> None:
    scenario = STUDY.replace('file = "friends.csv"', 'generator = "barabasi_albert"\nn = 9\nm = 2')
    (tmp_path / "s.toml").write_text(scenario.replace('hidden = { file = "data/people.csv", column = "opinion" }', ""))
    (tmp_path / "sweep.toml").write_text("scenario = 's.toml'\n[measure]\nnames = ['spread']\n")
    assert run(capfd, "sweep", tmp_path / "sweep.toml", "--workers", 1).status == 0
    assert not (tmp_path / "sweep-results" / "edges.csv").exists()


def test_a_figure_of_the_paper_is_repeated_bit_by_bit(tmp_path: Path, capfd: Captured) -> None:
    settings = ("--only", "failure", "--set", "steps=100", "--seed", 3)
    assert run(capfd, "paper", *settings, "--out", tmp_path / "here" / "failure").status == 0
    results = moved(tmp_path / "here" / "failure", tmp_path)
    answer = run(capfd, "rerun", results, "--json")
    check_same(answer)
    assert "figures/failure.png" in answer.json["files"]


def test_estimates_in_a_folder_are_repeated_bit_by_bit(tmp_path: Path, capfd: Captured) -> None:
    file = write_study(tmp_path / "here")
    observed = file.with_name("observed.csv")
    observed.write_text("time,ann,bob,cat\n1,0.1,0.8,0.5\n2,0.3,0.7,\n3,0.4,0.6,0.5\n")
    out = file.with_name("estimates")
    answer = run(capfd, "recover", observed, "--scenario", file, "--out", out)
    assert answer.status == 0, answer.err
    # Missing outputs are no error: the method that can do without them is taken, and named.
    assert "kalman" in answer.out.lower()
    assert json.loads((out / "estimates.json").read_text())["methods"][0]["method"] == "kalman"
    refused = run(capfd, "recover", observed, "--scenario", file, "--method", "innovations")
    assert refused.status == 2
    assert "use the method kalman" in refused.err
    assert "(--method)" in refused.err
    results = moved(out, tmp_path)
    check_same(run(capfd, "rerun", results, "--json"))
    (results.parent / "notes").mkdir()
    (results.parent / "notes" / "mine.txt").touch()
    kept = results / "inputs" / "observed.csv"
    refused = run(capfd, "recover", kept, "--scenario", results / "scenario.toml", "--out", results.parent / "notes")
    assert refused.status == 2
    assert "name a new folder" in refused.err


ESTIMATED = {
    "fit": ("fit", "data/answers.csv", "--network", "friends.csv", "--unknown", "std", "--level", "0.9"),
    "compare": ("compare", "data/answers.csv", "--network", "friends.csv", "--rival", "none", "--rival", "linear"),
    "response": ("response", "data/rounds.csv", "--first", "before", "--permutations", "19"),
    "infer": ("infer", "data/answers.csv", "--pressure", "0.5*t", "--symmetric"),
    "recover": ("recover", "data/answers.csv", "--scenario", "study.toml", "--method", "kalman", "--method", "ols"),
    "recover from options": (
        *("recover", "data/answers.csv", "--network", "friends.csv"),
        *("--pressure", "0.5*t", "--noise", "gaussian:0.5"),
    ),
    "recover without a network": ("recover", "data/answers.csv", "--scenario", "study.toml", "--unknown-network"),
}


def write_answers(place: Path) -> None:
    """Write a study, and answers of its agents over 15 steps."""
    write_study(place)
    network = pp.networks.complete(3).relabelled(["ann", "bob", "cat"])
    model = pp.Model(network, [0.1, 0.9, 0.5], pressure="0.5*t", noise=pp.Gaussian(0.5))
    rows = np.asarray(pp.simulate(model, 15, seed=1).states)[0, 1:]
    table = pd.DataFrame(rows, columns=["ann", "bob", "cat"]).assign(time=np.arange(1, 16))
    table.to_csv(place / "data" / "answers.csv", index=False)
    groups(0.4, count=2).to_csv(place / "data" / "rounds.csv", index=False)


@pytest.mark.parametrize("kind", ESTIMATED)
def test_estimates_that_were_packed_and_moved_are_repeated_bit_by_bit(
    kind: str, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_answers(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    line = ESTIMATED[kind]
    answer = run(capfd, *line, "--out", "estimated")
    assert (answer.status, answer.err) == (0, "")
    monkeypatch.chdir(tmp_path)
    results = moved(tmp_path / "here" / "estimated", tmp_path)
    check_same(run(capfd, "rerun", results, "--json"))
    again = files_in(results.with_name("estimated-rerun"))
    assert again == files_in(results)
    used = (
        {"rounds.csv"}
        if kind == "response"
        else {"agents.csv"}
        if "infer" in kind or "without" in kind
        else {"agents.csv", "edges.csv"}
    )
    # Relative paths between inputs are preserved, and one alone has none.
    alone = {"infer": "inputs/answers.csv", "response": "inputs/rounds.csv"}
    kept = alone.get(kind, "inputs/data/answers.csv")
    assert {"README.txt", "estimates.json", "report.html", kept, *used} <= again.keys()
    assert ("edges.csv" in again) == ("edges.csv" in used)
    stored = json.loads(again["estimates.json"])
    assert stored["schema_version"] == 1
    readme = again["README.txt"].decode()
    listed = readme.split("Files\n")[1].split("\n\n")[0].split("\n")
    assert all((results / line.split()[0]).exists() for line in listed if "*" not in line)
    for name in re.findall(r'read_csv\("(.+)"\)', readme):
        assert (results / name).is_file()
    # The command line that makes them works from the folder.
    assert f"peerpressure {line[0]} {kept}" in readme
    assert ("recover" in kind) == ("scenario.toml" in again)
    for name in provenance(results)["outputs"]:  # type: ignore[attr-defined]
        assert "a file of results" not in readme
        assert name.startswith("figure") or f"\n  {name} " in readme
    told = run(capfd, "info", results)
    assert told.status == 0
    assert f"results of peerpressure {line[0]}" in told.out
    assert stored["sentences"][0] in " ".join(told.out.split())
    # The page is made from the files beside it, and begins with the answer.
    page = (results / "report.html").read_text()
    (results / "report.html").unlink()
    assert run(capfd, "report", results).status == 0
    assert (results / "report.html").read_text() == page
    assert page.index("What was run") > page.index('<p class="lead">')
    (results / "estimates.json").write_text("{}")
    refused = run(capfd, "report", results)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert (results / "report.html").read_text() == page


@pytest.mark.parametrize("kind", ["fit", "compare", "infer"])
def test_folders_of_others_are_never_written_to(
    kind: str, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_answers(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    before = files_in(tmp_path)
    refused = run(capfd, *ESTIMATED[kind], "--out", "data")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "name a new folder" in refused.err
    assert files_in(tmp_path) == before


def test_simulate_takes_the_options_of_diagnose_and_gives_the_results_of_run(
    tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_study(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    flags = ("--network", "friends.csv", "--hidden", "data/people.csv:opinion", "--noise", "gaussian:0.5")
    answer = run(capfd, "simulate", *flags, "--steps", 5, "--replicates", 2, "--seed", 3, "--out", "out", "--json")
    assert answer.status == 0, answer.err
    results = moved(tmp_path / "here" / "out", tmp_path)
    write_study(tmp_path / "there", STUDY)
    assert run(capfd, "run", tmp_path / "there" / "study.toml").status == 0
    # The same numbers as from a file.
    for name in ("summaries.csv", "agents.csv", "edges.csv"):
        assert (results / name).read_bytes() == (tmp_path / "there" / "study-results" / name).read_bytes()
    check_same(run(capfd, "rerun", results, "--json"))
    assert "results of peerpressure simulate" in run(capfd, "info", results).out


def test_info_says_what_is_there_in_ten_lines(results: Path, capfd: Captured) -> None:
    answer = run(capfd, "info", results)
    assert answer.status == 0
    for words in ("study, results of peerpressure run", "3 agents, 3 edges", "seed 3", "as they were written"):
        assert words in answer.out
    assert run(capfd, "info", results, "--json").json["changed"] == {}
    (results / "agents.csv").write_text("agent\n")
    assert run(capfd, "info", results).status == 1
    assert "agents.csv changed since it was written" in run(capfd, "info", results).out
    files = {
        "run.nc": "2 replicates, 6 times, 3 agents",
        "scenario.toml": "5 steps, 2 replicates, seed 3",
        "edges.csv": "3 agents, 3 edges",
        "summaries.csv": "12 rows",
        "verdict.json": "schema version",
        "inputs/friends.csv": "source from 'source'",
    }
    for name, says in files.items():
        assert says in " ".join(run(capfd, "info", results / name).out.split())
    for place in (results / "none.csv", results / "inputs"):
        assert run(capfd, "info", place).status == 2
    (results / "run.nc").write_bytes(b"damaged")
    assert "readable as netCDF" in run(capfd, "info", results / "run.nc").err


def test_versions_are_told_to_programs(capfd: Captured) -> None:
    told = run(capfd, "version", "--json").json
    assert told["schema_version"] == 1
    assert told["versions"]["peerpressure"] == told["version"]
    assert told["machine"]["processor"]


def test_dependencies_are_those_of_the_package() -> None:
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.match(r"[\w-]+", one)[0] for one in declared} <= set(DEPENDENCIES)  # type: ignore[index]
