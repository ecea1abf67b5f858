"""Opinions that adapt, networks that change and time that flows, through every command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray

from peerpressure.scenario import Experiment, load_scenario
from peerpressure.theory import diagnose
from tests.cli.calling import run

Captured = pytest.CaptureFixture[str]

RING = '[network]\ngenerator = "cycle"\nn = 7\n'
NOISE = '[noise]\nlaw = "gaussian"\nstd = 0.3\n'
RUN = "[run]\nsteps = 30\nreplicates = 2\nseed = 3\n"
GIVING_WAY = (
    f"{RING}[agents]\nadaptation = 0.1\n{NOISE}{RUN}[observe]\nmethods = ['kalman']\ntarget = 'current'\n[privacy]\n"
)
FAILING = f"{RING}dynamics = {{ kind = 'failing_edges', probability = 0.3 }}\n{NOISE}{RUN}"
FLOWING = f"{RING}{NOISE}[time]\nstep = 0.2\n{RUN.replace('30', '10')}[observe]\nmethods = ['innovations']\n"
TEXTS = {"adapting": GIVING_WAY, "failing": FAILING, "flowing": FLOWING}
FIGURES = {
    "adapting": {"opinions", "hidden", "estimates", "opinion_map", "exposure", "exposure_map", "budget"},
    "failing": {"opinions", "opinion_map", "network"},
    "flowing": {"opinions", "opinion_map", "estimates"},
}


@pytest.fixture(params=TEXTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def file(kind: str, tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    path.write_text(TEXTS[kind])
    return path


def test_check_says_what_will_be_run(file: Path, kind: str, capfd: Captured) -> None:
    answer = run(capfd, "check", file)
    assert answer.status == 0
    words = {"adapting": "adapting by η_t = 0.1", "failing": "TemporalNetwork(7 agents", "flowing": "SDE("}
    assert words[kind] in answer.out


WORDS = {"adapting": "spread of hidden opinions", "failing": "repeated", "flowing": "continuous time"}
ALWAYS = {"run.nc", "verdict.json", "scenario.toml", "report.html", "agents.csv", "summaries.csv", "edges.csv"}
ALWAYS |= {"provenance.json", "README.txt", "inputs"}
TABLES = {"adapting": {"estimates", "budget"}, "failing": {"network"}, "flowing": {"estimates"}}


def test_run_writes_what_there_is_to_tell_and_leaves_nothing_of_a_run_of_another_kind(
    capfd: Captured, tmp_path: Path
) -> None:
    file, out = tmp_path / "study.toml", tmp_path / "out"
    for kind, text in TEXTS.items():
        file.write_text(text)
        answer = run(capfd, "run", file, "--out", out, "--json")
        assert (answer.status, answer.err) == (0, "")
        drawn = {f"{name}.png" for name in FIGURES[kind]}
        assert {path.name for path in out.iterdir()} == ALWAYS | drawn | {f"{name}.csv" for name in TABLES[kind]}
        page = (out / "report.html").read_text()
        assert page.count("<figure>") == len(FIGURES[kind])
        assert WORDS[kind] in page
        experiment = Experiment(load_scenario(file))
        assert answer.json["verdict"]["outcome"] == diagnose(experiment.system).outcome.name.lower()
        with xarray.open_dataset(out / "run.nc") as data:
            assert np.array_equal(data["public"], np.asarray(experiment.run.states))
            assert np.array_equal(data["time"], experiment.run.times)
            assert ("time" in data["hidden"].dims) == (kind == "adapting")
            assert np.array_equal(data["hidden"], np.asarray(experiment.run.hidden))
            assert np.array_equal(data["initial_hidden"], experiment.model.x0)


def test_diagnose_says_what_the_library_says(file: Path, capfd: Captured) -> None:
    scenario = load_scenario(file)
    told = run(capfd, "diagnose", file, "--json")
    assert told.status == 0
    expected = diagnose(scenario.system(), scenario.run.steps)
    assert told.json["outcome"] == expected.outcome.name.lower()
    assert told.json["reason"] == expected.reason


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (["--adaptation", "0.1"], GIVING_WAY),
        (["--dynamics", "failing:0.3"], FAILING),
        (["--adaptation", "0.1", "--continuous"], GIVING_WAY.partition("[observe]")[0] + "[time]\n"),
    ],
)
def test_flags_stand_for_sections(flags: list[str], text: str, capfd: Captured, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    there = ["--network", "cycle:7", "--noise", "gaussian:0.3", "--steps", "30", "--seed", "3"]
    from_flags = run(capfd, "diagnose", *there, *flags, "--json")
    assert from_flags.status == 0
    assert from_flags.json == run(capfd, "diagnose", tmp_path / "study.toml", "--json").json


def test_continuous_time_has_a_flag(capfd: Captured) -> None:
    # On a bipartite graph the same pressure makes steps swing forever, and flowing time not.
    graph = ["--network", "star:5", "--pressure", "t^2", "--json"]
    assert run(capfd, "diagnose", *graph).json["outcome"] == "oscillation"
    assert run(capfd, "diagnose", *graph, "--continuous").json["outcome"] == "biased_consensus"


def test_recover_finds_what_is_held_now_or_was_at_first(capfd: Captured, tmp_path: Path) -> None:
    file, observed = tmp_path / "study.toml", tmp_path / "observed.csv"
    file.write_text(GIVING_WAY)
    experiment = Experiment(load_scenario(file))
    experiment.run.to_dataframe().query("time > 0").to_csv(observed, index=False)
    now = run(capfd, "recover", observed, "--scenario", file, "--json").json
    first = run(capfd, "recover", observed, "--scenario", file, "--target", "initial", "--json").json
    assert (now["methods"][0]["target"], first["methods"][0]["target"]) == ("current", "initial")
    value = pd.DataFrame(now["agents"])["value"].to_numpy().reshape(2, 7)
    np.testing.assert_allclose(value, experiment.estimates["kalman"].value, atol=1e-9)
    assert first["agents"] != now["agents"]


SWEEP = """scenario = "study.toml"
[[axis]]
field = "{field}"
values = {choices}
[measure]
names = ["spread", "hidden_spread", "retention", "verdict"]
"""


@pytest.mark.usefixtures("worker_here")
def test_a_sweep_over_rates_and_formulas_is_collected_by_them(capfd: Captured, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(GIVING_WAY)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(SWEEP.format(field="agents.adaptation", choices="[0.0, 0.1, '0.5/t']"))
    answer = run(capfd, "sweep", sweep, "--workers", "1", "--json")
    assert (answer.status, answer.json["failed"]) == (0, 0)
    assert run(capfd, "sweep", "collect", sweep).status == 0
    table = pd.read_csv(tmp_path / "sweep-results" / "table.csv", dtype={"agents.adaptation": str})
    left = table[table["measure"] == "retention"].set_index("agents.adaptation")["value"]
    expected = {"0.0": 1.0, "0.1": 0.9**30, "0.5/t": np.prod(1 - 0.5 / np.arange(1, 31))}
    assert dict(left) == pytest.approx(expected, rel=1e-12)


def test_a_value_on_an_axis_that_cannot_be_is_told(capfd: Captured, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(FAILING)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'scenario = "study.toml"\n[[axis]]\nfield = "network.dynamics.probability"\nvalues = [0.1, 1.5]\n'
        '[measure]\nnames = ["isolated"]\n'
    )
    (problem,) = run(capfd, "check", sweep, "--json").json["problems"]
    assert (problem["path"], problem["line"]) == ("axis[0]", 2)
    assert "below 1.0, got 1.5" in problem["message"]


def test_measures_are_listed_with_what_they_tell(capfd: Captured) -> None:
    answer = run(capfd, "sweep", "measures", "--json")
    assert answer.status == 0
    assert {"spread", "hidden_spread", "isolated"} <= set(answer.json)
    assert "Spread of the public opinions" in run(capfd, "sweep", "measures").out


def test_an_order_of_columns_is_declared(tmp_path: Path, capfd: Captured) -> None:
    rows = ((k * 3 % 7, (k * 3 + 1 + k % 5) % 7, 1082040961 + 3600 * k) for k in range(20))
    (tmp_path / "messages.txt").write_text("".join("{} {} {}\n".format(*row) for row in rows))
    study = tmp_path / "study.toml"
    study.write_text("[network]\ncontacts = 'messages.txt'\nresolution = 3600\n[run]\nsteps = 20\n")
    answer = run(capfd, "check", study)
    assert "the order of columns without names must be clear" in answer.out + answer.err
    declared = "resolution = 3600\ncolumns = ['source', 'target', 'time']"
    study.write_text(study.read_text().replace("resolution = 3600", declared))
    assert "columns source, target, time" in run(capfd, "check", study).out
