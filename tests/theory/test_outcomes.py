"""Outcomes by size: where agents agree, on v or not, or swing, against a dense recursion of mean and covariance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag

from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.networks import Network, TemporalNetwork, complete, cycle, k2, named, path, star
from peerpressure.noise import AR1, Gaussian, Laplace, Noise, NoNoise, StudentT, Uniform
from peerpressure.schedules import Constant, Linear, Power
from peerpressure.sde import SDE
from peerpressure.theory import LimitKind, Outcome, consensus_limit, diagnose, moments
from peerpressure.theory._analysis import analyse
from peerpressure.theory._classification import classify
from peerpressure.theory._limits import limit_of
from tests.theory.laws import Array, law_after, laws, mean_after, mean_path
from tests.theory.reasons import codes, known, values


def measured(model: Model, steps: int) -> tuple[float, float, float]:
    """Return bias and deviation of the average over two steps, and the root mean square swing of agent 0."""
    *_, (before, P), (mean, Q) = laws(model, steps)
    C, n = model.update(steps).coupling.toarray(), model.n
    covariance = np.block([[P, P @ C.T], [C @ P, Q]])
    w = np.tile(model.network.degrees / model.network.degrees.sum(), 2) / 2
    apart = np.zeros(2 * n)
    apart[[0, n]] = 1.0, -1.0
    bias = abs(float(w @ np.concatenate([before, mean])) - model.consensus_value)
    swing = math.hypot(before[0] - mean[0], math.sqrt(max(0.0, float(apart @ covariance @ apart))))
    return bias, math.sqrt(w @ covariance @ w), swing


def sizes(model: Model) -> tuple[float, float, float]:
    found = known(analyse(model).distance)
    return found.bias, found.std, found.swing


CASES = [
    (path(5), [-2, -1, 0, 1, 2], Outcome.CONSENSUS),
    (path(5), [-2, -1, 0.5, 1, 2], Outcome.OSCILLATION),
    (path(4), [0, 1, 1, 0], Outcome.BIASED_CONSENSUS),
    (path(4), [0, 1, 0, 1], Outcome.OSCILLATION),
    (star(5), [1, 0, 2, 0.5, 1.5], Outcome.CONSENSUS),
    (star(5), [3, 0, 2, 0.5, 1.5], Outcome.OSCILLATION),
    (cycle(6), [0, 0, 1, 1, 2, 2], Outcome.CONSENSUS),
    (cycle(6), [0, 1, 0, 1, 0, 1], Outcome.OSCILLATION),
    (complete(4), [0, 1, 2, 5], Outcome.CONSENSUS),
    (named("karate"), np.linspace(0, 1, 34), Outcome.BIASED_CONSENSUS),
]


@pytest.mark.parametrize(("network", "hidden", "expected"), CASES)
def test_sizes_decide_without_noise(network: Network, hidden: list[float], expected: Outcome) -> None:
    model = Model(network, hidden, pressure="t^2")
    verdict = diagnose(model)
    assert verdict.outcome is expected
    assert sizes(model) == pytest.approx(measured(model, 800), abs=3e-3)
    assert (len(verdict.law.mean) == 2) == (expected is Outcome.OSCILLATION)


def test_with_noise_the_same_opinions_swing() -> None:
    model = Model(path(5), [-2, -1, 0, 1, 2], pressure="t^2", noise=Gaussian(0.3))
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.OSCILLATION
    bias, std, swing = sizes(model)
    exact = measured(model, 800)
    assert bias == pytest.approx(0, abs=1e-9)
    assert (std, swing) == pytest.approx(exact[1:], rel=1e-2)
    cyclic = Model(complete(4), [0, 1, 2, 5], pressure="t^2", noise=Gaussian(0.3))
    assert diagnose(cyclic).outcome is Outcome.BIASED_CONSENSUS
    assert sizes(cyclic)[2] == 0


def test_a_limit_that_cannot_be_told_from_v_is_v() -> None:
    verdict = diagnose(Model(named("karate"), np.linspace(0, 1, 34), pressure="t^1.0001"))
    assert verdict.outcome is Outcome.CONSENSUS
    assert values(verdict, "limit_is_v")["bound"] < 1e-9
    assert verdict.agrees
    tree = diagnose(Model(path(6), np.linspace(0, 1, 6) ** 2, pressure="t^1.001"))
    assert tree.outcome is Outcome.CONSENSUS


def test_small_differences_are_printed_with_the_digits_that_show_them() -> None:
    verdict = diagnose(Model(named("karate"), np.linspace(0, 1, 34) ** 2, pressure="t^1.04"))
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    numbers = values(verdict, "limit")
    assert 1e-9 < abs(float(numbers["mean"]) - verdict.value) < 1e-3
    sentence = next(str(reason) for reason in verdict.reasons if reason.code == "limit")
    shown = [float(word.rstrip(".,")) for word in sentence.split() if word[0].isdigit()]
    assert shown[0] != shown[1]


def test_no_digits_are_printed_below_the_error() -> None:
    verdict = diagnose(Model(named("karate"), np.linspace(0, 1, 34) ** 2, pressure="t^1.1"))
    limit = known(verdict.consensus_limit)
    assert limit.residual > 0
    row = next(line for line in verdict.explain().splitlines() if "consensus limit" in line)
    digits = row.split()[2].rstrip(",").partition(".")[2]
    assert 10.0 ** -len(digits) >= limit.residual / 10
    assert "limit" in codes(verdict)


def stationary(model: Model) -> tuple[float, Array]:
    """Return the deviations of the mode and of each agent where pressure and noise are at their limits."""
    scale = float(model.noise.scale(10**9))
    noise = Gaussian(scale * model.noise.deviations(model.n), temporal=model.noise.temporal)
    P = law_after(replace(model, pressure=Constant(float(model.pressure(10**9))), noise=noise), 4_000)[1]
    w = model.network.degrees / model.network.degrees.sum()
    return math.sqrt(w @ P[: model.n, : model.n] @ w), np.sqrt(np.diag(P)[: model.n])


@pytest.mark.parametrize("temporal", ["white", "frozen", AR1(0.9), AR1(-0.7)])
@pytest.mark.parametrize("pressure", [0.3, 20.0, "5 + 1/t", 0.0])
def test_stationary_deviations_are_exact(temporal: AR1 | str, pressure: float | str) -> None:
    rng = np.random.default_rng(5)
    stds = rng.uniform(0.1, 1.0, 7)
    noise = Gaussian(stds, temporal=temporal, time_scale="2 + 1/t")
    # A line, which keeps it connected, and some more edges.
    upper = np.maximum(np.triu(rng.uniform(size=(7, 7)) < 0.4, 1), np.diag(np.ones(6), 1))
    network = Network(upper + upper.T)
    model = Model(network, rng.uniform(size=7), rng.uniform(0.1, 3, 7), pressure, noise)
    verdict = diagnose(model)
    numbers = values(verdict, "fluctuation")
    mode, agents = stationary(model)
    assert (numbers["std"], numbers["low"], numbers["high"]) == pytest.approx(
        (mode, agents.min(), agents.max()), rel=1e-6
    )


def test_large_networks_have_the_deviation_of_their_average(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.theory._stationary.MOST_AGENTS", 3)
    for temporal in ("white", AR1(0.8)):
        model = Model(star(6), np.arange(6.0), [1, 2, 3, 1, 1, 0.5], 2.0, Gaussian(0.5, temporal=temporal))
        assert values(diagnose(model), "fluctuation")["std"] == pytest.approx(stationary(model)[0], rel=1e-6)


def test_noise_that_fades_or_varies_has_no_stationary_deviation() -> None:
    fades = Model(star(6), np.arange(6.0), pressure=2.0, noise=Gaussian(0.5, time_scale="1/log(2+t)"))
    assert "fluctuation_fades" in codes(diagnose(fades))
    varies = Model(star(6), np.arange(6.0), pressure="2+t-2*floor(t/2)", noise=Gaussian(0.5))
    assert {"apart", "fluctuation"} <= codes(diagnose(varies))


CONVERGENCE = [
    ("t", Gaussian(0.5), "almost surely"),
    ("sqrt(t)", Gaussian(0.5), "almost surely"),
    ("log(1+t)^2", Gaussian(0.5), "almost surely"),
    ("log(1+t)", Gaussian(0.5), "in mean square"),
    ("log(log(2+t)) + 1", Uniform(0.5), "in mean square"),
    ("t^0.4", Laplace(0.5), "almost surely"),
    ("t^0.4", StudentT(0.5, df=2.2), "in mean square"),
    ("t^0.4", StudentT(0.5, df=3.0), "almost surely"),
    ("t^0.4", Gaussian(0.5, time_scale="t^0.1"), "almost surely"),
    ("log(1+t)^2", Gaussian(0.5, time_scale="log(1+t)^0.6"), "in mean square"),
    ("log(1+t)", Gaussian(0.5, temporal="frozen", time_scale="1/t"), "almost surely"),
    ("log(1+t)", NoNoise(), None),
]


@pytest.mark.parametrize(("pressure", "noise", "expected"), CONVERGENCE)
def test_the_kind_of_convergence_is_named(pressure: str, noise: Noise, expected: str | None) -> None:
    verdict = diagnose(Model(complete(4), [0, 1, 2, 5], pressure=pressure, noise=noise))
    assert verdict.outcome is Outcome.CONSENSUS
    assert verdict.convergence == expected
    assert verdict.to_dict()["convergence"] == expected


@pytest.mark.parametrize(
    ("pressure", "hidden", "expected"),
    [
        ("(2 + t - 2*floor(t/2))*t", [0, 1, 0, 1], Outcome.UNKNOWN),
        ("(2 + (-1)^t)*t", [0, 1, 0, 1], Outcome.UNKNOWN),
        ("(2 + sin(t))*sqrt(t)", [0, 1, 0, 1], Outcome.CONSENSUS),
        ("2^floor(log2(t))/4", [0, 1, 0, 1], Outcome.CONSENSUS),
    ],
)
def test_pressure_that_may_depend_on_parity_decides_nothing_on_two_sides(
    pressure: str, hidden: list[float], expected: Outcome
) -> None:
    model = Model(path(4), hidden, pressure=pressure)
    assert diagnose(model).outcome is expected
    swings = [measured(model, steps)[2] for steps in (500, 8_000)]
    assert (swings[1] < 0.6 * swings[0]) == (expected is Outcome.CONSENSUS)


@pytest.mark.parametrize("temporal", ["white", "frozen"])
def test_equal_opinions_and_noise_that_fades_agree_under_bounded_pressure(temporal: str) -> None:
    noise = Gaussian(0.5, time_scale="1/log(2+t)", temporal=temporal)
    model = Model(star(4), [0.7] * 4, start=[0, 1, 2, 3], pressure="3*(1 + exp(-t))", noise=noise)
    assert diagnose(model).outcome is Outcome.CONSENSUS
    model = Model(star(4), [0.7, 0.7, 0.7, 0.8], pressure=3.0, noise=noise)
    assert diagnose(model).outcome is Outcome.DISAGREEMENT


@pytest.mark.parametrize(("power", "scale", "phi"), [(0.8, 0.4, 0.6), (1.0, 0.5, -0.5), (1.0, 0.5, 0.0)])
def test_noise_of_the_square_root_of_pressure_drives_two_sides_apart(power: float, scale: float, phi: float) -> None:
    noise = Gaussian(0.5, time_scale=f"t^{scale}", temporal=AR1(phi) if phi else "white")
    model = Model(path(4), [0.0, 1.0, 1.0, 0.0], [1.0, 2.0, 1.0, 0.5], Power(power), noise)
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.OSCILLATION
    d, sides = model.network.degrees, model.network.sides
    assert sides is not None
    late = moments(model, 20_000, of=2 * np.where(sides, -d, d) / d.sum(), times=[20_000])
    assert sizes(model)[2] == pytest.approx(float(late.std[-1, 0]), rel=2e-3)


@pytest.mark.parametrize("noise", [NoNoise(), Gaussian(1.0, time_scale="1/log(2 + t)")], ids=["none", "fading"])
def test_equal_opinions_are_reached_wherever_the_start_is_forgotten(noise: Noise) -> None:
    # One agent is isolated every other step, which would otherwise decide the value of all.
    pair = np.zeros((3, 3))
    pair[0, 1] = pair[1, 0] = 1.0
    network = TemporalNetwork.from_snapshots([path(3).adjacency.toarray(), pair], period=2)
    model = Model(network, np.full(3, 0.7), noise=noise, start=np.zeros(3))
    assert diagnose(model).outcome is Outcome.CONSENSUS


def test_agents_without_neighbours_keep_their_noise_even_where_opinions_are_equal() -> None:
    pair = np.zeros((4, 4))
    pair[0, 1] = pair[1, 0] = 1.0
    network = TemporalNetwork.from_snapshots([cycle(4).adjacency.toarray(), pair], period=None)
    model = Model(network, np.full(4, 0.7), pressure=Power(0.5), noise=Gaussian(0.5))
    assert diagnose(model).outcome is Outcome.CLUSTERS


def test_a_start_at_one_of_several_opinions_has_a_bias() -> None:
    model = SDE(Model(complete(4), [0, 1, 1, 0], pressure="0.2*t", start=np.zeros(4)), step=0.5)
    bias = known(diagnose(model).rate.bias)
    assert bias.constant != 0


def test_vanishing_pressure_never_averages_the_noise_that_agents_adapt_to() -> None:
    adaptation = Adaptation(0.05, [0.0, 1.0, 1.0])
    model = Model(path(3), [0, 1, 2], pressure="1/sqrt(t)", noise=Gaussian(0.5), adaptation=adaptation)
    assert diagnose(model).consensus_limit is None


PAIR_AND_ONE = Network(np.pad(np.ones((2, 2)) - np.eye(2), (0, 1)))
FULL_AND_ONE = Network(np.pad(complete(3).adjacency.toarray(), (0, 1)))


@pytest.mark.parametrize(
    ("network", "pressure", "rate", "scale", "temporal", "expected"),
    [
        (k2(), "2", "exp(-t)", "1/t", "white", "RANDOM_LIMIT RANDOM_LIMIT"),
        (k2(), "2", "0.5/t^2", "exp(-t)", "frozen", "RANDOM_LIMIT RANDOM_LIMIT"),
        (k2(), "0", "0.9/sqrt(t)", "1/t", "white", "RANDOM_LIMIT RANDOM_LIMIT"),
        (k2(), "0", "0.9/sqrt(t)", "t^-0.25", "frozen", "DRIFTS DRIFTS"),
        (PAIR_AND_ONE, "t", "0.5", "1/t", "white", "RANDOM_LIMIT RANDOM_LIMIT RANDOM_LIMIT"),
        (PAIR_AND_ONE, "t", "0.5", "1/sqrt(t)", "frozen", "RANDOM_LIMIT RANDOM_LIMIT DRIFTS"),
        (PAIR_AND_ONE, "t^2", "exp(-t)", "1", "white", "PERIODIC PERIODIC RANDOM_LIMIT"),
        (FULL_AND_ONE, "t", "exp(-t)", "1/t", "white", "RANDOM_LIMIT RANDOM_LIMIT RANDOM_LIMIT RANDOM_LIMIT"),
        (FULL_AND_ONE, "t^2", None, "1/t", "white", "RANDOM_LIMIT RANDOM_LIMIT RANDOM_LIMIT CONVERGES"),
    ],
)
def test_opinions_keep_what_they_adopted_of_noise_that_fades(
    network: Network, pressure: str, rate: str | None, scale: str, temporal: str, expected: str
) -> None:
    hidden, noise = np.arange(float(network.n)), Gaussian(0.8, time_scale=scale, temporal=temporal)
    model = Model(network, hidden, pressure=pressure, noise=noise, adaptation=rate and Adaptation(rate))
    law = diagnose(model).law
    assert [kind.name for kind in law.kind] == expected.split()
    before, after = (moments(model, t).std[-1] for t in (250, 1_000))
    grows, fades = after > 1.2 * before, after < 1e-3
    np.testing.assert_array_equal(law.kind == LimitKind.DRIFTS, grows)
    np.testing.assert_array_equal(law.kind == LimitKind.CONVERGES, fades)


def test_frozen_noise_adds_up_long_after_adapting_opinions_have_mixed() -> None:
    # The deviation is σ̄ Σ a_t with 1/a_t = 1/η_t + ρ_t/κ, a sum that takes 10^100 steps and more.
    noise, pair = Gaussian([0.78, 0.82, 0.5], temporal="frozen"), complete(3)
    model = Model(pair, [-1.0, 0.0, 1.0], pressure=Power(1.01), noise=noise, adaptation=Adaptation("1/(1 + log(t))"))
    limit = consensus_limit(model)
    said = known(diagnose(model).consensus_limit)
    assert (said.mean, said.std) == pytest.approx((limit.mean, limit.std), rel=1e-3)
    t = np.arange(1.0, 1e6)
    steps = np.sum(1 / (1 + np.log(t) + 2 * t**1.01)) + 50 * 1e6**-0.01
    assert limit.std == pytest.approx(math.hypot(0.78, 0.82, 0.5) / 3 * steps, rel=2e-3)


def test_a_deviation_that_has_no_limit_is_not_computed() -> None:
    # σ_t²/ρ_t keeps moving between two bounds.
    uneven = Model(
        complete(4), [0.0, 1.0, 2.0, 3.0], pressure="2^floor(log2(t))", noise=Gaussian(1.0, time_scale="t^0.5")
    )
    verdict = diagnose(uneven)
    assert math.isnan(known(verdict.consensus_limit).std)
    assert "does not vanish" in verdict.explain()
    assert verdict.to_dict()["consensus_limit"]["std"] is None
    unbounded = diagnose(replace(uneven, noise=Gaussian(1.0, time_scale="t^0.7")))
    assert known(unbounded.consensus_limit).std == math.inf


def test_residuals_count_what_different_opinions_still_add_to_a_swing() -> None:
    model = Model(k2(), [0.8, -0.26], [0.144, 0.744], "0.01*1.02^t")
    limit = consensus_limit(model, tolerance=1e-3)
    assert abs(limit.mean - mean_after(model, 3_000).mean()) <= limit.residual


def test_classes_that_never_mix_agree_on_equal_opinions() -> None:
    line, pair = np.diag(np.ones(2), 1), np.zeros((3, 3))
    pair[0, 1] = 1.0
    network = TemporalNetwork.from_snapshots([line + line.T, pair + pair.T], period=2)
    same = Model(network, np.full(3, 0.7), start=[0.0, 1.0, 2.0])
    assert diagnose(same).outcome is Outcome.CONSENSUS
    # The agent who is alone in every other step shows its own noise.
    assert diagnose(replace(same, noise=Gaussian(0.5))).outcome is Outcome.DISAGREEMENT


def test_components_that_wander_by_themselves_have_no_common_opinion() -> None:
    parts = np.zeros((4, 4))
    parts[0, 1] = parts[2, 3] = 1.0
    network = TemporalNetwork.from_snapshots([complete(4).adjacency.toarray(), parts + parts.T], period=None)
    bounded = Model(network, [0.0, 1.0, 2.0, 3.0], pressure=1.0, noise=Gaussian(0.5), adaptation=0.5)
    assert diagnose(bounded).outcome is Outcome.DISAGREEMENT
    growing = diagnose(replace(bounded, pressure=Power(0.5)))
    assert growing.outcome is Outcome.CLUSTERS
    assert "agents_move" in codes(growing)
    # From another start, components that adapt come to different values even if all opinions are equal.
    moved = replace(bounded, hidden=np.ones(4), start=bounded.x0, noise=NoNoise(), pressure=Linear())
    assert diagnose(moved).outcome is Outcome.CLUSTERS


def test_residuals_of_phases_count_their_covariance() -> None:
    noise = Gaussian(0.5, time_scale="t")
    model = Model(k2(), [0.7, 0.7], [0.05, 5.0], "2^sqrt(t)", noise)
    (rough, swaps), (_, finer) = (limit_of(classify(model), tolerance=each) for each in (1e-3, 1e-9))
    stds = [np.sqrt(np.diag(known(phases).covariance)) for phases in (swaps, finer)]
    assert np.abs(stds[0] - stds[1]).max() <= known(rough).residual


def test_a_component_is_judged_without_the_agents_outside_of_it() -> None:
    pair = np.zeros((3, 3))
    pair[0, 1] = pair[1, 0] = 1.0
    network = TemporalNetwork.from_snapshots([complete(3).adjacency.toarray(), pair], period=None)
    # 1/ρ_t nearly forgets the difference between the two, who come to agree, but not with the third.
    model = Model(network, [-0.6, 2.0, -0.3], [0.05, 5.0, 0.5], "0.5*t^1.01")
    assert diagnose(model).outcome is Outcome.CLUSTERS


def test_frozen_noise_drives_closed_classes_of_equal_opinions_apart() -> None:
    uneven, weak, line = (np.diag(weights, 1) for weights in ([1.8, 1.5, 2.6], [1.0, 0.001, 1.0], [1.0, 1.0, 1.0]))
    ring = cycle(4).adjacency.toarray()
    network = TemporalNetwork.from_snapshots([*(one + one.T for one in (uneven, weak, line)), ring], period=4)
    noise = Gaussian([0.2, 0.5, 0.5, 0.3], time_scale="t^0.4", temporal="frozen")
    model = Model(network, np.full(4, 0.7), pressure="0.7*t + 2", noise=noise)
    assert diagnose(model).outcome is Outcome.PERIODIC


def test_sides_that_are_equal_by_symmetry_leave_no_difference_to_decay() -> None:
    # κ/c = 0.3, but the two sides of the path have the same average at all times.
    model = Model(path(5), [-2.0, -1.0, 0.0, 1.0, 2.0], [0.5, 1.0, 1.0, 1.0, 0.5], "1.6666666666666667*t*(1 + 1/t)")
    law = known(diagnose(model).rate.disagreement)
    assert law.exponent == 1.0
    late = [mean_after(model, steps).std() for steps in (500, 2_000)]
    assert math.log(late[0] / late[1]) / math.log(4) == pytest.approx(1.0, abs=0.01)


def test_sides_that_are_equal_by_symmetry_agree_while_they_adapt() -> None:
    # Each side has one opinion of either kind, so the averages of the two are equal at all times.
    model = Model(cycle(4), [0.0, 1.0, 1.0, 0.0], pressure="2*t^1.5", adaptation=Adaptation("0.5/sqrt(t)"))
    assert np.ptp(mean_path(model, 400)[0][-1]) < 1e-10
    assert diagnose(model).outcome is Outcome.CONSENSUS
    uneven = replace(model, hidden=np.array([0.0, 1.0, 0.9, 0.0]))
    assert diagnose(uneven).outcome is Outcome.OSCILLATION


def test_a_swing_that_noise_alone_drives_is_one_in_every_run() -> None:
    # The means of the sides meet, and the deviation of their difference, 0.02, is small beside that of their average.
    model = Model(path(3), [0.5, -0.2, 2.3], pressure="0.01*1.02^t", noise=Gaussian(0.7), adaptation=0.5)
    assert np.ptp(mean_path(model, 1_000)[0][-2:], axis=0).max() < 1e-9
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.OSCILLATION
    assert verdict.law.kinds == {LimitKind.PERIODIC}


def test_equal_opinions_fluctuate_with_the_noise_of_one_who_is_alone_at_times() -> None:
    pair = block_diag(0.0, PAIR)
    network = TemporalNetwork.from_snapshots([path(3).adjacency.toarray(), pair], period=2)
    model = Model(network, [0.7, 0.7, 0.7], pressure="t^2", noise=Gaussian(0.5))
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert verdict.law.kind[0] is LimitKind.FLUCTUATES
    # The means of unequal opinions do repeat a cycle.
    assert diagnose(replace(model, hidden=np.array([0.0, 0.5, 1.0]))).outcome is Outcome.PERIODIC


def test_an_sde_whose_start_is_all_but_forgotten_has_a_limit() -> None:
    model = Model(complete(4), [1.0, 0.9, -0.7, 1.4], [1.1, 0.2, 5.0, 0.05], "0.09*t^1.01", Gaussian(0.5))
    limit = known(diagnose(SDE(model, step=0.5, scaling="model")).consensus_limit)
    # Σ 1/ρ_t is about 1000, and so the limit is v without a deviation.
    assert (limit.mean, limit.std) == pytest.approx((model.consensus_value, 0.0), abs=1e-9)


RING = [[0, 1, 1], [0, 0, 1], [1, 0, 0]]
PAIR = [[0, 1], [1, 0]]
# Two who hear both of a pair alike and unlike, and one who hears the first and a class without a period.
HEARERS = np.zeros((8, 8))
HEARERS[:3, :3], HEARERS[3:5, 3:5] = RING, PAIR
HEARERS[5, 3] = HEARERS[5, 4] = HEARERS[6, 3] = HEARERS[6, 0] = HEARERS[7, 0] = HEARERS[7, 5] = 1.0
MEETING = np.ones((6, 6)) - np.eye(6)
TRIANGLE_AND_PATH = block_diag(complete(3).adjacency.toarray(), path(3).adjacency.toarray())
TWO_PATHS = np.kron(np.eye(2), path(3).adjacency.toarray())
FAST: dict[str, Any] = {"pressure": Power(2)}
SAW = "1 + 2*(t - 3*floor(t/3))"
BY_AGENT: dict[str, tuple[Network | TemporalNetwork, dict[str, Any]]] = {
    "two classes": (Network(block_diag(RING, PAIR), directed=True), FAST),
    "hearers": (Network(HEARERS, directed=True), FAST),
    "many hearers": (Network(np.kron(np.eye(3), HEARERS), directed=True), FAST),
    "undirected": (Network(TRIANGLE_AND_PATH), FAST),
    "components": (TemporalNetwork.from_snapshots([MEETING, TRIANGLE_AND_PATH]), FAST),
    "two paths": (TemporalNetwork.from_snapshots([MEETING, TWO_PATHS]), FAST),
    "repeating": (
        TemporalNetwork.from_snapshots([path(3).adjacency.toarray(), star(3).adjacency.toarray()], period=2),
        {"pressure": 2, "adaptation": Adaptation(0.3, [0, 0, 1])},
    ),
    "alone": (Network(np.zeros((3, 3))), {"pressure": SAW}),
}


@pytest.mark.parametrize("name", BY_AGENT)
def test_each_agent_does_what_its_kind_says(name: str) -> None:
    network, parts = BY_AGENT[name]
    model = Model(network, np.random.default_rng(1).uniform(0, 10, network.n), **parts)
    verdict, late = diagnose(model), mean_path(model, 3_000)[0][-8:]
    repeats = np.ptp(late, axis=0) > 1e-2
    assert verdict.law.kind.tolist() == [LimitKind.PERIODIC if each else LimitKind.CONVERGES for each in repeats]
    computed = np.isfinite(verdict.law.mean).all(axis=0)
    assert np.all(computed) or name in {"many hearers", "alone"}
    np.testing.assert_allclose(verdict.law.at(3_000)[computed], late[-1][computed], atol=1e-2)
    some = int(np.sum(repeats))
    assert (f" {some} of {network.n} agents" in verdict.summary) == (0 < some < network.n)


@pytest.mark.parametrize("noise", [NoNoise(), Gaussian(0.1, temporal="frozen"), Gaussian(0.1, time_scale="1/(1+t)")])
@pytest.mark.parametrize("form", ["static", "repeating", "continuous", "random updates", "components"])
def test_agents_are_not_said_to_come_to_rest_under_pressure_without_a_limit(noise: Noise, form: str) -> None:
    parts: dict[str, Any] = {"activation": 0.5} if form == "random updates" else {}
    network: Any = Network(TWO_PATHS) if form == "components" else complete(3)
    if form == "repeating":
        network = BY_AGENT["repeating"][0]
    model = Model(network, np.arange(float(network.n)), pressure=SAW, noise=noise, **parts)
    verdict = diagnose(SDE(model) if form == "continuous" else model)
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert verdict.law.kinds == {LimitKind.UNKNOWN}
    assert "not known" in verdict.summary
    assert verdict.reasons[-1].code == "follows_pressure"


HERALDS = Network([[0, 1, 1], [0, 0, 0], [0, 0, 0]], directed=True)
ONE_ALONE = TemporalNetwork.from_snapshots([np.ones((3, 3)) - np.eye(3), block_diag(PAIR, 0)], period=2)


@pytest.mark.parametrize(
    ("network", "pressure", "exponent"),
    [
        (complete(3), "t^0.5", 0.5),
        (complete(3), 2.0, 0.5),
        (complete(3), SAW, 0.5),
        (HERALDS, "t^0.5", 0.5),
        # Noise that averages out, of agents who show their own.
        (HERALDS, "t", 0.3),
        (ONE_ALONE, "t", 0.3),
    ],
)
def test_noise_that_grows_and_is_shown_moves_agents_without_bound(
    network: Network | TemporalNetwork, pressure: float | str, exponent: float
) -> None:
    noise = Gaussian(0.1, time_scale=Power(exponent))
    model = Model(network, [0.0, 0.5, 1.0], pressure=pressure, noise=noise)
    law = diagnose(model).law
    early, late = (law_after(model, steps)[1].diagonal()[:3] for steps in (400, 4_000))
    assert np.all(late > 2 * early)
    assert law.kinds == {LimitKind.WALKS}
    assert np.all(np.isinf(law.std))
