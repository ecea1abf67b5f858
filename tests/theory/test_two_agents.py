"""Two agents: closed forms against the dense recursion, against exact moments, and what was printed."""

from __future__ import annotations

import numpy as np
import pytest

from peerpressure.errors import InvalidInputError
from peerpressure.model import Model
from peerpressure.networks import k2
from peerpressure.noise import Gaussian
from peerpressure.theory import moments, two_agents
from tests.oracles import gram_inverse

SWAP = np.array([[0.0, 1.0], [1.0, 0.0]])


def dense_coefficients(last: int) -> list[np.ndarray]:
    Q = [np.eye(2)]
    for t in range(1, last + 1):
        Q.append((np.eye(2) + t * SWAP @ Q[-1]) / (t + 1))
    return Q


@pytest.mark.parametrize("T", [0, 1, 2, 3, 4, 17, 50, 101])
def test_coefficients_are_those_of_the_recursion(T: int) -> None:
    np.testing.assert_allclose(two_agents.coefficients(T), dense_coefficients(T)[T], rtol=1e-12)


@pytest.mark.parametrize("T", [1, 2, 3, 8, 31])
def test_coefficients_are_the_mean_of_the_model(T: int) -> None:
    x0 = np.array([0.3, -1.2])
    expected = moments(Model(k2(), hidden=x0), T, times=[T]).mean[-1]
    np.testing.assert_allclose(two_agents.coefficients(T) @ x0, expected, rtol=1e-12)


@pytest.mark.parametrize("T", [1, 2, 3, 4, 9, 40, 101])
def test_gram_is_the_sum_over_the_recursion(T: int) -> None:
    dense = sum(Q.T @ Q for Q in dense_coefficients(T)[1:])
    np.testing.assert_allclose(two_agents.gram(T), dense, rtol=1e-12)


@pytest.mark.parametrize("T", [2, 3, 40, 1001])
def test_gram_inverse(T: int) -> None:
    np.testing.assert_allclose(gram_inverse(T) @ two_agents.gram(T), np.eye(2), atol=1e-9)


def test_limits_are_reached() -> None:
    limit = two_agents.gram_inverse_limit()
    np.testing.assert_allclose(limit, 4 / (np.pi**2 - 8) * np.array([[1, -1], [-1, 1]]), rtol=1e-14)
    np.testing.assert_allclose(gram_inverse(10**6), limit, rtol=1e-4)
    assert two_agents.series(2 * 10**6) == pytest.approx(two_agents.series_limit(), abs=2e-7)
    assert two_agents.series_limit() == (np.pi**2 - 8) / 16


def test_printed_gram_counts_too_many_terms_but_has_the_same_limit() -> None:
    excess = two_agents.printed_gram(2) - two_agents.gram(2)
    np.testing.assert_allclose(excess, 2 / 100 * np.array([[1, -1], [-1, 1]]), rtol=1e-12)
    np.testing.assert_allclose(two_agents.printed_gram(10**6) - two_agents.gram(10**6), 0, atol=1e-6)


@pytest.mark.parametrize("T", [1, 2, 3, 4, 25, 100])
@pytest.mark.parametrize("std", [1.0, 0.3])
def test_error_variance_is_exact(T: int, std: float) -> None:
    exact = moments(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(std)), T, times=[T]).variance[-1]
    np.testing.assert_allclose(exact, two_agents.error_variance(T, std), rtol=1e-12)


@pytest.mark.parametrize("T", [1, 2, 3, 4, 25, 100])
def test_printed_error_variances_share_the_true_one(T: int) -> None:
    first, second = two_agents.printed_error_variance(T)
    assert first + second == pytest.approx(two_agents.error_variance(T))
    if T % 2 == 0:
        assert first == second == pytest.approx(T / (2 * (T + 1) ** 2))


@pytest.mark.parametrize("T", [0, -1, 1.5, True, "3"])
def test_illegal_horizons_are_rejected(T: object) -> None:
    names = ("gram", "series", "printed_gram", "error_variance", "printed_error_variance")
    for name in names if T == 0 else (*names, "coefficients"):
        with pytest.raises(InvalidInputError, match="whole number"):
            getattr(two_agents, name)(T)


@pytest.mark.parametrize("std", [-1.0, np.inf, np.nan])
def test_illegal_deviations_are_rejected(std: float) -> None:
    with pytest.raises(InvalidInputError, match="standard deviation"):
        two_agents.error_variance(3, std)
