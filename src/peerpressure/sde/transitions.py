"""The exact law of a step: y at a later time, given y at an earlier one, is Gaussian with a mean linear in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.schedules import Constant

from .equation import LARGEST_EXACT, SDE
from .flow import Flow, real_times, solve_flow


@final
@dataclass(frozen=True, eq=False)
class Transition:
    """The law y_end given y_begin ~ N(F y_begin + c, Q), whatever the length of the step.

    ``matrix`` F and ``covariance`` Q have shape (agents, agents), ``shift`` c has shape (agents,).
    """

    begin: float
    end: float
    matrix: Vector
    shift: Vector
    covariance: Vector

    @cached_property
    def root(self) -> Vector:
        """A matrix R with RRᵀ = Q: Cholesky's where Q is positive, and by its eigenvalues where it is not."""
        size = np.sqrt(np.diag(self.covariance))
        scale = np.where(size > 0, size, 1.0)
        # Agents may differ by powers of ten in noise; as correlations all are alike.
        correlation = self.covariance / np.outer(scale, scale)
        try:
            return np.asarray(scale[:, None] * np.linalg.cholesky(correlation))
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(correlation)
            return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))

    def then(self, later: Transition) -> Transition:
        """Return the law of both steps taken one after the other."""
        if later.begin != self.end:
            rule = f"a step that follows one until t = {self.end:g} must begin there"
            raise InvalidInputError(complain(rule, got=f"t = {later.begin:g}", remedy="keep steps in their order"))
        F = later.matrix
        return Transition(
            self.begin,
            later.end,
            F @ self.matrix,
            F @ self.shift + later.shift,
            F @ self.covariance @ F.T + later.covariance,
        )

    def __repr__(self) -> str:
        return f"Transition(t = {self.begin:g} to {self.end:g}, {self.shift.size} agents)"


def transition(sde: SDE, begin: float, end: float) -> Transition:
    """Return the exact law of the state at ``end`` given that at ``begin``.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> step = transition(SDE(Model(k2(), hidden=[1.0, 2.0], pressure=1.0)), 0.0, 1.0)
    >>> (step.matrix @ [1.0, 2.0] + step.shift).round(4)
    array([1.259, 1.741])
    """
    real_times([begin, end])
    n, v = sde.n, sde.consensus_value
    if n > LARGEST_EXACT:
        rule = f"exact steps are worked out for up to {LARGEST_EXACT} agents"
        raise InvalidInputError(complain(rule, got=f"{n:,}", remedy="use method='euler'"))
    start = Flow(np.eye(n, n + 1), np.zeros((n, n)))
    (flow,) = solve_flow(sde, start, begin, np.array([end]))
    F, centred = np.ascontiguousarray(flow.columns[:, :-1]), flow.columns[:, -1]
    # What is left of the start's weight goes to the consensus value, on which the flow is centred.
    return Transition(begin, end, F, centred + v * (1.0 - F.sum(axis=1)), flow.covariance)


def exact_transitions(sde: SDE, first: int, last: int) -> Iterator[Transition]:
    """Yield the laws of the steps of length h that end at first·h, …, last·h."""
    if isinstance(sde.pressure, Constant) and isinstance(sde.noise.time_scale, Constant):
        # Nothing changes from step to step, and so the first one's law serves all.
        same = transition(sde, 0.0, sde.step)
        yield from (same for _ in range(first, last + 1))
        return
    for k in range(first, last + 1):
        yield transition(sde, sde.time(k - 1), sde.time(k))
