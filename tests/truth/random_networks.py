"""Networks whose edges fail at random, step by step: the truth by enumerating all networks that a step may have.

Steps are independent, so mean and second moment of (y, 1) have exact recursions: both are averages over all
subsets of the edges, weighted by their probabilities.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import peerpressure as pp
from peerpressure.theory import Outcome
from tests.truth.case import Array, Case, curve
from tests.truth.families import Rng, agents, graph, noise, pick
from tests.truth.judge import Finding, Mark

# Steps one by one, a time whose pressure stands for all later ones, and how often the number of those is doubled.
STEPS, LATE, DOUBLINGS = 100, 1_500.0, 24
PRESSURES = ("0.7", "3.0", "t^3", "t^4", "1.5^t")


def failing(rng: Rng) -> tuple[Case, float]:
    """Return a model, and the probability that an edge fails."""
    # Few edges, because all their subsets are enumerated.
    A = graph(rng, int(rng.integers(2, 5)))
    parts: dict[str, Any] = {"std": np.zeros(len(A))}
    if rng.random() < 0.5:
        parts = noise(rng, len(A), phi=0.0, scale="1")
    case = Case("random network", pick(rng, PRESSURES), A[None], **agents(rng, A), **parts)
    return case, pick(rng, [0.1, 0.4, 0.7])


def moments(case: Case, failure: float) -> tuple[Array, float]:
    """Return the mean of each agent after very many steps, and the root mean square of y_i − ȳ."""
    n, i, j = case.n, *np.nonzero(np.triu(case.cycle[0]))
    there = np.array(list(product([0.0, 1.0], repeat=i.size)))
    chance = np.prod(np.where(there > 0, 1 - failure, failure), axis=1)
    A = np.zeros((len(there), n, n))
    A[:, i, j] = there * case.cycle[0][i, j]
    A += A.transpose(0, 2, 1)
    z = np.append(case.start, 1.0)
    second = np.outer(z, z).ravel()
    *early, late = curve(case.pressure)(np.append(np.arange(1.0, STEPS + 1), LATE))
    for rho in early:
        second = _second_moments(case, A, chance, rho) @ second
    step = _second_moments(case, A, chance, late)
    for _ in range(DOUBLINGS):
        step = step @ step
    square = (step @ second).reshape(n + 1, n + 1)
    apart = np.eye(n) - 1 / n
    return square[:n, n], float(np.sqrt(max(np.trace(apart @ square[:n, :n] @ apart), 0.0) / n))


def _second_moments(case: Case, A: Array, chance: Array, rho: float) -> Array:
    """Return the linear map of E zzᵀ in one step, z = (y, 1), as a matrix."""
    n, whole = case.n, case.stubbornness + rho * A.sum(axis=2)
    F = np.zeros((len(A), n + 1, n + 1))
    F[:, :n, :n], F[:, :n, n] = rho * A / whole[:, :, None], case.stubbornness * case.hidden / whole
    F[:, n, n] = 1
    size = (n + 1) ** 2
    step = np.einsum("g,gij,gkl->ikjl", chance, F, F).reshape(size, size)
    # Fresh noise adds to the variances, in proportion to E 1².
    step[np.arange(n) * (n + 2), -1] += chance @ (case.stubbornness * case.std / whole) ** 2
    return np.asarray(step)


def judge_random(case: Case, failure: float) -> tuple[Finding, ...]:
    """Compare outcome and mean states with the truth about the process."""
    assert isinstance(case.system, pp.Model)
    network = pp.networks.failing_edges(case.system.network, failure, 40, seed=1)
    start = "hidden" if np.array_equal(case.start, case.hidden) else case.start
    model = pp.Model(network, case.hidden, case.stubbornness, case.pressure, case.system.noise, start)
    verdict, (mean, spread) = pp.diagnose(model), moments(case, failure)
    # Rounding of a second moment takes its root in the spread.
    true = Outcome.CONSENSUS if spread < 1e-6 * case.size else Outcome.DISAGREEMENT
    mark: Mark = "unknown" if verdict.outcome is Outcome.UNKNOWN else "right" if verdict.outcome is true else "wrong"
    found = [Finding("outcome", mark, verdict.outcome.name, f"{true.name}, spread {spread:.3g}")]
    for one in verdict.reasons:
        if one.code == "apart":
            said = np.array([float(one.values["low"]), float(one.values["high"])])
            good = bool(np.all(np.abs(said - [mean.min(), mean.max()]) < 1e-5 * case.size))
            found.append(Finding("mean states", "right" if good else "wrong", f"{said}", f"{mean}, {failure} fail"))
    return tuple(found)
