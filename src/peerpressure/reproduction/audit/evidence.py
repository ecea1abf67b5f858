"""What the checks look at: the results of the run, and the models that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypeAlias, final

import pandas as pd

from peerpressure.model import Model
from peerpressure.privacy import exposure
from peerpressure.recovery import Prior
from peerpressure.reproduction import printed
from peerpressure.reproduction.comparison import Comparison
from peerpressure.reproduction.noise_levels import NoiseLevelsResult
from peerpressure.reproduction.printed import PrintedTerm
from peerpressure.reproduction.regression import ResidualsResult
from peerpressure.reproduction.two_agents import TwoAgentsResult
from peerpressure.schedules import StretchedExponential

PROTECTION_STEPS = (10, 100, 1_000)


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers of one run.

    ``slow`` and ``fast`` are the same agents under both peer pressures, ``runs`` is the summary of the convergence
    experiment, ``observers`` has the columns of the table of that name, and ``protection`` those of ``protection``.
    """

    slow: Model
    fast: Model
    steps: int
    runs: pd.DataFrame
    pair: TwoAgentsResult
    observers: pd.DataFrame
    protection: pd.DataFrame
    partial: pd.DataFrame
    residuals: ResidualsResult
    sweeps: Comparison
    sizes: pd.DataFrame
    noise: NoiseLevelsResult
    printed: Mapping[int, Mapping[str, PrintedTerm]] = field(default_factory=lambda: printed.REGRESSIONS)


def protection(model: Model, times: Sequence[int] = PROTECTION_STEPS) -> pd.DataFrame:
    """Return what an observer of everyone leaves of the prior variance: steps, ratio (mean over agents)."""
    prior = Prior.uniform(*printed.HIDDEN_RANGE)
    rows = [
        {"steps": steps, "ratio": float(exposure(model, steps, prior=prior).table["ratio"].mean())} for steps in times
    ]
    return pd.DataFrame(rows)


def hurried(model: Model) -> Model:
    """Return the same agents under ρ_t = 2^√t."""
    return replace(model, pressure=StretchedExponential())


# What an audit says of one claim.

Verdict: TypeAlias = Literal["confirmed", "corrected", "refuted", "cannot be tested"]

CONFIRMED: Verdict = "confirmed"
CORRECTED: Verdict = "corrected"
REFUTED: Verdict = "refuted"
UNTESTABLE: Verdict = "cannot be tested"


@final
@dataclass(frozen=True)
class Claim:
    """A claim in our words, where it stands in the paper, and what is printed there."""

    id: str
    claim: str
    where: str
    printed: str


@final
@dataclass(frozen=True)
class Finding:
    """A claim with what was found: the numbers, the verdict that follows from them, and why in one sentence.

    Confirmed: what is printed holds. Corrected: it holds with another number, label or condition, which is given.
    Refuted: the contrary holds. Cannot be tested: the evidence is too small to tell.
    """

    claim: Claim
    found: str
    verdict: Verdict
    why: str

    def row(self) -> dict[str, Any]:
        """Return the finding as a row of the table."""
        return asdict(self.claim) | {"found": self.found, "verdict": self.verdict, "why": self.why}
