"""Conserved quantities: how the state at some time determines the limit of the common value.

A weighted sum of public and hidden opinions is carried through all later times: exactly where pressure and adaptation
rate stay, and by quadrature of the scalar recursion of the common value where Σ 1/ρ_t converges.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.integrate import cumulative_simpson, simpson

from peerpressure.model import Model, Vector
from peerpressure.sde import SDE
from peerpressure.statespace import model_of
from peerpressure.theory._classification import LongRun
from peerpressure.theory._recurrence import AbsoluteProbability
from peerpressure.theory._regime import LATE, NoiseEffect, Regime
from peerpressure.theory._structure import Component, NoiselessLimit

# log t of the farthest time: e^700 ≈ 1e304 still leaves room for a factor below the largest double, 1.8e308.
FARTHEST = 700.0
# An odd number of nodes, as Simpson's rule prefers; over 700 units of log t the spacing is 0.035, fine for power laws.
NODES = 20_001
# Rates below this share of the largest do not change a sum in double precision.
NEGLIGIBLE = 1e-18


def late_scale(long_run: LongRun) -> float:
    """Return the scale of the noise at late times."""
    return float(long_run.model.noise.scale(LATE))


@final
@dataclass(frozen=True, eq=False)
class Conserved:
    """Conserved quantities: weighted sums of public and hidden opinions after some step, and of later noise.

    ``weights`` has shape (sums, 2·agents). Noise that is drawn once goes on with the weights ``carry``, shape (sums,
    agents), in units of a draw; noise drawn anew adds ``variance``, shape (sums,). ``change`` is that of ``Tail`` where
    later times are summed up by one, and ∞ elsewhere.
    """

    weights: Vector
    carry: Vector | None
    variance: Vector
    change: float = math.inf


def conserved_at(long_run: LongRun, component: Component, t: float) -> Conserved:
    """Return the consensus limit as a sum over the state after step t.

    Where all adapt for ever it is the sum that would be conserved if pressure and rate stayed at their values of step
    t, m + Σ w x/(ρη). Where opinions come to rest it is their mean if the start is forgotten; and if it is not, the
    common value of step t and what opinions at rest still add to it.
    """
    structure, n, omega = long_run.structure, long_run.model.n, component.omega
    assert structure.networks is not None
    nothing = np.zeros(1)
    if omega is None:
        # Agents that agree all have the limit, so their mean does. The public opinion of an isolated agent contains the
        # noise of the last step, its hidden opinion does not.
        chosen = np.zeros(2 * n)
        chosen[component.agents + (n if component.agents.size == 1 else 0)] = 1 / component.agents.size
        return Conserved(chosen[None], None, nothing)
    public = omega.probability[structure.networks.index(int(t))]
    adapting = structure.adapting
    if adapting is not None and not component.anchored:
        return _adapting_sum(long_run, omega, public, int(t))
    at_rest = omega.influence if adapting is None else np.where(adapting, 0.0, omega.influence)
    if long_run.regime is Regime.FAST:
        return _remembered_sum(long_run, omega, public, at_rest, t)
    # A neighbour observes x + u of an opinion at rest, frozen noise included.
    hidden = at_rest / at_rest.sum()
    frozen = hidden * long_run.deviations * late_scale(long_run)
    carry = frozen[None] if long_run.noise is NoiseEffect.STAYS else None
    return Conserved(np.concatenate([np.zeros(n), hidden])[None], carry, nothing)


def _adapting_sum(long_run: LongRun, omega: AbsoluteProbability, public: Vector, t: int) -> Conserved:
    """Return the sum conserved at the pressure and the rate of step t, and the noise of later steps in it.

    A later step moves it by b Σ w ε with b = 1/(ρ + Σ w/η). Sums over steps are integrals by the midpoint rule, over
    log t; one that diverges comes out large, where the standard deviation is ∞ in any case.
    """
    model, adaptation = long_run.model, long_run.model.adaptation
    assert adaptation is not None
    factors = adaptation.adaptation_weights(model.n)
    # Weights are multiplied by ρη, in homogeneous coordinates of ρ, so that neither a large nor a small product
    # overflows.
    relief, weight = (float(part) for part in model.pressure.homogeneous(t))
    # Agents outside of the class have influence 0, and may have adaptation weight 0 as well.
    slowness = np.divide(omega.influence, factors, out=np.zeros(model.n), where=omega.influence > 0)
    both = np.concatenate([weight * float(adaptation.pace(t)) * public, relief * slowness])
    weights = (both / both.sum())[None]
    if model.noise.is_zero:
        return Conserved(weights, None, np.zeros(1))
    # Starting at t + ½ makes the integral a midpoint rule for the sum over steps t + 1, t + 2, …
    log_t = np.linspace(np.log(t + 0.5), FARTHEST, NODES)
    times = np.exp(log_t)
    with np.errstate(over="ignore", divide="ignore"):
        own = float(slowness.sum()) / adaptation.rate.pressure(times)
        size = model.noise.time_scale.pressure(times) / (model.pressure.pressure(times) + own)
        once, twice = (float(simpson(size**power * times, x=log_t)) for power in (1, 2))
    if long_run.phi == 1:
        return Conserved(weights, once * (omega.influence * long_run.deviations)[None], np.zeros(1))
    sigma = omega.noise(long_run.deviations, long_run.phi) * omega.kappa
    return Conserved(weights, None, np.array([twice * sigma**2]))


def _remembered_sum(
    long_run: LongRun, omega: AbsoluteProbability, public: Vector, at_rest: Vector, t: float
) -> Conserved:
    """Carry the common value through all later steps, in which opinions at rest attract it at the rate κ/ρ.

    On a bipartite network the difference δ of the two sides is carried too: the same sum of opposite signs, positive on
    side 0 at even times.
    """
    kappa, phi = float(at_rest.sum()), long_run.phi
    tail = tail_after(long_run.system, t, kappa)
    rows = [np.concatenate([tail.keep * public, tail.give * at_rest / kappa])]
    sigma = omega.noise(long_run.deviations, phi) * omega.kappa / kappa
    variances = [0.0 if phi == 1 else tail.squares * sigma**2]
    sides = long_run.model.network.sides if long_run.structure.limit is NoiselessLimit.PERIODIC else None
    if sides is not None:
        # The two sides exchange their values in every step, so that the conserved difference alternates in sign.
        sign = np.where(sides, -1.0, 1.0) * (-1.0) ** int(t)
        rows.append(np.concatenate([tail.keep * sign * public, np.zeros_like(public)]))
        # Noise that alternates in sign, as δ sees it, has the opposite coefficient.
        variances.append(variances[0] if phi == 1 else variances[0] * ((1 - phi) / (1 + phi)) ** 2)
    carry = np.zeros((len(rows), public.size))
    if phi == 1:
        carry[0] = tail.constant * omega.influence / kappa * long_run.deviations
    return Conserved(np.stack(rows), carry, np.array(variances), tail.change)


@final
@dataclass(frozen=True)
class Tail:
    """The effect on the common value m of all times after a horizon T: m_∞ = keep·m_T + (1 − keep)·v + noise.

    Near agreement m_t = (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ); what is left out is of order Σ 1/ρ_t² over the later steps.
    ``change`` is Σ log(1 + κ/ρ_t), or ∫ κ/(κ + ρ) dt in continuous time, so that keep = exp(−change). Noise that is
    drawn once enters with the factor ``constant``, and white noise with the sum of squares ``squares``, both in units
    of the deviation of ξ̄.
    """

    change: float
    constant: float
    squares: float

    @property
    def keep(self) -> float:
        """The share of m_T in the limit."""
        return float(np.exp(-self.change))

    @property
    def give(self) -> float:
        """The share 1 − keep that is still to come."""
        # 1 − keep would cancel for a small change, which is the usual case at a late horizon.
        return float(-np.expm1(-self.change))


def tail_after(system: Model | SDE, horizon: float, kappa: float | None = None) -> Tail:
    """Return the tail after t = ``horizon``; sums over steps are integrals by the midpoint rule, over log t.

    ``kappa`` is the model's own unless given.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> tail = tail_after(Model(k2(), hidden=[0.0, 1.0], pressure=Power(2)), 100)
    >>> round(tail.change, 5)  # near Σ 1/t² = 1/100.5
    0.00995
    """
    model = model_of(system)
    continuous = system is not model
    log_t = _grid(model, np.log(horizon if continuous else horizon + 0.5))
    times = np.exp(log_t)
    a = (model.kappa if kappa is None else kappa) * model.pressure.reciprocal(times)
    # dt = t d(log t); logarithmic nodes resolve both the first steps and the far tail.
    rates = (a / (1 + a) if continuous else np.log1p(a)) * times
    after = _beyond(model, log_t, rates) + _backwards(rates, log_t)
    # An effect at t is kept to the extent that later steps do not forget it.
    kept = rates * np.exp(-after) * model.noise.scale(times)
    # The last term is what lies beyond the grid, with the noise scale at its end.
    constant = _backwards(kept, log_t)[0] - np.expm1(-after[-1]) * model.noise.scale(times[-1])
    return Tail(float(after[0]), float(constant), float(_backwards(kept**2 / times, log_t)[0]))


def _grid(model: Model, start: float) -> Vector:
    """Return log t from the start to where the steps no longer count."""
    coarse = np.linspace(start, FARTHEST, 4_001)
    with np.errstate(over="ignore"):
        rates = model.pressure.reciprocal(np.exp(coarse)) * np.exp(coarse)
    counts = np.flatnonzero(rates > NEGLIGIBLE * rates.max())
    # The fine grid ends where contributions vanish; nodes spread over 700 units of log t would be wasted on fast
    # schedules.
    last = min(int(counts[-1]) + 1, coarse.size - 1) if counts.size else 1
    return np.linspace(start, coarse[last], NODES)


def _backwards(values: Vector, x: Vector) -> Vector:
    """Return ∫ from each x to the last."""
    total = np.asarray(cumulative_simpson(values, x=x, initial=0.0))
    return np.asarray(total[-1] - total)


def _beyond(model: Model, log_t: Vector, rates: Vector) -> float:
    """Return the integral beyond the grid, which matters for pressure that grows hardly faster than t.

    There ρ ~ t^p makes the rates fall exponentially in log t; slower growth, as t·(log t)^q, like a power of log t.
    """
    # The grid then ends where rates are negligible, and nothing is left.
    if log_t[-1] < FARTHEST or rates[-1] == 0:
        return 0.0
    middle = log_t.size // 2
    fall = np.log(rates[middle] / rates[-1])
    if model.pressure.growth.exponent not in (None, 1.0):
        return float(rates[-1] * (log_t[-1] - log_t[middle]) / fall)
    q = fall / np.log(log_t[-1] / log_t[middle])
    # ∫ x^(−q) dx beyond the grid; q − 1 is bounded from below because q is estimated and may come out as 1 or less.
    return float(rates[-1] * log_t[-1] / max(q - 1.0, 1e-3))
