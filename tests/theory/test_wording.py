"""Sentences of a verdict that repeat what is given or say what is not known, and what no sentence says."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from peerpressure import SDE, Adaptation, Gaussian, Model, Power, TemporalNetwork, diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import barabasi_albert, complete, cycle, failing_edges, star
from peerpressure.schedules import Table
from peerpressure.theory import Verdict
from tests.theory.changing import CHANGING, in_rounds
from tests.theory.claims import ENEMIES, FROZEN, HERALDS, ODD, PAIRS, SIX, start_share, uneven
from tests.theory.laws import Array, mean_after, mean_path
from tests.theory.reasons import codes, known, values


def restated(verdict: Verdict, code: str) -> dict[str, Any]:
    assert code in codes(verdict), verdict.reason
    return values(verdict, code)


def test_numbers_of_networks_are_those_of_the_input() -> None:
    record = failing_edges(cycle(5), 0.4, 30, seed=1)
    assert record.last_change <= 30
    beyond = diagnose(Model(record, SIX[:5], pressure=3), 40)
    assert restated(beyond, "beyond_record") == {"steps": 40, "t": record.last_change}
    assert restated(beyond, "random_network") == {"process": "failing edges"}
    events = TemporalNetwork.from_events([(1, 0, 1), (7, 1, 2)])
    assert restated(diagnose(Model(events, [0.0, 1.0, 2.0])), "network_recorded") == {"t": 7}
    model = Model(CHANGING["pairs"], SIX)
    assert restated(diagnose(model), "network_repeats") == {"period": 2}
    for t in (1, 2):
        np.testing.assert_array_equal(model.adjacency_at(t).toarray(), model.adjacency_at(t + 2).toarray())


def test_who_updates_is_as_given() -> None:
    random = restated(diagnose(Model(cycle(5), SIX[:5], activation=0.25)), "activation")
    assert random["activation"] == "each agent updates with probability 0.25"
    table = diagnose(Model(cycle(5), SIX[:5], activation=np.ones((3, 5))))
    assert restated(table, "activation") == {"activation": "a table of 3 steps says who updates"}
    # Who updates is not random, which is one of the premises that are named.
    assert "not_covered" in codes(table)


@pytest.mark.parametrize(
    ("pressure", "bounds"),
    [
        ("t^0.5", lambda t: (t**0.5, t**0.5)),
        ("t*(2+sin(t))", lambda t: (t, 3 * t)),
        ("2+sin(t)", lambda t: (1 + 0 * t, 3 + 0 * t)),
        ("t*log(1+t)", lambda t: (t * np.log(t), 1.1 * t * np.log(t))),
        ("1/t^2", lambda t: (t**-2, t**-2)),
    ],
    ids=["root", "between lines", "between numbers", "with a logarithm", "to 0"],
)
def test_pressure_grows_as_its_sentence_says(pressure: str, bounds: Callable[[Array], tuple[Array, Array]]) -> None:
    texts = {
        "t^0.5": "grows like t^0.5",
        "t*(2+sin(t))": "between t and 3 t",
        "2+sin(t)": "between 1 and 3",
        "t*log(1+t)": "grows like t log t",
        "1/t^2": "falls like t^−2",
    }
    model = uneven(pressure=pressure)
    numbers = restated(diagnose(model), "pressure_growth")
    assert texts[pressure] in numbers["basis"]
    t = np.geomspace(100, 1e6, 5_000)
    rho, (low, high) = model.pressure.pressure(t), bounds(t)
    assert np.all((low * (1 - 1e-9) <= rho) & (rho <= high * (1 + 1e-9)))
    assert numbers["regime"] in {"slow", "marginal", "bounded"}


def test_what_is_not_known_is_not_given() -> None:
    table = Table([1.0, 2.0])
    for parts, code in (
        ({"pressure": table}, "unknown_growth"),
        ({"noise": Gaussian(0.3, time_scale=table)}, "unknown_late"),
        ({"adaptation": Adaptation(table)}, "unknown_late"),
    ):
        assert code in codes(diagnose(uneven(**parts)))
    # Nothing says how these go on.
    with pytest.raises(InvalidInputError):
        table(np.array([3.0]))


def test_forecasts_in_continuous_time_are_exact_on_networks_that_repeat() -> None:
    model = Model(in_rounds([(0, 1), (1, 2)], [(0, 2), (1, 2)], n=3), [0.0, 1.0, 5.0], [1.0, 2.0, 3.0], pressure=2)
    verdict = diagnose(SDE(model, step=0.25), 12)
    assert "cycle" in codes(verdict)
    y, step = model.start_state.copy(), 1e-3
    for k in range(3_000):
        A = model.adjacency_at(int(k * step) + 1).toarray()

        def slope(y: Array, A: Array = A) -> Array:
            return np.asarray((model.s * model.x0 + 2 * (A @ y)) / (model.s + 2 * A.sum(axis=1)) - y)

        y = y + step * slope(y + step / 2 * slope(y))
    np.testing.assert_allclose(known(verdict.forecast).mean, y, atol=1e-5)


def test_networks_without_a_result_have_the_premises_that_are_named() -> None:
    open_cases: list[dict[str, Any]] = [{"noise": Gaussian(0.3, time_scale="t^0.6")}]
    for parts in open_cases:
        model = Model(HERALDS, [0, 1, 2], **parts)
        assert "several closed classes" in restated(diagnose(model), "not_covered")["what"]
    # Growing pressure and bounded noise, or bounded pressure and equal opinions, are covered.
    covered: list[dict[str, Any]] = [{}, {"noise": Gaussian(0.3)}, {"noise": Gaussian(0.3), "pressure": 2.0}]
    covered.append({"adaptation": 0.1})
    for parts in covered:
        assert "not_covered" not in codes(diagnose(Model(HERALDS, [1, 1, 1], **parts)))


def test_a_number_of_steps_replaces_the_advice_to_give_one() -> None:
    model = uneven(pressure="t^(1+sin(t))")
    assert "no_horizon" in codes(diagnose(model))
    assert restated(diagnose(model, 20), "finite_horizon")["steps"] == 20
    start_share(model, restated(diagnose(model, 20), "finite_horizon"))


@pytest.mark.parametrize("noise", [Gaussian(0.3, time_scale="1/t"), Gaussian(0.3, temporal="frozen", time_scale="1/t")])
@pytest.mark.parametrize("parts", [{"network": PAIRS}, {"network": cycle(4), "activation": 0.5}], ids=["pairs", "some"])
def test_noise_that_fades_is_not_said_to_move_or_shift_agents(noise: Gaussian, parts: dict[str, Any]) -> None:
    found = codes(diagnose(Model(hidden=[0, 1, 2, 3], pressure=2, noise=noise, **parts)))
    assert "fluctuation_fades" in found
    assert not found & {"fluctuation"}


def test_constant_hidden_opinions_are_not_said_to_follow_noise() -> None:
    verdict = diagnose(Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)))
    assert "hidden opinion" not in verdict.reason


def test_frozen_noise_in_two_pairs_is_printed_with_its_deviation() -> None:
    verdict = diagnose(Model(PAIRS, [0, 1, 0, 1], noise=FROZEN))
    assert verdict.reason.count("converges to a value that depends on the noise: 0.5 ± 0.21") == 2


def test_phases_have_the_signs_of_camps() -> None:
    model = Model(ENEMIES, [0, 1], pressure=Power(2))
    law = diagnose(model).law
    for t in (1_000, 1_001):
        np.testing.assert_allclose(law.at(t), mean_after(model, t), atol=1e-3)


def test_a_range_of_one_value_is_not_printed_as_a_range() -> None:
    text = diagnose(Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf])).reason
    assert "10 to 10" not in text
    assert "are all 10." in text


def test_noise_that_is_drawn_once_and_fades_is_not_said_to_average_out() -> None:
    model = uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"))
    assert "averages out" not in diagnose(model).reason


def test_the_variance_of_fading_noise_has_no_growth_per_step() -> None:
    noise = Gaussian(0.1, time_scale="t^-0.5")
    verdict = diagnose(Model(complete(4), **ODD, pressure=1, adaptation=0.01, noise=noise))
    assert "per step" not in verdict.reason
    assert values(verdict, "random_walk")["mean"] == pytest.approx(
        mean_path(Model(complete(4), **ODD, pressure=1, adaptation=0.01), 4_000)[0][-1].mean(), rel=1e-3
    )


def test_frozen_noise_is_said_to_shift_agents_in_a_large_network() -> None:
    n = 1_100
    model = Model(barabasi_albert(n, 2, seed=1), np.linspace(0, 1, n), pressure=1, noise=FROZEN)
    text = diagnose(model).reason
    assert "Frozen noise, drawn once, shifts them" in text
    assert "moving" not in text


def test_an_average_that_never_settles_has_no_number() -> None:
    noise = Gaussian(0.3, temporal="frozen", time_scale="2 + sin(log(t))")
    text = diagnose(uneven(noise=noise)).reason
    assert "plus an error that no waiting removes" in text
    assert "nan" not in text
