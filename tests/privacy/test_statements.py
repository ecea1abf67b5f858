"""What the documentation says about privacy, sentence by sentence: numbers, bounds, and the definition itself."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure import privacy
from peerpressure.privacy import DEFINITION, DESIGNS, budget, exposure, frontier
from peerpressure.theory import consensus_mode
from tests.builders import random_model
from tests.oracles import outputs_law

EXPLANATION = Path(__file__).parents[2] / "docs" / "explanation"
PAGE = " ".join(" ".join((EXPLANATION / f"{name}.md").read_text("utf-8") for name in ("observer", "privacy")).split())


def words(text: str | None) -> str:
    return " ".join((text or "").split())


@pytest.mark.parametrize("name", DEFINITION)
def test_one_definition_is_everywhere(name: str) -> None:
    assert DEFINITION[name] in PAGE


FUNCTIONS = [name for name in dir(privacy) if inspect.isfunction(getattr(privacy, name))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_documented(name: str) -> None:
    function = getattr(privacy, name)
    text = inspect.getdoc(function) or ""
    assert all(f"{title}\n{'-' * len(title)}" in text for title in ("Parameters", "Returns", "Examples"))
    assert all(parameter in text for parameter in inspect.signature(function).parameters)


def test_a_mean_heard_at_the_start_beats_the_limit_of_independent_noise() -> None:
    model = pp.Model(pp.networks.complete(20), np.linspace(0, 1, 20), noise=pp.Gaussian(3.0))
    result = pp.moments(model, 1, of=consensus_mode(model))
    assert float(result.mean[-1, 0]) == pytest.approx(model.consensus_value)
    cost = float(result.std[-1, 0]) * budget(model, 1).mu
    assert cost == pytest.approx(0.05)
    assert frontier(model, 1, [1.0]).limit == pytest.approx(math.sqrt(20) / 20)
    assert "0.0500" in PAGE
    assert "0.2236" in PAGE


@pytest.mark.parametrize("start", ["hidden", "public"])
@pytest.mark.parametrize("temporal", ["white", pp.AR1(0.5)])
def test_no_unbiased_estimate_beats_the_general_limit(start: str, temporal: Any) -> None:
    given = "hidden" if start == "hidden" else np.zeros(7)
    model = random_model(7, noise=pp.Gaussian(np.linspace(0.5, 2, 7), temporal=temporal), start=given)
    weights = model.s / model.s.sum()
    J = outputs_law(model, 4).information()
    error = math.sqrt(weights @ np.linalg.solve(J, weights))
    mu = budget(model, 4).mu
    assert error >= weights.max() / mu * (1 - 1e-9)
    if start == "public":
        # Noise of one's own, and no message that depends on another's opinion.
        np.testing.assert_allclose(J - np.diag(J.diagonal()), 0.0, atol=1e-9 * J.max())
        assert error >= np.linalg.norm(weights) / mu * (1 - 1e-9)


def test_what_white_noise_costs_depends_on_the_schedule() -> None:
    network = pp.networks.barabasi_albert(60, 2, seed=1)
    model = pp.Model(network, np.linspace(0, 1, 60))
    tuned = replace(model, pressure=pp.Linear.tuned(network, np.ones(60)))
    for one, expected in ((model, [1.566, 0.442]), (tuned, [0.432, 0.431])):
        errors = frontier(one, 100, [0.3], [DESIGNS[0], DESIGNS[4]]).table["rms_error"]
        np.testing.assert_allclose(errors, expected, atol=5e-4)
        assert all(str(value) in PAGE for value in expected)


def test_adaptation_bounds_information_but_the_start_adds_to_it() -> None:
    model = pp.Model(pp.networks.complete(20), np.linspace(0, 1, 20), noise=pp.Gaussian(1.0), adaptation=0.1)
    own = 1 / (1 - 0.9**2)
    assert budget(replace(model, start=np.zeros(20)), 500).information == pytest.approx(own)
    assert budget(model, 500).information == pytest.approx(own + 19)
    assert f"{own:.1f} steps" in PAGE
    assert f"{own + 19:.1f} steps" in PAGE


def test_a_finer_grid_reveals_more() -> None:
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=pp.Gaussian(5.0), start=[0.0, 0.0], pressure=1.0)
    coarse, fine = (budget(pp.SDE(model, step=float(h)), 50 // h) for h in (5, 1))
    assert f"{coarse.epsilon:.2f} at a step of 5, {fine.epsilon:.2f} at 1 and {coarse.epsilon_limit:.2f}" in PAGE


def exact_ratios(network: pp.Network, steps: int, agents: Sequence[int], start: bool) -> list[float]:
    """Return posterior over prior variances under frozen noise and ρ = t, in rational numbers.

    The unknowns are x₀, of variance 1/12, and one draw of unit variance for each agent.
    """
    n, A = network.n, [[Fraction(int(w)) for w in row] for row in network.adjacency.toarray()]
    unit = [[Fraction(int(i == j)) for j in range(2 * n)] for i in range(2 * n)]
    preferred = [[a + b for a, b in zip(unit[i], unit[n + i], strict=True)] for i in range(n)]
    public = [unit[i] if start else [Fraction(0)] * (2 * n) for i in range(n)]
    covariance = [[value / 12 if i < n else value for value in unit[i]] for i in range(2 * n)]
    for t in range(1, steps + 1):
        heard = [[sum(A[i][k] * public[k][j] for k in range(n)) for j in range(2 * n)] for i in range(n)]
        public = [
            [(own + t * more) / (1 + t * sum(A[i])) for own, more in zip(preferred[i], heard[i], strict=True)]
            for i in range(n)
        ]
        for row in (public[agent] for agent in agents):
            reach = [sum(c * r for c, r in zip(line, row, strict=True)) for line in covariance]
            variance = sum(r * c for r, c in zip(row, reach, strict=True))
            if variance:
                covariance = [
                    [c - reach[i] * reach[j] / variance for j, c in enumerate(line)]
                    for i, line in enumerate(covariance)
                ]
    return [float(12 * covariance[i][i]) for i in range(n)]


@pytest.mark.parametrize(
    ("network", "agents", "expected"),
    [
        (pp.networks.star(5), [1, 2], [0.0, 0.84, 0.84, 0.94, 0.94]),
        (pp.networks.cycle(5), [0, 1], [0.0] * 5),
        (pp.networks.path(4), [0, 1], [0.0, 0.0, 0.0, 0.92]),
    ],
    ids=["star", "cycle", "path"],
)
def test_frozen_noise_does_not_protect_unobserved_agents(
    network: pp.Network, agents: list[int], expected: list[float]
) -> None:
    model = pp.Model(network, np.linspace(0, 1, network.n), noise=pp.Gaussian(1.0, temporal="frozen"))
    found = exposure(model, 8, agents, pp.Prior(0.0, 1 / 12)).table["ratio"]
    np.testing.assert_allclose(found, exact_ratios(network, 8, agents, start=True), atol=1e-6)
    np.testing.assert_allclose(found, expected, atol=5e-3)
    public = replace(model, start=np.zeros(network.n))
    kept = exposure(public, 8, agents, pp.Prior(0.0, 1 / 12)).table["ratio"]
    np.testing.assert_allclose(kept, exact_ratios(network, 8, agents, start=False), atol=1e-6)
    # A public start leaves every agent the protection of its own draw.
    assert (kept >= 12 / 13 - 1e-6).all()


def test_white_noise_does() -> None:
    network = pp.networks.barabasi_albert(30, 2, seed=1)
    model = pp.Model(network, np.linspace(0, 1, 30), noise=pp.Gaussian(1.0))
    table = exposure(model, 60, list(range(15)), pp.Prior.uniform(0, 1)).table
    assert table[table["seen"]]["ratio"].max() < table[~table["seen"]]["ratio"].min()


@pytest.mark.parametrize(
    "law", [pp.Gaussian, pp.Laplace, pp.StudentT, pp.noise.Uniform, pp.noise.Rademacher], ids=lambda law: law.__name__
)
def test_an_agent_isolated_at_first_has_a_budget(law: type[pp.noise.Noise]) -> None:
    first = pp.Network.from_edges([(0, 1)], n=3)
    network = pp.TemporalNetwork.from_snapshots([first, pp.networks.path(3)])
    table = budget(pp.Model(network, [0.0, 1.0, 2.0], noise=law(2.0, temporal="frozen")), 4).table
    assert not table.isna().any().any()
    assert np.isinf(table["epsilon"][:2]).all()
    if law in (pp.Gaussian, pp.Laplace):
        assert math.isfinite(table["epsilon"][2])
