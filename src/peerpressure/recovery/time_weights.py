"""How to average what one agent would have liked to show, ξ_t = x₀ + ε_t, given how ε_t hangs together in time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.noises import Noise
from peerpressure.theory.adjoint import persistence

Array: TypeAlias = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class TimeWeights:
    """The best linear unbiased average Σ w_t ξ_t of an agent with unit deviation, variance 1/information.

    w = K⁻¹1/(1ᵀK⁻¹1) and information = 1ᵀK⁻¹1, infinite where some combination of the ξ_t is free of noise. ``link``
    and ``scale`` (T,) whiten: (ξ_t/scale_t − link_t ξ_{t−1}/scale_{t−1})/√(1 − link_t²) has independent entries of
    unit variance.
    """

    weights: Array
    information: float
    link: Array
    scale: Array


def time_weights(noise: Noise, times: NDArray[np.int64]) -> TimeWeights:
    """Return the weights for increasing times, (T,), gaps allowed."""
    scale = noise.scale(times)
    link = np.zeros(times.size)
    link[1:] = persistence(noise) ** np.diff(times)
    if not times.size:
        return TimeWeights(scale, 0.0, link, scale)
    if (scale == 0).any():
        quiet = scale == 0
        return TimeWeights(quiet / quiet.sum(), np.inf, link, scale)
    if persistence(noise) == 1:
        return TimeWeights(*_held(scale), link, scale)
    spread = np.sqrt(1 - link**2)
    regressor = 1 / scale
    regressor[1:] -= link[1:] / scale[:-1]
    regressor /= spread
    pushed = regressor / spread
    weights = pushed.copy()
    weights[:-1] -= link[1:] * pushed[1:]
    information = float(regressor @ regressor)
    return TimeWeights(weights / scale / information, information, link, scale)


def _held(scale: Array) -> tuple[Array, float]:
    """Return weights and information for one draw held for ever, ξ_t = x₀ + scale_t u."""
    low, high = int(np.argmin(scale)), int(np.argmax(scale))
    if scale[high] - scale[low] <= 1e-12 * scale[high]:
        return np.full(scale.size, 1 / scale.size), float(1 / scale[low] ** 2)
    # Two different scales of the same draw cancel it.
    weights = np.zeros(scale.size)
    weights[low], weights[high] = 1 / scale[low], -1 / scale[high]
    return weights / weights.sum(), np.inf
