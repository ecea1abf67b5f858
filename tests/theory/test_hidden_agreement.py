"""Agreement of hidden opinions that adapt, confirmed by a dense recursion of mean and covariance."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle, path
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule
from peerpressure.theory import Outcome, ReasonCode as Code, diagnose
from peerpressure.theory._analysis import Analysis, Source
from peerpressure.theory._classification import classify
from peerpressure.theory._outcome_reasons import explain

from .changing import CHANGING as C, in_rounds
from .reasons import codes

ODD, TREE, AGENTS = barabasi_albert(6, 2, seed=1), barabasi_albert(6, 1, seed=1), 6
WHITE, FROZEN = Gaussian(0.3), Gaussian(0.3, temporal="frozen")
QUIET, FADING = NoNoise(), Gaussian(0.3, time_scale=Power(-1.0))
FROZEN_FADING = Gaussian(0.3, temporal="frozen", time_scale=Power(-1.0))
BOUNDED, SLOW, FAST = Constant(2.0), Power(0.7), Power(1.6)
FALLING = Power(-0.8, 0.9)


def keeps(agent: int) -> list[float]:
    """Return adaptation weights of 1 for all agents but one, who never adapts."""
    return [float(i != agent) for i in range(AGENTS)]


def build(network: Network | TemporalNetwork, pressure: Schedule, adaptation: object, noise: Noise) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, noise, adaptation=adaptation)  # type: ignore[arg-type]


def differences(model: Model, steps: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the RMS differences of public and of hidden opinions at steps/16, steps/4 and steps.

    The state is (public, hidden, noise); of two neighbouring steps the larger difference counts.
    """
    n, noise, network = model.n, model.noise, model.temporal_network
    times = np.arange(1, steps + 1)
    rho, rates = model.pressure(times), np.zeros(steps) if model.adaptation is None else model.adaptation.pace(times)
    weights_of_adaptation = np.zeros(n) if model.adaptation is None else model.adaptation.adaptation_weights(n)
    scale, phi = noise.scale(times), noise.autocorrelation
    span = 1 if network is None else network.span
    matrices = [model.adjacency_at(t).toarray() for t in range(1, span + 1)]
    fresh, one, nothing = np.diag(noise.deviations(n) ** 2), np.eye(n), np.zeros((n, n))
    mean, cov = np.concatenate([model.start_state, model.x0, np.zeros(n)]), np.zeros((3 * n, 3 * n))
    cov[2 * n :, 2 * n :] = fresh
    late = (steps // 16, steps // 4, steps)
    found, read = np.zeros((2, steps + 1)), {t - k for t in late for k in (0, 1)}
    centre = one - 1 / n
    # The maps of all steps at once: of the public opinions, and of the whole state.
    weights = rho[:, None, None] * np.stack(matrices)[(times - 1) % span]
    total, eta = model.s + weights.sum(axis=2), (rates[:, None] * weights_of_adaptation)[:, :, None]
    gain = (model.s / total)[:, :, None] * one
    shown = np.concatenate([weights / total[:, :, None], gain, gain * scale[:, None, None]], axis=2)
    held = eta * shown
    held[:, :, n : 2 * n] += (1 - eta) * one
    kept = np.broadcast_to(np.hstack([nothing, nothing, one]), shown.shape)
    maps = np.concatenate([shown, held, kept], axis=1)
    for t, through in enumerate(maps, start=1):
        if t > 1:
            cov[2 * n :], cov[:, 2 * n :] = phi * cov[2 * n :], phi * cov[:, 2 * n :]
            cov[2 * n :, 2 * n :] += (1 - phi**2) * fresh
        mean, cov = through @ mean, through @ cov @ through.T
        if t in read:
            for which, part in enumerate((slice(0, n), slice(n, 2 * n))):
                apart = centre @ mean[part]
                found[which, t] = np.sqrt((apart @ apart + np.trace(centre @ cov[part, part])) / n)
    chosen = [np.max(found[:, t - 1 : t + 1], axis=1) for t in late]
    public, hidden = np.stack(chosen, axis=1)
    return public, hidden


def vanishes(values: NDArray[np.float64]) -> bool:
    """Whether a sequence over times that quadruple goes to 0: it is small, or falls by a steady factor."""
    falls = np.log(values[:-1] / values[1:])
    return bool(values[-1] < 1e-6 or falls[1] > 0.3 or (falls[1] > 0.01 and falls[1] > 0.6 * falls[0]))


# Network, pressure, adaptation, noise, outcome, whether hidden opinions agree.
CASES = [
    (cycle(5), BOUNDED, "1/t", FROZEN, Outcome.RANDOM_WALK, False),
    (ODD, SLOW, Adaptation(0.1, keeps(2)), FROZEN, Outcome.BIASED_CONSENSUS, False),
    (ODD, Power(0.4), Adaptation(Power(-0.8), np.linspace(0.2, 1, 6)), FROZEN, Outcome.RANDOM_WALK, False),
    (ODD, Power(0.4), Adaptation(Power(-0.8)), FROZEN, Outcome.RANDOM_WALK, True),
    (C["one alone"], FAST, Adaptation(0.1, keeps(0)), QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["in turn"], FAST, Adaptation(0.1, keeps(5)), QUIET, Outcome.BIASED_CONSENSUS, True),
    (C["in turn"], BOUNDED, "1/t", Gaussian(0.3, temporal="frozen"), Outcome.RANDOM_WALK, False),
    (C["one alone"], Linear(), Adaptation(FALLING, keeps(2)), FROZEN, Outcome.RANDOM_WALK, False),
    (C["one alone"], SLOW, FALLING, Gaussian(0.3, time_scale=Power(0.4)), Outcome.RANDOM_WALK, True),
    (C["star and ring"], SLOW, Adaptation(0.1, keeps(2)), QUIET, Outcome.BIASED_CONSENSUS, False),
    (C["star and ring"], FAST, Adaptation(0.1, keeps(2)), FROZEN, Outcome.BIASED_CONSENSUS, False),
    (C["two closed classes"], SLOW, Power(-0.3, 0.5), FROZEN, Outcome.PERIODIC, False),
    (TREE, FAST, Power(-0.3, 0.5), WHITE, Outcome.OSCILLATION, True),
    (TREE, FAST, Power(-0.3, 0.5), Gaussian(0.3, temporal=AR1(0.5)), Outcome.OSCILLATION, True),
    (C["pairs"], BOUNDED, FALLING, WHITE, Outcome.DISAGREEMENT, True),
    (ODD, BOUNDED, 0.1, FADING, Outcome.BIASED_CONSENSUS, True),
    (ODD, BOUNDED, 0.1, FROZEN_FADING, Outcome.RANDOM_WALK, True),
    (C["isolated"], SLOW, FALLING, FADING, Outcome.BIASED_CONSENSUS, True),
    (ODD, Constant(0.0), 0.1, WHITE, Outcome.DISAGREEMENT, False),
    (ODD, Power(-2.0), 0.1, WHITE, Outcome.DISAGREEMENT, False),
    (ODD, Power(-1.0), 0.1, WHITE, Outcome.DISAGREEMENT, False),
    (ODD, Power(-2.0), 0.1, QUIET, Outcome.DISAGREEMENT, False),
]


@pytest.mark.parametrize(("network", "pressure", "adaptation", "noise", "outcome", "agrees"), CASES, ids=str)
def test_hidden_opinions_agree_exactly_where_the_verdict_says(
    network: Network | TemporalNetwork,
    pressure: Schedule,
    adaptation: object,
    noise: Noise,
    outcome: Outcome,
    agrees: bool,
) -> None:
    model = build(network, pressure, adaptation, noise)
    verdict = diagnose(model)
    assert verdict.hidden is not None
    assert (verdict.outcome, verdict.hidden.agrees) == (outcome, agrees)
    public, hidden = differences(model, 1024)
    assert vanishes(hidden) == agrees
    if outcome in (Outcome.BIASED_CONSENSUS, Outcome.DISAGREEMENT):
        assert vanishes(public) == verdict.agrees


def test_opinions_that_never_move_may_count_in_second_order_only() -> None:
    model = build(C["star and ring"], Power(0.4), Adaptation(0.1, keeps(2)), QUIET)
    verdict = diagnose(model)
    # Agent 2 counts by Σ 1/ρ² alone, which diverges here, and no closed form says how fast.
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.agrees is verdict.hidden.agrees is None  # type: ignore[union-attr]


def test_equal_opinions_that_never_move_attract_all_others() -> None:
    weights = [0.0, 1, 1, 0, 1, 1]
    model = Model(ODD, [0.3, 1, 2, 0.3, 4, 5], pressure=2.0, adaptation=Adaptation(0.1, weights))
    verdict = diagnose(model)
    assert verdict.agrees
    assert verdict.hidden is not None
    assert verdict.hidden.agrees
    assert verdict.consensus_limit is not None
    assert verdict.consensus_limit.mean == pytest.approx(0.3, rel=1e-12)


def test_pressure_that_grows_hardly_faster_than_t_leads_to_the_one_opinion_that_never_moves() -> None:
    weights = [0.0, 1.0, 1.0]
    model = Model(
        path(3), [-1.6, -0.7, 0.2], [5, 0.5, 0.05], "0.35*t^1.01", adaptation=Adaptation("0.5/sqrt(t)", weights)
    )
    verdict = diagnose(model)
    assert verdict.consensus_limit is not None
    assert verdict.consensus_limit.mean == pytest.approx(-1.6, abs=1e-9)
    assert verdict.hidden is not None
    assert verdict.hidden.agrees


def test_components_of_equal_opinions_agree_from_any_start() -> None:
    model = Model(C["groups"], np.full(6, 0.7), pressure=Linear(), start=np.zeros(6))
    assert diagnose(model).outcome is Outcome.CONSENSUS


def test_phases_with_isolated_agents_take_up_all_of_their_noise() -> None:
    swaps = in_rounds([(0, 3), (1, 2)], [(2, 3)], n=4)
    verdict = diagnose(Model(swaps, np.arange(4.0), 1.0, Linear(), WHITE, adaptation=1.0))
    assert verdict.outcome is Outcome.PERIODIC
    assert verdict.hidden is not None
    assert verdict.hidden.agrees is False


def test_growing_noise_leaves_a_finite_deviation_where_its_steps_sum_up() -> None:
    model = build(ODD, Linear(), 0.1, Gaussian(0.3, time_scale=Power(0.4)))
    limit = diagnose(model).consensus_limit
    assert limit is not None
    assert limit.std < 1


@pytest.mark.parametrize("pressure", [Constant(0.0), Power(-2.0)], ids=str)
def test_agents_without_pressure_are_said_to_be_on_their_own(pressure: Schedule) -> None:
    noisy, quiet = (diagnose(build(ODD, pressure, 0.1, noise)) for noise in (WHITE, QUIET))
    assert Code.DETACHED in codes(noisy) & codes(quiet)
    assert Code.ISOLATED_RANDOM_WALKS in codes(noisy)
    assert Code.ISOLATED_RANDOM_WALKS not in codes(quiet)
    assert not {Code.ADAPTATION_FADES, Code.STATIONARY_MEAN} & (codes(noisy) | codes(quiet))


def test_reasons_do_not_claim_agreement_that_the_verdict_denies() -> None:
    for rate, code in ((0.1, Code.OWN_NOISE_KEPT), (FALLING, Code.OWN_NOISE)):
        long_run = classify(build(C["isolated"], SLOW, rate, WHITE))
        assert long_run.hidden_agrees is (code is Code.OWN_NOISE)
        assert code in {reason.code for reason in explain(Analysis(long_run, Source.COMPONENTS))}


@pytest.mark.parametrize(
    ("pressure", "adaptation", "noise"),
    [
        ("1.5*t^1.01", 0.2, NoNoise()),
        ("1.5*t^1.01", 0.2, Gaussian(0.3)),
        ("1.5*t^1.01", "0.2/(1 + 1/t)", Gaussian([0.39, 0.69, 0.52], temporal="frozen")),
        ("4.6*t^1.01", "0.8/t^2", NoNoise()),
        ("0.01*1.02^t", "0.5/(t*log(2 + t))", NoNoise()),
    ],
    ids=str,
)
def test_a_swing_too_small_to_be_seen_is_none(pressure: str, adaptation: object, noise: Noise) -> None:
    model = Model(path(3), [0.0, 1.0, 0.5], [1.0, 2.0, 1.5], pressure, noise, adaptation=adaptation)  # type: ignore[arg-type]
    verdict = diagnose(model)
    assert verdict.outcome is Outcome.BIASED_CONSENSUS
    assert verdict.consensus_limit is not None
    # What is left of the swing is exp(−κ Σ 1/ρ_t), with a sum of 100 c at the exponent 1.01.
    faster = Model(path(3), [0.0, 1.0, 0.5], [1.0, 2.0, 1.5], "1.5*t^1.3", noise, adaptation=adaptation)  # type: ignore[arg-type]
    assert diagnose(faster).outcome is Outcome.OSCILLATION
