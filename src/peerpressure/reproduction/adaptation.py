"""Two time-scales: hidden opinions that adapt slowly, x_{t+1} = x_t + η_t (y_t − x_t), and where all land.

The pressure is ρ_t = κt, which averages constant opinions as fast as noise allows: what is off v is then due to η.

Tables
------
timescale_opinions
    rate, who (lowest, middle, highest), kind (shown, held), time, mean, low, high, path: exact mean and 95 % band of
    three agents, named by their hidden opinion at the start, and one run.
timescale_consensus_limit
    rate, mean, std, steps, sampled_mean, standard_error, consensus_value: the value on which all land, exact, and over
    sampled runs of so many steps.
timescale_sampled_limit
    rate, run, value: the sampled runs one by one.
timescale_hidden_spread
    rate, steps, spread: root mean square over agents, weighted by degree, of what they hold about its mean; exact.
timescale_decreasing
    rate (as a formula), lasting, time, shown, held: the same spread over time, of what is shown and of what is held,
    under rates that stay and that shrink; lasting says whether Σ η_t = ∞.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pandas as pd

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.reproduction.convergence import SEED, shown_and_held
from peerpressure.reproduction.rates import NORMAL_95, scale_free_model, spaced_times
from peerpressure.reproduction.streams import enough, stream
from peerpressure.schedules import Linear
from peerpressure.simulation import simulate
from peerpressure.theory._limits import consensus_limit
from peerpressure.theory._moments import consensus_mode, moments
from peerpressure.theory._regime import opinion_regime

AGENTS = 60
SLOW, FAST = 0.003, 0.1
RATES = tuple(10.0 ** (k / 3) for k in range(-8, 1))
DECREASING = ("0.01", "0.5/t", "0.5/t^2")
STEPS = 1_000
HORIZONS = (10, 30, 100, 300)
REPLICATIONS = 30
# After 8/η steps only a share e⁻⁸ of an opinion is still the agent's own, and all have landed.
FORGOTTEN = 8.0
# And by then noise, which moves the common value by ever less, has moved it as far as it will but for a per cent.
LEAST_STEPS = 500
TOLERANCE = 1e-4


@final
@dataclass(frozen=True, eq=False)
class TwoTimescalesResult:
    """What becomes of opinions that adapt, as tables."""

    model: Model
    opinions: pd.DataFrame
    consensus_limit: pd.DataFrame
    sampled_limit: pd.DataFrame
    hidden_spread: pd.DataFrame
    decreasing: pd.DataFrame

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables by name."""
        names = ("opinions", "consensus_limit", "sampled_limit", "hidden_spread", "decreasing")
        return {f"timescale_{name}": getattr(self, name) for name in names}


def two_timescales(
    seed: int = SEED,
    steps: int = STEPS,
    replications: int = REPLICATIONS,
    *,
    agents: int = AGENTS,
    rates: Sequence[float] = RATES,
) -> TwoTimescalesResult:
    """Let hidden opinions on a scale-free graph adapt at several rates: what is shown, held and agreed on."""
    enough(replications, "two time-scales")
    constant = scale_free_model(seed, agents=agents)
    model = replace(constant, pressure=Linear.tuned(constant.network, constant.s))
    own_seed = stream(seed, "two time-scales")
    opinions = [opinions_over_time(adapting_at(model, rate), steps, seed=own_seed) for rate in (SLOW, FAST)]
    horizons = [time for time in HORIZONS if time <= steps]
    limits = [
        limit_at(adapting_at(model, rate), replications, seed=stream(seed, f"landing at {rate:g}")) for rate in rates
    ]
    return TwoTimescalesResult(
        model,
        pd.concat(opinions, ignore_index=True),
        pd.concat([law for law, _ in limits], ignore_index=True),
        pd.concat([runs for _, runs in limits], ignore_index=True),
        pd.concat([hidden_spread(adapting_at(model, rate), horizons) for rate in rates], ignore_index=True),
        pd.concat([spreads_over_time(model, formula, steps) for formula in DECREASING], ignore_index=True),
    )


def adapting_at(model: Model, rate: float) -> Model:
    """Return the model with hidden opinions that adapt by this share of the difference in every step."""
    return replace(model, adaptation=Adaptation(rate))


def opinions_over_time(model: Model, steps: int = STEPS, *, seed: int = SEED) -> pd.DataFrame:
    """Return what three agents show and hold: the exact law, and one run."""
    times, order = np.concatenate([[0], spaced_times(steps)]), np.argsort(model.x0)
    three = {"lowest": order[0], "middle": order[model.n // 2], "highest": order[-1]}
    law, run = moments(model, steps, times=times, what="joint"), simulate(model, steps, seed=seed)
    assert run.states is not None, "all that is shown was asked for"
    assert run.hidden is not None, "it comes with what is held"
    parts = []
    for who, agent in three.items():
        for kind, path, place in (("shown", run.states, agent), ("held", run.hidden, model.n + agent)):
            mean, half = law.mean[:, place], NORMAL_95 * law.std[:, place]
            own = {"time": times, "mean": mean, "low": mean - half, "high": mean + half, "path": path[0, times, agent]}
            parts.append(pd.DataFrame({"rate": _rate(model), "who": who, "kind": kind} | own))
    return pd.concat(parts, ignore_index=True)


def limit_at(model: Model, replications: int = REPLICATIONS, *, seed: int = SEED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the exact law of the value on which all land, and the values of sampled runs."""
    rate, law = _rate(model), consensus_limit(model, tolerance=TOLERANCE)
    steps = max(LEAST_STEPS, math.ceil(FORGOTTEN / rate))
    run = simulate(model, steps, replications, seed=seed, record="final")
    values = consensus_mode(model)(run.final.public)
    row = {"rate": rate, "mean": law.mean, "std": law.std, "steps": steps, "sampled_mean": values.mean()}
    row |= {"standard_error": law.std / np.sqrt(replications), "consensus_value": model.consensus_value}
    runs = pd.DataFrame({"rate": rate, "run": np.arange(replications), "value": values})
    return pd.DataFrame([row]), runs


def hidden_spread(model: Model, horizons: Sequence[int] = HORIZONS) -> pd.DataFrame:
    """Return how far what agents hold is apart after so many steps."""
    times = np.array(horizons)
    _, held = shown_and_held(model, times)
    return pd.DataFrame({"rate": _rate(model), "steps": times, "spread": held.spread})


def spreads_over_time(model: Model, formula: str, steps: int = STEPS) -> pd.DataFrame:
    """Return the spread of what is shown and of what is held, over time and under one rate."""
    times, adapting = spaced_times(steps), replace(model, adaptation=Adaptation(formula))
    shown, held = shown_and_held(adapting, times)
    curves = {"time": times, "shown": shown.spread, "held": held.spread}
    return pd.DataFrame({"rate": formula, "lasting": opinion_regime(adapting).lasting} | curves)


def _rate(model: Model) -> float:
    assert model.adaptation is not None, "opinions adapt here"
    return float(model.adaptation.pace(1))
