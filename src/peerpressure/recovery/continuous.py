"""The observer of continuous time, who sees outputs at the ends of steps of length h.

Between them the law of the equation is Gaussian and linear in x₀,

    y_k = F_k y_{k−1} + M_k x₀ + R_k e_k,   e_k ~ N(0, I),   M′ = −B M + diag(g) from 0 on in each step,

so that all that is said of the discrete model holds with these matrices in the place of its own. A sde whose
paths are drawn by Euler's method is read through the steps of that method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from peerpressure.errors import InvalidInputError, TooLargeError, complain
from peerpressure.model import Model, Vector
from peerpressure.sde import SDE, Transition, exact_transitions
from peerpressure.sde.flow import NEGLIGIBLE, integrate
from peerpressure.trajectory import Trajectory

# Steps hold dense matrices of this size and multiply them at every step.
LARGEST = 1_000
# By how much of a step a time may miss the grid.
_ROUNDING = 1e-6


@final
@dataclass(frozen=True, eq=False)
class TimeStep:
    """One step of the equation: ``matrix`` F, ``effect`` M and ``root`` R, (agents, agents) each."""

    matrix: Vector
    effect: Vector
    root: Vector

    @cached_property
    def deviation(self) -> Vector:
        """How much fresh noise there is in what each agent shows, (agents,)."""
        return np.asarray(np.linalg.norm(self.root, axis=1))

    def forward(self, columns: Vector) -> Vector:
        """Return F Z for columns Z of shape (agents, m)."""
        return np.asarray(self.matrix @ columns)

    def backward(self, columns: Vector) -> Vector:
        """Return Fᵀ Z for columns Z of shape (agents, m)."""
        return np.asarray(self.matrix.T @ columns)

    def drive(self, states: int) -> Vector:
        """Return M; the state is what agents show, and nothing else."""
        return self.effect

    def fresh_noise(self, states: int) -> Vector:
        """Return R."""
        return self.root

    def grown(self, size: Vector) -> Vector:
        """Return a bound on the deviation of what agents show after the step."""
        return np.asarray(self.deviation + np.abs(self.matrix) @ size)


def time_steps(sde: SDE, last: int) -> Iterator[TimeStep]:
    """Yield the steps that end at h, 2h, …, last·h."""
    if sde.n > LARGEST:
        rule = f"in continuous time outputs can be judged for at most {LARGEST:,} agents"
        raise TooLargeError(complain(rule, got=f"{sde.n:,}", remedy="look at a part of the network"))
    return _exact_steps(sde, last) if sde.path_method == "exact" else _euler_steps(sde, last)


def _exact_steps(sde: SDE, last: int) -> Iterator[TimeStep]:
    known: tuple[Transition, TimeStep] | None = None
    for k, law in enumerate(exact_transitions(sde, 1, last), 1):
        # Where nothing changes in time, one law serves all steps.
        if known is None or law is not known[0]:
            effect = _effect(sde, sde.time(k - 1), sde.time(k))
            known = law, TimeStep(law.matrix, effect, law.root)
        yield known[1]


def _effect(sde: SDE, begin: float, end: float) -> Vector:
    """Return M of the step between two times."""
    n = sde.n

    def rate_of(piece: SDE) -> Callable[[float, Vector], Vector]:
        def rate(t: float, flat: Vector) -> Vector:
            update, M = piece.update(t), flat.reshape(n, n)
            moved = update.couple(M) - M
            moved.flat[:: n + 1] += update.gain
            return np.asarray(moved.ravel())

        return rate

    (flat,) = integrate(sde, rate_of, np.zeros(n * n), begin, np.array([end]), np.full(n * n, NEGLIGIBLE))
    return np.asarray(flat.reshape(n, n))


def _euler_steps(sde: SDE, last: int) -> Iterator[TimeStep]:
    h, one = sde.step, np.eye(sde.n)
    for k in range(1, last + 1):
        update = sde.update(sde.time(k))
        noise = math.sqrt(h) * sde.noise_size(sde.time(k))
        yield TimeStep((1 - h) * one + h * update.couple(one), np.diag(h * update.gain), np.diag(noise))


def on_grid(sde: SDE, trajectory: Trajectory) -> Trajectory:
    """Return the run with its times counted in steps of the equation."""
    steps = np.asarray(trajectory.times, dtype=np.float64) / sde.step
    whole = np.rint(steps)
    off = np.flatnonzero(np.abs(steps - whole) > _ROUNDING)
    if off.size:
        rule = f"outputs must be seen at multiples of the step {sde.step:g}"
        remedy = "give the SDE the step of the run"
        raise InvalidInputError(complain(rule, got=f"t = {trajectory.times[off[0]]:g}", remedy=remedy))
    return replace(trajectory, times=whole.astype(np.int64))


def discrete(model: Model | SDE) -> Model:
    """Return the model that the equation was made from, or the model itself."""
    return model.model if isinstance(model, SDE) else model
