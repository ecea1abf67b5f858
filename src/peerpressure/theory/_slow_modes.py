"""The consensus mode of a small network at any distance: the few sums of the state that never stop to matter.

Weights λ of the state at a late step, traced back by λ_{t−1} = F_tᵀλ_t, come to one direction e_t whatever they were,
or on a network with two sides to one for each side: all other directions are forgotten within a ``window`` of steps.
e_t is a smooth function of t, and so are the factor by which it shrinks in two steps, and what opinions and noise add
meanwhile. The mean of eᵀz and its variance are therefore recursions of single numbers, which the formula of Euler and
Maclaurin sums over intervals of doubling length. The mode itself is traced back over the window, step by step.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.affine import coefficients
from peerpressure.model import Model
from peerpressure.propagation import adjoint_moments
from peerpressure.propagation.dense_steps import LARGEST_STATE
from peerpressure.schedules import Table
from peerpressure.step import Array
from peerpressure.theory._classification import LongRun
from peerpressure.theory._scalar_mode import FIRST, LOCAL, SCANNED, Smooth, smooth_nodes
from peerpressure.theory._structure import period_of

# Share of a direction that may depend on where it was traced from; windows that are tried.
_FORGOTTEN, _WINDOWS = 1e-13, (16, 64, 256, 1024, FIRST // 2)
# Steps whose schedules are evaluated at once.
_BLOCK = 64
# Multiplications for one interval.
_MOST_WORK = 5e8
# Agreement that is asked for between these recursions and the steps themselves, twice as far as they begin.
_AGREEMENT = 1e-8


class _Traced(NamedTuple):
    """Weights of the state before some steps: those of public opinions and of noise memory, (times, sums, agents).

    ``mean`` and ``covariance`` are what opinions and noise of these steps add, (times, sums) and (times, sums, sums),
    ``size`` is what opinions add without their signs, and ``lost`` the weight that is left on opinions.
    """

    public: Array
    memory: Array
    mean: Array
    covariance: Array
    size: Array
    lost: Array


class _State(NamedTuple):
    """Mean and covariance of the slow sums, (sums,) and (sums, sums)."""

    mean: Array
    covariance: Array


@final
@dataclass(frozen=True, eq=False)
class SlowModes:
    """Errors of the consensus mode of a model whose other directions are forgotten within ``window`` steps."""

    model: Model
    sides: NDArray[np.bool_]
    window: int

    def traced(self, public: Array, memory: Array, times: Array, steps: int) -> _Traced:
        """Trace weights of the state after ``times``, which need not be whole, back over a number of steps."""
        model, noise, n = self.model, self.model.noise, self.model.n
        opinions, deviations, phi = model.x0 - model.consensus_value, noise.deviations(n), noise.autocorrelation
        fresh = (1 - phi) * (1 + phi)
        mean, size, lost = (np.zeros(public.shape[:2]) for _ in range(3))
        covariance = np.zeros((*public.shape[:2], public.shape[1]))
        for relief, weight, scale in self._schedules(times, steps):
            gain, coupling = coefficients(relief, weight, model.s, model.network.degrees)
            own = gain[:, None] * public
            mean += own @ opinions
            size += np.abs(own) @ np.abs(opinions)
            lost += own.sum(axis=2)
            if not noise.is_zero:
                felt = own * deviations * scale[:, None] + memory
                covariance += fresh * np.einsum("tai,tbi->tab", felt, felt)
                memory = phi * felt
            heard = (coupling[:, None] * public).reshape(-1, n)
            public = self._passed_back(heard).reshape(public.shape)
        return _Traced(public, memory, mean, covariance, size, lost)

    def _passed_back(self, rows: Array) -> Array:
        """Return the product of each row with the network."""
        if self._dense is None:
            return np.asarray(self.model.network.transposed @ rows.T).T
        return np.asarray(rows @ self._dense)

    @cached_property
    def _dense(self) -> Array | None:
        """The network of few agents as a dense matrix, whose products take a fraction of the time."""
        return self.model.network.adjacency.toarray() if self.model.n <= LARGEST_STATE else None

    def _schedules(self, times: Array, steps: int) -> Iterator[tuple[Array, Array, Array]]:
        """Yield relief and weight of pressure and the scale of noise at times, then a step earlier, (times, 1) each."""
        for begin in range(0, steps, _BLOCK):
            at = times - np.arange(begin, min(begin + _BLOCK, steps))[:, None]
            relief, weight = self.model.pressure.homogeneous(at)
            for parts in zip(relief, weight, self.model.noise.scale(at), strict=True):
                relief_now, weight_now, scale = (part[:, None] for part in parts)
                yield relief_now, weight_now, scale

    @cached_property
    def _mode(self) -> Array:
        return np.where(self.sides, self.model.mode_weights, 0.0)

    def directions(self, times: Array, window: int | None = None) -> tuple[Array, Array]:
        """Return the slow directions after some times, each with the sum 1 over its own side."""
        seeds = np.broadcast_to(self._mode, (times.size, *self._mode.shape))
        steps = window or self.window
        back = self.traced(seeds, np.zeros_like(seeds), times + steps, steps)
        totals = np.einsum("tai,ai->ta", back.public, self.sides.astype(np.float64))[..., None]
        return back.public / totals, back.memory / totals

    def begun(self) -> _State:
        """Return the law of the slow sums after the first steps, by all of these steps."""
        (public,), (memory,) = self.directions(np.array([float(FIRST)]))
        phi = self.model.noise.autocorrelation
        law = adjoint_moments(self._centred, public, np.array([FIRST]), memory / phi if phi else None)
        return _State(law.mean[0], law.covariance)

    def exact_error(self, t: int) -> float:
        """Return the error of the mode after t steps, by all of these steps."""
        law = adjoint_moments(self._centred, self.model.mode_weights[None], np.array([t]))
        return math.hypot(law.mean[0, 0], math.sqrt(law.covariance[0, 0]))

    @cached_property
    def _centred(self) -> Model:
        """The model with opinions as distances from v, which may be far below their magnitude."""
        model = self.model
        v = model.consensus_value
        return replace(model, hidden=model.x0 - v, start=model.start_state - v)

    def pairs(self, tau: Array) -> tuple[Array, Array, Array, Array]:
        """Return what the two steps to times 2τ do to the slow sums: log of factors, means, covariances and sizes."""
        times = 2.0 * tau
        back = self.traced(*self.directions(times), times, 2)
        # The sum of the weights falls by what is left on opinions, which is small and known to all digits.
        return np.log1p(-back.lost), back.mean, back.covariance, back.size

    def after(self, state: _State, interval: _Interval, times: NDArray[np.int64]) -> Array:
        """Return the errors of the mode after some times of one parity, from the state where the interval begins."""
        steps = self.window + int(times[0] % 2)
        seeds = np.broadcast_to(self.model.mode_weights, (times.size, 1, self.model.n))
        local = self.traced(seeds, np.zeros_like(seeds), times.astype(np.float64), steps)
        shares = np.einsum("ti,ai->ta", local.public[:, 0], self.sides.astype(np.float64))
        known = interval.states(state, (times - steps) // 2)
        bias = local.mean[:, 0] + np.array([c @ one.mean for c, one in zip(shares, known, strict=True)])
        variance = local.covariance[:, 0, 0] + np.array(
            [c @ one.covariance @ c for c, one in zip(shares, known, strict=True)]
        )
        return np.asarray(np.hypot(bias, np.sqrt(np.maximum(variance, 0.0))))

    def interval(self, first: int, last: int) -> _Interval | None:
        """Return the recursions over the pairs of steps first + 1…last; None if they are not smooth."""
        logs, means, covariances, sizes = self.pairs(smooth_nodes(first, last))
        count, largest = logs.shape[1], float(np.abs(covariances).max())
        rates = [Smooth.fitted(each, first, last) for each in logs.T]
        # Errors are compared with what is added up, since opinions on both sides of v nearly cancel.
        added = [_Added.of(each, first, last, float(size.max())) for each, size in zip(means.T, sizes.T, strict=True)]
        noise = [_Added.of(each, first, last, largest) for each in covariances.reshape(-1, count**2).T]
        known = [part for part in rates if part], [part for part in added if part], [part for part in noise if part]
        complete = sum(len(parts) for parts in known) == len(rates) + len(added) + len(noise)
        return _Interval(first, last, *known) if complete else None


class _Added(NamedTuple):
    """What two steps add to a sum as a smooth function, and the size that its errors are compared with."""

    function: Smooth
    size: float

    @classmethod
    def of(cls, values: Array, first: int, last: int, size: float) -> _Added | None:
        """Return the function with these values at nodes; None if it is not smooth."""
        function = Smooth.fitted(values, first, last, size)
        return None if function is None else cls(function, size)


@final
@dataclass(frozen=True, eq=False)
class _Interval:
    """Smooth recursions of the slow sums between two pairs of steps."""

    first: int
    last: int
    rates: list[Smooth]
    added: list[_Added]
    noise: list[_Added]

    def states(self, state: _State, tau: NDArray[np.int64]) -> list[_State]:
        """Return the states after some pairs of steps."""
        count, at = len(self.rates), tau.astype(np.float64)
        mean = np.empty((tau.size, count))
        covariance = np.empty((tau.size, count, count))
        for a in range(count):
            mean[:, a] = self._moved(float(state.mean[a]), self.added[a], [self.rates[a]], at)
            for b in range(count):
                both = [self.rates[a], self.rates[b]]
                covariance[:, a, b] = self._moved(float(state.covariance[a, b]), self.noise[a * count + b], both, at)
        return [_State(*pair) for pair in zip(mean, covariance, strict=True)]

    def _moved(self, begin: float, added: _Added, rates: list[Smooth], at: Array) -> Array:
        """Return x(τ) of x(τ) = m(τ) x(τ − 1) + f(τ), for factors m whose logarithms add up."""

        def grown(tau: Array) -> Array:
            return np.asarray(sum(rate.sums(tau) for rate in rates))

        total = grown(at)
        # Weighted back to the beginning of the interval, over which factors change by little.
        nodes = smooth_nodes(self.first, self.last)
        weights = np.exp(-grown(nodes))
        size = added.size * float(weights.max())
        weighted = Smooth.fitted(added.function(nodes) * weights, self.first, self.last, size)
        gathered = np.full(at.size, np.nan) if weighted is None else weighted.sums(at)
        return np.asarray(np.exp(total) * (begin + gathered))


@final
@dataclass(frozen=True, eq=False)
class FarMode:
    """Errors of the consensus mode at any step, from slow sums whose law after the first steps is known."""

    slow: SlowModes
    begin: _State

    def error(self, t: int) -> float:
        """Return the error after a step beyond the first ones; the functions must be smooth."""
        at, state = FIRST // 2, self.begin
        while True:
            end = 2 * at
            interval = self.slow.interval(at, end)
            assert interval is not None
            if t - self.slow.window - 1 <= 2 * end:
                return float(self.slow.after(state, interval, np.array([t]))[0])
            at, state = end, interval.states(state, np.array([end]))[0]

    def last_above(self, precision: float, last: int) -> int | None:
        """Return the last step up to ``last`` whose error exceeds a precision, 0 without one after the first steps.

        None if that is not known.
        """
        at, state, above = FIRST // 2, self.begin, 0
        while 2 * at + self.slow.window + 1 < last:
            end = 2 * at
            interval = self.slow.interval(at, end)
            if interval is None:
                return None
            late = [self._late(precision, state, interval, parity, last) for parity in (0, 1)]
            if None in late:
                return None
            above = max([above, *(step for step in late if step)])
            at, state = end, interval.states(state, np.array([end]))[0]
        return above

    def _late(self, precision: float, state: _State, interval: _Interval, parity: int, last: int) -> int | None:
        """Return the last step of an interval and of one parity above the precision, 0 without one."""
        shift = self.slow.window + parity
        low, high = 2 * interval.first + shift, min(2 * interval.last + shift, last - (last - parity) % 2)
        points = np.unique(np.linspace(low // 2, high // 2, SCANNED).astype(np.int64)) * 2 + parity

        def exceeds(times: NDArray[np.int64]) -> NDArray[np.bool_] | None:
            errors = self.slow.after(state, interval, times)
            return None if np.any(np.isnan(errors)) else errors > precision

        marks = exceeds(points)
        if marks is None or not marks.any():
            return None if marks is None else 0
        k = int(np.flatnonzero(marks)[-1])
        if k == points.size - 1:
            return int(points[k])
        low, high = int(points[k]), int(points[k + 1])
        while high - low > 2 * LOCAL:
            # Several steps at once, since they share most of their work.
            between = np.unique(np.linspace(low // 2, high // 2, SCANNED).astype(np.int64))[1:-1] * 2 + parity
            found = exceeds(between)
            assert found is not None
            inside = np.flatnonzero(found)
            edge = int(inside[-1]) if inside.size else -1
            low, high = int(between[edge]) if edge >= 0 else low, int(np.append(between, high)[edge + 1])
        near = np.arange(low, high, 2)
        found = exceeds(near)
        assert found is not None
        return int(near[np.flatnonzero(found)[-1]])


def far_mode(long_run: LongRun) -> FarMode | None:
    """Return the errors of the mode at any distance; None where they take all steps, or too much work."""
    model = long_run.model
    smooth = long_run.growth.is_regular and not isinstance(model.pressure, Table)
    frozen = model.noise.autocorrelation == 1
    if not (model.is_plain and smooth) or long_run.continuous or model.network.signed or frozen:
        return None
    sides = _sides(model)
    work = model.network.adjacency.nnz + 20.0 * model.n
    if sides is None:
        return None
    for window in _WINDOWS:
        slow = SlowModes(model, sides, window)
        if window * work * len(sides) * smooth_nodes(FIRST, 2 * FIRST).size > _MOST_WORK:
            return None
        if _is_forgotten(slow):
            return _confirmed(FarMode(slow, slow.begun()))
    return None


def _sides(model: Model) -> NDArray[np.bool_] | None:
    """Return who belongs to each set of agents that keeps weights to itself in two steps, (sets, agents)."""
    network = model.network
    if not network.is_connected or np.any(network.degrees == 0):
        return None
    if network.sides is not None:
        return np.stack([~network.sides, network.sides])
    return None if network.directed and period_of(model) > 1 else np.ones((1, model.n), np.bool_)


def _is_forgotten(slow: SlowModes) -> bool:
    """Whether half of the window gives the same directions."""
    at = np.array([float(FIRST)])
    whole, half = (slow.directions(at, steps) for steps in (slow.window, slow.window // 2))
    return all(
        float(np.abs(one - other).max()) <= _FORGOTTEN * max(float(np.abs(one).max()), 1e-300)
        for one, other in zip(whole, half, strict=True)
    )


def _confirmed(far: FarMode) -> FarMode | None:
    """Return the mode if it agrees with all steps up to twice as many as it begins with."""
    slow, t = far.slow, 2 * FIRST
    interval = slow.interval(FIRST // 2, FIRST)
    if interval is None:
        return None
    exact = slow.exact_error(t)
    found = float(slow.after(far.begin, interval, np.array([t]))[0])
    return far if abs(found - exact) <= _AGREEMENT * exact else None
