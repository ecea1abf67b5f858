"""The first exchange, at which hidden opinions may be heard before any noise is added to them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.diffusion import Diffusion
from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model
from peerpressure.schedules import Table
from peerpressure.theory.times import step_count


def hears_hidden(model: Model) -> bool:
    """Say whether neighbours hear hidden opinions at the first step: y₀ = x₀, ρ₁ > 0 and somebody listens."""
    return isinstance(model.start, str) and float(model.pressure(1)) > 0 and bool(model.degrees_at(1).any())


def refuse_continuous(model: object, what: str) -> None:
    """Refuse a model in continuous time where only whole steps are accounted for."""
    if isinstance(model, Diffusion):
        rule = f"{what} is worked out for a Model, in whole steps"
        remedy = "use budget or exposure, or the model that the Diffusion was made from"
        raise InvalidInputError(complain(rule, got="a Diffusion", remedy=remedy))


def masked_start(model: Model, steps: int) -> Model:
    """Return the same agents, who first speak and only then listen: ρ′₁ = 0 and ρ′_t = ρ_{t−1} up to ``steps``.

    At step 1 every agent then shows x₀ + ε₁, so that nobody ever hears a hidden opinion, whatever y₀ is. A network
    that changes keeps its own times.

    >>> from peerpressure.networks import k2
    >>> print(masked_start(Model(k2(), hidden=[0.0, 1.0]), 4).pressure)
    ρ_t = 0, 1, 2, … (4 values)
    """
    times = np.arange(1, step_count(steps))
    return replace(model, pressure=Table(np.concatenate([[0.0], model.pressure(times)])))


def opening_note(model: Model | Diffusion) -> str:
    """Say what the accounts here take for granted about y₀."""
    if isinstance(model, Diffusion):
        if not isinstance(model.model.start, str):
            return "The start is a given vector, which tells nothing."
        return "y₀ = x₀ is taken as unseen; but what is shown a short step later is close to it, and tells most of it."
    told = "x₀ + ε_t" if model.adaptation is None else "x_t + ε_t, in which x₀ fades"
    if not isinstance(model.start, str):
        return f"The start is a given vector, which tells nothing: all that is released is {told}."
    if not hears_hidden(model):
        return f"Nobody listens at step 1, so that y₀ = x₀ is never heard: all that is released is {told}."
    return (
        "y₀ = x₀ is taken as unseen; whoever sees it knows everything. The neighbours do hear it, and what they say "
        "at step 1 tells on the agent: a public start or masked_start(model, steps) mends that."
    )
