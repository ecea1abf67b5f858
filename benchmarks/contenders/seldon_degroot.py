"""Seldon's DeGroot model, C++ behind ``pyseldonlib``: y ← D⁻¹A y, with no own opinions, noise or peer pressure.

That is our model without noise under a pressure so high that own opinions have no weight left; ``stubbornness``,
``std`` and ``seed`` change nothing. One thread, double precision. It also looks for the largest change after every
step, with which it decides whether to stop. It takes networks and opinions from text files, which is not timed.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
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
    """Run ``DeGroot_Model`` from the hidden opinions."""
    return np.array([degroot(network, hidden, steps) for _ in range(replicates)])


def degroot(network: Network, start: NDArray[np.float64], steps: int) -> NDArray[np.float64]:
    """Return the opinions after so many steps."""
    from pyseldonlib import DeGroot_Model

    logging.getLogger("pyseldonlib").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder, _silent():
        Path(folder, "network.txt").write_text(_rows(network))
        Path(folder, "agents.txt").write_text("".join(f"{i}, {y!r}\n" for i, y in enumerate(start.tolist())))
        files = {"agent_file": f"{folder}/agents.txt", "network_file": f"{folder}/network.txt"}
        # A tolerance that is never met, so exactly so many steps are made.
        model = DeGroot_Model(max_iterations=steps, convergence_tol=1e-300, rng_seed=1, **files)
        model.run(f"{folder}/output")
        return np.array(model.agent_opinion())


def _rows(network: Network) -> str:
    """Return Seldon's list of rows: agent, number of neighbours, their numbers, their weights."""
    A = network.adjacency
    starts, neighbours = A.indptr.tolist(), A.indices.tolist()
    weights = (A.data / np.repeat(network.degrees, np.diff(A.indptr))).tolist()
    lines = []
    for i, (begin, end) in enumerate(pairwise(starts)):
        cells = [i, end - begin, *neighbours[begin:end], *weights[begin:end]]
        lines.append(", ".join(map(repr, cells)))
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Discard what compiled code prints."""
    saved = os.dup(1)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
