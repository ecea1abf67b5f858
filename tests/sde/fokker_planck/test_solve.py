"""The grid: mass and sign at every step, the order of its error, steady states, and agreement with the exact law."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import linalg

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.model.step import Array
from peerpressure.sde import SDE, exact_density, fokker_planck, solve_density
from peerpressure.sde.densities import Drift, seen_at
from peerpressure.sde.fokker_planck import Chain, Grid, grid_around
from tests.builders import random_model

PAIR = SDE(pp.Model(pp.networks.k2(), [-1.0, 1.0], [1.0, 2.0], noise=pp.Gaussian([0.8, 1.2])))
TIMES = [0.3, 1.0, 3.0]


def matrix_of(chain: Chain, shape: tuple[int, ...]) -> Array:
    """Return the generator A with every entry written out."""
    size = int(np.prod(shape))
    columns = [(chain.jump(unit.reshape(shape)) - unit.reshape(shape)).ravel() for unit in np.eye(size)]
    return chain.rate * np.stack(columns, axis=1)


def test_a_step_is_the_exponential_of_the_generator() -> None:
    grid = Grid((np.linspace(-2, 2, 9), np.linspace(-1, 3, 8)))
    slope = np.array([[-1.0, 0.5], [0.3, -0.7]])
    chain = Chain(grid, Drift(np.array([0.2, -0.4]), slope, np.zeros(2), np.array([0.3, 0.05])))
    A = matrix_of(chain, grid.shape)
    np.testing.assert_allclose(A.sum(axis=0), 0.0, atol=1e-12)
    assert (A - np.diag(np.diag(A)) >= 0).all()
    density = np.random.default_rng(0).random(grid.shape)
    for tau in (0.01, 3.0):
        expected = (linalg.expm(tau * A) @ density.ravel()).reshape(grid.shape)
        np.testing.assert_allclose(chain.advance(density, tau), expected, rtol=1e-11)


def test_long_steps_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    grid = Grid((np.linspace(-2, 2, 41),))
    chain = Chain(grid, Drift(np.zeros(1), -np.eye(1), np.zeros(1), np.array([0.5])))
    density = np.random.default_rng(0).random(40)
    whole = chain.advance(density, 1.0)
    monkeypatch.setattr(fokker_planck, "MOST_JUMPS", 7.0)
    np.testing.assert_allclose(chain.advance(density, 1.0), whole, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.floats(-50, 50), st.floats(-20, 20), st.floats(0, 10), st.floats(1e-4, 5), st.integers(0, 1000))
def test_every_step_keeps_mass_and_sign(offset: float, slope: float, diffusivity: float, tau: float, seed: int) -> None:
    grid = Grid((np.linspace(-1, 1, 13),))
    drift = Drift(np.array([offset]), np.array([[slope]]), np.zeros(1), np.array([diffusivity]))
    density = np.random.default_rng(seed).random(12) * (np.random.default_rng(seed + 1).random(12) < 0.5)
    density[seed % 12] = 1.0
    after = Chain(grid, drift).advance(density, tau)
    assert (after >= 0).all()
    assert after.sum() == pytest.approx(density.sum(), rel=1e-12)


def test_a_steady_state_of_constant_drift_is_exact() -> None:
    # The fluxes are exact for it: cells hold e^(uz/D) sampled at their centres, whatever their width.
    grid = Grid((np.linspace(0, 1, 9),))
    chain = Chain(grid, Drift(np.array([2.0]), np.zeros((1, 1)), np.zeros(1), np.array([0.5])))
    settled = chain.advance(np.ones(8), 200.0)
    np.testing.assert_allclose(np.diff(np.log(settled)), 2.0 / 0.5 * grid.widths[0], rtol=1e-9)


def test_two_agents_agree_with_the_exact_law_at_second_order() -> None:
    errors = []
    for cells, step in ((64, 0.1), (128, 0.05)):
        path = solve_density(PAIR, TIMES, cells=cells, time_step=step)
        assert path.mass_error < 1e-12
        assert path.lowest >= 0
        errors.append([path.error(1), path.error(2)])
    assert path.density.shape == (3, 128, 128)
    assert path.error(0) < 1e-6
    np.testing.assert_allclose(np.log2(np.array(errors[0]) / np.array(errors[1])), 2.0, atol=0.06)
    assert max(errors[1]) < 0.01


def test_the_error_in_time_is_of_second_order_too() -> None:
    # On one grid, the gap to the limit of short steps is what the steps themselves leave.
    fine = solve_density(PAIR, TIMES, [0], cells=200, time_step=0.0125)
    coarse = [solve_density(PAIR, TIMES, [0], cells=fine.grid, time_step=step) for step in (0.4, 0.2, 0.1)]
    gaps = np.array([np.abs(path.density[-1] - fine.density[-1]).sum() for path in coarse])
    np.testing.assert_allclose(np.log2(gaps[:-1] / gaps[1:]), 2.0, atol=0.15)


@pytest.mark.parametrize("what", [{"agents": [0]}, {"agents": [5]}, {"weights": np.full(9, 1 / 9)}], ids=str)
def test_one_quantity_of_a_network_agrees_at_second_order(what: dict[str, object]) -> None:
    sde = SDE(random_model(9, noise=pp.Gaussian(0.7), start=np.linspace(-1, 1, 9)))
    errors = []
    for cells, step in ((300, 0.05), (600, 0.025)):
        path = solve_density(sde, [0.4, 2.0], cells=cells, time_step=step, **what)  # type: ignore[arg-type]
        assert path.mass_error < 1e-12
        assert path.lowest >= 0
        errors.append(path.error())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_two_agents_of_a_network_agree() -> None:
    sde = SDE(random_model(9, noise=pp.Gaussian(0.7), pressure=1.5))
    path = solve_density(sde, [0.5, 1.5], [2, 7], time_step=0.1)
    assert path.names == (2, 7)
    assert path.error() < 0.01
    assert "DensityPath(2, 7; t = 0.5–1.5" in repr(path)


def test_the_equation_of_a_part_averages_over_the_rest() -> None:
    sde = SDE(random_model(5, noise=pp.Gaussian(np.linspace(0.3, 1, 5))))
    rows = np.eye(5)[[1, 3]]
    (before, seen, after) = seen_at(sde, rows, np.array([0.999, 1.0, 1.001]))
    drift = seen.drift()
    # Mean and covariance of the part alone must move as they do within the whole.
    moved = (after.rows @ after.mean - before.rows @ before.mean) / 0.002
    np.testing.assert_allclose(drift.offset, moved, rtol=1e-5)
    spread = (rows @ after.cross - rows @ before.cross) / 0.002
    covariance = rows @ seen.cross
    expected = drift.slope @ covariance + covariance @ drift.slope.T + 2 * np.diag(drift.diffusivity)
    np.testing.assert_allclose(expected, spread, rtol=1e-4, atol=1e-6)


def test_the_whole_of_two_agents_is_not_averaged_over() -> None:
    (seen,) = seen_at(PAIR, np.eye(2), np.array([0.7]))
    np.testing.assert_allclose(seen.drift().slope, -PAIR.drift(0.7)[0].toarray(), atol=1e-12)


def test_an_agent_without_noise_of_its_own_is_carried_upwind() -> None:
    sde = SDE(pp.Model(pp.networks.k2(), [0.0, 1.0], noise=pp.Gaussian([0.0, 1.0]), pressure=1.0))
    path = solve_density(sde, [1.0, 2.0], [0], cells=400)
    assert path.mass_error < 1e-12
    assert path.lowest >= 0
    assert path.error() < 0.1


@pytest.mark.parametrize(
    ("times", "options", "message"),
    [
        ([0.0, 1.0], {}, "starts after time 0"),
        ([1.0, 2.0], {"agents": [0, 1, 2]}, "one quantity, or two"),
        ([1.0, 2.0], {"weights": [[1, 1, 0, 0], [0, 1, 1, 0]]}, "2 quantities that share an agent"),
        ([1.0, 2.0], {"agents": [0], "time_step": 0.0}, "a time step must be a number above 0"),
        ([1.0, 2.0], {"agents": [0], "time_step": "short"}, "a time step must be"),
        ([1.0, 2.0], {"agents": [0], "cells": 9}, "must span 1.5 cells"),
        ([1.0, 2.0], {"agents": [0, 1], "cells": Grid((np.linspace(-3, 3, 61),))}, "a grid with as many axes"),
    ],
)
def test_bad_requests_are_refused(times: list[float], options: dict[str, object], message: str) -> None:
    sde = SDE(random_model(4, noise=pp.Gaussian(1.0)))
    with pytest.raises(InvalidInputError, match=message):
        solve_density(sde, times, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (
            Grid((np.linspace(5, 9, 401),)),
            r"at most 0\.0001 of it beyond the edges, got 1 beyond 5–9 on the axis of 0 at t",
        ),
        (Grid((np.linspace(-9, 0.2, 401),)), r"got 0\.\d+ beyond -9–0\.2 .*; span -\d.* to \d.*, or leave cells out"),
        (Grid((np.linspace(-900, 900, 401),)), r"must span 1\.5 cells or more, got 0\.\d+; use more cells"),
    ],
    ids=["elsewhere", "cut off", "too coarse"],
)
def test_a_grid_that_misses_the_density_is_refused(grid: Grid, message: str) -> None:
    sde = SDE(random_model(4, noise=pp.Gaussian(1.0)))
    with pytest.raises(InvalidInputError, match=message):
        solve_density(sde, [1.0, 2.0], [0], cells=grid)


def test_a_grid_must_hold_the_density_until_the_end() -> None:
    # From 0 to 4 the mean rises by more than its standard deviations: the grid of the start is left behind.
    sde = SDE(pp.Model(pp.networks.k2(), [10.0, 10.0], start=[0.0, 0.0], pressure=1.0, noise=pp.Gaussian(0.2)))
    begin = grid_around([exact_density(sde, 0.1, [0])], 400)
    assert solve_density(sde, [0.1, 0.101], [0], cells=begin).error() < 0.01
    with pytest.raises(InvalidInputError, match=r"got 1 beyond 0\.3069–0\.6685 .*; span 0\.3069 to 9\.133"):
        solve_density(sde, [0.1, 4.0], [0], cells=begin)


@pytest.mark.parametrize("edges", [[0.0, 1.0, 3.0], [1.0, 0.0], [0.0], [0.0, np.nan]])
def test_cells_have_equal_widths(edges: list[float]) -> None:
    with pytest.raises(InvalidInputError, match="must increase by equal widths"):
        Grid((np.array(edges),))
