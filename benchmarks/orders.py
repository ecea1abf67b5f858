"""What the order of agents in memory costs, on scale-free and on clustered networks, in long and in short runs."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.sparse.csgraph import reverse_cuthill_mckee

from peerpressure import Gaussian, Linear, Model, Network, simulate
from peerpressure.networks import barabasi_albert, watts_strogatz

from .clock import Job, costs, ratio, seconds, typical
from .sections import Cell, Section, Table, count
from .settings import Settings
from .workload import SEED, STD

NEIGHBOURS, REWIRED = 4, 0.05
SHORT = 6  # steps
ROUNDS = 5  # at least, because the spread is reported

TEXT = f"""\
The same networks with their agents in the order of their making, in random order, and that sorted again by SciPy's
`reverse_cuthill_mckee`, which puts neighbours near each other: Barabási–Albert with m = 2, Watts–Strogatz with
{NEIGHBOURS} neighbours of which {REWIRED:.0%} are rewired, and a lattice with as many short cuts as a power grid, which
has 2.7 neighbours for each agent. One replicate on one thread. *Step* is the cost of a step in a run of many; *short
run* is a whole call of {SHORT} steps, set-up included, divided by its agent-steps, with its lowest and highest value
over rounds. Noise belongs to a place in the order, so these are samples of one law.
"""


def power_grid(agents: int, rng: np.random.Generator) -> Network:
    """Return a square lattice that lost a third of its lines and got a few long ones: 2.7 neighbours on average."""
    side = int(np.sqrt(agents))
    place = np.arange(side * side).reshape(side, side)
    # A comb keeps it connected: all vertical lines, and one row.
    down = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    right = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    kept = right[(rng.random(len(right)) < 0.34) | (right[:, 0] < side)]
    far = rng.integers(0, side * side, (side * side // 100, 2))
    return Network.from_edges(np.concatenate([down, kept, far[far[:, 0] != far[:, 1]]]), n=side * side)


def networks(agents: int) -> dict[str, Network]:
    """Return each network in its own order, shuffled, and sorted again."""
    rng = np.random.default_rng(SEED)
    made = {
        "scale-free": barabasi_albert(agents, 2, seed=SEED),
        "small world": watts_strogatz(agents, NEIGHBOURS, REWIRED, seed=SEED),
        "power grid": power_grid(agents, rng),
    }
    all_orders: dict[str, Network] = {}
    for name, network in made.items():
        shuffled = network.permuted(rng.permutation(network.n))
        order = reverse_cuthill_mckee(shuffled.adjacency, symmetric_mode=True)
        all_orders |= {name: network, f"{name}, shuffled": shuffled, f"{name}, sorted": shuffled.permuted(order)}
    return all_orders


def _model(network: Network) -> Model:
    hidden = np.random.default_rng(SEED).uniform(size=network.n)
    return Model(network, hidden=hidden, stubbornness=0.75, pressure=Linear(), noise=Gaussian(STD))


def measure(settings: Settings) -> Section:
    rows: list[list[Cell]] = []
    sizes = sorted({settings.large, settings.scaling_sizes[-1]})
    for agents in sizes:
        models = {name: _model(network) for name, network in networks(agents).items()}
        runs = {name: partial(simulate, model, seed=SEED, record="final", threads=1) for name, model in models.items()}
        steps = settings.steps_for(15.0, agents, least=SHORT)
        measured = costs({name: Job(run, steps, models[name].n) for name, run in runs.items()}, ROUNDS)
        short = {name: np.array([seconds(run, SHORT) for _ in range(ROUNDS)]) for name, run in runs.items()}
        for name, model in models.items():
            whole = short[name] / (SHORT * model.n) * 1e9
            against = ratio(measured[name], measured[name.split(",")[0]])
            rows.append(
                [f"{name}, {count(agents)}", typical(measured[name]), against, typical(whole), whole.min(), whole.max()]
            )
    columns = ("", "step", "against own order", "short run", "lowest", "highest")
    return Section("Order of agents", TEXT, [Table("Nanoseconds per agent-step", columns, rows)])
