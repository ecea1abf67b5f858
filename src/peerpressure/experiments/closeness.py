"""How near agents are to each other and to v, exactly and over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.model import Model
from peerpressure.theory.functionals import Functional, consensus_mode
from peerpressure.theory.moments import Moments, moments


@final
@dataclass(frozen=True, eq=False)
class Closeness:
    """The law of the consensus mode m = Σ d y/Σ d, and how far agents are from it and from v; each of shape (times,).

    spread² = E Σ d (y − m)²/Σ d and distance² = E Σ d (y − v)²/Σ d = spread² + bias² + std². Where the network
    changes, degrees are means over time.
    """

    bias: NDArray[np.float64]
    std: NDArray[np.float64]
    spread: NDArray[np.float64]
    distance: NDArray[np.float64]


def closeness(model: Model, times: NDArray[np.int64]) -> Closeness:
    """Return how near to each other and to v the opinions are that agents show at increasing times.

    >>> from peerpressure.networks import k2
    >>> near = closeness(Model(k2(), hidden=[0.0, 1.0]), np.array([0, 2]))
    >>> near.spread.round(3), near.bias.round(3) + 0.0
    (array([0.5  , 0.167]), array([0., 0.]))
    """
    steps, mode = int(times[-1]), consensus_mode(model)
    agents, common = moments(model, steps, times=times), moments(model, steps, of=mode, times=times)
    return _closeness(model, mode, agents, common, 0)


def shown_and_held(model: Model, times: NDArray[np.int64]) -> tuple[Closeness, Closeness]:
    """Return the same of what agents show, and of what they hold once they have shown it."""
    steps, mode = int(times[-1]), consensus_mode(model)
    both = np.kron(np.eye(2), mode.weights)
    agents, common = (moments(model, steps, of=of, times=times, what="joint") for of in (None, both))
    shown, held = (_closeness(model, mode, agents, common, part) for part in (0, 1))
    return shown, held


def _closeness(model: Model, mode: Functional, agents: Moments, common: Moments, part: int) -> Closeness:
    own = slice(part * model.n, (part + 1) * model.n)
    bias, std = common.mean[:, part] - model.consensus_value, common.std[:, part]
    distance2 = mode((agents.mean[:, own] - model.consensus_value) ** 2 + agents.variance[:, own])
    # Rounding may leave less than nothing.
    spread2 = np.maximum(distance2 - bias**2 - std**2, 0.0)
    return Closeness(bias, std, np.sqrt(spread2), np.sqrt(distance2))
