"""Figures of privacy: drawn from tables alone, complete, and the same from run to run."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peerpressure.plotting import network


@pytest.fixture
def agents() -> pd.DataFrame:
    return pd.DataFrame({"seen": [True, False, True, False, False], "ratio": [0.1, 0.4, 0.2, 0.9, 1.0]})


@pytest.fixture
def edges() -> pd.DataFrame:
    return pd.DataFrame({"source": [0, 0, 1, 2, 3], "target": [1, 2, 3, 3, 4]})


def tables() -> tuple[pd.DataFrame, pd.DataFrame]:
    names = ["white", "growing as t^0.75", "frozen noise", "one shot", "zero sum", "my own"]
    rows = [(name, T, mu) for name in names for T in (10, 100) for mu in (0.1, 1.0, 10.0)]
    errors = pd.DataFrame(rows, columns=["design", "horizon", "mu"])
    errors["rms_error"] = [(1 + k / 7) / row[2] for k, row in enumerate(rows)]
    errors.loc[errors["design"] == "zero sum", "rms_error"] = np.inf
    units = errors[errors["mu"] == 1.0][["design", "horizon", "rms_error"]].reset_index(drop=True)
    units["information"] = [1.0, 10.0] * len(names)
    units.loc[units["design"] == "zero sum", "information"] = 1e80
    return errors, units


def test_exposure_rings_the_observed_and_colours_the_rest(agents: pd.DataFrame, edges: pd.DataFrame) -> None:
    axes = network.exposure(agents, edges).axes[0]
    rings, dots = axes.collections[1:3]
    assert len(np.asarray(rings.get_offsets())) == 2
    np.testing.assert_array_equal(np.asarray(dots.get_array()), agents["ratio"])
    assert axes.get_title(loc="left") == "ringed: the 2 observed of 5 agents"


def test_exposure_of_everyone_and_of_many(agents: pd.DataFrame) -> None:
    assert "every agent" in network.exposure(
        agents.assign(seen=True), pd.DataFrame({"source": [0, 1, 2, 3], "target": [1, 2, 3, 4]})
    ).axes[0].get_title(loc="left")
    many = pd.DataFrame({"seen": [False] * 61, "ratio": np.linspace(0, 1, 61)})
    star = pd.DataFrame({"source": [0] * 60, "target": np.arange(1, 61)})
    assert network.exposure(many, star).axes


def test_frontier_names_every_design_that_can_be_drawn() -> None:
    errors, units = tables()
    left, right = network.frontier(errors, units, 0.5).axes
    written = {text.get_text() for text in left.texts}
    assert {"white", "growing as $t^{0.75}$", "frozen noise", "one shot", "my own", "limit"} == written
    assert "zero sum" not in {text.get_text() for text in right.texts}
    assert "100 steps" in left.get_title(loc="left")
    assert "10 steps" in network.frontier(errors, units, 0.5, horizon=10).axes[0].get_title(loc="left")


def test_names_at_the_ends_do_not_touch() -> None:
    errors, units = tables()
    left = network.frontier(errors, units, 0.5).axes[0]
    low, high = np.log10(left.get_ylim())
    heights = np.sort([np.log10(text.xy[1]) for text in left.texts if text.get_text() != "limit"])  # type: ignore[attr-defined]
    assert (np.diff(heights) >= 0.06 * (high - low)).all()


def test_a_limit_that_does_not_exist_is_not_drawn() -> None:
    figure = network.frontier(*tables(), float("nan"))
    assert "limit" not in {text.get_text() for axes in figure.axes for text in axes.texts}
    figure.draw_without_rendering()
