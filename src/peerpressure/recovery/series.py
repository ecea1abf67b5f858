"""Each agent's own series r_t = π_{t−1} x₀ + ε_t, whitened, with its residuals; given the answers around it.

A step of an agent counts if the agent and all of its neighbours of the step before are observed. All other answers are
given: from a hidden start the first step is, because it contains the x₀ of neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.statespace import System, discrete_model
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.recovery._diagnostics import FitDiagnostics, Likelihood, Residuals
from peerpressure.recovery.innovations import observed_steps
from peerpressure.recovery.least_squares import innovation_std, whiten_pair
from peerpressure.recovery.limits import INVERTED_DIGITS, NEGLIGIBLE
from peerpressure.recovery.observation import Answers
from peerpressure.support.progress import check_cancelled

# Rounding errors of a residual above this part of its noise would be tested instead of the noise.
_LOST = 0.1


def noise_std_by_step(model: Model, data: Answers) -> Array:
    """Return σ_t of the steps up to the last, (T, n)."""
    return model.noise.scale(np.arange(1, data.seen.last + 1))[:, None] * model.noise.deviations(model.n)


@final
@dataclass(frozen=True, eq=False)
class Whitened:
    """Whitened series b = a x₀ + e with unit noise e: b (replicates, T, n), a and ``present`` (T, n).

    ``std`` (T, n) is what an answer's standard deviation was given x₀ and the answer before.
    """

    times: NDArray[np.int64]
    values: Array
    slope: Array
    present: NDArray[np.bool_]
    std: Array


def whitened(model: Model, data: Answers) -> Whitened:
    """Return the agents' own series with the correlation in time removed; gaps are bridged by φ to their length."""
    steps, phi = observed_steps(model, data), model.noise.autocorrelation
    sigma = model.noise.scale(steps.times)[:, None] * model.noise.deviations(model.n)
    gains = np.array([model.update(int(t)).gain for t in steps.times]).reshape(sigma.shape)
    lost = INVERTED_DIGITS * float(np.finfo(data.values.dtype).eps) * (1 + np.abs(steps.public).max(initial=0.0))
    lost = np.divide(lost, gains, out=np.full(gains.shape, np.inf), where=gains > 0)
    present = steps.present & (sigma > 0) & (lost <= _LOST * sigma)
    sigma = np.where(present, sigma, 1.0)
    b, a = steps.series / sigma, np.where(present, steps.pi, 0.0) / sigma
    std = gains * sigma
    if phi:
        gaussian = isinstance(model.noise, Gaussian)
        present, b, a, std = _unlinked(steps.times, phi, present, b, a, std, across_gaps=gaussian)
    return Whitened(steps.times, b, a, present, std)


def _unlinked(
    times: NDArray[np.int64],
    phi: float,
    present: NDArray[np.bool_],
    b: Array,
    a: Array,
    std: Array,
    *,
    across_gaps: bool,
) -> tuple[NDArray[np.bool_], Array, Array, Array]:
    """Return (v_t − link v_{t−1})/√(1 − link²) of series and slopes, with what is present and the standard deviations.

    Draws add up across a gap and before the first step, and are normal only if each of them is.
    """
    present, new_b, new_a, std = present.copy(), b.copy(), a.copy(), std.copy()
    last = np.full(present.shape[1], -1)
    for row in range(times.size):
        # A copy, as an answer without a residual of its own still links the next one.
        here = present[row].copy()
        link = np.where(last >= 0, phi ** (times[row] - times[last]).astype(np.float64), 0.0)
        columns = np.arange(last.size)
        new_b[:, row] = whiten_pair(b[:, row], b[:, last, columns], link)
        new_a[row] = whiten_pair(a[row], a[last, columns], link)
        std[row] *= innovation_std(link)
        if not across_gaps:
            present[row] &= (last >= 0) & (times[row] - times[last] == 1)
        last[here] = row
    return present, new_b, new_a, std


def recursive(series: Whitened, known: Array) -> tuple[Array, Array, Array]:
    """Return residuals (replicates, T, n), and information (n,) and estimate (replicates, n) of each x₀ in the end."""
    replicates, n = known.shape
    # The estimates are kept as differences from a first one: a large x₀ with small noise would cancel all digits.
    given = ~np.isnan(known[0])
    shift = np.where(given, np.nan_to_num(known), _first_estimate(series))
    # Infinite information: no answer moves an opinion that is known.
    information, total = np.where(given, np.inf, 0.0), np.zeros((replicates, n))
    out = np.full(series.values.shape, np.nan)
    for row, here in enumerate(series.present):
        check_cancelled()
        a = series.slope[row]
        b = series.values[:, row] - a * shift
        sum_of = np.where(information > 0, information, 1.0)
        predicted = np.where(given, 0.0, total / sum_of)
        ready = here & (information > 0)
        out[:, row] = np.where(ready, (b - a * predicted) / np.sqrt(1 + a**2 / sum_of), np.nan)
        information = information + np.where(here, a**2, 0.0)
        total += np.where(here, a * b, 0.0)
    mean = np.where(given, 0.0, total / np.where(information > 0, information, 1.0))
    return out, information, shift + mean


def _first_estimate(series: Whitened) -> Array:
    usable = series.present & (np.abs(series.slope) > NEGLIGIBLE)
    first, columns = np.argmax(usable, axis=0), np.arange(usable.shape[1])
    slope = np.where(usable[first, columns], series.slope[first, columns], 1.0)
    return np.asarray(np.where(usable.any(axis=0), series.values[:, first, columns] / slope, 0.0))


def given_others(system: System, data: Answers, rows: NDArray[np.bool_] | None = None) -> Residuals:
    """Return the residuals of the steps that count, and their log-likelihood given all other answers.

    ``rows`` (T, n) may select among these steps: those of a fit.
    """
    model = discrete_model(system)
    series = whitened(model, data)
    if rows is not None:
        series = replace(series, present=series.present & rows)
    values, information, _ = recursive(series, data.known)
    there = series.present
    squares = np.nansum(np.square(values), axis=(1, 2))
    logs = 2 * float(np.log(series.std[there]).sum())
    free = int((np.isfinite(information) & (information > 0)).sum())
    likelihood = Likelihood.gaussian(squares, logs, free, int(there.sum()))
    return Residuals(series.times, np.arange(model.n), values, likelihood)


def conditional_tests(model: System, data: Answers, rows: NDArray[np.bool_] | None = None) -> FitDiagnostics:
    """Return tests of a model on the steps that count, given all other answers; nothing is computed yet."""
    # A fit needs the series, and only tests of it the scores.
    from peerpressure.recovery._score_tests import score_tests

    def residuals(system: System, seen: Answers) -> Residuals:
        return given_others(system, seen, rows)

    return FitDiagnostics(model, data, residuals, lambda *_: None, score_tests)
