"""The vector intrinsic against its plain twin, and extremes without a NaN rule."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from numba import njit
from numpy.typing import NDArray

from peerpressure.simulation.engine.intrinsics import fma, larger, smaller, sum_slice, update_row
from peerpressure.simulation.engine.layout import aligned
from peerpressure.simulation.engine.plan import SLICE, WIDTH
from tests import waiting

U = np.uint64

LATE_REGISTRATION = """
import numba, numpy as np
from numba.core.typing.typeof import typeof_impl
import peerpressure.simulation.engine.intrinsics
known = set(typeof_impl.registry)
numba.njit(lambda x: x.sum())(np.ones(3))
print(sorted(str(one) for one in set(typeof_impl.registry) - known))
"""


def test_nothing_is_registered_when_a_kernel_is_first_called() -> None:
    """Two threads may make the first calls at once, and one then reads the registry while the other extends it."""
    done = waiting.run([sys.executable, "-c", LATE_REGISTRATION])
    assert done.stdout.strip() == "[]"


@njit(inline="always", error_model="numpy")
def update_row_plain(
    public: NDArray[Any],
    columns: NDArray[np.uint32],
    weights: NDArray[Any],
    stride: np.uint64,
    begin: np.uint64,
    end: np.uint64,
    coupling_scale: float,
    jitter: float,
    drift: float,
    noise: NDArray[Any],
    noise_at: np.uint64,
    output: NDArray[Any],
    output_at: np.uint64,
    past_caches: bool,
) -> None:
    """Do what ``update_row`` does, one replicate after the other."""
    for lane in range(WIDTH):
        total = public.dtype.type(0)
        for k in range(begin, end):
            total = fma(weights[k * stride], public[columns[k] * WIDTH + lane], total)
        output[output_at + lane] = fma(coupling_scale, total, fma(jitter, noise[noise_at + lane], drift))


@njit(inline="always", error_model="numpy")
def sum_slice_plain(
    public: NDArray[Any],
    columns: NDArray[np.uint32],
    weights: NDArray[Any],
    stride: np.uint64,
    begin: np.uint64,
    end: np.uint64,
    pressure: NDArray[Any],
    order: NDArray[np.uint16],
    order_at: np.uint64,
) -> None:
    """Do what ``sum_slice`` does, row by row."""
    for row in range(SLICE):
        total = public.dtype.type(0)
        for k in range(begin + np.uint64(row), end, np.uint64(SLICE)):
            total = fma(weights[k * stride], public[columns[k]], total)
        pressure[order[order_at + np.uint64(row)]] = total


@njit
def _both(
    public: Any,
    columns: Any,
    weights: Any,
    stride: Any,
    end: Any,
    coupling_scale: Any,
    jitter: Any,
    drift: Any,
    noise: Any,
    a: Any,
    b: Any,
    past_caches: bool,
) -> None:
    zero, one = U(0), U(WIDTH)
    update_row(
        public, columns, weights, stride, zero, end, coupling_scale, jitter, drift, noise, zero, a, one, past_caches
    )
    update_row_plain(
        public, columns, weights, stride, zero, end, coupling_scale, jitter, drift, noise, zero, b, one, past_caches
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("neighbours", [0, 1, 2, 5, 40])
@pytest.mark.parametrize("stride", [0, 1])
@pytest.mark.parametrize("past_caches", [False, True])
def test_a_row_update_equals_its_plain_twin(dtype: Any, neighbours: int, stride: int, past_caches: bool) -> None:
    rng = np.random.default_rng(neighbours)
    public = rng.normal(size=50 * WIDTH).astype(dtype)
    columns = rng.integers(0, 50, neighbours + 1, dtype=np.uint32)
    weights = rng.random(neighbours + 1).astype(dtype)
    noise = rng.normal(size=WIDTH).astype(dtype)
    a, b = aligned((3 * WIDTH,), dtype), aligned((3 * WIDTH,), dtype)
    a[:] = b[:] = 0
    _both(
        public,
        columns,
        weights,
        U(stride),
        U(neighbours),
        dtype(0.3),
        dtype(0.7),
        dtype(-1.5),
        noise,
        a,
        b,
        past_caches,
    )
    np.testing.assert_array_equal(a, b)
    assert not a[:WIDTH].any()
    assert not a[2 * WIDTH :].any()


@njit
def _fused(a: float, b: float, c: float) -> float:
    return fma(a, b, c)  # type: ignore[no-any-return]


@njit
def _extremes(a: float, b: float) -> tuple[float, float]:
    return smaller(a, b), larger(a, b)


def test_multiply_add_rounds_once() -> None:
    a = 1 + 2.0**-52
    assert _fused(a, a, -(1 + 2.0**-51)) == 2.0**-104


def test_extremes() -> None:
    assert _extremes(2.0, -3.0) == (-3.0, 2.0)
    assert _extremes(np.inf, 1.0) == (1.0, np.inf)


@njit
def _both_sums(public: Any, columns: Any, weights: Any, stride: Any, end: Any, order: Any, a: Any, b: Any) -> None:
    sum_slice(public, columns, weights, stride, U(SLICE), end, a, order, U(2))
    sum_slice_plain(public, columns, weights, stride, U(SLICE), end, b, order, U(2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("neighbours", [0, 1, 7])
@pytest.mark.parametrize("stride", [0, 1])
def test_the_sums_of_a_slice_equal_their_plain_twin(dtype: Any, neighbours: int, stride: int) -> None:
    rng = np.random.default_rng(neighbours)
    public, end = rng.normal(size=50).astype(dtype), (neighbours + 1) * SLICE
    columns = rng.integers(0, 50, end, dtype=np.uint32)
    order = rng.permutation(SLICE + 2).astype(np.uint16)
    a, b = np.ones((2, SLICE + 2), dtype)
    _both_sums(public, columns, rng.random(end).astype(dtype), U(stride), U(end), order, a, b)
    assert (a == b).all()
    # What is not in the slice stays.
    assert (a[order[:2]] == 1).all()
