"""The figures, one function each: tables in, a Matplotlib figure out; none of them simulates."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from peerpressure.figures import convergence, graph, rates, wrong_values
from peerpressure.figures.style import save

if TYPE_CHECKING:
    import pandas as pd

# Each figure with the tables that it is drawn from.
FIGURES: Mapping[str, tuple[Callable[..., Figure], tuple[str, ...]]] = MappingProxyType(
    {
        "graph": (graph.graph, ("agents", "edges")),
        "agreement": (convergence.agreement, ("paths", "summary")),
        "failure": (convergence.failure, ("paths", "summary")),
        "contraction": (rates.contraction, ("contraction",)),
        "approach": (rates.approach, ("approach_exact", "approach_paths")),
        "tuning": (rates.tuning, ("tuning",)),
        "wrong_values": (wrong_values.wrong_values, ("wrong_values", "wrong_value_law")),
    }
)


def draw(name: str, tables: Mapping[str, "pd.DataFrame"]) -> Figure:
    """Return the figure of this name, drawn from the tables that it needs."""
    function, needed = FIGURES[name]
    return function(*(tables[table] for table in needed))


__all__ = ["FIGURES", "draw", "save"]
