"""What all steps after a horizon still do to the consensus mode, when peer pressure grows fast.

Near agreement the degree-weighted mean m obeys m_t = (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ), with ξ̄ the mean of the preferred
opinions weighted by stubbornness; what is left out is of the order Σ 1/ρ_t² over the steps after the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model, Vector

# log t of the farthest time that a double can hold with room to spare.
FARTHEST = 700.0
NODES = 20_001
NEGLIGIBLE = 1e-18


@final
@dataclass(frozen=True)
class Tail:
    """The effect of the steps after a horizon T on m: m_∞ = keep·m_T + (1 − keep)·v + noise.

    ``change`` is Σ log(1 + κ/ρ_t), so that keep = exp(−change). Noise that never changes enters with the factor
    ``held``, and independent noise with the sum of squares ``squares``, both in units of the deviation of ξ̄.
    """

    change: float
    held: float
    squares: float

    @property
    def keep(self) -> float:
        """The share of m_T in the limit."""
        return float(np.exp(-self.change))

    @property
    def give(self) -> float:
        """The share 1 − keep that is still to come."""
        return float(-np.expm1(-self.change))


def tail_after(model: Model, horizon: int, kappa: float | None = None) -> Tail:
    """Return the tail after t = ``horizon``; sums over steps are integrals by the midpoint rule, over log t.

    ``kappa`` is the model's own unless given.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> tail = tail_after(Model(k2(), hidden=[0.0, 1.0], pressure=Power(2)), 100)
    >>> round(tail.change, 5)  # near Σ 1/t² = 1/100.5
    0.00995
    """
    log_t = _grid(model, np.log(horizon + 0.5))
    times = np.exp(log_t)
    rate = model.kappa if kappa is None else kappa
    rates = np.log1p(rate * model.pressure.reciprocal(times)) * times
    after = _beyond(model, log_t, rates) + _backwards(rates, log_t)
    # An effect at t is kept to the extent that later steps do not wash it out.
    kept = rates * np.exp(-after) * model.noise.scale(times)
    held = _backwards(kept, log_t)[0] - np.expm1(-after[-1]) * model.noise.scale(times[-1])
    squares = _backwards(kept**2 / times, log_t)[0]
    return Tail(float(after[0]), float(held), float(squares))


def _grid(model: Model, start: float) -> Vector:
    """Return log t from the start to where the steps no longer count."""
    coarse = np.linspace(start, FARTHEST, 4_001)
    with np.errstate(over="ignore"):
        rates = model.pressure.reciprocal(np.exp(coarse)) * np.exp(coarse)
    counts = np.flatnonzero(rates > NEGLIGIBLE * rates.max())
    last = min(int(counts[-1]) + 1, coarse.size - 1) if counts.size else 1
    return np.linspace(start, coarse[last], NODES)


def _backwards(values: Vector, x: Vector) -> Vector:
    """Return ∫ from each x to the last."""
    from scipy.integrate import cumulative_simpson

    total = np.asarray(cumulative_simpson(values, x=x, initial=0.0))
    return np.asarray(total[-1] - total)


def _beyond(model: Model, log_t: Vector, rates: Vector) -> float:
    """Return the integral beyond the grid, which matters for pressure that grows hardly faster than t.

    There ρ ~ t^p makes the rates fall exponentially in log t; slower growth, as t·(log t)^q, like a power of log t.
    """
    if log_t[-1] < FARTHEST or rates[-1] == 0:
        return 0.0
    middle = log_t.size // 2
    fall = np.log(rates[middle] / rates[-1])
    if model.pressure.growth.exponent not in (None, 1.0):
        return float(rates[-1] * (log_t[-1] - log_t[middle]) / fall)
    q = fall / np.log(log_t[-1] / log_t[middle])
    return float(rates[-1] * log_t[-1] / max(q - 1.0, 1e-3))
