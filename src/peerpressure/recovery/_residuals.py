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
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from peerpressure.errors import TooLargeError
from peerpressure.model import Model
from peerpressure.noise import Gaussian
from peerpressure.progress import ShouldStop, cancellable, checkpoint
from peerpressure.recovery._diagnostics import FitDiagnostics, Likelihood, Residuals
from peerpressure.recovery._information_state import InformationState, RecursiveRows
from peerpressure.recovery._kalman import run_filter
from peerpressure.recovery._least_squares import innovation_std
from peerpressure.recovery._limits import CONTRADICTION, FILTER_LIMIT, PATH_BYTES
from peerpressure.recovery._observation import Observation, Outputs, outputs_of
from peerpressure.recovery._regression import stacked
from peerpressure.recovery._series_residuals import first_outputs, has_density, noise_deviations, series_residuals
from peerpressure.recovery._sparse_kalman import SparseStates, eliminate, sparse_estimate
from peerpressure.statespace import System, model_of
from peerpressure.trajectory import Trajectory

Array: TypeAlias = NDArray[np.float64]
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


def residuals(system: System, data: Outputs) -> Residuals | None:
    """Return the residuals of outputs, None where none can be computed: their law or size is out of reach."""
    model = model_of(system)
    if not data.present.any():
        return None
    inverts = isinstance(system, Model) and not data.seen.rounding and not model.noise.is_frozen
    if not isinstance(model.noise, Gaussian):
        return series_residuals(model, data) if inverts and has_density(model) else None
    # Inversion is fast and loses nothing from complete outputs; from others it leaves out agents with a neighbour that
    # is not observed, so that it is used only where the filter takes too long.
    whole = data.complete and data.seen.free.size in (0, model.n) and bool((noise_deviations(model, data) > 0).all())
    whole = whole and not model.keeps
    if inverts and (whole or model.n > FILTER_LIMIT):
        return series_residuals(model, data)
    if model.n > FILTER_LIMIT:
        return None
    exact = model.noise.is_frozen and not data.seen.rounding
    return _frozen(model, data) if exact and isinstance(system, Model) else _filtered(system, data)


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
    some = first_outputs(data, max(2, int(enough) + 1))
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


def sparse_likelihood(system: System, data: Outputs) -> Likelihood | None:
    """Return the log-likelihood from the elimination of unobserved states, None where that is out of reach.

    Rows with unit noise have the density of the outputs and of the unobserved states together; integrating these out
    leaves the determinant of their information.
    """
    model = model_of(system)
    # The filter of a small network has found the likelihood already, if there is one.
    if not isinstance(system, Model) or model.n <= FILTER_LIMIT or not isinstance(model.noise, Gaussian):
        return None
    try:
        problem = SparseStates(model, data)
        normal = eliminate(problem)
    except TooLargeError:
        return None
    estimate = sparse_estimate(model, data, None, "kalman", normal)
    free, count, phi = data.seen.free, int(data.present.sum()), model.noise.autocorrelation
    squares = normal.squares - np.einsum("ir,ri->r", normal.right, estimate.value[:, free])
    gains = np.array([update.gain for update in model.updates(range(1, data.seen.last + 1))])
    logs = normal.log_det + 2 * float(np.log(gains * noise_deviations(model, data)).sum())
    logs += 2 * (data.seen.last - 1) * model.n * float(np.log(innovation_std(phi)))
    if data.seen.rounding:
        logs += count * float(np.log(data.seen.noise_variance))
    height = -0.5 * (count * np.log(2 * np.pi) + logs + squares)
    return Likelihood(height, estimate.rank - (model.n - free.size), count)


# The tests of a fit.


def diagnostics_of(system: System, data: Outputs) -> FitDiagnostics:
    """Return tests of the hypothesis that a model made these outputs; nothing is computed yet."""
    return FitDiagnostics(system, data, residuals, sparse_likelihood)


def diagnose_fit(
    model: System,
    trajectory: Trajectory,
    observation: Observation | None = None,
    *,
    should_stop: ShouldStop | None = None,
) -> FitDiagnostics:
    """Test whether a model made the outputs that are observed of a run, whatever x₀ is.

    Parameters
    ----------
    model : Model or SDE
        The model under test; its hidden opinions are not used.
    trajectory : Trajectory
        A run with recorded states.
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    FitDiagnostics
        Residuals, tests by size, agent, lag, step and law, and the log-likelihood.

    Raises
    ------
    InvalidInputError
        If the run does not belong to the model's agents.

    See Also
    --------
    recover : Estimates of x₀, with the same diagnostics.

    Examples
    --------
    Rival networks are compared on the same partial data by their log-likelihoods.

    >>> from peerpressure import Gaussian, Model, Observation, simulate
    >>> from peerpressure.networks import complete, cycle
    >>> from peerpressure.recovery import diagnose_fit
    >>> right, wrong = (Model(net(6), hidden=range(6), noise=Gaussian(1.0)) for net in (cycle, complete))
    >>> run = simulate(right, 50, seed=1)
    >>> look = Observation(agents=[0, 1, 2, 3])
    >>> bool(diagnose_fit(right, run, look).aic < diagnose_fit(wrong, run, look).aic)
    True
    """
    with cancellable(should_stop):
        found = diagnostics_of(model, outputs_of(model, trajectory, observation))
        # At once, since the callback holds in this block only.
        found.p_value  # noqa: B018
        return found
