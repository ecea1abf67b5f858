"""What a step costs on networks of other kinds than the paper's: directed, signed, disconnected, with zealots."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_array, triu

from peerpressure import Gaussian, Model, Network, simulate
from peerpressure.networks import barabasi_albert

from .clock import Job, costs, ratio, typical
from .sections import Cell, Section, Table, Target, count
from .settings import Settings
from .workload import SEED, STD

ROUNDS = 5  # at least, because the spread is reported
ZEALOTS = 0.01  # share of the agents
TOPICS = 8
MOST = 1.1  # times the reference, that a kind may cost

TEXT = f"""\
Each kind against a symmetric, connected network with as many agents and, but for a few, as many stored entries: the
benchmark's network with its agents in random order, so hubs are anywhere in memory. *directed* has its columns in
another random order, so hardly anybody listens back; *disconnected* are two networks of half the size; the entries
of *zealots*, {ZEALOTS:.0%} of the agents, are dropped; *susceptibility* is uniform on [0.5, 2]; *{TOPICS} topics* are
independent, on a network of 1/{TOPICS} of the agents. *signed* has weights ±1, which have to be read, and is compared
with a symmetric network of weights uniform on [0.5, 1.5], which itself is compared with equal weights. Quartiles are
those of the ratio over rounds. One thread each.
"""


Vector = NDArray[np.float64]


def kinds(agents: int) -> dict[str, Model]:
    """Return a model of each kind, with the same constants of the agents."""
    rng = np.random.default_rng(SEED)
    symmetric = barabasi_albert(agents, 2, seed=SEED).permuted(rng.permutation(agents))
    half = barabasi_albert(agents // 2, 2, seed=SEED).permuted(rng.permutation(agents // 2)).adjacency
    few = barabasi_albert(agents // TOPICS, 2, seed=SEED).permuted(rng.permutation(agents // TOPICS))
    hidden, s = rng.uniform(0.0, 1.0, agents), rng.uniform(0.5, 1.0, agents)
    zealots = np.where(rng.random(agents) < ZEALOTS, np.inf, s)

    def model(network: Network, stubbornness: Vector = s, susceptibility: float | Vector = 1.0) -> Model:
        n = network.n
        return Model(network, hidden[:n], stubbornness[:n], noise=Gaussian(STD), susceptibility=susceptibility)

    return {
        "symmetric": model(symmetric),
        "directed": model(_turned(symmetric.adjacency, rng)),
        "disconnected": model(Network(block_diag([half, half], format="csr"))),
        "zealots": model(symmetric, zealots),
        "susceptibility": model(symmetric, susceptibility=rng.uniform(0.5, 2.0, agents)),
        f"{TOPICS} topics": model(few.with_topics(TOPICS)),
        "symmetric, weighted": model(_weighted(symmetric, rng.uniform(0.5, 1.5, symmetric.edge_count))),
        "signed": model(_weighted(symmetric, rng.choice([-1.0, 1.0], symmetric.edge_count))),
    }


def _turned(adjacency: csr_array, rng: np.random.Generator) -> Network:
    """Return a directed network with rows of the same lengths, and columns in another order."""
    turned = csr_array(adjacency[:, rng.permutation(adjacency.shape[0])]).tocoo()
    kept = turned.row != turned.col  # nobody listens to itself
    matrix = csr_array((turned.data[kept], (turned.row[kept], turned.col[kept])), shape=turned.shape)
    return Network(matrix, directed=True)


def _weighted(network: Network, weights: Vector) -> Network:
    upper = csr_array(triu(network.adjacency, format="csr"))
    upper.data[:] = weights
    return Network(upper + upper.T, signed=True)


# What each kind is compared with; the others with the symmetric network.
REFERENCES = {"signed": "symmetric, weighted"}


def _rows(settings: Settings, agents: int, replicates: int) -> tuple[list[list[Cell]], list[Target]]:
    case, work, models = f"{count(agents)}×{replicates}", agents * replicates, kinds(agents)
    steps = settings.steps_for(6.0, work)
    jobs = {name: Job(_run(model, replicates), steps, work) for name, model in models.items()}
    measured = costs(jobs, max(ROUNDS, settings.rounds))
    rows: list[list[Cell]] = []
    targets = []
    for name, model in models.items():
        own, reference = measured[name], measured[REFERENCES.get(name, "symmetric")]
        low, high = np.quantile(own / np.maximum(reference, 1e-12), [0.25, 0.75])
        times = ratio(own, reference)
        rows.append([f"{name}, {case}", typical(own), times, float(low), float(high), model.network.adjacency.nnz])
        if name in ("directed", "signed"):
            targets.append(Target(f"{name} against symmetric, {case}", MOST, times, "×", at_least=False))
    return rows, targets


def _run(model: Model, replicates: int) -> Callable[[int], object]:
    return lambda steps: simulate(model, steps, replicates, record="final", threads=1)


def measure(settings: Settings) -> Section:
    # The small network has many replicates, and the large one a single one, as in the table of speeds.
    cases = ((min(10_000, settings.large), max(settings.replicates)), (settings.large, 1))
    found = [_rows(settings, agents, replicates) for agents, replicates in cases]
    columns = ("", "ns per agent-step", "times the reference's", "lower quartile", "upper quartile", "stored entries")
    rows = [row for part, _ in found for row in part]
    targets = [target for _, part in found for target in part]
    return Section("Kinds of networks", TEXT, [Table("One thread", columns, rows)], targets)
