"""[network] of agents who meet and part: made to order, read from files, or recorded from real people."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from peerpressure.networks import (
    RECORDED,
    TemporalNetwork,
    activity_driven,
    edge_markovian,
    growing,
    read_contacts,
    read_events,
    recorded_contacts,
)
from peerpressure.scenario.dynamics import Again, Birth, Length
from peerpressure.scenario.section import Count, InputFile, OwnSeed, Positive, Section, Share, among

Columns: TypeAlias = Annotated[
    list[str] | None, Field(description="what the columns of the file hold: time, source, target, weight, or ''")
]
Period: TypeAlias = Annotated[Count | None, Field(description="begin anew after so many steps")]
Silence: TypeAlias = Annotated[
    Annotated[int, Field(ge=0)] | None, Field(description="drop silent stretches of more than so many steps")
]


class Temporal(Section):
    """A network that changes from step to step."""

    @abstractmethod
    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network as it changes in a run of so many steps, drawn from this seed if it has none."""


class ActivityDriven(Temporal):
    """Agents of unequal activity who seek ``contacts`` others anew in each step in which they are active."""

    temporal: Literal["activity_driven"] = "activity_driven"
    n: Count
    contacts: Count = 1
    exponent: Annotated[float, Field(ge=0)] = 2.8
    floor: Annotated[float, Field(gt=0, lt=1)] = 0.01
    steps: Length = None
    repeat: Again = True
    seed: OwnSeed = None

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the agents who ever meet, however roundabout, the largest company of them."""
        found = activity_driven(
            self.n,
            self.steps or steps,
            seed=seed if self.seed is None else self.seed,
            contacts=self.contacts,
            exponent=self.exponent,
            floor=self.floor,
            repeat=self.repeat,
        )
        return found.largest_component()


class ComingAndGoingAll(Temporal):
    """Any two agents meet with probability ``birth`` in a step, and part with probability ``death``."""

    temporal: Literal["edge_markovian"] = "edge_markovian"
    n: Count
    birth: Birth
    death: Share
    steps: Length = None
    repeat: Again = True
    seed: OwnSeed = None

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the agents who ever meet, however roundabout, the largest company of them."""
        own = seed if self.seed is None else self.seed
        found = edge_markovian(self.n, self.birth, self.death, self.steps or steps, seed=own, repeat=self.repeat)
        return found.largest_component()


class Growing(Temporal):
    """Agents who join one by one over the steps, each to ``m`` others in proportion to their degrees."""

    temporal: Literal["growing"] = "growing"
    n: Count
    m: Count
    steps: Length = None
    seed: OwnSeed = None

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network as it grows."""
        return growing(self.n, self.m, self.steps or steps, seed=seed if self.seed is None else self.seed)


class FromEvents(Temporal):
    """A file of changes: from which round on which two agents have which weight, where 0 ends an edge."""

    events: InputFile
    columns: Columns = None
    period: Period = None
    largest_component: bool = False

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network in the file."""
        found = read_events(self.events, columns=self.columns, period=self.period)
        return found.largest_component() if self.largest_component else found


class FromContacts(Temporal):
    """A file of contacts with time stamps; a step is ``resolution`` long, in the units of the stamps."""

    contacts: InputFile
    resolution: Positive = 1.0
    columns: Columns = None
    origin: float | None = None
    duration: Annotated[Positive | None, Field(description="how long a contact lasts; a moment if left out")] = None
    weighted: bool = True
    skip_quiet: Silence = None
    period: Period = None
    repeat: bool = False
    largest_component: bool = False

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network in the file."""
        found = read_contacts(self.contacts, **self.model_dump(exclude={"contacts", "largest_component"}))
        return found.largest_component() if self.largest_component else found


class Recorded(Temporal):
    """Real people who wore badges that told who faced whom; a step is ``resolution`` seconds long."""

    recorded: Annotated[
        str, AfterValidator(among(RECORDED, "a recorded network")), Field(json_schema_extra={"enum": [*RECORDED]})
    ]
    resolution: Positive = 300.0
    weighted: bool = True
    skip_quiet: Silence = None
    repeat: bool = False

    def evolve(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the contacts of this name."""
        return recorded_contacts(self.recorded, **self.model_dump(exclude={"recorded"}))


TEMPORAL = ("activity_driven", "edge_markovian", "growing")
