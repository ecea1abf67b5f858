"""The figures of the report by name, each with the tables that it is drawn from."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from peerpressure.plotting import _convergence, _recovery, network, sweep

if TYPE_CHECKING:
    import pandas as pd

# Each figure of the report with its tables, in the order of the report, which numbers them. A function receives only
# these tables: a figure cannot depend on anything that is not published beside it.
FIGURES: Mapping[str, tuple[Callable[..., Figure], tuple[str, ...]]] = MappingProxyType(
    {
        "observers": (_recovery.observers, ("observers",)),
        "observation_error": (_recovery.observation_error, ("observation_error",)),
        "graph": (network.graph, ("agents", "edges")),
        "agreement": (_convergence.agreement, ("paths", "summary")),
        "failure": (_convergence.failure, ("paths", "summary")),
        "contraction": (_convergence.contraction, ("contraction",)),
        "biased_consensus": (_convergence.biased_consensus, ("biased_consensus", "biased_consensus_law")),
        "approach": (_convergence.approach, ("approach_exact", "approach_paths")),
        "tuning": (_convergence.tuning, ("tuning",)),
        "two_agents": (_recovery.two_agents, ("two_agents_estimates", "two_agents_covariances")),
        "residuals": (_recovery.residuals, ("residuals", "residual_agents", "residual_normality")),
        "boxes_two": (sweep.boxes_two, ("sweep_boxes", "sweep_cells")),
        "shapes_two": (sweep.shapes_two, ("sweep_residuals",)),
        "replication_boxes": (sweep.replication_boxes, ("replication_boxes",)),
        "boxes_one": (sweep.boxes_one, ("sweep_boxes", "sweep_cells")),
        "shapes_one": (sweep.shapes_one, ("sweep_residuals",)),
        "size_effect": (_recovery.size_effect, ("size_effect",)),
        "noise_levels": (_convergence.noise_levels, ("noise_paths", "noise_law")),
        "exact_vs_sampled": (_convergence.exact_vs_sampled, ("exact_vs_sampled",)),
        "partial_observers": (_recovery.partial_observers, ("partial_observers",)),
        "privacy_over_time": (_recovery.privacy_over_time, ("privacy_over_time",)),
    }
)


def draw(name: str, tables: Mapping[str, "pd.DataFrame"]) -> Figure:
    """Return a figure of the report.

    Parameters
    ----------
    name : str
        A key of ``FIGURES``.
    tables : mapping of str to pandas.DataFrame
        The tables by name, as ``peerpressure.reproduction.paper_tables`` returns them.

    Returns
    -------
    matplotlib.figure.Figure
        The figure, not attached to any window.

    Raises
    ------
    KeyError
        If there is no such figure, or a table that it needs is missing.

    See Also
    --------
    save : Writes a figure as PDF and PNG.

    Examples
    --------
    >>> import pandas as pd
    >>> from peerpressure.plotting import draw
    >>> effect = {"edges": [1, 1, 2, 2], "agents": [20, 30, 20, 30], "variance": 1.0, "standard_error": 0.1}
    >>> draw("size_effect", {"size_effect": pd.DataFrame(effect)}).axes[0].get_xlabel()
    'number of agents $|V|$'
    """
    function, needed = FIGURES[name]
    return function(*(tables[table] for table in needed))
