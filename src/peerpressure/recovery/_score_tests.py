"""What a model misses: score tests of every agent's stubbornness, of the sign of every tie, and of every absent tie.

With w = 1/s, an observed step of agent i leaves the residual e = y + wρ(dy − a) − k − πx₀ with standard deviation σ.
It adds log m − ½E² to the log-likelihood, where m = 1 + wρd and E = e/σ. In a direction of the parameters in which E
moves by c = ĉ + RE and log m by R, with ĉ known before the step, the score is

    U = Σ R(1 − E²) − Eĉ,    Var U = Σ ĉ² + 2R²,

less what x₀ (each agent's ĉ is made orthogonal to π/σ), the size of the noise and that of peer pressure explain: these
may be estimates. The directions are

    stubbornness of i    ĉ = wρ(dŷ_i − a_i)/σ,         R = wρd/m
    sign of the tie ij   ĉ = wρ A_ij y_j/σ,            R = 0
    missing tie ij       ĉ = wρ(ŷ_i − y_j)/σ,          R = wρ/m

with ŷ = y − e/m and y_j of the step before. Nothing is refitted, and all pairs take a few products of T × n matrices.
Of an undirected network both directions of a tie are added.

Scores of different pairs are highly correlated. The p-value of each is therefore the share of redrawn residuals whose
largest score of the same kind is larger [1]_, with the same answers on the right-hand side.

References
----------
.. [1] Westfall, P. H. & Young, S. S. (1993), Resampling-Based Multiple Testing. Wiley.
.. [2] Rao, C. R. (1948), Large sample tests of statistical hypotheses concerning several parameters. Mathematical
   Proceedings of the Cambridge Philosophical Society 44.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.model.step import Array
from peerpressure.noise import Gaussian, Noise
from peerpressure.recovery import limits
from peerpressure.recovery._diagnostics import Kind, Score, ScoreTests
from peerpressure.recovery.innovations import ObservedSteps, lagged_outputs, observed_steps
from peerpressure.recovery.least_squares import innovation_std, whiten_pair
from peerpressure.recovery.limits import SCORED_NUMBERS
from peerpressure.recovery.observation import Answers
from peerpressure.support.progress import check_cancelled

Mask: TypeAlias = NDArray[np.bool_]
# Redrawn residuals, and the seed that makes their law the same at every call.
DRAWS, _SEED = 199, 20_010
# Below this p-value a direction counts as missed.
LEVEL = 0.05
# Multiplications within a second or so.
_QUICK = 2e8
# Ties that are listed, those with the largest scores.
_LISTED = 1_000
# A score whose variance is below this part of its value without nuisance parameters is one of them.
_CONFOUNDED = 1e-8
# Steps of Newton's method for the change of one direction.
_NEWTON_STEPS = 30
# Steps that an agent must have beyond those that determine its x₀.
_SPARE = 2
# Numbers for which quantiles are computed at a time.
_BLOCK = 1 << 16


def score_tests(system: System, data: Answers) -> ScoreTests:
    """Return the score tests of a model from all replicates together, or the reason why there are none."""
    model, labels = system.model, tuple(system.model.network.labels)
    reason = _obstacle(system, data)
    if reason:
        return ScoreTests(labels, reason=reason)
    steps = observed_steps(model, data)
    steps = replace(steps, present=steps.present & _enough(data, steps))
    if not steps.present.any():
        return ScoreTests(labels, reason="no agent has enough steps that are observed together with its neighbours")
    whole = bool((steps.present.any(axis=1) == steps.present.all(axis=1)).all())
    if model.noise.autocorrelation and not (data.complete and whole):
        return ScoreTests(labels, reason="AR(1) noise needs complete answers")
    before = lagged_outputs(model, data, steps.times)
    design = _design(model, data, steps, before)
    kinds = list(_kinds(model, design))
    laws = dict(zip((kind.name for kind in kinds), _redrawn(model.noise, design, kinds).T, strict=True))
    scores = list(_ranked(design, kinds, laws))
    missed = _explained(model, data, steps, before, scores, laws)
    return ScoreTests(labels, tuple(scores), missed, model.network.directed)


def _explained(
    model: Model,
    data: Answers,
    steps: ObservedSteps,
    before: Array,
    scores: Sequence[Score],
    laws: Mapping[Kind, Array],
) -> tuple[Score, ...]:
    """Return the changes that explain the answers, each found without the agents of those before."""
    out: list[Score] = []
    while clear := [score for score in scores if score.p_value <= LEVEL]:
        best = max(clear, key=lambda score: score.gain)
        out.append(best)
        steps = replace(steps, present=steps.present.copy())
        # A directed tie belongs to the agent that listens.
        steps.present[:, list(best.agents[:1] if model.network.directed else best.agents)] = False
        if not steps.present.any():
            break
        design = _design(model, data, steps, before)
        scores = list(_ranked(design, list(_kinds(model, design)), laws))
    return tuple(sorted(out, key=lambda score: (list(laws).index(score.kind), -score.gain)))


def is_quick(data: Answers) -> bool:
    """Return whether the tests take a second or so."""
    return DRAWS * data.values.size * data.seen.n < _QUICK


def _obstacle(system: System, data: Answers) -> str:
    """Return why nothing can be tested, or nothing."""
    noise = system.model.noise
    if system.is_continuous:
        return "scores are those of a model in discrete time"
    if data.seen.rounding:
        return "rounded answers have no residual of a single step"
    if noise.is_frozen or noise.is_zero or not noise.deviations(system.model.n).all():
        return "every agent needs fresh noise at every step"
    if noise.autocorrelation and not isinstance(noise, Gaussian):
        return "AR(1) noise must be Gaussian"
    if data.values.size > SCORED_NUMBERS:
        return f"there are more than {SCORED_NUMBERS:,} answers"
    return ""


def _enough(data: Answers, steps: ObservedSteps) -> Mask:
    """Return which agents have steps to spare once their x₀ is estimated, (n,)."""
    return np.asarray(steps.present.sum(axis=0) >= np.isnan(data.known[0]) + _SPARE)


@final
@dataclass(frozen=True, eq=False)
class _Design:
    """Residuals and directions; arrays (rows, n), where the rows are the steps of one replicate after the other.

    ``residual`` is E, ``opinion`` the direction of x₀ (π/σ, of length 1 in each replicate, 0 where x₀ is known) and
    ``used`` where there is a residual. ``response`` is wρ/m and ``degrees`` d. ``own`` is ĉ of an agent's stubbornness.
    Pairs: ``seen`` is where y_j of the step before is observed, and Σ_k ``pull[k]`` (rows of i) · ``heard[k]`` (rows of
    j) is wρ y_j/σ less its mean over j, ``level`` that mean, and ``expected`` wρŷ_i/σ less the same mean.
    """

    spans: tuple[slice, ...]
    residual: Array
    opinion: Array
    used: Mask
    response: Array
    degrees: Array
    own: Array
    expected: Array
    level: Array
    seen: Mask
    pull: tuple[Array, ...]
    heard: tuple[Array, ...]

    def without_opinion(self, values: Array, agents: NDArray[np.int64] | slice = slice(None)) -> Array:
        """Return values (rows, k) of these agents without what their x₀ explains in each replicate."""
        replicates, (rows, count) = len(self.spans), values.shape
        shape = (replicates, rows // replicates, count)
        a, own = (array.reshape(shape) for array in (self.opinion[:, agents], values))
        return np.asarray((own - a * (a * own).sum(axis=1, keepdims=True)).reshape(values.shape))

    def standardised(self, noise: Array) -> Array:
        """Return noise as residuals: without x₀, with a mean square of 1."""
        rest = self.without_opinion(noise * self.used)
        return np.asarray(rest / np.sqrt(np.square(rest).sum() / self.used.sum()))

    def spread(self, values: Array, span: slice = slice(None)) -> Array:
        """Return Σ_t values_it · seen_jt, (n, n), or (n, 1) where all are seen."""
        if self._all_seen:
            return np.asarray(values[span].sum(axis=0)[:, None])
        return np.asarray(values[span].T @ self.seen[span].astype(np.float64))

    def across(self, values: Array, span: slice = slice(None)) -> Array:
        """Return Σ_t values_it · wρ(y_j − mean)/σ, (n, n)."""
        parts = ((values * g)[span].T @ y[span] for g, y in zip(self.pull, self.heard, strict=True))
        return np.asarray(sum(parts))

    def squares(self) -> Array:
        """Return Σ_t (wρ(y_j − mean)/σ)², (n, n)."""
        both = list(zip(self.pull, self.heard, strict=True))
        return np.asarray(sum((g * other).T @ (y * of) for g, y in both for other, of in both))

    @cached_property
    def _all_seen(self) -> bool:
        return bool(self.seen.all())

    @cached_property
    def slope(self) -> Array:
        """The response of the scale of each residual to log 1/s, (rows, n)."""
        return self.response * self.degrees

    @cached_property
    def curvature(self) -> Array:
        """Information about each agent's log 1/s, (n,), with x₀ unknown."""
        return np.asarray((self.own**2 + 2 * self.slope**2).sum(axis=0))

    @cached_property
    def nuisance(self) -> Array:
        """The inverse of the information about log σ and log ρ of all agents and steps, (2, 2)."""
        mixed = -2 * float(self.slope.sum())
        information = np.array([[2.0 * self.used.sum(), mixed], [mixed, float(self.curvature.sum())]])
        return np.asarray(np.linalg.pinv(information), dtype=np.float64)

    def sums(self, residual: Array, *, pairs: bool) -> _Sums:
        """Return what the scores of all kinds are made of; those of pairs only on request."""
        moved = self.slope * (1 - residual**2) - residual * self.own
        own = np.asarray((moved * self.used).sum(axis=0))
        shared = [float((residual**2 - self.used).sum()), float(own.sum())]
        return _Sums(own, self.nuisance @ shared, self.across(residual) if pairs else residual)


class _Sums(NamedTuple):
    """Sums over residuals E that several kinds of scores share.

    ``own`` (n,) are the scores of each agent's log 1/s, ``change`` (2,) is the change of log σ and log ρ that the
    residuals ask for, and ``across`` (n, n) is Σ_t E_it · wρ(y_j − mean)/σ.
    """

    own: Array
    change: Array
    across: Array


def _design(model: Model, data: Answers, steps: ObservedSteps, before: Array) -> _Design:
    """Return residuals and directions of all replicates, with what was observed ``before`` each step."""
    noise, phi, count = model.noise, model.noise.autocorrelation, len(data.known)
    follows = np.zeros((steps.times.size, 1), dtype=bool)
    if phi:
        follows[1:, 0] = (np.diff(steps.times) == 1) & steps.present[:-1].any(axis=1)
    used = steps.present
    if phi:
        # Given the past, noise is predicted by that of the step before, or has no past at all.
        used = used & (follows | (steps.times == 1)[:, None])
    link = phi * follows
    fresh = innovation_std(link)
    sigma = noise.scale(steps.times)[:, None] * noise.deviations(model.n)

    def earlier(values: Array) -> Array:
        return np.concatenate([np.zeros_like(values[..., :1, :]), values[..., :-1, :]], axis=-2)

    def whitened(now: Array, past: Array) -> Array:
        return np.asarray(whiten_pair(now, earlier(past), link))

    def stacked(values: Array | Mask) -> Array:
        return np.ascontiguousarray(np.broadcast_to(values, (count, *used.shape)).reshape(-1, model.n))

    known = np.nan_to_num(data.known)[:, None]
    series = (steps.series - steps.pi * known) / sigma
    share = whitened(steps.pi / sigma, steps.pi / sigma) * used
    share = share / np.sqrt(np.maximum(np.square(share).sum(axis=0), np.finfo(float).tiny))
    share = np.where(np.isnan(data.known)[:, None], share, 0.0)
    residual = whitened(series, series) * used
    residual = residual - share * (share * residual).sum(axis=1, keepdims=True)
    size = np.sqrt(np.square(residual).sum() / (count * used.sum()))
    push = np.asarray(model.pressure(steps.times.astype(np.float64)), dtype=np.float64)[:, None] / model.s
    m = 1 + push * steps.degrees
    predicted = steps.public - residual * sigma * fresh / m
    # For steps that nobody uses it makes no difference.
    seen = np.isfinite(before) | ~np.asarray(used.any(axis=1))[:, None]
    # Late opinions differ by far less than they are large; their mean cancels in every difference.
    mean = np.nan_to_num(np.where(seen, before, 0.0)).sum(axis=2, keepdims=True) / np.maximum(
        seen.sum(axis=2, keepdims=True), 1
    )
    heard, pull = np.nan_to_num(np.where(seen, before - mean, 0.0)), push / (sigma * size)

    def direction(now: Array, past: Array) -> Array:
        return stacked(whitened(pull * now, pull * past) * used)

    own = direction(steps.degrees * predicted - steps.around, steps.degrees * steps.public - steps.around)
    pairs = [(stacked(pull / fresh * used), stacked(heard))]
    if phi:
        pairs.append((stacked(-link * earlier(pull) / fresh * used), stacked(earlier(heard) * follows)))
    spans = tuple(slice(r * len(used), (r + 1) * len(used)) for r in range(count))
    design = _Design(
        spans,
        stacked(residual / size),
        stacked(share),
        stacked(used).astype(bool),
        stacked(push / m * used),
        stacked(steps.degrees),
        own,
        direction(predicted - mean, steps.public - mean),
        direction(mean, mean),
        stacked(seen).astype(bool),
        tuple(g for g, _ in pairs),
        tuple(y for _, y in pairs),
    )
    return replace(design, own=design.without_opinion(own))


@final
@dataclass(frozen=True, eq=False)
class _Kind:
    """Directions of one kind: the positions of their agents (k, 1 or 2), and z (k,) as a function of residuals."""

    name: Kind
    agents: NDArray[np.int64]
    z: Callable[[Array, _Sums], Array]
    # For some directions: the agents whose residuals move, how these do per unit, and R; (rows, k) each.
    moves: Callable[[NDArray[np.int64]], Iterator[tuple[NDArray[np.int64], Array, Array]]]
    two_sided: bool

    def size(self, z: Array) -> Array:
        """Return how much each score speaks for a change: a tie without signs can only be added."""
        return np.abs(z) if self.two_sided else z


def _kinds(model: Model, design: _Design) -> Iterator[_Kind]:
    """Yield the kinds that have directions to test, in the order in which they are read."""
    yield _stubbornness(design)
    if model.n > limits.SCORED_AGENTS:
        return
    network, A = model.network, model.network.adjacency.toarray()
    # The aggregate of a temporal network has all ties that there ever are; their signs belong to single steps.
    if model.temporal_network is None:
        plain = np.zeros_like(design.response)
        signs = _PairDirection(design, design.level, 1.0, plain, both=not network.directed)
        yield signs.kind("sign", np.sign(A), two_sided=False)
    absent = (A == 0) & ~np.eye(model.n, dtype=bool)
    ties = _PairDirection(design, design.expected, -1.0, design.response, both=not network.directed)
    yield ties.kind("tie", absent.astype(np.float64), two_sided=network.signed)


def _stubbornness(design: _Design) -> _Kind:
    information = design.curvature
    shared = np.stack([-2 * design.slope.sum(axis=0), information])
    variance = information - np.einsum("ai,ab,bi->i", shared, design.nuisance, shared)
    tested = np.flatnonzero(variance > _CONFOUNDED * np.maximum(information, np.finfo(float).tiny))

    def z(_: Array, sums: _Sums) -> Array:
        score = sums.own - sums.change @ shared
        # More stubborn is a smaller 1/s.
        return np.asarray(-score[tested] / np.sqrt(variance[tested]))

    def moves(which: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Array, Array]]:
        agents = tested[which]
        yield agents, -design.own[:, agents], -design.slope[:, agents]

    return _Kind("stubbornness", tested[:, None], z, moves, two_sided=True)


@final
@dataclass(frozen=True, eq=False)
class _PairDirection:
    """Directions ĉ = ``own`` · seen + ``side`` · wρ(y_j − mean)/σ with ``jacobian`` R, of every pair of agents.

    ``both`` adds the two directions of a pair.
    """

    design: _Design
    own: Array
    side: float
    jacobian: Array
    both: bool

    def along(self, values: Array, span: slice = slice(None)) -> Array:
        """Return Σ_t ĉ · values_i, (n, n)."""
        return self.design.spread(self.own * values, span) + self.side * self.design.across(values, span)

    def information(self) -> Array:
        """Return the information about each direction with x₀ unknown, (n, n)."""
        squares = self.design.spread(self.own**2 + 2 * self.jacobian**2) + self.design.squares()
        squares = squares + 2 * self.side * self.design.across(self.own)
        return np.asarray(squares - sum(self.along(self.design.opinion, span) ** 2 for span in self.design.spans))

    def shared(self) -> Array:
        """Return the information that each direction shares with log σ and log ρ, (2, n, n)."""
        design = self.design
        with_pressure = self.along(design.own) + 2 * design.spread(self.jacobian * design.slope)
        return np.stack(np.broadcast_arrays(-2 * design.spread(self.jacobian), with_pressure))

    def kind(self, name: Kind, sign: Array, *, two_sided: bool) -> _Kind:
        """Return the tests of the pairs whose sign (n, n) is not 0, in which it is multiplied."""
        information, shared = self.information(), self.shared()
        variance = information - np.einsum("aij,ab,bij->ij", shared, self.design.nuisance, shared)
        if self.both:
            crossed = np.einsum("aij,ab,bji->ij", shared, self.design.nuisance, shared)
            information, variance = information + information.T, variance + variance.T - 2 * crossed
            shared, sign = shared + shared.transpose(0, 2, 1), np.triu(sign)
        i, j = np.nonzero((sign != 0) & (variance > _CONFOUNDED * np.maximum(information, np.finfo(float).tiny)))
        unit, share = sign[i, j] / np.sqrt(variance[i, j]), shared[:, i, j]

        def z(residual: Array, sums: _Sums) -> Array:
            moved = self.jacobian * (1 - residual**2) - self.own * residual
            U = self.design.spread(moved) - self.side * sums.across
            U = U + U.T if self.both else U
            return np.asarray((U[i, j] - sums.change @ share) * unit)

        def moves(which: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], Array, Array]]:
            ends = (i[which], j[which]), (j[which], i[which])
            for agents, others in ends[: 1 + self.both]:
                yield agents, sign[i, j][which] * self.at(agents, others), self.jacobian[:, agents]

        return _Kind(name, np.stack([i, j], axis=1), z, moves, two_sided)

    def at(self, agents: NDArray[np.int64], others: NDArray[np.int64]) -> Array:
        """Return ĉ of some pairs, (rows, k)."""
        design = self.design
        heard = sum(g[:, agents] * y[:, others] for g, y in zip(design.pull, design.heard, strict=True))
        return np.asarray(self.own[:, agents] * design.seen[:, others] + self.side * heard)


def _redrawn(noise: Noise, design: _Design, kinds: Sequence[_Kind]) -> Array:
    """Return the largest score of each kind in redrawn residuals, (draws, kinds)."""
    rng = np.random.default_rng(_SEED)
    out = np.empty((DRAWS, len(kinds)))
    for draw, fresh in enumerate(_fresh(noise, design.used.shape, rng)):
        check_cancelled()
        out[draw] = [
            kind.size(z).max(initial=-np.inf) for kind, z in _scores(design, design.standardised(fresh), kinds)
        ]
    return out


def _fresh(noise: Noise, shape: tuple[int, ...], rng: np.random.Generator) -> Iterator[Array]:
    """Yield the noise of each draw; quantiles come in blocks, as a call costs more than many numbers."""
    if isinstance(noise, Gaussian):
        yield from (rng.standard_normal(shape) for _ in range(DRAWS))
        return
    block = max(_BLOCK // math.prod(shape), 1)
    for start in range(0, DRAWS, block):
        yield from noise.unit_quantiles(rng.random((min(block, DRAWS - start), *shape)))


def _scores(design: _Design, residual: Array, kinds: Sequence[_Kind]) -> Iterator[tuple[_Kind, Array]]:
    sums = design.sums(residual, pairs=len(kinds) > 1)
    yield from ((kind, kind.z(residual, sums)) for kind in kinds)


def _ranked(design: _Design, kinds: Sequence[_Kind], laws: Mapping[Kind, Array]) -> Iterator[Score]:
    """Yield the directions by kind, the clearest first, with the share of ``laws`` (draws,) that is as large."""
    for kind, z in _scores(design, design.residual, kinds):
        law = np.sort(laws[kind.name])
        order = np.argsort(-kind.size(z), kind="stable")[:_LISTED]
        above = law.size - np.searchsorted(law, kind.size(z[order]))
        gains = _gains(design, kind, z, order)
        for at, p, gain in zip(order, (1 + above) / (1 + law.size), gains, strict=True):
            yield Score(kind.name, tuple(int(i) for i in kind.agents[at]), float(z[at]), float(p), float(gain))


def _gains(design: _Design, kind: _Kind, z: Array, which: NDArray[np.int64]) -> Array:
    """Return the largest gain of Σ log(1 + δR) − ½ Σ (E + δc)² in δ, for some directions, (k,).

    Only E² and not σ is taken from the fit, and x₀ follows. Newton's method, which needs no line search: the function
    is concave, and its slope convex.
    """
    parts = [
        (design.residual[:, i], design.without_opinion(c + R * design.residual[:, i], i), R)
        for i, c, R in kind.moves(which)
    ]
    E, c, R = (np.concatenate(part) for part in zip(*parts, strict=True))
    # Not beyond the change at which an agent would listen less than to nobody.
    lower = -1 / np.maximum(R.max(axis=0, initial=0.0), 1e-300)
    upper = -1 / np.minimum(R.min(axis=0, initial=0.0), -1e-300)
    delta = np.zeros(which.size)
    for _ in range(_NEWTON_STEPS):
        ratio = R / (1 + delta * R)
        slope = ratio.sum(axis=0) - (c * (E + delta * c)).sum(axis=0)
        step = slope / np.maximum((ratio**2 + c**2).sum(axis=0), 1e-300)
        delta = np.clip(delta + step, (delta + lower) / 2, (delta + upper) / 2)
    gain = np.log1p(delta * R).sum(axis=0) - 0.5 * (np.square(E + delta * c) - np.square(E)).sum(axis=0)
    return np.asarray(np.where(kind.two_sided | (z[which] > 0), gain, 0.0))
