"""``peerpressure warmup``: compile all kernels now, so no later run has to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from peerpressure.cli.terminal import progress_line, show

if TYPE_CHECKING:
    import numpy as np

# Kinds of runs with kernels of their own.
KINDS: Final = ("model of the paper", "extended model", "frozen noise", "continuous time")


def warmup() -> None:
    """Compile the kernels of all kinds of models, which takes about a minute.

    Otherwise a run compiles what it needs at first use, in a few seconds. Use this command for a container image or
    the shared folder of a cluster.

    Kernels are stored beside the package, or in the folder NUMBA_CACHE_DIR, for this kind of processor and this
    version of numba. Set it if the folder of the package is not writable, also for later commands.

    Example: NUMBA_CACHE_DIR=/opt/kernels peerpressure warmup
    """
    begun = time.perf_counter()
    with progress_line() as show_stage:
        show_stage("loading")
        from peerpressure.simulation.engine.arguments import reduce_summaries

        jobs = list(_jobs())
        for done, (name, job) in enumerate(jobs):
            show_stage(f"compiling: {name} ({done + 1} of {len(jobs)})")
            job()
    folder, took = reduce_summaries.stats.cache_path, time.perf_counter() - begun
    show(f"Kernels of {len(jobs)} kinds of runs are in {folder} ({took:.0f} s)")


def _jobs() -> Iterator[tuple[str, Callable[[], object]]]:
    """Give a small run of each kind, with its name."""
    import numpy as np

    from peerpressure.simulation.engine.plan import WIDTH

    for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
        for replicates in (1, WIDTH):
            what = f"{'many replicates' if replicates > 1 else 'one replicate'}, {dtype}"
            for kind in KINDS:
                yield f"{kind}, {what}", partial(_simulate, kind, replicates, dtype)
            yield f"noise distributions, {what}", partial(_compile_laws, dtype, wide=replicates > 1)
    yield "large networks", _compile_large
    yield "drawings of networks", _draw
    yield "comparison of models", _compare
    yield "fits to answers", _fit_answers


def _simulate(kind: str, replicates: int, dtype: np.dtype[Any]) -> None:
    from peerpressure import SDE, Frozen, Gaussian, Model, TemporalNetwork, simulate
    from peerpressure.networks import path, star

    extended = kind == "extended model"
    model = Model(
        TemporalNetwork.from_snapshots([path(4), star(4)]) if extended else path(4),
        hidden=[0.0, 1.0, 2.0, 3.0],
        noise=Gaussian(1.0, temporal=Frozen()) if kind == "frozen noise" else Gaussian(1.0),
        adaptation=0.1 if extended else None,
    )
    system = SDE(model, method="taylor") if kind == "continuous time" else model
    simulate(system, 2, replicates, dtype=dtype, threads=1)


def _compile_laws(dtype: np.dtype[Any], *, wide: bool) -> None:
    from peerpressure.simulation.engine.plan import LAW_CODES, UNIT
    from peerpressure.simulation.engine.random import filler_of

    for law in (*LAW_CODES.values(), UNIT):
        filler_of(law, dtype, wide=wide)


def _compile_large() -> None:
    """Compile what only large networks need: sums over threads and in blocks, generators, windows."""
    import numpy as np

    from peerpressure.networks import TemporalNetwork, barabasi_albert, joint_connectivity
    from peerpressure.networks._generators import INTERPRETED
    from peerpressure.simulation.engine.arguments import reduce_summaries
    from peerpressure.simulation.engine.blocking import NeighbourSums, blocks_of

    reduce_summaries(np.zeros((1, 1, 3)), np.int64(0), 1, np.zeros((1, 3, 1)))
    network = barabasi_albert(INTERPRETED, 1, seed=1)
    for dtype in (np.dtype(np.float64), np.dtype(np.float32)):
        edges = blocks_of(network.adjacency, np.ones(1, dtype), np.uint64(0), directed=False)
        sums = NeighbourSums(edges, network.n, dtype)
        sums.spread(np.zeros(network.n, dtype), 0, network.n)
        sums.collect(0, network.n)
    joint_connectivity(TemporalNetwork.from_snapshots([network, network]), window=1)


def _draw() -> None:
    """Draw networks with and without directions; neither has a well-known shape, which would take no kernel."""
    from peerpressure.explorer.layout import drawing
    from peerpressure.networks import barabasi_albert, followers

    for network in (barabasi_albert(9, 2, seed=1), followers(9, 2, seed=1)):
        drawing(network)


def _compare() -> None:
    """Compare models of a short record, where responses are counted."""
    from peerpressure import Gaussian, Model, compare, simulate
    from peerpressure.networks import path

    network, hidden = path(30), [i / 30 for i in range(30)]
    compare(simulate(Model(network, hidden=hidden, noise=Gaussian(0.3)), 6, seed=1), network)


def _fit_answers() -> None:
    """Fit a model to answers with errors, whose filter and smoother are compiled for few agents."""
    from peerpressure import Gaussian, Model, simulate
    from peerpressure.fitting import fit
    from peerpressure.networks import path

    model = Model(path(3), hidden=[0.0, 0.5, 1.0], noise=Gaussian(0.3))
    fit(simulate(model, 5, seed=1), model, ("measurement_noise",))
