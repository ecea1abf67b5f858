"""From a request to a model: scenarios are validated like a file, without access to the disk and within limits."""

from __future__ import annotations

import hashlib
import re
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast, final

import numpy as np
from cachetools import LRUCache, cached
from pydantic import ValidationError

from peerpressure.errors import FileFormatError, NetworkError, PeerPressureError, message
from peerpressure.explorer.layout import Drawing, drawing
from peerpressure.explorer.protocol import Limits, RequestError, json_bytes, plain_labels
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork, read_network
from peerpressure.networks.formats import FORMATS
from peerpressure.networks.validation import Direction
from peerpressure.scenario import Experiment, Problem, Scenario, ScenarioError
from peerpressure.scenario.agents import PARTS, FromAttribute, FromColumn, values_of
from peerpressure.scenario.loading import dotted, explain, inconsistencies
from peerpressure.scenario.network import NetworkFileSection
from peerpressure.scenario.system import OptimalSection
from peerpressure.schedules import Schedule, Table
from peerpressure.support.progress import check_cancelled
from peerpressure.theory.tuning import pass_work

Networks: TypeAlias = tuple[Network, TemporalNetwork | None]

# Sections that a page may leave out while its user is still choosing.
DEFAULTS: Mapping[str, Any] = {"run": {"steps": 1}}
NETWORK_BYTES, DRAWING_BYTES, SCHEDULE_BYTES = 64 * 2**20, 16 * 2**20, 16 * 2**20  # kept between requests
ENTRY = 1_000  # bytes that an entry takes besides its arrays
MAX_PROBLEMS = 1_000  # wording more of them would take seconds
# Lists and graphs in text only: archives and matrices can hold far more than their size suggests.
SUFFIXES = tuple(suffix for suffix, each in FORMATS.items() if each.is_text and (each.separator or each.parse))


@final
class ModelCache:
    """Builds the models of requests; networks and their drawings are kept for the next request about them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # Values are computed outside the locks: two requests may compute the same one, and neither waits for another.
        # Bounded by bytes, not by number: networks differ in size by a factor of ten thousand.
        networks: LRUCache[bytes, Networks] = LRUCache(NETWORK_BYTES, getsizeof=_network_bytes)
        self._networks: Callable[[Scenario], Networks] = cached(networks, key=_network_key, lock=threading.Lock())(
            lambda scenario: (scenario.graph, scenario.temporal_network)
        )
        drawings: LRUCache[bytes, Drawing] = LRUCache(DRAWING_BYTES, getsizeof=lambda places: places.nbytes + ENTRY)
        schedules: LRUCache[bytes, Schedule] = LRUCache(SCHEDULE_BYTES, getsizeof=_schedule_bytes)
        self._schedule: Callable[[Scenario], Schedule] = cached(schedules, key=_model_key, lock=threading.Lock())(
            lambda scenario: scenario.schedule
        )
        self.drawing: Callable[[Network], Drawing] = cached(drawings, key=_edges_digest, lock=threading.Lock())(drawing)

    def build(self, body: Mapping[str, Any], without: Sequence[str] = ()) -> Experiment:
        """Return the scenario in a request with its model, as if the sections ``without`` were left out."""
        scenario = self.load(body, without)
        # Validation of a large scenario takes a while; a superseded job ends before the model is built.
        check_cancelled()
        return Experiment(scenario, built=scenario.system())

    def load(self, body: Mapping[str, Any], without: Sequence[str] = ()) -> Scenario:
        """Return the scenario in a request, with every part of it validated."""
        data = _scenario_of(body)
        what, remedy = "the numbers in a scenario beside its edges", "draw them from a law, or use the command line"
        # Counted on the raw values: validating millions of numbers is already too much work.
        self.limits.check("values", _count_values(data), what=what, remedy=remedy)
        _check_law(data.get("noise"))
        chosen = {name: value for name, value in data.items() if name not in without}
        scenario = _validated({**DEFAULTS, **chosen})
        self.limits.check_network(scenario.network, scenario.run.steps)
        network = self._use_network(scenario)
        # The size is unknown before a named network is loaded and not exact for random ones, so it is checked again.
        self.limits.check("agents", network.n, what="the number of agents", remedy="ask for fewer", where="network")
        self.limits.check_run(scenario, network.n)
        problems = [Problem(dotted(path), text) for path, text in inconsistencies(scenario)]
        if problems:
            raise ScenarioError(problems)
        if isinstance(scenario.pressure, OptimalSection):
            work, what = pass_work(Model(network, np.zeros(network.n)), scenario.run.steps), "the work of an optimum"
            remedy = "take fewer steps or agents; peerpressure run has a higher limit"
            self.limits.check("optimum", work, what=what, remedy=remedy, where="pressure")
            scenario.__dict__["schedule"] = self._schedule(scenario)
        return scenario

    def _use_network(self, scenario: Scenario) -> Network:
        """Build the network of a scenario, or take the one that an earlier request built from the same section."""
        try:
            built = self._networks(scenario)
        except PeerPressureError as error:
            raise ScenarioError([Problem("network", str(error))]) from None
        # Both are cached properties of a scenario, which would otherwise build them again.
        scenario.__dict__["graph"], scenario.__dict__["temporal_network"] = built
        return built[0]


def _network_key(scenario: Scenario) -> bytes:
    section, run = scenario.network, scenario.run
    # The length of the run matters only to a network that changes in its steps.
    changing = getattr(section, "dynamics", section) is not None
    # The seed of the run is part of the key even if the network has a seed of its own, which only costs a second build.
    topics = None if scenario.topics is None else scenario.topics.model_dump()
    return _digest([section.model_dump(), topics, run.seed, run.steps if changing else None])


def _model_key(scenario: Scenario) -> bytes:
    sections = scenario.model_dump(include={"network", "topics", "agents", "pressure", "noise"})
    return _digest([sections, scenario.run.seed, scenario.run.steps])


def _digest(parts: Any) -> bytes:
    # Sections with lists of edges are as large as the networks themselves, and would be kept with them.
    return hashlib.blake2b(json_bytes(parts), digest_size=16).digest()


def _schedule_bytes(schedule: Schedule) -> int:
    # An optimal schedule is a table of the run's length.
    return ENTRY + (schedule.values.nbytes if isinstance(schedule, Table) else 0)


def _network_bytes(built: Networks) -> int:
    network, temporal_network = built
    A = network.adjacency
    # Four columns of events and the intervals of their edges.
    events = 0 if temporal_network is None else 5 * temporal_network.event_times.nbytes
    return int(A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + 64 * network.n + events + ENTRY)


def _edges_digest(network: Network) -> bytes:
    # Of weights only the signs enter the layout, and no labels, so networks that differ in these share a drawing.
    A = network.adjacency
    signs = np.signbit(A.data).tobytes() if network.signed else b""
    return hashlib.blake2b(A.indptr.tobytes() + A.indices.tobytes() + signs, digest_size=16).digest()


# Validation of what a request holds


def _scenario_of(body: Mapping[str, Any]) -> dict[str, Any]:
    data = body.get("scenario")
    if not isinstance(data, dict):
        rule, remedy = "a request must hold a scenario", "send {scenario: {network: …, run: …}}"
        raise RequestError(400, message(rule, got=type(data).__name__, remedy=remedy))
    return data


def _count_values(data: Mapping[str, Any]) -> int:
    """Return the number of values in a scenario, without the edges of the network, which have their own limit."""
    network = data.get("network")
    # Edges are counted by the limits of networks; here they would use up the allowance for all else.
    if isinstance(network, dict):
        own = {name: value for name, value in network.items() if name not in ("edges", "weights")}
        data = {**data, "network": own}
    count = 0
    level: list[Any] = [data]
    # Level by level, not recursively: depth is the sender's choice.
    while level:
        inner = [value for item in level for value in (item.values() if isinstance(item, dict) else item)]
        count += len(inner)
        level = [value for value in inner if isinstance(value, dict | list)]
    return count


def _validated(data: Mapping[str, Any]) -> Scenario:
    try:
        # files: False, because a page must not make the server read files of this machine.
        return Scenario.model_validate(data, context={"files": False})
    except ValidationError as error:
        if error.error_count() > MAX_PROBLEMS:
            rule, remedy = "a scenario must be made of legal values", "correct the longest list first"
            raise RequestError(422, message(rule, got=f"{error.error_count():,} others", remedy=remedy)) from None
        raise ScenarioError(explain(error, Scenario, {})) from None


def _check_law(noise: Any) -> None:
    """Reject SciPy's laws before they are built: one moment or one draw of them may take any time, uninterrupted."""
    if isinstance(noise, dict) and noise.get("law") == "custom":
        rule, remedy = "noise must be one of the package's own laws here", "peerpressure run takes any law of SciPy"
        raise RequestError(422, message(rule, got="a custom law", remedy=remedy), "noise.law")


# Networks and scenarios from files


def upload_answer(name: str, data: bytes, limits: Limits, edges: str = "") -> dict[str, Any]:
    """Return the network in an uploaded file as a section of a scenario, with facts about it.

    ``edges`` says whether the source of an edge "listens" to its target, "influences" it, or both are "mutual"; by
    default graphs say it themselves, and edge lists are mutual.
    """
    # Empty lines take as long to read as others. A list may name each edge twice, once for each direction.
    if (lines := max(data.count(b"\n"), data.count(b"\r"))) > 2 * limits.edges:
        rule = f"a file to drop here must have at most {2 * limits.edges:,} lines"
        raise RequestError(422, message(rule, got=f"{lines:,}", remedy="remove empty ones, or take a part of it"))
    network = _read_upload(name, data, edges)
    limits.check("agents", network.n, what="the number of agents", remedy="take a part of it", where="network")
    limits.check("edges", network.edge_count, what="the number of edges", remedy="take a part of it", where="network")
    return {"network": network_section(network), "facts": network_facts(network)}


def network_facts(network: Network) -> list[str]:
    """Return the facts that a network's ``repr`` lists."""
    return repr(network).removeprefix("Network(").removesuffix(")").split(", ")


def network_section(network: Network) -> dict[str, Any]:
    """Return the section of a scenario that lists the edges of a network."""
    sources, targets, weights = network.edges()
    section: dict[str, Any] = {"edges": [list(pair) for pair in zip(sources.tolist(), targets.tolist(), strict=True)]}
    if network.is_weighted:
        section["weights"] = weights.tolist()
    section |= {name: True for name in ("directed", "signed") if getattr(network, name)}
    labels = plain_labels(network.labels)
    return section if labels is None else section | {"labels": labels}


def _read_upload(name: str, data: bytes, edges: str) -> Network:
    """Read uploaded bytes from a temporary file; of the name that came with them only a known suffix is used."""
    # The name is not used as a path: it may contain separators, or be the name of a device.
    suffix = next((known for known in SUFFIXES if name.lower().endswith(known)), None)
    # ascii, because control characters in the name must not reach a terminal or a log.
    shown = ascii(re.split(r"[/\\]", name)[-1][-60:])
    if suffix is None:
        rule = f"a network to drop here must be one of {', '.join(SUFFIXES)}"
        raise RequestError(415, message(rule, got=shown, remedy="peerpressure run reads more formats"))
    with tempfile.TemporaryDirectory(prefix="peerpressure-") as folder:
        file = Path(folder) / f"network{suffix}"
        file.write_bytes(data)
        try:
            # Read as signed, since negative weights need no permission here; the network is unless it has some.
            network = _read(file, edges, signed=True)
            return network if network.adjacency.data.min(initial=0) < 0 else _read(file, edges, signed=False)
        except (NetworkError, FileFormatError) as error:
            # The temporary path means nothing to the user, and is not for them to know.
            raise RequestError(422, str(error).replace(str(file), shown)) from None


def _read(file: Path, edges: str, *, signed: bool) -> Network:
    if edges not in ("", "mutual", "listens", "influences"):
        rule, remedy = "edges must be mutual, or their sources must listen or influence", "leave it out"
        raise RequestError(400, message(rule, got=ascii(edges[:20]), remedy=remedy))
    directed = {"": None, "mutual": False}.get(edges, True)
    direction = cast(Direction, edges if directed else "listens")
    return read_network(file, signed=signed, directed=directed, direction=direction)


def page_state(scenario: Scenario, limits: Limits) -> dict[str, Any]:
    """Return the state in which the page opens on a scenario file, with all that it reads from other files inlined."""
    limits.check_network(scenario.network, scenario.run.steps)
    # Output and record belong to files, which the page does not write.
    data = scenario.model_dump(exclude_none=True, exclude={"output": True, "run": {"record"}})
    if isinstance(scenario.network, NetworkFileSection):
        data["network"] = network_section(scenario.graph)
    for name in PARTS:
        part = getattr(scenario.agents, name)
        if isinstance(part, FromColumn | FromAttribute):
            values = values_of(part, name, scenario.graph, scenario.run.seed, scenario.network_file)
            data["agents"][name] = np.asarray(values).tolist()
    # Validated as if the scenario came from the page: the page must never open in a state that it cannot send.
    ModelCache(limits).load({"scenario": data})
    return {"scenario": data, "view": {}}
