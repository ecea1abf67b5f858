"""The likelihood of x₀ and unknown parameters of one replicate, and its modified profile.

With w = 1/s, an observed step of an agent gives u_t = y_t + w ρ_t (d y_t − a_t) − k_{t−1} = π_{t−1} x₀ + σ τ_t v_t,
where a_t = Σ A_t y_{t−1} and v is white or AR(1) with unit variance. The update is triangular in time, so the
likelihood is that of a regression, times the Jacobian Π m_t with m_t = 1 + w ρ_t d:

    ℓ = Σ log m_t − N log σ − RSS/(2σ²) − ½ log det corr(v) + constant.

Every agent has its own x₀, so the maximum of ℓ underestimates σ and its curvature overstates what is known of the
other parameters ψ. The modified profile likelihood (Barndorff-Nielsen 1983; Severini 1998) removes this: it subtracts
½ log det j(ψ) + log det ∂x̂₀(ψ)/∂x₀, where j is the information about x₀ and x̂₀(ψ) the estimate at ψ. With σ alone
unknown this is the restricted likelihood of N − n degrees of freedom. Without the second term it would increase without
bound in the other parameters, since opinions, pressure and noise have an almost common scale.

The modification compares with one point and is local. As adaptation tends to 1, answers lose all memory of x₀, and it
grows by a term for each agent that weak data do not outweigh. There x₀ is integrated out instead (Wooldridge 2005):
with x₀ | y_1 ~ N(α + βy_1, λσ²) for each agent, and x̂₀ and its information I at σ = 1 as before,

    ℓ = Σ log m_t − N log σ − [RSS + Σ I (x̂₀ − α − βy_1)²/(1 + λI)]/(2σ²) − ½ Σ log(1 + λI) + constant.

α, β and σ have closed forms. If y_1 counts as an answer, as with a public start, β is 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.fitting._integrated import OpinionLaw, refuse_noiseless
from peerpressure.fitting._parameters import Shared, Unknowns
from peerpressure.fitting._record import adopted_part, unit_columns
from peerpressure.model.step import Array
from peerpressure.recovery.least_squares import whiten_pair
from peerpressure.recovery.limits import FIT_RESPONSES
from peerpressure.support.progress import check_cancelled

# Newton's method for 1/s approaches the maximum from one side and needs far fewer.
_ITERATIONS = 100


@final
@dataclass(frozen=True, eq=False)
class FitDesign:
    """What replicates share: all arrays are (T, n), except ``rows`` (T,), the positions of the steps in a path.

    ``scale`` is τ; ``used`` marks the steps that count, ``follows`` those whose noise is predicted by the step before.
    ``free`` (n,) marks the agents whose x₀ is unknown.
    """

    rows: NDArray[np.int64]
    scale: Array
    used: NDArray[np.bool_]
    follows: NDArray[np.bool_]
    degrees: Array
    free: NDArray[np.bool_]

    @cached_property
    def counts(self) -> Array:
        """How many steps of each agent count, (n,)."""
        return np.asarray(self.used.sum(axis=0), dtype=np.float64)

    @cached_property
    def pulls(self) -> Array:
        """Degrees at the steps that count, 0 elsewhere, (T, n)."""
        return np.asarray(self.degrees * self.used)

    def whiten(self, values: Array, phi: float) -> Array:
        """Return (v_t − φ v_{t−1})/√(1−φ²), 0 at steps that do not count, for values (…, T, n)."""
        if phi:
            before = np.zeros_like(values)
            before[..., 1:, :] = values[..., :-1, :]
            values = np.where(self.follows, whiten_pair(values, before, phi), values)
        return values * self.used


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Answers y_1, y_2, … of one replicate, (last, n), their coupling d y_t − a_t, (T, n), and x₀ or NaN, (n,).

    Further axes may stand before, for the responses of answers to several opinions.
    """

    path: Array
    coupling: Array
    known: Array
    # What the mean of x₀ may depend on, (n, k): a constant, and the first answer where that is only conditioned on.
    regressors: Array | None = None
    # The last fixed part of a regression of this sample.
    kept: dict[Any, Any] = field(default_factory=dict)


class Regression(NamedTuple):
    """The regression of u_t on π_{t−1} for given shared parameters.

    ``information`` (n,) is that about x₀ at σ = 1, and x̂₀ = ``base`` + w ``pull``; residuals are ``rest`` + w ``lean``,
    (…, T, n), with sums of squares ``forms`` A + 2Bw + Cw². ``slope`` is ρ d, ``leverage`` (T, n) that of each step in
    x̂₀, and ``log_det`` ½ log det corr(v).
    """

    information: Array
    base: Array
    pull: Array
    rest: Array
    lean: Array
    slope: Array
    leverage: Array
    log_det: float

    @property
    def forms(self) -> tuple[Array, Array, Array]:
        """The coefficients A, B, C, (n,) each."""
        return (self.rest**2).sum(axis=-2), (self.rest * self.lean).sum(axis=-2), (self.lean**2).sum(axis=-2)


class _Fixed(NamedTuple):
    """The part of a regression that depends on η and φ only."""

    X: Array
    norm: Array
    information: Array
    own: Array
    base: Array
    rest: Array
    coupling: Array
    leverage: Array


def regression(design: FitDesign, sample: Sample, shared: Shared) -> Regression:
    """Return the regression of one replicate."""
    of, P, pull = _pulled(design, sample, shared)
    predicted = int((design.used & design.follows).sum()) if shared.phi else 0
    return Regression(
        of.information,
        of.base + of.own,
        pull,
        of.rest,
        P - of.X * pull[..., None, :],
        shared.rho * design.pulls,
        of.leverage,
        0.5 * predicted * float(np.log1p(-(shared.phi**2))),
    )


def _pulled(design: FitDesign, sample: Sample, shared: Shared) -> tuple[_Fixed, Array, Array]:
    """Return the fixed part of a regression, what neighbours' opinions are multiplied by w in, and its part in x̂₀."""
    # Searches change ρ and σ more often than η and φ. A sum of rates would not do: different courses can share one.
    key = shared.phi, None if shared.rate is None else shared.rate.tobytes()
    if key not in sample.kept:
        sample.kept.clear()
        sample.kept[key] = _fixed(design, sample, shared)
    of: _Fixed = sample.kept[key]
    # Steps have one ρ each, so a whitened difference of two steps must be recomputed.
    P = design.whiten(shared.rho * of.coupling, shared.phi) if shared.phi else shared.rho * of.coupling
    return of, P, np.einsum("ti,...ti->...i", of.X, P) / of.norm


def _fixed(design: FitDesign, sample: Sample, shared: Shared) -> _Fixed:
    y, pi = sample.path[..., design.rows, :], np.ones_like(design.scale)
    if shared.rate is not None:
        adopted, left = adopted_part(sample.path, shared.rate)
        y, pi = y - adopted[..., design.rows, :], left[design.rows]
    own = np.where(design.free, 0.0, np.nan_to_num(sample.known))
    X, Y = (design.whiten(values / design.scale, shared.phi) for values in (pi, y - pi * own))
    information = np.where(design.free, (X**2).sum(axis=0), 0.0)
    # An agent whose x₀ is known, or of whom nothing is observed, has no regressor.
    X = np.where(information > 0, X, 0.0)
    norm = np.where(information > 0, information, 1.0)
    base = (X * Y).sum(axis=-2) / norm
    coupling = sample.coupling / design.scale
    coupling = coupling if shared.phi else coupling * design.used
    return _Fixed(X, norm, information, own, base, Y - X * base[..., None, :], coupling, X**2 / norm)


class ProfilePoint(NamedTuple):
    """The best of everything that agents have for themselves, at one point of the shared coordinates.

    ``log_std``, ``w``, ``opinions`` and ``squares`` (residual sums) are (n,); ``degrees_of_freedom`` (n,) are those
    that are left to the residuals of each agent.
    """

    height: float
    log_std: Array
    w: Array
    opinions: Array
    squares: Array
    degrees_of_freedom: Array
    of: Regression


class Reference(NamedTuple):
    """The estimate at which the modification compares: responses of answers to opinions there, and its state."""

    responses: Sample | None
    state: ProfilePoint


@final
@dataclass(frozen=True, eq=False)
class ProfileLikelihood:
    """The likelihood of one replicate as a function of shared coordinates.

    Modified if it has a ``reference``; with x₀ integrated out, and not maximised over, if it is ``integrated``.
    """

    unknown: Unknowns
    design: FitDesign
    sample: Sample
    reference: Reference | None = None
    integrated: bool = False

    def height(self, z: Array) -> float:
        """Return the profile over everything that agents have for themselves."""
        return self.state(z).height

    def state(self, z: Array) -> ProfilePoint:
        """Return the maximum at shared coordinates; NaN for log σ is one that is to be maximised as well."""
        check_cancelled()
        what, restricted = self.unknown, self.reference is not None
        shared = what.shared(z)
        of = regression(self.design, self.sample, shared)
        left = self.design.counts - (of.information > 0) if restricted else self.design.counts
        w = self._given_w
        if "stubbornness" in what:
            assert shared.log_std is not None
            w = self.inverse_stubbornness(of, np.exp(-2 * shared.log_std))
        # Not from the forms, in which small residuals cancel.
        squares = np.square(of.rest + w * of.lean).sum(axis=0)
        if self.integrated:
            return self._integrated(shared, of, w, squares)
        log_std = self._log_std(shared, squares, left)
        height = float(np.log1p(of.slope * w).sum() - left @ log_std - 0.5 * (squares @ np.exp(-2 * log_std)))
        point = ProfilePoint(height - of.log_det, log_std, w, of.base + of.pull * w, squares, left, of)
        return point._replace(height=point.height - self._modification(shared, point)) if restricted else point

    @cached_property
    def _given_w(self) -> Array:
        """1/s of the model itself, (n,)."""
        return np.asarray(1 / self.unknown.model.s)

    def _integrated(self, shared: Shared, of: Regression, w: Array, squares: Array) -> ProfilePoint:
        """Return the point with x₀ integrated out."""
        assert self.sample.regressors is not None
        free, opinions = of.information > 0, of.base + of.pull * w
        count, Z = int(self.design.used.sum()), unit_columns(self.sample.regressors[free])
        law = OpinionLaw(of.information[free], opinions[free], Z, float(squares.sum()), count)
        if shared.log_std is None:
            refuse_noiseless(squares.sum(), self._size.sum())
        best = law.at(np.array([law.best(shared.log_std)]), shared.log_std)
        log_std = shared.log_std if shared.log_std is not None else 0.5 * float(np.log(best.squares[0] / count))
        height = float(np.log1p(of.slope * w).sum()) - of.log_det - float(best.below[0])
        left = self.design.used.sum(axis=0) - free.astype(np.float64)
        return ProfilePoint(height, np.full(w.size, log_std), w, opinions, squares, left, of)

    def _log_std(self, shared: Shared, squares: Array, left: Array) -> Array:
        n = squares.size
        if shared.log_std is not None:
            return np.full(n, shared.log_std)
        size = self._size
        if "agent_std" in self.unknown:
            refuse_noiseless(squares[left > 0], size[left > 0])
            return np.asarray(0.5 * np.log(np.where(left > 0, squares, 1.0) / np.maximum(left, 1.0)))
        refuse_noiseless(squares.sum(), size.sum())
        return np.full(n, 0.5 * np.log(squares.sum() / left.sum()))

    @cached_property
    def _size(self) -> Array:
        """Sums of squares of the answers, (n,), beside which residuals may be rounding errors."""
        outputs = self.sample.path[self.design.rows] / self.design.scale
        return np.asarray((outputs**2 * self.design.used).sum(axis=0))

    def weights(self, of: Regression) -> Array:
        """Return how much the scale of each answer counts: its residual degrees of freedom, 1 − leverage, (T, n)."""
        return self.design.used - of.leverage * (self.reference is not None)

    def inverse_stubbornness(self, of: Regression, precision: float) -> Array:
        """Return the w ≥ 0 of each agent at which Σ weight · log(1 + ρdw) − RSS(w)/(2σ²) is largest, (n,)."""
        weight = self.weights(of)
        _, B, C = of.forms
        C = np.maximum(C, 1e-300)
        total = weight.sum(axis=0)
        # Σ weight·ρd/(1 + ρdw) ≤ Σ weight/w bounds the root from above. The derivative is convex and decreasing:
        # one Newton step from there ends below the root, and further ones climb to it.
        w = (-B + np.sqrt(B**2 + 4 * C * total / precision)) / (2 * C)
        for _ in range(_ITERATIONS):
            ratio = of.slope / (1 + of.slope * w)
            value = (weight * ratio).sum(axis=0) - precision * (B + C * w)
            # Agents that are not fitted have neither.
            step = value / np.maximum((weight * ratio**2).sum(axis=0) + precision * C, 1e-300)
            moved = np.maximum(w + step, 0.0)
            done = (np.abs(moved - w) <= 1e-12 * w).all()
            w = moved
            if done:
                break
        return np.asarray(w)

    def curvature(self, state: ProfilePoint) -> Array:
        """Return the information about w of each agent, (n,)."""
        ratio = state.of.slope / (1 + state.of.slope * state.w)
        fitted = state.of.forms[2] * np.exp(-2 * state.log_std)
        return np.asarray(fitted + (self.weights(state.of) * ratio**2).sum(axis=0))

    def _modification(self, shared: Shared, state: ProfilePoint) -> float:
        """Return ½ log det j + log det ∂x̂₀(ψ)/∂x₀, and the same for unknown stubbornness."""
        assert self.reference is not None
        free = state.of.information > 0
        # The information about x₀ is that at σ = 1 over σ²; the power of σ is in the degrees of freedom already.
        total = 0.5 * float(np.log(state.of.information[free]).sum())
        if self.reference.responses is not None:
            at, _, pull = _pulled(self.design, self.reference.responses, shared)
            change = at.base + at.own + pull * state.w
            if change.ndim == 2:
                total += float(np.linalg.slogdet(change if free.all() else change[np.ix_(free, free)])[1])
            else:
                total += float(np.log(np.abs(change[free]) + 1e-300).sum())
        if "stubbornness" in self.unknown:
            total += self._stubbornness_modification(state)
        return total

    def _stubbornness_modification(self, state: ProfilePoint) -> float:
        """Return log I(ψ; ψ̂) − ½ log j for 1/s of every agent, I the covariance of its scores at the two points.

        Given the past, both scores are quadratic in the standard normal noise ẑ of the reference.
        """
        assert self.reference is not None
        then = self.reference.state
        h, h_then = np.exp(-state.log_std), np.exp(-then.log_std)
        m, m_then = 1 + state.of.slope * state.w, 1 + then.of.slope * then.w
        z = h_then * (then.of.rest + then.w * then.of.lean)
        e = h * (state.of.rest + state.w * state.of.lean)
        beta, delta = m * h / (m_then * h_then), h * state.of.slope / (m_then * h_then)
        alpha, gamma = e - beta * z, h * state.of.lean - delta * z
        delta_then = then.of.slope / m_then
        gamma_then = h_then * then.of.lean - delta_then * z
        covariance = (gamma_then * (alpha * delta + beta * gamma) + 2 * delta_then * beta * delta) * self.design.used
        active = (state.w > 0) & (then.w > 0)
        scores = np.maximum(covariance.sum(axis=0)[active], 1e-300)
        return float((np.log(scores) - 0.5 * np.log(self.curvature(state)[active])).sum())

    def modified(self, z: Array) -> ProfileLikelihood:
        """Return the problem with the modification that compares with the point z."""
        # The height of a draft is not used: its reference only stands for the weights of a restricted likelihood.
        draft = replace(self, reference=Reference(None, replace(self, reference=None).state(z)))
        state = draft.state(z)
        varies = set(self.unknown.coordinates) - {"std"} or "stubbornness" in self.unknown
        return replace(self, reference=Reference(self._responses(z, state) if varies else None, state))

    def _responses(self, z: Array, state: ProfilePoint) -> Sample:
        """Return the answers and couplings per unit of each x₀, without noise, at the point z.

        Small networks: of every agent to every opinion, (n, last, n). Large ones: of each agent to its own, (last, n),
        by its own step alone; what comes back through neighbours is of the order 1/n.
        """
        what, rows, n = self.unknown, self.design.rows, state.w.size
        shared = what.shared(z)
        full = self.sample.path.shape[0] * n**2 <= FIT_RESPONSES
        rho = dict(zip((int(row) for row in rows), shared.rho[:, 0], strict=True))
        at = {int(row): place for place, row in enumerate(rows)}
        hidden = np.eye(n) if full else np.ones((1, n))
        public, noise = np.zeros_like(hidden), np.zeros_like(hidden)
        path, coupling = np.zeros((len(hidden), *self.sample.path.shape)), np.zeros((len(hidden), rows.size, n))
        for row in range(self.sample.path.shape[0]):
            around = (what.model.update(row + 1).adjacency @ public.T).T if full else np.zeros_like(public)
            if row in at:
                place = at[row]
                degrees, pull = self.design.degrees[place], rho[row] * state.w
                expected = self._expected_noise(noise, place, shared.phi)
                # Answers that are only conditioned on do not respond: those whose own past is not observed.
                public = self.design.used[place] * (hidden + expected + pull * around) / (1 + pull * degrees)
                coupling[:, place] = degrees * public - around
                noise = public + pull * coupling[:, place] - hidden
            else:
                public, noise = np.zeros_like(public), np.zeros_like(noise)
            path[:, row] = public
            if shared.rate is not None:
                hidden = hidden + shared.rate[row] * (public - hidden)
        known = np.zeros(n)
        return Sample(path, coupling, known) if full else Sample(path[0], coupling[0], known)

    def _expected_noise(self, noise: Array, place: int, phi: float) -> Array:
        """Return the noise that AR(1) predicts at a place from that of the step before, 0 where it does not follow.

        An answer that does not respond leaves a response of minus x₀ in its noise, which the next one repeats in part.
        """
        if not phi or not place:
            return np.zeros_like(noise)
        ratio = self.design.scale[place] / self.design.scale[place - 1]
        return np.asarray(phi * ratio * noise * self.design.follows[place])
