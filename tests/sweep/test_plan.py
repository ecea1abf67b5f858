"""A plan is a function of what it says, and a unit of what it is."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from peerpressure.errors import InvalidInputError, TooLargeError
from peerpressure.sweep import Draws, Plan, Range, Unit
from peerpressure.sweep.plan import Fingerprint, comparable, hash_text
from tests import waiting

TASK = "tests.sweep.units:noisy"
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=2), max_leaves=4)
NAMES = st.text(min_size=1, max_size=6).filter(lambda name: name != "replication")
AXES = st.dictionaries(NAMES, st.lists(VALUES, min_size=1, max_size=3, unique_by=comparable), max_size=3)


def _identities(plan: Plan) -> dict[str, tuple[str, int, int]]:
    return {unit.key: (unit.parameters, unit.replication, unit.seed) for unit in plan.units}


def _drawn(draw: st.DrawFn) -> dict[str, Any]:
    axes = draw(AXES)
    base = {name: value for name, value in draw(st.dictionaries(NAMES, VALUES, max_size=3)).items() if name not in axes}
    return {"base": base, "axes": axes, "replications": draw(st.integers(1, 3)), "seed": draw(st.integers(0, 2**70))}


PARTS = st.composite(_drawn)()


@given(PARTS)
def test_the_same_plan_has_the_same_units_each_with_its_own_key_and_seed(parts: dict[str, Any]) -> None:
    plan, again = Plan(TASK, **parts), Plan(TASK, **parts)
    assert plan.units == again.units
    assert len(plan) == len(plan.units) == len({unit.key for unit in plan.units})
    assert len({unit.seed for unit in plan.units}) == len(plan)
    assert all(0 <= unit.seed < 2**64 for unit in plan.units)


@given(PARTS, st.randoms(use_true_random=False))
def test_the_order_of_axes_and_values_changes_no_unit(parts: dict[str, Any], random: Any) -> None:
    names = list(parts["axes"])
    random.shuffle(names)
    shuffled = {name: random.sample(parts["axes"][name], len(parts["axes"][name])) for name in names}
    assert _identities(Plan(TASK, **parts)) == _identities(Plan(TASK, **(parts | {"axes": shuffled})))


@given(PARTS)
def test_more_values_and_replications_leave_the_units_that_were(parts: dict[str, Any]) -> None:
    grown = {name: [*values, ["one more"]] for name, values in parts["axes"].items()}
    larger = Plan(TASK, **(parts | {"axes": grown, "replications": parts["replications"] + 2}))
    assert _identities(Plan(TASK, **parts)).items() <= _identities(larger).items()


@given(PARTS)
def test_a_fixed_parameter_may_become_an_axis(parts: dict[str, Any]) -> None:
    axes = parts["axes"] | {name: [value] for name, value in parts["base"].items()}
    assert _identities(Plan(TASK, **parts)) == _identities(Plan(TASK, **(parts | {"base": {}, "axes": axes})))


@given(PARTS)
def test_another_seed_changes_seeds_and_keeps_keys(parts: dict[str, Any]) -> None:
    one, other = Plan(TASK, **parts), Plan(TASK, **(parts | {"seed": parts["seed"] + 1}))
    assert [unit.key for unit in one.units] == [unit.key for unit in other.units]
    assert not {unit.seed for unit in one.units} & {unit.seed for unit in other.units}
    assert one.fingerprint != other.fingerprint


@given(PARTS)
def test_common_random_numbers_are_those_of_the_replication_at_every_point(parts: dict[str, Any]) -> None:
    plan, own = Plan(TASK, **parts, random_numbers="common"), Plan(TASK, **parts)
    assert [unit.key for unit in plan.units] == [unit.key for unit in own.units]
    assert len({(unit.replication, unit.seed) for unit in plan.units}) == parts["replications"]
    assert len({unit.seed for unit in plan.units}) == parts["replications"]
    other = Plan(TASK, **(parts | {"seed": parts["seed"] + 1}), random_numbers="common")
    assert not {unit.seed for unit in plan.units} & {unit.seed for unit in other.units}
    assert plan.fingerprint.digest != own.fingerprint.digest


def test_keys_and_seeds_are_those_of_every_machine_and_process() -> None:
    plan = Plan(TASK, base={"b": 0.1, "text": "é"}, axes={"a": [1, 2.5]}, replications=2, seed=7)
    assert plan.units[3] == Unit(
        "1f4deae2424ed3910dbc9db95db3b685", '{"a":2.5,"b":0.1,"text":"\\u00e9"}', 1, 7589072820330737345
    )
    program = f"from peerpressure.sweep import Plan; print(Plan({TASK!r}, base={{'b': 0.1}}, axes={{'a': [3]}}).units)"
    # Results of sweeps from before random numbers could be common are still known.
    assert Fingerprint("a:b", "0.2.0", 7).digest == hash_text('{"seed":7,"task":"a:b","version":"0.2.0"}')
    fresh = waiting.run([sys.executable, "-c", program])
    assert fresh.stdout.strip() == str(Plan(TASK, base={"b": 0.1}, axes={"a": [3]}).units)


def test_numpy_values_are_the_plain_ones() -> None:
    plain = Plan(TASK, base={"v": [0.5, 1.0]}, axes={"a": [0, 1], "b": [0.1]})
    numpy = Plan(TASK, base={"v": np.array([0.5, 1.0])}, axes={"a": list(np.arange(2)), "b": [np.float64(0.1)]})
    assert plain.units == numpy.units


@given(st.integers(1, 30), st.integers(1, 30), st.sampled_from(["linear", "log"]), st.booleans(), st.integers(0, 9))
def test_draws_grow_and_stay_inside(count: int, more: int, spacing: Any, whole: bool, root: int) -> None:
    few = Draws(2, 900, count, spacing, whole).values(root, "a")
    many = Draws(2, 900, count + more, spacing, whole).values(root, "a")
    assert many[:count] == few
    assert len(set(many)) == count + more
    assert all(2 <= value <= 900 for value in many)
    assert few != Draws(2, 900, count, spacing, whole).values(root, "b")


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0 + 1e-9), (-1e-9, 1e-9), (0.0, 1e-300), (99.9999999, 100.0)])
def test_draws_of_narrow_ranges_end(low: float, high: float) -> None:
    values = Draws(low, high, 5).values(0, "a")
    assert len(set(values)) == 5
    assert all(low <= value <= high for value in values)


def test_draws_are_uniform() -> None:
    values = np.sort(Draws(0.0, 1.0, 20_000).values(0, "a"))
    steps = np.arange(1, values.size + 1) / values.size
    # Kolmogorov's distance exceeds 2.23/√n with probability 1e-4.
    assert np.abs(values - steps).max() < 2.23 / math.sqrt(values.size)


def test_ranges() -> None:
    assert Range(1, 1, 1).values() == (1.0,)
    assert Range(3, 1, 3).values() == (3.0, 2.0, 1.0)
    assert Range(1e-3, 10, 5, spacing="log").values() == (0.001, 0.01, 0.1, 1.0, 10.0)
    assert Range(1, 3, 9, whole=True).values() == (1, 2, 3)
    assert [unit.parameters for unit in Plan(TASK, axes={"a": Range(0, 1, 2)}).units] == ['{"a":0.0}', '{"a":1.0}']


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"axes": {"a": [1, 2, 1.0]}}, "1 and 1.0, which are equal"),
        ({"axes": {"a": [1, np.float32(1)]}}, "1 and 1.0, which are equal"),
        ({"axes": {"a": [True, 1]}}, "true and 1, which are equal"),
        ({"axes": {"a": ["1e0", 1]}}, '"1e0" and 1, which are equal'),
        ({"axes": {"a": [0.0, -0.0]}}, "0.0 and -0.0, which are equal"),
        ({"axes": {"a": [{"b": [1], "c": 2}, {"c": 2.0, "b": [True]}]}}, "which are equal"),
        ({"axes": {"a": "word"}}, "a list of values"),
        ({"axes": {"a": 3}}, "a list of values"),
        ({"axes": {"a": [1]}, "base": {"a": 1}}, "both"),
        ({"random_numbers": "same"}, "'independent' or 'common', got 'same'"),
        ({"axes": {"replication": [1]}}, "rename"),
        ({"base": {1: 1}}, "rename"),
        ({"base": {"a": math.nan}}, "plain values"),
        ({"base": {"a": {1, 2}}}, "plain values"),
        ({"replications": 0}, "1 or more"),
        ({"seed": -1}, "0 or more"),
        ({"seed": True}, "pass an int"),
        ({"task": "os.system"}, "module:function"),
        ({"task": "a b:c"}, "module:function"),
    ],
)
def test_what_is_no_plan_is_refused(parts: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        Plan(**({"task": TASK} | parts))


def test_values_that_only_look_alike_are_two() -> None:
    values = [2**53, 2**53 + 1, float(2**53 + 2), "01", "one", "one ", None, "null", [1], [[1]], {"a": 1}, [], {}, ""]
    values += ["nan", "NaN", "9" * 400]
    assert len(Plan(TASK, axes={"a": values})) == len(values)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Range(0, 1, 3, spacing="log"),
        lambda: Range(0, math.inf, 3),
        lambda: Range(0, 1, 0),
        lambda: Range(0, 1, 2, spacing="cubic"),  # type: ignore[arg-type]
        lambda: Draws(1, 1, 3),
        lambda: Draws(0, 10, 9, whole=True),
        # Values have twelve digits, of which these ranges hold two, ten and none.
        lambda: Draws(1.0, 1.0 + 1e-12, 5),
        lambda: Draws(1.0, 1.0 + 1e-10, 9, spacing="log"),
        lambda: Draws(1e20, 1e20 + 1e5, 1),
        lambda: Draws(0.0, 5e-324, 2),
    ],
)
def test_what_is_no_axis_is_refused(make: Any) -> None:
    with pytest.raises(InvalidInputError):
        make()


def test_a_plan_beyond_reason_is_refused_before_it_is_made() -> None:
    with pytest.raises(TooLargeError):
        Plan(TASK, axes={name: list(range(1000)) for name in "abc"})
