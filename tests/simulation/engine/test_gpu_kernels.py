"""What of the accelerator's code can be tested without one: the order of storage, and the noise, compiled for the host.

The CUDA source is compiled by the host's C++ compiler with stand-ins for CUDA's own functions, one thread at a time.
"""

from __future__ import annotations

import ctypes
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from peerpressure.simulation.engine import gpu
from peerpressure.simulation.engine.gpu import batches_of, kernel_source
from peerpressure.simulation.engine.gpu_network import counter_pairs, storage_order
from peerpressure.simulation.engine.narrow import draw_narrow
from peerpressure.simulation.engine.plan import STREAM_FRESH, Draw, draw_of
from peerpressure.simulation.recording import Record, RunSize
from tests import waiting
from tests.builders import NOISES, random_model

COMPILER = shutil.which("g++") or shutil.which("clang++")

STAND_INS = r"""
#include <cmath>
#include <cstring>
#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
using std::fma; using std::sqrt; using std::expm1; using std::fmin; using std::fmax;
struct uint4 { unsigned x, y, z, w; };
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
static struct { unsigned x, y; } threadIdx = {0, 0}, blockIdx = {0, 0}, blockDim = {1, 1}, gridDim = {1, 1};
template <typename To, typename From> static To bits(From value) { To to; memcpy(&to, &value, sizeof to); return to; }
static int __float_as_int(float x) { return bits<int>(x); }
static float __int_as_float(int x) { return bits<float>(x); }
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
static double __hiloint2double(int high, int low) {
    return bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
static int __double2hiint(double x) { return (int)(bits<unsigned long long>(x) >> 32); }
static int __double2loint(double x) { return (int)bits<unsigned long long>(x); }
// The hardware's estimates have the leading half of a double only.
static double estimate(double x) { return __hiloint2double(__double2hiint(x), 0); }
static void __syncthreads() {}
static void __threadfence() {}
static unsigned atomicAdd(unsigned* place, unsigned value) { return *place += value; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
template <typename T> static T __shfl_xor_sync(unsigned, T value, int) { return value; }
static unsigned __ballot_sync(unsigned, bool value) { return value; }
"""

DRIVER = r"""
extern "C" void draw_all(word pairs, word packs, const word* counters, void* memory, double shape, word time,
                         word replicate, word stream, word k0, word k1) {
    for (blockIdx.x = 0; blockIdx.x < pairs; ++blockIdx.x)
        for (blockIdx.y = 0; blockIdx.y < packs; ++blockIdx.y)
            draw(pairs, packs, counters, (Pack*)memory, (real)shape, time, replicate, stream, k0, k1);
}
"""


def _library(folder: Path, **definitions: object) -> Any:
    """Compile the kernels for the host."""
    assert COMPILER is not None
    source = re.sub(r'asm\("rcp.*', "inverse = estimate(1 / b);", kernel_source())
    source = re.sub(r'asm\("rsqrt.*', "inverse = estimate(1 / sqrt(x));", source)
    (folder / "kernels.cpp").write_text(STAND_INS + source + DRIVER, encoding="utf-8")
    sizes = {"threads": gpu._THREADS, "blocks": 1, "hub_packs": gpu._HUB_PACKS, "hub_slices": gpu._HUB_SLICES}
    plain = dict.fromkeys(("stride", "shared_gathers", "keep_isolated", "moving", "partial"), 0) | {
        "edge": "word",
        "active": -1,
    }
    options = [f"-D{name.upper()}={value}" for name, value in (sizes | plain | definitions).items()]
    command = [COMPILER, "-std=c++17", "-ffp-contract=off", "-w", "-shared", "-fPIC", *options]
    done = waiting.run([*command, "kernels.cpp", "-o", "kernels.so"], cwd=folder)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "kernels.so"))


def _drawn(library: Any, draw: Draw, dtype: Any, pairs: int, replicates: int) -> NDArray[Any]:
    """Return noise of the first agents at step 7, (replicates, agents)."""
    out, counters = np.empty((2 * pairs, replicates), dtype), np.arange(pairs, dtype=np.uint32)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (counters, out)]
    packs, shape = replicates * out.itemsize // 16, ctypes.c_double(draw.shape)
    library.draw_all(pairs, packs, *pointers, shape, 7, 3, STREAM_FRESH, int(draw.k0), int(draw.k1))
    agents = counter_pairs(2 * pairs).ravel()
    return out[np.argsort(agents)].T


# Accuracy in units of the larger of a draw and 1: what rounding leaves in a state of that size.
@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler on this machine")
@pytest.mark.parametrize(
    ("name", "dtype", "error"),
    [
        ("gaussian", np.float64, 4e-16),
        ("student", np.float64, 4e-16),
        ("gaussian", np.float32, 3e-7),
        ("laplace", np.float32, 3e-7),
        ("uniform", np.float32, 3e-7),
        ("student", np.float32, 1e-6),
    ],
)
def test_noise_is_the_processors_to_rounding(tmp_path: Path, name: str, dtype: Any, error: float) -> None:
    draw = draw_of(NOISES[name], seed=2**40 + 5)
    double = dtype is np.float64
    library = _library(tmp_path, double=int(double), lanes=2 if double else 4, law=draw.law, mode=0)
    found = _drawn(library, draw, dtype, pairs=4096, replicates=16)
    expected = np.empty_like(found, np.float64, order="C")
    draw_narrow(draw, 7, 3, STREAM_FRESH, expected)
    assert np.abs((found - expected) / np.maximum(np.abs(expected), 1)).max() < error


@given(st.lists(st.integers(0, 300), min_size=1, max_size=60))
def test_storage_keeps_counter_blocks_together_and_sorts_them(lengths: list[int]) -> None:
    n, order = len(lengths), storage_order(np.array(lengths))
    pairs = counter_pairs(n)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(pairs)))
    # Each agent has one slot.
    agents = pairs[order].ravel()
    np.testing.assert_array_equal(np.sort(agents[agents < n]), np.arange(n))
    # Agents of a counter block are those that the generator draws together; the longest rows come first.
    np.testing.assert_array_equal(pairs[:, 0] // 8 * 4 + pairs[:, 0] % 4, np.arange(len(pairs)))
    longest = [max(lengths[i] for i in pair if i < n) for pair in pairs[order]]
    assert longest == sorted(longest, reverse=True)


def test_every_block_of_threads_is_large_enough_for_a_hub() -> None:
    sizes = [across * (gpu._THREADS // across) for across in range(1, gpu._TOGETHER + 1)]
    assert min(sizes) >= gpu._HUB_PACKS * gpu._HUB_SLICES


def test_replicates_beyond_the_devices_memory_need_that_of_their_final_states_here() -> None:
    model, replicates, keep = random_model(), np.arange(1000), Record(states=False, summaries=False)
    here = RunSize(model, 1, replicates, keep, dtype=np.dtype(np.float32))
    there = replace(here, device="gpu")
    needed = [run.total() - run.recorded() for run in (there, here)]
    assert needed[0] == 1000 * model.n * 4 < needed[1]


@given(st.sets(st.integers(0, 40), min_size=1), st.integers(1, 9))
def test_batches_are_consecutive_and_complete(numbers: set[int], most: int) -> None:
    replicates = np.array(sorted(numbers))
    batches = list(batches_of(replicates, most))
    assert [i for rows in batches for i in range(rows.start, rows.stop)] == list(range(replicates.size))
    for rows in batches:
        assert 1 <= rows.stop - rows.start <= most
        assert np.all(np.diff(replicates[rows]) == 1)
