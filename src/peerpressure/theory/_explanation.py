"""The mathematics of a verdict as text: tables of names and values, and the meaning of symbols."""

from __future__ import annotations

import math
import textwrap
from typing import TypeAlias

from peerpressure.schedules import Linear, Table
from peerpressure.support.text import with_deviation
from peerpressure.theory._advice import NOT_TRIED, Advice, Suggestion
from peerpressure.theory._forecast import Forecast, Settling
from peerpressure.theory._limits import ConsensusLimit

WIDTH = 88
# Share of the steps up to which agents who are close in the last ones are not said to be so from then on.
SHORT = 0.1
Rows: TypeAlias = list[tuple[str, str]]


def table(rows: Rows, width: int = WIDTH) -> list[str]:
    """Return the lines of a table of names and values, wrapped at a width."""
    column = max(len(name) for name, _ in rows) + 4
    lines = []
    for name, value in rows:
        # On a narrow terminal values may be wider than what the names leave, but not narrower than a word or two.
        first, *more = textwrap.wrap(value, max(width - column, 24), break_long_words=False) or [""]
        lines += [f"  {name}".ljust(column) + first, *(" " * column + part for part in more)]
    return lines


def limit_text(limit: ConsensusLimit) -> str:
    """Return the value, or values, of a limit with their deviations and the error of the computation."""
    if not math.isfinite(limit.std):
        variance = "unbounded variance" if math.isinf(limit.std) else "a variance that does not vanish"
        return f"{limit.mean:.6g} on average, with {variance}"
    if math.isinf(limit.residual):
        return f"{limit.mean:.6g}, of unknown error"
    text = with_deviation(limit.mean, limit.std, limit.residual)
    return text + (f", error about {limit.residual:.1g}" if limit.residual else "")


def forecast_rows(forecast: Forecast, step: float | None) -> Rows:
    """Return where agents are after the steps of a forecast."""
    after = f"after {forecast.steps:,} step{'s' * (forecast.steps != 1)}"
    if step is not None:
        after = f"at time {forecast.steps * step:,.6g}"
    table = [
        (after, f"the start keeps a weight of {forecast.start_weight:.3g}"),
        (
            "  consensus mode",
            f"{with_deviation(forecast.mode_mean, forecast.mode_std)}, error {forecast.mode_error:.3g}",
        ),
        (f"  RMS distance to {target_name(forecast)}", _estimate(forecast.rms_distance, forecast.rms_distance_stderr)),
        ("  RMS disagreement", _estimate(forecast.disagreement, forecast.disagreement_stderr)),
    ]
    if forecast.settling is not None:
        table.append((f"  RMS within {forecast.settling.tolerance:g}", _settling_text(forecast.settling)))
        table += [("", why) for why in [_comparison(forecast.settling)] if why]
    elif forecast.settling_omitted is not None:
        table.append(("  settling times", str(forecast.settling_omitted)))
    if forecast.hidden_disagreement is not None:
        disagreement = _estimate(forecast.hidden_disagreement, forecast.hidden_disagreement_stderr)
        table.append(("  hidden opinions", f"mean {forecast.hidden_mean:.6g}, RMS disagreement {disagreement}"))
    return table


def target_name(of: Forecast | Settling) -> str:
    """Return what distances are measured to, in words."""
    return "own limits" if of.own_limits else "v"


def progress_rows(forecast: Forecast | None) -> Rows:
    """Return from which steps on agents are close to each other and to v, or why that is not known."""
    if forecast is None:
        return [("how fast", "ask for a number of steps to see from which step on agents are close to each other")]
    omitted = [] if forecast.settling_omitted is None else [("how fast", str(forecast.settling_omitted))]
    return omitted if forecast.settling is None else settling_rows(forecast.settling)


def settling_rows(settling: Settling) -> Rows:
    """Return from which steps on agents are close to each other and to v, and what that means."""
    last = _moment(settling.steps, settling)
    never = f"not within {settling.steps:,} steps" if settling.step_length is None else f"not by {last}"
    names = {"each other": settling.each_other, target_name(settling): settling.value}
    table = [
        (f"within {settling.tolerance:g} of {name}", _since(step, settling) if step is not None else never)
        for name, step in names.items()
    ]
    known = "RMS over agents and noise, "
    known += "bounds that leave out the noise of earlier steps" if settling.is_bound else "exact"
    if settling.step_length is not None:
        known += f", at multiples of {settling.step_length:g}"
    # A claim about later steps would go beyond what is computed.
    reached = any(step is not None for step in names.values())
    known += f", up to {last}" * reached
    return [*table, ("", "; ".join(filter(None, [known, _comparison(settling)])))]


def _settling_text(settling: Settling) -> str:
    times = {"each other": settling.each_other, target_name(settling): settling.value}
    parts = [f"of {name} {'not' if step is None else _since(step, settling)}" for name, step in times.items()]
    return f"{', '.join(parts)}; up to {_moment(settling.steps, settling)}"


def _comparison(settling: Settling) -> str:
    """Return why agents are close to v before they are close to each other, where they are."""
    each, value = settling.each_other, settling.value
    before = value is not None and (each is None or each > value) and not settling.own_limits
    return "agents on opposite sides of v differ more from each other" * before


def _moment(step: int, settling: Settling) -> str:
    """Return a step, or the time of it in continuous time."""
    return f"step {step:,}" if settling.step_length is None else f"time {step * settling.step_length:,.6g}"


def _since(step: int, settling: Settling) -> str:
    if settling.is_bound:
        return f"not before {_moment(step, settling)}" if step else "not known from when on"
    held = settling.steps - step + 1
    if step and (held == 1 or held <= SHORT * settling.steps):
        # Where distances rise and fall they may well rise again.
        return f"only in the last {held:,} steps" if held > 1 else "only at the last step"
    return f"from {_moment(step, settling)} on" if step else "from the start"


def _estimate(value: float, stderr: float) -> str:
    return f"{value:.3g} " + (f"(standard error {stderr:.1g})" if stderr else "(exact)")


def advice_rows(advice: Advice) -> Rows:
    """Return two rows for each better schedule, or why the best one was not computed."""
    if not advice.suggestions and advice.omitted is not None:
        return [("better schedules" if not_tried(advice) else "optimal schedule", str(advice.omitted))]
    return [row for one in advice.suggestions for row in _suggestion_rows(one, advice.rms_distance)]


def not_tried(advice: Advice) -> bool:
    """Return whether no schedule was looked for, because the network is too large."""
    return advice.omitted is not None and advice.omitted.code == NOT_TRIED.code


_ADVISED = {
    "optimal": "optimal schedule",
    "averaging": "line, then averaging",
    "line": "best line",
    "tuned": "tuned schedule",
}


def _suggestion_rows(one: Suggestion, now: float) -> Rows:
    compared = f"{one.gain:.3g} times smaller" if math.isfinite(one.gain) else "none is left"
    after = "for this horizon only" if one.outcome is None else f"in the long run {one.outcome.value}"
    distance = f"RMS distance {one.rms_distance:.3g} instead of {now:.3g}, {compared}"
    return [(_ADVISED[one.name], distance), ("", f"{schedule_text(one)}; {after}")]


def schedule_text(one: Suggestion) -> str:
    """Return a better schedule in a few words."""
    if one.averaging_steps:
        last = f"the last {one.averaging_steps:,} steps" if one.averaging_steps > 1 else "the last step"
        return f"{Linear(float(one.schedule(1)))}, then agree at once in {last}"
    return _course(one.schedule) if isinstance(one.schedule, Table) else str(one.schedule)


def _course(schedule: Table) -> str:
    """Describe a table by its first, its middle and its last pressure."""
    last = schedule.values.size
    shown = sorted({1, -(-last // 2), last})
    return ", ".join(f"ρ_{t} = {schedule.values[t - 1]:.3g}" for t in shown)


# In the order in which they are listed; each is explained where it occurs.
SYMBOLS = {
    "v": "consensus value, the influence-weighted mean of hidden opinions: Σ s x₀/Σ s on an undirected network",
    "t": "step, or time",
    "ρ_t": "peer pressure at step t",
    "κ": "rate of the consensus mode: total stubbornness over total degree on a constant undirected network",
    "c": "slope of the pressure at large t",
    "s": "stubbornness of an agent, the weight of its own opinion",
    "d": "degree of an agent, the sum of the weights of its edges",
    "x₀": "hidden opinion of an agent",
    "σ̄": "standard deviation that the noise of one step has in the consensus mode",
    "consensus mode": "mean of public opinions weighted by degree, which all agents approach",
    "bias": "distance of the mean of the consensus mode from v",
    "variance": "variance of the consensus mode over runs",
    "disagreement": "distance of agents from the consensus mode",
    "RMS": "root mean square over agents and noise",
}


def legend(text: str, width: int = WIDTH) -> str:
    """Return the meaning of the symbols and terms that occur in a text, one line for each.

    >>> print(legend("ρ_t = t"))
      t    step, or time
      ρ_t  peer pressure at step t
    """
    spaced = "".join(sign if sign.isalnum() or sign in "_₀\u0304" else " " for sign in text).split()
    words = {part for word in spaced for part in (word, word.removeprefix("Σ"))}
    entries = [(name, meaning) for name, meaning in SYMBOLS.items() if name in words or (" " in name and name in text)]
    return "\n".join(table(entries, width)) if entries else ""
