"""The exact law of a step: y at a later time given y at an earlier one is Gaussian, with a mean linear in it.

With Φ(s) the matrix that takes a state at time s to the end of the step, the law is F = Φ(begin), M = ∫ Φ diag(g) ds
for the hidden opinions and Q = ∫ Φ G² Φᵀ ds for the noise. Over a piece of length h that ends at b, Φ = e^(−hu) Y with
u = (b − s)/h and Y′ = h Y C(u). A polynomial through its values at Gauss's nodes stands for C, so that the terms of
Taylor's series of Y follow from one another by one sparse product each; the integrals are Gauss's. Pieces are halved
until the polynomials of C, g and G² are right between the nodes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.polynomial.legendre import leggauss

from peerpressure.affine import coefficients
from peerpressure.errors import InvalidInputError, TooLargeError, message
from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.schedules import Constant
from peerpressure.sde._equation import FIRST_TIME, SDE
from peerpressure.sde._moments import first_noise, real_times, smooth_pieces

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
@dataclass(frozen=True, eq=False)
class StepLaw:
    """The law of a state given an earlier one, y_end | y_begin ~ N(F y_begin + M x₀, Q), for a step of any length.

    Attributes
    ----------
    begin, end : float
        Times at which the step begins and ends.
    matrix : array of shape (n, n)
        Matrix F.
    hidden : array of shape (n, n)
        Matrix M.
    shift : array of shape (n,)
        The product M x₀.
    covariance : array of shape (n, n)
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
    matrix: Vector
    hidden: Vector
    shift: Vector
    covariance: Vector

    @cached_property
    def root(self) -> Vector:
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

    def then(self, later: StepLaw) -> StepLaw:
        """Return the law of both steps taken one after the other.

        Parameters
        ----------
        later : StepLaw
            A step that begins where this one ends.

        Returns
        -------
        StepLaw
            From ``self.begin`` to ``later.end``.

        Raises
        ------
        InvalidInputError
            If the steps are not adjacent.
        """
        if later.begin != self.end:
            rule = f"a step that follows one until t = {self.end:g} must begin there"
            raise InvalidInputError(message(rule, got=f"t = {later.begin:g}", remedy="keep steps in their order"))
        F = later.matrix
        return StepLaw(
            self.begin,
            later.end,
            F @ self.matrix,
            F @ self.hidden + later.hidden,
            F @ self.shift + later.shift,
            F @ self.covariance @ F.T + later.covariance,
        )

    def __repr__(self) -> str:
        return f"StepLaw(t = {self.begin:g} to {self.end:g}, {self.shift.size} agents)"


def transition(sde: SDE, begin: float, end: float) -> StepLaw:
    """Return the exact law of the state at ``end`` given that at ``begin``.

    Parameters
    ----------
    sde : SDE
        The equation.
    begin, end : float
        Times, 0 ≤ begin < end.

    Returns
    -------
    StepLaw
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
    n, v = sde.n, sde.consensus_value
    _require_memory(n)
    F, M, Q = np.eye(n), np.zeros((n, n)), np.zeros((n, n))
    first = begin
    if begin == 0 and (gathered := first_noise(sde)).any():
        # Noise is infinite at 0, and so the pieces start a little later, from its exact integral up to there. F and M
        # change by O(FIRST_TIME) meanwhile, which is a rounding error.
        first, Q = FIRST_TIME, np.diag(gathered)
    for a, b, smooth in smooth_pieces(sde, first, end):
        for piece in _pieces(smooth, a, b):
            later, driven, spread = _law(smooth, piece)
            F, M, Q = later @ F, later @ M + driven, later @ Q @ later.T + spread
    # Centred on the consensus value, which has the weight that the start has lost: a common offset of all opinions must
    # not add rounding errors.
    shift = M @ (sde.x0 - v) + v * (1.0 - F.sum(axis=1))
    return StepLaw(begin, end, F, M, shift, Q)


class _Piece(NamedTuple):
    """A piece of a step with coefficients at the nodes, coupling, gain and squared noise, (nodes, agents) each.

    ``totals`` are the integrals of these over the piece, and ``errors`` those of what polynomials miss at the checks.
    """

    length: float
    coupling: Vector
    gain: Vector
    noise: Vector
    totals: Vector
    errors: Vector


def _pieces(sde: SDE, begin: float, end: float) -> Iterator[_Piece]:
    """Cut a stretch of time into pieces with smooth coefficients."""
    whole = _sampled(sde, begin, end).totals
    count = max(1, math.ceil((end - begin) / LONGEST))
    # A stack, the earliest piece on top.
    pending = [(a, b, 0) for a, b in itertools.pairwise(np.linspace(begin, end, count + 1).tolist())][::-1]
    while pending:
        a, b, depth = pending.pop()
        checkpoint()
        piece = _sampled(sde, a, b)
        # Compared with the integral over all pieces, so that a short one may be rough, as near time 0.
        if depth == DEEPEST or (piece.errors <= ROUGHNESS * whole).all():
            yield piece
        else:
            middle = (a + b) / 2
            pending += [(middle, b, depth + 1), (a, middle, depth + 1)]


def _sampled(sde: SDE, begin: float, end: float) -> _Piece:
    h, count = end - begin, _NODES.size
    times = end - h * np.concatenate([_NODES, _CHECKS])
    relief, weight = (values[:, None] for values in sde.homogeneous(times))
    gain, coupling = coefficients(relief, weight, sde.s, sde.network.degrees)
    noise = np.square(gain * sde.deviations * sde.noise_scale(times)[:, None])
    # A row of C sums to at most 1, which is its scale. Gain and noise are compared with themselves, since their ratio
    # decides what is known of x₀.
    each = np.stack([coupling * sde.network.degrees, gain, noise])
    totals = h * (_WEIGHTS @ each[:, :count])
    totals[0] = h
    errors = h * np.abs(_AT_CHECKS @ each[:, :count] - each[:, count:]).max(axis=1)
    return _Piece(h, coupling[:count], gain[:count], noise[:count], totals, errors)


def _law(sde: SDE, piece: _Piece) -> tuple[Vector, Vector, Vector]:
    """Return F, M and Q of a piece."""
    h, n = piece.length, sde.n
    terms = np.array(_taylor_terms(sde, piece)).reshape(-1, n * n)
    # Φᵀ at the nodes and at the beginning, in one product.
    powers = np.vander(np.append(_NODES, 1.0), len(terms), increasing=True)
    paths = ((np.exp(-h * np.append(_NODES, 1.0))[:, None] * powers) @ terms).reshape(-1, n, n)
    weights, paths, F = h * _WEIGHTS, paths[:-1], np.ascontiguousarray(paths[-1].T)
    M = np.einsum("k,kj,kji->ij", weights, piece.gain, paths)
    if not piece.noise.any():
        return F, M, np.zeros((n, n))
    # Q as a sum of squares, which is symmetric to the bit and never negative.
    root = (paths * np.sqrt(weights[:, None] * piece.noise)[:, :, None]).reshape(-1, n)
    return F, M, root.T @ root


def _taylor_terms(sde: SDE, piece: _Piece) -> list[Vector]:
    """Return the terms of Yᵀ as a series in u: (m + 1) Y_{m+1} = h Σ_k Y_{m−k} C_k with C = Σ C_k u^k."""
    # Applied to differences, because coefficients of an inverse are large and alternate in sign.
    coefficient = piece.length * (_INTERPOLATION @ (piece.coupling - piece.coupling[0]))
    coefficient[0] += piece.length * piece.coupling[0]
    # Where pressure hardly changes, the higher ones are rounding errors.
    coefficient = coefficient[: 1 + int(np.flatnonzero(np.abs(coefficient).max(axis=1) > LAST_TERM)[-1:].sum())]
    terms = [np.eye(sde.n)]
    while len(terms) < 2 or max(np.abs(term).max() for term in terms[-2:]) > LAST_TERM:
        # Cᵀ = A diag(scale), as A is symmetric.
        mixed = sum(scale[:, None] * term for scale, term in zip(coefficient, terms[::-1], strict=False))
        terms.append(np.asarray(sde.network.adjacency @ mixed) / len(terms))
    return terms


def _require_memory(n: int) -> None:
    """Raise where the dense matrices of an exact step do not fit."""
    import psutil

    # Up to twenty terms of a series, the matrices at the nodes, and copies of either.
    needed, free = 20 * 2 * 8 * n * (n + 1), psutil.virtual_memory().available
    if needed > free:
        rule = f"the exact law of a step must fit in memory, of which {free / 1e9:.3g} GB is free"
        got = f"{needed / 1e9:.3g} GB for {n:,} agents"
        raise TooLargeError(message(rule, got=got, remedy="use method='taylor'"))


def exact_transitions(sde: SDE, first: int, last: int) -> Iterator[StepLaw]:
    """Yield the laws of the steps of length h that end at first·h, …, last·h.

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    first, last : int
        Numbers of the first and the last step, counted from 1.

    Yields
    ------
    StepLaw
        Law of each step; the same object for all of them where pressure and noise are constant.

    See Also
    --------
    transition : The law between any two times.

    Examples
    --------
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import exact_transitions
    >>> [(round(law.begin, 1), round(law.end, 1)) for law in exact_transitions(SDE(Model(k2(), hidden=[1, 2])), 1, 2)]
    [(0.0, 0.1), (0.1, 0.2)]
    """
    if isinstance(sde.pressure, Constant) and isinstance(sde.noise.time_scale, Constant):
        # Nothing changes from step to step, and so the first one's law serves all.
        # The same object each time: callers recognise it by identity and keep what they derive from it.
        same = transition(sde, 0.0, sde.step)
        yield from (same for _ in range(first, last + 1))
        return
    for k in range(first, last + 1):
        yield transition(sde, sde.time(k - 1), sde.time(k))
