"""Verdicts on temporal networks and adapting opinions, confirmed by the model itself."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from html.parser import HTMLParser
from itertools import cycle as cycled

import numpy as np
import pytest

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle, failing_edges
from peerpressure.noise import AR1, Gaussian, Laplace, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Logarithmic, Power, Schedule, StretchedExponential, Table
from peerpressure.theory import (
    Outcome,
    ReasonCode as Code,
    _forecast,
    _limit_operator,
    _recurrence,
    consensus_mode,
    consensus_rate,
    diagnose,
    mean,
    moments,
    steps_needed,
)
from peerpressure.theory._classification import classify
from peerpressure.theory._recurrence import periodic_limit, recurrent_networks

from .changing import CHANGING, RING, in_rounds, mean_path
from .reasons import codes, values

AGENTS = 6
ODD, TREE = barabasi_albert(AGENTS, 2, seed=1), barabasi_albert(AGENTS, 1, seed=1)
TWO_HOLD, ONE_HOLDS = [0.0, 1, 1, 0, 1, 1], [1.0, 1, 0, 1, 1, 1]
SLOW, FAST, BOUNDED = Power(0.7), Power(1.6), Constant(2.0)
FADING, FALLING = Adaptation(Power(-1.5, 0.5)), Adaptation(Power(-0.8, 0.9))


def build(
    network: Network | TemporalNetwork, pressure: Schedule, rate: object = None, noise: Noise | None = None
) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    chosen = rate if rate is None or isinstance(rate, Adaptation) else Adaptation(0.1, rate)  # type: ignore[arg-type]
    return Model(network, hidden, s, pressure, noise or NoNoise(), adaptation=chosen)


C = CHANGING
# Without noise: network, pressure, who adapts, outcome, whether hidden opinions come to agree.
CASES = [
    (ODD, BOUNDED, 1.0, Outcome.BIASED_CONSENSUS, True),
    (ODD, SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (ODD, FAST, 1.0, Outcome.BIASED_CONSENSUS, True),
    (TREE, BOUNDED, 1.0, Outcome.BIASED_CONSENSUS, True),
    (TREE, SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (TREE, FAST, 1.0, Outcome.OSCILLATION, False),
    (ODD, BOUNDED, FADING, Outcome.DISAGREEMENT, False),
    (ODD, SLOW, FADING, Outcome.BIASED_CONSENSUS, False),
    (ODD, FAST, FADING, Outcome.BIASED_CONSENSUS, False),
    (TREE, FAST, FADING, Outcome.OSCILLATION, False),
    (ODD, BOUNDED, FALLING, Outcome.BIASED_CONSENSUS, True),
    (ODD, BOUNDED, TWO_HOLD, Outcome.DISAGREEMENT, False),
    (ODD, SLOW, TWO_HOLD, Outcome.BIASED_CONSENSUS, False),
    (ODD, FAST, TWO_HOLD, Outcome.BIASED_CONSENSUS, False),
    (TREE, FAST, TWO_HOLD, Outcome.OSCILLATION, False),
    (ODD, BOUNDED, ONE_HOLDS, Outcome.BIASED_CONSENSUS, True),
    (ODD, SLOW, ONE_HOLDS, Outcome.BIASED_CONSENSUS, True),
    (C["star and ring"], BOUNDED, None, Outcome.PERIODIC, None),
    (C["star and ring"], SLOW, None, Outcome.BIASED_CONSENSUS, None),
    (C["star and ring"], FAST, None, Outcome.BIASED_CONSENSUS, None),
    (C["star and ring"], BOUNDED, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["star and ring"], SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["two closed classes"], SLOW, None, Outcome.PERIODIC, None),
    (C["two closed classes"], FAST, None, Outcome.PERIODIC, None),
    (C["two closed classes"], BOUNDED, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["two closed classes"], SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["two closed classes"], FAST, 1.0, Outcome.PERIODIC, False),
    (C["isolated"], BOUNDED, None, Outcome.PERIODIC, None),
    (C["isolated"], SLOW, None, Outcome.PERIODIC, None),
    (C["isolated"], FAST, None, Outcome.PERIODIC, None),
    (C["isolated"], SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["isolated"], FAST, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["one alone"], SLOW, None, Outcome.BIASED_CONSENSUS, None),
    (C["one alone"], FAST, None, Outcome.BIASED_CONSENSUS, None),
    (C["one alone"], SLOW, 1.0, Outcome.BIASED_CONSENSUS, True),
    (C["in turn"], SLOW, None, Outcome.PERIODIC, None),
    (C["in turn"], SLOW, ONE_HOLDS, Outcome.BIASED_CONSENSUS, True),
    (C["pairs"], SLOW, None, Outcome.CONSENSUS, None),
    (C["pairs"], FAST, None, Outcome.PERIODIC, None),
    (C["groups"], BOUNDED, None, Outcome.DISAGREEMENT, None),
    (C["groups"], SLOW, None, Outcome.CLUSTERS, None),
    (C["groups"], FAST, None, Outcome.OSCILLATION, None),
    (C["groups"], SLOW, 1.0, Outcome.CLUSTERS, False),
    (C["groups"], BOUNDED, 1.0, Outcome.CLUSTERS, False),
    (C["same degrees"], SLOW, None, Outcome.CONSENSUS, None),
    (C["settles"], SLOW, None, Outcome.CONSENSUS, None),
    (C["settles"], FAST, None, Outcome.BIASED_CONSENSUS, None),
    (C["ends"], SLOW, None, Outcome.DISAGREEMENT, None),
    (C["ends"], SLOW, 1.0, Outcome.DISAGREEMENT, False),
]


@pytest.mark.parametrize(("network", "pressure", "rate", "expected", "hidden"), CASES, ids=str)
def test_without_noise_agents_end_as_the_verdict_says(
    network: Network | TemporalNetwork, pressure: Schedule, rate: object, expected: Outcome, hidden: bool | None
) -> None:
    model = build(network, pressure, rate)
    verdict = diagnose(model)
    assert verdict.outcome is expected
    assert (None if verdict.hidden is None else verdict.hidden.agrees) is hidden
    # Half-way and at the end: what goes to 0 has fallen by half at least, and what stays is still there.
    steps = 6_000
    shown, held = mean_path(model, steps)
    late, middle = shown[-4:], shown[steps // 8 - 4 : steps // 8]
    closes = np.ptp(late) < 0.6 * np.ptp(middle) or np.ptp(late) < 1e-9
    assert closes == bool(verdict.agrees)
    assert verdict.agrees or np.ptp(late) > 1e-3
    if verdict.outcome is Outcome.CONSENSUS:
        assert np.abs(late - model.consensus_value).max() < 5e-3
    elif verdict.outcome is Outcome.BIASED_CONSENSUS:
        assert verdict.consensus_limit is not None
        distance = np.abs(late - verdict.consensus_limit.mean).max()
        assert distance < 0.7 * np.abs(middle - verdict.consensus_limit.mean).max() or distance < 1e-4
        assert abs(verdict.consensus_limit.mean - model.consensus_value) > 1e-5
    elif verdict.outcome is Outcome.CLUSTERS:
        assert verdict.connectivity is not None
        assert sorted(verdict.connectivity.components) == [1, 2, 3]
        for agents, size in ((slice(0, 3), 3), (slice(3, 5), 2), (slice(5, 6), 1)):
            value = verdict.connectivity.values[verdict.connectivity.components.index(size)]
            assert value is not None
            np.testing.assert_allclose(late[:, agents], value, atol=5e-3)
    if hidden is not None and verdict.outcome is not Outcome.DISAGREEMENT:
        apart = np.ptp(held[-1])
        assert (apart < 0.6 * np.ptp(held[steps // 8]) or apart < 1e-9) == hidden


def test_agents_isolated_in_turn_are_the_only_sources() -> None:
    model = build(C["in turn"], Power(1.0))
    verdict = diagnose(model)
    assert values(verdict, Code.ISOLATED_SOURCES) == {"agents": 3}
    # The opinions of all others do not matter in the end.
    moved = replace(model, hidden=np.where(np.isin(np.arange(6), [0, 4, 5]), model.x0, 9.0))
    np.testing.assert_allclose(mean_path(moved, 20_000)[0][-1], mean_path(model, 20_000)[0][-1], atol=0.01)


def test_one_agent_isolated_at_times_attracts_all() -> None:
    for pressure in (SLOW, FAST):
        verdict = diagnose(build(C["one alone"], pressure))
        assert verdict.consensus_limit is not None
        assert verdict.consensus_limit.mean == pytest.approx(build(C["one alone"], pressure).x0[0], rel=1e-12)
        assert Code.ISOLATED_SOURCE in codes(verdict)
    noisy = diagnose(build(C["one alone"], SLOW, None, Gaussian(0.3)))
    assert noisy.outcome is Outcome.DISAGREEMENT


def test_two_closed_classes_have_two_limits_though_every_network_is_connected() -> None:
    model = build(C["two closed classes"], Power(0.7))
    verdict = diagnose(model)
    assert verdict.connectivity is not None
    assert verdict.connectivity.window == 1
    s, x = model.s, model.x0
    first, second = ((s[i] * x[i] + s[j] * x[j]) / (s[i] + s[j]) for i, j in ((0, 1), (2, 3)))
    odd, even = mean_path(model, 20_000)[0][-2:]
    np.testing.assert_allclose(odd[[0, 2]], [first, second], atol=2e-3)
    np.testing.assert_allclose(even[[1, 3]], [first, second], atol=2e-3)
    span = values(verdict, Code.CYCLE_RANGE)
    assert (span["low"], span["high"]) == pytest.approx((min(first, second), max(first, second)))


def test_a_few_agents_isolated_at_times_decide_for_all() -> None:
    failing = failing_edges(barabasi_albert(200, 4, seed=1), 0.2, 100, seed=2)
    network = TemporalNetwork(failing.event_times, failing.sources, failing.targets, failing.weights, period=100)
    model = build(network, Linear(0.1))
    verdict, again = diagnose(model), recurrent_networks(model)
    assert again is not None
    heard = np.any(again.isolated, axis=0)
    assert np.count_nonzero(heard) == 11
    isolated = values(verdict, Code.INTERMITTENTLY_ISOLATED)
    assert isolated["agents"] == 11
    assert isolated["share"] == pytest.approx(again.isolated[:, heard].mean())
    assert values(verdict, Code.ISOLATED_SOURCES) == {"agents": 11}
    cycles = [periodic_limit(replace(model, hidden=np.where(heard, model.x0, x)), again) for x in (0.0, 9.0)]
    assert cycles[0] is not None
    assert cycles[1] is not None
    np.testing.assert_allclose(cycles[0], cycles[1], atol=1e-8)


NOISY = [
    (ODD, BOUNDED, 1.0, Gaussian(0.3), Outcome.RANDOM_WALK, False, Code.RANDOM_WALK),
    (ODD, Power(0.4), 1.0, Gaussian(0.3), Outcome.RANDOM_WALK, True, Code.RANDOM_WALK_UNBOUNDED),
    (ODD, SLOW, 1.0, Gaussian(0.3), Outcome.BIASED_CONSENSUS, True, Code.EARLY_NOISE_KEPT),
    (ODD, SLOW, 1.0, Laplace(0.3, temporal=AR1(0.5)), Outcome.BIASED_CONSENSUS, True, Code.EARLY_NOISE_KEPT),
    (ODD, SLOW, 1.0, Gaussian(0.3, temporal="frozen"), Outcome.RANDOM_WALK, True, Code.FROZEN_DRIFT),
    (ODD, FAST, 1.0, Gaussian(0.3, temporal="frozen"), Outcome.BIASED_CONSENSUS, True, Code.EARLY_NOISE_KEPT),
    (ODD, Linear(), 1.0, Gaussian(0.3, time_scale=Power(0.6)), Outcome.RANDOM_WALK, True, Code.RANDOM_WALK_UNBOUNDED),
    (ODD, Linear(), 1.0, Gaussian(0.3, time_scale=Linear()), Outcome.DISAGREEMENT, False, Code.NOISE_OUTGROWS_PRESSURE),
    (ODD, BOUNDED, FALLING, Gaussian(0.3), Outcome.DISAGREEMENT, True, Code.OWN_NOISE),
    (ODD, BOUNDED, FADING, Gaussian(0.3), Outcome.DISAGREEMENT, False, Code.BOUNDED_PRESSURE),
    (ODD, SLOW, TWO_HOLD, Gaussian(0.3), Outcome.BIASED_CONSENSUS, False, Code.ANCHORS_ATTRACT),
    (ODD, BOUNDED, TWO_HOLD, Gaussian(0.3), Outcome.DISAGREEMENT, False, Code.STATIONARY_MEAN),
    (C["star and ring"], SLOW, None, Gaussian(0.3), Outcome.BIASED_CONSENSUS, None, Code.DEGREES_CHANGE),
    (C["settles"], SLOW, None, Gaussian(0.3), Outcome.CONSENSUS, None, Code.START_FORGOTTEN),
    (C["settles"], SLOW, None, Gaussian(0.3, temporal="frozen"), Outcome.BIASED_CONSENSUS, None, Code.FROZEN_NOISE),
    (C["isolated"], SLOW, 1.0, Gaussian(0.3), Outcome.DISAGREEMENT, False, Code.INTERMITTENTLY_ISOLATED),
    (C["in turn"], SLOW, 1.0, Gaussian(0.3), Outcome.RANDOM_WALK, False, Code.INTERMITTENTLY_ISOLATED),
    (C["in turn"], FAST, 1.0, Gaussian(0.3), Outcome.RANDOM_WALK, False, Code.RANDOM_WALK_UNBOUNDED),
    (C["isolated"], SLOW, FALLING, Gaussian(0.3), Outcome.DISAGREEMENT, True, Code.OWN_NOISE),
    (C["groups"], SLOW, 1.0, Gaussian(0.3), Outcome.CLUSTERS, False, Code.ISOLATED_RANDOM_WALKS),
    (ODD, Linear(), Adaptation([0.1, 0.2]), Gaussian(0.3), Outcome.UNKNOWN, None, Code.UNKNOWN_ADAPTATION),
    (ODD, Linear(), 1.0, Gaussian(0.3, time_scale=Table([1.0, 2.0])), Outcome.UNKNOWN, None, Code.UNKNOWN_ADAPTATION),
    (ODD, Table([1.0, 2.0]), 1.0, Gaussian(0.3), Outcome.UNKNOWN, None, Code.UNKNOWN_GROWTH),
]


@pytest.mark.parametrize(("network", "pressure", "rate", "noise", "expected", "hidden", "code"), NOISY, ids=str)
def test_noise_decides_too(
    network: Network | TemporalNetwork,
    pressure: Schedule,
    rate: object,
    noise: Noise,
    expected: Outcome,
    hidden: bool | None,
    code: Code,
) -> None:
    verdict = diagnose(build(network, pressure, rate, noise))
    assert verdict.outcome is expected
    assert (None if verdict.hidden is None else verdict.hidden.agrees) is hidden
    assert code in codes(verdict)


@pytest.mark.parametrize(("name", "agents"), [("isolated", 1), ("in turn", 3)])
def test_isolated_agents_are_counted(name: str, agents: int) -> None:
    verdict = diagnose(build(C[name], SLOW, 1.0, Gaussian(0.3)))
    assert values(verdict, Code.INTERMITTENTLY_ISOLATED) == {"agents": agents, "share": 0.5}


def test_reasons_name_the_values_of_components() -> None:
    verdict = diagnose(build(C["groups"], SLOW))
    assert verdict.connectivity is not None
    told = [reason.values for reason in verdict.reasons if reason.code is Code.COMPONENT_LIMIT]
    assert [each["agents"] for each in told] == list(verdict.connectivity.components)
    assert [each["mean"] for each in told] == list(verdict.connectivity.values)
    assert values(verdict, Code.COMPONENTS) == {"components": 3, "single": 1}


def test_noise_that_is_not_averaged_out_keeps_a_network_that_ends_bipartite_oscillating() -> None:
    tree = in_rounds(RING, [(0, i) for i in range(1, AGENTS)], periodic=False)
    noise = Gaussian(0.5, time_scale=Power(0.6))
    assert diagnose(build(tree, Linear(), None, noise)).outcome is Outcome.OSCILLATION
    assert diagnose(build(TREE, Linear(), None, noise)).outcome is Outcome.OSCILLATION


@pytest.mark.parametrize("case", [c for c in NOISY if c[4] in (Outcome.RANDOM_WALK, Outcome.BIASED_CONSENSUS)], ids=str)
def test_opinions_wander_exactly_where_the_verdict_says(case: tuple[object, ...]) -> None:
    network, pressure, rate, noise, expected, *_ = case
    model = build(network, pressure, rate, noise)  # type: ignore[arg-type]
    times = [250, 500, 1000, 2000]
    variance = moments(model, 2000, of=mean(model), times=times).variance[:, 0]
    gains = np.diff(variance)
    # What settles gains less and less over each doubling, by a steady factor; what wanders does not.
    assert (gains[-1] > 0.99 * gains[-2] > 0) == (expected is Outcome.RANDOM_WALK)


def test_the_rate_of_the_random_walk_is_that_of_the_moments() -> None:
    model = build(ODD, BOUNDED, 1.0, Gaussian(0.3))
    variance = moments(model, 1500, of=mean(model), times=[500, 1500], what="hidden").variance[:, 0]
    rate = values(diagnose(model), Code.RANDOM_WALK)["rate"]
    assert rate == pytest.approx((variance[1] - variance[0]) / 1000, rel=0.01)


@pytest.mark.parametrize("rate", [0.1, Power(-1, 0.5), Formula("0.4/t^2")], ids=str)
@pytest.mark.parametrize("pressure", [Constant(1.5), Linear(), Power(1.5), Logarithmic()], ids=str)
def test_a_mean_that_nothing_moves_stays_at_v(pressure: Schedule, rate: object) -> None:
    network = cycle(5)
    model = Model(network, [1.0, 2.0, 2.0, 1.0, 1.5], pressure=pressure, adaptation=rate)  # type: ignore[arg-type]
    _, held = mean_path(model, 400)
    np.testing.assert_allclose(held[-1].mean(), model.consensus_value, rtol=1e-12)
    outcome = diagnose(model).outcome
    assert outcome is (
        Outcome.DISAGREEMENT if isinstance(pressure, Constant) and isinstance(rate, Formula) else Outcome.CONSENSUS
    )
    uneven = replace(model, adaptation=Adaptation(rate, np.linspace(0.2, 1, 5)))  # type: ignore[arg-type]
    assert diagnose(uneven).outcome is not Outcome.CONSENSUS


def test_nothing_to_agree_on_is_agreement() -> None:
    for network in (ODD, C["isolated"], C["groups"]):
        model = Model(network, np.full(6, 0.25), adaptation=0.1)
        assert diagnose(model).outcome is Outcome.CONSENSUS
        assert codes(diagnose(model)) == {Code.SETTLED}


def test_trivial_extensions_have_the_verdict_of_the_plain_model() -> None:
    for pressure in (Linear(), Power(1.5), Constant(2.0), StretchedExponential()):
        for network in (ODD, TREE):
            base = build(network, pressure, None, Gaussian(0.4))
            temporal = Model(TemporalNetwork.constant(network), base.x0, base.s, pressure, base.noise, adaptation=0.0)
            expected, found = diagnose(base, 20), diagnose(temporal, 20)
            assert found.explain() == expected.explain()
            assert found.kappa == pytest.approx(expected.kappa, rel=1e-12)
            assert found.forecast is not None
            assert expected.forecast is not None
            assert found.forecast.mode_error == pytest.approx(expected.forecast.mode_error, rel=1e-12)


def test_a_verdict_describes_joint_connectivity() -> None:
    gap = in_rounds(*[RING] * 6, *[[(0, 1)]] * 10, *[RING] * 16, periodic=False)
    model = build(gap, Linear())
    found = diagnose(model, 32).connectivity
    assert found is not None
    assert (found.window, found.usual, found.until) == (11, 4, 32)
    assert found.broken == ((9, 16),)
    assert "within any 11 steps up to t = 32, mostly within 4 but not in 9–16" in diagnose(model, 32).explain()
    whole = diagnose(model).connectivity
    assert whole is not None
    assert (whole.until, whole.last_change) == (None, 17)
    isolated = diagnose(build(C["isolated"], Linear())).connectivity
    assert isolated is not None
    assert (isolated.period, isolated.isolated_agents) == (2, 1)
    assert isolated.isolated == pytest.approx(1 / 12)
    parted = diagnose(build(C["groups"], Linear()))
    assert parted.connectivity is not None
    assert len(parted.connectivity.components) == 3
    assert "only within 3 components" in parted.explain()
    assert diagnose(build(ODD, Linear(), 1.0)).connectivity is None


def test_a_period_too_long_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recurrence, "LARGEST", 11)
    monkeypatch.setattr(_limit_operator, "LONGEST_BLOCK", 1)
    verdict = diagnose(build(C["star and ring"], Linear(), 1.0), 5)
    assert verdict.outcome is Outcome.UNKNOWN
    assert values(verdict, Code.PERIOD_TOO_LONG) == {"period": 2}
    assert verdict.forecast is not None


def test_hidden_opinions_are_forecast_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(barabasi_albert(60, 2, seed=2), Linear(), Adaptation(0.1), Gaussian(0.5))
    exact = diagnose(model, 40).forecast
    assert exact is not None
    result = moments(model, 40, times=[40], what="hidden")
    rows = np.eye(60) - 1 / 60
    apart = moments(model, 40, of=rows, what="hidden")
    assert exact.hidden_mean == pytest.approx(result.mean[-1].mean())
    assert exact.hidden_disagreement == pytest.approx(np.sqrt(np.mean(apart.mean[-1] ** 2 + apart.variance[-1])))
    monkeypatch.setattr(_forecast, "is_exact", lambda *_: False)
    probed = diagnose(model, 40).forecast
    assert probed is not None
    assert probed.hidden_mean == pytest.approx(exact.hidden_mean, rel=1e-12)
    assert probed.hidden_disagreement is not None
    assert exact.hidden_disagreement is not None
    error = probed.hidden_disagreement_stderr
    assert 0 < error < 0.03 * exact.hidden_disagreement
    assert abs(probed.hidden_disagreement - exact.hidden_disagreement) < 4 * error
    assert probed.start_weight == exact.start_weight


@pytest.mark.parametrize("name", ["star and ring", "isolated", "groups"])
def test_the_weight_of_the_start_is_what_a_start_of_one_leaves(name: str) -> None:
    model = build(C[name], Linear(), Adaptation(0.2), Gaussian(0.5))
    prediction = diagnose(model, 9).forecast
    assert prediction is not None
    alone = replace(model, hidden=np.zeros(6), start=np.ones(6))
    expected = consensus_mode(model)(mean_path(alone, 9)[0][-1])
    assert prediction.start_weight == pytest.approx(float(expected), rel=1e-10)


def test_changing_networks_come_to_their_value_at_the_rates_of_their_mode() -> None:
    rng = np.random.default_rng(1)
    for scale, exponent in ((0.1, 1.0), (2.0, None)):
        model = build(C["star and ring"], Power(1.0, scale), None, Gaussian(0.3))
        rate, verdict = consensus_rate(model), diagnose(model)
        assert rate.ratio == pytest.approx(verdict.kappa / scale)
        assert rate.bias is not None
        assert rate.bias.exponent == pytest.approx(exponent or verdict.kappa / scale)
        assert verdict.consensus_limit is not None
        bias, variance = [], []
        for T in (1000, 4000):
            result = moments(model, T, of=consensus_mode(model))
            bias.append(abs(result.mean[0, 0] - verdict.consensus_limit.mean))
            variance.append(result.variance[0, 0])
        assert rate.variance is not None
        assert math.log(bias[0] / bias[1]) / math.log(4) == pytest.approx(rate.bias.exponent, abs=0.15)
        assert math.log(variance[0] / variance[1]) / math.log(4) == pytest.approx(rate.variance.exponent, abs=0.1)
    slow = build(C["star and ring"], Power(0.6), None, Gaussian(rng.uniform(0.1, 1, 6), temporal=AR1(0.5)))
    law = consensus_rate(slow).variance
    assert law is not None
    assert moments(slow, 3000, of=consensus_mode(slow)).variance[0, 0] == pytest.approx(law(3000), rel=0.1)


def test_no_rates_are_claimed_where_opinions_adapt() -> None:
    rate = consensus_rate(build(ODD, Linear(), 1.0, Gaussian(0.3)))
    assert (rate.bias, rate.variance, rate.disagreement) == (None, None, None)


def test_steps_are_counted_only_where_agents_converge_to_v() -> None:
    assert steps_needed(build(C["settles"], Linear(0.3), None, Gaussian(0.3)), 0.05) > 1
    with pytest.raises(InvalidInputError, match="only where agents converge to v"):
        steps_needed(build(ODD, Linear(), TWO_HOLD), 1e-6)
    with pytest.raises(InvalidInputError, match="only where agents converge to v"):
        steps_needed(build(C["star and ring"], Linear()), 1e-4)


SHOWN = [*(build(*case[:3]) for case in CASES[::3]), *(build(*case[:4]) for case in NOISY[::2])]  # type: ignore[arg-type]


@pytest.mark.parametrize(("model", "steps"), list(zip(SHOWN, cycled([None, 2]), strict=False)), ids=range(len(SHOWN)))
def test_every_verdict_can_be_printed_and_stored(model: Model, steps: int | None) -> None:
    verdict = diagnose(model, steps)
    lines = verdict.explain().splitlines()
    assert len(lines) <= 44
    assert max(len(line) for line in lines) <= 110
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["words"] == verdict.outcome.value
    assert (plain["hidden"] is None) == (model.adaptation is None)
    assert (plain["connectivity"] is None) == (model.temporal_network is None)
    assert (plain["consensus_limit"] is None) == (verdict.consensus_limit is None)
    HTMLParser().feed(verdict._repr_html_())


def test_estimates_are_said_to_be() -> None:
    assert classify(build(ODD, Formula("t*cos(1/t)"), 1.0)).estimated
    assert not classify(build(ODD, Formula("t"), 1.0)).estimated
    assert classify(build(ODD, Linear(), Adaptation("0.1*cos(1/t)"))).estimated
    assert not classify(build(ODD, Linear(), Adaptation(Power(-1, 0.5)), Gaussian(0.3))).estimated
    assert not classify(build(ODD, StretchedExponential(), 1.0, Gaussian(0.3))).estimated
