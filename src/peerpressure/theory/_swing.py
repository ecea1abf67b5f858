"""The difference between the two sides of a bipartite network, where hidden opinions adapt and pressure grows fast.

The difference δ of the two sides changes its sign in every step and loses the share κ/ρ_t at least. Where Σ 1/ρ_t
converges only just, as for t^1.01, what is left of it in the end is too small to be seen.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.integrate import cumulative_simpson

from peerpressure.model import Model, Vector
from peerpressure.theory._classification import LongRun, Outcome
from peerpressure.theory._moments import adjoint_moments
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import Regime
from peerpressure.theory._structure import SAME, NoiselessLimit

# Steps that are followed exactly, and products that they may take in all.
FOLLOWED = 2_048
MOST_WORK = 1e9
# log t of the farthest time, and nodes of the quadrature over log t.
FARTHEST = 690.0
NODES = 20_001


def without_negligible_swing(long_run: LongRun, scale: float) -> LongRun:
    """Return the classification of a bipartite network whose sides differ by less than 1e-9 of a scale in the end.

    All agents then agree. Otherwise, and where this is not computed, the classification is returned as it is.
    """
    structure, networks, omega = long_run.structure, long_run.structure.networks, long_run.omega
    periodic = long_run.outcome is Outcome.OSCILLATION and structure.limit is NoiselessLimit.PERIODIC
    adapts = long_run.model.adaptation is not None and long_run.regime is Regime.FAST and not long_run.continuous
    if not (periodic and adapts) or omega is None or networks is None or not networks.is_static:
        return long_run
    if FOLLOWED * networks.union.nnz > MOST_WORK or not _swing_left(long_run.model, omega) <= SAME * scale:
        return long_run
    agreeing = replace(structure.components[0], limit=NoiselessLimit.CONSENSUS, periodic=False)
    return replace(long_run, structure=replace(structure, components=(agreeing,)))


def _swing_left(model: Model, omega: AbsoluteProbability) -> float:
    """Return a bound on the root mean square of 2δ as t → ∞."""
    assert model.network.sides is not None
    signed = np.where(model.network.sides, -1.0, 1.0) * omega.probability[0]
    weights = np.concatenate([signed, np.zeros(model.n)])[None]
    found = adjoint_moments(model, weights, np.array([FOLLOWED]))
    now = math.hypot(float(found.mean[0, 0]), math.sqrt(max(0.0, float(found.covariance[0, 0]))))
    share, noise = _tail(model, omega)
    # Differences between constant opinions enter with alternating signs, of which the first term is a bound.
    first = omega.kappa * float(model.pressure.reciprocal(np.array([float(FOLLOWED)]))[0])
    steady = first * float(np.ptp(np.concatenate([model.x0, model.start_state])))
    return 2 * (share * (now + steady) + noise)


def _tail(model: Model, omega: AbsoluteProbability) -> tuple[float, float]:
    """Return the share of δ that later steps leave, and the deviation that their noise adds."""
    log_t = np.linspace(math.log(FOLLOWED + 0.5), FARTHEST, NODES)
    times = np.exp(log_t)
    with np.errstate(all="ignore"):
        pull = omega.kappa * model.pressure.reciprocal(times)
        passed = _integral(np.log1p(pull) * times, log_t)
        kept = np.exp(passed - passed[-1])
        squares = _integral((pull * kept * _scale(model, times)) ** 2 * times, log_t)[-1]
    # AR(1) noise counts at most as if its sign alternated too; frozen noise does not, and terms cancel in pairs.
    phi = abs(model.noise.autocorrelation) % 1
    sigma = 0.0 if model.noise.is_zero else omega.noise(model.noise.deviations(model.n), phi)
    return float(kept[0]), sigma * math.sqrt(squares)


def _scale(model: Model, times: Vector) -> Vector:
    return np.zeros_like(times) if model.noise.is_zero else np.asarray(model.noise.time_scale.pressure(times))


def _integral(values: Vector, x: Vector) -> Vector:
    return np.asarray(cumulative_simpson(values, x=x, initial=0.0))
