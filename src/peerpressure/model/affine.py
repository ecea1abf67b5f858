"""The equations of a step, written once: y_t = gain ∘ (x + ε_t) + coupling_scale ∘ (A y_{t−1}), and x adapts to y.

Peer pressure enters in homogeneous coordinates, ρ_t = weight/own_weight with both in [0, 1]: no pressure, however
large, turns into ∞/∞. The same source serves NumPy arrays here and, compiled, single numbers in the engine.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import DTypeLike

Number = TypeVar("Number")


def coefficients(own_weight: Number, weight: Number, stubbornness: Number, degree: Number) -> tuple[Number, Number]:
    """Return gain = s/(s + ρd) and coupling_scale = ρ/(s + ρd) of one agent, or of all.

    >>> coefficients(1.0, 0.5, 2.0, 4.0)  # ρ = 1/2
    (0.5, 0.125)
    >>> coefficients(0.0, 1.0, 2.0, 4.0)  # ρ = ∞: the neighbours' mean
    (0.0, 0.25)
    """
    # s/(s + ρd) with ρ = weight/own_weight, multiplied out: no term is infinite. Divisions and not a product with
    # 1/total, which would round twice: the gain of an agent without neighbours must be exactly 1.
    own = own_weight * stubbornness  # type: ignore[operator]
    total = own + weight * degree  # type: ignore[operator]
    return own / total, weight / total


def adapted(hidden: Number, public: Number, rate: Number) -> Number:
    """Return the hidden opinion after a step with public opinion y: x + η (y − x).

    >>> adapted(1.0, 3.0, 0.25)
    1.5
    """
    # This form leaves x exactly unchanged at rate 0 and where y = x; (1 − η) x + η y would round.
    return hidden + rate * (public - hidden)  # type: ignore[operator, no-any-return]


def least_own_weight(dtype: DTypeLike) -> float:
    """Return the least own weight under which gain and coupling_scale are right for agents without a neighbour, too.

    With 0 both are 0/0 there, where the gain is 1; with this one, agents with neighbours give their own opinion a
    weight far below rounding.
    """
    # The root, because own_weight·s must not underflow for small s either: 1e-154 in float64, 1e-19 in float32.
    return float(np.sqrt(np.finfo(dtype).tiny))
