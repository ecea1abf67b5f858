"""[network]: a generator with its parameters, edges written out, a file or a real network, as it is or changing."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, Tag

from peerpressure.networks import GENERATORS, NAMED, RECORDED, Network, named, read_network
from peerpressure.scenario.dynamics import Standing
from peerpressure.scenario.inline import Inline
from peerpressure.scenario.section import Count, InputFile, OwnSeed, Share, alternatives, among, key_of, tag
from peerpressure.scenario.temporal import (
    TEMPORAL,
    ActivityDriven,
    ComingAndGoingAll,
    FromContacts,
    FromEvents,
    Growing,
    Recorded,
)


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


def _choose(value: Any) -> str | None:
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
        _choose,
        "a network must have a generator, edges, a file or a named one, or be temporal",
        f"set generator to one of {', '.join(GENERATORS)}; or edges to pairs such as [[0, 1], [1, 2]]; "
        f"or file to a path; or named to one of {', '.join(NAMED)}; or temporal to one of {', '.join(TEMPORAL)}; "
        f"or events or contacts to a path; or recorded to one of {', '.join(RECORDED)}",
    ),
]
