"""Accuracy against privacy: dense mechanisms, the Cramér–Rao limit and the dichotomy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.privacy import DESIGNS, Definition, Noisy, OneShot, ZeroSum, frontier, growing
from peerpressure.privacy._mechanisms import averaging_matrix, limit
from peerpressure.theory import consensus_mode
from tests.builders import random_model

MASK = Noisy("mask", pp.Gaussian(temporal="frozen"))


def tuned(n: int = 12, seed: int = 2) -> Model:
    network = pp.networks.barabasi_albert(n, 2, seed=seed)
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.5, 1.0, n)
    return pp.Model(network, rng.uniform(0, 1, n), s, pressure=pp.Linear.tuned(network, s))


def proportional(n: int = 9) -> Model:
    """Return a model in which stubbornness goes with degree, so the mode has no transient."""
    network = pp.networks.barabasi_albert(n, 2, seed=5)
    return pp.Model(network, np.linspace(0, 1, n), 0.3 * network.degrees, pressure=pp.Linear(0.3))


def dense_zero_sum(
    model: Model, T: int, phi: float, seen: Sequence[int] | None = None, known: Sequence[int] = ()
) -> tuple[float, float, float]:
    """Return bias, variance and largest information with every message and every noise written out.

    Of the messages those of the ``seen`` agents count, and noise of the ``known`` agents does not hide anything.
    """
    P, n = averaging_matrix(model).toarray(), model.n
    state_x, state_v = np.eye(n), np.zeros((n, T * n))
    said_x, said_v = [], []
    for k in range(T):
        added = np.zeros((n, T * n))
        added[:, k * n : (k + 1) * n] += phi**k * np.eye(n)
        if k:
            added[:, (k - 1) * n : k * n] -= phi ** (k - 1) * np.eye(n)
        said_x.append(state_x)
        said_v.append(state_v + added)
        state_x, state_v = P @ state_x, P @ (state_v + added)
    # What insiders say follows from what they hear.
    rows = [i for i in (range(n) if seen is None else seen) if i not in known]
    Q, H = np.concatenate([said[rows] for said in said_x]), np.concatenate([said[rows] for said in said_v])
    H[:, np.isin(np.arange(T * n) % n, known)] = 0.0
    J = np.delete(Q.T @ np.linalg.solve(H @ H.T, Q), known, axis=1)[[i for i in range(n) if i not in known]]
    c = consensus_mode(model).weights
    bias = float(c @ state_x @ model.x0) - model.consensus_value
    return bias, float(np.sum((c @ state_v) ** 2)), float(J.diagonal().max())


def test_the_averaging_matrix_averages() -> None:
    model = random_model(11, seed=1)
    P = averaging_matrix(model).toarray()
    assert P.min() >= 0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.s @ P, model.s)
    np.testing.assert_allclose(np.linalg.matrix_power(P, 3000) @ model.x0, model.consensus_value)


@pytest.mark.parametrize("T", [1, 2, 6])
def test_zero_sum_against_the_dense_mechanism(T: int) -> None:
    model, phi = random_model(6, seed=3), 0.7
    (trade,) = ZeroSum(decay=phi).trades(Definition(model, T), [T])
    bias, variance, information = dense_zero_sum(model, T, phi)
    assert trade.bias == pytest.approx(bias, abs=1e-12)
    assert trade.variance == pytest.approx(variance)
    assert trade.information == pytest.approx(information, rel=1e-6)
    assert trade.information == pytest.approx(sum(phi ** (-2 * k) for k in range(T)))
    assert trade.cost == pytest.approx(math.sqrt(variance * information), rel=1e-6)


@pytest.mark.parametrize("T", [1, 2, 5, 12])
@pytest.mark.parametrize(("observed", "insiders"), [([0], []), ([2, 3], []), ([4], [1]), ([0, 1, 2, 3, 4], [])])
def test_zero_sum_protects_from_observers_that_miss_a_neighbour(
    T: int, observed: list[int], insiders: list[int]
) -> None:
    model, phi = random_model(7, seed=3), 0.7
    definition = Definition(model, T, runs=2, observed=observed, insiders=insiders)
    (trade,) = ZeroSum(decay=phi).trades(definition, [T])
    seen = np.flatnonzero(definition.is_observed).tolist()
    _, variance, information = dense_zero_sum(model, T, phi, seen, insiders)
    assert trade.information == pytest.approx(2 * information, rel=1e-6)
    assert trade.cost == pytest.approx(math.sqrt(2 * variance * information), rel=1e-6)


def test_zero_sum_is_accounted_for_safely_where_digits_end() -> None:
    model = random_model(7, seed=3)
    short, long = ZeroSum(decay=0.5).trades(Definition(model, 300, observed=[0]), [5, 300])
    everything = ZeroSum(decay=0.5).trades(Definition(model, 300), [5, 300])
    assert short.information < everything[0].information
    assert long.information == everything[1].information
    (nothing,) = ZeroSum(decay=0.5).trades(Definition(model, 300, observed=[]), [300])
    assert (nothing.information, nothing.cost) == (0.0, 0.0)


def test_zero_sum_stays_in_range_at_long_horizons() -> None:
    model = pp.Model(pp.networks.complete(6), np.linspace(0, 1, 6))
    early, late = ZeroSum(decay=0.9).trades(Definition(model, 3600), [200, 3600])
    # Averaging on a complete graph forgets faster than the noise decays, so the cost settles.
    assert late.cost == pytest.approx(early.cost, rel=1e-9)
    assert late.cost == pytest.approx(limit(model) / math.sqrt(1 - 0.81), rel=1e-6)
    assert math.isinf(late.information)
    # On a long path averaging is slower than the decay: early noise must be huge to hide anything late.
    long = pp.Model(pp.networks.path(30), np.zeros(30), np.linspace(1, 2, 30))
    slow = ZeroSum(decay=0.5).trades(Definition(long, 800), [800])[0]
    assert math.isinf(slow.cost)


@pytest.mark.parametrize("T", [1, 5, 40])
def test_one_shot_against_powers_of_the_matrix(T: int) -> None:
    model = random_model(8, seed=4)
    (trade,) = OneShot().trades(Definition(model, T), [T])
    weights = consensus_mode(model).weights @ np.linalg.matrix_power(averaging_matrix(model).toarray(), T)
    assert trade.bias == pytest.approx(weights @ model.x0 - model.consensus_value, abs=1e-12)
    assert trade.variance == pytest.approx(weights @ weights)
    assert trade.information == 1.0


def test_one_shot_tells_as_much_of_some_as_of_all() -> None:
    model = random_model(8, seed=4)
    (trade,) = OneShot().trades(Definition(model, 5, observed=[2, 6]), [5])
    P = averaging_matrix(model).toarray()
    shown = np.concatenate([np.linalg.matrix_power(P, k)[[2, 6]] for k in range(5)])
    # All messages are shown · (x₀ + η), so the information is the projection onto their span.
    assert np.diagonal(np.linalg.pinv(shown, rcond=1e-12) @ shown).max() == pytest.approx(trade.information)


@pytest.mark.parametrize("T", [1, 3, 50])
def test_a_mask_costs_exactly_the_limit(T: int) -> None:
    model = proportional()
    s = model.s
    result = frontier(model, T, [0.5, 2.0], [MASK])
    np.testing.assert_allclose(result.table["rms_error"], np.sqrt(np.sum(s**2)) / s.sum() / [0.5, 2.0])
    np.testing.assert_allclose(result.table["std"], [2.0, 0.5])
    assert result.limit == pytest.approx(np.sqrt(np.sum(s**2)) / s.sum())


@pytest.mark.parametrize("T", [1, 7, 60])
def test_no_unbiased_design_beats_the_limit(T: int) -> None:
    table = frontier(proportional(), T, [1.0]).table
    unbiased = table[np.abs(table["bias"]) < 1e-12]
    assert len(unbiased) == len(DESIGNS)
    assert (unbiased["rms_error"] >= limit(proportional()) * (1 - 1e-9)).all()


def test_consensus_and_lasting_privacy_exclude_each_other() -> None:
    horizons = [100, 400, 1600]
    units = frontier(tuned(), horizons, [1.0], [growing(0.25), growing(0.75), MASK]).units
    slow, fast, mask = (units[units["design"] == name] for name in ("growing as t^0.25", "growing as t^0.75", "mask"))

    def slope(values: object) -> Array:
        return np.asarray(np.diff(np.log(np.asarray(values))) / np.log(4))

    # γ < ½: the error goes as t^(γ−½) and the information as t^(1−2γ).
    np.testing.assert_allclose(slope(slow["rms_error"]), -0.25, atol=0.02)
    np.testing.assert_allclose(slope(slow["information"]), 0.5, atol=0.08)
    # γ > ½: the information stays below ζ(2γ), and the error grows.
    assert fast["information"].max() < 2.612376
    np.testing.assert_allclose(slope(fast["rms_error"]), 0.25, atol=0.02)
    # A mask keeps both forever.
    np.testing.assert_allclose(mask["information"], 1.0)
    np.testing.assert_allclose(mask["rms_error"], limit(tuned()), rtol=0.02)


def test_at_a_fixed_budget_growth_costs_what_the_means_say() -> None:
    # The mean of t^(2γ) times the mean of t^(−2γ) tends to 1/(1 − 4γ²).
    result = frontier(proportional(), 1500, [1.0], [growing(0.25)])
    cost = float(result.units["cost"].iloc[0])
    assert cost / limit(proportional()) == pytest.approx(math.sqrt(4 / 3), rel=0.02)


def test_errors_fall_as_budgets_grow() -> None:
    result = frontier(tuned(), [5, 50], [0.1, 1.0, 10.0])
    assert len(result.table) == 2 * 3 * len(DESIGNS)
    for _, group in result.table.groupby(["design", "horizon"]):
        assert (np.diff(group["rms_error"]) < 0).all()
        np.testing.assert_allclose(group["rms_error"], np.hypot(group["bias"], group["deviation"]))
    halved = frontier(tuned(), [5, 50], [0.1, 1.0, 10.0], sensitivity=0.5).table
    np.testing.assert_allclose(halved["deviation"], result.table["deviation"] / 2)


def test_best_says_which_design_at_a_horizon() -> None:
    result = frontier(tuned(), [10, 200], [0.1, 100.0])
    best = result.best(200)
    assert best["mu"].tolist() == [0.1, 100.0]
    for row in best.itertuples():
        rivals = result.table[(result.table["horizon"] == 200) & (result.table["mu"] == row.mu)]
        assert row.rms_error <= rivals["rms_error"].min() * (1 + 1e-11)
    # At a generous budget only bias is left, which an untuned schedule keeps and plain averaging sheds.
    untuned = pp.Model(tuned().network, tuned().x0, tuned().s, pressure=pp.Linear(5.0))
    assert frontier(untuned, 200, [1e6]).best(200)["design"].tolist() == ["one shot"]
    assert "after 200 steps" in str(result)
    with pytest.raises(InvalidInputError, match="the horizon must be one of 10, 200, got 50"):
        result.best(50)


def test_a_public_start_is_kept() -> None:
    model = proportional()
    far = pp.Model(model.network, model.x0, model.s, model.pressure, start=np.full(model.n, 9.0))
    (trade,) = MASK.trades(Definition(far, 3), [3])
    assert trade.bias > 0.1
    assert trade.information == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": 0}, "a time must be a whole number from 1 on"),
        ({"steps": []}, "there must be a horizon"),
        ({"budgets": []}, "budgets must be finite numbers μ > 0"),
        ({"budgets": [1.0, -1.0]}, "budgets must be finite numbers μ > 0"),
        ({"budgets": "wide"}, "budgets must be finite numbers μ > 0"),
        ({"budgets": [math.inf]}, "budgets must be finite numbers μ > 0"),
        ({"designs": []}, "there must be one design or more"),
        ({"designs": [MASK, MASK]}, "with different names, got mask, mask"),
        ({"sensitivity": 0.0}, "sensitivity must be a finite number above 0"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {"steps": 5, "budgets": [1.0]} | change
    with pytest.raises(InvalidInputError, match=message):
        frontier(proportional(), **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.5, math.nan])
def test_zero_sum_noise_must_decay(decay: float) -> None:
    with pytest.raises(InvalidInputError, match="must decay by a factor strictly between 0 and 1"):
        ZeroSum(decay=decay)
