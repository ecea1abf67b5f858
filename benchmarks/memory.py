"""What a large run takes of memory."""

from __future__ import annotations

from .processes import fresh
from .sections import Section, Table, Target
from .settings import Settings

AGENTS = 1_000_000

TEXT = """\
The highest resident memory of a fresh process that makes the network and runs it with `record="summaries"`, and how
much of that came after the imports, numba and the compiled kernels among them.
"""

PROGRAM = """
import json, re, resource
import numpy as np
import peerpressure as pp

def peak():
    # getrusage counts what the parent held when it forked, so Linux's own figure for this program goes first.
    try:
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def run(n, steps):
    network = pp.networks.barabasi_albert(n, 2, seed=1)
    made = peak()
    model = pp.Model(network, hidden=np.linspace(0.0, 1.0, n), stubbornness=0.75, noise=pp.Gaussian(0.1))
    pp.simulate(model, steps, record="summaries")
    return made

run(20_000, 10)
imported = peak()
network = run(agents, steps)
print(json.dumps({"imported": imported, "network": network, "peak": peak()}))
"""


def measure(settings: Settings) -> Section:
    found = fresh(f"agents, steps = {AGENTS}, {settings.memory_steps}\n{PROGRAM}")
    mega = {name: value / 1e6 for name, value in found.items()}
    rows: list[list[str | float]] = [
        ["after imports and a small run", mega["imported"]],
        ["after making the network", mega["network"]],
        ["at the end", mega["peak"]],
        ["above the imports", mega["peak"] - mega["imported"]],
    ]
    caption = f"Peak resident memory, 10⁶ agents, {settings.memory_steps:,} steps"
    target = Target("memory, 10⁶×1, summaries", 1.0, found["peak"] / 1e9, " GB", at_least=False)
    return Section("Memory", TEXT, [Table(caption, ("", "MB"), rows)], [target])
