"""Verdicts on the plain model: outcomes, reasons, forecasts, advice, and how they are printed."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError, ScheduleError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, complete, cycle, k2, named, path
from peerpressure.noise import AR1, Gaussian, Noise, NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Logarithmic, Power, Schedule, StretchedExponential, Table
from peerpressure.step import Update
from peerpressure.theory import (
    Outcome,
    Reason,
    ReasonCode as Code,
    Verdict,
    consensus_mode,
    diagnose,
    fixed_point,
    moments,
)
from peerpressure.theory._reasons import SENTENCES

from .reasons import codes, values

ODD = barabasi_albert(30, 2, seed=8)
TREE = barabasi_albert(30, 1, seed=8)


def make(network: Network, pressure: object, noise: Noise | None = None) -> Model:
    rng = np.random.default_rng(3)
    hidden, s = rng.uniform(size=network.n), rng.uniform(0.5, 1, network.n)
    return Model(network, hidden, s, pressure, Gaussian(0.4) if noise is None else noise)  # type: ignore[arg-type]


GROWING = [Linear(), Linear(0.2, 3), Power(0.5), Logarithmic(), Formula("t*log(1+t)"), Formula("t/log(1+t)")]
TOO_FAST = [Power(1.5), StretchedExponential(), Formula("t^2"), Formula("2^sqrt(t)")]
GROWING += [Formula("t*(2+sin(t))"), Formula("2^floor(log2(t))")]
BOUNDED = [Constant(2.0), Constant(0.0), Power(-1.0), Formula("3 - 1/t"), Formula("2+t-2*floor(t/2)")]
CASES = (
    [(ODD, s, Outcome.CONSENSUS) for s in GROWING]
    + [(TREE, s, Outcome.CONSENSUS) for s in GROWING]
    + [(ODD, s, Outcome.BIASED_CONSENSUS) for s in TOO_FAST]
    + [(TREE, s, Outcome.OSCILLATION) for s in TOO_FAST]
    + [(n, s, Outcome.DISAGREEMENT) for n in (ODD, TREE) for s in BOUNDED]
    + [(n, Table([1.0, 2.0, 3.0]), Outcome.UNKNOWN) for n in (ODD, TREE)]
    + [(ODD, Formula("t^(1 + sin(t))"), Outcome.UNKNOWN)]
)


@pytest.mark.parametrize(("network", "schedule", "expected"), CASES, ids=str)
def test_growth_and_parity_decide(network: Network, schedule: Schedule, expected: Outcome) -> None:
    verdict = diagnose(make(network, schedule))
    assert verdict.outcome is expected
    assert not verdict.estimated
    assert ("estimated" in str(verdict).splitlines()[0]) == verdict.estimated


def test_the_verdict_flips_with_schedule_and_graph() -> None:
    model = make(TREE, Linear())
    faster = replace(model, pressure=Power(1.2))
    assert TREE.sides is not None
    one_side = tuple(np.flatnonzero(TREE.sides)[:2].tolist())
    with_an_odd_cycle = Network.from_edges([*zip(*(e.tolist() for e in TREE.edges()[:2]), strict=True), one_side])
    outcomes = [diagnose(m).outcome for m in (model, faster, replace(faster, network=with_an_odd_cycle))]
    assert outcomes == [Outcome.CONSENSUS, Outcome.OSCILLATION, Outcome.BIASED_CONSENSUS]


FROZEN = Gaussian(0.5, temporal="frozen")
NOISES = [
    (ODD, Linear(), FROZEN, Outcome.BIASED_CONSENSUS, Code.FROZEN_NOISE),
    (TREE, Linear(), FROZEN, Outcome.BIASED_CONSENSUS, Code.FROZEN_NOISE),
    (ODD, Linear(), Gaussian(0.5, temporal="frozen", time_scale=Power(-0.5)), Outcome.CONSENSUS, Code.NOISE_FADES),
    (ODD, Linear(), Gaussian(0.5, time_scale=Power(0.4)), Outcome.CONSENSUS, Code.NOISE_AVERAGES),
    (ODD, Linear(), Gaussian(0.5, time_scale=Power(0.5)), Outcome.BIASED_CONSENSUS, Code.NOISE_WANDERS),
    (TREE, Linear(), Gaussian(0.5, time_scale=Power(0.6)), Outcome.OSCILLATION, Code.PHASES_DRIVEN_BY_NOISE),
    (ODD, Linear(), Gaussian(0.5, time_scale=Power(1.0)), Outcome.DISAGREEMENT, Code.NOISE_OUTGROWS_PRESSURE),
    (ODD, Linear(), Gaussian(0.5, time_scale=Logarithmic()), Outcome.CONSENSUS, Code.NOISE_AVERAGES),
    (ODD, Power(0.5), Gaussian(0.5, time_scale=Power(0.3)), Outcome.BIASED_CONSENSUS, Code.NOISE_WANDERS),
    (ODD, Power(2), Gaussian(0.5, time_scale=Power(1.8)), Outcome.BIASED_CONSENSUS, Code.LIMIT_UNBOUNDED),
    (ODD, Power(2), Gaussian(0.5, time_scale=Power(0.4)), Outcome.BIASED_CONSENSUS, Code.LIMIT),
    (
        ODD,
        StretchedExponential(),
        Gaussian(0.5, time_scale=Linear()),
        Outcome.BIASED_CONSENSUS,
        Code.LIMIT,
    ),
    (ODD, Linear(), Gaussian(0.5, time_scale=Table([1.0, 2.0])), Outcome.UNKNOWN, Code.UNKNOWN_NOISE),
    (ODD, Constant(1.0), Gaussian(0.5, time_scale=Linear()), Outcome.DISAGREEMENT, Code.FLUCTUATION_GROWS),
    (ODD, Constant(1.0), FROZEN, Outcome.DISAGREEMENT, Code.FROZEN_DEVIATION),
    (ODD, Constant(1.0), NoNoise(), Outcome.DISAGREEMENT, Code.NO_FLUCTUATION),
    (ODD, Power(2), Gaussian(0.0, time_scale=Linear()), Outcome.BIASED_CONSENSUS, Code.LIMIT),
    (ODD, Linear(), Gaussian(0.5, temporal=AR1(0.5)), Outcome.CONSENSUS, Code.NOISE_MEMORY),
]


@pytest.mark.parametrize(("network", "pressure", "noise", "expected", "code"), NOISES)
def test_noise_decides_too(network: Network, pressure: Schedule, noise: Noise, expected: Outcome, code: Code) -> None:
    verdict = diagnose(make(network, pressure, noise))
    assert verdict.outcome is expected
    assert code in codes(verdict)


def test_reasons_carry_the_numbers_that_they_rest_on() -> None:
    memory = diagnose(make(ODD, Linear(), Gaussian(0.5, temporal=AR1(0.5))))
    assert values(memory, Code.NOISE_MEMORY)["factor"] == pytest.approx(3.0)
    model = make(ODD, Constant(2.0))
    point = fixed_point(model, 1)
    span = values(diagnose(model), Code.STATIONARY_MEAN)
    assert (span["low"], span["high"]) == pytest.approx((point.min(), point.max()))
    late = moments(model, 400, of=consensus_mode(model)).std[-1, 0]
    assert values(diagnose(model), Code.FLUCTUATION)["std"] == pytest.approx(late, rel=1e-9)
    fast = make(TREE, Power(1.5))
    verdict = diagnose(fast)
    assert verdict.consensus_limit is not None
    assert verdict.consensus_limit.phases is not None
    told, phases = values(verdict, Code.TWO_PHASES), verdict.consensus_limit.phases
    assert [told["first"], told["second"]] == phases.mean.tolist()
    assert [told["first_std"], told["second_std"]] == phases.std.tolist()
    assert values(diagnose(make(ODD, Linear())), Code.PRESSURE_GROWTH)["regime"] == "linear"


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=AR1(0.5)), FROZEN], ids=str)
@pytest.mark.parametrize("constant", [Constant(2.0), Formula("2"), Power(0.0, 2.0)], ids=str)
def test_reasons_do_not_depend_on_how_a_schedule_is_written(constant: Schedule, noise: Noise) -> None:
    model = Model(cycle(5), np.arange(5.0), pressure=2.0, noise=noise, adaptation=0.1)
    expected, found = diagnose(model), diagnose(replace(model, pressure=constant))
    assert codes(found) == codes(expected)
    for code in codes(expected) - {Code.PRESSURE_GROWTH}:
        assert values(found, code) == pytest.approx(values(expected, code))


def test_every_code_has_a_sentence() -> None:
    assert set(SENTENCES) == set(Code)


@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.7])
def test_growing_noise_does_what_the_verdict_says(gamma: float) -> None:
    model = make(ODD, Linear.tuned(ODD, 0.75), Gaussian(0.5, time_scale=Power(gamma)))
    variance = moments(model, 4000, of=consensus_mode(model), times=[1000, 4000]).variance[:, 0]
    falls = variance[1] < 0.9 * variance[0]
    assert falls == (diagnose(model).outcome is Outcome.CONSENSUS)


def test_frozen_noise_leaves_the_deviation_that_the_reason_names() -> None:
    model = make(ODD, Linear.tuned(ODD, 0.75), FROZEN)
    left = float(moments(model, 3000, of=consensus_mode(model)).std[-1, 0])
    assert left == pytest.approx(0.5 * np.linalg.norm(model.s) / model.s.sum(), rel=0.02)
    assert values(diagnose(model), Code.FROZEN_NOISE)["std"] == pytest.approx(left, rel=0.02)


def test_nothing_to_agree_on_is_agreement() -> None:
    for pressure in (Power(2), Constant(1.0), Linear()):
        model = Model(TREE, np.full(30, 0.25), pressure=pressure)
        assert diagnose(model).outcome is Outcome.CONSENSUS
    apart = replace(model, pressure=Power(2), start=np.arange(30.0))
    assert diagnose(apart).outcome is Outcome.OSCILLATION


@pytest.mark.parametrize("network", [complete(5), cycle(5), cycle(4)])
def test_too_fast_a_pressure_keeps_a_mean_that_is_right_from_the_start(network: Network) -> None:
    hidden = np.array([1.0, 2.0, 2.0, 1.0, 1.5])[: network.n]
    model = Model(network, hidden, pressure=Power(2))
    assert diagnose(model).outcome is Outcome.CONSENSUS
    shown = moments(model, 400, times=[400]).mean[-1]
    np.testing.assert_allclose(shown, model.consensus_value, atol=1e-3)
    assert diagnose(replace(model, noise=Gaussian(1.0))).outcome is not Outcome.CONSENSUS
    assert diagnose(replace(model, start=np.arange(float(network.n)))).outcome is not Outcome.CONSENSUS


def test_forecast_is_that_of_the_moments() -> None:
    model = make(ODD, Linear())
    prediction = diagnose(model, 200).forecast
    assert prediction is not None
    result = moments(model, 200)
    assert prediction.mean is not None
    assert prediction.std is not None
    np.testing.assert_allclose(prediction.mean, result.mean[-1], rtol=1e-12)
    np.testing.assert_allclose(prediction.std, result.std[-1], rtol=1e-12)
    rows = np.eye(30) - consensus_mode(model).weights
    deviations = moments(model, 200, of=rows)
    expected = np.sqrt(np.mean(deviations.mean[-1] ** 2 + deviations.variance[-1]))
    assert prediction.disagreement == pytest.approx(expected, rel=1e-6)
    mode = moments(model, 200, of=consensus_mode(model))
    assert prediction.mode_std == pytest.approx(mode.std[-1, 0])
    assert prediction.mode_error == pytest.approx(np.hypot(mode.mean[-1, 0] - model.consensus_value, mode.std[-1, 0]))


def test_unknown_growth_says_so_and_what_the_horizon_shows() -> None:
    table = diagnose(make(ODD, Table([1.0, 2.0, 4.0])))
    seen = values(table, Code.FINITE_HORIZON)
    assert (seen["steps"], seen["first"], seen["last"]) == (3, 1.0, 4.0)
    assert table.agrees is None
    formula = make(ODD, Formula("t^(1 + sin(t))"))
    assert Code.NO_HORIZON in codes(diagnose(formula))
    assert values(diagnose(formula, 20), Code.FINITE_HORIZON)["steps"] == 20
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


@pytest.mark.parametrize("scale", ["1/log(2+t)", "exp(-t)", "(2+sin(t))/t", "1/sqrt(t)"])
def test_frozen_noise_that_fades_leaves_nothing(scale: str) -> None:
    model = Model(k2(), [0.0, 1.0], noise=Gaussian(1.0, time_scale=scale, temporal="frozen"))
    assert diagnose(model).outcome is Outcome.CONSENSUS
    stds = [moments(model, T, of=consensus_mode(model)).std[-1, 0] for T in (10, 3_000)]
    assert stds[1] < 0.5 * stds[0]


def test_frozen_noise_of_a_scale_that_stays_does_not_fade() -> None:
    for scale in ("1 + 1/log(2+t)", "2 + sin(t)"):
        model = Model(k2(), [0.0, 1.0], noise=Gaussian(1.0, time_scale=scale, temporal="frozen"))
        assert diagnose(model).outcome is Outcome.BIASED_CONSENSUS


@pytest.mark.parametrize("steps", [0, -3, 1.5, True, "10"])
def test_illegal_steps_are_rejected(steps: object) -> None:
    with pytest.raises(InvalidInputError, match="whole number"):
        diagnose(make(ODD, Linear()), steps)  # type: ignore[arg-type]


SHOWN = [
    *(pytest.param(make(n, s), steps) for n, s, _ in CASES[::3] for steps in (None, 3)),
    *(pytest.param(make(n, s, e), None) for n, s, e, *_ in NOISES),
    pytest.param(Model(k2(), [0.0, 1.0]), 10),
    pytest.param(Model(complete(4), [1.0, 1.0, 1.0, 1.0]), 10),
    pytest.param(make(named("karate"), Power(1.5)), 5),
]


@pytest.mark.parametrize(("model", "steps"), SHOWN)
def test_every_verdict_can_be_printed_and_stored(model: Model, steps: int | None) -> None:
    verdict = diagnose(model, steps)
    for text, most in ((str(verdict), 16), (verdict.explain(), 40)):
        assert len(text.splitlines()) <= most
        assert max(len(line) for line in text.splitlines()) <= 110
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["words"] == verdict.outcome.value
    assert [reason["code"] for reason in plain["reasons"]] == [reason.code for reason in verdict.reasons]
    assert " ".join(reason["text"] for reason in plain["reasons"]) == plain["reason"] == verdict.reason
    assert (plain["forecast"] is None) == (steps is None)
    HTMLParser().feed(verdict._repr_html_())


def test_html_is_escaped() -> None:
    verdict = diagnose(make(ODD, Linear()))
    reason = Reason(Code.PRESSURE_GROWTH, {"basis": "a < b & c"})
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
@given(
    factor=st.floats(1e-3, 1e3),
    shift=st.floats(-10, 10),
    fast=st.booleans(),
    order=st.permutations(range(8)),
)
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


@pytest.mark.parametrize("pressure", [Linear(), Power(1.5), Power(1.1), Constant(2.0)])
def test_a_verdict_without_steps_takes_few(pressure: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    taken, update = [], Model.update

    def counted(model: Model, t: int) -> Update:
        taken.append(t)
        return update(model, t)

    monkeypatch.setattr(Model, "update", counted)
    diagnose(make(barabasi_albert(100, 2, seed=1), pressure))
    assert len(taken) <= 1000
