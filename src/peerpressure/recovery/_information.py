"""Fisher information about x₀ under Gaussian noise, known before any answer is observed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system, initial_state
from peerpressure.model.statespace.systems import is_invertible
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery._kalman import gathered
from peerpressure.recovery.estimate import Covariance
from peerpressure.recovery.innovations import complete, invertible_steps, weights_of
from peerpressure.recovery.least_squares import SymmetricOperator
from peerpressure.recovery.limits import SHARE_TOLERANCE
from peerpressure.recovery.observation import Observation, ResolvedObservation, blank_outputs
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.resources import few_threads
from peerpressure.support.results import read_only


@final
@read_only
@dataclass(frozen=True, eq=False)
class Information:
    """The Fisher information about all hidden opinions in what is observed.

    Attributes
    ----------
    model : Model
        The model that the observer assumes.
    matrix : Covariance of shape (n, n)
        The information J: sparse, dense or an operator.
    exact : array of bool, shape (n,)
        Agents about whom something is observed without noise, which J does not count.
    covariance : Covariance of shape (n, n)
        The Cramér–Rao bound as a matrix, for what is identified.
    identified : array of bool, shape (n,)
        Agents whose opinion the observation determines.

    See Also
    --------
    information : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import path
    >>> from peerpressure.recovery import information
    >>> info = information(Model(path(3), hidden=[0.0, 0.5, 1.0], start=0.0, noise=Gaussian(2.0)), steps=100)
    >>> info.identified, info.bound.round(4)
    (array([ True,  True,  True]), array([0.04, 0.04, 0.04]))
    """

    model: Model
    matrix: Covariance
    exact: NDArray[np.bool_]
    covariance: Covariance
    identified: NDArray[np.bool_]

    @cached_property
    def diagonal(self) -> Array:
        """The information about each agent for an observer who knows all others, (n,); infinite where exact."""
        # J leaves exact equations out, for ∞ entries would spoil every product with it.
        return np.where(self.exact, np.inf, self.matrix.diagonal())

    @cached_property
    def bound(self) -> Array:
        """The least variance of an unbiased estimate of each agent, others unknown, (n,); ∞ if not identified.

        Where the covariance is an operator its diagonal is estimated from random probes; ``of`` is always exact.
        """
        return np.where(self.identified, np.maximum(self.covariance.diagonal(), 0.0), np.inf)

    def of(self, agent: Hashable) -> float:
        """Return the information about one agent, others unknown: 1/bound, 0 if not identified, ∞ if known.

        Parameters
        ----------
        agent : hashable
            Label of the agent.

        Returns
        -------
        float
            Information, in units of 1/opinion².

        Raises
        ------
        NetworkError
            If no agent has the label.
        """
        index = self.model.network.index(agent)
        if not self.identified[index]:
            return 0.0
        column = np.zeros((self.model.n, 1))
        column[index] = 1.0
        # One product instead of the diagonal, which is only estimated if the covariance is an operator.
        bound = float(np.asarray(self.covariance @ column)[index, 0])
        return 1 / bound if bound > 0 else np.inf

    def __repr__(self) -> str:
        bound = self.bound[self.identified]
        words = f"bound {bound.min():.4g}–{bound.max():.4g}" if bound.size else "nobody identified"
        return f"Information({self.model.n:,} agents, {int(self.identified.sum()):,} identified, {words})"


def information(
    model: System,
    steps: int,
    observation: Observation | None = None,
    *,
    should_stop: ShouldStop | None = None,
) -> Information:
    """Return the Fisher information about x₀ in the first ``steps`` steps, for Gaussian noise of the model's kind.

    Parameters
    ----------
    model : Model or SDE
        The model; the steps of an SDE are those of its grid.
    steps : int
        The number of steps, at least 0.
    observation : Observation, optional
        Which agents are observed and when; by default everyone from step 1 on.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Information
        The information matrix and the Cramér–Rao bound of every agent.

    Raises
    ------
    InvalidInputError
        If ``steps`` is not a whole number of at least 0, or nothing that is observed depends on x₀.
    TooLargeError
        If a partial observation, or an SDE, has more than 1,000 agents. Complete observations of a model take any
        number, as their information is sparse or an operator.

    See Also
    --------
    recover : Estimates that reach the bound.
    privacy.exposure : The same as variances of a Gaussian posterior.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import information
    >>> information(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(2.0), start=[0.0, 0.0]), steps=100).bound
    array([0.04, 0.04])
    """
    # bool is a subclass of int, and True is more likely a mistake than one step.
    if isinstance(steps, bool) or not isinstance(steps, (int, np.integer)) or steps < 0:
        rule = "steps must be a whole number, 0 or more"
        raise InvalidInputError(message(rule, got=repr(steps), remedy="pass an int"))
    seen = (observation or Observation()).resolve(checked_system(model).model, np.arange(steps + 1))
    with cancellable(should_stop), few_threads(model.n):
        return _of(model, seen)


def _of(system: System, seen: ResolvedObservation) -> Information:
    # The observer knows every x₀ from y_0; the filter would have no unknowns.
    if not seen.free.size:
        nothing, everyone = sparse.csr_array((system.n, system.n)), np.ones(system.n, dtype=bool)
        return Information(system.model, nothing, everyone, nothing, everyone)
    complete_outputs = seen.everyone and seen.uninterrupted and seen.rounding == 0
    if not system.is_continuous and complete_outputs and is_invertible(system.model):
        return _of_complete(system.model, seen.last)
    return _of_partial(system, seen)


def _of_complete(model: Model, last: int) -> Information:
    steps = invertible_steps(model, last)
    first_step = initial_state(model).starts_from_hidden and 1 in steps
    problem = complete(model, weights_of(model, steps), first_step=first_step)
    n = model.n
    if problem.separate:
        variance = problem.variance
        exact, identified = variance == 0, np.isfinite(variance)
        # 1/∞ = 0 is right for agents without information.
        matrix = np.divide(1.0, variance, out=np.zeros(n), where=~exact)
        bound = np.where(identified, variance, 0.0)
        return Information(model, _diagonal(matrix), exact, _diagonal(bound), identified)
    equations = problem.equations()
    solved = equations.solved()
    J = equations.J if equations.is_dense else SymmetricOperator(n, problem.apply, equations.diagonal)
    exact = np.zeros(n, dtype=bool) if equations.rows is None else _touched(equations.rows)
    return Information(model, J, exact, solved.covariance, solved.identified)


def _of_partial(system: System, seen: ResolvedObservation) -> Information:
    """Return the information that is gathered step by step from the observed answers, whatever their values."""
    if system.n > limits.PARTIAL_LIMIT:
        rule = f"tests of fit of partial observations take at most {limits.PARTIAL_LIMIT} agents"
        raise TooLargeError(message(rule, got=system.n, remedy="look at a part of the network, or at everybody"))
    # Complete answers in discrete time have been dealt with, where they can be inverted.
    state = gathered(*blank_outputs(system, seen))
    E, A = state.about_hidden()
    posterior = state.solve().posterior.part(slice(0, system.n))
    return Information(system.model, A.T @ A, _touched(E), posterior.covariance, posterior.identified)


def _touched(rows: Array) -> NDArray[np.bool_]:
    """Return which agents take part in some exact row, (n,)."""
    return np.asarray(np.abs(rows).max(axis=0, initial=0.0) > SHARE_TOLERANCE)


def _diagonal(values: Array) -> Any:
    return sparse.diags_array(values, format="csr")
