"""What each sentence of a verdict claims, as a check against recursions, and models that show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure import SDE, Gaussian, Model, Network, diagnose
from peerpressure.networks import cycle, failing_edges
from peerpressure.noise import Laplace, NoNoise
from peerpressure.theory import consensus_mode, moments
from tests.theory.laws import Array, law_after, law_of_public, limit_of, mean_after, mean_path, rounds_of, std_after
from tests.theory.reasons import known

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


def mode_std(model: Model, steps: int) -> float:
    """Return the standard deviation of the consensus mode, whose weights are written out: d/Σd."""
    weights = model.network.degrees / model.network.degrees.sum()
    if model.n > 12:
        return float(moments(model, steps, of=weights).std[-1, 0])
    return math.sqrt(float(weights @ law_after(model, steps)[1][: model.n, : model.n] @ weights))


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
    return np.asarray(mean_path(other, steps)[0][-1] - mean_path(model, steps)[0][-1])


def groups_of(A: Array) -> list[NDArray[np.intp]]:
    """Return the components of a matrix, by the powers of which agents reach which."""
    reached = np.linalg.matrix_power(np.eye(len(A)) + A, len(A)) > 0
    return [np.flatnonzero(row) for row in np.unique(reached, axis=0)]


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


def flow(model: Model, y: Array, begin: float, end: float, step: float = 2e-3) -> Array:
    """Return the solution of dy/dt = g x₀ + C y − y, by the midpoint rule."""
    A, d = model.network.adjacency.toarray(), model.network.degrees

    def slope(t: float, y: Array) -> Array:
        rho = float(model.pressure.pressure(np.array([max(t, 1e-9)]))[0])
        return np.asarray((model.s * model.x0 + rho * (A @ y)) / (model.s + rho * d) - y)

    for t in np.arange(begin, end - step / 2, step):
        y = y + step * slope(t + step / 2, y + step / 2 * slope(t, y))
    return y


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


def classes_of(model: Model) -> list[NDArray[np.intp]]:
    """Return who hears nobody else over two steps at high pressure, class by class."""
    first, second = (A / A.sum(axis=1)[:, None] for A in rounds_of(model))
    reached = np.linalg.matrix_power(np.eye(model.n) + second @ first, model.n) > 1e-12
    closed = {tuple(row) for k, row in enumerate(reached) if all(reached[other][k] for other in np.flatnonzero(row))}
    return [np.flatnonzero(row) for row in closed]


def cycling(model: Model, numbers: Mapping[str, Any]) -> None:
    cycle = mean_path(model, 600)[0][-numbers["period"] :]
    assert [cycle.min(), cycle.max()] == pytest.approx([numbers["low"], numbers["high"]], rel=DIGITS)
    assert np.ptp(cycle, axis=0).max() > 0.01


def spanning(model: Model, numbers: Mapping[str, Any]) -> None:
    late = mean_path(model, 4_000)[0][-1]
    assert [late.min(), late.max()] == pytest.approx([numbers["low"], numbers["high"]], rel=DIGITS)


def settling_at_random(model: Model, numbers: Mapping[str, Any]) -> None:
    early, late = moments(model, 2_000, times=[1_000, 2_000]).std
    assert late.max() == pytest.approx(numbers["high"], rel=DIGITS)
    np.testing.assert_allclose(early, late, atol=1e-3)
    assert np.count_nonzero(late > 1e-3) == numbers["agents"]


def moving(model: Model, numbers: Mapping[str, Any]) -> None:
    late = moments(model, 800).std[-1]
    assert late.max() == pytest.approx(numbers["high"], rel=DIGITS)
    assert np.count_nonzero(late > 0.05) == numbers["agents"]


def unbounded_by(power: float) -> Check:
    """Return the check that variances of the agents who are counted grow like a power of t."""

    def check(model: Model, numbers: Mapping[str, Any]) -> None:
        early, late = moments(model, 4_000, times=[2_000, 4_000]).variance
        grows = late > 1.5 * early
        assert np.count_nonzero(grows) == numbers["agents"]
        np.testing.assert_allclose((late / early)[grows], 2**power, rtol=0.03)

    return check


def all_on_v(model: Model, numbers: Mapping[str, Any]) -> None:
    early, late = (np.abs(mean_after(model, T) - numbers["v"]).max() for T in (100, 4_000))
    assert late < 0.1 * early < 0.1


def start_kept(model: Model, numbers: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    assert np.abs(mean_after(other, 4_000) - mean_after(model, 4_000)).min() > 0.01


def all_on_mean(model: Model, numbers: Mapping[str, Any]) -> None:
    np.testing.assert_allclose(limit_of(model), numbers["mean"], atol=numbers.get("error", 0.0) + 1e-5)
    assert model.consensus_value == pytest.approx(numbers["v"])


def odd_cycle(model: Model, numbers: Mapping[str, Any]) -> None:
    assert np.ptp(mean_after(model, 4_000)) < 1e-3


def rotating(model: Model, numbers: Mapping[str, Any]) -> None:
    path = [mean_after(model, 3_000 + k) for k in range(numbers["period"] + 1)]
    np.testing.assert_allclose(path[0], path[-1], atol=1e-6)
    assert all(np.abs(path[0] - other).max() > 0.01 for other in path[1:-1])


def two_phases(model: Model, numbers: Mapping[str, Any]) -> None:
    # Steps of equal parity, as the phases alternate.
    even, odd = (2 * mean_after(model, 4_000 + k) - mean_after(model, 2_000 + k) for k in (0, 1))
    sides = known(model.network.sides)
    for now, then in ((even, odd), (odd, even)):
        assert np.ptp(now[sides]) < 1e-3
        np.testing.assert_allclose(now[sides], then[~sides][0], atol=1e-3)
    np.testing.assert_allclose(sorted([even[0], odd[0]]), sorted([numbers["first"], numbers["second"]]), atol=1e-4)
    if not model.noise.is_zero:
        stds = np.array([std_after(model, 1_000 + k)[0] for k in (0, 1)])
        assert math.sqrt(float(np.mean(stds**2))) == pytest.approx(numbers["std"], abs=2e-3)


def phases_of_camps(model: Model, numbers: Mapping[str, Any]) -> None:
    path = np.stack([mean_after(model, 4_000), mean_after(model, 4_001)])
    first, second = (np.sort(path[:, model.network.camps == camp], axis=0) for camp in (1, -1))
    np.testing.assert_allclose(first.T, [sorted([numbers["first"], numbers["second"]])], atol=1e-3)
    np.testing.assert_allclose(second.T, [sorted([-numbers["first"], -numbers["second"]])], atol=1e-3)


def opposite_camps(model: Model, numbers: Mapping[str, Any]) -> None:
    late = model.network.camps * mean_after(model, 4_000)
    assert np.ptp(late) < 0.01 * np.abs(late).max()
    assert (numbers["first"], numbers["second"]) == tuple(np.count_nonzero(model.network.camps == c) for c in (1, -1))


def class_values(model: Model, numbers: Mapping[str, Any]) -> None:
    (agents, *_) = model.network.closed_classes
    np.testing.assert_allclose(
        np.abs(limit_of(model)[agents]), abs(numbers["mean"]), atol=5e-4 * abs(numbers["mean"]) + 1e-5
    )
    assert numbers["agents"] == agents.size
    if numbers["std"]:
        np.testing.assert_allclose(std_after(model, 2_000)[agents], numbers["std"], rtol=2e-2)


def class_unbounded(model: Model, numbers: Mapping[str, Any]) -> None:
    (agents, *_) = model.network.closed_classes
    stds = [std_after(model, steps)[agents] for steps in (20, 200, 2_000)]
    # 1 + log t grows by log 10 in a decade, and the deviation with it.
    assert np.all(np.diff(stds, axis=0) > 0.4 * 0.3 / math.sqrt(agents.size))
    np.testing.assert_allclose(np.abs(limit_of(model)[agents]), abs(numbers["mean"]), atol=1e-4)


def on_zero(model: Model, numbers: Mapping[str, Any]) -> None:
    assert np.abs(mean_after(model, 100)).max() > 0.01
    np.testing.assert_allclose(limit_of(model), 0.0, atol=1e-5)


def others_follow(model: Model, numbers: Mapping[str, Any]) -> None:
    outside = np.setdiff1d(np.arange(model.n), np.concatenate(model.network.closed_classes))
    late = limit_of(model)[outside]
    np.testing.assert_allclose([late.min(), late.max()], [numbers["low"], numbers["high"]], rtol=5e-5)
    moved = Model(model.network, model.x0 + np.isin(np.arange(model.n), outside), model.s, model.pressure)
    np.testing.assert_allclose(limit_of(moved)[outside], late, atol=1e-4)
    assert numbers["agents"] == outside.size


def silent_noise(model: Model, numbers: Mapping[str, Any]) -> None:
    silent = model.network.degrees == 0
    np.testing.assert_allclose(std_after(model, 500)[silent], model.noise.deviations(model.n)[silent])
    assert numbers["agents"] == np.count_nonzero(silent)


def averages(model: Model, numbers: Mapping[str, Any]) -> None:
    times = np.array([800, 3_200])
    early, late = (mode_std(model, T) for T in times.tolist())
    # The variance falls like σ_t²/ρ_t.
    share = model.noise.scale(times.astype(float)) ** 2 / model.pressure(times.astype(float))
    assert late / early == pytest.approx(float(np.sqrt(share[1] / share[0])), rel=0.02)
    assert bool(numbers["scale"]) == bool(np.ptp(model.noise.scale(np.arange(1.0, 9.0))))
    weights = model.s / model.s.sum()
    assert numbers["sigma"] == pytest.approx(np.linalg.norm(weights * model.noise.deviations(model.n)), rel=DIGITS)


def averages_slowly(model: Model, numbers: Mapping[str, Any]) -> None:
    averages(model, numbers)
    # The next order is smaller by 1/ρ_t, which two horizons remove.
    shares = []
    for T in (800, 3_200):
        sigma = numbers["sigma"] * float(model.noise.scale(T))
        shares.append(mode_std(model, T) ** 2 / (model.kappa * sigma**2 / (2 * float(model.pressure(T)))))
    assert 2 * shares[1] - shares[0] == pytest.approx(1.0, abs=1e-2)


def noise_fades(model: Model, numbers: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (100, 1_000, 10_000)]
    assert stds[2] < 0.5 * stds[1] < 0.25 * stds[0]
    # It follows its own scale and not the root of the number of draws.
    assert stds[2] / stds[1] == pytest.approx(float(model.noise.scale(10_000) / model.noise.scale(1_000)), rel=0.15)


def memory(model: Model, numbers: Mapping[str, Any]) -> None:
    white = Model(model.network, model.x0, model.s, model.pressure, Gaussian(0.3))
    ratio = (mode_std(model, 4_000) / mode_std(white, 4_000)) ** 2
    assert numbers["factor"] == pytest.approx(ratio, rel=DIGITS)


def frozen_limit(model: Model, numbers: Mapping[str, Any]) -> None:
    all_on_mean(model, numbers)
    np.testing.assert_allclose(2 * std_after(model, 2_000) - std_after(model, 1_000), numbers["std"], rtol=DIGITS)


def frozen_growth(model: Model, numbers: Mapping[str, Any]) -> None:
    # The deviation follows 1 + log t: it grows by equal amounts in each doubling, and so without bound.
    at = [mode_std(model, T) for T in (2_000, 4_000, 8_000)]
    sigma = float(np.linalg.norm(model.s / model.s.sum() * model.noise.deviations(model.n)))
    np.testing.assert_allclose(np.diff(at), sigma * math.log(2), rtol=0.02)
    np.testing.assert_allclose(limit_of(model, 8_000), numbers["mean"], atol=1e-5)


def stationary(model: Model, numbers: Mapping[str, Any]) -> None:
    late = mean_after(model, 2_000)
    assert [late.min(), late.max()] == pytest.approx([numbers["low"], numbers["high"]], rel=5e-4, abs=1e-4)


def unmoved(model: Model, numbers: Mapping[str, Any]) -> None:
    np.testing.assert_array_equal(std_after(model, 50), 0.0)
    np.testing.assert_allclose(mean_after(model, 2_000), mean_after(model, 2_001), atol=1e-12)


def moves_with_pressure(model: Model, numbers: Mapping[str, Any]) -> None:
    path = mean_path(model, 2_000)[0]
    assert np.ptp(path[-7:], axis=0).max() > 0.01
    assert np.ptp(path[-7:], axis=1).min() > 0.1


def deviations(model: Model, numbers: Mapping[str, Any]) -> None:
    std = std_after(model, 400)
    assert [std.min(), std.max()] == pytest.approx([numbers["low"], numbers["high"]], rel=DIGITS)
    mode_deviation(model, numbers)


def mode_deviation(model: Model, numbers: Mapping[str, Any]) -> None:
    assert numbers["std"] == pytest.approx(mode_std(model, 200), rel=DIGITS)
    if np.ptp(model.network.degrees) == 0:
        return
    # The plain average has another one, which the sentence does not speak of.
    plain = float(moments(model, 200, of=np.full(model.n, 1 / model.n)).std[-1, 0])
    assert abs(numbers["std"] - mode_std(model, 200)) < 0.1 * abs(numbers["std"] - plain)
    assert "weighted by degree" in numbers["deviations"]


def fluctuation_fades(model: Model, numbers: Mapping[str, Any]) -> None:
    assert std_after(model, 1_000).max() < 0.2 * std_after(model, 10).max()


def fluctuation_grows(model: Model, numbers: Mapping[str, Any]) -> None:
    assert std_after(model, 1_000).min() > 2 * std_after(model, 10).min()


def scatter(model: Model, numbers: Mapping[str, Any]) -> None:
    P = law_after(model, 2_000)[1]
    assert P[0, 0] + P[1, 1] - 2 * P[0, 1] > 1e-3


def balanced(model: Model, numbers: Mapping[str, Any]) -> None:
    d = model.network.degrees
    for T in (1, 10, 1_000):
        assert float(d @ mean_after(model, T) / d.sum()) == pytest.approx(numbers["v"])


def settled(model: Model, numbers: Mapping[str, Any]) -> None:
    np.testing.assert_allclose(mean_after(model, 500), model.x0[0])


def walk(model: Model, numbers: Mapping[str, Any]) -> None:
    w = consensus_mode(model).weights
    before, after = moments(model, 4_000, of=w, times=[2_000, 4_000]).variance[:, 0].tolist()
    assert (after - before) / 2_000 == pytest.approx(numbers["rate"], rel=0.02)
    assert float(mean_path(model, 2_000)[0][-1] @ w) == pytest.approx(numbers["mean"], rel=1e-3)


def unbounded_walk(model: Model, numbers: Mapping[str, Any]) -> None:
    w = consensus_mode(model).weights
    kept = w @ np.stack([mean_path(model, 2_000)[0][-1]]).T
    assert float(kept[0]) == pytest.approx(numbers["mean"], rel=1e-3)
    early, mid, late = moments(model, 16_000, of=w, times=[4_000, 8_000, 16_000]).variance[:, 0].tolist()
    # It grows like log t: by equal amounts in each doubling, and so by no constant amount per step.
    assert late > mid > early
    assert (late - mid) / (mid - early) == pytest.approx(1.0, abs=0.2)


def drift(model: Model, numbers: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (500, 1_000, 2_000)]
    assert stds[2] - stds[1] == pytest.approx(2 * (stds[1] - stds[0]), rel=0.1)


def slow_drift(model: Model, numbers: Mapping[str, Any]) -> None:
    times = (1_000, 2_000, 4_000)
    stds = [mode_std(model, T) for T in times]
    # It grows like log t: by equal amounts in each doubling.
    assert stds[2] - stds[1] == pytest.approx(stds[1] - stds[0], rel=0.02)
    # Who updates moves the common opinion by less and less.
    chance = [mode_std(replace(model, noise=NoNoise()), T) for T in times]
    assert chance[2] - chance[1] < 0.01 * (stds[2] - stds[1])


def unknown_phases(model: Model, numbers: Mapping[str, Any]) -> None:
    # Three turns that never mix: an opinion reaches an agent at every third step only.
    P = model.network.adjacency.toarray()
    np.testing.assert_array_equal(np.linalg.matrix_power(P, 3), np.eye(3))
    rho = model.pressure(np.arange(1.0, 3_001.0))
    assert not model.pressure.growth.is_regular
    assert np.any(np.diff(rho) < 0)
    assert np.any(np.diff(rho) > 0)


def follows(model: Model, numbers: Mapping[str, Any]) -> None:
    T, d = 4_000, model.network.degrees
    rho, laplacian = float(model.pressure(T)), model.network.laplacian.toarray()
    fixed = np.linalg.solve(np.diag(model.s) + rho * laplacian, model.s * model.x0)
    bias, lag = (float(d @ (y - model.consensus_value) / d.sum()) for y in (mean_after(model, T), fixed))
    assert bias == pytest.approx(lag, rel=0.05)
    early = float(d @ (mean_after(model, 1_000) - model.consensus_value) / d.sum())
    assert early / bias == pytest.approx(float(model.pressure(T) / model.pressure(1_000)), rel=0.05)


def counted_classes(model: Model, numbers: Mapping[str, Any]) -> None:
    reached = np.linalg.matrix_power(np.eye(model.n) + model.network.adjacency.toarray(), model.n) > 0
    assert numbers["classes"] == len({tuple(row) for row in reached})


def single_classes(model: Model, numbers: Mapping[str, Any]) -> None:
    silent = model.network.degrees == 0
    assert numbers["single"] == np.count_nonzero(silent)
    np.testing.assert_allclose(mean_after(model, 500)[silent], model.x0[silent])


def on_the_anchor(model: Model, numbers: Mapping[str, Any]) -> None:
    fixed = known(model.adaptation).adaptation_weights(model.n) == 0
    early, late = (np.abs(mean_path(model, T)[0][-1] - model.x0[fixed]).max() for T in (100, 10_000))
    assert late < 0.3 * early


def forgotten(model: Model, numbers: Mapping[str, Any]) -> None:
    assert np.ptp(mean_path(model, 2_000)[1][-1]) < 1e-6


def kept_in_part(model: Model, numbers: Mapping[str, Any]) -> None:
    left = np.prod(1 - known(model.adaptation).pace(np.arange(1.0, 1e5)))
    assert left > 0.1
    hidden = mean_path(model, 4_000)[1]
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=1e-3)
    assert np.ptp(hidden[-1]) > 0.1


def wanders(model: Model, numbers: Mapping[str, Any]) -> None:
    stds, P = [mode_std(model, T) for T in (400, 800)], law_after(model, 800)[1]
    assert stds[1] > 0.95 * stds[0] > 0.01
    assert P[0, 0] + P[1, 1] - 2 * P[0, 1] < 0.1 * P[0, 0]
    assert numbers["mean"] == pytest.approx(float(mean_after(model, 100_000).mean()), abs=0.02)


def slower(model: Model, numbers: Mapping[str, Any]) -> None:
    """Confirm both rates by what is left of the start between two steps: exp(−κ Σ 1/ρ)."""
    lost = float((1 / model.pressure(np.arange(501, 2_001))).sum())
    for rate, either in (("kappa", model), ("synchronous", model.synchronous)):
        kept = []
        for T in (500, 2_000):
            one, other = (law_of_public(replace(either, start=model.start_state + k), T)[0] for k in (0, 1))
            kept.append(float((other - one).mean()))
        assert math.log(kept[0] / kept[1]) / lost == pytest.approx(numbers[rate], rel=5e-3)
    # The two sides of an even cycle come together.
    if model.network.sides is not None:
        np.testing.assert_allclose(law_of_public(model, 500)[0], law_of_public(model, 501)[0], atol=2e-3)


def random_limit(model: Model, numbers: Mapping[str, Any]) -> None:
    mean, P = law_of_public(model, 2_000)
    np.testing.assert_allclose(mean, numbers["mean"], atol=2e-3)
    np.testing.assert_allclose(np.sqrt(np.diag(P)), numbers["std"], rtol=0.02)


def counted_components(model: Model, numbers: Mapping[str, Any]) -> None:
    groups = groups_of(rounds_of(model)[-1])
    assert (numbers["components"], numbers["single"]) == (len(groups), sum(group.size == 1 for group in groups))


def nobody_heard(model: Model, numbers: Mapping[str, Any]) -> None:
    assert not rounds_of(model)[-1].any()


def isolated_share(model: Model, numbers: Mapping[str, Any], keeps: bool) -> None:
    temporal = known(model.temporal_network)
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)])
    if temporal.law is None:
        who = silent.any(axis=0)
        assert (numbers["agents"], numbers["share"]) == (np.count_nonzero(who), silent[:, who].mean())
    public, _ = mean_path(model, 40)
    for t in range(1, 41):
        quiet = silent[(t - 1) % len(silent)]
        if temporal.law is None or t <= temporal.last_change:
            np.testing.assert_array_equal(public[t][quiet], (public[t - 1] if keeps else model.x0)[quiet])


def isolated_at_times(model: Model, numbers: Mapping[str, Any]) -> None:
    isolated_share(model, numbers, keeps=False)


def silent_at_times(model: Model, numbers: Mapping[str, Any]) -> None:
    isolated_share(model, numbers, keeps=True)


def both_edges_fail(model: Model, numbers: Mapping[str, Any]) -> None:
    # Each agent of a cycle has two edges, each of which fails with probability 0.4.
    assert (numbers["agents"], numbers["share"]) == (5, pytest.approx(0.4**2))
    isolated_share(model, numbers, keeps=False)


def not_in_the_pair(model: Model, numbers: Mapping[str, Any]) -> None:
    # One of five edges at a step, two of which are an agent's own.
    assert (numbers["agents"], numbers["share"]) == (5, pytest.approx(1 - 2 / 5))
    isolated_share(model, numbers, keeps=True)


def detached(model: Model, numbers: Mapping[str, Any]) -> None:
    public, hidden = mean_path(model, 4_000)
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=1e-3)
    np.testing.assert_allclose(public[-1], hidden[-1], atol=1e-3)
    assert np.ptp(hidden[-1]) > 0.1
    # The agents' own rate would never come to rest.
    assert np.prod(1 - known(model.adaptation).pace(np.arange(1.0, 4_001.0))) < 1e-9


def anchored(model: Model, numbers: Mapping[str, Any]) -> None:
    hidden = mean_path(model, 400)[1]
    still = np.ptp(hidden, axis=0) == 0
    assert numbers["agents"] == np.count_nonzero(still)
    assert np.all(np.abs(np.diff(hidden[:, ~still], axis=0)).max(axis=1) > 0)


def fades_marginally(model: Model, numbers: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    d, kept, added = model.network.degrees, [], []
    for T in (1_000, 16_000):
        kept.append(float(d @ (mean_after(other, T) - mean_after(model, T)) / d.sum()))
        added.append(float((1 / model.pressure(np.arange(1, T + 1))).sum()))
    assert math.log(kept[0] / kept[1]) == pytest.approx(model.kappa * (added[1] - added[0]), rel=1e-2)
    # A power of t would lose as much in each doubling.
    halves = [float((1 / model.pressure(np.arange(T, 2 * T))).sum()) for T in (1_000, 100_000)]
    assert halves[1] < 0.7 * halves[0]


def chance_averages(model: Model, numbers: Mapping[str, Any]) -> None:
    w = np.full(model.n, 1 / model.n)
    variances = [float(w @ law_of_public(model, T)[1] @ w) for T in (250, 1_000, 4_000)]
    # It falls like t^(−2κ), here t^(−1/2), as the start does.
    np.testing.assert_allclose(np.diff(np.log(variances)) / math.log(4), -0.5, rtol=0.01)


def almost_surely(model: Model, numbers: Mapping[str, Any]) -> None:
    first, second, third = recurrences(model, 0.25, (100, 800, 3_200))
    assert third < 0.5 * second < 0.25 * first


def not_almost_surely(model: Model, numbers: Mapping[str, Any]) -> None:
    first, second, third = recurrences(model, 0.25, (100, 800, 3_200))
    assert third > 1.5 * second > 2 * first
    assert mode_std(model, 8_000) < mode_std(model, 100)


def perhaps_almost_surely(model: Model, numbers: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (100, 1_000, 8_000)]
    assert stds[2] < stds[1] < stds[0]
    # A draw moves an agent by ε with probability t^(−c ε): ρ_t/(σ_t log t) has a limit, and so it depends on ε.
    t = np.array([1e20, 1e40, 1e80])
    ratio = model.pressure.pressure(t) / (model.noise.time_scale.pressure(t) * np.log(t))
    np.testing.assert_allclose(ratio, 1.0, rtol=0.02)
    assert isinstance(model.noise, Laplace)


def damped(system: SDE, numbers: Mapping[str, Any]) -> None:
    model = system.model
    # The flow of one unit of time, late: one factor for the common value and one for the swing.
    zero, begin = flow(model, np.zeros(2), 400.0, 401.0), 400.0
    columns = [flow(model, unit, begin, begin + 1) - zero for unit in np.eye(2)]
    swing, common = np.sort(np.linalg.eigvals(np.stack(columns, axis=1)).real)
    assert swing == pytest.approx(math.exp(-2), rel=1e-2)
    assert common == pytest.approx(1.0, rel=1e-2)
    assert np.ptp(flow(model, model.start_state, 0.0, 20.0)) < 0.05


def keeps_nothing(model: Model, numbers: Mapping[str, Any]) -> None:
    """Continue the recursion of the common value, m ← m + κ(v − m)/ρ_t, from a late step on."""
    T, d = 4_000, model.network.degrees
    m = float(d @ mean_after(model, T) / d.sum())
    exponent = known(model.pressure.growth.exponent)
    later = T / (exponent - 1) / float(model.pressure(T))
    assert abs(m - numbers["v"]) * math.exp(-model.kappa * later) <= numbers["bound"]
    assert numbers["v"] == pytest.approx(float(model.s @ model.x0 / model.s.sum()))


def mirrored(model: Model, numbers: Mapping[str, Any]) -> None:
    # Opinions are the opposite of those of the mirror image, and v = 0 is the only value that is.
    np.testing.assert_allclose(mean_after(model, 4_000), -mean_after(model, 4_000)[::-1], atol=1e-12)
    assert abs(numbers["v"]) <= numbers["bound"] < 1e-6


def not_resolved(model: Model, numbers: Mapping[str, Any]) -> None:
    assert max(numbers["bias"], numbers["swing"]) <= numbers["resolution"]
    # It is not v, as a long recursion shows, but within the error that is stated.
    off = np.abs(mean_after(model, 2_000) - numbers["v"]).max()
    assert off <= numbers["bias"] + numbers["resolution"]


def sides_agree(model: Model, numbers: Mapping[str, Any]) -> None:
    assert model.network.sides is not None
    assert np.ptp(mean_after(model, 4_000)) < 1e-3
    np.testing.assert_allclose(mean_after(model, 4_000), mean_after(model, 4_001), atol=1e-3)


def noise_in_the_limit(model: Model, numbers: Mapping[str, Any]) -> None:
    stds = [std_after(model, T).min() for T in (100, 400)]
    assert min(stds) > 0.05
    assert model.adaptation is not None
    other = Model(
        model.network, model.x0, model.s, model.pressure, start=model.start_state + 1, adaptation=model.adaptation
    )
    assert np.abs(mean_after(other, 4_000) - mean_after(model, 4_000)).min() > 0.01


def other_records(model: Model, numbers: Mapping[str, Any]) -> None:
    ends = []
    for seed in (11, 12):
        record = failing_edges(cycle(5), 0.4, 400, seed=seed)
        ends.append(mean_after(Model(record, model.x0, model.s, model.pressure, adaptation=model.adaptation), 400))
    assert max(map(np.ptp, ends)) < 0.01
    assert abs(ends[0].mean() - ends[1].mean()) > 0.02
    assert min(abs(end.mean() - numbers["v"]) for end in ends) > 0.01


def other_updates(model: Model, numbers: Mapping[str, Any]) -> None:
    A, d, ends = model.network.adjacency, model.network.degrees, []
    for seed in (1, 2):
        rng, y = np.random.default_rng(seed), model.start_state.copy()
        for rho in model.pressure(np.arange(1, 401)):
            shown = (model.s * model.x0 + rho * (A @ y)) / (model.s + rho * d)
            y = np.where(rng.random(model.n) < 0.5, shown, y)
        ends.append(y)
    assert max(map(np.ptp, ends)) < 0.1 * abs(ends[0].mean() - ends[1].mean())
    assert min(abs(end.mean() - numbers["v"]) for end in ends) > 10 * max(map(np.ptp, ends))


def variance_unbounded(model: Model, numbers: Mapping[str, Any]) -> None:
    # Σ t^(−0.4) for noise that is drawn anew, and (Σ t^(−1/2))² for noise that is drawn once.
    stds = [mode_std(model, T) for T in (400, 6_400)]
    power = 1.0 if model.noise.autocorrelation == 1 else 0.6
    assert 2 * math.log(stds[1] / stds[0]) / math.log(16) == pytest.approx(power, abs=0.1)


def one_source(model: Model, numbers: Mapping[str, Any]) -> None:
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)]).any(axis=0)
    assert np.count_nonzero(silent) == 1
    source = int(np.flatnonzero(silent)[0])
    np.testing.assert_allclose(unlike(model, source), 1.0, atol=0.02)
    for agent in set(range(model.n)) - {source}:
        np.testing.assert_allclose(unlike(model, agent), 0.0, atol=0.02)


def weights_of_degrees(model: Model, numbers: Mapping[str, Any]) -> None:
    weights = np.array([unlike(model, agent).mean() for agent in range(model.n)])
    assert weights.sum() == pytest.approx(1.0)
    assert np.abs(weights - model.s / model.s.sum()).max() > 0.05
    degrees = np.stack([A.sum(axis=1) for A in rounds_of(model)])
    assert np.any(np.ptp(degrees, axis=0))


def early_noise(model: Model, numbers: Mapping[str, Any]) -> None:
    # At η = 1 a first draw moves agent 0 as a first hidden opinion that is higher by as much would.
    moved = replace(model, hidden=model.x0 + np.eye(model.n)[0], start=model.start_state)
    kept = mean_path(moved, 2_000)[0] - mean_path(model, 2_000)[0]
    assert np.abs(kept[-1]).min() > 0.01
    np.testing.assert_allclose(kept[-1], kept[1_000], rtol=0.02)


def moved_first(model: Model, numbers: Mapping[str, Any]) -> None:
    hidden = mean_path(model, 4_000)[1]
    assert np.abs(hidden[-1] - model.x0).max() > 0.1
    np.testing.assert_allclose(hidden[-1], hidden[2_000], atol=2e-3)


def exchanging(model: Model, numbers: Mapping[str, Any]) -> None:
    public, groups = mean_path(model, 4_002)[0], groups_of(rounds_of(model)[-1])
    np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
    moving = [group for group in groups if np.abs(public[-1] - public[-2])[group].max() > 0.01]
    assert (numbers["periodic"], numbers["components"]) == (len(moving), len(groups))


def parity(model: Model, numbers: Mapping[str, Any]) -> None:
    rho = model.pressure(np.arange(1.0, 1_001.0))
    assert rho[1::2].sum() > 1.5 * rho[::2].sum()
    public = mean_path(model, 8_000)[0]
    np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
    assert np.abs(public[-1] - public[-2]).max() > 0.1
    sides = known(model.network.sides)
    for side in (sides, ~sides):
        assert np.ptp(public[-1][side]) < 0.01


def driven_phases(model: Model, numbers: Mapping[str, Any]) -> None:
    """Confirm that what the parts of the network differ by grows with the noise."""
    agents = np.arange(model.n)
    part = agents % 3 if model.network.directed else np.asarray(model.network.sides).astype(int)
    w = consensus_mode(model).weights * np.where(part == 0, 1.0, 0.0)
    w = w / w.sum() - (others := consensus_mode(model).weights * (part == 1)) / others.sum()
    stds = [float(moments(model, T, of=w).std[-1, 0]) for T in (500, 4_000)]
    scale, rho = model.noise.scale(np.array([500.0, 4_000.0])), model.pressure(np.array([500.0, 4_000.0]))
    assert stds[1] / stds[0] == pytest.approx(float(np.sqrt((scale**2 / rho)[1] / (scale**2 / rho)[0])), rel=0.1)
    np.testing.assert_allclose(mean_after(model, 8_000), numbers["mean"], atol=5e-3)


def driven_components(model: Model, numbers: Mapping[str, Any]) -> None:
    # Components have values of their own, and no mean is named.
    assert math.isnan(numbers["mean"])
    assert np.ptp(mean_after(model, 4_000)) > 1


def driven_classes(model: Model, numbers: Mapping[str, Any]) -> None:
    draws = np.random.default_rng(3).normal(0, 0.3, (4, model.n))
    assert model.temporal_network is not None
    for draw in draws:
        public = mean_path(Model(model.temporal_network, model.x0 + draw, model.s, model.pressure), 4_001)[0]
        np.testing.assert_allclose(public[-1], public[-3], atol=1e-3)
        assert np.abs(public[-1] - public[-2]).max() > 0.01
    assert mean_after(model, 4_000) == pytest.approx(numbers["mean"])


def own_opinions(model: Model, numbers: Mapping[str, Any]) -> None:
    np.testing.assert_array_equal(mean_after(model, 5), model.x0)
    np.testing.assert_allclose(std_after(model, 5), model.noise.deviations(model.n))
    assert numbers["shows"].endswith("noise") == (not model.noise.is_zero)


def kept_opinions(model: Model, numbers: Mapping[str, Any]) -> None:
    public = mean_path(model, 5)[0]
    np.testing.assert_array_equal(public[-1], public[1])
    assert np.abs(public[-1] - model.x0).max() > 0.1


def hidden_agree(model: Model, numbers: Mapping[str, Any]) -> None:
    n, apart, own = model.n, [], []
    for T in (200, 3_200):
        mean, P = law_after(model, T)
        hidden = P[n : 2 * n, n : 2 * n]
        apart.append(float(np.ptp(mean[n : 2 * n])) + math.sqrt(hidden[0, 0] + hidden[1, 1] - 2 * hidden[0, 1]))
        own.append(P[0, 0] + P[1, 1] - 2 * P[0, 1])
    assert apart[1] < 0.5 * apart[0]
    assert min(own) > 0.01
    assert numbers["who"] == "all agents"
    # Slow adaptation conserves the mean weighted by stubbornness, up to the rate.
    w = model.s / model.s.sum()
    assert float(w @ mean[n : 2 * n]) == pytest.approx(numbers["mean"], abs=2e-3)
    # What later steps add to the variance falls like T^(1 − 2·0.8).
    earlier = law_after(model, 800)[1]
    now, before = (float(w @ each[n : 2 * n, n : 2 * n] @ w) for each in (P, earlier))
    share = 4.0 ** (1 - 2 * 0.8)
    assert math.sqrt(now + (now - before) * share / (1 - share)) == pytest.approx(numbers["std"], abs=5e-3)


def hidden_follow(model: Model, numbers: Mapping[str, Any]) -> None:
    n = model.n
    mean, P = law_after(model, 2_000)
    assert P[n, n] + P[n + 1, n + 1] - 2 * P[n, n + 1] > 1e-4
    assert np.diag(P)[:n].min() > 1e-3
    np.testing.assert_allclose(mean[:n], numbers["mean"], rtol=5e-4)


def isolated_follow(model: Model, numbers: Mapping[str, Any]) -> None:
    assert numbers["who"] == "agents who are isolated at times"
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)])
    mean, before = law_after(model, 1_601)[0], law_after(model, 1_600)
    A, rho = rounds_of(model)[0], float(model.pressure(1_601))
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
    assert float(np.delete(mean[:n], alone).mean()) == pytest.approx(numbers["mean"], rel=2e-3)


def left_apart(model: Model, numbers: Mapping[str, Any]) -> None:
    public = mean_path(model, 4_000)[0]
    assert np.ptp(public[2_000:], axis=1).min() > 0.1


def random_means(model: Model, numbers: Mapping[str, Any]) -> None:
    growing = Model(cycle(5), model.x0, model.s)
    mean = expected_means(growing, 1e9 if model.pressure.growth.bounded is False else float(model.pressure(1)))
    assert [numbers["low"], numbers["high"]] == pytest.approx([mean.min(), mean.max()], rel=5e-4)


def returning(model: Model, numbers: Mapping[str, Any]) -> None:
    rounds, public = rounds_of(model), mean_path(model, 400)[0]
    seen = np.zeros((2, model.n), dtype=bool)
    for t, A in enumerate(rounds[:400], start=1):
        alone = A.sum(axis=1) == 0
        np.testing.assert_array_equal(public[t][alone], model.x0[alone])
        seen[int(t > 200)] |= alone
    assert np.all(seen)


def keeps_moving(model: Model, numbers: Mapping[str, Any]) -> None:
    assert model.noise.autocorrelation == 0
    stds = [std_after(model, T) for T in (200, 400, 401)]
    assert np.min(stds) > 0.01


def shifted_once(model: Model, numbers: Mapping[str, Any]) -> None:
    assert std_after(model, 400).min() > 0.01
    draw = np.random.default_rng(1).normal(0, 0.3, model.n)
    moved = Model(model.network, model.x0 + draw, model.s, model.pressure)
    shift = [mean_path(moved, T)[0][-1] - mean_path(model, T)[0][-1] for T in (400, 401)]
    assert np.abs(shift[0]).max() > 0.01
    if model.pressure.growth.limit is not None:
        np.testing.assert_allclose(shift[0], shift[1], atol=1e-9)


def component_values(model: Model, numbers: Mapping[str, Any]) -> None:
    """Confirm the values of all components that are named, converging or with agents who keep moving."""
    groups, ends = groups_of(rounds_of(model)[-1]), mean_after(model, 8_000)
    std = std_after(model, 1_000)
    for reason in diagnose(model).reasons:
        if reason.code != "group":
            continue
        (group, *_) = [
            group
            for group in groups
            if group.size == reason.values["agents"] and np.allclose(ends[group], reason.values["mean"], atol=2e-3)
        ]
        if math.isnan(float(reason.values["std"])):
            assert std[group].min() > 0.05
        elif math.isinf(float(reason.values["std"])):
            assert np.all(std[group] > 1.5 * std_after(model, 250)[group])
        elif model.noise.autocorrelation == 1 or float(reason.values["std"]) > 0:
            np.testing.assert_allclose(std[group], float(reason.values["std"]), rtol=0.02)
        else:
            assert reason.values["std"] == 0
            assert model.noise.is_zero or std[group].max() < 0.02


def values_differ(model: Model, numbers: Mapping[str, Any]) -> None:
    ends = mean_after(model, 4_000)
    means = [ends[group].mean() for group in groups_of(rounds_of(model)[-1])]
    assert np.diff(np.sort(means)).min() > 0.1
    assert numbers["v"] == pytest.approx(float(model.s @ model.x0 / model.s.sum()))


def not_named(model: Model, numbers: Mapping[str, Any]) -> None:
    told = sum(reason.code == "group" for reason in diagnose(model).reasons)
    assert numbers["unnamed"] + told == len(groups_of(rounds_of(model)[-1]))


def alone_on_walks(model: Model, numbers: Mapping[str, Any]) -> None:
    alone = rounds_of(model)[-1].sum(axis=1) == 0 if model.temporal_network else np.ones(model.n, dtype=bool)
    variances = [np.diag(law_after(model, T)[1])[model.n : 2 * model.n][alone] for T in (500, 1_000, 2_000)]
    np.testing.assert_allclose(variances[2] - variances[1], 2 * (variances[1] - variances[0]), rtol=0.05)


def components_wander(model: Model, numbers: Mapping[str, Any]) -> None:
    stds = [np.diag(law_after(model, T)[1])[: model.n] for T in (250, 500, 1_000)]
    assert np.all(stds[2] > 1.05 * stds[1])
    assert np.all(stds[1] > 1.05 * stds[0])


def several_sources(model: Model, numbers: Mapping[str, Any]) -> None:
    silent = np.stack([A.sum(axis=1) == 0 for A in rounds_of(model)]).any(axis=0)
    counts = np.array([np.abs(unlike(model, agent)).max() > 0.05 for agent in range(model.n)])
    assert not np.any(counts & ~silent)
    assert numbers["agents"] == np.count_nonzero(silent)
    public = mean_path(model, 2_000)[0]
    np.testing.assert_allclose(public[-1], public[-3], atol=0.01)
    assert np.abs(public[-1] - public[-2]).max() > 0.1


def never_mix(model: Model, numbers: Mapping[str, Any]) -> None:
    assert len(classes_of(model)) > 1
    assert np.ptp(mean_after(model, 4_000)) > 0.1


def cycle_range(model: Model, numbers: Mapping[str, Any]) -> None:
    # Opinions approach the cycle like 1/t, which two horizons extrapolate.
    far = [np.array([f(mean_path(model, T)[0][-2:]) for f in (np.min, np.max)]) for T in (2_000, 4_000)]
    np.testing.assert_allclose(2 * far[1] - far[0], [numbers["low"], numbers["high"]], rtol=5e-4, atol=5e-4)


def start_share(model: Model, numbers: Mapping[str, Any]) -> None:
    other = Model(model.network, model.x0, model.s, model.pressure, start=model.start_state + 1)
    steps, d = numbers["steps"], model.network.degrees
    kept = float(d @ (mean_after(other, steps) - mean_after(model, steps)) / d.sum())
    assert kept == pytest.approx(numbers["weight"], rel=5e-3)
    assert (numbers["first"], numbers["last"]) == tuple(model.pressure(np.array([1.0, steps])).tolist())


def repeating(model: Model, numbers: Mapping[str, Any]) -> None:
    assert len(rounds_of(model)) == known(model.temporal_network).period == 2
    rho = model.pressure(np.arange(1.0, 2_001.0))
    assert np.any(np.diff(rho) < 0)
    assert np.any(np.diff(rho) > 0)
    assert not model.pressure.growth.is_regular


def weak_anchors(model: Model, numbers: Mapping[str, Any]) -> None:
    # The agent who never adapts is outside of the class that public opinions end in: others hear it by way of its own
    # public opinion only, in which its opinion has a share of order 1/ρ.
    (still,) = np.flatnonzero(known(model.adaptation).adaptation_weights(model.n) == 0)
    assert not any(still in agents for agents in classes_of(model))
    rho = model.pressure(np.array([500.0, 4_000.0]))
    degree = min(float(A[still].sum()) for A in rounds_of(model))
    shares = model.s[still] / (model.s[still] + rho * degree)
    assert shares[1] < 0.5 * shares[0]
    # What it has in the others so far is neither nothing nor all, and still changing.
    gains = [np.delete(unlike(model, int(still), T), still).mean() for T in (250, 1_000)]
    assert 0.001 < gains[0] < 0.99 * gains[1] < 0.99


def uneven(**parts: Any) -> Model:
    """Return a model on a star with a triangle, whose degree-weighted and plain averages differ."""
    network = Network([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    return Model(network, **(ODD | parts))
