"""What the experiments share: random streams, the agents they draw, the times they sample, and exact error measures."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.errors import InvalidInputError, message
from peerpressure.model import Model
from peerpressure.networks import Network, barabasi_albert
from peerpressure.noise import Gaussian
from peerpressure.reproduction import printed
from peerpressure.schedules import Linear, Schedule
from peerpressure.theory.propagation import consensus_mode, moments

AGENTS = 100
# As wide as the hidden opinions themselves (√(1/12) = 0.29): larger noise would mask the first steps.
NOISE = 0.25
# With this seed both failures are large enough to be visible on the scale of the opinions; others differ in size only.
SEED = 14
# Log-spaced times per decade: enough for smooth curves on a log axis, and few enough for small tables.
PER_DECADE = 12
NORMAL_95 = 1.959963984540054  # the normal quantile of a two-sided 95 % interval


def stream(seed: int, name: str) -> int:
    """Return the 64-bit seed of one experiment; no two experiments under one root seed share their noise.

    The name is hashed and thereby decides the numbers. Names therefore stay as they are when an experiment is renamed.

    >>> stream(14, "residuals") == stream(14, "residuals") != stream(14, "observers")
    True
    """
    # Python's own hash is salted per process; ``person`` separates these seeds from other uses of the same hash.
    return int.from_bytes(hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=8, person=b"experiment").digest())


def check_replications(replications: int, experiment: str) -> int:
    """Return the number of replications, or raise if a variance cannot be estimated from so few.

    >>> check_replications(20, "residuals")
    20
    """
    if isinstance(replications, bool) or not isinstance(replications, int) or replications < 2:
        rule = f"the experiment on {experiment} needs a whole number of replications, 2 or more"
        raise InvalidInputError(message(rule, got=repr(replications), remedy="one run shows no variance"))
    return replications


def agents_drawn(agents: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hidden opinions from U[0, 1] and stubbornness from U[0.5, 1]."""
    # A stream of its own: the graph is drawn from the bare seed and must not share numbers with the opinions.
    # The 1 is this use of the root seed; 2 is the order of observed agents (_beyond), 3 and 4 graphs (_sweep).
    rng = np.random.default_rng([seed, 1])
    return rng.uniform(*printed.HIDDEN_RANGE, agents), rng.uniform(*printed.STUBBORNNESS_RANGE, agents)


def scale_free_model(
    seed: int = SEED,
    *,
    agents: int = AGENTS,
    noise: float = NOISE,
    graph: Network | None = None,
    pressure: Schedule | None = None,
) -> Model:
    """Return ρ_t = t on a Barabási–Albert graph with odd cycles (two edges per round), or other pressure and graph."""
    network = graph or barabasi_albert(agents, 2, seed=seed)
    return Model(network, *agents_drawn(network.n, seed), pressure or Linear(), Gaussian(noise))


def log_spaced_times(steps: int) -> NDArray[np.int64]:
    """Return times from 1 to ``steps``, evenly spaced in their logarithm.

    >>> log_spaced_times(10)
    array([ 1,  2,  3,  4,  5,  6,  7,  8, 10])
    """
    # Rounding makes early times coincide, hence ``unique``; the end of geomspace is exact, so ``steps`` is kept.
    count = int(PER_DECADE * np.log10(steps)) + 1
    return np.unique(np.round(np.geomspace(1, steps, count)).astype(np.int64))


@final
@dataclass(frozen=True, eq=False)
class ConsensusErrors:
    """Exact errors over time, each of shape (times,); sums over agents are weighted by degree d.

    ``bias`` and ``std`` describe the consensus mode m = Σ d y/Σ d relative to the consensus value v. With E over the
    noise, weighted_disagreement² = E Σ d (y − m)²/Σ d and weighted_distance² = E Σ d (y − v)²/Σ d, hence
    weighted_distance² = weighted_disagreement² + bias² + std².
    """

    bias: NDArray[np.float64]
    std: NDArray[np.float64]
    weighted_disagreement: NDArray[np.float64]
    weighted_distance: NDArray[np.float64]


def consensus_errors(model: Model, times: NDArray[np.int64]) -> ConsensusErrors:
    """Return the errors of the public opinions at increasing times.

    >>> from peerpressure.networks import k2
    >>> errors = consensus_errors(Model(k2(), hidden=[0.0, 1.0]), np.array([0, 2]))
    >>> errors.weighted_disagreement.round(3), errors.bias.round(3) + 0.0
    (array([0.5  , 0.167]), array([0., 0.]))
    """
    steps, mode = int(times[-1]), consensus_mode(model)
    # The variance of the mode depends on covariances between agents, which the variances of the agents do not give.
    agents, common = moments(model, steps, times=times), moments(model, steps, of=mode, times=times)
    bias, std = common.mean[:, 0] - model.consensus_value, common.std[:, 0]
    # E(y − v)² = (E y − v)² + Var y for each agent, averaged over agents with the weights of the mode.
    distance2 = mode((agents.mean - model.consensus_value) ** 2 + agents.variance)
    # Rounding can make the difference slightly negative.
    disagreement2 = np.maximum(distance2 - bias**2 - std**2, 0.0)
    return ConsensusErrors(bias, std, np.sqrt(disagreement2), np.sqrt(distance2))
