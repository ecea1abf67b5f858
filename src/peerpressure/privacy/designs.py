"""Ways to hide opinions while agreeing on their mean, each as an exact linear Gaussian mechanism.

A design is data and one method, ``trades(model, horizons)``: bias and variance of the consensus mode m = Σ d y/Σ d at
each horizon, and the Fisher information that an observer of every message has about one agent by then, all for noise of
unit deviation. Bias stays and variance grows with the square of the deviation, as information falls with it, so that
these numbers give the error at every budget.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy import sparse

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.noises import AR1, Gaussian, Noise
from peerpressure.privacy.opening import hears_hidden, masked_start
from peerpressure.privacy.release import release
from peerpressure.schedules import Power
from peerpressure.theory.functionals import consensus_mode
from peerpressure.theory.moments import moments


@final
@dataclass(frozen=True)
class Trade:
    """What one design does at one horizon with noise of unit deviation.

    ``cost`` is √(variance·information): the deviation of the mode where every agent's information is 1.
    """

    bias: float
    variance: float
    information: float
    cost: float


@dataclass(frozen=True)
class Design(ABC):
    """A way to hide opinions, with a name for a person to read."""

    name: str

    @abstractmethod
    def trades(self, model: Model, horizons: Sequence[int]) -> list[Trade]:
        """Return what it does at each of the increasing horizons."""


@final
@dataclass(frozen=True)
class Noisy(Design):
    """The model itself under Gaussian noise of some kind.

    Agents who would start by saying their hidden opinion say nothing until step 1, and listen from step 2 on.
    """

    noise: Noise

    def trades(self, model: Model, horizons: Sequence[int]) -> list[Trade]:
        """Return exact moments of the mode and the information about the most exposed agent."""
        own = replace(model, noise=self.noise)
        if hears_hidden(own):
            own = masked_start(own, horizons[-1])
        found = moments(own, horizons[-1], of=consensus_mode(own), times=list(horizons))
        bias = found.mean[:, 0] - model.consensus_value
        informed = [float(release(own, T).squares.max()) for T in horizons]
        return [
            Trade(float(b), float(v), i, math.sqrt(float(v) * i))
            for b, v, i in zip(bias, found.variance[:, 0], informed, strict=True)
        ]


@final
@dataclass(frozen=True)
class OneShot(Design):
    """Perturb once and average: x(0) = x₀ + η, x(t) = P x(t−1), with no noise after the start.

    This is the best case of Nozari, Tallapragada and Cortés (Automatica 2017), here with normal η. P = I − ½S⁻¹L′,
    where L′ is the Laplacian of Metropolis weights A_ij·min(s_i/d_i, s_j/d_j), keeps Σ s x and so leads to v. All
    that is ever said follows from x₀ + η, so that the information is 1 for ever.
    """

    name: str = "one shot"

    def trades(self, model: Model, horizons: Sequence[int]) -> list[Trade]:
        """Run the adjoint c ← Pᵀc: the mode has mean cᵀx₀ and variance |c|²."""
        P, c = averaging_matrix(model), consensus_mode(model).weights
        found, done = [], 0
        for T in horizons:
            for _ in range(T - done):
                c = P.T @ c
            done = T
            bias, variance = float(c @ model.x0) - model.consensus_value, float(c @ c)
            found.append(Trade(bias, variance, 1.0, math.sqrt(variance)))
        return found


@final
@dataclass(frozen=True)
class ZeroSum(Design):
    """Add decaying noise that sums to zero: agents send x⁺(k) = x(k) + w(k) and take x(k+1) = P x⁺(k).

    As in Mo and Murray (IEEE TAC 2017), w(0) = v₀ and w(k) = φ^k v_k − φ^(k−1) v_{k−1} with independent normal v_k, so
    that consensus on v is exact in the limit. Who sees every message knows x⁺(0) + w(1) + … + w(k) = x₀ + φ^k v_k for
    each k, so that the information Σ φ^(−2k) explodes: the design is meant against observers who miss a neighbour.
    """

    name: str = "zero sum"
    decay: float = 0.9

    def __post_init__(self) -> None:
        if not 0 < self.decay < 1:
            rule = "noise that sums to zero must decay by a factor strictly between 0 and 1"
            raise InvalidInputError(complain(rule, got=self.decay, remedy="for instance 0.9"))

    def trades(self, model: Model, horizons: Sequence[int]) -> list[Trade]:
        """Weigh v_k in the mode of x(T) by φ^k (P^(T−k) − P^(T−k−1))ᵀc, and the last one by φ^(T−1) Pᵀc."""
        P, c = averaging_matrix(model), consensus_mode(model).weights
        phi, found, wanted = self.decay, [], set(horizons)
        ahead = P.T @ c
        # Costs are kept in units of the last noise, where neither noise nor information leaves the range of numbers.
        variance = cost = float(ahead @ ahead)
        information, change, scaled = 1.0, ahead - c, ahead - c
        with np.errstate(all="ignore"):
            for T in range(1, horizons[-1] + 1):
                if T in wanted:
                    bias, size = float(ahead @ model.x0) - model.consensus_value, np.float64(phi) ** (2 - 2 * T)
                    found.append(Trade(bias, variance, float(information * size), math.sqrt(cost * information)))
                change, scaled = _forgetting(model, P.T @ change), _forgetting(model, P.T @ scaled / phi)
                ahead = ahead + change
                variance = phi**2 * variance + float(change @ change)
                cost = min(cost + float(np.nan_to_num(scaled @ scaled, nan=math.inf)), math.inf)
                information += phi ** (2 * T)
        return found


def _forgetting(model: Model, weights: Vector) -> Vector:
    """Return the weights without what rounding left in the one direction that averaging never forgets."""
    return np.asarray(weights - model.s * (weights.sum() / model.s.sum()))


def averaging_matrix(model: Model) -> sparse.csr_array:
    """Return P = I − ½S⁻¹L′, whose rows are weights, and which keeps Σ s x."""
    if model.temporal_network is not None:
        rule = "averaging without the model's own dynamics needs one network for all times"
        remedy = "choose among the Noisy designs, or give the model its network.aggregate"
        raise InvalidInputError(complain(rule, got=repr(model.temporal_network), remedy=remedy))
    d, s = model.network.degrees, model.s
    i, j, weight = model.network.edges()
    metropolis = weight * np.minimum((s / d)[i], (s / d)[j])
    half = sparse.coo_array((metropolis, (i, j)), shape=(model.n, model.n))
    links = sparse.csr_array(half + half.T)
    stay = 1 - 0.5 * np.asarray(links.sum(axis=1)).ravel() / s
    return sparse.csr_array(sparse.diags_array(stay) + sparse.diags_array(0.5 / s) @ links)


def growing(exponent: float) -> Design:
    """Return the model under white noise whose deviation grows as t^exponent."""
    return Noisy(f"growing as t^{exponent:g}", Gaussian(time_scale=Power(exponent)))


def limit(model: Model) -> float:
    """Return √(Σ s²)/Σ s, which no unbiased design's cost is below, by the bound of Cramér and Rao."""
    weights = model.s / model.s.max()
    return float(np.linalg.norm(weights) / weights.sum())


DESIGNS: tuple[Design, ...] = (
    Noisy("white", Gaussian()),
    growing(0.25),
    growing(0.75),
    Noisy("AR(1), φ = 0.9", Gaussian(temporal=AR1(0.9))),
    Noisy("frozen noise", Gaussian(temporal="frozen")),
    OneShot(),
    ZeroSum(),
)
