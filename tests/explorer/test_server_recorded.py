"""Pages without a server: what they hold, and how they are written."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure import cli
from peerpressure.errors import InvalidInputError
from peerpressure.explorer import recorded
from peerpressure.explorer.app import API
from peerpressure.explorer.bundle import RecordedRun, page
from peerpressure.explorer.protocol import Limits, unpack
from peerpressure.explorer.recorded import ANSWERS, record, record_run
from peerpressure.networks import barabasi_albert
from peerpressure.scenario import scenario_from
from peerpressure.simulation.recording import Record
from peerpressure.support.text import HtmlPage
from tests.explorer.driving import SMALL, STEPS

AGENT = 3
OTHER = SMALL | {"pressure": {"kind": "constant", "value": 2}}
STATE: dict[str, Any] = {"scenario": SMALL, "view": {"agents": [AGENT]}, "other": OTHER}


@cache
def comparison() -> RecordedRun:
    return record(STATE, Limits(), "peerpressure explore LINK --export page.html")


@pytest.fixture
def recording() -> RecordedRun:
    return comparison()


def catalogue_of(recording: RecordedRun) -> dict[str, Any]:
    return dict(json.loads(recording.catalogue))


def recorded_run(**options: Any) -> pp.Trajectory:
    model = pp.Model(barabasi_albert(20, 2, seed=1), hidden=np.linspace(0, 1, 20), noise=pp.Gaussian(0.5))
    return pp.simulate(model, 12, replicates=3, seed=2, **options)


# What is recorded


def test_every_question_about_a_scenario_is_recorded() -> None:
    questions = {name for name, route in API.items() if not route.raw and not name.startswith("export/")}
    assert {*ANSWERS, "network", "exact", "check"} == questions


def test_answers_are_those_of_the_server_in_single_precision(recording: RecordedRun) -> None:
    facts, arrays = unpack(recording.answers["0/run"])
    run = pp.simulate(scenario_from(SMALL).model(), STEPS, replicates=3, seed=1)
    assert run.states is not None
    np.testing.assert_array_equal(arrays["states"], run.states[0].astype(np.float32))
    assert "elapsed_ms" not in facts
    names, moments = unpack(recording.answers["0/exact"])
    assert names["names"] == ["network mean", *range(run.model.n)]
    np.testing.assert_array_equal(moments["std"][1:], pp.moments(run.model, STEPS).std.T.astype(np.float32))
    assert unpack(recording.answers["1/run"])[0]["pressure"] == "ρ_t = 2"
    assert recording.refusals == {}


def test_a_page_says_where_it_comes_from(recording: RecordedRun) -> None:
    text = str(page(recording))
    block = re.search(r'<script type="application/json" id="provenance">(.*?)</script>', text, re.DOTALL)
    assert block is not None
    held = json.loads(block[1])
    assert held["software"] == f"peerpressure {pp.__version__}"
    assert held["command"] == "peerpressure explore LINK --export page.html"
    assert [scenario_from(tomllib.loads(one)).run.seed for one in held["scenarios"]] == [1, 1]
    assert "hidden opinions" in held["contents"]


def test_a_page_names_no_other_file(recording: RecordedRun) -> None:
    text = str(page(recording))
    assert "/static/" not in re.sub(r"\"/static/[^\"]*\.js\"", "", text)
    assert not re.search(r'(?:src|href)="(?!data:|#)', text)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src &#x27;none&#x27;")
    assert "unsafe" not in policy[1]


def test_large_networks_and_long_runs_are_thinned_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "MAX_AGENTS", 10)
    monkeypatch.setattr(recorded, "MAX_NUMBERS", 200)
    monkeypatch.setattr(recorded, "MAX_MOMENTS", 60)
    thinned = record({"scenario": SMALL, "view": {"agents": [AGENT]}}, Limits(), "")
    facts, network = unpack(thinned.answers["0/network"])
    (run, arrays), (exact, _) = (unpack(thinned.answers[f"0/{name}"]) for name in ("run", "exact"))
    assert facts["n"] == run["n"] == arrays["states"].shape[1] == len(facts["labels"]) <= 10
    assert AGENT in facts["labels"]
    assert AGENT in exact["names"]
    assert network["edges"].max(initial=0) < facts["n"]
    # What is left of an agent is its own.
    whole = pp.simulate(scenario_from(SMALL).model(), STEPS, replicates=3, seed=1).states
    assert whole is not None
    rows = arrays["times"].astype(int)
    np.testing.assert_array_equal(arrays["states"], whole[0][np.ix_(rows, facts["labels"])].astype(np.float32))
    notes = " ".join(catalogue_of(thinned)["recorded"]["notes"])
    assert f"{facts['n']} of 24 agents are drawn" in notes
    assert f"{rows.size} of 41 steps are in this file" in notes
    assert f"mean, and of {len(exact['names']) - 1} agents" in notes


def test_a_run_is_recorded_as_it_is() -> None:
    run = recorded_run()
    recording = record_run(run)
    facts, arrays = unpack(recording.answers["0/run"])
    assert run.states is not None
    assert run.spread is not None
    np.testing.assert_array_equal(arrays["states"], run.states[0].astype(np.float32))
    np.testing.assert_array_equal(arrays["spread_mean"], run.spread.mean(axis=0).astype(np.float32))
    assert facts["verdict"]["outcome"] == pp.diagnose(run.model).outcome.name.lower()
    assert "drawn at random" not in facts["verdict"]["summary"]
    estimate = pp.recover(run, run.model, "innovations")
    found = unpack(recording.answers["0/observe"])[1]["estimate_auto"]
    np.testing.assert_allclose(found, estimate.value[0], rtol=1e-6)
    assert dict(catalogue_of(recording)["recorded"]["settings"])["Run"] == "time 0 to 12, 3 replicates, seed 2"


def test_parts_of_a_run_that_are_unknown_are_refused_with_their_reasons() -> None:
    some = record_run(recorded_run(record=Record(agents=[1, 5], every=3)))
    assert unpack(some.answers["0/network"])[0]["labels"] == [1, 5]
    assert "an observer must see all agents" in some.refusals["0/observe"]["error"]["text"]
    equation = pp.SDE(recorded_run().model, step=0.5)
    continuous = record_run(pp.simulate(equation, 4, seed=1))
    # A verdict on the discrete model would be one on another model.
    assert unpack(continuous.answers["0/run"])[0]["verdict"]["outcome"] == "unknown"
    assert "0/exact" in continuous.refusals
    with pytest.raises(InvalidInputError, match="a page needs opinions over time"):
        recorded_run(record="summaries").to_html()
    frame = recorded_run().to_dataframe()
    unknown = pp.Model(barabasi_albert(20, 2, seed=1), noise=pp.Gaussian(0.5))
    with pytest.raises(InvalidInputError, match="a page shows hidden opinions"):
        pp.Trajectory.from_dataframe(frame, unknown).to_html()


def test_a_run_becomes_a_file_and_a_frame_of_a_notebook(tmp_path: Path) -> None:
    run = recorded_run()
    held = run.to_html(tmp_path / "run.html")
    assert (tmp_path / "run.html").read_text("utf-8") == str(held)
    assert repr(held) == f"HtmlPage({(tmp_path / 'run.html').stat().st_size:,} bytes)"
    assert HtmlPage("<p>&</p>")._repr_html_().startswith('<iframe srcdoc="&lt;p&gt;&amp;&lt;/p&gt;"')
    # The sketch of a run in a notebook stays small.
    assert len(run._repr_html_()) < 20_000
    with pytest.raises(pp.errors.FileFormatError, match="a file must have a place to go"):
        run.to_html(tmp_path / "nowhere" / "run.html")
    assert [file.name for file in tmp_path.iterdir()] == ["run.html"]


# The command

GOOD = "[network]\ngenerator = 'k2'\n[run]\nsteps = 3\n"


def test_the_same_scenario_makes_the_same_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    # A page takes the place of an older one.
    for name in ("one.html", "two.html", "two.html"):
        assert cli.invoke(["explore", str(tmp_path / "good.toml"), "--export", str(tmp_path / name)]) == 0
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()
    said = capsys.readouterr().out
    assert f"{(tmp_path / 'one.html').stat().st_size:,} bytes; it contains hidden opinions" in said


def test_a_file_holds_every_step_that_it_has_room_for() -> None:
    club = {"network": {"named": "karate"}, "run": {"steps": 400, "seed": 1}, "observe": {"methods": ["snapshot"]}}
    recording = record({"scenario": club}, Limits(), "command")
    assert unpack(recording.answers["0/run"])[1]["times"].tolist() == list(range(401))
    assert catalogue_of(recording)["recorded"]["notes"] == []
    # What is one step too long loses that one, and not every second one after it.
    few = record({"scenario": club}, Limits(times=400), "command")
    assert unpack(few.answers["0/run"])[1]["times"].size > 390


@pytest.mark.parametrize(
    ("start", "out", "code", "said"),
    [
        ("nothing.toml", "page.html", 2, "a scenario must be readable"),
        ("bad.toml", "page.html", 2, "bad.toml"),
        ("good.toml", "nowhere/page.html", 1, "a file must have a place to go"),
        ("good.toml", "good.toml", 2, "a result must not take the place of what it is made from"),
    ],
)
def test_what_cannot_be_exported_is_one_line_and_no_file(
    start: str, out: str, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text("[network]\ngenerator = 'k3'\n[run]\nsteps = 3\n")
    assert cli.invoke(["explore", str(tmp_path / start), "--export", str(tmp_path / out)]) == code
    printed = capsys.readouterr()
    assert said in printed.err
    assert "Traceback" not in printed.err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad.toml", "good.toml"]
    assert (tmp_path / "good.toml").read_text() == GOOD
