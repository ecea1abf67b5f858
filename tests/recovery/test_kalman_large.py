"""The sparse elimination of unseen states against the dense filter, and how it refuses what it cannot do."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, Prior, _sparse_kalman, outputs_of, recover
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._kalman import kalman
from peerpressure.recovery._sparse_kalman import is_quicker, sparse_estimate
from peerpressure.recovery.limits import FILTER_LIMIT
from tests.builders import random_model
from tests.recovery.cases import NOISES, STARTS, STEPS, VIEWS, small_model
from tests.recovery.test_kalman import PRIORS, assert_same, with_holes

NOISY = [name for name in NOISES if name not in ("frozen", "some without")]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("noise", NOISY)
def test_elimination_is_the_dense_filter(noise: str, start: str, prior: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, 3, seed=2)
    # Each two of noise, start, prior, view and whether outputs are missing meet.
    odd = NOISY.index(noise) + list(STARTS).index(start)
    for k, view in enumerate(list(VIEWS.values())[(odd + list(PRIORS).index(prior)) % 2 :: 2], start=odd):
        data = outputs_of(with_holes(run, 0.3) if k % 2 else run, model, view)
        dense = kalman(model, data, PRIORS[prior])
        assert_same(sparse_estimate(model, data, PRIORS[prior], "kalman"), dense)


@pytest.mark.parametrize("correlated", [False, True])
def test_iterations_are_the_dense_solution(correlated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model(60, 4, noise=pp.Gaussian(0.7, temporal=pp.AR1(0.4) if correlated else "white"))
    data = outputs_of(pp.simulate(model, 15, 2, seed=3), model, Observation(agents=range(50)))
    for prior in (None, Prior(0.2, 1.5)):
        dense = sparse_estimate(model, data, prior, "kalman")
        with monkeypatch.context() as patch:
            patch.setattr(_sparse_kalman, "DENSE_LIMIT", 0)
            iterated = sparse_estimate(model, data, prior, "kalman")
        np.testing.assert_allclose(iterated.value, dense.value, atol=1e-7)
        np.testing.assert_allclose(iterated.variance_of(range(60)), dense.variance, rtol=1e-6)


@pytest.mark.parametrize("name", ["path", "star"])
def test_iterations_find_what_is_not_identified(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # The end of a path is too far away to be heard of; of three leaves that look alike only the sum is.
    n = 40
    network = pp.networks.path(n) if name == "path" else pp.networks.star(n)
    model = pp.Model(network, np.linspace(0, 1, n), noise=pp.Gaussian(0.5), start=np.zeros(n))
    seen = range(n - 10) if name == "path" else [0, *range(4, n)]
    data = outputs_of(pp.simulate(model, 4, 2, seed=3), model, Observation(agents=seen))
    dense = kalman(model, data)
    monkeypatch.setattr(_sparse_kalman, "DENSE_LIMIT", 0)
    found = sparse_estimate(model, data, None, "kalman")
    np.testing.assert_array_equal(found.identified, dense.identified)
    assert found.rank == dense.rank
    assert np.isinf(found.condition)
    np.testing.assert_allclose(found.value[:, found.identified], dense.value[:, found.identified], atol=1e-8)
    np.testing.assert_allclose(found.variance_of(range(n)), dense.variance, rtol=1e-6)
    np.testing.assert_array_equal(np.isinf(found.variance), ~found.identified)


def test_a_start_that_is_partly_missing_is_estimated_where_it_is() -> None:
    n = 2100
    model = pp.Model(pp.networks.cycle(n), np.linspace(0, 1, n), noise=pp.Gaussian(0.5))
    run = pp.simulate(model, 4, seed=1)
    assert run.states is not None
    states = run.states.copy()
    states[:, 0, 5] = np.nan
    estimate = recover(replace(run, states=states), model, "kalman", Observation(sees_start=True))
    assert estimate.rank == n
    # x₀ of agent 5 is in its own noisy outputs, and in those of its two neighbours at step 1, 1/3 each like its own.
    np.testing.assert_allclose(estimate.variance_of([5, 6]), [0.25 / 6, 0.0], rtol=1e-9)


def test_large_networks_take_the_sparse_way_and_keep_their_word() -> None:
    n = FILTER_LIMIT + 100
    model = random_model(n, 2, noise=pp.Gaussian(1.0), weighted=False)
    run = pp.simulate(model, 20, 40, seed=5)
    hidden = np.random.default_rng(1).permutation(n)[:80]
    view = Observation(agents=[i for i in range(n) if i not in set(hidden.tolist())])
    estimate = recover(run, model, "kalman", view, Prior(0.0, 1.0))
    assert (estimate.variance[hidden] > estimate.variance.min()).all()
    assert (estimate.variance < 1.0).all()
    plain = recover(run, model, "kalman", view)
    who = plain.identified & (plain.variance < 100)
    assert who.sum() > n - 80
    score = plain.residuals()[:, who] ** 2 / plain.variance[who]
    assert abs(score.mean() - 1) < 5 * np.sqrt(2 / score.size) * 2


def test_complete_outputs_of_a_large_network_stay_sparse() -> None:
    model = random_model(2500, 2, noise=pp.Gaussian(1.0), weighted=False)
    data = outputs_of(pp.simulate(model, 10, 2, seed=5), model)
    one, other = kalman(model, data), innovations(model, data)
    np.testing.assert_allclose(one.value, other.value, atol=1e-7)
    np.testing.assert_allclose(one.variance_of([0, 7]), other.variance_of([0, 7]), rtol=1e-7)


def test_agents_of_whom_nothing_is_seen_are_named() -> None:
    n = FILTER_LIMIT + 20
    model = pp.Model(pp.networks.path(n), np.zeros(n), noise=pp.Gaussian(1.0), start=np.zeros(n))
    data = outputs_of(pp.simulate(model, 4), model, Observation(agents=range(n - 10)))
    np.testing.assert_array_equal(np.flatnonzero(~kalman(model, data).identified), np.arange(n - 7, n))


@pytest.mark.parametrize(
    ("noise", "what"),
    [(pp.Gaussian(1.0, temporal="frozen"), "frozen"), (pp.NoNoise(), "without noise")],
)
def test_large_networks_need_fresh_noise(noise: pp.noise.Noise, what: str) -> None:
    n = FILTER_LIMIT + 1
    model = pp.Model(pp.networks.cycle(n), np.zeros(n), noise=noise)
    data = outputs_of(pp.simulate(model, 3), model, Observation(agents=range(9)))
    with pytest.raises(pp.errors.TooLargeError, match=what):
        kalman(model, data)


def test_too_wide_a_front_is_refused_before_any_work() -> None:
    n = 4000
    model = pp.Model(pp.networks.cycle(n), np.zeros(n), noise=pp.Gaussian(1.0))
    data = outputs_of(pp.simulate(model, 3), model, Observation(agents=range(100)))
    with pytest.raises(pp.errors.TooLargeError, match="observe more agents"):
        kalman(model, data)


def test_a_correlated_prior_needs_a_small_network() -> None:
    n = 2100
    model = pp.Model(pp.networks.cycle(n), np.zeros(n), noise=pp.Gaussian(1.0))
    data = outputs_of(pp.simulate(model, 3), model, Observation(agents=range(n - 1)))
    correlated = Prior(0.0, np.eye(n) + 0.1)
    with pytest.raises(pp.errors.TooLargeError, match="variances"):
        kalman(model, data, correlated)


@pytest.mark.parametrize("network", [pp.networks.cycle(130), pp.networks.erdos_renyi(130, 0.3, seed=1)], ids=repr)
@pytest.mark.parametrize("unseen", [0, 6, 65])
def test_the_cheaper_of_two_ways_is_taken_and_both_agree(
    network: pp.Network, unseen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = import_module("peerpressure.recovery._kalman")
    model = pp.Model(network, np.linspace(0, 1, 130), noise=pp.Gaussian(0.3))
    run, view = pp.simulate(model, 6, seed=2), Observation(agents=range(unseen, 130))
    taken: list[str] = []
    sparse_estimate = module.sparse_estimate

    def noted(*args: Any) -> Any:
        taken.append("sparse")
        return sparse_estimate(*args)

    monkeypatch.setattr(module, "sparse_estimate", noted)
    quick = recover(run, model, "kalman", view)
    assert taken == ["sparse"]
    monkeypatch.setattr(module, "is_quicker", lambda *_: False)
    slow = recover(run, model, "kalman", view)
    assert taken == ["sparse"]
    assert (quick.rank, quick.identified.tolist()) == (slow.rank, slow.identified.tolist())
    who = slow.identified
    np.testing.assert_allclose(quick.value[:, who], slow.value[:, who], atol=1e-8)
    np.testing.assert_allclose(quick.variance[who], slow.variance[who], rtol=1e-7)


def test_the_filter_is_taken_for_small_networks_and_where_digits_are_lost() -> None:
    noisy = pp.Gaussian(0.3)
    small = pp.Model(pp.networks.cycle(40), np.zeros(40), noise=noisy)
    fast = pp.Model(pp.networks.cycle(150), np.linspace(0, 1, 150), pressure=pp.Power(6), noise=noisy)
    usual = pp.Model(pp.networks.cycle(150), np.linspace(0, 1, 150), noise=noisy)
    frozen = pp.Model(pp.networks.cycle(150), np.zeros(150), noise=pp.Gaussian(0.3, temporal="frozen"))
    for model, quicker in ((small, False), (fast, False), (usual, True), (frozen, False)):
        data = outputs_of(pp.simulate(model, 100, record="all"), model)
        assert is_quicker(model, data) is quicker
