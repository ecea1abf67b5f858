"""Figures on fixed tables: what is drawn, where, and how it is named; not the pixels."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from peerpressure.drawing import graphs, style
from peerpressure.plotting import FIGURES, _convergence, draw, network, save
from tests.plotting.samples import V, changed_by, sample_figure, sample_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return sample_tables()


def drawn(axes: Any, table: pd.DataFrame, x: str, y: str) -> bool:
    """Say whether a line of these very data stands in the axes."""
    return any(
        np.array_equal(line.get_xdata(), table[x]) and np.array_equal(line.get_ydata(), table[y]) for line in axes.lines
    )


def has_level(axes: Axes, value: float) -> bool:
    return any(np.allclose(np.asarray(line.get_ydata(), dtype=float), value) for line in axes.lines)


def words(axes: Axes) -> str:
    return " | ".join([axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_named_axes_fits_a_page_and_leaves_no_global_state(name: str) -> None:
    figure = sample_figure(name)
    assert isinstance(figure, Figure)
    assert figure.get_size_inches()[0] in (style.ONE_COLUMN, style.TWO_COLUMNS)
    # A colour bar has its name at its side, and names of rows stand for that of their axis.
    for axes in figure.axes:
        if axes.axison and name != "graph":
            assert axes.get_xlabel() or axes.get_ylabel()
    assert figure.axes[0].get_ylabel() or name == "graph"
    assert changed_by(name) == []


def legend_texts(axes: Axes) -> list[Text]:
    legend = axes.get_legend()
    return [] if legend is None else legend.get_texts()


def contrast(colour: Any) -> float:
    """Return the contrast of a colour on white, by the formula of the Web Content Accessibility Guidelines."""
    parts = np.array(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(1.05 / (linear @ (0.2126, 0.7152, 0.0722) + 0.05))


@pytest.mark.parametrize("name", FIGURES)
def test_lines_and_words_have_contrast_and_legends_have_samples(name: str) -> None:
    for axes in sample_figure(name).axes:
        shown: list[Any] = [*axes.lines, *axes.texts, *legend_texts(axes)]
        for item in shown:
            assert contrast(item.get_color()) >= 3
            assert item.get_alpha() in (None, 1)
        legend = axes.get_legend()
        if legend is not None:
            assert len(legend.legend_handles) == len(legend.get_texts()) > 1
        # A name in a corner of the axes would be a legend without samples.
        assert not [text for text in axes.texts if text.get_transform() == axes.transAxes and name != "splitting"]


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_is_cut_or_covers_another(name: str) -> None:
    figure = sample_figure(name)
    figure.draw_without_rendering()
    page = figure.bbox
    for axes in figure.axes:
        written = [*axes.texts, axes.xaxis.label, axes.yaxis.label, *legend_texts(axes)]
        boxes = [text.get_window_extent() for text in written if text.get_text()]
        for i, box in enumerate(boxes):
            assert page.x0 - 1 <= box.x0 < box.x1 <= page.x1 + 1
            assert page.y0 - 1 <= box.y0 < box.y1 <= page.y1 + 1
            assert not any(box.overlaps(other) for other in boxes[i + 1 :])


def test_graph_sizes_dots_by_degree_and_colours_them_by_opinion(tables: dict[str, pd.DataFrame]) -> None:
    figure = network.graph(tables["agents"], tables["edges"])
    axes, bar = figure.axes
    (edges,) = (item for item in axes.collections if isinstance(item, LineCollection))
    (dots,) = (item for item in axes.collections if isinstance(item, PathCollection))
    assert len(edges.get_segments()) == 3
    assert np.ptp(np.asarray(dots.get_sizes()) / tables["agents"]["degree_tree"]) == 0
    assert np.array_equal(np.asarray(dots.get_array()), tables["agents"]["hidden"])
    assert "hidden opinion" in bar.get_xlabel()
    assert "agent 1" in words(axes)


def test_boxes_lie_within_their_axes() -> None:
    for axes in sample_figure("replication_boxes").axes:
        low, high = axes.get_xlim()
        boxes = [patch.get_path().get_extents() for patch in axes.patches]
        assert len(boxes) > 1
        assert all(low < box.x0 < box.x1 < high for box in boxes)


def test_layout_is_the_same_each_time_and_lies_wide() -> None:
    ends = np.array([[0, 1], [1, 2], [2, 3], [1, 4]])
    places = graphs.layout(5, ends)
    assert np.array_equal(places, graphs.layout(5, ends))
    assert np.ptp(places[:, 0]) >= np.ptp(places[:, 1])


def test_agreement_shows_extremes_expectation_and_target(tables: dict[str, pd.DataFrame]) -> None:
    early, late = _convergence.agreement(tables["paths"], tables["summary"]).axes
    slow = tables["paths"].query("run == 'slow_tree'")
    for axes, part in ((early, slow.query(f"time <= {_convergence.EARLY}")), (late, slow.query("time >= 1"))):
        for column in ("minimum", "maximum", "expected_minimum", "expected_maximum"):
            assert drawn(axes, part, "time", column)
        assert has_level(axes, V)
    assert early.get_xscale() == "linear"
    assert late.get_xscale() == "log"
    assert late.child_axes[0].get_xscale() == "log"
    assert all(word in words(early) for word in ("minimum", "maximum", "expected", "consensus value $v$"))


def test_failure_shows_the_swing_and_the_biased_consensus(tables: dict[str, pd.DataFrame]) -> None:
    tree, triangle, cycles = _convergence.failure(tables["paths"], tables["summary"]).axes
    fast = tables["paths"].query("run == 'fast_tree'")
    assert drawn(tree, fast.query(f"1 <= time <= {_convergence.STEP_BY_STEP}"), "time", "agent_1")
    assert drawn(tree.child_axes[0], fast.tail(17), "time", "agent_1")
    assert drawn(cycles, tables["paths"].query("run == 'fast_cycles' and time >= 1"), "time", "agent_1")
    assert drawn(triangle, tables["paths"].query("run == 'fast_triangle' and time >= 1"), "time", "agent_1")
    assert drawn(
        triangle.child_axes[0], tables["paths"].query("run == 'fast_triangle' and time >= 1"), "time", "spread"
    )
    for axes in (tree, triangle, cycles):
        assert has_level(axes, V)
    assert "all agree on 0.450" in words(triangle)
    assert "all agree on 0.400" in words(cycles)
    assert "v = 0.500" in words(cycles)


def test_a_short_run_has_no_inset(tables: dict[str, pd.DataFrame]) -> None:
    _, late = _convergence.agreement(tables["paths"].query("time <= 100"), tables["summary"]).axes
    assert late.child_axes == []


@pytest.mark.parametrize("v", [0.3, 0.5])
def test_failure_names_the_higher_of_the_two_values_above(v: float, tables: dict[str, pd.DataFrame]) -> None:
    figure = _convergence.failure(tables["paths"], tables["summary"].assign(consensus_value=v))
    figure.draw_without_rendering()
    heights = {text.get_text()[:2]: text.get_window_extent().y0 for text in figure.axes[1].texts}
    assert (heights["$v"] > heights["al"]) == (v > 0.4)


def test_contraction_names_every_schedule_and_tells_the_two_kinds_apart(tables: dict[str, pd.DataFrame]) -> None:
    (axes,) = _convergence.contraction(tables["contraction"]).axes
    for name, curve in tables["contraction"].groupby("schedule"):
        assert drawn(axes, curve, "time", "product"), name
    assert len({line.get_color() for line in axes.lines}) == 2
    assert len({line.get_linestyle() for line in axes.lines}) == 2
    assert r"$2^{\sqrt{t}}$" in words(axes)


def test_approach_shows_the_exact_law_and_every_path(tables: dict[str, pd.DataFrame]) -> None:
    left, right = _convergence.approach(tables["approach_exact"], tables["approach_paths"]).axes
    exact = tables["approach_exact"]
    assert drawn(left, exact, "time", "error")
    assert drawn(right, exact, "time", "weighted_distance")
    assert drawn(right, exact, "time", "weighted_disagreement")
    assert len(left.lines) == 3 + 2
    assert len(right.lines) == 2 * 3 + 2
    assert has_level(left, 0.0)
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")


def test_tuning_shows_both_schedules_and_the_ideal(tables: dict[str, pd.DataFrame]) -> None:
    (axes,) = _convergence.tuning(tables["tuning"]).axes
    for _, curve in tables["tuning"].groupby("schedule"):
        assert drawn(axes, curve, "time", "rms")
        assert drawn(axes, curve, "time", "ideal")
    assert r"\kappa t" in words(axes)


@pytest.mark.parametrize("v", [0.3, 0.5])
def test_biased_consensus_shows_histogram_law_and_v_on_either_side(v: float, tables: dict[str, pd.DataFrame]) -> None:
    law = tables["biased_consensus_law"].assign(consensus_value=v)
    (axes,) = _convergence.biased_consensus(tables["biased_consensus"], law).axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1.0)
    curve, target = axes.lines
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=1e-4)
    assert list(np.asarray(target.get_xdata())) == [v, v]
    assert "500 runs" in words(axes)


def test_save_writes_both_kinds_the_same_each_time_with_300_dots_to_the_inch(
    tmp_path: Path, tables: dict[str, pd.DataFrame]
) -> None:
    written = save(draw("tuning", tables), tmp_path / "a", "tuning")
    again = save(draw("tuning", tables), tmp_path / "b", "tuning")
    assert [path.name for path in written] == ["tuning.pdf", "tuning.png"]
    assert [path.read_bytes() for path in written] == [path.read_bytes() for path in again]
    assert b"CreationDate" not in written[0].read_bytes()
    assert int.from_bytes(written[1].read_bytes()[16:20], "big") == round(300 * style.ONE_COLUMN)
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["tuning.pdf", "tuning.png"]


def test_a_notebook_shows_a_figure_without_pyplot(tables: dict[str, pd.DataFrame]) -> None:
    shown: Any = pickle.loads(pickle.dumps(draw("tuning", tables)))
    assert shown._repr_png_().startswith(b"\x89PNG")


def test_colours_differ_in_lightness() -> None:
    lightness = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in map(to_rgb, style.PALETTE))
    assert min(np.diff(lightness)) > 0.05
