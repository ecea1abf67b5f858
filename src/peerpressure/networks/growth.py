"""The compiled twin of ``attachment.attach``; importing this module imports numba."""

from __future__ import annotations

from numba import njit

from peerpressure.networks.attachment import attach

# Generator.random consumes the same 64-bit word per draw in NumPy and in numba: the twins agree to the bit.
attach_compiled = njit(cache=True, nogil=True)(attach)
