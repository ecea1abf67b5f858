"""A network that changes in numbers: how many edges it has in each step, and how many agents are alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import TemporalNetwork
from peerpressure.privacy import Budget, Exposure, Frontier, budget, exposure, frontier
from peerpressure.recovery import Estimate, Target, recover
from peerpressure.scenario import Scenario
from peerpressure.scenario._scenario import Privacy
from peerpressure.sde import SDE
from peerpressure.simulation import Record, simulate
from peerpressure.storage import read_frame
from peerpressure.tables import naming
from peerpressure.theory import Verdict, diagnose
from peerpressure.trajectory import Trajectory

Counts: TypeAlias = NDArray[np.int64]


class Meetings(NamedTuple):
    """The number of edges, and of agents without a neighbour, at some steps."""

    edges: Counts
    alone: Counts


def meetings(network: TemporalNetwork, times: ArrayLike) -> Meetings:
    """Return how many edges there are at each of the steps, and how many agents are alone.

    >>> meetings(TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0]), [1, 4])
    Meetings(edges=array([2, 1]), alone=array([0, 1]))
    """
    asked = np.asarray(times, dtype=np.int64)
    rounds = asked if network.period is None else (asked - 1) % network.period + 1
    pairs = network.sources * np.int64(network.n) + network.targets
    begun = _changes(pairs, network.weights > 0)
    edges = _running(network.event_times, begun, rounds)
    return Meetings(edges, network.n - _with_neighbours(network, begun, rounds))


def _with_neighbours(network: TemporalNetwork, begun: Counts, rounds: Counts) -> Counts:
    """Return how many agents have a neighbour at each of the steps, from the edges that begin (1) or end (−1)."""
    ends, when = np.concatenate([network.sources, network.targets]), np.tile(network.event_times, 2)
    order = np.lexsort((when, ends))
    agents, when, total = ends[order], when[order], np.cumsum(np.tile(begun, 2)[order])
    # What an agent has after all that happens in a step is what it has there.
    last = np.flatnonzero(np.diff(agents, append=-1) | np.diff(when, append=-1))
    others = np.append(0, total)[np.searchsorted(agents, agents[last])]
    joined = _changes(agents[last], total[last] > others)
    in_time = np.argsort(when[last], kind="stable")
    return _running(when[last][in_time], joined[in_time], rounds)


def _changes(groups: NDArray[np.integer[Any]], states: NDArray[np.bool_]) -> Counts:
    """Return by how much each state differs from the one before it in its group; before the first there was none."""
    order = np.argsort(groups, kind="stable")
    first = np.diff(groups[order], prepend=-1) != 0
    ordered = states[order].astype(np.int64)
    change = np.empty_like(ordered)
    change[order] = np.where(first, ordered, np.diff(ordered, prepend=0))
    return change


def _running(when: Counts, change: Counts, rounds: Counts) -> Counts:
    """Return the sum of the changes up to each of the steps."""
    return np.append(0, np.cumsum(change))[np.searchsorted(when, rounds, side="right")]


# A scenario carried out: its run, its verdict, and what an observer makes of it, each computed when asked for.

MOST_COMPARED = 200_000  # agents × steps up to which ways of hiding are compared in about a second


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A scenario with all that follows from it.

    ``record`` takes the place of what the scenario keeps, and ``threshold`` is the spread below which agents count as
    agreed; ``threads`` and ``progress`` go to the simulation.
    """

    scenario: Scenario
    record: Record | None = None
    threshold: float = 0.01
    threads: int | None = None
    progress: bool = False

    @cached_property
    def system(self) -> Model | SDE:
        """What is run: the model, or its equation where time is continuous."""
        return self.scenario.system()

    @property
    def model(self) -> Model:
        """The model."""
        return self.system.model if isinstance(self.system, SDE) else self.system

    @property
    def steps(self) -> int:
        """The length of the run."""
        return self.scenario.run.steps

    @cached_property
    def run(self) -> Trajectory:
        """The run."""
        asked = self.scenario.run
        return simulate(
            self.system,
            asked.steps,
            asked.replicates,
            seed=asked.seed,
            record=self.record or asked.recording(),
            threads=self.threads,
            progress=self.progress,
        )

    @property
    def lists_states(self) -> bool:
        """Whether a table of all that agents showed was asked for and is on record."""
        return self.scenario.output.states and self.run.states is not None

    @cached_property
    def long_run(self) -> Verdict:
        """What becomes of the agents, whatever the length of the run."""
        return diagnose(self.system)

    @cached_property
    def verdict(self) -> Verdict:
        """What becomes of the agents, and where they stand at the end."""
        return diagnose(self.system, self.steps)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """What the observer makes of the run, by each method."""
        methods = ["innovations"] if self.scenario.observe is None else self.scenario.observe.methods
        look, prior = self.scenario.observation(), self.scenario.prior()
        return {method: recover(self.system, self.run, method, look, prior, self.target) for method in methods}

    @property
    def target(self) -> Target:
        """Whether the observer is after what agents held at first, or after what they hold in the end."""
        return "initial" if self.scenario.observe is None else self.scenario.observe.target

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """What the estimates are of, (replicates, agents)."""
        run = self.run
        if self.target == "initial" or run.hidden_path is None:
            return np.broadcast_to(self.model.x0, run.final.public.shape)
        last = self.scenario.observation().resolve(run.model, run.times).last
        return np.asarray(run.hidden_path[:, np.searchsorted(run.times, last)])

    @cached_property
    def exposure(self) -> Exposure:
        """What the observer learns about each agent."""
        return exposure(self.system, self.steps, self.scenario.observation(), self.scenario.prior())

    @cached_property
    def budget(self) -> Budget:
        """The privacy of one run, against an observer of every step but the start."""
        return self.budget_after(self.steps)

    @cached_property
    def recorded_budget(self) -> Budget:
        """The privacy of what the run records: all its replicates, and y₀ unless only the final state is kept."""
        return self.budget_after(self.steps, recorded=True)

    def budget_after(self, steps: int, *, recorded: bool = False) -> Budget:
        """Return the privacy up to some step, of one run with y₀ unseen or of all that is recorded."""
        asked, run = self.scenario.privacy or Privacy(), self.scenario.run
        keep = self.record or run.recording()
        return budget(
            self.system,
            steps,
            asked.sensitivity,
            asked.delta,
            # Even a minimum or a mean of y₀ = x₀ has no noise on it.
            sees_start=recorded and (keep.states or keep.summaries),
            runs=run.replicates if recorded else 1,
        )

    @cached_property
    def frontier(self) -> Frontier | None:
        """What other ways of hiding would cost; None where that takes long, or the model is not the plain one."""
        plain = isinstance(self.system, Model) and self.model.is_plain
        if not plain or self.model.n * self.steps > MOST_COMPARED:
            return None
        asked = self.scenario.privacy or Privacy()
        horizons = np.unique(np.geomspace(1, self.steps, 5).round().astype(int))
        return frontier(self.model, horizons.tolist(), np.geomspace(0.1, 10, 13), sensitivity=asked.sensitivity)


# Outputs that were made elsewhere, as a run of the system that is taken to have made them.

ROUNDING = 1e-6  # by how much of a step a time may miss the one that it stands for


def read_outputs(path: str | Path, system: Model | SDE) -> Trajectory:
    """Return the outputs in a file, laid out as ``Trajectory.from_csv`` takes them; an SDE has real times."""
    if isinstance(system, Model):
        return Trajectory.from_csv(path, system)
    import pandas as pd

    with naming(path, "a file of outputs"):
        frame = read_frame(path, system.model)
        steps = pd.to_numeric(frame["time"], errors="coerce").to_numpy(dtype=np.float64) / system.step
        off = np.flatnonzero(~(np.abs(steps - np.rint(steps)) <= ROUNDING))
        if off.size:
            rule = f"outputs must be seen at multiples of the step {system.step:g}"
            got = f"time {frame['time'].iloc[off[0]]} in line {frame.index[off[0]]}"
            raise InvalidInputError(message(rule, got=got, remedy="set the step of [time] to that of the outputs"))
        run = Trajectory.from_dataframe(frame.assign(time=np.rint(steps)), system.model)
    return replace(run, times=run.times * np.float64(system.step))
