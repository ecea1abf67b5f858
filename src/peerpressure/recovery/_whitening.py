"""Whitening of correlated noise, and the best average of an agent's own series r_t = p_t x₀ + ε_t.

The noise of an agent is ε_t = std · scale_t · u_t with u_t = φ u_{t−1} + √(1−φ²) w_t. The share p_t of x₀ in the series
is 1 where hidden opinions are constant, and falls where they adapt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.noise import Noise
from peerpressure.recovery._limits import NEGLIGIBLE

Array: TypeAlias = NDArray[np.float64]
Times: TypeAlias = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Whitening:
    """The map from noise of unit std at increasing times, gaps allowed, to independent draws of unit variance.

    With v_t = ε_t/scale_t, the draws are v_1 and (v_t − link_t v_{t−1})/√(1 − link_t²), where link_t is φ to the power
    of the time since the last step. ``link`` and ``scale`` are (T,); link_1 = 0.
    """

    link: Array
    scale: Array

    @classmethod
    def of(cls, noise: Noise, times: Times) -> Whitening:
        """Return the whitening of this noise at these times."""
        link = np.zeros(times.size)
        # An AR(1) process sampled with gaps is AR(1) again with correlation φ^gap, so missing steps need no imputation.
        link[1:] = noise.autocorrelation ** np.diff(times)
        return cls(link, noise.scale(times))

    def apply(self, series: Array) -> Array:
        """Return the whitened series, (T, m); ∞ where it changes and noise does not, or has no size."""
        v = divide(series, self.scale[:, None])
        # Differences of infinities would be NaN, which hides that the series contradicts the noise.
        if not np.isfinite(v).all():
            return v
        out = v.copy()
        # The first entry has unit variance as it stands, since the process is stationary.
        out[1:] = divide(v[1:] - self.link[1:, None] * v[:-1], innovation_std(self.link[1:, None]))
        return out

    def adjoint(self, draws: Array) -> Array:
        """Return the transposed map of draws, (T, m), where it is finite."""
        # The whitening matrix is lower bidiagonal, so its transpose couples each step to the next one.
        pushed = draws / innovation_std(self.link)[:, None]
        out = pushed.copy()
        out[:-1] -= self.link[1:, None] * pushed[1:]
        return np.asarray(out / self.scale[:, None])


def whiten_pair(now: Any, before: Any, link: float) -> Any:
    """Return (v_t − link v_{t−1})/√(1 − link²) for numbers, arrays or sparse matrices."""
    return (now - link * before) * (1 / innovation_std(link))


def innovation_std(phi: Any) -> Any:
    """Return √(1−φ²), the standard deviation of what is new in u_t."""
    # The product loses no digits near |φ| = 1, where 1 − φ² cancels.
    return np.sqrt((1 - phi) * (1 + phi))


def divide(move: Array | float, std: Array | float) -> Array:
    """Return move/std; a move without noise to hide it counts as ∞, and no move as 0."""
    m, d = np.broadcast_arrays(np.asarray(move, dtype=np.float64), np.asarray(std, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        # 0/0 is 0: an agent without noise and without a change is consistent with the model.
        return np.where(m == 0, 0.0, m / d)


@final
@dataclass(frozen=True, eq=False)
class TimeWeights:
    """The best linear unbiased average Σ w_t r_t of an agent with unit std, variance 1/information.

    ``times`` (T,) are the steps that it is taken over; w = K⁻¹p/(pᵀK⁻¹p) and information = pᵀK⁻¹p with K the covariance
    of the noise over time, infinite where some combination of the r_t is free of noise. ``weights`` and ``share`` are
    (T, agents) and ``information`` (agents,), or have one column for all agents alike.
    """

    times: Times
    weights: Array
    information: Array
    share: Array
    whitening: Whitening

    @property
    def legible(self) -> NDArray[np.bool_]:
        """Whose x₀ could be read off if there were no noise, (agents,)."""
        return np.asarray(self.share.max(axis=0, initial=0.0) >= NEGLIGIBLE)


def time_weights(noise: Noise, times: Times, share: Array | None = None) -> TimeWeights:
    """Return the weights for increasing times, (T,), gaps allowed; without ``share`` (T, ·) opinions are constant."""
    p = np.ones((times.size, 1)) if share is None else share
    whitening = Whitening.of(noise, times)
    # Steps without noise and frozen noise have a singular covariance K, so K⁻¹ does not exist and the weights are
    # limits.
    if (whitening.scale == 0).any():
        weights, information = _noiseless(noise, times, whitening.scale, p)
    elif noise.is_frozen:
        weights, information = _frozen(whitening.scale, p)
    else:
        regressor = whitening.apply(p)
        information = np.einsum("ij,ij->j", regressor, regressor)
        # With whitening W, K⁻¹ = WᵀW: the weights take O(T) operations and no T × T matrix.
        weights = whitening.adjoint(regressor) / np.where(information > 0, information, 1.0)
    return TimeWeights(times, weights, information, p, whitening)


def _noiseless(noise: Noise, times: Times, scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information where steps without noise reveal x₀, as far as it still has a share in them."""
    noisy = scale > 0
    # Among noiseless steps any weights are exact; weights in proportion to p minimise the effect of rounding errors.
    revealing = np.where(noisy[:, None] | (p < NEGLIGIBLE), 0.0, p)
    size = np.einsum("ij,ij->j", revealing, revealing)
    # The remaining steps have no scale of 0, so the recursion ends after one level.
    rest = time_weights(noise, times[noisy], p[noisy])
    others = np.zeros_like(p)
    others[noisy] = rest.weights
    known = size > 0
    return np.where(known, revealing / np.where(known, size, 1.0), others), np.where(known, np.inf, rest.information)


def _frozen(scale: Array, p: Array) -> tuple[Array, Array]:
    """Return weights and information for frozen noise, r_t = p_t x₀ + scale_t u."""
    if not scale.size:
        return p, np.zeros(p.shape[1])
    # Divided by its scale, the noise of every step is the same draw u, and only the weight of x₀ differs.
    ratio = p / scale[:, None]
    # The two steps with the most different weights give the least amplification of rounding errors.
    low, high, each = np.argmin(ratio, axis=0), np.argmax(ratio, axis=0), np.arange(p.shape[1])
    least, most = ratio[low, each], ratio[high, each]
    # With equal weights all steps repeat one measurement with noise u, and its information is that of a single step.
    alike = most - least <= NEGLIGIBLE * most
    mean = np.divide(1 / scale.size, p, out=np.zeros_like(p), where=alike & (p > 0))
    # Two different sizes of the same draw, beside the same opinion, cancel it.
    cancelling = np.zeros_like(p)
    cancelling[high, each] = 1 / scale[high]
    # Subtracted in place, because low and high coincide where all ratios are equal.
    cancelling[low, each] -= 1 / scale[low]
    cancelling /= np.where(alike, 1.0, most - least)
    return np.where(alike, mean, cancelling), np.where(alike, most**2, np.inf)
