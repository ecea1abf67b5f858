"""The network itself leaks: how well public opinions tell who listens to whom, and what hides it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian
from peerpressure.recovery import Observation, average_precision, infer_network
from peerpressure.reproduction.design import SEED, stream
from peerpressure.simulation import simulate
from peerpressure.trajectory import Trajectory

Matrix: TypeAlias = NDArray[np.float64]
NOISE = 0.5
LEAK_AGENTS = 30
LEAK_STEPS = (30, 100, 300, 1_000)
DEFENCE_AGENTS = 16
DEFENCE_STEPS = 300
# Noise in the dynamics, and noise on what is published of them, in units of the range of hidden opinions.
NOISES = (0.02, 0.2, 2.0)
PUBLISHED = (1e-4, 1e-3, 1e-2, 1e-1)
EVERY = (1, 2, 3, 4, 5)
FRACTIONS = (1.0, 0.8, 0.6, 0.4)


# What others would do with the same outputs y (T, n) and pressures ρ_t (T,): scores of the pairs (i, j), i hears j.


def vector_autoregression(y: Matrix, rho: Matrix) -> Matrix:
    """Return the coefficients of y_t on y_{t−1}, by least squares."""
    return _regression(y, np.ones_like(rho))


def weighted_autoregression(y: Matrix, rho: Matrix) -> Matrix:
    """Return the same with errors of size 1/ρ_t, which they have once pressure is high."""
    return _regression(y, rho)


def _regression(y: Matrix, weight: Matrix) -> Matrix:
    design = np.column_stack([y[:-1], np.ones(len(y) - 1)]) * weight[1:, None]
    return np.asarray(np.linalg.lstsq(design, y[1:] * weight[1:, None])[0][:-1].T)


def lagged_correlation(y: Matrix, rho: Matrix) -> Matrix:
    """Return the correlations of y_{t,i} with y_{t−1,j}."""
    now, before = ((part - part.mean(axis=0)) / part.std(axis=0) for part in (y[1:], y[:-1]))
    return np.asarray(now.T @ before / len(now))


def partial_correlation(y: Matrix, rho: Matrix) -> Matrix:
    """Return minus the inverse covariance of simultaneous opinions, scaled to a unit diagonal."""
    inverse = np.linalg.pinv(np.cov(y.T), rcond=1e-10)
    scale = np.sqrt(np.abs(np.diag(inverse)))
    return np.asarray(-inverse / np.outer(scale, scale))


RIVALS: Mapping[str, Callable[[Matrix, Matrix], Matrix]] = {
    "var": vector_autoregression,
    "weighted_var": weighted_autoregression,
    "lagged_correlation": lagged_correlation,
    "partial_correlation": partial_correlation,
}


def network_leak(seed: int = SEED, *, steps: int = LEAK_STEPS[-1], agents: int = LEAK_AGENTS) -> pd.DataFrame:
    """Return how well each method finds the edges of a scale-free network, against the number of observed steps.

    Parameters
    ----------
    seed : int, default 14
        Seed of network, hidden opinions and noise.
    steps : int, default 1000
        The longest run.
    agents : int, default 30
        Number of agents.

    Returns
    -------
    pandas.DataFrame
        One table.

    See Also
    --------
    network_defence : What hides the network.

    Examples
    --------
    >>> network_leak(steps=30, agents=6)["method"].tolist()
    ['likelihood', 'var', 'weighted_var', 'lagged_correlation', 'partial_correlation']

    Tables
    ------
    network_leak
        steps, method (likelihood, var, weighted_var, lagged_correlation, partial_correlation), average_precision: over
        ordered pairs of agents; an order at random has the share of edges among them, the column chance.
    """
    model = _model(agents, stream(seed, "network_leak"))
    times = [time for time in LEAK_STEPS if time <= max(steps, LEAK_STEPS[0])]
    run = simulate(model, times[-1], seed=stream(seed, "leaking"))
    assert run.states is not None
    truth, rows = model.network.adjacency.toarray() > 0, []
    for time in times:
        y, rho = np.asarray(run.states)[0, 1 : time + 1], np.asarray(model.pressure(np.arange(1, time + 1)))
        look = Observation(times=range(1, time + 1))
        found = infer_network(run, model.pressure, std="known", observation=look)
        scores = {"likelihood": found.ranking} | {name: np.abs(rival(y, rho)) for name, rival in RIVALS.items()}
        rows += [
            {"steps": time, "method": name, "average_precision": average_precision(truth, score)}
            for name, score in scores.items()
        ]
    return pd.DataFrame(rows).assign(chance=truth.sum() / (agents * (agents - 1)))


def network_defence(seed: int = SEED, *, steps: int = DEFENCE_STEPS, agents: int = DEFENCE_AGENTS) -> pd.DataFrame:
    """Return how well the network is found where agents are noisier, or where less is published.

    Parameters
    ----------
    seed : int, default 14
        Seed of network, hidden opinions and noise.
    steps : int, default 300
        Length of the run.
    agents : int, default 16
        Number of agents.

    Returns
    -------
    pandas.DataFrame
        One table.

    See Also
    --------
    network_leak : What is found where nothing is hidden.

    Examples
    --------
    >>> list(network_defence(steps=20, agents=5)["defence"].unique())
    ['noise', 'published_noise', 'every', 'fraction']

    Tables
    ------
    network_defence
        defence (noise of the agents, published_noise that is added to what is published, every k-th step published,
        fraction of agents published), strength, average_precision: of the pairs of observed agents. The observer knows
        nothing of the last three: a better one may find more.
    """
    model = _model(agents, stream(seed, "network_defence"))
    # Enough of them that every k-th is more than there are unknowns.
    steps, rows = max(steps, EVERY[-1] * (agents + 4)), []
    for defence, strength, run, parts in _defences(model, steps, stream(seed, "defending")):
        # Without a selection of edges, which takes longer and changes the order of few pairs.
        found = infer_network(run, parts.pop("pressure", model.pressure), std="known", penalty=None, **parts)
        precision = found.average_precision(model.network)
        rows.append({"defence": defence, "strength": strength, "average_precision": precision})
    return pd.DataFrame(rows)


def _model(agents: int, seed: int) -> Model:
    network = barabasi_albert(agents, min(2, agents - 1), seed=seed)
    return Model(network, np.random.default_rng(seed).uniform(size=agents), noise=Gaussian(NOISE))


def _defences(model: Model, steps: int, seed: int) -> Iterator[tuple[str, float, Trajectory, dict[str, Any]]]:
    for noise in NOISES:
        yield "noise", noise, simulate(replace(model, noise=Gaussian(noise)), steps, seed=seed), {}
    run = simulate(model, steps, seed=seed)
    states, rng = np.asarray(run.states), np.random.default_rng(seed)
    error = rng.standard_normal(states.shape)
    for size in PUBLISHED:
        yield "published_noise", size, replace(run, states=states + size * error), {}
    for every in EVERY:
        yield "every", every, *_thinned(run, every)
    order = rng.permutation(model.n)
    for fraction in FRACTIONS:
        # Nested sets, so that a smaller one never has an agent more.
        picked = sorted(order[: max(3, round(fraction * model.n))].tolist())
        parts = {"observation": Observation(agents=picked), "partial": True}
        yield "fraction", fraction, run, parts


def _thinned(run: Trajectory, every: int) -> tuple[Trajectory, dict[str, Any]]:
    """Return every k-th step as if they followed each other, with the pressures that held at these steps."""
    assert run.states is not None
    kept = np.arange(every, run.times[-1] + 1, every)
    pressure: Sequence[float] = np.asarray(run.model.pressure(kept)).tolist()
    states = np.concatenate([run.states[:, :1], run.states[:, kept]], axis=1)
    return replace(run, states=states, times=np.arange(kept.size + 1)), {"pressure": pressure}
