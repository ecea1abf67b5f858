"""Networks beyond the limits of dense matrices: the same results by sparse elimination and conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.privacy import exposure
from peerpressure.recovery import (
    Estimate,
    Observation,
    Prior,
    answers_of,
    information,
    kalman_filter,
    kalman_smoother,
    limits,
    recover,
)
from peerpressure.recovery._sparse_kalman import is_quicker
from peerpressure.recovery.least_squares import SymmetricOperator
from peerpressure.support.resources import Memory
from tests.builders import random_model
from tests.recovery.cases import FACTORS, STARTS, STEPS, VIEWS, extended, small_model, with_holes

PRIOR = Prior(0.2, 0.5)
FEW = 5  # agents of the largest network that has dense matrices
SOME = Observation(agents=range(25))


class Case(NamedTuple):
    """An estimate: the model, the method, and how the run is observed."""

    model: pp.Model
    method: str
    view: Observation | None = None
    prior: Prior | None = None
    target: Any = "initial"
    steps: int = 12
    gaps: float = 0.0

    def estimate(self) -> Estimate:
        run = pp.simulate(self.model, self.steps, 2, seed=1)
        return recover(with_holes(run, self.gaps), self.model, self.method, self.view, self.prior, self.target)


def thirty(start: str = "hidden", **parts: Any) -> pp.Model:
    given: dict[str, Any] = {"noise": pp.Gaussian(0.8), "start": "hidden" if start == "hidden" else np.ones(30)}
    return random_model(30, 4, **(given | parts))


GIVES_WAY: dict[str, Any] = {"adaptation": pp.Adaptation(0.1, np.linspace(0, 1, 30))}
CORRELATED: dict[str, Any] = {"noise": pp.Gaussian(0.7, temporal=pp.AR1(0.4))}
HEARD_ONCE: dict[str, Any] = {"adaptation": pp.Adaptation("1/t", FACTORS)}
# The first step of a star with ρ = 1/√(n − 1) is singular. The last agent of the path has forgotten x₀ by step 2.
SINGULAR = pp.Model(pp.networks.star(10), np.linspace(0, 1, 10), 1.0, pp.Constant(1 / 3), pp.Gaussian(1.0))
FORGETFUL = replace(
    SINGULAR, network=pp.networks.path(10), pressure=pp.Constant(1.0), adaptation=pp.Adaptation(1.0, [0.1] * 9 + [1.0])
)
# Leaves of a star that are not observed enter the outputs only through their sum; the end of a path is too far away.
STAR = pp.Model(pp.networks.star(12), np.linspace(0, 1, 12), noise=pp.Gaussian(0.5), start=np.zeros(12))
PATH = replace(STAR, network=pp.networks.path(12))

CASES: dict[str, Case] = {
    **{f"ols, {start} start": Case(thirty(start), "ols") for start in STARTS},
    **{f"ols, {noise}, {v}": Case(small_model(noise), "ols", VIEWS[v]) for noise in ("white", "frozen") for v in VIEWS},
    "ols, star": Case(replace(STAR, start="hidden"), "ols", Observation(agents=range(9))),
    **{f"innovations, {start} start": Case(thirty(start), "innovations") for start in STARTS},
    **{f"innovations, {start} start, prior": Case(thirty(start), "innovations", None, PRIOR) for start in STARTS},
    "innovations, adapting": Case(thirty(**CORRELATED, **GIVES_WAY), "innovations"),
    "innovations, adapting, prior": Case(thirty(**CORRELATED, **GIVES_WAY), "innovations", None, PRIOR),
    "innovations, singular": Case(SINGULAR, "innovations", steps=1),
    "innovations, forgetful": Case(FORGETFUL, "innovations", steps=4),
    **{
        f"innovations, current, {start} start": Case(thirty(start, **GIVES_WAY), "innovations", target="current")
        for start in STARTS
    },
    "elimination": Case(thirty(), "kalman", SOME),
    "elimination, gaps": Case(thirty(), "kalman", SOME, gaps=0.2),
    "elimination, prior": Case(thirty(), "kalman", SOME, PRIOR),
    "elimination, correlated": Case(thirty(**CORRELATED), "kalman", SOME),
    "elimination, correlated, prior": Case(thirty(**CORRELATED), "kalman", SOME, PRIOR),
    "elimination, adapting": Case(thirty(**GIVES_WAY), "kalman", SOME),
    "elimination, adapting at once": Case(extended("", "by agent", **HEARD_ONCE), "kalman", VIEWS["gaps"], PRIOR),
    "elimination, both": Case(extended("both", "by agent", "given"), "kalman", VIEWS["rounded"], gaps=0.2),
    "elimination, complete": Case(thirty(), "kalman"),
    "elimination, star": Case(STAR, "kalman", Observation(agents=[0, *range(4, 12)]), steps=4),
    "elimination, path": Case(PATH, "kalman", Observation(agents=range(5)), steps=4),
}


def as_if_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat networks of more than a few agents as too large for dense matrices and for the filter."""
    for name in ("DENSE_LIMIT", "FILTER_LIMIT"):
        monkeypatch.setattr(limits, name, FEW)


@pytest.mark.parametrize("name", CASES)
def test_large_networks_take_another_road_to_the_same_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = CASES[name]
    dense = case.estimate()
    as_if_large(monkeypatch)
    large = case.estimate()
    who, everyone = dense.identified, range(case.model.n)
    np.testing.assert_array_equal(large.identified, who)
    assert large.rank == dense.rank
    np.testing.assert_allclose(large.value[:, who], dense.value[:, who], atol=1e-6)
    np.testing.assert_allclose(large.variance_of(everyone), dense.variance, rtol=1e-6, atol=1e-12)
    # Estimated from random probes, and infinite for those who are not identified.
    np.testing.assert_allclose(large.variance, dense.variance, rtol=0.7, atol=1e-12)
    if case.method == "ols":
        assert "conjugate gradients" in str(large)
    if case.method == "kalman":
        assert np.isinf(large.condition) == np.isinf(dense.condition)


def test_the_rank_of_a_large_network_is_a_bound_where_much_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(replace(STAR, start="hidden"), "ols", Observation(agents=range(6)))
    dense = case.estimate()
    as_if_large(monkeypatch)
    large = case.estimate()
    np.testing.assert_array_equal(large.identified, dense.identified)
    assert (large.rank, dense.rank) == (6, 7)
    assert "rank is a lower bound" in large.note


@pytest.mark.parametrize("method", ["innovations", "kalman"])
@pytest.mark.parametrize("prior", [None, PRIOR], ids=["diffuse", "prior"])
def test_known_starts_of_some_in_a_large_network(
    prior: Prior | None, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = thirty()
    run = pp.simulate(model, 6, 2, seed=1)
    states = np.array(run.states)
    states[:, 0, ::3] = np.nan
    part, look = replace(run, states=states), Observation(sees_start=True)
    dense = recover(part, model, method, look, prior)
    as_if_large(monkeypatch)
    large = recover(part, model, method, look, prior)
    # A dense matrix of all agents would not fit in memory.
    assert isinstance(large.covariance, SymmetricOperator)
    assert large.rank == dense.rank == 30
    np.testing.assert_allclose(large.value, dense.value, atol=1e-9)
    np.testing.assert_allclose(large.covariance @ np.eye(30), dense.covariance @ np.eye(30), atol=1e-9)


@pytest.mark.parametrize(
    ("model", "steps"), [(thirty(), 10), (SINGULAR, 1), (FORGETFUL, 4)], ids=["thirty agents", "singular", "forgetful"]
)
def test_information_and_exposure_of_large_networks(
    model: pp.Model, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> tuple[Any, Any]:
        return information(model, steps), exposure(model, steps, prior=PRIOR).table

    (dense, dense_table), everyone = told(), range(model.n)
    as_if_large(monkeypatch)
    large, table = told()
    np.testing.assert_array_equal(large.identified, dense.identified)
    np.testing.assert_allclose(large.diagonal, dense.diagonal)
    np.testing.assert_allclose(large.matrix @ np.eye(model.n), dense.matrix @ np.eye(model.n), atol=1e-9)
    # Of one agent it is exact, of all together it is estimated from random probes.
    assert [large.of(agent) for agent in everyone] == pytest.approx([dense.of(agent) for agent in everyone])
    np.testing.assert_allclose(large.bound, dense.bound, rtol=0.7)
    for column in ("cramer_rao", "posterior_variance"):
        np.testing.assert_allclose(table[column], dense_table[column], rtol=1e-6)


@pytest.mark.parametrize("network", [pp.networks.cycle(130), pp.networks.erdos_renyi(130, 0.3, seed=1)], ids=repr)
@pytest.mark.parametrize("unseen", [0, 6, 65])
def test_elimination_is_taken_below_the_limit_where_it_is_cheaper(
    network: pp.Network, unseen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = pp.Model(network, np.linspace(0, 1, 130), noise=pp.Gaussian(0.3))
    run, view = pp.simulate(model, 6, seed=2), Observation(agents=range(unseen, 130))
    quick = recover(run, model, "kalman", view)
    monkeypatch.setattr("peerpressure.recovery._estimators.is_quicker", lambda *_: False)
    slow = recover(run, model, "kalman", view)
    assert (quick.rank, quick.identified.tolist()) == (slow.rank, slow.identified.tolist())
    who = slow.identified
    np.testing.assert_allclose(quick.value[:, who], slow.value[:, who], atol=1e-8)
    np.testing.assert_allclose(quick.variance[who], slow.variance[who], rtol=1e-7)
    # Two ways to the same numbers, which differ in the last digits.
    assert not np.array_equal(quick.variance[who], slow.variance[who])


def test_the_filter_is_taken_for_small_networks_and_where_digits_are_lost() -> None:
    noisy = pp.Gaussian(0.3)
    usual = pp.Model(pp.networks.cycle(150), np.linspace(0, 1, 150), noise=noisy)
    small = pp.Model(pp.networks.cycle(40), np.zeros(40), noise=noisy)
    frozen = replace(usual, noise=pp.Gaussian(0.3, temporal="frozen"))
    fast = replace(usual, pressure=pp.Power(6))
    for model, quicker in ((small, False), (fast, False), (usual, True), (frozen, False)):
        assert is_quicker(model, answers_of(pp.simulate(model, 100, record="all"), model)) is quicker


LITTLE = Observation(agents=[0, 1])
CORRELATED_PRIOR = Prior(0.0, np.eye(7) + 0.1)


def tried(method: str, noise: str | pp.noise.Noise = "white", *rest: Any, **parts: Any) -> Callable[[], object]:
    """Return an estimate of seven agents that is to be refused."""
    model = extended("", noise, **({"start": "given"} | parts))
    return lambda: recover(pp.simulate(model, STEPS), model, method, *rest)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "wls": (tried("wls"), "at most 5 agents, got 7"),
    "snapshot": (tried("snapshot"), "at most 5 agents, got 7"),
    "ols with a prior": (tried("ols", "white", None, PRIOR), "at most 5 agents, got 7"),
    "innovations of frozen noise": (tried("innovations", "frozen", start="hidden"), "at most 5 agents"),
    "innovations, correlated prior": (tried("innovations", "white", None, CORRELATED_PRIOR), "correlated prior"),
    "elimination, correlated prior": (tried("kalman", "white", LITTLE, CORRELATED_PRIOR), "variances"),
    "elimination of frozen noise": (tried("kalman", "frozen", LITTLE), "frozen"),
    "elimination without noise": (tried("kalman", pp.NoNoise(), LITTLE), "without noise"),
    "elimination, memory and adaptation": (tried("kalman", "ar1", LITTLE, adaptation=0.1), "adapt need white noise"),
    "too wide a front": (tried("kalman", "white", LITTLE), "observe more agents"),
    "current opinions": (tried("kalman", "white", LITTLE, None, "current", adaptation=0.1), "at most 5 agents, got 7"),
    "information": (lambda: information(small_model(), 5, LITTLE), "at most 5 agents, got 7"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_large_networks_do_not_have_is_refused_before_any_work(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    as_if_large(monkeypatch)
    monkeypatch.setattr(limits, "PARTIAL_LIMIT", FEW)
    if name == "too wide a front":
        monkeypatch.setattr(limits, "FRONT_LIMIT", 3)
    call, words = REFUSED[name]
    with pytest.raises(pp.errors.TooLargeError, match=words):
        call()


def test_beliefs_over_time_and_stacked_outputs_must_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.support.resources.free_memory", lambda: Memory(10**9))
    model = pp.Model(pp.networks.cycle(400), np.zeros(400), noise=pp.Gaussian(1.0))
    data = answers_of(pp.simulate(model, 400), model)
    for path in (kalman_filter, kalman_smoother):
        with pytest.raises(pp.errors.TooLargeError, match="kalman"):
            path(data, model)
    with pytest.raises(pp.errors.TooLargeError, match="kalman"):
        recover(data, model, "gls")
