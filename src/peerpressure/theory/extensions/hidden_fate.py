"""What becomes of hidden opinions that adapt."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from peerpressure.model import Model
from peerpressure.theory.ends import Fate
from peerpressure.theory.extensions.bonds import Bond, Setting
from peerpressure.theory.extensions.retention import retention
from peerpressure.theory.noise_effect import NoiseEffect
from peerpressure.theory.regime import Regime


@final
@dataclass(frozen=True)
class HiddenFate:
    """Whether agents end up believing one thing, and how long each keeps its own view.

    ``agrees`` is None where it is not known. ``half_life`` holds the least and the greatest number of steps after
    which an agent holds less than half of its first opinion of itself, and ``information`` the most that all steps
    together tell of a first opinion, in units of one step's noise; see ``retention``.
    """

    agrees: bool | None
    half_life: tuple[float, float]
    information: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON: None for what is infinite or not known."""
        numbers = {"half_life": list(self.half_life), "information": [self.information]}
        plain = {name: [x if math.isfinite(x) else None for x in values] for name, values in numbers.items()}
        return {"agrees": self.agrees, "half_life": plain["half_life"], "information": plain["information"][0]}


def hidden_fate(model: Model, fate: Fate) -> HiddenFate | None:
    """Return what becomes of hidden opinions, None where they are constant."""
    if model.adaptation is None or fate.setting is None:
        return None
    kept = retention(model, 1)
    life = (float(kept.half_life.min()), float(kept.half_life.max()))
    return HiddenFate(True if fate.settled else _agrees(model, fate, fate.setting), life, float(kept.information.max()))


def _agrees(model: Model, fate: Fate, setting: Setting) -> bool | None:
    facts = setting.adaptation
    assert facts is not None
    if facts.lasting is None or setting.bond is Bond.UNKNOWN or fate.noise is NoiseEffect.UNKNOWN:
        return None
    holding = int(np.count_nonzero(~facts.adapts))
    # Several who never adapt do not even agree among themselves; one is followed if the start is forgotten.
    if not facts.lasting or setting.bond is not Bond.ONE or holding > 1 or (holding and fate.regime is Regime.FAST):
        return False
    if fate.noise is NoiseEffect.NONE:
        return True
    noisy = fate.regime is Regime.BOUNDED or (setting.rounds is not None and setting.rounds.isolated)
    return fate.noise is not NoiseEffect.SCATTERS and (not noisy or _fades(model))


def _fades(model: Model) -> bool:
    """Say whether η_t → 0, so that what agents hold no longer follows the noise of each step."""
    assert model.adaptation is not None
    exponent = model.adaptation.rate.growth.exponent
    return exponent is not None and exponent < 0
