"""Networks that are written out in the scenario: what they build, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import peerpressure as pp
from peerpressure.scenario import ScenarioError, parse_scenario, scenario_from


def read(**network: Any) -> pp.Network:
    return scenario_from({"network": network, "run": {"steps": 1}}).graph


def test_edges_weights_and_labels_make_the_network() -> None:
    text = "[network]\nedges = [[0, 1], [1, 2]]\nweights = [2, 0.5]\nlabels = ['ann', 'bob', 7]\n[run]\nsteps = 3\n"
    scenario = parse_scenario(text)
    assert list(scenario.graph.labels) == ["ann", "bob", 7]
    assert scenario.graph.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 0.5], [0, 0.5, 0]]
    assert parse_scenario(scenario.to_toml()) == scenario


@given(st.integers(2, 12), st.integers(0, 2**32 - 1), st.booleans())
def test_every_network_can_be_written_out(n: int, seed: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    ends = list(dict.fromkeys([(int(rng.integers(i)), i) for i in range(1, n)] + [(0, n - 1)] * (n > 2)))
    given = {"edges": [list(end) for end in ends]} | ({"weights": [1.5] * len(ends)} if weighted else {})
    expected = pp.Network.from_edges(np.array(ends), given.get("weights"))
    assert (read(**given).adjacency != expected.adjacency).nnz == 0
    assert parse_scenario(scenario_from({"network": given, "run": {"steps": 1}}).to_toml()).graph.n == n


@pytest.mark.parametrize(
    ("network", "where", "says"),
    [
        ({"edges": [[0, 1], [1, 2, 3]]}, "network.edges[1]", "2 or fewer"),
        ({"edges": [[0, -1]]}, "network.edges[0][1]", "at least 0"),
        ({"edges": [[0, 2**40]]}, "network.edges[0][1]", "below"),
        ({"edges": [["ann", "bob"]]}, "network.edges[0][0]", "whole number"),
        ({"edges": [[0, 1]], "weights": ["x"]}, "network.weights[0]", "number"),
        ({"edges": [[0, 1]], "weights": [-1.0]}, "network", "signed"),
        ({"edges": [[0, 1]], "weights": [1.0, 1.0]}, "network", "one weight per edge"),
        ({"edges": [[0, 1]], "n": 3}, "network.n", "this key is unknown"),
        ({}, "network", "edges"),
    ],
)
def test_what_is_no_network_is_refused_at_its_place(network: dict[str, Any], where: str, says: str) -> None:
    with pytest.raises(ScenarioError) as told:
        read(**network)
    problem = told.value.problems[0]
    assert problem.path == where
    assert says in problem.message


def test_of_a_list_full_of_mistakes_the_first_is_told() -> None:
    with pytest.raises(ScenarioError) as told:
        read(edges=[["a", "b"]] * 500)
    assert len(told.value.problems) <= 2


def test_directed_signed_networks_in_pieces() -> None:
    kinds = {"directed": True, "signed": True}
    given = {"edges": [[0, 1], [2, 3]], "weights": [2.0, -1.0], "direction": "influences"} | kinds
    network = read(**given)
    assert network.directed
    assert network.signed
    assert network.adjacency.toarray().tolist() == [[0, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0], [0, 0, -1, 0]]
    scenario = scenario_from({"network": given, "run": {"steps": 1}})
    assert parse_scenario(scenario.to_toml()) == scenario
