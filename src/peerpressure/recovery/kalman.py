from __future__ import annotations
from collections import deque
from peerpressure.model import Model
from peerpressure.recovery.estimate import Estimate
from peerpressure.recovery.filtering import run_filter
from peerpressure.recovery.knowledge import estimate_of
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.prior import Prior

def kalman(model: Model, data: Outputs, prior: Prior | None = None) -> Estimate:
    last = deque(run_filter(model, data, prior), maxlen=1)[0]
    return estimate_of(model, data, "kalman", last.knowledge)
