"""Standardised one-step-ahead residuals: independent and standard normal if the model made the outputs.

Each output is predicted from those before it, x₀ included: with white or AR(1) noise whitened to b_t = a_t x₀ + e_t,

    w_t = (b_t − a_t x̂_{t−1}) / √(1 + a_tᵀ P_{t−1} a_t),

where x̂ and P are estimate and covariance of x₀ given the earlier outputs. These recursive residuals [1]_ are exactly
independent N(0, 1) under Gaussian noise, while those about the final x̂ are correlated. Outputs that are used up to
determine x₀ have none. Under another law, w_t = Φ⁻¹(u_t), where u_t is the probability of a smaller output given the
earlier ones if x₀ has a flat prior. That is the conditional law of what does not depend on x₀, so that the u_t are
exactly independent and uniform, too.

The sum of squares and the variances that outputs have given x₀ give the log-likelihood at its maximum in x₀.

References
----------
.. [1] Brown, R. L., Durbin, J. & Evans, J. M. (1975), Techniques for testing the constancy of regression relationships
   over time. JRSS B 37.
.. [2] Rosenblatt, M. (1952), Remarks on a multivariate transformation. Annals of Mathematical Statistics 23.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from peerpressure.errors import TooLargeError
from peerpressure.model import Model
from peerpressure.noise import Gaussian, NoNoise, Rademacher, Uniform
from peerpressure.progress import checkpoint
from peerpressure.recovery._information_state import InformationState
from peerpressure.recovery._innovations import start_row
from peerpressure.recovery._inversion import observed_steps, own_series
from peerpressure.recovery._kalman import run_filter
from peerpressure.recovery._least_squares import conjugate_gradients, innovation_std
from peerpressure.recovery._likelihood import likelihood
from peerpressure.recovery._limits import (
    CONTRADICTION,
    DENSE_LIMIT,
    FILTER_LIMIT,
    NEGLIGIBLE,
    PATH_BYTES,
    RESIDUAL_NUMBERS,
)
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._predictive_law import ScaledLaw, law_scores
from peerpressure.recovery._recursive_rows import RecursiveRows
from peerpressure.recovery._regression import stacked
from peerpressure.recovery._sparse_kalman import SparseStates, eliminate, sparse_estimate
from peerpressure.statespace import System, initial_state, model_of, retained

Array: TypeAlias = NDArray[np.float64]
# Rounding errors of a residual above this part of its noise would be tested instead of the noise.
_LOST = 0.1
# Units in the last place by which the inversion of an update may be off.
_DIGITS = 64
# Units in the last place of the outputs that an innovation must exceed to be more than a rounding error.
_LEGIBLE_DIGITS = 1000
# Noise narrower than this part of the spacing of rounded outputs leaves rounding errors that depend on the values.
_NARROW = 0.75
# Residuals of rounded outputs that an agent must have to be tested.
_FEW_ROUNDED = 4
# Outputs of frozen noise that are looked at, for each agent: after these all that they can tell is told.
_FROZEN_OUTPUTS = 12
# Combinations of outputs whose size is below this part of the largest would multiply rounding errors.
_LEGIBLE_PART = 1e-8


class Likelihood(NamedTuple):
    """The log-likelihood (replicates,) at its maximum in x₀, the directions of x₀ maximised over, and the outputs."""

    height: Array
    parameters: int
    outputs: int


@final
@dataclass(frozen=True, eq=False)
class Residuals:
    """Residuals ``values`` (replicates, T, k) at ``times`` (T,) of ``agents`` (k,), NaN where there is none.

    ``likelihood`` is None where outputs have no density or are not all used.
    """

    times: NDArray[np.int64]
    agents: NDArray[np.int64]
    values: Array
    likelihood: Likelihood | None = None


def residuals(system: System, data: Outputs) -> Residuals | None:
    """Return the residuals of outputs, None where none can be computed: their law or size is out of reach."""
    model = model_of(system)
    if not data.present.any():
        return None
    inverts = isinstance(system, Model) and not data.seen.rounding and not model.noise.is_frozen
    if not isinstance(model.noise, Gaussian):
        return _of_series(model, data) if inverts and _has_density(model) else None
    # Inversion is fast and loses nothing from complete outputs; from others it leaves out agents with a neighbour that
    # is not observed, so that it is used only where the filter takes too long.
    whole = data.complete and data.seen.free.size in (0, model.n) and bool((_deviations(model, data) > 0).all())
    if inverts and (whole or model.n > FILTER_LIMIT):
        return _of_series(model, data)
    if model.n > FILTER_LIMIT:
        return None
    exact = model.noise.is_frozen and not data.seen.rounding
    return _frozen(model, data) if exact and isinstance(system, Model) else _filtered(system, data)


def _has_density(model: Model) -> bool:
    """Return whether the law of the noise has a density that `law_scores` can follow: on the whole line, or uniform."""
    noise = model.noise
    if isinstance(noise, (Rademacher, NoNoise)):
        return False
    law = noise.unit()
    return isinstance(noise, Uniform) or (hasattr(law, "logpdf") and bool(np.isinf(law.support()).all()))


def _deviations(model: Model, data: Outputs) -> Array:
    """Return σ_t of the steps up to the last, (T, n)."""
    return model.noise.scale(np.arange(1, data.seen.last + 1))[:, None] * model.noise.deviations(model.n)


# From each agent's own series r_t = π_{t−1} x₀ + ε_t, which needs its neighbours' outputs.


@final
@dataclass(frozen=True, eq=False)
class Whitened:
    """Whitened series b = a x₀ + e with unit noise e: b (replicates, T, n), a and ``present`` (T, n).

    ``std`` (T, n) is what an output's standard deviation was given x₀ and the output before.
    """

    times: NDArray[np.int64]
    values: Array
    slope: Array
    present: NDArray[np.bool_]
    std: Array


def _of_series(model: Model, data: Outputs) -> Residuals | None:
    part = _first_steps(data)
    if part is None:
        return None
    series, everyone = _whitened(model, part), np.arange(model.n)
    if not isinstance(model.noise, Gaussian):
        values = law_scores(series.values, series.slope, series.present, data.known, model.noise)
        return _with_law(model, data, Residuals(series.times, everyone, values))
    values, information, mean = _recursive(series, data.known)
    from_hidden = initial_state(model).starts_from_hidden and data.seen.free.size == model.n
    first = int(from_hidden)
    if not (part is data and data.complete and series.present[first:].all()):
        return Residuals(series.times, everyone, values)
    squares = np.nansum(np.square(values), axis=(1, 2))
    logs = 2 * float(np.log(series.std[first:]).sum())
    parameters = data.seen.free.size
    if from_hidden:
        values[:, 0], more, log_first = _first_step(model, data, series, information, mean)
        squares, logs = squares + more, logs + log_first
        parameters = min(parameters, int(np.isnan(values[0]).sum()))
    count = data.seen.last * model.n
    height = -0.5 * (count * np.log(2 * np.pi) + logs + squares)
    return Residuals(series.times, everyone, values, Likelihood(height, parameters, count))


def _with_law(model: Model, data: Outputs, found: Residuals) -> Residuals:
    """Return the residuals with the log-likelihood of white noise of another law, at its estimate of x₀.

    Where agents start from x₀, the estimate leaves out step 1, and the likelihood is a little below its maximum; that
    of uniform noise may even be 0 there, and is left out.
    """
    deviations, from_hidden = _deviations(model, data), initial_state(model).starts_from_hidden
    large = data.seen.last * data.known.size > RESIDUAL_NUMBERS
    cut = isinstance(model.noise, Uniform) and from_hidden and data.seen.free.size
    if model.noise.autocorrelation or large or cut or not (data.complete and deviations.all()):
        return found
    estimate = likelihood(model, data) if data.seen.free.size else None
    if estimate is not None and not estimate.identified.all():
        return found
    x = (data.known if estimate is None else estimate.value).T
    law, height, adopted = ScaledLaw.of(model.noise), np.zeros(x.shape[1]), np.zeros_like(x)
    before = x if from_hidden else np.tile(model.start_state[:, None], x.shape[1])
    share = np.broadcast_to(retained(model, data.seen.last), (data.seen.last + 1, model.n))
    for row, sigma in enumerate(deviations):
        update, public = model.update(row + 1), data.at(row).T
        noise = (public - update.couple(before)) / update.gain[:, None] - adopted - share[row][:, None] * x
        height += (law.log_density(noise / sigma[:, None]) - np.log(update.gain * sigma)[:, None]).sum(axis=0)
        adopted, before = update.adapt(adopted, public), public
    return replace(found, likelihood=Likelihood(height, data.seen.free.size, data.seen.last * model.n))


def _first_steps(data: Outputs) -> Outputs | None:
    """Return the outputs, or so many of the first steps that the arrays of the inversion fit in memory."""
    steps = RESIDUAL_NUMBERS // (data.known.shape[0] * data.seen.n)
    if data.seen.times.size <= steps:
        return data
    return _until(data, steps) if steps >= 2 else None


def _until(data: Outputs, steps: int) -> Outputs:
    seen = replace(data.seen, times=data.seen.times[:steps])
    return replace(data, seen=seen, values=data.values[:, :steps], present=data.present[:steps])


def _whitened(model: Model, data: Outputs) -> Whitened:
    """Return the agents' own series with the correlation in time removed; gaps are bridged by φ to their length."""
    seen, phi, n = observed_steps(model, data), model.noise.autocorrelation, model.n
    r = own_series(model, seen)
    sigma = model.noise.scale(seen.times)[:, None] * model.noise.deviations(n)
    gains = np.array([model.update(int(t)).gain for t in seen.times]).reshape(sigma.shape)
    lost = _DIGITS * float(np.finfo(data.values.dtype).eps) * (1 + np.abs(seen.public).max(initial=0.0)) / gains
    present = seen.present & (sigma > 0) & (lost <= _LOST * sigma)
    sigma = np.where(present, sigma, 1.0)
    b, a = r / sigma, np.where(present, seen.share, 0.0) / sigma
    std = gains * sigma
    if phi:
        gaussian = isinstance(model.noise, Gaussian)
        present, b, a, std = _unlinked(seen.times, phi, present, b, a, std, across_gaps=gaussian)
    return Whitened(seen.times, b, a, present, std)


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
        here = present[row].copy()
        link = np.where(last >= 0, phi ** (times[row] - times[last]).astype(np.float64), 0.0)
        fresh = innovation_std(link)
        columns = np.arange(last.size)
        new_b[:, row] = (b[:, row] - link * b[:, last, columns]) / fresh
        new_a[row] = (a[row] - link * a[last, columns]) / fresh
        std[row] *= fresh
        if not across_gaps:
            present[row] &= (last >= 0) & (times[row] - times[last] == 1)
        last[here] = row
    return present, new_b, new_a, std


def _recursive(series: Whitened, known: Array) -> tuple[Array, Array, Array]:
    """Return residuals (replicates, T, n), and information (n,) and estimate (replicates, n) of each x₀ in the end."""
    replicates, n = known.shape
    # The estimates are kept as differences from a first one: a large x₀ with small noise would cancel all digits.
    given = ~np.isnan(known[0])
    shift = np.where(given, np.nan_to_num(known), _first_estimate(series))
    information, total = np.where(given, np.inf, 0.0), np.zeros((replicates, n))
    out = np.full(series.values.shape, np.nan)
    for row, here in enumerate(series.present):
        checkpoint()
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


def _first_step(
    model: Model, data: Outputs, series: Whitened, information: Array, mean: Array
) -> tuple[Array, Array, float]:
    """Return residuals (replicates, n), their sum of squares and Σ log variance of step 1 given all later steps.

    From a hidden start, y_1/g_1 contains the x₀ of neighbours, so that its rows follow those of each agent alone.
    """
    gain, std = model.update(1).gain, model.noise.deviations(model.n)
    follows = data.seen.last > 1
    row = start_row(model, 2 if follows else None, retained(model, 1)[1])
    size = std / np.sqrt(row.weight)
    second = (series.values[:, 1] * (std * float(model.noise.scale(2)))).T if follows else None
    off = row.observed(data.at(0).T / gain[:, None], second) - row.matrix @ mean.T
    A, off = sparse.csr_array(sparse.diags_array(1 / size) @ row.matrix), off / size[:, None]
    logs = 2 * float(np.log(gain * size / row.first).sum())
    if model.n <= DENSE_LIMIT:
        found = RecursiveRows.of(np.diag(np.sqrt(information))[information > 0], off.shape[1])
        w = found.residuals(A.toarray(), off)
        return w.T, np.nansum(np.square(w), axis=0), logs
    # Too many for a dense covariance of the residuals; their sum of squares needs one solution.
    rhs, diagonal = A.T @ off, information + np.asarray(A.multiply(A).sum(axis=0)).ravel()
    moved, _ = conjugate_gradients(lambda z: information[:, None] * z + A.T @ (A @ z), rhs, diagonal)
    return np.full(mean.shape, np.nan), np.square(off).sum(axis=0) - (moved * rhs).sum(axis=0), logs


# From the Kalman filter.


def _filtered(system: System, data: Outputs) -> Residuals | None:
    """Return the residuals of the Kalman filter, from any outputs."""
    n, (replicates, steps) = model_of(system).n, data.values.shape[:2]
    outputs = int(data.present.sum())
    if 8 * outputs * (n + replicates) > PATH_BYTES:
        return None
    followed = list(_rows(system, data))
    information = followed[-1].information
    fixed, free = _constrained(information, replicates)
    out, squares, predicted = np.full((replicates, steps, n), np.nan), np.zeros(replicates), 0
    # Unknowns beyond x₀ are draws of the noise.
    rows = RecursiveRows.of((np.eye(information.n) @ free)[n:] / information.unit, replicates)
    for step in followed:
        if step.agents.size:
            checkpoint()
            A, b = step.slope @ free, step.values - step.slope @ fixed
            w = rows.residuals(A, b)
            rows = rows.condition(A, b)
            squares, predicted = squares + np.nansum(w**2, axis=0), predicted + int(np.isfinite(w[:, 0]).sum())
            out[:, step.row, step.agents] = np.where(step.is_wide[:, None], w, np.nan).T
    used, logs = sum(step.agents.size for step in followed), sum(step.log_variance for step in followed)
    if data.seen.rounding:
        # Single residuals of rounded outputs are often exactly 0, and too small for a continuous law.
        out[:, :, np.isfinite(out[0]).sum(axis=0) < _FEW_ROUNDED] = np.nan
    revealed = len(information.exact) > int((~np.isnan(data.known[0])).sum())
    found = Residuals(data.seen.times, np.arange(n), out)
    if revealed or used < outputs or information.n > n:
        return found
    height = -0.5 * (used * np.log(2 * np.pi) + logs + squares)
    return replace(found, likelihood=Likelihood(height, used - predicted, used))


def _constrained(information: InformationState, replicates: int) -> tuple[Array, Array]:
    """Return an x₀ (n, replicates) that satisfies the exact facts, and the directions (n, f) that they leave open."""
    if not len(information.exact):
        return np.zeros((information.n, replicates)), np.eye(information.n)
    exact = replace(information, noisy=information.noisy[:0], masks=0).solve().posterior
    return exact.mean.T, exact.null_space


@final
@dataclass(frozen=True, eq=False)
class FilteredRows:
    """What the filter makes of the outputs of one step: rows ``slope`` · x₀ = ``values`` + unit noise of ``agents``.

    ``is_wide`` (agents,) tells whose noise is not narrower than the spacing of rounded outputs.
    """

    row: int
    agents: NDArray[np.int64]
    slope: Array
    values: Array
    is_wide: NDArray[np.bool_]
    log_variance: float
    information: InformationState


def _rows(system: System, data: Outputs) -> Iterator[FilteredRows]:
    """Yield the rows of each observed step."""
    row_of = {int(t): row for row, t in enumerate(data.seen.times)}
    # Rounding errors are independent of one another only where outputs spread over several values.
    narrow = (_NARROW * data.seen.rounding) ** 2 + data.seen.noise_variance
    for step in run_filter(system, data, None):
        if step.t in row_of:
            row, width = row_of[step.t], step.information.n + data.known.shape[0]
            last_digit = float(np.finfo(data.values.dtype).eps) * float(np.abs(np.nan_to_num(data.at(row))).max())
            kept = [c for c in step.corrections if c.variance > (_LEGIBLE_DIGITS * last_digit) ** 2]
            variance = np.array([c.variance for c in kept])
            facts = np.array([np.concatenate([c.slope, c.constant]) for c in kept]).reshape(len(kept), width)
            slope, values = np.split(facts / np.sqrt(variance)[:, None], [step.information.n], axis=1)
            agents, logs = np.array([c.agent for c in kept], dtype=np.int64), float(np.log(variance).sum())
            yield FilteredRows(row, agents, slope, values, variance >= narrow, logs, step.information)


# From outputs of frozen noise, Y = Q x₀ + q + L u, with one draw u for each agent: all of them are exact.


def _frozen(model: Model, data: Outputs) -> Residuals | None:
    """Return what outputs tell of the draws u apart from x₀, one residual for each independent combination."""
    enough = np.searchsorted(np.cumsum(data.present.sum(axis=1)), _FROZEN_OUTPUTS * model.n)
    some = _until(data, max(2, int(enough) + 1))
    Q, q, L = stacked(model, some)
    free, known = some.seen.free, np.nan_to_num(some.known).T
    y = np.asarray(some.values[:, some.present], dtype=np.float64).T - q[:, None] - Q @ known
    left, size, right = np.linalg.svd(np.concatenate([Q[:, free], L], axis=1), full_matrices=False)
    rank = int((size > _LEGIBLE_PART * size[0]).sum())
    told = left[:, :rank].T @ y
    # What no x₀ and no draw explains contradicts the model, up to rounding errors.
    worst = float(np.abs(y - left[:, :rank] @ told).max(initial=0.0))
    if worst > CONTRADICTION * max(1.0, float(np.abs(y).max(initial=0.0))):
        return Residuals(data.seen.times[:1], np.arange(1), np.full((y.shape[1], 1, 1), np.inf))
    combinations, values = right[:rank], told / size[:rank, None]
    # Combinations without x₀: the null space of its weights.
    hidden = combinations[:, : free.size]
    across, weight, _ = np.linalg.svd(hidden)
    without = across[:, int((weight > _LEGIBLE_PART).sum()) :].T
    out = np.full((y.shape[1], 1, model.n), np.nan)
    if without.size:
        # D u = d, of which the QR factorisation makes independent combinations; each is named after the agent with the
        # largest weight in what the ones before leave.
        draws = without @ combinations[:, free.size :]
        root = np.asarray(linalg.qr(draws.T, mode="economic")[1]).T
        weights = linalg.solve_triangular(root, draws, lower=True)
        agents = linalg.qr(weights, mode="r", pivoting=True)[1][: len(draws)]
        rotation = linalg.qr(weights[:, agents])[0]
        out[:, 0, agents] = (rotation.T @ linalg.solve_triangular(root, without @ values, lower=True)).T
    return Residuals(data.seen.times[:1], np.arange(model.n), out)


# Of partial outputs of a large network.


def sparse_likelihood(model: Model, data: Outputs) -> Likelihood | None:
    """Return the log-likelihood from the elimination of unobserved states, None where that is out of reach.

    Rows with unit noise have the density of the outputs and of the unobserved states together; integrating these out
    leaves the determinant of their information.
    """
    if not isinstance(model.noise, Gaussian):
        return None
    try:
        problem = SparseStates(model, data)
        normal = eliminate(problem)
    except TooLargeError:
        return None
    estimate = sparse_estimate(model, data, None, "kalman", normal)
    free, count, phi = data.seen.free, int(data.present.sum()), model.noise.autocorrelation
    squares = normal.squares - np.einsum("ir,ri->r", normal.right, estimate.value[:, free])
    gains = np.array([model.update(t).gain for t in range(1, data.seen.last + 1)])
    logs = normal.log_det + 2 * float(np.log(gains * _deviations(model, data)).sum())
    logs += 2 * (data.seen.last - 1) * model.n * float(np.log(innovation_std(phi)))
    if data.seen.rounding:
        logs += count * float(np.log(data.seen.noise_variance))
    height = -0.5 * (count * np.log(2 * np.pi) + logs + squares)
    return Likelihood(height, estimate.rank - (model.n - free.size), count)
