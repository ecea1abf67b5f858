"""Exact moments against a dense joint covariance, closed forms and the laws that they obey."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, cycle, k2, path
from peerpressure.noise import AR1, Frozen, Gaussian, Laplace, Noise, NoNoise
from peerpressure.propagation import Functional, Moments, _recursions, agent, consensus_mode, difference, mean, moments
from peerpressure.schedules import Constant, Formula, Linear, Power, Schedule, StretchedExponential, Table
from peerpressure.step import Array

AGENTS, STEPS = 7, 9
BY_AGENT = np.linspace(0.0, 2.0, AGENTS)
NOISES: dict[str, Noise] = {
    "none": NoNoise(),
    "white": Gaussian(0.7),
    "white by agent": Laplace(BY_AGENT),
    "white over time": Gaussian(0.5, time_scale=Power(0.4)),
    "ar1": Gaussian(0.6, temporal=AR1(0.8)),
    "ar1 negative over time": Gaussian(BY_AGENT, temporal=AR1(-0.5), time_scale=Power(-0.3)),
    "frozen": Gaussian(0.9, temporal=Frozen()),
    "frozen by agent over time": Gaussian(BY_AGENT, temporal=Frozen(), time_scale=Formula("2 + t")),
}
SCHEDULES: dict[str, Schedule] = {
    "linear": Linear(0.6),
    "constant": Constant(2.0),
    "power": Power(1.5),
    "stretched": StretchedExponential(),
    "table": Table([0.0, 1.0, 3.0, 0.0, 2.0, 7.0, 1.0, 0.5, 4.0]),
    "overflow": Formula("t^400"),
}


def weighted_network(seed: int, n: int = AGENTS) -> Network:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.uniform(0.2, 3.0, (n, n)) * (rng.random((n, n)) < 0.4), 1)
    A[np.arange(n - 1), np.arange(1, n)] = 1.0
    return Network(A + A.T)


NETWORKS = {"weighted": weighted_network(1), "tree": barabasi_albert(AGENTS, 1, seed=2), "odd": cycle(AGENTS)}


def build(network: Network, pressure: Schedule, noise: Noise, seed: int = 5) -> Model:
    rng = np.random.default_rng(seed)
    n = network.n
    return Model(network, rng.normal(size=n), rng.uniform(0.3, 2, n), pressure, noise, start=rng.normal(size=n))


def dense(model: Model, T: int) -> tuple[Array, Array]:
    """Return mean and covariance of y_T from all noises together, with every matrix written out."""
    n, A, S = model.n, model.network.adjacency.toarray(), np.diag(model.s)
    D = np.diag(A.sum(axis=1))
    through = np.eye(n)
    weights: list[Array] = []
    for t in range(T, 0, -1):
        # Divided by 1 + ρ, so an infinite pressure is ordinary.
        rho = float(model.pressure(t))
        relief, weight = (0.0, 1.0) if np.isinf(rho) else (1 / (1 + rho), rho / (1 + rho))
        inverse = np.linalg.inv(relief * S + weight * D)
        weights.insert(0, through @ inverse @ (relief * S))
        through = through @ inverse @ (weight * A)
    Q = np.stack(weights)
    K = model.noise.time_covariance(np.arange(1, T + 1))
    sigma = model.noise.deviations(n)
    covariance = np.einsum("tai,tu,i,ubi->ab", Q, K, sigma**2, Q, optimize=True)
    return Q.sum(axis=0) @ model.x0 + through @ model.start_state, covariance


@pytest.mark.parametrize("pressure", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_moments_match_the_dense_joint_covariance(network: Network, noise: Noise, pressure: Schedule) -> None:
    model = build(network, pressure, noise)
    every = moments(model, STEPS)
    weights = np.random.default_rng(3).normal(size=(3, AGENTS))
    some = moments(model, STEPS, of=weights, times=[0, 1, 2, 5, STEPS])
    for row, T in enumerate(every.times):
        expected, covariance = dense(model, int(T)) if T else (model.start_state, np.zeros((AGENTS, AGENTS)))
        np.testing.assert_allclose(every.mean[row], expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(every.variance[row], np.diag(covariance), rtol=1e-11, atol=1e-14)
        if T in some.times:
            at = list(some.times).index(T)
            np.testing.assert_allclose(some.mean[at], weights @ expected, rtol=1e-12, atol=1e-13)
            quadratic = np.einsum("ki,ij,kj->k", weights, covariance, weights)
            np.testing.assert_allclose(some.variance[at], quadratic, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(every.covariance, covariance, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(some.covariance, weights @ covariance @ weights.T, rtol=1e-11, atol=1e-14)


@st.composite
def models(draw: st.DrawFn) -> Model:
    network = weighted_network(draw(st.integers(0, 10_000)), draw(st.integers(2, 12)))
    phi = draw(st.sampled_from([-0.9, -0.3, 0.0, 0.5, 0.99]))
    noise = draw(st.sampled_from([Gaussian(0.5), Gaussian(1.0, temporal=Frozen()), Gaussian(2.0, temporal=AR1(phi))]))
    pressure = draw(st.sampled_from([*(Linear(c) for c in (0.01, 0.3, 1, 50)), Power(0.4), Power(3.0), Constant(0.0)]))
    return build(network, pressure, noise, draw(st.integers(0, 10_000)))


@settings(max_examples=60, deadline=None)
@given(models(), st.integers(1, 40))
def test_adjoint_equals_covariance_recursion(model: Model, steps: int) -> None:
    forwards = moments(model, steps)
    backwards = moments(model, steps, of=np.eye(model.n), times=forwards.times)
    np.testing.assert_allclose(backwards.mean, forwards.mean, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(backwards.variance, forwards.variance, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(backwards.covariance, forwards.covariance, rtol=1e-12, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(models(), st.floats(-5, 5), st.floats(-5, 5))
def test_opinions_may_be_shifted_and_scaled(model: Model, a: float, b: float) -> None:
    moved = replace(model, hidden=a * model.x0 + b, start=a * model.start_state + b)
    before, after = moments(model, 6), moments(moved, 6)
    np.testing.assert_allclose(after.mean, a * before.mean + b, rtol=1e-11, atol=1e-11)
    np.testing.assert_array_equal(after.variance, before.variance)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.floats(0.01, 100))
def test_only_the_ratio_of_stubbornness_and_pressure_counts(seed: int, c: float) -> None:
    model = build(weighted_network(seed), Linear(0.7), Gaussian(1.0, temporal=AR1(0.4)), seed)
    scaled = replace(model, stubbornness=c * model.s, pressure=Linear(0.7 * c))
    before, after = moments(model, 8), moments(scaled, 8)
    np.testing.assert_allclose(after.mean, before.mean, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(after.covariance, before.covariance, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("T", [1, 2, 3, 10, 101])
def test_two_agents_have_the_variance_of_the_closed_form(T: int) -> None:
    result = moments(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(3.0)), T)
    np.testing.assert_allclose(result.variance[-1], 9.0 * T / (T + 1) ** 2, rtol=1e-12)


def test_relabelling_agents_relabels_their_moments() -> None:
    model = build(NETWORKS["weighted"], Linear(), Gaussian(BY_AGENT, temporal=AR1(0.5)))
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
        ours, theirs = moments(moved, 8, of=agent(moved, label)), moments(model, 8, of=agent(model, label))
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-12)


def test_differences_keep_their_digits_where_agents_nearly_agree() -> None:
    model = Model(k2(), hidden=[0.0, 1.0], pressure=Constant(1e12), noise=Gaussian(1.0), start=[0.0, 0.0])
    result = moments(model, 1, of=difference(model, 0, 1))
    np.testing.assert_allclose(result.variance, 2e-24, rtol=1e-10)


@pytest.mark.parametrize("block", [1, AGENTS, 3 * AGENTS, 10**6])
@pytest.mark.parametrize("few", [0, 100])
def test_splitting_the_work_changes_nothing(monkeypatch: pytest.MonkeyPatch, block: int, few: int) -> None:
    model = build(NETWORKS["weighted"], Linear(), NOISES["ar1"])
    of = [consensus_mode(model), mean(model)]
    whole = moments(model, 9, of=of, times=range(10))
    monkeypatch.setattr(_recursions, "BLOCK", block)
    monkeypatch.setattr(_recursions, "MAX_EINSUM_ROWS", few)
    split = moments(model, 9, of=of, times=range(10))
    np.testing.assert_allclose(split.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(split.variance, whole.variance, rtol=1e-13)
    np.testing.assert_allclose(split.covariance, whole.covariance, rtol=1e-13)


def test_named_functionals_weigh_what_they_say() -> None:
    model = build(path(3), Linear(), NoNoise())
    y = np.array([1.0, 2.0, 6.0])
    values = [f(y) for f in (consensus_mode(model), mean(model), agent(model, 2), difference(model, 2, 0))]
    np.testing.assert_allclose(values, [11 / 4, 3.0, 6.0, 5.0])


def test_functionals_and_plain_weights_mix() -> None:
    model = build(path(3), Linear(), Gaussian(1.0))
    of: list[Functional | Array] = [mean(model), np.array([0.0, 1.0, 0.0])]
    result = moments(model, 3, of=of)
    assert result.names == ("mean", "functional 1")
    np.testing.assert_allclose(result.mean[0, 1], moments(model, 3).mean[-1, 1], rtol=1e-13)


def test_a_result_reads_well() -> None:
    model = Model(Network.from_edges([("ann", "bob")]), hidden=[0.0, 1.0], noise=Gaussian(1.0))
    found = moments(model, 4, times=[4, 0, 4])
    assert repr(found) == "Moments(t = 0…4 (2 times), at the end ann 0.4 ± 0.4; bob 0.6 ± 0.4)"
    assert found.names == ("ann", "bob")
    low, high = found.band(2.0)
    np.testing.assert_allclose(high - low, 4 * found.std)
    table = found.to_dataframe()
    assert table.columns.tolist() == ["time", "name", "mean", "std"]
    assert table.iloc[2].tolist() == [4, "ann", pytest.approx(0.4), pytest.approx(0.4)]
    with pytest.raises(ValueError, match="read-only"):
        found.mean[0, 0] = 1.0
    assert isinstance(found, Moments)
    assert "1,000 agents" in repr(moments(build(cycle(1000), Linear(), Gaussian(1.0)), 1))


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
    ],
)
def test_bad_input_is_refused(arguments: dict[str, object], message: str) -> None:
    model = build(path(3), Linear(), Gaussian(1.0))
    with pytest.raises(InvalidInputError, match=message):
        moments(model, **({"steps": 5} | arguments))  # type: ignore[arg-type]


def test_large_networks_need_functionals() -> None:
    model = Model(cycle(2001), hidden=np.zeros(2001))
    with pytest.raises(InvalidInputError, match="of=consensus_mode"):
        moments(model, 1)
    assert moments(model, 1, of=mean(model)).mean.shape == (1, 1)
