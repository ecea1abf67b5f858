"""Networks that change: ties of different turnover, a speaker heard now and then, groups that part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from peerpressure.experiments.convergence import SEED
from peerpressure.experiments.evolving.parting import parting
from peerpressure.experiments.evolving.speaker import speaker
from peerpressure.experiments.evolving.turnover import turnover

if TYPE_CHECKING:
    import pandas as pd


def evolving_networks(seed: int = SEED) -> dict[str, pd.DataFrame]:
    """Return all tables on networks that change."""
    return turnover(seed) | speaker(seed) | parting(seed)


__all__ = ["evolving_networks", "parting", "speaker", "turnover"]
