"""What becomes of a model, said in words with the numbers behind them."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, final

from peerpressure.model import Model
from peerpressure.sde import SDE
from peerpressure.theory.continuous_time.facts import continuous_facts
from peerpressure.theory.ends import Outcome
from peerpressure.theory.extensions.bonds import Bond, Setting
from peerpressure.theory.extensions.consensus_limit import ConsensusLimit, consensus_limit, with_group_values
from peerpressure.theory.extensions.hidden_fate import HiddenFate, hidden_fate
from peerpressure.theory.extensions.meeting import Meeting, meeting_of
from peerpressure.theory.forecast import Advice, Forecast, advice, forecast
from peerpressure.theory.outcome import fate
from peerpressure.theory.rates import Law, Rate, rate_in
from peerpressure.theory.reasons import reason_for
from peerpressure.theory.reduced import reduced
from peerpressure.theory.render import as_html, as_text
from peerpressure.theory.times import step_count

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


def diagnose(model: Model | SDE, steps: int | None = None) -> Verdict:
    """Say whether the agents will agree, on what, and how fast.

    With ``steps``, also where they will be by then, exactly, and how much the tuned schedule ρ_t = κt would improve
    on it. In continuous time steps are those of the equation.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> diagnose(Model(k2(), hidden=[0, 1])).outcome.value
    'consensus on v'
    >>> diagnose(Model(k2(), hidden=[0, 1], pressure=Power(2))).outcome.value
    'permanent oscillation between the two sides'
    """
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
