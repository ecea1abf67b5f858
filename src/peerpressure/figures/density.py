"""Densities: the normal one, and a sample smoothed into one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def normal(x: NDArray[np.float64], mean: float | NDArray[np.float64], std: float) -> NDArray[np.float64]:
    """Return the density of N(mean, std²)."""
    density: NDArray[np.float64] = np.exp(-0.5 * ((x - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    return density


def smoothed(sample: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the kernel density estimate of a sample at x, with Silverman's width 0.9·min(std, IQR/1.34)·n^(−1/5).

    >>> x = np.linspace(-30, 30, 601)
    >>> round(float(np.trapezoid(smoothed(np.array([0.0, 1.0, 5.0]), x), x)), 6)
    1.0
    """
    low, high = np.percentile(sample, (25, 75))
    spread = min(float(sample.std(ddof=1)), (high - low) / 1.34) or float(sample.std(ddof=1))
    width = 0.9 * spread * sample.size**-0.2
    density: NDArray[np.float64] = normal(x[:, None], sample[None, :], width).mean(axis=1)
    return density
