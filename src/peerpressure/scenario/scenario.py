"""Scenario: all that a file says about one experiment, checked, and ready to become a model."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.recovery import Observation, Prior
from peerpressure.scenario.adaptation import adaptation_of
from peerpressure.scenario.agents import Agents
from peerpressure.scenario.draws import values_of
from peerpressure.scenario.dynamics import Standing
from peerpressure.scenario.network import NetworkSection
from peerpressure.scenario.noise import NoiseSection, Silence
from peerpressure.scenario.observe import Observe, Privacy
from peerpressure.scenario.pressure import LinearPressure, PressureSection, schedule_of
from peerpressure.scenario.run import Output, Run
from peerpressure.scenario.section import Section
from peerpressure.scenario.time import Time
from peerpressure.scenario.toml import toml_text
from peerpressure.sde import SDE


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
            raise InvalidInputError(complain(rule, got=repr(found), remedy=remedy))
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
