"""Every method keeps its word: unbiased, with the covariance that it states, and never better than possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import peerpressure as pp
from peerpressure.recovery import METHODS, Estimate, Observation, Prior, answers_of, recover
from tests.recovery.cases import NEEDS_ALL, STARTS, STEPS, VIEWS, Array, small_model

REPLICATES = 2000
SIGMAS = 5.0


def pinned(estimate: Estimate, model: pp.Model) -> Array:
    """Return the errors of the identified agents, (replicates, agents)."""
    return estimate.residuals(model.x0)[:, estimate.identified]


def assert_unbiased_with_its_covariance(estimate: Estimate, model: pp.Model) -> None:
    who = estimate.identified
    errors = pinned(estimate, model)
    stated = (estimate.covariance @ np.eye(model.n))[np.ix_(who, who)]
    size = np.sqrt(np.outer(stated.diagonal(), stated.diagonal()) + stated**2) / np.sqrt(len(errors))
    close = 1e-9 * (1 + np.abs(stated).max(initial=0.0))
    mean = np.abs(errors.mean(axis=0))
    assert (mean <= SIGMAS * np.sqrt(stated.diagonal() / len(errors)) + 1e-7).all()
    found = errors.T @ errors / len(errors)
    assert (np.abs(found - stated) <= SIGMAS * size + close).all()


@pytest.mark.parametrize(
    ("noise", "start"), [("white", "hidden"), ("negative ar1", "given"), ("some without", "hidden")]
)
def test_stated_covariance_is_the_true_one(noise: str, start: str) -> None:
    model = small_model(noise, start)
    run = pp.simulate(model, STEPS, REPLICATES, seed=11)
    for method in METHODS:
        assert_unbiased_with_its_covariance(recover(run, model, method), model)


@pytest.mark.parametrize(
    ("view", "noise"), [("some agents", "ar1"), ("gaps", "frozen"), ("some with their start", "white")]
)
def test_stated_covariance_is_the_true_one_for_partial_views(noise: str, view: str) -> None:
    model = small_model(noise)
    run = pp.simulate(model, STEPS, REPLICATES, seed=12)
    for method in METHODS:
        if method not in NEEDS_ALL:
            assert_unbiased_with_its_covariance(recover(run, model, method, VIEWS[view]), model)


@pytest.mark.parametrize("blur", ["dithered", "rounded"])
def test_rounded_outputs_are_treated_as_noisy(blur: str) -> None:
    base = small_model()
    model = pp.Model(base.network, base.hidden, base.stubbornness, pp.Constant(0.5), pp.Gaussian(1.0))
    run = pp.simulate(model, STEPS, REPLICATES, seed=5)
    assert run.states is not None
    spacing = 0.5 if blur == "dithered" else 0.2
    dither = np.random.default_rng(0).uniform(-spacing / 2, spacing / 2, run.states.shape)
    states = run.states + dither if blur == "dithered" else np.round(run.states / spacing) * spacing
    coarse = pp.Trajectory(**(vars(run) | {"states": states}))
    data = answers_of(coarse, model, Observation(rounding=spacing))
    if blur == "dithered":
        # Such noise has the stated law exactly; outputs that are on no grid would be rounded once more.
        data = replace(data, values=states[:, 1:])
    for method in METHODS:
        if method not in NEEDS_ALL:
            assert_unbiased_with_its_covariance(METHODS[method].estimate(model, data, None), model)


@pytest.mark.parametrize("method", METHODS)
def test_gaps_are_left_out_or_refused(method: str) -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, REPLICATES, seed=8)
    assert run.states is not None
    holes = run.states.copy()
    holes[:, 3, 1] = holes[:, 6, 4:] = np.nan
    broken = pp.Trajectory(**(vars(run) | {"states": holes}))
    if method in NEEDS_ALL:
        with pytest.raises(pp.errors.InvalidInputError, match="missing"):
            recover(broken, model, method)
    else:
        assert_unbiased_with_its_covariance(recover(broken, model, method), model)


@pytest.mark.parametrize("method", METHODS)
def test_prior_and_data_combine_as_one_gaussian(method: str) -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, seed=3)
    plain = recover(run, model, method)
    spread = 0.2 * np.eye(model.n) + 0.1
    prior = Prior(np.linspace(0, 1, model.n), spread)
    posterior = recover(run, model, method, prior=prior)
    who = plain.identified
    if who.all():
        precision = np.linalg.inv(plain.covariance @ np.eye(model.n))
        expected = np.linalg.inv(precision + np.linalg.inv(spread))
        mean = expected @ (precision @ plain.value[0] + np.linalg.solve(spread, prior.means(model.n)))
        np.testing.assert_allclose(posterior.covariance @ np.eye(model.n), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(posterior.value[0], mean, rtol=1e-6, atol=1e-8)
    assert posterior.identified.all()
    assert (posterior.variance <= 0.3 + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_who_sees_a_hidden_start_knows_it(method: str) -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, 2, seed=1)
    everyone = recover(run, model, method, Observation(sees_start=True))
    np.testing.assert_array_equal(everyone.value, np.tile(model.x0, (2, 1)))
    assert (everyone.variance == 0).all()
    assert everyone.rank == model.n
    if method not in NEEDS_ALL:
        some = recover(run, model, method, Observation(agents=[1, 4], sees_start=True), Prior(0.0, 1.0))
        np.testing.assert_array_equal(some.value[:, [1, 4]], np.tile(model.x0[[1, 4]], (2, 1)))
        assert (some.variance[[1, 4]] == 0).all()
        assert (some.variance[[0, 2, 3, 5, 6]] > 0).all()


@pytest.mark.parametrize("method", METHODS)
def test_relabelling_agents_relabels_the_estimate(method: str) -> None:
    model = small_model("by agent")
    order = np.random.default_rng(0).permutation(model.n)
    std = np.asarray(model.noise.std)[order]
    other = pp.Model(model.network.permuted(order), model.x0[order], model.s[order], model.pressure, pp.Gaussian(std))
    run = pp.simulate(model, STEPS, 2, seed=1)
    assert run.states is not None
    moved = pp.Trajectory(**(vars(run) | {"model": other, "states": run.states[:, :, order]}))
    ours, theirs = recover(run, model, method), recover(moved, other, method)
    np.testing.assert_allclose(theirs.value, ours.value[:, order], rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(theirs.variance, ours.variance[order], rtol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_shifting_all_opinions_shifts_the_estimate(method: str) -> None:
    model = small_model()
    run = pp.simulate(model, STEPS, seed=1)
    assert run.states is not None
    moved = pp.Trajectory(**(vars(run) | {"states": run.states + 3.0}))
    np.testing.assert_allclose(recover(moved, model, method).value, recover(run, model, method).value + 3, atol=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_without_noise_x0_is_found_exactly(method: str) -> None:
    for start in STARTS.values():
        base = small_model()
        model = pp.Model(base.network, base.hidden, base.stubbornness, pp.Constant(0.7), start=start)
        estimate = recover(pp.simulate(model, STEPS), model, method)
        np.testing.assert_allclose(estimate.value[0], model.x0, atol=1e-6)
        np.testing.assert_allclose(estimate.variance, 0, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_float32_runs_are_accepted(method: str) -> None:
    model = small_model()
    double = pp.simulate(model, STEPS, seed=1)
    run = pp.Trajectory(**(vars(double) | {"states": np.asarray(double.states, dtype=np.float32)}))
    exact = recover(double, model, method)
    assert answers_of(run, model).values.dtype == np.float32
    np.testing.assert_allclose(recover(run, model, method).value, exact.value, atol=1e-3)
