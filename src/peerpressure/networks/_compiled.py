"""The compiled twin of ``attachment.attach``; importing this module imports numba."""

from __future__ import annotations

from numba import njit

from peerpressure.networks._loops import attach, sweep

# Generator.random consumes the same 64-bit word per draw in NumPy and in numba: the twins agree to the bit.
attach_compiled = njit(cache=True, nogil=True)(attach)


# The compiled twin of ``joining.sweep``; importing this module imports numba.

sweep_compiled = njit(cache=True, nogil=True)(sweep)
