"""Figures of the process in continuous time: drawn from what they are given, complete, and the same from run to run."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import QuadMesh
from matplotlib.contour import ContourSet
from PIL import Image

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.plotting import continuous
from peerpressure.plotting.continuous import animate_density
from peerpressure.sde import SDE, DensityPath, solve_density
from tests.plotting.looking import legend

PAIR = SDE(pp.Model(pp.networks.k2(), [-1.0, 1.0], [1.0, 2.0], noise=pp.Gaussian([0.5, 0.8])))
V = PAIR.consensus_value


@pytest.fixture(scope="module")
def pair() -> DensityPath:
    return solve_density(PAIR, [0.4, 0.6, 0.9, 1.4, 2.0], cells=64, time_step=0.2)


@pytest.fixture(scope="module")
def one() -> DensityPath:
    return solve_density(PAIR, np.linspace(0.3, 3.0, 12), weights=[0.5, 0.5], time_step=0.2)


@pytest.fixture
def errors() -> pd.DataFrame:
    h = np.array([1.0, 0.5, 0.25, 0.125])
    return pd.DataFrame({"step": h, "mean_error": 0.3 * h, "std_error": 0.1 * h**2})


def test_panels_show_the_grid_and_the_exact_contours_over_it(pair: DensityPath) -> None:
    *panels, bar = continuous.density_panels(pair, V).axes
    assert bar.get_ylabel() == "density, share of peak"
    assert [axes.get_title(loc="left") for axes in panels] == [
        "(a) $t = 0.4$",
        "(b) $t = 0.6$",
        "(c) $t = 1.4$",
        "(d) $t = 2$",
    ]
    mesh = panels[-1].collections[0]
    assert isinstance(mesh, QuadMesh)
    np.testing.assert_allclose(np.asarray(mesh.get_array()), pair.density[-1].T / pair.density[-1].max())
    (contours,) = (artist for artist in panels[-1].collections if isinstance(artist, ContourSet))
    # Every point of the outermost contour is three deviations away from the mean.
    points = contours.allsegs[0][0] - pair.exact[-1].mean
    away = np.sqrt(np.einsum("ki,ij,kj->k", points, np.linalg.inv(pair.exact[-1].covariance), points))
    np.testing.assert_allclose(away, 3.0, atol=0.05)
    crosses = [line for line in panels[0].lines if line.get_marker() == "+"]
    np.testing.assert_allclose(np.asarray(crosses[0].get_xydata(), dtype=float), [[V, V]])


@pytest.mark.parametrize("turned", [False, True])
def test_names_stand_across_the_line_of_agreement(pair: DensityPath, turned: bool) -> None:
    path = solve_density(PAIR, [0.4, 0.6], [1, 0], cells=64, time_step=0.2) if turned else pair
    axes = continuous.density_panels(path, V).axes[0]
    axes.figure.draw_without_rendering()  # type: ignore[union-attr]
    found = axes.get_legend()
    assert found is not None
    box, frame = found.get_window_extent(), axes.get_window_extent()
    # Above the diagonal or below it, as the density is on the other side.
    assert ((box.x0 + box.x1) / 2 - frame.x0 < (box.y0 + box.y1) / 2 - frame.y0) == turned
    assert axes.get_ylabel() == f"opinion of agent {path.names[1]}"


def test_a_density_over_time_and_its_slices(one: DensityPath) -> None:
    left, right = continuous.density_over_time(one, V, "plain mean").axes
    red = np.asarray(left.lines[0].get_ydata(), dtype=np.float64)
    np.testing.assert_allclose(red, [law.mean[0] for law in one.exact])
    lines, dots = right.lines[::2], right.lines[1::2]
    assert len(lines) == len(dots) == 4
    for line, index in zip(dots, (0, 4, 7, 11), strict=True):
        x, y = np.asarray(line.get_xydata()).T
        np.testing.assert_allclose(y, one.exact[index].pdf(x), atol=0.02 * y.max())
        assert 8 < x.size < 40
    assert left.get_ylabel() == right.get_xlabel() == "plain mean"
    assert legend(right) == {"$t = 0.3$", "$t = 1.28$", "$t = 2.02$", "$t = 3$"}


def test_shrinking_steps_name_the_steps_and_the_orders(errors: pd.DataFrame) -> None:
    rows = [(h, t, 1.0 + h * t, 0.1 * t) for h in (0.0, 0.25, 1.0) for t in (0.0, 1.0, 2.0)]
    paths = pd.DataFrame(rows, columns=["step", "time", "mean", "std"])
    left, middle, right = continuous.shrinking_steps(paths, errors, name="agent 3").axes
    assert len(left.lines) == len(middle.lines) == 3
    np.testing.assert_allclose(np.asarray(left.lines[-1].get_ydata(), dtype=float), 1.0)
    assert legend(middle) == {"$h = 1$", "$h = 1/4$", "SDE"}
    assert legend(right) == {"mean, order 1.00", "std, order 2.00"}
    assert left.get_ylabel() == "mean of agent 3"
    strong = pd.DataFrame({"step": errors["step"], "error": 2 * errors["step"] ** 0.5, "standard_error": 0.01})
    right = continuous.shrinking_steps(paths, errors, strong).axes[2]
    assert legend(right) == {"mean, order 1.00", "std, order 2.00", "path, order 0.50"}


def test_an_animation_has_one_frame_for_each_time(pair: DensityPath, tmp_path: Path) -> None:
    file = animate_density(pair, V, tmp_path / "density.gif", frames_per_second=5)
    with Image.open(file) as picture:
        assert (picture.format, getattr(picture, "n_frames"), picture.info["loop"]) == ("GIF", 5, 0)  # noqa: B009
        pauses, frames = [], []
        for index in range(5):
            picture.seek(index)
            pauses.append(picture.info["duration"])
            frames.append(np.asarray(picture.convert("RGB"), dtype=int))
    assert pauses == [200, 200, 200, 200, 1700]
    assert (frames[0][0, -1] == 255).all()
    # Where it is dark is where the density is: it moves towards the diagonal.
    assert all((np.abs(a - b) > 60).any() for a, b in itertools.pairwise(frames))
    again = animate_density(pair, V, tmp_path / "again.gif", frames_per_second=5)
    assert file.read_bytes() == again.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.gif", "density.gif"]


def test_the_wrong_kind_of_density_is_refused(pair: DensityPath, one: DensityPath, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="a density of 2 quantities, got one of 1"):
        continuous.density_panels(one, V)
    with pytest.raises(InvalidInputError, match="a density of 1 quantity, got one of 2"):
        continuous.density_over_time(pair, V, "mean")
    with pytest.raises(InvalidInputError, match="a density of 2 quantities"):
        animate_density(one, V, tmp_path / "density.gif")
    assert not list(tmp_path.iterdir())
