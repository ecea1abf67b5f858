"""What is worth keeping between two questions, within a bound on memory."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeAlias, TypeVar, final

from pydantic import ValidationError

from peerpressure.errors import PeerPressureError, message
from peerpressure.explorer.encoding import json_bytes
from peerpressure.explorer.jobs import CancellationToken, Watched
from peerpressure.explorer.layout import Drawing, drawing
from peerpressure.explorer.limits import Limits
from peerpressure.explorer.requests import RequestError
from peerpressure.model import Model
from peerpressure.networks import Network, TemporalNetwork
from peerpressure.scenario import Problem, Scenario, ScenarioError
from peerpressure.scenario._loading import misfits
from peerpressure.scenario._problems import dotted, explain
from peerpressure.schedules import Table
from peerpressure.sde import SDE

Kept = TypeVar("Kept")


@final
class Cache(Generic[Kept]):
    """The things used last, by key, as long as their sizes sum to no more than ``most`` bytes."""

    def __init__(self, most: int, size_of: Callable[[Kept], int]) -> None:
        self.most = most
        self._size_of = size_of
        self._kept: OrderedDict[Hashable, tuple[Kept, int]] = OrderedDict()
        self._lock = threading.Lock()
        self._held = 0

    @property
    def held(self) -> int:
        """The bytes that are kept now."""
        return self._held

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """Return what is kept under the key, made now if there is nothing."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        # Made outside the lock: two who want the same thing at once both make it, and nobody waits for a stranger.
        made = make()
        with self._lock:
            if key not in self._kept:
                self._kept[key] = (made, self._size_of(made))
                self._held += self._kept[key][1]
            while self._held > self.most:
                _, (_, size) = self._kept.popitem(last=False)
                self._held -= size
        return made


# From what a page sent to a model: checked as a file would be, kept from the disk, and within bounds.

Built: TypeAlias = tuple[Network, TemporalNetwork | None]

# What a page may leave out while its user is still choosing.
STAND_INS: Mapping[str, Any] = {"run": {"steps": 1}}
KEPT_NETWORKS, KEPT_DRAWINGS = 64 * 2**20, 16 * 2**20  # bytes
MOST_PROBLEMS = 1_000  # to put more of them into words would take seconds


@final
@dataclass(frozen=True, eq=False)
class Prepared:
    """A scenario with what it runs, whose every step asks whether it is still wanted."""

    scenario: Scenario
    system: Model | SDE
    token: CancellationToken

    @property
    def model(self) -> Model:
        """The model, in steps even where time is continuous."""
        return self.system.model if isinstance(self.system, SDE) else self.system

    @property
    def steps(self) -> int:
        """The length of the run."""
        return self.scenario.run.steps

    def hurried(self, seconds: float) -> Model | SDE:
        """Return the same system for a part of the work that may take so long and no longer."""
        return _watched(self.system, self.token.hurried(seconds))


@final
class ModelCache:
    """Makes scenarios ready; networks that were built, and drawn, are kept for the next question about them."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._networks: Cache[Built] = Cache(KEPT_NETWORKS, _bytes_of)
        self._drawings: Cache[Drawing] = Cache(KEPT_DRAWINGS, lambda places: int(places.nbytes) + 1_000)

    def prepare(self, body: Mapping[str, Any], token: CancellationToken, without: Sequence[str] = ()) -> Prepared:
        """Return the scenario that a request holds, ready to be asked about, as if some sections were not there."""
        scenario = self.read(body, without)
        token.check()
        return Prepared(scenario, _watched(scenario.system(), token), token)

    def read(self, body: Mapping[str, Any], without: Sequence[str] = ()) -> Scenario:
        """Return the scenario of a request, all of its other parts tried."""
        data = _section_of(body)
        what, remedy = "the numbers in a scenario beside its edges", "draw them from a law, or use the command line"
        self.limits.check("values", _count(data), what=what, remedy=remedy)
        _refuse_slow_laws(data.get("noise"))
        chosen = {name: value for name, value in data.items() if name not in without}
        scenario = _validated({**STAND_INS, **chosen})
        self.limits.check_network(scenario.network, scenario.run.steps)
        network = self._build(scenario)
        self.limits.check("agents", network.n, what="the number of agents", remedy="ask for fewer", where="network")
        self.limits.check_run(scenario, network.n)
        problems = [Problem(dotted(path), message) for path, message in misfits(scenario)]
        if problems:
            raise ScenarioError(problems)
        return scenario

    def drawing(self, network: Network) -> Drawing:
        """Return where the agents of a network stand."""
        A = network.adjacency
        key = hashlib.blake2b(A.indptr.tobytes() + A.indices.tobytes(), digest_size=16).digest()
        return self._drawings.get(key, lambda: drawing(network))

    def _build(self, scenario: Scenario) -> Network:
        """Build the network of a scenario, or give it the one that was built for the same section before."""
        section, run = scenario.network, scenario.run
        changing = getattr(section, "dynamics", section) is not None
        key = json_bytes([section.model_dump(), run.seed, run.steps if changing else None])
        try:
            built = self._networks.get(key, lambda: (scenario.graph, scenario.temporal_network))
        except PeerPressureError as error:
            raise ScenarioError([Problem("network", str(error))]) from None
        # Both are properties that a scenario computes once; what is kept takes their place.
        scenario.__dict__["graph"], scenario.__dict__["temporal_network"] = built
        return built[0]


def _watched(system: Model | SDE, token: CancellationToken) -> Model | SDE:
    if isinstance(system, SDE):
        return replace(system, model=_watched_model(system.model, token))
    return _watched_model(system, token)


def _watched_model(model: Model, token: CancellationToken) -> Model:
    schedule = model.pressure.inner if isinstance(model.pressure, Watched) else model.pressure
    # A table is read in another way than other schedules, and is known by its type.
    return model if isinstance(schedule, Table) else replace(model, pressure=Watched(schedule, token))


def _section_of(body: Mapping[str, Any]) -> dict[str, Any]:
    data = body.get("scenario")
    if not isinstance(data, dict):
        rule, remedy = "a request must hold a scenario", "send {scenario: {network: …, run: …}}"
        raise RequestError(400, message(rule, got=type(data).__name__, remedy=remedy))
    return data


def _count(data: Mapping[str, Any]) -> int:
    """Return how many values a scenario holds, but for the edges of a network, which have a bound of their own."""
    network = data.get("network")
    if isinstance(network, dict):
        own = {name: value for name, value in network.items() if name not in ("edges", "weights")}
        data = {**data, "network": own}
    count = 0
    level: list[Any] = [data]
    while level:
        inner = [value for item in level for value in (item.values() if isinstance(item, dict) else item)]
        count += len(inner)
        level = [value for value in inner if isinstance(value, dict | list)]
    return count


def _validated(data: Mapping[str, Any]) -> Scenario:
    try:
        return Scenario.model_validate(data, context={"files": False})
    except ValidationError as error:
        if error.error_count() > MOST_PROBLEMS:
            rule, remedy = "a scenario must be made of legal values", "correct the longest list first"
            raise RequestError(422, message(rule, got=f"{error.error_count():,} others", remedy=remedy)) from None
        raise ScenarioError(explain(error, Scenario, {})) from None


def _refuse_slow_laws(noise: Any) -> None:
    """Refuse laws of SciPy's before they are looked at: the moments of one, or a draw, may take any time."""
    if isinstance(noise, dict) and noise.get("law") == "custom":
        rule, remedy = "noise must be one of the package's own laws here", "peerpressure run takes any law of SciPy"
        raise RequestError(422, message(rule, got="a custom law", remedy=remedy), "noise.law")


def _bytes_of(built: Built) -> int:
    network, temporal_network = built
    A = network.adjacency
    size = A.data.nbytes + A.indices.nbytes + A.indptr.nbytes + 64 * network.n
    return int(size + (0 if temporal_network is None else 5 * temporal_network.event_times.nbytes))
