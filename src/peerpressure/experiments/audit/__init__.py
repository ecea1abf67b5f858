"""The paper's claims, each with what was found and a verdict computed from the numbers of the run.

A check is a function from ``Evidence`` to ``Finding`` and one line in ``CHECKS``.

Tables
------
audit
    id, claim, where (in the paper), printed (what the paper prints), found (with uncertainty), verdict (confirmed,
    corrected, refuted, cannot be tested), why (one sentence with numbers).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pandas as pd

from peerpressure.experiments.audit import consensus, regressions, secrecy, sweep, two_agents
from peerpressure.experiments.audit.evidence import Evidence, hurried, protection
from peerpressure.experiments.audit.finding import Claim, Finding, Verdict

Check: TypeAlias = Callable[[Evidence], Finding]

CHECKS: tuple[Check, ...] = (
    consensus.contracts,
    consensus.reaches_v,
    consensus.noise_vanishes,
    consensus.growth_condition,
    consensus.oscillates,
    two_agents.coefficients,
    two_agents.even_variance,
    two_agents.odd_variance,
    two_agents.gram,
    two_agents.series_limit,
    two_agents.inverse_limit,
    two_agents.sigma,
    two_agents.instability,
    secrecy.simplest_case,
    secrecy.cannot_be_recovered,
    secrecy.protected,
    secrecy.normal_residuals,
    regressions.response,
    regressions.label,
    regressions.print_agrees,
    regressions.regression_two,
    regressions.regression_one,
    sweep.linear_in_variance,
    sweep.independent_of_size,
    sweep.identical_families,
    consensus.slows_down,
)

__all__ = ["CHECKS", "Check", "Claim", "Evidence", "Finding", "Verdict", "audit", "hurried", "protection"]


def audit(evidence: Evidence) -> pd.DataFrame:
    """Return the table of all claims, in the order of the paper."""
    return pd.DataFrame([check(evidence).row() for check in CHECKS])
