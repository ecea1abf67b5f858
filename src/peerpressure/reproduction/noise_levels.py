"""What louder noise does to convergence: whether it slows it, or only adds variance.

Tables
------
noise_paths
    noise, time, minimum, maximum, expected_minimum, expected_maximum: the extremes over agents of one run, and those of
    the expected path, which is the same for every noise.
noise_law
    noise, time, bias, std, distance, spread: exact; bias and std of the consensus mode, distance to v and spread as
    root mean squares weighted by degree, distance² = spread² + bias² + std².
noise_exponents
    noise, quantity (bias, std, distance, spread), source (exact, sampled), exponent, standard_error, low, high,
    constant: fits of constant·t^(−exponent) over the last decade; the standard error of a sampled fit is a jackknife
    over replicates, that of an exact one shows how far the law is from a pure power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert
from peerpressure.noise import Gaussian, NoNoise
from peerpressure.reproduction.convergence import AGENTS, SEED, agents_drawn
from peerpressure.reproduction.rates import spaced_times
from peerpressure.reproduction.streams import enough, stream
from peerpressure.simulation import Record, simulate
from peerpressure.theory._moments import consensus_mode, moments

# From noise that leaves the first steps to be seen to the loudest of the sweep.
LEVELS = (0.1, 1.0, 5.0, 10.0)
STEPS = 3_000
REPLICATIONS = 100
QUANTITIES = ("bias", "std", "distance", "spread")
NORMAL_95 = 1.959963984540054


@final
@dataclass(frozen=True, eq=False)
class NoiseLevelsResult:
    """One network under several levels of noise: paths, exact law, and fitted powers of t."""

    model: Model
    paths: pd.DataFrame
    law: pd.DataFrame
    exponents: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return paths, law and exponents."""
        return {"noise_paths": self.paths, "noise_law": self.law, "noise_exponents": self.exponents}


@final
@dataclass(frozen=True, eq=False)
class _Squares:
    """The exact law for unit noise: times, bias of the mode, its variance, and mean squares without and with noise."""

    times: NDArray[np.int64]
    bias: NDArray[np.float64]
    variance: NDArray[np.float64]
    still: NDArray[np.float64]
    noisy: NDArray[np.float64]


def noise_levels(
    seed: int = SEED,
    replications: int = REPLICATIONS,
    *,
    steps: int = STEPS,
    levels: Sequence[float] = LEVELS,
    model: Model | None = None,
) -> NoiseLevelsResult:
    """Run a scale-free graph with odd cycles under ρ_t = t and normal noise of several levels.

    >>> noise_levels(replications=4, steps=100, levels=[1.0]).exponents["quantity"].tolist()
    ['bias', 'std', 'distance', 'spread', 'distance', 'spread']
    """
    chosen = model or Model(barabasi_albert(AGENTS, 2, seed=seed), *agents_drawn(AGENTS, seed), noise=Gaussian(1.0))
    unit, count = replace(chosen, noise=Gaussian(1.0)), enough(replications, "noise levels")
    times = spaced_times(steps)
    squares = _squares(unit, times)
    law = pd.concat([_law(level, squares) for level in levels], ignore_index=True)
    late = times >= steps / 10
    expected = simulate(replace(chosen, noise=NoNoise()), steps, record="summaries")
    # One seed for all levels: they differ in how loud the noise is and in nothing else.
    noise_seed, paths, fits = stream(seed, "noise levels"), [], []
    for level in levels:
        loud = replace(chosen, noise=Gaussian(level))
        path = simulate(loud, steps, seed=noise_seed, record="summaries")
        extremes = {"minimum": path.minimum, "maximum": path.maximum}
        extremes |= {"expected_minimum": expected.minimum, "expected_maximum": expected.maximum}
        paths.append(_path(level, np.concatenate([[0], times]), extremes))
        fits += _exact_fits(level, law[law["noise"] == level][late])
        fits += _sampled_fits(loud, level, steps, count, noise_seed)
    return NoiseLevelsResult(chosen, pd.concat(paths, ignore_index=True), law, pd.DataFrame(fits))


def _squares(unit: Model, times: NDArray[np.int64]) -> _Squares:
    """Return the law under unit noise; at level σ₀ means stay and variances are σ₀² of these."""
    v, mode, last = unit.consensus_value, consensus_mode(unit), int(times[-1])
    agents, common = moments(unit, last, times=times), moments(unit, last, of=mode, times=times)
    still, noisy = mode((agents.mean - v) ** 2), mode(agents.variance)
    return _Squares(times, common.mean[:, 0] - v, common.variance[:, 0], still, noisy)


def _law(level: float, unit: _Squares) -> pd.DataFrame:
    distance = unit.still + level**2 * unit.noisy
    spread = distance - unit.bias**2 - level**2 * unit.variance
    return pd.DataFrame(
        {
            "noise": level,
            "time": unit.times,
            "bias": unit.bias,
            "std": level * np.sqrt(unit.variance),
            "distance": np.sqrt(distance),
            # Rounding may leave less than nothing.
            "spread": np.sqrt(np.maximum(spread, 0.0)),
        }
    )


def _path(level: float, times: NDArray[np.int64], extremes: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({"noise": level, "time": times, **{name: all_[0, times] for name, all_ in extremes.items()}})


def _mean_squares(model: Model, states: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the squares of distance and spread, (replicates, times)."""
    mode = consensus_mode(model)
    common = mode(states)
    return {
        "distance": mode((states - model.consensus_value) ** 2),
        "spread": mode((states - common[:, :, None]) ** 2),
    }


def _exact_fits(level: float, law: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for name in QUANTITIES:
        x, y = np.log(law["time"].to_numpy()), np.log(law[name].abs().to_numpy())
        (slope, start), covariance = np.polyfit(x, y, 1, cov=True)
        rows.append(_fitted(level, name, "exact", -slope, float(np.sqrt(covariance[0, 0])), start))
    return rows


def _sampled_fits(loud: Model, level: float, steps: int, replications: int, seed: int) -> list[dict[str, Any]]:
    """Fit root mean squares over replicates; leave each replicate out in turn for the standard error."""
    # A hundred times of the run say as much of a power as all, and fit in memory.
    run = simulate(loud, steps, replications, seed=seed, record=Record(every=max(1, steps // 100), summaries=False))
    assert run.states is not None, "states were asked for"
    late = run.times >= steps / 10
    rows, x = [], np.log(run.times[late])
    for name, values in _mean_squares(loud, run.states[:, late]).items():
        count = len(values)
        slope, start = np.polyfit(x, np.log(values.mean(axis=0)) / 2, 1)
        without = (values.sum(axis=0) - values) / (count - 1)
        others = np.polyfit(x, np.log(without).T / 2, 1)[0]
        error = float(np.sqrt((count - 1) * np.var(others)))
        rows.append(_fitted(level, name, "sampled", -slope, error, start))
    return rows


def _fitted(level: float, name: str, source: str, exponent: float, error: float, start: float) -> dict[str, Any]:
    half = NORMAL_95 * error
    return {
        "noise": level,
        "quantity": name,
        "source": source,
        "exponent": exponent,
        "standard_error": error,
        "low": exponent - half,
        "high": exponent + half,
        "constant": float(np.exp(start)),
    }
