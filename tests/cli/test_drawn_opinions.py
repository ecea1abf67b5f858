"""Hidden opinions that were drawn at random are called so wherever their mean is printed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from peerpressure import Model, diagnose
from peerpressure.networks import k2, read_network
from peerpressure.report.run import model_rows
from peerpressure.scenario import Experiment, parse_scenario
from tests.cli.calling import run

Captured = pytest.CaptureFixture[str]
DRAWN = "mean of hidden opinions drawn at random"
ROW = "drawn at random, uniformly from 0 to 1, seed"


def words(text: str) -> str:
    """Return a text without its line breaks."""
    return " ".join(text.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "edges.csv").write_text("source,target\nann,bob\nbob,cat\n")
    (tmp_path / "people.csv").write_text("name,opinion,hidden\ncat,30,0.9\nann,10,0.1\nbob,20,0.2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("graph", ["edges.csv", "ba:100:2", "karate", "followers:50:2:0.3"])
def test_a_diagnosis_says_that_opinions_were_drawn(capfd: Captured, folder: Path, graph: str) -> None:
    for seed in ((), ("--seed", 7)):
        plain = words(run(capfd, "diagnose", "--network", graph, *seed).out)
        if graph != "followers:50:2:0.3":
            assert DRAWN in plain
        explained = words(run(capfd, "diagnose", "--network", graph, "--explain", *seed).out)
        for text in (plain, explained):
            assert f"{ROW} {seed[1] if seed else 0}; set yours with --hidden FILE" in text
        answer = run(capfd, "diagnose", "--network", graph, "--json", *seed).json
        assert answer["hidden_drawn"] == f"{ROW} {seed[1] if seed else 0}"


@pytest.mark.parametrize(
    ("words_given", "expected"), [("people.csv", [0.1, 0.2, 0.9]), ("people.csv:opinion", [10, 20, 30])]
)
def test_a_table_gives_the_opinions(capfd: Captured, folder: Path, words_given: str, expected: list[float]) -> None:
    verdict = diagnose(Model(read_network(folder / "edges.csv"), hidden=expected))
    answer = run(capfd, "diagnose", "--network", "edges.csv", "--hidden", words_given, "--json").json
    assert answer["value"] == verdict.value
    assert answer["hidden_drawn"] is None
    text = run(capfd, "diagnose", "--network", "edges.csv", "--hidden", words_given).out
    assert "at random" not in text
    assert "mean of hidden opinions" in words(text)


def test_the_table_overrides_a_scenario(capfd: Captured, folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "s.toml").write_text("[network]\nfile = '../edges.csv'\n")
    drawn = words(run(capfd, "diagnose", "deep/s.toml").out)
    assert DRAWN in drawn
    assert "set yours with --hidden FILE or in [agents]" in drawn
    given = run(capfd, "diagnose", "deep/s.toml", "--hidden", "people.csv", "--json").json
    assert given["hidden_drawn"] is None
    assert given["value"] == pytest.approx(0.4)


def test_a_path_with_a_colon_is_a_path(capfd: Captured, folder: Path) -> None:
    (folder / "people.csv").rename(folder / "a:b.csv")
    assert run(capfd, "diagnose", "--network", "edges.csv", "--hidden", "a:b.csv").status == 0
    assert run(capfd, "diagnose", "--network", "edges.csv", "--hidden", "a:b.csv:opinion").status == 0


QUICK = "[run]\nsteps = 3\nseed = 5\n[output]\nfigures = false\nreport = false\n"
LAWS = {
    "{ law = 'uniform', low = 1, high = 2.5 }": "uniformly from 1 to 2.5, seed 5",
    "{ law = 'normal', mean = 1, std = 2, seed = 9 }": (
        "from a normal distribution with mean 1 and standard deviation 2, seed 9"
    ),
    "{ law = 'two_camps' }": "from two camps around 0 and 1, seed 5",
}


@pytest.mark.parametrize("law", LAWS)
def test_run_check_and_report_say_so(capfd: Captured, folder: Path, law: str) -> None:
    text = f"[network]\nfile = 'edges.csv'\n[agents]\nhidden = {law}\n{QUICK}"
    (folder / "s.toml").write_text(text)
    expected = f"drawn at random, {LAWS[law]}"
    for command in ("check", "run", "diagnose"):
        assert expected in words(run(capfd, command, "s.toml").out)
    assert run(capfd, "run", "s.toml", "--json").json["hidden_drawn"] == expected
    experiment = Experiment(parse_scenario(text))
    assert expected in dict(model_rows(experiment))["hidden opinions"]


def test_given_opinions_are_not_called_random(capfd: Captured, folder: Path) -> None:
    for hidden in ("{ file = 'people.csv', column = 'hidden' }", "[0, 0.5, 1]"):
        (folder / "s.toml").write_text(f"[network]\nfile = 'edges.csv'\n[agents]\nhidden = {hidden}\n{QUICK}")
        for command in ("check", "run", "diagnose"):
            answer = run(capfd, command, "s.toml")
            assert answer.status == 0
            assert "at random" not in answer.out


def test_the_sentence_says_so() -> None:
    verdict = diagnose(Model(k2(), hidden=[0, 1]))
    given = "All agents come to agree on 0.50, the mean of hidden opinions."
    assert verdict.summary == given
    drawn = replace(verdict, drawn="drawn at random, uniformly from 0 to 1, seed 3")
    assert drawn.summary == given.replace("opinions", "opinions drawn at random")
    assert "uniformly from 0 to 1, seed 3" in str(drawn)
    stubborn = diagnose(Model(k2(), hidden=[0, 1], stubbornness=[1, 3]))
    assert stubborn.summary == "All agents come to agree on 0.75, the stubbornness-weighted mean of hidden opinions."
