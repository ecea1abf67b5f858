"""Paths: what a command reads it never writes to, whatever the path is called; ~ is the home folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
import typer

from peerpressure import Model, TemporalNetwork, Trajectory, cli, read_network, simulate
from peerpressure.cli.terminal import OUTPUTS
from peerpressure.networks import path as path_graph, read_events, write_events, write_network
from tests.cli.calling import files_in, run

SCENARIO = """[network]
file = "friends.csv"
[agents]
hidden = { file = "people.csv", column = "opinion" }
[noise]
law = "gaussian"
std = 0.1
[run]
steps = 4
[observe]
methods = ["kalman"]
[output]
figures = false
report = false
"""
SWEEP = """scenario = "study.toml"
[[axis]]
field = "noise.std"
values = [0.1, 0.2]
[measure]
names = ["spread"]
"""
INPUTS = {
    "study.toml": SCENARIO,
    "sweep.toml": SWEEP,
    "friends.csv": "source,target\nann,bob\nbob,cat\n",
    "people.csv": "agent,opinion\nann,0.1\nbob,0.5\ncat,0.9\n",
    "observed.csv": "time,agent,public\n1,ann,0.3\n1,bob,0.5\n1,cat,0.7\n2,ann,0.4\n2,bob,0.5\n2,cat,0.6\n",
}
RULE = "must not take the place of what it is made from"


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "study"
    folder.mkdir()
    for name, text in INPUTS.items():
        (folder / name).write_text(text)
    monkeypatch.chdir(folder)
    yield folder
    # Whatever a test did, no input has changed.
    for name, text in INPUTS.items():
        assert (folder / name).read_text() == text


def same(path: Path) -> Path:
    return path


def relative(path: Path) -> Path:
    return Path("..", path.parent.name, ".", path.name)


def symbolic(path: Path) -> Path:
    link = path.with_name("link.csv")
    link.symlink_to(path)
    return link


def linked_folder(path: Path) -> Path:
    link = path.parent.with_name("link")
    link.symlink_to(path.parent, target_is_directory=True)
    return link / path.name


def hard(path: Path) -> Path:
    link = path.with_name("hard.csv")
    os.link(path, link)
    return link


@pytest.mark.parametrize("spelled", [same, relative, symbolic, linked_folder, hard])
@pytest.mark.parametrize("name", ["observed.csv", "friends.csv", "people.csv"])
def test_estimates_never_replace_what_they_are_made_from(
    capfd: pytest.CaptureFixture[str], study: Path, name: str, spelled: Callable[[Path], Path]
) -> None:
    out = spelled(study / name)
    refused = run(capfd, "recover", "observed.csv", "--scenario", "study.toml", "--out", out)
    assert refused.status == 2
    assert RULE in refused.err
    assert name in refused.err
    assert refused.out == ""


@pytest.mark.parametrize("kind", [".png", ".svg"])
def test_a_figure_never_replaces_an_input(capfd: pytest.CaptureFixture[str], study: Path, kind: str) -> None:
    (study / f"figure{kind}").symlink_to(study / "observed.csv")
    command = ("recover", "observed.csv", "--scenario", "study.toml", "--figure", f"figure{kind}")
    refused = run(capfd, *command)
    assert (refused.status, refused.out) == (2, "")
    assert RULE in refused.err
    assert (study / f"figure{kind}").is_symlink()


def test_results_never_go_to_a_folder_with_inputs(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    assert run(capfd, "run", "study.toml").status == 0
    results = study / "study-results"
    before = files_in(results, leave_out=())
    # The scenario in a folder of results, and a table of results as the input of the run that would write it again.
    again = run(capfd, "run", results / "scenario.toml", "--out", results)
    text = SCENARIO.replace('"people.csv", column = "opinion"', '"study-results/agents.csv", column = "hidden"')
    (study / "next.toml").write_text(text)
    own = run(capfd, "run", "next.toml", "--out", "study-results")
    for refused in (again, own):
        assert (refused.status, refused.out) == (2, "")
        assert RULE in refused.err
    assert files_in(results, leave_out=()) == before


def test_results_of_another_scenario_are_not_replaced(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    assert run(capfd, "run", "study.toml", "--out", "results").status == 0
    before = (study / "results" / "run.nc").read_bytes()
    (study / "other.toml").write_text(SCENARIO.replace("0.1", "0.3"))
    refused = run(capfd, "run", "other.toml", "--out", "results")
    assert (refused.status, refused.out) == (2, "")
    assert "study.toml" in refused.err
    assert "name another folder" in refused.err
    assert (study / "results" / "run.nc").read_bytes() == before
    # The same scenario replaces its own results, also after an edit and under another spelling.
    (study / "other.toml").rename(study / "kept.toml")
    assert run(capfd, "run", study / "study.toml", "--out", study / "results").status == 0


@pytest.mark.parametrize("name", ["lock", "sweep.sqlite", "units/a.csv"])
def test_a_sweep_never_writes_over_its_inputs(capfd: pytest.CaptureFixture[str], study: Path, name: str) -> None:
    from peerpressure.sweep._ledger import LEDGER

    taken = study / name.replace("sweep.sqlite", LEDGER)
    taken.parent.mkdir(exist_ok=True)
    taken.write_text(INPUTS["friends.csv"])
    (study / "study.toml").unlink()
    text = SCENARIO.replace("friends.csv", taken.relative_to(study).as_posix())
    if taken.suffix != ".csv":
        # A file without a suffix cannot be a network; a table of people can.
        text = SCENARIO.replace("people.csv", taken.name)
        taken.write_text(INPUTS["people.csv"])
    (study / "study.toml").write_text(text)
    content = taken.read_text()
    refused = run(capfd, "sweep", "sweep.toml", "--out", study)
    assert (refused.status, refused.out) == (2, "")
    assert RULE in refused.err
    assert taken.read_text() == content
    (study / "study.toml").write_text(SCENARIO)


@pytest.mark.usefixtures("worker_here")
def test_tables_and_plots_of_a_sweep_never_replace_inputs(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    assert run(capfd, "sweep", "sweep.toml", "--workers", 1).status == 0
    refused = run(capfd, "sweep", "collect", "sweep.toml", "--out", "people.csv")
    assert (refused.status, refused.out) == (2, "")
    assert RULE in refused.err
    (study / "spread_lines.pdf").symlink_to(study / "people.csv")
    drawn = run(capfd, "sweep", "plot", "sweep.toml", "--out", study)
    assert (drawn.status, drawn.out) == (2, "")
    assert RULE in drawn.err


def below(command: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Give all commands by name, those of groups too."""
    children = getattr(command, "commands", {})
    if not children:
        yield name, command
    for child, inner in children.items():
        yield from below(inner, f"{name} {child}".strip())


# The paths that each command takes.
PATHS = """\
new: folder
check: file
run: file out
diagnose: file
recover: answers scenario network out figure
compare: answers network agents report out
fit: answers network agents out
response: answers network report out
infer: answers out
convert: source out
partition: network out
paper: out
release: file out
info: place
simulate: out
explore: export
story: out
rerun: folder out
report: folder out
sweep run: file out
sweep status: place
sweep collect: place out
sweep plot: place out"""


def test_every_path_is_an_input_or_a_declared_output() -> None:
    # An option that writes must be declared, or what it writes to would count as read and be refused.
    found: dict[str, set[str]] = {}
    for name, command in below(typer.main.get_command(cli.app)):
        for param in command.params:
            if Path in (param.type_descriptor.annotation, *get_args(param.type_descriptor.annotation)):
                found.setdefault(name, set()).add(param.name)
    listed = {name: set(params.split()) for name, _, params in (line.partition(": ") for line in PATHS.splitlines())}
    assert found == listed
    assert set().union(*found.values()) & set(OUTPUTS) == {"out", "figure", "report", "export"}


@pytest.mark.usefixtures("worker_here")
def test_the_suffix_decides_the_format_of_a_table(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    assert run(capfd, "sweep", "sweep.toml", "--workers", 1).status == 0
    written = {
        "estimates": ("recover", "observed.csv", "--scenario", "study.toml"),
        "sweep": ("sweep", "collect", "sweep.toml"),
    }
    readers = {"csv": pd.read_csv, "parquet": pd.read_parquet}
    for (name, command), (suffix, read) in product(written.items(), readers.items()):
        out = study / f"{name}.{suffix}"
        assert run(capfd, *command, "--out", out).status == 0
        assert len(read(out)) > 0
        assert run(capfd, *command, "--out", study / f"{name}.{suffix.upper()}").status == 0


@pytest.mark.usefixtures("worker_here")
def test_other_suffixes_are_refused_before_any_work(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    assert run(capfd, "sweep", "sweep.toml", "--workers", 1).status == 0
    commands = (("recover", "missing.csv", "--scenario", "study.toml"), ("sweep", "collect", "sweep.toml"))
    for name, command in product(["x.xlsx", "x", "x.csv.gz", "x.txt"], commands):
        # Estimates without a suffix go to a folder of that name.
        if (name, command[0]) == ("x", "recover"):
            continue
        refused = run(capfd, *command, "--out", name)
        assert refused.status == 2
        assert ".csv or .parquet" in refused.err
        assert name in refused.err
        assert not (study / name).exists()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    monkeypatch.setenv("USERPROFILE", str(place))
    return place


@pytest.mark.usefixtures("worker_here")
def test_a_tilde_is_the_home_folder_in_files(capfd: pytest.CaptureFixture[str], study: Path, home: Path) -> None:
    for name in ("friends.csv", "people.csv"):
        (home / name).write_text(INPUTS[name])
    text = SCENARIO.replace('"friends.csv"', '"~/friends.csv"').replace('"people.csv"', '"~/people.csv"')
    (study / "away.toml").write_text(f'{text}folder = "~/made/results"\n')
    (study / "away-sweep.toml").write_text(f'{SWEEP.replace("study", "away")}[output]\nfolder = "~/made/sweep"\n')
    assert run(capfd, "check", "away.toml").status == 0
    assert run(capfd, "run", "away.toml").status == 0
    assert (home / "made" / "results" / "run.nc").is_file()
    assert run(capfd, "sweep", "away-sweep.toml", "--workers", 1).status == 0
    assert (home / "made" / "sweep" / "units").is_dir()
    assert not (study / "~").exists()


@pytest.mark.usefixtures("worker_here")
def test_a_tilde_is_the_home_folder_in_options(capfd: pytest.CaptureFixture[str], study: Path, home: Path) -> None:
    for name, text in INPUTS.items():
        (home / name).write_text(text)
    assert run(capfd, "run", "~/study.toml", "--out", "~/results").status == 0
    assert run(capfd, "recover", "~/observed.csv", "--scenario", "~/study.toml", "--out", "~/x.csv").status == 0
    assert run(capfd, "sweep", "~/sweep.toml", "--workers", 1, "--out", "~/sweep").status == 0
    assert run(capfd, "sweep", "collect", "~/sweep", "--out", "~/table.csv").status == 0
    assert run(capfd, "diagnose", "--network", "~/friends.csv").status == 0
    assert run(capfd, "new", "~/fresh").status == 0
    expected = {"results", "x.csv", "sweep", "table.csv", "fresh"}
    assert expected <= {path.name for path in home.iterdir()}
    assert not (study / "~").exists()


def test_the_home_of_nobody_is_refused(capfd: pytest.CaptureFixture[str], study: Path) -> None:
    refused = run(capfd, "run", "study.toml", "--out", "~nobody-of-this-name/x")
    assert (refused.status, refused.out) == (2, "")
    assert "./~nobody-of-this-name" in refused.err
    assert not (study / "~nobody-of-this-name").exists()
    # A name that only begins with the sign is a name.
    (study / "~table.csv").write_text(INPUTS["observed.csv"])
    assert run(capfd, "recover", "~table.csv", "--scenario", "study.toml").status == 0


def test_the_home_folder_is_meant_in_python_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    model = Model(path_graph(3), hidden=[0.0, 1.0, 2.0])
    write_network(model.network, "~/friends.csv")
    assert read_network("~/friends.csv").n == 3
    simulate(model, 3).save("~/run.npz")
    assert Trajectory.load("~/run.npz").times.size == 4
    (tmp_path / "seen.csv").write_text("time,agent,public\n1,0,0.5\n")
    assert Trajectory.from_csv("~/seen.csv", model).times.tolist() == [1]
    write_events(TemporalNetwork.from_snapshots([path_graph(3)]), "~/events.npz")
    assert read_events("~/events.npz").n == 3
