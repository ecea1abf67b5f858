"""Opinions on several topics against a recursion in matrices, Y_t = g ∘ (X + E) + C_t Y_{t−1} Tᵀ, and its limits."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.errors import InvalidInputError, ModelError, NetworkError
from peerpressure.networks import cycle, k2, path
from peerpressure.privacy import budget
from peerpressure.theory import Outcome, diagnose
from tests.general_networks import MATRICES

Array = NDArray[np.float64]
A = MATRICES["strong"]  # directed and weighted
N, NAMES = len(A), ("tax", "rent", "war")
MIXED = np.array([[0.6, 0.3, 0.1], [0.2, 0.8, 0.0], [0.5, 0.1, 0.4]])
TRANSIENT = np.array([[0.6, 0.4, 0.0], [0.2, 0.8, 0.0], [0.5, 0.1, 0.4]])  # nothing follows from war
CAMPS = MIXED * np.outer([1, -1, 1], [1, -1, 1])
UNBALANCED = MIXED * np.array([[1, -1, 1], [1, 1, 1], [1, 1, 1]])
TOPICS = {"identity": np.eye(3), "mixed": MIXED, "transient": TRANSIENT, "camps": CAMPS, "unbalanced": UNBALANCED}
RNG = np.random.default_rng(11)
X, S = RNG.uniform(-1, 1, (N, 3)), RNG.uniform(0.5, 2.0, N)


def model(T: Array, **parts: Any) -> pp.Model:
    network = pp.Network(A, directed=True).with_topics(NAMES, T)
    return pp.Model(network, X, S, **{"pressure": pp.Linear(0.3), "noise": pp.Gaussian(0.2), **parts})


def coefficients(rho: float) -> tuple[Array, Array]:
    total = S + rho * A.sum(axis=1)
    return (S / total)[:, None], rho * A / total[:, None]


def path_of(T: Array, steps: int, slope: float = 0.3, hidden: Array = X) -> Iterator[Array]:
    """Yield Y_1, Y_2, … without noise."""
    Y = hidden
    for t in range(1, steps + 1):
        g, C = coefficients(slope * t)
        Y = g * hidden + C @ Y @ T.T
        yield Y


def stationary_law(P: Array) -> Array:
    values, vectors = np.linalg.eig(P.T)
    law = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return np.asarray(law / law.sum())


@pytest.mark.parametrize("kind", TOPICS)
def test_a_run_and_its_moments_are_those_of_the_matrices(kind: str) -> None:
    T, steps = TOPICS[kind], 12
    one = model(T)
    run = pp.simulate(one, steps, 2, seed=3)
    covariance = np.zeros((3 * N, 3 * N))
    *_, Y = path_of(T, steps)
    for t in range(1, steps + 1):
        g, C = coefficients(0.3 * t)
        # In the order of the pairs, vec(C Y Tᵀ) = (C ⊗ T) vec(Y).
        F = np.kron(C, T)
        covariance = F @ covariance @ F.T + np.diag(np.repeat((0.2 * g[:, 0]) ** 2, 3))
    exact = pp.moments(one, steps)
    np.testing.assert_allclose(one.network.by_topic(exact.mean[-1]), Y, atol=1e-13)
    np.testing.assert_allclose(exact.variance[-1], np.diag(covariance), rtol=1e-12)
    # The noise of the run is what the recursion of the matrices leaves.
    states = one.network.by_topic(run.states)
    g, C = coefficients(0.3 * 5)
    noise = (states[:, 5] - C @ states[:, 4] @ T.T) / g - X
    assert 0.1 < noise.std() < 0.3


@pytest.mark.parametrize("kind", TOPICS)
def test_limits_follow_from_agents_and_topics(kind: str) -> None:
    T = TOPICS[kind]
    pi = stationary_law(A / A.sum(axis=1)[:, None])
    w = pi * S / A.sum(axis=1)
    v, signs = w @ X / w.sum(), np.array([1, -1, 1]) if kind == "camps" else np.ones(3)
    # The topics' own stationary law is a left eigenvector of T; where they are independent, each has its own value.
    tau = stationary_law(np.abs(T))
    expected = {"identity": v, "unbalanced": np.zeros(3)}.get(kind, signs * ((signs * tau) @ v))
    one = model(T, noise=pp.NoNoise(), pressure=pp.Linear(w.sum() / 2))
    np.testing.assert_allclose(one.network.by_topic(one.consensus_state), np.tile(expected, (N, 1)), atol=1e-12)
    errors = [np.abs(Y - expected).max() for Y in path_of(T, 4_000, w.sum() / 2)]
    assert errors[-1] < 0.3 * errors[999] < 0.02
    outcome = {"identity": Outcome.CLUSTERS, "camps": Outcome.BIPARTITE, "unbalanced": Outcome.NEUTRAL}
    assert diagnose(one).outcome is outcome.get(kind, Outcome.CONSENSUS)


def test_a_topic_at_0_takes_the_rest_of_rows_that_sum_to_less() -> None:
    T = np.array([[0.5, 0.3], [0.1, 0.6]])
    neutral = np.block([[T, 1 - T.sum(axis=1, keepdims=True)], [np.zeros((1, 2)), np.ones((1, 1))]])
    network = pp.Network(A, directed=True).with_topics(["tax", "rent", "neutral"], neutral)
    hidden = X * [1, 1, 0]
    one = pp.Model(network, hidden, S, pp.Linear(0.3), pp.Gaussian(np.tile([0.2, 0.2, 0.0], N)))
    run = pp.simulate(pp.Model(network, hidden, S, pp.Linear(0.3)), 300)
    *_, Y = path_of(T, 300, hidden=X[:, :2])
    np.testing.assert_allclose(network.by_topic(run.final.public)[0, :, :2], Y, atol=1e-13)
    assert np.abs(Y).max() < 0.1  # on its way to 0, as 1/ρ
    np.testing.assert_array_equal(one.consensus_state, 0.0)
    assert diagnose(one).outcome is Outcome.CONSENSUS


def test_estimates_cover_and_privacy_counts_each_pair() -> None:
    one = model(MIXED)
    truth, covered = X.ravel(), []
    run = pp.simulate(one, 40, 200, seed=5)
    for method, look in {"innovations": None, "kalman": pp.Observation(agents=one.network.labels[:9])}.items():
        estimate = pp.recover(run, one, method, look)
        z = (estimate.value - truth) / estimate.std
        covered.append(np.abs(z[:, estimate.identified]) < 1.96)
        assert abs(float(covered[-1].mean()) - 0.95) < 0.02
    table = estimate.to_dataframe()
    assert list(table.columns) == ["replicate", "agent", "topic", "value", "std", "identified"]
    assert list(table["topic"][:4]) == ["tax", "rent", "war", "tax"]
    # 40 steps have the information 40/σ² on each pair, and the first one also tells what its listeners heard, x₀.
    heard = ((0.3 * A / S[:, None]) ** 2).T.sum(axis=1)[:, None] * (MIXED**2).sum(axis=0)
    found_budget = budget(one, 40, sensitivity=1.0, unit="topic")
    np.testing.assert_allclose(found_budget.table["information"], (40 + heard.ravel()) / 0.2**2, rtol=1e-9)


def test_results_have_an_axis_for_topics(tmp_path: Path) -> None:
    one = model(MIXED)
    run = pp.simulate(one, 6, 2)
    data = run.to_xarray()
    assert data["public"].dims == ("replicate", "time", "agent", "topic")
    np.testing.assert_array_equal(data["public"], one.network.by_topic(run.states))
    np.testing.assert_array_equal(data["initial_hidden"].sel(topic="war"), X[:, 2])
    frame = run.to_dataframe()
    assert list(frame.columns) == ["replicate", "time", "agent", "topic", "public"]
    back = pp.Trajectory.from_dataframe(frame.sample(frac=1, random_state=0), one)
    np.testing.assert_array_equal(back.states, run.states)
    run.save(tmp_path / "run.npz")
    loaded = pp.Trajectory.load(tmp_path / "run.npz")
    assert loaded.model.network.topics == NAMES
    np.testing.assert_array_equal(pp.simulate(loaded.model, 6, 2).states, run.states)
    buffer = io.BytesIO()
    run.write_netcdf(buffer)
    # Some agents on some topics have both axes as well; other selections are a list of pairs.
    some = [(i, topic) for i in (4, 2) for topic in ("war", "tax")]
    assert dict(pp.simulate(one, 1, record=pp.Record(agents=some)).to_xarray().sizes)["topic"] == 2
    assert dict(pp.simulate(one, 1, record=pp.Record(agents=[4, 2])).to_xarray().sizes)["topic"] == 3
    assert "topic" not in pp.simulate(one, 1, record=pp.Record(agents=some[:3])).to_xarray().sizes


def test_zealots_and_continuous_time() -> None:
    T = np.array([[0.7, 0.3], [0.5, 0.5]])
    network = path(3).with_topics(["tax", "rent"], T)
    hidden = np.array([[0.0, 0.2], [0.3, 0.4], [1.0, 0.8]])
    one = pp.Model(network, hidden, stubbornness=[np.inf, 1.0, 1.0])
    assert one.network.topics == ("tax", "rent")
    # Agents 1 and 2 follow agent 0: on tax and rent at once, (I − P ⊗ T) y = (P ⊗ T) x with agent 1 listening to both.
    P = np.array([[0.5], [0.0]])
    inner = np.array([[0.0, 0.5], [1.0, 0.0]])
    expected = np.linalg.solve(np.eye(4) - np.kron(inner, T), np.kron(P, T) @ hidden[0])
    np.testing.assert_allclose(one.consensus_state[2:], expected, atol=1e-12)
    assert diagnose(one).outcome is Outcome.DISAGREEMENT
    # In continuous time the drift is the map of the step minus the state.
    start = pp.simulate(pp.SDE(pp.Model(network, hidden), step=1e-3, method="euler"), 1).final.public[0]
    drift = (network.by_topic(start) - hidden) / 1e-3
    rho, d = 1e-3, np.array([1.0, 2.0, 1.0])
    pulled = path(3).adjacency.toarray() @ hidden @ T.T
    np.testing.assert_allclose(drift, (hidden + rho * pulled) / (1 + rho * d)[:, None] - hidden, atol=1e-12)


def test_values_by_agent_and_by_name() -> None:
    names = ["ann", "bob", "cat"]
    network = cycle(3).relabelled(names).with_topics(["tax", "rent"])
    frame = pd.DataFrame({"rent": [0.1, 0.2, 0.3], "tax": [1.0, 2.0, 3.0]}, index=["cat", "ann", "bob"])
    right = [[2.0, 0.2], [3.0, 0.3], [1.0, 0.1]]
    by_agent = dict(zip(names, right, strict=True))
    by_pair = {(name, topic): frame[topic][name] for name in names[::-1] for topic in frame}
    for hidden in (right, frame, by_agent, by_pair, frame.stack(), np.ravel(right)):
        one = pp.Model(network, hidden, stubbornness={"bob": 2.0, "ann": 1.0, "cat": 3.0}, noise=pp.Gaussian([1, 2, 3]))
        np.testing.assert_array_equal(network.by_topic(one.x0), right)
    np.testing.assert_array_equal(one.s, [1, 1, 2, 2, 3, 3])
    np.testing.assert_array_equal(one.noise.std, [1, 1, 2, 2, 3, 3])
    adapting = pp.Model(network, right, adaptation=pp.Adaptation(0.1, [0, 1, 0.5]))
    assert adapting.adaptation is not None
    np.testing.assert_array_equal(adapting.adaptation.adaptation_weight, [0, 0, 1, 1, 0.5, 0.5])
    matrix = pd.DataFrame([[0.5, 0.5], [0.0, 1.0]], index=["rent", "tax"], columns=["rent", "tax"])
    T = np.array([[1.0, 0.0], [0.5, 0.5]])
    named = k2().with_topics(["tax", "rent"], matrix).adjacency.toarray()
    np.testing.assert_array_equal(named, np.kron([[0, 1], [1, 0]], T))


@pytest.mark.parametrize(
    ("topics", "matrix", "words"),
    [
        (2, [[0.5, 0.6], [0, 1]], "1.1 for topic 0"),
        (["tax", "rent"], [[1, 0], [0.5, 0.4]], "0.9 for topic 'rent'"),
        (2, [[1, 0]], "shape"),
        (2, [[1, 0], [np.nan, 1]], "nan"),
        (2, [["a", "b"], ["c", "d"]], "topics"),
        (["tax", "tax"], None, "repeated 'tax'"),
        (0, None, "at least 1"),
        ([], None, "at least one topic"),
        ("tax", None, "list of names"),
        (2, pd.DataFrame(np.eye(2), index=["a", "b"], columns=["a", "b"]), "name them alike"),
    ],
)
def test_matrices_that_are_none(topics: Any, matrix: Any, words: str) -> None:
    with pytest.raises(NetworkError, match=words):
        k2().with_topics(topics, matrix)


def test_shapes_that_do_not_fit() -> None:
    network = k2().with_topics(["tax", "rent"])
    with pytest.raises(ModelError, match="2 agents and 2 topics, got 2 numbers; give 2 rows of 2"):
        pp.Model(network, [0.0, 1.0])
    with pytest.raises(ModelError, match="with_topics"):
        pp.Model(k2(), [[0.0, 1.0], [1.0, 2.0]])
    with pytest.raises(ModelError, match="none for 'rent'"):
        pp.Model(network, pd.DataFrame({"tax": [0.0, 1.0]}))
    np.testing.assert_array_equal(network.indices([1, (0, "rent")]), [2, 3, 1])
    assert network.index((1, "tax")) == 2
    for label, words in ((1, "one topic"), (2, "unknown 2"), ((0, "war"), "unknown"), ("ta", "unknown")):
        with pytest.raises(NetworkError, match=words):
            network.index(label)
    with pytest.raises(NetworkError, match="4 values"):
        network.by_topic([1.0, 2.0])
    one = pp.Model(network, np.zeros((2, 2)))
    frame = pd.DataFrame({"time": [1], "agent": [0], "public": [0.5]})
    with pytest.raises(InvalidInputError, match="must name the topic"):
        pp.Trajectory.from_dataframe(frame, one)
    with pytest.raises(InvalidInputError, match="topics must be ones"):
        pp.Trajectory.from_dataframe(frame.assign(topic="war"), one)


def test_topics_and_agents_that_pass_opinions_on_in_turn() -> None:
    # Agents listen in a circle and topics follow in a circle: pairs fall apart into three classes of three.
    ring = np.roll(np.eye(3), 1, axis=1)
    network = pp.Network(ring, directed=True).with_topics(3, ring)
    hidden = np.random.default_rng(4).uniform(size=(3, 3))
    one = pp.Model(network, hidden)
    assert [agents.size for agents in network.closed_classes] == [3, 3, 3]
    Y = hidden
    for t in range(1, 20_001):
        Y = (hidden + t * ring @ Y @ ring.T) / (1 + t)
    np.testing.assert_allclose(network.by_topic(one.consensus_state), Y, atol=2e-4)
    assert diagnose(one).outcome is Outcome.CLUSTERS
