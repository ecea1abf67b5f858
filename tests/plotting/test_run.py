"""Figures of one run: drawn from tables alone, with every number where it belongs and no word on a curve."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from peerpressure.plotting import run
from tests.plotting.looking import assert_no_text_is_cut_or_covers_another, curves, laid_out, words


def summaries(times: Any, replicates: int = 3) -> pd.DataFrame:
    """Opinions that swing and close in, in each replicate around a value of its own."""
    t = np.asarray(times, dtype=np.float64)
    parts = []
    for replicate in range(replicates):
        reach = (1 + 0.4 * np.sin(7 * t)) / np.sqrt(1 + t)
        middle = 0.5 + 0.01 * replicate
        hidden = np.exp(-t / t[-1])
        shown = {"minimum": middle - reach, "maximum": middle + reach, "mean": middle, "spread": 2 * reach}
        held = {"hidden_minimum": middle - hidden, "hidden_maximum": middle + hidden, "hidden_spread": 2 * hidden}
        further = {"max_distance": reach + abs(middle - 0.5), "hidden_mean": middle + 0.001}
        parts.append(pd.DataFrame({"replicate": replicate, "time": times} | shown | held | further))
    return pd.concat(parts, ignore_index=True)


def network(rounds: int) -> pd.DataFrame:
    time = np.arange(1, rounds + 1)
    return pd.DataFrame({"time": time, "edges": 40 + time % 7, "isolated": time % 3})


def spent(steps: int = 500) -> pd.DataFrame:
    time = np.unique(np.geomspace(1, steps, 12).round().astype(int))
    return pd.DataFrame({"time": time, "information": time, "epsilon": np.sqrt(time)})


FIGURES = {
    "opinions": lambda: run.opinions(summaries(np.arange(401)), 0.5),
    "opinions at real times": lambda: run.opinions(summaries(np.arange(401) * 0.05), 0.5),
    "hidden": lambda: run.hidden(summaries(np.arange(401)), 0.5),
    "temporal network": lambda: run.temporal_network(network(100)),
    "temporal network for long": lambda: run.temporal_network(network(2000)),
    "spent": lambda: run.spent(spent()),
}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_named_and_no_word_is_cut_or_covered(name: str) -> None:
    figure = FIGURES[name]()
    assert_no_text_is_cut_or_covers_another(figure)
    assert {axes.get_xlabel() for axes in figure.axes} == {"time $t$"}
    assert figure.axes[0].get_ylabel()


@pytest.mark.parametrize("name", ["opinions", "opinions at real times", "hidden"])
def test_words_stand_where_no_curve_comes(name: str) -> None:
    figure: Figure = FIGURES[name]()
    figure.draw_without_rendering()
    for axes in figure.axes:
        boxes = [text.get_window_extent() for text in axes.texts if text.get_text() != "$v$"]
        for line in axes.lines:
            points = np.asarray(line.get_xydata())
            if line.get_transform() == axes.transData:
                fine = np.linspace(0, len(points) - 1, 20 * len(points))
                path = [np.interp(fine, np.arange(len(points)), points[:, k]) for k in (0, 1)]
                spots = axes.transData.transform(np.column_stack(path))
                assert not any(box.contains(x, y) for box in boxes for x, y in spots[::5])


def test_what_agents_show_is_the_range_over_replicates_and_the_mean_of_each() -> None:
    table = summaries(np.arange(41))
    left, right = run.opinions(table, 0.5).axes
    middle = table.groupby("time")
    assert np.array_equal(curves(left)[0], middle["minimum"].min())
    assert np.array_equal(curves(left)[1], middle["maximum"].max())
    assert words(left) == "(a) public opinions | $v$ | highest and lowest of 3 replicates | means"
    assert [curve[0] for curve in curves(left)[2:5]] == [0.5, 0.51, 0.52]
    assert np.array_equal(curves(right)[0], middle["spread"].median())
    assert np.array_equal(curves(right)[1], middle["max_distance"].median())
    assert (right.get_yscale(), right.get_xscale()) == ("log", "linear")


def test_one_replicate_has_one_mean() -> None:
    left, _ = run.opinions(summaries(np.arange(41), replicates=1), 0.5).axes
    assert words(left) == "(a) public opinions | $v$ | highest and lowest | mean"


def test_agents_of_a_small_network_have_lines_at_the_times_that_are_drawn() -> None:
    table = summaries(np.arange(401))
    states = np.random.default_rng(1).normal(size=(401, 10))
    left, _ = run.opinions(table, 0.5, pd.DataFrame(states)).axes
    times = np.asarray(left.lines[0].get_xdata(), dtype=np.int64)
    assert np.array_equal(curves(left)[:10], states[times].T)
    assert (times[0], times[-1], left.get_xlim()) == (0, 400, (0, 400))


def test_identical_starts_leave_the_axis_of_spreads_logarithmic() -> None:
    table = summaries(np.arange(41))
    table.loc[table["time"] == 0, "spread"] = 0.0
    _, right = run.opinions(table, 0.5).axes
    assert right.get_yscale() == "log"
    assert np.isfinite(np.log(curves(right)[0])).all()


def test_opinions_that_go_beyond_a_log_axis_are_drawn_on_a_linear_one() -> None:
    table = summaries(np.arange(41))
    table.loc[table["time"] > 0, ["minimum", "maximum", "spread", "max_distance"]] *= 1e300
    _, right = laid_out(run.opinions(table, 0.5)).axes
    assert right.get_yscale() == "linear"


def test_what_agents_hold_stands_beside_what_they_show() -> None:
    table = summaries(np.arange(101))
    left, right = run.hidden(table, 0.5).axes
    middle = table.groupby("time")
    assert np.array_equal(curves(left)[1], middle["hidden_maximum"].max())
    assert curves(left)[2][0] == pytest.approx(0.501)
    assert np.array_equal(curves(right)[0], middle["hidden_spread"].median())
    assert np.array_equal(curves(right)[1], middle["spread"].median())
    assert right.get_xscale() == "symlog"


def test_real_times_are_shown_as_they_are_and_long_runs_are_thinned_from_the_first_to_the_last() -> None:
    left, _ = run.opinions(summaries(np.arange(5001) * 0.02), 0.5).axes
    times = np.asarray(left.lines[0].get_xdata(), dtype=np.float64)
    assert (times[0], times[1], times[-1]) == (0.0, 0.02, 100.0)
    assert times.size <= run.MOST_TIMES + 1
    assert left.get_xlim() == (0.0, 100.0)
    assert left.get_xscale() == "symlog"


def test_a_short_run_on_a_changing_network_is_drawn_round_by_round() -> None:
    table = network(100)
    left, right = run.temporal_network(table).axes
    assert np.array_equal(curves(left)[0], table["edges"])
    assert np.array_equal(curves(right)[0], table["isolated"])
    assert left.get_ylim()[0] == 0


def test_a_long_run_is_drawn_in_stretches_with_their_extremes() -> None:
    table = network(2000)
    left, _ = run.temporal_network(table).axes
    stretches = table.groupby(np.arange(2000) // 9)
    assert np.allclose(curves(left)[0], stretches["edges"].mean())
    assert np.allclose(np.asarray(left.lines[0].get_xdata(), dtype=np.float64), stretches["time"].mean())
    (band,) = (shape for shape in left.collections if isinstance(shape, PolyCollection))
    corners = band.get_paths()[0].vertices
    assert (np.asarray(corners)[:, 1].min(), np.asarray(corners)[:, 1].max()) == (40, 46)


def test_the_budget_spent_leaves_out_what_is_infinite() -> None:
    table = spent()
    table.loc[table.index[-1], "epsilon"] = np.inf
    (axes,) = run.spent(table).axes
    assert np.array_equal(curves(axes)[0], table["epsilon"].iloc[:-1])
    assert axes.get_xlim()[1] == 500
    assert axes.get_xscale() == "log"


@pytest.mark.parametrize(("target", "says"), [("initial", "hidden opinion $x_0$"), ("current", "current hidden")])
def test_estimates_say_which_opinions_they_are_of(target: str, says: str) -> None:
    table = pd.DataFrame(
        {"method": "kalman", "replicate": 0, "hidden": [0.0, 1.0], "value": [0.1, 0.9], "std": 0.1, "identified": True}
    )
    (axes,) = run.estimates(table, target).axes
    assert says in axes.get_xlabel()


def test_error_bars_of_estimates_are_one_standard_deviation_and_say_so() -> None:
    columns = {"hidden": [0.0, 1.0], "value": [0.1, 0.8], "std": [0.2, 0.3], "identified": [True, True]}
    table = pd.DataFrame({"method": "kalman", "replicate": 0, "agent": [0, 1], **columns})
    (axes,) = run.estimates(table).axes
    assert axes.get_ylabel() == "estimate ± 1 standard deviation"
    (bars,) = axes.collections
    assert isinstance(bars, LineCollection)
    ends = np.array([np.asarray(segment)[:, 1] for segment in bars.get_segments()])
    np.testing.assert_allclose(ends, [[-0.1, 0.3], [0.5, 1.1]])
