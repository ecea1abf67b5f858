"""How fast: what each schedule forgets, when agents agree and when they are right, and what tuning gains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert, k2
from peerpressure.noise import Gaussian
from peerpressure.reproduction.convergence import AGENTS, NOISE, SEED, agents_drawn, closeness
from peerpressure.schedules import Formula, Linear, Power, Schedule, StretchedExponential
from peerpressure.simulation import simulate
from peerpressure.theory._contraction import contraction_product
from peerpressure.theory._moments import consensus_mode, moments
from peerpressure.theory._rates import ideal_deviation

SCHEDULES: Sequence[Schedule] = (Linear(), Formula("t*log(1 + t)"), Power(1.5), StretchedExponential())
PATHS = 6
PER_DECADE = 12
NORMAL_95 = 1.959963984540054


@final
@dataclass(frozen=True, eq=False)
class Approach:
    """How one model comes to agree and to be right: the exact law, and some simulated paths."""

    exact: pd.DataFrame
    paths: pd.DataFrame


def scale_free_model(seed: int = SEED, *, agents: int = AGENTS, noise: float = NOISE) -> Model:
    """Return ρ_t = t on a scale-free graph with odd cycles, with the agents of the convergence experiment."""
    return Model(barabasi_albert(agents, 2, seed=seed), *agents_drawn(agents, seed), Linear(), Gaussian(noise))


def contraction_products(steps: int = 10_000, schedules: Sequence[Schedule] = SCHEDULES) -> pd.DataFrame:
    """Return Π α_k up to t for two agents with s = 1, who under ρ_t = t have exactly 1/(t + 1)."""
    times = spaced_times(steps)
    rows = [
        pd.DataFrame(
            {
                "schedule": schedule.formula_text,
                "time": times,
                "product": contraction_product(Model(k2(), [0.0, 1.0], pressure=schedule), steps)[times - 1],
                "forgets": schedule.growth.reciprocal_sum_diverges,
            }
        )
        for schedule in schedules
    ]
    return pd.concat(rows, ignore_index=True)


def approach(model: Model, steps: int = 5_000, *, paths: int = PATHS, seed: int = SEED) -> Approach:
    """Return the law of the consensus mode m_t = Σ d y/Σ d, and distance and spread, exact and simulated.

    distance² = Σ d (y − v)²/Σ d and spread² = Σ d (y − m)²/Σ d, so that distance² = spread² + (m − v)².
    """
    times = spaced_times(steps)
    return Approach(_exact_approach(model, times), _simulated_approach(model, times, paths, seed))


def _exact_approach(model: Model, times: NDArray[np.int64]) -> pd.DataFrame:
    near = closeness(model, times)
    return pd.DataFrame(
        {
            "time": times,
            "error": near.bias,
            "error_low": near.bias - NORMAL_95 * near.std,
            "error_high": near.bias + NORMAL_95 * near.std,
            "distance": near.distance,
            "spread": near.spread,
        }
    )


def _simulated_approach(model: Model, times: NDArray[np.int64], paths: int, seed: int) -> pd.DataFrame:
    run, mode = simulate(model, int(times[-1]), paths, seed=seed), consensus_mode(model)
    assert run.states is not None, "all states were asked for"
    states = run.states[:, times]
    common = mode(states)
    return pd.DataFrame(
        {
            "path": np.repeat(run.replicates, times.size),
            "time": np.tile(times, paths),
            "error": (common - model.consensus_value).ravel(),
            "distance": np.sqrt(mode((states - model.consensus_value) ** 2)).ravel(),
            "spread": np.sqrt(mode((states - common[:, :, None]) ** 2)).ravel(),
        }
    )


def tuning(model: Model, steps: int = 10_000) -> pd.DataFrame:
    """Return the exact error of the consensus mode under ρ_t = t and under ρ_t = κt, beside the ideal deviation."""
    times, mode = spaced_times(steps), consensus_mode(model)
    rows = []
    for name, schedule in (("t", Linear()), ("κt", Linear.tuned(model.network, model.s))):
        law = moments(replace(model, pressure=schedule), steps, of=mode, times=times)
        bias, std = law.mean[:, 0] - model.consensus_value, law.std[:, 0]
        ideal = [ideal_deviation(model, int(t)) for t in times]
        columns = {"time": times, "bias": bias, "std": std, "rms": np.hypot(bias, std), "ideal": ideal}
        rows.append(pd.DataFrame({"schedule": name, **columns}))
    return pd.concat(rows, ignore_index=True)


def spaced_times(steps: int) -> NDArray[np.int64]:
    """Return times from 1 to ``steps``, evenly spaced in their logarithm.

    >>> spaced_times(10)
    array([ 1,  2,  3,  4,  5,  6,  7,  8, 10])
    """
    count = int(PER_DECADE * np.log10(steps)) + 1
    return np.unique(np.round(np.geomspace(1, steps, count)).astype(np.int64))
