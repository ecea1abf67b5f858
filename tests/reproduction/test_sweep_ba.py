"""The sweep: cells against their exact law, regressions against the exact prediction, one table however it is run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

from peerpressure.reproduction import SweepComparison, printed, size_effect, sweep_ba
from peerpressure.reproduction._sweep import (
    against_print,
    differences,
    error_ratio,
    fit,
    joint_test,
    least_squares,
    printed_estimate,
    regression_tests,
    rival_scores,
)
from peerpressure.sweep import _runners
from tests.in_process import Pool

SIZES, NOISES = (20, 30, 50), (5.5, 7.0, 8.5, 10.0)


@pytest.fixture(scope="module")
def sweeps() -> SweepComparison:
    """Ten times the printed number of replications."""
    two, one = (sweep_ba(1, 200, edges=edges, sizes=SIZES, noises=NOISES) for edges in (2, 1))
    return SweepComparison(two, one)


@pytest.fixture(scope="module")
def tables(sweeps: SweepComparison) -> dict[str, pd.DataFrame]:
    return sweeps.tables()


def test_cells_follow_their_exact_law(tables: dict[str, pd.DataFrame]) -> None:
    cells = tables["sweep_cells"]
    z = (cells["mean_residual_variance"] - cells["exact"]) / cells["exact_std"]
    # The score of a cell is skewed, but 24 of them add up to nearly a normal one.
    assert abs(z.sum()) / np.sqrt(len(z)) < 4
    assert np.abs(z).max() < 6
    assert 0.6 < z.std() < 1.6
    np.testing.assert_allclose(cells["residual_variance"], cells["exact_residual_variance"], rtol=0.2)
    np.testing.assert_allclose(cells["exact"] * 200, cells["exact_residual_variance"])


@pytest.mark.parametrize("edges", [1, 2])
@pytest.mark.parametrize("regressor", ["noise", "noise_variance"])
def test_regressions_agree_with_the_exact_prediction(
    tables: dict[str, pd.DataFrame], edges: int, regressor: str
) -> None:
    table = tables["regression"].query("edges == @edges and regressor == @regressor").set_index(["source", "term"])
    for term in printed.TERMS:
        measured, exact = table.loc[("measured", term)], table.loc[("exact", term)]
        assert abs(measured["estimate"] - exact["estimate"]) < 4 * measured["standard_error"]
        assert exact["standard_error"] < measured["standard_error"]


def test_a_table_kept_in_a_folder_is_the_same_and_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = sweep_ba(4, 5, sizes=[20, 30], noises=[6.0, 7.0])
    with monkeypatch.context() as patch:
        # One that reads and answers the same messages; the other half is computed by a process.
        patch.setattr(_runners, "ProcessPoolExecutor", Pool)
        kept = sweep_ba(4, 5, sizes=[20], noises=[6.0, 7.0], folder=tmp_path, workers=1)
    more = sweep_ba(4, 5, sizes=[20, 30], noises=[6.0, 7.0], folder=tmp_path, workers=1)
    assert_frame_equal(more.cells, here.cells, check_exact=True)
    assert_frame_equal(kept.cells, here.cells[:2], check_exact=True)
    for name, table in more.tables().items():
        assert table.to_csv() == here.tables()[name].to_csv()


def test_boxes_hold_the_quartiles_of_their_cells(tables: dict[str, pd.DataFrame]) -> None:
    cells, boxes = tables["sweep_cells"], tables["sweep_boxes"]
    box = boxes.query("edges == 2 and by == 'agents' and level == 30").iloc[0]
    values = cells.query("edges == 2 and agents == 30")["mean_residual_variance"]
    assert box["median"] == pytest.approx(values.median())
    assert box["cells"] == len(NOISES)
    order = ["low_whisker", "first_quartile", "median", "third_quartile", "high_whisker"]
    assert (np.diff(boxes[order].to_numpy(), axis=1) >= 0).all()
    assert set(boxes.query("by == 'noise_variance'")["level"]) == {noise**2 for noise in NOISES}


def test_mean_residuals_have_the_variance_of_their_cell(tables: dict[str, pd.DataFrame]) -> None:
    residuals = tables["sweep_residuals"]
    assert set(residuals["agents"]) == {20, 50}
    found = residuals.groupby(["edges", "agents", "noise"])["mean_residual"].var()
    cells = tables["sweep_cells"].set_index(["edges", "agents", "noise"])["mean_residual_variance"]
    np.testing.assert_allclose(found, cells.loc[found.index])


def test_printed_estimates_carry_their_rounding() -> None:
    value, error = printed_estimate(printed.REGRESSIONS[2]["intercept"])
    assert value == -0.80
    assert error == pytest.approx(0.80 / 5.50, rel=0.001)
    value, error = printed_estimate(printed.REGRESSIONS[2]["agents"])
    assert value == pytest.approx(-0.00065)
    assert error == pytest.approx(0.0012, rel=0.02)


def test_families_are_compared_with_the_print_and_with_each_other(sweeps: SweepComparison) -> None:
    compared = against_print(sweeps.regression).set_index(["edges", "regressor", "term"])
    row = compared.loc[(2, "noise", "noise")]
    z = (row["measured"] - row["printed"]) / np.hypot(row["measured_error"], row["printed_error"])
    assert row["z"] == pytest.approx(z)
    exact = differences(sweeps.regression).set_index(["source", "regressor", "term"])
    # Sparser graphs leave more error: 0.31 against 0.25 of the noise variance, over 200 replications.
    assert exact.loc[("exact", "noise_variance", "noise"), "difference"] > 0
    assert exact.loc[("measured", "noise_variance", "noise"), "z"] > 0


def test_size_effect_is_exact_and_adds_graphs_to_those_it_had() -> None:
    few, more = (size_effect(3, count, sizes=[20], families=[2], steps=40) for count in (40, 400))
    assert few["graphs"].tolist() == [2]
    assert more["graphs"].tolist() == [20]
    assert abs(few["variance"][0] - more["variance"][0]) < 5 * few["standard_error"][0] + 5 * more["standard_error"][0]


def test_the_fit_is_that_of_longhand_least_squares(sweeps: SweepComparison) -> None:
    cells = sweeps.two.cells
    fitted = fit(cells, "mean_residual_variance", "noise").set_index("term")
    X = np.column_stack([np.ones(len(cells)), cells["agents"], cells["noise"]])
    y = cells["mean_residual_variance"].to_numpy()
    known, (squares,), *_ = np.linalg.lstsq(X, y, rcond=None)
    errors = np.sqrt(squares / (len(y) - 3) * np.diag(np.linalg.inv(X.T @ X)))
    np.testing.assert_allclose(fitted["estimate"], known, rtol=1e-9)
    np.testing.assert_allclose(fitted["standard_error"], errors, rtol=1e-9)
    np.testing.assert_allclose(fitted["t"], known / errors, rtol=1e-9)
    assert error_ratio(cells, "noise") == pytest.approx(errors[0] / errors[2])
    # 2.262 is Student's 97.5 % quantile for 9 degrees of freedom.
    np.testing.assert_allclose(fitted["high"] - fitted["estimate"], 2.262157 * errors, rtol=1e-6)
    tests = regression_tests(sweeps.two, printed.REGRESSIONS[2])
    share = 1 - squares / np.sum((y - y.mean()) ** 2)
    assert tests["r_squared"] == pytest.approx(share)
    e = (y - X @ known) ** 2
    assert tests["breusch_pagan"] == pytest.approx(
        len(y) * np.corrcoef(e, X @ np.linalg.lstsq(X, e, rcond=None)[0])[0, 1] ** 2
    )


def test_robust_errors_are_the_usual_ones_on_average_where_variances_are_equal() -> None:
    generator = np.random.default_rng(4)
    ratios = []
    for _ in range(200):
        rows = pd.DataFrame([(n, s) for n in range(20, 100, 10) for s in NOISES], columns=["agents", "noise"])
        rows = rows.assign(y=generator.normal(size=len(rows)))
        ols = least_squares(rows, "y", "noise")
        leverage = np.einsum("ij,jk,ik->i", ols.design, ols.unscaled, ols.design)
        meat = (ols.design.T * (ols.residuals / (1 - leverage)) ** 2) @ ols.design
        robust = (ols.unscaled @ meat @ ols.unscaled)[2, 2]
        ratios.append(robust / (ols.variance * ols.unscaled[2, 2]))
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.12)


def test_the_joint_test_is_zero_for_a_print_of_the_exact_coefficients(sweeps: SweepComparison) -> None:
    exact = fit(sweeps.two.comparable_cells, "exact", "noise").set_index("term")
    terms = {
        name: replace(
            term, estimate=exact.loc[name, "estimate"], t=exact.loc[name, "estimate"] / 0.02, standard_error=0.02
        )
        for name, term in printed.REGRESSIONS[2].items()
    }
    assert joint_test(sweeps.two, terms).statistic == pytest.approx(0, abs=1e-9)
    assert joint_test(sweeps.two, terms).p == pytest.approx(1)
    far = terms | {"noise": replace(terms["noise"], estimate=10 * terms["noise"].estimate)}
    assert joint_test(sweeps.two, far).p < 1e-6


def test_a_variance_from_five_to_ten_would_have_no_intercept(sweeps: SweepComparison) -> None:
    for sweep in (sweeps.two, sweeps.one):
        scores = rival_scores(sweep, printed.REGRESSIONS[sweep.edges])
        assert scores["intercept"] > 4
        # It is the intercept that excludes it.
        assert scores["intercept"] == max(map(abs, scores.values()))


def test_boxes_of_single_replications_have_a_value_per_cell_and_replication(tables: dict[str, pd.DataFrame]) -> None:
    boxes = tables["replication_boxes"].set_index(["edges", "by", "level"])
    # Up to |V| of the 200 replications, for three sizes and four levels of noise.
    assert boxes.loc[(2, "noise_variance", 5.5**2), "values"] == 20 + 30 + 50
    assert boxes.loc[(1, "agents", 30.0), "values"] == 4 * 30
    np.testing.assert_allclose(boxes["mean"], boxes["exact_mean"], rtol=0.15)
