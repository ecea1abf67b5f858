"""How fast peer pressure grows, in the few classes that the fate of a network depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.schedules import Constant, Growth, Schedule, estimate_growth

Curve: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


class Regime(Enum):
    """The growth of ρ_t, from none to too fast."""

    BOUNDED = "bounded"
    SLOW = "growing more slowly than t"
    LINEAR = "growing like t"
    MARGINAL = "growing about like t, with Σ 1/ρ_t divergent"
    FAST = "growing so fast that Σ 1/ρ_t converges"
    UNKNOWN = "of unknown growth"

    @property
    def reaches_value(self) -> bool:
        """Whether ρ_t → ∞ and Σ 1/ρ_t = ∞, so that the start is forgotten and the spread closes."""
        return self in (Regime.SLOW, Regime.LINEAR, Regime.MARGINAL)


def regime_of(pressure: Schedule, growth: Growth | None = None) -> Regime:
    """Return the class that a schedule belongs to.

    >>> from peerpressure.schedules import Linear, Power
    >>> regime_of(Linear(2)), regime_of(Power(1.5))
    (<Regime.LINEAR: 'growing like t'>, <Regime.FAST: 'growing so fast that Σ 1/ρ_t converges'>)
    """
    growth = growth or pressure.growth
    if growth.reciprocal_sum_diverges is False:
        return Regime.FAST
    if growth.bounded:
        return Regime.BOUNDED
    if growth.bounded is None or growth.reciprocal_sum_diverges is None:
        return Regime.UNKNOWN
    return _pace(pressure, growth)


def _pace(pressure: Schedule, growth: Growth) -> Regime:
    """Compare an unbounded ρ_t whose reciprocals diverge with t."""
    if growth.exponent is not None:
        return Regime.LINEAR if growth.exponent == 1 else Regime.SLOW
    # Σ 1/ρ² = ∞ keeps a regular ρ_t below about √t.
    if growth.square_sum_diverges or tends_to_infinity(lambda t: t / pressure.pressure(t)):
        return Regime.SLOW
    return Regime.MARGINAL


def tends_to_infinity(curve: Curve) -> bool | None:
    """Say whether a positive function of t outgrows every bound, judged by its values; None if unclear."""

    def quiet(t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return curve(t)

    bounded = estimate_growth(quiet).bounded
    return None if bounded is None else not bounded


# The plainest model that a model is equal to.


def reduced(model: Model) -> Model:
    """Return the same model without a temporal network that never changes and an adaptation that moves nobody.

    >>> from peerpressure.networks import k2
    >>> reduced(Model(k2(), hidden=[0, 1], adaptation=0.0)).is_plain
    True
    """
    if model.temporal_network is not None and model.temporal_network.is_constant:
        model = replace(model, temporal_network=None)
    if model.adaptation is not None and _is_still(model.adaptation):
        model = replace(model, adaptation=None)
    return model


def _is_still(adaptation: Adaptation) -> bool:
    nothing = isinstance(adaptation.rate, Constant) and adaptation.rate.value == 0
    return nothing or not np.any(adaptation.adaptation_weight)
