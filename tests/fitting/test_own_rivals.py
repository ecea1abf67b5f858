"""Rivals without neighbours: their likelihood is a density by matrices, and each wins where it is true."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.fitting._own_rivals import OWN_LAWS, OwnFit, fit_own
from peerpressure.fitting._record import Panel, panel
from tests.fitting.long_records import graph, walk

Array = NDArray[np.float64]


def _panel(rows: Array) -> Panel:
    n = rows.shape[1]
    return panel(pp.Model(graph(n), np.zeros(n)), np.arange(1, len(rows) + 1), rows)


def _returning(n: int, rows: int, seed: int, *, memory: float = 0.6, own: bool = True, shock: float = 0.0) -> Array:
    """Return answers that return to levels, with a shock that all share, (rows, n)."""
    rng = np.random.default_rng(seed)
    level = rng.standard_normal(n) if own else np.zeros(n)
    y, out = level + 0.3 * rng.standard_normal(n), []
    for _ in range(rows):
        y = memory * y + (1 - memory) * level + 0.3 * rng.standard_normal(n) + shock * rng.standard_normal()
        out.append(y)
    return np.array(out)


def _holes(rows: Array, seed: int = 0) -> Array:
    return np.where(np.random.default_rng(seed).random(rows.shape) < 0.2, np.nan, rows)


def _density(data: Panel, fit: OwnFit) -> float:
    """Return the log density of the scored answers of the fitted law, by matrices of all rows of an agent."""
    level, phi, T, total = fit.level, fit.memory, data.length, 0.0
    around = np.zeros((T, data.n))
    if fit.law.responds:
        around = level.weight * data.rows[:-1] @ (data.network.adjacency.toarray() / data.network.degrees[:, None]).T
    L = np.array([[phi ** (t - k) if t >= k else 0.0 for k in range(T)] for t in range(T)])
    for i in range(data.n):
        seen = np.flatnonzero(data.scored[:, i])
        first = int(np.flatnonzero(np.isfinite(data.rows[:, i]))[0])
        # From the agent's first answer on.
        moves = L[first:, first:]
        mean = phi ** np.arange(1, T - first + 1) * data.rows[first, i]
        mean = mean + moves @ (level.mean[i] + level.effects[first:] + around[first:, i])
        spread = np.eye(T - first) + level.spread * np.ones((T - first, T - first))
        covariance = level.variance * moves @ spread @ moves.T
        kept = seen - first
        off, C = data.rows[1:][seen, i] - mean[kept], covariance[np.ix_(kept, kept)]
        total += -0.5 * (off @ np.linalg.solve(C, off) + np.linalg.slogdet(2 * np.pi * C)[1])
    return float(total)


@pytest.mark.parametrize("name", OWN_LAWS)
@pytest.mark.parametrize("holes", [False, True])
def test_the_likelihood_is_the_density_of_all_scored_answers(name: str, holes: bool) -> None:
    rows = 5 + _returning(9, 12, 1, shock=0.2)
    data = _panel(_holes(rows) if holes and not OWN_LAWS[name].responds else rows)
    fit = fit_own(data, name)
    assert fit.log_likelihood == pytest.approx(_density(data, fit), rel=1e-6)
    assert np.isfinite(fit.predictions(data)).all()
    value, std = fit.opinions
    assert np.isfinite(value).all()
    assert (std >= 0).all()


@pytest.mark.parametrize(
    ("best", "rows"),
    [
        ("own-return", _returning(20, 60, 1)),
        ("common-return", _returning(20, 60, 1, own=False)),
        ("own-return+period", _returning(20, 60, 1, shock=0.5)),
        ("common-return+period", _returning(20, 60, 2, own=False, shock=0.5)),
        ("none+period", _returning(20, 60, 1, memory=0.0, shock=0.5)),
        ("none+trend", _returning(20, 60, 1, memory=0.0) + 0.05 * np.arange(60)[:, None]),
        ("walk+period", np.cumsum(walk(20, 60, 1)[1:] - walk(20, 60, 1)[:-1], axis=0) + walk(1, 60, 9)[1:] * 5),
    ],
)
def test_people_who_respond_to_nobody_are_not_said_to(best: str, rows: Array) -> None:
    found = pp.compare(rows, graph(20), ["none", "constant", "degroot", "walk", *OWN_LAWS])
    assert found.best == best
    assert found.verdict != "responds"
    assert found.model is None
    assert OWN_LAWS[best].words in found.sentences
    assert not found.caveat


def test_a_response_is_found_where_people_return_to_levels_and_share_shocks() -> None:
    network, rng = graph(20), np.random.default_rng(1)
    W, level = network.adjacency.toarray() / network.degrees[:, None], rng.standard_normal(20)
    y, rows = level, []
    for _ in range(40):
        y = 0.3 * y + 0.3 * (W @ y) + 0.4 * level + 0.3 * rng.standard_normal(20) + 0.5 * rng.standard_normal()
        rows.append(y)
    found = pp.compare(np.array(rows), network)
    assert found.best == "own-return+neighbours+period"
    assert found.verdict == "responds"
    assert isinstance(found.fit, OwnFit)
    assert found.fit.weight[1] < 0.3 < found.fit.weight[2]
    assert found.fit.memory == pytest.approx(0.3, abs=0.1)
    assert found.weight.low < 0.3 < found.weight.high
    assert found.sentences[1].startswith("On average they move 0.18 (0.035 to 0.32) of the way")


@pytest.mark.parametrize("change", [lambda rows: rows + 1e4, lambda rows: 100 * rows])
def test_units_change_no_difference_between_rivals(change: Callable[[Array], Array]) -> None:
    rows = _holes(_returning(8, 15, 1))
    bics = [
        [fit_own(_panel(data), name).bic for name in ("none+trend", "own-return+period")]
        for data in (rows, change(rows))
    ]
    assert np.diff(bics[1]) == pytest.approx(np.diff(bics[0]), abs=0.02)


def test_levels_are_the_opinions_of_those_who_return_to_them() -> None:
    level = np.linspace(0, 1, 12)
    rows = level + _returning(12, 200, 3, own=False)
    fit = fit_own(_panel(rows), "own-return")
    value, std = fit.opinions
    assert fit.memory == pytest.approx(0.6, abs=0.05)
    assert (abs(value - level) < 3 * std).all()
    assert fit.noise_std == pytest.approx(0.3, abs=0.02)
