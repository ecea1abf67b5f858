"""Euler–Maruyama in plain NumPy: one step, and the exact moments of many, which need no sampling either."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from peerpressure.model.affine import adapted
from peerpressure.model.step import Array
from peerpressure.sde.equation import SDE
from peerpressure.sde.moments import start_of


def euler_step(sde: SDE, k: int, state: Array, z: Array) -> Array:
    """Return the state at t_k = k·h from that at t_{k−1}: y ← (1 − h) y + h (g ∘ x₀ + C y) + √h G z.

    Correlated noise u has its exact step, with autocorrelation φ^h, and adds h G u; hidden opinions that adapt follow
    y of the same step. Coefficients are those of the step's end, which makes a step of length 1 with the model's
    scaling the discrete model itself; any point within the step would give the same orders.

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    k : int
        Number of the step, from 1.
    state : array of shape (states,) or (states, batch)
        State at t_{k−1}: y, hidden opinions if they adapt, memory of the noise if it is correlated.
    z : array of shape (n,) or (n, batch)
        Standard normal numbers.

    Returns
    -------
    array
        State at t_k, in the shape of ``state``.

    See Also
    --------
    exact_paths : Paths without an error of steps.

    References
    ----------
    .. [1] P. E. Kloeden and E. Platen (1992), Numerical Solution of Stochastic Differential Equations, Springer.

    Examples
    --------
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

    Parameters
    ----------
    sde : SDE
        The equation, with its step h.
    steps : int
        Number of steps, at least 0.

    Yields
    ------
    mean : array of shape (n,)
        Mean after the step.
    covariance : array of shape (n, n)
        Covariance after the step.

    See Also
    --------
    gaussian_path : Moments of the equation itself.
    euler_step : One step of the scheme.

    Examples
    --------
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
