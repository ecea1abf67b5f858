"""The exact law of a step: closed forms, composition, its root; and paths drawn from it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import integrate, linalg, special

import peerpressure as pp
from peerpressure.errors import InvalidInputError, TooLargeError
from peerpressure.model.statespace import transitions
from peerpressure.sde import SDE, exact_paths, exact_transitions, moments_at, transition, transitions as laws
from peerpressure.sde.moments import smooth_pieces
from tests.builders import SCHEDULES, random_model


def noisy(n: int = 7, **parts: Any) -> SDE:
    noise = pp.Gaussian(np.linspace(0.1, 1.0, n))
    values: dict[str, Any] = {"noise": noise, "start": np.linspace(-2, 2, n)}
    return SDE(random_model(n, **(values | parts)), step=0.4)


def test_constant_pressure_has_a_closed_form() -> None:
    sde = noisy(pressure=0.8)
    B, b = sde.drift(1.0)
    step = transition(sde, 2.0, 3.3)
    F = linalg.expm(-1.3 * B.toarray())
    settled = linalg.solve_continuous_lyapunov(B.toarray(), np.diag(sde.noise_size(1.0) ** 2))
    np.testing.assert_allclose(step.matrix, F, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(step.shift, (np.eye(7) - F) @ np.linalg.solve(B.toarray(), b), rtol=1e-9)
    np.testing.assert_allclose(step.covariance, settled - F @ settled @ F.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SCHEDULES)
def test_two_steps_are_one(name: str) -> None:
    sde = noisy(pressure=SCHEDULES[name])
    whole = transition(sde, 0.2, 2.9)
    halves = transition(sde, 0.2, 1.3).then(transition(sde, 1.3, 2.9))
    assert (halves.begin, halves.end) == (0.2, 2.9)
    np.testing.assert_allclose(halves.matrix, whole.matrix, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(halves.shift, whole.shift, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(halves.covariance, whole.covariance, rtol=1e-7, atol=1e-11)


def naive_law(sde: SDE, begin: float, end: float) -> tuple[Any, Any, Any]:
    """Return F, M and Q as solutions of their differential equations, from the definition of the model."""
    n, s, d, A = sde.n, sde.s, sde.network.degrees, sde.network.adjacency.toarray()

    def rate(t: float, flat: Any) -> Any:
        F, M, Q = flat.reshape(3, n, n)
        total = s + float(sde.pressure(t)) * d
        B = np.eye(n) - float(sde.pressure(t)) * A / total[:, None]
        noise = np.diag((sde.noise.deviations(n) * float(sde.noise.scale(t)) / total) ** 2)
        return np.stack([-B @ F, np.diag(s / total) - B @ M, noise - B @ Q - Q @ B.T]).ravel()

    first = np.stack([np.eye(n), np.zeros((n, n)), np.zeros((n, n))]).ravel()
    solved = integrate.solve_ivp(rate, (begin, end), first, method="DOP853", rtol=1e-13, atol=1e-16)
    F, M, Q = solved.y[:, -1].reshape(3, n, n)
    return F, M, Q


@pytest.mark.parametrize(("begin", "end"), [(1e-9, 0.4), (0.8, 1.2), (3.0, 6.5), (1e3, 1e3 + 0.1)])
@pytest.mark.parametrize("name", ["linear", "power", "logarithmic", "stretched", "formula"])
def test_a_step_solves_its_differential_equations(name: str, begin: float, end: float) -> None:
    noise = pp.Gaussian(np.linspace(0.01, 1.0, 7), time_scale=pp.Power(0.3))
    sde = noisy(pressure=SCHEDULES[name], noise=noise)
    F, M, Q = naive_law(sde, begin, end)
    step = transition(sde, begin, end)
    size = np.sqrt(Q.diagonal())
    np.testing.assert_allclose(step.matrix, F, rtol=0, atol=1e-11)
    # Of x₀ and of the noise every digit counts, for their ratio decides what is known.
    np.testing.assert_allclose(step.hidden, M, rtol=1e-10)
    np.testing.assert_allclose(step.covariance / np.outer(size, size), Q / np.outer(size, size), rtol=0, atol=1e-10)


@pytest.mark.parametrize("gamma", [0.1, 0.4, 0.45])
def test_noise_that_is_infinite_at_first_is_integrated_in_full(gamma: float) -> None:
    sde = noisy(pressure=1e-14, noise=pp.Gaussian(1.0, time_scale=pp.Power(-gamma)), stubbornness=1.0)
    expected = (
        np.exp(-0.8) * 0.4 ** (1 - 2 * gamma) / (1 - 2 * gamma) * special.hyp1f1(1 - 2 * gamma, 2 - 2 * gamma, 0.8)
    )
    np.testing.assert_allclose(transition(sde, 0.0, 0.4).covariance.diagonal(), expected, rtol=1e-10)


def test_smooth_steps_take_one_piece_each_and_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = list[float]()

    def counted(sde: SDE, piece: Any) -> Any:
        pieces.append(piece.length)
        return law(sde, piece)

    law = laws._law
    monkeypatch.setattr(laws, "_law", counted)
    sde = noisy()
    one = list(transitions(sde, 30, 20))
    assert len(pieces) == 11
    first = list(transitions(sde, 12))
    again = list(transitions(sde, 12))
    assert all(a is b for a, b in zip(first, again, strict=True))
    np.testing.assert_array_equal(one[0].noise_input(), next(transitions(sde, 20, 20)).noise_input())


def test_a_step_from_the_start_has_the_moments_of_the_process() -> None:
    sde = noisy()
    step, law = transition(sde, 0.0, 1.7), moments_at(sde, [1.7])
    np.testing.assert_allclose(step.matrix @ sde.start_state + step.shift, law.mean[0], rtol=1e-9)
    np.testing.assert_allclose(step.covariance, law.covariance, rtol=1e-8)


def test_rows_of_a_step_are_weights_of_opinions() -> None:
    sde = noisy()
    step = transition(sde, 0.0, 0.7)
    assert (step.matrix > -1e-14).all()
    assert (step.matrix.sum(axis=1) < 1).all()
    agreed = replace(sde, model=replace(sde.model, hidden=np.full(7, 3.0)))
    moved = transition(agreed, 0.0, 0.7)
    np.testing.assert_allclose(moved.matrix @ np.full(7, 3.0) + moved.shift, 3.0, rtol=1e-12)


def test_steps_of_a_constant_equation_are_all_the_same() -> None:
    one, *others = exact_transitions(noisy(pressure=2.0), 1, 3)
    assert all(other is one for other in others)
    changing = list(exact_transitions(noisy(), 3, 4))
    assert [(law.begin, law.end) for law in changing] == [(0.8, pytest.approx(1.2)), (pytest.approx(1.2), 1.6)]
    assert repr(changing[1]) == "GaussianTransition(t = 1.2 to 1.6, 7 agents)"


def test_pieces_meet_where_a_table_jumps() -> None:
    sde = noisy(pressure=[1.0, 2.0, 3.0])
    cuts = [(a, b, float(piece.pressure(1))) for a, b, piece in smooth_pieces(sde, 0.4, 2.0 + 1e-12)]
    assert cuts == [(0.4, 1.0, 1.0), (1.0, 2.0, 2.0)]


@pytest.mark.parametrize("std", [np.linspace(1e-6, 10, 7), np.eye(7)[2], np.zeros(7)], ids=["wide", "one", "none"])
def test_the_root_gives_the_covariance_back(std: np.ndarray) -> None:
    step = transition(noisy(noise=pp.Gaussian(std)), 0.5, 1.5)
    scale = np.sqrt(np.outer(np.diag(step.covariance), np.diag(step.covariance))).max() or 1.0
    np.testing.assert_allclose(step.root @ step.root.T, step.covariance, atol=1e-9 * scale)


def test_steps_out_of_order_are_refused() -> None:
    sde = noisy()
    with pytest.raises(InvalidInputError, match="must begin there"):
        transition(sde, 0.0, 1.0).then(transition(sde, 1.5, 2.0))
    with pytest.raises(InvalidInputError, match="increasing"):
        transition(sde, 2.0, 1.0)


def test_steps_that_do_not_fit_in_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=10**6))
    for call in (lambda: transition(noisy(70), 0.0, 1.0), lambda: pp.simulate(replace(noisy(70), method="exact"), 1)):
        with pytest.raises(
            TooLargeError, match=r"for 70 agents must fit .* of which 1 MB is free, got 1\.59 MB; use the method taylor"
        ):
            call()


def test_paths_of_different_times_have_the_exact_covariance() -> None:
    sde, count = noisy(3), 4_000
    run = exact_paths(sde, 5, replicates=np.arange(count), seed=12)
    assert run.states is not None
    early, late = run.states[:, 2], run.states[:, 5]
    F = transition(sde, sde.time(2), sde.time(5)).matrix
    expected = moments_at(sde, [sde.time(2)]).covariance @ F.T
    sampled = (early - early.mean(axis=0)).T @ (late - late.mean(axis=0)) / count
    error = np.sqrt(np.outer(early.var(axis=0), late.var(axis=0)) / count)
    assert (np.abs(sampled - expected) < 5 * error).all()


def test_a_path_does_not_depend_on_the_others() -> None:
    sde = noisy(6)
    whole = exact_paths(sde, 4, replicates=np.arange(40), seed=5)
    chosen = np.array([33, 2, 17])
    part = exact_paths(sde, 4, replicates=chosen, seed=5)
    assert whole.states is not None
    assert part.states is not None
    np.testing.assert_array_equal(part.states, whole.states[chosen])
    assert whole.summaries is not None
    assert part.summaries is not None
    np.testing.assert_array_equal(part.summaries, whole.summaries[chosen])
    other = exact_paths(sde, 4, replicates=chosen, seed=6)
    assert not np.array_equal(other.final, part.final)


def test_what_is_asked_for_is_kept() -> None:
    sde, seen = noisy(6), list[int]()
    times, agents = np.array([0, 2, 3]), np.array([4, 1])
    part = exact_paths(sde, 3, replicates=np.arange(3), seed=5, times=times, agents=agents, report=seen.append)
    whole = exact_paths(sde, 3, replicates=np.arange(3), seed=5)
    assert part.states is not None
    assert whole.states is not None
    assert part.summaries is not None
    np.testing.assert_array_equal(part.states, whole.states[:, times][:, :, agents])
    np.testing.assert_array_equal(part.states[:, 0], np.tile(sde.start_state[agents], (3, 1)))
    low, high, mean = np.moveaxis(part.summaries, 2, 0)
    np.testing.assert_array_equal(low, whole.states[:, times].min(axis=2))
    np.testing.assert_array_equal(high, whole.states[:, times].max(axis=2))
    np.testing.assert_allclose(mean, whole.states[:, times].mean(axis=2))
    assert seen == [1, 2, 3]
    assert part.memory is None


def test_without_noise_a_path_is_the_mean() -> None:
    sde = SDE(random_model(5), step=0.5)
    run = exact_paths(sde, 4, replicates=np.arange(2), seed=0)
    np.testing.assert_allclose(run.final, np.tile(moments_at(sde, [2.0]).mean[0], (2, 1)), rtol=1e-8)
