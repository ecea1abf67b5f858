"""The likelihoods of records given their first row, against dense Gaussian laws and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError
from peerpressure.fitting._family import FamilyFit
from peerpressure.fitting._integrated import (
    Criterion,
    bias_correction,
    fitted_law,
    integrated_height,
    posterior,
    sums_of,
    within_height,
)
from peerpressure.fitting._parameters import Shared
from peerpressure.fitting._record import Panel, panel
from peerpressure.fitting._rivals import rivals_of
from peerpressure.model import Model
from peerpressure.networks import Network
from tests.fitting.long_records import graph, log_density, record

Array = NDArray[np.float64]
# So different that first answers, under pressure, do not tell them.
SPREAD = np.array([0.0, 3.0, -2.0, 1.0, 4.0, -3.0, 2.0])


def _panel(rows: Array, network: Network, stubbornness: Array | float = 1.0) -> Panel:
    return panel(Model(network, np.zeros(network.n), stubbornness), np.arange(1, len(rows) + 1), rows)


def _shared(length: int, n: int, eta: float) -> Shared:
    rho = np.linspace(0.2, 0.1 + 0.1 * length, length)
    return Shared(rho[:, None], np.full((length, n), eta) if eta else None)


def _dense(data: Panel, shared: Shared, mean: Array | float, spread: float, variance: float) -> float:
    return log_density(data, shared, mean, np.sqrt(spread * variance), np.sqrt(variance))


@pytest.mark.parametrize("eta", [0.0, 0.15])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_integrated_likelihood_is_the_density_of_all_answers(eta: float, gaps: bool) -> None:
    network = graph(7)
    rows = record(network, 9, 3, lambda t: 0.2 * t, adaptation=eta, hidden=SPREAD)
    if gaps:
        rows[[2, 5, 5, 8], [1, 0, 3, 6]] = np.nan
    data = _panel(rows, network)
    shared = _shared(data.length, data.n, eta)
    level = fitted_law(sums_of(data, shared), data.columns)
    assert level.spread > 0
    dense = _dense(data, shared, level.mean, level.spread, level.variance)
    assert integrated_height(data, shared) == pytest.approx(dense, rel=1e-9)


def test_no_other_law_of_hidden_opinions_has_a_higher_likelihood() -> None:
    network = graph(7)
    data = _panel(record(network, 9, 3, lambda t: 0.2 * t, hidden=SPREAD), network)
    shared = _shared(data.length, data.n, 0.0)
    level = fitted_law(sums_of(data, shared), data.columns)
    for factor in (0.7, 1.4):
        for moved in (
            (level.mean, factor * level.spread, level.variance),
            (level.mean, level.spread, factor * level.variance),
            (level.mean + 0.1 * (factor - 1) * data.first, level.spread, level.variance),
        ):
            assert _dense(data, shared, *moved) < level.height


def test_latecomers_are_given_their_first_answer() -> None:
    network = graph(6)
    rows = record(network, 8, 1, lambda t: 0.3)
    rows[:3, 2] = np.nan
    data = _panel(rows, network)
    assert not data.scored[:3, 2].any()
    assert data.scored[3:, 2].all()
    assert data.count == 7 * 6 - 3
    assert sums_of(data, _shared(data.length, data.n, 0.0)).count == data.count


@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_the_correction_removes_the_bias_of_the_score(eta: float) -> None:
    """The mean slope of the within likelihood at the truth is 0; without the correction it is not."""
    network, runs = graph(12), 300
    truth, h = 0.4, 0.05
    slopes, plain = [], []
    for seed in range(runs):
        rows = record(network, 4, seed, lambda t: truth, adaptation=eta)
        data = _panel(rows, network)
        ends = [_constant(data, truth * np.exp(side * h), eta) for side in (1, -1)]
        slopes.append((within_height(data, ends[0]) - within_height(data, ends[1])) / (2 * h))
        heights = [sums_of(data, end).height for end in ends]
        plain.append((heights[0] - heights[1]) / (2 * h))
    error = float(np.std(slopes) / np.sqrt(runs))
    assert abs(np.mean(slopes)) < 4 * error
    assert np.mean(plain) > 8 * error


def _constant(data: Panel, rho: float, eta: float) -> Shared:
    rate = np.full((data.length, data.n), eta) if eta else None
    return Shared(np.full((data.length, 1), rho), rate)


@pytest.mark.parametrize("eta", [0.0, 0.15])
def test_the_correction_is_that_of_dense_matrices(eta: float) -> None:
    """The oracle: u = K y with all matrices written out, and the trace of K′K⁻¹ within the span of opinions."""
    network = graph(9)
    data = _panel(record(network, 6, 1, lambda t: 0.2), network, np.linspace(0.5, 2.0, 9))
    rate = np.full((data.length, data.n), eta) * np.linspace(0.5, 1.0, data.n) if eta else None
    shared = Shared(np.linspace(0.1, 0.7, data.length)[:, None], rate)
    points, weights = np.polynomial.legendre.leggauss(40)
    total = sum(w / 2 * _dense_bias(data, shared, (x + 1) / 2) for x, w in zip(points, weights, strict=True))
    if rate is not None:
        total -= 0.5 * np.log(np.square(_shares(data, rate)).mean(axis=0)).sum()
    assert bias_correction(data, shared) == pytest.approx(total, rel=1e-8)


def _dense_bias(data: Panel, shared: Shared, place: float, h: float = 1e-5) -> float:
    K, up, down = (_dense_map(data, shared, place + step) for step in (0.0, h, -h))
    share = _shares(data, shared.rate * place) if shared.rate is not None else np.ones((data.length, data.n))
    P = np.vstack([np.diag(row) for row in share])
    change = (up - down) / (2 * h) @ np.linalg.solve(K, P)
    return float(((P * change).sum(axis=0) / np.square(share).sum(axis=0)).sum())


def _dense_map(data: Panel, shared: Shared, place: float) -> Array:
    """Return K, which maps the answers after the first row to u, with all parameters times the place."""
    n, T = data.n, data.length
    K, adopted = np.eye(n * T), np.zeros((n, n * T))
    for t in range(T):
        here, rho = slice(n * t, n * t + n), place * shared.rho[t]
        answers = np.eye(n * T)[here]
        K[here] += rho * np.diag(data.slope[t]) @ answers - adopted
        if t:
            K[here, n * t - n : n * t] -= rho * data.adjacency(t + 1).toarray() / data.stubbornness[:, None]
        if shared.rate is not None:
            adopted = adopted + place * shared.rate[t][:, None] * (answers - adopted)
    return K


def _shares(data: Panel, rate: Array) -> Array:
    return np.asarray(np.cumprod(np.vstack([np.ones(data.n), 1 - rate[:-1]]), axis=0), dtype=np.float64)


def test_random_combinations_estimate_the_correction(monkeypatch: pytest.MonkeyPatch) -> None:
    network = graph(80)
    data = _panel(record(network, 6, 1, lambda t: 0.4), network)
    exact = bias_correction(data, _constant(data, 0.4, 0.1))
    monkeypatch.setattr("peerpressure.fitting._integrated._RESPONSES", 20 * 80 * 5)
    assert bias_correction(data, _constant(data, 0.4, 0.1)) == pytest.approx(exact, rel=0.05)


@pytest.mark.parametrize("name", ["constant", "power+adaptation"])
def test_a_rough_search_ends_at_the_maximum_of_the_exact_likelihood(name: str) -> None:
    network = graph(40, seed=2)
    criterion = Criterion(_panel(record(network, 12, 4, lambda t: 0.3), network))
    assert criterion.is_within
    fit = rivals_of(criterion)[name](())
    assert isinstance(fit, FamilyFit)
    top = fit.top
    for step in 0.3 * np.eye(top.point.size):
        for point in (top.point + step, top.point - step):
            assert top.problem.at(np.clip(point, top.low, top.high), None)[0] <= fit.log_likelihood + 1e-6


def test_no_pressure_needs_no_correction() -> None:
    network = graph(8)
    data = _panel(record(network, 5, 1), network)
    assert bias_correction(data, _constant(data, 0.0, 0.0)) == 0.0


def test_posteriors_of_opinions_are_uncertain_even_where_first_answers_explain_all() -> None:
    network = graph(40)
    data = _panel(record(network, 3, 5, hidden=np.zeros(40)), network)
    sums = sums_of(data, _constant(data, 0.0, 0.0))
    assert fitted_law(sums, data.columns).spread < 0.2
    assert posterior(sums, data.columns)[1].min() > 0.02


def test_answers_without_noise_are_an_error() -> None:
    network = graph(6)
    rows = record(network, 6, 1, lambda t: 0.5, std=0.0, hidden=np.linspace(0, 1, 6))
    data = _panel(rows, network)
    with pytest.raises(InvalidInputError, match="answers that have noise"):
        sums_of(data, _constant(data, 0.5, 0.0))
