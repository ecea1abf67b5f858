"""The figures of the extensions on fixed tables: what is drawn, where, and how it is named."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.patches import Rectangle
from PIL import Image

from peerpressure.plotting import ANIMATIONS, FIGURES, _extensions, continuous, draw
from tests.plotting.extension_samples import TIME, V
from tests.plotting.samples import sample_tables


@pytest.fixture(scope="module")
def tables() -> dict[str, pd.DataFrame]:
    return sample_tables()


def drawn(axes: Axes, x: Any, y: Any) -> bool:
    """Say whether a line of these very data stands in the axes."""
    return any(np.array_equal(line.get_xdata(), x) and np.array_equal(line.get_ydata(), y) for line in axes.lines)


def has_level(axes: Axes, value: float) -> bool:
    return any(np.allclose(np.asarray(line.get_ydata(), dtype=float), value) for line in axes.lines)


def words(axes: Axes) -> str:
    return " | ".join([axes.get_title(loc="left"), *(text.get_text() for text in axes.texts)])


def test_adaptation_shows_public_and_hidden_opinions_at_both_rates(tables: dict[str, pd.DataFrame]) -> None:
    opinions = tables["timescale_opinions"].query("time >= 1")
    slow, fast = _extensions.adaptation(tables["timescale_opinions"]).axes
    for axes, rate in ((slow, 0.003), (fast, 0.1)):
        assert rf"$\eta = {rate}$" in words(axes)
        for _, own in opinions[opinions["rate"] == rate].groupby(["agent", "kind"]):
            assert drawn(axes, own["time"], own["mean"])
            assert drawn(axes, own["time"], own["path"])
        assert len(axes.collections) == 3
    legend_box = slow.get_legend()
    assert legend_box is not None
    assert {text.get_text() for text in legend_box.get_texts()} >= {"hidden, exact mean", "public, exact mean"}


def test_consensus_limit_shows_law_runs_v_and_disagreement_at_each_horizon(
    tables: dict[str, pd.DataFrame],
) -> None:
    law, disagreement = tables["timescale_consensus_limit"], tables["timescale_hidden_disagreement"]
    left, right = draw("consensus_limit", tables).axes
    assert drawn(left, law["rate"], law["mean"])
    assert drawn(left, tables["timescale_sampled_limit"]["rate"], tables["timescale_sampled_limit"]["value"])
    assert has_level(left, V)
    for steps in (10, 100):
        own = disagreement[disagreement["steps"] == steps]
        assert drawn(right, own["rate"], own["weighted_disagreement"])
        assert f"$t = {steps}$" in words(right)


def test_rates_with_divergent_and_convergent_sums_look_different(tables: dict[str, pd.DataFrame]) -> None:
    (axes,) = draw("decreasing_rates", tables).axes
    hidden = {}
    for rate, own in tables["timescale_decreasing"].groupby("rate"):
        (hidden[rate],) = (line for line in axes.lines if np.array_equal(line.get_ydata(), own["hidden"]))
    assert hidden["0.5/t"].get_color() != hidden["0.5/t^2"].get_color()
    assert hidden["0.5/t"].get_linestyle() != hidden["0.5/t^2"].get_linestyle()
    assert r"$\eta_t = 0.5/t^{2}$" in words(axes)


def test_forgetting_shows_finite_limits_only_and_no_variance_below_its_least(tables: dict[str, pd.DataFrame]) -> None:
    information, known = draw("forgetting", tables).axes
    flat = [line for line in information.lines if np.ptp(np.asarray(line.get_ydata(), dtype=float)) == 0]
    assert [np.asarray(line.get_ydata())[0] for line in flat] == [5.0]
    assert (known.get_xscale(), known.get_yscale()) == ("log", "log")
    lines = [np.asarray(line.get_ydata(), dtype=float) for line in known.lines]
    assert min(line.min() for line in lines) > 1e-5
    assert known.get_ylim()[0] == 1e-4


def test_edge_turnover_names_every_network_and_shows_the_biases(tables: dict[str, pd.DataFrame]) -> None:
    law = tables["edge_turnover_law"]
    disagreement, distance = _extensions.edge_turnover(law, tables["edge_turnover_targets"]).axes
    for name, own in law.groupby("network"):
        assert drawn(disagreement, own["time"], own["weighted_disagreement"]), name
        assert drawn(distance, own["time"], own["weighted_distance"]), name
    for off in (1e-4, 8e-3, 3e-4):
        assert has_level(distance, off)
    assert all(name in words(disagreement) for name in ("constant", "slow turnover", "isolated at times"))


def test_broadcaster_shows_paths_with_their_limits_and_shares(tables: dict[str, pd.DataFrame]) -> None:
    paths, shares = draw("broadcaster", tables).axes
    for target, name in ((0.15, "dwell time 1"), (0.05, "dwell time 10"), (0.01, "constant")):
        assert has_level(paths, target)
        assert name in words(paths)
    for weight, own in tables["broadcaster_shares"].groupby("weight"):
        assert drawn(shares, own["dwell_time"], own["share"])
        assert drawn(shares, own["dwell_time"], own["mean"])
        assert f"weight {weight:g}" in words(shares)
    assert has_level(shares, 0.01)


def test_splitting_marks_the_windows_that_are_not_connected(tables: dict[str, pd.DataFrame]) -> None:
    figure = draw("splitting", tables)
    for axes, ends in zip(figure.axes, ((31, 100), (101, 1000)), strict=True):
        # Beside the strip that spans all time there is one for the disconnected windows.
        strips = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
        assert [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in strips] == [(1, TIME[-1]), ends]
        assert all(patch.get_y() + patch.get_height() < 0.1 for patch in strips)
        for value in (0.15, 0.48, 0.85, V):
            assert has_level(axes, value)


def test_a_density_comes_back_from_its_tables(tables: dict[str, pd.DataFrame]) -> None:
    path = continuous.density_path(*(tables[name] for name in FIGURES["density"][1]))
    assert path.density.shape == (3, 24, 24)
    # What the tables leave out is less than a thousandth of the peak.
    np.testing.assert_allclose(path.density.sum(axis=(1, 2)) * path.grid.volume, 1.0, atol=5e-3)
    assert [law.time for law in path.exact] == [0.5, 1.0, 2.0]
    # Each cell holds the density at its middle, which is not quite its mean.
    assert path.error(2) < 0.04
    panels = draw("density", tables).axes
    mesh = panels[0].collections[0]
    assert isinstance(mesh, QuadMesh)
    shown = np.asarray(mesh.get_array())
    # Rows of the picture are the second agent.
    assert np.unravel_index(shown.argmax(), shown.shape) == np.unravel_index(path.density[0].T.argmax(), shown.shape)
    # All panels show three and a half deviations around every mean, of which the first are the widest.
    reach = 3.5 * 0.3
    for axes in panels[:3]:
        assert axes.get_xlim() == axes.get_ylim() == pytest.approx((0 - reach, 1 + reach))


def test_the_animation_has_a_frame_for_each_time_and_is_the_same_each_time(tables: dict[str, pd.DataFrame]) -> None:
    needed = [tables[name] for name in FIGURES["density"][1]]
    gif = ANIMATIONS["density"](*needed)
    with Image.open(io.BytesIO(gif)) as picture:
        assert (picture.format, getattr(picture, "n_frames")) == ("GIF", 3)  # noqa: B009
    assert ANIMATIONS["density"](*needed) == gif
    assert set(ANIMATIONS) <= set(FIGURES)


def test_the_oscillation_shows_both_kinds_of_time_their_limits_and_v(tables: dict[str, pd.DataFrame]) -> None:
    extremes, changes = draw("oscillation", tables).axes
    for dynamics, own in tables["oscillation_paths"].groupby("dynamics"):
        late = own[own["time"] >= 10]
        assert drawn(extremes, late["time"], late["minimum"])
        assert drawn(changes, own["time"], own["oscillation"])
        assert f"{dynamics} time" in words(changes)
    dots = sorted(y for line in extremes.lines if line.get_marker() == "o" for y in np.asarray(line.get_ydata()))
    assert dots == [0.47, 0.501, 0.53]
    assert has_level(extremes, V)
