"""What goes beyond the paper: better schedules, better observers, better masks."""

from __future__ import annotations

from peerpressure.experiments.convergence import SEED
from peerpressure.explorer.presets.base import (
    BOTH,
    DRAWN,
    FAST,
    LINEAR,
    LOG_LOG,
    OBSERVER,
    PRIVACY,
    TUNED,
    Preset,
    gaussian,
    published,
    scale_free,
)

BEYOND: tuple[Preset, ...] = (
    Preset(
        "tuned",
        "The tuned schedule",
        "beyond",
        "ρ_t = κt averages all that was ever said: the distance to v falls like 1/√t, far below the paper's ρ_t = t.",
        published(2, TUNED, 3_000, replicates=20),
        LOG_LOG,
    ),
    Preset(
        "wrong-value",
        "Too fast, with odd cycles",
        "beyond",
        "Under 2^√t a graph with an odd cycle does agree, but on a biased value, another one in each replicate.",
        published(2, FAST, 300, replicates=20),
    ),
    Preset(
        "never",
        "Pressure that stops growing",
        "beyond",
        "Bounded pressure leaves a spread for ever: agents keep some of their own opinion.",
        published(2, {"kind": "formula", "formula": "min(t, 3)"}, 300, replicates=20),
    ),
    Preset(
        "half-seen",
        "An observer who sees half",
        "beyond",
        "Thirty agents, of whom fifteen are watched: what protects the others is not the noise but not being seen.",
        {
            "network": scale_free(30, 2, SEED),
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(1.0),
            "run": {"steps": 60, "replicates": 1, "seed": SEED},
            "observe": {
                "agents": list(range(0, 30, 2)),
                "methods": ["kalman"],
                "prior": {"low": 0.0, "high": 1.0},
            },
            "privacy": PRIVACY,
        },
        {"tab": "observer", "colour": "exposure"},
    ),
    Preset(
        "masks",
        "Masks that are never taken off",
        "beyond",
        "One draw for each agent, held for ever, and a start that says nothing: looking longer teaches nothing more.",
        {
            "network": scale_free(60, 2, SEED),
            "agents": DRAWN | {"start": [0.5] * 60},
            "pressure": TUNED,
            "noise": gaussian(1.0, temporal="frozen"),
            "run": {"steps": 200, "replicates": 20, "seed": SEED},
            "observe": {"methods": ["kalman"], "prior": {"low": 0.0, "high": 1.0}},
            "privacy": PRIVACY,
        },
        OBSERVER,
    ),
    Preset(
        "karate",
        "Two camps in a karate club",
        "beyond",
        "Zachary's club, split in two: will the members agree, and on what?",
        {
            "network": {"named": "karate"},
            "agents": {"hidden": {"law": "two_camps", "low": 0.0, "high": 1.0, "share": 0.5, "std": 0.05, "seed": 3}},
            "pressure": TUNED,
            "noise": gaussian(0.5),
            "run": {"steps": 400, "replicates": 10, "seed": 1},
            "observe": BOTH | {"prior": {"low": -0.5, "high": 1.5}},
            "privacy": PRIVACY,
        },
    ),
    Preset(
        "many",
        "Ten thousand agents",
        "beyond",
        "A scale-free network of ten thousand, under the tuned schedule.",
        {
            "network": scale_free(10_000, 2),
            "agents": DRAWN,
            "pressure": TUNED,
            "noise": gaussian(0.5),
            "run": {"steps": 200, "replicates": 5, "seed": 1},
        },
        LOG_LOG,
    ),
)
