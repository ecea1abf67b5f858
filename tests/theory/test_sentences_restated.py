"""Sentences of a verdict that repeat what is given, or say what is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from peerpressure import SDE, Adaptation, Gaussian, Model, Network, Power, TemporalNetwork, diagnose
from peerpressure.errors import InvalidInputError
from peerpressure.networks import cycle, edge_markovian, failing_edges, gossip
from peerpressure.schedules import Table
from peerpressure.theory import ReasonCode, Verdict
from tests.theory.changing import CHANGING, in_rounds
from tests.theory.claims import HERALDS, SIX, start_share, uneven
from tests.theory.reasons import codes, values
from tests.theory.recursions import Array


def restated(verdict: Verdict, code: ReasonCode) -> dict[str, Any]:
    assert code in codes(verdict), verdict.reason
    return values(verdict, code)


def test_numbers_of_networks_are_those_of_the_input() -> None:
    record = failing_edges(cycle(5), 0.4, 30, seed=1)
    assert record.last_change <= 30
    beyond = diagnose(Model(record, SIX[:5], pressure=3), 40)
    assert restated(beyond, ReasonCode.BEYOND_RECORD) == {"steps": 40, "t": record.last_change}
    assert restated(beyond, ReasonCode.RANDOM_NETWORK) == {"process": "failing edges"}
    events = TemporalNetwork.from_events([(1, 0, 1), (7, 1, 2)])
    assert restated(diagnose(Model(events, [0.0, 1.0, 2.0])), ReasonCode.NETWORK_RECORDED) == {"t": 7}
    model = Model(CHANGING["pairs"], SIX)
    assert restated(diagnose(model), ReasonCode.NETWORK_REPEATS) == {"period": 2}
    for t in (1, 2):
        np.testing.assert_array_equal(model.adjacency_at(t).toarray(), model.adjacency_at(t + 2).toarray())


def test_a_period_that_is_too_long_is_that_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.theory._recurrence.LARGEST", 11)
    monkeypatch.setattr("peerpressure.theory._limit_operator.LONGEST_BLOCK", 1)
    verdict = diagnose(Model(CHANGING["star and ring"], SIX))
    assert restated(verdict, ReasonCode.PERIOD_TOO_LONG) == {"period": 2}
    assert ReasonCode.UNKNOWN_GROWTH in codes(verdict)


def test_who_updates_is_as_given() -> None:
    random = restated(diagnose(Model(cycle(5), SIX[:5], activation=0.25)), ReasonCode.ACTIVATION)
    assert random["activation"] == "each agent updates with probability 0.25"
    table = diagnose(Model(cycle(5), SIX[:5], activation=np.ones((3, 5))))
    assert restated(table, ReasonCode.ACTIVATION_TABLE) == {"steps": 3}
    # Who updates is not random, which is one of the premises that are named.
    assert ReasonCode.ACTIVATION_NOT_COVERED in codes(table)


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
    numbers = restated(diagnose(model), ReasonCode.PRESSURE_GROWTH)
    assert texts[pressure] in numbers["basis"]
    t = np.geomspace(100, 1e6, 5_000)
    rho, (low, high) = model.pressure.pressure(t), bounds(t)
    assert np.all((low * (1 - 1e-9) <= rho) & (rho <= high * (1 + 1e-9)))
    assert numbers["regime"] in {"slow", "marginal", "bounded"}


def test_what_is_not_known_is_not_given() -> None:
    table = Table([1.0, 2.0])
    for parts, code in (
        ({"pressure": table}, ReasonCode.UNKNOWN_GROWTH),
        ({"noise": Gaussian(0.3, time_scale=table)}, ReasonCode.UNKNOWN_NOISE),
        ({"adaptation": Adaptation(table)}, ReasonCode.UNKNOWN_ADAPTATION),
    ):
        assert code in codes(diagnose(uneven(**parts)))
    # Nothing says how these go on.
    with pytest.raises(InvalidInputError):
        table(np.array([3.0]))


def test_a_process_without_a_result_is_not_one_of_those_with_one() -> None:
    processes = edge_markovian(cycle(5), 0.2, 0.3, 40, seed=1), gossip(cycle(5), 40, seed=1)
    remembers, independent = (diagnose(Model(each, SIX[:5], isolated="keep", pressure=Power(2))) for each in processes)
    assert ReasonCode.UNKNOWN_LAW in codes(remembers)
    assert ReasonCode.UNKNOWN_LAW not in codes(independent)


def test_forecasts_in_continuous_time_are_exact_on_networks_that_repeat() -> None:
    model = Model(in_rounds([(0, 1), (1, 2)], [(0, 2), (1, 2)], n=3), [0.0, 1.0, 5.0], [1.0, 2.0, 3.0], pressure=2)
    verdict = diagnose(SDE(model, step=0.25), 12)
    assert ReasonCode.PERIODIC_LAW in codes(verdict)
    assert verdict.forecast is not None
    y, step = model.start_state.copy(), 1e-3
    for k in range(3_000):
        A = model.adjacency_at(int(k * step) + 1).toarray()

        def slope(y: Array, A: Array = A) -> Array:
            return np.asarray((model.s * model.x0 + 2 * (A @ y)) / (model.s + 2 * A.sum(axis=1)) - y)

        y = y + step * slope(y + step / 2 * slope(y))
    np.testing.assert_allclose(verdict.forecast.mean, y, atol=1e-5)


def test_networks_without_a_result_have_the_premises_that_are_named() -> None:
    open_cases: list[dict[str, Any]] = [{"noise": Gaussian(0.3, time_scale="t^0.6")}]
    for parts in open_cases:
        model = Model(HERALDS, [0, 1, 2], **parts)
        numbers = restated(diagnose(model), ReasonCode.NETWORK_NOT_COVERED)
        assert numbers == {"classes": 2}
    # Growing pressure and bounded noise, or bounded pressure and equal opinions, are covered.
    covered: list[dict[str, Any]] = [{}, {"noise": Gaussian(0.3)}, {"noise": Gaussian(0.3), "pressure": 2.0}]
    covered.append({"adaptation": 0.1})
    for parts in covered:
        assert ReasonCode.NETWORK_NOT_COVERED not in codes(diagnose(Model(HERALDS, [1, 1, 1], **parts)))


def test_too_many_classes_are_counted() -> None:
    pairs = Network(np.kron(np.eye(1_001), [[0, 1], [1, 0]]))
    numbers = restated(diagnose(Model(pairs, np.arange(2_002.0))), ReasonCode.TOO_MANY_CLASSES)
    assert numbers == {"classes": 1_001, "most": 1_000}


def test_a_number_of_steps_replaces_the_advice_to_give_one() -> None:
    model = uneven(pressure="t^(1+sin(t))")
    assert ReasonCode.NO_HORIZON in codes(diagnose(model))
    assert restated(diagnose(model, 20), ReasonCode.FINITE_HORIZON)["steps"] == 20
    start_share(model, restated(diagnose(model, 20), ReasonCode.FINITE_HORIZON))
