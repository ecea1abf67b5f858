// One step of the model on an accelerator, compiled at run time with these defined:
//   REAL    float or double
//   LANES   replicates of one thread, 1 or as many as 16 bytes contain
//   INDEX   an integer that counts the threads, EDGE one that counts the edges: 32 bits where they suffice
//   THREADS in a block
//   STRIDE  1 if each edge has its weight, 0 if one weight serves all
//   KEEP_ISOLATED  1 if agents of degree 0 keep their public opinions
//   ACTIVE  who updates, while all others keep their public opinions: EVERYBODY, or the codes of plan.py plus 1
// The noise is the processor's own, to rounding: the same counters, the same transforms; see random.py.

typedef unsigned int word;
typedef unsigned long long wide_word;

struct alignas(sizeof(REAL) * LANES) Pack { REAL lane[LANES]; };

enum Law { NONE, GAUSSIAN, LAPLACE, UNIFORM, STUDENT, RADEMACHER };
enum Mode { FRESH, RECURRENT, FROZEN };
enum Active { EVERYBODY, CHANCE, SINGLE, LISTED };

__device__ __forceinline__ uint4 philox(uint4 c, word k0, word k1) {
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        word high0 = __umulhi(0xD2511F53u, c.x), low0 = 0xD2511F53u * c.x;
        word high1 = __umulhi(0xCD9E8D57u, c.z), low1 = 0xCD9E8D57u * c.z;
        c = make_uint4(high1 ^ c.y ^ k0, low1, high0 ^ c.w ^ k1, low0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// Fractions of 2⁶⁴ from two 32-bit halves: a 64-bit conversion would cost more than the Philox rounds.
__device__ __forceinline__ REAL fraction(word high, word low) {
    return fma((REAL)low, (REAL)5.421010862427522e-20, (REAL)high * (REAL)2.3283064365386963e-10);
}

// log(1 - x) with x = bits/2⁶⁴ cut to 52 bits, accurate at both ends in either precision.
__device__ __forceinline__ REAL log_open_unit(word high, word low) {
    low &= 0xFFFFF000u;
    REAL x = fraction(high, low);
    if (x < (REAL)0.25) return log1p(-x);
    // 2⁶⁴ − bits, of which the low 12 are 0.
    word negative_low = -low;
    return log(fraction(~high + (low == 0), negative_low));
}

__device__ __forceinline__ REAL centred_unit(word high, word low) {
    return ((REAL)(int)(high ^ 0x80000000u) + ((REAL)(low & 0xFFFFF000u) + (REAL)2048) * (REAL)2.3283064365386963e-10)
           * (REAL)2.3283064365386963e-10;
}

__device__ __forceinline__ void octant(word high, word low, REAL& cosine, REAL& sine) {
    REAL s, c;
    // In units of π: sincos itself would carry a slow path for large angles, and its registers, along.
    sincospi(fraction(high, (low & 0xFFFFF000u) | 0x800u) * (REAL)0.25, &s, &c);
    bool swap = low & 1;
    cosine = swap ? s : c;
    sine = swap ? c : s;
    if (low & 2) cosine = -cosine;
    if (low & 4) sine = -sine;
}

__device__ __forceinline__ REAL student(uint4 w, REAL shape) {
    REAL cosine, sine;
    octant(w.z, w.w, cosine, sine);
    return sqrt((shape - 2) * expm1((REAL)-2 / shape * log_open_unit(w.x, w.y))) * cosine;
}

// The noise of the two agents that share a counter block.
__device__ __forceinline__ void draw_pair(int law, REAL shape, uint4 counter, word k0, word k1, REAL& a, REAL& b) {
    a = b = 0;
    if (law == NONE) return;
    uint4 w = philox(counter, k0, k1);
    if (law == GAUSSIAN) {
        REAL radius = sqrt((REAL)-2 * log_open_unit(w.x, w.y));
        octant(w.z, w.w, a, b);
        a *= radius;
        b *= radius;
    } else if (law == LAPLACE) {
        a = log_open_unit(w.x, w.y) * (REAL)0.70710678118654752440;
        b = log_open_unit(w.z, w.w) * (REAL)0.70710678118654752440;
        if (w.y & 1) a = -a;
        if (w.w & 1) b = -b;
    } else if (law == UNIFORM) {
        a = centred_unit(w.x, w.y) * (REAL)3.4641016151377545871;
        b = centred_unit(w.z, w.w) * (REAL)3.4641016151377545871;
    } else if (law == STUDENT) {
        a = student(w, shape);
        counter.w += 1;
        b = student(philox(counter, k0, k1), shape);
    } else {
        a = (w.x >> 31) ? -1 : 1;
        b = (w.z >> 31) ? -1 : 1;
    }
}

__device__ __forceinline__ void add_row(Pack& total, REAL weight, const Pack& row) {
#pragma unroll
    for (int l = 0; l < LANES; ++l) total.lane[l] = fma(weight, row.lane[l], total.lane[l]);
}

__device__ __forceinline__ Pack sum_rows(
    const Pack* __restrict__ y, const word* __restrict__ columns, const REAL* __restrict__ weights, EDGE begin, EDGE end,
    word packs, word pack) {
    Pack total = {};
#pragma unroll 4
    for (EDGE k = begin; k < end; ++k) add_row(total, weights[k * STRIDE], y[(size_t)columns[k] * packs + pack]);
    return total;
}

// Rows of hubs are cut into pieces that are summed first; without that, a warp waits for its longest row.
extern "C" __global__ void sum_pieces(
    INDEX pieces, word packs, const EDGE* __restrict__ begins, const EDGE* __restrict__ ends,
    const word* __restrict__ columns, const REAL* __restrict__ weights, const Pack* __restrict__ y,
    Pack* __restrict__ sums) {
    INDEX thread = (INDEX)blockIdx.x * blockDim.x + threadIdx.x;
    INDEX piece = thread / packs;
    if (piece < pieces)
        sums[thread] = sum_rows(y, columns, weights, begins[piece], ends[piece], packs, thread % packs);
}

// The noise of one agent in the thread's replicates. The neighbouring thread has the other agent of the counter block:
// each makes the draws of half of the replicates for both, and they swap.
__device__ __forceinline__ void share_draws(
    int law, REAL shape, word block, word time, word replicate, word half, word k0, word k1, REAL* noise) {
    REAL a, b;
#if LANES == 1
    draw_pair(law, shape, make_uint4(block, time, replicate, 0), k0, k1, a, b);
    noise[0] = half ? b : a;
#else
#pragma unroll
    for (int j = 0; j < LANES / 2; ++j) {
        word lane = half * (LANES / 2) + j;
        draw_pair(law, shape, make_uint4(block, time, replicate + lane, 0), k0, k1, a, b);
        REAL mine = half ? b : a, other = __shfl_xor_sync(0xFFFFFFFFu, half ? a : b, 1);
        noise[j] = half ? other : mine;
        noise[LANES / 2 + j] = half ? mine : other;
    }
#endif
}

// Whether an agent updates in one replicate; see the end of random.py.
__device__ __forceinline__ bool updates(
    word agent, word agents, word time, word replicate, word k0, word k1, const wide_word* __restrict__ thresholds,
    const unsigned char* __restrict__ listed) {
    if (ACTIVE == CHANCE) {
        uint4 w = philox(make_uint4(agent / 4, time, replicate, 0x80000000u), k0, k1);
        word coin = agent % 4 < 2 ? (agent % 4 ? w.y : w.x) : (agent % 4 == 2 ? w.z : w.w);
        return coin < thresholds[agent];
    }
    if (ACTIVE == SINGLE) {
        uint4 w = philox(make_uint4(0, time, replicate, 0x80000000u), k0, k1);
        return agent == (word)(((wide_word)w.x * agents + (((wide_word)w.y * agents) >> 32)) >> 32);
    }
    return ACTIVE == EVERYBODY || listed[agent];
}

// One thread takes one agent in LANES replicates; consecutive threads take the two agents of a counter block. As
// many resident threads as possible hide the latency of the gathers better than more registers would.
extern "C" __global__ void __launch_bounds__(THREADS, 2048 / THREADS) step(
    word agents, word packs, const EDGE* __restrict__ starts, const word* __restrict__ columns,
    const REAL* __restrict__ weights, const word* __restrict__ piece_starts, const Pack* __restrict__ sums,
    const REAL* __restrict__ stubbornness, const REAL* __restrict__ degrees, const REAL* __restrict__ hidden,
    const REAL* __restrict__ deviation, int deviation_stride,
    const Pack* __restrict__ y, Pack* __restrict__ output, Pack* __restrict__ memory,
    REAL relief, REAL weight, REAL scale, int law, REAL shape, int mode, REAL carry, REAL fresh,
    word time, word replicate, word k0, word k1
#if BEYOND
    // Hidden opinions, which adapt if ``moving``, and the length of the step: 1 in discrete time.
    , Pack* __restrict__ opinions, int moving, const REAL* __restrict__ adaptation_weight, int adaptation_weight_stride,
    REAL adaptation_rate, REAL pace
#endif
    // Read only where not everybody updates.
    , const wide_word* __restrict__ thresholds, const unsigned char* __restrict__ listed
    ) {
    INDEX thread = (INDEX)blockIdx.x * blockDim.x + threadIdx.x;
    word half = thread & 1;
    word block = (thread >> 1) / packs, pack = (thread >> 1) % packs;
    word agent = (block / 4) * 8 + block % 4 + 4 * half;
    REAL noise[LANES];
    if (mode != FROZEN) share_draws(law, shape, block, time, replicate + pack * LANES, half, k0, k1, noise);
    if (agent >= agents) return;
    size_t place = (size_t)agent * packs + pack;
    if (mode != FRESH) {
        Pack hidden_state = memory[place];
#pragma unroll
        for (int l = 0; l < LANES; ++l) {
            if (mode == RECURRENT) hidden_state.lane[l] = fma(carry, hidden_state.lane[l], fresh * noise[l]);
            noise[l] = hidden_state.lane[l];
        }
        if (mode == RECURRENT) memory[place] = hidden_state;
    }
    Pack total = {};
    word piece = piece_starts[agent], last_piece = piece_starts[agent + 1];
    if (piece < last_piece) {
        for (; piece < last_piece; ++piece) add_row(total, 1, sums[(size_t)piece * packs + pack]);
    } else {
        total = sum_rows(y, columns, weights, starts[agent], starts[agent + 1], packs, pack);
    }
    REAL own = relief * stubbornness[agent];
    REAL share = (REAL)1 / (own + weight * degrees[agent]);
    REAL gain = own * share, coupling = weight * share;
    REAL jitter = gain * (scale * deviation[(size_t)agent * deviation_stride]);
    Pack next;
#if BEYOND
    Pack before = y[place], opinion;
    if (moving) opinion = opinions[place];
    REAL rate = adaptation_rate * adaptation_weight[(size_t)agent * adaptation_weight_stride];
    REAL rest = (REAL)1 - pace;
    jitter *= sqrt(pace);
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        if (!moving) opinion.lane[l] = hidden[agent];
        REAL drift = fma(rest, before.lane[l], pace * gain * opinion.lane[l]);
        next.lane[l] = fma(pace * coupling, total.lane[l], fma(jitter, noise[l], drift));
        if (KEEP_ISOLATED && degrees[agent] == 0) next.lane[l] = before.lane[l];
        if (!updates(agent, agents, time, replicate + pack * LANES + l, k0, k1, thresholds, listed))
            next.lane[l] = before.lane[l];
        opinion.lane[l] += rate * (next.lane[l] - opinion.lane[l]);
    }
    if (moving) opinions[place] = opinion;
#else
    REAL drift = gain * hidden[agent];
#pragma unroll
    for (int l = 0; l < LANES; ++l) next.lane[l] = fma(coupling, total.lane[l], fma(jitter, noise[l], drift));
    if (KEEP_ISOLATED && degrees[agent] == 0) next = y[place];
    if (ACTIVE != EVERYBODY) {
        Pack before = y[place];
#pragma unroll
        for (int l = 0; l < LANES; ++l)
            if (!updates(agent, agents, time, replicate + pack * LANES + l, k0, k1, thresholds, listed))
                next.lane[l] = before.lane[l];
    }
#endif
    output[place] = next;
}

// One draw for every agent, to start memory from.
extern "C" __global__ void draw(
    word agents, word packs, Pack* __restrict__ memory, int law, REAL shape, word time, word replicate, word stream,
    word k0, word k1) {
    INDEX thread = (INDEX)blockIdx.x * blockDim.x + threadIdx.x;
    word block = thread / packs, pack = thread % packs;
    word first = (block / 4) * 8 + block % 4;
    if (first >= agents) return;
    Pack a, b;
#pragma unroll
    for (int l = 0; l < LANES; ++l)
        draw_pair(law, shape, make_uint4(block, time, replicate + pack * LANES + l, stream), k0, k1, a.lane[l], b.lane[l]);
    memory[(size_t)first * packs + pack] = a;
    if (first + 4 < agents) memory[(size_t)(first + 4) * packs + pack] = b;
}
