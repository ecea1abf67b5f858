"""Sentences of a verdict against recursions: what each reason claims, and its numbers to the printed digits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from peerpressure import SDE, Adaptation, Gaussian, Model, Network, Power, diagnose
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
from peerpressure.theory import ReasonCode, Regime
from tests.theory import claims
from tests.theory.changing import CHANGING, in_rounds
from tests.theory.claims import (
    CIRCLE,
    DIVIDED,
    ENEMIES,
    FROZEN,
    HERALDS,
    LINE,
    MIXED,
    MIXED_HIDDEN,
    ODD,
    PAIRS,
    QUARREL,
    RISING,
    RIVALS,
    SIX,
    TRIANGLES,
    TURNS,
    TWO_CIRCLES,
    Check,
    uneven,
)
from tests.theory.reasons import codes

CONFIRMED: dict[ReasonCode, tuple[tuple[Model | SDE, Check], ...]] = {
    ReasonCode.PERIODIC_LAW: ((Model(CHANGING["star and ring"], np.arange(6.0), pressure=2), claims.cycling),),
    ReasonCode.LIMITS_SPAN: ((Model(MIXED, MIXED_HIDDEN, pressure=2, adaptation=0.2), claims.spanning),),
    ReasonCode.RANDOM_LIMITS: (
        (Model(MIXED, MIXED_HIDDEN, pressure=Power(2), activation=0.5), claims.settling_at_random),
    ),
    ReasonCode.MOVING_LIMITS: ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3), activation=0.5), claims.moving),),
    ReasonCode.SOME_WALK: (
        (Model(MIXED, MIXED_HIDDEN, pressure=2, noise=Gaussian(0.3), adaptation=0.2), claims.unbounded_by(1.0)),
    ),
    ReasonCode.SOME_DRIFT: (
        (Model(MIXED, MIXED_HIDDEN, pressure=2, noise=FROZEN, adaptation=0.2), claims.unbounded_by(2.0)),
    ),
    ReasonCode.START_FORGOTTEN: ((uneven(pressure="0.2*t"), claims.all_on_v),),
    ReasonCode.SETTLED: ((Model(cycle(4), [2, 2, 2, 2]), claims.settled),),
    ReasonCode.BALANCED: ((Model(cycle(5), [0, 1, 2, 3, 4], pressure=Power(2)), claims.balanced),),
    ReasonCode.START_REMEMBERED: ((uneven(pressure=Power(2)), claims.start_kept),),
    ReasonCode.APERIODIC: ((uneven(pressure=Power(2)), claims.odd_cycle),),
    ReasonCode.LIMIT: (
        (uneven(pressure=Power(2)), claims.all_on_mean),
        # The signs of opinions and weights cancel under bounded pressure.
        (Model(ENEMIES, [1, 1], pressure=2), claims.all_on_mean),
    ),
    ReasonCode.TWO_PHASES: (
        (Model(star(4), **ODD, pressure=Power(2)), claims.two_phases),
        (Model(star(4), **ODD, pressure=Power(2), noise=Gaussian(0.3)), claims.two_phases),
    ),
    ReasonCode.TWO_PHASES_OF_CAMPS: ((Model(ENEMIES, [0, 1], pressure=Power(2)), claims.phases_of_camps),),
    ReasonCode.ROTATING_PHASES: ((Model(CIRCLE, [0, 1, 5], pressure=Power(2)), claims.rotating),),
    ReasonCode.CAMPS: ((Model(RIVALS, [0, 1, 5]), claims.opposite_camps),),
    ReasonCode.CLASS_LIMIT: (
        (Model(PAIRS, [0, 1, 3, 1], [1, 2, 1, 1]), claims.class_values),
        (Model(Network(PAIRS.adjacency), [0, 1, 0, 1], noise=FROZEN), claims.class_values),
        (Model(HERALDS, [0, 1, 2], noise=FROZEN), claims.class_values),
        (
            Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3, temporal="frozen", time_scale="0.5 + 1/t")),
            claims.class_values,
        ),
    ),
    ReasonCode.CLASS_UNBOUNDED: tuple(
        (Model(net, hidden, noise=Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")), claims.class_unbounded)
        for net, hidden in ((PAIRS, [0, 1, 0, 1]), (HERALDS, [0, 1, 2]), (DIVIDED, [1, 2, 6, 0]))
    ),
    ReasonCode.CLASS_NEUTRAL: ((Model(QUARREL, [0, 1, 5], pressure="0.2*t"), claims.on_zero),),
    ReasonCode.TRANSIENT_AGENTS: (
        (Model(cycle(6), [0, 1, 2, 3, 4, 9], [math.inf, 1, 1, math.inf, 1, 1]), claims.others_follow),
    ),
    ReasonCode.TRANSIENT_FOLLOW: ((Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf]), claims.others_follow),),
    ReasonCode.SILENT_NOISE: ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3)), claims.silent_noise),),
    ReasonCode.NOISE_AVERAGES: ((uneven(noise=Gaussian(0.3)), claims.averages),),
    ReasonCode.NOISE_AVERAGES_SLOWLY: (
        (uneven(noise=Gaussian(0.3), pressure="t^0.5"), claims.averages_slowly),
        (uneven(noise=Gaussian(0.3, time_scale="t^0.1"), pressure="t^0.5"), claims.averages_slowly),
    ),
    ReasonCode.NOISE_FADES: (
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="0.2*t"), claims.noise_fades),
        (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="t^0.5"), claims.noise_fades),
    ),
    ReasonCode.FROZEN_NOISE: (
        (Model(complete(4), **ODD, pressure="0.2*t", noise=FROZEN), claims.frozen_limit),
        # The scale has no limit, but its average has one, which is what the common value hears.
        (
            Model(
                complete(4),
                **ODD,
                pressure="0.2*t",
                noise=Gaussian(0.3, temporal="frozen", time_scale="2 + sin(t)"),
            ),
            claims.frozen_limit,
        ),
    ),
    ReasonCode.FROZEN_NOISE_GROWS: ((uneven(noise=RISING, pressure="0.2*t"), claims.frozen_growth),),
    ReasonCode.STATIONARY_MEAN: ((uneven(pressure=2), claims.stationary),),
    ReasonCode.NO_FLUCTUATION: ((uneven(pressure=2), claims.unmoved),),
    ReasonCode.FOLLOWS_PRESSURE: tuple(
        (uneven(pressure="2+sin(t)", noise=noise), claims.moves_with_pressure) for noise in (None, FROZEN)
    ),
    ReasonCode.FLUCTUATION: (
        (uneven(pressure=2, noise=Gaussian(0.3)), claims.deviations),
        (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=Gaussian(0.3)), claims.deviations),
        (Model(PAIRS, [1, 1, 1, 1], pressure=2, noise=Gaussian(0.3)), claims.deviations),
    ),
    ReasonCode.FROZEN_DEVIATION: (
        (uneven(pressure=2, noise=FROZEN), claims.deviations),
        (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=FROZEN), claims.deviations),
    ),
    ReasonCode.FLUCTUATION_FADES: (
        (uneven(pressure=2, noise=Gaussian(0.3, time_scale="1/t")), claims.fluctuation_fades),
    ),
    ReasonCode.FLUCTUATION_GROWS: (
        (uneven(pressure=2, noise=Gaussian(0.3, time_scale="t^0.5")), claims.fluctuation_grows),
    ),
    ReasonCode.NOISE_OUTGROWS_PRESSURE: ((uneven(noise=Gaussian(0.3, time_scale="t")), claims.scatter),),
    ReasonCode.MODE_FLUCTUATION: (
        (
            Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=Gaussian(0.3)),
            claims.mode_deviation,
        ),
    ),
    ReasonCode.FROZEN_MODE_DEVIATION: (
        (
            Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=FROZEN),
            claims.mode_deviation,
        ),
    ),
    ReasonCode.RANDOM_WALK: (
        (Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1)), claims.walk),
    ),
    ReasonCode.RANDOM_WALK_UNBOUNDED: (
        (
            Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1, time_scale="t^-0.5")),
            claims.unbounded_walk,
        ),
    ),
    ReasonCode.FROZEN_DRIFT: (
        (Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=FROZEN), claims.drift),
        (Model(complete(4), **ODD, adaptation=0.1, noise=FROZEN, activation=0.5), claims.slow_drift),
    ),
    ReasonCode.FOLLOWS_FIXED_POINT: ((uneven(pressure="t^0.5"), claims.follows),),
    ReasonCode.NOISE_MEMORY: ((uneven(noise=Gaussian(0.3, temporal=AR1(0.5)), pressure="0.2*t"), claims.memory),),
    ReasonCode.APERIODIC_DIRECTED: ((Model(TURNS, [0, 1, 5], [1, 2, 3], pressure=Power(2)), claims.odd_cycle),),
    ReasonCode.CLOSED_CLASSES: ((Model(PAIRS, [0, 1, 3, 1]), claims.counted_classes),),
    ReasonCode.SINGLE_CLASSES: ((Model(star(6), np.arange(6.0), [1, *[math.inf] * 5]), claims.single_classes),),
    ReasonCode.CLASS_CAMPS: ((Model(DIVIDED, [1, 2, 6, 0]), claims.class_values),),
    ReasonCode.CLASS_ROTATES: ((Model(TWO_CIRCLES, [0, 1, 5, 2, 3, 9], pressure=Power(2)), claims.rotating),),
    ReasonCode.ANCHORS_ATTRACT: (
        (Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), claims.on_the_anchor),
    ),
    ReasonCode.ADAPTATION_LASTS: ((Model(complete(4), **ODD, pressure=1, adaptation=0.1), claims.forgotten),),
    ReasonCode.ADAPTATION_FADES: (
        (Model(complete(4), **ODD, pressure=1, adaptation=Adaptation("1/(2*t^2)")), claims.kept_in_part),
    ),
    ReasonCode.NOISE_WANDERS: ((uneven(noise=Gaussian(0.3, time_scale="t^0.5")), claims.wanders),),
    ReasonCode.ACTIVATION_RATE: (
        (Model(cycle(5), np.arange(5.0), activation=0.5), claims.slower),
        (Model(cycle(4), np.arange(4.0), activation=0.5), claims.slower),
    ),
    ReasonCode.RANDOM_LIMIT: (
        (Model(cycle(5), np.arange(5.0), activation=0.5, pressure=Power(2)), claims.random_limit),
    ),
    ReasonCode.UNKNOWN_PHASES: ((Model(CIRCLE, [0, 1, 5], pressure="t*(2+sin(t))"), claims.unknown_phases),),
    ReasonCode.UNKNOWN_REPETITION: tuple(
        (Model(CHANGING[name], SIX, pressure="t*(2+sin(t))"), claims.repeating) for name in ("star and ring", "pairs")
    ),
    ReasonCode.UNKNOWN_ANCHORS: (
        (
            Model(
                CHANGING["star and ring"],
                SIX,
                pressure=Power(0.4),
                adaptation=Adaptation(0.1, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
            ),
            claims.weak_anchors,
        ),
    ),
    ReasonCode.COMPONENTS: ((Model(CHANGING["groups"], SIX), claims.counted_components),),
    ReasonCode.ALL_ISOLATED: ((Model(CHANGING["ends"], SIX), claims.nobody_heard),),
    ReasonCode.INTERMITTENTLY_ISOLATED: (
        (Model(CHANGING["isolated"], SIX), claims.isolated_at_times),
        (Model(CHANGING["in turn"], SIX), claims.isolated_at_times),
        (Model(failing_edges(cycle(5), 0.4, 40, seed=1), SIX[:5], pressure=3), claims.both_edges_fail),
    ),
    ReasonCode.INTERMITTENTLY_SILENT: (
        (Model(CHANGING["isolated"], SIX, isolated="keep"), claims.silent_at_times),
        (Model(gossip(cycle(5), 40, seed=1), SIX[:5], isolated="keep"), claims.not_in_the_pair),
    ),
    ReasonCode.DETACHED: ((uneven(pressure="1/t^2", adaptation=0.1), claims.detached),),
    ReasonCode.ADAPTATION_ANCHORED: (
        (Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), claims.anchored),
    ),
    ReasonCode.MARGINAL_RATE: ((uneven(pressure="t*log(1+t)"), claims.fades_marginally),),
    ReasonCode.ACTIVATION_AVERAGES: ((Model(cycle(5), np.arange(5.0), activation=0.5), claims.chance_averages),),
    ReasonCode.ALMOST_SURELY: (
        (uneven(noise=Gaussian(0.3)), claims.almost_surely),
        (uneven(noise=Gaussian(0.3), pressure="t^0.4"), claims.almost_surely),
    ),
    ReasonCode.MEAN_SQUARE_ONLY: ((uneven(noise=Gaussian(0.3), pressure="log(1+t)"), claims.not_almost_surely),),
    ReasonCode.MEAN_SQUARE: (
        (uneven(noise=Laplace(0.3, time_scale="log(2+t)^-0.1"), pressure="log(1+t)^0.9"), claims.perhaps_almost_surely),
    ),
    ReasonCode.CONTINUOUS_DAMPING: ((SDE(Model(k2(), [0, 1], [1, 3], pressure=Power(1.5)), step=0.1), claims.damped),),
    ReasonCode.LIMIT_IS_V: (
        (uneven(pressure="t^1.05"), claims.keeps_nothing),
        (Model(path(4), [-3, -1, 1, 3], [1, 3, 3, 1], adaptation=0.1), claims.mirrored),
    ),
    ReasonCode.LIMIT_UNRESOLVED: (
        (Model(CHANGING["isolated"], SIX, adaptation=Adaptation("1/(1+t)", [1, 1, 1, 1, 1, 0])), claims.not_resolved),
    ),
    ReasonCode.SIDES_AGREE: (
        (Model(path(4), [0, 1, 1, 0], pressure=Power(2)), claims.sides_agree),
        (Model(cycle(4), [0, 0, 1, 1], [1, 1, 3, 3], pressure=Power(2)), claims.sides_agree),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_NOISE: (
        (
            uneven(pressure="1/t^0.5", adaptation=Adaptation("1/(1+t)^0.5"), noise=Gaussian(0.3, time_scale="1/t")),
            claims.noise_in_the_limit,
        ),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_NETWORK: (
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], adaptation=0.1), claims.other_records),
    ),
    ReasonCode.LIMIT_DEPENDS_ON_UPDATES: (
        (
            Model(barabasi_albert(2_000, 2, seed=1), np.geomspace(1e-4, 1, 2_000), pressure=Power(2), activation=0.5),
            claims.other_updates,
        ),
    ),
    ReasonCode.LIMIT_UNBOUNDED: (
        (uneven(pressure=Power(2), noise=Gaussian(0.5, time_scale=Power(1.8))), claims.variance_unbounded),
        (
            uneven(pressure=Power(2), noise=Gaussian(0.5, temporal="frozen", time_scale=Power(1.5))),
            claims.variance_unbounded,
        ),
    ),
    ReasonCode.ISOLATED_SOURCE: ((Model(CHANGING["one alone"], SIX), claims.one_source),),
    ReasonCode.DEGREES_CHANGE: ((Model(CHANGING["star and ring"], SIX), claims.weights_of_degrees),),
    ReasonCode.EARLY_NOISE_KEPT: (
        (uneven(adaptation=1.0, noise=Gaussian(0.3)), claims.early_noise),
        (uneven(adaptation=1.0, noise=FROZEN, pressure=Power(2)), claims.early_noise),
    ),
    ReasonCode.OPINIONS_MOVED: ((uneven(adaptation=Adaptation("1/(2*t^2)")), claims.moved_first),),
    ReasonCode.BIPARTITE_COMPONENTS: (
        (Model(in_rounds(LINE, [(0, 1), (1, 2), (3, 4)], periodic=False), SIX, pressure=Power(2)), claims.exchanging),
        (Model(star(4), **ODD, pressure=Power(2), adaptation=Adaptation("1/(2*t^2)")), claims.exchanging),
    ),
    ReasonCode.PARITY_OF_PRESSURE: ((Model(star(4), **ODD, pressure="t*(2+cos(pi*t))"), claims.parity),),
    ReasonCode.PHASES_DRIVEN_BY_NOISE: (
        (Model(star(4), **ODD, noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_phases),
        (Model(CIRCLE, [0, 1, 5], noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_phases),
        (Model(CHANGING["groups"], SIX, noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_components),
    ),
    ReasonCode.CLASSES_DRIVEN_BY_NOISE: (
        (Model(CHANGING["two closed classes"], [1.0] * 6, noise=FROZEN), claims.driven_classes),
    ),
    ReasonCode.OWN_OPINIONS: (
        (Model(CHANGING["ends"], SIX), claims.own_opinions),
        (Model(CHANGING["ends"], SIX, noise=Gaussian(0.3)), claims.own_opinions),
    ),
    ReasonCode.KEPT_OPINIONS: ((Model(CHANGING["ends"], SIX, isolated="keep"), claims.kept_opinions),),
    ReasonCode.OWN_NOISE: (
        (uneven(pressure=1, adaptation=Adaptation("1/(1+t)^0.8"), noise=Gaussian(0.3)), claims.hidden_agree),
    ),
    ReasonCode.OWN_NOISE_KEPT: (
        (uneven(pressure=1, adaptation=Adaptation(0.1, [1, 1, 1, 0]), noise=Gaussian(0.3)), claims.hidden_follow),
        (Model(CHANGING["isolated"], SIX, adaptation=0.5, noise=Gaussian(0.3)), claims.isolated_follow),
    ),
    ReasonCode.BOUNDED_PRESSURE: (
        (uneven(pressure="2+sin(t)"), claims.left_apart),
        (uneven(pressure=1, adaptation=Adaptation("1/(2*t^2)")), claims.left_apart),
    ),
    ReasonCode.RANDOM_MEAN: (
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], pressure=3), claims.random_means),
        (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5]), claims.random_means),
    ),
    ReasonCode.RETURN_TO_OPINIONS: (
        (Model(edge_markovian(5, 0.3, 0.3, 400, seed=1), SIX[:5], pressure=3), claims.returning),
    ),
    ReasonCode.FLUCTUATION_UNKNOWN: (
        (uneven(pressure="2+sin(t)", noise=Gaussian(0.3)), claims.keeps_moving),
        (Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)), claims.keeps_moving),
    ),
    ReasonCode.FROZEN_SHIFT: ((uneven(pressure="2+sin(t)", noise=FROZEN), claims.shifted_once),),
    ReasonCode.COMPONENT_LIMIT: tuple(
        (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), claims.component_values)
        for parts in ({}, {"noise": Gaussian(0.3)}, {"noise": FROZEN}, {"adaptation": 0.5})
    ),
    ReasonCode.COMPONENT_MEAN: tuple(
        (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), claims.component_values)
        for parts in (
            {"noise": Gaussian(0.3)},
            {"noise": RISING},
            {"noise": Gaussian(0.3), "adaptation": 1.0},
        )
    ),
    ReasonCode.COMPONENT_LIMITS_DIFFER: ((Model(CHANGING["groups"], SIX), claims.values_differ),),
    ReasonCode.COMPONENTS_NOT_NAMED: (
        (Model(in_rounds(LINE, [(0, 1), (2, 3)], periodic=False), SIX), claims.not_named),
    ),
    ReasonCode.ISOLATED_RANDOM_WALKS: (
        (Model(CHANGING["groups"], SIX, adaptation=1.0, noise=Gaussian(0.3)), claims.alone_on_walks),
        (uneven(pressure="1/t^2", adaptation=0.1, noise=Gaussian(0.3)), claims.alone_on_walks),
    ),
    ReasonCode.COMPONENTS_WANDER: (
        (
            Model(
                in_rounds(LINE, TRIANGLES, periodic=False),
                SIX,
                adaptation=1.0,
                noise=Gaussian(0.3, time_scale="t^0.6"),
            ),
            claims.components_wander,
        ),
    ),
    ReasonCode.ISOLATED_SOURCES: ((Model(CHANGING["in turn"], SIX), claims.several_sources),),
    ReasonCode.SEVERAL_CLOSED_CLASSES: (
        (Model(CHANGING["two closed classes"], SIX), claims.never_mix),
        (Model(CHANGING["pairs"], SIX, pressure=Power(2)), claims.never_mix),
    ),
    ReasonCode.CYCLE_RANGE: tuple(
        (Model(CHANGING[name], SIX), claims.cycle_range) for name in ("two closed classes", "in turn", "isolated")
    ),
    ReasonCode.FINITE_HORIZON: ((uneven(pressure=[1.0, 2.0, 5.0]), claims.start_share),),
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
        ReasonCode.SCHEDULES_TOO_LARGE,
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
