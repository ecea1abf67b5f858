"""What an observer can still learn of opinions that adapt: the past sinks out of sight, the present comes into view.

Everybody is seen at every step, and all start from one public opinion, so that the start gives nothing away.

Tables
------
forgetting_information
    rate, time, own_share, information, limit: the share π_t of x₀ in what an agent holds, and the Fisher information
    about x₀ in all outputs up to then, in units of 1/σ₀², with what it can never exceed (inf at rate 0).
forgetting_recovery
    rate, target (initial, current), steps, variance, sampled, standard_error: error variance of x₀, or of what agents
    hold by then, mean over agents, in units of σ₀²; exact, and over sampled runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.recovery import Target, recover
from peerpressure.reproduction import printed
from peerpressure.reproduction.convergence import SEED
from peerpressure.reproduction.rates import scale_free_model, spaced_times
from peerpressure.reproduction.streams import enough, stream
from peerpressure.simulation import simulate
from peerpressure.statespace import retained

AGENTS = 30
RATES = (0.0, 0.01, 0.1)
STEPS = 200
HORIZONS = (1, 2, 5, 10, 20, 50, 100, 200)
REPLICATIONS = 60


@final
@dataclass(frozen=True, eq=False)
class ForgettingResult:
    """What is left to learn of opinions that adapt, as tables."""

    information: pd.DataFrame
    recovery: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name."""
        return {"forgetting_information": self.information, "forgetting_recovery": self.recovery}


def forgetting(
    seed: int = SEED,
    steps: int = STEPS,
    replications: int = REPLICATIONS,
    *,
    agents: int = AGENTS,
    rates: Sequence[float] = RATES,
) -> ForgettingResult:
    """Watch hidden opinions adapt at several rates, and estimate what they were and what they are."""
    enough(replications, "forgetting")
    start = np.full(agents, np.mean(printed.HIDDEN_RANGE))
    constant = replace(scale_free_model(seed, agents=agents), start=start)
    models = [replace(constant, adaptation=Adaptation(rate) if rate else None) for rate in rates]
    horizons = [time for time in HORIZONS if time <= steps]
    found = [
        recovery_over_time(model, horizons, replications, seed=stream(seed, f"forgetting at {rate:g}"))
        for rate, model in zip(rates, models, strict=True)
    ]
    known = [information_over_time(model, horizons[-1]) for model in models]
    return ForgettingResult(pd.concat(known, ignore_index=True), pd.concat(found, ignore_index=True))


def information_over_time(model: Model, steps: int) -> pd.DataFrame:
    """Return π_t and the information about one opinion, for a rate that is the same at all times and for all agents.

    Step t shows π_{t−1} x₀ + ε_t and what is known already, so that Σ_{k<t} π_k² is the information, and
    1/(1 − (1 − η)²) its limit.
    """
    rate, times = _rate(model), spaced_times(steps)
    share = retained(model, steps)[:, 0]
    told = np.cumsum(share[:-1] ** 2)[times - 1]
    limit = 1 / (1 - (1 - rate) ** 2) if rate else np.inf
    columns = {"time": times, "own_share": share[times], "information": told, "limit": limit}
    return pd.DataFrame({"rate": rate} | columns)


def recovery_over_time(model: Model, horizons: Sequence[int], replications: int, *, seed: int = SEED) -> pd.DataFrame:
    """Return how well an observer knows what agents held at first, and what they hold by now."""
    unit, rows = _unit(model), []
    for last in horizons:
        run = simulate(model, last, replications, seed=seed)
        now = model.x0 if run.final.hidden is None else run.final.hidden
        truths: dict[Target, NDArray[np.float64]] = {"initial": model.x0, "current": now}
        for target, truth in truths.items():
            estimate = recover(model, run, target=target)
            squares = ((estimate.value - truth) ** 2).mean(axis=1) / unit
            rows.append(_row(model, target, last) | _errors(estimate.variance.mean() / unit, squares))
    return pd.DataFrame(rows)


def _row(model: Model, target: str, steps: int) -> dict[str, Any]:
    return {"rate": _rate(model), "target": target, "steps": steps}


def _errors(variance: float, squares: NDArray[np.float64]) -> dict[str, float]:
    error = squares.std(ddof=1) / np.sqrt(squares.size)
    return {"variance": float(variance), "sampled": float(squares.mean()), "standard_error": float(error)}


def _unit(model: Model) -> float:
    return float(np.mean(model.noise.deviations(model.n) ** 2))


def _rate(model: Model) -> float:
    return 0.0 if model.adaptation is None else float(model.adaptation.pace(1))
