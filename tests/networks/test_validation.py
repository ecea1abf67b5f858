"""Invalid graphs and parameters raise errors that name rule, value and remedy."""

from __future__ import annotations

import inspect
import re
import tracemalloc
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pandas
import psutil
import pytest
import scipy.sparse as sp

from peerpressure.errors import NetworkError, TooLargeError
from peerpressure.networks import (
    GENERATORS,
    Network,
    barabasi_albert,
    cycle,
    erdos_renyi,
    grid,
    named,
    path,
    random_regular,
    star,
    watts_strogatz,
)

NAMES = ["ann", "bob", "cat"]
PATH = [[0.0, 1, 0], [1, 0, 1], [0, 1, 0]]
SPLIT = nx.Graph([("a", "b"), ("b", "c"), ("d", "e")])


def changed(*entries: tuple[int, int, float]) -> Any:
    matrix = np.array(PATH)
    for i, j, weight in entries:
        matrix[i, j] = weight
    return matrix


def edges(pairs: Any, *args: Any, **kwargs: Any) -> Callable[[], Network]:
    return lambda: Network.from_edges(pairs, *args, **kwargs)


def graph(source: Any) -> Callable[[], Network]:
    return lambda: Network.from_networkx(source)


def matrix(source: Any, labels: Any = None) -> Callable[[], Network]:
    return lambda: Network(source, labels)


CASES: dict[str, tuple[Callable[[], object], list[str]]] = {
    "not square": (matrix(np.ones((2, 3))), ["(2, 3)", "from_edges"]),
    "not a matrix": (matrix(SPLIT), ["square", "from_networkx"]),
    "ragged": (matrix([[0, 1], [1]]), ["unequal", "n rows"]),
    "complex": (matrix(np.eye(2, dtype=complex)), ["complex128", "float64"]),
    "one agent": (matrix([[0.0]]), ["at least 2 agents, got 1", "k2()"]),
    "no edges": (edges([]), ["at least 2 agents, got 0"]),
    "self-loop": (matrix(changed((1, 1, 1)), NAMES), ["1.0 between 'bob' and 'bob'", "remove"]),
    "asymmetric": (matrix(changed((0, 1, 2)), NAMES), ["'ann' to 'bob' 2.0 but back 1.0", "(A + A.T) / 2"]),
    "one way only": (
        matrix(changed((0, 1, 0)), NAMES),
        ["'bob' to 'ann' 1.0 but back 0.0", "a directed network keeps them"],
    ),
    "negative": (matrix(changed((0, 1, -1), (1, 0, -1)), NAMES), ["-1.0 between 'ann' and 'bob';", "above 0"]),
    "nan": (matrix(changed((0, 1, np.nan), (1, 0, np.nan)), NAMES), ["nan between 'ann' and 'bob'", "number"]),
    "infinite": (matrix(changed((1, 2, np.inf)), NAMES), ["inf between 'bob' and 'cat'"]),
    "overflowing sum": (edges([("a", "b"), ("b", "c")], [1e308, 1e308]), ["finite", "divide"]),
    "repeated label": (matrix(PATH, ["ann", "bob", "ann"]), ["repeated 'ann'", "label of its own"]),
    "too few labels": (matrix(PATH, ["ann"]), ["1 labels for 3 agents", "every agent"]),
    "label not hashable": (matrix(PATH, [[], [], []]), ["hashable", "tuples"]),
    "labels not a sequence": (matrix(PATH, 7), ["sequence, got 7"]),
    "conflict in edges": (
        edges([("a", "b"), ("b", "a")], [1, 2]),
        ["more than once", "'a' and 'b' with 1.0 and 2.0", "keep one"],
    ),
    "conflict in a matrix": (
        matrix(sp.coo_array(([1.0, 2, 3], ([0, 0, 1], [1, 1, 0])), shape=(2, 2)), ["x", "y"]),
        ["'x' and 'y' with 1.0 and 2.0"],
    ),
    "conflict in a multigraph": (
        graph(nx.MultiGraph([("a", "b", {"weight": 1}), ("a", "b", {"weight": 5})])),
        ["'a' and 'b' with 1.0 and 5.0"],
    ),
    "weight is text": (graph(nx.Graph([("a", "b", {"weight": "much"})])), ["'much' at ('a', 'b')", "numbers"]),
    "weights too few": (edges([("a", "b"), ("b", "c")], [1.0]), ["(1,) for 2 edges", "order"]),
    "edge of four": (
        edges([("a", "b"), ("a", "b", 2, 3)]),
        ["('a', 'b', 2, 3) at position 1", "(source, target, weight)"],
    ),
    "edge is text": (edges(["ab"]), ["'ab' at position 0"]),
    "three columns": (edges(np.ones((4, 3), dtype=int)), ["(4, 3)", "weights="]),
    "agents without end": (edges([(0, 1)], n=10**30), ["most agents must have neighbours", "gaps"]),
    "n is text": (edges([(0, 1)], n="2"), ["n must be a whole number", "got '2'"]),
    "no graph": (graph([(0, 1)]), ["NetworkX or igraph, got list", "from_edges"]),
    "none at all": (graph(None), ["NetworkX or igraph, got NoneType"]),
    "other names beside": (
        matrix(pandas.DataFrame(PATH, index=NAMES, columns=["ann", "bob", "dan"])),
        ["rows and columns must name the same agents", "'cat', 'dan' on one side only"],
    ),
    "a name twice": (matrix(pandas.DataFrame(PATH, columns=["a", "b", "a"])), ["repeated 'a'"]),
    "beyond rounding": (
        matrix(changed((0, 1, 1 + 1e-13)), NAMES),
        ["'ann' to 'bob' 1.0000000000001 but back 1.0", "(A + A.T) / 2"],
    ),
    "weak one way": (matrix(changed((0, 2, 1e-18)), NAMES), ["'ann' to 'cat' 1e-18 but back 0.0"]),
    "stray position": (edges(np.array([[0, 10**12]])), ["1000000000001 agents with 1 edges", "gaps"]),
    "unequal ends": (edges((np.arange(3), np.arange(2))), ["3 sources and 2 targets", "one length"]),
    "fractional positions": (edges(np.ones((4, 2))), ["float64", "astype(int)"]),
    "negative position": (edges(np.array([[0, -1]])), ["-1", "from 0"]),
    "position too high": (edges(np.array([[0, 5]]), n=3), ["0..2, got 5"]),
    "labels with n": (edges([("a", "b")], n=2), ["whole numbers, got 'a'", "leave n out"]),
    "end not among labels": (edges([("ann", "bo")], labels=NAMES), ["unknown 'bo'", "did you mean 'bob'?"]),
    "end not hashable": (edges([([], "b")]), ["hashable"]),
    "unknown label": (lambda: Network(PATH, NAMES).index("Bob"), ["unknown 'Bob'", "did you mean 'bob'?"]),
    "unknown number": (lambda: path(4).indices([1, 4, "x"]), ["unknown 4, 'x'", "0 to 3"]),
    "unhashable label": (lambda: Network(PATH, NAMES).index([]), ["unknown []"]),  # type: ignore[arg-type]
    "no such position": (lambda: path(4).neighbours(-1), ["0..3, got -1", "index(label)"]),
    "not a permutation": (lambda: path(3).permuted([0, 0, 1]), ["[0 0 1]", "relabelled"]),
    "stored parts missing": (lambda: Network.from_arrays({}), ["'weights'", "arrays()"]),
    "stored parts damaged": (
        lambda: Network.from_arrays({**path(3).arrays(), "indices": np.array([9, 9, 9, 9])}),
        ["indptr", "arrays()"],
    ),
    "stored labels damaged": (
        lambda: Network.from_arrays({**path(3).arrays(), "labels": np.array(["{"])}),
        ["JSON", "'{'"],
    ),
    "path of one": (lambda: path(1), ["n must be", "got 1", "2 agents"]),
    "path of a half": (lambda: path(2.5), ["got 2.5"]),  # type: ignore[arg-type]
    "path of True": (lambda: path(True), ["got True"]),
    "cycle of two": (lambda: cycle(2), ["at least 3, got 2"]),
    "star of one": (lambda: star(1), ["got 1"]),
    "grid of one": (lambda: grid(1, 1), ["columns", "got 1", "two agents"]),
    "no rows": (lambda: grid(0, 5), ["rows", "got 0"]),
    "p above 1": (lambda: erdos_renyi(9, 1.5, seed=1), ["probability, got 1.5", "0 to 1"]),
    "p not a number": (lambda: erdos_renyi(9, float("nan"), seed=1), ["probability, got nan"]),
    "too sparse": (
        lambda: erdos_renyi(100, 0.01, seed=1),
        ["n=100, p=0.01", "ln(n)/n = 0.0461", "set connected to false"],
    ),
    "odd k": (lambda: watts_strogatz(9, 3, 0.1, seed=1), ["even", "got 3", "either side"]),
    "k too large": (lambda: watts_strogatz(4, 4, 0.1, seed=1), ["below n = 4, got 4"]),
    "rewired apart": (lambda: watts_strogatz(400, 2, 1.0, seed=2), ["several components", "larger k"]),
    "m of zero": (lambda: barabasi_albert(9, 0, seed=1), ["m must be", "got 0", "at least one"]),
    "m too large": (lambda: barabasi_albert(9, 9, seed=1), ["below n = 9, got 9", "distinct"]),
    "seed not whole": (lambda: barabasi_albert(9, 2, seed=1.5), ["seed", "1.5"]),  # type: ignore[arg-type]
    "seed negative": (lambda: barabasi_albert(9, 2, seed=-1), ["seed", "-1", "a number such as 1"]),
    "odd ends": (lambda: random_regular(9, 3, seed=1), ["even", "got 3"]),
    "degree too large": (lambda: random_regular(4, 4, seed=1), ["below n = 4", "got 4"]),
    "unknown name": (lambda: named("karat"), ["'karat'", "les_miserables", "did you mean 'karate'?"]),
}


@pytest.mark.parametrize("name", CASES)
def test_invalid_input_raises(name: str) -> None:
    call, fragments = CASES[name]
    with pytest.raises(NetworkError) as caught:
        call()
    message = str(caught.value)
    assert re.search(r", got .+; ", message)
    for fragment in fragments:
        assert fragment in message


@pytest.mark.parametrize("size", [10**9, 10**400])
@pytest.mark.parametrize("name", sorted({*GENERATORS} - {"k2"}))
def test_too_large_networks_raise_before_they_are_built(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # 16 GiB, whatever machine this is.
    free = psutil.virtual_memory()._replace(available=2**34)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    generator = GENERATORS[name]
    sizes = {"n": size, "rows": size, "columns": 2, "m": 2, "k": 4, "degree": 4, "p": 0.1}
    arguments = {one.name: sizes[one.name] for one in generator.parameters if one.name in sizes}
    seed = {"seed": 1} if "seed" in inspect.signature(generator.build).parameters else {}
    tracemalloc.start()
    try:
        with pytest.raises(TooLargeError, match=r"edges must fit in memory, .* is free.*, got .*; ask for fewer edges"):
            generator.build(**arguments, **seed)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
