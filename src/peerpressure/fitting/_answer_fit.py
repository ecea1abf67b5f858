"""The fit of unknown parameters to answers: rounded, on an ordered scale, or with measurement noise of unknown size.

Hidden opinions cannot be read off such answers, and a parameter for each of them would be fitted to errors. They are
therefore integrated out as draws from N(μ, τ²): τ is one more shared coordinate, and μ has a wide prior. With a few
agents the likelihood may be highest at τ = 0, where everybody would think alike with certainty; the factor τ/σ keeps
the estimate away from there [1]_. A factor τ would favour opinions that are far apart in every unit, and with them
strong pressure. Intervals are those of the likelihood ratio in each coordinate, the others maximised.
Those of x₀ come from its posteriors at several points around the maximum, weighted by their likelihood, and reach at
least as far as the profiles of the coordinates take it.

References
----------
.. [1] Chung, Y., Rabe-Hesketh, S., Dorie, V., Gelman, A. & Liu, J. (2013), A nondegenerate penalized likelihood
   estimator for variance parameters in multilevel models. Psychometrika 78.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._answers import Answers
from peerpressure.fitting._latent_path import first_opinions
from peerpressure.fitting._maximum import allowance
from peerpressure.fitting._parameters import COORDINATES, PARAMETERS, UnknownParameter, Unknowns, unknowns
from peerpressure.fitting._profile_intervals import ReplicateFit
from peerpressure.model import Model
from peerpressure.model.statespace import initial_state
from peerpressure.model.step import Array
from peerpressure.recovery.limits import ANSWER_LIMIT
from peerpressure.recovery.observation import Outputs


def is_measured(data: Outputs, unknown: Sequence[str]) -> bool:
    """Return whether answers are seen through errors, known or unknown."""
    return bool(data.seen.noise_variance) or "measurement_noise" in unknown


def answer_problems(
    model: Model, data: Outputs, unknown: Sequence[str], pieces: Sequence[int] | None
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
    if model.n > ANSWER_LIMIT:
        rule = f"answers with rounding or measurement noise are fitted for up to {ANSWER_LIMIT} agents"
        remedy = "fit a part of the network, or recover with known parameters"
        raise TooLargeError(message(rule, got=f"{model.n:,}", remedy=remedy))
    what = unknowns(model, unknown, data.seen.times[data.seen.times > 0], pieces)
    # Every step has a state, observed or not.
    what = replace(what, names=(*what.names, "spread"), times=np.arange(1, data.seen.last + 1))
    seen = data.seen
    values = np.full((len(data.values), seen.last + 1, model.n), np.nan)
    for row, t in enumerate(seen.times):
        values[:, t, seen.agents] = data.at(row)
    return [(what, _likelihood(what, Answers(path, seen.rounding, seen.scale))) for path in values]


def _likelihood(what: Unknowns, answers: Answers) -> AnswerLikelihood:
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


def fit_answers(what: Unknowns, likelihood: AnswerLikelihood, level: float) -> ReplicateFit:
    """Return the estimate of one replicate, with intervals of the given level."""
    count = int(likelihood.answers.present.sum())
    if count <= len(likelihood.names):
        rule, got = "there must be more answers than unknown parameters", f"{count} for {len(likelihood.names)}"
        raise InvalidInputError(message(rule, got=got, remedy="observe longer, or take less as unknown"))
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
