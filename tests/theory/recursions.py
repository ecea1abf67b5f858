"""Recursions that the sentences of a verdict are compared with."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from peerpressure import Model
from peerpressure.theory import moments
from tests.theory.exact import BLOCK, composed, exact_law

Array = NDArray[np.float64]
SMALL = 12  # agents whose covariance is followed in dense matrices


def state(model: Model, steps: int) -> Array:
    """Return the mean public opinions, by the affine recursion."""
    n, A = model.n, model.network.adjacency.toarray()
    y = np.append(model.start_state, 1.0)
    for begin in range(0, steps, BLOCK):
        rho = model.pressure(np.arange(begin + 1, min(begin + BLOCK, steps) + 1))[:, None]
        total = model.s + rho * np.abs(A).sum(axis=1)
        # The constant part of a step is a column beside the matrix, for the state (y, 1).
        M = np.zeros((rho.size, n + 1, n + 1))
        M[:, :n, :n], M[:, :n, n], M[:, n, n] = (rho / total)[:, :, None] * A, model.s * model.x0 / total, 1.0
        y = composed(M, np.zeros_like(M))[0] @ y
    return np.asarray(y[:n])


def limit(model: Model, steps: int = 2_000) -> Array:
    """Return where a recursion ends that approaches its limit like 1/t, from two horizons of the same parity."""
    return np.asarray(2 * state(model, 2 * steps) - state(model, steps))


def spread(model: Model, steps: int) -> Array:
    """Return the standard deviations of the public opinions."""
    return np.sqrt(np.diag(exact_law(model, steps)[1]))[: model.n]


def mode_std(model: Model, steps: int) -> float:
    """Return the standard deviation of the consensus mode, whose weights are written out: d/Σd."""
    weights = model.network.degrees / model.network.degrees.sum()
    if model.n > SMALL:
        return float(moments(model, steps, of=weights).std[-1, 0])
    return math.sqrt(float(weights @ exact_law(model, steps)[1][: model.n, : model.n] @ weights))


def second_moments(model: Model, steps: int) -> tuple[Array, Array]:
    """Return mean and covariance over who updates, each agent with probability 1/2, by the exact recursion."""
    n, A, rho = model.n, model.network.adjacency.toarray(), model.pressure(np.arange(1, steps + 1))[:, None]
    total, own = model.s + rho * A.sum(axis=1), np.arange(n)
    # Steps of those who update, for the state (y, 1), whose second moments have the means in them.
    B, z = np.zeros((steps, n + 1, n + 1)), np.append(model.start_state, 1.0)
    B[:, :n, :n], B[:, :n, n], B[:, n, n] = (rho / total)[:, :, None] * A, model.s * model.x0 / total, 1.0
    second = np.outer(z, z)
    for step in B:
        across = step @ second
        both = across @ step.T
        moved = 0.25 * (both + across + across.T + second)
        # An agent who updates, or not, does so in both factors, and 1 stays what it is.
        moved[own, own] = 0.5 * (both[own, own] + second[own, own])
        moved[:n, n] = moved[n, :n] = 0.5 * (both[:n, n] + second[:n, n])
        moved[n, n] = 1.0
        second = moved
    mean = second[:n, n]
    return mean, second[:n, :n] - np.outer(mean, mean)


def rounds_of(model: Model) -> tuple[list[Array], bool]:
    """Return the adjacency matrices of a network step by step, and whether they repeat; the last one stays if not."""
    temporal = model.temporal_network
    if temporal is None:
        return [model.network.adjacency.toarray()], True
    return [model.adjacency_at(t).toarray() for t in range(1, temporal.span + 1)], temporal.period is not None


def paths(model: Model, steps: int, shock: float = 0.0) -> tuple[Array, Array]:
    """Return public and hidden opinions without noise, shapes (steps + 1, agents).

    ``shock`` is the noise of agent 0 at t = 1.
    """
    rounds, repeats = rounds_of(model)
    n, one, times = model.n, np.eye(model.n), np.arange(1, steps + 1)
    rates = np.zeros((steps, n))
    if model.adaptation is not None:
        rates = model.adaptation.pace(times)[:, None] * model.adaptation.adaptation_weights(n)
    whose = (times - 1) % len(rounds) if repeats else np.minimum(times, len(rounds)) - 1
    A, rho = np.stack(rounds), model.pressure(times)[:, None]
    d = np.abs(A).sum(axis=2)
    total = model.s + rho * d[whose]
    own, coupling = model.s / total, (rho / total)[:, :, None] * A[whose]
    if model.isolated == "keep":
        alone = (d == 0)[whose]
        own, coupling = np.where(alone, 0.0, own), np.where(alone[:, :, None], one, coupling)
    # All coefficients at once, as matrices for (y, x), which leaves one product for each step.
    F, path = np.zeros((steps, 2 * n, 2 * n)), np.empty((steps + 1, 2 * n))
    F[:, :n, :n], F[:, :n, n:] = coupling, own[:, :, None] * one
    F[:, n:] = rates[:, :, None] * F[:, :n]
    F[:, n:, n:] += (1 - rates)[:, :, None] * one
    path[0] = np.concatenate([model.start_state, model.x0])
    for t, (before, after, step) in enumerate(zip(path[:-1], path[1:], F, strict=True)):
        np.matmul(step, before, out=after)
        if t == 0:
            after[[0, n]] += shock * own[0, 0] * np.array([1.0, rates[0, 0]])
    return path[:, :n], path[:, n:]


def late(model: Model, steps: int = 4_000) -> Array:
    return np.asarray(paths(model, steps)[0][-1])


def unlike(model: Model, agent: int, steps: int = 2_000) -> Array:
    """Return by how much public opinions end elsewhere if one agent has another opinion."""
    other = Model(
        model.temporal_network or model.network,
        model.x0 + np.eye(model.n)[agent],
        model.s,
        model.pressure,
        adaptation=model.adaptation,
        isolated=model.isolated,
    )
    return np.asarray(paths(other, steps)[0][-1] - paths(model, steps)[0][-1])


def groups_of(A: Array) -> list[NDArray[np.intp]]:
    """Return the components of a matrix, by the powers of which agents reach which."""
    reached = np.linalg.matrix_power(np.eye(len(A)) + A, len(A)) > 0
    return [np.flatnonzero(row) for row in np.unique(reached, axis=0)]


def recurrences(model: Model, share: float, windows: tuple[int, ...]) -> list[float]:
    """Return how often the common value is off by more than ε, expected in (T, 2T]: exact deviations of Gaussian noise.

    ε² is a share of κσ̄². The value forgets itself within ρ/κ steps, which are counted as one occasion.
    """
    sigma = float(np.linalg.norm(model.s / model.s.sum() * model.noise.deviations(model.n)))
    epsilon = math.sqrt(share * model.kappa) * sigma
    chances = []
    for T in windows:
        times = np.geomspace(T, 2 * T, 5).astype(int)
        d = model.network.degrees
        std = moments(model, 2 * T, of=d / d.sum(), times=times).std[:, 0]
        rho = model.pressure(times.astype(float))
        rare = np.array([math.erfc(epsilon / (math.sqrt(2) * each)) for each in std])
        chances.append(float(np.trapezoid(model.kappa / rho * rare, times)))
    return chances


def flow(model: Model, y: Array, begin: float, end: float, step: float = 2e-3) -> Array:
    """Return the solution of dy/dt = g x₀ + C y − y, by the midpoint rule."""
    A, d = model.network.adjacency.toarray(), model.network.degrees

    def slope(t: float, y: Array) -> Array:
        rho = float(model.pressure.pressure(np.array([max(t, 1e-9)]))[0])
        return np.asarray((model.s * model.x0 + rho * (A @ y)) / (model.s + rho * d) - y)

    for t in np.arange(begin, end - step / 2, step):
        y = y + step * slope(t + step / 2, y + step / 2 * slope(t, y))
    return y


def expected_means(model: Model, rho: float) -> Array:
    """Return the stationary mean over all sets of edges of a cycle, each of which fails with probability 0.4."""
    n, present, ring = model.n, 0.6, model.network.adjacency.toarray()
    i, j = np.nonzero(np.triu(ring))
    C, g = np.zeros((n, n)), np.zeros(n)
    for edges in np.ndindex(*[2] * i.size):
        A, there = np.zeros((n, n)), np.array(edges, dtype=bool)
        A[i[there], j[there]] = A[j[there], i[there]] = 1.0
        chance, total = present ** there.sum() * (1 - present) ** (~there).sum(), model.s + rho * A.sum(axis=1)
        C += chance * rho * A / total[:, None]
        g += chance * model.s * model.x0 / total
    return np.asarray(np.linalg.solve(np.eye(n) - C, g), dtype=np.float64)


def classes_of(model: Model) -> list[NDArray[np.intp]]:
    """Return who hears nobody else over two steps at high pressure, class by class."""
    first, second = (A / A.sum(axis=1)[:, None] for A in rounds_of(model)[0])
    reached = np.linalg.matrix_power(np.eye(model.n) + second @ first, model.n) > 1e-12
    closed = {tuple(row) for k, row in enumerate(reached) if all(reached[other][k] for other in np.flatnonzero(row))}
    return [np.flatnonzero(row) for row in closed]
