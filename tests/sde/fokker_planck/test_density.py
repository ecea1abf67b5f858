"""Exact densities against SciPy's, and grids that hold them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.sde import SDE, GaussianDensity, exact_density, moments_at, moments_of
from peerpressure.sde.fokker_planck import Grid, grid_around
from tests.builders import random_model


@pytest.fixture(scope="module")
def sde() -> SDE:
    return SDE(random_model(6, noise=pp.Gaussian(np.linspace(0.2, 1.2, 6))))


def test_density_of_all_agents(sde: SDE) -> None:
    law, density = moments_at(sde, [2.0]), exact_density(sde, 2.0)
    points = np.random.default_rng(0).normal(size=(4, 5, 6))
    expected = stats.multivariate_normal(law.mean[0], law.covariance)
    np.testing.assert_allclose(density.pdf(points), expected.pdf(points), rtol=1e-8)
    np.testing.assert_allclose(density.logpdf(points[0, 0]), expected.logpdf(points[0, 0]), rtol=1e-10)
    assert density.names == tuple(sde.network.labels)


def test_some_agents_are_the_marginal_of_all(sde: SDE) -> None:
    whole, part = exact_density(sde, 1.5), exact_density(sde, 1.5, [4, 1])
    marginal = whole.marginal([4, 1])
    assert part.names == marginal.names == (4, 1)
    np.testing.assert_allclose(part.mean, marginal.mean, rtol=1e-8)
    np.testing.assert_allclose(part.covariance, marginal.covariance, rtol=1e-7)
    assert repr(part).startswith("GaussianDensity(t = 1.5, 4 ")


def test_density_of_a_weighted_sum(sde: SDE) -> None:
    weights = np.arange(6.0)
    law, density = moments_of(sde, weights, [2.0]), exact_density(sde, 2.0, weights=weights)
    x = np.linspace(-3, 3, 7)
    expected = stats.norm(law.mean[0, 0], np.sqrt(law.variance[0, 0])).pdf(x)
    np.testing.assert_allclose(density.pdf(x), expected, rtol=1e-8)
    np.testing.assert_allclose(density.pdf(x[:, None]), expected, rtol=1e-8)
    assert density.names == ("weighted sum",)
    assert density.pdf(0.3).shape == ()
    assert exact_density(sde, 2.0, weights=np.eye(6)[:2]).names == ("sum 0", "sum 1")


@pytest.mark.parametrize(
    ("t", "options", "message"),
    [
        (0.0, {}, "rank 0 in 6 directions at t = 0; choose a later time"),
        (-1.0, {}, "increasing real numbers"),
        (1.0, {"agents": [0, 0]}, "one or more different agents"),
        (1.0, {"agents": []}, "one or more different agents"),
        (1.0, {"agents": [0], "weights": [1.0] * 6}, "got both"),
        (1.0, {"weights": [1.0]}, "rows of 6 finite numbers"),
        (1.0, {"weights": [[1.0] * 6] * 2}, "rank 1 in 2 directions at t = 1; leave out 1 of the names; sum 0 has"),
    ],
)
def test_bad_requests_are_refused(sde: SDE, t: float, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        exact_density(sde, t, **options)  # type: ignore[arg-type]


def test_a_density_needs_noise_and_points_of_its_size(sde: SDE) -> None:
    with pytest.raises(InvalidInputError, match="a model with noise"):
        exact_density(SDE(random_model(4)), 1.0)
    density = exact_density(sde, 1.0, [0, 1])
    with pytest.raises(InvalidInputError, match="2 numbers each"):
        density.pdf(np.zeros(3))
    with pytest.raises(InvalidInputError, match="names among 0, 1, got \\[5\\]"):
        density.marginal([5])


def test_advice_on_a_degenerate_law_has_a_density() -> None:
    # Only the hub is noisy, so all leaves move alike; at late times agents that agree differ by rounding only.
    leaves = SDE(pp.Model(pp.networks.star(6), np.zeros(6), noise=pp.Gaussian(np.eye(6)[0])))
    advice = r"rank 2 in 6 directions at t = 1; leave out 4 of the names; 0, ([1-5]) have"
    with pytest.raises(InvalidInputError, match=advice) as caught:
        exact_density(leaves, 1.0)
    # Which of the leaves is named depends on rounding.
    named = re.search(advice, str(caught.value))
    assert named is not None
    assert exact_density(leaves, 1.0, [0, int(named[1])]).std.min() > 0
    alone = SDE(pp.Model(pp.networks.path(3), np.zeros(3), pressure=0.0, noise=pp.Gaussian([1.0, 0.0, 0.0])))
    with pytest.raises(InvalidInputError, match=r"rank 0 in 1 directions at t = 1; .*agents that its noise reaches"):
        exact_density(alone, 1.0, [2])
    with pytest.raises(InvalidInputError, match="leave out 2 of the names; 0 has a density"):
        exact_density(alone, 1.0)
    late = SDE(pp.Model(pp.networks.complete(4), np.zeros(4), pressure="10^t", noise=pp.Gaussian(1.0)))
    with pytest.raises(InvalidInputError, match="leave out 3 of the names") as caught:
        exact_density(late, 40.0)
    assert "later" not in str(caught.value)


def law(mean: tuple[float, ...], covariance: list[list[float]]) -> GaussianDensity:
    return GaussianDensity(1.0, tuple(range(len(mean))), np.array(mean), np.array(covariance))


def test_cells_hold_the_average_of_a_density() -> None:
    line = Grid((np.linspace(-3, 5, 41),))
    expected = np.diff(stats.norm(0.5, 1.2).cdf(line.edges[0])) / line.volume
    np.testing.assert_allclose(line.average(law((0.5,), [[1.44]])), expected, atol=1e-9)
    plane = Grid((np.linspace(-3, 3, 31), np.linspace(-4, 5, 46)))
    independent = plane.average(law((0.0, 1.0), [[0.5, 0.0], [0.0, 1.0]]))
    parts = [plane.edges[0], plane.edges[1]]
    masses = np.outer(np.diff(stats.norm(0, 0.5**0.5).cdf(parts[0])), np.diff(stats.norm(1, 1).cdf(parts[1])))
    np.testing.assert_allclose(independent * plane.volume, masses, atol=1e-9)
    assert repr(plane) == "Grid(30 cells over -3–3 × 45 cells over -4–5)"


def test_a_grid_holds_all_densities_and_resolves_the_narrowest() -> None:
    ridge = law((0.0, 3.0), [[1.0, 0.99], [0.99, 1.0]])
    round_one = law((1.0, 0.0), [[0.25, 0.0], [0.0, 0.25]])
    grid = grid_around([ridge, round_one])
    for density in (ridge, round_one):
        for edges, mean, std in zip(grid.edges, density.mean, density.std, strict=True):
            assert edges[0] <= mean - 6 * std
            assert edges[-1] >= mean + 6 * std
    narrow = np.sqrt(1 - 0.99)
    assert narrow / grid.widths.max() > 2.5
    assert narrow / grid.widths.min() < 4
    with pytest.raises(InvalidInputError, match=r"must span 1.5 cells or more.*use 1[0-9]{2} cells"):
        grid_around([ridge, round_one], 60)
    with pytest.raises(InvalidInputError, match="end sooner, or begin later"):
        grid_around([ridge, law((0.0, 0.0), [[1e-6, 0.0], [0.0, 1e-6]])])
    for cells in (7, 801, 20.5, True):
        with pytest.raises(InvalidInputError, match="from 8 to 800"):
            grid_around([ridge], cells)  # type: ignore[arg-type]
