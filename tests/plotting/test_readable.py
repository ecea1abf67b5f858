"""Plots that can be read: names that do not overlap, scales that fit the range, designs that can be told apart."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm, to_hex
from matplotlib.figure import Figure

import peerpressure as pp
from peerpressure.networks import cycle, named
from peerpressure.plotting import network
from peerpressure.plotting.sweep import sweep_plot
from peerpressure.privacy import DESIGNS, exposure, frontier

NUMBERS = [0.001 * 2**k for k in range(10)]


def table(along: list[object], reach: float = 1.0) -> pd.DataFrame:
    """Return a sweep over these values and two others, whose measure spans a factor."""
    columns = {"replicate": 0, "measure": "spread", "detail": ""}
    rows = [
        {"place": x, "other": y, "replication": r, "value": reach ** (i / len(along)) * (1 + y + 0.1 * r), **columns}
        for i, x in enumerate(along)
        for y in (0.1, 1.0)
        for r in (0, 1)
    ]
    return pd.DataFrame(rows)


def assert_apart(figure: Figure) -> None:
    """Check that the names of ticks do not overlap: side by side, or as parallel slanted lines."""
    axes = figure.axes[0]
    figure.draw_without_rendering()
    ticks = [tick for tick in axes.get_xticklabels() if tick.get_text()]
    assert len({tick.get_text() for tick in ticks}) == len(ticks) > 1
    boxes = [tick.get_window_extent() for tick in ticks]
    angle = math.radians(float(ticks[0].get_rotation()))
    for left, right, a, b in zip(ticks, ticks[1:], boxes, boxes[1:], strict=False):
        if not angle:
            assert a.x1 < b.x0, (left.get_text(), right.get_text())
            continue
        steps = axes.transData.transform([(float(tick.get_position()[0]), 0.0) for tick in (left, right)])[:, 0]
        letters = float(left.get_fontsize()) * figure.dpi / 72
        assert (steps[1] - steps[0]) * math.sin(angle) > letters


@pytest.mark.parametrize("kind", ["lines", "boxes", "heat"])
@pytest.mark.parametrize(("count", "words"), [(3, True), (10, True), (30, False)])
def test_the_names_of_ticks_never_overlap(kind: str, count: int, words: bool) -> None:
    rates = [(1 + k) / 1000 for k in range(count)]
    along = [f'{{"kind": "stretched_exponential", "rate": {rate}}}' if words else rate for rate in rates]
    figure = sweep_plot(table([*along]), kind, x="place", by="other").figure
    assert_apart(figure)


def test_colours_are_logarithmic_where_the_range_is_wide() -> None:
    wide = sweep_plot(table([*NUMBERS], 1e6), "heat").figure.axes[0].images[0]
    assert isinstance(wide.norm, LogNorm)
    narrow = sweep_plot(table([*NUMBERS], 5.0), "heat").figure.axes[0].images[0]
    assert not isinstance(narrow.norm, LogNorm)
    crossing = table([*NUMBERS], 1e6)
    crossing.loc[0, "value"] = -5.0
    assert not isinstance(sweep_plot(crossing, "heat").figure.axes[0].images[0].norm, LogNorm)
    assert sweep_plot(table([*NUMBERS], 1e6), "boxes").figure.axes[0].get_yscale() == "log"


def test_every_design_has_a_look_of_its_own() -> None:
    trade_off = frontier(pp.Model(cycle(5), np.linspace(0, 1, 5), noise=pp.Gaussian(1.0)), 20, [0.5, 1.0])
    looks = network._looks(list(dict.fromkeys(trade_off.table["design"])))
    assert len(set(looks.values())) == len(looks) == len(DESIGNS)
    assert len(set(network._looks([str(k) for k in range(20)]).values())) == 20
    drawn = network.frontier(trade_off.table, trade_off.units, trade_off.limit)
    used = {(to_hex(str(line.get_color())), str(line.get_linestyle())) for line in drawn.axes[0].lines}
    assert set(looks.values()) <= used


def test_agents_of_small_maps_are_named() -> None:
    def names(name: str) -> set[str]:
        graph = named(name)
        report = exposure(pp.Model(graph, np.linspace(0, 1, graph.n), noise=pp.Gaussian(1.0)), 5)
        return {text.get_text() for text in network.exposure(report.table, report.edges()).axes[0].texts}

    assert {"Medici", "Strozzi", "Pazzi"} <= names("florentine")
    assert not names("karate")


def test_words_without_order_have_points_with_error_bars_side_by_side() -> None:
    axes = sweep_plot(table(["karate", "ring", "star"]), x="place", by="other").figure.axes[0]
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert [line.get_linestyle() for line in points] == ["None", "None"]
    first, second = (np.asarray(line.get_xdata(), dtype=np.float64) for line in points)
    assert np.array_equal(first.round(), [0, 1, 2])
    assert np.array_equal(second.round(), [0, 1, 2])
    assert (first < second).all()
    # Values 1.1 and 1.2 of two replications, and 2.0 and 2.1.
    segments = [np.asarray(one.get_segments()[0]) for one in axes.collections if isinstance(one, LineCollection)]
    bars = [np.ptp(ends[:, 1]) for ends in segments]
    assert bars == pytest.approx([0.1, 0.1])


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((2, 3), "spread\n± standard error, 2 replications"),
        ((1, 3), "spread\n± standard error, 3 replicates"),
        ((1, 1), "spread"),
    ],
)
def test_the_band_of_a_sweep_is_over_what_is_independent(counts: tuple[int, int], words: str) -> None:
    replications, replicates = counts
    index = [(x, i, j) for x in (1, 2) for i in range(replications) for j in range(replicates)]
    rows = pd.DataFrame(index, columns=["place", "replication", "replicate"])
    rows = rows.assign(measure="spread", detail="", value=rows.eval("place + 0.1 * replication + 0.01 * replicate"))
    axes = sweep_plot(rows).figure.axes[0]
    assert axes.get_ylabel() == words
    values = {"2": [1.01, 1.11], "1": [1.0, 1.01, 1.02] if replicates > 1 else [1.0]}[str(replications)]
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    heights = np.asarray(axes.collections[0].get_paths()[0].vertices)[:, 1]
    assert heights.max() - heights.min() == pytest.approx(1 + 2 * error)
