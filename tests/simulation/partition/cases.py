"""Models with every feature, and how they are run: small, but of several chunks of agents."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array

import peerpressure as pp
from peerpressure import networks
from peerpressure.model.statespace import System
from peerpressure.noise import Custom

AGENTS, STEPS, SEED = 4500, 12, 7


def small_world() -> pp.Network:
    return networks.watts_strogatz(AGENTS, 6, 0.05, seed=1)


def cases() -> dict[str, tuple[System, dict[str, Any]]]:
    """Return models and arguments of ``simulate``, by what is special about them."""
    # Not where the module is loaded: only these models need it, and it is long in loading.
    from scipy import stats

    rng = np.random.default_rng(1)
    n, ring, hubs = AGENTS, small_world(), networks.barabasi_albert(AGENTS, 3, seed=2)
    x, s = rng.random(n), rng.uniform(0.5, 2, n)
    noise = pp.Gaussian(0.5)
    A = ring.adjacency.tocoo()
    kept = rng.random(A.nnz) < 0.9
    directed = coo_array((rng.random(kept.sum()), (A.row[kept], A.col[kept])), shape=A.shape)
    signed = coo_array((np.where(rng.random(A.nnz) < 0.2, -1.0, 1.0), A.coords), shape=A.shape)
    zealots = np.where(rng.random(n) < 0.05, np.inf, s)
    changing = _temporal_network(A, rng)
    own_weights = pp.Adaptation(0.1, rng.integers(0, 2, n).astype(float))
    return {
        "white noise": (pp.Model(ring, x, s, noise=noise), {}),
        "hubs, Laplace noise, blocks of replicates": (
            pp.Model(hubs, x, s, noise=pp.Laplace(0.5)),
            {"replicates": 20, "record": "summaries"},
        ),
        "single precision, own noise": (
            pp.Model(hubs, x, s, noise=pp.Gaussian(rng.random(n))),
            {"dtype": "float32", "replicates": 3},
        ),
        "directed and weighted, chosen replicates": (
            pp.Model(pp.Network(directed, directed=True), x, s, noise=noise),
            {"replicates": [3, 4, 9]},
        ),
        "signed": (pp.Model(pp.Network(signed, directed=True, signed=True), x, s, noise=noise), {}),
        "zealots": (pp.Model(ring, x, zealots, noise=noise, pressure="t^2"), {"record": "final"}),
        "adaptation": (pp.Model(ring, x, s, noise=noise, adaptation=own_weights), {"replicates": 2}),
        "adaptation of many replicates": (pp.Model(ring, x, s, noise=noise, adaptation=0.1), {"replicates": 16}),
        "correlated noise": (pp.Model(ring, x, s, noise=pp.Gaussian(0.5, temporal=pp.AR1(0.7))), {"replicates": 2}),
        "frozen noise": (pp.Model(ring, x, s, noise=pp.Gaussian(0.5, temporal=pp.Frozen())), {"replicates": 17}),
        "random updates": (pp.Model(ring, x, s, noise=noise, activation=rng.uniform(0.2, 1, n)), {"replicates": 17}),
        "one update at a time": (pp.Model(ring, x, s, noise=noise, activation="single"), {"replicates": 17}),
        "a table of updates": (
            pp.Model(ring, x, s, noise=noise, activation=rng.random((STEPS, n)) < 0.5),
            {"replicates": 2},
        ),
        "temporal network": (pp.Model(changing, x, s, noise=noise), {"replicates": 2}),
        "temporal network of those who keep silent": (
            pp.Model(changing, x, s, noise=noise, isolated="keep"),
            {"replicates": 16},
        ),
        "infinite pressure": (pp.Model(ring, x, s, noise=noise, pressure="exp(t^3)"), {}),
        "noise of SciPy": (pp.Model(ring, x, s, noise=Custom(stats.logistic(scale=0.2))), {"replicates": 2}),
        "continuous time": (pp.SDE(pp.Model(ring, x, s, noise=noise), step=0.25, method="euler"), {"replicates": 2}),
        "some agents, every third step": (
            pp.Model(ring, x, s, noise=noise, start=0.25),
            {"record": pp.Record(every=3, agents=[4000, 3, 2000, 1500])},
        ),
        "no steps": (pp.Model(ring, x, s, noise=noise), {"steps": 0}),
    }


def _temporal_network(edges: coo_array, rng: np.random.Generator) -> pp.TemporalNetwork:
    once = edges.row < edges.col
    times = np.sort(rng.integers(1, STEPS, 3000))
    i = rng.integers(0, AGENTS, 3000)
    j = (i + rng.integers(1, AGENTS, 3000)) % AGENTS
    return pp.TemporalNetwork(
        np.concatenate([np.ones(once.sum(), np.int64), times]),
        np.concatenate([edges.row[once], i]),
        np.concatenate([edges.col[once], j]),
        np.concatenate([np.ones(once.sum()), rng.integers(0, 3, 3000).astype(float)]),
        n=AGENTS,
    )
