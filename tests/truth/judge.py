"""Comparison of what the package says of a model with the truth: right, unknown or wrong, question by question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np

import peerpressure as pp
from peerpressure.theory import Outcome, PowerLaw, Verdict, forecast, steps_needed
from tests.truth.case import Array, Case, curve
from tests.truth.recursion import Truth, distance_under
from tests.truth.trend import Trend, limit, trend, what_is_left

Mark: TypeAlias = Literal["right", "unknown", "open", "wrong"]
HORIZONS = (3, 12, 60)  # steps of a forecast, one of these for each model
ADVISED = 12  # steps of advice
NEAR_RESONANCE = 0.1  # distance of the ratio κ/c from 1 up to which the bias has two terms of like exponents
SETTLED = 2e-3  # local exponents at three late times that differ by less are those of a power law
ORDER: tuple[Trend, ...] = ("infinite", "finite", "open", "zero")  # a sum tends to the first of its parts' trends


@dataclass(frozen=True)
class Finding:
    """The answer to one question: ``claimed`` and ``true`` are texts for a reader."""

    question: str
    mark: Mark
    claimed: str = ""
    true: str = ""


def judge(case: Case, truth: Truth, number: int = 0) -> list[Finding]:
    """Ask the package everything about one model and compare it with the truth."""
    try:
        # Advice and the number of steps take most of the time, so only some models are asked for them.
        advised = not case.continuous and number % 8 == 1
        verdict = pp.diagnose(case.system, ADVISED if advised else None)
    except pp.PeerPressureError as error:
        return [Finding("outcome", "unknown", f"{type(error).__name__}: {error}")]
    found = [_outcome(case, truth, verdict), *_limit(case, truth, verdict), *_hidden(case, truth, verdict)]
    found += [*_rates(case, truth, verdict), *_advice(case, truth, verdict)]
    found += _forecast(case, truth, HORIZONS[number % len(HORIZONS)])
    if isinstance(case.system, pp.Model) and number % 8 == 7:
        found += _steps_needed(case, case.system, truth)
    return found


def _trend(case: Case, truth: Truth, name: str) -> Trend:
    """Return the trend of a reading, from those of its parts: what noise adds may grow unseen beside the mean."""
    if name not in ("distance", "spread", "within", "hidden_spread"):
        return _part_trend(case, truth, name)
    parts = {_part_trend(case, truth, f"{name}_of_{part}") for part in ("mean", "noise")}
    return next(one for one in ORDER if one in parts)


@lru_cache(maxsize=128)
def _part_trend(case: Case, truth: Truth, name: str) -> Trend:
    readings = truth.readings[3:] if case.averages else truth.readings
    # Rounding: F^t is off by about t·1e-16, and a difference of variances by 1e-16 of their size.
    rough = ("distance_of_mean", "spread_of_mean", "within_of_mean", "move", "common", "mean_swing")
    share = 1e-6 if name in rough else 1e-7
    floors = [share * (case.size + (r.hidden_std if name.startswith("hidden") else r.std)) for r in readings]
    if name == "relative_spread":
        floors = [share] * len(readings)
    t, q = [r.t for r in readings], [getattr(r, name) for r in readings]
    found = trend(t, q, floors)
    slow = "t*sqrt(1 + log" in case.pressure or "*log(1 + t)" in case.pressure.removeprefix("t")
    if found == "finite" and slow and abs(q[-1] / q[-3] - 1) > 1e-3:
        # What falls like a power of log t, or like exp(−√log t), hardly moves.
        return "open"
    if found == "infinite" and name == "std" and not case.adapts and not _grows(case, t[-1]):
        # Public opinions are averages: their deviations exceed those of the noise at no time.
        return "open"
    if found == "zero" and q[-1] > 1e-4 * case.size and _hides_a_limit(case):
        return "open"
    if found == "zero" and q[-1] > floors[-1] and not name.startswith(("drift", "hidden")):
        last, sure = _last_of_a_fading_decay(case, np.array(t), np.array(q))
        if last > floors[-1]:
            return "finite" if sure and last > 1e-4 * case.size else "open"
    return found


def _hides_a_limit(case: Case) -> bool:
    """Whether values may still come from, or pass through, zero long after the horizon.

    Pressure that depends on the parity of t leaves two sides at a small distance, which a slow decay hides; and
    opinions that adapt at a rate of 1/(t log t) move with log log t, and may go on past v.
    """
    return "t/2" in case.pressure or "t*log" in case.rate


def _last_of_a_fading_decay(case: Case, t: Array, q: Array) -> tuple[float, bool]:
    """Return what is left of values that fade with the start, like exp(−κ Σ 1/ρ), where the sum converges.

    Such a decay has local exponents in proportion to t/ρ_t, in which case it is sure.
    """
    pressure = curve(case.pressure)
    left = what_is_left(pressure, float(t[-1]))
    if left is None or len(t) < 6:
        return 0.0, False
    decay = -np.diff(np.log(q)) / np.diff(np.log(t))
    with np.errstate(invalid="ignore"):
        expected = (t[-1] / t[-5]) * float(np.divide(*pressure(t[[-5, -1]])))
    sure = bool(abs(decay[-1] / decay[-5] / expected - 1) < 0.25)
    # Noise that is averaged ever less has another exponent than the start, and settles no later.
    fades = sure or bool(decay[-1] < 0.9 * decay[-3]) or case.scale != "1"
    return float(q[-1] * math.exp(-min(decay[-1] * left, 700.0))) if fades else 0.0, sure


def _bounded(case: Case, t: float) -> bool:
    earlier, later = (curve(case.pressure)(np.linspace(0.5, 1.0, 99) * end).max() for end in (t / 1e4, t))
    return not case.averages or bool(later < 1.2 * earlier)


def _grows(case: Case, t: float) -> bool:
    earlier, later = curve(case.scale)(np.array([t / 4, t]))
    return case.noisy and bool(later > 1.001 * earlier)


def _is_still_weak(case: Case, t: float) -> bool:
    """Whether pressure grows, but does not count for the most stubborn agent yet."""
    rho, weights = float(curve(case.pressure)(np.array([t]))[0]), case.cycle[case.cycle > 0]
    return not _bounded(case, t) and rho * weights.min(initial=math.inf) < float(case.stubbornness.max())


def _has_hardly_adapted(case: Case, t: float) -> bool:
    """Whether hidden opinions have hardly begun to adapt to each other, and go on to do so."""
    if not case.adapts:
        return False
    u = np.linspace(0.0, math.log(t), 2_000)
    weight = 1.0 if case.weight is None else case.weight[case.weight > 0].min(initial=1.0)
    with np.errstate(divide="ignore"):
        rates = weight * curve(case.rate)(np.exp(u)) / (1 + 1 / curve(case.pressure)(np.exp(u))) * np.exp(u)
    whole, end = np.trapezoid(rates, u), np.trapezoid(rates[1_000:], u[1_000:])
    return bool(whole * _slowest_share(case) < 3 and end > 0.05 * whole)


def _slowest_share(case: Case) -> float:
    """Return the share of a rate of adaptation at which what is left of the agents' differences fades, 1 at most."""
    A, fixed = case.cycle.mean(axis=0), np.zeros(case.n, np.bool_) if case.weight is None else case.weight == 0
    d = np.where(A.any(axis=1), A.sum(axis=1), 1.0)
    # D⁻¹A is similar to a symmetric matrix; agents who never adapt hold the others, or all of them keep one value.
    values = np.linalg.eigvalsh((A / np.sqrt(np.outer(d, d)))[~fixed][:, ~fixed])
    return float(min(1.0, 1 - values[-1 if fixed.any() else -2])) if values.size > 1 or fixed.any() else 1.0


def _adapts_before_pressure_counts(case: Case, t: float) -> bool:
    """Whether growing noise enters opinions at the rate η, and not yet at that of pressure, which is to exceed 1/η.

    A held opinion follows the others by a = 1/(1/η + ρ/κ), so its variance is of order a σ² and falls with ρ only then.
    """
    rate, rho = (float(curve(text)(np.array([t]))[0]) for text in (case.rate, case.pressure))
    return _grows(case, t) and not _bounded(case, t) and rate * rho < 1


@lru_cache(maxsize=128)
def outcomes(case: Case, truth: Truth) -> set[Outcome] | None:
    """Return the outcomes that describe the truth; None where the horizon does not tell."""
    if _is_still_weak(case, truth.readings[-1].t) or _has_hardly_adapted(case, truth.readings[-1].t):
        return None
    names = ("distance", "spread", "within", "move", "drift", "std", "common")
    trends = {name: _trend(case, truth, name) for name in names}
    if trends["distance"] == "zero":
        # Agents far apart that come together may hide how far off they are together.
        return {Outcome.CONSENSUS} if trends["common"] == "zero" else None
    walks = {Outcome.RANDOM_WALK} if trends["std"] in ("infinite", "open") else set()
    if trends["spread"] == "zero":
        return {Outcome.BIASED_CONSENSUS} | walks if trends["distance"] != "open" else None
    if "open" in (trends["spread"], trends["move"], trends["drift"]):
        return None
    apart = set()
    bounded = trends["spread"] == "finite" and not _grows(case, truth.readings[-1].t)
    if walks and (bounded or _trend(case, truth, "relative_spread") == "zero"):
        # Agents stay near a common opinion that wanders without bound, if only like √log t.
        apart |= walks | ({Outcome.DISAGREEMENT} if trends["spread"] == "infinite" else set())
    if len(set(case.components)) > 1:
        if trends["within"] == "open":
            return None
        if trends["within"] == "zero":
            apart.add(Outcome.CLUSTERS)
    periodic = Outcome.PERIODIC if case.temporal and case.prefix is None else Outcome.OSCILLATION
    if trends["move"] != "zero" and trends["drift"] == "zero":
        apart.add(periodic)
        # Under bounded pressure a stationary law may have phases, too.
        if _bounded(case, truth.readings[-1].t):
            apart.add(Outcome.DISAGREEMENT)
    elif not apart or trends["drift"] != "zero" or len(set(case.components)) == case.n:
        apart.add(Outcome.DISAGREEMENT)
        if _trend(case, truth, "mean_swing") != "zero":
            apart.add(periodic)
    return apart


def _outcome(case: Case, truth: Truth, verdict: Verdict) -> Finding:
    true = _unless_refuted(case, truth, verdict)
    claimed = verdict.outcome.name
    if true is None:
        return Finding("outcome", "open", claimed, _names(true))
    if verdict.outcome is Outcome.UNKNOWN:
        return Finding("outcome", "unknown", claimed, _names(true))
    last = truth.readings[-1]
    if verdict.outcome is Outcome.OSCILLATION and last.spread > 1e-10 * case.size:
        # Where the start is never forgotten, a swing may be left that is smaller than rounding errors.
        left = what_is_left(curve(case.pressure), last.t)
        if left is not None and verdict.outcome not in true:
            return Finding("outcome", "open", claimed, _names(true))
    return Finding("outcome", "right" if verdict.outcome in true else "wrong", claimed, _names(true))


# Share of the distance to v that is left after a fourfold time where a path may as well pass through v.
SLOW = 0.8


def _unless_refuted(case: Case, truth: Truth, verdict: Verdict) -> set[Outcome] | None:
    """Return the outcomes, but None where consensus on v is not told from a claimed limit that is near, or beyond v."""
    true, claimed = outcomes(case, truth), verdict.consensus_limit
    if true != {Outcome.CONSENSUS} or claimed is None or verdict.outcome is not Outcome.BIASED_CONSENSUS:
        return true
    before, now = (truth.readings[k].mode_mean - case.value for k in (-2, -1))
    # A path that hardly moves, as t^(−0.02), passes through v on its way to a limit beyond it.
    if now * (claimed.mean - case.value) < 0 and abs(now) > SLOW * abs(before):
        return None
    return None if math.hypot(claimed.mean - case.value, claimed.std) < truth.readings[-1].distance else true


def _names(true: set[Outcome] | None) -> str:
    return "not told by the horizon" if true is None else " or ".join(sorted(one.name for one in true))


def _limit(case: Case, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
    claimed, readings = verdict.consensus_limit, truth.readings
    true = _unless_refuted(case, truth, verdict)
    agree = {Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS, Outcome.OSCILLATION}
    if claimed is None:
        # Only a settled common value of finite deviation can be asked for.
        if true == {Outcome.BIASED_CONSENSUS} and _trend(case, truth, "std") in ("zero", "finite"):
            yield Finding("limit", "unknown", "none", f"{readings[-1].mode_mean:.6g} ± {readings[-1].mode_std:.3g}")
        return
    if true is None or not true & (agree | {Outcome.RANDOM_WALK}) or not case.averages:
        return
    grows = _trend(case, truth, "std")
    if grows == "open" and true != {Outcome.CONSENSUS}:
        return
    wanders = grows == "infinite"
    swings = verdict.outcome is Outcome.OSCILLATION and bool(np.all(np.isfinite(verdict.law.mean)))
    if swings and case.temporal:
        # The mode of all networks is not that of the last one, in which the phases have equal weights.
        yield _phases(case, truth, verdict)
        return
    if wanders and readings[-1].mode_std < claimed.std < math.inf:
        # What noise adds may sum up to a large number long after the horizon.
        yield Finding("limit", "open", f"{claimed.mean:.6g}, std {claimed.std:.4g}")
        return
    mean, error = (case.value, 0.0) if true == {Outcome.CONSENSUS} else limit([r.mode_mean for r in readings])
    std, std_error = limit([r.mode_std for r in readings]) if true != {Outcome.CONSENSUS} else (0.0, 0.0)
    allowed = 2 * claimed.residual + 1e-5 * case.size
    error += _accuracy(case) * abs(mean - readings[3].mode_mean)
    std_error += _accuracy(case) * max(abs(std - readings[3].mode_std), std * (case.scale != "1"))
    good = abs(claimed.mean - mean) <= allowed + error
    if math.isnan(claimed.std):
        yield Finding("limit", "unknown", f"{claimed.mean:.6g}, std not computed", f"{mean:.6g} ± {std:.4g}")
        return
    good &= math.isinf(claimed.std) == wanders and (wanders or abs(claimed.std - std) <= allowed + std_error)
    true_text = f"{mean:.6g} (± {error:.1g}), std {'∞' if wanders else f'{std:.4g}'} (± {std_error:.1g})"
    text = f"{claimed.mean:.6g}, std {claimed.std:.4g}, residual {claimed.residual:.2g}"
    yield Finding("limit", "right" if good else "wrong", text, true_text)
    if swings and not wanders:
        yield _phases(case, truth, verdict)


def _accuracy(case: Case) -> float:
    """Return the share of what blocks of steps change to which they are right; less where pressure oscillates."""
    return 2e-2 if case.family == "oscillating pressure" else 2e-3


def _phases(case: Case, truth: Truth, verdict: Verdict) -> Finding:
    assert verdict.consensus_limit is not None
    last, residual = truth.readings[-1], verdict.consensus_limit.residual
    off, good = 0.0, True
    # Blocks of steps do not follow the parity of pressure that oscillates.
    resolved = 1e-4 if case.family == "oscillating pressure" else 2e-5
    for agent in range(case.n):
        means = [r.states[-1, agent] for r in truth.readings]
        stds = [math.sqrt(float(np.mean(r.deviations[-2:, agent] ** 2))) for r in truth.readings]
        for said, series in ((verdict.law.at(int(last.t))[agent], means), (verdict.law.std[agent], stds)):
            true, error = limit(series)
            off = max(off, abs(float(said) - true))
            error += _accuracy(case) * abs(true - series[3])
            good &= abs(float(said) - true) <= 2 * residual + resolved * case.size + error
    return Finding("phases", "right" if good else "wrong", f"off by {off:.3g}", f"{last.states[-1]}")


def _hidden(case: Case, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
    if verdict.hidden is None or not case.averages:
        return
    true, claimed = _trend(case, truth, "hidden_spread"), verdict.hidden.agrees
    left = truth.readings[-1].hidden_spread / case.size
    if true == "zero" and claimed is False and (1e-6 < left < 1e-3 or "t^1.01" in case.pressure):
        # Opinions may stay apart by very little, which shows long after the horizon.
        true = "open"
    if true != "zero" and claimed and _adapts_before_pressure_counts(case, truth.readings[-1].t):
        true = "open"
    last = f"spread {truth.readings[-1].hidden_spread:.3g} tends to {true}"
    if true == "open" or _has_hardly_adapted(case, truth.readings[-1].t):
        yield Finding("hidden", "open", str(claimed), last)
    elif claimed is None:
        yield Finding("hidden", "unknown", "None", last)
    else:
        yield Finding("hidden", "right" if claimed == (true == "zero") else "wrong", str(claimed), last)


def _rates(case: Case, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
    if not case.averages:
        return
    readings = truth.readings[3:]
    # Where the common value converges to another value than v, its law is that of the way there.
    to = case.value if verdict.consensus_limit is None else verdict.consensus_limit.mean
    # Rounding of the mean is about t·1e-16.
    quantities: dict[str, Callable[[Any], float]] = {
        "bias": lambda r: abs(r.mode_mean - to) if abs(r.mode_mean - to) > r.t * 1e-13 else 0.0,
        "variance": lambda r: r.mode_std**2,
        "disagreement": lambda r: r.spread if r.spread > max(1e-5 * r.std, r.t * 1e-14 * case.size) else 0.0,
    }
    for name, read in quantities.items():
        law = getattr(verdict.rate, name)
        late = [(r.t, read(r)) for r in readings]
        # Until the value drowns in rounding.
        late = late[
            : next((i for i, (_, q) in enumerate(late) if q < 1e-8 * case.size ** (1 + (name == "variance"))), None)
        ]
        if law is None or len(late) < 5:
            continue
        found, ratio = _law(name, law, *map(np.array, zip(*late, strict=True))), verdict.rate.ratio
        if found.mark == "wrong" and name == "bias" and ratio is not None and abs(ratio - 1) < NEAR_RESONANCE:
            # Terms like t^(−r) and 1/t, of opposite signs perhaps, are told apart long after the horizon.
            found = replace(found, mark="open")
        yield found


def _law(name: str, law: PowerLaw, t: Array, q: Array) -> Finding:
    local = -np.diff(np.log(q)) / np.diff(np.log(t))
    # Where log t multiplies the power, a constant beside it may count for long.
    off = np.maximum(np.abs(local - law.exponent) - 0.12, 0.0) if law.log else np.abs(local - law.exponent)
    good = bool(off[-1] < 0.04 or np.all(off[-2:] < 0.98 * off[-3:-1]))
    if law.exponent == math.inf:
        good = bool(np.all(np.diff(local[-3:]) > 0))
    text, true = str(law), f"exponents {local[-3]:.3f}, {local[-2]:.3f}, {local[-1]:.3f} up to t = {t[-1]:.0e}"
    if good and law.constant is not None and law.exponent < math.inf:
        ratio = np.abs([q / abs(law(x)) - 1 for x, q in zip(t, q, strict=True)])
        good = bool(ratio[-1] < 0.05 or ratio[-1] < 0.9 * ratio[-3])
        text, true = f"{law.constant:.4g} {law}", f"{true}; value/law = {q[-1] / abs(law(t[-1])):.3f}"
    if not good and np.ptp(local[-3:]) > SETTLED:
        # Said of t → ∞, which may be later than what is known.
        return Finding(f"rate of {name}", "open", f"{text} as t → ∞", true)
    return Finding(f"rate of {name}", "right" if good else "wrong", text, true)


def _forecast(case: Case, truth: Truth, steps: int) -> Iterator[Finding]:
    # In continuous time a forecast takes long, and only even steps of ½ have a truth.
    if case.continuous and steps != 12:
        return
    claimed = forecast(case.system, steps)
    # The SDE has steps of ½, and its truth comes from a quadrature.
    at, rtol = (steps // 2 - 1 if case.continuous else steps - 1), (3e-3 if case.continuous else 1e-8)
    true = {
        "rms_distance": truth.distance[at],
        "mode_mean": truth.mode_mean[at],
        "mode_std": truth.mode_std[at],
        "start_weight": truth.start_weight[at],
        "mean": truth.states[at],
        "std": truth.deviations[at],
    }
    for name, value in true.items():
        said = np.asarray(getattr(claimed, name), float)
        scale = 1.0 if name == "start_weight" else case.size + float(truth.deviations[at].max())
        good = bool(np.all(np.abs(said - value) <= rtol * (np.abs(value) + scale) + 1e-9 * scale))
        if name == "start_weight":
            good = bool(abs(said - value) <= 10 * rtol + 1e-6 * abs(value))
        yield Finding(f"forecast of {name}", "right" if good else "wrong", f"{said} at {steps}", f"{value}")


def _advice(case: Case, truth: Truth, verdict: Verdict) -> Iterator[Finding]:
    if verdict.advice is None or verdict.forecast is None:
        return
    steps = verdict.forecast.steps
    now = float(truth.distance[steps - 1])
    for one in verdict.advice.suggestions:
        then = distance_under(case, one.schedule(np.arange(1, steps + 1)))
        good = then < now and math.isclose(one.rms_distance, then, rel_tol=1e-6, abs_tol=1e-9 * case.size)
        text = f"{one.name}: {one.rms_distance:.6g} after {steps} steps"
        yield Finding("advice", "right" if good else "wrong", text, f"{then:.6g}, now {now:.6g}")


def _steps_needed(case: Case, model: pp.Model, truth: Truth) -> Iterator[Finding]:
    error = np.hypot(truth.mode_mean - case.value, truth.mode_std)
    late = np.array([math.hypot(r.mode_mean - case.value, r.mode_std) for r in truth.readings[3:]])
    precision = float(error[100]) * 1.001
    if precision < 1e-6 * case.size or not case.averages or "t*log" in case.rate:
        return
    # Smooth between the late readings, where nothing but slow trends is left.
    if np.all(late[1:] < 0.97 * precision) and np.all(error[-99:] <= precision):
        above = np.flatnonzero(error > precision)
        expected: int | None = int(above[-1]) + 2 if above.size else 1
    elif late[-1] > 1.03 * precision and late[-2] > 1.03 * precision:
        expected = None
    else:
        return
    try:
        found: int | None = steps_needed(model, precision, max_steps=3_000)
    except pp.PeerPressureError as refusal:
        found, text = None, str(refusal)
    else:
        text = str(found)
    reached = expected if expected is not None else "never, as far as 1.6e9 steps show"
    yield Finding(
        "steps needed", "right" if found == expected else "wrong", f"{text} for {precision:.6g}", str(reached)
    )
