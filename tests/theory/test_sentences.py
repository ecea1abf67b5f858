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

CONFIRMED: tuple[tuple[str, tuple[tuple[Model | SDE, Check], ...]], ...] = (
    ("cycle", ((Model(CHANGING["star and ring"], np.arange(6.0), pressure=2), claims.cycling),)),
    ("limits_span", ((Model(MIXED, MIXED_HIDDEN, pressure=2, adaptation=0.2), claims.spanning),)),
    ("agents_move", ((Model(MIXED, MIXED_HIDDEN, pressure=Power(2), activation=0.5), claims.settling_at_random),)),
    ("agents_move", ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3), activation=0.5), claims.moving),)),
    (
        "agents_move",
        ((Model(MIXED, MIXED_HIDDEN, pressure=2, noise=Gaussian(0.3), adaptation=0.2), claims.unbounded_by(1.0)),),
    ),
    (
        "agents_move",
        ((Model(MIXED, MIXED_HIDDEN, pressure=2, noise=FROZEN, adaptation=0.2), claims.unbounded_by(2.0)),),
    ),
    ("start_forgotten", ((uneven(pressure="0.2*t"), claims.all_on_v),)),
    ("settled", ((Model(cycle(4), [2, 2, 2, 2]), claims.settled),)),
    ("balanced", ((Model(cycle(5), [0, 1, 2, 3, 4], pressure=Power(2)), claims.balanced),)),
    ("start_remembered", ((uneven(pressure=Power(2)), claims.start_kept),)),
    ("phases_agree", ((uneven(pressure=Power(2)), claims.odd_cycle),)),
    (
        "limit",
        (
            (uneven(pressure=Power(2)), claims.all_on_mean),
            # The signs of opinions and weights cancel under bounded pressure.
            (Model(ENEMIES, [1, 1], pressure=2), claims.all_on_mean),
        ),
    ),
    (
        "two_phases",
        (
            (Model(star(4), **ODD, pressure=Power(2)), claims.two_phases),
            (Model(star(4), **ODD, pressure=Power(2), noise=Gaussian(0.3)), claims.two_phases),
        ),
    ),
    ("two_phases", ((Model(ENEMIES, [0, 1], pressure=Power(2)), claims.phases_of_camps),)),
    ("rotating_phases", ((Model(CIRCLE, [0, 1, 5], pressure=Power(2)), claims.rotating),)),
    ("camps", ((Model(RIVALS, [0, 1, 5]), claims.opposite_camps),)),
    (
        "group",
        (
            (Model(PAIRS, [0, 1, 3, 1], [1, 2, 1, 1]), claims.class_values),
            (Model(Network(PAIRS.adjacency), [0, 1, 0, 1], noise=FROZEN), claims.class_values),
            (Model(HERALDS, [0, 1, 2], noise=FROZEN), claims.class_values),
            (
                Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3, temporal="frozen", time_scale="0.5 + 1/t")),
                claims.class_values,
            ),
        ),
    ),
    (
        "group",
        tuple(
            (
                Model(net, hidden, noise=Gaussian(0.3, temporal="frozen", time_scale="1 + log(t)")),
                claims.class_unbounded,
            )
            for net, hidden in ((PAIRS, [0, 1, 0, 1]), (HERALDS, [0, 1, 2]), (DIVIDED, [1, 2, 6, 0]))
        ),
    ),
    ("group", ((Model(QUARREL, [0, 1, 5], pressure="0.2*t"), claims.on_zero),)),
    (
        "transient_agents",
        ((Model(cycle(6), [0, 1, 2, 3, 4, 9], [math.inf, 1, 1, math.inf, 1, 1]), claims.others_follow),),
    ),
    ("transient_agents", ((Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf]), claims.others_follow),)),
    ("silent_noise", ((Model(HERALDS, [0, 1, 2], noise=Gaussian(0.3)), claims.silent_noise),)),
    ("noise_averages", ((uneven(noise=Gaussian(0.3)), claims.averages),)),
    (
        "noise_averages",
        (
            (uneven(noise=Gaussian(0.3), pressure="t^0.5"), claims.averages_slowly),
            (uneven(noise=Gaussian(0.3, time_scale="t^0.1"), pressure="t^0.5"), claims.averages_slowly),
        ),
    ),
    (
        "noise_fades",
        (
            (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="0.2*t"), claims.noise_fades),
            (uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"), pressure="t^0.5"), claims.noise_fades),
        ),
    ),
    (
        "frozen_noise",
        (
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
    ),
    ("frozen_noise", ((uneven(noise=RISING, pressure="0.2*t"), claims.frozen_growth),)),
    ("apart", ((uneven(pressure=2), claims.stationary),)),
    ("no_fluctuation", ((uneven(pressure=2), claims.unmoved),)),
    (
        "follows_pressure",
        tuple((uneven(pressure="2+sin(t)", noise=noise), claims.moves_with_pressure) for noise in (None, FROZEN)),
    ),
    (
        "fluctuation",
        (
            (uneven(pressure=2, noise=Gaussian(0.3)), claims.deviations),
            (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=Gaussian(0.3)), claims.deviations),
            (Model(PAIRS, [1, 1, 1, 1], pressure=2, noise=Gaussian(0.3)), claims.deviations),
        ),
    ),
    (
        "fluctuation",
        (
            (uneven(pressure=2, noise=FROZEN), claims.deviations),
            (Model(PAIRS, [0, 1, 2, 3], pressure=2, noise=FROZEN), claims.deviations),
        ),
    ),
    ("fluctuation_fades", ((uneven(pressure=2, noise=Gaussian(0.3, time_scale="1/t")), claims.fluctuation_fades),)),
    ("fluctuation_grows", ((uneven(pressure=2, noise=Gaussian(0.3, time_scale="t^0.5")), claims.fluctuation_grows),)),
    ("noise_outgrows_pressure", ((uneven(noise=Gaussian(0.3, time_scale="t")), claims.scatter),)),
    (
        "fluctuation",
        (
            (
                Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=Gaussian(0.3)),
                claims.mode_deviation,
            ),
        ),
    ),
    (
        "fluctuation",
        (
            (
                Model(barabasi_albert(900, 2, seed=1), np.linspace(0, 1, 900), pressure=1, noise=FROZEN),
                claims.mode_deviation,
            ),
        ),
    ),
    ("random_walk", ((Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1)), claims.walk),)),
    (
        "random_walk",
        (
            (
                Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=Gaussian(0.1, time_scale="t^-0.5")),
                claims.unbounded_walk,
            ),
        ),
    ),
    (
        "random_walk",
        (
            (Model(complete(4), **ODD, pressure=1, adaptation=0.1, noise=FROZEN), claims.drift),
            (Model(complete(4), **ODD, adaptation=0.1, noise=FROZEN, activation=0.5), claims.slow_drift),
        ),
    ),
    ("follows_fixed_point", ((uneven(pressure="t^0.5"), claims.follows),)),
    ("noise_memory", ((uneven(noise=Gaussian(0.3, temporal=AR1(0.5)), pressure="0.2*t"), claims.memory),)),
    ("phases_agree", ((Model(TURNS, [0, 1, 5], [1, 2, 3], pressure=Power(2)), claims.odd_cycle),)),
    ("closed_classes", ((Model(PAIRS, [0, 1, 3, 1]), claims.counted_classes),)),
    ("closed_classes", ((Model(star(6), np.arange(6.0), [1, *[math.inf] * 5]), claims.single_classes),)),
    ("group", ((Model(DIVIDED, [1, 2, 6, 0]), claims.class_values),)),
    ("group", ((Model(TWO_CIRCLES, [0, 1, 5, 2, 3, 9], pressure=Power(2)), claims.rotating),)),
    ("opinions_moved", ((Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), claims.on_the_anchor),)),
    ("adaptation_lasts", ((Model(complete(4), **ODD, pressure=1, adaptation=0.1), claims.forgotten),)),
    (
        "adaptation_fades",
        ((Model(complete(4), **ODD, pressure=1, adaptation=Adaptation("1/(2*t^2)")), claims.kept_in_part),),
    ),
    ("noise_wanders", ((uneven(noise=Gaussian(0.3, time_scale="t^0.5")), claims.wanders),)),
    (
        "activation_rate",
        (
            (Model(cycle(5), np.arange(5.0), activation=0.5), claims.slower),
            (Model(cycle(4), np.arange(4.0), activation=0.5), claims.slower),
        ),
    ),
    ("limit", ((Model(cycle(5), np.arange(5.0), activation=0.5, pressure=Power(2)), claims.random_limit),)),
    ("not_covered", ((Model(CIRCLE, [0, 1, 5], pressure="t*(2+sin(t))"), claims.unknown_phases),)),
    (
        "not_covered",
        tuple(
            (Model(CHANGING[name], SIX, pressure="t*(2+sin(t))"), claims.repeating)
            for name in ("star and ring", "pairs")
        ),
    ),
    (
        "not_covered",
        (
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
    ),
    ("components", ((Model(CHANGING["groups"], SIX), claims.counted_components),)),
    ("components", ((Model(CHANGING["ends"], SIX), claims.nobody_heard),)),
    (
        "isolated_at_times",
        (
            (Model(CHANGING["isolated"], SIX), claims.isolated_at_times),
            (Model(CHANGING["in turn"], SIX), claims.isolated_at_times),
            (Model(failing_edges(cycle(5), 0.4, 40, seed=1), SIX[:5], pressure=3), claims.both_edges_fail),
        ),
    ),
    (
        "isolated_at_times",
        (
            (Model(CHANGING["isolated"], SIX, isolated="keep"), claims.silent_at_times),
            (Model(gossip(cycle(5), 40, seed=1), SIX[:5], isolated="keep"), claims.not_in_the_pair),
        ),
    ),
    ("adaptation_fades", ((uneven(pressure="1/t^2", adaptation=0.1), claims.detached),)),
    ("adaptation_lasts", ((Model(complete(4), **ODD, adaptation=Adaptation(0.1, [1, 1, 1, 0])), claims.anchored),)),
    ("marginal_rate", ((uneven(pressure="t*log(1+t)"), claims.fades_marginally),)),
    ("activation_averages", ((Model(cycle(5), np.arange(5.0), activation=0.5), claims.chance_averages),)),
    (
        "convergence",
        (
            (uneven(noise=Gaussian(0.3)), claims.almost_surely),
            (uneven(noise=Gaussian(0.3), pressure="t^0.4"), claims.almost_surely),
        ),
    ),
    ("convergence", ((uneven(noise=Gaussian(0.3), pressure="log(1+t)"), claims.not_almost_surely),)),
    (
        "convergence",
        (
            (
                uneven(noise=Laplace(0.3, time_scale="log(2+t)^-0.1"), pressure="log(1+t)^0.9"),
                claims.perhaps_almost_surely,
            ),
        ),
    ),
    ("phases_agree", ((SDE(Model(k2(), [0, 1], [1, 3], pressure=Power(1.5)), step=0.1), claims.damped),)),
    (
        "limit_is_v",
        (
            (uneven(pressure="t^1.05"), claims.keeps_nothing),
            (Model(path(4), [-3, -1, 1, 3], [1, 3, 3, 1], adaptation=0.1), claims.mirrored),
        ),
    ),
    (
        "unresolved",
        (
            (
                Model(CHANGING["isolated"], SIX, adaptation=Adaptation("1/(1+t)", [1, 1, 1, 1, 1, 0])),
                claims.not_resolved,
            ),
        ),
    ),
    (
        "phases_agree",
        (
            (Model(path(4), [0, 1, 1, 0], pressure=Power(2)), claims.sides_agree),
            (Model(cycle(4), [0, 0, 1, 1], [1, 1, 3, 3], pressure=Power(2)), claims.sides_agree),
        ),
    ),
    (
        "limit_depends",
        (
            (
                uneven(pressure="1/t^0.5", adaptation=Adaptation("1/(1+t)^0.5"), noise=Gaussian(0.3, time_scale="1/t")),
                claims.noise_in_the_limit,
            ),
        ),
    ),
    (
        "limit_depends",
        ((Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], adaptation=0.1), claims.other_records),),
    ),
    (
        "limit_depends",
        (
            (
                Model(
                    barabasi_albert(2_000, 2, seed=1), np.geomspace(1e-4, 1, 2_000), pressure=Power(2), activation=0.5
                ),
                claims.other_updates,
            ),
        ),
    ),
    (
        "limit_depends",
        (
            (uneven(pressure=Power(2), noise=Gaussian(0.5, time_scale=Power(1.8))), claims.variance_unbounded),
            (
                uneven(pressure=Power(2), noise=Gaussian(0.5, temporal="frozen", time_scale=Power(1.5))),
                claims.variance_unbounded,
            ),
        ),
    ),
    ("isolated_sources", ((Model(CHANGING["one alone"], SIX), claims.one_source),)),
    ("degrees_change", ((Model(CHANGING["star and ring"], SIX), claims.weights_of_degrees),)),
    (
        "opinions_moved",
        (
            (uneven(adaptation=1.0, noise=Gaussian(0.3)), claims.early_noise),
            (uneven(adaptation=1.0, noise=FROZEN, pressure=Power(2)), claims.early_noise),
        ),
    ),
    ("opinions_moved", ((uneven(adaptation=Adaptation("1/(2*t^2)")), claims.moved_first),)),
    (
        "bipartite_components",
        (
            (
                Model(in_rounds(LINE, [(0, 1), (1, 2), (3, 4)], periodic=False), SIX, pressure=Power(2)),
                claims.exchanging,
            ),
            (Model(star(4), **ODD, pressure=Power(2), adaptation=Adaptation("1/(2*t^2)")), claims.exchanging),
        ),
    ),
    ("not_covered", ((Model(star(4), **ODD, pressure="t*(2+cos(pi*t))"), claims.parity),)),
    (
        "phases_driven_by_noise",
        (
            (Model(star(4), **ODD, noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_phases),
            (Model(CIRCLE, [0, 1, 5], noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_phases),
            (Model(CHANGING["groups"], SIX, noise=Gaussian(0.5, time_scale=Power(0.6))), claims.driven_components),
        ),
    ),
    (
        "phases_driven_by_noise",
        ((Model(CHANGING["two closed classes"], [1.0] * 6, noise=FROZEN), claims.driven_classes),),
    ),
    (
        "own_opinions",
        (
            (Model(CHANGING["ends"], SIX), claims.own_opinions),
            (Model(CHANGING["ends"], SIX, noise=Gaussian(0.3)), claims.own_opinions),
        ),
    ),
    ("own_opinions", ((Model(CHANGING["ends"], SIX, isolated="keep"), claims.kept_opinions),)),
    (
        "own_noise",
        ((uneven(pressure=1, adaptation=Adaptation("1/(1+t)^0.8"), noise=Gaussian(0.3)), claims.hidden_agree),),
    ),
    (
        "own_noise",
        (
            (uneven(pressure=1, adaptation=Adaptation(0.1, [1, 1, 1, 0]), noise=Gaussian(0.3)), claims.hidden_follow),
            (Model(CHANGING["isolated"], SIX, adaptation=0.5, noise=Gaussian(0.3)), claims.isolated_follow),
        ),
    ),
    (
        "apart",
        (
            (uneven(pressure="2+sin(t)"), claims.left_apart),
            (uneven(pressure=1, adaptation=Adaptation("1/(2*t^2)")), claims.left_apart),
        ),
    ),
    (
        "apart",
        (
            (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5], pressure=3), claims.random_means),
            (Model(failing_edges(cycle(5), 0.4, 10, seed=1), SIX[:5]), claims.random_means),
        ),
    ),
    ("apart", ((Model(edge_markovian(5, 0.3, 0.3, 400, seed=1), SIX[:5], pressure=3), claims.returning),)),
    (
        "fluctuation",
        (
            (uneven(pressure="2+sin(t)", noise=Gaussian(0.3)), claims.keeps_moving),
            (Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)), claims.keeps_moving),
        ),
    ),
    ("fluctuation", ((uneven(pressure="2+sin(t)", noise=FROZEN), claims.shifted_once),)),
    (
        "group",
        tuple(
            (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), claims.component_values)
            for parts in ({}, {"noise": Gaussian(0.3)}, {"noise": FROZEN}, {"adaptation": 0.5})
        ),
    ),
    (
        "group",
        tuple(
            (Model(CHANGING["groups"], SIX, pressure="0.2*t", **parts), claims.component_values)
            for parts in (
                {"noise": Gaussian(0.3)},
                {"noise": RISING},
                {"noise": Gaussian(0.3), "adaptation": 1.0},
            )
        ),
    ),
    ("components_differ", ((Model(CHANGING["groups"], SIX), claims.values_differ),)),
    ("components_differ", ((Model(in_rounds(LINE, [(0, 1), (2, 3)], periodic=False), SIX), claims.not_named),)),
    (
        "isolated_random_walks",
        (
            (Model(CHANGING["groups"], SIX, adaptation=1.0, noise=Gaussian(0.3)), claims.alone_on_walks),
            (uneven(pressure="1/t^2", adaptation=0.1, noise=Gaussian(0.3)), claims.alone_on_walks),
        ),
    ),
    (
        "agents_move",
        (
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
    ),
    ("isolated_sources", ((Model(CHANGING["in turn"], SIX), claims.several_sources),)),
    (
        "several_closed_classes",
        (
            (Model(CHANGING["two closed classes"], SIX), claims.never_mix),
            (Model(CHANGING["pairs"], SIX, pressure=Power(2)), claims.never_mix),
        ),
    ),
    (
        "cycle",
        tuple(
            (Model(CHANGING[name], SIX), claims.cycle_range) for name in ("two closed classes", "in turn", "isolated")
        ),
    ),
    ("finite_horizon", ((uneven(pressure=[1.0, 2.0, 5.0]), claims.start_share),)),
)
# Codes of sentences that repeat what is given or say what was not done; their numbers are compared with the input.
NO_CLAIM = {
    *("pressure_growth", "network_recorded", "random_network", "beyond_record", "network_repeats", "activation"),
    *("unknown_growth", "unknown_late", "too_large", "no_horizon"),
}


def test_every_code_is_confirmed_or_makes_no_claim() -> None:
    # A new code belongs to CONFIRMED, with its recursion.
    confirmed = {code for code, _ in CONFIRMED}
    assert confirmed | NO_CLAIM == {row.code for row in TABLE}
    assert not confirmed & NO_CLAIM


@pytest.mark.parametrize(
    ("code", "model", "check"), [(code, model, check) for code, cases in CONFIRMED for model, check in cases]
)
def test_a_recursion_confirms_the_sentence(code: str, model: Model, check: Check) -> None:
    verdict = diagnose(model)
    assert code in codes(verdict), verdict.reason
    found = next(reason for reason in verdict.reasons if reason.code == code)
    assert str(found)
    if "start_remembered" in codes(verdict):
        assert verdict.rate.regime is Regime.FAST
    check(model, dict(found.values))
