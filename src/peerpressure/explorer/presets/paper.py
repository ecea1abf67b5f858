"""The paper's own figures, each one state of the page."""

from __future__ import annotations

from typing import Any

from peerpressure.experiments import printed
from peerpressure.experiments.convergence import SEED
from peerpressure.explorer.presets.base import (
    BOTH,
    DRAWN,
    FAST,
    LINEAR,
    LOG_LOG,
    OBSERVER,
    Preset,
    gaussian,
    published,
    scale_free,
)


def _cell(n: int, noise: float, m: int) -> dict[str, Any]:
    """Return one cell of the paper's sweep: so many agents, noise of this deviation, m edges per step."""
    return {
        "network": scale_free(n, m),
        "agents": DRAWN,
        "pressure": LINEAR,
        "noise": gaussian(noise),
        "run": {"steps": printed.STEPS, "replicates": printed.SWEEP_REPLICATIONS, "seed": SEED},
        "observe": BOTH,
    }


PAPER: tuple[Preset, ...] = (
    Preset(
        "graph",
        "The scale-free graph",
        "paper",
        "A hundred agents, most with one neighbour, a few with many. With one edge per newcomer it is a tree.",
        published(1, LINEAR, 150),
        {"colour": "hidden", "time": 0},
    ),
    Preset(
        "first-steps",
        "Agreement: the first steps",
        "paper",
        "Under ρ_t = t the highest and the lowest opinion come together although everyone speaks with noise.",
        published(1, LINEAR, 150),
    ),
    Preset(
        "long-run",
        "Agreement: the long run",
        "paper",
        "Agents agree soon, but on v only slowly: spread and distance to v are two different things.",
        published(1, LINEAR, 50_000),
        LOG_LOG,
    ),
    Preset(
        "too-fast",
        "Pressure that grows too fast",
        "paper",
        "Under ρ_t = 2^√t a tree never agrees: its two sides swing for ever.",
        published(1, FAST, 150),
    ),
    Preset(
        "two-agents",
        "Two agents, looked at",
        "paper",
        "The regression's estimates of x₀ = (1, 2) after 100 steps. The best estimator is off by a tenth of that.",
        {
            "network": {"generator": "k2"},
            "agents": {"hidden": list(printed.TWO_AGENTS_HIDDEN), "stubbornness": 1.0},
            "pressure": LINEAR,
            "noise": gaussian(printed.TWO_AGENTS_NOISE),
            "run": {"steps": printed.STEPS, "replicates": printed.REPLICATIONS, "seed": SEED},
            "observe": BOTH,
        },
        OBSERVER,
    ),
    Preset(
        "residuals",
        "A hundred agents, looked at",
        "paper",
        "How far the regression misses each of a hundred hidden opinions after 100 steps.",
        published(2, LINEAR, printed.STEPS, 1.0, replicates=printed.REPLICATIONS, observe=BOTH),
        OBSERVER,
    ),
    Preset(
        "sweep-small",
        "The sweep: 20 agents, σ₀ = 5.5",
        "paper",
        "The smallest and quietest cell of the paper's sweep over sizes and noise; move both and watch the error.",
        _cell(20, 5.5, 2),
        OBSERVER,
    ),
    Preset(
        "sweep-large",
        "The sweep: 90 agents, σ₀ = 10",
        "paper",
        "The largest and loudest cell: the error follows the noise and hardly the size.",
        _cell(90, 10.0, 2),
        OBSERVER,
    ),
    Preset(
        "sweep-trees",
        "The appendix: trees",
        "paper",
        "The sweep again with one edge per newcomer: the same picture, a little larger.",
        _cell(50, 7.5, 1),
        OBSERVER,
    ),
    Preset(
        "louder",
        "Louder noise",
        "paper",
        "σ₀ = 5 on a graph with odd cycles. Louder noise only adds scatter; the rate stays. Try 0.1, 1 and 10.",
        published(2, LINEAR, 3_000, 5.0, replicates=20),
        LOG_LOG,
    ),
)
