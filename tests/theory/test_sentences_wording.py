"""What the sentences of a verdict say, and what they do not say."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from peerpressure import Gaussian, Model, Power, diagnose
from peerpressure.networks import barabasi_albert, complete, cycle, k2, star
from peerpressure.theory import ReasonCode
from tests.theory.changing import CHANGING, mean_path
from tests.theory.claims import DIVIDED, ENEMIES, FROZEN, ODD, PAIRS, RISING, SIX, uneven
from tests.theory.reasons import codes, values
from tests.theory.recursions import state


@pytest.mark.parametrize("noise", [Gaussian(0.3, time_scale="1/t"), Gaussian(0.3, temporal="frozen", time_scale="1/t")])
@pytest.mark.parametrize("parts", [{"network": PAIRS}, {"network": cycle(4), "activation": 0.5}], ids=["pairs", "some"])
def test_noise_that_fades_is_not_said_to_move_or_shift_agents(noise: Gaussian, parts: dict[str, Any]) -> None:
    found = codes(diagnose(Model(hidden=[0, 1, 2, 3], pressure=2, noise=noise, **parts)))
    assert ReasonCode.FLUCTUATION_FADES in found
    assert not found & {ReasonCode.FLUCTUATION_UNKNOWN, ReasonCode.FROZEN_SHIFT}


def test_constant_hidden_opinions_are_not_said_to_follow_noise() -> None:
    verdict = diagnose(Model(CHANGING["one alone"], SIX, noise=Gaussian(0.3)))
    assert "hidden opinion" not in verdict.reason


def test_camps_are_named_only_where_there_are_camps() -> None:
    assert "camp" not in diagnose(Model(PAIRS, [0, 1, 0, 1], noise=RISING)).reason
    assert "second of two camps" in diagnose(Model(DIVIDED, [1, 2, 6, 0], noise=RISING)).reason


def test_frozen_noise_in_two_pairs_is_printed_with_its_deviation() -> None:
    verdict = diagnose(Model(PAIRS, [0, 1, 0, 1], noise=FROZEN))
    assert verdict.reason.count("converges to a value that depends on the noise: 0.5 ± 0.21") == 2


def test_phases_have_the_signs_of_camps() -> None:
    model = Model(ENEMIES, [0, 1], pressure=Power(2))
    limit = diagnose(model).consensus_limit
    assert limit is not None
    assert limit.phases is not None
    for t in (1_000, 1_001):
        np.testing.assert_allclose(limit.phases.at(t)[0], state(model, t), atol=1e-3)


def test_phases_without_camps_are_as_before() -> None:
    model = Model(k2(), [0, 1], pressure=Power(2))
    limit = diagnose(model).consensus_limit
    assert limit is not None
    assert limit.phases is not None
    np.testing.assert_allclose(limit.phases.at(1_001)[0], state(model, 1_001), atol=1e-3)


def test_a_range_of_one_value_is_not_printed_as_a_range() -> None:
    text = diagnose(Model(star(4), [0, 1, 2, 10], [1, 1, 1, math.inf])).reason
    assert "from 10 to 10" not in text
    assert "the mean limit is 10." in text


def test_noise_that_is_drawn_once_and_fades_is_not_said_to_average_out() -> None:
    model = uneven(noise=Gaussian(0.3, temporal="frozen", time_scale="t^-0.5"))
    assert "averages out" not in diagnose(model).reason


def test_the_variance_of_fading_noise_has_no_growth_per_step() -> None:
    noise = Gaussian(0.1, time_scale="t^-0.5")
    verdict = diagnose(Model(complete(4), **ODD, pressure=1, adaptation=0.01, noise=noise))
    assert "per step" not in verdict.reason
    assert values(verdict, ReasonCode.RANDOM_WALK_UNBOUNDED)["mean"] == pytest.approx(
        mean_path(Model(complete(4), **ODD, pressure=1, adaptation=0.01), 4_000)[0][-1].mean(), rel=1e-3
    )


@pytest.mark.parametrize("n", [600, 900, 1_100])
def test_frozen_noise_is_said_to_shift_agents_at_every_size(n: int) -> None:
    model = Model(barabasi_albert(n, 2, seed=1), np.linspace(0, 1, n), pressure=1, noise=FROZEN)
    text = diagnose(model).reason
    assert "Frozen noise shifts them once and for all" in text
    assert "moving" not in text


def test_an_average_that_never_settles_has_no_number() -> None:
    noise = Gaussian(0.3, temporal="frozen", time_scale="2 + sin(log(t))")
    text = diagnose(uneven(noise=noise)).reason
    assert "plus an error that no waiting removes" in text
    assert "nan" not in text
