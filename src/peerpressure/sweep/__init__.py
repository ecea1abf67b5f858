"""Sweeps: many independent units of work over a grid of parameters, computed once each, whatever happens meanwhile.

Make a ``Plan``, ``run_sweep`` it in a folder, on this machine or on a Dask cluster, look at its ``status``, and
``collect`` the table. A sweep may be killed at any moment and run again.
"""

from .axes import Draws, Range
from .collect import collect, write_table
from .errors import DamagedSweepError, OtherSweepError, SweepBusyError, SweepError, UnfinishedSweepError
from .plan import Fingerprint, Plan, Unit
from .run import run_sweep
from .status import Failure, SweepStatus, status

__all__ = [
    "DamagedSweepError",
    "Draws",
    "Failure",
    "Fingerprint",
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
