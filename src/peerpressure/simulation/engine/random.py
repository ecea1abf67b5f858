"""Noise as a pure function of (seed, replicate, step, agent): Philox-4x32-10, then the law's own transform.

A counter-based generator has no state to pass around. The word at counter (block, step, replicate, stream) under
the key that the seed gives does not depend on where or in which order it is computed, so threads, batches,
workers and restarts cannot change a result (Salmon, Moraes, Dror & Shaw, SC'11).

One counter block of 128 bits serves two agents. Agents form groups of GROUP = 8, and block 4g + l of group g
serves agents 8g + l and 8g + 4 + l, which writes a group's noise in whole vectors. Draws are made in float64
and rounded to the state's precision, so a float32 run is its float64 twin to rounding.
"""

from __future__ import annotations

import math
from functools import cache
from types import FunctionType
from typing import Any, TypeAlias

import numba
import numpy as np
from numba import carray, cfunc, njit, types
from numpy.typing import NDArray

from peerpressure.simulation.engine.intrinsics import bits_of_float64, call_filler, float64_from_bits, fma, weave
from peerpressure.simulation.engine.plan import (
    GAUSSIAN,
    LAPLACE,
    RADEMACHER,
    RECURRENT,
    STREAM_ACTIVE,
    STUDENT,
    UNIFORM,
    UNIT,
    WIDTH,
    Draw,
)

GROUP = 8  # agents whose noise is drawn together
HALF = 4  # the distance of the two agents that share a counter block
_VECTOR = 16  # agents whose noise is computed together in one replicate
BATCH = 128  # counter blocks that are drawn before they are transformed; their words stay in the nearest cache

U64 = np.uint64
Word: TypeAlias = np.uint64
Four: TypeAlias = tuple[Word, Word, Word, Word]

_LOW = U64(0xFFFFFFFF)
# Multipliers and key increments of the reference implementation (Random123). They must not change: streams would no
# longer match other implementations, and only these have passed the published statistical tests.
_MULTIPLY_0, _MULTIPLY_1 = U64(0xD2511F53), U64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = U64(0x9E3779B9), U64(0xBB67AE85)
_32 = U64(32)


@njit(inline="always", error_model="numpy")
def _round(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word, Word, Word]:
    # The high half of each product is mixed with the other words and the low half passed on, which is the 4x32 round of
    # the paper. The products themselves are passed on whole, and masked where they are read.
    p0 = (c0 & _LOW) * _MULTIPLY_0
    p1 = (c2 & _LOW) * _MULTIPLY_1
    return (p1 >> _32) ^ c1 ^ k0, p1, (p0 >> _32) ^ c3 ^ k1, p0, (k0 + _WEYL_0) & _LOW, (k1 + _WEYL_1) & _LOW


@njit(forceinline=True, error_model="numpy")
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> Four:
    """Return the four 32-bit words, in uint64, of Philox-4x32-10 at counter c under key k.

    Words are kept in 64 bits with undefined bits above bit 31 between rounds: the 32 × 32 → 64 bit product reads only
    the low half, so the loop needs no shuffles.
    """
    # Ten rounds: seven pass all tests of randomness, and ten are the margin that the authors recommend. LLVM unrolls
    # them, which takes it much less time than numba takes to compile ten calls.
    for _ in range(10):
        c0, c1, c2, c3, k0, k1 = _round(c0, c1, c2, c3, k0, k1)
    return c0 & _LOW, c1 & _LOW, c2 & _LOW, c3 & _LOW


# Bit patterns, because vectors of 64-bit integers have no conversion to doubles before AVX-512, while arithmetic on the
# bits of a double is available everywhere.
_ONE = U64(0x3FF0000000000000)  # the bits of 1.0
_TWO_52 = U64(0x4330000000000000)  # the bits of 2⁵²
_SQRT_HALF = U64(0x3FE6A09E667F3BCD)
_MANTISSA = U64(0x000FFFFFFFFFFFFF)
_SIGN = U64(0x8000000000000000)


@njit(inline="always", error_model="numpy")
def _natural_log(u: float) -> float:
    """Return log u of a positive normal double to within 1 ulp or so, by the odd series of atanh in vectors."""
    # Adding the offset in the integers moves the cut between exponents from 1 to √½. The mantissa then lies in [√½, √2)
    # and f near 0 for u near 1: there log u keeps its relative precision, as exponent·log 2 is exactly 0.
    shifted = bits_of_float64(u) + (_ONE - _SQRT_HALF)
    f = float64_from_bits((shifted & _MANTISSA) + _SQRT_HALF) - 1.0
    # An integer in the low bits of 2⁵² is that integer as a double after 2⁵² is subtracted; no conversion is needed.
    exponent = float64_from_bits((shifted >> U64(52)) | _TWO_52) - (4503599627370496.0 + 1023.0)
    s = f / (f + 2.0)
    z = s * s
    # log(1 + f) = 2 atanh(s) with s = f/(2 + f): even and odd powers of f collapse into one series in s², which at |s|
    # ≤ 0.172 needs seven terms only. Minimax coefficients, those of fdlibm's log.
    p = fma(1.479819860511658591e-01, z, 1.531383769920937332e-01)
    p = fma(p, z, 1.818357216161805012e-01)
    p = fma(p, z, 2.222219843214978396e-01)
    p = fma(p, z, 2.857142874366239149e-01)
    p = fma(p, z, 3.999999999940941908e-01)
    p = fma(p, z, 6.666666666666735130e-01)
    # Smallest terms first; s + s is exact, and the large term exponent·log 2 is added with a single rounding.
    return fma(exponent, 0.6931471805599453, fma(s * z, p, s + s))


@njit(inline="always", error_model="numpy")
def _open_unit(bits: Word) -> float:
    """Return a double in (0, 1], from the highest 52 of 64 bits."""
    # 52 random bits below the exponent of 1.0 are uniform on [1, 2). Subtracting from 2 excludes 0 and includes 1, as
    # the logarithm needs; the subtraction is exact.
    return 2.0 - float64_from_bits((bits >> U64(12)) | _ONE)


@njit(inline="always", error_model="numpy")
def _octant(bits: Word) -> tuple[float, float]:
    """Return cos and sin of an angle uniform on the circle: 52 bits choose it in an octant, three more the octant."""
    # 1.11e-16 rounds to 2⁻⁵³, half a cell: angles are the centres of 2⁵² cells, so reflections into the other
    # octants neither repeat nor leave out an angle, and neither sine nor cosine is ever 0.
    angle = (float64_from_bits((bits >> U64(12)) | _ONE) - (1.0 - 1.11e-16)) * 0.78539816339744830962
    q = angle * angle
    # Minimax polynomials of fdlibm for [0, π/4], where no argument reduction is needed.
    p = fma(1.58969099521155010221e-10, q, -2.50507602534068634195e-08)
    p = fma(p, q, 2.75573137070700676789e-06)
    p = fma(p, q, -1.98412698298579493134e-04)
    p = fma(p, q, 8.33333333332248946124e-03)
    p = fma(p, q, -1.66666666666666324348e-01)
    sine = fma(angle * q, p, angle)
    p = fma(-1.13596475577881948265e-11, q, 2.08757232129817482790e-09)
    p = fma(p, q, -2.75573143513906633035e-07)
    p = fma(p, q, 2.48015872894767294178e-05)
    p = fma(p, q, -1.38888888888741095749e-03)
    p = fma(p, q, 4.16666666666666019037e-02)
    # 1 − q/2 is rounded once by the fused operation before the small rest is added.
    cosine = fma(q * q, p, fma(q, -0.5, 1.0))
    # Bits 0 to 2 are not part of the angle, which takes bits 12 and up, so octant and angle are independent.
    swap = (bits & U64(1)) != U64(0)
    first = sine if swap else cosine
    second = cosine if swap else sine
    return (
        float64_from_bits(bits_of_float64(first) ^ ((bits << U64(62)) & _SIGN)),
        float64_from_bits(bits_of_float64(second) ^ ((bits << U64(61)) & _SIGN)),
    )


@njit(inline="always", error_model="numpy")
def _centred_unit(bits: Word) -> float:
    """Return a double uniform on (−½, ½), exactly symmetric about 0."""
    return float64_from_bits((bits >> U64(12)) | _ONE) - (1.5 - 1.1102230246251565e-16)


# Each law below turns the 128 bits of a counter block, as two words of 64, into the noise of its two agents. Student's
# takes two words more, from the next stream, which the others leave unread.


@njit(forceinline=True, error_model="numpy")
def _gaussian(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return standard normals (Box & Muller)."""
    # With 52 bits the radius reaches √(2·52·log 2) ≈ 8.5, which cuts off a share 2e-16 of the law.
    radius = math.sqrt(-2.0 * _natural_log(_open_unit(a)))
    cosine, sine = _octant(b)
    return radius * cosine, radius * sine


@njit(forceinline=True, error_model="numpy")
def _laplace(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return double exponentials: an exponential of mean 1/√2 with a sign from a bit that its uniform does not use."""
    # The logarithm is ≤ 0; the sign bit is flipped rather than set, which is as fair. Bit 0 is among the twelve that
    # the uniform discards.
    first = _natural_log(_open_unit(a)) * 0.70710678118654752440
    second = _natural_log(_open_unit(b)) * 0.70710678118654752440
    return (
        float64_from_bits(bits_of_float64(first) ^ ((a << U64(63)) & _SIGN)),
        float64_from_bits(bits_of_float64(second) ^ ((b << U64(63)) & _SIGN)),
    )


@njit(forceinline=True, error_model="numpy")
def _uniform(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return draws uniform on (−√3, √3)."""
    # √12, the inverse of the standard deviation of a uniform law on an interval of length 1.
    return _centred_unit(a) * 3.4641016151377545871, _centred_unit(b) * 3.4641016151377545871


@njit(forceinline=True, error_model="numpy")
def _student(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return Student's t with ``shape`` degrees of freedom, scaled to unit variance.

    t = √(ν(u^(−2/ν) − 1)) cos 2πv is exact for every ν > 0 (Bailey, Math. Comp. 62, 1994); its sine partner is
    uncorrelated but not independent, so each agent takes a block of its own.
    """
    # expm1 and not u^(−2/ν) − 1: for many degrees of freedom the power is near 1 and the difference would cancel. The
    # factor ν − 2 in place of ν scales to unit variance.
    power = -2.0 / shape
    first = math.sqrt((shape - 2.0) * math.expm1(power * _natural_log(_open_unit(a))))
    second = math.sqrt((shape - 2.0) * math.expm1(power * _natural_log(_open_unit(c))))
    # Only the cosine is used: see above.
    return first * _octant(b)[0], second * _octant(d)[0]


@njit(forceinline=True, error_model="numpy")
def _rademacher(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return −1 or 1 with equal chance."""
    return float64_from_bits(_ONE ^ (a & _SIGN)), float64_from_bits(_ONE ^ (b & _SIGN))


@njit(forceinline=True, error_model="numpy")
def _unit(a: Word, b: Word, c: Word, d: Word, shape: float) -> tuple[float, float]:
    """Return draws uniform on (0, 1), for laws that Python transforms by their own inverse distribution function."""
    return _centred_unit(a) + 0.5, _centred_unit(b) + 0.5


# The loops that fill a buffer with noise. Each is a function of its own in the machine's calling convention, compiled
# when its law is first used, and the kernels call it through its address: they need not be compiled for every law.
#
# They draw the words of many blocks and then transform them. In one loop, the steps of a draw and of its transform
# would form one long chain, each waiting for the one before, and a processor can look ahead over one such chain only;
# of two short ones it computes several at a time.


@njit(forceinline=True, error_model="numpy")
def _draw_words(
    words: NDArray[np.uint64],
    row: int,
    count: int,
    lanes: int,
    block: Word,
    step: Word,
    replicate: Word,
    stream: Word,
    k0: Word,
    k1: Word,
) -> None:
    """Write the words of ``count`` counters, ``lanes`` replicates of each block, to rows ``row`` and ``row`` + 1."""
    for j in range(U64(count)):
        w0, w1, w2, w3 = philox(block + j // U64(lanes), step, replicate + j % U64(lanes), stream, k0, k1)
        words[row, j] = (w0 << _32) | w1
        words[row + 1, j] = (w2 << _32) | w3


@njit(inline="always", error_model="numpy")
def room(count: int, width: int) -> int:
    """Return how many numbers the noise of so many agents takes in a buffer, the end of its last group included."""
    unit = GROUP if width > 1 else _VECTOR
    return -(-count // unit) * unit * width


def _fill_wide(
    out: Any,
    scratch: Any,
    count: int,
    steps: int,
    shape: float,
    block: Word,
    step: Word,
    replicate: Word,
    stream: Word,
    k0: Word,
    k1: Word,
) -> None:
    """Write the noise of ``count`` agents from ``block`` on, in WIDTH replicates: out[agent·WIDTH + lane].

    That of each of ``steps`` steps takes its ``room``.
    """
    length = U64(room(count, WIDTH))
    numbers, words = carray(out, (U64(steps) * length,)), carray(scratch, (4, BATCH))
    blocks, half = U64(count // GROUP * HALF + min(count % GROUP, HALF)), U64(HALF * WIDTH)
    for t in range(U64(steps)):
        for begin in range(U64(0), blocks, U64(BATCH // WIDTH)):
            size = min(U64(BATCH), (blocks - begin) * U64(WIDTH))
            for k in range(_streams):
                _draw_words(words, 2 * k, size, WIDTH, block + begin, step + t, replicate, stream + U64(k), k0, k1)
            for first in range(U64(0), size, half):
                # A partner is HALF agents and not one agent further on, which makes both stores of the vectorised loop
                # contiguous.
                place = t * length + U64(2) * (begin * U64(WIDTH) + first)
                for j in range(min(half, size - first)):
                    at = first + j
                    one, other = _law(words[0, at], words[1, at], words[2, at], words[3, at], shape)
                    numbers[place + j] = one
                    numbers[place + half + j] = other


def _fill_narrow(
    out: Any,
    scratch: Any,
    count: int,
    steps: int,
    shape: float,
    block: Word,
    step: Word,
    replicate: Word,
    stream: Word,
    k0: Word,
    k1: Word,
) -> None:
    """Write the noise of ``count`` agents from counter block ``block`` on, in one replicate: out[agent].

    That of each of ``steps`` steps takes its ``room``.
    """
    # Whole vectors of counters: what is left over would be computed one by one, which takes as long.
    blocks = U64(room(count, 1) // 2)
    numbers, words = carray(out, (U64(2 * steps) * blocks,)), carray(scratch, (4, BATCH))
    for t in range(U64(steps)):
        for begin in range(U64(0), blocks, U64(BATCH)):
            size = min(U64(BATCH), blocks - begin)
            for k in range(_streams):
                _draw_words(words, 2 * k, size, 1, block + begin, step + t, replicate, stream + U64(k), k0, k1)
            for j in range(size):
                one, other = _law(words[0, j], words[1, j], words[2, j], words[3, j], shape)
                words[0, j] = bits_of_float64(one)
                words[1, j] = bits_of_float64(other)
            # Pairs were written in two rows to let the loop above vectorise; now each agent gets its own.
            for first in range(U64(0), size, U64(HALF)):
                weave(words, first, numbers, U64(2) * (t * blocks + begin + first))


_law, _streams = _gaussian, 1  # in each loop that is compiled, the law of its own
_LAWS = {
    GAUSSIAN: _gaussian,
    LAPLACE: _laplace,
    UNIFORM: _uniform,
    STUDENT: _student,
    RADEMACHER: _rademacher,
    UNIT: _unit,
}


@cache
def filler_of(code: int, dtype: np.dtype[Any], *, wide: bool) -> np.uint64:
    """Return the address of the loop that draws from a law, which is compiled if need be; 0 for no noise."""
    if code not in _LAWS:
        return U64(0)
    law, loop = _LAWS[code], _fill_wide if wide else _fill_narrow
    # A copy under a name of its own: compiled code is stored under the function's name. The law is a global and not a
    # cell, since code with cells is not found again by another process.
    name = f"{loop.__name__}{law.py_func.__name__}"
    copy = FunctionType(loop.__code__, globals() | {"_law": law, "_streams": 2 if code == STUDENT else 1}, name)
    copy.__qualname__ = name
    pointers = (types.CPointer(numba.from_dtype(dtype)), types.CPointer(types.uint64))
    signature = types.void(*pointers, types.int64, types.int64, types.float64, *6 * (types.uint64,))
    compiled = cfunc(signature, cache=True, error_model="numpy")(copy)
    # Kept, because the address is valid as long as the function exists.
    _COMPILED.append(compiled)
    return U64(compiled.address)


_COMPILED: list[Any] = []


@njit(error_model="numpy", inline="always")
def fill(
    noise: NDArray[Any],
    words: NDArray[np.uint64],
    count: int,
    steps: int,
    address: Word,
    draw: Draw,
    agent: int,
    step: int,
    replicate: int,
    stream: int,
) -> None:
    """Write the noise of ``count`` agents from ``agent`` on, a multiple of GROUP, by the loop at this address.

    That of each of ``steps`` steps takes its ``room`` in the buffer. ``words``, (4, BATCH), is for what comes between.
    """
    if address:
        block = U64((agent + draw.offset) // 2)
        call_filler(
            address, noise, words, count, steps, draw.shape, block, U64(step), U64(replicate), U64(stream), draw.k0,
            draw.k1,
        )  # fmt: skip
    else:
        for j in range(noise.size):
            noise[j] = 0


@njit(error_model="numpy", inline="always")
def remember(noise: NDArray[Any], memory: NDArray[Any], draw: Draw, first: int, count: int) -> None:
    """Replace fresh noise by correlated noise, from place ``first`` of the memory on, which has the state's layout.

    The memory is u of this step, from which a run can be resumed.
    """
    number = noise.dtype.type
    carry, fresh = number(draw.carry), number(draw.fresh)
    for j in range(U64(count)):
        at = U64(first) + j
        if draw.mode == RECURRENT:
            memory[at] = fma(carry, memory[at], fresh * noise[j])
        noise[j] = memory[at]


# Who updates. The coin of agent i is word i mod 4 of the counter (i // 4, step, replicate, STREAM_ACTIVE), and the one
# agent of all is ⌊n·u⌋ for the u of counter 0.

ABOVE = U64(2**32)  # larger than every threshold of a coin


@njit(error_model="numpy")
def chosen_agent(step: Word, replicate: Word, draw: Draw) -> Word:
    """Return the place of one agent, uniformly chosen: ⌊n·u⌋ for u of 64 bits, without rounding.

    Elsewhere than in these arrays it is no place of theirs: a difference below 0 becomes a very large number.
    """
    w0, w1, _, _ = philox(U64(0), step, replicate, U64(STREAM_ACTIVE), draw.k0, draw.k1)
    agents = U64(draw.agents)
    return ((w0 * agents + ((w1 * agents) >> _32)) >> _32) - U64(draw.offset)


@njit(error_model="numpy")
def toss_wide(coins: NDArray[np.uint64], first: int, step: Word, replicate: Word, draw: Draw) -> None:
    """Write the coins of the GROUP agents from ``first`` on, in WIDTH replicates: coins[agent·WIDTH + lane]."""
    for half in range(2):
        block, part = U64((first + draw.offset) // 4 + half), coins[half * HALF * WIDTH :]
        for lane in range(U64(WIDTH)):
            w0, w1, w2, w3 = philox(block, step, replicate + lane, U64(STREAM_ACTIVE), draw.k0, draw.k1)
            part[lane] = w0
            part[U64(WIDTH) + lane] = w1
            part[U64(2 * WIDTH) + lane] = w2
            part[U64(3 * WIDTH) + lane] = w3


@njit(error_model="numpy")
def toss_narrow(
    coins: NDArray[np.uint64],
    words: NDArray[np.uint64],
    first: int,
    count: int,
    step: Word,
    replicate: Word,
    draw: Draw,
) -> None:
    """Write the coins of ``count`` agents from ``first`` on, a multiple of 4, in one replicate: coins[agent]."""
    blocks = U64((count + 3) // 4)
    # Words are written in four streams to let the loop vectorise; then each agent gets its own.
    for j in range(blocks):
        w0, w1, w2, w3 = philox(
            U64((first + draw.offset) // 4) + j, step, replicate, U64(STREAM_ACTIVE), draw.k0, draw.k1
        )
        words[0, j] = w0
        words[1, j] = w1
        words[2, j] = w2
        words[3, j] = w3
    for j in range(blocks):
        for word in range(U64(4)):
            coins[U64(4) * j + word] = words[word, j]
