"""The plainest model that a model is equal to."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from peerpressure.adaptation import Adaptation
from peerpressure.model import Model
from peerpressure.schedules import Constant


def reduced(model: Model) -> Model:
    """Return the same model without a temporal network that never changes and an adaptation that moves nobody.

    >>> from peerpressure.networks import k2
    >>> reduced(Model(k2(), hidden=[0, 1], adaptation=0.0)).is_plain
    True
    """
    if model.temporal_network is not None and model.temporal_network.is_constant:
        model = replace(model, temporal_network=None)
    if model.adaptation is not None and _is_still(model.adaptation):
        model = replace(model, adaptation=None)
    return model


def _is_still(adaptation: Adaptation) -> bool:
    nothing = isinstance(adaptation.rate, Constant) and adaptation.rate.value == 0
    return nothing or not np.any(adaptation.adaptation_weight)
