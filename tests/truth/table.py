"""Many random models asked and judged, and the table of the results by family."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.truth.case import Case
from tests.truth.families import FAMILIES, draw
from tests.truth.judge import Finding, Mark, judge
from tests.truth.random_networks import failing, judge_random
from tests.truth.recursion import truths

RANDOM = "random network"
MARKS: tuple[Mark, ...] = ("right", "open", "unknown", "wrong")  # a case has the last of these that an answer has


@dataclass(frozen=True)
class Judged:
    """A case and the findings about it; ``name`` is its family, seed and number, from which it can be drawn again."""

    name: str
    case: Case
    findings: tuple[Finding, ...]

    @property
    def mark(self) -> Mark:
        # That a law of decay sets in beyond the horizon leaves nothing open about the model.
        decisive = {one.mark for one in self.findings if one.mark != "open" or one.question == "outcome"}
        return max(decisive, key=MARKS.index)

    def __str__(self) -> str:
        bad = [one for one in self.findings if one.mark in ("wrong", "unknown")]
        lines = [f"{one.question} is {one.mark}: claimed {one.claimed}; true is {one.true}" for one in bad]
        return "\n".join([f"# {self.name}", *(f"# {line}" for line in lines), self.case.code])


def judged(family: str, count: int, seed: int = 0) -> list[Judged]:
    """Return the findings about a number of random models of a family."""
    if family == RANDOM:
        models = [failing(np.random.default_rng([seed, number])) for number in range(count)]
        return [Judged(f"{family}, seed {seed}, number {i}", m[0], judge_random(*m)) for i, m in enumerate(models)]
    cases = draw(family, count, seed)
    return [
        Judged(f"{family}, seed {seed}, number {number}", case, tuple(judge(case, truth, number)))
        for number, (case, truth) in enumerate(zip(cases, truths(cases), strict=True))
    ]


def shares(total: int) -> dict[str, int]:
    """Return how many cases of each family make at least so many in all."""
    parts = {name: share for name, (share, _) in FAMILIES.items()} | {RANDOM: 8}
    return {name: math.ceil(total * part / sum(parts.values())) for name, part in parts.items()}


def table(results: Mapping[str, Sequence[Judged]]) -> str:
    """Return the number of cases by family and mark."""
    rows = [f"{'family':26}{'cases':>8}" + "".join(f"{mark:>9}" for mark in MARKS)]
    counts = {family: Counter(one.mark for one in cases) for family, cases in results.items()}
    total: Counter[Mark] = sum(counts.values(), Counter())
    for family, count in [*counts.items(), ("all", total)]:
        rows.append(f"{family:26}{count.total():8}" + "".join(f"{count[mark]:9}" for mark in MARKS))
    return "\n".join(rows)


def questions(results: Mapping[str, Sequence[Judged]]) -> str:
    """Return the number of answers by question and mark."""
    counts: dict[str, Counter[Mark]] = {}
    for cases in results.values():
        for one in cases:
            for finding in one.findings:
                counts.setdefault(finding.question, Counter())[finding.mark] += 1
    rows = [f"{'question':26}{'answers':>8}" + "".join(f"{mark:>9}" for mark in MARKS)]
    for question, count in counts.items():
        rows.append(f"{question:26}{count.total():8}" + "".join(f"{count[mark]:9}" for mark in MARKS))
    return "\n".join(rows)
