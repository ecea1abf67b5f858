"""Layouts of a network in memory, and the order in which neighbours are summed, change no bit of a result."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.sparse import coo_array

import peerpressure as pp
from peerpressure import Network
from peerpressure.networks import barabasi_albert, cycle
from peerpressure.simulation.engine import plan, runner
from peerpressure.simulation.engine.blocking import blocks_of
from peerpressure.simulation.engine.layout import graph_of
from peerpressure.simulation.engine.plan import BLOCK, CHUNK, is_scattered

AGENTS = BLOCK + CHUNK + 13  # two blocks, the last chunk neither full nor made of whole slices


@cache
def _network(kind: str, number: int) -> Network:
    """Return a network of its own for each number: layouts are kept with it."""
    if kind == "uniform":
        return barabasi_albert(AGENTS, 2, seed=1)
    edges, rng = barabasi_albert(AGENTS, 3, seed=2).adjacency.tocoo(), np.random.default_rng(1)
    # One direction of each edge, of which agent 5 has none; or some of both directions.
    kept = rng.random(edges.nnz) < 0.7 if kind == "directed" else (edges.row < edges.col) & (edges.row != 5)
    ends = edges.row[kept], edges.col[kept]
    matrix = coo_array((rng.uniform(0.5, 2.0, kept.sum()), ends), (AGENTS, AGENTS))
    return Network(matrix, directed=True) if kind == "directed" else Network(matrix + matrix.T)


def _model(kind: str, number: int = 0) -> pp.Model:
    return pp.Model(_network(kind, number), hidden=np.linspace(-1.0, 1.0, AGENTS), noise=pp.Gaussian(0.3))


@pytest.mark.parametrize("kind", ["uniform", "weighted", "directed"])
def test_one_replicate_has_the_bits_of_a_block(kind: str) -> None:
    model = _model(kind)
    block = pp.simulate(model, 3, 16, seed=4, record="final").final.public
    assert (pp.simulate(model, 3, 1, seed=4, record="final").final.public[0] == block[0]).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["uniform", "weighted", "directed"])
def test_sums_in_blocks_have_the_bits_of_the_plain_loop(
    kind: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = pp.simulate(_model(kind), 3, 2, seed=4, record="summaries")
    model = _model(kind, 1)
    monkeypatch.setattr(plan, "CACHE", 0)
    monkeypatch.setattr(plan, "_SCATTERED", -1.0)
    monkeypatch.setattr(runner, "_SPLIT_FROM", 0)
    monkeypatch.setattr(runner, "_THREADS_FROM", 0)
    blocked = pp.simulate(model, 3, 2, seed=4, record="summaries", threads=threads)
    assert (plain.final.public == blocked.final.public).all()
    assert plain.mean is not None
    assert blocked.mean is not None
    assert (plain.mean == blocked.mean).all()
    assert graph_of(model.network, np.dtype(float), narrow=True)[1] is not None


def test_edges_are_sorted_by_block_and_source() -> None:
    n = BLOCK + 40
    matrix = cycle(n).adjacency
    edges = blocks_of(matrix, np.ones(1), np.uint64(0), directed=False)
    # Of a cycle, two edges lead from each block to the other one.
    assert np.diff(edges.segments, axis=1).tolist() == [[2 * BLOCK - 2, 2], [2, 78]]
    sources = edges.sources.astype(int)
    for begin, end in ((0, 2 * BLOCK - 2), (2 * BLOCK + 2, 2 * n)):
        assert (np.diff(sources[begin:end]) >= 0).all()


def test_only_large_networks_of_distant_neighbours_are_summed_in_blocks() -> None:
    local, n = cycle(2**18).adjacency, 2**18
    distant = local[np.random.default_rng(1).permutation(n)]
    assert not is_scattered(local, 2**10)
    assert is_scattered(distant, 2**10)
    assert not is_scattered(distant, 8)


@pytest.mark.parametrize(("threads", "unit"), [(1, 1024), (2, 1024), (3, 16)])
def test_threads_get_whole_units_of_equal_work(threads: int, unit: int) -> None:
    network = barabasi_albert(10_000, 2, seed=1)
    graph, _ = graph_of(network, np.dtype(float), narrow=False)
    ranges = runner.equal_parts(graph.starts, threads, unit)
    cuts = [begin for begin, _ in ranges]
    assert cuts[0] == 0
    assert [end for _, end in ranges] == [*cuts[1:], network.n]
    assert all(cut % unit == 0 for cut in cuts)
    work = [3 * (end - begin) + int(graph.starts[end]) - int(graph.starts[begin]) for begin, end in ranges]
    assert max(work) - min(work) <= 2 * 7 * unit
