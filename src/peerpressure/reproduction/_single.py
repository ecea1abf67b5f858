"""One experiment of the report at a time, on another graph or with other parameters: its tables and its figure."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pandas as pd

from peerpressure.errors import InvalidInputError, did_you_mean, message
from peerpressure.model import Model
from peerpressure.networks import Network, k2
from peerpressure.noise import Gaussian
from peerpressure.reproduction import printed
from peerpressure.reproduction._beyond import (
    OBSERVED_AGENTS,
    OBSERVER_STEPS,
    REPLICATIONS,
    SCHEDULE_STEPS,
    beyond,
    observation_error,
)
from peerpressure.reproduction._convergence import (
    NOISE_STEPS,
    REPLICATIONS as NOISE_REPLICATIONS,
    approach,
    biased_consensus,
    contraction_products,
    convergence,
    noise_levels,
    tuning,
)
from peerpressure.reproduction._experiments import MOST_APPROACH_STEPS, MOST_EXACT_STEPS, MOST_NOISE_STEPS
from peerpressure.reproduction._regression import residuals, two_agents_recovery
from peerpressure.reproduction._sweep import SweepComparison, size_effect, sweep_ba
from peerpressure.reproduction.design import AGENTS, NOISE, scale_free_model
from peerpressure.scenario import scenario_from
from peerpressure.scenario.network import StaticNetworkSection
from peerpressure.scenario.shorthand import network_section, pressure_section
from peerpressure.schedules import Schedule
from peerpressure.support.parameters import Parameter

Tables: TypeAlias = dict[str, pd.DataFrame]
LONGEST: Final = 10_000_000
SHORT: Final = 5_000  # steps of a single experiment that takes any number

# Everything that can be set, with its legal range; which of them an experiment takes is in its signature.
PARAMETERS: Final = {
    one.name: one
    for one in (
        Parameter("agents", "whole", "agents", "number of agents", at_least=3),
        Parameter("noise", "real", "noise", "standard deviation σ₀ of the noise", above=0),
        Parameter("steps", "whole", "steps", "length of the runs", at_least=100, at_most=LONGEST),
        Parameter("replications", "whole", "replications", "number of runs", at_least=2, at_most=100_000),
        Parameter("graph", "text", "graph", "a graph as in peerpressure diagnose --network"),
        Parameter("pressure", "text", "pressure", "peer pressure as in peerpressure diagnose --pressure"),
    )
}


def _convergence(
    seed: int,
    *,
    agents: int = AGENTS,
    noise: float = NOISE,
    steps: int = SHORT,
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Tables:
    return convergence(seed, steps, agents=agents, noise=noise, graph=graph, pressure=pressure).tables()


def _contraction(seed: int, *, steps: int = SHORT) -> Tables:
    return {"contraction": contraction_products(steps)}


def _biased(
    seed: int,
    *,
    agents: int = AGENTS,
    noise: float = NOISE,
    replications: int = 4_000,
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Tables:
    model = scale_free_model(seed, agents=agents, noise=noise, graph=graph)
    return biased_consensus(model, replicates=replications, seed=seed, pressure=pressure)


def _approach(
    seed: int,
    *,
    agents: int = AGENTS,
    noise: float = NOISE,
    steps: int = SHORT,
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Tables:
    model = scale_free_model(seed, agents=agents, noise=noise, graph=graph, pressure=pressure)
    return approach(model, steps, seed=seed)


def _tuning(
    seed: int, *, agents: int = AGENTS, noise: float = NOISE, steps: int = SHORT, graph: Network | None = None
) -> Tables:
    return {"tuning": tuning(scale_free_model(seed, agents=agents, noise=noise, graph=graph), steps)}


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
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Tables:
    model = scale_free_model(seed, agents=agents, noise=noise, graph=graph, pressure=pressure)
    return residuals(seed, replications, steps=steps, model=model).tables()


def _sweep(seed: int, *, steps: int = printed.STEPS, replications: int = printed.SWEEP_REPLICATIONS) -> Tables:
    two, one = (sweep_ba(seed, replications, edges=edges, steps=steps) for edges in printed.SWEEP_EDGES)
    return SweepComparison(two, one).tables()


def _sizes(seed: int, *, steps: int = printed.STEPS) -> Tables:
    return {"size_effect": size_effect(seed, steps=steps)}


def _noise(
    seed: int,
    *,
    agents: int = AGENTS,
    steps: int = NOISE_STEPS,
    replications: int = 20,
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Tables:
    model = scale_free_model(seed, agents=agents, noise=1.0, graph=graph, pressure=pressure)
    return noise_levels(seed, replications, steps=steps, model=model).tables()


def _observers(seed: int, *, agents: int = OBSERVED_AGENTS, steps: int = 1_000, replications: int = 50) -> Tables:
    return beyond(seed, replications, agents=agents, steps=steps).tables()


def _observation_error(seed: int, *, steps: int = 1_000) -> Tables:
    times = sorted({time for time in OBSERVER_STEPS if time < steps} | {steps})
    return {"observation_error": observation_error(times=times)}


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
    }
)


def settable(figure: str) -> list[str]:
    """Return the parameters that the experiment of a figure takes.

    >>> settable("failure")
    ['agents', 'noise', 'steps', 'graph', 'pressure']
    """
    _check_figure(figure)
    return [name for name in inspect.signature(EXPERIMENTS[figure]).parameters if name != "seed"]


# Where the report departs from what a single experiment takes by default: the most steps, and other replications.
_REPORTED: Final[Mapping[Callable[..., Tables], Mapping[str, int]]] = {
    _convergence: {"steps": LONGEST},
    _contraction: {"steps": MOST_EXACT_STEPS},
    _approach: {"steps": MOST_APPROACH_STEPS},
    _tuning: {"steps": MOST_EXACT_STEPS},
    _noise: {"steps": MOST_NOISE_STEPS, "replications": NOISE_REPLICATIONS},
    _observers: {"steps": SCHEDULE_STEPS[-1], "replications": REPLICATIONS},
}


def reported(figure: str, steps: int, replications: int) -> dict[str, Any]:
    """Return the settings with which a report of these steps and replications makes a figure.

    >>> reported("approach", 100_000, 20)
    {'agents': 100, 'noise': 0.25, 'steps': 5000}
    """
    experiment = EXPERIMENTS[figure]
    settings = {name: one.default for name, one in inspect.signature(experiment).parameters.items()}
    settings |= {"replications": replications} if experiment is _sweep else {}
    settings |= _REPORTED.get(experiment, {})
    settings |= {"steps": min(steps, settings["steps"])} if "steps" in _REPORTED.get(experiment, {}) else {}
    return {name: value for name, value in settings.items() if name in PARAMETERS and value is not None}


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
    if {"graph", "agents"} <= settings.keys():
        rule, remedy = "a graph has as many agents as it has", "leave agents out"
        raise InvalidInputError(message(rule, got=f"agents={settings['agents']}", remedy=remedy))
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
    parts = {name: read(str(settings[name]), seed) for name, read in _PARTS.items() if name in settings}
    return EXPERIMENTS[figure](seed, **{**settings, **parts})


def _graph(words: str, seed: int) -> Network:
    section = scenario_from({"network": network_section(words), "run": {"steps": 1, "seed": seed}}).network
    if not isinstance(section, StaticNetworkSection):
        rule, remedy = "the experiments of the paper are on graphs that do not change", "for instance karate or a file"
        raise InvalidInputError(message(rule, got=words, remedy=remedy))
    return section.build(seed)


def _pressure(words: str, seed: int) -> Schedule:
    sections = {"network": {"generator": "k2"}, "pressure": pressure_section(words), "run": {"steps": 1}}
    return scenario_from(sections).schedule


# Settings that are parts of a model, as words that the scenario reads.
_PARTS: Final[Mapping[str, Callable[[str, int], Any]]] = {"graph": _graph, "pressure": _pressure}


def _check_figure(figure: str) -> None:
    if figure not in EXPERIMENTS:
        rule = f"--only takes a figure of the report: {', '.join(EXPERIMENTS)}"
        raise InvalidInputError(message(rule + did_you_mean(figure, EXPERIMENTS), got=figure, remedy="choose one"))
