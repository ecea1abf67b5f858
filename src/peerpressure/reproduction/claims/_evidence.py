"""The evidence that checks of claims use, and the finding that each check returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, final

import pandas as pd

from peerpressure.model import Model
from peerpressure.privacy import exposure
from peerpressure.recovery import Prior
from peerpressure.reproduction import printed
from peerpressure.reproduction.printed import PrintedTerm
from peerpressure.schedules import StretchedExponential

if TYPE_CHECKING:
    from peerpressure.reproduction._convergence import NoiseLevelsResult
    from peerpressure.reproduction._regression import ResidualsResult, TwoAgentsResult
    from peerpressure.reproduction._sweep import SweepComparison


# Two decades, from which an exponent can be estimated, around the printed 100 steps.
PROTECTION_STEPS = (10, 100, 1_000)


@final
@dataclass(frozen=True, eq=False)
class Evidence:
    """The results of one run of all experiments.

    ``slow`` and ``fast`` are the same agents under both peer pressures, ``runs`` is the table ``summary``,
    ``transients``, ``observers``, ``partial`` and ``sizes`` are the tables ``transients``, ``observers``,
    ``partial_observers`` and ``size_effect``, and ``protection`` is what the function of that name returns.
    """

    slow: Model
    fast: Model
    steps: int
    runs: pd.DataFrame
    transients: pd.DataFrame
    pair: TwoAgentsResult
    observers: pd.DataFrame
    protection: pd.DataFrame
    partial: pd.DataFrame
    residuals: ResidualsResult
    sweeps: SweepComparison
    sizes: pd.DataFrame
    noise: NoiseLevelsResult
    # A field, because a test presents other printed numbers and checks that the verdict changes.
    printed: Mapping[int, Mapping[str, PrintedTerm]] = field(default_factory=lambda: printed.REGRESSIONS)


def protection(model: Model, times: Sequence[int] = PROTECTION_STEPS) -> pd.DataFrame:
    """Return posterior over prior variance for an observer of all agents: steps, ratio (mean over agents)."""
    # Mean and variance of the law from which the hidden opinions are drawn; the prior itself is Gaussian.
    prior = Prior.uniform(*printed.HIDDEN_RANGE)
    rows = [
        {"steps": steps, "ratio": float(exposure(model, steps, prior=prior).table["ratio"].mean())} for steps in times
    ]
    return pd.DataFrame(rows)


def with_fast_pressure(model: Model) -> Model:
    """Return the same agents under ρ_t = 2^√t."""
    return replace(model, pressure=StretchedExponential())


Verdict: TypeAlias = Literal["confirmed", "corrected", "ambiguous", "refuted", "cannot be tested"]

CONFIRMED: Verdict = "confirmed"
CORRECTED: Verdict = "corrected"
AMBIGUOUS: Verdict = "ambiguous"
REFUTED: Verdict = "refuted"
UNTESTABLE: Verdict = "cannot be tested"
NO_CORRECTION = "–"  # in the table, where an empty cell would be a missing value


@final
@dataclass(frozen=True)
class Claim:
    """A claim of the paper in plain words, its place, the printed text or numbers, and the rule of its verdict.

    Places are the paper's own numbers of sections, equations, figures and tables. ``check`` returns the verdict, which
    depends on random draws if ``random``.
    """

    id: str
    claim: str
    where: str
    printed: str
    rule: str
    check: Callable[[Evidence], Finding]
    random: bool = False

    def row(self, finding: Finding) -> dict[str, Any]:
        """Return the claim with what was found of it as a row of the table."""
        texts = {name: getattr(self, name) for name in ("id", "claim", "where", "printed", "rule")}
        # Only what is corrected has a correction; other evidence may have turned the verdict.
        correction = finding.correction if finding.verdict == CORRECTED else NO_CORRECTION
        found = {"found": finding.found, "verdict": finding.verdict, "correction": correction, "why": finding.why}
        return texts | found


@final
@dataclass(frozen=True)
class Finding:
    """The numbers found for a claim, the verdict that follows from them, and the reason in one sentence.

    Confirmed: the claim holds as printed. Corrected: it holds with another number, label or condition, which
    ``correction`` gives in one line. Ambiguous: the wording allows several readings, of which one reproduces the print.
    Refuted: the contrary holds. Cannot be tested: the evidence is insufficient.
    """

    found: str
    verdict: Verdict
    why: str
    correction: str = ""
