"""Memory of the explorer's server under random use: ``python -m benchmarks.random_use --seconds 600 --seed 1``."""

from __future__ import annotations

import argparse
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx

from peerpressure.explorer.presets import PRESETS

from .explorer import started

QUESTIONS = ("network", "run", "run", "exact", "pressure", "observe", "inference")
EXPORTS = ("export/figure", "export/csv", "export/netcdf")
SIZES = (50, 300, 1_000, 3_000, 20_000)


def resident(process: int) -> float:
    """Return the memory that a process uses, in MB."""
    (line,) = (line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024 / 1e6


def requests(rng: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield questions about presets with other seeds and sizes, without end."""
    while True:
        scenario = _varied(rng.choice(PRESETS).scenario, rng)
        for question in rng.sample([*QUESTIONS, *EXPORTS], 4):
            figure = {"what": rng.choice(["curves", "network", "observer"]), "format": "png", "time": 5}
            yield question, {"scenario": scenario} | (figure if question == "export/figure" else {})


def _varied(given: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    scenario = dict(given) | {"run": given["run"] | {"seed": rng.randrange(10**6)}}
    # Opinions and observed agents that are given one by one belong to the network as it is.
    listed = any(isinstance(value, list) for value in scenario.get("agents", {}).values())
    if "generator" in scenario["network"] and not listed and "agents" not in scenario.get("observe", {}):
        size = {"n": rng.choice(SIZES)} if "n" in scenario["network"] and rng.random() < 0.4 else {}
        scenario["network"] = scenario["network"] | {"seed": rng.randrange(10**6)} | size
    return scenario


def main() -> None:
    """Use the server at random for some time, and print its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    answers: Counter[int] = Counter()
    with started() as (address, process), httpx.Client(base_url=address, timeout=60) as client:
        over, seen = threading.Event(), [resident(process)]

        def watch() -> None:
            while not over.wait(0.1):
                seen.append(resident(process))

        watcher = threading.Thread(target=watch)
        watcher.start()
        end = time.monotonic() + chosen.seconds
        for question, body in requests(random.Random(chosen.seed)):
            answers[client.post(f"api/{question}", json=body, headers={"X-Tab": "random"}).status_code] += 1
            if time.monotonic() > end:
                break
        time.sleep(2)
        over.set()
        watcher.join()
        print(
            f"{sum(answers.values())} requests {dict(answers)}: peak {max(seen):.0f} MB, at the end {seen[-1]:.0f} MB"
        )


if __name__ == "__main__":
    main()
