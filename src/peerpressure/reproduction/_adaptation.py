"""Hidden opinions that adapt, x_{t+1} = x_t + η_t (y_t − x_t): the consensus limit, and what an observer learns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.model.adaptation import Adaptation
from peerpressure.model.statespace import retained
from peerpressure.recovery import Target, recover
from peerpressure.reproduction import printed
from peerpressure.reproduction.design import (
    NORMAL_95,
    SEED,
    check_replications,
    log_spaced_times,
    public_and_hidden_errors,
    scale_free_model,
    stream,
)
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory import consensus_limit
from peerpressure.theory._regime import opinion_regime
from peerpressure.theory.propagation import consensus_mode, moments

AGENTS = 60
# Memories 1/η of about 300 and of 10 steps: longer, and shorter, than the public opinions take to agree.
SLOW, FAST = 0.003, 0.1
# Three rates per decade from about 0.002 to 1; at 1 the hidden opinion is the last public one.
RATES = tuple(10.0 ** (k / 3) for k in range(-8, 1))
# Σ η_t diverges linearly, diverges like log t, and converges: the last is the case in which hidden opinions disagree.
DECREASING = ("0.01", "0.5/t", "0.5/t^2")
STEPS = 1_000
HORIZONS = (10, 30, 100, 300)
REPLICATIONS = 30
# After 8/η steps the retention is e⁻⁸, and all agents are at the consensus limit.
MEMORY_LENGTHS = 8.0
# By then the variance that the noise adds to the common value has converged to within a per cent.
LEAST_STEPS = 500
# Tolerance of the predicted limit; the standard errors of the sampled runs are far larger.
TOLERANCE = 1e-4

OBSERVED_AGENTS = 30
# 0 is the paper's model, in which the information about x₀ grows without bound.
OBSERVED_RATES = (0.0, 0.01, 0.1)
OBSERVED_STEPS = 200
OBSERVED_HORIZONS = (1, 2, 5, 10, 20, 50, 100, 200)
OBSERVED_REPLICATIONS = 60


@final
@dataclass(frozen=True, eq=False)
class TwoTimescalesResult:
    """Public and hidden opinions under several adaptation rates."""

    model: Model
    opinions: pd.DataFrame
    consensus_limit: pd.DataFrame
    sampled_limit: pd.DataFrame
    hidden_disagreement: pd.DataFrame
    decreasing: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        timescale_opinions
            rate, agent (lowest, middle, highest), kind (public, hidden), time, mean, low, high, path: exact mean and
            95 % band of three agents, named by their initial hidden opinion, and one run.
        timescale_consensus_limit
            rate, mean, std, steps, sampled_mean, standard_error, consensus_value: the consensus limit, exact, and over
            sampled runs of this number of steps.
        timescale_sampled_limit
            rate, run, value: the sampled runs one by one.
        timescale_hidden_disagreement
            rate, steps, weighted_disagreement: RMS of the hidden opinions about their mean, weighted by degree; exact.
        timescale_decreasing
            rate (as a formula), sum_diverges, time, public, hidden: the same weighted RMS disagreement over time,
            of public and of hidden opinions, under constant and decreasing rates; sum_diverges is True if Σ η_t = ∞.
        """
        names = ("opinions", "consensus_limit", "sampled_limit", "hidden_disagreement", "decreasing")
        return {f"timescale_{name}": getattr(self, name) for name in names}


def two_timescales(
    seed: int = SEED,
    steps: int = STEPS,
    replications: int = REPLICATIONS,
    *,
    agents: int = AGENTS,
    rates: Sequence[float] = RATES,
) -> TwoTimescalesResult:
    """Let the hidden opinions on a scale-free graph adapt at several rates.

    The pressure is ρ_t = κt, which averages constant opinions as fast as noise allows. A bias from v is therefore due
    to the adaptation.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    steps : int, default 1,000
        Length of the paths over time.
    replications : int, default 30
        Sampled runs per rate, 2 or more.
    agents : int, default 60
        Number of agents.
    rates : sequence of float
        Adaptation rates η.

    Returns
    -------
    TwoTimescalesResult
        The tables; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    forgetting : What an observer learns of opinions that adapt.

    Examples
    --------
    >>> study = two_timescales(steps=20, replications=2, agents=10, rates=[1.0])
    >>> study.consensus_limit["steps"].tolist()
    [500]
    """
    check_replications(replications, "two time-scales")
    constant = scale_free_model(seed, agents=agents)
    # Under ρ_t = t a slow transient would add a bias of its own, indistinguishable from that of the adaptation.
    model = replace(constant, pressure=Linear.tuned(constant.network, constant.s))
    own_seed = stream(seed, "two time-scales")
    opinions = [opinions_over_time(adapting_at(model, rate), steps, seed=own_seed) for rate in (SLOW, FAST)]
    # Shorter requests leave out horizons beyond their length rather than fail.
    horizons = [time for time in HORIZONS if time <= steps]
    # Named by the rate: a different choice of rates keeps the noise of those that remain.
    limits = [
        limit_at(adapting_at(model, rate), replications, seed=stream(seed, f"landing at {rate:g}")) for rate in rates
    ]
    return TwoTimescalesResult(
        model,
        pd.concat(opinions, ignore_index=True),
        pd.concat([law for law, _ in limits], ignore_index=True),
        pd.concat([runs for _, runs in limits], ignore_index=True),
        pd.concat([hidden_disagreement(adapting_at(model, rate), horizons) for rate in rates], ignore_index=True),
        pd.concat([disagreement_over_time(model, formula, steps) for formula in DECREASING], ignore_index=True),
    )


def adapting_at(model: Model, rate: float) -> Model:
    """Return the model with hidden opinions that adapt at a constant rate; constant opinions at rate 0."""
    # None rather than rate 0: without adaptation the state consists of the public opinions only.
    return replace(model, adaptation=Adaptation(rate) if rate else None)


def opinions_over_time(model: Model, steps: int = STEPS, *, seed: int = SEED) -> pd.DataFrame:
    """Return the table ``timescale_opinions`` for one rate."""
    times, order = np.concatenate([[0], log_spaced_times(steps)]), np.argsort(model.x0)
    three = {"lowest": order[0], "middle": order[model.n // 2], "highest": order[-1]}
    # The joint state has public opinions at 0…n − 1 and hidden ones at n…2n − 1.
    law, run = moments(model, steps, times=times, what="joint"), simulate(model, steps, seed=seed)
    assert run.states is not None, "states are recorded by default"
    assert run.hidden is not None, "and hidden opinions with them"
    parts = []
    for name, agent in three.items():
        for kind, path, place in (("public", run.states, agent), ("hidden", run.hidden, model.n + agent)):
            mean, half = law.mean[:, place], NORMAL_95 * law.std[:, place]
            own = {"time": times, "mean": mean, "low": mean - half, "high": mean + half, "path": path[0, times, agent]}
            parts.append(pd.DataFrame({"rate": _rate(model), "agent": name, "kind": kind} | own))
    return pd.concat(parts, ignore_index=True)


def limit_at(model: Model, replications: int = REPLICATIONS, *, seed: int = SEED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the exact law of the consensus limit, and the values of sampled runs."""
    rate, law = _rate(model), consensus_limit(model, tolerance=TOLERANCE)
    # A slow rate needs long runs before hidden opinions agree, a fast one until the noise is averaged.
    steps = max(LEAST_STEPS, math.ceil(MEMORY_LENGTHS / rate))
    run = simulate(model, steps, replications, seed=seed, record="final")
    values = consensus_mode(model)(run.final.public)
    row = {"rate": rate, "mean": law.mean, "std": law.std, "steps": steps, "sampled_mean": values.mean()}
    # From the exact law: a standard deviation of a few sampled runs would itself be uncertain.
    row |= {"standard_error": law.std / np.sqrt(replications), "consensus_value": model.consensus_value}
    runs = pd.DataFrame({"rate": rate, "run": np.arange(replications), "value": values})
    return pd.DataFrame([row]), runs


def hidden_disagreement(model: Model, horizons: Sequence[int] = HORIZONS) -> pd.DataFrame:
    """Return the table ``timescale_hidden_disagreement`` for one rate."""
    times = np.array(horizons)
    _, hidden = public_and_hidden_errors(model, times)
    return pd.DataFrame({"rate": _rate(model), "steps": times, "weighted_disagreement": hidden.weighted_disagreement})


def disagreement_over_time(model: Model, formula: str, steps: int = STEPS) -> pd.DataFrame:
    """Return the table ``timescale_decreasing`` for one rate."""
    times, adapting = log_spaced_times(steps), replace(model, adaptation=Adaptation(formula))
    public, hidden = public_and_hidden_errors(adapting, times)
    curves = {"time": times, "public": public.weighted_disagreement, "hidden": hidden.weighted_disagreement}
    return pd.DataFrame({"rate": formula, "sum_diverges": opinion_regime(adapting).lasting} | curves)


@final
@dataclass(frozen=True, eq=False)
class ForgettingResult:
    """Information about opinions that adapt, and how well an observer recovers them."""

    information: pd.DataFrame
    recovery: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tidy tables of the experiment.

        Tables
        ------
        forgetting_information
            rate, time, retention, information, limit: the weight π_t of x₀ in the current hidden opinion, and the
            Fisher information about x₀ in all outputs so far, in units of 1/σ₀², with its upper limit (inf at rate 0).
        forgetting_recovery
            rate, target (initial, current), steps, variance, sampled, standard_error: error variance of the initial or
            the current hidden opinion, mean over agents, in units of σ₀²; exact, and over sampled runs.
        """
        return {"forgetting_information": self.information, "forgetting_recovery": self.recovery}


def forgetting(
    seed: int = SEED,
    steps: int = OBSERVED_STEPS,
    replications: int = OBSERVED_REPLICATIONS,
    *,
    agents: int = OBSERVED_AGENTS,
    rates: Sequence[float] = OBSERVED_RATES,
) -> ForgettingResult:
    """Estimate the initial and the current hidden opinions of agents that adapt at several rates.

    All agents are observed at every step. They start from one public opinion, which carries no information.

    Parameters
    ----------
    seed : int, default 14
        Seed of graph, agents and noise.
    steps : int, default 200
        Longest observation.
    replications : int, default 60
        Sampled runs per rate, 2 or more.
    agents : int, default 30
        Number of agents.
    rates : sequence of float
        Adaptation rates η; 0 stands for constant opinions.

    Returns
    -------
    ForgettingResult
        The tables; its ``tables`` method documents the columns.

    Raises
    ------
    InvalidInputError
        If there are fewer than two replications.

    See Also
    --------
    two_timescales : Consensus under adaptation.

    Examples
    --------
    >>> forgetting(steps=5, replications=2, agents=5, rates=[0.5]).recovery["steps"].unique().tolist()
    [1, 2, 5]
    """
    check_replications(replications, "forgetting")
    # With y₀ = x₀ the first output would reveal every hidden opinion.
    start = np.full(agents, np.mean(printed.HIDDEN_RANGE))
    constant = replace(scale_free_model(seed, agents=agents), start=start)
    models = [adapting_at(constant, rate) for rate in rates]
    horizons = [time for time in OBSERVED_HORIZONS if time <= steps]
    recovery = [
        recovery_over_time(model, horizons, replications, seed=stream(seed, f"forgetting at {rate:g}"))
        for rate, model in zip(rates, models, strict=True)
    ]
    information = [information_over_time(model, horizons[-1]) for model in models]
    return ForgettingResult(pd.concat(information, ignore_index=True), pd.concat(recovery, ignore_index=True))


def information_over_time(model: Model, steps: int) -> pd.DataFrame:
    """Return the table ``forgetting_information`` for a rate that is constant and the same for all agents.

    Step t reveals π_{t−1} x₀ + ε_t plus known terms, so the information is Σ_{k<t} π_k² and its limit
    1/(1 − (1 − η)²).
    """
    rate, times = _rate(model), log_spaced_times(steps)
    # (steps + 1, agents): all agents have the same rate, so one column stands for all.
    retention = retained(model, steps)[:, 0]
    # Output t depends on x_t = π_{t−1}x₀ + known terms, hence the shift by one.
    information = np.cumsum(retention[:-1] ** 2)[times - 1]
    # The geometric series Σ (1 − η)^{2k}.
    limit = 1 / (1 - (1 - rate) ** 2) if rate else np.inf
    columns = {"time": times, "retention": retention[times], "information": information, "limit": limit}
    return pd.DataFrame({"rate": rate} | columns)


def recovery_over_time(model: Model, horizons: Sequence[int], replications: int, *, seed: int = SEED) -> pd.DataFrame:
    """Return the table ``forgetting_recovery`` for one rate."""
    unit, rows = float(np.mean(model.noise.deviations(model.n) ** 2)), []
    for last in horizons:
        run = simulate(model, last, replications, seed=seed)
        # Without adaptation the current opinion is the initial one.
        now = model.x0 if run.final.hidden is None else run.final.hidden
        truths: dict[Target, NDArray[np.float64]] = {"initial": model.x0, "current": now}
        for target, truth in truths.items():
            estimate = recover(run, model, target=target)
            # The mean over agents first: errors of one run are correlated, runs are independent.
            squares = ((estimate.value - truth) ** 2).mean(axis=1) / unit
            row = {"rate": _rate(model), "target": target, "steps": last}
            rows.append(row | _errors(estimate.variance.mean() / unit, squares))
    return pd.DataFrame(rows)


def _errors(variance: float, squares: NDArray[np.float64]) -> dict[str, float]:
    error = squares.std(ddof=1) / np.sqrt(squares.size)
    return {"variance": float(variance), "sampled": float(squares.mean()), "standard_error": float(error)}


def _rate(model: Model) -> float:
    """Return the adaptation rate of the first step, which here is that of all steps."""
    return 0.0 if model.adaptation is None else float(model.adaptation.pace(1))
