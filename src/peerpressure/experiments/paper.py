"""All experiments that the figures need, from one seed."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from peerpressure.experiments.convergence import SEED, STEPS, convergence
from peerpressure.experiments.rates import approach, contraction_products, scale_free_model, tuning
from peerpressure.experiments.wrong_values import wrong_values

# Exact laws cost more than simulated steps, and their figures need no more of them.
MOST_EXACT_STEPS = 10_000
MOST_APPROACH_STEPS = 5_000


def paper_tables(
    seed: int = SEED, steps: int = STEPS, *, tell: Callable[[str], None] = lambda stage: None
) -> dict[str, pd.DataFrame]:
    """Return every table by name; ``tell`` hears of each stage before it begins."""
    tell("slow and fast pressure, on a tree and with odd cycles")
    tables = convergence(seed, steps).tables()
    model = scale_free_model(seed)
    tell("what each schedule forgets")
    tables["contraction"] = contraction_products(min(steps, MOST_EXACT_STEPS))
    tell("when agents agree, and when they are right")
    approached = approach(model, min(steps, MOST_APPROACH_STEPS), seed=seed)
    tables |= {"approach_exact": approached.exact, "approach_paths": approached.paths}
    tell("what tuning gains")
    tables["tuning"] = tuning(model, min(steps, MOST_EXACT_STEPS))
    tell("many runs against their predicted law")
    wrong = wrong_values(model, seed=seed)
    return tables | {"wrong_values": wrong.values, "wrong_value_law": wrong.law}
