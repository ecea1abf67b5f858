"""One experiment of the report at a time, on another graph or with other parameters: its tables and its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

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

# Everything that can be set, with its legal range.
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


class Single(NamedTuple):
    """An experiment as a function of the seed and of what can be set, with the defaults of that.

    ``reported`` is where the report departs from them: the most steps, and other replications.
    """

    run: Callable[..., Tables]
    settings: Mapping[str, Any]
    reported: Mapping[str, int] = MappingProxyType({})


_GRAPH: Final = {"agents": AGENTS, "noise": NOISE, "graph": None}
_MODEL: Final = {**_GRAPH, "pressure": None}

_CONVERGENCE: Final = Single(
    lambda seed, **settings: convergence(seed, **settings).tables(), {**_MODEL, "steps": SHORT}, {"steps": LONGEST}
)
_SWEEP: Final = Single(
    lambda seed, **settings: SweepComparison(
        *(sweep_ba(seed, edges=edges, **settings) for edges in printed.SWEEP_EDGES)
    ).tables(),
    {"steps": printed.STEPS, "replications": printed.SWEEP_REPLICATIONS},
)
_OBSERVERS: Final = Single(
    lambda seed, **settings: beyond(seed, **settings).tables(),
    {"agents": OBSERVED_AGENTS, "steps": 1_000, "replications": 50},
    {"steps": SCHEDULE_STEPS[-1], "replications": REPLICATIONS},
)

# The experiment behind each figure that one experiment suffices for.
EXPERIMENTS: Final[Mapping[str, Single]] = MappingProxyType(
    {
        **dict.fromkeys(("graph", "agreement", "failure"), _CONVERGENCE),
        "contraction": Single(
            lambda seed, steps: {"contraction": contraction_products(steps)},
            {"steps": SHORT},
            {"steps": MOST_EXACT_STEPS},
        ),
        "biased_consensus": Single(
            lambda seed, replications, pressure, **model: biased_consensus(
                scale_free_model(seed, **model), replicates=replications, seed=seed, pressure=pressure
            ),
            {**_MODEL, "replications": 4_000},
        ),
        "approach": Single(
            lambda seed, steps, **model: approach(scale_free_model(seed, **model), steps, seed=seed),
            {**_MODEL, "steps": SHORT},
            {"steps": MOST_APPROACH_STEPS},
        ),
        "tuning": Single(
            lambda seed, steps, **model: {"tuning": tuning(scale_free_model(seed, **model), steps)},
            {**_GRAPH, "steps": SHORT},
            {"steps": MOST_EXACT_STEPS},
        ),
        "two_agents": Single(
            lambda seed, noise, **settings: two_agents_recovery(
                seed, **settings, model=Model(k2(), printed.TWO_AGENTS_HIDDEN, noise=Gaussian(noise))
            ).tables(),
            {"noise": 1.0, "steps": printed.STEPS, "replications": printed.REPLICATIONS},
        ),
        "residuals": Single(
            lambda seed, steps, replications, **model: residuals(
                seed, replications, steps=steps, model=scale_free_model(seed, **model)
            ).tables(),
            {
                **_MODEL,
                "agents": printed.RESIDUAL_AGENTS,
                "noise": 1.0,
                "steps": printed.STEPS,
                "replications": printed.REPLICATIONS,
            },
        ),
        **dict.fromkeys(("boxes_two", "shapes_two", "replication_boxes", "boxes_one", "shapes_one"), _SWEEP),
        "size_effect": Single(
            lambda seed, steps: {"size_effect": size_effect(seed, steps=steps)}, {"steps": printed.STEPS}
        ),
        "noise_levels": Single(
            lambda seed, steps, replications, **model: noise_levels(
                seed, replications, steps=steps, model=scale_free_model(seed, noise=1.0, **model)
            ).tables(),
            {"agents": AGENTS, "steps": NOISE_STEPS, "replications": 20, "graph": None, "pressure": None},
            {"steps": MOST_NOISE_STEPS, "replications": NOISE_REPLICATIONS},
        ),
        **dict.fromkeys(("observers", "partial_observers", "privacy_over_time"), _OBSERVERS),
        "observation_error": Single(
            lambda seed, steps: {
                "observation_error": observation_error(
                    times=sorted({time for time in OBSERVER_STEPS if time < steps} | {steps})
                )
            },
            {"steps": 1_000},
        ),
    }
)


def settable(figure: str) -> list[str]:
    """Return the parameters that the experiment of a figure takes.

    >>> settable("failure")
    ['agents', 'noise', 'steps', 'graph', 'pressure']
    """
    _check_figure(figure)
    return [name for name in PARAMETERS if name in EXPERIMENTS[figure].settings]


def reported(figure: str, steps: int, replications: int) -> dict[str, Any]:
    """Return the settings with which a report of these steps and replications makes a figure.

    >>> reported("approach", 100_000, 20)
    {'agents': 100, 'noise': 0.25, 'steps': 5000}
    """
    experiment = EXPERIMENTS[figure]
    settings = {name: experiment.settings[name] for name in settable(figure)}
    settings |= {"replications": replications} if experiment is _SWEEP else {}
    settings |= experiment.reported
    settings |= {"steps": min(steps, settings["steps"])} if "steps" in experiment.reported else {}
    return {name: value for name, value in settings.items() if value is not None}


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
    experiment = EXPERIMENTS[figure]
    if experiment is _CONVERGENCE and "graph" in settings:
        parts["graph_name"] = str(settings["graph"])
    return experiment.run(seed, **{**experiment.settings, **settings, **parts})


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
