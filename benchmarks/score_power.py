"""Size and power of the score tests: how often they name the agent, sign or tie that a model has wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

import peerpressure as pp
from peerpressure.recovery import Score, ScoreTests, diagnose_fit

from .processes import spread
from .sections import Cell, Section, Table, share
from .settings import Settings

AGENTS, LEVEL = 20, 0.05
RUNS = 300
KINDS = ("stubbornness", "sign", "tie")

TEXT = f"""\
Outputs are made with one fault and read by a model without it, on {AGENTS} agents whose hidden opinions are uniform on
[0, 1] and whose stubbornness is 1; y₀ = x₀ is not observed. The faults, at other agents and ties in each run: a tie
between agents of three neighbours or more that the model lacks, a tie of weight −1 that the model takes for 1, and a
stubbornness of 2. *Stubbornness*, *sign* and *tie* are the shares of runs in which some direction of that kind has a
p-value of {LEVEL:.0%} or less, *clearest* those in which the true one has the largest score of its kind, and *named*
those in which it is among the sentences. *Others* is the share in which a sentence names something else.
"""


class Setting(NamedTuple):
    """A network, a pressure, a standard deviation and a number of steps."""

    network: pp.Network
    pressure: pp.schedules.Schedule
    std: float
    steps: int


class Fault(NamedTuple):
    """The model that made the outputs, the one that reads them, and the direction in which they differ."""

    made: pp.Model
    read: pp.Model
    kind: str = ""
    agents: tuple[int, ...] = ()


def settings_of() -> Mapping[str, Setting]:
    """Return the settings by name."""
    scale_free = pp.networks.barabasi_albert(AGENTS, 2, seed=3)
    small_world = pp.networks.watts_strogatz(AGENTS, 6, 0.1, seed=5)
    return {
        "BA(20, 2), ρ = t, σ = 1, T = 50": Setting(scale_free, pp.Linear(1.0), 1.0, 50),
        "small world, ρ = t/2, σ = 0.3, T = 60": Setting(small_world, pp.Linear(0.5), 0.3, 60),
        "BA(20, 2), ρ = 1/2, σ = 0.3, T = 50": Setting(scale_free, pp.Constant(0.5), 0.3, 50),
    }


def faults(setting: Setting, run: int) -> Mapping[str, Fault]:
    """Return the faults of a run by name."""
    hidden = np.random.default_rng(run).uniform(size=AGENTS)
    right = pp.Model(setting.network, hidden, pressure=setting.pressure, noise=pp.Gaussian(setting.std))
    count = np.asarray((setting.network.adjacency != 0).sum(axis=1)).ravel()
    ties = [(int(i), int(j)) for i, j in zip(*setting.network.edges()[:2], strict=True) if min(count[i], count[j]) > 2]
    pair, agent = ties[run % len(ties)], run % AGENTS
    stubborn = np.where(np.arange(AGENTS) == agent, 2.0, 1.0)
    return {
        "none": Fault(right, right),
        "missing tie": Fault(right, replace(right, network=changed(setting.network, pair, 0.0)), "tie", pair),
        "wrong sign": Fault(replace(right, network=changed(setting.network, pair, -1.0)), right, "sign", pair),
        "stubbornness 2": Fault(replace(right, stubbornness=stubborn), right, "stubbornness", (agent,)),
    }


def changed(network: pp.Network, pair: tuple[int, int], weight: float) -> pp.Network:
    """Return the network with another weight of a tie."""
    A = network.adjacency.toarray()
    A[pair], A[pair[::-1]] = weight, weight
    return pp.Network(A, signed=weight < 0)


def marks(found: ScoreTests, fault: Fault) -> list[bool]:
    """Return what a run counts for in each column."""
    first: dict[str, Score] = {}
    for score in found.scores:
        first.setdefault(score.kind, score)
    named = {(score.kind, score.agents) for score in found.missed}
    true = (fault.kind, fault.agents)
    clearest = fault.kind in first and first[fault.kind].agents == fault.agents
    return [*(first[kind].p_value <= LEVEL for kind in KINDS), clearest, true in named, bool(named - {true})]


def judged(name: str, run: int) -> dict[str, list[bool]]:
    """Return what one run of a setting counts for, by fault."""
    setting = settings_of()[name]
    return {
        what: marks(diagnose_fit(pp.simulate(fault.made, setting.steps, seed=run), fault.read).misses, fault)
        for what, fault in faults(setting, run).items()
    }


def measure(settings: Settings) -> Section:
    """Return size and power of the score tests."""
    runs, names = 5 if settings.quick else settings.records_or(RUNS), list(settings_of())
    found = spread(judged, [(name, run) for name in names for run in range(runs)], settings)
    rows: list[list[Cell]] = []
    for k, name in enumerate(names):
        own = found[k * runs : (k + 1) * runs]
        for what in own[0]:
            shares = [share([one[what][place] for one in own]) for place in range(len(own[0][what]))]
            rows.append([name, what, *(None if what == "none" and k in (3, 4) else x for k, x in enumerate(shares))])
    columns = ("setting", "fault", *KINDS, "clearest", "named", "others")
    return Section("Score tests", TEXT, [Table(f"Shares of {runs} runs, ± a standard error", columns, rows)])
