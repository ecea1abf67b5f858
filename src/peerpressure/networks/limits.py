"""The limit of slow pressure: where agents come to if pressure grows slowly enough, by the structure of the network."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from peerpressure.networks._network import Network
from peerpressure.networks.chain import absorbed, closed_classes, double_cover
from peerpressure.networks.classes import components, left_null_vector


def limit_state(
    network: Network, stubbornness: NDArray[np.float64], opinions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the limit of (S + ρL)⁻¹S x as ρ → ∞, shape (agents,): where slowly growing pressure leads.

    The agents of a closed class come to the mean of its opinions with the weights ℓs, and transient agents to a mixture
    of these means. On a signed network that holds on the double cover, where images have the opposite opinions: two
    camps come to opposite values, and a class without balance, which has agents and their images, to 0.
    """
    if network.signed and network.directed:
        return _limit_on_cover(network.adjacency, stubbornness, opinions)
    if network.signed:
        return _limit_of_camps(network, stubbornness, opinions)
    weights, known = network.left_null_vector * stubbornness, np.full(opinions.size, np.nan)
    for agents in network.closed_classes:
        share = weights[agents] / weights[agents].max()
        known[agents] = share @ opinions[agents] / share.sum()
    return absorbed(network.adjacency, known)


def _limit_of_camps(
    network: Network, stubbornness: NDArray[np.float64], opinions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the limit on a symmetric signed network, whose components are its closed classes."""
    count, component = components(network.adjacency)
    largest = np.zeros(count)
    np.maximum.at(largest, component, stubbornness)
    share = stubbornness / largest[component]
    sums = [np.bincount(component, share * each, count) for each in (network.camps * opinions, np.ones(opinions.size))]
    return np.asarray(network.camps * (sums[0] / sums[1])[component])


def _limit_on_cover(
    adjacency: csr_array, stubbornness: NDArray[np.float64], opinions: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the limit on a directed signed network."""
    n = opinions.size
    adjacency = double_cover(adjacency)
    opinions, stubbornness = np.concatenate([opinions, -opinions]), np.tile(stubbornness, 2)
    classes = closed_classes(adjacency)
    weights = left_null_vector(adjacency, classes) * stubbornness
    known = np.full(opinions.size, np.nan)
    for agents in classes:
        share = weights[agents] / weights[agents].max()
        neutral = agents[-1] >= n and bool(np.any(np.isin(agents - n, agents)))
        known[agents] = 0.0 if neutral else share @ opinions[agents] / share.sum()
    return absorbed(adjacency, known)[:n]
