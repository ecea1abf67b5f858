"""The paper's claims, each with a verdict computed from the results of the experiments.

A check is a function from ``Evidence`` to ``Finding``; a new one is one function, and one table in ``claims.toml``.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Final

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


def _claims() -> tuple[Claim, ...]:
    text = files("peerpressure.reproduction.claims").joinpath("claims.toml").read_text("utf-8")
    return tuple(_claim(name, **row) for name, row in tomllib.loads(text).items())


def _claim(name: str, check: str, *, random: bool = False, **texts: str) -> Claim:
    module, _, function = check.partition(".")
    place = vars(_MODULES[module])
    # Rules name the constants that the checks compare with.
    told = {key: text.format_map(place) for key, text in texts.items()}
    return Claim(name, **told, check=place[function], random=random)


_MODULES = {"_empirical": _empirical, "_outlook": _outlook, "_recovery": _recovery, "_theory": _theory}
# In the order of the paper, which is that of the report.
CLAIMS: Final = _claims()

__all__ = [
    "CLAIMS",
    "CUTOFF",
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
    return pd.DataFrame([claim.row(claim.check(evidence)) for claim in CLAIMS])


def verdicts(evidence: Evidence, seed: int) -> pd.DataFrame:
    """Return the verdicts that depend on random draws, for the evidence of one seed.

    Tables
    ------
    audit_seeds
        seed, id (of the claim), verdict: one row per seed and claim whose evidence is random.
    """
    random = [claim for claim in CLAIMS if claim.random]
    return pd.DataFrame([{"seed": seed, "id": one.id, "verdict": one.check(evidence).verdict} for one in random])
