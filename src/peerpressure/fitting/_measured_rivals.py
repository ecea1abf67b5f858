"""Rivals of answers with errors: rounded, on an ordered scale, or measured with noise of unknown size.

Nobody responds to such errors, so they are not noise of the model. Given first answers, the state before the first
scored row is

    y ~ N(first answers, r² + w²/12),    x ~ N(α + β · own + γ · neighbours' first answers, τ²),

with w the spacing of answers and r the noise of measurement. From there on answers are seen through their errors by
the filter of a latent path; points of a scale are ordered categories. This is the integrated likelihood of exact
answers with one more variance: it tends to that as errors vanish. σ and α/σ, β/σ, γ/σ, τ/σ are coordinates of the
search, like those of the pressure: answers hardly change where pressure, noise and opinions grow in proportion. Walks
and averages have no x of their own: it is the last y.
"""

from __future__ import annotations

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.fitting._answer_likelihood import AnswerLikelihood
from peerpressure.fitting._answers import Answers
from peerpressure.fitting._courses import Course
from peerpressure.fitting._latent_path import last_opinions
from peerpressure.fitting._parameters import Shared
from peerpressure.fitting._record import Dynamics, Panel
from peerpressure.model.step import Array
from peerpressure.recovery.limits import ANSWER_LIMIT

# Most starts of a course that are tried.
_TRIED = 12


def measured_likelihood(
    panel: Panel, course: Course, given: Dynamics | None = None, *, averages: bool = False
) -> AnswerLikelihood:
    """Return the likelihood of scored answers, given the first ones.

    Pressure and adaptation may be ``given``, by a model of the user. In walks and ``averages`` hidden opinions are the
    last answers.
    """
    _check(panel)
    errors = panel.errors
    assert errors is not None
    n, agents, first = panel.n, np.arange(panel.n), panel.first
    t, spread_of_all = panel.steps[1:].astype(np.float64), float(np.nanstd(panel.rows)) or 1.0
    regressors = regressors_of(panel)
    levels = () if averages else tuple(f"level {k}" for k in range(regressors.shape[1]))
    noise = ("measurement_noise",) * errors.is_measured
    names = (*course.names, *levels, *(("spread",) * (not averages)), *noise, "std")
    begin, end = len(course.names), len(course.names) + len(levels)

    def shared(z: Array) -> Shared:
        dynamics = given
        if dynamics is None:
            rate = 1.0 if averages else course.rate(z)
            adapts = averages or course.adapts
            dynamics = Dynamics(course.rho(z, t), np.full((t.size, n), rate) if adapts else None)
        return Shared(dynamics.rho[:, None], dynamics.rate, 0.0, float(z[-1]))

    def start(points: Array) -> tuple[Array, Array]:
        """Return the law of (y, x) before the first scored row."""
        mean, covariance = np.zeros((len(points), 2 * n)), np.zeros((len(points), 2 * n, 2 * n))
        error = np.zeros((len(points), 1))
        if errors.is_measured:
            error = np.exp(2 * points[:, -2:-1])
        # Nobody knows where an agent stood who answered later only.
        error = error + errors.spacing**2 / 12 + np.where(np.isfinite(panel.rows[0]), 0.0, spread_of_all**2)
        mean[:, :n] = first
        covariance[:, agents, agents] = error
        if averages:
            mean[:, n:] = first
            for block in (covariance[:, :n, n:], covariance[:, n:, :n], covariance[:, n:, n:]):
                block[:, agents, agents] = error
            return mean, covariance
        std = np.exp(points[:, -1])
        mean[:, n:] = first.mean() + std[:, None] * (points[:, begin:end] @ regressors.T)
        covariance[:, n + agents, n + agents] = np.square(std * np.exp(points[:, end]))[:, None]
        return mean, covariance

    def rough(opinions: Array, std: float, shown: float) -> dict[str, float]:
        relative = (opinions - first.mean()) / std
        level = np.linalg.lstsq(regressors, relative, rcond=None)[0]
        spread = float((relative - regressors @ level).std())
        return {"spread": np.log(max(spread, 0.1)), **dict(zip(levels, level.tolist(), strict=False))}

    own = course.starts(_TRIED, slice(1, 4))
    scored = np.where(panel.scored, panel.rows[1:], np.nan)
    changes = not panel.model.is_constant
    return AnswerLikelihood(
        names=names,
        answers=Answers(np.concatenate([np.full((1, n), np.nan), scored]), errors.spacing, errors.scale),
        filled=panel.filled,
        listening=np.array([A.toarray() for A in panel.listening[: None if changes else 1]]),
        slope=panel.slope,
        scale=np.ones(1),
        shared=shared,
        start=start,
        levels=rough,
        grid=np.hstack([own, np.full((len(own), len(names) - begin), np.nan)]),
        ranges=dict(zip(course.names, course.bounds, strict=True)),
        # That of log τ/σ: with few agents the likelihood may be highest where all think as first answers say.
        penalty=(np.array(names) == "spread").astype(np.float64),
        opinions=last_opinions,
    )


def regressors_of(panel: Panel) -> Array:
    """Return a constant, and first answers about their mean, all in units of typical changes of answers, (n, k)."""
    columns = panel.regressors.copy()
    columns[:, 1:] -= panel.first.mean()
    changes = np.diff(panel.filled, axis=0)
    typical = float(np.sqrt(np.square(changes).mean() / 2)) or float(np.nanstd(panel.rows)) or 1.0
    return np.asarray(columns / np.r_[1.0, [typical] * (columns.shape[1] - 1)])


def _check(panel: Panel) -> None:
    """Raise an error for more agents than a dense filter takes."""
    if panel.n > ANSWER_LIMIT:
        rule = f"answers with rounding or measurement noise are compared for up to {ANSWER_LIMIT} agents"
        raise TooLargeError(message(rule, got=f"{panel.n:,}", remedy="compare a part of the network"))
    if panel.count <= panel.common_parameters + 4:
        rule, remedy = "answers with errors must be more than the parameters of rivals", "observe longer"
        raise InvalidInputError(message(rule, got=f"{panel.count} after the first ones", remedy=remedy))
