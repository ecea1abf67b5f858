"""The table of the 42 combinations: ``python -m tests.truth.table_of_combinations`` makes it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.truth.combinations import Combination, table_of_combinations

MARK = "<!-- table of combinations -->"
Key = tuple[str, float | None, float | None, bool]
SHORT = {
    "consensus on v": "v",
    "biased consensus": "biased",
    "permanent oscillation between the two sides": "sides",
    "disagreement": "apart",
    "cluster consensus": "clusters",
    "bipartite consensus": "bipartite",
    "neutral consensus": "neutral",
    "periodic limit": "periodic",
    "random-walk consensus": "moves",
    "unknown": "unknown",
}


def cell(model: Combination) -> str:
    """Return the outcome of a model in one word."""
    return SHORT[model.verdict.outcome.value]


def table(found: Mapping[Key, list[str]]) -> str:
    """Return the rows of the table: three pressures, with the outcomes without noise, under white and frozen noise.

    Kinds of networks, and then times, that have the same outcomes share a row.
    """
    shared: dict[tuple[str, ...], list[str]] = {}
    for (kind, updates, rate, continuous), cells in found.items():
        who, what = "everybody" if updates is None else "at random", "constant" if rate is None else "adapt"
        three = [" · ".join(dict.fromkeys(part) if len(set(part)) == 1 else part) for part in _threes(cells)]
        shared.setdefault((who, what, "continuous" if continuous else "steps", *three), []).append(kind)
    lines: dict[tuple[str, ...], list[str]] = {}
    for (who, what, time, *three), kinds in shared.items():
        lines.setdefault((", ".join(kinds), who, what, *three), []).append(time)
    head = ["| network | updates | hidden opinions | time | ρ = 0.2 t | ρ = t² | ρ = 2 |", "|---" * 7 + "|"]
    texts = [" | ".join([*key[:3], ", ".join(times), *key[3:]]) for key, times in lines.items()]
    return "\n".join([*head, *(f"| {text} |" for text in texts)])


def _threes(cells: list[str]) -> list[list[str]]:
    return [cells[k : k + 3] for k in (0, 3, 6)]


def rows(text: str) -> dict[Key, list[str]]:
    """Return the outcomes that a page lists, by combination."""
    found: dict[Key, list[str]] = {}
    for line in text.split(MARK)[1].strip().splitlines()[2:]:
        kinds, who, what, times, *three = (part.strip() for part in line.strip("|").split("|"))
        words = [part.split(" · ") for part in three]
        cells = [word for part in words for word in (part * 3 if len(part) == 1 else part)]
        for kind in kinds.split(", "):
            for time in times.split(", "):
                key = (kind, None if who == "everybody" else 0.5, None if what == "constant" else 0.2)
                found[*key, time == "continuous"] = cells
    return found


def main() -> int:
    page = Path(__file__).with_name("outcomes.md")
    made = {key: [cell(model) for model in models] for key, models in table_of_combinations()}
    before, _, after = page.read_text(encoding="utf-8").split(MARK)
    page.write_text(f"{before}{MARK}\n\n{table(made)}\n\n{MARK}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
