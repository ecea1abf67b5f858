"""The weight of neighbours in records of some rows: no bias of few rows, whatever the errors, and gaps."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.fitting._neighbour_weight import neighbour_weight
from peerpressure.fitting._record import Panel, panel
from peerpressure.networks import complete, watts_strogatz

Array = NDArray[np.float64]


def _panel(network: pp.Network, rows: Array) -> Panel:
    return panel(pp.Model(network, np.zeros(network.n)), np.arange(1, len(rows) + 1), rows)


def _pressed(
    seed: int, w: float, memory: float = 0.0, rows: int = 8, tails: float = np.inf
) -> tuple[pp.Network, Array]:
    """Return a network and answers about opinions, of which neighbours have a part w and the last answer another."""
    network, rng = watts_strogatz(60, 4, 0.2, seed=seed), np.random.default_rng(seed)
    W = network.adjacency.toarray() / network.degrees[:, None]
    x = rng.normal(size=60)
    y, record = x + 0.5 * rng.normal(size=60), []
    for _ in range(rows):
        noise = rng.normal(size=60) if np.isinf(tails) else rng.standard_t(tails, 60)
        y = (1 - w - memory) * x + memory * y + w * (W @ y) + 0.5 * noise
        record.append(y)
    return network, np.array(record)


@pytest.mark.parametrize(("w", "memory", "tails"), [(0.4, 0.0, np.inf), (0.3, 0.4, np.inf), (0.4, 0.0, 3.0)])
def test_few_rows_leave_little_bias_and_the_interval_holds_the_weight(w: float, memory: float, tails: float) -> None:
    """Least squares alone finds 0.32, 0.21 and 0.31."""
    found = [neighbour_weight(_panel(*_pressed(seed, w, memory, tails=tails))) for seed in range(30)]
    assert np.mean([one.value for one in found]) == pytest.approx(w, abs=0.05)
    assert np.mean([one.low <= w <= one.high for one in found]) >= 0.9


def test_nobody_has_a_weight_where_nobody_listens() -> None:
    found = [neighbour_weight(_panel(*_pressed(seed, 0.0, 0.5))) for seed in range(40)]
    assert np.mean([one.value for one in found]) == pytest.approx(0, abs=0.04)


def test_missing_answers_cost_little() -> None:
    network, rows = _pressed(1, 0.4, rows=40)
    gaps = np.where(np.random.default_rng(2).random(rows.shape) < 0.05, np.nan, rows)
    whole, parts = (neighbour_weight(_panel(network, each)) for each in (rows, gaps))
    assert parts.value == pytest.approx(whole.value, abs=0.08)
    assert parts.std > whole.std


def test_a_group_in_which_all_hear_the_same_has_no_weight() -> None:
    rows = np.random.default_rng(1).normal(size=(12, 6))
    found = neighbour_weight(_panel(complete(6), rows))
    assert np.isnan(found.value)
    assert np.isinf(found.std)


def test_two_changes_tell_no_size() -> None:
    network, rows = _pressed(3, 0.3, rows=3)
    found = neighbour_weight(_panel(network, rows))
    assert found.low < 0.3 < found.high
