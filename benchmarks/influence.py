"""How often a comparison says that people respond where nobody does, and how often where they do."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure import Network, compare
from peerpressure.networks import watts_strogatz

from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

Array = NDArray[np.float64]
SIZES = ((20, 20), (20, 60), (60, 8))
DATA_SETS = 200
# Weights of neighbours at four of them, and the noise of what people would say alone.
WEIGHTS, NOISES = (0.1, 0.2, 0.4), ("Gaussian", "t₂")
COVERED = 200

TEXT = """\
Records are made by plain loops on Watts and Strogatz networks of degree 4. In the *nulls* nobody responds to anybody:
people keep their own level (none; with Student noise of two degrees of freedom), return to it (AR) or to one value,
share an autoregressive shock, an event or a trend, or drift (walk, seen exactly or with errors); and friends who are
alike in their level keep it or return to it. In the *truths* they respond: constant pressure of 0.25 and 0.06, linear
pressure of 0.05 t, constant pressure while opinions share a shock, and DeGroot's average with a weight of 0.4.
*Responds* is the share of records of which `compare` says so, which needs both witnesses: *best* is the share in which
the best model uses the network, and *placebo* that in which people dealt to other places tell less, at 0.05. In the
table of sizes, pressure is constant, and the mean of four neighbours has the weight w = 4ρ/(1 + 4ρ) in each answer;
*cover* is the share of 95 % intervals of `Comparison.weight` that contain w.
"""


class Loop(NamedTuple):
    """One record: the means of neighbours (n, n), degrees, levels, draws, and the number of rows."""

    W: Array
    d: Array
    x: Array
    rng: np.random.Generator
    rows: int
    tails: float = np.inf  # degrees of freedom of Student's noise

    def noise(self, std: float = 0.3) -> Array:
        """Return a draw for each person."""
        if np.isfinite(self.tails):
            return std * self.rng.standard_t(self.tails, size=self.x.size)
        return std * self.rng.normal(size=self.x.size)

    def alike(self, strength: float) -> Array:
        """Return levels that are smooth over the network."""
        n = self.x.size
        z = np.linalg.solve(np.eye(n) + strength * (np.eye(n) - self.W), self.rng.normal(size=n))
        return np.asarray(0.5 + 0.3 * (z - z.mean()) / z.std())


def levels(loop: Loop, x: Array, memory: float = 0.0, shared: Callable[[int], float] = lambda t: 0.0) -> Array:
    """Return answers about levels, with errors of a memory, and with what all share."""
    u, rows = loop.rng.normal(size=x.size), []
    for t in range(1, loop.rows + 1):
        u = memory * u + np.sqrt(1 - memory**2) * loop.rng.normal(size=x.size)
        rows.append(x + 0.3 * u + shared(t))
    return np.array(rows)


def moves(loop: Loop, move: Callable[[Array], Array]) -> Array:
    """Return answers each of which follows from the last ones."""
    y, rows = loop.x + loop.noise(), []
    for _ in range(loop.rows):
        y = move(y)
        rows.append(y)
    return np.array(rows)


def pressed(loop: Loop, pressure: Callable[[int], float], shared: Callable[[int], float] = lambda t: 0.0) -> Array:
    """Return answers under peer pressure about constant opinions, and what moves these alike."""
    y, rows = loop.x + loop.noise(), []
    for t in range(1, loop.rows + 1):
        own = 1 / (1 + pressure(t) * loop.d)
        y = own * (loop.x + shared(t) + loop.noise()) + (1 - own) * (loop.W @ y)
        rows.append(y)
    return np.array(rows)


def shock(loop: Loop) -> Callable[[int], float]:
    """Return a shock that all share and that passes."""
    path = [0.0]
    for draw in loop.rng.normal(size=loop.rows):
        path.append(0.8 * path[-1] + 0.6 * float(draw))
    return lambda t: 0.3 * path[t]


def drift_with_errors(loop: Loop) -> Array:
    """Return random walks that are seen with errors."""
    walks = np.cumsum(0.03 * loop.rng.normal(size=(loop.rows, loop.x.size)), axis=0)
    return loop.x + walks + 0.3 * loop.rng.normal(size=walks.shape)


NULLS: Mapping[str, Callable[[Loop], Array]] = {
    "none": lambda one: levels(one, one.x),
    "Student t₂": lambda one: one.x + 0.3 * one.rng.standard_t(2, size=(one.rows, one.x.size)),
    "AR about own level": lambda one: levels(one, one.x, 0.6),
    "return to one value": lambda one: moves(one, lambda y: 0.5 + 0.7 * (y - 0.5) + one.noise(0.2)),
    "shared shock": lambda one: levels(one, one.x, shared=shock(one)),
    "shared event": lambda one: levels(one, one.x, shared=lambda t: 0.8 * (t > one.rows / 2)),
    "shared trend": lambda one: levels(one, one.x, shared=lambda t: 0.03 * t),
    "walk": lambda one: moves(one, lambda y: y + one.noise(0.2)),
    "walk with errors": drift_with_errors,
    "alike": lambda one: levels(one, one.alike(2.0)),
    "alike, AR": lambda one: levels(one, one.alike(2.0), 0.6),
    "very alike, AR": lambda one: levels(one, one.alike(6.0), 0.6),
}
TRUTHS: Mapping[str, Callable[[Loop], Array]] = {
    "constant 0.25": lambda one: pressed(one, lambda t: 0.25),
    "constant 0.06": lambda one: pressed(one, lambda t: 0.06),
    "linear 0.05 t": lambda one: pressed(one, lambda t: 0.05 * t),
    "constant 0.25, shared shock": lambda one: pressed(one, lambda t: 0.25, shock(one)),
    "DeGroot 0.4": lambda one: moves(one, lambda y: 0.6 * y + 0.4 * (one.W @ y) + one.noise(0.1)),
}
ALL = {**NULLS, **TRUTHS}


class Answer(NamedTuple):
    """What a comparison said of a record, and the processor time."""

    verdict: str
    best: str
    uses_network: bool
    p_value: float
    seconds: float


def record(n: int, rows: int, kind: str, seed: int) -> tuple[Network, Array]:
    """Return a network and a record of a kind, (rows, n)."""
    network, rng = watts_strogatz(n, 4, 0.2, seed=seed), np.random.default_rng(20_000 + seed)
    A = network.adjacency.toarray()
    loop = Loop(A / A.sum(axis=1, keepdims=True), A.sum(axis=1), rng.normal(0.5, 0.3, n), rng, rows)
    return network, ALL[kind](loop)


def answer(n: int, rows: int, kind: str, seed: int) -> Answer:
    """Return what a comparison says of a record."""
    network, states = record(n, rows, kind, seed)
    begin = time.process_time()
    found = compare(states, network)
    p_value = 1.0 if found.p_value_placebo is None else found.p_value_placebo
    return Answer(found.verdict, found.best, found.fit.uses_network, p_value, time.process_time() - begin)


def size(n: int, rows: int, w: float, noise: str, seed: int) -> tuple[float, bool]:
    """Return the estimate of a weight, and whether its interval holds it."""
    network, rng = watts_strogatz(n, 4, 0.2, seed=seed), np.random.default_rng(40_000 + seed)
    A = network.adjacency.toarray()
    loop = Loop(A / A.sum(axis=1, keepdims=True), A.sum(axis=1), rng.normal(0.5, 0.3, n), rng, rows)
    if noise == "t₂":
        loop = loop._replace(tails=2.0)
    found = compare(pressed(loop, lambda t: w / (1 - w) / 4), network, ["none", "constant"]).weight
    return found.value, bool(found.low <= w <= found.high)


def sizes_of(shapes: Sequence[tuple[int, int]], records: int, settings: Settings) -> list[list[Cell]]:
    """Return a row for each size of record, weight and noise: the mean estimate and the coverage."""
    cells = [(n, rows, w, noise) for n, rows in shapes for w in WEIGHTS for noise in NOISES]
    found = spread(size, [(*one, seed) for one in cells for seed in range(records)], settings)
    own = [found[k * records : (k + 1) * records] for k in range(len(cells))]
    return [
        [*one, records, float(np.mean([value for value, _ in each])), share([held for _, held in each])]
        for one, each in zip(cells, own, strict=True)
    ]


def measure(settings: Settings) -> Section:
    """Return how often each verdict is given, by size and kind of record."""
    sizes, data_sets = ((20, 20),) if settings.quick else SIZES, 2 if settings.quick else settings.records_or(DATA_SETS)
    items = [(n, rows, kind, seed) for n, rows in sizes for kind in ALL for seed in range(data_sets)]
    answers = dict(zip(items, spread(answer, items, settings), strict=True))
    rows = {(n, T, kind): [answers[n, T, kind, seed] for seed in range(data_sets)] for n, T in sizes for kind in ALL}
    columns = ("n", "rows", "record", "responds", "no response", "cannot tell", "best", "placebo", "s a record")
    tables = [
        Table(caption, columns, [_row(key, own) for key, own in rows.items() if key[2] in kinds])
        for caption, kinds in (("Nobody responds", NULLS), ("People respond", TRUTHS))
    ]
    covered = sizes_of(sizes, 2 if settings.quick else settings.records_or(COVERED), settings)
    tables.append(Table("Size", ("n", "rows", "w", "noise", "records", "mean w", "cover"), covered))
    targets = _targets(rows, quick=settings.quick)
    least = min(float(str(row[-1]).split()[0]) for row in covered)
    targets.append(Target("coverage of the weight, least of a size", 0.93, None if settings.quick else least))
    return Section("Influence", TEXT, tables, targets)


def _row(key: tuple[int, int, str], own: Sequence[Answer]) -> list[Cell]:
    verdicts = [
        share([one.verdict == verdict for one in own]) for verdict in ("responds", "no response", "cannot tell")
    ]
    witnesses = [share([one.uses_network for one in own]), share([one.p_value <= 0.05 for one in own])]
    return [*key, *verdicts, *witnesses, float(np.mean([one.seconds for one in own]))]


def _targets(rows: Mapping[tuple[int, int, str], Sequence[Answer]], *, quick: bool) -> list[Target]:
    said = {key: float(np.mean([one.verdict == "responds" for one in own])) for key, own in rows.items()}
    nulls = [rate for key, rate in said.items() if key[2] in NULLS]
    strong = [rate for key, rate in said.items() if key[2] in TRUTHS and key[2] != "constant 0.06"]
    return [
        Target("false claims, mean", 0.05, None if quick else float(np.mean(nulls)), at_least=False),
        Target("false claims, highest of a kind and size", 0.07, None if quick else max(nulls), at_least=False),
        Target("true claims under clear pressure, mean", 0.8, None if quick else float(np.mean(strong))),
    ]
