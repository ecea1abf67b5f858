"""Adjacency matrices: from edges, data frames, graphs and stored arrays."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array

from peerpressure.errors import NetworkError, first_few
from peerpressure.networks._edge_lists import edges_from_frame
from peerpressure.networks.validation import (
    Label,
    check_agents,
    check_attribute,
    check_integer,
    is_frame,
    unknown_labels,
    validate_labels,
)
from peerpressure.support.parameters import composed, merged_forms

Edges = Iterable[tuple[Any, ...]] | tuple[list[Any], list[Any]] | tuple[NDArray[Any], NDArray[Any]] | NDArray[Any] | Any
GraphParts = tuple[Sequence[Label], list[tuple[int, int]], list[Any] | None]  # labels, ends by position, weights
Located = tuple[NDArray[Any], NDArray[Any], Sequence[Label]]

PAIRS = "give (source, target) or (source, target, weight)"
COLUMNS = "give sources and targets, and the third column as weights=..."


# Edges and graphs


def reverses(direction: object, *, directed: bool) -> bool:
    """Return whether the target of an edge listens to its source, and not the other way round."""
    if direction not in ("listens", "influences"):
        remedy = "'listens' if the source of an edge listens to its target, 'influences' if it influences it"
        raise NetworkError("the direction must be 'listens' or 'influences'", got=repr(direction), remedy=remedy)
    if direction == "influences" and not directed:
        # It would have no effect, where the caller expects one.
        rule = "only directed edges have a direction"
        raise NetworkError(rule, got="'influences' for an undirected network", remedy="set directed to true")
    return direction == "influences"


def adjacency_from_edges(
    edges: Edges, weights: ArrayLike | None, labels: Iterable[Label] | None, n: int | None, *, directed: bool
) -> tuple[coo_array, Sequence[Label]]:
    """Return the adjacency, repeats kept, and the labels of its rows; with both directions unless ``directed``."""
    own: Any = None
    if is_frame(edges):
        *ends, own = edges_from_frame(edges, directed=directed)
        edges = (ends[0], ends[1])
    elif not _is_array(edges):
        edges, own = _unzipped(edges)
    if own is not None and weights is not None:
        rule, remedy = "weights must be given once", "drop those of the edges, or leave weights out"
        raise NetworkError(rule, got="some with the edges and some as an argument", remedy=remedy)
    sources, targets = _ends(edges)
    values = edge_weights(weights if own is None else own, range(len(sources)))
    if isinstance(sources, np.ndarray):
        i, j, names = _by_position(sources, targets, labels, n)
    elif n is not None:
        i, j, names = _by_position(_integers(sources), _integers(targets), labels, n)
    else:
        i, j, names = _by_label(sources, targets, labels)
    if directed:
        return coo_array((values, (i, j)), shape=(len(names), len(names))), names
    # Both directions are written; the validation then merges repeats and finds conflicts.
    rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
    return coo_array((np.tile(values, 2), (rows, columns)), shape=(len(names), len(names))), names


def adjacency_from_graph(graph: Any, weight: str | None) -> tuple[coo_array, Sequence[Label]]:
    """Return the adjacency of a NetworkX or igraph graph, parallel edges kept, and its nodes."""
    if not is_graph(graph):
        remedy = "for a matrix use Network, for pairs Network.from_edges"
        raise NetworkError("a graph must be one of NetworkX or igraph", got=type(graph).__name__, remedy=remedy)
    names, ends, given = (_igraph_parts if _is_igraph(graph) else _networkx_parts)(graph, weight)
    labels = validate_labels(names, len(names))
    if given is None:
        # Parallel edges without weights have nothing to lose.
        ends = list(dict.fromkeys(ends))
    # The shape (0, 2) of a graph without edges would otherwise be (0,), which has no two columns.
    i, j = np.array(ends, dtype=np.int64).reshape(-1, 2).T
    values = edge_weights(given, [(labels[a], labels[b]) for a, b in ends] if given is not None else ends)
    # A directed graph lists both directions itself.
    if not graph.is_directed():
        i, j, values = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(values, 2)
    return coo_array((values, (i, j)), shape=(len(labels), len(labels))), labels


def is_graph(value: Any) -> bool:
    """Return whether a value is a graph of NetworkX or igraph, by its methods: neither package need be installed."""
    return _is_igraph(value) or all(hasattr(value, part) for part in ("nodes", "edges", "is_directed"))


def _is_igraph(value: Any) -> bool:
    return all(hasattr(value, part) for part in ("vs", "es", "get_edgelist", "is_directed"))


def _networkx_parts(graph: Any, weight: str | None) -> GraphParts:
    labels = tuple(graph.nodes)
    place = {label: i for i, label in enumerate(labels)}
    ends = [(place[source], place[target]) for source, target in graph.edges()]
    if ends and weight not in (None, "weight"):
        check_attribute(weight, list(dict.fromkeys(name for *_, data in graph.edges(data=True) for name in data)))
    return labels, ends, None if weight is None else [value for *_, value in graph.edges(data=weight, default=1)]


def _igraph_parts(graph: Any, weight: str | None) -> GraphParts:
    named = "name" in graph.vs.attributes()
    if weight not in (None, "weight"):
        check_attribute(weight, graph.es.attributes())
    labels: Sequence[Label] = tuple(graph.vs["name"]) if named else range(len(graph.vs))
    given = graph.es[weight] if weight is not None and weight in graph.es.attributes() else None
    # igraph fills attributes that some edges lack with None.
    weights = None if given is None else [1 if one is None else one for one in given]
    return labels, graph.get_edgelist(), weights


def edge_weights(weights: ArrayLike | None, edges: Sequence[object]) -> NDArray[np.float64]:
    """Return one float per edge, 1 if no weights are given; the edges only serve to name offenders."""
    if weights is None:
        return np.ones(len(edges))
    try:
        values = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        # The whole conversion failed; the weights are converted one by one only to name the offenders.
        pairs = zip(np.ravel(np.array(weights, dtype=object)), edges, strict=False)
        bad = [f"{weight!r} at {edge!r}" for weight, edge in pairs if not _is_number(weight)]
        got = first_few(bad, len(bad))
        raise NetworkError("weights must be real numbers", got=got, remedy="give numbers above 0") from None
    if values.shape != (len(edges),):
        got = f"shape {values.shape} for {len(edges)} edges"
        raise NetworkError("there must be one weight per edge", got=got, remedy="list them in the edges' order")
    return values


def _is_number(weight: Any) -> bool:
    try:
        float(weight)
    except (TypeError, ValueError):
        return False
    return True


def _is_array(edges: Any) -> bool:
    """Return whether edges are an array, or two lists or arrays in a tuple; a list of two lists is two edges."""
    pair = isinstance(edges, tuple) and len(edges) == 2 and all(isinstance(e, np.ndarray | list) for e in edges)
    return pair or isinstance(edges, np.ndarray)


def _ends(edges: Any) -> tuple[Any, Any]:
    """Return sources and targets: integer arrays (positions of agents) or lists (labels)."""
    if isinstance(edges, np.ndarray):
        if edges.ndim != 2 or edges.shape[1] != 2:
            raise NetworkError("edges must come in two columns", got=f"shape {edges.shape}", remedy=COLUMNS)
        edges = (edges[:, 0], edges[:, 1])
    sources, targets = edges
    # A tuple of two arrays of shape (m, 2) would otherwise pass as sources and targets.
    flat = all(ends.ndim == 1 for ends in (sources, targets) if isinstance(ends, np.ndarray))
    if not flat or len(sources) != len(targets):
        got = f"{len(sources)} sources and {len(targets)} targets"
        raise NetworkError("every edge must have two ends", got=got, remedy="give two flat arrays of one length")
    if all(isinstance(ends, np.ndarray) and ends.dtype.kind in "iu" for ends in (sources, targets)):
        return sources, targets
    return _labels_of(sources), _labels_of(targets)


def _unzipped(edges: Iterable[Any]) -> tuple[tuple[list[Label], list[Label]], list[Any] | None]:
    """Return the ends of edges, and their weights if one of them has a weight; the others count 1, as in NetworkX."""
    edges = list(edges)
    for k, edge in enumerate(edges):
        # Text of length 2 also unpacks into two, but "ab" is one label and no edge.
        if not isinstance(edge, tuple | list | np.ndarray) or len(edge) not in (2, 3):
            raise NetworkError("an edge must be two agents", got=f"{edge!r} at position {k}", remedy=PAIRS)
    ends = [edge[0] for edge in edges], [edge[1] for edge in edges]
    weighted = any(len(edge) == 3 for edge in edges)
    return ends, [_weight(edge[2]) if len(edge) == 3 else 1 for edge in edges] if weighted else None


def _weight(third: Any) -> Any:
    """Return the third part of an edge as its weight; NetworkX lists a dictionary of attributes there."""
    return third.get("weight", 1) if isinstance(third, Mapping) else third


def _labels_of(ends: NDArray[Any] | list[Label]) -> list[Label]:
    if isinstance(ends, np.ndarray) and ends.dtype.kind == "f":
        # Floats in an array are most likely positions that lost their integer type; as labels, 0.1 + 0.2 and 0.3 would
        # differ.
        got = f"dtype {ends.dtype}"
        raise NetworkError("arrays of edges must hold whole numbers", got=got, remedy="use .astype(int)")
    return ends.tolist() if isinstance(ends, np.ndarray) else ends


def _integers(ends: list[Label]) -> NDArray[Any]:
    if not all(isinstance(end, int | np.integer) for end in ends):
        got = first_few(map(repr, ends), len(ends))
        raise NetworkError("with n=... edges must be pairs of whole numbers", got=got, remedy="leave n out")
    return np.array(ends, dtype=np.int64)


def _by_position(
    sources: NDArray[Any], targets: NDArray[Any], labels: Iterable[Label] | None, n: int | None
) -> Located:
    names = None if labels is None else tuple(labels)
    # Extremes suffice to check all positions without a mask of their size.
    lowest = int(min(sources.min(), targets.min())) if sources.size else 0
    highest = int(max(sources.max(), targets.max())) if sources.size else -1
    if n is None:
        n = highest + 1 if names is None else len(names)
    else:
        check_integer("n", n, least=0, remedy="count the agents")
    if lowest < 0 or highest >= n:
        got = lowest if lowest < 0 else highest
        remedy = "count agents from 0, or give a list of pairs of labels"
        raise NetworkError(f"positions of agents must lie in 0..{n - 1}", got=got, remedy=remedy)
    check_agents(n, sources.size)
    return sources, targets, validate_labels(names, n)


def _by_label(sources: list[Label], targets: list[Label], labels: Iterable[Label] | None) -> Located:
    try:
        mentioned = dict.fromkeys(end for pair in zip(sources, targets, strict=True) for end in pair)
    except TypeError as error:
        remedy = "use numbers, text or tuples of them"
        raise NetworkError("labels must be hashable", got=error, remedy=remedy) from None
    form = {end: composed(end) for end in mentioned}
    if (merged := merged_forms(mentioned)) is not None:
        warnings.warn(merged, stacklevel=2)
    mentioned = dict.fromkeys(form.values())
    given = tuple(_sorted_if_integers(mentioned) if labels is None else labels)
    names = validate_labels(given, len(given))
    # Labels that are given must cover all edges; others would be dropped silently.
    place = {label: i for i, label in enumerate(names)}
    missing = [end for end in mentioned if end not in place]
    if missing:
        raise unknown_labels(missing, names)
    i, j = (np.fromiter((place[form[end]] for end in ends), np.int64, len(ends)) for ends in (sources, targets))
    return i, j, names


def _sorted_if_integers(labels: Iterable[Label]) -> list[Any]:
    """Return labels in increasing order if all are integers, else in the given order."""
    # Sorted integers do not depend on the order of the edges in a file.
    names: list[Any] = list(labels)
    return sorted(names) if all(isinstance(name, int | np.integer) for name in names) else names


# Storage as plain arrays, without pickle


def adjacency_from_arrays(arrays: Mapping[str, Any]) -> tuple[csr_array, list[Label] | None]:
    """Return the adjacency and the labels from the arrays that ``Network.arrays`` returns."""
    try:
        # Copies, because the caller may change the arrays later.
        weights, indices, indptr = (np.array(arrays[part]) for part in ("weights", "indices", "indptr"))
        matrix = csr_array((weights, indices, indptr), shape=(len(indptr) - 1,) * 2)
        # Compiled kernels do not check bounds, so damaged indices must not reach them.
        matrix.check_format(full_check=True)
        return matrix, labels_from_json(np.asarray(arrays["labels"]))
    except NetworkError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        rule = "a stored network must hold fitting indptr, indices, weights and labels"
        raise NetworkError(rule, got=repr(error), remedy="store what network.arrays() returns") from None


def labels_to_json(labels: Sequence[Label]) -> NDArray[np.str_]:
    """Return the labels as one JSON text each; the default labels 0..n-1 become an empty array.

    >>> labels_to_json(["ann", 3, (0, 1)]).tolist()
    ['"ann"', '3', '[0, 1]']
    """
    # A million default labels need no text.
    if isinstance(labels, range):
        return np.array([], dtype=np.str_)
    return np.array([_json(label) for label in labels], dtype=np.str_)


def _json(label: Label) -> str:
    try:
        return json.dumps(label)
    except (TypeError, ValueError):
        rule = "labels that are stored must be numbers, text or tuples of them"
        remedy = "rename the agents with network.relabelled(...)"
        raise NetworkError(rule, got=repr(label), remedy=remedy) from None


def labels_from_json(texts: NDArray[np.str_]) -> list[Label] | None:
    """Return the labels that ``labels_to_json`` encoded; None stands for the default labels."""
    try:
        return [_tupled(json.loads(str(text))) for text in np.ravel(texts)] or None
    except (ValueError, RecursionError):
        got = first_few(map(repr, np.ravel(texts).tolist()), np.size(texts))
        raise NetworkError("stored labels must be JSON", got=got, remedy="store network.arrays()") from None


def _tupled(value: object) -> Label:
    # JSON has no tuples, and lists are not hashable: every list was a tuple.
    return tuple(_tupled(item) for item in value) if isinstance(value, list) else value
