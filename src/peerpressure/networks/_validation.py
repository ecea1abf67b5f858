"""How the networks say no: one shape of message, which names the first few offenders and counts the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import islice
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse

from peerpressure.errors import NetworkError, TooLargeError, message
from peerpressure.networks._connectivity import components, is_connected

SHOWN = 3  # offenders that a message names before it only counts them
SEARCHED = 10_000  # names among which a near match is looked for


def refusal(rule: str, *, got: object, remedy: str) -> NetworkError:
    """Return the error for a graph, a label or a parameter that breaks a rule."""
    return NetworkError(message(rule, got=got, remedy=remedy))


def few(items: Iterable[object], total: int) -> str:
    """Name the first few of many.

    >>> few(["a", "b", "c", "d"], total=9)
    'a, b, c and 6 more (9 in all)'
    """
    shown = [str(item) for item in islice(items, SHOWN)]
    rest = f" and {total - len(shown)} more ({total} in all)" if total > len(shown) else ""
    return ", ".join(shown) + rest


def nearest(wanted: object, known: Iterable[object]) -> str:
    """Return a question that offers the closest of the known names, or nothing.

    >>> nearest("karat", ["karate", "davis"])
    " (did you mean 'karate'?)"
    """
    by_text = {str(name).casefold(): name for name in islice(known, SEARCHED)}
    close = get_close_matches(str(wanted).casefold(), by_text, n=1)
    return f" (did you mean {by_text[close[0]]!r}?)" if close else ""


# Checks of the parameters that generators share.

BYTES_PER_EDGE = 150  # at the peak of building an adjacency: both directions, sorted and mirrored
SMALL = 1_000_000  # edges that fit anywhere, so that no memory is asked about


def whole(name: str, value: Any, *, least: int, remedy: str) -> int:
    """Return a whole number that is at least so large."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise refusal(f"{name} must be a whole number of at least {least}", got=repr(value), remedy=remedy)
    return int(value)


def generator(seed: Any) -> np.random.Generator:
    """Return the generator of random numbers that belongs to a seed."""
    remedy = "give for instance seed=1; the same seed gives the same network"
    return np.random.default_rng(whole("seed", seed, least=0, remedy=remedy))


def room_for(edges: float) -> None:
    """Raise when a graph of this many edges would not fit into the memory that is free."""
    if edges <= SMALL:
        return
    import psutil

    free = psutil.virtual_memory().available
    if edges * BYTES_PER_EDGE > free:
        need = edges * BYTES_PER_EDGE / 2**30
        got = f"{edges:.3g} edges, about {need:,.0f} GiB, with {free / 2**30:,.1f} GiB free"
        raise TooLargeError(message("a network must fit into memory", got=got, remedy="ask for fewer edges"))


# The names that users give to agents: checking them, and finding them again.

Label = Hashable


def checked_labels(labels: Iterable[Label] | None, n: int) -> Sequence[Label]:
    """Return one distinct label per agent: a tuple, or ``range(n)`` where the labels are just that."""
    if labels is None or (isinstance(labels, range) and labels == range(n)):
        return range(n)
    names = _plain(labels)
    if len(names) != n:
        got = f"{len(names)} labels for {n} agents"
        raise refusal("there must be one label per agent", got=got, remedy="give a label for every agent")
    repeated = [label for label, count in _counts(names).items() if count > 1]
    if repeated:
        got = f"repeated {few(map(repr, repeated), len(repeated))}"
        raise refusal("labels must differ", got=got, remedy="give every agent a label of its own")
    if all(type(label) is int and label == i for i, label in enumerate(names)):
        return range(n)
    return names


def _plain(labels: Iterable[Label]) -> tuple[Label, ...]:
    try:
        names = tuple(labels)
    except TypeError:
        raise refusal("labels must be a sequence", got=repr(labels), remedy="give a list of them") from None
    return tuple(name.item() if isinstance(name, np.generic) else name for name in names)


def _counts(names: tuple[Label, ...]) -> Mapping[Label, int]:
    try:
        return Counter(names)
    except TypeError as error:
        remedy = "use numbers, text or tuples of them"
        raise refusal("labels must be hashable", got=error, remedy=remedy) from None


def position_in_range(label: Label, n: int) -> int | None:
    """Return the position of a label among 0..n-1 without a table of a million entries."""
    try:
        i = index(label)  # type: ignore[arg-type]
    except TypeError:
        return None
    return int(i) if 0 <= i < n else None


def unknown(missing: Sequence[Label], known: Sequence[Label]) -> NetworkError:
    """Return the error for labels that nobody bears, with a near match for the first."""
    if isinstance(known, range):
        remedy = f"the labels are the index numbers 0 to {len(known) - 1}"
    else:
        remedy = f"the labels are {few(map(repr, known), len(known))}{nearest(missing[0], known)}"
    got = f"unknown {few(map(repr, missing), len(missing))}"
    return refusal("a label must name an agent of the network", got=got, remedy=remedy)


# What a network must be: every refusal names the offending agents by the users' own labels.

# One stray position, 10**12 say, must not reserve memory for all the agents below it.
MOST_ISOLATED = 10_000_000
SQUARE = "an adjacency must be a square matrix"


def square(adjacency: Any) -> Any:
    """Return the adjacency as a square sparse array of real numbers with two agents or more."""
    matrix: Any = adjacency if issparse(adjacency) else _dense(adjacency)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        remedy = "for pairs of agents use Network.from_edges, for a NetworkX graph Network.from_networkx"
        raise refusal(SQUARE, got=f"shape {matrix.shape}", remedy=remedy)
    if matrix.dtype.kind not in "biuf":
        got = f"dtype {matrix.dtype}"
        raise refusal("weights must be real numbers", got=got, remedy="convert the adjacency to float64")
    if matrix.shape[0] < 2:
        got = matrix.shape[0]
        raise refusal("a network needs at least 2 agents", got=got, remedy="the smallest network is k2()")
    if issparse(matrix) and matrix.shape[0] > max(MOST_ISOLATED, 2 * matrix.nnz):
        got = f"{matrix.shape[0]} agents with {matrix.nnz // 2} edges"
        raise refusal("most agents must have neighbours", got=got, remedy="number the agents without gaps")
    return matrix if issparse(matrix) else csr_array(matrix, dtype=np.float64)


def _dense(adjacency: Any) -> NDArray[Any]:
    try:
        return np.asarray(adjacency)
    except ValueError:
        raise refusal(SQUARE, got="rows of unequal length", remedy="give n rows of n weights") from None


def canonical(matrix: Any, labels: Sequence[Label]) -> csr_array:
    """Return a fresh symmetric CSR array: finite positive weights, no loops, sorted, no repeats.

    Repeated entries merge when they agree, and stored zeros are dropped.
    """
    entries = matrix if matrix.format == "csr" and matrix.has_canonical_format else matrix.tocoo()
    _refuse_weights(entries, labels)
    _refuse_loops(entries, labels)
    repeats = entries.format == "coo"
    adjacency = _merged(entries, labels) if repeats else csr_array(entries, dtype=np.float64, copy=True)
    adjacency.eliminate_zeros()
    _refuse_asymmetry(adjacency, labels)
    return _small_indices(adjacency)


def _refuse_weights(entries: Any, labels: Sequence[Label]) -> None:
    weights = entries.data
    finite = np.isfinite(weights)
    if not finite.all():
        rule, remedy = "weights must be finite", "remove those edges or give them a number"
        raise _bad_weights(entries, ~finite, labels, rule, remedy)
    if weights.size and weights.min() < 0:
        rule, remedy = "weights must not be negative", "the model has no repulsion; use weights above 0"
        raise _bad_weights(entries, weights < 0, labels, rule, remedy)
    with np.errstate(over="ignore"):
        total = weights.sum(dtype=np.float64)
    if not np.isfinite(total):
        raise refusal("the sum of all weights must be finite", got=total, remedy="divide them by the largest")


def _bad_weights(entries: Any, bad: NDArray[np.bool_], labels: Sequence[Label], rule: str, remedy: str) -> NetworkError:
    entries = entries.tocoo()
    rows, columns = (axis[bad].tolist() for axis in entries.coords)
    offenders = _undirected(zip(rows, columns, entries.data[bad].tolist(), strict=True))
    named = (f"{w!r} between {labels[i]!r} and {labels[j]!r}" for i, j, w in offenders)
    return refusal(rule, got=few(named, len(offenders)), remedy=remedy)


def _undirected(entries: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Keep the first of every two entries that are one edge seen from its two ends."""
    found: dict[frozenset[int], tuple[Any, ...]] = {}
    for entry in entries:
        found.setdefault(frozenset(entry[:2]), entry)
    return list(found.values())


def _refuse_loops(entries: Any, labels: Sequence[Label]) -> None:
    loops = np.flatnonzero(entries.diagonal())
    if loops.size:
        got = f"self-loops at {few((repr(labels[i]) for i in loops.tolist()), len(loops))}"
        remedy = "remove them; how far an agent holds to its own view is its stubbornness"
        raise refusal("an agent must not be its own neighbour", got=got, remedy=remedy)


def _merged(entries: coo_array, labels: Sequence[Label]) -> csr_array:
    """Return the entries as CSR, with repeats merged into one where their weights are equal."""
    entries = coo_array((entries.data.astype(np.float64), entries.coords), shape=entries.shape)
    summed = entries.tocsr()
    if summed.nnz == entries.nnz:
        return summed
    rows, columns = entries.coords
    order = np.lexsort((columns, rows))
    rows, columns, weights = rows[order], columns[order], entries.data[order]
    repeat = (rows[1:] == rows[:-1]) & (columns[1:] == columns[:-1])
    clash = np.flatnonzero(repeat & (weights[1:] != weights[:-1]))
    if clash.size:
        raise _conflict(rows[clash], columns[clash], weights[clash], weights[clash + 1], labels)
    first = np.concatenate([[True], ~repeat])
    return coo_array((weights[first], (rows[first], columns[first])), shape=entries.shape).tocsr()


def _conflict(
    rows: NDArray[Any],
    columns: NDArray[Any],
    some: NDArray[np.float64],
    other: NDArray[np.float64],
    labels: Sequence[Label],
) -> NetworkError:
    clashes = zip(rows.tolist(), columns.tolist(), some.tolist(), other.tolist(), strict=True)
    offenders = _undirected(clashes)
    named = (f"{labels[i]!r} and {labels[j]!r} with {a} and {b}" for i, j, a, b in offenders)
    return refusal(
        "an edge given more than once must keep one weight",
        got=few(named, len(offenders)),
        remedy="keep one of them, or add them up first",
    )


def _refuse_asymmetry(adjacency: csr_array, labels: Sequence[Label]) -> None:
    mirror = adjacency.T.tocsr()
    parts = ("indptr", "indices", "data")
    if all(np.array_equal(getattr(adjacency, part), getattr(mirror, part)) for part in parts):
        return
    gap = (adjacency - mirror).tocoo()
    rows, columns = (axis[gap.data > 0].tolist() for axis in gap.coords)
    named = (
        f"{labels[i]!r} to {labels[j]!r} {float(adjacency[i, j])!r} but back {float(adjacency[j, i])!r}"
        for i, j in zip(rows, columns, strict=True)
    )
    remedy = "symmetrise first, for instance with (A + A.T) / 2"
    raise refusal("weights must be symmetric", got=few(named, len(rows)), remedy=remedy)


def _small_indices(adjacency: csr_array) -> csr_array:
    # Half the memory traffic of 64-bit indices, and what every stepping kernel wants.
    if max(adjacency.nnz, adjacency.shape[0]) <= np.iinfo(np.int32).max:
        adjacency.indptr = adjacency.indptr.astype(np.int32, copy=False)
        adjacency.indices = adjacency.indices.astype(np.int32, copy=False)
    return adjacency


def refuse_disconnected(adjacency: csr_array, labels: Sequence[Label]) -> None:
    """Raise unless every agent has a neighbour and reaches every other agent."""
    remedy = "join them, or build with connected=False and take largest_component()"
    alone = np.flatnonzero(np.diff(adjacency.indptr) == 0)
    if alone.size:
        got = f"none for {few((repr(labels[i]) for i in alone.tolist()), len(alone))}"
        raise refusal("every agent must have a neighbour", got=got, remedy=remedy)
    if not is_connected(adjacency):
        count, member = components(adjacency)
        got = f"{count} components of sizes {few(np.sort(np.bincount(member))[::-1], count)}"
        raise refusal("a network must be connected", got=got, remedy=remedy)
