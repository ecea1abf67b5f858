"""The model in JAX on processors: one jit-compiled loop over steps, with JAX's own random numbers.

The product with the matrix is a gather of the neighbours' opinions and a ``segment_sum`` over sorted rows; JAX's BCOO
matrices lower to the same scatter. Double precision, ``jax.random.normal`` (Threefry). XLA chooses the threads. The
number of steps is an argument of the compiled loop, so a shape is compiled once in a process.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from peerpressure import Network


def run(
    network: Network,
    hidden: NDArray[np.float64],
    stubbornness: NDArray[np.float64],
    std: float,
    steps: int,
    replicates: int,
    seed: int,
) -> NDArray[np.float64]:
    """Step y = (s(x₀ + σz) + ρAy)/(s + ρd), y being (agents,) or (agents, replicates)."""
    A = network.adjacency
    rows = np.repeat(np.arange(network.n, dtype=np.int32), np.diff(A.indptr))
    column = (-1,) if replicates == 1 else (-1, 1)
    constants = [given.reshape(column) for given in (A.data, network.degrees, hidden, stubbornness)]
    shape = (network.n,) if replicates == 1 else (network.n, replicates)
    with jax.enable_x64(True):
        start = jnp.asarray(np.broadcast_to(constants[2], shape))
        found = _steps(rows, A.indices, *map(jnp.asarray, constants), start, std, steps, jax.random.key(seed))
        return np.asarray(found).T.reshape(replicates, network.n)


def _stepped(
    rows: Any, columns: Any, weights: Any, d: Any, x0: Any, s: Any, start: Any, std: Any, steps: Any, key: Any
) -> Any:
    def step(t: Any, y: Any) -> Any:
        z = jax.random.normal(jax.random.fold_in(key, t), y.shape, y.dtype)
        sums = jax.ops.segment_sum(weights * y[columns], rows, y.shape[0], indices_are_sorted=True)
        return (s * (x0 + std * z) + t * sums) / (s + t * d)

    return lax.fori_loop(1, steps + 1, step, start)


_steps = jax.jit(_stepped)
