"""What hidden opinions that adapt, networks that change and continuous time cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure import SDE, Model, simulate
from peerpressure.networks import failing_edges

from .clock import Job, costs, ratio, typical
from .sections import Cell, Section, Table, count
from .settings import Settings
from .workload import STD, workload

SPAN = 200  # steps over which the network changes before it repeats
SHARE = 0.001  # of the edges, which fail at a step
STEP = 0.1
RATE = 0.01

TEXT = f"""\
The same agents with adapting hidden opinions (η = {RATE:g}), with 1 in {1 / SHARE:,.0f} edges failing at every step,
and in continuous time by Euler–Maruyama steps of {STEP:g}. *constant* is the paper's model. The SciPy loop also stores
the hidden state, writes the weights of failing edges into its matrix, or takes a partial step. One thread each.
"""

Loop = Callable[[int], NDArray[np.float64]]


@lru_cache(maxsize=4)
def systems(agents: int) -> dict[str, Model | SDE]:
    """Return the benchmark's model and its extensions."""
    plain = workload(agents).model
    rest: dict[str, Any] = {"hidden": plain.hidden, "stubbornness": plain.stubbornness, "noise": plain.noise}
    return {
        "constant": plain,
        "adapting": Model(plain.network, adaptation=RATE, **rest),
        "failing edges": Model(failing_edges(plain.network, SHARE, SPAN, seed=2, repeat=True), **rest),
        "continuous time": SDE(plain, step=STEP, scaling="model", method="euler"),
    }


def scipy_loop(system: Model | SDE, replicates: int) -> Loop:
    """Return the same in NumPy and SciPy, as a careful user would write it."""
    model = system.model if isinstance(system, SDE) else system
    pace = system.step if isinstance(system, SDE) else 1.0
    s, rng = model.stubbornness[:, None], np.random.default_rng(1)

    def run(steps: int) -> NDArray[np.float64]:
        y = np.repeat(model.start_state[:, None], replicates, axis=1)
        x = y.copy()
        for k in range(1, steps + 1):
            t = k * pace
            A, d = model.adjacency_at(k), model.degrees_at(k)[:, None]
            noise = STD * rng.standard_normal(y.shape)
            after = (s * (x + noise / np.sqrt(pace)) + t * (A @ y)) / (s + t * d)
            y = after if pace == 1 else y + pace * (after - y)
            if model.adaptation is not None:
                x += RATE * (y - x)
        return y.T

    return run


def _rows(settings: Settings, agents: int, replicates: int) -> list[list[Cell]]:
    case, work = f"{count(agents)}×{replicates}", agents * replicates
    jobs = {}
    for name, system in systems(agents).items():
        ours = _ours(system, replicates)
        jobs[name] = Job(ours, settings.steps_for(6.0, work, least=SPAN // 10), work)
        jobs[f"{name}, SciPy"] = Job(scipy_loop(system, replicates), settings.steps_for(60.0, work), work)
    measured = costs(jobs, settings.rounds_for(work))
    return [
        [
            f"{name}, {case}",
            typical(measured[name]),
            ratio(measured[name], measured["constant"]),
            ratio(measured[f"{name}, SciPy"], measured[name]),
        ]
        for name in systems(agents)
    ]


def _ours(system: Model | SDE, replicates: int) -> Loop:
    return lambda steps: simulate(system, steps, replicates, record="final", threads=1).final.public


def measure(settings: Settings) -> Section:
    agents = settings.sizes[-2] if len(settings.sizes) > 2 else settings.sizes[-1]
    rows = [row for replicates in settings.replicates for row in _rows(settings, agents, replicates)]
    columns = ("", "ns per agent-step", "times the constant model's", "times faster than SciPy")
    return Section("Beyond the paper's model", TEXT, [Table("One thread", columns, rows)])
