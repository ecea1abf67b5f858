"""Modified profile likelihoods: against dense joint laws, and by how often their intervals cover."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

import peerpressure as pp
from peerpressure.fitting import fit
from peerpressure.fitting._fit import _prepared
from peerpressure.fitting._joint_fit import ProfileLikelihood, regression
from peerpressure.fitting._maximum import allowance, zero_between
from peerpressure.fitting._parameters import COORDINATES
from peerpressure.recovery import Answers, Observation, answers_of
from tests.builders import random_model
from tests.oracles import joint_paths
from tests.recovery.cases import AGENTS, Array, extended

STEPS = 7


def six(**parts: Any) -> pp.Model:
    values: dict[str, Any] = {"noise": pp.Gaussian(0.7), "pressure": pp.Linear(0.4), "start": np.linspace(-1, 1, 6)}
    return random_model(6, 3, **(values | parts))


def covers(parameter: Any, truth: Any) -> Any:
    return (parameter.low <= truth) & (truth <= parameter.high)


class Dense:
    """Profile likelihoods of one run from its joint normal law, in dense matrices and without inverting the update."""

    def __init__(self, model: pp.Model, y: Array) -> None:
        self.model, self.y = model, y[1:].ravel()
        self.steps = len(y) - 1

    def at(self, parts: dict[str, float]) -> tuple[Array, Array, Array]:
        """Return constant, design and covariance of all outputs."""
        base = self.model
        phi = parts.get("autocorrelation", base.noise.autocorrelation)
        noise = pp.Gaussian(parts.get("std", base.noise.std), temporal=pp.AR1(phi) if phi else "white")
        changed: dict[str, Any] = {"noise": noise}
        if "slope" in parts:
            changed["pressure"] = pp.Linear(parts["slope"])
        if "adaptation" in parts:
            changed["adaptation"] = parts["adaptation"]
        rows, _ = joint_paths(replace(base, **changed), self.steps)
        c, B, L = (part[1:].reshape(self.y.size, -1) for part in (rows.c, rows.B, rows.L))
        return c[:, 0], B, L @ L.T

    def profile(self, parts: dict[str, float], reference: dict[str, float] | None = None) -> tuple[float, Array]:
        """Return log p at the best x₀, modified if there is a reference, and that x₀."""
        c, B, V = self.at(parts)
        left = np.linalg.solve(V, B)
        J = B.T @ left
        x = np.asarray(np.linalg.solve(J, left.T @ (self.y - c)), dtype=np.float64)
        height = float(stats.multivariate_normal(c + B @ x, V).logpdf(self.y))
        if reference is None:
            return height, x
        change = np.linalg.solve(J, left.T @ self.at(reference)[1])
        return float(height - 0.5 * np.linalg.slogdet(J)[1] - np.linalg.slogdet(change)[1]), x

    def maximum(self, at: dict[str, float], free: list[str], reference: dict[str, float] | None = None) -> float:
        """Return the highest profile over the logarithms (or atanh) of the free parameters."""

        def minus(values: Array) -> float:
            moved = {
                k: float(np.tanh(v) if k == "autocorrelation" else np.exp(v)) for k, v in zip(free, values, strict=True)
            }
            return -self.profile(at | moved, reference)[0]

        start = [float(np.arctanh(at[k]) if k == "autocorrelation" else np.log(at[k])) for k in free]
        return -float(optimize.minimize(minus, start, method="BFGS", options={"gtol": 1e-3}).fun)


CASES: dict[str, tuple[str, tuple[str, ...], dict[str, Any]]] = {
    **{f"std and slope, {kind}": (kind, ("std", "slope"), {}) for kind in ("adapting", "both")},
    "slope": ("", ("slope",), {}),
    "std": ("", ("std",), {}),
    "autocorrelation": ("", ("std", "autocorrelation"), {"noise": pp.Gaussian(0.4, temporal=pp.AR1(0.2))}),
}


@pytest.mark.parametrize("case", CASES)
def test_estimates_and_ends_are_those_of_the_dense_joint_law(case: str) -> None:
    kind, unknown, parts = CASES[case]
    model = extended(kind, parts.get("noise", "white"), "given")
    run = pp.simulate(model, STEPS, seed=6)
    assert run.states is not None
    fitted = fit(answers_of(run, model), model, unknown)
    values = {name: float(p.value[0]) for name, p in fitted.parameters.items()}
    dense = Dense(model, run.states[0])
    assert fitted.log_likelihood[0] == pytest.approx(dense.maximum(values, list(unknown)), abs=1e-4)
    top, opinions = dense.profile(values, values)
    np.testing.assert_allclose(fitted.estimate.value[0], opinions, atol=1e-8)
    for name in unknown:
        for factor in (0.97, 1.03):
            assert dense.profile(values | {name: values[name] * factor}, values)[0] < top + 1e-4
    left = AGENTS * (STEPS - 1) - len(unknown) if "std" in unknown else np.inf
    drop = float(allowance(0.95, left, scale=unknown == ("std",)))
    for name, p in fitted.parameters.items():
        others = [other for other in unknown if other != name]
        for end in (float(p.low[0]), float(p.high[0])):
            if np.isfinite(end) and end not in (0.0, 1.0):
                at = values | {name: end}
                height = dense.maximum(at, others, values) if others else dense.profile(at, values)[0]
                assert top - height == pytest.approx(drop, abs=0.03)


def test_with_std_alone_intervals_are_those_of_student_and_almost_of_chi_squared() -> None:
    model = six()
    run = pp.simulate(model, 8, 3, seed=2)
    fitted = fit(answers_of(run, model), model, ("std",))
    std, free = fitted.parameters["std"], 6 * 7
    half = stats.t(free - 1).ppf(0.975) * std.value[:, None] / np.sqrt(8)
    np.testing.assert_allclose(fitted.hidden.high - fitted.estimate.value, half * np.ones(6), rtol=0.01)
    # The exact law of σ̂²: the level of the interval is that of χ² between its ends.
    level = stats.chi2(free).cdf(free * (std.value / std.low) ** 2) - stats.chi2(free).cdf(
        free * (std.value / std.high) ** 2
    )
    np.testing.assert_allclose(level, 0.95, atol=5e-4)


@pytest.mark.parametrize(
    ("unknown", "steps", "replicates"), [("std", 6, 100), ("agent_std", 8, 60), ("stubbornness", 12, 25)]
)
def test_intervals_cover(unknown: str, steps: int, replicates: int) -> None:
    model = six()
    fitted = fit(answers_of(pp.simulate(model, steps, replicates, seed=8), model), model, (unknown,))
    truth = {"std": 0.7, "agent_std": np.full(6, 0.7), "stubbornness": model.s}[unknown]
    for inside in (covers(fitted.parameters[unknown], truth), covers(fitted.hidden, model.x0)):
        # Five standard errors of a binomial share.
        assert abs(inside.mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / inside.size)


def test_std_and_slope_cover_although_their_scale_is_almost_free() -> None:
    model = six()
    fitted = fit(answers_of(pp.simulate(model, 30, 10, seed=8), model), model, ("std", "slope"))
    assert covers(fitted.parameters["std"], 0.7).sum() >= 7
    assert covers(fitted.parameters["slope"], 0.4).sum() >= 7
    assert covers(fitted.hidden, model.x0).mean() > 0.85


def test_ten_steps_leave_the_scale_open_and_the_fit_says_so() -> None:
    network = pp.networks.barabasi_albert(6, 2, seed=3)
    model = replace(six(), network=network, stubbornness=np.linspace(0.5, 1, 6))
    fitted = fit(answers_of(pp.simulate(model, 10, 6, seed=1), model), model, ("std", "slope"))
    slope = fitted.parameters["slope"]
    open_ended = np.isinf(slope.high)
    assert open_ended.sum() > 0
    np.testing.assert_array_equal(slope.identified, ~open_ended)
    np.testing.assert_array_equal(fitted.identifiable, slope.identified & fitted.parameters["std"].identified)
    assert covers(slope, 0.4).sum() >= 5
    # Opinions share the scale, so their intervals are open as well.
    assert np.isinf(fitted.hidden.high - fitted.hidden.low)[open_ended].any(axis=1).all()


def test_a_replicate_that_cannot_be_fitted_does_not_lose_the_others() -> None:
    model = six()
    run = pp.simulate(model, 20, 3, seed=1)
    assert run.states is not None
    states = run.states.copy()
    still = pp.simulate(replace(model, noise=pp.NoNoise()), 20).states
    assert still is not None
    states[1] = still[0]
    fitted = fit(answers_of(replace(run, states=states), model), model, ("std",))
    assert [reason is None for reason in fitted.failures] == [True, False, True]
    assert "answers that a model explains without any" in str(fitted.failures[1])
    np.testing.assert_array_equal(np.isnan(fitted.parameters["std"].value), [False, True, False])
    np.testing.assert_array_equal(np.isnan(fitted.estimate.value).all(axis=1), [False, True, False])
    np.testing.assert_array_equal(fitted.identifiable, [True, False, True])
    assert "1 failed" in repr(fitted)
    alone = fit(answers_of(run, model), model, ("std",)).parameters["std"]
    np.testing.assert_array_equal(fitted.parameters["std"].value[[0, 2]], alone.value[[0, 2]])


def test_if_no_replicate_can_be_fitted_the_reason_is_raised() -> None:
    model = six()
    still = pp.simulate(replace(model, noise=pp.NoNoise()), 20)
    with pytest.raises(pp.errors.InvalidInputError, match="answers that have noise"):
        fit(answers_of(still, model), model, ("std",))


NEW: dict[str, tuple[dict[str, Any], Any]] = {
    "adaptation": ({"adaptation": 0.05}, 0.05),
    "autocorrelation": ({"noise": pp.Gaussian(0.7, temporal=pp.AR1(0.6))}, 0.6),
    "agent_std": ({"noise": pp.Gaussian(np.linspace(0.3, 1.3, 6))}, np.linspace(0.3, 1.3, 6)),
    "exponent": ({"pressure": pp.Power(0.7, 0.4)}, 0.7),
}


@pytest.mark.parametrize("start", ["given", "hidden"])
@pytest.mark.parametrize("name", NEW)
def test_each_unknown_is_found_for_either_start(name: str, start: str) -> None:
    parts, truth = NEW[name]
    model = six(**parts, **({"start": "hidden"} if start == "hidden" else {}))
    found = fit(answers_of(pp.simulate(model, 100, 2, seed=5), model), model, (name,)).parameters[name]
    assert found.identified.all()
    assert (np.abs(found.value - truth) < 4.5 * found.std).all()
    assert (found.high - found.low < 5 * found.std).all()


def test_a_free_course_of_pressure_is_found_piece_by_piece() -> None:
    course = np.repeat([0.3, 2.0, 0.8], [10, 10, 20])
    model = six(pressure=pp.schedules.as_schedule(list(course)))
    data = answers_of(pp.simulate(model, 40, seed=4), model)
    fitted = fit(data, model, ("pressure",), pieces=(1, 11, 21))
    p = fitted.parameters["pressure"]
    assert p.value.shape == (1, 3)
    assert covers(p, [0.3, 2.0, 0.8]).all()
    assert p.identified.all()
    np.testing.assert_array_equal(fitted.to_dataframe().query("parameter == 'pressure'")["agent"], [1, 11, 21])
    with pytest.raises(pp.errors.InvalidInputError, match="pieces must be"):
        fit(data, model, ("pressure",), pieces=(5, 11))


def test_no_pressure_is_the_end_of_an_interval() -> None:
    model = six()
    free = pp.simulate(replace(model, pressure=pp.Constant(0.0)), 30, seed=4)
    slope = fit(answers_of(free, model), model, ("slope",)).parameters["slope"]
    assert slope.low[0] == 0.0 < slope.high[0] < 0.05


def test_correlated_noise_with_gaps_uses_only_steps_whose_past_is_known() -> None:
    model = six(noise=pp.Gaussian(0.7, temporal=pp.AR1(0.6)))
    run = pp.simulate(model, 80, 2, seed=3)
    data = answers_of(run, model, Observation(times=[*range(1, 40), *range(43, 81)]))
    fitted = fit(data, model, ("autocorrelation", "std"))
    for name, truth in (("autocorrelation", 0.6), ("std", 0.7)):
        assert covers(fitted.parameters[name], truth).all()


def test_thousands_of_agents() -> None:
    n = 3000
    rng = np.random.default_rng(1)
    network = pp.networks.barabasi_albert(n, 2, seed=1)
    model = pp.Model(network, rng.normal(size=n), stubbornness=rng.uniform(0.5, 1, n), noise=pp.Gaussian(0.5))
    fitted = fit(answers_of(pp.simulate(model, 12, seed=1), model), model, ("std", "slope"))
    assert covers(fitted.parameters["std"], 0.5).all()
    assert covers(fitted.parameters["slope"], 1.0).all()
    assert abs(covers(fitted.hidden, model.x0).mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / n)
    assert fitted.identifiable.all()


@pytest.mark.parametrize("level", [0.0, 1.0, 2.0])
def test_a_level_is_a_share(level: float) -> None:
    model = six()
    with pytest.raises(pp.errors.InvalidInputError, match="level"):
        fit(answers_of(pp.simulate(model, 9), model), model, ("std",), level=level)


def test_higher_levels_have_wider_intervals() -> None:
    model = six()
    data = answers_of(pp.simulate(model, 20, seed=3), model)
    wide, narrow = (fit(data, model, ("slope",), level=level).parameters["slope"] for level in (0.99, 0.5))
    assert wide.low[0] < narrow.low[0] < narrow.value[0] < narrow.high[0] < wide.high[0]


# Answers that are only conditioned on: those whose own past is not observed.


def problem_of(model: pp.Model, data: Answers, unknown: tuple[str, ...]) -> ProfileLikelihood:
    what, design, samples = _prepared(model, data, unknown, None)
    return ProfileLikelihood(what, design, samples[0])


class GivenFirst(Dense):
    """Profile likelihoods of the later outputs given the first ones, by conditioning the joint normal law."""

    def __init__(self, model: pp.Model, y: Array, first: int) -> None:
        super().__init__(model, y)
        self.first, self.whole = first * model.n, self.y
        self.y = self.whole[self.first :]

    def at(self, parts: dict[str, float]) -> tuple[Array, Array, Array]:
        """Return constant, design and covariance of the later outputs."""
        given, later = slice(self.first), slice(self.first, None)
        self.y = self.whole
        c, B, V = super().at(parts)
        self.y = self.whole[later]
        gain = np.linalg.solve(V[given, given], V[given, later]).T
        constant = c[later] + gain @ (self.whole[given] - c[given])
        return constant, B[later] - gain @ B[given], V[later, later] - gain @ V[given, later]


HIDDEN_STARTS: dict[str, tuple[pp.noise.Noise, str, int]] = {
    "adaptation": (pp.Gaussian(0.6), "adaptation", 1),
    "adaptation, AR(1)": (pp.Gaussian(0.6, temporal=pp.AR1(0.4)), "adaptation", 2),
    "slope": (pp.Gaussian(0.6), "slope", 1),
    "slope, AR(1)": (pp.Gaussian(0.6, temporal=pp.AR1(-0.4)), "slope", 2),
    "autocorrelation": (pp.Gaussian(0.6, temporal=pp.AR1(0.3)), "autocorrelation", 2),
}


@pytest.mark.parametrize("case", HIDDEN_STARTS)
def test_the_modified_profile_of_a_hidden_start_is_that_of_the_dense_law_given_the_first_outputs(case: str) -> None:
    noise, name, first = HIDDEN_STARTS[case]
    model = extended("adapting alike", noise, "hidden", adaptation=0.3)
    run = pp.simulate(model, STEPS, seed=6)
    assert run.states is not None
    dense = GivenFirst(model, run.states[0], first)
    back = COORDINATES[name].back
    reference, points = np.array([-0.8]), [np.array([z]) for z in (-2.0, -1.0, 0.0, 0.5, 2.0)]
    problem = problem_of(model, answers_of(run, model), (name,)).modified(reference)
    then = {name: float(back(reference[0]))}
    ours = np.array([problem.height(z) for z in points])
    theirs = np.array([dense.profile({name: float(back(z[0]))}, then)[0] for z in points])
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], atol=1e-7)


@pytest.mark.parametrize("temporal", ["white", pp.AR1(0.6)])
@pytest.mark.parametrize("start", ["given", "hidden"])
def test_opinions_respond_to_themselves_at_the_reference_whatever_is_missing(start: str, temporal: Any) -> None:
    noise = pp.Gaussian(np.linspace(0.3, 0.9, AGENTS), time_scale="1 + 0.3*sin(t)", temporal=temporal)
    model = extended("", noise, start)
    run = pp.simulate(model, 14, seed=2)
    assert run.states is not None
    states = run.states.copy()
    states[0, 6, 1] = states[0, 9, 3] = np.nan
    times = Observation(times=[1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14])
    problem = problem_of(model, answers_of(replace(run, states=states), model, times), ("slope",))
    z = np.log([0.7])
    problem = problem.modified(z)
    assert problem.reference is not None
    assert problem.reference.responses is not None
    shared = problem.unknown.shared(z)
    at = regression(problem.design, problem.reference.responses, shared)
    change = at.base + at.pull * problem.reference.state.w
    np.testing.assert_allclose(change, np.eye(AGENTS), atol=1e-12)


def test_rates_with_one_sum_are_different_rates() -> None:
    model = extended("adapting alike", pp.Gaussian(0.6), "given")
    problem = problem_of(model, answers_of(pp.simulate(model, STEPS, seed=6), model), ("slope",))
    shared = problem.unknown.shared(np.log([0.4]))
    early, late = np.zeros((STEPS, AGENTS)), np.zeros((STEPS, AGENTS))
    early[:2], late[-2:] = 0.25, 0.25
    assert early.sum() == late.sum()
    one = regression(problem.design, problem.sample, shared._replace(rate=early))
    other = regression(problem.design, problem.sample, shared._replace(rate=late))
    alone = regression(problem.design, replace(problem.sample, kept={}), shared._replace(rate=late))
    np.testing.assert_array_equal(other.base, alone.base)
    assert np.abs(one.base - other.base).max() > 1e-3


def weak_adaptation(start: Any = "hidden") -> pp.Model:
    network = pp.networks.barabasi_albert(10, 2, seed=1)
    x0 = np.linspace(0, 1, 10)
    return pp.Model(network, x0, pressure=pp.Linear(0.5), noise=pp.Gaussian(0.6), adaptation=0.06, start=start)


@pytest.mark.parametrize("unknown", [("adaptation",), ("std", "adaptation")])
@pytest.mark.parametrize("start", ["given", "hidden"])
def test_the_integrated_likelihood_is_that_of_the_dense_law_with_random_opinions(
    start: str, unknown: tuple[str, ...]
) -> None:
    model = extended("adapting alike", pp.Gaussian(0.6), start, adaptation=0.3)
    run = pp.simulate(model, STEPS, seed=6)
    assert run.states is not None
    y = run.states[0]
    dense = GivenFirst(model, y, 1) if start == "hidden" else Dense(model, y)
    Z = np.stack([np.ones(AGENTS), y[1]], axis=1)[:, : 1 + (start == "hidden")]
    problem = replace(problem_of(model, answers_of(run, model), unknown), integrated=True)

    def theirs(eta: float) -> float:
        c, B, V = dense.at({"adaptation": eta, "std": 0.6})

        def minus(values: Array) -> float:
            # σ² of all parts in common.
            factor = np.exp(2 * values[1]) if "std" in unknown else 1.0
            S = factor * (V + np.exp(values[0]) * 0.36 * B @ B.T)
            solved = np.linalg.solve(S, np.column_stack([B @ Z, dense.y - c]))
            gamma = np.linalg.solve((B @ Z).T @ solved[:, :-1], (B @ Z).T @ solved[:, -1])
            # What is left of y − c, and S⁻¹ times it.
            rest, scaled = dense.y - c - B @ Z @ gamma, solved[:, -1] - solved[:, :-1] @ gamma
            return 0.5 * float(rest @ scaled + np.linalg.slogdet(2 * np.pi * S)[1])

        starts = [np.array([z, 0.0]) for z in (-6.0, 0.0, 4.0)]
        options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000}
        return -min(float(optimize.minimize(minus, at, method="Nelder-Mead", options=options).fun) for at in starts)

    points = [-3.0, -1.0, 0.5, 3.0]
    ours = [problem.height(np.array([z, np.nan][: len(unknown)])) for z in points]
    expected = [theirs(float(COORDINATES["adaptation"].back(z))) for z in points]
    np.testing.assert_allclose(np.diff(ours), np.diff(expected), atol=1e-6)


@pytest.mark.parametrize("start", ["hidden", np.linspace(0, 1, 10)], ids=["hidden", "public"])
def test_adaptation_in_weak_data_is_bounded_or_said_to_be_open(start: Any) -> None:
    model = weak_adaptation(start)
    fitted = fit(answers_of(pp.simulate(model, 40, 16, seed=0), model), model, ("adaptation",))
    p = fitted.parameters["adaptation"]
    assert (p.value < 0.9).all()
    assert covers(p, 0.06).mean() > 0.8
    np.testing.assert_array_equal(p.identified, p.high < 1)
    np.testing.assert_array_equal(fitted.identifiable, p.identified)
    none, all_of_it = (p.low == 0) & (p.high < 1), (p.low > 0) & (p.high == 1)
    assert none.any()
    limits = {"no adaptation": none.sum(), "complete adaptation": all_of_it.sum()}
    said = [f"adaptation is not distinguishable from {name} in {k} of 16 replicates" for name, k in limits.items() if k]
    assert [note for note in fitted.notes if "distinguishable" in note] == said
    lost = (~p.identified).sum()
    assert (f"adaptation is not identified in {lost} of 16 replicates" in str(fitted)) == bool(lost)
    for note in fitted.notes:
        assert note in fitted.estimate.note


def test_pressure_that_may_be_absent_is_said_to_be() -> None:
    model = replace(weak_adaptation(), adaptation=None, pressure=pp.Constant(1e-3))
    fitted = fit(answers_of(pp.simulate(model, 20, seed=2), model), model, ("std", "pressure"), pieces=[1])
    assert fitted.parameters["pressure"].low[0] == 0
    assert "pressure is not distinguishable from no peer pressure on a piece of time" in fitted.notes


def test_opinions_that_follow_a_parameter_without_an_estimate_are_not_identified_either() -> None:
    model = weak_adaptation()
    run = pp.simulate(model, 40, 4, seed=0)
    fitted = fit(answers_of(run, model), model, ("agent_std", "adaptation"))
    p = fitted.parameters["adaptation"]
    doubtful = np.isinf(p.std)
    assert 0 < doubtful.sum() < 4
    # At either end of the range the modified likelihood has no maximum, whatever its curvature there.
    assert not p.identified[(p.value > 0.9) | (p.value < 1e-4)].any()
    assert (p.low[doubtful] == 0).all()
    assert (p.high[doubtful] == 1).all()
    assert f"adaptation is not identified in {doubtful.sum()} of 4 replicates" in fitted.estimate.note
    assert not fitted.hidden.identified[doubtful].any()
    assert fitted.hidden.identified[~doubtful].all()
    assert covers(fitted.hidden, model.x0)[doubtful].mean() > 0.85
    assert fitted.estimate.identified.all()
    assert run.states is not None
    only = replace(run, states=run.states[doubtful], replicates=run.replicates[doubtful])
    assert not fit(answers_of(only, model), model, ("agent_std", "adaptation")).estimate.identified.any()


def test_clear_adaptation_has_no_note() -> None:
    model = replace(weak_adaptation(), noise=pp.Gaussian(0.2))
    fitted = fit(answers_of(pp.simulate(model, 60, 4, seed=0), model), model, ("adaptation",))
    assert fitted.identifiable.all()
    assert fitted.notes == ()
    assert "note" not in str(fitted)


@pytest.mark.parametrize("height", [0.5, 3.0, 1e4])
def test_the_search_for_a_zero_ends_where_a_function_jumps_over_it(height: float) -> None:
    asked: list[float] = []

    def jumps(x: float) -> float:
        asked.append(x)
        return x - 1 if x < 0.7 else x + height

    found = zero_between(jumps, (0.0, jumps(0.0)), (2.0, jumps(2.0)))
    # On the positive side, which for an interval is the outer one, at a point that was asked for.
    assert 0 <= found - 0.7 < 3e-5
    assert found in asked
    assert len(asked) < 45
    assert zero_between(np.tan, (-1.0, np.tan(-1.0)), (1e-7, np.tan(1e-7))) == pytest.approx(0, abs=2e-3)
