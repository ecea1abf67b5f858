"""Continuous time: tables against exact laws, stated orders and predicted ends."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from peerpressure.reproduction._continuous import VISIBLE, density_tables, euler_tables, oscillation_tables, pair_sde
from peerpressure.sde import exact_density
from peerpressure.sde.convergence import observed_order


@pytest.fixture(scope="module")
def density() -> dict[str, pd.DataFrame]:
    return density_tables(cells=90)


@pytest.fixture(scope="module")
def oscillation() -> dict[str, pd.DataFrame]:
    return oscillation_tables(9, agents=20)


def test_the_law_is_the_exact_one_and_the_grid_is_near_it(density: dict[str, pd.DataFrame]) -> None:
    law = density["density_law"]
    for row in law.iloc[[0, 12, -1]].itertuples():
        exact = exact_density(pair_sde(), row.time)
        np.testing.assert_allclose([row.mean_1, row.mean_2], exact.mean, rtol=1e-8)
        np.testing.assert_allclose(
            [row.variance_1, row.covariance, row.variance_2], exact.covariance[[0, 0, 1], [0, 1, 1]], rtol=1e-7
        )
    assert law["error"].iloc[0] < 1e-9
    assert law["error"].max() < 0.05
    assert density["density_grid"]["mass_error"].max() < 1e-12
    assert density["density_grid"]["lowest"].min() >= 0


def test_the_cells_that_are_kept_hold_nearly_all(density: dict[str, pd.DataFrame]) -> None:
    cells, grid = density["density_cells"], density["density_grid"]
    volume = float(((grid["high"] - grid["low"]) / grid["cells"]).prod())
    masses = cells.groupby("time")["density"].sum() * volume
    assert masses.between(0.995, 1.0 + 1e-9).all()
    peaks = cells.groupby("time")["density"].agg(["min", "max"])
    assert (peaks["min"] > VISIBLE * peaks["max"]).all()


def test_errors_fall_in_proportion_to_the_step() -> None:
    tables = euler_tables(9, replicates=40)
    weak, strong = tables["weak_errors"].tail(3), tables["strong_errors"].tail(3)
    for table, column in ((weak, "mean_error"), (weak, "std_error"), (strong, "error")):
        assert observed_order(table["step"], table[column]) == pytest.approx(1.0, abs=0.12), column
    steps = tables["shrinking_steps"]
    ends = steps[steps["time"] == steps["time"].max()].set_index("step")
    # The mode is a mean of agents, of whom none is farther off than the largest error.
    coarse = tables["weak_errors"].set_index("step").loc[0.5]
    assert abs(ends.loc[0.5, "mean"] - ends.loc[0.0, "mean"]) <= coarse["mean_error"]


def test_the_tree_oscillates_as_predicted_in_discrete_time_only(oscillation: dict[str, pd.DataFrame]) -> None:
    limits = oscillation["oscillation_limits"].set_index(["dynamics", "side"])
    ends = oscillation["oscillation_paths"].groupby("dynamics").last()
    first, second = limits.loc[("discrete", "first")], limits.loc[("discrete", "second")]
    gap, error = abs(first["mean"] - second["mean"]), first["std"] + second["std"]
    assert abs(ends.loc["discrete", "oscillation"] - gap) < 5 * error
    assert ends.loc["discrete", "maximum"] - ends.loc["discrete", "minimum"] == pytest.approx(
        ends.loc["discrete", "oscillation"], abs=1e-6
    )
    agreed = limits.loc[("continuous", "both")]
    assert ends.loc["continuous", "maximum"] - ends.loc["continuous", "minimum"] < 1e-6
    assert abs(ends.loc["continuous", "agent_1"] - agreed["mean"]) < 5 * agreed["std"]
    assert ends.loc["continuous", "oscillation"] < 1e-6 < ends.loc["discrete", "oscillation"]
