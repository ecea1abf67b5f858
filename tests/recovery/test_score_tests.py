"""Score tests of what a model misses: against derivatives of the likelihood, and on faults that are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import Observation, ScoreTests, answers_of, diagnose_fit, limits
from peerpressure.recovery._score_tests import score_tests
from tests.builders import random_model
from tests.recovery.cases import AGENTS, FACTORS, NOISES, STARTS, Array

STEPS = 12


class Parameters(NamedTuple):
    """The parameters that the oracle differentiates by, x₀ of each replicate among them."""

    adjacency: Array
    degrees: Array
    stubbornness: Array
    log_pressure: float
    log_std: float
    hidden: Array


def terms(model: pp.Model, data: pp.recovery.Answers, at: Parameters) -> tuple[Array, Array]:
    """Return E and log m of every output whose step is observed, NaN elsewhere; (replicates, T, n) each.

    Written from y_t = (s(x_t + ε_t) + ρ_t A y_{t−1})/(s + ρ_t d), x_{t+1} = x_t + η_t(y_t − x_t), step by step.
    """
    n, last, phi = model.n, data.seen.last, model.noise.autocorrelation
    deviations = model.noise.deviations(n) * np.exp(at.log_std)
    heeded = [np.flatnonzero(row) for row in at.adjacency]  # a neighbour that is not observed counts only if heeded
    E, logs = np.full((2, len(data.known), last, n), np.nan)
    for r in range(len(data.known)):
        y = np.full((last + 1, n), np.nan)
        y[0] = data.known[r] if isinstance(model.start, str) else model.start_state
        for row, t in enumerate(data.seen.times):
            y[t, data.seen.agents] = data.at(row)[r]
        x, v = at.hidden[r].copy(), np.full(n, np.nan)
        for t in range(1, last + 1):
            rho = float(model.pressure(t)) * np.exp(at.log_pressure)
            sigmas = deviations * float(model.noise.scale(t))
            before, v = v, np.full(n, np.nan)
            for i in range(n):
                heard = at.adjacency[i, heeded[i]] * y[t - 1, heeded[i]]
                s, sigma = at.stubbornness[i], sigmas[i]
                m = 1 + rho * at.degrees[i] / s
                v[i] = (m * y[t, i] - rho * sum(heard) / s - x[i]) / sigma
                first = phi == 0 or t == 1
                E[r, t - 1, i] = v[i] if first else (v[i] - phi * before[i]) / np.sqrt(1 - phi**2)
                logs[r, t - 1, i] = np.log(m) - np.log(sigma)
            rate = model.update(t).adaptation_rate
            x = x if rate is None else np.where(rate > 0, x + rate * (y[t] - x), x)
    return E, logs


class Oracle:
    """Efficient scores of directions in standard errors, with x₀, log σ and log ρ unknown."""

    def __init__(self, model: pp.Model, data: pp.recovery.Answers, at: Parameters) -> None:
        self.model, self.data = model, data
        self.E, _ = terms(model, data, at)
        self.used = np.isfinite(self.E)

        def opinion(r: int, i: int) -> Callable[[float], Parameters]:
            return lambda step: at._replace(
                hidden=at.hidden + step * (np.indices(at.hidden.shape) == [[[r]], [[i]]]).all(0)
            )

        paths = [lambda step: at._replace(log_std=step + at.log_std), lambda step: at._replace(log_pressure=step)]
        paths += [opinion(r, int(i)) for r in range(len(data.known)) for i in np.flatnonzero(np.isnan(data.known[r]))]
        # The same for all directions.
        self.unknown = [self.derivative(path) for path in paths]

    def derivative(self, path: Callable[[float], Parameters]) -> tuple[Array, Array]:
        h = 1e-5
        up, down = (terms(self.model, self.data, path(sign * h)) for sign in (1, -1))
        c, R = ((a - b)[self.used] / (2 * h) for a, b in zip(up, down, strict=True))
        # Where the new neighbour is not observed, the tie cannot be seen.
        return np.nan_to_num(c), np.where(np.isfinite(c), R, 0.0)

    def score(self, move: Callable[[float], Parameters]) -> float:
        found = [self.derivative(move), *self.unknown]
        c, R = np.array([c for c, _ in found]), np.array([R for _, R in found])
        e = self.E[self.used]
        ahead = c - R * e
        U, info = (R - e * c).sum(axis=1), ahead @ ahead.T + 2 * R @ R.T
        # Opinions of agents without residuals have no information.
        share = np.linalg.pinv(info[1:, 1:]) @ info[1:, 0]
        return float((U[0] - share @ U[1:]) / np.sqrt(info[0, 0] - share @ info[1:, 0]))


def fitted(model: pp.Model, data: pp.recovery.Answers) -> Parameters:
    """Return the parameters of the model with x₀ and the size of the noise at their best."""
    known, plain = np.nan_to_num(data.known), model.network.adjacency.toarray()
    at = Parameters(plain, np.abs(plain).sum(axis=1), model.s, 0.0, 0.0, known.copy())
    E, _ = terms(model, data, at)
    slope, _ = terms(model, data, at._replace(hidden=known + 1.0))
    a = np.nan_to_num(E - slope)
    free = np.isnan(data.known) & ((a**2).sum(axis=1) > 0)
    x = np.where(free, (a * np.nan_to_num(E)).sum(axis=1) / np.where(free, (a**2).sum(axis=1), 1.0), known)
    E, _ = terms(model, data, at._replace(hidden=x))
    return at._replace(hidden=x, log_std=0.5 * float(np.log(np.nanmean(E**2))))


def moved(at: Parameters, kind: str, agents: tuple[int, ...], *, both: bool) -> Callable[[float], Parameters]:
    """Return the path of parameters in a direction of the tests."""

    def path(step: float) -> Parameters:
        if kind == "stubbornness":
            return at._replace(
                stubbornness=at.stubbornness * np.exp(step * (np.arange(len(at.stubbornness)) == agents))
            )
        A, d = at.adjacency.copy(), at.degrees.copy()
        for i, j in (agents, agents[::-1]) if both else (agents,):
            if kind == "sign":
                A[i, j] -= step * at.adjacency[i, j]
            else:
                A[i, j], d[i] = step, d[i] + step
        return at._replace(adjacency=A, degrees=d)

    return path


def directed_model(**parts: Any) -> pp.Model:
    base = random_model(AGENTS, 5)
    rng = np.random.default_rng(2)
    A = np.where(rng.random((AGENTS, AGENTS)) < 0.4, rng.uniform(0.5, 2, (AGENTS, AGENTS)), 0.0)
    np.fill_diagonal(A, 0.0)
    # Everyone has a neighbour, without whom a step would need no step before.
    A[np.arange(AGENTS), np.roll(np.arange(AGENTS), 1)] = 1.0
    values: dict[str, Any] = {
        "network": pp.Network(A, directed=True),
        "pressure": pp.Linear(0.4),
        "noise": pp.Gaussian(0.7),
    }
    return replace(base, **(values | parts))


SIGNS = pp.Network(directed_model().network.adjacency * np.linspace(-1, 1, AGENTS)[:, None], directed=True, signed=True)
CASES: dict[str, tuple[pp.Model, Observation | None]] = {
    "undirected": (random_model(AGENTS, 3, pressure=pp.Linear(0.4), noise=pp.Gaussian(0.7)), None),
    "directed": (directed_model(), None),
    "known start": (directed_model(), Observation(sees_start=True)),
    "public start": (directed_model(start=STARTS["given"]), None),
    "by agent": (directed_model(noise=NOISES["by agent"]), None),
    "scaled over time": (directed_model(noise=NOISES["scaled over time"]), None),
    "ar1": (directed_model(noise=NOISES["ar1"]), None),
    "ar1, public start": (directed_model(noise=NOISES["negative ar1"], start=STARTS["given"]), None),
    "adapting": (directed_model(adaptation=pp.Adaptation("0.9/(1 + t)", adaptation_weight=FACTORS)), None),
    "gaps in time": (directed_model(), Observation(times=[1, 2, 3, 5, 6, 7, 9, 10, 12])),
    "signed": (directed_model(network=SIGNS), None),
}


@pytest.mark.parametrize("name", CASES)
def test_scores_are_those_of_the_likelihood(name: str) -> None:
    model, look = CASES[name]
    data = answers_of(pp.simulate(model, STEPS, 2, seed=1, record="all"), model, look)
    assert_scores(model, data)


def test_outputs_that_are_missing_here_and_there() -> None:
    model = directed_model()
    run = pp.simulate(model, 25, seed=1, record="all")
    assert run.states is not None
    states = np.array(run.states)
    states[:, np.random.default_rng(1).random(states.shape[1:]) < 0.08] = np.nan
    assert_scores(model, answers_of(replace(run, states=states), model))


def assert_scores(model: pp.Model, data: pp.recovery.Answers) -> None:
    """Check the largest and the smallest scores of each kind against the oracle."""
    at, both = fitted(model, data), not model.network.directed
    found, oracle = score_tests(model, data), Oracle(model, data, at)
    assert not found.reason
    for kind in ("stubbornness", "sign", "tie"):
        scores = [score for score in found.scores if score.kind == kind]
        assert len(scores) > 2
        for score in (scores[0], scores[-1]):
            expected = oracle.score(moved(at, kind, score.agents, both=both))
            assert score.z == pytest.approx(expected, rel=1e-4, abs=1e-5), score


# Faults that are known, in the setting of the documentation.


def setting(**parts: Any) -> pp.Model:
    rng = np.random.default_rng(1)
    values: dict[str, Any] = {
        "network": pp.networks.barabasi_albert(20, 2, seed=3),
        "hidden": rng.uniform(size=20),
        "noise": pp.Gaussian(1.0),
    }
    return pp.Model(**(values | parts))


def changed(i: int, j: int, weight: float) -> pp.Network:
    """Return the network of the setting with another weight of a tie."""
    A = setting().network.adjacency.toarray()
    A[i, j] = A[j, i] = weight
    return pp.Network(A, signed=weight < 0)


def misses(made: pp.Model, read: pp.Model, seed: int = 1, steps: int = 50) -> ScoreTests:
    return diagnose_fit(pp.simulate(made, steps, seed=seed), read).misses


def test_a_stubborn_agent_is_named() -> None:
    found = misses(setting(stubbornness=np.where(np.arange(20) == 7, 2.0, 1.0)), setting())
    assert found.sentences == ("Agent 7 is more stubborn than the model says.",)
    first = found.table.iloc[0]
    assert (first["kind"], first["agent"], first["neighbour"]) == ("stubbornness", 7, None)
    assert first["p_value"] == 1 / 200


def test_a_yielding_agent_is_named() -> None:
    found = misses(setting(stubbornness=np.where(np.arange(20) == 7, 0.4, 1.0)), setting())
    assert "Agent 7 is less stubborn than the model says." in found.sentences


def test_a_wrong_sign_is_named_and_not_what_follows_from_it() -> None:
    i, j, _ = setting().network.edges()
    wrong = changed(int(i[12]), int(j[12]), -1.0)
    found = misses(setting(network=wrong), setting())
    assert found.sentences == (f"The tie between {i[12]} and {j[12]} acts against its sign.",)
    # The stubbornness of both agents looks wrong as well.
    assert min(score.p_value for score in found.scores if score.kind == "stubbornness") == 1 / 200


def test_a_sign_that_should_be_positive_is_named() -> None:
    i, j, _ = setting().network.edges()
    assert (
        f"The tie between {i[12]} and {j[12]} acts against its sign."
        in misses(setting(), setting(network=changed(int(i[12]), int(j[12]), -1.0))).sentences
    )


def test_a_missing_tie_is_named() -> None:
    i, j, _ = setting().network.edges()
    found = misses(setting(), setting(network=changed(int(i[20]), int(j[20]), 0.0)), seed=2, steps=100)
    assert found.sentences == (f"A tie between {i[20]} and {j[20]} is missing.",)


def test_directions_and_labels_are_in_the_sentences() -> None:
    A = pp.networks.barabasi_albert(12, 2, seed=3).adjacency.toarray()
    names = [f"p{k}" for k in range(12)]
    A[0, 11] = 0.5
    read = pp.Model(pp.Network(A, names, directed=True), hidden=np.arange(12.0), noise=pp.Gaussian(1.0))
    A[2, 9] = 2.0
    made = replace(read, network=pp.Network(A, names, directed=True))
    assert "A tie from p2 to p9 is missing." in misses(made, read, steps=100).sentences


def test_two_faults_are_both_named() -> None:
    s = np.where(np.isin(np.arange(20), [7, 11]), 3.0, 1.0)
    assert [score.agents for score in misses(setting(stubbornness=s), setting()).missed] in (
        [(7,), (11,)],
        [(11,), (7,)],
    )


@pytest.mark.parametrize("noise", [pp.Gaussian(1.0), pp.Laplace(1.0)])
def test_size(noise: pp.noise.Noise) -> None:
    model = setting(noise=noise)
    run = pp.simulate(model, 25, 24, seed=5)
    assert run.states is not None
    rejected = dict.fromkeys(("stubbornness", "sign", "tie"), 0)
    for r in range(24):
        one = replace(run, states=run.states[r : r + 1], replicates=run.replicates[r : r + 1])
        scores = score_tests(model, answers_of(one, model)).scores
        for kind in rejected:
            rejected[kind] += min(score.p_value for score in scores if score.kind == kind) <= 0.05
    # More than 7 of 24 at a rate of 5 % have a probability of 1e-5.
    assert max(rejected.values()) <= 7


def test_the_size_of_noise_and_pressure_makes_no_difference() -> None:
    model = setting()
    data = answers_of(pp.simulate(model, 50, seed=1), model)
    one, other = (score_tests(replace(model, noise=pp.Gaussian(std)), data) for std in (1.0, 0.01))
    np.testing.assert_allclose([s.z for s in one.scores], [s.z for s in other.scores], rtol=1e-8)


def test_same_answer_every_time() -> None:
    model = setting()
    data = answers_of(pp.simulate(model, 50, seed=1), model)
    assert score_tests(model, data).scores == score_tests(model, data).scores


# What is not tested.


@pytest.mark.parametrize(
    ("parts", "look", "reason"),
    [
        ({}, Observation(rounding=0.1), "rounded"),
        ({"noise": pp.Gaussian(1.0, temporal="frozen")}, None, "fresh noise"),
        ({"noise": pp.noise.NoNoise()}, None, "fresh noise"),
        ({"noise": pp.Gaussian(1.0, temporal=pp.AR1(0.5))}, Observation(times=range(2, 30, 2)), "enough steps"),
        ({"noise": pp.Gaussian(1.0, temporal=pp.AR1(0.5))}, Observation(times=[1, 2, 3, 4, 5, 8, 9]), "complete"),
        ({}, Observation(times=[2, 4, 6]), "enough steps"),
    ],
)
def test_refusals_say_why(parts: Any, look: Observation | None, reason: str) -> None:
    model = setting(**parts)
    found = score_tests(model, answers_of(pp.simulate(model, 30, seed=1), model, look))
    assert not found.scores
    assert reason in found.reason
    assert str(found) == f"not tested: {found.reason}"


def test_continuous_time_is_not_tested() -> None:
    sde = pp.SDE(setting(), step=0.5)
    assert "discrete time" in diagnose_fit(pp.simulate(sde, 10, seed=1), sde).misses.reason


def test_large_networks_have_only_their_agents_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SCORED_AGENTS", 10)
    assert {score.kind for score in misses(setting(), setting()).scores} == {"stubbornness"}


def test_temporal_networks_have_no_signs() -> None:
    network = pp.networks.failing_edges(setting().network, 0.2, 50, seed=7)
    model = setting(network=network)
    assert {score.kind for score in misses(model, model).scores} == {"stubbornness", "tie"}


def test_diagnostics_show_what_is_missed() -> None:
    made = setting(stubbornness=np.where(np.arange(20) == 7, 2.0, 1.0))
    found = diagnose_fit(pp.simulate(made, 50, seed=1), setting())
    assert "Agent 7 is more stubborn than the model says." in str(found)
    assert str(misses(setting(), setting(), seed=4)) == "nothing is missed at 5 %"
