"""Models and views that the tests of recovery share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.recovery import METHODS, Answers, Estimate, Observation
from tests.builders import random_model, temporal_network
from tests.oracles import Affine, joint_paths

Array = NDArray[np.float64]
AGENTS, STEPS = 7, 9

NOISES: dict[str, pp.noise.Noise] = {
    "white": pp.Gaussian(0.7),
    "scaled over time": pp.Gaussian(0.7, time_scale=pp.Power(-0.5)),
    "by agent": pp.Gaussian(np.linspace(0.3, 1.5, AGENTS)),
    "ar1": pp.Gaussian(0.7, temporal=pp.AR1(0.6)),
    "negative ar1": pp.Gaussian(0.7, time_scale=pp.Power(0.3), temporal=pp.AR1(-0.4)),
    "frozen": pp.Gaussian(0.7, temporal="frozen"),
    "some without": pp.Gaussian(np.array([0.0, 0.7, 0.4, 0.0, 0.9, 1.0, 0.5])),
}
STARTS: dict[str, Any] = {"hidden": "hidden", "given": np.linspace(-1.0, 1.0, AGENTS)}
VIEWS: dict[str, Observation] = {
    "all": Observation(),
    "some agents": Observation(agents=[0, 2, 3, 6]),
    "gaps": Observation(times=[1, 2, 5, 8, 9]),
    "late": Observation(first_step=4),
    "rounded": Observation(rounding=0.5, sees_start=True),
    "some with their start": Observation(agents=[1, 2, 5], sees_start=True),
}
NEEDS_ALL = tuple(name for name, method in METHODS.items() if method.complete)
FACTORS = np.array([0.0, 1.0, 0.3, 0.8, 0.5, 0.2, 0.9])
KINDS: dict[str, dict[str, Any]] = {
    "adapting": {"adaptation": pp.Adaptation("0.9/(1 + t)", adaptation_weight=FACTORS)},
    "adapting alike": {"adaptation": 0.2},
    "temporal": {"network": temporal_network(n=AGENTS, seed=2)},
    "both": {"network": temporal_network(n=AGENTS, seed=4, period=12), "adaptation": pp.Adaptation(0.3, FACTORS)},
}


def small_model(noise: str = "white", start: str = "hidden", seed: int = 3) -> pp.Model:
    """Return a random weighted model of a few agents."""
    return random_model(AGENTS, seed, noise=NOISES[noise], start=STARTS[start])


def extended(kind: str, noise: str | pp.noise.Noise = "white", start: str = "hidden", **parts: Any) -> pp.Model:
    """Return a small model of one of the kinds."""
    base = random_model(AGENTS, 3)
    values: dict[str, Any] = {
        "network": base.network,
        "hidden": base.x0,
        "stubbornness": base.s,
        "noise": NOISES[noise] if isinstance(noise, str) else noise,
        "start": STARTS[start],
        "pressure": pp.Linear(0.4),
    }
    return pp.Model(**(values | KINDS.get(kind, {}) | parts))


def with_holes(run: pp.Trajectory, share: float, seed: int = 0) -> pp.Trajectory:
    """Return the run with some outputs missing, alike in all replicates."""
    assert run.states is not None
    states = run.states.copy()
    states[:, np.random.default_rng(seed).random(states.shape[1:]) < share] = np.nan
    return replace(run, states=states)


def seen_rows(model: pp.Model, data: Answers) -> tuple[Affine, Array]:
    """Return the joint law of the outputs that are there, by the dense oracle, and their values, (N, replicates)."""
    public, _ = joint_paths(model, max(1, data.seen.last))
    steps, columns = np.nonzero(data.present)
    rows = public[data.seen.times[steps], data.seen.agents[columns]].with_error(np.sqrt(data.seen.noise_variance))
    return rows, np.asarray(data.values[:, data.present], dtype=np.float64).T


def assert_same(one: Estimate, other: Estimate, tolerance: float = 1e-8) -> None:
    """Check that two estimates agree in what is identified, in values and in covariances."""
    who = one.identified
    np.testing.assert_array_equal(who, other.identified)
    assert one.rank == other.rank
    np.testing.assert_allclose(one.value[:, who], other.value[:, who], rtol=tolerance, atol=tolerance)
    found, wanted = ((e.covariance @ np.eye(e.model.n))[np.ix_(who, who)] for e in (one, other))
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * (1 + np.abs(wanted).max(initial=0.0)))
