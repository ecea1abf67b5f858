"""The paper's claims, each with a verdict computed from the results of the experiments.

A check is a function from ``Evidence`` to ``Finding``; a new one is one function and one line in ``CHECKS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pandas as pd

from peerpressure.reproduction.claims import _empirical, _outlook, _recovery, _theory
from peerpressure.reproduction.claims._empirical import CUTOFF
from peerpressure.reproduction.claims._evidence import (
    Claim,
    Evidence,
    Finding,
    Verdict,
    protection,
    with_fast_pressure,
)

Check: TypeAlias = Callable[[Evidence], Finding]

# In the order of the paper, which is that of the report.
CHECKS: tuple[Check, ...] = (
    _outlook.contrast,
    _theory.monotone_suffices,
    _theory.positive_weights,
    _theory.minimises,
    _theory.conditional_expectation,
    _theory.contracts,
    _theory.growth_condition,
    _theory.reaches_v,
    _theory.noise_vanishes,
    _theory.other_noise,
    _theory.exponentially_fast,
    _theory.oscillates,
    _recovery.simplest_case,
    _recovery.coefficients,
    _recovery.error_variance,
    _recovery.best_case,
    _recovery.homoskedastic_covariance,
    _recovery.gram,
    _recovery.series_limit,
    _recovery.inverse_limit,
    _recovery.not_exact,
    _recovery.not_in_the_limit,
    _recovery.late_start,
    _recovery.instability,
    _recovery.plotted_density,
    _recovery.normal_residuals,
    _empirical.response,
    _empirical.label,
    _empirical.regression_two,
    _empirical.linear_in_variance,
    _empirical.independent_of_size,
    _empirical.slows_down,
    _recovery.protected,
    _outlook.connectivity,
    _outlook.sde_noise,
    _empirical.regression_one,
    _empirical.print_agrees,
    _empirical.identical_families,
)
# Checks whose evidence contains random graphs, agents or noise; all others are exact and the same for every seed.
RANDOM: frozenset[Check] = frozenset(
    {
        _outlook.contrast,
        _theory.monotone_suffices,
        _theory.positive_weights,
        _theory.minimises,
        _theory.conditional_expectation,
        _theory.contracts,
        _theory.growth_condition,
        _theory.reaches_v,
        _theory.noise_vanishes,
        _theory.other_noise,
        _theory.oscillates,
        _recovery.simplest_case,
        _recovery.normal_residuals,
        _empirical.response,
        _empirical.regression_two,
        _empirical.linear_in_variance,
        _empirical.independent_of_size,
        _empirical.slows_down,
        _recovery.protected,
        _outlook.sde_noise,
        _empirical.regression_one,
        _empirical.identical_families,
    }
)

__all__ = [
    "CHECKS",
    "CUTOFF",
    "RANDOM",
    "Check",
    "Claim",
    "Evidence",
    "Finding",
    "Verdict",
    "audit",
    "protection",
    "verdicts",
    "with_fast_pressure",
]


def audit(evidence: Evidence) -> pd.DataFrame:
    """Return the table of all claims, in the order of the paper.

    Parameters
    ----------
    evidence : Evidence
        The results of the experiments.

    Returns
    -------
    pandas.DataFrame
        The table ``audit`` with columns id, claim, where (in the paper), printed (text or numbers in the paper), rule
        (thresholds of the verdict), found (with uncertainty), verdict (confirmed, corrected, ambiguous, refuted,
        cannot be tested), correction (in one line, where the verdict is corrected), why (with numbers).

    See Also
    --------
    paper_tables : Runs the experiments and this audit.

    Examples
    --------
    ::

        from peerpressure.reproduction import paper_tables
        paper_tables()["audit"]["verdict"].value_counts()["refuted"]
    """
    return pd.DataFrame([check(evidence).row() for check in CHECKS])


def verdicts(evidence: Evidence, seed: int) -> pd.DataFrame:
    """Return the verdicts that depend on random draws, for the evidence of one seed.

    Tables
    ------
    audit_seeds
        seed, id (of the claim), verdict: one row per seed and claim whose evidence is random.
    """
    findings = [check(evidence) for check in CHECKS if check in RANDOM]
    return pd.DataFrame([{"seed": seed, "id": finding.claim.id, "verdict": finding.verdict} for finding in findings])
