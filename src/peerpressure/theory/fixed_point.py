"""Where one step's map leaves the agents alone: y*_t = (S + ρ_t L)⁻¹ S x₀."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from peerpressure.model import Model, Vector
from peerpressure.theory.grounded import balanced_solver
from peerpressure.theory.times import whole_times

# Two rounds of refinement bring a solution of eight digits to rounding.
REFINEMENTS = 2


def fixed_point(model: Model, t: ArrayLike) -> Vector:
    """Return the state that the noiseless step t maps to itself, y* = (S + ρ_t L)⁻¹ S x₀.

    It is the Friedkin–Johnsen equilibrium of that pressure, and tends to the consensus value as ρ_t → ∞. One
    time gives shape (agents,), several give shape (times, agents).

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
    """Return v + relief·z, where (relief·S + weight·L) z = S(x₀ − v) and sᵀz = 0.

    Taking the consensus value v off first leaves a system that stays well posed as relief → 0.
    """
    relief, weight = (float(part) for part in model.pressure.homogeneous(t))
    update = model.update(t)
    s = model.s / model.s.max()
    v = s @ update.preferred / s.sum()
    if weight == 0:
        return update.preferred.copy()
    if relief == 0:
        return np.full(model.n, v)
    # s was divided by its maximum, so the relief takes it back.
    own = relief * float(model.s.max())
    degrees = np.asarray(update.adjacency.sum(axis=1))
    matrix = sparse.csr_array(sparse.diags_array(own * s + weight * degrees) - weight * update.adjacency)
    source = s * (update.preferred - v)
    solve = balanced_solver(matrix, s)
    z = solve(source)
    for _ in range(REFINEMENTS):
        z += solve(source - matrix @ z)
    return np.asarray(v + own * z)
