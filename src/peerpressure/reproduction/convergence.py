"""How near agents are to each other and to v, exactly and over time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert
from peerpressure.noise import Gaussian, NoNoise
from peerpressure.schedules import Linear, Schedule, StretchedExponential
from peerpressure.simulation import Record, simulate
from peerpressure.theory._classification import classify
from peerpressure.theory._limits import consensus_limit
from peerpressure.theory._moments import Functional, Moments, consensus_mode, moments
from peerpressure.trajectory import Trajectory


@final
@dataclass(frozen=True, eq=False)
class Closeness:
    """The law of the consensus mode m = Σ d y/Σ d, and how far agents are from it and from v; each of shape (times,).

    spread² = E Σ d (y − m)²/Σ d and distance² = E Σ d (y − v)²/Σ d = spread² + bias² + std². Where the network
    changes, degrees are means over time.
    """

    bias: NDArray[np.float64]
    std: NDArray[np.float64]
    spread: NDArray[np.float64]
    distance: NDArray[np.float64]


def closeness(model: Model, times: NDArray[np.int64]) -> Closeness:
    """Return how near to each other and to v the opinions are that agents show at increasing times.

    >>> from peerpressure.networks import k2
    >>> near = closeness(Model(k2(), hidden=[0.0, 1.0]), np.array([0, 2]))
    >>> near.spread.round(3), near.bias.round(3) + 0.0
    (array([0.5  , 0.167]), array([0., 0.]))
    """
    steps, mode = int(times[-1]), consensus_mode(model)
    agents, common = moments(model, steps, times=times), moments(model, steps, of=mode, times=times)
    return _closeness(model, mode, agents, common, 0)


def shown_and_held(model: Model, times: NDArray[np.int64]) -> tuple[Closeness, Closeness]:
    """Return the same of what agents show, and of what they hold once they have shown it."""
    steps, mode = int(times[-1]), consensus_mode(model)
    both = np.kron(np.eye(2), mode.weights)
    agents, common = (moments(model, steps, of=of, times=times, what="joint") for of in (None, both))
    shown, held = (_closeness(model, mode, agents, common, part) for part in (0, 1))
    return shown, held


def _closeness(model: Model, mode: Functional, agents: Moments, common: Moments, part: int) -> Closeness:
    own = slice(part * model.n, (part + 1) * model.n)
    bias, std = common.mean[:, part] - model.consensus_value, common.std[:, part]
    distance2 = mode((agents.mean[:, own] - model.consensus_value) ** 2 + agents.variance[:, own])
    # Rounding may leave less than nothing.
    spread2 = np.maximum(distance2 - bias**2 - std**2, 0.0)
    return Closeness(bias, std, np.sqrt(spread2), np.sqrt(distance2))


# Who agrees, and on what: slow and fast peer pressure from one start, on a tree and on a graph with odd cycles.

AGENTS = 100
# As wide as the hidden opinions themselves (√(1/12) = 0.29): larger noise would hide the first steps' convergence.
NOISE = 0.25
# With this seed both failures are large enough to be seen on the scale of the opinions; others differ in size only.
SEED = 14
STEPS = 100_000
LEAST_STEPS = 100

EARLY = 150  # steps kept one by one, so that an oscillation can be followed
LATE = 24  # and as many of the last ones
PER_DECADE = 60


@final
@dataclass(frozen=True, eq=False)
class Run:
    """One schedule on one network: the path with noise, and the expected path, which is that without."""

    name: str
    path: Trajectory
    expected: Trajectory

    @property
    def model(self) -> Model:
        """The model that was run."""
        return self.path.model

    def table(self) -> pd.DataFrame:
        """Return one row for each kept time: extremes, mean, agent 1, spread and distance to v."""
        times = kept_times(int(self.path.times[-1]))
        return pd.DataFrame(
            {
                "run": self.name,
                "time": times,
                "minimum": _at(self.path.minimum, times),
                "maximum": _at(self.path.maximum, times),
                "mean": _at(self.path.mean, times),
                "agent_1": _at(self.path.states, times).ravel(),
                "spread": _at(self.path.spread, times),
                "distance": _at(self.path.distance, times),
                "expected_minimum": _at(self.expected.minimum, times),
                "expected_maximum": _at(self.expected.maximum, times),
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return where the run ended; spread and distance to v are two measurements, and neither implies the other."""
        path = self.path.path(self.model.network.labels[0])[0]
        return {
            "run": self.name,
            "bipartite": self.model.network.is_bipartite,
            "edges": self.model.network.edge_count,
            "pressure": self.model.pressure.formula_text,
            "steps": int(self.path.times[-1]),
            "consensus_value": self.model.consensus_value,
            "mean": float(_at(self.path.mean, [-1])[0]),
            "spread": float(_at(self.path.spread, [-1])[0]),
            "distance": float(_at(self.path.distance, [-1])[0]),
            "swing": float(abs(path[-1] - path[-2])),
            "predicted": classify(self.model).outcome.name.lower(),
        }


@final
@dataclass(frozen=True, eq=False)
class ConvergenceResult:
    """Three runs from one start: slow and fast pressure on a tree, and fast pressure where there are odd cycles."""

    seed: int
    slow_tree: Run
    fast_tree: Run
    fast_cycles: Run

    @property
    def runs(self) -> tuple[Run, Run, Run]:
        """The runs in the order of the figures."""
        return self.slow_tree, self.fast_tree, self.fast_cycles

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return agents, edges, paths and summary as tidy tables."""
        return {
            "agents": self._agents(),
            "edges": pd.concat([_edges("tree", self._tree), _edges("cycles", self._cycles)], ignore_index=True),
            "paths": pd.concat([run.table() for run in self.runs], ignore_index=True),
            "summary": pd.DataFrame([run.summary() for run in self.runs]),
        }

    @property
    def _tree(self) -> Network:
        return self.slow_tree.model.network

    @property
    def _cycles(self) -> Network:
        return self.fast_cycles.model.network

    def _agents(self) -> pd.DataFrame:
        model = self.slow_tree.model
        return pd.DataFrame(
            {
                "agent": np.arange(1, model.n + 1),
                "hidden": model.x0,
                "stubbornness": model.s,
                "degree_tree": self._tree.degrees.astype(int),
                "degree_cycles": self._cycles.degrees.astype(int),
            }
        )


def convergence(
    seed: int = SEED, steps: int = STEPS, *, agents: int = AGENTS, noise: float = NOISE
) -> ConvergenceResult:
    """Run ρ_t = t and ρ_t = 2^√t on a scale-free tree, and 2^√t on a scale-free graph with odd cycles.

    Hidden opinions are uniform on [0, 1], stubbornness on [0.5, 1], the noise is normal; all runs share them.

    >>> convergence(steps=100, agents=20).tables()["summary"]["run"].tolist()
    ['slow_tree', 'fast_tree', 'fast_cycles']
    """
    if steps < LEAST_STEPS:
        rule = f"the convergence experiment needs at least {LEAST_STEPS} steps"
        raise InvalidInputError(message(rule, got=steps, remedy="a failure to agree does not show sooner"))
    tree, cycles = barabasi_albert(agents, 1, seed=seed), barabasi_albert(agents, 2, seed=seed)
    hidden, stubbornness = agents_drawn(agents, seed)

    def run(name: str, network: Network, pressure: Schedule) -> Run:
        model = Model(network, hidden, stubbornness, pressure, Gaussian(noise))
        keep = Record(agents=[network.labels[0]])
        path = simulate(model, steps, seed=seed, record=keep)
        # The update is affine, so the mean path is the path without noise: exact, not sampled.
        expected = simulate(dataclasses.replace(model, noise=NoNoise()), steps, record="summaries")
        return Run(name, path, expected)

    return ConvergenceResult(
        seed=seed,
        slow_tree=run("slow_tree", tree, Linear()),
        fast_tree=run("fast_tree", tree, StretchedExponential()),
        fast_cycles=run("fast_cycles", cycles, StretchedExponential()),
    )


def agents_drawn(agents: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hidden opinions from U[0, 1] and stubbornness from U[0.5, 1]."""
    # A stream of its own: the graph is drawn from the bare seed, and must not share numbers with the opinions.
    rng = np.random.default_rng([seed, 1])
    return rng.uniform(0.0, 1.0, agents), rng.uniform(0.5, 1.0, agents)


def kept_times(steps: int) -> NDArray[np.int64]:
    """Return the times that tables hold: all early ones, some from each decade, and the last few.

    >>> kept_times(1000)[[0, 1, 150, -1]]
    array([   0,    1,  150, 1000])
    """
    decades = np.log10(steps)
    spaced = np.round(np.logspace(0, decades, int(PER_DECADE * decades) + 1)).astype(np.int64)
    early, late = np.arange(min(EARLY, steps) + 1), np.arange(max(steps - LATE, 0), steps + 1)
    return np.unique(np.concatenate([early, spaced[spaced <= steps], late]))


def _at(values: NDArray[Any] | None, times: Any) -> NDArray[np.float64]:
    """Return the first replicate's values at these times, of a run that kept every step."""
    assert values is not None, "the experiment records what it tabulates"
    return np.asarray(values[0][times], dtype=np.float64)


def _edges(name: str, network: Network) -> pd.DataFrame:
    sources, targets, _ = network.edges()
    return pd.DataFrame({"network": name, "source": sources + 1, "target": targets + 1})


# On what a network agrees when peer pressure grows too fast: many runs against the law that predicts them.

# By then ρ_t = 2^√t is past 1e9, and what is still to come is smaller than any figure shows.
LIMIT_STEPS = 1_000
REPLICATES = 4_000


@final
@dataclass(frozen=True, eq=False)
class WrongValues:
    """The values on which runs agreed, and the normal law predicted for them."""

    values: pd.DataFrame
    law: pd.DataFrame


def wrong_values(
    model: Model, *, replicates: int = REPLICATES, steps: int = LIMIT_STEPS, seed: int = SEED
) -> WrongValues:
    """Run the model under ρ_t = 2^√t many times, and predict where it ends; its network must have an odd cycle."""
    fast = replace(model, pressure=StretchedExponential())
    run, limit = simulate(fast, steps, replicates, seed=seed, record="final"), consensus_limit(fast)
    values = consensus_mode(fast)(run.final.public)
    law = {"mean": limit.mean, "std": limit.std, "consensus_value": fast.consensus_value}
    return WrongValues(pd.DataFrame({"run": run.replicates, "value": values}), pd.DataFrame([law]))
