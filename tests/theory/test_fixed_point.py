"""The fixed point against exact rational arithmetic, and at every size and pressure."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network, barabasi_albert, complete, cycle, grid, k2, path, star
from peerpressure.schedules import Constant, Formula, Linear
from peerpressure.theory import _stationary
from peerpressure.theory._stationary import fixed_point

PRESSURES = [1e-300, 1e-8, 0.3, 1.0, 7.0, 1e8, 1e16, 1e80, 1e300]


def build(network: Network, seed: int = 1) -> Model:
    rng = np.random.default_rng(seed)
    return Model(network, rng.normal(size=network.n), rng.uniform(0.5, 1, network.n))


def solve_exactly(matrix: list[list[Fraction]], b: list[Fraction]) -> list[Fraction]:
    """Return the solution by Gauss–Jordan elimination without rounding."""
    n = len(b)
    rows = [[*row, b[i]] for i, row in enumerate(matrix)]
    for i in range(n):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [p - rows[j][i] * q for p, q in zip(rows[j], rows[i], strict=True)]
    return [row[-1] for row in rows]


def exact(model: Model) -> Array:
    """Return (S + ρL)⁻¹ S x₀ in fractions."""
    rho = Fraction(float(model.pressure(1)))
    A = [[Fraction(value) for value in row] for row in model.network.adjacency.toarray()]
    s = [Fraction(value) for value in model.s]
    matrix = [[-rho * value for value in row] for row in A]
    for i, row in enumerate(A):
        matrix[i][i] += s[i] + rho * sum(row)
    y = solve_exactly(matrix, [a * Fraction(b) for a, b in zip(s, model.x0, strict=True)])
    return np.array([float(value) for value in y])


@pytest.mark.parametrize("rho", PRESSURES)
@pytest.mark.parametrize("network", [k2(), path(6), star(7), complete(5), cycle(8)], ids=repr)
def test_it_is_the_exact_solution(network: Network, rho: float) -> None:
    model = replace(build(network), pressure=Constant(rho))
    np.testing.assert_allclose(fixed_point(model, 1), exact(model), rtol=1e-13, atol=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.floats(-12, 12), st.floats(-6, 6))
def test_it_is_exact_on_uneven_networks(seed: int, log_rho: float, log_weight: float) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(10 ** (log_weight * rng.random((5, 5))), 1)
    model = Model(Network(A + A.T), rng.normal(size=5), 10 ** rng.uniform(-3, 3, 5), Constant(10**log_rho))
    np.testing.assert_allclose(fixed_point(model, 1), exact(model), rtol=1e-11, atol=1e-12)


def relative_residual(model: Model, t: int, y: Array) -> float:
    """Return max |own_weight·S(y − x₀) + weight·L y| over the largest of its terms."""
    own_weight, weight = model.pressure.homogeneous(t)
    own, social = own_weight * model.s * (y - model.x0), weight * (model.network.laplacian @ y)
    terms = own_weight * model.s * np.abs(model.x0) + weight * model.network.degrees * np.abs(y)
    return float(np.abs(own + social).max() / terms.max())


@pytest.mark.parametrize(
    "network",
    [barabasi_albert(4000, 2, seed=1), barabasi_albert(20_000, 2, seed=1), barabasi_albert(50_000, 1, seed=1)],
    ids=["factorised", "iterated", "tree"],
)
@pytest.mark.parametrize("t", [1, 1000, 10**12])
def test_it_is_fixed_on_large_networks(network: Network, t: int) -> None:
    model = build(network)
    y = fixed_point(model, t)
    assert relative_residual(model, t, y) <= 1e-12
    np.testing.assert_allclose(model.update(t)(y), y, atol=1e-13)
    # The weighted mean of the fixed point is the consensus value at every pressure.
    assert model.s @ y / model.s.sum() == pytest.approx(model.consensus_value, abs=1e-13)


def test_factorising_and_iterating_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model = build(grid(60, 60))
    factorised = fixed_point(model, [1, 10**6])
    monkeypatch.setattr(_stationary, "FACTORISATION_LIMIT", 10)
    iterated = fixed_point(model, [1, 10**6])
    monkeypatch.setattr(_stationary, "ITERATIONS", 3)
    stalled = fixed_point(model, [1, 10**6])
    np.testing.assert_allclose(iterated, factorised, rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(stalled, factorised)


def test_infinite_pressure_gives_the_consensus_value() -> None:
    model = replace(build(cycle(9)), pressure=Formula("t^400"))
    np.testing.assert_allclose(fixed_point(model, 10), model.consensus_value, rtol=1e-15)


def test_no_pressure_gives_the_hidden_opinions() -> None:
    model = replace(build(cycle(9)), pressure=Constant(0.0))
    np.testing.assert_array_equal(fixed_point(model, 1), model.x0)


def test_it_draws_together_as_pressure_grows() -> None:
    spreads = np.ptp(fixed_point(build(barabasi_albert(50, 2, seed=1)), np.arange(1, 60)), axis=1)
    assert np.all(np.diff(spreads) < 0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.floats(-10, 10), st.floats(-10, 10), st.floats(0.01, 100))
def test_scaling_laws(seed: int, a: float, b: float, c: float) -> None:
    model = build(barabasi_albert(12, 2, seed=seed), seed)
    y = fixed_point(model, 3)
    np.testing.assert_allclose(fixed_point(replace(model, hidden=a * model.x0 + b), 3), a * y + b, atol=1e-12)
    scaled = replace(model, stubbornness=c * model.s, pressure=Linear(c))
    np.testing.assert_allclose(fixed_point(scaled, 3), y, rtol=1e-12, atol=1e-13)


def test_shapes_follow_the_times() -> None:
    model = build(k2())
    assert fixed_point(model, 1).shape == (2,)
    assert fixed_point(model, [1]).shape == (1, 2)
    assert fixed_point(model, []).shape == (0, 2)
    np.testing.assert_array_equal(fixed_point(model, [4, 2])[1], fixed_point(model, 2))


@pytest.mark.parametrize("t", [0, -1, 1.5, np.inf, "now", [[1, 2]], [1, [2]], None])
def test_bad_times_are_refused(t: object) -> None:
    with pytest.raises(InvalidInputError, match="whole number from 1 on"):
        fixed_point(build(k2()), t)  # type: ignore[arg-type]
