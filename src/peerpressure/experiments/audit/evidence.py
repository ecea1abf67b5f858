"""What the checks look at: the results of the run, and the models that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final

import pandas as pd

from peerpressure.experiments import printed
from peerpressure.experiments.comparison import Comparison
from peerpressure.experiments.noise_levels import NoiseLevelsResult
from peerpressure.experiments.printed import PrintedTerm
from peerpressure.experiments.residuals import ResidualsResult
from peerpressure.experiments.two_agents_recovery import TwoAgentsResult
from peerpressure.model import Model
from peerpressure.privacy import exposure
from peerpressure.recovery import Prior
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
