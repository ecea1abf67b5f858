"""Sentences of a verdict against recursions: what each reason claims, and its numbers to the printed digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure import Adaptation, Gaussian, Model, Network, Power, diagnose
from peerpressure.networks import barabasi_albert, complete, cycle, k2, star
from peerpressure.noise import AR1
from peerpressure.theory import ReasonCode, consensus_mode, moments
from tests.theory.changing import CHANGING, mean_path
from tests.theory.exact import exact_law
from tests.theory.reasons import codes, values

Array = NDArray[np.float64]
Check = Callable[[Model, Mapping[str, Any]], None]
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


def spread(model: Model, steps: int) -> Array:
    """Return the standard deviations of the public opinions."""
    return np.sqrt(np.diag(exact_law(model, steps)[1]))[: model.n]


def mode_std(model: Model, steps: int) -> float:
    """Return the standard deviation of the consensus mode, whose weights are written out: d/Σd."""
    d = model.network.degrees
    return float(moments(model, steps, of=d / d.sum()).std[-1, 0])


def repeating(model: Model, found: Mapping[str, Any]) -> None:
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
    np.testing.assert_allclose(state(model, 4_000), found["mean"], atol=2e-3 * float(np.ptp(model.x0)))
    assert model.consensus_value == pytest.approx(found["v"])


def odd_cycle(model: Model, found: Mapping[str, Any]) -> None:
    assert np.ptp(state(model, 4_000)) < 1e-3


def rotating(model: Model, found: Mapping[str, Any]) -> None:
    path = [state(model, 3_000 + k) for k in range(found["period"] + 1)]
    np.testing.assert_allclose(path[0], path[-1], atol=1e-6)
    assert all(np.abs(path[0] - other).max() > 0.01 for other in path[1:-1])


def two_phases(model: Model, found: Mapping[str, Any]) -> None:
    even, odd = state(model, 4_000), state(model, 4_001)
    sides = model.network.sides
    assert sides is not None
    for now, then in ((even, odd), (odd, even)):
        assert np.ptp(now[sides]) < 1e-3
        np.testing.assert_allclose(now[sides], then[~sides][0], atol=1e-3)
    np.testing.assert_allclose(sorted([even[0], odd[0]]), sorted([found["first"], found["second"]]), atol=1e-3)


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
    late = state(model, 4_000)[agents]
    np.testing.assert_allclose(np.abs(late), abs(found["mean"]), atol=2e-3)
    assert found["agents"] == agents.size
    if found["std"]:
        np.testing.assert_allclose(spread(model, 2_000)[agents], found["std"], rtol=2e-2)


def class_unbounded(model: Model, found: Mapping[str, Any]) -> None:
    (agents, *_) = model.network.closed_classes
    stds = [spread(model, steps)[agents] for steps in (20, 200, 2_000)]
    # 1 + log t grows by log 10 in a decade, and the deviation with it.
    assert np.all(np.diff(stds, axis=0) > 0.4 * 0.3 / math.sqrt(agents.size))
    np.testing.assert_allclose(state(model, 4_000)[agents], found["mean"], atol=2e-3)


def on_zero(model: Model, found: Mapping[str, Any]) -> None:
    early, late = np.abs(state(model, 100)).max(), np.abs(state(model, 4_000)).max()
    assert late < 0.2 * early


def others_follow(model: Model, found: Mapping[str, Any]) -> None:
    outside = np.setdiff1d(np.arange(model.n), np.concatenate(model.network.closed_classes))
    late = state(model, 4_000)[outside]
    np.testing.assert_allclose([late.min(), late.max()], [found["low"], found["high"]], atol=2e-2)
    moved = Model(model.network, model.x0 + np.isin(np.arange(model.n), outside), model.s, model.pressure)
    np.testing.assert_allclose(state(moved, 4_000)[outside], late, atol=1e-2)
    assert found["agents"] == outside.size


def silent_noise(model: Model, found: Mapping[str, Any]) -> None:
    silent = model.network.degrees == 0
    np.testing.assert_allclose(spread(model, 500)[silent], model.noise.deviations(model.n)[silent])
    assert found["agents"] == np.count_nonzero(silent)


def averages(model: Model, found: Mapping[str, Any]) -> None:
    early, late = (mode_std(model, T) for T in (200, 3_200))
    assert late < 0.6 * early
    weights = model.s / model.s.sum()
    assert found["sigma"] == pytest.approx(np.linalg.norm(weights * model.noise.deviations(model.n)), rel=DIGITS)


def averages_slowly(model: Model, found: Mapping[str, Any]) -> None:
    averages(model, found)
    T = 3_200
    predicted = model.kappa * found["sigma"] ** 2 / (2 * float(model.pressure(T)))
    assert mode_std(model, T) ** 2 == pytest.approx(predicted, rel=0.1)


def noise_fades(model: Model, found: Mapping[str, Any]) -> None:
    stds = [mode_std(model, T) for T in (100, 1_000, 10_000)]
    assert stds[2] < 0.5 * stds[1] < 0.25 * stds[0]
    # It follows its own scale and not the root of the number of draws.
    assert stds[2] / stds[1] == pytest.approx(float(model.noise.scale(10_000) / model.noise.scale(1_000)), rel=0.15)


def memory(model: Model, found: Mapping[str, Any]) -> None:
    white = Model(model.network, model.x0, model.s, model.pressure, Gaussian(0.3))
    ratio = (mode_std(model, 4_000) / mode_std(white, 4_000)) ** 2
    assert found["factor"] == pytest.approx(ratio, rel=0.02)


def frozen_limit(model: Model, found: Mapping[str, Any]) -> None:
    all_on_mean(model, found)
    np.testing.assert_allclose(spread(model, 4_000), found["std"], rtol=0.02)


def frozen_growth(model: Model, found: Mapping[str, Any]) -> None:
    at = [mode_std(model, T) for T in (100, 1_000)]
    assert at[1] > 1.3 * at[0]


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
    # The mean of one step is half a step of the model in which everybody updates.
    assert found["synchronous"] == pytest.approx(model.s.sum() / model.network.degrees.sum())
    assert found["kappa"] == pytest.approx(0.5 * found["synchronous"])


def random_limit(model: Model, found: Mapping[str, Any]) -> None:
    # The exact recursion of second moments over who updates, written out for probability 1/2.
    n, A = model.n, model.network.adjacency.toarray()
    mean, second = model.start_state.copy(), np.outer(model.start_state, model.start_state)
    for rho in model.pressure(np.arange(1, 2_001)):
        total = model.s + rho * A.sum(axis=1)
        C, g = rho * A / total[:, None], model.s * model.x0 / total
        new = C @ mean + g
        both = C @ second @ C.T + np.outer(C @ mean, g) + np.outer(g, C @ mean) + np.outer(g, g)
        across = C @ second + np.outer(g, mean)
        moved = 0.25 * (both + across + across.T + second)
        # An agent who updates, or not, does so in both factors.
        moved[np.diag_indices(n)] = 0.5 * (np.diag(both) + np.diag(second))
        mean, second = 0.5 * (mean + new), moved
    std = np.sqrt(np.diag(second) - mean**2)
    np.testing.assert_allclose(mean, found["mean"], atol=1e-2)
    np.testing.assert_allclose(std, found["std"], rtol=0.02)


def uneven(**parts: Any) -> Model:
    """Return a model on a star with a triangle, whose degree-weighted and plain averages differ."""
    network = Network([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    return Model(network, **(ODD | parts))


CONFIRMED: dict[ReasonCode, tuple[tuple[Model, Check], ...]] = {
    ReasonCode.PERIODIC_LAW: ((Model(CHANGING["star and ring"], np.arange(6.0), pressure=2), repeating),),
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
    ReasonCode.LIMIT: ((uneven(pressure=Power(2)), all_on_mean),),
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
        for net, hidden in ((PAIRS, [0, 1, 0, 1]), (HERALDS, [0, 1, 2]))
    ),
    ReasonCode.CLASS_NEUTRAL: ((Model(QUARREL, [0, 1, 5]), on_zero),),
    ReasonCode.TRANSIENT_AGENTS: (
        (Model(cycle(6), [0, 1, 2, 3, 4, 9], [math.inf, 1, 1, math.inf, 1, 1]), others_follow),
    ),
    ReasonCode.TRANSIENT_FOLLOW: ((Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf]), others_follow),),
    ReasonCode.SILENT_NOISE: ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3)), silent_noise),),
    ReasonCode.NOISE_AVERAGES: ((uneven(noise=Gaussian(0.3)), averages),),
    ReasonCode.NOISE_AVERAGES_SLOWLY: ((uneven(noise=Gaussian(0.3), pressure="t^0.5"), averages_slowly),),
    ReasonCode.NOISE_FADES: (
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="0.2*t"), noise_fades),
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="t^0.5"), noise_fades),
    ),
    ReasonCode.FROZEN_NOISE: ((Model(complete(4), **ODD, noise=FROZEN), frozen_limit),),
    ReasonCode.FROZEN_NOISE_GROWS: (
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")), frozen_growth),
    ),
    ReasonCode.STATIONARY_MEAN: ((uneven(pressure=2), stationary),),
    ReasonCode.NO_FLUCTUATION: ((uneven(pressure=2), unmoved),),
    ReasonCode.FLUCTUATION: ((uneven(pressure=2, noise=Gaussian(0.3)), deviations),),
    ReasonCode.FROZEN_DEVIATION: ((uneven(pressure=2, noise=FROZEN), deviations),),
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
    ReasonCode.ACTIVATION_RATE: ((Model(cycle(5), np.arange(5.0), activation=0.5), slower),),
    ReasonCode.RANDOM_LIMIT: ((Model(cycle(5), np.arange(5.0), activation=0.5, pressure=Power(2)), random_limit),),
    ReasonCode.UNKNOWN_PHASES: ((Model(CIRCLE, [0, 1, 5], pressure="t*(2+sin(t))"), unknown_phases),),
}

# Codes that say what is given, or that nothing is known: no recursion could contradict them.
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
        ReasonCode.UNKNOWN_CONTINUOUS,
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
# Codes whose sentences are tested by their outcomes alone; each that gets a recursion leaves this set.
UNCONFIRMED = frozenset(
    {
        ReasonCode.COMPONENTS,
        ReasonCode.ALL_ISOLATED,
        ReasonCode.INTERMITTENTLY_ISOLATED,
        ReasonCode.INTERMITTENTLY_SILENT,
        ReasonCode.DETACHED,
        ReasonCode.ADAPTATION_ANCHORED,
        ReasonCode.MARGINAL_RATE,
        ReasonCode.ACTIVATION_AVERAGES,
        ReasonCode.ALMOST_SURELY,
        ReasonCode.MEAN_SQUARE_ONLY,
        ReasonCode.MEAN_SQUARE,
        ReasonCode.CONTINUOUS_DAMPING,
        ReasonCode.LIMIT_IS_V,
        ReasonCode.LIMIT_UNRESOLVED,
        ReasonCode.SIDES_AGREE,
        ReasonCode.LIMIT_DEPENDS_ON_NOISE,
        ReasonCode.LIMIT_DEPENDS_ON_NETWORK,
        ReasonCode.LIMIT_UNBOUNDED,
        ReasonCode.ISOLATED_SOURCE,
        ReasonCode.DEGREES_CHANGE,
        ReasonCode.EARLY_NOISE_KEPT,
        ReasonCode.OPINIONS_MOVED,
        ReasonCode.BIPARTITE_COMPONENTS,
        ReasonCode.PARITY_OF_PRESSURE,
        ReasonCode.PHASES_DRIVEN_BY_NOISE,
        ReasonCode.CLASSES_DRIVEN_BY_NOISE,
        ReasonCode.OWN_OPINIONS,
        ReasonCode.KEPT_OPINIONS,
        ReasonCode.OWN_NOISE,
        ReasonCode.OWN_NOISE_KEPT,
        ReasonCode.BOUNDED_PRESSURE,
        ReasonCode.RANDOM_MEAN,
        ReasonCode.RETURN_TO_OPINIONS,
        ReasonCode.FLUCTUATION_UNKNOWN,
        ReasonCode.FROZEN_SHIFT,
        ReasonCode.COMPONENT_LIMIT,
        ReasonCode.COMPONENT_LIMITS_DIFFER,
        ReasonCode.COMPONENTS_NOT_NAMED,
        ReasonCode.ISOLATED_RANDOM_WALKS,
        ReasonCode.COMPONENTS_WANDER,
        ReasonCode.ISOLATED_SOURCES,
        ReasonCode.SEVERAL_CLOSED_CLASSES,
        ReasonCode.CYCLE_RANGE,
        ReasonCode.FINITE_HORIZON,
    }
)


def test_every_code_is_confirmed_or_listed_as_not_confirmed() -> None:
    # A new code belongs to CONFIRMED, with its recursion.
    groups = [set(CONFIRMED), NO_CLAIM, UNCONFIRMED]
    assert set().union(*groups) == set(ReasonCode)
    assert sum(map(len, groups)) == len(ReasonCode)
    assert all(CONFIRMED.values())


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
