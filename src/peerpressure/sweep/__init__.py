"""Sweeps: independent units of work over a grid of parameters, each computed exactly once.

Make a ``Plan``, run it with ``run_sweep`` in a folder, on this machine or on a Dask cluster, check its ``status``, and
``collect`` the table. A sweep may be killed at any moment and run again.
"""

from peerpressure.support.namespaces import attach

# For other packages and for annotations.
_INTERNAL = (
    "DamagedSweepError",
    "Failure",
    "Fingerprint",
    "MissingSweepError",
    "OtherSweepError",
    "SweepBusyError",
    "UnfinishedSweepError",
    "Unit",
    "write_table",
)
__getattr__, __dir__, __all__ = attach(__name__, __file__, _INTERNAL)
