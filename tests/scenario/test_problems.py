"""Bad scenario files: all that is wrong is told at once, each problem with its place, its value and a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from peerpressure.scenario import ScenarioError, load_scenario, parse_scenario
from peerpressure.scenario.loading import lines_of

MANY = """[network]
generator = "barabasi_albert"
n = 10
mm = 2

[agents]
hidden = [1.0, 2.0,
  nan]
stubbornness = { law = "uniform", low = 0.5, hihg = 2 }

[pressure]
formula = "t +"

[noise]
law = "gauss"

[run]
steps = "many"
record = { every = 0 }

[observe]
agents = [99, 1.5]
methods = ["inovations"]

[outputs]
"""
MISFITS = """[network]
named = "karate"
[agents]
hidden = [1.0, 2.0]
stubbornness = [1.0]
start = [0.0]
[noise]
law = "gaussian"
std = [1.0, 2.0]
time_scale = { kind = "table", values = [1.0, 2.0] }
[pressure]
kind = "table"
values = [1.0]
[run]
steps = 10
record = "final"
[observe]
agents = [99]
prior = { mean = [1.0], variance = 1.0 }
[privacy]
delta = 3
"""


def problems(text: str, folder: Path | str = ".") -> dict[str, tuple[int | None, str]]:
    with pytest.raises(ScenarioError) as told:
        parse_scenario(text, folder=folder)
    found = told.value.problems
    assert len({problem.path for problem in found}) == len(found)
    return {problem.path: (problem.line, problem.message) for problem in found}


def test_many_mistakes_are_told_at_once_with_their_places() -> None:
    listed = problems(MANY)
    assert {path: line for path, (line, _) in listed.items()} == {
        "network.m": 1,
        "network.mm": 4,
        "agents.hidden[2]": 7,
        "agents.stubbornness.hihg": 9,
        "pressure": 11,
        "noise.law": 15,
        "run.steps": 18,
        "run.record.every": 19,
        "observe.agents[1]": 22,
        "observe.methods[0]": 23,
        "outputs": 25,
    }
    for path, words in {
        "network.mm": "did you mean 'm'?",
        "agents.hidden[2]": "must be finite, got nan",
        "agents.stubbornness.hihg": "did you mean 'high'?",
        "noise.law": "gaussian, laplace",
        "run.steps": "whole number, got 'many'",
        "run.record.every": "at least 1, got 0",
        "observe.methods[0]": "did you mean 'innovations'?",
        "outputs": "did you mean 'output'?",
    }.items():
        assert words in listed[path][1], path


def test_parts_that_do_not_fit_are_told_beside_a_wrong_value_elsewhere() -> None:
    listed = problems(MISFITS)
    assert set(listed) == {
        "agents.hidden",
        "agents.stubbornness",
        "agents.start",
        "noise.std",
        "noise.time_scale",
        "pressure",
        "run.record",
        "observe",
        "observe.prior",
        "privacy.delta",
    }
    assert all("34 agents" in listed[path][1] for path in ("agents.hidden", "noise.std", "observe.prior"))


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ("[network]\ngenerator = 'k2'\n[run]\nsteps = true", "run.steps", "whole number"),
        ("[network]\ngenerator = 'cycle'\nn = 2\n[run]\nsteps = 1", "network.n", "at least 3"),
        ("[network]\ngenerator = 'k2'\n[run]\nsteps = 1\n[observe]\nmethods=['ols','ols']", "observe", "differ"),
    ],
)
def test_one_mistake_is_told_at_its_place(text: str, path: str, says: str) -> None:
    listed = problems(text + "\n")
    assert says in listed[path][1]


def test_what_is_not_toml_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("[network]\ngenerator = \n")
    with pytest.raises(ScenarioError, match=r"bad\.toml: line 2: this is not TOML"):
        load_scenario(file)


def test_lines_of_keys_are_found_through_all_that_toml_allows() -> None:
    text = '''top = 1
["quoted table"]
a.b = 2  # a comment with [brackets] = and equals
text = """
[not a table]
x = 1
"""
list = [
  "[", # ]
  2,
]
after = 3
[[axis]]
field = "x"
[[axis]]
field = "y"
'''
    assert lines_of(text) == {
        ("top",): 1,
        ("quoted table",): 2,
        ("quoted table", "a", "b"): 3,
        ("quoted table", "text"): 4,
        ("quoted table", "list"): 8,
        ("quoted table", "after"): 12,
        ("axis", 0): 13,
        ("axis", 0, "field"): 14,
        ("axis", 1): 15,
        ("axis", 1, "field"): 16,
    }
