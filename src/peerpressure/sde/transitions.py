"""The exact law of a step: the state at a later time given an earlier one is Gaussian, with a mean linear in it.

With Φ(s) the matrix that takes a state at time s to the end of the step, the law is F = Φ(begin), M = ∫ Φ diag(g) ds
for the hidden opinions and Q = ∫ Φ G² Φᵀ ds for the noise. Over a piece of length h that ends at b, Φ = e^(−hu) Y with
u = (b − s)/h and Y′ = h Y C(u). If hidden opinions adapt or noise is correlated, C stands for the whole drift of the
state plus the identity. A polynomial through its values at Gauss's nodes stands for C, and the terms of
Taylor's series of Y follow from one another by one sparse product each; the integrals are Gauss's. Pieces are halved
until the polynomials of C, g and G² are right between the nodes.

Networks that are too large for these matrices take steps by the stochastic Taylor series [1]_.

References
----------
.. [1] P. E. Kloeden, E. Platen, "Numerical Solution of Stochastic Differential Equations", Springer (1992), ch. 14.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.polynomial.legendre import leggauss

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array, StateLayout
from peerpressure.sde.equation import FIRST_TIME, SDE
from peerpressure.sde.moments import first_noise, real_times, smooth_pieces
from peerpressure.support.progress import check_cancelled
from peerpressure.support.resources import require_memory
from peerpressure.support.results import read_only

if TYPE_CHECKING:
    from peerpressure.simulation.engine.taylor import Part


ROUGHNESS = 1e-12  # error of a polynomial over a whole step, as a share of the coefficient that it stands for
LONGEST = 1.0  # length of a piece, over which Taylor's series and Gauss's integrals of e^(−2t) are right to 1e-14
DEEPEST = 48  # halvings of a piece: enough for a scale like t^(−γ) from FIRST_TIME on
LAST_TERM = 1e-17  # of Taylor's series, as an entry of a matrix whose rows sum to 1 or less

_NODES, _WEIGHTS = ((values + shift) / 2 for values, shift in zip(leggauss(8), (1.0, 0.0), strict=True))
# Values at the nodes to the coefficients of a polynomial in u.
_INTERPOLATION = np.linalg.inv(np.vander(_NODES, increasing=True))
# Both ends and the middles between nodes, where an interpolating polynomial is worst, and Lagrange's polynomials there.
_CHECKS = np.concatenate([[0.0], (_NODES[1:] + _NODES[:-1]) / 2, [1.0]])
_AT_CHECKS = np.array(
    [[np.prod([(u - o) / (node - o) for o in _NODES if o != node]) for node in _NODES] for u in _CHECKS]
)


@final
@read_only
@dataclass(frozen=True, eq=False)
class GaussianTransition:
    """The law of a state given an earlier one, z_end | z_begin ~ N(F z_begin + M x₀, Q), for a step of any length.

    The state z is y, followed by hidden opinions if they adapt (M is 0 then) and by the memory of correlated noise.

    Attributes
    ----------
    begin, end : float
        Times at which the step begins and ends.
    matrix : array of shape (states, states)
        Matrix F.
    hidden : array of shape (states, n)
        Matrix M.
    shift : array of shape (states,)
        The product M x₀.
    covariance : array of shape (states, states)
        Covariance Q.

    See Also
    --------
    transition : The law of one step.
    exact_transitions : The laws of many steps of equal length.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import transition
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], pressure=1.0))
    >>> both = transition(sde, 0.0, 1.0).then(transition(sde, 1.0, 3.0))
    >>> bool(abs(both.matrix - transition(sde, 0.0, 3.0).matrix).max() < 1e-12)
    True
    """

    begin: float
    end: float
    matrix: Array
    hidden: Array
    shift: Array
    covariance: Array

    @cached_property
    def root(self) -> Array:
        """A matrix R with RRᵀ = Q: Cholesky's where Q is positive, and by its eigenvalues where it is not."""
        size = np.sqrt(np.diag(self.covariance))
        scale = np.where(size > 0, size, 1.0)
        # Agents may differ by powers of ten in noise; as correlations all are alike.
        correlation = self.covariance / np.outer(scale, scale)
        try:
            return np.asarray(scale[:, None] * np.linalg.cholesky(correlation))
        except np.linalg.LinAlgError:
            # A law that is singular, or nearly so: rounding leaves eigenvalues slightly below 0, which count as 0.
            values, vectors = np.linalg.eigh(correlation)
            return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))

    def then(self, later: GaussianTransition) -> GaussianTransition:
        """Return the law of both steps taken one after the other."""
        if later.begin != self.end:
            rule = f"a step that follows one until t = {self.end:g} must begin there"
            raise InvalidInputError(message(rule, got=f"t = {later.begin:g}", remedy="keep steps in their order"))
        F = later.matrix
        return GaussianTransition(
            self.begin,
            later.end,
            F @ self.matrix,
            F @ self.hidden + later.hidden,
            F @ self.shift + later.shift,
            F @ self.covariance @ F.T + later.covariance,
        )

    def __repr__(self) -> str:
        return f"GaussianTransition(t = {self.begin:g} to {self.end:g}, {self.hidden.shape[1]} agents)"


def transition(sde: SDE, begin: float, end: float) -> GaussianTransition:
    """Return the exact distribution of the state at ``end`` given that at ``begin``.

    Parameters
    ----------
    sde : SDE
        The equation.
    begin, end : float
        Times, 0 ≤ begin < end.

    Returns
    -------
    GaussianTransition
        The law of the state at ``end``.

    Raises
    ------
    InvalidInputError
        If times are not increasing.
    TooLargeError
        If the matrices do not fit in memory.

    See Also
    --------
    exact_transitions : The laws of all steps of a run.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import transition
    >>> step = transition(SDE(Model(k2(), hidden=[1.0, 2.0], pressure=1.0)), 0.0, 1.0)
    >>> (step.matrix @ [1.0, 2.0] + step.shift).round(4)
    array([1.259, 1.741])
    """
    real_times([begin, end])
    require_law_memory(sde)
    return _transition(sde, begin, end)


def _transition(sde: SDE, begin: float, end: float) -> GaussianTransition:
    """Return the exact law of a step whose matrices fit in memory."""
    at, v = sde.layout, sde.centre
    F, M, Q = np.eye(at.states), np.zeros((at.states, at.agents)), np.zeros((at.states, at.states))
    first = begin
    if begin == 0 and (gathered := first_noise(sde)).any():
        # Noise is infinite at 0, and so the pieces start a little later, from its exact integral up to there. F and M
        # change by O(FIRST_TIME) meanwhile, which is a rounding error.
        first = FIRST_TIME
        if at.has_memory:
            F[at.public, at.memory] += np.diag(gathered)
        else:
            Q[at.public, at.public] += np.diag(gathered)
    for a, b, smooth in smooth_pieces(sde, first, end):
        for piece in _pieces(smooth, a, b):
            later, driven, spread = _law(smooth, piece)
            F, M, Q = later @ F, later @ M + driven, later @ Q @ later.T + spread
    if sde.noise.is_frozen:
        # Frozen draws stay as they are, to the bit, because a run may be resumed.
        F[at.memory, at.memory] = np.eye(at.agents)
    # Centred on the consensus value, which has the weight that the start has lost: a common offset of all opinions must
    # not add rounding errors.
    # Readers of data use the other parts only, and may not know x₀.
    hidden = np.full(at.agents, np.nan) if sde.model.hidden is None else sde.x0
    shift = M @ (hidden - v) + v * (1.0 - F[:, : at.memory.start].sum(axis=1))
    shift[at.memory] = 0.0
    return GaussianTransition(begin, end, F, M, shift, Q)


class _Piece(NamedTuple):
    """A piece of a step with coefficients at the nodes, coupling, gain, noise and adaptation, (nodes, agents) each.

    ``noise`` is G² if noise is white and G if it is correlated; ``rate`` is empty if opinions are constant.
    ``totals`` are the integrals of these over the piece, and ``errors`` those of what polynomials miss at the checks.
    ``step`` is that of the network.
    """

    step: int
    length: float
    coupling: Array
    gain: Array
    noise: Array
    rate: Array
    totals: Array
    errors: Array


def _pieces(sde: SDE, begin: float, end: float) -> Iterator[_Piece]:
    """Cut a stretch of time into pieces with smooth coefficients."""
    whole = _sampled(sde, begin, end).totals
    # Correlated noise reverts at a rate of its own, which may be above those of opinions.
    fastest = max(1.0, sde.reversion / 2) if sde.noise.has_memory else 1.0
    count = max(1, math.ceil((end - begin) * fastest / LONGEST))
    # A stack, the earliest piece on top.
    pending = [(a, b, 0) for a, b in itertools.pairwise(np.linspace(begin, end, count + 1).tolist())][::-1]
    while pending:
        a, b, depth = pending.pop()
        check_cancelled()
        piece = _sampled(sde, a, b)
        # Compared with the integral over all pieces: a short one may be rough, as near time 0.
        if depth == DEEPEST or (piece.errors <= ROUGHNESS * whole).all():
            yield piece
        else:
            middle = (a + b) / 2
            pending += [(middle, b, depth + 1), (a, middle, depth + 1)]


def _sampled(sde: SDE, begin: float, end: float) -> _Piece:
    h, count = end - begin, _NODES.size
    times = end - h * np.concatenate([_NODES, _CHECKS])
    k = sde.network_step((begin + end) / 2)
    degrees, (gain, coupling) = sde.model.degrees_at(k), sde.model.gains_at(k, *sde.homogeneous(times))
    size = gain * sde.deviations * sde.noise_scale(times)[:, None]
    noise = size if sde.noise.has_memory else np.square(size)
    # A row of C sums to at most 1, which is its scale. Gain and noise are compared with themselves, since their ratio
    # decides what is known of x₀.
    each = np.stack([coupling * degrees, gain, noise])
    rate = np.empty((0, sde.n))
    if sde.model.adaptation is not None:
        rate = sde.adaptation_pace(times)[:, None] * sde.model.adaptation.adaptation_weights(sde.n)
        each = np.concatenate([each, rate[None]])
    totals = h * (_WEIGHTS @ each[:, :count])
    totals[0] = h
    errors = h * np.abs(_AT_CHECKS @ each[:, :count] - each[:, count:]).max(axis=1)
    return _Piece(k, h, coupling[:count], gain[:count], noise[:count], rate[:count], totals, errors)


def _law(sde: SDE, piece: _Piece) -> tuple[Array, Array, Array]:
    """Return F, M and Q of a piece."""
    h, at = piece.length, sde.layout
    terms = np.array(_taylor_terms(sde, piece)).reshape(-1, at.states**2)
    # Φᵀ at the nodes and at the beginning, in one product.
    powers = np.vander(np.append(_NODES, 1.0), len(terms), increasing=True)
    paths = ((np.exp(-h * np.append(_NODES, 1.0))[:, None] * powers) @ terms).reshape(-1, at.states, at.states)
    weights, paths, F = h * _WEIGHTS, paths[:-1], np.ascontiguousarray(paths[-1].T)
    M = np.zeros((at.states, at.agents))
    if not at.has_hidden:
        M = np.einsum("k,kj,kji->ij", weights, piece.gain, paths[:, at.public])
    noise, driven = piece.noise, at.public
    if at.has_memory:
        noise, driven = np.full_like(piece.noise, 2 * sde.reversion), at.memory
    if not noise.any():
        return F, M, np.zeros_like(F)
    # Q as a sum of squares, which is symmetric to the bit and never negative.
    root = (paths[:, driven] * np.sqrt(weights[:, None] * noise)[:, :, None]).reshape(-1, at.states)
    return F, M, root.T @ root


def _taylor_terms(sde: SDE, piece: _Piece) -> list[Array]:
    """Return the terms of Yᵀ as a series in u: (m + 1) Y_{m+1} = h Σ_k Y_{m−k} C_k with C = Σ C_k u^k."""
    at, h = sde.layout, piece.length
    # Rows of C sum to at most 1; other coefficients are compared with themselves.
    coupling, noise = _polynomial(piece.coupling, h, 1.0), _polynomial(piece.noise, h, h * piece.noise.max())
    gain = _polynomial(piece.gain, h, h * piece.gain.max())
    rate = _polynomial(piece.rate, h, h * piece.rate.max()) if at.has_hidden else piece.rate
    model, transposed = sde.model, sde.network.transposed
    if model.temporal_network is not None:
        transposed = model.temporal_network.transposed_at(piece.step)
    kept = model.kept_at(piece.step)
    terms = [np.eye(at.states)]
    sizes = [_block_sizes(at, terms[0])]

    def mixed(coefficient: Array, block: slice) -> Array:
        return np.asarray(sum(c[:, None] * term[block] for c, term in zip(coefficient, terms[::-1], strict=False)))

    # Block by block, because what a small gain or noise leaves in another part of the state has a scale of its own.
    while len(terms) < 2 or np.any(np.maximum(*sizes[-2:]) > LAST_TERM * np.max(sizes, axis=0)):
        term = np.empty_like(terms[0])
        # Cᵀ = Aᵀ diag(scale).
        term[at.public] = transposed @ mixed(coupling, at.public)
        if kept is not None:
            term[at.public] += h * kept[:, None] * terms[-1][at.public]
        if at.has_hidden:
            adapted = mixed(rate, at.hidden)
            term[at.public] += adapted
            term[at.hidden] = mixed(gain, at.public) + h * terms[-1][at.hidden] - adapted
        if at.has_memory:
            term[at.memory] = mixed(noise, at.public) + h * (1 - sde.reversion) * terms[-1][at.memory]
        terms.append(term / len(terms))
        sizes.append(_block_sizes(at, terms[-1]))
    return terms


def _polynomial(values: Array, length: float, size: float) -> Array:
    """Return the coefficients in u of h times a polynomial through values at the nodes, up to the last of some size."""
    # Applied to differences, because coefficients of an inverse are large and alternate in sign.
    coefficient = length * (_INTERPOLATION @ (values - values[0]))
    coefficient[0] += length * values[0]
    # If pressure hardly changes, the higher ones are rounding errors.
    kept = np.flatnonzero(np.abs(coefficient).max(axis=1) > LAST_TERM * size)
    return np.asarray(coefficient[: 1 + int(kept[-1:].sum())])


def _block_sizes(at: StateLayout, matrix: Array) -> Array:
    """Return the largest modulus in each of the blocks that the parts of the state make of a matrix."""
    parts = at.states // at.agents
    return np.asarray(np.abs(matrix).reshape(parts, at.agents, parts, at.agents).max(axis=(1, 3)))


def law_bytes(at: StateLayout) -> int:
    """Return the bytes of the dense matrices of an exact step."""
    # Up to twenty terms of a series, the matrices at the nodes, and copies of either.
    return 20 * 2 * 8 * at.states * (at.states + 1)


def require_law_memory(sde: SDE) -> None:
    """Raise where the dense matrices of an exact step do not fit."""
    what = f"the exact law of a step for {sde.n:,} agents"
    require_memory(law_bytes(sde.layout), what=what, remedy=f"use the method {'taylor' if sde.is_plain else 'euler'}")


def exact_transitions(sde: SDE, first: int, last: int) -> Iterator[GaussianTransition]:
    """Yield the laws of the steps of length h that end at first·h, …, last·h.

    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import exact_transitions
    >>> laws = exact_transitions(SDE(Model(k2(), hidden=[1, 2])), 1, 2)
    >>> [(round(law.begin, 1), round(law.end, 1)) for law in laws]
    [(0.0, 0.1), (0.1, 0.2)]
    """
    if sde.is_steady:
        # Nothing changes from step to step, and so the first one's law serves all.
        # The same object each time: callers recognise it by identity and keep what they derive from it.
        same = transition(sde, 0.0, sde.step)
        yield from (same for _ in range(first, last + 1))
        return
    # Once for all steps: their matrices are as large, and what is free takes as long to read as a small step.
    require_law_memory(sde)
    for k in range(first, last + 1):
        yield _transition(sde, sde.time(k - 1), sde.time(k))


# Steps by the stochastic Taylor series, with the integrals of drift and noise over each part of a step.
#
# A step frozen at one of its ends misses how fast the gain g = s/(s + ρd) of a hub falls within it. Here each part of a
# step has the integrals ∫v^j g dt and ∫v^j G² dt of every agent, where v is the share of the part that is left. They
# give the mean and the covariance of the series' terms exactly, up to what follows, on which the choice of parts rests:
#
# - the series ends after p terms, and the integrals ∫v^j G dw with j ≥ 2 are replaced by their best prediction from the
#   first two: with x = 2τ ≥ τ‖B‖, shares of at most about (2p + 3)x^p/(p + 1)! and x⁴/360 of a variance;
# - the coupling of the agent that listens is averaged over the part, which changes its opinion by |∫(t − t̄) g dt| of
#   what its neighbours change meanwhile.

TOLERANCE = 1e-3  # of a variance as a share of itself, and of a mean as a share of the range of opinions
QUADRATURE = 1e-7  # of an integral over a panel, as a share of itself
NODES, WEIGHTS = leggauss(4)
MOST_PARTS = 2**8  # of a step, in halvings; what remains of the error is stated
SAMPLES = 12  # ratios d/s at which panels and parts are chosen; every integral is a smooth function of that ratio


class Panels(NamedTuple):
    """Nodes and weights of a quadrature over a part of a step, with the schedules' values at the nodes."""

    begin: float
    end: float
    times: Array
    weights: Array
    own_weight: Array
    weight: Array
    scale: Array

    @property
    def left(self) -> Array:
        """The share v of the part that is left at each node."""
        return (self.end - self.times) / (self.end - self.begin)


def gains_of(ratios: Array, own_weight: Array, weight: Array) -> Array:
    """Return g = 1/(1 + ρ d/s) for some ratios d/s, along a new first axis."""
    return np.asarray(own_weight / (own_weight + np.multiply.outer(ratios, weight)))


@final
class TaylorScheme:
    """The parts of every step of an equation, and the error that they leave.

    Parameters
    ----------
    sde : SDE
        The equation.

    Attributes
    ----------
    error : float
        Estimate from above for the steps asked for so far: of each variance as a share of itself, or of the largest
        one for agents without noise of their own; and of the means as a share of the range of opinions.

    See Also
    --------
    simulate : Draws paths by these steps where ``SDE.method`` is "taylor".

    References
    ----------
    .. [1] P. E. Kloeden and E. Platen (1992), Numerical Solution of Stochastic Differential Equations, Springer.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import star
    >>> from peerpressure.sde import TaylorScheme
    >>> scheme = TaylorScheme(SDE(Model(star(50), hidden=range(50))))
    >>> [len(list(scheme.parts(k))) for k in (1, 2, 10)], f"{scheme.error:.0e}"
    ([7, 4, 1], '2e-04')
    """

    def __init__(self, sde: SDE) -> None:
        self.sde = sde
        self.count, self.terms = resolution(sde.step)
        self.error, self._memory = 0.0, 0.0
        ratios = sde.network.degrees / sde.s
        positive = ratios[ratios > 0]
        ends = (float(positive.min()), float(positive.max())) if positive.size else (1.0, 1.0)
        self.ratios = np.geomspace(*ends, SAMPLES)
        self._same: list[Part] | None = [] if sde.is_steady else None

    def parts(self, k: int) -> Iterator[Part]:
        """Yield the parts of step k, which depend on the equation and on k only."""
        check_cancelled()
        if self._same:
            yield from self._same
            return
        for piece, panels in self._cut(k):
            part = _part(piece, panels, self.terms)
            if self._same is not None:
                self._same.append(part)
            yield part

    def _cut(self, k: int) -> Iterator[tuple[SDE, Panels]]:
        """Cut step k at the jumps of tables, then as the length of its terms asks, then where the gain changes fast."""
        for begin, end, piece in smooth_pieces(self.sde, self.sde.time(k - 1), self.sde.time(k)):
            count = max(1, math.ceil(self.count * (end - begin) / self.sde.step - 1e-9))
            for a, b in itertools.pairwise(np.linspace(begin, end, count + 1).tolist()):
                for panels in self._halved(piece, a, b, MOST_PARTS):
                    yield piece, panels

    def _halved(self, piece: SDE, begin: float, end: float, max_parts: int) -> Iterator[Panels]:
        panels = _panels(piece, begin, end, self.ratios)
        length, gains = end - begin, gains_of(self.ratios, panels.own_weight, panels.weight)
        # |∫(t − t̄) g dt| of the agent with the largest, t̄ being the middle of the part.
        drifting = float(np.abs(gains @ (panels.weights * (panels.left - 0.5))).max()) * length
        if max_parts > 1 and drifting > TOLERANCE / 4 * length:
            middle = (begin + end) / 2
            yield from self._halved(piece, begin, middle, max_parts // 2)
            yield from self._halved(piece, middle, end, max_parts // 2)
            return
        # Errors of earlier parts shrink as opinions do, in the maximum norm by ∫g dt of the agent that listens most.
        self._memory = self._memory * math.exp(-float((gains @ panels.weights).min())) + 2 * drifting
        self.error = max(self.error, self._memory + truncation(2 * length, self.terms) + QUADRATURE)
        yield panels


def truncation(x: float, terms: int) -> float:
    """Return the share of a variance that a series of so many terms misses at x = τ‖B‖, at most.

    >>> f"{truncation(0.2, 4):.1e}"
    '1.5e-04'
    """
    # The first term that is left out, of the mean as a share of the 2x by which a variance shrinks, and of noise that
    # all falls where a part begins; then what ζ₂ has beyond ζ₀ and ζ₁, half of it where the noise is uniform.
    return (2 * terms + 3) * x**terms / math.factorial(terms + 1) + x**4 / 360


def resolution(step: float) -> tuple[int, int]:
    """Return the number of parts of a step, and of terms in each, that cost least and keep to the tolerance.

    >>> resolution(0.1), resolution(1.0)
    ((1, 4), (4, 6))
    """
    # Two draws cost about as much as two terms. Eigenvalues of B lie in [0, 2].
    counts = ((math.ceil(2 * step / _longest(terms)), terms) for terms in range(3, 13))
    return min(counts, key=lambda choice: choice[0] * (choice[1] + 2))


def _longest(terms: int) -> float:
    """Return the largest x at which a series of so many terms keeps to half of the tolerance."""
    low, high = 0.0, 4.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if truncation(middle, terms) <= TOLERANCE / 2 else (low, middle)
    return low


def _panels(sde: SDE, begin: float, end: float, ratios: Array) -> Panels:
    """Return Gauss's rule over a part, on panels that are halved until they agree with their halves."""
    # A noise scale without bound at 0 has its first integral in closed form, see ``_part``.
    first = FIRST_TIME if begin == 0 and first_noise(sde).any() else begin
    ends, accepted = np.array([[first, end]]), list[Array]()
    for depth in range(DEEPEST + 1):
        middle = ends.mean(axis=1)
        # Each panel, its first and its second half: (3, panels, nodes).
        spans = np.stack([ends.T, [ends[:, 0], middle], [middle, ends[:, 1]]])
        half = (spans[:, 1] - spans[:, 0])[..., None] / 2
        times, weights = spans.mean(axis=1)[..., None] + half * NODES, half * WEIGHTS
        (own_weight, weight), scale = sde.homogeneous(times), sde.noise_scale(times)
        gains = gains_of(ratios, own_weight, weight)
        both = np.stack([(gains * weights).sum(axis=-1), (gains**2 * (weights * scale**2)).sum(axis=-1)])
        fine = both[:, :, 1] + both[:, :, 2]
        agreed = np.all(np.abs(both[:, :, 0] - fine) <= QUADRATURE * fine, axis=(0, 1)) | (depth == DEEPEST)
        accepted.append(np.stack([values[0, agreed] for values in (times, weights, own_weight, weight, scale)]))
        if agreed.all():
            break
        ends = np.concatenate([spans[1:, :, ~agreed].swapaxes(1, 2)]).reshape(-1, 2)
    nodes = np.concatenate(accepted, axis=1).reshape(5, -1)
    return Panels(begin, end, *nodes)


def _part(sde: SDE, panels: Panels, terms: int) -> Part:
    """Return the coefficients of the series for all agents."""
    from peerpressure.simulation.engine.taylor import Part, integrals

    n, length, degrees = sde.n, panels.end - panels.begin, sde.network.degrees
    gains, squares = np.zeros((terms, n)), np.zeros((terms + 1, n))
    noise = panels.weights * panels.scale**2
    integrals(sde.s, degrees, panels.own_weight, panels.weight, panels.left, panels.weights, noise, gains, squares)
    squares *= sde.deviations**2
    if panels.begin == 0:
        # If the noise's scale has no bound at 0, the variance up to FIRST_TIME is known in closed form; v = 1 there.
        squares += first_noise(sde)
    # C d = 1 − g, and an agent without neighbours has none to listen to.
    share = length / np.arange(1, terms + 1)[:, None]
    coupling = np.divide(share - gains, degrees, out=np.zeros_like(gains), where=degrees > 0)
    return Part(length, gains * sde.x0, coupling, *_combinations(squares))


def _combinations(squares: Array) -> tuple[Array, Array]:
    """Return the weights of two standard normals in ζ_j = ∫v^j G dw, (terms, agents), from M_j = ∫v^j G² dt.

    ζ₀ = √M₀ z. What ζ₁ has beyond ζ₀ is √W z̃ with W = M₂ − M₁²/M₀, and ζ_j is its regression on both, which is exact
    for j ≤ 1.
    """
    total = squares[0]
    mean = np.divide(squares, total, out=np.zeros_like(squares), where=total > 0)
    covariance = squares[1:] - mean[:-1] * squares[1]
    spread = np.sqrt(np.maximum(covariance[1], 0.0))
    # Below rounding, all noise of the part falls at one time and there is nothing beyond ζ₀.
    legal = covariance[1] > 1e-13 * squares[2]
    second = np.divide(covariance, spread, out=np.zeros_like(covariance), where=legal)
    second[0] = 0.0
    return mean[:-1] * np.sqrt(total), second
