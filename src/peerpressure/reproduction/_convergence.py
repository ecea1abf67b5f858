"""Consensus under slow and fast peer pressure: when agents agree, on what, how fast, and whether noise slows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert, k2
from peerpressure.noise import Gaussian, NoNoise
from peerpressure.reproduction.design import (
    AGENTS,
    NOISE,
    NORMAL_95,
    SEED,
    agents_drawn,
    check_replications,
    consensus_errors,
    log_spaced_times,
    stream,
)
from peerpressure.schedules import Formula, Linear, Power, Schedule, StretchedExponential
from peerpressure.simulation import simulate
from peerpressure.simulation.recording import Record
from peerpressure.simulation.trajectory import Trajectory
from peerpressure.theory import consensus_limit, contraction_product, ideal_deviation
from peerpressure.theory._classification import classify
from peerpressure.theory.propagation import consensus_mode, moments

STEPS = 100_000
# 2^√t exceeds t only from t = 16 on, and the failures take some time after that.
LEAST_STEPS = 100
# The tables contain the first and the last steps one by one, for readers to follow an oscillation.
EARLY = 150
LATE = 24
# More than other tables have: the paths are those of single noisy runs, whose extremes are irregular.
KEPT_PER_DECADE = 60
# By then ρ_t = 2^√t is past 1e9, and the remaining change is smaller than any figure can show.
LIMIT_STEPS = 1_000
# The standard deviation of the limit is then known to about 1 %, enough to test the predicted law.
REPLICATES = 4_000
# On both sides of the condition: Σ 1/ρ_t diverges for the first two and converges for the others.
SCHEDULES: Sequence[Schedule] = (Linear(), Formula("t*log(1 + t)"), Power(1.5), StretchedExponential())
PATHS = 6
# Graphs on which a swing is followed, and the times: within the range of the paper's figure, and well beyond it.
GRAPHS = 5
WATCHED = (100, 500, 2_000)


@final
@dataclass(frozen=True, eq=False)
class ConvergenceRun:
    """One schedule on one network: a noisy path, and the expected path, which is the path without noise."""

    name: str
    path: Trajectory
    expected: Trajectory

    @property
    def model(self) -> Model:
        """The simulated model."""
        return self.path.model

    def table(self) -> pd.DataFrame:
        """Return the rows of this run in the table ``paths``."""
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
                "max_distance": _at(self.path.max_distance, times),
                "expected_minimum": _at(self.expected.minimum, times),
                "expected_maximum": _at(self.expected.maximum, times),
            }
        )

    def summary(self) -> dict[str, Any]:
        """Return the final state as a row of the table ``summary``."""
        # Under a periodic limit the last change of one agent is the distance between the two values of its side.
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
            "max_distance": float(_at(self.path.max_distance, [-1])[0]),
            "oscillation": float(abs(path[-1] - path[-2])),
            "predicted": classify(self.model).outcome.name.lower(),
        }


@final
@dataclass(frozen=True, eq=False)
class ConvergenceResult:
    """Runs from one start, in the order of the figures: slow pressure on the first graph, and fast pressure on each."""

    runs: tuple[ConvergenceRun, ...]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        agents
            agent, hidden, stubbornness, degree_tree, degree_triangle, degree_cycles.
        edges
            network (tree, triangle, cycles), source, target: agents are numbered from 1.
        paths
            run (slow_tree, fast_tree, fast_triangle, fast_cycles), time, minimum, maximum, mean, agent_1, spread,
            max_distance, expected_minimum, expected_maximum: spread is max − min over agents, max_distance is
            max |y_i − v|, and the expected extremes are those of the exact mean path.
        summary
            run, bipartite, edges, pressure, steps, consensus_value, mean, spread, max_distance, oscillation, predicted:
            the final state; oscillation is the last change of agent 1, predicted the outcome that theory gives.
        """
        return {
            "agents": self._agents(),
            "edges": pd.concat([_edges(*network) for network in self._networks.items()], ignore_index=True),
            "paths": pd.concat([run.table() for run in self.runs], ignore_index=True),
            "summary": pd.DataFrame([run.summary() for run in self.runs]),
        }

    @property
    def _networks(self) -> dict[str, Network]:
        return {run.name.partition("_")[2]: run.model.network for run in self.runs}

    def _agents(self) -> pd.DataFrame:
        model = self.runs[0].model
        degrees = {f"degree_{name}": network.degrees.astype(int) for name, network in self._networks.items()}
        own = {"agent": np.arange(1, model.n + 1), "hidden": model.x0, "stubbornness": model.s}
        return pd.DataFrame(own | degrees)


def convergence(
    seed: int = SEED,
    steps: int = STEPS,
    *,
    agents: int = AGENTS,
    noise: float = NOISE,
    graph: Network | None = None,
    pressure: Schedule | None = None,
    graph_name: str = "",
) -> ConvergenceResult:
    """Simulate slow and fast peer pressure from one start.

    The runs are ρ_t = t and ρ_t = 2^√t on a scale-free tree, and ρ_t = 2^√t on two scale-free graphs with odd cycles:
    one edge per round from a triangle, as Mathematica's generator grows it, and two edges per round.
    Hidden opinions are uniform on [0, 1], stubbornness is uniform on [0.5, 1], and the noise is normal.

    Parameters
    ----------
    seed : int, default 14
        Seed of graphs, agents and noise.
    steps : int, default 100,000
        Length of the runs, 100 or more.
    agents : int, default 100
        Number of agents.
    noise : float, default 0.25
        Standard deviation σ₀ of the noise.
    graph : Network, optional
        A graph in the place of the three scale-free ones, with agents of its own number.
    pressure : Schedule, optional
        Fast pressure in the place of 2^√t.
    graph_name : str, optional
        What that graph is, for the names of the runs and the titles of figures.

    Returns
    -------
    ConvergenceResult
        The runs; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than 100 steps.

    See Also
    --------
    noise_levels : The effect of σ₀ on convergence.

    Examples
    --------
    >>> convergence(steps=100, agents=20).tables()["summary"]["run"].tolist()
    ['slow_tree', 'fast_tree', 'fast_triangle', 'fast_cycles']
    """
    if steps < LEAST_STEPS:
        rule = f"the convergence experiment needs at least {LEAST_STEPS} steps"
        raise InvalidInputError(message(rule, got=steps, remedy="a failure to agree does not show sooner"))
    # One edge per step gives a tree, hence a bipartite graph, unless the growth starts from an odd cycle; two edges
    # give many odd cycles.
    graphs = (
        {f"graph {graph_name}".strip(): graph}
        if graph is not None
        else {
            "tree": barabasi_albert(agents, 1, seed=seed),
            "triangle": barabasi_albert(agents, 1, initial="triangle", seed=seed),
            "cycles": barabasi_albert(agents, 2, seed=seed),
        }
    )
    hidden, stubbornness = agents_drawn(agents if graph is None else graph.n, seed)

    def run(name: str, network: Network, pressure: Schedule) -> ConvergenceRun:
        model = Model(network, hidden, stubbornness, pressure, Gaussian(noise))
        keep = Record(agents=[network.labels[0]])
        # The states of one agent and the extremes of all: the states of all would take 80 MB per run.
        path = simulate(model, steps, seed=seed, record=keep)
        # The update is affine, so the mean path is the path without noise: exact, not sampled.
        expected = simulate(replace(model, noise=NoNoise()), steps, record="summaries")
        return ConvergenceRun(name, path, expected)

    first, fast = next(iter(graphs)), pressure or StretchedExponential()
    slow = run(f"slow_{first}", graphs[first], Linear())
    return ConvergenceResult((slow, *(run(f"fast_{name}", network, fast) for name, network in graphs.items())))


def transients(
    seed: int = SEED,
    *,
    graphs: int = GRAPHS,
    agents: int = AGENTS,
    noise: float = NOISE,
    times: Sequence[int] = WATCHED,
) -> pd.DataFrame:
    """Return how oscillations under ρ_t = 2^√t persist on trees and fade on trees with a triangle.

    Tables
    ------
    transients
        network (tree, triangle), graph (its seed), smallest_eigenvalue, time, change, agent_1, spread: the smallest
        eigenvalue is that of D⁻¹A; change is the largest |y_t − y_(t−1)| over agents, agent_1 that of agent 1.
    """
    rows = []
    for own in range(seed, seed + graphs):
        for name, initial in (("tree", "star"), ("triangle", "triangle")):
            network = barabasi_albert(agents, 1, initial=initial, seed=own)
            model = Model(network, *agents_drawn(agents, own), StretchedExponential(), Gaussian(noise))
            states = simulate(model, max(times), seed=own).states
            assert states is not None, "states are recorded by default"
            first = {"network": name, "graph": own, "smallest_eigenvalue": _smallest_eigenvalue(network)}
            rows += [first | {"time": time, **_change(states[0], time)} for time in times]
    return pd.DataFrame(rows)


def _change(states: NDArray[np.float64], time: int) -> dict[str, float]:
    change = np.abs(states[time] - states[time - 1])
    return {"change": float(change.max()), "agent_1": float(change[0]), "spread": float(np.ptp(states[time]))}


def _smallest_eigenvalue(network: Network) -> float:
    """Return the smallest eigenvalue of D⁻¹A, −1 exactly on a bipartite network: the factor of a swing per step."""
    root = np.sqrt(network.degrees)
    # Similar to D⁻¹A, and symmetric.
    return float(np.linalg.eigvalsh(network.adjacency.toarray() / np.outer(root, root))[0])


def kept_times(steps: int) -> NDArray[np.int64]:
    """Return the times in the table ``paths``: all early ones, some from each decade, and the last few.

    >>> kept_times(1000)[[0, 1, 150, -1]]
    array([   0,    1,  150, 1000])
    """
    decades = np.log10(steps)
    spaced = np.round(np.logspace(0, decades, int(KEPT_PER_DECADE * decades) + 1)).astype(np.int64)
    early, late = np.arange(min(EARLY, steps) + 1), np.arange(max(steps - LATE, 0), steps + 1)
    return np.unique(np.concatenate([early, spaced[spaced <= steps], late]))


def _at(values: NDArray[Any] | None, times: Any) -> NDArray[np.float64]:
    """Return the first replicate's values at these times, from a run that recorded every step."""
    assert values is not None, "the experiment records what it tabulates"
    return np.asarray(values[0][times], dtype=np.float64)


def _edges(name: str, network: Network) -> pd.DataFrame:
    sources, targets, _ = network.edges()
    # From 1, as agents are numbered in the figures and in the paper.
    return pd.DataFrame({"network": name, "source": sources + 1, "target": targets + 1})


def biased_consensus(
    model: Model,
    *,
    replicates: int = REPLICATES,
    steps: int = LIMIT_STEPS,
    seed: int = SEED,
    pressure: Schedule | None = None,
) -> dict[str, pd.DataFrame]:
    """Compare the consensus limits of many runs under fast pressure, by default 2^√t, with their predicted law.

    The network must have an odd cycle: on a bipartite one the agents oscillate.

    Tables
    ------
    biased_consensus
        run, value: the value on which one run agrees.
    biased_consensus_law
        mean, std, consensus_value: the predicted normal distribution, in one row.
    """
    fast = replace(model, pressure=pressure or StretchedExponential())
    run, limit = simulate(fast, steps, replicates, seed=seed, record="final"), consensus_limit(fast)
    # By then all agents agree, so the mode is their common value.
    values = consensus_mode(fast)(run.final.public)
    law = {"mean": limit.mean, "std": limit.std, "consensus_value": fast.consensus_value}
    return {
        "biased_consensus": pd.DataFrame({"run": run.replicates, "value": values}),
        "biased_consensus_law": pd.DataFrame([law]),
    }


def contraction_products(steps: int = 10_000, schedules: Sequence[Schedule] = SCHEDULES) -> pd.DataFrame:
    """Return the products of contraction factors of two agents with s = 1.

    Tables
    ------
    contraction
        schedule, time, product, sum_diverges: product is Π α_k up to the time, exactly 1/(t + 1) under ρ_t = t;
        sum_diverges is True if Σ 1/ρ_t = ∞, the condition under which the product tends to 0.
    """
    times = log_spaced_times(steps)
    rows = [
        pd.DataFrame(
            {
                "schedule": schedule.formula_text,
                "time": times,
                # For two agents with s = 1, α_t = ρ_t/(1 + ρ_t) is the factor itself and not only a bound.
                "product": contraction_product(Model(k2(), [0.0, 1.0], pressure=schedule), steps)[times - 1],
                "sum_diverges": schedule.growth.reciprocal_sum_diverges,
            }
        )
        for schedule in schedules
    ]
    return pd.concat(rows, ignore_index=True)


def approach(model: Model, steps: int = 5_000, *, paths: int = PATHS, seed: int = SEED) -> dict[str, pd.DataFrame]:
    """Return how the agents approach each other and v: the exact law, and simulated paths.

    With the consensus mode m_t = Σ d y/Σ d, weighted_distance² = Σ d (y − v)²/Σ d and
    weighted_disagreement² = Σ d (y − m)²/Σ d, hence weighted_distance² = weighted_disagreement² + (m − v)².

    Tables
    ------
    approach_exact
        time, error, error_low, error_high, weighted_distance, weighted_disagreement: error is the mean of m − v with
        its 95 % band; the others are root mean squares over agents and noise.
    approach_paths
        path, time, error, weighted_distance, weighted_disagreement: the same of single runs, over agents only.
    """
    times = log_spaced_times(steps)
    exact, simulated = _exact_approach(model, times), _simulated_approach(model, times, paths, seed)
    return {"approach_exact": exact, "approach_paths": simulated}


def _exact_approach(model: Model, times: NDArray[np.int64]) -> pd.DataFrame:
    errors = consensus_errors(model, times)
    return pd.DataFrame(
        {
            "time": times,
            "error": errors.bias,
            "error_low": errors.bias - NORMAL_95 * errors.std,
            "error_high": errors.bias + NORMAL_95 * errors.std,
            "weighted_distance": errors.weighted_distance,
            "weighted_disagreement": errors.weighted_disagreement,
        }
    )


def _simulated_approach(model: Model, times: NDArray[np.int64], paths: int, seed: int) -> pd.DataFrame:
    run, mode = simulate(model, int(times[-1]), paths, seed=seed), consensus_mode(model)
    assert run.states is not None, "states are recorded by default"
    states = run.states[:, times]
    # (paths, times); states are (paths, times, agents).
    common = mode(states)
    return pd.DataFrame(
        {
            "path": np.repeat(run.replicates, times.size),
            "time": np.tile(times, paths),
            "error": (common - model.consensus_value).ravel(),
            "weighted_distance": np.sqrt(mode((states - model.consensus_value) ** 2)).ravel(),
            "weighted_disagreement": np.sqrt(mode((states - common[:, :, None]) ** 2)).ravel(),
        }
    )


def tuning(model: Model, steps: int = 10_000) -> pd.DataFrame:
    """Return the exact error of the consensus mode under ρ_t = t and under the tuned ρ_t = κt.

    Tables
    ------
    tuning
        schedule (t, κt), time, bias, std, rms, ideal: rms² = bias² + std²; ideal is the standard deviation of the best
        unbiased estimate of v from all preferred opinions so far.
    """
    times, mode = log_spaced_times(steps), consensus_mode(model)
    rows = []
    # With ρ_t = κt the mode is a running mean of preferred opinions and attains the ideal; ρ_t = t is steeper where
    # κ < 1 and forgets its start as t^(−κ).
    for name, schedule in (("t", Linear()), ("κt", Linear.tuned(model.network, model.s))):
        law = moments(replace(model, pressure=schedule), steps, of=mode, times=times)
        bias, std = law.mean[:, 0] - model.consensus_value, law.std[:, 0]
        ideal = [ideal_deviation(model, int(t)) for t in times]
        columns = {"time": times, "bias": bias, "std": std, "rms": np.hypot(bias, std), "ideal": ideal}
        rows.append(pd.DataFrame({"schedule": name, **columns}))
    return pd.concat(rows, ignore_index=True)


# The noise level: whether larger noise slows convergence or only adds variance.

# From noise that leaves the first steps visible to the largest of the sweep.
LEVELS = (0.1, 1.0, 5.0, 10.0)
NOISE_STEPS = 3_000
REPLICATIONS = 100
NEAR_DISTANCE = 0.01  # weighted RMS distance to v, a hundredth of the range of opinions
QUANTITIES = ("bias", "std", "weighted_distance", "weighted_disagreement")


@final
@dataclass(frozen=True, eq=False)
class NoiseLevelsResult:
    """One network under several levels of noise: paths, exact law, and fitted powers of t."""

    model: Model
    paths: pd.DataFrame
    law: pd.DataFrame
    exponents: pd.DataFrame

    @property
    def hitting_times(self) -> pd.DataFrame:
        """The table ``noise_hitting_times``, from the exact fits of the weighted RMS distance."""
        fits = self.exponents.query("quantity == 'weighted_distance' and source == 'exact'")
        times = pd.Series([self._hitting_time(row) for _, row in fits.iterrows()], index=fits.index)
        known = float(self.law["time"].max())
        columns = {"noise": fits["noise"], "distance": NEAR_DISTANCE, "exponent": fits["exponent"]}
        columns |= {"constant": fits["constant"], "time": times, "extrapolated": times > known}
        return pd.DataFrame(columns).reset_index(drop=True)

    def _hitting_time(self, fitted: pd.Series) -> float:
        law = self.law[self.law["noise"] == fitted["noise"]]
        times, distances = law["time"].to_numpy(), law["weighted_distance"].to_numpy()
        near = distances <= NEAR_DISTANCE
        if not near.any():
            # The time at which constant·t^(−exponent) equals the distance.
            return float((fitted["constant"] / NEAR_DISTANCE) ** (1 / fitted["exponent"]))
        # The power law is that of the last decade: before it, agents are farther from v, and its continuation towards
        # the start can even lie before the first step.
        i = int(near.argmax())
        if i == 0:
            return float(times[0])
        above, below = np.log(distances[i - 1 : i + 1])
        share = (above - np.log(NEAR_DISTANCE)) / (above - below)
        return float(np.exp(np.interp(share, (0, 1), np.log(times[i - 1 : i + 1]))))

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        noise_paths
            noise, time, minimum, maximum, expected_minimum, expected_maximum, consensus_value: the extremes over agents
            of one run, and those of the expected path, which is the same for every noise level.
        noise_law
            noise, time, bias, std, weighted_distance, weighted_disagreement: exact. Bias and std are those of the
            consensus mode; the root mean squares about v and about the mode are weighted by degree, and
            weighted_distance² = weighted_disagreement² + bias² + std².
        noise_exponents
            noise, quantity (bias, std, weighted_distance, weighted_disagreement), source (exact, sampled), exponent,
            standard_error, low, high, constant: fits of constant·t^(−exponent) over the last decade. The standard error
            of a sampled fit is a jackknife over replicates; that of an exact fit measures how far the law is from a
            pure power.
        noise_hitting_times
            noise, distance, exponent, constant, time, extrapolated: the time at which the exact weighted RMS distance
            reaches this distance, or its fitted power law where that is after the last exact time (extrapolated).
        """
        return {
            "noise_paths": self.paths,
            "noise_law": self.law,
            "noise_exponents": self.exponents,
            "noise_hitting_times": self.hitting_times,
        }


@final
@dataclass(frozen=True, eq=False)
class _UnitLaw:
    """The exact law under σ₀ = 1; ``squared_bias`` and ``squared_noise`` are the parts of weighted_distance²."""

    times: NDArray[np.int64]
    bias: NDArray[np.float64]
    variance: NDArray[np.float64]
    squared_bias: NDArray[np.float64]
    squared_noise: NDArray[np.float64]


def noise_levels(
    seed: int = SEED,
    replications: int = REPLICATIONS,
    *,
    steps: int = NOISE_STEPS,
    levels: Sequence[float] = LEVELS,
    model: Model | None = None,
) -> NoiseLevelsResult:
    """Simulate a scale-free graph under ρ_t = t with normal noise of several levels, and fit powers of t.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    replications : int, default 100
        Runs per level, from which sampled exponents are estimated; 2 or more.
    steps : int, default 3,000
        Length of the runs.
    levels : sequence of float
        Standard deviations σ₀.
    model : Model, optional
        A model to use in place of the scale-free one; its noise is replaced by the levels.

    Returns
    -------
    NoiseLevelsResult
        Paths, exact law and fitted exponents; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    convergence : Slow and fast peer pressure at one noise level.

    Examples
    --------
    >>> noise_levels(replications=4, steps=100, levels=[1.0]).exponents["quantity"].tolist()
    ['bias', 'std', 'weighted_distance', 'weighted_disagreement', 'weighted_distance', 'weighted_disagreement']
    """
    chosen = model or Model(barabasi_albert(AGENTS, 2, seed=seed), *agents_drawn(AGENTS, seed), noise=Gaussian(1.0))
    unit, count = replace(chosen, noise=Gaussian(1.0)), check_replications(replications, "noise levels")
    times = log_spaced_times(steps)
    unit_law = _unit_law(unit, times)
    law = pd.concat([_law(level, unit_law) for level in levels], ignore_index=True)
    # The last decade, where lower-order terms of the power laws have vanished.
    late = times >= steps / 10
    expected = simulate(replace(chosen, noise=NoNoise()), steps, record="summaries")
    # One seed for all levels: they differ in σ₀ and in nothing else.
    noise_seed, paths, fits = stream(seed, "noise levels"), [], []
    for level in levels:
        noisy = replace(chosen, noise=Gaussian(level))
        path = simulate(noisy, steps, seed=noise_seed, record="summaries")
        extremes = {"minimum": path.minimum, "maximum": path.maximum}
        extremes |= {"expected_minimum": expected.minimum, "expected_maximum": expected.maximum}
        own = _path(level, np.concatenate([[0], times]), extremes)
        paths.append(own.assign(consensus_value=chosen.consensus_value))
        fits += _exact_fits(level, law[law["noise"] == level][late])
        fits += _sampled_fits(noisy, level, steps, count, noise_seed)
    return NoiseLevelsResult(chosen, pd.concat(paths, ignore_index=True), law, pd.DataFrame(fits))


def _unit_law(unit: Model, times: NDArray[np.int64]) -> _UnitLaw:
    """Return the law under σ₀ = 1; at another level the means are the same and the variances σ₀² times these."""
    v, mode, last = unit.consensus_value, consensus_mode(unit), int(times[-1])
    # One pair of moment recursions serves all levels, because covariances are proportional to σ₀².
    agents, common = moments(unit, last, times=times), moments(unit, last, of=mode, times=times)
    squared_bias, squared_noise = mode((agents.mean - v) ** 2), mode(agents.variance)
    return _UnitLaw(times, common.mean[:, 0] - v, common.variance[:, 0], squared_bias, squared_noise)


def _law(level: float, unit: _UnitLaw) -> pd.DataFrame:
    distance2 = unit.squared_bias + level**2 * unit.squared_noise
    # Orthogonal decomposition: the cross term vanishes as m is the mean with the same weights.
    disagreement2 = distance2 - unit.bias**2 - level**2 * unit.variance
    return pd.DataFrame(
        {
            "noise": level,
            "time": unit.times,
            "bias": unit.bias,
            "std": level * np.sqrt(unit.variance),
            "weighted_distance": np.sqrt(distance2),
            # Rounding can make the difference slightly negative.
            "weighted_disagreement": np.sqrt(np.maximum(disagreement2, 0.0)),
        }
    )


def _path(level: float, times: NDArray[np.int64], extremes: dict[str, Any]) -> pd.DataFrame:
    return pd.DataFrame({"noise": level, "time": times, **{name: all_[0, times] for name, all_ in extremes.items()}})


def _mean_squares(model: Model, states: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the squares of weighted RMS distance and disagreement over agents, (replicates, times)."""
    mode = consensus_mode(model)
    common = mode(states)
    return {
        "weighted_distance": mode((states - model.consensus_value) ** 2),
        "weighted_disagreement": mode((states - common[:, :, None]) ** 2),
    }


def _exact_fits(level: float, law: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for name in QUANTITIES:
        # A power law is a line in logarithms; the bias may be negative, and its size is fitted.
        x, y = np.log(law["time"].to_numpy()), np.log(law[name].abs().to_numpy())
        (slope, start), covariance = np.polyfit(x, y, 1, cov=True)
        rows.append(_fitted(level, name, "exact", -slope, float(np.sqrt(covariance[0, 0])), start))
    return rows


def _sampled_fits(noisy: Model, level: float, steps: int, replications: int, seed: int) -> list[dict[str, Any]]:
    """Fit root mean squares over replicates; leave each replicate out in turn for the standard error."""
    # A hundred times determine a power as well as all of them, and fit in memory.
    run = simulate(noisy, steps, replications, seed=seed, record=Record(every=max(1, steps // 100), summaries=False))
    assert run.states is not None, "the record keeps states"
    late = run.times >= steps / 10
    rows, x = [], np.log(run.times[late])
    for name, values in _mean_squares(noisy, run.states[:, late]).items():
        count = len(values)
        # The logarithm after the mean over replicates: the mean of logarithms would be biased downwards. Half of the
        # logarithm of the mean square is that of the RMS.
        slope, start = np.polyfit(x, np.log(values.mean(axis=0)) / 2, 1)
        # (replicates, times): the mean over all replicates but one, for each of them, without a loop.
        without = (values.sum(axis=0) - values) / (count - 1)
        # The times of one run are correlated, which the covariance of the fit ignores; hence the jackknife.
        others = np.polyfit(x, np.log(without).T / 2, 1)[0]
        # Jackknife variance (n − 1)/n·Σ(θᵢ − θ̄)², with np.var dividing by n.
        error = float(np.sqrt((count - 1) * np.var(others)))
        rows.append(_fitted(level, name, "sampled", -slope, error, start))
    return rows


def _fitted(level: float, name: str, source: str, exponent: float, error: float, start: float) -> dict[str, Any]:
    half = NORMAL_95 * error
    return {
        "noise": level,
        "quantity": name,
        "source": source,
        "exponent": exponent,
        "standard_error": error,
        "low": exponent - half,
        "high": exponent + half,
        "constant": float(np.exp(start)),
    }
