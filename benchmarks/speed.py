"""What one step of one agent costs, here and elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from .clock import Costs, Job, agrees, costs, ratio, typical
from .contenders import CONTENDERS, Contender, Run
from .contenders.peerpressure_simulate import run as ours
from .sections import Cell, Section, Table, Target, count
from .settings import Settings
from .workload import SEED, STD, Workload, workload

OURS = "peerpressure"
VARIANTS: Mapping[str, dict[str, Any]] = {
    OURS: {},
    "– summaries": {"record": "summaries"},
    "– float32": {"dtype": "float32"},
    "– one thread": {"threads": 1},
}
_OUR_NANOSECONDS, _OUR_LEAST_STEPS = 6.0, 20
_LEAST_STEPS, _LEAST_STEPS_OF_ONE = 5, 30

TEXT = """\
Nanoseconds per agent-step, wall time. `peerpressure` records the final state only and uses all cores; *summaries*
records minimum, maximum and mean at every step. *scipy.sparse* is a loop in NumPy and SciPy, which use one core;
*in place* is the same loop tuned by hand, with preallocated buffers. NetworkX is a loop over nodes with dictionaries
and `random.gauss`; Mesa has one object per agent with direct references to its neighbours. *numba loop* is what a good
programmer writes in thirty lines, compiled for one thread; *prange* shares the agents among all threads. *JAX* is a
jit-compiled loop over steps on processors, with `segment_sum` and JAX's own normals. NDlib has no noise and no growing
pressure: its `FJModel` (Friedkin–Johnsen) runs with θ = s/(s + d), which is this model with ρ = 1 and without noise.
Seldon's DeGroot model (C++) has no own opinions either. So both do less work than the others. The interpreted
contenders run up to 10⁴ agents; these and Seldon run replicates one after the other, so their cost does not depend on
the number of replicates. A dash is what was not run, or what differed between rounds by more than a quarter.
Compilation is not included; `python -m benchmarks --only peers` measures it.
"""


def job(run: Run | partial[Any], made: Workload, replicates: int, steps: int) -> Job:
    """Return the job that runs a model in one contender."""

    def call(steps: int) -> object:
        return run(made.network, made.hidden, made.stubbornness, STD, steps, replicates, SEED)

    return Job(call, steps, made.network.n * replicates)


def our_job(settings: Settings, agents: int, replicates: int, **options: Any) -> Job:
    steps = settings.steps_for(_OUR_NANOSECONDS, agents * replicates, least=_OUR_LEAST_STEPS)
    return job(partial(ours, **options), workload(agents), replicates, steps)


def their_job(settings: Settings, contender: Contender, made: Workload, replicates: int) -> Job:
    run_at_once = 1 if contender.one_by_one else replicates
    work = made.network.n * run_at_once
    least = _LEAST_STEPS_OF_ONE if contender.one_by_one else _LEAST_STEPS
    steps = settings.steps_for(contender.nanoseconds, work, least=least)
    return job(contender.run, made, run_at_once, steps)


def _case(settings: Settings, agents: int, replicates: int) -> Costs:
    jobs = {name: our_job(settings, agents, replicates, **options) for name, options in VARIANTS.items()}
    for name, contender in CONTENDERS.items():
        if contender.takes(agents):
            jobs[name] = their_job(settings, contender, workload(agents), replicates)
    return costs(jobs, settings.rounds)


def measure(settings: Settings) -> Section:
    cases = {(n, R): _case(settings, n, R) for n in settings.sizes for R in settings.replicates}
    names = [*VARIANTS, *CONTENDERS]
    columns = [f"{count(n)}×{R}" for n, R in cases]
    spent: list[list[Cell]] = [[name, *(_typical(c, name) for c in cases.values())] for name in names]
    slower: list[list[Cell]] = [[name, *(_ratio(c, name) for c in cases.values())] for name in names]
    return Section(
        "Speed",
        TEXT,
        [
            Table("Times as long as peerpressure takes", ("", *columns), slower),
            Table("Nanoseconds per agent-step", ("", *columns), spent),
        ],
        _targets(cases),
    )


def _typical(case: Costs, name: str) -> float | None:
    return typical(case[name]) if name in case and agrees(case[name]) else None


def _ratio(case: Costs, name: str) -> float | None:
    return ratio(case[name], case[OURS]) if name in case and agrees(case[name] / case[OURS]) else None


def _targets(cases: Mapping[tuple[int, int], Costs]) -> list[Target]:
    plain, networkx, ndlib = "scipy.sparse", "NetworkX loop", "NDlib FJModel"
    wanted = [
        (1_000_000, 32, plain, 15.0),
        (10_000, 32, plain, 8.0),
        (1_000_000, 1, plain, 3.0),
        (10_000, 1, networkx, 300.0),
        (10_000, 1, ndlib, 1000.0),
        (10_000, 32, ndlib, 1000.0),
    ]
    return [
        *(
            Target(f"faster than {name}, {count(n)}×{R}", figure, _ratio(cases.get((n, R), {}), name), "×")
            for n, R, name, figure in wanted
        ),
        Target("an agent-step, 10²×1", 5.0, _typical(cases.get((100, 1), {}), OURS), " ns", at_least=False),
    ]
