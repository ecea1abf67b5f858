"""The paper's claims, each with a verdict computed from the results of the experiments.

A check is a function from ``Evidence`` to ``Finding``; a new one is one function and one line in ``CHECKS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pandas as pd

from peerpressure.reproduction.claims import _empirical, _theory
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
    _theory.contracts,
    _theory.reaches_v,
    _theory.noise_vanishes,
    _theory.growth_condition,
    _theory.oscillates,
    _theory.coefficients,
    _theory.even_variance,
    _theory.odd_variance,
    _theory.gram,
    _theory.series_limit,
    _theory.inverse_limit,
    _theory.sigma,
    _theory.instability,
    _empirical.simplest_case,
    _empirical.cannot_be_recovered,
    _empirical.protected,
    _empirical.normal_residuals,
    _empirical.response,
    _empirical.label,
    _empirical.print_agrees,
    _empirical.regression_two,
    _empirical.regression_one,
    _empirical.linear_in_variance,
    _empirical.independent_of_size,
    _empirical.identical_families,
    _empirical.slows_down,
)

__all__ = ["CHECKS", "Check", "Claim", "Evidence", "Finding", "Verdict", "audit", "protection", "with_fast_pressure"]


def audit(evidence: Evidence) -> pd.DataFrame:
    """Return the table of all claims, in the order of the paper.

    Parameters
    ----------
    evidence : Evidence
        The results of the experiments.

    Returns
    -------
    pandas.DataFrame
        The table ``audit`` with columns id, claim, where (in the paper), printed (text or numbers in the paper), found
        (with uncertainty), verdict (confirmed, corrected, refuted, cannot be tested), why (one sentence with numbers).

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
