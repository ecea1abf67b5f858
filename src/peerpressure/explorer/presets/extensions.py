"""What the paper names as future work: opinions that adapt, networks that change, time that flows."""

from __future__ import annotations

from peerpressure.experiments.convergence import NOISE, SEED
from peerpressure.explorer.presets.base import DRAWN, LINEAR, LOG_LOG, TUNED, Preset, gaussian, scale_free

EXTENSIONS: tuple[Preset, ...] = (
    Preset(
        "adaptation",
        "Opinions that adapt",
        "extensions",
        "In each step agents come to believe a twentieth of what they have just said.",
        {
            "network": scale_free(100, 2, SEED),
            "agents": DRAWN | {"adaptation": 0.05},
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
        {"colour": "hidden"},
    ),
    Preset(
        "half-adapt",
        "Some never adapt",
        "extensions",
        "Half of the agents adapt, the others never do, and draw the rest to them.",
        {
            "network": scale_free(100, 2, SEED),
            "agents": DRAWN | {"adaptation": {"rate": 0.05, "adaptation_weight": {"law": "two_camps", "share": 0.5}}},
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
        {"colour": "hidden"},
    ),
    Preset(
        "failing-edges",
        "Edges that fail",
        "extensions",
        "An edge is silent in a fifth of the steps. Agents still agree, very nearly on v: meeting in time is enough.",
        {
            "network": {
                "generator": "random_regular",
                "n": 100,
                "degree": 10,
                "seed": SEED,
                "dynamics": {"kind": "failing_edges", "probability": 0.2},
            },
            "agents": DRAWN,
            "pressure": TUNED,
            "noise": gaussian(NOISE),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
        LOG_LOG,
    ),
    Preset(
        "meetings",
        "People who meet and part",
        "extensions",
        "In each step a few active agents seek somebody out; whoever meets nobody says what it thinks, for ever.",
        {
            "network": {"temporal": "activity_driven", "n": 100, "contacts": 2, "floor": 0.05},
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
        LOG_LOG,
    ),
    Preset(
        "flowing-time",
        "Time that flows",
        "extensions",
        "The paper's stochastic differential equation, walked in steps of a tenth.",
        {
            "network": scale_free(100, 2, SEED),
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "time": {"continuous": True, "step": 0.1, "scaling": "printed", "method": "euler"},
            "run": {"steps": 400, "replicates": 10, "seed": SEED},
        },
    ),
)
