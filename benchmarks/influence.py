"""How often a comparison says that people respond where nobody does, and how often where they do."""

from __future__ import annotations

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
SIGNIFICANT = 0.05

TEXT = """\
Records are made by plain loops on Watts and Strogatz networks of degree 4. In the *nulls* nobody responds to anybody:
people keep their own level (none; with Student noise of two degrees of freedom), return to it (AR) or to one value,
share an autoregressive shock, an event or a trend, drift (walk, seen exactly or with errors), or give 40 % of their
answers once more; and friends who are alike in their level keep it or return to it. In the *truths* they respond:
constant pressure of 0.25 and 0.06, linear pressure of 0.05 t, constant pressure while opinions share a shock, and
DeGroot's average with a weight of 0.4. *Responds* is the share of records of which `compare` says so, which needs two
witnesses: a best model that uses the network, and the *placebo*, by which people dealt to other places tell less, at
0.05; its share is given as well. In the table of sizes, pressure is constant, and the mean of four neighbours has the
weight w = 4ρ/(1 + 4ρ) in each answer; *cover* is the share of 95 % intervals of `Comparison.weight` that contain w.
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


def repeated(loop: Loop, share: float) -> Array:
    """Return answers about own levels, some of which are the last ones once more."""
    return moves(loop, lambda y: np.where(loop.rng.random(y.size) < share, y, loop.x + loop.noise()))


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
    "repeats": lambda one: repeated(one, 0.4),
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
    """What a comparison says of a record."""

    verdict: str
    p_value: float


class Size(NamedTuple):
    """The weight that a comparison finds."""

    value: float
    covered: bool
    responds: bool


def record(n: int, rows: int, kind: str, seed: int) -> tuple[Network, Array]:
    """Return a network and a record of a kind, (rows, n)."""
    network, rng = watts_strogatz(n, 4, 0.2, seed=seed), np.random.default_rng(20_000 + seed)
    A = network.adjacency.toarray()
    loop = Loop(A / A.sum(axis=1, keepdims=True), A.sum(axis=1), rng.normal(0.5, 0.3, n), rng, rows)
    return network, ALL[kind](loop)


def answer(n: int, rows: int, kind: str, seed: int) -> Answer:
    """Return what a comparison says of a record."""
    network, states = record(n, rows, kind, seed)
    return answer_of(states, network)


def answer_of(states: Array, network: Network) -> Answer:
    """Return what a comparison says; rivals are fitted only where the placebo, which is fast, speaks."""
    p_value = compare(states, network, ["none"]).p_value_placebo or 1.0
    return Answer("silent" if p_value > SIGNIFICANT else compare(states, network).verdict, p_value)


def size(n: int, rows: int, w: float, noise: str, seed: int) -> Size:
    """Return the estimate of a weight, whether its interval holds it, and whether a response is found."""
    network, rng = watts_strogatz(n, 4, 0.2, seed=seed), np.random.default_rng(40_000 + seed)
    A = network.adjacency.toarray()
    loop = Loop(A / A.sum(axis=1, keepdims=True), A.sum(axis=1), rng.normal(0.5, 0.3, n), rng, rows)
    if noise == "t₂":
        loop = loop._replace(tails=2.0)
    states = pressed(loop, lambda t: w / (1 - w) / 4)
    found = compare(states, network, ["none"]).weight
    return Size(found.value, bool(found.low <= w <= found.high), answer_of(states, network).verdict == "responds")


def sizes_of(shapes: Sequence[tuple[int, int]], records: int, settings: Settings) -> list[list[Cell]]:
    """Return a row for each size of record, weight and noise: the share found, the mean estimate and the coverage."""
    cells = [(n, rows, w, noise) for n, rows in shapes for w in WEIGHTS for noise in NOISES]
    found = spread(size, [(*one, seed) for one in cells for seed in range(records)], settings)
    own = [found[k * records : (k + 1) * records] for k in range(len(cells))]
    return [
        [*one, records, share([size.responds for size in each]), float(np.mean([size.value for size in each])),
         share([size.covered for size in each])]
        for one, each in zip(cells, own, strict=True)
    ]  # fmt: skip


def measure(settings: Settings) -> Section:
    """Return how often a response is claimed, by size and kind of record, and how well its size is known."""
    sizes, data_sets = ((20, 20),) if settings.quick else SIZES, 2 if settings.quick else settings.records_or(DATA_SETS)
    items = [(n, rows, kind, seed) for n, rows in sizes for kind in ALL for seed in range(data_sets)]
    answers = dict(zip(items, spread(answer, items, settings), strict=True))
    own = {(n, T, kind): [answers[n, T, kind, seed] for seed in range(data_sets)] for n, T in sizes for kind in ALL}
    columns = ("n", "rows", "record", "records", "responds", "placebo")
    tables = [
        Table(caption, columns, [_row(key, found) for key, found in own.items() if key[2] in kinds])
        for caption, kinds in (("Nobody responds", NULLS), ("People respond", TRUTHS))
    ]
    covered = sizes_of(sizes, data_sets, settings)
    tables.append(Table("Size", ("n", "rows", "w", "noise", "records", "responds", "mean w", "cover"), covered))
    least = min(float(str(row[-1]).split()[0]) for row in covered)
    targets = [
        *_targets(own, quick=settings.quick),
        Target("coverage of the weight in longer records", 0.93, None if settings.quick else least),
    ]
    return Section("Influence", TEXT, tables, targets)


def _row(key: tuple[int, int, str], own: Sequence[Answer]) -> list[Cell]:
    placebo = share([one.p_value <= SIGNIFICANT for one in own])
    return [*key, len(own), share([one.verdict == "responds" for one in own]), placebo]


def _targets(own: Mapping[tuple[int, int, str], Sequence[Answer]], *, quick: bool) -> list[Target]:
    said = {key: float(np.mean([one.verdict == "responds" for one in found])) for key, found in own.items()}
    nulls = [rate for key, rate in said.items() if key[2] in NULLS]
    strong = [rate for key, rate in said.items() if key[2] in TRUTHS and key[2] != "constant 0.06"]
    return [
        Target("false claims, mean", 0.05, None if quick else float(np.mean(nulls)), at_least=False),
        Target("false claims, highest of a kind and size", 0.07, None if quick else max(nulls), at_least=False),
        Target("true claims under clear pressure, mean", 0.8, None if quick else float(np.mean(strong))),
    ]
