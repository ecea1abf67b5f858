"""Everything that can be chosen on the page, with titles, ranges and a sentence on each, and its examples.

Schedules, noise laws, generators and estimators are read from their declarations; the page has no titles or ranges of
its own.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, final

from peerpressure.explorer.models import page_state
from peerpressure.explorer.protocol import Limits
from peerpressure.networks import GENERATORS, NAMED, TEMPORAL, named
from peerpressure.noise import LAWS
from peerpressure.recovery import AUTO, METHODS
from peerpressure.scenario import load_scenario
from peerpressure.scenario.agents import HIDDEN_LAWS, STUBBORNNESS, Agents
from peerpressure.scenario.network import InlineNetworkSection
from peerpressure.scenario.scenario import Privacy, Run, Scenario
from peerpressure.scenario.section import Choice, Feature, Section, choices, controls
from peerpressure.scenario.shipped import PAGE, Example, examples
from peerpressure.scenario.system import OPTIMAL, TEMPORALS, TUNED
from peerpressure.schedules import SCHEDULES
from peerpressure.support.parameters import Parameter
from peerpressure.version import __version__

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


def offered(choice: Choice, max_agents: int | None = None) -> dict[str, Any]:
    """Return plain values for JSON, offering at most ``max_agents`` agents."""
    rows = [control(one, max_agents if one.name == "n" else None) for one in choice.sliders]
    examples = [text for one in choice.parameters for text in one.examples]
    plain: dict[str, Any] = {"id": choice.id, "title": choice.title, "blurb": choice.help, "parameters": rows}
    plain |= {"fixed": dict(choice.fixed)} if choice.fixed else {}
    return plain | ({"examples": examples} if examples else {})


def control(one: Parameter, maximum: int | None = None) -> dict[str, Any]:
    """Return the slider of a parameter as plain values, ending at ``maximum`` at the latest."""
    slider = one.slider
    assert slider is not None, "only parameters with a slider are offered"
    row: dict[str, Any] = {"name": one.name, "title": one.title, "kind": "int" if one.kind == "whole" else "float"}
    # A slider must not offer a number of agents that the limits reject.
    top = slider.maximum if maximum is None else min(slider.maximum, maximum)
    start = one.default if slider.start is None else slider.start
    row |= {"min": slider.minimum, "max": top, "default": start, "step": slider.step}
    return row | ({"scale": "log"} if slider.log else {})


# Keys that the page sets by itself: a random network is reduced to its largest component.
FIXED: Mapping[str, Mapping[str, Any]] = {"erdos_renyi": {"connected": False}}


def generators() -> list[Choice]:
    """Return the generators of networks."""
    return choices(GENERATORS, **FIXED)


def schedules() -> list[Choice]:
    """Return the schedules, and those that depend on the model after the first."""
    # The tuned schedule is derived from the linear one and stands beside it.
    first, *others = choices(SCHEDULES)
    return [first, TUNED, OPTIMAL, *others]


def methods() -> list[Choice]:
    """Return the estimators, and before them the choice of the best one."""
    return [BEST_METHOD, *(Choice(name, one.title, one.help) for name, one in METHODS.items())]


def noises() -> list[Choice]:
    """Return the noise laws."""
    return choices(LAWS)


BEST_METHOD = Choice(
    AUTO, "Best for what is seen", "Innovations if all agents and steps are observed, otherwise the Kalman filter."
)


def features() -> dict[str, Feature]:
    """Return what can be added to a scenario, by its key, in the order of the sections."""
    sections: Mapping[str, type[Section]] = {"network": InlineNetworkSection, "agents": Agents}
    fields: dict[str, FieldInfo] = {}
    for name, field in Scenario.model_fields.items():
        own = sections[name].model_fields if name in sections else {}
        fields |= {f"{name}.{key}": one for key, one in own.items()} or {name: field}
    return {path: one for path, field in fields.items() for one in field.metadata if isinstance(one, Feature)}


def temporal_networks() -> list[Choice]:
    """Return the generators of networks that change by themselves."""
    return choices(TEMPORAL)


@final
@dataclass(frozen=True)
class Preset:
    """An example as a state of the page; ``view`` holds the page's settings."""

    example: Example
    group: str
    view: Mapping[str, Any]

    @cached_property
    def state(self) -> dict[str, Any]:
        """The state of the page."""
        # A page cannot read files, so their numbers become part of the scenario.
        read = load_scenario(self.example.path) if self.example.named else None
        scenario = self.example.sections if read is None else page_state(read, Limits())["scenario"]
        return {"scenario": scenario, "view": dict(self.view)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        title, sentence = self.example.comment
        return {"id": self.example.name, "title": title, "group": self.group, "blurb": sentence, "state": self.state}


@cache
def presets() -> tuple[Preset, ...]:
    """Return the examples of the page in their order."""
    known, groups = examples(), tomllib.loads(PAGE.read_text(encoding="utf-8"))
    return tuple(Preset(known[name], group, view) for group, of in groups.items() for name, view in of.items())


def first_state() -> dict[str, Any]:
    """Return the state in which the page opens: its first example."""
    return presets()[0].state


PAPERS = "ols"


def catalogue(limits: Limits, default: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return all tables as plain values; the page opens with the ``default`` state."""
    return {
        "version": __version__,
        "limits": limits.to_dict(),
        "generators": [offered(choice, limits.agents) for choice in generators()],
        "temporal_networks": [offered(choice, limits.agents) for choice in temporal_networks()],
        "named": [dict(row) for row in _real_networks()],
        "schedules": [offered(choice) for choice in schedules()],
        "noises": [offered(choice) for choice in noises()],
        "temporals": [offered(choice) for choice in TEMPORALS],
        "hidden_laws": [offered(choice) for choice in HIDDEN_LAWS],
        "stubbornness": [offered(choice) for choice in STUBBORNNESS],
        "run": [control(one) for one in controls(Run)],
        "features": [
            {"path": path, "title": one.title, "blurb": one.help, "options": [*map(offered, one.options)]}
            for path, one in features().items()
        ],
        "privacy": [control(one) for one in controls(Privacy)],
        "methods": [
            offered(choice)
            | {"paper": choice.id == PAPERS, "continuous": choice.id == AUTO or METHODS[choice.id].continuous}
            for choice in methods()
        ],
        "presets": [preset.to_dict() for preset in presets()],
        "default": dict(default) if default else first_state(),
    }


# Loading the data sets imports NetworkX, which is slow and needed once.
@cache
def _real_networks() -> tuple[tuple[tuple[str, Any], ...], ...]:
    rows = []
    for name, real in NAMED.items():
        title = name.replace("_", " ").capitalize()
        rows.append((("id", name), ("title", title), ("blurb", real.about), ("n", named(name).n)))
    return tuple(rows)
