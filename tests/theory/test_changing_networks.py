"""Outcomes where networks change or hidden opinions adapt, against the law of both kinds of opinions at late times."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle, path
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule
from peerpressure.theory import Outcome, consensus_mode, consensus_rate, diagnose, moments
from tests.theory.changing import AGENTS, CHANGING as C, RING, STAR, in_rounds
from tests.theory.laws import Array, laws_after, mean_path
from tests.theory.reasons import codes, known

ODD, TREE = barabasi_albert(AGENTS, 2, seed=1), barabasi_albert(AGENTS, 1, seed=1)
QUIET, WHITE, FROZEN = NoNoise(), Gaussian(0.3), Gaussian(0.3, temporal="frozen")
FADING = Gaussian(0.3, time_scale=Power(-1.0))
FROZEN_FADING = Gaussian(0.3, temporal="frozen", time_scale=Power(-1.0))
BOUNDED, SLOW, FAST = Constant(2.0), Power(0.7), Power(1.6)
FALLING = Adaptation(Power(-0.8, 0.9))
STEPS = 4_096


def keeps(agent: int) -> list[float]:
    """Return adaptation weights of 1 for all agents but one, who never adapts."""
    return [float(i != agent) for i in range(AGENTS)]


def build(network: Network | TemporalNetwork, pressure: Schedule, rate: Any = None, noise: Noise = QUIET) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, noise, adaptation=rate)


def differences(model: Model) -> tuple[Array, Array]:
    """Return the RMS differences of public and of hidden opinions at three times that quadruple.

    Of two neighbouring steps the larger difference counts.
    """
    n, found = model.n, np.zeros((6, 2))
    centre = np.eye(n) - 1 / n
    late = [t - k for t in (STEPS // 16, STEPS // 4, STEPS) for k in (1, 0)]
    for row, (mean, P) in enumerate(laws_after(model, late)):
        for kind, part in enumerate((slice(0, n), slice(n, 2 * n))):
            apart = centre @ mean[part]
            found[row, kind] = np.sqrt((apart @ apart + np.trace(centre @ P[part, part])) / n)
    public, hidden = found.reshape(3, 2, 2).max(axis=1).T
    return public, hidden


def vanishes(values: Array) -> bool:
    """Whether a sequence over times that quadruple goes to 0: it is small, or falls by a steady factor."""
    falls = np.log(values[:-1] / values[1:])
    return bool(values[-1] < 1e-6 or falls[1] > 0.3 or (falls[1] > 0.01 and falls[1] > 0.6 * falls[0]))


# Network, pressure, adaptation, noise, outcome, whether hidden opinions agree.
CASES = [
    (C["star and ring"], BOUNDED, None, QUIET, Outcome.PERIODIC, None),
    (C["star and ring"], FAST, None, QUIET, Outcome.BIASED_CONSENSUS, None),
    (C["star and ring"], SLOW, None, WHITE, Outcome.BIASED_CONSENSUS, None),
    (C["star and ring"], BOUNDED, 0.1, QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["star and ring"], SLOW, Adaptation(0.1, keeps(2)), QUIET, Outcome.BIASED_CONSENSUS, False),
    (C["star and ring"], FAST, Adaptation(0.1, keeps(2)), FROZEN, Outcome.BIASED_CONSENSUS, False),
    (C["two closed classes"], SLOW, None, QUIET, Outcome.PERIODIC, None),
    (C["two closed classes"], SLOW, 0.1, QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["two closed classes"], FAST, 0.1, QUIET, Outcome.PERIODIC, False),
    (C["two closed classes"], SLOW, Power(-0.3, 0.5), FROZEN, Outcome.PERIODIC, False),
    (C["isolated"], BOUNDED, None, QUIET, Outcome.PERIODIC, None),
    (C["isolated"], FAST, None, QUIET, Outcome.PERIODIC, None),
    (C["isolated"], FAST, 0.1, QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["isolated"], SLOW, 0.1, WHITE, Outcome.DISAGREEMENT, False),
    (C["isolated"], SLOW, FALLING, WHITE, Outcome.DISAGREEMENT, True),
    (C["isolated"], SLOW, FALLING, FADING, Outcome.BIASED_CONSENSUS, True),
    (C["one alone"], SLOW, None, QUIET, Outcome.BIASED_CONSENSUS, None),
    (C["one alone"], SLOW, None, WHITE, Outcome.DISAGREEMENT, None),
    (C["one alone"], FAST, Adaptation(0.1, keeps(0)), QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["one alone"], Linear(), Adaptation(Power(-0.8, 0.9), keeps(2)), FROZEN, Outcome.RANDOM_WALK, False),
    (C["one alone"], SLOW, FALLING, Gaussian(0.3, time_scale=Power(0.4)), Outcome.RANDOM_WALK, True),
    (C["in turn"], SLOW, None, QUIET, Outcome.PERIODIC, None),
    (C["in turn"], FAST, Adaptation(0.1, keeps(5)), QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["in turn"], SLOW, 0.1, WHITE, Outcome.RANDOM_WALK, False),
    (C["in turn"], FAST, 0.1, WHITE, Outcome.RANDOM_WALK, False),
    (C["in turn"], BOUNDED, "1/t", FROZEN, Outcome.RANDOM_WALK, False),
    (C["pairs"], SLOW, None, QUIET, Outcome.CONSENSUS, None),
    (C["pairs"], FAST, None, QUIET, Outcome.PERIODIC, None),
    (C["pairs"], BOUNDED, FALLING, WHITE, Outcome.DISAGREEMENT, True),
    (C["groups"], BOUNDED, None, QUIET, Outcome.DISAGREEMENT, None),
    (C["groups"], SLOW, None, QUIET, Outcome.CLUSTERS, None),
    (C["groups"], FAST, None, QUIET, Outcome.OSCILLATION, None),
    (C["groups"], BOUNDED, 0.1, QUIET, Outcome.CLUSTERS, False),
    (C["groups"], SLOW, 0.1, WHITE, Outcome.CLUSTERS, False),
    (C["same degrees"], SLOW, None, QUIET, Outcome.CONSENSUS, None),
    (C["settles"], FAST, None, QUIET, Outcome.BIASED_CONSENSUS, None),
    (C["settles"], SLOW, None, WHITE, Outcome.CONSENSUS, None),
    (C["settles"], SLOW, None, FROZEN, Outcome.BIASED_CONSENSUS, None),
    (C["ends"], SLOW, 0.1, QUIET, Outcome.DISAGREEMENT, False),
    (ODD, BOUNDED, 0.1, FADING, Outcome.BIASED_CONSENSUS, True),
    (ODD, BOUNDED, 0.1, FROZEN_FADING, Outcome.RANDOM_WALK, True),
    (ODD, SLOW, Adaptation(0.1, keeps(2)), FROZEN, Outcome.BIASED_CONSENSUS, False),
    (ODD, Power(0.4), Adaptation(Power(-0.8), np.linspace(0.2, 1, 6)), FROZEN, Outcome.RANDOM_WALK, False),
    (ODD, Power(0.4), Adaptation(Power(-0.8)), FROZEN, Outcome.RANDOM_WALK, True),
    (ODD, Power(-1.0), 0.1, WHITE, Outcome.DISAGREEMENT, False),
    (ODD, Power(-2.0), 0.1, QUIET, Outcome.DISAGREEMENT, False),
    (TREE, FAST, 0.1, QUIET, Outcome.OSCILLATION, False),
    (TREE, FAST, Power(-0.3, 0.5), WHITE, Outcome.OSCILLATION, True),
    (TREE, FAST, Power(-0.3, 0.5), Gaussian(0.3, temporal=AR1(0.5)), Outcome.OSCILLATION, True),
    (cycle(5), BOUNDED, "1/t", FROZEN, Outcome.RANDOM_WALK, False),
]


@pytest.mark.parametrize(("network", "pressure", "rate", "noise", "outcome", "hidden"), CASES, ids=str)
def test_agents_end_as_the_verdict_says(
    network: Network | TemporalNetwork, pressure: Schedule, rate: Any, noise: Noise, outcome: Outcome, hidden: bool
) -> None:
    model = build(network, pressure, rate, noise)
    verdict = diagnose(model)
    assert verdict.outcome is outcome
    assert (None if verdict.hidden is None else verdict.hidden.agrees) is hidden
    public, held = differences(model)
    if outcome is not Outcome.RANDOM_WALK:
        assert vanishes(public) == bool(verdict.agrees)
    if hidden is not None:
        assert vanishes(held) == hidden
    if model.noise.is_zero:
        check_means(model, verdict.law.mean, outcome)


def check_means(model: Model, means: Array, outcome: Outcome) -> None:
    public, _ = mean_path(model, 6_000)
    late, early = public[-2:], public[749:751]
    if np.all(np.isfinite(means)) and len(means) <= 2:
        said = means[np.arange(5_999, 6_001) % len(means)]
        off = np.abs(late - said).max()
        assert off < 0.7 * np.abs(early - said).max() or off < 1e-4
    if outcome is Outcome.BIASED_CONSENSUS:
        assert abs(means[0, 0] - model.consensus_value) > 1e-5


def test_noise_that_is_not_averaged_out_keeps_a_network_that_ends_bipartite_oscillating() -> None:
    tree = in_rounds(RING, STAR, periodic=False)
    noise = Gaussian(0.5, time_scale=Power(0.6))
    assert diagnose(build(tree, Linear(), None, noise)).outcome is Outcome.OSCILLATION


def test_changing_networks_come_to_their_value_at_the_rates_of_their_mode() -> None:
    rng = np.random.default_rng(1)
    for scale, exponent in ((0.1, 1.0), (2.0, None)):
        model = build(C["star and ring"], Power(1.0, scale), None, WHITE)
        rate, verdict = consensus_rate(model), diagnose(model)
        assert rate.ratio == pytest.approx(verdict.kappa / scale)
        assert rate.bias is not None
        assert rate.bias.exponent == pytest.approx(exponent or verdict.kappa / scale)
        bias, variance = [], []
        for T in (1000, 4000):
            result = moments(model, T, of=consensus_mode(model))
            bias.append(abs(result.mean[0, 0] - known(verdict.consensus_limit).mean))
            variance.append(result.variance[0, 0])
        assert rate.variance is not None
        assert math.log(bias[0] / bias[1]) / math.log(4) == pytest.approx(rate.bias.exponent, abs=0.15)
        assert math.log(variance[0] / variance[1]) / math.log(4) == pytest.approx(rate.variance.exponent, abs=0.1)
    slow = build(C["star and ring"], Power(0.6), None, Gaussian(rng.uniform(0.1, 1, 6), temporal=AR1(0.5)))
    law = known(consensus_rate(slow).variance)
    assert moments(slow, 3000, of=consensus_mode(slow)).variance[0, 0] == pytest.approx(law(3000), rel=0.1)


def test_opinions_that_never_move_may_count_in_second_order_only() -> None:
    model = build(C["star and ring"], Power(0.4), Adaptation(0.1, keeps(2)))
    verdict = diagnose(model)
    # Agent 2 counts by Σ 1/ρ² alone, which diverges here, and no closed form says how fast.
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.agrees is known(verdict.hidden).agrees is None


@pytest.mark.parametrize(
    ("network", "hidden", "parts", "expected"),
    [
        (ODD, [0.3, 1, 2, 0.3, 4, 5], {"pressure": 2.0, "adaptation": Adaptation(0.1, [0.0, 1, 1, 0, 1, 1])}, 0.3),
        # Pressure that grows hardly faster than t.
        (
            path(3),
            [-1.6, -0.7, 0.2],
            {"pressure": "0.35*t^1.01", "adaptation": Adaptation("0.5/sqrt(t)", [0, 1, 1]), "stubbornness": [5, 1, 1]},
            -1.6,
        ),
    ],
    ids=["two of one opinion", "one"],
)
def test_equal_opinions_that_never_move_attract_all_others(
    network: Network, hidden: list[float], parts: dict[str, Any], expected: float
) -> None:
    verdict = diagnose(Model(network, hidden, **parts))
    assert verdict.agrees
    assert known(verdict.hidden).agrees
    assert known(verdict.consensus_limit).mean == pytest.approx(expected, abs=1e-9)


def test_phases_with_isolated_agents_take_up_all_of_their_noise() -> None:
    swaps = in_rounds([(0, 3), (1, 2)], [(2, 3)], n=4)
    verdict = diagnose(Model(swaps, np.arange(4.0), 1.0, Linear(), WHITE, adaptation=1.0))
    assert verdict.outcome is Outcome.PERIODIC
    assert known(verdict.hidden).agrees is False


def test_growing_noise_leaves_a_finite_deviation_where_its_steps_sum_up() -> None:
    model = build(ODD, Linear(), 0.1, Gaussian(0.3, time_scale=Power(0.4)))
    limit = known(diagnose(model).consensus_limit)
    assert limit.std < 1


@pytest.mark.parametrize("pressure", [Constant(0.0), Power(-2.0)], ids=str)
def test_agents_without_pressure_are_said_to_be_on_their_own(pressure: Schedule) -> None:
    noisy, quiet = (diagnose(build(ODD, pressure, 0.1, noise)) for noise in (WHITE, QUIET))
    assert "adaptation_fades" in codes(noisy) & codes(quiet)
    assert "isolated_random_walks" in codes(noisy)
    assert "isolated_random_walks" not in codes(quiet)
    assert "apart" not in codes(noisy)


def test_reasons_do_not_claim_agreement_that_the_verdict_denies() -> None:
    for rate, agree in ((0.1, False), (FALLING, True)):
        verdict = diagnose(build(C["isolated"], SLOW, rate, WHITE))
        assert known(verdict.hidden).agrees is agree
        assert "own_noise" in codes(verdict)
        assert ("hidden opinions come to a common value" in verdict.reason) == agree


@pytest.mark.parametrize(
    ("pressure", "adaptation", "noise"),
    [
        ("1.5*t^1.01", 0.2, WHITE),
        ("1.5*t^1.01", "0.2/(1 + 1/t)", Gaussian([0.39, 0.69, 0.52], temporal="frozen")),
        ("4.6*t^1.01", "0.8/t^2", QUIET),
        ("0.01*1.02^t", "0.5/(t*log(2 + t))", QUIET),
        ("1.5*t^1.01", "0.8/t^2", WHITE),
    ],
    ids=str,
)
def test_a_swing_too_small_to_be_seen_is_not_claimed(pressure: str, adaptation: Any, noise: Noise) -> None:
    hidden, s = [0.0, 1.0, 0.5], [1.0, 2.0, 1.5]
    verdict = diagnose(Model(path(3), hidden, s, pressure, noise, adaptation=adaptation))
    # With two clocks and noise nothing else tells what is left of it.
    open_question = adaptation == "0.8/t^2" and noise is WHITE
    assert verdict.outcome is (Outcome.UNKNOWN if open_question else Outcome.BIASED_CONSENSUS)
    assert ("hardly differ" in verdict.reason) == open_question
    # What is left of the swing is exp(−κ Σ 1/ρ_t), with a sum of 100 c at the exponent 1.01.
    faster = Model(path(3), hidden, s, "1.5*t^1.3", noise, adaptation=adaptation)
    assert diagnose(faster).outcome is Outcome.OSCILLATION
