"""Judge as many random models as asked for, and print the table: ``python -m tests.truth --cases 5000 --seed 1``."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat

from tests.truth.combinations import Combination, random_combination, table_of_combinations
from tests.truth.judge_combinations import Judgement, judge
from tests.truth.table import Judged, judged, questions, shares, table


def combinations(count: int, seed: int, jobs: int) -> int:
    """Judge all models of the 42 combinations, and random ones; print what is not right, and how many are."""
    every = [*(("listed", number) for number in range(len(listed()))), *(("random", number) for number in range(count))]
    judgements = []
    with ProcessPoolExecutor(jobs) as pool:
        for one in pool.map(judged_combination, every, repeat(seed)):
            judgements.append(one)
            if one.wrong or one.unknown:
                print(one.name, *one.wrong, one.unknown and f"unknown: {one.unknown}", sep="\n  ", flush=True)
    wrong, unknown = (sum(bool(getattr(one, name)) for one in judgements) for name in ("wrong", "unknown"))
    undecided, partial = (sum(getattr(one, name) for one in judgements) for name in ("open", "without_std"))
    print(f"{len(judgements)} models: {wrong} wrong, {unknown} unknown, {undecided} open, {partial} with unknown std")
    return int(wrong > 0)


@cache
def listed() -> list[Combination]:
    """Return the models of the 42 combinations."""
    return [model for _, models in table_of_combinations() for model in models]


def judged_combination(which: tuple[str, int], seed: int) -> Judgement:
    """Judge a model in a process of its own, where it is made again."""
    kind, number = which
    return judge(listed()[number] if kind == "listed" else random_combination(number, seed))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="number of models in all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the models; 0 is that of the tests")
    parser.add_argument("--family", choices=list(shares(0)), action="append", help="only this family")
    parser.add_argument("--batch", type=int, default=100, help="models whose truth is computed at once")
    parser.add_argument("--combinations", type=int, default=0, help="random combinations instead, after all 378 models")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes that judge combinations")
    chosen = parser.parse_args()
    if chosen.combinations:
        return combinations(chosen.combinations, chosen.seed, chosen.jobs)
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
