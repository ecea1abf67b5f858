"""Judge as many random models as asked for, and print the table: ``python -m tests.truth --cases 5000 --seed 1``."""

from __future__ import annotations

import argparse
import sys

from tests.truth.table import Judged, judged, questions, shares, table


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.truth", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="number of models in all")
    parser.add_argument("--seed", type=int, default=1, help="seed of the models; 0 is that of the tests")
    parser.add_argument("--family", choices=list(shares(0)), action="append", help="only this family")
    parser.add_argument("--batch", type=int, default=100, help="models whose truth is computed at once")
    chosen = parser.parse_args()
    results: dict[str, list[Judged]] = {}
    for family, count in shares(chosen.cases).items():
        if chosen.family and family not in chosen.family:
            continue
        results[family] = []
        # Batches have seeds of their own, so that memory stays bounded.
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
