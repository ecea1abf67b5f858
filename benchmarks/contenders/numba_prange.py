"""The loop of ``numba_loop`` with ``prange`` over shares of the agents, one for each core."""

from __future__ import annotations

from functools import partial

from benchmarks.machine import cores

from .numba_loop import run as loop

run = partial(loop, threads=cores())
