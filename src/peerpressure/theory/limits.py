"""Where a network ends when peer pressure grows too fast: agreed on a biased value, or swapping two for ever."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.theory.adjoint import persistence, run_backwards
from peerpressure.theory.reduced import reduced
from peerpressure.theory.tail import Tail, tail_after

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
    tail, phi = tail_after(model, horizon), persistence(model.noise)
    weights = _mode_weights(model, horizon)
    p = model.s / model.s.sum()
    carry = np.zeros_like(weights)
    if phi == 1:
        carry[0] = tail.held * p * model.noise.deviations(model.n)
    sums = run_backwards(model, tail.keep * weights, np.array([horizon]), carry)
    mean, covariance = sums.mean[0], sums.covariance.copy()
    mean[0] += tail.give * model.consensus_value
    if phi < 1:
        # Noise that flips at each step, as δ sees it, has the opposite persistence.
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
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    growth = model.pressure.growth
    rule = "only a run whose Σ 1/ρ_t converges ends on a value of its own"
    got = f"{model.pressure} ({growth.basis})"
    if growth.reciprocal_sum_diverges is None:
        remedy = "give the pressure in closed form, such as Power(1.5), or use moments(model, steps) for a finite run"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    if growth.bounded:
        remedy = "this one keeps a stationary disagreement around fixed_point(model, t); see moments(model, steps)"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    if growth.reciprocal_sum_diverges:
        remedy = f"this one is drawn to the consensus value {model.consensus_value:.6g}; see moments(model, steps)"
        raise InvalidInputError(complain(rule, got=got, remedy=remedy))
    if not model.noise.is_zero and not model.noise.time_scale.growth.bounded:
        rule = "a limit is predicted for noise whose scale over time stays bounded"
        remedy = "use moments(model, steps, of=consensus_mode(model)) for a finite run"
        raise InvalidInputError(complain(rule, got=str(model.noise), remedy=remedy))
