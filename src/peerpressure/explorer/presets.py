"""Presets: the states of the page that a click opens, from the paper's figures to the extensions of its model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, final

from peerpressure.reproduction import printed
from peerpressure.reproduction.design import AGENTS, NOISE, SEED, agents_drawn

Group = Literal["paper", "beyond", "extensions"]


@final
@dataclass(frozen=True)
class Preset:
    """A scenario with a title and a sentence on what it shows; ``view`` holds the page's settings."""

    id: str
    title: str
    group: Group
    blurb: str
    scenario: Mapping[str, Any]
    view: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> dict[str, Any]:
        """The state of the page."""
        return {"scenario": dict(self.scenario), "view": dict(self.view)}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, fit for JSON."""
        return {"id": self.id, "title": self.title, "group": self.group, "blurb": self.blurb, "state": self.state}


def scale_free(n: int, m: int, seed: int | None = None) -> dict[str, Any]:
    """Return the section of a scale-free network; without a seed it is drawn from that of the run."""
    return {"generator": "barabasi_albert", "n": n, "m": m} | ({} if seed is None else {"seed": seed})


def gaussian(std: float, **more: Any) -> dict[str, Any]:
    """Return the section of Gaussian noise."""
    return {"law": "gaussian", "std": std, **more}


# Opinions and stubbornness with the distributions of the paper, drawn for each network.
DRAWN: dict[str, Any] = {
    "hidden": dict(zip(("law", "low", "high"), ("uniform", *printed.HIDDEN_RANGE), strict=True)),
    "stubbornness": dict(zip(("law", "low", "high"), ("uniform", *printed.STUBBORNNESS_RANGE), strict=True)),
}
# The officers of the karate club think 0 and 1, the others are undecided.
KARATE = [0.0, *[0.5] * 32, 1.0]
LINEAR = {"kind": "linear", "slope": 1.0}
FAST = {"kind": "stretched_exponential", "base": 2.0, "exponent": 0.5}
TUNED = {"kind": "tuned"}
BOTH = {"methods": ["ols", "auto"]}
BEST = {"methods": ["auto"]}
PRIVACY = {"sensitivity": 1.0, "delta": 1e-5}
OBSERVER = {"tab": "observer"}
LOG_LOG = {"logTime": True, "logSize": True}


def published(
    m: int, pressure: Mapping[str, Any], steps: int, noise: float = NOISE, *, replicates: int = 1, **more: Any
) -> dict[str, Any]:
    """Return a scenario with the network, agents and seed of the reproduced figures, which shows their numbers."""
    # Values are written out rather than drawn: the figures use generators of their own, whose streams differ from a
    # scenario's.
    hidden, stubbornness = agents_drawn(AGENTS, SEED)
    return {
        "network": scale_free(AGENTS, m, SEED),
        "agents": {"hidden": hidden.tolist(), "stubbornness": stubbornness.tolist()},
        "pressure": dict(pressure),
        "noise": gaussian(noise),
        "run": {"steps": steps, "replicates": replicates, "seed": SEED},
        **more,
    }


# Beyond the paper: better schedules, observers and noise

BEYOND: tuple[Preset, ...] = (
    Preset(
        "tuned",
        "The tuned schedule",
        "beyond",
        "ρ_t = κt weights all past opinions equally: the distance to v falls like 1/√t, far below the paper's ρ_t = t.",
        published(2, TUNED, 3_000, replicates=20),
        LOG_LOG,
    ),
    Preset(
        "biased-consensus",
        "Too fast, with odd cycles",
        "beyond",
        "Under 2^√t a graph with an odd cycle reaches consensus on a biased value, which differs between replicates.",
        published(2, FAST, 300, replicates=20),
    ),
    Preset(
        "disagreement",
        "Bounded pressure",
        "beyond",
        "Under bounded pressure agents keep some of their own opinion, and disagreement remains.",
        published(2, {"kind": "formula", "formula": "min(t, 3)"}, 300, replicates=20),
    ),
    Preset(
        "partial-observer",
        "A partial observer",
        "beyond",
        "Fifteen of thirty agents are observed under white noise, which protects the others far better.",
        {
            "network": scale_free(30, 2, SEED),
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(1.0),
            "run": {"steps": 60, "replicates": 1, "seed": SEED},
            "observe": {
                "agents": list(range(0, 30, 2)),
                "methods": ["auto"],
                "prior": {"low": 0.0, "high": 1.0},
            },
            "privacy": PRIVACY,
        },
        {"tab": "observer", "colour": "exposure"},
    ),
    Preset(
        "unknown-network",
        "Who listens to whom",
        "beyond",
        "The network is unknown: public opinions alone reveal its edges. Play, and watch them being found.",
        {
            "network": scale_free(30, 2, SEED),
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "run": {"steps": 500, "replicates": 1, "seed": SEED},
            "observe": BOTH | {"unknown_network": {}},
            "privacy": PRIVACY,
        },
        {"tab": "observer", "time": 500, "speed": 100},
    ),
    Preset(
        "frozen-noise",
        "Frozen noise",
        "beyond",
        "One draw per agent for all steps, and a start that reveals nothing: longer observation adds no information.",
        {
            "network": scale_free(60, 2, SEED),
            "agents": DRAWN | {"start": [0.5] * 60},
            "pressure": TUNED,
            "noise": gaussian(1.0, temporal="frozen"),
            "run": {"steps": 200, "replicates": 20, "seed": SEED},
            "observe": {"methods": ["auto"], "prior": {"low": 0.0, "high": 1.0}},
            "privacy": PRIVACY,
        },
        OBSERVER,
    ),
    Preset(
        "karate",
        "Two camps in a karate club",
        "beyond",
        "Zachary's karate club with two camps of opinions: do the members agree, and on what?",
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
        "A scale-free network of ten thousand agents under the tuned schedule.",
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


# The paper's future work: adaptation, temporal networks and continuous time

EXTENSIONS: tuple[Preset, ...] = (
    Preset(
        "adaptation",
        "Adaptation",
        "extensions",
        "In each step hidden opinions move by a twentieth towards the public ones.",
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
        "partial-adaptation",
        "Some agents do not adapt",
        "extensions",
        "Half of the agents adapt; the others do not, and determine the consensus value.",
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
        "Each edge fails in a fifth of the steps. Agents still agree, very nearly on v: joint connectivity is enough.",
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
        "activity-driven",
        "Activity-driven contacts",
        "extensions",
        "In each step a few active agents contact others; isolated agents express their own opinion, so no consensus.",
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
        "followers",
        "Followers",
        "extensions",
        "Arrows point to those who are listened to. Only the leaders, who listen to nobody else, decide on the value.",
        {
            "network": {"generator": "followers", "n": 60, "m": 2, "p": 0.05, "seed": SEED},
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(0.2),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
    ),
    Preset(
        "rival-camps",
        "Rival camps",
        "extensions",
        "Dashed edges are distrust. Two camps come to opposite opinions; reverse some signs, and all come to 0.",
        {
            "network": {"generator": "rival_camps", "n": 40, "degree": 4, "p": 0.0, "seed": SEED},
            "agents": DRAWN | {"hidden": [0.7 - 0.4 * (k % 3) if k < 20 else -0.5 + 0.4 * (k % 3) for k in range(40)]},
            "pressure": LINEAR,
            "noise": gaussian(0.2),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
    ),
    Preset(
        "zealots",
        "Two zealots",
        "extensions",
        "Two members of the karate club, drawn as squares, listen to nobody; all others end up between them.",
        {
            "network": {"named": "karate"},
            "agents": DRAWN | {"hidden": KARATE, "zealots": [0, 33]},
            "pressure": LINEAR,
            "noise": gaussian(0.2),
            "run": {"steps": 200, "replicates": 10, "seed": SEED},
        },
        {"agents": [0, 33]},
    ),
    Preset(
        "continuous-time",
        "Continuous time",
        "extensions",
        "The paper's stochastic differential equation, recorded every 0.1 units of time.",
        {
            "network": scale_free(100, 2, SEED),
            "agents": DRAWN,
            "pressure": LINEAR,
            "noise": gaussian(NOISE),
            "time": {"continuous": True, "step": 0.1, "scaling": "printed", "method": "taylor"},
            "run": {"steps": 400, "replicates": 10, "seed": SEED},
        },
    ),
)


# The paper's figures


def _cell(n: int, noise: float, m: int) -> dict[str, Any]:
    """Return one cell of the paper's sweep: n agents, noise of this standard deviation, m edges per new agent."""
    return {
        "network": scale_free(n, m),
        "agents": DRAWN,
        "pressure": LINEAR,
        "noise": gaussian(noise),
        "run": {"steps": printed.STEPS, "replicates": printed.SWEEP_REPLICATIONS, "seed": SEED},
        "observe": BOTH,
    }


PAPER: tuple[Preset, ...] = (
    Preset(
        "graph",
        "The scale-free graph",
        "paper",
        "A hundred agents, most with one neighbour, a few with many. With one edge per new agent it is a tree.",
        published(1, LINEAR, 150),
        {"colour": "hidden", "time": 0},
    ),
    Preset(
        "first-steps",
        "Consensus: the first steps",
        "paper",
        "Under ρ_t = t the highest and the lowest public opinion approach each other in spite of the noise.",
        published(1, LINEAR, 150),
    ),
    Preset(
        "long-run",
        "Consensus: the long run",
        "paper",
        "Agents agree soon, but on v only slowly: the spread falls faster than the distance to v.",
        published(1, LINEAR, 50_000),
        LOG_LOG,
    ),
    Preset(
        "too-fast",
        "Pressure that grows too fast",
        "paper",
        "Under ρ_t = 2^√t a tree does not reach consensus: its two sides oscillate.",
        published(1, FAST, 150),
        # Slow enough to see each step of the oscillation, and as close as to see its size.
        {"speed": 10, "zoomColours": True},
    ),
    Preset(
        "two-agents",
        "Recovery: two agents",
        "paper",
        "The regression's estimates of x₀ = (1, 2) after 100 steps. The best estimator has a tenth of their error.",
        {
            "network": {"generator": "k2"},
            "agents": {"hidden": list(printed.TWO_AGENTS_HIDDEN), "stubbornness": 1.0},
            "pressure": LINEAR,
            "noise": gaussian(printed.TWO_AGENTS_NOISE),
            "run": {"steps": printed.STEPS, "replicates": printed.REPLICATIONS, "seed": SEED},
            "observe": BOTH,
        },
        OBSERVER,
    ),
    Preset(
        "residuals",
        "Recovery: a hundred agents",
        "paper",
        "The regression's errors for each of a hundred hidden opinions after 100 steps.",
        published(2, LINEAR, printed.STEPS, 1.0, replicates=printed.REPLICATIONS, observe=BOTH),
        OBSERVER,
    ),
    Preset(
        "sweep-small",
        "The sweep: 20 agents, σ₀ = 5.5",
        "paper",
        "The cell of the paper's sweep with the fewest agents and the least noise; change both and compare the error.",
        _cell(20, 5.5, 2),
        OBSERVER,
    ),
    Preset(
        "sweep-large",
        "The sweep: 90 agents, σ₀ = 10",
        "paper",
        "The cell with the most agents and the most noise: the error depends on the noise, and hardly on the size.",
        _cell(90, 10.0, 2),
        OBSERVER,
    ),
    Preset(
        "sweep-trees",
        "The appendix: trees",
        "paper",
        "The sweep with one edge per new agent: similar errors, a little larger.",
        _cell(50, 7.5, 1),
        OBSERVER,
    ),
    Preset(
        "more-noise",
        "More noise",
        "paper",
        "σ₀ = 5 on a graph with odd cycles. More noise adds variance and leaves the rate unchanged. Try 0.1, 1 and 10.",
        published(2, LINEAR, 3_000, 5.0, replicates=20),
        LOG_LOG,
    ),
)


DEFAULT: dict[str, Any] = {
    "scenario": {
        "network": scale_free(100, 2),
        "agents": DRAWN,
        "pressure": LINEAR,
        "noise": gaussian(0.5),
        "run": {"steps": 200, "replicates": 20, "seed": 1},
        "observe": BEST,
        "privacy": PRIVACY,
    },
    "view": {},
}
PRESETS: tuple[Preset, ...] = (*PAPER, *BEYOND, *EXTENSIONS)
