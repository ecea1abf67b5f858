"""The start y₀: whether it reveals hidden opinions, and what a privacy account assumes about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from scipy import sparse

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, Vector
from peerpressure.noise import AR1, Gaussian, Noise
from peerpressure.recovery._innovations import own_share
from peerpressure.schedules import Table
from peerpressure.sde import SDE
from peerpressure.theory._moments import step_count

_ROUNDING = 1e-9  # part of its range by which a start may miss being affine, as one read from a file does


def hears_hidden(model: Model) -> bool:
    """Say whether neighbours hear hidden opinions at the first step: y₀ = x₀, ρ₁ > 0 and somebody listens."""
    return isinstance(model.start, str) and float(model.pressure(1)) > 0 and bool(model.degrees_at(1).any())


def require_independent_start(model: Model | SDE) -> None:
    """Refuse a given start that is the hidden opinions, or an affine function of them.

    Privacy accounts treat a given start as public knowledge that does not depend on x₀. A start computed from x₀
    reveals it before any noise is added, so that no finite ε holds. A constant start is always accepted.
    """
    base = model.model if isinstance(model, SDE) else model
    if isinstance(base.start, str) or np.ptp(base.start_state) == 0 or not _is_affine(base.start_state, base.x0):
        return
    equal = np.array_equal(base.start_state, base.x0)
    rule = "a privacy account needs a start that does not depend on the hidden opinions"
    got = "start equal to hidden" if equal else "a start that is an affine function of hidden"
    remedy = "give a start that is public, such as a constant, or start='hidden' if y₀ = x₀ is not observed"
    raise InvalidInputError(message(rule, got=got, remedy=remedy))


def _is_affine(y: Vector, x: Vector) -> bool:
    """Say whether y = a x + b with a ≠ 0, to rounding."""
    if np.ptp(x) == 0:
        return False
    close = max(_ROUNDING * np.ptp(y), 8 * np.finfo(np.float64).eps * np.abs(y).max())
    if x.size == 2:
        # Any two points lie on a line, so that only y = x + b and y = a x are telling.
        shifted, scaled = np.ptp(y - x), abs(y[0] * x[1] - y[1] * x[0]) / np.abs(x).max()
        return bool(min(shifted, scaled) <= close)
    centred = x - x.mean()
    slope = centred @ (y - y.mean()) / (centred @ centred)
    return bool(np.abs(y - y.mean() - slope * centred).max() <= close)


def refuse_continuous(model: object, what: str) -> None:
    """Refuse a model in continuous time where only whole steps are accounted for."""
    if isinstance(model, SDE):
        rule = f"{what} is worked out for a Model, in whole steps"
        remedy = "use budget or exposure, or the model that the SDE was made from"
        raise InvalidInputError(message(rule, got="an SDE", remedy=remedy))


def masked_start(model: Model, steps: int) -> Model:
    """Return the same agents, who first speak and only then listen: ρ′₁ = 0 and ρ′_t = ρ_{t−1} up to ``steps``.

    At step 1 every agent then shows x₀ + ε₁, so that nobody ever hears a hidden opinion, whatever y₀ is. A network
    that changes keeps its own times.

    >>> from peerpressure.networks import k2
    >>> print(masked_start(Model(k2(), hidden=[0.0, 1.0]), 4).pressure)
    ρ_t = 0, 1, 2, … (4 values)
    """
    times = np.arange(1, step_count(steps))
    return replace(model, pressure=Table(np.concatenate([[0.0], model.pressure(times)])))


def start_assumption(model: Model | SDE, *, sees_start: bool = False) -> str:
    """Return what a privacy account assumes about y₀, in words."""
    base = model.model if isinstance(model, SDE) else model
    if not isinstance(base.start, str):
        return "The start is public and must not depend on the hidden opinions."
    if sees_start:
        return "y₀ = x₀ is observed, which reveals every hidden opinion."
    if isinstance(model, SDE):
        return (
            "y₀ = x₀ is not observed, but the public opinions a short time later are close to it and reveal most of it."
        )
    if not hears_hidden(base):
        return "y₀ = x₀ is not observed, and no agent responds to it at step 1."
    return (
        "y₀ = x₀ is not observed; an observer of y₀ knows every hidden opinion. Neighbours respond to it at step 1, "
        "which reveals part of it; a public start, or no pressure at the first step, avoids that."
    )


# What moves in all that is shown when one agent's hidden opinion moves by one.
#
# The update can be undone: from y_{t−1} and y_t follow the ξ_t = x₀ + ε_t. So an observer of every agent holds, for
# each agent, its opinion under a sequence of noise. Where y₀ = x₀ is not seen but was heard, step 1 gives instead
#
#     F x₀ + ε₁,  F = I + ρ₁S⁻¹A,
#
# so that one agent's opinion also stands in the first words of its neighbours. Where hidden opinions adapt, what an
# agent has adopted follows from what it showed, and the rest of its wish is π_{t−1} x₀ + ε_t: its own opinion fades out
# of all that it says. Whitening the noise turns all of it into independent draws of unit variance with means moved by
# h_1, h_2, …; what can be told about the agent depends on h alone.


@final
@dataclass(frozen=True, eq=False)
class Release:
    """The moves h, agent by agent.

    Agent i's own draws move by ``own[:, i]``/``std[i]``, shape (steps, agents), or (steps, 1) where it is the same for
    all; the draws of neighbour j move by ``heard[i, j]``·``echo``, where ``echo`` is what a move at step 1 alone
    becomes by whitening. All of it happens in each of ``runs`` runs with independent noise.
    """

    own: Vector
    std: Vector
    heard: sparse.csr_array
    echo: Vector
    runs: int = 1

    @property
    def own_squares(self) -> Vector:
        """Σ h² over an agent's own draws: πᵀK⁻¹π with K the covariance of its noise over time; shape (agents,)."""
        return self.runs * over(np.sqrt(np.sum(self.own**2, axis=0)), self.std) ** 2

    @property
    def squares(self) -> Vector:
        """Σ h² over all draws; shape (agents,)."""
        heard = np.asarray(self.heard.power(2).sum(axis=1)).ravel()
        if not heard.any():
            return self.own_squares
        # An agent whom nobody heard is not exposed by an echo, however large that is.
        echoed = np.where(heard > 0, np.sum(self.echo**2), 0.0)
        return np.asarray(self.own_squares + self.runs * heard * echoed)

    def of(self, agent: int) -> Release:
        """Return the moves of one agent alone."""
        return Release(self._own(agent)[:, None], self.std[[agent]], self.heard[[agent]], self.echo, self.runs)

    def moves(self, agent: int) -> tuple[Vector, Vector]:
        """Return the distinct |h| > 0 of one agent and how often each occurs."""
        start, stop = self.heard.indptr[agent : agent + 2]
        heard = np.outer(self.heard.data[start:stop], self.echo).ravel()
        every = np.abs(np.concatenate([over(self._own(agent), self.std[agent]), heard]))
        values, counts = np.unique(every[every > 0], return_counts=True)
        return values, self.runs * counts.astype(np.float64)

    def _own(self, agent: int) -> Vector:
        return self.own[:, agent if self.own.shape[1] > 1 else 0]


def release(model: Model, steps: int, *, first: float = 1.0, sees_start: bool = False, runs: int = 1) -> Release:
    """Return the moves of every agent; ``first`` multiplies those of step 1."""
    if sees_start and isinstance(model.start, str):
        return told_release(np.full(model.n, np.inf))
    noise, n = model.noise, model.n
    std = noise.deviations(n)
    own, echo = whitened(noise, steps, own_share(model, steps - 1)), _echo(noise, steps)
    own[0] *= first
    echo[0] *= first
    heard = sparse.csr_array((n, n))
    if hears_hidden(model):
        said = over(float(model.pressure(1)) / model.s, std * float(noise.scale(1)))
        heard = sparse.csr_array(model.adjacency_at(1) @ sparse.diags_array(said))
    return Release(own, std, heard, echo, runs)


def told_release(squares: Vector) -> Release:
    """Return moves of which only Σ h² is known, agent by agent, as is enough for normal noise."""
    n = squares.size
    return Release(np.sqrt(squares)[None, :], np.ones(n), sparse.csr_array((n, n)), np.ones(1))


def safe_release(model: Model, steps: int, *, sees_start: bool = False, runs: int = 1) -> Release:
    """Return the moves from which promises are made, which are nowhere too small.

    AR(1) noise that is not normal begins with φ u₀ + √(1−φ²) z₁, which mixes two draws. Hiding under either alone is
    harder than under both, so moves at step 1 are counted as under the wider one.
    """
    noise = model.noise
    if not isinstance(noise.temporal, AR1) or isinstance(noise, Gaussian):
        return release(model, steps, sees_start=sees_start, runs=runs)
    phi = noise.temporal.coefficient
    first = 1.0 / max(abs(phi), _fresh(phi))
    return release(model, steps, first=first, sees_start=sees_start, runs=runs)


def whitened(noise: Noise, steps: int, share: Vector | None = None) -> Vector:
    """Return how far the independent draws behind noise of unit deviation move when x₀ moves by one; (steps, agents).

    ``share`` is π_{t−1}, how much of x₀ agents still hold at step t, and 1 unless given; one column serves all. With
    m_t = π_{t−1}/scale_t:  h_1 = m_1,  h_t = (m_t − φ m_{t−1})/√(1−φ²), so that Σ h² = πᵀK⁻¹π. For constant opinions
    this is Σ 1/scale_t² under white noise, 1 + (T − 1)(1 − φ)/(1 + φ) under AR(1) of constant scale, and 1 under a mask
    of constant scale.
    """
    phi = noise.autocorrelation
    m = over(np.ones((steps, 1)) if share is None else share, noise.scale(np.arange(1, steps + 1))[:, None])
    moves = m.copy()
    if np.isfinite(m).all():
        moves[1:] = over(m[1:] - phi * m[:-1], _fresh(phi))
    return moves


def _echo(noise: Noise, steps: int) -> Vector:
    """Return what a unit move at step 1 alone becomes: itself, and its absence from step 2 if noise is carried over."""
    phi = noise.autocorrelation
    return np.array([1.0, over(phi, _fresh(phi))]) if phi and steps > 1 else np.ones(1)


def _fresh(phi: float) -> float:
    return float(np.sqrt((1 - phi) * (1 + phi)))


def over(move: Vector | float, deviation: Vector | float) -> Vector:
    """Return move/deviation; a move with no noise to hide it counts as inf, and no move as 0."""
    m, d = np.broadcast_arrays(np.asarray(move, dtype=np.float64), np.asarray(deviation, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m == 0, 0.0, m / d)
