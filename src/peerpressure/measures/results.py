"""The tables of one experiment, as the scenario asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from peerpressure.measures.experiment import Experiment

if TYPE_CHECKING:
    import pandas as pd


def results(experiment: Experiment) -> dict[str, pd.DataFrame]:
    """Return the tables: agents always, and summaries, estimates and states where they are on record and asked for."""
    tables = {"agents": agents(experiment)}
    if experiment.run.spread is not None:
        tables["summaries"] = summaries(experiment)
    if experiment.scenario.observe is not None:
        tables["estimates"] = estimates(experiment)
    if experiment.scenario.output.states and experiment.run.states is not None:
        tables["states"] = experiment.run.to_dataframe()
    return tables


def summaries(experiment: Experiment) -> pd.DataFrame:
    """Return minimum, maximum, mean, spread and distance to v, one row for each replicate and time."""
    import pandas as pd

    run = experiment.run
    rows, times = run.replicates.size, run.times.size
    columns: dict[str, Any] = {"replicate": np.repeat(run.replicates, times), "time": np.tile(run.times, rows)}
    for name in ("minimum", "maximum", "mean", "spread", "distance"):
        columns[name] = np.asarray(getattr(run, name)).ravel()
    return pd.DataFrame(columns)


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
    if experiment.scenario.privacy is not None:
        told = experiment.exposure.table
        columns |= {name: told[name].to_numpy() for name in ("seen", "ratio", "bits", "rank")}
        columns["epsilon"] = experiment.budget.table["epsilon"].to_numpy()
    return pd.DataFrame(columns)


def estimates(experiment: Experiment) -> pd.DataFrame:
    """Return the estimated hidden opinions by each method, one row for each replicate and agent."""
    import pandas as pd

    hidden = experiment.model.x0
    parts = [
        table.assign(method=method, hidden=np.tile(hidden, len(table) // hidden.size))
        for method, estimate in experiment.estimates.items()
        for table in [estimate.to_dataframe()]
    ]
    return pd.concat(parts, ignore_index=True)[["method", "replicate", "agent", "hidden", "value", "std", "identified"]]
