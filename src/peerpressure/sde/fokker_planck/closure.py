"""The Fokker–Planck equation of one or two quantities alone, out of a whole network.

What is seen is z = W y. Its density obeys an equation of its own, whose drift is the conditional mean of the true one:

    E[W(b − B y) | z] = α + Γ (z − μ),   μ = W m,   α = W(b − B m),   Γ = −W B P Wᵀ (W P Wᵀ)⁻¹.

The others enter through E[y | z], which is linear in z because the law is Gaussian, with the exact covariance P. Where
z is all there is, Γ is −B and nothing is averaged over. The noise of z is W G, of which a grid needs independent axes.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import gaussian_path

from .density import GaussianDensity


class Drift(NamedTuple):
    """Drift α + Γ (z − μ) and diffusivity D, half the variance of the noise on each axis, at one time."""

    offset: Vector
    slope: Vector
    centre: Vector
    diffusivity: Vector


@final
@dataclass(frozen=True, eq=False)
class Seen:
    """What is known at one time of z = W y and of the rest: the mean of y, and cov(y, z) of shape (agents, axes)."""

    sde: SDE
    rows: Vector
    time: float
    mean: Vector
    cross: Vector

    def density(self, names: tuple[Hashable, ...]) -> GaussianDensity:
        """Return the exact density of z."""
        return GaussianDensity(self.time, names, self.rows @ self.mean, self.rows @ self.cross)

    def drift(self) -> Drift:
        """Return the coefficients of z's own equation."""
        W = self.rows
        B, b = self.sde.drift(self.time)
        slope = -np.linalg.solve(W @ self.cross, (W @ (B @ self.cross)).T).T
        noise = W * self.sde.noise_size(self.time)
        return Drift(W @ (b - B @ self.mean), slope, W @ self.mean, 0.5 * np.sum(noise**2, axis=1))


def seen_at(sde: SDE, rows: Vector, times: Vector) -> list[Seen]:
    """Return what is known of z = W y at each of the increasing times."""
    laws = zip(times, gaussian_path(sde, times), strict=True)
    return [Seen(sde, rows, float(t), mean, covariance @ rows.T) for t, (mean, covariance) in laws]


def refuse_dependent_axes(rows: Vector) -> None:
    """Refuse two sums that share an agent: their noise would go across the cells."""
    count = rows.shape[0]
    shared = count == 2 and bool(np.any((rows[0] != 0) & (rows[1] != 0)))
    if count > 2 or shared:
        rule = "a grid shows one quantity, or two whose noise is independent"
        got = f"{count} quantities" + " that share an agent" * shared
        remedy = "choose one or two agents, or one weighted sum; exact_density has no such limit"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
