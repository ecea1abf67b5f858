"""Steps of a small network as dense matrices, many of them at once.

With a few dozen agents, the calls that a step on sparse matrices takes cost far more than its arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from peerpressure.model import Model
from peerpressure.model.step import Array, StateLayout

# Entries of a state up to which its steps are dense.
LARGEST_STATE = 64
# Steps in a block, and numbers in each of its arrays: 2 MB, which caches hold.
_STEPS, _NUMBERS = 1024, 2**18


@final
@dataclass(frozen=True, eq=False)
class _Coefficients:
    """What makes up the steps of a block, (steps, agents) each; the network is (agents, agents) if it is constant."""

    gain: Array
    coupling_scale: Array
    adjacency: Array
    noise_std: Array
    adaptation_rate: Array | None
    kept: Array | None

    def lazy(self, share: Array) -> _Coefficients:
        """Return the steps of which each agent takes this share, and of its old public opinion the rest."""
        kept = 1 - share + share * (0.0 if self.kept is None else self.kept)
        gain, scale, std = (share * part for part in (self.gain, self.coupling_scale, self.noise_std))
        return _Coefficients(gain, scale, self.adjacency, std, self.adaptation_rate, np.broadcast_to(kept, gain.shape))


@final
@dataclass(frozen=True, eq=False)
class DenseSteps:
    """Steps z_t = F_t z_{t−1} + B_t x₀ + G_t w_t of a block, in the order of ``times``.

    Attributes
    ----------
    times : range
        Times at the ends of the steps.
    matrices : array of shape (steps, states, states)
        The matrices F_t.
    inputs : array of shape (steps, states)
        What hidden opinions add that are no part of the state, B_t x₀.
    noise : array of shape (steps, parts, agents)
        The weights of an agent's own draw in each part of the state.
    adaptation_rate : array of shape (steps, agents) or None
        The rates at which hidden opinions of the state adapt.
    """

    times: range
    matrices: Array
    inputs: Array
    noise: Array
    adaptation_rate: Array | None

    @property
    def noise_covariances(self) -> Array:
        """The covariances G_t G_tᵀ that the draws of a step add, (steps, states, states)."""
        steps, parts, n = self.noise.shape
        out = np.zeros((steps, parts, n, parts, n))
        np.einsum("taibi->tabi", out)[...] = self.noise[:, :, None] * self.noise[:, None]
        return out.reshape(steps, parts * n, parts * n)

    @property
    def reach(self) -> Array:
        """The weights of an agent's own public opinion of a step in the state, (steps, states, agents)."""
        steps, states = self.inputs.shape
        n = self.noise.shape[2]
        out, agents = np.zeros((steps, states, n)), np.arange(n)
        out[:, agents, agents] = 1.0
        if self.adaptation_rate is not None:
            out[:, n + agents, agents] = self.adaptation_rate
        return out


def is_small(at: StateLayout, rows: int = 1) -> bool:
    """Whether dense steps are faster than sparse ones for a state, and for so many weighted sums of it."""
    return at.states <= LARGEST_STATE and at.states**2 * rows <= _NUMBERS


def dense_steps(model: Model, times: range, at: StateLayout, rows: int = 1) -> Iterator[DenseSteps]:
    """Yield the steps that lead to these times, in their order, in blocks that suit so many sums of the state."""
    for block in _blocks(times, at.states * max(at.states, rows)):
        yield _assembled(model, block, at, _coefficients(model, block))


def dense_averages(model: Model, times: range, at: StateLayout) -> Iterator[tuple[DenseSteps, DenseSteps]]:
    """Yield the same where it is random who updates: averaged over that, and as they are for those who update."""
    assert model.activation is not None
    share, together = model.activation.probabilities, model.synchronous
    for block in _blocks(times, at.states**2):
        parts = _coefficients(together, block)
        yield _assembled(together, block, at, parts.lazy(share)), _assembled(together, block, at, parts)


def _blocks(times: range, numbers: int) -> Iterator[range]:
    length = max(1, min(_STEPS, _NUMBERS // numbers))
    for begin in range(0, len(times), length):
        yield times[begin : begin + length]


def _coefficients(model: Model, times: range) -> _Coefficients:
    noise = model.noise
    deviations, scale = noise.deviations(model.n), noise.scale(times)[:, None]
    rate = None
    if model.adaptation is not None:
        rate = model.adaptation.pace(times)[:, None] * model.adaptation.adaptation_weights(model.n)
    if model.temporal_network is not None or model.keeps:
        return _each(model, times, deviations * scale, rate)
    gain, coupling_scale = model.gains_at(1, *model.homogeneous(times))
    return _Coefficients(gain, coupling_scale, model.network.adjacency.toarray(), gain * deviations * scale, rate, None)


def _each(model: Model, times: range, noise: Array, rate: Array | None) -> _Coefficients:
    """Return the coefficients of steps each of which has its own network, or its own agents who update."""
    updates = list(model.updates(times))
    gain = np.stack([update.gain for update in updates])
    nobody, kept = np.zeros(model.n), None
    if any(update.kept is not None for update in updates):
        kept = np.stack([nobody if update.kept is None else update.kept for update in updates])
    # Steps that share a network share its matrix.
    networks = {id(update.adjacency): update.adjacency for update in updates}
    dense = {key: network.toarray() for key, network in networks.items()}
    adjacency = np.stack([dense[id(update.adjacency)] for update in updates])
    scale = np.stack([update.coupling_scale for update in updates])
    return _Coefficients(gain, scale, adjacency, gain * noise, rate, kept)


def _assembled(model: Model, times: range, at: StateLayout, parts: _Coefficients) -> DenseSteps:
    n, phi, agents = model.n, model.noise.autocorrelation, np.arange(model.n)
    F = np.zeros((len(times), at.states, at.states))
    noise = np.zeros((len(times), at.states // n, n))
    inputs = np.zeros((len(times), at.states))
    public, hidden, memory = agents, at.hidden.start + agents, at.memory.start + agents
    np.multiply(parts.coupling_scale[:, :, None], parts.adjacency, out=F[:, at.public, at.public])
    noise[:, 0] = parts.noise_std
    if parts.kept is not None:
        F[:, public, public] += parts.kept
    if at.has_hidden:
        F[:, public, hidden] = parts.gain
    else:
        inputs[:, at.public] = parts.gain * model.x0
    if at.has_memory:
        F[:, public, memory] = phi * parts.noise_std
        F[:, memory, memory] = phi
        noise[:, -1] = 1.0
    if at.has_hidden:
        # After the public opinions, because hidden ones adapt to those of the same step.
        F[:, hidden, hidden] = 1.0
        if parts.adaptation_rate is not None:
            rate = parts.adaptation_rate
            F[:, at.hidden] = rate[:, :, None] * F[:, at.public]
            F[:, hidden, hidden] += 1 - rate
            noise[:, 1] = rate * parts.noise_std
    return DenseSteps(times, F, inputs, noise * math.sqrt((1 - phi) * (1 + phi)), parts.adaptation_rate)
