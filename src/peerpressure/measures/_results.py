"""The tables of one experiment, as the scenario asks for them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from peerpressure.measures._experiment import Experiment, meetings
from peerpressure.model import Model
from peerpressure.scenario import Scenario
from peerpressure.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd


MOST_BUDGETS = 24  # times at which the budget is reckoned
NUMBER = 20  # characters of a number in a table, written in full
PAGES = 5_000_000  # bytes of figures and the page, which do not grow with the run


def results(experiment: Experiment) -> dict[str, pd.DataFrame]:
    """Return the tables: agents always, and what else there is to tell and is on record or asked for."""
    tables = {"agents": agents(experiment)}
    if experiment.run.spread is not None:
        tables["summaries"] = summaries(experiment)
    if experiment.model.temporal_network is not None:
        tables["network"] = network(experiment)
    if experiment.scenario.observe is not None:
        tables["estimates"] = estimates(experiment)
    if experiment.scenario.privacy is not None and isinstance(experiment.system, Model):
        tables["budget"] = spent(experiment)
        if experiment.frontier is not None:
            tables["frontier"] = experiment.frontier.table
    return tables


def states(run: Trajectory, most: int) -> Iterator[pd.DataFrame]:
    """Yield all that agents showed, in tables of about ``most`` rows: a run can be larger than a table in memory."""
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
                hidden=run.hidden if run.hidden_path is None else run.hidden_path[part],
                minimum=None,
                maximum=None,
                mean=None,
            ).to_dataframe()


def disk_needed(scenario: Scenario) -> int:
    """Return about how many bytes the results of a scenario take, a little more rather than less."""
    keep, n, replicates, output = (
        scenario.run.recording(),
        scenario.graph.n,
        scenario.run.replicates,
        scenario.output,
    )
    agents = n if keep.agents is None else len(keep.agents)
    times = math.ceil(scenario.run.steps / keep.every) + 1
    moving = 1 + (scenario.agents.adaptation is not None)
    label = 1 + max(len(str(name)) for name in scenario.graph.labels)
    methods = 0 if scenario.observe is None else len(scenario.observe.methods)
    rows = replicates * times
    total = rows * agents * 8 * moving * keep.states + rows * (40 + 40 + NUMBER * (1 + 4 * moving)) * keep.summaries
    total += rows * agents * (16 + label + NUMBER * moving) * (output.states and keep.states)
    total += n * (label + 10 * NUMBER) + replicates * n * (label + 24 + 3 * NUMBER) * methods
    total += scenario.run.steps * 32 * (scenario.temporal_network is not None)
    return total + PAGES * (output.figures or output.report) + 50_000


def summaries(experiment: Experiment) -> pd.DataFrame:
    """Return minimum, maximum, mean, spread and distance to v, one row for each replicate and time.

    Where hidden opinions adapt and those of all agents are on record, so are the extremes, the mean and the spread
    of hidden opinions.
    """
    import pandas as pd

    run = experiment.run
    rows, times = run.replicates.size, run.times.size
    columns: dict[str, Any] = {"replicate": np.repeat(run.replicates, times), "time": np.tile(run.times, rows)}
    for name in ("minimum", "maximum", "mean", "spread", "distance"):
        columns[name] = np.asarray(getattr(run, name)).ravel()
    hidden = run.hidden_path
    if hidden is not None and run.agents.size == run.model.n:
        columns |= {"hidden_minimum": hidden.min(axis=2).ravel(), "hidden_maximum": hidden.max(axis=2).ravel()}
        columns |= {"hidden_mean": hidden.mean(axis=2).ravel(), "hidden_spread": np.ptp(hidden, axis=2).ravel()}
    return pd.DataFrame(columns)


def network(experiment: Experiment) -> pd.DataFrame:
    """Return the number of edges, and of agents without a neighbour, in each step of a network that changes."""
    import pandas as pd

    assert experiment.model.temporal_network is not None
    rounds = np.arange(1, experiment.steps + 1)
    return pd.DataFrame({"time": rounds, **meetings(experiment.model.temporal_network, rounds)._asdict()})


def agents(experiment: Experiment) -> pd.DataFrame:
    """Return who the agents are and where they end, over replicates; with [privacy], how exposed they are."""
    import pandas as pd

    model, final = experiment.model, experiment.run.final.public
    columns: dict[str, Any] = {
        "agent": list(model.network.labels),
        "degree": model.network.degrees if model.network.is_weighted else model.network.degrees.astype(int),
        "stubbornness": model.s,
        "hidden": model.x0,
        "final_mean": final.mean(axis=0),
        "final_std": final.std(axis=0),
    }
    hidden = experiment.run.final.hidden
    if hidden is not None:
        columns |= {"final_hidden_mean": hidden.mean(axis=0), "final_hidden_std": hidden.std(axis=0)}
    if experiment.scenario.privacy is not None:
        told = experiment.exposure.table
        columns |= {name: told[name].to_numpy() for name in ("seen", "ratio", "bits", "rank")}
        columns["epsilon"] = experiment.budget.table["epsilon"].to_numpy()
        columns["epsilon_recorded"] = experiment.recorded_budget.table["epsilon"].to_numpy()
    return pd.DataFrame(columns)


def spent(experiment: Experiment) -> pd.DataFrame:
    """Return the information about the most exposed agent, and the ε that holds for all of them, over time.

    ``epsilon`` is that of one run with y₀ unseen, ``epsilon_recorded`` that of all that the run records; both hold at
    ``delta`` for opinions up to ``sensitivity`` apart.
    """
    import pandas as pd

    times = np.unique(np.geomspace(1, experiment.steps, MOST_BUDGETS).round().astype(int))
    told = [experiment.budget_after(int(t)) for t in times]
    columns = {name: [getattr(one, name) for one in told] for name in ("information", "epsilon")}
    columns["epsilon_recorded"] = [experiment.budget_after(int(t), recorded=True).epsilon for t in times]
    terms = {"delta": told[0].delta, "sensitivity": told[0].sensitivity}
    return pd.DataFrame({"time": times, **columns, **terms})


def estimates(experiment: Experiment) -> pd.DataFrame:
    """Return the estimated and the true hidden opinions by each method, one row for each replicate and agent."""
    import pandas as pd

    parts = [
        table.assign(method=method, hidden=experiment.truth.ravel())
        for method, estimate in experiment.estimates.items()
        for table in [estimate.to_dataframe()]
    ]
    return pd.concat(parts, ignore_index=True)[["method", "replicate", "agent", "hidden", "value", "std", "identified"]]
