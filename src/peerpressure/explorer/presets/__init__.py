"""States to begin from: the paper's figures, what goes beyond them, and the extensions, each one click."""

from typing import Any

from peerpressure.explorer.presets.base import BOTH, DRAWN, LINEAR, PRIVACY, Preset, gaussian, scale_free
from peerpressure.explorer.presets.beyond import BEYOND
from peerpressure.explorer.presets.extensions import EXTENSIONS
from peerpressure.explorer.presets.paper import PAPER

DEFAULT: dict[str, Any] = {
    "scenario": {
        "network": scale_free(100, 2),
        "agents": DRAWN,
        "pressure": LINEAR,
        "noise": gaussian(0.5),
        "run": {"steps": 200, "replicates": 20, "seed": 1},
        "observe": BOTH,
        "privacy": PRIVACY,
    },
    "view": {},
}
PRESETS: tuple[Preset, ...] = (*PAPER, *BEYOND, *EXTENSIONS)

__all__ = ["BEYOND", "DEFAULT", "EXTENSIONS", "PAPER", "PRESETS", "Preset"]
