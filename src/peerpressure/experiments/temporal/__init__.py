"""Networks that change: ties of different turnover, a speaker heard now and then, groups that part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerpressure.experiments.convergence import SEED
from peerpressure.experiments.temporal.parting import STEPS, parting
from peerpressure.experiments.temporal.speaker import speaker
from peerpressure.experiments.temporal.turnover import turnover

if TYPE_CHECKING:
    import pandas as pd

# Turnover and a speaker show what they do sooner than groups part and come back.
SOON = 1_000


def temporal_networks(seed: int = SEED, steps: int = STEPS) -> dict[str, pd.DataFrame]:
    """Return all tables on networks that change, of runs that are no longer than so many steps."""
    soon = min(steps, SOON)
    return turnover(seed, soon) | speaker(seed, soon) | parting(seed, steps)


__all__ = ["parting", "speaker", "temporal_networks", "turnover"]
