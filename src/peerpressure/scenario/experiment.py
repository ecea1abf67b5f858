"""A scenario carried out: its run, verdict, estimates and privacy, and the tables of its results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.model import Model
from peerpressure.model.statespace import System
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.privacy import Budget, Definition, Exposure, Frontier, exposure, frontier
from peerpressure.privacy._budget import budget_of
from peerpressure.recovery import Estimate, NetworkEstimate, Observation, Target, recover
from peerpressure.scenario import Scenario
from peerpressure.scenario.scenario import Privacy
from peerpressure.scenario.section import as_labels
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.support.results import read_only
from peerpressure.theory import Verdict, diagnose

if TYPE_CHECKING:
    import pandas as pd
    from mpi4py.MPI import Intracomm


Counts: TypeAlias = NDArray[np.int64]
MOST_COMPARED = 200_000  # agents × steps up to which noise designs are compared in about a second
MOST_BUDGETS = 24  # times at which the privacy budget is computed


@final
@read_only
@dataclass(frozen=True, eq=False)
class Experiment:
    """A scenario and its results, each computed when first used.

    Parameters
    ----------
    scenario : Scenario
        The scenario.
    record : Record, optional
        What the simulation records, in place of what the scenario asks for.
    threshold : float, default 0.01
        Spread below which agents count as agreed.
    threads : int, optional
        Threads of the simulation.
    progress : bool, default False
        Whether the simulation reports its progress.
    stored : Trajectory, optional
        The run, if it was simulated before.
    comm : mpi4py.MPI.Intracomm, optional
        Processes that simulate it together.
    built : System, optional
        The system, if it was built before.

    See Also
    --------
    results : The tables of an experiment.
    measure : Single numbers of an experiment.

    Examples
    --------
    >>> from peerpressure.scenario import Experiment
    >>> from peerpressure.scenario import scenario_from
    >>> run = {"steps": 3, "seed": 1}
    >>> scenario = scenario_from({"network": {"generator": "k2"}, "agents": {"hidden": [0.0, 1.0]}, "run": run})
    >>> Experiment(scenario).run.final.public.shape
    (1, 2)
    """

    scenario: Scenario
    record: Record | None = None
    threshold: float = 0.01
    threads: int | None = None
    progress: bool = False
    stored: Trajectory | None = None
    comm: Intracomm | None = None
    built: System | None = None

    @cached_property
    def system(self) -> System:
        """The simulated system: the model, or its SDE where time is continuous."""
        # Cached, because building draws networks and agents, which is slow, and all results are about this system.
        return self.scenario.system() if self.built is None else self.built

    @property
    def model(self) -> Model:
        """The model."""
        return self.system.model

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.scenario.run.steps

    @property
    def is_continuous(self) -> bool:
        """Whether time is continuous; a stored run knows, and its equation may be unknown otherwise."""
        return self.system.is_continuous if self.stored is None else self.stored.equation is not None

    def with_sections(self, **sections: Any) -> Experiment:
        """Return the experiment on the same system with other sections, none of them one that describes the model.

        Parameters
        ----------
        **sections : Section
            Sections of the scenario, such as ``run`` or ``observe``.

        Returns
        -------
        Experiment
            Nothing of it is computed yet, and its system is not built again.
        """
        return replace(self, scenario=self.scenario.model_copy(update=sections), built=self.system)

    @cached_property
    def run(self) -> Trajectory:
        """The simulated run."""
        if self.stored is not None:
            return self.stored
        asked = self.scenario.run
        return simulate(
            self.system,
            asked.steps,
            asked.replicates,
            seed=asked.seed,
            record=self.record or asked.recording(),
            threads=self.threads,
            progress=self.progress,
            comm=self.comm,
        )

    @property
    def lists_states(self) -> bool:
        """Whether a table of all states is asked for and recorded."""
        return self.scenario.output.states and self.run.states is not None

    @cached_property
    def long_run(self) -> Verdict:
        """The long-run verdict."""
        # Without a number of steps nothing is simulated, so this is cheap also for long runs.
        return replace(diagnose(self.system), drawn=self.scenario.drawn_hidden)

    @cached_property
    def verdict(self) -> Verdict:
        """The long-run verdict, with the state at the end of the run."""
        return replace(diagnose(self.system, self.steps), drawn=self.scenario.drawn_hidden)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """The observer's estimates, by method."""
        # Without an observer in the scenario, the optimal estimator for an observer of all agents and steps.
        methods = ["innovations"] if self.scenario.observe is None else self.scenario.observe.methods
        look, prior = self.scenario.observation(), self.scenario.prior()
        found = [recover(self.run, self.system, method, look, prior, self.target) for method in methods]
        return {estimate.method: estimate for estimate in found}

    @cached_property
    def inferred_network(self) -> NetworkEstimate:
        """The network that an observer who does not know it infers from the run."""
        return self.scenario.infer_network(self.run)

    @property
    def target(self) -> Target:
        """Whether the observer estimates the initial or the current hidden opinions."""
        return "initial" if self.scenario.observe is None else self.scenario.observe.target

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """The true values of the estimates, (replicates, agents)."""
        run = self.run
        if self.target == "initial" or run.hidden_path is None:
            # Hidden opinions that do not adapt are the same at all times, so both targets are x₀.
            return np.broadcast_to(self.model.x0, run.final.public.shape)
        # The current opinion is that of the last observed time, not of the end of the run.
        last = self.scenario.observation().resolve(run.model, run.times).last
        return np.asarray(run.hidden_path[:, np.searchsorted(run.times, last)])

    @cached_property
    def exposure(self) -> Exposure:
        """What the observer learns about each agent."""
        seen = self.scenario.observation()
        return exposure(self.system, self.steps, seen, self.scenario.prior(), public_start=self.scenario.public_start)

    @cached_property
    def budget(self) -> Budget:
        """The privacy budget of one run, against an observer of every step from the first on."""
        return self.budget_after(self.steps)

    @cached_property
    def recorded_budget(self) -> Budget:
        """The privacy budget of the recorded data: all replicates, and y₀ unless only the final state is recorded."""
        return self.budget_after(self.steps, recorded=True)

    @cached_property
    def observer_budget(self) -> Budget | None:
        """The privacy budget against the observer of the scenario; None if that is one of everyone in one run."""
        runs = 1 if self.scenario.privacy is None else self.scenario.privacy.runs
        if self.scenario.observe is None or ((seen := self.scenario.observation()) == Observation() and runs == 1):
            return None
        return self.budget_after(self.steps, observed=seen)

    def budget_after(self, steps: int, *, recorded: bool = False, observed: Observation | None = None) -> Budget:
        """Return the privacy budget up to a step, of one run without y₀ or of all recorded data.

        Parameters
        ----------
        steps : int
            The number of steps, at least 1.
        recorded : bool, default False
            Whether to account for all that was recorded: every replicate, and y₀ if states or summaries are kept.
        observed : Observation, optional
            Which agents are observed, and when; by default everyone at every step.

        Returns
        -------
        Budget
            The account of every agent.
        """
        # A budget may be asked for without a [privacy] section, as the explorer does; its defaults apply then.
        asked, run = self.scenario.privacy or Privacy(), self.scenario.run
        # What is recorded in fact, which ``record`` may override: the guarantee is about the data that exist.
        keep = self.record or run.recording()
        definition = Definition(
            self.system,
            steps,
            asked.sensitivity,
            # Even a minimum or a mean of y₀ = x₀ has no noise on it.
            sees_start=recorded and (keep.states or keep.summaries),
            runs=run.replicates if recorded else asked.runs if observed is not None else 1,
            observed=observed,
            insiders=as_labels(asked.insiders),
            unit=asked.unit,
            public_start=self.scenario.public_start,
            # It is part of the scenario, and stored with the run.
            seed="known",
        )
        return budget_of(definition, asked.delta)

    @cached_property
    def frontier(self) -> Frontier | None:
        """The cost of other noise designs; None if that takes long, or the model is not that of the paper."""
        plain = not self.system.is_continuous and self.model.is_plain and self.model.network.is_simple
        if not plain or self.model.n * self.steps > MOST_COMPARED:
            return None
        asked = self.scenario.privacy or Privacy()
        horizons = np.unique(np.geomspace(1, self.steps, 5).round().astype(int))
        terms: dict[str, Any] = {"sensitivity": asked.sensitivity, "insiders": as_labels(asked.insiders)}
        terms |= {"unit": asked.unit, "public_start": self.scenario.public_start}
        return frontier(self.model, horizons.tolist(), np.geomspace(0.1, 10, 13), **terms)


def results(experiment: Experiment) -> dict[str, pd.DataFrame]:
    """Return the tables of an experiment: agents, and those that are recorded or asked for.

    Parameters
    ----------
    experiment : Experiment
        The experiment.

    Returns
    -------
    dict of str to pandas.DataFrame
        ``agents``; ``summaries`` if they are recorded; ``network`` for a temporal network; ``estimates`` for an
        observer, and ``inferred_network`` if it does not know the network; ``budget`` and ``frontier`` for privacy.

    See Also
    --------
    Experiment : The experiment itself.

    Examples
    --------
    >>> from peerpressure.scenario import Experiment, results
    >>> from peerpressure.scenario import scenario_from
    >>> run = {"steps": 3, "seed": 1}
    >>> scenario = scenario_from({"network": {"generator": "k2"}, "agents": {"hidden": [0.0, 1.0]}, "run": run})
    >>> list(results(Experiment(scenario)))
    ['summaries', 'agents']
    """
    return dict(tables_of(experiment))


def tables_of(experiment: Experiment) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the tables of an experiment by name, those first that need no more than the run."""
    if experiment.run.spread is not None:
        yield "summaries", summaries(experiment)
    if experiment.model.temporal_network is not None:
        yield "network", network(experiment)
    if experiment.scenario.observe is not None:
        yield "estimates", estimates(experiment)
        if experiment.scenario.observe.unknown_network is not None:
            yield "inferred_network", experiment.inferred_network.to_dataframe()
    yield "agents", agents(experiment)
    if experiment.scenario.privacy is not None and not experiment.system.is_continuous:
        yield "budget", spent(experiment)
        if experiment.frontier is not None:
            yield "frontier", experiment.frontier.table


def states(run: Trajectory, most: int) -> Iterator[pd.DataFrame]:
    """Yield the opinions of all agents at all steps as tables, piece by piece, as a run can exceed memory.

    Parameters
    ----------
    run : Trajectory
        A run with recorded states.
    most : int
        Number of rows of a table, up to which whole times are put into it; a table has at least one time.

    Yields
    ------
    pandas.DataFrame
        Rows as ``Trajectory.to_dataframe`` returns them, of one replicate.

    See Also
    --------
    summaries : Minimum, maximum and mean over agents.

    Examples
    --------
    >>> from peerpressure import Model, simulate
    >>> from peerpressure.scenario import states
    >>> from peerpressure.networks import k2
    >>> [len(table) for table in states(simulate(Model(k2(), hidden=[0.0, 1.0]), steps=4), most=4)]
    [4, 4, 2]
    """
    # Tables are cut between times, so each table has all agents of the times in it.
    assert run.states is not None
    stride = max(1, most // run.agents.size)
    for k in range(run.replicates.size):
        for first in range(0, run.times.size, stride):
            part = np.s_[k : k + 1], np.s_[first : first + stride]
            yield replace(
                run,
                replicates=run.replicates[part[0]],
                times=run.times[part[1]],
                states=run.states[part],
                # Constant hidden opinions have no axis of time to cut.
                hidden=run.hidden if run.hidden_path is None else run.hidden_path[part],
                # Summaries belong to whole runs and would not fit the cut axes.
                minimum=None,
                maximum=None,
                mean=None,
            ).to_dataframe()


def summaries(experiment: Experiment) -> pd.DataFrame:
    """Return minimum, maximum, mean, spread (max − min) and max_distance (max |y_i − v|) per replicate and time.

    Where closed classes or camps have values of their own, distances are those from the agents' own limits, and nan
    unless the states of all agents are recorded.

    Where hidden opinions adapt and all of them are recorded, ``hidden_minimum``, ``hidden_maximum``, ``hidden_mean``
    and ``hidden_spread`` follow.

    Parameters
    ----------
    experiment : Experiment
        The experiment.

    Returns
    -------
    pandas.DataFrame
        Columns ``replicate``, ``time`` and one for each summary.

    See Also
    --------
    states : The opinions of every agent.

    Examples
    --------
    >>> from peerpressure.scenario import Experiment, summaries
    >>> from peerpressure.scenario import scenario_from
    >>> parts = {"network": {"generator": "k2"}, "agents": {"hidden": [0.0, 1.0]}, "run": {"steps": 3}}
    >>> summaries(Experiment(scenario_from(parts)))["spread"].round(3).tolist()
    [1.0, 0.0, 0.333, 0.0]
    """
    import pandas as pd

    run = experiment.run
    rows, times = run.replicates.size, run.times.size
    columns: dict[str, Any] = {"replicate": np.repeat(run.replicates, times), "time": np.tile(run.times, rows)}
    for name in ("minimum", "maximum", "mean", "spread", "max_distance"):
        values = getattr(run, name)
        columns[name] = np.nan if values is None else values.ravel()
    hidden = run.hidden_path
    # Extremes over some of the agents would be mistaken for those of the network.
    if hidden is not None and run.agents.size == run.model.n:
        columns |= {"hidden_minimum": hidden.min(axis=2).ravel(), "hidden_maximum": hidden.max(axis=2).ravel()}
        columns |= {"hidden_mean": hidden.mean(axis=2).ravel(), "hidden_spread": np.ptp(hidden, axis=2).ravel()}
    return pd.DataFrame(columns)


def agent_columns(network: Network) -> dict[str, Any]:
    """Return the columns of a table that name the agents of a network, and have their degrees."""
    # Whole degrees are written without a decimal point.
    degrees = network.degrees if network.is_weighted else network.degrees.astype(int)
    return {**network.name_columns(), "degree": degrees}


def network_table(scenario: Scenario, axes: Iterable[str]) -> pd.DataFrame | None:
    """Return the agents of a network that is the same in all units of a sweep, with hidden opinions that are too.

    Parameters
    ----------
    scenario : Scenario
        The scenario of the sweep.
    axes : iterable of str
        The fields that vary.

    Returns
    -------
    pandas.DataFrame or None
        Columns ``agent``, ``degree`` and ``hidden``; None if networks are drawn for each unit, or vary.

    See Also
    --------
    Experiment : One unit carried out.

    Examples
    --------
    >>> from peerpressure.scenario import network_table
    >>> from peerpressure.scenario import scenario_from
    >>> scenario = scenario_from({"network": {"generator": "k2"}, "run": {"steps": 3}})
    >>> network_table(scenario, ["noise.std"])["degree"].tolist()
    [1, 1]
    """
    import pandas as pd

    sections = {axis.partition(".")[0] for axis in axes}
    parts = [scenario.network, getattr(scenario.network, "dynamics", None)]
    # A seed that is left out is that of the unit; what has no seed is the same for all.
    drawn = any(getattr(part, "seed", 0) is None for part in parts)
    if drawn or sections & {"network", "topics"}:
        return None
    columns = agent_columns(scenario.graph)
    if scenario.drawn_hidden is None and "agents" not in sections:
        columns["hidden"] = scenario.model().x0
    return pd.DataFrame(columns)


def network(experiment: Experiment) -> pd.DataFrame:
    """Return the number of edges and of isolated agents in each step of a temporal network."""
    import pandas as pd

    assert experiment.model.temporal_network is not None
    times = np.arange(1, experiment.steps + 1)
    return pd.DataFrame({"time": times, **network_counts(experiment.model.temporal_network, times)._asdict()})


def agents(experiment: Experiment) -> pd.DataFrame:
    """Return the agents with their final opinions over replicates and, with [privacy], their exposure."""
    import pandas as pd

    model, final = experiment.model, experiment.run.final.public
    columns: dict[str, Any] = {
        **agent_columns(model.network),
        "stubbornness": model.s,
        "hidden": model.x0,
        "final_mean": final.mean(axis=0),
        "final_std": pd.DataFrame(final).std().to_numpy(),
    }
    hidden = experiment.run.final.hidden
    if hidden is not None:
        columns |= {"final_hidden_mean": hidden.mean(axis=0), "final_hidden_std": pd.DataFrame(hidden).std().to_numpy()}
    if experiment.scenario.privacy is not None:
        exposed = experiment.exposure.table
        columns |= {name: exposed[name].to_numpy() for name in ("seen", "ratio", "bits", "rank")}
        # Insiders have no row in a budget: they are part of the observer.
        columns["epsilon"] = _by_row(experiment.budget)
        columns["epsilon_recorded"] = _by_row(experiment.recorded_budget)
    return pd.DataFrame(columns)


def _by_row(account: Budget) -> NDArray[np.float64]:
    """Return the ε of each opinion, that of its person where persons are protected; nan of insiders."""
    definition = account.definition
    units = account.table["epsilon"].reindex(list(definition.unit_labels)).to_numpy()
    return np.repeat(units, definition.rows_per_unit)


def spent(experiment: Experiment) -> pd.DataFrame:
    """Return over time the information about the most exposed agent, and the ε that holds for all agents.

    ``epsilon`` is that of one run without y₀, ``epsilon_recorded`` that of all recorded data; both hold at ``delta``
    for opinions that differ by up to ``sensitivity``.
    """
    import pandas as pd

    # Each budget is a computation of its own, so few times, evenly spaced on a logarithmic axis, are used.
    times = np.unique(np.geomspace(1, experiment.steps, MOST_BUDGETS).round().astype(int))
    budgets = [experiment.budget_after(int(t)) for t in times]
    columns = {name: [getattr(one, name) for one in budgets] for name in ("information", "epsilon")}
    columns["epsilon_recorded"] = [experiment.budget_after(int(t), recorded=True).epsilon for t in times]
    terms = {"delta": budgets[0].delta, "sensitivity": budgets[0].definition.sensitivity}
    return pd.DataFrame({"time": times, **columns, **terms})


def estimates(experiment: Experiment) -> pd.DataFrame:
    """Return estimated and true hidden opinions, one row per method, replicate and agent.

    Parameters
    ----------
    experiment : Experiment
        An experiment whose scenario has an [observe] section.

    Returns
    -------
    pandas.DataFrame
        Columns ``method``, ``replicate``, ``agent``, ``hidden``, ``value``, ``std`` and ``identified``; ``topic`` after
        ``agent`` on a network with topics.

    See Also
    --------
    summaries : The public opinions over time.
    peerpressure.recover : Estimates hidden opinions from a run.

    Examples
    --------
    >>> from peerpressure.scenario import Experiment, estimates
    >>> from peerpressure.scenario import scenario_from
    >>> parts = {"network": {"generator": "k2"}, "noise": {"law": "gaussian", "std": 0.5}}
    >>> parts |= {"observe": {"methods": ["kalman"]}, "run": {"steps": 9, "seed": 1}}
    >>> estimates(Experiment(scenario_from(parts))).shape
    (2, 7)
    """
    import pandas as pd

    parts = [
        table.assign(method=method, hidden=experiment.truth.ravel())
        for method, estimate in experiment.estimates.items()
        for table in [estimate.to_dataframe()]
    ]
    names = [*experiment.model.network.name_columns([])]
    return pd.concat(parts, ignore_index=True)[["method", "replicate", *names, "hidden", "value", "std", "identified"]]


class NetworkCounts(NamedTuple):
    """The number of edges and of isolated agents at some steps."""

    edges: Counts
    isolated: Counts


def network_counts(network: TemporalNetwork, times: ArrayLike) -> NetworkCounts:
    """Return the number of edges and of isolated agents at each of the steps.

    >>> network_counts(TemporalNetwork([1, 1, 4], [0, 1, 0], [1, 2, 1], [1, 1, 0]), [1, 4])
    NetworkCounts(edges=array([2, 1]), isolated=array([0, 1]))
    """
    given = np.asarray(times, dtype=np.int64)
    # In a periodic network only the phase matters; steps count from 1.
    steps = given if network.period is None else (given - 1) % network.period + 1
    # 64-bit codes: the product of two 32-bit positions overflows for more than 46,340 agents.
    pairs = network.sources * np.int64(network.n) + network.targets
    begun = _changes(pairs, network.weights > 0)
    # Counts come from the sorted events, not from one matrix per step: the time needed grows with events, not with
    # steps × edges.
    edges = _running(network.event_times, begun, steps)
    return NetworkCounts(edges, network.n - _with_neighbours(network, begun, steps))


def _with_neighbours(network: TemporalNetwork, begun: Counts, steps: Counts) -> Counts:
    """Return the number of agents with a neighbour at each of the steps, from the edges that begin (1) or end (−1)."""
    ends, when = np.concatenate([network.sources, network.targets]), np.tile(network.event_times, 2)
    # Sorted by agent and then by time, so one running sum counts the neighbours of all agents.
    order = np.lexsort((when, ends))
    agents, when, total = ends[order], when[order], np.cumsum(np.tile(begun, 2)[order])
    # The count after the last event of a step is the count of the step; appending −1 closes the last group.
    last = np.flatnonzero(np.diff(agents, append=-1) | np.diff(when, append=-1))
    # The running sum before an agent's first event is the total of all agents before it.
    others = np.append(0, total)[np.searchsorted(agents, agents[last])]
    # An agent becomes connected or isolated where its count leaves or reaches 0.
    joined = _changes(agents[last], total[last] > others)
    in_time = np.argsort(when[last], kind="stable")
    return _running(when[last][in_time], joined[in_time], steps)


def _changes(groups: NDArray[np.integer[Any]], states: NDArray[np.bool_]) -> Counts:
    """Return the change of each state from the previous one of its group; the first changes from none."""
    order = np.argsort(groups, kind="stable")
    first = np.diff(groups[order], prepend=-1) != 0
    ordered = states[order].astype(np.int64)
    change = np.empty_like(ordered)
    change[order] = np.where(first, ordered, np.diff(ordered, prepend=0))
    return change


def _running(when: Counts, change: Counts, steps: Counts) -> Counts:
    """Return the sum of the changes up to each of the steps."""
    # side="right" includes the events at the step itself, which apply when y_t is computed.
    return np.append(0, np.cumsum(change))[np.searchsorted(when, steps, side="right")]
