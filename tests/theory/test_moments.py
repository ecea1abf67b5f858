"""Exact moments against a dense joint covariance, simulated ensembles, closed forms and the laws that they obey."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, barabasi_albert, cycle, k2, path
from peerpressure.noise import AR1, Custom, Frozen, Gaussian, Laplace, Noise, NoNoise, Rademacher, StudentT, Uniform
from peerpressure.schedules import Constant, Formula, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.sde import SDE
from peerpressure.simulation import simulate
from peerpressure.theory.propagation import (
    Functional,
    Moments,
    _recursions,
    agent_opinion,
    consensus_mode,
    mean_opinion,
    moments,
    opinion_difference,
)
from tests.theory.changing import CHANGING

AGENTS, STEPS = 6, 9
BY_AGENT = np.linspace(0.0, 1.5, AGENTS)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(BY_AGENT, time_scale=Power(0.3)),
    "ar1": Gaussian(0.6, temporal=AR1(0.8)),
    "negative ar1": Laplace(BY_AGENT, temporal=AR1(-0.5), time_scale=Power(-0.2)),
    "frozen": Gaussian(BY_AGENT, temporal=Frozen(), time_scale=Formula("2 + t")),
}
RATES: dict[str, Adaptation | None] = {
    "constant opinions": None,
    "one rate": Adaptation(0.3),
    "by agent": Adaptation("0.7/t", [0.0, 1.0, 0.4, 0.0, 0.9, 0.2]),
    "believing what is said": Adaptation(1.0),
}


def weighted_network(seed: int, n: int = AGENTS) -> Network:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(0.2, 3.0, (n, n)) * (rng.random((n, n)) < 0.4), 1)
    A[np.arange(n - 1), np.arange(1, n)] = 1.0
    return Network(A + A.T)


NETWORKS: dict[str, Network | TemporalNetwork] = {
    "constant": weighted_network(1),
    "periodic": CHANGING["isolated"],
    "settling": CHANGING["groups"],
}
SCHEDULES: dict[str, Schedule] = {
    "linear": Linear(0.6),
    "constant": Constant(2.0),
    "table": Table([0.0, 1.0, 3.0, 0.0, 2.0, 7.0, 1.0, 0.5, 4.0]),
    "overflow": Formula("t^400"),
}


def build(
    network: Network | TemporalNetwork, rate: Adaptation | None, noise: Noise, pressure: Schedule, seed: int = 7
) -> Model:
    rng, n = np.random.default_rng(seed), network.n
    return Model(network, rng.normal(size=n), rng.uniform(0.3, 2, n), pressure, noise, rng.normal(size=n), rate)


def dense(model: Model, T: int) -> tuple[Array, Array]:
    """Return mean and covariance of (y_T, x_{T+1}) from all noises together, with every 2n × 2n matrix written out."""
    n, S, one = model.n, np.diag(model.s), np.eye(model.n)
    maps, inputs = [], []
    for t in range(1, T + 1):
        A = model.adjacency_at(t).toarray()
        D = np.diag(A.sum(axis=1))
        # Divided by 1 + ρ, so an infinite pressure is ordinary; the remnant of own_weight serves agents without one.
        rho = float(model.pressure(t))
        own_weight, weight = (1e-150, 1.0) if np.isinf(rho) else (1 / (1 + rho), rho / (1 + rho))
        inverse = np.linalg.inv(own_weight * S + weight * D)
        G, C = inverse @ (own_weight * S), inverse @ (weight * A)
        E = np.diag(np.zeros(n) if model.adaptation is None else model.adaptation.at(t, n))
        maps.append(np.block([[C, G], [E @ C, one - E + E @ G]]))
        inputs.append(np.vstack([G, E @ G]))
    through = np.eye(2 * n)
    Q: list[Array] = []
    for M, N in zip(maps[::-1], inputs[::-1], strict=True):
        Q.insert(0, through @ N)
        through = through @ M
    weights = np.stack(Q)
    K, sigma = model.noise.time_covariance(np.arange(1, T + 1)), model.noise.deviations(n)
    covariance = np.einsum("tai,tu,i,ubi->ab", weights, K, sigma**2, weights, optimize=True)
    return through @ np.concatenate([model.start_state, model.x0]), covariance


# Every pair of a noise, a rate, a network and a schedule occurs.
CASES = [
    (noise, rate, network, list(SCHEDULES)[(i + j + k) % 4])
    for (i, noise), (j, rate), (k, network) in product(enumerate(NOISES), enumerate(RATES), enumerate(NETWORKS))
]


@pytest.mark.parametrize(("noise", "rate", "network", "pressure"), CASES)
def test_moments_match_the_dense_joint_map(noise: str, rate: str, network: str, pressure: str) -> None:
    model = build(NETWORKS[network], RATES[rate], NOISES[noise], SCHEDULES[pressure])
    rows = np.random.default_rng(3).normal(size=(3, 2 * AGENTS))
    joint = moments(model, STEPS, what="joint")
    some = moments(model, STEPS, of=rows, times=[0, 1, 2, 5, STEPS], what="joint")
    close: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
    for T in (0, 1, 2, 5, STEPS):
        start = np.concatenate([model.start_state, model.x0])
        expected, covariance = dense(model, T) if T else (start, np.zeros((2 * AGENTS, 2 * AGENTS)))
        np.testing.assert_allclose(joint.mean[T], expected, **close)
        np.testing.assert_allclose(joint.variance[T], np.diag(covariance), **close)
        at = list(some.times).index(T)
        np.testing.assert_allclose(some.mean[at], rows @ expected, **close)
        np.testing.assert_allclose(some.variance[at], np.einsum("ki,ij,kj->k", rows, covariance, rows), **close)
    np.testing.assert_allclose(joint.covariance, covariance, **close)
    np.testing.assert_allclose(some.covariance, rows @ covariance @ rows.T, **close)
    public, hidden = moments(model, STEPS), moments(model, STEPS, what="hidden")
    np.testing.assert_allclose(public.covariance, covariance[:AGENTS, :AGENTS], **close)
    np.testing.assert_allclose(hidden.mean[-1], expected[AGENTS:], **close)
    np.testing.assert_allclose(hidden.covariance, covariance[AGENTS:, AGENTS:], **close)
    held = moments(model, STEPS, of=mean_opinion(model), what="hidden")
    np.testing.assert_allclose(held.mean[0, 0], expected[AGENTS:].mean(), **close)


DRAWN: list[Noise] = [
    Gaussian(1.0),
    Laplace(BY_AGENT),
    Uniform(1.0, time_scale=Power(0.3)),
    StudentT(1.0, df=12.0),
    Rademacher(1.0),
    Custom(stats.logistic(scale=0.3)),
    Gaussian(BY_AGENT, temporal=AR1(0.8)),
    Gaussian(1.0, temporal=AR1(-0.6), time_scale=Power(-0.5)),
    Laplace(0.5, temporal=AR1(0.5)),
    Gaussian(1.0, temporal=Frozen()),
    Uniform(BY_AGENT, temporal=Frozen(), time_scale=Power(0.2)),
]
PRESSURES = [Linear(0.4), Constant(1.5), Power(1.5), StretchedExponential()]


@pytest.mark.parametrize("number", range(len(DRAWN)), ids=map(str, DRAWN))
def test_moments_match_simulation(number: int) -> None:
    noise, rate = DRAWN[number], list(RATES.values())[number % 3]
    model = build(list(NETWORKS.values())[number // 3 % 3], rate, noise, PRESSURES[number % 4])
    # A custom law is drawn by its own, much slower inverse.
    replicates = 5_000 if isinstance(noise, Custom) else 40_000
    final = simulate(model, 15, replicates, seed=11, record="final").final
    exact = moments(model, 15, what="joint")
    held = final.public * 0 + model.x0 if final.hidden is None else final.hidden
    centred = np.concatenate([final.public, held], axis=1) - exact.mean[-1]
    error = exact.std[-1] / np.sqrt(replicates)
    assert np.all(np.abs(centred.mean(axis=0)) <= 5 * error + 1e-12)
    # Mean and deviation of the products of any two.
    means, squares = centred.T @ centred / replicates, (centred**2).T @ centred**2 / replicates
    error = np.sqrt(np.maximum(squares - means**2, 0.0) / replicates)
    assert np.all(np.abs(means - exact.covariance) <= 5 * error + 1e-12)


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_extensions_of_nothing_change_nothing(noise: Noise) -> None:
    base = build(weighted_network(1), None, noise, Linear(0.6))
    temporal = build(TemporalNetwork.constant(base.network), Adaptation(0.0), noise, Linear(0.6))
    for extended in (replace(base, adaptation=Adaptation(0.0)), replace(temporal, adaptation=None), temporal):
        ours, theirs = moments(extended, STEPS), moments(base, STEPS)
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ours.covariance, theirs.covariance, rtol=1e-12, atol=1e-14)
        held = moments(extended, STEPS, what="hidden")
        np.testing.assert_allclose(held.mean, np.tile(base.x0, (STEPS + 1, 1)), rtol=1e-12)
        assert not np.any(held.variance)


@st.composite
def models(draw: st.DrawFn) -> Model:
    weighted = weighted_network(draw(st.integers(0, 10_000)), draw(st.integers(2, 12)))
    choice: list[Network | TemporalNetwork] = [weighted, weighted, CHANGING["isolated"], CHANGING["groups"]]
    network = draw(st.sampled_from(choice))
    phi = draw(st.sampled_from([-0.9, -0.3, 0.0, 0.5, 0.99]))
    noise = draw(st.sampled_from([Gaussian(0.5), Gaussian(1.0, temporal=Frozen()), Gaussian(2.0, temporal=AR1(phi))]))
    pressure = draw(st.sampled_from([*(Linear(c) for c in (0.01, 0.3, 1, 50)), Power(0.4), Power(3.0), Constant(0.0)]))
    rate = draw(st.none() | st.floats(0, 1).map(Adaptation))
    return build(network, rate, noise, pressure, draw(st.integers(0, 10_000)))


@settings(max_examples=60, deadline=None)
@given(models(), st.integers(1, 40))
def test_adjoint_equals_covariance_recursion(model: Model, steps: int) -> None:
    forwards = moments(model, steps)
    backwards = moments(model, steps, of=np.eye(model.n), times=forwards.times)
    np.testing.assert_allclose(backwards.mean, forwards.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(backwards.variance, forwards.variance, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(backwards.covariance, forwards.covariance, rtol=1e-12, atol=1e-14)


@settings(max_examples=60, deadline=None)
@given(models(), st.floats(-5, 5), st.floats(-5, 5))
def test_opinions_may_be_shifted_and_scaled(model: Model, a: float, b: float) -> None:
    moved = replace(model, hidden=a * model.x0 + b, start=a * model.start_state + b)
    before, after = moments(model, 6, what="joint"), moments(moved, 6, what="joint")
    np.testing.assert_allclose(after.mean, a * before.mean + b, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(after.covariance, before.covariance)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_only_the_ratio_of_stubbornness_and_pressure_counts(seed: int, c: float) -> None:
    model = build(weighted_network(seed), None, Gaussian(1.0, temporal=AR1(0.4)), Linear(0.7), seed)
    scaled = replace(model, stubbornness=c * model.s, pressure=Linear(0.7 * c))
    before, after = moments(model, 8), moments(scaled, 8)
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=1e-10, atol=1e-13)


def test_relabelling_agents_relabels_their_moments() -> None:
    model = build(weighted_network(1), None, Gaussian(BY_AGENT, temporal=AR1(0.5)), Linear())
    order = np.random.default_rng(0).permutation(AGENTS)
    moved = Model(
        model.network.permuted(order),
        model.x0[order],
        model.s[order],
        noise=Gaussian(BY_AGENT[order], temporal=AR1(0.5)),
        start=model.start_state[order],
    )
    np.testing.assert_allclose(moments(moved, 8).variance, moments(model, 8).variance[:, order], rtol=1e-12)
    for label in range(AGENTS):
        ours, theirs = (
            moments(moved, 8, of=agent_opinion(moved, label)),
            moments(model, 8, of=agent_opinion(model, label)),
        )
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12)


def test_differences_keep_their_digits_where_agents_nearly_agree() -> None:
    model = Model(k2(), hidden=[0.0, 1.0], pressure=Constant(1e12), noise=Gaussian(1.0), start=[0.0, 0.0])
    result = moments(model, 1, of=opinion_difference(model, 0, 1))
    np.testing.assert_allclose(result.variance, 2e-24, rtol=1e-10)


@pytest.mark.parametrize("block", [1, 3 * AGENTS, 10**6])
@pytest.mark.parametrize("few", [0, 100])
def test_splitting_the_work_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int, few: int) -> None:
    model = build(NETWORKS["periodic"], RATES["by agent"], NOISES["ar1"], Linear())
    rows = np.random.default_rng(1).normal(size=(2, 2 * AGENTS))
    whole = moments(model, 9, of=rows, times=range(10), what="joint")
    monkeypatch.setattr(_recursions, "BLOCK", block)
    monkeypatch.setattr(_recursions, "MAX_EINSUM_ROWS", few)
    split = moments(model, 9, of=rows, times=range(10), what="joint")
    np.testing.assert_allclose(split.mean, whole.mean, rtol=1e-12)
    np.testing.assert_allclose(split.variance, whole.variance, rtol=1e-12)
    np.testing.assert_allclose(split.covariance, whole.covariance, rtol=1e-12)


def test_functionals_weigh_what_they_say_and_mix_with_plain_weights() -> None:
    model = build(path(3), None, Gaussian(1.0), Linear())
    y = np.array([1.0, 2.0, 6.0])
    values = [
        f(y)
        for f in (consensus_mode(model), mean_opinion(model), agent_opinion(model, 2), opinion_difference(model, 2, 0))
    ]
    np.testing.assert_allclose(values, [11 / 4, 3.0, 6.0, 5.0])
    of: list[Functional | Array] = [mean_opinion(model), np.array([0.0, 1.0, 0.0])]
    result = moments(model, 3, of=of)
    assert result.names == ("mean", "functional 1")
    np.testing.assert_allclose(result.mean[0, 1], moments(model, 3).mean[-1, 1], rtol=1e-13)


def test_a_result_reads_well() -> None:
    model = Model(Network.from_edges([("ann", "bob")]), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    found = moments(model, 4, times=[4, 0, 4])
    assert isinstance(found, Moments)
    assert repr(found) == "Moments(t = 0…4 (2 times), at the end ann 0.4 ± 0.4; bob 0.6 ± 0.4)"
    assert found.names == ("ann", "bob")
    low, high = found.band(2.0)
    np.testing.assert_allclose(high - low, 4 * found.std)
    table = found.to_dataframe()
    assert table.columns.tolist() == ["time", "name", "mean", "std"]
    assert table.iloc[2].tolist() == [4, "ann", pytest.approx(0.4), pytest.approx(0.4)]
    with pytest.raises(ValueError, match="read-only"):
        found.mean[0, 0] = 1.0
    assert "1,000 agents" in repr(moments(Model(cycle(1000), np.zeros(1000), noise=Gaussian(1.0)), 1))
    adapting = replace(model, adaptation=Adaptation(0.5))
    assert moments(adapting, 2, what="hidden").names == ("ann", "bob")
    assert moments(adapting, 2, what="joint").names == tuple(product(("public", "hidden"), ("ann", "bob")))


PROCESS = SDE(build(barabasi_albert(5, 2, seed=1), None, Gaussian(0.5), Linear(), seed=2), step=0.25)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, "at least 1"),
        ({"steps": 2.0}, "whole number"),
        ({"steps": True}, "whole number"),
        ({"times": [6]}, "from 0 to 5"),
        ({"times": [-1]}, "from 0 to 5"),
        ({"times": [1.5]}, "whole number"),
        ({"times": [np.nan]}, "whole number"),
        ({"times": []}, "at least one time"),
        ({"times": "late"}, "whole number"),
        ({"of": [1.0, 2.0]}, "one weight for each of the 3 agents"),
        ({"of": "mean"}, "vector of 3 weights"),
        ({"of": []}, "vector of 3 weights"),
        ({"of": [1.0, np.nan, 0.0]}, "weights must be finite"),
        ({"what": "secret"}, "'public', 'hidden' or 'joint'"),
        ({"of": np.ones(3), "what": "joint"}, "each of the 6 agents"),
        ({"system": PROCESS, "times": [1.3]}, "from 0 to 1.25"),
        ({"system": PROCESS, "times": [-0.1]}, "from 0 to 1.25"),
        ({"system": PROCESS, "times": []}, "from 0 to 1.25"),
        ({"system": PROCESS, "times": [np.nan]}, "from 0 to 1.25"),
        ({"system": PROCESS, "times": "late"}, "real times"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, Any], message: str) -> None:
    system = arguments.pop("system", Model(path(3), [0.0, 1.0, 2.0], noise=Gaussian(1.0), adaptation=0.1))
    with pytest.raises(InvalidInputError, match=message):
        moments(system, **({"steps": 5} | arguments))


def test_large_networks_need_functionals() -> None:
    plain, adapting = Model(cycle(2001), np.zeros(2001)), Model(cycle(1001), np.zeros(1001), adaptation=0.1)
    for model, message in ((plain, "of=consensus_mode"), (adapting, "up to 1,000 agents")):
        with pytest.raises(InvalidInputError, match=message):
            moments(model, 1)
        assert moments(model, 1, of=mean_opinion(model), what="hidden").mean.shape == (1, 1)


def test_continuous_time_counts_steps_and_answers_in_time() -> None:
    every = moments(PROCESS, 8)
    np.testing.assert_allclose(every.times, 0.25 * np.arange(9))
    np.testing.assert_allclose(every.mean[0], PROCESS.start_state, rtol=1e-14)
    assert not np.any(every.variance[0])
    some = moments(PROCESS, 8, of=[agent_opinion(PROCESS, 0), consensus_mode(PROCESS)], times=[0.7, 2.0])
    last = moments(PROCESS, 8, times=[0.7, 2.0])
    weights = consensus_mode(PROCESS).weights
    np.testing.assert_allclose(some.mean[:, 0], last.mean[:, 0], rtol=1e-8)
    np.testing.assert_allclose(some.mean[:, 1], last.mean @ weights, rtol=1e-8)
    np.testing.assert_allclose(some.variance[-1, 1], weights @ last.covariance @ weights, rtol=1e-7)
    np.testing.assert_allclose(every.mean[-1], last.mean[-1], rtol=1e-8)
    assert "t = 0…2 (9 times)" in repr(every)
    # A last time may be rounded.
    assert moments(SDE(PROCESS.model, step=0.1), 3, times=[0.3]).times[-1] == 3 * 0.1


def test_continuous_moments_match_simulation() -> None:
    replicates = 20_000
    sample = simulate(PROCESS, 8, replicates, seed=3, record="final").final.public
    exact = moments(PROCESS, 8)
    assert np.all(np.abs(sample.mean(axis=0) - exact.mean[-1]) <= 5 * exact.std[-1] / np.sqrt(replicates))
    np.testing.assert_allclose(sample.std(axis=0), exact.std[-1], rtol=5 / np.sqrt(2 * replicates))
