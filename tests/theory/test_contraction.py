"""Contraction against dense eigenvalues and closed forms."""

from __future__ import annotations

import importlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, cycle, k2, path, random_regular
from peerpressure.schedules import Constant, Formula, Linear, Power, StretchedExponential
from peerpressure.theory._forgetting import contraction, contraction_product, log_contraction

# The function of the same name hides the module.
module = importlib.import_module("peerpressure.theory._forgetting")


def build(network: Network, seed: int = 1) -> Model:
    rng = np.random.default_rng(seed)
    return Model(network, rng.normal(size=network.n), rng.uniform(0.5, 1, network.n))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.floats(-8, 8), st.integers(1, 2))
def test_both_constants_match_dense_matrices(seed: int, log_rho: float, m: int) -> None:
    model = replace(build(barabasi_albert(12, m, seed=seed), seed), pressure=Constant(10**log_rho))
    C = model.update(1).coupling.toarray()
    assert contraction(model, 1) == pytest.approx(np.abs(C).sum(axis=1).max(), rel=1e-12)
    assert contraction(model, 1, exact=True) == pytest.approx(np.abs(np.linalg.eigvals(C)).max(), rel=1e-12)
    assert contraction(model, 1, exact=True) <= contraction(model, 1) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 500))
def test_two_states_draw_together(seed: int, t: int) -> None:
    model = build(barabasi_albert(15, 2, seed=seed), seed)
    a, b = np.random.default_rng(seed).normal(size=(2, 15))
    update = model.update(t)
    shrunk = np.abs(update(a) - update(b)).max() / np.abs(a - b).max()
    assert shrunk <= contraction(model, t) * (1 + 1e-12)


@pytest.mark.parametrize("rho", [1e-6, 1.0, 1e3, 1e20, 1e250])
@pytest.mark.parametrize("n", [20, 500])
def test_regular_networks_attain_the_bound(n: int, rho: float) -> None:
    model = Model(random_regular(n, 3, seed=1), np.zeros(n), 2.0, Constant(rho))
    expected = -np.log1p(2.0 / (3.0 * rho))
    assert log_contraction(model, 1) == pytest.approx(expected, rel=1e-12)
    assert log_contraction(model, 1, exact=True) == pytest.approx(expected, rel=1e-10)


def test_the_exact_distance_from_one_is_that_of_the_consensus_mode() -> None:
    model = replace(build(barabasi_albert(400, 2, seed=1)), pressure=Constant(1e14))
    assert log_contraction(model, 1, exact=True) == pytest.approx(-model.kappa / 1e14, rel=1e-9)


def test_large_and_crowded_spectra_match_dense_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    for model in (build(barabasi_albert(250, 2, seed=1)), build(path(200))):
        with monkeypatch.context() as patch:
            dense = log_contraction(model, [1, 1000], exact=True)
            patch.setattr(module, "DENSE", 2)
            np.testing.assert_allclose(log_contraction(model, [1, 1000], exact=True), dense, rtol=1e-9)
            patch.setattr(module, "LANCZOS_ITERATIONS", 1)
            np.testing.assert_allclose(log_contraction(model, [1, 1000], exact=True), dense, rtol=1e-9)


def test_two_agents_have_the_product_of_the_closed_form() -> None:
    model = Model(k2(), hidden=[0.0, 1.0])
    t = np.arange(1, 1001)
    np.testing.assert_allclose(contraction_product(model, 1000), 1 / (t + 1), rtol=1e-12)
    np.testing.assert_allclose(contraction_product(model, 1000, log=True), -np.log(t + 1), rtol=1e-12)


def test_the_product_vanishes_only_under_slow_pressure() -> None:
    model = build(cycle(5))
    assert contraction_product(model, 5_000)[-1] < 0.15
    for fast in (Power(1.5), StretchedExponential()):
        product = contraction_product(replace(model, pressure=fast), 5_000)
        assert product[-1] > 0.98 * product[2_500] > 0


@pytest.mark.parametrize("exact", [False, True])
def test_extreme_pressures(exact: bool) -> None:
    model = build(barabasi_albert(30, 2, seed=1))
    none, all_of_it = replace(model, pressure=Constant(0.0)), replace(model, pressure=Formula("t^400"))
    assert contraction(none, 1, exact=exact) == 0
    assert log_contraction(none, 1, exact=exact) == -np.inf
    assert contraction(all_of_it, 10, exact=exact) == pytest.approx(1.0, abs=1e-15)
    assert np.all(contraction_product(none, 3) == 0)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_only_the_ratio_of_stubbornness_and_pressure_counts(seed: int, c: float) -> None:
    model = build(barabasi_albert(20, 2, seed=seed), seed)
    scaled = replace(model, stubbornness=c * model.s, pressure=Linear(c))
    for exact in (False, True):
        ours, theirs = (log_contraction(m, [1, 50], exact=exact) for m in (scaled, model))
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)


def test_shapes_follow_the_times() -> None:
    model = build(k2())
    assert contraction(model, 1).shape == ()
    assert contraction(model, [1, 2, 3]).shape == (3,)
    assert contraction_product(model, 4).shape == (4,)


def test_bad_input_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="from 1 on"):
        contraction(build(k2()), 0)
    with pytest.raises(InvalidInputError, match="at least 1"):
        contraction_product(build(k2()), 0)
