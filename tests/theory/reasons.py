"""Reasons of a verdict as tests ask for them: which codes there are, and the numbers of one."""

from __future__ import annotations

from typing import Any

from peerpressure.theory import ReasonCode, Verdict


def codes(verdict: Verdict) -> set[ReasonCode]:
    """Return the codes of all reasons."""
    return {reason.code for reason in verdict.reasons}


def values(verdict: Verdict, code: ReasonCode) -> dict[str, Any]:
    """Return the numbers of the one reason with this code."""
    (found,) = [reason for reason in verdict.reasons if reason.code is code]
    return dict(found.values)
