"""How much of x₀ is left in what an agent holds, where hidden opinions adapt.

x_{t+1} = x_t + η_t (y_t − x_t) unrolls to x_{t+1} = π_t x₀ + k_t with

    π_t = (1 − η_t) π_{t−1},  π₀ = 1,   k_t = k_{t−1} + η_t (y_t − k_{t−1}),  k₀ = 0:

an agent's own share, which fades whatever happens, and what it has adopted, which follows from what it showed.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.recovery.outputs import Outputs

Array: TypeAlias = NDArray[np.float64]


def own_share(model: Model, last: int) -> Array:
    """Return π_t for t = 0…last, (last + 1, agents), or (last + 1, 1) where it is the same for all.

    >>> from peerpressure import k2
    >>> own_share(Model(k2(), hidden=[1.0, 2.0], adaptation=0.5), 3).ravel()
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    adaptation = model.adaptation
    if adaptation is None:
        return np.ones((last + 1, 1))
    factor = np.atleast_1d(np.asarray(adaptation.adaptation_weight, dtype=np.float64))
    staying = np.ones((last + 1, factor.size))
    staying[1:] -= adaptation.pace(np.arange(1, last + 1))[:, None] * factor
    return np.asarray(np.cumprod(staying, axis=0))


def adopted(model: Model, data: Outputs) -> Array:
    """Return k of the last seen step from complete outputs, (replicates, agents)."""
    held = np.zeros((model.n, data.values.shape[0]))
    if model.adaptation is not None:
        for row, t in enumerate(data.seen.times):
            held = model.update(int(t)).adapt(held, data.at(row).T)
    return np.asarray(held.T)
