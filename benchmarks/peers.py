"""The terms of all contenders, what they take to compile, and how they fare on shuffled labels and a real network."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from .clock import Costs, costs, ratio, typical
from .contenders import CONTENDERS
from .contenders.peerpressure_simulate import run as ours
from .processes import fresh
from .sections import Cell, Section, Table, count, shown
from .settings import Settings
from .software_network import PACKAGES, software_network
from .speed import OURS, job, their_job
from .workload import Workload, on, workload

SHUFFLED = ", shuffled"
COMPILED = {
    OURS: "peerpressure_simulate",
    **{name: CONTENDERS[name].file for name in ("numba loop", "numba prange", "JAX")},
}

TEXT = f"""\
*Terms*: all compute in double precision, with random numbers of their own. `peerpressure` makes the same bits from a
seed on any number of threads; of the others, those with one thread do.

*Compilation* is the first call with one step of 100 agents less the second one, in a fresh process with an empty cache,
after all imports. numba and JAX compile again in the next process, and JAX for every other shape.

*Shuffled* has the same agents in random order, so hubs and neighbours are anywhere in memory. *Software* is a
real network of functions and the names they use in the sources of {", ".join(PACKAGES)}: see
`benchmarks/software_network.py`; its agents stand in the order of the sources. Interpreted contenders are left out.
Quartiles are those over rounds.
"""

FIRST = """
import json, time
from benchmarks.contenders.{file} import run
from benchmarks.workload import workload
made = workload(100)
def call():
    begin = time.perf_counter()
    run(made.network, made.hidden, made.stubbornness, 0.1, 1, 1, 1)
    return time.perf_counter() - begin
print(json.dumps({{"first": call(), "second": call()}}))
"""


def _terms() -> Table:
    rows: list[list[Cell]] = [[OURS, "the model, in the user's order of agents", "all", "yes"]]
    for name, contender in CONTENDERS.items():
        rows.append([name, contender.does, contender.threads, "yes" if contender.is_installed else "no: skipped"])
    return Table("Terms", ("", "computes", "threads", "installed"), rows)


def _compilation() -> Table:
    rows: list[list[Cell]] = []
    for name, file in COMPILED.items():
        if name == OURS or CONTENDERS[name].is_installed:
            with tempfile.TemporaryDirectory() as folder:
                spent = fresh(FIRST.format(file=file), Path(folder))
            rows.append([name, spent["first"] - spent["second"]])
    return Table("Compilation", ("", "seconds"), rows)


def networks(settings: Settings) -> dict[str, Workload]:
    """Return each network in its natural order and shuffled."""
    packages = PACKAGES if settings.large >= 10**6 else ("networkx",)
    natural = {
        f"scale-free, {count(settings.large)}": workload(settings.large),
        "software": on(software_network(packages)),
    }
    return {
        name + suffix: made.shuffled() if suffix else made
        for name, made in natural.items()
        for suffix in ("", SHUFFLED)
    }


def _measured(settings: Settings, made: Workload, replicates: int) -> Costs:
    agents = made.network.n
    jobs = {OURS: job(partial(ours), made, replicates, settings.steps_for(6.0, agents * replicates, least=20))}
    for name, contender in CONTENDERS.items():
        if contender.takes(agents) and not contender.is_interpreted:
            jobs[name] = their_job(settings, contender, made, replicates)
    return costs(jobs, settings.rounds)


def _tables(settings: Settings, made: Mapping[str, Workload], replicates: int) -> list[Table]:
    cases = [_measured(settings, case, replicates) for case in made.values()]
    names = [OURS, *(name for name in CONTENDERS if any(name in case for case in cases))]
    slower: list[list[Cell]] = [[name, *(_spread(case, name) for case in cases)] for name in names]
    spent: list[list[Cell]] = [
        [name, *(typical(case[name]) if name in case else None for case in cases)] for name in names
    ]
    return [
        Table(f"Times as long as peerpressure takes (quartiles), R = {replicates}", ("", *made), slower),
        Table(f"Nanoseconds per agent-step, R = {replicates}", ("", *made), spent),
    ]


def _spread(case: Costs, name: str) -> str | None:
    if name not in case:
        return None
    low, high = np.quantile(case[name] / np.maximum(case[OURS], 1e-12), [0.25, 0.75])
    return f"{shown(ratio(case[name], case[OURS]))} ({shown(float(low))}–{shown(float(high))})"


def measure(settings: Settings) -> Section:
    made = networks(settings)
    sizes: list[list[Cell]] = [
        [name, made[name].network.n, made[name].network.edge_count, int(made[name].network.degrees.max())]
        for name in made
        if SHUFFLED not in name
    ]
    tables = [_terms(), _compilation(), Table("Networks", ("", "agents", "edges", "largest degree"), sizes)]
    for replicates in settings.replicates:
        tables += _tables(settings, made, replicates)
    return Section("Peers", TEXT, tables)
