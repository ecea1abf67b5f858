"""Euler–Maruyama in plain NumPy: one step, and the exact moments of many, which need no sampling either."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from peerpressure.model import Vector

from .equation import SDE


def euler_step(sde: SDE, k: int, public: Vector, z: Vector) -> Vector:
    """Return the state at t_k = k·h from that at t_{k−1}: y ← (1 − h) y + h (g ∘ x₀ + C y) + √h G z.

    Coefficients are those of the step's end, which makes a step of length 1 with the model's scaling the discrete
    model itself; any point within the step would give the same orders. States and the standard normal z have
    shape (agents,) or (agents, batch).

    >>> from peerpressure.model import Model
    >>> from peerpressure.networks import k2
    >>> model = Model(k2(), hidden=[1.0, 2.0], stubbornness=[3.0, 1.0])
    >>> euler_step(SDE(model, step=1.0), 1, model.start_state, np.zeros(2)) == model.update(1)(model.start_state)
    array([ True,  True])
    """
    h, t = sde.step, sde.time(k)
    update = sde.update(t)
    size = sde.noise_size(t, update)
    jitter = (size[:, None] if np.ndim(z) == 2 else size) * z
    return np.asarray((1 - h) * public + h * update(public) + math.sqrt(h) * jitter)


def euler_moments(sde: SDE, steps: int) -> Iterator[tuple[Vector, Vector]]:
    """Yield mean (agents,) and covariance (agents, agents) of Euler's state after 1, 2, …, ``steps`` steps.

    The scheme is linear with Gaussian noise, so that its own moments are exact: m ← m + h (b − B m) and
    P ← M P Mᵀ + h GGᵀ with M = (1 − h) I + h C.
    """
    n, h = sde.n, sde.step
    mean, covariance = sde.start_state, np.zeros((n, n))
    for k in range(1, steps + 1):
        t = sde.time(k)
        update = sde.update(t)
        mean = (1 - h) * mean + h * update(mean)
        half = (1 - h) * covariance + h * update.couple(covariance)
        covariance = (1 - h) * half + h * update.couple(np.ascontiguousarray(half.T)).T
        covariance.flat[:: n + 1] += h * sde.noise_size(t, update) ** 2
        yield mean, covariance
