"""The package itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerpressure import Gaussian, Linear, Model, Network, simulate


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
    **options: Any,
) -> NDArray[Any]:
    """Simulate; ``options`` are those of ``simulate``, of which only the final state is kept if none are given."""
    model = Model(network, hidden=hidden, stubbornness=stubbornness, pressure=Linear(), noise=Gaussian(std))
    return simulate(model, steps, replicates, seed=seed, **{"record": "final", **options}).final.public
