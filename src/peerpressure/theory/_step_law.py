"""The law of one step of any model or SDE as a random matrix: who updates, which network is drawn, and the noise.

The state is z = (y, x, u): public opinions, hidden opinions (which adapt at the rate 0 if they are constant) and the
memory of correlated noise. A step is z ← M z + N w, with M drawn independently of earlier steps. Pressure enters as
(own_weight, weight) with ρ = weight/own_weight, so ρ = ∞ is an ordinary number. In continuous time M is the flow over
one unit of time, in which the network is constant.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.model.step import Array
from peerpressure.networks import NetworkProcess
from peerpressure.sde import SDE

# Edges up to which all sets of those that are present are enumerated.
MOST_EDGES = 10
# Parts of a unit of continuous time in which a step of Runge–Kutta is taken: many while pressure changes fast.
PARTS = ((1, 32), (8, 12), (64, 4), (math.inf, 2))
# Entries of the maps of steps that are made at a time: fewer would take longer, and more do not stay in the caches.
AT_ONCE = 100_000


@final
@dataclass(frozen=True, eq=False)
class Networks:
    """The networks that one step may have: adjacency, shape (networks, agents, agents), and their probabilities.

    Networks of several steps have one more axis in front.
    """

    adjacency: Array
    chance: Array


@final
@dataclass(frozen=True, eq=False)
class RandomStep:
    """The law of one step: of each network, the map of those who update, ``on``, and of the others, ``off``.

    Shapes are (networks, states, states), and ``noise`` has the covariance of the noise of the step, its mean over who
    updates. ``slope_on`` is the derivative of ``on`` by 1/ρ at infinite pressure; ``off`` does not depend on pressure.
    Laws of several steps have one more axis in front, and iteration gives them one by one.
    """

    chance: Array
    on: Array
    off: Array
    noise: Array
    slope_on: Array

    def __iter__(self) -> Iterator[RandomStep]:
        parts = zip(self.on, self.off, self.noise, self.slope_on, strict=True)
        return (RandomStep(self.chance, *one) for one in parts)


@final
@dataclass(frozen=True, eq=False)
class RandomSteps:
    """All that a system's steps depend on, with the networks of each step of their period.

    ``begin`` is the number of steps before the networks repeat. ``updates`` are the probabilities with which agents
    update, and ``together`` those with which two of them do.
    """

    system: System
    phases: tuple[Networks, ...]
    begin: int
    updates: Array
    together: Array

    @property
    def model(self) -> Model:
        """The model of the system."""
        return self.system.model

    @property
    def continuous(self) -> bool:
        """Whether time is continuous."""
        return self.system.is_continuous

    @property
    def frozen(self) -> bool:
        """Whether noise is drawn once."""
        return not self.model.noise.is_zero and self.model.noise.autocorrelation == 1

    @property
    def layers(self) -> int:
        """The number of layers of the state: 3 where noise has a memory that hidden opinions cannot stand for."""
        noise = self.model.noise
        return 3 if not noise.is_zero and noise.has_memory else 2

    @property
    def states(self) -> int:
        """The number of entries of the state."""
        return self.layers * self.model.n

    @cached_property
    def mask_moments(self) -> tuple[Array, Array] | None:
        """The means and covariances of who updates, for entries of the state; None if everybody does."""
        if self.updates.min() >= 1:
            return None
        n, q, spread = self.model.n, np.ones(self.states), np.zeros((self.states, self.states))
        q[: 2 * n] = np.tile(self.updates, 2)
        spread[: 2 * n, : 2 * n] = np.tile(self.together - np.outer(self.updates, self.updates), (2, 2))
        return q, spread

    @cached_property
    def is_random(self) -> bool:
        """Whether the maps of steps are random."""
        return bool(np.any(self.updates < 1)) or any(phase.chance.size > 1 for phase in self.phases)

    def step(self, networks: Networks, own_weight: float, weight: float, rates: Array, scale: float) -> RandomStep:
        """Return the law of a step at constant pressure, rates of adaptation and scale of the noise."""
        given = (np.array([own_weight]), np.array([weight]), rates[None], np.array([scale]))
        steps = self._flows(networks, *given) if self.continuous else self._jumps(networks, *given)
        return next(iter(steps))

    def following(self, begin: int, end: int) -> Iterator[RandomStep]:
        """Give the laws of steps begin + 1 to end of the schedules themselves, many at a time."""
        while begin < end:
            parts, last = next((parts, last) for last, parts in PARTS if begin < last)
            networks = self._networks(begin + 1)
            room = max(1, AT_ONCE // (networks.chance.size * self.states**2))
            until = int(min(begin + room, end, last if self.continuous else end))
            times = np.arange(begin + 1, until + 1)
            if begin < self.begin or len(self.phases) > 1:
                adjacency = np.stack([self._networks(int(t)).adjacency for t in times])
                networks = Networks(adjacency, networks.chance)
            yield from self._integrated(networks, times, parts) if self.continuous else self._discrete(networks, times)
            begin = until

    def _networks(self, t: int) -> Networks:
        """Return the networks that step t may have; all steps have the same number of them."""
        if t > self.begin:
            return self.phases[(t - self.begin - 1) % len(self.phases)]
        return Networks(self.model.adjacency_at(t).toarray()[None], np.ones(1))

    def _discrete(self, networks: Networks, times: NDArray[np.int64]) -> RandomStep:
        model = self.model
        scale = np.zeros(times.size) if model.noise.is_zero else np.asarray(model.noise.scale(times))
        rates = np.zeros((times.size, model.n))
        if model.adaptation is not None:
            rates = model.adaptation.pace(times)[:, None] * model.adaptation.adaptation_weights(model.n)
        return self._jumps(networks, *model.pressure.homogeneous(times), rates, scale)

    def _jumps(self, networks: Networks, own_weight: Array, weight: Array, rates: Array, scale: Array) -> RandomStep:
        """Return the laws of discrete steps; arguments have one entry for each, or networks are those of all."""
        n, size, i = self.model.n, self.states, np.arange(self.model.n)
        rows, slope, entering = self._public_rows(networks.adjacency, own_weight, weight, scale)
        memory, fresh = self._memory()
        eta = rates[:, None]
        off = np.zeros((len(own_weight), 1, size, size))
        off[..., i, i], off[..., n + i, i], off[..., n + i, n + i] = 1.0, eta, 1 - eta
        on, slope_on = np.zeros((*rows.shape[:2], size, size)), np.zeros((*rows.shape[:2], size, size))
        on[..., :n, :], slope_on[..., :n, :] = rows, slope
        on[..., n : 2 * n, :] = eta[..., None] * rows
        slope_on[..., n : 2 * n, :] = eta[..., None] * slope
        on[..., n + i, n + i] += 1 - eta
        entries = np.zeros((*rows.shape[:2], size, n))
        entries[..., i, i], entries[..., n + i, i] = entering, eta * entering
        if self.layers == 3:
            off[..., 2 * n + i, 2 * n + i] = on[..., 2 * n + i, 2 * n + i] = memory
            entries[..., 2 * n + i, i] = fresh
        added = (entries * self.updates) @ entries.swapaxes(-1, -2)
        if self.layers == 3:
            # The memory of the noise goes on under those who do not update.
            added[..., 2 * n + i, 2 * n + i] += (1 - self.updates) * fresh**2
        return RandomStep(networks.chance, on, np.broadcast_to(off, on.shape), _mean(networks, added), slope_on)

    def _memory(self) -> tuple[float, float]:
        """Return the share of the noise's memory that a step keeps, and the deviation of what it adds."""
        phi = self.model.noise.autocorrelation
        return phi, math.sqrt((1 - phi) * (1 + phi))

    def _public_rows(self, A: Array, own_weight: Array, weight: Array, scale: Array) -> tuple[Array, Array, Array]:
        """Return the rows of public opinions, their derivative by 1/ρ, and the weights of fresh noise."""
        model, n, i = self.model, self.model.n, np.arange(self.model.n)
        keeps = model.isolated == "keep"
        own_weight, weight, scale = own_weight[:, None, None], weight[:, None, None], scale[:, None, None]
        d = np.abs(A).sum(axis=-1)
        silent = d == 0
        total = np.where(silent, 1.0, own_weight * model.s + weight * d)
        gain = np.where(silent, 0.0 if keeps else 1.0, own_weight * model.s / total)
        heard = np.where(silent, 0.0, weight / total)[..., None] * A
        faster = np.where(silent, 0.0, model.s / np.where(silent, 1.0, d))
        rows, slope = np.zeros((*total.shape, self.states)), np.zeros((*total.shape, self.states))
        rows[..., :n] = heard
        rows[..., i, i] += silent & keeps
        slope[..., :n] = -faster[..., None] * heard
        deviations = np.zeros(n) if model.noise.is_zero else self.system.deviations * scale
        memory, fresh = (1.0, 0.0) if self.continuous and self.layers == 3 else self._memory()
        for one, own in ((rows, gain), (slope, faster)):
            one[..., i, n + i] = own
            if self.layers == 3:
                one[..., i, 2 * n + i] = own * deviations * memory
        return rows, slope, gain * deviations * (fresh if self.layers == 3 else 1.0)

    def _generator(
        self, networks: Networks, own_weight: Array, weight: Array, rates: Array, scale: Array
    ) -> list[Array]:
        """Return the drift of each network, its derivative by 1/ρ, and the diffusion, (…, networks, states, states)."""
        n, size, i = self.model.n, self.states, np.arange(self.model.n)
        rows, slope, entering = self._public_rows(networks.adjacency, own_weight, weight, scale)
        drift, steeper, added = (np.zeros((*rows.shape[:2], size, size)) for _ in range(3))
        drift[..., :n, :], steeper[..., :n, :] = rows, slope
        drift[..., i, i] -= 1
        drift[..., n + i, i], drift[..., n + i, n + i] = rates[:, None], -rates[:, None]
        if self.layers == 2:
            added[..., i, i] = entering**2
        elif not self.frozen:
            assert isinstance(self.system, SDE)
            drift[..., 2 * n + i, 2 * n + i] = -self.system.reversion
            added[..., 2 * n + i, 2 * n + i] = 2 * self.system.reversion
        return [drift, steeper, added]

    def _flows(self, networks: Networks, own_weight: Array, weight: Array, rates: Array, scale: Array) -> RandomStep:
        size = self.states
        drift, steeper, added = self._generator(networks, own_weight, weight, rates, scale)
        zero = np.zeros_like(drift)
        # The flow with its derivative, and by Van Loan's formula the covariance that the noise of a unit of time adds.
        flow = expm(np.block([[drift, steeper], [zero, drift]]))
        noise = expm(np.block([[drift, added], [zero, -drift.swapaxes(-1, -2)]]))
        on, slope = flow[..., :size, :size], flow[..., :size, size:]
        covariance = noise[..., :size, size:] @ on.swapaxes(-1, -2)
        return RandomStep(networks.chance, on, on, _mean(networks, covariance), slope)

    def _integrated(self, networks: Networks, times: NDArray[np.int64], parts: int) -> RandomStep:
        """Return the laws of units of continuous time, which are all integrated side by side."""
        width, size, begin = 1 / parts, self.states, times.astype(np.float64) - 1
        flow = np.broadcast_to(np.eye(size), (times.size, networks.chance.size, size, size))
        added = np.zeros_like(flow)
        for part in range(parts):
            flow, added = self._runge_kutta(networks, begin + part * width, width, flow, added)
        return RandomStep(networks.chance, flow, flow, _mean(networks, added), np.zeros_like(flow))

    def _runge_kutta(self, networks: Networks, begin: Array, width: float, F: Array, Q: Array) -> tuple[Array, Array]:
        """Return flow and covariance after a short time, by the classical method of order 4."""
        # Schedules may not be defined at time 0 itself.
        ends = [self._drift_at(networks, np.maximum(begin + share * width, 1e-9)) for share in (0.0, 0.5, 1.0)]

        def slope(which: int, F: Array, Q: Array) -> tuple[Array, Array]:
            drift, added = ends[which]
            turned = drift @ Q
            return drift @ F, turned + turned.swapaxes(-1, -2) + added

        first = slope(0, F, Q)
        second = slope(1, F + width / 2 * first[0], Q + width / 2 * first[1])
        third = slope(1, F + width / 2 * second[0], Q + width / 2 * second[1])
        last = slope(2, F + width * third[0], Q + width * third[1])
        sums = [a + 2 * b + 2 * c + d for a, b, c, d in zip(first, second, third, last, strict=True)]
        return F + width / 6 * sums[0], Q + width / 6 * sums[1]

    def _drift_at(self, networks: Networks, t: Array) -> tuple[Array, Array]:
        assert isinstance(self.system, SDE)
        own_weight, weight = self.system.homogeneous(t)
        scale = np.zeros(t.size) if self.model.noise.is_zero else self.system.noise_scale(t)
        factors = np.broadcast_to(self.rates(None), (t.size, self.model.n))
        rates = factors * self.system.adaptation_pace(t)[:, None] if factors.any() else factors
        drift, _, added = self._generator(networks, own_weight, weight, rates, scale)
        return drift, added

    def rates(self, t: int | None) -> Array:
        """Return the rates of adaptation at step t, or the weights of agents in them for None; 0 without adaptation."""
        adaptation, n = self.model.adaptation, self.model.n
        if adaptation is None:
            return np.zeros(n)
        return adaptation.adaptation_weights(n) if t is None else adaptation.at(t, n)

    def start(self) -> tuple[Array, Array]:
        """Return mean and second moment of the state at time 0."""
        model = self.model
        mean = np.concatenate([model.start_state, model.x0, np.zeros(self.states - 2 * model.n)])
        memory = np.concatenate([np.zeros(2 * model.n), np.ones(self.states - 2 * model.n)])
        return mean, np.outer(mean, mean) + np.diag(memory)


def _mean(networks: Networks, of_each: Array) -> Array:
    """Return the mean over networks of matrices, (steps, networks, …)."""
    return np.asarray(np.einsum("g,tgij->tij", networks.chance, of_each))


def step_laws(system: System) -> RandomSteps | None:
    """Return the laws of a system's steps; None where steps are not independent, or too many networks may occur."""
    model = system.model
    activation, n = model.activation, model.n
    if activation is not None and not activation.is_random:
        return None
    updates = np.ones(n) if activation is None else activation.probabilities
    together = np.ones((n, n)) if activation is None else activation.pairs
    temporal = model.temporal_network
    if temporal is None or (temporal.law is None and temporal.period is None):
        last = 0 if temporal is None else temporal.last_change
        A = model.adjacency_at(max(last, 1)).toarray()
        return RandomSteps(system, (Networks(A[None], np.ones(1)),), last, updates, together)
    if temporal.law is not None:
        drawn = _drawn(temporal.law, n)
        return None if drawn is None else RandomSteps(system, (drawn,), 0, updates, together)
    assert temporal.period is not None
    phases = tuple(Networks(temporal.at(t).toarray()[None], np.ones(1)) for t in range(1, temporal.period + 1))
    return RandomSteps(system, phases, 0, updates, together)


def _drawn(law: NetworkProcess, n: int) -> Networks | None:
    """Return the networks that a step of an independent random process may have."""
    if law.pairs is None or law.memory or (law.chances is None and law.presence is None):
        return None
    i, j, weights = law.pairs.edges()
    if law.chances is not None:
        present = np.concatenate([np.eye(i.size), np.zeros((1, i.size))])
        chance = np.append(law.chances, max(0.0, 1 - float(np.sum(law.chances))))
    elif i.size <= MOST_EDGES:
        assert law.presence is not None
        present = np.array(list(product([0.0, 1.0], repeat=i.size)))
        chance = np.prod(np.where(present > 0, law.presence, 1 - law.presence), axis=1)
    else:
        return None
    A = np.zeros((len(present), n, n))
    A[:, i, j] = A[:, j, i] = present * weights
    possible = chance > 1e-14
    return Networks(A[possible], chance[possible])
