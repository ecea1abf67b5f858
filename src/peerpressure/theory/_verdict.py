"""The verdict on the model in continuous time, in the words of the discrete one."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, fields
from html import escape
from typing import Any, NamedTuple, final

from peerpressure.model import Model
from peerpressure.progress import ShouldStop, cancellable
from peerpressure.sde import SDE
from peerpressure.theory._classification import (
    Bond,
    HiddenFate,
    Meeting,
    Outcome,
    Setting,
    fate,
    hidden_fate,
    meeting_of,
)
from peerpressure.theory._consensus_limit import ConsensusLimit, consensus_limit, with_group_values
from peerpressure.theory._continuous_reasons import continuous_reason_for
from peerpressure.theory._continuous_time import ContinuousFate, continuous_fate
from peerpressure.theory._explanation import reason_for
from peerpressure.theory._forecast import Advice, Forecast, advice, forecast
from peerpressure.theory._moments import step_count
from peerpressure.theory._rates import Law, Rate, rate_in
from peerpressure.theory._regime import reduced


class ContinuousFacts(NamedTuple):
    """What a verdict says of a process."""

    outcome: Outcome
    reason: str
    estimated: bool
    rate: Rate
    consensus_limit: ConsensusLimit | None


def continuous_facts(sde: SDE) -> ContinuousFacts:
    """Return what becomes of a process, and by which laws."""
    found = continuous_fate(sde)
    landed = None
    if found.limit is not None:
        steps = round(found.limit.horizon / sde.step)
        landed = ConsensusLimit(found.limit.mean, found.limit.std, steps, found.limit.residual)
    reason = continuous_reason_for(sde, found)
    return ContinuousFacts(found.outcome, reason, found.estimated, _rate(sde, found), landed)


def _rate(sde: SDE, found: ContinuousFate) -> Rate:
    growth = sde.pressure.growth
    ratio = sde.model.kappa / growth.slope if growth.exponent == 1 and growth.slope else None
    laws = (found.bias, found.variance, found.disagreement)
    return Rate(found.regime, *laws, ratio, found.estimated)


# A verdict on a page: text for a terminal, HTML for a notebook.

WIDTH = 88
# Stretches without joint connectivity that are named.
NAMED = 2
Rows = list[tuple[str, str]]


def as_text(verdict: Verdict) -> str:
    """Return a heading, a paragraph and a table, 20 lines at most."""
    table = rows(verdict)
    column = max(len(name) for name, _ in table) + 2
    lines = [f"  {name:<{column}}{value}" for name, value in table]
    return "\n".join([heading(verdict), *textwrap.wrap(verdict.reason, WIDTH), "", *lines])


def as_html(verdict: Verdict) -> str:
    """Return the same as HTML, with every text escaped."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows(verdict)
    )
    head = f"<strong>{escape(heading(verdict))}</strong>"
    return f"<div>{head}<p style='max-width:44em'>{escape(verdict.reason)}</p><table>{body}</table></div>"


def heading(verdict: Verdict) -> str:
    """Return the outcome as a title."""
    words = verdict.outcome.value
    return words[0].upper() + words[1:] + " (estimated)" * verdict.estimated


def rows(verdict: Verdict) -> Rows:
    """Return the table of names and values."""
    kappa = f"{verdict.kappa:.4g}"
    if verdict.rate.ratio is not None:
        kappa += f", and κ/c = {verdict.rate.ratio:.4g} for ρ_t ~ c t"
    name = "κ = Σs/Σd" if verdict.meeting is None else "κ"
    table = [("peer pressure", verdict.pressure), ("consensus value v", f"{verdict.value:.6g}"), (name, kappa)]
    table += _extension_rows(verdict)
    rate = verdict.rate
    laws = [("bias", rate.bias), ("variance", rate.variance), ("disagreement", rate.disagreement)]
    known = [f"{name} {_law(law)}" for name, law in laws if law is not None]
    if known:
        table.append(("goes like", ", ".join(known)))
    if verdict.forecast is not None:
        table += _forecast_rows(verdict.forecast, verdict.step)
    if verdict.advice is not None:
        table.append(("tuned schedule", _advised(verdict.advice)))
    return table


def _law(law: Law) -> str:
    return "0" if law.constant == 0 else str(law)


def _extension_rows(verdict: Verdict) -> Rows:
    table: Rows = []
    if verdict.consensus_limit is not None:
        table.append(("all land on", _limit_text(verdict.consensus_limit)))
    if verdict.hidden is not None:
        table += _hidden_rows(verdict.hidden)
    if verdict.meeting is not None:
        table.append(("agents meet", _met(verdict.meeting)))
    return table


def _limit_text(consensus_limit: ConsensusLimit) -> str:
    if math.isinf(consensus_limit.std):
        return f"{consensus_limit.mean:.6g} on average, with no bound to its scatter"
    scatter = f" ± {consensus_limit.std:.3g}" if consensus_limit.std else ""
    return f"{consensus_limit.mean:.6g}{scatter}" + (
        f", error about {consensus_limit.residual:.1g}" if consensus_limit.residual else ""
    )


def _hidden_rows(hidden: HiddenFate) -> Rows:
    known = {True: "come to agree", False: "do not come to agree", None: "it is not known whether they come to agree"}
    low, high = ("∞" if math.isinf(life) else f"{life:,.0f}" for life in hidden.half_life)
    told = hidden.information
    learnt = f"; all together tell of x₀ what {told:.3g} first ones would" if math.isfinite(told) else ""
    life = f"half-life of {low if low == high else f'{low}–{high}'} steps{learnt}"
    return [("hidden opinions", known[hidden.agrees]), ("retention", life)]


def _met(meeting: Meeting) -> str:
    when = "" if meeting.until is None else f" up to t = {meeting.until:,}"
    if len(meeting.groups) > 1 and meeting.until is None:
        text = f"for ever only within {len(meeting.groups):,} groups"
    elif meeting.window is not None:
        text = f"all within any {meeting.window:,} steps{when}" if meeting.window > 1 else f"all in every step{when}"
    else:
        text = f"never all of them{when}" if meeting.until else "not all of them for ever"
    if meeting.usual is not None and meeting.usual != meeting.window:
        text += f", mostly within {meeting.usual:,}"
    named = ", ".join(f"{a:,}–{b:,}" if a < b else f"{a:,}" for a, b in meeting.broken[:NAMED])
    more = f" and {len(meeting.broken) - NAMED:,} more" if len(meeting.broken) > NAMED else ""
    return text + (f" but not in {named}{more}" if named else "")


def _forecast_rows(ahead: Forecast, step: float | None) -> Rows:
    over = "exact" if ahead.replicates is None else f"from {ahead.replicates} simulated runs"
    after = f"after {ahead.steps:,} step{'s' * (ahead.steps != 1)}"
    if step is not None:
        after = f"at time {ahead.steps * step:,.6g}"
    table = [
        (after, f"the start still weighs {ahead.start_weight:.3g}"),
        (
            "  consensus mode",
            f"{ahead.mode_mean:.6g} ± {ahead.mode_std:.3g}, error {ahead.mode_error:.3g}",
        ),
        ("  distance to v", f"{ahead.distance:.3g} (root mean square, {over})"),
        ("  disagreement", f"{ahead.disagreement:.3g} (root mean square, {over})"),
    ]
    if ahead.hidden_spread is not None:
        table.append(("  hidden opinions", f"mean {ahead.hidden_mean:.6g}, spread {ahead.hidden_spread:.3g} ({over})"))
    return table


def _advised(advice: Advice) -> str:
    gain = advice.gain
    if math.isinf(gain):
        compared = "all of it"
    elif gain >= 1.005:
        compared = f"{gain:.3g} times smaller"
    elif gain <= 0.995:
        compared = f"{1 / gain if gain else math.inf:.3g} times larger"
    else:
        compared = "the same"
    return f"{advice.schedule}: error {advice.error_tuned:.3g} instead of {advice.error_now:.3g}, {compared}"


# What becomes of a model, said in words with the numbers behind them.

# Up to this size the constants of the rates come at once.
_LARGEST_SOLVE = 5_000
# Share of the range of opinions to which consensus limit are worked out here; they are printed with few digits.
_TOLERANCE = 1e-3
# Groups whose values are worked out where it takes more than their opinions.
_NAMED_GROUPS = 3


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """The fate of a model, why, and how soon.

    ``value`` is v = Σ s x₀/Σ s and ``kappa`` is Σs/Σd, or the rate of the common value where the network changes.
    ``rate`` holds the laws by which bias, variance and disagreement fall; ``forecast`` and ``advice`` are there where a
    number of steps was asked for. ``estimated`` says that the outcome rests on the values of a formula at large t
    instead of on a known growth.

    ``consensus_limit`` is where all agree who agree elsewhere than the paper's model would have them; ``hidden`` says
    what becomes of hidden opinions that adapt, and ``meeting`` how the agents of a changing network meet. ``step``
    is the length of a step in continuous time.
    """

    outcome: Outcome
    reason: str
    estimated: bool
    value: float
    kappa: float
    pressure: str
    rate: Rate
    forecast: Forecast | None = None
    advice: Advice | None = None
    consensus_limit: ConsensusLimit | None = None
    hidden: HiddenFate | None = None
    meeting: Meeting | None = None
    step: float | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether all agents end up showing one value, be it v or not; None if that is not known."""
        if self.outcome is Outcome.UNKNOWN:
            return None
        return self.outcome in (Outcome.CONSENSUS, Outcome.BIASED_CONSENSUS)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        plain: dict[str, Any] = {
            "outcome": self.outcome.name.lower(),
            "words": self.outcome.value,
            "agrees": self.agrees,
            "reason": self.reason,
            "estimated": self.estimated,
            "value": self.value,
            "kappa": self.kappa,
            "pressure": self.pressure,
            "regime": self.rate.regime.name.lower(),
            "ratio": self.rate.ratio,
            "step": self.step,
        }
        plain["rates"] = {name: _plain_law(getattr(self.rate, name)) for name in ("bias", "variance", "disagreement")}
        plain["forecast"] = None if self.forecast is None else _plain_forecast(self.forecast)
        plain["advice"] = None if self.advice is None else _plain_advice(self.advice)
        plain["consensus_limit"] = None if self.consensus_limit is None else _plain_limit(self.consensus_limit)
        plain["hidden"] = None if self.hidden is None else self.hidden.to_dict()
        plain["meeting"] = None if self.meeting is None else self.meeting.to_dict()
        return plain

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def diagnose(model: Model | SDE, steps: int | None = None, *, should_stop: ShouldStop | None = None) -> Verdict:
    """Say whether the agents will agree, on what, and how fast.

    With ``steps``, also where they will be by then, exactly, and how much the tuned schedule ρ_t = κt would improve
    on it. In continuous time steps are those of the equation.

    ``should_stop`` is called at every step that is followed, and cancels the work with ``CancelledError`` if it returns
    True.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> diagnose(Model(k2(), hidden=[0, 1])).outcome.value
    'consensus on v'
    >>> diagnose(Model(k2(), hidden=[0, 1], pressure=Power(2))).outcome.value
    'permanent oscillation between the two sides'
    """
    with cancellable(should_stop):
        return _diagnose(model, steps)


def _diagnose(model: Model | SDE, steps: int | None) -> Verdict:
    horizon = None if steps is None else step_count(steps)
    ahead = None if horizon is None else forecast(model, horizon)
    better = None if ahead is None else advice(model, ahead.steps, ahead.mode_error)
    if isinstance(model, SDE):
        outcome, reason, estimated, rate, landed = continuous_facts(model)
        kappa, pressure = model.model.kappa, str(model.pressure)
        value = model.consensus_value
        return Verdict(outcome, reason, estimated, value, kappa, pressure, rate, ahead, better, landed, step=model.step)
    model = reduced(model)
    found = with_group_values(model, fate(model), most=_NAMED_GROUPS, tolerance=_TOLERANCE)
    landed = _landed(model, found.setting)
    return Verdict(
        outcome=found.outcome,
        reason=reason_for(model, found, horizon, landed),
        estimated=found.estimated,
        value=model.consensus_value,
        kappa=_kappa(model, found.setting),
        pressure=str(model.pressure),
        rate=rate_in(model, found.setting, constants=model.n <= _LARGEST_SOLVE),
        forecast=ahead,
        advice=better,
        consensus_limit=landed,
        hidden=hidden_fate(model, found),
        meeting=meeting_of(model, found, horizon),
    )


def _landed(model: Model, setting: Setting | None) -> ConsensusLimit | None:
    return None if setting is None or setting.bond is not Bond.ONE else consensus_limit(model, tolerance=_TOLERANCE)


def _kappa(model: Model, setting: Setting | None) -> float:
    mode = setting.groups[0].mode if setting is not None and setting.bond is Bond.ONE else None
    return model.kappa if mode is None else mode.kappa


def _plain_law(law: Law | None) -> dict[str, Any] | None:
    return None if law is None else {"exponent": law.exponent, "constant": law.constant, "log": law.log}


def _plain_forecast(ahead: Forecast) -> dict[str, Any]:
    plain = {field.name: getattr(ahead, field.name) for field in fields(ahead)}
    for name in ("mean", "std"):
        plain[name] = None if plain[name] is None else plain[name].tolist()
    return plain


def _plain_limit(landed: ConsensusLimit) -> dict[str, Any]:
    # Infinity is no JSON, here and below.
    std = landed.std if math.isfinite(landed.std) else None
    return {"mean": landed.mean, "std": std, "horizon": landed.horizon, "residual": landed.residual}


def _plain_advice(better: Advice) -> dict[str, Any]:
    return {
        "schedule": better.schedule.to_dict(),
        "error_now": better.error_now,
        "error_tuned": better.error_tuned,
        "gain": better.gain if better.error_tuned > 0 or better.gain == 1 else None,
    }
