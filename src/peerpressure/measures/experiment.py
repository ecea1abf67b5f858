"""A scenario carried out: its run, its verdict, and what an onlooker makes of it, each computed when asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

from peerpressure.model import Model
from peerpressure.privacy import Budget, Exposure, budget, exposure
from peerpressure.recovery import Estimate, recover
from peerpressure.scenario import Scenario
from peerpressure.simulation import Record, simulate
from peerpressure.theory import Verdict, diagnose
from peerpressure.trajectory import Trajectory


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A scenario with all that follows from it.

    ``record`` takes the place of what the scenario keeps, and ``threshold`` is the spread below which agents count as
    agreed; ``threads`` and ``progress`` go to the simulation.
    """

    scenario: Scenario
    record: Record | None = None
    threshold: float = 0.01
    threads: int | None = None
    progress: bool = False

    @cached_property
    def model(self) -> Model:
        """The model."""
        return self.scenario.model()

    @property
    def steps(self) -> int:
        """The length of the run."""
        return self.scenario.run.steps

    @cached_property
    def run(self) -> Trajectory:
        """The run."""
        asked = self.scenario.run
        return simulate(
            self.model,
            asked.steps,
            asked.replicates,
            seed=asked.seed,
            record=self.record or asked.what_to_keep(),
            threads=self.threads,
            progress=self.progress,
        )

    @cached_property
    def verdict(self) -> Verdict:
        """What becomes of the agents, and where they stand at the end."""
        return diagnose(self.model, self.steps)

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """What the onlooker makes of the run, by each method."""
        methods = ["innovations"] if self.scenario.observe is None else self.scenario.observe.methods
        look, prior = self.scenario.observation(), self.scenario.prior()
        return {method: recover(self.model, self.run, method, look, prior) for method in methods}

    @cached_property
    def exposure(self) -> Exposure:
        """What the onlooker learns about each agent."""
        return exposure(self.model, self.steps, self.scenario.observation(), self.scenario.prior())

    @cached_property
    def budget(self) -> Budget:
        """What everyone is promised against who sees everything."""
        asked = self.scenario.privacy
        terms = {} if asked is None else {"sensitivity": asked.sensitivity, "delta": asked.delta}
        return budget(self.model, self.steps, **terms)
