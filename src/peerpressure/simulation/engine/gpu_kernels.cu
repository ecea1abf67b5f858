// One step of the model on an accelerator, compiled at run time with these defined:
//   DOUBLE  1 if numbers are doubles, 0 if they are floats
//   LANES   replicates of one thread, 1 or as many as 16 bytes contain
//   EDGE    an integer that counts the edges: 32 bits where they suffice
//   THREADS in a block, at most, and BLOCKS on a multiprocessor, at least
//   HUB_PACKS, HUB_SLICES  packs of a hub in a block, and threads that share the row: the same for any number of packs,
//           so the sums of a replicate do not depend on the others
//   STRIDE  1 if each edge has its weight, 0 if one weight serves all
//   LAW, MODE  of the noise, and ACTIVE, who updates while all others keep their public opinions: codes of plan.py
//   KEEP_ISOLATED  1 if agents of degree 0 keep their public opinions
//   MOVING  1 if hidden opinions adapt; PARTIAL  1 if a step has a length other than 1
// The noise is the processor's own, to rounding: the same counters, the same transforms; see random.py.
//
// Agents are stored in pairs that share a counter block, pairs in the order of their numbers of neighbours: the threads
// of a warp then read rows of equal length. Agent h of pair p is number 2p + h here, its "slot".

typedef unsigned int word;
typedef unsigned long long wide_word;
#if DOUBLE
typedef double real;
#else
typedef float real;
#endif

struct alignas(sizeof(real) * LANES) Pack { real lane[LANES]; };
struct alignas(16) Agent { real stubbornness, degree, hidden, deviation; };

enum Law { NONE, GAUSSIAN, LAPLACE, UNIFORM, STUDENT, RADEMACHER };
enum Mode { FRESH, RECURRENT, FROZEN };
enum Active { EVERYBODY = -1, CHANCE, SINGLE, LISTED };

__device__ __forceinline__ uint4 philox(uint4 c, word k0, word k1) {
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        wide_word p0 = (wide_word)0xD2511F53u * c.x, p1 = (wide_word)0xCD9E8D57u * c.z;
        c = make_uint4((word)(p1 >> 32) ^ c.y ^ k0, (word)p1, (word)(p0 >> 32) ^ c.w ^ k1, (word)p0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// Σ_k coefficient_k x^k, the highest power first.
template <typename... Rest>
__device__ __forceinline__ real polynomial(real x, real first, Rest... rest) {
    real sum = first;
    ((sum = fma(sum, x, (real)rest)), ...);
    return sum;
}

#if DOUBLE
// 52 random bits below the exponent of 1: uniform on [1, 2).
__device__ __forceinline__ double from_1_to_2(word high, word low) {
    return __hiloint2double(0x3FF00000u | high >> 12, high << 20 | low >> 12);
}

// Quotients and roots of normal numbers, without the library's branches for all others.
__device__ __forceinline__ double quotient(double a, double b) {
    double inverse;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(b));
    inverse = fma(inverse, fma(-b, inverse, 1.0), inverse);
    inverse = fma(inverse, fma(-b, inverse, 1.0), inverse);
    double q = a * inverse;
    return fma(inverse, fma(-b, q, a), q);
}

__device__ __forceinline__ double root(double x) {
    double inverse;
    x = fmax(x, 1e-300);
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(inverse) : "d"(x));
    double guess = x * inverse, half = 0.5 * inverse, rest = fma(-guess, half, 0.5);
    guess = fma(guess, rest, guess);
    half = fma(half, rest, half);
    rest = fma(-guess, half, 0.5);
    guess = fma(guess, rest, guess);
    half = fma(half, rest, half);
    return fma(half, fma(-guess, guess, x), guess);
}

// log(1 − x) with x = bits/2⁶⁴ cut to 52 bits, as the processor computes it.
__device__ __forceinline__ double log_open_unit(word high, word low) {
    double u = 2.0 - from_1_to_2(high, low);
    wide_word sqrt_half = 0x3FE6A09E667F3BCDull;
    wide_word shifted = (wide_word)__double_as_longlong(u) + (0x3FF0000000000000ull - sqrt_half);
    double f = __longlong_as_double((long long)((shifted & 0x000FFFFFFFFFFFFFull) + sqrt_half)) - 1.0;
    // An integer in the low bits of 2⁵² is that integer as a double after 2⁵² is subtracted: conversions are slow.
    double exponent = __hiloint2double(0x43300000, (int)(shifted >> 52)) - (4503599627370496.0 + 1023.0);
    double s = quotient(f, f + 2.0), z = s * s;
    double p = polynomial(
        z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
        2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01);
    return fma(exponent, 0.6931471805599453, fma(s * z, p, s + s));
}

// Sine and cosine of an angle that is uniform on an octant.
__device__ __forceinline__ void first_octant(word high, word low, double& sine, double& cosine) {
    double angle = (from_1_to_2(high, low) - (1.0 - 1.11e-16)) * 0.78539816339744830962, q = angle * angle;
    double p = polynomial(
        q, 1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
        -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01);
    sine = fma(angle * q, p, angle);
    p = polynomial(
        q, -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
        2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02);
    cosine = fma(q * q, p, fma(q, -0.5, 1.0));
}

__device__ __forceinline__ double flipped(double x, word sign) {
    return __hiloint2double(__double2hiint(x) ^ (int)(sign & 0x80000000u), __double2loint(x));
}

__device__ __forceinline__ double centred_unit(word high, word low) {
    return from_1_to_2(high, low) - (1.5 - 1.1102230246251565e-16);
}
#else
__device__ __forceinline__ float root(float x) { return sqrtf(x); }

// Fractions of 2⁶⁴ from two 32-bit halves: a 64-bit conversion would cost more than the Philox rounds.
__device__ __forceinline__ float fraction(word high, word low) {
    return fmaf((float)low, 5.421010862427522e-20f, (float)high * 2.3283064365386963e-10f);
}

// log(1 − x) with x = bits/2⁶⁴ cut to 52 bits, accurate at both ends: from x where x < 1 − √½, else from 1 − x.
__device__ __forceinline__ float log_open_unit(word high, word low) {
    low &= 0xFFFFF000u;
    bool near_1 = high < 0x4B000000u;
    // 2⁶⁴ − bits, of which the low 12 are 0.
    float t = fraction(near_1 ? high : ~high + (low == 0), near_1 ? low : -low);
    // Mantissas lie in [√½, √2), which keeps f as small as possible.
    int exponent = (__float_as_int(t) - 0x3F3504F3) >> 23;
    float f = near_1 ? -t : __int_as_float(__float_as_int(t) - (exponent << 23)) - 1.0f;
    float p = polynomial(
        f, -0.07834600657224655f, 0.13011765480041504f, -0.13207748532295227f, 0.1416243016719818f,
        -0.1661117523908615f, 0.2000306397676468f, -0.2500151991844177f, 0.3333330750465393f, -0.49999988079071045f);
    return fmaf(near_1 ? 0.0f : (float)exponent, 0.6931471805599453f, fmaf(f * f, p, f));
}

// Sine and cosine of an angle that is uniform on an octant; the low word is below the precision of a float.
__device__ __forceinline__ void first_octant(word high, word low, float& sine, float& cosine) {
    float part = fmaf((float)high, 2.3283064365386963e-10f, 1.1641532182693481e-10f), q = part * part;
    sine = part * polynomial(
        q, -3.595450834836811e-05f, 0.002490007085725665f, -0.08074543625116348f, 0.7853981852531433f);
    cosine = polynomial(
        q, 3.5313382795720827e-06f, -0.00032594200456514955f, 0.015854327008128166f, -0.3084251284599304f, 1.0f);
}

__device__ __forceinline__ float flipped(float x, word sign) {
    return __int_as_float(__float_as_int(x) ^ (int)(sign & 0x80000000u));
}

__device__ __forceinline__ float centred_unit(word high, word low) {
    return ((float)(int)(high ^ 0x80000000u) + ((float)(low & 0xFFFFF000u) + 2048.0f) * 2.3283064365386963e-10f)
           * 2.3283064365386963e-10f;
}
#endif

// Cosine and sine of an angle that is uniform on the circle: three bits that the angle leaves choose the octant.
__device__ __forceinline__ void octant(word high, word low, real& first, real& second) {
    real sine, cosine;
    first_octant(high, low, sine, cosine);
    bool swap = low & 1;
    first = flipped(swap ? sine : cosine, low << 30);
    second = flipped(swap ? cosine : sine, low << 29);
}

__device__ __forceinline__ real student(uint4 w, real shape) {
    real cosine, sine;
    octant(w.z, w.w, cosine, sine);
    return sqrt((shape - 2) * expm1((real)-2 / shape * log_open_unit(w.x, w.y))) * cosine;
}

// The noise of the two agents that share a counter block.
__device__ __forceinline__ void draw_pair(real shape, uint4 counter, word k0, word k1, real* pair) {
    pair[0] = pair[1] = 0;
    if (LAW == NONE) return;
    uint4 w = philox(counter, k0, k1);
    if (LAW == GAUSSIAN) {
        real radius = root((real)-2 * log_open_unit(w.x, w.y));
        octant(w.z, w.w, pair[0], pair[1]);
        pair[0] *= radius;
        pair[1] *= radius;
    } else if (LAW == LAPLACE) {
        pair[0] = flipped(log_open_unit(w.x, w.y) * (real)0.70710678118654752440, w.y << 31);
        pair[1] = flipped(log_open_unit(w.z, w.w) * (real)0.70710678118654752440, w.w << 31);
    } else if (LAW == UNIFORM) {
        pair[0] = centred_unit(w.x, w.y) * (real)3.4641016151377545871;
        pair[1] = centred_unit(w.z, w.w) * (real)3.4641016151377545871;
    } else if (LAW == STUDENT) {
        pair[0] = student(w, shape);
        counter.w += 1;
        pair[1] = student(philox(counter, k0, k1), shape);
    } else {
        pair[0] = flipped(1, w.x);
        pair[1] = flipped(1, w.z);
    }
}

const int AHEAD = 4;  // neighbours of each agent whose rows are under way at a time

// Adds every stride-th neighbour's row of both agents. Loads at the end of a row are under way together as well, since
// most rows are short.
__device__ __forceinline__ void sum_rows(
    Pack* total, const Pack* __restrict__ y, const word* __restrict__ columns, const real* __restrict__ weights, EDGE* k,
    const EDGE* end, word stride, word packs, word pack) {
    for (; k[0] < end[0] || k[1] < end[1]; k[0] += AHEAD * stride, k[1] += AHEAD * stride) {
        Pack rows[2][AHEAD] = {};
#pragma unroll
        for (int j = 0; j < AHEAD; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                EDGE edge = k[h] + j * stride;
                if (edge < end[h]) rows[h][j] = y[(size_t)columns[edge] * packs + pack];
            }
#pragma unroll
        for (int j = 0; j < AHEAD; ++j)
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                EDGE edge = k[h] + j * stride;
                // Any weight serves for a row of zeros.
                real weight = weights[edge < end[h] ? edge * STRIDE : 0];
#pragma unroll
                for (int l = 0; l < LANES; ++l) total[h].lane[l] = fma(weight, rows[h][j].lane[l], total[h].lane[l]);
            }
    }
}

#if SHARED_GATHERS
const int CHUNK = 8 * THREADS;  // neighbours whose opinions a block gathers at a time
// Neighbours of an agent, on average in a block, for which this is faster: fewer take one round of loads anyway, and
// with more the rounds of a block, each of which waits for the last, take longer than the rest of the step.
const int LEAST_SHARED = 3, MOST_SHARED = 24;

// Sums the rows of a block in one replicate. Rows stand one after the other, so their gathers are shared evenly by the
// threads, whatever the rows' lengths; then each thread adds up its own, in the same order as ``sum_rows``.
__device__ __forceinline__ void sum_together(
    real* total, const real* __restrict__ y, const word* __restrict__ columns, const real* __restrict__ weights,
    const EDGE* first, const EDGE* last, EDGE begin, EDGE end, word thread) {
    __shared__ real gathered[CHUNK];
    __shared__ real weighted[STRIDE ? CHUNK : 1];
    for (EDGE base = begin; base < end; base += CHUNK) {
        if (base != begin) __syncthreads();
#pragma unroll
        for (int j = 0; j < CHUNK / THREADS; ++j) {
            EDGE place = j * THREADS + thread;
            if (base + place < end) {
                gathered[place] = y[columns[base + place]];
                if (STRIDE) weighted[place] = weights[base + place];
            }
        }
        __syncthreads();
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            EDGE stop = min(last[h], base + CHUNK);
            for (EDGE edge = max(first[h], base); edge < stop; ++edge)
                total[h] = fma(STRIDE ? weighted[edge - base] : weights[0], gathered[edge - base], total[h]);
        }
    }
}
#endif

// Adds the sums of the threads of a hub that share a pack, in a fixed order; the first of them gets the total.
__device__ __forceinline__ Pack add_up(Pack part, word slice, word thread) {
    __shared__ Pack parts[HUB_PACKS * HUB_SLICES];
    __syncthreads();
    if (slice < HUB_SLICES) parts[thread] = part;
    for (word size = HUB_SLICES; size > 1;) {
        word half = (size + 1) / 2;
        __syncthreads();
        if (slice + half < size) {
#pragma unroll
            for (int l = 0; l < LANES; ++l) part.lane[l] += parts[thread + half * HUB_PACKS].lane[l];
            parts[thread] = part;
        }
        size = half;
    }
    return part;
}

// The agent of a half of a counter block: i and i + 4 share one.
__device__ __forceinline__ word agent_of(word block, word half) { return (block / 4) * 8 + block % 4 + 4 * half; }

// Whether an agent updates in one replicate; see the end of random.py.
__device__ __forceinline__ bool updates(
    word block, word half, word agents, word time, word replicate, word k0, word k1,
    const wide_word* __restrict__ thresholds, const unsigned char* __restrict__ listed) {
    word agent = agent_of(block, half);
    if (ACTIVE == EVERYBODY || agent >= agents) return true;
    if (ACTIVE == CHANCE) {
        uint4 w = philox(make_uint4(agent / 4, time, replicate, 0x80000000u), k0, k1);
        word coin = agent % 4 < 2 ? (agent % 4 ? w.y : w.x) : (agent % 4 == 2 ? w.z : w.w);
        return coin < thresholds[agent];
    }
    if (ACTIVE == SINGLE) {
        uint4 w = philox(make_uint4(0, time, replicate, 0x80000000u), k0, k1);
        return agent == (word)(((wide_word)w.x * agents + (((wide_word)w.y * agents) >> 32)) >> 32);
    }
    return listed[agent];
}

// A thread takes the two agents of a pair in LANES replicates; the first ``hubs`` pairs have blocks of threads each.
// BLOCKS on a multiprocessor hide the latency of the gathers; more would leave too few registers for a thread.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) step(
    word agents, word pairs, word hubs, word packs, const EDGE* __restrict__ starts, const EDGE* __restrict__ ends,
    const word* __restrict__ columns, const real* __restrict__ weights, const word* __restrict__ counters,
    const Agent* __restrict__ constants, const Pack* __restrict__ y, Pack* __restrict__ output,
    Pack* __restrict__ memory, real own_weight, real weight, real scale, real shape, real carry, real fresh,
    word time, word replicate, word k0, word k1,
    // Of hidden opinions that adapt, and of steps that have a length.
    Pack* __restrict__ opinions, const real* __restrict__ adaptation_weight, real adaptation_rate, real pace,
    // Read only where not everybody updates.
    const wide_word* __restrict__ thresholds, const unsigned char* __restrict__ listed) {
    word thread = threadIdx.y * blockDim.x + threadIdx.x, slice = 0, column = threadIdx.x, pair;
    word hub_blocks = (blockDim.x + HUB_PACKS - 1) / HUB_PACKS;
    bool hub = blockIdx.x < hubs * hub_blocks;
    if (hub) {
        pair = blockIdx.x / hub_blocks;
        slice = thread / HUB_PACKS;
        column = blockIdx.x % hub_blocks * HUB_PACKS + thread % HUB_PACKS;
    } else {
        pair = hubs + (blockIdx.x - hubs * hub_blocks) * blockDim.y + threadIdx.y;
    }
    word pack = blockIdx.y * blockDim.x + column;
    bool inside = pair < pairs && pack < packs && column < blockDim.x && slice < HUB_SLICES;
    // No thread of a block with barriers leaves before them.
    if (!inside && !hub && !SHARED_GATHERS) return;
    Pack total[2] = {};
    EDGE first[2] = {}, last[2] = {};
    if (inside) {
        first[0] = starts[2 * pair] + slice, first[1] = starts[2 * pair + 1] + slice;
        last[0] = ends[2 * pair], last[1] = ends[2 * pair + 1];
    }
#if SHARED_GATHERS
    word leading = pair - threadIdx.y, past = min(leading + blockDim.y, pairs);
    EDGE begin = hub ? 0 : starts[2 * leading], end = hub ? 0 : starts[2 * past];
    if (end - begin > LEAST_SHARED * 2 * THREADS && end - begin <= MOST_SHARED * 2 * THREADS)
        sum_together(&total[0].lane[0], &y->lane[0], columns, weights, first, last, begin, end, thread);
    else
#endif
    if (inside) sum_rows(total, y, columns, weights, first, last, hub ? HUB_SLICES : 1, packs, pack);
    if (hub) total[0] = add_up(total[0], slice, thread), total[1] = add_up(total[1], slice, thread);
    if (!inside || slice) return;

    word block = counters[pair];
    size_t place[2] = {(size_t)(2 * pair) * packs + pack, (size_t)(2 * pair + 1) * packs + pack};
    Pack next[2], remembered[2], opinion[2];
    real gain[2], coupling[2], jitter[2], hidden[2], rate[2];
    bool keeps[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        Agent agent = constants[2 * pair + h];
        real own = own_weight * agent.stubbornness, share = (real)1 / (own + weight * agent.degree);
        gain[h] = own * share;
        coupling[h] = weight * share;
        jitter[h] = gain[h] * (scale * agent.deviation);
        hidden[h] = agent.hidden;
        keeps[h] = KEEP_ISOLATED && agent.degree == 0;
        if (PARTIAL) coupling[h] *= pace, jitter[h] *= sqrt(pace);
        if (MODE != FRESH) remembered[h] = memory[place[h]];
        if (MOVING) opinion[h] = opinions[place[h]], rate[h] = adaptation_rate * adaptation_weight[2 * pair + h];
    }
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        real noise[2];
        word number = replicate + pack * LANES + l;
        if (MODE != FROZEN) draw_pair(shape, make_uint4(block, time, number, 0), k0, k1, noise);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (MODE == RECURRENT) remembered[h].lane[l] = fma(carry, remembered[h].lane[l], fresh * noise[h]);
            if (MODE != FRESH) noise[h] = remembered[h].lane[l];
            real drift = gain[h] * (MOVING ? opinion[h].lane[l] : hidden[h]);
            if (PARTIAL) drift = fma((real)1 - pace, y[place[h]].lane[l], pace * drift);
            real after = fma(coupling[h], total[h].lane[l], fma(jitter[h], noise[h], drift));
            if (keeps[h] || !updates(block, h, agents, time, number, k0, k1, thresholds, listed))
                after = y[place[h]].lane[l];
            if (MOVING) opinion[h].lane[l] += rate[h] * (after - opinion[h].lane[l]);
            next[h].lane[l] = after;
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        output[place[h]] = next[h];
        if (MODE == RECURRENT) memory[place[h]] = remembered[h];
        if (MOVING) opinions[place[h]] = opinion[h];
    }
}

// One draw for every agent, to start memory from.
extern "C" __global__ void draw(
    word pairs, word packs, const word* __restrict__ counters, Pack* __restrict__ memory, real shape, word time,
    word replicate, word stream, word k0, word k1) {
    word pack = blockIdx.y * blockDim.x + threadIdx.x, pair = blockIdx.x * blockDim.y + threadIdx.y;
    if (pair >= pairs || pack >= packs) return;
    Pack drawn[2];
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        real noise[2];
        uint4 counter = make_uint4(counters[pair], time, replicate + pack * LANES + l, stream);
        draw_pair(shape, counter, k0, k1, noise);
        drawn[0].lane[l] = noise[0];
        drawn[1].lane[l] = noise[1];
    }
    for (int h = 0; h < 2; ++h) memory[(size_t)(2 * pair + h) * packs + pack] = drawn[h];
}

struct Summary { double low, high, sum; };

__device__ __forceinline__ Summary joined(Summary a, Summary b) {
    return {fmin(a.low, b.low), fmax(a.high, b.high), a.sum + b.sum};
}

// Joins the summaries of the threads that share a pack, in a fixed order; the first of them gets the result.
__device__ __forceinline__ Summary join_all(Summary own) {
    __shared__ Summary parts[32 * 32];
    word place = threadIdx.y * blockDim.x + threadIdx.x;
    __syncthreads();
    parts[place] = own;
    for (word half = blockDim.y / 2; half; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half) parts[place] = own = joined(own, parts[place + half * blockDim.x]);
    }
    return own;
}

// Minimum, maximum and mean over agents. The block that finishes last joins the parts of all blocks, in a fixed order.
extern "C" __global__ void __launch_bounds__(32 * 32) summarise(
    word agents, word pairs, word packs, const word* __restrict__ counters, const Pack* __restrict__ y,
    Summary* __restrict__ parts, word* __restrict__ finished, Summary* __restrict__ result) {
    __shared__ bool is_last;
    word pack = blockIdx.y * blockDim.x + threadIdx.x;
    bool inside = pack < packs, first = threadIdx.x == 0 && threadIdx.y == 0;
    size_t width = (size_t)packs * LANES, place = (size_t)pack * LANES;
    const double infinity = __longlong_as_double(0x7FF0000000000000ll);
    Pack low, high;
    double sum[LANES] = {};
#pragma unroll
    for (int l = 0; l < LANES; ++l) low.lane[l] = infinity, high.lane[l] = -infinity;
    if (inside)
#pragma unroll 4
        for (word slot = blockIdx.x * blockDim.y + threadIdx.y; slot < 2 * pairs; slot += gridDim.x * blockDim.y) {
            // Read in any case: a load that waits for another is late.
            Pack row = y[(size_t)slot * packs + pack];
            bool somebody = agent_of(counters[slot / 2], slot % 2) < agents;
#pragma unroll
            for (int l = 0; somebody && l < LANES; ++l) {
                low.lane[l] = fmin(low.lane[l], row.lane[l]);
                high.lane[l] = fmax(high.lane[l], row.lane[l]);
                sum[l] += row.lane[l];
            }
        }
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        Summary own = join_all({low.lane[l], high.lane[l], sum[l]});
        if (inside && threadIdx.y == 0) parts[blockIdx.x * width + place + l] = own;
    }
    __threadfence();
    __syncthreads();
    if (first) is_last = atomicAdd(finished + blockIdx.y, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    Summary all[LANES];
#pragma unroll
    for (int l = 0; l < LANES; ++l) all[l] = {infinity, -infinity, 0};
    for (word i = threadIdx.y; inside && i < gridDim.x; i += blockDim.y)
#pragma unroll
        for (int l = 0; l < LANES; ++l) all[l] = joined(all[l], parts[i * width + place + l]);
#pragma unroll
    for (int l = 0; l < LANES; ++l) {
        all[l] = join_all(all[l]);
        all[l].sum /= agents;
        if (inside && threadIdx.y == 0) result[place + l] = all[l];
    }
    if (first) finished[blockIdx.y] = 0;
}

// Sets the weights of pairs of agents, in both directions, where they stand in the rows of all neighbours over time.
extern "C" __global__ void set_weights(
    word changes, const word* __restrict__ ends, const real* __restrict__ values, const EDGE* __restrict__ all_starts,
    const word* __restrict__ all_columns, real* __restrict__ all_weights) {
    wide_word thread = (wide_word)blockIdx.x * blockDim.x + threadIdx.x;
    if (thread / 2 >= changes) return;
    word row = ends[thread], column = ends[thread ^ 1];
    EDGE low = all_starts[row], end = all_starts[row + 1], high = end;
    while (low < high) {
        EDGE middle = low + (high - low) / 2;
        if (all_columns[middle] < column) low = middle + 1;
        else high = middle;
    }
    if (low < end && all_columns[low] == column) all_weights[low] = values[thread / 2];
}

// Writes rows as a step reads them: the neighbours of weight other than 0, by their slots. A warp takes a row. Degrees
// are written where they change with the network.
extern "C" __global__ void place_rows(
    word count, const word* __restrict__ rows, const word* __restrict__ slots, const EDGE* __restrict__ all_starts,
    const word* __restrict__ all_columns, const real* __restrict__ all_weights, const EDGE* __restrict__ starts,
    EDGE* __restrict__ ends, word* __restrict__ columns, real* __restrict__ weights, Agent* __restrict__ constants) {
    const int at_once = 4;
    wide_word thread = (wide_word)blockIdx.x * blockDim.x + threadIdx.x;
    word lane = thread % 32;
    if (thread / 32 >= count) return;
    word row = rows[thread / 32], slot = slots[row];
    EDGE next = starts[slot], end = all_starts[row + 1];
    double degree = 0;
    for (EDGE begin = all_starts[row] + lane; begin - lane < end; begin += 32 * at_once) {
        real weight[at_once];
        word neighbour[at_once];
        // All loads first, since long rows are a matter of latency.
#pragma unroll
        for (int j = 0; j < at_once; ++j) {
            bool inside = begin + 32 * j < end;
            weight[j] = inside ? all_weights[(begin + 32 * j) * STRIDE] : 0;
            neighbour[j] = inside ? slots[all_columns[begin + 32 * j]] : 0;
        }
#pragma unroll
        for (int j = 0; j < at_once; ++j) {
            word present = __ballot_sync(0xFFFFFFFFu, weight[j] != 0);
            EDGE place = next + __popc(present & ((1u << lane) - 1));
            if (weight[j] != 0) columns[place] = neighbour[j];
            if (STRIDE && weight[j] != 0) weights[place] = weight[j];
            next += __popc(present);
            degree += weight[j];
        }
    }
    for (int offset = 16; offset; offset /= 2) degree += __shfl_xor_sync(0xFFFFFFFFu, degree, offset);
    if (lane) return;
    ends[slot] = next;
    if (constants) constants[slot].degree = degree;
}
