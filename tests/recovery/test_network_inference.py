"""Inference of an unknown network: the optimum, its errors, its invariances, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest
from scipy import optimize, stats

from peerpressure import (
    AR1,
    SDE,
    Gaussian,
    Laplace,
    Model,
    Network,
    Observation,
    Record,
    StudentT,
    Trajectory,
    simulate,
)
from peerpressure.errors import CancelledError, InvalidInputError, TooLargeError
from peerpressure.networks import barabasi_albert, cycle, edge_markovian, rival_camps, watts_strogatz
from peerpressure.recovery import average_precision, infer_network, limits
from peerpressure.recovery._network_fit import AgentProblem, SymmetricProblem, gradient, minimised, objective
from peerpressure.recovery._network_likelihood import Steps, sum_products
from peerpressure.schedules import Constant, Linear, Power

Array = np.ndarray[Any, np.dtype[np.float64]]


def small(n: int = 6, steps: int = 60, seed: int = 3, **parts: Any) -> tuple[Model, Trajectory]:
    hidden = np.random.default_rng(seed).uniform(size=n)
    model = Model(cycle(n), hidden, **({"noise": Gaussian(0.5)} | parts))
    return model, simulate(model, steps, seed=seed)


def negative_log_likelihood(values: Array, y: Array, rho: Array, i: int, std: float | None) -> float:
    """The likelihood of one agent's row as it is stated: weights, x₀ and, if it is unknown, σ."""
    n = y.shape[1]
    w, x = np.zeros(n), values[n - 1]
    w[np.arange(n) != i] = values[: n - 1]
    sigma = np.exp(values[n]) if std is None else std
    slope = 1 + rho[2:] * w.sum()
    residual = y[2:, i] * slope - rho[2:] * (y[1:-1] @ w) - x
    return float(-stats.norm.logpdf(residual, scale=sigma).sum() - np.log(slope).sum())


def test_rows_are_the_optimum_that_a_general_optimiser_finds() -> None:
    model, run = small(5, 100, pressure=Constant(0.8))
    y, rho = np.asarray(run.states)[0], np.full(101, 0.8)
    found = infer_network(run, model.pressure, std="known", penalty=None)
    for i in (0, 3):
        share = (int((found.weights[i] > 0).sum()) + 1) / 99
        bounds = [(0, None)] * 4 + [(None, None)]
        best = optimize.minimize(_restricted, np.full(5, 0.3), (y, rho, i, 0.5, share), bounds=bounds, tol=1e-14)
        np.testing.assert_allclose(np.delete(found.weights[i], i), best.x[:4], atol=2e-4)
        np.testing.assert_allclose(found.hidden[i], best.x[4], atol=2e-4)


def test_scales_and_tests_are_those_of_the_optimum_without_bounds() -> None:
    model, run = small(4, 300, pressure=Constant(0.5))
    y, rho = np.asarray(run.states)[0], np.full(301, 0.5)
    found = infer_network(run, model.pressure, std="agent")
    assert found.scale_identified.all()
    for i in range(4):
        start = np.append(np.full(4, 0.5), np.log(0.5))
        design = np.column_stack([np.delete(y[2:, [i]] - y[1:-1], i, axis=1), np.ones(299)])
        h = np.diag(design @ np.linalg.pinv(design))
        best = optimize.minimize(_restricted, start, (y, rho, i, None, h), method="BFGS", tol=1e-9)
        np.testing.assert_allclose(np.log(found.noise_std[i]), best.x[4], atol=2e-4)
        spread = np.linalg.inv(_hessian(_restricted, best.x, y, rho, i, None, h))
        np.testing.assert_allclose(found.scale_std[i], np.sqrt(spread[4, 4]), rtol=1e-3)
        spread = np.linalg.inv(_hessian(_restricted, best.x[:4], y, rho, i, float(found.noise_std[i]), h))
        z = best.x[:3] / np.sqrt(np.diag(spread))[:3]
        np.testing.assert_allclose(np.delete(found.confidence[i], i), stats.t.cdf(z, 299 - 4), atol=1e-3)


def _hessian(value: Callable[..., float], at: Array, *rest: Any, step: float = 1e-4) -> Array:
    eye = step * np.eye(at.size)
    sides = ((1, 1), (1, -1), (-1, 1), (-1, -1))
    rows = [[sum(p * q * value(at + p * a + q * b, *rest) for p, q in sides) for b in eye] for a in eye]
    return np.array(rows, dtype=float) / (4 * step**2)


def _restricted(values: Array, y: Array, rho: Array, i: int, std: float | None, lost: Array | float) -> float:
    """Return the restricted likelihood: of the logarithms of slopes, the share ``lost`` at each step does not count."""
    total = values[: y.shape[1] - 1].sum()
    if 1 + rho.max() * total <= 0:
        return np.inf
    plain = negative_log_likelihood(values, y, rho, i, std)
    slopes = np.log(1 + rho[2:] * total)
    if std is None:
        # τ + ρ Σθ is the slope over σ, and its logarithm is what is restricted.
        slopes -= values[y.shape[1]]
    return float(plain + (lost * slopes).sum())


def test_the_log_likelihood_is_that_of_the_outputs() -> None:
    model, run = small(5, 40, stubbornness=[1.0, 2.0, 0.5, 1.0, 1.5])
    y, rho = np.asarray(run.states)[0], np.arange(41.0)
    for symmetric in (False, True):
        found = infer_network(run, model.pressure, std="known", symmetric=symmetric)
        values = [np.append(np.delete(found.weights[i], i), found.hidden[i]) for i in range(5)]
        expected = -sum(negative_log_likelihood(values[i], y, rho, i, 0.5) for i in range(5))
        assert found.log_likelihood == pytest.approx(expected, abs=1e-6)


def test_work_is_cancelled_on_the_way() -> None:
    model, run = small(6, 60)
    calls = iter(range(10**6))
    with pytest.raises(CancelledError):
        infer_network(run, model.pressure, should_stop=lambda: next(calls) > 40)
    assert next(calls) == 42


def _problem(symmetric: bool, n: int = 6) -> AgentProblem | SymmetricProblem:
    _, run = small(n, 40)
    assert run.states is not None
    steps = Steps(np.asarray(run.states), np.arange(41), np.arange(41.0), np.ones(41), 0.0, np.full(n, np.nan))
    moments = sum_products(steps, np.arange(n), np.arange(2, 41), free=True)
    if not symmetric:
        return AgentProblem.of(moments, 2)
    pairs = np.argwhere(np.triu(np.ones((n, n)), 1))
    return SymmetricProblem.of([moments], pairs, np.linspace(1, 2, n), np.linspace(0.4, 0.6, n))


@pytest.mark.parametrize("symmetric", [False, True])
def test_kkt_conditions_hold_with_a_penalty(symmetric: bool) -> None:
    problem = _problem(symmetric)
    size = problem.diagonal.size
    at = np.random.default_rng(1).uniform(0.1, 1, size)
    at[2] *= symmetric
    numerical = optimize.approx_fprime(at, lambda b: objective(problem, b), 1e-6)
    kept = np.arange(size) != (-1 if symmetric else 2)
    np.testing.assert_allclose(gradient(problem, at)[kept], numerical[kept], rtol=2e-4, atol=2e-3)
    allowed = np.ones(size, dtype=bool)
    if not symmetric:
        allowed[2] = False
    start = np.zeros(size)
    start[-1] = 1.5
    beta = minimised(problem, start, allowed, 3.0)
    slope = gradient(problem, beta) + 3.0
    assert (beta >= 0).all()
    assert np.abs(slope[allowed & (beta > 0)]).max() < 1e-4
    assert slope[allowed & (beta == 0)].min(initial=0) > -1e-4
    assert 0 < (beta > 0).sum() < size


def test_standard_errors_are_those_of_the_numerical_hessian() -> None:
    model, run = small(5, 200)
    assert run.states is not None
    found = infer_network(run, model.pressure, std="known")
    y, rho = np.asarray(run.states)[0], np.arange(201.0)
    i = 1
    best = np.append(np.delete(found.weights[i], i), found.hidden[i])
    free = np.flatnonzero(np.append(best[:4] > 0, True))

    def value(part: Array) -> float:
        whole = best.copy()
        whole[free] = part
        return _restricted(whole, y, rho, i, 0.5, (int((found.weights[i] > 0).sum()) + 1) / 199)

    hessian = _hessian(value, best[free])
    expected = np.sqrt(np.diag(np.linalg.inv(hessian)))
    kept = np.delete(found.std[i], i)[best[:4] > 0]
    np.testing.assert_allclose(np.append(kept, found.hidden_std[i]), expected, rtol=1e-3)


def test_a_few_hundred_steps_reveal_a_scale_free_network() -> None:
    network = barabasi_albert(30, 2, seed=0)
    model = Model(network, np.random.default_rng(0).uniform(size=30), noise=Gaussian(0.5))
    run = simulate(model, 500, seed=0)
    found = infer_network(run, model.pressure, std="known")
    assert found.average_precision(network) >= 0.99
    error = np.linalg.norm(found.weights - network.adjacency.toarray()) / np.linalg.norm(network.adjacency.toarray())
    assert error < 0.22
    assert np.sqrt(np.mean((found.hidden - model.x0) ** 2)) < 0.07


def test_tests_of_edges_and_intervals_have_their_levels() -> None:
    # 8 runs of 8 agents: 320 absent and 128 present ordered pairs.
    false, sizes, covered, hidden = [], [], [], []
    network = cycle(8)
    truth = network.adjacency.toarray() > 0
    for seed in range(8):
        model, run = small(8, 150, seed)
        found = infer_network(run, model.pressure, std="known")
        absent = ~truth & ~np.eye(8, dtype=bool)
        false.append(found.confidence[absent])
        sizes.append(found.confidence[truth] > 0.95)
        low, high = found.interval()
        covered.append(((low <= 1) & (high >= 1))[truth])
        low, high = found.interval(of="hidden")
        hidden.append((low <= model.x0) & (model.x0 <= high))
    p = np.concatenate(false)
    # Three standard errors of a share of 320 pairs, more for those of one run, which are correlated.
    assert abs(np.mean(p > 0.95) - 0.05) < 0.037
    assert abs(np.mean(p > 0.5) - 0.5) < 0.085
    assert np.mean(sizes) > 0.99
    assert 0.88 < np.mean(covered) < 0.995
    assert 0.85 < np.mean(hidden) < 0.995


@pytest.mark.parametrize("symmetric", [False, True])
def test_relabelling_agents_relabels_the_result(symmetric: bool) -> None:
    model, run = small(7, 80)
    order = np.random.default_rng(0).permutation(7)
    assert run.states is not None
    swapped = replace(run, states=np.asarray(run.states)[:, :, order])
    found, other = (infer_network(r, model.pressure, std="known", symmetric=symmetric) for r in (run, swapped))
    np.testing.assert_allclose(other.weights, found.weights[np.ix_(order, order)], atol=1e-6)
    np.testing.assert_allclose(other.confidence, found.confidence[np.ix_(order, order)], atol=1e-6)
    np.testing.assert_allclose(other.hidden, found.hidden[order], atol=1e-6)


def test_scaling_and_shifting_opinions_changes_them_and_the_noise_only() -> None:
    model, run = small(6, 80, pressure=Constant(1.0))
    assert run.states is not None
    moved = replace(run, states=7 + 3 * np.asarray(run.states))
    found, other = (infer_network(r, model.pressure) for r in (run, moved))
    np.testing.assert_allclose(other.weights, found.weights, atol=1e-6)
    np.testing.assert_allclose(other.std, found.std, rtol=1e-5)
    np.testing.assert_allclose(other.hidden, 7 + 3 * found.hidden, atol=1e-5)
    np.testing.assert_allclose(other.noise_std, 3 * found.noise_std, rtol=1e-6)


def test_replicates_add_up_and_a_run_can_be_observed_in_parts() -> None:
    model, _ = small(6)
    run = simulate(model, 40, replicates=5, seed=2)
    found = infer_network(run, model.pressure, std="known")
    assert (found.steps == 5 * 39).all()
    assert run.states is not None
    # A gap at one step takes two transitions from those who may hear the agent, and one from itself.
    states = np.array(run.states)
    states[:, 20, 3] = np.nan
    gap = infer_network(replace(run, states=states), model.pressure, std="known")
    assert gap.steps.tolist() == [5 * 38] * 3 + [5 * 38] + [5 * 38] * 2
    near = infer_network(replace(run, states=states), model.pressure, std="known", candidates=model.network)
    assert near.steps.tolist() == [5 * 39, 5 * 39, 5 * 38, 5 * 38, 5 * 38, 5 * 39]
    dropped = infer_network(
        run, model.pressure, std="known", observation=Observation(times=[*range(1, 20), *range(21, 41)])
    )
    assert (dropped.steps == 5 * 37).all()


def test_the_scale_is_identified_by_a_common_noise_or_by_low_pressure() -> None:
    growing, run = small(8, 200)
    own = infer_network(run, growing.pressure, std="agent")
    assert not own.scale_identified.any()
    assert np.isinf(own.std[own.weights > 0]).all()
    assert own.average_precision(growing.network) == 1.0
    low, run = small(8, 300, pressure=Constant(0.3))
    own = infer_network(run, low.pressure, std="agent")
    assert own.scale_identified.all()
    lower, upper = own.interval(0.999, "noise_std")
    assert ((lower < 0.5) & (upper > 0.5)).all()
    common = infer_network(run, low.pressure)
    assert common.scale_std.max() < own.scale_std.min()


def test_stubbornness_divides_the_weights_and_a_symmetric_fit_uses_it() -> None:
    s = np.linspace(0.5, 2, 8)
    model, run = small(8, 400, stubbornness=s)
    truth = model.network.adjacency.toarray()
    found = infer_network(run, model.pressure, std="known")
    both = infer_network(run, model.pressure, std="known", symmetric=True, stubbornness=s)
    adjacency = both.weights * s[:, None]
    np.testing.assert_allclose(adjacency, adjacency.T, atol=1e-12)
    # Two agents tell about one weight.
    assert np.nanmedian(both.std) < 0.85 * np.nanmedian(found.std)
    z = ((both.weights - truth / s[:, None]) / both.std)[truth > 0]
    assert np.abs(z).max() < 4
    assert both.average_precision(model.network) == found.average_precision(model.network) == 1.0


def test_a_visible_start_makes_hidden_opinions_known() -> None:
    model, run = small(6, 60)
    found = infer_network(run, model.pressure, observation=Observation(sees_start=True))
    np.testing.assert_array_equal(found.hidden, model.hidden)
    assert not found.hidden_std.any()
    assert (found.steps == 60).all()
    public = Model(cycle(6), model.hidden, noise=Gaussian(0.5), start=np.zeros(6))
    assert (infer_network(simulate(public, 60, seed=1), public.pressure).steps == 60).all()


@pytest.mark.parametrize(
    "noise", [Gaussian(0.5, temporal=AR1(0.6)), Gaussian(0.1, time_scale=Power(0.3)), Laplace(0.5)]
)
def test_other_noise_is_whitened_or_has_other_errors(noise: Any) -> None:
    model, run = small(8, 400, noise=noise)
    found = infer_network(run, model.pressure, std="known")
    truth = model.network.adjacency.toarray()
    assert found.average_precision(model.network) == 1.0
    assert np.abs(((found.weights - truth) / found.std)[truth > 0]).max() < 4
    assert np.mean(found.confidence[(truth == 0) & ~np.eye(8, dtype=bool)] > 0.95) < 0.2


def test_fewer_steps_than_agents_need_the_penalty_and_have_no_confidence() -> None:
    network = watts_strogatz(30, 4, 0.1, seed=1)
    model = Model(network, np.random.default_rng(1).uniform(size=30), noise=Gaussian(0.5))
    found = infer_network(simulate(model, 29, seed=1), model.pressure, std="known")
    assert np.isnan(found.confidence).all()
    assert found.average_precision(network) > 0.45
    short = simulate(model, 6, seed=1)
    assert np.isfinite(infer_network(short, model.pressure, std="known").weights).all()
    with pytest.raises(InvalidInputError, match="unbounded likelihood"):
        infer_network(short, model.pressure, std="known", penalty=None)


def test_neighbours_who_answer_alike_have_weights_without_errors() -> None:
    answers = [[2, 2, 2, 3, 2, 3], [2, 2, 3, 2, 1, 2], [2, 3, 2, 3, 2, 3], [3, 3, 2, 2, 2, 2]]
    answers += [[2, 3, 2, 3, 2, 3], [3, 3, 3, 3, 2, 3], [3, 3, 2, 3, 3, 3], [3, 3, 3, 3, 3, 3]]
    found = infer_network(np.array(answers, dtype=float), Linear(0.3))
    assert not np.isfinite(found.std[found.weights > 0]).any()
    assert "nan" not in str(found)


def test_residuals_tell_whether_the_model_made_the_outputs() -> None:
    model, run = small(8, 400)
    found = infer_network(run, model.pressure, std="known")
    assert found.goodness_of_fit.min() > 0.001
    assert "the model does not fit the data" not in str(found)
    rounded = replace(run, states=np.round(np.asarray(run.states), 2))
    assert "the model does not fit the data" in str(infer_network(rounded, model.pressure, std="known"))
    correlated, run = small(8, 400, noise=Gaussian(0.5, temporal=AR1(0.5)))
    assert "the model does not fit the data" in str(
        infer_network(run, correlated.pressure, noise=Gaussian(0.5), std="known")
    )
    right = infer_network(run, correlated.pressure, std="known")
    assert right.goodness_of_fit.min() > 0.001


def test_unobserved_agents_are_flagged() -> None:
    model, run = small(8, 200)
    look = Observation(agents=[0, 1, 2, 3, 4, 5])
    found = infer_network(run, model.pressure, std="known", observation=look, partial=True)
    assert found.unobserved == 2
    assert found.labels == (0, 1, 2, 3, 4, 5)
    assert np.isnan(found.std).all()
    assert np.isnan(found.confidence).all()
    assert np.isnan(found.hidden_std).all()
    assert "biased" in str(found)


def states_of(change: Callable[[Array], Array]) -> Trajectory:
    """Return a run of six agents with other outputs."""
    _, run = small(6, 100)
    return replace(run, states=change(np.asarray(run.states)))


MODELS: dict[str, tuple[dict[str, Any], str]] = {
    "frozen noise": ({"noise": Gaussian(1.0, temporal="frozen")}, "frozen noise"),
    "no noise": ({"noise": Gaussian(0.0)}, "no noise"),
    "adaptation": ({"adaptation": 0.1}, "adapt"),
    "heavy tails": ({"noise": StudentT(1.0, df=3)}, "fourth moment"),
    "another law with a memory": ({"noise": Laplace(1.0, temporal=AR1(0.3))}, "AR"),
    "distrust": ({"network": rival_camps(6, 2, seed=1)}, "no weight is negative, got Network"),
    "a temporal network": ({"network": edge_markovian(6, 0.3, 0.3, 20, seed=1)}, "a temporal network"),
}
PRESSURES: dict[str, Any] = {
    "none": 0.0,
    "none by a formula": "0*t",
    "none by a table": [0.0] * 100,
    "at two steps": [0.0] * 98 + [1.0, 1.0],
    "at the first step": [1.0] + [0.0] * 99,
}
OUTPUTS: dict[str, tuple[Callable[[Array], Array], str]] = {
    "constant": (lambda y: np.full_like(y, 0.3), "must differ between agents"),
    "huge": (lambda y: y * 1e200, "must differ between agents"),
    "tiny": (lambda y: y * 1e-200, "must differ between agents"),
    "copies": (lambda y: y[:, :, [0, 1, 2, 2, 4, 5]], "no agent is a copy"),
    "missing": (lambda y: y * np.nan, "must see an answer"),
    "infinite": (lambda y: np.where(np.arange(101)[:, None] == 20, np.inf, y), "must be finite"),
}
ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "std": ({"std": "mine"}, "std"),
    "penalty": ({"penalty": -1}, "penalty"),
    "symmetric with own std": ({"symmetric": True, "std": "agent"}, "symmetric"),
    "signed and symmetric": ({"signed": True, "symmetric": True}, "ask for a signed or a symmetric network, not both"),
    "candidates": ({"candidates": np.ones((3, 3))}, "candidates"),
    "rounding": ({"observation": Observation(rounding=0.1)}, "round"),
    "stubbornness": ({"symmetric": True, "stubbornness": -1.0}, "stubbornness"),
    "some agents": ({"observation": Observation(agents=range(4))}, "2 of 6 unobserved"),
    "a pressure below 0": ({"pressure": -1.0}, "at least 0, got -1"),
    "a table that is too short": ({"pressure": [1.0, 2.0]}, "this table has 2 values"),
    **{f"pressure {name}": ({"pressure": p}, "3 steps or more under peer pressure") for name, p in PRESSURES.items()},
    "symmetric, no pressure": ({"symmetric": True, "pressure": 0.0}, "3 steps or more under peer pressure"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [*MODELS, *OUTPUTS, *ARGUMENTS])
def test_what_has_no_inference_is_refused(name: str) -> None:
    model, run = small(6, 100)
    arguments, words = ARGUMENTS.get(name, ({}, ""))
    if name in MODELS:
        parts, words = MODELS[name]
        model = replace(model, **parts)
        run = simulate(model, 20, seed=3)
    if name in OUTPUTS:
        change, words = OUTPUTS[name]
        run = states_of(change)
    with pytest.raises(InvalidInputError, match=words):
        infer_network(run, **({"pressure": model.pressure} | arguments))


def test_continuous_time_sparse_records_and_many_edges_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, run = small(6, 30)
    with pytest.raises(InvalidInputError, match="an SDE"):
        infer_network(simulate(SDE(model, step=0.5), 10, seed=1), model.pressure)
    with pytest.raises(InvalidInputError, match="3 steps or more"):
        infer_network(simulate(model, 30, record=Record(every=2)), model.pressure)
    monkeypatch.setattr(limits, "JOINT_PAIRS", 3)
    with pytest.raises(TooLargeError, match="3 edges or fewer"):
        infer_network(run, model.pressure, symmetric=True)


def test_average_precision_shares_ranks_between_equal_scores() -> None:
    truth = np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]])
    assert average_precision(truth, np.zeros((3, 3))) == pytest.approx(2 / 6)
    assert average_precision(truth, truth) == 1.0
    assert average_precision(truth, 1 - truth) == pytest.approx(2 / 6)
    assert np.isnan(average_precision(np.zeros((3, 3)), truth))  # without edges there is nothing to be precise about


def test_tables_and_summaries_name_agents() -> None:
    network = Network.from_networkx(__import__("networkx").path_graph(["ann", "bob", "cid"]))
    model = Model(network, [0.0, 1.0, 2.0], noise=Gaussian(0.5), pressure=Linear())
    found = infer_network(simulate(model, 300, seed=1), model.pressure, std="known")
    table = found.to_dataframe()
    assert {("ann", "bob"), ("bob", "ann"), ("bob", "cid"), ("cid", "bob")} <= set(
        zip(table["agent"], table["neighbour"], strict=True)
    )
    assert set(table) == {"agent", "neighbour", "weight", "std", "confidence"}
    assert (found.to_dataframe(confidence=0.99)["confidence"] >= 0.99).all()
    np.testing.assert_allclose(found.relative_weights.sum(axis=1), 1)
    assert "directed" in str(found)
    assert "3 agents" in repr(found)
    with pytest.raises(InvalidInputError):
        found.interval(1.5, "hidden")
    with pytest.raises(InvalidInputError, match="'weight'; check the spelling"):
        found.interval(of="weight")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="a level must lie strictly between 0 and 1"):
        found.interval("weights")  # type: ignore[arg-type]
    assert found.value is found.weights
    assert found.summary() == str(found)


@pytest.mark.parametrize("penalty", ["bic", None])
def test_signs_of_a_network_with_distrust_are_inferred(penalty: Literal["bic"] | None) -> None:
    """Opinions away from 0 tell an agent from its opposite; all ties that are there have the right sign."""
    network = rival_camps(12, 4, seed=2)
    truth = np.sign(network.adjacency.toarray())
    assert (truth < 0).any()
    assert (truth > 0).any()
    model = Model(network, hidden=np.linspace(-1.0, 2.0, 12), noise=Gaussian(0.5))
    found = infer_network(simulate(model, 500, seed=3), model.pressure, signed=True, penalty=penalty)
    assert found.signed
    assert (np.sign(found.weights)[truth != 0] == truth[truth != 0]).all()
    assert found.average_precision(network) > 0.98
    assert found.distrust_p_value < 1e-6
    assert np.array_equal(found.negative_pairs, found.weights < 0)
    low, high = found.interval(0.99)
    inside = ((low <= network.adjacency.toarray()) & (network.adjacency.toarray() <= high))[truth != 0]
    assert inside.mean() > 0.9
    assert "with distrust" in str(found)
    assert found.plot().get_figure() is not None


def test_confidences_of_both_signs_have_their_level() -> None:
    """Of pairs without a tie, 5 % have a confidence above 0.95, on networks with and without distrust."""
    shares = []
    for seed in range(2):
        for share in (0.0, 0.4):
            model, run = with_distrust(seed, share)
            found = infer_network(run, model.pressure, signed=True, penalty=3.0)
            absent = (model.network.adjacency.toarray() == 0) & ~np.eye(20, dtype=bool)
            shares.append(np.mean(found.confidence[absent] > 0.95))
    # 4 runs of 306 pairs: a standard error of 0.0062, and somewhat more since pairs of an agent are dependent.
    assert np.mean(shares) == pytest.approx(0.05, abs=0.02)


def test_weights_of_both_signs_of_a_network_without_distrust() -> None:
    model, run = with_distrust(0, 0.0)
    found = infer_network(run, model.pressure, signed=True)
    assert found.average_precision(model.network) > 0.95
    there = found.weights[model.network.adjacency.toarray() > 0]
    assert there.min() >= 0
    assert np.mean(there > 0) > 0.9
    assert found.distrust_p_value > 0.01
    assert any("without signs" in note for note in found.notes)


def with_distrust(seed: int, share: float, steps: int = 300) -> tuple[Model, Trajectory]:
    """Return a run in which a share of the edges is negative, read as one of the same network without signs."""
    rng = np.random.default_rng(seed)
    network = barabasi_albert(20, 2, seed=seed)
    flipped = np.triu(rng.uniform(size=(20, 20)) < share, 1)
    signs = np.where(flipped | flipped.T, -1.0, 1.0)
    signed = Network(signs * network.adjacency.toarray(), signed=True)
    model = Model(network, rng.uniform(size=20), noise=Gaussian(0.3))
    return model, replace(simulate(replace(model, network=signed), steps, seed=seed), model=model)


def test_outputs_that_show_distrust_are_named() -> None:
    model, run = with_distrust(1, 0.3)
    found = infer_network(run, model.pressure)
    assert found.distrust_p_value < 1e-4
    assert found.negative_pairs.sum() >= 3
    signed = infer_network(run, model.pressure, symmetric=True)
    for estimate in (found, signed):
        assert any("show distrust" in note for note in estimate.notes)
        assert "show distrust" in " ".join(str(estimate).split())
        assert f"{int(estimate.negative_pairs.sum())} weights are negative" in str(estimate)


def test_the_test_of_distrust_has_its_level() -> None:
    # 20 runs without distrust: p-values below 0.1 are to be at most a tenth of them.
    values = []
    for seed in range(20):
        model, run = small(8, 60, seed)
        found = infer_network(run, model.pressure, std="known", penalty=3.0)
        values.append(found.distrust_p_value)
        assert not any("distrust" in note for note in found.notes)
    assert np.mean(np.array(values) < 0.1) < 0.25
    assert max(values) <= 1.0


def test_without_confidences_there_is_no_test_of_distrust() -> None:
    model, run = small(30, 29)
    found = infer_network(run, model.pressure, std="known")
    assert np.isnan(found.distrust_p_value)
    assert not found.negative_pairs.any()
    assert len(found.notes) == 1


@pytest.mark.parametrize("arguments", [{}, {"symmetric": True}, {"std": "agent"}, {"std": "known"}, {"penalty": None}])
@pytest.mark.parametrize("temporal", ["frozen", "none"])
def test_outputs_without_fresh_noise_are_refused_at_once(temporal: str, arguments: dict[str, Any]) -> None:
    white = Gaussian(0.3)
    noise = Gaussian(0.3, temporal="frozen") if temporal == "frozen" else Gaussian(0.0)
    model = Model(barabasi_albert(20, 2, seed=1), np.random.default_rng(0).uniform(size=20), noise=noise)
    run = simulate(model, 300, seed=1)
    calls = iter(range(10**9))
    with pytest.raises(InvalidInputError, match="neither absent nor frozen"):
        infer_network(run, model.pressure, noise=white, should_stop=lambda: next(calls) > 10_000, **arguments)


def test_frozen_noise_that_is_hard_to_tell_is_fitted_in_bounded_work_with_a_note() -> None:
    model = Model(
        barabasi_albert(20, 2, seed=1),
        np.random.default_rng(0).uniform(size=20),
        noise=Gaussian(0.3, temporal="frozen"),
    )
    run = simulate(model, 300, seed=1)
    assert run.states is not None
    rounded = replace(run, states=np.round(run.states, 6))
    short = simulate(model, 25, seed=1)
    for outputs in (rounded, short):
        calls = 0

        def stop() -> bool:
            nonlocal calls
            calls += 1
            return calls > 100_000

        found = infer_network(outputs, model.pressure, noise=Gaussian(0.3), should_stop=stop)
        assert any("the model does not fit the data" in note for note in found.notes)


def test_steps_without_peer_pressure_say_nothing_of_weights() -> None:
    _, run = small(6, 100)
    found = infer_network(run, [0.0] * 90 + [1.0] * 10, std="known")
    assert np.isnan(found.confidence).all()
    assert "confidences need more steps than agents" in " ".join(str(found).split())


@pytest.mark.filterwarnings("error")
def test_an_agent_that_never_moves_is_told_by_a_note() -> None:
    model, run = small(6, 100)
    states = np.array(run.states)
    states[:, :, 2] = 0.5
    assert infer_network(replace(run, states=states), model.pressure).notes


def test_the_fewest_steps_select_no_edge_rather_than_all() -> None:
    model, _ = small(6)
    found = infer_network(simulate(model, 4, seed=1), model.pressure, std="known")
    assert not found.weights.any()
