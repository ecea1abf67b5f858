"""How long files of edges take to read, beside pandas, and with how much memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .processes import fresh
from .sections import Section, Table, Target, count
from .settings import Settings

TEXT = """\
Processor time of a fresh process for a list of random edges between a tenth as many agents, after the imports, and how
far its highest resident memory rises. pandas returns a table of two columns; `read_network` finds separator and
columns, checks every line, and builds the network.
"""
LIMITS = {1_000_000: (1.0, 150.0), 10_000_000: (12.0, 1500.0)}  # seconds and MB for whole numbers

MAKE = """
import json
import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
ends = rng.integers(0, edges // 10, (edges + edges // 50, 2))
ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
rng.shuffle(ends)
frame = pd.DataFrame(ends[:edges], columns=["source", "target"])
frame.to_csv(f"{folder}/numbers.csv", index=False)
frame.to_parquet(f"{folder}/numbers.parquet")
("agent " + frame.astype(str)).to_csv(f"{folder}/names.csv", index=False)
print(json.dumps({}))
"""
PROGRAM = """
import json, re, resource, time
import numpy as np
import pandas as pd
import pyarrow.parquet
from peerpressure import read_network

def peak():
    # getrusage counts what the parent held when it forked, so Linux's own figure for this program goes first.
    try:
        return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

reader = read_network if ours else pd.read_parquet if file.endswith("parquet") else pd.read_csv
before, start = peak(), time.process_time()
found = reader(file)
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "mb": (peak() - before) / 1e6}))
"""


def measure(settings: Settings) -> Section:
    sizes = [size for size in LIMITS if size <= 10 * settings.large]
    rows, targets = [], []
    for edges in sizes or [settings.large]:
        with tempfile.TemporaryDirectory() as folder:
            fresh(f"edges, folder = {edges}, {folder!r}\n{MAKE}")
            for name in ("numbers.csv", "numbers.parquet", "names.csv"):
                ours, theirs = (_read(Path(folder, name), own) for own in (True, False))
                rows.append([name, count(edges), ours["seconds"], theirs["seconds"], ours["mb"], theirs["mb"]])
                targets += _targets(name, edges, ours)
    columns = ("file", "edges", "seconds", "pandas, seconds", "MB", "pandas, MB")
    return Section("Reading files", TEXT, [Table("Processor time and memory", columns, rows)], targets)


def _read(file: Path, ours: bool) -> dict[str, float]:
    return fresh(f"file, ours = {str(file)!r}, {ours}\n{PROGRAM}")


def _targets(name: str, edges: int, found: dict[str, float]) -> list[Target]:
    factor = 3 if name.startswith("names") else 1
    seconds, mb = LIMITS.get(edges, (0.0, 0.0))
    what = f"reading {name}, {count(edges)} edges"
    return [
        Target(what, factor * seconds, found["seconds"], " s", at_least=False),
        Target(what, factor * mb, found["mb"], " MB", at_least=False),
    ] * bool(seconds)
