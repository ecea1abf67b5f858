"""What the paper does not state: choices with their effect, typical seeds, and errors of the observation."""

from __future__ import annotations

import numpy as np
import pytest

from peerpressure import Observation
from peerpressure.recovery import information
from peerpressure.reproduction import printed
from peerpressure.reproduction._beyond import observation_error, observed_models
from peerpressure.reproduction._choices import Recipe, choices, residual_variance, slope, typical_failures
from peerpressure.reproduction._convergence import transients


def test_the_slope_of_a_variance_is_that_of_the_printed_design() -> None:
    # Σ(σ₀ − 7.75)σ₀²/Σ(σ₀ − 7.75)² is twice the mean of evenly spaced levels.
    assert slope(0.25) == pytest.approx(0.25 / printed.SWEEP_REPLICATIONS * 2 * 7.75)


def test_unit_stubbornness_gives_the_printed_slope_for_two_edges_and_not_for_one() -> None:
    two, one = (slope(residual_variance(Recipe(edges, stubborn=True), 14)) for edges in (2, 1))
    assert two == pytest.approx(0.22, abs=0.015)
    assert one > 0.26


def test_a_triangle_hardly_changes_residual_variances() -> None:
    for edges in (1, 2):
        star, triangle = (residual_variance(Recipe(edges, initial), 14) for initial in ("star", "triangle"))
        assert triangle == pytest.approx(star, rel=0.06)


def test_every_choice_has_a_reason_and_two_numbers() -> None:
    table = choices(3)
    asked = " ".join(table["question"])
    for what in ("σ₀ in Figs. 1–3", "Fig. 1", "Fig. 5", "s in the sweep", "T in the sweep", "graphs", "Fig. 8", "y₀"):
        assert what in asked
    assert np.isfinite(table[["value", "alternative_value"]].to_numpy()).all()
    assert (table["value"] != table["alternative_value"]).all()


def test_the_seed_of_the_report_is_disclosed_as_larger_than_most() -> None:
    table = typical_failures(14, 60)
    own = table[table["chosen"]].iloc[0]
    assert own["seed"] == 14
    assert own["bias"] == pytest.approx(0.0271, abs=1e-4)
    assert (table["bias"] > own["bias"]).mean() < 0.1
    assert table["bias"].median() < own["bias"] / 2


def test_a_swing_fades_with_a_triangle_and_not_on_a_tree() -> None:
    table = transients(14, graphs=2).set_index(["network", "time"])
    tree, triangle = (table.loc[name] for name in ("tree", "triangle"))
    np.testing.assert_allclose(tree["smallest_eigenvalue"], -1, atol=1e-12)
    assert triangle["smallest_eigenvalue"].between(-0.9999, -0.95).all()
    assert triangle.loc[2_000, "change"].max() < 1e-3 * triangle.loc[100, "change"].min()
    assert tree.loc[2_000, "change"].min() > 0.1 * tree.loc[500, "change"].min()


@pytest.mark.parametrize(("error", "known"), [(0.0, 0.000999), (0.01, 0.00726), (0.1, 0.0846)])
def test_an_error_of_the_observation_bounds_what_is_learned(error: float, known: float) -> None:
    found = observation_error([error], [100, 1_000]).set_index("steps")["variance"]
    assert found[1_000] == pytest.approx(known, rel=2e-3)
    # The information of the package treats rounding as such an error.
    pair = observed_models(14)["two_agents"]
    seen = information(pair, 100, Observation(rounding=float(np.sqrt(12)) * error))
    assert found[100] == pytest.approx(float(seen.bound[0]), rel=1e-6)


def test_the_floor_is_the_limit_for_small_errors() -> None:
    row = observation_error([0.003], [20_000]).iloc[0]
    # Two agents share the variance 1/(2T) of their mean.
    assert row["variance"] - 1 / 40_000 == pytest.approx(row["floor"], rel=0.04)
    assert row["floor"] == pytest.approx(0.00190986, rel=1e-5)
