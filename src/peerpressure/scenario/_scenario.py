"""Plain values as TOML text; tomllib reads, and nothing in the standard library writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.recovery import Observation, Prior
from peerpressure.scenario._agents import Agents, adaptation_of, values_of
from peerpressure.scenario._network import NetworkSection, Standing
from peerpressure.scenario._run import Observe, Output, Privacy, Run
from peerpressure.scenario._section import Section
from peerpressure.scenario._system import LinearPressure, NoiseSection, PressureSection, Silence, Time, schedule_of
from peerpressure.sde import SDE

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def toml_text(tables: Mapping[str, Any]) -> str:
    """Return tables of plain values as TOML, what is nested in them on one line and last.

    >>> print(toml_text({"run": {"steps": 10, "record": {"every": 2}}}))
    [run]
    steps = 10
    record = { every = 2 }
    <BLANKLINE>
    """
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    ordered = sorted(values.items(), key=lambda item: isinstance(item[1], Mapping))
    lines = [f"{_key(key)} = {_value(value)}" for key, value in ordered]
    return "\n".join([f"[{_key(name)}]", *lines, ""])


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _text(value: str) -> str:
    # JSON escapes all that TOML wants escaped, but for DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# Scenario: all that a file says about one experiment, checked, and ready to become a model.


class Scenario(Section):
    r"""One experiment: a network, its agents, peer pressure, noise, a run, and perhaps someone who looks on.

    >>> from peerpressure.scenario import parse_scenario
    >>> parse_scenario("[network]\ngenerator = 'k2'\n[run]\nsteps = 9").model().n
    2
    """

    network: NetworkSection
    agents: Agents = Agents()
    pressure: PressureSection = LinearPressure()
    noise: NoiseSection = Silence()
    time: Annotated[Time | None, Field(description="leave it out for steps t = 1, 2, …")] = None
    run: Run
    observe: Observe | None = None
    privacy: Privacy | None = None
    output: Output = Output()

    @cached_property
    def temporal_network(self) -> TemporalNetwork | None:
        """Who listens to whom in each step, drawn from its own seed or from that of the run; None if it stays so."""
        found = self.network.evolve(self.run.steps, self.run.seed)
        if found is not None and not found.aggregate.is_connected:
            rule = "all agents must meet over time, if only by way of others"
            remedy = "let it change for more steps, or set largest_component = true if it is a file"
            raise InvalidInputError(message(rule, got=repr(found), remedy=remedy))
        return found

    @cached_property
    def graph(self) -> Network:
        """The network itself, drawn from its own seed or from that of the run; all who ever meet, where it changes."""
        if self.temporal_network is not None:
            return self.temporal_network.aggregate
        assert isinstance(self.network, Standing), "what does not change can be built"
        return self.network.build(self.run.seed)

    def model(self) -> Model:
        """Return the model that this scenario describes."""
        seed, network = self.run.seed, self.graph
        parts: dict[str, Any] = {
            name: values_of(getattr(self.agents, name), name, network, seed)
            for name in ("hidden", "stubbornness", "start")
        }
        pressure = schedule_of(self.pressure, network, parts["stubbornness"])
        adaptation = adaptation_of(self.agents.adaptation, network, seed)
        return Model(
            network if self.temporal_network is None else self.temporal_network,
            pressure=pressure,
            noise=self.noise.noise(),
            adaptation=adaptation,
            **parts,
        )

    def system(self) -> Model | SDE:
        """Return what is run: the model, or its equation where time is continuous."""
        return self.model() if self.time is None else self.time.flow(self.model())

    def observation(self) -> Observation:
        """Return who is seen and when; everybody, where the file does not say."""
        return Observation() if self.observe is None else self.observe.observation()

    def prior(self) -> Prior | None:
        """Return what the observer believes beforehand, if anything."""
        return None if self.observe is None or self.observe.prior is None else self.observe.prior.prior()

    def to_toml(self) -> str:
        """Return the file that reads back as this scenario, every default written out."""
        return toml_text(self.model_dump(exclude_none=True))


# The JSON Schema of scenario files, by which an editor completes and checks them.

FILE = "scenario.schema.json"


def schema_text() -> str:
    """Return the schema that the sections make, as the package ships it."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Scenario.model_json_schema()
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def shipped_schema() -> str:
    """Return the schema that came with the package."""
    return (files("peerpressure") / FILE).read_text(encoding="utf-8")
