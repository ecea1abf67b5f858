"""Attacks on printed (ε, δ): low bits, seeds, neighbours, insiders, several runs, and persons with several topics.

An attack is a list of events. An event of probability P under one input and Q under a neighbouring one contradicts
(ε, δ) if P > e^ε Q + δ. It is proved to where the lower confidence limit of P is above the bound with the upper limit
of Q, both exact (Clopper and Pearson).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from peerpressure import Gaussian, Laplace, Model, Power, Record, TemporalNetwork, simulate
from peerpressure.networks import cycle
from peerpressure.privacy import budget
from peerpressure.privacy._grid import grid_of
from peerpressure.privacy._release import simulate_on_grid
from peerpressure.schedules import Table as Tabled

from .sections import Cell, Section, Table
from .settings import Settings

Array: TypeAlias = NDArray[np.float64]

RUNS = 400_000
DELTA = 1e-5
LEVEL = 1e-9  # of a confidence limit; thousands of events are tried
SEEDS = range(10)
LOWEST, HIGHEST = -70, 4  # powers of two of which a number is tested to be a multiple

TEXT = f"""\
Events whose frequencies contradict the printed ε at δ = {DELTA:g}, proved by exact confidence limits at {LEVEL:g} from
{RUNS:,} runs for each of two neighbouring inputs: before → after, where *before* is `simulate`, as published without
`privacy.release`, and *after* is what `privacy.release` draws. cycle(4), agent 0 holds 0 or 1, start 0; no pressure at
step 1, then ρ_t = t − 1. *Low bits*: whether a number is a multiple of 2^k, for all k from {LOWEST} to {HIGHEST}, its
last mantissa bit, both everywhere and near 0 and 1; of y, of (y − Cy)/g, of a neighbour's y, and of what an insider is
told by a neighbour. *Seeds*: whether the run is that of one of the seeds 0 to 9. *Likelihood*: whether the ratio of
likelihoods is above e^ε, of one run and of four. *Persons*: the same with all topics of a person.
"""


@final
@dataclass(frozen=True)
class Mechanism:
    """A model for both inputs, and the number of steps."""

    name: str
    parts: Mapping[str, Any]
    steps: int
    topics: int = 1

    def model(self, moved: float) -> Model:
        """Return the model in which the first agent's opinions are moved."""
        network = cycle(4) if self.topics == 1 else cycle(4).with_topics(self.topics)
        hidden = np.full((4, self.topics), 0.5)
        hidden[0] = moved
        pressure = Tabled([0.0, 1.0, 2.0][: self.steps])
        base: dict[str, Any] = {"pressure": pressure, "start": 0.0}
        return Model(network, hidden.squeeze(), **(base | dict(self.parts)))


EVENTS = [(1, 0, 1), (1, 1, 2), (2, 2, 3), (2, 0, 3), (3, 0, 1, 0.0)]
MECHANISMS = (
    Mechanism("Gaussian", {"noise": Gaussian(5.0)}, 1),
    Mechanism("Gaussian", {"noise": Gaussian(5.0)}, 3),
    Mechanism("Laplace", {"noise": Laplace(5.0)}, 1),
    Mechanism("Laplace", {"noise": Laplace(5.0)}, 3),
    Mechanism("Gaussian, frozen", {"noise": Gaussian(5.0, temporal="frozen")}, 3),
    Mechanism("Laplace, frozen", {"noise": Laplace(5.0, temporal="frozen")}, 3),
    Mechanism("Gaussian by agent", {"noise": Gaussian([3.0, 5.0, 4.0, 7.0])}, 3),
    Mechanism("Laplace, growing", {"noise": Laplace(3.0, time_scale=Power(0.5))}, 3),
    Mechanism("Gaussian, temporal network", {"noise": Gaussian(5.0), "temporal_network":
              TemporalNetwork.from_events(EVENTS, n=4)}, 3),
    Mechanism("Gaussian, 3 topics", {"noise": Gaussian(5.0)}, 3, topics=3),
)  # fmt: skip


def plain_runs(model: Model, steps: int, runs: int, seed: int | None) -> Array:
    """Return public opinions as `simulate` computes them, (runs, steps + 1, agents)."""
    states = simulate(model, steps, runs, seed=seed, threads=1).states
    assert states is not None
    return states


def released_runs(model: Model, steps: int, runs: int, seed: int | None = None) -> Array:
    """Return public opinions as a release computes them; the seed is not used."""
    grid = grid_of(model.noise, model.n, steps, 1.0)
    states = simulate_on_grid(model, grid, steps, runs, record=Record(summaries=False), threads=1).states
    assert states is not None
    return states


Runner: TypeAlias = Callable[[Model, int, int, int | None], Array]
RUNNERS: Mapping[str, Runner] = {"before": plain_runs, "after": released_runs}


# Events


def lowest_bit(values: Array) -> NDArray[np.int64]:
    """Return the largest k for which each number is a multiple of 2^k; 1,000 for 0.

    >>> lowest_bit(np.array([0.0, 1.0, 0.75, 12.0])).tolist()
    [1000, 0, -2, 2]
    """
    mantissa, exponent = np.frexp(values)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    last = np.log2(np.maximum(whole & -whole, 1)).astype(np.int64)
    return np.where(whole == 0, 1000, exponent - 53 + last)


def low_bits(values: Array) -> Iterator[int]:
    """Yield how many numbers are in each event about their low bits, everywhere and near both opinions."""
    lowest, odd = lowest_bit(values), (np.abs(np.frexp(values)[0]) * 2.0**53).astype(np.int64) & 1 == 1
    for window in (np.full(values.shape, True), np.abs(values) < 1 / 16, np.abs(values - 1) < 1 / 16):
        inside = np.sort(lowest[window])
        yield int(np.count_nonzero(odd & window))
        for below in np.searchsorted(inside, np.arange(LOWEST, HIGHEST)).tolist():
            yield inside.size - below
            yield below


def preferred(model: Model, states: Array) -> Array:
    """Return (y − Cy)/g as an observer computes it in doubles, (runs, steps, agents)."""
    found = []
    for t in range(1, states.shape[1]):
        update = model.update(t)
        found.append((states[:, t] - (update.coupling @ states[:, t - 1].T).T) / update.gain)
    return np.stack(found, axis=1)


def told_to_insider(model: Model, states: Array) -> Array:
    """Return what agent 1 knows of agent 0 at the last step: its own update without its own part."""
    T = states.shape[1] - 1
    update, inner = model.update(T), preferred(model, states)
    own = update.gain[1] * inner[:, T - 1, 1]
    coupling = update.coupling.toarray()[1]
    rest = states[:, T, 1] - own - states[:, T - 1] @ np.where(np.arange(model.n) == 0, 0.0, coupling)
    return np.asarray(rest / coupling[0]) if coupling[0] else rest


def log_ratio(model: Model, states: Array, topics: int) -> Array:
    """Return log p₁/p₀ of each run, for the first agent's opinions 1 against 0."""
    inner = preferred(model, states)[..., :topics]
    times = np.arange(1, inner.shape[1] + 1)
    if model.noise.is_frozen:
        inner, times = inner[:, :1], times[:1]
    std = model.noise.scale(times)[:, None] * model.noise.deviations(model.n)[:topics]
    if isinstance(model.noise, Gaussian):
        return np.asarray(((inner - 0.5) / std**2).sum(axis=(1, 2)))
    return np.asarray((math.sqrt(2) * (np.abs(inner) - np.abs(inner - 1)) / std).sum(axis=(1, 2)))


# Proof


class Claim(NamedTuple):
    """A printed (ε, δ)."""

    epsilon: float
    delta: float = DELTA


def violations(pairs: Sequence[tuple[int, int]], runs: int, claim: Claim) -> int:
    """Return how many events, counted under both inputs, contradict a claim in either direction."""
    counts = np.array(pairs)
    low = stats.beta.ppf(LEVEL, counts, runs - counts + 1)
    high = stats.beta.isf(LEVEL, counts + 1, runs - counts)
    # The limits are nan where no run, or every run, is in the event.
    low, high = np.where(counts == 0, 0.0, low), np.where(counts == runs, 1.0, high)
    factor = math.exp(claim.epsilon)
    beaten = (low > factor * high[:, ::-1] + claim.delta).any(axis=1)
    return int(np.count_nonzero(beaten))


@final
@dataclass(frozen=True)
class Attack:
    """Events, and how many of the runs, (runs, steps + 1, agents), are in each."""

    name: str
    counts: Callable[[Mechanism, Array], Iterator[int]]


def _bits_of_outputs(mechanism: Mechanism, states: Array) -> Iterator[int]:
    for t in range(1, mechanism.steps + 1):
        yield from low_bits(states[:, t, 0])


def _bits_of_preferred(mechanism: Mechanism, states: Array) -> Iterator[int]:
    inner = preferred(mechanism.model(0.0), states)
    for t in range(mechanism.steps):
        yield from low_bits(inner[:, t, 0])


def _bits_of_neighbour(mechanism: Mechanism, states: Array) -> Iterator[int]:
    for t in range(1, mechanism.steps + 1):
        yield from low_bits(states[:, t, mechanism.topics])


def _bits_for_insider(mechanism: Mechanism, states: Array) -> Iterator[int]:
    if mechanism.steps > 1 and mechanism.topics == 1:
        yield from low_bits(told_to_insider(mechanism.model(0.0), states))


ATTACKS = (
    Attack("y", _bits_of_outputs),
    Attack("(y − Cy)/g", _bits_of_preferred),
    Attack("neighbour", _bits_of_neighbour),
    Attack("insider", _bits_for_insider),
)


def by_bits(mechanism: Mechanism, states: Sequence[Array], attack: Attack, claim: Claim) -> int:
    """Return how many low-bit events contradict the claim."""
    pairs = list(zip(*(attack.counts(mechanism, some) for some in states), strict=True))
    return violations(pairs, len(states[0]), claim) if pairs else 0


def by_likelihood(mechanism: Mechanism, states: Sequence[Array], claim: Claim, runs: int = 1) -> int:
    """Return how many events of the likelihood ratio of so many runs together contradict the claim."""
    groups = [log_ratio(mechanism.model(0.0), some, mechanism.topics) for some in states]
    losses = [one[: len(one) // runs * runs].reshape(-1, runs).sum(axis=1) for one in groups]
    levels = claim.epsilon * np.array([-1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5])
    pairs = [tuple(int(np.count_nonzero(loss > level)) for loss in losses) for level in levels]
    pairs += [tuple(len(losses[0]) - count for count in pair) for pair in pairs]
    return violations([(a, b) for a, b in pairs], len(losses[0]), claim)


def by_seed(mechanism: Mechanism, run: Runner) -> int:
    """Return whether a run as it is by default is that of one of the seeds 0 to 9 for one of the two inputs."""
    published = run(mechanism.model(0.0), mechanism.steps, 1, None)
    tried = [plain_runs(mechanism.model(0.0), mechanism.steps, 1, seed) for seed in SEEDS]
    return int(any(np.array_equal(published, one) for one in tried))


def beaten(mechanism: Mechanism, run: Runner, runs: int) -> dict[str, int]:
    """Return how many events of each attack contradict what is printed about a mechanism."""
    model, unit = mechanism.model(0.0), dict[str, Any](unit="topic" if run is plain_runs else "person")
    claim = Claim(budget(model, mechanism.steps, delta=DELTA, **unit).epsilon)
    four = Claim(budget(model, mechanism.steps, delta=DELTA, runs=4, **unit).epsilon)
    states = [run(mechanism.model(moved), mechanism.steps, runs, 11 + k) for k, moved in enumerate((0.0, 1.0))]
    found = {attack.name: by_bits(mechanism, states, attack, claim) for attack in ATTACKS}
    found["seeds"] = by_seed(mechanism, run)
    whole, one = by_likelihood(mechanism, states, claim), mechanism.topics == 1
    found |= {"likelihood": whole if one else 0, "4 runs": by_likelihood(mechanism, states, four, 4) if one else 0}
    return found | {"persons": 0 if one else whole}


def measure(settings: Settings) -> Section:
    """Attack every mechanism before and after."""
    runs = 20_000 if settings.quick else RUNS
    began, rows, names = time.process_time(), [], list[str]()
    for mechanism in MECHANISMS:
        found = {name: beaten(mechanism, run, runs) for name, run in RUNNERS.items()}
        names = list(found["before"])
        cells = [f"{found['before'][name]} → {found['after'][name]}" for name in names]
        epsilon = budget(mechanism.model(0.0), mechanism.steps, delta=DELTA).epsilon
        row: list[Cell] = [f"{mechanism.name}, T = {mechanism.steps}", f"{epsilon:.3g}", *cells]
        rows.append(row)
    spent = f"{time.process_time() - began:.0f} s of processor time"
    columns = ["mechanism", "ε", *names]
    return Section("Attacks on privacy", TEXT, [Table(f"Events that beat the printed ε; {spent}", columns, rows)])
