"""Consensus limits against closed forms and long exact runs, and the errors that they state."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, complete, cycle, k2, path, star
from peerpressure.noise import AR1, Frozen, Gaussian, Laplace, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.theory import (
    ConsensusLimit,
    LimitKind,
    Outcome,
    _conserved,
    consensus_limit,
    consensus_limit_curve,
    diagnose,
    mean_opinion,
    moments,
)
from peerpressure.theory._classification import classify
from peerpressure.theory._limits import Phases, limit_of
from tests.theory.changing import CHANGING
from tests.theory.laws import Array, mean_after, std_after
from tests.theory.reasons import known

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
    late = moments(model, 2500, of=mean_opinion(model))
    assert late.mean[0, 0] == pytest.approx(limit.mean, abs=1e-2)
    if limit.std == 0:
        assert late.std[0, 0] < moments(model, 600, of=mean_opinion(model)).std[0, 0] or model.noise.is_zero
    elif math.isfinite(limit.std) and model.pressure.growth.bounded is False:
        assert late.std[0, 0] == pytest.approx(limit.std, abs=6e-3, rel=0.04)


@pytest.mark.parametrize("pressure", [Linear(0.05), Power(1.5)], ids=str)
@pytest.mark.parametrize("rate", [Adaptation(Power(-2, 0.9)), Adaptation(0.3, ANCHORS)], ids=str)
def test_frozen_noise_stays_in_an_anchored_limit(pressure: Schedule, rate: Adaptation) -> None:
    model = build(pressure, rate, Gaussian(0.5, temporal=Frozen()))
    limit = consensus_limit(model, tolerance=1e-4)
    late = moments(model, 6000, of=mean_opinion(model))
    assert late.std[0, 0] == pytest.approx(limit.std, rel=0.05)


@pytest.mark.parametrize("kind", ["random updates", "continuous time"])
def test_frozen_noise_makes_opinions_drift_like_the_sum_of_1_over_pressure(kind: str) -> None:
    model = build(Linear(), Adaptation(0.2), Gaussian(0.5, temporal=Frozen()))
    half: Any = 0.5
    system = SDE(model) if kind == "continuous time" else replace(model, activation=half)
    verdict = diagnose(system)
    assert verdict.outcome is Outcome.RANDOM_WALK
    assert verdict.law.kinds == {LimitKind.DRIFTS}
    assert "drifts ever further, in a direction set by the noise, which is drawn once." in verdict.summary
    steps = round(1600 / system.step)
    std = moments(system, steps, of=mean_opinion(system), times=[400, 800, 1600]).std[:, 0]
    assert std[2] - std[1] == pytest.approx(std[1] - std[0], rel=0.05)


def test_plain_models_have_closed_forms_where_the_start_is_forgotten() -> None:
    slow = build(Linear(), None, Gaussian(0.5))
    assert consensus_limit(slow) == ConsensusLimit(slow.consensus_value, 0.0)
    frozen = replace(slow, noise=Gaussian(0.5, temporal=Frozen()))
    assert consensus_limit(frozen).std == pytest.approx(0.5 * np.linalg.norm(slow.s) / slow.s.sum())
    assert consensus_limit(replace(slow, noise=Gaussian(0.5, time_scale=Power(0.6)))).std == math.inf


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (build(Constant(2.0), None), "disagreement"),
        (build(Constant(2.0), Adaptation(0.2, ANCHORS)), "keep agents apart"),
        (build(Constant(2.0), Adaptation([0.1, 0.2])), "not known"),
        (build(Table([1.0, 2.0, 4.0]), None), "closed form"),
        (Model(CHANGING["groups"], np.arange(6.0)), "each component"),
        (Model(CHANGING["two closed classes"], np.arange(6.0)), "exchanging"),
        (Model(barabasi_albert(6, 1, seed=1), np.arange(6.0), pressure=Power(2), adaptation=0.1), "exchanging"),
    ],
)
def test_agents_who_do_not_agree_have_no_limit(model: Model, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        consensus_limit(model)


FAST_NETWORKS = {"odd": barabasi_albert(20, 2, seed=3), "tree": barabasi_albert(20, 1, seed=3)}
DEVIATIONS = np.linspace(0.2, 1.0, 20)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(DEVIATIONS),
    "over time": Gaussian(1.0, time_scale=Power(-0.2)),
    "ar1": Laplace(0.5, temporal=AR1(0.6)),
    "frozen": Gaussian(DEVIATIONS, temporal=Frozen()),
    "growing": Gaussian(DEVIATIONS, time_scale=Power(0.4)),
    "growing, frozen": Gaussian(DEVIATIONS, time_scale=Power(0.1), temporal=Frozen()),
}


def fast(network: Network, pressure: Schedule, noise: Noise) -> Model:
    rng = np.random.default_rng(7)
    return Model(network, rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n), pressure, noise)


def followed(model: Model, tolerance: float) -> tuple[ConsensusLimit, Phases | None]:
    """Return the consensus limit, and the phases of it."""
    limit, phases = limit_of(classify(model), tolerance=tolerance)
    return known(limit), phases


def at(found: tuple[ConsensusLimit, Phases | None], t: int, n: int) -> tuple[Array, Array]:
    """Return mean and deviation of every agent at a late time."""
    limit, phases = found
    if phases is None:
        return np.full(n, limit.mean), np.full(n, limit.std)
    which = (phases.side + t % 2) % 2
    return phases.mean[which], np.sqrt(np.diag(phases.covariance))[which]


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", FAST_NETWORKS.values(), ids=FAST_NETWORKS)
def test_limits_match_exact_moments_of_long_runs(network: Network, noise: Noise) -> None:
    model = fast(network, StretchedExponential(), noise)
    found = followed(model, 1e-9)
    exact = moments(model, 2001, times=[2000, 2001])
    for row, t in enumerate((2000, 2001)):
        mean, std = at(found, t, model.n)
        np.testing.assert_allclose(exact.mean[row], mean, atol=1e-7)
        np.testing.assert_allclose(exact.std[row], std, atol=1e-7)
    phases = found[1]
    if phases is not None:
        # Any two agents of different sides show the two values at an odd time, the other way round.
        i, j = (int(np.argmax(phases.side == side)) for side in (1, 0))
        np.testing.assert_allclose(exact.covariance[i, j], phases.covariance[0, 1], atol=1e-7)


def test_noise_that_adds_up_for_ever_has_no_limit() -> None:
    frozen = Gaussian(1.0, time_scale=Power(0.5), temporal=Frozen())
    for noise in (frozen, Gaussian(1.0, time_scale=Power(0.8))):
        with pytest.raises(InvalidInputError, match="finite Σ σ_t²/ρ_t²"):
            consensus_limit(fast(cycle(5), Power(1.2), noise))


def test_a_bipartite_network_at_rest_after_changes_has_two_phases() -> None:
    changing = TemporalNetwork.from_snapshots([star(4), path(4)], period=None)
    model = Model(changing, [0.0, 1.0, 3.0, 7.0], [1.0, 0.5, 2.0, 1.0], Power(2), Gaussian(0.3))
    assert diagnose(model).law.at(20_000) == pytest.approx(mean_after(model, 20_000), abs=5e-4)
    assert diagnose(model).outcome is Outcome.OSCILLATION
    # Pressure that nearly forgets the start leaves nothing of the difference.
    assert (
        diagnose(replace(model, pressure=Formula("0.01*1.02^t"), noise=NoNoise())).outcome is Outcome.BIASED_CONSENSUS
    )


@pytest.mark.parametrize("pressure", ["t^2*(1 + t - 2*floor(t/2))", "exp(t)*(1 + t - 2*floor(t/2))"])
@pytest.mark.parametrize("options", [{}, {"adaptation": 0.1}, {"activation": 0.5}], ids=str)
def test_pressure_that_counts_steps_is_not_read_where_steps_are_lost(pressure: str, options: dict[str, Any]) -> None:
    # Far out 1 + t − 2·floor(t/2) is 0 in doubles, and its product with an infinite power not a number.
    model = Model(complete(5), np.linspace(0, 1, 5), pressure=pressure, noise=Gaussian(0.3), **options)
    verdict = diagnose(model)
    late = moments(model, 400)
    if verdict.consensus_limit is not None:
        limit = verdict.consensus_limit
        assert limit.mean == pytest.approx(late.mean[-1].mean(), abs=limit.residual + 0.02)
    assert verdict.outcome is not Outcome.UNKNOWN or options


# Three of four agents hear each other in turn, over edges of very different weights, and hardly adapt: for the first
# hundreds of steps the sums that are followed move ever faster.
TURNS = np.zeros((3, 4, 4))
TURNS[0, 0, 1], TURNS[0, 2, 3], TURNS[1, 0, 2], TURNS[2, 1, 2] = 0.85, 2.2, 1.0, 0.001
SLOW = Model(
    TemporalNetwork.from_snapshots(list(TURNS + TURNS.transpose(0, 2, 1)), period=3),
    [-1.4, 0.5, 2.3, -1.1], [1.7, 0.4, 0.7, 1.1], "2.5*t^2", start=np.zeros(4), adaptation=1e-4,
)  # fmt: skip

VARIED = [
    SLOW,
    *(build(pressure, rate, Gaussian(0.5)) for pressure, rate in CASES.values()),
    *(
        fast(net, pressure, noise)
        for net in FAST_NETWORKS.values()
        for noise, pressure in zip(NOISES.values(), [Power(1.5), Power(1.2), Power(2.0)] * 3, strict=False)
    ),
]


@pytest.mark.parametrize("model", VARIED, ids=range(len(VARIED)))
def test_the_residual_covers_the_change_to_a_finer_answer(model: Model) -> None:
    rough, finer = followed(model, 1e-3), followed(model, 1e-5)
    coarse, fine = rough[0], finer[0]
    assert fine.horizon >= coarse.horizon
    (mean, std), (fine_mean, fine_std) = at(rough, 1, model.n), at(finer, 1, model.n)
    assert np.abs(mean - fine_mean).max() <= 2 * coarse.residual + fine.residual + 1e-9
    if np.all(np.isfinite(std)):
        assert np.abs(std - fine_std).max() <= 3 * (coarse.residual + fine.residual) + 1e-9


def test_a_limit_reads_well() -> None:
    assert str(ConsensusLimit(0.25, 0.125, 64, 0.0)) == "0.25 ± 0.12"
    assert str(ConsensusLimit(0.25, 0.0)) == "0.25"
    assert str(ConsensusLimit(0.25, math.inf)) == "0.25"


def test_the_law_has_the_two_phases_and_the_root_mean_square_of_their_deviations() -> None:
    model = fast(FAST_NETWORKS["tree"], StretchedExponential(), Gaussian(1.0))
    (limit, phases), law = followed(model, 1e-3), diagnose(model).law
    phases = known(phases)
    assert limit.mean == pytest.approx(phases.mean.mean())
    np.testing.assert_allclose(law.mean, [phases.mean[phases.side], phases.mean[1 - phases.side]])
    np.testing.assert_allclose(law.std, math.sqrt(float(np.diag(phases.covariance).mean())))
    assert law.turns == pytest.approx(phases.mean)


ROUNDING = 1e-10


def ring_of_thirty() -> Network:
    graph = nx.path_graph(30)
    graph.add_edge(0, 2)
    return Network.from_networkx(graph)


def test_pressure_that_grows_late_is_followed_until_it_is_high() -> None:
    model = Model(ring_of_thirty(), np.linspace(0, 1, 30), np.linspace(0.2, 2, 30), "0.01*1.02^t")
    y = mean_after(model, 4500)
    assert np.ptp(y) < 1e-8
    assert y[0] == pytest.approx(0.52744, abs=1e-5)
    limit = consensus_limit(model)
    assert abs(limit.mean - y[0]) <= limit.residual + 1e-8 < 1e-6
    # Pressure is far below κ at the first horizons.
    assert float(model.pressure(limit.horizon)) > 100 * model.kappa


@pytest.mark.parametrize("formula", ["1e-4*t^2", "0.001*1.01^t", "0.01*2^sqrt(t)", "t^3/(1e6+t)"])
@pytest.mark.parametrize("network", [cycle(7), barabasi_albert(12, 1, seed=2), path(9)], ids=["odd", "tree", "path"])
def test_limits_lie_within_their_error(network: Network, formula: str) -> None:
    n = network.n
    rng = np.random.default_rng(1)
    model = Model(network, rng.uniform(size=n), rng.uniform(0.2, 3, n), formula, start=rng.uniform(size=n))
    steps = 200_000
    y = simulate(model, steps, record="final").final.public[0]
    found = followed(model, 1e-5)
    limit, (expected, _) = found[0], at(found, steps, n)
    # What is still ahead of the run itself: Σ κ/ρ over all later steps.
    later = float(
        model.kappa
        * np.sum(model.pressure.reciprocal(steps * 1.1 ** np.arange(200)) * 0.1 * steps * 1.1 ** np.arange(200))
    )
    assert np.abs(y - expected).max() <= limit.residual + 2 * later + ROUNDING
    assert limit.residual <= 1e-5 * (np.ptp(np.concatenate([model.x0, model.start_state])))


@pytest.mark.parametrize(("tolerance", "most"), [(1e-6, 1024), (1e-12, 65_536)])
def test_two_agents_take_little_work(tolerance: float, most: int) -> None:
    model = Model(k2(), [0.0, 1.0], [1.0, 3.0], Power(1.5))
    found, precise = consensus_limit(model, tolerance=tolerance), consensus_limit(model, tolerance=1e-13)
    assert found.horizon <= most
    assert found.residual <= tolerance
    assert abs(found.mean - precise.mean) <= found.residual + precise.residual


def test_no_residual_is_smaller_than_what_is_left() -> None:
    # 2·10⁶ steps pass before pressure reaches κ, more than any search affords.
    model = Model(cycle(5), np.arange(5.0), [1, 2, 1, 3, 1], Power(2, 1e-13), start=[9.0, 1, 2, 3, 4])
    limit = consensus_limit(model)
    assert limit.residual > 0.1


@pytest.mark.parametrize(
    ("pressure", "rate"),
    [
        (Linear(), 1e-4),
        (Linear(20.0), 1e-4),
        (Power(0.5), 1e-4),
        (Power(1.5), 1e-4),
        (Linear(3.0), Adaptation(3e-4, [1, 0.5, 0.2, 1, 0.1])),
        (Linear(3.0), Adaptation("0.5/t^1.5", [1, 0.5, 0.2, 1, 0.1])),
        (Power(2.0), Adaptation(1e-3, [1, 0.5, 0, 1, 0.1])),
    ],
    ids=str,
)
def test_small_rates_are_followed_to_the_end(pressure: Schedule, rate: float | Adaptation) -> None:
    start, s = [0.9, 0.1, 0.2, 0.3, 0.4], [1, 2, 1, 3, 1]
    model = Model(cycle(5), np.arange(5.0) / 10, s, pressure, start=start, adaptation=rate)
    final = simulate(model, 300_000, record="final").final
    limit = consensus_limit(model, tolerance=1e-5)
    # Where Σ 1/ρ converges, public opinions agree by then. Elsewhere hidden ones agree or are at rest, and public ones
    # may still be on the way to their mean.
    fast = pressure.growth.reciprocal_sum_diverges is False
    reached = float(final.public.mean() if fast else model.s @ known(final.hidden)[0] / model.s.sum())
    assert abs(reached - limit.mean) <= limit.residual + 5e-6
    assert limit.residual <= 1e-5


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=Frozen())], ids=str)
@pytest.mark.parametrize("network", [cycle(5), path(5)], ids=["odd", "tree"])
def test_deviations_lie_within_their_error(network: Network, noise: Noise) -> None:
    model = Model(network, np.arange(5.0), [1, 2, 1, 3, 1], "0.001*1.05^t", noise)
    found = followed(model, 1e-6)
    limit, (_, deviations) = found[0], at(found, 1000, 5)
    assert np.abs(std_after(model, 1000) - deviations).max() <= 2 * limit.residual + ROUNDING
    assert limit.residual <= 1e-5


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-3, math.nan, math.inf, 2.0])
def test_a_tolerance_lies_between_0_and_1(tolerance: float) -> None:
    with pytest.raises(InvalidInputError, match="above 0 and below 1"):
        consensus_limit(Model(k2(), [0.0, 1.0], pressure=Power(1.5), noise=NoNoise()), tolerance=tolerance)


def test_matrices_of_few_groups_give_what_many_groups_are_followed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(rate: str, pressure: Schedule) -> ConsensusLimit:
        adaptation = Adaptation(rate, [0.0, 0.2, 0.5, 1.0, 0.5])
        model = Model(cycle(5), [0, 1, 2, 3, 9], pressure=pressure, adaptation=adaptation, noise=Gaussian(0.3))
        return consensus_limit(model)

    for rate, pressure in (("1/(1+t)", Linear(0.2)), ("0.5", Power(1.2)), ("1/(2*t^2)", Power(2))):
        monkeypatch.setattr(_conserved, "FEW_GROUPS", 8)
        few = limit(rate, pressure)
        monkeypatch.setattr(_conserved, "FEW_GROUPS", 0)
        many = limit(rate, pressure)
        np.testing.assert_allclose([few.mean, few.std], [many.mean, many.std], rtol=1e-9)
