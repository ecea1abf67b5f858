"""One run on a network that changes: how many edges there are, and how many agents are alone."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from peerpressure.figures.style import BLUE, RED, TWO_COLUMNS, panel, styled

Numbers: TypeAlias = NDArray[np.int64]
MOST_ROUNDS = 240  # drawn one by one; of more, stretches of some steps are


@styled
def changing(network: pd.DataFrame) -> Figure:
    """Show the number of edges, and of agents without a neighbour, over time.

    ``network`` has one row for each step, with ``time``, ``edges`` and ``alone``. Of a long run each stretch of steps
    is drawn as its mean, and as a band from its lowest to its highest number.
    """
    figure = Figure(figsize=(TWO_COLUMNS, 2.2))
    left, right = figure.subplots(1, 2)
    for axes, name, colour in ((left, "edges", BLUE), (right, "alone", RED)):
        _course(axes, network["time"].to_numpy(), network[name].to_numpy(), colour)
        axes.set_xlabel("time $t$")
    left.set_ylabel("edges")
    right.set_ylabel("agents")
    panel(left, "a", "who listen to each other")
    panel(right, "b", "who are alone")
    return figure


def _course(axes: Axes, times: Numbers, values: Numbers, colour: str) -> None:
    length = -(-times.size // MOST_ROUNDS)
    if length == 1:
        axes.step(times, values, where="mid", color=colour, linewidth=0.9)
    else:
        first = np.arange(0, times.size, length)
        count = np.diff(first, append=times.size)
        middle, mean = (np.add.reduceat(numbers, first) / count for numbers in (times, values))
        low, high = (extreme.reduceat(values, first) for extreme in (np.minimum, np.maximum))
        axes.fill_between(middle, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(middle, mean, color=colour, linewidth=0.9)
    axes.set_xlim(times[0], max(times[-1], times[0] + 1))
    axes.set_ylim(0, max(1.0, 1.08 * float(values.max())))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
