"""The model that everything here runs: a scale-free network, spread stubbornness, linear pressure, normal noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure import Gaussian, Linear, Model, Network
from peerpressure.networks import barabasi_albert

STD = 0.1
SEED = 1

DESCRIPTION = (
    "Barabási–Albert networks with m = 2 and weights 1, stubbornness uniform on [0.5, 1],\nhidden opinions uniform on "
    "[0, 1], peer pressure ρ_t = t, white Gaussian noise, float64 unless said otherwise."
)


@final
@dataclass(frozen=True, eq=False)
class Workload:
    """A network and the constants of its agents."""

    network: Network
    hidden: NDArray[np.float64]
    stubbornness: NDArray[np.float64]

    @property
    def model(self) -> Model:
        """The same as a model."""
        return Model(
            self.network,
            hidden=self.hidden,
            stubbornness=self.stubbornness,
            pressure=Linear(),
            noise=Gaussian(STD),
        )

    def shuffled(self) -> Workload:
        """Return the same model with its agents in random order."""
        order = np.random.default_rng(SEED).permutation(self.network.n)
        return Workload(self.network.permuted(order), self.hidden[order], self.stubbornness[order])


@lru_cache(maxsize=8)
def workload(agents: int) -> Workload:
    """Return the benchmark's model of so many agents, made once."""
    return on(barabasi_albert(agents, 2, seed=SEED))


def on(network: Network) -> Workload:
    """Return the benchmark's model on another network."""
    rng = np.random.default_rng(SEED)
    return Workload(network, rng.uniform(0.0, 1.0, network.n), rng.uniform(0.5, 1.0, network.n))
