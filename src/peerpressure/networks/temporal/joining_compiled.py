"""The compiled twin of ``joining.sweep``; importing this module imports numba."""

from __future__ import annotations

from numba import njit

from peerpressure.networks.temporal.joining import sweep

sweep_compiled = njit(cache=True, nogil=True)(sweep)
