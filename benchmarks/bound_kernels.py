"""The parts of a step, each alone: copying, normals, gathering neighbours, writing. They release the lock."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from peerpressure.simulation.engine.arguments import Graph
from peerpressure.simulation.engine.intrinsics import prefetch, update_row
from peerpressure.simulation.engine.narrow import gather
from peerpressure.simulation.engine.plan import CHUNK, WIDTH, Draw
from peerpressure.simulation.engine.random import BATCH, GROUP, U64, fill

_LOOK_AHEAD = 16


def _copy(source: NDArray[Any], target: NDArray[Any], repeats: int) -> None:
    """Copy to and fro."""
    for _ in range(repeats):
        for i in range(source.size):
            target[i] = source[i]
        source, target = target, source


def _write(target: NDArray[Any], repeats: int) -> None:
    for repeat in range(repeats):
        for i in range(target.size):
            target[i] = repeat


def _normals(chunks: int, replicate: int, agents: int, dtype: Any, filler: Any, draw: Draw) -> float:
    """Make the CHUNK normals of so many agents in one small buffer, ``chunks`` times over."""
    out, words, total = np.zeros(CHUNK, dtype), np.zeros((4, BATCH), U64), 0.0
    for chunk in range(chunks):
        fill(out, words, agents, 1, filler, draw, agents * chunk, 1, replicate, 0)
        total += out[chunk % out.size]
    return total


def _fetch_ahead(graph: Graph, public: NDArray[Any], agent: int) -> None:
    k = U64(graph.starts[agent])
    stop = min(U64(graph.starts[agent + 1]), k + U64(_LOOK_AHEAD))
    while k < stop:
        base = U64(graph.columns[k]) * U64(WIDTH)
        prefetch(public, base)
        prefetch(public, base + U64(WIDTH // 2))
        k += U64(1)


_fetch_ahead = njit(error_model="numpy")(_fetch_ahead)


def _gather_wide(graph: Graph, public: NDArray[Any], begin: int, end: int, repeats: int) -> float:
    """Sum the neighbours' rows of WIDTH numbers into one small buffer."""
    number = public.dtype.type
    one, zero, row, total = number(1), number(0), np.zeros(WIDTH, public.dtype), 0.0
    for _ in range(repeats):
        for agent in range(begin, end):
            _fetch_ahead(graph, public, min(agent + GROUP, end - 1))
            update_row(
                public, graph.columns, graph.weights, graph.stride, U64(graph.starts[agent]),
                U64(graph.starts[agent + 1]), one, zero, zero, row, U64(0), row, U64(0), False,
            )  # fmt: skip
            total += row[0]
    return total


def _gather_narrow(graph: Graph, public: NDArray[Any], begin: int, end: int, repeats: int) -> float:
    """Sum single neighbours as the engine does."""
    pressure = np.zeros(CHUNK, public.dtype)
    for _ in range(repeats):
        for first in range(begin, end, CHUNK):
            gather(graph, public, first, min(CHUNK, end - first), pressure)
    return pressure[0]  # type: ignore[no-any-return]


_compiled = njit(nogil=True, error_model="numpy")
copy, write = _compiled(_copy), _compiled(_write)
normals = _compiled(_normals)
gather_wide, gather_narrow = _compiled(_gather_wide), _compiled(_gather_narrow)
