"""On what a network agrees when peer pressure grows too fast: many runs against the law that predicts them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import pandas as pd

from peerpressure.experiments.convergence import SEED
from peerpressure.model import Model
from peerpressure.schedules import StretchedExponential
from peerpressure.simulation import simulate
from peerpressure.theory.functionals import consensus_mode
from peerpressure.theory.limits import predicted_limit

# By then ρ_t = 2^√t is past 1e9, and what is still to come is smaller than any figure shows.
STEPS = 1_000
REPLICATES = 4_000


@final
@dataclass(frozen=True, eq=False)
class WrongValues:
    """The values on which runs agreed, and the normal law predicted for them."""

    values: pd.DataFrame
    law: pd.DataFrame


def wrong_values(model: Model, *, replicates: int = REPLICATES, steps: int = STEPS, seed: int = SEED) -> WrongValues:
    """Run the model under ρ_t = 2^√t many times, and predict where it ends; its network must have an odd cycle."""
    fast = replace(model, pressure=StretchedExponential())
    run, limit = simulate(fast, steps, replicates, seed=seed, record="final"), predicted_limit(fast)
    values = consensus_mode(fast)(run.final.public)
    law = {"mean": limit.mean[0], "std": limit.std[0], "consensus_value": fast.consensus_value}
    return WrongValues(pd.DataFrame({"run": run.replicates, "value": values}), pd.DataFrame([law]))
