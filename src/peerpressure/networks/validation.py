"""Validation of parameters, labels and matrices, with errors that name rule, value and remedy; generators declared."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast, final, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from peerpressure.errors import NetworkError, did_you_mean, first_few, message
from peerpressure.support.parameters import Parameter, Slider, composed
from peerpressure.support.resources import require_memory
from peerpressure.support.seeds import Seed, drawn_seed

Label = Hashable

BYTES_PER_EDGE = 150  # at the peak of building an adjacency: both directions, sorted and mirrored
UNCHECKED_EDGES = 1_000_000  # edges that fit into any memory; up to here the free memory is not queried
# One stray position, such as 10**12, must not reserve memory for all the agents below it.
MOST_ISOLATED = 10_000_000
ROUNDING = 64  # units in the last place by which the two weights of an edge may differ
SQUARE = "an adjacency must be a square matrix"


# Parameters


def check_integer(name: str, value: Any, *, least: int, remedy: str) -> int:
    """Return an integer that is at least ``least``."""
    # bool is a subclass of int, but path(True) is a mistake.
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise NetworkError(f"{name} must be a whole number of at least {least}", got=repr(value), remedy=remedy)
    return int(value)


def check_agents(n: Any, edges: int) -> int:
    """Return a number of agents that is at least 2 and in proportion to the number of edges or events."""
    if check_integer("n", n, least=0, remedy="count the agents") < 2:
        raise NetworkError("a network needs at least 2 agents", got=n, remedy="the smallest network is k2()")
    if n > max(MOST_ISOLATED, 4 * edges):
        got = f"{n} agents with {edges} edges"
        raise NetworkError("most agents must have neighbours", got=got, remedy="number the agents without gaps")
    return int(n)


def checked_seed(seed: Seed) -> int:
    """Return a seed as a number: one that is drawn from a generator, or 0 for None."""
    remedy = "give a number such as 1, with which the network is always the same, or a NumPy Generator"
    return check_integer("seed", drawn_seed(seed), least=0, remedy=remedy)


def random_generator(seed: Seed) -> np.random.Generator:
    """Return the random number generator of a seed."""
    return np.random.default_rng(checked_seed(seed))


def check_memory(edges: float) -> None:
    """Raise if a graph of this many edges does not fit into the free memory."""
    if edges <= UNCHECKED_EDGES:
        return
    # A number of edges may be beyond the doubles.
    what = f"a network of {min(edges, 1e300):.3g} edges"
    require_memory(min(edges, 1e300) * BYTES_PER_EDGE, what=what, remedy="ask for fewer edges")


# Labels


@final
@dataclass(frozen=True)
class PairLabels(Sequence[Label]):
    """All pairs of an agent and a topic as labels, with the topics of an agent next to each other.

    >>> list(PairLabels(["ann", "bob"], ("tax", "rent")))
    [('ann', 'tax'), ('ann', 'rent'), ('bob', 'tax'), ('bob', 'rent')]
    """

    # Made when they are asked for: millions of tuples would take longer than the network itself.
    agents: Sequence[Label]
    topics: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.agents) * len(self.topics)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return tuple(self[i] for i in range(*place.indices(len(self))))
        # As for a list, negative places count from the end, and others are an IndexError, which ends an iteration.
        agent, topic = divmod(range(len(self))[place], len(self.topics))
        return self.agents[agent], self.topics[topic]


def validate_labels(labels: Iterable[Label] | None, n: int) -> Sequence[Label]:
    """Return one distinct label per agent: a tuple, or ``range(n)`` if the labels are 0..n-1."""
    if labels is None or (isinstance(labels, range) and labels == range(n)):
        return range(n)
    if isinstance(labels, PairLabels) and len(labels) == n:
        return labels
    names = _as_python(labels)
    if len(names) != n:
        got = f"{len(names)} labels for {n} agents"
        raise NetworkError("there must be one label per agent", got=got, remedy="give a label for every agent")
    repeated = [label for label, count in _counts(names).items() if count > 1]
    if repeated:
        got = f"repeated {first_few(map(repr, repeated), len(repeated))}"
        raise NetworkError("labels must differ", got=got, remedy="give every agent a label of its own")
    # Explicit default labels are stored as none.
    if all(type(label) is int and label == i for i, label in enumerate(names)):
        return range(n)
    return names


def _as_python(labels: Iterable[Label]) -> tuple[Label, ...]:
    try:
        names = tuple(labels)
    except TypeError:
        raise NetworkError("labels must be a sequence", got=repr(labels), remedy="give a list of them") from None
    # NumPy scalars print differently and cannot be written as JSON.
    return tuple(composed(name.item() if isinstance(name, np.generic) else name) for name in names)


def _counts(names: tuple[Label, ...]) -> Mapping[Label, int]:
    try:
        return Counter(names)
    except TypeError as error:
        remedy = "use numbers, text or tuples of them"
        raise NetworkError("labels must be hashable", got=error, remedy=remedy) from None


def check_attribute(name: str, known: Sequence[str]) -> None:
    """Raise unless an attribute that was asked for as the weight is one of the edges."""
    if name not in known:
        got = ", ".join(map(repr, known)) or "none"
        remedy = f"name one of these{did_you_mean(name, known)}, or leave weight out"
        raise NetworkError(f"an edge must have the attribute {name!r}", got=got, remedy=remedy)


def position_in_range(label: Label, n: int) -> int | None:
    """Return the position of a label among 0..n-1 without building a dictionary of n entries."""
    try:
        i = index(label)  # type: ignore[arg-type]
    except TypeError:
        return None
    return int(i) if 0 <= i < n else None


def unknown_labels(missing: Sequence[Label], known: Sequence[Label]) -> NetworkError:
    """Return the error for labels that no agent has, with a close match for the first."""
    if isinstance(known, range):
        remedy = f"the labels are the index numbers 0 to {len(known) - 1}"
    else:
        remedy = f"the labels are {first_few(map(repr, known), len(known))}{did_you_mean(missing[0], known)}"
    got = f"unknown {first_few(map(repr, missing), len(missing))}"
    return NetworkError("a label must name an agent of the network", got=got, remedy=remedy)


# Adjacency matrices


def labelled_square(adjacency: Any, labels: Iterable[Label] | None) -> tuple[Any, Sequence[Label]]:
    """Return the adjacency as a square sparse array, and its labels: those given, or those of a data frame."""
    if is_frame(adjacency):
        adjacency, own = _unframed(adjacency)
        labels = own if labels is None else labels
    matrix = validate_square(adjacency)
    return matrix, validate_labels(labels, matrix.shape[0])


def is_frame(value: Any) -> bool:
    """Return whether a value is a data frame with labels on both axes, as those of pandas."""
    return all(hasattr(value, part) for part in ("index", "columns", "reindex", "to_numpy"))


def _unframed(frame: Any) -> tuple[NDArray[Any], Sequence[Label]]:
    """Return the weights of a data frame with its columns in the order of its rows, and the labels."""
    rows, columns = (validate_labels(axis.tolist(), len(axis)) for axis in (frame.index, frame.columns))
    if set(rows) == set(columns):
        # By place: names in another form of Unicode are those of other columns to pandas.
        place = {label: k for k, label in enumerate(columns)}
        return frame.to_numpy()[:, [place[label] for label in rows]], rows
    # A table from a file has names above its columns, but mostly none beside its rows.
    named = [axis for axis in (rows, columns) if not isinstance(axis, range)]
    if len(named) == 1:
        return frame.to_numpy(), named[0]
    different = sorted(map(repr, set(rows) ^ set(columns)))
    got = f"{first_few(different, len(different))} on one side only"
    raise NetworkError("rows and columns must name the same agents", got=got, remedy="name both alike")


def validate_square(adjacency: Any) -> Any:
    """Return the adjacency as a square sparse array of real numbers with two agents or more."""
    matrix: Any = adjacency if issparse(adjacency) else _dense(adjacency)
    # Users often pass an edge list or a graph here, so the remedy names the right constructor.
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        remedy = "for pairs of agents use Network.from_edges, for a NetworkX graph Network.from_networkx"
        raise NetworkError(SQUARE, got=f"shape {matrix.shape}", remedy=remedy)
    if matrix.dtype.kind not in "biuf":
        got = f"dtype {matrix.dtype}"
        raise NetworkError("weights must be real numbers", got=got, remedy="convert the adjacency to float64")
    # A dense matrix cannot have too many agents for its edges: it would not fit into memory.
    check_agents(matrix.shape[0], matrix.nnz // 2 if issparse(matrix) else matrix.size)
    # Single precision is kept, since it decides how much two weights of an edge may differ by rounding.
    precision = np.float32 if matrix.dtype == np.float32 else np.float64
    return matrix if issparse(matrix) else csr_array(matrix, dtype=precision)


def _dense(adjacency: Any) -> NDArray[Any]:
    try:
        return np.asarray(adjacency)
    except ValueError:
        raise NetworkError(SQUARE, got="rows of unequal length", remedy="give n rows of n weights") from None


def canonical_adjacency(
    matrix: Any, labels: Sequence[Label], *, directed: bool = False, signed: bool = False
) -> csr_array:
    """Return a new CSR array with finite weights, sorted indices and no self-loops.

    It is symmetric unless ``directed``, and has no negative weights unless ``signed``. Repeated entries are merged if
    their weights are equal, and stored zeros are dropped.
    """
    # A canonical CSR matrix has no repeats and needs no conversion.
    entries = matrix if matrix.format == "csr" and matrix.has_canonical_format else matrix.tocoo()
    _check_entries(entries, labels, signed=signed)
    repeats = entries.format == "coo"
    adjacency = (
        _merged(entries, labels, directed=directed) if repeats else csr_array(entries, dtype=np.float64, copy=True)
    )
    adjacency.eliminate_zeros()
    if repeats and _is_mirrored(entries):
        return _with_small_indices(adjacency)
    precision = matrix.dtype if matrix.dtype.kind == "f" else np.dtype(np.float64)
    tolerance = ROUNDING * float(np.finfo(precision).eps)
    return _with_small_indices(_symmetric(adjacency, labels, tolerance, directed=directed))


def _is_mirrored(entries: coo_array) -> bool:
    """Return whether the second half of the entries is the first in the other direction, as lists of edges give it."""
    # Such a matrix is symmetric, which takes ten times as long to find out from its transpose.
    (rows, columns), half = entries.coords, entries.nnz // 2
    return entries.nnz == 2 * half and all(
        np.array_equal(one[:half], other[half:])
        for one, other in ((rows, columns), (columns, rows), (entries.data, entries.data))
    )


class Fault(NamedTuple):
    """A rule that edges break, what to do about it, and the positions of those edges."""

    rule: str
    remedy: str
    places: list[int]


def edge_fault(
    loops: NDArray[np.bool_], weights: NDArray[Any], *, signed: bool = False, lasting: bool = True
) -> Fault | None:
    """Return the first rule that edges break, if any; ``lasting`` is whether the weight 0 may end an edge."""
    rules = [
        (
            loops,
            "an agent must not be its own neighbour",
            "remove it; the weight of an agent's own opinion is its stubbornness",
        ),
        (~np.isfinite(weights), "weights must be finite", "remove those edges or give them a number"),
    ]
    if not lasting:
        remedy = "remove them; lists of events, in which 0 ends an edge, are read by read_events"
        rules.append((weights <= 0, "weights must be above 0", remedy))
    elif not signed:
        remedy = (
            "distrust takes a signed network that does not change; otherwise use weights above 0, and 0 to end an edge"
        )
        rules.append((weights < 0, "weights must not be negative", remedy))
    for bad, rule, remedy in rules:
        if bad.any():
            return Fault(rule, remedy, np.flatnonzero(bad).tolist())
    # Degrees are sums of weights, so the sum must not overflow either.
    with np.errstate(over="ignore"):
        total = np.abs(weights).sum(dtype=np.float64)
    if not np.isfinite(total):
        raise NetworkError("the sum of all weights must be finite", got=total, remedy="divide them by the largest")
    return None


def _check_entries(matrix: Any, labels: Sequence[Label], *, signed: bool) -> None:
    entries = matrix.tocoo()
    rows, columns = entries.coords
    # Entry by entry, as repeated entries of either sign could cancel in the diagonal.
    fault = edge_fault((rows == columns) & (entries.data != 0), entries.data, signed=signed)
    if fault is not None:
        parts = (part[fault.places].tolist() for part in (rows, columns, entries.data))
        offenders = _undirected(zip(*parts, strict=True))
        named = (f"{w!r} between {labels[i]!r} and {labels[j]!r}" for i, j, w in offenders)
        raise NetworkError(fault.rule, got=first_few(named, len(offenders)), remedy=fault.remedy)


def _undirected(entries: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return one entry (i, j, …) per edge: the first of its two directions."""
    first: dict[frozenset[int], tuple[Any, ...]] = {}
    for entry in entries:
        first.setdefault(frozenset(entry[:2]), entry)
    return list(first.values())


def _merged(entries: coo_array, labels: Sequence[Label], *, directed: bool) -> csr_array:
    """Return the entries as CSR, with repeated entries of equal weight merged into one, and a warning of that."""
    entries = coo_array((entries.data.astype(np.float64), entries.coords), shape=entries.shape)
    summed = entries.tocsr()
    # Without repeats there is nothing to merge, which saves the sort.
    if summed.nnz == entries.nnz:
        return summed
    # SciPy sums repeated entries, but an edge that a file lists in both directions has its weight once.
    rows, columns = entries.coords
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], entries.data[order]
    repeat = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    clash = np.flatnonzero(repeat & (weights[1:] != weights[:-1]))
    if clash.size:
        pairs = [axis[clash].tolist() for axis in (rows, columns, weights)]
        raise _conflicting_weights(zip(*pairs, weights[clash + 1].tolist(), strict=True), labels)
    _warn_of_repeats(entries, labels, directed=directed)
    first = np.concatenate([[True], ~repeat])
    return coo_array((weights[first], (rows[first], columns[first])), shape=entries.shape).tocsr()


def _warn_of_repeats(entries: coo_array, labels: Sequence[Label], *, directed: bool) -> None:
    """Warn of edges given more than once; many lists have undirected edges in both directions, which is no repeat."""
    # The second half of a list of undirected edges is the first in the other direction.
    once = slice(entries.nnz // 2) if not directed and _is_mirrored(entries) else slice(None)
    rows, columns = (axis[once].astype(np.int64) for axis in entries.coords)
    codes, counts = np.unique(rows * len(labels) + columns, return_counts=True)
    several = zip(*(axis.tolist() for axis in np.divmod(codes[counts > 1], len(labels))), strict=True)
    # A matrix that is symmetric repeats both directions of an edge.
    pairs = _undirected(several)
    if pairs:
        said = "; ".join(described_repeats([(labels[i], labels[j]) for i, j in pairs]))
        warnings.warn(f"{said}; add up their weights first if each counts", stacklevel=2)


def described_repeats(pairs: Sequence[tuple[Label, Label]]) -> list[str]:
    """Describe edges that were given several times in one direction, if there are any.

    >>> described_repeats([("ann", "bob")])
    ["1 edge given more than once, counted once: 'ann' and 'bob'"]
    """
    named = (f"{a!r} and {b!r}" for a, b in pairs)
    count = f"{len(pairs):,} edge{'s' * (len(pairs) != 1)}"
    return [f"{count} given more than once, counted once: {first_few(named, len(pairs))}"] if pairs else []


def _conflicting_weights(clashes: Iterable[tuple[int, int, float, float]], labels: Sequence[Label]) -> NetworkError:
    offenders = _undirected(clashes)
    named = (f"{labels[i]!r} and {labels[j]!r} with {a} and {b}" for i, j, a, b in offenders)
    rule = "an edge given more than once must keep one weight"
    remedy = "keep one of them, or add them up first"
    return NetworkError(rule, got=first_few(named, len(offenders)), remedy=remedy)


def _symmetric(adjacency: csr_array, labels: Sequence[Label], tolerance: float, *, directed: bool) -> csr_array:
    """Return the adjacency, with the mean of two weights that differ by their last digits only.

    Others raise unless the network is directed, in which case all weights stay as they are.
    """
    # Comparing three arrays is much cheaper than the difference, which is only needed for the message.
    mirror = adjacency.T.tocsr()
    if all(np.array_equal(getattr(adjacency, part), getattr(mirror, part)) for part in ("indptr", "indices")):
        if np.array_equal(adjacency.data, mirror.data):
            return adjacency
        # Relative to each weight: a weak edge may matter as much as a strong one.
        if np.all(np.abs(adjacency.data - mirror.data) <= tolerance * np.abs(adjacency.data)):
            # Addition commutes, so both directions get the same bits; halves first, or the sum may overflow.
            adjacency.data = adjacency.data / 2 + mirror.data / 2
            return adjacency
    if directed:
        return adjacency
    gap = (adjacency - mirror).tocoo()
    rows, columns = (axis[gap.data > 0].tolist() for axis in gap.coords)
    named = (
        f"{labels[i]!r} to {labels[j]!r} {float(adjacency[i, j])!r} but back {float(adjacency[j, i])!r}"
        for i, j in zip(rows, columns, strict=True)
    )
    remedy = "a directed network keeps them, row i being whom i listens to; (A + A.T) / 2 does not"
    raise NetworkError("weights must be symmetric", got=first_few(named, len(rows)), remedy=remedy)


def _with_small_indices(adjacency: csr_array) -> csr_array:
    # 32-bit indices halve the memory traffic, and all stepping kernels are compiled for them.
    if max(adjacency.nnz, adjacency.shape[0]) <= np.iinfo(np.int32).max:
        adjacency.indptr = adjacency.indptr.astype(np.int32, copy=False)
        adjacency.indices = adjacency.indices.astype(np.int32, copy=False)
    return adjacency


# Declaration of a generator: its name for people, its parameters and the size of what it builds.

Built = TypeVar("Built")


@final
@dataclass(frozen=True)
class Generator(Generic[Built]):
    """Declaration of a generator of networks or of temporal networks.

    Parameters
    ----------
    build : callable
        Function of the declared parameters; where they apply also of a network, of ``steps``, ``seed`` and ``repeat``.
    title, help : str
        Name for a label, and a description in one line.
    size : callable
        Estimate of the number of edges, or of edge events of a temporal network, from the parameters, and from
        ``steps`` and the number of ``edges`` where they apply.
    parameters : tuple of Parameter, optional
        Declared arguments of the function.
    agents : callable, optional
        Number of agents from the parameters, ``n`` by default.
    pairs : callable, optional
        Number of pairs of a temporal network that may be linked, from the parameters.
    short : str, optional
        Abbreviation for the command line.

    See Also
    --------
    peerpressure.networks.GENERATORS : Table of all generators of networks.
    peerpressure.networks.TEMPORAL : Table of those of temporal networks.

    Examples
    --------
    >>> from peerpressure.networks import GENERATORS
    >>> GENERATORS["cycle"].build(6)
    Network(6 agents, 6 edges, bipartite, degree 2)
    """

    build: Callable[..., Built]
    title: str
    help: str
    size: Callable[..., float]
    parameters: tuple[Parameter, ...] = ()
    agents: Callable[..., int] = lambda n, **_: n
    pairs: Callable[..., float] = lambda **_: 0.0
    short: str = ""

    def check(self, **values: Any) -> None:
        """Raise unless each value is in its legal range and the network fits into memory."""
        # Ranges come first, since the estimate of the size assumes legal values.
        for one in self.parameters:
            # Flags such as ``connected`` have no range, and callers leave them out.
            if one.name in values:
                one.check(values[one.name], NetworkError)
        if "steps" in values:
            check_integer("steps", values["steps"], least=1, remedy="ask for one step or more")
        try:
            size = float(self.size(**values))
        except OverflowError:  # more than a double can count
            size = math.inf
        check_memory(size)


def number_of_agents(slider: Slider, at_least: int = 2) -> Parameter:
    """Return the declaration of the number of agents n."""
    remedy = f"ask for {at_least} agents or more"
    return Parameter("n", "whole", "agents", "number of agents", at_least=at_least, remedy=remedy, slider=slider)


# Words that networks take

# What the source of a directed edge does.
Direction: TypeAlias = Literal["listens", "influences"]
# What an agent without neighbours shows: its own preferred opinion, or its last public one.
Isolated: TypeAlias = Literal["own", "keep"]


def checked_isolated(value: object, error: type[Exception] = NetworkError) -> Isolated:
    """Return the rule for agents without neighbours, or raise an error of this type."""
    for rule in get_args(Isolated):
        if value == rule:
            return cast(Isolated, rule)
    remedy = "'own' for their own preferred opinions, 'keep' for their last public ones"
    raise error(message("the rule for isolated agents must be 'own' or 'keep'", got=repr(value), remedy=remedy))


def chosen_labels(labels: Sequence[Label], positions: NDArray[Any]) -> Sequence[Label]:
    """Return the labels at some positions, as a column of a table."""
    # Positions are their own labels; a list of millions of Python integers would take long.
    return positions if isinstance(labels, range) else [labels[k] for k in positions.tolist()]  # type: ignore[return-value]
