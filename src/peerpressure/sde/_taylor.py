"""Steps by the stochastic Taylor series, with the integrals of drift and noise over each part of a step.

A step frozen at one of its ends misses how fast the gain g = s/(s + ρd) of a hub falls within it. Here each part of a
step has the integrals ∫v^j g dt and ∫v^j G² dt of every agent, where v is the share of the part that is left. They give
the mean and the covariance of the series' terms exactly, up to what follows, on which the choice of parts rests:

- the series ends after p terms, and the integrals ∫v^j G dw with j ≥ 2 are replaced by their best prediction from the
  first two: with x = 2τ ≥ τ‖B‖, shares of at most about (2p + 3)x^p/(p + 1)! and x⁴/360 of a variance;
- the coupling of the agent that listens is averaged over the part, which changes its opinion by |∫(t − t̄) g dt| of
  what its neighbours change meanwhile.

References
----------
.. [1] P. E. Kloeden, E. Platen, "Numerical Solution of Stochastic Differential Equations", Springer (1992), ch. 14.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np
from numpy.polynomial.legendre import leggauss

from peerpressure.model import Vector
from peerpressure.progress import checkpoint
from peerpressure.schedules import Constant
from peerpressure.sde._equation import FIRST_TIME, SDE
from peerpressure.sde._moments import first_noise, smooth_pieces

if TYPE_CHECKING:
    from peerpressure.engine.taylor import Part

TOLERANCE = 1e-3  # of a variance as a share of itself, and of a mean as a share of the range of opinions
QUADRATURE = 1e-7  # of an integral over a panel, as a share of itself
NODES, WEIGHTS = leggauss(4)
DEEPEST = 48  # halvings of a panel: enough for a scale like t^(−γ) from FIRST_TIME on
MOST_PARTS = 2**8  # of a step, in halvings; what remains of the error is stated
SAMPLES = 12  # ratios d/s at which panels and parts are chosen; every integral is a smooth function of that ratio


class Panels(NamedTuple):
    """Nodes and weights of a quadrature over a part of a step, with the schedules' values at the nodes."""

    begin: float
    end: float
    times: Vector
    weights: Vector
    relief: Vector
    weight: Vector
    scale: Vector

    @property
    def left(self) -> Vector:
        """The share v of the part that is left at each node."""
        return (self.end - self.times) / (self.end - self.begin)


def gains_of(ratios: Vector, relief: Vector, weight: Vector) -> Vector:
    """Return g = 1/(1 + ρ d/s) for some ratios d/s, along a new first axis."""
    return np.asarray(relief / (relief + np.multiply.outer(ratios, weight)))


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
        steady = isinstance(sde.pressure, Constant) and isinstance(sde.noise.time_scale, Constant)
        self._same: list[Part] | None = [] if steady else None

    def parts(self, k: int) -> Iterator[Part]:
        """Yield the parts of step k, which depend on the equation and on k only.

        Parameters
        ----------
        k : int
            Number of the step, from 1.

        Yields
        ------
        Part
            Coefficients of the terms of the series, one number per agent each.
        """
        checkpoint()
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

    def _halved(self, piece: SDE, begin: float, end: float, most: int) -> Iterator[Panels]:
        panels = _panels(piece, begin, end, self.ratios)
        length, gains = end - begin, gains_of(self.ratios, panels.relief, panels.weight)
        # |∫(t − t̄) g dt| of the agent with the largest, t̄ being the middle of the part.
        drifting = float(np.abs(gains @ (panels.weights * (panels.left - 0.5))).max()) * length
        if most > 1 and drifting > TOLERANCE / 4 * length:
            middle = (begin + end) / 2
            yield from self._halved(piece, begin, middle, most // 2)
            yield from self._halved(piece, middle, end, most // 2)
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


def _panels(sde: SDE, begin: float, end: float, ratios: Vector) -> Panels:
    """Return Gauss's rule over a part, on panels that are halved until they agree with their halves."""
    # A noise scale without bound at 0 has its first integral in closed form, see ``_part``.
    first = FIRST_TIME if begin == 0 and first_noise(sde).any() else begin
    ends, found = np.array([[first, end]]), list[Vector]()
    for depth in range(DEEPEST + 1):
        middle = ends.mean(axis=1)
        # Each panel, its first and its second half: (3, panels, nodes).
        spans = np.stack([ends.T, [ends[:, 0], middle], [middle, ends[:, 1]]])
        half = (spans[:, 1] - spans[:, 0])[..., None] / 2
        times, weights = spans.mean(axis=1)[..., None] + half * NODES, half * WEIGHTS
        (relief, weight), scale = sde.homogeneous(times), sde.noise_scale(times)
        gains = gains_of(ratios, relief, weight)
        both = np.stack([(gains * weights).sum(axis=-1), (gains**2 * (weights * scale**2)).sum(axis=-1)])
        fine = both[:, :, 1] + both[:, :, 2]
        agreed = np.all(np.abs(both[:, :, 0] - fine) <= QUADRATURE * fine, axis=(0, 1)) | (depth == DEEPEST)
        found.append(np.stack([values[0, agreed] for values in (times, weights, relief, weight, scale)]))
        if agreed.all():
            break
        ends = np.concatenate([spans[1:, :, ~agreed].swapaxes(1, 2)]).reshape(-1, 2)
    nodes = np.concatenate(found, axis=1).reshape(5, -1)
    return Panels(begin, end, *nodes)


def _part(sde: SDE, panels: Panels, terms: int) -> Part:
    """Return the coefficients of the series for all agents."""
    from peerpressure.engine.taylor import Part, integrals

    n, length, degrees = sde.n, panels.end - panels.begin, sde.network.degrees
    gains, squares = np.zeros((terms, n)), np.zeros((terms + 1, n))
    noise = panels.weights * panels.scale**2
    integrals(sde.s, degrees, panels.relief, panels.weight, panels.left, panels.weights, noise, gains, squares)
    squares *= sde.deviations**2
    if panels.begin == 0:
        # Where the noise's scale has no bound at 0, the variance up to FIRST_TIME is known in closed form; v = 1 there.
        squares += first_noise(sde)
    # C d = 1 − g, and an agent without neighbours has none to listen to.
    share = length / np.arange(1, terms + 1)[:, None]
    coupling = np.divide(share - gains, degrees, out=np.zeros_like(gains), where=degrees > 0)
    return Part(length, gains * sde.x0, coupling, *_combinations(squares))


def _combinations(squares: Vector) -> tuple[Vector, Vector]:
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
