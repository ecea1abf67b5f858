"""Departure of the limit from consensus on v: its sizes, and the outcome that they decide.

Where Σ 1/ρ_t converges, the classification cannot tell whether the limit is v or whether two sides differ: that takes
numbers. A number counts as 0 if it is smaller than what its computation resolves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from peerpressure.theory._classification import LongRun, Outcome
from peerpressure.theory._limits import ConsensusLimit, limit_of
from peerpressure.theory._regime import NoiseEffect
from peerpressure.theory._structure import SAME, NoiselessLimit
from peerpressure.theory._swing import without_negligible_swing

# Rounding errors of a limit, as a share of the largest opinion.
ROUNDING = 1e-13
# A limit this close to v, as a share of the range of opinions, is called v even if a smaller difference is unresolved.
CLOSE = 1e-6


@final
@dataclass(frozen=True)
class Departure:
    """How far the limit is from consensus on v.

    Attributes
    ----------
    bias : float
        |E limit − v|, for the average of the two phases where the limit is periodic.
    std : float
        Standard deviation of the limit over the noise, ∞ where it is unbounded.
    swing : float
        Root mean square of the difference between the two phases of a periodic limit, 0 for others.
    resolution : float
        Error of the computation; what is smaller cannot be told from 0.
    """

    bias: float
    std: float
    swing: float
    resolution: float


def decide(long_run: LongRun, tolerance: float) -> tuple[LongRun, ConsensusLimit | None, Departure | None]:
    """Compute the limit, and let the sizes of its departure decide the outcome where they do.

    ``tolerance`` is that of the limit, as a share of the range of opinions; it is lowered where a size is unclear.
    """
    long_run = without_negligible_swing(long_run, _scale(long_run))
    limit = limit_of(long_run, tolerance=tolerance)
    if limit is None:
        return long_run, None, None
    found = departure(long_run, limit)
    if long_run.outcome not in (Outcome.BIASED_CONSENSUS, Outcome.OSCILLATION) or math.isinf(limit.std):
        return long_run, limit, found
    threshold = SAME * _scale(long_run)
    if not _is_clear(long_run, found) and found.resolution > threshold:
        limit = limit_of(long_run, tolerance=SAME) or limit
        found = departure(long_run, limit)
    outcome = _outcome(long_run, found, threshold)
    if outcome is not Outcome.OSCILLATION:
        # Phases that do not differ are one value.
        limit = replace(limit, phases=None)
    return replace(long_run, decided=outcome), limit, found


def departure(long_run: LongRun, limit: ConsensusLimit) -> Departure:
    """Return the sizes of a limit's departure from v."""
    model, phases, swing = long_run.model, limit.phases, 0.0
    if phases is not None:
        apart = np.array([1.0, -1.0])
        # Rounding may leave a negative variance.
        swing = math.hypot(apart @ phases.mean, math.sqrt(max(0.0, apart @ phases.covariance @ apart)))
    elif _is_driven(long_run):
        # The difference of the sides is half the swing. It obeys the recursion of the common value with alternating
        # signs, for which noise of autocorrelation φ is noise of autocorrelation −φ.
        swing = 2 * limit.std * (1 - long_run.phi) / (1 + long_run.phi)
    largest = float(np.abs(np.concatenate([model.x0, model.start_state])).max())
    return Departure(
        bias=abs(limit.mean - model.consensus_value),
        std=limit.std,
        swing=swing,
        resolution=limit.residual + ROUNDING * largest,
    )


def _is_driven(long_run: LongRun) -> bool:
    """Whether only noise keeps the two sides of a bipartite network apart."""
    agree = long_run.structure.limit is NoiselessLimit.CONSENSUS
    return agree and long_run.outcome is Outcome.OSCILLATION and long_run.noise is NoiseEffect.WANDERS


def _scale(long_run: LongRun) -> float:
    model = long_run.model
    # Opinions may all be equal, in which case noise sets the scale.
    return float(np.ptp(np.concatenate([model.x0, model.start_state]))) + float(long_run.deviations.max())


def _is_clear(long_run: LongRun, found: Departure) -> bool:
    """Whether the sizes that decide clearly exceed what is resolved: the swing, or else bias and deviation."""
    if long_run.outcome is Outcome.OSCILLATION:
        return found.swing > 2 * found.resolution
    return max(found.bias, found.std) > 2 * found.resolution


def _outcome(long_run: LongRun, found: Departure, threshold: float) -> Outcome:
    negligible = max(found.resolution, threshold)
    swings = long_run.outcome is Outcome.OSCILLATION
    if swings and found.swing > negligible:
        return Outcome.OSCILLATION
    moved = max(found.bias, found.std) > negligible
    if (swings or not moved) and negligible > CLOSE * _scale(long_run):
        return Outcome.UNKNOWN
    return Outcome.BIASED_CONSENSUS if moved else Outcome.CONSENSUS
