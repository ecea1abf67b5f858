"""What an audit says of one claim."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, final

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
