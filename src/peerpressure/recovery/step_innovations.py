"""The best observer of complete outputs in continuous time: what each step adds to what was shown before it."""

from __future__ import annotations

import numpy as np

from peerpressure.model import Vector
from peerpressure.recovery.continuous import time_steps
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.gls import separated
from peerpressure.recovery.inversion import refuse_incomplete
from peerpressure.recovery.knowledge import estimate_of, known_before
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior
from peerpressure.sde import SDE


def step_innovations(sde: SDE, data: Outputs, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate from complete outputs, or its posterior under a Gaussian prior.

    y_k − F_k y_{k−1} = M_k x₀ + e_k with independent e_k ~ N(0, Q_k), so that J = Σ M_kᵀ Q_k⁻¹ M_k. If the start is
    hidden and not seen, the first step enters as y_1 = (F_1 + M_1) x₀ + e_1.
    """
    refuse_incomplete(data)
    model, n = sde.model, sde.n
    unseen = isinstance(model.start, str)
    knowledge = known_before(model, data, prior)
    before = np.zeros((n, 1)) if unseen else model.start_state[:, None]
    for row, step in enumerate(time_steps(sde, data.seen.last)):
        slope = step.effect + step.matrix if unseen and not row else step.effect
        shown: Vector = data.at(row).T
        facts = np.concatenate([slope, shown - step.matrix @ before], axis=1)
        knowledge = knowledge.learn(*separated(facts, step.root, n))
        before = shown
    return estimate_of(model, data, "innovations", knowledge)
