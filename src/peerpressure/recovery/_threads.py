"""Threads of linear algebra: small matrices are faster on one.

NumPy and SciPy bring a library of linear algebra each, with threads of its own that wait for work by spinning. A filter
calls both in turn on small matrices, and the threads of one then hold up those of the other: by a factor of five on two
cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from peerpressure.recovery._limits import FILTER_LIMIT

_lock = Lock()
_limiters: list[Any] = []


@contextmanager
def few_threads(agents: int) -> Iterator[None]:
    """Do linear algebra on one thread in this block, if there are so few agents that more would be slower."""
    if agents > FILTER_LIMIT:
        yield
        return
    with _lock:
        # The number of threads is that of the process: the first block sets it, and the last one restores it.
        _limiters.append(_controller().limit(limits=1, user_api="blas") if not _limiters else None)
    try:
        yield
    finally:
        with _lock:
            if len(_limiters) == 1:
                _limiters[0].restore_original_limits()
            # The limiter is the first entry, and stays until all blocks have ended.
            _limiters.pop()


@cache
def _controller() -> Any:
    # SciPy's library must be loaded to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
