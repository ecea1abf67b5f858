"""The state-space operator against the model's own recursion, and its adjoint against its forward map."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.model.statespace import (
    System,
    Transition,
    initial_state,
    model_transitions,
    retained,
    transition,
    transitions,
)
from peerpressure.model.step import product
from peerpressure.networks import cycle
from peerpressure.sde import SDE
from tests.builders import KINDS, extended_model, random_model, temporal_network

N, STEPS, COLUMNS = 7, 5, 3
NOISES = {
    "white": pp.Gaussian(np.linspace(0.0, 0.9, N), time_scale=pp.Power(-0.5)),
    "ar1": pp.Gaussian(0.7, temporal=pp.AR1(-0.6)),
    "frozen": pp.Laplace(0.7, temporal="frozen"),
}
ADAPTATIONS: dict[str, Any] = {
    "constant": None,
    "adapting": pp.Adaptation("0.9/(1 + t)", adaptation_weight=np.linspace(0.0, 1.0, N)),
}
STARTS: dict[str, Any] = {"hidden start": "hidden", "given start": np.linspace(-1.0, 1.0, N)}
NETWORKS: dict[str, dict[str, Any]] = {"static": {}, "temporal": {"network": temporal_network(n=N, seed=2)}}

CASES = [
    pytest.param(noise, adaptation, start, network, id=f"{noise}-{adaptation}-{start}-{network}")
    for noise in NOISES
    for adaptation in ADAPTATIONS
    for start in STARTS
    for network in NETWORKS
]


def model_with(noise: str, adaptation: str, start: str, network: str) -> pp.Model:
    base = random_model(N, 3)
    parts: dict[str, Any] = {
        "network": base.network,
        "hidden": base.x0,
        "stubbornness": base.s,
        "noise": NOISES[noise],
        "adaptation": ADAPTATIONS[adaptation],
        "start": STARTS[start],
    }
    return pp.Model(**(parts | NETWORKS[network]))


def systems() -> dict[str, System]:
    found: dict[str, System] = {str(case.id): model_with(*case.values) for case in CASES}  # type: ignore[arg-type]
    base = random_model(N, 3, noise=pp.Gaussian(0.5), pressure=1.5)
    return found | {"exact sde": SDE(base, step=0.4), "euler sde": SDE(base, step=0.4, method="euler")}


SYSTEMS = systems()


def naive(model: pp.Model, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return y_T and x_{T+1} by the definitions, from the draws w_0 (one row, if any) and w_1, …, w_T."""
    phi, rows = model.noise.autocorrelation, iter(draws)
    memory = next(rows) if phi else np.zeros(N)
    public, hidden = model.start_state, model.x0
    for t in range(1, STEPS + 1):
        fresh = np.zeros(N) if phi == 1 else next(rows)
        memory = phi * memory + np.sqrt(1 - phi**2) * fresh
        update = model.update(t)
        noise = model.noise.deviations(N) * model.noise.scale(t) * memory
        public = update(public, noise=noise, hidden=hidden)
        hidden = update.adapt(hidden, public)
    return public, hidden


@pytest.mark.parametrize("with_hidden", [False, True])
@pytest.mark.parametrize(("noise", "adaptation", "start", "network"), CASES)
def test_forward_is_the_models_own_recursion(
    noise: str, adaptation: str, start: str, network: str, with_hidden: bool
) -> None:
    model = model_with(noise, adaptation, start, network)
    begin = initial_state(model, hidden=with_hidden)
    steps = list(transitions(model, STEPS, hidden=with_hidden))
    sizes = [size for size in (begin.draws, *(step.draws for step in steps)) if size]
    draws = np.random.default_rng(0).normal(size=(len(sizes), N))
    rows = iter(draws)
    state = begin.offset + begin.forward(model.x0, next(rows) if begin.draws else None)
    for step in steps:
        state = step.forward(state, model.x0, next(rows) if step.draws else None)
    public, hidden = naive(model, draws)
    np.testing.assert_allclose(state[begin.layout.public], public, rtol=1e-12, atol=1e-14)
    if begin.layout.has_hidden:
        np.testing.assert_allclose(state[begin.layout.hidden], hidden, rtol=1e-12, atol=1e-14)
    assert begin.layout.has_hidden == (with_hidden or adaptation == "adapting")
    assert state.size == begin.layout.states


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_adjoint_is_the_transpose_of_the_forward_map(name: str) -> None:
    system, rng = SYSTEMS[name], np.random.default_rng(1)
    begin = initial_state(system)
    z, v = rng.normal(size=(2, begin.layout.states, COLUMNS))
    x, w = rng.normal(size=(2, N, COLUMNS))
    for step in transitions(system, STEPS):
        noise = w[: step.draws]
        forward = np.sum(v * step.forward(z, x, noise))
        adjoint = np.sum(z * step.adjoint(v)) + np.sum(x * step.hidden_adjoint(v))
        assert forward == pytest.approx(adjoint + np.sum(noise * step.noise_adjoint(v)), rel=1e-12)
    noise = w[: begin.draws]
    forward = np.sum(v * begin.forward(x, noise))
    assert forward == pytest.approx(np.sum(x * begin.hidden_adjoint(v)) + np.sum(noise * begin.noise_adjoint(v)))


@pytest.mark.parametrize("name", SYSTEMS)
def test_dense_inputs_and_memory_orders_agree_with_the_operator(name: str) -> None:
    system, rng = SYSTEMS[name], np.random.default_rng(2)
    z = rng.normal(size=(system.layout.states, COLUMNS))
    for step in transitions(system, 2):
        _check_dense(step, z)
        np.testing.assert_allclose(step.forward(np.asfortranarray(z)), step.forward(z), rtol=1e-14)
        np.testing.assert_allclose(step.adjoint(np.asfortranarray(z)), step.adjoint(z), rtol=1e-14)
        np.testing.assert_allclose(step.forward(z[:, 0]), step.forward(z)[:, 0], rtol=1e-14)
        np.testing.assert_allclose(step.adjoint(z[:, 0]), step.adjoint(z)[:, 0], rtol=1e-14)


def _check_dense(step: Transition, z: np.ndarray) -> None:
    nothing = np.zeros((step.layout.states, N))
    np.testing.assert_allclose(step.hidden_input(), step.forward(nothing, np.eye(N)), atol=1e-15)
    np.testing.assert_allclose(step.hidden_input().T @ z, step.hidden_adjoint(z), atol=1e-13)
    assert step.noise_input().shape == (step.layout.states, step.draws)
    np.testing.assert_allclose(step.noise_input().T @ z, step.noise_adjoint(z), atol=1e-13)


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_bound_on_the_standard_deviation_holds(name: str) -> None:
    system = SYSTEMS[name]
    begin = initial_state(system)
    watched = begin.layout.memory.start
    bound, root = np.zeros(watched), begin.forward(noise=np.eye(begin.draws))
    for step in transitions(system, STEPS):
        bound = step.spread_bound(bound)
        root = np.concatenate([step.forward(root), step.noise_input()], axis=1)
        assert (np.linalg.norm(root[:watched], axis=1) <= bound * (1 + 1e-12)).all()


def test_steps_may_begin_anywhere() -> None:
    model = model_with("ar1", "adapting", "hidden start", "temporal")
    z = np.random.default_rng(3).normal(size=model.layout.states)
    late = next(transitions(model, 4, first=4))
    np.testing.assert_array_equal(late.forward(z), transition(model, 4).forward(z))
    sde = SYSTEMS["exact sde"]
    assert len(list(transitions(sde, 4, first=3))) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_steps_backwards_are_the_single_steps(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peerpressure.model.statespace.systems.STEPS_TOGETHER", 4)
    model = extended_model(kind, noise=pp.Gaussian(0.7, time_scale=pp.Power(0.4)), pressure="0.3*t^0.7")
    found = list(model_transitions(model, range(10, 0, -1)))
    assert len(found) == 10
    state = np.random.default_rng(1).normal(size=found[0].layout.states)
    for t, step in zip(range(10, 0, -1), found, strict=True):
        alone = transition(model, t)
        np.testing.assert_allclose(step.forward(state), alone.forward(state), rtol=1e-13)
        np.testing.assert_allclose(step.noise_weights, alone.noise_weights, rtol=1e-13)


def test_the_retained_weight_is_that_of_an_agents_own_hidden_opinion() -> None:
    model = model_with("white", "adapting", "given start", "static")
    public, own = np.zeros(N), np.ones(N)
    for t in range(1, STEPS + 1):
        own = model.update(t).adapt(own, public)
    np.testing.assert_allclose(retained(model, STEPS)[-1], own, rtol=1e-14)
    assert retained(model_with("white", "constant", "given start", "static"), 2).shape == (3, 1)


def test_a_large_sde_is_refused_before_its_matrices_are_made() -> None:
    large = SDE(pp.Model(cycle(1_001), np.zeros(1_001)), method="euler")
    with pytest.raises(pp.errors.TooLargeError, match="1,000 agents"):
        next(transitions(large, 1))


def test_kept_steps_are_those_of_the_same_equation_and_number() -> None:
    network = cycle(5)

    def made(spacing: float, first: int, last: int, on: pp.Network = network) -> list[np.ndarray]:
        sde = SDE(pp.Model(on, hidden=np.arange(5.0), noise=pp.Gaussian(0.5), pressure="1 + t"), step=spacing)
        return [step.forward(np.eye(5)) for step in transitions(sde, last, first)]

    # In an order that keeps steps in the middle first, and with another equation in between.
    for spacing, first, last in ((0.1, 4, 6), (0.1, 1, 9), (0.2, 2, 3), (0.1, 5, 8)):
        fresh = made(spacing, 1, last, cycle(5))[first - 1 :]
        np.testing.assert_array_equal(made(spacing, first, last), fresh)


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_system_of_another_model_keeps_its_kind_of_time(name: str) -> None:
    system = SYSTEMS[name]
    assert (system.model is system) != system.is_continuous
    other = dataclasses.replace(system.model, hidden=np.zeros(N))
    moved = system.with_model(other)
    assert moved.model is other
    assert (moved.is_continuous, moved.step, moved.layout) == (system.is_continuous, system.step, system.layout)
    np.testing.assert_array_equal(moved.deviations, system.deviations)


@pytest.mark.parametrize("columns", [(), (1,), (3,)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_a_network_are_those_of_scipy_to_the_last_bit(columns: tuple[int, ...], order: Any) -> None:
    matrix = pp.networks.followers(30, 3, seed=1).transposed
    values = np.asarray(np.random.default_rng(1).normal(size=(30, *columns)), order=order)
    forms: list[Any] = [values, values[::-1], values + 1j, np.ones((30, *columns), dtype=np.int64)]
    for given in forms:
        found = product(matrix, given)
        np.testing.assert_array_equal(found, matrix @ given)
        assert found.dtype == (matrix @ given).dtype
    with pytest.raises(ValueError, match="29 rows do not fit a matrix of 30 columns"):
        product(matrix, values[1:])
