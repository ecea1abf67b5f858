"""How long a small run takes: again and again, and for the first time in a fresh process."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from peerpressure import simulate

from .processes import fresh
from .sections import Cell, Section, Table, Target
from .settings import Settings
from .workload import workload

AGENTS, STEPS = 100, 100

TEXT = """\
One run of 100 agents, one replicate, 100 steps. *Again* is the median of calls after the first; the others are whole
calls in a fresh process: the import of the package, the first `simulate` with an empty cache of compiled kernels, which
compiles, and the first `simulate` with the cache that this left, which loads numba and the kernels. *Starter* is
`peerpressure run` of the scenario that `peerpressure new` writes, from the import of the package to the last figure.
"""

PROGRAM = f"""
import json, time
begin = time.perf_counter()
import peerpressure as pp
imported = time.perf_counter()
model = pp.Model(pp.networks.barabasi_albert({AGENTS}, 2, seed=1), hidden=[0.5] * {AGENTS}, noise=pp.Gaussian(0.1))
made = time.perf_counter()
pp.simulate(model, {STEPS})
ran = time.perf_counter()
print(json.dumps({{"import": imported - begin, "model": made - imported, "first": ran - made}}))
"""

STARTER = """
import contextlib, io, json, tempfile, time
begin = time.perf_counter()
from peerpressure.cli import invoke
with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
    assert invoke(["new", folder]) == 0
    assert invoke(["run", f"{folder}/scenario.toml"]) == 0
print(json.dumps({"run": time.perf_counter() - begin}))
"""

# Python's own bytecode is there before anything is timed, as it is for a package that was installed.
IMPORTS = "import json, numba, peerpressure.simulation.engine.runner; print(json.dumps({}))"


def _again(record: str, calls: int) -> float:
    """Return the median of warm calls in milliseconds."""
    model = workload(AGENTS).model
    spent = []
    for call in range(calls + 3):
        begin = time.perf_counter()
        simulate(model, STEPS, seed=call, record=record)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent[3:]) * 1e3


def measure(settings: Settings) -> Section:
    again = {record: _again(record, settings.latency_calls) for record in ("all", "summaries", "final")}
    with tempfile.TemporaryDirectory() as folder:
        fresh(IMPORTS, Path(folder))
        empty = fresh(PROGRAM, Path(folder))
        cached = [fresh(PROGRAM, Path(folder)) for _ in range(settings.processes)]
        # Once for the bytecode, then without kernels.
        fresh(STARTER, Path(folder))
        shutil.rmtree(Path(folder) / "kernels")
        cold = fresh(STARTER, Path(folder))["run"]
        warm = statistics.median(fresh(STARTER, Path(folder))["run"] for _ in range(settings.processes))
    typical = {name: statistics.median(run[name] for run in cached) for name in cached[0]}
    rows: list[list[Cell]] = [[f"again, record={record!r}", value] for record, value in again.items()]
    rows += [
        ["import peerpressure", typical["import"] * 1e3],
        ["making network and model", typical["model"] * 1e3],
        ["first call, kernels cached", typical["first"] * 1e3],
        ["first call, nothing cached", empty["first"] * 1e3],
        ["starter, kernels cached", warm * 1e3],
        ["starter, nothing cached", cold * 1e3],
    ]
    targets = [
        Target("a call, 10²×1, 100 steps", 1.0, again["all"], " ms", at_least=False),
        Target("import and first call, nothing cached", 4.0, sum(empty.values()), " s", at_least=False),
        Target("starter, kernels cached", 5.0, warm, " s", at_least=False),
        Target("starter, nothing cached", 6.0, cold, " s", at_least=False),
    ]
    return Section("Latency", TEXT, [Table("Milliseconds", ("", "ms"), rows)], targets)
