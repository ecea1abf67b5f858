"""How long a user waits for a whole answer, and in which three functions most of that time is spent."""

from __future__ import annotations

import contextlib
import cProfile
import io
import json
import os
import pstats
import re
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from peerpressure import AR1, Gaussian, Model, Network, diagnose, moments
from peerpressure.networks import followers, rival_camps, watts_strogatz

from .processes import fresh
from .sections import Cell, Section, Table, count
from .settings import Settings
from .workload import SEED, STD, on, workload

Call: TypeAlias = Callable[[], object]
TIMES = range(10, 1_001, 10)
FORECASTS = ("small world", "scale-free", "directed", "signed", "correlated noise", "adaptation", "zealots")

TEXT = """\
Whole calls, each in a process of its own with bytecode and kernels cached, *processors* counting child processes, too.
*Diagnose* starts from a list of edges, and *diagnose 100 steps* from the arrays of a network: Watts–Strogatz with six
neighbours unless its kind is named. *Moments* are exact, at 100 of 1,000 steps: of every agent, by the recursion of
the covariance, and of the mean opinion, by the adjoint. *Paper* is `peerpressure paper`, which `make paper` runs;
*sweep* is `peerpressure sweep` with one worker, of the karate club with ten levels of noise, 200 steps, 10 replicates,
and three measures; *slider* is the server's answer to a move of the explorer's slider of noise, 200 steps and 20
replicates (see *Explorer* for a browser); *starter* is `peerpressure run` of what `peerpressure new` writes (see
*Latency* for an empty cache). These three commands include their imports, and the others do not. *Most time* names the
three functions with the largest share of the time of one call on one core, without what they call (cProfile).
"""

SCENARIO = """
[network]
named = "karate"
[noise]
law = "gaussian"
std = 0.5
[run]
steps = 200
replicates = 10
[observe]
methods = ["ols"]
"""
SWEEP = """
scenario = "scenario.toml"
replications = {replications}
seed = 1
[[axis]]
field = "noise.std"
values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
[measure]
names = ["spread", "max_distance", "recovery_error"]
"""


def _diagnosed(agents: int) -> Call:
    made = workload(agents)
    entries = made.network.adjacency.tocoo()
    upper = entries.row < entries.col
    edges = entries.row[upper], entries.col[upper]

    def call() -> object:
        network = Network.from_edges(edges, n=agents)
        return diagnose(Model(network, made.hidden, made.stubbornness, noise=Gaussian(STD)))

    return call


def _forecast(agents: int, kind: str) -> Call:
    """Return a diagnosis with a forecast of 100 steps, of a model that is made already."""
    rng = np.random.default_rng(SEED)
    small_world = kind not in ("directed", "signed", "scale-free")
    if small_world:
        network = watts_strogatz(agents, 6, 0.1, seed=SEED)
    elif kind == "scale-free":
        network = workload(agents).network
    else:
        network = (followers(agents, 3, seed=SEED)) if kind == "directed" else rival_camps(agents, 6, 0.1, seed=SEED)
    made = on(network)
    stubbornness = np.where(rng.random(agents) < 1e-5, np.inf, 0.75) if kind == "zealots" else made.stubbornness
    noise = Gaussian(STD, temporal=AR1(0.5)) if kind == "correlated noise" else Gaussian(STD)
    adaptation = 0.01 if kind == "adaptation" else None

    def call() -> object:
        # A network of its own, since one remembers what it has computed.
        fresh_network = Network.from_arrays(network.arrays())
        return diagnose(Model(fresh_network, made.hidden, stubbornness, noise=noise, adaptation=adaptation), 100)

    return call


def _all_moments(agents: int) -> Call:
    return lambda: moments(workload(agents).model, TIMES[-1], times=TIMES)


def _mean_moments(agents: int) -> Call:
    weights = np.full((1, agents), 1 / agents)
    return lambda: moments(workload(agents).model, TIMES[-1], of=weights, times=TIMES)


def _slider(agents: int) -> Call:
    """Return moves of the slider; the first request loads network and kernels, as the page did before."""
    from peerpressure.explorer.answers import run_answer
    from peerpressure.explorer.models import ModelCache
    from peerpressure.explorer.protocol import Limits

    from .explorer import scenario

    cache, moves = ModelCache(Limits()), iter(range(10**6))

    def call() -> object:
        body = {"scenario": scenario(agents, noise={"std": 0.2 + 0.001 * next(moves)}), "agents": [0]}
        return run_answer(cache.build(body, ("observe", "privacy")), cache.limits)

    return call


def _command(*given: str) -> object:
    from peerpressure.cli import invoke

    with contextlib.redirect_stdout(io.StringIO()):
        assert invoke(list(given)) == 0, given
    return None


def _paper(steps: int) -> Call:
    folder = tempfile.TemporaryDirectory()  # removed with the call
    return lambda: _command("paper", "--fresh", "--out", f"{folder.name}/paper", "--steps", str(steps))


def _sweep(units: int) -> Call:
    folder = tempfile.TemporaryDirectory()
    Path(folder.name, "scenario.toml").write_text(SCENARIO)
    Path(folder.name, "sweep.toml").write_text(SWEEP.format(replications=units // 10))
    return lambda: _command("sweep", "run", f"{folder.name}/sweep.toml", "--fresh", "--workers", "1")


def _starter(_: int) -> Call:
    folder = tempfile.TemporaryDirectory()

    def call() -> object:
        _command("new", f"{folder.name}/study")
        return _command("run", f"{folder.name}/study/scenario.toml")

    return call


def _units(units: int) -> Call:
    """Return what the worker of a sweep does, in this process."""
    from peerpressure.scenario import load_scenario, measure_scenario

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "scenario.toml")
        file.write_text(SCENARIO)
        tables = load_scenario(file).model_dump(exclude_unset=True)
    names = ["spread", "max_distance", "recovery_error"]
    parameters = {"scenario": tables, "measures": names, "threshold": 0.01}
    return lambda: [measure_scenario({**parameters, "noise.std": 0.5}, seed) for seed in range(units // 10)]


class Task(NamedTuple):
    """A call of a given size; ``is_command`` if users start a process for it; ``profiled`` if others do its work."""

    prepare: Callable[[int], Call]
    size: int
    is_command: bool = False
    profiled: Callable[[int], Call] | None = None


def tasks(settings: Settings) -> dict[str, Task]:
    """Return what is timed, by name."""
    quick = settings.large < 10**6
    small, large = (10_000, 100_000) if quick else (100_000, 1_000_000)
    agents, many, units, steps = (100, 1_000, 50, 1_000) if quick else (300, 10_000, 1_000, 100_000)
    return {
        f"diagnose, {count(small)} agents": Task(_diagnosed, small),
        f"diagnose, {count(large)} agents": Task(_diagnosed, large),
        **{
            f"diagnose 100 steps, {count(large)} agents, {kind}": Task(partial(_forecast, kind=kind), large)
            for kind in FORECASTS
        },
        f"moments of {agents} agents": Task(_all_moments, agents),
        f"moments of the mean of {count(many)} agents": Task(_mean_moments, many),
        f"sweep of {units:,} units": Task(_sweep, units, is_command=True, profiled=_units),
        "slider, 1,000 agents": Task(_slider, 1_000),
        "slider, 10,000 agents": Task(_slider, 10_000),
        "starter": Task(_starter, 0, is_command=True),
        f"paper, {steps:,} steps": Task(_paper, steps, is_command=True),
    }


# In the process of one task.


def report(name: str, settings: Settings, *, profiled: bool) -> None:
    """Print the seconds of a task and of its processors, or the shares of three functions, as JSON."""
    task = tasks(settings)[name]
    if profiled and hasattr(os, "sched_setaffinity"):
        # One core, so nothing is left to threads and copies of the process, which a profile does not see.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    within = task.profiled if profiled else None
    call = (within or task.prepare)(task.size)
    if within or not task.is_command:
        call()
    found = {"top": top_three(call)} if profiled else _timed(call)
    print(json.dumps(found))


def _timed(call: Call) -> dict[str, float]:
    used, begin = _processor_seconds(), time.perf_counter()
    call()
    return {"seconds": time.perf_counter() - begin, "processors": _processor_seconds() - used}


def _processor_seconds() -> float:
    """Return what this process and its ended children have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def top_three(call: Call) -> list[str]:
    """Return the functions with most time of their own, as ``file:line function, share``."""
    profile = cProfile.Profile()
    profile.runcall(call)
    found: Mapping[tuple[str, int, str], Any] = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    total = sum(own for _, _, own, *_ in found.values())
    first = sorted(found.items(), key=lambda item: -item[1][2])[:3]
    return [f"{_shortened(*place)} {own / total:.0%}" for place, (_, _, own, *_) in first]


def _shortened(file: str, line: int, function: str) -> str:
    """Return the function without what is the same for all: the folders above its package, the words of built-ins."""
    if file == "~":
        return re.sub(r"^<?\{?(built-in )?method '?(.*?)'?( of .*)?\}?>?$", r"\2", function)
    return f"{'/'.join(Path(file).parts[-2:])}:{line} {function}"


# In the process of the benchmarks.


def program(name: str, settings: Settings, *, profiled: bool) -> str:
    """Return the program that reports on one task."""
    scale = "QUICK" if settings.quick else "FULL"
    imports = f"from benchmarks.settings import {scale}; from benchmarks.whole_user import report"
    return f"{imports}; report({name!r}, {scale}, profiled={profiled})"


def measure(settings: Settings) -> Section:
    rows: list[list[Cell]] = []
    for name, task in tasks(settings).items():
        # The profile comes first, and leaves bytecode and kernels in the package's own caches, as the last use did.
        top = fresh(program(name, settings, profiled=True))["top"]
        runs = 1 if task.prepare is _paper else settings.processes
        timed = [fresh(program(name, settings, profiled=False)) for _ in range(runs)]
        seconds, processors = (statistics.median(run[part] for run in timed) for part in ("seconds", "processors"))
        rows.append([name, seconds, processors, *top])
    columns = ("", "seconds", "of processors", "most time", "second", "third")
    return Section("Whole answers", TEXT, [Table("Seconds of a user", columns, rows)])
