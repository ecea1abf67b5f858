"""What agents show: one run in full, the extremes of some and the means of all, and what will become of them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from peerpressure.explorer.limits import Limits
from peerpressure.explorer.packing import pack
from peerpressure.explorer.preparing import Prepared
from peerpressure.explorer.times import Shown, shown
from peerpressure.simulation import Record, simulate
from peerpressure.theory import Verdict, diagnose
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
    arrays = _first(asked, choice) | _ensemble(asked, choice)
    facts = {
        "n": model.n,
        "steps": asked.steps,
        "replicates": scenario.run.replicates,
        "consensus_value": model.consensus_value,
        "verdict": told(diagnose(scenario.system())),
        "tuned": {"kind": "tuned"},
        "every": choice.every,
        "dense": choice.dense,
        "elapsed_ms": 1e3 * (time.perf_counter() - begin),
    }
    return pack(facts, arrays)


def told(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict in plain values and in words."""
    return verdict.to_dict() | {"text": str(verdict)}


def _first(asked: Prepared, choice: Shown) -> dict[str, Array]:
    """Return what every agent shows in the first replicate, and holds if that changes, at the times that are shown."""
    model = asked.model
    names = ["times", "states"] + ["hidden"] * (model.adaptation is not None)
    found = recorded(asked, [0], choice, names)
    return {
        "times": found["times"].astype(np.float64),
        "states": found["states"][0].astype(np.float32),
        "hidden": (found["hidden"][0] if "hidden" in found else model.hidden).astype(np.float32),
        "stubbornness": model.stubbornness.astype(np.float32),
    }


def _ensemble(asked: Prepared, choice: Shown) -> dict[str, Array]:
    """Return the summaries of the first replicates, and the means of spread and distance over all of them."""
    count, length = asked.scenario.run.replicates, choice.times.size
    sums = {"spread": np.zeros(length), "distance": np.zeros(length)}
    curves: dict[str, Array] = {}
    size = max(MOST_CURVES, BATCH // max(asked.model.n, length))
    for begin in range(0, count, size):
        asked.ticket.check()
        found = recorded(asked, range(begin, min(begin + size, count)), choice, SUMMARIES)
        curves = curves or {name: values[:MOST_CURVES].astype(np.float32) for name, values in found.items()}
        sums = {name: total + found[name].sum(axis=0) for name, total in sums.items()}
    return curves | {f"{name}_mean": (total / count).astype(np.float32) for name, total in sums.items()}


def recorded(asked: Prepared, rows: Sequence[int], choice: Shown, names: Sequence[str]) -> dict[str, Array]:
    """Return parts of a run of these replicates, (replicates, times, …), at the times that are shown."""
    system, seed = asked.system, asked.scenario.run.seed
    keep = Record(states="states" in names, summaries="states" not in names)
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
