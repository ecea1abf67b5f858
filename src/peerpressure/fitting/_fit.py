"""Maximum likelihood of x₀ together with parameters that the observer does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_fit import answer_problems, fit_answers, is_measured
from peerpressure.fitting._joint_fit import FitDesign, ProfileLikelihood, Sample
from peerpressure.fitting._likelihood_fit import LikelihoodFit, notes_on
from peerpressure.fitting._parameters import (
    PARAMETERS,
    UnknownParameter,
    Unknowns,
    adaptation_of,
    doubling_pieces,
    unknowns,
)
from peerpressure.fitting._profile_intervals import ReplicateFit, fit_replicate
from peerpressure.model import Model, require_synchronous
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import checked_system
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery.data import observations_of, refuse_model, single
from peerpressure.recovery.digits import AS_ANSWERS, HARMLESS, grid_note, spacing_of, spoils
from peerpressure.recovery.estimate import estimate_from
from peerpressure.recovery.innovations import ObservedSteps, observed_steps
from peerpressure.recovery.observation import Observation, Outputs, outputs_of
from peerpressure.schedules import Constant
from peerpressure.support.parameters import checked_level
from peerpressure.support.progress import ShouldStop, cancellable
from peerpressure.support.resources import few_threads

if TYPE_CHECKING:
    from peerpressure.recovery.observation import Data

Present: TypeAlias = NDArray[np.bool_]
# Pulls that vary by less than this part of the answers do not vary.
_STILL = 1e-12


def fit(
    data: Data,
    model: Model,
    unknown: Sequence[str] = (),
    *,
    observation: Observation | None = None,
    level: float = 0.95,
    pieces: Sequence[int] | None = None,
    should_stop: ShouldStop | None = None,
) -> LikelihoodFit:
    """Estimate unknown parameters together with x₀, for each replicate, with profile-likelihood intervals.

    Values maximise the modified profile likelihood, which accounts for the degrees of freedom that the hidden opinions
    take. A replicate that cannot be fitted has NaN, and the reason in ``failures``.

    Parameters
    ----------
    data : Trajectory, Outputs, pandas.DataFrame, xarray.Dataset, array or path
        A run with recorded states, or observed answers in any form that `observations_of` takes.
    model : Model
        The model; the values of unknown parameters in it are not used.
    unknown : sequence of str
        Names among "std" (of noise; proportions between agents are those of the model), "agent_std" (of every agent's
        noise), "stubbornness" (of every agent), "constant" (peer pressure that is the same at all steps), "slope" (of
        Linear) or "exponent" (of Power peer pressure), "pressure" (constant on pieces of time, of any course),
        "adaptation" (a constant rate; weights of agents are those of the model), "autocorrelation" (of AR(1) noise) and
        "measurement_noise" (the standard deviation of errors in what is observed, to which nobody responds).
    observation : Observation, optional
        Which agents are observed and when; by default all that is recorded from step 1 on. With ``rounding``, a
        ``scale`` or unknown measurement noise, hidden opinions are integrated out as draws from a normal law.
    level : float, default 0.95
        Confidence level of the intervals.
    pieces : sequence of int, optional
        First steps of the pieces of an unknown "pressure"; by default 1, 2, 4, 8 and so on.
    should_stop : callable, optional
        Called often; the work is cancelled with `CancelledError` if it returns True.

    Returns
    -------
    LikelihoodFit
        Parameters and x₀ with standard errors and intervals.

    Raises
    ------
    InvalidInputError
        If the noise is not Gaussian or is frozen, if the answers cannot determine the unknowns, or if no replicate can
        be fitted.
    TooLargeError
        If a replicate has more than 10⁷ answers, or 200 agents whose answers have errors.

    See Also
    --------
    recover : Estimates of x₀ with all parameters known.
    infer_network : Estimates of the network.

    References
    ----------
    .. [1] Barndorff-Nielsen (1983), On a formula for the distribution of the maximum likelihood estimator.
    .. [2] Severini (1998), An approximation to the modified profile likelihood function.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.fitting import fit
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5), start=[0.0, 0.0])
    >>> std = fit(simulate(model, 400, seed=1), model, ("std",)).parameters["std"]
    >>> bool(std.low[0] < 0.5 < std.high[0])
    True
    """
    level = checked_level(level)
    refuse_model(data)
    checked_system(model)
    with cancellable(should_stop), few_threads(model.n):
        # The names are checked before the answers are read.
        unknowns(model, unknown, np.zeros(0, dtype=np.int64))
        parts = _parts(data, model, observation)
        pieces = pieces or _common_pieces(parts, unknown)
        fitted_parts = [_fit_part(model, part, unknown, pieces, level, alone=len(parts) == 1) for part in parts]
    fits = [each for part in fitted_parts for each in part.fits]
    reasons = tuple(reason for part in fitted_parts for reason in part.reasons)
    fitted = next((part for part in fitted_parts if part.what is not None), None)
    if fitted is None or fitted.what is None or all(each is None for each in fits):
        raise InvalidInputError(reasons[0] or "nothing to fit")
    return _gathered(fitted.what, _stacked_outputs(parts), fitted.rows, fits, reasons, level)


class _FittedPart(NamedTuple):
    """The fits of the replicates with the same gaps; without ``what`` none was possible."""

    what: Unknowns | None
    rows: Present | None
    fits: list[ReplicateFit | None]
    reasons: list[str | None]


def _fit_part(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None, level: float, *, alone: bool
) -> _FittedPart:
    """Return the fits of replicates that have the same gaps; of several parts, one without enough steps only fails."""
    try:
        what, rows, replicates = _replicates(model, data, unknown, pieces, level)
    except InvalidInputError as error:
        if alone:
            raise
        count = data.values.shape[0]
        return _FittedPart(None, None, [None] * count, [str(error)] * count)
    fits: list[ReplicateFit | None] = []
    reasons: list[str | None] = []
    # Replicate by replicate: each has its own maximum, and one without must not lose the others.
    for fitted in replicates:
        try:
            fits.append(fitted())
            reasons.append(None)
        except (InvalidInputError, np.linalg.LinAlgError) as error:
            fits.append(None)
            reasons.append(str(error))
    return _FittedPart(what, rows, fits, reasons)


def _parts(data: Data, model: Model, observation: Observation | None) -> list[Outputs]:
    """Return what is observed, replicate by replicate where their gaps differ."""
    if isinstance(data, Outputs):
        return [outputs_of(data, model, observation)]
    run = observations_of(data, model)
    if run.states is None or not _gaps_differ(run.states):
        return [outputs_of(run, model, observation)]
    return [outputs_of(single(run, row), model, observation) for row in range(len(run.states))]


def _gaps_differ(states: NDArray[Any]) -> bool:
    # One step at a time, since states may fill the memory.
    return len(states) > 1 and any(
        bool((missing != missing[0]).any()) for missing in (np.isnan(states[:, t]) for t in range(states.shape[1]))
    )


def _common_pieces(parts: list[Outputs], unknown: Sequence[str]) -> Sequence[int] | None:
    """Return the pieces of an unknown pressure that all parts share; None if one part decides for itself."""
    if len(parts) == 1 or "pressure" not in unknown:
        return None
    times = np.unique(np.concatenate([part.seen.times for part in parts]))
    return [int(t) for t in doubling_pieces(times[times > 0])]


def _stacked_outputs(parts: list[Outputs]) -> Outputs:
    """Return the answers of all parts as one, with the gaps of the first."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        known=np.concatenate([part.known for part in parts]),
        replicates=np.concatenate([part.replicates for part in parts]),
    )


def _replicates(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None, level: float
) -> tuple[Unknowns, Present | None, Sequence[Callable[[], ReplicateFit]]]:
    """Return the unknowns, the rows that are scored given all others, and a function for each replicate that fits it.

    Answers that are measured are scored all, and have no such rows.
    """
    require_synchronous(model, "the likelihood of unknown parameters", "recover x₀ with parameters that are known")
    if is_measured(data, unknown):
        problems = answer_problems(model, data, unknown, pieces)
        what = problems[0][0]
        what = replace(what, names=tuple(name for name in what.names if name != "spread"))
        return what, None, [partial(fit_answers, *problem, level) for problem in problems]
    what, design, samples = _prepared(model, data, unknown, pieces)
    fits: list[Callable[[], ReplicateFit]] = [
        partial(fit_replicate, ProfileLikelihood(what, design, sample), level) for sample in samples
    ]
    return what, design.used, fits


def _prepared(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None
) -> tuple[Unknowns, FitDesign, list[Sample]]:
    """Return the unknowns, what replicates share, and the replicates."""
    if not (unknown or data.seen.free.size):
        remedy = "name a parameter, for instance std"
        raise InvalidInputError(message("something must be unknown", got="a start that shows all", remedy=remedy))
    if data.seen.last * model.n > limits.FIT_NUMBERS:
        rule = f"a likelihood in unknown parameters takes up to {limits.FIT_NUMBERS:,} answers of a replicate"
        got = f"{data.seen.last:,} steps of {model.n:,} agents"
        raise TooLargeError(message(rule, got=got, remedy="observe fewer steps, or take the parameters as known"))
    seen = observed_steps(_neutral(model, unknown), data)
    what = unknowns(model, unknown, seen.times, pieces)
    coupling = seen.degrees * seen.public - seen.around
    design = _design(what, seen, ~np.isnan(data.known[0]), coupling)
    path = np.zeros((data.values.shape[0], data.seen.last, model.n))
    for row, t in enumerate(data.seen.times):
        if t > 0:
            path[:, t - 1, data.seen.agents] = np.nan_to_num(data.at(row))
    samples = [
        Sample(y, q, known, _regressors(design, data, y))
        for y, q, known in zip(path, coupling, data.known, strict=True)
    ]
    return what, design, samples


def _regressors(design: FitDesign, data: Outputs, path: Array) -> Array:
    """Return what hidden opinions may depend on: a constant, and the first answers if these are conditioned on."""
    first = int(data.seen.times[0])
    counts = bool(design.used[design.rows == first - 1].any())
    shown = first > 0 and data.seen.everyone and bool(data.present[0].all()) and not counts
    columns = [np.ones(path.shape[1]), path[first - 1]] if shown else [np.ones(path.shape[1])]
    return np.stack(columns, axis=1)


def _neutral(model: Model, unknown: Sequence[str]) -> Model:
    """Return the model with harmless values for unknown parameters: only which steps are observed depends on it."""
    if any(PARAMETERS[name].is_pressure for name in unknown):
        model = replace(model, pressure=Constant(1.0))
    if "adaptation" in unknown:
        # So small that no step counts as one in which x₀ is forgotten.
        model = replace(model, adaptation=Adaptation(1e-15, adaptation_of(model, 1.0).adaptation_weight))
    return model


def _design(what: Unknowns, seen: ObservedSteps, known: Present, coupling: Array) -> FitDesign:
    model = what.model
    std = model.noise.deviations(model.n)
    # Proportions between agents and steps are known, and only the common factor is estimated.
    scale = model.noise.scale(seen.times)[:, None] * std / std.mean()
    used, follows = seen.present, np.zeros_like(seen.present)
    if "autocorrelation" in what or model.noise.autocorrelation:
        follows[1:] = used[1:] & used[:-1] & (np.diff(seen.times) == 1)[:, None]
        # Given the past, noise is predicted by that of the step before, which must be known, or has no past at all.
        used = follows | (used & (seen.times == 1)[:, None])
    rho = what.shared(what.starts()[0]).rho if seen.times.size else np.zeros((0, 1))
    moves = _moves(rho * coupling, used, known, seen.public)
    settled = _settled(what, used, known, rho * seen.degrees > 0, moves)
    return FitDesign(seen.times - 1, scale, used & settled, follows & settled, seen.degrees, ~known & settled)


def _moves(pull: Array, used: Present, known: Present, public: Array) -> Present:
    """Return whether pulls (R, T, n) say anything of stubbornness: the same at all steps, they are like an opinion."""
    low = np.where(used, pull, np.inf).min(axis=1, initial=np.inf)
    high = np.where(used, pull, -np.inf).max(axis=1, initial=-np.inf)
    size = np.where(used, np.abs(public), 0.0).max(axis=1, initial=0.0)
    spread = np.where(known, np.maximum(high, -low), high - low)
    return np.asarray((spread > _STILL * size).all(axis=0))


def _settled(
    what: Unknowns,
    used: Present,
    known: Present,
    pulled: Present,
    moves: Present,
) -> Present:
    """Return which agents have enough steps for their own unknowns, (n,), after checking their total."""
    steps = used.sum(axis=0)
    own = (~known).astype(int) + len(what.own)
    # An agent with as many steps as unknowns is fitted exactly: it determines them but adds nothing to the shared ones.
    enough = np.asarray(steps >= np.maximum(own, 1))
    if "stubbornness" in what:
        # Steps without neighbours, without pressure, or in which nobody moves do not depend on stubbornness.
        heard = (used & pulled).any(axis=0)
        if not heard.any() or ((enough & heard).any() and not (enough & heard & moves).any()):
            rule = "an unknown stubbornness needs agents with neighbours and peer pressure, whose answers move"
            got, remedy = "none", "take stubbornness as known, or check network and pressure"
            raise InvalidInputError(message(rule, got=got, remedy=remedy))
        enough &= heard & moves
        steps = np.where(heard, steps, 0)
    shared = len(what.coordinates)
    # Degrees of freedom left for the parameters that all agents share.
    spare = int((steps - own)[enough].sum())
    if not enough.any() or spare < shared:
        least = max(int(own.max()), 1)
        rule = f"each agent needs {least} {'step' if least == 1 else 'steps'} or more"
        rule += " that are observed from beginning to end" + f", and all together {shared} more" * bool(shared)
        got = f"at most {int(steps.max(initial=0))} for an agent"
        # Who has enough for itself is not said to have too few.
        got = f"{spare} more" if enough.any() else got
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
    return enough


def _gathered(
    what: Unknowns,
    data: Outputs,
    rows: Present | None,
    fits: list[ReplicateFit | None],
    reasons: tuple[str | None, ...],
    level: float,
) -> LikelihoodFit:
    model, free = what.model, data.seen.free
    fitted = [each for each in fits if each is not None]
    hidden = _stacked([each and each.hidden for each in fits])
    # A replicate whose shared parameters have no estimate has no standard errors of opinions either.
    settled = [each for each in fitted if np.isfinite(each.hidden.std).any()] or fitted
    spread = np.mean([each.covariance for each in settled], axis=0)
    identified = np.asarray(np.isfinite(settled[0].hidden.std))[free]
    value = np.nan_to_num(hidden.value[:, free], nan=0.0)
    value[[each is None for each in fits]] = np.nan
    if spread.ndim == 1:
        covariance: Any = sparse.diags_array(spread[free], format="csr")
    else:
        covariance = np.where(np.outer(identified, identified), spread[np.ix_(free, free)], 0.0)
    rank = int(identified.sum())
    parameters = {}
    for name in what.names:
        parameters[name] = _stacked([each and each.parameters[name] for each in fits], many=what.is_vector(name))
    heights = np.array([np.nan if each is None else each.log_likelihood for each in fits])
    remark = _grid_remark(what, data, parameters)
    if remark is not None:
        parameters = {name: replace(p, identified=p.identified & (not remark.spoilt)) for name, p in parameters.items()}
    notes = (() if remark is None else (remark.text,)) + notes_on(parameters, reasons)
    together = f"found together with {', '.join(what.names)}" if what.names else ""
    note = "; ".join(filter(None, (together, *notes)))
    estimate = estimate_from(model, data, "likelihood", value, covariance, identified=identified, rank=rank, note=note)
    return LikelihoodFit(estimate, parameters, hidden, heights, level, reasons, what.pieces, notes, data, rows)


class _Remark(NamedTuple):
    """What a fit says of answers on a grid that was not declared, and whether that spoils it."""

    text: str
    spoilt: bool


def _typical(values: Array) -> Array:
    """Return the medians over replicates, NaN for agents that none of them says anything of."""
    lost = np.isnan(values).all(axis=0)
    return np.where(lost, np.nan, np.nanmedian(np.where(lost, 0.0, values), axis=0))


def _grid_remark(what: Unknowns, data: Outputs, parameters: Mapping[str, UnknownParameter]) -> _Remark | None:
    """Return the remark on an undeclared grid, beside the noise that the fit itself has found."""
    if is_measured(data, what.names) or (spacing := spacing_of(data)) is None:
        return None
    noise = what.noise_of_outputs({name: _typical(p.value) for name, p in parameters.items()})
    noise = noise[np.isfinite(noise) & (noise > 0)]
    if not noise.size or spacing <= HARMLESS * noise.min():
        return None
    spoilt = spoils(spacing, noise)
    effect = "so nothing is identified" if spoilt else "which moves estimates a little"
    return _Remark(grid_note(spacing, f"and are taken as exact, {effect}", AS_ANSWERS), spoilt)


def _stacked(parameters: Sequence[UnknownParameter | None], *, many: bool = True) -> UnknownParameter:
    """Return the intervals of all replicates, NaN for those that failed; one number each unless ``many``."""
    shape = next(each.value for each in parameters if each is not None).shape
    nothing = np.full(shape, np.nan)
    empty = UnknownParameter(nothing, nothing, nothing, nothing, np.zeros(shape, dtype=bool))
    columns = zip(*(vars(each or empty).values() for each in parameters), strict=True)
    return UnknownParameter(*(np.array(each) if many else np.array(each)[:, 0] for each in columns))
