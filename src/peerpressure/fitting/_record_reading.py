"""From data in any form and a network, or none, to the panel that models are compared on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.fitting._record import Errors, Panel, answers_on, panel
from peerpressure.model import Model
from peerpressure.model.step import Array
from peerpressure.networks import Network, TemporalNetwork, read_waves
from peerpressure.recovery import Observation, read_observations
from peerpressure.simulation.trajectory import Trajectory

Graph: TypeAlias = Network | TemporalNetwork
_STEP_ZERO = (
    "Step 0 was not used: under a hidden start it shows the hidden opinions themselves. If it is an answer like the "
    "others, declare a public start."
)


def refuse_swapped(data: object) -> None:
    """Raise an error for a network in the place of the data."""
    if isinstance(data, Graph | Model):
        rule, remedy = "data come first, and the network after them", "call compare(data, network)"
        raise InvalidInputError(message(rule, got=f"a {type(data).__name__} first", remedy=remedy))


def network_of(network: object) -> Graph | None:
    """Return the network itself, or the one in a file."""
    if network is None or isinstance(network, Graph):
        return network
    if isinstance(network, (str, os.PathLike)):
        return read_waves(network)
    remedy = "wrap it: Network.from_networkx(graph), Network.from_edges(edges) or Network(matrix)"
    rule = "the network must be a Network, a TemporalNetwork or the path of a file"
    raise InvalidInputError(message(rule, got=type(network).__name__, remedy=remedy))


def panel_of(
    data: Any,
    network: Graph | None,
    stubbornness: float | ArrayLike = 1.0,
    *,
    public_start: bool = False,
    errors: Errors | None = None,
    step: str | None = None,
    origin: object = None,
) -> tuple[Panel, tuple[str, ...]]:
    """Return the record of data on a network, and remarks on how it was read."""
    graph, read = network, None
    if graph is None:
        # Data that name their agents are read once.
        read = read_observations(data, None, step, origin)
        labels = read[0].model.network.labels
        graph = Network(np.zeros((len(labels), len(labels))), labels)
    model = Model(graph, np.zeros(graph.n), _per_agent(stubbornness))
    if model.keeps:
        rule = "isolated agents of a temporal network must show their own opinions in a comparison"
        remedy = "take the aggregate of the network, or let isolated agents show their own opinions"
        raise InvalidInputError(
            message(rule, got="agents who keep their public ones", remedy=remedy), argument="isolated"
        )
    run, _ = read or read_observations(data, model, step, origin)
    times, states = _rows(run, model)
    notes: tuple[str, ...] = ()
    if not public_start and times[0] == 0:
        times, states, notes = times[1:], states[1:], (_STEP_ZERO,)
    unsplit = model.network.topics
    if unsplit:
        rule, remedy = "a comparison is about one topic", "compare each topic on its own, with a network without topics"
        raise InvalidInputError(message(rule, got=f"{len(unsplit)} topics", remedy=remedy))
    if errors is not None:
        states = answers_on(states, errors, times)
    return panel(model, times, states, public_start=public_start, errors=errors), notes


def errors_of(observation: object, measurement_noise: object) -> Errors | None:
    """Return how answers are seen, None for exact ones."""
    if not isinstance(measurement_noise, bool):
        rule, remedy = "measurement_noise must be True or False", "its size is estimated"
        raise InvalidInputError(message(rule, got=repr(measurement_noise), remedy=remedy))
    if observation is None:
        return Errors(is_measured=True) if measurement_noise else None
    if not isinstance(observation, Observation):
        rule, remedy = "an observation must be an Observation", "use Observation(scale=(1, 5))"
        raise InvalidInputError(message(rule, got=type(observation).__name__, remedy=remedy))
    plain = Observation(rounding=observation.rounding, scale=observation.scale)
    if observation != plain:
        rule = "a comparison takes the rounding and the scale of an observation, and all agents at all steps"
        remedy = "leave answers that are not to be used empty in the data"
        raise InvalidInputError(message(rule, got=repr(observation), remedy=remedy))
    if not (observation.rounding or measurement_noise):
        return None
    return Errors(float(observation.rounding), observation.scale, measurement_noise)


def _per_agent(stubbornness: float | ArrayLike) -> Any:
    return stubbornness if isinstance(stubbornness, Mapping) or np.ndim(stubbornness) == 0 else np.asarray(stubbornness)


def _rows(run: Trajectory, model: Model) -> tuple[NDArray[np.int64], Array]:
    """Return the steps and the answers of all agents, (T, n), of the only replicate."""
    if run.states is None:
        remedy = "simulate with all states recorded"
        raise InvalidInputError(
            message("a comparison needs recorded states", got="a run without them", remedy=remedy), argument="record"
        )
    if run.model.network.labels != model.network.labels:
        rule, remedy = "the run must be of the agents of the network", "pass the network of the run"
        raise InvalidInputError(message(rule, got=f"{run.model.n} others", remedy=remedy))
    if run.states.shape[0] != 1:
        rule, remedy = "a comparison explains one record", "simulate one replicate alone"
        raise InvalidInputError(
            message(rule, got=f"{run.states.shape[0]} replicates", remedy=remedy), argument="replicates"
        )
    times = np.asarray(run.times)
    if np.any(times != np.rint(times)):
        rule, remedy = "times must count steps", "number the rows 1, 2, 3 and so on"
        raise InvalidInputError(message(rule, got=f"t = {times[times != np.rint(times)][0]:g}", remedy=remedy))
    states = np.full((times.size, model.n), np.nan)
    states[:, run.agents] = run.states[0]
    return times.astype(np.int64), states
