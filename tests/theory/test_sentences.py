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
    all_on_mean,
    all_on_v,
    almost_surely,
    alone_on_walks,
    anchored,
    averages,
    averages_slowly,
    balanced,
    both_edges_fail,
    chance_averages,
    class_unbounded,
    class_values,
    component_means,
    component_values,
    components_wander,
    counted_classes,
    counted_components,
    cycle_range,
    cycling,
    damped,
    detached,
    deviations,
    drift,
    driven_classes,
    driven_components,
    driven_phases,
    early_noise,
    exchanging,
    fades_marginally,
    fluctuation_fades,
    fluctuation_grows,
    follows,
    forgotten,
    frozen_growth,
    frozen_limit,
    hidden_agree,
    hidden_follow,
    isolated_at_times,
    isolated_follow,
    keeps_moving,
    keeps_nothing,
    kept_in_part,
    kept_opinions,
    left_apart,
    memory,
    mirrored,
    mode_deviation,
    moved_first,
    moving,
    never_mix,
    nobody_heard,
    noise_fades,
    noise_in_the_limit,
    not_almost_surely,
    not_in_the_pair,
    not_named,
    not_resolved,
    odd_cycle,
    on_the_anchor,
    on_zero,
    one_source,
    opposite_camps,
    other_records,
    other_updates,
    others_follow,
    own_opinions,
    parity,
    perhaps_almost_surely,
    phases_of_camps,
    random_limit,
    random_means,
    repeating,
    returning,
    rotating,
    scatter,
    settled,
    settling_at_random,
    several_sources,
    shifted_once,
    sides_agree,
    silent_at_times,
    silent_noise,
    single_classes,
    slow_drift,
    slower,
    spanning,
    start_kept,
    start_share,
    stationary,
    two_phases,
    unbounded_by,
    unbounded_walk,
    uneven,
    unknown_phases,
    unmoved,
    values_differ,
    variance_unbounded,
    walk,
    wanders,
    weak_anchors,
    weights_of_degrees,
)
from tests.theory.reasons import codes

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
    ReasonCode.FROZEN_DRIFT: (
        (Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=FROZEN), drift),
        (Model(complete(4), **ODD, adaptation=0.1, noise=FROZEN, activation=0.5), slow_drift),
    ),
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
