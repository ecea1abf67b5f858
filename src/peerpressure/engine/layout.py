"""The layout of a model in memory: the rows of the graph, the constants of the agents, the blocks of replicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from peerpressure.engine.arguments import CHUNK, AgentArrays, Graph
from peerpressure.engine.plan import NARROW_UP_TO, WIDTH
from peerpressure.model import Model
from peerpressure.networks import Network

_CACHE_LINES = 128  # bytes: rows of WIDTH doubles then never straddle a third cache line
_PIECE = 2**12  # agents whose states are transposed at a time
_NUMBERS = 2**16  # in the layers of a block: a step of that many numbers outweighs the cost of a call from Python

# Weak keys, so that the copy for the kernels is freed with its network.
_graphs: WeakKeyDictionary[Network, dict[tuple[bool, np.dtype[Any]], Graph]] = WeakKeyDictionary()


def aligned(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array that begins on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    # NumPy aligns to 16 bytes only. The slice keeps the whole buffer alive.
    raw = np.empty(size + _CACHE_LINES, np.uint8)
    offset = -raw.ctypes.data % _CACHE_LINES
    return raw[offset : offset + size].view(dtype).reshape(shape)


def graph_of(network: Network, dtype: np.dtype[Any], *, narrow: bool) -> Graph:
    """Return the network as a kernel reads it, made once for each network."""
    made = _graphs.setdefault(network, {})
    key = (narrow, dtype)
    if key not in made:
        made[key] = _build_graph(network, dtype, narrow=narrow)
    return made[key]


def _build_graph(network: Network, dtype: np.dtype[Any], *, narrow: bool) -> Graph:
    matrix = network.adjacency
    order = np.zeros(0, np.uint16)
    if narrow:
        # Rows by their length within each chunk: see the narrow kernel's gather.
        agents = np.arange(network.n)
        rows = np.lexsort((np.diff(matrix.indptr), agents // CHUNK))
        matrix = matrix[rows]
        # Two bytes suffice because a row stays within its chunk, which also keeps the sums of a chunk in the first
        # cache.
        order = (rows % CHUNK).astype(np.uint16)
    # A single weight instead of one per edge saves half of the graph's memory traffic or more.
    uniform = bool(matrix.nnz) and bool((matrix.data == matrix.data[0]).all())
    starts = matrix.indptr.astype(np.uint64 if matrix.nnz > np.iinfo(np.uint32).max else np.uint32)
    return Graph(
        starts=starts,
        # A view: rows of a constant network are adjacent, and only temporal networks leave room between them.
        ends=starts[1:],
        columns=matrix.indices.astype(np.uint32),
        weights=(matrix.data[:1] if uniform else matrix.data).astype(dtype),
        stride=np.uint64(0 if uniform else 1),
        order=order,
    )


def agents_of(model: Model, dtype: np.dtype[Any], deviation: NDArray[np.float64] | None) -> AgentArrays:
    """Return the constants of the agents in the precision of the state; the noise is the model's own unless given."""
    adaptation_weight = 1.0 if model.adaptation is None else model.adaptation.adaptation_weight
    # Rounded to the precision of the state once, so that both kernels and all threads compute from the same bits.
    return AgentArrays(
        stubbornness=model.s.astype(dtype),
        degrees=model.network.degrees.astype(dtype),
        hidden=model.x0.astype(dtype),
        deviation=np.atleast_1d(np.asarray(model.noise.std if deviation is None else deviation)).astype(dtype),
        adaptation_weight=np.atleast_1d(np.asarray(adaptation_weight)).astype(dtype),
    )


@dataclass(frozen=True, eq=False)
class Block:
    """Replicates that one call steps: ``lanes`` of them from number ``first`` on, in layers of ``width``, padded.

    ``states`` is (layers, 2, agents·width), the two rows alternating; ``memory`` is correlated noise and
    ``hidden_state`` are hidden opinions that adapt, (layers, agents·width) or empty. ``row`` is where the block's
    replicates begin in the results.
    """

    first: int
    lanes: int
    width: int
    row: int
    states: NDArray[Any]
    memory: NDArray[Any]
    hidden_state: NDArray[Any]
    partial: NDArray[np.float64]

    @property
    def rows(self) -> slice:
        """The block's place among the results."""
        return slice(self.row, self.row + self.lanes)

    def read(self, field: NDArray[Any], out: NDArray[Any]) -> None:
        """Copy a field of this block, (layers, agents·width), to its rows (lanes, agents) of ``out``."""
        layers = field.reshape(field.shape[0], -1, self.width)
        for layer, values in enumerate(layers):
            rows = out[self.row + layer * self.width : self.row + min((layer + 1) * self.width, self.lanes)]
            # Piece by piece, because transposing a large array at once would miss the caches at every number.
            for begin in range(0, values.shape[0], _PIECE):
                rows[:, begin : begin + _PIECE] = values[begin : begin + _PIECE, : len(rows)].T

    def write(self, values: NDArray[Any], field: NDArray[Any]) -> None:
        """Set a field of this block from (lanes, agents) or (agents,); padding repeats the first replicate."""
        target = field.reshape(field.shape[0], -1, self.width)
        if values.ndim == 1:
            target[:] = values[:, None]
            return
        padding = field.shape[0] * self.width - self.lanes
        # Padding lanes are stepped and never read; finite values there cannot slow down or trap the arithmetic.
        padded = np.concatenate([values, np.broadcast_to(values[0], (padding, values.shape[1]))])
        target[:] = padded.reshape(field.shape[0], self.width, -1).swapaxes(1, 2)


def plan_blocks(replicates: NDArray[np.int64], agents: int, threads: int) -> Iterable[tuple[int, int, int, int]]:
    """Cut replicate numbers into (first, lanes, width, row); only consecutive numbers share a block.

    Small networks get blocks of many layers, because a call costs as much as many of their steps; but never so many
    that a thread would have no block.

    >>> list(plan_blocks(np.arange(34), 10**6, 2))
    [(0, 16, 16, 0), (16, 16, 16, 16), (32, 1, 1, 32), (33, 1, 1, 33)]
    >>> list(plan_blocks(np.arange(1000), 2, 2))
    [(0, 512, 16, 0), (512, 488, 16, 512)]
    """
    most = max(1, _NUMBERS // (agents * WIDTH))
    most_narrow = max(1, _NUMBERS // agents)
    breaks = np.flatnonzero(np.diff(replicates) != 1) + 1
    for begin, end in zip([0, *breaks], [*breaks, replicates.size], strict=True):
        # At most the share of one thread, rounded up.
        layers = min(most, -(-int(end - begin) // (WIDTH * threads)))
        row = int(begin)
        while row < end:
            rest = int(end) - row
            # A few replicates at the end are cheaper one at a time than in a block that is mostly padding.
            width = 1 if rest <= NARROW_UP_TO else WIDTH
            lanes = min(layers * WIDTH if width > 1 else most_narrow, rest)
            yield int(replicates[row]), lanes, width, row
            row += lanes


def make_blocks(
    model: Model, replicates: NDArray[np.int64], dtype: np.dtype[Any], threads: int, *, memory: bool
) -> list[Block]:
    """Allocate the blocks for these replicates."""
    n, blocks = model.n, []
    for first, lanes, width, row in plan_blocks(replicates, n, threads):
        layers = -(-lanes // width)
        blocks.append(
            Block(
                first=first,
                lanes=lanes,
                width=width,
                row=row,
                states=aligned((layers, 2, n * width), dtype),
                memory=aligned((layers, n * width if memory else 0), dtype),
                hidden_state=aligned((layers, 0 if model.adaptation is None else n * width), dtype),
                # One row for each chunk, so that threads write their partial sums without sharing them.
                partial=np.empty((-(-n // CHUNK), 3, width)),
            )
        )
    return blocks
