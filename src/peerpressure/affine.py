"""The physics, written once: y_t = gain ∘ (x₀ + ε_t) + pull ∘ (A y_{t−1}).

Peer pressure enters in homogeneous coordinates, ρ_t = weight/relief with both in [0, 1], so that no pressure, however
large, turns into ∞/∞. The same source serves NumPy arrays here and, compiled, single numbers in the engine.
"""

from __future__ import annotations

from typing import TypeVar

Number = TypeVar("Number")


def coefficients(relief: Number, weight: Number, stubbornness: Number, degree: Number) -> tuple[Number, Number]:
    """Return gain = s/(s + ρd) and pull = ρ/(s + ρd) of one agent, or of all.

    >>> coefficients(1.0, 0.5, 2.0, 4.0)  # ρ = 1/2
    (0.5, 0.125)
    >>> coefficients(0.0, 1.0, 2.0, 4.0)  # ρ = ∞: the neighbours' mean
    (0.0, 0.25)
    """
    own = relief * stubbornness  # type: ignore[operator]
    total = own + weight * degree  # type: ignore[operator]
    return own / total, weight / total
