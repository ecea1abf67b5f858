"""Maximum likelihood of x₀ together with parameters that the observer does not know.

Hidden opinions cannot be read off answers that are rounded, on an ordered scale, or measured with noise of unknown
size, and a parameter for each of them would be fitted to errors. They are therefore integrated out as draws from
N(μ, τ²): τ is one more shared coordinate, and μ has a wide prior. With a few agents the likelihood may be highest at
τ = 0, where everybody would think alike with certainty; the factor τ/σ keeps the estimate away from there [1]_. A
factor τ would favour opinions that are far apart in every unit, and with them strong pressure. Intervals are those of
the likelihood ratio in each coordinate, the others maximised. Those of x₀ come from its posteriors at several points
around the maximum, weighted by their likelihood, and reach at least as far as the profiles of the coordinates take it.

References
----------
.. [1] Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A. & Liu, J. (2013), A nondegenerate penalized likelihood
   estimator for variance parameters in multilevel models. Psychometrika 78.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._answers import AnswersWithErrors
from peerpressure.fitting._joint_fit import FitDesign, ProfileLikelihood, Sample
from peerpressure.fitting._latent_path import first_opinions
from peerpressure.fitting._likelihood_fit import LikelihoodFit, notes_on
from peerpressure.fitting._maximum import allowance
from peerpressure.fitting._parameters import (
    COORDINATES,
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
from peerpressure.model.statespace import checked_system, initial_state
from peerpressure.model.step import Array
from peerpressure.recovery import limits
from peerpressure.recovery.data import refuse_model, run_of, single
from peerpressure.recovery.digits import AS_ANSWERS, HARMLESS, grid_note, spacing_of, spoils
from peerpressure.recovery.estimate import estimate_from
from peerpressure.recovery.innovations import ObservedSteps, observed_steps
from peerpressure.recovery.observation import Answers, Observation, observed_already, selected
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
    data : Trajectory, Answers, pandas.DataFrame, xarray.Dataset, array or path
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
    model: Model, data: Answers, unknown: Sequence[str], pieces: Sequence[int] | None, level: float, *, alone: bool
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


def _parts(data: Data, model: Model, observation: Observation | None) -> list[Answers]:
    """Return what is observed, replicate by replicate where their gaps differ."""
    if isinstance(data, Answers):
        return [observed_already(data, model, observation)]
    run, _ = run_of(data, model)
    if run.states is None or not _gaps_differ(run.states):
        return [selected(run, model, observation)]
    return [selected(single(run, row), model, observation) for row in range(len(run.states))]


def _gaps_differ(states: NDArray[Any]) -> bool:
    # One step at a time, since states may fill the memory.
    return len(states) > 1 and any(
        bool((missing != missing[0]).any()) for missing in (np.isnan(states[:, t]) for t in range(states.shape[1]))
    )


def _common_pieces(parts: list[Answers], unknown: Sequence[str]) -> Sequence[int] | None:
    """Return the pieces of an unknown pressure that all parts share; None if one part decides for itself."""
    if len(parts) == 1 or "pressure" not in unknown:
        return None
    times = np.unique(np.concatenate([part.seen.times for part in parts]))
    return [int(t) for t in doubling_pieces(times[times > 0])]


def _stacked_outputs(parts: list[Answers]) -> Answers:
    """Return the answers of all parts as one, with the gaps of the first."""
    if len(parts) == 1:
        return parts[0]
    return replace(
        parts[0],
        known=np.concatenate([part.known for part in parts]),
        replicates=np.concatenate([part.replicates for part in parts]),
    )


def _replicates(
    model: Model, data: Answers, unknown: Sequence[str], pieces: Sequence[int] | None, level: float
) -> tuple[Unknowns, Present | None, Sequence[Callable[[], ReplicateFit]]]:
    """Return the unknowns, the rows that are scored given all others, and a function for each replicate that fits it.

    Answers that are measured are scored all, and have no such rows.
    """
    require_synchronous(model, "the likelihood of unknown parameters", "recover x₀ with parameters that are known")
    if _is_measured(data, unknown):
        problems = _answer_problems(model, data, unknown, pieces)
        what = problems[0][0]
        what = replace(what, names=tuple(name for name in what.names if name != "spread"))
        return what, None, [partial(_fit_answers, *problem, level) for problem in problems]
    what, design, samples = _prepared(model, data, unknown, pieces)
    fits: list[Callable[[], ReplicateFit]] = [
        partial(fit_replicate, ProfileLikelihood(what, design, sample), level) for sample in samples
    ]
    return what, design.used, fits


def _prepared(
    model: Model, data: Answers, unknown: Sequence[str], pieces: Sequence[int] | None
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


def _regressors(design: FitDesign, data: Answers, path: Array) -> Array:
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
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or estimate fewer parameters"))
    return enough


def _gathered(
    what: Unknowns,
    data: Answers,
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


def _grid_remark(what: Unknowns, data: Answers, parameters: Mapping[str, UnknownParameter]) -> _Remark | None:
    """Return the remark on an undeclared grid, beside the noise that the fit itself has found."""
    if _is_measured(data, what.names) or (spacing := spacing_of(data)) is None:
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


# Answers with errors.


def _is_measured(data: Answers, unknown: Sequence[str]) -> bool:
    """Return whether answers are seen through errors, known or unknown."""
    return bool(data.seen.noise_variance) or "measurement_noise" in unknown


def _answer_problems(
    model: Model, data: Answers, unknown: Sequence[str], pieces: Sequence[int] | None
) -> list[tuple[Unknowns, AnswerLikelihood]]:
    """Return the unknowns and the likelihood of each replicate."""
    own = [name for name in unknown if name in PARAMETERS and PARAMETERS[name].scale is None]
    if own:
        rule = "parameters of single agents need answers without rounding and measurement noise"
        remedy = f"leave {', '.join(own)} out of unknown, or fit exact answers"
        raise InvalidInputError(message(rule, got=", ".join(own), remedy=remedy))
    if data.seen.free.size < model.n:
        rule = "a start that shows hidden opinions exactly has no measurement noise"
        raise InvalidInputError(message(rule, got="sees_start", remedy="do not look at step 0, or declare rounding"))
    if model.n > limits.ANSWER_LIMIT:
        rule = f"answers with rounding or measurement noise are fitted for up to {limits.ANSWER_LIMIT} agents"
        remedy = "fit a part of the network, or recover with known parameters"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy))
    what = unknowns(model, unknown, data.seen.times[data.seen.times > 0], pieces)
    # Every step has a state, observed or not.
    what = replace(what, names=(*what.names, "spread"), times=np.arange(1, data.seen.last + 1))
    seen = data.seen
    values = np.full((len(data.values), seen.last + 1, model.n), np.nan)
    for row, t in enumerate(seen.times):
        values[:, t, seen.agents] = data.at(row)
    return [(what, _likelihood(what, AnswersWithErrors(path, seen.rounding, seen.scale))) for path in values]


def _likelihood(what: Unknowns, answers: AnswersWithErrors) -> AnswerLikelihood:
    """Return the likelihood of the answers of one replicate in the shared coordinates."""
    model, names, n = what.model, what.coordinates, what.model.n
    updates = [model.update(int(t)) for t in what.times]
    degrees = np.array([model.degrees_at(int(t)) for t in what.times])
    changes = any(update.adjacency is not updates[0].adjacency for update in updates)
    adjacency = np.array([update.adjacency.toarray() for update in (updates if changes else updates[:1])])
    std = model.noise.deviations(n)
    there = answers.present
    seen = answers.values[there]
    ends = answers.scale or (seen.min(), seen.max())
    middle, extent = float(seen.mean()), float(ends[1] - ends[0]) or 1.0
    # An answer that is missing is taken to be the agent's usual one.
    usual = (np.nansum(answers.values[1:], axis=0) + middle) / (there[1:].sum(axis=0) + 1)

    def start(points: Array) -> tuple[Array, Array]:
        """Opinions are N(μ, τ²), with a wide prior of μ: the mean of all answers, and their range."""
        has_memory = "autocorrelation" in what or bool(model.noise.autocorrelation)
        public, hidden, memory, states = slice(n), slice(n, 2 * n), slice(2 * n, None), (2 + has_memory) * n
        opinions = np.exp(2 * points[:, names.index("spread")])[:, None, None] * np.eye(n) + extent**2
        mean, covariance = np.zeros((len(points), states)), np.zeros((len(points), states, states))
        mean[:, : 2 * n] = middle
        covariance[:, hidden, hidden] = opinions
        if initial_state(model).starts_from_hidden:
            covariance[:, public, public] = covariance[:, public, hidden] = covariance[:, hidden, public] = opinions
        else:
            mean[:, public] = model.start_state
        covariance[:, memory, memory] = np.eye(states - 2 * n)
        return mean, covariance

    return AnswerLikelihood(
        names=names,
        answers=answers,
        filled=np.concatenate([usual[None], np.where(there[1:], answers.values[1:], usual)]),
        listening=adjacency / model.s[:, None],
        slope=degrees / model.s,
        scale=model.noise.scale(what.times)[:, None] * std / std.mean(),
        shared=what.shared,
        start=start,
        levels=lambda opinions, std, shown: {"spread": np.log(max(float(opinions.std()), 0.1 * shown))},
        grid=what.starts()[:: 1 + n // 30],
        ranges={name: (COORDINATES[name].low, COORDINATES[name].high) for name in names},
        # That of log τ/σ, or of log τ where σ is known.
        penalty=np.array([float(name == "spread") - (name == "std") for name in names]),
        opinions=first_opinions,
    )


def _fit_answers(what: Unknowns, likelihood: AnswerLikelihood, level: float) -> ReplicateFit:
    """Return the estimate of one replicate, with intervals of the given level."""
    count = int(likelihood.answers.present.sum())
    if count <= len(likelihood.names):
        rule, got = "there must be more answers than unknown parameters", f"{count} for {len(likelihood.names)}"
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or estimate fewer parameters"))
    if np.nanstd(likelihood.answers.values) == 0:
        # Answers that differ may all be at one point of a scale that is not theirs.
        rule, got = (
            "answers must differ as they are observed",
            f"{np.nanmax(likelihood.answers.values):g} from everybody",
        )
        remedy = "declare the scale or the rounding of these answers, or observe longer"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    top, covariance = likelihood.curved(likelihood.maximum())
    drop, shared = float(allowance(level, np.inf)), {}
    for name in dict.fromkeys(likelihood.names):
        if name != "spread":
            at = [k for k, other in enumerate(likelihood.names) if other == name]
            ends = np.array([[top.end(k, side, drop, covariance) for side in (-1, 1)] for k in at])
            factor = what.std_of_agents if name == "std" else 1.0
            made = COORDINATES[name].parameter(top.point[at], covariance[at, at], ends, factor=factor)
            shared[name] = replace(made, std=np.where(made.identified, made.std, np.inf))
    value, covariance, (low, high) = likelihood.hidden(top, drop)
    std = np.sqrt(np.diagonal(covariance))
    hidden = UnknownParameter(value, std, low, high, np.isfinite(std))
    log_likelihood = top.height - top.point @ likelihood.penalty
    return ReplicateFit(shared, hidden, covariance, float(log_likelihood))
