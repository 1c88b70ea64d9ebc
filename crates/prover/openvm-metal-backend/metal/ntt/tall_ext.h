#pragma once
// Small tiles of extension elements, of 2^8 and 2^9 rows: tall.h has the factors, docs/design/commit.md the plan. A thread reads and writes whole elements, 16
// bytes at a time, so that four words share their addresses and factors. There are three rounds of three stages, or of two and then three.
//
// Threads are told apart by their number alone, so any number of them is right. With as many as planned, a thread has eight elements and reads all of
// them before it waits for any.
#include "../field/fp_ext.h"
#include "tall.h"

/// Place of an element in a tile with rows of 2^E, counted in elements. After each eight rows of less than 128 bytes one is left out: rows that are
/// neighbours, or eight apart, meet no conflict in 32 banks.
template <uint E> inline uint tall_ext_at(uint row, uint col) { return (row << E) + col + (E < 3u ? (row >> 3) << E : 0u); }

inline FpExt tall_ext_element(uint4 v) { return fpext_make(Fp{v.x}, Fp{v.y}, Fp{v.z}, Fp{v.w}); }
inline uint4 tall_ext_words(FpExt x) { return uint4(x.c[0].v, x.c[1].v, x.c[2].v, x.c[3].v); }

/// Stage U of a round of Q stages on 2^Q elements: the factor of block m is table[(b << U) + m]. FACTORS: what the last stage leaves is multiplied, so
/// it is not reduced.
template <uint Q, uint U, bool FACTORS> inline void tall_ext_stage(thread FpExt* x, threadgroup const uint* table, uint b) {
    constexpr uint half_size = 1u << (Q - 1u - U);
    FpFactor w[1u << U];
    tall_load_factors<U>(table, b << U, w);
    MSL_UNROLL for (uint m = 0; m < (1u << U); m++) {
        MSL_UNROLL for (uint k = 0; k < half_size; k++) {
            uint i = 2u * half_size * m + k;
            bool factors = U + 1u == Q ? FACTORS : ntt_is_factor(i, half_size);
            MSL_UNROLL for (uint c = 0; c < 4u; c++) {
                Fp v[2];
                v[0] = x[i].c[c];
                ntt_butterfly(v, 0u, 1u, x[i + half_size].c[c] * w[m], factors);
                x[i].c[c] = v[0];
                x[i + half_size].c[c] = v[1];
            }
        }
    }
}
/// Q stages, two or three: Q * 2^(Q+1) products.
template <uint Q, bool FACTORS> inline void tall_ext_butterflies(thread FpExt* x, threadgroup const uint* table, uint b) {
    constexpr uint THIRD = (Q > 2u ? 2u : 0u);
    tall_ext_stage<Q, 0u, FACTORS>(x, table, b);
    tall_ext_stage<Q, 1u, FACTORS>(x, table, b);
    if (Q > 2u) tall_ext_stage<Q, THIRD, FACTORS>(x, table, b);
}

/// The second round, from tile to tile: stages R - 6 to R - 4. HEAP: the factor of stage t, block m is table[2^t + m], else table[m].
template <uint R, uint E, bool HEAP> inline void tall_ext_second(threadgroup uint4* tile, threadgroup const uint* table, uint tid, uint tpg) {
    MSL_ROLLED for (uint i = tid; i < (1u << (R - 3u + E)); i += tpg) {
        uint item = i >> E, block = item >> 3, step = tall_ext_at<E>(8u, 0u);
        threadgroup uint4* at = tile + tall_ext_at<E>((block << 6) | (item & 7u), i & ((1u << E) - 1u));
        FpExt x[8];
        MSL_UNROLL for (uint k = 0; k < 8u; k++) x[k] = tall_ext_element(at[k * step]);
        tall_ext_butterflies<3u, false>(x, table, HEAP ? (1u << (R - 6u)) + block : block);
        MSL_UNROLL for (uint k = 0; k < 8u; k++) at[k * step] = tall_ext_words(x[k]);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}
/// The elements of item `item` of the last round, after its stages.
template <uint E> inline void tall_ext_last(threadgroup const uint4* tile, threadgroup const uint* table, uint item, uint col, uint b, thread FpExt* x) {
    threadgroup const uint4* at = tile + tall_ext_at<E>(item << 3, col);
    MSL_UNROLL for (uint k = 0; k < 8u; k++) x[k] = tall_ext_element(at[k << E]);
    tall_ext_butterflies<3u, false>(x, table, b);
}

// ---- the first pass: rows that are 2^log_low elements apart ------------------------------------------

template <uint R, uint Q0, uint E>
inline void tall_ext_columns_first(threadgroup uint4* tile, threadgroup const uint* table, uint i, thread FpExt* x) {
    tall_ext_butterflies<Q0, false>(x, table, 1u);
    threadgroup uint4* at = tile + tall_ext_at<E>(i >> E, i & ((1u << E) - 1u));
    MSL_UNROLL for (uint k = 0; k < (1u << Q0); k++) at[k * tall_ext_at<E>(1u << (R - Q0), 0u)] = tall_ext_words(x[k]);
}

/// The first pass on 2^R rows of 2^E elements.
template <uint R, uint E>
inline void tall_ext_columns(device const Fp* src, device Fp* dst, device const Fp* roots, constant NttTallParams& p, threadgroup uint* tile, uint group,
                             uint tid, uint tpg) {
    constexpr uint Q0 = R - 6u, LEN = 1u << Q0, ITEMS = 1u << (R - Q0 + E), COLUMN = (1u << E) - 1u;
    TallColumns c = tall_columns(p, group);
    device const uint4* from = (device const uint4*)(src + c.column * p.src_stride) + c.source;
    device uint4* to = (device uint4*)(dst + c.column * p.dst_stride) + c.target;
    threadgroup uint4* cells = (threadgroup uint4*)tile;
    threadgroup uint* table = tile + 4u * tall_ext_at<E>(1u << R, 0u);
    FpExt x[8];
    bool planned = tpg == 1u << (R - 3u + E);
    if (planned) {
        MSL_UNROLL for (uint j = 0; j < 8u / LEN; j++) {
            uint i = tid + j * tpg;
            device const uint4* at = from + (((i >> E) << c.log_low) + (i & COLUMN));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[j * LEN + k] = tall_ext_element(at[(k << (R - Q0)) << c.log_low]);
        }
    }
    tall_fill_columns<R>(table, roots, c.hi, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (planned) {
        MSL_UNROLL for (uint j = 0; j < 8u / LEN; j++) tall_ext_columns_first<R, Q0, E>(cells, table, tid + j * tpg, x + j * LEN);
    } else {
        MSL_ROLLED for (uint i = tid; i < ITEMS; i += tpg) {
            device const uint4* at = from + (((i >> E) << c.log_low) + (i & COLUMN));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[k] = tall_ext_element(at[(k << (R - Q0)) << c.log_low]);
            tall_ext_columns_first<R, Q0, E>(cells, table, i, x);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_ext_second<R, E, true>(cells, table, tid, tpg);
    MSL_ROLLED for (uint i = tid; i < (1u << (R - 3u + E)); i += tpg) {
        uint item = i >> E, col = i & COLUMN;
        tall_ext_last<E>(cells, table, item, col, (1u << (R - 3u)) + item, x);
        device uint4* out = to + (((item << 3) << c.log_low) + col);
        MSL_UNROLL for (uint k = 0; k < 8u; k++) out[k << c.log_low] = tall_ext_words(x[k]);
    }
}

// ---- the last pass: runs of 2^R neighbours, and the bit reversal ------------------------------------

/// An element that nobody reads again, and one that is not read before the pass ends: neither should drive out of an NVIDIA GPU's cache what the first
/// pass wrote and this one has still to read.
#if MSL_PTX
inline uint4 tall_ext_read(device const uint4* p) { return msl_load_last(p); }
inline void tall_ext_write(device uint4* p, uint4 v) { msl_store_past(p, v); }
#else
inline uint4 tall_ext_read(device const uint4* p) { return *p; }
inline void tall_ext_write(device uint4* p, uint4 v) { *p = v; }
#endif

/// The first round of the last pass, on 2^Q0 elements of a run, and the factors that make all later ones those of run 0.
template <uint R, uint Q0, uint E> inline void tall_ext_runs_first(threadgroup uint4* tile, threadgroup const uint* runs, uint i, thread FpExt* x) {
    uint e = i >> E, col = i & ((1u << E) - 1u);
    threadgroup const uint* own = runs + col * TALL_RUN_WORDS;
    tall_ext_butterflies<Q0, true>(x, own, 1u);
    FpFactor g = fp_factor(Fp{own[TALL_RUN_LOW + (e & 7u)]} * Fp{own[TALL_RUN_HIGH + (e >> 3)]});
    threadgroup uint4* at = tile + tall_ext_at<E>(e, col);
    MSL_UNROLL for (uint k = 0; k < (1u << Q0); k++) {
        MSL_UNROLL for (uint c = 0; c < 4u; c++) x[k].c[c] = x[k].c[c] * g;
        at[k * tall_ext_at<E>(1u << (R - Q0), 0u)] = tall_ext_words(x[k]);
    }
}

/// The last pass on 2^E runs of 2^R elements.
template <uint R, uint E>
inline void tall_ext_runs(device const Fp* src, device Fp* dst, device const Fp* roots, constant NttTallParams& p, threadgroup uint* tile, uint group,
                          uint tid, uint tpg) {
    constexpr uint Q0 = R - 6u, LEN = 1u << Q0, ITEMS = 1u << (R - Q0 + E), COLUMN = (1u << E) - 1u;
    uint log_runs = p.log_n - R, log_blocks = log_runs - E;
    ulong column = group >> log_blocks;
    uint first = (group & ((1u << log_blocks) - 1u)) << E;
    device const uint4* from = (device const uint4*)(src + column * p.src_stride);
    device uint4* to = (device uint4*)(dst + column * p.dst_stride) + first;
    threadgroup uint4* cells = (threadgroup uint4*)tile;
    threadgroup uint* table = tile + 4u * tall_ext_at<E>(1u << R, 0u);
    threadgroup uint* runs = table + (1u << R);
    FpExt x[8];
    bool planned = tpg == 1u << (R - 3u + E);
    if (planned) {
        MSL_UNROLL for (uint j = 0; j < 8u / LEN; j++) {
            uint i = tid + j * tpg;
            device const uint4* at = from + (tall_run(first + (i & COLUMN), log_runs, R) + (i >> E));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[j * LEN + k] = tall_ext_element(tall_ext_read(at + (k << (R - Q0))));
        }
    }
    tall_fill_runs<R, Q0, E>(table, runs, roots, first, p.log_n, p.scale, tid, tpg);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (planned) {
        MSL_UNROLL for (uint j = 0; j < 8u / LEN; j++) tall_ext_runs_first<R, Q0, E>(cells, runs, tid + j * tpg, x + j * LEN);
    } else {
        MSL_ROLLED for (uint i = tid; i < ITEMS; i += tpg) {
            device const uint4* at = from + (tall_run(first + (i & COLUMN), log_runs, R) + (i >> E));
            MSL_UNROLL for (uint k = 0; k < LEN; k++) x[k] = tall_ext_element(tall_ext_read(at + (k << (R - Q0))));
            tall_ext_runs_first<R, Q0, E>(cells, runs, i, x);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tall_ext_second<R, E, false>(cells, table, tid, tpg);
    MSL_ROLLED for (uint i = tid; i < (1u << (R - 3u + E)); i += tpg) {
        uint item = i >> E, col = i & COLUMN;
        tall_ext_last<E>(cells, table, item, col, item, x);
        device uint4* out = to + ((reverse_bits(item) >> (32u - (R - 3u))) << log_runs) + col;
        MSL_UNROLL for (uint k = 0; k < 8u; k++) tall_ext_write(out + ((reverse_bits(k) >> 29u) << (R - 3u + log_runs)), tall_ext_words(x[k]));
    }
}
