"""The memory that a run is charged for is the memory that it takes."""

from __future__ import annotations

import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from scipy.sparse import csr_array

import peerpressure as pp
from peerpressure.sde import Method
from peerpressure.simulation.engine import plan
from peerpressure.simulation.recording import Record, RunSize, as_record
from peerpressure.simulation.trajectory import replicate_numbers

N, FEW = 33_000, 64


@cache
def _weights(agents: int, *, directed: bool) -> Any:
    """Return the adjacency matrix of a cycle with further edges of all weights."""
    rng = np.random.default_rng(1)
    matrix = pp.networks.cycle(agents).adjacency.copy()
    matrix.data = np.ones(matrix.nnz)
    sources, targets = rng.integers(0, agents, (2, 3 * agents))
    edges = csr_array((rng.random(3 * agents), (sources, targets)), shape=(agents, agents))
    edges.setdiag(0)
    return (matrix + (abs(edges) if directed else abs(edges + edges.T))).tocsr()


@cache
def _events(agents: int) -> Any:
    """Return the edges of a cycle at step 1, and others that come later, as an array."""
    events = [(t, i, (i * 7 + t) % agents) for t in range(1, 40) for i in range(t, agents, 97)]
    start = [(1, i, (i + 1) % agents) for i in range(agents)]
    return np.array([row for row in sorted({*start, *events}) if row[1] != row[2]])


def _model(kind: str, agents: int) -> pp.Model | pp.SDE:
    """Return a model of its own for each call: layouts of a network are kept with it."""
    rng = np.random.default_rng(1)
    hidden = rng.random(agents)
    network: Any = pp.networks.cycle(agents)
    if kind in ("weighted", "directed"):
        network = pp.Network(_weights(agents, directed=kind == "directed"), directed=kind == "directed")
    if kind == "temporal":
        network = pp.networks.TemporalNetwork.from_events(_events(agents))
    noises: dict[str, Any] = {
        "ar1": pp.Gaussian(1.0, temporal=pp.AR1(0.5)),
        "frozen": pp.Gaussian(1.0, temporal="frozen"),
        "custom": pp.noise.Custom(stats.logistic()),
    }
    parts: dict[str, Any] = {
        "adaptation": {"adaptation": 0.1},
        "table": {"activation": rng.random((20, agents)) < 0.5},
        "chance": {"activation": 0.5},
    }
    model = pp.Model(network, hidden, noise=noises.get(kind, pp.Gaussian(1.0)), **parts.get(kind, {}))
    methods: dict[str, Method] = {"taylor": "taylor", "euler": "euler", "exact": "exact"}
    return pp.SDE(model, method=methods[kind]) if kind in methods else model


def _charged(system: pp.Model | pp.SDE, steps: int, replicates: Any, **how: Any) -> int:
    numbers = np.arange(replicates) if isinstance(replicates, int) else replicate_numbers(replicates)
    method = system.path_method if isinstance(system, pp.SDE) else None
    keep = how["record"] if isinstance(how["record"], Record) else as_record(how["record"])
    dtype = np.dtype(how.get("dtype", "float64"))
    return RunSize(system.model, steps, numbers, keep, dtype=dtype, threads=how["threads"], method=method).total()


def _taken(system: pp.Model | pp.SDE, steps: int, replicates: Any, **how: Any) -> int:
    tracemalloc.start()
    try:
        run = pp.simulate(system, steps, replicates, seed=1, **how)
        assert run.final.public.shape[-1] == system.model.n
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


REPLICATES: dict[str, Any] = {
    "one": 1,
    "narrow": 4,
    "padded": 5,
    "whole": 16,
    "rest": 34,
    "apart": range(0, 100, 8),
    "pairs": [0, 1, 7, 8, 20, 21, 40],
    "stretches": [*range(5), *range(10, 31)],
}
RECORDS: dict[str, Any] = {
    "final": "final",
    "summaries": "summaries",
    "all": "all",
    "some": Record(agents=[0, 5, 9], every=2),
}


def _check(kind: str, agents: int, steps: int, replicates: Any, **how: Any) -> None:
    # Few agents and steps before, because kernels that are loaded or compiled allocate as well.
    pp.simulate(_model(kind, min(agents, FEW)), 2, replicates, seed=1, **how)
    for _ in range(2):
        system = _model(kind, agents)
        charged, taken = _charged(system, steps, replicates, **how), _taken(system, steps, replicates, **how)
        # Many agents may need further kernels, which are there the second time.
        if taken <= charged + 100_000:
            break
    assert taken <= charged + 100_000, (kind, charged, taken)
    # Blocks copy a temporal network, and draws of a distribution of SciPy take room: it depends on the threads how many
    # do so at a time.
    assert charged <= (1.5 if kind in ("temporal", "custom") else 1.25) * taken + 650_000, (kind, charged, taken)


# Every layout of replicates in the shortest and in the longest record, and every record with and without padding.
LAYOUTS = [
    (one, record) for one in REPLICATES for record in RECORDS if record in ("final", "all") or one in ("one", "padded")
]


@pytest.mark.parametrize(("replicates", "record"), LAYOUTS)
def test_replicates_and_records(replicates: str, record: str) -> None:
    _check("plain", N, 3, REPLICATES[replicates], record=RECORDS[record], threads=2)


KINDS = [
    "weighted", "directed", "temporal", "adaptation", "ar1", "frozen", "custom", "taylor", "euler", "table", "chance",
]  # fmt: skip


@pytest.mark.parametrize(("replicates", "dtype"), [("one", "float32"), ("padded", "float64"), ("apart", "float32")])
@pytest.mark.parametrize("kind", KINDS)
def test_models(kind: str, replicates: str, dtype: str) -> None:
    _check(kind, N, 4, REPLICATES[replicates], record="summaries", threads=2, dtype=dtype)


@pytest.mark.parametrize(("record", "dtype"), [("final", "float64"), ("all", "float64"), ("summaries", "float32")])
def test_exact_paths(record: str, dtype: str) -> None:
    # Many replicates of few agents: the matrices of a step are charged as they are for any record.
    _check("exact", 12, 12, 1_300, record=RECORDS[record], threads=1, dtype=dtype)


@pytest.mark.parametrize("record", ["summaries", "all"])
def test_many_steps_of_few_agents(record: str) -> None:
    _check("plain", 10, 200_000, 2, record=RECORDS[record], threads=1)


def test_many_blocks_of_few_agents() -> None:
    # So many steps that threads share the blocks, each of which is a task of its own.
    _check("plain", 3, 60, range(0, 2_400, 2), record="final", threads=2)


def test_a_resumed_run_takes_no_more() -> None:
    system = _model("adaptation", N)
    start = pp.simulate(system, 2, 5, seed=1, record="final")
    pp.simulate(system, 3, record="final", threads=1, start=start)
    charged = _charged(system, 3, 5, record="final", threads=1)
    assert _taken(system, 3, None, record="final", threads=1, start=start) <= charged


@given(st.integers(1, 300), st.integers(1, 300_000), st.integers(1, 9))
def test_sizes_of_blocks_are_those_of_the_plan(replicates: int, agents: int, threads: int) -> None:
    planned = [*plan.plan_blocks(np.arange(7, 7 + replicates), agents, threads)]
    # One block after the other, as large as may be.
    layers, row = min(max(1, 2**16 // (16 * agents)), -(-replicates // (16 * threads))), 0
    for first, lanes, width, place in planned:
        rest = replicates - row
        narrow = rest <= 4 and (row == 0 or 16 * agents > 2**16)
        assert (first, place, width) == (7 + row, row, 1 if narrow else 16)
        assert lanes == min(max(1, 2**16 // agents) if narrow else 16 * layers, rest)
        row += lanes
    assert row == replicates


def test_replicates_that_are_apart_are_not_charged_for_padding() -> None:
    """125 replicates of a million agents with gaps between them have blocks of their own, which are not padded."""
    model = pp.Model(pp.networks.cycle(10**6), np.zeros(10**6), noise=pp.Gaussian(1.0))
    size = RunSize(model, 1, np.arange(0, 1000, 8), as_record("final"), threads=2)
    assert 3e9 < size.total() < 3.4e9
