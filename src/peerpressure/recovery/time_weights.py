"""How to average what tells of one agent's x₀, r_t = p_t x₀ + ε_t, given how ε_t hangs together in time.

The share p_t is 1 where hidden opinions are constant, and falls where they adapt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.noises import Noise
from peerpressure.theory.adjoint import persistence

Array: TypeAlias = NDArray[np.float64]
# A smaller share of x₀ is lost in the last digits, even where there is no noise.
LEAST_SHARE = 1e-10


@final
@dataclass(frozen=True, eq=False)
class TimeWeights:
    """The best linear unbiased average Σ w_t r_t of an agent with unit deviation, variance 1/information.

    ``times`` (T,) are the steps that it is taken over; w = K⁻¹p/(pᵀK⁻¹p) and information = pᵀK⁻¹p, infinite where
    some combination of the r_t is free of noise. ``weights`` and ``share`` are (T, agents) and ``information``
    (agents,), or have one column for all agents alike. ``link`` and ``scale`` (T,) whiten: (ε_t/scale_t −
    link_t ε_{t−1}/scale_{t−1})/√(1 − link_t²) has independent entries of unit variance.
    """

    times: NDArray[np.int64]
    weights: Array
    information: Array
    share: Array
    link: Array
    scale: Array

    @property
    def legible(self) -> NDArray[np.bool_]:
        """Whose x₀ could be read off if there were no noise, (agents,)."""
        return np.asarray(self.share.max(axis=0, initial=0.0) >= LEAST_SHARE)


def time_weights(noise: Noise, times: NDArray[np.int64], share: Array | None = None) -> TimeWeights:
    """Return the weights for increasing times, (T,), gaps allowed; without ``share`` (T, ·) opinions are constant."""
    p = np.ones((times.size, 1)) if share is None else share
    scale = noise.scale(times)
    link = np.zeros(times.size)
    link[1:] = persistence(noise) ** np.diff(times)
    if (scale == 0).any():
        weights, information = _quiet(noise, times, scale, p)
    elif persistence(noise) == 1:
        weights, information = _held(scale, p)
    else:
        weights, information = _whitened(link, scale, p)
    return TimeWeights(times, weights, information, p, link, scale)


def _whitened(link: Array, scale: Array, p: Array) -> tuple[Array, Array]:
    spread = np.sqrt(1 - link**2)[:, None]
    regressor = p / scale[:, None]
    regressor[1:] -= link[1:, None] * (p[:-1] / scale[:-1, None])
    regressor /= spread
    pushed = regressor / spread
    weights = pushed.copy()
    weights[:-1] -= link[1:, None] * pushed[1:]
    information = np.einsum("ij,ij->j", regressor, regressor)
    return weights / scale[:, None] / np.where(information > 0, information, 1.0), information


def _quiet(noise: Noise, times: NDArray[np.int64], scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information where steps without noise tell all, to those of whom they tell anything."""
    noisy = scale > 0
    telling = np.where(noisy[:, None] | (p < LEAST_SHARE), 0.0, p)
    size = np.einsum("ij,ij->j", telling, telling)
    rest = time_weights(noise, times[noisy], p[noisy])
    others = np.zeros_like(p)
    others[noisy] = rest.weights
    told = size > 0
    return np.where(told, telling / np.where(told, size, 1.0), others), np.where(told, np.inf, rest.information)


def _held(scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information for one draw held for ever, r_t = p_t x₀ + scale_t u."""
    if not scale.size:
        return p, np.zeros(p.shape[1])
    ratio = p / scale[:, None]
    low, high, each = np.argmin(ratio, axis=0), np.argmax(ratio, axis=0), np.arange(p.shape[1])
    least, most = ratio[low, each], ratio[high, each]
    alike = most - least <= LEAST_SHARE * most
    mean = np.divide(1 / scale.size, p, out=np.zeros_like(p), where=alike & (p > 0))
    # Two different sizes of the same draw, beside the same opinion, cancel it.
    cancelling = np.zeros_like(p)
    cancelling[high, each] = 1 / scale[high]
    cancelling[low, each] -= 1 / scale[low]
    cancelling /= np.where(alike, 1.0, most - least)
    return np.where(alike, mean, cancelling), np.where(alike, most**2, np.inf)
