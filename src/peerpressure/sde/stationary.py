"""The law to which the process settles under a pressure that no longer changes."""

from __future__ import annotations

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector

from .equation import SDE
from .moments import LARGEST_COVARIANCE


def stationary(sde: SDE, t: float) -> tuple[Vector, Vector]:
    """Return mean (agents,) and covariance (agents, agents) that pressure and noise of time t would settle at.

    The mean is the fixed point (S + ρL)⁻¹S x₀. The covariance solves BP + PBᵀ = GGᵀ: with M = S + ρD, the matrix
    M^½ B M^(−½) is symmetric, and in its eigenvectors with eigenvalues λ the solution is a division by λ_i + λ_j.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noises import Gaussian
    >>> model = Model(k2(), hidden=[1.0, 2.0], pressure=1.0, noise=Gaussian(1.0))
    >>> stationary(SDE(model), 1.0)[1].round(4)  # λ = ½ and 3/2, noise of variance ¼
    array([[0.1667, 0.0833],
           [0.0833, 0.1667]])
    """
    if sde.n > LARGEST_COVARIANCE:
        rule = f"a stationary covariance is worked out for up to {LARGEST_COVARIANCE:,} agents"
        raise InvalidInputError(complain(rule, got=f"{sde.n:,}", remedy="use moments_of at late times"))
    B, b = sde.drift(t)
    relief, weight = sde.homogeneous(t)
    root = np.sqrt(relief * sde.s + weight * sde.network.degrees)
    values, vectors = np.linalg.eigh(_symmetric(B.toarray() * np.outer(root, 1 / root)))
    _refuse_if_unsettled(sde, t, float(values[0]))
    v = sde.consensus_value
    ones = np.ones(sde.n)
    centred = (vectors.T @ (root * (b - v * (B @ ones)))) / values
    spread = vectors.T @ (vectors * ((root * sde.noise_size(t)) ** 2)[:, None])
    covariance = vectors @ (spread / np.add.outer(values, values)) @ vectors.T
    return v + vectors @ centred / root, _symmetric(covariance / np.outer(root, root))


def _symmetric(matrix: Vector) -> Vector:
    return np.asarray((matrix + matrix.T) / 2)


def _refuse_if_unsettled(sde: SDE, t: float, slowest: float) -> None:
    if slowest <= 1e-13:
        rule = "a stationary law needs a pressure under which agents still hear their own opinion"
        got = f"{sde.pressure} at t = {t:g}"
        raise InvalidInputError(complain(rule, got=got, remedy="choose an earlier time"))
