"""Threads of linear algebra: small matrices are faster on one.

NumPy and SciPy bring a library of linear algebra each, with threads of its own that wait for work by spinning. A filter
calls both in turn on small matrices, and the threads of one then hold up those of the other: by a factor of four on two
cores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from peerpressure.recovery._limits import FILTER_LIMIT


@contextmanager
def few_threads(agents: int) -> Iterator[None]:
    """Do linear algebra on one thread in this block, if there are so few agents that more would be slower.

    The number is that of the process. If several threads of Python are in such blocks, that of the first one holds.
    """
    if agents > FILTER_LIMIT:
        yield
        return
    with _controller().limit(limits=1, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    # SciPy's library must be loaded to be found.
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
