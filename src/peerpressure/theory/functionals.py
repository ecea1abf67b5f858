"""Numbers read off a state: weighted sums cᵀy of what agents show, or hold."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike

from peerpressure.errors import InvalidInputError, complain
from peerpressure.model import Model, Vector
from peerpressure.sde import SDE


@final
@dataclass(frozen=True, eq=False)
class Functional:
    """A weighted sum cᵀy with a name for a person to read; ``weights`` has shape (agents,)."""

    name: str
    weights: Vector

    def __call__(self, public: Vector) -> Vector:
        """Return cᵀy for states of shape (…, agents)."""
        return np.asarray(public @ self.weights)


Functionals: TypeAlias = Functional | Sequence[Functional | ArrayLike] | ArrayLike


def consensus_mode(model: Model | SDE) -> Functional:
    """Return the degree-weighted mean Σ d y / Σ d, which peer pressure alone leaves unchanged.

    In a temporal network degrees are means over time; the sum is then no longer left unchanged, but still tells
    where agents stand once they agree.

    >>> from peerpressure.networks import star
    >>> consensus_mode(Model(star(4), hidden=[1.0, 0.0, 0.0, 0.0])).weights
    array([0.5 , 0.16666667, 0.16666667, 0.16666667])
    """
    degrees = model.network.degrees
    return Functional("consensus mode", degrees / degrees.sum())


def mean(model: Model | SDE) -> Functional:
    """Return the plain mean Σ y / n."""
    return Functional("mean", np.full(model.n, 1.0 / model.n))


def agent(model: Model | SDE, label: Hashable) -> Functional:
    """Return what the agent of this label shows."""
    weights = np.zeros(model.n)
    weights[model.network.index(label)] = 1.0
    return Functional(f"agent {label}", weights)


def difference(model: Model | SDE, a: Hashable, b: Hashable) -> Functional:
    """Return how far agent a stands above agent b, y_a − y_b.

    >>> from peerpressure.networks import k2
    >>> difference(Model(k2(), hidden=[1.0, 2.0]), 1, 0)(np.array([1.0, 2.0]))
    array(1.)
    """
    return Functional(f"agent {a} − agent {b}", agent(model, a).weights - agent(model, b).weights)


def stacked(model: Model | SDE, of: Functionals, agents: int | None = None) -> tuple[tuple[str, ...], Vector]:
    """Return the names of one or several functionals and their weights, shape (functionals, agents)."""
    n = model.n if agents is None else agents
    if isinstance(of, Functional):
        members: Sequence[Functional] = [of]
    elif isinstance(of, Sequence) and any(isinstance(item, Functional) for item in of):
        members = [_named(n, item, i) for i, item in enumerate(of)]
    else:
        members = [_named(n, row, i) for i, row in enumerate(_rows(n, of))]
    rows = [_checked(n, member.weights, member.name) for member in members]
    return tuple(member.name for member in members), np.stack(rows)


def _rows(n: int, of: object) -> Vector:
    try:
        rows = np.atleast_2d(np.asarray(of, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.size == 0:
        rule = f"a functional must be a vector of {n} weights, and several the rows of a matrix"
        remedy = "for instance consensus_mode(model), or np.eye(model.n)[0]"
        raise InvalidInputError(complain(rule, got=repr(of)[:80], remedy=remedy))
    return rows


def _named(n: int, item: object, position: int) -> Functional:
    if isinstance(item, Functional):
        return item
    return Functional(f"functional {position}", np.ravel(_rows(n, item)))


def _checked(n: int, weights: Vector, name: str) -> Vector:
    if weights.shape != (n,):
        rule = f"a functional must have one weight for each of the {n} agents"
        remedy = "several functionals are the rows of a matrix of shape (functionals, agents)"
        raise InvalidInputError(complain(rule, got=f"shape {weights.shape} in {name}", remedy=remedy))
    if not np.all(np.isfinite(weights)):
        got = f"{weights[~np.isfinite(weights)][0]} in {name}"
        raise InvalidInputError(complain("weights must be finite", got=got, remedy="use 0 to leave an agent out"))
    return weights
