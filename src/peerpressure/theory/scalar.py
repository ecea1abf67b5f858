"""The consensus mode by itself: one number that obeys a recursion of its own.

Summing (S + ρ_t D) y_t = S ξ_t + ρ_t A y_{t−1} over all agents, with m_t = Σ d y_t/Σ d and ξ̄_t = Σ s ξ_t/Σ s, gives

    m_t = m_{t−1} + (κ/ρ_t)(ξ̄_t − Σ s y_t/Σ s),

and near agreement Σ s y_t/Σ s = m_t + O(1/ρ_t), so that m_t ≈ (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ): a running average with
step κ/(ρ_t + κ). The functions here are the numbers that this recursion needs.
"""

from __future__ import annotations

import numpy as np

from ..errors import InvalidInputError, complain
from ..model import Model, Vector
from ..noises import AR1

_MOST_WORK = 2e9  # multiplications that a constant is worth: seconds


def mode_noise(model: Model) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s, the standard deviation of ξ̄_t where the scale over time is 1.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> mode_noise(Model(k2(), hidden=[0, 1], noise=Gaussian(2.0)))
    1.4142135623730951
    """
    weights = model.s / model.s.max()
    return float(np.linalg.norm(weights * model.noise.deviations(model.n)) / weights.sum())


def long_run_factor(model: Model) -> float:
    """Return how much more an average of AR(1) noise varies than one of white noise: (1 + φ)/(1 − φ)."""
    temporal = model.noise.temporal
    if not isinstance(temporal, AR1):
        return 1.0
    return (1 + temporal.coefficient) / (1 - temporal.coefficient)


def start_weight(model: Model, steps: int) -> float:
    """Return Π_{t≤T} ρ_t/(ρ_t + κ), the weight of the start in the consensus mode after ``steps`` steps.

    It is exact where stubbornness is proportional to degree, and has the right order elsewhere.

    >>> from peerpressure.networks import k2
    >>> round(start_weight(Model(k2(), hidden=[0, 1]), 9), 12)  # κ = 1 and ρ_t = t
    0.1
    """
    times = np.arange(1, checked_steps(steps) + 1)
    inverse = model.pressure.reciprocal(times)
    return float(np.exp(-np.sum(np.log1p(model.kappa * inverse))))


def checked_steps(steps: object, least: int = 1) -> int:
    """Return a number of steps as an int, refusing anything else."""
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < least:
        rule = f"steps must be a whole number, {least} or more"
        raise InvalidInputError(complain(rule, got=repr(steps), remedy="pass an int such as 1000"))
    return int(steps)


def is_proportional(model: Model) -> bool:
    """Say whether stubbornness is proportional to degree, where the recursion above is exact."""
    ratio = model.s / model.network.degrees
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def lag(model: Model) -> float | None:
    """Return K such that the mode of the fixed point at pressure ρ is v + K/ρ + O(1/ρ²).

    The fixed point is v + u/ρ with L u = S(x₀ − v) and Σ s u = 0, so K = Σ d u/Σ d. None where the network is too
    large and too long-drawn for an iterative solution.
    """
    if is_proportional(model):
        return 0.0
    u = _solve_laplacian(model, model.s * (model.x0 - model.consensus_value))
    if u is None:
        return None
    d, s = model.network.degrees, model.s
    return float(d @ u / d.sum() - s @ u / s.sum())


def _solve_laplacian(model: Model, right: Vector) -> Vector | None:
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import cg

    # Rounding leaves a sum that is not quite 0, for which there is no solution.
    balanced = right - right.mean()
    L = model.network.laplacian
    most = int(max(100, min(10 * model.n, _MOST_WORK / L.nnz)))
    u, failed = cg(L, balanced, rtol=1e-10, maxiter=most, M=diags_array(1 / model.network.degrees))
    return None if failed else np.asarray(u)
