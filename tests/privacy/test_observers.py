"""Observers of some agents, insiders and paths in continuous time, against joint laws and closed forms."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.errors import InvalidInputError, NetworkError
from peerpressure.privacy import DESIGNS, Definition, Noisy, budget, calibrate, exposure, frontier
from peerpressure.recovery import Observation, information
from tests.builders import random_model, temporal_network
from tests.oracles import joint_paths, outputs_law

N, T = 6, 5
TEMPORAL = {"white": "white", "frozen": "frozen", "ar1": pp.AR1(0.6)}
STARTS = {"hidden": "hidden", "public": np.linspace(-1, 1, N)}


def small(temporal: Any = "white", start: Any = "hidden", **parts: Any) -> pp.Model:
    return random_model(N, noise=pp.Gaussian(np.linspace(0.5, 1.5, N), temporal=temporal), start=start, **parts)


def heard(model: pp.Model, agents: list[int], insiders: list[int]) -> list[int]:
    """Return who is observed: the given agents, the insiders and their neighbours."""
    near = model.network.adjacency.toarray()[insiders].any(axis=0)
    return sorted({*agents, *insiders, *np.flatnonzero(near).tolist()})


@pytest.mark.parametrize("temporal", TEMPORAL.values(), ids=TEMPORAL)
@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
@pytest.mark.parametrize("adaptation", [None, 0.2])
def test_partial_observers_and_insiders_learn_what_the_joint_law_tells(
    temporal: Any, start: Any, adaptation: float | None
) -> None:
    model = small(temporal, start, adaptation=adaptation)
    for agents in ([0], [1, 3, 4]):
        for insiders in ([], [2, 5]):
            for first in (0, 1):
                rows = outputs_law(model, T, heard(model, agents, insiders), first=first, known=insiders)
                seen: dict[str, Any] = {"observed": agents, "insiders": insiders, "sees_start": first == 0}
                told = budget(model, T, **seen, public_start=True)
                assert list(told.table.index) == [i for i in range(N) if i not in insiders]
                expected = np.delete(rows.worst_case(), insiders)
                np.testing.assert_allclose(told.table["information"], expected, rtol=1e-6)


def test_certain_steps_of_a_temporal_network() -> None:
    network = temporal_network(8)
    model = pp.Model(network, np.linspace(0, 1, 8), noise=pp.Gaussian(0.8))
    times = [2, 5]
    expected = joint_paths(model, 5)[0].at(times, [1, 4, 6]).worst_case()
    # Rounding hides more and is not counted.
    look = Observation(agents=[1, 4, 6], times=times, rounding=0.5)
    np.testing.assert_allclose(budget(model, 5, observed=look).table["information"], expected, rtol=1e-8)


def test_naming_everyone_is_the_default() -> None:
    model = small(start=np.zeros(N))
    one, two = budget(model, T), budget(model, T, observed=list(range(N)))
    assert one.table.equals(two.table)
    assert one.definition.terms == two.definition.terms


@pytest.mark.parametrize("law", [pp.Gaussian, pp.Laplace, pp.StudentT, pp.noise.Uniform, pp.noise.Rademacher])
def test_an_observer_of_nobody_learns_nothing(law: type[pp.noise.Noise]) -> None:
    told = budget(random_model(N, noise=law(0.5)), T, observed=[])
    assert told.epsilon == 0
    assert "no agent" in told.definition.terms["observer"]


@pytest.mark.parametrize("law", [pp.Laplace, pp.StudentT, pp.noise.Uniform])
def test_other_laws_are_accounted_for_as_seen_by_everyone(law: type[pp.noise.Noise]) -> None:
    model = random_model(N, noise=law(5.0), start=np.zeros(N))
    part, everyone = budget(model, T, observed=[0]), budget(model, T)
    np.testing.assert_array_equal(part.table["epsilon"], everyone.table["epsilon"])
    assert "epsilon_low" not in part.table
    assert "which is safe" in part.definition.terms["observer"]


@pytest.mark.parametrize("law", [pp.Gaussian, pp.Laplace])
def test_insiders_hear_their_neighbours_start(law: type[pp.noise.Noise]) -> None:
    model = random_model(N, noise=law(5.0))
    told = budget(model, T, insiders=[2]).table["epsilon"]
    assert "Insiders hear it" in budget(model, T, insiders=[2]).definition.terms["start"]
    near = set(model.network.neighbours(2).tolist())
    assert {agent for agent in told.index if math.isinf(told[agent])} == near
    public = replace(model, start=np.zeros(N))
    others = [i for i in range(N) if i != 2]
    # Without the leak, noise that an insider knows protects nobody else.
    np.testing.assert_allclose(
        budget(public, T, insiders=[2]).table["epsilon"], budget(public, T).table["epsilon"][others]
    )


def test_noise_is_calibrated_to_the_observer() -> None:
    model = small(start=np.zeros(N))
    seen: dict[str, Any] = {"observed": [0, 3], "insiders": [1], "runs": 4}
    calibrated = calibrate(model, T, mu=0.5, **seen)
    assert calibrated.budget.mu == pytest.approx(0.5)
    assert budget(calibrated.model, T, **seen).mu == pytest.approx(0.5)
    assert float(np.max(calibrated.std)) < float(np.max(calibrate(model, T, mu=0.5, runs=4).std))
    laplace = replace(model, noise=pp.Laplace(1.0))
    many = calibrate(laplace, T, epsilon=2.0, runs=4, insiders=[1])
    assert many.budget.epsilon == pytest.approx(2.0, rel=1e-6)
    assert many.budget.epsilon <= 2.0


@pytest.mark.parametrize("changes", [{"sees_start": True}, {"insiders": [0]}])
def test_what_no_noise_hides_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match="no noise hides an opinion from"):
        calibrate(small(), T, epsilon=1.0, **changes)


def test_the_frontier_follows_the_observer() -> None:
    model = small(start=np.zeros(N))
    seen: dict[str, Any] = {"observed": [0, 3], "insiders": [1], "runs": 4}
    trade_off = frontier(model, [3, T], [0.5], DESIGNS, **seen)
    for row in trade_off.table[trade_off.table["horizon"] == T].itertuples():
        (design,) = [one for one in DESIGNS if one.name == row.design]
        if isinstance(design, Noisy):
            louder = replace(design.noise, std=float(row.std))
            assert budget(replace(model, noise=louder), T, **seen).mu == pytest.approx(0.5)
    # The limit holds for who sees everything, and the mode of one of R runs.
    assert math.isnan(trade_off.limit)
    assert frontier(model, T, [0.5], runs=4).limit == pytest.approx(2 * frontier(model, T, [0.5]).limit)
    assert (frontier(model, T, [0.5], runs=4).table["rms_error"] > frontier(model, T, [0.5]).table["rms_error"]).all()
    assert all(sentence in " ".join(str(trade_off).split()) for sentence in trade_off.definition.terms.values())
    with pytest.raises(InvalidInputError, match="no noise hides"):
        frontier(small(), T, [0.5], sees_start=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"insiders": range(N)}, "some agent must not be an insider, got all 6"),
        ({"insiders": "ann"}, "insiders must be a sequence of labels"),
        ({"insiders": [0], "observed": Observation(times=[1])}, "insiders observe every step"),
        ({"observed": "ann"}, "agents must be a sequence of labels"),
    ],
)
def test_bad_observers(change: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInputError, match=words):
        budget(small(), T, **change)
    with pytest.raises(NetworkError, match="nobody"):
        budget(small(), T, insiders=["nobody"])
    with pytest.raises(InvalidInputError, match="insiders are accounted for in discrete time"):
        budget(pp.SDE(random_model(3, noise=pp.Gaussian())), T, insiders=[0])


# Continuous time


@pytest.mark.parametrize("agents", [list(range(4)), [0, 2]])
def test_a_finer_observer_learns_more_up_to_the_limit(agents: list[int]) -> None:
    model = random_model(4, noise=pp.Gaussian([1.0, 2.0, 0.7, 1.3]), start=np.zeros(4), pressure=pp.Constant(1.5))
    told = [budget(pp.SDE(model, step=h), int(8 / h), observed=agents) for h in (2.0, 1.0, 0.25)]
    for account, h in zip(told, (2.0, 1.0, 0.25), strict=True):
        seen = information(pp.SDE(model, step=h), int(8 / h), Observation(agents=agents))
        np.testing.assert_allclose(account.table["information"], seen.diagonal, rtol=1e-6)
        np.testing.assert_allclose(account.table["information_limit"], 8 * (model.s / model.noise.std) ** 2)
        assert (account.table["epsilon"] <= account.table["epsilon_limit"]).all()
        assert "finer observer learns more" in account.definition.terms["grid"]
        assert "ε, all times" in str(account)
    assert told[0].epsilon < told[1].epsilon < told[2].epsilon
    fine = budget(pp.SDE(model, step=0.02), 400)
    assert fine.epsilon == pytest.approx(fine.epsilon_limit, rel=1e-3)


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        (pp.Power(-0.25, 2.0), 4**1.5 / 1.5 / 4),
        (pp.Power(0.5), math.inf),
        (pp.Power(0.25), 2 * math.sqrt(4.0)),
        (pp.schedules.Table([1.0, 2.0, 4.0, 4.0]), 1 + 1 / 4 + 2 / 16),
        (pp.Constant(0.5), 16.0),
    ],
)
def test_the_limit_is_an_integral(scale: pp.schedules.Schedule, expected: float) -> None:
    noise = pp.Gaussian(1.0, time_scale=scale)
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=noise, start=[0.0, 0.0])
    told = budget(pp.SDE(model, step=1.0), 4)
    np.testing.assert_allclose(told.table["information_limit"], expected, rtol=1e-6)
    assert (told.table["information_limit"] >= expected).all()
    assert math.isinf(budget(pp.SDE(replace(model, start="hidden"), step=1.0), 4).epsilon_limit)
    # Euler's steps are a mechanism in discrete time.
    assert math.isnan(budget(pp.SDE(model, step=1.0, method="euler"), 4).epsilon_limit)


def test_a_limit_that_is_not_known_is_no_number() -> None:
    noise = pp.Gaussian(1.0, time_scale=pp.Power(0.25))
    model = pp.Model(pp.networks.k2(), [0.0, 1.0], noise=noise, start=[0.0, 0.0], adaptation=0.1)
    table = budget(pp.SDE(model, step=1.0), 4).table
    assert table["information_limit"].isna().all()
    # Not ∞, which would say that no ε holds.
    assert table["epsilon_limit"].isna().all()


def test_exposure_in_continuous_time_says_so() -> None:
    model = random_model(3, noise=pp.Gaussian(1.0), start=np.zeros(3))
    assert "finer observer" in str(exposure(pp.SDE(model, step=0.5), 4))


def test_a_definition_is_data() -> None:
    found = Definition(small(), 9, 2.0, runs=3, observed=[0, 1], insiders=[0])
    assert (found.steps, found.sensitivity, found.runs, found.sees_start) == (9, 2.0, 3, False)
    assert not found.is_complete
    assert set(np.flatnonzero(found.is_observed)) == {0, 1, *small().network.neighbours(0).tolist()}
    assert f"{int(found.is_observed.sum())} of 6 agents at steps 1 to 9" in found.terms["observer"]
    assert "One of them is an insider" in found.terms["observer"]


@pytest.mark.parametrize("law", [pp.Gaussian, pp.Laplace])
def test_before_the_first_observed_step_nothing_is_seen(law: type[pp.noise.Noise]) -> None:
    model = random_model(5, noise=law(1.0))
    told = budget(model, 4, observed=pp.Observation(first_step=6))
    assert told.epsilon == 0
    assert "sees no agent" in told.definition.terms["observer"]
    assert budget(model, 6, observed=pp.Observation(first_step=6)).epsilon > 0
