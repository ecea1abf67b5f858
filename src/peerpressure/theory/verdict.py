"""What becomes of a model, said in words with the numbers behind them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, final

from peerpressure.model import Model
from peerpressure.theory.ends import Outcome
from peerpressure.theory.forecast import Advice, Forecast, advice, forecast
from peerpressure.theory.outcome import fate
from peerpressure.theory.rates import Law, Rate, consensus_rate
from peerpressure.theory.reasons import reason_for
from peerpressure.theory.render import as_html, as_text
from peerpressure.theory.times import step_count

# Up to this size the constants of the rates come at once.
_LARGEST_SOLVE = 5_000


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """The fate of a model, why, and how soon.

    ``value`` is v = Σ s x₀/Σ s and ``kappa`` is Σs/Σd. ``rate`` holds the laws by which bias, variance and disagreement
    fall; ``forecast`` and ``advice`` are there where a number of steps was asked for. ``estimated`` says that the
    outcome rests on the values of a formula at large t instead of on a known growth.
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

    @property
    def agrees(self) -> bool | None:
        """Whether all agents end up showing one value, be it v or not; None if that is not known."""
        if self.outcome is Outcome.UNKNOWN:
            return None
        return self.outcome in (Outcome.CONSENSUS, Outcome.WRONG_VALUE)

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
        }
        plain["rates"] = {name: _plain_law(getattr(self.rate, name)) for name in ("bias", "variance", "disagreement")}
        plain["forecast"] = None if self.forecast is None else _plain_forecast(self.forecast)
        plain["advice"] = None if self.advice is None else _plain_advice(self.advice)
        return plain

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def diagnose(model: Model, steps: int | None = None) -> Verdict:
    """Say whether the agents will agree, on what, and how fast.

    With ``steps``, also where they will be by then, exactly, and how much the tuned schedule ρ_t = κt would improve
    on it.

    >>> from peerpressure.networks import k2
    >>> from peerpressure.schedules import Power
    >>> diagnose(Model(k2(), hidden=[0, 1])).outcome.value
    'consensus on v'
    >>> diagnose(Model(k2(), hidden=[0, 1], pressure=Power(2))).outcome.value
    'permanent oscillation between the two sides'
    """
    horizon = None if steps is None else step_count(steps)
    found = fate(model)
    rate = consensus_rate(model, constants=model.n <= _LARGEST_SOLVE)
    ahead = None if horizon is None else forecast(model, horizon)
    return Verdict(
        outcome=found.outcome,
        reason=reason_for(model, found, horizon),
        estimated=found.estimated,
        value=model.consensus_value,
        kappa=model.kappa,
        pressure=str(model.pressure),
        rate=rate,
        forecast=ahead,
        advice=None if ahead is None else advice(model, ahead.steps, ahead.mode_error),
    )


def _plain_law(law: Law | None) -> dict[str, Any] | None:
    return None if law is None else {"exponent": law.exponent, "constant": law.constant, "log": law.log}


def _plain_forecast(ahead: Forecast) -> dict[str, Any]:
    plain = {field.name: getattr(ahead, field.name) for field in fields(ahead)}
    for name in ("mean", "std"):
        plain[name] = None if plain[name] is None else plain[name].tolist()
    return plain


def _plain_advice(better: Advice) -> dict[str, Any]:
    return {
        "schedule": better.schedule.to_dict(),
        "error_now": better.error_now,
        "error_tuned": better.error_tuned,
        # Infinity is no JSON.
        "gain": better.gain if better.error_tuned > 0 or better.gain == 1 else None,
    }
