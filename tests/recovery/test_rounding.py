"""Standard errors where noise cancels and rounding does not: never certain and wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import peerpressure as pp
from peerpressure.recovery import METHODS, Observation, answers_of, kalman_filter, kalman_smoother, recover

TEMPORAL = ("frozen", "frozen", "white", pp.AR1(0.9999))
NETWORKS = (pp.networks.complete, pp.networks.path, pp.networks.star, pp.networks.cycle)


@pytest.mark.parametrize("method", ["kalman", "gls"])
@pytest.mark.parametrize("steps", [8, 12, 100])
@pytest.mark.parametrize("seed", range(2))
def test_a_frozen_mask_seen_through_one_agent_is_not_undone_beyond_rounding(method: str, steps: int, seed: int) -> None:
    # Twelve outputs determine six opinions and six masks on paper, with a condition number beyond double precision.
    rng = np.random.default_rng(seed)
    model = pp.Model(
        pp.networks.complete(6),
        hidden=rng.random(6),
        stubbornness=rng.uniform(0.5, 1, 6),
        noise=pp.Gaussian(1.0, temporal="frozen"),
        adaptation=0.1,
    )
    estimate = recover(pp.simulate(model, steps, seed=seed), model, method, Observation(agents=[0]))
    known = estimate.identified
    assert (np.abs(estimate.residuals()[0, known]) <= 6 * estimate.std[known]).all()


@pytest.mark.parametrize("follow", [kalman_filter, kalman_smoother])
def test_beliefs_over_time_know_their_rounding_errors(follow: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    model = pp.Model(
        pp.networks.complete(6), hidden=rng.random(6), noise=pp.Gaussian(1.0, temporal="frozen"), adaptation=0.1
    )
    run = pp.simulate(model, 40, replicates=2, seed=0)
    path = follow(answers_of(run, model, Observation(agents=[0])), model)
    assert path.hidden.mean.shape == (2, 41, 6)
    off = np.abs(path.hidden.mean[0] - model.x0)
    assert (off[path.hidden.identified] <= 6 * path.hidden.std[path.hidden.identified]).all()


# Views through which a frozen mask is seen, with exact facts that hardly differ: n, seen, slope, adaptation and steps.
ILL_CONDITIONED = ((5, (1, 3, 4), 1.0, 0.1, 30), (6, (0, 1, 5), 0.01, 1e-3, 100), (6, (0,), 1.0, 0.1, 12))


@pytest.mark.parametrize("follow", [kalman_filter, kalman_smoother])
@pytest.mark.parametrize(("n", "seen", "slope", "rate", "steps"), ILL_CONDITIONED)
def test_public_and_current_opinions_behind_a_frozen_mask_are_never_certain_and_wrong(
    n: int, seen: tuple[int, ...], slope: float, rate: float, steps: int, follow: Callable[..., Any]
) -> None:
    rng = np.random.default_rng(n)
    network = pp.networks.star(n) if slope < 1 else pp.networks.complete(n)
    noise = pp.Gaussian(10.0, temporal="frozen")
    model = pp.Model(
        network, 100 * rng.random(n), pressure=pp.Linear(slope), noise=noise, start=np.zeros(n), adaptation=rate
    )
    run, look = pp.simulate(model, steps, seed=3), Observation(agents=seen)
    assert run.states is not None
    assert run.final.hidden is not None
    path = follow(answers_of(run, model, look), model)
    known, slack = path.public.identified, 1e-9 * np.abs(run.states).max()
    assert (np.abs(path.public.mean[0] - run.states[0])[known] <= 6 * path.public.std[known] + slack).all()
    assert known[1:, seen].all()
    np.testing.assert_array_equal(path.public.mean[0, 1:, seen], run.states[0, 1:, seen])
    current = recover(run, model, "kalman", look, target="current")
    who = current.identified
    assert (np.abs(current.residuals(run.final.hidden)[0, who]) <= 6 * current.std[who] + slack).all()


@pytest.mark.parametrize("method", ["kalman", "gls"])
def test_a_frozen_mask_is_undone_as_far_as_double_precision_goes(method: str) -> None:
    # Conditioning in 70 digits: the leaves 1 and 5 are determined with an amplification of rounding of some hundreds,
    # the hub with one of 10⁴, and the three unseen leaves only as a sum.
    rng = np.random.default_rng(1)
    noise = pp.Gaussian(10.0, temporal="frozen")
    model = pp.Model(
        pp.networks.star(6),
        100 + rng.random(6),
        pressure=pp.Linear(0.01),
        noise=noise,
        start=np.zeros(6),
        adaptation=1e-3,
    )
    run = pp.simulate(model, 100, seed=1)
    estimate = recover(run, model, method, Observation(agents=[0, 1, 5]))
    np.testing.assert_array_equal(estimate.identified, [True, True, False, False, False, True])
    assert (np.abs(estimate.residuals()[0, [0, 1, 5]]) < 1e-6).all()
    assert (estimate.std[[0, 1, 5]] < 1e-6).all()
    assert np.isinf(estimate.condition)


def test_the_condition_counts_exact_facts() -> None:
    hidden = np.linspace(0.1, 0.9, 5)
    model = pp.Model(pp.networks.path(5), hidden, noise=pp.NoNoise(), start=np.zeros(5), pressure=1.0)
    run = pp.simulate(model, 5)
    everyone, one = (recover(run, model, "kalman", Observation(agents=agents)) for agents in (range(5), [0]))
    # With outputs of 0 to 4 moved to the other side, rows of one agent are those of g and of powers of C.
    gain, C = model.update(1).gain, model.update(1).coupling.toarray()
    kept = np.eye(5)
    kept[0] = 0.0
    rows, slope = [], np.zeros((5, 5))
    for _ in range(5):
        slope = np.diag(gain) + C @ kept @ slope
        rows.append(slope[0] / np.linalg.norm(slope[0]))
    assert one.condition == pytest.approx(np.linalg.cond(np.array(rows)) ** 2, rel=1e-6)
    assert everyone.condition == pytest.approx(1.0)
    assert (np.abs(one.residuals()[0]) <= 6 * one.std).all()


def random_case(rng: np.random.Generator, case: int) -> tuple[pp.Model, pp.Trajectory, Observation | None]:
    n = int(rng.integers(3, 8))
    model = pp.Model(
        NETWORKS[rng.integers(len(NETWORKS))](n),
        hidden=10.0 ** rng.integers(-3, 4) * rng.random(n),
        stubbornness=rng.uniform(0.2, 2, n),
        pressure=(pp.Linear(), pp.Constant(1.0), pp.Power(1.5), pp.Linear(0.01))[rng.integers(4)],
        noise=pp.Gaussian(float(10.0 ** rng.integers(-4, 2)), temporal=TEMPORAL[rng.integers(len(TEMPORAL))]),
        adaptation=(None, 0.1, 1e-3)[rng.integers(3)],
        start="hidden" if rng.random() < 0.6 else np.zeros(n),
    )
    run = pp.simulate(model, int(rng.choice([2, 4, 8, 16, 40])), seed=case)
    seen = sorted(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist())
    return model, run, None if len(seen) == n else Observation(agents=seen)


@cache
def random_cases() -> list[tuple[pp.Model, pp.Trajectory, Observation | None]]:
    rng = np.random.default_rng(11)
    return [random_case(rng, case) for case in range(30)]


@pytest.mark.parametrize("method", [name for name in METHODS if name != "likelihood"])
def test_errors_stay_within_what_an_estimate_says_of_itself(method: str) -> None:
    compared = 0
    for case, (model, run, look) in enumerate(random_cases()):
        try:
            estimate = recover(run, model, method, look)
        except pp.PeerPressureError:
            continue  # this method does not take this view
        known = estimate.identified
        errors = np.abs(estimate.residuals()[0, known])
        # A share of 1e-7 in an unidentified direction still counts as identified.
        assert (errors <= 6 * estimate.std[known] + 1e-7 * np.abs(model.x0).max()).all(), (case, model)
        compared += int(known.sum())
    assert compared > 25


def test_the_rounding_of_single_precision_is_counted() -> None:
    model = pp.Model(pp.networks.path(4), hidden=[0.1, 0.5, 0.7, 0.2], noise=pp.NoNoise())
    double, single = (pp.simulate(model, 30, dtype=dtype) for dtype in (np.float64, np.float32))
    look = Observation(agents=[0])
    fine, coarse = (recover(run, model, "kalman", look) for run in (double, single))
    assert (np.abs(coarse.residuals()[0]) <= 6 * coarse.std).all()
    assert (np.abs(fine.residuals()[0]) <= 6 * fine.std).all()
    assert (coarse.std[1:] > 1e6 * fine.std[1:]).all()


@pytest.mark.parametrize("method", ["innovations", "ols", "wls", "gls", "kalman", "snapshot"])
def test_everything_but_rounding_is_what_the_method_itself_says(method: str) -> None:
    model = pp.Model(pp.networks.star(5), hidden=np.linspace(0, 1, 5), noise=pp.Gaussian(0.5))
    run = pp.simulate(model, 20, replicates=2, seed=1)
    estimate, direct = recover(run, model, method), METHODS[method].estimate(model, answers_of(run, model), None)
    np.testing.assert_allclose(estimate.value, direct.value, rtol=0, atol=1e-12)
    for name in ("covariance", "homoskedastic_covariance", "rank", "condition", "identified"):
        found, expected = (getattr(one, name) for one in (estimate, direct))
        if expected is not None:
            np.testing.assert_allclose(dense(found), dense(expected), rtol=1e-9)


def dense(value: Any) -> Any:
    """Return a covariance of any kind as an array, and everything else as it is."""
    return value @ np.eye(5) if hasattr(value, "__matmul__") and np.ndim(value) != 1 else np.asarray(value)


def test_a_large_network_without_noise_keeps_a_sparse_covariance() -> None:
    n = 5_000
    hidden = np.random.default_rng(0).random(n)
    model = pp.Model(pp.networks.cycle(n), hidden=hidden, noise=pp.NoNoise(), start=np.zeros(n))
    estimate = recover(pp.simulate(model, 5), model)
    # A dense one would grow with the square of the agents.
    assert sparse.issparse(estimate.covariance)
    assert (estimate.std > 0).all()
    assert (np.abs(estimate.residuals()[0]) <= 6 * estimate.std).all()


@pytest.mark.parametrize("n", [20, 310])
def test_ordinary_estimates_keep_their_exact_covariance(n: int) -> None:
    model = pp.Model(pp.networks.barabasi_albert(n, 2, seed=1), hidden=np.linspace(0, 1, n), noise=pp.Gaussian(0.5))
    run = pp.simulate(model, 20, replicates=3, seed=1)
    estimate: Any = recover(run, model)
    direct = METHODS["innovations"].estimate(model, answers_of(run, model), None)
    np.testing.assert_array_equal(estimate.variance, direct.variance)
    np.testing.assert_allclose(estimate.value, direct.value, rtol=0, atol=1e-12)
    assert estimate.value.shape == (3, n)
