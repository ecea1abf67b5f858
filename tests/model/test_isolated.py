"""Agents without neighbours: those of recorded contacts keep their public opinions, others show their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure import networks
from peerpressure.errors import InvalidInputError, ModelError, NetworkError
from peerpressure.networks import TemporalNetwork
from peerpressure.noise import Noise
from peerpressure.theory import contraction
from tests.oracles import joint_law, outputs_law

CONTACTS = [(1, 0, 1), (2, 1, 2), (2, 3, 4), (3, 0, 4), (5, 2, 3, 2.5), (6, 0, 2)]
N = 5
NOISES: dict[str, Noise] = {
    "white": pp.Gaussian(0.5),
    "laplace": pp.Laplace(np.linspace(0.2, 0.6, N)),
    "ar1": pp.Gaussian(0.5, temporal=pp.AR1(0.7)),
    "frozen": pp.Gaussian(0.5, temporal=pp.Frozen()),
}


def contacts(**settings: Any) -> TemporalNetwork:
    """Return contacts of five agents, of whom somebody is isolated at each step, and all at one."""
    return TemporalNetwork.from_contacts([(*row, 1.0)[:4] for row in CONTACTS], n=N, **{"repeat": True} | settings)


def model_of(seed: int = 0, **parts: Any) -> pp.Model:
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {"hidden": rng.normal(size=N), "stubbornness": rng.uniform(0.5, 2, N), "pressure": "t"}
    return pp.Model(**{"network": contacts()} | given | parts)


def states_of(run: pp.Trajectory) -> NDArray[Any]:
    assert run.states is not None
    return run.states


def test_the_rule_follows_the_source_of_the_network(tmp_path: Any) -> None:
    recorded = contacts()
    assert recorded.isolated == model_of().isolated == "keep"
    assert networks.recorded_contacts("hospital").isolated == "keep"
    file = tmp_path / "contacts.txt"
    file.write_text("\n".join(f"{t} {i} {j}" for t, i, j, *_ in CONTACTS))
    assert networks.read_contacts(file, columns=["time", "source", "target"]).isolated == "keep"
    designed = TemporalNetwork.from_events([(1, "a", "b"), (2, "b", "c"), (3, "a", "b", 0)])
    assert designed.isolated == pp.Model(designed, [0, 1, 2]).isolated == "own"
    assert networks.activity_driven(20, 10, seed=1).isolated == "own"
    assert model_of(isolated="own").isolated == "own"
    assert pp.Model(designed, [0, 1, 2], isolated="keep").isolated == "keep"
    # On a constant network nobody is isolated only at times.
    assert pp.Model(networks.cycle(4), [0, 1, 2, 3], isolated="keep").isolated == "own"


def test_the_rule_survives_files_and_parts(tmp_path: Any) -> None:
    model = model_of(noise=pp.Gaussian(0.3), isolated="own")
    for one in (model, model_of()):
        assert pp.Model.from_parts(*one.parts()).isolated == one.isolated == replace(one).isolated
        assert one.description()["isolated"] == one.isolated
    assert "keep" in repr(model_of())
    assert "keep" not in repr(model)
    networks.write_events(contacts(), tmp_path / "contacts.npz")
    assert networks.read_events(tmp_path / "contacts.npz").isolated == "keep"
    apart = TemporalNetwork.from_contacts([(1, 0, 1), (2, 1, 2), (1, 3, 4)])
    assert apart.largest_component().isolated == "keep"


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kept_opinions_are_the_same_bits(dtype: str) -> None:
    for rule in ("keep", "own"):
        model = model_of(noise=NOISES["ar1"], isolated=rule, start=np.linspace(-1, 1, N))
        silent = np.array([model.degrees_at(t) == 0 for t in range(1, 21)])
        found = states_of(pp.simulate(model, 20, seed=3, replicates=18, dtype=dtype))
        assert np.all((found[:, 1:] == found[:, :-1])[:, silent]) == (rule == "keep")


@pytest.mark.parametrize("adaptation", [None, 0.3])
@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
def test_moments_are_those_of_the_joint_law(noise: Noise, adaptation: float | None) -> None:
    model = model_of(noise=noise, adaptation=adaptation, start=np.linspace(-1, 1, N))
    steps = 15
    by_hidden, by_start, covariance = joint_law(model, steps)
    mean = by_hidden @ model.x0 + by_start @ model.start_state
    blocks = covariance.reshape(steps + 1, N, steps + 1, N)
    result = pp.moments(model, steps)
    np.testing.assert_allclose(result.mean, mean, atol=1e-12)
    np.testing.assert_allclose(result.variance, np.einsum("titi->ti", blocks), atol=1e-12)
    # The adjoint, which knows no covariance.
    weights = np.linspace(-1, 2, 2 * N).reshape(2, N)
    sums = pp.moments(model, steps, weights)
    np.testing.assert_allclose(sums.mean[-1], weights @ mean[-1], atol=1e-12)
    np.testing.assert_allclose(sums.covariance, weights @ blocks[-1, :, -1] @ weights.T, atol=1e-12)


def test_a_step_in_which_somebody_keeps_contracts_nothing() -> None:
    update = model_of().update(1)
    assert update.kept is not None
    assert np.array_equal(update.kept, [0, 0, 1, 1, 1])
    assert not update.gain[2:].any()
    assert not update.coupling_scale[2:].any()
    y = np.arange(float(N))
    np.testing.assert_allclose(update.coupling @ y, update.couple(y))
    np.testing.assert_allclose(update.coupling.T @ y, update.couple_adjoint(y))
    assert contraction(model_of(), 1) == 1.0


@pytest.mark.parametrize("rule", ["silent", 1, "KEEP"])
def test_other_rules_are_errors(rule: Any) -> None:
    with pytest.raises(ModelError, match=r"'own' or 'keep'.*'keep' for their last"):
        model_of(isolated=rule)
    with pytest.raises(NetworkError, match="'own' or 'keep'"):
        TemporalNetwork([1], [0], [1], isolated=rule)


def test_agents_who_never_have_neighbours_cannot_keep() -> None:
    network = pp.Network.from_edges([(0, 1)], n=3)
    with pytest.raises(ModelError, match=r"need neighbours at some step.*agent 2"):
        pp.Model(network, [0, 1, 2], isolated="keep")


def generalised_least_squares(model: pp.Model, states: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the best linear unbiased estimate from y_1 … y_T and its covariance, from the dense joint law."""
    law = outputs_law(model, len(states) - 1)
    # Kept outputs repeat others exactly: a little noise makes the covariance regular.
    inverse = np.linalg.inv(law.covariance + 1e-9 * np.eye(len(law.c)))
    found = np.linalg.inv(law.B.T @ inverse @ law.B)
    return found @ law.B.T @ inverse @ (states[1:].ravel() - law.c), found


@pytest.mark.parametrize("start", ["hidden", 0.0])
@pytest.mark.parametrize("adaptation", [None, 0.2])
@pytest.mark.parametrize("noise", [NOISES["white"], NOISES["ar1"]], ids=["white", "ar1"])
def test_estimates_are_the_best_linear_ones(noise: Noise, adaptation: float | None, start: Any) -> None:
    model = model_of(noise=noise, adaptation=adaptation, start=start)
    run = pp.simulate(model, 14, seed=5)
    value, covariance = generalised_least_squares(model, states_of(run)[0])
    for method in ("innovations", "kalman", "gls"):
        estimate = pp.recover(run, model, method)
        np.testing.assert_allclose(estimate.value[0], value, atol=2e-4)
        np.testing.assert_allclose(estimate.std, np.sqrt(np.diag(covariance)), atol=2e-4)
    # The bound before anything is observed; who keeps y₀ = x₀ at the first step is known exactly.
    bound = pp.recovery.information(model, 14).bound
    np.testing.assert_allclose(bound, estimate.std**2, atol=1e-8)
    assert np.array_equal(bound[2:] < 1e-12, [start == "hidden"] * 3)


def test_partial_outputs_and_coverage() -> None:
    model = model_of(noise=pp.Gaussian(0.4), start=0.0)
    run = pp.simulate(model, 25, replicates=400, seed=2)
    for seen in (pp.Observation(), pp.Observation(agents=[0, 2, 3])):
        estimate = pp.recover(run, model, "kalman", seen)
        inside = np.abs(estimate.value - model.x0) <= 1.96 * estimate.std
        assert abs(inside[:, estimate.identified].mean() - 0.95) < 0.03
    whole = pp.recover(run, model)
    np.testing.assert_allclose(whole.value, pp.recover(run, model, "kalman").value, atol=1e-9)


def test_outputs_that_contradict_the_rule_are_errors() -> None:
    own = model_of(noise=pp.Gaussian(0.4), start=0.0, isolated="own")
    run = pp.simulate(own, 12, seed=2)
    with pytest.raises(InvalidInputError, match=r"isolated agents keep.*agent 2.*step 1"):
        pp.recover(run, replace(own, isolated="keep"))


@pytest.mark.parametrize("noise", [NOISES["white"], NOISES["ar1"], NOISES["frozen"]], ids=["white", "ar1", "frozen"])
def test_privacy_budgets_are_those_of_the_joint_law(noise: Noise) -> None:
    model = model_of(noise=noise, start=0.0)
    found = pp.privacy.budget(model, 12).table["information"]
    np.testing.assert_allclose(found, outputs_law(model, 12).worst_case(), rtol=1e-5)
    # Every step at which an agent has a neighbour counts, and no other.
    if noise is NOISES["white"]:
        active = np.array([model.degrees_at(t) > 0 for t in range(1, 13)]).sum(axis=0)
        np.testing.assert_allclose(found, active / 0.25)


def test_who_keeps_a_hidden_start_is_revealed() -> None:
    account = pp.privacy.budget(model_of(noise=pp.Gaussian(0.5)), 6)
    assert np.isinf(account.table["information"]).tolist() == [False, False, True, True, True]
    assert "3 agents" in account.definition.terms["start"]
    with pytest.raises(InvalidInputError, match=r"stays public.*public start"):
        pp.privacy.calibrate(model_of(noise=pp.Gaussian(0.5)), 6, information=2.0)


def test_the_rule_survives_a_saved_run(tmp_path: Any) -> None:
    run = pp.simulate(model_of(noise=pp.Gaussian(0.3)), 8, seed=1)
    run.save(tmp_path / "run.nc")
    assert pp.Trajectory.load(tmp_path / "run.nc").model.isolated == "keep"
