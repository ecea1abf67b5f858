"""Sweeps: independent units of work over a grid of parameters, each computed exactly once.

Make a ``Plan``, run it with ``run_sweep`` in a folder, on this machine or on a Dask cluster, check its ``status``, and
``collect`` the table. A sweep may be killed at any moment and run again.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
