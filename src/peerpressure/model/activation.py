"""Activation (asynchronous updates): which agents update at a step, while the others keep their public opinions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from peerpressure.errors import ModelError, message
from peerpressure.model.step import Array
from peerpressure.networks import Network
from peerpressure.networks.topics import per_agent
from peerpressure.support.parameters import is_labelled

Masks: TypeAlias = NDArray[np.bool_]
Kind: TypeAlias = Literal["independent", "single", "table"]


@final
@dataclass(frozen=True, eq=False)
class Activation:
    """Which agents update at each step; the others keep their public opinions, y_i,t = y_i,t−1.

    With the masks m_t of 0 and 1, y_t = y_{t−1} + m_t ∘ (g_t ∘ (x + ε_t) + C_t y_{t−1} − y_{t−1}). Noise runs on under
    all agents, and a hidden opinion that adapts moves towards the public opinion that its agent keeps.

    Attributes
    ----------
    kind : {"independent", "single", "table"}
        Each agent by chance, independently of others and of other steps; one agent of all, uniformly chosen; or the
        masks of a table.
    values : array of shape (agents,) or (steps, agents)
        Probability q of each agent to update at a step, or the masks of steps 1, 2, …

    See Also
    --------
    Model : Takes a probability, "single" or a table.

    Examples
    --------
    >>> from peerpressure import Model
    >>> from peerpressure.networks import k2
    >>> Model(k2(), hidden=[0.0, 1.0], activation=0.5).activation.values
    array([0.5, 0.5])
    """

    kind: Kind
    values: Array | Masks

    def __post_init__(self) -> None:
        self.values.flags.writeable = False

    @property
    def agents(self) -> int:
        """The number of agents."""
        return int(self.values.shape[-1])

    @property
    def is_random(self) -> bool:
        """Whether it is random who updates."""
        return self.kind != "table"

    @property
    def is_synchronous(self) -> bool:
        """Whether everybody updates at every step; a table that ends says nothing about later steps."""
        return self.is_random and bool(np.all(self.values == 1))

    @property
    def probabilities(self) -> Array:
        """The probability q of each agent to update at a step, where that is random; shape (agents,)."""
        return np.asarray(self.values, dtype=np.float64)

    @property
    def pairs(self) -> Array:
        """The probability E[m_i m_j] that two agents update at the same step, shape (agents, agents)."""
        q = self.probabilities
        together = np.zeros((q.size, q.size)) if self.kind == "single" else np.outer(q, q)
        np.fill_diagonal(together, q)
        return together

    def masks(self, begin: int, end: int) -> Masks:
        """Return who updates at steps begin + 1…end of a table."""
        if self.is_random:
            rule = "a step is one affine map only if it is known who updates"
            remedy = "use moments, which average over who updates, or give a table of who does as the activation"
            raise ModelError(message(rule, got=str(self), remedy=remedy))
        if end > len(self.values):
            rule = f"the activation is a table of {len(self.values):,} steps"
            raise ModelError(message(rule, got=f"step {end:,}", remedy="make fewer steps, or give a longer table"))
        return np.asarray(self.values[begin:end], dtype=np.bool_)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Activation):
            return NotImplemented
        return self.kind == other.kind and np.array_equal(self.values, other.values)

    def __hash__(self) -> int:
        return hash((self.kind, self.values.shape))

    def __str__(self) -> str:
        if self.kind == "single":
            return "one agent updates at each step"
        if self.kind == "table":
            return f"a table of {len(self.values):,} steps says who updates"
        low, high = float(self.values.min()), float(self.values.max())
        return f"each agent updates with probability {low:.4g}" + f"–{high:.4g}" * (high > low)


def as_activation(value: Any, network: Network) -> Activation | None:
    """Return the activation of the agents of a network, after checking it; None if everybody updates."""
    n = network.n
    if value is not None and len(network.agents) != n:
        rule, remedy = "asynchronous updates are those of one topic", "leave out the activation, or the topics"
        raise ModelError(message(rule, got=repr(network), remedy=remedy))
    if value is None or isinstance(value, Activation):
        activation = value
        if activation is not None and activation.agents != n:
            rule, got = f"the activation must be that of the {n} agents", f"that of {activation.agents}"
            raise ModelError(message(rule, got=got, remedy="give a probability or a table for these agents"))
    elif isinstance(value, str):
        if value != "single":
            rule = "activation must be a probability, one for each agent, 'single', or a table of 0 and 1"
            remedy = "leave it out where everybody updates at every step"
            raise ModelError(message(rule, got=repr(value), remedy=remedy))
        activation = Activation("single", np.full(n, 1 / n))
    elif not is_labelled(value) and np.ndim(value) == 2:
        activation = _table(value, n)
    else:
        activation = _independent(value, network)
    return None if activation is None or activation.is_synchronous else activation


def _independent(value: Any, network: Network) -> Activation:
    values = per_agent("activation", value, network.agents, network.topics, network.labels, one_for_all=True)
    bad = np.flatnonzero((values <= 0) | (values > 1))
    if bad.size:
        got = f"{values[bad[0]]:g} at agent {network.labels[bad[0]]!r} ({bad.size} such in all)"
        remedy = "an agent who never updates is a zealot: give it the stubbornness inf"
        raise ModelError(message("activation must be above 0 and at most 1", got=got, remedy=remedy))
    return Activation("independent", values)


def _table(values: ArrayLike, agents: int) -> Activation:
    """Return the activation of a table of 0 and 1, (steps, agents)."""
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[1] != agents or not len(table):
        rule = f"a table of who updates must have a row for each step and a column for each of the {agents} agents"
        remedy = "transpose it if its rows are agents; a probability for each agent is a list of numbers"
        raise ModelError(message(rule, got=f"shape {table.shape}", remedy=remedy))
    bad = np.argwhere(~((table == 0) | (table == 1)))
    if bad.size:
        t, i = bad[0]
        rule, remedy = "a table of who updates must hold 0 and 1", "1 for an agent who updates, 0 for one who does not"
        raise ModelError(message(rule, got=f"{table[t, i]!r} at step {t + 1} ({len(bad)} such in all)", remedy=remedy))
    return Activation("table", table.astype(np.bool_))
