"""What presets are made of: their type, and the sections that many of them share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

from peerpressure.experiments import printed
from peerpressure.experiments.convergence import AGENTS, NOISE, SEED, agents_drawn

Group = Literal["paper", "beyond", "extensions"]


@final
@dataclass(frozen=True)
class Preset:
    """A scenario with a title and a sentence on what to look for; ``view`` is how the page shows it first."""

    id: str
    title: str
    group: Group
    blurb: str
    scenario: Mapping[str, Any]
    view: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, Any]:
        """The state of the page that it stands for."""
        return {"scenario": dict(self.scenario), "view": dict(self.view)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {"id": self.id, "title": self.title, "group": self.group, "blurb": self.blurb, "state": self.state}


def scale_free(n: int, m: int, seed: int | None = None) -> dict[str, Any]:
    """Return the section of a scale-free network; without a seed it follows that of the run."""
    return {"generator": "barabasi_albert", "n": n, "m": m} | ({} if seed is None else {"seed": seed})


def gaussian(std: float, **more: Any) -> dict[str, Any]:
    """Return the section of normal noise."""
    return {"law": "gaussian", "std": std, **more}


# Opinions and stubbornness by the law that the paper gives, drawn anew for each network.
DRAWN: dict[str, Any] = {
    "hidden": dict(zip(("law", "low", "high"), ("uniform", *printed.HIDDEN_RANGE), strict=True)),
    "stubbornness": dict(zip(("law", "low", "high"), ("uniform", *printed.STUBBORNNESS_RANGE), strict=True)),
}
LINEAR = {"kind": "linear", "slope": 1.0}
FAST = {"kind": "stretched_exponential", "base": 2.0, "exponent": 0.5}
TUNED = {"kind": "tuned"}
BOTH = {"methods": ["ols", "innovations"]}
PRIVACY = {"sensitivity": 1.0, "delta": 1e-5}
OBSERVER = {"tab": "observer"}
LOG_LOG = {"logTime": True, "logSize": True}


def published(
    m: int, pressure: Mapping[str, Any], steps: int, noise: float = NOISE, *, replicates: int = 1, **more: Any
) -> dict[str, Any]:
    """Return a scenario with the very network, agents and seed of the reproduced figures: it shows their numbers."""
    hidden, stubbornness = agents_drawn(AGENTS, SEED)
    return {
        "network": scale_free(AGENTS, m, SEED),
        "agents": {"hidden": hidden.tolist(), "stubbornness": stubbornness.tolist()},
        "pressure": dict(pressure),
        "noise": gaussian(noise),
        "run": {"steps": steps, "replicates": replicates, "seed": SEED},
        **more,
    }
