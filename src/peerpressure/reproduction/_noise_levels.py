"""The effect of the noise level on convergence: whether larger noise slows it or only adds variance."""

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
from peerpressure.reproduction.design import (
    AGENTS,
    NORMAL_95,
    SEED,
    agents_drawn,
    check_replications,
    log_spaced_times,
    stream,
)
from peerpressure.simulation import Record, simulate
from peerpressure.theory._moments import consensus_mode, moments

# From noise that leaves the first steps visible to the largest of the sweep.
LEVELS = (0.1, 1.0, 5.0, 10.0)
STEPS = 3_000
REPLICATIONS = 100
NEAR = 0.01  # weighted RMS distance to v, a hundredth of the range of opinions
QUANTITIES = ("bias", "std", "weighted_distance", "weighted_disagreement")


@final
@dataclass(frozen=True, eq=False)
class NoiseLevelsResult:
    """One network under several levels of noise: paths, exact law, and fitted powers of t."""

    model: Model
    paths: pd.DataFrame
    law: pd.DataFrame
    exponents: pd.DataFrame

    @property
    def hitting_times(self) -> pd.DataFrame:
        """The table ``noise_hitting_times``, from the exact fits of the weighted RMS distance."""
        fits = self.exponents.query("quantity == 'weighted_distance' and source == 'exact'")
        # The time at which constant·t^(−exponent) equals the distance.
        times = (fits["constant"] / NEAR) ** (1 / fits["exponent"])
        known = float(self.law["time"].max())
        columns = {"noise": fits["noise"], "distance": NEAR, "exponent": fits["exponent"]}
        columns |= {"constant": fits["constant"], "time": times, "extrapolated": times > known}
        return pd.DataFrame(columns).reset_index(drop=True)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        noise_paths
            noise, time, minimum, maximum, expected_minimum, expected_maximum, consensus_value: the extremes over agents
            of one run, and those of the expected path, which is the same for every noise level.
        noise_law
            noise, time, bias, std, weighted_distance, weighted_disagreement: exact. Bias and std are those of the
            consensus mode; the root mean squares about v and about the mode are weighted by degree, and
            weighted_distance² = weighted_disagreement² + bias² + std².
        noise_exponents
            noise, quantity (bias, std, weighted_distance, weighted_disagreement), source (exact, sampled), exponent,
            standard_error, low, high, constant: fits of constant·t^(−exponent) over the last decade. The standard error
            of a sampled fit is a jackknife over replicates; that of an exact fit measures how far the law is from a
            pure power.
        noise_hitting_times
            noise, distance, exponent, constant, time, extrapolated: the time at which the fitted power law of the exact
            weighted RMS distance reaches this distance; extrapolated is True if that is after the last exact time.
        """
        return {
            "noise_paths": self.paths,
            "noise_law": self.law,
            "noise_exponents": self.exponents,
            "noise_hitting_times": self.hitting_times,
        }


@final
@dataclass(frozen=True, eq=False)
class _UnitLaw:
    """The exact law under σ₀ = 1; ``squared_bias`` and ``squared_noise`` are the parts of weighted_distance²."""

    times: NDArray[np.int64]
    bias: NDArray[np.float64]
    variance: NDArray[np.float64]
    squared_bias: NDArray[np.float64]
    squared_noise: NDArray[np.float64]


def noise_levels(
    seed: int = SEED,
    replications: int = REPLICATIONS,
    *,
    steps: int = STEPS,
    levels: Sequence[float] = LEVELS,
    model: Model | None = None,
) -> NoiseLevelsResult:
    """Simulate a scale-free graph under ρ_t = t with normal noise of several levels, and fit powers of t.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    replications : int, default 100
        Runs per level, from which sampled exponents are estimated; 2 or more.
    steps : int, default 3,000
        Length of the runs.
    levels : sequence of float
        Standard deviations σ₀.
    model : Model, optional
        A model to use in place of the scale-free one; its noise is replaced by the levels.

    Returns
    -------
    NoiseLevelsResult
        Paths, exact law and fitted exponents; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    convergence : Slow and fast peer pressure at one noise level.

    Examples
    --------
    >>> noise_levels(replications=4, steps=100, levels=[1.0]).exponents["quantity"].tolist()
    ['bias', 'std', 'weighted_distance', 'weighted_disagreement', 'weighted_distance', 'weighted_disagreement']
    """
    chosen = model or Model(barabasi_albert(AGENTS, 2, seed=seed), *agents_drawn(AGENTS, seed), noise=Gaussian(1.0))
    unit, count = replace(chosen, noise=Gaussian(1.0)), check_replications(replications, "noise levels")
    times = log_spaced_times(steps)
    unit_law = _unit_law(unit, times)
    law = pd.concat([_law(level, unit_law) for level in levels], ignore_index=True)
    # The last decade, where lower-order terms of the power laws have vanished.
    late = times >= steps / 10
    expected = simulate(replace(chosen, noise=NoNoise()), steps, record="summaries")
    # One seed for all levels, so that they differ in σ₀ and in nothing else.
    noise_seed, paths, fits = stream(seed, "noise levels"), [], []
    for level in levels:
        noisy = replace(chosen, noise=Gaussian(level))
        path = simulate(noisy, steps, seed=noise_seed, record="summaries")
        extremes = {"minimum": path.minimum, "maximum": path.maximum}
        extremes |= {"expected_minimum": expected.minimum, "expected_maximum": expected.maximum}
        own = _path(level, np.concatenate([[0], times]), extremes)
        paths.append(own.assign(consensus_value=chosen.consensus_value))
        fits += _exact_fits(level, law[law["noise"] == level][late])
        fits += _sampled_fits(noisy, level, steps, count, noise_seed)
    return NoiseLevelsResult(chosen, pd.concat(paths, ignore_index=True), law, pd.DataFrame(fits))


def _unit_law(unit: Model, times: NDArray[np.int64]) -> _UnitLaw:
    """Return the law under σ₀ = 1; at another level the means are the same and the variances σ₀² times these."""
    v, mode, last = unit.consensus_value, consensus_mode(unit), int(times[-1])
    # One pair of moment recursions serves all levels, because covariances are proportional to σ₀².
    agents, common = moments(unit, last, times=times), moments(unit, last, of=mode, times=times)
    squared_bias, squared_noise = mode((agents.mean - v) ** 2), mode(agents.variance)
    return _UnitLaw(times, common.mean[:, 0] - v, common.variance[:, 0], squared_bias, squared_noise)


def _law(level: float, unit: _UnitLaw) -> pd.DataFrame:
    distance2 = unit.squared_bias + level**2 * unit.squared_noise
    # Orthogonal decomposition: the cross term vanishes as m is the mean with the same weights.
    disagreement2 = distance2 - unit.bias**2 - level**2 * unit.variance
    return pd.DataFrame(
        {
            "noise": level,
            "time": unit.times,
            "bias": unit.bias,
            "std": level * np.sqrt(unit.variance),
            "weighted_distance": np.sqrt(distance2),
            # Rounding can make the difference slightly negative.
            "weighted_disagreement": np.sqrt(np.maximum(disagreement2, 0.0)),
        }
    )


def _path(level: float, times: NDArray[np.int64], extremes: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({"noise": level, "time": times, **{name: all_[0, times] for name, all_ in extremes.items()}})


def _mean_squares(model: Model, states: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the squares of weighted RMS distance and disagreement over agents, (replicates, times)."""
    mode = consensus_mode(model)
    common = mode(states)
    return {
        "weighted_distance": mode((states - model.consensus_value) ** 2),
        "weighted_disagreement": mode((states - common[:, :, None]) ** 2),
    }


def _exact_fits(level: float, law: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for name in QUANTITIES:
        # A power law is a line in logarithms; the bias may be negative, and its size is fitted.
        x, y = np.log(law["time"].to_numpy()), np.log(law[name].abs().to_numpy())
        (slope, start), covariance = np.polyfit(x, y, 1, cov=True)
        rows.append(_fitted(level, name, "exact", -slope, float(np.sqrt(covariance[0, 0])), start))
    return rows


def _sampled_fits(noisy: Model, level: float, steps: int, replications: int, seed: int) -> list[dict[str, Any]]:
    """Fit root mean squares over replicates; leave each replicate out in turn for the standard error."""
    # A hundred times determine a power as well as all of them, and fit in memory.
    run = simulate(noisy, steps, replications, seed=seed, record=Record(every=max(1, steps // 100), summaries=False))
    assert run.states is not None, "the record keeps states"
    late = run.times >= steps / 10
    rows, x = [], np.log(run.times[late])
    for name, values in _mean_squares(noisy, run.states[:, late]).items():
        count = len(values)
        # The logarithm after the mean over replicates: the mean of logarithms would be biased downwards. Half of the
        # logarithm of the mean square is that of the RMS.
        slope, start = np.polyfit(x, np.log(values.mean(axis=0)) / 2, 1)
        # (replicates, times): the mean over all replicates but one, for each of them, without a loop.
        without = (values.sum(axis=0) - values) / (count - 1)
        # The times of one run are correlated, which the covariance of the fit ignores; hence the jackknife.
        others = np.polyfit(x, np.log(without).T / 2, 1)[0]
        # Jackknife variance (n − 1)/n·Σ(θᵢ − θ̄)², with np.var dividing by n.
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
