"""What an observer learns about each agent, against dense conditioning of one joint Gaussian law."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.privacy import budget, exposure
from peerpressure.recovery import Observation, Prior
from tests.builders import random_model

N, T = 6, 5
PRIOR = Prior(0.0, 0.5)


def small(**parts: Any) -> Model:
    defaults: dict[str, Any] = {"noise": pp.Gaussian(0.7), "pressure": pp.Linear(0.8)}
    return random_model(N, seed=3, **(defaults | parts))


def test_full_view_of_a_public_start_in_closed_form() -> None:
    model = small(start=np.zeros(N), noise=pp.Gaussian(2.0))
    table = exposure(model, 16, prior=PRIOR).table
    np.testing.assert_allclose(table["posterior_variance"], 1 / (1 / 0.5 + 16 / 4))
    np.testing.assert_allclose(table["cramer_rao"], 4 / 16)
    np.testing.assert_allclose(table["nats"], 0.5 * np.log(1 + 0.5 * budget(model, 16).information))
    np.testing.assert_allclose(table["bits"], table["nats"] / np.log(2))
    assert (table["rank"] == 1).all()


@settings(deadline=None, max_examples=20)
@given(st.sets(st.integers(0, N - 1)), st.sets(st.integers(0, N - 1)), st.integers(1, 6))
def test_seeing_more_agents_teaches_no_less(few: set[int], more: set[int], steps: int) -> None:
    less = exposure(small(), steps, observed=sorted(few), prior=PRIOR).table["ratio"]
    rest = exposure(small(), steps, observed=sorted(few | more), prior=PRIOR).table["ratio"]
    assert (rest <= less + 1e-9).all()
    assert less.between(0, 1).all()


def test_seeing_longer_teaches_no_less() -> None:
    ratios = [exposure(small(), steps, observed=[1, 2], prior=PRIOR).table["ratio"] for steps in (1, 2, 4, 8)]
    for before, after in itertools.pairwise(ratios):
        assert (after <= before + 1e-9).all()


def test_nobody_seen_teaches_nothing() -> None:
    table = exposure(small(), T, observed=[], prior=PRIOR).table
    assert (table["ratio"] == 1).all()
    assert (table["nats"] == 0).all()
    assert np.isinf(table["cramer_rao"]).all()
    assert not table["seen"].any()
    assert (table["rank"] == 1).all()


def test_distant_agents_are_not_identified() -> None:
    model = pp.Model(pp.networks.path(8), np.linspace(0, 1, 8), noise=pp.Gaussian(0.5), start=np.zeros(8))
    table = exposure(model, 3, observed=[0], prior=PRIOR).table
    # Word travels one step at a time.
    assert (table["ratio"].iloc[3:] == 1).all()
    assert np.isinf(table["cramer_rao"].iloc[3:]).all()
    assert table["rank"].iloc[0] == 1


def test_who_is_seen_with_all_neighbours() -> None:
    model = pp.Model(pp.networks.path(5), np.linspace(0, 1, 5), noise=pp.Gaussian(0.5))
    table = exposure(model, 3, observed=[0, 1, 2]).table
    assert table["seen"].tolist() == [True, True, True, False, False]
    assert table["neighbourhood_seen"].tolist() == [True, True, False, False, False]


def test_other_laws_are_seen_through_their_variance() -> None:
    gaussian, laplace = (
        exposure(small(noise=law(0.7)), T, observed=[0, 1], prior=PRIOR).table for law in (pp.Gaussian, pp.Laplace)
    )
    np.testing.assert_array_equal(gaussian["ratio"], laplace["ratio"])


@pytest.mark.parametrize(
    ("noise", "bound"),
    [
        (pp.Gaussian(1.0), 0.05),
        (pp.Laplace(1.0), 0.025),
        (pp.StudentT(1.0, df=5.0), 0.05 * (8 / 6) * (3 / 5)),
        (pp.noise.Uniform(1.0), 0.0),
        (pp.noise.Rademacher(1.0), 0.0),
    ],
)
def test_the_bound_is_that_of_the_law(noise: pp.noise.Noise, bound: float) -> None:
    model = pp.Model(pp.networks.complete(3), [0.0, 0.5, 1.0], noise=noise, start=np.zeros(3))
    report = exposure(model, 20)
    np.testing.assert_allclose(report.table["cramer_rao"], bound, rtol=1e-9)
    np.testing.assert_allclose(report.table["cramer_rao"], 0.05 / noise.fisher_information(), rtol=1e-9)
    labelled = [
        "bits ≥" in str(report),
        "≤" in str(report),
        "others may learn more" in report.note,
        not report.is_exact,
    ]
    assert all(labelled) == (not isinstance(noise, pp.Gaussian))
    assert any(labelled) == all(labelled)
    # An agent that nothing observed depends on stays open under every law.
    alone = replace(model, network=pp.networks.path(3))
    assert math.isinf(exposure(alone, 1, observed=[0]).table["cramer_rao"].iloc[2])


def test_the_median_of_laplace_noise_beats_the_linear_estimate_but_not_the_bound() -> None:
    model = pp.Model(pp.networks.complete(3), [0.0, 0.5, 1.0], noise=pp.Laplace(1.0), start=np.zeros(3))
    steps, replicates = 101, 800
    states = pp.simulate(model, steps, replicates, seed=3, record="all").states
    assert states is not None
    preferred = []
    for t in range(1, steps + 1):
        update = model.update(t)
        preferred.append((states[:, t] - states[:, t - 1] @ update.coupling.toarray().T) / update.gain)
    error = np.median(preferred, axis=0) - model.x0
    found, linear = exposure(model, steps).table["cramer_rao"], 1 / steps
    standard_error = math.sqrt(2 / (3 * replicates)) * float(np.mean(error**2))
    assert np.mean(error**2) + 5 * standard_error < linear
    assert np.mean(error**2) + 5 * standard_error > found.iloc[0]


def test_relabelling_agents_changes_nothing_else() -> None:
    model = small()
    order = np.random.default_rng(0).permutation(N)
    network = model.network.permuted(order)
    other = pp.Model(network, model.x0[order], model.s[order], model.pressure, model.noise)
    plain = exposure(model, T, observed=[0, 4], prior=PRIOR).table
    moved = exposure(other, T, observed=[0, 4], prior=PRIOR).table
    np.testing.assert_allclose(moved["ratio"], plain["ratio"].loc[list(moved.index)], rtol=1e-8)


def test_default_prior_is_the_spread_of_opinions() -> None:
    assert exposure(small(), T).table["prior_variance"].iloc[0] == pytest.approx(small().x0.var())
    with pytest.raises(InvalidInputError, match=r"must differ, got all of them 2; say what the observer believes"):
        exposure(replace(small(), hidden=np.full(N, 2.0)), T)


def test_it_prints_for_a_person() -> None:
    report = exposure(random_model(20, noise=pp.Gaussian(1.0)), T, observed=[0, 1, 2])
    text = str(report)
    assert text.startswith("Exposure after 5 steps to an observer of 3 of 20 agents")
    assert "and 12 more" in text
    assert set(report.edges().columns) == {"source", "target", "one_way", "negative"}
    assert len(report.edges()) == report.model.network.edge_count


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"observed": ["nobody"]}, "nobody"),
        ({"observed": [0, 0]}, "must differ"),
        ({"observed": "everyone"}, "agents must be a sequence of labels"),
        ({"prior": Prior(0.0, np.ones(N + 1))}, f"one for each of the {N} agents"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"steps": T} | change
    with pytest.raises(InvalidInputError, match=message):
        exposure(small(), **arguments)  # type: ignore[arg-type]


def test_who_sees_a_hidden_start_knows_everything() -> None:
    table = exposure(small(), T, observed=Observation(sees_start=True), prior=PRIOR).table
    np.testing.assert_allclose(table["posterior_variance"], 0.0, atol=1e-12)
    assert np.isinf(table["nats"]).all()
