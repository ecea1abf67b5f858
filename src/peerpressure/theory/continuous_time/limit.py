"""Where agents end under a pressure so fast that ∫ dt/ρ converges and the start is never forgotten.

All agents come to the common mode m = Σ d y/Σ d. Once they agree, m′ = a (v − m) + a σ̄ w′ with a = κ/(κ + ρ). Up to a
horizon the mode's law is solved exactly from the whole equation; after it, from this one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Vector
from peerpressure.sde import SDE
from peerpressure.sde.moments import moments_of

FIRST_HORIZON = 32.0
MOST_WORK = 1e8  # units of time times (edges + agents), some ten seconds
PER_STEP = 5_000  # edges that a step costs in any case
FARTHEST = 700.0  # log t of the farthest time that a double can hold with room to spare
NODES = 4_001


@final
@dataclass(frozen=True)
class AgreedValue:
    """The law of the value on which all agents end: its mean and standard deviation.

    It was solved exactly up to ``horizon``; ``residual`` says how much the answer changed when that was doubled last.
    """

    mean: float
    std: float
    horizon: float
    residual: float

    def __str__(self) -> str:
        return f"{self.mean:.4g} ± {self.std:.2g}" if self.std else f"{self.mean:.4g}"


def agreed_value(sde: SDE, *, tolerance: float = 1e-6) -> AgreedValue:
    """Return where a process ends whose ∫ dt/ρ converges.

    The horizon doubles until the answer changes by less than ``tolerance`` times the range of opinions, or until ten
    seconds' work is spent, which ``residual`` shows.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> model = Model(k2(), hidden=[0, 1], stubbornness=[1, 3], pressure=Power(2))
    >>> print(agreed_value(SDE(model)))  # while v = 0.75
    0.6892
    """
    _refuse_other_fates(sde)
    model = sde.model
    most = MOST_WORK / (PER_STEP + model.network.adjacency.nnz + 10 * model.n)
    opinions = np.concatenate([sde.x0, sde.start_state])
    scale = float(np.ptp(opinions)) + float(sde.deviations.max())
    horizon, before = FIRST_HORIZON, _law(sde, FIRST_HORIZON)
    while True:
        horizon *= 2
        law = _law(sde, horizon)
        residual = float(np.abs(law - before).sum())
        if residual <= tolerance * scale or 2 * horizon > most:
            return AgreedValue(float(law[0]), float(law[1]), horizon, residual)
        before = law


def _law(sde: SDE, horizon: float) -> Vector:
    """Return mean and standard deviation of the value agreed on, from the mode at the horizon."""
    degrees = sde.network.degrees
    mode = moments_of(sde, degrees / degrees.sum(), horizon)
    change, squares = _after(sde, horizon)
    v, keep = sde.consensus_value, float(np.exp(-change))
    mean = v + keep * (mode.mean[0, 0] - v)
    return np.array([mean, np.sqrt(keep**2 * mode.variance[0, 0] + squares * mode_noise(sde) ** 2)])


def mode_noise(sde: SDE) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s with σ the deviations before the gain: how noise drives the common mode."""
    weights = sde.s / sde.s.max()
    return float(np.linalg.norm(weights * sde.deviations) / weights.sum())


def _after(sde: SDE, horizon: float) -> tuple[float, float]:
    """Return ∫ a dt and the sum of squares ∫ (a exp(−∫ a))² dt of the noise, over all time after the horizon."""
    from scipy.integrate import cumulative_simpson

    kappa = sde.model.kappa
    log_t = np.linspace(np.log(horizon), FARTHEST, NODES)
    # Fine where the integrand is: pressure that outgrows every power leaves nothing after a few units of log t.
    log_t = log_t[0] + (log_t - log_t[0]) ** 3 / (log_t[-1] - log_t[0]) ** 2
    t = np.exp(log_t)
    relief, weight = sde.homogeneous(t)
    rates = kappa * relief / (kappa * relief + weight) * t
    gathered = np.asarray(cumulative_simpson(rates, x=log_t, initial=0.0))
    kept = rates * np.exp(gathered - gathered[-1]) * sde.noise_scale(t)
    squares = float(cumulative_simpson(kept**2 / t, x=log_t, initial=0.0)[-1]) if not sde.noise.is_zero else 0.0
    return float(gathered[-1]), squares


def _refuse_other_fates(sde: SDE) -> None:
    growth = sde.pressure.growth
    if growth.reciprocal_sum_diverges is not False:
        rule = "only a process whose ∫ dt/ρ converges ends on a value of its own"
        remedy = "see continuous_fate, or moments_at for a finite time"
        got = f"{sde.pressure} ({growth.basis})"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    if not sde.noise.is_zero and not sde.noise.time_scale.growth.bounded:
        rule = "a limit is worked out for noise whose scale over time stays bounded"
        remedy = "use moments_of at a finite time"
        raise InvalidInputError(complain(rule, got=str(sde.noise), remedy=remedy))
