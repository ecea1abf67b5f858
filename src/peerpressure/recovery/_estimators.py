"""The estimators and the call of them: x₀, or the hidden opinions x_{T+1} after the last observed step T.

A new method is one function ``method(system, data, prior) -> Estimate`` and one row of ``METHODS``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, did_you_mean, message
from peerpressure.model import Model
from peerpressure.model.statespace import System, retained, transitions
from peerpressure.model.statespace.systems import is_invertible
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian
from peerpressure.recovery import limits
from peerpressure.recovery._information_state import estimate_of
from peerpressure.recovery._kalman import gathered, last_step
from peerpressure.recovery._laws import likelihood
from peerpressure.recovery._prior import Prior
from peerpressure.recovery._regression import gls, ols, snapshot, wls
from peerpressure.recovery._residuals import diagnostics_of, mean_square
from peerpressure.recovery._sparse_kalman import is_quicker, sparse_estimate
from peerpressure.recovery.digits import grid_note, spacing_of, undeclared_rounding
from peerpressure.recovery.estimate import (
    Covariance,
    Estimate,
    Target,
    has_room_for_copies,
    is_suspicious,
    known_estimate,
    with_copies,
    with_error_of_copies,
)
from peerpressure.recovery.innovations import check_complete, innovations, invert, open_steps, refuse_impossible
from peerpressure.recovery.least_squares import SymmetricOperator
from peerpressure.recovery.limits import COPIED_AGENTS, SHARE_TOLERANCE
from peerpressure.recovery.observation import Answers, Observation, observed
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.resources import few_threads

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Data

TARGETS = ("initial", "current")
# Every method takes a model; those that are continuous take an SDE as well.
Method: TypeAlias = Callable[[Any, Answers, Prior | None], Estimate]


class Estimator(NamedTuple):
    """Declaration of an estimator: its function, its words for a reader, and what it can do.

    Attributes
    ----------
    estimate : callable
        Function ``method(system, data, prior) -> Estimate``.
    title : str
        Name for a label.
    help : str
        Description in one line.
    continuous : bool
        Whether it takes an SDE.
    current : callable or None
        The same of the hidden opinions after the last observed step where these adapt, None if it has none.
    complete : bool
        Whether it needs all answers.
    refuses : bool
        Whether it raises an error for answers that the model cannot have made; others fit any.
    linear : bool
        Whether perturbed copies of the answers share its work, which measure what rounding does to it.

    See Also
    --------
    peerpressure.recovery.METHODS : Table of all estimators.

    Examples
    --------
    >>> from peerpressure.recovery import METHODS
    >>> METHODS["kalman"].title, METHODS["kalman"].continuous
    ('Kalman filter', True)
    """

    estimate: Method
    title: str
    help: str
    continuous: bool = False
    current: Method | None = None
    complete: bool = False
    refuses: bool = True
    linear: bool = True


AUTO = "auto"
UNUSED_START = "step 0 shows x₀ itself and is not used unless sees_start is true"
COARSE_ROUNDING = "rounding exceeds the noise of answers: errors are approximate"
# Least noise beside rounding that is looked for, in standard deviations of all answers.
_LEAST_NOISE = 1e-4


def recover(
    data: Data,
    model: System,
    method: str = AUTO,
    observation: Observation | None = None,
    prior: Prior | None = None,
    target: Target = "initial",
    *,
    should_stop: ShouldStop | None = None,
) -> Estimate:
    """Estimate the hidden opinions from what is observed of a run.

    The observer knows network, stubbornness, peer pressure, how opinions adapt and the noise distribution, but not x₀;
    the model's own hidden opinions are never used, except to compare with. If it is random who updates, the observer
    sees who does, and the estimate is the exact one given that. A run that continues another is read as one
    that began at step 0 and is observed from where its record begins.

    Parameters
    ----------
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
        A run with recorded states, or observed answers in any form that `recovery.observations_of` takes.
    model : Model or SDE
        The model that the observer assumes. Steps of an SDE are those of its grid.
    method : str, default "auto"
        "auto" takes "innovations" for complete answers and "kalman" for all others, and ``Estimate.method`` says which.
        Where the model has neither hidden opinions nor noise, it also estimates the size of Gaussian noise, and the
        note says so. "innovations" inverts the update and averages, the best linear method for complete answers;
        "kalman" gives the best linear estimate from any answers; "gls" does so in one dense model; "ols" and "wls" are
        regressions with exact sandwich covariances; "likelihood" uses the noise distribution; "snapshot" uses only the
        last step. In continuous time, "innovations" or "kalman".
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on. If the record has
        y₀ = x₀, the note of the estimate says that it was left out.
    prior : Prior, optional
        Gaussian prior of x₀, matched by label if it has names; without one, estimates are unbiased.
    target : {"initial", "current"}, default "initial"
        Estimate x₀, or the hidden opinions after the last observed step; these differ if opinions adapt.
    should_stop : callable, optional
        Called at every step that is followed; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    Estimate
        The estimate, with its exact covariance and which opinions are identified.

    Raises
    ------
    InvalidInputError
        If the method is not known or cannot use these answers, or if the model cannot have made them.
    TooLargeError
        If the method needs a dense matrix of too many agents.

    See Also
    --------
    recovery.information : The Cramér–Rao bound, before any answer is observed.
    recovery.kalman_smoother : Posteriors of public and hidden opinions at every step.
    fit : Estimates of unknown parameters together with x₀.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, recover, simulate
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(1.0))
    >>> estimate = recover(simulate(model, steps=400, seed=1), model)
    >>> estimate.std.round(3)
    array([0.05, 0.05])
    """
    _check_names(method, target)
    with cancellable(should_stop):
        system, outputs = observed(data, model, observation)
        with few_threads(system.n):
            return _recover(system, outputs, method, prior, target)


def _recover(system: System, data: Answers, method: str, prior: Prior | None, target: Target) -> Estimate:
    prior = None if prior is None else prior.in_order(system.model.network.labels)
    method, system, why = (method, system, "") if method != AUTO else _automatic(system, data)
    row = METHODS[method]
    if system.is_continuous and not row.continuous:
        rule = f"in continuous time the method must be one of {', '.join(methods_for(continuous=True))}"
        remedy = "'innovations' needs all answers, and 'kalman' can do without"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy))
    # If opinions are constant, the current ones are x₀, and every method estimates them.
    follows = target == "current" and system.layout.has_hidden
    estimator = row.current if follows else row.estimate
    if estimator is None:
        rule = f"hidden opinions after the last step are estimated by {' or '.join(methods_for(current=True))}"
        remedy = "use the method kalman, or estimate the initial ones"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy), argument=("method", "target"))
    if data.seen.free.size or follows:
        if row.complete:
            check_complete(data)
        estimate = _settled(estimator, system, data, prior) if row.linear else estimator(system, data, prior)
        if not row.refuses and data.complete and not system.is_continuous and is_invertible(system.model):
            refuse_impossible(system.model, data)
        note = "; ".join(filter(None, (why, estimate.note, *_remarks(system, data))))
        estimate = replace(estimate, note=note)
    else:
        estimate = known_estimate(system.model, data, method)
    return replace(estimate, target=target, replicates=data.replicates, diagnostics=diagnostics_of(system, data))


def _settled(estimator: Method, system: System, data: Answers, prior: Prior | None) -> Estimate:
    """Return the estimate with the error that rounding makes in it, measured from copies of the answers."""
    room = has_room_for_copies(data)
    # Small networks always use copies, which cost less than estimating twice.
    if not room or data.seen.n > COPIED_AGENTS:
        estimate = estimator(system, data, prior)
        if not room or not is_suspicious(estimate, data):
            return estimate
    return with_error_of_copies(estimator(system, with_copies(data), prior))


def methods_for(*, continuous: bool = False, current: bool = False) -> tuple[str, ...]:
    """Return the names of the methods that can do what is asked for."""
    return tuple(
        name
        for name, row in METHODS.items()
        if (row.continuous or not continuous) and (row.current is not None or not current)
    )


class _Choice(NamedTuple):
    """A method that can read the answers, the system that it assumes, and why, in words."""

    method: str
    system: System
    why: str


def _automatic(system: System, data: Answers) -> _Choice:
    """Return the best linear method for these answers, and the noise where it is unknown."""
    method, why = _linear(data), "" if data.complete else f"kalman was chosen: {_what_is_missing(data)}"
    model = system.model
    if model.hidden is not None or not model.noise.is_zero or not data.seen.free.size:
        return _Choice(method, system, why)
    std = _noise_size(system, data)
    words = f"noise of unknown size was estimated as Gaussian, standard deviation {std:.4g}"
    return _Choice(method, _with_noise(system, std), "; ".join(filter(None, (why, words))))


def _what_is_missing(data: Answers) -> str:
    seen = data.seen
    if not seen.everyone:
        return f"{seen.agents.size:,} of {seen.n:,} agents are observed"
    if not seen.uninterrupted:
        return "steps are missing"
    return f"answers are rounded to {seen.rounding:g}" if seen.rounding else "answers are missing"


def _with_noise(system: System, std: float) -> System:
    return system.with_model(replace(system.model, noise=Gaussian(std)))


def _noise_size(system: System, data: Answers) -> float:
    """Return the standard deviation of white Gaussian noise that the answers show, by restricted likelihood.

    Standardised residuals under unit noise are those of any size but for their scale. Rounding adds an error of a known
    size, beside which the noise has the size at which the residuals have unit variance.
    """

    def variance(std: float) -> float:
        return mean_square(_with_noise(system, std), data)

    std = _beside_rounding(variance, data) if data.seen.noise_variance else float(np.sqrt(variance(1.0)))
    if not std:
        rule = "noise of unknown size is estimated from answers that are left over once x₀ is determined"
        remedy = "observe longer, or give the model its noise, for instance Gaussian(0.1)"
        raise InvalidInputError(message(rule, got="none", remedy=remedy))
    return std


def _beside_rounding(variance: Callable[[float], float], data: Answers) -> float:
    """Return the size of noise at which residuals have unit variance, 0 where rounding alone explains them."""
    from scipy import optimize

    most = float(np.nanstd(data.values))
    least = _LEAST_NOISE * most
    if not variance(least) > 1:
        return 0.0
    while variance(most) > 1:
        most *= 4
    return float(optimize.brentq(lambda std: variance(std) - 1, least, most, rtol=1e-6))


def _remarks(system: System, data: Answers) -> Iterator[str]:
    """Yield what a reader must know about how the answers were read."""
    if data.leaves_start:
        yield UNUSED_START
    spacing = undeclared_rounding(system, data) or _contradictory_grid(system, data)
    if spacing is not None:
        yield grid_note(spacing)
    # Between answers that move by less than the spacing, errors of rounding repeat themselves.
    if data.seen.rounding and any(
        (step.noise_std[data.seen.agents] < data.seen.rounding / 2).any()
        for step in transitions(system, data.seen.last)
    ):
        yield COARSE_ROUNDING


def _contradictory_grid(system: System, data: Answers) -> float | None:
    """Return the spacing of answers without noise that are on a grid and contradict the model: it is not their own."""
    if system.is_continuous or not (system.noise.is_zero and data.complete and is_invertible(system.model)):
        return None
    spacing = spacing_of(data)
    if spacing is not None:
        try:
            invert(system.model, data)
        except InvalidInputError:
            return spacing
    return None


def _check_names(method: str, target: str) -> None:
    if method not in (AUTO, *METHODS):
        rule = f"the method must be one of {', '.join((AUTO, *METHODS))}"
        remedy = f"name one of these{did_you_mean(method, METHODS)}"
        raise InvalidInputError(message(rule, got=repr(method), remedy=remedy))
    if target not in TARGETS:
        rule = f"the target must be one of {', '.join(map(repr, TARGETS))}"
        remedy = "'initial' is x₀, 'current' the hidden opinions after the last step"
        raise InvalidInputError(message(rule, got=repr(target), remedy=remedy))


# Methods that leave to another one what they cannot do themselves.


def _linear(data: Answers) -> str:
    """Return the best linear method for these answers."""
    return "innovations" if data.complete else "kalman"


def _by_innovations(system: System, data: Answers, prior: Prior | None = None) -> Estimate:
    if system.is_continuous:
        return estimate_of(system.model, data, "innovations", gathered(system, data, prior))
    if not is_invertible(system.model):
        return replace(_by_filter(system, data, prior), method="innovations")
    return innovations(system.model, data, prior)


def _by_filter(system: System, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the best linear unbiased estimate of x₀ (with a prior, the conditional mean) from any answers.

    It is found by a filter on the state, O(steps · agents³), or by eliminating unobserved states, O(steps · front³) for
    a front of unobserved agents and their neighbours, whichever takes less work; beyond 300 agents always by the
    latter. Measured on one core for 100 steps of a Barabási–Albert graph: 300 agents, half of them observed, 1 s;
    1,000, half observed, 6 s; 2,000, half observed, 33 s; 20,000, 99 % observed, 6 s; 100,000, 99.9 % observed, 26 s;
    twice as much if opinions adapt. A front of more than 6,000 raises `TooLargeError`.
    """
    if not system.is_continuous and (system.n > limits.FILTER_LIMIT or is_quicker(system.model, data)):
        return sparse_estimate(system.model, data, prior)
    return estimate_of(system.model, data, "kalman", last_step(system, data, prior).information)


def _by_likelihood(model: Model, data: Answers, prior: Prior | None = None) -> Estimate:
    # At a step without noise a density does not exist; the linear methods treat such equations as exact.
    silent = model.noise.is_zero or not model.noise.scale(np.arange(1, data.seen.last + 1)).all()
    if silent or isinstance(model.noise, Gaussian):
        return replace(METHODS[_linear(data)].estimate(model, data, prior), method="likelihood")
    return likelihood(model, data, prior)


# The hidden opinions x_{T+1} after the last observed step T, if they adapt.
#
# An observer of complete answers knows x_{T+1} = π_T x₀ + k_T up to the decreasing share π_T of x₀, so the error of
# x_{T+1} tends to 0 with π_T even where that of x₀ does not.


def _current_by_innovations(system: System, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return π_T x̂₀ + k_T from complete answers, with covariance π_T Cov(x̂₀) π_T."""
    if system.is_continuous:
        # Between the observed times of an equation, opinions adapt to what is not seen.
        return replace(_current_by_filter(system, data, prior), method="innovations")
    model, free = system.model, data.seen.free.size
    initial = _by_innovations(model, data, prior) if free else known_estimate(model, data, "innovations")
    pi = np.broadcast_to(retained(model, data.seen.last)[-1], (model.n,))
    (last,) = deque(open_steps(model, data), maxlen=1)
    # With nothing of x₀ left, the adopted part is the whole opinion and is known exactly.
    identified = initial.identified | (pi == 0)
    return replace(
        initial,
        value=pi * initial.value + last.after().T,
        covariance=_scaled(initial.covariance, pi),
        identified=identified,
        rank=model.n if identified.all() else initial.rank,
        note="" if free else "follows from the start, which was observed",
    )


def _current_by_filter(system: System, data: Answers, prior: Prior | None = None) -> Estimate:
    """Return the filter's posterior of x_{T+1}, from any answers."""
    model = system.model
    if model.n > limits.PARTIAL_LIMIT:
        rule = f"current opinions are filtered from partial answers for at most {limits.PARTIAL_LIMIT:,} agents"
        remedy = "use complete answers with the method innovations, which takes millions"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy), argument="method")
    last = last_step(system, data, prior)
    solution = last.information.solve()
    hidden = last.state.posterior(solution.posterior).part(system.layout.hidden)
    # Directions of x₀ that are not determined may shrink to 0 in x_{T+1}, so the rank is counted again.
    lost = int(np.linalg.matrix_rank(hidden.null_space, tol=SHARE_TOLERANCE)) if hidden.null_space.size else 0
    return Estimate(
        model,
        "kalman",
        hidden.mean,
        hidden.covariance,
        hidden.identified,
        model.n - lost,
        solution.condition,
    )


def _scaled(covariance: Covariance, share: Array) -> Any:
    """Return diag(share) · covariance · diag(share), in the form in which the covariance came."""
    # Composed lazily: forming the matrix is what operators avoid.
    if isinstance(covariance, SymmetricOperator):
        return covariance.scaled(share)
    if sparse.issparse(covariance):
        sides = sparse.diags_array(share, format="csr")
        return sparse.csr_array(sides @ covariance @ sides)
    return share[:, None] * (covariance @ np.diag(share))


METHODS: Mapping[str, Estimator] = {
    "ols": Estimator(
        ols,
        "The paper's regression",
        "Ordinary least squares, as if errors were independent and alike.",
        refuses=False,
    ),
    "innovations": Estimator(
        _by_innovations,
        "Innovations",
        "Inverts the update and averages: the best linear estimate where all agents are observed.",
        continuous=True,
        current=_current_by_innovations,
        complete=True,
    ),
    "kalman": Estimator(
        _by_filter,
        "Kalman filter",
        "The best linear estimate where some agents or some steps are not observed.",
        continuous=True,
        current=_current_by_filter,
    ),
    "wls": Estimator(
        wls,
        "Weighted least squares",
        "Weights each error by its variance, still as if errors were independent.",
        refuses=False,
    ),
    "gls": Estimator(gls, "Generalised least squares", "Uses the full covariance of the errors.", refuses=False),
    "likelihood": Estimator(
        _by_likelihood,
        "Maximum likelihood",
        "Uses the noise distribution: the median for Laplace, the midrange for uniform noise.",
        linear=False,
    ),
    "snapshot": Estimator(
        snapshot,
        "Last step only",
        "Uses the public opinions of the last observed step alone.",
        refuses=False,
    ),
}
