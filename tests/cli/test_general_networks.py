"""Directed and signed networks and zealots, through the commands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from peerpressure.report.run import outcome_rows
from peerpressure.scenario import Experiment, measure_scenario, parse_scenario, summaries
from tests.cli.calling import run

Captured = pytest.CaptureFixture[str]

# bob and cat follow each other, and ann and dan follow them.
FOLLOWS = "from,to\nann,bob\nbob,cat\ncat,bob\ndan,ann\n"
ZEALOTS = """[network]
named = "karate"
[agents]
hidden = { law = "two_camps", low = 0.0, high = 1.0, std = 0.1 }
zealots = [0, 33]
[noise]
law = "gaussian"
std = 0.1
[run]
steps = 30
replicates = 2
seed = 3
"""
CAMPS = {"network": {"generator": "rival_camps", "n": 20, "degree": 4}, "run": {"steps": 400}}


def test_a_direction_makes_an_edge_list_directed(capfd: Captured, tmp_path: Path) -> None:
    file = tmp_path / "follows.csv"
    file.write_text(FOLLOWS)
    found = {}
    for words in ([], ["--direction", "listens"], ["--direction", "influences"]):
        answer = run(capfd, "diagnose", "--network", file, *words, "--json").json
        found[" ".join(words)] = (answer["outcome"], round(answer["value"], 6))
    hidden = np.random.default_rng([0, 1]).uniform(size=4)
    # ann, bob, cat, dan, all equally stubborn: the followed two decide, or else dan, whom everybody hears in the end.
    assert found[""] == ("consensus", round(hidden.mean(), 6))
    assert found["--direction listens"] == ("consensus", round(hidden[1:3].mean(), 6))
    assert found["--direction influences"] == ("consensus", round(hidden[3], 6))


def test_signs_of_a_file_need_a_word(capfd: Captured, tmp_path: Path) -> None:
    file = tmp_path / "feud.txt"
    file.write_text("a b 1\nb c -1\na c -1\n")
    refused = run(capfd, "diagnose", "--network", file)
    assert refused.status != 0
    assert "signed" in refused.err
    assert run(capfd, "diagnose", "--network", file, "--signed", "--json").json["outcome"] == "bipartite"


def test_zealots_are_named_on_the_command_line(capfd: Captured) -> None:
    answer = run(capfd, "diagnose", "--network", "karate", "--zealots", "0,33", "--json").json
    assert answer["outcome"] == "disagreement"
    assert [each["agents"] for each in answer["classes"]] == [1, 1]
    assert "77" in run(capfd, "diagnose", "--network", "karate", "--zealots", "77").err


def test_a_run_with_zealots_measures_distances_to_own_limits() -> None:
    experiment = Experiment(parse_scenario(ZEALOTS))
    table = summaries(experiment)
    assert table["max_distance"].notna().all()
    # With zealots at 0 and 1, distances to one v would be about the half of the spread.
    last = table[table["time"] == 30]
    assert (last["max_distance"] < 0.6 * last["spread"]).all()
    assert "largest distance, max |y − own limit|" in dict(outcome_rows(experiment))


@pytest.mark.parametrize(("p", "outcome"), [(0.0, "bipartite"), (0.2, "neutral")])
def test_a_sweep_over_the_signs_of_a_network(p: float, outcome: str) -> None:
    asked = {"scenario": CAMPS, "measures": ["max_distance", "verdict"], "threshold": 0.01, "network.p": p}
    rows = {row["measure"]: row for row in measure_scenario(asked, seed=5)}
    assert rows["verdict"]["detail"] == outcome
    assert rows["max_distance"]["value"] < 0.05


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (["--network", "rival_camps:20:4"], "values of the camps "),
        (["--network", "rival_camps:20:4:0.3"], "0, the neutral opinion"),
        (["--network", "karate", "--zealots", "0"], "the opinion of the only agent who listens to nobody"),
        (["--network", "karate", "--zealots", "0,33"], "closed classes 2, with the values"),
        (["--network", "followers:20:2"], "influence-weighted mean"),
    ],
)
def test_values_are_explained_in_plain_words(words: list[str], row: str, capfd: Captured) -> None:
    # The width of the columns depends on what else is told.
    assert row in " ".join(run(capfd, "diagnose", *words).out.split())
