"""The exact law of a combination: all networks and all sets of agents who update are enumerated, step by step.

Later each octave of time is one block of equal rounds, in which 1/ρ is its mean over the octave; the map of second
moments over a block takes as many squarings as its length has binary digits, and 10^10 steps take a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import expm

from tests.truth.case import Array, curve
from tests.truth.combinations import Combination, coefficients

EXACT = 512  # steps that are taken one by one
TOGETHER = 32  # steps whose laws are made at once
PARTS = (64, 16, 4, 1)  # of a unit of continuous time
OCTAVES = 24  # then time doubles so often, to 10^10


@dataclass(frozen=True, eq=False)
class Reading:
    """Laws of twelve late steps: means (steps, agents), second moments, and E|y_{t+12} − y_t|² of each agent."""

    t: int
    mean: Array
    second: Array
    moved: Array

    @property
    def variance(self) -> Array:
        return np.asarray(np.einsum("kii->ki", self.second) - self.mean**2)

    @property
    def std(self) -> Array:
        return np.asarray(np.sqrt(np.maximum(self.variance.mean(axis=0), 0.0)))

    def apart(self, sign: int = 1) -> Array:
        """Return the root mean square of y_i − y_j, or of y_i + y_j for sign −1, the largest over the round."""
        own = np.einsum("kii->ki", self.second)
        squares = (own[:, :, None] + own[:, None, :] - 2 * sign * self.second).max(axis=0)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))


Law = tuple[Array, Array, Array]  # of a step: probabilities (draws,), maps (draws, d, d) and the covariance of noise


class Recursion:
    """The steps of a combination, straight from the definition of the model."""

    def __init__(self, model: Combination) -> None:
        self.model, n = model, model.n
        self.memory = bool(model.std) and model.phi != 0
        self.d = (3 if self.memory else 2) * n
        weights = model.weights if model.weights.size else np.ones(n)
        self.rates = model.rate * weights
        self.masks = np.array(list(product([0.0, 1.0], repeat=n))) if model.updates else np.ones((1, n))
        q = model.updates or 1.0
        self.mask_chance = np.prod(np.where(self.masks > 0, q, 1 - q), axis=1) if model.updates else np.ones(1)

    def rows(self, A: Array, parts: Array) -> tuple[Array, Array]:
        """Return the weights of (y, x, u) in the preferred next y, and those of fresh noise, for each of some parts."""
        model, n = self.model, self.model.n
        own_weight, sigma, alone = parts.T[:, :, None]
        d = np.abs(A).sum(axis=1)
        zealot = np.isinf(model.stubbornness)
        s = np.where(zealot, 1.0, model.stubbornness)
        silent = (d == 0) | zealot
        total = np.where(silent, 1.0, s * own_weight + d)
        gain = np.where(silent, 0.0 if model.keeps else 1.0, s * own_weight / total)
        rows, agents = np.zeros((len(parts), n, self.d)), np.arange(n)
        rows[:, :, :n] = np.where(silent, 0.0, 1 / total)[:, :, None] * A + np.diag(
            np.where(silent & model.keeps, 1, 0)
        )
        rows[:, agents, n + agents] = gain
        noise = gain * model.std * np.where(silent, alone, sigma)
        if self.memory:
            rows[:, agents, 2 * n + agents] = noise * (1.0 if model.continuous else model.phi)
            noise = noise * np.sqrt(1 - model.phi**2)
        return rows, noise

    def laws(self, phase: int, parts: Array) -> Iterator[Law]:
        """Yield the laws of steps, of which each network has one map for all who update, or of units of time.

        ``parts`` are 1/ρ and scales of the noise, (steps, parts, 3), in equal parts of each unit of continuous time.
        """
        chances, networks = zip(*self.model.phases[phase], strict=True)
        draws = [
            self._flows(A, parts) if self.model.continuous else self._updates(*self.rows(A, parts[:, 0]))
            for A in networks
        ]
        drawn = np.concatenate([p * one[0] for p, one in zip(chances, draws, strict=True)])
        added = sum((p * one[2] for p, one in zip(chances, draws, strict=True)), np.zeros((self.d, self.d)))
        for maps, noise in zip(np.concatenate([one[1] for one in draws], axis=1), added, strict=True):
            yield drawn, maps, noise

    def law(self, phase: int, part: tuple[float, float, float]) -> Law:
        """Return the law of one step, or of a unit of time with one part."""
        return next(self.laws(phase, np.array([[part]])))

    def _updates(self, rows: Array, noise: Array) -> tuple[Array, Array, Array]:
        """Return the chances of all sets of agents who update, their maps in each step, and what noise adds to it."""
        n, model, one, chance = self.model.n, self.model, np.eye(self.d), self.mask_chance
        F = np.tile(one, (len(rows), len(chance), 1, 1))
        F[:, :, :n] += self.masks[:, :, None] * (rows - one[:n])[:, None]
        F[:, :, n : 2 * n] += self.rates[:, None] * (F[:, :, :n] - one[n : 2 * n])
        G = np.zeros((len(rows), len(chance), self.d, n))
        G[:, :, :n] = (self.masks * noise[:, None])[..., None] * np.eye(n)
        G[:, :, n : 2 * n] = self.rates[:, None] * G[:, :, :n]
        if self.memory:
            F[:, :, 2 * n :, 2 * n :] *= model.phi
            G[:, :, 2 * n :] = np.sqrt(1 - model.phi**2) * np.eye(n)
        return chance, F, np.einsum("g,tgij->tij", chance, G @ G.swapaxes(-1, -2))

    def _flows(self, A: Array, parts: Array) -> tuple[Array, Array, Array]:
        """Return the same of units of time, each of which has one map."""
        steps, count, _ = parts.shape
        flows, noises = self._flow(*self.rows(A, parts.reshape(-1, 3)), 1 / count)
        flows, noises = (each.reshape(steps, count, self.d, self.d) for each in (flows, noises))
        F, Q = np.eye(self.d), np.zeros((self.d, self.d))
        for k in range(count):
            one = flows[:, k]
            F, Q = one @ F, one @ Q @ one.swapaxes(-1, -2) + noises[:, k]
        return np.ones(1), F[:, None], Q

    def _flow(self, rows: Array, noise: Array, length: float) -> tuple[Array, Array]:
        n, d, model, agents = self.model.n, self.d, self.model, np.arange(self.model.n)
        H, D = np.zeros((len(rows), d, d)), np.zeros((len(rows), d, d))
        H[:, :n] = rows - np.eye(d)[:n]
        H[:, n : 2 * n, :n], H[:, n : 2 * n, n : 2 * n] = np.diag(self.rates), -np.diag(self.rates)
        if not self.memory:
            D[:, agents, agents] = noise**2
        elif model.phi < 1:
            theta = -np.log(model.phi)
            H[:, 2 * n :, 2 * n :], D[:, 2 * n :, 2 * n :] = -theta * np.eye(n), 2 * theta * np.eye(n)
        both = np.zeros((len(rows), 2 * d, 2 * d))
        both[:, :d, :d], both[:, :d, d:], both[:, d:, d:] = H, D, -H.swapaxes(-1, -2)
        whole = expm(length * both)
        return whole[:, :d, :d], whole[:, :d, d:] @ whole[:, :d, :d].swapaxes(-1, -2)

    def steps(self, last: int) -> Iterator[Law]:
        """Yield the laws of steps 1…last."""
        model, phases = self.model, len(self.model.phases)
        for begin in range(1, last + 1, TOGETHER):
            t = np.arange(begin, min(begin + TOGETHER, last + 1))
            found: dict[int, Law] = {}
            # Steps with the same networks, and as many parts, at once.
            for phase, count in product(range(phases), PARTS):
                mine = t[((t - 1) % phases == phase) & (self.parts_of(t) == count)]
                inside = (np.arange(count) + 0.5) / count - 1 if model.continuous else np.zeros(1)
                if mine.size:
                    found |= dict(zip(mine.tolist(), self.laws(phase, at(model, mine[:, None] + inside)), strict=True))
            yield from (found[step] for step in t.tolist())

    def parts_of(self, t: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return into how many parts the units of time before t are divided: many while pressure changes fast."""
        return np.select([t <= 2, t <= 16, t <= 128], PARTS[:3], 1) if self.model.continuous else np.ones_like(t)

    def start(self) -> tuple[Array, Array]:
        model, n = self.model, self.model.n
        mean = np.concatenate([model.start, model.hidden, np.zeros(self.d - 2 * n)])
        return mean, np.outer(mean, mean) + np.diag(np.arange(self.d) >= 2 * n).astype(float)


def at(model: Combination, times: Array) -> Array:
    """Return 1/ρ and the two scales of the noise at each of some times."""
    own_weight, sigma = 1 / curve(model.pressure)(times.astype(float)), curve(model.scale)(times.astype(float))
    return np.stack([own_weight, sigma, sigma], axis=-1)


def _after(law: Law, mean: Array, S: Array) -> tuple[Array, Array]:
    p, M, Q = law
    new = np.einsum("g,gij->ij", p, M @ S @ M.transpose(0, 2, 1)) + Q
    return np.einsum("g,gij,j->i", p, M, mean), (new + new.T) / 2


def _as_matrix(law: Law) -> tuple[Array, Array]:
    """Return the maps of the mean, and of (S, 1) in one step, where of a symmetric S one half is kept."""
    p, M, Q = law
    i, j = np.triu_indices(M.shape[1])
    both = np.einsum("g,gij,gkl->ikjl", p, M, M)[i, j]
    W = np.zeros((i.size + 1, i.size + 1))
    # Entries beside the diagonal stand for two.
    W[:-1, :-1] = np.where(i == j, both[:, i, j], both[:, i, j] + both[:, j, i])
    W[:-1, -1], W[-1, -1] = Q[i, j], 1
    return np.einsum("g,gij->ij", p, M), W


def late_laws(model: Combination) -> list[Reading]:
    """Return the laws at two late times, the last after 10^10 steps."""
    steps = Recursion(model)
    mean, S = steps.start()
    upper = np.triu_indices(steps.d)
    for law in steps.steps(EXACT):
        mean, S = _after(law, mean, S)
    t, found, period = EXACT, [], model.cycle
    for octave in range(OCTAVES):
        K, W = _round(steps, [coefficients(model, times) for times in _octave(model, t)])
        # Squarings: t is a power of two times the period of the networks.
        for _ in range(round(np.log2(t // period))):
            K, W = K @ K, W @ W
        moment = W @ np.append(S[upper], 1.0)
        mean, S, t = K @ mean, np.zeros_like(S), 2 * t
        S[upper] = S.T[upper] = moment[:-1]
        if octave in (OCTAVES // 2, OCTAVES - 1):
            found.append(_read(steps, t, mean, S))
    return found


def _octave(model: Combination, t: int) -> list[Array]:
    """Return times of the octave after t for each phase; whole ones where pressure depends on the parity of t."""
    if model.cycle == len(model.phases) and "t/2" not in model.pressure:
        # The midpoints of equal parts of the octave.
        return [t + 0.5 + t * (np.arange(1024) + 0.5) / 1024] * model.cycle
    rounds = np.unique(np.linspace(0, t // model.cycle - 1, 1024).round())
    return [t + 1 + phase + model.cycle * rounds for phase in range(model.cycle)]


def _round(steps: Recursion, parts: list[tuple[float, float, float]]) -> tuple[Array, Array]:
    K, W = np.eye(steps.d), np.eye(steps.d * (steps.d + 1) // 2 + 1)
    for phase, part in enumerate(parts):
        one, both = _as_matrix(steps.law(phase % len(steps.model.phases), part))
        K, W = one @ K, both @ W
    return K, W


def _read(steps: Recursion, t: int, mean: Array, S: Array) -> Reading:
    """Take twelve more steps, which every period of a class divides, and read off what they show."""
    n, d = steps.model.n, steps.d
    means, seconds, whole = [], [], np.eye(d)
    first = S
    for k in range(1, 13):
        part = coefficients(steps.model, np.array([float(t + k)]))
        law = steps.law((t + k - 1) % len(steps.model.phases), part)
        mean, S = _after(law, mean, S)
        whole = np.einsum("g,gij->ij", law[0], law[1]) @ whole
        means.append(mean[:n])
        seconds.append(S[:n, :n])
    turned = whole @ first
    moved = np.diag(S - turned - turned.T + first)[:n]
    return Reading(t + 12, np.array(means), np.array(seconds), np.asarray(moved))
