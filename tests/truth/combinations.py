"""Every combination of networks, updates, adaptation and time: as plain numbers, and as the package's own system.

A step draws a network and who updates, independently of other steps. All draws are enumerated, so mean and second
moment of the state (y, x, u) have exact recursions (``second_moments``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

import peerpressure as pp
from peerpressure.theory import Verdict
from tests.truth.case import Array, curve

NETWORKS = ("undirected", "directed", "several classes", "balanced", "unbalanced", "repeating", "random")
UPDATES, ADAPTATION, TIME = (None, 0.5), (None, 0.2), (False, True)
# Slow enough for starts to be forgotten within 10^10 steps, fast, and bounded.
PRESSURES = ("0.2*t", "t^2", "2")
NOISES = ("none", "white", "frozen")
# Pressure that rises and falls, also with the parity of t; for steps only.
OSCILLATING = ("0.2*t*(2 + sin(t))", "0.2*t*(1 + t - 2*floor(t/2))", "t^2*(1 + t - 2*floor(t/2))")
# Shares of other topics in what is said on a topic, with signs that balance and that do not.
TOPICS = {
    "topics": np.array([[0.7, 0.3], [0.4, 0.6]]),
    "separate topics": np.eye(2),
    "balanced topics": np.array([[0.7, -0.3], [-0.4, 0.6]]),
    "unbalanced topics": np.array([[0.7, -0.3], [0.4, 0.6]]),
}


@dataclass(frozen=True, eq=False)
class Combination:
    """A model in plain numbers.

    ``phases`` has the networks of each step of a period, each as (probability, adjacency). ``updates`` is the
    probability with which each agent updates, ``rate`` that of adaptation with a weight for each agent, and ``phi`` the
    autocorrelation of the noise. ``keeps``: agents who hear nobody keep their public opinion. ``listens`` is false for
    zealots. With ``topics`` each pair of an agent and a topic counts as one agent here.
    """

    name: str
    phases: tuple[tuple[tuple[float, Array], ...], ...]
    hidden: Array
    stubbornness: Array
    start: Array
    pressure: str = "0.2*t"
    std: float = 0.0
    phi: float = 0.0
    scale: str = "1"
    updates: float | None = None
    rate: float = 0.0
    weights: Array = field(default_factory=lambda: np.ones(0))
    keeps: bool = False
    continuous: bool = False
    network: Any = None
    topics: int = 1

    @property
    def n(self) -> int:
        return self.hidden.size

    def __str__(self) -> str:
        noise = f"std {self.std:g}, autocorrelation {self.phi:g}, scale {self.scale}"
        time = "continuous time" if self.continuous else "steps"
        adapts = f"rate {self.rate:g}, weights {self.weights.tolist()}"
        return f"{self.name}: pressure {self.pressure}, {noise}, updates {self.updates}, {adapts}, {time}"

    @property
    def size(self) -> float:
        """The scale of opinions, to which zero is compared."""
        return float(np.abs(np.concatenate([self.hidden, self.start])).max()) or 1.0

    @cached_property
    def verdict(self) -> Verdict:
        """What the package says of it."""
        return pp.diagnose(self.system)

    @cached_property
    def system(self) -> pp.Model | pp.SDE:
        """The package's own model."""
        parts: dict[str, Any] = {"pressure": float(self.pressure) if self.pressure == "2" else self.pressure}
        if self.std:
            temporal = {0.0: "white", 1.0: "frozen"}.get(self.phi) or pp.AR1(self.phi)
            parts["noise"] = pp.Gaussian(self.std, temporal=temporal, time_scale=self.scale)
        if self.updates is not None:
            parts["activation"] = self.updates
        if self.rate:
            weights = self.weights[:: self.topics] if self.weights.size else 1.0
            parts["adaptation"] = pp.Adaptation(self.rate, weights)
        if self.keeps:
            parts["isolated"] = "keep"
        if not np.array_equal(self.start, self.hidden):
            parts["start"] = self._by_topic(self.start)
        model = pp.Model(self.network, self._by_topic(self.hidden), self.stubbornness[:: self.topics], **parts)
        return pp.SDE(model, step=0.5, scaling="model") if self.continuous else model

    def _by_topic(self, values: Array) -> Array:
        return values.reshape(-1, self.topics) if self.topics > 1 else values

    @property
    def cycle(self) -> int:
        """Steps after which network and pressure have the same phase."""
        return len(self.phases) * (2 if "t/2" in self.pressure and len(self.phases) % 2 else 1)


def symmetric(rng: np.random.Generator, n: int, edges: list[tuple[int, int]]) -> Array:
    A = np.zeros((n, n))
    for i, j in edges:
        A[i, j] = A[j, i] = rng.uniform(0.5, 2.0)
    return A


LISTENED_TO = {
    "directed": [(0, 1), (1, 2), (2, 0), (1, 0), (3, 0)],
    "several classes": [(0, 1), (1, 0), (2, 3), (3, 2), (4, 0), (4, 2)],
    "rotating": [(0, 1), (1, 2), (2, 0), (3, 0)],
}


def network_of(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return the networks of a kind, in plain numbers and as the package's own."""
    if kind in LISTENED_TO:
        A = np.zeros((5, 5) if kind == "several classes" else (4, 4))
        for i, j in LISTENED_TO[kind]:
            A[i, j] = rng.uniform(0.5, 2.0)
        return _one(pp.Network(A, directed=True), A)
    if kind == "repeating":
        graphs = [symmetric(rng, 4, [(0, 1), (1, 2), (2, 3)]), symmetric(rng, 4, [(0, 2), (1, 3), (0, 1)])]
        phases = tuple(((1.0, graph),) for graph in graphs)
        return {"network": pp.TemporalNetwork.from_snapshots(graphs, period=2), "phases": phases}
    if kind in ("random", "gossip", *TOPICS):
        return _of_topics(TOPICS[kind], rng) if kind in TOPICS else _drawn(kind, rng)
    A = symmetric(rng, 4, [(0, 1), (1, 2), (2, 3)] + [(0, 2)] * (kind != "bipartite"))
    if kind in ("balanced", "unbalanced"):
        signs = np.outer([1, -1, 1, -1], [1, -1, 1, -1]).astype(float)
        # In the triangle 0, 1, 2 one negative edge breaks the balance.
        signs = signs if kind == "balanced" else np.where((np.add.outer(range(4), range(4)) == 1), -1.0, 1.0)
        return _one(pp.Network(A * signs, signed=True), A * signs)
    if kind == "zealots":
        heard = np.where(np.arange(4)[:, None] % 3 == 0, 0.0, A)
        return _one(pp.Network(A), heard) | {"zealots": np.arange(4) % 3 == 0}
    return _one(pp.Network(A), A)


def _one(network: Any, A: Array) -> dict[str, Any]:
    return {"network": network, "phases": (((1.0, A),),)}


def _of_topics(T: Array, rng: np.random.Generator) -> dict[str, Any]:
    A = symmetric(rng, 3, [(0, 1), (1, 2), (0, 2)])
    network = pp.Network(A).with_topics(("tax", "rent"), T)
    return _one(network, np.asarray(np.kron(A, T), dtype=np.float64)) | {"topics": len(T)}


def _drawn(kind: str, rng: np.random.Generator) -> dict[str, Any]:
    """Return edges that fail at random, or gossip, in which one edge is drawn for each step."""
    A = symmetric(rng, 3, [(0, 1), (1, 2), (0, 2)])
    i, j = np.nonzero(np.triu(A))
    if kind == "gossip":
        parts = tuple((1 / i.size, _subset(A, i[[k]], j[[k]])) for k in range(i.size))
        return {"network": pp.networks.gossip(pp.Network(A), 20, seed=1), "phases": (parts,), "keeps": True}
    failing = 0.4
    sets = [np.flatnonzero(bits) for bits in product([0, 1], repeat=i.size)]
    parts = tuple(((1 - failing) ** s.size * failing ** (i.size - s.size), _subset(A, i[s], j[s])) for s in sets)
    return {"network": pp.networks.failing_edges(pp.Network(A), failing, 20, seed=1), "phases": (parts,)}


def _subset(A: Array, i: NDArray[np.int64], j: NDArray[np.int64]) -> Array:
    kept = np.zeros_like(A)
    kept[i, j] = kept[j, i] = A[i, j]
    return kept


def build(name: str, kind: str, rng: np.random.Generator, **parts: Any) -> Combination:
    networks = network_of(kind, rng)
    zealots = networks.pop("zealots", None)
    n = len(networks["phases"][0][0][1])
    hidden = rng.normal(size=n).round(3)
    topics = networks.get("topics", 1)
    stubbornness = np.repeat(rng.uniform(0.5, 2.0, n).round(3)[::topics], topics)
    if zealots is not None:
        stubbornness[zealots] = np.inf
    start = parts.pop("start", None)
    return Combination(
        name, hidden=hidden, stubbornness=stubbornness, start=hidden if start is None else start, **networks, **parts
    )


def table_of_combinations() -> Iterator[tuple[tuple[str, float | None, float | None, bool], list[Combination]]]:
    """Yield the 42 combinations, each with its nine models: three pressures, and three noises for each."""
    for kind, updates, rate, continuous in product(NETWORKS, UPDATES, ADAPTATION, TIME):
        if continuous and updates:
            continue
        key, models = (kind, updates, rate, continuous), []
        for pressure, noise in product(PRESSURES, NOISES):
            rng = np.random.default_rng([7, NETWORKS.index(kind)])
            parts = {"updates": updates, "rate": rate or 0.0, "continuous": continuous, "pressure": pressure}
            parts |= {"std": 0.0 if noise == "none" else 0.5, "phi": float(noise == "frozen")}
            models.append(build(f"{key}, {pressure}, {noise}", kind, rng, **parts))
        yield key, models


KINDS = (*NETWORKS, "bipartite", "rotating", "zealots", "gossip", *TOPICS)
PERIODIC = ("bipartite", "rotating", "repeating", "undirected")


def random_combination(number: int, seed: int = 0) -> Combination:
    """Return a random model of all that may be combined."""
    rng = np.random.default_rng([11, seed, number])
    kind = str(rng.choice(KINDS))
    continuous = bool(rng.random() < 0.25)
    everybody = continuous or kind in TOPICS or rng.random() < 0.5
    updates = None if everybody else float(rng.choice([0.3, 0.7]))
    rate = float(rng.choice([0.0, 0.1, 0.5]))
    n = {"several classes": 5, "random": 3, "gossip": 3}.get(kind, 6 if kind in TOPICS else 4)
    # With topics the first two pairs are those of one agent.
    weights = np.ones(n) if rng.random() < 0.7 else (np.arange(n) // (n // 3 if kind in TOPICS else 1) != 1) * 1.0
    phi = float(rng.choice([0.0, 0.0, 1.0, 0.6]))
    parts: dict[str, Any] = {"updates": updates, "rate": rate, "weights": weights, "continuous": continuous}
    parts |= {
        "pressure": str(rng.choice([*PRESSURES, "0.5*t^0.5", "0.3*t*(1 + 1/t)", "1.5*(1 + 2*t)/(1 + t)"])),
        "phi": phi,
    }
    parts |= {
        "std": float(rng.choice([0.0, 0.4, 0.4])),
        "scale": str(rng.choice(["1", "1", "1", "1/(1 + t)", "(1 + t)^0.2"])),
    }
    if not continuous and kind in PERIODIC and rng.random() < 0.4:
        parts["pressure"] = str(rng.choice(OSCILLATING))
    if rng.random() < 0.3:
        parts["start"] = rng.normal(size=n).round(3)
    return build(f"{kind}, number {number}, seed {seed}", kind, rng, **parts)


def coefficients(model: Combination, times: Array) -> tuple[float, float, float]:
    """Return the mean of 1/ρ over times, and scales of the noise that leave the noise added over them as it is.

    The first scale is for noise that enters with the weight 1/ρ, the second for that of agents who hear nobody.
    """
    own_weight = 1 / curve(model.pressure)(times)
    sigma, power = curve(model.scale)(times), 1 if model.phi == 1 else 2
    mean = float(own_weight.mean())
    weighted, plain = (float(np.mean(x**power) ** (1 / power)) for x in (sigma * own_weight / mean, sigma))
    return mean, weighted, plain
