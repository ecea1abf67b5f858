"""Weighted sums of the agents, and the steps and times at which they are asked for."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model.statespace import System, checked_system
from peerpressure.model.step import Array
from peerpressure.support.parameters import whole
from peerpressure.support.results import read_only


@final
@read_only
@dataclass(frozen=True, eq=False)
class Functional:
    """A weighted sum cᵀy of opinions, with a name.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    weights : array of shape (agents,)
        The weights c.

    See Also
    --------
    agent_opinion, opinion_difference, mean_opinion, consensus_mode : Functionals in common use.
    moments : Exact mean and variance of functionals.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure.theory import Functional
    >>> Functional("first half", np.array([0.5, 0.5, 0.0, 0.0]))(np.array([1.0, 2.0, 3.0, 4.0]))
    array(1.5)
    """

    name: str
    weights: Array

    def __call__(self, public: Array) -> Array:
        """Return cᵀy for states of shape (…, agents)."""
        return np.asarray(public @ self.weights)


Functionals: TypeAlias = Functional | Sequence[Functional | ArrayLike] | ArrayLike


def consensus_mode(model: System) -> Functional:
    """Return the degree-weighted mean Σ d y / Σ d, the conserved quantity of peer pressure without own opinions.

    In a temporal network degrees are means over time; the sum is then not conserved, but has the value of the
    consensus once agents agree.

    Parameters
    ----------
    model : Model or SDE
        The model whose network has the degrees.

    Returns
    -------
    Functional
        The sum, as ``moments`` takes it.

    See Also
    --------
    mean_opinion : The plain mean.
    consensus_error : Its distance to v.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import star
    >>> from peerpressure.theory import consensus_mode
    >>> consensus_mode(Model(star(4), hidden=[1.0, 0.0, 0.0, 0.0])).weights
    array([0.5 , 0.16666667, 0.16666667, 0.16666667])
    """
    return Functional("consensus mode", checked_system(model).model.mode_weights)


def mean_opinion(model: System) -> Functional:
    """Return the mean Σ y / n over agents.

    Parameters
    ----------
    model : Model or SDE
        The model whose agents are averaged.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    See Also
    --------
    consensus_mode : The mean that is weighted by degrees.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import mean_opinion
    >>> mean_opinion(Model(k2(), hidden=[1.0, 2.0])).weights
    array([0.5, 0.5])
    """
    n = checked_system(model).n
    return Functional("mean", np.full(n, 1.0 / n))


def agent_opinion(model: System, label: Hashable) -> Functional:
    """Return the opinion of the agent with this label.

    Parameters
    ----------
    model : Model or SDE
        The model that has the agent.
    label : hashable
        Its label.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    Raises
    ------
    NetworkError
        If no agent has the label.

    See Also
    --------
    opinion_difference : Difference between two agents.
    moments : Exact mean and variance of functionals.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import agent_opinion
    >>> agent_opinion(Model(k2(), hidden=[1.0, 2.0]), 1).weights
    array([0., 1.])
    """
    weights = np.zeros(checked_system(model).n)
    weights[model.network.index(label)] = 1.0
    return Functional(f"agent {label}", weights)


def opinion_difference(model: System, a: Hashable, b: Hashable) -> Functional:
    """Return the difference y_a − y_b between the opinions of two agents.

    Parameters
    ----------
    model : Model or SDE
        The model that has the agents.
    a, b : hashable
        Their labels.

    Returns
    -------
    Functional
        The functional that ``moments`` takes.

    Raises
    ------
    NetworkError
        If no agent has one of the labels.

    See Also
    --------
    agent_opinion : The opinion of one agent.

    Examples
    --------
    >>> import numpy as np
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> from peerpressure.theory import opinion_difference
    >>> opinion_difference(Model(k2(), hidden=[1.0, 2.0]), 1, 0)(np.array([1.0, 2.0]))
    array(1.)
    """
    return Functional(f"agent {a} − agent {b}", agent_opinion(model, a).weights - agent_opinion(model, b).weights)


def stacked(model: System, of: Functionals, agents: int | None = None) -> tuple[tuple[str, ...], Array]:
    """Return the names of one or several functionals and their weights, shape (functionals, agents)."""
    n = model.n if agents is None else agents
    if isinstance(of, Functional):
        members: Sequence[Functional] = [of]
    # A list of numbers is one functional and a list of Functionals several; mixed lists may add plain weight vectors.
    elif isinstance(of, Sequence) and any(isinstance(item, Functional) for item in of):
        members = [_named(n, item, i) for i, item in enumerate(of)]
    else:
        members = [_named(n, row, i) for i, row in enumerate(_rows(n, of))]
    rows = [_checked(n, member.weights, member.name) for member in members]
    return tuple(member.name for member in members), np.stack(rows)


def _rows(n: int, of: object) -> Array:
    try:
        rows = np.atleast_2d(np.asarray(of, dtype=np.float64))
    except (TypeError, ValueError):
        rows = np.zeros((0, 0))
    if rows.ndim != 2 or rows.size == 0:
        rule = f"a functional must be a vector of {n} weights, and several the rows of a matrix"
        remedy = "for instance consensus_mode(model), or np.eye(model.n)[0]"
        raise InvalidInputError(message(rule, got=repr(of)[:80], remedy=remedy))
    return rows


def _named(n: int, item: object, position: int) -> Functional:
    if isinstance(item, Functional):
        return item
    return Functional(f"functional {position}", np.ravel(_rows(n, item)))


def _checked(n: int, weights: Array, name: str) -> Array:
    if weights.shape != (n,):
        rule = f"a functional must have one weight for each of the {n} agents"
        remedy = "several functionals are the rows of a matrix of shape (functionals, agents)"
        raise InvalidInputError(message(rule, got=f"shape {weights.shape} in {name}", remedy=remedy))
    if not np.all(np.isfinite(weights)):
        got = f"{weights[~np.isfinite(weights)][0]} in {name}"
        raise InvalidInputError(message("weights must be finite", got=got, remedy="use 0 to leave an agent out"))
    return weights


Times = NDArray[np.int64]


def step_count(steps: Any, name: str = "steps") -> int:
    """Return a number of steps, or of other things by name, of at least 1.

    >>> step_count(np.int64(3))
    3
    """
    return whole(steps, name, least=1)


def whole_times(t: ArrayLike, *, least: int, most: int | None = None) -> Times:
    """Return one time, or a vector of them, as whole numbers from ``least`` to ``most``."""
    upper = "on" if most is None else f"to {most}"
    rule = f"a time must be a whole number from {least} {upper}, or there may be several in a row"
    try:
        given = np.asarray(t)
    except ValueError:
        # An object array fails the dtype check below: ragged input gets the same message as other invalid input.
        given = np.asarray(None)
    if given.size == 0 and given.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    # Booleans and complex numbers are excluded; floats are allowed if whole, as np.linspace returns them.
    if given.dtype.kind not in "iuf" or given.ndim > 1:
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy=f"pass t = {least}, {least + 1}, …"))
    bad = (given < least) | (given != np.floor(given)) | ~np.isfinite(given)
    if most is not None:
        bad |= given > most
    if np.any(bad):
        first = np.atleast_1d(given)[np.flatnonzero(np.atleast_1d(bad))[0]]
        raise InvalidInputError(message(rule, got=first, remedy="drop or correct that time"))
    return given.astype(np.int64)


def real_times(t: ArrayLike, *, most: float) -> NDArray[np.float64]:
    """Return one or more real times from 0 to ``most`` in order, each once."""
    rule = f"a time must be a number from 0 to {most:g}, or there may be several in a row"
    try:
        given = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInputError(message(rule, got=repr(t)[:80], remedy="pass real times")) from None
    # The last time is a product such as 3·0.1 = 0.30000000000000004, for which a user writes 0.3.
    given = np.where(np.abs(given - most) <= 1e-12 * most, most, given)
    # The negated conjunction also catches NaN, for which every comparison is False.
    bad = np.flatnonzero(~((given >= 0) & (given <= most)))
    if given.ndim > 1 or given.size == 0 or bad.size:
        got = np.atleast_1d(given).flat[bad[0]] if bad.size else repr(t)[:80]
        raise InvalidInputError(message(rule, got=got, remedy="drop or correct that time"))
    return np.unique(given)
