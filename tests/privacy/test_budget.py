"""Budgets by law of noise: what is promised, what is not, and how it grows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.noise import LAWS
from peerpressure.privacy import budget, epsilon_of
from peerpressure.privacy._accounting import PROMISES
from tests.builders import NOISES, random_model

N = 8
PUBLIC = np.zeros(N)


def public(noise: pp.noise.Noise) -> pp.Model:
    return random_model(N, noise=noise, start=PUBLIC)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("start", ["hidden", PUBLIC], ids=["hidden", "public"])
def test_every_noise_has_a_budget_that_prints(noise: pp.noise.Noise, start: object) -> None:
    told = budget(random_model(N, noise=noise, start=start), 4)
    assert len(told.table) == N
    assert (told.table["information"] >= told.table["own_information"] * (1 - 1e-12)).all()
    assert math.isnan(told.epsilon) == isinstance(noise, pp.noise.Custom)
    assert told.promise.split()[0] in str(told)
    assert "4 steps" in str(told)


def test_nobody_changes_an_account_by_what_it_hands_out() -> None:
    told = budget(public(pp.Gaussian(1.0)), 4)
    before = told.epsilon
    table = told.table
    table["epsilon"] = 0.0
    assert told.epsilon == before
    assert told.table["epsilon"].max() == before
    with pytest.raises(ValueError, match="read-only"):
        told.numbers["epsilon"] = 0.0
    parts = [getattr(told, name) for name in dir(told) if not name.startswith("_")]
    assert not any(isinstance(part, dict) for part in parts)


def test_every_law_has_a_promise() -> None:
    assert set(PROMISES) == set(LAWS.values())


def test_gaussian_numbers() -> None:
    told = budget(public(pp.Gaussian(10.0)), 100)
    assert told.information == pytest.approx(1.0)
    assert told.mu == pytest.approx(1.0)
    assert told.zcdp == pytest.approx(0.5)
    assert told.epsilon == pytest.approx(4.37718, abs=1e-5)
    np.testing.assert_array_equal(told.table["information"], told.table["own_information"])


def test_agents_with_less_noise_are_told_more_about() -> None:
    std = np.linspace(1.0, 4.0, N)
    told = budget(public(pp.Gaussian(std)), 9, sensitivity=0.5)
    np.testing.assert_allclose(told.table["mu"], 0.5 * 3 / std)
    np.testing.assert_allclose(told.table["epsilon"], epsilon_of(0.5 * 3 / std, 1e-5))
    assert told.epsilon == told.table["epsilon"].iloc[0]


@pytest.mark.parametrize("law", [pp.Gaussian, pp.Laplace, pp.StudentT])
@settings(deadline=None, max_examples=15)
@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.5, 20.0), st.floats(1.02, 4.0))
def test_more_steps_and_less_noise_tell_more(
    law: type[pp.noise.Noise], steps: int, more: int, std: float, factor: float
) -> None:
    # Two bounds of a numerical ε each leave a little room.
    room = 1.05 if law is pp.Laplace else 1.0 + 1e-12
    told = budget(public(law(std)), steps)
    assert told.epsilon <= budget(public(law(std)), steps + more).epsilon * room
    assert told.epsilon >= budget(public(law(std * factor)), steps).epsilon / room
    assert told.information < budget(public(law(std)), steps + more).information


def test_one_laplace_step_is_pure() -> None:
    told = budget(public(pp.Laplace(2.0)), 1, sensitivity=3.0, delta=1e-7)
    pure = 3 * math.sqrt(2) / 2
    assert told.table["epsilon_basic"].iloc[0] == pytest.approx(pure)
    assert told.epsilon == pytest.approx(pure, abs=3e-7)


def test_a_laplace_mask_is_one_draw() -> None:
    held = pp.Laplace(2.0, temporal="frozen")
    assert budget(public(held), 500).epsilon == budget(public(held), 1).epsilon
    assert math.isinf(budget(random_model(N, noise=held), 2).epsilon)


def test_laplace_composition_is_tighter_the_more_it_knows() -> None:
    row = budget(public(pp.Laplace(10.0)), 100).table.iloc[0]
    assert row["epsilon_low"] < row["epsilon"] < row["epsilon_advanced"] < row["epsilon_basic"]
    assert row["epsilon_basic"] == pytest.approx(100 * math.sqrt(2) / 10)
    assert row["information"] == pytest.approx(2.0)


def test_hidden_starts_cost_laplace_agents_their_neighbours_words() -> None:
    model = random_model(N, noise=pp.Laplace(2.0))
    told = budget(model, 3).table["epsilon_basic"]
    links = float(model.pressure(1)) * (model.network.adjacency @ (1 / model.s))
    np.testing.assert_allclose(told, math.sqrt(2) / 2 * (3 + links))


def test_student_loss_is_bounded_as_stated() -> None:
    df, std, move = 5.0, 2.0, 1.5
    law = stats.t(df, scale=std * math.sqrt((df - 2) / df))
    x = np.linspace(-60, 60, 200_001)
    worst = float(np.max(law.logpdf(x) - law.logpdf(x - move)))
    told = budget(public(pp.StudentT(std, df=df)), 7, sensitivity=move)
    assert told.table["epsilon_basic"].iloc[0] == pytest.approx(7 * worst, rel=1e-6)
    assert told.epsilon <= 7 * worst * (1 + 1e-6)


def test_bounded_noise_needs_a_delta() -> None:
    model = public(pp.noise.Uniform(1.0))
    told = budget(model, 3, sensitivity=0.2)
    needed = 1 - (1 - 0.2 / (2 * math.sqrt(3))) ** 3
    np.testing.assert_allclose(told.table["delta_needed"], needed)
    assert math.isinf(told.epsilon)
    assert budget(model, 3, sensitivity=0.2, delta=needed * 1.001).epsilon == 0.0
    np.testing.assert_allclose(budget(model, 3, sensitivity=10.0).table["delta_needed"], 1.0)


@pytest.mark.parametrize("noise", [pp.noise.Rademacher(5.0), pp.NoNoise()])
def test_coins_and_silence_hide_nothing(noise: pp.noise.Noise) -> None:
    told = budget(public(noise), 2)
    assert math.isinf(told.epsilon)
    assert math.isinf(told.information)
    assert (told.table["delta_needed"] == 1).all()


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (stats.norm(), 1.0),
        (stats.logistic(), math.pi**2 / 9),
        (stats.laplace(scale=3.0), 2.0),
        (stats.t(5, scale=2.0), 1.25),
        (stats.gumbel_r(), math.pi**2 / 6),
        (stats.beta(4, 4), 42 / 36),
        (stats.expon(), math.inf),
        (stats.uniform(), math.inf),
        (stats.beta(2, 2), math.inf),
        (stats.poisson(3.0), math.inf),
    ],
    ids=lambda value: getattr(getattr(value, "dist", None), "name", None),
)
def test_information_of_a_law(law: object, expected: float) -> None:
    assert pp.noise.Custom(law, centre=True).fisher_information() == pytest.approx(expected, rel=2e-4)


def test_custom_noise_gets_information_and_no_promise() -> None:
    told = budget(public(pp.noise.Custom(stats.logistic(), std=2.0)), 8)
    assert told.information == pytest.approx(8 * math.pi**2 / 9 / 4, rel=1e-3)
    assert math.isnan(told.epsilon)
    assert math.isnan(told.mu)
    assert "Nothing is promised" in str(told)


def test_labels_name_the_rows() -> None:
    network = pp.Network.from_edges([("ann", "bob"), ("bob", "cat")])
    told = budget(pp.Model(network, [1.0, 2.0, 3.0], noise=pp.Gaussian(1.0)), 3)
    assert list(told.table.index) == ["ann", "bob", "cat"]
    assert "agent bob" in str(told)


def test_a_law_without_a_promise_is_refused() -> None:
    class Odd(pp.noise.Noise):
        law = "odd"

        def unit(self) -> object:
            return stats.norm()

    with pytest.raises(InvalidInputError, match="got Odd; wrap the law as Custom"):
        budget(public(Odd()), 3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "steps must be a whole number of at least 1"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"sensitivity": 0.0}, "sensitivity must be a finite number above 0"),
        ({"sensitivity": math.inf}, "sensitivity must be a finite number above 0"),
        ({"sensitivity": "wide"}, "sensitivity must be a finite number above 0"),
        ({"delta": 0.0}, "δ must lie strictly between 0 and 1"),
        ({"delta": 2.0}, "δ must lie strictly between 0 and 1"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"steps": 5} | change
    with pytest.raises(InvalidInputError, match=message):
        budget(public(pp.Gaussian()), **arguments)  # type: ignore[arg-type]


def test_a_public_start_is_what_makes_both_readings_equal() -> None:
    hidden = random_model(N, noise=pp.Gaussian(2.0))
    table = budget(hidden, 6).table
    assert (table["information"] > table["own_information"]).all()
    deaf = budget(replace(hidden, pressure=pp.schedules.Table([0.0, 1, 2, 3, 4, 5])), 6).table
    np.testing.assert_array_equal(deaf["information"], deaf["own_information"])
