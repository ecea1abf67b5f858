"""Recorded runs: the answers that a server would give about one run, or about two that are compared.

A page that holds a recording plays it without a server. Answers are the same as the server's, thinned out to what a
file can hold, and refusals are recorded with their reasons.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, PeerPressureError, message
from peerpressure.explorer.answers import (
    PANELS,
    check_one_topic,
    drawn_sizes,
    exact_of,
    network_answer,
    run_answer,
)
from peerpressure.explorer.bundle import RecordedRun, page
from peerpressure.explorer.catalogue import catalogue
from peerpressure.explorer.exports import python_file
from peerpressure.explorer.layout import dot_radii, drawing
from peerpressure.explorer.models import ModelCache
from peerpressure.explorer.protocol import (
    FATAL,
    Limits,
    error_answer,
    error_body,
    json_bytes,
    pack,
    plain_labels,
    unpack,
)
from peerpressure.noise import Frozen, White
from peerpressure.scenario import Experiment, Scenario
from peerpressure.scenario.agents import Agents
from peerpressure.scenario.scenario import Observe, Run
from peerpressure.scenario.system import OptimalSection
from peerpressure.schedules import Constant
from peerpressure.simulation.trajectory import Trajectory, contents
from peerpressure.support.text import HtmlPage
from peerpressure.theory import Outcome, moments
from peerpressure.theory.tuning import tuned_line
from peerpressure.version import __version__

Facts: TypeAlias = dict[str, Any]

MAX_AGENTS = 4_000  # drawn one by one, which is as many as an observer takes
MAX_NUMBERS = 500_000  # opinions of agents over time
MAX_MOMENTS = 40_000  # pairs of an exact mean and deviation
MOMENT_TIMES = 400  # of each agent; fewer times leave room for more agents
# A file is written without hurry.
_PATIENCE: Mapping[str, Any] = {"verdict": sys.maxsize, "recovered": sys.maxsize}
REASON: Final = "This page is a recording, and computes nothing."
REMEDY: Final = "To change it, save the scenario and open it with peerpressure explore."
PLAYS: Final = (
    "This page computes by itself: peer pressure, noise and the number of steps can be changed. To change more, save "
    "the scenario and open it with peerpressure explore."
)
MOST_PLAYED = 500  # agents, which the engine of the page takes
# What the engine of the page knows; steps are the only part of a run that it may change.
_PLAYED: Mapping[str, tuple[str, ...]] = {
    "schedules": ("tuned", "constant", "linear", "power", "logarithmic", "stretched_exponential", "formula"),
    "noises": ("none", "gaussian", "laplace", "uniform", "student", "rademacher"),
    "temporals": ("white", "frozen"),
}
_UNOBSERVED = "an observer must see all agents in discrete time; pages of scenarios have others as well"

# What is asked of a scenario by name, in the order of the file; exact moments are recorded for many agents at once.
ANSWERS: Mapping[str, Callable[[Experiment, Limits], bytes]] = {
    "run": run_answer,
    **{name: panel.answer for name, panel in PANELS.items()},
}


def record(state: Mapping[str, Any], limits: Limits, command: str) -> RecordedRun:
    """Return the recording of a state of the page; ``command`` makes it again."""
    cache = ModelCache(limits)
    scenarios = [state["scenario"], *([state["other"]] if state.get("other") else [])]
    built = [cache.build({"scenario": _observed(scenario)}) for scenario in scenarios]
    for one in built:
        check_one_topic(one, "a page without a server")
    followed = state.get("view", {}).get("agents", [])
    provenance = {
        "software": f"peerpressure {__version__}",
        "command": command,
        "seed": built[0].scenario.run.seed,
        "contents": contents(hidden=True),
        "scenarios": [one.scenario.to_toml() for one in built],
    }
    return _recording({"view": {}, "other": None} | dict(state), scenarios, built, limits, followed, provenance)


def record_run(run: Trajectory, limits: Limits | None = None) -> RecordedRun:
    """Return the recording of a run.

    Raises
    ------
    InvalidInputError
        If opinions over time were not recorded, or hidden opinions are unknown.
    """
    limits, built = limits or Limits(), _built(run)
    scenario: Facts = {
        "network": {},
        "run": {"steps": built.steps, "replicates": run.replicates.size, "seed": run.seed},
    }
    if built.scenario.observe is not None:
        scenario["observe"] = {"methods": built.scenario.observe.methods}
    provenance = run.provenance() | {"contents": contents(hidden=True)}
    state = {"scenario": scenario, "view": {}, "other": None}
    return _recording(state, [scenario], [built], limits, [], provenance)


def run_page(run: Trajectory) -> HtmlPage:
    """Return the page of a run."""
    return page(record_run(run))


def _recording(
    state: Facts,
    scenarios: Sequence[Mapping[str, Any]],
    built: Sequence[Experiment],
    limits: Limits,
    followed: Sequence[int | str],
    provenance: Mapping[str, Any],
) -> RecordedRun:
    answers: dict[str, bytes] = {}
    refusals: dict[str, Mapping[str, Any]] = {}
    notes: list[str] = []
    for k, one in enumerate(built):
        part = _Part.of(one, limits, followed)
        given = dict(part.answers())
        known = {name: answer for name, answer in given.items() if isinstance(answer, bytes)}
        answers |= {f"{k}/{name}": answer for name, answer in known.items()}
        refusals |= {f"{k}/{name}": answer for name, answer in given.items() if not isinstance(answer, bytes)}
        # B is what the controls show, and A what it is compared with.
        notes += [f"{'BA'[k]}: {note}" if len(built) > 1 else note for note in part.notes(known)]
    plays = len(built) == 1 and _can_play(built[0])
    if plays:
        answers["0/model"] = _model(built[0])
    reason = PLAYS if plays else f"{REASON} {REMEDY}" if built[0].stored is None else REASON
    recorded = {
        "reason": reason,
        "plays": plays,
        "notes": notes,
        "settings": [[name, text] for name, text in _settings(built[0]) if not plays or name not in _FREE],
        "provenance": provenance,
    }
    choices = catalogue(limits, state) | {"presets": [], "recorded": recorded}
    if plays:
        choices |= _playable(choices)
    return RecordedRun(json_bytes(choices), tuple(scenarios), answers, refusals, provenance)


# Settings in words whose controls a page that plays has.
_FREE = ("Peer pressure", "Noise", "Run")


def _can_play(built: Experiment) -> bool:
    """Return whether the engine of the page covers the model: that of the paper on a constant network."""
    model, network = built.model, built.model.network
    plain = model.adaptation is None and model.activation is None and model.temporal_network is None
    own = built.stored is None and not built.is_continuous and not network.topics
    drawn = np.all(np.isfinite(model.stubbornness)) and bool(np.all(network.degrees > 0))
    simple = not network.signed and isinstance(model.target, float) and model.n <= MOST_PLAYED
    # An optimal schedule is one for a noise, and what a reader changes must not end in a refusal.
    noise, pressure = model.noise, built.scenario.pressure
    steady = noise.law in _PLAYED["noises"] and noise.time_scale == Constant(1.0)
    known = steady and isinstance(noise.temporal, White | Frozen) and not isinstance(pressure, OptimalSection)
    return plain and own and bool(drawn) and simple and known


def _model(built: Experiment) -> bytes:
    """Return what the engine of the page needs of a model, in full precision."""
    model, network = built.model, built.model.network
    matrix = network.adjacency.tocoo()
    kept = np.ones(matrix.nnz, dtype=bool) if network.directed else matrix.row < matrix.col
    edges = zip(matrix.row[kept].tolist(), matrix.col[kept].tolist(), matrix.data[kept].tolist(), strict=True)
    return json_bytes(
        {
            "n": model.n,
            "edges": [list(edge) for edge in edges],
            "directed": network.directed,
            "hidden": model.x0.tolist(),
            "stubbornness": model.stubbornness.tolist(),
            "start": model.start if isinstance(model.start, str) else model.start.tolist(),
            "value": model.consensus_value,
            "tuned": tuned_line(model).slope,
            "labels": plain_labels(network.labels) or list(range(model.n)),
            "headings": {one.name.lower(): one.value[0].upper() + one.value[1:] for one in Outcome},
        }
    )


def _playable(choices: Mapping[str, Any]) -> Facts:
    """Return of the choices those that the engine of the page knows."""
    known = {name: [one for one in choices[name] if one["id"] in ids] for name, ids in _PLAYED.items()}
    return {**known, "run": [one for one in choices["run"] if one["name"] == "steps"], "features": []}


def _observed(scenario: Any) -> Any:
    """Return a scenario with the observer that the page gives to one without; what is none is refused later."""
    if not isinstance(scenario, dict):
        return scenario
    return {**scenario, "observe": scenario.get("observe") or {"methods": ["auto"]}}


def _built(run: Trajectory) -> Experiment:
    """Return a recorded run as what answers are about."""
    _check_recorded(run)
    whole, discrete = run.agents.size == run.model.n, run.equation is None
    # Only the length and the seed are read of a scenario whose model is built, and what its observer does.
    section = Run.model_construct(
        steps=max(1, round(float(run.times[-1]))), replicates=run.replicates.size, seed=run.seed
    )
    observe = Observe(methods=["auto"]) if whole and discrete else None
    agents = Agents.model_construct(hidden=run.model.x0.tolist())
    scenario = Scenario.model_construct(run=section, agents=agents, observe=observe)
    return Experiment(scenario, stored=run, built=run.model)


def _check_recorded(run: Trajectory) -> None:
    if run.states is None:
        rule, remedy = "a page needs opinions over time", "record states, as simulate does by default"
        raise InvalidInputError(message(rule, got="a run without them", remedy=remedy))
    if run.hidden is None:
        rule, remedy = (
            "a page shows hidden opinions beside public ones",
            "give them to the model, for instance estimates",
        )
        raise InvalidInputError(message(rule, got="a model without them", remedy=remedy))


@final
@dataclass(frozen=True, eq=False)
class _Part:
    """One scenario of a recording.

    ``recorded`` are the positions of the agents whose opinions are known, and ``kept`` those that are drawn.
    """

    built: Experiment
    limits: Limits
    followed: Sequence[int | str]
    recorded: NDArray[np.int64]
    kept: NDArray[np.int64]

    @classmethod
    def of(cls, built: Experiment, limits: Limits, followed: Sequence[int | str]) -> _Part:
        """Return the part of a scenario, with limits that suit a file."""
        network = built.model.network
        present = [label for label in followed if isinstance(label, int | str) and label in set(network.labels)]
        recorded = np.arange(network.n) if built.stored is None else built.stored.agents
        kept = _sample(recorded, network.indices(present), MAX_AGENTS)
        # Agents that are left out do not count.
        states = min(limits.states, MAX_NUMBERS * -(-recorded.size // kept.size))
        limits = replace(limits, states=states, **_PATIENCE)
        return cls(built, limits, present, recorded, kept)

    def answers(self) -> Iterator[tuple[str, bytes | Mapping[str, Any]]]:
        """Yield the name of each question with its answer, or with the error in its place."""
        yield "network", self._network()
        for name, answer in ANSWERS.items():
            if self._concerns(name):
                # The observer watches the first replicate.
                subject = self.built if name == "run" else _first(self.built)
                yield name, self._asked(name, partial(answer, subject, self.limits))
            elif self.built.scenario.observe is None:
                yield name, error_body(_UNOBSERVED) | {"status": 422}
        yield "exact", self._asked("exact", self._exact)
        if self.built.stored is None:
            yield "export/toml", self.built.scenario.to_toml().encode()
            yield "export/python", python_file(self.built.scenario)

    def notes(self, answers: Mapping[str, bytes]) -> Iterator[str]:
        """Yield what the answers leave out, in words."""
        n, kept = self.built.model.n, self.kept.size
        if kept < n:
            yield f"{kept:,} of {n:,} agents are drawn, with the edges between them; curves are of all agents."
        times = unpack(answers["run"])[1]["times"].size
        recorded = self.built.steps + 1 if self.built.stored is None else self.built.stored.times.size
        if times < recorded:
            yield f"{times:,} of {recorded:,} steps are in this file."
        exact = len(unpack(answers["exact"])[0]["names"]) - 1 if "exact" in answers else kept
        if exact < kept:
            agents = f", and of {exact:,} agents" if exact else ""
            yield f"The exact band is that of the network's mean{agents}."

    def _concerns(self, name: str) -> bool:
        observe = self.built.scenario.observe
        if name == "run":
            return True
        return observe is not None and (name != "inference" or observe.unknown_network is not None)

    def _asked(self, name: str, answer: Callable[[], bytes]) -> bytes | Mapping[str, Any]:
        try:
            facts, arrays = unpack(answer())
        except PeerPressureError as error:
            known = error_answer(error)
            assert known is not None
            return known[1] | {"status": known[0]}
        # The same run gives the same bytes, whenever it was made.
        facts.pop("elapsed_ms", None)
        if name == "run":
            arrays = {key: self._thinned(key, array) for key, array in arrays.items()}
            facts["n"] = self.kept.size
        # Doubles exceed the resolution of any screen; times need all their digits.
        small = {
            key: a if a.dtype != np.float64 or "times" in key else a.astype(np.float32) for key, a in arrays.items()
        }
        return pack(facts, small)

    def _thinned(self, name: str, array: NDArray[Any]) -> NDArray[Any]:
        """Return the part of an array of the run that belongs to the agents kept."""
        if name not in ("states", "hidden", "stubbornness"):
            return array
        return np.asarray(array[..., np.searchsorted(self.recorded, self.kept)])

    def _network(self) -> bytes:
        facts, arrays = unpack(network_answer(self.built.model, drawing(self.built.model.network)))
        if self.kept.size == self.built.model.n:
            return pack(facts, arrays)
        position = np.full(self.built.model.n, -1)
        position[self.kept] = np.arange(self.kept.size)
        edges = position[arrays["edges"]]
        drawn = (edges >= 0).all(axis=1)
        labels = [self.built.model.network.labels[k] for k in self.kept.tolist()]
        facts |= {"n": self.kept.size, "edges_shown": int(drawn.sum()), "labels": plain_labels(labels)}
        by_agent = {name: arrays[name][self.kept] for name in ("positions", "degrees")}
        # Fewer dots have room to be larger.
        by_agent["radii"] = dot_radii(by_agent["positions"], drawn_sizes(self.built.model.network)[self.kept])
        return pack(facts, by_agent | {"edges": edges[drawn].astype(np.uint32), "looks": arrays["looks"][drawn]})

    def _exact(self) -> bytes:
        """Return exact moments of the network's mean, and of as many agents as a file can hold."""
        built, run = self.built, self.built.stored
        if built.is_continuous and run is not None:
            raise InvalidInputError("the exact law of a run in continuous time is in pages of scenarios only")
        if run is not None and run.times[0] != 0:
            raise InvalidInputError("the exact law is that of a run from step 0 on")
        limits = replace(self.limits, times=min(self.limits.times, MOMENT_TIMES))
        facts, arrays = unpack(exact_of(built, self.followed, limits))
        chosen = _sample(
            self.kept, built.model.network.indices(self.followed or []), MAX_MOMENTS // arrays["times"].size
        )
        try:
            every = moments(built.system, built.steps, times=arrays["times"])
        except FATAL:
            raise
        except PeerPressureError:
            # There are too many agents for their covariance, and those followed have been asked for one by one.
            return pack(facts, arrays)
        labels = plain_labels([built.model.network.labels[k] for k in chosen.tolist()]) or chosen.tolist()
        rows = {name: np.vstack([arrays[name][:1], getattr(every, name).T[chosen]]) for name in ("mean", "std")}
        return pack(facts | {"names": [facts["names"][0], *labels]}, arrays | rows)


def _first(built: Experiment) -> Experiment:
    """Return the first replicate of a run that was recorded before."""
    run = built.stored
    if run is None or run.replicates.size == 1:
        return built
    names = ("replicates", "states", "minimum", "maximum", "mean", "hidden")
    parts = {name: value[:1] for name in names if (value := getattr(run, name)) is not None}
    if run.hidden_path is None:
        parts.pop("hidden")
    final = replace(run.final, public=run.final.public[:1], memory=None, replicates=None)
    return replace(built, stored=replace(run, **parts, final=final))


def _sample(agents: NDArray[np.int64], special: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """Return at most so many agents in order, evenly spaced, the special ones among them."""
    if agents.size <= most:
        return np.sort(agents)
    spaced = np.sort(agents)[np.linspace(0, agents.size - 1, max(1, most - special.size)).astype(np.int64)]
    return np.union1d(spaced, special)


def _settings(built: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the parts of the model and of the run in words."""
    model, run = built.model, built.stored
    words = model.description()
    yield "Network", words["network"].partition("(")[2].removesuffix(")")
    yield "Peer pressure", words["pressure"]
    yield "Hidden opinions", built.scenario.drawn_hidden or _range(model.x0)
    yield "Stubbornness", _range(model.stubbornness)
    yield "Noise", words["noise"]
    for name in ("adaptation", "activation"):
        if name in words:
            yield name.capitalize(), words[name]
    if model.isolated == "keep":
        yield "Isolated agents", "keep their opinions"
    if built.is_continuous:
        yield "Time", "continuous" if run is None else str(run.equation)
    yield "Run", built.scenario.run.words if run is None else _words(run)


def _words(run: Trajectory) -> str:
    count = run.replicates.size
    return f"time {run.times[0]:g} to {run.times[-1]:g}, {count:,} replicate{'s' * (count != 1)}, seed {run.seed}"


def _range(values: NDArray[np.float64]) -> str:
    low, high = float(values.min()), float(values.max())
    return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
