"""Schedules: one conformance suite for every member, and the facts that consensus depends on."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import warnings
from decimal import Decimal, getcontext
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, strategies as st
from numpy.typing import NDArray

from peerpressure.errors import FormulaError, ScheduleError
from peerpressure.schedules import (
    SCHEDULES,
    Constant,
    Formula,
    Growth,
    Linear,
    Logarithmic,
    Power,
    Schedule,
    StretchedExponential,
    Table,
    as_schedule,
    growth_of_ratio,
    schedule_from_dict,
)
from peerpressure.schedules.envelopes import Sum
from tests.builders import examples

MEMBERS: list[Schedule] = [
    Constant(0),
    Constant(0.3),
    Constant(5),
    Linear(),
    Linear(0.19),
    Linear(2, -1.5),
    Linear(0.5, 4),
    Power(0),
    Power(0.5),
    Power(1, 3),
    Power(1.5),
    Power(-1, 2),
    Logarithmic(),
    Logarithmic(0.1),
    StretchedExponential(),
    StretchedExponential(1.5, 0.3),
    StretchedExponential(3, 1),
    Table([0.5, 1, 2, 0, 7, 7, 1e9, 1e-9] * 200),
    Formula("t*log(t)"),
    Formula("2^sqrt(t)"),
    Formula("max(1, t/10)"),
    Formula("2 + (-1)^t"),
]
CLOSED = [member for member in MEMBERS if not isinstance(member, Table | Formula)]
TIMES = np.arange(1, 1601)

every_schedule = pytest.mark.parametrize("schedule", MEMBERS, ids=str)


def test_the_suite_covers_every_kind() -> None:
    assert {type(member) for member in MEMBERS} == set(SCHEDULES.values())
    assert all(kind == member.kind for kind, member in SCHEDULES.items())


@every_schedule
def test_arrays_and_scalars_agree(schedule: Schedule) -> None:
    for method in (schedule, schedule.reciprocal, schedule.log):
        values = method(TIMES)
        assert values.shape == TIMES.shape
        assert values.dtype == np.float64
        for t in (1, 2, 17, 1600):
            one = method(t)
            assert np.shape(one) == ()
            np.testing.assert_allclose(one, values[t - 1], rtol=1e-14)
        np.testing.assert_array_equal(method(TIMES.reshape(40, 40)).ravel(), values)
        np.testing.assert_array_equal(method(TIMES.astype(np.float64)), values)
    assert schedule([]).shape == (0,)


@every_schedule
def test_reciprocal_and_log_agree_with_the_pressure(schedule: Schedule) -> None:
    rho = schedule(TIMES)
    inverse, log = schedule.reciprocal(TIMES), schedule.log(TIMES)
    assert np.all(rho >= 0)
    normal = (rho > 0) & (rho < 1e300)
    np.testing.assert_allclose(inverse[normal] * rho[normal], 1.0, rtol=1e-15)
    np.testing.assert_allclose(log[normal], np.log(rho[normal]), rtol=1e-12, atol=1e-13)
    assert np.all(np.isposinf(inverse[rho == 0]))
    assert np.all(np.isneginf(log[rho == 0]))


@every_schedule
def test_homogeneous_parts_are_the_pressure_in_exact_arithmetic(schedule: Schedule) -> None:
    own_weight, weight = schedule.homogeneous(TIMES)
    rho = schedule(TIMES)
    for part in (own_weight, weight):
        assert np.all((part >= 0) & (part <= 1))
    np.testing.assert_array_equal(np.maximum(own_weight, weight), 1.0)
    for index in (0, 1, 5, 99, 1599):
        if np.isfinite(rho[index]):
            exact = Fraction(float(rho[index]))
            error = Fraction(float(weight[index])) - exact * Fraction(float(own_weight[index]))
            assert abs(error) <= Fraction(1, 2**52)


@every_schedule
def test_plain_data_reads_back_as_an_equal_schedule(schedule: Schedule) -> None:
    again = schedule_from_dict(json.loads(json.dumps(schedule.to_dict(), allow_nan=False)))
    assert again == schedule
    assert hash(again) == hash(schedule)
    assert str(again) == str(schedule)
    assert pickle.loads(pickle.dumps(schedule)) == schedule
    assert as_schedule(schedule) is schedule


@every_schedule
def test_it_reads_as_an_equation(schedule: Schedule) -> None:
    assert str(schedule) == f"ρ_t = {schedule.formula_text}"
    assert schedule.growth.basis


def _block_sums(schedule: Schedule, power: int) -> NDArray[np.float64]:
    """Return Σ ρ^(−power) over blocks [2^k, 2^(k+1)), by the midpoint rule far out."""
    sums = []
    for k in range(10, 40):
        edges = np.linspace(2.0**k, 2.0 ** (k + 1), 1025)
        middle = (edges[1:] + edges[:-1]) / 2
        sums.append(float(np.sum(schedule.reciprocal(middle) ** power) * (edges[1] - edges[0])))
    return np.array(sums)


@pytest.mark.parametrize("schedule", [s for s in CLOSED if s != Constant(0)], ids=str)
def test_declared_growth_agrees_with_partial_sums(schedule: Schedule) -> None:
    growth = schedule.growth
    for power, diverges in ((1, growth.reciprocal_sum_diverges), (2, growth.square_sum_diverges)):
        blocks = _block_sums(schedule, power)
        # Blocks between powers of two fade geometrically exactly when the sum of these powers converges.
        assert diverges == bool(blocks[-1] > 0.3 * blocks[0])
    assert growth.bounded == bool(schedule(1e15) < 1.5 * schedule(1e9) + 1e-9)
    if growth.exponent is not None:
        measured = (schedule.log(1e14) - schedule.log(1e12)) / math.log(100)
        assert measured == pytest.approx(growth.exponent, abs=1e-9)
    if growth.slope is not None:
        assert schedule(1e14) / 1e14 == pytest.approx(growth.slope)


@pytest.mark.parametrize(
    ("schedule", "bounded", "sum_diverges", "squares_diverge"),
    [
        (Constant(3), True, True, True),
        (Linear(), False, True, False),
        (Linear(0.19, 7), False, True, False),
        (Power(0.5), False, True, True),
        (Power(0.51), False, True, False),
        (Power(1), False, True, False),
        (Power(1.5), False, False, False),
        (Power(-2), True, True, True),
        (Logarithmic(), False, True, True),
        (StretchedExponential(), False, False, False),
        (Table([1, 2, 3]), None, None, None),
        (Formula("t"), False, True, False),
        (Formula("0.19*t + 3"), False, True, False),
        (Formula("floor(t)"), False, True, False),
        (Formula("t*log(t)"), False, True, False),
        (Formula("t*log(1 + t)"), False, True, False),
        (Formula("t*(log(t) + 200)"), False, True, False),
        (Formula("t*log(t)^2"), False, False, False),
        (Formula("t*log(t)^1.1"), False, False, False),
        (Formula("t*log(t)^1.0005"), False, False, False),
        (Formula("t*log(1+t)*log(log(3+t))"), False, True, False),
        (Formula("t*log(1+t)*log(log(3+t))^2"), False, False, False),
        (Formula("t/log(1 + t)"), False, True, False),
        (Formula("t^1.5"), False, False, False),
        (Formula("t^1.001"), False, False, False),
        (Formula("t^0.5"), False, True, True),
        (Formula("sqrt(t*log(1+t))"), False, True, True),
        (Formula("sqrt(t)*log(1+t)"), False, True, False),
        (Formula("2^sqrt(t)"), False, False, False),
        (Formula("exp(t)"), False, False, False),
        (Formula("exp(exp(t))"), False, False, False),
        (Formula("t^t"), False, False, False),
        (Formula("exp(log(t)^2)"), False, False, False),
        (Formula("max(t, t^2/1e9)"), False, False, False),
        (Formula("1e300*t"), False, True, False),
        (Formula("log(1 + t)"), False, True, True),
        (Formula("log(log(t + 3))"), False, True, True),
        (Formula("1e6 + log(t)"), False, True, True),
        (Formula("5"), True, True, True),
        (Formula("1 + 1/t"), True, True, True),
        (Formula("2 - 1/log(t + 2)"), True, True, True),
        (Formula("min(t, 1e20)"), True, True, True),
        (Formula("1/t"), True, True, True),
        (Formula("t^-50"), True, True, True),
        (Formula("exp(-t)"), True, True, True),
        (Formula("max(10 - t, 0)"), True, True, True),
        (Formula("(t+1)^2 - t^2"), False, True, False),
        # Growth too slow to show in values is decided by the tree.
        (Formula("log(log(log(t + 16)))"), False, True, True),
        (Formula("t*exp(log(t)^0.1)"), False, False, False),
        # Periodic and step formulas are decided by their envelopes.
        (Formula("2 + (-1)^t"), True, True, True),
        (Formula("t*(2 + (-1)^t)"), False, True, False),
        (Formula("t*(2 + sin(t))"), False, True, False),
        (Formula("t^2*(1.1 + cos(t))"), False, False, False),
        (Formula("exp(sin(t))*sqrt(t)"), False, True, True),
        (Formula("t - 2*floor(t/2)"), True, True, True),
        (Formula("2 + t - 2*floor(t/2)"), True, True, True),
        (Formula("t - 10^6*floor(t/10^6)"), True, True, True),
        (Formula("2^floor(log2(t))"), False, True, False),
        (Formula("4^floor(log2(t))"), False, False, False),
        (Formula("ceil(t/7)"), False, True, False),
        # Bounds of different growth decide only in part.
        (Formula("t^(1 + sin(t))"), None, None, None),
        (Formula("1 + abs(sin(t))*t"), None, True, None),
        (Formula("t^(2 + sin(t))*2"), False, None, False),
        # Sudden change out of range of doubles, and what is illegal at some t: nothing is claimed.
        (Formula("t*(1 + exp(t - 1e5))"), None, None, None),
        (Formula("10 - t/1000"), None, None, None),
        (Formula("abs(t - 50) - 10"), None, None, None),
    ],
    ids=str,
)
def test_growth_of_known_cases(
    schedule: Schedule, bounded: bool | None, sum_diverges: bool | None, squares_diverge: bool | None
) -> None:
    growth = schedule.growth
    facts = (growth.bounded, growth.reciprocal_sum_diverges, growth.square_sum_diverges)
    assert facts == (bounded, sum_diverges, squares_diverge), growth.basis


def test_a_ratio_of_schedules_is_bounded_only_where_both_are() -> None:
    unknown, known = Formula("t*(1 + exp(t - 1e5))").growth, Power(2).growth
    assert growth_of_ratio(known, unknown) is None
    assert growth_of_ratio(unknown, known) is None
    ratio = growth_of_ratio(known, Linear(3).growth)
    assert ratio is not None
    assert ratio.bounded is False


def test_exponents_and_slopes_of_formulas() -> None:
    assert Formula("3*t^1.25").growth.exponent == 1.25
    line = Formula("0.19*t + sqrt(t)").growth
    assert line.exponent == 1.0
    assert line.slope == pytest.approx(0.19)
    assert Formula("t*log(t)").growth.exponent is None
    assert Formula("10 - t/1000").growth.basis == "unknown, because ρ_t is negative at late times"
    assert Constant(2).growth == Growth(True, True, True, basis=Constant(2).growth.basis, exponent=0.0, limit=2.0)


@pytest.mark.parametrize(
    ("formula", "said", "power", "low", "high"),
    [
        ("2 + sin(t)", "ρ_t stays between 1 and 3 from some t on", 0, 1, 3),
        ("t*(2 + sin(t))", "ρ_t stays between t and 3 t from some t on", 1, 1, 3),
        ("2 + 1/t", "ρ_t tends to 2", 0, 2, 2),
        ("2*t + 1", "ρ_t grows like 2 t", 1, 2, 2),
        ("3/t", "ρ_t falls like 3 t^−1", -1, 3, 3),
        ("0*t", "ρ_t is 0", 0, 0, 0),
    ],
)
def test_the_basis_of_a_proof_is_true_of_late_times(formula: str, said: str, power: int, low: int, high: int) -> None:
    assert Formula(formula).growth.basis == said
    late = np.linspace(1e6, 1e6 + 50, 4001)
    share = Formula(formula)(late) / late**power
    np.testing.assert_allclose([share.min(), share.max()], [low, high], atol=1e-3)


@given(st.floats(-3, 3), st.floats(0.01, 100))
@examples(2)
def test_formulas_that_are_powers_have_the_growth_of_powers(exponent: float, scale: float) -> None:
    known, proved = Power(exponent, scale).growth, Formula(f"{scale!r} * t^({exponent!r})").growth
    assert dataclasses.replace(proved, basis=known.basis) == known


@pytest.mark.parametrize(
    ("formula", "limit"),
    [
        ("3 - 1/t", 3.0),
        ("1/log(2 + t)", 0.0),
        ("exp(-t)", 0.0),
        ("(2 + sin(t))/t", 0.0),
        ("log(log(3 + t))", math.inf),
        ("1 + abs(sin(t))", None),
        ("sqrt(t + 1) - sqrt(t)", 0.0),
        ("(t + 1)^2 - t^2 - 2*t", 1.0),
    ],
)
def test_limits_of_formulas(formula: str, limit: float | None) -> None:
    assert Formula(formula).growth.limit == limit


BUILDING = ["t", "{a} + {b}", "{a}*{b}", "{a}/(1 + {b})", "sqrt({a})", "log(1 + {a})", "2 + sin({a})", "floor({a})",
            "max({a}, {b})", "1/(1 + {a})", "exp(-{a})", "{a}^1.5", "3"]  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(BUILDING), st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=5))
@examples(3)
def test_envelopes_contain_the_formula(steps: list[tuple[str, int, int]]) -> None:
    made = ["t"]
    for template, first, second in steps:
        made.append(f"({template.format(a=made[first % len(made)], b=made[second % len(made)])})")
    try:
        formula = Formula(made[-1])
    except FormulaError:  # longer than formulas may be
        reject()
    envelope = formula.growth.envelope
    if envelope is None:
        return
    times = np.concatenate([np.arange(1e8, 1e8 + 20), np.arange(1e12, 1e12 + 20)])
    with np.errstate(all="ignore"):
        values = formula.expression(times)
        low, high = (_evaluated(bound, times) for bound in (envelope.lower, envelope.upper))
    inside = (values >= low * (1 - 1e-6) - 1e-6) & (values <= high * (1 + 1e-6) + 1e-6)
    assert np.all(inside | ~np.isfinite(high) | (values == 0))


def _evaluated(bound: Sum, t: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros_like(t)
    for monomial, c in bound.terms:
        value, level = np.exp(_evaluated(Sum(monomial.exponent), t)), t
        for power in monomial.powers:
            value = value * level**power
            level = np.log(level)
        total = total + c * value
    return total


def test_the_paper_s_fast_schedule_survives_overflow() -> None:
    fast = StretchedExponential()
    getcontext().prec = 40
    times = [10**3, 10**6, 1_048_576, 1_060_000, 1_100_000, 10**7]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inverse, log, (own_weight, weight) = fast.reciprocal(times), fast.log(times), fast.homogeneous(times)
        assert np.isposinf(fast(10**7))
    exact_log = [float(Decimal(t).sqrt() * Decimal(2).ln()) for t in times]
    np.testing.assert_allclose(log, exact_log, rtol=1e-15)
    exact = [float((-Decimal(t).sqrt() * Decimal(2).ln()).exp()) for t in times]
    # Subnormal numbers carry fewer digits.
    np.testing.assert_allclose(inverse, exact, rtol=1e-12, atol=1e-323)
    assert 0 < inverse[3] < 1e-308
    assert inverse[-1] == 0.0
    np.testing.assert_array_equal(own_weight, inverse)
    np.testing.assert_array_equal(weight, 1.0)
    # A formula for the same schedule is as safe, though it knows no logarithm there.
    assert Formula("2^sqrt(t)").reciprocal(10**7) == 0.0


def test_a_power_whose_factor_overflows_is_still_right() -> None:
    assert Power(60, 1e-300)(1e6) == pytest.approx(1e60, rel=1e-12)
    assert Power(-60, 1e300)(1e6) == pytest.approx(1e-60, rel=1e-12)
    assert Power(0)(0) == 1.0
    assert Power(0).log(0) == 0.0


def test_time_zero_and_real_times() -> None:
    assert Linear(2, 3)(0) == 3.0
    assert Power(2)(0.5) == 0.25
    np.testing.assert_allclose(Logarithmic()([0.0, 0.5]), [0.0, math.log(1.5)])
    assert np.isposinf(Power(-1)(0))
    assert Power(-1).reciprocal(0) == 0.0


@pytest.mark.parametrize(
    ("schedule", "text"),
    [
        (Constant(3), "ρ_t = 3"),
        (Linear(), "ρ_t = t"),
        (Linear(0.19), "ρ_t = 0.19 t"),
        (Linear(2, 1), "ρ_t = 2 t + 1"),
        (Linear(2, -1), "ρ_t = 2 t − 1"),
        (Power(1.5), "ρ_t = t^1.5"),
        (Power(1, scale=2), "ρ_t = 2 t"),
        (Power(-1, 2), "ρ_t = 2 t^-1"),
        (Logarithmic(), "ρ_t = log(1 + t)"),
        (StretchedExponential(), "ρ_t = 2^√t"),
        (StretchedExponential(3, 1), "ρ_t = 3^t"),
        (StretchedExponential(3, 0.25), "ρ_t = 3^(t^0.25)"),
        (Table([1, 2]), "ρ_t = 1, 2"),
        (Table(range(1, 101)), "ρ_t = 1, 2, 3, … (100 values)"),
        (Formula(" t  * log( t )"), "ρ_t = t*log(t)"),
    ],
    ids=str,
)
def test_how_schedules_read(schedule: Schedule, text: str) -> None:
    assert str(schedule) == text


def test_tuned_slope_is_total_stubbornness_over_total_degree() -> None:
    network = SimpleNamespace(n=3, degrees=np.array([1.0, 2.0, 1.0]), left_null_vector=np.ones(3))
    assert Linear.tuned(network) == Linear.tuned(network, 1.0) == Linear(0.75)
    assert Linear.tuned(network, [1.0, 2.0, 3.0]) == Linear(1.5)


@pytest.mark.parametrize("stubbornness", [0.0, -1.0, math.nan, math.inf, [1.0, 0.0, 1.0], [1.0, 1.0], [[1.0]]])
def test_tuning_refuses_bad_stubbornness(stubbornness: Any) -> None:
    with pytest.raises(ScheduleError, match="stubbornness"):
        Linear.tuned(SimpleNamespace(n=3, degrees=np.ones(3), left_null_vector=np.ones(3)), stubbornness)


def test_tuning_refuses_a_network_without_edges() -> None:
    with pytest.raises(ScheduleError, match="edges"):
        Linear.tuned(SimpleNamespace(n=3, degrees=np.zeros(3), left_null_vector=np.ones(3)), 1.0)


BAD_PARAMETERS: list[tuple[type[Schedule], dict[str, Any]]] = [
    (Constant, {"value": -1}),
    (Constant, {"value": math.nan}),
    (Constant, {"value": math.inf}),
    (Constant, {"value": True}),
    (Constant, {"value": "3"}),
    (Constant, {"value": None}),
    (Constant, {"value": 1j}),
    (Constant, {"value": 10**400}),
    (Linear, {"slope": 0}),
    (Linear, {"slope": -1}),
    (Linear, {"slope": 1, "offset": -1.5}),
    (Linear, {"offset": math.nan}),
    (Power, {"exponent": math.inf}),
    (Power, {"exponent": 1, "scale": 0}),
    (Logarithmic, {"scale": -2}),
    (StretchedExponential, {"base": 1}),
    (StretchedExponential, {"base": 0.5}),
    (StretchedExponential, {"exponent": 0}),
    (Table, {"values": []}),
    (Table, {"values": [1, -1]}),
    (Table, {"values": [1, math.nan]}),
    (Table, {"values": [1, math.inf]}),
    (Table, {"values": [[1, 2]]}),
    (Table, {"values": [[1], [2, 3]]}),
    (Table, {"values": ["1"]}),
    (Table, {"values": [True]}),
    (Table, {"values": 3}),
    (Table, {"values": [1j]}),
    (Formula, {"formula": "t.real"}),
    (Formula, {"formula": "-t"}),
    (Formula, {"formula": "log(-t)"}),
    (Formula, {"formula": 3}),
]


@pytest.mark.parametrize(("member", "parameters"), BAD_PARAMETERS, ids=lambda value: str(value)[:40])
def test_bad_parameters_are_refused_where_they_enter(member: type[Schedule], parameters: dict[str, Any]) -> None:
    with pytest.raises(ScheduleError, match=";"):
        member(**parameters)
    with pytest.raises(ScheduleError, match=";"):
        schedule_from_dict({"kind": member.kind, **parameters})


@pytest.mark.parametrize("t", ["1", None, 1j, [[1], [1, 2]], [True], {}], ids=str)
def test_bad_times_are_refused(t: Any) -> None:
    for schedule in CLOSED:
        for method in (schedule, schedule.reciprocal, schedule.homogeneous, schedule.log):
            with pytest.raises(ScheduleError, match="times must be"):
                method(t)


@pytest.mark.parametrize(
    ("schedule", "t", "message"),
    [
        (Formula("10 - t"), [1, 5, 11, 12], "t = 11, got -1"),
        (Formula("sqrt(5 - t)"), 6, "t = 6, got nan"),
        (Linear(2, -1), 0, "t = 0, got -1"),
        (Linear(), [[1, 2], [-3, 4]], "t = -3, got -3"),
        (Linear(), math.nan, "t = nan, got nan"),
        (Power(0.5), -4.0, "t = -4, got nan"),
        (Table([1, 2, 3]), [1, 4], "3 values.*got t = 4; give more values"),
        (Table([1, 2, 3]), 0, "got t = 0"),
        (Table([1, 2, 3]), 1.5, "got t = 1.5"),
        (Table([1, 2, 3]), math.nan, "got t = nan"),
        (Table([1, 2, 3]), math.inf, "got t = inf"),
    ],
    ids=str,
)
def test_illegal_pressures_name_the_time_and_the_value(schedule: Schedule, t: Any, message: str) -> None:
    for method in (schedule, schedule.reciprocal, schedule.homogeneous, schedule.log):
        with pytest.raises(ScheduleError, match=message):
            method(t)


def test_tables_keep_their_own_values() -> None:
    source = np.array([1.0, 2.0])
    table = Table(source)
    source[0] = 9
    assert table(1) == 1.0
    for copy in (table, pickle.loads(pickle.dumps(table))):
        with pytest.raises(ValueError, match="read-only"):
            copy.values[0] = 9
    looked_up = table([1, 2])
    looked_up[0] = 9
    assert table(1) == 1.0
    assert Table([0.0, 1.0]) == Table([-0.0, 1.0])
    assert hash(Table([0.0, 1.0])) == hash(Table([-0.0, 1.0]))
    assert Table([1]) != Table([1, 1])
    assert Table([1]) != Constant(1)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (2, Constant(2)),
        (np.float32(0.5), Constant(0.5)),
        (Fraction(1, 2), Constant(0.5)),
        ("t^2", Formula("t^2")),
        ("linear", None),
        ([1, 2], Table([1, 2])),
        ((1, 2), Table([1, 2])),
        (range(1, 4), Table([1, 2, 3])),
        (np.array([1, 2]), Table([1, 2])),
        (np.array(2.0), None),
        (True, None),
        (None, None),
        (b"t", None),
        ({1: 2}, None),
        ({1, 2}, None),
        (iter([1]), None),
        (10**400, None),
        (1j, None),
    ],
    ids=lambda value: str(value)[:20] if not hasattr(value, "__next__") else "iterator",
)
def test_as_schedule(value: object, expected: Schedule | None) -> None:
    if expected is None:
        with pytest.raises(ScheduleError, match=";"):
            as_schedule(value)
    else:
        assert as_schedule(value) == expected


def test_words_are_formulas_and_nothing_magical() -> None:
    with pytest.raises(FormulaError, match="unknown name 'linear'"):
        as_schedule("linear")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "kind must be one of linear, power"),
        ({"kind": "liner"}, "did you mean 'linear'"),
        ({"kind": 3}, "kind must be"),
        ({"kind": ["linear"]}, "kind must be"),
        ("linear", "kind must be"),
        (None, "kind must be"),
        ({"kind": "constant"}, "needs value"),
        ({"kind": "linear", "slop": 1}, "takes slope, offset, got slop"),
        ({"kind": "formula", "formula": "t", "expression": 1}, "takes formula"),
        ({"kind": "power", "scale": 1}, "needs exponent"),
    ],
    ids=str,
)
def test_bad_data_is_refused(data: Any, message: str) -> None:
    with pytest.raises(ScheduleError, match=message):
        schedule_from_dict(data)


@given(st.floats(0, 1e308), st.floats(1e-3, 1e3))
@examples(3)
def test_the_gain_is_finite_for_every_pressure(rho: float, degree: float) -> None:
    own_weight, weight = Constant(rho).homogeneous(1)
    coupling = weight * degree / (own_weight + weight * degree)
    exact = Fraction(rho) * Fraction(degree) / (1 + Fraction(rho) * Fraction(degree))
    assert float(coupling) == pytest.approx(float(exact), rel=1e-14)


def test_pressure_is_regular_unless_it_is_known_to_oscillate() -> None:
    swinging = Formula("t*(2 + sin(t))").growth
    assert not swinging.is_regular
    assert all(growth.is_regular for growth in (Formula("t + log(t)").growth, Linear(2.0).growth, Constant(0.3).growth))
    # Who states growth by hand may leave out the envelope.
    assert dataclasses.replace(swinging, envelope=None).is_regular


def test_a_function_is_refused_with_the_way_to_its_values() -> None:
    with pytest.raises(
        ScheduleError, match=r"pass the values of the function.*\[f\(t\) for t in range\(1, steps \+ 1\)\]"
    ):
        as_schedule(math.sqrt)
