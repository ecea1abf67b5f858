"""How often the true model wins a comparison, how often chance is called pressure, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure import Network, compare
from peerpressure.networks import barabasi_albert
from peerpressure.recovery.rivals import FamilyFit

from .sections import Cell, Section, Table, Target
from .settings import QUICK, Settings

Array = NDArray[np.float64]
STD = 0.3
WEAK = 0.15
# Rivals of the confusion matrix; the other ones are theirs with adaptation.
RIVALS = (
    "none",
    "constant",
    "linear",
    "power",
    "pieces",
    "constant+adaptation",
    "linear+adaptation",
    "degroot",
    "walk",
    "var",
)
SIZES = ((10, 20), (10, 50), (30, 20), (30, 50))
PANELS = ((60, 3), (200, 3), (60, 5), (200, 5), (60, 10), (200, 10))
DATA_SETS, PANEL_SETS = 20, 200

TEXT = f"""\
Records are made by a plain loop on BA(n, 2) networks with σ = {STD:g}, hidden opinions uniform on [0, 1] and y₀ = x₀
not observed. *Right* is the share of data sets in which the true model has the largest weight among {len(RIVALS)}
rivals; the true pressure is 0.5, 0.1 t, 0.5 √t, or 0.2 that becomes 1 after a third of the record, and adaptation 0.05.
The autoregression is true where agents respond to other agents than those of the network.

*Size* is the share of records without pressure for which a model with neighbours has the largest weight among all
rivals. *Found* is that share where pressure is {WEAK:g}; *cover* the share of 95 % intervals of its fit that contain
it, and *opinions* that of the intervals of hidden opinions. With *likeness*, hidden opinions are smoothed over the
network, (1 + 3D⁻¹L)⁻¹ of white noise, and friends think alike before any influence; *far apart*, they are white with
standard deviation 1, and the first row under pressure tells little of them.
"""


class Truth(NamedTuple):
    """Pressure as a function of the step and of the last one, and the rate of adaptation."""

    pressure: Callable[[int, int], float] = lambda t, last: 0.0
    adaptation: float = 0.0


TRUTHS: Mapping[str, Truth] = {
    "none": Truth(),
    "constant": Truth(lambda t, last: 0.5),
    "linear": Truth(lambda t, last: 0.1 * t),
    "power": Truth(lambda t, last: 0.5 * t**0.5),
    "pieces": Truth(lambda t, last: 0.2 if t < last / 3 else 1.0),
    "constant+adaptation": Truth(lambda t, last: 0.5, 0.05),
    "linear+adaptation": Truth(lambda t, last: 0.1 * t, 0.05),
    "var": Truth(lambda t, last: 0.5),
}


def record(truth: str, network: Network, steps: int, seed: int) -> Array:
    """Return a record of y_1, …, y_T made by the model of a rival, (T, n)."""
    rng, n = np.random.default_rng(10_000 + seed), network.n
    A, d = network.adjacency.toarray(), network.degrees
    y = rng.random(n)
    if truth in ("walk", "degroot"):
        b = 0.5 * (truth == "degroot")
        return path(lambda y, t: (1 - b) * y + b * (A @ y) / d + 0.1 * rng.standard_normal(n), y, steps)
    if truth == "var":
        A = (rng.random((n, n)) < 4 / n) * (1.0 - np.eye(n))
    return family(A, y, steps, TRUTHS[truth], rng)


def family(A: Array, x: Array, steps: int, truth: Truth, rng: np.random.Generator, std: float = STD) -> Array:
    """Return a record of the family of the model that starts from its hidden opinions, (T, n)."""
    d, hidden = A.sum(axis=1), x.copy()

    def move(y: Array, t: int) -> Array:
        rho = truth.pressure(t, steps)
        after = (hidden + std * rng.standard_normal(x.size) + rho * (A @ y)) / (1 + rho * d)
        hidden[:] += truth.adaptation * (after - hidden)
        return np.asarray(after)

    return path(move, x, steps)


def path(move: Callable[[Array, int], Array], y: Array, steps: int) -> Array:
    """Return the states after 1, 2, … moves."""
    rows = []
    for t in range(1, steps + 1):
        y = move(y, t)
        rows.append(y)
    return np.array(rows)


def confusion(n: int, steps: int, data_sets: int) -> tuple[list[list[Cell]], float, float]:
    """Return a row for each truth: its share of right answers and its usual rival; the total share, and seconds."""
    rows: list[list[Cell]] = []
    right, begin = 0, time.process_time()
    for truth in RIVALS:
        chosen = [
            compare(record(truth, network, steps, seed), network, list(RIVALS)).best
            for seed in range(data_sets)
            for network in [barabasi_albert(n, 2, seed=seed)]
        ]
        others = [name for name in chosen if name != truth]
        usual = max(set(others), key=others.count) if others else None
        right += data_sets - len(others)
        rows.append([n, steps, truth, 1 - len(others) / data_sets, usual])
    total = len(RIVALS) * data_sets
    return rows, right / total, (time.process_time() - begin) / total


def opinions(kind: str, network: Network, rng: np.random.Generator) -> Array:
    """Return hidden opinions: uniform, far apart, or alike between friends."""
    white = rng.standard_normal(network.n)
    if kind == "likeness":
        mean = network.adjacency.toarray() / network.degrees[:, None]
        return np.asarray(np.linalg.solve(4 * np.eye(network.n) - 3 * mean, white))
    return white if kind == "far apart" else rng.random(network.n)


def short(n: int, waves: int, kind: str, data_sets: int) -> list[Cell]:
    """Return a row: the setting, size, share found, median and coverage of weak pressure, and coverage of opinions."""
    called = found = covered = 0
    inside, values = [], []
    for seed in range(data_sets):
        network, rng = barabasi_albert(n, 3, seed=seed), np.random.default_rng(950_000 + seed)
        A, x = network.adjacency.toarray(), opinions(kind, network, rng)
        called += compare(family(A, x, waves, Truth(), rng), network).fit.uses_network
        answer = compare(family(A, x, waves, Truth(lambda t, last: WEAK), rng), network)
        found += answer.fit.uses_network
        fit: Any = answer.fits["constant"]
        assert isinstance(fit, FamilyFit)
        table = fit.parameters
        values.append(table.value[0])
        covered += bool(table.low[0] <= WEAK <= table.high[0])
        value, std = fit.opinions
        inside.append(float(np.mean(np.abs(value - x) <= 1.96 * std)))
    size, share, cover = (count / data_sets for count in (called, found, covered))
    return [n, waves, kind, size, share, float(np.median(values)), cover, float(np.mean(inside))]


def timed(n: int, steps: int) -> list[Cell]:
    """Return a row: the size of a record, its rivals, and the processor time of their comparison."""
    network = barabasi_albert(n, 2, seed=1)
    rows = record("linear", network, steps + 1, 1)
    begin = time.process_time()
    answer = compare(rows, network)
    compared = time.process_time() - begin
    str(answer)
    return [n, steps, len(answer.fits), compared, time.process_time() - begin]


def measure(settings: Settings) -> Section:
    """Return the confusion of rivals, size and coverage of short panels, and the time of comparisons."""
    quick = settings is QUICK
    sizes, data_sets = (SIZES[:1], 1) if quick else (SIZES, DATA_SETS)
    panels, panel_sets = (PANELS[:1], 4) if quick else (PANELS, PANEL_SETS)
    parts = [confusion(n, steps, data_sets) for n, steps in sizes]
    totals: list[list[Cell]] = [
        [n, steps, share, seconds] for (n, steps), (_, share, seconds) in zip(sizes, parts, strict=True)
    ]
    shorts = [short(n, waves, kind, panel_sets) for n, waves in panels for kind in ("uniform", "far apart", "likeness")]
    times = [timed(n, steps) for n, steps in ([(30, 30)] if quick else [(100, 200), (1_000, 100), (200, 10)])]
    tables = [
        Table(f"Right among {len(RIVALS)} rivals", ("n", "T", "right", "s a comparison"), totals),
        Table("Right by truth", ("n", "T", "truth", "right", "else"), [row for rows, _, _ in parts for row in rows]),
        Table(
            f"Short panels, pressure 0 or {WEAK:g}",
            ("n", "waves", "opinions", "size", "found", "median", "cover", "opinions covered"),
            shorts,
        ),
        Table("Processor time in s", ("n", "T", "rivals", "comparison", "with sentences"), times),
    ]
    return Section("Comparison of models", TEXT, tables, _targets(shorts, times, quick=quick))


def _targets(shorts: list[list[Cell]], times: list[list[Cell]], *, quick: bool) -> list[Target]:
    size = max(float(row[3] or 0) for row in shorts)
    cover = min(float(row[6] or 0) for row in shorts)
    seconds = [None] * 3 if quick else [float(row[4] or 0) for row in times]
    return [
        Target("no pressure called pressure in short panels, at most", 0.07, size, at_least=False),
        Target("coverage of pressure in short panels", 0.93, cover),
        Target("100 agents, 200 steps", 20, seconds[0], " s", at_least=False),
        Target("1,000 agents, 100 steps", 180, seconds[1], " s", at_least=False),
        Target("200 agents, 10 steps", 20, seconds[2], " s", at_least=False),
    ]
