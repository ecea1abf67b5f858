"""Who updated at each step of a run, read off its public opinions, and the model given that."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.recovery._observation import Observation
from peerpressure.statespace import System, discrete_model
from peerpressure.trajectory import Trajectory

_TABLE = "give a table of who updated as the model's activation, replace(model, activation=table)"


def who_updated(model: Model, run: Trajectory) -> NDArray[np.bool_]:
    """Return who updated at each step of a run: the agents whose public opinions changed.

    An agent who updates shows new noise, and noise that has a density never leaves the opinion exactly as it was.

    Parameters
    ----------
    model : Model
        The model of the run, with noise that has a density for every agent.
    run : Trajectory
        A run in which all agents are recorded at every step; its step 0 may be missing where the model gives the start.

    Returns
    -------
    array of bool, shape (replicates, steps, agents)
        For each replicate a table, which is a legal ``activation`` of a model.

    Raises
    ------
    InvalidInputError
        If an output is missing, or an update might leave an opinion as it is: with noise of some agent 0, or of a law
        that takes separate values.

    See Also
    --------
    recover : Does this where it is random who updates, for one replicate.

    Examples
    --------
    >>> from peerpressure import Gaussian, Model, simulate
    >>> from peerpressure.networks import k2
    >>> from peerpressure.recovery import who_updated
    >>> model = Model(k2(), hidden=[0.0, 1.0], noise=Gaussian(0.1), activation="single")
    >>> who_updated(model, simulate(model, 50, seed=1)).sum(axis=2).max()
    np.int64(1)
    """
    model, rule = discrete_model(model), "who updated is read off noise that has a density, of every agent"
    separate = not hasattr(model.noise.unit().dist, "pdf")
    if separate or model.noise.is_zero or not model.noise.deviations(model.n).all():
        raise InvalidInputError(message(rule, got=str(model.noise), remedy=_TABLE))
    states, first = run.states, int(run.times[0]) if run.times.size else 0
    whole = states is not None and np.array_equal(run.agents, np.arange(model.n))
    known = first == 0 or (first == 1 and not isinstance(model.start, str))
    if states is None or not (whole and known and np.array_equal(run.times, np.arange(first, first + run.times.size))):
        rule = "who updated is read off a run in which all agents are recorded at every step, with its start"
        raise InvalidInputError(message(rule, got=repr(run)[:120], remedy=f"record all, or {_TABLE}"))
    if not np.isfinite(states).all():
        raise InvalidInputError(message("who updated is read off complete outputs", got="missing ones", remedy=_TABLE))
    if first == 1:
        start = np.broadcast_to(model.start_state.astype(states.dtype), (states.shape[0], 1, model.n))
        states = np.concatenate([start, states], axis=1)
    return np.asarray(states[:, 1:] != states[:, :-1])


def given_who_updated(system: System, run: Trajectory, observation: Observation | None) -> System:
    """Return the model given who updated in a run, if that is random; the system itself elsewhere."""
    if not isinstance(system, Model) or system.activation is None or not system.activation.is_random:
        return system
    look = observation or Observation()
    if look.agents is not None or look.rounding:
        rule = "who updated is read off the exact outputs of all agents"
        got = "rounding" if look.rounding else "some agents"
        raise InvalidInputError(message(rule, got=got, remedy=_TABLE))
    masks = who_updated(system, run)
    if np.any(masks != masks[0]):
        rule = "with random updates replicates have estimates of different precision, and are recovered one at a time"
        remedy = "simulate(..., replicates=[k]) repeats replicate k alone"
        raise InvalidInputError(message(rule, got=f"{len(masks)} replicates", remedy=remedy))
    return replace(system, activation=masks[0])
