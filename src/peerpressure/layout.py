"""The layout of the state z = (y, x, u): public opinions, hidden opinions that adapt, memory of the noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final


@final
@dataclass(frozen=True)
class StateLayout:
    """Which entries of the state z are public opinions, hidden opinions and noise memory.

    Parameters
    ----------
    agents : int
        Number n of agents; public opinions are the first n entries.
    has_hidden : bool, default False
        Whether n hidden opinions follow.
    has_memory : bool, default False
        Whether n numbers of noise memory come last.

    See Also
    --------
    state_layout : The layout of a system.

    Examples
    --------
    >>> from peerpressure.statespace import StateLayout
    >>> layout = StateLayout(3, has_hidden=True)
    >>> layout.states, layout.public, layout.hidden
    (6, slice(0, 3, None), slice(3, 6, None))
    """

    agents: int
    has_hidden: bool = False
    has_memory: bool = False

    @cached_property
    def states(self) -> int:
        """The number of entries of z."""
        return self.agents * (1 + self.has_hidden + self.has_memory)

    @cached_property
    def public(self) -> slice:
        """The entries of y_t."""
        return slice(0, self.agents)

    @cached_property
    def hidden(self) -> slice:
        """The entries of x_{t+1}; empty where hidden opinions are no part of the state."""
        return slice(self.agents, self.agents * (1 + self.has_hidden))

    @cached_property
    def memory(self) -> slice:
        """The entries of u_t; empty where noise is white."""
        return slice(self.hidden.stop, self.states)
