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

from peerpressure.reproduction.audit import convergence, recovery, two_agents
from peerpressure.reproduction.audit.evidence import Claim, Evidence, Finding, Verdict, hurried, protection

Check: TypeAlias = Callable[[Evidence], Finding]

CHECKS: tuple[Check, ...] = (
    convergence.contracts,
    convergence.reaches_v,
    convergence.noise_vanishes,
    convergence.growth_condition,
    convergence.oscillates,
    two_agents.coefficients,
    two_agents.even_variance,
    two_agents.odd_variance,
    two_agents.gram,
    two_agents.series_limit,
    two_agents.inverse_limit,
    two_agents.sigma,
    two_agents.instability,
    recovery.simplest_case,
    recovery.cannot_be_recovered,
    recovery.protected,
    recovery.normal_residuals,
    recovery.response,
    recovery.label,
    recovery.print_agrees,
    recovery.regression_two,
    recovery.regression_one,
    recovery.linear_in_variance,
    recovery.independent_of_size,
    recovery.identical_families,
    convergence.slows_down,
)

__all__ = ["CHECKS", "Check", "Claim", "Evidence", "Finding", "Verdict", "audit", "hurried", "protection"]


def audit(evidence: Evidence) -> pd.DataFrame:
    """Return the table of all claims, in the order of the paper."""
    return pd.DataFrame([check(evidence).row() for check in CHECKS])
