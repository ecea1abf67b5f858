"""Verdicts on random temporal networks describe the process; stationary means are confirmed by recursions."""

from __future__ import annotations

import itertools
import json
import pickle

import numpy as np
import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.networks import (
    Network,
    TemporalNetwork,
    activity_driven,
    barabasi_albert,
    cycle,
    edge_markovian,
    failing_edges,
    path,
    rewiring,
)
from peerpressure.noise import Gaussian, NoNoise
from peerpressure.schedules import Constant, Linear, Power, Schedule
from peerpressure.theory import Outcome, consensus_limit, diagnose
from peerpressure.theory._regime import Regime
from peerpressure.theory._stationary import expected_coupling, stationary_mean
from tests.theory.reasons import codes, known, values

from .laws import mean_path

RING, HIDDEN = cycle(5), [0.0, 1.0, 2.0, 3.0, 10.0]
EDGES = np.array([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 2]]).T
WEIGHTED = Network.from_edges((EDGES[0], EDGES[1]), np.array([0.3, 1.0, 2.5, 7.0, 0.8, 1.7]), n=5)
STUBBORN = np.array([1.0, 2.0, 1.0, 0.5, 1.5])


@pytest.mark.parametrize("own", [0.0, 0.01, 1.7, 1e3])
def test_expected_coupling_is_the_mean_over_all_sets_of_edges(own: float) -> None:
    A, q = WEIGHTED.adjacency.toarray(), 0.6
    expected = np.zeros((5, 5))
    for present in itertools.product([False, True], repeat=6):
        B = np.zeros((5, 5))
        for (i, j), there in zip(EDGES.T, present, strict=True):
            B[i, j] = B[j, i] = A[i, j] * there
        total = own + B.sum(axis=1)
        chance = np.prod(np.where(present, q, 1 - q))
        expected += chance * np.divide(B, total[:, None], out=np.zeros((5, 5)), where=total[:, None] > 0)
    found = expected_coupling(WEIGHTED.adjacency, q, np.full(5, own))
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-12)


@pytest.mark.parametrize(("pressure", "regime"), [(Constant(3.0), Regime.BOUNDED), (Power(3.0), Regime.FAST)], ids=str)
def test_the_stationary_mean_is_that_of_independent_runs(pressure: Schedule, regime: Regime) -> None:
    law = known(failing_edges(WEIGHTED, 0.4, 2, seed=1).law)
    model = Model(failing_edges(WEIGHTED, 0.4, 2, seed=1), HIDDEN, STUBBORN, pressure)
    expected = stationary_mean(model, law, regime)
    rng, runs = np.random.default_rng(5), 4_000
    A, y = WEIGHTED.adjacency.toarray(), np.tile(HIDDEN, (runs, 1))
    for t in range(1, 81):
        B = np.zeros((runs, 5, 5))
        for i, j in EDGES.T:
            B[:, i, j] = B[:, j, i] = A[i, j] * (rng.random(runs) < 0.6)
        own = STUBBORN / float(pressure(t))
        y = (own * HIDDEN + np.einsum("rij,rj->ri", B, y)) / (own + B.sum(axis=2))
    z = (y.mean(axis=0) - expected) / (y.std(axis=0) / np.sqrt(runs))
    assert np.abs(z).max() < 4
    span = values(diagnose(model), "apart")
    assert expected is not None
    assert (span["low"], span["high"]) == pytest.approx((np.min(expected), np.max(expected)))


def test_the_mean_over_time_of_one_record_is_the_stationary_mean() -> None:
    model = Model(failing_edges(RING, 0.4, 3000, seed=2), HIDDEN, pressure=2.0)
    law = known(model.temporal_network).law
    assert law is not None
    expected = stationary_mean(model, law, Regime.BOUNDED)
    batches = mean_path(model, 3000)[0][1:].reshape(60, 50, 5).mean(axis=1)
    z = (batches.mean(axis=0) - expected) / (batches.std(axis=0, ddof=1) / np.sqrt(60))
    assert np.abs(z).max() < 4


BASE = barabasi_albert(8, 2, seed=1)
PROCESSES = [
    lambda steps: failing_edges(BASE, 0.3, steps, seed=4),
    lambda steps: edge_markovian(BASE, 0.2, 0.3, steps, seed=4),
    lambda steps: edge_markovian(8, 0.2, 0.8, steps, seed=4),
    lambda steps: activity_driven(8, steps, seed=4, floor=0.2),
    lambda steps: rewiring(path(8), 0.7, steps, seed=4),
]


@pytest.mark.parametrize("pressure", [Constant(2.0), Linear(), Power(1.6)], ids=str)
@pytest.mark.parametrize("process", PROCESSES, ids=range(5))
def test_a_verdict_does_not_depend_on_how_many_steps_are_recorded(process: object, pressure: Schedule) -> None:
    for noise in (NoNoise(), Gaussian(0.3)):
        found = [diagnose(Model(process(steps), np.arange(8.0), 1.0, pressure, noise)) for steps in (40, 41, 60)]  # type: ignore[operator]
        assert {verdict.outcome for verdict in found} == {Outcome.DISAGREEMENT}
        assert len({verdict.reason for verdict in found}) == 1
        assert {"random_network", "isolated_at_times"} <= codes(found[0])


def test_one_recorded_step_is_a_record_too() -> None:
    reasons = {diagnose(Model(failing_edges(BASE, 0.01, n, seed=4), np.arange(8.0))).reason for n in (1, 2, 9)}
    assert len(reasons) == 1


@pytest.mark.parametrize("process", PROCESSES, ids=range(5))
def test_opinions_that_adapt_for_ever_agree_on_random_networks(process: object) -> None:
    for weights in (1.0, [1.0] * 7 + [0.0]):
        model = Model(process(400), np.arange(8.0), 1.0, Linear(), adaptation=Adaptation(0.2, weights))  # type: ignore[operator]
        verdict = diagnose(model)
        assert verdict.agrees
        assert known(verdict.hidden).agrees
        shown, held = mean_path(model, 400)
        assert max(np.ptp(held[-1]), np.ptp(shown[-1])) < 1e-3 + 0.2 * np.ptp(held[50])
        if weights != 1.0:
            assert known(verdict.consensus_limit).mean == 7.0
        else:
            assert "limit_depends" in codes(verdict)
            with pytest.raises(InvalidInputError, match="which edges are present"):
                consensus_limit(model)


def test_two_opinions_that_never_move_stay_apart() -> None:
    network = failing_edges(BASE, 0.3, 50, seed=4)
    verdict = diagnose(Model(network, np.arange(8.0), adaptation=Adaptation(0.2, [0.0] * 2 + [1.0] * 6)))
    assert verdict.outcome is Outcome.DISAGREEMENT
    assert known(verdict.hidden).agrees is False


def test_edges_that_alternate_with_certainty_have_no_law_to_judge_by() -> None:
    verdict = diagnose(Model(edge_markovian(RING, 1.0, 1.0, 20, seed=1), HIDDEN))
    assert verdict.outcome is Outcome.UNKNOWN
    assert "not_covered" in codes(verdict)


def test_a_law_is_stored_with_its_network() -> None:
    network = failing_edges(WEIGHTED, 0.4, 30, seed=1)
    for restored in (TemporalNetwork.from_arrays(network.arrays()), pickle.loads(pickle.dumps(network))):
        law = known(restored.law)
        assert (law.generator, law.presence, law.memory) == ("failing_edges", 0.6, 0.0)
        np.testing.assert_array_equal(known(law.pairs).adjacency.toarray(), WEIGHTED.adjacency.toarray())
    everyone = edge_markovian(4, 0.2, 0.3, 30, seed=1)
    law = known(TemporalNetwork.from_arrays(everyone.arrays()).law)
    assert law.pairs is None
    assert json.loads(str(everyone.arrays()["law"]))["memory"] == pytest.approx(0.5)
    assert failing_edges(RING, 0.4, 30, seed=1, repeat=True).law is None
    assert failing_edges(RING, 0.0, 30, seed=1).law is None
    assert rewiring(RING, 0.0, 30, seed=1).law is None


def test_a_component_keeps_the_law_of_its_edges() -> None:
    triangle = Network.from_edges([(0, 1), (1, 2), (2, 0)])
    apart = Network.from_edges([(0, 1), (1, 2), (2, 0), (3, 4)])
    part, whole = failing_edges(apart, 0.5, 200, seed=1).largest_component(), failing_edges(triangle, 0.5, 200, seed=1)
    verdicts = [diagnose(Model(network, HIDDEN[:3], noise=Gaussian(0.1))) for network in (part, whole)]
    assert [verdict.outcome for verdict in verdicts] == [Outcome.DISAGREEMENT] * 2
    assert [codes(verdict) for verdict in verdicts[:1]] == [codes(verdict) for verdict in verdicts[1:]]
    for network in (part, whole):
        assert network.law is not None
        assert (known(network.law.pairs).n, network.law.isolation) == (3, 0.25)
    # Any two of four agents may be linked, and one of them is not linked at the recorded step.
    everyone = edge_markovian(4, 0.2, 0.8, 1, seed=3)
    few = everyone.largest_component()
    assert few.n < 4
    assert known(few.law).isolation == pytest.approx(0.8 ** (few.n - 1))


def test_agents_without_contacts_leave_a_random_network_random() -> None:
    met = activity_driven(30, 40, seed=1)
    part = met.largest_component()
    assert 1 < part.n < 30
    assert known(part.law).isolation == known(met.law).isolation
    assert diagnose(Model(part, range(part.n))).outcome is Outcome.DISAGREEMENT


def test_the_chance_of_isolation_is_that_of_long_records() -> None:
    for network in (
        failing_edges(RING, 0.6, 600, seed=1),
        rewiring(path(6), 0.5, 600, seed=1),
        activity_driven(6, 600, seed=1, contacts=2, floor=0.3),
    ):
        alone = np.mean([network.degrees_at(t) == 0 for t in range(1, 601)], axis=1)
        batches = alone.reshape(20, 30).mean(axis=1)
        z = (batches.mean() - known(network.law).isolation) / (batches.std(ddof=1) / np.sqrt(20))
        assert abs(z) < 4
