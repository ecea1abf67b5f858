"""The consensus mode by itself: one number that obeys a recursion of its own.

Summing (S + ρ_t D) y_t = S ξ_t + ρ_t A y_{t−1} over all agents, with m_t = Σ d y_t/Σ d and ξ̄_t = Σ s ξ_t/Σ s, gives

    m_t = m_{t−1} + (κ/ρ_t)(ξ̄_t − Σ s y_t/Σ s),

and near agreement Σ s y_t/Σ s = m_t + O(1/ρ_t), so that m_t ≈ (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ): a running average with
step κ/(ρ_t + κ). The functions here are the numbers that this recursion needs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.model import Model
from peerpressure.noises import AR1, NoNoise
from peerpressure.sde import SDE
from peerpressure.sde.moments import moments_of
from peerpressure.theory.adjoint import run_backwards
from peerpressure.theory.functionals import consensus_mode
from peerpressure.theory.grounded import balanced_solver
from peerpressure.theory.reduced import reduced
from peerpressure.theory.times import step_count


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


def start_weight(model: Model | SDE, steps: int) -> float:
    """Return Π_{t≤T} ρ_t/(ρ_t + κ), the weight of the start in the consensus mode after ``steps`` steps.

    It is exact where stubbornness is proportional to degree, and has the right order elsewhere. Where the network
    changes or hidden opinions adapt, and in continuous time, the weight of y₀ is worked out exactly by the adjoint.

    >>> from peerpressure.networks import k2
    >>> round(start_weight(Model(k2(), hidden=[0, 1]), 9), 12)  # κ = 1 and ρ_t = t
    0.1
    """
    weights = consensus_mode(model).weights[None]
    if isinstance(model, SDE):
        process = replace(model, model=_start_alone(model.model))
        return float(moments_of(process, weights, model.time(step_count(steps))).mean[0, 0])
    model = reduced(model)
    if not model.is_plain:
        return float(run_backwards(_start_alone(model), weights, np.array([step_count(steps)])).mean[0, 0])
    times = np.arange(1, step_count(steps) + 1)
    inverse = model.pressure.reciprocal(times)
    return float(np.exp(-np.sum(np.log1p(model.kappa * inverse))))


def _start_alone(model: Model) -> Model:
    """Return a model in which a start of 1 shows its own weight, as all else is 0."""
    return replace(model, hidden=np.zeros(model.n), start=np.ones(model.n), noise=NoNoise())


def is_proportional(model: Model) -> bool:
    """Say whether stubbornness is proportional to degree, where the recursion above is exact."""
    ratio = model.s / model.network.degrees
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def lag(model: Model) -> float:
    """Return K such that the mode of the fixed point at pressure ρ is v + K/ρ + O(1/ρ²).

    The fixed point is v + z/ρ with L z = S(x₀ − v) and Σ s z = 0, so K = Σ d z/Σ d.
    """
    if is_proportional(model):
        return 0.0
    d, s = model.network.degrees, model.s / model.s.max()
    z = balanced_solver(model.network.laplacian, s)(model.s * (model.x0 - model.consensus_value))
    return float(d @ z / d.sum())
