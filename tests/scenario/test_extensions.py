"""What scenario files say of opinions that adapt, networks that change and time that flows reaches the library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.networks import (
    activity_driven,
    edge_markovian,
    failing_edges,
    gossip,
    growing,
    recorded_contacts,
    rewiring,
)
from peerpressure.scenario import Scenario, ScenarioError, parse_scenario, scenario_from
from peerpressure.scenario.network import own_seed
from peerpressure.scenario.shorthand import adaptation_section, dynamics_section, network_section

RING = {"generator": "cycle", "n": 9}
RUN = {"steps": 30, "seed": 6}


def built(network: dict[str, Any], **sections: Any) -> Scenario:
    return scenario_from({"network": network, "run": RUN, **sections})


def refused(network: dict[str, Any], **sections: Any) -> dict[str, str]:
    with pytest.raises(ScenarioError) as told:
        built(network, **sections)
    return {problem.path: problem.message for problem in told.value.problems}


def same(one: pp.TemporalNetwork | None, two: pp.TemporalNetwork) -> bool:
    assert one is not None
    return all(np.array_equal(values, two.arrays()[name]) for name, values in one.arrays().items())


@pytest.mark.parametrize(
    ("adaptation", "expected"),
    [
        (0.01, pp.Adaptation(0.01)),
        (0, None),
        ("0.1/t", pp.Adaptation("0.1/t")),
        ({"rate": {"kind": "power", "exponent": -1.0, "scale": 0.5}}, pp.Adaptation(pp.Power(-1.0, 0.5))),
        ({"rate": "1/t", "adaptation_weight": [0.5] * 9}, pp.Adaptation("1/t", [0.5] * 9)),
        ({"rate": 0.2, "adaptation_weight": 0.5}, pp.Adaptation(0.2, 0.5)),
    ],
)
def test_an_adaptation_reaches_the_model(adaptation: Any, expected: pp.Adaptation | None) -> None:
    scenario = built(RING, agents={"adaptation": adaptation})
    assert scenario.model().adaptation == expected
    assert parse_scenario(scenario.to_toml()) == scenario


def test_some_agents_may_give_way_and_others_never_whatever_else_is_drawn() -> None:
    def factors(**agents: Any) -> Any:
        adaptation = {"rate": 0.1, "adaptation_weight": {"law": "two_camps", "share": 1 / 3}}
        model = built(RING, agents={"adaptation": adaptation} | agents).model()
        assert model.adaptation is not None
        return model.adaptation.adaptation_weight

    assert sorted(factors()) == [0.0] * 6 + [1.0] * 3
    assert np.array_equal(factors(), factors(hidden={"law": "normal"}))


def test_susceptibility_comes_from_a_column(tmp_path: Path) -> None:
    (tmp_path / "agents.csv").write_text("agent,ear\n1,0.5\n0,1.0\n")
    text = "[network]\ngenerator='k2'\n[run]\nsteps=3\n[agents]\n"
    text += "adaptation={rate=0.5, adaptation_weight={file='agents.csv', column='ear'}}"
    model = parse_scenario(text, folder=tmp_path).model()
    assert model.adaptation == pp.Adaptation(0.5, [1.0, 0.5])


@pytest.mark.parametrize(
    ("adaptation", "path", "says"),
    [
        (True, "agents.adaptation", "must be a number"),
        ([0.1], "agents.adaptation", "{ rate = …, adaptation_weight = … }"),
        ("0.1*t", "agents.adaptation", "from 0 to 1"),
        ({"rat": 0.1}, "agents.adaptation.rat", "did you mean 'rate'?"),
        ({"rate": {"kind": "tuned"}}, "agents.adaptation.rate", "schedule"),
        ({"rate": {"kind": "linear", "slop": 1.0}}, "agents.adaptation.rate.slop", "did you mean 'slope'?"),
        ({"rate": {"kind": "linear", "slope": 2.0}}, "agents.adaptation", "from 0 to 1"),
        ({"rate": {"kind": "table", "values": [0.1, 0.2]}}, "agents.adaptation", "change the rate"),
        ({"rate": 0.1, "adaptation_weight": [0.5, 2.0]}, "agents.adaptation.adaptation_weight[1]", "at most 1"),
        ({"rate": 0.1, "adaptation_weight": [0.5]}, "agents.adaptation", "9 agents"),
        ({"rate": 0.1, "adaptation_weight": {"law": "normal"}}, "agents.adaptation.adaptation_weight.law", "two_camps"),
        ({"rate": 0.1, "adaptation_weight": {"law": "uniform", "high": 3.0}}, "agents.adaptation", "from 0 to 1"),
    ],
)
def test_an_adaptation_that_cannot_be_is_told_at_its_place(adaptation: Any, path: str, says: str) -> None:
    assert says in refused(RING, agents={"adaptation": adaptation})[path]


@pytest.mark.parametrize(
    ("temporal_network", "expected"),
    [
        (
            {"kind": "failing_edges", "probability": 0.2},
            lambda base, seed: failing_edges(base, 0.2, 30, seed=seed),
        ),
        (
            {"kind": "failing_edges", "probability": 0.2, "repeat": True},
            lambda base, seed: failing_edges(base, 0.2, 30, seed=seed, repeat=True),
        ),
        (
            {"kind": "edge_markovian", "birth": 0.3, "death": 0.1, "steps": 50, "repeat": False},
            lambda base, seed: edge_markovian(base, 0.3, 0.1, 50, seed=seed),
        ),
        ({"kind": "rewiring", "rate": 0.1}, lambda base, seed: rewiring(base, 0.1, 30, seed=seed)),
    ],
)
@pytest.mark.parametrize("base", [RING, {"named": "karate"}, {"edges": [[0, 1], [1, 2], [2, 3], [0, 3]]}])
def test_dynamics_are_that_of_the_generators(
    base: dict[str, Any], temporal_network: dict[str, Any], expected: Any
) -> None:
    scenario = built(base | {"dynamics": temporal_network})
    network = built(base).graph
    assert same(scenario.model().temporal_network, expected(network, own_seed(6)))
    assert scenario.graph is scenario.model().network
    own = built(base | {"dynamics": temporal_network | {"seed": 3}})
    assert same(own.model().temporal_network, expected(network, 3))


def test_a_network_with_a_seed_of_its_own_keeps_its_changes_too() -> None:
    def changes(seed: int, own: dict[str, int]) -> pp.TemporalNetwork | None:
        network = {"generator": "barabasi_albert", "n": 20, "m": 2, "dynamics": {"kind": "rewiring", "rate": 0.1}}
        return scenario_from({"network": network | own, "run": RUN | {"seed": seed}}).temporal_network

    kept = changes(1, {"seed": 7})
    assert kept is not None
    assert same(changes(2, {"seed": 7}), kept)
    assert not same(changes(2, {}), kept)


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (
            {"temporal": "activity_driven", "n": 30, "floor": 0.3, "contacts": 2},
            lambda: activity_driven(30, 30, seed=6, contacts=2, floor=0.3),
        ),
        ({"temporal": "growing", "n": 30, "m": 2, "seed": 4}, lambda: growing(30, 2, 30, seed=4)),
        (
            {"temporal": "edge_markovian", "n": 20, "birth": 0.05, "death": 0.2, "steps": 60},
            lambda: edge_markovian(20, 0.05, 0.2, 60, seed=6, repeat=True),
        ),
        (
            {"recorded": "hospital", "resolution": 3600.0, "skip_quiet": 3, "repeat": True},
            lambda: recorded_contacts("hospital", 3600.0, skip_quiet=3, repeat=True),
        ),
    ],
)
def test_networks_of_agents_who_meet_and_part(network: dict[str, Any], expected: Any) -> None:
    scenario = built(network)
    assert same(scenario.temporal_network, expected().largest_component())
    assert parse_scenario(scenario.to_toml()) == scenario


def test_events_and_contacts_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,source,target,weight\n1,ann,bob,1\n3,bob,cat,2\n5,ann,bob,0\n")
    (tmp_path / "contacts.csv").write_text("time,source,target\n0,ann,bob\n20,ann,bob\n70,bob,cat\n500,cat,ann\n")
    run = "\n[run]\nsteps=9"
    changes = parse_scenario(f"[network]\nevents='events.csv'\nperiod=6{run}", folder=tmp_path).temporal_network
    rows = [(1, "ann", "bob"), (3, "bob", "cat", 2.0), (5, "ann", "bob", 0)]
    assert same(changes, pp.TemporalNetwork.from_events(rows, period=6))
    text = f"[network]\ncontacts='contacts.csv'\nresolution=60\nskip_quiet=2\nrepeat=true{run}"
    met = parse_scenario(text, folder=tmp_path)
    rows = [(0, "ann", "bob"), (20, "ann", "bob"), (70, "bob", "cat"), (500, "cat", "ann")]
    assert same(met.temporal_network, pp.TemporalNetwork.from_contacts(rows, 60, skip_quiet=2, repeat=True))
    assert same(parse_scenario(met.to_toml(), folder="/").temporal_network, met.temporal_network)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("network", "path", "says"),
    [
        ({"temporal": "growing", "n": 9}, "network.m", "missing"),
        ({"temporal": "growing", "n": 9, "m": 2, "stpes": 3}, "network.stpes", "did you mean 'steps'?"),
        ({"temporal": "activity_driven", "n": 9, "floor": 1.0}, "network.floor", "below 1"),
        ({"temporal": "edge_markovian", "n": 9, "birth": 0.0, "death": 0.1}, "network.birth", "above 0"),
        ({"recorded": "hospitl"}, "network.recorded", "did you mean 'hospital'?"),
        ({"events": "none.csv"}, "network.events", "must exist"),
        ({"contacts": "none.csv"}, "network.contacts", "must exist"),
        (RING | {"dynamics": {"probability": 0.2}}, "network.dynamics", "kind"),
        (RING | {"dynamics": {"kind": "rewiring", "rat": 0.1}}, "network.dynamics.rat", "did you mean 'rate'?"),
        (
            RING | {"dynamics": {"kind": "failing_edges", "probability": 0.9, "steps": 2}},
            "network",
            "meet over time",
        ),
    ],
)
def test_a_changing_network_that_cannot_be_is_told_at_its_place(network: dict[str, Any], path: str, says: str) -> None:
    assert says in refused(network)[path]


def test_a_file_with_a_mistake_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,source,target\n1,ann,bob\n3,bob,cat\n2,ann,cat\n")
    with pytest.raises(ScenarioError, match="line 4: events must come in the order"):
        parse_scenario("[network]\nevents='events.csv'\n[run]\nsteps=9", folder=tmp_path)


def test_pieces_that_never_meet_are_refused_or_left_out(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text("time,source,target\n1,ann,bob\n1,bob,cat\n2,dan,eve\n")
    text = "[network]\nevents='events.csv'\n"
    with pytest.raises(ScenarioError, match="largest_component"):
        parse_scenario(f"{text}[run]\nsteps=9", folder=tmp_path)
    left = parse_scenario(f"{text}largest_component=true\n[run]\nsteps=9", folder=tmp_path)
    assert list(left.graph.labels) == ["ann", "bob", "cat"]


def test_time_that_flows_makes_a_diffusion() -> None:
    section = {"step": 0.25, "scaling": "model", "method": "euler"}
    noise = {"law": "gaussian", "std": 0.5}
    scenario = built(RING, time=section, noise=noise)
    system = scenario.system()
    assert isinstance(system, pp.SDE)
    assert (system.step, system.scaling, system.method) == (0.25, "model", "euler")
    assert np.array_equal(system.x0, scenario.model().x0)
    assert parse_scenario(scenario.to_toml()) == scenario
    in_rounds = built(RING, time=section | {"continuous": False}, noise=noise)
    assert isinstance(in_rounds.system(), pp.Model)
    assert isinstance(built(RING).system(), pp.Model)
    changing = RING | {"dynamics": {"kind": "failing_edges", "probability": 0.2, "steps": 3}}
    correlated = noise | {"temporal": {"ar1": 0.5}}
    everything = built(changing, time={"step": 0.25}, noise=correlated, agents={"adaptation": 0.1}).system()
    assert isinstance(everything, pp.SDE)
    assert everything.layout.has_hidden
    assert everything.layout.has_memory
    assert everything.model.temporal_network is not None


@pytest.mark.parametrize(
    ("sections", "path", "says"),
    [
        ({"time": {"stepp": 0.1}}, "time.stepp", "did you mean 'step'?"),
        ({"time": {"step": 2.0, "method": "euler"}}, "time", "at most 1"),
        ({"time": {}, "pressure": {"formula": "t*log(t)"}}, "time", "before t = 1"),
        ({"time": {}, "observe": {"methods": ["kalman", "ols"]}}, "observe.methods", "got ols"),
        (
            {"agents": {"adaptation": 0.1}, "observe": {"methods": ["wls"], "target": "current"}},
            "observe.methods",
            "estimates of current opinions",
        ),
    ],
)
def test_what_flowing_time_or_an_onlooker_cannot_have(sections: dict[str, Any], path: str, says: str) -> None:
    assert says in refused(RING, **sections)[path]


def test_what_is_wrong_elsewhere_is_not_blamed_on_time() -> None:
    assert set(refused(RING, time={}, agents={"hidden": [1.0]})) == {"agents.hidden"}


def test_shorthand_for_what_changes() -> None:
    assert dynamics_section("markov:0.1:0.3") == {"kind": "edge_markovian", "birth": 0.1, "death": 0.3}
    assert dynamics_section("rewiring:0.05") == {"kind": "rewiring", "rate": 0.05}
    assert (adaptation_section("0.01"), adaptation_section("1/t")) == (0.01, "1/t")
    assert built(network_section("hospital")).graph.n == 75


@pytest.mark.parametrize("rule", [None, "own", "keep"])
def test_the_rule_for_isolated_agents_reaches_the_model(rule: str | None) -> None:
    failing = RING | {"dynamics": {"kind": "failing_edges", "probability": 0.5}}
    scenario = built(failing, agents={} if rule is None else {"isolated": rule})
    assert scenario.model().isolated == (rule or "own")
    assert parse_scenario(scenario.to_toml()) == scenario
    # On a constant network everybody always has neighbours.
    assert built(RING, agents={"isolated": "keep"}).model().isolated == "own"


def test_gossip_keeps_unless_told_otherwise() -> None:
    pairs = RING | {"dynamics": {"kind": "gossip", "steps": 200}}
    scenario = built(pairs)
    assert same(scenario.temporal_network, gossip(pp.networks.cycle(9), 200, seed=own_seed(RUN["seed"])))
    assert scenario.model().isolated == "keep"
    assert built(pairs, agents={"isolated": "own"}).model().isolated == "own"
    assert dynamics_section("gossip") == {"kind": "gossip"}


def test_rules_that_make_no_sense_are_problems() -> None:
    assert refused(RING, agents={"isolated": "silent"})["agents.isolated"].startswith("must be 'own' or 'keep'")
    apart = {"edges": [[0, 1], [2, 3]], "labels": ["a", "b", "c", "d", "e"]}
    assert "need neighbours" in refused(apart, agents={"isolated": "keep"})["agents.isolated"]


def test_zealots_and_susceptibility_reach_the_model() -> None:
    scenario = built(RING, agents={"zealots": [2, 7], "susceptibility": [0.0, *[2.0] * 8], "stubbornness": 3.0})
    model = scenario.model()
    stubbornness = np.full(9, 3.0)
    stubbornness[[2, 7]] = np.inf
    expected = pp.Model(pp.networks.cycle(9), model.hidden, stubbornness, susceptibility=[0.0, *[2.0] * 8])
    assert np.array_equal(model.stubbornness, expected.stubbornness)
    assert np.array_equal(model.network.adjacency.toarray(), expected.network.adjacency.toarray())
    assert np.flatnonzero(model.network.degrees == 0).tolist() == [0, 2, 7]
    assert parse_scenario(scenario.to_toml()) == scenario


@pytest.mark.parametrize(
    ("network", "agents", "path", "words"),
    [
        (RING, {"zealots": [9]}, "agents.zealots", "unknown 9"),
        (RING, {"susceptibility": [1.0]}, "agents.susceptibility", "each of the 9 agents"),
        (RING, {"susceptibility": -1.0}, "agents.susceptibility", "at least 0"),
        (
            RING | {"dynamics": {"kind": "failing_edges", "probability": 0.1}},
            {"zealots": [1]},
            "agents.zealots",
            "zealots need a network that does not change",
        ),
    ],
)
def test_bad_zealots_and_susceptibilities_are_refused(
    network: dict[str, Any], agents: dict[str, Any], path: str, words: str
) -> None:
    assert words in refused(network, agents=agents)[path]
