"""sweep run, status, collect and plot: what a file asks for is what the measures give, once each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from peerpressure.report.store import from_csv
from peerpressure.scenario import ScenarioError, _sweep_file, load_sweep, measure_scenario
from peerpressure.sweep import _run
from tests.cli.calling import SMALL, run

Captured = pytest.CaptureFixture[str]

SWEEP = """scenario = "small.toml"
replications = 2
seed = 5

[[axis]]
field = "noise.std"
values = [0.1, 1.0]

[[axis]]
field = "run.steps"
range = { start = 10, stop = 20, count = 2 }

[measure]
names = ["spread", "recovery_error", "verdict"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sweep")
    (place / "small.toml").write_text(SMALL)
    (place / "sweep.toml").write_text(SWEEP)
    return place


@pytest.fixture(scope="module")
def done(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sweep, run once for all tests."""
    from peerpressure import cli

    assert cli.invoke(["sweep", str(folder / "sweep.toml"), "--workers", "1", "--json"]) == 0
    return folder / "sweep-results"


def test_a_sweep_from_a_file_is_the_measures_called_directly(done: Path, folder: Path, capfd: Captured) -> None:
    answer = run(capfd, "sweep", "collect", done, "--out", folder / "table.csv", "--json")
    assert answer.status == 0
    table = from_csv((folder / "table.csv").read_bytes())
    assert answer.json["rows"] == len(table)
    plan = load_sweep(folder / "sweep.toml").plan
    rows = []
    for unit in plan.units:
        import json

        parameters = json.loads(unit.parameters)
        point = {"noise.std": parameters["noise.std"], "run.steps": parameters["run.steps"]}
        rows += [point | {"replication": unit.replication} | row for row in measure_scenario(parameters, unit.seed)]
    expected = pd.DataFrame(rows)
    assert len(plan) == 8
    pd.testing.assert_frame_equal(
        table.fillna({"detail": ""}), expected, check_dtype=False, check_exact=True, check_column_type=False
    )


def test_a_second_run_computes_nothing_and_status_tells_so(done: Path, folder: Path, capfd: Captured) -> None:
    before = {path: path.stat().st_mtime_ns for path in (done / "units").rglob("*.json")}
    again = run(capfd, "sweep", "run", folder / "sweep.toml", "--workers", "1")
    assert (again.status, again.err) == (0, "")
    assert "8 of 8 done" in again.out
    assert {path: path.stat().st_mtime_ns for path in (done / "units").rglob("*.json")} == before
    told = run(capfd, "sweep", "status", folder / "sweep.toml", "--json").json
    assert (told["total"], told["done"], told["failed"]) == (8, 8, 0)
    assert run(capfd, "sweep", "status", done).status == 0


@pytest.mark.parametrize(
    ("line", "edited", "there"),
    [
        ("replications = 2", "replications = 3", "8 of its 12 units"),
        ("seed = 5", "seed = 6", "0 of its 8 units"),
        ("[0.1, 1.0]", "[1.0, 0.1]", "8 of its 8 units"),
    ],
)
@pytest.mark.parametrize("command", ["status", "collect", "plot"])
def test_results_are_those_of_the_file_as_it_is_now(
    command: str, line: str, edited: str, there: str, done: Path, folder: Path, capfd: Captured, tmp_path: Path
) -> None:
    shutil.copy(folder / "small.toml", tmp_path)
    (tmp_path / "sweep.toml").write_text(SWEEP.replace(line, edited))
    shutil.copytree(done, tmp_path / "sweep-results")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    refused = run(capfd, "sweep", command, tmp_path / "sweep.toml")
    assert (refused.status, refused.out, refused.err.count("\n")) == (1, "", 1)
    assert f"those of another version, which has {there}" in refused.err
    assert {path: path.read_bytes() for path in before} == before
    assert run(capfd, "sweep", command, tmp_path / "sweep-results").status == 0


@pytest.mark.parametrize("kind", ["lines", "boxes", "heat"])
def test_every_kind_of_plot_is_drawn(kind: str, done: Path, capfd: Captured, tmp_path: Path) -> None:
    arguments = ["--kind", kind, "--measure", "recovery_error", "--out", tmp_path]
    answer = run(capfd, "sweep", "plot", done, *arguments, "--json")
    assert (answer.status, answer.err) == (0, "")
    assert (answer.json["x"], answer.json["by"]) == ("noise.std", "run.steps")
    assert all(Path(name).stat().st_size > 1000 for name in answer.json["files"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--kind", "pie"], "lines, boxes or heat"),
        (["--measure", "speed"], "spread"),
        (["--x", "noise.law"], "noise.std"),
    ],
)
def test_plots_that_cannot_be_drawn(arguments: list[str], says: str, done: Path, capfd: Captured) -> None:
    answer = run(capfd, "sweep", "plot", done, *arguments)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert says in answer.err


def test_everything_wrong_with_a_sweep_file_is_told(folder: Path, capfd: Captured) -> None:
    bad = folder / "bad.toml"
    bad.write_text(
        SWEEP.replace('"noise.std"', '"noise.sdt"').replace('"verdict"]', '"verdikt"]').replace("seed = 5", "sed = 5")
    )
    answer = run(capfd, "sweep", bad)
    assert (answer.status, answer.out) == (2, "")
    assert "did you mean 'verdict'?" in answer.err
    assert "did you mean 'seed'?" in answer.err
    bad.write_text(SWEEP.replace('"noise.std"', '"noise.sdt"').replace("start = 10", "start = 0"))
    told = run(capfd, "check", bad, "--json").json["problems"]
    assert {(problem["path"], problem["line"]) for problem in told} == {("axis[0]", 5), ("axis[1]", 9)}
    assert any("did you mean 'std'?" in problem["message"] for problem in told)


def test_a_problem_belongs_to_the_axis_of_its_field_and_names_it_once(folder: Path) -> None:
    fields = {"network.k": 4, "network.kind": '"x"', "noise": "1", "noise.law": '"pink"', "run": "3"}
    axes = "".join(f'[[axis]]\nfield = "{field}"\nvalues = [{value}]\n' for field, value in fields.items())
    (folder / "wrong.toml").write_text(f'scenario = "small.toml"\n{axes}[measure]\nnames = ["spread"]\n')
    with pytest.raises(ScenarioError) as found:
        load_sweep(folder / "wrong.toml")
    told = {problem.message.partition(":")[0]: problem for problem in found.value.problems}
    # Not at network.k, whose name is the beginning of the other one; and at the field rather than its section.
    assert {name: problem.path for name, problem in told.items()} == {
        "network.k": "axis[0]",
        "network.kind": "axis[1]",
        "noise.law": "axis[3]",
        "run": "axis[4]",
    }
    assert told["noise.law"].message.startswith("noise.law: must be one of gaussian")


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"noise.time_scale": '[{ formula = "1 + t" }, { formula = "(1+t)" }]'}, '{"formula": "(1+t)"}'),
        # A default that is written out is no other value.
        ({"pressure": '[{ kind = "linear" }, { slope = 1, kind = "linear" }]'}, 'pressure = {"kind": "linear"} and'),
        ({"pressure": '["t", { kind = "formula", formula = "t" }]'}, 'pressure = "t" and'),
        # The second axis replaces what the first one sets.
        ({"noise.std": "[1, 2]", "noise": '[{ law = "gaussian", std = 1 }]'}, "noise.std = 1 and noise.std = 2"),
        # Far beyond the points that are looked at one by one.
        ({"noise.std": f"{[*range(1, 6)]}", "run.steps": f"{[*range(1, 6)]}", "output.states": "[true, false]"},
         "output.states = true and output.states = false"),
        ({"noise": '[{ law = "none" }, { law = "gaussian" }, { law = "gaussian", temporal = "white" }]',
          "run.steps": f"{[*range(1, 31)]}"}, 'noise = {"law": "gaussian"} and'),
    ],
)  # fmt: skip
def test_points_that_are_the_same_scenario_are_refused(
    axes: dict[str, str], says: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sweep_file, "CHECKED", 20)
    text = "".join(f'[[axis]]\nfield = "{field}"\nvalues = {values}\n' for field, values in axes.items())
    (folder / "twice.toml").write_text(f'scenario = "small.toml"\n{text}[measure]\nnames = ["spread"]\n')
    with pytest.raises(ScenarioError, match="points of a sweep must differ") as found:
        load_sweep(folder / "twice.toml")
    assert len(found.value.problems) == 1
    assert says in str(found.value)


@pytest.mark.usefixtures("worker_here")
def test_failed_units_are_named_by_their_axes_and_give_status_1(
    folder: Path, tmp_path: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []

    def reporter(progress: bool, total: int, what: str) -> AbstractContextManager[Callable[[int], None]]:
        counted.append(f"{total} {what}")
        return nullcontext(lambda done: None)

    monkeypatch.setattr(_run, "reporter", reporter)
    (tmp_path / "small.toml").write_text(
        SMALL.replace('generator = "cycle"', 'generator = "random_regular"\ndegree = 2')
    )
    file = tmp_path / "fails.toml"
    # Seven agents cannot have three neighbours each, which shows only when the network is built.
    file.write_text(
        'scenario = "small.toml"\n[[axis]]\nfield = "network.degree"\nvalues = [3]\n[measure]\nnames = ["mean"]'
    )
    answer = run(capfd, "sweep", file, "--workers", "1")
    assert answer.status == 1
    assert "even" in answer.out
    assert "network.degree = 3" in answer.out
    assert counted == ["1 units"]
    told = run(capfd, "sweep", "status", file, "--json").json
    assert told["failures"][0]["parameters"] == {"network.degree": 3}
    assert answer.err == "peerpressure: 1 of 1 units failed; see sweep status\n"
    collected = run(capfd, "sweep", "collect", tmp_path / "fails-results")
    assert (collected.status, collected.err.count("\n")) == (1, 1)


def test_help_of_the_group_and_of_its_commands(capfd: Captured) -> None:
    for arguments in (["sweep", "--help"], ["sweep", "run", "--help"], ["sweep", "plot", "--help"]):
        answer = run(capfd, *arguments)
        assert answer.status == 0
        assert "sweep" in answer.out
    assert run(capfd, "sweep", "none.toml").status == 2


@pytest.mark.parametrize(("kind", "same"), [("", True), ('random_numbers = "independent"\n', False)])
def test_points_differ_by_their_fields_and_by_nothing_else(kind: str, same: bool, tmp_path: Path) -> None:
    (tmp_path / "drawn.toml").write_text(
        '[network]\ngenerator = "erdos_renyi"\nn = 9\np = 0.5\n[noise]\nlaw = "gaussian"\n[run]\nsteps = 1\n'
        '[pressure]\nkind = "constant"\nvalue = 1\n'
    )
    (tmp_path / "sweep.toml").write_text(
        f'scenario = "drawn.toml"\nreplications = 3\n{kind}[[axis]]\nfield = "pressure.value"\nvalues = [0.0, 1e-9]\n'
        '[measure]\nnames = ["hidden_spread", "mean"]\n'
    )
    plan = load_sweep(tmp_path / "sweep.toml").plan
    rows = [measure_scenario({**json.loads(unit.parameters), **plan.local}, unit.seed) for unit in plan.units]
    values = np.array([[row["value"] for row in found] for found in rows]).reshape(2, 3, 2)
    # Hidden opinions and noise are those of the replication; nearly no pressure makes no difference to them.
    assert np.allclose(values[0], values[1], atol=1e-6) is same
    assert len(np.unique(values[0, :, 0])) == 3


@pytest.mark.parametrize(
    ("replications", "words"),
    [("", "over 2 replicates of one network"), ("replications = 3\n", "over 3 replications, which differ")],
)
def test_check_says_what_an_error_bar_is(replications: str, words: str, tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "sweep.toml").write_text(SWEEP.replace("replications = 2\n", replications))
    told = run(capfd, "check", tmp_path / "sweep.toml").out
    assert f"error bars: standard error {words}" in told
    assert "random numbers: common" in told
    (tmp_path / "small.toml").write_text(SMALL.replace("replicates = 2\n", ""))
    told = run(capfd, "check", tmp_path / "sweep.toml").out
    assert ("error bars: none: there is one run at each point" in told) is (not replications)


def test_a_sweep_without_its_ledger_is_not_as_it_was_written(done: Path, tmp_path: Path, capfd: Captured) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(done, copy)
    assert "all files are as they were written" in run(capfd, "info", copy).out
    (copy / "ledger.sqlite").unlink()
    told = run(capfd, "info", copy)
    assert told.status == 1
    assert "ledger.sqlite missing" in told.out
