"""One experiment of the report at a time, with other parameters: its tables and its figure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pandas as pd

from peerpressure.errors import InvalidInputError, did_you_mean, message
from peerpressure.model import Model
from peerpressure.networks import k2
from peerpressure.noise import Gaussian
from peerpressure.reproduction import printed
from peerpressure.reproduction._adaptation import forgetting, two_timescales
from peerpressure.reproduction._beyond import (
    OBSERVED_AGENTS,
    OBSERVER_STEPS,
    beyond,
    network_defence,
    network_leak,
    observation_error,
)
from peerpressure.reproduction._continuous import continuous_time
from peerpressure.reproduction._convergence import (
    NOISE_STEPS,
    approach,
    biased_consensus,
    contraction_products,
    convergence,
    noise_levels,
    tuning,
)
from peerpressure.reproduction._regression import residuals, two_agents_recovery
from peerpressure.reproduction._sweep import SweepComparison, size_effect, sweep_ba
from peerpressure.reproduction._temporal import temporal_networks
from peerpressure.reproduction.design import AGENTS, NOISE, scale_free_model
from peerpressure.support.parameters import Parameter

Tables: TypeAlias = dict[str, pd.DataFrame]
SHORT: Final = 5_000  # steps of a single experiment that takes any number

# Everything that can be set, with its legal range; which of them an experiment takes is in its signature.
PARAMETERS: Final = {
    one.name: one
    for one in (
        Parameter("agents", "whole", "agents", "number of agents", at_least=3),
        Parameter("noise", "real", "noise", "standard deviation σ₀ of the noise", above=0),
        Parameter("steps", "whole", "steps", "length of the runs", at_least=100, at_most=10_000_000),
        Parameter("replications", "whole", "replications", "number of runs", at_least=2, at_most=100_000),
    )
}


def _convergence(seed: int, *, agents: int = AGENTS, noise: float = NOISE, steps: int = SHORT) -> Tables:
    return convergence(seed, steps, agents=agents, noise=noise).tables()


def _contraction(seed: int, *, steps: int = SHORT) -> Tables:
    return {"contraction": contraction_products(steps)}


def _biased(seed: int, *, agents: int = AGENTS, noise: float = NOISE, replications: int = 4_000) -> Tables:
    return biased_consensus(scale_free_model(seed, agents=agents, noise=noise), replicates=replications, seed=seed)


def _approach(seed: int, *, agents: int = AGENTS, noise: float = NOISE, steps: int = SHORT) -> Tables:
    return approach(scale_free_model(seed, agents=agents, noise=noise), steps, seed=seed)


def _tuning(seed: int, *, agents: int = AGENTS, noise: float = NOISE, steps: int = SHORT) -> Tables:
    return {"tuning": tuning(scale_free_model(seed, agents=agents, noise=noise), steps)}


def _pair(
    seed: int, *, noise: float = 1.0, steps: int = printed.STEPS, replications: int = printed.REPLICATIONS
) -> Tables:
    model = Model(k2(), printed.TWO_AGENTS_HIDDEN, noise=Gaussian(noise))
    return two_agents_recovery(seed, replications, steps=steps, model=model).tables()


def _residuals(
    seed: int,
    *,
    agents: int = printed.RESIDUAL_AGENTS,
    noise: float = 1.0,
    steps: int = printed.STEPS,
    replications: int = printed.REPLICATIONS,
) -> Tables:
    model = scale_free_model(seed, agents=agents, noise=noise)
    return residuals(seed, replications, steps=steps, model=model).tables()


def _sweep(seed: int, *, steps: int = printed.STEPS, replications: int = printed.SWEEP_REPLICATIONS) -> Tables:
    two, one = (sweep_ba(seed, replications, edges=edges, steps=steps) for edges in printed.SWEEP_EDGES)
    return SweepComparison(two, one).tables()


def _sizes(seed: int, *, steps: int = printed.STEPS) -> Tables:
    return {"size_effect": size_effect(seed, steps=steps)}


def _noise(seed: int, *, agents: int = AGENTS, steps: int = NOISE_STEPS, replications: int = 20) -> Tables:
    return noise_levels(
        seed, replications, steps=steps, model=scale_free_model(seed, agents=agents, noise=1.0)
    ).tables()


def _observers(seed: int, *, agents: int = OBSERVED_AGENTS, steps: int = 1_000, replications: int = 50) -> Tables:
    return beyond(seed, replications, agents=agents, steps=steps).tables()


def _observation_error(seed: int, *, steps: int = 1_000) -> Tables:
    times = sorted({time for time in OBSERVER_STEPS if time < steps} | {steps})
    return {"observation_error": observation_error(times=times)}


def _leak(seed: int, *, agents: int = 30, steps: int = 300) -> Tables:
    return {"network_leak": network_leak(seed, steps=steps, agents=agents), "network_defence": network_defence(seed)}


def _timescales(seed: int, *, agents: int = 60, steps: int = 1_000, replications: int = 20) -> Tables:
    return two_timescales(seed, steps, replications, agents=agents).tables()


def _forgetting(seed: int, *, agents: int = 20, steps: int = 200, replications: int = 50) -> Tables:
    return forgetting(seed, steps, replications, agents=agents).tables()


def _temporal(seed: int, *, steps: int = 1_000) -> Tables:
    return temporal_networks(seed, steps)


def _continuous(seed: int) -> Tables:
    return continuous_time(seed)


# The experiment behind each figure that one experiment suffices for.
EXPERIMENTS: Final[Mapping[str, Callable[..., Tables]]] = MappingProxyType(
    {
        "graph": _convergence,
        "agreement": _convergence,
        "failure": _convergence,
        "contraction": _contraction,
        "biased_consensus": _biased,
        "approach": _approach,
        "tuning": _tuning,
        "two_agents": _pair,
        "residuals": _residuals,
        "boxes_two": _sweep,
        "shapes_two": _sweep,
        "replication_boxes": _sweep,
        "boxes_one": _sweep,
        "shapes_one": _sweep,
        "size_effect": _sizes,
        "noise_levels": _noise,
        "observers": _observers,
        "partial_observers": _observers,
        "privacy_over_time": _observers,
        "observation_error": _observation_error,
        "network_leak": _leak,
        "adaptation": _timescales,
        "consensus_limit": _timescales,
        "decreasing_rates": _timescales,
        "forgetting": _forgetting,
        "edge_turnover": _temporal,
        "broadcaster": _temporal,
        "splitting": _temporal,
        "density": _continuous,
        "shrinking_steps": _continuous,
        "oscillation": _continuous,
    }
)


def settable(figure: str) -> list[str]:
    """Return the parameters that the experiment of a figure takes.

    >>> settable("failure")
    ['agents', 'noise', 'steps']
    """
    _check_figure(figure)
    return [name for name in inspect.signature(EXPERIMENTS[figure]).parameters if name != "seed"]


def parse_settings(figure: str, text: str) -> dict[str, Any]:
    """Return the settings in a text such as ``noise=0.5,agents=60``, each checked.

    >>> parse_settings("failure", "noise=0.5, agents=60")
    {'noise': 0.5, 'agents': 60}
    """
    names, settings = settable(figure), {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in names:
            rule = f"--set takes name=value for the figure {figure}, with the names {', '.join(names) or 'none'}"
            raise InvalidInputError(message(rule + did_you_mean(name, names), got=part, remedy="choose one of these"))
        settings[name] = PARAMETERS[name].check(_number(value))
    return settings


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def single(figure: str, seed: int, settings: Mapping[str, Any]) -> Tables:
    """Run the experiment of a figure with other parameters, and return its tables.

    >>> sorted(single("contraction", 14, {"steps": 100}))
    ['contraction']
    """
    _check_figure(figure)
    return EXPERIMENTS[figure](seed, **settings)


def _check_figure(figure: str) -> None:
    if figure not in EXPERIMENTS:
        rule = f"--only takes a figure of the report: {', '.join(EXPERIMENTS)}"
        raise InvalidInputError(message(rule + did_you_mean(figure, EXPERIMENTS), got=figure, remedy="choose one"))
