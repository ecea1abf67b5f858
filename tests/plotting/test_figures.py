"""The figures of the report, drawn once from its tables at small sizes: what is shown, where, and how it is named."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse, PathPatch, Rectangle
from scipy import stats

from peerpressure.plotting import FIGURES, _convergence, _recovery, draw, graphs, render, save, style, sweep
from peerpressure.plotting.style import smoothed
from tests.plotting.looking import (
    assert_no_text_is_cut_or_covers_another,
    contrast_on_white,
    curves,
    drawn,
    has_level,
    laid_out,
    legend,
    legend_texts,
    words,
)
from tests.reproduction.small_paper import changed_by, paper_figure, tables_read

Tables = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def tables() -> Tables:
    return tables_read()


@pytest.fixture(scope="module")
def v(tables: Tables) -> float:
    """The consensus value of the paper's network."""
    return float(tables["summary"]["consensus_value"].iloc[0])


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_named_fits_a_page_can_be_read_and_leaves_no_global_state(name: str) -> None:
    figure = paper_figure(name)
    assert isinstance(figure, Figure)
    assert figure.get_size_inches()[0] in (style.ONE_COLUMN, style.TWO_COLUMNS)
    assert figure.axes[0].get_ylabel() or name == "graph"
    assert changed_by(name) == []
    for axes in figure.axes:
        # A colour bar has its name at its side, and names of rows stand for that of their axis.
        assert axes.get_xlabel() or axes.get_ylabel() or not axes.axison or name == "graph"
        shown: list[Any] = [*axes.lines, *axes.texts, *legend_texts(axes)]
        for item in shown:
            assert contrast_on_white(item.get_color()) >= 3
            assert item.get_alpha() in (None, 1)
        box = axes.get_legend()
        assert box is None or len(box.legend_handles) == len(box.get_texts()) > 1
        # A name in a corner of the axes would be a legend without samples.
        assert not [text for text in axes.texts if text.get_transform() == axes.transAxes]
    assert_no_text_is_cut_or_covers_another(figure)


# Agreement


def test_graph_sizes_dots_by_degree_and_colours_them_by_opinion(tables: Tables) -> None:
    agents, axes = tables["agents"], paper_figure("graph").axes[0]
    (edges,) = (item for item in axes.collections if isinstance(item, LineCollection))
    (dots,) = (item for item in axes.collections if isinstance(item, PathCollection))
    assert len(edges.get_segments()) == len(agents) - 1
    np.testing.assert_allclose(np.ptp(np.asarray(dots.get_sizes()) / agents["degree_tree"]), 0, atol=1e-12)
    assert np.array_equal(np.asarray(dots.get_array()), agents["hidden"])
    assert "hidden opinion" in paper_figure("graph").axes[1].get_xlabel()
    assert "agent 1" in words(axes)


def test_layout_is_the_same_each_time_and_lies_wide() -> None:
    ends = np.array([[0, 1], [1, 2], [2, 3], [1, 4]])
    places = graphs.layout(5, ends)
    assert np.array_equal(places, graphs.layout(5, ends))
    assert np.ptp(places[:, 0]) >= np.ptp(places[:, 1])


def test_agreement_shows_extremes_expectation_and_target(tables: Tables, v: float) -> None:
    early, late = paper_figure("agreement").axes
    slow = tables["paths"].query("run == 'slow_tree'")
    for axes, part in ((early, slow.query(f"time <= {_convergence.EARLY}")), (late, slow.query("time >= 1"))):
        for column in ("minimum", "maximum", "expected_minimum", "expected_maximum"):
            assert drawn(axes, part["time"], part[column])
        assert has_level(axes, v)
    assert (early.get_xscale(), late.get_xscale()) == ("linear", "log")
    assert late.child_axes[0].get_xscale() == "log"
    assert all(word in words(early) for word in ("minimum", "maximum", "expected", "consensus value $v$"))
    # A short run has no inset.
    short = _convergence.agreement(tables["paths"].query("time <= 100"), tables["summary"])
    assert short.axes[1].child_axes == []


def test_failure_shows_the_swing_and_the_biased_consensus(tables: Tables, v: float) -> None:
    tree, triangle, cycles = paper_figure("failure").axes
    paths, ends = tables["paths"], tables["summary"].set_index("run")["mean"]
    fast = paths.query("run == 'fast_tree'")
    steps = fast.query(f"1 <= time <= {_convergence.STEP_BY_STEP}")
    assert drawn(tree, steps["time"], steps["agent_1"])
    assert drawn(tree.child_axes[0], fast.tail(17)["time"], fast.tail(17)["agent_1"])
    for axes, run in ((triangle, "fast_triangle"), (cycles, "fast_cycles")):
        own = paths.query(f"run == '{run}' and time >= 1")
        assert drawn(axes, own["time"], own["agent_1"])
        assert f"all agree on {ends[run]:.3f}" in words(axes)
    spread = paths.query("run == 'fast_triangle' and time >= 1 and spread > 1e-15")
    assert drawn(triangle.child_axes[0], spread["time"], spread["spread"])
    assert all(has_level(axes, v) for axes in (tree, triangle, cycles))
    assert f"v = {v:.3f}" in words(cycles)


@pytest.mark.parametrize("off", [-0.1, 0.1])
def test_failure_names_the_higher_of_the_two_values_above(off: float, tables: Tables) -> None:
    summary = tables["summary"]
    agreed = float(summary.set_index("run").loc["fast_triangle", "mean"])
    figure = laid_out(_convergence.failure(tables["paths"], summary.assign(consensus_value=agreed + off)))
    heights = {text.get_text()[:2]: text.get_window_extent().y0 for text in figure.axes[1].texts}
    assert (heights["$v"] > heights["al"]) == (off > 0)


def test_contraction_names_every_schedule_and_tells_the_two_kinds_apart(tables: Tables) -> None:
    (axes,) = paper_figure("contraction").axes
    for name, curve in tables["contraction"].groupby("schedule"):
        assert drawn(axes, curve["time"], curve["product"]), name
    assert len({line.get_color() for line in axes.lines}) == 2
    assert len({line.get_linestyle() for line in axes.lines}) == 2
    assert r"$2^{\sqrt{t}}$" in words(axes)


def test_approach_shows_the_exact_law_and_every_path(tables: Tables) -> None:
    left, right = paper_figure("approach").axes
    exact, paths = tables["approach_exact"], tables["approach_paths"]["path"].nunique()
    assert drawn(left, exact["time"], exact["error"])
    assert drawn(right, exact["time"], exact["weighted_distance"])
    assert drawn(right, exact["time"], exact["weighted_disagreement"])
    assert len(left.lines) == paths + 2
    assert len(right.lines) == 2 * paths + 2
    assert has_level(left, 0.0)
    assert (right.get_xscale(), right.get_yscale()) == ("log", "log")


def test_tuning_shows_both_schedules_and_the_ideal(tables: Tables) -> None:
    (axes,) = paper_figure("tuning").axes
    for _, curve in tables["tuning"].groupby("schedule"):
        assert drawn(axes, curve["time"], curve["rms"])
        assert drawn(axes, curve["time"], curve["ideal"])
    assert r"\kappa t" in words(axes)


@pytest.mark.parametrize("side", [-3, 3])
def test_biased_consensus_shows_histogram_law_and_v_on_either_side(side: float, tables: Tables) -> None:
    law = tables["biased_consensus_law"]
    v = float(law["mean"].iloc[0] + side * law["std"].iloc[0])
    (axes,) = _convergence.biased_consensus(tables["biased_consensus"], law.assign(consensus_value=v)).axes
    bars = [bar for bar in axes.patches if isinstance(bar, Rectangle)]
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1.0)
    curve, target = axes.lines
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=1e-4)
    assert list(np.asarray(target.get_xdata())) == [v, v]
    assert "200 runs" in words(axes)


def test_noise_levels_show_every_level_and_the_common_expectation(tables: Tables) -> None:
    extremes, distances, errors = paper_figure("noise_levels").axes
    for noise, own in tables["noise_paths"].groupby("noise"):
        law = tables["noise_law"].query(f"noise == {noise}")
        positive = own[own["time"] >= 1]
        assert drawn(extremes, positive["time"], positive["minimum"])
        assert drawn(extremes, positive["time"], positive["maximum"])
        v = positive["consensus_value"]
        largest = np.maximum(positive["maximum"] - v, v - positive["minimum"])
        assert drawn(distances, positive["time"], largest)
        assert drawn(errors, law["time"], law["std"])
    assert drawn(errors, law["time"], law["bias"].abs())
    assert (errors.get_xscale(), errors.get_yscale()) == ("log", "log")


def test_exact_vs_sampled_shows_every_pair_and_the_band(tables: Tables) -> None:
    pairs = tables["exact_vs_sampled"]
    both, apart = paper_figure("exact_vs_sampled").axes
    shown = [x for line in both.lines[1:] for x in np.asarray(line.get_xdata())]
    assert sorted(shown) == sorted(pairs["exact"].abs())
    assert sorted(x for line in apart.lines[1:] for x in np.asarray(line.get_xdata())) == sorted(pairs["z"])
    names = [tick.get_text() for tick in apart.get_yticklabels()]
    assert len(set(names)) == len(names) == pairs["experiment"].nunique()


# Recovery


def test_two_agents_shows_every_estimate_the_printed_line_and_each_covariance(tables: Tables) -> None:
    estimates = tables["two_agents_estimates"]
    plane, rotated, bar = paper_figure("two_agents").axes
    assert "density" in bar.get_ylabel()
    dots = [item for item in plane.collections if isinstance(item, PathCollection)]
    for cloud, method in zip(dots, ("ols", "innovations"), strict=True):
        own = estimates[estimates["method"] == method][["agent_1", "agent_2"]]
        assert np.array_equal(np.asarray(cloud.get_offsets()), own.to_numpy())
    line = plane.lines[0]
    assert np.allclose(np.add(line.get_xdata(), line.get_ydata()), 3.0)
    assert plane.images
    kinds = [("ols", "homoskedastic"), ("ols", "textbook"), ("ols", "exact"), ("innovations", "exact")]
    laws = tables["two_agents_covariances"].set_index(["method", "kind"])
    for ellipse, kind in zip((patch for patch in rotated.patches if isinstance(patch, Ellipse)), kinds, strict=True):
        variance, covariance = laws.loc[kind, ["variance_1", "covariance"]]
        # Half axes are √(χ²·(v ∓ c)).
        assert ellipse.width / 2 == pytest.approx(np.sqrt(5.9915 * (variance - covariance)), rel=1e-4)
        assert ellipse.height / 2 == pytest.approx(np.sqrt(5.9915 * (variance + covariance)), rel=1e-4)
    assert "true, innovations" in legend(rotated)


def test_residuals_show_each_agent_the_histogram_the_fit_and_the_law(tables: Tables) -> None:
    agents = tables["residual_agents"]
    law = tables["residual_normality"].set_index("sample").loc["mean_vector"]
    each, means = paper_figure("residuals").axes
    assert len(each.lines) == len(agents) + 1
    fit, exact, zero = means.lines
    for line, mean, std in ((fit, law["mean"], law["std"]), (exact, 0.0, law["exact_std"])):
        expected = stats.norm.pdf(np.asarray(line.get_xdata()), mean, std)
        np.testing.assert_allclose(np.asarray(line.get_ydata()), expected, rtol=1e-9)
    assert list(np.asarray(zero.get_xdata())) == [0.0, 0.0]
    bars = [bar for bar in means.patches if isinstance(bar, Rectangle)]
    assert sum(bar.get_height() * bar.get_width() for bar in bars) == pytest.approx(1.0)
    assert "40 agents over 50 runs" in words(each)


def test_a_smoothed_sample_is_a_density_even_where_half_of_it_is_equal() -> None:
    x = np.linspace(-40, 40, 4001)
    for sample in (np.array([0.0, 0.0, 0.0, 4.0]), np.arange(9.0)):
        assert np.trapezoid(smoothed(sample, x), x) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("name", "edges"), [("boxes_one", 1), ("boxes_two", 2)])
def test_boxes_stand_at_their_levels_with_the_exact_mean(name: str, edges: int, tables: Tables) -> None:
    levels, figure = tables["sweep_boxes"], paper_figure(name)
    for axes, by in zip(figure.axes, ("noise_variance", "agents"), strict=True):
        own = levels[(levels["edges"] == edges) & (levels["by"] == by)]
        assert len([patch for patch in axes.patches if isinstance(patch, PathPatch)]) == len(own)
        assert drawn(axes, own["level"], own["exact_mean"])
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > own["high_whisker"].max()
    assert f"{edges} edge" in words(axes)


def test_a_cell_beyond_the_whiskers_of_its_box_is_a_circle(tables: Tables) -> None:
    cells = tables["sweep_cells"].copy()
    cells.loc[0, "mean_residual_variance"] = 99.0
    figure = sweep.boxes(tables["sweep_boxes"], cells, int(cells.loc[0, "edges"]))
    for axes, by in zip(figure.axes, ("noise_variance", "agents"), strict=True):
        circles = [line for line in axes.lines if line.get_linestyle() == "None"]
        points = [tuple(point) for line in circles for point in np.asarray(line.get_xydata())]
        assert (cells.loc[0, by], 99.0) in points


def test_boxes_lie_within_their_axes() -> None:
    for axes in paper_figure("replication_boxes").axes:
        low, high = axes.get_xlim()
        boxes = [patch.get_path().get_extents() for patch in axes.patches]
        assert len(boxes) > 1
        assert all(low < box.x0 < box.x1 < high for box in boxes)
        least, most = axes.get_ylim()
        whiskers = np.concatenate([heights for heights in curves(axes) if heights.size])
        assert least == 0 <= whiskers.min() < whiskers.max() < most


def test_shapes_have_one_curve_for_each_noise_in_three_panels(tables: Tables) -> None:
    *panels, bar = paper_figure("shapes_two").axes
    assert [axes.get_title(loc="left") for axes in panels] == ["(a) $|V| = 20$", "(b) $|V| = 50$", "(c) $|V| = 80$"]
    for axes in panels:
        assert len(axes.lines) == tables["sweep_residuals"]["noise"].nunique()
        assert axes.get_ylim()[1] > max(heights.max() for heights in curves(axes))
    assert "noise variance" in bar.get_ylabel()


def test_size_effect_shows_both_families(tables: Tables) -> None:
    (axes,) = paper_figure("size_effect").axes
    for _, own in tables["size_effect"].groupby("edges"):
        assert drawn(axes, own["agents"], own["variance"])
    assert "1 edge per round" in words(axes)


def test_observers_show_every_method_and_the_bound(tables: Tables) -> None:
    titles = {"ols": "least squares", "wls": "weighted least squares", "innovations": "innovations"}
    for axes, network in zip(paper_figure("observers").axes, ("two_agents", "scale_free"), strict=True):
        own = tables["observers"].query(f"network == '{network}'").set_index("observer")
        for method, title in titles.items():
            assert drawn(axes, own.loc[method, "steps"], own.loc[method, "variance"])
            assert title in words(axes)


def test_partial_observers_show_both_groups(tables: Tables) -> None:
    (axes,) = paper_figure("partial_observers").axes
    own = tables["partial_observers"].query("group == 'observed'")
    assert drawn(axes, 100 * own["fraction"], own["ratio"])
    assert "unobserved agents" in words(axes)


def test_privacy_over_time_shows_budget_and_error_of_each_design_that_spends(tables: Tables) -> None:
    budget, error = paper_figure("privacy_over_time").axes
    assert len(budget.lines) == len(error.lines) == 3
    assert "frozen noise" in legend(budget)
    designs = tables["privacy_over_time"]
    silent = designs.assign(mu=designs["mu"].where(designs["design"] != "frozen", 0))
    assert "frozen noise" not in legend(_recovery.privacy_over_time(silent).axes[0])


# Files


def test_files_are_the_same_each_time_and_have_no_date(tables: Tables) -> None:
    first, again = ([render(draw("size_effect", tables), kind) for kind in ("svg", "pdf", "png")] for _ in range(2))
    assert first == again
    assert b"dc:date" not in first[0]
    assert b"CreationDate" not in first[1]


def test_save_writes_both_kinds_with_300_dots_to_the_inch(tmp_path: Path, tables: Tables) -> None:
    pdf, png = save(draw("tuning", tables), tmp_path / "new", "tuning")
    assert sorted((tmp_path / "new").iterdir()) == [pdf, png]
    assert [pdf.name, png.name] == ["tuning.pdf", "tuning.png"]
    assert int.from_bytes(png.read_bytes()[16:20], "big") == round(300 * style.ONE_COLUMN)


def test_a_notebook_shows_a_figure_without_pyplot() -> None:
    shown: Any = pickle.loads(pickle.dumps(paper_figure("tuning")))
    assert shown._repr_png_().startswith(b"\x89PNG")


def test_short_log_axes_have_plain_numbers() -> None:
    figure = Figure()
    axes = figure.add_subplot()
    axes.loglog([1, 1000], [0.2, 6])
    for axis in (axes.xaxis, axes.yaxis):
        style.plain_ticks(axis)
    figure.draw_without_rendering()
    assert "0.5" in [label.get_text() for label in axes.get_yticklabels()]
    assert "0.5" not in [label.get_text() for label in axes.get_xticklabels()]
