"""Mean-square distance of the agents to v at a horizon, as a function of the pressures, with its exact gradient.

Let w_T be the indicator of an agent i. The weights in y_T,i of public opinions, directly (w_t) and with what hidden
opinions adopt of them (λ_t), and of hidden opinions (h_t) run back by

    λ_t = w_t + η_t ∘ h_t,    w_{t−1} = C_tᵀ λ_t,    h_{t−1} = (1 − η_t) ∘ h_t + g_t ∘ λ_t,

with η_t = 0 where opinions are constant; those of noise by a_t = φ a_{t+1} + g_t σ_t ∘ λ_t. E(y_T,i − v)² is then

    |Bᵀ(w_0, h_0)|² + (1 − φ²) Σ_t |a_t|² + φ² |a_1|².

The columns of B are what is not known, or known to differ from v: hidden opinions of standard deviation τ around v, and
a given start. As dg/d log ρ = −g(1 − g) and dC/d log ρ = diag(g) C, the reverse of this recursion, which runs forward
in time, gives the derivatives by all log ρ_t for the price of a second pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, final

import numpy as np

from peerpressure.affine import coefficients, least_relief
from peerpressure.model import Model, Vector
from peerpressure.progress import checkpoint
from peerpressure.statespace import KEPT_NUMBERS

# Below this size a dense product takes less time than the call of a sparse one.
_DENSE = 40
# Numbers of a step that take as long as the calls that it consists of.
_CALLS = 8_000


def pass_work(model: Model, steps: int, agents: int | None = None) -> int:
    """Return the multiplications of one pass over a horizon, counting calls too, for all agents or so many of them."""
    return steps * (_CALLS + (int(model.network.adjacency.nnz) + model.n) * (agents or model.n))


@final
class HorizonDistance:
    """E(y_T − v)² averaged over agents, as a function of log ρ_1, …, log ρ_T.

    Parameters
    ----------
    model : Model
        Any model; its pressure is not read.
    steps : int
        The horizon T.
    know_hidden : bool
        Whether the hidden opinions of the model are known, instead of only their variance.
    delayed : bool
        Whether ρ_1 = 0, whatever is given for it.
    agents : array of int, optional
        The agents to average over, all by default.
    """

    def __init__(
        self, model: Model, steps: int, *, know_hidden: bool = False, delayed: bool = False, agents: Any = None
    ) -> None:
        self.model, self.steps, self.delayed, n = model, steps, delayed, model.n
        self.targets = np.arange(n) if agents is None else np.asarray(agents)
        times = np.arange(1, steps + 1)
        self._degrees = np.stack([model.degrees_at(t) for t in range(1, steps + 1)]) if model.temporal_network else None
        scale = np.zeros(steps) if model.noise.is_zero else model.noise.scale(times)
        self._sigma = scale[:, None] * model.noise.deviations(n)
        self._phi = model.noise.autocorrelation if self._sigma.any() else 0.0
        self._hidden_loads, self._start_loads = _loads(model, know_hidden=know_hidden)
        numbers = n * self.targets.size * (2 if self._phi else 1)
        # Steps whose weights are kept at a time; the others are computed twice.
        self._segment = min(steps, max(KEPT_NUMBERS // numbers, math.isqrt(steps), 1))
        self._kept = np.empty((self._segment, n, self.targets.size))
        self._kept_noise = np.empty_like(self._kept) if self._phi else None

    @cached_property
    def _adjacency(self) -> Callable[[int], Any]:
        model = self.model
        if model.temporal_network is not None:
            return model.adjacency_at
        A = model.network.adjacency.toarray() if model.n <= _DENSE else model.network.adjacency
        return lambda t: A

    def _rate(self, t: int) -> Vector | None:
        return None if self.model.adaptation is None else self.model.adaptation.at(t, self.model.n)[:, None]

    def _coefficients(self, log_rho: Vector) -> tuple[Vector, Vector]:
        """Return gain and coupling scale of all steps, (steps, agents) each."""
        relief = np.maximum(np.exp(-np.maximum(log_rho, 0.0)), least_relief(np.float64))[:, None]
        weight = np.exp(np.minimum(log_rho, 0.0))[:, None]
        if self.delayed:
            relief[0], weight[0] = 1.0, 0.0
        d = self.model.network.degrees if self._degrees is None else self._degrees
        return coefficients(relief, weight, self.model.s[None], d)

    def value(self, log_rho: Vector) -> float:
        """Return the mean square."""
        return self._backward(*self._coefficients(log_rho))[0]

    def value_and_gradient(self, log_rho: Vector) -> tuple[float, Vector]:
        """Return the mean square and its derivatives by log ρ_1, …, log ρ_T."""
        g, c = self._coefficients(log_rho)
        value, deviation, ends = self._backward(g, c)
        # Derivatives by w_0, h_0 and a_0, and the factor of each later square.
        scale, gradient = 2 / self.targets.size, np.empty(self.steps)
        V, U = scale * self._start_loads @ deviation.T, scale * self._hidden_loads @ deviation.T
        N = np.zeros_like(V)
        for first in range(0, self.steps, self._segment):
            last = min(first + self._segment, self.steps)
            # The backward pass ended with the first segment, whose weights are still there.
            if first:
                self._descend(g, c, first, last, *ends[last])
            for t in range(first, last):
                checkpoint()
                own, N = self._by_preferred(g[t], t, t - first, U, N, scale)
                weights, rate = self._kept[t - first], self._rate(t + 1)
                V = np.asarray(self._adjacency(t + 1) @ V)
                V *= c[t][:, None]
                by_coupling, by_gain = (np.einsum("nm,nm->n", part, weights) for part in (V, own))
                gradient[t] = g[t] @ (by_coupling - (1 - g[t]) * by_gain)
                V += g[t][:, None] * own
                if rate is not None:
                    U = (1 - rate) * U + rate * V
        return value, gradient

    def _backward(self, g: Vector, c: Vector) -> tuple[float, Vector, dict[int, tuple[Vector, Vector, Vector]]]:
        """Return the mean square, the deviations Bᵀ(w_0, h_0) and the weights at the end of each segment."""
        W = np.zeros((self.model.n, self.targets.size))
        W[self.targets, np.arange(self.targets.size)] = 1.0
        H, noise, variance = np.zeros_like(W), np.zeros_like(W), 0.0
        ends: dict[int, tuple[Vector, Vector, Vector]] = {}
        for first in reversed(range(0, self.steps, self._segment)):
            last = min(first + self._segment, self.steps)
            ends[last] = W, H, noise
            W, H, noise, added = self._descend(g, c, first, last, W, H, noise)
            variance += added
        variance += self._phi**2 * float(np.vdot(noise, noise))
        deviation = H.T @ self._hidden_loads + W.T @ self._start_loads
        return (float(np.vdot(deviation, deviation)) + variance) / self.targets.size, deviation, ends

    def _descend(
        self, g: Vector, c: Vector, first: int, last: int, W: Vector, H: Vector, noise: Vector
    ) -> tuple[Vector, Vector, Vector, float]:
        """Run the weights back over a segment and keep λ_t and a_t; return them with the variance of its noise."""
        kept, std, phi = self._kept[: last - first], g[first:last] * self._sigma[first:last], self._phi
        for t in reversed(range(first, last)):
            checkpoint()
            weights, rate = kept[t - first], self._rate(t + 1)
            weights[...] = W
            if rate is not None:
                weights += rate * H
                H = (1 - rate) * H + g[t][:, None] * weights
            W = np.asarray(self._adjacency(t + 1) @ (c[t][:, None] * weights))
            if self._kept_noise is not None:
                noise = phi * noise + std[t - first][:, None] * weights
                self._kept_noise[t - first] = noise
        if self.model.adaptation is None:
            H = H + np.einsum("tn,tnm->nm", g[first:last], kept)
        if self._kept_noise is not None:
            a = self._kept_noise[: last - first]
            return W, H, noise, (1 - phi) * (1 + phi) * float(np.vdot(a, a))
        return W, H, noise, float(np.sum(std**2 * np.einsum("tnm,tnm->tn", kept, kept)))

    def _by_preferred(self, g: Vector, t: int, slot: int, U: Vector, N: Vector, scale: float) -> tuple[Vector, Vector]:
        """Return the derivatives by the weights of the preferred opinion, λ_t times the gain, and by those of noise."""
        sigma = self._sigma[t]
        if self._kept_noise is None:
            return U + (scale * sigma**2 * g)[:, None] * self._kept[slot], N
        # a_1 counts in full: the memory at the start has its stationary variance.
        fresh = scale * (1.0 if t == 0 else (1 - self._phi) * (1 + self._phi))
        N = fresh * self._kept_noise[slot] + self._phi * N
        return U + sigma[:, None] * N, N


def _loads(model: Model, *, know_hidden: bool) -> tuple[Vector, Vector]:
    """Return the columns of B that weigh hidden opinions and the start, (agents, unknowns) each."""
    n, v, given = model.n, model.consensus_value, not isinstance(model.start, str)
    start = (model.start_state - v)[:, None]
    if know_hidden:
        hidden = (model.x0 - v)[:, None]
        return hidden, start if given else hidden
    # Averaging over all assignments of these opinions to agents gives the covariance τ²(I − 11ᵀ/n), whose second part
    # has no effect, since v moves as all opinions do.
    tau = float(np.std(model.x0, ddof=1)) if n > 1 else 0.0
    common = np.broadcast_to(tau * model.s / model.s.sum(), (n, n))
    hidden = tau * np.eye(n) - common
    if not given:
        return hidden, hidden
    return np.hstack([hidden, np.zeros((n, 1))]), np.hstack([-common, start])
