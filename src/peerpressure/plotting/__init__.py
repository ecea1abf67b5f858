"""The figures, one function each: tables in, a Matplotlib figure out; none of them simulates."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from peerpressure.plotting import continuous, convergence, extensions, network, rates, recovery, sweep, two_agents
from peerpressure.plotting.style import render, save

if TYPE_CHECKING:
    import pandas as pd

# Each figure with the tables that it is drawn from, in the order in which they are read.
FIGURES: Mapping[str, tuple[Callable[..., Figure], tuple[str, ...]]] = MappingProxyType(
    {
        "graph": (network.graph, ("agents", "edges")),
        "agreement": (convergence.agreement, ("paths", "summary")),
        "failure": (convergence.failure, ("paths", "summary")),
        "contraction": (rates.contraction, ("contraction",)),
        "wrong_values": (convergence.wrong_values, ("wrong_values", "wrong_value_law")),
        "approach": (rates.approach, ("approach_exact", "approach_paths")),
        "tuning": (rates.tuning, ("tuning",)),
        "two_agents": (two_agents.two_agents, ("two_agents_estimates", "two_agents_covariances")),
        "residuals": (recovery.residuals, ("residuals", "residual_agents", "residual_normality")),
        "boxes_two": (sweep.boxes_two, ("sweep_boxes",)),
        "shapes_two": (sweep.shapes_two, ("sweep_residuals",)),
        "boxes_one": (sweep.boxes_one, ("sweep_boxes",)),
        "shapes_one": (sweep.shapes_one, ("sweep_residuals",)),
        "intervals": (sweep.intervals, ("intervals",)),
        "size_effect": (recovery.size_effect, ("size_effect",)),
        "noise_levels": (convergence.noise_levels, ("noise_paths", "noise_law")),
        "observers": (recovery.observers, ("observers",)),
        "partial_observers": (recovery.partial_observers, ("partial_observers",)),
        "privacy_over_time": (recovery.privacy_over_time, ("privacy_over_time",)),
        "exact_vs_sampled": (rates.exact_vs_sampled, ("exact_vs_sampled",)),
        "adaptation": (extensions.adaptation, ("timescale_opinions",)),
        "consensus_limit": (
            extensions.consensus_limit,
            ("timescale_consensus_limit", "timescale_sampled_limit", "timescale_hidden_spread"),
        ),
        "decreasing_rates": (extensions.decreasing_rates, ("timescale_decreasing",)),
        "forgetting": (extensions.forgetting, ("forgetting_information", "forgetting_recovery")),
        "turnover": (extensions.turnover, ("turnover_law", "turnover_targets")),
        "speaker": (extensions.speaker, ("speaker_paths", "speaker_shares")),
        "parting": (extensions.parting, ("parting_courses", "parting_windows")),
        "density": (continuous.density, ("density_law", "density_cells", "density_grid")),
        "shrinking_steps": (continuous.shrinking_steps, ("shrinking_steps", "weak_errors")),
        "euler_orders": (continuous.orders, ("weak_errors", "strong_errors")),
        "swing": (continuous.swing, ("swing_paths", "swing_limits")),
    }
)

# Those that also move: what returns an animated GIF, from the tables of the figure of that name.
ANIMATIONS: Mapping[str, Callable[..., bytes]] = MappingProxyType({"density": continuous.density_animation})


def draw(name: str, tables: Mapping[str, "pd.DataFrame"]) -> Figure:
    """Return the figure of this name, drawn from the tables that it needs."""
    function, needed = FIGURES[name]
    return function(*(tables[table] for table in needed))


__all__ = ["ANIMATIONS", "FIGURES", "draw", "render", "save"]
