"""Declaration of a generator: its name for people, its parameters and the size of what it builds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

from peerpressure.errors import NetworkError
from peerpressure.networks._validation import check_integer, check_memory
from peerpressure.parameters import Parameter, Slider

Built = TypeVar("Built")


@final
@dataclass(frozen=True)
class Generator(Generic[Built]):
    """Declaration of a generator of networks or of temporal networks.

    Parameters
    ----------
    build : callable
        Function of the declared parameters; where they apply also of a network, of ``steps``, ``seed`` and ``repeat``.
    title, help : str
        Name for a label, and a description in one line.
    size : callable
        Estimate of the number of edges, or of edge events of a temporal network, from the parameters, and from
        ``steps`` and the number of ``edges`` where they apply.
    parameters : tuple of Parameter, optional
        Declared arguments of the function.
    agents : callable, optional
        Number of agents from the parameters, ``n`` by default.
    pairs : callable, optional
        Number of pairs of a temporal network that may be linked, from the parameters.
    short : str, optional
        Abbreviation for the command line.

    See Also
    --------
    peerpressure.networks.GENERATORS : Table of all generators of networks.
    peerpressure.networks.TEMPORAL : Table of those of temporal networks.

    Examples
    --------
    >>> from peerpressure.networks import GENERATORS
    >>> GENERATORS["cycle"].build(6)
    Network(6 agents, 6 edges, bipartite, degree 2)
    """

    build: Callable[..., Built]
    title: str
    help: str
    size: Callable[..., float]
    parameters: tuple[Parameter, ...] = ()
    agents: Callable[..., int] = lambda n, **_: n
    pairs: Callable[..., float] = lambda **_: 0.0
    short: str = ""

    def check(self, **values: Any) -> None:
        """Raise unless each value is in its legal range and the network fits into memory.

        Parameters
        ----------
        **values : object
            Values of the declared parameters, and ``steps`` and ``edges`` where they apply.

        Raises
        ------
        NetworkError
            If a value is out of its range.
        TooLargeError
            If the network does not fit into memory.
        """
        # Ranges come first, since the estimate of the size assumes legal values.
        for one in self.parameters:
            # Flags such as ``connected`` have no range, and callers leave them out.
            if one.name in values:
                one.check(values[one.name], NetworkError)
        if "steps" in values:
            check_integer("steps", values["steps"], least=1, remedy="ask for one step or more")
        try:
            size = float(self.size(**values))
        except OverflowError:  # more than a double can count
            size = math.inf
        check_memory(size)


def number_of_agents(slider: Slider, at_least: int = 2) -> Parameter:
    """Return the declaration of the number of agents n."""
    remedy = f"ask for {at_least} agents or more"
    return Parameter("n", "whole", "agents", "number of agents", at_least=at_least, remedy=remedy, slider=slider)
