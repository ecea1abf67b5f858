"""Likelihood-ratio attacks on simulated outputs, which no printed ε may lose to, and an exact one must nearly lose to.

Outputs are simulated for two neighbouring inputs. The attacker computes the likelihood ratio L of each output, here in
plain NumPy from the update rule and the law, and takes log L > ε as its event: if ε holds at δ, the frequencies of the
event under both inputs satisfy P ≤ e^ε Q + δ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.privacy import budget, calibrate
from tests.builders import random_model
from tests.oracles import outputs_law

N, T, SAMPLES = 4, 3, 20_000
FAR = 5.0  # standard errors that an attack must be ahead by, or chance explains it
OPEN = np.zeros(N)
PHI = 0.6


def gaussian(**parts: Any) -> pp.Gaussian:
    return pp.Gaussian(np.linspace(0.8, 1.4, N), **parts)


TEMPORAL = pp.TemporalNetwork.from_events([(1, 0, 1), (1, 1, 2), (2, 2, 3), (3, 0, 1, 0.0), (3, 0, 3)], n=N)
# Parts of a model, and how it is observed.
MECHANISMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "gaussian": ({"noise": gaussian()}, {}),
    "gaussian, public start": ({"noise": gaussian(), "start": OPEN}, {}),
    "gaussian growing": ({"noise": gaussian(time_scale=pp.Power(0.5))}, {}),
    "gaussian ar1": ({"noise": gaussian(temporal=pp.AR1(PHI))}, {}),
    "gaussian frozen": ({"noise": gaussian(temporal="frozen"), "start": OPEN}, {}),
    "gaussian adapting": ({"noise": gaussian(), "adaptation": 0.3}, {}),
    "gaussian temporal": ({"noise": gaussian(), "temporal_network": TEMPORAL}, {"observed": [1, 3]}),
    "gaussian, three runs": ({"noise": gaussian()}, {"runs": 3}),
    "gaussian, two observed": ({"noise": gaussian()}, {"observed": [1, 2]}),
    "gaussian ar1, one observed": ({"noise": gaussian(temporal=pp.AR1(PHI))}, {"observed": [0]}),
    "gaussian, one insider": ({"noise": gaussian(), "start": OPEN}, {"observed": [0], "insiders": [3]}),
    "laplace": ({"noise": pp.Laplace(6.0)}, {}),
    "laplace, public start": ({"noise": pp.Laplace(2.0), "start": OPEN}, {}),
    "laplace, three runs": ({"noise": pp.Laplace(9.0)}, {"runs": 3}),
    "laplace frozen": ({"noise": pp.Laplace(1.2, temporal="frozen"), "start": OPEN}, {}),
    "laplace ar1": ({"noise": pp.Laplace(6.0, temporal=pp.AR1(PHI))}, {}),
    "laplace negative ar1": ({"noise": pp.Laplace(4.0, temporal=pp.AR1(-PHI)), "start": OPEN}, {}),
    "student": ({"noise": pp.StudentT(8.0, df=5.0)}, {}),
}
# Accounts that are exact: an attack at a smaller ε succeeds.
EXACT = {name for name in MECHANISMS if name.startswith("gaussian")} | {
    "laplace",
    "laplace, public start",
    "laplace, three runs",
    "laplace frozen",
}


def two_inputs(model: Model, agent: int, far: float) -> tuple[Model, Model]:
    moved = np.array(model.x0)
    moved[agent] += far
    return model, replace(model, hidden=moved)


def paths(model: Model, runs: int, seed: int) -> Array:
    """Return simulated outputs y₁, …, y_T, (samples, runs, T, n)."""
    states = pp.simulate(model, T, SAMPLES * runs, seed=seed, record="all").states
    assert states is not None
    return states[:, 1:].reshape(SAMPLES, runs, T, model.n)


def gaussian_loss(models: tuple[Model, Model], outputs: Array, seen: dict[str, Any]) -> Array:
    """Return log p₁/p₀ of outputs from their joint normal law."""
    model, insiders = models[0], seen.get("insiders", [])
    agents = seen.get("observed", list(range(N)))
    near = np.flatnonzero(model.network.adjacency.toarray()[insiders].any(axis=0))
    agents = sorted({*agents, *insiders, *near.tolist()})
    rows = outputs_law(model, T, agents, known=insiders)
    shift = rows.B @ (models[1].x0 - model.x0)
    values, vectors = np.linalg.eigh(rows.covariance)
    weights = vectors @ (np.where(values > 1e-11, 1 / np.maximum(values, 1e-11), 0.0) * (vectors.T @ shift))
    # The mean under the first input is that of a run without noise.
    still = pp.simulate(replace(model, noise=pp.NoNoise()), T, record="all").states
    assert still is not None
    off = (outputs - still[:, 1:])[..., agents].reshape(*outputs.shape[:2], -1)
    return np.asarray((off @ weights - weights @ shift / 2).sum(axis=1))


def density_loss(models: tuple[Model, Model], outputs: Array) -> Array:
    """Return log p₁/p₀ of complete outputs draw by draw, for any law."""
    likely = [_log_density(model, outputs).sum(axis=(1, 2)) for model in models]
    return np.asarray(likely[1] - likely[0])


def _log_density(model: Model, outputs: Array) -> Array:
    """Return the log density of each agent's series, (samples, runs, n), up to a constant."""
    noise, before = model.noise, np.broadcast_to(model.start_state, outputs[:, :, 0].shape)
    draws = []
    for t in range(T):
        update = model.update(t + 1)
        preferred = (outputs[:, :, t] - before @ update.coupling.toarray().T) / update.gain
        draws.append((preferred - model.x0) / (noise.deviations(model.n) * noise.scale(t + 1)))
        before = outputs[:, :, t]
    law, phi = LAWS[type(noise)], noise.autocorrelation
    if phi == 1:
        return law(draws[0])
    rest = math.sqrt(1 - phi**2)
    first = law(draws[0]) if phi == 0 else _log_mixed(draws[0], abs(phi), rest)
    return np.asarray(first + sum(law((draws[t] - phi * draws[t - 1]) / rest) for t in range(1, T)))


# Log densities of unit variance, up to a constant.
LAWS: dict[type[pp.noise.Noise], Callable[[Array], Array]] = {
    pp.Gaussian: lambda x: -(x**2) / 2,
    pp.Laplace: lambda x: -math.sqrt(2) * np.abs(x),
    pp.StudentT: lambda x: -3 * np.log1p(x**2 / 3),  # five degrees of freedom
    pp.noise.Uniform: lambda x: np.where(np.abs(x) <= math.sqrt(3) * (1 + 1e-9), 0.0, -np.inf),
}


def _log_mixed(x: Array, one: float, two: float) -> Array:
    """Return the log density of one·u + two·w for independent Laplace draws of unit variance."""
    a, b = one / math.sqrt(2), two / math.sqrt(2)
    return np.log((a * np.exp(-np.abs(x) / a) - b * np.exp(-np.abs(x) / b)) / (2 * (a**2 - b**2)))


def lead(losses: tuple[Array, Array], epsilon: float, delta: float) -> float:
    """Return by how many standard errors an attack beats (ε, δ), in either direction.

    The losses are log p₁/p₀ of outputs under the first and the second input.
    """
    found = []
    for sign, (own, other) in ((1, losses[::-1]), (-1, losses)):
        p, q = (float(np.mean(sign * loss > epsilon)) for loss in (own, other))
        error = math.sqrt((p * (1 - p) + math.exp(2 * epsilon) * q * (1 - q) + 1 / SAMPLES) / SAMPLES)
        found.append((p - math.exp(epsilon) * q - delta) / error)
    return max(found)


@pytest.mark.parametrize("name", MECHANISMS)
def test_no_attack_beats_the_printed_epsilon(name: str) -> None:
    parts, seen = MECHANISMS[name]
    model = random_model(N, **parts)
    if isinstance(model.noise, pp.Gaussian):
        model = calibrate(model, T, epsilon=1.0, delta=0.05, **seen).model
    accounts = {delta: budget(model, T, delta=delta, **seen) for delta in (0.05, 0.01)}
    agent = int(accounts[0.05].table["epsilon"].idxmax())
    models = two_inputs(model, agent, 1.0)
    quiet = np.array(model.noise.deviations(N))
    # Outputs given the noise of insiders are those without it, shifted.
    quiet[seen.get("insiders", [])] = 0.0
    drawn = [replace(one, noise=replace(one.noise, std=quiet)) for one in models]
    outputs = [paths(one, seen.get("runs", 1), 7 + k) for k, one in enumerate(drawn)]
    normal = isinstance(model.noise, pp.Gaussian)
    found = [gaussian_loss(models, one, seen) if normal else density_loss(models, one) for one in outputs]
    losses = (found[0], found[1])
    for delta, account in accounts.items():
        told = account.table.loc[agent]
        assert lead(losses, told["epsilon"], delta) < FAR
        if name in EXACT:
            assert lead(losses, 0.7 * told["epsilon"], delta) > FAR
        if "epsilon_low" in told:
            # Below the bound from below an attack succeeds.
            assert told["epsilon_low"] <= told["epsilon"]
            assert told["epsilon_low"] < 0.1 or lead(losses, told["epsilon_low"] - 0.1, delta) > 0
        if "epsilon_basic" in told:
            assert lead(losses, told["epsilon_basic"], 0.0) < FAR


def test_a_likelihood_that_is_not_normal_and_one_that_is_agree() -> None:
    """The attacks themselves: both ways to the same ratio."""
    model = random_model(N, noise=gaussian(temporal=pp.AR1(PHI)), adaptation=None)
    models = two_inputs(model, 1, 0.7)
    white = replace(model, noise=gaussian())
    outputs = paths(white, 1, 3)[:50]
    pair = two_inputs(white, 1, 0.7)
    np.testing.assert_allclose(gaussian_loss(pair, outputs, {}), density_loss(pair, outputs), rtol=1e-9, atol=1e-9)
    assert gaussian_loss(models, outputs, {}).shape == (50,)


def test_bounded_noise_is_beaten_exactly_as_often_as_stated() -> None:
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=pp.noise.Uniform(5.0), start=[0.0, 0.0])
    told = budget(model, T, delta=0.5)
    needed = float(told.table["delta_needed"].iloc[0])
    assert told.epsilon == 0
    assert math.isinf(budget(model, T, delta=0.9 * needed).epsilon)
    own, other = (paths(one, 1, 5 + k) for k, one in enumerate(two_inputs(model, 0, 1.0)))
    ruled_out = np.mean(np.isneginf(_log_density(model, other)[..., 0]))
    assert not np.isneginf(_log_density(model, own)).any()
    assert ruled_out == pytest.approx(needed, abs=FAR * math.sqrt(needed / SAMPLES))


def test_the_mixed_law_is_a_convolution() -> None:
    x = np.array([0.0, 0.4, 1.7])
    grid = np.linspace(-30, 30, 200_001)
    unit = stats.laplace(scale=math.sqrt(0.5))
    numeric = [np.trapezoid(unit.pdf(grid) * unit.pdf((v - 0.6 * grid) / 0.8) / 0.8, grid) for v in x]
    np.testing.assert_allclose(np.exp(_log_mixed(x, 0.6, 0.8)), numeric, rtol=1e-6)
