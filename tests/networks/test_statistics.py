"""Random graphs against their distributions: fixed seeds, tests at α = 10⁻⁴."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from peerpressure.networks import barabasi_albert, erdos_renyi, watts_strogatz
from peerpressure.networks._sampling import random_pairs

ALPHA = 1e-4


def chi_square(observed: NDArray[np.float64], expected: NDArray[np.float64]) -> float:
    """The p-value of counts against expected counts, cells with few expected joined to the last."""
    enough = expected >= 20
    cells = [np.append(counts[enough], counts[~enough].sum()) for counts in (observed, expected)]
    # Not `stats.chisquare`: expected counts of a law that is cut off do not have the sum of the observed ones.
    return float(stats.chi2.sf(((cells[0] - cells[1]) ** 2 / cells[1]).sum(), cells[0].size - 1))


@pytest.mark.parametrize("m", [1, 2, 5])
def test_barabasi_albert_degree_law(m: int) -> None:
    """P(k) = 2m(m+1) / (k(k+1)(k+2)), by Bollobás et al., Random Struct. Algorithms 18, 279 (2001)."""
    n = 200_000
    counts = np.bincount(barabasi_albert(n, m, seed=11).degrees.astype(int))
    k = np.arange(m, len(counts), dtype=float)
    expected = n * 2 * m * (m + 1) / (k * (k + 1) * (k + 2))
    expected[-1] += n - expected.sum()
    assert chi_square(counts[m:].astype(float), expected) > ALPHA
    assert counts[:m].sum() == 0


def test_many_agents_grow() -> None:
    network = barabasi_albert(10**5, 2, seed=1)
    assert network.edge_count == 2 * (10**5 - 2)
    assert network.is_connected
    assert network.degrees.min() == 2
    assert not network.is_weighted


def test_erdos_renyi_edges_and_degrees() -> None:
    n, p = 20_000, 6e-4
    network = erdos_renyi(n, p, seed=3, connected=False)
    pairs = n * (n - 1) // 2
    assert stats.binomtest(network.edge_count, pairs, p).pvalue > ALPHA
    counts = np.bincount(network.degrees.astype(int), minlength=60).astype(float)
    expected = n * stats.binom.pmf(np.arange(len(counts)), n - 1, p)
    assert chi_square(counts, expected) > ALPHA


def test_every_pair_is_as_likely_as_any_other() -> None:
    n, p, runs = 7, 0.3, 4000
    hits = np.zeros((n, n))
    for seed in range(runs):
        np.add.at(hits, random_pairs(n, p, np.random.default_rng(seed)), 1)
    scores = (hits[np.tril_indices(n, -1)] - runs * p) / np.sqrt(runs * p * (1 - p))
    assert stats.chi2.sf(np.sum(scores**2), scores.size) > ALPHA


def test_many_sparse_agents() -> None:
    # More pairs than an int32 counts.
    network = erdos_renyi(10**5, 2e-5, seed=1, connected=False)
    assert abs(network.edge_count - 1e5) < 1600
    assert network.largest_component().n < 10**5


def test_watts_strogatz_moves_the_right_share_of_edges() -> None:
    n, k, p = 20_000, 6, 0.2
    i, j, _ = watts_strogatz(n, k, p, seed=5).edges()
    gap = np.abs(i - j)
    kept = int(np.sum(np.minimum(gap, n - gap) <= k // 2))
    # A moved edge lands near home again with probability of order k/n, far below the noise.
    assert stats.binomtest(kept, n * k // 2, 1 - p).pvalue > ALPHA
