"""Judge as many random models as asked for, and print the table: ``python -m tests.truth --cases 5000 --seed 1``."""

from __future__ import annotations

import argparse
import sys

from tests.truth.combinations import random_combination, table_of_combinations
from tests.truth.judge_combinations import judge
from tests.truth.table import Judged, judged, questions, shares, table


def combinations(count: int, seed: int) -> int:
    """Judge all models of the 42 combinations, and random ones; print what is not right, and how many are."""
    listed = [model for _, models in table_of_combinations() for model in models]
    found = []
    for model in [*listed, *(random_combination(number, seed) for number in range(count))]:
        one = judge(model)
        found.append(one)
        if one.wrong or one.unknown:
            print(model, *one.wrong, one.unknown and f"unknown: {one.unknown}", sep="\n  ", flush=True)
    wrong, unknown = (sum(bool(getattr(one, name)) for one in found) for name in ("wrong", "unknown"))
    left = sum(one.open for one in found), sum(one.without_std for one in found)
    print(f"{len(found)} models: {wrong} wrong, {unknown} unknown, {left[0]} open, {left[1]} without all deviations")
    return int(wrong > 0)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="number of models in all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the models; 0 is that of the tests")
    parser.add_argument("--family", choices=list(shares(0)), action="append", help="only this family")
    parser.add_argument("--batch", type=int, default=100, help="models whose truth is computed at once")
    parser.add_argument("--combinations", type=int, default=0, help="random combinations instead, after all 378 models")
    chosen = parser.parse_args()
    if chosen.combinations:
        return combinations(chosen.combinations, chosen.seed)
    results: dict[str, list[Judged]] = {}
    for family, count in shares(chosen.cases).items():
        if chosen.family and family not in chosen.family:
            continue
        results[family] = []
        # Batches have seeds of their own, so memory stays bounded.
        for first in range(0, count, chosen.batch):
            found = judged(family, min(chosen.batch, count - first), chosen.seed + 1_000_003 * (first // chosen.batch))
            results[family] += found
            for one in found:
                if one.mark in ("wrong", "unknown"):
                    print(one, end="\n\n", flush=True)
    print(table(results), questions(results), sep="\n\n")
    everything = [one.mark for cases in results.values() for one in cases]
    return int("wrong" in everything or everything.count("unknown") >= 0.03 * len(everything))


if __name__ == "__main__":
    sys.exit(main())
