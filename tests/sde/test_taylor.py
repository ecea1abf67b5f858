"""Taylor steps: their law against the exact one, their stated error, and paths that the engine draws with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.model.step import Array
from peerpressure.sde import SDE, Method, TaylorScheme, euler_moments, moments_at
from peerpressure.sde.transitions import TOLERANCE, resolution, truncation

STEPS = 4


def hubs(n: int, *, pressure: Any = "t", noise: Any = None, **options: Any) -> SDE:
    """Return an equation on a scale-free network, where the gain of hubs falls fast."""
    rng = np.random.default_rng(1)
    network = pp.networks.barabasi_albert(n, 2, seed=1)
    hidden, stubbornness, start = rng.uniform(size=n), rng.uniform(0.5, 1.0, n), rng.uniform(size=n)
    model = pp.Model(network, hidden, stubbornness, pressure=pressure, noise=noise or pp.Gaussian(0.5), start=start)
    return SDE(model, **options)


def law_of_step(sde: SDE, scheme: TaylorScheme, k: int) -> tuple[Array, Array, Array]:
    """Return matrix, shift and covariance of step k, from the response to states and draws one by one."""
    n, A = sde.n, sde.network.adjacency
    F, c, Q = np.eye(n), np.zeros(n), np.zeros((n, n))
    for part in scheme.parts(k):
        # Columns: states, the driven one, and the two draws of each agent.
        start = np.concatenate([np.eye(n), np.zeros((n, 1 + 2 * n))], axis=1)
        current = start
        for j in reversed(range(part.terms)):
            current = start + part.coupling[j][:, None] * (A @ current) - part.length / (j + 1) * current
            current[:, n] += part.drift[j]
            current[:, n + 1 : 2 * n + 1] += np.diag(part.first[j])
            current[:, 2 * n + 1 :] += np.diag(part.second[j])
        M, R = current[:, :n], current[:, n + 1 :]
        F, c, Q = M @ F, M @ c + current[:, n], M @ Q @ M.T + R @ R.T
    return F, c, Q


def moments_of_steps(sde: SDE, steps: int) -> tuple[list[Array], list[Array], float]:
    scheme = TaylorScheme(sde)
    mean, covariance = sde.start_state, np.zeros((sde.n, sde.n))
    means, variances = [], []
    for k in range(1, steps + 1):
        F, c, Q = law_of_step(sde, scheme, k)
        mean, covariance = F @ mean + c, F @ covariance @ F.T + Q
        means.append(mean)
        variances.append(np.diag(covariance))
    return means, variances, scheme.error


def assert_within_its_error(sde: SDE, steps: int = STEPS) -> None:
    exact = moments_at(sde, [sde.time(k) for k in range(1, steps + 1)])
    means, variances, error = moments_of_steps(sde, steps)
    assert error < 2 * TOLERANCE
    span = np.ptp(np.concatenate([sde.x0, sde.start_state]))
    own = sde.deviations > 0
    for mean, variance, true_mean, true_variance in zip(means, variances, exact.mean, exact.variance, strict=True):
        assert np.abs(mean - true_mean).max() < error * span
        scale = np.where(own, true_variance, true_variance.max())
        assert (np.abs(variance - true_variance) <= error * scale).all()


def test_hubs_of_a_large_network_have_their_variance() -> None:
    sde = hubs(120)
    exact = moments_at(sde, [0.5])
    *_, (_, covariance) = euler_moments(replace(sde, method="euler"), 5)
    frozen = np.diag(covariance) / exact.variance[0] - 1
    hub = int(sde.network.degrees.argmax())
    # What a step with the coefficients of its end misses.
    assert np.median(frozen) == pytest.approx(-0.13, abs=0.02)
    assert frozen[hub] == pytest.approx(-0.6, abs=0.05)
    means, variances, error = moments_of_steps(sde, 5)
    assert np.abs(variances[-1] / exact.variance[0] - 1).max() < 5e-5
    assert np.abs(means[-1] - exact.mean[0]).max() < 5e-5
    assert error < 2e-4


CASES: dict[str, tuple[Any, Any, float]] = {
    "fast": ("10^t", pp.Gaussian(0.5), 0.7),
    "root": ("t^0.5", pp.Gaussian(0.5), 0.1),
    "falling": ("1/t", pp.Gaussian(0.5), 0.1),
    "kink": ("abs(t-1)*5", pp.Gaussian(0.5), 0.7),
    "table": (
        pp.schedules.Table([1.0, 5.0, 0.2, 3.0]),
        pp.Gaussian(0.5, time_scale=pp.schedules.Table([1, 3, 2, 1])),
        0.7,
    ),
    "constant": (2.0, pp.Gaussian(0.5), 3.0),
    "huge": ("1000*t", pp.Gaussian(0.5), 0.1),
    "noise without bound at 0": ("t", pp.Gaussian(0.5, time_scale=pp.Power(-0.4)), 0.3),
    "noise without bound and a table": ([1.0, 2.0], pp.Gaussian(0.5, time_scale=pp.Power(-0.4)), 0.3),
    "growing noise": ("t", pp.Gaussian(0.5, time_scale=pp.Power(0.3)), 0.3),
    "one noisy agent": ("t", pp.Gaussian(np.eye(20)[0]), 0.1),
    "some noisy agents": (1.0, pp.Gaussian(np.arange(20.0) % 3), 0.7),
    "none": ("t^2", pp.NoNoise(), 0.5),
}


@pytest.mark.parametrize(
    ("name", "scaling"),
    [*((name, "model") for name in CASES), *((name, "printed") for name in ("fast", "table", "none"))],
)
def test_errors_are_as_stated(name: str, scaling: str) -> None:
    pressure, noise, step = CASES[name]
    assert_within_its_error(hubs(20, pressure=pressure, noise=noise, step=step, scaling=scaling))


@pytest.mark.parametrize("network", [pp.networks.star(30), pp.networks.path(20)], ids=["star", "path"])
def test_errors_are_as_stated_where_eigenvalues_are_largest(network: pp.Network) -> None:
    hidden = np.linspace(0, 1, network.n)
    for pressure in ("t", 100.0):
        assert_within_its_error(SDE(pp.Model(network, hidden, pressure=pressure, noise=pp.Gaussian(1.0)), step=0.5))


def test_parts_are_few_and_follow_the_step() -> None:
    scheme = TaylorScheme(hubs(50))
    assert [len(list(scheme.parts(k))) for k in (1, 20)] == [6, 1]
    for step in (0.01, 0.1, 1.0, 30.0):
        count, terms = resolution(step)
        assert truncation(2 * step / count, terms) <= TOLERANCE / 2
    constant = TaylorScheme(hubs(50, pressure=2.0))
    assert next(iter(constant.parts(1))) is next(iter(constant.parts(7)))


def test_paths_have_the_exact_moments() -> None:
    sde, count = hubs(201), 1_000
    run = pp.simulate(sde, 5, count, seed=3, record="final")
    exact = moments_at(sde, [0.5])
    of_mean = (run.final.public.mean(axis=0) - exact.mean[0]) / np.sqrt(exact.variance[0] / count)
    of_variance = (run.final.public.var(axis=0, ddof=1) / exact.variance[0] - 1) / np.sqrt(2 / count)
    assert np.abs(of_mean).max() < 5
    assert np.abs(of_variance).max() < 5
    assert np.sqrt(np.mean(of_variance**2)) == pytest.approx(1, abs=0.2)
    gap = np.cov(run.final.public.T) - exact.covariance
    error = np.sqrt((np.outer(exact.variance, exact.variance) + exact.covariance**2) / count)
    assert np.abs(gap / error).max() < 6


def test_paths_follow_the_law_of_their_steps() -> None:
    sde = hubs(30, method="taylor", noise=pp.NoNoise())
    run, (means, _, error) = pp.simulate(sde, STEPS), moments_of_steps(sde, STEPS)
    assert run.states is not None
    np.testing.assert_allclose(run.states[0, 1:], means, rtol=1e-12)
    assert run.step_error == error


def test_a_path_depends_on_its_seed_replicate_and_step_only() -> None:
    sde = hubs(40, method="taylor")
    whole = pp.simulate(sde, 6, 21, seed=5)
    assert whole.states is not None
    # Alone in the narrow kernel, in a block of the wide one, with one thread, and resumed within the run.
    for replicates in ([20], [17, 3], range(18)):
        part = pp.simulate(sde, 6, replicates, seed=5, threads=1)
        np.testing.assert_array_equal(part.states, whole.states[list(replicates)])
    half = pp.simulate(sde, 2, 21, seed=5)
    rest = pp.simulate(sde, 4, start=half)
    np.testing.assert_array_equal(rest.final.public, whole.final.public)
    np.testing.assert_array_equal(whole.minimum, whole.states.min(axis=2))
    single = pp.simulate(sde, 6, 21, seed=5, dtype="float32")
    np.testing.assert_allclose(single.final.public, whole.final.public, atol=1e-5)
    assert not np.array_equal(pp.simulate(sde, 6, 21, seed=6).final.public, whole.final.public)


def test_threads_that_share_agents_change_nothing() -> None:
    n = 6_000
    sde = SDE(pp.Model(pp.networks.cycle(n), np.arange(n) / n, noise=pp.Gaussian(1.0)), step=1.0)
    runs = [pp.simulate(sde, 3, 16, threads=threads, record="summaries") for threads in (1, 3)]
    np.testing.assert_array_equal(runs[0].final.public, runs[1].final.public)
    np.testing.assert_array_equal(runs[0].mean, runs[1].mean)


def test_a_run_states_its_method_and_error(tmp_path: Any) -> None:
    sde = hubs(20)
    errors = {}
    methods: list[tuple[Method, str]] = [
        ("exact", "exact steps"),
        ("taylor", "to about 0.01 %"),
        ("euler", "not estimated"),
    ]
    for method, words in methods:
        run = pp.simulate(replace(sde, method=method), 5)
        errors[method] = run.step_error
        assert run.equation is not None
        assert words in run.equation
        assert run.equation in repr(run)
        assert run.provenance().get("step_error") == run.step_error
        run.save(tmp_path / "run.npz")
        assert pp.Trajectory.load(tmp_path / "run.npz").step_error == run.step_error
    assert errors["exact"] == 0
    assert errors["euler"] is None
    assert errors["taylor"] == pytest.approx(1.4e-4, rel=0.1)
    assert pp.simulate(sde.model, 2).step_error is None


def test_the_accelerator_is_refused_with_a_remedy() -> None:
    with pytest.raises(
        pp.errors.InvalidInputError, match=r"taylor paths.*got 'gpu'; use SDE\(\.\.\., method='euler'\)"
    ):
        pp.simulate(hubs(20, method="taylor"), 2, device="gpu")
