"""Interleaved timing: in each round every contender runs once, so all see the same machine."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

Costs: TypeAlias = dict[str, NDArray[np.float64]]


@final
@dataclass(frozen=True)
class Job:
    """Something to time: ``call(steps)`` makes ``work`` agent-steps per step."""

    call: Callable[[int], object]
    steps: int
    work: int

    def cost(self) -> float:
        """Return nanoseconds per agent-step: a call with all steps and one more, less a call with one.

        A call with none would not touch the memory that steps need, and the first call after those of others finds
        it taken away: with 10⁶ agents × 32, that alone would make the job that comes first look a fifth faster.
        """
        self.call(1)
        preparation = seconds(self.call, 1)
        return max(seconds(self.call, self.steps + 1) - preparation, 0.0) / (self.steps * self.work) * 1e9


def seconds(call: Callable[[int], object], steps: int) -> float:
    """Return how long a call takes, the collector of garbage being off, as in ``timeit``."""
    gc.disable()
    try:
        begin = time.perf_counter()
        call(steps)
        return time.perf_counter() - begin
    finally:
        gc.enable()


def costs(jobs: Mapping[str, Job], rounds: int) -> Costs:
    """Return the cost of each job in each round, after one short call of each that compiles and warms up."""
    for job in jobs.values():
        job.call(1)
    measured: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        gc.collect()
        for name, job in jobs.items():
            measured[name].append(job.cost())
    return {name: np.array(values) for name, values in measured.items()}


def typical(values: NDArray[np.float64]) -> float:
    return float(np.median(values))


def ratio(slow: NDArray[np.float64], fast: NDArray[np.float64]) -> float:
    """Return the median over rounds of slow/fast, each quotient from one round."""
    return float(np.median(slow / np.maximum(fast, 1e-12)))


def agrees(values: NDArray[np.float64]) -> bool:
    """Whether half of the rounds are within an eighth of the median, as they are not on a busy machine."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return bool(high - low <= middle / 4)
