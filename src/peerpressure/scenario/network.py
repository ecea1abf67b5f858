"""Section [network]: a generator, edges, a file or a real network, constant or changing from step to step."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from pydantic import AfterValidator, Field

from peerpressure.networks import (
    DYNAMICS,
    GENERATORS,
    NAMED,
    RECORDED,
    TEMPORAL,
    Generator,
    Network,
    TemporalNetwork,
    named,
    read_contacts,
    read_events,
    read_network,
    recorded_contacts,
)
from peerpressure.networks.validation import Direction
from peerpressure.scenario.section import (
    Count,
    Feature,
    InputFile,
    Label,
    OwnSeed,
    Positive,
    Section,
    alternatives,
    among,
    choices,
    derived,
    key_of,
    takes,
    union_of,
)

Length: TypeAlias = Annotated[
    Count | None, Field(description="number of steps that are drawn; that of the run if left out")
]
Repeat: TypeAlias = Annotated[
    bool | None, Field(description="whether these steps repeat, or the last network stays; true if steps is given")
]
# Keys of a random generator that the run has defaults for.
_FROM_RUN: dict[str, Any] = {"steps": (Length, None), "repeat": (Repeat, None), "seed": (OwnSeed, None)}


class Size(NamedTuple):
    """Estimate of the numbers of agents, of edges and of edge events, before a network is built."""

    agents: int
    edges: float
    changes: float = 0.0


def own_seed(seed: int) -> int:
    """Return the seed of changes to a network that was itself drawn from this seed."""
    # Not the seed itself: the network was drawn from it, and its changes would repeat the same random numbers. One bit
    # is dropped because seeds in files are signed.
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> 1)


Declared = TypeVar("Declared", bound=Section)


def _section(base: type[Declared], key: str, name: str, one: Generator[Any]) -> type[Declared]:
    """Return the section of a generator, with keys for those arguments that the run has defaults for."""
    # Deterministic generators have no seed, and static ones neither steps nor repeat.
    more = {argument: field for argument, field in _FROM_RUN.items() if takes(one.build, argument)}
    return derived(base, name, one.build, one.parameters, key=key, description=one.help, more=more)


def _over(values: dict[str, Any], steps: int) -> dict[str, Any]:
    """Return the values of a section with its steps: by default the network changes during the whole run."""
    # A process that was drawn for the length of the run goes on after it at random, and does not start again.
    again = {"repeat": values["steps"] is not None} if values.get("repeat", True) is None else {}
    return values | again | {"steps": values["steps"] or steps}


class EdgeDynamicsSection(Section):
    """Changes of a given network; ``kind`` names the generator, and the other keys are its parameters."""

    kind: str

    def temporal_network(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the changing network, over its own steps and from its own seed if it has them."""
        values = _over(self.model_dump(exclude={"kind"}), steps)
        values["seed"] = own_seed(seed) if values["seed"] is None else values["seed"]
        return DYNAMICS[self.kind].build(network, **values)

    def changes(self, edges: float, steps: int) -> float:
        """Return an estimate of the number of edge events in a network of so many edges."""
        # Not parameters of the estimate, or passed by name below.
        values = self.model_dump(exclude={"kind", "steps", "repeat", "seed"})
        return DYNAMICS[self.kind].size(edges=edges, steps=getattr(self, "steps", None) or steps, **values)


DYNAMICS_SECTIONS = {kind: _section(EdgeDynamicsSection, "kind", kind, one) for kind, one in DYNAMICS.items()}


def _choose_dynamics(value: Any) -> str | None:
    _, kind = key_of(value, "kind") or (None, None)
    return str(kind) if kind in tuple(DYNAMICS_SECTIONS) else None


if TYPE_CHECKING:
    DynamicsSection: TypeAlias = EdgeDynamicsSection
else:
    DynamicsSection = Annotated[
        union_of(DYNAMICS_SECTIONS),
        alternatives(
            _choose_dynamics,
            f"dynamics must have a kind: {', '.join(DYNAMICS_SECTIONS)}",
            "for instance { kind = 'failing_edges', probability = 0.2 }",
            kind=DYNAMICS_SECTIONS,
        ),
    ]


CHANGES = Feature(
    "Changing edges",
    "Edges come and go from step to step: they fail, move, or take turns.",
    tuple(choices(DYNAMICS, **{kind: {"kind": kind} for kind in DYNAMICS})),
)
DISTRUST = Feature(
    "Distrust",
    "Click an edge, or two agents one after the other: trust becomes distrust; click again to restore trust.",
    (),
)


class StaticNetworkSection(Section):
    """A network that is constant, unless ``dynamics`` changes it."""

    dynamics: Annotated[
        DynamicsSection | None, Field(description="how edges change over time; constant if left out"), CHANGES
    ] = None

    @abstractmethod
    def build(self, seed: int) -> Network:
        """Return the network, drawn from its own seed if it has one, else from this one."""

    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork | None:
        """Return the changing network of a run of so many steps; None if it is constant."""
        if self.dynamics is None:
            return None
        # A network with a seed of its own keeps its changes with it.
        own = getattr(self, "seed", None)
        return self.dynamics.temporal_network(self.build(seed), steps, seed if own is None else own)

    def size(self, steps: int) -> Size:
        """Return an estimate of the size of the network in a run of so many steps."""
        agents, edges = self._constant_size()
        return Size(agents, edges, 0.0 if self.dynamics is None else self.dynamics.changes(edges, steps))

    def _constant_size(self) -> tuple[int, float]:
        """Return the numbers of agents and of edges; 0 if they are unknown before a file is read."""
        return 0, 0.0


class GeneratedNetworkSection(StaticNetworkSection):
    """A generated network; ``generator`` names it, and the other keys are its parameters."""

    generator: str

    def _parameters(self) -> dict[str, Any]:
        return self.model_dump(exclude={"generator", "dynamics", "seed"})

    def build(self, seed: int) -> Network:
        """Return the network; a random one is drawn from its own seed if it has one."""
        build, parameters = GENERATORS[self.generator].build, self._parameters()
        if takes(build, "seed"):
            own = getattr(self, "seed", None)
            parameters["seed"] = seed if own is None else own
        # A connected network is returned unchanged; a random one need not be connected.
        return build(**parameters).largest_component()

    def _constant_size(self) -> tuple[int, float]:
        one, parameters = GENERATORS[self.generator], self._parameters()
        return one.agents(**parameters), float(one.size(**parameters))


GENERATED = {name: _section(GeneratedNetworkSection, "generator", name, one) for name, one in GENERATORS.items()}

# 32 bits are enough for the agents of any list of edges.
Position: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]
# In a long list only the first error is reported, since the others are usually the same.
Pair: TypeAlias = Annotated[list[Position], Field(min_length=2, max_length=2)]
Pairs: TypeAlias = Annotated[list[Pair], Field(min_length=1, fail_fast=True)]
Weights: TypeAlias = Annotated[list[float], Field(min_length=1, fail_fast=True)]
_WEIGHTED = "whether the weights of the file count; they are 1 otherwise"
_ADDED = "whether contacts of a pair within a step add up to its weight; it is 1 otherwise"
_LARGEST = "keep the largest connected part only"
_REPEATED = "repeat the record forever"
Directed: TypeAlias = Annotated[bool, Field(description="edges go one way")]
Signed: TypeAlias = Annotated[bool, Field(description="weights may be negative, for distrust")]
Meaning: TypeAlias = Annotated[
    Direction, Field(description="whether the source of a directed edge listens to its target or influences it")
]


class InlineNetworkSection(StaticNetworkSection):
    """Edges between agents numbered from 0, with optional weights, one per edge, and labels, one per agent."""

    edges: Annotated[Pairs, Field(description="pairs of agents, such as [[0, 1], [1, 2]]")]
    weights: Annotated[Weights | None, Field(description="weights of the edges, in the same order")] = None
    labels: Annotated[
        Annotated[list[Label], Field(min_length=1, fail_fast=True)] | None, Field(description="names of the agents")
    ] = None
    directed: Directed = False
    signed: Annotated[Signed, DISTRUST] = False
    direction: Meaning = "listens"

    def build(self, seed: int) -> Network:
        """Return the network with these edges."""
        # An integer array holds positions, also if labels are given.
        return Network.from_edges(
            np.array(self.edges),
            self.weights,
            self.labels,
            directed=self.directed,
            signed=self.signed,
            direction=self.direction,
        )

    def _constant_size(self) -> tuple[int, float]:
        # Positions count from 0; agents without edges beyond the last one cannot be written in this form.
        return 1 + max(max(pair) for pair in self.edges), float(len(self.edges))


class NetworkFileSection(StaticNetworkSection):
    """A network in a file: an edge list, a graph of another program, Matrix Market or NumPy, by the suffix."""

    file: Annotated[InputFile, Field(description="path of the file, relative to the scenario")]
    weighted: bool = Field(default=True, description=_WEIGHTED)
    largest_component: bool = Field(default=False, description=_LARGEST)
    directed: Annotated[Directed | None, Field(description="whether edges go one way; by default as the file says")] = (
        None
    )
    signed: Signed = False
    direction: Meaning = "listens"

    def build(self, seed: int) -> Network:
        """Return the network in the file."""
        network = read_network(
            self.file,
            weight="weight" if self.weighted else None,
            directed=self.directed,
            signed=self.signed,
            direction=self.direction,
        )
        return network.largest_component() if self.largest_component else network


class NamedNetworkSection(StaticNetworkSection):
    """A real network that ships with NetworkX."""

    named: Annotated[
        str,
        AfterValidator(among(NAMED, "a named network")),
        Field(json_schema_extra={"enum": [*NAMED]}, description="name of the network"),
    ]

    def build(self, seed: int) -> Network:
        """Return the network of this name."""
        return named(self.named)


class TemporalNetworkSection(Section):
    """A network that changes from step to step."""

    @abstractmethod
    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the changing network of a run of so many steps, drawn from this seed if it has none of its own."""

    def size(self, steps: int) -> Size:
        """Return an estimate of the size of the network; 0 if it is unknown before a file is read."""
        return Size(0, 0.0)


class GeneratedTemporalSection(TemporalNetworkSection):
    """A generated temporal network; ``temporal`` names it, and the other keys are its parameters."""

    temporal: str

    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the largest component of agents who meet over time."""
        # The first argument is positional: a number of agents where other generators take a network.
        n, *_ = TEMPORAL[self.temporal].parameters
        values = _over(self.model_dump(exclude={"temporal"}), steps)
        values["seed"] = seed if values["seed"] is None else values["seed"]
        # Agents who never meet anyone could only be isolated; the model needs a connected aggregate.
        return TEMPORAL[self.temporal].build(values.pop(n.name), **values).largest_component()

    def size(self, steps: int) -> Size:
        """Return an estimate of the size of the network in a run of so many steps."""
        one, values = TEMPORAL[self.temporal], self.model_dump(exclude={"temporal", "steps", "repeat", "seed"})
        # A section without the key, or with None, covers the whole run.
        changes = one.size(steps=getattr(self, "steps", None) or steps, **values)
        return Size(values["n"], one.pairs(**values), changes)


GENERATED_TEMPORAL = {
    f"temporal {name}": _section(GeneratedTemporalSection, "temporal", name, one) for name, one in TEMPORAL.items()
}

Columns: TypeAlias = Annotated[
    list[str] | None,
    Field(description="columns of the file in order: time, source, target, weight, or '' for none of them"),
]
Period: TypeAlias = Annotated[Count | None, Field(description="number of steps after which the record repeats")]
Silence: TypeAlias = Annotated[
    Annotated[int, Field(ge=0)] | None,
    Field(description="drop gaps without contacts that are longer than this number of steps"),
]


class EventsSection(TemporalNetworkSection):
    """A file of edge events: from which step on two agents have which weight; weight 0 ends an edge."""

    events: Annotated[InputFile, Field(description="path of the file, relative to the scenario")]
    columns: Columns = None
    period: Period = None
    largest_component: bool = Field(default=False, description=_LARGEST)

    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network in the file."""
        network = read_events(self.events, columns=self.columns, period=self.period)
        return network.largest_component() if self.largest_component else network


class ContactsSection(TemporalNetworkSection):
    """A file of contacts with time stamps; a step is ``resolution`` long, in the units of the stamps."""

    contacts: Annotated[InputFile, Field(description="path of the file, relative to the scenario")]
    resolution: Positive = Field(default=1.0, description="length of a step")
    columns: Columns = None
    origin: Annotated[float | None, Field(description="time at which step 1 begins; the first contact if left out")] = (
        None
    )
    duration: Annotated[Positive | None, Field(description="length of a contact; an instant if left out")] = None
    weighted: bool = Field(default=True, description=_ADDED)
    skip_quiet: Silence = None
    period: Period = None
    repeat: bool = Field(default=False, description=_REPEATED)
    largest_component: bool = Field(default=False, description=_LARGEST)

    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the network in the file."""
        # The keys of the section are the arguments of the reader, except for its own.
        network = read_contacts(self.contacts, **self.model_dump(exclude={"contacts", "largest_component"}))
        return network.largest_component() if self.largest_component else network


class RecordedSection(TemporalNetworkSection):
    """Face-to-face contacts recorded with wearable sensors; a step is ``resolution`` seconds long."""

    recorded: Annotated[
        str,
        AfterValidator(among(RECORDED, "a recorded network")),
        Field(json_schema_extra={"enum": [*RECORDED]}, description="name of the recording"),
    ]
    resolution: Positive = Field(default=300.0, description="length of a step in seconds")
    weighted: bool = Field(default=True, description=_ADDED)
    skip_quiet: Silence = None
    repeat: bool = Field(default=False, description=_REPEATED)

    def temporal_network(self, steps: int, seed: int) -> TemporalNetwork:
        """Return the contacts of this name."""
        return recorded_contacts(self.recorded, **self.model_dump(exclude={"recorded"}))


# Sections that are recognised by a key of their own, rather than by the name of a generator.
_BY_KEY: dict[str, type[Section]] = {
    "file": NetworkFileSection,
    "named": NamedNetworkSection,
    "edges": InlineNetworkSection,
    "events": EventsSection,
    "recorded": RecordedSection,
    "contacts": ContactsSection,
}


def _choose_network(value: Any) -> str | None:
    # `contacts` is a parameter of a generator, too, so generators are recognised first.
    key, word = key_of(value, "generator", "temporal", *_BY_KEY) or (None, None)
    if key == "generator":
        return str(word) if word in tuple(GENERATED) else None
    if key == "temporal":
        # A prefix, because a generator may exist in a static and a temporal version, such as edge_markovian.
        return f"temporal {word}" if f"temporal {word}" in GENERATED_TEMPORAL else None
    return None if key is None else key


if TYPE_CHECKING:
    NetworkSection: TypeAlias = StaticNetworkSection | TemporalNetworkSection
else:
    NetworkSection = Annotated[
        union_of({**GENERATED, **GENERATED_TEMPORAL, **_BY_KEY}),
        alternatives(
            _choose_network,
            "a network must have a generator, edges, a file or a named one, or be temporal",
            f"set generator to one of {', '.join(GENERATORS)}; or edges to pairs such as [[0, 1], [1, 2]]; "
            f"or file to a path; or named to one of {', '.join(NAMED)}; or temporal to one of {', '.join(TEMPORAL)}; "
            f"or events or contacts to a path; or recorded to one of {', '.join(RECORDED)}",
            generator=GENERATORS,
            temporal=TEMPORAL,
        ),
    ]
