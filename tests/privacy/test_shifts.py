"""What moves with one opinion, against the joint Gaussian law of all that is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import peerpressure as pp
from peerpressure.model.activation import as_activation
from peerpressure.privacy import budget
from peerpressure.privacy._definition import start_term
from peerpressure.privacy._shifts import delay_pressure, leaks_at_first_step, model_shifts, own_shifts, safe_factor
from peerpressure.recovery import Observation
from tests.builders import random_model
from tests.oracles import outputs_law

N, T = 6, 5
NOISES = {
    "white": pp.Gaussian(0.7),
    "by agent": pp.Gaussian(np.linspace(0.4, 2.0, N)),
    "growing": pp.Gaussian(0.7, time_scale=pp.Power(0.4)),
    "ar1": pp.Gaussian(0.7, temporal=pp.AR1(0.6)),
    "negative ar1 by agent, fading": pp.Gaussian(
        np.linspace(0.4, 2.0, N), temporal=pp.AR1(-0.5), time_scale=pp.Power(-0.3)
    ),
}
COEFFICIENTS = st.floats(-0.99, 0.99)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_own_information_is_the_sum_of_the_inverse_covariance(noise: pp.noise.Noise) -> None:
    model = random_model(N, noise=noise)
    K = noise.time_covariance(np.arange(1, T + 1))
    expected = np.linalg.inv(K).sum() / noise.deviations(N) ** 2
    np.testing.assert_allclose(model_shifts(model, T).own_squares, expected, rtol=1e-9)


@given(COEFFICIENTS, st.integers(1, 400))
def test_ar1_in_closed_form(phi: float, steps: int) -> None:
    moves = own_shifts(pp.Gaussian(temporal=pp.AR1(phi)), steps)
    assert np.sum(moves**2) == pytest.approx(1 + (steps - 1) * (1 - phi) / (1 + phi))


@given(st.integers(1, 60), st.integers(1, 60), st.floats(-1.0, 1.0))
def test_information_of_white_noise_adds_up(first: int, more: int, gamma: float) -> None:
    noise = pp.Gaussian(time_scale=pp.Power(gamma))
    told = own_shifts(noise, first + more) ** 2
    assert told.sum() == pytest.approx(np.sum(own_shifts(noise, first) ** 2) + np.sum(told[first:]))


def test_a_mask_is_undone_where_hidden_opinions_were_heard() -> None:
    model = random_model(N, noise=pp.Gaussian(3.0, temporal="frozen"))
    assert np.isinf(model_shifts(model, 2).squares).all()
    assert np.isfinite(model_shifts(model, 1).squares).all()
    assert np.isinf(model_shifts(replace(model, noise=pp.Laplace(3.0, temporal="frozen")), 2).squares).all()
    # An observer's own arithmetic: first words less later ones leave no noise at all.
    mask = np.random.default_rng(4).normal(scale=3.0, size=N)
    first, second = model.update(1), model.update(2)
    y1 = first(model.start_state, mask)
    y2 = second(y1, mask)
    heard = y1 / first.gain - (y2 - second.couple(y1)) / second.gain
    expected = float(model.pressure(1)) * (model.network.adjacency @ model.x0) / model.s
    np.testing.assert_allclose(heard, expected, atol=1e-9)


def test_speaking_before_listening_keeps_the_mask() -> None:
    model = random_model(N, noise=pp.Gaussian(3.0, temporal="frozen"))
    quiet = delay_pressure(model, 40)
    assert leaks_at_first_step(model)
    assert not leaks_at_first_step(quiet)
    np.testing.assert_allclose(model_shifts(quiet, 40).squares, 1 / 9)
    assert float(quiet.pressure(40)) == float(model.pressure(39))
    np.testing.assert_allclose(quiet.update(1)(np.full(N, 50.0)), model.x0)


def test_a_mask_that_changes_its_size_gives_itself_away() -> None:
    model = random_model(N, noise=pp.Gaussian(1.0, temporal="frozen", time_scale=pp.Power(0.5)), start=np.zeros(N))
    assert np.isinf(model_shifts(model, 2).squares).all()


def test_no_noise_hides_nothing() -> None:
    std = np.array([0.0, *[1.0] * (N - 1)])
    public = random_model(N, noise=pp.Gaussian(std), start=np.zeros(N))
    assert np.isinf(model_shifts(public, 3).squares).tolist() == [True] + [False] * (N - 1)
    # An agent without noise also tells on those whom it heard.
    heard = np.isinf(model_shifts(replace(public, start="hidden"), 3).squares)
    assert set(np.flatnonzero(heard)) == {0, *public.network.neighbours(0).tolist()}


def test_ar1_noise_that_is_not_normal_is_counted_on_the_safe_side() -> None:
    model = random_model(N, noise=pp.Laplace(1.0, temporal=pp.AR1(0.6)))
    plain, safe = model_shifts(model, T), model_shifts(model, T, first=safe_factor(model.noise))
    assert safe.own[0] == pytest.approx(plain.own[0] / 0.8)
    np.testing.assert_array_equal(safe.own[1:], plain.own[1:])
    gaussian = replace(model, noise=pp.Gaussian(1.0, temporal=pp.AR1(0.6)))
    assert safe_factor(gaussian.noise) == 1


def test_moves_of_an_agent_have_the_same_squares() -> None:
    model = random_model(N, noise=pp.Laplace(0.8, temporal=pp.AR1(0.3)))
    moved = model_shifts(model, T)
    for agent in range(N):
        values, counts = moved.shifts(agent)
        assert counts @ values**2 == pytest.approx(moved.squares[agent])
        assert moved.of(agent).squares[0] == moved.squares[agent]


def test_the_note_says_which_case_it_is() -> None:
    model = random_model(N)
    assert "not observed; an observer of y₀ knows" in start_term(model)
    assert "is observed" in start_term(model, sees_start=True)
    assert "declared to be public" in start_term(replace(model, start=np.zeros(N)))
    assert "no agent responds" in start_term(delay_pressure(model, 5))


def test_an_agent_that_nobody_hears_at_step_one_keeps_its_mask() -> None:
    # The third agent has no neighbour at step 1, so the infinite echo of a mask must not count for it.
    first = pp.Network.from_edges([(0, 1)], n=3)
    network = pp.TemporalNetwork.from_snapshots([first, pp.networks.path(3)])
    model = pp.Model(network, [0.0, 1.0, 2.0], noise=pp.Gaussian(2.0, temporal="frozen"))
    assert model_shifts(model, 2).squares.tolist() == [np.inf, np.inf, 0.25]


def table_of(model: pp.Model, steps: int, idle: list[int]) -> pp.Model:
    """Return the model in which some agents do not update at step 1."""
    table = np.ones((steps, model.n), dtype=bool)
    table[0, idle] = False
    return replace(model, activation=as_activation(table, model.network))


@pytest.mark.parametrize("noise", [NOISES["white"], NOISES["by agent"], NOISES["growing"]])
@pytest.mark.parametrize("idle", [[1, 3], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("steps", [1, T])
def test_who_does_not_update_at_step_1_does_not_respond(noise: pp.noise.Noise, idle: list[int], steps: int) -> None:
    model = table_of(random_model(N, seed=3, noise=noise, pressure=pp.Linear(0.8)), steps, idle)
    expected = outputs_law(model, steps).worst_case()
    assert np.isinf(expected[idle]).all()
    np.testing.assert_allclose(model_shifts(model, steps).squares, expected, rtol=1e-9)


def test_epsilon_counts_the_neighbours_who_respond() -> None:
    model = pp.Model(pp.networks.path(3), [0.0, 0.5, 1.0], noise=pp.Gaussian(1.0), pressure=20.0)
    told = pp.privacy.budget(table_of(model, 3, [1]), 3).table["mu"]
    np.testing.assert_allclose(told[[0, 2]], np.sqrt(3.0))
    # The only neighbour responds at step 1.
    np.testing.assert_allclose(pp.privacy.budget(model, 3).table["mu"][[0, 2]], np.sqrt(403.0))


@pytest.mark.parametrize("law", [pp.Laplace, pp.StudentT, pp.noise.Uniform])
def test_other_laws_count_the_neighbours_who_respond(law: type[pp.noise.Noise]) -> None:
    model = pp.Model(pp.networks.path(3), [0.0, 0.5, 1.0], noise=law(30.0), pressure=20.0)
    told = pp.privacy.budget(table_of(model, 3, [1]), 3, delta=0.2).table
    alone = pp.privacy.budget(replace(model, start=np.zeros(3)), 3, delta=0.2).table
    np.testing.assert_allclose(told["epsilon"][[0, 2]], alone["epsilon"][[0, 2]])
    np.testing.assert_allclose(told["information"][[0, 2]], alone["information"][[0, 2]])


def test_an_account_says_whether_anybody_responds() -> None:
    model = random_model(N, seed=3, noise=pp.Gaussian(0.7))
    assert leaks_at_first_step(table_of(model, T, [0]))
    assert not leaks_at_first_step(table_of(model, T, list(range(N))))
    # Whoever listens to nobody does not respond either.
    zealots = replace(model, stubbornness=np.full(N, np.inf))
    assert not leaks_at_first_step(zealots)
    assert "no agent responds" in start_term(zealots)


def sparse_contacts(seed: int) -> pp.TemporalNetwork:
    """Return contacts at six steps, where agents are often alone, and connected over time."""
    rng = np.random.default_rng(seed)
    snapshots = [np.triu(rng.uniform(size=(5, 5)) < 0.25, 1) for _ in range(5)]
    snapshots.append(np.eye(5, k=1, dtype=bool))
    return pp.TemporalNetwork.from_snapshots([pp.Network((one + one.T).astype(float)) for one in snapshots])


@pytest.mark.parametrize("law", [pp.Gaussian, pp.Laplace, pp.StudentT])
@pytest.mark.parametrize("temporal", ["white", "frozen", pp.AR1(0.6), pp.AR1(-0.4)], ids=str)
@pytest.mark.parametrize("start", ["hidden", np.full(5, 0.5)], ids=["hidden", "public"])
def test_agents_who_keep_their_opinions_are_counted_for_what_they_show(
    law: type[pp.noise.Noise], temporal: pp.noise.Temporal | str, start: Any
) -> None:
    noise = law(np.linspace(0.5, 1.5, 5), temporal=temporal)
    model = pp.Model(
        sparse_contacts(1), np.linspace(0, 1, 5), noise=noise, start=start, isolated="keep", adaptation=0.1
    )
    for steps in (1, 4, 6):
        account = budget(model, steps, public_start=True)
        expected = outputs_law(model, steps).worst_case() * noise.fisher_information()
        np.testing.assert_allclose(account.table["information"], expected, rtol=1e-6, atol=1e-12)
        # Sums of draws are harder to tell apart than draws, so nothing is known from below.
        memory = temporal != "white"
        assert ("epsilon_low" in account.table) == (law is pp.Laplace and not memory)


@pytest.mark.parametrize("look", [{"times": [2, 4]}, {"first_step": 3}, {"times": [9]}, {"first_step": 9}], ids=str)
def test_a_start_that_is_seen_is_counted_besides_other_steps(look: dict[str, Any]) -> None:
    model = random_model(N, noise=pp.Gaussian(0.7))
    account = budget(model, T, observed=Observation(**look), sees_start=True)
    assert np.isinf(account.table["information"]).all()
    assert "y₀ = x₀ is observed" in account.definition.terms["start"]
    assert "of the steps 0 to 5" in account.definition.terms["observer"]
    public = budget(replace(model, start=np.full(N, 0.5)), T, observed=Observation(**look), sees_start=True)
    assert np.isfinite(public.table["information"]).all()
