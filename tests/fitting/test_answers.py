"""Answers as people give them: grids that nobody declared, rounding, measurement noise and ordered scales."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.errors import InvalidInputError, TooLargeError
from peerpressure.fitting import fit
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._answers import interval
from peerpressure.fitting._fit import _answer_problems
from peerpressure.fitting._latent_path import LatentPath, first_opinions, log_density, smoothed
from peerpressure.recovery import Observation, answers_of, recover

CONSTANT = ("std", "pressure")


def panel(points: int = 5, n: int = 10, **parts: Any) -> pp.Model:
    """Return a model of opinions on a scale from 1 to a number of points."""
    hidden = 1 + (points - 1) * np.random.default_rng(0).uniform(0.2, 0.8, n)
    given: dict[str, Any] = {"noise": pp.Gaussian(0.3 * (points - 1)), "pressure": 0.5} | parts
    return pp.Model(pp.networks.barabasi_albert(n, 2, seed=1), hidden, **given)


def answered(model: pp.Model, points: int, steps: int, seed: int) -> pp.Trajectory:
    run = pp.simulate(model, steps, seed=seed)
    return replace(run, states=np.clip(np.rint(np.asarray(run.states)), 1, points))


def noisy(model: pp.Model, steps: int, seed: int, r: float) -> pp.Trajectory:
    run = pp.simulate(model, steps, seed=seed)
    states = np.asarray(run.states)
    return replace(run, states=states + r * np.random.default_rng(seed).normal(size=states.shape))


# A grid that was not declared.


@pytest.mark.parametrize("std", [1.2, 1e4])
def test_a_fit_to_answers_on_a_scale_is_not_called_identified(std: float) -> None:
    # The std of the model is unknown and must not decide how much harm the grid does.
    model = panel(noise=pp.Gaussian(std))
    found = fit(answered(panel(), 5, 50, 1), model, CONSTANT, pieces=(1,))
    assert not found.identifiable.any()
    assert not any(p.identified.any() for p in found.parameters.values())
    assert "grid of spacing 1" in found.notes[0]
    for remedy in ("a rounding of 1", "point of a scale", "measurement noise"):
        assert remedy in found.notes[0]


def test_decimals_that_hardly_matter_are_mentioned_and_identified() -> None:
    model = panel(2)
    run = pp.simulate(model, 50, seed=1)
    found = fit(replace(run, states=np.round(np.asarray(run.states), 2)), model, CONSTANT, pieces=(1,))
    assert found.identifiable.all()
    assert all(p.identified.dtype == bool for p in found.parameters.values())
    assert "grid of spacing 0.01" in found.notes[0]
    assert "a little" in found.notes[0]


def test_exact_outputs_have_no_remark() -> None:
    model = panel()
    assert fit(pp.simulate(model, 50, seed=1), model, CONSTANT, pieces=(1,)).notes == ()


# The linear algebra, beside dense matrices.


def problem_of(model: pp.Model, data: pp.Trajectory, look: Observation, unknown: tuple[str, ...]) -> AnswerLikelihood:
    return _answer_problems(model, answers_of(data, model, look), unknown, (1,))[0][1]


def dense(path: LatentPath) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and covariance of all states of the first point, z_0 to z_T, from the recursion itself."""
    states, steps = path.mean.shape[1], path.gain.shape[1]
    mean, roots = [path.mean[0]], [path.covariance[0]]
    transition = path.moved(slice(None), np.broadcast_to(np.eye(states), (len(path.mean), 1, states, states)))[0]
    for t in range(steps):
        G = np.concatenate([np.diag(part[0, t]) for part in path.fresh])
        mean.append(transition[t] @ mean[-1])
        roots.append(G @ G.T)
    A = np.zeros(((steps + 1) * states,) * 2)
    for i, j in product(range(steps + 1), range(steps + 1)):
        if j <= i:
            block = np.eye(states)
            for t in range(j, i):
                block = transition[t] @ block
            A[i * states : (i + 1) * states, j * states : (j + 1) * states] = block
    Q = np.zeros_like(A)
    for t, root in enumerate(roots):
        Q[t * states : (t + 1) * states, t * states : (t + 1) * states] = root
    return np.concatenate(mean), A @ Q @ A.T


VARIANTS: dict[str, dict[str, Any]] = {
    "hidden start": {},
    "public start": {"start": np.linspace(1, 5, 4)},
    "adaptation": {"adaptation": 0.2},
    "AR(1)": {"noise": pp.Gaussian(1.2, temporal=pp.AR1(0.6))},
    "temporal": {},
    "many agents": {},
}


@pytest.mark.parametrize("name", VARIANTS)
def test_filter_and_smoother_are_those_of_the_dense_law(name: str) -> None:
    model = panel(n=4, **VARIANTS[name])
    if name == "temporal":
        graphs = [model.network, pp.networks.cycle(4), pp.networks.path(4)]
        model = pp.Model(pp.TemporalNetwork.from_snapshots(graphs), model.x0, pressure=0.5, noise=model.noise)
    if name == "many agents":
        # Their products are left to BLAS.
        model = pp.Model(pp.networks.complete(48), np.linspace(1, 5, 48), pressure=0.5, noise=model.noise)
    data = noisy(model, 4, 1, 0.5)
    states = np.array(data.states)
    states[0, 2, 1] = states[0, 4, 3] = np.nan
    problem = problem_of(model, replace(data, states=states), Observation(), ("std", "measurement_noise"))
    points = np.log([[0.5, 0.4, 1.1], [0.2, 0.7, 0.8]])
    path = problem.path(points)
    seen = problem.answers.as_numbers(np.exp(2 * points[:, 0]))
    height, posterior = smoothed(path, seen)
    assert log_density(path, seen) == pytest.approx(height)
    # Opinions are kept apart in units of the noise: a factor τ alone would make all pressure look stronger.
    log_ratio = points[:, problem.names.index("spread")] - points[:, problem.names.index("std")]
    assert problem.evidence(points)[0] == pytest.approx(height + log_ratio)
    mean, spread = dense(path)
    states_, n = path.mean.shape[1], model.n
    place = np.array([t * states_ + i for t, i in zip(*np.nonzero(seen.present), strict=True)])
    S = spread[np.ix_(place, place)] + 0.25 * np.eye(place.size)
    error = seen.value[0][seen.present] - mean[place]
    expected = -0.5 * (error @ np.linalg.solve(S, error) + np.linalg.slogdet(2 * np.pi * S)[1])
    assert height[0] == pytest.approx(expected)
    K = np.linalg.solve(S, spread[place]).T
    means, variances = mean + K @ error, spread - K @ spread[place]
    public = np.array([[t * states_ + i for i in range(n)] for t in range(5)])
    hidden = np.arange(n, 2 * n)
    assert posterior.mean[0] == pytest.approx(means[public])
    assert posterior.variance[0] == pytest.approx(np.diagonal(variances)[public])
    opinions, covariance = first_opinions(path, seen)
    assert opinions[0] == pytest.approx(means[hidden])
    assert covariance[0] == pytest.approx(variances[np.ix_(hidden, hidden)])


def test_rounding_errors_larger_than_the_noise_leave_no_density() -> None:
    model = panel(n=4)
    problem = problem_of(model, noisy(model, 4, 1, 0.5), Observation(), ("std", "measurement_noise"))
    points = np.log([[0.5, 0.4, 1.1], [0.5, 0.4, 1.1]])
    path = problem.path(points)
    broken = path.covariance.copy()
    broken[1] *= -1
    seen = problem.answers.as_numbers(np.exp(2 * points[:, 0]))
    height, posterior = smoothed(replace(path, covariance=broken), seen)
    assert height[0] == pytest.approx(log_density(path, seen)[0])
    assert height[1] == -np.inf
    assert np.isfinite(posterior.mean[0]).all()


@pytest.mark.parametrize("name", ["hidden start", "adaptation", "AR(1)"])
def test_the_path_is_that_of_the_model(name: str) -> None:
    model = panel(n=4, **VARIANTS[name])
    problem = problem_of(model, noisy(model, 3, 1, 0.5), Observation(rounding=0.1), ("std",))
    spread = 1e-9
    path = problem.path(np.log([[spread, float(np.mean(model.noise.std))]]))
    exact = pp.theory.moments(model, 3)
    # Given x₀, which the prior of the fit leaves open.
    path = replace(path, mean=np.concatenate([model.x0, model.x0, np.zeros(path.mean.shape[1] - 8)])[None])
    start = np.zeros_like(path.covariance)
    start[:, 8:, 8:] = path.covariance[:, 8:, 8:]
    mean, covariance = dense(replace(path, covariance=start))
    states = path.mean.shape[1]
    for t in range(1, 4):
        at = slice(t * states, t * states + 4)
        assert mean[at] == pytest.approx(exact.mean[t])
        assert np.diagonal(covariance)[at] == pytest.approx(exact.variance[t])


def brute_force(
    path: LatentPath, low: NDArray[np.float64], high: NDArray[np.float64], noise: float
) -> tuple[float, NDArray[np.float64]]:
    """Return log P(answers) and E x₀ of two agents and two steps, by Gauss–Legendre on the four public opinions."""
    mean, spread = dense(path)
    states = path.mean.shape[1]
    place = np.array([states, states + 1, 2 * states, 2 * states + 1])
    S = spread[np.ix_(place, place)] + noise * np.eye(4)
    nodes, weights = np.polynomial.legendre.leggauss(28)
    reach = 9 * np.sqrt(np.diagonal(S))
    ends = [(max(a, m - r), min(b, m + r)) for a, b, m, r in zip(low, high, mean[place], reach, strict=True)]
    grids = [(a + b) / 2 + (b - a) / 2 * nodes for a, b in ends]
    scale = np.prod([(b - a) / 2 for a, b in ends])
    y = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, 4) - mean[place]
    w = np.prod(np.stack(np.meshgrid(*[weights] * 4, indexing="ij"), axis=-1).reshape(-1, 4), axis=1)
    density = np.exp(-0.5 * np.einsum("ki,ij,kj->k", y, np.linalg.inv(S), y)) / np.sqrt(np.linalg.det(2 * np.pi * S))
    p = float(scale * (w * density).sum())
    average = scale * (w * density) @ y / p
    gain = np.asarray(spread[[2, 3]][:, place], dtype=np.float64)
    return float(np.log(p)), mean[2:4] + gain @ np.linalg.solve(S, average)


@pytest.mark.parametrize("answers", [[[2, 4], [3, 3]], [[1, 5], [2, 4]], [[5, 5], [5, 1]]])
@pytest.mark.parametrize("noise", [0.0, 0.4])
def test_ordered_answers_have_the_law_of_numerical_integration(answers: list[list[float]], noise: float) -> None:
    model = pp.Model(pp.networks.k2(), [2.0, 4.0], noise=pp.Gaussian(0.8), pressure=0.5)
    run = pp.simulate(model, 2, seed=1)
    states = np.array(run.states)
    states[0, 1:] = answers
    names = ("std",) + (("measurement_noise",) if noise else ())
    problem = problem_of(model, replace(run, states=states), Observation(scale=(1, 5)), names)
    point = np.log([[noise, 1.0, 0.8]] if noise else [[1.0, 0.8]])
    height, sites = problem.evidence(point)
    low, high = (end[1:].ravel() for end in problem.answers.cuts)
    expected, opinions = brute_force(problem.path(point), low, high, noise**2)
    # The factor τ/σ is that of the estimate.
    assert height[0] == pytest.approx(expected - np.log(0.8), abs=0.01)
    assert problem.posteriors(point, sites)[1][0] == pytest.approx(opinions, abs=0.02)


@pytest.mark.parametrize("std", [0.05, 0.2])
def test_many_answers_that_say_the_same_settle(std: float) -> None:
    model = pp.Model(pp.networks.k2(), [1.8, 4.4], noise=pp.Gaussian(std), pressure=0.5)
    run = pp.simulate(model, 15, seed=1)
    states = np.array(run.states)
    states[0, 1:] = [3, 4]
    problem = problem_of(model, replace(run, states=states), Observation(scale=(1, 5)), ("std",))
    height, _ = problem.evidence(np.log([[1.0, std]]))
    # The share of draws from the model that give these answers, and its standard error.
    rng, (middle, reach), (low, high) = np.random.default_rng(1), (3.5, 4.0), problem.answers.cuts
    x = middle + reach * rng.normal(size=(100_000, 1)) + rng.normal(size=(100_000, 2))
    y, same = x, np.ones(len(x), dtype=bool)
    for t in range(1, 16):
        y = (x + std * rng.normal(size=x.shape) + 0.5 * y[:, ::-1]) / 1.5
        same &= ((y > low[t]) & (y < high[t])).all(axis=1)
    share = same.mean()
    # Expectation propagation is off by half a unit here, where noise hardly moves answers.
    assert height[0] == pytest.approx(np.log(share) - np.log(std), abs=0.6 + 4 / np.sqrt(share * len(x)))


@pytest.mark.parametrize("name", VARIANTS)
@pytest.mark.parametrize("answers", [0, 5])
def test_derivatives_of_the_height_are_those_of_differences(name: str, answers: int) -> None:
    model = panel(n=5, **VARIANTS[name] | ({"start": np.linspace(1, 5, 5)} if name == "public start" else {}))
    names, z = [*CONSTANT, "measurement_noise"], [0.4, 0.3, 1.0, 1.1]
    if name == "adaptation":
        names, z = [*names, "adaptation"], [0.4, 0.5, 0.3, 1.0, 1.1]
    if name == "AR(1)":
        names, z = [*names, "autocorrelation"], [0.4, 0.5, 0.3, 1.0, 1.1]
    data = answered(model, 5, 12, 1) if answers else noisy(model, 12, 1, 0.5)
    states = np.array(data.states)
    states[0, 3] = states[0, 5, 2] = np.nan
    look = Observation(scale=(1, 5)) if answers else Observation()
    problem = problem_of(model, replace(data, states=states), look, tuple(names))
    centre = np.log(z)
    points = np.array([centre, centre + 0.1])
    _, sites = problem.evidence(points)
    gradients = problem.gradients(points, sites)
    for k, move in enumerate(1e-3 * np.eye(centre.size)):
        up, down = (problem.evidence(points + side * move)[0] for side in (1, -1))
        assert gradients[:, k] == pytest.approx((up - down) / 2e-3, rel=1e-3, abs=1e-3)


def test_probabilities_of_intervals_keep_their_digits_in_the_tails() -> None:
    from scipy import integrate, stats

    mean, variance = np.array([0.0, 0.0, 0.0, 3.0]), np.array([1.0, 4.0, 1.0, 0.25])
    low, high = np.array([-0.5, -np.inf, 12.0, 2.0]), np.array([0.7, 1.0, 13.0, np.inf])
    log_p, slope, bend = interval(mean, variance, low, high)
    for k in range(4):
        law = stats.norm(mean[k], np.sqrt(variance[k]))
        p = integrate.quad(law.pdf, max(low[k], -40), min(high[k], 40), epsabs=0)[0]
        assert log_p[k] == pytest.approx(np.log(p), abs=1e-8)
    step = 1e-4
    up, middle, down = (interval(mean + side * step, variance, low, high)[0] for side in (1, 0, -1))
    assert slope == pytest.approx((up - down) / (2 * step), abs=1e-5)
    assert bend == pytest.approx((up - 2 * middle + down) / step**2, abs=1e-4)


# Fits.


def covers(parameter: Any, truth: float) -> bool:
    return bool(parameter.low.ravel()[0] <= truth <= parameter.high.ravel()[0])


def test_measurement_noise_of_unknown_size() -> None:
    model, r = panel(2), 0.1
    unknown = (*CONSTANT, "measurement_noise")
    run = noisy(model, 50, 1, r)
    ignored = fit(run, model, CONSTANT, pieces=(1,)).parameters["pressure"]
    assert not covers(ignored, 0.5)
    found = fit(run, model, unknown, pieces=(1,))
    p = found.parameters
    assert covers(p["pressure"], 0.5)
    assert covers(p["measurement_noise"], r)
    assert covers(p["std"], 0.3)
    assert p["measurement_noise"].value[0] == pytest.approx(r, rel=0.3)
    assert (np.abs(found.hidden.value - model.x0) < 3.5 * found.hidden.std).all()


def test_the_same_answers_have_the_same_fit_to_the_last_bit() -> None:
    model = panel(2, 5)
    run = noisy(model, 15, 1, 0.1)
    found, again = (fit(run, model, ("std", "measurement_noise")) for _ in range(2))
    for name, parameter in found.parameters.items():
        assert np.array_equal(again.parameters[name].low, parameter.low)
    assert np.array_equal(again.hidden.value, found.hidden.value)


def test_opinions_reach_as_far_as_uncertain_pressure_takes_them() -> None:
    """With pressure estimated far too low, hidden opinions seem closer together than they are, by an unknown factor."""
    inside, network = [], pp.networks.barabasi_albert(10, 2, seed=1)
    for seed in (2, 7):
        rng = np.random.default_rng([seed, 34])
        model = pp.Model(network, rng.uniform(0.2, 0.8, 10), noise=pp.Gaussian(0.3), pressure=0.5)
        run = pp.simulate(model, 50, seed=seed)
        assert run.states is not None
        states = run.states + 0.05 * rng.normal(size=run.states.shape)
        found = fit(replace(run, states=states), model, ("std", "pressure", "measurement_noise"), pieces=(1,))
        assert found.parameters["pressure"].value.item() < 0.4
        assert covers(found.parameters["pressure"], 0.5)
        hidden = found.hidden
        assert (hidden.low < hidden.value).all()
        assert (hidden.high > hidden.value).all()
        inside.append((hidden.low <= model.x0) & (model.x0 <= hidden.high))
    # By one standard error at the estimate, 13 of 20.
    assert np.sum(inside) >= 17


def test_without_measurement_noise_its_interval_begins_at_zero() -> None:
    model = panel(2, 6)
    found = fit(pp.simulate(model, 30, seed=2), model, ("std", "measurement_noise"))
    noise = found.parameters["measurement_noise"]
    assert noise.low[0] == 0
    assert noise.high[0] < 0.2
    assert noise.identified.all()


def test_the_search_for_an_end_forgets_points_far_outside() -> None:
    # The likelihood is flat in log r below the estimate, so the first step beyond the end is far out.
    rng = np.random.default_rng([6, 34])
    model = replace(panel(2), hidden=rng.uniform(0.2, 0.8, 10))
    run = pp.simulate(model, 50, seed=6)
    states = np.asarray(run.states)
    run = replace(run, states=states + 0.05 * rng.normal(size=states.shape))
    found = fit(run, model, (*CONSTANT, "measurement_noise"), pieces=(1,)).parameters["measurement_noise"]
    assert found.low[0] == 0
    assert found.high[0] == pytest.approx(0.0625, rel=0.05)


def test_declared_rounding_enters_the_likelihood() -> None:
    model = panel(5)
    run = answered(panel(5, noise=pp.Gaussian(1.2)), 9, 50, 3)
    found = fit(run, model, CONSTANT, pieces=(1,), observation=Observation(rounding=1))
    assert covers(found.parameters["pressure"], 0.5)
    assert covers(found.parameters["std"], 1.2)
    assert not any("grid" in note for note in found.notes)


def test_gaps_and_parts_of_agents_are_no_obstacle() -> None:
    model = panel(n=6)
    run = answered(model, 5, 30, 1)
    states = np.array(run.states)
    states[0, np.arange(3, 31, 3), 2] = np.nan
    states[0, 12] = np.nan
    look = Observation(scale=(1, 5), agents=[0, 1, 2, 3, 4])
    found = fit(replace(run, states=states), model, ("std",), observation=look)
    assert covers(found.parameters["std"], 1.2)
    # Of somebody who never answered, only what people are like is known.
    assert found.hidden.std[0, 5] > 1.2 * found.hidden.std[0, :5].max()


def test_a_start_that_is_rounded_says_something_of_opinions() -> None:
    model = panel(n=6)
    run = answered(model, 5, 10, 1)
    with_start, without = (
        fit(run, model, ("std",), observation=Observation(scale=(1, 5), sees_start=seen)) for seen in (True, False)
    )
    assert (with_start.hidden.std < without.hidden.std).all()


@pytest.mark.parametrize("unknown", ["slope", "exponent", "adaptation", "autocorrelation"])
def test_every_shared_parameter_can_be_unknown(unknown: str) -> None:
    parts: dict[str, dict[str, Any]] = {
        "slope": {"pressure": pp.Linear(0.2)},
        "exponent": {"pressure": pp.Power(0.5, 0.5)},
        "adaptation": {"adaptation": 0.1},
        "autocorrelation": {"noise": pp.Gaussian(1.2, temporal=pp.AR1(0.5))},
    }
    truth = {"slope": 0.2, "exponent": 0.5, "adaptation": 0.1, "autocorrelation": 0.5}[unknown]
    model = panel(n=6, **parts[unknown])
    found = fit(answered(model, 5, 30, 2), model, (unknown,), observation=Observation(scale=(1, 5)))
    assert covers(found.parameters[unknown], truth)


def test_intervals_from_ordered_answers_cover() -> None:
    pressure, opinions = [], []
    for seed, points in enumerate((5, 7, 5, 7, 5, 7)):
        # Intervals of opinions hold for people as they are drawn, not for the same people again and again.
        hidden = 1 + (points - 1) * np.random.default_rng(seed).uniform(0.2, 0.8, 8)
        model = replace(panel(points, 8), hidden=hidden)
        data = answered(model, points, 30, 10 + seed)
        found = fit(data, model, CONSTANT, pieces=(1,), observation=Observation(scale=(1, points)))
        pressure.append(covers(found.parameters["pressure"], 0.5))
        opinions.append((found.hidden.low <= model.x0) & (model.x0 <= found.hidden.high))
    assert np.sum(pressure) >= 5
    # Errors of the people in one record depend on each other.
    assert np.mean(opinions) > 0.8


def test_recover_takes_the_points_of_a_scale_as_rounded() -> None:
    model = panel()
    run = answered(model, 5, 50, 1)
    scaled, spaced = (
        recover(run, model, "kalman", look) for look in (Observation(scale=(1, 5)), Observation(rounding=1))
    )
    assert np.array_equal(scaled.value, spaced.value)


def test_simulated_opinions_are_moved_to_the_points_of_a_scale() -> None:
    model = panel()
    run = pp.simulate(model, 20, seed=1)
    look = Observation(scale=(1, 3))
    values = answers_of(run, model, look).values
    assert set(np.unique(values)) == {1.0, 2.0, 3.0}
    half = answers_of(run, model, Observation(scale=(1, 3), rounding=0.5)).values
    assert set(np.unique(half)) == {1.0, 1.5, 2.0, 2.5, 3.0}


@pytest.mark.parametrize("scale", [(1, 2), (5, 1), (1,), 5, (1, np.nan), ("a", "b"), (1, 4.5)])
def test_a_scale_has_three_points_or_more(scale: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"a scale must be its first and last point.*name 1 and 5"):
        Observation(scale=scale)


def test_codes_of_missing_answers_are_no_answers() -> None:
    model = panel()
    run = answered(model, 5, 10, 1)
    states = np.array(run.states)
    states[0, 3, 2] = 99
    with pytest.raises(InvalidInputError, match=r"scale from 1 to 5, got 99 at step 3; .* codes of missing"):
        fit(replace(run, states=states), model, ("std",), observation=Observation(scale=(1, 5)))


def test_a_scale_on_which_no_answer_lies_is_refused() -> None:
    model = panel()
    rows = 0.1 + 0.1 * np.asarray(answered(model, 5, 10, 1).states)[0]
    for reads in (fit, recover):
        with pytest.raises(InvalidInputError, match=r"on the scale from 1 to 5, got 0\.2 to 0\.6; declare the scale"):
            reads(rows, model, observation=Observation(scale=(1, 5)))
    with pytest.raises(InvalidInputError, match=r"on the scale from 1 to 5, got 0\.2 to 0\.6"):
        pp.compare(rows, model.network, observation=Observation(scale=(1, 5)))


def test_what_such_a_fit_cannot_do_is_refused() -> None:
    model, look = panel(n=6), Observation(scale=(1, 5))
    run = answered(model, 5, 10, 1)
    with pytest.raises(InvalidInputError, match=r"single agents need answers without rounding.*leave stubbornness out"):
        fit(run, model, ("std", "stubbornness"), observation=look)
    with pytest.raises(InvalidInputError, match="shows hidden opinions exactly"):
        fit(run, model, ("measurement_noise",), observation=Observation(sees_start=True))
    with pytest.raises(InvalidInputError, match="answers must differ"):
        fit(replace(run, states=np.full_like(run.states, 3.0)), model, ("std",), observation=look)
    large = pp.Model(pp.networks.cycle(201), np.linspace(1, 5, 201), noise=pp.Gaussian(1.0))
    with pytest.raises(TooLargeError, match="up to 200 agents"):
        fit(pp.simulate(large, 3, seed=1), large, ("std",), observation=look)
