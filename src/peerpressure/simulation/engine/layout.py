"""How a network and its agents are laid out in memory for the kernels, made once for each network."""

from __future__ import annotations

import math
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numba import njit
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from peerpressure.model import Model
from peerpressure.networks import Network
from peerpressure.simulation.engine.arguments import AgentArrays, Graph
from peerpressure.simulation.engine.blocking import EdgeBlocks, blocks_of
from peerpressure.simulation.engine.plan import CHUNK, SLICE, is_scattered

_CACHE_LINES = 128  # bytes: rows of WIDTH doubles then never straddle a third cache line

# Weak keys: the copy for the kernels is freed with its network.
_Layouts: TypeAlias = dict[tuple[bool, np.dtype[Any]], tuple[Graph, EdgeBlocks | None]]
_graphs: WeakKeyDictionary[Network, _Layouts] = WeakKeyDictionary()


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array that begins on a cache line."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    # NumPy aligns to 16 bytes only. The slice keeps the whole buffer alive.
    raw = np.empty(size + _CACHE_LINES, np.uint8)
    offset = -raw.ctypes.data % _CACHE_LINES
    return raw[offset : offset + size].view(dtype).reshape(shape)


def graph_of(network: Network, dtype: np.dtype[Any], *, narrow: bool) -> tuple[Graph, EdgeBlocks | None]:
    """Return the network as a kernel reads it, with its edges in blocks if their sums are computed apart."""
    made = _graphs.setdefault(network, {})
    key = (narrow, dtype)
    if key not in made:
        made[key] = _build_graph(network, dtype, narrow=narrow)
    return made[key]


def _build_graph(network: Network, dtype: np.dtype[Any], *, narrow: bool) -> tuple[Graph, EdgeBlocks | None]:
    matrix = network.adjacency
    # A single weight instead of one per edge saves half of the graph's memory traffic or more.
    uniform = bool(matrix.nnz) and bool((matrix.data == matrix.data[0]).all())
    weights, stride = (matrix.data[:1] if uniform else matrix.data).astype(dtype), np.uint64(not uniform)
    starts, columns, order, edges = matrix.indptr, np.zeros(0, np.uint32), np.zeros(0, np.uint16), None
    if narrow and is_scattered(matrix, dtype.itemsize):
        edges = blocks_of(matrix, weights, stride, directed=network.directed)
    elif narrow:
        starts, columns, weights, order = _in_slices(matrix, weights)
    else:
        columns = matrix.indices.astype(np.uint32)
    starts = starts.astype(np.uint64 if matrix.nnz > np.iinfo(np.uint32).max else np.uint32)
    # The ends are a view: rows of a constant network are adjacent, and only temporal networks leave room between them.
    graph = Graph(starts, starts[1:], columns, weights, stride, order, sums=np.zeros(0, dtype))
    return graph, edges


def _in_slices(matrix: csr_array, weights: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return starts, columns, weights and order of rows that are sorted by length in each chunk, the longest first.

    The SLICE rows of a slice are interleaved as far as its last row, the shortest, goes: first neighbours of all rows,
    second neighbours of all rows, and so on. The rest of each row follows.
    """
    n, lengths = matrix.shape[0], np.diff(matrix.indptr)
    # One chunk a line; the padding is shorter than every row and stays at the end.
    padded = np.pad(-lengths, (0, -n % CHUNK), constant_values=1)
    order = np.argsort(padded.reshape(-1, CHUNK), axis=1, kind="stable")
    rows = (order + np.arange(0, n, CHUNK)[:, None]).ravel()[:n]
    starts = np.concatenate([[0], np.cumsum(lengths[rows], dtype=np.int64)])
    columns, placed = np.empty(matrix.nnz, np.uint32), np.empty_like(weights)
    _interleave(matrix.indptr, matrix.indices, weights, rows, starts, columns, placed)
    # Two bytes suffice because a row stays within its chunk, which also keeps the sums of a chunk in the first cache.
    return starts, columns, placed, order.ravel()[:n].astype(np.uint16)


@njit(cache=True, nogil=True, error_model="numpy", _nrt=False)
def _interleave(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    weights: NDArray[Any],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    columns: NDArray[np.uint32],
    placed: NDArray[Any],
) -> None:
    """Write the columns and weights of the rows in their order, in slices; a last slice that is not full stays rows."""
    whole = rows.size // SLICE * SLICE
    if weights.size == 1:
        placed[0] = weights[0]
    for i in range(rows.size):
        first, begin, length = i // SLICE * SLICE, indptr[rows[i]], indptr[rows[i] + 1] - indptr[rows[i]]
        shared = starts[first + SLICE] - starts[first + SLICE - 1] if i < whole else 0
        # What the rows behind this one have among the interleaved columns lies before its rest.
        rest = starts[i] + (SLICE - 1 - (i - first)) * shared
        for j in range(length):
            place = starts[first] + j * SLICE + (i - first) if j < shared else rest + j
            columns[place] = indices[begin + j]
            if weights.size > 1:
                placed[place] = weights[begin + j]


def agents_of(model: Model, dtype: np.dtype[Any], deviation: NDArray[np.float64] | None) -> AgentArrays:
    """Return the constants of the agents in the precision of the state; the noise is the model's own unless given."""
    adaptation_weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight

    def constant(values: object) -> NDArray[Any]:
        # Rounded to the precision of the state once: both kernels and all threads compute from the same bits.
        # What has that precision is not copied, which would take as long as a step; read-only in either case, because
        # kernels are compiled once more for arrays that are not.
        array = np.ascontiguousarray(values, dtype).reshape(-1).view()
        array.flags.writeable = False
        return array

    return AgentArrays(
        stubbornness=constant(model.s),
        degrees=constant(model.network.degrees),
        hidden=constant(model.x0),
        deviation=constant(model.noise.std if deviation is None else deviation),
        adaptation_weight=constant(adaptation_weight),
        keep_isolated=model.isolated == "keep",
    )
