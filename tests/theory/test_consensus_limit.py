"""Consensus limits against closed forms, long exact runs and simulation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork, barabasi_albert, complete, cycle
from peerpressure.noise import AR1, Frozen, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule, StretchedExponential
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.theory import (
    ConsensusLimit,
    Kind,
    Outcome,
    consensus_limit,
    consensus_limit_curve,
    diagnose,
    mean,
    moments,
)

from .changing import CHANGING, mean_path

AGENTS = 8
NETWORK = barabasi_albert(AGENTS, 2, seed=1)
BY_AGENT = np.linspace(0.3, 1.0, AGENTS)
ANCHORS = np.where(np.isin(np.arange(AGENTS), [2, 5]), 0.0, BY_AGENT)


def build(pressure: Schedule, rate: Adaptation | None, noise: Noise | None = None) -> Model:
    rng = np.random.default_rng(0)
    hidden, s, start = rng.uniform(size=AGENTS), rng.uniform(0.5, 1, AGENTS), rng.uniform(size=AGENTS)
    return Model(NETWORK, hidden, s, pressure, noise or NoNoise(), start, rate)


def conserved_value(model: Model, rho: float, eta: np.ndarray) -> float:
    """Return (Σ d y₀ + Σ s x₀/(ρη))/(Σ d + Σ s/(ρη)), which constant pressure and rates conserve."""
    d, w = model.network.degrees, model.s / (rho * eta)
    return float((d @ model.start_state + w @ model.x0) / (d.sum() + w.sum()))


@settings(max_examples=15, deadline=None)
@given(st.floats(0.05, 50), st.floats(0.01, 1.0))
def test_constant_pressure_and_rates_converge_to_their_conserved_value(rho: float, rate: float) -> None:
    model = build(Constant(rho), Adaptation(rate, BY_AGENT))
    expected = conserved_value(model, rho, rate * BY_AGENT)
    limit = consensus_limit(model)
    assert limit.mean == pytest.approx(expected, rel=1e-9)
    assert limit.residual < 1e-9


def test_hidden_opinions_converge_to_the_conserved_value() -> None:
    model = build(Constant(2.0), Adaptation(0.2, BY_AGENT))
    shown, held = mean_path(model, 3000)
    np.testing.assert_allclose(shown[-1], consensus_limit(model).mean, atol=1e-9)
    np.testing.assert_allclose(held[-1], consensus_limit(model).mean, atol=1e-9)


def test_small_rates_lead_to_the_consensus_value() -> None:
    # While opinions hardly move, the start fades like t^(−r) under ρ = ct with r = κ/c, and opinions adapt to what
    # is left of it: the limit lies at a distance of order η^r.
    r = 0.3
    model = Model(cycle(5), np.arange(5.0), pressure=Linear(0.5 / r), start=[9.0, 1, 2, 3, 4])
    curve = consensus_limit_curve(model, [0.0, 0.004, 0.016], tolerance=1e-3)
    assert curve.mean[0] == model.consensus_value
    distances = np.abs(curve.mean - curve.consensus_value)
    assert distances[1] / distances[2] == pytest.approx(4**-r, rel=0.05)
    assert curve.to_dataframe().columns.tolist() == ["rate", "mean", "std", "residual"]
    assert curve.to_dataframe()["mean"].tolist() == curve.mean.tolist()


CASES: dict[str, tuple[Schedule, Adaptation]] = {
    "growing": (Linear(), Adaptation(0.2, BY_AGENT)),
    "rates that fall like 1/t": (Linear(0.05), Adaptation(Power(-1, 0.9), BY_AGENT)),
    "bounded, rates that fall": (Constant(2.0), Adaptation(Power(-0.5, 0.9), BY_AGENT)),
    "too fast": (Power(1.5), Adaptation(0.2, BY_AGENT)),
    "far too fast": (StretchedExponential(), Adaptation(0.2, BY_AGENT)),
    "fading": (Linear(0.1), Adaptation(Power(-2, 0.9), BY_AGENT)),
    "fading and too fast": (Power(1.5), Adaptation(Power(-2, 0.9), BY_AGENT)),
    "anchored": (Linear(0.02), Adaptation(0.3, ANCHORS)),
    "anchored and too fast": (Power(1.5), Adaptation(0.3, ANCHORS)),
}


@pytest.mark.parametrize("noise", [NoNoise(), Gaussian(0.5), Gaussian(0.5, temporal=AR1(0.5))], ids=str)
@pytest.mark.parametrize(("pressure", "rate"), CASES.values(), ids=CASES)
def test_limits_are_where_long_runs_are(pressure: Schedule, rate: Adaptation, noise: Noise) -> None:
    model = build(pressure, rate, noise)
    limit = consensus_limit(model, tolerance=1e-4)
    late = moments(model, 2500, of=mean(model))
    assert late.mean[0, 0] == pytest.approx(limit.mean, abs=1e-2)
    if limit.std == 0:
        assert late.std[0, 0] < moments(model, 600, of=mean(model)).std[0, 0] or model.noise.is_zero
    elif math.isfinite(limit.std) and model.pressure.growth.bounded is False:
        assert late.std[0, 0] == pytest.approx(limit.std, abs=6e-3, rel=0.04)


@pytest.mark.parametrize("pressure", [Linear(0.05), Power(1.5)], ids=str)
@pytest.mark.parametrize("rate", [Adaptation(Power(-2, 0.9)), Adaptation(0.3, ANCHORS)], ids=str)
def test_frozen_noise_stays_in_an_anchored_limit(pressure: Schedule, rate: Adaptation) -> None:
    model = build(pressure, rate, Gaussian(0.5, temporal=Frozen()))
    limit = consensus_limit(model, tolerance=1e-4)
    late = moments(model, 6000, of=mean(model))
    assert late.std[0, 0] == pytest.approx(limit.std, rel=0.05)


def test_the_common_opinion_wanders_at_the_rate_of_its_conserved_sum() -> None:
    rho, rate = 2.0, 0.2
    model = build(Constant(rho), Adaptation(rate, BY_AGENT), Gaussian(0.5))
    assert consensus_limit(model).std == math.inf
    variance = moments(model, 1200, of=mean(model), times=[400, 1200], what="hidden").variance[:, 0]
    d, eta = model.network.degrees.sum(), rate * BY_AGENT
    expected = 0.25 * np.sum(model.s**2) / (rho * d + np.sum(model.s / eta)) ** 2
    assert (variance[1] - variance[0]) / 800 == pytest.approx(expected, rel=1e-3)


def test_frozen_noise_makes_opinions_drift_linearly() -> None:
    model = build(Constant(2.0), Adaptation(0.2), Gaussian(0.5, temporal=Frozen()))
    assert consensus_limit(model).std == math.inf
    std = moments(model, 1200, of=mean(model), times=[300, 600, 1200], what="hidden").std[:, 0]
    assert std[2] - std[1] == pytest.approx(2 * (std[1] - std[0]), rel=1e-3)


@pytest.mark.parametrize("kind", ["random updates", "continuous time"])
def test_frozen_noise_makes_opinions_drift_like_the_sum_of_1_over_pressure(kind: str) -> None:
    model = build(Linear(), Adaptation(0.2), Gaussian(0.5, temporal=Frozen()))
    half: Any = 0.5
    system = SDE(model) if kind == "continuous time" else replace(model, activation=half)
    verdict = diagnose(system)
    assert verdict.outcome is Outcome.RANDOM_WALK
    assert verdict.law.kinds == {Kind.DRIFTS}
    assert "drifts ever further, in a direction set by the noise, which is drawn once." in verdict.summary
    steps = round(1600 / system.step)
    std = moments(system, steps, of=mean(system), times=[400, 800, 1600]).std[:, 0]
    assert std[2] - std[1] == pytest.approx(std[1] - std[0], rel=0.05)


def test_limits_scatter_as_simulated_runs_do() -> None:
    model, replicates = build(Linear(), Adaptation(0.2, BY_AGENT), Gaussian(1.0)), 2000
    limit = consensus_limit(model)
    final = simulate(model, 800, replicates, seed=2, record="final").final
    assert final.hidden is not None
    agreed = final.hidden.mean(axis=1)
    assert np.ptp(final.hidden, axis=1).max() < 0.05
    assert abs(agreed.mean() - limit.mean) < 5 * limit.std / np.sqrt(replicates) + 1e-3
    assert agreed.std() == pytest.approx(limit.std, rel=5 / np.sqrt(2 * replicates) + 1e-2)


@pytest.mark.parametrize("rate", [None, Adaptation(0.1)], ids=["constant opinions", "adapting"])
@pytest.mark.parametrize("pressure", [Power(0.6), Power(1.5)], ids=str)
@pytest.mark.parametrize("name", ["star and ring", "settles", "pairs"])
def test_limits_of_temporal_networks_are_where_long_runs_are(
    name: str, pressure: Schedule, rate: Adaptation | None
) -> None:
    rng = np.random.default_rng(5)
    model = Model(CHANGING[name], rng.uniform(size=6), rng.uniform(0.5, 1, 6), pressure, adaptation=rate)
    if name == "pairs" and pressure.growth.reciprocal_sum_diverges is False:
        with pytest.raises(InvalidInputError, match="only agents who agree"):
            consensus_limit(model)
        return
    limit = consensus_limit(model)
    np.testing.assert_allclose(mean_path(model, 10_000)[0][-1], limit.mean, atol=5e-3)


def test_plain_models_have_closed_forms_where_the_start_is_forgotten() -> None:
    slow = build(Linear(), None, Gaussian(0.5))
    assert consensus_limit(slow) == ConsensusLimit(slow.consensus_value, 0.0)
    frozen = replace(slow, noise=Gaussian(0.5, temporal=Frozen()))
    assert consensus_limit(frozen).std == pytest.approx(0.5 * np.linalg.norm(slow.s) / slow.s.sum())
    assert consensus_limit(replace(slow, noise=Gaussian(0.5, time_scale=Power(0.6)))).std == math.inf


def test_trivial_extensions_have_the_same_limit() -> None:
    base = build(Power(1.5), None, Gaussian(0.5))
    temporal = Model(TemporalNetwork.constant(NETWORK), base.x0, base.s, Power(1.5), base.noise, base.start_state)
    for extended in (temporal, replace(base, adaptation=Adaptation(0.0)), replace(base, adaptation=Adaptation(0.5, 0))):
        assert consensus_limit(extended).mean == pytest.approx(consensus_limit(base).mean, rel=1e-12)
        assert consensus_limit(extended).std == pytest.approx(consensus_limit(base).std, rel=1e-12)


def test_opinions_may_be_shifted_and_scaled() -> None:
    model = build(Linear(), Adaptation(0.2, BY_AGENT), Gaussian(0.5))
    moved = replace(model, hidden=3 * model.x0 - 5, start=3 * model.start_state - 5)
    assert consensus_limit(moved).mean == pytest.approx(3 * consensus_limit(model).mean - 5, abs=1e-5)
    assert consensus_limit(moved).std == pytest.approx(consensus_limit(model).std, abs=1e-5)


def test_the_residual_covers_the_change_to_a_finer_answer() -> None:
    for pressure, rate in CASES.values():
        model = build(pressure, rate, Gaussian(0.5))
        coarse, fine = consensus_limit(model, tolerance=1e-2), consensus_limit(model, tolerance=1e-4)
        assert abs(coarse.mean - fine.mean) <= 2 * coarse.residual + fine.residual + 1e-9


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (build(Constant(2.0), None), "disagreement"),
        (build(Constant(2.0), Adaptation(0.2, ANCHORS)), "keep agents apart"),
        (build(Constant(2.0), Adaptation([0.1, 0.2])), "not known"),
        (Model(CHANGING["groups"], np.arange(6.0)), "each component"),
        (Model(CHANGING["two closed classes"], np.arange(6.0)), "exchanging"),
        (Model(barabasi_albert(6, 1, seed=1), np.arange(6.0), pressure=Power(2), adaptation=0.1), "exchanging"),
    ],
)
def test_agents_who_do_not_agree_have_no_limit(model: Model, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        consensus_limit(model)


def test_a_limit_reads_well() -> None:
    assert str(ConsensusLimit(0.25, 0.125, 64, 0.0)) == "0.25 ± 0.12"
    assert str(ConsensusLimit(0.25, 0.0)) == "0.25"
    assert str(ConsensusLimit(0.25, math.inf)) == "0.25"


def test_one_opinion_that_never_moves_attracts_all() -> None:
    model = Model(complete(5), np.arange(5.0), pressure=3.0, adaptation=Adaptation(0.3, [1, 1, 0, 1, 1]))
    assert consensus_limit(model).mean == pytest.approx(2.0, abs=1e-5)
    np.testing.assert_allclose(mean_path(model, 2000)[1][-1], 2.0, atol=1e-6)
