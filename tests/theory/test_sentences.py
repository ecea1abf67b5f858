"""Sentences of a verdict against recursions: what each reason claims, and its numbers to the printed digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure import SDE, Adaptation, Gaussian, Model, Network, Power, TemporalNetwork, diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import (
    barabasi_albert,
    complete,
    cycle,
    edge_markovian,
    failing_edges,
    gossip,
    k2,
    path,
    star,
)
from peerpressure.noise import AR1, Laplace
from peerpressure.schedules import Table
from peerpressure.theory import ReasonCode, Regime, Verdict, consensus_mode, moments
from tests.theory.changing import CHANGING, in_rounds, mean_path
from tests.theory.exact import exact_law
from tests.theory.reasons import codes, values

Array = NDArray[np.float64]
Check = Callable[[Any, Mapping[str, Any]], None]
FROZEN = Gaussian(0.3, temporal="frozen")
PAIRS = Network([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
HERALDS = Network([[0, 1, 1], [0, 0, 0], [0, 0, 0]], directed=True)
CIRCLE = Network([[0, 1, 0], [0, 0, 1], [1, 0, 0]], directed=True)
TURNS = Network([[0, 1, 1], [0, 0, 1], [1, 0, 0]], directed=True)
TWO_CIRCLES = Network(np.kron(np.eye(2), CIRCLE.adjacency.toarray()), directed=True)
DIVIDED = Network([[0, -1, 0, 0], [-1, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 0]], signed=True, directed=True)
MIXED = Network([[0, 1, 0, 0, 0], [2, 0, 0, 0, 0], [0, 0, 0, 1, 0], [0, 0, 1, 0, 0], [1, 0, 2, 0, 0]], directed=True)
MIXED_HIDDEN = [0.0, 1.0, 5.0, 3.0, 9.0]
ENEMIES = Network([[0, -1], [-1, 0]], signed=True)
RIVALS = Network([[0, 1, -1], [1, 0, -2], [-1, -2, 0]], signed=True)
QUARREL = Network([[0, -1, 1], [-1, 0, 1], [1, 1, 0]], signed=True)
SIX = [0.0, 1.0, 2.0, 3.0, 4.0, 10.0]
TRIANGLES = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
LINE = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
RISING = Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")
ODD: dict[str, Any] = {"hidden": [0.0, 1.0, 2.0, 6.0], "stubbornness": [1.0, 2.0, 3.0, 4.0]}
# Three digits, as most numbers are printed.
DIGITS = 5e-3


def state(model: Model, steps: int) -> Array:
    """Return the mean public opinions, by the affine recursion."""
    y = model.start_state.copy()
    A, weight = model.network.adjacency.toarray(), np.abs(model.network.adjacency.toarray()).sum(axis=1)
    for rho in model.pressure(np.arange(1, steps + 1)):
        y = (model.s * model.x0 + rho * (A @ y)) / (model.s + rho * weight)
    return np.asarray(y)


def limit(model: Model, steps: int = 2_000) -> Array:
    """Return where a recursion ends that approaches its limit like 1/t, from two horizons of the same parity."""
    return np.asarray(2 * state(model, 2 * steps) - state(model, steps))


def spread(model: Model, steps: int) -> Array:
    """Return the standard deviations of the public opinions."""
    return np.sqrt(np.diag(exact_law(model, steps)[1]))[: model.n]


def mode_std(model: Model, steps: int) -> float:
    """Return the standard deviation of the consensus mode, whose weights are written out: d/Σd."""
    d = model.network.degrees
    return float(moments(model, steps, of=d / d.sum()).std[-1, 0])


def cycling(model: Model, found: Mapping[str, Any]) -> None:
    cycle = mean_path(model, 600)[0][-found["period"] :]
    assert [cycle.min(), cycle.max()] == pytest.approx([found["low"], found["high"]], rel=DIGITS)
    assert np.ptp(cycle, axis=0).max() > 0.01


def spanning(model: Model, found: Mapping[str, Any]) -> None:
    late = mean_path(model, 4_000)[0][-1]
    assert [late.min(), late.max()] == pytest.approx([found["low"], found["high"]], rel=DIGITS)


def settling_at_random(model: Model, found: Mapping[str, Any]) -> None:
    early, late = moments(model, 2_000, times=[1_000, 2_000]).std
    assert late.max() == pytest.approx(found["high"], rel=DIGITS)
    np.testing.assert_allclose(early, late, atol=1e-3)
    assert np.count_nonzero(late > 1e-3) == found["agents"]


def moving(model: Model, found: Mapping[str, Any]) -> None:
    late = moments(model, 800).std[-1]
    assert late.max() == pytest.approx(found["high"], rel=DIGITS)
    assert np.count_nonzero(late > 0.05) == found["agents"]


def unbounded_by(power: float) -> Check:
    """Return the check that variances of the agents who are counted grow like a power of t."""

    def check(model: Model, found: Mapping[str, Any]) -> None:
        early, late = moments(model, 4_000, times=[2_000, 4_000]).variance
        grows = late > 1.5 * early
        assert np.count_nonzero(grows) == found["agents"]
        np.testing.assert_allclose((late / early)[grows], 2**power, rtol=0.03)

    return check


def all_on_v(model: Model, found: Mapping[str, Any]) -> None:
    early, late = (np.abs(state(model, T) - found["v"]).max() for T in (100, 4_000))
    assert late < 0.1 * early < 0.1


def start_kept(model: Model, found: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    assert np.abs(state(other, 4_000) - state(model, 4_000)).min() > 0.01


def all_on_mean(model: Model, found: Mapping[str, Any]) -> None:
    np.testing.assert_allclose(limit(model), found["mean"], atol=found.get("error", 0.0) + 1e-5)
    assert model.consensus_value == pytest.approx(found["v"])


def odd_cycle(model: Model, found: Mapping[str, Any]) -> None:
    assert np.ptp(state(model, 4_000)) < 1e-3


def rotating(model: Model, found: Mapping[str, Any]) -> None:
    path = [state(model, 3_000 + k) for k in range(found["period"] + 1)]
    np.testing.assert_allclose(path[0], path[-1], atol=1e-6)
    assert all(np.abs(path[0] - other).max() > 0.01 for other in path[1:-1])


def two_phases(model: Model, found: Mapping[str, Any]) -> None:
    # Steps of equal parity, as the phases alternate.
    even, odd = (2 * state(model, 4_000 + k) - state(model, 2_000 + k) for k in (0, 1))
    sides = model.network.sides
    assert sides is not None
    for now, then in ((even, odd), (odd, even)):
        assert np.ptp(now[sides]) < 1e-3
        np.testing.assert_allclose(now[sides], then[~sides][0], atol=1e-3)
    np.testing.assert_allclose(
        sorted([even[0], odd[0]]), sorted([found["first"], found["second"]]), atol=1e-5 + found["error"]
    )


def phases_of_camps(model: Model, found: Mapping[str, Any]) -> None:
    path = np.stack([state(model, 4_000), state(model, 4_001)])
    first, second = (np.sort(path[:, model.network.camps == camp], axis=0) for camp in (1, -1))
    np.testing.assert_allclose(first.T, [sorted([found["first"], found["second"]])], atol=1e-3)
    np.testing.assert_allclose(second.T, [sorted([found["opposite_first"], found["opposite_second"]])], atol=1e-3)


def opposite_camps(model: Model, found: Mapping[str, Any]) -> None:
    late = model.network.camps * state(model, 4_000)
    assert np.ptp(late) < 0.01 * np.abs(late).max()
    assert (found["first"], found["second"]) == tuple(np.count_nonzero(model.network.camps == c) for c in (1, -1))


def class_values(model: Model, found: Mapping[str, Any]) -> None:
    (agents, *_) = model.network.closed_classes
    np.testing.assert_allclose(np.abs(limit(model)[agents]), abs(found["mean"]), atol=5e-4 * abs(found["mean"]) + 1e-5)
    assert found["agents"] == agents.size
    if found["std"]:
        np.testing.assert_allclose(spread(model, 2_000)[agents], found["std"], rtol=2e-2)


def class_unbounded(model: Model, found: Mapping[str, Any]) -> None:
    (agents, *_) = model.network.closed_classes
    stds = [spread(model, steps)[agents] for steps in (20, 200, 2_000)]
    # 1 + log t grows by log 10 in a decade, and the deviation with it.
    assert np.all(np.diff(stds, axis=0) > 0.4 * 0.3 / math.sqrt(agents.size))
    np.testing.assert_allclose(np.abs(limit(model)[agents]), abs(found["mean"]), atol=1e-4)
    # Camps are spoken of where there are any.
    assert bool(found["camps"]) == model.network.signed


def on_zero(model: Model, found: Mapping[str, Any]) -> None:
    assert np.abs(state(model, 100)).max() > 0.01
    np.testing.assert_allclose(limit(model), 0.0, atol=1e-5)


def others_follow(model: Model, found: Mapping[str, Any]) -> None:
    outside = np.setdiff1d(np.arange(model.n), np.concatenate(model.network.closed_classes))
    late = limit(model)[outside]
    np.testing.assert_allclose([late.min(), late.max()], [found["low"], found["high"]], rtol=5e-5)
    moved = Model(model.network, model.x0 + np.isin(np.arange(model.n), outside), model.s, model.pressure)
    np.testing.assert_allclose(limit(moved)[outside], late, atol=1e-4)
    assert found["agents"] == outside.size


def silent_noise(model: Model, found: Mapping[str, Any]) -> None:
    silent = model.network.degrees == 0
    np.testing.assert_allclose(spread(model, 500)[silent], model.noise.deviations(model.n)[silent])
    assert found["agents"] == np.count_nonzero(silent)


def averages(model: Model, found: Mapping[str, Any]) -> None:
    times = np.array([800, 3_200])
    early, late = (mode_std(model, T) for T in times.tolist())
    # The variance falls like σ_t²/ρ_t.
    share = model.noise.scale(times.astype(float)) ** 2 / model.pressure(times.astype(float))
    assert late / early == pytest.approx(float(np.sqrt(share[1] / share[0])), rel=0.02)
    assert bool(found["scale"]) == bool(np.ptp(model.noise.scale(np.arange(1.0, 9.0))))
    weights = model.s / model.s.sum()
    assert found["sigma"] == pytest.approx(np.linalg.norm(weights * model.noise.deviations(model.n)), rel=DIGITS)


def averages_slowly(model: Model, found: Mapping[str, Any]) -> None:
    averages(model, found)
    # The next order is smaller by 1/ρ_t, which two horizons remove.
    shares = []
    for T in (800, 3_200):
        sigma = found["sigma"] * float(model.noise.scale(T))
        shares.append(mode_std(model, T) ** 2 / (model.kappa * sigma**2 / (2 * float(model.pressure(T)))))
    assert 2 * shares[1] - shares[0] == pytest.approx(1.0, abs=1e-2)


def noise_fades(model: Model, found: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (100, 1_000, 10_000)]
    assert stds[2] < 0.5 * stds[1] < 0.25 * stds[0]
    # It follows its own scale and not the root of the number of draws.
    assert stds[2] / stds[1] == pytest.approx(float(model.noise.scale(10_000) / model.noise.scale(1_000)), rel=0.15)


def memory(model: Model, found: Mapping[str, Any]) -> None:
    white = Model(model.network, model.x0, model.s, model.pressure, Gaussian(0.3))
    ratio = (mode_std(model, 4_000) / mode_std(white, 4_000)) ** 2
    assert found["factor"] == pytest.approx(ratio, rel=DIGITS)


def frozen_limit(model: Model, found: Mapping[str, Any]) -> None:
    all_on_mean(model, found)
    np.testing.assert_allclose(2 * spread(model, 2_000) - spread(model, 1_000), found["std"], rtol=DIGITS)


def frozen_growth(model: Model, found: Mapping[str, Any]) -> None:
    # The deviation follows 1 + log t: it grows by equal amounts in each doubling, and so without bound.
    at = [mode_std(model, T) for T in (2_000, 4_000, 8_000)]
    sigma = float(np.linalg.norm(model.s / model.s.sum() * model.noise.deviations(model.n)))
    np.testing.assert_allclose(np.diff(at), sigma * math.log(2), rtol=0.02)
    np.testing.assert_allclose(limit(model, 8_000), found["mean"], atol=1e-5)


def stationary(model: Model, found: Mapping[str, Any]) -> None:
    late = state(model, 2_000)
    assert [late.min(), late.max()] == pytest.approx([found["low"], found["high"]], rel=5e-4, abs=1e-4)


def unmoved(model: Model, found: Mapping[str, Any]) -> None:
    np.testing.assert_array_equal(spread(model, 50), 0.0)
    np.testing.assert_allclose(state(model, 2_000), state(model, 2_001), atol=1e-12)


def deviations(model: Model, found: Mapping[str, Any]) -> None:
    std = spread(model, 400)
    assert [std.min(), std.max()] == pytest.approx([found["low"], found["high"]], rel=DIGITS)
    mode_deviation(model, found)


def mode_deviation(model: Model, found: Mapping[str, Any]) -> None:
    assert found["std"] == pytest.approx(mode_std(model, 200), rel=DIGITS)
    if np.ptp(model.network.degrees) == 0:
        return
    # The plain average has another one, which the sentence does not speak of.
    plain = float(moments(model, 200, of=np.full(model.n, 1 / model.n)).std[-1, 0])
    assert abs(found["std"] - mode_std(model, 200)) < 0.1 * abs(found["std"] - plain)
    assert found["weights"] == "degree"


def fluctuation_fades(model: Model, found: Mapping[str, Any]) -> None:
    assert spread(model, 1_000).max() < 0.2 * spread(model, 10).max()


def fluctuation_grows(model: Model, found: Mapping[str, Any]) -> None:
    assert spread(model, 1_000).min() > 2 * spread(model, 10).min()


def scatter(model: Model, found: Mapping[str, Any]) -> None:
    P = exact_law(model, 2_000)[1]
    assert P[0, 0] + P[1, 1] - 2 * P[0, 1] > 1e-3


def balanced(model: Model, found: Mapping[str, Any]) -> None:
    d = model.network.degrees
    for T in (1, 10, 1_000):
        assert float(d @ state(model, T) / d.sum()) == pytest.approx(found["v"])


def settled(model: Model, found: Mapping[str, Any]) -> None:
    np.testing.assert_allclose(state(model, 500), model.x0[0])


def walk(model: Model, found: Mapping[str, Any]) -> None:
    w = consensus_mode(model).weights
    before, after = (float(moments(model, T, of=w).variance[-1, 0]) for T in (2_000, 4_000))
    assert (after - before) / 2_000 == pytest.approx(found["rate"], rel=0.02)
    assert float(mean_path(model, 2_000)[0][-1] @ w) == pytest.approx(found["mean"], rel=1e-3)


def unbounded_walk(model: Model, found: Mapping[str, Any]) -> None:
    w = consensus_mode(model).weights
    kept = w @ np.stack([mean_path(model, 2_000)[0][-1]]).T
    assert float(kept[0]) == pytest.approx(found["mean"], rel=1e-3)
    early, mid, late = (float(moments(model, T, of=w).variance[-1, 0]) for T in (4_000, 8_000, 16_000))
    # It grows like log t: by equal amounts in each doubling, and so by no constant amount per step.
    assert late > mid > early
    assert (late - mid) / (mid - early) == pytest.approx(1.0, abs=0.2)


def drift(model: Model, found: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (500, 1_000, 2_000)]
    assert stds[2] - stds[1] == pytest.approx(2 * (stds[1] - stds[0]), rel=0.1)


def damped_start(model: Model, found: Mapping[str, Any]) -> None:
    assert np.ptp(state(model, 4_000)) < 0.05


def unknown_phases(model: Model, found: Mapping[str, Any]) -> None:
    # Three turns that never mix: an opinion reaches an agent at every third step only.
    P = model.network.adjacency.toarray()
    np.testing.assert_array_equal(np.linalg.matrix_power(P, 3), np.eye(3))
    rho = model.pressure(np.arange(1.0, 3_001.0))
    assert not model.pressure.growth.is_regular
    assert np.any(np.diff(rho) < 0)
    assert np.any(np.diff(rho) > 0)


def follows(model: Model, found: Mapping[str, Any]) -> None:
    T, d = 4_000, model.network.degrees
    rho, laplacian = float(model.pressure(T)), model.network.laplacian.toarray()
    fixed = np.linalg.solve(np.diag(model.s) + rho * laplacian, model.s * model.x0)
    bias, lag = (float(d @ (y - model.consensus_value) / d.sum()) for y in (state(model, T), fixed))
    assert bias == pytest.approx(lag, rel=0.05)
    early = float(d @ (state(model, 1_000) - model.consensus_value) / d.sum())
    assert early / bias == pytest.approx(float(model.pressure(T) / model.pressure(1_000)), rel=0.05)


def counted_classes(model: Model, found: Mapping[str, Any]) -> None:
    reached = np.linalg.matrix_power(np.eye(model.n) + model.network.adjacency.toarray(), model.n) > 0
    assert found["classes"] == len({tuple(row) for row in reached})


def single_classes(model: Model, found: Mapping[str, Any]) -> None:
    silent = model.network.degrees == 0
    assert found["agents"] == np.count_nonzero(silent)
    np.testing.assert_allclose(state(model, 500)[silent], model.x0[silent])


def on_the_anchor(model: Model, found: Mapping[str, Any]) -> None:
    assert model.adaptation is not None
    fixed = model.adaptation.adaptation_weights(model.n) == 0
    early, late = (np.abs(mean_path(model, T)[0][-1] - model.x0[fixed]).max() for T in (100, 10_000))
    assert late < 0.3 * early


def forgotten(model: Model, found: Mapping[str, Any]) -> None:
    assert np.ptp(mean_path(model, 2_000)[1][-1]) < 1e-6


def kept_in_part(model: Model, found: Mapping[str, Any]) -> None:
    assert model.adaptation is not None
    left = np.prod(1 - model.adaptation.pace(np.arange(1.0, 1e5)))
    assert left > 0.1
    hidden = mean_path(model, 4_000)[1]
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=1e-3)
    assert np.ptp(hidden[-1]) > 0.1


def wanders(model: Model, found: Mapping[str, Any]) -> None:
    stds, P = [mode_std(model, T) for T in (400, 800)], exact_law(model, 800)[1]
    assert stds[1] > 0.95 * stds[0] > 0.01
    assert P[0, 0] + P[1, 1] - 2 * P[0, 1] < 0.1 * P[0, 0]
    assert found["mean"] == pytest.approx(float(state(model, 100_000).mean()), abs=0.02)


def slower(model: Model, found: Mapping[str, Any]) -> None:
    """Confirm both rates by what is left of the start between two steps: exp(−κ Σ 1/ρ)."""
    assert model.activation is not None
    together = Model(model.network, model.x0, model.s, model.pressure)
    lost = float((1 / model.pressure(np.arange(501, 2_001))).sum())
    for rate, after in (("kappa", lambda m, T: second_moments(m, T)[0]), ("synchronous", state)):
        kept = []
        for T in (500, 2_000):
            one, other = (
                Model(model.network, model.x0, model.s, model.pressure, start=start)
                for start in (together.start_state, together.start_state + 1)
            )
            kept.append(float((after(other, T) - after(one, T)).mean()))
        assert math.log(kept[0] / kept[1]) / lost == pytest.approx(found[rate], rel=5e-3)
    # The two sides of an even cycle come together.
    if model.network.sides is not None:
        np.testing.assert_allclose(second_moments(model, 500)[0], second_moments(model, 501)[0], atol=2e-3)


def second_moments(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance over who updates, each agent with probability 1/2, by the exact recursion."""
    n, A = model.n, model.network.adjacency.toarray()
    mean, second = model.start_state.copy(), np.outer(model.start_state, model.start_state)
    for rho in model.pressure(np.arange(1, steps + 1)):
        total = model.s + rho * A.sum(axis=1)
        C, g = rho * A / total[:, None], model.s * model.x0 / total
        new = C @ mean + g
        both = C @ second @ C.T + np.outer(C @ mean, g) + np.outer(g, C @ mean) + np.outer(g, g)
        across = C @ second + np.outer(g, mean)
        moved = 0.25 * (both + across + across.T + second)
        # An agent who updates, or not, does so in both factors.
        moved[np.diag_indices(n)] = 0.5 * (np.diag(both) + np.diag(second))
        mean, second = 0.5 * (mean + new), moved
    return mean, second - np.outer(mean, mean)


def random_limit(model: Model, found: Mapping[str, Any]) -> None:
    mean, P = second_moments(model, 2_000)
    np.testing.assert_allclose(mean, found["mean"], atol=2e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(P)), found["std"], rtol=0.02)


def rounds_of(model: Model) -> tuple[list[Array], bool]:
    """Return the adjacency matrices of a network step by step, and whether they repeat; the last one stays if not."""
    temporal = model.temporal_network
    if temporal is None:
        return [model.network.adjacency.toarray()], True
    return [model.adjacency_at(t).toarray() for t in range(1, temporal.span + 1)], temporal.period is not None


def paths(model: Model, steps: int, shock: float = 0.0) -> tuple[Array, Array]:
    """Return public and hidden opinions without noise, shapes (steps + 1, agents).

    ``shock`` is the noise of agent 0 at t = 1.
    """
    rounds, repeats = rounds_of(model)
    y, x, keeps = model.start_state.copy(), model.x0.copy(), model.isolated == "keep"
    rates = np.zeros((steps, 1))
    if model.adaptation is not None:
        rates = np.stack([model.adaptation.at(t, model.n) for t in range(1, steps + 1)])
    public, hidden = [y], [x]
    for t, rho in enumerate(model.pressure(np.arange(1, steps + 1)), start=1):
        A = rounds[(t - 1) % len(rounds)] if repeats else rounds[min(t, len(rounds)) - 1]
        d, heard = np.abs(A).sum(axis=1), x.copy()
        heard[0] += shock * (t == 1)
        shown = (model.s * heard + rho * (A @ y)) / (model.s + rho * d)
        y = np.where(d > 0, shown, y) if keeps else shown
        x = x + rates[t - 1] * (y - x)
        public.append(y)
        hidden.append(x)
    return np.stack(public), np.stack(hidden)


def late(model: Model, steps: int = 4_000) -> Array:
    return np.asarray(paths(model, steps)[0][-1])


def unlike(model: Model, agent: int, steps: int = 2_000) -> Array:
    """Return by how much public opinions end elsewhere if one agent has another opinion."""
    other = Model(
        model.temporal_network or model.network,
        model.x0 + np.eye(model.n)[agent],
        model.s,
        model.pressure,
        adaptation=model.adaptation,
        isolated=model.isolated,
    )
    return np.asarray(paths(other, steps)[0][-1] - paths(model, steps)[0][-1])


def groups_of(A: Array) -> list[NDArray[np.intp]]:
    """Return the components of a matrix, by the powers of which agents reach which."""
    reached = np.linalg.matrix_power(np.eye(len(A)) + A, len(A)) > 0
    return [np.flatnonzero(row) for row in np.unique(reached, axis=0)]


def counted_components(model: Model, found: Mapping[str, Any]) -> None:
    groups = groups_of(rounds_of(model)[0][-1])
    assert (found["components"], found["single"]) == (len(groups), sum(group.size == 1 for group in groups))


def nobody_heard(model: Model, found: Mapping[str, Any]) -> None:
    assert not rounds_of(model)[0][-1].any()


def isolated_share(model: Model, found: Mapping[str, Any], keeps: bool) -> None:
    temporal = model.temporal_network
    assert temporal is not None
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)[0]])
    if temporal.law is None:
        who = silent.any(axis=0)
        assert (found["agents"], found["share"]) == (np.count_nonzero(who), silent[:, who].mean())
    public, _ = paths(model, 40)
    for t in range(1, 41):
        quiet = silent[(t - 1) % len(silent)]
        if temporal.law is None or t <= temporal.last_change:
            np.testing.assert_array_equal(public[t][quiet], (public[t - 1] if keeps else model.x0)[quiet])


def isolated_at_times(model: Model, found: Mapping[str, Any]) -> None:
    isolated_share(model, found, keeps=False)


def silent_at_times(model: Model, found: Mapping[str, Any]) -> None:
    isolated_share(model, found, keeps=True)


def both_edges_fail(model: Model, found: Mapping[str, Any]) -> None:
    # Each agent of a cycle has two edges, each of which fails with probability 0.4.
    assert (found["agents"], found["share"]) == (5, pytest.approx(0.4**2))
    isolated_share(model, found, keeps=False)


def not_in_the_pair(model: Model, found: Mapping[str, Any]) -> None:
    # One of five edges at a step, two of which are an agent's own.
    assert (found["agents"], found["share"]) == (5, pytest.approx(1 - 2 / 5))
    isolated_share(model, found, keeps=True)


def detached(model: Model, found: Mapping[str, Any]) -> None:
    public, hidden = paths(model, 4_000)
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=1e-3)
    np.testing.assert_allclose(public[-1], hidden[-1], atol=1e-3)
    assert np.ptp(hidden[-1]) > 0.1
    # The agents' own rate would never come to rest.
    assert model.adaptation is not None
    assert np.prod(1 - model.adaptation.pace(np.arange(1.0, 4_001.0))) < 1e-9


def anchored(model: Model, found: Mapping[str, Any]) -> None:
    hidden = paths(model, 400)[1]
    still = np.ptp(hidden, axis=0) == 0
    assert found["agents"] == np.count_nonzero(still)
    assert np.all(np.abs(np.diff(hidden[:, ~still], axis=0)).max(axis=1) > 0)


def fades_marginally(model: Model, found: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    d, kept, added = model.network.degrees, [], []
    for T in (1_000, 16_000):
        kept.append(float(d @ (state(other, T) - state(model, T)) / d.sum()))
        added.append(float((1 / model.pressure(np.arange(1, T + 1))).sum()))
    assert math.log(kept[0] / kept[1]) == pytest.approx(model.kappa * (added[1] - added[0]), rel=1e-2)
    # A power of t would lose as much in each doubling.
    halves = [float((1 / model.pressure(np.arange(T, 2 * T))).sum()) for T in (1_000, 100_000)]
    assert halves[1] < 0.7 * halves[0]


def chance_averages(model: Model, found: Mapping[str, Any]) -> None:
    w = np.full(model.n, 1 / model.n)
    variances = [float(w @ second_moments(model, T)[1] @ w) for T in (250, 1_000, 4_000)]
    # It falls like t^(−2κ), here t^(−1/2), as the start does.
    np.testing.assert_allclose(np.diff(np.log(variances)) / math.log(4), -0.5, rtol=0.01)


def recurrences(model: Model, share: float, windows: tuple[int, ...]) -> list[float]:
    """Return how often the common value is off by more than ε, expected in (T, 2T]: exact deviations of Gaussian noise.

    ε² is a share of κσ̄². The value forgets itself within ρ/κ steps, which are counted as one occasion.
    """
    sigma = float(np.linalg.norm(model.s / model.s.sum() * model.noise.deviations(model.n)))
    epsilon = math.sqrt(share * model.kappa) * sigma
    chances = []
    for T in windows:
        times = np.geomspace(T, 2 * T, 5).astype(int)
        d = model.network.degrees
        std = moments(model, 2 * T, of=d / d.sum(), times=times).std[:, 0]
        rho = model.pressure(times.astype(float))
        rare = np.array([math.erfc(epsilon / (math.sqrt(2) * each)) for each in std])
        chances.append(float(np.trapezoid(model.kappa / rho * rare, times)))
    return chances


def almost_surely(model: Model, found: Mapping[str, Any]) -> None:
    first, second, third = recurrences(model, 0.25, (100, 800, 3_200))
    assert third < 0.5 * second < 0.25 * first


def not_almost_surely(model: Model, found: Mapping[str, Any]) -> None:
    first, second, third = recurrences(model, 0.25, (100, 800, 3_200))
    assert third > 1.5 * second > 2 * first
    assert mode_std(model, 8_000) < mode_std(model, 100)


def perhaps_almost_surely(model: Model, found: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (100, 1_000, 8_000)]
    assert stds[2] < stds[1] < stds[0]
    # A draw moves an agent by ε with probability t^(−c ε): ρ_t/(σ_t log t) has a limit, and so it depends on ε.
    t = np.array([1e20, 1e40, 1e80])
    ratio = model.pressure.pressure(t) / (model.noise.time_scale.pressure(t) * np.log(t))
    np.testing.assert_allclose(ratio, 1.0, rtol=0.02)
    assert isinstance(model.noise, Laplace)


def flow(model: Model, y: Array, begin: float, end: float, step: float = 2e-3) -> Array:
    """Return the solution of dy/dt = g x₀ + C y − y, by the midpoint rule."""
    A, d = model.network.adjacency.toarray(), model.network.degrees

    def slope(t: float, y: Array) -> Array:
        rho = float(model.pressure.pressure(np.array([max(t, 1e-9)]))[0])
        return np.asarray((model.s * model.x0 + rho * (A @ y)) / (model.s + rho * d) - y)

    for t in np.arange(begin, end - step / 2, step):
        y = y + step * slope(t + step / 2, y + step / 2 * slope(t, y))
    return y


def damped(system: SDE, found: Mapping[str, Any]) -> None:
    model = system.model
    # The flow of one unit of time, late: one factor for the common value and one for the swing.
    zero, begin = flow(model, np.zeros(2), 400.0, 401.0), 400.0
    columns = [flow(model, unit, begin, begin + 1) - zero for unit in np.eye(2)]
    swing, common = np.sort(np.linalg.eigvals(np.stack(columns, axis=1)).real)
    assert swing == pytest.approx(math.exp(-2), rel=1e-2)
    assert common == pytest.approx(1.0, rel=1e-2)
    assert np.ptp(flow(model, model.start_state, 0.0, 20.0)) < 0.05


def keeps_nothing(model: Model, found: Mapping[str, Any]) -> None:
    """Continue the recursion of the common value, m ← m + κ(v − m)/ρ_t, from a late step on."""
    T, d = 4_000, model.network.degrees
    m = float(d @ state(model, T) / d.sum())
    exponent = model.pressure.growth.exponent
    assert exponent is not None
    later = T / (exponent - 1) / float(model.pressure(T))
    assert abs(m - found["v"]) * math.exp(-model.kappa * later) <= found["bound"]
    assert found["v"] == pytest.approx(float(model.s @ model.x0 / model.s.sum()))


def mirrored(model: Model, found: Mapping[str, Any]) -> None:
    # Opinions are the opposite of those of the mirror image, and v = 0 is the only value that is.
    np.testing.assert_allclose(late(model), -late(model)[::-1], atol=1e-12)
    assert abs(found["v"]) <= found["bound"] < 1e-6


def not_resolved(model: Model, found: Mapping[str, Any]) -> None:
    assert max(found["bias"], found["swing"]) <= found["resolution"]
    # It is not v, as a long recursion shows, but within the error that is stated.
    off = np.abs(late(model, 2_000) - found["v"]).max()
    assert off <= found["bias"] + found["resolution"]


def sides_agree(model: Model, found: Mapping[str, Any]) -> None:
    assert model.network.sides is not None
    assert np.ptp(state(model, 4_000)) < 1e-3
    np.testing.assert_allclose(state(model, 4_000), state(model, 4_001), atol=1e-3)


def noise_in_the_limit(model: Model, found: Mapping[str, Any]) -> None:
    stds = [spread(model, T).min() for T in (100, 400)]
    assert min(stds) > 0.05
    assert model.adaptation is not None
    other = Model(
        model.network, model.x0, model.s, model.pressure, start=model.start_state + 1, adaptation=model.adaptation
    )
    assert np.abs(late(other) - late(model)).min() > 0.01


def other_records(model: Model, found: Mapping[str, Any]) -> None:
    law = model.temporal_network
    assert law is not None
    ends = []
    for seed in (11, 12):
        record = failing_edges(cycle(5), 0.4, 400, seed=seed)
        ends.append(late(Model(record, model.x0, model.s, model.pressure, adaptation=model.adaptation), 400))
    assert max(map(np.ptp, ends)) < 0.01
    assert abs(ends[0].mean() - ends[1].mean()) > 0.02
    assert min(abs(end.mean() - found["v"]) for end in ends) > 0.01


def other_updates(model: Model, found: Mapping[str, Any]) -> None:
    A, d, ends = model.network.adjacency, model.network.degrees, []
    for seed in (1, 2):
        rng, y = np.random.default_rng(seed), model.start_state.copy()
        for rho in model.pressure(np.arange(1, 401)):
            shown = (model.s * model.x0 + rho * (A @ y)) / (model.s + rho * d)
            y = np.where(rng.random(model.n) < 0.5, shown, y)
        ends.append(y)
    assert max(map(np.ptp, ends)) < 0.1 * abs(ends[0].mean() - ends[1].mean())
    assert min(abs(end.mean() - found["v"]) for end in ends) > 10 * max(map(np.ptp, ends))


def variance_unbounded(model: Model, found: Mapping[str, Any]) -> None:
    # Σ t^(−0.4) for noise that is drawn anew, and (Σ t^(−1/2))² for noise that is drawn once.
    stds = [mode_std(model, T) for T in (400, 6_400)]
    power = 1.0 if model.noise.autocorrelation == 1 else 0.6
    assert 2 * math.log(stds[1] / stds[0]) / math.log(16) == pytest.approx(power, abs=0.1)


def one_source(model: Model, found: Mapping[str, Any]) -> None:
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)[0]]).any(axis=0)
    assert np.count_nonzero(silent) == 1
    source = int(np.flatnonzero(silent)[0])
    np.testing.assert_allclose(unlike(model, source), 1.0, atol=0.02)
    for agent in set(range(model.n)) - {source}:
        np.testing.assert_allclose(unlike(model, agent), 0.0, atol=0.02)


def weights_of_degrees(model: Model, found: Mapping[str, Any]) -> None:
    weights = np.array([unlike(model, agent).mean() for agent in range(model.n)])
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(weights - model.s / model.s.sum()).max() > 0.05
    degrees = np.stack([A.sum(axis=1) for A in rounds_of(model)[0]])
    assert np.any(np.ptp(degrees, axis=0))


def early_noise(model: Model, found: Mapping[str, Any]) -> None:
    quiet, moved = (paths(model, 2_000, shock)[0] for shock in (0.0, 1.0))
    kept = moved - quiet
    assert np.abs(kept[-1]).min() > 0.01
    np.testing.assert_allclose(kept[-1], kept[1_000], rtol=0.02)


def moved_first(model: Model, found: Mapping[str, Any]) -> None:
    hidden = paths(model, 4_000)[1]
    assert np.abs(hidden[-1] - model.x0).max() > 0.1
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=2e-3)


def exchanging(model: Model, found: Mapping[str, Any]) -> None:
    public, groups = paths(model, 4_002)[0], groups_of(rounds_of(model)[0][-1])
    np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
    moving = [group for group in groups if np.abs(public[-1] - public[-2])[group].max() > 0.01]
    assert (found["periodic"], found["components"]) == (len(moving), len(groups))


def parity(model: Model, found: Mapping[str, Any]) -> None:
    rho = model.pressure(np.arange(1.0, 1_001.0))
    assert rho[1::2].sum() > 1.5 * rho[::2].sum()
    public = paths(model, 8_000)[0]
    np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
    assert np.abs(public[-1] - public[-2]).max() > 0.1
    sides = model.network.sides
    assert sides is not None
    for side in (sides, ~sides):
        assert np.ptp(public[-1][side]) < 0.01


def driven_phases(model: Model, found: Mapping[str, Any]) -> None:
    """Confirm that what the parts of the network differ by grows with the noise."""
    agents = np.arange(model.n)
    part = agents % 3 if model.network.directed else np.asarray(model.network.sides).astype(int)
    w = consensus_mode(model).weights * np.where(part == 0, 1.0, 0.0)
    w = w / w.sum() - (others := consensus_mode(model).weights * (part == 1)) / others.sum()
    stds = [float(moments(model, T, of=w).std[-1, 0]) for T in (500, 4_000)]
    scale, rho = model.noise.scale(np.array([500.0, 4_000.0])), model.pressure(np.array([500.0, 4_000.0]))
    assert stds[1] / stds[0] == pytest.approx(float(np.sqrt((scale**2 / rho)[1] / (scale**2 / rho)[0])), rel=0.1)
    np.testing.assert_allclose(state(model, 8_000), found["mean"], atol=5e-3)


def driven_components(model: Model, found: Mapping[str, Any]) -> None:
    # Components have values of their own, and no mean is named.
    assert math.isnan(found["mean"])
    assert np.ptp(late(model)) > 1


def driven_classes(model: Model, found: Mapping[str, Any]) -> None:
    draws = np.random.default_rng(3).normal(0, 0.3, (4, model.n))
    assert model.temporal_network is not None
    for draw in draws:
        public = paths(Model(model.temporal_network, model.x0 + draw, model.s, model.pressure), 4_001)[0]
        np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
        assert np.abs(public[-1] - public[-2]).max() > 0.01
    assert late(model) == pytest.approx(found["mean"])


def own_opinions(model: Model, found: Mapping[str, Any]) -> None:
    np.testing.assert_array_equal(late(model, 5), model.x0)
    np.testing.assert_allclose(spread(model, 5), model.noise.deviations(model.n))
    assert bool(found["noise"]) == (not model.noise.is_zero)


def kept_opinions(model: Model, found: Mapping[str, Any]) -> None:
    public = paths(model, 5)[0]
    np.testing.assert_array_equal(public[-1], public[1])
    assert np.abs(public[-1] - model.x0).max() > 0.1


def hidden_agree(model: Model, found: Mapping[str, Any]) -> None:
    n, apart, own = model.n, [], []
    for T in (200, 3_200):
        mean, P = exact_law(model, T)
        hidden = P[n : 2 * n, n : 2 * n]
        apart.append(float(np.ptp(mean[n : 2 * n])) + math.sqrt(hidden[0, 0] + hidden[1, 1] - 2 * hidden[0, 1]))
        own.append(P[0, 0] + P[1, 1] - 2 * P[0, 1])
    assert apart[1] < 0.5 * apart[0]
    assert min(own) > 0.01
    assert found["who"] == "all agents keep"
    # Slow adaptation conserves the mean weighted by stubbornness, up to the rate.
    w = model.s / model.s.sum()
    assert float(w @ mean[n : 2 * n]) == pytest.approx(found["mean"], abs=2e-3)
    # What later steps add to the variance falls like T^(1 − 2·0.8).
    earlier = exact_law(model, 800)[1]
    now, before = (float(w @ each[n : 2 * n, n : 2 * n] @ w) for each in (P, earlier))
    share = 4.0 ** (1 - 2 * 0.8)
    assert math.sqrt(now + (now - before) * share / (1 - share)) == pytest.approx(found["std"], abs=5e-3)


def hidden_follow(model: Model, found: Mapping[str, Any]) -> None:
    n = model.n
    mean, P = exact_law(model, 2_000)
    assert P[n, n] + P[n + 1, n + 1] - 2 * P[n, n + 1] > 1e-4
    assert np.diag(P)[:n].min() > 1e-3
    np.testing.assert_allclose(mean[:n], found["mean"], rtol=5e-4)


def isolated_follow(model: Model, found: Mapping[str, Any]) -> None:
    assert found["who"] == "agents who are isolated at times keep"
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)[0]])
    mean, before = exact_law(model, 1_601)[0], exact_law(model, 1_600)
    A, rho = rounds_of(model)[0][0], float(model.pressure(1_601))
    # What an agent shows of its own draw in a step: all of it if it is isolated, and a share of 1/ρ otherwise.
    shown = 0.3 * model.s / (model.s + rho * A.sum(axis=1))
    np.testing.assert_allclose(shown[silent[0]], 0.3)
    assert np.all(shown[~silent[0]] < 1e-3)
    # Its hidden opinion follows: it differs from those of the others by more than they do from each other.
    n, P = model.n, before[1]
    hidden, (alone,) = P[n : 2 * n, n : 2 * n], np.flatnonzero(silent.any(axis=0))
    apart = np.add.outer(np.diag(hidden), np.diag(hidden)) - 2 * hidden
    assert apart[alone].max() > 0.01
    assert np.delete(np.delete(apart, alone, 0), alone, 1).max() < 0.1 * apart[alone].max()
    assert float(np.delete(mean[:n], alone).mean()) == pytest.approx(found["mean"], rel=2e-3)


def left_apart(model: Model, found: Mapping[str, Any]) -> None:
    public = paths(model, 4_000)[0]
    assert np.ptp(public[2_000:], axis=1).min() > 0.1


def expected_means(model: Model, rho: float) -> Array:
    """Return the stationary mean over all sets of edges of a cycle, each of which fails with probability 0.4."""
    n, present, ring = model.n, 0.6, model.network.adjacency.toarray()
    i, j = np.nonzero(np.triu(ring))
    C, g = np.zeros((n, n)), np.zeros(n)
    for edges in np.ndindex(*[2] * i.size):
        A, there = np.zeros((n, n)), np.array(edges, dtype=bool)
        A[i[there], j[there]] = A[j[there], i[there]] = 1.0
        chance, total = present ** there.sum() * (1 - present) ** (~there).sum(), model.s + rho * A.sum(axis=1)
        C += chance * rho * A / total[:, None]
        g += chance * model.s * model.x0 / total
    return np.asarray(np.linalg.solve(np.eye(n) - C, g), dtype=np.float64)


def random_means(model: Model, found: Mapping[str, Any]) -> None:
    growing = Model(cycle(5), model.x0, model.s)
    mean = expected_means(growing, 1e9 if model.pressure.growth.bounded is False else float(model.pressure(1)))
    assert [found["low"], found["high"]] == pytest.approx([mean.min(), mean.max()], rel=5e-4)


def returning(model: Model, found: Mapping[str, Any]) -> None:
    rounds, public = rounds_of(model)[0], paths(model, 400)[0]
    seen = np.zeros((2, model.n), dtype=bool)
    for t, A in enumerate(rounds[:400], start=1):
        alone = A.sum(axis=1) == 0
        np.testing.assert_array_equal(public[t][alone], model.x0[alone])
        seen[int(t > 200)] |= alone
    assert np.all(seen)


def keeps_moving(model: Model, found: Mapping[str, Any]) -> None:
    assert model.noise.autocorrelation == 0
    stds = [spread(model, T) for T in (200, 400, 401)]
    assert np.min(stds) > 0.01


def shifted_once(model: Model, found: Mapping[str, Any]) -> None:
    assert spread(model, 400).min() > 0.01
    draw = np.random.default_rng(1).normal(0, 0.3, model.n)
    moved = Model(model.network, model.x0 + draw, model.s, model.pressure)
    shift = [paths(moved, T)[0][-1] - paths(model, T)[0][-1] for T in (400, 401)]
    assert np.abs(shift[0]).max() > 0.01
    if model.pressure.growth.limit is not None:
        np.testing.assert_allclose(shift[0], shift[1], atol=1e-9)


def component_values(model: Model, found: Mapping[str, Any]) -> None:
    groups = groups_of(rounds_of(model)[0][-1])
    told = [reason for reason in diagnose(model).reasons if reason.code is ReasonCode.COMPONENT_LIMIT]
    ends, n = late(model, 8_000), model.n
    std = np.sqrt(np.diag(exact_law(model, 1_000)[1]))[:n]
    for reason in told:
        fitting = [
            group
            for group in groups
            if group.size == reason.values["agents"] and np.allclose(ends[group], reason.values["mean"], atol=2e-3)
        ]
        assert fitting, reason
        if model.noise.autocorrelation == 1:
            np.testing.assert_allclose(std[fitting[0]], float(reason.values["std"]), rtol=0.02)
        else:
            assert reason.values["std"] == 0
            assert model.noise.is_zero or std[fitting[0]].max() < 0.02


def component_means(model: Model, found: Mapping[str, Any]) -> None:
    groups, n = groups_of(rounds_of(model)[0][-1]), model.n
    told = [reason for reason in diagnose(model).reasons if reason.code is ReasonCode.COMPONENT_MEAN]
    ends, std = late(model, 8_000), np.sqrt(np.diag(exact_law(model, 1_000)[1]))[:n]
    for reason in told:
        fitting = [
            group
            for group in groups
            if group.size == reason.values["agents"] and np.allclose(ends[group], reason.values["mean"], atol=2e-3)
        ]
        assert fitting, reason
        assert std[fitting[0]].min() > 0.05


def values_differ(model: Model, found: Mapping[str, Any]) -> None:
    ends = late(model)
    means = [ends[group].mean() for group in groups_of(rounds_of(model)[0][-1])]
    assert np.diff(np.sort(means)).min() > 0.1
    assert found["v"] == pytest.approx(float(model.s @ model.x0 / model.s.sum()))


def not_named(model: Model, found: Mapping[str, Any]) -> None:
    told = sum(reason.code is ReasonCode.COMPONENT_LIMIT for reason in diagnose(model).reasons)
    assert found["components"] + told == len(groups_of(rounds_of(model)[0][-1]))


def alone_on_walks(model: Model, found: Mapping[str, Any]) -> None:
    alone = rounds_of(model)[0][-1].sum(axis=1) == 0 if model.temporal_network else np.ones(model.n, dtype=bool)
    variances = [np.diag(exact_law(model, T)[1])[model.n : 2 * model.n][alone] for T in (500, 1_000, 2_000)]
    np.testing.assert_allclose(variances[2] - variances[1], 2 * (variances[1] - variances[0]), rtol=0.05)


def components_wander(model: Model, found: Mapping[str, Any]) -> None:
    stds = [np.diag(exact_law(model, T)[1])[: model.n] for T in (250, 500, 1_000)]
    assert np.all(stds[2] > 1.05 * stds[1])
    assert np.all(stds[1] > 1.05 * stds[0])


def several_sources(model: Model, found: Mapping[str, Any]) -> None:
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)[0]]).any(axis=0)
    counts = np.array([np.abs(unlike(model, agent)).max() > 0.05 for agent in range(model.n)])
    assert not np.any(counts & ~silent)
    assert found["agents"] == np.count_nonzero(silent)
    public = paths(model, 2_000)[0]
    np.testing.assert_allclose(public[-1], public[-3], atol=0.01)
    assert np.abs(public[-1] - public[-2]).max() > 0.1


def classes_of(model: Model) -> list[NDArray[np.intp]]:
    """Return who hears nobody else over two steps at high pressure, class by class."""
    first, second = (A / A.sum(axis=1)[:, None] for A in rounds_of(model)[0])
    reached = np.linalg.matrix_power(np.eye(model.n) + second @ first, model.n) > 1e-12
    closed = {tuple(row) for k, row in enumerate(reached) if all(reached[other][k] for other in np.flatnonzero(row))}
    return [np.flatnonzero(row) for row in closed]


def never_mix(model: Model, found: Mapping[str, Any]) -> None:
    assert len(classes_of(model)) > 1
    assert np.ptp(late(model)) > 0.1


def cycle_range(model: Model, found: Mapping[str, Any]) -> None:
    # Opinions approach the cycle like 1/t, which two horizons extrapolate.
    far = [np.array([f(paths(model, T)[0][-2:]) for f in (np.min, np.max)]) for T in (2_000, 4_000)]
    np.testing.assert_allclose(2 * far[1] - far[0], [found["low"], found["high"]], rtol=5e-4, atol=5e-4)


def start_share(model: Model, found: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    steps, d = found["steps"], model.network.degrees
    kept = float(d @ (state(other, steps) - state(model, steps)) / d.sum())
    assert kept == pytest.approx(found["weight"], rel=5e-3)
    assert (found["first"], found["last"]) == tuple(model.pressure(np.array([1.0, steps])).tolist())


def repeating(model: Model, found: Mapping[str, Any]) -> None:
    assert model.temporal_network is not None
    assert len(rounds_of(model)[0]) == model.temporal_network.period == 2
    rho = model.pressure(np.arange(1.0, 2_001.0))
    assert np.any(np.diff(rho) < 0)
    assert np.any(np.diff(rho) > 0)
    assert not model.pressure.growth.is_regular


def weak_anchors(model: Model, found: Mapping[str, Any]) -> None:
    # The agent who never adapts is outside of the class that public opinions end in: others hear it by way of its own
    # public opinion only, in which its opinion has a share of order 1/ρ.
    assert model.adaptation is not None
    (still,) = np.flatnonzero(model.adaptation.adaptation_weights(model.n) == 0)
    assert not any(still in agents for agents in classes_of(model))
    rho = model.pressure(np.array([500.0, 4_000.0]))
    degree = min(float(A[still].sum()) for A in rounds_of(model)[0])
    shares = model.s[still] / (model.s[still] + rho * degree)
    assert shares[1] < 0.5 * shares[0]
    # What it has in the others so far is neither nothing nor all, and still changing.
    gains = [np.delete(unlike(model, int(still), T), still).mean() for T in (250, 1_000)]
    assert 0.001 < gains[0] < 0.99 * gains[1] < 0.99


def uneven(**parts: Any) -> Model:
    """Return a model on a star with a triangle, whose degree-weighted and plain averages differ."""
    network = Network([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    return Model(network, **(ODD | parts))


CONFIRMED: dict[ReasonCode, tuple[tuple[Model | SDE, Check], ...]] = {
    ReasonCode.PERIODIC_LAW: ((Model(CHANGING["star and ring"], np.arange(6.0), pressure=2), cycling),),
    ReasonCode.LIMITS_SPAN: ((Model(MIXED, MIXED_HIDDEN, pressure=2, adaptation=0.2), spanning),),
    ReasonCode.RANDOM_LIMITS: ((Model(MIXED, MIXED_HIDDEN, pressure=Power(2), activation=0.5), settling_at_random),),
    ReasonCode.MOVING_LIMITS: ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3), activation=0.5), moving),),
    ReasonCode.SOME_WALK: (
        (Model(MIXED, MIXED_HIDDEN, pressure=2, noise=Gaussian(0.3), adaptation=0.2), unbounded_by(1.0)),
    ),
    ReasonCode.SOME_DRIFT: ((Model(MIXED, MIXED_HIDDEN, pressure=2, noise=FROZEN, adaptation=0.2), unbounded_by(2.0)),),
    ReasonCode.START_FORGOTTEN: ((uneven(pressure="0.2*t"), all_on_v),),
    ReasonCode.SETTLED: ((Model(cycle(4), [2, 2, 2, 2]), settled),),
    ReasonCode.BALANCED: ((Model(cycle(5), [0, 1, 2, 3, 4], pressure=Power(2)), balanced),),
    ReasonCode.START_REMEMBERED: ((uneven(pressure=Power(2)), start_kept),),
    ReasonCode.APERIODIC: ((uneven(pressure=Power(2)), odd_cycle),),
    ReasonCode.LIMIT: (
        (uneven(pressure=Power(2)), all_on_mean),
        # The signs of opinions and weights cancel under bounded pressure.
        (Model(ENEMIES, [1, 1], pressure=2), all_on_mean),
    ),
    ReasonCode.TWO_PHASES: ((Model(star(4), **ODD, pressure=Power(2)), two_phases),),
    ReasonCode.TWO_PHASES_OF_CAMPS: ((Model(ENEMIES, [0, 1], pressure=Power(2)), phases_of_camps),),
    ReasonCode.ROTATING_PHASES: ((Model(CIRCLE, [0, 1, 5], pressure=Power(2)), rotating),),
    ReasonCode.CAMPS: ((Model(RIVALS, [0, 1, 5]), opposite_camps),),
    ReasonCode.CLASS_LIMIT: (
        (Model(PAIRS, [0, 1, 3, 1], [1, 2, 1, 1]), class_values),
        (Model(Network(PAIRS.adjacency), [0, 1, 0, 1], noise=FROZEN), class_values),
        (Model(HERALDS, [0, 1, 2], noise=FROZEN), class_values),
        (Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3, temporal="frozen", time_scale="0.5 + 1/t")), class_values),
    ),
    ReasonCode.CLASS_UNBOUNDED: tuple(
        (Model(net, hidden, noise=Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")), class_unbounded)
        for net, hidden in ((PAIRS, [0, 1, 0, 1]), (HERALDS, [0, 1, 2]), (DIVIDED, [1, 2, 6, 0]))
    ),
    ReasonCode.CLASS_NEUTRAL: ((Model(QUARREL, [0, 1, 5], pressure="0.2*t"), on_zero),),
    ReasonCode.TRANSIENT_AGENTS: (
        (Model(cycle(6), [0, 1, 2, 3, 4, 9], [math.inf, 1, 1, math.inf, 1, 1]), others_follow),
    ),
    ReasonCode.TRANSIENT_FOLLOW: ((Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf]), others_follow),),
    ReasonCode.SILENT_NOISE: ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3)), silent_noise),),
    ReasonCode.NOISE_AVERAGES: ((uneven(noise=Gaussian(0.3)), averages),),
    ReasonCode.NOISE_AVERAGES_SLOWLY: (
        (uneven(noise=Gaussian(0.3), pressure="t^0.5"), averages_slowly),
        (uneven(noise=Gaussian(0.3, time_scale="t^0.1"), pressure="t^0.5"), averages_slowly),
    ),
    ReasonCode.NOISE_FADES: (
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="0.2*t"), noise_fades),
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="t^0.5"), noise_fades),
    ),
    ReasonCode.FROZEN_NOISE: (
        (Model(complete(4), **ODD, pressure="0.2*t", noise=FROZEN), frozen_limit),
        # The scale has no limit, but its average has one, which is what the common value hears.
        (
            Model(
                complete(4),
                **ODD,
                pressure="0.2*t",
                noise=Gaussian(0.3, temporal="frozen", time_scale="2 + sin(t)"),
            ),
            frozen_limit,
        ),
    ),
    ReasonCode.FROZEN_NOISE_GROWS: ((uneven(noise=RISING, pressure="0.2*t"), frozen_growth),),
    ReasonCode.STATIONARY_MEAN: ((uneven(pressure=2), stationary),),
    ReasonCode.NO_FLUCTUATION: ((uneven(pressure=2), unmoved),),
    ReasonCode.FLUCTUATION: (
        (uneven(pressure=2, noise=Gaussian(0.3)), deviations),
        (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=Gaussian(0.3)), deviations),
        (Model(PAIRS, [1, 1, 1, 1], pressure=2, noise=Gaussian(0.3)), deviations),
    ),
    ReasonCode.FROZEN_DEVIATION: (
        (uneven(pressure=2, noise=FROZEN), deviations),
        (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=FROZEN), deviations),
    ),
    ReasonCode.FLUCTUATION_FADES: ((uneven(pressure=2, noise=Gaussian(0.3, time_scale="1/t")), fluctuation_fades),),
    ReasonCode.FLUCTUATION_GROWS: ((uneven(pressure=2, noise=Gaussian(0.3, time_scale="t^0.5")), fluctuation_grows),),
    ReasonCode.NOISE_OUTGROWS_PRESSURE: ((uneven(noise=Gaussian(0.3, time_scale="t")), scatter),),
    ReasonCode.MODE_FLUCTUATION: (
        (
            Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=Gaussian(0.3)),
            mode_deviation,
        ),
    ),
    ReasonCode.FROZEN_MODE_DEVIATION: (
        (Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=FROZEN), mode_deviation),
    ),
    ReasonCode.RANDOM_WALK: ((Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1)), walk),),
    ReasonCode.RANDOM_WALK_UNBOUNDED: (
        (
            Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1, time_scale="t^-0.5")),
            unbounded_walk,
        ),
    ),
    ReasonCode.FROZEN_DRIFT: ((Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=FROZEN), drift),),
    ReasonCode.FOLLOWS_FIXED_POINT: ((uneven(pressure="t^0.5"), follows),),
    ReasonCode.NOISE_MEMORY: ((uneven(noise=Gaussian(0.3, temporal=AR1(0.5)), pressure="0.2*t"), memory),),
    ReasonCode.APERIODIC_DIRECTED: ((Model(TURNS, [0, 1, 5], [1, 2, 3], pressure=Power(2)), odd_cycle),),
    ReasonCode.CLOSED_CLASSES: ((Model(PAIRS, [0, 1, 3, 1]), counted_classes),),
    ReasonCode.SINGLE_CLASSES: ((Model(star(6), np.arange(6.0), [1, *[math.inf] * 5]), single_classes),),
    ReasonCode.CLASS_CAMPS: ((Model(DIVIDED, [1, 2, 6, 0]), class_values),),
    ReasonCode.CLASS_ROTATES: ((Model(TWO_CIRCLES, [0, 1, 5, 2, 3, 9], pressure=Power(2)), rotating),),
    ReasonCode.ANCHORS_ATTRACT: ((Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), on_the_anchor),),
    ReasonCode.ADAPTATION_LASTS: ((Model(complete(4), **ODD, pressure=1, adaptation=0.1), forgotten),),
    ReasonCode.ADAPTATION_FADES: (
        (Model(complete(4), **ODD, pressure=1, adaptation=Adaptation("1/(2*t^2)")), kept_in_part),
    ),
    ReasonCode.NOISE_WANDERS: ((uneven(noise=Gaussian(0.3, time_scale="t^0.5")), wanders),),
    ReasonCode.ACTIVATION_RATE: (
        (Model(cycle(5), np.arange(5.0), activation=0.5), slower),
        (Model(cycle(4), np.arange(4.0), activation=0.5), slower),
    ),
    ReasonCode.RANDOM_LIMIT: ((Model(cycle(5), np.arange(5.0), activation=0.5, pressure=Power(2)), random_limit),),
    ReasonCode.UNKNOWN_PHASES: ((Model(CIRCLE, [0, 1, 5], pressure="t*(2+sin(t))"), unknown_phases),),
    ReasonCode.UNKNOWN_REPETITION: tuple(
        (Model(CHANGING[name], SIX, pressure="t*(2+sin(t))"), repeating) for name in ("star and ring", "pairs")
    ),
    ReasonCode.UNKNOWN_ANCHORS: (
        (
            Model(
                CHANGING["star and ring"],
                SIX,
                pressure=Power(0.4),
                adaptation=Adaptation(0.1, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
            ),
            weak_anchors,
        ),
    ),
    ReasonCode.COMPONENTS: ((Model(CHANGING["groups"], SIX), counted_components),),
    ReasonCode.ALL_ISOLATED: ((Model(CHANGING["ends"], SIX), nobody_heard),),
    ReasonCode.INTERMITTENTLY_ISOLATED: (
        (Model(CHANGING["isolated"], SIX), isolated_at_times),
        (Model(CHANGING["in turn"], SIX), isolated_at_times),
        (Model(failing_edges(cycle(5), 0.4, 40, seed=1), SIX[:5], pressure=3), both_edges_fail),
    ),
    ReasonCode.INTERMITTENTLY_SILENT: (
        (Model(CHANGING["isolated"], SIX, isolated="keep"), silent_at_times),
        (Model(gossip(cycle(5), 40, seed=1), SIX[:5], isolated="keep"), not_in_the_pair),
    ),
    ReasonCode.DETACHED: ((uneven(pressure="1/t^2", adaptation=0.1), detached),),
    ReasonCode.ADAPTATION_ANCHORED: ((Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), anchored),),
    ReasonCode.MARGINAL_RATE: ((uneven(pressure="t*log(1+t)"), fades_marginally),),
    ReasonCode.ACTIVATION_AVERAGES: ((Model(cycle(5), np.arange(5.0), activation=0.5), chance_averages),),
    ReasonCode.ALMOST_SURELY: (
        (uneven(noise=Gaussian(0.3)), almost_surely),
        (uneven(noise=Gaussian(0.3), pressure="t^0.4"), almost_surely),
    ),
    ReasonCode.MEAN_SQUARE_ONLY: ((uneven(noise=Gaussian(0.3), pressure="log(1+t)"), not_almost_surely),),
    ReasonCode.MEAN_SQUARE: (
        (uneven(noise=Laplace(0.3, time_scale="log(2+t)^-0.1"), pressure="log(1+t)^0.9"), perhaps_almost_surely),
    ),
    ReasonCode.CONTINUOUS_DAMPING: ((SDE(Model(k2(), [0, 1], [1, 3], pressure=Power(1.5)), step=0.1), damped),),
    ReasonCode.LIMIT_IS_V: (
        (uneven(pressure="t^1.05"), keeps_nothing),
        (Model(path(4), [-3, -1, 1, 3], [1, 3, 3, 1], adaptation=0.1), mirrored),
    ),
    ReasonCode.LIMIT_UNRESOLVED: (
        (Model(CHANGING["isolated"], SIX, adaptation=Adaptation("1/(1+t)", [1, 1, 1, 1, 1, 0])), not_resolved),
    ),
    ReasonCode.SIDES_AGREE: (
        (Model(path(4), [0, 1, 1, 0], pressure=Power(2)), sides_agree),
        (Model(cycle(4), [0, 0, 1, 1], [1, 1, 3, 3], pressure=Power(2)), sides_agree),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_NOISE: (
        (
            uneven(pressure="1/t^0.5", adaptation=Adaptation("1/(1+t)^0.5"), noise=Gaussian(0.3, time_scale="1/t")),
            noise_in_the_limit,
        ),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_NETWORK: (
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], adaptation=0.1), other_records),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_UPDATES: (
        (
            Model(barabasi_albert(2_000, 2, seed=1), np.geomspace(1e-4, 1, 2_000), pressure=Power(2), activation=0.5),
            other_updates,
        ),
    ),
    ReasonCode.LIMIT_UNBOUNDED: (
        (uneven(pressure=Power(2), noise=Gaussian(0.5, time_scale=Power(1.8))), variance_unbounded),
        (
            uneven(pressure=Power(2), noise=Gaussian(0.5, temporal="frozen", time_scale=Power(1.5))),
            variance_unbounded,
        ),
    ),
    ReasonCode.ISOLATED_SOURCE: ((Model(CHANGING["one alone"], SIX), one_source),),
    ReasonCode.DEGREES_CHANGE: ((Model(CHANGING["star and ring"], SIX), weights_of_degrees),),
    ReasonCode.EARLY_NOISE_KEPT: (
        (uneven(adaptation=1.0, noise=Gaussian(0.3)), early_noise),
        (uneven(adaptation=1.0, noise=FROZEN, pressure=Power(2)), early_noise),
    ),
    ReasonCode.OPINIONS_MOVED: ((uneven(adaptation=Adaptation("1/(2*t^2)")), moved_first),),
    ReasonCode.BIPARTITE_COMPONENTS: (
        (Model(in_rounds(LINE, [(0, 1), (1, 2), (3, 4)], periodic=False), SIX, pressure=Power(2)), exchanging),
        (Model(star(4), **ODD, pressure=Power(2), adaptation=Adaptation("1/(2*t^2)")), exchanging),
    ),
    ReasonCode.PARITY_OF_PRESSURE: ((Model(star(4), **ODD, pressure="t*(2+cos(pi*t))"), parity),),
    ReasonCode.PHASES_DRIVEN_BY_NOISE: (
        (Model(star(4), **ODD, noise=Gaussian(0.5, time_scale=Power(0.6))), driven_phases),
        (Model(CIRCLE, [0, 1, 5], noise=Gaussian(0.5, time_scale=Power(0.6))), driven_phases),
        (Model(CHANGING["groups"], SIX, noise=Gaussian(0.5, time_scale=Power(0.6))), driven_components),
    ),
    ReasonCode.CLASSES_DRIVEN_BY_NOISE: (
        (Model(CHANGING["two closed classes"], [1.0] * 6, noise=FROZEN), driven_classes),
    ),
    ReasonCode.OWN_OPINIONS: (
        (Model(CHANGING["ends"], SIX), own_opinions),
        (Model(CHANGING["ends"], SIX, noise=Gaussian(0.3)), own_opinions),
    ),
    ReasonCode.KEPT_OPINIONS: ((Model(CHANGING["ends"], SIX, isolated="keep"), kept_opinions),),
    ReasonCode.OWN_NOISE: (
        (uneven(pressure=1, adaptation=Adaptation("1/(1+t)^0.8"), noise=Gaussian(0.3)), hidden_agree),
    ),
    ReasonCode.OWN_NOISE_KEPT: (
        (uneven(pressure=1, adaptation=Adaptation(0.1, [1, 1, 1, 0]), noise=Gaussian(0.3)), hidden_follow),
        (Model(CHANGING["isolated"], SIX, adaptation=0.5, noise=Gaussian(0.3)), isolated_follow),
    ),
    ReasonCode.BOUNDED_PRESSURE: (
        (uneven(pressure="2+sin(t)"), left_apart),
        (uneven(pressure=1, adaptation=Adaptation("1/(2*t^2)")), left_apart),
    ),
    ReasonCode.RANDOM_MEAN: (
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], pressure=3), random_means),
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5]), random_means),
    ),
    ReasonCode.RETURN_TO_OPINIONS: ((Model(edge_markovian(5, 0.3, 0.3, 400, seed=1), SIX[:5], pressure=3), returning),),
    ReasonCode.FLUCTUATION_UNKNOWN: (
        (uneven(pressure="2+sin(t)", noise=Gaussian(0.3)), keeps_moving),
        (Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)), keeps_moving),
    ),
    ReasonCode.FROZEN_SHIFT: ((uneven(pressure="2+sin(t)", noise=FROZEN), shifted_once),),
    ReasonCode.COMPONENT_LIMIT: tuple(
        (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), component_values)
        for parts in ({}, {"noise": Gaussian(0.3)}, {"noise": FROZEN}, {"adaptation": 0.5})
    ),
    ReasonCode.COMPONENT_MEAN: tuple(
        (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), component_means)
        for parts in (
            {"noise": Gaussian(0.3)},
            {"noise": RISING},
            {"noise": Gaussian(0.3), "adaptation": 1.0},
        )
    ),
    ReasonCode.COMPONENT_LIMITS_DIFFER: ((Model(CHANGING["groups"], SIX), values_differ),),
    ReasonCode.COMPONENTS_NOT_NAMED: ((Model(in_rounds(LINE, [(0, 1), (2, 3)], periodic=False), SIX), not_named),),
    ReasonCode.ISOLATED_RANDOM_WALKS: (
        (Model(CHANGING["groups"], SIX, adaptation=1.0, noise=Gaussian(0.3)), alone_on_walks),
        (uneven(pressure="1/t^2", adaptation=0.1, noise=Gaussian(0.3)), alone_on_walks),
    ),
    ReasonCode.COMPONENTS_WANDER: (
        (
            Model(
                in_rounds(LINE, TRIANGLES, periodic=False),
                SIX,
                adaptation=1.0,
                noise=Gaussian(0.3, time_scale="t^0.6"),
            ),
            components_wander,
        ),
    ),
    ReasonCode.ISOLATED_SOURCES: ((Model(CHANGING["in turn"], SIX), several_sources),),
    ReasonCode.SEVERAL_CLOSED_CLASSES: (
        (Model(CHANGING["two closed classes"], SIX), never_mix),
        (Model(CHANGING["pairs"], SIX, pressure=Power(2)), never_mix),
    ),
    ReasonCode.CYCLE_RANGE: tuple(
        (Model(CHANGING[name], SIX), cycle_range) for name in ("two closed classes", "in turn", "isolated")
    ),
    ReasonCode.FINITE_HORIZON: ((uneven(pressure=[1.0, 2.0, 5.0]), start_share),),
}

# Codes of sentences that repeat what is given or say what was not done; their numbers are compared with the input.
NO_CLAIM = frozenset(
    {
        ReasonCode.NOISE_WITHOUT_LIMIT,
        ReasonCode.PRESSURE_WITHOUT_LIMIT,
        ReasonCode.TWO_CLOCKS,
        ReasonCode.TOO_LARGE,
        ReasonCode.UNRESOLVED_MODES,
        ReasonCode.PRESSURE_GROWTH,
        ReasonCode.PERIOD_TOO_LONG,
        ReasonCode.NETWORK_RECORDED,
        ReasonCode.RANDOM_NETWORK,
        ReasonCode.BEYOND_RECORD,
        ReasonCode.NETWORK_REPEATS,
        ReasonCode.ACTIVATION,
        ReasonCode.ACTIVATION_TABLE,
        ReasonCode.UNKNOWN_GROWTH,
        ReasonCode.UNKNOWN_NOISE,
        ReasonCode.UNKNOWN_ADAPTATION,
        ReasonCode.UNKNOWN_LAW,
        ReasonCode.NETWORK_NOT_COVERED,
        ReasonCode.ACTIVATION_NOT_COVERED,
        ReasonCode.TOO_MANY_CLASSES,
        ReasonCode.NO_HORIZON,
        ReasonCode.NOT_COMPUTED,
        ReasonCode.OPTIMUM_CONTINUOUS,
        ReasonCode.OPTIMUM_TOO_LARGE,
        ReasonCode.SETTLING_TOO_LARGE,
        ReasonCode.SETTLING_NO_RANGE,
    }
)


def test_every_code_is_confirmed_or_makes_no_claim() -> None:
    # A new code belongs to CONFIRMED, with its recursion.
    groups = [set(CONFIRMED), NO_CLAIM]
    assert set().union(*groups) == set(ReasonCode)
    assert sum(map(len, groups)) == len(ReasonCode)
    assert all(CONFIRMED.values())


def restated(verdict: Verdict, code: ReasonCode) -> dict[str, Any]:
    assert code in codes(verdict), verdict.reason
    return values(verdict, code)


def test_numbers_of_networks_are_those_of_the_input() -> None:
    record = failing_edges(cycle(5), 0.4, 30, seed=1)
    assert record.last_change <= 30
    beyond = diagnose(Model(record, SIX[:5], pressure=3), 40)
    assert restated(beyond, ReasonCode.BEYOND_RECORD) == {"steps": 40, "t": record.last_change}
    assert restated(beyond, ReasonCode.RANDOM_NETWORK) == {"process": "failing edges"}
    events = TemporalNetwork.from_events([(1, 0, 1), (7, 1, 2)])
    assert restated(diagnose(Model(events, [0.0, 1.0, 2.0])), ReasonCode.NETWORK_RECORDED) == {"t": 7}
    model = Model(CHANGING["pairs"], SIX)
    assert restated(diagnose(model), ReasonCode.NETWORK_REPEATS) == {"period": 2}
    for t in (1, 2):
        np.testing.assert_array_equal(model.adjacency_at(t).toarray(), model.adjacency_at(t + 2).toarray())


def test_a_period_that_is_too_long_is_that_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.theory._recurrence.LARGEST", 11)
    monkeypatch.setattr("peerpressure.theory._limit_operator.LONGEST_BLOCK", 1)
    verdict = diagnose(Model(CHANGING["star and ring"], SIX))
    assert restated(verdict, ReasonCode.PERIOD_TOO_LONG) == {"period": 2}
    assert ReasonCode.UNKNOWN_GROWTH in codes(verdict)


def test_who_updates_is_as_given() -> None:
    random = restated(diagnose(Model(cycle(5), SIX[:5], activation=0.25)), ReasonCode.ACTIVATION)
    assert random["activation"] == "each agent updates with probability 0.25"
    table = diagnose(Model(cycle(5), SIX[:5], activation=np.ones((3, 5))))
    assert restated(table, ReasonCode.ACTIVATION_TABLE) == {"steps": 3}
    # Who updates is not random, which is one of the premises that are named.
    assert ReasonCode.ACTIVATION_NOT_COVERED in codes(table)


@pytest.mark.parametrize(
    ("pressure", "bounds"),
    [
        ("t^0.5", lambda t: (t**0.5, t**0.5)),
        ("t*(2+sin(t))", lambda t: (t, 3 * t)),
        ("2+sin(t)", lambda t: (1 + 0 * t, 3 + 0 * t)),
        ("t*log(1+t)", lambda t: (t * np.log(t), 1.1 * t * np.log(t))),
        ("1/t^2", lambda t: (t**-2, t**-2)),
    ],
    ids=["root", "between lines", "between numbers", "with a logarithm", "to 0"],
)
def test_pressure_grows_as_its_sentence_says(pressure: str, bounds: Callable[[Array], tuple[Array, Array]]) -> None:
    texts = {
        "t^0.5": "grows like t^0.5",
        "t*(2+sin(t))": "between t and 3 t",
        "2+sin(t)": "between 1 and 3",
        "t*log(1+t)": "grows like t log t",
        "1/t^2": "falls like t^−2",
    }
    model = uneven(pressure=pressure)
    found = restated(diagnose(model), ReasonCode.PRESSURE_GROWTH)
    assert texts[pressure] in found["basis"]
    t = np.geomspace(100, 1e6, 5_000)
    rho, (low, high) = model.pressure.pressure(t), bounds(t)
    assert np.all((low * (1 - 1e-9) <= rho) & (rho <= high * (1 + 1e-9)))
    assert found["regime"] in {"slow", "marginal", "bounded"}


def test_what_is_not_known_is_not_given() -> None:
    table = Table([1.0, 2.0])
    for parts, code in (
        ({"pressure": table}, ReasonCode.UNKNOWN_GROWTH),
        ({"noise": Gaussian(0.3, time_scale=table)}, ReasonCode.UNKNOWN_NOISE),
        ({"adaptation": Adaptation(table)}, ReasonCode.UNKNOWN_ADAPTATION),
    ):
        assert code in codes(diagnose(uneven(**parts)))
    # Nothing says how these go on.
    with pytest.raises(InvalidInputError):
        table(np.array([3.0]))


def test_a_process_without_a_result_is_not_one_of_those_with_one() -> None:
    processes = edge_markovian(cycle(5), 0.2, 0.3, 40, seed=1), gossip(cycle(5), 40, seed=1)
    remembers, independent = (diagnose(Model(each, SIX[:5], isolated="keep", pressure=Power(2))) for each in processes)
    assert ReasonCode.UNKNOWN_LAW in codes(remembers)
    assert ReasonCode.UNKNOWN_LAW not in codes(independent)


def test_forecasts_in_continuous_time_are_exact_on_networks_that_repeat() -> None:
    model = Model(in_rounds([(0, 1), (1, 2)], [(0, 2), (1, 2)], n=3), [0.0, 1.0, 5.0], [1.0, 2.0, 3.0], pressure=2)
    verdict = diagnose(SDE(model, step=0.25), 12)
    assert ReasonCode.PERIODIC_LAW in codes(verdict)
    assert verdict.forecast is not None
    y, step = model.start_state.copy(), 1e-3
    for k in range(3_000):
        A = model.adjacency_at(int(k * step) + 1).toarray()

        def slope(y: Array, A: Array = A) -> Array:
            return np.asarray((model.s * model.x0 + 2 * (A @ y)) / (model.s + 2 * A.sum(axis=1)) - y)

        y = y + step * slope(y + step / 2 * slope(y))
    np.testing.assert_allclose(verdict.forecast.mean, y, atol=1e-5)


def test_networks_without_a_result_have_the_premises_that_are_named() -> None:
    open_cases: list[dict[str, Any]] = [{"noise": Gaussian(0.3, time_scale="t^0.6")}]
    for parts in open_cases:
        model = Model(HERALDS, [0, 1, 2], **parts)
        found = restated(diagnose(model), ReasonCode.NETWORK_NOT_COVERED)
        assert found == {"classes": 2}
    # Growing pressure and bounded noise, or bounded pressure and equal opinions, are covered.
    covered: list[dict[str, Any]] = [{}, {"noise": Gaussian(0.3)}, {"noise": Gaussian(0.3), "pressure": 2.0}]
    covered.append({"adaptation": 0.1})
    for parts in covered:
        assert ReasonCode.NETWORK_NOT_COVERED not in codes(diagnose(Model(HERALDS, [1, 1, 1], **parts)))


def test_too_many_classes_are_counted() -> None:
    pairs = Network(np.kron(np.eye(1_001), [[0, 1], [1, 0]]))
    found = restated(diagnose(Model(pairs, np.arange(2_002.0))), ReasonCode.TOO_MANY_CLASSES)
    assert found == {"classes": 1_001, "most": 1_000}


def test_a_number_of_steps_replaces_the_advice_to_give_one() -> None:
    model = uneven(pressure="t^(1+sin(t))")
    assert ReasonCode.NO_HORIZON in codes(diagnose(model))
    assert restated(diagnose(model, 20), ReasonCode.FINITE_HORIZON)["steps"] == 20
    start_share(model, restated(diagnose(model, 20), ReasonCode.FINITE_HORIZON))


@pytest.mark.parametrize("noise", [Gaussian(0.3, time_scale="1/t"), Gaussian(0.3, temporal="frozen", time_scale="1/t")])
@pytest.mark.parametrize("parts", [{"network": PAIRS}, {"network": cycle(4), "activation": 0.5}], ids=["pairs", "some"])
def test_noise_that_fades_is_not_said_to_move_or_shift_agents(noise: Gaussian, parts: dict[str, Any]) -> None:
    found = codes(diagnose(Model(hidden=[0, 1, 2, 3], pressure=2, noise=noise, **parts)))
    assert ReasonCode.FLUCTUATION_FADES in found
    assert not found & {ReasonCode.FLUCTUATION_UNKNOWN, ReasonCode.FROZEN_SHIFT}


def test_constant_hidden_opinions_are_not_said_to_follow_noise() -> None:
    verdict = diagnose(Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)))
    assert "hidden opinion" not in verdict.reason


def test_camps_are_named_only_where_there_are_camps() -> None:
    assert "camp" not in diagnose(Model(PAIRS, [0, 1, 0, 1], noise=RISING)).reason
    assert "second of two camps" in diagnose(Model(DIVIDED, [1, 2, 6, 0], noise=RISING)).reason


@pytest.mark.parametrize(
    ("code", "model", "check"),
    [(code, model, check) for code, cases in CONFIRMED.items() for model, check in cases],
    ids=lambda value: value.value if isinstance(value, ReasonCode) else "",
)
def test_a_recursion_confirms_the_sentence(code: ReasonCode, model: Model, check: Check) -> None:
    verdict = diagnose(model)
    assert code in codes(verdict), verdict.reason
    found = next(reason for reason in verdict.reasons if reason.code is code)
    assert str(found)
    if ReasonCode.START_REMEMBERED in codes(verdict):
        assert verdict.rate.regime is Regime.FAST
    check(model, dict(found.values))


def test_frozen_noise_in_two_pairs_is_printed_with_its_deviation() -> None:
    verdict = diagnose(Model(PAIRS, [0, 1, 0, 1], noise=FROZEN))
    assert verdict.reason.count("converges to 0.5 ± 0.21") == 2


def test_phases_have_the_signs_of_camps() -> None:
    model = Model(ENEMIES, [0, 1], pressure=Power(2))
    limit = diagnose(model).consensus_limit
    assert limit is not None
    assert limit.phases is not None
    for t in (1_000, 1_001):
        np.testing.assert_allclose(limit.phases.at(t)[0], state(model, t), atol=1e-3)


def test_phases_without_camps_are_as_before() -> None:
    model = Model(k2(), [0, 1], pressure=Power(2))
    limit = diagnose(model).consensus_limit
    assert limit is not None
    assert limit.phases is not None
    np.testing.assert_allclose(limit.phases.at(1_001)[0], state(model, 1_001), atol=1e-3)


def test_a_range_of_one_value_is_not_printed_as_a_range() -> None:
    text = diagnose(Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf])).reason
    assert "from 10 to 10" not in text
    assert "the mean limit is 10." in text


def test_noise_that_is_drawn_once_and_fades_is_not_said_to_average_out() -> None:
    model = uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"))
    assert "averages out" not in diagnose(model).reason


def test_the_variance_of_fading_noise_has_no_growth_per_step() -> None:
    noise = Gaussian(0.1, time_scale="t^-0.5")
    verdict = diagnose(Model(complete(4), **ODD, pressure=1, adaptation=0.01, noise=noise))
    assert "per step" not in verdict.reason
    assert values(verdict, ReasonCode.RANDOM_WALK_UNBOUNDED)["mean"] == pytest.approx(
        mean_path(Model(complete(4), **ODD, pressure=1, adaptation=0.01), 4_000)[0][-1].mean(), rel=1e-3
    )


@pytest.mark.parametrize("n", [600, 900, 1_100])
def test_frozen_noise_is_said_to_shift_agents_at_every_size(n: int) -> None:
    model = Model(barabasi_albert(n, 2, seed=1), np.linspace(0, 1, n), pressure=1, noise=FROZEN)
    text = diagnose(model).reason
    assert "Frozen noise shifts them once and for all" in text
    assert "moving" not in text


def test_an_average_that_never_settles_has_no_number() -> None:
    noise = Gaussian(0.3, temporal="frozen", time_scale="2 + sin(log(t))")
    text = diagnose(uneven(noise=noise)).reason
    assert "plus an error that no waiting removes" in text
    assert "nan" not in text
