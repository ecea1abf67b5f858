"""One conformance suite for every noise, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.noise import LAWS, noise_from_dict
from tests.builders import NOISES, random_model

REPLICATES = 4000


def _noise_path(noise: pp.noise.Noise, steps: int = 6) -> Any:
    """Return ε_1 … ε_T of a stretch of independent agents: without peer pressure, agents show x₀ + ε_t."""
    model = pp.Model(pp.networks.path(4), hidden=np.zeros(4), pressure=pp.Constant(0.0), noise=noise)
    run = pp.simulate(model, steps, replicates=REPLICATES, seed=21)
    assert run.states is not None
    return run.states[:, 1:, :].transpose(1, 0, 2).reshape(steps, -1)


@pytest.mark.parametrize("name", NOISES)
def test_paths_have_the_stated_covariance_in_time(name: str) -> None:
    noise = NOISES[name]
    epsilon = _noise_path(noise)
    expected = float(np.asarray(noise.std)) ** 2 * noise.time_covariance(np.arange(1, 7))
    error = 5 / np.sqrt(epsilon.shape[1])
    scale = np.sqrt(np.outer(expected.diagonal(), expected.diagonal()))
    np.testing.assert_allclose(epsilon.mean(axis=1), 0, atol=error * np.sqrt(expected.diagonal().max()) + 1e-15)
    # Heavy tails make sample variances themselves noisy: √(kurtosis) standard errors.
    kurtosis = 10.0 if noise.law in ("student", "custom") else 4.0
    assert (np.abs(np.cov(epsilon) - expected) <= error * np.sqrt(kurtosis) * scale + 1e-15).all()


@pytest.mark.parametrize("name", NOISES)
def test_values_round_trip_through_json_and_compare(name: str) -> None:
    noise = NOISES[name]
    again = noise_from_dict(json.loads(json.dumps(noise.to_dict())))
    assert again == noise
    assert hash(again) == hash(noise)
    assert again != pp.Gaussian(123.0)
    assert str(noise)


@pytest.mark.parametrize("name", NOISES)
def test_noises_are_frozen(name: str) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        NOISES[name].std = 3.0  # type: ignore[misc]


def test_every_law_is_in_the_suite() -> None:
    assert {noise.law for noise in NOISES.values()} == set(LAWS)


def test_deviations_by_agent_are_kept_read_only_and_round_trip() -> None:
    noise = pp.Laplace([0.0, 1.0, 2.0], temporal="frozen")
    assert noise.deviations(3).tolist() == [0.0, 1.0, 2.0]
    assert not np.asarray(noise.std).flags.writeable
    assert noise_from_dict(noise.to_dict()) == noise
    assert noise != pp.Laplace([0.0, 1.0, 2.5], temporal="frozen")


def test_agents_hear_their_own_deviation() -> None:
    model = pp.Model(
        pp.networks.path(4), hidden=np.zeros(4), pressure=pp.Constant(0.0), noise=pp.Gaussian([0.0, 1.0, 2.0, 3.0])
    )
    final = pp.simulate(model, 1, replicates=REPLICATES, seed=1).final.public
    assert not final[:, 0].any()
    np.testing.assert_allclose(final.std(axis=0)[1:], [1, 2, 3], rtol=5 / np.sqrt(2 * REPLICATES))


def test_a_silent_noise_says_so() -> None:
    assert pp.NoNoise().is_zero
    assert pp.Gaussian(0.0).is_zero
    assert not pp.Gaussian([0.0, 1.0]).is_zero


def test_a_custom_law_may_be_rescaled() -> None:
    noise = pp.noise.Custom(stats.expon(scale=0.5), std=2.0, centre=True)
    epsilon = _noise_path(noise, steps=1)
    np.testing.assert_allclose(epsilon.std(), 2.0, rtol=0.1)
    assert abs(epsilon.mean()) < 5 * 2 / np.sqrt(epsilon.size)
    assert stats.kstest(epsilon.ravel() / 4 + 0.5, stats.expon(scale=0.5).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: pp.Gaussian(-1.0), "not negative, got -1.0"),
        (lambda: pp.Gaussian(np.nan), "finite"),
        (lambda: pp.Gaussian([1.0, np.inf]), "at agent 1"),
        (
            lambda: pp.Gaussian("loud"),  # type: ignore[arg-type]
            "number",
        ),
        (lambda: pp.Gaussian(np.ones((2, 2))), "shape"),
        (lambda: pp.Gaussian([]), "shape"),
        (lambda: pp.StudentT(1.0, df=2.0), "df must be .* above 2, got 2.0"),
        (lambda: pp.StudentT(1.0, df=np.nan), "df must be .*, got nan"),
        (lambda: pp.AR1(1.0), "frozen"),
        (lambda: pp.AR1(float("nan")), "above -1 and below 1, got nan"),
        (
            lambda: pp.AR1("a"),  # type: ignore[arg-type]
            "above -1 and below 1, got 'a'",
        ),
        (
            lambda: pp.AR1([0.5]),  # type: ignore[arg-type]
            "above -1 and below 1",
        ),
        (
            lambda: pp.StudentT(1.0, df="a"),  # type: ignore[arg-type]
            "df must be .* above 2, got 'a'",
        ),
        (lambda: pp.Gaussian(1.0, temporal="pink"), "'pink'"),
        (lambda: pp.Gaussian(1.0, time_scale="t.__class__"), "formula"),
        (lambda: pp.noise.Custom(stats.expon()), "centre=True"),
        (lambda: pp.noise.Custom(stats.cauchy()), "finite"),
        (lambda: pp.noise.Custom(stats.norm), "freeze|frozen"),
        (lambda: pp.noise.Custom(stats.t), "freeze|frozen"),
        (lambda: pp.noise.Custom("normal"), "frozen SciPy"),
        (lambda: noise_from_dict({"law": "pink"}), "one of"),
        (lambda: noise_from_dict({**NOISES["custom"].to_dict(), "distribution": "__loader__"}), "scipy.stats"),
    ],
)
def test_bad_noise_is_refused_by_name(make: Any, says: str) -> None:
    with pytest.raises(pp.PeerPressureError, match=f"(?i){says}"):
        make()


def test_a_model_refuses_the_wrong_number_of_deviations() -> None:
    with pytest.raises(pp.errors.ModelError, match="23 agents, got 3"):
        random_model(noise=pp.Gaussian([1.0, 2.0, 3.0]))
