"""Generators of classic graphs, of which many have closed forms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from peerpressure.networks._network import Network
from peerpressure.networks._validation import Generator, network_error, number_of_agents
from peerpressure.parameters import Parameter, Slider

MANY = 50_000  # the largest number of agents that the explorer allows


def k2() -> Network:
    """Return the complete graph K₂: two agents linked by one edge.

    Returns
    -------
    Network
        The smallest network.

    See Also
    --------
    peerpressure.theory.two_agents : Closed forms of the model on this network.

    Examples
    --------
    >>> from peerpressure.networks import k2
    >>> k2()
    Network(2 agents, 1 edge, bipartite, degree 1)
    """
    return path(2)


def path(n: int) -> Network:
    """Return the path graph: agents 0..n-1 in a line.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    cycle : The path closed to a ring.

    Examples
    --------
    >>> from peerpressure.networks import path
    >>> path(4)
    Network(4 agents, 3 edges, bipartite, degrees 1–2)
    """
    _check("path", n=n)
    steps = np.arange(n - 1)
    return Network.from_edges((steps, steps + 1))


def cycle(n: int) -> Network:
    """Return the cycle graph: agents in a ring, bipartite exactly if n is even.

    Parameters
    ----------
    n : int
        Number of agents, at least 3.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 3.

    See Also
    --------
    path : The same without the closing edge.
    watts_strogatz : A ring with more neighbours and rewired edges.

    Examples
    --------
    >>> from peerpressure.networks import cycle
    >>> cycle(5)
    Network(5 agents, 5 edges, non-bipartite, degree 2)
    """
    _check("cycle", n=n)
    steps = np.arange(n)
    return Network.from_edges((steps, (steps + 1) % n))


def complete(n: int) -> Network:
    """Return the complete graph: an edge between any two agents.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    erdos_renyi : Each of these edges with a probability.

    Examples
    --------
    >>> from peerpressure.networks import complete
    >>> complete(4)
    Network(4 agents, 6 edges, non-bipartite, degree 3)
    """
    _check("complete", n=n)
    return Network.from_edges(np.triu_indices(n, 1))


def star(n: int) -> Network:
    """Return the star graph: agent 0 is linked with all others.

    Parameters
    ----------
    n : int
        Number of agents, at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If n is less than 2.

    See Also
    --------
    complete : All agents are linked with each other.

    Examples
    --------
    >>> from peerpressure.networks import star
    >>> star(4)
    Network(4 agents, 3 edges, bipartite, degrees 1–3)
    """
    _check("star", n=n)
    leaves = np.arange(1, n)
    return Network.from_edges((np.zeros_like(leaves), leaves))


def grid(rows: int, columns: int) -> Network:
    """Return a rectangular lattice with agents numbered row by row.

    Parameters
    ----------
    rows, columns : int
        Size of the lattice, each at least 1 and one of them at least 2.

    Returns
    -------
    Network
        The network, with all weights 1.

    Raises
    ------
    NetworkError
        If the lattice has fewer than two agents.

    See Also
    --------
    path : A lattice of one row.

    Examples
    --------
    >>> from peerpressure.networks import grid
    >>> grid(2, 3)
    Network(6 agents, 7 edges, bipartite, degrees 2–3)
    """
    _check("grid", rows=rows, columns=columns)
    if rows == columns == 1:
        raise network_error("columns must be at least 2 where rows is 1", got=1, remedy="ask for two agents or more")
    # Edges to the right, then edges downwards.
    place = np.arange(rows * columns).reshape(rows, columns)
    sources = [place[:, :-1].ravel(), place[:-1].ravel()]
    targets = [place[:, 1:].ravel(), place[1:].ravel()]
    return Network.from_edges((np.concatenate(sources), np.concatenate(targets)))


def _check(name: str, **values: Any) -> None:
    CLASSIC[name].check(**values)


def up_to(maximum: int, minimum: int, start: int = 100) -> Slider:
    """Return the slider of a number of agents."""
    return Slider(minimum, maximum, start=start, log=True)


# 220² lattice points are just below MANY.
_SIDE = Slider(1, 220, start=10, log=True)
CLASSIC: Mapping[str, Generator[Network]] = MappingProxyType(
    {
        "grid": Generator(
            grid,
            "Lattice",
            "A rectangular lattice in which agents have up to four neighbours; it is bipartite.",
            lambda rows, columns: 2 * rows * columns - rows - columns,
            (
                Parameter("rows", "whole", "rows", at_least=1, slider=_SIDE),
                Parameter("columns", "whole", "columns", at_least=1, slider=replace(_SIDE, minimum=2)),
            ),
            agents=lambda rows, columns: rows * columns,
        ),
        "cycle": Generator(
            cycle,
            "Ring",
            "Agents in a ring; it is bipartite if their number is even.",
            lambda n: n,
            (number_of_agents(up_to(MANY, 3), at_least=3),),
        ),
        "path": Generator(path, "Line", "Agents in a line.", lambda n: n - 1, (number_of_agents(up_to(MANY, 2)),)),
        "star": Generator(
            star,
            "Star",
            "One agent is linked with all others, who have no other neighbours.",
            lambda n: n - 1,
            (number_of_agents(up_to(MANY, 3)),),
        ),
        "complete": Generator(
            complete,
            "Complete",
            "All agents are linked with each other.",
            lambda n: n * (n - 1) / 2,
            # 900 agents have 404,550 edges, within the limit of the explorer.
            (number_of_agents(up_to(900, 3, start=30)),),
        ),
        "k2": Generator(
            k2,
            "Two agents",
            "Two agents linked by one edge, which the paper solves in closed form.",
            lambda: 1,
            agents=lambda: 2,
        ),
    }
)
