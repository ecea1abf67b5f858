"""Directed, disconnected and signed networks: every statement of the theory against a recursion of its own."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.networks import chain
from peerpressure.sde import SDE
from peerpressure.theory import (
    LimitKind,
    Outcome,
    _class_limits,
    _limit_operator,
    consensus_limit,
    consensus_mode,
    consensus_rate,
    diagnose,
    influence,
    moments,
)
from tests.general_networks import MATRICES, Array, model, step
from tests.networks.test_directed import signed_parts
from tests.theory.laws import law_of_public, mean_after, mean_path
from tests.theory.reasons import codes, known, values


def stationary_law(A: Array) -> Array:
    """Return π with π D⁻¹A = π by the eigenvector, where it is unique."""
    P = A / A.sum(axis=1)[:, None]
    eigenvalues, vectors = np.linalg.eig(P.T)
    pi = np.real(vectors[:, np.argmin(np.abs(eigenvalues - 1))])
    return np.asarray(pi / pi.sum())


@pytest.mark.parametrize("kind", ["strong", "period 3"])
def test_value_and_kappa_of_one_class(kind: str) -> None:
    one, A = model(kind), MATRICES[kind]
    w = stationary_law(A) * one.s / A.sum(axis=1)
    assert math.isclose(one.consensus_value, w @ one.x0 / w.sum(), rel_tol=1e-12)
    assert math.isclose(one.kappa, w.sum(), rel_tol=1e-12)
    np.testing.assert_allclose(influence(one), w / w.sum(), atol=1e-14)
    np.testing.assert_allclose(consensus_mode(one).weights, stationary_law(A), atol=1e-14)
    # The undirected formula would say something else.
    assert abs(one.consensus_value - one.s @ one.x0 / one.s.sum()) > 0.05
    far = replace(one, pressure=pp.Linear(one.kappa / 2))
    error = [np.abs(mean_after(far, T) - one.consensus_value).max() for T in (1_000, 4_000)]
    assert error[1] < 5e-3
    assert error[1] < 0.3 * error[0]
    assert diagnose(far).outcome is Outcome.CONSENSUS
    assert pp.Linear.tuned(one.network, one.s).slope == pytest.approx(one.kappa)


def test_the_mode_moves_only_by_what_agents_think() -> None:
    one, A, rng = model("strong"), MATRICES["strong"], np.random.default_rng(1)
    pi, w, y = stationary_law(A), stationary_law(A) * one.s / A.sum(axis=1), one.x0
    for t in range(1, 200):
        xi = one.x0 + rng.normal(size=one.n)
        g, C = step(A, one.s, 0.3 * t)
        now = g * xi + C @ y
        assert abs(pi @ now - pi @ y - w @ (xi - now) / (0.3 * t)) < 1e-14
        y = now


@pytest.mark.parametrize("kind", ["strong", "period 3"])
@pytest.mark.parametrize("r", [0.4, 2.0])
def test_rates_of_the_bias(kind: str, r: float) -> None:
    one = model(kind)
    one = replace(one, pressure=pp.Linear(one.kappa / r))
    pi, law = consensus_mode(one).weights, consensus_rate(one).bias
    assert law is not None
    assert law.exponent == pytest.approx(min(r, 1.0))
    bias = [float(pi @ mean_after(one, T) - one.consensus_value) for T in (2_000, 8_000)]
    assert math.log(bias[0] / bias[1], 4) == pytest.approx(law.exponent, abs=0.03)
    if r == 2.0:
        assert bias[1] * 8_000 == pytest.approx(known(law.constant), rel=0.05)


@pytest.mark.parametrize("r", [0.75, 1.0, 2.0])
def test_variance_of_the_mode(r: float) -> None:
    one = model("strong", noise=pp.Gaussian(0.6))
    one, T = replace(one, pressure=pp.Linear(one.kappa / r)), 600
    pi, law, w = stationary_law(MATRICES["strong"]), consensus_rate(one).variance, influence(one)
    assert law is not None
    assert law.constant == pytest.approx(r**2 * 0.36 * (w @ w) / (2 * r - 1))
    assert T * float(pi @ law_of_public(one, T)[1] @ pi) == pytest.approx(law.constant, rel=0.03 if r > 0.8 else 0.2)


def test_adaptation_on_a_directed_network() -> None:
    eta = np.linspace(0.05, 0.5, 9)
    one = model("strong", pressure=3.0, start=0.2, adaptation=pp.Adaptation(1.0, eta))
    A = MATRICES["strong"]
    w = stationary_law(A) * one.s / A.sum(axis=1)
    expected = (0.2 + (w / (3 * eta)) @ one.x0) / (1 + (w / (3 * eta)).sum())
    np.testing.assert_allclose(mean_after(one, 3_000), expected, atol=1e-12)
    assert consensus_limit(one).mean == pytest.approx(expected, abs=1e-9)
    assert diagnose(one).agrees


def test_a_period_of_three_rotates_under_fast_pressure() -> None:
    one = model("period 3", pressure=pp.Power(2))
    path = mean_path(one, 3_003)[0]
    assert np.abs(path[-3] - path[-4]).max() > 0.05
    assert np.abs(path[-1] - path[-4]).max() < 1e-5
    verdict = diagnose(one)
    assert verdict.outcome is Outcome.PERIODIC
    assert values(verdict, "rotating_phases") == {"period": 3}
    # In continuous time nothing rotates.
    assert diagnose(SDE(one)).outcome is Outcome.BIASED_CONSENSUS
    # Nor does it where all phases have the same opinions.
    assert diagnose(replace(one, hidden=np.ones(8))).outcome is Outcome.CONSENSUS


@pytest.mark.parametrize("adaptation", [None, 0.1])
@pytest.mark.parametrize("pressure", [pp.Linear(0.2), pp.Power(2)])
def test_several_classes_and_those_between(pressure: Any, adaptation: float | None) -> None:
    one = model("two classes", pressure=pressure, adaptation=adaptation)
    verdict = diagnose(one)
    assert verdict.outcome is Outcome.DISAGREEMENT
    np.testing.assert_allclose(known(verdict.limits), mean_after(one, 20_000), atol=5e-3)
    assert [found.agents.size for found in verdict.classes] == [4, 3]
    if adaptation is not None:
        return
    assert values(verdict, "transient_agents")["agents"] == 4
    # Opinions of transient agents do not count.
    moved = np.where(np.arange(11) < 7, one.x0, one.x0 + 10)
    other = diagnose(replace(one, hidden=moved))
    np.testing.assert_allclose(known(other.limits), known(verdict.limits), atol=2e-3 * 13)
    assert influence(one)[7:].tolist() == [0.0] * 4


def test_a_periodic_class_makes_those_who_hear_it_swing() -> None:
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 2] = A[2, 0] = A[3, 0] = A[3, 4] = A[4, 3] = 1.0
    one = pp.Model(pp.Network(A, directed=True), [0.0, 1, 3, 0, 0], pressure=pp.Power(2))
    path = mean_path(one, 2_003)[0]
    assert np.abs(path[-3] - path[-4])[3:].max() > 0.05
    assert diagnose(one).outcome is Outcome.PERIODIC
    assert diagnose(replace(one, pressure=pp.Linear())).outcome is Outcome.CONSENSUS


def test_camps_and_their_opposite_values() -> None:
    one = model("balanced", pressure=pp.Power(0.5))
    camps, verdict = one.network.camps, diagnose(one)
    assert verdict.outcome is Outcome.BIPARTITE
    np.testing.assert_allclose(one.consensus_state, camps * one.consensus_value, atol=1e-14)
    np.testing.assert_allclose(mean_after(one, 8_000), one.consensus_state, atol=0.05)
    fast = replace(one, pressure=pp.Power(2))
    assert diagnose(fast).outcome is Outcome.BIPARTITE
    np.testing.assert_allclose(mean_after(fast, 3_000), camps * consensus_limit(fast).mean, atol=2e-3)


def test_without_balance_everybody_comes_to_zero() -> None:
    for kind in ("unbalanced", "signed, undirected"):
        one, d = model(kind, pressure=pp.Power(2)), np.abs(MATRICES[kind]).sum(axis=1)
        assert diagnose(one).outcome is Outcome.NEUTRAL
        assert np.abs(np.linalg.eigvals(MATRICES[kind] / d[:, None])).max() < 1
    expected = np.linalg.solve(np.diag(d) - MATRICES[kind], one.s * one.x0)
    np.testing.assert_allclose(3_000.0**2 * mean_after(one, 3_000), expected, rtol=0.1, atol=0.3)
    assert diagnose(model("unbalanced", adaptation=0.1)).outcome is Outcome.NEUTRAL


def test_distrust_on_a_cycle_rotates_under_fast_pressure() -> None:
    A = np.array([[0.0, 1.0], [-1.0, 0.0]])
    one = pp.Model(pp.Network(A, directed=True, signed=True), [1.0, 0.2], pressure=pp.Power(2))
    path = mean_path(one, 2_004)[0]
    np.testing.assert_allclose(path[-3], -path[-5], atol=1e-5)
    assert np.abs(path[-1]).max() > 0.1
    assert diagnose(one).outcome is Outcome.PERIODIC
    assert diagnose(replace(one, pressure=pp.Linear())).outcome is Outcome.NEUTRAL
    # With signs the cycle has period 4, and this pressure period 2.
    assert diagnose(replace(one, pressure="t*(1.5+cos(pi*t))")).outcome is Outcome.UNKNOWN  # type: ignore[arg-type]


def test_what_is_not_covered_is_unknown() -> None:
    growing = diagnose(model("two classes", noise=pp.Gaussian(1.0, time_scale=pp.Power(0.6))))
    assert growing.outcome is Outcome.UNKNOWN
    assert "not_covered" in codes(growing)
    fading = diagnose(model("unbalanced", adaptation=pp.Adaptation(pp.Power(-1.0, 0.5))))
    assert fading.outcome is Outcome.UNKNOWN
    assert fading.reasons[-1].code == "not_covered"
    for kind in ("two classes", "unbalanced", "strong"):
        verdict = diagnose(model(kind, pressure=[1.0, 2.0, 3.0]), 3)
        assert verdict.outcome is Outcome.UNKNOWN
        assert "unknown_growth" in codes(verdict)


def test_isolated_agents_keep_showing_their_noise() -> None:
    pieces = pp.Network.from_edges([(0, 1), (1, 2), (0, 2)], n=4)
    one = pp.Model(pieces, [0.0, 1.0, 2.0, 5.0])
    assert diagnose(one).outcome is Outcome.CLUSTERS
    noisy = diagnose(replace(one, noise=pp.Gaussian(0.5)))
    assert noisy.outcome is Outcome.DISAGREEMENT
    np.testing.assert_allclose(known(noisy.limits), [1.0, 1.0, 1.0, 5.0])
    fading = replace(one, noise=pp.Gaussian(0.5, time_scale=pp.Power(-0.5)))
    assert diagnose(fading).outcome is Outcome.CLUSTERS


# Equal stubbornness and degrees, where the mean over all components is conserved whatever each of them does.
TRIANGLES: Array = np.asarray(np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3)), dtype=np.float64)


@pytest.mark.parametrize(
    ("hidden", "start", "pressure", "outcome"),
    [
        ([0.6, 0.2, 0.1, 0.0, 0.8, 0.9], "hidden", pp.Power(2), Outcome.CLUSTERS),
        ([0.5] * 6, [0.6, 0.8, -0.8, -0.5, -0.4, -0.7], pp.Power(2), Outcome.CLUSTERS),
        ([0.5] * 6, [0.6, 0.8, -0.8, -0.5, -0.4, -0.7], pp.Power(0.5), Outcome.CONSENSUS),
        ([0.0, 1.0, 1.0, 1.0, 0.0, 1.0], 0.0, pp.Power(0.5), Outcome.CONSENSUS),
        ([0.0, 1.0, 1.0, 1.0, 0.0, 1.0], 0.0, pp.Power(2), Outcome.BIASED_CONSENSUS),
        ([0.0, 1.0, 1.0, 1.0, 0.0, 0.0], 0.0, pp.Power(0.5), Outcome.CLUSTERS),
    ],
)
def test_components_agree_only_if_their_values_do(hidden: Any, start: Any, pressure: Any, outcome: Outcome) -> None:
    one = pp.Model(pp.Network(TRIANGLES), hidden, pressure=pressure, start=start)
    verdict, y = diagnose(one), mean_after(one, 20_000)
    assert verdict.outcome is outcome
    assert (np.ptp(y) < 0.01) == verdict.agrees
    if verdict.limits is not None:
        np.testing.assert_allclose(y, verdict.limits, atol=0.01)


def test_agents_who_follow_nobody_may_be_many() -> None:
    """Accounts that follow nobody are closed classes of one agent each, by the thousands on real networks."""
    rng = np.random.default_rng(3)
    sources, followers = 1_500, 500
    A = np.zeros((sources + followers, sources + followers))
    for i in range(sources, sources + followers):
        A[i, rng.choice(sources, size=3, replace=False)] = 1.0
    one = pp.Model(pp.Network(A, directed=True), rng.uniform(0, 1, len(A)))
    verdict = diagnose(one)
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert values(verdict, "closed_classes")["single"] == sources
    np.testing.assert_allclose(known(verdict.limits)[:sources], one.x0[:sources])
    np.testing.assert_allclose(known(verdict.limits)[sources:], A[sources:] @ one.x0 / 3, rtol=1e-12)


def test_too_many_classes_are_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_class_limits, "MOST_CLASSES", 1)
    monkeypatch.setattr(_limit_operator, "MOST_STATES", 6)
    verdict = diagnose(pp.Model(pp.Network(TRIANGLES), np.arange(6.0)))
    assert verdict.outcome is Outcome.UNKNOWN
    assert values(verdict, "too_large")["classes"] == 2
    assert "up to 1 closed classes" in verdict.reason


def random_matrix(rng: np.random.Generator) -> Array:
    n = int(rng.integers(3, 7))
    A = np.where(rng.random((n, n)) < rng.choice([0.15, 0.3, 0.6]), rng.uniform(0.3, 2.0, (n, n)), 0.0)
    if rng.random() < 0.3:
        A = np.triu(A) + np.triu(A).T
    signs = rng.choice([1.0, -1.0], n)
    kind = rng.choice(["plain", "balanced", "any"])
    A *= np.outer(signs, signs) if kind == "balanced" else 1.0
    A *= rng.choice([1.0, -1.0], A.shape) if kind == "any" and not np.array_equal(A, A.T) else 1.0
    np.fill_diagonal(A, 0.0)
    return np.asarray(A)


@pytest.mark.parametrize("seed", range(20))
def test_random_networks_come_to_where_the_recursion_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    A = random_matrix(rng)
    n = int(A.shape[0])
    network = pp.Network(A, directed=True, signed=True)
    one = pp.Model(network, rng.uniform(-1, 1, size=n), rng.uniform(0.3, 2.0, size=n), pressure=pp.Power(0.5))
    L = np.diag(np.abs(A).sum(axis=1)) - A
    limit = np.linalg.solve(np.diag(one.s) + 1e7 * L, one.s * one.x0)
    np.testing.assert_allclose(one.consensus_state, limit, atol=1e-4)
    verdict = diagnose(one, 30, advise=False)
    assert verdict.agrees == (np.ptp(limit) < 1e-4)
    if verdict.outcome is Outcome.BIPARTITE:
        assert np.ptp(np.abs(limit)) < 1e-4
    if verdict.limits is not None:
        np.testing.assert_allclose(verdict.limits, limit, atol=1e-4)
    fast = replace(one, pressure=pp.Power(3))
    judged, path = diagnose(fast), mean_path(fast, 201)[0]
    swing = np.abs(path[-1] - path[-2]).max()
    cyclic = judged.outcome in (Outcome.PERIODIC, Outcome.OSCILLATION)
    assert cyclic == (swing > 1e-3), (judged.outcome, swing)
    if not cyclic:
        assert judged.agrees == (np.ptp(path[-2]) < 1e-3)
        if judged.limits is not None:
            np.testing.assert_allclose(judged.limits, path[-2], atol=5e-3)


def test_zealots_draw_all_others_to_mixtures_of_their_opinions() -> None:
    rng = np.random.default_rng(3)
    network = pp.networks.watts_strogatz(12, 4, 0.3, seed=1)
    s, x = rng.uniform(0.5, 1.5, 12), rng.uniform(size=12)
    s[[2, 7]] = np.inf
    A = network.adjacency.toarray()
    U, Z = np.setdiff1d(np.arange(12), [2, 7]), np.array([2, 7])
    L = np.diag(A.sum(axis=1)) - A
    expected = np.linalg.solve(L[np.ix_(U, U)], A[np.ix_(U, Z)] @ x[Z])
    for pressure, error in ((pp.Linear(), 2e-2), (pp.Power(2), 1e-3)):
        one = pp.Model(network, x, s, pressure)
        assert one.network.directed
        np.testing.assert_allclose(one.consensus_state[U], expected, atol=1e-13)
        y, finite = x, np.where(np.isinf(s), 1.0, s)
        for t in range(1, 1_001):
            rho = float(pressure(t))
            y = np.where(np.isinf(s), x, (finite * x + rho * (A @ y)) / (finite + rho * A.sum(axis=1)))
        np.testing.assert_allclose(y, one.consensus_state, atol=error)
        run = pp.simulate(one, 1_000, record="final").final.public[0]
        np.testing.assert_allclose(run, y, atol=1e-12)
        verdict = diagnose(one)
        assert verdict.outcome is Outcome.DISAGREEMENT
        np.testing.assert_allclose(known(verdict.limits), one.consensus_state, atol=1e-12)
    alone = pp.Model(network, x, np.where(np.arange(12) == 2, np.inf, 1.0))
    assert diagnose(alone).outcome is Outcome.CONSENSUS
    assert alone.consensus_value == x[2]


def test_pressure_on_each_agent_divides_its_stubbornness() -> None:
    rng = np.random.default_rng(4)
    A, s, x, b = MATRICES["strong"], rng.uniform(0.5, 1.5, 9), rng.uniform(size=9), rng.uniform(0.2, 3.0, 9)
    one = pp.Model(pp.Network(A, directed=True), x, s, pp.Power(0.5), susceptibility=b)
    y = x
    for t in range(1, 2_001):
        rho = b * math.sqrt(t)
        y = (s * x + rho * (A @ y)) / (s + rho * A.sum(axis=1))
    np.testing.assert_allclose(mean_after(one, 2_000), y, atol=1e-12)
    w = stationary_law(A) * s / b / A.sum(axis=1)
    assert one.consensus_value == pytest.approx(w @ x / w.sum())
    zealot = pp.Model(one.network, x, s, susceptibility=np.where(np.arange(9) == 4, 0.0, b))
    assert zealot.consensus_value == pytest.approx(x[4])
    with pytest.raises(pp.errors.ModelError, match="susceptibility must not be negative, got -1 at agent 0; 0 is"):
        pp.Model(one.network, x, susceptibility=[-1.0] + [1.0] * 8)


def test_words_name_influence_and_own_limits() -> None:
    # The first two listen to each other, the third to the first: its opinion does not count.
    one = pp.Model(pp.Network([[0, 1, 0], [1, 0, 0], [1, 0, 0]], directed=True), hidden=[0.0, 0.4, 1.0])
    words = diagnose(one, 20, advise=False).answer(200)
    assert "0.2, the influence-weighted mean of hidden opinions" in words
    assert "of v " in words
    two = pp.Network(
        [[0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 1, 0, 0]], directed=True
    )
    verdict = diagnose(pp.Model(two, hidden=[0.1, 0.3, 0.9, 0.5, 0.2]), 50, advise=False)
    assert verdict.forecast is not None
    assert verdict.forecast.own_limits
    assert known(verdict.forecast.settling).own_limits
    words = verdict.answer(200)
    assert "closed classes" in words
    assert "0.2, 0.7" in words
    for text in (words, verdict.explain()):
        assert "of own limits" in text
        assert "v" not in text.split()


PAIRS = pp.Network([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
BETWEEN = pp.Network.from_edges([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (6, 0), (6, 3)], directed=True)


DRIFTING = {
    "two pairs": (pp.Model(PAIRS, [0.0, 1.0, 2.0, 4.0], pressure="0.3*t"), "(1 + t)^0.2", Outcome.CLUSTERS),
    "two classes": (pp.Model(BETWEEN, np.arange(7.0)), "t", Outcome.DISAGREEMENT),
    "one class": (pp.Model(pp.networks.cycle(5), np.arange(5.0)), "t", Outcome.DISAGREEMENT),
    "some": (pp.Model(pp.networks.cycle(5), np.arange(5.0), activation=0.3), "t", Outcome.DISAGREEMENT),
    "bounded": (pp.Model(pp.networks.cycle(5), np.arange(5.0), pressure=2.0), "(1 + t)^0.2", Outcome.DISAGREEMENT),
}


@pytest.mark.parametrize("name", DRIFTING)
def test_one_draw_of_noise_that_grows_moves_agents_ever_further_in_its_direction(name: str) -> None:
    quiet, scale, outcome = DRIFTING[name]
    one = replace(quiet, noise=pp.Gaussian(0.4, time_scale=scale, temporal="frozen"))
    verdict = diagnose(one)
    assert verdict.outcome is outcome
    assert set(verdict.law.kinds) == {LimitKind.DRIFTS}
    assert np.all(np.isinf(verdict.law.std))
    assert "move ever further" in str(verdict)
    early, late = moments(one, 1_600, times=[50, 1_600]).std
    assert np.all(late > 1.5 * early)


@pytest.mark.parametrize("seed", range(20))
def test_classes_of_symmetric_signed_networks_are_those_of_the_cover(seed: int) -> None:
    network = signed_parts(seed)
    expected = _class_limits._classes_of_cover(network.adjacency, network.n)
    found = _class_limits.recurrent_classes(network)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.agents, other.agents)
        np.testing.assert_array_equal(one.camp, other.camp)
        assert (one.period, one.neutral, one.periodic) == (other.period, other.neutral, other.periodic)


def test_a_large_network_with_zealots_takes_one_linear_solve(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    solved = chain._solved

    def watched(*given: Any) -> Array:
        calls.append(1)
        return solved(*given)

    monkeypatch.setattr(chain, "_solved", watched)
    s = np.ones(3_000)
    s[[5, 900, 2_000]] = np.inf
    x = np.random.default_rng(0).uniform(size=3_000)
    verdict = diagnose(pp.Model(pp.networks.watts_strogatz(3_000, 6, 0.1, seed=1), x, s, noise=0.1), 40)
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert verdict.forecast is not None
    assert len(calls) == 1


@pytest.mark.parametrize(("decay", "moving"), [(-0.75, LimitKind.RANDOM_LIMIT), (-0.5, LimitKind.WALKS)])
def test_components_that_adapt_come_to_rest_as_noise_fades(decay: float, moving: LimitKind) -> None:
    """Under bounded pressure, each component by itself; one with an opinion that never moves ends there."""
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = 1 - np.eye(3), 1 - np.eye(3)
    noise = pp.Gaussian(1.0, time_scale=pp.Power(decay))
    for still in (False, True):
        weights = np.where(np.arange(6) == 0, 0.0, 1.0) if still else 1.0
        adaptation = pp.Adaptation(0.3, weights)
        one = pp.Model(pp.Network(A), np.linspace(0, 1, 6), pressure=0.5, noise=noise, adaptation=adaptation)
        verdict = diagnose(one)
        assert verdict.outcome is Outcome.CLUSTERS
        assert verdict.law.kind.tolist() == [LimitKind.CONVERGES if still else moving] * 3 + [moving] * 3
        # Differences within components vanish, and so does what the first one remembers of noise.
        run = pp.simulate(one, 4_000, 50, seed=1)
        assert run.states is not None
        within = [
            float(np.ptp(run.states[:, t, part], axis=1).mean())
            for t in (100, 4_000)
            for part in (range(3), range(3, 6))
        ]
        assert within[2] < 0.2 * within[0]
        assert within[3] < 0.2 * within[1]
        spread = run.states[:, -1].std(axis=0)
        assert (spread[3:] > 0.1).all()
        assert (spread[:3] > 0.1).all() or (still and (spread[:3] < 0.03).all())


@pytest.mark.parametrize("pressure", [2.0, "1.5*(1 + 2*t)/(1 + t)"])
@pytest.mark.parametrize("still", [(0,), (0, 3)])
def test_frozen_noise_about_an_opinion_that_never_moves_has_a_limit(pressure: float | str, still: tuple[int]) -> None:
    """Under bounded pressure that has one, each component by itself; without such an opinion it drifts."""
    A = np.zeros((6, 6))
    A[:3, :3], A[3:, 3:] = 1 - np.eye(3), 1 - np.eye(3)
    weights = np.where(np.isin(np.arange(6), still), 0.0, 1.0)
    noise, adaptation = pp.Gaussian(0.4, temporal="frozen"), pp.Adaptation(0.5, weights)
    model = pp.Model(pp.Network(A), np.linspace(0, 1, 6), pressure=pressure, noise=noise, adaptation=adaptation)
    law, held = diagnose(model).law, 3 * len(still)
    assert law.kind.tolist() == [LimitKind.RANDOM_LIMIT] * held + [LimitKind.DRIFTS] * (6 - held)
    run = pp.simulate(model, 4_000, 200, seed=1)
    assert run.states is not None
    moves = np.abs(run.states[:, -1] - run.states[:, -2]).max(axis=0)
    assert (moves[:held] < 1e-6).all()
    assert (moves[held:] > 1e-3).all()
    moving = pp.diagnose(replace(model, pressure=pp.schedules.Formula("1 + 2*(t - 3*floor(t/3))"))).law
    assert LimitKind.RANDOM_LIMIT not in moving.kind.tolist()
