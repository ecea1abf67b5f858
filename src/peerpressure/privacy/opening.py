"""The start y₀: whether it reveals hidden opinions, and what a privacy account assumes about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.schedules import Table
from peerpressure.sde import SDE
from peerpressure.theory.times import step_count

_ROUNDING = 1e-9  # part of its range by which a start may miss being affine, as one read from a file does


def hears_hidden(model: Model) -> bool:
    """Say whether neighbours hear hidden opinions at the first step: y₀ = x₀, ρ₁ > 0 and somebody listens."""
    return isinstance(model.start, str) and float(model.pressure(1)) > 0 and bool(model.degrees_at(1).any())


def require_independent_start(model: Model | SDE) -> None:
    """Refuse a given start that is the hidden opinions, or an affine function of them.

    Privacy accounts treat a given start as public knowledge that does not depend on x₀. A start computed from x₀
    reveals it before any noise is added, so that no finite ε holds. A constant start is always accepted.
    """
    base = model.model if isinstance(model, SDE) else model
    if isinstance(base.start, str) or np.ptp(base.start_state) == 0 or not _is_affine(base.start_state, base.x0):
        return
    equal = np.array_equal(base.start_state, base.x0)
    rule = "a privacy account needs a start that does not depend on the hidden opinions"
    got = "start equal to hidden" if equal else "a start that is an affine function of hidden"
    remedy = "give a start that is public, such as a constant, or start='hidden' if y₀ = x₀ is not observed"
    raise InvalidInputError(complain(rule, got=got, remedy=remedy))


def _is_affine(y: Vector, x: Vector) -> bool:
    """Say whether y = a x + b with a ≠ 0, to rounding."""
    if np.ptp(x) == 0:
        return False
    close = max(_ROUNDING * np.ptp(y), 8 * np.finfo(np.float64).eps * np.abs(y).max())
    if x.size == 2:
        # Any two points lie on a line, so that only y = x + b and y = a x are telling.
        shifted, scaled = np.ptp(y - x), abs(y[0] * x[1] - y[1] * x[0]) / np.abs(x).max()
        return bool(min(shifted, scaled) <= close)
    centred = x - x.mean()
    slope = centred @ (y - y.mean()) / (centred @ centred)
    return bool(np.abs(y - y.mean() - slope * centred).max() <= close)


def refuse_continuous(model: object, what: str) -> None:
    """Refuse a model in continuous time where only whole steps are accounted for."""
    if isinstance(model, SDE):
        rule = f"{what} is worked out for a Model, in whole steps"
        remedy = "use budget or exposure, or the model that the SDE was made from"
        raise InvalidInputError(complain(rule, got="an SDE", remedy=remedy))


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


def start_assumption(model: Model | SDE, *, sees_start: bool = False) -> str:
    """Return what a privacy account assumes about y₀, in words."""
    base = model.model if isinstance(model, SDE) else model
    if not isinstance(base.start, str):
        return "The start is public and must not depend on the hidden opinions."
    if sees_start:
        return "y₀ = x₀ is observed, which reveals every hidden opinion."
    if isinstance(model, SDE):
        return (
            "y₀ = x₀ is not observed, but the public opinions a short time later are close to it and reveal most of it."
        )
    if not hears_hidden(base):
        return "y₀ = x₀ is not observed, and no agent responds to it at step 1."
    return (
        "y₀ = x₀ is not observed; an observer of y₀ knows every hidden opinion. Neighbours respond to it at step 1, "
        "which reveals part of it; a public start, or no pressure at the first step, avoids that."
    )
