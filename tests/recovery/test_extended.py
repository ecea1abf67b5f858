"""Opinions that adapt and networks that change, against their joint law written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, information, recover
from peerpressure.theory._forgetting import retention
from tests.builders import random_model
from tests.recovery.cases import FACTORS, NEEDS_ALL, STARTS, STEPS, VIEWS, assert_same, extended, small_model


@pytest.mark.parametrize("noise", ["ar1", "some without"])
def test_what_does_not_move_is_the_paper_s_own_model(noise: str) -> None:
    base = small_model(noise)
    run = pp.simulate(base, STEPS, 3, seed=1)
    constant = pp.TemporalNetwork.constant(base.network)
    rest: dict[str, Any] = {"hidden": base.x0, "stubbornness": base.s, "noise": base.noise}
    stills = (
        replace(base, adaptation=pp.Adaptation(0.0)),
        pp.Model(constant, **rest),
        pp.Model(constant, **rest, adaptation=0.0),
    )
    for view in ("all", "gaps"):
        for method in METHODS:
            if view == "all" or method not in NEEDS_ALL:
                one, *others = (recover(run, m, method, VIEWS[view]) for m in (base, *stills))
                for other in others:
                    assert_same(one, other, 1e-10)
        one_told, *others_told = (information(m, STEPS, VIEWS[view]) for m in (base, *stills))
        for other_told in others_told:
            np.testing.assert_allclose(other_told.bound, one_told.bound, rtol=1e-10)


def test_forgetting_bounds_what_can_ever_be_known() -> None:
    rate, sigma = 0.1, 2.0
    model = random_model(6, noise=pp.Gaussian(sigma), start=np.zeros(6), adaptation=rate)
    keep = (1 - rate) ** 2
    for steps in (1, 7, 60):
        expected = sigma**2 * (1 - keep) / (1 - keep**steps)
        np.testing.assert_allclose(information(model, steps).bound, expected, rtol=1e-10)
    np.testing.assert_allclose(information(model, 3000).bound, sigma**2 * (1 - keep), rtol=1e-10)
    run = pp.simulate(model, 3000, seed=1)
    np.testing.assert_allclose(recover(run, model).variance, sigma**2 * (1 - keep), rtol=1e-10)
    assert retention(model, 1).information[0] == pytest.approx(1 / (1 - keep), rel=1e-9)
    # Rates that sum to a finite number leave part of x₀ forever, and with it knowledge without bound.
    brief = replace(model, adaptation=pp.Adaptation("0.5/t^2"))
    assert information(brief, 2000).bound.max() < 0.05 * sigma**2


def test_the_first_words_of_neighbours_are_told_before_anything_fades() -> None:
    model = random_model(6, noise=pp.Gaussian(2.0), pressure=pp.Linear(), adaptation=pp.Adaptation(0.2, FACTORS[:6]))
    F = np.eye(6) + model.network.adjacency.toarray() / model.s[:, None]
    later = sum((1 - 0.2 * FACTORS[:6]) ** (2 * t) for t in range(1, 30))
    J = (F.T @ F + np.diag(later)) / 4
    np.testing.assert_allclose(information(model, 30).matrix @ np.eye(6), J)


@pytest.mark.parametrize("start", STARTS)
def test_a_held_mask_is_undone_where_opinions_fade_from_under_it(start: str) -> None:
    model = extended("adapting", "frozen", start)
    run = pp.simulate(model, STEPS, 3, seed=1)
    fading = FACTORS > 0
    for method in ("innovations", "gls", "kalman"):
        estimate = recover(run, model, method)
        np.testing.assert_allclose(estimate.variance[fading], 0.0, atol=1e-12)
        np.testing.assert_allclose(estimate.value[:, fading], np.tile(model.x0[fading], (3, 1)), atol=1e-7)
        if start == "given":
            # Who never adapts keeps the mask.
            np.testing.assert_allclose(estimate.variance[~fading], 0.49)


def test_p_values_are_uniform_and_another_rate_is_noticed() -> None:
    model = extended("both", "ar1")
    run = pp.simulate(model, 30, 1500, seed=8)
    estimate = recover(run, model)
    assert estimate.goodness_of_fit is not None
    assert estimate.diagnostics is not None
    for p in (estimate.diagnostics.tests["size"], estimate.diagnostics.tests["steps"]):
        assert p is not None
        assert abs(p.mean() - 0.5) < 5 * np.sqrt(1 / 12 / 1500)
        assert abs(np.mean(p < 0.1) - 0.1) < 5 * np.sqrt(0.09 / 1500)
    assert np.mean(estimate.goodness_of_fit < 0.1) < 0.1 + 5 * np.sqrt(0.09 / 1500)
    longer = pp.simulate(model, 1000, seed=1)
    for other in (replace(model, adaptation=None), replace(model, adaptation=pp.Adaptation(0.3, FACTORS[::-1]))):
        p = recover(longer, other).goodness_of_fit
        assert p is not None
        assert p[0] < 1e-4


def test_outputs_that_bounded_noise_cannot_have_made_are_refused() -> None:
    model = extended("adapting alike", pp.noise.Uniform(0.1))
    recover(pp.simulate(model, 20), model)
    with pytest.raises(pp.errors.InvalidInputError, match="no hidden opinion explains"):
        recover(pp.simulate(replace(model, adaptation=None), 20), model)
