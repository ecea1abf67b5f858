"""Likelihoods of opinions that adapt and of networks that change, against likelihoods worked out step by step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import peerpressure as pp
from peerpressure.fitting import fit
from peerpressure.recovery import Observation, answers_of, recover
from tests.recovery.cases import FACTORS, KINDS, Array, extended

LAWS: dict[str, pp.noise.Noise] = {
    "laplace": pp.Laplace(0.4),
    "student": pp.StudentT(0.4, df=5.0),
    "custom": pp.noise.Custom(stats.logistic(scale=0.3)),
}


def log_density(model: pp.Model, path: Array, x0: Array) -> Array:
    """Return log p of a path given x₀, agent by agent: follow what is held, and ask how likely the noise was."""
    held, total = x0.copy(), np.zeros(model.n)
    law, std = model.noise.unit(), model.noise.deviations(model.n)
    middle, size = float(law.mean()), float(law.std())
    for t in range(1, len(path)):
        update = model.update(t)
        wish = (path[t] - update.coupling @ path[t - 1]) / update.gain
        total += law.logpdf(middle + size * (wish - held) / std)
        held = update.adapt(held, path[t])
    return total


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_law_has_its_own_maximum(kind: str, law: str) -> None:
    model = extended(kind, LAWS[law], "given")
    run = pp.simulate(model, 25, seed=3)
    assert run.states is not None
    best = recover(run, model, "likelihood").value[0]
    height = log_density(model, run.states[0], best)
    for step in (1e-3, -1e-3, 0.1, -0.1, 1.0, -1.0):
        assert (log_density(model, run.states[0], best + step) <= height + 1e-9).all()


def test_bounded_laws_leave_an_interval_or_a_point() -> None:
    uniform = extended("both", pp.noise.Uniform(0.4), "given")
    run = pp.simulate(uniform, 25, seed=3)
    assert run.states is not None
    assert np.isfinite(log_density(uniform, run.states[0], recover(run, uniform, "likelihood").value[0])).all()
    coin = replace(uniform, noise=pp.noise.Rademacher(0.4))
    tossed = pp.simulate(coin, 25, 3, seed=3)
    np.testing.assert_allclose(recover(tossed, coin, "likelihood").value, np.tile(coin.x0, (3, 1)), atol=1e-8)


def test_an_output_that_was_adopted_unseen_ends_what_an_agent_tells() -> None:
    model = extended("adapting", pp.Laplace(0.4), "given")
    run = pp.simulate(model, 12, seed=1)
    assert run.states is not None
    states = run.states.copy()
    states[:, 5] = np.nan
    gap = recover(pp.Trajectory(**(vars(run) | {"states": states})), model, "likelihood")
    early = recover(run, model, "likelihood", Observation(times=range(1, 5)))
    moving = FACTORS > 0
    np.testing.assert_allclose(gap.variance[moving], early.variance[moving])
    # Who never adapts has adopted nothing, and goes on telling after the gap.
    assert (gap.variance[~moving] < early.variance[~moving]).all()


def test_coverage_of_a_law_whose_noise_grows_as_opinions_fade() -> None:
    model = extended("adapting alike", pp.Laplace(0.5), "given", adaptation=0.02)
    run = pp.simulate(model, 60, 2000, seed=4)
    estimate = recover(run, model, "likelihood")
    ratio = (estimate.residuals() ** 2).mean(axis=0) / estimate.variance
    # The variance is that of large samples, from which a median of sixty draws is a few per cent away.
    assert (np.abs(ratio - 1) < 0.15 + 5 * np.sqrt(5 / 2000)).all()


def test_who_is_always_alone_does_not_tell_how_stubborn_it_is() -> None:
    events = [(1, 0, 1), (1, 1, 2), (9, 2, 3)]
    network = pp.TemporalNetwork.from_events(events, n=4)
    model = pp.Model(network, hidden=[0.0, 1.0, 2.0, 3.0], noise=pp.Gaussian(0.3), start=np.zeros(4))
    fitted = fit(answers_of(pp.simulate(model, 8, seed=2), model), model, ("stubbornness",))
    assert np.isfinite(fitted.parameters["stubbornness"].std[0, :3]).all()
    alone = fitted.parameters["stubbornness"]
    assert np.isinf(alone.std[0, 3])
    # Nothing bounds what nothing is known of.
    assert (alone.low[0, 3], alone.high[0, 3]) == (0, np.inf)
    assert (fitted.hidden.low[0, 3], fitted.hidden.high[0, 3]) == (-np.inf, np.inf)
