"""The ends that a network can come to under peer pressure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, final

from peerpressure.schedules import Growth
from peerpressure.theory.noise_effect import NoiseEffect
from peerpressure.theory.regime import Regime

if TYPE_CHECKING:
    from peerpressure.theory.extensions.bonds import Setting


class Outcome(Enum):
    """What becomes of the agents' public opinions as t → ∞.

    The last three before the unknown are met only where the network changes or hidden opinions adapt.
    """

    CONSENSUS = "consensus on v"
    BIASED_CONSENSUS = "biased consensus"
    OSCILLATION = "permanent oscillation between the two sides"
    DISAGREEMENT = "stationary disagreement around the Friedkin–Johnsen point"
    CLUSTERS = "cluster consensus"
    PERIODIC = "periodic limit"
    RANDOM_WALK = "a common opinion on a random walk"
    UNKNOWN = "unknown"


@final
@dataclass(frozen=True)
class Fate:
    """An outcome with the facts that it was decided from.

    ``settled``: all hold one opinion without noise. ``balanced``: the mean is v from the start and at every step, and
    so is that of each side of a bipartite network, whatever the pressure. ``setting`` holds what else counts where
    the network changes or hidden opinions adapt.
    """

    outcome: Outcome
    regime: Regime
    noise: NoiseEffect
    growth: Growth
    settled: bool
    balanced: bool
    estimated: bool
    setting: Setting | None = None
