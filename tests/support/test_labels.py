"""Values with names go to the agents of these names, whatever their order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure.errors import AdaptationError, ModelError, NoiseError
from peerpressure.support.parameters import find_labels

FRIENDS = pp.Network.from_edges([("bob", "cat"), ("ann", "bob")])  # the network's order is bob, cat, ann
NAMED = {"ann": 1.0, "bob": 2.0, "cat": 3.0}


@pytest.mark.parametrize("kind", [dict, pd.Series], ids=["a mapping", "a series"])
@pytest.mark.parametrize("part", ["hidden", "stubbornness", "start"])
def test_values_by_label_are_not_taken_in_order(part: str, kind: Any) -> None:
    model = pp.Model(FRIENDS, **({"hidden": [0.0, 0.0, 0.0]} | {part: kind(NAMED)}))
    found = model.start_state if part == "start" else getattr(model, part)
    assert dict(zip(FRIENDS.labels, found.tolist(), strict=True)) == NAMED


def test_people_who_are_not_in_the_network_are_left_out() -> None:
    assert pp.Model(FRIENDS, pd.Series({"dan": 9.0} | NAMED)).x0.tolist() == [2.0, 3.0, 1.0]


def test_numbers_as_labels() -> None:
    numbered = pp.networks.path(3).relabelled([10, 20, 30])
    column = pd.DataFrame({"agent": ["30", "10", "20"], "opinion": [3.0, 1.0, 2.0]}).set_index("agent")["opinion"]
    assert pp.Model(numbered, column).x0.tolist() == [1.0, 2.0, 3.0]
    assert pp.Model(pp.networks.path(3), pd.Series([1.0, 2.0, 3.0])).x0.tolist() == [1.0, 2.0, 3.0]
    assert pp.Model(pp.networks.path(3), pd.Series([1.0, 2.0, 3.0], index=[2, 1, 0])).x0.tolist() == [3.0, 2.0, 1.0]


def test_the_rule_for_numbers_and_texts() -> None:
    assert find_labels([1, "1", "001", 1.0], ["1", "001"]) == [0, 0, 1, None]
    assert find_labels([1, "1"], [1, "1"]) == [0, 1]  # both are labels, so neither stands for the other
    assert find_labels([(0, 1), "(0, 1)"], [(0, 1)]) == [0, 0]
    assert find_labels([1.0], [1, "1"]) == [0]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (pd.Series([1.0, 2.0, 3.0]), "none for 'bob', 'cat', 'ann'.*plain list in the order"),
        (pd.Series({"Ann": 1.0, "bob": 2.0, "cat": 3.0}), r"none for 'ann'.*did you mean 'Ann'"),
        (pd.Series([1.0, 2.0, 3.0, 4.0], index=["ann", "bob", "cat", "ann"]), "'ann' twice"),
        ({"ann": 1.0, "bob": 2.0}, "none for 'cat'"),
        ({"ann": 1.0, "bob": 2.0, "cat": "high"}, "one number for each agent"),
        ({}, "none for 'bob'"),
    ],
    ids=["no names", "another spelling", "twice", "too few", "no number", "nobody"],
)
def test_values_that_leave_a_doubt_are_refused(values: Any, says: str) -> None:
    with pytest.raises(ModelError, match=f"hidden.*{says}"):
        pp.Model(FRIENDS, values)


def test_agents_without_labels_are_counted_from_0() -> None:
    with pytest.raises(ModelError, match="none for 0"):
        pp.Model(pp.networks.path(3), pd.Series([1.0, 2.0, 3.0], index=[1, 2, 3]))
    with pytest.raises(ModelError, match="1 for others"):
        pp.Model(pp.networks.path(3), pd.Series([1.0, 2.0, 3.0, 4.0]))


def test_parts_that_know_no_network_take_no_names() -> None:
    with pytest.raises(NoiseError, match=r"got Series; reorder it first"):
        pp.Gaussian(pd.Series(NAMED))
    with pytest.raises(AdaptationError, match=r"got Series; reorder it first"):
        pp.Adaptation(0.1, pd.Series(NAMED))


def test_observed_agents_are_found_by_the_same_rule() -> None:
    texts = pp.Model(pp.networks.path(3).relabelled(["1", "2", "3"]), [0.0, 0.0, 0.0])
    frame = pd.DataFrame({"time": 1, "agent": [3, 1, 2], "public": [0.3, 0.1, 0.2]})
    np.testing.assert_array_equal(np.asarray(pp.Trajectory.from_dataframe(frame, texts).states), [[[0.1, 0.2, 0.3]]])
    with pytest.raises(pp.PeerPressureError, match="'001' in row 0"):
        pp.Trajectory.from_dataframe(frame.assign(agent=["001", "2", "3"]), texts)
