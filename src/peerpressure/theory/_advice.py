"""Advice: schedules that bring the agents closer to v, and the replicates or steps that a precision takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model, require_synchronous
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.noise import NoNoise
from peerpressure.schedules import Constant, Formula, Linear, Schedule, Table
from peerpressure.simulation import simulate
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.parameters import Parameter
from peerpressure.support.results import one_line
from peerpressure.theory._classification import LongRun, Outcome, classify, is_consensus_value
from peerpressure.theory._consensus_limit import decide
from peerpressure.theory._forecast import Forecast, consensus_error, is_sampled, law_after
from peerpressure.theory._limits import limit_of
from peerpressure.theory._rates import with_parts
from peerpressure.theory._reasons import Reason, ReasonRow
from peerpressure.theory._regime import NoiseEffect, Regime
from peerpressure.theory._structure import NoiselessLimit, structure_of
from peerpressure.theory.propagation import LARGEST_COVARIANCE, Functionals, consensus_mode, moments, step_count
from peerpressure.theory.tuning import (
    HorizonDistance,
    best_averaging,
    best_line,
    noise_exponent,
    optimum,
    pass_work,
    spread_agents,
    tuned_line,
)

# Schedules that would bring the agents closer to v by a given step, judged by the exact forecast under each.

# Work of a pass over the horizon up to which an optimum, of some fifty passes, accompanies a diagnosis.
OPTIMUM_WORK = 3_000_000
# The same for a line that ends in averaging, which takes fewer passes and may look at fewer agents.
_AVERAGING_WORK = 20_000_000
_FEWEST_AGENTS = 16
# An improvement by less is not worth another schedule.
_LEAST_GAIN = 1.05
# Share of the range of opinions by which agents must end closer to v for a schedule to be recommended.
WORTHWHILE = 0.01
# Share of the range of opinions to which the limit under another schedule is computed.
_TOLERANCE = 1e-3
_ROUNDING = 1e-12

NOT_TRIED: ReasonRow[None] = ReasonRow(
    "schedules_omitted", "Not looked for: each takes a forecast of {agents:agents} over {steps:,} steps."
)
_NO_OPTIMUM: ReasonRow[None] = ReasonRow("optimum_omitted", "Not computed {where}.")

Name: TypeAlias = Literal["optimal", "averaging", "line", "tuned"]


@final
@one_line
@dataclass(frozen=True)
class Suggestion:
    """A better schedule, and where it leads.

    Attributes
    ----------
    name : {"optimal", "averaging", "line", "tuned"}
        The optimal schedule for the horizon, a line that ends in steps of averaging, the best line for the horizon, or
        the tuned line κt/(1 − 2γ).
    schedule : Schedule
        The schedule itself.
    rms_distance : float
        Root mean square distance of the agents to v at the horizon under it.
    gain : float
        How many times smaller that is than under the schedule of the model; ∞ where only rounding errors are left.
    outcome : Outcome, optional
        The outcome under it in the long run; None for a schedule that is made for the horizon only.
    averaging_steps : int, default 0
        The steps of averaging at the end of a line, in which pressure is so high that agents ignore their own opinions.
    worthwhile : bool, default True
        Whether agents end closer to v by at least 1 % of the range of opinions.

    See Also
    --------
    Advice : All suggestions for a model.
    optimal_schedule : The best schedule for a horizon.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import star
    >>> best = diagnose(Model(star(4), hidden=[0.0, 1.0, 2.0, 3.0]), steps=20).advice.suggestions[0]
    >>> best.name, best.gain > 1
    ('optimal', True)
    """

    name: Name
    schedule: Schedule
    rms_distance: float
    gain: float
    outcome: Outcome | None
    averaging_steps: int = 0
    worthwhile: bool = True


@final
@one_line
@dataclass(frozen=True)
class Advice:
    """What would bring the agents closer to v at the horizon.

    Attributes
    ----------
    rms_distance : float
        Root mean square distance of the agents to v under the model's own schedule.
    suggestions : tuple of Suggestion
        Schedules that make it smaller, the best first; empty where none that was tried does.
    omitted : Reason or None
        Why the optimal schedule was not tried, or any other; None where it was.

    See Also
    --------
    diagnose : Computes it where a number of steps is given.

    Examples
    --------
    >>> from peerpressure import Model, diagnose
    >>> from peerpressure.networks import star
    >>> advice = diagnose(Model(star(4), hidden=[0.0, 1.0, 2.0, 3.0]), steps=20).advice
    >>> advice.suggestions[0].rms_distance < advice.rms_distance
    True
    """

    rms_distance: float
    suggestions: tuple[Suggestion, ...]
    omitted: Reason | None = None

    @property
    def recommended(self) -> Suggestion | None:
        """The best suggestion, where it is worth another schedule."""
        best = self.suggestions[:1]
        return best[0] if best and best[0].worthwhile else None


def advice(long_run: LongRun, forecast: Forecast) -> Advice:
    """Return the schedules under which the forecast for the same step is better."""
    now, suggestions = forecast.rms_distance, list[Suggestion]()
    if is_sampled(long_run.system, forecast.steps):
        # Each schedule takes a forecast of its own, as long as the diagnosis itself.
        size = {"agents": long_run.system.n, "steps": forecast.steps}
        return Advice(now, (), NOT_TRIED.reason(**size))
    # A distance that is rounding error gets no smaller, and is 0 to all that is known.
    rounding, worth = _ROUNDING * float(np.abs(long_run.model.x0).max()), WORTHWHILE * _scale(long_run)
    for name, schedule, averaging in _candidates(long_run, forecast.steps):
        other = with_parts(long_run.system, pressure=schedule)
        then = law_after(other, forecast.steps)
        # On large networks distances have a standard error, by three of which the gain is reduced here.
        lower, upper = now - 3 * forecast.rms_distance_stderr, then.rms_distance + 3 * then.rms_distance_stderr
        if lower > rounding and lower >= _LEAST_GAIN * upper:
            gain = now / then.rms_distance if then.rms_distance > rounding else math.inf
            # A schedule for the horizon says nothing about the steps after it.
            lasting = isinstance(schedule, Linear)
            outcome = decide(classify(other), _TOLERANCE)[0].outcome if lasting else None
            closer = now - then.rms_distance >= worth
            suggestions.append(Suggestion(name, schedule, then.rms_distance, gain, outcome, averaging, closer))
    suggestions.sort(key=lambda one: one.rms_distance)
    return Advice(now, tuple(suggestions), _omitted(long_run.system, forecast.steps))


def _scale(long_run: LongRun) -> float:
    """Return the range of opinions, or the size of the noise where they are all equal."""
    model = long_run.model
    return float(np.ptp(np.concatenate([model.x0, model.start_state]))) or float(long_run.deviations.max())


def _omitted(system: System, steps: int) -> Reason | None:
    """Return why the optimal schedule is not computed along with a diagnosis."""
    if system.is_continuous:
        return _NO_OPTIMUM.reason(where="in continuous time")
    work = pass_work(system.model, steps)
    return (
        None if work <= OPTIMUM_WORK else _NO_OPTIMUM.reason(where=f"here for {system.n:,} agents and {steps:,} steps")
    )


def _candidates(long_run: LongRun, steps: int) -> Iterator[tuple[Name, Schedule, int]]:
    """Yield names and schedules, with the steps of averaging that these end with."""
    line = tuned_schedule(long_run)
    if line is not None:
        yield "tuned", line, 0
    system = long_run.system
    if system.is_continuous:
        return
    if _omitted(system, steps) is None:
        distance = HorizonDistance(system.model, steps)
        yield "optimal", optimum(distance, best_line(distance)).schedule, 0
        return
    averaging = _sampled_averaging(system.model, steps)
    if averaging is not None:
        schedule, count = averaging
        yield "averaging" if count else "line", schedule, count


def _sampled_averaging(model: Model, steps: int) -> tuple[Linear | Formula, int] | None:
    """Return a line that ends in steps of averaging, the best for as many of the agents as can be afforded."""
    per_agent = pass_work(model, steps, 2) - pass_work(model, steps, 1)
    count = min((_AVERAGING_WORK - pass_work(model, steps, 1)) // per_agent + 1, model.n)
    if count < min(_FEWEST_AGENTS, model.n):
        return None
    chosen = spread_agents(model, count)
    # Without hidden opinions, whose covariance is a matrix, for as many agents as one is computed for.
    distance = HorizonDistance(model, steps, know_hidden=model.n > LARGEST_COVARIANCE, agents=chosen)
    return best_averaging(distance, best_line(distance))


def tuned_schedule(long_run: LongRun) -> Linear | None:
    """Return ρ_t = κt/(1 − 2γ) for the κ of the common value, if that is attracted to v; None if no line reaches v."""
    model = long_run.model
    gamma = noise_exponent(model.noise)
    # Where nobody who counts listens to anybody, no pressure moves the common value.
    if gamma >= 0.5 or math.isinf(model.kappa):
        return None
    if model.is_plain:
        return tuned_line(model)
    if not long_run.structure.constant_opinions:
        return None
    is_linear = long_run.regime is Regime.LINEAR
    structure = long_run.structure if is_linear else structure_of(model, Regime.LINEAR)
    if structure.limit is not NoiselessLimit.CONSENSUS:
        return None
    sequence, value = structure.components[0].absolute_probability, structure.components[0].value
    leads_to_v = sequence is not None and value is not None and is_consensus_value(model, value)
    return Linear(sequence.kappa / (1 - 2 * gamma)) if sequence is not None and leads_to_v else None


# Number of replicates, or of steps, that a given precision takes.

# Steps after which bounded pressure has settled, and after which schedules are compared where v is out of reach.
_SETTLED = 2_000
# Multiplications for the shortest path of errors.
_LEAST_WORK = 1e9
# The same for the longest path, some minutes', which has at least so many steps.
_MOST_WORK = 5e11
_LEAST_LONGEST = 2**15
# Numbers in the states of one run of the engine, 32 MB.
_CHUNK = 2**22
# Steps at which variances are computed, for each doubling of the time; they are smooth in between.
_PER_DOUBLING = 6
# Steps up to which another schedule is compared with the model's own.
_COMPARED = 200_000
# Share of the range of opinions to which an error that stays is computed.
_LIMIT_TOLERANCE = 1e-5


def replicates_needed(
    model: Model, steps: int, precision: float, of: Functionals | None = None, confidence: float = 0.95
) -> int:
    """Return how many simulated replicates determine the mean of cᵀy_T to ± precision.

    R = ⌈(z·std(cᵀy_T)/precision)²⌉ with z the two-sided normal quantile and the exact standard deviation.

    Parameters
    ----------
    model : Model
        Any model.
    steps : int
        The length T of a run, at least 1.
    precision : float
        Half the width of the confidence interval, above 0.
    of : Functional, or weights of shape (agents,) or (functionals, agents), optional
        The functionals c, by default the consensus mode; of several the one with the largest deviation counts.
    confidence : float, default 0.95
        The probability that the interval covers the mean.

    Returns
    -------
    int
        The number of replicates, at least 1.

    Raises
    ------
    InvalidInputError
        If precision or confidence is illegal, or the precision is out of reach.

    See Also
    --------
    steps_needed : The number of steps for a given distance to v.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import replicates_needed
    >>> replicates_needed(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99, precision=0.01, of=[1, 0])
    381
    """
    _check_precision(precision)
    Parameter("confidence", "real", "confidence", above=0, below=1, remedy="for instance 0.95").check(confidence)
    exact = moments(model, steps, of=consensus_mode(model) if of is None else of)
    # The mean over replicates is normal by the central limit theorem, so the exact std of one replicate is enough.
    std = float(exact.std.max())
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    ratio = z * std / precision
    # `not <` also catches NaN and ∞, and the square stays below 2⁶³.
    if not ratio < 1e9:
        rule = "a precision must be within reach of some number of replicates"
        got = f"{precision:g} where one replicate has a deviation of {std:.3g}"
        raise InvalidInputError(message(rule, got=got, remedy="ask for less precision"))
    return max(1, math.ceil(ratio**2))


def steps_needed(model: Model, precision: float, *, max_steps: int = 100_000) -> int:
    """Return after how many steps the consensus mode stays within ``precision`` of v, as a root mean square.

    The whole path of the exact error counts, over at least twice the number of steps that is returned, and over
    thousands where it does not go to 0: the error may fall below the precision and exceed it again. Where all others
    follow agents who listen to nobody, the mode is the opinion of these from the first step on; ``settling`` of a
    forecast says when the others are close to it.

    Parameters
    ----------
    model : Model
        Any model.
    precision : float
        The largest root-mean-square distance of the consensus mode to v, above 0.
    max_steps : int, default 100000
        The largest T that is returned. Every step up to it may be computed; work that would take longer than some
        minutes ends with an error before.

    Returns
    -------
    int
        The number of steps T.

    Raises
    ------
    InvalidInputError
        If the precision is reached later or never; the message says which, and names a better schedule.

    See Also
    --------
    consensus_error : The error after a given number of steps.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import steps_needed
    >>> steps_needed(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), precision=0.05)  # √(T/2)/(T + 1)
    198
    """
    _check_precision(precision)
    require_synchronous(checked_system(model).model, "this", "diagnose has limit and rates of other models")
    limit, long_run = step_count(max_steps), classify(model)
    errors = _ModeErrors(model)
    final = _final_error(long_run)
    if final is not None and final > precision:
        raise InvalidInputError(_never(long_run, precision, final, min(limit, _SETTLED, errors.last), errors))
    above, last = _last_above(long_run, precision, limit, errors)
    if above >= min(limit, last):
        raise InvalidInputError(_later(long_run, precision, min(limit, last), errors, by_steps=last < 2 * limit))
    return above + 1


def _last_above(long_run: LongRun, precision: float, limit: int, errors: _ModeErrors) -> tuple[int, int]:
    """Return the last step above a precision, and up to which step that is known."""
    # An error that does not go to 0 may rise again after a long time.
    least = min(256, errors.least) if long_run.outcome is Outcome.CONSENSUS else errors.least
    end, above, last = min(2 * limit, errors.last, errors.most), 0, 0
    while last < end:
        # Twice as far as the last step that fails, so the total work is a few times that of the answer.
        last = min(max(least, 2 * last), end)
        above = errors.last_above(precision, last)
        if 2 * above <= last:
            break
    return above, last


class _ModeErrors:
    """The root-mean-square distance of the consensus mode to v, as a path over steps that grows on demand."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.weights = consensus_mode(model).weights
        # A table defines no pressure beyond its last value.
        self.last = model.pressure.values.size if isinstance(model.pressure, Table) else 2**62
        # The shortest path that is looked at.
        work = model.network.adjacency.nnz + 20 * model.n + 1e5
        self.least = int(min(max(_LEAST_WORK / work, 64), 4_096))
        self.most = max(int(_MOST_WORK / work), _LEAST_LONGEST)
        self._bias = np.zeros(0)
        self._run: Trajectory | None = None
        self._known: dict[int, float] = {}

    def __call__(self, T: int) -> float:
        """Return the error after T steps, exactly."""
        return math.hypot(self.bias(T)[-1], math.sqrt(self.variance([T])[0]))

    def bias(self, last: int) -> Array:
        """Return the bias of the mode after steps 1…last, by the engine without noise."""
        quiet = replace(self.model, noise=NoNoise())
        while self._bias.size < last:
            steps = min(last - self._bias.size, max(1, _CHUNK // self.model.n))
            self._run = simulate(quiet, steps, start=self._run)
            # The first state of a run that is resumed is the last one of the run before.
            states = self._run.states
            assert states is not None
            path = states[0, 1:] @ self.weights - self.model.consensus_value
            self._bias = np.concatenate([self._bias, path])
        return self._bias[:last]

    def variance(self, times: Sequence[int]) -> Array:
        """Return the variance of the mode after some steps."""
        if self.model.noise.is_zero:
            return np.zeros(len(times))
        missing = sorted(set(times) - self._known.keys())
        if missing:
            exact = moments(self.model, missing[-1], of=self.weights, times=missing)
            self._known.update(zip(missing, exact.variance[:, 0].tolist(), strict=True))
        return np.array([self._known[time] for time in times])

    def last_above(self, precision: float, last: int) -> int:
        """Return the last step up to ``last`` whose error exceeds the precision, 0 if there is none."""
        bias, steps = self.bias(last), np.arange(1, last + 1)
        if self.model.noise.is_zero:
            above = np.flatnonzero(np.abs(bias) > precision)
            return int(above[-1]) + 1 if above.size else 0
        nodes = _nodes(last)
        log_variance = np.log(np.maximum(self.variance(nodes.tolist()), 1e-300))
        error = np.empty(last)
        for parity in (0, 1):
            # On a bipartite network even and odd steps differ, and each are smooth.
            chosen, mine = nodes % 2 == parity, steps % 2 == parity
            between = np.interp(np.log(steps[mine]), np.log(nodes[chosen]), log_variance[chosen])
            error[mine] = np.hypot(bias[mine], np.exp(between / 2))
        above = np.flatnonzero(error > precision)
        return self._confirmed(precision, int(above[-1]) + 1 if above.size else 0, last)

    def _confirmed(self, precision: float, guess: int, last: int) -> int:
        """Return the last step above the precision near one that interpolated variances give."""
        width = 4
        while True:
            # Exact errors around the guess, until one of each kind lies on either side.
            around = np.arange(max(1, guess - width), min(last, guess + width) + 1)
            error = np.hypot(self.bias(last)[around - 1], np.sqrt(self.variance(around.tolist())))
            above = around[error > precision]
            step = int(above[-1]) if above.size else int(around[0]) - 1
            if (above.size or around[0] == 1) and (step < around[-1] or around[-1] == last):
                return step
            width *= 4


def _nodes(last: int) -> NDArray[np.int64]:
    """Return the steps at which variances are computed: all early ones, then pairs of neighbours in equal ratios."""
    # Those of a shorter path are among them, so they are computed once.
    ratios = (64 * 2.0 ** (np.arange(_PER_DOUBLING * 50) / _PER_DOUBLING)).astype(np.int64)
    nodes = np.unique(np.concatenate([np.arange(1, 65), ratios - 1, ratios, [last - 1, last]]))
    return nodes[(nodes >= 1) & (nodes <= last)]


def _final_error(long_run: LongRun) -> float | None:
    """Return the error of the mode as t → ∞, or a lower bound of it; None where it is 0 or not known."""
    if math.isinf(long_run.model.kappa) and long_run.model.is_plain:
        return _unheard_error(long_run.model)
    if long_run.outcome in (Outcome.CONSENSUS, Outcome.UNKNOWN):
        return None
    opinions = long_run.structure.opinions
    # Opinions that nothing holds in place follow noise without bound.
    walks = bool(opinions.random_walk) and (opinions.detached or not long_run.structure.has_fixed_opinion)
    if long_run.noise is NoiseEffect.SCATTERS or walks:
        return math.inf
    limit, _ = limit_of(long_run, tolerance=_LIMIT_TOLERANCE)
    if limit is not None and not math.isnan(limit.std):
        # What the limit leaves open may be in favour of the precision.
        away = math.hypot(limit.mean - long_run.model.consensus_value, limit.std)
        return max(away - limit.residual, 0.0) if math.isfinite(away) else away
    # Pressure that keeps oscillating has no stationary state.
    settles = long_run.regime is Regime.BOUNDED and long_run.growth.limit is not None
    return _stationary_error(long_run) if settles and long_run.model.is_plain else None


def _unheard_error(model: Model) -> float | None:
    """Return the error of a mode of agents who listen to nobody: that of their noise, which nothing averages."""
    scale = 0.0 if model.noise.is_zero else model.noise.time_scale.growth.limit
    return None if not scale else scale * float(np.linalg.norm(model.mode_weights * model.noise.deviations(model.n)))


def _stationary_error(long_run: LongRun) -> float | None:
    """Return the error that bounded pressure settles at; None where it takes long, or noise varies forever."""
    model = long_run.model
    with np.errstate(all="ignore"):
        pressure, scale = float(model.pressure.pressure(np.array(1e12))), float(model.noise.scale(1e12))
    if not (math.isfinite(pressure) and math.isfinite(scale)):
        return None
    # The law of late steps, as if these had been in force from the start.
    noise = model.noise if model.noise.is_zero else replace(model.noise, time_scale=Constant(scale))
    late = replace(model, pressure=Constant(pressure), noise=noise)
    before, after = (consensus_error(late, steps) for steps in (_SETTLED, 2 * _SETTLED))
    # It is approached geometrically, so twice the steps show whether it is reached.
    return after * (1 - _LIMIT_TOLERANCE) if abs(after - before) <= _LIMIT_TOLERANCE * after else None


def _never(long_run: LongRun, precision: float, final: float, steps: int, errors: _ModeErrors) -> str:
    if math.isinf(long_run.model.kappa):
        size = f"an error of {final:.3g}" if math.isfinite(final) else "an error that grows without bound"
        rule = f"the common value is that of agents who listen to nobody, and their noise leaves {size} in it"
        return message(
            rule, got=f"a precision of {precision:g}", remedy="ask for less, or give these agents less noise"
        )
    if long_run.model.is_plain and long_run.noise is NoiseEffect.STAYS and long_run.regime.reaches_value:
        rule = f"frozen noise leaves an error of {final:.3g} in the consensus mode"
        remedy = "ask for less, or use less noise or fresh noise"
        return message(rule, got=f"a precision of {precision:g}", remedy=remedy)
    error = errors(steps)
    rule = f"a precision can be reached only where agents converge to v; here the outcome is {long_run.outcome.value}"
    left = f"of {final:.3g} remains" if math.isfinite(final) else "grows without bound"
    got = f"{precision:g} where an error {left}"
    suggestion = _better_schedule(long_run, steps, error)
    return message(rule, got=got, remedy=suggestion or "let pressure grow like t and noise not at all")


def _later(
    long_run: LongRun,
    precision: float,
    steps: int,
    errors: _ModeErrors,
    *,
    by_steps: bool = False,
) -> str:
    error = errors(steps)
    rule = f"the precision must be reached, for good, within {steps:,} steps"
    if by_steps and errors.last > steps:
        rule += ", the most that are computed where every one of them has to be"
    got = f"{precision:g} where the error after {steps:,} steps is {error:.3g}"
    return message(rule, got=got, remedy=_better_schedule(long_run, steps, error) or "allow more steps")


def _better_schedule(long_run: LongRun, steps: int, error: float) -> str:
    """Name the tuned schedule if the consensus mode is closer to v under it."""
    schedule = tuned_schedule(long_run)
    # Its error takes a pass over all steps.
    if schedule is None or steps > _COMPARED:
        return ""
    tuned = consensus_error(with_parts(long_run.system, pressure=schedule), steps)
    # An improvement below 1 % is not worth a recommendation.
    return f"try {schedule}, whose error after as many steps is {tuned:.3g}" if error > 1.01 * tuned else ""


def _check_precision(precision: float) -> None:
    Parameter("precision", "real", "precision", above=0, remedy="no finite run has error 0").check(precision)
