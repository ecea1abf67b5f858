"""new, check, run, diagnose and recover: good paths, every kind of bad input, and what programs read."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray

import peerpressure as pp
from peerpressure import cli
from peerpressure.report.store import from_csv
from peerpressure.scenario import Experiment, load_scenario, results
from tests.cli.calling import SMALL, files_in, process, run

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_help_loads_nothing_heavy_and_lists_every_command() -> None:
    answer = process("--help", PYTHONPROFILEIMPORTTIME="1")
    assert answer.status == 0
    assert "| peerpressure.cli\n" in re.sub(" +", " ", answer.err)
    assert not re.findall(r"\| +(numpy|scipy|numba|pandas|matplotlib|networkx|xarray)$", answer.err, re.MULTILINE)
    assert all(
        f"\n  {name} " in answer.out for name in ("new", "check", "run", "diagnose", "recover", "sweep", "paper")
    )
    assert all(f"\n{group}:\n" in answer.out for group in cli.GROUPS)
    # Whole sentences, after "COMMAND [ARGS]...".
    for commands in (answer, process("sweep", "--help")):
        assert "..." not in commands.out.partition("\n")[2]


def test_new_writes_a_sound_scenario_and_never_overwrites(tmp_path: Path, capfd: Captured) -> None:
    answer = run(capfd, "new", tmp_path / "study")
    assert answer.status == 0
    made = tmp_path / "study" / "scenario.toml"
    assert str(made) in answer.out
    assert {path.name for path in made.parent.iterdir()} == {"scenario.toml", "scenario.schema.json"}
    assert run(capfd, "check", made).status == 0
    made.write_text("mine")
    assert run(capfd, "new", made.parent).status == 2
    assert made.read_text() == "mine"


def test_every_commented_line_of_the_starter_is_legal(tmp_path: Path, capfd: Captured) -> None:
    """What the comments offer instead can be used by removing the # and the lines that it replaces."""
    run(capfd, "new", tmp_path)
    (tmp_path / "agents.csv").write_text("hidden\n" + "0.5\n" * 100)
    (tmp_path / "friends.csv").write_text("\n".join(f"{i},{(i + 1) % 100}" for i in range(100)))
    events = "\n".join(f"{t},{t - 1},{t % 100}" for t in range(1, 101))
    (tmp_path / "events.csv").write_text(f"time,source,target\n{events}")
    (tmp_path / "contacts.csv").write_text(
        "time,source,target\n" + "\n".join(f"{t}.5,{t},{(t + 1) % 100}" for t in range(100))
    )
    text = (tmp_path / "scenario.toml").read_text()
    offers = [line for line in text.splitlines() if re.match(r"# [a-z_]+ = ", line)]
    assert len(offers) > 20
    for offer in offers:
        changed = _with_offer(text, offer)
        (tmp_path / "changed.toml").write_text(changed)
        answer = run(capfd, "check", tmp_path / "changed.toml")
        wrong_number = "one number for each of" in answer.out and "hidden = [" in offer
        assert answer.status == 0 or wrong_number, f"{offer}\n{answer.out}"


def _with_offer(text: str, offer: str) -> str:
    """Put an offered line in the place of what it stands for."""
    key = offer[2:].partition(" = ")[0]
    section = next(part for part in re.split(r"(?m)^(?=\[)", text) if offer in part)
    others = dict.fromkeys(("named", "file", "edges", "events", "contacts", "recorded"), "generator|n|m")
    rival = (others | {"temporal": "generator|m", "formula": "kind|slope"}).get(key, key)
    chosen = re.sub(rf"(?m)^({rival}) = .*\n", "", section).replace(offer, offer[2:])
    return text.replace(section, chosen)


def test_check_lists_all_problems_with_their_lines(tmp_path: Path, capfd: Captured) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[network]\ngenerator = 'cycle'\nn = 2.5\n[run]\nstep = 3\n[noise]\nlaw = 'loud'\n")
    answer = run(capfd, "check", bad)
    assert answer.status == 2
    assert answer.err == ""
    assert answer.out.splitlines()[0] == f"{bad}: 4 problems"
    assert all(place in answer.out for place in ("line 3, network.n", "line 5, run.step", "line 7, noise.law"))
    told = run(capfd, "check", bad, "--json")
    assert told.status == 2
    assert [problem["line"] for problem in told.json["problems"]] == [3, 4, 5, 7]
    assert not told.json["valid"]


def test_check_tells_what_it_found_in_the_files(tmp_path: Path, capfd: Captured) -> None:
    (tmp_path / "friends.csv").write_text("Source;Target;Type;Weight\nAnna;Bernd;Undirected;1,5\nBernd;Carla;;2\n")
    (tmp_path / "people.csv").write_text("age;name;opinion\n9;Bernd;0,5\n8;Carla;0,7\n7;Anna;0,1\n6;Dora;1\n")
    file = tmp_path / "study.toml"
    column = "{ file = 'people.csv', column = 'opinion' }"
    file.write_text(f"[network]\nfile = 'friends.csv'\n[agents]\nhidden = {column}\nstart=[1,2,3]\n[run]\nsteps = 3\n")
    answer = run(capfd, "check", file)
    assert answer.status == 0
    network, hidden, start = answer.out.splitlines()[1:]
    for words in ("semicolons", "decimal commas", "source from 'Source'", "weight from 'Weight'", "not used: 'Type'"):
        assert words in network
    for words in (
        "column 'opinion'",
        "matched by 'name'",
        "'Anna' 0.1, 'Bernd' 0.5, 'Carla' 0.7",
        "left out",
        "'Dora'",
    ):
        assert words in hidden
    assert "in the order of the agents: 'Anna' 1, 'Bernd' 2, 'Carla' 3" in start
    assert set(run(capfd, "check", file, "--json").json["found"]) == {"network", "agents.hidden", "agents.start"}
    (tmp_path / "contacts.csv").write_text("source,target,time\nann,bob,20\nbob,cat,40\n")
    file.write_text("[network]\ncontacts = 'contacts.csv'\nresolution = 10\n[run]\nsteps = 3\n")
    assert "commas, source from 'source', target from 'target', time from 'time'" in run(capfd, "check", file).out


def test_run_writes_everything_the_file_asks_for(file: Path, capfd: Captured, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    file.write_text(f'{SMALL}[output]\nformats = ["pdf", "svg"]\n')
    answer = run(capfd, "run", file, "--out", out, "--json")
    assert (answer.status, answer.err) == (0, "")
    names = {path.name for path in out.iterdir()}
    tables = {"agents.csv", "summaries.csv", "estimates.csv", "budget.csv", "frontier.csv"}
    drawn = ("opinions", "estimates", "opinion_map", "exposure", "exposure_map", "budget", "frontier")
    figures = {f"{name}.{kind}" for name in drawn for kind in ("pdf", "svg")}
    proof = {"provenance.json", "README.txt", "edges.csv", "inputs"}
    assert names == tables | figures | proof | {"run.nc", "verdict.json", "scenario.toml", "report.html"}
    listed = {Path(name).relative_to(out).as_posix() for name in answer.json["files"]}
    assert listed == names - {"inputs"} | {"inputs/small.toml"}
    assert answer.json["verdict"]["outcome"] == "consensus"
    # Nothing is left of the folder in which the results were made.
    assert [path.name for path in out.parent.iterdir()] == ["out"]
    check_numbers(file, out)
    check_page((out / "report.html").read_text())


def check_numbers(file: Path, out: Path) -> None:
    """The files hold the very numbers that the library gives."""
    experiment = Experiment(load_scenario(file))
    with xarray.open_dataset(out / "run.nc") as data:
        assert np.array_equal(data["public"], np.asarray(experiment.run.states))
    read = from_csv((out / "estimates.csv").read_bytes())
    assert set(read["method"]) == {"innovations", "ols"}
    value = read.loc[read["method"] == "ols", "value"].to_numpy().reshape(2, 7)
    assert np.array_equal(value, experiment.estimates["ols"].value)
    agents = from_csv((out / "agents.csv").read_bytes())
    assert np.array_equal(agents["hidden"], experiment.model.x0)
    assert load_scenario(out / "scenario.toml").model_dump(exclude={"output"}) == experiment.scenario.model_dump(
        exclude={"output"}
    )


def check_page(page: str) -> None:
    """The page is complete in itself and says what was found."""
    assert "<script" not in page
    assert not re.search(r"""(src|href)=["'](?!data:|#)""", page)
    for words in ("Consensus on v", "innovations", "What was run", "agents.csv", "prefers-color-scheme: dark"):
        assert words in page


def test_a_second_run_replaces_its_own_files_and_leaves_others(file: Path, capfd: Captured) -> None:
    quick = file.read_text().split("[observe]")[0] + "[output]\nfigures = false\nreport = false\nfolder = 'here'\n"
    file.write_text(quick)
    out = file.parent / "here"
    assert run(capfd, "run", file).status == 0
    first = files_in(out)
    (out / "notes.txt").write_text("mine")
    (out / "agents.csv").write_text("damaged")
    answer = run(capfd, "run", file)
    assert answer.status == 0
    assert "files in" in answer.out
    assert files_in(out) == first | {"notes.txt": b"mine"}


def test_results_never_mix_with_those_of_another_run_or_with_a_users_files(file: Path, capfd: Captured) -> None:
    refused = run(capfd, "run", file, "--out", file.parent)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "name a new folder" in refused.err
    assert file.read_text() == SMALL
    file.write_text(SMALL.split("[observe]")[0] + "[output]\nreport = false\nfigures = false\n")
    out = file.with_name("small-results")
    out.mkdir()
    (out / "run.nc").touch()
    (out / "verdict.json").touch()
    (out / "estimates.csv").write_text("of an earlier run")
    assert run(capfd, "run", file).status == 0
    assert not (out / "estimates.csv").exists()


def test_a_run_that_fails_leaves_nothing(file: Path, capfd: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    file.write_text(SMALL.split("[observe]")[0] + "[output]\nreport = false\nfigures = false\n")
    monkeypatch.setattr("peerpressure.report.store.replacing", fails)
    answer = run(capfd, "run", file)
    assert (answer.status, answer.err.count("\n")) == (1, 1)
    assert "must be written, got No space left on device" in answer.err
    assert [path.name for path in file.parent.iterdir()] == ["small.toml"]


def test_a_bad_scenario_is_refused_line_by_line_before_any_work(tmp_path: Path, capfd: Captured) -> None:
    bad = tmp_path / "bad.toml"
    bad.write_text("[network]\ngenerator = 'cycle'\nn = 2.5\n[run]\nsteps = nan\n")
    for arguments in (["run"], ["diagnose"], ["recover", "x.csv", "--scenario"]):
        answer = run(capfd, *arguments, bad)
        assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 2)
        assert all(line.startswith(f"peerpressure: {bad}: line ") for line in answer.err.splitlines())
    assert list(tmp_path.iterdir()) == [bad]


def test_diagnose_from_flags_says_what_the_library_says(capfd: Captured) -> None:
    flags = ["--network", "cycle:9", "--pressure", "t", "--noise", "laplace:0.5", "--steps", "50", "--seed", "2"]
    told = run(capfd, "diagnose", *flags, "--json")
    assert told.status == 0
    assert told.json["outcome"] == "consensus"
    assert told.json["forecast"]["steps"] == 50
    words = run(capfd, "diagnose", *flags).out
    assert words.startswith("Consensus on v")
    fast = run(capfd, "diagnose", "--network", "star:9", "--pressure", "2^sqrt(t)", "--json").json
    assert (fast["outcome"], fast["forecast"]) == ("oscillation", None)


def test_diagnose_names_a_better_schedule_which_can_be_used(capfd: Captured) -> None:
    flags = ["--network", "cycle:9", "--noise", "gaussian:0.1", "--steps", "20"]
    advice = run(capfd, "diagnose", *flags, "--json").json["advice"]
    best = advice["suggestions"][0]
    assert (best["name"], best["outcome"]) == ("optimal", None)
    assert best["rms_distance"] < advice["rms_distance"]
    used = run(capfd, "diagnose", *flags, "--pressure", "optimal", "--json").json
    assert used["forecast"]["rms_distance"] == pytest.approx(best["rms_distance"])
    assert used["advice"]["suggestions"] == []
    assert "better pressure" in run(capfd, "diagnose", *flags).out
    assert "optimal schedule" in run(capfd, "diagnose", *flags, "--explain").out


def test_diagnose_a_file_with_options_in_its_place(file: Path, capfd: Captured) -> None:
    assert run(capfd, "diagnose", file, "--json").json["forecast"]["steps"] == 40
    changed = run(capfd, "diagnose", file, "--pressure", "2^sqrt(t)", "--steps", "30", "--json").json
    assert (changed["outcome"], changed["forecast"]["steps"]) == ("biased_consensus", 30)


def test_recover_finds_what_the_library_finds(file: Path, capfd: Captured, tmp_path: Path) -> None:
    experiment = Experiment(load_scenario(file))
    observed, out = tmp_path / "observed.csv", tmp_path / "estimates.csv"
    experiment.run.to_dataframe().query("time > 0").to_csv(observed, index=False)
    answer = run(capfd, "recover", observed, "--scenario", file, "--out", out, "--json")
    assert answer.status == 0
    assert [one["method"] for one in answer.json["methods"]] == ["innovations", "ols"]
    found = pd.DataFrame(answer.json["agents"])
    for method, estimate in experiment.estimates.items():
        value = found.loc[found["method"] == method, "value"].to_numpy().reshape(2, 7)
        np.testing.assert_allclose(value, estimate.value, atol=1e-9)
    assert len(pd.read_csv(out)) == len(found)
    words = run(capfd, "recover", observed, "--scenario", file, "--method", "ols").out
    assert "standard error" in words
    assert "\x1b" not in words
    assert "sees_start" not in words
    # With step 0 in the table, which shows the hidden opinions, the estimate is the same, and says what it left out.
    experiment.run.to_dataframe().to_csv(observed, index=False)
    told = run(capfd, "recover", observed, "--scenario", file, "--json").json
    assert told["agents"] == answer.json["agents"]
    assert all("sees_start" in one["note"] for one in told["methods"])
    assert "sees_start" in run(capfd, "recover", observed, "--scenario", file, "--method", "ols").out


def test_recover_tests_the_fit_and_says_what_fails(file: Path, capfd: Captured, tmp_path: Path) -> None:
    observed, figure = tmp_path / "observed.csv", tmp_path / "residuals.svg"
    experiment = Experiment(load_scenario(file))
    experiment.run.to_dataframe().query("time > 0").to_csv(observed, index=False)
    right = run(capfd, "recover", observed, "--scenario", file, "--json").json["methods"][0]
    assert min(right["goodness_of_fit"]) > 0.01
    assert right["findings"] == {}
    assert len(right["log_likelihood"]) == len(right["aic"]) == len(right["bic"]) == 2
    file.write_text(SMALL.replace("std = 0.5", "std = 0.8"))
    answer = run(capfd, "recover", observed, "--scenario", file, "--figure", figure)
    assert "failed test: size: the noise is larger or smaller than declared" in answer.out
    assert "log-likelihood: " in answer.out
    assert "<svg" in figure.read_text(encoding="utf-8")
    assert run(capfd, "recover", observed, "--scenario", file, "--figure", tmp_path / "figure.doc").status == 2
    file.write_text(SMALL.replace('law = "gaussian"', 'law = "gaussian"\ntemporal = "frozen"'))
    still = Experiment(load_scenario(file))
    still.run.to_dataframe().query("time == 1").to_csv(observed, index=False)
    untested = run(capfd, "recover", observed, "--scenario", file, "--json").json["methods"][0]
    assert untested["goodness_of_fit"] is None
    assert set(untested["tests"].values()) == {None}


def test_recover_infers_a_network_it_does_not_know(file: Path, capfd: Captured, tmp_path: Path) -> None:
    file.write_text(file.read_text().replace("[privacy]", "unknown_network = { std = 'known' }\n[privacy]"))
    experiment = Experiment(load_scenario(file))
    observed, out = tmp_path / "observed.csv", tmp_path / "edges.csv"
    experiment.run.to_dataframe().query("time > 0").to_csv(observed, index=False)
    answer = run(capfd, "recover", observed, "--scenario", file, "--unknown-network", "--out", out, "--json")
    expected = results(experiment)["inferred_network"]
    assert len(answer.json["edges"]) == len(expected) == len(pd.read_csv(out))
    assert experiment.inferred_network.average_precision(experiment.model.network) > 0.9
    np.testing.assert_allclose(
        [agent["hidden"] for agent in answer.json["agents"]], experiment.inferred_network.hidden, atol=1e-6
    )
    assert "listens to" in run(capfd, "recover", observed, "--scenario", file, "--unknown-network").out
    # What belongs to a known network is refused, and what few steps leave open is not printed as a number.
    refused = run(capfd, "recover", observed, "--scenario", file, "--unknown-network", "--method", "ols")
    assert (refused.status, refused.out) == (2, "")
    assert "--method ols" in refused.err
    few = tmp_path / "few.csv"
    experiment.run.to_dataframe().query("0 < time < 6 and replicate == 0").to_csv(few, index=False)
    said = run(capfd, "recover", few, "--scenario", file, "--unknown-network").out
    assert "more steps than agents" in said
    assert not {"inf", "nan"} & set(said.split())
    file.write_text(file.read_text().replace(', "ols"', "") + "[time]\ncontinuous = true\n")
    assert "discrete time" in run(capfd, "recover", observed, "--scenario", file, "--unknown-network").err


def test_the_library_and_the_command_line_agree_on_the_version(capfd: Captured) -> None:
    assert run(capfd, "--version").out == f"peerpressure {pp.__version__}\n"
    assert cli.invoke(["version"]) == 0
