"""One conformance suite for every noise, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.noise import LAWS, _quantiles, noise_from_dict
from tests.builders import NOISES, random_model

REPLICATES = 4000
untyped: Any = pp  # for arguments of the wrong type


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
        (lambda: pp.Gaussian([1.0, np.inf]), "at agent 1"),
        (lambda: untyped.Gaussian("loud"), "number"),
        (lambda: pp.Gaussian(np.ones((2, 2))), "shape"),
        (lambda: pp.Gaussian([]), "shape"),
        (lambda: pp.StudentT(1.0, df=np.nan), "df must be .*, got nan"),
        (lambda: untyped.StudentT(1.0, df="a"), "df must be .* above 2, got 'a'"),
        (lambda: pp.AR1(1.0), "frozen"),
        (lambda: pp.AR1(float("nan")), "above -1 and below 1, got nan"),
        (lambda: untyped.AR1("a"), "above -1 and below 1, got 'a'"),
        (lambda: untyped.AR1([0.5]), "above -1 and below 1"),
        (lambda: pp.Gaussian(1.0, temporal="pink"), "'pink'"),
        (lambda: pp.Gaussian(1.0, time_scale="t.__class__"), "formula"),
        (lambda: pp.noise.Custom(stats.expon()), "centre=True"),
        (lambda: pp.noise.Custom(stats.cauchy()), "finite"),
        (lambda: pp.noise.Custom(stats.norm), "freeze|frozen"),
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


def _by_density(base: Any) -> Any:
    """Return the same law given by its density alone."""

    class Density(stats.rv_continuous):  # type: ignore[misc]
        def _pdf(self, x: Any) -> Any:
            return base.pdf(x)

    low, high = base.support()
    return Density(a=low, b=high, name="density")()


DENSITIES = {
    "normal": stats.norm(),
    "away from 0": stats.norm(100.0, 0.1),
    "heavy tails": stats.t(2.5),
    "kink": stats.laplace(),
    "jump": stats.expon(),
    "bounded": stats.uniform(-1, 2),
    "poles at both ends": stats.beta(0.5, 0.5),
    "pole": stats.gamma(0.3),
    "triangle": stats.triang(0.3),
    "flat top": stats.gennorm(8),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_quantiles_of_a_density_are_accurate_into_the_tails_and_never_fall(name: str) -> None:
    base = DENSITIES[name]
    noise = pp.noise.Custom(_by_density(base), centre=True)
    tail = 10.0 ** -np.arange(2.0, 16.0, 0.37)
    shares = np.concatenate([tail[::-1], np.linspace(0.01, 0.99, 997), 1 - tail[tail > 1e-9]])
    drawn = noise.unit_quantiles(shares)
    exact = (base.ppf(shares) - base.mean()) / base.std()
    # SciPy integrates mean and deviation of a density with errors of its own.
    own_mean, own_std = noise._moments
    drawn = (drawn * own_std + own_mean - base.mean()) / base.std()
    assert (np.abs(drawn - exact) <= 1e-7 * (1 + np.abs(exact))).all()
    dense = noise.unit_quantiles(np.sort(np.random.default_rng(1).random(20_000)))
    assert (np.diff(dense) >= 0).all()
    assert np.isfinite(noise.unit_quantiles(np.array([0.0, 1.0]))).all()


def test_a_law_with_quantiles_of_its_own_keeps_them() -> None:
    shares = np.linspace(0.01, 0.99, 9)
    law = stats.logistic(scale=0.2)
    np.testing.assert_array_equal(pp.noise.Custom(law)._quantiles(shares), law.ppf(shares))


def test_draws_from_a_density_are_fast() -> None:
    class Raised(stats.rv_continuous):  # type: ignore[misc]
        calls = 0

        def _pdf(self, x: Any) -> Any:
            Raised.calls += 1
            return (1 + np.cos(x)) / (2 * np.pi)

    noise = pp.noise.Custom(Raised(a=-np.pi, b=np.pi, name="raised")())
    before = Raised.calls
    first = noise.unit_quantiles(np.random.default_rng(1).random((100, 100)))
    # SciPy's own search calls the density some thousand times for a single draw.
    assert Raised.calls - before < 100
    np.testing.assert_array_equal(noise.unit_quantiles(np.random.default_rng(1).random((100, 100))), first)


def test_densities_that_give_no_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Half(stats.rv_continuous):  # type: ignore[misc]
        def _pdf(self, x: Any) -> Any:
            return 0.5 * stats.norm.pdf(x)

        def _stats(self) -> Any:
            return 0.0, 1.0, 0.0, 0.0

    with pytest.raises(pp.errors.NoiseError, match=r"a density must have the integral 1, got 0\.5; divide it"):
        pp.noise.Custom(Half(name="half")()).unit_quantiles(np.array([0.5]))
    monkeypatch.setattr(_quantiles, "ACCURACY", 1e-16)
    with pytest.raises(pp.errors.NoiseError, match=r"smooth enough for quantiles .* give the distribution a _ppf"):
        pp.noise.Custom(_by_density(stats.laplace())).unit_quantiles(np.array([0.5]))
