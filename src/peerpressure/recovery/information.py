"""How well anyone could know x₀: Fisher information under Gaussian noise, before any output is seen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, complain
from peerpressure.model import Model
from peerpressure.recovery.complete import Complete, complete, refuse_large
from peerpressure.recovery.design import Design
from peerpressure.recovery.estimate import Covariance
from peerpressure.recovery.implicit import Implicit
from peerpressure.recovery.inversion import legible_steps
from peerpressure.recovery.observation import Observation, ResolvedObservation
from peerpressure.recovery.solve import DENSE_LIMIT, conjugate_gradients, solve, split
from peerpressure.recovery.time_weights import time_weights

Array: TypeAlias = NDArray[np.float64]
JOINT_LIMIT = 6_000  # seen outputs whose joint covariance is formed


@final
@dataclass(frozen=True, eq=False)
class Information:
    """The Fisher information about all hidden opinions in what an observer sees.

    ``matrix`` is J, (n, n): sparse, dense or an operator; ``exact`` marks the agents about whom something is seen
    free of noise, which J does not count. ``covariance`` is the Cramér–Rao bound as a matrix, on what is identified.
    """

    model: Model
    matrix: Covariance
    exact: NDArray[np.bool_]
    covariance: Covariance
    identified: NDArray[np.bool_]

    @cached_property
    def diagonal(self) -> Array:
        """The information about each agent for an observer who knows all others, (n,); infinite where exact."""
        return np.where(self.exact, np.inf, self.matrix.diagonal())

    @cached_property
    def bound(self) -> Array:
        """The least variance of an unbiased estimate of each agent, others unknown, (n,); ∞ if not identified."""
        return np.where(self.identified, np.maximum(self.covariance.diagonal(), 0.0), np.inf)

    def of(self, agent: Hashable) -> float:
        """Return the information about one agent, others unknown: 1/bound, 0 if not identified, ∞ if known."""
        bound = float(self.bound[self.model.network.index(agent)])
        return np.inf if bound == 0 else 1 / bound

    def __repr__(self) -> str:
        bound = self.bound[self.identified]
        reach = f"bound {bound.min():.4g}–{bound.max():.4g}" if bound.size else "nobody identified"
        return f"Information({self.model.n:,} agents, {int(self.identified.sum()):,} identified, {reach})"


def information(model: Model, steps: int, observation: Observation | None = None) -> Information:
    """Return the Fisher information about x₀ in the first ``steps`` steps, for Gaussian noise of the model's kind.

    Where everything is seen from step 1 on, J is sparse or an operator and any number of agents will do; otherwise
    the joint Gaussian law of the seen outputs is formed, which limits agents times steps.

    >>> from peerpressure import Gaussian, k2
    >>> information(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(2.0), start=[0.0, 0.0]), steps=100).bound
    array([0.04, 0.04])
    """
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
        rule = "steps must be a whole number, 0 or more"
        raise InvalidInputError(complain(rule, got=repr(steps), remedy="pass an int"))
    seen = (observation or Observation()).resolve(model, np.arange(steps + 1))
    if not seen.free.size:
        nothing, everyone = sparse.csr_array((model.n, model.n)), np.ones(model.n, dtype=bool)
        return Information(model, nothing, everyone, nothing, everyone)
    if seen.everyone and seen.uninterrupted and seen.rounding == 0:
        return _of_complete(model, seen.last)
    return _of_joint_law(model, seen)


def _of_complete(model: Model, last: int) -> Information:
    legible = legible_steps(model, last)
    from_hidden = isinstance(model.start, str)
    times = legible[legible > 1] if from_hidden else legible
    problem = complete(model, times, time_weights(model.noise, times), first_step=from_hidden and 1 in legible)
    n = model.n
    if problem.separate:
        variance = problem.variance
        exact, identified = variance == 0, np.isfinite(variance)
        matrix = np.divide(1.0, variance, out=np.zeros(n), where=~exact)
        bound = np.where(identified, variance, 0.0)
        return Information(model, _diagonal(matrix), exact, _diagonal(bound), identified)
    refuse_large(problem, None)
    return _dense_information(problem) if n <= DENSE_LIMIT else _large_information(problem)


def _dense_information(problem: Complete) -> Information:
    J = problem.apply(np.eye(problem.model.n))
    rows, _, _ = problem.exact_rows()
    return _solved(problem.model, J, rows)


def _large_information(problem: Complete) -> Information:
    n, diagonal = problem.model.n, problem.diagonal()
    nobody, everyone = np.zeros(n, dtype=bool), np.ones(n, dtype=bool)
    bound = Implicit(n, lambda columns: conjugate_gradients(problem.apply, columns, diagonal)[0])
    return Information(problem.model, Implicit(n, problem.apply, diagonal), nobody, bound, everyone)


def _of_joint_law(model: Model, seen: ResolvedObservation) -> Information:
    """Return J = Qᵀ Σ⁻¹ Q of all seen outputs, stacked."""
    size = seen.times.size * seen.agents.size
    if size > JOINT_LIMIT or model.n > DENSE_LIMIT:
        rule = f"a partial view must be of at most {JOINT_LIMIT} outputs among {DENSE_LIMIT} agents"
        remedy = "look at fewer steps or agents"
        raise TooLargeError(complain(rule, got=f"{size} outputs among {model.n} agents", remedy=remedy))
    design = Design(model, seen, np.ones((seen.times.size, seen.agents.size), dtype=bool))
    units = np.eye(size).reshape(seen.times.size, seen.agents.size, size)
    whiten, quiet = split(design.covary(units).reshape(size, size))
    Q = np.zeros((size, model.n))
    Q[:, seen.free] = design.columns().reshape(size, -1)
    noisy = whiten @ Q
    known = np.eye(model.n)[np.setdiff1d(np.arange(model.n), seen.free)]
    return _solved(model, noisy.T @ noisy, np.concatenate([known, quiet @ Q]))


def _solved(model: Model, J: Array, rows: Array) -> Information:
    solution = solve(J, rows, np.zeros((1, rows.shape[0])))
    exact = np.abs(rows).sum(axis=0) > 1e-12 if rows.size else np.zeros(model.n, dtype=bool)
    return Information(model, J, exact, solution.inverse, solution.identified)


def _diagonal(values: Array) -> Any:
    return sparse.diags_array(values, format="csr")
