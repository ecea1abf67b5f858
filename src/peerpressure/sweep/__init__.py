"""Sweeps: independent units of work over a grid of parameters, each computed exactly once.

Make a ``Plan``, run it with ``run_sweep`` in a folder, on this machine or on a Dask cluster, check its ``status``, and
``collect`` the table. A sweep may be killed at any moment and run again.
"""

from peerpressure.sweep._ledger import (
    DamagedSweepError,
    MissingSweepError,
    OtherSweepError,
    SweepBusyError,
    SweepError,
    UnfinishedSweepError,
)
from peerpressure.sweep._results import Failure, SweepStatus, collect, status, write_table
from peerpressure.sweep._run import run_sweep
from peerpressure.sweep.plan import Draws, Fingerprint, Plan, Range, Unit

__all__ = [
    "DamagedSweepError",
    "Draws",
    "Failure",
    "Fingerprint",
    "MissingSweepError",
    "OtherSweepError",
    "Plan",
    "Range",
    "SweepBusyError",
    "SweepError",
    "SweepStatus",
    "UnfinishedSweepError",
    "Unit",
    "collect",
    "run_sweep",
    "status",
    "write_table",
]
