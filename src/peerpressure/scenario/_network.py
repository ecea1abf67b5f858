"""network.dynamics: how the edges of a given network come, go and move from step to step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import AfterValidator, Field, Tag

from peerpressure.networks import (
    GENERATORS,
    NAMED,
    RECORDED,
    Network,
    TemporalNetwork,
    activity_driven,
    edge_markovian,
    failing_edges,
    growing,
    named,
    read_contacts,
    read_events,
    read_network,
    recorded_contacts,
    rewiring,
)
from peerpressure.scenario._section import (
    Count,
    InputFile,
    Label,
    OwnSeed,
    Positive,
    Section,
    Share,
    alternatives,
    among,
    key_of,
    tag,
)

Length: TypeAlias = Annotated[Count | None, Field(description="leave it out for the length of the run")]
Again: TypeAlias = Annotated[bool, Field(description="begin anew after these steps, or stay as the last one left it")]
Birth: TypeAlias = Annotated[float, Field(gt=0, le=1)]


def own_seed(seed: int) -> int:
    """Return the seed of changes to a network that was itself drawn from this seed."""
    return int(np.random.SeedSequence([seed, 1]).generate_state(1, np.uint64)[0] >> 1)


class EdgeDynamics(Section):
    """A law by which a network changes; ``kind`` names it."""

    kind: str
    steps: Length = None
    seed: OwnSeed = None

    @abstractmethod
    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network as it changes over these steps, drawn from this seed."""

    def applied(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the changing network, over its own steps and from its own seed if it has them."""
        return self.of(network, self.steps or steps, own_seed(seed) if self.seed is None else self.seed)


class FailingEdges(EdgeDynamics):
    """Each edge is absent with this probability in each step, independently."""

    kind: Literal["failing_edges"] = "failing_edges"
    probability: Annotated[float, Field(ge=0, lt=1)]
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its failures."""
        return failing_edges(network, self.probability, steps, seed=seed, repeat=self.repeat)


class ComingAndGoing(EdgeDynamics):
    """Each edge ends with probability ``death`` in a step, and comes back with probability ``birth``."""

    kind: Literal["edge_markovian"] = "edge_markovian"
    birth: Birth
    death: Share
    repeat: Again = True

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its edges coming and going."""
        return edge_markovian(network, self.birth, self.death, steps, seed=seed, repeat=self.repeat)


class Moving(EdgeDynamics):
    """Each edge moves with probability ``rate`` in a step: one of its ends goes to somebody new."""

    kind: Literal["rewiring"] = "rewiring"
    rate: Share

    def of(self, network: Network, steps: int, seed: int) -> TemporalNetwork:
        """Return the network with its edges moving."""
        return rewiring(network, self.rate, steps, seed=seed)


_KINDS = ("failing_edges", "edge_markovian", "rewiring")


def _choose_dynamics(value: Any) -> str | None:
    _, kind = key_of(value, "kind") or (None, None)
    return tag(str(kind)) if kind in _KINDS else None


DynamicsSection: TypeAlias = Annotated[
    Annotated[FailingEdges, Tag("<failing_edges>")]
    | Annotated[ComingAndGoing, Tag("<edge_markovian>")]
    | Annotated[Moving, Tag("<rewiring>")],
    alternatives(
        _choose_dynamics,
        f"an dynamics must have a kind: {', '.join(_KINDS)}",
        "for instance { kind = 'failing_edges', probability = 0.2 }",
    ),
]


class Standing(Section):
    """A network that stays as it is, unless an ``dynamics`` changes it."""

    dynamics: Annotated[DynamicsSection | None, Field(description="leave it out for a network that stays as it is")] = (
        None
    )

    @abstractmethod
    def build(self, seed: int) -> Network:
        """Return the network, drawn from its own seed if it has one, else from this one."""

    def evolve(self, steps: int, seed: int) -> TemporalNetwork | None:
        """Return the network as it changes in a run of so many steps; None if it does not."""
        if self.dynamics is None:
            return None
        # A network that keeps its own seed keeps its changes with it.
        own = getattr(self, "seed", None)
        return self.dynamics.applied(self.build(seed), steps, seed if own is None else own)


# A network written out in the scenario itself, edge by edge, so that one file or one address holds it all.

# 32 bits number more agents than any file lists edges for.
Position: TypeAlias = Annotated[int, Field(ge=0, lt=2**31)]
# Of a long list the first mistake is told; the others are as a rule the same one.
Pair: TypeAlias = Annotated[list[Position], Field(min_length=2, max_length=2)]
Pairs: TypeAlias = Annotated[list[Pair], Field(min_length=1, fail_fast=True)]
Weights: TypeAlias = Annotated[list[Positive], Field(min_length=1, fail_fast=True)]


class Inline(Standing):
    """Edges between agents counted from 0, with one weight for each edge and one label for each agent if wanted."""

    edges: Pairs
    weights: Weights | None = None
    labels: Annotated[list[Label], Field(min_length=1, fail_fast=True)] | None = None

    def build(self, seed: int) -> Network:
        """Return the network with these edges."""
        return Network.from_edges(np.array(self.edges), self.weights, self.labels)


# [network] of agents who meet and part: made to order, read from files, or recorded from real people.

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


# [network]: a generator with its parameters, edges written out, a file or a real network, as it is or changing.


class Generated(Standing):
    """A network made to order; the key ``generator`` names it, and the others are its parameters."""

    generator: str

    def build(self, seed: int) -> Network:
        """Return the network; one drawn at random takes its own seed if it has one."""
        parameters = self.model_dump(exclude={"generator", "dynamics"})
        if "seed" in parameters and parameters["seed"] is None:
            parameters["seed"] = seed
        return GENERATORS[self.generator](**parameters).largest_component()


class K2(Generated):
    """Two agents who listen to each other."""

    generator: Literal["k2"] = "k2"


class Row(Generated):
    """n agents in a line, in a ring, around one of them, or all with one another."""

    generator: Literal["path", "cycle", "star", "complete"]
    n: Count


class Grid(Generated):
    """A rectangular lattice."""

    generator: Literal["grid"] = "grid"
    rows: Count
    columns: Count


class ErdosRenyi(Generated):
    """Each pair is joined with probability p; with ``connected = false`` the largest component is taken."""

    generator: Literal["erdos_renyi"] = "erdos_renyi"
    n: Count
    p: Share
    seed: OwnSeed = None
    connected: bool = True


class WattsStrogatz(Generated):
    """A ring of k nearest neighbours, each edge rewired with probability p."""

    generator: Literal["watts_strogatz"] = "watts_strogatz"
    n: Count
    k: Count
    p: Share
    seed: OwnSeed = None


class BarabasiAlbert(Generated):
    """Agents who each join m earlier ones in proportion to their degrees."""

    generator: Literal["barabasi_albert"] = "barabasi_albert"
    n: Count
    m: Count
    seed: OwnSeed = None


class RandomRegular(Generated):
    """Everyone has the same number of neighbours."""

    generator: Literal["random_regular"] = "random_regular"
    n: Count
    degree: Count
    seed: OwnSeed = None


class FromFile(Standing):
    """A network in a file: an edge list, GraphML, Matrix Market or NumPy, told apart by the suffix."""

    file: InputFile
    weighted: bool = True
    largest_component: bool = False

    def build(self, seed: int) -> Network:
        """Return the network in the file."""
        weight = "weight" if self.weighted else None
        return read_network(self.file, weight=weight, connected=not self.largest_component).largest_component()


class Named(Standing):
    """A real network that ships with NetworkX."""

    named: Annotated[str, AfterValidator(among(NAMED, "a named network")), Field(json_schema_extra={"enum": [*NAMED]})]

    def build(self, seed: int) -> Network:
        """Return the network of this name."""
        return named(self.named)


_SHAPES = ("path", "cycle", "star", "complete")


def _choose_network(value: Any) -> str | None:
    found = key_of(value, "file", "named", "edges", "events", "recorded", "generator", "temporal", "contacts")
    if found is None:
        return None
    key, word = found
    if key == "temporal":
        return tag(f"temporal {word}") if word in TEMPORAL else None
    if key != "generator":
        return tag(key)
    return tag("row" if word in _SHAPES else str(word)) if word in tuple(GENERATORS) else None


NetworkSection: TypeAlias = Annotated[
    Annotated[K2, Tag("<k2>")]
    | Annotated[Row, Tag("<row>")]
    | Annotated[Grid, Tag("<grid>")]
    | Annotated[ErdosRenyi, Tag("<erdos_renyi>")]
    | Annotated[WattsStrogatz, Tag("<watts_strogatz>")]
    | Annotated[BarabasiAlbert, Tag("<barabasi_albert>")]
    | Annotated[RandomRegular, Tag("<random_regular>")]
    | Annotated[FromFile, Tag("<file>")]
    | Annotated[Inline, Tag("<edges>")]
    | Annotated[Named, Tag("<named>")]
    | Annotated[ActivityDriven, Tag("<temporal activity_driven>")]
    | Annotated[ComingAndGoingAll, Tag("<temporal edge_markovian>")]
    | Annotated[Growing, Tag("<temporal growing>")]
    | Annotated[FromEvents, Tag("<events>")]
    | Annotated[FromContacts, Tag("<contacts>")]
    | Annotated[Recorded, Tag("<recorded>")],
    alternatives(
        _choose_network,
        "a network must have a generator, edges, a file or a named one, or be temporal",
        f"set generator to one of {', '.join(GENERATORS)}; or edges to pairs such as [[0, 1], [1, 2]]; "
        f"or file to a path; or named to one of {', '.join(NAMED)}; or temporal to one of {', '.join(TEMPORAL)}; "
        f"or events or contacts to a path; or recorded to one of {', '.join(RECORDED)}",
    ),
]
