"""The network that an observer infers from more and more steps of a run, against the true one."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from peerpressure.explorer.answers import FAILURES, first_replicate
from peerpressure.explorer.encoding import pack
from peerpressure.explorer.models import BuiltScenario
from peerpressure.explorer.requests import FATAL, Limits, error_text
from peerpressure.recovery import NetworkEstimate
from peerpressure.scenario._scenario import Observe

MIN_TIMES, MAX_TIMES = 2, 12
FIRST = 8  # observed steps; of fewer, hardly anything can be inferred
OVERHEAD = 10_000  # steps that take as long as what the fit of an agent costs at any number of steps


@final
@dataclass(frozen=True, eq=False)
class InferredEdges:
    """Pairs of agents that are connected, or that were taken to be at one of the times.

    ``pairs`` (m, 2) are positions, ``true`` (m,) marks the edges of the network, and ``weights`` and ``confidence``
    (times, m) are the larger ones of both directions; a weight of 0 is a pair that was not selected.
    ``average_precision`` (times,) is that of all ordered pairs. If no time has an estimate, ``failed`` says why.
    """

    times: NDArray[np.float64]
    average_precision: NDArray[np.float64]
    pairs: NDArray[np.uint32]
    true: NDArray[np.uint32]
    weights: NDArray[np.float32]
    confidence: NDArray[np.float32]
    failed: str | None

    def at(self, time: float) -> int:
        """Return the position of the last of the times up to this one, −1 if all are later."""
        return int(np.searchsorted(self.times, time, "right")) - 1


def inference_answer(built: BuiltScenario, limits: Limits) -> bytes:
    """Return the inferred edges over time in the binary format."""
    found = dict(vars(inferred_edges(built, limits)))
    return pack({"failed": found.pop("failed")}, found)


def inferred_edges(built: BuiltScenario, limits: Limits) -> InferredEdges:
    """Return the edges that are inferred from the first replicate, at as many times as there is time for."""
    look = built.scenario.observation().resolve(built.model, np.arange(built.steps + 1))
    counts = _counts(built.model.n, max(look.times.size, 1), limits)
    limits.check_observer(built.model.n, look.last)
    run, observe = first_replicate(built).run, built.scenario.observe or Observe()
    found: dict[int, NetworkEstimate] = {}
    failed, deadline = None, time.monotonic() + limits.inference_seconds
    # From all steps first, then from coarse to fine: on a slow machine the last ones are left out.
    for count in dict.fromkeys(one for stride in (8, 4, 2, 1) for one in counts[::-stride]):
        if found and time.monotonic() > deadline:
            break
        # y₀ is not among the times that are resolved; who sees it sees it from the start.
        seen = [0] * look.sees_start + look.times[:count].tolist()
        part = built.with_scenario(observe=observe.model_copy(update={"times": seen})).scenario
        try:
            found[seen[-1]] = part.infer_network(run)
        except FATAL:
            raise
        # Gaps among the first steps may leave too few of them, and later ones suffice.
        except FAILURES as error:
            failed = failed or error_text(error)
    return _compared(built, dict(sorted(found.items())), failed)


def _counts(agents: int, steps: int, limits: Limits) -> list[int]:
    """Return numbers of observed steps, evenly spaced on a logarithmic axis."""
    work = agents * (steps + OVERHEAD)
    what = f"agents × (steps + {OVERHEAD:,}) × times of an inferred network"
    remedy = "observe fewer steps or a smaller network; peerpressure recover has no such limit"
    limits.check("inferred", MIN_TIMES * work, what=what, remedy=remedy, where="observe.unknown_network")
    # Rounding makes small numbers coincide, and unique removes the repeats.
    spaced = np.geomspace(min(FIRST, steps), steps, min(MAX_TIMES, limits.inferred // work))
    return [int(count) for count in np.unique(spaced.round())]


def _compared(built: BuiltScenario, found: Mapping[int, NetworkEstimate], failed: str | None) -> InferredEdges:
    network = built.model.network
    size = (len(found), network.n, network.n)
    weights, confidence = np.zeros(size, dtype=np.float32), np.full(size, np.nan, dtype=np.float32)
    for k, one in enumerate(found.values()):
        # Agents that are not observed have no row.
        picked = np.ix_(network.indices(one.labels), network.indices(one.labels))
        # The larger of both directions; an edge has weights in both.
        weights[k][picked] = np.maximum(one.weights, one.weights.T)
        confidence[k][picked] = np.fmax(one.confidence, one.confidence.T)
    true = network.adjacency.toarray() > 0
    i, j = np.nonzero(np.triu(true | (weights > 0).any(axis=0), 1))
    return InferredEdges(
        np.array([*found], dtype=np.float64),
        np.array([one.average_precision(network) for one in found.values()]),
        np.stack([i, j], axis=1).astype(np.uint32),
        true[i, j].astype(np.uint32),
        weights[:, i, j],
        confidence[:, i, j],
        failed if not found else None,
    )
