"""The exact solution of the Fokker–Planck equation: a Gaussian density, for any number of agents."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.step import Array
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import checked_weights, moments_at, moments_of, real_times, state_path
from peerpressure.support.results import read_only

# Share of the largest eigenvalue up to which one counts as 0: the covariance is known to some 1e-11 of it, and a law
# along a direction below that would be one of the solver's errors.
DEGENERATE = 1e-10


@final
@read_only
@dataclass(frozen=True, eq=False)
class GaussianDensity:
    """The density of some agents, or sums of agents, at one time; ``names`` lists them in the order of the axes.

    Parameters
    ----------
    time : float
        The time.
    names : tuple of k labels
        Agents or names of sums.
    mean : array of shape (k,)
        Mean, in units of opinion.
    covariance : array of shape (k, k)
        Covariance, of full rank.

    Raises
    ------
    InvalidInputError
        If the covariance is singular: the law has then no density.

    See Also
    --------
    exact_density : The density of an equation.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.sde import GaussianDensity
    >>> one = GaussianDensity(1.0, ("ann",), np.array([0.5]), np.array([[0.04]]))
    >>> one
    GaussianDensity(t = 1, ann 0.5 ± 0.2)
    >>> float(one.pdf(0.5).round(3))
    1.995
    """

    time: float
    names: tuple[Hashable, ...]
    mean: Array
    covariance: Array

    def __post_init__(self) -> None:
        if _is_regular(self._correlation):
            return
        kept = independent_axes(self._correlation)
        rule = "a density needs noise in every direction, and time for it to act"
        got = f"a law of rank {len(kept)} in {len(self.names)} directions at t = {self.time:g}"
        raise InvalidInputError(message(rule, got=got, remedy=self._remedy(kept)))

    def _remedy(self, kept: list[int]) -> str:
        if kept:
            shown = ", ".join(str(self.names[i]) for i in kept[:8]) + ", …" * (len(kept) > 8)
            verb = "has" if len(kept) == 1 else "have"
            return f"leave out {len(self.names) - len(kept)} of the names; {shown} {verb} a density"
        # Nothing varies at all: at first because nothing has happened, later because nothing ever does.
        return "choose a later time" if self.time == 0 else "use a model with noise, or agents that its noise reaches"

    @property
    def std(self) -> Array:
        """The standard deviation along each axis."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def _correlation(self) -> Array:
        # A variance of 0 becomes a row of zeros, and with it an eigenvalue 0, instead of 0/0.
        scale = np.where(self.std > 0, self.std, np.inf)
        return np.asarray(self.covariance / np.outer(scale, scale))

    @cached_property
    def _root(self) -> Array:
        # Factored as a correlation and scaled back: better conditioned than the covariance.
        return np.asarray(self.std[:, None] * np.linalg.cholesky(self._correlation))

    def logpdf(self, points: ArrayLike) -> Array:
        """Return the logarithm of the density at points of shape (…, names), or (…) if there is one name.

        Parameters
        ----------
        points : array_like of shape (..., k), or (...) where k = 1
            Points in the order of ``names``.

        Returns
        -------
        array of float
            One value per point, in the shape of ``points`` without its last axis.

        Raises
        ------
        InvalidInputError
            If points do not hold one number for each name.
        """
        at = np.asarray(points, dtype=np.float64)
        k = len(self.names)
        if k == 1 and (at.ndim == 0 or at.shape[-1] != 1):
            at = at[..., None]
        if at.shape[-1] != k:
            rule = f"points must hold {k} numbers each, one for each of the names"
            raise InvalidInputError(message(rule, got=f"shape {at.shape}", remedy="put the names on the last axis"))
        # Whitening: with covariance RRᵀ, R⁻¹(z − μ) is standard normal, and the determinant is read off the diagonal.
        # The inverse of the covariance would square the condition number.
        standard = np.linalg.solve(self._root, (at - self.mean).reshape(-1, k).T)
        constant = k / 2 * math.log(2 * math.pi) + float(np.log(np.diag(self._root)).sum())
        return np.asarray(-0.5 * np.sum(standard**2, axis=0) - constant).reshape(at.shape[:-1])

    def pdf(self, points: ArrayLike) -> Array:
        """Return the density at points of shape (…, names), or (…) if there is one name.

        Parameters
        ----------
        points : array_like of shape (..., k), or (...) where k = 1
            Points in the order of ``names``.

        Returns
        -------
        array of float
            One value per point, in the shape of ``points`` without its last axis.

        Raises
        ------
        InvalidInputError
            If points do not hold one number for each name.
        """
        return np.exp(self.logpdf(points))

    def marginal(self, names: Sequence[Hashable]) -> GaussianDensity:
        """Return the marginal density of some of the names.

        Parameters
        ----------
        names : sequence of labels
            One or more of ``names``, in any order.

        Returns
        -------
        GaussianDensity
            Density of these, in their order.

        Raises
        ------
        InvalidInputError
            If a name is unknown, or there is none.

        Examples
        --------
        >>> import numpy as np
        >>> from peerpressure.sde import GaussianDensity
        >>> both = GaussianDensity(1.0, ("a", "b"), np.zeros(2), np.array([[4.0, 1.0], [1.0, 2.0]]))
        >>> both.marginal(["b"])
        GaussianDensity(t = 1, b 0 ± 1.41)
        """
        missing = [name for name in names if name not in self.names]
        if missing or not names:
            rule = f"a marginal must be of names among {', '.join(map(str, self.names[:8]))}"
            raise InvalidInputError(message(rule, got=missing or "none", remedy="choose from these"))
        where = [self.names.index(name) for name in names]
        return GaussianDensity(self.time, tuple(names), self.mean[where], self.covariance[np.ix_(where, where)])

    def __repr__(self) -> str:
        shown = zip(self.names[:4], self.mean, self.std, strict=False)
        what = "; ".join(f"{name} {mean:.4g} ± {std:.3g}" for name, mean, std in shown)
        return f"GaussianDensity(t = {self.time:g}, {what}{'; …' * (len(self.names) > 4)})"


def _is_regular(correlation: Array) -> bool:
    # Of the correlation matrix: agents with noise of very different size must not pass for a degenerate law.
    values = np.linalg.eigvalsh(correlation)
    return bool(values[0] > DEGENERATE * values[-1])


def independent_axes(correlation: Array) -> list[int]:
    """Return a largest set of axes whose law has a density, chosen by pivoting.

    >>> independent_axes(np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    [0]
    """
    from scipy.linalg import qr

    triangle, order = qr(correlation, mode="r", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(sizes > DEGENERATE * sizes[0])) if sizes[0] > 0 else 0
    # Pivots bound the eigenvalues only within a factor, so the last ones may have to go as well.
    while rank and not _is_regular(correlation[np.ix_(order[:rank], order[:rank])]):
        rank -= 1
    return sorted(int(i) for i in order[:rank])


def exact_density(
    sde: SDE,
    t: float,
    agents: Sequence[Hashable] | None = None,
    *,
    weights: ArrayLike | None = None,
) -> GaussianDensity:
    """Return the density at time t of all agents, of some, or of weighted sums.

    Where the law is degenerate, because no noise acts in some direction, the error names agents that have a density.

    Parameters
    ----------
    sde : SDE
        The equation.
    t : float
        Time, t > 0.
    agents : sequence of labels, optional
        The agents, each once; all by default.
    weights : array_like of shape (sums, n), optional
        Weights of sums of agents, in place of ``agents``.

    Returns
    -------
    GaussianDensity
        The exact solution of the Fokker–Planck equation.

    Raises
    ------
    InvalidInputError
        If the law is degenerate, or agents, weights or the time are not valid.

    See Also
    --------
    solve_density : The same density on a grid, from the Fokker–Planck equation.
    moments_at : Mean and variance, which exist without noise, too.

    References
    ----------
    .. [1] H. Risken (1996), The Fokker–Planck Equation, 2nd edition, Springer.

    Examples
    --------
    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import exact_density
    >>> exact_density(SDE(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.2))), 5.0)
    GaussianDensity(t = 5, 0 0.4484 ± 0.0543; 1 0.5516 ± 0.0543)
    """
    (time,) = real_times([t])
    names, rows = projection(sde, agents, weights)
    if rows is None:
        whole = moments_at(sde, [time])
        return GaussianDensity(float(time), names, whole.mean[0], whole.covariance)
    part = moments_of(sde, rows, [time])
    return GaussianDensity(float(time), names, part.mean[0], part.covariance)


def projection(
    sde: SDE, agents: Sequence[Hashable] | None, weights: ArrayLike | None
) -> tuple[tuple[Hashable, ...], Array | None]:
    """Return the names of the axes and their weights (axes, agents), which are None for all agents in their order."""
    labels, n = sde.network.labels, sde.n
    if agents is not None and weights is not None:
        rule = "a density is of agents or of weighted sums"
        raise InvalidInputError(message(rule, got="both", remedy="give an agent's own row among the weights"))
    if weights is not None:
        rows = checked_weights(sde, weights)
        return tuple("weighted sum" if len(rows) == 1 else f"sum {i}" for i in range(len(rows))), rows
    if agents is None:
        return tuple(labels), None
    chosen = sde.network.indices(agents)
    if chosen.size == 0 or np.unique(chosen).size != chosen.size:
        rule = "a density needs one or more different agents"
        raise InvalidInputError(message(rule, got=repr(list(agents)), remedy="name each of them once"))
    return tuple(labels[i] for i in chosen), np.eye(n)[chosen]


# The Fokker–Planck equation of one or two quantities of a network, closed without the other agents.
#
# The observed quantities are z = W y. Their density obeys an equation of its own, whose drift is the conditional mean
# of the true one:
#
#     E[W(b − B y) | z] = α + Γ (z − μ),   μ = W m,   α = W(b − B m),   Γ = −W B P Wᵀ (W P Wᵀ)⁻¹.
#
# The others enter through E[y | z], which is linear in z because the law is Gaussian, with the exact covariance P.
# Hidden opinions that adapt are further entries of y in it, with weights 0 in W.
# If z is all there is, Γ is −B and nothing is averaged over. The noise of z is W G, of which a grid needs
# independent axes.


class Drift(NamedTuple):
    """Drift α + Γ (z − μ) and diffusivity D, half the variance of the noise on each axis, at one time."""

    offset: Array
    slope: Array
    centre: Array
    diffusivity: Array


@final
@dataclass(frozen=True, eq=False)
class Seen:
    """The joint law of the state and z = W y at one time: the mean of the state, and cov(state, z), (states, axes)."""

    sde: SDE
    rows: Array
    time: float
    mean: Array
    cross: Array

    def density(self, names: tuple[Hashable, ...]) -> GaussianDensity:
        """Return the exact density of z."""
        public = self.sde.layout.public
        return GaussianDensity(self.time, names, self.rows @ self.mean[public], self.rows @ self.cross[public])

    def drift(self) -> Drift:
        """Return the coefficients of z's own equation."""
        W = np.zeros((len(self.rows), self.mean.size))
        W[:, self.sde.layout.public] = self.rows
        B, b = self.sde.drift(self.time)
        # W P Wᵀ is symmetric, so Γ from the right is a solve with the transpose; no inverse is formed.
        slope = -np.linalg.solve(W @ self.cross, (W @ (B @ self.cross)).T).T
        noise = self.rows * self.sde.noise_size(self.time)
        return Drift(W @ (b - B @ self.mean), slope, W @ self.mean, 0.5 * np.sum(noise**2, axis=1))


def seen_at(sde: SDE, rows: Array, times: Array) -> list[Seen]:
    """Return the joint law of y and z = W y at each of the increasing times."""
    laws, public = zip(times, state_path(sde, times), strict=True), sde.layout.public
    # Only cov(y, z) is kept: covariances of all agents at all times would not fit into memory.
    return [Seen(sde, rows, float(t), mean, covariance[:, public] @ rows.T) for t, (mean, covariance) in laws]


def require_independent_axes(rows: Array) -> None:
    """Raise for two sums that share an agent: their noise is correlated, while cells exchange mass along axes only."""
    count = rows.shape[0]
    shared = count == 2 and bool(np.any((rows[0] != 0) & (rows[1] != 0)))
    if count > 2 or shared:
        rule = "a grid shows one quantity, or two whose noise is independent"
        got = f"{count} quantities" + " that share an agent" * shared
        remedy = "choose one or two agents, or one weighted sum; exact_density has no such limit"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
