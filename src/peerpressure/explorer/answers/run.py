"""What agents show: one run in full, the extremes of some and the means of all, and what will become of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.explorer.answers.verdicts import verdict
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.packing import pack
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.times import Shown, shown
from peerpressure.simulation import Record, simulate
from peerpressure.trajectory import SUMMARIES

Array: TypeAlias = NDArray[Any]
MOST_CURVES = 20  # replicates drawn one by one
BATCH = 2_000_000  # numbers that one call may hold for all of its replicates


def run_answer(asked: Prepared, limits: Limits) -> bytes:
    """Return the states of the first replicate and the summaries of all, with the verdict."""
    begin = time.perf_counter()
    model, scenario = asked.model, asked.scenario
    numbers = model.n * (1 if model.adaptation is None else 2)
    choice = shown(asked.steps, min(limits.times, limits.states // numbers))
    arrays = _arrays(asked, choice)
    facts = {
        "n": model.n,
        "steps": asked.steps,
        "replicates": scenario.run.replicates,
        "consensus_value": model.consensus_value,
        "verdict": verdict(asked, limits),
        "tuned": {"kind": "tuned"},
        "every": choice.every,
        "dense": choice.dense,
        "elapsed_ms": 1e3 * (time.perf_counter() - begin),
    }
    return pack(facts, arrays)


def _arrays(asked: Prepared, choice: Shown) -> dict[str, Array]:
    """Return the first replicate agent by agent, the summaries of some, and mean spread and distance over all."""
    model, count, length = asked.model, asked.scenario.run.replicates, choice.times.size
    size = max(MOST_CURVES, BATCH // max(model.n, length))
    found = _beginning(asked, range(min(size, count)), choice)
    sums = {name: found[name].sum(axis=0) for name in ("spread", "distance")}
    for begin in range(size, count, size):
        asked.token.check()
        more = recorded(asked, range(begin, min(begin + size, count)), choice, SUMMARIES)
        sums = {name: total + more[name].sum(axis=0) for name, total in sums.items()}
    arrays = {name: found[name][:MOST_CURVES] for name in SUMMARIES}
    arrays |= {f"{name}_mean": total / count for name, total in sums.items()}
    arrays |= {"states": found["states"][0], "stubbornness": model.stubbornness}
    arrays["hidden"] = found["hidden"][0] if "hidden" in found else model.hidden
    return {"times": found["times"].astype(np.float64)} | {name: a.astype(np.float32) for name, a in arrays.items()}


def _beginning(asked: Prepared, rows: range, choice: Shown) -> dict[str, Array]:
    """Return the summaries of the first replicates, with what agents show, and hold if that changes, in one of them."""
    held = ["times", "states"] + ["hidden"] * (asked.model.adaptation is not None)
    if len(rows) * choice.times.size * asked.model.n <= BATCH:
        return recorded(asked, rows, choice, [*held, *SUMMARIES])
    return recorded(asked, [0], choice, held) | recorded(asked, rows, choice, SUMMARIES)


def recorded(asked: Prepared, rows: Sequence[int], choice: Shown, names: Sequence[str]) -> dict[str, Array]:
    """Return parts of a run of these replicates, (replicates, times, …), at the times that are shown."""
    system, seed = asked.system, asked.scenario.run.seed
    keep = Record(states="states" in names, summaries="spread" in names)
    run = simulate(system, choice.dense, rows, seed=seed, record=keep)
    found = {name: np.asarray(getattr(run, name)) for name in names}
    if choice.dense < choice.steps:
        sparse = replace(keep, every=choice.every)
        late = simulate(system, choice.steps - choice.dense, rows, seed=seed, record=sparse, start=run)
        # The second part begins where the first one ended.
        for name, early in found.items():
            axis = 0 if name == "times" else 1
            more = np.delete(getattr(late, name), 0, axis=axis)
            found[name] = np.concatenate([early, more], axis=axis)
    return found
