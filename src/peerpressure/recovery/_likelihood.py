"""Maximum likelihood: for noise of any law, and for parameters that the observer does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from peerpressure.adaptation import Adaptation
from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Model, Vector, require_synchronous
from peerpressure.noise import Gaussian
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.recovery._estimate import Estimate, estimate_from
from peerpressure.recovery._innovations import innovations
from peerpressure.recovery._inversion import ObservedSteps, observed_steps, own_series
from peerpressure.recovery._joint_fit import FitDesign, ProfileLikelihood, Sample
from peerpressure.recovery._kalman import kalman
from peerpressure.recovery._limits import FIT_NUMBERS, few_threads
from peerpressure.recovery._locations import LOCATIONS, LocationInterval, Present, numerical
from peerpressure.recovery._observation import Outputs
from peerpressure.recovery._prior import Prior, update
from peerpressure.recovery._profile_intervals import Found, fit_replicate
from peerpressure.recovery._unknowns import LikelihoodFit, UnknownParameter, Unknowns, adaptation_of, unknowns
from peerpressure.schedules import Constant

NAME = "likelihood"


def likelihood(model: Model, data: Outputs, prior: Prior | None = None, unknown: Sequence[str] = ()) -> Estimate:
    """Return the maximum of the likelihood of the model's own noise law, in x₀ and in what is ``unknown`` besides.

    Gaussian noise: the best linear estimate, from any outputs. Other laws: from the ξ_t = x₀ + ε_t of all steps
    that are observed from beginning to end (Laplace: their median; uniform: their midrange; …), with the variance of
    the large-sample law, and intervals that are exact for any number of steps. Where opinions adapt, it is from
    (ξ_t − k_{t−1})/π_{t−1} = x₀ + ε_t/π_{t−1}. A prior is then combined with the estimate in the best linear way, and
    intervals are Gaussian. ``unknown`` is for ``fit``.
    """
    if unknown:
        return _with_prior(fit(model, data, unknown).estimate, data, prior)
    # At a step without noise a density does not exist; the linear methods treat such equations as exact.
    silent = model.noise.is_zero or not model.noise.scale(np.arange(1, data.seen.last + 1)).all()
    if isinstance(model.noise, Gaussian) or silent:
        return replace((innovations if data.complete else kalman)(model, data, prior), method=NAME)
    return _with_prior(_of_law(model, data), data, prior)


def fit(
    model: Model,
    data: Outputs,
    unknown: Sequence[str] = (),
    *,
    level: float = 0.95,
    pieces: Sequence[int] | None = None,
    should_stop: ShouldStop | None = None,
) -> LikelihoodFit:
    """Estimate unknown parameters together with x₀, for each replicate, with profile-likelihood intervals.

    Values maximise the modified profile likelihood, which accounts for the degrees of freedom that the hidden opinions
    take. A replicate that cannot be fitted has NaN, and the reason in ``failures``.

    Parameters
    ----------
    model : Model
        The model; the values of unknown parameters in it are not used.
    data : Outputs
        The observed outputs, from `outputs_of`.
    unknown : sequence of str
        Names among "std" (of noise; proportions between agents are those of the model), "agent_std" (of every agent's
        noise), "stubbornness" (of every agent), "slope" (of Linear) or "exponent" (of Power peer pressure), "pressure"
        (constant on pieces of time, of any course), "adaptation" (a constant rate; weights of agents are those of the
        model) and "autocorrelation" (of AR(1) noise).
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
        If the noise is not Gaussian or is frozen, if the outputs cannot determine the unknowns, or if no replicate can
        be fitted.
    TooLargeError
        If a replicate has more than 10⁷ outputs.

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
    >>> from peerpressure.recovery import fit, outputs_of
    >>> model = Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5), start=[0.0, 0.0])
    >>> std = fit(model, outputs_of(model, simulate(model, 400, seed=1)), ("std",)).parameters["std"]
    >>> bool(std.low[0] < 0.5 < std.high[0])
    True
    """
    if not 0 < level < 1:
        rule = "a level must lie strictly between 0 and 1"
        raise InvalidInputError(message(rule, got=level, remedy="for instance 0.95"))
    with cancellable(should_stop), few_threads(model.n):
        what, design, samples = _prepared(model, data, unknown, pieces)
        found: list[Found | None] = []
        reasons: list[str | None] = []
        # Replicate by replicate: each has its own maximum, and one without must not lose the others.
        for sample in samples:
            try:
                found.append(fit_replicate(ProfileLikelihood(what, design, sample), level))
                reasons.append(None)
            except (InvalidInputError, np.linalg.LinAlgError) as error:
                found.append(None)
                reasons.append(str(error))
    if all(each is None for each in found):
        raise InvalidInputError(reasons[0] or "nothing to fit")
    return _gathered(what, data, found, tuple(reasons), level)


def _prepared(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None
) -> tuple[Unknowns, FitDesign, list[Sample]]:
    """Return the unknowns, what replicates share, and the replicates."""
    # The names are checked before the outputs are read.
    unknowns(model, unknown, data.seen.times[:0])
    require_synchronous(model, "the likelihood of unknown parameters", "recover x₀ with parameters that are known")
    if not (unknown or data.seen.free.size):
        remedy = "name a parameter, for instance unknown=('std',)"
        raise InvalidInputError(message("something must be unknown", got="a start that shows all", remedy=remedy))
    if data.seen.last * model.n > FIT_NUMBERS:
        rule = f"a likelihood in unknown parameters takes up to {FIT_NUMBERS:,} outputs of a replicate"
        got = f"{data.seen.last:,} steps of {model.n:,} agents"
        raise TooLargeError(message(rule, got=got, remedy="observe fewer steps, or take the parameters as known"))
    seen = observed_steps(_neutral(model, unknown), data)
    what = unknowns(model, unknown, seen.times, pieces)
    design = _design(what, seen, ~np.isnan(data.known[0]))
    path = np.zeros((data.values.shape[0], data.seen.last, model.n))
    for row, t in enumerate(data.seen.times):
        if t > 0:
            path[:, t - 1, data.seen.agents] = np.nan_to_num(data.at(row))
    coupling = seen.degrees * seen.public - seen.around
    samples = [Sample(y, q, known) for y, q, known in zip(path, coupling, data.known, strict=True)]
    return what, design, samples


def _neutral(model: Model, unknown: Sequence[str]) -> Model:
    """Return the model with harmless values for unknown parameters: only which steps are observed depends on it."""
    if {"slope", "exponent", "pressure"} & set(unknown):
        model = replace(model, pressure=Constant(1.0))
    if "adaptation" in unknown:
        # So small that no step counts as one in which x₀ is forgotten.
        model = replace(model, adaptation=Adaptation(1e-15, adaptation_of(model, 1.0).adaptation_weight))
    return model


def _design(what: Unknowns, seen: ObservedSteps, known: NDArray[np.bool_]) -> FitDesign:
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
    settled = _settled(what, used, known, rho * seen.degrees)
    return FitDesign(seen.times - 1, scale, used & settled, follows & settled, seen.degrees, ~known & settled)


def _settled(what: Unknowns, used: Present, known: Present, pull: Vector) -> Present:
    """Return which agents have enough steps for their own unknowns, (n,), after checking their total."""
    steps = used.sum(axis=0)
    own = (~known).astype(int) + ("stubbornness" in what) + ("agent_std" in what)
    # An agent with as many steps as unknowns is fitted exactly: it determines them but adds nothing to the shared ones.
    enough = np.asarray(steps >= np.maximum(own, 1))
    if "stubbornness" in what:
        # Steps without neighbours or without pressure do not depend on stubbornness.
        enough &= (used & (pull > 0)).any(axis=0)
    shared = len(what.coordinates)
    # Degrees of freedom left for the parameters that all agents share.
    spare = int((steps - own)[enough].sum())
    if not enough.any() or spare < shared:
        rule = f"each agent needs {int(own.max())} steps or more that are observed from beginning to end"
        rule += f", and all together {shared} more" * bool(shared)
        rule += ", with neighbours and peer pressure in one of them" * ("stubbornness" in what)
        got = f"at most {int(steps.max(initial=0))} for an agent"
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
    return enough


def _gathered(
    what: Unknowns, data: Outputs, found: list[Found | None], reasons: tuple[str | None, ...], level: float
) -> LikelihoodFit:
    model, free = what.model, data.seen.free
    fitted = [each for each in found if each is not None]
    hidden = _stacked([each and each.hidden for each in found])
    spread = np.mean([each.covariance for each in fitted], axis=0)
    identified = np.asarray(np.isfinite(fitted[0].hidden.std))[free]
    value = np.nan_to_num(hidden.value[:, free], nan=0.0)
    value[[each is None for each in found]] = np.nan
    if spread.ndim == 1:
        covariance: Any = sparse.diags_array(spread[free], format="csr")
    else:
        covariance = np.where(np.outer(identified, identified), spread[np.ix_(free, free)], 0.0)
    note = f"found together with {', '.join(what.names)}" if what.names else ""
    rank = int(identified.sum())
    estimate = estimate_from(model, data, NAME, value, covariance, identified=identified, rank=rank, note=note)
    parameters = {}
    for name in what.names:
        p = _stacked([each and each.parameters[name] for each in found])
        # One number for all, unless agents or pieces have their own.
        many = name in ("agent_std", "stubbornness", "pressure") or (name == "std" and np.ndim(model.noise.std))
        parameters[name] = p if many else UnknownParameter(*(part[:, 0] for part in vars(p).values()))
    heights = np.array([np.nan if each is None else each.log_likelihood for each in found])
    return LikelihoodFit(estimate, parameters, hidden, heights, level, reasons, what.pieces)


def _stacked(found: Sequence[UnknownParameter | None]) -> UnknownParameter:
    """Return the intervals of all replicates, NaN for those that failed."""
    shape = next(each.value for each in found if each is not None).shape
    nothing = np.full(shape, np.nan)
    empty = UnknownParameter(nothing, nothing, nothing, nothing, np.zeros(shape, dtype=bool))
    return UnknownParameter(*map(np.array, zip(*(vars(each or empty).values() for each in found), strict=True)))


def _of_law(model: Model, data: Outputs) -> Estimate:
    """Return the maximum likelihood of each agent's ξ_t under white noise that is not Gaussian."""
    if model.noise.autocorrelation:
        rule = "the likelihood of noise that is not Gaussian needs it drawn anew at every step"
        remedy = "use method='kalman' or 'innovations', the best linear ones"
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=remedy))
    seen, free = observed_steps(model, data), data.seen.free
    # 1 where nothing is observed, only to avoid 0/0; these entries have weight 0.
    present, share = seen.present[:, free], np.where(seen.present, seen.share, 1.0)[:, free]
    xi = own_series(model, seen)[:, :, free] / share
    identified = np.asarray(present.any(axis=0))
    std = model.noise.deviations(model.n)[free]
    # An agent without noise has the same ξ at every step, so that any average is exact; σ = 1 only sets equal weights.
    sigma = model.noise.scale(seen.times)[:, None] * np.where(std > 0, std, 1.0) / share
    value, variance = np.zeros((xi.shape[0], free.size)), np.zeros(free.size)
    if identified.any():
        chosen = xi[:, :, identified], sigma[:, identified], present[:, identified]
        value[:, identified], variance[identified] = LOCATIONS.get(model.noise.law, numerical)(*chosen, model.noise)
    spread = sparse.diags_array(np.where(std > 0, variance, 0.0), format="csr")
    rank = int(identified.sum())
    note = "standard errors are those of large samples, intervals are exact"
    found = estimate_from(model, data, NAME, value, spread, identified=identified, rank=rank, note=note)
    noisy = identified & (std > 0)
    series = xi[:, :, noisy], sigma[:, noisy], present[:, noisy]
    ends = LocationInterval(model.noise, *series, found.value, found.std, free[noisy])
    return replace(found, exact_interval=ends)


def _with_prior(estimate: Estimate, data: Outputs, prior: Prior | None) -> Estimate:
    """Return the best linear combination of an unbiased estimate and a prior."""
    if prior is None:
        return estimate
    free = data.seen.free
    means, rest = prior.given(data.known)
    if rest.is_diagonal and sparse.issparse(estimate.covariance):
        # Agent by agent, for a network may be too large for a full covariance.
        tau = rest.variances(free.size)
        share = np.where(estimate.identified, tau / (tau + estimate.covariance.diagonal()), 0.0)
        value = means + share * (estimate.value - means)
        return estimate_from(estimate.model, data, NAME, value, sparse.diags_array((1 - share) * tau, format="csr"))
    # What is not identified contributes nothing, and the prior is returned for it.
    reach = np.diag(estimate.identified[free].astype(float))
    spread = (estimate.covariance @ np.eye(estimate.model.n))[np.ix_(free, free)]
    value, covariance = update(estimate.value[:, free], spread, reach, means, rest.covariance(free.size))
    return estimate_from(estimate.model, data, NAME, value, covariance, note=estimate.note)
