"""Continuous time: the density of two agents, the convergence of Euler steps, and an oscillation that decays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from peerpressure.model import Model
from peerpressure.networks import barabasi_albert, k2
from peerpressure.noise import Gaussian
from peerpressure.reproduction.design import NOISE, SEED, agents_drawn, log_spaced_times, scale_free_model, stream
from peerpressure.schedules import Linear, StretchedExponential
from peerpressure.sde import SDE, DensityPath, solve_density
from peerpressure.sde.convergence import HALVINGS, shrinking_steps, strong_errors, weak_errors
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.theory import consensus_limit, diagnose
from peerpressure.theory.propagation import consensus_mode

PAIR_HIDDEN = (0.0, 1.0)
# Different: v is not the midpoint, and the agents approach it on an asymmetric path.
PAIR_STUBBORNNESS = (1.0, 2.0)
PAIR_NOISE = 0.3
# From the start, which is a point mass, some time must pass before a grid can resolve the density. Log-spaced,
# because the density changes most at first.
FRAMES = tuple(np.geomspace(0.2, 5.0, 25).tolist())
CELLS = 100
VISIBLE = 1e-3  # of the peak; lower densities are white in every figure
EULER_AGENTS = 20
EULER_END = 6.0
STEPS = HALVINGS[1:]
STRONG_REPLICATES = 100
# The reference path has steps this many times shorter than the finest; with errors of order 1 that biases the
# measured error of the finest by about an eighth.
FINER = 8
TREE_AGENTS = 100
OSCILLATION_END = 1_000
# Far shorter than the time scale of any agent, and a power of two, which makes times exact.
OSCILLATION_STEP = 1 / 32
LIMIT_TOLERANCE = 1e-4


def continuous_time(seed: int = SEED) -> dict[str, pd.DataFrame]:
    """Return the tables on continuous time.

    Parameters
    ----------
    seed : int, default 14
        Seed of graphs, agents and noise.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables of ``density_tables``, ``euler_tables`` and ``oscillation_tables``, which document the columns.

    See Also
    --------
    convergence : The discrete model.

    Examples
    --------
    ::

        continuous_time()["weak_errors"].columns.tolist()
    """
    return density_tables() | euler_tables(seed) | oscillation_tables(seed)


def euler_tables(seed: int = SEED, *, replicates: int = STRONG_REPLICATES) -> dict[str, pd.DataFrame]:
    """Return the convergence of Euler steps to the SDE as the step length decreases.

    Tables
    ------
    shrinking_steps
        step (0 for the SDE), time, mean, std: exact moments of the consensus mode; a step of length 1 is the discrete
        model.
    weak_errors
        step, mean_error, std_error: largest error over agents of Euler's mean and standard deviation at the end, exact.
    strong_errors
        step, error, standard_error: root mean square difference at the end between an Euler path and the path that the
        same noise drives in much finer steps.
    """
    plain = scale_free_model(seed, agents=EULER_AGENTS)
    model = replace(plain, pressure=Linear.tuned(plain.network, plain.s))
    # With the noise of the discrete model, steps of length 1 are the model itself.
    equation, own = SDE(model, scaling="model"), stream(seed, "strong errors")
    return {
        "shrinking_steps": shrinking_steps(equation, EULER_END, consensus_mode(model).weights),
        "weak_errors": weak_errors(equation, EULER_END, STEPS),
        "strong_errors": strong_errors(equation, EULER_END, STEPS, replicates=replicates, seed=own, finer=FINER),
    }


def pair_sde() -> SDE:
    """Return two agents of different stubbornness under ρ = t, with the noise term as printed."""
    return SDE(Model(k2(), PAIR_HIDDEN, PAIR_STUBBORNNESS, noise=Gaussian(PAIR_NOISE)))


def density_tables(*, cells: int = CELLS) -> dict[str, pd.DataFrame]:
    """Solve the Fokker–Planck equation of two agents on a grid, and compare it with the exact law.

    Tables
    ------
    density_law
        time, mean_1, mean_2, variance_1, variance_2, covariance, error: the exact Gaussian law, and the L¹ error
        ∫ |p − p_exact| of the density on the grid.
    density_cells
        time, column, row, density: the density on the grid, in cells above a thousandth of its peak.
    density_grid
        agent, hidden, stubbornness, low, high, cells, consensus_value, mass_error, lowest: the grid's axis of each
        agent; mass_error and lowest are the worst over all steps of the solver.
    """
    pair = pair_sde()
    path = solve_density(pair, FRAMES, list(pair.network.labels), cells=cells)
    return {"density_law": _law(path), "density_cells": _cells(path), "density_grid": _grid(path, pair)}


def _law(path: DensityPath) -> pd.DataFrame:
    rows = [
        {
            "time": float(path.times[i]),
            "mean_1": law.mean[0],
            "mean_2": law.mean[1],
            "variance_1": law.covariance[0, 0],
            "variance_2": law.covariance[1, 1],
            "covariance": law.covariance[0, 1],
            "error": path.error(i),
        }
        for i, law in enumerate(path.exact)
    ]
    return pd.DataFrame(rows)


def _cells(path: DensityPath) -> pd.DataFrame:
    parts = []
    # Sparse: most cells of the grid are empty at any time, and the table would be mostly zeros.
    for time, density in zip(path.times, path.density, strict=True):
        columns, rows = np.nonzero(density > VISIBLE * density.max())
        own = {"column": columns, "row": rows, "density": density[columns, rows]}
        parts.append(pd.DataFrame({"time": float(time)} | own))
    return pd.concat(parts, ignore_index=True)


def _grid(path: DensityPath, pair: SDE) -> pd.DataFrame:
    rows = [
        {
            "agent": i + 1,
            "hidden": float(pair.x0[i]),
            "stubbornness": float(pair.s[i]),
            "low": float(edges[0]),
            "high": float(edges[-1]),
            "cells": edges.size - 1,
            "consensus_value": pair.consensus_value,
            # Repeated in each row, because a table has no other place for facts about the whole solution.
            "mass_error": path.mass_error,
            "lowest": path.lowest,
        }
        for i, edges in enumerate(path.grid.edges)
    ]
    return pd.DataFrame(rows)


def oscillation_tables(seed: int = SEED, *, agents: int = TREE_AGENTS) -> dict[str, pd.DataFrame]:
    """Simulate a tree under ρ = 2^√t in discrete and in continuous time, and predict the limit of each.

    Tables
    ------
    oscillation_paths
        dynamics (discrete, continuous), time, minimum, maximum, agent_1, oscillation: one run; oscillation is the
        change of agent 1 within the last unit of time.
    oscillation_limits
        dynamics, side (first, second, both), mean, std, consensus_value: the predicted law of the limit; in discrete
        time the two sides of the tree alternate between two values, given here at even times.
    """
    pressure, noise = StretchedExponential(), Gaussian(NOISE)
    model = Model(barabasi_albert(agents, 1, seed=seed), *agents_drawn(agents, seed), pressure, noise)
    equation = SDE(model, OSCILLATION_STEP, "model", "euler")
    # The stream keeps its former name, which is hashed into the seed. Only agent 1 is recorded.
    own, keep = stream(seed, "swing"), [model.network.labels[0]]
    discrete = simulate(model, OSCILLATION_END, seed=own, record=Record(agents=keep))
    # Recorded once per unit of time, the continuous run has the times of the discrete one.
    per_unit = round(1 / OSCILLATION_STEP)
    continuous = simulate(equation, OSCILLATION_END * per_unit, seed=own, record=Record(agents=keep, every=per_unit))
    law, agreed = diagnose(model).law, consensus_limit(equation, tolerance=LIMIT_TOLERANCE)
    # On a bipartite graph the limit is periodic: the two sides exchange two values.
    assert law.turns is not None
    ends = [("discrete", side, law.turns[i], law.std[0]) for i, side in enumerate(("first", "second"))]
    ends.append(("continuous", "both", agreed.mean, agreed.std))
    limits = pd.DataFrame(ends, columns=["dynamics", "side", "mean", "std"])
    paths = [_path("discrete", discrete), _path("continuous", continuous)]
    return {
        "oscillation_paths": pd.concat(paths, ignore_index=True),
        "oscillation_limits": limits.assign(consensus_value=model.consensus_value),
    }


def _path(dynamics: str, run: Trajectory) -> pd.DataFrame:
    """Return the rows of a run that was recorded at whole times."""
    recorded = (run.minimum, run.maximum, run.states)
    low, high, states = (np.asarray(values)[0] for values in recorded)
    agent, times = states[:, 0], log_spaced_times(OSCILLATION_END)
    columns = {"minimum": low[times], "maximum": high[times], "agent_1": agent[times]}
    # np.diff has no entry for time 0; entry t − 1 is the change that ends at t.
    columns["oscillation"] = np.abs(np.diff(agent))[times - 1]
    return pd.DataFrame({"dynamics": dynamics, "time": times} | columns)
