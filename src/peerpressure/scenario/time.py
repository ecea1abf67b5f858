"""[time]: continuous time, and the steps in which it is walked."""

from __future__ import annotations

from typing import Literal

from peerpressure.model import Model
from peerpressure.scenario.section import Positive, Section
from peerpressure.sde import SDE


class Time(Section):
    """Time that flows: the model as a stochastic differential equation, recorded every ``step`` of time.

    ``scaling`` says what stands before the noise, and ``method`` how paths are drawn. ``continuous = false`` goes back
    to steps and keeps the other keys for later.
    """

    continuous: bool = True
    step: Positive = 0.1
    scaling: Literal["printed", "model"] = "printed"
    method: Literal["auto", "exact", "euler"] = "auto"

    def flow(self, model: Model) -> Model | SDE:
        """Return the model as it runs in this time."""
        return SDE(model, self.step, self.scaling, self.method) if self.continuous else model
