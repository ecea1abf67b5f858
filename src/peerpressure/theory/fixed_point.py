"""Where one step's map leaves the agents alone: y*_t = (S + ρ_t L_t)⁻¹ S x₀."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse import csgraph

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.theory.grounded import balanced_solver
from peerpressure.theory.times import whole_times

# Two steps of refinement bring a solution of eight digits to rounding.
REFINEMENTS = 2


def fixed_point(model: Model, t: ArrayLike) -> Vector:
    """Return the state that the noiseless step t maps to itself, y* = (S + ρ_t L_t)⁻¹ S x₀.

    It is the Friedkin–Johnsen equilibrium of that pressure and of the network of that step, and tends to the consensus
    value as ρ_t → ∞. Agents whose hidden opinions adapt at t must hold what they show, so that only the opinions of
    those who do not count; where there is nobody who does not, every agreement is a fixed point, and none is named.
    One time gives shape (agents,), several give shape (times, agents).

    >>> from peerpressure.networks import k2
    >>> fixed_point(Model(k2(), hidden=[0.0, 1.0]), [1, 2])
    array([[0.33333333, 0.66666667],
           [0.4       , 0.6       ]])
    """
    times = whole_times(t, least=1)
    if times.ndim == 0:
        return _fixed_point_at(model, int(times))
    states = np.empty((times.size, model.n))
    for row, time in enumerate(times):
        states[row] = _fixed_point_at(model, int(time))
    return states


def _fixed_point_at(model: Model, t: int) -> Vector:
    relief, weight = (float(part) for part in model.pressure.homogeneous(t))
    update = model.update(t)
    state = update.preferred.copy()
    if weight == 0:
        return state
    s = model.s if update.adaptation_rate is None else np.where(update.adaptation_rate > 0, 0.0, model.s)
    for agents in _those_who_meet(model, update.adjacency):
        if not np.any(s[agents]):
            rule = f"at t = {t} someone in every group must keep to an opinion, or every agreement is a fixed point"
            got = f"{agents.size:,} agents who all adapt"
            raise InvalidInputError(
                complain(rule, got=got, remedy="see consensus_limit(model) for where they come together")
            )
        A = update.adjacency if agents.size == model.n else update.adjacency[agents][:, agents]
        state[agents] = _equilibrium(A, s[agents], update.preferred[agents], relief, weight)
    return state


def _equilibrium(A: sparse.csr_array, s: Vector, preferred: Vector, relief: float, weight: float) -> Vector:
    """Return v + relief·z, where (relief·S + weight·L) z = S(x₀ − v) and sᵀz = 0.

    Taking the consensus value v off first leaves a system that stays well posed as relief → 0.
    """
    scale = float(s.max())
    s = s / scale
    v = s @ preferred / s.sum()
    if relief == 0:
        return np.full(s.size, v)
    # s was divided by its maximum, so the relief takes it back.
    own = relief * scale
    degrees = np.asarray(A.sum(axis=1))
    matrix = sparse.csr_array(sparse.diags_array(own * s + weight * degrees) - weight * A)
    source = s * (preferred - v)
    solve = balanced_solver(matrix, s)
    z = solve(source)
    for _ in range(REFINEMENTS):
        z += solve(source - matrix @ z)
    return np.asarray(v + own * z)


def _those_who_meet(model: Model, A: sparse.csr_array) -> Iterator[NDArray[np.int64]]:
    """Yield the agents of each connected part of a step's network, those who are alone left out."""
    if model.temporal_network is None:
        yield np.arange(model.n)
        return
    count, label = csgraph.connected_components(A, directed=False)
    order = np.argsort(label, kind="stable")
    for agents in np.split(order, np.searchsorted(label[order], np.arange(1, count))):
        if agents.size > 1:
            yield agents
