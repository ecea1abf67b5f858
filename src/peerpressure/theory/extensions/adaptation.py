"""How far hidden opinions adapt in the end, and what noise does to opinions that nothing holds in place.

With constant pressure and rates, Σ d y_{t−1} + Σ s x_t/(ρη) stays the same from step to step but for noise, which
adds Σ s ε/ρ. So the value on which all land moves in a step by a_t ε̄_t with

    1/a_t = 1/η_t + ρ_t/κ,        or 1/a_t = 1/η_t where agents are alone at times and show all their noise,

and hidden opinions close in on it at a rate of the order of b_t = η_t/(1 + 1/ρ_t). What becomes of them depends on the
sums of b, of a (noise held for ever) and of a² (noise drawn anew).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.noises import Frozen
from peerpressure.schedules import estimate_growth

Curve: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Where a rate that no longer changes is read.
LATE = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class AdaptationFacts:
    """What an adaptation comes to as t → ∞.

    ``lasting``: opinions adapt for ever, Σ b_t = ∞; None if that is not known. ``adapts`` marks the agents who
    do at all. ``wanders``: noise moves an opinion that nothing holds without bound.
    """

    lasting: bool | None
    adapts: NDArray[np.bool_]
    wanders: bool | None
    estimated: bool

    @property
    def anchored(self) -> bool:
        """Whether someone never adapts."""
        return not bool(np.all(self.adapts))


def adaptation_facts(model: Model, adaptation: Adaptation, *, isolated: bool = False) -> AdaptationFacts:
    """Return what becomes of hidden opinions that adapt; ``isolated`` agents are without neighbours now and then."""
    who = adaptation.adaptation_weights(model.n) > 0
    growths = [model.pressure.growth, adaptation.rate.growth]
    growths += [] if model.noise.is_zero else [model.noise.time_scale.growth]
    if any(growth.bounded is None for growth in growths):
        return AdaptationFacts(None, who, None, estimated=False)
    if model.pressure.growth.bounded and not float(model.pressure(LATE)) > 0:
        # Without pressure nobody hears anybody.
        return AdaptationFacts(False, who, False, estimated=False)
    lasting, sure = _lasts(model, adaptation)
    wanders, certain = _wanders(model, adaptation, isolated=isolated)
    return AdaptationFacts(lasting, who, wanders, estimated=not (sure and certain))


def _lasts(model: Model, adaptation: Adaptation) -> tuple[bool | None, bool]:
    """Say whether Σ b_t diverges, and whether that is known from powers of t."""
    pressure, q = model.pressure.growth, adaptation.rate.growth.exponent
    # Pressure that grows no longer slows anything down.
    p = pressure.exponent if pressure.bounded else 0.0
    if p is not None and q is not None:
        return q + min(p, 0.0) >= -1, not (pressure.estimated or adaptation.rate.growth.estimated)
    curve = _quiet(lambda t: (1 + 1 / model.pressure.pressure(t)) / adaptation.rate.pressure(t))
    return estimate_growth(curve).reciprocal_sum_diverges, False


def _wanders(model: Model, adaptation: Adaptation, *, isolated: bool) -> tuple[bool | None, bool]:
    """Say whether noise moves the consensus limit without bound, and whether that is known from powers of t."""
    if model.noise.is_zero:
        return False, True
    held = isinstance(model.noise.temporal, Frozen)
    pressure, rate, noise = model.pressure.growth, adaptation.rate.growth, model.noise.time_scale.growth
    if noise.bounded and not (isolated or pressure.reciprocal_sum_diverges or pressure.estimated):
        return False, True
    p, q, gamma = 0.0 if isolated else pressure.exponent, rate.exponent, noise.exponent
    if p is not None and q is not None and gamma is not None:
        order = min(-max(p, 0.0), q) + gamma
        known = not (pressure.estimated or rate.estimated or noise.estimated)
        return (order >= -1 if held else 2 * order >= -1), known
    share = 0.0 if isolated else 1 / model.kappa

    def against(t: NDArray[np.float64]) -> NDArray[np.float64]:
        step = 1 / adaptation.rate.pressure(t) + share * model.pressure.pressure(t)
        return np.asarray(step / model.noise.time_scale.pressure(t))

    found = estimate_growth(_quiet(against))
    return (found.reciprocal_sum_diverges if held else found.square_sum_diverges), False


def remembers(model: Model) -> NDArray[np.bool_]:
    """Say whose hidden opinion keeps a part of itself in every late step: η < 1, shape (agents,)."""
    if model.adaptation is None:
        return np.ones(model.n, dtype=np.bool_)
    with np.errstate(all="ignore"):
        rate = float(model.adaptation.rate.pressure(np.array([float(LATE)]))[0])
    return np.asarray(model.adaptation.adaptation_weights(model.n) * rate < 1)


def _quiet(curve: Curve) -> Curve:
    def evaluated(t: NDArray[np.float64]) -> NDArray[np.float64]:
        with np.errstate(all="ignore"):
            return np.asarray(curve(t))

    return evaluated
