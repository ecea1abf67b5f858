"""Moments of small networks by dense steps are those by sparse ones, which larger networks take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from peerpressure.model import Model
from peerpressure.model.statespace import dense_steps
from peerpressure.networks import Network, barabasi_albert, path
from peerpressure.noise import AR1, Gaussian
from peerpressure.schedules import Formula, Linear
from peerpressure.theory.propagation import Moments, moments
from tests.theory.changing import CHANGING
from tests.theory.test_moments import AGENTS, BY_AGENT, NETWORKS, NOISES, RATES, STEPS, build

CLOSE: dict[str, Any] = {"rtol": 1e-12, "atol": 1e-14}
ACTIVATIONS: dict[str, Any] = {
    "everybody": None,
    "table": np.eye(AGENTS, dtype=bool)[np.arange(STEPS) % 4],
    "independent": (1 + BY_AGENT) / 3,
    "single": "single",
}


def assert_same_by_all_paths(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], Moments]) -> None:
    """Compare sparse steps with dense ones in a single block, and in blocks that end between the times asked for."""
    found = []
    for largest, steps in ((0, 1), (64, 1024), (64, 4)):
        monkeypatch.setattr(dense_steps, "LARGEST_STATE", largest)
        monkeypatch.setattr(dense_steps, "_STEPS", steps)
        found.append(ask())
    for other in found[1:]:
        np.testing.assert_allclose(other.mean, found[0].mean, **CLOSE)
        np.testing.assert_allclose(other.variance, found[0].variance, **CLOSE)
        np.testing.assert_allclose(other.covariance, found[0].covariance, **CLOSE)


# Every pair of a noise, a rate, a network and an activation occurs.
PAIRS = [
    (noise, rate, list(NETWORKS)[(i + j) % 3], list(ACTIVATIONS)[(i - j) % 4])
    for i, noise in enumerate(NOISES)
    for j, rate in enumerate(RATES)
]


@pytest.mark.parametrize(("noise", "rate", "network", "activation"), PAIRS)
def test_dense_steps_are_the_sparse_ones(
    monkeypatch: pytest.MonkeyPatch, noise: str, rate: str, network: str, activation: str
) -> None:
    model = build(NETWORKS[network], RATES[rate], NOISES[noise], Linear(0.6))
    model = replace(model, activation=ACTIVATIONS[activation])
    rows = np.random.default_rng(3).normal(size=(3, 2 * AGENTS))
    assert_same_by_all_paths(monkeypatch, lambda: moments(model, STEPS, what="joint"))
    times = [0, 1, 2, 5, STEPS]
    assert_same_by_all_paths(monkeypatch, lambda: moments(model, STEPS, of=rows, times=times, what="joint"))


SIGNED = Network(np.array([[0, 1, -2], [0.5, 0, 0], [-1, 1.0, 0]]), directed=True, signed=True)


@pytest.mark.parametrize(
    "model",
    [
        Model(SIGNED, [0.0, 1.0, 3.0], [1.0, 2.0, 0.3], noise=Gaussian(1.0, temporal=AR1(-0.4)), adaptation=0.2),
        Model(CHANGING["isolated"], np.arange(6.0), noise=Gaussian(1.0), isolated="keep"),
        Model(Network(np.diag([1.0, 0, 0], k=1) + np.diag([1.0, 0, 0], k=-1)), np.arange(4.0), pressure="t^400"),
        Model(path(5), np.arange(5.0), pressure=Formula("t^300"), noise=Gaussian(np.arange(5.0))),
    ],
    ids=["directed with signs", "isolated agents keep", "isolated agents", "overflow"],
)
def test_special_steps_are_the_sparse_ones(monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    assert_same_by_all_paths(monkeypatch, lambda: moments(model, 12, what="joint"))
    assert_same_by_all_paths(monkeypatch, lambda: moments(model, 12, of=np.eye(model.n), times=[3, 12]))


def test_large_states_and_many_sums_take_sparse_steps() -> None:
    at = Model(barabasi_albert(21, 2, seed=1), np.arange(21.0), adaptation=0.1).layout
    assert dense_steps.is_small(at)
    assert not dense_steps.is_small(at, rows=1_000)
    assert not dense_steps.is_small(replace(at, has_memory=True, agents=22))
