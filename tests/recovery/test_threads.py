"""Linear algebra on one thread for few agents, and as before afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier, Thread

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from peerpressure.support.resources import few_threads
from tests.waiting import PATIENCE


def threads() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


@pytest.fixture
def usual() -> Iterator[set[int]]:
    with threadpool_limits(2, user_api="blas"):
        if not threads():
            pytest.skip("the threads of this library of linear algebra cannot be set")
        yield threads()


def test_few_agents_take_one_thread_and_many_take_all(usual: set[int]) -> None:
    with few_threads(5):
        assert threads() == {1}
    with few_threads(5_000):
        assert threads() == usual
    assert threads() == usual


def test_a_block_of_another_thread_leaves_no_trace(usual: set[int]) -> None:
    both, found = Barrier(2, timeout=PATIENCE), list[set[int]]()

    def other() -> None:
        with few_threads(5), few_threads(5):
            both.wait()
            found.append(threads())
            both.wait()

    worker = Thread(target=other, daemon=True)
    with few_threads(5):
        worker.start()
        both.wait()
        both.wait()
        worker.join()
        assert threads() == {1}
    assert found == [{1}]
    assert threads() == usual
