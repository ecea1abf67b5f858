"""Verdicts as objects: what they rest on, how they are printed and stored, and what changes nothing in them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError, ScheduleError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Update
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, complete, cycle, named, path
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Logarithmic, Power, Schedule, StretchedExponential, Table
from peerpressure.sde import SDE
from peerpressure.theory import Outcome, Reason, Verdict, _limit_operator, _recurrence, diagnose
from tests.theory.changing import CHANGING, RING, in_rounds
from tests.theory.reasons import codes, known, values

ODD, TREE = barabasi_albert(6, 2, seed=1), barabasi_albert(6, 1, seed=1)
WHITE, FROZEN = Gaussian(0.4), Gaussian(0.5, temporal="frozen")
HOLDING = Adaptation(0.1, [0.0, 1, 1, 0, 1, 1])


def make(network: Network | TemporalNetwork, pressure: Any, noise: Noise = WHITE, **parts: Any) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, noise, **parts)


def test_the_verdict_flips_with_schedule_and_graph() -> None:
    model = make(TREE, Linear())
    faster = replace(model, pressure=Power(1.2))
    one_side = tuple(np.flatnonzero(known(TREE.sides))[:2].tolist())
    with_an_odd_cycle = Network.from_edges([*zip(*(e.tolist() for e in TREE.edges()[:2]), strict=True), one_side])
    outcomes = [diagnose(m).outcome for m in (model, faster, replace(faster, network=with_an_odd_cycle))]
    assert outcomes == [Outcome.CONSENSUS, Outcome.OSCILLATION, Outcome.BIASED_CONSENSUS]


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=AR1(0.5)), FROZEN], ids=str)
@pytest.mark.parametrize("constant", [Constant(2.0), Formula("2"), Power(0.0, 2.0)], ids=str)
def test_reasons_do_not_depend_on_how_a_schedule_is_written(constant: Schedule, noise: Noise) -> None:
    model = Model(cycle(5), np.arange(5.0), pressure=2.0, noise=noise, adaptation=0.1)
    expected, found = diagnose(model), diagnose(replace(model, pressure=constant))
    assert codes(found) == codes(expected)
    for code in codes(expected) - {"pressure_growth"}:
        assert values(found, code) == pytest.approx(values(expected, code))


@pytest.mark.parametrize(
    ("network", "parts"),
    [
        *((TREE, {"pressure": pressure}) for pressure in (Power(2), Constant(1.0), Linear())),
        *((network, {"adaptation": 0.1}) for network in (ODD, CHANGING["isolated"], CHANGING["groups"])),
        (TREE, {"activation": 0.5}),
    ],
)
def test_nothing_to_agree_on_is_agreement(network: Network | TemporalNetwork, parts: dict[str, Any]) -> None:
    verdict = diagnose(Model(network, np.full(6, 0.25), **parts))
    assert verdict.outcome is Outcome.CONSENSUS
    assert codes(verdict) - {"activation"} == {"settled"}


def test_unknown_growth_says_so_and_what_the_horizon_shows() -> None:
    table = diagnose(make(ODD, Table([1.0, 2.0, 4.0])))
    seen = values(table, "finite_horizon")
    assert (seen["steps"], seen["first"], seen["last"]) == (3, 1.0, 4.0)
    assert table.agrees is None
    with pytest.raises(ScheduleError, match="3 values"):
        diagnose(make(ODD, Table([1.0, 2.0, 4.0])), 4)


def test_a_formula_that_is_illegal_in_between_is_refused() -> None:
    formula = make(ODD, Formula("abs(t - 50) - 10"))
    assert diagnose(formula).outcome is Outcome.UNKNOWN
    assert diagnose(formula, 40).forecast is not None
    with pytest.raises(ScheduleError, match="t = 41, got -1"):
        diagnose(formula, 100)
    with pytest.raises(ScheduleError, match="t = 41"):
        diagnose(make(ODD, Linear(), Gaussian(0.1, time_scale="abs(t - 50) - 10")), 60)


@pytest.mark.parametrize("steps", [0, -3, 1.5, True, "10"])
def test_illegal_steps_are_rejected(steps: object) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        diagnose(make(ODD, Linear()), steps)  # type: ignore[arg-type]


PRESSURES = (Linear(), Power(0.5), Power(1.6), Constant(2.0), Formula("t*log(1+t)"), Table([1.0, 2.0, 3.0]))
SHOWN: list[Model | SDE] = [
    *(make(network, pressure) for network in (ODD, TREE) for pressure in PRESSURES),
    *(make(ODD, Linear(), noise) for noise in (NoNoise(), FROZEN, Gaussian(0.5, time_scale=Power(0.6)))),
    *(make(network, pressure, NoNoise()) for network in CHANGING.values() for pressure in (Power(0.7), Power(1.6))),
    *(make(ODD, pressure, adaptation=rate) for pressure in PRESSURES for rate in (0.1, HOLDING)),
    *(make(CHANGING[name], Power(0.7), adaptation=0.1) for name in ("isolated", "in turn", "groups")),
    Model(complete(4), [1.0, 1.0, 1.0, 1.0]),
    make(named("karate"), Power(1.5)),
    make(ODD, Linear(), activation=0.5),
    *(SDE(make(ODD, pressure), step=0.5) for pressure in PRESSURES),
]


@pytest.mark.parametrize("number", range(len(SHOWN)))
def test_every_verdict_can_be_printed_and_stored(number: int) -> None:
    system, steps = SHOWN[number], 3 if number % 2 else None
    model, verdict = system.model if isinstance(system, SDE) else system, diagnose(system, steps)
    for text, most in ((str(verdict), 16), (verdict.explain(), 44)):
        assert len(text.splitlines()) <= most
        assert max(len(line) for line in text.splitlines()) <= 110
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["words"] == verdict.outcome.value
    assert [reason["code"] for reason in plain["reasons"]] == [reason.code for reason in verdict.reasons]
    assert " ".join(reason["text"] for reason in plain["reasons"]) == plain["reason"] == verdict.reason
    assert (plain["forecast"] is None) == (steps is None)
    assert (plain["hidden"] is None) == (model.adaptation is None)
    assert (plain["connectivity"] is None) == (model.temporal_network is None)
    assert (plain["consensus_limit"] is None) == (verdict.consensus_limit is None)
    assert plain["step"] == (0.5 if isinstance(system, SDE) else None)
    HTMLParser().feed(verdict._repr_html_())


def test_html_is_escaped() -> None:
    verdict = diagnose(make(ODD, Linear()))
    reason = Reason("pressure_growth", "{basis}.", {"basis": "a < b & c"})
    hostile = Verdict(**{**vars(verdict), "pressure": "<script>alert('x')</script>", "reasons": (reason,)})
    assert "<script>" not in hostile._repr_html_()
    assert "a &lt; b &amp; c" in hostile._repr_html_()


@cache
def in_first_units(fast: bool) -> tuple[Model, Verdict]:
    """Return a model and its verdict, which those in other units are compared with."""
    rng = np.random.default_rng(0)
    hidden, s = rng.uniform(size=8), rng.uniform(0.5, 1, 8)
    model = Model(path(8), hidden, s, Power(1.5) if fast else Power(1.0), Gaussian(0.3))
    return model, diagnose(model, 20)


@settings(max_examples=15, deadline=None)
@given(factor=st.floats(1e-3, 1e3), shift=st.floats(-10, 10), fast=st.booleans(), order=st.permutations(range(8)))
def test_units_and_names_do_not_matter(factor: float, shift: float, fast: bool, order: list[int]) -> None:
    model, one = in_first_units(fast)
    hidden, s, pressure = model.x0, model.s, Power(1.5) if fast else Power(1.0)
    changed = Model(
        model.network.permuted(order),
        (hidden * factor + shift)[order],
        (s * factor)[order],
        replace(pressure, scale=factor),
        Gaussian(0.3 * factor),
    )
    other = diagnose(changed, 20)
    assert one.outcome is other.outcome
    assert one.rate.ratio == pytest.approx(other.rate.ratio)
    assert other.value == pytest.approx(one.value * factor + shift)
    assert one.forecast is not None
    assert other.forecast is not None
    assert other.forecast.mode_error == pytest.approx(one.forecast.mode_error * factor, rel=1e-6)
    assert other.forecast.disagreement == pytest.approx(one.forecast.disagreement * factor, rel=1e-6)
    if one.consensus_limit is not None:
        assert other.consensus_limit is not None
        assert other.consensus_limit.mean == pytest.approx(
            one.consensus_limit.mean * factor + shift, abs=1e-5 * (factor + abs(shift))
        )
        assert other.consensus_limit.std == pytest.approx(one.consensus_limit.std * factor, rel=1e-4)


@pytest.mark.parametrize("pressure", [Linear(), Power(1.5), Power(1.1), Constant(2.0)])
def test_a_verdict_without_steps_takes_few(pressure: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, update = [], Model.update

    def counted(model: Model, t: int) -> Update:
        taken.append(t)
        return update(model, t)

    monkeypatch.setattr(Model, "update", counted)
    diagnose(make(barabasi_albert(100, 2, seed=1), pressure))
    assert len(taken) <= 1000


def test_trivial_extensions_have_the_verdict_of_the_plain_model() -> None:
    for pressure in (Linear(), Power(1.5), Constant(2.0), StretchedExponential()):
        for network in (ODD, TREE):
            base = make(network, pressure)
            temporal = make(TemporalNetwork.constant(network), pressure, adaptation=0.0)
            expected, found = diagnose(base, 20), diagnose(temporal, 20)
            assert found.explain() == expected.explain()
            assert found.kappa == pytest.approx(expected.kappa, rel=1e-12)
            assert found.forecast is not None
            assert expected.forecast is not None
            assert found.forecast.mode_error == pytest.approx(expected.forecast.mode_error, rel=1e-12)
            if expected.consensus_limit is not None:
                assert found.consensus_limit is not None
                assert found.consensus_limit.mean == pytest.approx(expected.consensus_limit.mean, rel=1e-12)


def test_a_verdict_describes_joint_connectivity() -> None:
    gap = in_rounds(*[RING] * 6, *[[(0, 1)]] * 10, *[RING] * 16, periodic=False)
    model = make(gap, Linear(), NoNoise())
    found = known(diagnose(model, 32).connectivity)
    assert (found.window, found.usual, found.until) == (11, 4, 32)
    assert found.broken == ((9, 16),)
    assert "within any 11 steps up to t = 32, mostly within 4 but not in 9–16" in diagnose(model, 32).explain()
    whole = known(diagnose(model).connectivity)
    assert (whole.until, whole.last_change) == (None, 17)
    isolated = known(diagnose(make(CHANGING["isolated"], Linear())).connectivity)
    assert (isolated.period, isolated.isolated_agents) == (2, 1)
    assert isolated.isolated == pytest.approx(1 / 12)
    parted = diagnose(make(CHANGING["groups"], Linear()))
    assert len(known(parted.connectivity).components) == 3
    assert "only within 3 components" in parted.explain()
    assert diagnose(make(ODD, Linear(), adaptation=0.1)).connectivity is None


def test_a_period_too_long_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recurrence, "LARGEST", 11)
    monkeypatch.setattr(_limit_operator, "LONGEST_BLOCK", 1)
    verdict = diagnose(make(CHANGING["star and ring"], Linear(), adaptation=0.1), 5)
    assert verdict.outcome is Outcome.UNKNOWN
    assert values(verdict, "too_large")["period"] == 2
    assert verdict.forecast is not None


@pytest.mark.parametrize("rate", [Power(-1, 0.5), Formula("0.4/t^2")], ids=str)
@pytest.mark.parametrize("pressure", [Constant(1.5), Linear(), Power(1.5), Logarithmic()], ids=str)
def test_a_mean_that_nothing_moves_stays_at_v(pressure: Schedule, rate: Schedule) -> None:
    model = Model(cycle(5), [1.0, 2.0, 2.0, 1.0, 1.5], pressure=pressure, adaptation=Adaptation(rate))
    apart = isinstance(pressure, Constant) and isinstance(rate, Formula)
    assert diagnose(model).outcome is (Outcome.DISAGREEMENT if apart else Outcome.CONSENSUS)
    uneven = replace(model, adaptation=Adaptation(rate, np.linspace(0.2, 1, 5)))
    assert diagnose(uneven).outcome is not Outcome.CONSENSUS
    # Nor is it on v under fast pressure with noise, or from another start.
    if isinstance(pressure, Power):
        for changed in (replace(model, noise=WHITE), replace(model, start=np.arange(5.0))):
            assert diagnose(changed).outcome is not Outcome.CONSENSUS
