"""Scenario files: what can be said reads back as it was, builds a model, and matches the schema that ships."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, strategies as st

import peerpressure as pp
from peerpressure.networks import GENERATORS
from peerpressure.noise import noise_in_words
from peerpressure.scenario import (
    ScenarioError,
    load_scenario,
    parse_scenario,
    scenario_from,
    schema_text,
    shipped_schema,
)
from peerpressure.scenario.scenario import toml_text
from peerpressure.scenario.shorthand import network_section, pressure_section
from tests.builders import examples
from tests.scenario.strategies import scenarios

PLAIN = "[network]\ngenerator = 'k2'\n[run]\nsteps = 9\n"


@examples(2, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios)
def test_every_scenario_reads_back_from_its_own_text(data: dict[str, Any]) -> None:
    scenario = scenario_from(data)
    again = parse_scenario(scenario.to_toml())
    assert again == scenario
    assert again.to_toml() == scenario.to_toml()


@examples(1, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios)
def test_every_scenario_makes_the_same_model_each_time(data: dict[str, Any]) -> None:
    scenario = scenario_from(data)
    one, two = scenario.model(), parse_scenario(scenario.to_toml()).model()
    assert np.array_equal(one.x0, two.x0)
    assert np.array_equal(one.start_state, two.start_state)
    assert (one.pressure, one.noise, one.adaptation) == (two.pressure, two.noise, two.adaptation)
    assert (repr(one.network), repr(one.temporal_network)) == (repr(two.network), repr(two.temporal_network))


plain_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.text(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), plain_values, max_size=3), max_size=3))
def test_whatever_is_written_as_toml_reads_back(tables: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(tables)) == tables


def test_the_shipped_schema_is_what_the_sections_make() -> None:
    remedy = "write peerpressure.scenario.schema_text() to src/peerpressure/scenario.schema.json"
    assert shipped_schema() == schema_text(), remedy


def test_the_parts_of_a_file_reach_the_model(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("ann,bob\nbob,cat\ncat,ann\n")
    (tmp_path / "agents.csv").write_text("agent,x,s\ncat,3,1\nann,1,2\nbob,2,1\n")
    file = tmp_path / "scenario.toml"
    file.write_text(
        """
[network]
file = "edges.csv"
[agents]
hidden = { file = "agents.csv", column = "x" }
stubbornness = { file = "agents.csv", column = "s" }
start = [0.0, 0.0, 0.0]
[pressure]
kind = "power"
exponent = 0.5
[noise]
law = "student"
std = [1.0, 2.0, 3.0]
df = 4.0
temporal = { ar1 = 0.5 }
time_scale = { formula = "1/t" }
[run]
steps = 20
record = { every = 5, agents = ["ann"] }
"""
    )
    scenario = load_scenario(file)
    model = scenario.model()
    assert list(model.network.labels) == ["ann", "bob", "cat"]
    assert model.x0.tolist() == [1, 2, 3]
    assert model.stubbornness.tolist() == [2, 1, 1]
    assert model.start_state.tolist() == [0, 0, 0]
    assert model.pressure == pp.Power(0.5)
    assert model.noise == pp.StudentT([1.0, 2.0, 3.0], df=4.0, temporal=pp.AR1(0.5), time_scale="1/t")
    assert scenario.run.recording() == pp.Record(every=5, agents=["ann"])
    # Paths are seen from the file, wherever the text goes next.
    assert parse_scenario(scenario.to_toml(), folder="/").model().x0.tolist() == [1, 2, 3]


def test_seeds_of_their_own_hold_parts_fixed_and_the_others_follow_the_run() -> None:
    def model(network: str, hidden: str, seed: int) -> pp.Model:
        text = f"[network]\ngenerator='barabasi_albert'\nn=30\nm=2\n{network}\n"
        text += f"[agents]\nhidden={{law='uniform'{hidden}}}\n"
        return parse_scenario(f"{text}[run]\nsteps=1\nseed={seed}").model()

    def same(one: pp.Model, two: pp.Model) -> tuple[bool, bool]:
        graphs = (one.network.adjacency != two.network.adjacency).nnz == 0
        return graphs, bool(np.array_equal(one.x0, two.x0))

    assert same(model("", "", 1), model("", "", 1)) == (True, True)
    assert same(model("", "", 1), model("", "", 2)) == (False, False)
    assert same(model("seed=7", "", 1), model("seed=7", "", 2)) == (True, False)
    assert same(model("", ", seed=7", 1), model("", ", seed=7", 2)) == (False, True)


def test_two_camps_have_their_shares() -> None:
    text = "[network]\ngenerator='complete'\nn=10\n[agents]\nhidden={law='two_camps', low=-1.0, high=1.0, share=0.3}\n"
    hidden = parse_scenario(text + "[run]\nsteps=1").model().x0
    assert sorted(hidden) == [-1.0] * 7 + [1.0] * 3


def test_the_tuned_schedule_knows_the_agents() -> None:
    model = parse_scenario(PLAIN + "[agents]\nstubbornness=[1.0, 3.0]\n[pressure]\nkind='tuned'").model()
    assert model.pressure == pp.Linear(2.0)


def test_the_tuned_schedule_knows_the_noise() -> None:
    noise = "[noise]\nlaw='gaussian'\nstd=0.1\ntime_scale={{kind='power', exponent={}}}\n[pressure]\nkind='tuned'"
    assert parse_scenario(PLAIN + noise.format(0.25)).model().pressure == pp.Linear(2.0)
    # No line averages such noise away.
    assert parse_scenario(PLAIN + noise.format(0.5)).model().pressure == pp.Linear(1.0)


@pytest.mark.parametrize("text", [PLAIN + "[pressure]\nkind='optimal'", "pressure = 'optimal'\n" + PLAIN])
def test_the_optimal_schedule_knows_the_model_and_the_run(text: str) -> None:
    scenario = parse_scenario(text)
    model = scenario.model()
    assert model.pressure == pp.theory.optimal_schedule(model, scenario.run.steps).schedule
    assert parse_scenario(scenario.to_toml()).model().pressure == model.pressure
    assert parse_scenario("pressure = 't*log(1 + t)'\n" + PLAIN).model().pressure == pp.schedules.Formula(
        "t*log(1 + t)"
    )


def test_a_model_is_built_once() -> None:
    scenario = parse_scenario(PLAIN)
    assert scenario.model() is scenario.model() is scenario.system()


@pytest.mark.parametrize("value", [0.05, 2])
def test_a_number_as_pressure_is_constant_pressure(value: float) -> None:
    scenario = parse_scenario(f"pressure = {value}\n{PLAIN}")
    assert scenario.model().pressure == pp.schedules.Constant(value)
    assert parse_scenario(scenario.to_toml()).model().pressure == pp.schedules.Constant(value)
    with pytest.raises(ScenarioError, match="pressure: must be a number"):
        parse_scenario(f"pressure = true\n{PLAIN}")


@pytest.mark.parametrize("more", ["[time]\ncontinuous=true", "[run]\nsteps=100000"])
def test_an_optimal_schedule_that_cannot_be_computed_is_an_error_of_the_pressure(more: str) -> None:
    text = "[network]\ngenerator='k2'\n[pressure]\nkind='optimal'\n" + more
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(text if "steps" in more else text + "\n[run]\nsteps=5")
    assert {problem.path for problem in caught.value.problems} == {"pressure"}


def test_every_generator_has_a_section_and_a_shorthand() -> None:
    values = {"n": "12", "p": "0.5", "k": "4", "m": "2", "degree": "3", "rows": "3", "columns": "4"}
    for name, one in GENERATORS.items():
        words = [values[parameter.name] for parameter in one.parameters if parameter.kind not in ("flag", "text")]
        section = network_section(":".join([name, *words]))
        assert network_section(":".join([one.short or name, *words])) == section
        assert scenario_from({"network": section, "run": {"steps": 1}}).model().n in (2, 12)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("t*log(1 + t)", pp.schedules.Formula("t*log(1 + t)")),
        ("power:1.5", pp.schedules.Power(1.5)),
        ("power:1.5:2", pp.schedules.Power(1.5, 2.0)),
        ("linear", pp.schedules.Linear()),
        ("tuned", pp.schedules.Linear(1.0)),
    ],
)
def test_shorthand_for_pressure(words: str, expected: pp.schedules.Schedule) -> None:
    network = {"generator": "k2"}
    scenario = scenario_from({"network": network, "run": {"steps": 1}, "pressure": pressure_section(words)})
    assert scenario.model().pressure == expected


@pytest.mark.parametrize(
    ("make", "words", "says"),
    [
        (noise_in_words, "none:1", "none takes 0 parameters"),
        (noise_in_words, "student:1:2:3", "student:std:df"),
        (pressure_section, "power", "power:exponent:scale"),
    ],
)
def test_shorthand_that_means_nothing_is_refused(make: Any, words: str, says: str) -> None:
    with pytest.raises(pp.errors.InvalidInputError) as told:
        make(words)
    assert says.lower() in str(told.value).lower()


@pytest.mark.parametrize(
    ("words", "noise"),
    [("0.3", pp.Gaussian(0.3)), ("'laplace:0.3'", pp.Laplace(0.3)), ("'none'", pp.NoNoise()), ("1", pp.Gaussian(1.0))],
)
def test_noise_of_a_file_in_a_few_words(words: str, noise: pp.noise.Noise) -> None:
    text = f"noise = {words}\n[network]\ngenerator = 'k2'\n[run]\nsteps = 5"
    assert parse_scenario(text).model().noise == noise


@pytest.mark.parametrize(
    ("words", "says"), [("'pink:1'", "must be a law (gaussian"), ("true", "law"), ("-1", "negative")]
)
def test_noise_of_a_file_that_means_nothing_is_refused(words: str, says: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse_scenario(f"noise = {words}\n[network]\ngenerator = 'k2'\n[run]\nsteps = 5")
    [problem] = caught.value.problems
    assert problem.path.startswith("noise")
    assert says in problem.message


def test_a_run_in_words_counts_in_the_singular_too() -> None:
    told = [
        parse_scenario(f"[network]\ngenerator = 'k2'\n[run]\n{run}").run.words
        for run in ("steps = 1", "steps = 9\nreplicates = 2000\nseed = 3")
    ]
    assert told == ["1 step, 1 replicate, seed 0", "9 steps, 2,000 replicates, seed 3"]


def test_weights_of_both_signs_are_inferred_where_the_file_asks_for_them() -> None:
    data: dict[str, Any] = {
        "network": {"generator": "rival_camps", "n": 8, "degree": 3, "seed": 2},
        "agents": {"hidden": [-1.0, 1.0] * 4},
        "noise": {"law": "gaussian", "std": 0.5},
        "run": {"steps": 300, "seed": 3},
        "observe": {"unknown_network": {"signed": True}},
    }
    scenario = scenario_from(data)
    model = scenario.model()
    run = pp.simulate(model, 300, seed=3)
    found = scenario.infer_network(run)
    assert found.signed
    np.testing.assert_array_equal(found.weights, pp.infer_network(run, model.pressure, signed=True).weights)
    with pytest.raises(pp.errors.InvalidInputError, match="infer a signed network"):
        scenario_from(data | {"observe": {"unknown_network": {}}}).infer_network(run)
