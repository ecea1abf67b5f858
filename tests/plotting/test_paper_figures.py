"""The figures of recovery, sweeps and observers on fixed tables: what is drawn, where, and how it is named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.patches import Ellipse, PathPatch
from scipy import stats

from peerpressure.drawing import style
from peerpressure.drawing.style import smoothed
from peerpressure.plotting import _convergence, _extensions, _recovery, render, sweep
from tests.plotting.samples import NOISES, STEPS, V, sample_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return sample_tables()


def curves(axes: Axes) -> list[tuple[list[float], list[float]]]:
    """The data of every line."""
    return [(np.asarray(x.get_xdata()).tolist(), np.asarray(x.get_ydata()).tolist()) for x in axes.lines]


def words(axes: Axes) -> str:
    return " | ".join([axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)])


def legend(axes: Axes) -> list[str]:
    found = axes.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_two_agents_shows_every_estimate_the_printed_line_and_each_covariance(tables: dict[str, pd.DataFrame]) -> None:
    estimates, covariances = tables["two_agents_estimates"], tables["two_agents_covariances"]
    plane, rotated, bar = _recovery.two_agents(estimates, covariances).axes
    assert "density" in bar.get_ylabel()
    dots = [item for item in plane.collections if isinstance(item, PathCollection)]
    for cloud, method in zip(dots, ("ols", "innovations"), strict=True):
        own = estimates[estimates["method"] == method][["agent_1", "agent_2"]]
        assert np.array_equal(np.asarray(cloud.get_offsets()), own.to_numpy())
    (xs, ys) = curves(plane)[0]
    assert np.allclose(np.add(xs, ys), 3.0)
    assert plane.images
    ellipses = [patch for patch in rotated.patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == 4
    claimed, true = ellipses[0], ellipses[2]
    # Half axes are √(χ²·(v ∓ c)).
    assert claimed.width / 2 == pytest.approx(np.sqrt(5.9915 * (2.19 + 2.18)), rel=1e-4)
    assert true.height / 2 == pytest.approx(np.sqrt(5.9915 * (1.56 - 1.54)), rel=1e-4)
    assert "true, innovations" in legend(rotated)


def test_residuals_show_each_agent_the_histogram_the_fit_and_the_law(tables: dict[str, pd.DataFrame]) -> None:
    agents = tables["residual_agents"]
    figure = _recovery.residuals(tables["residuals"], agents, tables["residual_normality"])
    each, means = figure.axes
    assert len(each.lines) == len(agents) + 1
    fit, law, zero = means.lines
    for line, std in ((fit, 0.09), (law, 0.09)):
        assert np.allclose(np.asarray(line.get_ydata()), stats.norm.pdf(np.asarray(line.get_xdata()), scale=std))
    assert list(np.asarray(zero.get_xdata())) == [0.0, 0.0]
    assert "12 agents over 30 runs" in words(each)


@pytest.mark.parametrize("edges", [1, 2])
def test_boxes_stand_at_their_levels_with_the_exact_mean(edges: int, tables: dict[str, pd.DataFrame]) -> None:
    levels = tables["sweep_boxes"]
    figure = sweep.boxes(levels, tables["sweep_cells"], edges)
    for axes, by in zip(figure.axes, ("noise_variance", "agents"), strict=True):
        own = levels[(levels["edges"] == edges) & (levels["by"] == by)]
        assert len([patch for patch in axes.patches if isinstance(patch, PathPatch)]) == len(own)
        assert (own["level"].tolist(), own["exact_mean"].tolist()) in curves(axes)
        assert axes.get_ylim()[0] == 0
        assert axes.get_ylim()[1] > own["high_whisker"].max()
    assert f"{edges} edge" in words(axes)
    # One circle per size, at the largest noise.
    circles = [curve for curve in curves(figure.axes[0]) if curve[0] == [NOISES[-1] ** 2] * 3]
    assert circles == [([100.0] * 3, [2.5] * 3)]


def test_shapes_have_one_curve_for_each_noise_in_three_panels(tables: dict[str, pd.DataFrame]) -> None:
    *panels, bar = sweep.shapes(tables["sweep_residuals"], 2).axes
    assert [axes.get_title(loc="left") for axes in panels] == ["(a) $|V| = 20$", "(b) $|V| = 50$", "(c) $|V| = 80$"]
    for axes in panels:
        assert len(axes.lines) == len(NOISES)
        assert axes.get_ylim()[1] > max(max(heights) for _, heights in curves(axes))
    assert "noise variance" in bar.get_ylabel()


def test_size_effect_shows_both_families(tables: dict[str, pd.DataFrame]) -> None:
    (axes,) = _recovery.size_effect(tables["size_effect"]).axes
    for edges in (1, 2):
        own = tables["size_effect"].query(f"edges == {edges}")
        assert (own["agents"].tolist(), own["variance"].tolist()) in curves(axes)
    assert "1 edge per round" in words(axes)


def test_noise_levels_show_every_level_and_the_common_expectation(tables: dict[str, pd.DataFrame]) -> None:
    paths, law = tables["noise_paths"], tables["noise_law"]
    extremes, distances, errors = _convergence.noise_levels(paths, law).axes
    for noise in (0.5, 1.0, 2.0):
        own = paths[paths["noise"] == noise]
        for column in ("minimum", "maximum"):
            assert (own["time"].tolist(), own[column].tolist()) in curves(extremes)
        largest = np.maximum(own["maximum"] - V, V - own["minimum"])
        assert (own["time"].tolist(), largest.tolist()) in curves(distances)
        own = law[law["noise"] == noise]
        assert (own["time"].tolist(), own["std"].tolist()) in curves(errors)
    assert (own["time"].tolist(), own["bias"].abs().tolist()) in curves(errors)
    assert (errors.get_xscale(), errors.get_yscale()) == ("log", "log")


def test_observers_show_every_method_and_the_bound(tables: dict[str, pd.DataFrame]) -> None:
    for axes in _recovery.observers(tables["observers"]).axes:
        drawn = curves(axes)
        assert (STEPS.tolist(), (1 / STEPS).tolist()) in drawn
        assert (STEPS.tolist(), [1.5] * len(STEPS)) in drawn
        for name in ("least squares", "weighted least squares", "innovations"):
            assert name in words(axes)


def test_partial_observers_show_both_groups(tables: dict[str, pd.DataFrame]) -> None:
    (axes,) = _recovery.partial_observers(tables["partial_observers"]).axes
    own = tables["partial_observers"].query("group == 'observed'")
    assert ((100 * own["fraction"]).tolist(), own["ratio"].tolist()) in curves(axes)
    assert "unobserved agents" in words(axes)


def test_privacy_over_time_shows_budget_and_error_of_each_design(tables: dict[str, pd.DataFrame]) -> None:
    budget, error = _recovery.privacy_over_time(tables["privacy_over_time"]).axes
    assert len(budget.lines) == len(error.lines) == 3
    assert "frozen noise" in legend(budget)


def test_network_leak_shows_every_method_and_defence(tables: dict[str, pd.DataFrame]) -> None:
    methods, noise, steps, agents = _extensions.network_leak(tables["network_leak"], tables["network_defence"]).axes
    assert ([30.0, 300.0], [0.1, 0.4]) in [(x, np.round(y, 9).tolist()) for x, y in curves(methods)]
    assert all(name in words(methods) for name in ("joint likelihood", "VAR(1)", "VAR(1), weighted"))
    assert (len(noise.lines), len(steps.lines), len(agents.lines)) == (2, 1, 1)
    assert ([20.0, 100.0], [0.9, 0.45]) in curves(agents)


def test_a_design_with_nothing_spent_is_left_out_of_a_log_axis(tables: dict[str, pd.DataFrame]) -> None:
    designs = tables["privacy_over_time"]
    budget, _ = _recovery.privacy_over_time(
        designs.assign(mu=designs["mu"].where(designs["design"] != "frozen", 0))
    ).axes
    assert "frozen noise" not in legend(budget)


def test_exact_vs_sampled_shows_every_pair_and_the_band(tables: dict[str, pd.DataFrame]) -> None:
    pairs = tables["exact_vs_sampled"]
    both, apart = _convergence.exact_vs_sampled(pairs).axes
    shown = sorted(x for xs, _ in curves(both)[1:] for x in xs)
    assert shown == sorted(pairs["exact"])
    assert sorted(x for xs, ys in curves(apart)[1:] for x in xs) == sorted(pairs["z"])
    assert [tick.get_text() for tick in apart.get_yticklabels()] == ["two agents", "sweep", "noise levels"]


def test_a_smoothed_sample_is_a_density_even_where_half_of_it_is_equal() -> None:
    x = np.linspace(-40, 40, 4001)
    for sample in (np.array([0.0, 0.0, 0.0, 4.0]), np.arange(9.0)):
        assert np.trapezoid(smoothed(sample, x), x) == pytest.approx(1.0, abs=1e-6)


def test_svg_is_the_same_each_time_and_has_no_date(tables: dict[str, pd.DataFrame]) -> None:
    first, second = (render(_recovery.size_effect(tables["size_effect"]), "svg") for _ in range(2))
    assert first == second
    assert b"dc:date" not in first


def test_short_log_axes_have_plain_numbers() -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    axes = figure.add_subplot()
    axes.loglog([1, 1000], [0.2, 6])
    for axis in (axes.xaxis, axes.yaxis):
        style.plain_ticks(axis)
    figure.draw_without_rendering()
    assert "0.5" in [label.get_text() for label in axes.get_yticklabels()]
    assert "0.5" not in [label.get_text() for label in axes.get_xticklabels()]
