"""The verdict on the model in continuous time, in the words of the discrete one."""

from __future__ import annotations

from typing import NamedTuple

from peerpressure.sde import SDE
from peerpressure.theory.continuous_time.fate import ContinuousFate, continuous_fate
from peerpressure.theory.continuous_time.reasons import reason_for
from peerpressure.theory.ends import Outcome
from peerpressure.theory.extensions.consensus_limit import ConsensusLimit
from peerpressure.theory.rates import Rate


class ContinuousFacts(NamedTuple):
    """What a verdict says of a process."""

    outcome: Outcome
    reason: str
    estimated: bool
    rate: Rate
    consensus_limit: ConsensusLimit | None


def continuous_facts(sde: SDE) -> ContinuousFacts:
    """Return what becomes of a process, and by which laws."""
    found = continuous_fate(sde)
    landed = None
    if found.limit is not None:
        steps = round(found.limit.horizon / sde.step)
        landed = ConsensusLimit(found.limit.mean, found.limit.std, steps, found.limit.residual)
    reason = reason_for(sde, found)
    return ContinuousFacts(found.outcome, reason, found.estimated, _rate(sde, found), landed)


def _rate(sde: SDE, found: ContinuousFate) -> Rate:
    growth = sde.pressure.growth
    ratio = sde.model.kappa / growth.slope if growth.exponent == 1 and growth.slope else None
    laws = (found.bias, found.variance, found.disagreement)
    return Rate(found.regime, *laws, ratio, found.estimated)
