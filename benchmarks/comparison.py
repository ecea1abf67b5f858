"""How often the true model wins a comparison, and how long it takes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from peerpressure import Network, compare
from peerpressure.networks import barabasi_albert

from .processes import spread
from .sections import Cell, Section, Table, Target, share
from .settings import Settings

Array = NDArray[np.float64]
STD = 0.3
# Rivals of the confusion matrix; the other ones are theirs with adaptation.
RIVALS = (
    "none",
    "constant",
    "linear",
    "power",
    "constant+adaptation",
    "linear+adaptation",
    "degroot",
    "walk",
    "own-return",
    "common-return",
)
SIZES = ((10, 20), (10, 50), (10, 200), (30, 20), (30, 50), (30, 200))
DATA_SETS = 100

TEXT = f"""\
Records are made by a plain loop on BA(n, 2) networks with σ = {STD:g}, hidden opinions uniform on [0, 1] and y₀ = x₀
not observed. *Right* is the share of data sets in which the true model has the largest weight among {len(RIVALS)}
rivals; the true pressure is 0.5, 0.1 t or 0.5 √t, and adaptation 0.05. Those who return keep 0.6 of their last answer.
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
    "constant+adaptation": Truth(lambda t, last: 0.5, 0.05),
    "linear+adaptation": Truth(lambda t, last: 0.1 * t, 0.05),
}


def record(truth: str, network: Network, steps: int, seed: int) -> Array:
    """Return a record of y_1, …, y_T made by the model of a rival, (T, n)."""
    rng, n = np.random.default_rng(10_000 + seed), network.n
    A, d = network.adjacency.toarray(), network.degrees
    y = rng.random(n)
    if truth in ("walk", "degroot"):
        b = 0.5 * (truth == "degroot")
        return path(lambda y, t: (1 - b) * y + b * (A @ y) / d + 0.1 * rng.standard_normal(n), y, steps)
    if truth.endswith("return"):
        level = y.copy() if truth == "own-return" else np.full(n, 0.5)
        return path(lambda y, t: 0.6 * y + 0.4 * level + STD * rng.standard_normal(n), y, steps)
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


def winner(n: int, steps: int, truth: str, seed: int) -> tuple[str, float]:
    """Return the rival with the largest weight in a record of a truth, and the processor time."""
    network = barabasi_albert(n, 2, seed=seed)
    rows, begin = record(truth, network, steps, seed), time.process_time()
    best = compare(rows, network, list(RIVALS)).best
    return best, time.process_time() - begin


def confusion(
    sizes: Sequence[tuple[int, int]], data_sets: int, settings: Settings
) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """Return a row for each size: the share of right answers, and seconds; and one for each truth: what was chosen."""
    items = [(n, steps, truth, seed) for n, steps in sizes for truth in RIVALS for seed in range(data_sets)]
    found = dict(zip(items, spread(winner, items, settings), strict=True))
    totals, truths = list[list[Cell]](), list[list[Cell]]()
    for n, steps in sizes:
        own = {item: answer for item, answer in found.items() if item[:2] == (n, steps)}
        right = share([best == item[2] for item, (best, _) in own.items()])
        totals.append([n, steps, right, float(np.mean([seconds for _, seconds in own.values()]))])
        for truth in RIVALS:
            counts = Counter(best for item, (best, _) in own.items() if item[2] == truth)
            others = ", ".join(f"{name} {count}" for name, count in counts.most_common() if name != truth)
            truths.append([n, steps, truth, counts[truth] / data_sets, others or None])
    return totals, truths


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
    """Return the confusion of rivals, and the time of comparisons."""
    quick = settings.quick
    sizes, data_sets = (SIZES[:1], 1) if quick else (SIZES, settings.records_or(DATA_SETS))
    totals, truths = confusion(sizes, data_sets, settings)
    times = [timed(n, steps) for n, steps in ([(30, 30)] if quick else [(100, 200), (1_000, 100), (200, 10)])]
    tables = [
        Table(f"Right among {len(RIVALS)} rivals, ± a standard error", ("n", "T", "right", "s a comparison"), totals),
        Table(f"Right by truth, and who won otherwise, of {data_sets}", ("n", "T", "truth", "right", "else"), truths),
        Table("Processor time in s", ("n", "T", "rivals", "comparison", "with sentences"), times),
    ]
    return Section("Comparison of models", TEXT, tables, _targets(times, quick=quick))


def _targets(times: list[list[Cell]], *, quick: bool) -> list[Target]:
    seconds = [None] * 3 if quick else [float(row[4] or 0) for row in times]
    return [
        Target("comparison, 100 agents, 200 steps", 20, seconds[0], " s", at_least=False),
        Target("comparison, 1,000 agents, 100 steps", 180, seconds[1], " s", at_least=False),
        Target("comparison, 200 agents, 10 steps", 20, seconds[2], " s", at_least=False),
    ]
