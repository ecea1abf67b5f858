"""Consensus limits lie within the error that they state, against long runs of the plain recursion."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, cycle, k2, path
from peerpressure.noise import Frozen, Gaussian, Noise, NoNoise
from peerpressure.schedules import Linear, Power, Schedule
from peerpressure.simulation import simulate
from peerpressure.step import Array
from peerpressure.theory import ConsensusLimit, _conserved, consensus_limit

ROUNDING = 1e-10


def recursion(model: Model, steps: int) -> Array:
    """Return the mean public opinions after some steps, with dense matrices."""
    A, s, y = model.network.adjacency.toarray(), model.s, model.start_state
    d = A.sum(axis=1)
    for rho in model.pressure(np.arange(1, steps + 1)):
        y = (s * model.x0 + rho * (A @ y)) / (s + rho * d)
    return np.asarray(y)


def ring_of_thirty() -> Network:
    graph = nx.path_graph(30)
    graph.add_edge(0, 2)
    return Network.from_networkx(graph)


def test_pressure_that_grows_late_is_followed_until_it_is_high() -> None:
    model = Model(ring_of_thirty(), np.linspace(0, 1, 30), np.linspace(0.2, 2, 30), "0.01*1.02^t")
    y = recursion(model, 4500)
    assert np.ptp(y) < 1e-8
    assert y[0] == pytest.approx(0.52744, abs=1e-5)
    limit = consensus_limit(model)
    assert abs(limit.mean - y[0]) <= limit.residual + 1e-8 < 1e-6
    # Pressure is far below κ at the first horizons.
    assert float(model.pressure(limit.horizon)) > 100 * model.kappa


@pytest.mark.parametrize("formula", ["1e-4*t^2", "0.001*1.01^t", "0.01*2^sqrt(t)", "t^3/(1e6+t)"])
@pytest.mark.parametrize("network", [cycle(7), barabasi_albert(12, 1, seed=2), path(9)], ids=["odd", "tree", "path"])
def test_limits_lie_within_their_error(network: Network, formula: str) -> None:
    n = network.n
    rng = np.random.default_rng(1)
    model = Model(network, rng.uniform(size=n), rng.uniform(0.2, 3, n), formula, start=rng.uniform(size=n))
    steps = 200_000
    y = simulate(model, steps, record="final").final.public[0]
    limit = consensus_limit(model, tolerance=1e-5)
    # What is still ahead of the run itself: Σ κ/ρ over all later steps.
    later = float(
        model.kappa
        * np.sum(model.pressure.reciprocal(steps * 1.1 ** np.arange(200)) * 0.1 * steps * 1.1 ** np.arange(200))
    )
    expected = np.full(n, limit.mean) if limit.phases is None else limit.phases.at(steps)[0]
    assert np.abs(y - expected).max() <= limit.residual + 2 * later + ROUNDING
    assert limit.residual <= 1e-5 * (np.ptp(np.concatenate([model.x0, model.start_state])))


@pytest.mark.parametrize(("tolerance", "most"), [(1e-6, 1024), (1e-12, 65_536)])
def test_two_agents_take_little_work(tolerance: float, most: int) -> None:
    model = Model(k2(), [0.0, 1.0], [1.0, 3.0], Power(1.5))
    found, precise = consensus_limit(model, tolerance=tolerance), consensus_limit(model, tolerance=1e-13)
    assert found.horizon <= most
    assert found.residual <= tolerance
    assert abs(found.mean - precise.mean) <= found.residual + precise.residual


def test_no_residual_is_smaller_than_what_is_left() -> None:
    # 2·10⁶ steps pass before pressure reaches κ, more than any search affords.
    model = Model(cycle(5), np.arange(5.0), [1, 2, 1, 3, 1], Power(2, 1e-13), start=[9.0, 1, 2, 3, 4])
    limit = consensus_limit(model)
    assert limit.residual > 0.1


@pytest.mark.parametrize(
    ("pressure", "rate"),
    [
        (Linear(), 1e-4),
        (Linear(20.0), 1e-4),
        (Power(0.5), 1e-4),
        (Power(1.5), 1e-4),
        (Linear(3.0), Adaptation(3e-4, [1, 0.5, 0.2, 1, 0.1])),
        (Linear(3.0), Adaptation("0.5/t^1.5", [1, 0.5, 0.2, 1, 0.1])),
        (Power(2.0), Adaptation(1e-3, [1, 0.5, 0, 1, 0.1])),
    ],
    ids=str,
)
def test_small_rates_are_followed_to_the_end(pressure: Schedule, rate: float | Adaptation) -> None:
    start, s = [0.9, 0.1, 0.2, 0.3, 0.4], [1, 2, 1, 3, 1]
    model = Model(cycle(5), np.arange(5.0) / 10, s, pressure, start=start, adaptation=rate)
    final = simulate(model, 300_000, record="final").final
    limit = consensus_limit(model, tolerance=1e-5)
    assert final.hidden is not None
    # Where Σ 1/ρ converges, public opinions agree by then. Elsewhere hidden ones agree or are at rest, and public ones
    # may still be on the way to their mean.
    fast = pressure.growth.reciprocal_sum_diverges is False
    reached = float(final.public.mean() if fast else model.s @ final.hidden[0] / model.s.sum())
    assert abs(reached - limit.mean) <= limit.residual + 5e-6
    assert limit.residual <= 1e-5


@pytest.mark.parametrize("noise", [Gaussian(0.5), Gaussian(0.5, temporal=Frozen())], ids=str)
@pytest.mark.parametrize("network", [cycle(5), path(5)], ids=["odd", "tree"])
def test_deviations_lie_within_their_error(network: Network, noise: Noise) -> None:
    model = Model(network, np.arange(5.0), [1, 2, 1, 3, 1], "0.001*1.05^t", noise)
    A, s, d = network.adjacency.toarray(), model.s, network.degrees
    P, shared = np.zeros((5, 5)), np.zeros((5, 5))
    frozen = noise.autocorrelation == 1
    for rho in model.pressure(np.arange(1, 1001)):
        C, N = rho * A / (s + rho * d)[:, None], np.diag(0.5 * s / (s + rho * d))
        shared = C @ shared + N
        P = shared @ shared.T if frozen else C @ P @ C.T + N @ N
    limit = consensus_limit(model)
    deviations = np.full(5, limit.std) if limit.phases is None else limit.phases.at(1000)[1]
    assert np.abs(np.sqrt(np.diag(P)) - deviations).max() <= 2 * limit.residual + ROUNDING
    assert limit.residual <= 1e-5


@pytest.mark.parametrize("tolerance", [0.0, 1.0, -1e-3, math.nan, math.inf, 2.0])
def test_a_tolerance_lies_between_0_and_1(tolerance: float) -> None:
    with pytest.raises(InvalidInputError, match="above 0 and below 1"):
        consensus_limit(Model(k2(), [0.0, 1.0], pressure=Power(1.5), noise=NoNoise()), tolerance=tolerance)


def test_matrices_of_few_groups_give_what_many_groups_are_followed_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def limit(rate: str, pressure: Schedule) -> ConsensusLimit:
        adaptation = Adaptation(rate, [0.0, 0.2, 0.5, 1.0, 0.5])
        model = Model(cycle(5), [0, 1, 2, 3, 9], pressure=pressure, adaptation=adaptation, noise=Gaussian(0.3))
        return consensus_limit(model)

    for rate, pressure in (("1/(1+t)", Linear(0.2)), ("0.5", Power(1.2)), ("1/(2*t^2)", Power(2))):
        monkeypatch.setattr(_conserved, "FEW_GROUPS", 8)
        few = limit(rate, pressure)
        monkeypatch.setattr(_conserved, "FEW_GROUPS", 0)
        many = limit(rate, pressure)
        np.testing.assert_allclose([few.mean, few.std], [many.mean, many.std], rtol=1e-9)
