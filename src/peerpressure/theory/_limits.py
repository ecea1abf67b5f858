"""The consensus mode by itself: one number that obeys a recursion of its own.

Summing (S + ρ_t D) y_t = S ξ_t + ρ_t A y_{t−1} over all agents, with m_t = Σ d y_t/Σ d and ξ̄_t = Σ s ξ_t/Σ s, gives

    m_t = m_{t−1} + (κ/ρ_t)(ξ̄_t − Σ s y_t/Σ s),

and near agreement Σ s y_t/Σ s = m_t + O(1/ρ_t), so that m_t ≈ (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ): a running average with
step κ/(ρ_t + κ). The functions here are the numbers that this recursion needs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import AR1, NoNoise
from peerpressure.sde import SDE
from peerpressure.sde._moments import moments_of
from peerpressure.theory._fixed_point import balanced_solver
from peerpressure.theory._moments import adjoint_moments, consensus_mode, step_count
from peerpressure.theory._regime import reduced


def mode_noise(model: Model) -> float:
    """Return σ̄ = √(Σ s²σ²)/Σ s, the standard deviation of ξ̄_t where the scale over time is 1.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> mode_noise(Model(k2(), hidden=[0, 1], noise=Gaussian(2.0)))
    1.4142135623730951
    """
    weights = model.s / model.s.max()
    return float(np.linalg.norm(weights * model.noise.deviations(model.n)) / weights.sum())


def long_run_factor(model: Model) -> float:
    """Return how much more an average of AR(1) noise varies than one of white noise: (1 + φ)/(1 − φ)."""
    temporal = model.noise.temporal
    if not isinstance(temporal, AR1):
        return 1.0
    return (1 + temporal.coefficient) / (1 - temporal.coefficient)


def start_weight(model: Model | SDE, steps: int) -> float:
    """Return Π_{t≤T} ρ_t/(ρ_t + κ), the weight of the start in the consensus mode after ``steps`` steps.

    It is exact where stubbornness is proportional to degree, and has the right order elsewhere. Where the network
    changes or hidden opinions adapt, and in continuous time, the weight of y₀ is worked out exactly by the adjoint.

    >>> from peerpressure.networks import k2
    >>> round(start_weight(Model(k2(), hidden=[0, 1]), 9), 12)  # κ = 1 and ρ_t = t
    0.1
    """
    weights = consensus_mode(model).weights[None]
    if isinstance(model, SDE):
        process = replace(model, model=_start_alone(model.model))
        return float(moments_of(process, weights, model.time(step_count(steps))).mean[0, 0])
    model = reduced(model)
    if not model.is_plain:
        return float(adjoint_moments(_start_alone(model), weights, np.array([step_count(steps)])).mean[0, 0])
    times = np.arange(1, step_count(steps) + 1)
    inverse = model.pressure.reciprocal(times)
    return float(np.exp(-np.sum(np.log1p(model.kappa * inverse))))


def _start_alone(model: Model) -> Model:
    """Return a model in which a start of 1 shows its own weight, as all else is 0."""
    return replace(model, hidden=np.zeros(model.n), start=np.ones(model.n), noise=NoNoise())


def is_proportional(model: Model) -> bool:
    """Say whether stubbornness is proportional to degree, where the recursion above is exact."""
    ratio = model.s / model.network.degrees
    return bool(np.ptp(ratio) <= 1e-12 * ratio.max())


def lag(model: Model) -> float:
    """Return K such that the mode of the fixed point at pressure ρ is v + K/ρ + O(1/ρ²).

    The fixed point is v + z/ρ with L z = S(x₀ − v) and Σ s z = 0, so K = Σ d z/Σ d.
    """
    if is_proportional(model):
        return 0.0
    d, s = model.network.degrees, model.s / model.s.max()
    z = balanced_solver(model.network.laplacian, s)(model.s * (model.x0 - model.consensus_value))
    return float(d @ z / d.sum())


# What all steps after a horizon still do to the consensus mode, when peer pressure grows fast.
#
# Near agreement the degree-weighted mean m obeys m_t = (ρ_t m_{t−1} + κ ξ̄_t)/(ρ_t + κ), with ξ̄ the mean of the
# preferred opinions weighted by stubbornness; what is left out is of the order Σ 1/ρ_t² over the steps after the
# horizon.

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


# Where a network ends when peer pressure grows too fast: agreed on a biased value, or swapping two for ever.

FIRST_HORIZON = 64
# Multiplications that a limit is worth: some ten seconds.
MOST_WORK = 3e9


@final
@dataclass(frozen=True, eq=False, repr=False)
class PredictedLimit:
    """The value, or on a bipartite network the two values, that agents show in the end.

    ``mean`` has shape (1,) or (2,) and ``covariance`` its square. Two values swap places at each step: agents of
    side 0 show the first at even times and the second at odd ones, agents of side 1 the other way round; ``side``
    has shape (agents,). The run was computed to t = ``horizon`` and carried on to the limit by the consensus mode
    alone; ``residual`` estimates the error that this leaves in means and standard deviations.
    """

    mean: Vector
    covariance: Vector
    side: NDArray[np.int8]
    consensus_value: float
    horizon: int
    residual: float

    @property
    def std(self) -> Vector:
        """The standard deviations, in the shape of the mean."""
        return np.sqrt(np.diag(self.covariance))

    @property
    def oscillates(self) -> bool:
        """Whether two values swap for ever."""
        return self.mean.size == 2

    def shown(self, t: int) -> tuple[Vector, Vector]:
        """Return mean and standard deviation of each agent at a late time t; shapes (agents,)."""
        which = (self.side + t % 2) % 2 if self.oscillates else self.side
        return self.mean[which], self.std[which]

    def __repr__(self) -> str:
        values = [f"{mean:.6g} ± {std:.3g}" for mean, std in zip(self.mean, self.std, strict=True)]
        what = f"sides {values[0]} and {values[1]} at even times" if self.oscillates else f"value {values[0]}"
        aside = f"consensus value {self.consensus_value:.6g}, from t = {self.horizon:,}"
        return f"PredictedLimit({what}; {aside}, error about {self.residual:.1g})"


def predicted_limit(model: Model, *, tolerance: float = 1e-6) -> PredictedLimit:
    """Return where a run ends whose Σ 1/ρ_t converges, so that early opinions and noise are never forgotten.

    On a connected network with an odd cycle all agents end on m_∞ = lim Σ d y_t/Σ d; on a bipartite network the
    two sides end on m_∞ + δ_∞ and m_∞ − δ_∞ and swap at each step, with δ the same sum of opposite signs. The horizon
    doubles until the answer changes by less than ``tolerance`` times the range of opinions, or until ten seconds'
    work is spent, which ``residual`` shows.

    >>> from peerpressure.networks import complete
    >>> from peerpressure.schedules import Power
    >>> predicted_limit(Model(complete(3), hidden=[0, 1, 5], stubbornness=[1, 2, 4], pressure=Power(2)))
    PredictedLimit(value 2.75218 ± 0; consensus value 3.14286, from t = 128, error about 1e-06)
    """
    model = reduced(model)
    _refuse_other_fates(model)
    most = max(2 * FIRST_HORIZON, MOST_WORK / (model.network.adjacency.nnz + 10 * model.n))
    opinions = np.concatenate([model.x0, model.start_state])
    scale = float(np.ptp(opinions)) + float(model.noise.deviations(model.n).max())
    horizon, before = FIRST_HORIZON, _modes(model, FIRST_HORIZON)
    while True:
        horizon *= 2
        modes = _modes(model, horizon)
        residual = _change(before, modes)
        if residual <= tolerance * scale or 2 * horizon > most:
            return _limit(model, modes, horizon, residual)
        before = modes


@final
@dataclass(frozen=True, eq=False)
class _Modes:
    """Mean (modes,) and covariance (modes, modes) of m_∞ and, on a bipartite network, δ_∞ at even times."""

    mean: Vector
    covariance: Vector
    tail: Tail


def _modes(model: Model, horizon: int) -> _Modes:
    """Run the adjoint from the limit's modes: through the tail by its sums, then step by step from the horizon."""
    tail, phi = tail_after(model, horizon), model.noise.autocorrelation
    weights = _mode_weights(model, horizon)
    p = model.s / model.s.sum()
    carry = np.zeros_like(weights)
    if phi == 1:
        carry[0] = tail.held * p * model.noise.deviations(model.n)
    sums = adjoint_moments(model, tail.keep * weights, np.array([horizon]), carry)
    mean, covariance = sums.mean[0], sums.covariance.copy()
    mean[0] += tail.give * model.consensus_value
    if phi < 1:
        # Noise that flips at each step, as δ sees it, has the opposite sign of φ.
        factors = np.array([(1 + phi) / (1 - phi), (1 - phi) / (1 + phi)])[: mean.size]
        variance = np.sum((p * model.noise.deviations(model.n)) ** 2)
        covariance += np.diag(tail.squares * variance * factors)
    return _Modes(mean, covariance, tail)


def _mode_weights(model: Model, horizon: int) -> Vector:
    """Return the weights d/Σd of m and, on a bipartite network, ±d/Σd of δ, positive on side 0 at even times."""
    share = model.network.degrees / model.network.degrees.sum()
    if model.network.sides is None:
        return np.stack([share])
    sign = np.where(model.network.sides, -1.0, 1.0) * (-1.0) ** horizon
    return np.stack([share, sign * share])


def _change(before: _Modes, after: _Modes) -> float:
    """Estimate the error of the later answer from its distance to the earlier one.

    Where the tail shrinks slowly as the horizon doubles, more change is still to come than came last.
    """
    spread = np.abs(np.sqrt(np.diag(after.covariance)) - np.sqrt(np.diag(before.covariance)))
    moved = float(np.max(np.abs(after.mean - before.mean) + spread))
    shrunk = before.tail.change - after.tail.change
    return moved * max(1.0, after.tail.change / shrunk if shrunk > 0 else 1.0)


def _limit(model: Model, modes: _Modes, horizon: int, residual: float) -> PredictedLimit:
    """Turn m and δ into the values m + δ and m − δ of the two sides."""
    sides = model.network.sides
    turn = np.ones((1, 1)) if sides is None else np.array([[1.0, 1.0], [1.0, -1.0]])
    side = np.zeros(model.n, dtype=np.int8) if sides is None else sides.astype(np.int8)
    mean, covariance = turn @ modes.mean, turn @ modes.covariance @ turn.T
    return PredictedLimit(mean, covariance, side, model.consensus_value, horizon, residual)


def _refuse_other_fates(model: Model) -> None:
    if not model.is_plain:
        rule = "two-sided limits are predicted for a constant network and constant hidden opinions"
        got = "a network that changes" if model.adaptation is None else f"opinions that adapt by {model.adaptation}"
        remedy = "use consensus_limit(model) for the value on which all land, or moments(model, steps) for a finite run"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    growth = model.pressure.growth
    rule = "only a run whose Σ 1/ρ_t converges ends on a value of its own"
    got = f"{model.pressure} ({growth.basis})"
    if growth.reciprocal_sum_diverges is None:
        remedy = "give the pressure in closed form, such as Power(1.5), or use moments(model, steps) for a finite run"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if growth.bounded:
        remedy = "this one keeps a stationary disagreement around fixed_point(model, t); see moments(model, steps)"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if growth.reciprocal_sum_diverges:
        remedy = f"this one is drawn to the consensus value {model.consensus_value:.6g}; see moments(model, steps)"
        raise InvalidInputError(message(rule, got=got, remedy=remedy))
    if not model.noise.is_zero and not model.noise.time_scale.growth.bounded:
        rule = "a limit is predicted for noise whose scale over time stays bounded"
        remedy = "use moments(model, steps, of=consensus_mode(model)) for a finite run"
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=remedy))
