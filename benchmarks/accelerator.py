"""The accelerator against its own memory: ``python -m benchmarks.accelerator``, on a machine that has one.

The bound is the time that the bytes of one step take at the device's copy bandwidth, every gathered neighbour row
counted as read from memory.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import peerpressure as pp
from peerpressure.engine import gpu


def copy_bandwidth(cupy: Any) -> float:
    """Return bytes read and written each second by a large device-to-device copy."""
    source, target = cupy.ones(2**29, np.float32), cupy.empty(2**29, np.float32)
    return float(2 * source.nbytes) / seconds(cupy, lambda: cupy.copyto(target, source), 10)


def seconds(cupy: Any, work: Any, rounds: int) -> float:
    """Return the median time of ``work``, by events on the device."""
    work()
    times = []
    for _ in range(rounds):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) * 1e-3)
    return float(np.median(times))


def measure(cupy: Any, bandwidth: float, n: int, replicates: int, dtype: Any) -> dict[str, Any]:
    """Return picoseconds per agent-step and the fraction of the bound, for one size."""
    rng = np.random.default_rng(0)
    network = pp.networks.barabasi_albert(n, 2, seed=0)
    model = pp.Model(network, hidden=rng.random(n), stubbornness=rng.uniform(0.5, 1, n), noise=pp.Gaussian(1.0))
    from peerpressure.simulation import Record, _plan

    plan = _plan(model, 1, np.arange(replicates), 1, Record(states=False, summaries=False), 0, dtype, None)
    run = gpu._Run(plan, model.start_state, None, None)
    steps = 50

    def work() -> None:
        for time in range(1, steps + 1):
            run._step(time, 1 / time, 1.0, 1.0, 0.0)

    size, entries = np.dtype(dtype).itemsize, network.adjacency.nnz
    step = seconds(cupy, work, 5) / steps
    gathered = (entries * replicates + n * replicates) * size + entries * 4 + n * (8 + 3 * size)
    return {
        "n": n,
        "replicates": replicates,
        "dtype": np.dtype(dtype).name,
        "ps per agent-step": step / (n * replicates) * 1e12,
        "fraction of bound": gathered / bandwidth / step,
    }


def main() -> None:
    cupy = gpu._cupy()
    bandwidth = copy_bandwidth(cupy)
    print(f"copy bandwidth {bandwidth / 1e12:.2f} TB/s", flush=True)
    for n, replicates in ((10**5, 32), (10**6, 1), (10**6, 32), (4 * 10**6, 32)):
        for dtype in (np.float32, np.float64):
            print(json.dumps(measure(cupy, bandwidth, n, replicates, dtype)), flush=True)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
