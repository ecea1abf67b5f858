"""Priors by label: the numbers of an agent are its own, whatever the order of the table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import peerpressure as pp
from peerpressure import Model, Network, recover
from peerpressure.errors import InvalidInputError
from peerpressure.privacy import exposure
from peerpressure.recovery import Prior, answers_of, kalman_filter

NAMES = ["cem", "ann", "bob"]
MEAN, VARIANCE = {"bob": 0.9, "cem": 0.1, "ann": 0.5}, {"ann": 0.5, "bob": 0.1, "cem": 0.01}
MODEL = Model(Network.from_edges([("cem", "ann"), ("ann", "bob")]), [0.2, 0.4, 0.8], noise=pp.Gaussian(1.0), start=0.0)
RUN = pp.simulate(MODEL, 5, seed=1)
PLAIN = Prior([MEAN[name] for name in NAMES], [VARIANCE[name] for name in NAMES])
FRAME = pd.DataFrame(np.diag([0.1, 0.5, 0.01]), index=["bob", "ann", "cem"], columns=["bob", "ann", "cem"])


@pytest.mark.parametrize(
    ("mean", "variance"),
    [(MEAN, VARIANCE), (pd.Series(MEAN), pd.Series(VARIANCE)), (pd.Series(MEAN), FRAME[["ann", "cem", "bob"]])],
    ids=["mappings", "series", "frame"],
)
def test_priors_are_matched_by_label(mean: Any, variance: Any) -> None:
    assert list(MODEL.network.labels) == NAMES
    named = Prior(mean, variance)
    for method in ("innovations", "kalman", "ols", "gls"):
        found, expected = (recover(RUN, MODEL, method, prior=prior) for prior in (named, PLAIN))
        np.testing.assert_allclose(found.value, expected.value, rtol=1e-12)
        np.testing.assert_allclose(found.variance, expected.variance, rtol=1e-12)
    ratios = [exposure(MODEL, 5, prior=prior).table["ratio"] for prior in (named, PLAIN)]
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-12)
    data = answers_of(RUN, MODEL)
    paths = [kalman_filter(data, MODEL, prior).hidden.mean for prior in (named, PLAIN)]
    np.testing.assert_allclose(paths[0], paths[1], rtol=1e-12)


def test_people_who_are_not_in_the_network_are_left_out() -> None:
    more = Prior(pd.Series({**MEAN, "dan": 7.0}), 1.0).in_order(NAMES)
    np.testing.assert_array_equal(more.mean, PLAIN.mean)


@pytest.mark.parametrize(
    ("mean", "variance", "words"),
    [
        (pd.Series([0.1, 0.2, 0.3]), 1.0, "by its label"),
        (pd.Series({"ann": 1.0, "bob": 2.0}), 1.0, "none for 'cem'"),
        ({"ann": 1.0, "bob": 2.0, "dan": 3.0}, 1.0, "'cem'"),
    ],
)
def test_what_cannot_be_matched_is_refused(mean: Any, variance: Any, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        recover(RUN, MODEL, prior=Prior(mean, variance))


def test_names_are_given_for_both_or_none_and_once() -> None:
    with pytest.raises(InvalidInputError, match="both name"):
        Prior(pd.Series(MEAN), [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="'ann' twice"):
        Prior(pd.Series([1.0, 2.0], index=["ann", "ann"]), 1.0)
    with pytest.raises(InvalidInputError, match="rows and columns"):
        Prior(0.0, pd.DataFrame(np.eye(2), index=["ann", "bob"]))
    # Nothing else takes it by position.
    with pytest.raises(InvalidInputError, match="must be matched"):
        Prior(pd.Series(MEAN), 1.0).means(3)


def test_positions_are_the_labels_of_agents_without() -> None:
    series = pd.Series([0.1, 0.2, 0.3], index=[2, 0, 1])
    np.testing.assert_array_equal(Prior(series, 1.0).in_order(range(3)).mean, [0.2, 0.3, 0.1])
