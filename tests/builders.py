"""Small random networks and models that many tests draw from."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from hypothesis import settings
from scipy import stats

import peerpressure as pp


def examples(share: float, **options: Any) -> settings:
    """Return settings for so many times the examples of the profile: few here, and many in the search for new ones."""
    return settings(max_examples=round(share * settings().max_examples), **options)


NOISES: dict[str, pp.noise.Noise] = {
    "none": pp.NoNoise(),
    "gaussian": pp.Gaussian(0.7),
    "laplace": pp.Laplace(0.7),
    "uniform": pp.noise.Uniform(0.7),
    "student": pp.StudentT(0.7, df=5.0),
    "rademacher": pp.noise.Rademacher(0.7),
    "custom": pp.noise.Custom(stats.logistic(scale=0.3)),
    "centred": pp.noise.Custom(stats.expon(scale=0.5), centre=True),
    "scaled over time": pp.Gaussian(0.7, time_scale=pp.Power(-0.5)),
    "frozen": pp.Gaussian(0.7, temporal="frozen"),
    "frozen custom": pp.noise.Custom(stats.logistic(scale=0.3), temporal="frozen"),
    "ar1": pp.Gaussian(0.7, temporal=pp.AR1(0.6)),
    "negative ar1": pp.Laplace(0.7, temporal=pp.AR1(-0.4)),
    "ar1 custom": pp.noise.Custom(stats.logistic(scale=0.3), temporal=pp.AR1(0.6)),
}

SCHEDULES: dict[str, pp.schedules.Schedule] = {
    "constant": pp.Constant(2.0),
    "linear": pp.Linear(),
    "offset": pp.Linear(0.3, 2.0),
    "power": pp.Power(1.5, 0.4),
    "logarithmic": pp.Logarithmic(),
    "stretched": pp.StretchedExponential(),
    "table": pp.schedules.Table(np.linspace(0.0, 9.0, 60)),
    "formula": pp.schedules.Formula("1 + t/3"),
}

N = 23  # agents of a small model
KINDS = ("adapting", "temporal", "periodic", "unweighted", "both")  # the extensions


# Networks cannot be changed, so tests can share them, with what the engine has prepared of them.


@cache
def weighted_network(n: int = N, seed: int = 0, m: int = 2) -> pp.Network:
    """Return a connected random graph with random weights."""
    rng = np.random.default_rng(seed)
    i, j, _ = pp.networks.barabasi_albert(n, m, seed=seed).edges()
    return pp.Network.from_edges((i, j), weights=rng.uniform(0.2, 3.0, i.size), n=n)


@cache
def _plain_network(n: int, seed: int) -> pp.Network:
    return pp.networks.barabasi_albert(n, 2, seed=seed)


def random_model(n: int = N, seed: int = 0, *, weighted: bool = True, **parts: Any) -> pp.Model:
    """Return a model with random hidden opinions and stubbornness."""
    rng = np.random.default_rng(seed + 1)
    network = weighted_network(n, seed) if weighted else _plain_network(n, seed)
    values: dict[str, Any] = {"hidden": rng.normal(size=n), "stubbornness": rng.uniform(0.3, 2.0, n)}
    return pp.Model(network, **(values | parts))


@cache
def temporal_network(n: int = N, period: int | None = None, weighted: bool = True, seed: int = 0) -> pp.TemporalNetwork:
    """Return a network in which pairs come, go and change their weights at any step; some agents are alone at times."""
    rng = np.random.default_rng(seed)
    i, j, weights = weighted_network(n, seed).edges()
    events = [(1, int(a), int(b), float(w) if weighted else 1.0) for a, b, w in zip(i, j, weights, strict=True)]
    for t in range(2, 13):
        pairs = {tuple(sorted(rng.choice(n, 2, replace=False).tolist())) for _ in range(n)}
        known = {(int(a), int(b)) for a, b in zip(*rng.choice(np.stack([i, j]), n, axis=1), strict=True)}
        for a, b in sorted(pairs | known):
            strength = float(rng.uniform(0.2, 3.0)) if weighted else 1.0
            events.append((t, a, b, strength if rng.random() < 0.4 else 0.0))
    return pp.TemporalNetwork.from_events(events, n=n, period=period)


def extended_model(kind: str, **parts: Any) -> pp.Model:
    """Return a model of a named extension."""
    rng = np.random.default_rng(5)
    rates = pp.Adaptation("0.6/(1 + t)", adaptation_weight=rng.uniform(0, 1, N))
    values = {"hidden": rng.normal(size=N), "stubbornness": rng.uniform(0.3, 2.0, N), "noise": pp.Gaussian(0.7)}
    chosen: dict[str, Any] = {
        "adapting": {"network": weighted_network(), "adaptation": rates},
        "temporal": {"network": temporal_network()},
        "periodic": {"network": temporal_network(period=12)},
        "unweighted": {"network": temporal_network(weighted=False, period=15)},
        "both": {"network": temporal_network(period=12), "adaptation": rates},
    }
    return pp.Model(**(values | chosen[kind] | parts))
