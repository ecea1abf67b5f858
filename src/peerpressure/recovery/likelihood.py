"""Maximum likelihood: for noise of any law, and for parameters that the observer does not know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from peerpressure.errors import InvalidInputError, TooLargeError, complain
from peerpressure.model import Model
from peerpressure.noises import Gaussian, White
from peerpressure.recovery.concave import Sample
from peerpressure.recovery.estimate import Estimate, estimate_from
from peerpressure.recovery.innovations import innovations
from peerpressure.recovery.joint_fit import Found, fit_one
from peerpressure.recovery.kalman import kalman
from peerpressure.recovery.location import LOCATIONS
from peerpressure.recovery.outputs import Outputs
from peerpressure.recovery.parameters import LikelihoodFit, Parameter
from peerpressure.recovery.preferred import preferred_opinions, transitions
from peerpressure.recovery.prior import Prior, update
from peerpressure.recovery.unknowns import Unknowns, unknowns

NAME = "likelihood"
# The second derivative is a dense matrix in two unknowns for each agent.
_LARGEST_FIT = 1_000


def likelihood(model: Model, data: Outputs, prior: Prior | None = None, unknown: Sequence[str] = ()) -> Estimate:
    """Return the maximum of the likelihood of the model's own noise law, in x₀ and in what is ``unknown`` besides.

    Gaussian noise: the best linear estimate, from whatever is seen. Other laws: from the ξ_t = x₀ + ε_t of all steps
    that are seen from beginning to end (Laplace: their median; uniform: their midrange; …), with the variance of the
    large-sample law; where opinions adapt, from (ξ_t − k_{t−1})/π_{t−1} = x₀ + ε_t/π_{t−1}. A prior is then
    combined with the estimate in the best linear way. ``unknown`` is for ``fit``.
    """
    if unknown:
        return _with_prior(fit(model, data, unknown).estimate, data, prior)
    silent = model.noise.is_zero or not model.noise.scale(np.arange(1, data.seen.last + 1)).all()
    if isinstance(model.noise, Gaussian) or silent:
        return replace((innovations if data.complete else kalman)(model, data, prior), method=NAME)
    return _with_prior(_of_law(model, data), data, prior)


def fit(model: Model, data: Outputs, unknown: Sequence[str] = ()) -> LikelihoodFit:
    """Return the joint maximum of the Gaussian likelihood in x₀ and in unknown parameters, for each replicate.

    ``unknown`` may name "std" (of noise), "stubbornness" (of every agent) and "slope" (of Linear) or "exponent" (of
    Power peer pressure); what the model says of them is not used. y_t given all before it is normal with mean
    (s x_t + ρ_t Σ w y)/(s + ρ_t d) and standard deviation s σ/(s + ρ_t d).
    """
    what = unknowns(model, unknown)
    _refuse_unfit(what, data)
    seen = transitions(model, data)
    known = ~np.isnan(data.known[0])
    settled = what.settled(seen.present, known, seen.degrees)
    std = model.noise.deviations(model.n)
    scale = model.noise.scale(seen.times)[:, None] * std / std.mean()
    d, here = seen.degrees, seen.present & settled
    found = [
        fit_one(what, Sample(y - k, d * y - a, scale, here, d, seen.share, x), seen.times)
        for y, a, k, x in zip(seen.public, seen.around, seen.adopted, data.known, strict=True)
    ]
    return _gathered(what, data, found)


def _refuse_unfit(what: Unknowns, data: Outputs) -> None:
    if not (what.names or data.seen.free.size):
        remedy = "name a parameter, for instance unknown=('std',)"
        raise InvalidInputError(complain("something must be unknown", got="a start that shows all", remedy=remedy))
    if what.model.n > _LARGEST_FIT:
        remedy = "fit a smaller network, or take the parameters as known"
        rule = f"unknown parameters are fitted for up to {_LARGEST_FIT:,} agents"
        raise TooLargeError(complain(rule, got=f"{what.model.n:,}", remedy=remedy))


def _gathered(what: Unknowns, data: Outputs, found: list[Found]) -> LikelihoodFit:
    model, free = what.model, data.seen.free
    n, agents = model.n, found[0].agents
    place = np.searchsorted(free, agents)
    value = np.zeros((len(found), free.size))
    covariance = np.zeros((free.size, free.size))
    identified = np.zeros(free.size, dtype=bool)
    identified[place] = True
    hidden_std = np.zeros((len(found), n))
    hidden_std[:, free[~identified]] = np.inf
    if agents.size:
        value[:, place] = [each.values["hidden"] for each in found]
        covariance[np.ix_(place, place)] = np.mean([each.covariance for each in found], axis=0)
        hidden_std[:, agents] = [each.deviations["hidden"] for each in found]
    rank = int(identified.sum())
    note = f"found together with {', '.join(what.names)}" if what.names else ""
    estimate = estimate_from(model, data, NAME, value, covariance, identified=identified, rank=rank, note=note)
    parameters = {name: _parameter(what, found, name) for name in what.names}
    heights = np.array([each.log_likelihood for each in found])
    return LikelihoodFit(estimate, parameters, hidden_std, heights)


def _parameter(what: Unknowns, found: list[Found], name: str) -> Parameter:
    value = np.array([each.values[name] for each in found])
    std = np.array([each.deviations[name] for each in found])
    if name == "stubbornness":
        return Parameter(value, std)
    if name == "std" and np.ndim(what.model.noise.std):
        shape = what.model.noise.deviations(what.model.n)
        return Parameter(value * shape / shape.mean(), std * shape / shape.mean())
    return Parameter(value[:, 0], std[:, 0])


def _of_law(model: Model, data: Outputs) -> Estimate:
    """Return the maximum likelihood of each agent's ξ_t under white noise that is not Gaussian."""
    if not isinstance(model.noise.temporal, White):
        rule = "the likelihood of noise that is not Gaussian needs it drawn anew at every step"
        remedy = "use method='kalman' or 'innovations', the best linear ones"
        raise InvalidInputError(complain(rule, got=str(model.noise), remedy=remedy))
    seen, free = transitions(model, data), data.seen.free
    present, share = seen.present[:, free], np.where(seen.present, seen.share, 1.0)[:, free]
    xi = preferred_opinions(model, seen)[:, :, free] / share
    identified = np.asarray(present.any(axis=0))
    std = model.noise.deviations(model.n)[free]
    # An agent without noise shows the same ξ at every step, of which any average is exact.
    sigma = model.noise.scale(seen.times)[:, None] * np.where(std > 0, std, 1.0) / share
    value, variance = np.zeros((xi.shape[0], free.size)), np.zeros(free.size)
    if identified.any():
        chosen = xi[:, :, identified], sigma[:, identified], present[:, identified]
        value[:, identified], variance[identified] = LOCATIONS[model.noise.law](*chosen, model.noise)
    spread = sparse.diags_array(np.where(std > 0, variance, 0.0), format="csr")
    rank = int(identified.sum())
    return estimate_from(model, data, NAME, value, spread, identified=identified, rank=rank)


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
    reach = np.diag(estimate.identified[free].astype(float))
    spread = (estimate.covariance @ np.eye(estimate.model.n))[np.ix_(free, free)]
    value, covariance = update(estimate.value[:, free], spread, reach, means, rest.covariance(free.size))
    return estimate_from(estimate.model, data, NAME, value, covariance, note=estimate.note)
