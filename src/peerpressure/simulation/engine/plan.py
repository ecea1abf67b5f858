"""The plan and the result of a run, common to the engines for processor and accelerator; it does not import numba."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.model import Model
from peerpressure.model.affine import least_own_weight
from peerpressure.model.step import Array
from peerpressure.noise import AR1, Frozen, Noise
from peerpressure.support.dates import whole_steps

# Replicates that are stepped together: one gathered neighbour row is WIDTH consecutive numbers, two cache lines of
# float64, which makes a random gather cheap per replicate.
WIDTH = 16
CHUNK = 1024  # agents per partial sum: fixed, because sums must not depend on how threads share the agents
SLICE = 8  # rows of the graph that the kernel for one replicate sums together
BLOCK = 2**16  # agents whose states stay in the second-level cache, and whose numbers within a block take two bytes
CACHE = 2**25  # bytes of state from which it is not expected to stay in the caches
NARROW_UP_TO = 4  # left-over replicates that are cheaper one by one than in a padded block
_NUMBERS = 2**16  # in the layers of a block: a step of that many numbers outweighs the cost of a call from Python
_SAMPLE = 2**14  # edges that are looked at to tell whether neighbours are near each other in memory
_SCATTERED = 0.3  # share of edges between distant agents from which the two passes cost less than waiting for memory
# Bytes of state between two checks of progress and Ctrl-C at most; and steps, few enough to keep what is computed for
# each of them in the caches.
_SEGMENT, _STEPS = 2e9, 2**14
# Seconds between two checks, the share of the most steps that is made before the time of a step is known, and the
# largest factor from one segment to the next, because a short one is not measured well.
_BETWEEN, _FIRST, _GROWTH = 0.2, 64, 4

# Codes of the laws in the kernels, all of mean zero and unit variance. Any other law is drawn from its quantile
# function, at shares that the kernels draw as UNIT, uniform on (0, 1).
NONE, GAUSSIAN, LAPLACE, UNIFORM, STUDENT, RADEMACHER, UNIT = range(7)
LAW_CODES = {
    "none": NONE,
    "gaussian": GAUSSIAN,
    "laplace": LAPLACE,
    "uniform": UNIFORM,
    "student": STUDENT,
    "rademacher": RADEMACHER,
}

# Noise is drawn at each step, carried by u ← carry·u + fresh·z, or read from memory.
FRESH, RECURRENT, FROZEN = range(3)

# The counter's fourth word: fresh noise, and the draws that memory starts from. A Student draw takes two streams.
# Streams 1 and 3 are the second ones of Student draws, so no counter is used twice.
STREAM_FRESH, STREAM_FROZEN = 0, 2
# Who updates: far from the streams of noise, which an SDE takes more of.
STREAM_ACTIVE = 2**31

# Each agent updates by chance, one agent of all does, those of a table, or everybody.
CHANCE, SINGLE, LISTED, EVERYBODY = range(4)
ACTIVE_CODES = {"independent": CHANCE, "single": SINGLE, "table": LISTED}


def coin_thresholds(model: Model) -> NDArray[np.uint64]:
    """Return q·2³² for each agent, below which 32 random bits let it update; 1 where who updates is no chance."""
    activation = model.activation
    if activation is None or ACTIVE_CODES[activation.kind] != CHANCE:
        return np.ones(model.n, np.uint64)
    # Rounded up: an agent of the smallest probability still updates at times.
    return np.asarray(np.ceil(activation.values * 2.0**32).astype(np.uint64))


class Draw(NamedTuple):
    """How noise is made: the law and its shape, how it is carried through time, and the key of the seed.

    ``offset`` is the number of the agent at place 0 of the arrays, which is not 0 in a part of a network; ``agents`` is
    how many the whole network has.
    """

    law: int
    shape: float
    mode: int
    carry: float
    fresh: float
    k0: np.uint64
    k1: np.uint64
    offset: int = 0
    agents: int = 0


def draw_of(noise: Noise, seed: int, pace: float = 1.0) -> Draw:
    """Return how the kernels draw this noise in steps of a length; the key is the seed itself, split in two words."""
    mode, carry, fresh = FRESH, 0.0, 1.0
    if isinstance(noise.temporal, AR1):
        # The autocorrelation over a step of the stochastic differential equation, φ^h.
        phi = noise.temporal.coefficient if pace == 1 else noise.temporal.coefficient**pace
        # √(1 − φ²) keeps the variance at 1 for all times, given a stationary start.
        mode, carry, fresh = RECURRENT, phi, float(np.sqrt(1 - phi * phi))
    # A law of SciPy is drawn and carried by Python, also where it is AR(1): the kernels only read its memory.
    if isinstance(noise.temporal, Frozen) or noise.law not in LAW_CODES:
        mode = FROZEN
    key = np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)
    return Draw(LAW_CODES.get(noise.law, UNIT), noise.shape, mode, carry, fresh, *key)


def network_step(count: int, pace: float) -> int:
    """Return the step of a temporal network that applies after so many steps of a length; 1 at the start.

    >>> network_step(7, 1.0), network_step(7, 0.1), network_step(10, 0.1), network_step(11, 0.1)
    (7, 1, 1, 2)
    """
    return max(count, 1) if pace == 1 else int(whole_steps(count * pace))


class OwnAgents(NamedTuple):
    """The agents that one process steps: places ``begin``…``end``−1 of its arrays.

    In a run of one process that is everybody. Elsewhere the other places are for neighbours whom other processes step.
    The agent at place 0 has the number ``offset`` among all ``agents``, a multiple of CHUNK like ``begin``.
    """

    offset: int
    begin: int
    end: int
    agents: int
    has_silent_steps: bool


def is_extended(model: Model, *, continuous: bool) -> bool:
    """Return whether there is more than the model of the paper on a constant network."""
    parts = (model.adaptation, model.activation, model.temporal_network)
    return continuous or any(part is not None for part in parts)


@dataclass(frozen=True, eq=False)
class RunPlan:
    """One run: which steps, which replicates, what is recorded at which step.

    ``pace`` and ``deviation`` are those of the stochastic differential equation: the length of a step, and the noise of
    each agent where it is not the model's own. ``preferred(step, rows)``, where it is given, returns x + ε of a step
    for these rows of the replicates, (replicates, agents): the model then has hidden opinions 0 and noise of deviation
    1, and the kernels know of neither x nor ε. ``part`` is given where other processes step other agents.
    """

    model: Model
    seed: int
    start_step: int
    steps: int
    replicates: NDArray[np.int64]
    dtype: np.dtype[Any]
    times: NDArray[np.int64]
    agents: NDArray[np.int64]
    keep_states: bool
    keep_summaries: bool
    threads: int
    pace: float = 1.0
    deviation: NDArray[np.float64] | None = None
    preferred: Callable[[int, slice], Array] | None = None
    part: OwnAgents | None = None

    @property
    def share(self) -> OwnAgents:
        """The agents that this process steps."""
        n = self.model.n
        return self.part or OwnAgents(0, 0, n, n, self.model.has_silent_steps)

    def readings(self, begin: int, end: int) -> tuple[Array, Array, Array, Array]:
        """Return own_weight and weight of peer pressure, the noise's scale and η at steps begin + 1…end."""
        model = self.model
        # k·h, and not a running sum of h, whose rounding errors would accumulate over the steps.
        times = np.arange(begin + 1, end + 1) * np.float64(self.pace)
        own_weight, weight = model.pressure.homogeneous(model.pressure.reading_times(times))
        if self.share.has_silent_steps:
            # For agents who listen to nobody an infinite pressure would give 0/0.
            own_weight = np.maximum(own_weight, least_own_weight(self.dtype))
        scale = model.noise.scale(model.noise.time_scale.reading_times(times))
        adaptation_rate = np.zeros(times.size)
        if model.adaptation is not None:
            # A step of length h adapts by h η.
            adaptation_rate = self.pace * model.adaptation.pace(model.adaptation.rate.reading_times(times))
        return own_weight, weight, scale, adaptation_rate

    def masks(self, begin: int, end: int) -> NDArray[np.bool_]:
        """Return who updates at steps begin + 1…end, of shape (steps, agents), or (steps, 0) without a table."""
        activation = self.model.activation
        if activation is None or activation.is_random:
            return np.zeros((end - begin, 0), np.bool_)
        # A copy, because kernels are compiled once more for arrays that are read-only.
        return activation.masks(begin, end).copy()

    @property
    def is_extended(self) -> bool:
        """Whether there is more than the model of the paper on a constant network."""
        return is_extended(self.model, continuous=self.pace != 1)

    @property
    def keep_hidden(self) -> bool:
        """Whether hidden opinions are recorded, too: where they adapt."""
        return self.keep_states and self.model.adaptation is not None


@dataclass(frozen=True, eq=False)
class RunResult:
    """States (replicates, times, agents), summaries (replicates, times, 3), final state and noise memory.

    ``hidden`` and ``final_hidden`` are the hidden opinions, where they adapt.
    """

    states: NDArray[Any] | None
    summaries: NDArray[np.float64] | None
    final: NDArray[Any]
    memory: NDArray[Any] | None
    hidden: NDArray[Any] | None = None
    final_hidden: NDArray[Any] | None = None


# Blocks of replicates


def plan_blocks(replicates: NDArray[np.int64], agents: int, threads: int) -> Iterator[tuple[int, int, int, int]]:
    """Cut replicate numbers into (first, lanes, width, row); only consecutive numbers share a block.

    Small networks get blocks of many layers, because a call costs as much as many of their steps; but never so many
    that a thread would have no block.

    >>> list(plan_blocks(np.arange(34), 10**6, 2))
    [(0, 16, 16, 0), (16, 16, 16, 16), (32, 1, 1, 32), (33, 1, 1, 33)]
    >>> list(plan_blocks(np.arange(1000), 2, 2))
    [(0, 512, 16, 0), (512, 488, 16, 512)]
    >>> list(plan_blocks(np.arange(20), 100, 2))
    [(0, 16, 16, 0), (16, 4, 16, 16)]
    """
    breaks = np.flatnonzero(np.diff(replicates) != 1) + 1
    for begin, end in zip([0, *breaks], [*breaks, replicates.size], strict=True):
        row = int(begin)
        for count, lanes, width in block_sizes(int(end - begin), agents, threads):
            for _ in range(count):
                yield int(replicates[row]), lanes, width, row
                row += lanes


def block_sizes(replicates: int, agents: int, threads: int) -> Iterator[tuple[int, int, int]]:
    """Yield (how many, lanes, width) of the blocks that hold so many consecutive replicates, in their order.

    >>> list(block_sizes(34, 10**6, 2))
    [(2, 16, 16), (2, 1, 1)]
    """
    # At most the share of one thread, rounded up.
    layers = min(max(1, _NUMBERS // (agents * WIDTH)), -(-replicates // (WIDTH * threads)))
    whole, rest = divmod(replicates, layers * WIDTH)
    # A few replicates at the end are cheaper one at a time than in a block that is mostly padding; in a small network
    # by less than the second kernel takes to load or to compile.
    narrow = rest <= NARROW_UP_TO and (whole == 0 or agents * WIDTH > _NUMBERS)
    width, lanes = (1, min(max(1, _NUMBERS // agents), max(1, rest))) if narrow else (WIDTH, max(1, rest))
    sizes = ((whole, layers * WIDTH, WIDTH), (rest // lanes, lanes, width), (1, rest % lanes, width))
    yield from (size for size in sizes if size[0] and size[1])


def is_scattered(matrix: csr_array, itemsize: int) -> bool:
    """Return whether a step over this network waits for memory: large states, and neighbours far from each other."""
    # Half of the caches, which the state after the step shares with the one before it.
    if matrix.shape[0] * itemsize <= CACHE // 2 or matrix.nnz == 0:
        return False
    edges = np.linspace(0, matrix.nnz - 1, _SAMPLE).astype(np.int64)
    rows = np.searchsorted(matrix.indptr, edges, side="right") - 1
    distant = np.abs(matrix.indices[edges].astype(np.int64) - rows) >= BLOCK
    return bool(distant.mean() > _SCATTERED)


def steps_of_segment(agents: int, replicates: int, itemsize: int, *, cost: int = 1) -> int:
    """Return the number of steps between two checks of progress and Ctrl-C, at least one however large the state is."""
    return min(max(1, int(_SEGMENT / cost / (agents * max(replicates, 1) * itemsize))), _STEPS)


class SegmentPace:
    """How many steps to make until the next check of progress and Ctrl-C, by the time that the last ones took."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.steps = max(1, most // _FIRST)

    def note(self, steps: int, seconds: float) -> None:
        """Take the time of the last steps, and choose how many follow.

        >>> pace = SegmentPace(1000)
        >>> pace.steps
        15
        >>> pace.note(15, 0.15)
        >>> pace.steps
        20
        """
        wanted = steps * _BETWEEN / max(seconds, 1e-9)
        self.steps = int(max(1, min(wanted, _GROWTH * steps, self._most)))
