"""Machine instructions without a Python equivalent, as numba intrinsics.

Fused multiply-add is explicit, and fast-math is not used for sums and products. Every result is one fixed
sequence of IEEE operations: the same bits for every vector width, block size and number of threads.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from typing import Any

# numba registers these types only when it compiles for the first time, while other threads may be reading the registry
# for a call of their own; an import is finished before any thread can call a kernel.
import numba.experimental.function_type  # noqa: F401
import numba.experimental.jitclass.boxing  # noqa: F401
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from peerpressure.simulation.engine.plan import SLICE, WIDTH

_I8, _I32, _I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)


def _reinterpret(target: Any, source: Any, llvm_type: ir.Type) -> Any:
    """Make the intrinsic that reads the bits of one number as another type."""

    @intrinsic
    def cast(typing_context: Any, value: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(arguments[0], llvm_type)

        return target(source), generate

    return cast


float64_from_bits = _reinterpret(types.float64, types.uint64, ir.DoubleType())
bits_of_float64 = _reinterpret(types.uint64, types.float64, _I64)
float32_from_bits = _reinterpret(types.float32, types.uint32, ir.FloatType())
bits_of_float32 = _reinterpret(types.uint32, types.float32, _I32)


def _common_float(*operands: Any) -> Any:
    # Any operand in float64 promotes the result, as in NumPy: constants must be cast by the caller to stay in float32.
    return types.float32 if all(operand == types.float32 for operand in operands) else types.float64


@intrinsic
def fma(typing_context: Any, a: Any, b: Any, c: Any) -> tuple[Any, Callable[..., Any]]:
    """Return a·b + c with one rounding."""
    number = _common_float(a, b, c)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.fma(*arguments)

    return number(number, number, number), generate


def _extremum(name: str) -> Any:
    """Make minimum or maximum without a NaN rule: exact in any order, which lets reductions vectorise."""

    @intrinsic
    def choose(typing_context: Any, a: Any, b: Any) -> tuple[Any, Callable[..., Any]]:
        number = _common_float(a, b)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = arguments[0].type
            suffix = "f64" if isinstance(kind, ir.DoubleType) else "f32"
            function = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(kind, [kind, kind]), f"llvm.{name}.{suffix}"
            )
            # Minimum and maximum do not round, so these flags cannot change a result; without them LLVM keeps the
            # order of a reduction and does not vectorise it. States that left the range of doubles are found after the
            # run.
            return builder.call(function, arguments, fastmath=("nnan", "nsz"))

        return number(number, number), generate

    return choose


smaller = _extremum("minnum")
larger = _extremum("maxnum")


def _prefetcher(locality: int) -> Any:
    """Make the instruction that asks the cache for ``array[index]``, which will be read soon; it never faults."""

    @intrinsic
    def ask(typing_context: Any, array: Any, index: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            # An address beyond the array is legal here, because a prefetch never faults; callers need no bounds check.
            address = builder.bitcast(builder.gep(data, [arguments[1]]), _I8.as_pointer())
            kind = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
            function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(function, [address, _I32(0), _I32(locality), _I32(1)])  # for reading; data, not code
            return context.get_dummy_value()

        return types.void(array, types.uint64), generate

    return ask


prefetch = _prefetcher(3)  # into every cache
prefetch_once = _prefetcher(0)  # past the larger caches, for what is read once in a step and would crowd out the state


# Threads that meet in a kernel.


@intrinsic
def arrive(typing_context: Any, counter: Any) -> tuple[Any, Callable[..., Any]]:
    """Add 1 to the first entry of an array of int64, which other threads add to as well."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        # All that this thread has written before becomes visible to those who see the new number, also what it wrote
        # past the caches.
        builder.atomic_rmw("add", data, _I64(1), "seq_cst")
        return context.get_dummy_value()

    return types.void(counter), generate


@intrinsic
def arrivals(typing_context: Any, counter: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the first entry of an array of int64 that other threads add to."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(data, "acquire", 8)

    return types.int64(counter), generate


def _caller(name: str, *arguments: int, when: bool) -> Any:
    """Make the call of a function of LLVM or the system; nothing where there is none."""

    @intrinsic
    def call(typing_context: Any) -> tuple[Any, Callable[..., Any]]:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            if when:
                result = ir.VoidType() if name.startswith("llvm.") else _I32
                kind = ir.FunctionType(result, [_I32] * len(arguments))
                function = cgutils.get_or_insert_function(builder.module, kind, name)
                builder.call(function, [_I32(argument) for argument in arguments])
            return context.get_dummy_value()

        return types.void(), generate

    return call


IS_POSIX = os.name == "posix"
pause = _caller("llvm.x86.sse2.pause", when=platform.machine() in ("x86_64", "AMD64"))
yield_core = _caller("sched_yield", when=IS_POSIX)  # to another thread that is ready to run on it
sleep_briefly = _caller("usleep", 50, when=IS_POSIX)


@intrinsic
def call_filler(
    typing_context: Any,
    address: Any,
    out: Any,
    words: Any,
    count: Any,
    steps: Any,
    shape: Any,
    block: Any,
    step: Any,
    replicate: Any,
    stream: Any,
    k0: Any,
    k1: Any,
) -> tuple[Any, Callable[..., Any]]:
    """Call the function at an address, which fills a buffer with noise; see ``random.filler_of``."""
    numbers = (types.int64, types.int64, types.float64, *6 * (types.uint64,))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        buffers = [
            context.make_array(signature.args[place])(context, builder, arguments[place]).data for place in (1, 2)
        ]
        values = [*buffers, *arguments[3:]]
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), values)
        return context.get_dummy_value()

    return types.void(types.uint64, out, words, *numbers), generate


class _Lanes:
    """Vectors of WIDTH numbers inside one LLVM builder."""

    def __init__(self, context: Any, builder: Any, number: Any) -> None:
        self.builder = builder
        self.number = context.get_value_type(number)
        self.vector = ir.VectorType(self.number, WIDTH)
        # The alignment of one number, not of the vector: the noise buffer has no more, and aligned data load as fast.
        self.alignment = 4 if number == types.float32 else 8

    def zero(self) -> Any:
        return ir.Constant(self.vector, [ir.Constant(self.number, 0.0)] * WIDTH)

    def splat(self, scalar: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(undefined, scalar, _I32(0))
        return self.builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(_I32, WIDTH), [0] * WIDTH))

    def load(self, data: Any, offset: Any) -> Any:
        pointer = self.builder.bitcast(self.builder.gep(data, [offset]), self.vector.as_pointer())
        instruction = self.builder.load(pointer)
        instruction.align = self.alignment
        return instruction

    def store(self, value: Any, data: Any, offset: Any) -> None:
        pointer = self.builder.bitcast(self.builder.gep(data, [offset]), self.vector.as_pointer())
        self.builder.store(value, pointer).align = self.alignment

    def store_past_caches(self, value: Any, data: Any, offset: Any) -> None:
        """Store to aligned memory without first reading the line that will be overwritten."""
        pointer = self.builder.bitcast(self.builder.gep(data, [offset]), self.vector.as_pointer())
        instruction = self.builder.store(value, pointer)
        # A nontemporal store of a whole vector needs this alignment; ``aligned`` arrays and WIDTH guarantee it.
        instruction.align = 64
        instruction.set_metadata("nontemporal", self.builder.module.add_metadata([_I32(1)]))

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        name = f"llvm.fma.v{WIDTH}f{8 * self.alignment}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [a, b, c])


@intrinsic
def weave(typing_context: Any, words: Any, at: Any, numbers: Any, to: Any) -> tuple[Any, Callable[..., Any]]:
    """Set numbers[to:to + 8] to words[0, at:at + 4] and then words[1, at:at + 4], which are the bits of doubles.

    In vector instructions: a compiled Python loop stores such pieces number by number.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source = context.make_array(signature.args[0])(context, builder, arguments[0])
        row_length = builder.extract_value(source.shape, 1)
        four, number = ir.VectorType(ir.DoubleType(), 4), context.get_value_type(numbers.dtype)
        halves = []
        for offset in (arguments[1], builder.add(arguments[1], row_length)):
            half = builder.load(builder.bitcast(builder.gep(source.data, [offset]), four.as_pointer()))
            half.align = 8
            halves.append(half)
        both = builder.shuffle_vector(*halves, ir.Constant(ir.VectorType(_I32, 8), list(range(8))))
        if numbers.dtype == types.float32:
            both = builder.fptrunc(both, ir.VectorType(number, 8))
        target = context.make_array(signature.args[2])(context, builder, arguments[2]).data
        pointer = builder.bitcast(builder.gep(target, [arguments[3]]), both.type.as_pointer())
        builder.store(both, pointer).align = numbers.dtype.bitwidth // 8
        return context.get_dummy_value()

    return types.void(words, types.uint64, numbers, types.uint64), generate


@intrinsic
def update_row(
    typing_context: Any,
    public: Any,
    columns: Any,
    weights: Any,
    stride: Any,
    begin: Any,
    end: Any,
    coupling_scale: Any,
    jitter: Any,
    drift: Any,
    noise: Any,
    noise_at: Any,
    output: Any,
    output_at: Any,
    past_caches: Any,
) -> tuple[Any, Callable[..., Any]]:
    """Update one agent in WIDTH replicates: out = coupling_scale·Σ_k w_k·y[column_k] + (jitter·z + drift).

    ``past_caches`` writes an output that is too large to stay in the caches straight to (aligned) memory.

    The sum stays in vector registers over the whole neighbour row, which a compiled Python loop does not manage.
    """
    number = public.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        lanes = _Lanes(context, builder, number)

        def data(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position]).data

        public_, columns_, weights_, noise_, output_ = data(0), data(1), data(2), data(9), data(11)
        stride_, begin_, end_, pull_, jitter_, drift_ = arguments[3:9]

        before = builder.block
        # A loop in LLVM's own blocks: the phi nodes keep the running sum in registers, which is the point of this
        # function.
        head, body, done = (builder.append_basic_block(name) for name in ("row.head", "row.body", "row.done"))
        builder.branch(head)
        builder.position_at_end(head)
        k, total = builder.phi(_I64), builder.phi(lanes.vector)
        k.add_incoming(begin_, before)
        total.add_incoming(lanes.zero(), before)
        builder.cbranch(builder.icmp_unsigned("<", k, end_), body, done)

        builder.position_at_end(body)
        column = builder.zext(builder.load(builder.gep(columns_, [k])), _I64)
        row = lanes.load(public_, builder.mul(column, _I64(WIDTH)))
        # Stride 0 reads the first weight for every edge, without a branch and from the nearest cache.
        weight = builder.load(builder.gep(weights_, [builder.mul(k, stride_)]))
        total.add_incoming(lanes.fma(lanes.splat(weight), row, total), body)
        k.add_incoming(builder.add(k, _I64(1)), body)
        builder.branch(head)

        builder.position_at_end(done)
        # Noise and own opinion first, the sum over neighbours last: the narrow kernel rounds in this order as well.
        own = lanes.fma(lanes.splat(jitter_), lanes.load(noise_, arguments[10]), lanes.splat(drift_))
        result = lanes.fma(lanes.splat(pull_), total, own)
        # Only worth it for large states: a small one is read again in the next step and should stay in the caches.
        with builder.if_else(arguments[13]) as (large, small):
            with large:
                lanes.store_past_caches(result, output_, arguments[12])
            with small:
                lanes.store(result, output_, arguments[12])
        return context.get_dummy_value()

    unsigned = types.uint64
    signature = types.void(
        public,
        columns,
        weights,
        unsigned,
        unsigned,
        unsigned,
        number,
        number,
        number,
        noise,
        unsigned,
        output,
        unsigned,
        types.boolean,
    )
    return signature, generate


@intrinsic
def sum_slice(
    typing_context: Any,
    public: Any,
    columns: Any,
    weights: Any,
    stride: Any,
    begin: Any,
    end: Any,
    pressure: Any,
    order: Any,
    order_at: Any,
) -> tuple[Any, Callable[..., Any]]:
    """Sum SLICE interleaved rows in one replicate: pressure[order[r]] = Σ_k w_k·y[column_k] over k ≡ r mod SLICE.

    The sums are independent of each other, so the processor has the loads of all rows in flight.
    """
    number = public.dtype

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def data(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position]).data

        public_, columns_, weights_, pressure_, order_ = data(0), data(1), data(2), data(6), data(7)
        zero = ir.Constant(context.get_value_type(number), 0.0)

        def loop(weight_at: Callable[[Any], Any]) -> None:
            before = builder.block
            head, body, done = (builder.append_basic_block(name) for name in ("slice.head", "slice.body", "slice.done"))
            builder.branch(head)
            builder.position_at_end(head)
            k, totals = builder.phi(_I64), [builder.phi(zero.type) for _ in range(SLICE)]
            k.add_incoming(arguments[4], before)
            builder.cbranch(builder.icmp_unsigned("<", k, arguments[5]), body, done)
            builder.position_at_end(body)
            for row, total in enumerate(totals):
                place = builder.add(k, _I64(row))
                column = builder.zext(builder.load(builder.gep(columns_, [place])), _I64)
                value = builder.load(builder.gep(public_, [column]))
                total.add_incoming(zero, before)
                total.add_incoming(builder.fma(weight_at(place), value, total), body)
            k.add_incoming(builder.add(k, _I64(SLICE)), body)
            builder.branch(head)
            builder.position_at_end(done)
            for row, total in enumerate(totals):
                place = builder.load(builder.gep(order_, [builder.add(arguments[8], _I64(row))]))
                builder.store(total, builder.gep(pressure_, [builder.zext(place, _I64)]))

        # A separate loop for a single common weight saves one load per neighbour.
        with builder.if_else(builder.icmp_unsigned("==", arguments[3], _I64(0))) as (uniform, weighted):
            with uniform:
                weight = builder.load(weights_)
                loop(lambda place: weight)
            with weighted:
                loop(lambda place: builder.load(builder.gep(weights_, [place])))
        return context.get_dummy_value()

    unsigned = types.uint64
    signature = types.void(public, columns, weights, unsigned, unsigned, unsigned, pressure, order, unsigned)
    return signature, generate


@intrinsic
def keep_idle(
    typing_context: Any, coins: Any, coins_at: Any, threshold: Any, public: Any, output: Any, at: Any
) -> tuple[Any, Callable[..., Any]]:
    """Set WIDTH numbers of ``output`` from ``at`` on to those of ``public`` where a coin is not below its threshold.

    ``threshold`` is one number, or an array that is read in the same places as ``public``.

    In vector instructions, because half of the branches of a compiled Python loop would be mispredicted.
    """
    number = public.dtype
    per_place = isinstance(threshold, types.Array)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        words, lanes = _Lanes(context, builder, types.uint64), _Lanes(context, builder, number)

        def data(position: int) -> Any:
            return context.make_array(signature.args[position])(context, builder, arguments[position]).data

        bound = words.load(data(2), arguments[5]) if per_place else words.splat(arguments[2])
        updates = builder.icmp_unsigned("<", words.load(data(0), arguments[1]), bound)
        old, new = lanes.load(data(3), arguments[5]), lanes.load(data(4), arguments[5])
        lanes.store(builder.select(updates, new, old), data(4), arguments[5])
        return context.get_dummy_value()

    return types.void(coins, types.uint64, threshold, public, output, types.uint64), generate
