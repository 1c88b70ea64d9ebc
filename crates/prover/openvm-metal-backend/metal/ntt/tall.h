#pragma once
// A transform in two passes over memory, on tiles of 2^8 to 2^12 rows in more threadgroup memory than 32 KiB: tile.h has
// the transform, docs/design/commit.md the plan. Each pass is three rounds of 2 to 4 stages on registers.
//
// Threads are told apart by their number alone, so any number of them is right. With as many as planned, a thread reads all its words of runs or
// of messages before it waits for any; of large tiles with rows of 16 words it does not. Cells are read 16 bytes at a time.
#include "tile.h"

constant constexpr uint TALL_THREAD_WORDS = 32u;
// Most stages of a small tile, and words of a thread of one in the last pass.
constant constexpr uint TALL_SMALL = 9u;
constant constexpr uint TALL_SMALL_THREAD_WORDS = 16u;
// log2 of the words of a row of the tile in the last pass: a sector of 32 bytes.
constant constexpr uint TALL_RUNS_LOG_W = 3u;
// Words of a run in the last pass: places for 16 factors of the first round, then 8 and 32 powers.
constant constexpr uint TALL_RUN_LOW = 32u;
constant constexpr uint TALL_RUN_HIGH = 40u;
constant constexpr uint TALL_RUN_WORDS = 72u;

/// Byte of a tile at which a word lies, with rows of 2^LOG_W words, in 32 banks. Along 16 or 8 columns of rows that differ in the lowest bits or in those of
/// the last round, no bank is asked twice. With RUNS (rows of 8 words) also along 32 rows of one column; without, in rows of 16 words, also along quarters of 8 rows.
template <uint LOG_W, bool RUNS> inline uint tall_at(uint row, uint col) {
    uint at = (row << LOG_W) | col;
    if (RUNS) at ^= ((row >> 2) & 15u) ^ (row & 24u);
    else at ^= LOG_W == 4u ? (row & 14u) << 1 : row & 24u;
    return at << 2;
}
/// The byte of the word `rows` rows below that at byte `at`, for bits of the row that are zero in `at`; `rows` is known when compiling.
template <uint LOG_W, bool RUNS> inline uint tall_below(uint at, uint rows) {
    uint d = tall_at<LOG_W, RUNS>(rows, 0u);
    return (at ^ (d & 127u)) + (d & ~127u);
}
/// The word at byte `at` of the tile: read, or written. An access of an NVIDIA GPU adds up a register, a register that all threads share, and an offset.
inline uint tall_load(threadgroup const uint* tile, uint at) { return *(threadgroup const uint*)((threadgroup const uchar*)tile + at); }
inline void tall_store(threadgroup uint* tile, uint at, uint v) { *(threadgroup uint*)((threadgroup uchar*)tile + at) = v; }

/// 2^U factors, U <= 3, from a table of pairs of words that begins at a multiple of 16 bytes; `at` is a multiple of 2^U.
template <uint U> inline void tall_load_factors(threadgroup const uint* table, uint at, thread FpFactor* w) {
    if (U == 0u) {
#if MSL_PTX
        msl_opaque(at); // LLVM takes reads of 8 and of 16 bytes at one index of one table for neighbours (docs/guide/write-a-kernel.md)
#endif
        uint2 v = ((threadgroup const uint2*)table)[at];
        w[0] = FpFactor{v.x, v.y};
    } else {
        MSL_UNROLL for (uint q = 0; q < (1u << U) / 2u; q++) {
            uint4 v = ((threadgroup const uint4*)table)[(at >> 1) + q];
            w[2u * q] = FpFactor{v.x, v.y};
            w[2u * q + 1u] = FpFactor{v.z, v.w};
        }
    }
}
inline void tall_store_factor(threadgroup uint* table, uint at, Fp v) {
    FpFactor f = fp_factor(v);
    ((threadgroup uint2*)table)[at] = uint2(f.w, f.quotient);
}
/// Stage T + U of a round of Q stages on 2^Q elements. The factor of block m is table[m]; HEAP: table[2^(T + U) + m]. FACTORS: what the last
/// stage leaves is multiplied, so it is not reduced.
template <uint Q, uint U, uint T, bool HEAP, bool FACTORS> inline void tall_stage(thread Fp* x, threadgroup const uint* table, uint block) {
    constexpr uint half_size = 1u << (Q - 1u - U);
    FpFactor w[1u << U];
    tall_load_factors<U>(table, (block << U) + (HEAP ? 1u << (T + U) : 0u), w);
    MSL_UNROLL for (uint m = 0; m < (1u << U); m++) {
        MSL_UNROLL for (uint k = 0; k < half_size; k++) {
            uint i = 2u * half_size * m + k;
            ntt_butterfly(x, i, half_size, x[i + half_size] * w[m], U + 1u == Q ? FACTORS : ntt_is_factor(i, half_size));
        }
    }
}
/// Q stages from stage T on: Q * 2^(Q-1) products.
template <uint Q, uint T, bool HEAP, bool FACTORS = false> inline void tall_butterflies(thread Fp* x, threadgroup const uint* table, uint block) {
    constexpr uint THIRD = (Q > 2u ? 2u : 0u), FOURTH = (Q > 3u ? 3u : 0u);
    tall_stage<Q, 0u, T, HEAP, FACTORS>(x, table, block);
    tall_stage<Q, 1u, T, HEAP, FACTORS>(x, table, block);
    if (Q > 2u) tall_stage<Q, THIRD, T, HEAP, FACTORS>(x, table, block);
    if (Q > 3u) tall_stage<Q, FOURTH, T, HEAP, FACTORS>(x, table, block);
}

/// Elements of an item of a round in the tile: read, or written.
template <uint Q, uint S, uint LOG_W, bool RUNS> inline void tall_get(threadgroup const uint* tile, uint at, thread Fp* x) {
    MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) x[k] = Fp{tall_load(tile, tall_below<LOG_W, RUNS>(at, k << S))};
}
template <uint Q, uint S, uint LOG_W, bool RUNS> inline void tall_put(threadgroup uint* tile, uint at, thread const Fp* x) {
    MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) tall_store(tile, tall_below<LOG_W, RUNS>(at, k << S), x[k].v);
}

/// A round from tile to tile: stages T .. T + Q of R. Every word is read and written by one thread.
template <uint Q, uint T, uint R, uint LOG_W, bool RUNS>
inline void tall_round(threadgroup uint* tile, threadgroup const uint* table, uint tid, uint tpg) {
    constexpr uint S = R - T - Q;
    MSL_ROLLED for (uint i = tid; i < (1u << (R - Q + LOG_W)); i += tpg) {
        NttItem item = ntt_item<Q>(i >> LOG_W, T, R);
        uint at = tall_at<LOG_W, RUNS>(item.first, i & ((1u << LOG_W) - 1u));
        Fp x[1u << Q];
        tall_get<Q, S, LOG_W, RUNS>(tile, at, x);
        tall_butterflies<Q, T, !RUNS>(x, table, item.block);
        tall_put<Q, S, LOG_W, RUNS>(tile, at, x);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// ---- the first pass: rows that are 2^log_low words apart --------------------------------------------

/// Where the tile of a threadgroup of the first pass lies. The padding's copies of a tile are neighbours in the grid.
struct TallColumns {
    ulong column;
    uint hi;        // which copy of the message
    uint source;    // first word in the message
    uint target;    // first word in the codeword
    uint log_low;
};
inline TallColumns tall_columns(constant NttTallParams& p, uint group) {
    TallColumns c;
    uint log_copies = p.log_n - p.log_message, log_blocks = p.log_message - p.stages - p.log_words;
    c.log_low = p.log_message - p.stages;
    c.hi = group & ((1u << log_copies) - 1u);
    c.source = ((group >> log_copies) & ((1u << log_blocks) - 1u)) << p.log_words;
    c.target = (c.hi << p.log_message) + c.source;
    c.column = group >> (log_copies + log_blocks);
    return c;
}

/// table[2^t + m] = z[(hi << t) + m], t < R, m < 2^t: 2^R - 1 words, all of them within the first half of `roots`.
template <uint R> inline void tall_fill_columns(threadgroup uint* table, device const Fp* roots, uint hi, uint tid, uint tpg) {
    for (uint q = tid; q < (1u << R); q += tpg) {
        if (q == 0u) continue;
        uint t = 31u - clz(q);
        tall_store_factor(table, q, roots[(hi << t) + q - (1u << t)]);
    }
}

/// The last round of the first pass: from the tile to memory.
template <uint Q, uint R, uint W>
inline void tall_columns_store(device Fp* dst, threadgroup const uint* tile, threadgroup const uint* table, TallColumns c, uint tid, uint tpg) {
    MSL_ROLLED for (uint i = tid; i < (1u << (R - Q + W)); i += tpg) {
        uint block = i >> W, col = i & ((1u << W) - 1u);
        Fp x[1u << Q];
        tall_get<Q, 0u, W, false>(tile, tall_at<W, false>(block << Q, col), x);
        tall_butterflies<Q, R - Q, true>(x, table, block);
        device Fp* to = dst + (((block << Q) << c.log_low) + col);
        MSL_UNROLL for (uint k = 0; k < (1u << Q); k++) to[k << c.log_low] = x[k];
    }
}

/// The first pass on 2^R rows in rounds of Q0, Q1, Q2 stages. Rows have 16 words, of the largest tiles 8.
template <uint R, uint Q0, uint Q1, uint Q2>
inline void tall_columns_pass(device const Fp* src, device Fp* dst, device const Fp* roots, threadgroup uint* tile, TallColumns c, uint tid, uint tpg) {
    constexpr uint W = R == 11u ? 3u : 4u;
    constexpr uint ITEMS = 1u << (R - Q0), LEN = 1u << Q0, BATCH = TALL_THREAD_WORDS / LEN;
    threadgroup uint* table = tile + (1u << (R + W));
    Fp x[TALL_THREAD_WORDS];
    // Large tiles of rows of 16 words have fewer threads.
    bool batched = (W == 3u || R <= TALL_SMALL) && tpg * TALL_THREAD_WORDS == 1u << (R + W);
    if (batched) {
        MSL_UNROLL for (uint j = 0; j < BATCH; j++) {
            uint i = tid + j * tpg;
            device const Fp* from = src + (((i >> W) << c.log_low) + (i & ((1u << W) - 1u)));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[j * LEN + k] = from[(k * ITEMS) << c.log_low];
        }
    }
    tall_fill_columns<R>(table, roots, c.hi, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (batched) {
        MSL_UNROLL for (uint j = 0; j < BATCH; j++) {
            uint i = tid + j * tpg;
            tall_butterflies<Q0, 0u, true>(x + j * LEN, table, 0u);
            tall_put<Q0, R - Q0, W, false>(tile, tall_at<W, false>(i >> W, i & ((1u << W) - 1u)), x + j * LEN);
        }
    } else {
        MSL_ROLLED for (uint i = tid; i < ITEMS << W; i += tpg) {
            device const Fp* from = src + (((i >> W) << c.log_low) + (i & ((1u << W) - 1u)));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[k] = from[(k * ITEMS) << c.log_low];
            tall_butterflies<Q0, 0u, true>(x, table, 0u);
            tall_put<Q0, R - Q0, W, false>(tile, tall_at<W, false>(i >> W, i & ((1u << W) - 1u)), x);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_round<Q1, Q0, R, W, false>(tile, table, tid, tpg);
    tall_columns_store<Q2, R, W>(dst, tile, table, c, tid, tpg);
}

// ---- the last pass: runs of 2^R neighbours, and the bit reversal ------------------------------------

/// w^e for the root of unity w of order 2^log_n, e < 2^(log_n - 1).
inline Fp tall_power(device const Fp* roots, uint e, uint log_n) { return ntt_root(roots, reverse_bits(e) >> (33u - log_n)); }

/// table[m] = z[m], m < 2^(R - 1). Of each run, whose number reversed is c: the 15 factors of the first round, and as words
/// w^(c e) for e < 8, times the scale if there is one, and for 8 e < 2^(R - Q0).
template <uint R, uint Q0, uint LOG_RUNS>
inline void tall_fill_runs(threadgroup uint* table, threadgroup uint* runs, device const Fp* roots, uint first, uint log_n, uint scale, uint tid,
                           uint tpg) {
    for (uint q = tid; q < (1u << (R - 1u)); q += tpg) tall_store_factor(table, q, roots[q]);
    for (uint i = tid; i < (64u << LOG_RUNS); i += tpg) {
        uint q = i & 63u, run = i >> 6, c = first + run;
        threadgroup uint* own = runs + run * TALL_RUN_WORDS;
        if (q >= 32u) {
            if (q - 32u < (1u << (R - Q0 - 3u))) own[TALL_RUN_HIGH + q - 32u] = tall_power(roots, c * ((q - 32u) << 3), log_n).v;
        } else if (q >= 16u) {
            if (q < 24u) {
                Fp w = tall_power(roots, c * (q - 16u), log_n);
                if (scale != 0u) w = w * Fp{scale};
                own[TALL_RUN_LOW + q - 16u] = w.v;
            }
        } else if (q > 0u) {
            uint t = 31u - clz(q);
            tall_store_factor(own, q, ntt_root(roots, ((reverse_bits(c) >> (32u - (log_n - R))) << t) + q - (1u << t)));
        }
    }
}

/// Where a thread's 2^Q0 words of the first round lie: the lowest element, counted within the run, and the column of the tile. A column is a run, or with LOG_C = 2 a
/// word of the elements of a run. Neighbouring threads read along runs, or 16 bytes of each of two.
struct TallRunItem { uint element, column; };
template <uint REST, uint LOG_C> inline TallRunItem tall_run_item(uint i) {
    if (LOG_C == 0u) return TallRunItem{i & ((1u << REST) - 1u), i >> REST};
    return TallRunItem{i >> TALL_RUNS_LOG_W, i & ((1u << TALL_RUNS_LOG_W) - 1u)};
}
/// The first round of the last pass, on 2^Q0 elements of a run, and the factors that make all later ones those of run 0.
template <uint R, uint Q0, uint LOG_C>
inline void tall_runs_first(threadgroup uint* tile, threadgroup const uint* runs, TallRunItem at, thread Fp* x) {
    uint e = at.element;
    threadgroup const uint* own = runs + (at.column >> LOG_C) * TALL_RUN_WORDS;
    tall_butterflies<Q0, 0u, true, true>(x, own, 0u);
    FpFactor g = fp_factor(Fp{own[TALL_RUN_LOW + (e & 7u)]} * Fp{own[TALL_RUN_HIGH + (e >> 3)]});
    MSL_UNROLL for (uint k = 0; k < (1u << Q0); k++) x[k] = x[k] * g;
    tall_put<Q0, R - Q0, TALL_RUNS_LOG_W, true>(tile, tall_at<TALL_RUNS_LOG_W, true>(e, at.column), x);
}
/// First element of run `c`, counted as its reversed number.
inline uint tall_run(uint c, uint log_runs, uint log_rows) { return (reverse_bits(c) >> (32u - log_runs)) << log_rows; }
/// The first of a thread's words in the source: the others are 2^(REST + LOG_C) words apart.
template <uint R, uint LOG_C> inline uint tall_run_word(TallRunItem at, uint first, uint log_runs) {
    return ((tall_run(first + (at.column >> LOG_C), log_runs, R) + at.element) << LOG_C) + (at.column & ((1u << LOG_C) - 1u));
}

/// The last pass on rows of 8 words, which are runs of 2^R elements of 2^LOG_C words, in rounds of Q0, Q1, Q2 stages.
template <uint R, uint Q0, uint Q1, uint Q2, uint LOG_C>
inline void tall_runs_pass(device const Fp* src, device Fp* dst, device const Fp* roots, constant NttTallParams& p, threadgroup uint* tile, uint group,
                           uint tid, uint tpg) {
    constexpr uint WORDS = R <= TALL_SMALL ? TALL_SMALL_THREAD_WORDS : TALL_THREAD_WORDS;
    constexpr uint REST = R - Q0, LEN = 1u << Q0, BATCH = WORDS / LEN, LOG_RUNS = TALL_RUNS_LOG_W - LOG_C;
    uint log_runs = p.log_n - R, log_blocks = log_runs - LOG_RUNS;
    ulong column = group >> log_blocks;
    uint first = (group & ((1u << log_blocks) - 1u)) << LOG_RUNS;
    device const Fp* from = src + column * p.src_stride;
    device Fp* to = dst + (column * p.dst_stride + (first << LOG_C));
    threadgroup uint* table = tile + (1u << (R + TALL_RUNS_LOG_W));
    threadgroup uint* runs = table + (1u << R);
    Fp x[WORDS];
    bool batched = tpg * WORDS == 1u << (R + TALL_RUNS_LOG_W);
    if (batched) {
        MSL_UNROLL for (uint j = 0; j < BATCH; j++) {
            device const Fp* at = from + tall_run_word<R, LOG_C>(tall_run_item<REST, LOG_C>(tid + j * tpg), first, log_runs);
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[j * LEN + k] = at[k << (REST + LOG_C)];
        }
    }
    tall_fill_runs<R, Q0, LOG_RUNS>(table, runs, roots, first, p.log_n, p.scale, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (batched) {
        MSL_UNROLL for (uint j = 0; j < BATCH; j++) {
            tall_runs_first<R, Q0, LOG_C>(tile, runs, tall_run_item<REST, LOG_C>(tid + j * tpg), x + j * LEN);
        }
    } else {
        MSL_ROLLED for (uint i = tid; i < (1u << (REST + TALL_RUNS_LOG_W)); i += tpg) {
            TallRunItem item = tall_run_item<REST, LOG_C>(i);
            device const Fp* at = from + tall_run_word<R, LOG_C>(item, first, log_runs);
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[k] = at[k << (REST + LOG_C)];
            tall_runs_first<R, Q0, LOG_C>(tile, runs, item, x);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_round<Q1, Q0, R, TALL_RUNS_LOG_W, true>(tile, table, tid, tpg);
    MSL_ROLLED for (uint i = tid; i < (1u << (R - Q2 + TALL_RUNS_LOG_W)); i += tpg) {
        uint block = i >> TALL_RUNS_LOG_W, col = i & ((1u << TALL_RUNS_LOG_W) - 1u);
        tall_get<Q2, 0u, TALL_RUNS_LOG_W, true>(tile, tall_at<TALL_RUNS_LOG_W, true>(block << Q2, col), x);
        tall_butterflies<Q2, R - Q2, false>(x, table, block);
        device Fp* out = to + (((reverse_bits(block) >> (32u - (R - Q2))) << (log_runs + LOG_C)) + col);
        MSL_UNROLL for (uint k = 0; k < (1u << Q2); k++) out[(reverse_bits(k) >> (32u - Q2)) << (R - Q2 + log_runs + LOG_C)] = x[k];
    }
}

/// The rounds of each number of stages: CALL(R, Q0, Q1, Q2). The last has three stages, for which tiles are laid out. The largest are asked for first.
#define TALL_SHAPES(CALL) CALL(11, 4, 4, 3) CALL(10, 4, 3, 3) CALL(9, 3, 3, 3) CALL(8, 2, 3, 3)
