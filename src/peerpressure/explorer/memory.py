"""Memory that jobs have freed goes back to the system; by itself the C library would keep most of it.

The GNU C library has a heap for each thread, and returns nothing from the middle of a heap by itself. On systems with
another C library both functions do nothing.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

# Numbers of the settings in malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
HEAPS = 2
# Larger arrays get pages of their own, which go back as soon as they are freed. The default grows with use.
LARGE = 256 * 1024


@cache
def _libc() -> Any:
    """Return the C library if it can give memory back, else None."""
    try:
        library = ctypes.CDLL(None)
        return library if library.malloc_trim and library.mallopt else None
    # Windows has no library of this name, and other systems lack the functions.
    except (OSError, TypeError, AttributeError):
        return None


def keep_little() -> None:
    """Set up the memory of this process for a server: few heaps, and pages of their own for large arrays."""
    library = _libc()
    if library is not None:
        for setting, value in ((_ARENA_MAX, HEAPS), (_MMAP_THRESHOLD, LARGE), (_TRIM_THRESHOLD, LARGE)):
            library.mallopt(setting, value)


def give_back() -> None:
    """Return freed memory to the system, which takes less than a millisecond if there is little of it."""
    library = _libc()
    if library is not None:
        library.malloc_trim(0)
