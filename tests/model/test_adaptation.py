"""How hidden opinions adapt: what is accepted, what is refused, and what comes back from plain values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import peerpressure as pp


@pytest.mark.parametrize("rate", [0.0, 0.2, 1.0, "0.5/t", pp.Power(-0.5, scale=0.3), [0.1, 0.2]])
@pytest.mark.parametrize("adaptation_weight", [1.0, 0.5, [0.0, 1.0, 0.25]])
def test_the_rate_is_that_of_the_schedule_times_the_agents_own(rate: Any, adaptation_weight: Any) -> None:
    adaptation = pp.Adaptation(rate, adaptation_weight)
    expected = float(adaptation.rate(2)) * np.broadcast_to(adaptation_weight, 3)
    np.testing.assert_allclose(adaptation.at(2, agents=3), expected, rtol=1e-15)
    again = pp.Adaptation.from_dict(adaptation.to_dict())
    assert again == adaptation
    assert hash(again) == hash(adaptation)
    assert str(again) == str(adaptation)


@pytest.mark.parametrize("rate", [1.5, -0.1, "t", "-t", float("nan"), "__import__('os')", None])
def test_a_rate_that_is_no_share_is_refused(rate: Any) -> None:
    with pytest.raises(pp.errors.InvalidInputError, match=r"; \w"):
        pp.Adaptation(rate).pace(np.arange(1, 50))


def test_a_rate_is_judged_where_it_is_used() -> None:
    adaptation = pp.Adaptation("t/10")
    assert adaptation.pace(10) == 1
    with pytest.raises(pp.errors.AdaptationError, match=r"from 0 to 1 in a step, got η = 1\.1 at t = 11"):
        adaptation.pace(np.arange(1, 50))
    model = pp.Model(pp.networks.k2(), hidden=[0, 1], adaptation=adaptation)
    with pytest.raises(pp.errors.AdaptationError, match="at t = 11"):
        pp.simulate(model, 20)


@pytest.mark.parametrize("adaptation_weight", [-0.1, 1.1, [0.5, 2.0], [[0.1]], [], "much", float("nan")])
def test_a_susceptibility_that_is_no_share_is_refused(adaptation_weight: Any) -> None:
    with pytest.raises(pp.errors.AdaptationError, match="a number from 0 to 1, or one for each agent"):
        pp.Adaptation(0.1, adaptation_weight)


def test_a_model_wants_one_susceptibility_for_each_agent() -> None:
    with pytest.raises(pp.errors.ModelError, match="one for each of the 2 agents, got 3 of them"):
        pp.Model(pp.networks.k2(), hidden=[0, 1], adaptation=pp.Adaptation(0.1, [0.1, 0.2, 0.3]))


@pytest.mark.parametrize("value", [0.25, "0.25", pp.Constant(0.25), pp.Adaptation(0.25)])
def test_a_model_takes_whatever_says_a_rate(value: Any) -> None:
    model = pp.Model(pp.networks.k2(), hidden=[0, 1], adaptation=value)
    assert model.adaptation is not None
    np.testing.assert_array_equal(model.adaptation.at(3, 2), [0.25, 0.25])
    assert "adapting by η_t = 0.25" in repr(model)
    assert not model.is_plain
