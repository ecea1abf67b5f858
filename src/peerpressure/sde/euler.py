"""Euler–Maruyama in plain NumPy: one step, the exact moments of many, and how fast these converge to the equation.

It is of weak order 1 here, for mean and variance alike; and of strong order 1, not ½, because the noise does not depend
on the state. The weak errors are exact, for the scheme's own moments are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.affine import adapted
from peerpressure.model.step import Array
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import checked_weights, moments_at, moments_of, start_of

if TYPE_CHECKING:
    import pandas as pd


def euler_step(sde: SDE, k: int, state: Array, z: Array) -> Array:
    """Return the state at t_k = k·h from that at t_{k−1}: y ← (1 − h) y + h (g ∘ x₀ + C y) + √h G z.

    Correlated noise u has its exact step, with autocorrelation φ^h, and adds h G u; hidden opinions that adapt follow
    y of the same step. Coefficients are those of the step's end, which makes a step of length 1 with the model's
    scaling the discrete model itself; any point within the step would give the same orders.

    >>> import numpy as np
    >>> from peerpressure import SDE, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import euler_step
    >>> model = Model(k2(), hidden=[1.0, 2.0], stubbornness=[3.0, 1.0])
    >>> euler_step(SDE(model, step=1.0), 1, model.start_state, np.zeros(2)) == model.update(1)(model.start_state)
    array([ True,  True])
    """
    hidden = sde.x0 if state.ndim == 1 else sde.x0[:, None]
    return euler_map(sde, k, state, np.broadcast_to(hidden, (sde.n, *state.shape[1:])), z)


def euler_map(sde: SDE, k: int, columns: Array, hidden: Array | None = None, noise: Array | None = None) -> Array:
    """Return F Z + B X + G W of Euler's step k for columns Z (states, m), hidden opinions X and draws W (agents, m)."""
    at, h, t = sde.layout, sde.step, sde.time(k)
    update, public = sde.update(t), columns[at.public]
    preferred = columns[at.hidden] if at.has_hidden else np.zeros_like(public) if hidden is None else hidden
    moved = (1 - h) * public + h * update(public, hidden=preferred)
    size, out = sde.noise_size(t, update), np.empty_like(columns)
    size = size[:, None] if columns.ndim == 2 else size
    if at.has_memory:
        carry = sde.noise.autocorrelation**h
        out[at.memory] = carry * columns[at.memory]
        if noise is not None and carry < 1:
            out[at.memory] += math.sqrt((1 - carry) * (1 + carry)) * noise
        moved += h * size * out[at.memory]
    elif noise is not None:
        moved += math.sqrt(h) * (size * noise)
    out[at.public] = moved
    if at.has_hidden:
        rate = h * (np.zeros(sde.n) if update.adaptation_rate is None else update.adaptation_rate)
        out[at.hidden] = adapted(preferred, moved, rate[:, None] if columns.ndim == 2 else rate)
    return out


def euler_moments(sde: SDE, steps: int) -> Iterator[tuple[Array, Array]]:
    """Yield mean (agents,) and covariance (agents, agents) of Euler's state after 1, 2, …, ``steps`` steps.

    The scheme is linear with Gaussian noise, so its own moments are exact: m ← m + h (b − B m) and
    P ← M P Mᵀ + h GGᵀ with M = (1 − h) I + h C, and alike for the states of adaptation and correlated noise.

    >>> from peerpressure import SDE, Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.sde import euler_moments, moments_at
    >>> sde = SDE(Model(k2(), hidden=[1.0, 2.0], noise=Gaussian(0.5)), step=0.01)
    >>> *_, (mean, _) = euler_moments(sde, 100)
    >>> bool(abs(mean - moments_at(sde, 1.0).mean[0]).max() < sde.step)
    True
    """
    at, n, nothing = sde.layout, sde.n, np.zeros((sde.layout.states, sde.n))
    mean, covariance = start_of(sde) + sde.centre, np.zeros((at.states, at.states))
    mean[at.memory] = 0.0
    np.einsum("ii->i", covariance[at.memory, at.memory])[...] = 1.0
    for k in range(1, steps + 1):
        mean = euler_map(sde, k, mean, sde.x0)
        # M P Mᵀ as M (M P)ᵀ: two sparse products, and M is never formed.
        half = euler_map(sde, k, covariance)
        covariance = euler_map(sde, k, np.ascontiguousarray(half.T)).T
        if at.states == n:
            covariance.flat[:: n + 1] += sde.step * sde.noise_size(sde.time(k)) ** 2
        else:
            drawn = euler_map(sde, k, nothing, noise=np.eye(n))
            covariance = covariance + drawn @ drawn.T
        yield mean[at.public], covariance[at.public, at.public]


# Powers of 2, whose multiples are exact and end at whole times.
HALVINGS = tuple(2.0**-k for k in range(7))


def shrinking_steps(sde: SDE, until: float, weights: ArrayLike, steps: Sequence[float] = HALVINGS[:5]) -> pd.DataFrame:
    """Return mean and deviation of one weighted sum over time, for each length of step and for the equation itself.

    Columns are step (0 for the equation), time, mean and std; with scaling="model" the step of length 1 is the
    discrete model.
    """
    import pandas as pd

    row = checked_weights(sde, weights)[:1]
    fine = np.linspace(0.0, until, 201)
    law = moments_of(sde, row, fine)
    rows = [(0.0, t, m, math.sqrt(V)) for t, m, V in zip(fine, law.mean[:, 0], law.variance[:, 0], strict=True)]
    for h in steps:
        rows.append((h, 0.0, float(row[0] @ sde.start_state), 0.0))
        for k, (mean, covariance) in enumerate(euler_moments(with_step(sde, h), step_count(until, h)), 1):
            deviation = math.sqrt(float(row[0] @ covariance @ row[0]))
            rows.append((h, k * h, float(row[0] @ mean), deviation))
    return pd.DataFrame(rows, columns=["step", "time", "mean", "std"])


def weak_errors(sde: SDE, until: float, steps: Sequence[float] = HALVINGS) -> pd.DataFrame:
    """Return the largest error, over agents, of Euler's mean and standard deviation at time ``until``; both exact.

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> first, second = weak_errors(SDE(Model(k2(), hidden=[0.0, 1.0])), 4.0, steps=[1 / 32, 1 / 64])["mean_error"]
    >>> round(first / second)
    2
    """
    import pandas as pd

    exact = moments_at(sde, [until])
    rows = []
    for h in steps:
        *_, (mean, covariance) = euler_moments(with_step(sde, h), step_count(until, h))
        of_std = np.abs(np.sqrt(np.diag(covariance)) - np.sqrt(exact.variance[0]))
        rows.append((h, float(np.abs(mean - exact.mean[0]).max()), float(of_std.max())))
    return pd.DataFrame(rows, columns=["step", "mean_error", "std_error"])


def with_step(sde: SDE, h: float) -> SDE:
    """Return the same equation with Euler steps of length h."""
    return replace(sde, step=h, method="euler")


def step_count(until: float, h: float) -> int:
    """Return how many steps of length h lead to a time, which must be a whole number of them."""
    count = round(until / h)
    if count < 1 or not math.isclose(count * h, until, rel_tol=1e-9):
        rule = f"a whole number of steps must lead to {until:g}"
        raise InvalidInputError(message(rule, got=f"steps of {h:g}", remedy="halve or double the steps"))
    return count
