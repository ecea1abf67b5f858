"""The placebo of records of many rows: its effect is that of least squares, and it finds what is there."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.fitting._place_placebo import placebo
from peerpressure.fitting._record import Panel, panel
from tests.fitting.long_records import graph, record, walk

Array = NDArray[np.float64]


def _panel(rows: Array, network: pp.Network | pp.TemporalNetwork | None = None) -> Panel:
    network = graph(rows.shape[1]) if network is None else network
    return panel(pp.Model(network, np.zeros(network.n)), np.arange(1, len(rows) + 1), rows)


def _by_least_squares(data: Panel, deal: NDArray[np.int64]) -> tuple[float, float]:
    """Return c and c over its standard error, with a dummy for each agent and each period."""
    filled, n = data.filled, data.n
    place = np.empty(n, dtype=np.int64)
    place[deal] = np.arange(n)
    X, y = list[Array](), list[float]()
    for t in range(1, data.length + 1):
        A = data.adjacency(t).toarray()[np.ix_(place, place)]
        d = A.sum(axis=1)
        around = np.divide(A @ filled[t - 1], d, out=np.zeros(n), where=d > 0)
        for i in np.flatnonzero(np.isfinite(data.rows[t]) & np.isfinite(data.rows[t - 1])):
            X.append(np.r_[around[i], filled[t - 1, i], np.eye(n)[i], np.eye(data.length)[t - 1]])
            y.append(filled[t, i])
    Z, answers = np.array(X), np.array(y)
    left = np.linalg.pinv(Z) @ answers
    errors = answers - Z @ left
    part = Z[:, 0] - Z[:, 1:] @ (np.linalg.pinv(Z[:, 1:]) @ Z[:, 0])
    return float(left[0]), float(left[0] / np.sqrt(errors @ errors / (part @ part)))


def _records() -> dict[str, Panel]:
    rows, rng = record(graph(8), 9, 3, lambda t: 0.4), np.random.default_rng(1)
    gaps = np.where(rng.random(rows.shape) < 0.15, np.nan, rows)
    # Two people without neighbours, and ties in one direction.
    A = np.triu(graph(8).adjacency.toarray(), 1)
    A[:, 7] = A[7] = A[:, 6] = A[6] = 0
    waves = pp.TemporalNetwork.from_snapshots([graph(8), pp.networks.cycle(8)])
    return {
        "complete": _panel(rows),
        "gaps": _panel(gaps),
        "isolated and directed": _panel(gaps, pp.Network(A, directed=True)),
        "temporal": _panel(rows, waves),
    }


@pytest.mark.parametrize("kind", _records())
def test_the_effect_and_its_rank_are_those_of_least_squares(kind: str) -> None:
    data, draws = _records()[kind], 19
    found = placebo(data, draws, seed=5)
    effect, height = _by_least_squares(data, np.arange(8))
    rng = np.random.default_rng(5)
    others = [_by_least_squares(data, rng.permutation(8)) for _ in range(draws)]
    assert found.effect == pytest.approx(effect)
    assert found.shuffled == pytest.approx([one[0] for one in others])
    assert found.p_value == (1 + sum(one[1] >= height for one in others)) / (draws + 1)


def test_a_response_is_found_and_walks_have_none() -> None:
    network = graph(20)
    assert placebo(_panel(record(network, 40, 1, lambda t: 0.5)), 199).p_value <= 0.01
    assert placebo(_panel(walk(20, 40, 1)), 199).p_value > 0.05


def test_the_same_seed_gives_the_same_deals() -> None:
    data = _panel(walk(10, 12, 1))
    assert np.array_equal(placebo(data, 49).shuffled, placebo(data, 49).shuffled)
    assert not np.array_equal(placebo(data, 49).shuffled, placebo(data, 49, seed=1).shuffled)


def test_a_level_or_a_shock_changes_nothing() -> None:
    rows = record(graph(10), 20, 1, lambda t: 0.3)
    moved = rows + 1e3 + np.linspace(0, 5, 10) + np.cumsum(np.ones((20, 1)), axis=0)
    first, second = placebo(_panel(rows), 99), placebo(_panel(moved), 99)
    assert second.effect == pytest.approx(first.effect)
    assert second.p_value == first.p_value


def test_where_all_hear_the_same_nothing_is_told() -> None:
    found = placebo(_panel(record(pp.networks.complete(8), 15, 1, lambda t: 0.5), pp.networks.complete(8)), 9)
    assert not found.can_tell
    assert found.p_value == 1


def test_effects_as_large_as_the_smallest_are_mostly_found() -> None:
    """By the spread of effects among random places, at a level of 0.05."""
    network = graph(30)
    smallest = np.mean([placebo(_panel(record(network, 15, k)), 99).smallest for k in range(5)])
    W = network.adjacency.toarray() / network.degrees[:, None]
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, y, rows = rng.random(30), rng.random(30), []
        for _ in range(15):
            y = x + smallest * (W @ y) + 0.3 * rng.standard_normal(30)
            rows.append(y)
        found += placebo(_panel(np.array(rows)), 99).p_value <= 0.05
    # 16 are expected, and fewer than 10 have a probability of 0.003.
    assert found >= 10
