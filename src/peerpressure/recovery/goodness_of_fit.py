"""Whether the model can have made the outputs at all, and how well they fit it."""

from __future__ import annotations

from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.noises import AR1, Custom, Frozen, Gaussian, Noise
from peerpressure.recovery.time_weights import LEAST_SHARE
from peerpressure.schedules import Constant

Array: TypeAlias = NDArray[np.float64]


@final
class Bounds:
    """Where each x₀ must lie, given r_t = p_t x₀ + ε_t and noise that keeps within bounds; filled step by step.

    Noise that is never drawn anew leaves r_t of constant opinions unchanged, and is checked in the same way.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        held = isinstance(model.noise.temporal, Frozen) and isinstance(model.noise.time_scale, Constant)
        held = held and model.adaptation is None
        self._support = (0.0, 0.0) if held or model.noise.is_zero else support(model.noise)
        self._low: Array | None = None
        self._high: Array | None = None

    def meet(self, step: int, told: Array, error: float, share: Array) -> None:
        """Take in r_t (n, replicates), known to within ``error``, with p_t (·, 1); refuse it if no x₀ is left."""
        least, most = self._support
        if np.isinf(least) and np.isinf(most):
            return
        noise = self._model.noise
        size = (noise.deviations(self._model.n) * float(noise.scale(step)))[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):
            low = (told - np.where(size > 0, size * most, 0.0) - error) / share
            high = (told - np.where(size > 0, size * least, 0.0) + error) / share
        blind = np.broadcast_to(share < LEAST_SHARE, low.shape)
        low, high = np.where(blind, -np.inf, low), np.where(blind, np.inf, high)
        self._low = low if self._low is None else np.maximum(self._low, low)
        self._high = high if self._high is None else np.minimum(self._high, high)
        bad = np.argwhere(self._low > self._high)
        if bad.size:
            agent = self._model.network.labels[bad[0][0]]
            rule = f"outputs must be ones that the model can show ({noise})"
            got = f"values of agent {agent!r} up to step {step} that no hidden opinion explains"
            remedy = "check network, stubbornness, peer pressure and noise of the model against the run"
            raise InvalidInputError(complain(rule, got=got, remedy=remedy))


def support(noise: Noise) -> tuple[float, float]:
    """Return a least and a largest value of the unit noise, ±∞ if it has none."""
    ends = np.array(noise.unit().support(), dtype=np.float64)
    if isinstance(noise, Custom):
        ends = noise.standardise(ends)
    if isinstance(noise.temporal, AR1):
        # |u_t| ≤ M √(1−φ²) Σ |φ|^k: draws that are carried over add up.
        phi = abs(noise.temporal.coefficient)
        ends = np.array([-1.0, 1.0]) * np.abs(ends).max() * np.sqrt((1 + phi) / (1 - phi))
    return float(ends[0]), float(ends[1])


def p_values(model: Model, squares: Array, steps: int, fitted: NDArray[np.bool_]) -> Array | None:
    """Return the two-sided p-value of whitened residuals, (replicates,), from their sums of squares over time.

    Σ residual² ~ χ² under Gaussian noise, with steps degrees of freedom for each agent, less one for those of whom x₀
    was ``fitted``. Other laws change its variance by their kurtosis, and the sum of many is taken as normal.
    """
    from scipy import special

    std = model.noise.deviations(model.n)
    noisy = std > 0
    free = int((steps - np.broadcast_to(fitted, noisy.shape)[noisy]).sum())
    if free <= 0 or isinstance(model.noise.temporal, Frozen) or not np.isfinite(squares).all():
        return None
    total = (squares[noisy] / std[noisy, None] ** 2).sum(axis=0)
    if isinstance(model.noise, Gaussian):
        return np.asarray(2 * np.minimum(special.chdtr(free, total), special.chdtrc(free, total)))
    kurtosis = _excess_kurtosis(model.noise.unit())
    if not np.isfinite(kurtosis) or kurtosis <= -2:
        return None
    return np.asarray(2 * special.ndtr(-np.abs(total - free) / np.sqrt(free * (2 + kurtosis))))


def _excess_kurtosis(law: Any) -> float:
    return float(law.stats(moments="k"))
