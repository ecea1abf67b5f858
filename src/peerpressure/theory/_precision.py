"""Number of replicates, or of steps, that a given precision takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.parameters import Parameter
from peerpressure.schedules import Table
from peerpressure.theory._advice import tuned_schedule
from peerpressure.theory._classification import LongRun, Outcome, classify
from peerpressure.theory._forecast import mode_error
from peerpressure.theory._moments import Functionals, consensus_mode, moments, step_count
from peerpressure.theory._rates import mode_noise, steps_until, with_parts
from peerpressure.theory._regime import NoiseEffect

# Where agents do not converge to v, the error levels off; more steps would only delay the error message.
_SETTLED = 2_000


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
        The length T of a run.
    precision : float
        Half the width of the confidence interval.
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
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> replicates_needed(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), 99, precision=0.01, of=[1, 0])
    381
    """
    _check_precision(precision)
    Parameter("confidence", "real", "confidence", above=0, below=1, remedy="for instance 0.95").check(confidence)
    found = moments(model, steps, of=consensus_mode(model) if of is None else of)
    # The mean over replicates is normal by the central limit theorem, so the exact std of one replicate is enough.
    std = float(found.std.max())
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    ratio = z * std / precision
    # `not <` also catches NaN and ∞, and the square stays below 2⁶³.
    if not ratio < 1e9:
        rule = "a precision must be within reach of some number of replicates"
        got = f"{precision:g} where one replicate has a deviation of {std:.3g}"
        raise InvalidInputError(message(rule, got=got, remedy="ask for less precision"))
    return max(1, math.ceil(ratio**2))


def steps_needed(model: Model, precision: float, *, max_steps: int = 100_000) -> int:
    """Return the smallest T after which the consensus mode is within ``precision`` of v, as a root mean square.

    The exact error is searched by doubling T and then by bracketing: T reaches the precision and T − 1 does not. The
    error decreases with T except for oscillations at small T, where it may have reached the precision once before.

    Parameters
    ----------
    model : Model
        Any model.
    precision : float
        The largest root-mean-square distance of the consensus mode to v.
    max_steps : int, default 100000
        The largest T that is tried.

    Returns
    -------
    int
        The number of steps T.

    Raises
    ------
    InvalidInputError
        If the precision is not reached; the message gives the reason, and a better schedule.

    See Also
    --------
    mode_error : The error after a given number of steps.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> from peerpressure.noise import Gaussian
    >>> steps_needed(Model(k2(), hidden=[0, 1], noise=Gaussian(1.0)), precision=0.05)  # √(T/2)/(T + 1)
    198
    """
    _check_precision(precision)
    limit, long_run = step_count(max_steps), classify(model)
    if long_run.outcome not in (Outcome.CONSENSUS, Outcome.UNKNOWN):
        limit = min(limit, _SETTLED)
    if isinstance(model.pressure, Table):
        # A table defines no pressure beyond its last value.
        limit = min(limit, model.pressure.values.size)
    # Each evaluation is a backward run over T steps; bracketing and interpolation reuse them.
    errors = _cached(lambda T: mode_error(model, T))
    below, above = _bracket(errors, precision, limit)
    if above is None:
        raise InvalidInputError(_out_of_reach(long_run, precision, below, errors(below)))
    return _bisect(errors, precision, below, above)


def _cached(error: Callable[[int], float]) -> Callable[[int], float]:
    known: dict[int, float] = {}

    def lookup(T: int) -> float:
        if T not in known:
            known[T] = error(T)
        return known[T]

    return lookup


def _bracket(error: Callable[[int], float], precision: float, limit: int) -> tuple[int, int | None]:
    """Double T until the error is small enough; return the last T that failed and the first that did not."""
    below, T = 0, 1
    while error(T) > precision:
        below = T
        if limit == T:
            return below, None
        # Doubling makes the total work at most twice that of the last run.
        T = min(2 * T, limit)
    return below, T


def _bisect(error: Callable[[int], float], precision: float, below: int, above: int) -> int:
    """Narrow a bracket to neighbours, alternating between a power law through its ends and bisection."""
    by_power_law = True
    while above - below > 1:
        guess = (below + above) // 2
        if by_power_law and below > 0 and error(above) > 0:
            # The error is nearly a power of T, so interpolation in log–log finds the crossing in a few runs. Bisection
            # in between guarantees progress where the law is not a power.
            guess = _crossing(below, error(below), above, error(above), precision)
        by_power_law = not by_power_law
        # Strictly inside, or the loop would not end.
        middle = min(max(guess, below + 1), above - 1)
        if error(middle) > precision:
            below = middle
        else:
            above = middle
    return above


def _crossing(a: int, error_a: float, b: int, error_b: float, precision: float) -> int:
    share = math.log(error_a / precision) / math.log(error_a / error_b)
    return math.ceil(a * math.pow(b / a, share))


def _out_of_reach(long_run: LongRun, precision: float, steps: int, error: float) -> str:
    got = f"{precision:g} where the error after {steps:,} steps is {error:.3g}"
    outcome = long_run.outcome
    if long_run.model.is_plain and long_run.noise is NoiseEffect.STAYS:
        rule = f"frozen noise leaves an error of {mode_noise(long_run.model):.3g} in the consensus mode"
        return message(rule, got=got, remedy="ask for less, use less noise, or noise that is drawn anew")
    better = _better_schedule(long_run, steps, error)
    if outcome not in (Outcome.CONSENSUS, Outcome.UNKNOWN):
        rule = f"a precision can be reached only where agents converge to v, and here there is {outcome.value}"
        return message(rule, got=got, remedy=better or "let pressure grow like t and noise not at all")
    rule = f"the precision must be reached within {steps:,} steps"
    remedies = [_extrapolated(long_run, precision, steps, error), better]
    return message(rule, got=got, remedy=", and ".join(filter(None, remedies)) or "allow more steps")


def _extrapolated(long_run: LongRun, precision: float, steps: int, error: float) -> str:
    """Return, as text, the number of steps by the recursion of the consensus mode."""
    found = steps_until(long_run, steps, error, precision)
    return "" if found is None else f"allow about 10^{math.log10(found):.1f} steps"


def _better_schedule(long_run: LongRun, steps: int, error: float) -> str:
    """Name the tuned schedule if the consensus mode is closer to v under it."""
    schedule = tuned_schedule(long_run)
    if schedule is None:
        return ""
    tuned = mode_error(with_parts(long_run.system, pressure=schedule), steps)
    # An improvement below 1 % is not worth a recommendation.
    return f"try {schedule}, whose error after as many steps is {tuned:.3g}" if error > 1.01 * tuned else ""


def _check_precision(precision: float) -> None:
    Parameter("precision", "real", "precision", above=0, remedy="no finite run has error 0").check(precision)
