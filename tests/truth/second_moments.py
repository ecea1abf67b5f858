"""The exact law of a combination: all networks and all sets of agents who update are enumerated, step by step.

Later each octave of time is one block of equal rounds, in which 1/ρ is its mean over the octave; the map of second
moments over a block takes as many squarings as its length has binary digits, and 10^10 steps take a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.linalg import expm

from tests.truth.case import Array
from tests.truth.combinations import Combination, coefficients

EXACT = 512  # steps that are taken one by one
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

    def rows(self, A: Array, relief: float, sigma: float, alone: float) -> tuple[Array, Array]:
        """Return the weights of (y, x, u) in the preferred next y, and those of fresh noise."""
        model, n = self.model, self.model.n
        d = np.abs(A).sum(axis=1)
        zealot = np.isinf(model.stubbornness)
        s = np.where(zealot, 1.0, model.stubbornness)
        silent = (d == 0) | zealot
        total = np.where(silent, 1.0, s * relief + d)
        gain = np.where(silent, 0.0 if model.keeps else 1.0, s * relief / total)
        rows = np.zeros((n, self.d))
        rows[:, :n] = np.where(silent, 0.0, 1 / total)[:, None] * A + np.diag(np.where(silent & model.keeps, 1.0, 0.0))
        rows[:, n : 2 * n] = np.diag(gain)
        noise = gain * model.std * np.where(silent, alone, sigma)
        if self.memory:
            share = 1.0 if model.continuous else model.phi
            rows[:, 2 * n :] = np.diag(noise * share)
            noise = noise * np.sqrt(1 - model.phi**2)
        return rows, noise

    def law(self, phase: int, parts: list[tuple[float, float, float]]) -> Law:
        """Return the law of a step, of which each network has one map for all who update, or of a unit of time.

        ``parts`` are 1/ρ and scales of the noise, in equal parts of a unit of continuous time.
        """
        chances, maps, added = [], [], np.zeros((self.d, self.d))
        for p, A in self.model.phases[phase]:
            drawn = self._flows(A, parts) if self.model.continuous else self._updates(*self.rows(A, *parts[0]))
            for chance, F, Q in drawn:
                chances.append(p * chance)
                maps.append(F)
                added += p * chance * Q
        return np.array(chances), np.array(maps), added

    def _updates(self, rows: Array, noise: Array) -> Iterator[tuple[float, Array, Array]]:
        n, model = self.model.n, self.model
        for mask, chance in zip(self.masks, self.mask_chance, strict=True):
            F = np.eye(self.d)
            F[:n] += mask[:, None] * (rows - F[:n])
            F[n : 2 * n] += self.rates[:, None] * (F[:n] - np.eye(self.d)[n : 2 * n])
            G = np.zeros((self.d, n))
            G[:n] = np.diag(mask * noise)
            G[n : 2 * n] = self.rates[:, None] * G[:n]
            if self.memory:
                F[2 * n :, 2 * n :] *= model.phi
                G[2 * n :] = np.sqrt(1 - model.phi**2) * np.eye(n)
            yield float(chance), F, G @ G.T

    def _flows(self, A: Array, parts: list[tuple[float, float, float]]) -> Iterator[tuple[float, Array, Array]]:
        F, Q = np.eye(self.d), np.zeros((self.d, self.d))
        for part in parts:
            one, added = self._flow(*self.rows(A, *part), 1 / len(parts))
            F, Q = one @ F, one @ Q @ one.T + added
        yield 1.0, F, Q

    def _flow(self, rows: Array, noise: Array, length: float) -> tuple[Array, Array]:
        n, d, model = self.model.n, self.d, self.model
        H, D = np.zeros((d, d)), np.zeros((d, d))
        H[:n] = rows - np.eye(d)[:n]
        H[n : 2 * n, :n], H[n : 2 * n, n : 2 * n] = np.diag(self.rates), -np.diag(self.rates)
        if not self.memory:
            D[:n, :n] = np.diag(noise**2)
        elif model.phi < 1:
            theta = -np.log(model.phi)
            H[2 * n :, 2 * n :], D[2 * n :, 2 * n :] = -theta * np.eye(n), 2 * theta * np.eye(n)
        whole = expm(length * np.block([[H, D], [np.zeros((d, d)), -H.T]]))
        return whole[:d, :d], whole[:d, d:] @ whole[:d, :d].T

    def step(self, t: int) -> Law:
        """Return the law of step t."""
        model, phase = self.model, (t - 1) % len(self.model.phases)
        if not model.continuous:
            return self.law(phase, [coefficients(model, np.array([float(t)]))])
        parts = 64 if t <= 2 else 16 if t <= 16 else 4 if t <= 128 else 1
        middles = t - 1 + (np.arange(parts) + 0.5) / parts
        return self.law(phase, [coefficients(model, np.array([middle])) for middle in middles])

    def start(self) -> tuple[Array, Array]:
        model, n = self.model, self.model.n
        mean = np.concatenate([model.start, model.hidden, np.zeros(self.d - 2 * n)])
        return mean, np.outer(mean, mean) + np.diag(np.arange(self.d) >= 2 * n).astype(float)


def _after(law: Law, mean: Array, S: Array) -> tuple[Array, Array]:
    p, M, Q = law
    new = np.einsum("g,gij->ij", p, M @ S @ M.transpose(0, 2, 1)) + Q
    return np.einsum("g,gij,j->i", p, M, mean), (new + new.T) / 2


def _as_matrix(law: Law) -> tuple[Array, Array]:
    """Return the maps of the mean, and of (vec S, 1), in one step."""
    p, M, Q = law
    d = M.shape[1]
    W = np.zeros((d * d + 1, d * d + 1))
    W[:-1, :-1] = np.einsum("g,gij,gkl->ikjl", p, M, M).reshape(d * d, d * d)
    W[:-1, -1], W[-1, -1] = Q.ravel(), 1
    return np.einsum("g,gij->ij", p, M), W


def late_laws(model: Combination) -> list[Reading]:
    """Return the laws at two late times, the last after 10^10 steps."""
    steps = Recursion(model)
    mean, S = steps.start()

    for t in range(1, EXACT + 1):
        mean, S = _after(steps.step(t), mean, S)
    t, found, period = EXACT, [], model.cycle
    for octave in range(OCTAVES):
        K, W = _round(steps, [coefficients(model, times) for times in _octave(model, t)])
        # Squarings: t is a power of two times the period of the networks.
        for _ in range(round(np.log2(t // period))):
            K, W = K @ K, W @ W
        moment = W @ np.append(S.ravel(), 1.0)
        mean, S, t = K @ mean, moment[:-1].reshape(S.shape), 2 * t
        S = (S + S.T) / 2
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
    K, W = np.eye(steps.d), np.eye(steps.d**2 + 1)
    for phase, part in enumerate(parts):
        one, both = _as_matrix(steps.law(phase % len(steps.model.phases), [part]))
        K, W = one @ K, both @ W
    return K, W


def _read(steps: Recursion, t: int, mean: Array, S: Array) -> Reading:
    """Take twelve more steps, which every period of a class divides, and read off what they show."""
    n, d = steps.model.n, steps.d
    means, seconds, whole = [], [], np.eye(d)
    first = S
    for k in range(1, 13):
        parts = [coefficients(steps.model, np.array([float(t + k)]))]
        law = steps.law((t + k - 1) % len(steps.model.phases), parts)
        mean, S = _after(law, mean, S)
        whole = np.einsum("g,gij->ij", law[0], law[1]) @ whole
        means.append(mean[:n])
        seconds.append(S[:n, :n])
    turned = whole @ first
    moved = np.diag(S - turned - turned.T + first)[:n]
    return Reading(t + 12, np.array(means), np.array(seconds), np.asarray(moved))
