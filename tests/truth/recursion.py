"""Exact mean and covariance over very many steps, by the naive recursion in dense matrices, for many models at once.

The state is z = (y, x, u): public opinions, hidden opinions where they adapt, and the noise's memory u where it has
one. One step is z ← F z + b + noise of covariance Q, straight from the definition of the model:

    u' = φ u + √(1−φ²) w,   y' = g ∘ (x + std σ_t u') + C y,   x' = x + η ∘ (y' − x).

The first ``EXACT`` steps are taken one by one. Later each octave of time is divided into ``BLOCKS`` blocks, in which
coefficients are periodic: 1/ρ is the mean of 1/ρ_t over the block, and σ and η are means as well, so the mean and
the variance that a block adds are right to first order in 1/ρ. The block's power of F then takes a few squarings, and
some hundred million steps a few milliseconds. The last quarter of an octave has shorter blocks: what forgets noise that
grows or fades as fast as it comes has the variance of the last of them, and not of the octave's end. Before anything is
read off, steps are taken one by one again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import islice
from typing import Any, TypeAlias

import numpy as np

from tests.truth.case import CYCLE, Array, Case, curve

EXACT = 128 * CYCLE  # steps that are taken one by one
OCTAVES = 20  # then time doubles this many times, to 1.6e9
BLOCKS = 8  # of equal length, the last two of which are divided into as many again
SAMPLES = 192  # times at which the coefficients of a block are read
TOGETHER = 192  # steps whose matrices are made at once
RELAX, WINDOW = 3 * CYCLE, 2 * CYCLE  # exact steps before a reading, and steps that are read


Coefficient: TypeAlias = tuple[Array, Array, Array]  # 1/ρ, σ and η, each of shape (models,)
Coefficients: TypeAlias = list[Coefficient]
Map: TypeAlias = tuple[Array, Array, Array]  # F, b and Q


@dataclass(frozen=True, eq=False)
class Reading:
    """Root mean squares over agents, noise and a window of steps at a late time, of one model.

    ``distance`` of y_i − v, ``common`` of ȳ − v, ``spread`` of y_i − ȳ, ``within`` the same inside of components,
    ``move`` of y_{t+1} − y_t, ``drift`` of the change over the whole window, ``hidden_spread`` of x_i − x̄. ``mean``
    and ``std`` belong to ȳ over the window and at its end, ``hidden_std`` to x̄, ``mode_mean`` and ``mode_std`` to the
    consensus mode. Parts "of mean" and "of noise" add up in squares. ``states`` and ``deviations`` have the mean and
    the standard deviation of each agent at each step.
    """

    t: float
    distance: float
    distance_of_mean: float
    distance_of_noise: float
    common: float
    spread: float
    spread_of_mean: float
    spread_of_noise: float
    within: float
    within_of_mean: float
    within_of_noise: float
    hidden_spread: float
    hidden_spread_of_mean: float
    hidden_spread_of_noise: float
    move: float
    drift: float
    mean: float
    std: float
    hidden_std: float
    mode_mean: float
    mode_std: float
    states: Array
    deviations: Array

    @property
    def relative_spread(self) -> float:
        """The spread in deviations of the mean of all agents."""
        return self.spread / self.std if self.std > 0 else 0.0

    @property
    def mean_swing(self) -> float:
        """The largest range of an agent's mean over the window."""
        return float(np.ptp(self.states, axis=0).max())


@dataclass(frozen=True, eq=False)
class Truth:
    """Readings of one model at growing times, and its law at every early step.

    ``start_weight`` is the weight of the start in the consensus mode.
    """

    readings: tuple[Reading, ...]
    mode_mean: Array
    mode_std: Array
    distance: Array
    states: Array
    deviations: Array
    start_weight: Array


@dataclass
class _Law:
    mean: Array
    covariance: Array


class _Batch:
    """Models of one kind, padded to the same number of agents by isolated agents without opinion or noise."""

    def __init__(self, cases: Sequence[Case]) -> None:
        self.cases, self.n = cases, max(case.n for case in cases)
        self.adapts, self.memory = cases[0].adapts, cases[0].phi != 0
        self.continuous = cases[0].continuous
        n = self.n
        keep = [np.arange(n)] + [np.arange(n, 2 * n)] * self.adapts + [np.arange(2 * n, 3 * n)] * self.memory
        self.keep = np.concatenate(keep)
        self.s, self.x0 = self._padded("stubbornness", 1.0), self._padded("hidden", 0.0)
        self.y0, self.std = self._padded("start", 0.0), self._padded("std", 0.0)
        self.weight = np.stack([_pad(np.ones(c.n) if c.weight is None else c.weight, n, 0.0) for c in cases])
        self.phi = np.array([case.phi for case in cases])[:, None]
        self.cycle = np.stack([self._networks(np.resize(c.cycle, (CYCLE, c.n, c.n))) for c in cases])
        # Where pressure depends on the parity of t, the two kinds of steps have means of their own.
        self.period = CYCLE if any(c.temporal for c in cases) else 2 if any("t/2" in c.pressure for c in cases) else 1
        self.prefix = [None if c.prefix is None else self._networks(c.prefix) for c in cases]
        real = np.stack([_pad(np.ones(c.n), n, 0.0) for c in cases])
        self.agents = real / real.sum(axis=1, keepdims=True)
        eye = real[:, :, None] * np.eye(n)
        self.apart = eye - real[:, :, None] * self.agents[:, None, :]
        self.inside = eye - np.stack([self._components(c) for c in cases])
        self.mode = np.stack([_pad(c.mode, n, 0.0) for c in cases])
        self.v = np.array([c.value for c in cases])
        self.rho, self.scale = ([curve(getattr(c, name)) for c in cases] for name in ("pressure", "scale"))
        self.rate = [curve(c.rate) for c in cases]

    def _padded(self, name: str, fill: float) -> Array:
        return np.stack([_pad(getattr(case, name), self.n, fill) for case in self.cases])

    def _networks(self, graphs: Array) -> Array:
        return np.pad(graphs, [(0, 0)] + [(0, self.n - graphs.shape[1])] * 2)

    def _components(self, case: Case) -> Array:
        same = case.components[:, None] == case.components
        return np.pad(same / same.sum(axis=1, keepdims=True), (0, self.n - case.n))

    def network(self, t: int) -> Array:
        """Return the networks of step t, shape (models, agents, agents)."""
        A = self.cycle[:, (t - 1) % CYCLE]
        early = [i for i, graphs in enumerate(self.prefix) if graphs is not None and t <= len(graphs)]
        if early:
            A = A.copy()
            for i in early:
                graphs = self.prefix[i]
                assert graphs is not None
                A[i] = graphs[t - 1]
        return A

    def coefficients(self, times: Array) -> Coefficients:
        """Return 1/ρ, σ and η, one triple per row of times, as means over the times of the row."""
        with np.errstate(all="ignore"):
            reciprocal = 1 / np.stack([rho(times) for rho in self.rho])
            sigma = np.stack([scale(times) for scale in self.scale])
            q = reciprocal.mean(axis=2)
            # The variance that a block adds has the weights σ²/ρ², and frozen noise σ/ρ.
            power = np.where(self.phi == 0, 2.0, 1.0)
            weighted = np.mean((sigma * reciprocal) ** power[:, :, None], axis=2) ** (1 / power) / q
            plain = np.mean(sigma ** power[:, :, None], axis=2) ** (1 / power)
            eta = np.stack([rate(times).mean(axis=1) for rate in self.rate])
        return list(zip(q.T, np.where(np.isfinite(weighted), weighted, plain).T, eta.T, strict=True))

    def step(self, coefficients: Coefficient, A: Array) -> Map:
        """Return F, b and Q of one step, or of several, which are then the first axis of everything."""
        q, sigma, eta = (one[..., None] for one in coefficients)
        n, s, d = self.n, self.s, A.sum(axis=-1)
        # Multiplied out by 1/ρ, which stays finite where ρ overflows; where ρ = 0 everybody is alone.
        alone = (d == 0) | ~np.isfinite(q)
        own_weight = s * np.where(alone, 1.0, q)
        g = np.where(alone, 1.0, own_weight / (own_weight + d))
        C = np.where(alone, 0.0, 1 / (own_weight + d))[..., None] * A
        noise = g * self.std * sigma
        eye = np.eye(n)
        if not (self.adapts or self.memory):
            return C, g * self.x0, (noise**2)[..., None] * eye
        shape = (*g.shape[:-1], 3 * n, 3 * n)
        rate, fresh = eta * self.weight, np.broadcast_to(np.sqrt(1 - self.phi**2), g.shape)
        F, G = np.zeros(shape), np.zeros((*shape[:-1], n))
        F[..., :n, :n], F[..., :n, n : 2 * n] = C, g[..., None] * eye
        F[..., :n, 2 * n :], G[..., :n, :] = (noise * self.phi)[..., None] * eye, (noise * fresh)[..., None] * eye
        F[..., n : 2 * n, :] = rate[..., None] * F[..., :n, :]
        G[..., n : 2 * n, :] = rate[..., None] * G[..., :n, :]
        F[..., n : 2 * n, n : 2 * n] += (1 - rate)[..., None] * eye
        F[..., 2 * n :, 2 * n :], G[..., 2 * n :, :] = self.phi[..., None] * eye, fresh[..., None] * eye
        # Hidden opinions that never move are no part of the state, but a constant.
        x0 = np.broadcast_to(self.x0, g.shape)
        b = np.zeros(shape[:-1]) if self.adapts else np.concatenate([g * x0, x0, 0 * g], axis=-1)
        F, G, b = F[..., self.keep[:, None], self.keep], G[..., self.keep, :], b[..., self.keep]
        return F, b, G @ G.swapaxes(-1, -2)

    def flow(self, coefficients: Coefficient, A: Array, halvings: int) -> Map:
        """Return the same for times of 2^−halvings of the SDE dy = (b − (I − C) y) dt + G dw."""
        # In long doubles, or the rounding of many short steps would add up.
        exact: list[Any] = [part.astype(np.longdouble) for part in self.step(coefficients, A)]
        C, b, Q = exact
        L, eye, h = C - np.eye(self.n), np.eye(self.n), 2.0**-8
        # To third order in a short time, which is then doubled.
        half = h / 2 * (L @ Q)
        F = eye + h * L @ (eye + h / 2 * L @ (eye + h / 3 * L))
        b = h * ((eye + h / 2 * L @ (eye + h / 3 * L)) @ b[..., None])[..., 0]
        F, b, Q = _power((F, b, h * (Q + half + half.swapaxes(-1, -2))), 2 ** (8 - halvings))
        return F.astype(np.float64), b.astype(np.float64), Q.astype(np.float64)

    def start(self) -> _Law:
        mean = np.concatenate([self.y0, self.x0, 0 * self.y0], axis=1)[:, self.keep]
        memory = np.concatenate([0 * self.y0, 0 * self.y0, 0 * self.y0 + 1], axis=1)[:, self.keep]
        return _Law(mean, memory[:, :, None] * np.eye(mean.shape[1]))


def _pad(values: Array, n: int, fill: float) -> Array:
    return np.pad(np.asarray(values, float), (0, n - len(values)), constant_values=fill)


def _apply(F: Array, b: Array, Q: Array, law: _Law) -> _Law:
    mean = (F @ law.mean[..., None])[..., 0] + b
    return _Law(mean, F @ law.covariance @ F.swapaxes(-1, -2) + Q)


def _after(first: Map, second: Map) -> Map:
    """Return the map of one stretch of time and then another."""
    (F1, b1, Q1), (F2, b2, Q2) = first, second
    return F2 @ F1, (F2 @ b1[..., None])[..., 0] + b2, F2 @ Q1 @ F2.swapaxes(-1, -2) + Q2


def _power(one: Map, count: int) -> Map:
    """Return the map of several equal stretches of time, by squaring."""
    rest = None
    while count > 1:
        if count % 2:
            rest = one if rest is None else _after(rest, one)
        one, count = _after(one, one), count // 2
    return one if rest is None else _after(rest, one)


def truths(cases: Sequence[Case]) -> list[Truth]:
    """Return the truth about each model."""
    kinds: dict[tuple[bool, ...], list[int]] = {}
    for number, case in enumerate(cases):
        kind = (case.adapts, case.phi != 0, case.continuous, "t/2" in case.pressure)
        kinds.setdefault(kind, []).append(number)
    found: dict[int, Truth] = {}
    for numbers in kinds.values():
        found |= dict(zip(numbers, _truths(_Batch([cases[i] for i in numbers])), strict=True))
    return [found[number] for number in range(len(cases))]


def distance_under(case: Case, pressure: Array) -> float:
    """Return the agents' root mean square distance to v after as many steps as pressures are given."""
    batch = _Batch([case])
    batch.rho, law = [lambda t: np.asarray(pressure[t.astype(int) - 1])], batch.start()
    for one in _steps(batch, 0, len(pressure)):
        law = _apply(*one, law)
    return float(_brief(batch, law)[2][0])


def _steps(batch: _Batch, begin: int, count: int) -> Iterator[Map]:
    """Yield the maps of single steps."""
    times = np.arange(begin + 1, begin + count + 1)
    if not batch.continuous:
        for first in range(0, count, TOGETHER):
            some = times[first : first + TOGETHER]
            coefficients = _stacked(batch.coefficients(some[:, None].astype(float)))
            yield from zip(*batch.step(coefficients, np.stack([batch.network(int(t)) for t in some])), strict=True)
        return
    for t in times:
        # A unit of time in parts, each at the pressure of its middle; many while pressure changes fast.
        halvings = 6 if t <= 4 else 4 if t <= 32 else 2 if t <= 256 else 0
        middles = t - 1 + (np.arange(2**halvings) + 0.5) / 2**halvings
        parts = batch.flow(_stacked(batch.coefficients(middles[:, None])), batch.network(int(t)), halvings)
        yield reduce(_after, zip(*parts, strict=True))


def _stacked(coefficients: Coefficients) -> Coefficient:
    q, sigma, eta = map(np.stack, zip(*coefficients, strict=True))
    return q, sigma, eta


def _truths(batch: _Batch) -> list[Truth]:
    exact, octaves = (EXACT // 8, OCTAVES + 2) if batch.continuous else (EXACT, OCTAVES)
    law, readings, n = batch.start(), [], batch.n
    weight = np.zeros_like(law.mean)
    weight[:, :n] = 1
    means, covariances, weights = [], [], []
    for t, one in enumerate(_steps(batch, 0, exact), start=1):
        law, weight = _apply(*one, law), (one[0] @ weight[..., None])[..., 0]
        means.append(law.mean[:, :n])
        covariances.append(law.covariance[:, :n, :n])
        weights.append(weight[:, :n])
        if t in (exact // 8, exact // 4, exact // 2):
            readings.append(_read(batch, law, t, 0))
    brief = _brief(batch, _Law(np.stack(means), np.stack(covariances)))
    t = exact
    for octave in range(octaves):
        if octave % 2 == 0:
            readings.append(_read(batch, law, t, RELAX))
        last = t + (BLOCKS - 2) * (t // BLOCKS)
        for one in (*_blocks(batch, t, t // BLOCKS, BLOCKS - 2), *_blocks(batch, last, 2 * t // BLOCKS**2, BLOCKS)):
            law = _apply(*one, law)
        t *= 2
    readings.append(_read(batch, law, t, RELAX))
    early = [part.swapaxes(0, 1) for part in (*brief, (batch.mode * np.stack(weights)).sum(axis=-1))]
    return [_truth(batch, i, readings, early) for i in range(len(batch.cases))]


def _truth(batch: _Batch, i: int, readings: list[dict[str, Array]], early: list[Array]) -> Truth:
    case, own = batch.cases[i], []
    for reading in readings if case.averages else readings[:4]:
        parts: dict[str, Any] = {name: float(value[i]) for name, value in reading.items() if value.ndim == 1}
        parts |= {name: value[:, i, : case.n] for name, value in reading.items() if value.ndim == 3}
        own.append(Reading(**parts))
    mode_mean, mode_std, distance, states, deviations, weight = (part[i] for part in early)
    return Truth(tuple(own), mode_mean, mode_std, distance, states[:, : case.n], deviations[:, : case.n], weight)


def _blocks(batch: _Batch, begin: int, steps: int, count: int) -> list[Map]:
    """Return the maps of a number of blocks of so many steps, after the step ``begin``."""
    period = 1 if batch.continuous else batch.period
    # Points of the golden sequence lie evenly in every interval.
    shares = (0.5 + np.arange(SAMPLES // period) * 0.6180339887498949) % 1
    first = begin + steps * np.arange(count)[:, None] + period * np.floor(shares * (steps // period))
    # Read at once: every row of times is one residue in one block.
    rows = _stacked(batch.coefficients(np.concatenate([first + k for k in range(1, period + 1)])))
    q, sigma, eta = (one.reshape(period, count, -1) for one in rows)
    residues: Coefficients = list(zip(q, sigma, eta, strict=True))
    if batch.continuous:
        return _listed(_power(batch.flow(residues[0], batch.network(begin + 1), 0), steps))
    parts = [batch.step(one, batch.network(begin + k)) for k, one in enumerate(residues, start=1)]
    whole = reduce(_after, parts)
    if period > 1:
        return _listed(_power(whole, steps // period))
    # Odd lengths, so the jumps of the pressure between blocks move the two sides of a bipartite network to and fro, as
    # its gradual growth does, and not always the same way.
    longer, shorter = (
        _listed(_power((whole[0][k::2], whole[1][k::2], whole[2][k::2]), steps + odd)) for k, odd in ((0, 1), (1, -1))
    )
    return [one for pair in zip(longer, shorter, strict=True) for one in pair]


def _listed(several: Map) -> list[Map]:
    """Return maps, whose first axis is that of blocks, one by one."""
    return list(zip(*several, strict=True))


def _split(name: str, J: Array, mean: Array, covariance: Array, share: Array) -> dict[str, Array]:
    """Return Σ_i share_i E(J z)_i², the part of it that is due to the mean, and the part that is due to noise.

    They are means over the steps of a window, the first axis of ``mean`` and ``covariance``.
    """
    of_mean = (share * (J @ mean[..., None])[..., 0] ** 2).sum(axis=-1)
    of_noise = (share * np.maximum(((J @ covariance) * J).sum(axis=-1), 0.0)).sum(axis=-1)
    parts = {name: of_mean + of_noise, f"{name}_of_mean": of_mean, f"{name}_of_noise": of_noise}
    return {part: np.maximum(value, 0).mean(axis=0) for part, value in parts.items()}


def _brief(batch: _Batch, law: _Law) -> tuple[Array, ...]:
    n = batch.n
    mean, covariance = law.mean[..., :n], law.covariance[..., :n, :n]
    variance = np.einsum("...ii->...i", covariance)
    mode = (batch.mode * mean).sum(axis=-1)
    mode_variance = (batch.mode * (covariance @ batch.mode[..., None])[..., 0]).sum(axis=-1)
    distance = (batch.agents * ((mean - batch.v[:, None]) ** 2 + variance)).sum(axis=-1)
    return mode, np.sqrt(np.maximum(mode_variance, 0)), np.sqrt(distance), mean, np.sqrt(np.maximum(variance, 0))


def _moved(batch: _Batch, one: Map, law: _Law) -> Array:
    """Return the mean square over agents of the change of y from a law on, by one map."""
    n, (F, b, Q) = batch.n, one
    move = F[:, :n] - np.eye(F.shape[1])[:n]
    moved = (move @ law.mean[..., None])[..., 0] + b[:, :n]
    change = ((move @ law.covariance) * move).sum(axis=-1) + np.einsum("bii->bi", Q[:, :n, :n])
    return np.asarray(np.maximum((batch.agents * (moved**2 + change)).sum(axis=-1), 0))


def _read(batch: _Batch, law: _Law, t: int, relax: int) -> dict[str, Array]:
    """Take further steps one by one on a copy, and read off what they show."""
    n = batch.n
    maps = _steps(batch, t, relax + WINDOW)
    for one in islice(maps, relax):
        law = _apply(*one, law)
    first, path, laws, moves = law, None, [], []
    for one in maps:
        moves.append(_moved(batch, one, law))
        law = _apply(*one, law)
        path = one if path is None else _after(path, one)
        laws.append(law)
    assert path is not None
    means, covariances = np.stack([one.mean for one in laws]), np.stack([one.covariance for one in laws])
    mean, covariance = means[..., :n], covariances[..., :n, :n]
    own = slice(n, 2 * n) if batch.adapts else slice(0)
    J, share = (batch.apart, batch.agents) if batch.adapts else (batch.apart[:, :0, :0], batch.agents[:, :0])
    sums = {
        "move": np.stack(moves).mean(axis=0),
        **_split("distance", np.eye(n), mean - batch.v[:, None], covariance, batch.agents),
        **_split("spread", batch.apart, mean, covariance, batch.agents),
        **_split("within", batch.inside, mean, covariance, batch.agents),
        **_split("hidden_spread", J, means[..., own], covariances[..., own, own], share),
        "drift": _moved(batch, path, first),
    }
    mode, mode_std, *_ = _brief(batch, law)
    own_mean = np.einsum("bi,kbi->b", batch.agents, mean) / WINDOW
    variance = np.einsum("bi,bij,bj->b", batch.agents, covariance[-1], batch.agents)
    hidden = np.einsum("bi,bij,bj->b", share, covariances[-1][:, own, own], share)
    return {name: np.sqrt(value) for name, value in sums.items()} | {
        "common": np.hypot(own_mean - batch.v, np.sqrt(np.maximum(variance, 0))),
        "t": np.full(len(batch.cases), t + relax + WINDOW),
        "mean": own_mean,
        "std": np.sqrt(np.maximum(variance, 0)),
        "hidden_std": np.sqrt(np.maximum(hidden, 0)),
        "mode_mean": mode,
        "mode_std": mode_std,
        "states": mean,
        "deviations": np.sqrt(np.maximum(np.einsum("kbii->kbi", covariance), 0)),
    }
