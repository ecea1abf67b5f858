"""Opinions that adapt and networks that change, against their joint law written out with dense matrices."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, Observation, Prior, information, outputs_of, recover
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._kalman import kalman
from peerpressure.recovery._sparse_kalman import sparse_estimate
from peerpressure.theory._forgetting import retention
from tests.builders import random_model
from tests.recovery.cases import AGENTS, NEEDS_ALL, NOISES, STARTS, STEPS, VIEWS, small_model
from tests.recovery.extended import FACTORS, KINDS, Joint, extended
from tests.recovery.test_conformance import assert_unbiased_with_its_covariance
from tests.recovery.test_kalman import assert_same, with_holes

PRIOR = Prior(0.3, 0.8)
CONDITIONED = [name for name in VIEWS if name != "some with their start"]
REGULAR = ("white", "scaled over time", "by agent", "ar1", "negative ar1")


@pytest.mark.parametrize("noise", ["white", "ar1", "frozen", "some without"])
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
    for view in ("all", "some agents", "gaps"):
        for method in METHODS:
            if view == "all" or method not in NEEDS_ALL:
                one, *others = (recover(run, m, method, VIEWS[view]) for m in (base, *stills))
                for other in others:
                    assert_same(one, other, 1e-10)
        one_told, *others_told = (information(m, STEPS, VIEWS[view]) for m in (base, *stills))
        for other_told in others_told:
            np.testing.assert_allclose(other_told.bound, one_told.bound, rtol=1e-10)


@pytest.mark.parametrize(
    ("kind", "start"), [*((kind, "hidden") for kind in KINDS), ("adapting", "given"), ("both", "given")]
)
@pytest.mark.parametrize("noise", ["white", "by agent", "negative ar1", "frozen", "some without"])
def test_a_prior_gives_the_conditional_law(kind: str, noise: str, start: str) -> None:
    model = extended(kind, noise, start)
    run = pp.simulate(model, STEPS, 2, seed=2)
    joint = Joint.of(model, STEPS)
    # Each view meets every kind and every noise.
    odd = [*KINDS, "given"].index(kind if start == "hidden" else "given") + list(NOISES).index(noise)
    for view in ("all", "some agents", "gaps", "rounded")[odd % 2 :: 2]:
        mean, covariance = joint.given(outputs_of(run, model, VIEWS[view]), 0.3, 0.8).hidden()
        for method in ("gls", "kalman", *(["innovations"] if view == "all" else [])):
            estimate = recover(run, model, method, VIEWS[view], PRIOR)
            np.testing.assert_allclose(estimate.value, mean, atol=1e-7)
            np.testing.assert_allclose(estimate.covariance @ np.eye(AGENTS), covariance, atol=1e-7)


@pytest.mark.parametrize("noise", REGULAR)
@pytest.mark.parametrize("kind", KINDS)
def test_regressions_are_their_dense_formulas(kind: str, noise: str) -> None:
    model = extended(kind, noise)
    run = pp.simulate(model, STEPS, 3, seed=4)
    for view in ("all", "gaps"):
        data = outputs_of(run, model, VIEWS[view])
        Q, L, blur, y = Joint.of(model, STEPS).seen(data)
        V = L @ L.T + blur
        last = np.arange(len(V))[-data.seen.agents.size :]
        for method, rows, W in (
            ("ols", slice(None), np.eye(len(V))),
            ("wls", slice(None), np.diag(1 / V.diagonal())),
            ("gls", slice(None), np.linalg.inv(V)),
            ("snapshot", last, np.linalg.inv(V[np.ix_(last, last)])),
        ):
            q = Q[rows]
            if np.linalg.matrix_rank(q) < AGENTS:
                continue
            G = np.linalg.solve(q.T @ W @ q, q.T @ W)
            spread = G @ (V if method != "snapshot" else V[np.ix_(last, last)]) @ G.T
            estimate = recover(run, model, method, VIEWS[view])
            np.testing.assert_allclose(estimate.value.T, G @ y[rows], rtol=1e-6, atol=1e-7)
            np.testing.assert_allclose(estimate.covariance @ np.eye(AGENTS), spread, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("noise", ["white", "ar1", "frozen"])
@pytest.mark.parametrize("kind", KINDS)
def test_errors_have_the_stated_size_whatever_the_method(kind: str, noise: str) -> None:
    model = extended(kind, noise)
    run = pp.simulate(model, STEPS, 2000, seed=11)
    for method in METHODS:
        assert_unbiased_with_its_covariance(recover(run, model, method), model)
    for method in ("ols", "kalman"):
        assert_unbiased_with_its_covariance(recover(run, model, method, VIEWS["some agents"]), model)


@pytest.mark.parametrize("view", CONDITIONED)
@pytest.mark.parametrize("noise", ["by agent", "ar1"])
@pytest.mark.parametrize("kind", KINDS)
def test_information_is_that_of_the_joint_law(kind: str, noise: str, view: str) -> None:
    model = extended(kind, noise, "given" if view == "late" else "hidden")
    data = outputs_of(pp.simulate(model, STEPS), model, VIEWS[view])
    Q, L, blur, _ = Joint.of(model, STEPS).seen(data)
    J = Q.T @ np.linalg.solve(L @ L.T + blur, Q)
    told = information(model, STEPS, VIEWS[view])
    np.testing.assert_allclose(told.matrix @ np.eye(AGENTS), J, rtol=1e-7, atol=1e-8 * np.abs(J).max())


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


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("kind", ["both", "adapting at once"])
def test_large_networks_take_another_road_to_the_same_place(kind: str, start: str) -> None:
    at_once = {"adaptation": pp.Adaptation("1/t", FACTORS)} if kind == "adapting at once" else {}
    model = extended(kind, "by agent", start, **at_once)
    run = with_holes(pp.simulate(model, STEPS, 2, seed=3), 0.2)
    for view, prior in (("some agents", None), ("gaps", PRIOR), ("rounded", None), ("some with their start", PRIOR)):
        data = outputs_of(run, model, VIEWS[view])
        assert_same(kalman(model, data, prior), sparse_estimate(model, data, prior, "kalman"), 1e-7)


def test_many_agents_go_the_sparse_way_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(30, noise=pp.Gaussian(1.0), adaptation=0.05)
    run, view = pp.simulate(model, 10, 2, seed=1), Observation(agents=range(3, 30))
    dense = recover(run, model, "kalman", view)
    monkeypatch.setattr(import_module("peerpressure.recovery._kalman"), "FILTER_LIMIT", 10)
    assert_same(dense, recover(run, model, "kalman", view), 1e-7)
    correlated = replace(model, noise=pp.Gaussian(1.0, temporal=pp.AR1(0.5)))
    with pytest.raises(pp.errors.TooLargeError, match="adapt need white noise"):
        recover(run, correlated, "kalman", view)


@pytest.mark.parametrize("prior", [None, Prior(0.2, 0.5)])
def test_complete_outputs_of_a_large_network_that_gives_way(
    prior: Prior | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = pp.Adaptation(0.1, np.linspace(0, 1, 60))
    model = random_model(60, noise=pp.Gaussian(0.8, temporal=pp.AR1(0.3)), adaptation=rates)
    data = outputs_of(pp.simulate(model, 12, 2, seed=1), model)
    dense = innovations(model, data, prior)
    monkeypatch.setattr(import_module("peerpressure.recovery._innovations"), "DENSE_LIMIT", 10)
    large = innovations(model, data, prior)
    np.testing.assert_allclose(large.value, dense.value, atol=1e-8)
    np.testing.assert_allclose(large.variance_of(range(60)), dense.variance, rtol=1e-8)


def test_p_values_are_uniform_and_another_rate_is_noticed() -> None:
    model = extended("both", "ar1")
    run = pp.simulate(model, 30, 1500, seed=8)
    for method in ("innovations", "kalman", "ols"):
        estimate = recover(run, model, method)
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
