"""Fixed points, contraction and refusals where networks change or hidden opinions adapt."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from peerpressure.errors import InvalidInputError, ModelError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle
from peerpressure.noise import Gaussian
from peerpressure.schedules import Constant, Formula, Linear, Power
from peerpressure.theory import _forgetting, contraction, contraction_product, fixed_point, ideal_deviation
from peerpressure.theory._forgetting import log_contraction

from .changing import CHANGING
from .laws import mean_path

AGENTS = 6
HOLDING = Adaptation(0.3, [1.0, 0.0, 1.0, 0.5, 0.0, 1.0])


def build(network: Network | TemporalNetwork, pressure: object, rate: Adaptation | None = None) -> Model:
    rng = np.random.default_rng(4)
    n = network.n
    return Model(network, rng.normal(size=n), rng.uniform(0.5, 2, n), pressure, adaptation=rate)  # type: ignore[arg-type]


def step(model: Model, t: int, y: Array, x: Array) -> tuple[Array, Array]:
    update = model.update(t)
    shown = update(y, hidden=x)
    return shown, update.adapt(x, shown)


@pytest.mark.parametrize("pressure", [Constant(0.3), Linear(2.0), Constant(1e12), Formula("t^400")], ids=str)
@pytest.mark.parametrize("name", ["isolated", "groups", "star and ring", "ends"])
def test_the_fixed_point_of_a_step_is_that_of_its_network(name: str, pressure: object) -> None:
    model = build(CHANGING[name], pressure)
    for t in (1, 2, 3):
        y = fixed_point(model, t)
        # The defect is measured before it is divided by S + ρD.
        A, rho = model.adjacency_at(t).toarray(), min(float(model.pressure(t)), 1e15)
        defect = model.s * (model.x0 - y) / (1 + rho) - (A.sum(axis=1) * y - A @ y) * rho / (1 + rho)
        np.testing.assert_allclose(defect, 0.0, atol=2e-12)
        alone = A.sum(axis=1) == 0
        np.testing.assert_array_equal(y[alone], model.x0[alone])


def test_groups_of_one_step_settle_on_their_own_values_under_infinite_pressure() -> None:
    model = build(CHANGING["groups"], Formula("t^400"))
    y = fixed_point(model, 9)
    for agents in (slice(0, 3), slice(3, 5)):
        value = model.s[agents] @ model.x0[agents] / model.s[agents].sum()
        np.testing.assert_allclose(y[agents], value, rtol=1e-12)


@pytest.mark.parametrize("pressure", [0.4, 3.0, 50.0])
def test_those_who_give_way_hold_what_they_show_at_a_fixed_point(pressure: float) -> None:
    model = build(barabasi_albert(AGENTS, 2, seed=1), pressure, HOLDING)
    y = fixed_point(model, 1)
    x = np.where(HOLDING.adaptation_weights(AGENTS) > 0, y, model.x0)
    shown, held = step(model, 1, y, x)
    np.testing.assert_allclose(shown, y, atol=1e-12)
    np.testing.assert_allclose(held, x, atol=1e-12)
    np.testing.assert_allclose(mean_path(model, 20_000)[0][-1], y, atol=1e-6)


def test_without_anyone_who_holds_every_agreement_is_a_fixed_point() -> None:
    model = build(barabasi_albert(AGENTS, 2, seed=1), 2.0, Adaptation(0.1))
    with pytest.raises(InvalidInputError, match="see consensus_limit"):
        fixed_point(model, 1)
    agreed = np.full(AGENTS, 0.7)
    shown, held = step(model, 1, agreed, agreed)
    np.testing.assert_allclose([shown, held], 0.7, rtol=1e-14)


def test_contraction_follows_the_network_of_each_step() -> None:
    model = build(CHANGING["isolated"], Linear(2.0))
    for t in (1, 2, 5):
        C = model.update(t).coupling.toarray()
        assert contraction(model, t) == pytest.approx(C.sum(axis=1).max(), rel=1e-12)
        assert contraction(model, t, exact=True) == pytest.approx(np.abs(np.linalg.eigvals(C)).max(), rel=1e-10)
    assert contraction_product(model, 4)[-1] == pytest.approx(np.prod(contraction(model, [1, 2, 3, 4])))
    assert contraction(build(CHANGING["ends"], Linear()), 5, exact=True) == 0.0


@pytest.mark.parametrize("network", [barabasi_albert(AGENTS, 2, seed=1), CHANGING["groups"]], ids=str)
@pytest.mark.parametrize("rate", [Adaptation(0.3), HOLDING, Adaptation(1.0)], ids=str)
def test_disagreement_fades_by_the_exact_factor(network: Network | TemporalNetwork, rate: Adaptation) -> None:
    model = build(network, Constant(2.0), rate)
    factor = float(contraction(model, 7, exact=True))
    assert 0 < factor < 1
    y, x = model.start_state + 0.3, model.x0
    path = [np.concatenate([y, x])]
    for _ in range(400):
        y, x = step(model, 7, y, x)
        path.append(np.concatenate([y, x]))
    moves = [np.linalg.norm(b - a) for a, b in itertools.pairwise(path)]
    # Over a stretch on which rounding has no say, and powers of other eigenvalues little.
    count = int(np.clip(-9.0 / np.log(factor), 20, 300))
    assert (moves[count] / moves[count // 2]) ** (1 / (count - count // 2)) == pytest.approx(factor, rel=0.02)


def test_large_networks_are_left_to_a_few_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(barabasi_albert(40, 2, seed=1), Constant(2.0), Adaptation(0.3))
    dense = contraction(model, 1, exact=True)
    monkeypatch.setattr(_forgetting, "DENSE", 10)
    assert contraction(model, 1, exact=True) == pytest.approx(float(dense), rel=1e-9)


def test_no_rate_contracts_as_the_plain_model() -> None:
    model = build(cycle(5), Linear())
    still = replace(model, adaptation=Adaptation(0.0))
    np.testing.assert_allclose(contraction(still, [1, 4], exact=True), contraction(model, [1, 4], exact=True))
    np.testing.assert_array_equal(contraction(still, [1, 4]), contraction(model, [1, 4]))
    with pytest.raises(InvalidInputError, match="exact=True"):
        log_contraction(build(cycle(5), Linear(), Adaptation(0.1)), 1)


def test_ideal_deviations_are_those_of_the_plain_model() -> None:
    for model in (build(CHANGING["settles"], Power(2)), build(cycle(6), Power(2), Adaptation(0.1))):
        with pytest.raises(ModelError, match="constant network and constant hidden opinions"):
            ideal_deviation(replace(model, noise=Gaussian(1.0)), 10)
