"""Checks of the parameters that generators share."""

from __future__ import annotations

from typing import Any

import numpy as np

from peerpressure.errors import TooLargeError, complain
from peerpressure.networks.refusal import refusal

BYTES_PER_EDGE = 150  # at the peak of building an adjacency: both directions, sorted and mirrored
SMALL = 1_000_000  # edges that fit anywhere, so that no memory is asked about


def whole(name: str, value: Any, *, least: int, remedy: str) -> int:
    """Return a whole number that is at least so large."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise refusal(f"{name} must be a whole number of at least {least}", got=repr(value), remedy=remedy)
    return int(value)


def agents(n: Any, least: int = 2) -> int:
    """Return a number of agents."""
    return whole("n", n, least=least, remedy=f"ask for {least} agents or more")


def chance(p: Any) -> float:
    """Return a probability."""
    if isinstance(p, bool) or not isinstance(p, int | float | np.number) or not 0 <= p <= 1:
        raise refusal("p must be a probability", got=repr(p), remedy="give a number from 0 to 1")
    return float(p)


def generator(seed: Any) -> np.random.Generator:
    """Return the generator of random numbers that belongs to a seed."""
    remedy = "give for instance seed=1; the same seed gives the same network"
    return np.random.default_rng(whole("seed", seed, least=0, remedy=remedy))


def room_for(edges: float) -> None:
    """Raise when a graph of this many edges would not fit into the memory that is free."""
    if edges <= SMALL:
        return
    import psutil

    free = psutil.virtual_memory().available
    if edges * BYTES_PER_EDGE > free:
        need = edges * BYTES_PER_EDGE / 2**30
        got = f"{edges:.3g} edges, about {need:,.0f} GiB, with {free / 2**30:,.1f} GiB free"
        raise TooLargeError(complain("a network must fit into memory", got=got, remedy="ask for fewer edges"))
