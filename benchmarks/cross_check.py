"""The same follower network in NDlib and Seldon: what must agree, and how closely it does.

Without noise, and under a pressure so high that an agent's own opinion has no weight left, a step of the model is that
of DeGroot, y_t = D⁻¹A y_{t−1}, which other packages compute, too. It comes to π·y₀ with πD⁻¹A = π if the closed class
has period 1. That is the limit of the model under pressure that is high from the first step on and keeps growing fast;
under pressure that grows slowly it comes to v, in which the opinions have the weights πs/d instead of π.

A package that is not installed has no row; the extra ``bench`` installs them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from peerpressure import Constant, Model, Network, simulate
from peerpressure.networks.chain import phases
from peerpressure.schedules import as_schedule
from peerpressure.theory import consensus_limit

from .sections import Cell, Section, Table
from .settings import Settings

ACCOUNTS, LEADERS, FOLLOWED, SEED = 40, 5, 3, 7
HIGH = 1e15  # own opinions then have a weight below the rounding of a double
FAST = f"{HIGH:g} * t^2"
STEPS = (1, 10, 1_000)

TEXT = f"""\
{ACCOUNTS} accounts of which {LEADERS} follow each other only, the others {FOLLOWED} accounts each. Largest difference
over agents between `peerpressure` and others after 1, 10 and 1,000 steps; y₀ is uniform on [0, 1], s on [0.5, 1]. There
is no noise. *DeGroot* is ρ = {HIGH:g}, and *Friedkin–Johnsen* ρ = 1: θ = s/(s + ρd) is the weight of an agent's own
opinion. *Limits* are those under pressure {FAST} and under ρ_t = t.
"""

Vector = NDArray[np.float64]
Peer = Callable[[Network, Vector, Vector, int], Vector]  # weights θ of own opinions, and y₀


def followers() -> Network:
    """Return the network: row i holds whom account i follows."""
    rng = np.random.default_rng(SEED)
    A = np.zeros((ACCOUNTS, ACCOUNTS))
    for account in range(ACCOUNTS):
        others = np.array([other for other in range(max(account, LEADERS)) if other != account])
        # Accounts that joined earlier are more popular; leaders follow any of each other.
        popularity = np.ones(others.size) if account < LEADERS else 1.0 / (1.0 + others)
        A[account, rng.choice(others, FOLLOWED, replace=False, p=popularity / popularity.sum())] = 1.0
    return Network(A, directed=True)


def by_matrix(network: Network, theta: Vector, start: Vector, steps: int) -> Vector:
    """Return y_t = (1 − θ) D⁻¹A y_{t−1} + θ y₀ after so many steps, in dense matrices."""
    P = network.adjacency.toarray() / network.degrees[:, None]
    y = start
    for _ in range(steps):
        y = (1 - theta) * (P @ y) + theta * start
    return y


def by_ndlib(network: Network, theta: Vector, start: Vector, steps: int) -> Vector:
    """Return the same by NDlib's ``FJModel``, in which the source of an edge influences its target."""
    from .contenders.ndlib_friedkin_johnsen import configured

    graph = network.to_networkx().reverse()
    model = configured(graph, dict(enumerate(theta.tolist())))
    # NDlib draws the initial opinions itself and takes none, so they are put in their place afterwards.
    model.status, model.initial_status = (dict(enumerate(start.tolist())) for _ in range(2))
    for _ in range(steps + 1):  # the first iteration reports the initial state and moves nobody
        model.iteration(node_status=False)
    return np.array([model.status[account] for account in range(network.n)])


def by_seldon(network: Network, theta: Vector, start: Vector, steps: int) -> Vector:
    """Return the same by Seldon's DeGroot model, which has no weights of own opinions."""
    from .contenders.seldon_degroot import degroot

    return degroot(network, start, steps)


PEERS: dict[str, tuple[str, Peer]] = {
    "DeGroot, NumPy": ("numpy", by_matrix),
    "DeGroot, NDlib FJModel with θ = 0": ("ndlib.models.opinions", by_ndlib),
    "DeGroot, Seldon": ("pyseldonlib", by_seldon),
    "Friedkin–Johnsen, NumPy": ("numpy", by_matrix),
    "Friedkin–Johnsen, NDlib FJModel": ("ndlib.models.opinions", by_ndlib),
}


def is_installed(name: str) -> bool:
    """Whether a peer can be imported; NDlib has dependencies that it does not declare."""
    try:
        import_module(PEERS[name][0])
    except ImportError:
        return False
    return True


def followed() -> Model:
    """Return the model without noise."""
    rng = np.random.default_rng(SEED)
    return Model(followers(), rng.uniform(0.0, 1.0, ACCOUNTS), rng.uniform(0.5, 1.0, ACCOUNTS))


def differences(name: str, model: Model) -> list[float]:
    """Return the largest difference to a peer after each number of steps."""
    _, peer = PEERS[name]
    network, start = model.network, model.x0
    rho = HIGH if name.startswith("DeGroot") else 1.0
    theta = np.zeros(network.n) if rho == HIGH else model.s / (model.s + rho * network.degrees)
    ours = simulate(replace(model, pressure=Constant(rho)), max(STEPS)).states
    assert ours is not None
    return [float(np.abs(ours[0, t] - peer(network, theta, start, t)).max()) for t in STEPS]


def limits(model: Model) -> list[list[Cell]]:
    """Return the limits under fast and slow pressure, by the left eigenvector of D⁻¹A and by the package."""
    network = model.network
    assert phases(network.adjacency, network.closed_classes[0])[0] == 1, "a periodic class has no limit"
    values, vectors = np.linalg.eig((network.adjacency.toarray() / network.degrees[:, None]).T)
    pi = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    weights = {FAST: pi, "t": pi * model.s / network.degrees}
    rows: list[list[Cell]] = []
    for pressure, w in weights.items():
        expected = float(w @ model.x0 / w.sum())
        found = consensus_limit(replace(model, pressure=as_schedule(pressure))).mean
        rows.append([f"ρ_t = {pressure}", expected, found, abs(found - expected)])
    return rows


def measure(settings: Settings) -> Section:
    model = followed()
    present = [name for name in PEERS if is_installed(name)]
    rows: list[list[Cell]] = [[name, *differences(name, model)] for name in present]
    steps = Table("Largest difference", ("", *(f"{t:,} step{'s' * (t > 1)}" for t in STEPS)), rows)
    names = ("", "by the left eigenvector", "consensus_limit", "difference")
    return Section("The same network in other packages", TEXT, [steps, Table("Limits", names, limits(model))])
