"""Directed, disconnected and signed networks, and what models on them do by the definition, in dense matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp

Array = NDArray[np.float64]


def _random(n: int, m: int, seed: int) -> Array:
    """Return a random directed graph with positive weights."""
    rng = np.random.default_rng(seed)
    A = np.zeros((n, n))
    places = rng.permutation([k for k in range(n * n) if k % (n + 1)])[:m]
    A.flat[places] = rng.uniform(0.2, 3.0, m)
    return A


def _ring(n: int) -> Array:
    return np.roll(np.eye(n), 1, axis=1)


def _classes() -> Array:
    """Return 4 and 3 agents in two closed classes, and 4 who listen to both: G3 with random weights."""
    A = np.zeros((11, 11))
    A[:4, :4], A[4:7, 4:7] = _random(4, 5, 1) + _ring(4), _random(3, 2, 2) + _ring(3)
    A[7:, :] = _random(11, 60, 3)[7:]
    return A


def _period_three() -> Array:
    """Return 8 agents in three groups that listen to each other in turn: G2 with random weights."""
    group = np.arange(8) % 3
    return np.where((group[:, None] + 1) % 3 == group, np.random.default_rng(4).uniform(0.2, 2.0, (8, 8)), 0.0)


def _disconnected() -> Array:
    A = np.zeros((10, 10))
    for block in (slice(0, 4), slice(4, 9)):
        half = np.triu(_random(block.stop - block.start, 30, 5), 1)[: block.stop - block.start]
        A[block, block] = half + half.T
    A[0, 3] = A[3, 0] = A[4, 8] = A[8, 4] = 1.0
    return A


def _signed(balanced: bool) -> Array:
    camps = np.array([1, 1, -1, 1, -1, -1, 1, -1.0])
    A = (_random(8, 25, 6) + _ring(8)) * np.outer(camps, camps)
    if not balanced:
        A[0, 1] *= -1
    return A


SIGNS = np.array([1, -1, 1, 1, -1, 1, 1, 1, 1.0])
NEAR, FAR = (_ring(9) + _ring(9).T, np.linalg.matrix_power(_ring(9), 2) + np.linalg.matrix_power(_ring(9).T, 2))
MATRICES: dict[str, Array] = {
    "strong": _random(9, 20, 0) + _ring(9),
    "period 3": _period_three(),
    "two classes": _classes(),
    "silent": np.diag([1.0, 1, 0, 1, 1]) @ (_random(5, 12, 7) + _ring(5)),
    "disconnected": _disconnected(),
    "balanced": _signed(True),
    "unbalanced": _signed(False),
    "signed, undirected": np.outer(SIGNS, SIGNS) * (_ring(9) + _ring(9).T)
    + 0.5 * (_ring(9) @ _ring(9) + (_ring(9) @ _ring(9)).T),
}


def network(kind: str) -> pp.Network:
    """Return one of the networks."""
    return pp.Network(MATRICES[kind], directed=True, signed=True)


def model(kind: str, seed: int = 0, **parts: Any) -> pp.Model:
    """Return a model with random hidden opinions and stubbornness on one of the networks."""
    rng, found = np.random.default_rng(seed), network(kind)
    values: dict[str, Any] = {"hidden": rng.normal(size=found.n), "stubbornness": rng.uniform(0.3, 2.0, found.n)}
    return pp.Model(found, **(values | parts))


def step(A: Array, s: Array, rho: float) -> tuple[Array, Array]:
    """Return gain and coupling matrix of one step."""
    whole = s + rho * np.abs(A).sum(axis=1)
    return s / whole, rho * A / whole[:, None]


def far_state(model: pp.Model, kind: str, steps: int) -> Array:
    """Return the noise-free state after so many steps, one by one."""
    A, s, y = MATRICES[kind], model.s, model.start_state
    d = np.abs(A).sum(axis=1)
    pressures = np.asarray(model.pressure(np.arange(1, steps + 1)))
    for rho in pressures.tolist():
        y = (s * model.x0 + rho * (A @ y)) / (s + rho * d)
    return np.asarray(y)
