"""What an observer learns, in plain sentences with a few rounded numbers; those of the verdict are its own."""

from __future__ import annotations

import math

import numpy as np

from peerpressure.privacy import Budget, Exposure
from peerpressure.support.text import significant

STRONG = 5  # ε beyond which a promise of privacy is weak


def exposed(exposure: Exposure) -> str:
    """Return how much an observer of a run learns about hidden opinions."""
    table = exposure.table
    before = math.sqrt(table["prior_variance"].mean())
    seen = table["seen"].to_numpy()
    after = [
        f"{significant(math.sqrt(table['posterior_variance'][chosen].mean()))} for agents that it {sees}"
        for chosen, sees in ((seen, "sees"), (~seen, "does not see"))
        if chosen.any()
    ]
    who = f"{np.count_nonzero(seen):,} of {seen.size:,} agents"
    learned = f"its typical error about a hidden opinion falls from {significant(before)} to {' and '.join(after)}"
    return f"An observer of {who} over {exposure.steps:,} steps: {learned}."


def spent(budget: Budget, steps: int) -> str:
    """Return the privacy that a run costs under the budget's observer."""
    if not math.isfinite(budget.epsilon):
        return "The run gives hidden opinions away: no finite ε bounds what this observer learns."
    much = "little" if budget.epsilon <= 1 else "much" if budget.epsilon > STRONG else "something"
    epsilon = f"{budget.epsilon:,.0f}" if budget.epsilon >= 10 else f"{budget.epsilon:.2g}"
    one = "opinion of one agent"
    if budget.model.network.topics:
        person = budget.definition.unit == "person"
        one = "opinions of one agent on all topics" if person else "opinion of one agent on one topic"
    secret = "as long as the seed is secret"
    return f"After {steps:,} steps ε = {epsilon}: this observer may learn {much} about the {one}, {secret}."
