"""Whether the regression's error depends on the graph's size and density: exact, over many graphs, no noise drawn.

Tables
------
size_effect
    edges (added per step), agents, graphs, variance, standard_error: the expected variance over vertices of one
    residual vector in units of σ₀², mean over random graphs and stubbornness; the error is that of the draw of graphs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from peerpressure.experiments import printed
from peerpressure.experiments.convergence import SEED
from peerpressure.experiments.ols_law import expected_variance, ols_law
from peerpressure.experiments.sweep_ba import cell_model

# Shared out evenly among sizes: a small graph says less of the mean over graphs, and costs as much less.
AGENTS_IN_ALL = 1_500
LEAST_GRAPHS = 2


def size_effect(
    seed: int = SEED,
    agents_in_all: int = AGENTS_IN_ALL,
    *,
    steps: int = printed.STEPS,
    sizes: Sequence[int] = printed.SWEEP_AGENTS,
    families: Sequence[int] = printed.SWEEP_EDGES,
) -> pd.DataFrame:
    """Return the table of both families, with about as many agents at each size.

    >>> size_effect(agents_in_all=60, sizes=[20], families=[1])["graphs"].tolist()
    [3]
    """
    counts = {agents: max(LEAST_GRAPHS, round(agents_in_all / agents)) for agents in sizes}
    return pd.DataFrame([_row(seed, counts[agents], steps, edges, agents) for edges in families for agents in sizes])


def _row(seed: int, graphs: int, steps: int, edges: int, agents: int) -> dict[str, Any]:
    kind = {"edges": edges, "agents": agents}
    # Streams of their own, so that another number of graphs adds to those that were there.
    draws = [int(np.random.SeedSequence([seed, 3, edges, agents, i]).generate_state(1)[0]) for i in range(graphs)]
    found = [expected_variance(ols_law(cell_model(kind | {"noise": 1.0}, s), steps).covariance)[0] for s in draws]
    error = float(np.std(found, ddof=1) / np.sqrt(graphs))
    return kind | {"graphs": graphs, "variance": float(np.mean(found)), "standard_error": error}
