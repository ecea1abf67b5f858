"""Parts of a verdict as tests ask for them: which reasons there are, the numbers of one, and what must be known."""

from __future__ import annotations

from typing import Any, TypeVar

from peerpressure.theory import Verdict

T = TypeVar("T")


def codes(verdict: Verdict) -> set[str]:
    """Return the codes of all reasons."""
    return {reason.code for reason in verdict.reasons}


def values(verdict: Verdict, code: str) -> dict[str, Any]:
    """Return the numbers of the one reason with this code."""
    (found,) = [reason for reason in verdict.reasons if reason.code is code]
    return dict(found.values)


def known(part: T | None) -> T:
    """Return a part of a verdict that must be there."""
    assert part is not None
    return part
