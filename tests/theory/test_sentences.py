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
from peerpressure.theory import Regime
from peerpressure.theory._reason_table import TABLE
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

WHITE, GROWING = Gaussian(0.3), Gaussian(0.5, time_scale=Power(0.6))
FADING = Gaussian(0.3, temporal="frozen", time_scale="t^-0.5")
FALLING = Adaptation("1/(2*t^2)")
FOUR, LARGE, FAILING = complete(4), barabasi_albert(900, 2, seed=1), failing_edges(cycle(5), 0.4, 10, seed=1)

CONFIRMED: tuple[tuple[str, Check, Model | SDE], ...] = (
    ("cycle", claims.cycling, Model(CHANGING["star and ring"], np.arange(6.0), pressure=2)),
    ("limits_span", claims.spanning, Model(MIXED, MIXED_HIDDEN, pressure=2, adaptation=0.2)),
    ("agents_move", claims.settling_at_random, Model(MIXED, MIXED_HIDDEN, pressure=Power(2), activation=0.5)),
    ("agents_move", claims.moving, Model(HERALDS, [0, 1, 2], noise=WHITE, activation=0.5)),
    ("agents_move", claims.unbounded_by(1.0), Model(MIXED, MIXED_HIDDEN, pressure=2, noise=WHITE, adaptation=0.2)),
    ("agents_move", claims.unbounded_by(2.0), Model(MIXED, MIXED_HIDDEN, pressure=2, noise=FROZEN, adaptation=0.2)),
    ("start_forgotten", claims.all_on_v, uneven(pressure="0.2*t")),
    ("settled", claims.settled, Model(cycle(4), [2, 2, 2, 2])),
    ("balanced", claims.balanced, Model(cycle(5), [0, 1, 2, 3, 4], pressure=Power(2))),
    ("start_remembered", claims.start_kept, uneven(pressure=Power(2))),
    ("phases_agree", claims.odd_cycle, uneven(pressure=Power(2))),
    ("limit", claims.all_on_mean, uneven(pressure=Power(2))),
    # The signs of opinions and weights cancel under bounded pressure.
    ("limit", claims.all_on_mean, Model(ENEMIES, [1, 1], pressure=2)),
    ("two_phases", claims.two_phases, Model(star(4), **ODD, pressure=Power(2))),
    ("two_phases", claims.two_phases, Model(star(4), **ODD, pressure=Power(2), noise=WHITE)),
    ("two_phases", claims.phases_of_camps, Model(ENEMIES, [0, 1], pressure=Power(2))),
    ("rotating_phases", claims.rotating, Model(CIRCLE, [0, 1, 5], pressure=Power(2))),
    ("camps", claims.opposite_camps, Model(RIVALS, [0, 1, 5])),
    ("group", claims.class_values, Model(PAIRS, [0, 1, 3, 1], [1, 2, 1, 1])),
    ("group", claims.class_values, Model(Network(PAIRS.adjacency), [0, 1, 0, 1], noise=FROZEN)),
    ("group", claims.class_values, Model(HERALDS, [0, 1, 2], noise=FROZEN)),
    (
        "group",
        claims.class_values,
        Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3, temporal="frozen", time_scale="0.5 + 1/t")),
    ),
    *(
        (
            "group",
            claims.class_unbounded,
            Model(net, hidden, noise=Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")),
        )
        for net, hidden in ((PAIRS, [0, 1, 0, 1]), (HERALDS, [0, 1, 2]), (DIVIDED, [1, 2, 6, 0]))
    ),
    ("group", claims.on_zero, Model(QUARREL, [0, 1, 5], pressure="0.2*t")),
    ("transient_agents", claims.others_follow, Model(cycle(6), [0, 1, 2, 3, 4, 9], [math.inf, 1, 1, math.inf, 1, 1])),
    ("transient_agents", claims.others_follow, Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf])),
    ("silent_noise", claims.silent_noise, Model(HERALDS, [0, 1, 2], noise=WHITE)),
    ("noise_averages", claims.averages, uneven(noise=WHITE)),
    ("noise_averages", claims.averages_slowly, uneven(noise=WHITE, pressure="t^0.5")),
    ("noise_averages", claims.averages_slowly, uneven(noise=Gaussian(0.3, time_scale="t^0.1"), pressure="t^0.5")),
    ("noise_fades", claims.noise_fades, uneven(noise=FADING, pressure="0.2*t")),
    ("noise_fades", claims.noise_fades, uneven(noise=FADING, pressure="t^0.5")),
    ("frozen_noise", claims.frozen_limit, Model(FOUR, **ODD, pressure="0.2*t", noise=FROZEN)),
    # The scale has no limit, but its average has one, which is what the common value hears.
    (
        "frozen_noise",
        claims.frozen_limit,
        Model(FOUR, **ODD, pressure="0.2*t", noise=Gaussian(0.3, temporal="frozen", time_scale="2 + sin(t)")),
    ),
    ("frozen_noise", claims.frozen_growth, uneven(noise=RISING, pressure="0.2*t")),
    ("apart", claims.stationary, uneven(pressure=2)),
    ("no_fluctuation", claims.unmoved, uneven(pressure=2)),
    *(
        ("follows_pressure", claims.moves_with_pressure, uneven(pressure="2+sin(t)", noise=noise))
        for noise in (None, FROZEN)
    ),
    ("fluctuation", claims.deviations, uneven(pressure=2, noise=WHITE)),
    ("fluctuation", claims.deviations, Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=WHITE)),
    ("fluctuation", claims.deviations, Model(PAIRS, [1, 1, 1, 1], pressure=2, noise=WHITE)),
    ("fluctuation", claims.deviations, uneven(pressure=2, noise=FROZEN)),
    ("fluctuation", claims.deviations, Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=FROZEN)),
    ("fluctuation_fades", claims.fluctuation_fades, uneven(pressure=2, noise=Gaussian(0.3, time_scale="1/t"))),
    ("fluctuation_grows", claims.fluctuation_grows, uneven(pressure=2, noise=Gaussian(0.3, time_scale="t^0.5"))),
    ("noise_outgrows_pressure", claims.scatter, uneven(noise=Gaussian(0.3, time_scale="t"))),
    ("fluctuation", claims.mode_deviation, Model(LARGE, np.linspace(0, 1, 900), pressure=1, noise=WHITE)),
    ("fluctuation", claims.mode_deviation, Model(LARGE, np.linspace(0, 1, 900), pressure=1, noise=FROZEN)),
    ("random_walk", claims.walk, Model(FOUR, **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1))),
    (
        "random_walk",
        claims.unbounded_walk,
        Model(FOUR, **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1, time_scale="t^-0.5")),
    ),
    ("random_walk", claims.drift, Model(FOUR, **ODD, pressure=1, adaptation=0.1, noise=FROZEN)),
    ("random_walk", claims.slow_drift, Model(FOUR, **ODD, adaptation=0.1, noise=FROZEN, activation=0.5)),
    ("follows_fixed_point", claims.follows, uneven(pressure="t^0.5")),
    ("noise_memory", claims.memory, uneven(noise=Gaussian(0.3, temporal=AR1(0.5)), pressure="0.2*t")),
    ("phases_agree", claims.odd_cycle, Model(TURNS, [0, 1, 5], [1, 2, 3], pressure=Power(2))),
    ("closed_classes", claims.counted_classes, Model(PAIRS, [0, 1, 3, 1])),
    ("closed_classes", claims.single_classes, Model(star(6), np.arange(6.0), [1, *[math.inf] * 5])),
    ("group", claims.class_values, Model(DIVIDED, [1, 2, 6, 0])),
    ("group", claims.rotating, Model(TWO_CIRCLES, [0, 1, 5, 2, 3, 9], pressure=Power(2))),
    ("opinions_moved", claims.on_the_anchor, Model(FOUR, **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0]))),
    ("adaptation_lasts", claims.forgotten, Model(FOUR, **ODD, pressure=1, adaptation=0.1)),
    ("adaptation_fades", claims.kept_in_part, Model(FOUR, **ODD, pressure=1, adaptation=FALLING)),
    ("noise_wanders", claims.wanders, uneven(noise=Gaussian(0.3, time_scale="t^0.5"))),
    ("activation_rate", claims.slower, Model(cycle(5), np.arange(5.0), activation=0.5)),
    ("activation_rate", claims.slower, Model(cycle(4), np.arange(4.0), activation=0.5)),
    ("limit", claims.random_limit, Model(cycle(5), np.arange(5.0), activation=0.5, pressure=Power(2))),
    ("not_covered", claims.unknown_phases, Model(CIRCLE, [0, 1, 5], pressure="t*(2+sin(t))")),
    *(
        ("not_covered", claims.repeating, Model(CHANGING[name], SIX, pressure="t*(2+sin(t))"))
        for name in ("star and ring", "pairs")
    ),
    (
        "not_covered",
        claims.weak_anchors,
        Model(
            CHANGING["star and ring"],
            SIX,
            pressure=Power(0.4),
            adaptation=Adaptation(0.1, [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]),
        ),
    ),
    ("components", claims.counted_components, Model(CHANGING["groups"], SIX)),
    ("components", claims.nobody_heard, Model(CHANGING["ends"], SIX)),
    ("isolated_at_times", claims.isolated_at_times, Model(CHANGING["isolated"], SIX)),
    ("isolated_at_times", claims.isolated_at_times, Model(CHANGING["in turn"], SIX)),
    ("isolated_at_times", claims.both_edges_fail, Model(failing_edges(cycle(5), 0.4, 40, seed=1), SIX[:5], pressure=3)),
    ("isolated_at_times", claims.silent_at_times, Model(CHANGING["isolated"], SIX, isolated="keep")),
    ("isolated_at_times", claims.not_in_the_pair, Model(gossip(cycle(5), 40, seed=1), SIX[:5], isolated="keep")),
    ("adaptation_fades", claims.detached, uneven(pressure="1/t^2", adaptation=0.1)),
    ("adaptation_lasts", claims.anchored, Model(FOUR, **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0]))),
    ("marginal_rate", claims.fades_marginally, uneven(pressure="t*log(1+t)")),
    ("activation_averages", claims.chance_averages, Model(cycle(5), np.arange(5.0), activation=0.5)),
    ("convergence", claims.almost_surely, uneven(noise=WHITE)),
    ("convergence", claims.almost_surely, uneven(noise=WHITE, pressure="t^0.4")),
    ("convergence", claims.not_almost_surely, uneven(noise=WHITE, pressure="log(1+t)")),
    (
        "convergence",
        claims.perhaps_almost_surely,
        uneven(noise=Laplace(0.3, time_scale="log(2+t)^-0.1"), pressure="log(1+t)^0.9"),
    ),
    ("phases_agree", claims.damped, SDE(Model(k2(), [0, 1], [1, 3], pressure=Power(1.5)), step=0.1)),
    ("limit_is_v", claims.keeps_nothing, uneven(pressure="t^1.05")),
    ("limit_is_v", claims.mirrored, Model(path(4), [-3, -1, 1, 3], [1, 3, 3, 1], adaptation=0.1)),
    (
        "unresolved",
        claims.not_resolved,
        Model(CHANGING["isolated"], SIX, adaptation=Adaptation("1/(1+t)", [1, 1, 1, 1, 1, 0])),
    ),
    ("phases_agree", claims.sides_agree, Model(path(4), [0, 1, 1, 0], pressure=Power(2))),
    ("phases_agree", claims.sides_agree, Model(cycle(4), [0, 0, 1, 1], [1, 1, 3, 3], pressure=Power(2))),
    (
        "limit_depends",
        claims.noise_in_the_limit,
        uneven(pressure="1/t^0.5", adaptation=Adaptation("1/(1+t)^0.5"), noise=Gaussian(0.3, time_scale="1/t")),
    ),
    ("limit_depends", claims.other_records, Model(FAILING, SIX[:5], adaptation=0.1)),
    (
        "limit_depends",
        claims.other_updates,
        Model(barabasi_albert(2_000, 2, seed=1), np.geomspace(1e-4, 1, 2_000), pressure=Power(2), activation=0.5),
    ),
    ("limit_depends", claims.variance_unbounded, uneven(pressure=Power(2), noise=Gaussian(0.5, time_scale=Power(1.8)))),
    (
        "limit_depends",
        claims.variance_unbounded,
        uneven(pressure=Power(2), noise=Gaussian(0.5, temporal="frozen", time_scale=Power(1.5))),
    ),
    ("isolated_sources", claims.one_source, Model(CHANGING["one alone"], SIX)),
    ("degrees_change", claims.weights_of_degrees, Model(CHANGING["star and ring"], SIX)),
    ("opinions_moved", claims.early_noise, uneven(adaptation=1.0, noise=WHITE)),
    ("opinions_moved", claims.early_noise, uneven(adaptation=1.0, noise=FROZEN, pressure=Power(2))),
    ("opinions_moved", claims.moved_first, uneven(adaptation=FALLING)),
    (
        "bipartite_components",
        claims.exchanging,
        Model(in_rounds(LINE, [(0, 1), (1, 2), (3, 4)], periodic=False), SIX, pressure=Power(2)),
    ),
    ("bipartite_components", claims.exchanging, Model(star(4), **ODD, pressure=Power(2), adaptation=FALLING)),
    ("not_covered", claims.parity, Model(star(4), **ODD, pressure="t*(2+cos(pi*t))")),
    ("phases_driven_by_noise", claims.driven_phases, Model(star(4), **ODD, noise=GROWING)),
    ("phases_driven_by_noise", claims.driven_phases, Model(CIRCLE, [0, 1, 5], noise=GROWING)),
    ("phases_driven_by_noise", claims.driven_components, Model(CHANGING["groups"], SIX, noise=GROWING)),
    ("phases_driven_by_noise", claims.driven_classes, Model(CHANGING["two closed classes"], [1.0] * 6, noise=FROZEN)),
    ("own_opinions", claims.own_opinions, Model(CHANGING["ends"], SIX)),
    ("own_opinions", claims.own_opinions, Model(CHANGING["ends"], SIX, noise=WHITE)),
    ("own_opinions", claims.kept_opinions, Model(CHANGING["ends"], SIX, isolated="keep")),
    ("own_noise", claims.hidden_agree, uneven(pressure=1, adaptation=Adaptation("1/(1+t)^0.8"), noise=WHITE)),
    ("own_noise", claims.hidden_follow, uneven(pressure=1, adaptation=Adaptation(0.1, [1, 1, 1, 0]), noise=WHITE)),
    ("own_noise", claims.isolated_follow, Model(CHANGING["isolated"], SIX, adaptation=0.5, noise=WHITE)),
    ("apart", claims.left_apart, uneven(pressure="2+sin(t)")),
    ("apart", claims.left_apart, uneven(pressure=1, adaptation=FALLING)),
    ("apart", claims.random_means, Model(FAILING, SIX[:5], pressure=3)),
    ("apart", claims.random_means, Model(FAILING, SIX[:5])),
    ("apart", claims.returning, Model(edge_markovian(5, 0.3, 0.3, 400, seed=1), SIX[:5], pressure=3)),
    ("fluctuation", claims.keeps_moving, uneven(pressure="2+sin(t)", noise=WHITE)),
    ("fluctuation", claims.keeps_moving, Model(CHANGING["one alone"], SIX, noise=WHITE)),
    ("fluctuation", claims.shifted_once, uneven(pressure="2+sin(t)", noise=FROZEN)),
    *(
        ("group", claims.component_values, Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts))
        for parts in (
            {},
            {"noise": WHITE},
            {"noise": FROZEN},
            {"noise": RISING},
            {"adaptation": 0.5},
            {"noise": WHITE, "adaptation": 1.0},
        )
    ),
    ("components_differ", claims.values_differ, Model(CHANGING["groups"], SIX)),
    ("components_differ", claims.not_named, Model(in_rounds(LINE, [(0, 1), (2, 3)], periodic=False), SIX)),
    ("isolated_random_walks", claims.alone_on_walks, Model(CHANGING["groups"], SIX, adaptation=1.0, noise=WHITE)),
    ("isolated_random_walks", claims.alone_on_walks, uneven(pressure="1/t^2", adaptation=0.1, noise=WHITE)),
    (
        "agents_move",
        claims.components_wander,
        Model(in_rounds(LINE, TRIANGLES, periodic=False), SIX, adaptation=1.0, noise=Gaussian(0.3, time_scale="t^0.6")),
    ),
    ("isolated_sources", claims.several_sources, Model(CHANGING["in turn"], SIX)),
    ("several_closed_classes", claims.never_mix, Model(CHANGING["two closed classes"], SIX)),
    ("several_closed_classes", claims.never_mix, Model(CHANGING["pairs"], SIX, pressure=Power(2))),
    *(
        ("cycle", claims.cycle_range, Model(CHANGING[name], SIX))
        for name in ("two closed classes", "in turn", "isolated")
    ),
    ("finite_horizon", claims.start_share, uneven(pressure=[1.0, 2.0, 5.0])),
)
# Codes of sentences that repeat what is given or say what was not done; their numbers are compared with the input.
NO_CLAIM = {
    *("pressure_growth", "network_recorded", "random_network", "beyond_record", "network_repeats", "activation"),
    *("unknown_growth", "unknown_late", "too_large", "no_horizon"),
}


def test_every_code_is_confirmed_or_makes_no_claim() -> None:
    # A new code belongs to CONFIRMED, with its recursion.
    confirmed = {code for code, _, _ in CONFIRMED}
    assert confirmed | NO_CLAIM == {row.code for row in TABLE}
    assert not confirmed & NO_CLAIM


@pytest.mark.parametrize(("code", "check", "model"), CONFIRMED)
def test_a_recursion_confirms_the_sentence(code: str, check: Check, model: Model) -> None:
    verdict = diagnose(model)
    assert code in codes(verdict), verdict.reason
    found = next(reason for reason in verdict.reasons if reason.code == code)
    assert str(found)
    if "start_remembered" in codes(verdict):
        assert verdict.rate.regime is Regime.FAST
    check(model, dict(found.values))
