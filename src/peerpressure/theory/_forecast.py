"""State of a model after a number of steps, exactly, and settling times up to then."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias, final

import numpy as np

from peerpressure.model import Model
from peerpressure.model.statespace import System, checked_system, initial_state
from peerpressure.model.statespace.dense_steps import dense_steps, is_small
from peerpressure.model.statespace.systems import averaged_transitions
from peerpressure.model.step import Array
from peerpressure.sde import SDE
from peerpressure.sde.moments import NEGLIGIBLE, DriftAt, Rate, integrate, start_of, state_path
from peerpressure.simulation import simulate
from peerpressure.support.parameters import Parameter
from peerpressure.support.progress import ShouldStop, cancellable, check_cancelled
from peerpressure.support.results import one_line, read_only
from peerpressure.theory._reasons import Reason, ReasonRow
from peerpressure.theory.propagation import LARGEST_COVARIANCE, consensus_mode, forward_moments, moments, step_count

# Settling times: the steps from which agents stay close to each other, and to v.

# Tolerance as a share of the range of opinions, to one digit.
SHARE = 0.05
_OMITTED: ReasonRow[None] = ReasonRow("settling_omitted", "Not known: {why}.")


@final
@one_line
@dataclass(frozen=True)
class Settling:
    """Steps from which agents stay within a tolerance of each other, and of v, up to the last step.

    Distances are root mean squares over the noise and over agents, or pairs of agents; they are exact, or bounded from
    below on large networks with noise. In continuous time they are those at the steps of the equation, and nothing is
    claimed about times in between.

    Attributes
    ----------
    tolerance : float
        The distance.
    steps : int
        The last step that is considered; nothing is claimed about later ones.
    each_other : int, optional
        First step from which two agents, taken at random, stay within the tolerance of each other; None if they are
        not at the last step.
    value : int, optional
        First step from which an agent stays within the tolerance of v; None if it is not at the last step.
    step_length : float, optional
        Length of a step in continuous time.
    is_bound : bool, default False
        Whether the agents may be close only later than at these steps: distances leave out noise of earlier steps.
    own_limits : bool, default False
        Whether ``value`` is about the limit of each agent instead of v, as where closed classes differ.

    See Also
    --------
    forecast : Computes it.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import forecast
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.1))
    >>> settling = forecast(model, 100, tolerance=0.05).settling
    >>> settling.each_other, settling.value
    (23, 11)
    """

    tolerance: float
    steps: int
    each_other: int | None
    value: int | None
    step_length: float | None = None
    is_bound: bool = False
    own_limits: bool = False


def usual_tolerance(model: System) -> float | None:
    """Return 5 % of the range of hidden opinions and start, to one digit; None if all of them are equal.

    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> usual_tolerance(Model(k2(), hidden=[0.01, 0.98]))
    0.05
    """
    opinions = np.concatenate([model.x0, model.start_state])
    # One digit, because the range of random opinions is about a round number.
    return float(f"{SHARE * np.ptp(opinions):.0e}") or None


class SettlingWatch:
    """Records the last steps at which agents are further apart than a tolerance, from the law of every step.

    A smaller covariance than that of the model, in the order of symmetric matrices, bounds the distances from below.
    """

    def __init__(self, model: System, tolerance: float, *, is_bound: bool = False) -> None:
        self.tolerance, self.is_bound = tolerance, is_bound
        self._step_length = model.step if model.is_continuous else None
        self._target = model.model.target
        # Before the start, so agents who are always close have settled at step 0.
        self._apart = self._away = self._last = -1

    def __call__(self, t: int, mean: Array, covariance: Array | None = None) -> None:
        """Take the mean of the public opinions after step t, and their covariance, its diagonal if the rest is 0."""
        n, centred = mean.size, mean - mean.mean()
        total = shared = 0.0
        if covariance is not None:
            total = float(np.trace(covariance) if covariance.ndim == 2 else covariance.sum())
            shared = float(covariance.sum()) / n
        self.note(t, n, float(centred @ centred) + total - shared, float(np.sum((mean - self._target) ** 2)) + total)

    def note(self, t: int, n: int, about_mean: float, about_target: float) -> None:
        """Take the expected sums over n agents of squared distances from their plain mean, and from the target."""
        # The mean of (y_i − y_j)² over pairs is 2/(n − 1) times the sum of squares about the plain mean.
        pairs, away = 2 / (n - 1) * max(about_mean, 0.0), about_target / n
        self._last = t
        # Not "above", so what is not a number counts as apart.
        if not math.sqrt(pairs) <= self.tolerance:
            self._apart = t
        if not math.sqrt(away) <= self.tolerance:
            self._away = t

    @property
    def settling(self) -> Settling:
        """The settling times up to the last step."""
        each, value = (last + 1 if last < self._last else None for last in (self._apart, self._away))
        own = np.ndim(self._target) > 0
        return Settling(self.tolerance, self._last, each, value, self._step_length, self.is_bound, own)


# The forecast.

# Up to so many opinions the covariance is always computed: probes would take as much work.
EXACT_LIMIT = 200
# Multiplications, about a second's, up to which the covariance of more opinions is computed; and those that probes get.
MOST_WORK = 1e9
PROBE_WORK = 5e8
# Random probes, the least and the most; half as many simulated runs find the directions of largest variance.
PROBES = (8, 64)
# Multiplications of one row over all steps from which even the fewest probes take too long.
SAMPLED_WORK = 1e8


@final
@read_only
@dataclass(frozen=True, eq=False)
class Forecast:
    """The law of the state after ``steps`` steps, in a few numbers.

    Attributes
    ----------
    steps : int
        The number of steps.
    mode_mean, mode_std, mode_error : float
        Mean and standard deviation of the consensus mode m, and its root-mean-square distance to v; exact.
    rms_distance, disagreement : float
        Root mean squares over agents and noise of y_i − v and of y_i − m. The second camp of a balanced signed network
        counts with the opposite sign, and without balance m is 0.
    start_weight : float
        The weight of the start in the consensus mode; exact.
    mean : array of shape (agents,)
        The mean public opinion of each agent; exact.
    std : array of shape (agents,), optional
        Its standard deviation, where the covariance of all agents is computed.
    hidden_mean, hidden_disagreement : float, optional
        Where hidden opinions adapt, their mean over agents and the root mean square of their distances from it.
    settling : Settling, optional
        Steps from which agents stay close to each other and to v; lower bounds of them for networks with noise that
        are too large for the covariance of every step.
    settling_omitted : Reason, optional
        Why there are none, for instance because all opinions are equal and no tolerance is given.
    rms_distance_stderr, disagreement_stderr, hidden_disagreement_stderr : float
        Standard errors of these numbers; 0 where they are exact. On large networks the trace of the covariance is
        estimated with random probes.
    own_limits : bool, default False
        Whether distances are to the limit of each agent instead of v, as where closed classes differ.

    See Also
    --------
    forecast : Computes it.
    Moments : The law at all times.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import forecast
    >>> prediction = forecast(Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.5)), 99)
    >>> round(prediction.mode_mean, 6), round(prediction.mode_std, 4)
    (0.5, 0.0352)
    """

    steps: int
    mode_mean: float
    mode_std: float
    mode_error: float
    rms_distance: float
    disagreement: float
    start_weight: float
    mean: Array
    std: Array | None = None
    hidden_mean: float | None = None
    hidden_disagreement: float | None = None
    settling: Settling | None = None
    settling_omitted: Reason | None = None
    rms_distance_stderr: float = 0.0
    disagreement_stderr: float = 0.0
    hidden_disagreement_stderr: float = 0.0
    own_limits: bool = False


def forecast(
    model: System, steps: int, *, tolerance: float | None = None, should_stop: ShouldStop | None = None
) -> Forecast:
    """Return the distribution of the state after a number of steps.

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int
        The number of steps, at least 1; in continuous time those of the equation.
    tolerance : float, optional
        The distance of the settling times; by default 5 % of the range of hidden opinions and start, to one digit.
    should_stop : callable, optional
        Called at every step that is computed; cancels the work with ``CancelledError`` if it returns True.

    Returns
    -------
    Forecast
        Exact, except for root mean squares over the agents of large networks with noise, which have a standard error.

    See Also
    --------
    moments : The exact law of all agents, or of functionals, over time.

    References
    ----------
    .. [1] R. A. Meyer, C. Musco, C. Musco, D. P. Woodruff, "Hutch++: optimal stochastic trace estimation", Symposium
       on Simplicity in Algorithms (2021).

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import forecast
    >>> after = forecast(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99)
    >>> round(float(after.std[0]), 6)  # √99/100
    0.099499
    >>> forecast(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 999, tolerance=0.1).settling.value
    99
    """
    steps = step_count(steps)
    if tolerance is not None:
        Parameter("tolerance", "real", "tolerance", above=0, remedy="for instance 0.05").check(tolerance)
    watch = _settling_watch(checked_system(model), steps, tolerance)
    with cancellable(should_stop):
        if isinstance(watch, Reason):
            return replace(law_after(model, steps), settling_omitted=watch)
        return law_after(model, steps, watch)


def law_after(model: System, steps: int, watch: SettlingWatch | None = None) -> Forecast:
    """Return the forecast, with settling times if the law of each step is to be watched."""
    v = model.consensus_value
    # The second camp comes to the opposite of the mode.
    mode = _Centre(consensus_mode(model).weights, model.model.network.camps.astype(np.float64))
    law = _sampled if is_sampled(model, steps) else _propagated
    means, start_weight, centres, (public, *hidden) = law(model, steps, mode, watch)
    m = float(mode.weights @ means[0])
    target = model.model.target
    rms_distance = math.sqrt(max(float(np.mean((means[0] - target) ** 2)) + public.total, 0.0))
    spreads = zip(means, centres, [public, *hidden], strict=True)
    disagreements = [
        math.sqrt(float(np.mean(centre.deviations(mean) ** 2)) + part.disagreement) for mean, centre, part in spreads
    ]
    return Forecast(
        steps=steps,
        mode_mean=m,
        mode_std=math.sqrt(public.shared),
        mode_error=math.hypot(m - v, math.sqrt(public.shared)),
        rms_distance=rms_distance,
        disagreement=disagreements[0],
        start_weight=start_weight,
        mean=means[0],
        std=None if public.variance is None else np.sqrt(public.variance),
        hidden_mean=float(np.mean(means[1])) if hidden else None,
        hidden_disagreement=disagreements[1] if hidden else None,
        settling=None if watch is None else watch.settling,
        rms_distance_stderr=_of_root(public.total_stderr, rms_distance),
        disagreement_stderr=_of_root(public.stderr, disagreements[0]),
        hidden_disagreement_stderr=_of_root(hidden[0].stderr, disagreements[1]) if hidden else 0.0,
        own_limits=np.ndim(target) > 0,
    )


_Law: TypeAlias = "tuple[list[Array], float, list[_Centre], list[_Spread]]"


def _propagated(model: System, steps: int, mode: _Centre, watch: SettlingWatch | None) -> _Law:
    """Return means, the weight of the start, what agents are compared with and how they scatter about it."""
    # Means alone are the whole law without noise, and bound distances from below with it.
    alone = not is_random(model) or (watch is not None and watch.is_bound)
    means, start_weight = _means(model, steps, watch if alone else None)
    centres = [mode, *([_plain_centre(model.n)] * (len(means) - 1))]
    exact = is_exact(model, steps)
    spreads = (
        _covariances(model, steps, means, centres, None if alone else watch)
        if exact
        else _probed(model, steps, means, centres)
    )
    return means, start_weight, centres, spreads


def _settling_watch(model: System, steps: int, tolerance: float | None) -> SettlingWatch | Reason:
    """Return what finds the settling times, or why they are not computed."""
    noisy = is_random(model)
    distance = usual_tolerance(model) if tolerance is None else float(tolerance)
    if distance is None:
        return _OMITTED.reason(why="all opinions are equal, and no distance is given as a tolerance")
    # In continuous time each number is interpolated at each step.
    work = 10.0 * steps * model.n if model.is_continuous else 0.0
    if work > MOST_WORK:
        return _OMITTED.reason(why=f"of {model.n:,} agents over {steps:,} steps only the last is computed")
    bounded = noisy and (not is_exact(model, steps) or work * model.n > MOST_WORK)
    return SettlingWatch(model, distance, is_bound=bounded)


def _of_root(stderr: float, root: float) -> float:
    """Return the standard error of a root from that of its square."""
    # d√q = dq/(2√q); where the root is 0 up to its own error, the error of the root is the root of the error.
    return min(stderr / (2 * root), math.sqrt(stderr)) if root > 0 else math.sqrt(stderr)


def _means(model: System, steps: int, watch: SettlingWatch | None) -> tuple[list[Array], float]:
    """Return the mean public opinions, and hidden ones where they adapt, and the weight of the start in the mode."""
    n, at = model.n, model.layout
    start, size = initial_state(model), at.memory.start
    # Besides the mean, a start of 1 with all else 0: its mode is the weight of the start.
    state = np.zeros((size, 2))
    state[:, 0] = (start.offset + start.forward(hidden=model.x0))[:size]
    state[:n, 1] = model.model.network.camps
    hidden = np.stack([model.x0, np.zeros(n)], axis=1)
    if isinstance(model, SDE):
        first = steps if watch is None else 0
        for t, state in zip(range(first, steps + 1), mean_flow(model, _times(model, first, steps)), strict=True):
            if watch is not None:
                watch(t, state[:n, 0])
    else:
        followed = _mean_steps(model.model, steps, state, hidden)
        for t, (state, fresh) in enumerate(followed):
            if watch is not None:
                watch(t, state[:n, 0], fresh)
    parts = [state[:n, 0].copy()] + ([state[n:, 0].copy()] if at.has_hidden else [])
    return parts, float(consensus_mode(model).weights @ state[:n, 1])


def _mean_steps(model: Model, steps: int, state: Array, hidden: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the columns of a state after steps 0…``steps``, and the variance of each agent's noise of the last step.

    That noise is independent of all before, and its variance therefore part of the covariance.
    """
    n, at, size = model.n, model.layout, len(state)
    yield state, np.zeros(n)
    if is_small(at) and not (model.activation is not None and model.activation.is_random):
        for block in dense_steps(model, range(1, steps + 1), at):
            for F, b, noise in zip(block.matrices[:, :size, :size], block.inputs, block.noise, strict=True):
                check_cancelled()
                state = F @ state
                state[:, 0] += b[:size]
                yield state, noise[0] ** 2
        return
    phi = model.noise.autocorrelation
    deviations = model.noise.deviations(n) * math.sqrt((1 - phi) * (1 + phi))
    for t, step in enumerate(averaged_transitions(model, range(1, steps + 1), at), start=1):
        state = step.averaged.forward(state, hidden=hidden)
        yield state, (step.averaged.update.gain * deviations * model.noise.scale(t)) ** 2


def _times(sde: SDE, first: int, last: int) -> Array:
    return np.array([sde.time(k) for k in range(first, last + 1)])


def mean_flow(sde: SDE, times: Array) -> Iterator[Array]:
    """Yield the mean opinions at each time, and the weights of a start of 1 in them, shape (opinions, 2).

    Hidden opinions follow the public ones where they adapt.
    """
    v, n, size = sde.centre, sde.n, sde.layout.memory.start
    shape = (size, 2)

    def rate_of(_: SDE, drift_at: DriftAt) -> Rate:
        def rate(t: float, flat: Array) -> Array:
            drift = drift_at(t)
            moved = drift.forward(flat.reshape(shape))
            moved[:n, 0] += drift.hidden_weight * (sde.x0 - v)
            return np.asarray(moved.ravel())

        return rate

    # Centred on v, because the distance to consensus may be far below its magnitude.
    first = np.stack([start_of(sde)[:size], np.arange(size) < n], axis=1)
    scale = NEGLIGIBLE * np.maximum(np.abs(first).max(axis=0), [float(np.ptp(sde.x0)), 0.0])
    tolerance = np.broadcast_to(np.where(scale > 0, scale, NEGLIGIBLE), shape).ravel()
    for flat in integrate(sde, rate_of, first.ravel(), 0.0, times, tolerance):
        yield np.add(flat.reshape(shape), [v, 0.0])


@final
@dataclass(frozen=True, eq=False)
class _Centre:
    """What agents are compared with: c_i m for the weighted mean m = wᵀy, with the sign c_i of the agent's camp."""

    weights: Array
    signs: Array

    def deviations(self, states: Array) -> Array:
        """Return y_i − c_i m for states of shape (…, agents)."""
        return np.asarray(states - (states @ self.weights)[..., None] * self.signs)

    def functionals(self, probes: Array) -> Array:
        """Return the weights of y that make Σ p_i (y_i − c_i m) for each row p of probes."""
        return np.asarray(probes - (probes @ self.signs)[:, None] * self.weights)


@final
@dataclass(frozen=True, eq=False)
class _Spread:
    """Covariance P of agents about the multiples c_i m of a weighted mean m = wᵀy, in means over agents.

    ``shared`` is wᵀPw, ``common`` the mean of c∘Pw, ``counted`` that of c², ``disagreement`` that of the variances of
    y_i − c_i m, and ``variance`` the diagonal of P, where it is known; both of the former may have standard errors.
    """

    shared: float
    common: float
    counted: float
    disagreement: float
    stderr: float = 0.0
    variance: Array | None = None
    common_stderr: float = 0.0

    @property
    def total(self) -> float:
        """The mean of the variances of the agents, tr P/n."""
        return self.disagreement + 2 * self.common - self.counted * self.shared

    @property
    def total_stderr(self) -> float:
        """The standard error of ``total``."""
        return math.hypot(self.stderr, 2 * self.common_stderr)


def is_uncertain(model: System) -> bool:
    """Whether it is random who updates, for which the covariance has no adjoint."""
    activation = model.model.activation
    return activation is not None and activation.is_random


def is_random(model: System) -> bool:
    """Whether states are random: by noise, or by who updates."""
    return is_uncertain(model) or not model.noise.is_zero


def is_exact(model: System, steps: int) -> bool:
    """Whether a forecast computes the whole covariance; otherwise it estimates its trace."""
    opinions = model.layout.memory.start
    fits = opinions <= LARGEST_COVARIANCE and _dense_work(model, steps) <= MOST_WORK
    # Continuous time takes some dozen evaluations for a unit of time, and n² numbers in each.
    return not is_random(model) or opinions <= EXACT_LIMIT or (fits and not model.is_continuous)


def is_sampled(model: System, steps: int) -> bool:
    """Whether a forecast takes one pass over the steps, with two samples of the noise in place of probes."""
    own = model.model
    passes = own.temporal_network is None and own.activation is None and not model.is_continuous
    return passes and _row_work(model, steps) > SAMPLED_WORK


def forecast_work(model: System, steps: int) -> float:
    """Return about how many multiplications a forecast takes."""
    if not is_random(model):
        return 2 * _row_work(model, steps)
    probed = 1.5 * _probes(model, steps) * _row_work(model, steps)
    return _dense_work(model, steps) if is_exact(model, steps) else probed


def _dense_work(model: System, steps: int) -> float:
    opinions = model.layout.memory.start
    return float(steps * opinions * (2 * model.network.adjacency.nnz + 8 * opinions))


def _row_work(model: System, steps: int) -> float:
    return float(steps * (model.network.adjacency.nnz + 10 * model.layout.states))


def _probes(model: System, steps: int) -> int:
    """Return the number of random probes that are affordable."""
    return int(min(max(PROBE_WORK / (1.5 * _row_work(model, steps)), PROBES[0]), PROBES[1]))


def _covariances(
    model: System, steps: int, means: list[Array], centres: list[_Centre], watch: SettlingWatch | None
) -> list[_Spread]:
    """Read the parts off the covariance of all agents: Var(y_i − c_i m) = P_ii − 2c_i(Pw)_i + c_i²wᵀPw."""
    n = model.n
    if not is_random(model):
        return [_Spread(0.0, 0.0, 1.0, 0.0, variance=np.zeros(n)) for _ in means]
    if isinstance(model, SDE):
        first = steps if watch is None else 0
        for t, (mean, covariance) in zip(
            range(first, steps + 1), state_path(model, _times(model, first, steps)), strict=True
        ):
            if watch is not None:
                watch(t, mean[:n], covariance[:n, :n])
    else:
        public = None if watch is None else lambda t, mean, P: watch(t, mean[:n], P[:n, :n])
        covariance = forward_moments(model.model, np.array([steps]), hidden=len(means) > 1, watch=public).covariance
    spreads = []
    for k, centre in enumerate(centres):
        P = covariance[k * n : (k + 1) * n, k * n : (k + 1) * n]
        with_mean, variance = P @ centre.weights, np.maximum(np.diag(P), 0.0)
        # Rounding may leave negative variances.
        shared = max(float(centre.weights @ with_mean), 0.0)
        common, squares = centre.signs * with_mean, centre.signs**2
        disagreement = float(np.mean(np.maximum(variance - 2 * common + squares * shared, 0.0)))
        spreads.append(
            _Spread(shared, float(np.mean(common)), float(np.mean(squares)), disagreement, variance=variance)
        )
    return spreads


def _probed(model: System, steps: int, means: list[Array], centres: list[_Centre]) -> list[_Spread]:
    """Estimate the parts by the adjoint: exactly on the directions of largest variance, elsewhere with random signs.

    A few simulated deviations span these directions Q. With P′ the covariance of y_i − c_i m and random signs z,
    tr P′ = tr QᵀP′Q + E zᵀ(I − QQᵀ)P′(I − QQᵀ)z, whatever Q is; so the runs only reduce the standard error.
    """
    n, count = model.n, _probes(model, steps)
    final = simulate(model, steps, count // 2, record="final").final
    drawn = [final.public] if final.hidden is None else [final.public, final.hidden]
    random, rows = np.random.default_rng(0), []
    for k, (sample, mean, centre) in enumerate(zip(drawn, means, centres, strict=True)):
        basis = np.linalg.qr(centre.deviations(sample - mean).T)[0].T
        signs = random.choice([-1.0, 1.0], size=(count, n))
        probes = centre.functionals(np.concatenate([basis, signs - (signs @ basis.T) @ basis]))
        part = np.zeros((2 + len(probes), len(means) * n))
        part[:, k * n : (k + 1) * n] = [centre.weights, centre.signs / n, *probes]
        rows.append(part)
    covariance = moments(model, steps, of=np.concatenate(rows), what="joint" if len(means) > 1 else "public").covariance
    size = len(rows[0])
    parts = [covariance[k * size : (k + 1) * size, k * size : (k + 1) * size] for k in range(len(means))]
    counted = [float(np.mean(centre.signs**2)) for centre in centres]
    return [_estimated(part, n, size - 2 - count, share) for part, share in zip(parts, counted, strict=True)]


def _sampled(model: System, steps: int, mode: _Centre, watch: SettlingWatch | None) -> _Law:
    """Return the law from one pass over the steps: mean and variance of the mode exactly, the rest with two samples.

    A sample is a run of the noise alone, with signs in place of its law, so ‖u − c m‖² has the mean of tr P′. Over many
    agents it hardly varies, unless a few of them drive the others.
    """
    # Imported here, because numba is slow to import and smaller networks do without.
    from peerpressure.simulation.engine.passes import StepSums, forecast_pass

    n, own = model.n, model.model
    targets = np.broadcast_to(own.target, (n,)).astype(np.float64)

    def observe(t: int, sums: StepSums) -> None:
        assert watch is not None
        fresh = sums.own_noise
        watch.note(t, n, sums.about_mean + fresh * (1 - 1 / n), sums.about_targets + fresh)

    if watch is not None:
        watch(0, own.start_state)
    result = forecast_pass(own, steps, mode.weights, targets, None if watch is None else observe)
    spread = _spread_of_samples(result.samples.T, mode, result.variance)
    if model.noise.is_zero:
        # Samples of nothing are 0, and so is every variance.
        spread = replace(spread, variance=np.zeros(n))
    means, centres, spreads = [result.mean], [mode], [spread]
    if result.hidden_mean is not None and result.hidden_samples is not None:
        plain = _plain_centre(n)
        drawn = result.hidden_samples.T
        means.append(result.hidden_mean)
        centres.append(plain)
        spreads.append(_spread_of_samples(drawn, plain, float(np.mean((drawn @ plain.weights) ** 2))))
    return means, float(result.start_weights @ own.network.camps), centres, spreads


def _plain_centre(n: int) -> _Centre:
    """Return what hidden opinions are compared with: their plain mean."""
    return _Centre(np.full(n, 1 / n), np.ones(n))


def _spread_of_samples(samples: Array, centre: _Centre, shared: float) -> _Spread:
    """Return the spread about the mode, whose variance is known, from two samples of deviations from the mean."""
    n, counted = centre.signs.size, float(np.mean(centre.signs**2))
    apart = centre.deviations(samples)
    squares = np.einsum("ri,ri->r", apart, apart) / n
    # Cov(m, Σ c_i (y_i − c_i m)/n), which is small where the mode is near the plain mean.
    cross = (samples @ centre.weights) * (apart @ centre.signs) / n
    # The variance of a square is 2‖P′‖²/n², which their difference and the product of two samples estimate, each with
    # one number only. The part of the diagonal of P′ in it is known from as many numbers as there are agents.
    products = apart[0] * apart[1]
    stderr = math.hypot(float(squares[0] - squares[1]) / 2, products.sum() / n, np.linalg.norm(products) / n)
    # The variance of a product is that of its factors, of which one is known, and their covariance squared.
    scatter = shared * float(np.mean((apart @ centre.signs / n) ** 2)) + float(np.mean(cross)) ** 2
    common = counted * shared + float(cross.mean())
    return _Spread(shared, common, counted, float(squares.mean()), stderr, common_stderr=math.sqrt(scatter / 2))


def _estimated(covariance: Array, n: int, directions: int, counted: float) -> _Spread:
    """Return the parts from the covariance of mode, mean, directions and probes."""
    variance = np.diag(covariance)[2:] / n
    exact, sampled = variance[:directions].sum(), variance[directions:]
    stderr = float(np.std(sampled, ddof=1) / math.sqrt(sampled.size))
    return _Spread(float(covariance[0, 0]), float(covariance[0, 1]), counted, float(exact + sampled.mean()), stderr)


def consensus_error(model: System, steps: int) -> float:
    """Return the root-mean-square distance of the consensus mode to v after some steps, exactly.

    Parameters
    ----------
    model : Model or SDE
        Any model.
    steps : int
        The number of steps, at least 1.

    Returns
    -------
    float
        √(bias² + variance) of Σ d y/Σ d about v.

    See Also
    --------
    forecast : Also the distances of the agents.
    consensus_rate : Its decay as t → ∞.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import consensus_error
    >>> round(consensus_error(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99), 6)  # √(99/2)/100
    0.070356
    """
    mean, variance = _mode_moments(model, steps)
    # hypot avoids underflow of the squares for very small errors.
    return math.hypot(mean - model.consensus_value, math.sqrt(variance))


def _mode_moments(model: System, steps: int) -> tuple[float, float]:
    mode = moments(model, steps, of=consensus_mode(model))
    return float(mode.mean[-1, 0]), float(mode.variance[-1, 0])
